"""Pages of the site that are not files of docs/: READMEs, CONTRIBUTING, CHANGELOG, and a reference
page for each public package.
"""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))
from tests.test_exports import PUBLIC, STORED  # noqa: E402

PAGES = {
    "README.md": "index.md",
    "README.zh-CN.md": "index.zh-CN.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def on_config(config: Any) -> Any:
    """Every public package in the navigation, under Reference."""
    pages = ["reference/index.md", *(f"reference/{name}.md" for name in PUBLIC)]
    config.nav = [{"Reference": pages} if "Reference" in part else part for part in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_moved(text, "")))
    for name in PUBLIC:
        text = f"# {name}\n\n::: {name}\n"
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return _moved(markdown, "../")


def on_post_build(config: Any) -> None:
    """Raise PluginError unless the reference has every public name."""
    names = STORED.read_text(encoding="utf-8").split()
    missing = []
    for package in PUBLIC:
        page = pathlib.Path(config.site_dir, "reference", package, "index.html")
        there = set(re.findall(r'id="([^"]+)"', page.read_text(encoding="utf-8")))
        own = {name for name in names if name.rpartition(".")[0] == package}
        missing += sorted(own - there - set(PUBLIC))
    if missing:
        raise PluginError(f"the reference lacks {', '.join(missing)}")


def _moved(text: str, up: str) -> str:
    """The text with its links to files of the repository made links to pages."""

    def moved(found: re.Match[str]) -> str:
        target = found[1].removeprefix(up).removeprefix("docs/")
        return f"]({PAGES.get(target, target)}{found[2] or ''})"

    return re.sub(r"\]\((?!http)([^)#\s]+)(#[^)]*)?\)", moved, text)
