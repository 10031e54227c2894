"""Functions of float32 as formulas for XLA:CPU, which calls a scalar routine for many of them.

A formula without branches becomes vector code inside whatever loop XLA fuses it into. All follow
one pattern: reduce the operand to a short interval, evaluate a polynomial, put the result together.
This is done in float64, which costs little more than float32 would and leaves one rounding that
counts; but in float32 for exp, tanh, erf and log, of which XLA:CPU makes fast vector code itself,
only less exact.
The polynomials are minimax approximations of the function named beside them, found by Remez's
algorithm with mpmath.

Three traits of XLA:CPU shape the formulas. It may fuse a product and a sum into one rounding. It
reads and writes subnormal floats as zeros, so these are handled as integers. And it copies cheap
operations into each loop that needs their result, or into its library calls: a result of several
large operands (the last step of each formula is a select) it computes once, and a quotient it keeps
in the loop if it has one large operand (hence x * (1 / y)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.hlo.formula import HloMath, Term, polynomial, with_sign

_F32, _F64 = dtypes.float32, dtypes.float64
_I32, _U32, _I64, _U64 = dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64
_SIGN, _INFINITY = -(2**31), 0x7F800000  # the sign bit, and the bits of infinity


def lowering(
    usual: str | Callable[..., Any],
    formula: Callable[..., Term],
    double: Callable[..., Term] | None = None,
) -> Callable[..., Any]:
    """A `cpu` rule: formula(m, *terms) for float32 and narrower floats, double(m, *terms) for
    float64 if given; what is left is lowered as usual.
    """

    def lower(b: Any, *xs: Any) -> Any:
        dtype, m = xs[0].dtype, HloMath(b)
        if dtype == _F64 and double is not None:
            return double(m, *map(m.term, xs)).value
        if dtype == _F64 or dtype in dtypes.COMPLEX:
            if isinstance(usual, str):
                return b.op(usual, xs, ArrayType(xs[0].shape, dtype))
            return usual(b, *xs)
        y = formula(m, *(m.term(x).astype(_F32) for x in xs))
        return b.convert(y.value, dtype)

    return lower


# --- the edges of float32


def _to_float32(m: HloMath, d: Term) -> Term:
    """A float64 that is not negative as float32, subnormals included."""
    subnormal = (d * 2.0**149 + 2.0**52).view(_I64).astype(_I32).view(_F32)
    return m.where(d < 2.0**-126, subnormal, d.astype(_F32))


def _magnitude(m: HloMath, x: Term) -> Term:
    """|x| as float64, subnormals included."""
    size = x.view(_I32) & ~_SIGN
    return m.where(size < 0x00800000, size.astype(_F64) * 2.0**-149, abs(x).astype(_F64))


def _exact(m: HloMath, x: Term) -> Term:
    """x as float64, subnormals included."""
    bits = x.view(_I32)
    size = bits & ~_SIGN
    number = m.where(bits < 0, -size, size).astype(_F64)
    return m.where(size < 0x00800000, number * 2.0**-149, x.astype(_F64))


def _subnormal(m: HloMath, x: Term) -> tuple[Term, Term]:
    """Whether x is subnormal, and the number that it is then, times 2^149."""
    bits = x.view(_I32)
    size = bits & ~_SIGN
    number = m.where(bits < 0, -size, size).astype(_F32)
    return (size - 1).view(_U32) < 0x007FFFFF, number


def _between(m: HloMath, x: Term, low: float, high: float) -> Term:
    """x held between two numbers; NaN stays."""
    x = m.where(x < low, low, x)
    return m.where(x > high, high, x)


# --- sine, cosine, tangent

# The first 256 bits of the fraction 2/π.
_TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561
_BITS = 256


def _chunks(start: int) -> tuple[float, float, float]:
    """2/π without its bits of weight 2^start and above, as a sum of 29, 29 and 53 bits."""
    rest = _TWO_OVER_PI % (1 << (_BITS + start)) if start < 0 else _TWO_OVER_PI
    out = []
    for width in (29, 29, 53):
        start -= width
        unit = 1 << (_BITS + start)
        out.append(math.ldexp(rest // unit, start))
        rest %= unit
    return out[0], out[1], out[2]


# x times 2/π is needed modulo 4, to 2^-57. A float32 of at least 2^e is a multiple of 2^(e - 23):
# the bits of 2/π from weight 2^(25 - e) on contribute multiples of 4 and are left out. What remains
# serves the next 30 exponents.
_RANGES = ((50, _chunks(25 - 50)), (80, _chunks(25 - 80)), (110, _chunks(25 - 110)))


def _quarter_turns(m: HloMath, x: Term) -> tuple[Term, Term]:
    """x as (n + f) quarter turns: n int32, modulo 2^32, and f float64 in [-0.51, 0.51].

    The products with the first two chunks are exact, 24 by 29 bits; the sums that cancel are exact.
    """
    d, size = x.astype(_F64), abs(x)
    c0, c1, c2 = (m.full_like(d, c) for c in _chunks(0))
    for exponent, (d0, d1, d2) in _RANGES:
        large = size >= 2.0**exponent
        c0, c1, c2 = m.where(large, d0, c0), m.where(large, d1, c1), m.where(large, d2, c2)
    p0, p1 = d * c0, d * c1
    p0 = p0 - m.rint(p0 * 0.25) * 4.0
    turns = m.rint(p0 + p1)
    f = ((p0 - turns) + p1) + d * c2
    # The low bits of a whole number beside 1.5 * 2^52 are the number itself, in two's complement.
    n = (turns + 1.5 * 2.0**52).view(_I64).astype(_I32)
    return n, f


# (sin r - r) / r³ and (cos r - 1 + r²/2) / r⁴ in r², |r| <= 0.92.
_SIN = (2.7054922818296057e-06, -0.00019837776897733058, 0.008333323749239082, -0.1666666658488581)
_COS = (2.4314167800929067e-05, -0.001388614361260865, 0.041666618615978986)


def _sine_and_cosine(m: HloMath, x: Term) -> tuple[Term, Term, Term]:
    """(n, sin r, cos r), float64, with x = n quarter turns + r."""
    n, f = _quarter_turns(m, x)
    r = f * (math.pi / 2)
    z = r * r
    sine = polynomial(z, _SIN) * z * r + r
    return n, sine, (polynomial(z, _COS) * z - 0.5) * z + 1.0


def _sin_or_cos(m: HloMath, x: Term, ahead: int) -> Term:
    """sin of x and `ahead` quarter turns more; both parts are shared by sin and cos of one x."""
    n, sine, cosine = _sine_and_cosine(m, x)
    if ahead:
        n = n + ahead
    y = m.where((n & 1) != 0, cosine, sine).astype(_F32)
    return m.where((n & 2) != 0, -y, y)


def sin32(m: HloMath, x: Term) -> Term:
    """The sine, to 0.52 units in the last place."""
    # Below 2^-12 the sine is x, also where x is -0 or subnormal.
    return m.where(abs(x) < 2.0**-12, x, _sin_or_cos(m, x, 0))


def cos32(m: HloMath, x: Term) -> Term:
    """The cosine, to 0.52 units in the last place."""
    return _sin_or_cos(m, x, 1)


def tan32(m: HloMath, x: Term) -> Term:
    """The tangent, to 0.52 units in the last place."""
    n, sine, cosine = _sine_and_cosine(m, x)
    odd = (n & 1) != 0
    y = m.where(odd, -cosine, sine) / m.where(odd, sine, cosine)
    return m.where(abs(x) < 2.0**-12, x, y.astype(_F32))


# --- exponentials

# (2^r - 1) / r, |r| <= 1/2.
_EXP2 = (
    1.5252716253249947e-05,
    0.00015461354363519264,
    0.0013333669557860333,
    0.009618056975613192,
    0.055504107274218714,
    0.2402265092033628,
    0.6931471805815778,
)
_LOG2_E = 1.0 / math.log(2.0)


def _exp2_parts(m: HloMath, w: Term) -> tuple[Term, Term]:
    """(q, s) with 2^w = s + s q, s a power of 2 and |q| < 1/2; w float64 in [-1022, 1023]."""
    n = m.rint(w)
    r = w - n
    s = (((n + 1.5 * 2.0**52).view(_I64) + 1023) << 52).view(_F64)
    return polynomial(r, _EXP2) * r, s


def _exp(m: HloMath, w: Term) -> Term:
    q, s = _exp2_parts(m, w)
    return q * s + s


def _expm1(m: HloMath, w: Term) -> Term:
    q, s = _exp2_parts(m, w)
    return q * s + (s - 1.0)


def exp2_32(m: HloMath, x: Term) -> Term:
    """2 ** x, to 0.51 units in the last place."""
    y = _to_float32(m, _exp(m, _between(m, x, -151.0, 129.0).astype(_F64)))
    return m.where(x == 0.0, 1.0, y)


def expm1_32(m: HloMath, x: Term) -> Term:
    """exp(x) - 1, to 0.51 units in the last place."""
    y = _expm1(m, _between(m, x, -105.0, 89.0).astype(_F64) * _LOG2_E).astype(_F32)
    return m.where(abs(x) < 2.0**-26, x, y)


# (exp(r) - 1 - r) / r², |r| <= log(2)/2.
_EXP = (
    0.001381460476180616,
    0.008368717084922421,
    0.04166838794239279,
    0.16666520629492512,
    0.499999934481861,
)
_LN2_HIGH = 0.693359375  # of 10 bits: its products with whole numbers up to 2^14 are exact
_LN2_LOW = math.log(2.0) - _LN2_HIGH
_WHOLE_32 = 1.5 * 2.0**23  # beside it, the low bits of a whole number are the number itself
_LOG_SMALLEST, _LOG_LARGEST = -87.33654, 88.72284  # of the normal float32


def _exp_parts_32(m: HloMath, x: Term) -> tuple[Term, Term]:
    """(p, n) with exp(x) = (1 + p) 2^n, |p| < 0.42; n int32, of which the 9 low bits count."""
    n = m.rint(x * _LOG2_E)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    return r + r * r * polynomial(r, _EXP), (n + _WHOLE_32).view(_I32)


def _power_of_2(n: Term) -> Term:
    """2^n as float32, n in [-126, 127] modulo 2^9."""
    return ((n + 127) << 23).view(_F32)


def exp32(m: HloMath, x: Term) -> Term:
    """e ** x, to 1.1 units in the last place."""
    p, n = _exp_parts_32(m, m.where(x < -105.0, -105.0, x))
    bits = (1.0 + p).view(_I32) + (n << 23)
    # 2^149 times the result, rounded to a whole number, is the bits of a subnormal result.
    subnormal = ((bits + (149 << 23)).view(_F32) + 2.0**23).view(_I32) - 0x4B000000
    y = m.where(x < _LOG_SMALLEST, subnormal, bits).view(_F32)
    return m.where(x < _LOG_LARGEST, y, x + math.inf)


# (tanh(x)/x - 1) / x² in x², |x| <= 5/8.
_TANH = (
    -0.005717043351730652,
    0.020650586073034452,
    -0.053743497857780334,
    0.13331491287158762,
    -0.33333283925412843,
)


def tanh32(m: HloMath, x: Term) -> Term:
    """The hyperbolic tangent, to 1.3 units in the last place."""
    size = abs(x)
    p, n = _exp_parts_32(m, m.where(size > 10.0, 20.0, size * 2.0))
    s = _power_of_2(n)
    far = 1.0 - 2.0 / (p * s + (s + 1.0))
    z = x * x
    near = polynomial(z, _TANH) * (z * x) + x
    y = m.where(size < 0.625, near, with_sign(far, x))
    return m.where(size < 2.0**-12, x, y)


def logistic32(m: HloMath, x: Term) -> Term:
    """1 / (1 + exp(-x)), to 0.51 units in the last place."""
    e = _exp(m, _between(m, x, -105.0, 89.0).astype(_F64) * -_LOG2_E)
    y = _to_float32(m, 1.0 / (e + 1.0))
    return m.where(x == x, y, x)


def sinh32(m: HloMath, x: Term) -> Term:
    """The hyperbolic sine, to 0.51 units in the last place."""
    e = _expm1(m, _between(m, abs(x), 0.0, 91.0).astype(_F64) * _LOG2_E)
    y = ((e + e / (e + 1.0)) * 0.5).astype(_F32)
    return m.where(abs(x) < 2.0**-12, x, with_sign(y, x))


def cosh32(m: HloMath, x: Term) -> Term:
    """The hyperbolic cosine, to 0.51 units in the last place."""
    e = _exp(m, _between(m, x, -91.0, 91.0).astype(_F64) * _LOG2_E)
    y = ((e + 1.0 / e) * 0.5).astype(_F32)
    return m.where(abs(x) < 2.0**-13, 1.0, y)


# --- logarithms

# (atanh(s)/s - 1) / s² in s², |s| <= (√2 - 1)/(√2 + 1).
_LOG = (
    0.09792179073706529,
    0.11088087368399525,
    0.14286054741637885,
    0.1999999780942351,
    0.3333333333790482,
)
_ROOT_HALF_32, _ROOT_HALF_64 = 0x3F3504F3, 0x3FE6A09E667F3BCD  # the bits of √½


def _log_of_fraction(m: HloMath, f: Term) -> Term:
    """log(f) / 2 for f in [√½, √2]."""
    s = (f - 1.0) * (1.0 / (f + 1.0))
    z = s * s
    return polynomial(z, _LOG) * z * s + s


def _fraction(m: HloMath, size: Term) -> tuple[Term, Term, Term]:
    """(e, f, zero): x = 2^e f, e int32 and f in [√½, √2]; and whether x is 0.

    From the bits of a float32 that is not negative.
    """
    subnormal = size < 0x00800000
    # The bits of a subnormal number, as an integer, are the number times 2^149.
    bits = m.where(subnormal, size.astype(_F32).view(_I32), size)
    e = (bits - _ROOT_HALF_32) >> 23
    f = (bits - (e << 23)).view(_F32)
    # Not size == 0: LLVM would make it a comparison of floats, which takes subnormals for zeros.
    return m.where(subnormal, e - 149, e), f, e == -127


def _log_parts(m: HloMath, size: Term) -> tuple[Term, Term, Term]:
    """(e, half, zero): log x = e log 2 + 2 half, both float64; from the same bits."""
    e, f, zero = _fraction(m, size)
    return e.astype(_F64), _log_of_fraction(m, f.astype(_F64)), zero


def _log64(m: HloMath, d: Term) -> Term:
    """log d for a positive, normal, finite float64."""
    bits = d.view(_U64)
    e = ((bits + ((1023 << 52) - _ROOT_HALF_64)) >> 52) - 1023
    f = (bits - (e << 52)).view(_F64)
    return e.astype(_I32).astype(_F64) * math.log(2.0) + _log_of_fraction(m, f) * 2.0


def _log_edges(m: HloMath, x: Term, zero: Term, y: Term) -> Term:
    """y where x is positive and finite, else the logarithm's -inf, inf or NaN."""
    bits = x.view(_I32)
    y = m.where((bits > 0) & (bits < _INFINITY), y, m.where(bits < 0, math.nan, x))
    return m.where(zero, -math.inf, y)


