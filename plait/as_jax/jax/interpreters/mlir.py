"""jax.interpreters.mlir: how primitives are compiled.

plait writes StableHLO as text. A rule made by lower_fun says by a function of arrays what is to be
computed; rules that build MLIR objects are kept, and refused when the primitive is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.as_jax.primitive import LoweredFunction, Primitive, lowerings
from plait.errors import ArgumentTypeError

LoweringRule = Callable[..., Any]


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweredFunction:
    """The lowering rule of a primitive that does what a function does."""
    return LoweredFunction(fun, multiple_results)


def register_lowering(
    prim: Primitive, rule: Callable[..., Any], platform: str | None = None, **_: Any
) -> Callable[..., Any]:
    """Give a primitive its lowering rule, for all platforms; one for a single platform is not used.

    Raises: ArgumentTypeError for ops of plait's own.
    """
    if not isinstance(prim, Primitive):
        raise ArgumentTypeError(
            "the lowering of an op of plait's cannot be replaced",
            op=getattr(prim, "name", None),
            fix="make a Primitive of your own",
        )
    if platform is None:
        lowerings[prim] = rule
    return rule


__all__ = ["LoweringRule", "lower_fun", "register_lowering"]
