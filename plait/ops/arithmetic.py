"""neg, add, sub, mul, div, rem, integer_pow and the dtype conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, FLOAT, INEXACT, INTEGER, NUMBER, REAL
from plait.core.plain import static_int
from plait.core.primitive import LinearOperand, Primitive, register
from plait.core.sample import booleans, complex_, integers, positive, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError
from plait.ops.elementwise import binary, unary

neg = unary(
    "neg",
    doc="-x, element by element; unsigned integers wrap. StableHLO: negate.",
    example=("lax.neg(jnp.array([1, -2]))", "Array([-1,  2], dtype=int32)"),
    accepts=NUMBER,
    numpy=np.negative,
    hlo="negate",
    jvp=lambda y, x, t: neg(t),
    transpose=lambda ct: neg(ct),
    samples=[real(2, 3), complex_(3), integers(4)],
)

add = binary(
    "add",
    doc="x + y, element by element; booleans give their logical or. StableHLO: add.",
    example=("lax.add(jnp.array([1.0, 2.0]), 0.5)", "Array([1.5, 2.5], dtype=float32)"),
    accepts=NUMBER | BOOL,
    numpy=np.add,
    hlo="add",
    jvp=(lambda z, x, y, t: t, lambda z, x, y, t: t),
    transpose=lambda ct, x, y: (
        ct if isinstance(x, LinearOperand) else None,
        ct if isinstance(y, LinearOperand) else None,
    ),
    samples=[(real(2, 3), real(2, 3)), (real(3), real()), (complex_(3), complex_(3))],
)

sub = binary(
    "sub",
    doc="x - y, element by element. StableHLO: subtract.",
    example=("lax.sub(jnp.array([1.0, 2.0]), 0.5)", "Array([0.5, 1.5], dtype=float32)"),
    accepts=NUMBER,
    numpy=np.subtract,
    hlo="subtract",
    jvp=(lambda z, x, y, t: t, lambda z, x, y, t: neg(t)),
    transpose=lambda ct, x, y: (
        ct if isinstance(x, LinearOperand) else None,
        neg(ct) if isinstance(y, LinearOperand) else None,
    ),
    samples=[(real(2, 3), real(2, 3)), (real(), real(3)), (complex_(3), complex_(3))],
)

mul = binary(
    "mul",
    doc="x * y, element by element; booleans give their logical and. StableHLO: multiply.",
    example=("lax.mul(jnp.array([1.0, 2.0]), 3.0)", "Array([3., 6.], dtype=float32)"),
    accepts=NUMBER | BOOL,
    numpy=np.multiply,
    hlo="multiply",
    jvp=(lambda z, x, y, t: mul(t, y), lambda z, x, y, t: mul(x, t)),
    transpose=lambda ct, x, y: (
        mul(ct, y) if isinstance(x, LinearOperand) else None,
        mul(x, ct) if isinstance(y, LinearOperand) else None,
    ),
    samples=[(real(2, 3), real(2, 3)), (real(3), real()), (complex_(3), complex_(3))],
)


def _int_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Rounds towards zero; division by zero gives -1 (all bits set), the smallest / -1 wraps.
    if x.dtype not in INTEGER:
        return np.divide(x, y)
    safe = np.where(y == 0, np.ones_like(y), y)
    return np.where(y == 0, np.array(-1).astype(x.dtype), _trunc(x, safe))


def _trunc(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    floor = np.floor_divide(x, y)
    inexact = floor * y != x
    return floor + ((x < 0) != (y < 0)) * inexact.astype(x.dtype)


div = binary(
    "div",
    doc="""x / y, element by element. Integers round towards zero; their division by zero gives -1.
    StableHLO: divide.""",
    example=("lax.div(jnp.array([7, -7]), 2)", "Array([ 3, -3], dtype=int32)"),
    accepts=NUMBER,
    numpy=_int_div,
    hlo="divide",
    jvp=(lambda z, x, y, t: div(t, y), lambda z, x, y, t: neg(div(mul(t, z), y))),
    transpose=lambda ct, x, y: (div(ct, y) if isinstance(x, LinearOperand) else None, None),
    samples=[
        (real(2, 3), positive(2, 3)),
        (real(3), positive()),
        (complex_(3), complex_(3) + 3.0),
        (integers(7, low=-9, high=9), integers(7, low=1, high=4)),
    ],
)


def _rem(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Sign of the dividend, as C's fmod; an integer modulo 0 is the integer itself.
    if x.dtype in INTEGER:
        return np.where(y == 0, x, np.fmod(x, np.where(y == 0, np.ones_like(y), y)))
    return np.fmod(x, y)


rem = binary(
    "rem",
    doc="Remainder of x / y with the sign of x. StableHLO: remainder.",
    example=("lax.rem(jnp.array([7, -7]), 3)", "Array([ 1, -1], dtype=int32)"),
    accepts=REAL,
    numpy=_rem,
    hlo="remainder",
    jvp=(
        lambda z, x, y, t: t,
        lambda z, x, y, t: mul(neg(t), _trunc_quotient(x, y)),
    ),
    samples=[
        (real(2, 3, low=-5, high=5), positive(2, 3)),
        (integers(7, low=-9, high=9), integers(7, low=1, high=4)),
    ],
)


def _trunc_quotient(x: Any, y: Any) -> Any:
    # (x - rem(x, y)) / y is a whole number up to rounding: close enough for a derivative.
    return div(sub(x, rem(x, y)), y)


class ConvertElementType(Primitive):
    """Change the dtype, value by value: floats to integers towards zero, to bool by != 0."""

    name = "convert_element_type"

    def type(self, x, *, dtype, weak_type):
        if isinstance(x.dtype, dtypes.KeyDType) or isinstance(dtype, dtypes.KeyDType):
            if x.dtype != dtype:
                raise DtypeError("random keys do not convert to or from numbers", x=x)
        return x.with_dtype(dtype, weak_type)

    def numpy(self, x, *, dtype, weak_type):
        with np.errstate(all="ignore"):
            if x.dtype in COMPLEX and dtype not in COMPLEX:
                x = x.real if dtype not in BOOL else x != 0
            if x.dtype in FLOAT and dtype in INTEGER:
                info = dtypes.iinfo(dtype)
                wide = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
                low, high = wide <= float(info.min), wide >= float(info.max)
                safe = np.where(low | high, 0.0, wide).astype(dtype)
                safe = np.where(low, np.array(info.min).astype(dtype), safe)
                return np.where(high, np.array(info.max).astype(dtype), safe)
            return x.astype(dtypes.storage(dtype))

    def jvp(self, xs, ts, *, dtype, weak_type):
        y = self.bind(*xs, dtype=dtype, weak_type=weak_type)
        if dtype not in INEXACT:
            return y, None
        return y, self.bind(*ts, dtype=dtype, weak_type=weak_type)

    def transpose(self, ct, x, *, dtype, weak_type):
        return (self.bind(ct, dtype=x.dtype, weak_type=x.type.weak_type),)

    def batch(self, frame, xs, mapped, *, dtype, weak_type):
        return self.bind(*xs, dtype=dtype, weak_type=weak_type), True

    def lower(self, b, x, *, dtype, weak_type):
        if x.dtype in COMPLEX and dtype not in COMPLEX:
            if dtype in BOOL:
                return b.compare("NE", x, b.full_like(x, 0))
            x = b.unary("real", x, dtypes.real_of(x.dtype))
        if dtype in BOOL and x.dtype not in BOOL:
            return b.compare("NE", x, b.full_like(x, 0))
        return b.convert(x, dtype)

    def samples(self):
        yield (real(2, 3),), {"dtype": dtypes.float32, "weak_type": False}
        yield (real(2, 3),), {"dtype": dtypes.int32, "weak_type": False}
        yield (integers(4),), {"dtype": dtypes.float64, "weak_type": False}
        yield (real(3),), {"dtype": dtypes.complex128, "weak_type": False}
        yield (booleans(5),), {"dtype": dtypes.int32, "weak_type": False}


convert_p = register(ConvertElementType())


def convert_element_type(operand: Any, new_dtype: Any, weak_type: bool = False) -> Any:
    """operand in another dtype (narrowed to 32 bits unless enable_x64 is on).

    Floats become integers by rounding towards zero, saturating at the ends, NaN becoming 0;
    anything becomes bool by comparing with 0; complex numbers lose their imaginary part.

    >>> lax.convert_element_type(jnp.array([1.7, -1.7, jnp.nan, 1e20]), jnp.int32)
    Array([         1,         -1,          0, 2147483647], dtype=int32)
    """
    have = type_of(operand)
    dtype = dtypes.canonical(dtypes.as_dtype(new_dtype))
    if have.dtype == dtype and have.weak_type == weak_type and not _is_host(operand):
        return operand
    if isinstance(operand, int) and not isinstance(operand, bool):
        dtypes.check_fits(operand, dtype, op="convert_element_type")
    return convert_p.bind(operand, dtype=dtype, weak_type=bool(weak_type))


def _is_host(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic | bool | int | float | complex)


class ReducePrecision(Primitive):
    """Round to a float format with fewer bits, and keep the dtype. StableHLO: reduce_precision."""

    name = "reduce_precision"

    def type(self, x, *, exponent_bits, mantissa_bits):
        if x.dtype not in FLOAT:
            fix = "convert with lax.convert_element_type(x, jnp.float32)"
            raise DtypeError("takes floats", x=x, fix=fix)
        if exponent_bits < 1 or mantissa_bits < 0:
            raise ArgumentError(
                "needs at least 1 exponent bit and 0 mantissa bits",
                exponent_bits=exponent_bits,
                mantissa_bits=mantissa_bits,
            )
        return x

    def numpy(self, x, *, exponent_bits, mantissa_bits):
        wide = np.asarray(x, np.float64)
        with np.errstate(all="ignore"):
            mantissa, exponent = np.frexp(wide)
            top = 2 ** (exponent_bits - 1)
            # Numbers below the smallest normal one lose the bits that a subnormal does not have.
            lost = np.maximum(0, (3 - top) - exponent)
            scale = np.exp2(mantissa_bits + 1.0 - lost)
            rounded = np.ldexp(np.rint(mantissa * scale) / scale, exponent)
            rounded = np.where(np.abs(wide) < 2.0 ** (2 - top), np.copysign(0.0, wide), rounded)
            limit = 2.0 ** (top - 1) * (2 - 2.0**-mantissa_bits)
            rounded = np.where(np.abs(rounded) > limit, np.copysign(np.inf, wide), rounded)
        return np.where(np.isfinite(wide), rounded, wide).astype(x.dtype)

    def jvp(self, xs, ts, **params):
        return self.bind(*xs, **params), self.bind(*ts, **params)

    def transpose(self, ct, x, **params):
        return (self.bind(ct, **params),)

    def batch(self, frame, xs, mapped, **params):
        return self.bind(*xs, **params), True

    def lower(self, b, x, *, exponent_bits, mantissa_bits):
        attributes = f"exponent_bits = {exponent_bits} : i32, mantissa_bits = {mantissa_bits} : i32"
        return b.op("reduce_precision", (x,), ArrayType(x.shape, x.dtype), attributes)

    def samples(self):
        yield (real(7, dtype=np.float32),), {"exponent_bits": 5, "mantissa_bits": 10}


reduce_precision_p = register(ReducePrecision())


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """operand rounded to a float format of the given widths, in its own dtype.

    >>> lax.reduce_precision(jnp.array([3.1415927]), exponent_bits=8, mantissa_bits=7)
    Array([3.140625], dtype=float32)
    """
    op = "reduce_precision"
    exponent_bits = static_int(exponent_bits, op, "exponent_bits")
    mantissa_bits = static_int(mantissa_bits, op, "mantissa_bits")
    return reduce_precision_p.bind(
        operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


class IntegerPow(Primitive):
    """x ** y for a Python int y: by repeated multiplication, with an exact derivative rule."""

    name = "integer_pow"

    def type(self, x, *, y):
        if x.dtype not in NUMBER:
            raise DtypeError("takes numbers", x=x)
        if y < 0 and x.dtype in INTEGER:
            fix = "convert with lax.convert_element_type(x, jnp.float32)"
            raise DtypeError("integers have no negative powers", x=x, y=y, fix=fix)
        return x

    def numpy(self, x, *, y):
        with np.errstate(all="ignore"):
            if y >= 0:
                return np.asarray(x**y).astype(x.dtype)
            return np.asarray(1 / x ** (-y)).astype(x.dtype)

    def jvp(self, xs, ts, *, y):
        (x,), (t,) = xs, ts
        z = self.bind(x, y=y)
        if y == 0:
            return z, None
        slope = mul(integer_pow(x, y - 1), y) if y != 1 else None
        return z, t if slope is None else mul(t, slope)

    def batch(self, frame, xs, mapped, *, y):
        return self.bind(*xs, y=y), True

    def lower(self, b, x, *, y):
        if y == 0:
            return b.full_like(x, 1)
        power, result, n = x, None, abs(y)
        while n:
            if n & 1:
                result = power if result is None else b.mul(result, power)
            n >>= 1
            if n:
                power = b.mul(power, power)
        assert result is not None
        return b.binary("divide", b.full_like(x, 1), result) if y < 0 else result

    def samples(self):
        for y in (0, 1, 2, 3, -1, -2):
            yield (positive(2, 3),), {"y": y}
        yield (integers(5),), {"y": 3}
        yield (complex_(3),), {"y": 3}


integer_pow_p = register(IntegerPow())


def integer_pow(x: Any, y: int) -> Any:
    """x ** y for a Python int y.

    >>> lax.integer_pow(jnp.array([2, -3]), 3)
    Array([  8, -27], dtype=int32)
    """
    return integer_pow_p.bind(x, y=static_int(y, "integer_pow", "y"))


def square(x: Any) -> Any:
    """x * x.

    >>> lax.square(jnp.array([1.0, -3.0]))
    Array([1., 9.], dtype=float32)
    """
    return integer_pow(x, 2)
