"""Products of arrays one of whose axes is cut into groups: ragged_dot, ragged_dot_general."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core.dtypes import INTEGER
from plait.core.plain import listed
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.ops.arithmetic import sub
from plait.ops.axes import broadcast_in_dim, normalise_axes, permute
from plait.ops.compare import bitwise_and, ge, lt, select
from plait.ops.cumulative import cumsum
from plait.ops.dot import PrecisionLike, dimension_pairs, dot_general
from plait.ops.iota import broadcasted_iota


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes ragged_dot_general multiplies along.

    dot_dimension_numbers: contracted axes and batch axes, as dot_general has them.
    lhs_ragged_dimensions: the one axis of lhs that is cut into groups.
    rhs_group_dimensions: the axis of rhs that counts the groups, if the ragged axis is a free one
        (neither contracted nor a batch axis); else none.

    >>> rows = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    >>> rows.lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Any
    rhs_group_dimensions: Any


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
    x, y, sizes = type_of(lhs), type_of(rhs), type_of(group_sizes)
    if x.ndim != 2 or y.ndim != 3 or x.shape[1] != y.shape[1] or sizes.shape != y.shape[:1]:
        raise ShapeError(
            "needs lhs [m, k], rhs [g, k, n], group_sizes [g]",
            op="ragged_dot",
            lhs=x,
            rhs=y,
            group_sizes=sizes,
        )
    rows = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(
        lhs, rhs, group_sizes, rows, precision, preferred_element_type, group_offset
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
) -> Any:
    """dot_general with one axis of lhs cut into groups of group_sizes, one after the other.

    A free axis: each group of it meets the part of rhs for its group. A contracted axis: each group
    is summed on its own, and the result has a first axis that counts the groups. A batch axis: the
    groups change nothing. What belongs to no group gives 0.
    Shapes: group_sizes [g], or with an axis before for each batch axis and each contracted (or
    free) axis before the ragged one. Derivative: with respect to lhs and rhs. Cost: g times that of
    the product without groups. Raises: ShapeError, DtypeError, ArgumentError.

    >>> x = jnp.arange(6.0).reshape(3, 2)
    >>> rows_summed = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> lax.ragged_dot_general(x, jnp.ones((3, 1)), jnp.array([1, 2]), rows_summed).squeeze()
    Array([[0., 1.],
           [6., 8.]], dtype=float32)
    """
    op = "ragged_dot_general"
    x, y, sizes = type_of(lhs), type_of(rhs), type_of(group_sizes)
    if group_offset is not None:
        raise ArgumentError(
            "group_offset must be None",
            op=op,
            group_offset=group_offset,
            fix="leave it out: the groups begin with the first rows",
        )
    if sizes.dtype not in INTEGER:
        raise DtypeError("group_sizes holds integers", op=op, group_sizes=sizes)
    parts = listed(ragged_dot_dimension_numbers, op, "ragged_dot_dimension_numbers")
    if len(parts) != 3:
        summary = "ragged_dot_dimension_numbers is a lax.RaggedDotDimensionNumbers"
        raise ArgumentError(summary, op=op, ragged_dot_dimension_numbers=parts)
    dot_numbers, ragged_axes, group_axes = parts
    contracted, batch = dimension_pairs(dot_numbers, x, y, op)
    ragged_axes = normalise_axes(ragged_axes, x.ndim, op)
    group_axes = normalise_axes(group_axes, y.ndim, op)
    if len(ragged_axes) != 1:
        raise ArgumentError("lhs has one ragged axis", op=op, lhs_ragged_dimensions=ragged_axes)
    (ragged,) = ragged_axes
    free = ragged not in contracted[0] + batch[0]
    if len(group_axes) != free:
        raise ArgumentError(
            "rhs has one axis of groups if the ragged axis of lhs is a free one, else none",
            op=op,
            rhs_group_dimensions=group_axes,
        )
    same = batch[0] if ragged in batch[0] else contracted[0]
    if free:
        same = tuple(k for k in range(x.ndim) if k not in contracted[0] + batch[0])
    before = same[: same.index(ragged)]
    before = before if ragged in batch[0] else batch[0] + before
    g = y.shape[group_axes[0]] if free else sizes.shape[-1] if sizes.ndim else 0
    expected = (*(x.shape[k] for k in before), g)
    if sizes.shape not in ((g,), expected):
        either = " or ".join(map(str, dict.fromkeys([(g,), expected])))
        raise ShapeError(f"group_sizes has the shape {either}", op=op, group_sizes=sizes, lhs=x)
    if ragged in batch[0]:
        return dot_general(lhs, rhs, (contracted, batch), precision, preferred_element_type)
    if free:  # the groups are contracted too, beside the axes that are: no transposition
        at = min(contracted[0], default=x.ndim)
        spread = _by_group(lhs, group_sizes, ragged, before, at)
        contracted = ((at, *_moved(contracted[0], at)), (*group_axes, *contracted[1]))
        batch = (_moved(batch[0], at), batch[1])
        return dot_general(spread, rhs, (contracted, batch), precision, preferred_element_type)
    # The same axes of rhs; both are masked, lest a NaN outside of a group count.
    pairs = dict(zip(batch[0] + contracted[0], batch[1] + contracted[1], strict=True))
    spread = _by_group(lhs, group_sizes, ragged, before, 0)
    other = _by_group(rhs, group_sizes, pairs[ragged], tuple(pairs[k] for k in before), 0)
    contracted = tuple(_moved(axes, 0) for axes in contracted)
    batch = tuple((0, *_moved(axes, 0)) for axes in batch)
    return dot_general(spread, other, (contracted, batch), precision, preferred_element_type)


def _moved(axes: Sequence[int], at: int) -> tuple[int, ...]:
    """Axes as they are called after a new one is put in."""
    return tuple(k + (k >= at) for k in axes)


def _by_group(x: Any, group_sizes: Any, ragged: int, before: tuple[int, ...], at: int) -> Any:
    """x once for each group along a new axis, zeros outside of the group.

    before: the axes of x for which group_sizes, if it has more than one axis, has sizes of its own.
    """
    type_, sizes = type_of(x), type_of(group_sizes)
    shape = (*type_.shape[:at], sizes.shape[-1], *type_.shape[at:])
    axes = (*_moved(before, at), at) if sizes.ndim > 1 else (at,)
    order = sorted(range(len(axes)), key=axes.__getitem__)
    ends = cumsum(group_sizes, sizes.ndim - 1)
    end, start = (
        broadcast_in_dim(permute(e, order), shape, sorted(axes))
        for e in (ends, sub(ends, group_sizes))
    )
    position = broadcasted_iota(sizes.dtype, shape, *_moved((ragged,), at))
    inside = bitwise_and(ge(position, start), lt(position, end))
    spread = broadcast_in_dim(x, shape, _moved(range(type_.ndim), at))
    return select(inside, spread, broadcast_in_dim(np.zeros((), type_.dtype), shape, ()))


__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"]