# (log(1 + f) - f + f²/2) / f³, √½ <= 1 + f <= √2.
_LOG1P = (
    -0.07634707787056255,
    0.1276174438824243,
    -0.13160178222737665,
    0.14201735442649757,
    -0.16623356431119016,
    0.20001227855457906,
    -0.2500082104084567,
    0.33333331693418283,
)


def log32(m: HloMath, x: Term) -> Term:
    """The natural logarithm, to 0.9 units in the last place."""
    e, f, zero = _fraction(m, x.view(_I32) & ~_SIGN)
    f = f - 1.0
    e = e.astype(_F32)
    z = f * f
    rest = f * z * polynomial(f, _LOG1P) + e * _LN2_LOW
    return _log_edges(m, x, zero, e * _LN2_HIGH + (f - (z * 0.5 - rest)))


def log1p32(m: HloMath, x: Term) -> Term:
    """log(1 + x), to 0.51 units in the last place."""
    inside = (x > -1.0) & (x < math.inf)
    y = _log64(m, m.where(inside, x, 0.0).astype(_F64) + 1.0).astype(_F32)
    edge = m.where(x == -1.0, -math.inf, m.where(x < -1.0, math.nan, x))
    return m.where(abs(x) < 2.0**-25, x, m.where(inside, y, edge))


