"""Functions of complex numbers where XLA's formulas fail: at infinities, NaN and on branch cuts.

XLA computes the parts by products and quotients, of which inf * 0 and the like are NaN although the
function has a limit, and takes -0 for 0 on the cuts, whose two sides differ by it. Each function
here gets the parts of the operand and of XLA's result and gives those of the right result.
Source: ISO C, annex G.6, whose values NumPy and the array API standard give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.hlo.builder import Builder, Value
from plait.hlo.formula import HloMath, Term, with_sign

INF, NAN = math.inf, math.nan


class Parts(NamedTuple):
    """The parts of complex numbers."""

    re: Any
    im: Any


def parts(m: HloMath, z: Value) -> Parts:
    kind = ArrayType(z.shape, dtypes.real_of(z.dtype))
    return Parts(*(m.term(m.b.op(part, (z,), kind)) for part in ("real", "imag")))


def joined(b: Builder, z: Parts, kind: ArrayType) -> Value:
    """The complex numbers of some parts."""
    return b.op("complex", (z.re.value, z.im.value), kind)


def with_edges(
    b: Builder, x: Value, y: Value, edges: Callable[[HloMath, Parts, Parts], Parts]
) -> Value:
    """The right value at x of a function of which XLA's is y."""
    m = HloMath(b)
    return joined(b, edges(m, parts(m, x), parts(m, y)), y.type)


def is_nan(x: Term) -> Term:
    return x != x


def infinite(x: Term) -> Term:
    return abs(x) == INF


def unbounded(x: Term) -> Term:
    """Infinite or NaN."""
    return ~(abs(x) < INF)


def but(m: HloMath, y: Parts, where: Term, re: Any, im: Any) -> Parts:
    """y, but the numbers (re, im) in some places."""
    return Parts(m.where(where, re, y.re), m.where(where, im, y.im))


def _lost(m: HloMath, x: Parts, y: Parts) -> Parts:
    """y, but NaN where a part of x is NaN and the other not infinite."""
    lost = (is_nan(x.re) & ~infinite(x.im)) | (is_nan(x.im) & ~infinite(x.re))
    return but(m, y, lost, NAN, NAN)


def acosh(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = _lost(m, x, Parts(y.re, with_sign(abs(y.im), x.im)))
    return but(m, y, (x.re == 0.0) & is_nan(x.im), NAN, math.pi / 2)


def asinh(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = _lost(m, x, Parts(with_sign(abs(y.re), x.re), with_sign(abs(y.im), x.im)))
    return but(m, y, is_nan(x.re) & (x.im == 0.0), NAN, x.im)


def atanh(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = _lost(m, x, Parts(with_sign(abs(y.re), x.re), with_sign(abs(y.im), x.im)))
    # Beside the poles XLA squares the distance b, which is too small: log(2 / b) / 2.
    small = 1e-4 if x.im.dtype == dtypes.float32 else 1e-8
    beside = (abs(x.re) == 1.0) & (abs(x.im) < small) & (x.im != 0.0)
    large = (math.log(2.0) - m.log(abs(x.im))) * 0.5
    y = Parts(m.where(beside, with_sign(large, x.re), y.re), y.im)
    limit = (x.re == 0.0) | infinite(x.re)
    return but(m, y, is_nan(x.im) & limit, with_sign(m.full_like(x.re, 0.0), x.re), NAN)


def sqrt(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = Parts(y.re, with_sign(abs(y.im), x.im))
    y = but(m, y, (x.re == INF) & is_nan(x.im), INF, NAN)
    y = but(m, y, (x.re == -INF) & is_nan(x.im), NAN, INF)
    return but(m, y, infinite(x.im), INF, x.im)


def acos(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = _lost(m, x, Parts(y.re, with_sign(abs(y.im), -x.im)))
    return but(m, y, (x.re == 0.0) & is_nan(x.im), math.pi / 2, NAN)


# --- f(z) = -i g(iz), where g is the hyperbolic function: the same, a quarter turn on


def _turned(
    g: Callable[[HloMath, Parts, Parts], Parts],
) -> Callable[[HloMath, Parts, Parts], Parts]:
    def edges(m: HloMath, x: Parts, y: Parts) -> Parts:
        re, im = g(m, Parts(-x.im, x.re), Parts(-y.im, y.re))
        return Parts(im, -re)

    return edges


asin, atan = map(_turned, (asinh, atanh))
