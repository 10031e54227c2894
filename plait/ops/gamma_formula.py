"""The gamma function, its logarithm and its digamma as formulas (hlo/formula.py), in float64.

Near 2 each is a polynomial; recurrences lead there from below 10, Stirling's series serves above,
reflection below 0. Where the logarithm or the digamma crosses zero on the negative axis, and only
there, the error is relative to the terms that cancel. The polynomials interpolate at Chebyshev's
points, to below 1e-17; computed with mpmath.
"""

from __future__ import annotations

import math
from typing import Any

from plait.hlo.formula import polynomial, two_sum

# log Γ(2 + u) / u in u, |u| <= 1/2.
_LOG_GAMMA = (
    -1.341570273460026e-07,
    2.7880013392491846e-07,
    -4.303234692956732e-07,
    9.199898075671394e-07,
    -2.044935323180052e-06,
    4.3847319318293745e-06,
    -9.438454884054723e-06,
    2.0505584372896933e-05,
    -4.492635166770342e-05,
    9.945767440096764e-05,
    -0.00022315475069647703,
    0.0005096695153484373,
    -0.0011927539120033873,
    0.002890510331036772,
    -0.007385551028668096,
    0.020580808427780335,
    -0.06735230105319814,
    0.32246703342411326,
    0.42278433509846713,
)
# Γ(2 + u) in u, |u| <= 1/2.
_GAMMA = (
    -1.3346544570502201e-06,
    2.626595151600183e-06,
    -3.5838696168827447e-06,
    7.215655907571232e-06,
    -1.5309053056591383e-05,
    3.057661722370728e-05,
    -6.0778315892822384e-05,
    0.00012165153858755432,
    -0.00024094323456836658,
    0.0004903909299068918,
    -0.000919573700182685,
    0.0021039331732498803,
    -0.002852645827564801,
    0.011154045724613223,
    -0.00026698206858238155,
    0.07424901075338665,
    0.08157691924708438,
    0.41184033042644064,
    0.42278433509846713,
    1.0,
)
# ψ(x) / (x - _ROOT) in 2 x - 3, x in [1, 2].
_DIGAMMA = (
    2.918622732168261e-11,
    -8.50550766013261e-11,
    8.734528429142953e-11,
    -2.7580994814377e-10,
    1.2469984616707403e-09,
    -3.7083753242807277e-09,
    1.0527692435026686e-08,
    -3.162911147408454e-08,
    9.543298288278275e-08,
    -2.863161166883193e-07,
    8.589060721930695e-07,
    -2.578093954045772e-06,
    7.741234508636364e-06,
    -2.3258242519113285e-05,
    6.995018825112794e-05,
    -0.00021074841138175561,
    0.0006368880303865817,
    -0.0019350666648613071,
    0.005936795278301761,
    -0.018550615381735008,
    0.06013562106019684,
    -0.2118137106407303,
    0.9510558760318328,
)
# sin(πf) / f in f², |f| <= 1/2.
_SIN_PI = (
    7.697847275590284e-07,
    -2.1903499125519212e-05,
    0.00046629981702308817,
    -0.007370430506093225,
    0.08214588657312355,
    -0.599264529318946,
    2.5501640398773007,
    -5.167712780049969,
    3.141592653589793,
)
# (atanh(r)/r - 1) / r² in r², |r| <= 1/3.
_ATANH = (
    0.07621319938612596,
    0.03163583391584537,
    0.04971927414133986,
    0.05240063383959254,
    0.058840114762451746,
    0.06666587727033403,
    0.07692310155391835,
    0.09090909042326178,
    0.11111111111675365,
    0.14285714285710904,
    0.20000000000000007,
    0.3333333333333333,
)
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17  # where digamma is zero

