"""Slice, pad, concatenate and split; and what is made of them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.plain import ints, listed, static_int
from plait.core.primitive import Linear, LinearOperand, or_zeros, register
from plait.core.sample import booleans, integers, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError
from plait.ops.arithmetic import sub
from plait.ops.axes import (
    broadcast_in_dim,
    check_shape,
    normalise_axes,
    normalise_axis,
    reduce_sum,
    reshape,
)
from plait.ops.axes import full as fill_with
from plait.ops.compare import select


def add_rows(x: Any, is_mapped: bool, size: int) -> Any:
    """Give x a batch axis of the size, first, by repeating it, unless it has one."""
    if is_mapped:
        return x
    shape = type_of(x).shape
    return broadcast_in_dim(x, (size, *shape), tuple(range(1, len(shape) + 1)))


class Slice(Linear):
    """The elements start, start + stride, ... below limit along every axis. StableHLO: slice."""

    name = "slice"

    def type(self, x, *, starts, limits, strides):
        if not len(starts) == len(limits) == len(strides) == x.ndim:
            raise ShapeError(
                "needs one start, limit and stride for each axis of x",
                x=x,
                starts=starts,
                limits=limits,
                strides=strides,
            )
        for n, a, b, s in zip(x.shape, starts, limits, strides, strict=True):
            if not 0 <= a <= b <= n or s < 1:
                raise ShapeError(
                    "needs 0 <= start <= limit <= size and stride >= 1 along every axis",
                    x=x,
                    starts=starts,
                    limits=limits,
                    strides=strides,
                )
        return x.with_shape(
            -((a - b) // s) for a, b, s in zip(starts, limits, strides, strict=True)
        )

    def numpy(self, x, *, starts, limits, strides):
        return x[tuple(map(builtins.slice, starts, limits, strides))]

    def transpose(self, ct, x, *, starts, limits, strides):
        padding = []
        for n, a, s, m in zip(x.shape, starts, strides, type_of(ct).shape, strict=True):
            end = a + 1 + (m - 1) * s if m else a
            padding.append((a, n - end, s - 1))
        return (pad_p.bind(ct, np.zeros((), x.dtype), padding=tuple(padding)),)

    def batch(self, frame, xs, mapped, *, starts, limits, strides):
        y = self.bind(
            xs[0], starts=(0, *starts), limits=(frame.size, *limits), strides=(1, *strides)
        )
        return y, True

    def lower(self, b, x, *, starts, limits, strides):
        return b.slice(x, starts, limits, strides)

    def samples(self):
        yield (real(4, 5),), {"starts": (1, 0), "limits": (3, 5), "strides": (1, 2)}
        yield (real(7),), {"starts": (1,), "limits": (6,), "strides": (3,)}
        yield (real(3, 2),), {"starts": (1, 1), "limits": (1, 2), "strides": (1, 1)}
        yield (booleans(5),), {"starts": (2,), "limits": (5,), "strides": (1,)}


slice_p = register(Slice())


def slice(  # lax's name
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Take operand[start:limit:stride] along every axis; no negative indices. Raises ShapeError.

    >>> lax.slice(jnp.arange(10), (1,), (8,), (3,))
    Array([1, 4, 7], dtype=int32)
    """
    shape = type_of(operand).shape
    starts = ints(start_indices, "slice", "start_indices")
    limits = ints(limit_indices, "slice", "limit_indices")
    steps = (1,) * len(shape) if strides is None else ints(strides, "slice", "strides")
    if starts == (0,) * len(shape) and limits == shape and steps == (1,) * len(shape):
        return operand
    return slice_p.bind(operand, starts=starts, limits=limits, strides=steps)


