"""The gamma function and what is made of quotients of it: beta, binomial coefficients, factorials.

Their formulas divide gamma functions where these are finite, and else subtract their logarithms
term by term, so that few digits are lost to the size of the terms.
"""

from __future__ import annotations

import math
from typing import Any

from plait.core.dtypes import FLOAT
from plait.core.sample import positive, real
from plait.hlo.formula import by_formula
from plait.ops import gamma_formula
from plait.ops.arithmetic import add, mul, sub
from plait.ops.elementwise import binary, unary
from plait.ops.gamma_formula import gamma_ratio, log_beta, sin_pi
from plait.ops.special import digamma

gamma = unary(
    "gamma",
    doc="Γ(x); infinite at 0, with the sign of the zero, NaN at -1, -2, ... and at -inf.",
    accepts=FLOAT,
    **by_formula(gamma_formula.gamma),
    jvp=lambda y, x, t: mul(t, mul(y, digamma(x))),
    samples=[positive(2, 3), real(3) - 2.03],
)


def _gamma_sign(m: Any, x: Any) -> Any:
    below = m.floor(x)
    odd = m.floor(below * 0.5) != below * 0.5
    y = m.where((x < 0.0) & odd, m.full_like(x, -1.0), 1.0)
    # 1 / -0 is -infinity.
    y = m.where((x == 0.0) & (1.0 / x < 0.0), -1.0, y)
    return m.where((x != x) | ((x < 0.0) & (below == x)), math.nan, y)


gamma_sign = unary(
    "gamma_sign",
    doc="The sign of Γ(x); -1 at -0, NaN at -1, -2, ... and at -inf.",
    accepts=FLOAT,
    **by_formula(_gamma_sign),
    samples=[positive(2, 3), real(3) - 2.03],
)

factorial = unary(
    "factorial",
    doc="Γ(x + 1); 0 for x < 0.",
    accepts=FLOAT,
    **by_formula(lambda m, x: m.where(x < 0.0, 0.0, gamma_formula.gamma(m, x + 1.0))),
    jvp=lambda y, x, t: mul(t, mul(y, digamma(add(x, 1.0)))),
    samples=[positive(2, 3)],
)

log_beta_p = binary(
    "log_beta",
    doc="log |B(x, y)|, B the beta function.",
    accepts=FLOAT,
    **by_formula(log_beta),
    jvp=(
        lambda z, a, b, t: mul(t, sub(digamma(a), digamma(add(a, b)))),
        lambda z, a, b, t: mul(t, sub(digamma(b), digamma(add(a, b)))),
    ),
    samples=[(positive(2, 3), positive(2, 3)[::-1].copy()), (positive(2) + 9.0, positive(2))],
)


def _beta(m: Any, a: Any, b: Any) -> Any:
    both = a + b
    usual = (abs(a) < 170.0) & (abs(b) < 170.0) & (both < 170.0)
    a_, b_ = m.where(usual, a, 1.0), m.where(usual, b, 1.0)
    p, q = m.minimum(a_, b_), m.maximum(a_, b_)
    whole = (p + q <= 0.0) & (m.floor(p + q) == p + q)
    near = m.where(whole & (m.floor(p) != p), 0.0, gamma_formula.beta(m, p, q))
    far = m.exp(log_beta(m, a, b))
    sign = _gamma_sign(m, a) * _gamma_sign(m, b) * _gamma_sign(m, both)
    return m.where(usual, near, sign * far)


beta = binary(
    "beta",
    doc="The beta function Γ(x) Γ(y) / Γ(x + y).",
    accepts=FLOAT,
    **by_formula(_beta),
    jvp=(
        lambda z, a, b, t: mul(t, mul(z, sub(digamma(a), digamma(add(a, b))))),
        lambda z, a, b, t: mul(t, mul(z, sub(digamma(b), digamma(add(a, b))))),
    ),
    samples=[(positive(2, 3), positive(2, 3)[::-1].copy())],
)


