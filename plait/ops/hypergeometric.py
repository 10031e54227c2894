"""Hypergeometric functions of real arguments: 1F1 and 2F1.

Their power series are summed where they converge fast and without loss; transformations lead there.
Terms that alternate and cancel cost digits: parameters of different signs and large arguments do
that, as in all libraries that compute in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.primitive import register
from plait.core.sample import positive, real
from plait.hlo.formula import by_formula
from plait.ops.arithmetic import add, div, mul
from plait.ops.elementwise import Elementwise
from plait.ops.gamma_formula import digamma, gamma, log_gamma
from plait.ops.special import no_derivative

_EPS = 2.0**-54
_LIMIT = 20_000.0


def _is_pole(m: Any, x: Any) -> Any:
    """Whether x is 0, -1, -2, ..."""
    return (x <= 0.0) & (m.floor(x) == x)


def _sum(m: Any, ratio: Callable[[Any], Any], active: Any, like: Any) -> Any:
    """1 + r(0) + r(0) r(1) + ... of ratio(k) = r(k), until two terms in a row do not count."""

    def going(k: Any, term: Any, before: Any, s: Any) -> Any:
        return active & (abs(term) + abs(before) > _EPS * abs(s)) & (k < _LIMIT)

    def step(k: Any, term: Any, before: Any, s: Any) -> tuple[Any, ...]:
        new = term * ratio(k)
        return k + 1.0, new, term, s + new

    one = m.full_like(like, 1.0)
    return m.loop(going, step, (m.full_like(like, 0.0), one, one, one))[3]


# --- 1F1


def _asymptotic(m: Any, a: Any, b: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """Σ (b - a)_k (1 - a)_k / (k! x^k), and whether it reached the last bit before it diverged."""

    def going(k: Any, term: Any, before: Any, s: Any) -> Any:
        shrinking = (abs(term) <= abs(before)) | (k < 2.0)
        return active & shrinking & (abs(term) > _EPS * abs(s)) & (k < 500.0)

    def step(k: Any, term: Any, before: Any, s: Any) -> tuple[Any, ...]:
        new = term * ((b - a + k) * (1.0 - a + k) / ((k + 1.0) * x))
        return k + 1.0, new, term, s + new

    one = m.full_like(x, 1.0)
    _, term, _, s = m.loop(going, step, (m.full_like(x, 0.0), one, one, one))
    return s, active & (abs(term) <= _EPS * abs(s))


def _gamma_quotient(m: Any, b: Any, a: Any) -> tuple[Any, Any]:
    """(s, l): Γ(b) / Γ(a) = s exp(l), l 0 unless a gamma function is out of range."""
    usual = (abs(a) < 170.0) & (abs(b) < 170.0)
    near = gamma(m, m.where(usual, b, 1.0)) / gamma(m, m.where(usual, a, 1.0))
    # Out of range only positive ones occur.
    return m.where(usual, near, 1.0), m.where(usual, 0.0, log_gamma(m, b) - log_gamma(m, a))


def _kummer(m: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    """(valid, p, q, z): 1F1(a, b, x) is 1F1(p, q, z), and for negative x exp(-z) times that; z is
    positive. Where operands are out of the ordinary they are made ordinary.
    """
    valid = (abs(x) < math.inf) & (abs(a) < math.inf) & (abs(b) < math.inf) & ~_is_pole(m, b)
    p = m.where(x < 0.0, b - a, a)
    return valid, m.where(valid, p, 1.0), m.where(valid, b, 1.0), m.where(valid, abs(x), 1.0)


def _hyp1f1(m: Any, a: Any, b: Any, x: Any) -> Any:
    valid, p, q, z = _kummer(m, a, b, x)
    below = x < 0.0
    large = valid & (z > 30.0) & ~_is_pole(m, p)
    series, reached = _asymptotic(m, p, q, z, large)
    factor, logarithm = _gamma_quotient(m, q, m.where(large, p, 1.0))
    growth = (p - q) * m.log(z) + logarithm
    far = series * factor * m.exp(m.where(below, growth, growth + z))
    direct = valid & ~reached
    near = _sum(m, lambda k: (p + k) * z / ((q + k) * (k + 1.0)), direct, p * q * z)
    near = m.where(below, near * m.exp(-z), near)
    y = m.where(valid, m.where(reached, far, near), math.nan)
    defined = (a == a) & (b == b) & (x == x)
    y = m.where(defined & _is_pole(m, b), math.inf, y)
    positive_ = (a > 0.0) & (b > 0.0)
    y = m.where(positive_ & (abs(x) == math.inf), m.where(below, 0.0, x), y)
    y = m.where(defined & (a == b), m.exp(x), y)
    return m.where(defined & (a == 0.0), 1.0, y)


def _hyp1f1_slopes(m: Any, p: Any, q: Any, z: Any, active: Any) -> tuple[Any, Any, Any]:
    """1F1(p, q, z), and its derivatives by p and q, by the derivatives of the series' terms."""

    def going(k: Any, t: Any, dp: Any, dq: Any, s: Any, sp: Any, sq: Any) -> Any:
        more = (abs(t) > _EPS * abs(s)) | (abs(dp) > _EPS * abs(sp)) | (abs(dq) > _EPS * abs(sq))
        return active & (more | (k < 2.0)) & (k < _LIMIT)

    def step(k: Any, t: Any, dp: Any, dq: Any, s: Any, sp: Any, sq: Any) -> tuple[Any, ...]:
        over, rest = p + k, z / ((q + k) * (k + 1.0))
        dp, dq = (dp * over + t) * rest, (dq - t / (q + k)) * over * rest
        t = t * over * rest
        return k + 1.0, t, dp, dq, s + t, sp + dp, sq + dq

    zero, one = m.full_like(z, 0.0), m.full_like(z, 1.0)
    return m.loop(going, step, (zero, one, zero, zero, one, zero, zero))[4:]


