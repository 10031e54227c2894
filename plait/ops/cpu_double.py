"""Functions of float64 as formulas for XLA:CPU: the companion of cpu_functions.py.

No wider format takes the roundings here. Numbers that need more than 53 bits are sums of two; the
products in them are of few enough bits to be exact, so that it does not matter whether XLA:CPU
rounds a product on its own or together with a sum. Errors are below 1.5 units in the last place
where not stated otherwise. Subnormal operands count as zeros, as everywhere in XLA:CPU's float64.
"""

from __future__ import annotations

import math

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.hlo.formula import HloMath, Term, polynomial, with_sign

_F64, _I32, _I64, _U64 = dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint64
_PI_LOW = 1.2246467991473532e-16  # π = math.pi + _PI_LOW
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first has 32 bits


def _upper(x: Term, bits: int) -> Term:
    """x cut off after its first bits."""
    return (x.view(_I64) & -(1 << (53 - bits))).view(_F64)


def _two_sum(a: Term, b: Term) -> tuple[Term, Term]:
    """a + b rounded, and what the rounding lost (Knuth)."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


# --- sine, cosine, tangent

# The first 1280 bits of the fraction 2/π.
_TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b6babf0cfbc209af4361d",
    16,
)
_BITS = 1280
# x times 2/π is needed modulo 4, to 2^-116. Numbers from 2^e on are multiples of 2^(e - 52): the
# bits of 2/π from weight 2^(54 - e) on are left out. What remains, in chunks of 26 bits and one of
# 53, serves 13 exponents. Row 0 serves all numbers below 2^54 and 13 exponents more.
_STEP, _FIRST = 13, 54
_CHUNKS = (26, 26, 26, 26, 26, 53)
_SCALE = 200  # rows after the first are scaled up, lest their last chunks be subnormal


def _row(start: int) -> list[float]:
    """The chunks of 2/π from below weight 2^start."""
    scaled, start = start < 0, min(start, 0)
    rest = _TWO_OVER_PI % (1 << (_BITS + start))
    row = []
    for width in _CHUNKS:
        start -= width
        unit = 1 << (_BITS + start)
        row.append(math.ldexp(rest // unit, start + (_SCALE if scaled else 0)))
        rest %= unit
    return row


_TABLE = np.array([_row(54 - e) for e in range(_FIRST, 1024, _STEP)]).T


def _look_up(m: HloMath, table: np.ndarray, index: Term) -> Term:
    """table[index], element by element, index int32."""
    # With two axes at least: XLA fuses a gather used more than once if its table has fewer axes.
    shape = index.shape + (1,) * max(0, 2 - len(index.shape))
    operand = m.b.constant(table)
    numbers = (
        "#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
        f"index_vector_dim = {len(shape)}>"
    )
    attributes = f"dimension_numbers = {numbers}, slice_sizes = array<i64: 1>"
    operands = (operand, m.b.reshape(index.value, shape))
    found = m.b.op("gather", operands, ArrayType(shape, operand.dtype), attributes)
    return m.term(m.b.reshape(found, index.shape))


def _quarter_turns(m: HloMath, x: Term) -> tuple[Term, Term, Term]:
    """x as (n + f) quarter turns: n int32, modulo 4; f, in [-1/2, 1/2], a sum of two float64."""
    exponent = ((x.view(_U64) >> 52) & 0x7FF).astype(_I32) - (1023 + _FIRST)
    row = (m.maximum(exponent, 0).astype(_F64) * ((1.0 + 1e-9) / _STEP)).astype(_I32)
    c = [_look_up(m, column, row) for column in _TABLE]
    x = x * m.where(exponent < _STEP, m.full_like(x, 1.0), 2.0**-_SCALE)
    high = _upper(x, 26)
    low = x - high
    n = m.full_like(x, 0.0)
    f = lost = None
    # From the largest to the smallest; the first five can be large, and only their fractions count.
    for number, chunk in ((high, 0), (low, 0), (high, 1), (low, 1), (high, 2)):
        p = number * c[chunk]
        p = p - m.rint(p * 0.25) * 4.0
        whole = m.rint(p)
        n, p = n + whole, p - whole
        if f is None:
            f, lost = p, m.full_like(x, 0.0)
            continue
        f, error = _two_sum(f, p)
        whole = m.rint(f)
        n, f, lost = n + whole, f - whole, lost + error
    for number, chunk in ((low, 2), (high, 3)):
        f, error = _two_sum(f, number * c[chunk])
        lost = lost + error
    lost = lost + (low * c[3] + (high * c[4] + (low * c[4] + x * c[5])))
    f, lost = _two_sum(f, lost)
    return n.astype(_I32), f, lost


# (sin r - r) / r³ and (cos r - 1 + r²/2) / r⁴ in r², |r| <= π/4.
_SIN = (
    1.5896504172350993e-10,
    -2.5050753250958486e-08,
    2.7557313661972314e-06,
    -0.00019841269829724983,
    0.008333333333322314,
    -0.16666666666666632,
)
_COS = (
    -1.1359448438397729e-11,
    2.087571955409899e-09,
    -2.7557314325996494e-07,
    2.48015872893948e-05,
    -0.001388888888887399,
    0.0416666666666666,
)
_HALF_PI_HIGH = float((np.float64(math.pi / 2).view(np.int64) & -(1 << 27)).view(np.float64))
_HALF_PI_MIDDLE = math.pi / 2 - _HALF_PI_HIGH


def _sine_and_cosine(m: HloMath, x: Term) -> tuple[Term, Term, Term]:
    """(n, sin r, cos r) with x = n quarter turns + r."""
    n, f, lost = _quarter_turns(m, x)
    # r = f π/2, the product of the first halves exact.
    a = _upper(f, 26)
    rest = a * _HALF_PI_MIDDLE + ((f - a) + lost) * (math.pi / 2) + a * (_PI_LOW / 2)
    r = a * _HALF_PI_HIGH + rest
    low = (a * _HALF_PI_HIGH - r) + rest
    z = r * r
    sine = r + (polynomial(z, _SIN) * z * r + low * (1.0 - z * 0.5))
    head = 1.0 - z * 0.5
    tail = ((1.0 - head) - z * 0.5) + (polynomial(z, _COS) * z * z - r * low)
    return n, sine, head + tail


def _sin_or_cos(m: HloMath, x: Term, ahead: int) -> Term:
    n, sine, cosine = _sine_and_cosine(m, x)
    if ahead:
        n = n + ahead
    y = m.where((n & 1) != 0, cosine, sine)
    return m.where((n & 2) != 0, -y, y)


def sin64(m: HloMath, x: Term) -> Term:
    """The sine."""
    return m.where(abs(x) < 2.0**-27, x, _sin_or_cos(m, x, 0))


def cos64(m: HloMath, x: Term) -> Term:
    """The cosine."""
    return _sin_or_cos(m, x, 1)


def tan64(m: HloMath, x: Term) -> Term:
    """The tangent, to 2.5 units in the last place."""
    n, sine, cosine = _sine_and_cosine(m, x)
    odd = (n & 1) != 0
    y = m.where(odd, -cosine, sine) / m.where(odd, sine, cosine)
    return m.where(abs(x) < 2.0**-27, x, y)


# --- exponentials and logarithms


# (exp(r) - 1 - r) / r², |r| <= log(2)/2.
_EXP = (
    2.077770271739619e-09,
    2.5108500863753854e-08,
    2.7557719367994026e-07,
    2.755724576163261e-06,
    2.4801586801560876e-05,
    0.0001984126988458268,
    0.0013888888889150033,
    0.008333333333322231,
    0.04166666666666613,
    0.16666666666666677,
    0.5,
)


def _expm1(m: HloMath, x: Term) -> tuple[Term, Term]:
    """exp(x) - 1 as a sum of two numbers, the second of them small; x in [-40, 709.7]."""
    n = m.rint(x * (1.0 / math.log(2.0)))
    h, low = x - n * _LN2_HIGH, n * _LN2_LOW
    r = h - low
    t = r * r * polynomial(r, _EXP) + ((h - r) - low)
    # (1 + r + t) 2^n - 1 with half the power, which is finite: the sum of (s - 1/2), s r and s t.
    s = (((n + 1.5 * 2.0**52).view(_I64) + 1022) << 52).view(_F64)
    y, lost = _two_sum(s - 0.5, s * r)
    y, rest = _two_sum(y, lost + s * t)
    return y * 2.0, rest * 2.0


def expm1_64(m: HloMath, x: Term) -> Term:
    """exp(x) - 1."""
    y, _ = _expm1(m, m.where(x < -40.0, -40.0, m.where(x > 710.0, 710.0, x)))
    return m.where(abs(x) < 2.0**-54, x, y)


def _half_exp(m: HloMath, size: Term) -> Term:
    """exp(size) / 2 in two factors, so that it does not overflow before its time."""
    t = m.exp(size * 0.5)
    return (t * 0.5) * t


def sinh64(m: HloMath, x: Term) -> Term:
    """The hyperbolic sine."""
    size = abs(x)
    e, low = _expm1(m, m.where(size < 22.0, size, 0.0))
    q = e / (e + 1.0)
    y = (e + (q + low * ((1.0 - q) * (1.0 - q) + 1.0))) * 0.5
    y = m.where(size < 22.0, y, _half_exp(m, size))
    return m.where(size < 2.0**-28, x, with_sign(y, x))


def cosh64(m: HloMath, x: Term) -> Term:
    """The hyperbolic cosine, to 3 units in the last place."""
    size = abs(x)
    e = m.exp(m.where(size < 22.0, size, 0.0))
    return m.where(size < 22.0, (e + 1.0 / e) * 0.5, _half_exp(m, size))


def tanh64(m: HloMath, x: Term) -> Term:
    """The hyperbolic tangent, to 1.6 units in the last place."""
    size = abs(x)
    e, low = _expm1(m, m.where(size < 20.0, size, 20.0) * 2.0)
    d, lost = _two_sum(e, m.full_like(e, 2.0))
    r = 1.0 / d
    q = e * r
    y = q + (low - q * (low + lost)) * r
    y = m.where(x == x, y, x)
    return m.where(size < 2.0**-28, x, with_sign(y, x))


# (atanh(s)/s - 1) / s² in s², |s| <= (√2 - 1)/(√2 + 1).
_LOG = (
    0.07398125327614685,
    0.07657011073309118,
    0.09091782684019756,
    0.11111099277262233,
    0.14285714371277483,
    0.19999999999707,
    0.3333333333333367,
)
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½


def _log(m: HloMath, x: Term, addition: Term | None) -> Term:
    """log x, for positive normal finite x, with a small number added to it before it is rounded."""
    bits = x.view(_U64)
    e = ((bits + ((1023 << 52) - _ROOT_HALF)) >> 52) - 1023
    f = (bits - (e << 52)).view(_F64) - 1.0
    e = e.astype(_I32).astype(_F64)
    # log(1 + f) = f - (f²/2 - s (f²/2 + r)): of the large terms only f, exact, is rounded with.
    s = f * (1.0 / (f + 2.0))
    z, half = s * s, f * f * 0.5
    low = e * _LN2_LOW if addition is None else e * _LN2_LOW + addition
    r = polynomial(z, _LOG) * z * 2.0
    return e * _LN2_HIGH - ((half - (s * (half + r) + low)) - f)


def _log1p(m: HloMath, x: Term) -> Term:
    """log(1 + x) for finite x > -1."""
    u = x + 1.0
    # The select keeps XLA from taking (x + 1) - 1 for x.
    u = m.where(x == x, u, x)
    lost = m.where(x < 1.0, x - (u - 1.0), 1.0 - (u - x))
    return m.where(abs(x) < 2.0**-53, x, _log(m, u, lost * (1.0 / u)))


def log64(m: HloMath, x: Term) -> Term:
    """The natural logarithm."""
    inside = (x >= 2.0**-1022) & (x < math.inf)
    y = _log(m, m.where(inside, x, 1.0), None)
    edge = m.where(x == 0.0, -math.inf, m.where(x < 0.0, math.nan, x))
    return m.where(inside, y, edge)


def log10_64(m: HloMath, x: Term) -> Term:
    """The logarithm to base 10, to 2.5 units in the last place."""
    return log64(m, x) * (1.0 / math.log(10.0))


def log1p64(m: HloMath, x: Term) -> Term:
    """The logarithm of 1 + x."""
    inside = (x > -1.0) & (x < math.inf)
    y = _log1p(m, m.where(inside, x, 0.0))
    edge = m.where(x == -1.0, -math.inf, m.where(x < -1.0, math.nan, x))
    return m.where(abs(x) < 2.0**-53, x, m.where(inside, y, edge))


def atanh64(m: HloMath, x: Term) -> Term:
    """The inverse hyperbolic tangent, to 2.5 units in the last place."""
    size = abs(x)
    inside = m.where(size < 1.0, size, 0.0)
    twice = inside + inside
    quotient = twice * (1.0 / (1.0 - inside))
    y = _log1p(m, m.where(inside < 0.5, twice + quotient * inside, quotient))
    y = m.where(size < 2.0**-28, x, with_sign(y * 0.5, x))
    edge = m.where(size == 1.0, with_sign(m.full_like(x, math.inf), x), math.nan)
    return m.where(size < 1.0, y, edge)


# --- roots and inverse circular functions


def cbrt64(m: HloMath, x: Term) -> Term:
    """The cube root."""
    tiny = abs(x) < 2.0**-900
    d = abs(x) * m.where(tiny, m.full_like(x, 2.0**300), 1.0)
    # As for float32; then a step from a value of 26 bits, whose square is exact (fdlibm's s_cbrt).
    third = (d.view(_U64) >> 32).astype(_I32).astype(_F64) * (1.0 / 3.0) + 715094163.0
    r = (third.astype(_I32).astype(_U64) << 32).view(_F64)
    for _ in range(2):
        cube = r * r * r
        r = r * ((cube * 0.25 + d * 0.5) / (cube * 0.5 + d * 0.25))
    r = _upper(r, 26)
    t = d * (1.0 / (r * r))
    r = r + r * ((t - r) / (r + r + t))
    r = r * m.where(tiny, m.full_like(x, 2.0**-100), 1.0)
    return m.where((d > 0.0) & (d < math.inf), with_sign(r, x), x)


# (asin(u)/u - 1) / u² in u², |u| <= 1/2.
_ASIN = (
    0.03268376390124558,
    -0.021088093037827816,
    0.02177099761674226,
    0.0036800143947221843,
    0.010787316413201818,
    0.01139763801315224,
    0.013980978008538628,
    0.01735159873697551,
    0.02237221573412791,
    0.030381942681066223,
    0.04464285717517188,
    0.07499999999970212,
    0.16666666666666763,
)


def _asin_parts(m: HloMath, x: Term) -> tuple[Term, Term, Term]:
    """(near, u, v): u + v is asin |x| where near, |x| <= 1/2, else asin(√((1 - |x|)/2))."""
    d = abs(x)
    near = d <= 0.5
    z = m.where(near, d * d, (1.0 - d) * 0.5)
    u = m.where(near, d, m.sqrt(z))
    return near, u, polynomial(z, _ASIN) * z * u


def asin64(m: HloMath, x: Term) -> Term:
    """The arcsine."""
    near, u, v = _asin_parts(m, x)
    y = m.where(near, u + v, math.pi / 2 - ((u + v) * 2.0 - _PI_LOW / 2))
    return m.where(abs(x) < 2.0**-27, x, with_sign(y, x))


def acos64(m: HloMath, x: Term) -> Term:
    """The arccosine."""
    near, u, v = _asin_parts(m, x)
    negative = x < 0.0
    u, v = m.where(negative & near, -u, u), m.where(negative & near, -v, v)
    from_middle = math.pi / 2 - (u - (_PI_LOW / 2 - v))
    from_end = m.where(negative, math.pi - ((u + v) * 2.0 - _PI_LOW), (u + v) * 2.0)
    return m.where(near, from_middle, from_end)


# (atan(u)/u - 1) / u² in u², |u| <= tan(π/8).
_ATAN = (
    -0.017919209517910414,
    0.03807557636577732,
    -0.050397399754726076,
    0.05847986095426225,
    -0.06663117338297346,
    0.07692061378041941,
    -0.09090897822443302,
    0.11111110785672873,
    -0.1428571428023972,
    0.19999999999954002,
    -0.333333333333332,
)
_TAN_22_5 = math.sqrt(2.0) - 1.0


def _angle(m: HloMath, low: Term, high: Term) -> tuple[Term, Term]:
    """atan(low / high), 0 <= low <= high, as a sum."""
    far = low > high * _TAN_22_5
    # atan t = π/4 + atan((t - 1) / (t + 1)).
    u = m.where(far, low - high, low) * (1.0 / m.where(far, low + high, high))
    z = u * u
    v = polynomial(z, _ATAN) * z * u
    quarter = m.where(far, m.full_like(u, math.pi / 4), 0.0)
    a = quarter + u
    return a, ((quarter - a) + u) + (v + m.where(far, m.full_like(u, _PI_LOW / 4), 0.0))


def atan64(m: HloMath, x: Term) -> Term:
    """The arctangent."""
    size = abs(x)
    steep = size > 1.0
    one = m.full_like(x, 1.0)
    a, rest = _angle(m, m.where(steep, one, size), m.where(steep, size, one))
    y = m.where(steep, math.pi / 2 - (a - (_PI_LOW / 2 - rest)), a + rest)
    return m.where(size < 2.0**-27, x, with_sign(y, x))


def atan2_64(m: HloMath, y: Term, x: Term) -> Term:
    """The angle of (y, x) as in IEEE 754."""
    dy, dx = abs(y), abs(x)
    steep = dy > dx
    low, high = m.where(steep, dx, dy), m.where(steep, dy, dx)
    # Away from the ends of the range, where sums overflow and reciprocals are subnormal.
    scale = m.where(high > 2.0**1000, m.full_like(x, 2.0**-60), 1.0)
    scale = m.where(high < 2.0**-900, m.full_like(x, 2.0**200), scale)
    a, rest = _angle(m, low * scale, high * scale)
    # Both zero or both infinite: 0 / 0.
    same = dy == dx
    a = m.where(same, m.where(dy == 0.0, m.full_like(a, 0.0), math.pi / 4), a)
    rest = m.where(same, m.where(dy == 0.0, m.full_like(a, 0.0), _PI_LOW / 4), rest)
    behind = x.view(_I64) < 0
    half = math.pi / 2 - (a - (_PI_LOW / 2 - rest))
    other = m.where(behind, math.pi / 2 + (a + (_PI_LOW / 2 + rest)), half)
    straight = m.where(behind, math.pi - (a - (_PI_LOW - rest)), a + rest)
    z = m.where(steep, m.where(behind, other, half), straight)
    return m.where(y.view(_I64) < 0, -z, z)
