"""Products and powers with logarithms, whole at their edges: xlogy, entr, kl_div, logit, boxcox."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.primitive import zeros_like
from plait.core.sample import positive, real
from plait.hlo.formula import by_formula
from plait.ops import functions
from plait.ops.arithmetic import add, div, mul, neg, sub
from plait.ops.compare import bitwise_and, eq, gt, lt, select
from plait.ops.elementwise import binary, unary
from plait.ops.functions import log, log1p, pow_p
from plait.ops.gamma_formula import log1p_less_x

_PAIRS = [(real(2, 3), positive(2, 3)), (np.array([0.0, 0.5]), np.array([1.5, 0.5]))]
_POSITIVE_PAIRS = [(positive(2, 3), positive(2, 3)[::-1].copy())]


def _times(m: Any, x: Any, y: Any, logarithm: Any) -> Any:
    return m.where((x == 0.0) & (y == y), 0.0, x * logarithm)


def _quotient(x: Any, y: Any) -> Any:
    # 0 / 0 is 0: where x is 0 the product is 0 for every y, and so is its derivative. Elsewhere it
    # stays a quotient, whose own derivative by x is right at 0 too.
    return div(x, select(bitwise_and(eq(x, 0.0), eq(y, 0.0)), 1.0, y))


xlogy = binary(
    "xlogy",
    doc="x log(y); 0 where x is 0, unless y is NaN.",
    accepts=FLOAT,
    **by_formula(lambda m, x, y: _times(m, x, y, m.log(y))),
    jvp=(
        lambda z, x, y, t: mul(t, log(y)),
        lambda z, x, y, t: mul(t, _quotient(x, y)),
    ),
    samples=_PAIRS,
)

xlog1py = binary(
    "xlog1py",
    doc="x log(1 + y); 0 where x is 0, unless y is NaN.",
    accepts=FLOAT,
    **by_formula(lambda m, x, y: _times(m, x, y, m.log1p(y))),
    jvp=(
        lambda z, x, y, t: mul(t, log1p(y)),
        lambda z, x, y, t: mul(t, _quotient(x, add(y, 1.0))),
    ),
    samples=_PAIRS,
)


def _entr(m: Any, x: Any) -> Any:
    y = m.where(
        x > 0.0, -x * m.log(m.where(x > 0.0, x, 1.0)), m.where(x == 0.0, x * 0.0, -math.inf)
    )
    return m.where(x == x, y, x)


def _entr_slope(y: Any, x: Any, t: Any) -> Any:
    negative = lt(x, 0.0)
    slope = neg(add(log(select(negative, 1.0, x)), 1.0))
    return mul(t, select(negative, zeros_like(x), slope))


entr = unary(
    "entr",
    doc="-x log(x); 0 at 0, -inf below.",
    accepts=FLOAT,
    **by_formula(_entr),
    jvp=_entr_slope,
    samples=[positive(2, 3)],
)


def _log_quotient(m: Any, p: Any, q: Any) -> Any:
    """log(p / q) for positive p and q, with all digits where they are alike."""
    ratio = p / q
    alike = (ratio > 0.5) & (ratio < 2.0)
    plain = m.where((ratio > 1e-290) & (ratio < 1e290), m.log(ratio), m.log(p) - m.log(q))
    return m.where(alike, m.log1p(m.where(alike, (p - q) / q, 0.0)), plain)


def _where_both(m: Any, p: Any, q: Any, inside: Any, at_zero: Any) -> Any:
    """inside for positive p and q; at_zero where p is 0 and q not negative; infinite elsewhere."""
    y = m.where((p > 0.0) & (q > 0.0), inside, math.inf)
    y = m.where((p == 0.0) & (q >= 0.0), at_zero, y)
    return m.where((p == p) & (q == q), y, math.nan)


def _rel_entr(m: Any, p: Any, q: Any) -> Any:
    both = (p > 0.0) & (q > 0.0)
    p_, q_ = m.where(both, p, 1.0), m.where(both, q, 1.0)
    return _where_both(m, p, q, p_ * _log_quotient(m, p_, q_), 0.0)


def _kl_div(m: Any, p: Any, q: Any) -> Any:
    both = (p > 0.0) & (q > 0.0)
    p_, q_ = m.where(both, p, 1.0), m.where(both, q, 1.0)
    t = (q_ - p_) / p_
    near = abs(t) < 0.5
    plain = p_ * _log_quotient(m, p_, q_) - p_ + q_
    y = m.where(near, -p_ * log1p_less_x(m, m.where(near, t, 0.0)), plain)
    return _where_both(m, p, q, y, q)


def _for_positive(p: Any, q: Any, inside: Any, other: float) -> Any:
    """inside(p, q) where both are positive, else the number."""
    both = bitwise_and(gt(p, 0.0), gt(q, 0.0))
    return select(both, inside(select(both, p, 1.0), select(both, q, 1.0)), other)


def _log_of_quotient(p: Any, q: Any) -> Any:
    return sub(log(p), log(q))


rel_entr = binary(
    "rel_entr",
    doc="x log(x / y) for positive x and y; 0 where x is 0 and y not negative, else infinite.",
    accepts=FLOAT,
    **by_formula(_rel_entr),
    jvp=(
        lambda z, p, q, t: mul(
            t, _for_positive(p, q, lambda p, q: add(_log_of_quotient(p, q), 1.0), 0.0)
        ),
        lambda z, p, q, t: mul(t, _for_positive(p, q, lambda p, q: neg(div(p, q)), 0.0)),
    ),
    samples=_POSITIVE_PAIRS,
)

kl_div = binary(
    "kl_div",
    doc="x log(x / y) - x + y; y where x is 0 and y not negative, infinite as rel_entr is.",
    accepts=FLOAT,
    **by_formula(_kl_div),
    jvp=(
        lambda z, p, q, t: mul(t, _for_positive(p, q, _log_of_quotient, -1.0)),
        lambda z, p, q, t: mul(t, _for_positive(p, q, lambda p, q: sub(1.0, div(p, q)), 1.0)),
    ),
    samples=_POSITIVE_PAIRS,
)


def _logit(m: Any, x: Any) -> Any:
    middle = (x > 0.3) & (x < 0.65)
    z = m.where(middle, x, 0.5)
    near = m.log1p((z * 2.0 - 1.0) / (1.0 - z))
    return m.where(middle, near, m.log(x) - m.log1p(-x))


logit = unary(
    "logit",
    doc="log(x / (1 - x)); infinite at 0 and 1, NaN outside.",
    accepts=FLOAT,
    **by_formula(_logit),
    jvp=lambda y, x, t: div(t, mul(x, sub(1.0, x))),
    samples=[real(2, 3, low=0.05, high=0.95)],
)

# --- Box and Cox's transformation


def _boxcox(m: Any, base: Any, logarithm: Any, power: Any) -> Any:
    zero = power == 0.0
    safe = m.where(zero, 1.0, power)
    u = safe * logarithm
    near = abs(u) < 1.0
    grown = m.where(near, m.expm1(m.where(near, u, 0.0)), m.power(base, safe) - 1.0)
    # Where there is no logarithm there is no power either, though whole powers would be known.
    return m.where(zero | (logarithm != logarithm), logarithm, grown / safe)


# (u exp(u) - exp(u) + 1) / u² in u.
_SLOPE = [(k + 1) / math.factorial(k + 2) for k in range(18, -1, -1)]


def _power_slope(y: Any, base: Any, logarithm: Any, power: Any) -> Any:
    """(base^power log(base) power - base^power + 1) / power²."""
    u = mul(power, logarithm)
    near = lt(functions.abs(u), 1.0)
    safe = select(near, u, zeros_like(u))
    series = mul(safe, _SLOPE[0])
    for c in _SLOPE[1:-1]:
        series = mul(add(series, c), safe)
    series = mul(mul(logarithm, logarithm), add(series, _SLOPE[-1]))
    plain = div(sub(mul(pow_p(base, power), logarithm), y), select(near, 1.0, power))
    return select(near, series, plain)


boxcox = binary(
    "boxcox",
    doc="(x ** y - 1) / y, log(x) where y is 0; NaN for negative x.",
    accepts=FLOAT,
    **by_formula(lambda m, x, power: _boxcox(m, x, m.log(x), power)),
    jvp=(
        lambda z, x, power, t: mul(t, pow_p(x, sub(power, 1.0))),
        lambda z, x, power, t: mul(t, _power_slope(z, x, log(x), power)),
    ),
    samples=[*_POSITIVE_PAIRS, (positive(3), np.array([0.0, 1e-3, -2.0]))],
)

boxcox1p = binary(
    "boxcox1p",
    doc="((1 + x) ** y - 1) / y, log(1 + x) where y is 0; NaN for x < -1.",
    accepts=FLOAT,
    **by_formula(lambda m, x, power: _boxcox(m, x + 1.0, m.log1p(x), power)),
    jvp=(
        lambda z, x, power, t: mul(t, pow_p(add(x, 1.0), sub(power, 1.0))),
        lambda z, x, power, t: mul(t, _power_slope(z, add(x, 1.0), log1p(x), power)),
    ),
    samples=[*_POSITIVE_PAIRS, (positive(3), np.array([0.0, 1e-3, -2.0]))],
)


__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "kl_div",
    "logit",
    "rel_entr",
    "xlog1py",
    "xlogy",
]