def _hyp1f1_grad(m: Any, a: Any, b: Any, x: Any, second: bool) -> Any:
    valid, p, q, z = _kummer(m, a, b, x)
    _, by_p, by_q = _hyp1f1_slopes(m, p, q, z, valid)
    # Below 0, p is b - a.
    below = x < 0.0
    y = m.where(below, by_p + by_q, by_q) if second else m.where(below, -by_p, by_p)
    return m.where(valid, m.where(below, y * m.exp(-z), y), math.nan)


def _ternary(name: str, doc: str, formula: Any, derivatives: Any, samples: Any) -> Elementwise:
    return register(
        Elementwise(
            name,
            doc=doc,
            operands=("a", "b", "x"),
            accepts=FLOAT,
            **by_formula(formula),
            derivatives=derivatives,
            samples=[(sample, {}) for sample in samples],
        )
    )


_SAMPLES_1F1 = [
    (positive(2, 3), positive(2, 3)[::-1].copy(), real(2, 3)),
    (np.array([0.5, 2.5]), np.array([1.5, 1.0]), np.array([40.0, -50.0])),
]

hyp1f1_grad_a, hyp1f1_grad_b = (
    _ternary(
        f"hyp1f1_grad_{which}",
        f"The derivative of hyp1f1(a, b, x) with respect to {which}.",
        lambda m, a, b, x, second=which == "b": _hyp1f1_grad(m, a, b, x, second),
        [no_derivative(f"hyp1f1_grad_{which}", operand) for operand in "abx"],
        _SAMPLES_1F1[:1],
    )
    for which in "ab"
)

hyp1f1 = _ternary(
    "hyp1f1",
    """Kummer's function 1F1(a; b; x): 1 where a is 0, exp(x) where a is b, infinite where b is 0,
    -1, -2, ...""",
    _hyp1f1,
    [
        lambda y, a, b, x, t: mul(t, hyp1f1_grad_a(a, b, x)),
        lambda y, a, b, x, t: mul(t, hyp1f1_grad_b(a, b, x)),
        lambda y, a, b, x, t: mul(t, mul(div(a, b), hyp1f1(add(a, 1.0), add(b, 1.0), x))),
    ],
    _SAMPLES_1F1,
)