def log2_32(m: HloMath, x: Term) -> Term:
    """The logarithm to base 2, to 0.51 units in the last place."""
    e, half, zero = _log_parts(m, x.view(_I32) & ~_SIGN)
    return _log_edges(m, x, zero, (e + half * (2.0 * _LOG2_E)).astype(_F32))


def log10_32(m: HloMath, x: Term) -> Term:
    """The logarithm to base 10, to 0.51 units in the last place."""
    e, half, zero = _log_parts(m, x.view(_I32) & ~_SIGN)
    y = e * math.log10(2.0) + half * (2.0 / math.log(10.0))
    return _log_edges(m, x, zero, y.astype(_F32))


def logaddexp32(m: HloMath, x: Term, y: Term) -> Term:
    """log(exp(x) + exp(y)), to 0.51 units in the last place; where terms cancel, to 2e-11."""
    gap = abs(m.where(x == y, 0.0, x.astype(_F64) - y.astype(_F64)))
    rest = _log64(m, _exp(m, m.where(gap > 105.0, 105.0, gap) * -_LOG2_E) + 1.0)
    z = (m.maximum(x, y).astype(_F64) + rest).astype(_F32)
    return m.where(x == x, z, x)


def asinh32(m: HloMath, x: Term) -> Term:
    """The inverse hyperbolic sine, to 0.51 units in the last place."""
    d = abs(x).astype(_F64)
    capped = m.where(d < 1e39, d, 1.0)
    root = m.sqrt(capped * capped + 1.0)
    y = _log64(m, capped + root).astype(_F32)
    y = m.where(d < 1e39, y, abs(x))
    # asinh(x) = x - x³/6 + ...: where the logarithm of 1 + x would lose digits.
    cubic = (d - d * d * d * (1.0 / 6.0)).astype(_F32)
    y = m.where(abs(x) < 2.0**-7, cubic, y)
    return m.where(abs(x) < 2.0**-12, x, with_sign(y, x))


