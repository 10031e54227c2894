"""plait.experimental: names that JAX keeps under jax.experimental."""

from plait.ops.callback import io_callback

__all__ = ["io_callback"]
