"""Elementwise functions of calculus: exponentials, logarithms, trigonometry, and integer theory.

Integers become floats (`sin(1)` is a float32), half precision and complex numbers stay as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, INEXACT, INT, INTEGER
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError
from plait.numpy.at_once import at_once
from plait.numpy.parts import isfinite, isinf
from plait.numpy.promotion import (
    INEXACT_KIND,
    NUMERIC,
    astype,
    literal,
    promote,
    refuse_output,
    result_type,
    to_inexact,
    value,
)
from plait.numpy.ufuncs import (
    abs,
    add,
    equal,
    logical_or,
    maximum,
    minimum,
    multiply,
    not_equal,
    number_like,
    signbit,
    subtract,
    true_divide,
    where,
)
from plait.ops import arithmetic, compare, functions
from plait.ops.bessel import bessel_i0
from plait.ops.bitcast import bitcast_convert_type
from plait.ops.logaddexp import logaddexp as log_sum


def _float(op: Any, name: str, x: Any) -> Any:
    t = getattr(x, "type", None)
    if type(t) is ArrayType and t.dtype in INEXACT:
        return op.bind(x)
    return op.bind(to_inexact(name, x))


def exp(x: Any, /) -> Any:
    """e ** x.

    >>> jnp.exp(jnp.array([0.0, 1.0, -jnp.inf]))
    Array([1.       , 2.7182817, 0.       ], dtype=float32)
    """
    return _float(functions.exp, "exp", x)


def exp2(x: Any, /) -> Any:
    """2 ** x.

    >>> jnp.exp2(jnp.array([-1, 0, 3]))
    Array([0.5, 1. , 8. ], dtype=float32)
    """
    return _float(functions.exp2, "exp2", x)


def expm1(x: Any, /) -> Any:
    """e ** x - 1, exact near 0.

    >>> jnp.expm1(1e-7), jnp.exp(1e-7) - 1
    (Array(1.0000001e-07, dtype=float32, weak_type=True),
     Array(1.1920929e-07, dtype=float32, weak_type=True))
    """
    return _float(functions.expm1, "expm1", x)


def log(x: Any, /) -> Any:
    """The natural logarithm; NaN for negative real x, -inf at 0.

    >>> jnp.log(jnp.array([1.0, 0.0, -1.0])), jnp.log(jnp.e)
    (Array([  0., -inf,  nan], dtype=float32), Array(1., dtype=float32, weak_type=True))
    """
    return _float(functions.log, "log", x)


def log1p(x: Any, /) -> Any:
    """log(1 + x), exact near 0.

    >>> jnp.log1p(1e-7), jnp.log(1 + 1e-7)
    (Array(9.9999994e-08, dtype=float32, weak_type=True),
     Array(1.1920928e-07, dtype=float32, weak_type=True))
    """
    return _float(functions.log1p, "log1p", x)


def log2(x: Any, /) -> Any:
    """The logarithm to base 2.

    >>> jnp.log2(jnp.array([1, 8, 0.25]))
    Array([ 0.,  3., -2.], dtype=float32)
    """
    return _float(functions.log2, "log2", x)


def log10(x: Any, /) -> Any:
    """The logarithm to base 10.

    >>> jnp.log10(jnp.array([1, 100, 0.001]))
    Array([ 0.,  2., -3.], dtype=float32)
    """
    return _float(functions.log10, "log10", x)


def sqrt(x: Any, /) -> Any:
    """The square root; NaN for negative real x.

    >>> jnp.sqrt(jnp.array([4, 2.25, -1])), jnp.sqrt(-1 + 0j)
    (Array([2. , 1.5, nan], dtype=float32), Array(0.+1.j, dtype=complex64, weak_type=True))
    """
    return _float(functions.sqrt, "sqrt", x)


def cbrt(x: Any, /) -> Any:
    """The real cube root, negative for negative x.

    >>> jnp.cbrt(jnp.array([27, -8]))
    Array([ 3., -2.], dtype=float32)
    """
    return _float(functions.cbrt, "cbrt", x)


def sin(x: Any, /) -> Any:
    """The sine of x, in radians.

    >>> jnp.sin(jnp.array([0, jnp.pi / 6, jnp.pi / 2])).round(3)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _float(functions.sin, "sin", x)


