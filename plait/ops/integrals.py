"""Integrals of exponentials, sines and logarithms: exp1, expi, expn, sici, fresnel, spence.

Each is a polynomial near 0, and far from it the terms that oscillate or grow, times polynomials in
a variable that puts infinity at the end of a short interval. The polynomials interpolate at
Chebyshev's points, to below 1e-17; computed with mpmath.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.sample import positive, real
from plait.hlo.formula import by_formula, polynomial, square
from plait.ops.arithmetic import add, div, integer_pow, mul, neg, sub
from plait.ops.compare import eq, select
from plait.ops.elementwise import binary, unary
from plait.ops.functions import cos, exp, log, sin

_GAMMA = 0.5772156649015329  # Euler's constant

# --- exponential integrals

# (log x + γ + E1(x)) / x in 2 x - 1, x in [0, 1].
_EIN = (
    -5.575070247424053e-14,
    1.468861577259427e-12,
    -3.565610231478228e-11,
    7.990920056740073e-10,
    -1.634832596071036e-08,
    3.027425014978342e-07,
    -5.024388272123079e-06,
    7.387064025369851e-05,
    -0.0009496819183999231,
    0.010541467229713778,
    -0.10074547766076357,
    0.8876841582354967,
)
# x exp(x) E1(x) in (x - 4)/(x + 2), x >= 1.
_E1 = (
    1.6653605630210352e-09,
    2.2833791588047637e-09,
    -8.884869602603872e-09,
    -1.1242555759612937e-08,
    2.308454459271108e-08,
    2.8530020944707464e-08,
    -3.563055711250494e-08,
    -3.866861189273486e-08,
    3.59847775087085e-08,
    4.927132707516047e-08,
    -3.401080059476726e-08,
    1.3562838183210082e-08,
    -3.3895594783596894e-08,
    1.988326883196929e-07,
    -2.757892838197972e-07,
    9.093660485625875e-07,
    -1.5231163467442538e-06,
    4.759418936062513e-06,
    -8.721850614330528e-06,
    2.653610548185957e-05,
    -5.219395827001712e-05,
    0.00016176761759105962,
    -0.00033798581482425506,
    0.0011289560037625775,
    -0.002507852571851941,
    0.010133650725821937,
    -0.024300313654295764,
    0.19036949703167486,
    0.8253825996042233,
)


def _exp1(m: Any, x: Any) -> Any:
    inside = (x > 0.0) & (x < math.inf)
    z = m.where(inside, x, 1.0)
    near = m.minimum(z, 1.0)
    small = near * polynomial(near * 2.0 - 1.0, _EIN) - (m.log(near) + _GAMMA)
    far = m.maximum(z, 1.0)
    large = m.exp(-far) * polynomial((far - 4.0) / (far + 2.0), _E1) / far
    y = m.where(z < 1.0, small, large)
    y = m.where(inside, y, m.where(x == 0.0, m.full_like(x, math.inf), 0.0))
    return m.where(x >= 0.0, y, math.nan)


exp1 = unary(
    "exp1",
    doc="The integral of exp(-t)/t from x to infinity; infinite at 0, NaN below.",
    accepts=FLOAT,
    **by_formula(_exp1),
    jvp=lambda y, x, t: mul(t, neg(div(exp(neg(x)), x))),
    samples=[positive(2, 3)],
)

_EI_ROOT, _EI_ROOT_REST = 0.3725074107813666, 1.3140183414386028e-17  # where expi is zero
# exp(-x/2) (expi(x) - log(x/r)) / (x - r), r the root, in x/3 - 1, x in [0, 6].
_EI_SMALL = (
    1.1263382529643425e-12,
    -1.0229932359743795e-11,
    1.3106871908613024e-10,
    -1.0157429097151227e-09,
    1.2149747098233028e-08,
    -7.839380934986925e-08,
    8.371814313037921e-07,
    -4.329987612702409e-06,
    4.076998936469505e-05,
    -0.00015981131715991738,
    0.001305625211449468,
    -0.0035426459355887433,
    0.02463021508579266,
    -0.039099470354945466,
    0.22637403232213735,
    -0.13981130781177017,
    0.6664389690047566,
)
# x exp(-x) expi(x) in 1/x, x in [6, 14], [14, 40], and from 40 on.
_EI_6 = (
    1.2732736869774612e-10,
    -3.504245964457652e-10,
    -1.1830607785890506e-10,
    1.7488865877953214e-09,
    -4.455577123757538e-09,
    8.751974494060666e-09,
    -7.304296882935729e-09,
    -3.375215881525043e-08,
    1.7808889894195387e-07,
    -4.2575426320573913e-07,
    3.229152601002341e-07,
    1.7639976695907067e-06,
    -8.0544728522677e-06,
    1.3244866229090114e-05,
    1.6934950359639608e-05,
    -0.00013864083519327558,
    0.00020583233983643772,
    0.0006164108014464373,
    -0.0023450765919128536,
    -0.0039363056669572535,
    0.01494994832119433,
    0.10044014599292068,
    1.1690676168895002,
)
_EI_14 = (
    5.581304854735135e-11,
    -9.175059475542786e-11,
    -3.7607217622155225e-10,
    9.878867842226533e-10,
    7.201230589865897e-10,
    -5.367158119515503e-09,
    3.3431361220689758e-09,
    2.032032475373284e-08,
    -3.504650269194284e-08,
    -6.881948878218035e-08,
    1.9384688669568932e-07,
    3.1595848189517796e-07,
    -8.020170063912512e-07,
    -2.3121217435494843e-06,
    1.555364456713317e-08,
    1.1677522162335892e-05,
    4.716854450632347e-05,
    0.00022458136727763047,
    0.001865113330285773,
    0.029034294969155824,
    1.0537113582093396,
)
_EI_40 = (
    4.32974640878007e-14,
    1.3877448585885714e-13,
    3.897892565102625e-13,
    2.0011016833664054e-12,
    1.1743886203426407e-11,
    7.719010416241122e-11,
    5.943164141963469e-10,
    5.430562520836421e-09,
    5.994808756832889e-08,
    8.207668873316665e-07,
    1.449367709316704e-05,
    0.00035158512009232347,
    0.013162701487828781,
    1.0128248443226306,
)


def _expi_positive(m: Any, x: Any) -> Any:
    near = m.minimum(x, 6.0)
    slope = polynomial(near * (1.0 / 3.0) - 1.0, _EI_SMALL) * m.exp(near * 0.5)
    away = near - _EI_ROOT
    beside = abs(away) < 0.2
    ratio = m.where(beside, away * (1.0 / _EI_ROOT), 0.0)
    logarithm = m.where(beside, m.log1p(ratio), m.log(near * (1.0 / _EI_ROOT)))
    small = (logarithm + slope * away) - (slope + 1.0 / _EI_ROOT) * _EI_ROOT_REST
    far = m.minimum(m.maximum(x, 6.0), 800.0)
    r = 1.0 / far
    factor = polynomial(r * 21.0 - 2.5, _EI_6)
    factor = m.where(far > 14.0, polynomial(r * (560.0 / 13.0) - 27.0 / 13.0, _EI_14), factor)
    factor = m.where(far > 40.0, polynomial(r * 80.0 - 1.0, _EI_40), factor)
    # exp(x) in two factors: it overflows before its quotient does.
    half = m.exp(far * 0.5)
    large = half * (factor * r) * half
    return m.where(x <= 6.0, small, large)


def _expi(m: Any, x: Any) -> Any:
    negative = x < 0.0
    y = _expi_positive(m, m.where(negative, 1.0, x))
    return m.where(negative, -_exp1(m, m.where(negative, -x, 1.0)), y)


expi = unary(
    "expi",
    doc="""The integral of exp(t)/t from -infinity to x, its principal value for x > 0; -inf at
    0.""",
    accepts=FLOAT,
    **by_formula(_expi),
    jvp=lambda y, x, t: mul(t, div(exp(x), x)),
    samples=[real(2, 3), np.array([7.0, 20.0, 60.0])],
)


def _expn_fraction(m: Any, n: Any, x: Any, active: Any) -> Any:
    """exp(x) E_n(x) by the continued fraction of Abramowitz and Stegun 5.1.22, Lentz's method."""
    eps = m.epsilon

    def going(k: Any, b: Any, c: Any, d: Any, h: Any, change: Any) -> Any:
        return active & (abs(change - 1.0) > eps) & (k < 1000.0)

    def step(k: Any, b: Any, c: Any, d: Any, h: Any, change: Any) -> tuple[Any, ...]:
        k = k + 1.0
        over = -k * (n + (k - 1.0))
        b = b + 2.0
        d = 1.0 / (over * d + b)
        c = b + over / c
        return k, b, c, d, h * (c * d), c * d

    zero, b = m.full_like(x, 0.0), x + n
    d = 1.0 / b
    return m.loop(going, step, (zero, b, m.full_like(x, 1e300), d, d, zero))[4]


