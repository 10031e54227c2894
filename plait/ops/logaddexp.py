"""logaddexp: the logarithm of a sum of two exponentials, its derivatives smooth at ties."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.dtypes import FLOAT
from plait.core.primitive import zeros_like
from plait.core.sample import real
from plait.ops import cpu_functions
from plait.ops.arithmetic import mul, sub
from plait.ops.compare import bitwise_and, eq, ne, select
from plait.ops.elementwise import binary
from plait.ops.functions import logistic


def _lower(b: Any, x: Any, y: Any) -> Any:
    gap = b.sub(x, y)
    # Equal infinities have no difference; their sum is themselves.
    same = b.compare("EQ", x, y)
    gap = b.select(same, b.full_like(x, 0), gap)
    low = b.unary("negate", b.unary("abs", gap))
    rest = b.unary("log_plus_one", b.unary("exponential", low))
    return b.add(b.binary("maximum", x, y), rest)


def _slope(x: Any, y: Any) -> Any:
    """d logaddexp(x, y) / dx = exp(x) / (exp(x) + exp(y))."""
    gap = sub(x, y)
    # Equal infinities have no difference; NaN stays NaN, and equal numbers keep their derivative.
    undefined = bitwise_and(eq(x, y), ne(gap, gap))
    return logistic(select(undefined, zeros_like(gap), gap))


logaddexp = binary(
    "logaddexp",
    doc="log(exp(x) + exp(y)), without overflow on the way.",
    accepts=FLOAT,
    numpy=np.logaddexp,
    hlo=_lower,
    cpu=cpu_functions.lowering(_lower, cpu_functions.logaddexp32),
    jvp=(
        lambda z, x, y, t: mul(t, _slope(x, y)),
        lambda z, x, y, t: mul(t, _slope(y, x)),
    ),
    samples=[(real(2, 3), real(2, 3, low=-3.0, high=1.0)), (real(3), real())],
)
