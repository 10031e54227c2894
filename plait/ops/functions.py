"""exp, log, sin, tanh, pow, sqrt, ...: one record each; rounding; the parts of complex numbers.

The meaning of a function on floats narrower than 64 bits is its value in float64, rounded once.
Derivatives are written with the result y where that is cheaper or safer than the operand.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes, sample
from plait.core.dtypes import COMPLEX, FLOAT, INEXACT, INT, INTEGER, NUMBER, UINT
from plait.core.primitive import LinearOperand, zeros_like
from plait.core.sample import complex_, integers, positive
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError
from plait.hlo.formula import HloMath
from plait.ops import complex_edges, complex_formulas, cpu_double, cpu_functions
from plait.ops.arithmetic import add, convert_element_type, div, integer_pow, mul, neg, sub
from plait.ops.axes import broadcast_to
from plait.ops.compare import bitwise_or, eq, ge, ne, select
from plait.ops.elementwise import Elementwise, binary, unary


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy function computed in float64 or complex128, whatever the operands' dtype."""

    def computed(*xs: np.ndarray) -> np.ndarray:
        return function(
            *(x.astype(np.complex128 if x.dtype in COMPLEX else np.float64) for x in xs)
        )

    return computed


def _chlo(name: str) -> Callable[..., Any]:
    return lambda b, x: b.chlo(name, (x,), ArrayType(x.shape, x.dtype))


# --- exponentials and logarithms

exp = unary(
    "exp",
    doc="e ** x, element by element. StableHLO: exponential.",
    example=("lax.exp(jnp.array([0.0, 1.0])).round(3)", "Array([1.   , 2.718], dtype=float32)"),
    accepts=INEXACT,
    numpy=wide(np.exp),
    hlo="exponential",
    cpu=cpu_functions.lowering("exponential", cpu_functions.exp32),
    parts=complex_formulas.exp,
    jvp=lambda y, x, t: mul(t, y),
    samples=[sample.real(2, 3), complex_(3)],
)


def _lower_exp2(b: Any, x: Any) -> Any:
    # The whole part goes into the exponent, so that whole powers are exact.
    double = x.dtype == dtypes.float64
    bits, bias, integer = (52, 1023, dtypes.int64) if double else (23, 127, dtypes.int32)
    limit = 2.0 * (bias - 1)
    m = HloMath(b)
    wide_x = m.term(x).astype(dtypes.float64 if double else dtypes.float32)
    wide_x = m.minimum(m.maximum(wide_x, -limit), limit)
    whole = m.rint(wide_x)
    y = m.exp((wide_x - whole) * math.log(2.0))
    n = whole.astype(dtypes.int32)
    for part in (n >> 1, n - (n >> 1)):  # each a normal power of 2
        y = y * ((part.astype(integer) + bias) << bits).view(y.dtype)
    return b.convert(y.value, x.dtype)


exp2 = unary(
    "exp2",
    doc="2 ** x, element by element.",
    example=("print(lax.exp2(jnp.array([-1.0, 0.5, 3.0])).round(3))", "[0.5   1.414 8.   ]"),
    accepts=INEXACT,
    numpy=wide(lambda x: np.exp2(x)),
    hlo=_lower_exp2,
    cpu=cpu_functions.lowering(_lower_exp2, cpu_functions.exp2_32),
    parts=complex_formulas.exp2,
    jvp=lambda y, x, t: mul(t, mul(y, math.log(2.0))),
    samples=[sample.real(2, 3), complex_(3)],
)

expm1 = unary(
    "expm1",
    doc="exp(x) - 1, exact near 0. StableHLO: exponential_minus_one.",
    example=("print(lax.expm1(1e-10), lax.exp(1e-10) - 1)", "1e-10 0.0"),
    accepts=INEXACT,
    numpy=wide(np.expm1),
    hlo="exponential_minus_one",
    cpu=cpu_functions.lowering(
        "exponential_minus_one", cpu_functions.expm1_32, cpu_double.expm1_64
    ),
    parts=complex_formulas.expm1,
    jvp=lambda y, x, t: mul(t, add(y, 1.0)),
    samples=[sample.real(2, 3), complex_(3)],
)

