"""What the documents show is what happens: their programs run, and print what stands below them."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
READMES = ["README.md", "README.zh-CN.md"]
DOCUMENTS = [*READMES, *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))]


def blocks(name: str) -> list[tuple[str, str]]:
    """(language, text) of the code blocks of a document."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)


def run(program: str) -> str:
    env = dict(os.environ, PLAIT_NUM_CPU_DEVICES="2", PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", READMES)
def test_the_first_program_prints_what_is_shown(name):
    found = blocks(name)
    at = next(k for k, (language, _) in enumerate(found) if language == "python")
    assert run(found[at][1]) == found[at + 1][1]


@pytest.mark.parametrize("name", READMES)
def test_sessions_are_true(name):
    sessions = [text for language, text in blocks(name) if ">>>" in text]
    assert sessions
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    import plait
    import plait.numpy as jnp

    for text in sessions:
        test = parser.get_doctest(text, {"plait": plait, "jnp": jnp}, name, name, 0)
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_the_readmes_show_the_same():
    code = [[b for b in blocks(name) if b[0] != "python"] for name in READMES]
    assert [language for language, _ in code[0]] == [language for language, _ in code[1]]
    assert [text for language, text in code[0] if ">>>" in text] == [
        text for language, text in code[1] if ">>>" in text
    ]


def test_the_programs_of_the_page_on_pmap_run():
    programs = [text for language, text in blocks("docs/pmap.md") if language == "python"]
    data = "import numpy as np\ndata = np.ones((2, 3), np.float32)\nparams = {'w': data[0]}\n"
    out = run(data + "".join(programs) + "\nprint(share(np.array([1.0, 3.0])))")
    assert out.split() == ["[0.25", "0.75]"]


def test_what_is_said_to_be_missing_is_missing():
    text = (ROOT / "docs/coming_from_jax.md").read_text(encoding="utf-8")
    listed = text.partition("## What plait does not have yet")[2].split("\n| ")
    names = [n for row in listed for n in re.findall(r"`jax\.([\w.]+)`", row.partition("|")[0])]
    assert len(names) > 5
    for name in names:
        package, _, last = f"plait.{name}".rpartition(".")
        with pytest.raises((ImportError, AttributeError)):
            getattr(importlib.import_module(package), last)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert ((ROOT / name).parent / target).exists(), f"{name}: {target}"


def with_modules(text: str) -> str:
    """docs/map.md with its tables written anew from the modules' docstrings."""

    def rows(found: re.Match[str]) -> str:
        modules = sorted((ROOT / "plait" / found[2]).glob("*.py"))
        lines = [f"| `{p.stem}` | {_summary(p)} |\n" for p in modules if p.stem != "__init__"]
        return found[1] + "".join(lines)

    table = r"(^### `plait/([\w/]+)/`[^\n]*\n\n\|.*\n\| --- \| --- \|\n)(?:\|.*\n)*"
    return re.sub(table, rows, text, flags=re.M)


def _summary(path: pathlib.Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def test_the_map_shows_every_module():
    text = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    assert text == with_modules(text), "python -m tests.test_documents writes it anew"


if __name__ == "__main__":
    MAP = ROOT / "docs" / "map.md"
    MAP.write_text(with_modules(MAP.read_text(encoding="utf-8")), encoding="utf-8")
