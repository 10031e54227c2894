"""Broadcast and reduce_sum, permute, reshape, reverse: ops that only move or repeat axes.

An op and its transpose share a file; this one lies below all other ops, since their rules need it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.context import running_map
from plait.core.plain import ints
from plait.core.primitive import Linear, register, zeros_hook
from plait.core.sample import real
from plait.core.source import called
from plait.core.types import ArrayType, type_of
from plait.errors import (
    ArgumentTypeError,
    DtypeError,
    OutOfRangeError,
    PlaitError,
    ShapeError,
    several,
)


def normalise_axis(axis: Any, ndim: int, op: str | None = None) -> int:
    """An axis in 0..ndim-1; negative ones count from the last. Raises OutOfRangeError."""
    try:
        index = operator.index(axis)
    except TypeError:
        fix = "arrays to be joined are one argument: [a, b]" if hasattr(axis, "shape") else None
        raise ArgumentTypeError("an axis is an int", op=called(op), axis=axis, fix=fix) from None
    if not -ndim <= index < ndim:
        fix = f"an axis from {-ndim} to {ndim - 1}" if ndim else "the array has no axis"
        if (name := running_map()) is not None:
            fix += f"; under {name} a function sees one row, without the mapped axis"
        raise OutOfRangeError(
            f"axis {index} is out of range for an array of {several(ndim, 'dimension')}",
            op=called(op),
            fix=fix,
        )
    return index + ndim if index < 0 else index


def normalise_axes(axes: Any, ndim: int, op: str | None = None) -> tuple[int, ...]:
    """Axes in 0..ndim-1, in the order given; None means all. Raises for repeated ones."""
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, Sequence | np.ndarray):
        axes = (axes,)
    found = tuple(normalise_axis(a, ndim, op) for a in axes)
    if len(set(found)) != len(found):
        twice = next(a for k, a in enumerate(found) if a in found[:k])
        fix = (
            "name it once" if min(axes) >= 0 else "name it once: negative axes count from the last"
        )
        raise ShapeError(f"axis {twice} is named twice", op=called(op), axes=tuple(axes), fix=fix)
    return found


def check_shape(shape: Any, op: str | None = None) -> tuple[int, ...]:
    """A shape as a tuple of non-negative ints. Raises for anything else."""
    if not isinstance(shape, Sequence | np.ndarray):
        shape = (shape,)
    try:
        sizes = tuple(operator.index(n) for n in shape)
    except PlaitError:
        raise  # a traced size says so itself
    except TypeError:
        raise ArgumentTypeError(
            "a shape is a sequence of ints", op=called(op), shape=shape
        ) from None
    if any(n < 0 for n in sizes):
        raise ShapeError("the sizes of a shape are at least 0", op=called(op), shape=sizes)
    return sizes


class BroadcastInDim(Linear):
    """Repeat x along new axes and axes of size 1: axis k of x is axis dims[k] of the result."""

    name = "broadcast_in_dim"

    def type(self, x, *, shape, dims):
        if len(dims) != x.ndim or any(
            not 0 <= d < len(shape) or x.shape[k] not in (1, shape[d]) for k, d in enumerate(dims)
        ):
            given = {"x": x, "shape": shape, "broadcast_dimensions": dims}
            raise ShapeError("x does not broadcast to this shape", **given)
        if any(a >= b for a, b in pairwise(dims)):
            fix = "transpose x before"
            raise ShapeError("axes keep their order", x=x, broadcast_dimensions=dims, fix=fix)
        return x.with_shape(shape)

    def numpy(self, x, *, shape, dims):
        sizes = [1] * len(shape)
        for k, d in enumerate(dims):
            sizes[d] = x.shape[k]
        return np.broadcast_to(np.reshape(x, sizes), shape).copy()

    def transpose(self, ct, x, *, shape, dims):
        new = tuple(d for d in range(len(shape)) if d not in dims)
        ct = reduce_sum(ct, new)
        grown = tuple(k for k, d in enumerate(dims) if x.shape[k] == 1 and shape[d] != 1)
        if grown:
            ct = reshape(reduce_sum(ct, grown), x.shape)
        return (ct,)

    def batch(self, frame, xs, mapped, *, shape, dims):
        x = self.bind(xs[0], shape=(frame.size, *shape), dims=(0, *(d + 1 for d in dims)))
        return x, True

    def lower(self, b, x, *, shape, dims):
        return b.broadcast_in_dim(x, shape, dims)

    def samples(self):
        yield (real(3),), {"shape": (2, 3, 4), "dims": (1,)}
        yield (real(1, 3),), {"shape": (2, 3), "dims": (0, 1)}
        yield (real(),), {"shape": (2, 0), "dims": ()}


broadcast_in_dim_p = register(BroadcastInDim())


def broadcast_in_dim(x: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """Repeat x to a shape: axis k of x becomes axis broadcast_dimensions[k]. Raises ShapeError.

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    op = "broadcast_in_dim"
    shape, dims = ints(shape, op, "shape"), ints(broadcast_dimensions, op, "broadcast_dimensions")
    if shape == type_of(x).shape and dims in ((), tuple(range(len(shape)))):
        return x
    return broadcast_in_dim_p.bind(x, shape=shape, dims=dims)


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """x repeated to a shape by NumPy's rules: axes align at the last. Raises ShapeError."""
    have = type_of(x).shape
    if have == tuple(shape):
        return x
    skip = len(shape) - len(have)
    if skip < 0:
        raise ShapeError(
            "x has more axes than the shape", op="broadcast_to", x=x, shape=tuple(shape)
        )
    return broadcast_in_dim(x, shape, range(skip, len(shape)))