# The coefficients of Stirling's series for log Γ(x), times x, and of that for ψ(x), times x², in
# 1/x², the highest power first (Abramowitz and Stegun 6.1.41 and 6.3.18).
_STIRLING = (43867 / 244188, -3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188)
_STIRLING += (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_PSI = (-43867 / 14364, 3617 / 8160, -1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252)
_PSI += (1 / 120, -1 / 12)
LARGE = 8.5  # from here on Stirling's series is exact
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


def sin_pi(m: Any, f: Any) -> Any:
    """sin(πf) for |f| <= 1/2."""
    return polynomial(f * f, _SIN_PI) * f


def log1p_less_x(m: Any, x: Any) -> Any:
    """log(1 + x) - x, with all digits near 0."""
    near = (x > -0.5) & (x < 1.0)
    t = m.where(near, x, 0.0)
    # log(1 + t) = 2 atanh(r), and 2 r - t = -r t.
    r = t / (t + 2.0)
    z = r * r
    close = r * (polynomial(z, _ATANH) * z * 2.0 - t)
    return m.where(near, close, m.log1p(x) - x)


def stirling(m: Any, x: Any) -> Any:
    """log Γ(x) - ((x - 1/2) log x - x + log(2π)/2) for x >= LARGE."""
    r = 1.0 / x
    return polynomial(r * r, _STIRLING) * r


def _stepped_down(m: Any, x: Any, low: float, high: float) -> tuple[Any, Any, Any]:
    """(r, p, q): Γ(x) = p Γ(r) for x in [low, high), r in [low, low + 1); q is the derivative of p.

    Operands outside of the interval count as low.
    """
    r = m.where((x >= low) & (x < high), x, low)
    p, q = m.full_like(r, 1.0), m.full_like(r, 0.0)
    for _ in range(math.ceil(high - low - 1.0)):
        more = r >= low + 1.0
        r = m.where(more, r - 1.0, r)
        q = m.where(more, q * r + p, q)
        p = m.where(more, p * r, p)
    return r, p, q


def _log_gamma(m: Any, x: Any) -> Any:
    """log Γ(x) for x > 0."""
    r, p, _ = _stepped_down(m, x, 1.5, LARGE)
    # Γ(x) = Γ(x + 2) / (x (x + 1)) = Γ(x + 1) / x.
    tiny, small, large = x < 0.5, x < 1.5, x >= LARGE
    u = m.where(tiny, x, m.where(small, x - 1.0, r - 2.0))
    factor = m.where(tiny, x * (x + 1.0), m.where(large | small, x, p))
    logarithm = m.log(factor)
    y = polynomial(u, _LOG_GAMMA) * u + m.where(small, -logarithm, logarithm)
    safe = m.where(large, x, LARGE)
    far = (safe - 0.5) * (logarithm - 1.0) + (stirling(m, safe) + (_HALF_LOG_2_PI - 0.5))
    return m.where(large, far, y)


def log_gamma(m: Any, x: Any) -> Any:
    """log |Γ(x)|; infinite at 0, -1, -2, ... and at both infinities."""
    size = abs(x)
    finite = size < math.inf
    y = _log_gamma(m, m.where(finite, size, 1.0))
    # Γ(-x) Γ(x) = -π / (x sin πx).
    negative = finite & (x < 0.0)
    z = m.where(negative, size, 0.5)
    mirrored = -(m.log(z) + m.log(abs(sin_pi(m, z - m.rint(z))) * (1.0 / math.pi))) - y
    y = m.where(negative, mirrored, y)
    return m.where(finite, y, size)


def log_gamma_1p(m: Any, a: Any) -> Any:
    """log Γ(1 + a) for a > 0, with all digits where a is small."""
    small = a < 0.5
    u = m.where(small, a, 0.0)
    return m.where(small, polynomial(u, _LOG_GAMMA) * u - m.log1p(u), _log_gamma(m, a + 1.0))


def gamma(m: Any, x: Any) -> Any:
    """Γ(x); infinite at 0 with the sign of the zero, NaN at -1, -2, ... and at -inf."""
    size = abs(x)
    top = 11.5
    r, p, _ = _stepped_down(m, size, 1.5, top)
    tiny, small = size < 0.5, size < 1.5
    u = m.where(tiny, size, m.where(small, size - 1.0, r - 2.0))
    factor = m.where(tiny, size * (size + 1.0), m.where(small, size, 1.0))
    y = polynomial(u, _GAMMA) * p / factor
    # x^(x - 1/2) in two factors, lest it overflow before its time.
    large = size >= top
    z = m.where(large & (size < 172.0), size, top)
    power = m.power(z, z * 0.5 - 0.25)
    correction = m.expm1(stirling(m, z)) + 1.0
    far = power * (correction * (m.exp(-z) * math.sqrt(2 * math.pi))) * power
    far = m.where(size < 172.0, far, math.inf)
    y = m.where(large, far, y)
    negative = x < 0.0
    z = m.where(negative & (size < math.inf), size, 0.5)
    sine = sin_pi(m, z - m.rint(z))
    odd = m.rint(z) * 0.5 != m.rint(m.rint(z) * 0.5)
    whole = sine == 0.0
    mirrored = -math.pi / (m.where(odd, -sine, sine) * z * y)
    y = m.where(negative, m.where(whole | (size == math.inf), math.nan, mirrored), y)
    y = m.where(x == 0.0, 1.0 / x, y)
    return m.where(x == x, y, x)


def _digamma(m: Any, x: Any) -> Any:
    """ψ(x) for x > 0."""
    r, p, q = _stepped_down(m, x, 1.0, LARGE)
    # ψ(x) = ψ(x + 1) - 1/x.
    small, large = x < 1.0, x >= LARGE
    r = m.where(small, x + 1.0, r)
    rest = m.where(small, -1.0, q) / m.where(small, x, p)
    # The root is subtracted in two parts, which XLA must not make one.
    slope = polynomial(r * 2.0 - 3.0, _DIGAMMA)
    y = (slope * (r - _ROOT) - slope * _ROOT_REST) + rest
    v = m.where(large, x, LARGE)
    z = 1.0 / (v * v)
    return m.where(large, m.log(v) + (polynomial(z, _PSI) * z - 0.5 / v), y)


def digamma(m: Any, x: Any) -> Any:
    """ψ(x), the derivative of log |Γ|; NaN at -1, -2, ..., infinite at 0."""
    size = abs(x)
    finite = size < math.inf
    y = _digamma(m, m.where(finite & (size > 0.0), size, 1.0))
    # ψ(-x) = ψ(x) + 1/x + π cot πx.
    negative = finite & (x < 0.0)
    z = m.where(negative, size, 0.25)
    f = z - m.rint(z)
    whole = f == 0.0
    cosine, sine = sin_pi(m, 0.5 - abs(f)), sin_pi(m, m.where(whole, 0.5, f))
    y = m.where(negative, m.where(whole, math.nan, y + (1.0 / z + math.pi * (cosine / sine))), y)
    y = m.where(x == 0.0, -1.0 / x, y)
    return m.where(finite, y, m.where(x < 0.0, math.nan, x))


# --- quotients of gamma functions


def log_gamma_ratio(m: Any, x: Any, d: Any) -> Any:
    """log Γ(x + d) - log Γ(x) for x >= LARGE and x + d >= LARGE, without subtracting the two."""
    t, y = d / x, x + d
    difference = stirling(m, y) - stirling(m, x)
    return (d * m.log(y) + (x - 0.5) * log1p_less_x(m, t)) + (difference - 0.5 * t)


def beta(m: Any, a: Any, b: Any) -> Any:
    """Γ(a) Γ(b) / Γ(a + b), each below 170."""
    p, q = m.minimum(a, b), m.maximum(a, b)
    both, lost = two_sum(q, p)
    # Γ(a + b) at the exact sum: ψ(s) = log(s - 1/2) + 1/(24 s²) + ..., times what was lost.
    slope = m.log(m.maximum(both, 2.0) - 0.5)
    # The larger one first, which Γ(a + b) keeps from overflowing.
    y = gamma(m, q) / gamma(m, both) * gamma(m, p)
    return m.where(both > 2.0, y - y * (slope * lost), y)


def log_beta(m: Any, a: Any, b: Any) -> Any:
    """log |Γ(a) Γ(b) / Γ(a + b)|."""
    p, q = m.minimum(a, b), m.maximum(a, b)
    plain = log_gamma(m, p) + log_gamma(m, q) - log_gamma(m, p + q)
    large = (p > 0.0) & (q >= LARGE) & (q < math.inf)
    q_ = m.where(large, q, LARGE)
    p_ = m.where(large, p, 1.0)
    one = log_gamma(m, p_) - log_gamma_ratio(m, q_, p_)
    p_ = m.maximum(p_, LARGE)
    # log Γ(p) by Stirling's series as well, its p log p taken together with -p log(p + q).
    quotient, both = p_ / q_, p_ + q_
    corrections = (stirling(m, p_) + stirling(m, q_)) - stirling(m, both)
    two = (
        p_ * m.log(p_ / both)
        - (q_ - 0.5) * log1p_less_x(m, quotient)
        - (p_ - 0.5 * quotient)
        + (corrections + _HALF_LOG_2_PI - 0.5 * m.log(p_))
    )
    y = m.where(large, m.where(p >= LARGE, two, one), plain)
    return m.where((q == math.inf) & (p > 0.0), -math.inf, y)


def gamma_ratio(m: Any, x: Any, d: Any) -> Any:
    """Γ(x + d) / Γ(x) for x > 0 and x + d > 0."""
    y = x + d
    usual = (x < 170.0) & (y < 170.0)
    near = gamma(m, m.where(usual, y, 1.0)) / gamma(m, m.where(usual, x, 1.0))
    both = ~usual & (x >= LARGE) & (y >= LARGE)
    far = log_gamma_ratio(m, m.where(both, x, LARGE), m.where(both, d, 0.0))
    far = m.where(both, far, log_gamma(m, y) - log_gamma(m, x))
    return m.where(usual, near, m.exp(far))
