"""jax.interpreters.ad: derivatives of primitives."""

from collections.abc import Callable
from typing import Any

from plait.as_jax.primitive import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    defbilinear,
    defjvp,
    defjvp2,
    deflinear,
    deflinear2,
    instantiate_zeros,
    primitive_jvps,
    primitive_transposes,
)
from plait.core.primitive import Primitive
from plait.interpreters.jvp import Jvp as JVPTrace
from plait.interpreters.jvp import JvpTracer as JVPTracer


def is_undefined_primal(x: object) -> bool:
    """Whether an operand of a transpose rule is one in which the primitive is linear."""
    return isinstance(x, UndefinedPrimal)


def get_primitive_transpose(primitive: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive. Raises KeyError."""
    return primitive_transposes[primitive]


__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
]
