"""What jax.lax has beside plait.lax: the ops themselves, as sin_p, add_p, ..."""

from plait.as_jax.jax.extend.core.primitives import __dir__, __getattr__  # noqa: F401 (asked by attribute)

__all__ = __dir__()
