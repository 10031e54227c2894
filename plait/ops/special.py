"""Special functions: the error function and its inverse, log Γ, digamma, zeta and polygamma.

Where XLA has a function, it is used on GPUs and TPUs; on CPUs, and where it has none, formulas
(hlo/formula.py) are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.sample import positive, real
from plait.core.types import ArrayType
from plait.errors import ArgumentError
from plait.hlo.formula import NumpyMath, by_formula
from plait.ops import cpu_functions, error_formula, gamma_formula
from plait.ops.arithmetic import add, integer_pow, mul, neg
from plait.ops.elementwise import binary, unary
from plait.ops.functions import exp, wide

_numpy = NumpyMath()


def _chlo(name: str) -> Callable[..., Any]:
    return lambda b, *xs: b.chlo(name, xs, ArrayType(xs[0].shape, xs[0].dtype))


def _by_number(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of Python floats on arrays."""
    each = np.frompyfunc(function, 1, 1)
    return wide(lambda x: np.asarray(each(x)).astype(np.float64))


def no_derivative(op: str, operand: str) -> Callable[..., Any]:
    """A derivative rule for an operand without one: it raises ArgumentError, which names both."""

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
    cpu=cpu_functions.lowering(_chlo("erf"), cpu_functions.erf32),
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
    cpu=cpu_functions.lowering(_chlo("erfc"), cpu_functions.erfc32, error_formula.erfc),
    jvp=lambda y, x, t: mul(t, mul(exp(neg(integer_pow(x, 2))), -_2_OVER_ROOT_PI)),
    samples=[real(2, 3)],
)


erf_inv = unary(
    "erf_inv",
    doc="The x whose erf is given; infinite at -1 and 1, NaN outside. CHLO: erf_inv.",
    example=("print(lax.erf_inv(jnp.array([0.0, 0.5, 1.0])).round(3))", "[0.    0.477   inf]"),
    accepts=FLOAT,
    numpy=wide(lambda y: error_formula.erf_inv(_numpy, y)),
    hlo=_chlo("erf_inv"),
    cpu=cpu_functions.lowering(
        _chlo("erf_inv"), error_formula.erf_inv_narrow, error_formula.erf_inv
    ),
    jvp=lambda y, x, t: mul(t, mul(exp(integer_pow(y, 2)), 1.0 / _2_OVER_ROOT_PI)),
    samples=[real(2, 3, low=-0.95, high=0.95)],
)

# --- gamma, digamma, zeta


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


lgamma = unary(
    "lgamma",
    doc="log |Γ(x)|; infinite at 0, -1, -2, ... CHLO: lgamma.",
    example=("print(lax.lgamma(jnp.array([0.5, 1.0, 5.0])).round(3))", "[0.572 0.    3.178]"),
    accepts=FLOAT,
    numpy=_by_number(_lgamma),
    hlo=_chlo("lgamma"),
    cpu=cpu_functions.lowering(_chlo("lgamma"), cpu_functions.lgamma32, gamma_formula.log_gamma),
    jvp=lambda y, x, t: mul(t, digamma(x)),
    samples=[positive(2, 3), real(3) - 2.03],
)

digamma = unary(
    "digamma",
    doc="The derivative of lgamma. CHLO: digamma.",
    example=("print(lax.digamma(jnp.array([0.5, 1.0, 5.0])).round(3))", "[-1.964 -0.577  1.506]"),
    accepts=FLOAT,
    numpy=wide(lambda x: gamma_formula.digamma(_numpy, x)),
    hlo=_chlo("digamma"),
    cpu=cpu_functions.lowering(_chlo("digamma"), cpu_functions.digamma32, gamma_formula.digamma),
    jvp=lambda y, x, t: mul(t, polygamma(1.0, x)),
    samples=[positive(2, 3), real(3) - 2.03],
)

# B_2k / (2k)!, B the Bernoulli numbers.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)
_STEPS = 12


def _zeta_positive(m: Any, s: Any, q: Any) -> Any:
    """Σ (q + n)^-s over n >= 0, s > 1 and q > 0, by Euler and Maclaurin's formula (Abramowitz and
    Stegun 23.1.30).
    """
    total = m.power(q, -s)
    for n in range(1, _STEPS):
        total = total + m.power(q + float(n), -s)
    z = q + float(_STEPS)
    end = m.power(z, -s)
    r = 1.0 / (z * z)
    rising, tail = s / z, m.full_like(end, 0.5)
    for k, factor in enumerate(_BERNOULLI):
        tail = tail + rising * factor
        rising = rising * ((s + (2 * k + 1.0)) * r) * (s + (2 * k + 2.0))
    return total + (end * (z / (s - 1.0)) + end * m.where(rising < math.inf, tail, 0.5))


