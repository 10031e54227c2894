"""jax.extend.source_info_util."""

from plait.as_jax.jax._src.traceback_util import register_exclusion

__all__ = ["register_exclusion"]
