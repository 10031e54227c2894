"""A page of titled tables, as text and as HTML: what show_variance and explain return."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

Row = Sequence[str]


class Section(NamedTuple):
    """A heading and a table under it; `head` names its columns."""

    heading: str
    rows: Sequence[Row]
    head: Row = ()
    note: str = ""


class Report:
    """A page of text: print it, or show it as HTML in a notebook."""

    def __init__(self, title: str, sections: Sequence[Section]):
        self.title, self.sections = title, [s for s in sections if s.rows or s.note]

    def __str__(self) -> str:
        lines = [self.title]
        for section in self.sections:
            lines += ["", section.heading]
            table = [section.head, *section.rows] if section.head else list(section.rows)
            lines += [f"  {line}".rstrip() for line in _aligned(table)]
            if section.note:
                lines.append(f"  {section.note}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [f"<h3>{escaped(self.title)}</h3>"]
        for section in self.sections:
            parts.append(f"<h4>{escaped(section.heading)}</h4>")
            lines = []
            if section.head:
                cells = "".join(f"<th{_LEFT}>{escaped(c)}</th>" for c in section.head)
                lines.append(f"<tr>{cells}</tr>")
            for row in section.rows:
                cells = "".join(f"<td{_LEFT}>{escaped(c)}</td>" for c in row)
                lines.append(f"<tr>{cells}</tr>")
            if lines:
                parts.append(f"<table>{''.join(lines)}</table>")
            if section.note:
                parts.append(f"<p>{escaped(section.note)}</p>")
        return f"<div>{''.join(parts)}</div>"


def escaped(text: str) -> str:
    """Text as HTML shows it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_LEFT = ' style="text-align:left;white-space:pre"'


# Cells that are longer go on in further lines, so that one long equation does not push the other
# columns off the screen.
_WIDEST = 64


def _aligned(table: Sequence[Row]) -> list[str]:
    """The lines of a table, its columns aligned."""
    rows = [[_pieces(cell) for cell in row] if len(row) > 1 else [[*row]] for row in table]
    widths: list[int] = []
    for row in rows:
        # A row of one cell stands alone, and may be wider than the first column.
        for k, pieces in enumerate(row if len(row) > 1 else ()):
            widest = max(map(len, pieces))
            widths[k:] = [max(widest, widths[k] if k < len(widths) else 0), *widths[k + 1 :]]
    lines = []
    for row in rows:
        for at in range(max(map(len, row))):
            cells = [pieces[at] if at < len(pieces) else "" for pieces in row]
            last = max(k for k, cell in enumerate(cells) if cell or not k)
            padded = [cell.ljust(widths[k]) for k, cell in enumerate(cells[:last])]
            lines.append("  ".join([*padded, cells[last]]))
    return lines


def _pieces(cell: str) -> list[str]:
    """A cell in lines of bounded width, broken at spaces; further ones are indented."""
    if len(cell) <= _WIDEST:
        return [cell]
    indent = len(cell) - len(cell.lstrip())
    return textwrap.wrap(
        cell,
        max(_WIDEST, indent + 24),
        subsequent_indent=" " * (indent + 6),
        break_on_hyphens=False,
    )


def size_words(count: float) -> str:
    """A number of bytes in words: 12 B, 3.4 kB, 1.2 MB."""
    return _scaled(count, (" B", " kB", " MB", " GB", " TB"))


def number_words(count: float) -> str:
    """A number in words: 950, 12.3 thousand, 4.5 million."""
    return _scaled(count, ("", " thousand", " million", " billion", " trillion"))


def _scaled(count: float, units: Sequence[str]) -> str:
    k = 0
    while count >= 1000 and k < len(units) - 1:
        count, k = count / 1000, k + 1
    return f"{count:.0f}{units[k]}" if k == 0 or count >= 100 else f"{count:.1f}{units[k]}"