def acosh32(m: HloMath, x: Term) -> Term:
    """The inverse hyperbolic cosine, to 0.51 units in the last place."""
    d = x.astype(_F64)
    inside = m.where((x >= 1.0) & (x < math.inf), d, 1.0)
    # (x - 1)(x + 1) keeps what x² - 1 loses near 1.
    y = _log64(m, inside + m.sqrt((inside - 1.0) * (inside + 1.0))).astype(_F32)
    return m.where((x >= 1.0) & (x < math.inf), y, m.where(x < 1.0, math.nan, x))


def atanh32(m: HloMath, x: Term) -> Term:
    """The inverse hyperbolic tangent, to 0.51 units in the last place."""
    d = abs(x).astype(_F64)
    inside = m.where(d < 1.0, d, 0.0)
    y = (_log64(m, (1.0 + inside) * (1.0 / (1.0 - inside))) * 0.5).astype(_F32)
    # atanh(x) = x + x³/3 + x⁵/5 + ...: where the logarithm of 1 + 2 x would lose digits.
    series = ((d * d * (1.0 / 5.0) + 1.0 / 3.0) * d * d * d + d).astype(_F32)
    y = m.where(abs(x) < 2.0**-7, series, y)
    y = m.where(abs(x) < 2.0**-12, x, with_sign(y, x))
    edge = m.where(abs(x) == 1.0, with_sign(m.full_like(x, math.inf), x), math.nan)
    return m.where(abs(x) < 1.0, y, edge)


