"""plait.sharding: how arrays are spread over devices."""

from plait.runtime.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    make_mesh,
    set_mesh,
    use_abstract_mesh,
)
from plait.runtime.sharding import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)
from plait.transforms.shard_map import with_sharding_constraint as reshard

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
