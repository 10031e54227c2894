"""What stands in `x[...]`: NumPy's indexing language, read once for reading and for writing.

An index becomes one entry for each axis of the array, and notes on where new axes go. Static ints
and slices stay static; everything else is an array of positions. Boolean masks become positions,
which needs their values.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, INTEGER, UINT
from plait.core.types import type_of
from plait.errors import (
    ArgumentTypeError,
    NonConcreteBooleanIndexError,
    OutOfRangeError,
    PlaitError,
    ShapeError,
)
from plait.numpy.dslice import Slice
from plait.numpy.promotion import is_arraylike, known, literal, operand
from plait.ops import arithmetic, compare
from plait.ops.arithmetic import convert_element_type


class Static(NamedTuple):
    """A static int: one position, in 0..size-1, or outside (`position` says which side)."""

    position: int
    inside: bool


class Range(NamedTuple):
    """A static slice, with NumPy's clipping done: start, step and the number of elements."""

    start: int
    step: int
    size: int

    def is_whole(self, n: int) -> bool:
        """Whether it is all of an axis of size n."""
        return self.start == 0 and self.step == 1 and self.size == n


class Positions(NamedTuple):
    """Positions along an axis: a NumPy integer array, Array or tracer, not yet normalised."""

    array: Any


class Index(NamedTuple):
    """An index, read.

    entries: one Static, Range or Positions for each axis of the array.
    layout: what the items of the key give, in order: the number of an entry; None for a new axis.
    masked_axes: entries whose axis, of size 1, the array does not have yet: boolean scalars.
    windows: (axis, start, extent) for parts of the array whose place is traced, or outside. The
    entries are those of an index of that part.
    """

    entries: tuple[Any, ...]
    layout: tuple[Any, ...]
    masked_axes: tuple[int, ...]
    windows: tuple[tuple[int, Any, int], ...] = ()


def parse(shape: tuple[int, ...], index: Any, op: str = "x[...]") -> Index:
    """Read an index of an array of a shape.

    Raises: OutOfRangeError for too many indices, ArgumentTypeError for what is no index,
    NonConcreteBooleanIndexError for traced masks.
    """
    items = index if type(index) is tuple else (index,)
    items = tuple(_item(item, op) for item in items)
    consumed = 0
    for item in items:
        if item is not None and item is not Ellipsis:
            consumed += _axes_taken(item)
    if consumed > len(shape):
        raise OutOfRangeError(
            f"{consumed} indices for an array of {len(shape)} axes", op=op, x_shape=shape
        )
    if sum(item is Ellipsis for item in items) > 1:
        raise OutOfRangeError("an index has one ellipsis (...) at most", op=op)
    rest = len(shape) - consumed
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)
    entries: list[Any] = []
    layout: list[Any] = []
    masked: list[int] = []
    windows: list[tuple[int, Any, int]] = []
    axis = 0  # of the array the user indexes
    for item in items:
        if item is None:
            layout.append(None)
        elif item is Ellipsis:
            for _ in range(rest):
                layout.append(len(entries))
                entries.append(Range(0, 1, shape[axis]))
                axis += 1
        elif isinstance(item, _Mask):
            if not item.ndim:
                # A boolean scalar is a mask of an axis of size 1 that x does not have.
                masked.append(len(entries))
                layout.append(len(entries))
                entries.append(Positions(np.zeros(int(item.host), np.int32)))
                continue
            _check_mask(item, shape, axis, op)
            for positions in np.nonzero(item.host):
                layout.append(len(entries))
                entries.append(Positions(positions.astype(np.int32)))
                axis += 1
        elif isinstance(item, Slice):
            layout.append(len(entries))
            start = _start(item, shape[axis], op)
            if not isinstance(start, int):
                windows.append((axis, start, item.extent))
                start = 0
            entries.append(Range(start, item.stride, item.size))
            axis += 1
        else:
            layout.append(len(entries))
            entries.append(_entry(item, shape[axis], op))
            axis += 1
    return Index(tuple(entries), tuple(layout), tuple(masked), tuple(windows))


class _Mask(NamedTuple):
    host: np.ndarray

    @property
    def ndim(self) -> int:
        return self.host.ndim


def _axes_taken(item: Any) -> int:
    return item.ndim if isinstance(item, _Mask) else 1


