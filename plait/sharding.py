"""plait.sharding: how arrays are spread over devices."""

from plait.runtime.sharding import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    make_mesh,
)

__all__ = [
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "make_mesh",
]