def cos(x: Any, /) -> Any:
    """The cosine of x, in radians.

    >>> jnp.cos(jnp.array([0, jnp.pi / 3, jnp.pi])).round(3)
    Array([ 1. ,  0.5, -1. ], dtype=float32)
    """
    return _float(functions.cos, "cos", x)


def tan(x: Any, /) -> Any:
    """The tangent of x, in radians.

    >>> jnp.tan(jnp.array([0, jnp.pi / 4, -jnp.pi / 4])).round(3)
    Array([ 0.,  1., -1.], dtype=float32)
    """
    return _float(functions.tan, "tan", x)


def arcsin(x: Any, /) -> Any:
    """The angle in -pi/2..pi/2, in radians, whose sine is x; NaN for real x outside of -1..1.

    >>> jnp.arcsin(jnp.array([0, 1, 2])), jnp.rad2deg(jnp.arcsin(0.5)).round(3)
    (Array([0.       , 1.5707964,       nan], dtype=float32),
     Array(30., dtype=float32, weak_type=True))
    """
    return _float(functions.asin, "arcsin", x)


def arccos(x: Any, /) -> Any:
    """The angle in 0..pi, in radians, whose cosine is x; NaN for real x outside of -1..1.

    >>> jnp.rad2deg(jnp.arccos(jnp.array([1, 0.5, -1]))).round(3)
    Array([  0.,  60., 180.], dtype=float32)
    """
    return _float(functions.acos, "arccos", x)


def arctan(x: Any, /) -> Any:
    """The angle in -pi/2..pi/2, in radians, whose tangent is x.

    >>> jnp.rad2deg(jnp.arctan(jnp.array([0, 1, -jnp.inf]))).round(3)
    Array([  0.,  45., -90.], dtype=float32)
    """
    return _float(functions.atan, "arctan", x)


def sinh(x: Any, /) -> Any:
    """The hyperbolic sine, (exp(x) - exp(-x)) / 2.

    >>> jnp.sinh(jnp.array([0, jnp.log(2)])).round(3)
    Array([0.  , 0.75], dtype=float32)
    """
    return _float(functions.sinh, "sinh", x)


def cosh(x: Any, /) -> Any:
    """The hyperbolic cosine, (exp(x) + exp(-x)) / 2.

    >>> jnp.cosh(jnp.array([0, jnp.log(2)])).round(3)
    Array([1.  , 1.25], dtype=float32)
    """
    return _float(functions.cosh, "cosh", x)


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent, sinh(x) / cosh(x).

    >>> jnp.tanh(jnp.array([0, jnp.log(2), jnp.inf])).round(3)
    Array([0. , 0.6, 1. ], dtype=float32)
    """
    return _float(functions.tanh, "tanh", x)


def arcsinh(x: Any, /) -> Any:
    """The inverse of sinh.

    >>> jnp.arcsinh(jnp.sinh(jnp.array([-1, 0, 2]))).round(3)
    Array([-1.,  0.,  2.], dtype=float32)
    """
    return _float(functions.asinh, "arcsinh", x)


def arccosh(x: Any, /) -> Any:
    """The inverse of cosh, at least 0; NaN for real x < 1.

    >>> jnp.arccosh(jnp.array([1, 0.5])), jnp.arccosh(jnp.cosh(2)).round(3)
    (Array([ 0., nan], dtype=float32), Array(2., dtype=float32, weak_type=True))
    """
    return _float(functions.acosh, "arccosh", x)


def arctanh(x: Any, /) -> Any:
    """The inverse of tanh; infinite at -1 and 1, NaN for real x outside.

    >>> jnp.arctanh(jnp.array([0, 1, 2])), jnp.arctanh(jnp.tanh(0.5)).round(3)
    (Array([ 0., inf, nan], dtype=float32), Array(0.5, dtype=float32, weak_type=True))
    """
    return _float(functions.atanh, "arctanh", x)


asin, acos, atan, asinh, acosh, atanh = arcsin, arccos, arctan, arcsinh, arccosh, arctanh


def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1) in the plane, in radians, in -pi..pi; y comes before x.

    >>> jnp.rad2deg(jnp.arctan2(jnp.array([0, 1, 1, -1]), jnp.array([1, 1, -1, -1]))).round(3)
    Array([   0.,   45.,  135., -135.], dtype=float32)
    """
    return functions.atan2.bind(*promote("arctan2", (x1, x2), INEXACT_KIND))


