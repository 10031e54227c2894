"""plait.experimental.multihost_utils: what programs of several processes tell each other.

In a single process there is nobody to tell: each function is what its definition says then.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait import lax
from plait.core import tree
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError
from plait.runtime import client, peers
from plait.runtime.array import Array, canonical_value, from_host
from plait.runtime.assemble import make_array_from_process_local_data
from plait.runtime.sharding import Mesh, NamedSharding, PartitionSpec
from plait.runtime.transfer import device_put
from plait.transforms.pmap import pmap
from plait.transforms.shard_map import spread_specs


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come here, with the same name.

    Raises: ProcessMismatch if one does something else; PeerLost if one is gone.

    >>> from plait.experimental import multihost_utils
    >>> multihost_utils.sync_global_devices("saved")
    """
    _agree(f"sync_global_devices({name!r})")


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """What each process has, as NumPy arrays that all of them get: stacked along a new first axis,
    or joined along the first one with tiled=True. Arrays that all have together come whole.

    Raises: ArgumentError for such an array without tiled=True; ProcessMismatch if the processes
    have different shapes or dtypes.

    >>> from plait.experimental import multihost_utils
    >>> multihost_utils.process_allgather(np.arange(3), tiled=True)
    array([0, 1, 2], dtype=int32)
    """
    leaves, structure = tree.flatten(in_tree)
    together = [k for k, x in enumerate(leaves) if type(x) is Array and not x.is_fully_addressable]
    if together and not tiled:
        raise ArgumentError(
            "an array that the processes have together cannot be stacked",
            op="process_allgather",
            array=leaves[together[0]],
            fix="tiled=True gives the array itself",
        )
    out: list[Any] = [_whole(x) if k in together else None for k, x in enumerate(leaves)]
    own = [k for k in range(len(leaves)) if k not in together]
    every = _exchange([_host(leaves[k]) for k in own], "process_allgather")
    for k, parts in zip(own, zip(*every, strict=True), strict=True):
        join = np.concatenate if tiled and parts[0].ndim else np.stack
        out[k] = join(parts)
    return structure.unflatten(out)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """What the source, by default process 0, has, as NumPy arrays that all get.

    The others pass arrays of the same shapes and dtypes. Raises: ProcessMismatch if they do not;
    ArgumentError unless one process is the source.

    >>> from plait.experimental import multihost_utils
    >>> multihost_utils.broadcast_one_to_all(jnp.arange(3))
    array([0, 1, 2], dtype=int32)
    """
    leaves, structure = tree.flatten(in_tree)
    if is_source is None:
        is_source = client.process_index() == 0
    own = [np.asarray(bool(is_source)), *map(_host, leaves)]
    every = _exchange(own, "broadcast_one_to_all", silent=not is_source)
    sources = [values for values in every if values[0]]
    if len(sources) != 1:
        raise ArgumentError(
            f"one process is the source, not {len(sources)}",
            op="broadcast_one_to_all",
            fix="is_source=True in one of them",
        )
    return structure.unflatten(sources[0][1:])


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError, in all of them, unless all processes have the same; NaN equals NaN.

    Raises: ProcessMismatch if the shapes or dtypes differ.

    >>> from plait.experimental import multihost_utils
    >>> multihost_utils.assert_equal({"step": 3})
    """
    own = [_host(x) for x in tree.leaves(in_tree)]
    every = _exchange(own, "assert_equal")
    for k, name in enumerate(tree.leaf_names(in_tree, "in_tree")):
        for index, values in enumerate(every[1:], 1):
            floats = values[k].dtype.kind in "fcV"
            if not np.array_equal(values[k], every[0][k], equal_nan=floats):
                raise AssertionError(
                    f"{fail_message}: {name} differs between process 0 and process {index}\n"
                    f"process 0 has\n{every[0][k]}\nprocess {index} has\n{values[k]}"
                )


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays of which each process has its part, as whole ones spread as the specs say.

    Raises: ShapeError for parts that do not make up a whole.

    >>> from plait.experimental import multihost_utils
    >>> mesh = plait.make_mesh((2,), ("i",))
    >>> x = multihost_utils.host_local_array_to_global_array(np.arange(4), mesh, plait.P("i"))
    >>> x.shape, x.sharding.spec
    ((4,), PartitionSpec('i'))
    """
    op = "host_local_array_to_global_array"
    leaves, structure = tree.flatten(local_inputs)
    specs = spread_specs(pspecs, local_inputs, "pspecs", op)
    return structure.unflatten(
        [
            x
            if type(x) is Array and not x.is_fully_addressable
            else make_array_from_process_local_data(_named(global_mesh, spec), x)
            for x, spec in zip(leaves, specs, strict=True)
        ]
    )


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The parts that this process has of arrays, once they are spread as the specs say.

    >>> from plait.experimental import multihost_utils
    >>> mesh = plait.make_mesh((2,), ("i",))
    >>> multihost_utils.global_array_to_host_local_array(jnp.arange(4), mesh, plait.P("i")).shape
    (4,)
    """
    op = "global_array_to_host_local_array"
    leaves, structure = tree.flatten(global_inputs)
    specs = spread_specs(pspecs, global_inputs, "pspecs", op)
    return structure.unflatten(
        [
            x
            if type(x) is Array and x.is_fully_addressable and client.process_count() > 1
            else _own_part(device_put(x, _named(global_mesh, spec)))
            for x, spec in zip(leaves, specs, strict=True)
        ]
    )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether to save now because the machine will be taken away: plait is never told.

    Raises: ArgumentError for what is no step.

    >>> from plait.experimental import multihost_utils
    >>> multihost_utils.reached_preemption_sync_point(10)
    False
    """
    if not isinstance(step_id, int) or step_id < 0:
        raise ArgumentError(
            "a step is a whole number of at least 0",
            op="reached_preemption_sync_point",
            step_id=step_id,
        )
    return False


