"""Special functions: error, gamma, zeta, beta and Bessel functions.

Where XLA has a function, it is used; the others are formulas (hlo/formula.py) that serve as meaning
and as lowering. These are computed in float64 and rounded once: the exponents that they subtract
would cost most digits of a float32. TPUs, which have no float64 unit, stay in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import FLOAT
from plait.core.primitive import register
from plait.core.sample import positive, real
from plait.core.types import ArrayType
from plait.errors import ArgumentError
from plait.hlo.formula import HloMath, NumpyMath, chebyshev, polynomial
from plait.ops import cpu_functions
from plait.ops.arithmetic import add, div, integer_pow, mul, neg, sub
from plait.ops.compare import eq, select
from plait.ops.elementwise import Elementwise, binary, unary
from plait.ops.functions import exp, log, log1p, sign, wide

_numpy = NumpyMath()


def _chlo(name: str) -> Callable[..., Any]:
    return lambda b, *xs: b.chlo(name, xs, ArrayType(xs[0].shape, xs[0].dtype))


def _by_number(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of Python floats on arrays."""
    each = np.frompyfunc(function, 1, 1)
    return wide(lambda x: np.asarray(each(x)).astype(np.float64))


def _formula(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """`numpy` and `hlo` of a record from one formula: function(m, *xs)."""

    def lower(b: Any, *xs: Any) -> Any:
        m = HloMath(b)
        width = dtypes.float32 if b.platform == "tpu" else dtypes.float64
        y = function(m, *(m.term(x).astype(width) for x in xs))
        return b.convert(y.value, xs[0].dtype)

    return {"numpy": wide(lambda *xs: function(_numpy, *xs)), "hlo": lower}


def _epsilon(x: Any) -> float:
    return float(np.finfo(x.dtype).eps)


def _no_derivative(op: str, operand: str) -> Callable[..., Any]:
    def rule(*_: Any) -> Any:
        raise ArgumentError(
            f"has no derivative with respect to {operand}",
            op=op,
            fix="hold it constant with lax.stop_gradient",
        )

    return rule


# --- the error function

_2_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)

erf = unary(
    "erf",
    doc="The error function, 2/√π times the integral of exp(-t²) from 0 to x. CHLO: erf.",
    example=("print(lax.erf(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.52  0.843]"),
    accepts=FLOAT,
    numpy=_by_number(math.erf),
    hlo=_chlo("erf"),
    jvp=lambda y, x, t: mul(t, mul(exp(neg(integer_pow(x, 2))), _2_OVER_ROOT_PI)),
    samples=[real(2, 3)],
)

erfc = unary(
    "erfc",
    doc="1 - erf(x), exact where it is small. CHLO: erfc.",
    example=("print(lax.erfc(jnp.array([0.0, 0.5, 1.0])).round(3))", "[1.    0.48  0.157]"),
    accepts=FLOAT,
    numpy=_by_number(math.erfc),
    hlo=_chlo("erfc"),
    cpu=cpu_functions.lowering(_chlo("erfc"), cpu_functions.erfc32),
    jvp=lambda y, x, t: mul(t, mul(exp(neg(integer_pow(x, 2))), -_2_OVER_ROOT_PI)),
    samples=[real(2, 3)],
)


def _erf_inv(y: float) -> float:
    if not -1.0 < y < 1.0:
        return math.copysign(math.inf, y) if abs(y) == 1.0 else math.nan
    if y == 0.0:
        return y
    size = abs(y)
    # A starting point good to 2e-3 (Winitzki's approximation, 2008), then Newton's steps, each
    # corrected for curvature. Near 1 the equation is erfc(x) = 1 - y, which keeps its digits.
    u, a = math.log1p(-size * size), 0.147
    v = 2 / (math.pi * a) + u / 2
    x = math.sqrt(max(math.sqrt(v * v - u / a) - v, 0.0)) if size > 1e-4 else size / _2_OVER_ROOT_PI
    for _ in range(4):
        error = math.erf(x) - size if size < 0.5 else (1.0 - size) - math.erfc(x)
        step = error / (_2_OVER_ROOT_PI * math.exp(-x * x))
        x -= step / (1.0 + x * step)
    return math.copysign(x, y)


