"""relu and its kin, softmax, log_softmax, logsumexp: ops of their own for the sake of derivatives.

Written out in smaller ops their derivatives would be wrong at a kink, not finite at the ends of
the range, or need more memory: those of softmax need its result and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import FLOAT, REAL
from plait.core.primitive import Primitive, register, zeros_like
from plait.core.sample import integers, positive, real
from plait.core.types import type_of
from plait.errors import DtypeError
from plait.ops.arithmetic import div, mul, sub
from plait.ops.axes import broadcast_in_dim, reduce_sum
from plait.ops.compare import bitwise_and, eq, gt, lt, select
from plait.ops.elementwise import unary
from plait.ops.functions import exp, expm1, wide
from plait.ops.reduce import without

# --- element by element

relu = unary(
    "relu",
    doc="max(x, 0); NaN for NaN. The derivative at 0 is 0.",
    accepts=REAL,
    numpy=lambda x: np.maximum(x, x.dtype.type(0)),
    hlo=lambda b, x: b.binary("maximum", x, b.full_like(x, 0)),
    jvp=lambda y, x, t: select(gt(x, 0), t, zeros_like(t)),
    samples=[real(2, 3), integers(5)],
)

relu6 = unary(
    "relu6",
    doc="min(max(x, 0), 6); NaN for NaN. The derivative at 0 and 6 is 0.",
    accepts=FLOAT,
    numpy=lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)),
    hlo=lambda b, x: b.op("clamp", (b.full_like(x, 0), x, b.full_like(x, 6)), x.type),
    jvp=lambda y, x, t: select(bitwise_and(gt(x, 0.0), lt(x, 6.0)), t, zeros_like(t)),
    samples=[real(2, 3, low=-3.0, high=9.0)],
)


def _log1mexp(x: np.ndarray) -> np.ndarray:
    # Near 0, 1 - exp(-x) loses digits that expm1 keeps; far from it exp(-x) is small beside 1.
    return np.where(x < np.log(2.0), np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


def _lower_log1mexp(b: Any, x: Any) -> Any:
    minus = b.unary("negate", x)
    near = b.unary("log", b.unary("negate", b.unary("exponential_minus_one", minus)))
    far = b.unary("log_plus_one", b.unary("negate", b.unary("exponential", minus)))
    return b.select(b.compare("LT", x, b.full_like(x, np.log(2.0))), near, far)


log1mexp = unary(
    "log1mexp",
    doc="log(1 - exp(-x)), exact near 0 and far from it; -inf at 0, NaN below.",
    accepts=FLOAT,
    numpy=wide(_log1mexp),
    hlo=_lower_log1mexp,
    jvp=lambda y, x, t: div(t, expm1(x)),
    samples=[positive(2, 3)],
)

# --- along axes


def _spread(totals: Any, like: Any, axes: tuple[int, ...]) -> Any:
    kept = tuple(k for k in range(type_of(like).ndim) if k not in axes)
    return broadcast_in_dim(totals, type_of(like).shape, kept)


def _top(b: Any, x: Any, axes: tuple[int, ...]) -> Any:
    low = b.constant(np.asarray(-np.inf, x.dtype))
    return b.reduce([x], [low], axes, lambda a, c: (b.binary("maximum", a, c),))[0]


def _total(b: Any, x: Any, axes: tuple[int, ...]) -> Any:
    # Half-precision sums are carried in float32 and rounded once.
    width = dtypes.float32 if x.dtype.itemsize <= 2 else x.dtype
    zero = b.constant(np.zeros((), width))
    (out,) = b.reduce([b.convert(x, width)], [zero], axes, lambda a, c: (b.add(a, c),))
    return b.convert(out, x.dtype)


class _AlongAxes(Primitive):
    """A function of the numbers along some axes, which keeps these axes."""

    def type(self, x, *, axes):
        if x.dtype not in FLOAT:
            raise DtypeError("takes floats", x=x)
        return x

    def batch(self, frame, xs, mapped, *, axes):
        return self.bind(xs[0], axes=tuple(a + 1 for a in axes)), True

    def samples(self):
        yield (real(2, 3),), {"axes": (1,)}
        yield (real(2, 3, 2),), {"axes": (0, 2)}
        yield (real(4),), {"axes": (0,)}


def _shifted(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return x - np.max(x, axes, keepdims=True, initial=-np.inf)


class Softmax(_AlongAxes):
    """exp(x) divided by its sum over some axes, without overflow."""

    name = "softmax"

    def numpy(self, x, *, axes):
        unscaled = np.exp(_shifted(x, axes))
        return (unscaled / np.sum(unscaled, axes, keepdims=True)).astype(x.dtype)

    def jvp(self, xs, ts, *, axes):
        # dy = y (t - sum(y t)).
        (t,) = ts
        y = self.bind(*xs, axes=axes)
        return y, mul(y, sub(t, _spread(reduce_sum(mul(y, t), axes), t, axes)))

    def lower(self, b, x, *, axes):
        kept = [k for k in range(x.ndim) if k not in axes]
        top = b.broadcast_in_dim(_top(b, x, axes), x.shape, kept)
        unscaled = b.unary("exponential", b.sub(x, top))
        total = b.broadcast_in_dim(_total(b, unscaled, axes), x.shape, kept)
        return b.binary("divide", unscaled, total)


class LogSoftmax(_AlongAxes):
    """The logarithm of softmax, without underflow."""

    name = "log_softmax"

    def numpy(self, x, *, axes):
        shifted = _shifted(x, axes)
        with np.errstate(divide="ignore"):
            total = np.log(np.sum(np.exp(shifted), axes, keepdims=True))
        return (shifted - total).astype(x.dtype)

    def jvp(self, xs, ts, *, axes):
        # dy = t - sum(softmax(x) t).
        (t,) = ts
        y = self.bind(*xs, axes=axes)
        return y, sub(t, _spread(reduce_sum(mul(exp(y), t), axes), t, axes))

    def lower(self, b, x, *, axes):
        kept = [k for k in range(x.ndim) if k not in axes]
        shifted = b.sub(x, b.broadcast_in_dim(_top(b, x, axes), x.shape, kept))
        total = b.unary("log", _total(b, b.unary("exponential", shifted), axes))
        return b.sub(shifted, b.broadcast_in_dim(total, x.shape, kept))


class LogSumExp(_AlongAxes):
    """log(sum(exp(x))) over some axes, which leave the shape; -inf for an empty sum."""

    name = "logsumexp"

    def type(self, x, *, axes):
        return super().type(x, axes=axes).with_shape(without(x.shape, axes))

    def numpy(self, x, *, axes):
        x64 = x.astype(np.float64)
        top = np.max(x64, axes, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            total = np.log(np.sum(np.exp(x64 - top), axes))
        return np.asarray(total + top.reshape(total.shape)).astype(x.dtype)

    def jvp(self, xs, ts, *, axes):
        # dy = sum(exp(x - y) t). Where the sum is 0, y is -inf: there the derivative is 0.
        (x,), (t,) = xs, ts
        y = self.bind(x, axes=axes)
        shift = select(eq(y, -np.inf), zeros_like(y), y)
        return y, reduce_sum(mul(exp(sub(x, _spread(shift, x, axes))), t), axes)

    def lower(self, b, x, *, axes):
        kept = [k for k in range(x.ndim) if k not in axes]
        top = _top(b, x, axes)
        # An infinite maximum would give inf - inf; the sum does not need a shift then.
        finite = b.unary("is_finite", top, dtypes.bool_)
        top = b.select(finite, top, b.full_like(top, 0))
        unscaled = b.unary("exponential", b.sub(x, b.broadcast_in_dim(top, x.shape, kept)))
        return b.add(b.unary("log", _total(b, unscaled, axes)), top)


softmax_p = register(Softmax())
log_softmax_p = register(LogSoftmax())
logsumexp_p = register(LogSumExp())


__all__ = ["log1mexp", "log_softmax_p", "logsumexp_p", "relu", "relu6", "softmax_p"]