def _binomial(m: Any, n: Any, k: Any) -> Any:
    inside = (k <= n) & (n >= 0.0) & (k >= 0.0)
    n_, k_ = m.where(inside, n, 0.0), m.where(inside, k, 0.0)
    rest = n_ - k_
    usual = n_ < 169.0
    tops = [gamma_formula.gamma(m, m.where(usual, v, 0.0) + 1.0) for v in (n_, k_, rest)]
    # exp() in two factors: it overflows before the quotient does.
    half = m.exp(log_beta(m, rest + 1.0, k_ + 1.0) * -0.5)
    y = m.where(usual, tops[0] / tops[1] / tops[2], half / (n_ + 1.0) * half)
    # Coefficients of whole numbers are whole.
    whole = (m.floor(n_) == n_) & (m.floor(k_) == k_) & (y < 2.0**51)
    y = m.where(whole, m.rint(y), y)
    return m.where((n != n) | (k != k), math.nan, m.where(inside, y, 0.0))


def _binomial_slope_n(z: Any, n: Any, k: Any, t: Any) -> Any:
    return mul(t, mul(z, sub(digamma(add(n, 1.0)), digamma(add(sub(n, k), 1.0)))))


def _binomial_slope_k(z: Any, n: Any, k: Any, t: Any) -> Any:
    return mul(t, mul(z, sub(digamma(add(sub(n, k), 1.0)), digamma(add(k, 1.0)))))


binomial = binary(
    "binomial",
    doc="The binomial coefficient Γ(x + 1) / (Γ(y + 1) Γ(x - y + 1)) for 0 <= y <= x, else 0.",
    accepts=FLOAT,
    **by_formula(_binomial),
    jvp=(_binomial_slope_n, _binomial_slope_k),
    samples=[(positive(2, 3) + 3.0, positive(2, 3))],
)


def _poch(m: Any, z: Any, d: Any) -> Any:
    end = z + d
    ahead, behind = (z > 0.0) & (end > 0.0), (z <= 0.0) & (end <= 0.0)
    # Γ(z + d) / Γ(z) = sin(πz) / sin(π(z + d)) Γ(1 - z) / Γ(1 - z - d): both arguments positive.
    start = m.where(ahead, z, m.where(behind, 1.0 - end, 1.0))
    ratio = gamma_ratio(m, start, m.where(ahead | behind, d, 0.0))
    whole = m.floor(d) == d
    odd = m.floor(d * 0.5) != d * 0.5
    angles = [sin_pi(m, v - m.rint(v)) for v in (z, end)]
    flips = [m.rint(m.rint(v) * 0.5) != m.rint(v) * 0.5 for v in (z, end)]
    sines = [m.where(flip, -angle, angle) for flip, angle in zip(flips, angles, strict=True)]
    turn = m.where(whole, m.where(odd, m.full_like(end, -1.0), 1.0), sines[0] / sines[1])
    pole = (z <= 0.0) & (m.floor(z) == z)
    across = gamma_formula.gamma(m, end) / gamma_formula.gamma(m, z)
    across = m.where(pole, 0.0, across)
    y = m.where(ahead, ratio, m.where(behind, turn * ratio, across))
    y = m.where((d == 0.0) & (z == z), 1.0, y)
    return m.where((z == z) & (d == d), y, math.nan)


poch = binary(
    "poch",
    doc="Pochhammer's symbol Γ(x + y) / Γ(x).",
    accepts=FLOAT,
    **by_formula(_poch),
    jvp=(
        lambda y, z, d, t: mul(t, mul(y, sub(digamma(add(z, d)), digamma(z)))),
        lambda y, z, d, t: mul(t, mul(y, digamma(add(z, d)))),
    ),
    samples=[(positive(2, 3), positive(2, 3)[::-1].copy())],
)


__all__ = ["beta", "binomial", "factorial", "gamma", "gamma_sign", "log_beta_p", "poch"]