_RECURRENCES = 20


def _expn(m: Any, n: Any, x: Any) -> Any:
    whole = (n >= 1.0) & (n < math.inf) & (m.floor(n) == n)
    inside = whole & (x > 0.0) & (x < math.inf)
    order, z = m.where(inside, n, 1.0), m.where(inside, x, 1.0)
    by_fraction = (z > 1.0) | (order > float(_RECURRENCES))
    # Operands that the recurrence serves are exchanged for tame ones.
    fn, fx = m.where(by_fraction, order, 1.0), m.where(by_fraction, z, 2.0)
    far = m.exp(-fx) * _expn_fraction(m, fn, fx, inside & by_fraction)
    near = m.where(by_fraction, 1.0, z)
    e, decay = _exp1(m, near), m.exp(-near)
    for k in range(1, _RECURRENCES):
        e = m.where(order > float(k), (decay - near * e) * (1.0 / k), e)
    y = m.where(order == 1.0, _exp1(m, z), m.where(by_fraction, far, e))
    at_zero = m.where(n > 1.0, 1.0 / m.where(n > 1.0, n - 1.0, 1.0), math.inf)
    y = m.where(inside, y, m.where(x == 0.0, at_zero, 0.0))
    y = m.where(whole & (x >= 0.0), y, math.nan)
    return m.where((n == 0.0) & (x >= 0.0), m.exp(-x) / x, y)


