"""ragged_dot: rows of a matrix in groups, each group times a matrix of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.dtypes import INTEGER
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.ops.arithmetic import sub
from plait.ops.axes import broadcast_in_dim
from plait.ops.compare import bitwise_and, ge, lt, select
from plait.ops.cumulative import cumsum
from plait.ops.dot import PrecisionLike, dot_general
from plait.ops.iota import broadcasted_iota


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
) -> Any:
    """The rows of lhs, of which the first group_sizes[0] belong to group 0, the next to group 1,
    ..., each times the matrix of its group; rows that belong to no group give 0.

    Shapes: lhs [m, k], rhs [g, k, n], group_sizes [g] -> [m, n]. Derivative: with respect to lhs
    and rhs. Cost: that of a product with g k in place of k. Raises: ShapeError, DtypeError,
    ArgumentError for a group_offset.

    >>> groups = jnp.stack([jnp.eye(2), 10 * jnp.eye(2)])
    >>> lax.ragged_dot(jnp.ones((3, 2)), groups, jnp.array([1, 2]))
    Array([[ 1.,  1.],
           [10., 10.],
           [10., 10.]], dtype=float32)
    """
    op = "ragged_dot"
    x, y, sizes = type_of(lhs), type_of(rhs), type_of(group_sizes)
    if group_offset is not None:
        raise ArgumentError("group_offset must be None", op=op, group_offset=group_offset)
    if sizes.dtype not in INTEGER:
        raise DtypeError("group_sizes holds integers", op=op, group_sizes=sizes)
    if x.ndim != 2 or y.ndim != 3 or x.shape[1] != y.shape[1] or sizes.shape != y.shape[:1]:
        raise ShapeError(
            "needs lhs [m, k], rhs [g, k, n], group_sizes [g]",
            op=op,
            lhs=x,
            rhs=y,
            group_sizes=sizes,
        )
    (m, k), g = x.shape, y.shape[0]
    ends = cumsum(group_sizes)
    row = broadcasted_iota(sizes.dtype, (m, g), 0)
    end, start = (broadcast_in_dim(e, (m, g), (1,)) for e in (ends, sub(ends, group_sizes)))
    inside = broadcast_in_dim(bitwise_and(ge(row, start), lt(row, end)), (m, g, k), (0, 1))
    spread = broadcast_in_dim(lhs, (m, g, k), (0, 2))
    spread = select(inside, spread, broadcast_in_dim(np.zeros((), x.dtype), (m, g, k), ()))
    contracted = ((1, 2), (0, 1))
    return dot_general(spread, rhs, (contracted, ((), ())), precision, preferred_element_type)