erf_inv = unary(
    "erf_inv",
    doc="The x whose erf is given; infinite at -1 and 1, NaN outside. CHLO: erf_inv.",
    example=("print(lax.erf_inv(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.477   inf]"),
    accepts=FLOAT,
    numpy=_by_number(_erf_inv),
    hlo=_chlo("erf_inv"),
    jvp=lambda y, x, t: mul(t, mul(exp(integer_pow(y, 2)), 1.0 / _2_OVER_ROOT_PI)),
    samples=[real(2, 3, low=-0.95, high=0.95)],
)

# --- gamma, digamma, zeta

lgamma = unary(
    "lgamma",
    doc="log |Γ(x)|; infinite at 0, -1, -2, ... CHLO: lgamma.",
    example=("print(lax.lgamma(jnp.array([0.5, 1.0, 5.0])).round(3))", "[0.572 0.    3.178]"),
    accepts=FLOAT,
    numpy=wide(_numpy.lgamma),
    hlo=_chlo("lgamma"),
    cpu=cpu_functions.lowering(_chlo("lgamma"), cpu_functions.lgamma32),
    jvp=lambda y, x, t: mul(t, digamma(x)),
    samples=[positive(2, 3), real(3) - 2.03],
)

digamma = unary(
    "digamma",
    doc="The derivative of lgamma. CHLO: digamma.",
    example=("print(lax.digamma(jnp.array([0.5, 1.0, 5.0])).round(3))", "[-1.964 -0.577  1.506]"),
    accepts=FLOAT,
    numpy=wide(_numpy.digamma),
    hlo=_chlo("digamma"),
    cpu=cpu_functions.lowering(_chlo("digamma"), cpu_functions.digamma32),
    jvp=lambda y, x, t: mul(t, polygamma(1.0, x)),
    samples=[positive(2, 3), real(3) - 2.03],
)

# Bernoulli numbers B_2, B_4, ..., B_24 as fractions.
_BERNOULLI = (
    (1, 6),
    (-1, 30),
    (1, 42),
    (-1, 30),
    (5, 66),
    (-691, 2730),
    (7, 6),
    (-3617, 510),
    (43867, 798),
    (-174611, 330),
    (854513, 138),
    (-236364091, 2730),
)