class Pad(Linear):
    """Put fill around and between the elements of x. StableHLO: pad.

    `padding` has (low, high, interior) for each axis; negative low and high take elements away.
    """

    name = "pad"

    def type(self, x, fill, *, padding):
        if fill.shape:
            raise ShapeError("the value to pad with is a scalar", x=x, padding_value=fill)
        if fill.dtype != x.dtype:
            raise DtypeError("x and the value to pad with differ in dtype", x=x, padding_value=fill)
        if len(padding) != x.ndim:
            raise ShapeError(
                "needs (low, high, interior) for each axis of x", x=x, padding_config=padding
            )
        shape = tuple(
            low + n + max(n - 1, 0) * interior + high
            for n, (low, high, interior) in zip(x.shape, padding, strict=True)
        )
        if any(interior < 0 for _, _, interior in padding):
            raise ShapeError("interior padding is at least 0", x=x, padding_config=padding)
        if any(n < 0 for n in shape):
            raise ShapeError(
                "negative padding takes away more elements than there are",
                x=x,
                padding_config=padding,
            )
        return ArrayType(shape, x.dtype, x.weak_type and fill.weak_type)

    def numpy(self, x, fill, *, padding):
        # First with the ends as they are, then cropped where the padding is negative.
        shape = [
            max(low, 0) + n + max(n - 1, 0) * interior + max(high, 0)
            for n, (low, high, interior) in zip(x.shape, padding, strict=True)
        ]
        whole = np.full(shape, fill, dtype=x.dtype)
        inner = tuple(
            builtins.slice(max(low, 0), max(low, 0) + n + max(n - 1, 0) * interior, interior + 1)
            for n, (low, _, interior) in zip(x.shape, padding, strict=True)
        )
        whole[inner] = x
        crop = tuple(
            builtins.slice(max(-low, 0), n - max(-high, 0))
            for n, (low, high, _) in zip(shape, padding, strict=True)
        )
        return whole[crop]

    def transpose(self, ct, x, fill, *, padding):
        undo = tuple((-low, -high, 0) for low, high, _ in padding)
        # With x empty along an axis, the axis of ct holds nothing of x, and `undo` leaves 0.
        back = pad_p.bind(ct, np.zeros((), x.dtype), padding=undo)
        back = slice(
            back,
            (0,) * x.ndim,
            type_of(back).shape,
            tuple(interior + 1 for _, _, interior in padding),
        )
        ct_x = back if isinstance(x, LinearOperand) else None
        ct_fill = None
        if isinstance(fill, LinearOperand):
            everything = range(x.ndim)
            ct_fill = sub(reduce_sum(ct, everything), reduce_sum(back, everything))
        return ct_x, ct_fill

    def batch(self, frame, xs, mapped, *, padding):
        x, fill = xs
        rows = ((0, 0, 0), *padding)
        if not mapped[1]:
            return self.bind(x, fill, padding=rows), True
        # One value for each row: pad with anything, and write the rows' values over it.
        x = add_rows(x, mapped[0], frame.size)
        some = reshape(slice(fill, (0,), (1,)), ())
        inside = fill_with(type_of(x).shape, True, dtypes.bool_)
        padded = self.bind(x, some, padding=rows)
        inside = self.bind(inside, np.zeros((), np.bool_), padding=rows)
        values = broadcast_in_dim(fill, type_of(padded).shape, (0,))
        return select(inside, padded, values), True

    def lower(self, b, x, fill, *, padding):
        low, high, interior = zip(*padding, strict=True) if padding else ((), (), ())
        return b.pad(x, fill, low, high, interior)

    def samples(self):
        yield (real(2, 3), real()), {"padding": ((1, 2, 0), (0, 1, 2))}
        yield (real(5), real()), {"padding": ((-1, 2, 0),)}
        yield (real(4, 3), real()), {"padding": ((-2, 1, 1), (2, -1, 0))}
        yield (real(3), real()), {"padding": ((-1, -2, 1),)}
        yield (real(0, 2), real()), {"padding": ((2, 1, 3), (0, 0, 0))}
        yield (integers(3), integers()), {"padding": ((1, 1, 1),)}
        yield (real(), real()), {"padding": ()}