def _named(mesh: Mesh, spec: Any) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec() if spec is None else spec)


def _host(x: Any) -> np.ndarray:
    """A leaf in host memory, in the dtype that plait gives it."""
    return x.numbers() if type(x) is Array else canonical_value(x, type_of(x))


def _whole(x: Array) -> np.ndarray:
    """An array of several processes, in each of them."""
    devices = np.array(x.sharding.mesh.devices.flat, dtype=object)
    return device_put(x, NamedSharding(Mesh(devices, ("all",)), PartitionSpec())).host()


def _own_part(x: Array) -> Array:
    """What this process has of an array, put together in the order of the whole."""
    if x.is_fully_addressable:
        return x
    shards = x.addressable_shards
    spans = [
        [s.indices(n)[:2] for s, n in zip(shard.index, x.shape, strict=True)] for shard in shards
    ]
    blocks = [sorted(set(axis)) for axis in zip(*spans, strict=True)]
    value = np.empty([sum(stop - start for start, stop in axis) for axis in blocks], x.dtype)
    for shard, span in zip(shards, spans, strict=True):
        index = []
        for (start, stop), axis in zip(span, blocks, strict=True):
            first = sum(b - a for a, b in axis if b <= start)
            index.append(slice(first, first + stop - start))
        value[tuple(index)] = shard.data.host()
    return from_host(value, x.type.with_shape(value.shape), copy=False)


def _agree(name: str) -> None:
    """Wait until all processes have come to something of this name."""
    if (session := peers.current()) is not None:
        session.agree(peers.Label(name, zlib.crc32(name.encode()), tuple(range(session.count))))


def _exchange(values: Sequence[np.ndarray], op: str, silent: bool = False) -> list[list[Any]]:
    """What every process gives, for each process; zeros for those that are silent."""
    count = client.process_count()
    types = [ArrayType(v.shape, v.dtype) for v in values]
    if count == 1 or not values:
        return [list(values)] * count
    _agree(f"{op} of {', '.join(map(str, types))}")
    raw = b"".join(np.ascontiguousarray(v).tobytes() for v in values)
    words = np.frombuffer(raw + b"\0" * (-len(raw) % 4), np.uint32)
    firsts = [client.local_devices(k)[0] for k in range(count)]
    gather = pmap(
        lambda x: lax.all_gather(x, "processes"),
        axis_name="processes",
        out_axes=None,
        devices=firsts,
    )
    rows = gather((0 * words if silent else words)[None]).host()
    found = []
    for row in rows:
        data, at, out = row.tobytes(), 0, []
        for v in values:
            out.append(np.frombuffer(data, v.dtype, v.size, at).reshape(v.shape))
            at += v.nbytes
        found.append(out)
    return found


__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
