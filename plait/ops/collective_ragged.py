"""ragged_all_to_all: every position sends each other one a piece of its rows, of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core.dtypes import INTEGER
from plait.core.types import type_of
from plait.errors import DtypeError, ShapeError
from plait.ops.arithmetic import add, mul, sub
from plait.ops.axes import broadcast_in_dim
from plait.ops.axis_names import names_of, sizes_of
from plait.ops.collective_exchange import all_gather, all_to_all
from plait.ops.compare import bitwise_and, ge, lt, select
from plait.ops.gather import GatherDimensionNumbers, GatherScatterMode, gather
from plait.ops.iota import broadcasted_iota, iota
from plait.ops.reduce import argmax, reduce_max
from plait.ops.structure import reshape


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Any:
    """`output` with rows of every position's operand written into it.

    To position k goes operand[input_offsets[k] : input_offsets[k] + send_sizes[k]]; it lies there
    from row output_offsets[k] on. recv_sizes[k] is what position k sends here, and repeats what its
    send_sizes say.
    Shapes: operand [m, ...], output [r, ...], the rest [n], n the size of the axis or of a group;
    the result is like output. Derivative: with respect to operand and output. Cost: an all_gather
    of operand. Raises: AxisNameError, ShapeError, DtypeError, ArgumentError.

    >>> def deal(x):  # the first row to position 0, the two others to position 1
    ...     here = lax.axis_index("i")
    ...     return lax.ragged_all_to_all(
    ...         x, jnp.zeros(4), jnp.array([0, 1]), jnp.array([1, 2]), here * jnp.array([1, 2]),
    ...         jnp.where(here == 0, 1, 2) * jnp.ones(2, int), axis_name="i",
    ...     )
    >>> plait.pmap(deal, axis_name="i")(np.float32([[1, 2, 3], [4, 5, 6]]))
    Array([[1., 4., 0., 0.],
           [2., 3., 5., 6.]], dtype=float32)
    """
    op = "ragged_all_to_all"
    n = math.prod(sizes_of(names_of(axis_name, op), op))
    if axis_index_groups:
        n = len(axis_index_groups[0])
    x, y = type_of(operand), type_of(output)
    if not x.ndim or x.shape[1:] != y.shape[1:]:
        raise ShapeError("operand and output have rows of one shape", op=op, operand=x, output=y)
    if x.dtype != y.dtype:
        raise DtypeError("operand and output have one dtype", op=op, operand=x, output=y)
    numbers = {
        "input_offsets": input_offsets,
        "send_sizes": send_sizes,
        "output_offsets": output_offsets,
        "recv_sizes": recv_sizes,
    }
    for name, v in numbers.items():
        if type_of(v).dtype not in INTEGER:
            raise DtypeError(f"{name} holds integers", op=op, **{name: v})
        if type_of(v).shape != (n,):
            raise ShapeError(f"{name} has one number for each of {n} positions", op=op, **{name: v})

    if not x.shape[0]:
        return output

    def from_all(v: Any) -> Any:
        return all_to_all(v, axis_name, 0, 0, axis_index_groups=axis_index_groups, tiled=True)

    sent_from, sizes, start = map(from_all, (input_offsets, send_sizes, output_offsets))
    rows, m = y.shape[0], x.shape[0]
    dtype = type_of(start).dtype
    row = broadcasted_iota(dtype, (n, rows), 1)

    def over_rows(v: Any) -> Any:
        return broadcast_in_dim(v, (n, rows), (0,))

    inside = bitwise_and(ge(row, over_rows(start)), lt(row, over_rows(add(start, sizes))))
    sender = argmax(inside, 0, dtype)
    shift = sub(sent_from, start)  # in the sender's operand, less the row here
    whole = all_gather(operand, axis_name, axis_index_groups=axis_index_groups, tiled=True)
    place = add(iota(dtype, rows), add(_rows(shift, sender), mul(sender, np.asarray(m, dtype))))
    found = broadcast_in_dim(reduce_max(inside, (0,)), y.shape, (0,))
    return select(found, _rows(whole, place), output)


def _rows(x: Any, indices: Any) -> Any:
    """x[indices] of a vector of indices."""
    shape = type_of(x).shape
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    where = reshape(indices, (*type_of(indices).shape, 1))
    return gather(x, where, numbers, (1, *shape[1:]), mode=GatherScatterMode.CLIP)


__all__ = ["ragged_all_to_all"]
