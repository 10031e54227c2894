"""Functions of float32 as formulas for XLA:CPU, which calls a scalar routine for many of them.

A formula without branches becomes vector code inside whatever loop XLA fuses it into. All follow one
pattern: reduce the operand to a short interval, evaluate a polynomial, put the result together. The
polynomials are minimax approximations of the function named beside them, found by Remez's algorithm
with mpmath. Steps that would lose digits in float32 are taken in float64. Two rules of XLA:CPU shape
the formulas: it may fuse a product and a sum into one rounding, and it reads and writes subnormal
floats as zeros, so these are handled as integers where they matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.hlo.formula import HloMath, Term, polynomial

_F32, _F64, _I32, _I64 = dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64
_SMALLEST_NORMAL = 2.0**-126


def lowering(op: str, formula: Callable[..., Term], chlo: bool = False) -> Callable[..., Any]:
    """A `cpu` rule: formula(m, *terms) for float32 and narrower floats, XLA's own op for others."""

    def lower(b: Any, *xs: Any) -> Any:
        dtype = xs[0].dtype
        if dtype == _F64 or dtype in dtypes.COMPLEX:
            emit = b.chlo if chlo else b.op
            return emit(op, xs, ArrayType(xs[0].shape, dtype))
        m = HloMath(b)
        y = formula(m, *(m.term(x).astype(_F32) for x in xs))
        return b.convert(y.value, dtype)

    return lower


# --- sine, cosine, tangent

# The first 256 bits of the fraction 2/π.
_TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561
_BITS = 256


def _chunks(start: int) -> tuple[float, float, float]:
    """2/π without its bits of weight 2^start and above, as a sum of 29, 29 and 53 bits."""
    rest = _TWO_OVER_PI % (1 << (_BITS + start)) if start < 0 else _TWO_OVER_PI
    out = []
    for width in (29, 29, 53):
        start -= width
        unit = 1 << (_BITS + start)
        out.append(math.ldexp(rest // unit, start))
        rest %= unit
    return out[0], out[1], out[2]


# x times 2/π is needed modulo 4, to 2^-57. A float32 of at least 2^e is a multiple of 2^(e - 23), so
# that bits of 2/π from weight 2^(25 - e) on contribute multiples of 4 and are left out; what remains
# serves the next 30 exponents.
_RANGES = ((54, _chunks(25 - 54)), (84, _chunks(25 - 84)), (114, _chunks(25 - 114)))


def _quarter_turns(m: HloMath, x: Term) -> tuple[Term, Term]:
    """x as (n + f) quarter turns: n int32, modulo 2^32, and f float64 in [-0.54, 0.54].

    The products with the first two chunks are exact, 24 by 29 bits; the sums that cancel are exact.
    """
    d, size = x.astype(_F64), abs(x)
    c0, c1, c2 = (m.full_like(d, c) for c in _chunks(0))
    for exponent, (d0, d1, d2) in _RANGES:
        large = size >= 2.0**exponent
        c0, c1, c2 = m.where(large, d0, c0), m.where(large, d1, c1), m.where(large, d2, c2)
    p0, p1 = d * c0, d * c1
    p0 = p0 - m.rint(p0 * 0.25) * 4.0
    turns = m.rint(p0 + p1)
    f = ((p0 - turns) + p1) + d * c2
    # The low bits of a whole number beside 1.5 * 2^52 are the number itself, in two's complement.
    n = (turns + 1.5 * 2.0**52).view(_I64).astype(_I32)
    return n, f


# (sin r - r) / r³ and (cos r - 1 + r²/2) / r⁴ in r², |r| <= 0.92.
_SIN = (2.7054922818296057e-06, -0.00019837776897733058, 0.008333323749239082, -0.1666666658488581)
_COS = (2.4314167800929067e-05, -0.001388614361260865, 0.041666618615978986)
_COS_LONG = (-2.70913263052032e-07, 2.479785581257474e-05, -0.0013888876422586483, 0.0416666665235)


def _sin_or_cos(m: HloMath, x: Term, ahead: int) -> Term:
    """sin of x and `ahead` quarter turns more; both parts are shared by sin and cos of one x."""
    n, f = _quarter_turns(m, x)
    r = (f * (math.pi / 2)).astype(_F32)
    z = r * r
    sine = polynomial(z, _SIN) * z * r + r
    cosine = (polynomial(z, _COS) * z - 0.5) * z + 1.0
    if ahead:
        n = n + ahead
    y = m.where((n & 1) != 0, cosine, sine)
    return (y.view(_I32) ^ ((n & 2) << 30)).view(_F32)


def sin32(m: HloMath, x: Term) -> Term:
    # Below 2^-12 the sine is x, also where x is -0 or subnormal.
    return m.where(abs(x) < 2.0**-12, x, _sin_or_cos(m, x, 0))


def cos32(m: HloMath, x: Term) -> Term:
    return _sin_or_cos(m, x, 1)


def tan32(m: HloMath, x: Term) -> Term:
    n, f = _quarter_turns(m, x)
    r = f * (math.pi / 2)
    z = r * r
    sine = polynomial(z, _SIN) * z * r + r
    cosine = (polynomial(z, _COS_LONG) * z - 0.5) * z + 1.0
    odd = (n & 1) != 0
    y = (m.where(odd, -cosine, sine) / m.where(odd, sine, cosine)).astype(_F32)
    return m.where(abs(x) < 2.0**-12, x, y)
