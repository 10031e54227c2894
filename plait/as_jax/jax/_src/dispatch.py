"""jax._src.dispatch."""

from plait.as_jax.primitive import apply_primitive
from plait.runtime.xla import effects_barrier as wait_for_tokens

__all__ = ["apply_primitive", "wait_for_tokens"]