# --- powers and roots


def pow32(m: HloMath, x: Term, y: Term) -> Term:
    """x ** y as in IEEE 754, to 0.51 units in the last place."""
    bits = x.view(_I32)
    size = bits & ~_SIGN
    e, half, zero = _log_parts(m, size)
    log2 = m.where(size < _INFINITY, e + half * (2.0 * _LOG2_E), abs(x).astype(_F64))
    log2 = m.where(zero, -math.inf, log2)
    dy = _exact(m, y)
    # 1 ** y and x ** 0 are 1 even where the other operand is infinite or NaN.
    w = m.where((size == 0x3F800000) | (dy == 0.0), 0.0, dy * log2)
    z = _to_float32(m, _exp(m, _between(m, w, -160.0, 160.0)))
    whole = m.rint(dy) == dy
    odd = whole & (m.rint(dy * 0.5) != dy * 0.5)
    z = m.where(odd, with_sign(z, x), z)
    # A negative finite number has no real power with a fraction.
    broken = (bits < 0) & ~(whole | zero) & (size < _INFINITY)
    return m.where(broken, math.nan, z)


def sqrt32(m: HloMath, x: Term) -> Term:
    """The square root, to 0.5 units in the last place."""
    subnormal, number = _subnormal(m, x)
    y = m.sqrt(m.where(subnormal, number * 2.0, x))
    return m.where(subnormal, y * 2.0**-75, y)