# --- 2F1


def _ratio(a: Any, b: Any, c: Any, x: Any) -> Callable[[Any], Any]:
    return lambda k: (a + k) * (b + k) * x / ((c + k) * (k + 1.0))


_NEAR_ONE = 0.75  # above it, series in 1 - x are summed


def _logarithmic(m: Any, a: Any, b: Any, d: Any, y: Any, active: Any) -> Any:
    """2F1(a, b; a + b + d; 1 - y) for whole d >= 0 (Abramowitz and Stegun 15.3.10 and 15.3.11)."""

    def finite(n: Any, term: Any, s: Any) -> tuple[Any, ...]:
        s = s + term
        return n + 1.0, term * ((a + n) * (b + n) * y / ((n + 1.0) * (n + 1.0 - d))), s

    zero, one = m.full_like(y, 0.0), m.full_like(y, 1.0)
    _, _, head = m.loop(lambda n, *_: active & (n < d), finite, (zero, one, zero))
    c = a + b + d
    head = head * _signed(m, [d, c], [a + d, b + d])

    def step(n: Any, term: Any, psi: Any, last: Any, s: Any) -> tuple[Any, ...]:
        last = term * psi
        s = s + last
        psi = (
            psi + (1.0 / (a + d + n) + 1.0 / (b + d + n)) - (1.0 / (n + 1.0) + 1.0 / (n + d + 1.0))
        )
        term = term * ((a + d + n) * (b + d + n) * y / ((n + 1.0) * (n + d + 1.0)))
        return n + 1.0, term, psi, last, s

    def going(n: Any, term: Any, psi: Any, last: Any, s: Any) -> Any:
        return active & ((abs(last) > _EPS * abs(s)) | (n < 3.0)) & (n < 1000.0)

    psi = (
        m.log(y) + (digamma(m, a + d) + digamma(m, b + d)) - (digamma(m, one) + digamma(m, d + 1.0))
    )
    tail = m.loop(going, step, (zero, one, psi, zero, zero))[4]
    odd = m.floor(d * 0.5) * 2.0 != d
    # 1 / d! stands in the first term.
    tail = tail * m.power(y, d) * _signed(m, [c], [a, b, d + 1.0])
    return m.where(d > 0.0, head, 0.0) + m.where(odd, tail, -tail)


def _signed(m: Any, above: list[Any], below: list[Any]) -> Any:
    """Γ of those above, multiplied, over Γ of those below; 0 where one below is a pole."""
    y = m.full_like(above[0], 1.0)
    for one, other in zip(above, below, strict=False):
        y = y * (gamma(m, one) / _finite(m, other))
    for other in below[len(above) :]:
        y = y / _finite(m, other)
    for other in below:
        y = m.where(_is_pole(m, other), 0.0, y)
    return y


def _finite(m: Any, x: Any) -> Any:
    return gamma(m, m.where(_is_pole(m, x), 1.0, x))


