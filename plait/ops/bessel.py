"""Bessel functions: modified ones of order 0 and 1, and those of the first kind of whole order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import FLOAT
from plait.core.primitive import Primitive, register
from plait.core.sample import real
from plait.core.types import type_of
from plait.errors import DtypeError
from plait.hlo.formula import HloMath, NumpyMath, by_formula, chebyshev, polynomial
from plait.ops.arithmetic import div, mul, neg, sub
from plait.ops.axes import broadcast_in_dim, permute
from plait.ops.compare import eq, select
from plait.ops.elementwise import unary
from plait.ops.functions import sign
from plait.ops.slices import concatenate, slice_in_dim

# --- modified Bessel functions

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
    **by_formula(_bessel_i0e),
    jvp=lambda y, x, t: mul(t, sub(bessel_i1e(x), mul(sign(x), y))),
    samples=[real(2, 3, low=-12.0, high=12.0)],
)


def _over_x(y: Any, x: Any) -> Any:
    # I1' = I0 - I1 / x, and I1 / x is 1/2 at 0.
    zero = eq(x, 0.0)
    return select(zero, 0.5, div(y, select(zero, 1.0, x)))


def _bessel_i1e_slope(y: Any, x: Any, t: Any) -> Any:
    return mul(t, sub(sub(bessel_i0e(x), mul(sign(x), y)), _over_x(y, x)))


bessel_i1e = unary(
    "bessel_i1e",
    doc="exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    example=("print(lax.bessel_i1e(jnp.array([0.0, 1.0])).round(3))", "[0.    0.208]"),
    accepts=FLOAT,
    **by_formula(_bessel_i1e),
    jvp=_bessel_i1e_slope,
    samples=[real(2, 3, low=-12.0, high=12.0), np.array([0.0, 0.5])],
)


def _unscaled(m: Any, x: Any, scaled: Callable[..., Any]) -> Any:
    # exp(|x|) in two factors: it overflows before the product does. Far out, where the product is
    # infinite, the scaled function at infinity would be 0.
    x = m.minimum(m.maximum(x, -1400.0), 1400.0)
    half = m.exp(abs(x) * 0.5)
    return half * scaled(m, x) * half


bessel_i0 = unary(
    "bessel_i0",
    doc="I0(x), the modified Bessel function of order 0.",
    accepts=FLOAT,
    **by_formula(lambda m, x: _unscaled(m, x, _bessel_i0e)),
    jvp=lambda y, x, t: mul(t, bessel_i1(x)),
    samples=[real(2, 3, low=-12.0, high=12.0)],
)

bessel_i1 = unary(
    "bessel_i1",
    doc="I1(x), the modified Bessel function of order 1.",
    accepts=FLOAT,
    **by_formula(lambda m, x: _unscaled(m, x, _bessel_i1e)),
    jvp=lambda y, x, t: mul(t, sub(bessel_i0(x), _over_x(y, x))),
    samples=[real(2, 3, low=-12.0, high=12.0), np.array([0.0, 0.5])],
)

# --- Bessel functions of the first kind

# Hankel's P and Q for the orders 0 and 1 (Abramowitz and Stegun 9.2.5), Q times x, in 128/x² - 1,
# x >= 8. The polynomials interpolate at Chebyshev's points, to below 1e-17; computed with mpmath.
_P0 = (
    3.339452259070809e-14,
    -1.0251790052831013e-13,
    2.4531772967345006e-13,
    -1.0157485021065676e-12,
    4.786995821368028e-12,
    -2.491146535471666e-11,
    1.5500565496632596e-10,
    -1.2121098178951377e-09,
    1.280376144080092e-08,
    -2.0527448261170675e-07,
    6.137416080109497e-06,
    -0.0005363673192129672,
    0.9994572757882519,
)
_Q0 = (
    1.0185094098694355e-13,
    -2.7338449247237154e-13,
    4.605060470396763e-13,
    -1.6783779045026498e-12,
    6.951785915752245e-12,
    -2.8840344824996496e-11,
    1.3623497617833053e-10,
    -7.57586453075858e-10,
    5.146231602705606e-09,
    -4.5349736139769986e-08,
    5.684971881753781e-07,
    -1.1817110660715592e-05,
    0.0005466519279475266,
    -0.12444091103610816,
)
_P1 = (
    -3.5455617466606254e-14,
    1.0923713653079462e-13,
    -2.6335760672461096e-13,
    1.0954826479277623e-12,
    -5.191158004646548e-12,
    2.72345126828134e-11,
    -1.713107485294131e-10,
    1.3602969253877949e-09,
    -1.4708512991275258e-08,
    2.453676633366693e-07,
    -7.9596946984383e-06,
    0.0008988049416705183,
    1.0009070262780821,
)
_Q1 = (
    -1.0759215471978615e-13,
    2.8960940831153833e-13,
    -4.91574062967655e-13,
    1.796964474573459e-12,
    -7.465104477698295e-12,
    3.1143942213346517e-11,
    -1.4816588916791194e-10,
    8.315586321594619e-10,
    -5.720890888840857e-09,
    5.136106815451932e-08,
    -6.633568561050814e-07,
    1.4569614809339924e-05,
    -0.0007697167057643706,
    0.3742149922195918,
)


def _hankel(m: Any, x: Any) -> tuple[Any, Any]:
    """J0 and J1 at x >= 8."""
    r = 1.0 / x
    t = r * r * 128.0 - 1.0
    size = m.sqrt(r * (1.0 / math.pi))
    sine, cosine = m.sin(x), m.cos(x)
    p, q = polynomial(t, _P0), polynomial(t, _Q0) * r
    j0 = size * (p * (cosine + sine) - q * (sine - cosine))
    p, q = polynomial(t, _P1), polynomial(t, _Q1) * r
    return j0, size * (p * (sine - cosine) + q * (sine + cosine))


_STEP, _TOP = 2.0**-512, 1e100


def _bessel_j(m: Any, x: Any, order: int, start: int) -> list[Any]:
    """J_0(x), ..., J_order(x)."""
    size = m.minimum(m.maximum(abs(x), 1e-150), 1e300)
    r = 2.0 / size

    # Upwards from J_0 and J_1, which is stable while the order is below x.
    def climb(k: Any, low: Any, high: Any) -> tuple[Any, ...]:
        return high, high * (r * k) - low

    up = list(_hankel(m, m.maximum(size, 8.0)))
    if order > 1:
        rows, _ = m.rounds(climb, up, range(1, order), order - 1)
        up += [row[1] for row in rows]

    # Downwards from any small number (Miller's method), scaled down wherever it grows too large.
    def descend(k: Any, before: Any, f: Any, total: Any, scaled: Any) -> tuple[Any, ...]:
        before, f = f, f * (r * (k + 1.0)) - before
        half = k * 0.5 + zero
        total = m.where(m.floor(half) == half, total + f * 2.0, total)
        grown = abs(f) > _TOP
        factor = m.where(grown, m.full_like(f, _STEP), 1.0)
        scaled = m.where(grown, scaled + 1.0, scaled)
        return before * factor, f * factor, total * factor, scaled

    zero = m.full_like(size, 0.0)
    state = (zero, m.full_like(size, 1e-16), zero, zero)
    down, (_, f, total, scaled) = m.rounds(descend, state, range(start, -1, -1), order + 1)
    rows = [(row[1], row[3]) for row in down]
    # J_0 + 2 J_2 + 2 J_4 + ... = 1.
    whole = total - f
    ys = []
    for k, (row, then) in enumerate(reversed(rows)):
        behind = scaled - then
        y = m.where(behind > 0.0, row * _STEP, row) / whole
        y = m.where(behind > 1.0, y * _STEP, y)
        y = m.where(size > float(max(8, order)), up[k], y)
        y = m.where(abs(x) == math.inf, 0.0, m.where(x == x, y, x))
        ys.append(m.where(x < 0.0, -y, y) if k % 2 else y)
    if order:
        ys[1] = m.where(abs(x) < 1e-150, x * 0.5, ys[1])
    return ys


class BesselJ(Primitive):
    """The Bessel functions of the first kind of the orders 0 to `order`, on a new first axis."""

    name = "bessel_j"

    def type(self, x, *, order, start):
        if x.dtype not in FLOAT:
            raise DtypeError("takes floats", x=x)
        return x.with_shape((order + 1, *x.shape))

    def numpy(self, x, *, order, start):
        return np.stack(_bessel_j(NumpyMath(), x.astype(np.float64), order, start)).astype(x.dtype)

    def jvp(self, xs, ts, *, order, start):
        # J_k' = (J_(k-1) - J_(k+1)) / 2, and J_(-1) = -J_1.
        (x,), (t,) = xs, ts
        more = bessel_j(x, order + 1, start)
        below = [neg(slice_in_dim(more, 1, 2)), slice_in_dim(more, 0, order)][: 1 + (order > 0)]
        slope = mul(sub(concatenate(below, 0), slice_in_dim(more, 1, order + 2)), 0.5)
        t = broadcast_in_dim(t, slope.shape, tuple(range(1, len(slope.shape))))
        return slice_in_dim(more, 0, order + 1), mul(slope, t)

    def batch(self, frame, xs, mapped, *, order, start):
        y = self.bind(*xs, order=order, start=start)
        return permute(y, (1, 0, *range(2, type_of(y).ndim))), True

    def lower(self, b, x, *, order, start):
        m: Any = HloMath(b)
        width = dtypes.float32 if b.platform == "tpu" else dtypes.float64
        ys = _bessel_j(m, m.term(x).astype(width), order, start)
        rows = [b.reshape(b.convert(y.value, x.dtype), (1, *x.shape)) for y in ys]
        return b.concatenate(rows, 0)

    def samples(self):
        yield (real(2, 3, low=-12.0, high=12.0),), {"order": 2, "start": 50}
        yield (real(2, low=0.1, high=2.0),), {"order": 0, "start": 50}


bessel_j_p = register(BesselJ())


def bessel_j(x: Any, order: int, rounds: int) -> Any:
    """J_0(x), ..., J_order(x) on a new first axis, by at least so many rounds of recurrence.

    Cost: the program grows with the order.
    """
    top = max(8, order)
    # For x up to `top`, what is left out above counts less than 1e-16.
    enough = int(top + 14 * top ** (1 / 3) + 12)
    return bessel_j_p.bind(x, order=order, start=max(rounds, enough))


__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j"]
