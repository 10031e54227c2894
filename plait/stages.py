"""plait.stages: a function on its way from Python to a compiled program.

>>> traced = plait.jit(lambda x: x + 1).trace(jnp.ones(2))
>>> lowered = traced.lower()
>>> compiled = lowered.compile()
>>> compiled(jnp.ones(2))
Array([2., 2.], dtype=float32)
"""

from plait.transforms.calls import JitFunction as Wrapped
from plait.transforms.inspect import ArgInfo, Lowered
from plait.transforms.inspect import CompiledFunction as Compiled
from plait.transforms.inspect import TracedFunction as Traced

CompilerOptions = dict[str, str | bool | int | float]

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
