"""jax._src.xla_bridge: the clients that have started, by platform."""

from plait.runtime.client import (
    _clients as _backends,
)
from plait.runtime.client import (
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)


def backends_are_initialized() -> bool:
    """Whether a device has been asked for."""
    return bool(_backends)


__all__ = [
    "backends_are_initialized",
    "device_count",
    "devices",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]
