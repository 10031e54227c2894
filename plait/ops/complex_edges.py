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

_INF, _NAN = math.inf, math.nan


class Parts(NamedTuple):
    """The parts of complex numbers."""

    re: Any
    im: Any


def with_edges(
    b: Builder, x: Value, y: Value, edges: Callable[[HloMath, Parts, Parts], Parts]
) -> Value:
    """The right value at x of a function of which XLA's is y."""
    m = HloMath(b)

    def parts(z: Value) -> Parts:
        kind = ArrayType(z.shape, dtypes.real_of(z.dtype))
        return Parts(*(m.term(b.op(part, (z,), kind)) for part in ("real", "imag")))

    re, im = edges(m, parts(x), parts(y))
    return b.op("complex", (re.value, im.value), y.type)


def _nan(x: Term) -> Term:
    return x != x


def _infinite(x: Term) -> Term:
    return abs(x) == _INF


def _unbounded(x: Term) -> Term:
    """Infinite or NaN."""
    return ~(abs(x) < _INF)


def _but(m: HloMath, y: Parts, where: Term, re: Any, im: Any) -> Parts:
    """y, but the numbers (re, im) in some places."""
    return Parts(m.where(where, re, y.re), m.where(where, im, y.im))


def exp(m: HloMath, x: Parts, y: Parts, limit: float = 0.0) -> Parts:
    lost = _unbounded(x.im)
    y = _but(m, y, (x.re == _INF) & lost, _INF, _NAN)
    return _but(m, y, (x.re == -_INF) & lost, limit, 0.0)


def expm1(m: HloMath, x: Parts, y: Parts) -> Parts:
    return exp(m, x, y, limit=-1.0)


def log(m: HloMath, x: Parts, y: Parts) -> Parts:
    one = (_infinite(x.re) & _nan(x.im)) | (_nan(x.re) & _infinite(x.im))
    return _but(m, y, one, _INF, _NAN)


def cosh(m: HloMath, x: Parts, y: Parts) -> Parts:
    lost = _unbounded(x.im)
    y = _but(m, y, (x.re == 0.0) & lost, _NAN, 0.0)
    return _but(m, y, _infinite(x.re) & lost, _INF, _NAN)


def sinh(m: HloMath, x: Parts, y: Parts) -> Parts:
    return _but(m, y, ((x.re == 0.0) | _infinite(x.re)) & _unbounded(x.im), x.re, _NAN)


def tanh(m: HloMath, x: Parts, y: Parts) -> Parts:
    return _but(m, y, (x.re == 0.0) & _unbounded(x.im), x.re, _NAN)


def acosh(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = Parts(y.re, with_sign(abs(y.im), x.im))
    return _but(m, y, (x.re == 0.0) & _nan(x.im), _NAN, math.pi / 2)


def asinh(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = Parts(with_sign(abs(y.re), x.re), with_sign(abs(y.im), x.im))
    return _but(m, y, _nan(x.re) & (x.im == 0.0), _NAN, x.im)


def atanh(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = Parts(with_sign(abs(y.re), x.re), with_sign(abs(y.im), x.im))
    limit = (x.re == 0.0) | _infinite(x.re)
    y = _but(m, y, _nan(x.im) & limit, with_sign(m.full_like(x.re, 0.0), x.re), _NAN)
    return _but(m, y, (_nan(x.im) & ~limit) | (_nan(x.re) & ~_infinite(x.im)), _NAN, _NAN)


def sqrt(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = Parts(y.re, with_sign(abs(y.im), x.im))
    y = _but(m, y, (x.re == _INF) & _nan(x.im), _INF, _NAN)
    y = _but(m, y, (x.re == -_INF) & _nan(x.im), _NAN, _INF)
    return _but(m, y, _infinite(x.im), _INF, x.im)


def rsqrt(m: HloMath, x: Parts, y: Parts) -> Parts:
    return Parts(y.re, with_sign(abs(y.im), -x.im))


def acos(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = Parts(y.re, with_sign(abs(y.im), -x.im))
    return _but(m, y, (x.re == 0.0) & _nan(x.im), math.pi / 2, _NAN)


# --- f(z) = -i g(iz), where g is the hyperbolic function: the same, a quarter turn on


def _turned(
    g: Callable[[HloMath, Parts, Parts], Parts],
) -> Callable[[HloMath, Parts, Parts], Parts]:
    def edges(m: HloMath, x: Parts, y: Parts) -> Parts:
        re, im = g(m, Parts(-x.im, x.re), Parts(-y.im, y.re))
        return Parts(im, -re)

    return edges


tan, asin, atan = map(_turned, (tanh, asinh, atanh))


def sin(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = _turned(sinh)(m, x, y)
    # Here XLA's product of sin(0) and infinity is lost, as that of cosine below.
    return _but(m, y, (x.re == 0.0) & _unbounded(x.im), x.re, x.im)


def cos(m: HloMath, x: Parts, y: Parts) -> Parts:
    y = cosh(m, Parts(-x.im, x.re), y)
    return _but(m, y, (x.re == 0.0) & _unbounded(x.im), abs(x.im), 0.0)