def full(shape: Sequence[int], value: Any, dtype: Any) -> Any:
    """An array of a shape whose elements are all one number."""
    scalar = np.asarray(value).astype(dtypes.storage(dtype))
    return broadcast_in_dim_p.bind(scalar, shape=tuple(shape), dims=())


def _zeros_of(type: ArrayType) -> Any:
    zero = np.zeros((), dtypes.bool_ if type.dtype == dtypes.float0 else type.dtype)
    return zero if not type.shape else broadcast_in_dim_p.bind(zero, shape=type.shape, dims=())


zeros_hook.append(_zeros_of)


class ReduceSum(Linear):
    """Sum x over some of its axes. StableHLO: reduce with add."""

    name = "reduce_sum"

    def type(self, x, *, axes):
        if x.dtype not in dtypes.NUMBER:
            fix = "convert with x.astype(int)"
            raise DtypeError("only numbers can be summed", x=x, fix=fix)
        return x.with_shape(n for k, n in enumerate(x.shape) if k not in axes)

    def numpy(self, x, *, axes):
        wide = np.float32 if x.dtype.itemsize <= 2 and x.dtype in dtypes.FLOAT else x.dtype
        return np.sum(x, axis=axes, dtype=wide).astype(x.dtype)

    def transpose(self, ct, x, *, axes):
        kept = tuple(k for k in range(x.ndim) if k not in axes)
        return (broadcast_in_dim(ct, x.shape, kept),)

    def batch(self, frame, xs, mapped, *, axes):
        return self.bind(xs[0], axes=tuple(a + 1 for a in axes)), True

    def lower(self, b, x, *, axes):
        # Half-precision sums are carried in float32 and rounded once.
        narrow = x.dtype in dtypes.FLOAT and x.dtype.itemsize <= 2
        wide = b.convert(x, dtypes.float32) if narrow else x
        zero = b.constant(np.zeros((), wide.dtype))
        (out,) = b.reduce([wide], [zero], axes, lambda a, c: (b.add(a, c),))
        return b.convert(out, x.dtype)

    def samples(self):
        yield (real(2, 3, 4),), {"axes": (1,)}
        yield (real(2, 3),), {"axes": (0, 1)}
        yield (real(2, 0),), {"axes": (1,)}


reduce_sum_p = register(ReduceSum())


def reduce_sum(x: Any, axes: Sequence[int]) -> Any:
    """Sum of x over axes, which leave the shape; axes in 0..x.ndim-1. Dtype unchanged."""
    axes = tuple(sorted(axes))
    return reduce_sum_p.bind(x, axes=axes) if axes else x


class Permute(Linear):
    """Reorder axes: axis k of the result is axis axes[k] of x. Moves data, changes no value."""

    name = "transpose"

    def type(self, x, *, axes):
        if sorted(axes) != list(range(x.ndim)):
            cure = f"give all of 0..{x.ndim - 1}, for example {tuple(reversed(range(x.ndim)))}"
            raise ShapeError("axes must name each axis of x once", x=x, axes=axes, fix=cure)
        return x.with_shape(x.shape[a] for a in axes)

    def numpy(self, x, *, axes):
        return np.transpose(x, axes)

    def transpose(self, ct, x, *, axes):
        return (permute(ct, tuple(axes.index(k) for k in range(len(axes)))),)

    def batch(self, frame, xs, mapped, *, axes):
        return self.bind(xs[0], axes=(0, *(a + 1 for a in axes))), True

    def lower(self, b, x, *, axes):
        return b.transpose(x, axes)

    def samples(self):
        yield (real(2, 3, 4),), {"axes": (2, 0, 1)}


