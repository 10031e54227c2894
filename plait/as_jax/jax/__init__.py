"""What exists for programs written for JAX alone: the version whose API plait follows, and names
without which libraries cannot be imported.
"""

from plait.as_jax.jax.ref import Ref, new_ref
from plait.as_jax.jax.version import __version__, __version_info__

__all__ = ["Ref", "__version__", "__version_info__", "new_ref"]
