"""plait.experimental.layout: the order of an array's axes in memory."""

from typing import Any

from plait.runtime.layout import Format, Layout, check_layout


def with_layout_constraint(x: Any, layouts: Layout) -> Any:
    """x, which has the layout: the last axis running fastest. Raises: ArgumentError for others.

    >>> from plait.experimental.layout import Layout, with_layout_constraint
    >>> plait.jit(lambda x: with_layout_constraint(x, Layout((0, 1))))(jnp.ones((2, 3))).shape
    (2, 3)
    """
    check_layout(layouts, "with_layout_constraint")
    return x


__all__ = ["Format", "Layout", "with_layout_constraint"]
