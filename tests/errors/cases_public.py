"""Mistakes with meshes by default, layouts, platforms and switches."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
from plait import lax
from plait.config import read_environment
from plait.core.primitive import registered
from plait.experimental import layout
from plait.sharding import AbstractMesh, NamedSharding
from plait.sharding import PartitionSpec as P

X = np.ones((4, 2), np.float32)


def keeping() -> Any:
    kept = []
    with jax.check_tracer_leaks():
        return jax.jit(lambda x: kept.append(x))(1.0)


def environment() -> Any:
    import os

    os.environ["OTHER_NUM_CPU_DEVICES"] = "many"
    before = os.environ.pop("PLAIT_NUM_CPU_DEVICES", None)
    try:
        read_environment("OTHER_")
    finally:
        del os.environ["OTHER_NUM_CPU_DEVICES"]
        if before is not None:
            os.environ["PLAIT_NUM_CPU_DEVICES"] = before


CASES = {
    "with_sharding_constraint: no sharding": lambda: lax.with_sharding_constraint(X, 3),
    "jit: in_shardings that are none": lambda: jax.jit(lambda a: a, in_shardings=3)(X),
    "set_mesh: no mesh": lambda: jax.set_mesh("x"),
    "device_put: a mesh without devices": lambda: jax.device_put(
        X, NamedSharding(AbstractMesh((2,), ("x",)), P("x"))
    ),
    "device_put: a layout": lambda: jax.device_put(X, layout.Format(layout.Layout((1, 0)), None)),
    "platform_dependent: no function": lambda: lax.platform_dependent(1.0, cuda=np.sin),
    "check_tracer_leaks: a kept value": keeping,
    "read_environment: not a number": environment,
    "pickle: an op that nobody defines": lambda: registered("nothing"),
}
