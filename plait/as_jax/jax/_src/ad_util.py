"""jax._src.ad_util."""

from plait.as_jax.primitive import Zero, instantiate_zeros
from plait.regions.custom import SymbolicZero, stop_gradient_p

__all__ = ["SymbolicZero", "Zero", "instantiate_zeros", "stop_gradient_p"]