log = unary(
    "log",
    doc="The natural logarithm; -inf at 0, NaN below. StableHLO: log.",
    example=("print(lax.log(jnp.array([1.0, 10.0, 0.0])).round(3))", "[0.    2.303  -inf]"),
    accepts=INEXACT,
    numpy=wide(np.log),
    hlo="log",
    cpu=cpu_functions.lowering("log", cpu_functions.log32, cpu_double.log64),
    parts=complex_formulas.log,
    jvp=lambda y, x, t: div(t, x),
    samples=[positive(2, 3), complex_(3)],
)


def _lower_log2(b: Any, x: Any) -> Any:
    return b.mul(b.unary("log", x), b.full_like(x, 1.0 / math.log(2.0)))


log2 = unary(
    "log2",
    doc="The logarithm to base 2; -inf at 0, NaN below.",
    example=("lax.log2(jnp.array([0.5, 1.0, 8.0]))", "Array([-1.,  0.,  3.], dtype=float32)"),
    accepts=INEXACT,
    numpy=wide(np.log2),
    hlo=_lower_log2,
    cpu=cpu_functions.lowering(_lower_log2, cpu_functions.log2_32),
    parts=complex_formulas.log2,
    jvp=lambda y, x, t: div(t, mul(x, math.log(2.0))),
    samples=[positive(2, 3), complex_(3)],
)


def _lower_log10(b: Any, x: Any) -> Any:
    return b.mul(b.unary("log", x), b.full_like(x, 1.0 / math.log(10.0)))


log10 = unary(
    "log10",
    doc="The logarithm to base 10; -inf at 0, NaN below.",
    accepts=INEXACT,
    numpy=wide(np.log10),
    hlo=_lower_log10,
    cpu=cpu_functions.lowering(_lower_log10, cpu_functions.log10_32, cpu_double.log10_64),
    parts=complex_formulas.log10,
    jvp=lambda y, x, t: div(t, mul(x, math.log(10.0))),
    samples=[positive(2, 3), complex_(3)],
)

log1p = unary(
    "log1p",
    doc="log(1 + x), exact near 0; -inf at -1, NaN below. StableHLO: log_plus_one.",
    example=("print(lax.log1p(1e-10), lax.log(1 + 1e-10))", "1e-10 0.0"),
    accepts=INEXACT,
    numpy=wide(np.log1p),
    hlo="log_plus_one",
    cpu=cpu_functions.lowering("log_plus_one", cpu_functions.log1p32, cpu_double.log1p64),
    parts=complex_formulas.log1p,
    jvp=lambda y, x, t: div(t, add(x, 1.0)),
    samples=[sample.real(2, 3, low=-0.9, high=2.0), complex_(3)],
)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


logistic = unary(
    "logistic",
    doc="1 / (1 + exp(-x)). StableHLO: logistic.",
    example=("print(lax.logistic(jnp.array([-1.0, 0.0, 1.0])).round(3))", "[0.269 0.5   0.731]"),
    accepts=INEXACT,
    numpy=wide(_logistic),
    hlo="logistic",
    cpu=cpu_functions.lowering("logistic", cpu_functions.logistic32),
    parts=complex_formulas.logistic,
    jvp=lambda y, x, t: mul(t, mul(y, sub(1.0, y))),
    samples=[sample.real(2, 3), complex_(3)],
)

# --- circular functions

sin = unary(
    "sin",
    doc="sin(x), x in radians. StableHLO: sine.",
    example=("print(lax.sin(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.479 0.841]"),
    accepts=INEXACT,
    numpy=wide(np.sin),
    hlo="sine",
    cpu=cpu_functions.lowering("sine", cpu_functions.sin32, cpu_double.sin64),
    parts=complex_formulas.sin,
    jvp=lambda y, x, t: mul(t, cos(x)),
    samples=[sample.real(2, 3, low=-3.0, high=3.0), complex_(3)],
)

