"""Kinds and parts of numbers: isnan and its kin, real and imaginary parts, rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, FLOAT, INEXACT, INTEGER
from plait.core.plain import static_int
from plait.core.types import type_of
from plait.errors import DtypeError
from plait.numpy.at_once import at_once
from plait.numpy.promotion import (
    INEXACT_KIND,
    NUMERIC,
    astype,
    constant,
    literal,
    operand,
    out_is_none,
    promote,
    to_inexact,
    value,
)
from plait.numpy.ufuncs import (
    abs,
    add,
    copysign,
    equal,
    floor_divide,
    greater,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    multiply,
    not_equal,
    remainder,
    subtract,
    where,
)
from plait.ops import arithmetic, compare, functions
from plait.ops.axes import broadcast_to

# --- kinds of numbers


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN.

    >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    x = operand("isfinite", x)
    dtype = type_of(x).dtype
    if dtype in FLOAT:
        return compare.is_finite(x)
    if dtype in COMPLEX:
        parts = functions.real(x), functions.imag(x)
        return compare.bitwise_and(*map(compare.is_finite, parts))
    return _all_are("isfinite", x, True)


def _all_are(op: str, x: Any, answer: bool) -> Any:
    return broadcast_to(constant(np.asarray(answer)), value(op, x).shape)


def isinf(x: Any, /) -> Any:
    """Whether x is infinite; a complex number if one part is.

    >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)
    """
    x = operand("isinf", x)
    dtype = type_of(x).dtype
    if dtype in COMPLEX:
        return compare.bitwise_or(isinf(functions.real(x)), isinf(functions.imag(x)))
    if dtype not in FLOAT:
        return _all_are("isinf", x, False)
    return compare.eq(functions.abs(x), np.asarray(np.inf).astype(dtype))


def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether x is +inf.

    >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
    Array([ True, False], dtype=bool)
    """
    return _is_infinity("isposinf", x, np.inf, out)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether x is -inf.

    >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
    Array([False,  True], dtype=bool)
    """
    return _is_infinity("isneginf", x, -np.inf, out)


def _is_infinity(op: str, x: Any, which: float, out: Any) -> Any:
    out_is_none(op, out)
    x = operand(op, x)
    dtype = type_of(x).dtype
    if dtype in COMPLEX:
        raise DtypeError("complex numbers have no sign", op=op, x=x)
    if dtype not in FLOAT:
        return _all_are(op, x, False)
    return compare.eq(x, np.asarray(which).astype(dtype))


def isnan(x: Any, /) -> Any:
    """Whether x is NaN.

    >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False, False,  True], dtype=bool)
    """
    x = operand("isnan", x)
    if type_of(x).dtype not in INEXACT:
        return _all_are("isnan", x, False)
    return compare.ne(x, x)


def isreal(x: Any, /) -> Any:
    """Whether the imaginary part is 0.

    >>> jnp.isreal(jnp.array([1 + 0j, 1j]))
    Array([ True, False], dtype=bool)
    """
    x = operand("isreal", x)
    if type_of(x).dtype not in COMPLEX:
        return _all_are("isreal", x, True)
    return equal(functions.imag(x), 0)


def iscomplex(x: Any, /) -> Any:
    """Whether the imaginary part is not 0.

    >>> jnp.iscomplex(jnp.array([1 + 0j, 1j]))
    Array([False,  True], dtype=bool)
    """
    return logical_not(isreal(x))


@at_once(operands=2)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether abs(a - b) <= atol + rtol * abs(b), element by element; infinities equal themselves.

    NaN equals NaN only with equal_nan.

    >>> jnp.isclose(jnp.array([1.0, 1.1, jnp.inf]), jnp.array([1.000001, 1.0, jnp.inf]))
    Array([ True, False,  True], dtype=bool)
    """
    a, b = promote("isclose", (a, b), NUMERIC)
    dtype = type_of(a).dtype
    if isinstance(dtype, dtypes.KeyDType):
        return compare.eq(a, b)
    if dtype in INTEGER:
        a, b = promote("isclose", (a, b), INEXACT_KIND)
        dtype = type_of(a).dtype
    part = dtypes.real_of(dtype)
    rtol, atol = (
        t if not isinstance(t, int | float) else literal(float(t), part) for t in (rtol, atol)
    )
    close = less_equal(abs(subtract(a, b)), add(atol, multiply(rtol, abs(b))))
    # inf - inf is NaN and inf <= inf holds: infinities are close only if equal.
    finite = compare.bitwise_and(isfinite(a), isfinite(b))
    close = where(finite, close, compare.eq(a, b))
    if equal_nan:
        both = compare.bitwise_and(compare.ne(a, a), compare.ne(b, b))
        close = compare.bitwise_or(close, both)
    return close


