"""What exists for programs written for JAX alone: the version whose API plait follows."""

from plait.as_jax.jax.version import __version__, __version_info__

__all__ = ["__version__", "__version_info__"]
