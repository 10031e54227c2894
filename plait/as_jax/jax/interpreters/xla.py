"""jax.interpreters.xla."""

from plait.as_jax.primitive import apply_primitive

__all__ = ["apply_primitive"]