def rsqrt32(m: HloMath, x: Term) -> Term:
    """1 / √x, to 1.1 units in the last place."""
    subnormal, number = _subnormal(m, x)
    y = m.rsqrt(m.where(subnormal, number * 2.0, x))
    return m.where(subnormal, y * 2.0**75, y)


def cbrt32(m: HloMath, x: Term) -> Term:
    """The cube root, to 0.51 units in the last place."""
    d = _magnitude(m, x)
    # A third of the upper half of the bits, as a number, is a first guess to 5 %; two steps of
    # Halley's method cube the error twice.
    third = ((d.view(_U64) >> 32).astype(_I32).astype(_F64) * (1.0 / 3.0) + 715094163.0).astype(
        _I32
    )
    r = (third.astype(_U64) << 32).view(_F64)
    for _ in range(2):
        cube = r * r * r
        r = r * ((cube + d * 2.0) / (cube * 2.0 + d))
    y = with_sign(r.astype(_F32), x)
    return m.where((x == x) & (abs(x) < math.inf) & (d > 0.0), y, x)


# --- inverse circular functions

# (atan(u)/u - 1) / u² in u², |u| <= 1.
_ATAN = (
    0.0011349046167708175,
    -0.0074227726237750735,
    0.02276063494695991,
    -0.044946799750977984,
    0.06759597773178162,
    -0.08818859739541683,
    0.11060247623115435,
    -0.14280131213454234,
    0.19999692647918674,
    -0.3333332743451325,
)
# (asin(u)/u - 1) / u² in u², |u| <= 1/2.
_ASIN = (
    0.03469277415679558,
    0.007469262098762525,
    0.024618327770104347,
    0.030110256923638043,
    0.04466016326451243,
    0.07499948157683464,
    0.16666667189776174,
)


def _odd(u: Term, coefficients: tuple[float, ...]) -> Term:
    z = u * u
    return polynomial(z, coefficients) * z * u + u


def atan32(m: HloMath, x: Term) -> Term:
    """The arctangent, to 0.51 units in the last place."""
    size = abs(x)
    d = size.astype(_F64)
    far = size > 1.0
    a = _odd(m.where(far, -1.0, d) * (1.0 / m.where(far, d, 1.0)), _ATAN)
    y = m.where(far, a + math.pi / 2, a).astype(_F32)
    return m.where(size < 2.0**-12, x, with_sign(y, x))


def atan2_32(m: HloMath, y: Term, x: Term) -> Term:
    """The angle of (y, x) as in IEEE 754, to 0.51 units in the last place."""
    dy, dx = _magnitude(m, y), _magnitude(m, x)
    steep = dy > dx
    a = _odd(m.where(steep, dx, dy) * (1.0 / m.where(steep, dy, dx)), _ATAN)
    # Both zero or both infinite: 0 / 0.
    a = m.where(dy == dx, m.where(dy == 0.0, m.full_like(a, 0.0), math.pi / 4), a)
    a = m.where(steep, math.pi / 2 - a, a)
    a = m.where(x.view(_I32) < 0, math.pi - a, a)
    z = _to_float32(m, a)
    return m.where(y.view(_I32) < 0, -z, z)


def _asin_parts(m: HloMath, x: Term) -> tuple[Term, Term]:
    """(near, a): a = asin |x| where near, |x| <= 1/2, else π/4 - asin(|x|)/2; NaN outside."""
    d = abs(x).astype(_F64)
    near = abs(x) <= 0.5
    # asin x = π/2 - 2 asin(√((1 - x)/2)).
    u = m.where(near, d, m.sqrt((1.0 - d) * 0.5))
    return near, _odd(u, _ASIN)


