"""Bits packed into bytes, and several indices packed into one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, INTEGER, UINT
from plait.core.plain import listed
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcretizationTypeError,
    OutOfRangeError,
    several,
)
from plait.numpy import reduction, ufuncs
from plait.numpy.manipulation import moveaxis, ravel, rows
from plait.numpy.promotion import (
    astype,
    axis_in,
    is_traced_or_device,
    known,
    operand,
    shape_of,
    static_int,
    value,
)
from plait.ops import axes as ops
from plait.ops.slices import pad, slice_in_dim


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Groups of eight elements along an axis as the bits (nonzero or not) of bytes, uint8.

    >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 1, 1, 1]))
    Array([131, 128], dtype=uint8)
    """
    a = value("packbits", a)
    if a.dtype not in INTEGER and a.dtype not in BOOL:
        raise ArgumentTypeError("needs integers or booleans", op="packbits", a=a)
    a, axis, weights = _bytewise("packbits", a, axis, bitorder)
    a = moveaxis(a, axis, -1)
    bits = astype(ufuncs.not_equal(a, 0) if a.dtype not in BOOL else a, dtypes.uint8)
    missing = -bits.shape[-1] % 8
    bits = pad(bits, np.zeros((), np.uint8), [(0, 0, 0)] * (a.ndim - 1) + [(0, missing, 0)])
    groups = ops.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = reduction.sum(ufuncs.multiply(groups, weights), -1, dtype=dtypes.uint8)
    return moveaxis(packed, -1, axis)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The bits of bytes (uint8), eight elements of 0 or 1 each; `count` keeps the first ones.

    >>> jnp.unpackbits(jnp.uint8([131])), jnp.unpackbits(jnp.uint8([131]), count=2)
    (Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8), Array([1, 0], dtype=uint8))
    """
    a = value("unpackbits", a)
    if a.dtype != dtypes.uint8:
        raise ArgumentTypeError("needs uint8", op="unpackbits", a=a)
    a, axis, weights = _bytewise("unpackbits", a, axis, bitorder)
    a = moveaxis(a, axis, -1)
    bits = ufuncs.bitwise_and(ops.reshape(a, (*a.shape, 1)), weights)
    bits = astype(ufuncs.not_equal(bits, 0), dtypes.uint8)
    n = a.shape[-1] * 8
    bits = ops.reshape(bits, (*a.shape[:-1], n))
    if count is not None:
        count = static_int(count, "unpackbits", "count")
        if count < 0:
            bits = slice_in_dim(bits, 0, max(n + count, 0), axis=-1)
        elif count <= n:
            bits = slice_in_dim(bits, 0, count, axis=-1)
        else:
            config = [(0, 0, 0)] * (bits.ndim - 1) + [(0, count - n, 0)]
            bits = pad(bits, np.zeros((), np.uint8), config)
    return moveaxis(bits, -1, axis)


def _bytewise(op: str, a: Any, axis: int | None, bitorder: str) -> tuple[Any, int, np.ndarray]:
    if bitorder not in ("big", "little"):
        raise ArgumentError("bitorder is 'big' or 'little'", op=op, bitorder=bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    weights = np.left_shift(1, np.arange(8)).astype(np.uint8)
    weights = weights[::-1].copy() if bitorder == "big" else weights
    return a, axis_in(axis, a.ndim, op), weights


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Positions in the flattened array of a shape as positions along each axis.

    Positions outside are clamped.

    >>> jnp.unravel_index(jnp.array([0, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([0, 2], dtype=int32))
    """
    indices = value("unravel_index", indices)
    if indices.dtype not in INTEGER:
        raise ArgumentTypeError("needs integers", op="unravel_index", indices=indices)
    sizes = shape_of(shape, "unravel_index")
    total = math.prod(sizes)
    dtype = indices.dtype
    place = _wide(indices)
    if dtype in UINT:
        place = ufuncs.minimum(place, max(total - 1, 0))
    else:
        place = ufuncs.clip(place, -total, total - 1)
        place = ufuncs.where(ufuncs.less(place, 0), ufuncs.add(place, total), place)
    found = []
    for n in reversed(sizes):
        found.append(ufuncs.remainder(place, max(n, 1)))
        place = ufuncs.floor_divide(place, max(n, 1))
    if all(dtypes.fits(n - 1, dtype) for n in sizes):
        found = [x if x.dtype == dtype else astype(x, dtype) for x in found]
    return tuple(reversed(found))


def _wide(positions: Any) -> Any:
    # In 8 and 16 bits the sizes of arrays may have no place.
    return astype(positions, dtypes.int32) if positions.dtype.itemsize < 4 else positions


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """Positions along each axis of a shape as positions in the flattened array.

    mode "raise" (values must be known), "wrap" or "clip" for positions outside; order "C" or "F".
    Integers of less than 32 bits become int32.

    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([0, 2])), (2, 3))
    Array([0, 5], dtype=int32)
    >>> jnp.ravel_multi_index((1, 7), (2, 3), mode="clip")
    Array(5, dtype=int32, weak_type=True)
    """
    sizes = shape_of(dims, "ravel_multi_index")
    if is_traced_or_device(multi_index):
        multi_index = rows(multi_index)
    parts = listed(multi_index, "ravel_multi_index", "multi_index")
    parts = [operand("ravel_multi_index", p) for p in parts]
    if len(parts) != len(sizes):
        raise ArgumentError(
            "needs one index for each axis",
            op="ravel_multi_index",
            multi_index=several(len(parts), "index", "indices"),
            dims=sizes,
        )
    checked = []
    for p, n in zip(parts, sizes, strict=True):
        p = value("ravel_multi_index", p)
        if p.dtype not in INTEGER:
            raise ArgumentTypeError("needs integers", op="ravel_multi_index", index=p)
        p = _wide(p)
        if mode == "raise":
            host = known(p)
            if host is None:
                raise ConcretizationTypeError(
                    "mode 'raise' needs known values",
                    op="ravel_multi_index",
                    index=p,
                    fix="mode='clip'",
                )
            if host.size and (host.min() < 0 or host.max() >= n):
                summary = f"a position is outside of an axis of size {n}"
                raise OutOfRangeError(summary, op="ravel_multi_index", index=host.tolist())
        elif mode == "clip":
            p = ufuncs.clip(p, 0, n - 1)
        elif mode == "wrap":
            p = ufuncs.remainder(p, n)
        else:
            summary = "mode is 'raise', 'clip' or 'wrap'"
            raise ArgumentError(summary, op="ravel_multi_index", mode=mode)
        checked.append(p)
    if order not in ("C", "F"):
        raise ArgumentError("order is 'C' or 'F'", op="ravel_multi_index", order=order)
    pairs = list(zip(checked, sizes, strict=True))
    result: Any = 0
    for p, n in pairs if order == "C" else pairs[::-1]:
        result = ufuncs.add(ufuncs.multiply(result, n), p)
    return result