pad_p = register(Pad())


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put padding_value around and between the elements of operand.

    padding_config has (low, high, interior) for each axis: how many values come before the first
    element, after the last, and between any two; negative low and high take elements away.
    Raises ShapeError, DtypeError.

    >>> lax.pad(jnp.array([1, 2, 3]), 0, [(1, 2, 1)])
    Array([0, 1, 0, 2, 0, 3, 0, 0], dtype=int32)
    """
    op, name = "pad", "padding_config"
    padding = tuple(ints(triple, op, name) for triple in listed(padding_config, op, name))
    if any(len(triple) != 3 for triple in padding):
        raise ArgumentError(
            "padding_config has three ints, (low, high, interior), for each axis",
            op="pad",
            padding_config=padding,
        )
    dtype = type_of(operand).dtype
    if isinstance(padding_value, bool | int | float | complex) and dtype in dtypes.NUMBER:
        if isinstance(padding_value, int):
            dtypes.check_fits(padding_value, dtype, op="pad")
        padding_value = np.asarray(padding_value).astype(dtype)
    return pad_p.bind(operand, padding_value, padding=padding)


class Concatenate(Linear):
    """Join arrays along an axis. StableHLO: concatenate."""

    name = "concatenate"

    def type(self, *xs, axis):
        first = xs[0]
        given = {f"operand {k}": x for k, x in enumerate(xs[:8])}
        if not 0 <= axis < first.ndim:
            raise ShapeError("the operands have no such axis", **given, dimension=axis)
        rest = first.shape[:axis] + first.shape[axis + 1 :]
        for x in xs[1:]:
            if x.ndim != first.ndim or x.shape[:axis] + x.shape[axis + 1 :] != rest:
                raise ShapeError(f"the operands may differ in size along axis {axis} only", **given)
            if x.dtype != first.dtype:
                raise DtypeError(
                    "the operands' dtypes differ",
                    **given,
                    fix="convert with lax.convert_element_type, or use plait.numpy.concatenate",
                )
        shape = list(first.shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return ArrayType(shape, first.dtype, all(x.weak_type for x in xs))

    def numpy(self, *xs, axis):
        return np.concatenate(xs, axis)

    def transpose(self, ct, *xs, axis):
        sizes = tuple(x.shape[axis] for x in map(typed, xs))
        parts = split_p.bind(ct, sizes=sizes, axis=axis) if len(xs) > 1 else (ct,)
        return [p if isinstance(x, LinearOperand) else None for p, x in zip(parts, xs, strict=True)]

    def batch(self, frame, xs, mapped, *, axis):
        xs = [add_rows(x, m, frame.size) for x, m in zip(xs, mapped, strict=True)]
        return self.bind(*xs, axis=axis + 1), True

    def lower(self, b, *xs, axis):
        if len(xs) == 1:
            return xs[0]
        dtype = xs[0].dtype
        if b.platform == "cpu" and "int2" in dtype.name:
            # XLA:CPU copies whole bytes, and ends the process over numbers of two bits.
            return b.convert(b.concatenate([b.convert(x, dtypes.int32) for x in xs], axis), dtype)
        return b.concatenate(xs, axis)

    def samples(self):
        yield (real(2, 3), real(2, 1), real(2, 0)), {"axis": 1}
        yield (real(2), real(3)), {"axis": 0}
        yield (integers(2, 2), integers(1, 2)), {"axis": 0}


def typed(x: Any) -> ArrayType:
    """The type of a value, or of what stands for one in a transpose rule."""
    return x.type if isinstance(x, LinearOperand) else type_of(x)


concatenate_p = register(Concatenate())


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """The operands one after the other along an axis. Raises ShapeError, DtypeError.

    >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    xs = tuple(listed(operands, "concatenate", "operands"))
    if not xs:
        raise ArgumentError("needs at least one array", op="concatenate")
    axis = normalise_axis(dimension, type_of(xs[0]).ndim, "concatenate")
    return concatenate_p.bind(*xs, axis=axis)


