"""jax._src.flatten_util."""

from plait.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