def _zeta(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Σ (q + n)^-s over n >= 0 by Euler and Maclaurin's formula (Abramowitz and Stegun 23.1.30)."""
    s, q = np.broadcast_arrays(s, q)
    steps = 12
    total = sum(np.power(q + n, -s) for n in range(steps))
    z = q + steps
    end = np.power(z, -s)
    total = total + z * end / (s - 1) + end / 2
    factor, rising = 1.0, s / z
    for k, (over, under) in enumerate(_BERNOULLI, start=1):
        factor /= (2 * k) * (2 * k - 1)
        total = total + over / under * factor * rising * end
        rising = rising * (s + 2 * k - 1) * (s + 2 * k) / (z * z)
    whole = np.floor(q) == q
    total = np.where((q <= 0) & whole, np.inf, total)
    undefined = (s < 1) | ((q <= 0) & ~whole & (np.floor(s) != s))
    return np.where(undefined, np.nan, np.where(s == 1, np.inf, total))


zeta = binary(
    "zeta",
    doc="The Hurwitz zeta function, Σ (y + n)^-x over n = 0, 1, ...; NaN for x < 1. CHLO: zeta.",
    example=("print(lax.zeta(jnp.array([2.0, 4.0]), 1.0).round(3))", "[1.645 1.082]"),
    accepts=FLOAT,
    numpy=wide(_zeta),
    hlo=_chlo("zeta"),
    jvp=(
        _no_derivative("zeta", "x"),
        lambda z, x, y, t: mul(t, neg(mul(x, zeta(add(x, 1.0), y)))),
    ),
    samples=[(positive(2, 3) + 1.0, positive(2, 3))],
)


def _polygamma(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    order = np.where(m < 0, 0.0, m)
    sign_ = np.where(np.fmod(order, 2) == 1, 1.0, -1.0)
    y = sign_ * np.exp(_numpy.lgamma(order + 1)) * _zeta(order + 1, x)
    y = np.where(m == 0, _numpy.digamma(x), y)
    return np.where((m < 0) | (np.floor(m) != m), np.nan, y)


polygamma = binary(
    "polygamma",
    doc="""The derivative of digamma of order x at y; x holds whole numbers from 0 on, as floats,
    and gives NaN elsewhere. CHLO: polygamma.""",
    example=("print(lax.polygamma(jnp.array([0.0, 1.0]), 1.0).round(3))", "[-0.577  1.645]"),
    accepts=FLOAT,
    numpy=wide(_polygamma),
    hlo=_chlo("polygamma"),
    jvp=(
        _no_derivative("polygamma", "its order"),
        lambda z, m, x, t: mul(t, polygamma(add(m, 1.0), x)),
    ),
    samples=[(np.array([0.0, 1.0, 2.0, 3.0]), positive(4)), (np.array(2.0), positive(3))],
)

# --- incomplete gamma functions

# Iterations needed grow as 9 √a; more than this many are not worth waiting for.
_LIMIT = 20_000.0


def _stirling(m: Any, a: Any) -> Any:
    """lgamma(a) - ((a - 1/2) log a - a + log(2π)/2) for a >= 10 (Abramowitz, Stegun 6.1.41)."""
    w = 1.0 / (a * a)
    terms = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
    return polynomial(w, terms) / a


def _log_ratio(m: Any, difference: Any, base: Any, ratio: Any) -> Any:
    """log(1 + difference / base), of which ratio is the argument, with all digits near 0 and 1."""
    near = abs(difference) < 0.5 * base
    safe = m.where(near, difference / base, 0.0)
    return m.where(near, m.log1p(safe), m.log(ratio))


def _log_gamma_density(m: Any, a: Any, x: Any) -> Any:
    """a log x - x - lgamma(a + 1); for large a without subtracting large numbers."""
    plain = a * m.log(x) - x - m.lgamma(a + 1.0)
    large = m.maximum(a, 10.0)
    difference = x - large
    stirling = (
        large * _log_ratio(m, difference, large, x / large)
        - difference
        - 0.5 * m.log(large * (2 * math.pi))
        - _stirling(m, large)
    )
    return m.where(a >= 10.0, stirling, plain)


def _gamma_series(m: Any, a: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """Σ x^n / ((a + 1) ... (a + n)) and its derivative by a (Abramowitz, Stegun 6.5.29)."""
    eps = _epsilon(a)

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
    _, _, s, _, ds = m.loop(going, step, (zero, one, one, zero, zero))
    return s, ds


def _gamma_fraction(m: Any, a: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """Legendre's continued fraction 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))) and its
    derivative by a, by the recurrence of its numerators p and denominators q.
    """
    eps = _epsilon(a)

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
        scale = m.where(abs(q) > 1.0 / eps, m.full_like(a, eps), m.full_like(a, 1.0))
        p1, p, q1, q = (v * scale for v in (p1, p, q1, q))
        dp1, dp, dq1, dq = (v * scale for v in (dp1, dp, dq1, dq))
        ratio = p / q
        return n, p1, p, q1, q, dp1, dp, dq1, dq, ratio, (dp - ratio * dq) / q, f, df

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    first = x + 1.0 - a
    f = 1.0 / first
    start = (zero, zero, one, one, first, zero, zero, zero, zero - 1.0, f, f * f, zero, zero)
    result = m.loop(going, step, start)
    return result[9], result[10]


def _gamma_parts(m: Any, a: Any, x: Any) -> tuple[Any, ...]:
    """Where a and x are ordinary, both made so; whether the series serves there, else the fraction;
    the sums and their derivatives.
    """
    inside = (a > 0.0) & (a < math.inf) & (x > 0.0) & (x < math.inf)
    a, x = m.where(inside, a, 1.0), m.where(inside, x, 1.0)
    by_series = (x <= 1.0) | (x <= a)
    s, ds = _gamma_series(m, a, x, inside & by_series)
    # Elements that the series serves get operands at which the fraction is tame.
    fa, fx = m.where(by_series, 1.0, a), m.where(by_series, 2.0, x)
    f, df = _gamma_fraction(m, fa, fx, inside & ~by_series)
    return inside, a, x, by_series, s, ds, f, df


def _gamma_edges(m: Any, a: Any, x: Any, inside: Any, y: Any, at_zero: float) -> Any:
    """y inside; at x = 0 (or a infinite) `at_zero`, at x infinite (or a = 0) the complement."""
    y = m.where(inside, y, math.nan)
    valid = (a >= 0.0) & (x >= 0.0)
    low, high = valid & ((x == 0.0) | (a == math.inf)), valid & ((a == 0.0) | (x == math.inf))
    y = m.where(low & ~high, at_zero, y)
    return m.where(high & ~low, 1.0 - at_zero, y)


def _igamma(m: Any, a: Any, x: Any) -> Any:
    inside, safe_a, safe_x, by_series, s, _, f, _ = _gamma_parts(m, a, x)
    density = m.exp(_log_gamma_density(m, safe_a, safe_x))
    y = m.where(by_series, s * density, 1.0 - f * safe_a * density)
    return _gamma_edges(m, a, x, inside, y, 0.0)


def _igammac(m: Any, a: Any, x: Any) -> Any:
    inside, safe_a, safe_x, by_series, s, _, f, _ = _gamma_parts(m, a, x)
    density = m.exp(_log_gamma_density(m, safe_a, safe_x))
    y = m.where(by_series, m.maximum(1.0 - s * density, 0.0), f * safe_a * density)
    return _gamma_edges(m, a, x, inside, y, 1.0)


def _igamma_slope(m: Any, a: Any, x: Any) -> tuple[Any, ...]:
    """The derivative of igamma by a, divided by the density x^a e^-x / Γ(a + 1)."""
    inside, a, x, by_series, s, ds, f, df = _gamma_parts(m, a, x)
    # ψ(a + 1) = ψ(a) + 1/a; log x - ψ(a) alone would lose a small a in 1/a.
    log_x, psi = m.log(x), m.digamma(a + 1.0)
    y = m.where(
        by_series,
        s * (log_x - psi) + ds,
        -(f * (log_x - psi + 1.0 / a) + df) * a,
    )
    return inside, a, x, y


def _igamma_grad_a(m: Any, a: Any, x: Any) -> Any:
    inside, safe_a, safe_x, slope = _igamma_slope(m, a, x)
    y = slope * m.exp(_log_gamma_density(m, safe_a, safe_x))
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


def _gamma_density(a: Any, x: Any) -> Any:
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
    **_formula(_igamma),
    jvp=(
        lambda z, a, x, t: mul(t, igamma_grad_a(a, x)),
        lambda z, a, x, t: mul(t, _gamma_density(a, x)),
    ),
    samples=_GAMMA_SAMPLES,
)

igammac = binary(
    "igammac",
    doc="The regularised upper incomplete gamma function: 1 - igamma(x, y), exact where small.",
    example=("print(lax.igammac(1.0, jnp.array([0.5, 1.0, 2.0])).round(3))", "[0.607 0.368 0.135]"),
    accepts=FLOAT,
    **_formula(_igammac),
    jvp=(
        lambda z, a, x, t: neg(mul(t, igamma_grad_a(a, x))),
        lambda z, a, x, t: neg(mul(t, _gamma_density(a, x))),
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
    **_formula(_igamma_grad_a),
    jvp=(_no_derivative("igamma_grad_a", "x"), _no_derivative("igamma_grad_a", "y")),
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
    **_formula(_random_gamma_grad),
    jvp=(_no_derivative("random_gamma_grad", "x"), _no_derivative("random_gamma_grad", "y")),
    samples=_GAMMA_SAMPLES,
)

# --- the incomplete beta function


def _log_beta_density(m: Any, a: Any, b: Any, x: Any) -> Any:
    """log(x^a (1 - x)^b / B(a, b)); for large a and b without subtracting large numbers."""
    log_beta = m.lgamma(a) + m.lgamma(b) - m.lgamma(a + b)
    plain = a * m.log(x) + b * m.log1p(-x) - log_beta
    large_a, large_b = m.maximum(a, 10.0), m.maximum(b, 10.0)
    both = large_a + large_b
    off = large_b * x - large_a * (1.0 - x)
    stirling = (
        large_a * _log_ratio(m, off, large_a, x * both / large_a)
        + large_b * _log_ratio(m, -off, large_b, (1.0 - x) * both / large_b)
        + 0.5 * m.log(large_a / (2 * math.pi) * (large_b / both))
        + (_stirling(m, both) - _stirling(m, large_a) - _stirling(m, large_b))
    )
    return m.where((a >= 10.0) & (b >= 10.0), stirling, plain)


def _beta_fraction(m: Any, a: Any, b: Any, x: Any, active: Any) -> Any:
    """The continued fraction of Abramowitz and Stegun 26.5.8, by Lentz's method."""
    eps = _epsilon(a)
    tiny = float(np.finfo(a.dtype).tiny) / eps

    def kept_from_zero(v: Any) -> Any:
        return m.where(abs(v) < tiny, tiny, v)

    def going(n: Any, c: Any, d: Any, h: Any, change: Any) -> Any:
        return active & (abs(change - 1.0) > eps) & (n < _LIMIT)

    def step(n: Any, c: Any, d: Any, h: Any, change: Any) -> tuple[Any, ...]:
        n = n + 1.0
        end = a + 2.0 * n
        even = n * (b - n) * x / ((end - 1.0) * end)
        odd = -(a + n) * (a + b + n) * x / (end * (end + 1.0))
        d = 1.0 / kept_from_zero(1.0 + even * d)
        c = kept_from_zero(1.0 + even / c)
        h = h * d * c
        d = 1.0 / kept_from_zero(1.0 + odd * d)
        c = kept_from_zero(1.0 + odd / c)
        return n, c, d, h * d * c, d * c

    zero, one = m.full_like(a, 0.0), m.full_like(a, 1.0)
    d = 1.0 / kept_from_zero(1.0 - (a + b) * x / (a + 1.0))
    return m.loop(going, step, (zero, one, d, d, zero))[3]


def _betainc(m: Any, a: Any, b: Any, x: Any) -> Any:
    finite = (a > 0.0) & (a < math.inf) & (b > 0.0) & (b < math.inf)
    inside = finite & (x > 0.0) & (x < 1.0)
    p, q = m.where(inside, a, 1.0), m.where(inside, b, 1.0)
    r = m.where(inside, x, 0.5)
    density = m.exp(_log_beta_density(m, p, q, r))
    # The fraction converges fast below the mean; above it, the mirrored function is computed.
    mirrored = r > (p + 1.0) / (p + q + 2.0)
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


def _beta_slope(y: Any, a: Any, b: Any, x: Any, t: Any) -> Any:
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    body = add(_times_log(sub(a, 1.0), log(x)), _times_log(sub(b, 1.0), log1p(neg(x))))
    return mul(t, exp(sub(body, log_beta)))


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
        **_formula(_betainc),
        derivatives=(
            _no_derivative("betainc", "a"),
            _no_derivative("betainc", "b"),
            _beta_slope,
        ),
        samples=[
            ((positive(2, 3), positive(2, 3)[::-1].copy(), real(2, 3, low=0.05, high=0.95)), {}),
            ((np.array([40.0, 0.2]), np.array([25.0, 0.1]), np.array([0.6, 0.9])), {}),
            ((np.array(2.0), np.array(0.5), real(3, low=0.05, high=0.95)), {}),
        ],
    )
)

# --- modified Bessel functions, scaled by exp(-|x|)

# Chebyshev coefficients, computed with mpmath: of exp(-x) I0(x) and exp(-x) I1(x) / x in x/4 - 1 on
# [0, 8], and of exp(-x) sqrt(x) I(x) in 16/x - 1 from 8 on.
_I0_SMALL = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
)
_I0_LARGE = (
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
)
_I1_SMALL = (
    0.12629359322181682,
    -0.17641651835783406,
    0.1026436586898471,
    -0.05294598120809499,
    0.024726449030626516,
    -0.010564084894626197,
    0.004156422944312888,
    -0.0015135724506312532,
    0.0005122859561685758,
    -0.00016176081582589674,
    4.781565107550054e-05,
    -1.3273163656039436e-05,
    3.4702513081376785e-06,
    -8.568720264695455e-07,
    2.0032947535521353e-07,
    -4.445059128796328e-08,
    9.381537386495773e-09,
    -1.8872497517228294e-09,
    3.625590281552117e-10,
    -6.663489723502027e-11,
    1.1736186298890901e-11,
    -1.9839743977649436e-12,
    3.223793365945575e-13,
    -5.042185504727912e-14,
    7.600684294735408e-15,
    -1.1055969477353862e-15,
    1.5536319577362005e-16,
    -2.111421214358166e-17,
    2.7779141127610464e-18,
)
_I1_LARGE = (
    0.38928811750914005,
    -0.009761097491361469,
    -0.00011058893876262371,
    -3.882564808877691e-06,
    -2.512236237870209e-07,
    -2.6314688468895196e-08,
    -3.835380385964237e-09,
    -5.589743462196584e-10,
    -1.8974958123505413e-11,
    3.2526035830154884e-11,
    1.4125807436613782e-11,
    2.0356285441470896e-12,
    -7.198551776245908e-13,
    -4.0835511110921974e-13,
    -2.1015418427726643e-14,
    4.272440016711951e-14,
    1.0420276984128802e-14,
    -3.8144030724370075e-15,
    -1.8803547755107825e-15,
    3.3082023109209285e-16,
    2.96262899764595e-16,
    -3.209525921993424e-17,
    -4.6503053684893586e-17,
    4.414348323071708e-18,
    7.517296310842105e-18,
)


def _bessel(m: Any, x: Any, small: tuple[float, ...], large: tuple[float, ...]) -> tuple[Any, Any]:
    """The two expansions at |x|, and where the second serves."""
    size = abs(x)
    near = chebyshev(m.minimum(size, 8.0) * 0.25 - 1.0, small)
    capped = m.maximum(size, 8.0)
    far = chebyshev(16.0 / capped - 1.0, large) / m.sqrt(capped)
    return near, far


def _bessel_i0e(m: Any, x: Any) -> Any:
    near, far = _bessel(m, x, _I0_SMALL, _I0_LARGE)
    return m.where(abs(x) <= 8.0, near, far)


def _bessel_i1e(m: Any, x: Any) -> Any:
    near, far = _bessel(m, x, _I1_SMALL, _I1_LARGE)
    return m.where(abs(x) <= 8.0, near * x, m.where(x < 0.0, -far, far))


bessel_i0e = unary(
    "bessel_i0e",
    doc="exp(-|x|) I0(x), with the modified Bessel function of order 0.",
    example=("print(lax.bessel_i0e(jnp.array([0.0, 1.0])).round(3))", "[1.    0.466]"),
    accepts=FLOAT,
    **_formula(_bessel_i0e),
    jvp=lambda y, x, t: mul(t, sub(bessel_i1e(x), mul(sign(x), y))),
    samples=[real(2, 3, low=-12.0, high=12.0)],
)


def _bessel_i1e_slope(y: Any, x: Any, t: Any) -> Any:
    # I1' = I0 - I1 / x; I1 / x is 1/2 at 0.
    zero = eq(x, 0.0)
    over_x = select(zero, 0.5, div(y, select(zero, 1.0, x)))
    return mul(t, sub(sub(bessel_i0e(x), mul(sign(x), y)), over_x))


bessel_i1e = unary(
    "bessel_i1e",
    doc="exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    example=("print(lax.bessel_i1e(jnp.array([0.0, 1.0])).round(3))", "[0.    0.208]"),
    accepts=FLOAT,
    **_formula(_bessel_i1e),
    jvp=_bessel_i1e_slope,
    samples=[real(2, 3, low=-12.0, high=12.0), np.array([0.0, 0.5])],
)


__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]