def asin32(m: HloMath, x: Term) -> Term:
    """The arcsine, to 0.51 units in the last place."""
    near, a = _asin_parts(m, x)
    y = m.where(near, a, math.pi / 2 - a * 2.0).astype(_F32)
    return m.where(abs(x) < 2.0**-12, x, with_sign(y, x))


def acos32(m: HloMath, x: Term) -> Term:
    """The arccosine, to 0.51 units in the last place."""
    near, a = _asin_parts(m, x)
    negative = x < 0.0
    from_middle = math.pi / 2 - m.where(negative, -a, a)
    from_end = m.where(negative, math.pi - a * 2.0, a * 2.0)
    return m.where(near, from_middle.astype(_F32), from_end.astype(_F32))


# --- error and gamma functions

# erf(x)/x - 1 in x², |x| <= 0.92.
_ERF_NEAR = (
    -0.0005999404616129811,
    0.004994830089438305,
    -0.026767719790983597,
    0.11281845948593502,
    -0.3761249645990382,
    0.12837914996222866,
)
# The logarithm to base 2 of erfc, in [0.92, 4].
_ERF_FAR = (
    0.0002828665864823227,
    -0.0043925967668510275,
    0.03207661113912864,
    -0.14996514269310016,
    -0.9192293677675705,
    -1.6269121549766368,
    -0.00027690740458209657,
)
# (2^r - 1) / r, |r| <= 1/2.
_EXP2_32 = (
    0.00015476331426573478,
    0.0013400296736266755,
    0.009618003784654853,
    0.05550327723472199,
    0.24022651346693755,
    0.693147206280133,
)


def erf32(m: HloMath, x: Term) -> Term:
    """The error function, to 1.3 units in the last place."""
    size = abs(x)
    w = polynomial(m.where(size > 4.0, 4.0, size), _ERF_FAR)
    n = m.rint(w)
    r = w - n
    s = _power_of_2((n + _WHOLE_32).view(_I32))
    far = (1.0 - s) - polynomial(r, _EXP2_32) * r * s
    near = polynomial(x * x, _ERF_NEAR) * x + x
    y = m.where(size < 0.92, near, with_sign(far, x))
    # The slope at 0 is more than 1. For subnormal x, on its bits:
    bits = x.view(_I32)
    size = bits & ~_SIGN
    more = size.astype(_F32) * (2.0 / math.sqrt(math.pi) - 1.0)
    more = (more + _WHOLE_32).view(_I32) - 0x4B400000
    return m.where(size < 0x00800000, (bits + more).view(_F32), y)


# exp(t²) erfc(t) in (t - 4)/(t + 4), t in [0, 10.3].
_ERFC = (
    0.00010151777935544759,
    -2.8225541363952166e-05,
    -0.0008150661099298145,
    0.004058721096711735,
    -0.012839757526430844,
    0.03129979261022402,
    -0.063108332844501,
    0.10896309662357255,
    -0.1642577880178473,
    0.2187196814353989,
    -0.25906804924164806,
    0.13699945761583077,
)


def erfc32(m: HloMath, x: Term) -> Term:
    """1 - erf(x), to 0.51 units in the last place."""
    t = _between(m, abs(x), 0.0, 10.3).astype(_F64)
    y = polynomial((t - 4.0) * (1.0 / (t + 4.0)), _ERFC) * _exp(m, t * t * -_LOG2_E)
    return m.where(x < 0.0, (2.0 - y).astype(_F32), _to_float32(m, y))