permute_p = register(Permute())


def permute(x: Any, permutation: Sequence[int]) -> Any:
    """Reorder the axes of x; negative axes count from the last. Raises ShapeError."""
    ndim = type_of(x).ndim
    axes = tuple(a + ndim if a < 0 else a for a in ints(permutation, "transpose", "permutation"))
    return x if axes == tuple(range(ndim)) else permute_p.bind(x, axes=axes)


def move_axis(x: Any, source: int, destination: int) -> Any:
    """x with one axis moved; both in 0..x.ndim-1."""
    if source == destination:
        return x
    order = [k for k in range(type_of(x).ndim) if k != source]
    order.insert(destination, source)
    return permute(x, order)


class Reshape(Linear):
    """Give the elements, in row-major order, another shape."""

    name = "reshape"

    def type(self, x, *, shape):
        out = x.with_shape(shape)
        if out.size != x.size:
            raise ShapeError(
                "the number of elements must stay the same",
                x=x,
                shape=shape,
                fix=f"x has {x.size} elements, the shape {out.size}",
            )
        return out

    def numpy(self, x, *, shape):
        return np.reshape(x, shape)

    def transpose(self, ct, x, *, shape):
        return (reshape(ct, x.shape),)

    def batch(self, frame, xs, mapped, *, shape):
        return self.bind(xs[0], shape=(frame.size, *shape)), True

    def lower(self, b, x, *, shape):
        return b.reshape(x, shape)

    def samples(self):
        yield (real(2, 6),), {"shape": (3, 4)}
        yield (real(1),), {"shape": ()}


reshape_p = register(Reshape())


def reshape(x: Any, new_sizes: Sequence[int]) -> Any:
    """x in another shape with as many elements. Raises ShapeError."""
    shape = tuple(new_sizes)
    return x if shape == type_of(x).shape else reshape_p.bind(x, shape=shape)


def expand_dims(x: Any, dimensions: Sequence[int]) -> Any:
    """x with axes of size 1 put in, at positions of the result.

    >>> lax.expand_dims(jnp.zeros((2, 3)), (0, 2)).shape
    (1, 2, 1, 3)
    """
    dimensions = ints(dimensions, "expand_dims", "dimensions")
    ndim = type_of(x).ndim + len(dimensions)
    new = set(normalise_axes(dimensions, ndim, "expand_dims"))
    sizes = iter(type_of(x).shape)
    return reshape(x, [1 if k in new else next(sizes) for k in range(ndim)])


class Reverse(Linear):
    """Reverse the order of the elements along some axes."""

    name = "rev"

    def type(self, x, *, axes):
        if any(not 0 <= a < x.ndim for a in axes) or len(set(axes)) != len(axes):
            raise ShapeError("axes must name axes of x, each once", x=x, axes=axes)
        return x

    def numpy(self, x, *, axes):
        return np.flip(x, axes)

    def transpose(self, ct, x, *, axes):
        return (self.bind(ct, axes=axes),)

    def batch(self, frame, xs, mapped, *, axes):
        return self.bind(xs[0], axes=tuple(a + 1 for a in axes)), True

    def lower(self, b, x, *, axes):
        return b.reverse(x, axes)

    def samples(self):
        yield (real(2, 3),), {"axes": (1,)}
        yield (real(2, 3),), {"axes": (0, 1)}


rev_p = register(Reverse())


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """operand with the given axes reversed. Raises ShapeError.

    >>> lax.rev(jnp.array([[1, 2, 3], [4, 5, 6]]), (1,))
    Array([[3, 2, 1],
           [6, 5, 4]], dtype=int32)
    """
    axes = ints(dimensions, "rev", "dimensions")
    axes = normalise_axes(axes, type_of(operand).ndim, "rev")
    return rev_p.bind(operand, axes=axes) if axes else operand


__all__ = [
    "broadcast_in_dim",
    "broadcast_to",
    "expand_dims",
    "full",
    "move_axis",
    "normalise_axes",
    "normalise_axis",
    "permute",
    "reduce_sum",
    "reshape",
    "rev",
]
