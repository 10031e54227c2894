"""JAX's lax spellings of ops whose own functions have another form or name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core.dtypes import INT, as_dtype, canonical, int32
from plait.core.plain import listed, static_int
from plait.core.types import is_array, type_of
from plait.errors import ArgumentError, ShapeError
from plait.ops import axes as ops
from plait.ops.arithmetic import add, convert_element_type, integer_pow
from plait.ops.compare import lt, select
from plait.ops.dot import dot_general
from plait.ops.gather import GatherDimensionNumbers, gather
from plait.ops.iota import full
from plait.ops.slices import concatenate, index_in_dim


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """operand with its axes in another order: axis k of the result is axis permutation[k].

    Raises: ShapeError unless permutation names each axis once.

    >>> lax.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return ops.permute(operand, permutation)


def reshape(
    operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, **_: Any
) -> Any:
    """operand in another shape with as many elements, row-major, after reading its axes in the
    order `dimensions` if given. Raises ShapeError.

    >>> lax.reshape(jnp.arange(6), (3, 2))
    Array([[0, 1],
           [2, 3],
           [4, 5]], dtype=int32)
    """
    if dimensions is not None:
        operand = ops.permute(operand, dimensions)
    return ops.reshape(operand, ops.check_shape(new_sizes, "reshape"))


def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """Sum of operand over axes; dtype unchanged. Raises for axes out of range.

    >>> lax.reduce_sum(jnp.array([[1, 2], [3, 4]]), (0,))
    Array([4, 6], dtype=int32)
    """
    return ops.reduce_sum(operand, ops.normalise_axes(axes, type_of(operand).ndim, "reduce_sum"))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of several shapes broadcast to. Raises ShapeError if they do not.

    >>> lax.broadcast_shapes((3, 1), (4,), ())
    (3, 4)
    """
    plain = [ops.check_shape(s, "broadcast_shapes") for s in shapes]
    rank = max((len(s) for s in plain), default=0)
    out = []
    for k in range(rank):
        sizes = {s[k - rank + len(s)] for s in plain if k - rank + len(s) >= 0} - {1}
        if len(sizes) > 1:
            raise ShapeError(
                "the shapes do not broadcast together",
                op="broadcast_shapes",
                shapes=", ".join(map(str, plain)),
            )
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """x with axes of size 1 in front, up to a rank. Raises ArgumentError if it has more.

    >>> lax.broadcast_to_rank(jnp.zeros((3, 4)), 4).shape
    (1, 1, 3, 4)
    """
    have, rank = type_of(x).ndim, static_int(rank, "broadcast_to_rank", "rank")
    if have > rank:
        raise ArgumentError("x has more axes than rank", op="broadcast_to_rank", x=x, rank=rank)
    return ops.reshape(x, (1,) * (rank - have) + type_of(x).shape)


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """An array repeated along new first axes, and axes of size 1, to the shape of another.

    Raises: ShapeError if it does not broadcast to that shape.

    >>> lax.broadcast_like(jnp.array([1, 2, 3]), jnp.zeros((2, 3)))
    Array([[1, 2, 3],
           [1, 2, 3]], dtype=int32)
    """
    return ops.broadcast_to(arr, type_of(like_arr).shape)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """The parts of an array at positions of some of its axes: one vector of positions for each.

    Shapes: the result has the length of the vectors first, then the other axes of src. Negative
    positions count from the end, those out of range are the nearest in it.
    Raises: ShapeError for positions that are not vectors of one length, one for each axis.

    >>> rows, columns = jnp.array([0, 1, 1]), jnp.array([2, 0, -1])
    >>> lax.index_take(jnp.arange(6).reshape(2, 3), (rows, columns), (0, 1))
    Array([2, 3, 5], dtype=int32)
    """
    op = "index_take"
    type_ = type_of(src)
    axes = ops.normalise_axes(axes, type_.ndim, op)
    types = [type_of(i) for i in idxs]
    if len(types) != len(axes) or any(t.ndim != 1 or t.shape != types[0].shape for t in types):
        summary = "needs a vector of positions for each axis, all of one length"
        raise ShapeError(summary, op=op, src=type_, idxs=tuple(map(str, types)), axes=axes)
    columns = []
    for i, t, axis in zip(idxs, types, axes, strict=True):
        size = np.asarray(type_.shape[axis], t.dtype)
        i = select(lt(i, np.zeros((), t.dtype)), add(i, size), i) if t.dtype in INT else i
        columns.append(convert_element_type(ops.expand_dims(i, (1,)), int32))
    rest = tuple(range(1, type_.ndim - len(axes) + 1))
    numbers = GatherDimensionNumbers(rest, tuple(sorted(axes)), axes)
    sizes = tuple(1 if k in axes else n for k, n in enumerate(type_.shape))
    return gather(src, concatenate(columns, 1), numbers, sizes, mode="clip")


def dtype(x: Any) -> Any:
    """The dtype that x has, or would have as an array; of a dtype, the one that arrays get.

    >>> lax.dtype(1.0), lax.dtype("int8")
    (dtype('float32'), dtype('int8'))
    """
    return type_of(x).dtype if is_array(x) else canonical(as_dtype(x, "dtype"))


def reciprocal(x: Any) -> Any:
    """1 / x.

    >>> lax.reciprocal(jnp.array([2.0, 4.0]))
    Array([0.5 , 0.25], dtype=float32)
    """
    return integer_pow(x, -1)


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """An array of zeros: memory without a value does not exist here.

    >>> lax.empty((2,), jnp.int32)
    Array([0, 0], dtype=int32)
    """
    return full(shape, 0, dtype)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Products of matrices in the last two axes, one for each position along the others.

    Shapes: [*s, m, k], [*s, k, n] -> [*s, m, n]. Raises: ShapeError.

    >>> lax.batch_matmul(jnp.ones((4, 2, 3)), jnp.ones((4, 3, 5))).shape
    (4, 2, 5)
    """
    n = type_of(lhs).ndim
    if n < 2 or type_of(rhs).ndim != n:
        raise ShapeError(
            "needs two arrays of one rank, at least 2", op="batch_matmul", lhs=lhs, rhs=rhs
        )
    batch = tuple(range(n - 2))
    return dot_general(lhs, rhs, (((n - 1,), (n - 2,)), (batch, batch)), precision)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape and dtype along a new axis. Raises: ShapeError, DtypeError.

    >>> lax.stack([jnp.zeros(3), jnp.ones(3)]).shape
    (2, 3)
    """
    operands = listed(operands, "stack", "operands")
    if not operands:
        raise ShapeError("needs at least one array", op="stack")
    axis = ops.normalise_axis(axis, type_of(operands[0]).ndim + 1, "stack")
    return concatenate([ops.expand_dims(x, (axis,)) for x in operands], axis)


def unstack(operand: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array along an axis, without that axis.

    >>> [x.shape for x in lax.unstack(jnp.zeros((2, 3)))]
    [(3,), (3,)]
    """
    axis = ops.normalise_axis(axis, type_of(operand).ndim, "unstack")
    count = type_of(operand).shape[axis]
    return tuple(index_in_dim(operand, k, axis, keepdims=False) for k in range(count))