class Split(Linear):
    """Cut x into consecutive pieces of given sizes along an axis; the transpose of concatenate."""

    name = "split"
    multiple_results = True

    def type(self, x, *, sizes, axis):
        if not 0 <= axis < x.ndim or any(n < 0 for n in sizes) or sum(sizes) != x.shape[axis]:
            raise ShapeError(
                "the sizes must add up to that of the axis of x", x=x, sizes=sizes, axis=axis
            )
        return tuple(x.with_shape((*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes)

    def numpy(self, x, *, sizes, axis):
        return tuple(np.split(x, np.cumsum(sizes)[:-1], axis)) if sizes else ()

    def transpose(self, ct, x, *, sizes, axis):
        types = self.type(x.type, sizes=sizes, axis=axis)
        parts = [or_zeros(c, t) for c, t in zip(ct, types, strict=True)]
        return (concatenate_p.bind(*parts, axis=axis),)

    def batch(self, frame, xs, mapped, *, sizes, axis):
        return self.bind(xs[0], sizes=sizes, axis=axis + 1), (True,) * len(sizes)

    def lower(self, b, x, *, sizes, axis):
        parts, start, limit = [], [0] * x.ndim, list(x.shape)
        for n in sizes:
            limit[axis] = start[axis] + n
            parts.append(b.slice(x, start, limit))
            start[axis] = limit[axis]
        return tuple(parts)

    def samples(self):
        yield (real(2, 5),), {"sizes": (2, 0, 3), "axis": 1}
        yield (integers(4),), {"sizes": (1, 3), "axis": 0}


split_p = register(Split())


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Consecutive pieces of operand of the given sizes, which add up to that of the axis.

    >>> lax.split(jnp.arange(5), (2, 3))
    [Array([0, 1], dtype=int32), Array([2, 3, 4], dtype=int32)]
    """
    axis = normalise_axis(axis, type_of(operand).ndim, "split")
    return list(split_p.bind(operand, sizes=ints(sizes, "split", "sizes"), axis=axis))


# --- made of the ops above


def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """Take operand[start_index:limit_index:stride] along one axis.

    Negative indices count from the end, None stands for an end of the axis. Raises ShapeError.

    >>> lax.slice_in_dim(jnp.array([[1, 2, 3], [4, 5, 6]]), 1, None, axis=1)
    Array([[2, 3],
           [5, 6]], dtype=int32)
    """
    shape = type_of(operand).shape
    axis = normalise_axis(axis, len(shape), "slice_in_dim")
    n = shape[axis]
    start = 0 if start_index is None else static_int(start_index, "slice_in_dim", "start_index")
    limit = n if limit_index is None else static_int(limit_index, "slice_in_dim", "limit_index")
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + n if start < 0 else start
    limits[axis] = limit + n if limit < 0 else limit
    strides[axis] = static_int(stride, "slice_in_dim", "stride")
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Take operand[index] along an axis, which stays with size 1 if keepdims.

    Raises OutOfRangeError.

    >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), -1, keepdims=False)
    Array([3, 4], dtype=int32)
    """
    shape = type_of(operand).shape
    axis = normalise_axis(axis, len(shape), "index_in_dim")
    n, position = shape[axis], static_int(index, "index_in_dim", "index")
    if not -n <= position < n:
        raise OutOfRangeError(
            f"index {position} is out of range for axis {axis} of size {n}",
            op="index_in_dim",
            operand=operand,
        )
    position += n if position < 0 else 0
    y = slice_in_dim(operand, position, position + 1, axis=axis)
    return y if keepdims else squeeze(y, (axis,))


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """Repeat operand along new axes of the given sizes, which come first.

    >>> lax.broadcast(jnp.array([1, 2]), (3,))
    Array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int32)
    """
    shape = type_of(operand).shape
    sizes = check_shape(sizes, "broadcast")
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return broadcast_in_dim(operand, (*sizes, *shape), dims)


def squeeze(array: Any, dimensions: Sequence[int] | int | None = None) -> Any:
    """Take away axes of size 1: those named, or all with None. Raises ShapeError.

    >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    type_ = type_of(array)
    if dimensions is None:
        dimensions = tuple(k for k, n in enumerate(type_.shape) if n == 1)
    axes = normalise_axes(dimensions, type_.ndim, "squeeze")
    if any(type_.shape[a] != 1 for a in axes):
        raise ShapeError(
            "only axes of size 1 can be taken away", op="squeeze", x=type_, dimensions=axes
        )
    return reshape(array, tuple(n for k, n in enumerate(type_.shape) if k not in axes))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """Repeat operand reps[k] times, block after block, along axis k. Raises ShapeError.

    >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    shape = type_of(operand).shape
    reps = check_shape(reps, "tile")
    if len(reps) != len(shape):
        raise ShapeError("needs one repetition for each axis", op="tile", x=operand, reps=reps)
    if all(r == 1 for r in reps):
        return operand
    pairs = [size for r, n in zip(reps, shape, strict=True) for size in (r, n)]
    y = broadcast_in_dim(operand, pairs, tuple(range(1, 2 * len(shape), 2)))
    return reshape(y, tuple(r * n for r, n in zip(reps, shape, strict=True)))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Make one axis of the axes start_dimension..stop_dimension-1. Raises ArgumentError.

    >>> lax.collapse(jnp.zeros((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    shape = type_of(operand).shape
    start = static_int(start_dimension, "collapse", "start_dimension")
    if stop_dimension is not None:
        stop_dimension = static_int(stop_dimension, "collapse", "stop_dimension")
    first, last, _ = builtins.slice(start, stop_dimension).indices(len(shape))
    if last < first:
        raise ArgumentError(
            "the axes to collapse are empty",
            op="collapse",
            start_dimension=start_dimension,
            stop_dimension=stop_dimension,
        )
    merged = int(np.prod(shape[first:last], dtype=np.int64))
    return reshape(operand, (*shape[:first], merged, *shape[last:]))


__all__ = [
    "broadcast",
    "collapse",
    "concatenate",
    "index_in_dim",
    "pad",
    "slice",
    "slice_in_dim",
    "split",
    "squeeze",
    "tile",
]