cos = unary(
    "cos",
    doc="cos(x), x in radians. StableHLO: cosine.",
    example=("print(lax.cos(jnp.array([0.0, 0.5, 1.0])).round(3))", "[1.    0.878 0.54 ]"),
    accepts=INEXACT,
    numpy=wide(np.cos),
    hlo="cosine",
    cpu=cpu_functions.lowering("cosine", cpu_functions.cos32, cpu_double.cos64),
    parts=complex_formulas.cos,
    jvp=lambda y, x, t: mul(t, neg(sin(x))),
    samples=[sample.real(2, 3, low=-3.0, high=3.0), complex_(3)],
)

tan = unary(
    "tan",
    doc="tan(x), x in radians. StableHLO: tan.",
    example=("print(lax.tan(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.546 1.557]"),
    accepts=INEXACT,
    numpy=wide(np.tan),
    hlo="tan",
    cpu=cpu_functions.lowering("tan", cpu_functions.tan32, cpu_double.tan64),
    parts=complex_formulas.tan,
    jvp=lambda y, x, t: mul(t, add(integer_pow(y, 2), 1.0)),
    samples=[sample.real(2, 3, low=-1.4, high=1.4), complex_(3)],
)

asin = unary(
    "asin",
    doc="The x in [-pi/2, pi/2] whose sine is given; NaN outside [-1, 1]. CHLO: asin.",
    example=(
        "lax.asin(jnp.array([0.0, 0.5, 1.0, 2.0])).round(3)",
        "Array([0.   , 0.524, 1.571,   nan], dtype=float32)",
    ),
    accepts=INEXACT,
    numpy=wide(np.arcsin),
    hlo=_chlo("asin"),
    cpu=cpu_functions.lowering(_chlo("asin"), cpu_functions.asin32, cpu_double.asin64),
    edges=complex_edges.asin,
    jvp=lambda y, x, t: mul(t, rsqrt(_one_minus_square(x))),
    samples=[sample.real(2, 3, low=-0.9, high=0.9), complex_(3)],
)

acos = unary(
    "acos",
    doc="The x in [0, pi] whose cosine is given; NaN outside [-1, 1]. CHLO: acos.",
    example=("print(lax.acos(jnp.array([-1.0, 0.5, 2.0])).round(3))", "[3.142 1.047   nan]"),
    accepts=INEXACT,
    numpy=wide(np.arccos),
    hlo=_chlo("acos"),
    cpu=cpu_functions.lowering(_chlo("acos"), cpu_functions.acos32, cpu_double.acos64),
    edges=complex_edges.acos,
    jvp=lambda y, x, t: mul(t, neg(rsqrt(_one_minus_square(x)))),
    samples=[sample.real(2, 3, low=-0.9, high=0.9), complex_(3)],
)

atan = unary(
    "atan",
    doc="The x in [-pi/2, pi/2] whose tangent is given. CHLO: atan.",
    example=("print(lax.atan(jnp.array([0.0, 1.0, jnp.inf])).round(3))", "[0.    0.785 1.571]"),
    accepts=INEXACT,
    numpy=wide(np.arctan),
    hlo=_chlo("atan"),
    cpu=cpu_functions.lowering(_chlo("atan"), cpu_functions.atan32, cpu_double.atan64),
    edges=complex_edges.atan,
    jvp=lambda y, x, t: div(t, add(integer_pow(x, 2), 1.0)),
    samples=[sample.real(2, 3), complex_(3, scale=0.7)],
)