def _zeta(m: Any, s: Any, q: Any) -> Any:
    inside = (s > 1.0) & (s < math.inf)
    whole = (m.floor(s) == s) & inside
    s_ = m.where(inside, s, 2.0)
    # Below 0, and for whole s, terms of either sign, from both sides of the poles:
    # ζ(s, f) + (-1)^s (ζ(s, 1 - f) - ζ(s, 1 - q)), f the fraction of q.
    below = (q < 0.0) & (q > -math.inf)
    f = q - m.floor(m.where(below, q, 0.0))
    y = _zeta_positive(m, s_, m.where(f > 0.0, f, 1.0))
    other = m.where(below & (f > 0.0), 1.0 - f, 1.0)
    mirrored = _zeta_positive(m, s_, other) - _zeta_positive(m, s_, m.where(below, 1.0 - q, 1.0))
    odd = m.floor(s_ * 0.5) * 2.0 != s_
    y = m.where(below, m.where(odd, y - mirrored, y + mirrored), y)
    y = m.where(below & ~whole, math.nan, y)
    y = m.where((q <= 0.0) & (m.floor(q) == q), math.inf, y)
    y = m.where(q == math.inf, 0.0, y)
    y = m.where(
        s == math.inf, m.where(q > 1.0, 0.0, m.where(q == 1.0, m.full_like(y, 1.0), math.inf)), y
    )
    return m.where((s >= 1.0) & (q == q), m.where(s == 1.0, math.inf, y), math.nan)


def _zeta_grad_x(m: Any, s: Any, q: Any) -> Any:
    inside = (s > 1.0) & (s < math.inf) & (q > 0.0) & (q < math.inf)
    s, q = m.where(inside, s, 2.0), m.where(inside, q, 1.0)
    total = m.full_like(s * q, 0.0)
    for n in range(_STEPS):
        z = q + float(n)
        total = total - m.power(z, -s) * m.log(z)
    z = q + float(_STEPS)
    end, logarithm, r = m.power(z, -s), m.log(z), 1.0 / (z * z)
    rising, slope = s / z, 1.0 / z
    tail, tail_slope = m.full_like(end, 0.5), m.full_like(end, 0.0)
    for k, factor in enumerate(_BERNOULLI):
        tail, tail_slope = tail + rising * factor, tail_slope + slope * factor
        one, two = s + (2 * k + 1.0), s + (2 * k + 2.0)
        slope = (slope * one * two + rising * (one + two)) * r
        rising = rising * (one * r) * two
    above = 1.0 / (s - 1.0)
    total = total - end * (z * above) * (logarithm + above)
    total = total + end * (tail_slope - logarithm * tail)
    return m.where(inside, total, math.nan)


zeta_grad_x = binary(
    "zeta_grad_x",
    doc="The derivative of zeta(x, y) with respect to x, for x > 1 and y > 0; NaN elsewhere.",
    accepts=FLOAT,
    **by_formula(_zeta_grad_x),
    jvp=(no_derivative("zeta_grad_x", "x"), no_derivative("zeta_grad_x", "y")),
    samples=[(positive(2, 3) + 1.0, positive(2, 3))],
)

zeta = binary(
    "zeta",
    doc="The Hurwitz zeta function, Σ (y + n)^-x over n = 0, 1, ...; NaN for x < 1.",
    example=("print(lax.zeta(jnp.array([2.0, 4.0]), 1.0).round(3))", "[1.645 1.082]"),
    accepts=FLOAT,
    **by_formula(_zeta),
    jvp=(
        lambda z, x, y, t: mul(t, zeta_grad_x(x, y)),
        lambda z, x, y, t: mul(t, neg(mul(x, zeta(add(x, 1.0), y)))),
    ),
    samples=[(positive(2, 3) + 1.0, positive(2, 3))],
)


def _polygamma(m: Any, order: Any, x: Any) -> Any:
    valid = (order >= 0.0) & (m.floor(order) == order)
    n = m.where(valid, order, 0.0)
    odd = m.floor(n * 0.5) * 2.0 != n
    size = gamma_formula.gamma(m, n + 1.0) * _zeta(m, m.maximum(n + 1.0, 2.0), x)
    y = m.where(odd, size, -size)
    y = m.where(n == 0.0, gamma_formula.digamma(m, x), y)
    return m.where(valid, y, math.nan)


polygamma = binary(
    "polygamma",
    doc="""The derivative of digamma of order x at y; x holds whole numbers from 0 on, as floats,
    and gives NaN elsewhere.""",
    example=("print(lax.polygamma(jnp.array([0.0, 1.0]), 1.0).round(3))", "[-0.577  1.645]"),
    accepts=FLOAT,
    **by_formula(_polygamma),
    jvp=(
        no_derivative("polygamma", "its order"),
        lambda z, m, x, t: mul(t, polygamma(add(m, 1.0), x)),
    ),
    samples=[(np.array([0.0, 1.0, 2.0, 3.0]), positive(4)), (np.array(2.0), positive(3))],
)


__all__ = [
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "no_derivative",
    "polygamma",
    "zeta",
    "zeta_grad_x",
]
