"""Docstrings as Markdown: plait's heads, lists of parameters, and examples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence

HEADS = "Shapes Dtype Dtypes Derivative Derivatives Cost Modes Raises Source".split()
_HEAD = re.compile(rf"(?:^|(?<=[.;] )|(?<=\n))({'|'.join(HEADS)})(?::\s| )(?=\S)")
_ENTRY = re.compile(r"^(\w+(?:, \w+)*): ")


def convert(
    text: str, parameters: Sequence[str] = (), link: Callable[[str], str | None] = lambda name: None
) -> str:
    """A docstring as Markdown.

    parameters: names that begin an entry of a list where they begin a line, with a colon.
    link(name) gives the target of a name in backticks, or None.
    """
    out = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if block.lstrip().startswith(">>>"):
            out.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
        else:
            out.append(_prose(block, parameters, link))
    return "\n\n".join(out)


def _prose(block: str, parameters: Sequence[str], link: Callable[[str], str | None]) -> str:
    """A paragraph: its lines joined, a new paragraph at each head, entries as a list."""
    pieces: list[list[str]] = [[]]  # each a kind ("" or "- ") and its text
    indent = 0
    for line in block.split("\n"):
        plain = line.strip()
        if plain == "Args:":
            continue
        entry = _ENTRY.match(plain)
        if entry and all(name in parameters for name in entry[1].split(", ")):
            indent = len(line) - len(line.lstrip())
            pieces.append(["- ", plain])
        elif pieces[-1] and pieces[-1][0] == "- " and len(line) - len(line.lstrip()) > indent:
            pieces[-1].append(plain)
        elif not pieces[-1] or (pieces[-1][0] == "- " and _HEAD.match(plain)):
            pieces.append(["", plain])
        else:
            pieces[-1].append(plain)
    parts = []
    for kind, *lines in filter(None, pieces):
        words = "\n".join(lines)
        if kind:
            names, _, rest = words.partition(": ")
            code = ", ".join(f"`{name}`" for name in names.split(", "))
            parts.append(f"- {code}: {_escaped(' '.join(rest.split()), link)}")
        else:
            parts += [_escaped(part, link) for part in _at_heads(words)]
    text = "\n\n".join(parts)
    return re.sub(r"(^- .*)\n\n(?=- )", r"\1\n", text, flags=re.M)


def _at_heads(words: str) -> list[str]:
    """The text cut where a head begins, each head marked as bold."""
    cuts = [m.start() for m in _HEAD.finditer(words)]
    parts = [words[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(words)], strict=True)]
    return [_HEAD.sub(r"\0\1:\0 ", " ".join(part.split()), count=1) for part in parts if part]


def _escaped(words: str, link: Callable[[str], str | None]) -> str:
    """Prose in which Markdown finds nothing but code in backticks, and bold heads."""

    def code(part: str) -> str:
        target = link(part.strip("`"))
        return f"[{part}][{target}]" if target else part

    parts = re.split(r"(`[^`]+`)", words)
    done = [
        code(p) if k % 2 else re.sub(r"([*_\[\]\\])", r"\\\1", p).replace("<", "&lt;")
        for k, p in enumerate(parts)
    ]
    return "".join(done).replace("\0", "**")
