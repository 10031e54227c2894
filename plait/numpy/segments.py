"""Rows combined by segment: segment_sum, segment_prod, segment_max and segment_min.

They are JAX's `jax.ops`; `plait.ops` shows them under that name.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError, ShapeError
from plait.numpy import reduction, ufuncs
from plait.numpy.creation import full
from plait.numpy.indexing import FILL, parse_mode, take
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import astype, known, static_int, value
from plait.ops import axes as ops
from plait.ops.gather import CLIP, GatherScatterMode
from plait.ops.iota import iota
from plait.ops.reduce import highest, lowest
from plait.ops.slices import concatenate, pad
from plait.ops.sort import argsort
from plait.regions.custom_jvp import custom_jvp
from plait.regions.loops import associative_scan


@takes_out_sharding
def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """For each segment the sum of the rows of data that belong to it; 0 where there is none.

    segment_ids[k] is the segment of row k; rows with ids that are no segment are left out, or
    clamped or wrapped as `mode` says. num_segments is by default the largest id + 1 and has to be
    given where ids are traced. indices_are_sorted and unique_indices promise something of the ids;
    with bucket_size so many rows at a time are combined first, which adds up less rounding.
    Shapes: data [n, ...], segment_ids [n] -> [num_segments, ...]. Raises: ShapeError, DtypeError,
    ArgumentError; ConcretizationTypeError without num_segments under a transformation.

    >>> plait.ops.segment_sum(np.float32([1, 2, 4]), np.array([0, 2, 0]))
    Array([5., 0., 2.], dtype=float32)
    """
    promises = (indices_are_sorted, unique_indices)
    return _combined(
        "segment_sum", "add", data, segment_ids, num_segments, promises, bucket_size, mode
    )


@takes_out_sharding
def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """For each segment the product of its rows, 1 where there is none; arguments: segment_sum.

    Derivative: exact, also where factors are 0. Cost of the derivative: a sort of the ids and two
    scans, unless unique_indices.

    >>> plait.ops.segment_prod(np.float32([3, 2, 4]), np.array([0, 2, 0]))
    Array([12.,  1.,  2.], dtype=float32)
    """
    promises = (indices_are_sorted, unique_indices)
    return _combined(
        "segment_prod", "multiply", data, segment_ids, num_segments, promises, bucket_size, mode
    )


@takes_out_sharding
def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """For each segment the largest of its rows, element by element; arguments: segment_sum.

    Segments without rows get -inf or the least integer. Derivative: equal largest elements share it
    (in equal parts within a bucket).

    >>> plait.ops.segment_max(np.int32([3, 2, 4]), np.array([0, 1, 0]))
    Array([4, 2], dtype=int32)
    """
    promises = (indices_are_sorted, unique_indices)
    return _combined(
        "segment_max", "max", data, segment_ids, num_segments, promises, bucket_size, mode
    )


@takes_out_sharding
def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """For each segment the smallest of its rows, element by element; see segment_max.

    >>> plait.ops.segment_min(np.int32([3, 2, 4]), np.array([0, 1, 0]))
    Array([3, 2], dtype=int32)
    """
    promises = (indices_are_sorted, unique_indices)
    return _combined(
        "segment_min", "min", data, segment_ids, num_segments, promises, bucket_size, mode
    )


_START = {
    "add": lambda dtype: np.zeros((), dtype),
    "multiply": lambda dtype: np.ones((), dtype),
    "max": lowest,
    "min": highest,
}
_REDUCE = {
    "add": reduction.sum,
    "multiply": reduction.prod,
    "max": reduction.max,
    "min": reduction.min,
}


def _combined(
    op: str,
    how: str,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    promises: tuple[bool, bool],
    bucket_size: Any,
    mode: Any,
) -> Any:
    data, ids = value(op, data), value(op, segment_ids, 1)
    increasing, unique = promises
    if ids.dtype not in dtypes.INTEGER:
        raise DtypeError("segment ids are integers", op=op, segment_ids=ids)
    if how in ("add", "multiply") and data.dtype not in dtypes.NUMBER:
        raise DtypeError("takes numbers", op=op, data=data, fix="convert with x.astype(int)")
    if ids.ndim != 1 or (data.ndim and data.shape[0] not in (1, ids.shape[0])):
        raise ShapeError(
            "segment_ids need one axis, with an id for each row of data",
            op=op,
            data=data,
            segment_ids=ids,
        )
    row = data.shape[1:]
    data = ops.broadcast_to(data, (*ids.shape, *row))
    ids = astype(ids, dtypes.int32) if ids.dtype.itemsize < 4 else ids
    count = _count(op, ids, num_segments)
    chosen, wrap = parse_mode(mode, FILL, op)
    if count and (wrap or chosen is CLIP):
        ids = ufuncs.remainder(ids, count) if wrap else ufuncs.clip(ids, 0, count - 1)
        # What was promised of the ids as they were.
        increasing, unique = increasing and not wrap, False
    if bucket_size is None:
        return _scattered(how, data, ids, count, increasing, unique)
    size = static_int(bucket_size, op, "bucket_size")
    if size < 1:
        raise ArgumentError("bucket_size is at least 1", op=op, bucket_size=size)
    # A segment for each bucket and segment; ids of no segment come after them all.
    buckets = -(-ids.shape[0] // size)
    index = dtypes.int32 if buckets * count < 2**31 else dtypes.int64
    bucket = ufuncs.floor_divide(iota(index, ids.shape[0]), size)
    inside = ufuncs.logical_and(ufuncs.greater_equal(ids, 0), ufuncs.less(ids, count))
    place = ufuncs.add(ufuncs.multiply(bucket, count), astype(ids, index))
    place = ufuncs.where(inside, place, buckets * count)
    y = _scattered(how, data, place, buckets * count, False, unique)
    y = ops.reshape(y, (buckets, count, *row))
    return _REDUCE[how](y, 0, initial=_START[how](data.dtype)).astype(data.dtype)


def _count(op: str, ids: Any, num_segments: Any) -> int:
    if num_segments is not None:
        count = static_int(num_segments, op, "num_segments")
        if count < 0:
            raise ArgumentError("num_segments is at least 0", op=op, num_segments=count)
        return count
    host = known(ids)
    if host is None:
        raise ConcretizationTypeError(
            "the number of segments decides the size of the result, and the ids are traced",
            op=op,
            segment_ids=ids,
            fix="pass num_segments",
        )
    return int(host.max(initial=-1)) + 1


def _scattered(how: str, data: Any, ids: Any, count: int, increasing: bool, unique: bool) -> Any:
    if how == "multiply" and data.dtype in dtypes.INEXACT and not unique:
        return _product(data, ids, count, increasing)
    return _plain(how, data, ids, count, increasing, unique)


def _plain(how: str, data: Any, ids: Any, count: int, increasing: bool, unique: bool) -> Any:
    place = full((count, *data.shape[1:]), _START[how](data.dtype), data.dtype).at[ids]
    return getattr(place, how)(
        data,
        mode=FILL,
        indices_are_sorted=increasing,
        unique_indices=unique,
        wrap_negative_indices=False,
    )


# --- the derivative of a product: each tangent times the product of the other factors


@functools.partial(custom_jvp, nondiff_argnums=(2, 3))
def _product(data: Any, ids: Any, count: int, increasing: bool) -> Any:
    return _plain("multiply", data, ids, count, increasing, False)


@_product.defjvp
def _product_rule(count: int, increasing: bool, primals: Any, tangents: Any) -> Any:
    (data, ids), t = primals, tangents[0]
    y = _product(data, ids, count, increasing)
    if not data.size:
        return y, ops.full(y.shape, 0, y.dtype)
    if not increasing:
        order = argsort(ids)
        data, ids, t = (take(x, order, 0, mode="clip") for x in (data, ids, t))
    # The factors of a segment are now neighbours: the others are those before and those after.
    edge = ufuncs.not_equal(ids[1:], ids[:-1])
    ends = np.ones(1, np.bool_)
    before = _running_product(data[:-1], concatenate([ends, edge], 0))
    after = _running_product(ops.rev(data[1:], (0,)), ops.rev(concatenate([edge, ends], 0), (0,)))
    others = ufuncs.multiply(before, ops.rev(after, (0,)))
    return y, _plain("add", ufuncs.multiply(t, others), ids, count, True, False)


def _running_product(rows: Any, first: Any) -> Any:
    """For each row but the first the product of the rows before it, back to the one where `first`
    is; rows are all but the last.
    """
    first = ops.reshape(first, (*first.shape, *(1,) * (rows.ndim - 1)))
    one = np.ones((), rows.dtype)
    shifted = ufuncs.where(first, one, pad(rows, one, [(1, 0, 0)] + [(0, 0, 0)] * (rows.ndim - 1)))

    def combine(a: Any, b: Any) -> Any:
        whole = ufuncs.where(b[0], b[1], ufuncs.multiply(a[1], b[1]))
        return ufuncs.logical_or(a[0], b[0]), whole

    return associative_scan(combine, (first, shifted))[1]


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
