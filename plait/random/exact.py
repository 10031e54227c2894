"""Functions whose bits decide whether samples equal JAX's: XLA's own tan, power and running sums.

On CPU plait computes these by faster formulas, which may differ in the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.primitive import Primitive, register
from plait.core.sample import positive, real
from plait.errors import DtypeError
from plait.ops.arithmetic import add, integer_pow, mul, sub
from plait.ops.compare import eq, select
from plait.ops.elementwise import binary, unary
from plait.ops.functions import log, wide

xla_tan = unary(
    "xla_tan",
    doc="tan(x) as XLA computes it. StableHLO: tan.",
    accepts=FLOAT,
    numpy=wide(np.tan),
    hlo="tan",
    jvp=lambda y, x, t: mul(t, add(integer_pow(y, 2), 1.0)),
    samples=[real(2, 3, low=-1.4, high=1.4)],
)


def _slope_in_base(z: Any, x: Any, y: Any, t: Any) -> Any:
    # x ** 0 is 1 everywhere, so its derivative is 0 where x ** (0 - 1) is infinite.
    constant = eq(y, 0.0)
    return mul(t, mul(y, xla_pow(x, sub(select(constant, 1.0, y), 1.0))))


def _slope_in_exponent(z: Any, x: Any, y: Any, t: Any) -> Any:
    zero = eq(x, 0.0)
    return mul(t, mul(log(select(zero, 1.0, x)), z))


xla_pow = binary(
    "xla_pow",
    doc="x ** y as XLA computes it. StableHLO: power.",
    accepts=FLOAT,
    numpy=wide(np.power),
    hlo="power",
    jvp=(_slope_in_base, _slope_in_exponent),
    samples=[(positive(2, 3), real(2, 3)), (positive(3), real())],
)


class RunningSums(Primitive):
    """The sums of the elements up to each one (from each one on with `reverse`), along an axis, in
    the order in which XLA adds: a window over everything before, which XLA makes a tree of sums.
    """

    name = "xla_cumsum"
    differentiable = False

    def type(self, x, *, axis, reverse):
        if x.dtype not in FLOAT:
            raise DtypeError("takes floats", x=x)
        return x

    def numpy(self, x, *, axis, reverse):
        x = np.flip(x, axis) if reverse else x
        sums = np.cumsum(x.astype(np.float64), axis).astype(x.dtype)
        return np.flip(sums, axis) if reverse else sums

    def batch(self, frame, xs, mapped, *, axis, reverse):
        return self.bind(*xs, axis=axis + 1, reverse=reverse), True

    def lower(self, b, x, *, axis, reverse):
        n = x.shape[axis]
        if not n:
            return x
        ones = (1,) * x.ndim
        before = (0, n - 1) if reverse else (n - 1, 0)
        zero = b.constant(np.zeros((), x.dtype))
        (y,) = b.reduce_window(
            [x],
            [zero],
            x.shape,
            lambda a, c: (b.add(a, c),),
            size=tuple(n if k == axis else 1 for k in range(x.ndim)),
            strides=ones,
            padding=tuple(before if k == axis else (0, 0) for k in range(x.ndim)),
            base_dilation=ones,
            window_dilation=ones,
        )
        return y

    def samples(self):
        yield (real(7, dtype=np.float32),), {"axis": 0, "reverse": False}
        yield (real(2, 5, dtype=np.float32),), {"axis": 1, "reverse": True}


running_sums_p = register(RunningSums())


def xla_cumsum(x: Any, axis: int, reverse: bool = False) -> Any:
    """The running sums of floats along an axis, with the bits of XLA's."""
    return running_sums_p.bind(x, axis=axis, reverse=reverse)


__all__ = ["xla_cumsum", "xla_pow", "xla_tan"]
