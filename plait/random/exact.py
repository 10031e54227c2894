"""Functions whose last bit decides whether samples equal JAX's: XLA's own.

On CPU plait computes some of them by faster or more exact formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.primitive import Primitive, register
from plait.core.sample import real
from plait.errors import DtypeError
from plait.ops import functions, special
from plait.ops.elementwise import Elementwise


def _as_xla(op: Elementwise) -> Elementwise:
    """The op with XLA's own lowering on every platform; the op itself where it has no other."""
    if op.cpu is None:
        return op
    return register(op.variant(f"xla_{op.name}", cpu=None))


erf = _as_xla(special.erf)
erf_inv = _as_xla(special.erf_inv)
exp = _as_xla(functions.exp)
lgamma = _as_xla(special.lgamma)
log = _as_xla(functions.log)
log1p = _as_xla(functions.log1p)
pow = _as_xla(functions.pow_p)
tan = _as_xla(functions.tan)


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


def running_sums(x: Any, axis: int, reverse: bool = False) -> Any:
    """The running sums of floats along an axis, with the bits of XLA's."""
    return running_sums_p.bind(x, axis=axis, reverse=reverse)


__all__ = ["erf", "erf_inv", "exp", "lgamma", "log", "log1p", "pow", "running_sums", "tan"]