@at_once(operands=1)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with NaN replaced by `nan`, infinities by posinf and neginf (the dtype's largest numbers).

    >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan, -jnp.inf]), nan=-1, neginf=-99)
    Array([  1.,  -1., -99.], dtype=float32)
    """
    x = value("nan_to_num", x)
    dtype = x.dtype
    if dtype in COMPLEX:
        parts = (nan_to_num(p, copy, nan, posinf, neginf) for p in (real(x), imag(x)))
        return functions.complex(*parts)
    if dtype not in FLOAT:
        return x
    info = dtypes.finfo(dtype)
    posinf = info.max if posinf is None else posinf
    neginf = info.min if neginf is None else neginf
    x = where(isnan(x), _of_dtype(nan, dtype), x)
    x = where(isposinf(x), _of_dtype(posinf, dtype), x)
    return where(isneginf(x), _of_dtype(neginf, dtype), x)


def _of_dtype(number: Any, dtype: Any) -> Any:
    if isinstance(number, int | float | np.generic):
        return np.asarray(number).astype(dtype)
    return astype(value("nan_to_num", number), dtype)


# --- parts of complex numbers


def real(val: Any, /) -> Any:
    """The real part; x itself if it is not complex.

    >>> jnp.real(jnp.array([1 + 2j, 3]))
    Array([1., 3.], dtype=float32)
    """
    x = operand("real", val)
    return functions.real(x) if type_of(x).dtype in COMPLEX else value("real", x)


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros if x is not complex.

    >>> jnp.imag(jnp.array([1 + 2j, 3]))
    Array([2., 0.], dtype=float32)
    """
    x = operand("imag", val)
    if type_of(x).dtype in COMPLEX:
        return functions.imag(x)
    x = value("imag", x)
    return broadcast_to(constant(np.zeros((), x.dtype), x.type.weak_type), x.shape)


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of a complex number in the plane, in radians in -pi..pi, or in degrees if deg.

    >>> jnp.angle(jnp.array([1, 1j, -1]), deg=True)
    Array([  0.,  90., 180.], dtype=float32)
    """
    z = operand("angle", z)
    if type_of(z).dtype not in INEXACT:
        z = astype(value("angle", z), dtypes.default_float())
    parts = (imag(z), real(z))
    result = functions.atan2.bind(*promote("angle", parts))
    if deg:
        result = multiply(result, 180 / np.pi)
    return result


# --- rounding


def _keeping_whole(op: str, function: Any, x: Any) -> Any:
    x = operand(op, x)
    dtype = type_of(x).dtype
    if dtype in INTEGER or dtype in BOOL:
        return value(op, x)
    if dtype in COMPLEX:
        raise DtypeError("complex numbers are not ordered", op=op, x=x)
    return function(x)


def floor(x: Any, /) -> Any:
    """The largest whole number not above x; integers stay as they are.

    >>> jnp.floor(jnp.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return _keeping_whole("floor", functions.floor, x)


def ceil(x: Any, /) -> Any:
    """The smallest whole number not below x; integers stay as they are.

    >>> jnp.ceil(jnp.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """
    return _keeping_whole("ceil", functions.ceil, x)


@at_once(operands=1)
def trunc(x: Any, /) -> Any:
    """The whole number next to x towards 0; integers stay as they are.

    >>> jnp.trunc(jnp.array([-1.5, 1.5]))
    Array([-1.,  1.], dtype=float32)
    """
    return _keeping_whole("trunc", _trunc, x)


def _trunc(x: Any) -> Any:
    zero = np.zeros((), type_of(x).dtype)
    # copysign keeps trunc(-0.5) at -0.0, as NumPy has it.
    return where(compare.lt(x, zero), functions.ceil(x), functions.floor(x))


@at_once(operands=1)
def fix(x: Any, out: None = None) -> Any:
    """The whole number next to x towards 0.

    >>> jnp.fix(jnp.array([-1.5, 1.5]))
    Array([-1.,  1.], dtype=float32)
    """
    out_is_none("fix", out)
    return trunc(x)


def rint(x: Any, /) -> Any:
    """The whole number nearest to x, the even one of two; integers become floats.

    >>> jnp.rint(jnp.array([0.5, 1.5, -2.7]))
    Array([ 0.,  2., -3.], dtype=float32)
    """
    x = operand("rint", x)
    if type_of(x).dtype not in INEXACT:
        x = astype(value("rint", x), dtypes.default_float())
    if type_of(x).dtype in COMPLEX:
        return functions.complex(rint(functions.real(x)), rint(functions.imag(x)))
    return _round_even(x)


def _round_even(x: Any) -> Any:
    return functions.round(x, functions.RoundingMethod.TO_NEAREST_EVEN)


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """a rounded to a number of decimals, halves to the even neighbour; integers stay integers.

    >>> jnp.round(jnp.array([0.25, 1.75]), 1), jnp.round(1250, -2)
    (Array([0.2, 1.8], dtype=float32), Array(1200, dtype=int32, weak_type=True))
    """
    out_is_none("round", out)
    a = operand("round", a)
    decimals = static_int(decimals, "round", "decimals")
    dtype = type_of(a).dtype
    if dtype in BOOL:
        raise DtypeError("booleans have no decimals", op="round", a=a)
    if dtype in INTEGER:
        return value("round", a) if decimals >= 0 else _round_integers(a, 10**-decimals)
    if dtype in COMPLEX:
        parts = (round(p, decimals) for p in (functions.real(a), functions.imag(a)))
        return functions.complex(*parts)
    if decimals == 0:
        return _round_even(a)
    # Half precision would overflow on the way.
    wide = dtypes.float32 if dtype.itemsize < 4 else dtype
    x = value("round", a)
    weak = x.type.weak_type
    x = x if dtype == wide else astype(x, wide)
    factor = np.asarray(10.0 ** (decimals if decimals > 0 else -decimals), wide)
    if decimals > 0:
        scaled = arithmetic.mul(x, factor)
        fits = isfinite(scaled)
        # XLA multiplies by 0.001 where it knows that it divides by 1000: 2.718 would be 2.7180002.
        y = arithmetic.div(_round_even(scaled), where(fits, factor, np.ones((), wide)))
        # Numbers too large to be scaled have no decimals to lose.
        y = where(fits, y, x)
    else:
        y = arithmetic.mul(_round_even(arithmetic.div(x, factor)), factor)
    return arithmetic.convert_element_type(y, dtype, weak)


around = round


def _round_integers(a: Any, unit: int) -> Any:
    dtype = type_of(a).dtype
    if not dtypes.fits(unit, dtype):
        return multiply(a, 0)
    half, rest = unit // 2, remainder(a, unit)
    down = subtract(a, rest)
    odd = not_equal(remainder(floor_divide(a, unit), 2), 0)
    up = logical_or(greater(rest, half), logical_and(equal(rest, half), odd))
    return where(up, add(down, unit), down)


@at_once(operands=1)
def modf(x: Any, /) -> tuple[Any, Any]:
    """(fraction, whole part) of x, both with the sign of x.

    >>> jnp.modf(jnp.array([1.5, -2.25]))
    (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    x = to_inexact("modf", x)
    whole = trunc(x)
    infinite = compare.eq(functions.abs(x), np.asarray(np.inf, type_of(x).dtype))
    fraction = where(infinite, 0.0, arithmetic.sub.bind(x, whole))
    return copysign(fraction, x), whole
