"""bitcast_convert_type: the bits of numbers read as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes, sample
from plait.core.dtypes import ANY, BOOL, COMPLEX, INT, INTEGER
from plait.core.primitive import Primitive, register
from plait.core.sample import integers
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError


def width(dtype: Any) -> int:
    """How many bits an element of integers or floats has; 0 for other dtypes."""
    if dtype in BOOL or dtype in COMPLEX or dtype not in ANY:
        return 0
    return int((dtypes.iinfo if dtype in INTEGER else dtypes.finfo)(dtype).bits)


class BitcastConvertType(Primitive):
    """The same bits read as another dtype."""

    name = "bitcast_convert_type"
    differentiable = False

    def type(self, x, *, dtype):
        old, new = width(x.dtype), width(dtype)
        if x.dtype == dtype:
            return x.strong()
        if not old or not new:
            fix = "view complex numbers through real and imag, booleans by converting them"
            raise DtypeError(
                "reads bits of integers and floats only", x=x, dtype=dtype.name, fix=fix
            )
        if old == new:
            return ArrayType(x.shape, dtype)
        if old > new:
            return ArrayType((*x.shape, old // new), dtype)
        if not x.shape or x.shape[-1] != new // old:
            raise ShapeError(
                f"the last axis must have size {new // old}, to make one {dtype.name} of it",
                x=x,
                dtype=dtype.name,
                fix=f"reshape x to (..., {new // old}) before",
            )
        return ArrayType(x.shape[:-1], dtype)

    def numpy(self, x, *, dtype):
        out = self.type(type_of(x), dtype=dtype)
        if x.dtype == dtype:
            return x.copy()
        bits = _bits(x)
        return _from_bits(bits, dtype).reshape(out.shape)

    def batch(self, frame, xs, mapped, *, dtype):
        return self.bind(*xs, dtype=dtype), True

    def lower(self, b, x, *, dtype):
        (out,) = b.result_types
        return x if x.dtype == dtype else b.bitcast(x, ArrayType(out.shape, dtype))

    def samples(self):
        yield (sample.real(2, 3, dtype=np.float32),), {"dtype": np.dtype(np.int32)}
        yield (sample.real(2, 3, dtype=np.float32),), {"dtype": np.dtype(np.uint8)}
        yield (integers(3, 2, dtype=np.int16),), {"dtype": np.dtype(np.float32)}
        yield (sample.real(3, dtype=np.float16),), {"dtype": dtypes.bfloat16}


def _bits(x: np.ndarray) -> np.ndarray:
    """The bits of an array in memory order, one 0 or 1 each."""
    n = width(x.dtype)
    stored = np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
    bits = np.unpackbits(stored, axis=1, bitorder="little")
    return bits[:, :n].reshape(-1)  # four-bit numbers are stored in bytes


def _from_bits(bits: np.ndarray, dtype: np.dtype) -> np.ndarray:
    n = width(dtype)
    rows = bits.reshape(-1, n)
    if n < 8:
        sign_bit = rows[:, -1:] if dtype in INT else np.zeros_like(rows[:, -1:])
        rows = np.concatenate([rows, np.repeat(sign_bit, 8 - n, axis=1)], axis=1)
    return np.packbits(rows, axis=1, bitorder="little").view(dtype)


bitcast_convert_type_p = register(BitcastConvertType())


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of operand read as another dtype (narrowed to 32 bits unless enable_x64 is on).

    Shapes: unchanged for dtypes of one width; a narrower dtype adds a last axis for the parts, the
    lowest bits first; a wider one takes it away. Raises: DtypeError for bool and complex,
    ShapeError if the last axis does not make up one element.

    >>> lax.bitcast_convert_type(jnp.array([1.0, -0.0]), jnp.uint32)
    Array([1065353216, 2147483648], dtype=uint32)
    """
    dtype = dtypes.canonical(dtypes.as_dtype(new_dtype))
    return bitcast_convert_type_p.bind(operand, dtype=dtype)


__all__ = ["bitcast_convert_type", "width"]