def _below_one(m: Any, a: Any, b: Any, c: Any, x: Any, active: Any) -> Any:
    """2F1(a, b; c; x) for x in [0, 1)."""
    # Euler: with c - a and c - b for a and b, c - a - b changes its sign.
    d = c - a - b
    turned = (x > _NEAR_ONE) & (d < 0.0)
    y = 1.0 - x
    p, q = m.where(turned, c - a, a), m.where(turned, c - b, b)
    d = abs(d)
    d = m.where(abs(d - m.rint(d)) < 1e-13 * (d + 1.0), m.rint(d), d)
    whole = m.rint(d) == d
    finite = _is_pole(m, p) | _is_pole(m, q)
    # Beside whole numbers the connection formula subtracts what is nearly equal.
    beside = ~whole & (abs(d - m.rint(d)) < 1e-4)
    near_one = active & (x > _NEAR_ONE) & ~finite & ~beside
    direct = active & ~near_one
    series = _sum(m, _ratio(p, q, c, m.where(direct, x, 0.0)), direct, p * q * c * x)
    log_case = near_one & whole
    logarithmic = _logarithmic(
        m, p, q, m.where(log_case, d, 0.0), m.where(near_one, y, 0.5), log_case
    )
    connected = near_one & ~whole
    e = m.where(connected, d, 0.5)
    z = m.where(connected, y, 0.0)
    one = _sum(m, _ratio(p, q, 1.0 - e, z), connected, p * q * c * x)
    two = _sum(m, _ratio(c - p, c - q, 1.0 + e, z), connected, p * q * c * x)
    connection = one * _signed(m, [c, e], [c - p, c - q]) + two * m.power(z, e) * _signed(
        m, [c, -e], [p, q]
    )
    s = m.where(log_case, logarithmic, m.where(connected, connection, series))
    return m.where(turned, s * m.power(m.where(active, y, 1.0), -d), s)


def _pfaff(m: Any, a: Any, b: Any, c: Any, x: Any) -> tuple[Any, Any, Any]:
    """(below, q, y): for x < 0, 2F1(a, b; c; x) is (1 - x)^-a 2F1(a, q; c; y); y is in [0, 1)."""
    below = x < 0.0
    return below, m.where(below, c - b, b), m.where(below, x / (x - 1.0), x)