atan2 = arctan2


@at_once(operands=2)
def hypot(x1: Any, x2: Any, /) -> Any:
    """sqrt(x1**2 + x2**2), without overflow on the way.

    >>> jnp.hypot(jnp.array([3.0, 3e30]), jnp.array([4.0, 4e30]))
    Array([5.e+00, 5.e+30], dtype=float32)
    """
    x1, x2 = promote("hypot", (x1, x2), INEXACT_KIND)
    t = type_of(x1)
    if t.dtype in COMPLEX:
        raise DtypeError("complex numbers are not taken", op="hypot", x1=x1, x2=x2)
    if t.dtype.itemsize >= 4:
        return functions.abs(functions.complex(x1, x2))
    # Several roundings to half precision would lose a digit: compute in float32, round once.
    wide = hypot(*(arithmetic.convert_element_type(x, dtypes.float32) for x in (x1, x2)))
    return arithmetic.convert_element_type(wide, t.dtype, t.weak_type)


def logaddexp(x1: Any, x2: Any, /, *, out: None = None, where: None = None) -> Any:
    """log(exp(x1) + exp(x2)), without overflow on the way.

    >>> jnp.logaddexp(-1000.0, -1000.0), jnp.log(jnp.exp(-1000.0) * 2)
    (Array(-999.3068, dtype=float32, weak_type=True),
     Array(-inf, dtype=float32, weak_type=True))
    """
    if out is not None or where is not None:
        refuse_output("logaddexp", where)
    x1, x2 = promote("logaddexp", (x1, x2), INEXACT_KIND, together=False)
    if type_of(x1).dtype in COMPLEX:
        return _complex_logaddexp(x1, x2)
    return log_sum(x1, x2)


def _logaddexp(x1: Any, x2: Any, exp: Any, log1p: Any) -> Any:
    top = compare.max(x1, x2)
    gap = arithmetic.sub(x1, x2)
    # Equal infinities have no difference; their sum is themselves.
    same = compare.ne(gap, gap)
    safe = where(same, number_like(gap, 0.0), gap)
    # |gap| as a maximum: its derivative at 0 is 0, that of abs is 1.
    distance = compare.max(safe, arithmetic.neg(safe))
    rest = log1p(exp(arithmetic.neg(distance)))
    return where(same, arithmetic.add(x1, x2), arithmetic.add(top, rest))


def _complex_logaddexp(x1: Any, x2: Any) -> Any:
    first = compare.gt(functions.real(x1), functions.real(x2))
    top, low = where(first, x1, x2), where(first, x2, x1)
    gap = arithmetic.sub(low, top)
    both = equal(functions.real(top), -np.inf)
    total = where(both, top, add(top, log1p(exp(where(both, 0, gap)))))
    # The logarithm is the principal one: its imaginary part lies between -pi and pi.
    angle = functions.imag(total)
    turns = functions.round(multiply(angle, 1 / math.tau))
    return functions.complex(functions.real(total), subtract(angle, multiply(turns, math.tau)))


