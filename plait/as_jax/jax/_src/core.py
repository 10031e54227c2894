"""jax._src.core."""

from plait.as_jax.jax.extend import core as _public
from plait.as_jax.jax.extend.core import *  # noqa: F403
from plait.core import ShapedArray, Tracer, eval_jaxpr
from plait.core.context import context
from plait.core.types import ArrayType
from plait.core.types import typeof as get_aval


def trace_state_clean() -> bool:
    """Whether no transformation runs."""
    return context.interpreter.base


def physical_aval(aval: ArrayType) -> ArrayType:
    """The type itself."""
    return aval


__all__ = [
    "ShapedArray",
    "Tracer",
    "eval_jaxpr",
    "get_aval",
    "physical_aval",
    "trace_state_clean",
]
__all__ += _public.__all__