def _expn_slope(y: Any, n: Any, x: Any, t: Any) -> Any:
    # E_n' = -E_(n-1), and E_(-1)(x) = exp(-x) (1 + 1/x) / x.
    zero = eq(n, 0.0)
    lower = expn(select(zero, 1.0, sub(n, 1.0)), x)
    r = integer_pow(select(zero, x, 1.0), -1)
    return mul(t, neg(select(zero, mul(exp(neg(x)), mul(r, add(r, 1.0))), lower)))


expn = binary(
    "expn",
    doc="""The integral of exp(-y t) / t^x from 1 to infinity, x a whole number, as a float; NaN for
    other x, and for x < 0 or y < 0. It has no derivative with respect to x.""",
    accepts=FLOAT,
    **by_formula(_expn),
    jvp=(None, _expn_slope),
    samples=[(np.array([0.0, 1.0, 2.0, 3.0, 2.0]), np.array([0.7, 0.4, 0.3, 1.7, 3.0]))],
)

# --- sine and cosine integrals

# Si(x) / x in x²/8 - 1, x in [0, 4].
_SI = (
    -1.2465253208934712e-14,
    8.535034668454058e-13,
    -4.8820436536706355e-11,
    2.294707477809517e-09,
    -8.669329640074211e-08,
    2.562902980424153e-06,
    -5.729510043974918e-05,
    0.000926043940588566,
    -0.010180919854579487,
    0.06995436230262994,
    -0.26998630593421985,
    0.6488924209268717,
)
# (log x + γ - Ci(x)) / x² in the same.
_CIN = (
    3.750854655497162e-14,
    -2.3558809712444187e-12,
    1.2261802782427702e-10,
    -5.19417924305832e-09,
    1.7478633681168744e-07,
    -4.535777665967924e-06,
    8.738341186863486e-05,
    -0.0011887255711436752,
    0.010676245460890443,
    -0.058041367082519175,
    0.18000156259038463,
)
# The functions f and g of Abramowitz and Stegun 5.2.6, f times x and g times x², in
# (x - 12)/(x + 4), x >= 4.
_SICI_F = (
    3.375196243892451e-11,
    3.38701406100194e-11,
    -2.0590752527629624e-10,
    -3.2751472822488345e-10,
    2.0764823800644984e-10,
    6.766821189549892e-10,
    7.761525102426706e-10,
    1.5513734457997235e-09,
    2.9647768182344732e-09,
    -2.1252230271274642e-09,
    -1.2818372233532341e-08,
    -6.835207984647791e-08,
    -2.7761821401168654e-08,
    -2.124894208443862e-07,
    1.5869662984830141e-06,
    -1.310148380307242e-06,
    1.8451712384201088e-05,
    -8.055981595766907e-05,
    0.00021115801753707086,
    -0.0016104927409637615,
    0.009188683212658323,
    -0.027010568288985248,
    0.03219502084583959,
    0.9870883480756537,
)
_SICI_G = (
    1.9427077584202096e-10,
    3.5906002856140737e-10,
    -8.241640743556232e-10,
    -2.1517142603946935e-09,
    -1.843431391195308e-11,
    2.726507753391867e-09,
    1.9274915844853086e-09,
    4.3161525377027105e-09,
    1.3811852477971678e-08,
    1.7493002167334694e-08,
    -7.923686204001934e-09,
    -9.324623907698609e-08,
    -2.752951442868317e-07,
    -4.2940749797603517e-07,
    -9.77199578210391e-08,
    2.52468191952317e-06,
    7.701955441893875e-06,
    1.5027743544918083e-05,
    -2.994616406834748e-05,
    -0.00015516323261342542,
    -0.0005089205050428876,
    0.0012681916208493367,
    0.01429790210994895,
    -0.06664691859499151,
    0.08880838370223824,
    0.962942082441274,
)