@at_once(operands=2)
def logaddexp2(x1: Any, x2: Any, /, *, out: None = None, where: None = None) -> Any:
    """log2(2**x1 + 2**x2), without overflow on the way.

    >>> jnp.logaddexp2(jnp.array([3, 1000]), jnp.array([3, 1000]))
    Array([   4., 1001.], dtype=float32)
    """
    if out is not None or where is not None:
        refuse_output("logaddexp2", where)
    x1, x2 = promote("logaddexp2", (x1, x2), INEXACT_KIND, together=False)
    if type_of(x1).dtype in COMPLEX:
        scaled = _complex_logaddexp(*(multiply(x, math.log(2)) for x in (x1, x2)))
        return multiply(scaled, 1 / math.log(2))
    return _logaddexp(x1, x2, exp2, lambda x: multiply(log1p(x), 1 / math.log(2)))


@at_once(operands=1)
def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), 1 at 0; smooth, so that derivatives at 0 are right.

    >>> jnp.sinc(jnp.array([0, 2, 0.5])).round(3)
    Array([1.   , 0.   , 0.637], dtype=float32)
    """
    x = to_inexact("sinc", x)
    if type_of(x).dtype in COMPLEX:
        near, sign = x, 1
    else:
        # sin(pi x) is that of the distance to the nearest whole number: exactly 0 at these.
        whole = functions.round(x)
        odd = not_equal(functions.abs(arithmetic.rem(whole, literal(2.0, type_of(x).dtype))), 0)
        near, sign = subtract(x, whole), where(odd, -1, 1)
    angle = multiply(np.pi, x)
    # Near 0 the quotient's derivatives cancel: there the series of sinc takes its place.
    small = compare.lt(functions.abs(angle), literal(1e-3, dtypes.real_of(type_of(x).dtype)))
    squared = multiply(angle, angle)
    series = add(1, multiply(squared, add(-1 / 6, multiply(squared, 1 / 120))))
    far = true_divide(multiply(sign, sin(multiply(np.pi, near))), where(small, 1, angle))
    return where(small, series, where(isinf(x), 0, far))


def deg2rad(x: Any, /) -> Any:
    """Degrees as radians.

    >>> jnp.deg2rad(180) / jnp.pi
    Array(1., dtype=float32, weak_type=True)
    """
    return multiply(to_inexact("deg2rad", x), math.pi / 180)


def rad2deg(x: Any, /) -> Any:
    """Radians as degrees.

    >>> jnp.rad2deg(jnp.array([0, jnp.pi]))
    Array([  0., 180.], dtype=float32)
    """
    return multiply(to_inexact("rad2deg", x), 180 / math.pi)


radians, degrees = deg2rad, rad2deg


@at_once(operands=2)
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where x1 < 0, x2 where x1 == 0, 1 where x1 > 0; NaN where x1 is NaN.

    >>> jnp.heaviside(jnp.array([-2.0, 0.0, 3.0]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x1, x2 = promote("heaviside", (x1, x2), INEXACT_KIND, together=False)
    step = where(compare.lt(x1, 0.0), 0.0, where(compare.gt(x1, 0.0), 1.0, x2))
    return where(compare.ne(x1, x1), x1, step)


def nextafter(x: Any, y: Any, /) -> Any:
    """The number of the dtype that lies next to x on the way to y.

    >>> jnp.nextafter(1.0, 2.0) - 1 == jnp.finfo(jnp.float32).eps
    Array(True, dtype=bool)
    """
    return functions.nextafter.bind(*promote("nextafter", (x, y), INEXACT_KIND))


@at_once(operands=1)
def spacing(x: Any, /) -> Any:
    """The distance from x to the next number away from 0, with the sign of x.

    >>> jnp.spacing(jnp.array([1.0, 2.0, -1.0])) * 2**23
    Array([ 1.,  2., -1.], dtype=float32)
    """
    x = value("spacing", to_inexact("spacing", x))
    if x.dtype in COMPLEX:
        raise DtypeError("complex numbers are not taken", op="spacing", x=x)
    info = dtypes.finfo(x.dtype)
    top, least = (np.asarray(v).astype(x.dtype) for v in (np.inf, info.smallest_subnormal))
    # Differences of subnormal numbers may be flushed to 0; they are one and the same.
    small = compare.lt(functions.abs(x), np.asarray(2 * info.smallest_normal, x.dtype))
    negative = signbit(x)
    gap = subtract(nextafter(x, where(negative, -top, top)), x)
    gap = where(small, where(negative, -least, least), gap)
    return where(isfinite(x), gap, np.asarray(np.nan).astype(x.dtype))


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 * 2**x2 for integers x2. Raises DtypeError for other x2.

    >>> jnp.ldexp(jnp.array([0.5, 3.0]), jnp.array([4, -1]))
    Array([8. , 1.5], dtype=float32)
    """
    x1, x2 = to_inexact("ldexp", x1), value("ldexp", x2, 1)
    if x2.dtype not in INTEGER and x2.dtype not in BOOL:
        raise DtypeError("x2 must be made of integers", op="ldexp", x1=x1, x2=x2)
    dtype = type_of(x1).dtype
    if dtype in COMPLEX:
        raise DtypeError("complex numbers are not taken", op="ldexp", x1=x1)
    # Two or three steps: one power of 2 may overflow or vanish where the product does not.
    n = promote("ldexp", (x2, np.int32(0)))[0]
    largest = dtypes.finfo(dtype).maxexp - 1
    for _ in range(3):
        step = minimum(maximum(n, -(largest - 1)), largest)
        x1 = multiply(x1, power_of_two(step, dtype))
        n = subtract(n, step)
    return x1


