"""The argument `accuracy=` of lax's elementwise functions: what a caller wants, and what there is.

There is one implementation of each function, so that an accuracy can only be refused. What plait
has is measured, and written down in docs/accuracy.md.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError

TAKE_ACCURACY = frozenset(
    "cbrt cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh".split()
)
# Errors in units in the last place, rounded up; of complex numbers part by part.
ULPS = {"real": 2, "complex": 8}


class AccuracyMode(enum.Enum):
    """How exact a function of lax should be: both are the one implementation there is.

    >>> lax.exp(0.0, accuracy=lax.AccuracyMode.HIGHEST)
    Array(1., dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2


class _Tolerance(NamedTuple):
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class Tolerance(_Tolerance):
    """How far a function of lax may be from the exact result: absolutely, relative to it, or in
    units in the last place; the loosest one counts.

    Raises: ArgumentError if one is negative or all are zero.

    >>> lax.tanh(0.0, accuracy=lax.Tolerance(rtol=1e-5))
    Array(0., dtype=float32, weak_type=True)
    """

    __slots__ = ()

    def __new__(cls, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0):
        given: dict[str, Any] = {"atol": atol, "rtol": rtol, "ulps": ulps}
        if not min(atol, rtol, ulps) >= 0:
            raise ArgumentError("tolerances are not negative", op="Tolerance", **given)
        if not max(atol, rtol, ulps):
            raise ArgumentError("gives none of atol, rtol and ulps", op="Tolerance")
        return super().__new__(cls, atol, rtol, ulps)


def check_accuracy(op: str, accuracy: Any, x: Any) -> None:
    """Raise ArgumentTypeError unless an op takes this argument, ArgumentError for a tolerance that
    plait's function of x does not keep. An absolute one is compared at results near 1.
    """
    if op not in TAKE_ACCURACY:
        raise ArgumentTypeError("takes no accuracy", op=op, accuracy=accuracy)
    if isinstance(accuracy, AccuracyMode):
        return
    if not isinstance(accuracy, Tolerance):
        summary = "accuracy is an AccuracyMode, a Tolerance or None"
        fix = "lax.AccuracyMode.HIGHEST"
        raise ArgumentTypeError(summary, op=op, accuracy=accuracy, fix=fix)
    type_ = type_of(x)
    if type_.dtype not in dtypes.INEXACT:
        return  # the op says so
    ulps = ULPS["complex" if type_.dtype in dtypes.COMPLEX else "real"]
    relative = ulps * float(dtypes.finfo(type_.dtype).eps)
    if max(accuracy.ulps / ulps, accuracy.rtol / relative, accuracy.atol / relative) < 1:
        raise ArgumentError(
            f"is exact to {ulps} units in the last place, not to this tolerance",
            op=op,
            x=type_,
            accuracy=accuracy,
            fix=f"ulps={ulps}, rtol={relative:.1e}, or operands of a wider dtype",
        )
