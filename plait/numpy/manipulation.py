"""Shapes and order: reshape, transpose, flip, join, and the axes of arrays."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from plait.core.interpreter import Tracer
from plait.core.source import called
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.numpy.creation import array, asarray
from plait.numpy.placing import placed, takes_out_sharding
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    broadcast_shapes,
    broadcast_together,
    is_arraylike,
    is_traced_or_device,
    operand,
    out_is_none,
    promote_dtypes,
    shape_of,
    static_int,
    to_dtype,
    value,
)
from plait.ops import axes as ops
from plait.ops import slices

# --- shape


def reshape(
    a: Any,
    shape: Any = None,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Any:
    """The elements of `a` in another shape; one size may be -1, and is then worked out.

    Order "F" reads and writes column by column. Raises ShapeError if the sizes do not fit.

    >>> jnp.reshape(jnp.arange(6), (2, -1)), jnp.reshape(jnp.arange(4), (2, 2), order="F")
    (Array([[0, 1, 2],
            [3, 4, 5]], dtype=int32),
     Array([[0, 2],
            [1, 3]], dtype=int32))
    """
    if shape is None:
        raise ArgumentTypeError("needs a shape", op="reshape")
    if out_sharding is not None:
        return placed(reshape(a, shape, order), out_sharding)
    a = value("reshape", a)
    sizes = new_shape(a, shape)
    if order == "C":
        return ops.reshape(a, sizes)
    if order != "F":
        raise ArgumentError("order is 'C' or 'F'", op="reshape", order=order)
    return _reversed_axes(ops.reshape(_reversed_axes(a), sizes[::-1]))


def new_shape(a: Any, shape: Any) -> tuple[int, ...]:
    """A shape for `a` with -1 worked out."""
    if type(shape) is int:
        shape = (shape,)
    elif is_traced_or_device(shape) and not isinstance(shape, Tracer):
        shape = np.atleast_1d(np.asarray(shape)).tolist()
    elif not isinstance(shape, Iterable) or not getattr(shape, "ndim", 1):
        shape = (shape,)
    sizes = tuple(n if type(n) is int else static_int(n, "reshape", "shape") for n in shape)
    size = a.size
    if -1 in sizes:
        rest = -math.prod(sizes)
        if sizes.count(-1) > 1 or rest < 0:
            raise ShapeError("only one size may be -1", op="reshape", a=a, shape=sizes)
        if rest == 0 or size % rest:
            raise ShapeError(
                f"{size} elements do not divide into this shape", op="reshape", a=a, shape=sizes
            )
        return tuple(size // rest if n == -1 else n for n in sizes)
    if any(n < 0 for n in sizes):
        raise ShapeError("sizes are at least 0, or -1 once", op="reshape", a=a, shape=sizes)
    return sizes


def _reversed_axes(a: Any) -> Any:
    return ops.permute(a, range(a.ndim - 1, -1, -1))


@takes_out_sharding
def ravel(a: Any, order: str = "C") -> Any:
    """The elements of `a` as a vector, in order "C" row by row or "F" column by column.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> jnp.ravel(x), jnp.ravel(x, order="F")
    (Array([1, 2, 3, 4], dtype=int32), Array([1, 3, 2, 4], dtype=int32))
    """
    a = value("ravel", a)
    if order not in ("C", "F"):
        raise ArgumentError("order is 'C' or 'F'", op="ravel", order=order)
    return ops.reshape(a if order == "C" else _reversed_axes(a), (a.size,))


def squeeze(a: Any, axis: Any = None) -> Any:
    """`a` without axes of size 1: those named, or all. Raises ShapeError for other sizes.

    >>> jnp.squeeze(jnp.ones((1, 3, 1))).shape, jnp.squeeze(jnp.ones((1, 3, 1)), axis=0).shape
    ((3,), (3, 1))
    """
    a = value("squeeze", a)
    if axis is None:
        gone = tuple(k for k, n in enumerate(a.shape) if n == 1)
    else:
        gone = axes_in(axis, a.ndim, "squeeze")
        for k in gone:
            if a.shape[k] != 1:
                raise ShapeError(f"axis {k} has size {a.shape[k]}, not 1", op="squeeze", a=a)
    return ops.reshape(a, tuple(n for k, n in enumerate(a.shape) if k not in gone))


def expand_dims(a: Any, axis: Any) -> Any:
    """`a` with new axes of size 1, at the given positions of the result. Raises: OutOfRangeError.

    >>> jnp.expand_dims(jnp.arange(3), (0, -1)).shape
    (1, 3, 1)
    """
    a = value("expand_dims", a)
    count = len(tuple(axis)) if isinstance(axis, Iterable) else 1
    new = axes_in(axis, a.ndim + count, "expand_dims")
    sizes = iter(a.shape)
    return ops.reshape(a, tuple(1 if k in new else next(sizes) for k in range(a.ndim + count)))


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis; a list of them for several.

    >>> jnp.atleast_1d(5, jnp.array([1, 2]))
    [Array([5], dtype=int32, weak_type=True), Array([1, 2], dtype=int32)]
    """
    return _at_least("atleast_1d", 1, lambda s: (*s, 1)[:1] if not s else s, arys)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes, new ones in front; a list of them for several.

    >>> jnp.atleast_2d(jnp.array([1, 2]))
    Array([[1, 2]], dtype=int32)
    """
    return _at_least("atleast_2d", 2, lambda s: (1,) * (2 - len(s)) + s, arys)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes, a vector in the middle one; a list of them for several.

    >>> jnp.atleast_3d(jnp.ones(4)).shape, jnp.atleast_3d(jnp.ones((4, 5))).shape
    ((1, 4, 1), (4, 5, 1))
    """

    def grown(s: tuple[int, ...]) -> tuple[int, ...]:
        return {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}[len(s)]

    return _at_least("atleast_3d", 3, grown, arys)