def power_of_two(n: Any, dtype: Any) -> Any:
    """2**n exactly, for integers n in the exponent range of normal numbers of a float dtype."""
    info = dtypes.finfo(dtype)
    bits = np.dtype(f"int{info.bits}")
    field = add(astype(n, bits), np.asarray(info.maxexp - 1, bits))
    return bitcast_convert_type(compare.shift_left(field, np.asarray(info.nmant, bits)), dtype)


@at_once(operands=1)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """(mantissa, exponent) with x = mantissa * 2**exponent and 0.5 <= abs(mantissa) < 1.

    >>> jnp.frexp(jnp.array([1.0, 6.0, 0.0]))
    (Array([0.5 , 0.75, 0.  ], dtype=float32), Array([1, 3, 0], dtype=int32))
    """
    x = value("frexp", to_inexact("frexp", x))
    dtype = x.dtype
    if dtype in COMPLEX:
        raise DtypeError("complex numbers are not taken", op="frexp", x=x)
    info = dtypes.finfo(dtype)
    bits = np.dtype(f"int{info.bits}")
    shift = np.asarray(info.nmant, bits)
    unsigned = np.asarray(dtypes.iinfo(bits).max, bits)  # all bits but the sign
    magnitude = compare.bitwise_and(bitcast_convert_type(x, bits), unsigned)
    field = compare.shift_right_logical(magnitude, shift)
    # A subnormal number is its bits times the smallest one: a normal number takes its place, since
    # arithmetic may take it for 0.
    subnormal = compare.eq(field, np.asarray(0, bits))
    units = astype(magnitude, dtype)
    scaled = where(subnormal, where(signbit(x), arithmetic.neg(units), units), x)
    raw = compare.bitwise_and(bitcast_convert_type(scaled, bits), unsigned)
    exponent = astype(compare.shift_right_logical(raw, shift), dtypes.int32)
    exponent = subtract(exponent, info.maxexp - 2)
    mantissa = ldexp(scaled, subtract(0, exponent))
    exponent = add(exponent, where(subnormal, info.minexp - info.nmant, 0))
    special = logical_or(
        compare.eq(magnitude, np.asarray(0, bits)), compare.bitwise_not(isfinite(x))
    )
    return where(special, x, mantissa), where(special, np.int32(0), exponent)


