"""Layouts: the order of an array's axes in memory, which plait leaves to XLA.

Programs name one where they know better. Every array of plait's is stored with its last axis
running fastest, so that this layout may be named, and others are refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from plait.errors import ArgumentError


class Layout(NamedTuple):
    """The axes of an array in the order of memory, the slowest first.

    >>> from plait.experimental.layout import Layout
    >>> Layout((0, 1)).major_to_minor
    (0, 1)
    """

    major_to_minor: tuple[int, ...]
    tiling: Any = None
    sub_byte_element_size_in_bits: int = 0


class Format(NamedTuple):
    """A layout and a sharding, where a sharding is expected; None leaves either to plait.

    >>> from plait.experimental.layout import Format, Layout
    >>> plait.device_put(jnp.ones((2, 3)), Format(Layout((0, 1)))).shape
    (2, 3)
    """

    layout: Any = None
    sharding: Any = None


def check_layout(layout: Any, op: str) -> None:
    """Raise ArgumentError for a layout other than the one arrays have."""
    order = getattr(layout, "major_to_minor", None)
    if order is not None and tuple(order) != tuple(range(len(order))):
        raise ArgumentError(
            "arrays are stored with their last axis running fastest",
            op=op,
            major_to_minor=tuple(order),
            fix="transpose the array, or leave the layout to XLA (None)",
        )