def _hyp2f1(m: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    finite = abs(a) + abs(b) + abs(c) < math.inf
    terminates = finite & (_is_pole(m, a) | _is_pole(m, b)) & ~_is_pole(m, c)
    inside = finite & ~_is_pole(m, c) & (x < 1.0) & (x > -math.inf) & ~terminates
    one = m.full_like(a + b + c + x, 1.0)
    a_, b_ = m.where(inside, a, one), m.where(inside, b, one)
    c_, x_ = m.where(inside, c, 2.0 * one), m.where(inside, x, 0.25 * one)
    below, q, z = _pfaff(m, a_, b_, c_, x_)
    y = _below_one(m, a_, q, c_, z, inside)
    y = m.where(below, y * m.power(1.0 - x_, -a_), y)
    y = m.where((b == c) & inside, m.power(1.0 - x_, -a_), y)
    y = m.where((a == c) & inside, m.power(1.0 - x_, -b_), y)
    # A polynomial, for any x; or by Euler (1 - x)^(c - a - b) times one.
    d = c - a - b
    euler = inside & (x < -1.0) & (_is_pole(m, c - a) | _is_pole(m, c - b))
    ends = terminates | euler
    p, q = m.where(euler, c - a, a), m.where(euler, c - b, b)
    short = _ratio(p, q, m.where(ends, c, one), m.where(ends, x, 0.0 * one))
    polynomial = _sum(m, short, ends, one)
    polynomial = m.where(euler, polynomial * m.power(1.0 - x_, d), polynomial)
    y = m.where(ends, polynomial, y)
    at_one = _signed(m, [c, d], [c - a, c - b])
    y = m.where((x == 1.0) & ~terminates, m.where(d > 0.0, at_one, math.inf), y)
    y = m.where((x > 1.0) & ~terminates, math.inf, y)
    y = m.where(_is_pole(m, c) & (x != 0.0), math.inf, y)
    y = m.where((x == 0.0) | (((a == 0.0) | (b == 0.0)) & (c != 0.0)), 1.0, y)
    defined = (a == a) & (b == b) & (c == c) & (x == x)
    return m.where(defined, y, math.nan)


def _hyp2f1_slopes(m: Any, a: Any, b: Any, c: Any, x: Any, active: Any) -> tuple[Any, ...]:
    """2F1(a, b; c; x), x in [0, 1), and its derivatives by a, b, c, from those of the terms."""

    def going(k: Any, t: Any, da: Any, db: Any, dc: Any, *sums: Any) -> Any:
        more = k < 2.0
        for term, total in zip((t, da, db, dc), sums, strict=True):
            more = more | (abs(term) > _EPS * abs(total))
        return active & more & (k < _LIMIT)

    def step(k: Any, t: Any, da: Any, db: Any, dc: Any, *sums: Any) -> tuple[Any, ...]:
        p, q, r = a + k, b + k, c + k
        rest = x / (r * (k + 1.0))
        da, db = (da * p + t) * q * rest, (db * q + t) * p * rest
        dc = (dc - t / r) * p * q * rest
        terms = (t * p * q * rest, da, db, dc)
        return k + 1.0, *terms, *(s + term for s, term in zip(sums, terms, strict=True))

    zero, one = m.full_like(x, 0.0), m.full_like(x, 1.0)
    return m.loop(going, step, (zero, one, zero, zero, zero, one, zero, zero, zero))[5:]


def _hyp2f1_grad(m: Any, a: Any, b: Any, c: Any, x: Any, which: str) -> Any:
    finite = abs(a) + abs(b) + abs(c) < math.inf
    inside = finite & ~_is_pole(m, c) & (x < 1.0) & (x > -math.inf)
    one = m.full_like(a + b + c + x, 1.0)
    a, b = m.where(inside, a, one), m.where(inside, b, one)
    c, x = m.where(inside, c, one), m.where(inside, x, 0.5 * one)
    below, q, z = _pfaff(m, a, b, c, x)
    f, by_a, by_q, by_c = _hyp2f1_slopes(m, a, q, c, z, inside)
    # Below 0, q is c - b, and there is the factor (1 - x)^-a.
    factor = m.where(below, m.power(1.0 - x, -a), 1.0)
    if which == "a":
        y = by_a - m.where(below, f * m.log1p(-x), 0.0)
    elif which == "b":
        y = m.where(below, -by_q, by_q)
    else:
        y = m.where(below, by_q + by_c, by_c)
    return m.where(inside, y * factor, math.nan)


def _quaternary(name: str, doc: str, formula: Any, derivatives: Any, samples: Any) -> Elementwise:
    return register(
        Elementwise(
            name,
            doc=doc,
            operands=("a", "b", "c", "x"),
            accepts=FLOAT,
            **by_formula(formula),
            derivatives=derivatives,
            samples=[(sample, {}) for sample in samples],
        )
    )


_SAMPLES_2F1 = [
    (positive(4), positive(4)[::-1].copy(), positive(4) + 0.25, np.array([0.3, -0.6, 0.6, -4.0])),
]

hyp2f1_grad_a, hyp2f1_grad_b, hyp2f1_grad_c = (
    _quaternary(
        f"hyp2f1_grad_{which}",
        f"The derivative of hyp2f1(a, b, c, x) with respect to {which}, for x < 1.",
        lambda m, a, b, c, x, which=which: _hyp2f1_grad(m, a, b, c, x, which),
        [no_derivative(f"hyp2f1_grad_{which}", operand) for operand in "abcx"],
        _SAMPLES_2F1,
    )
    for which in "abc"
)


def _hyp2f1_slope(y: Any, a: Any, b: Any, c: Any, x: Any, t: Any) -> Any:
    next_ = hyp2f1(add(a, 1.0), add(b, 1.0), add(c, 1.0), x)
    return mul(t, mul(div(mul(a, b), c), next_))


hyp2f1 = _quaternary(
    "hyp2f1",
    """Gauss's hypergeometric function 2F1(a, b; c; x); infinite for x > 1, unless a or b is 0, -1,
    ..., and where c is 0, -1, ...""",
    _hyp2f1,
    [
        lambda y, a, b, c, x, t: mul(t, hyp2f1_grad_a(a, b, c, x)),
        lambda y, a, b, c, x, t: mul(t, hyp2f1_grad_b(a, b, c, x)),
        lambda y, a, b, c, x, t: mul(t, hyp2f1_grad_c(a, b, c, x)),
        _hyp2f1_slope,
    ],
    _SAMPLES_2F1,
)


__all__ = ["hyp1f1", "hyp2f1"]