# sin(πa)/a and cos(πa) in a², a in [0, 1/4].
_SIN_PI = (
    0.00046151442668315853,
    -0.007370018313845467,
    0.08214586894940752,
    -0.5992645289321529,
    2.550164039873266,
    -5.167712780049954,
    3.141592653589793,
)
_COS_PI = (
    0.0019065313213263136,
    -0.02580488614691777,
    0.23533054350818589,
    -1.3352627669157506,
    4.05871212639605,
    -4.9348022005445955,
    1.0,
)
_SHIFT = 6
# The tails of the series of log Γ(v), times v, and of ψ(v), times v², in 1/v², from B_18 down to
# B_2 (Abramowitz and Stegun 6.1.41 and 6.3.18).
_BERNOULLI = (
    43867 / 798,
    -3617 / 510,
    7 / 6,
    -691 / 2730,
    5 / 66,
    -1 / 30,
    1 / 42,
    -1 / 30,
    1 / 6,
)
_STIRLING = tuple(c / (k * (k - 1)) for k, c in zip(range(18, 0, -2), _BERNOULLI, strict=True))
_PSI = tuple(-c / k for k, c in zip(range(18, 0, -2), _BERNOULLI, strict=True))


def _beside_pole(m: HloMath, d: Term) -> tuple[Term, Term, Term]:
    """(f, |sin πd|, cos πd up to its sign) with f = d less the nearest whole number."""
    f = d - m.rint(d)
    a = abs(f)
    near = a <= 0.25
    b = m.where(near, a, 0.5 - a)
    z = b * b
    sine, cosine = polynomial(z, _SIN_PI) * b, polynomial(z, _COS_PI)
    return f, m.where(near, sine, cosine), m.where(near, cosine, sine)


def _mirrored_and_shifted(m: HloMath, d: Term) -> tuple[Term, Term, Term, Term]:
    """(mirrored, v, p, q): v >= 6.5 for Stirling's series, with Γ(w) = Γ(v) / p.

    There w is d, or 1 - d where d is mirrored, below 1/2; q is the derivative of p by w.
    """
    mirrored = d < 0.5
    w = m.where(mirrored, 1.0 - d, d)
    small = w < float(_SHIFT)
    base = m.where(small, w, 1.0)
    p, q = base, m.full_like(base, 1.0)
    for k in range(1, _SHIFT):
        q = q * (base + float(k)) + p
        p = p * (base + float(k))
    v = m.where(small, w + float(_SHIFT), w)
    return mirrored, v, m.where(small, p, 1.0), m.where(small, q, 0.0)


def lgamma32(m: HloMath, x: Term) -> Term:
    """log |Γ(x)|, to 0.51 units in the last place."""
    d = _exact(m, x)
    finite = abs(x) < math.inf
    d = m.where(finite, d, 3.0)
    mirrored, v, p, _ = _mirrored_and_shifted(m, d)
    r = 1.0 / v
    tail = polynomial(r * r, _STIRLING) * r
    stirling = (v - 0.5) * _log64(m, v) - v + (0.5 * math.log(2 * math.pi) + tail)
    # Γ(d) Γ(1 - d) = π / sin(πd).
    f, sine, _ = _beside_pole(m, d)
    sine = m.where(f == 0.0, 1.0, sine)
    factor = _log64(m, m.where(mirrored, p * (1.0 / sine), p))
    y = m.where(mirrored, math.log(math.pi) - stirling + factor, stirling - factor)
    y = m.where((d == 1.0) | (d == 2.0), 0.0, y).astype(_F32)
    y = m.where(mirrored & (f == 0.0), math.inf, y)
    return m.where(finite, y, m.where(x == x, math.inf, x))


def digamma32(m: HloMath, x: Term) -> Term:
    """The derivative of log |Γ|, to 0.51 units in the last place."""
    d = _exact(m, x)
    finite = abs(x) < math.inf
    d = m.where(finite, d, 3.0)
    mirrored, v, p, q = _mirrored_and_shifted(m, d)
    r = 1.0 / v
    z = r * r
    tail = polynomial(z, _PSI) * z
    y = _log64(m, v) - 0.5 * r + tail - q * (1.0 / p)
    # ψ(d) = ψ(1 - d) - π cot(πd).
    f, sine, cosine = _beside_pole(m, d)
    pole = f == 0.0
    cotangent = cosine * (1.0 / m.where(pole, 1.0, sine))
    y = m.where(mirrored, y + m.where(f < 0.0, cotangent, -cotangent) * math.pi, y).astype(_F32)
    y = m.where(mirrored & pole, m.where(d == 0.0, m.full_like(x, -math.inf), math.nan), y)
    return m.where(finite, y, m.where(x < 0.0, math.nan, x))
