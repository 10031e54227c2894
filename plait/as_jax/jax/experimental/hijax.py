"""jax.experimental.hijax: types of a program's own. plait has none.

flax.nnx defines some when it is imported, and uses them only if it is told to: the classes can be
subclassed, and whoever uses one is refused.
"""

from __future__ import annotations

from typing import Any, NoReturn

from plait.as_jax.jax.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal
from plait.core.types import ArrayType as AbstractValue
from plait.errors import ArgumentTypeError


def refuse(what: str) -> NoReturn:
    """Raise ArgumentTypeError."""
    raise ArgumentTypeError(
        "plait has no types of a program's own (hijax)",
        op=what,
        fix="in flax.nnx leave hijax=False, as it is by default",
    )


class HiType:
    """Nothing is one."""


class MutableHiType(HiType):
    """Nothing is one."""


class AvalQDD:
    """Nothing is one."""


class AvalMutableQDD:
    """Nothing is one."""


class HiPrimitive:
    """A primitive on such types: it can be defined and not bound."""

    def __init__(self, name: str = ""):
        self.name = name

    def bind(self, *_: Any, **__: Any) -> NoReturn:
        """Raise ArgumentTypeError."""
        refuse(self.name)


class _Effects:
    """Effects that loops may have: nothing is to be done about those of such primitives."""

    def add_type(self, effect: type) -> None:
        """Accepted."""


control_flow_allowed_effects = _Effects()


def register_hitype(cls: type, typeof: Any) -> None:
    """Accepted: no value of the class is ever given to a transformation."""


def aval_method(fun: Any) -> Any:
    """The function itself."""
    return fun


def aval_property(fget: Any) -> Any:
    """A property."""
    return property(fget)


__all__ = [
    "AbstractValue",
    "AvalMutableQDD",
    "AvalQDD",
    "HiPrimitive",
    "HiType",
    "MutableHiType",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]
