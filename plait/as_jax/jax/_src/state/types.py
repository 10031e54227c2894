"""jax._src.state.types: the types of arrays that change. plait has none of these."""

from plait.as_jax.jax.ref import AbstractRef

__all__ = ["AbstractRef"]
