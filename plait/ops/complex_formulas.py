"""Functions of complex numbers as formulas of their parts, which keep what XLA's lose.

XLA's own cancel (the real part of sinh(1e-6 + 0.5i) is 1.5 % off), overflow before their time, and
multiply zeros by infinities. Here each part is a product or quotient of real functions and of sums
without cancellation. Errors are below 8 units in the last place of each part, but for a part that
is about to change its sign (expm1, logistic, and log of complex128 within 1e-15 of the unit
circle). The values at infinities and NaN are those of ISO C, annex G.6, which NumPy and the array
API standard have too; signs that C leaves open are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from plait.core import dtypes
from plait.core.primitive import registry
from plait.hlo.builder import Builder, Value
from plait.hlo.formula import HloMath, Term, product, two_sum, upper, with_sign
from plait.ops.complex_edges import INF, NAN, Parts, but, infinite, is_nan, joined, parts, unbounded


def by_parts(b: Builder, z: Value, formula: Callable[[HloMath, Parts], Parts]) -> Value:
    """A function of complex numbers, computed by a formula of their parts."""
    m = HloMath(b)
    return joined(b, formula(m, parts(m, z)), z.type)


def _real(name: str, *xs: Term) -> Term:
    """A function of real numbers, as the op of that name computes it on the platform."""
    op: Any = registry[name]
    b = xs[0].b
    if name in ("sin", "cos") and xs[0].dtype == dtypes.float64:
        # XLA's own, as exact: on CPU plait's formula compiles for longer, and gains nothing here.
        return Term(b, b.unary(op.hlo, xs[0].value))
    return Term(b, op.value(b, *(x.value for x in xs)))


def _held_back(m: HloMath, x: Term) -> tuple[Term, Term]:
    """(t, f): exp(x) = f exp(t), where exp(x) overflows but its product with a sine may not."""
    limit, step = (88.0, 80.0) if x.dtype == dtypes.float32 else (709.0, 700.0)
    large = x > limit
    return m.where(large, x - step, x), m.where(large, m.full_like(x, math.exp(step)), 1.0)


def _zero(m: HloMath, x: Term) -> Term:
    """0 with the sign of x."""
    return with_sign(m.full_like(x, 0.0), x)


def _exact_zero(m: HloMath, x: Parts, y: Parts) -> Parts:
    """y, whose imaginary part is that of x where that is 0, whatever the real part."""
    return Parts(y.re, m.where(x.im == 0.0, x.im, y.im))


# --- exponentials

# log 2 as a sum.
_LOG2_32 = 0.693147182464599609375, math.log(2.0) - 0.693147182464599609375
_LOG2_64 = math.log(2.0), 2.3190468138462996e-17


def exp(m: HloMath, x: Parts) -> Parts:
    t, f = _held_back(m, x.re)
    return _exp_edges(m, x, _turned_by(x.im, _real("exp", t), f), 0.0)


def exp2(m: HloMath, x: Parts) -> Parts:
    # The angle b log 2 as a sum: rounded, it would be off by as many units as it has turns.
    single = x.im.dtype == dtypes.float32
    log2, beyond = _LOG2_32 if single else _LOG2_64
    high, rest = product(x.im, m.full_like(x.im, log2))
    rest = rest + x.im * beyond
    angle = high + rest
    rest = (high - angle) + rest
    rest = m.where(abs(rest) < 0.01, rest, 0.0)  # of a huge angle nothing is left to be known
    sine, cosine = _real("sin", angle), _real("cos", angle)
    limit, step = (127.0, 120.0) if single else (1023.0, 1000.0)
    large = x.re > limit
    r = _real("exp2", m.where(large, x.re - step, x.re))
    f = m.where(large, m.full_like(r, 2.0**step), 1.0)
    y = Parts((r * (cosine - rest * sine)) * f, (r * (sine + rest * cosine)) * f)
    return _exp_edges(m, x, y, 0.0)


def expm1(m: HloMath, x: Parts) -> Parts:
    t, f = _held_back(m, x.re)
    y = _turned_by(x.im, _real("exp", t), f)
    half = _real("sin", x.im * 0.5)
    small = _real("expm1", x.re) * _real("cos", x.im) - half * half * 2.0
    return _exp_edges(m, x, Parts(m.where(x.re < 40.0, small, y.re), y.im), -1.0)


def _turned_by(angle: Term, r: Term, f: Term) -> Parts:
    return Parts((r * _real("cos", angle)) * f, (r * _real("sin", angle)) * f)


def _exp_edges(m: HloMath, x: Parts, y: Parts, limit: float) -> Parts:
    lost = unbounded(x.im)
    y = but(m, y, (x.re == INF) & lost, INF, NAN)
    y = but(m, y, (x.re == -INF) & lost, limit, _zero(m, x.im))
    return _exact_zero(m, x, y)


def logistic(m: HloMath, x: Parts) -> Parts:
    # With e = exp(-|a|), a the real part: |1 + exp(-x)|² and |1 + exp(x)|² are, up to a factor,
    # (1 - e)² + 4 e cos(b/2)².
    e, gap = _real("exp", -abs(x.re)), -_real("expm1", -abs(x.re))
    cosine, half = _real("cos", x.im), _real("cos", x.im * 0.5)
    c = half * half * 2.0
    size = gap * gap + c * e * 2.0
    # 1 + e cos b where a is not negative, else e times e + cos b.
    below = m.where(cosine > -0.5, e + cosine, c - gap) * e
    re = m.where(x.re < 0.0, below, gap + c * e) / size
    return _exact_zero(m, x, Parts(re, e * _real("sin", x.im) / size))


# --- hyperbolic and circular functions


def _hyperbolic(m: HloMath, x: Term) -> tuple[Term, Term, Term]:
    """(s, c, f): sinh x = s f, cosh x = c f."""
    t, f = _held_back(m, abs(x))
    e = _real("expm1", t)
    u = e + 1.0
    # Where the exponential was held back, nothing is left of the other one.
    alone = f > 1.0
    s = m.where(alone, u, e + m.where(u < INF, e / u, 1.0)) * 0.5
    return with_sign(abs(s), x), m.where(alone, u, u + 1.0 / u) * 0.5, f


def sinh(m: HloMath, x: Parts) -> Parts:
    s, c, f = _hyperbolic(m, x.re)
    y = Parts((s * _real("cos", x.im)) * f, (c * _real("sin", x.im)) * f)
    y = but(m, y, ((x.re == 0.0) | infinite(x.re)) & unbounded(x.im), x.re, NAN)
    return _exact_zero(m, x, y)


def cosh(m: HloMath, x: Parts) -> Parts:
    s, c, f = _hyperbolic(m, x.re)
    y = Parts((c * _real("cos", x.im)) * f, (s * _real("sin", x.im)) * f)
    lost = unbounded(x.im)
    y = but(m, y, (x.re == 0.0) & lost, NAN, 0.0)
    y = but(m, y, infinite(x.re) & lost, INF, NAN)
    flat = x.im * with_sign(m.full_like(x.re, 1.0), x.re)
    return Parts(y.re, m.where((x.im == 0.0) & is_nan(y.im), flat, y.im))


def tanh(m: HloMath, x: Parts) -> Parts:
    # (s c + i sin b cos b) / (s² + cos² b), with s and c the functions of a, each term divided by
    # c². With e = exp(|a|) - 1: tanh |a| = e (e + 2) / (e (e + 2) + 2).
    e = _real("expm1", abs(x.re))
    d = e * (e + 2.0)
    finite = d < INF
    slope = with_sign(abs(m.where(finite, d / (d + 2.0), 1.0)), x.re)
    r = m.where(finite, (e + 1.0) * 2.0 / (d + 2.0), 0.0)
    p, q = _real("cos", x.im) * r, _real("sin", x.im) * r
    size = slope * slope + p * p
    y = Parts(slope / size, p * q / size)
    y = but(m, y, infinite(x.re) & unbounded(x.im), slope, _zero(m, x.im))
    y = but(m, y, (x.re == 0.0) & unbounded(x.im), x.re, NAN)
    return _exact_zero(m, x, but(m, y, is_nan(x.re), NAN, NAN))


def _quarter_turn(
    g: Callable[[HloMath, Parts], Parts],
) -> Callable[[HloMath, Parts], Parts]:
    """f(x) = -i g(ix)."""

    def f(m: HloMath, x: Parts) -> Parts:
        re, im = g(m, Parts(-x.im, x.re))
        return Parts(im, -re)

    return f


sin, tan = _quarter_turn(sinh), _quarter_turn(tanh)


def cos(m: HloMath, x: Parts) -> Parts:
    return cosh(m, Parts(-x.im, x.re))


# --- logarithms and roots


def _log(m: HloMath, x: Parts, above: Term) -> Parts:
    """log x, with |x|² - 1 given as well."""
    a, b = abs(x.re), abs(x.im)
    high, low = m.maximum(a, b), m.minimum(a, b)
    near = (high >= 0.5) & (high <= 4.0)
    q = m.where((high > 0.0) & (high < INF), low / high, 0.0)
    # One logarithm serves both: of the larger part, or none.
    re = _real("log1p", m.where(near, above, q * q)) * 0.5
    re = m.where(near, re, _real("log", high) + re)
    y = Parts(re, _real("atan2", x.im, x.re))
    one = (infinite(x.re) & is_nan(x.im)) | (is_nan(x.re) & infinite(x.im))
    return but(m, y, one, INF, NAN)


def _exact_square(x: Term) -> tuple[Term, Term, Term]:
    """x² as a sum of three numbers, each exact, or as good as that."""
    high = upper(x)
    low = x - high
    return high * high, high * low * 2.0, low * low


def _sum(*terms: Term) -> Term:
    """The sum of numbers that may cancel."""
    total, small = two_sum(terms[0], terms[1])
    for term in terms[2:]:
        total, lost = two_sum(total, term)
        small = small + lost
    return total + small


def log(m: HloMath, x: Parts) -> Parts:
    a, b = abs(x.re), abs(x.im)
    (p, q, r), (s, t, u) = _exact_square(m.maximum(a, b)), _exact_square(m.minimum(a, b))
    return _log(m, x, _sum(p - 1.0, s, q, t, r, u))


def log1p(m: HloMath, x: Parts) -> Parts:
    # |1 + x|² - 1 = 2 a + a² + b², which cancel where |1 + x| is about 1.
    (p, q, r), (s, t, u) = _exact_square(x.re), _exact_square(x.im)
    return _log(m, Parts(x.re + 1.0, x.im), _sum(x.re + x.re, p, s, q, t, r, u))


def _over(base: float) -> Callable[[HloMath, Parts], Parts]:
    """The logarithm to another base."""
    factor = 1.0 / math.log(base)

    def logarithm(m: HloMath, x: Parts) -> Parts:
        re, im = log(m, x)
        return Parts(re * factor, im * factor)

    return logarithm


log2, log10 = _over(2.0), _over(10.0)


def _square(x: Term) -> Term:
    wide = x.astype(dtypes.float64)
    return wide * wide


def absolute(m: HloMath, x: Parts) -> Term:
    """The distance from 0."""
    if m.b.platform == "cpu" and x.re.dtype == dtypes.float32:
        # In float64 no square is too large or too small.
        y = m.sqrt(_square(x.re) + _square(x.im)).astype(dtypes.float32)
    else:
        a, b = abs(x.re), abs(x.im)
        high, low = m.maximum(a, b), m.minimum(a, b)
        q = m.where((high > 0.0) & (high < INF), low / high, 0.0)
        y = high * m.sqrt(q * q + 1.0)
    return m.where(infinite(x.re) | infinite(x.im), INF, y)


def rsqrt(m: HloMath, x: Parts) -> Parts:
    # With w = √x: 1 / w = conj(w) / |x|.
    size = absolute(m, x)
    larger = m.sqrt(size * 0.5 + abs(x.re) * 0.5)
    smaller = abs(x.im) * 0.5 / larger
    right = x.re >= 0.0
    re, im = m.where(right, larger, smaller) / size, m.where(right, smaller, larger) / size
    y = but(m, Parts(re, im), size == INF, 0.0, m.full_like(im, 0.0))
    y = but(m, Parts(y.re, with_sign(abs(y.im), -x.im)), size == 0.0, INF, NAN)
    return y


def sign(m: HloMath, x: Parts, y: Parts) -> Parts:
    """The direction x / |x|, of which y is right for finite x."""
    one, zero = m.full_like(x.re, 1.0), m.full_like(x.re, 0.0)
    y = but(m, y, infinite(x.re), with_sign(one, x.re), zero)
    y = but(m, y, infinite(x.im), zero, with_sign(one, x.im))
    return but(m, y, infinite(x.re) & infinite(x.im), NAN, NAN)