def _one_minus_square(x: Any) -> Any:
    # (1 - x)(1 + x) keeps its digits near -1 and 1, where 1 - x² loses them.
    if type_of(x).dtype in COMPLEX:
        # The sign of an imaginary part of 0, which says on which side of a cut x lies, is kept by
        # differences from x alone.
        return mul(neg(sub(x, 1.0)), sub(x, -1.0))
    return mul(sub(1.0, x), add(x, 1.0))


def _atan2(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    if x.dtype not in COMPLEX:
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _over_squares(factor: Any, x: Any, y: Any) -> Any:
    return div(factor, add(integer_pow(x, 2), integer_pow(y, 2)))


atan2 = binary(
    "atan2",
    doc="The angle of the point (y, x), first the ordinate; in [-pi, pi]. StableHLO: atan2.",
    example=(
        "lax.atan2(jnp.array([1.0, 1.0]), jnp.array([1.0, -1.0])).round(3)",
        "Array([0.785, 2.356], dtype=float32)",
    ),
    accepts=INEXACT,
    numpy=wide(_atan2),
    hlo="atan2",
    cpu=cpu_functions.lowering("atan2", cpu_functions.atan2_32, cpu_double.atan2_64),
    jvp=(
        lambda z, x, y, t: mul(t, _over_squares(y, x, y)),
        lambda z, x, y, t: mul(t, _over_squares(neg(x), x, y)),
    ),
    samples=[
        (sample.real(2, 3), positive(2, 3)),
        (sample.real(3), -positive()),
        (complex_(3), complex_(3) + 3.0),
    ],
)

# --- hyperbolic functions

sinh = unary(
    "sinh",
    doc="The hyperbolic sine. CHLO: sinh.",
    example=("print(lax.sinh(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.521 1.175]"),
    accepts=INEXACT,
    numpy=wide(np.sinh),
    hlo=_chlo("sinh"),
    cpu=cpu_functions.lowering(_chlo("sinh"), cpu_functions.sinh32, cpu_double.sinh64),
    parts=complex_formulas.sinh,
    jvp=lambda y, x, t: mul(t, cosh(x)),
    samples=[sample.real(2, 3), complex_(3)],
)

cosh = unary(
    "cosh",
    doc="The hyperbolic cosine. CHLO: cosh.",
    example=("print(lax.cosh(jnp.array([0.0, 0.5, 1.0])).round(3))", "[1.    1.128 1.543]"),
    accepts=INEXACT,
    numpy=wide(np.cosh),
    hlo=_chlo("cosh"),
    cpu=cpu_functions.lowering(_chlo("cosh"), cpu_functions.cosh32, cpu_double.cosh64),
    parts=complex_formulas.cosh,
    jvp=lambda y, x, t: mul(t, sinh(x)),
    samples=[sample.real(2, 3), complex_(3)],
)

tanh = unary(
    "tanh",
    doc="The hyperbolic tangent. StableHLO: tanh.",
    example=("print(lax.tanh(jnp.array([0.0, 0.5, 20.0])).round(3))", "[0.    0.462 1.   ]"),
    accepts=INEXACT,
    numpy=wide(np.tanh),
    hlo="tanh",
    cpu=cpu_functions.lowering("tanh", cpu_functions.tanh32, cpu_double.tanh64),
    parts=complex_formulas.tanh,
    jvp=lambda y, x, t: mul(t, _one_minus_square(y)),
    samples=[sample.real(2, 3), complex_(3)],
)

asinh = unary(
    "asinh",
    doc="The x whose hyperbolic sine is given. CHLO: asinh.",
    example=("print(lax.asinh(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.481 0.881]"),
    accepts=INEXACT,
    numpy=wide(np.arcsinh),
    hlo=_chlo("asinh"),
    cpu=cpu_functions.lowering(_chlo("asinh"), cpu_functions.asinh32),
    edges=complex_edges.asinh,
    jvp=lambda y, x, t: mul(t, rsqrt(sub(integer_pow(x, 2), -1.0))),
    samples=[sample.real(2, 3), complex_(3)],
)

acosh = unary(
    "acosh",
    doc="The x >= 0 whose hyperbolic cosine is given; NaN below 1. CHLO: acosh.",
    example=("print(lax.acosh(jnp.array([0.0, 1.0, 2.0])).round(3))", "[  nan 0.    1.317]"),
    accepts=INEXACT,
    numpy=wide(np.arccosh),
    hlo=_chlo("acosh"),
    cpu=cpu_functions.lowering(_chlo("acosh"), cpu_functions.acosh32),
    # The product of two roots, not the root of a product, has the branch cut of acosh.
    edges=complex_edges.acosh,
    jvp=lambda y, x, t: mul(t, mul(rsqrt(sub(x, 1.0)), rsqrt(sub(x, -1.0)))),
    samples=[sample.real(2, 3, low=1.1, high=3.0), complex_(3)],
)

atanh = unary(
    "atanh",
    doc="The x whose hyperbolic tangent is given; infinite at -1 and 1, NaN outside. CHLO: atanh.",
    example=("print(lax.atanh(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.549   inf]"),
    accepts=INEXACT,
    numpy=wide(np.arctanh),
    hlo=_chlo("atanh"),
    cpu=cpu_functions.lowering(_chlo("atanh"), cpu_functions.atanh32, cpu_double.atanh64),
    edges=complex_edges.atanh,
    jvp=lambda y, x, t: div(t, _one_minus_square(x)),
    samples=[sample.real(2, 3, low=-0.9, high=0.9), complex_(3)],
)

# --- powers and roots

sqrt = unary(
    "sqrt",
    doc="The square root; NaN below 0. StableHLO: sqrt.",
    example=("print(lax.sqrt(jnp.array([4.0, 2.0, -1.0])).round(3))", "[2.    1.414   nan]"),
    accepts=INEXACT,
    numpy=wide(np.sqrt),
    hlo="sqrt",
    cpu=cpu_functions.lowering("sqrt", cpu_functions.sqrt32),
    edges=complex_edges.sqrt,
    jvp=lambda y, x, t: mul(t, div(0.5, y)),
    samples=[positive(2, 3), complex_(3)],
)

rsqrt = unary(
    "rsqrt",
    doc="1 / sqrt(x); infinite at 0, NaN below. StableHLO: rsqrt.",
    example=("lax.rsqrt(jnp.array([4.0, 0.0]))", "Array([0.5, inf], dtype=float32)"),
    accepts=INEXACT,
    numpy=wide(lambda x: 1 / np.sqrt(x)),
    hlo="rsqrt",
    cpu=cpu_functions.lowering("rsqrt", cpu_functions.rsqrt32),
    parts=complex_formulas.rsqrt,
    jvp=lambda y, x, t: mul(t, mul(div(y, x), -0.5)),
    samples=[positive(2, 3), complex_(3)],
)

cbrt = unary(
    "cbrt",
    doc="The cube root, of the sign of x. StableHLO: cbrt.",
    example=("lax.cbrt(jnp.array([27.0, -8.0])).round(3)", "Array([ 3., -2.], dtype=float32)"),
    accepts=FLOAT,
    numpy=wide(np.cbrt),
    hlo="cbrt",
    cpu=cpu_functions.lowering("cbrt", cpu_functions.cbrt32, cpu_double.cbrt64),
    jvp=lambda y, x, t: mul(t, div(1.0 / 3.0, integer_pow(y, 2))),
    samples=[sample.real(2, 3)],
)


def _pow_base(z: Any, x: Any, y: Any, t: Any) -> Any:
    # d(x ** y)/dx = y x^(y-1), but 0 where y is 0: x ** 0 is 1 everywhere, at 0 and NaN too. There
    # 1 stands for the x whose power is no number; any other x is kept for the derivative in y.
    tiny = float(dtypes.finfo(type_of(x).dtype).tiny)
    sound = bitwise_or(ne(y, 0.0), ge(abs(x), tiny))
    base = select(sound, broadcast_to(x, type_of(sound).shape), 1.0)
    return mul(t, mul(y, pow(base, sub(y, 1.0))))


def _pow_exponent(z: Any, x: Any, y: Any, t: Any) -> Any:
    # d(x ** y)/dy = log(x) x^y; at x = 0 the limit, which is 0 for y > 0, taken for y = 0 as well.
    zero = eq(x, 0.0)
    return mul(t, mul(log(select(zero, 1.0, x)), z))


pow_p = binary(
    "pow",
    doc="x ** y for inexact operands of one dtype; see the function pow. StableHLO: power.",
    accepts=INEXACT,
    numpy=wide(np.power),
    hlo="power",
    cpu=cpu_functions.lowering("power", cpu_functions.pow32),
    jvp=(_pow_base, _pow_exponent),
    samples=[
        (positive(2, 3), sample.real(2, 3)),
        (positive(3), sample.real()),
        (complex_(3) + 3.0, complex_(3)),
    ],
)


def pow(x: Any, y: Any) -> Any:
    """x ** y, element by element.

    A Python int y is a power by multiplication, exact for integer x. Otherwise x is inexact, and y
    has its dtype or is an integer array. pow(x, 0) is 1 for every x, with derivative 0.

    >>> print(lax.pow(jnp.array([2, -3]), 3), lax.pow(jnp.array([4.0, 9.0]), 0.5))
    [  8 -27] [2. 3.]
    """
    if isinstance(y, int) and not isinstance(y, bool):
        return integer_pow(x, y)
    have = type_of(y)
    if have.dtype in INTEGER and type_of(x).dtype in INEXACT:
        y = convert_element_type(y, type_of(x).dtype, have.weak_type)
    return pow_p(x, y)


def reciprocal(x: Any) -> Any:
    """1 / x, element by element."""
    return integer_pow(x, -1)


# --- rounding


class RoundingMethod(enum.Enum):
    """Where `round` takes numbers half-way between two integers.

    >>> lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    Array(2., dtype=float32, weak_type=True)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


_STEPS = [
    sample.real(2, 3, low=-5.0, high=5.0),
    np.array([-0.0, 0.5, -0.5, 2.5, 1e30, np.inf, np.nan]),
]


def _rounding(
    name: str,
    doc: str,
    numpy: Callable[..., Any],
    hlo: str,
    example: tuple[str, str] | None = None,
) -> Elementwise:
    return unary(
        name,
        doc=f"{doc}; the derivative is 0. StableHLO: {hlo}.",
        accepts=FLOAT,
        numpy=wide(numpy),
        hlo=hlo,
        samples=_STEPS,
        example=example,
    )


floor = _rounding(
    "floor",
    "The largest integer not above x, as a float",
    np.floor,
    "floor",
    example=("lax.floor(jnp.array([1.5, -1.5]))", "Array([ 1., -2.], dtype=float32)"),
)
ceil = _rounding(
    "ceil",
    "The smallest integer not below x, as a float",
    np.ceil,
    "ceil",
    example=("lax.ceil(jnp.array([1.5, -1.5]))", "Array([ 2., -1.], dtype=float32)"),
)


def _round_away(x: np.ndarray) -> np.ndarray:
    below = np.trunc(x)
    return np.copysign(np.where(np.abs(x - below) >= 0.5, below + np.sign(x), below), x)


round_away_p = _rounding(
    "round_away_from_zero",
    "The nearest integer, the one further from 0 of two as near, as a float",
    _round_away,
    "round_nearest_afz",
)
round_even_p = _rounding(
    "round_to_nearest_even",
    "The nearest integer, the even one of two as near, as a float",
    np.rint,
    "round_nearest_even",
)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integer to each float of x, as a float. Raises ArgumentError.

    >>> x = jnp.array([0.5, 1.5, -2.5])
    >>> print(lax.round(x), lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    [ 1.  2. -3.] [ 0.  2. -2.]
    """
    if rounding_method is RoundingMethod.AWAY_FROM_ZERO:
        return round_away_p(x)
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return round_even_p(x)
    raise ArgumentError(
        "rounding_method is a RoundingMethod",
        op="round",
        rounding_method=rounding_method,
        fix="RoundingMethod.AWAY_FROM_ZERO or RoundingMethod.TO_NEAREST_EVEN",
    )


nextafter = binary(
    "nextafter",
    doc="The float next to x on the way to y. The derivative is that of x. CHLO: next_after.",
    example=("print(lax.nextafter(jnp.float32(1.0), jnp.float32(2.0)))", "1.0000001"),
    accepts=FLOAT,
    numpy=np.nextafter,
    hlo=lambda b, x, y: b.chlo("next_after", (x, y), ArrayType(x.shape, x.dtype)),
    jvp=(lambda z, x, y, t: t, None),
    samples=[
        (sample.real(2, 3), 0.1 + sample.real(2, 3)[:, ::-1]),
        (np.array([0.0, 1.0]), np.array([1.0, np.inf])),
    ],
)


# --- parts of complex numbers, absolute value, sign


def _real_dtype(dtype: Any, *_: Any) -> Any:
    return dtypes.real_of(dtype)


real = unary(
    "real",
    doc="The real part of complex numbers. StableHLO: real.",
    example=("lax.real(jnp.array([1 + 2j, 3j]))", "Array([1., 0.], dtype=float32)"),
    accepts=COMPLEX,
    numpy=np.real,
    hlo=lambda b, x: b.unary("real", x, dtypes.real_of(x.dtype)),
    result=_real_dtype,
    jvp=lambda y, x, t: real(t),
    transpose=lambda ct: complex(ct, zeros_like(ct)),
    samples=[complex_(2, 3)],
)

imag = unary(
    "imag",
    doc="The imaginary part of complex numbers. StableHLO: imag.",
    example=("lax.imag(jnp.array([1 + 2j, 3j]))", "Array([2., 3.], dtype=float32)"),
    accepts=COMPLEX,
    numpy=np.imag,
    hlo=lambda b, x: b.unary("imag", x, dtypes.real_of(x.dtype)),
    result=_real_dtype,
    jvp=lambda y, x, t: imag(t),
    # Cotangents pair without conjugation: imag(x) is the real part of -i x.
    transpose=lambda ct: complex(zeros_like(ct), neg(ct)),
    samples=[complex_(2, 3)],
)

_PARTS = frozenset({dtypes.float32, dtypes.float64})

complex = binary(
    "complex",
    doc="x + i y from float32 or float64 parts. StableHLO: complex.",
    example=("print(lax.complex(jnp.array([1.0, 0.0]), jnp.array([2.0, 3.0])))", "[1.+2.j 0.+3.j]"),
    accepts=_PARTS,
    numpy=lambda x, y: _join(x, y),
    hlo=lambda b, x, y: b.op("complex", (x, y), ArrayType(x.shape, dtypes.complex_of(x.dtype))),
    result=lambda dtype, _: dtypes.complex_of(dtype),
    jvp=(
        lambda z, x, y, t: complex(t, zeros_like(t)),
        lambda z, x, y, t: complex(zeros_like(t), t),
    ),
    transpose=lambda ct, x, y: (
        real(ct) if isinstance(x, LinearOperand) else None,
        neg(imag(ct)) if isinstance(y, LinearOperand) else None,
    ),
    samples=[(sample.real(2, 3), sample.real(2, 3)[::-1].copy()), (sample.real(3), sample.real())],
)


def _join(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Not x + 1j * y: an infinite y would make the real part NaN.
    dtype = dtypes.storage(dtypes.complex_of(x.dtype))
    z = np.empty(np.broadcast_shapes(x.shape, y.shape), dtype)
    z.real, z.imag = x, y
    return z


conj_p = unary(
    "conj",
    doc="The complex conjugate. CHLO: conj.",
    accepts=COMPLEX,
    numpy=np.conj,
    hlo=_chlo("conj"),
    jvp=lambda y, x, t: conj_p(t),
    transpose=lambda ct: conj_p(ct),
    samples=[complex_(2, 3)],
)


def conj(x: Any) -> Any:
    """The complex conjugate; a real x becomes complex.

    >>> lax.conj(jnp.array([1 + 2j, 3j]))
    Array([1.-2.j, 0.-3.j], dtype=complex64)
    """
    have = type_of(x)
    if have.dtype in _PARTS:
        x = convert_element_type(x, dtypes.complex_of(have.dtype), have.weak_type)
    return conj_p(x)


def _abs_jvp(y: Any, x: Any, t: Any) -> Any:
    if type_of(x).dtype not in COMPLEX:
        return select(ge(x, 0.0), t, neg(t))
    # d|z| = Re(conj(z) t) / |z|, and 0 at 0.
    size = select(eq(y, 0.0), 1.0, y)
    direction = complex(div(real(x), size), neg(div(imag(x), size)))
    return real(mul(t, direction))


def _lower_abs(b: Any, x: Any) -> Any:
    if x.dtype not in COMPLEX:
        return b.unary("abs", x)
    m = HloMath(b)
    return complex_formulas.absolute(m, complex_edges.parts(m, x)).value


abs = unary(
    "abs",
    doc="""The absolute value; of complex numbers the distance from 0. The smallest integer is kept:
    it has no positive counterpart. The derivative at 0 is 1, of complex numbers 0. StableHLO:
    abs.""",
    example=("print(lax.abs(jnp.array([-1.5, 2.0])), lax.abs(3 + 4j))", "[1.5 2. ] 5.0"),
    accepts=INT | INEXACT,
    numpy=np.abs,
    hlo=_lower_abs,
    result=_real_dtype,
    jvp=_abs_jvp,
    samples=[sample.real(2, 3), integers(5), complex_(3)],
)


def _sign(x: np.ndarray) -> np.ndarray:
    if x.dtype in UINT:
        return x != 0
    if x.dtype in INT:
        return np.sign(x.astype(np.int64))
    return np.sign(x)


def _lower_sign(b: Any, x: Any) -> Any:
    if x.dtype in UINT:
        return b.convert(b.compare("NE", x, b.full_like(x, 0)), x.dtype)
    return b.unary("sign", x)


def _sign_jvp(y: Any, x: Any, t: Any) -> Any:
    # Real signs are constant. The sign z / |z| of a complex z turns with it: only the part of t
    # across z counts, dy = i y Im(conj(y) t) / |z|, and 0 at 0.
    if type_of(x).dtype not in COMPLEX:
        return None
    size = abs(x)
    turn = div(y, complex(select(eq(size, 0.0), 1.0, size), zeros_like(size)))
    across = imag(mul(t, conj_p(y)))
    return mul(complex(zeros_like(across), across), turn)


sign = unary(
    "sign",
    doc="-1, 0 or 1; NaN for NaN, -0 for -0; x / abs(x) for complex x, 0 for 0. StableHLO: sign.",
    example=("print(lax.sign(jnp.array([-3.0, 0.0, 2.0, jnp.nan])))", "[-1.  0.  1. nan]"),
    accepts=NUMBER,
    numpy=_sign,
    hlo=_lower_sign,
    edges=complex_formulas.sign,
    jvp=_sign_jvp,
    samples=[
        sample.real(2, 3),
        integers(5),
        integers(4, low=0, high=3, dtype=np.uint8),
        complex_(3),
    ],
)


__all__ = [
    "RoundingMethod",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "complex",
    "conj",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "imag",
    "log",
    "log10",
    "log1p",
    "log2",
    "logistic",
    "nextafter",
    "pow",
    "real",
    "reciprocal",
    "round",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
