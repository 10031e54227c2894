"""plait.experimental.pjit: jit, under the name it had where it took shardings."""

from plait.runtime.sharding import PartitionSpec
from plait.transforms.jit import jit as pjit
from plait.transforms.shard_map import with_sharding_constraint

__all__ = ["PartitionSpec", "pjit", "with_sharding_constraint"]