def _item(item: Any, op: str) -> Any:
    """An item of a key: itself, or a mask or array in place of lists and booleans."""
    kind = type(item)
    if kind is int or kind is builtins.slice or item is None or item is Ellipsis:
        return item
    if kind is Slice:
        return item
    if kind is bool or isinstance(item, np.bool_):
        return _Mask(np.asarray(item))
    if isinstance(item, list | tuple):
        item = _from_list(item, op)
    if isinstance(item, str | bytes) or not is_arraylike(item):
        raise ArgumentTypeError(
            f"a {kind.__name__} is not an index",
            op=op,
            index=item,
            fix="use ints, slices, None, ... and arrays of ints or booleans",
        )
    item = operand(op, item)
    t = type_of(item)
    if t.dtype in BOOL:
        host = known(item)
        if host is None:
            raise NonConcreteBooleanIndexError(
                "a traced mask selects a number of elements that is not known",
                op=op,
                mask=item,
                fix="use jnp.where(mask, x, y), or x[jnp.nonzero(mask, size=n)]",
            )
        return _Mask(host)
    if t.dtype not in INTEGER:
        raise ArgumentTypeError(
            f"an index has integers or booleans, not {t.dtype.name}",
            op=op,
            index=item,
            fix="convert with int(i)" if type(item) is float else "convert with .astype(int)",
        )
    if not t.ndim and isinstance(item, np.ndarray | np.generic):
        return int(item)
    return item


def _from_list(item: Any, op: str) -> Any:
    if all(isinstance(i, int | np.integer | np.bool_ | list | np.ndarray) for i in item):
        found = np.asarray(item)
        return found.astype(np.int32) if not found.size else found
    from plait.numpy.creation import array

    return array(item)


def _check_mask(mask: _Mask, shape: tuple[int, ...], axis: int, op: str) -> None:
    covered = shape[axis : axis + mask.ndim]
    # As NumPy has it, an axis without elements fits one of any size.
    if any(m not in (0, n) for m, n in zip(mask.host.shape, covered, strict=True)):
        raise OutOfRangeError(
            f"a mask of shape {mask.host.shape} does not fit axes of sizes {covered}", op=op
        )


def _entry(item: Any, n: int, op: str) -> Any:
    if isinstance(item, builtins.slice):
        return _range(item, n, op)
    if type(item) is int:
        position = item + n if item < 0 else item
        return Static(position, 0 <= position < n)
    return Positions(item)


def _start(item: Slice, n: int, op: str) -> Any:
    """Where a Slice begins on an axis of size n: an int, or an array if it is traced or outside."""
    if item.extent > n:
        raise ShapeError(
            f"a slice over {item.extent} positions on an axis of {n}", op=op, index=item
        )
    if not item.size:
        return 0
    start = item.start
    if not isinstance(start, int):
        if type_of(start).dtype.itemsize < 4:
            start = convert_element_type(start, dtypes.int32)
        return normalise(start, n, None)
    counted = start + n if start < 0 else start
    inside = 0 <= counted <= n - item.extent
    return counted if inside else normalise(np.asarray(start), n, None)


def _range(item: builtins.slice, n: int, op: str) -> Range:
    if item.start is None and item.stop is None and item.step is None:
        return Range(0, 1, n)
    try:
        start, stop, step = builtins.slice(
            *(None if b is None else operator.index(b) for b in (item.start, item.stop, item.step))
        ).indices(n)
    except PlaitError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise type(error)(
            "the bounds of a slice decide the shape of the result and must not be traced",
            op=op,
            start=item.start,
            stop=item.stop,
            step=item.step,
            fix="lax.dynamic_slice(x, starts, sizes) takes traced starts and static sizes",
        ) from None
    except TypeError:
        raise ArgumentTypeError(
            "the bounds of a slice are ints or None",
            op=op,
            start=item.start,
            stop=item.stop,
            step=item.step,
        ) from None
    return Range(start, step, len(range(start, stop, step)))


def normalise(positions: Any, n: int, mode: str | None) -> Any:
    """Positions with negative ones counted from the end, in a dtype that holds n.

    Mode "wrap" takes them modulo n instead.
    """
    if isinstance(positions, np.ndarray):
        host = positions.astype(np.int64)
        if mode == "wrap":
            return (host % max(n, 1)).astype(np.int32)
        host = np.where(host < 0, host + n, host)
        # What is outside of int32 is outside of the array too.
        return np.clip(host, -1, n).astype(np.int32 if n < 2**31 else np.int64)
    t = type_of(positions)
    if mode == "wrap":
        from plait.numpy.ufuncs import remainder

        wide = positions if t.dtype.itemsize >= 4 else convert_element_type(positions, dtypes.int32)
        return remainder(wide, max(n, 1))
    if t.dtype in UINT:
        return positions
    if t.dtype.itemsize < 4:
        positions = convert_element_type(positions, dtypes.int32)
    dtype = type_of(positions).dtype
    negative = compare.lt.bind(positions, literal(0, dtype))
    counted = arithmetic.add.bind(positions, literal(n, dtype))
    return compare.select_n_p.bind(negative, positions, counted)
