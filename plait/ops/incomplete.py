"""Incomplete gamma and beta functions: distribution functions of gamma and beta variables.

Both are a density times a series or a continued fraction, which loops sum to the last bit; gamma
functions of large shapes have an expansion of their own. Derivatives with respect to shapes come
from the derivatives of the same series and fractions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.primitive import register
from plait.core.sample import positive, real
from plait.hlo.formula import by_formula, polynomial, product, two_sum
from plait.ops.arithmetic import add, mul, neg, sub
from plait.ops.compare import eq, select
from plait.ops.elementwise import Elementwise, binary
from plait.ops.error_formula import erfcx_positive
from plait.ops.functions import exp, log, log1p
from plait.ops.gamma_formula import (
    LARGE,
    beta,
    digamma,
    gamma,
    log1p_less_x,
    log_beta,
    log_gamma,
    log_gamma_1p,
    log_gamma_ratio,
    stirling,
)
from plait.ops.special import lgamma, no_derivative

# Iterations needed grow as 9 √a; more than this many are not worth waiting for.
_LIMIT = 20_000.0
_AT_ONCE = 4  # rounds between two looks at whether more are needed: half the time of one


# --- incomplete gamma functions


def _gamma_density(m: Any, a: Any, x: Any) -> Any:
    """x^a e^-x / Γ(a + 1): by powers where these are finite, which lose less than logarithms."""
    if a.dtype != np.float64:  # on TPUs, where Γ overflows early
        return m.exp(_log_gamma_density(m, a, x))
    usual = (a > 1e-300) & (a < 170.0) & (x < 600.0)
    a_, x_ = m.where(usual, a, 1.0), m.where(usual, x, 1.0)
    half = m.power(x_, a_ * 0.5)
    near = half * m.exp(-x_) * half / (a_ * gamma(m, a_))
    return m.where(usual, near, m.exp(_log_gamma_density(m, a, x)))


def _log_gamma_density(m: Any, a: Any, x: Any) -> Any:
    """a log x - x - log Γ(a + 1); for large a without subtracting large numbers."""
    plain = (a * m.log(x) - x) - log_gamma_1p(m, a)
    large = m.maximum(a, LARGE)
    t = (x - large) / large
    near = t > -0.9
    logarithm = m.where(near, log1p_less_x(m, m.where(near, t, 0.0)), m.log(x / large) - t)
    far = large * logarithm - (0.5 * m.log(large * (2 * math.pi)) + stirling(m, large))
    return m.where(a >= LARGE, far, plain)


def _gamma_series(m: Any, a: Any, x: Any, active: Any) -> Any:
    """Σ x^n / ((a + 1) ... (a + n)) (Abramowitz, Stegun 6.5.29)."""
    eps = m.epsilon

    def step(n: Any, c: Any, s: Any) -> tuple[Any, ...]:
        n = n + 1.0
        c = c * x / (a + n)
        return n, c, s + c

    one = m.full_like(a, 1.0)
    going = lambda n, c, s: active & (c > eps * 0.25 * s) & (n < _LIMIT)  # noqa: E731
    return m.loop(going, step, (m.full_like(a, 0.0), one, one), _AT_ONCE)[2]


def _gamma_fraction(m: Any, a: Any, x: Any, active: Any) -> Any:
    """Legendre's continued fraction 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), by the
    recurrence of its numerators p and denominators q.
    """
    eps = m.epsilon

    def terms(n: Any) -> tuple[Any, Any]:
        return n * (a - n), x + 1.0 - a + 2.0 * n

    def going(n: Any, p1: Any, p: Any, q1: Any, q: Any, f: Any, old: Any) -> Any:
        return active & ((abs(f - old) > eps * 0.25 * abs(f)) | (n < 2.0)) & (n < _LIMIT)

    def step(n: Any, p1: Any, p: Any, q1: Any, q: Any, f: Any, old: Any) -> tuple[Any, ...]:
        n = n + 1.0
        over, under = terms(n)
        p1, p = p, under * p + over * p1
        q1, q = q, under * q + over * q1
        scale = m.where(abs(q) > 1.0 / eps, m.full_like(a, 2.0**-52), 1.0)
        p1, p, q1, q = (v * scale for v in (p1, p, q1, q))
        return n, p1, p, q1, q, p / q, f

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    first = x + 1.0 - a
    start = (zero, zero, one, one, first, 1.0 / first, zero)
    n, _, _, _, _, f, _ = m.loop(going, step, start, _AT_ONCE)
    if eps > 2.0**-40:
        return f

    # Rounding adds up in p and q. From the last term found back to the first it fades.
    def back(n: Any, t: Any) -> tuple[Any, Any]:
        over, under = terms(n)
        return n - 1.0, over / (under + t)

    _, t = m.loop(lambda n, t: active & (n > 0.0), back, (n, zero))
    return 1.0 / (first + t)


def _small_complement(m: Any, a: Any, x: Any) -> Any:
    """The upper function for x <= 1, where it is small if a is.

    1 - P with P = exp(u) (1 + r), u = a log x - log Γ(a + 1), r = a Σ (-x)^k / (k! (a + k)).
    """
    u = a * m.log(x) - log_gamma_1p(m, a)
    term, r = m.full_like(a, 1.0), m.full_like(a, 0.0)
    for k in range(1, 20):
        term = term * x * (-1.0 / k)
        r = r + term / (a + float(k))
    return -(m.expm1(u) + m.exp(u) * (r * a))


# Temme's expansion, for large a and x near it, of Q(a, x) - erfc(η √(a/2))/2, times √(2πa) and
# exp(aη²/2): factors of 1, 1/a, 1/a², ..., in η (NIST Handbook of Mathematical Functions 8.12).
_TEMME = (
    (
        -5.830772132550426e-11,
        -2.5514193994946248e-11,
        9.14769958223679e-10,
        -4.382036018453353e-09,
        1.0261809784240309e-08,
        6.707853543401498e-09,
        -1.7665952736826078e-07,
        8.296711340953087e-07,
        -1.85406221071516e-06,
        -2.185448510679992e-06,
        3.919263178522438e-05,
        -0.0001787551440329218,
        0.0003527336860670194,
        0.0011574074074074073,
        -0.014814814814814815,
        0.08333333333333333,
        -0.3333333333333333,
    ),
    (
        -1.0091543710600413e-09,
        -1.7543241719747647e-11,
        1.1951628599778148e-08,
        -5.752545603517705e-08,
        1.378633446915721e-07,
        4.647127802807434e-09,
        -1.6120900894563446e-06,
        7.64916091608111e-06,
        -1.8098550334489977e-05,
        -4.018775720164609e-07,
        0.00020576131687242798,
        -0.0009902263374485596,
        0.0026455026455026454,
        -0.003472222222222222,
        -0.001851851851851852,
    ),
    (
        -1.409252991086752e-08,
        -2.0477098421990866e-10,
        1.4280614206064242e-07,
        -6.298992138380055e-07,
        1.3721957309062934e-06,
        3.423578734096138e-08,
        -1.2760635188618728e-05,
        5.2923448829120125e-05,
        -0.0001073665322636516,
        2.0093878600823047e-06,
        0.0007716049382716049,
        -0.0026813271604938273,
        0.004133597883597883,
    ),
    (
        -2.7861080291528143e-11,
        1.4230900732435883e-06,
        -5.6749528269915965e-06,
        1.1082654115347302e-05,
        -2.396505113867297e-07,
        -7.561801671883977e-05,
        0.00026772063206283885,
        -0.0004691894943952557,
        0.00022947209362139917,
        0.0006494341563786008,
    ),
    (
        2.507497226237533e-10,
        1.1375726970678419e-05,
        -3.968365047179435e-05,
        6.641498215465122e-05,
        -1.4638452578843418e-06,
        -0.0002990724803031902,
        0.0007840392217200666,
        -0.0008618882909167117,
    ),
    (
        1.419062920643967e-07,
        6.797780477937208e-05,
        -0.00019932570516188847,
        0.0002772753244959392,
        -6.972813758365857e-05,
        -0.00033679855336635813,
    ),
)
_TEMME_FROM, _TEMME_WIDTH = 200.0, 0.3


def _temme(m: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """(P, Q), the lower and the upper function."""
    t = (x - a) / a
    half = -log1p_less_x(m, t)  # η²/2
    size = m.sqrt(half * 2.0)
    below = t < 0.0
    eta = m.where(below, -size, size)
    r, s = 1.0 / a, m.full_like(a, 0.0)
    for coefficients in reversed(_TEMME):
        s = s * r + polynomial(eta, coefficients)
    y = a * half
    decay = m.exp(-y)
    tail = erfcx_positive(m, m.sqrt(y)) * decay * 0.5
    rest = s * decay / m.sqrt(a * (2 * math.pi))
    lower = m.where(below, tail - rest, 1.0 - tail - rest)
    return lower, m.where(below, 1.0 - tail + rest, tail + rest)


def _gamma_both(m: Any, a: Any, x: Any) -> tuple[Any, ...]:
    """(whether a and x are ordinary, P, Q)."""
    inside = (a > 0.0) & (a < math.inf) & (x > 0.0) & (x < math.inf)
    a, x = m.where(inside, a, 1.0), m.where(inside, x, 1.0)
    large = (a > _TEMME_FROM) & (abs(x - a) < _TEMME_WIDTH * a)
    by_series = ((x <= 1.0) | (x <= a)) & ~large
    by_fraction = ~(by_series | large)
    s = _gamma_series(m, a, x, inside & by_series)
    # Elements that the others serve get operands at which the fraction is tame.
    fa, fx = m.where(by_fraction, a, 1.0), m.where(by_fraction, x, 2.0)
    f = _gamma_fraction(m, fa, fx, inside & by_fraction)
    density = _gamma_density(m, a, x)
    upper = f * a * density
    tiny = x <= 1.0
    by_series_up = m.where(tiny, _small_complement(m, a, m.minimum(x, 1.0)), 1.0 - s * density)
    lower = m.where(by_series, s * density, 1.0 - upper)
    upper = m.where(by_series, by_series_up, upper)
    p, q = _temme(m, m.where(large, a, 300.0), m.where(large, x, 300.0))
    return inside, m.where(large, p, lower), m.where(large, q, upper)


def _gamma_edges(m: Any, a: Any, x: Any, inside: Any, y: Any, at_zero: float) -> Any:
    """y inside; at x = 0 (or a infinite) `at_zero`, at x infinite (or a = 0) the complement."""
    y = m.where(inside, y, math.nan)
    valid = (a >= 0.0) & (x >= 0.0)
    low, high = valid & ((x == 0.0) | (a == math.inf)), valid & ((a == 0.0) | (x == math.inf))
    y = m.where(low & ~high, at_zero, y)
    return m.where(high & ~low, 1.0 - at_zero, y)


def _igamma(m: Any, a: Any, x: Any) -> Any:
    inside, lower, _ = _gamma_both(m, a, x)
    return _gamma_edges(m, a, x, inside, lower, 0.0)


def _igammac(m: Any, a: Any, x: Any) -> Any:
    inside, _, upper = _gamma_both(m, a, x)
    return _gamma_edges(m, a, x, inside, upper, 1.0)


# --- their derivatives by the shape


def _series_slope(m: Any, a: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """The series and its derivative by a."""
    eps = m.epsilon

    def going(n: Any, c: Any, s: Any, dc: Any, ds: Any) -> Any:
        more = (c > eps * s) | (abs(dc) > eps * abs(ds))
        return active & more & (n < _LIMIT)

    def step(n: Any, c: Any, s: Any, dc: Any, ds: Any) -> tuple[Any, ...]:
        n = n + 1.0
        r = 1.0 / (a + n)
        dc = (dc - c * r) * r * x
        c = c * r * x
        return n, c, s + c, dc, ds + dc

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    _, _, s, _, ds = m.loop(going, step, (zero, one, one, zero, zero), _AT_ONCE)
    return s, ds


def _fraction_slope(m: Any, a: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """The continued fraction and its derivative by a."""
    eps = m.epsilon

    def going(n, p1, p, q1, q, dp1, dp, dq1, dq, f, df, old, dold) -> Any:
        more = (abs(f - old) > eps * abs(f)) | (abs(df - dold) > eps * abs(df))
        return active & (more | (n < 2.0)) & (n < _LIMIT)

    def step(n, p1, p, q1, q, dp1, dp, dq1, dq, f, df, old, dold) -> tuple[Any, ...]:
        n = n + 1.0
        over, under = n * (a - n), x + 1.0 - a + 2.0 * n  # their derivatives are n and -1
        dp1, dp = dp, under * dp - p + over * dp1 + n * p1
        dq1, dq = dq, under * dq - q + over * dq1 + n * q1
        p1, p = p, under * p + over * p1
        q1, q = q, under * q + over * q1
        scale = m.where(abs(q) > 1.0 / eps, m.full_like(a, eps), 1.0)
        p1, p, q1, q = (v * scale for v in (p1, p, q1, q))
        dp1, dp, dq1, dq = (v * scale for v in (dp1, dp, dq1, dq))
        ratio = p / q
        return n, p1, p, q1, q, dp1, dp, dq1, dq, ratio, (dp - ratio * dq) / q, f, df

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    first = x + 1.0 - a
    f = 1.0 / first
    start = (zero, zero, one, one, first, zero, zero, zero, zero - 1.0, f, f * f, zero, zero)
    result = m.loop(going, step, start, _AT_ONCE)
    return result[9], result[10]


def _igamma_slope(m: Any, a: Any, x: Any) -> tuple[Any, ...]:
    """The derivative of igamma by a, divided by the density x^a e^-x / Γ(a + 1)."""
    inside = (a > 0.0) & (a < math.inf) & (x > 0.0) & (x < math.inf)
    a, x = m.where(inside, a, 1.0), m.where(inside, x, 1.0)
    by_series = (x <= 1.0) | (x <= a)
    s, ds = _series_slope(m, a, x, inside & by_series)
    fa, fx = m.where(by_series, 1.0, a), m.where(by_series, 2.0, x)
    f, df = _fraction_slope(m, fa, fx, inside & ~by_series)
    # ψ(a + 1) = ψ(a) + 1/a; log x - ψ(a) alone would lose a small a in 1/a.
    difference = m.log(x) - digamma(m, a + 1.0)
    y = m.where(
        by_series,
        s * difference + ds,
        -(f * (difference + 1.0 / a) + df) * a,
    )
    return inside, a, x, y


def _igamma_grad_a(m: Any, a: Any, x: Any) -> Any:
    inside, safe_a, safe_x, slope = _igamma_slope(m, a, x)
    y = slope * _gamma_density(m, safe_a, safe_x)
    y = m.where(inside, y, math.nan)
    return m.where((x == 0.0) & (a > 0.0), 0.0, y)


def _random_gamma_grad(m: Any, a: Any, x: Any) -> Any:
    # A sample x of the gamma distribution holds P(a, x) constant: dx/da = -(dP/da) / (dP/dx), and
    # x dP/dx is a times the density that the slope was divided by.
    inside, safe_a, safe_x, slope = _igamma_slope(m, a, x)
    y = m.where(inside, -slope * (safe_x / safe_a), math.nan)
    return m.where((x == 0.0) & (a > 0.0), 0.0, y)


def _times_log(factor: Any, logarithm: Any) -> Any:
    # 0 * log(0) counts as 0, as in 0 ** 0.
    return select(eq(factor, 0.0), 0.0, mul(factor, logarithm))


def _gamma_slope(a: Any, x: Any) -> Any:
    return exp(sub(sub(_times_log(sub(a, 1.0), log(x)), x), lgamma(a)))


_GAMMA_SAMPLES = [
    (positive(2, 3), positive(2, 3)[:, ::-1].copy()),
    (np.array([0.1, 3.0, 30.0, 0.5]), np.array([0.7, 9.0, 22.0, 1e-3])),
    (np.array(1.5), positive(3)),
]

igamma = binary(
    "igamma",
    doc="""The regularised lower incomplete gamma function P(x, y): the chance that a gamma variable
    of shape x is below y.""",
    example=("print(lax.igamma(1.0, jnp.array([0.5, 1.0, 2.0])).round(3))", "[0.393 0.632 0.865]"),
    accepts=FLOAT,
    **by_formula(_igamma),
    jvp=(
        lambda z, a, x, t: mul(t, igamma_grad_a(a, x)),
        lambda z, a, x, t: mul(t, _gamma_slope(a, x)),
    ),
    samples=_GAMMA_SAMPLES,
)

igammac = binary(
    "igammac",
    doc="The regularised upper incomplete gamma function: 1 - igamma(x, y), exact where small.",
    example=("print(lax.igammac(1.0, jnp.array([0.5, 1.0, 2.0])).round(3))", "[0.607 0.368 0.135]"),
    accepts=FLOAT,
    **by_formula(_igammac),
    jvp=(
        lambda z, a, x, t: neg(mul(t, igamma_grad_a(a, x))),
        lambda z, a, x, t: neg(mul(t, _gamma_slope(a, x))),
    ),
    samples=_GAMMA_SAMPLES,
)

igamma_grad_a = binary(
    "igamma_grad_a",
    doc="The derivative of igamma(x, y) with respect to its shape x.",
    example=(
        "lax.igamma_grad_a(1.0, jnp.array([0.5, 1.0, 2.0])).round(3)",
        "Array([-0.489, -0.432, -0.221], dtype=float32)",
    ),
    accepts=FLOAT,
    **by_formula(_igamma_grad_a),
    jvp=(no_derivative("igamma_grad_a", "x"), no_derivative("igamma_grad_a", "y")),
    samples=_GAMMA_SAMPLES,
)

random_gamma_grad = binary(
    "random_gamma_grad",
    doc="The derivative of a sample y of the gamma distribution with respect to its shape x.",
    example=(
        "lax.random_gamma_grad(1.0, jnp.array([0.5, 1.0, 2.0])).round(3)",
        "Array([0.807, 1.174, 1.632], dtype=float32)",
    ),
    accepts=FLOAT,
    **by_formula(_random_gamma_grad),
    jvp=(no_derivative("random_gamma_grad", "x"), no_derivative("random_gamma_grad", "y")),
    samples=_GAMMA_SAMPLES,
)

# --- the incomplete beta function


def _log_growth(m: Any, t: Any, one_plus_t: Any) -> Any:
    """log(1 + t) - t."""
    near = t > -0.9
    return m.where(near, log1p_less_x(m, m.where(near, t, 0.0)), m.log(one_plus_t) - t)


def _beta_density(m: Any, a: Any, b: Any, x: Any) -> Any:
    """x^a (1 - x)^b / B(a, b): by powers where these are finite; logarithms lose more digits."""
    if a.dtype != np.float64:  # on TPUs, where Γ overflows early
        return m.exp(_log_beta_density(m, a, b, x, log_beta(m, a, b)))
    a, b = m.maximum(a, 1e-300), m.maximum(b, 1e-300)  # whose Γ is finite
    usual = a + b < 170.0
    a_, b_ = m.where(usual, a, 1.0), m.where(usual, b, 1.0)
    rest, lost = two_sum(m.full_like(x, 1.0), -x)
    near = m.power(x, a_) * m.power(rest, b_) / beta(m, a_, b_)
    near = near + near * (b_ * lost / rest)
    small, large = m.minimum(a, b), m.maximum(m.maximum(a, b), LARGE)
    normaliser = log_gamma(m, small) - log_gamma_ratio(m, large, small)
    return m.where(usual, near, m.exp(_log_beta_density(m, a, b, x, normaliser)))


def _log_beta_density(m: Any, a: Any, b: Any, x: Any, normaliser: Any) -> Any:
    """log(x^a (1 - x)^b / B(a, b)), `normaliser` being log B(a, b); where a and b are large it is
    not used, and no large numbers are subtracted.
    """
    plain = (a * m.log(x) + b * m.log1p(-x)) - normaliser
    p, q = m.maximum(a, LARGE), m.maximum(b, LARGE)
    both = p + q
    # (p + q) x - p, all of whose digits count where x is near the mean.
    (one, one_rest), (two, two_rest) = product(p, x), product(q, x)
    total, lost = two_sum(one, two)
    off, lost_too = two_sum(total, -p)
    off = off + ((lost + lost_too) + (one_rest + two_rest))
    far = (
        p * _log_growth(m, off / p, x * (both / p))
        + q * _log_growth(m, -off / q, (1.0 - x) * (both / q))
        + 0.5 * m.log(p / (2 * math.pi) * (q / both))
        + (stirling(m, both) - stirling(m, p) - stirling(m, q))
    )
    return m.where((a >= LARGE) & (b >= LARGE), far, plain)


def _beta_terms(a: Any, b: Any, x: Any, n: Any) -> tuple[Any, Any]:
    """The two numerators of round n of the continued fraction of Abramowitz and Stegun 26.5.8."""
    end = a + 2.0 * n
    even = n * (b - n) * x / ((end - 1.0) * end)
    return even, -(a + n) * (a + b + n) * x / (end * (end + 1.0))


def _beta_fraction(m: Any, a: Any, b: Any, x: Any, active: Any) -> Any:
    """The continued fraction, by Lentz's method."""
    eps = m.epsilon
    tiny = float(np.finfo(a.dtype).tiny) / eps

    def kept_from_zero(v: Any) -> Any:
        return m.where(abs(v) < tiny, tiny, v)

    def going(n: Any, c: Any, d: Any, h: Any, change: Any) -> Any:
        return active & (abs(change - 1.0) > eps * 0.5) & (n < _LIMIT)

    def step(n: Any, c: Any, d: Any, h: Any, change: Any) -> tuple[Any, ...]:
        n = n + 1.0
        even, odd = _beta_terms(a, b, x, n)
        d = 1.0 / kept_from_zero(even * d + 1.0)
        c = kept_from_zero(even / c + 1.0)
        h = h * (d * c)
        d = 1.0 / kept_from_zero(odd * d + 1.0)
        c = kept_from_zero(odd / c + 1.0)
        return n, c, d, h * (d * c), d * c

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    d = 1.0 / kept_from_zero(1.0 - (a + b) * x / (a + 1.0))
    return m.loop(going, step, (zero, one, d, d, zero), _AT_ONCE)[3]


