"""The normal distribution and the error function's kin: ndtr, ndtri, erfcx, dawson, owens_t."""

from __future__ import annotations

import math

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.sample import real
from plait.hlo.formula import by_formula
from plait.ops import error_formula
from plait.ops.arithmetic import add, div, integer_pow, mul, sub
from plait.ops.elementwise import binary, unary
from plait.ops.functions import exp
from plait.ops.special import erf

_2_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
_ROOT_HALF, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(2.0 * math.pi)


erfcx = unary(
    "erfcx",
    doc="exp(x²) erfc(x), without underflow.",
    accepts=FLOAT,
    **by_formula(error_formula.erfcx),
    jvp=lambda y, x, t: mul(t, sub(mul(mul(x, y), 2.0), _2_OVER_ROOT_PI)),
    samples=[real(2, 3), np.array([30.0, 1e3])],
)

dawson = unary(
    "dawson",
    doc="Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x.",
    accepts=FLOAT,
    **by_formula(error_formula.dawson),
    jvp=lambda y, x, t: mul(t, sub(1.0, mul(mul(x, y), 2.0))),
    samples=[real(2, 3, low=-8.0, high=8.0)],
)

ndtr = unary(
    "ndtr",
    doc="The chance that a normal variable is below x, exact where it is small.",
    accepts=FLOAT,
    **by_formula(error_formula.ndtr),
    jvp=lambda y, x, t: mul(t, mul(exp(mul(integer_pow(x, 2), -0.5)), 1.0 / _ROOT_2_PI)),
    samples=[real(2, 3)],
)

log_ndtr = unary(
    "log_ndtr",
    doc="log(ndtr(x)), without underflow.",
    accepts=FLOAT,
    **by_formula(error_formula.log_ndtr),
    # The density over ndtr(x), which is exp(-x²/2) erfcx(-x/√2) / 2.
    jvp=lambda y, x, t: mul(t, div(2.0 / _ROOT_2_PI, erfcx(mul(x, -_ROOT_HALF)))),
    samples=[real(2, 3), np.array([-30.0, -9.0])],
)

ndtri = unary(
    "ndtri",
    doc="The x of which ndtr is given; infinite at 0 and 1, NaN outside.",
    accepts=FLOAT,
    **by_formula(error_formula.ndtri),
    jvp=lambda y, p, t: mul(t, mul(exp(mul(integer_pow(y, 2), 0.5)), _ROOT_2_PI)),
    samples=[real(2, 3, low=0.05, high=0.95)],
)


def _owens_slope_h(y, h, a, t):
    density = exp(mul(integer_pow(h, 2), -0.5))
    return mul(t, mul(mul(density, erf(mul(mul(a, h), _ROOT_HALF))), -0.5 / _ROOT_2_PI))


def _owens_slope_a(y, h, a, t):
    one = add(integer_pow(a, 2), 1.0)
    return mul(t, div(exp(mul(mul(integer_pow(h, 2), one), -0.5)), mul(one, 2 * math.pi)))


owens_t = binary(
    "owens_t",
    doc="""Owen's T function: the integral of exp(-x² (1 + t²) / 2) / (1 + t²) from 0 to y, divided
    by 2π.""",
    accepts=FLOAT,
    **by_formula(error_formula.owens_t),
    jvp=(_owens_slope_h, _owens_slope_a),
    samples=[(real(2, 3), real(2, 3)[::-1].copy())],
)


__all__ = ["dawson", "erfcx", "log_ndtr", "ndtr", "ndtri", "owens_t"]