def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of integers, at least 0; gcd(0, 0) is 0.

    >>> jnp.gcd(jnp.array([12, 0, -9]), jnp.array([18, 5, 6]))
    Array([6, 5, 3], dtype=int32)
    """
    from plait.regions.loops import while_loop

    x1, x2 = _integers("gcd", x1, x2)

    def step(pair: tuple) -> tuple:
        a, b = pair
        zero = compare.eq(b, np.zeros((), b.dtype))
        rest = arithmetic.rem(a, where(zero, np.ones((), b.dtype), b))
        return where(zero, a, b), where(zero, b, rest)

    def unfinished(pair: tuple) -> Any:
        from plait.ops.reduce import reduce_or

        left = compare.ne(pair[1], np.zeros((), pair[1].dtype))
        return reduce_or(left, range(left.ndim))

    dtype, weak = type_of(x1).dtype, type_of(x1).weak_type
    # The smallest integer has no positive counterpart, but an unsigned one.
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}") if dtype in INT else dtype
    pair = (arithmetic.convert_element_type(abs(x), unsigned) for x in (x1, x2))
    divisor = while_loop(unfinished, step, tuple(pair))[0]
    return arithmetic.convert_element_type(divisor, dtype, weak)


def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of integers, at least 0.

    >>> jnp.lcm(jnp.array([4, -3]), jnp.array([6, 5]))
    Array([12, 15], dtype=int32)
    """
    x1, x2 = _integers("lcm", x1, x2)
    divisor = gcd(x1, x2)
    safe = where(equal(divisor, 0), 1, divisor)
    return abs(multiply(x1, arithmetic.div(x2, safe)))


def _integers(op: str, x1: Any, x2: Any) -> list[Any]:
    from plait.numpy.promotion import broadcast_together

    pair = broadcast_together(op, *promote(op, (x1, x2), NUMERIC, together=False))
    if pair[0].dtype not in INTEGER:
        raise ArgumentTypeError("takes integers", op=op, x1=pair[0], x2=pair[1])
    return pair


@at_once(operands=1)
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 0.

    >>> jnp.i0(jnp.array([0.0, 2.0, -2.0])).round(3)
    Array([1.  , 2.28, 2.28], dtype=float32)
    """
    x = to_inexact("i0", x)
    if type_of(x).dtype in COMPLEX:
        raise ArgumentError("complex numbers are not taken", op="i0", x=x)
    return bessel_i0(x)


@at_once(operands=1)
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """Angles made continuous: jumps of more than discont (period / 2) lose whole periods.

    >>> jnp.unwrap(jnp.array([0, 90, 180, -90, 0]), period=360)
    Array([  0,  90, 180, 270, 360], dtype=int32)
    """
    from plait.numpy.cumulative import cumsum
    from plait.numpy.manipulation import concatenate
    from plait.numpy.pieces import diff
    from plait.numpy.ufuncs import greater, less, logical_and, remainder
    from plait.ops.axes import normalise_axis
    from plait.ops.slices import slice_in_dim

    p = value("unwrap", p)
    if p.dtype in COMPLEX:
        raise DtypeError("complex numbers have no order", op="unwrap", p=p)
    axis = normalise_axis(axis, p.ndim, "unwrap")
    if not p.shape[axis]:
        return astype(p, result_type(p, period))
    step = diff(p, axis=axis)
    whole = result_type(p, period) in INTEGER
    half = period // 2 if whole else true_divide(period, 2)
    discont = half if discont is None else discont
    wrapped = subtract(remainder(add(step, half), period), half)
    wrapped = where(logical_and(equal(wrapped, -half), greater(step, 0)), half, wrapped)
    correction = subtract(wrapped, step)
    correction = where(less(abs(step), discont), 0, correction)
    rest = add(slice_in_dim(p, 1, None, axis=axis), cumsum(correction, axis))
    first = slice_in_dim(p, 0, 1, axis=axis)
    return concatenate([astype(first, rest.dtype), rest], axis)
