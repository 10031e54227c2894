"""How an array lies on devices, as a picture: in a terminal, as plain text, or in a notebook."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from plait.core.context import context
from plait.core.interpreter import Tracer
from plait.debug.report import escaped
from plait.errors import ArgumentTypeError
from plait.ops.callback import inspect_sharding_p
from plait.runtime.array import Array, as_array
from plait.runtime.sharding import Sharding, SingleDeviceSharding

Interval = tuple[int, int]

# Light colours, so that black text is read on all of them.
_COLORS = (
    "#9ecae1",
    "#fdae6b",
    "#a1d99b",
    "#dadaeb",
    "#fcbba1",
    "#c7e9c0",
    "#fee391",
    "#d9d9d9",
    "#bcbddc",
    "#fbb4b9",
)


class ShardingPicture:
    """A grid with one cell for each part of an array, naming the devices that hold it."""

    def __init__(
        self,
        shape: Sequence[int],
        sharding: Any,
        *,
        use_color: bool = True,
        scale: float = 1.0,
        min_width: int = 9,
        max_width: int = 80,
        color_map: Callable[[float], Any] | None = None,
    ):
        self.use_color, self.color_map = use_color, color_map
        self.rows: list[list[str]] = []
        self.note = ""
        holders = _holders(tuple(shape), sharding)
        split = [d for d in range(len(shape)) if len({index[d] for index in holders}) > 1]
        if len(split) > 2:
            self._list(holders)
        else:
            self._grid(len(shape), split, holders)
        columns = max(map(len, self.rows))
        widest = max(len(label) for row in self.rows for label in row) + 2
        room = max((max_width - 1) // columns - 1, 3)
        self.width = min(max(widest, int(min_width * scale)), room)

    def _grid(
        self, ndim: int, split: list[int], holders: dict[tuple[Interval, ...], list[Any]]
    ) -> None:
        if ndim <= 2:
            down, across = (None, ndim - 1) if ndim < 2 else (0, 1)
        else:
            down, across = [*split, None, None][:2]
            axes = [f"axis {d} {way}" for d, way in ((down, "down"), (across, "across")) if d]
            axes = axes if down != 0 or not split else ["axis 0 down", *axes]
            self.note = ", ".join(axes)

        def place(index: tuple[Interval, ...], axis: int | None) -> Interval:
            return (0, 0) if axis is None or axis < 0 else index[axis]

        cells: dict[tuple[Interval, Interval], list[Any]] = {}
        for index, devices in holders.items():
            cells.setdefault((place(index, down), place(index, across)), []).extend(devices)
        for top in sorted({row for row, _ in cells}):
            lefts = sorted(column for row, column in cells if row == top)
            self.rows.append([_names(cells[top, left]) for left in lefts])

    def _list(self, holders: dict[tuple[Interval, ...], list[Any]]) -> None:
        for index, devices in sorted(holders.items()):
            part = ", ".join(f"{start}:{stop}" for start, stop in index)
            self.rows.append([f"[{part}]", _names(devices)])

    def __str__(self) -> str:
        columns = max(map(len, self.rows))

        def rule(left: str, middle: str, right: str) -> str:
            return left + middle.join(["─" * self.width] * columns) + right

        lines = [rule("┌", "┬", "┐")]
        for k, row in enumerate(self.rows):
            if k:
                lines.append(rule("├", "┼", "┤"))
            cells = [textwrap.wrap(label, self.width) or [""] for label in row]
            height = max(3, max(map(len, cells)))
            for line in range(height):
                parts = []
                for cell in cells:
                    at = line - (height - len(cell)) // 2
                    text = cell[at] if 0 <= at < len(cell) else ""
                    parts.append(text.center(self.width))
                lines.append("│" + "│".join(parts) + "│")
        lines.append(rule("└", "┴", "┘"))
        return "\n".join([*lines, self.note] if self.note else lines)

    def _colors(self) -> dict[str, str]:
        labels = list(dict.fromkeys(label for row in self.rows for label in row))
        if self.color_map is None:
            return {label: _COLORS[k % len(_COLORS)] for k, label in enumerate(labels)}
        found = {}
        for k, label in enumerate(labels):
            red, green, blue = self.color_map(k / max(len(labels) - 1, 1))[:3]
            found[label] = f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"
        return found

    def __rich__(self) -> Any:
        from rich import box
        from rich.align import Align
        from rich.padding import Padding
        from rich.style import Style
        from rich.table import Table

        table = Table(
            show_header=False,
            show_lines=True,
            padding=0,
            pad_edge=False,
            box=box.SQUARE,
            caption=self.note or None,
        )
        colors = self._colors()
        for _ in range(max(map(len, self.rows))):
            table.add_column(width=self.width)
        for row in self.rows:
            cells = []
            for label in row:
                style = Style(color="black", bgcolor=colors[label]) if self.use_color else Style()
                cells.append(Padding(Align(label, "center"), (1, 0), style=style))
            table.add_row(*cells)
        return table

    def _repr_html_(self) -> str:
        colors = self._colors()
        rows = []
        for row in self.rows:
            cells = []
            for label in row:
                fill = f"background:{colors[label]};color:black;" if self.use_color else ""
                style = f"border:1px solid;padding:1em;text-align:center;{fill}"
                cells.append(f'<td style="{style}">{escaped(label)}</td>')
            rows.append(f"<tr>{''.join(cells)}</tr>")
        note = f"<div>{escaped(self.note)}</div>" if self.note else ""
        table = f'<table style="border-collapse:collapse">{"".join(rows)}</table>'
        return f"<div>{table}{note}</div>"

    def show(self) -> None:
        """Display it: in a notebook as HTML, in a terminal with colours, else as plain text."""
        notebook = sys.modules.get("IPython")
        shell = notebook.get_ipython() if notebook is not None else None
        if getattr(shell, "kernel", None) is not None:
            from IPython.display import display  # pyright: ignore[reportMissingImports] (optional)

            display(self)
        elif self.use_color and sys.stdout.isatty():
            from rich.console import Console

            Console(file=sys.stdout).print(self)
        else:
            sys.stdout.write(f"{self}\n")


def _holders(shape: tuple[int, ...], sharding: Any) -> dict[tuple[Interval, ...], list[Any]]:
    """The devices that hold each part, by its (start, stop) along each axis."""
    found: dict[tuple[Interval, ...], list[Any]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        full = (*index, *[slice(None)] * (len(shape) - len(index)))
        part = tuple(s.indices(n)[:2] for s, n in zip(full, shape, strict=True))
        found.setdefault(part, []).append(device)
    return found


def _names(devices: Sequence[Any]) -> str:
    """CPU 0,1."""
    by_platform: dict[str, list[int]] = {}
    for d in devices:
        by_platform.setdefault(d.platform.upper(), []).append(d.id)
    return " ".join(f"{name} {','.join(map(str, ids))}" for name, ids in by_platform.items())


def visualize_sharding(shape: Sequence[int], sharding: Any, **options: Any) -> None:
    """Show which part of an array of a shape each device holds under a sharding.

    Options: use_color; min_width and max_width of the picture in characters; scale of a cell;
    color_map, from a number in [0, 1] to (red, green, blue) in [0, 1].
    Raises: ArgumentTypeError if sharding is not one.

    >>> from plait.sharding import SingleDeviceSharding
    >>> cpu = SingleDeviceSharding(plait.devices("cpu")[0])
    >>> plait.debug.visualize_sharding((4,), cpu)
    ┌─────────┐
    │         │
    │  CPU 0  │
    │         │
    └─────────┘
    """
    if not hasattr(sharding, "devices_indices_map"):
        raise ArgumentTypeError(
            "the second argument is a sharding", op="debug.visualize_sharding", sharding=sharding
        )
    ShardingPicture(tuple(shape), sharding, **options).show()


def visualize_array_sharding(arr: Any, **options: Any) -> None:
    """Show which part of an array each device holds; options as for visualize_sharding.

    Inside a compiled function the picture appears when the function is compiled.

    >>> spread = plait.NamedSharding(plait.make_mesh((2,), ("i",)), plait.P("i"))
    >>> plait.debug.visualize_array_sharding(plait.device_put(jnp.ones(4), spread))
    ┌─────────┬─────────┐
    │         │         │
    │  CPU 0  │  CPU 1  │
    │         │         │
    └─────────┴─────────┘
    """
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **options)
    )


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], Any]) -> None:
    """Call a function with the sharding of an array.

    In a compiled function it is called once, when the function is compiled. A program of one device
    has its values there; in one of several devices XLA decides later where those lie that are
    neither arguments nor results, so that there is a warning in place of the call.

    >>> plait.debug.inspect_array_sharding(jnp.ones(4), callback=lambda s: print(len(s.device_set)))
    1
    """
    if not callable(callback):
        raise ArgumentTypeError(
            "callback is a function of a sharding",
            op="debug.inspect_array_sharding",
            callback=callback,
        )
    if context.interpreter.base and not isinstance(value, Tracer):
        callback((value if type(value) is Array else as_array(value)).sharding)
        return
    inspect_sharding_p.bind(value, function=lambda device: callback(SingleDeviceSharding(device)))


__all__ = [
    "ShardingPicture",
    "inspect_array_sharding",
    "visualize_array_sharding",
    "visualize_sharding",
]
