"""plait.experimental.shard_map: shard_map, where it was before it became plait.shard_map."""

from plait.transforms.shard_map import shard_map

__all__ = ["shard_map"]
