"""Mistakes with arrays put together from parts, formats, platforms, and starting processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait.config import override
from plait.runtime.client import _positive
from plait.runtime.cluster import Place, detect, from_variables
from plait.runtime.processes import _checked
from plait.sharding import AbstractMesh, NamedSharding
from plait.sharding import PartitionSpec as P

V = np.ones(4, np.float32)


def spread() -> Any:
    return NamedSharding(jax.make_mesh((2,), ("i",)), P("i"))


def of_parts(*parts: Any) -> Any:
    return jax.make_array_from_single_device_arrays((4,), spread(), parts)


def gang_in_callback() -> None:
    refused = []
    summed = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")

    def host(x: Any) -> Any:
        try:
            return summed(np.ones((2, 2), np.float32))[0]
        except RuntimeError as error:
            refused.append(error)
        return x

    with override(pmap_form="gang"):
        x = np.ones(2, np.float32)
        jax.jit(lambda x: jax.pure_callback(host, x, x))(x).block_until_ready()
    raise refused[0]


CASES: dict[str, Callable[[], Any]] = {
    "format: a vector": lambda: f"{jnp.ones(4):.2f}",
    "devices: a platform that is no text": lambda: jax.devices(3),  # type: ignore[arg-type]
    "AbstractMesh: names of axes": lambda: AbstractMesh((2, 2), ("i",)),
    # assemble
    "make_array_from_single_device_arrays: one part": lambda: of_parts(V[:2]),
    "make_array_from_single_device_arrays: a shape": lambda: of_parts(jnp.ones(2), jnp.ones(3)),
    "make_array_from_process_local_data: its shape": lambda: jax.make_array_from_process_local_data(
        spread(), V, (6,)
    ),
    "callback: several devices": gang_in_callback,
    # client, cluster, processes
    "num_cpu_devices: text": lambda: _positive("many", "XLA_FLAGS"),
    "initialize: nothing known": lambda: _checked(Place()),
    "initialize: no processes": lambda: _checked(Place("localhost:1", 0, 0)),
    "initialize: process_id": lambda: _checked(Place("localhost:1", 2, 2)),
    "initialize: a float": lambda: _checked(Place("localhost:1", 2.0, 0)),  # type: ignore[arg-type]
    "initialize: no port": lambda: _checked(Place("localhost", 2, 0)),
    "detect: a method": lambda: detect("k8s", {}),
    "detect: no variables": lambda: detect("slurm", {}),
    "initialize: a variable": lambda: from_variables({"PLAIT_NUM_PROCESSES": "two"}),
}
