"""Mistakes of those who write ops and interpreters, tracers that were kept, and the runtime's."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait.core import dtypes
from plait.core.check import check_program
from plait.core.primitive import Primitive, register, registered
from plait.core.program import Equation, Program, Var
from plait.core.types import ArrayType, scalar_type
from plait.interpreters.closed import stage_closed
from plait.runtime import client, cluster, dlpack, host, plugins, processes, xla
from plait.runtime.tiling import Tiling
from plait.sharding import NamedSharding
from tests.errors.calls import lowered

V = np.array([1, 2, 3], np.float32)
S = np.float32(1)
F32, I32 = ArrayType((), dtypes.float32), ArrayType((), dtypes.int32)
SPREAD = NamedSharding(jax.make_mesh((2,), ("i",)), jax.P("i"))


class Empty(Primitive):
    """An op without answers."""

    name = "empty"


class Liar(Primitive):
    """An op whose lowering has another type than it says."""

    name = "liar"

    def type(self, x: Any) -> Any:
        return x.with_shape((2,))

    def lower(self, b: Any, x: Any) -> Any:
        return x


def equation(x: Var, y: Var) -> Equation:
    return Equation(registered("sin"), (x,), {}, (y,), None)


def checked(*equations: Equation, inputs: Any = (), outputs: Any = ()) -> None:
    check_program(Program(inputs, equations, outputs, "f"))


A, B, N = Var(F32), Var(F32), Var(I32)


def kept(transform: Any) -> Any:
    """A tracer of a transformation that has ended, in another one of the same kind."""
    values: list[Any] = []
    transform(lambda x: values.append(x) or x)
    return transform(lambda x: values[0])


def traced() -> Any:
    """A tracer of a program that is traced already."""
    values: list[Any] = []
    jax.jit(lambda x: values.append(x))(S)
    return values[0]


def placed(address: Any = "127.0.0.1:1234", count: Any = 2, index: Any = 0) -> Any:
    return processes._checked(cluster.Place(address, count, index))


def fraction(text: str) -> Any:
    with mock.patch.dict(os.environ, XLA_CLIENT_MEM_FRACTION=text):
        return plugins.client_options("cuda")


class Elsewhere:
    """A tensor that is not in the memory of the CPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (4, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError


CASES: dict[str, Any] = {
    # core/check.py, core/program.py
    "check_program: defined twice": lambda: checked(inputs=(A, A)),
    "check_program: not defined": lambda: checked(outputs=(A,)),
    "check_program: a type": lambda: checked(equation(A, N), inputs=(A,)),
    "Program: no such parameter": lambda: jax.make_jaxpr(jnp.sin)(V).eqns[0].params["nothing"],
    # core/dtypes.py, core/types.py
    "dtypes: no dtype": lambda: dtypes.as_dtype(None),
    "dtypes: nothing in common": lambda: (
        jnp.ones(2, jnp.float8_e4m3fn) + jnp.ones(2, jnp.float8_e5m2)
    ),
    "dtypes: dates": lambda: jnp.result_type(np.dtype("datetime64[s]"), np.float32),
    "promote: dates": lambda: dtypes.promote(
        (np.dtype("datetime64[s]"), False), (dtypes.float32, False)
    ),
    "scalar_type: text": lambda: scalar_type("a"),
    # core/primitive.py, core/interpreter.py, interpreters/, hlo/module.py
    **{
        f"an op without {question}": lambda question=question, args=args: getattr(
            Empty(), question
        )(*args)
        for question, args in {
            "type": (F32,),
            "numpy": (V,),
            "jvp": ((V,), (V,)),
            "transpose": (V, V),
            "batch": (None, (V,), (True,)),
            "lower": (None, None),
        }.items()
    },
    "register: an op twice": lambda: register(type("Sin", (Primitive,), {"name": "sin"})()),
    "registered: no op": lambda: registered("no such op"),
    "lower: another type": lambda: lowered("cpu", Liar().bind, V),
    "vmap: a value kept": lambda: kept(lambda f: jax.vmap(f)(V)),
    "jvp: a value kept": lambda: kept(lambda f: jax.jvp(f, (S,), (S,))),
    "pure_callback: a value kept": lambda: jax.pure_callback(np.sin, S, traced()),
    "a rule that uses a traced value": lambda: jax.jit(
        lambda c: stage_closed(lambda x: [x * c], [F32], name="f")
    )(S),
    # runtime/: one process, on CPU
    "format: an array": lambda: f"{jnp.ones(2):.2f}",
    "make_array_from_single_device_arrays: too few": lambda: (
        jax.make_array_from_single_device_arrays((4,), SPREAD, [])
    ),
    "make_array_from_process_local_data: a shape": lambda: jax.make_array_from_process_local_data(
        SPREAD, V, (4,)
    ),
    "make_array_from_callback: a part": lambda: jax.make_array_from_callback(
        (4,), SPREAD, lambda index: V
    ),
    "devices: no name": lambda: jax.devices(3),  # type: ignore[arg-type]
    "num_cpu_devices: none": lambda: client._positive("none", "PLAIT_NUM_CPU_DEVICES"),
    "distributed: a method": lambda: cluster.detect("k8s", {}),
    "distributed: a method without its variables": lambda: cluster.detect("slurm", {}),
    "distributed: a variable": lambda: cluster.from_variables({"JAX_PROCESS_ID": "first"}),
    "distributed: nothing is known": lambda: placed(None, None, None),
    "distributed: an address": lambda: placed("host"),
    "distributed: num_processes": lambda: placed(count=0),
    "distributed: process_id": lambda: placed(index=2),
    "distributed: text": lambda: placed(index="0"),
    "GPU: a fraction": lambda: fraction("half"),
    "CPU: no device": lambda: xla.make_cpu_client(0),
    "placement: devices": lambda: xla.Sharding(tuple(jax.devices()[:1]), Tiling((2,), ((0,),))),
    "AbstractMesh: names": lambda: jax.sharding.AbstractMesh((2, 2), ("i",)),
    "Tiling: an axis twice": lambda: Tiling((2,), ((0,), (0,))),
    "Tiling: parts": lambda: Tiling((2,), ((0,),)).shard_shape((3,)),
    "from_dlpack: another device": lambda: dlpack.from_object(Elsewhere()),
    "dlpack: a platform": lambda: dlpack.device_name("tpu", 0),
    "device_put: text": lambda: host.native(np.array(["a"])),
}
