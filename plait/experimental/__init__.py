"""plait.experimental: names that JAX keeps under jax.experimental."""

from plait.config import enable_x64
from plait.ops.callback import io_callback
from plait.runtime.sharding import PartitionSpec


def disable_x64():
    """`with disable_x64():` — 32-bit dtypes inside the block.

    >>> with plait.experimental.disable_x64():
    ...     jnp.arange(2.0).dtype
    dtype('float32')
    """
    return enable_x64(False)


__all__ = ["PartitionSpec", "disable_x64", "enable_x64", "io_callback"]