def _at_least(op: str, ndim: int, grown: Any, arys: Sequence[Any]) -> Any:
    if len(arys) == 1 and isinstance(arys[0], list | tuple):
        arys = [array(arys[0])]
    out = []
    for i, a in enumerate(arys):
        a = value(op, a, i)
        out.append(a if a.ndim >= ndim else ops.reshape(a, grown(a.shape)))
    return out[0] if len(out) == 1 else out


def resize(a: Any, new_shape: Any) -> Any:
    """The elements of `a`, over and over, in another shape; zeros if `a` has none.

    >>> jnp.resize(jnp.array([1, 2, 3]), (2, 4))
    Array([[1, 2, 3, 1],
           [2, 3, 1, 2]], dtype=int32)
    """
    a = ravel(a)
    shape = shape_of(new_shape, "resize")
    size = math.prod(shape)
    if not a.size or not size:
        return ops.broadcast_to(value("resize", np.zeros((), a.dtype)), shape)
    times = -(-size // a.size)
    long = slices.tile(a, (times,)) if times > 1 else a
    return ops.reshape(slices.slice_in_dim(long, 0, size), shape)


# --- order of axes


def transpose(a: Any, axes: Any = None) -> Any:
    """`a` with its axes reversed, or in the order given.

    >>> x = jnp.ones((2, 3, 4))
    >>> jnp.transpose(x).shape, jnp.transpose(x, (1, 0, 2)).shape
    ((4, 3, 2), (3, 2, 4))
    """
    a = value("transpose", a)
    if axes is None:
        return _reversed_axes(a)
    return ops.permute(a, axes_in(axes, a.ndim, "transpose"))


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """x with its last two axes exchanged. Raises ShapeError for fewer than two.

    >>> jnp.matrix_transpose(jnp.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    x = value("matrix_transpose", x)
    if x.ndim < 2:
        raise ShapeError("needs at least two axes", op="matrix_transpose", x=x)
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`a` with two axes exchanged.

    >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    a = value("swapaxes", a)
    i, j = axis_in(axis1, a.ndim, "swapaxes"), axis_in(axis2, a.ndim, "swapaxes")
    order = list(range(a.ndim))
    order[i], order[j] = j, i
    return ops.permute(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`a` with axes moved to other positions; the others keep their order.

    >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = value("moveaxis", a)
    old = axes_in(source, a.ndim, "moveaxis")
    new = axes_in(destination, a.ndim, "moveaxis")
    if len(old) != len(new):
        raise ShapeError(
            "needs as many destinations as sources",
            op="moveaxis",
            source=source,
            destination=destination,
        )
    order = [k for k in range(a.ndim) if k not in old]
    for d, s in sorted(zip(new, old, strict=True)):
        order.insert(d, s)
    return ops.permute(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`a` with one axis moved before another.

    >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = value("rollaxis", a)
    axis = axis_in(axis, a.ndim, "rollaxis")
    if start != a.ndim:
        start = axis_in(start, a.ndim, "rollaxis")
    return moveaxis(a, axis, start - 1 if axis < start else start)


def flip(m: Any, axis: Any = None) -> Any:
    """m with the order of its elements reversed along axes (all with None).

    >>> jnp.flip(jnp.array([[1, 2], [3, 4]])), jnp.flip(jnp.array([[1, 2]]), axis=1)
    (Array([[4, 3],
            [2, 1]], dtype=int32),
     Array([[2, 1]], dtype=int32))
    """
    m = value("flip", m)
    return ops.rev(m, axes_in(axis, m.ndim, "flip"))


def fliplr(m: Any) -> Any:
    """m reversed along its second axis.

    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """m reversed along its first axis.

    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """m turned by k quarter turns in the plane of two axes, from the first towards the second.

    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    m = value("rot90", m)
    plane = axes_in(axes, m.ndim, "rot90")
    if len(plane) != 2:
        raise ShapeError("a plane has two axes", op="rot90", m=m, axes=axes)
    first, second = plane
    k = static_int(k, "rot90", "k") % 4
    if k == 0:
        return m
    if k == 2:
        return flip(m, (first, second))
    if k == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


# --- broadcasting


@takes_out_sharding
def broadcast_to(array: Any, shape: Any) -> Any:
    """`array` repeated to a shape; axes align at the last. Raises ShapeError.

    >>> jnp.broadcast_to(jnp.array([[1], [2]]), (2, 3))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    a = value("broadcast_to", array)
    return ops.broadcast_to(a, shape_of(shape, "broadcast_to"))


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays, each repeated to the shape they broadcast to together.

    >>> jnp.broadcast_arrays(jnp.array([1, 2]), jnp.array([[3], [4]]))
    [Array([[1, 2],
            [1, 2]], dtype=int32),
     Array([[3, 3],
            [4, 4]], dtype=int32)]
    """
    return list(broadcast_together("broadcast_arrays", *args)) if args else []


# --- join


def _sequence(op: str, arrays: Any) -> list[Any]:
    if is_traced_or_device(arrays) or isinstance(arrays, np.ndarray):
        if not arrays.ndim:
            raise ArgumentTypeError("needs a sequence of arrays", op=op, arrays=arrays)
        a = value(op, arrays)
        return [_row(a, k) for k in range(a.shape[0])]
    if not isinstance(arrays, Iterable):
        raise ArgumentTypeError("needs a sequence of arrays", op=op, arrays=arrays)
    found = list(arrays)
    if not found:
        raise ArgumentError("needs at least one array", op=op)
    return found


def _row(a: Any, k: int, axis: int = 0) -> Any:
    return slices.index_in_dim(a, k, axis, keepdims=False)


def _element(op: str, x: Any, i: int) -> Any:
    # numpy.stack([[1, 2], [3, 4]]) is common: lists of numbers are taken inside the sequence.
    return array(x) if isinstance(x, list | tuple) else value(op, x, i)


def _common(op: str, arrays: Any, dtype: Any = None) -> list[Any]:
    found = [_element(op, x, i) for i, x in enumerate(_sequence(op, arrays))]
    if dtype is not None:
        wanted = to_dtype(dtype)
        return [astype(x, wanted) for x in found]
    first = found[0].type
    if all(x.type.dtype == first.dtype for x in found):
        return found
    return promote_dtypes(op, found)


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along an axis; flattened first if axis is None.

    Their dtypes are promoted to one, or converted to dtype. Raises: ShapeError if they differ along
    another axis.

    >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3.5])])
    Array([1. , 2. , 3.5], dtype=float32)
    >>> jnp.concatenate([jnp.ones((2, 3)), jnp.zeros((2, 1))], axis=1).shape
    (2, 4)
    """
    found = _common("concatenate", arrays, dtype)
    if hasattr(axis, "shape"):  # the mistake concatenate(x, y)
        axis_in(axis, 1, "concatenate")
    if axis is None:
        found, axis = [ravel(x) for x in found], 0
    if not found[0].ndim:
        raise ShapeError(
            "arrays without axes cannot be joined", op="concatenate", fix="use jnp.stack"
        )
    axis = axis_in(axis, found[0].ndim, "concatenate")
    for i, x in enumerate(found):
        same = x.ndim == found[0].ndim and all(
            k == axis or n == m for k, (n, m) in enumerate(zip(x.shape, found[0].shape))
        )
        if not same:
            raise ShapeError(
                f"the arrays differ in another axis than {axis}",
                op="concatenate",
                **{"array 0": found[0], f"array {i}": x},
            )
    return found[0] if len(found) == 1 else slices.concatenate_p.bind(*found, axis=axis)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """The arrays one after the other along an axis; see `concatenate`.

    >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """The arrays, all of one shape, along a new axis. Raises ShapeError.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    out_is_none("stack", out)
    found = _common("stack", arrays, dtype)
    shape = found[0].shape
    for i, x in enumerate(found):
        if x.shape != shape:
            raise ShapeError(
                "the arrays have different shapes",
                op="stack",
                **{"array 0": found[0], f"array {i}": x},
            )
    axis = axis_in(axis, len(shape) + 1, "stack")
    longer = (*shape[:axis], 1, *shape[axis:])
    parts = [ops.reshape(x, longer) for x in found]
    return parts[0] if len(parts) == 1 else slices.concatenate_p.bind(*parts, axis=axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of x along an axis, which they lack.

    >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = value("unstack", x)
    axis = axis_in(axis, x.ndim, "unstack") if x.ndim else 0
    return rows(x, axis)


def rows(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array or tracer along an axis."""
    if not x.ndim:
        raise ShapeError("an array without axes has no parts", op=called("unstack"), x=x)
    n = x.shape[axis]
    if not n:
        return ()
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    parts = slices.split_p.bind(x, sizes=(1,) * n, axis=axis)
    return tuple(ops.reshape(p, shape) for p in parts)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """The arrays side by side: along the second axis, vectors along their only one.

    >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    >>> jnp.hstack([jnp.ones((2, 1)), jnp.ones((2, 3))]).shape
    (2, 4)
    """
    found = [atleast_1d(_element("hstack", x, i)) for i, x in enumerate(_sequence("hstack", tup))]
    return concatenate(found, 0 if found[0].ndim == 1 else 1, dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """The arrays one below the other: along the first axis, vectors as rows.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    found = [atleast_2d(_element("vstack", x, i)) for i, x in enumerate(_sequence("vstack", tup))]
    return concatenate(found, 0, dtype)


row_stack = vstack


def dstack(tup: Any, dtype: Any = None) -> Any:
    """The arrays along the third axis.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    found = [atleast_3d(_element("dstack", x, i)) for i, x in enumerate(_sequence("dstack", tup))]
    return concatenate(found, 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix; matrices side by side.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    found = []
    for i, x in enumerate(_sequence("column_stack", tup)):
        x = _element("column_stack", x, i)
        found.append(ops.reshape(x, (x.size, 1)) if x.ndim < 2 else x)
    return concatenate(found, 1)


def block(arrays: Any) -> Any:
    """An array put together from nested lists of blocks: innermost lists along the last axis.

    >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.ones((1, 3))]])
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """
    depth = _depth(arrays)
    ndim = max(depth, _largest_ndim(arrays))
    return _joined(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        if isinstance(arrays, tuple):
            raise ArgumentTypeError("blocks stand in lists, not tuples", op="block")
        return 0
    if not arrays:
        raise ArgumentError("a list of blocks is empty", op="block")
    depths = {_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ArgumentError("the lists are nested to different depths", op="block")
    return 1 + depths.pop()


def _largest_ndim(arrays: Any) -> int:
    if isinstance(arrays, list):
        return builtins.max(map(_largest_ndim, arrays))
    return type_of(operand("block", arrays)).ndim


def _joined(arrays: Any, depth: int, ndim: int) -> Any:
    if not depth:
        a = value("block", arrays)
        return ops.reshape(a, (1,) * (ndim - a.ndim) + a.shape)
    return concatenate([_joined(a, depth - 1, ndim) for a in arrays], axis=-depth)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """arr followed by values along an axis; both flattened if axis is None.

    >>> jnp.append(jnp.array([1, 2]), jnp.array([[3], [4]]))
    Array([1, 2, 3, 4], dtype=int32)
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(asarray(values))], 0)
    return concatenate([arr, values], axis)


# --- questions about shapes


def ndim(a: Any) -> int:
    """The number of axes; of lists too.

    >>> jnp.ndim(5), jnp.ndim(jnp.ones((2, 3))), jnp.ndim([[1], [2]])
    (0, 2, 2)
    """
    return len(shape(a))


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes; of lists too.

    >>> jnp.shape(5), jnp.shape(jnp.ones((2, 3))), jnp.shape([[1], [2]])
    ((), (2, 3), (2, 1))
    """
    if isinstance(a, list | tuple):
        return type_of(asarray(a)).shape
    # As in NumPy, what is no array has no axes: libraries ask for the shape of None.
    return type_of(operand("shape", a)).shape if is_arraylike(a) else np.shape(a)


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or of those along axes.

    >>> jnp.size(jnp.ones((2, 3))), jnp.size(jnp.ones((2, 3)), axis=1)
    (6, 3)
    """
    sizes = shape(a)
    if axis is None:
        return math.prod(sizes)
    return math.prod(sizes[k] for k in axes_in(axis, len(sizes), "size"))


def iterable(y: Any) -> bool:
    """Whether y can be iterated over.

    >>> jnp.iterable(jnp.ones(3)), jnp.iterable(5)
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


__all__ = [
    "append",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hstack",
    "iterable",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "resize",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "squeeze",
    "stack",
    "swapaxes",
    "transpose",
    "unstack",
    "vstack",
]
