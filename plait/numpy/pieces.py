"""Pieces of arrays: split, tile, repeat, roll, diagonals and differences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError, ShapeError
from plait.numpy import ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.creation import asarray
from plait.numpy.cumulative import cumsum
from plait.numpy.indexing import take
from plait.numpy.manipulation import concatenate, moveaxis, ravel, rows
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    is_traced_or_device,
    known,
    shape_of,
    static_int,
    value,
)
from plait.numpy.searching import searchsorted
from plait.ops import axes as ops
from plait.ops import slices
from plait.ops.dynamic_slice import dynamic_slice_in_dim

# --- cut


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """ary cut along an axis: into n equal parts, or at the given positions.

    Raises: ShapeError if n does not divide the size of the axis; `array_split` cuts such axes.

    >>> jnp.split(jnp.arange(6), 3), jnp.split(jnp.arange(5), [1, 3])
    ([Array([0, 1], dtype=int32), Array([2, 3], dtype=int32), Array([4, 5], dtype=int32)],
     [Array([0], dtype=int32), Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)])
    """
    return _cut("split", ary, indices_or_sections, axis, exact=True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As split; n parts need not be equal, the first ones are one longer.

    >>> jnp.array_split(jnp.arange(5), 2)
    [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _cut("array_split", ary, indices_or_sections, axis, exact=False)


def _cut(op: str, ary: Any, where: Any, axis: int, exact: bool) -> list[Any]:
    ary = value(op, ary)
    axis = axis_in(axis, ary.ndim, op)
    n = ary.shape[axis]
    host = known(where) if is_traced_or_device(where) else None
    where = where if host is None else host.tolist()
    if isinstance(where, list | tuple | np.ndarray):
        ends = [static_int(i, op, "indices_or_sections") for i in where]
        ends = [min(max(i + n if i < 0 else i, 0), n) for i in ends]
        starts, stops = [0, *ends], [*ends, n]
        if all(a <= b for a, b in zip(starts, stops, strict=True)):
            return slices.split(ary, [b - a for a, b in zip(starts, stops, strict=True)], axis)
        return [
            slices.slice_in_dim(ary, a, max(a, b), axis=axis)
            for a, b in zip(starts, stops, strict=True)
        ]
    parts = static_int(where, op, "indices_or_sections")
    if parts < 1:
        raise ArgumentError("needs at least one part", op=op, indices_or_sections=parts)
    size, rest = divmod(n, parts)
    if rest and exact:
        raise ShapeError(
            f"an axis of size {n} does not divide into {parts} equal parts",
            op=op,
            ary=ary,
            fix="array_split makes unequal ones",
        )
    return slices.split(ary, [size + 1] * rest + [size] * (parts - rest), axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """ary cut along its second axis, a vector along its only one.

    >>> [x.shape for x in jnp.hsplit(jnp.ones((2, 6)), 3)]
    [(2, 2), (2, 2), (2, 2)]
    """
    ary = value("hsplit", ary)
    return _cut("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1, exact=True)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """ary cut along its first axis.

    >>> jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)
    [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
    """
    return _cut("vsplit", ary, indices_or_sections, 0, exact=True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """ary cut along its third axis.

    >>> [x.shape for x in jnp.dsplit(jnp.ones((2, 3, 4)), [1])]
    [(2, 3, 1), (2, 3, 3)]
    """
    return _cut("dsplit", ary, indices_or_sections, 2, exact=True)


# --- repeat and move


def tile(A: Any, reps: Any) -> Any:
    """A repeated as a whole, reps[k] times along axis k.

    >>> jnp.tile(jnp.array([1, 2]), 2), jnp.tile(jnp.array([1, 2]), (2, 1))
    (Array([1, 2, 1, 2], dtype=int32),
     Array([[1, 2],
            [1, 2]], dtype=int32))
    """
    a = value("tile", A)
    counts = shape_of(reps, "tile")
    ndim = max(a.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    a = ops.reshape(a, (1,) * (ndim - a.ndim) + a.shape)
    return slices.tile(a, counts)


@takes_out_sharding
def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
) -> Any:
    """Each element repeated, along an axis or flattened; repeats is one number or one each.

    With traced repeats, total_repeat_length gives the size of the result: what is missing repeats
    the last element, what is too much is left out.

    >>> jnp.repeat(jnp.array([1, 2]), 3), jnp.repeat(jnp.array([1, 2]), jnp.array([1, 2]))
    (Array([1, 1, 1, 2, 2, 2], dtype=int32), Array([1, 2, 2], dtype=int32))
    >>> jnp.repeat(jnp.array([[1, 2]]), 2, axis=0)
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    a = value("repeat", a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_in(axis, a.ndim, "repeat")
    n = a.shape[axis]
    host = known(asarray(repeats)) if not isinstance(repeats, int) else np.asarray(repeats)
    if host is not None and host.size == 1 and total_repeat_length is None:
        return _repeat_all(a, static_int(host.item(), "repeat", "repeats"), axis)
    if host is not None:
        if host.size not in (1, n):
            summary = "needs one count, or one for each element"
            raise ShapeError(summary, op="repeat", a=a, repeats=host)
        if not host.size:
            host = host.astype(np.int32)  # no list of counts says that it is of integers
        if host.dtype not in dtypes.INTEGER | dtypes.BOOL:
            raise DtypeError("repeats are integers", op="repeat", repeats=host)
        counts = np.broadcast_to(host.reshape(-1), (n,))
        positions = np.repeat(np.arange(n, dtype=np.int32), counts)
        if total_repeat_length is not None:
            total = static_int(total_repeat_length, "repeat", "total_repeat_length")
            missing = max(0, total - len(positions))
            last = positions[-1] if len(positions) else n - 1
            positions = np.concatenate([positions, np.full(missing, last)])[:total]
        return _taken(a, positions.astype(np.int32), axis)
    if total_repeat_length is None:
        raise ConcretizationTypeError(
            "the repeats decide the size of the result and must not be traced",
            op="repeat",
            repeats=repeats,
            fix="give total_repeat_length=",
        )
    total = static_int(total_repeat_length, "repeat", "total_repeat_length")
    counts = _far_counting(asarray(repeats))
    counts = ops.broadcast_to(ravel(counts) if counts.ndim else counts, (n,))
    ends = cumsum(counts)
    place = searchsorted(ends, np.arange(total, dtype=np.int32), side="right")
    return _taken(a, ufuncs.minimum(place, n - 1), axis)


def _far_counting(n: Any) -> Any:
    # In 8 and 16 bits sizes and sums of counts may have no place, and unsigned ones no negative.
    return astype(n, dtypes.default_int()) if n.dtype in dtypes.INTEGER else n


def _taken(a: Any, positions: Any, axis: int) -> Any:
    return take(a, positions, axis=axis, mode="clip")


def _repeat_all(a: Any, times: int, axis: int) -> Any:
    if times < 0:
        raise ArgumentError("needs repeats >= 0", op="repeat", repeats=times)
    if times == 1:
        return a
    grown = (*a.shape[: axis + 1], times, *a.shape[axis + 1 :])
    dims = [k for k in range(a.ndim + 1) if k != axis + 1]
    longer = (*a.shape[:axis], a.shape[axis] * times, *a.shape[axis + 1 :])
    return ops.reshape(ops.broadcast_in_dim(a, grown, dims), longer)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`a` with its elements moved by shift along axes, those at the end coming back in front.

    >>> jnp.roll(jnp.arange(5), 2), jnp.roll(jnp.array([[1, 2], [3, 4]]), 1, axis=0)
    (Array([3, 4, 0, 1, 2], dtype=int32),
     Array([[3, 4],
            [1, 2]], dtype=int32))
    """
    a = value("roll", a)
    if axis is None:
        return ops.reshape(roll(ravel(a), shift, 0), a.shape)
    axes = [axis_in(k, a.ndim, "roll") for k in (axis if isinstance(axis, Iterable) else [axis])]
    shifts = list(shift) if isinstance(shift, list | tuple) else [shift] * len(axes)
    if is_traced_or_device(shift) and type_of(shift).ndim == 1:
        shifts = list(rows(shift))
    elif isinstance(shift, np.ndarray) and shift.ndim == 1:
        shifts = shift.tolist()
    if len(axes) == 1 and len(shifts) > 1:
        axes = axes * len(shifts)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError("needs one shift for each axis", op="roll", shift=shift, axis=axis)
    for s, k in zip(shifts, axes, strict=True):
        a = _rolled(a, s, k)
    return a


def _rolled(a: Any, shift: Any, axis: int) -> Any:
    n = a.shape[axis]
    if not n:
        return a
    if is_traced_or_device(shift):
        # Traced: the block that begins at n - shift of the array twice over.
        start = ufuncs.remainder(ufuncs.negative(_far_counting(shift)), n)
        twice = slices.concatenate_p.bind(a, a, axis=axis)
        return dynamic_slice_in_dim(twice, start, n, axis)
    cut = -static_int(shift, "roll", "shift") % n
    if not cut:
        return a
    head, tail = slices.split_p.bind(a, sizes=(cut, n - cut), axis=axis)
    return slices.concatenate_p.bind(tail, head, axis=axis)


# --- diagonals and differences


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the planes of two axes, along a new last axis.

    >>> jnp.diagonal(jnp.arange(9).reshape(3, 3)), jnp.diagonal(jnp.ones((2, 2, 5))).shape
    (Array([0, 4, 8], dtype=int32), (5, 2))
    """
    a = value("diagonal", a)
    if a.ndim < 2:
        raise ShapeError("needs at least two axes", op="diagonal", a=a)
    first, second = axes_in((axis1, axis2), a.ndim, "diagonal")
    offset = static_int(offset, "diagonal", "offset")
    a = moveaxis(a, (first, second), (-2, -1))
    n, m = a.shape[-2:]
    size = max(0, min(n + min(offset, 0), m - max(offset, 0)))
    row, column = max(0, -offset), max(0, offset)
    a = slices.slice_in_dim(a, row if size else 0, row + size if size else 0, axis=-2)
    a = slices.slice_in_dim(a, column if size else 0, column + size if size else 0, axis=-1)
    if not size:
        return ops.reshape(a, (*a.shape[:-2], 0))
    # Row by row, the diagonal of a square is every (size + 1)-th element.
    flat = ops.reshape(a, (*a.shape[:-2], size * size))
    return slices.slice_in_dim(flat, 0, None, size + 1, axis=-1)


@at_once(operands=1)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences of neighbours along an axis; prepend and append lengthen `a` first.

    >>> jnp.diff(jnp.array([1, 4, 9, 16])), jnp.diff(jnp.array([1, 4, 9, 16]), n=2)
    (Array([3, 5, 7], dtype=int32), Array([2, 2], dtype=int32))
    """
    a = value("diff", a)
    n = static_int(n, "diff", "n")
    if not a.ndim:
        raise ShapeError("needs at least one axis", op="diff", a=a)
    if n < 0:
        raise ArgumentError("needs n >= 0", op="diff", n=n)
    axis = axis_in(axis, a.ndim, "diff")
    ends = []
    for end in (prepend, append):
        if end is not None:
            end = value("diff", end)
            if not end.ndim:
                end = ops.broadcast_to(end, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))
        ends.append(end)
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    if n and len(parts) > 1:
        a = concatenate(parts, axis)
    subtract = ufuncs.not_equal if a.dtype in dtypes.BOOL else ufuncs.subtract
    for _ in range(n):
        if a.shape[axis] == 0:
            break
        upper = slices.slice_in_dim(a, 1, None, axis=axis)
        a = subtract(upper, slices.slice_in_dim(a, 0, -1, axis=axis))
    return a


@at_once(operands=1)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours of the flattened array, with more values around them.

    >>> jnp.ediff1d(jnp.array([[1, 4], [9, 16]]), to_end=0)
    Array([3, 5, 7, 0], dtype=int32)
    """
    ary = ravel(value("ediff1d", ary))
    n = ary.size
    later = slices.slice_in_dim(ary, min(1, n), None)
    y = ufuncs.subtract(later, slices.slice_in_dim(ary, 0, max(n - 1, 0)))
    begin = [] if to_begin is None else [astype(ravel(asarray(to_begin)), y.dtype)]
    end = [] if to_end is None else [astype(ravel(asarray(to_end)), y.dtype)]
    return concatenate([*begin, y, *end])


__all__ = [
    "array_split",
    "diagonal",
    "diff",
    "dsplit",
    "ediff1d",
    "hsplit",
    "repeat",
    "roll",
    "split",
    "tile",
    "vsplit",
]
