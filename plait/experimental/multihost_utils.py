"""plait.experimental.multihost_utils: what programs of several processes tell each other.

In a single process there is nobody to tell: each function is what its definition says then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import tree
from plait.errors import ArgumentError, BackendError
from plait.runtime import client
from plait.runtime.sharding import NamedSharding, PartitionSpec
from plait.runtime.transfer import device_get, device_put
from plait.transforms.shard_map import spread_specs


def _alone(op: str) -> None:
    if client.process_count() > 1:
        raise BackendError("works within a single process so far", op=op)


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come here. Raises: BackendError in several processes."""
    _alone("sync_global_devices")


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """What each process has, as NumPy arrays that all of them get: stacked along a new first axis,
    or joined along the first one with tiled=True.

    Raises: BackendError in several processes.
    """
    _alone("process_allgather")
    own = tree.map(np.asarray, device_get(in_tree))
    return own if tiled else tree.map(lambda x: x[None], own)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """What the source, by default process 0, has, as NumPy arrays that all get.

    Raises: BackendError in several processes.
    """
    _alone("broadcast_one_to_all")
    return tree.map(np.asarray, device_get(in_tree))


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError unless all processes have the same. Raises: BackendError in several."""
    _alone("assert_equal")


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Arrays of which each process has its part, as whole ones spread as the specs say.

    Raises: BackendError in several processes.
    """
    _alone("host_local_array_to_global_array")
    leaves, structure = tree.flatten(local_inputs)
    op = "host_local_array_to_global_array"
    specs = spread_specs(pspecs, local_inputs, "pspecs", op)
    return structure.unflatten(
        [
            device_put(x, NamedSharding(global_mesh, PartitionSpec() if spec is None else spec))
            for x, spec in zip(leaves, specs, strict=True)
        ]
    )


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The parts that this process has of arrays. Raises: BackendError in several processes."""
    _alone("global_array_to_host_local_array")
    return host_local_array_to_global_array(global_inputs, global_mesh, pspecs)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether to save now because the machine will be taken away: plait is never told.

    Raises: ArgumentError for what is no step.
    """
    if not isinstance(step_id, int) or step_id < 0:
        raise ArgumentError("a step is a whole number", op="reached_preemption_sync_point")
    return False


__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