def _beta_inside(m: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    """Where a, b and x are ordinary, all made so; and whether the mirrored function is computed.

    The fraction converges fast below the mean; above it, the mirrored function's does. Of a b below
    1 most of the mass lies close to 1, and 1 - the mirrored function would cancel before.
    """
    finite = (a > 0.0) & (a < math.inf) & (b > 0.0) & (b < math.inf)
    inside = finite & (x > 0.0) & (x < 1.0)
    p, q, r = m.where(inside, a, 1.0), m.where(inside, b, 1.0), m.where(inside, x, 0.5)
    from_ = m.where(q < 0.1, 0.98, m.where(q < 1.0, 0.95, m.full_like(p, 0.0)))
    return inside, p, q, r, r > m.maximum(from_, (p + 1.0) / (p + q + 2.0))


def _betainc(m: Any, a: Any, b: Any, x: Any) -> Any:
    inside, p, q, r, mirrored = _beta_inside(m, a, b, x)
    density = _beta_density(m, p, q, r)
    one, other = m.where(mirrored, q, p), m.where(mirrored, p, q)
    part = density * _beta_fraction(m, one, other, m.where(mirrored, 1.0 - r, r), inside) / one
    y = m.where(inside, m.where(mirrored, 1.0 - part, part), math.nan)
    valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    # All the mass lies at 0 where a = 0 or b is infinite, at 1 in the opposite case.
    at_zero, at_one = (a == 0.0) | (b == math.inf), (b == 0.0) | (a == math.inf)
    high = valid & (((x == 1.0) & ~at_one) | (at_zero & ~at_one & (x > 0.0)))
    low = valid & (((x == 0.0) & ~at_zero) | (at_one & ~at_zero & (x < 1.0)))
    y = m.where(high, 1.0, m.where(low, 0.0, y))
    y = m.where(valid & (x == 1.0) & at_one & ~at_zero, 1.0, y)
    return m.where(valid & (x == 0.0) & at_zero & ~at_one, 0.0, y)


def _beta_fraction_slope(m: Any, a: Any, b: Any, x: Any, by_b: Any, active: Any) -> tuple[Any, Any]:
    """The fraction, and the derivative of its logarithm: by b where by_b, else by a."""
    eps = m.epsilon
    tiny = float(np.finfo(a.dtype).tiny) / eps
    da, db = m.where(by_b, m.full_like(a, 0.0), 1.0), m.where(by_b, m.full_like(a, 1.0), 0.0)

    def kept_from_zero(v: Any) -> Any:
        return m.where(abs(v) < tiny, tiny, v)

    def half(over: Any, slope: Any, c: Any, dc: Any, d: Any, dd: Any) -> tuple[Any, ...]:
        new_d = 1.0 / kept_from_zero(over * d + 1.0)
        dd = -new_d * new_d * (slope * d + over * dd)
        new_c = kept_from_zero(over / c + 1.0)
        dc = (slope - over * dc / c) / c
        return new_c, dc, new_d, dd

    def going(n, c, dc, d, dd, h, g, change, slope_change) -> Any:
        more = (abs(change - 1.0) > eps) | (abs(slope_change) > eps * abs(g))
        return active & more & (n < _LIMIT)

    def step(n, c, dc, d, dd, h, g, change, slope_change) -> tuple[Any, ...]:
        n = n + 1.0
        end = a + 2.0 * n
        even, odd = _beta_terms(a, b, x, n)
        # Not relative to even, which may be 0.
        d_even = (n * x * db) / ((end - 1.0) * end) - even * da * (1.0 / (end - 1.0) + 1.0 / end)
        d_odd = odd * (
            da / (a + n) + (da + db) / (a + b + n) - da * (1.0 / end + 1.0 / (end + 1.0))
        )
        c, dc, d, dd = half(even, d_even, c, dc, d, dd)
        change, slope_change = d * c, dd / d + dc / c
        h, g = h * change, g + slope_change
        c, dc, d, dd = half(odd, d_odd, c, dc, d, dd)
        change, slope_change = d * c, dd / d + dc / c
        return n, c, dc, d, dd, h * change, g + slope_change, change, slope_change

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    first = -(a + b) * x / (a + 1.0)
    d_first = first * ((da + db) / (a + b) - da / (a + 1.0))
    d = 1.0 / kept_from_zero(first + 1.0)
    dd = -d * d * d_first
    start = (zero, one, zero, d, dd, d, dd / d, zero, zero + 1.0)
    result = m.loop(going, step, start, _AT_ONCE)
    return result[5], result[6]


def _betainc_grad(m: Any, a: Any, b: Any, x: Any, second: bool) -> Any:
    """The derivative by a, or by the second shape b."""
    inside, p, q, r, mirrored = _beta_inside(m, a, b, x)
    one, other = m.where(mirrored, q, p), m.where(mirrored, p, q)
    # In the mirrored function the shapes are exchanged.
    by_other = ~mirrored if second else mirrored
    z = m.where(mirrored, 1.0 - r, r)
    h, g = _beta_fraction_slope(m, one, other, z, by_other, inside)
    part = _beta_density(m, p, q, r) * h / one
    shape, logarithm = (q, m.log1p(-r)) if second else (p, m.log(r))
    slope = logarithm + (digamma(m, p + q) - digamma(m, shape))
    slope = (slope + g) - m.where(by_other, 0.0, 1.0 / shape)
    y = m.where(mirrored, -part, part) * slope
    edge = (a > 0.0) & (b > 0.0) & ((x == 0.0) | (x == 1.0))
    return m.where(inside, y, m.where(edge, m.full_like(p, 0.0), math.nan))


def _beta_slope(y: Any, a: Any, b: Any, x: Any, t: Any) -> Any:
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    body = add(_times_log(sub(a, 1.0), log(x)), _times_log(sub(b, 1.0), log1p(neg(x))))
    return mul(t, exp(sub(body, log_beta)))


_BETA_SAMPLES = [
    ((positive(2, 3), positive(2, 3)[::-1].copy(), real(2, 3, low=0.05, high=0.95)), {}),
    ((np.array([40.0, 0.2]), np.array([25.0, 0.1]), np.array([0.6, 0.9])), {}),
    ((np.array(2.0), np.array(0.5), real(3, low=0.05, high=0.95)), {}),
]


def _beta_grad(which: str, second: bool) -> Elementwise:
    name = f"betainc_grad_{which}"
    return register(
        Elementwise(
            name,
            doc=f"The derivative of betainc(a, b, x) with respect to its shape {which}.",
            operands=("a", "b", "x"),
            accepts=FLOAT,
            **by_formula(lambda m, a, b, x: _betainc_grad(m, a, b, x, second)),
            derivatives=tuple(no_derivative(name, operand) for operand in ("a", "b", "x")),
            samples=_BETA_SAMPLES,
        )
    )


betainc_grad_a = _beta_grad("a", second=False)
betainc_grad_b = _beta_grad("b", second=True)

betainc = register(
    Elementwise(
        "regularized_incomplete_beta",
        doc="""The regularised incomplete beta function: the chance that a beta variable of shapes a
        and b is below x.""",
        example=(
            "lax.betainc(2.0, 3.0, jnp.array([0.0, 0.5, 1.0])).round(3)",
            "Array([0.   , 0.688, 1.   ], dtype=float32)",
        ),
        operands=("a", "b", "x"),
        accepts=FLOAT,
        **by_formula(_betainc),
        derivatives=(
            lambda y, a, b, x, t: mul(t, betainc_grad_a(a, b, x)),
            lambda y, a, b, x, t: mul(t, betainc_grad_b(a, b, x)),
            _beta_slope,
        ),
        samples=_BETA_SAMPLES,
    )
)


__all__ = [
    "betainc",
    "betainc_grad_a",
    "betainc_grad_b",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "random_gamma_grad",
]
