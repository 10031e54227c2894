"""jax.extend.linear_util."""

from plait.as_jax.linear_util import (
    Store,
    WrappedFun,
    transformation,
    transformation_with_aux,
    wrap_init,
)

__all__ = ["Store", "WrappedFun", "transformation", "transformation_with_aux", "wrap_init"]
