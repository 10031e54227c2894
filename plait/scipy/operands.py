"""What the functions of plait.scipy.special do with their operands."""

from __future__ import annotations

from typing import Any

from plait.core.dtypes import COMPLEX, FLOAT
from plait.core.types import type_of
from plait.errors import DtypeError
from plait.numpy.promotion import INEXACT_KIND, operand, promote


def apply(op: Any, name: str, *xs: Any) -> Any:
    """The result of an op with operands in its float dtype. Raises as `promote` and the op do."""
    return op.bind(*promote(name, xs, INEXACT_KIND, together=False))


def is_complex(op: str, x: Any) -> bool:
    """Whether an operand holds complex numbers."""
    return type_of(operand(op, x)).dtype in COMPLEX


def floats(op: str, x: Any) -> Any:
    """An operand that is a float already."""
    x = operand(op, x)
    if type_of(x).dtype not in FLOAT:
        raise DtypeError("takes floats", op=op, x=x, fix="convert it with jnp.asarray(x, float)")
    return promote(op, (x,), INEXACT_KIND)[0]
