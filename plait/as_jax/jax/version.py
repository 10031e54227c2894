"""jax.version: the version of JAX whose API plait follows, not plait's own."""

__version__ = "0.10.2"
__version_info__ = (0, 10, 2)

__all__ = ["__version__", "__version_info__"]
