"""ds: an index of known size whose start may be traced."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from plait.core.dtypes import INTEGER
from plait.core.plain import static_int
from plait.core.tree import register_node
from plait.core.types import type_of
from plait.errors import ArgumentTypeError, ShapeError


class Slice:
    """What `ds` makes: `size` positions from `start` on, `stride` apart. A container of start, if
    that is an array, so that transformed functions take it as an argument.
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1):
        self.start, self.size, self.stride = start, size, stride

    def tree_flatten(self) -> tuple[tuple, tuple]:
        if isinstance(self.start, int):
            return (), (self.start, self.size, self.stride)
        return (self.start,), (None, self.size, self.stride)

    @classmethod
    def tree_unflatten(cls, data: tuple, children: Any) -> Slice:
        start, size, stride = data
        return cls(next(iter(children)) if start is None else start, size, stride)

    @property
    def extent(self) -> int:
        """How far it is from the first position to behind the last."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Slice):
            return NotImplemented
        return (self.start, self.size, self.stride) == (other.start, other.size, other.stride)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (arrays have none)

    def __repr__(self) -> str:
        return f"ds({self.start!r}, {self.size}, {self.stride})"


register_node(Slice, Slice.tree_flatten, Slice.tree_unflatten)


def ds(start: Any, size: Any = None, stride: int | None = None) -> Slice | slice:
    """An index for `size` elements from `start` on: x[ds(i, 3)] is x[i:i+3], but i may be traced.

    With one argument that is the size, and the start 0; ds(None) is the whole axis. A negative
    start counts from the end. A slice that does not lie inside is moved there, as by
    lax.dynamic_slice; x.at[ds(i, 3)].set(...) drops it. `mode=` changes that for all of it.
    Raises: ShapeError, where it is used, if the axis has fewer elements; ArgumentTypeError for a
    start that is no integer, and a traced size.

    >>> plait.jit(lambda x, i: x[plait.ds(i, 3)])(jnp.arange(10), 4)
    Array([4, 5, 6], dtype=int32)
    """
    if size is None:
        if start is None:
            return slice(None, None, stride)
        start, size = None, start
    size = static_int(size, "ds", "size")
    stride = 1 if stride is None else static_int(stride, "ds", "stride")
    if size < 0 or stride < 1:
        summary = "the size is 0 at least, the stride 1"
        raise ShapeError(summary, op="ds", size=size, stride=stride)
    if start is None:
        return Slice(0, size, stride)
    if isinstance(start, int | np.integer):
        return Slice(operator.index(start), size, stride)
    t = type_of(start)
    if t.shape or t.dtype not in INTEGER:
        raise ArgumentTypeError("start is one integer", op="ds", start=t)
    return Slice(start, size, stride)


__all__ = ["Slice", "ds"]
