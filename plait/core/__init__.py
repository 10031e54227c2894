"""What a Program is: types, equations, interpreters and how a function becomes one.

As `plait.core` users know the classes that JAX shows in jax.core.
"""

from plait.core.context import outside as eval_context
from plait.core.interpreter import Interpreter as Trace
from plait.core.interpreter import Tracer, ensure_compile_time_eval
from plait.core.program import Atom, eval_jaxpr
from plait.core.types import ArrayType as AbstractValue
from plait.core.types import ArrayType as ShapedArray

__all__ = [
    "AbstractValue",
    "Atom",
    "ShapedArray",
    "Trace",
    "Tracer",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
]