def _sici_far(m: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """(f, g, sin x, cos x) for x >= 4."""
    r = 1.0 / x
    t = (x - 12.0) / (x + 4.0)
    return polynomial(t, _SICI_F) * r, polynomial(t, _SICI_G) * (r * r), m.sin(x), m.cos(x)


def _sine_integral(m: Any, x: Any) -> Any:
    near = m.maximum(m.minimum(x, 4.0), -4.0)
    small = near * polynomial(near * near * 0.125 - 1.0, _SI)
    size = abs(x)
    f, g, sine, cosine = _sici_far(m, m.where((size > 4.0) & (size < math.inf), size, 4.0))
    large = m.where(size < math.inf, math.pi / 2 - (f * cosine + g * sine), math.pi / 2)
    y = m.where(size <= 4.0, small, m.where(x < 0.0, -large, large))
    return m.where(x == x, y, x)


def _cosine_integral(m: Any, x: Any) -> Any:
    size = abs(x)
    near = m.minimum(size, 4.0)
    square_ = near * near
    small = m.log(near) + (_GAMMA - square_ * polynomial(square_ * 0.125 - 1.0, _CIN))
    f, g, sine, cosine = _sici_far(m, m.where((size > 4.0) & (size < math.inf), size, 4.0))
    large = m.where(size < math.inf, f * sine - g * cosine, 0.0)
    y = m.where(size <= 4.0, small, large)
    return m.where((x == x) & (x > -math.inf), y, math.nan)


def _sinc_slope(y: Any, x: Any, t: Any) -> Any:
    zero = eq(x, 0.0)
    return mul(t, select(zero, 1.0, div(sin(x), select(zero, 1.0, x))))


sine_integral = unary(
    "sine_integral",
    doc="The integral of sin(t)/t from 0 to x.",
    accepts=FLOAT,
    **by_formula(_sine_integral),
    jvp=_sinc_slope,
    samples=[real(2, 3, low=-7.0, high=7.0)],
)

cosine_integral = unary(
    "cosine_integral",
    doc="""Euler's constant plus log |x| plus the integral of (cos(t) - 1)/t from 0 to |x|; -inf at
    0, NaN at -inf.""",
    accepts=FLOAT,
    **by_formula(_cosine_integral),
    jvp=lambda y, x, t: mul(t, div(cos(x), x)),
    samples=[real(2, 3, low=0.2, high=7.0)],
)

# --- Fresnel integrals

# S(x) / x³ and C(x) / x in x⁴/8 - 1, x in [0, 2].
_FRESNEL_S = (
    -1.3173174518175814e-13,
    4.942520192454968e-12,
    -1.5853334484086912e-10,
    4.310799156480302e-09,
    -9.762291029082947e-08,
    1.80680883248511e-06,
    -2.6701949012239507e-05,
    0.0003059672570297544,
    -0.0026160664086771267,
    0.015843595387002127,
    -0.06310498929669654,
    0.14792442687117138,
    -0.17458805246545703,
    0.11918706705710316,
)
_FRESNEL_C = (
    -2.2961155228216776e-12,
    7.972146568898453e-11,
    -2.3491689103779375e-09,
    5.8224462948297696e-08,
    -1.1898412544327228e-06,
    1.962259835361305e-05,
    -0.00025420656186973193,
    0.0024974947833915828,
    -0.01773687088385134,
    0.08490710091343592,
    -0.24464972270586186,
    0.33971579241343547,
    -0.11529465613686242,
    0.1949232825060342,
)
# The functions f and g of Abramowitz and Stegun 7.3.5, f times πx and g times π²x³, in
# (x - 6)/(x + 2), x >= 2.
_FRESNEL_F = (
    -1.1082721870434002e-09,
    1.5895326704219797e-09,
    9.189486627451481e-09,
    -1.7109119503711753e-08,
    -3.060840559094244e-08,
    8.889602561625993e-08,
    2.215132150059574e-08,
    -2.755065079661234e-07,
    2.469445663713905e-07,
    3.96135164186471e-07,
    -1.215078814285524e-06,
    8.841791176896632e-07,
    1.8815958327152897e-06,
    -6.185397712714392e-06,
    6.786145443576582e-06,
    5.060545482152934e-06,
    -3.452309053494967e-05,
    6.892276738214587e-05,
    -5.981635044142593e-05,
    -8.89425423488272e-05,
    0.000510689500563064,
    -0.001319523447202444,
    0.002481441054829443,
    -0.0036172699864490056,
    0.003926243968657719,
    -0.0028850827037460772,
    0.001244111165820505,
    0.999766097100329,
)
_FRESNEL_G = (
    4.51005179862883e-09,
    5.56266853474629e-09,
    -5.078313312961764e-08,
    -4.03414040236158e-08,
    2.7991234270291463e-07,
    8.418631191645458e-08,
    -9.900722036991286e-07,
    2.7002796298482886e-07,
    2.349519752775934e-06,
    -2.4529596895359117e-06,
    -2.8710151730770334e-06,
    8.428942229021324e-06,
    -4.2349626019122344e-06,
    -1.3330459304142027e-05,
    3.0252105813731242e-05,
    -1.626484059077917e-05,
    -4.850218538669236e-05,
    0.00013102067977780913,
    -0.00012570396944829146,
    -9.763650184215594e-05,
    0.000563769612129539,
    -0.0010237961085720706,
    0.0008527537881639626,
    0.0008524728772089343,
    -0.004857412314604169,
    0.011005629215192873,
    -0.017212530939661293,
    0.019224878529195768,
    -0.014293186545500176,
    0.006193790804349223,
    0.9988330137259636,
)


def _quarter_turns(m: Any, x: Any) -> Any:
    """πx²/2 in [-2π, 2π]: x² as a sum of two numbers, each without its multiples of 4."""
    high, low = square(x)
    high = high - m.rint(high * 0.25) * 4.0
    low = low - m.rint(low * 0.25) * 4.0
    return (high + low) * (math.pi / 2)


def _sine_of_square(m: Any, x: Any) -> Any:
    return m.sin(_quarter_turns(m, x))


def _cosine_of_square(m: Any, x: Any) -> Any:
    return m.cos(_quarter_turns(m, x))


def _fresnel(m: Any, x: Any, far: Any, small: Any) -> Any:
    """far(f, g, sin, cos of πx²/2) from 2 on; else small."""
    size = abs(x)
    z = m.where((size > 2.0) & (size < 1e100), size, 2.0)
    r = 1.0 / z
    t = (z - 6.0) / (z + 2.0)
    f = polynomial(t, _FRESNEL_F) * (r * (1.0 / math.pi))
    g = polynomial(t, _FRESNEL_G) * (r * r * r * (1.0 / math.pi**2))
    large = far(f, g, _sine_of_square(m, z), _cosine_of_square(m, z)) + 0.5
    large = m.where(size < 1e100, large, 0.5)
    y = m.where(size <= 2.0, small, m.where(x < 0.0, -large, large))
    return m.where(x == x, y, x)


def _fresnel_s(m: Any, x: Any) -> Any:
    near = m.maximum(m.minimum(x, 2.0), -2.0)
    z = near * near
    small = near * z * polynomial(z * z * 0.125 - 1.0, _FRESNEL_S)
    return _fresnel(m, x, lambda f, g, sine, cosine: -(f * cosine + g * sine), small)


def _fresnel_c(m: Any, x: Any) -> Any:
    near = m.maximum(m.minimum(x, 2.0), -2.0)
    z = near * near
    small = near * polynomial(z * z * 0.125 - 1.0, _FRESNEL_C)
    return _fresnel(m, x, lambda f, g, sine, cosine: f * sine - g * cosine, small)


_sine = unary(
    "sine_of_square",
    doc="sin(πx²/2), the square without rounding.",
    accepts=FLOAT,
    **by_formula(_sine_of_square),
    jvp=lambda y, x, t: mul(t, mul(mul(x, math.pi), _cosine(x))),
    samples=[real(2, 3)],
)

_cosine = unary(
    "cosine_of_square",
    doc="cos(πx²/2), the square without rounding.",
    accepts=FLOAT,
    **by_formula(_cosine_of_square),
    jvp=lambda y, x, t: mul(t, mul(mul(x, -math.pi), _sine(x))),
    samples=[real(2, 3)],
)

fresnel_s = unary(
    "fresnel_s",
    doc="The integral of sin(πt²/2) from 0 to x.",
    accepts=FLOAT,
    **by_formula(_fresnel_s),
    jvp=lambda y, x, t: mul(t, _sine(x)),
    samples=[real(2, 3, low=-3.0, high=3.0)],
)

fresnel_c = unary(
    "fresnel_c",
    doc="The integral of cos(πt²/2) from 0 to x.",
    accepts=FLOAT,
    **by_formula(_fresnel_c),
    jvp=lambda y, x, t: mul(t, _cosine(x)),
    samples=[real(2, 3, low=-3.0, high=3.0)],
)

# --- Spence's function

# spence(exp(v)) / v in v / log 2, |v| <= log 2.
_SPENCE = (
    4.819298329093447e-13,
    -8.73289202967226e-44,
    -4.8562934946545275e-11,
    2.7070283733826817e-43,
    4.894608021281272e-09,
    -3.1599280370524625e-43,
    -5.239295993799565e-07,
    1.6976205408371036e-43,
    6.412086071655181e-05,
    -4.0144901997612974e-44,
    -0.013345917053283312,
    -0.17328679513998632,
    -1.0,
)


def _spence(m: Any, x: Any) -> Any:
    # spence(x) = -spence(1/x) - log²(x)/2 brings x below 1, and
    # spence(x) = π²/6 - log(x) log(1 - x) - spence(1 - x) above 1/2.
    inside = (x > 0.0) & (x < math.inf)
    z = m.where(inside, x, 1.0)
    above = z > 2.0
    y = m.where(above, 1.0 / z, z)
    low = y < 0.5
    logarithm, other = m.log(z), m.log1p(-m.where(low, y, 0.5))
    v = m.where(low, other, m.where(above, -logarithm, logarithm))
    s = v * polynomial(v * (1.0 / math.log(2.0)), _SPENCE)
    mirrored = m.where(above, logarithm, -logarithm) * other + (math.pi**2 / 6 - s)
    s = m.where(low, mirrored, s)
    s = m.where(above, logarithm * logarithm * -0.5 - s, s)
    edge = m.where(x == 0.0, m.full_like(x, math.pi**2 / 6), m.where(x > 0.0, -x, math.nan))
    return m.where(inside, s, edge)


def _spence_slope(y: Any, x: Any, t: Any) -> Any:
    # log(x) / (1 - x), which is -1 at 1.
    one = eq(x, 1.0)
    z = select(one, 2.0, x)
    return mul(t, select(one, -1.0, div(log(z), sub(1.0, z))))


spence = unary(
    "spence",
    doc="The integral of log(t)/(1 - t) from 1 to x; NaN below 0.",
    accepts=FLOAT,
    **by_formula(_spence),
    jvp=_spence_slope,
    samples=[positive(2, 3, low=0.1, high=4.0)],
)


__all__ = [
    "cosine_integral",
    "exp1",
    "expi",
    "expn",
    "fresnel_c",
    "fresnel_s",
    "sine_integral",
    "spence",
]
