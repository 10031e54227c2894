"""Mistakes with devices, shardings, shard_map, trees, arrays and keys."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.flatten_util import ravel_pytree
from plait.sharding import Mesh, NamedSharding
from plait.sharding import PartitionSpec as P

X = np.ones((4, 4), np.float32)


def mesh() -> Any:
    return jax.make_mesh((2, 2), ("x", "y"))


def blocks(x: Any = X, **given: Any) -> Any:
    options = {"mesh": mesh(), "in_specs": P("x"), "out_specs": P("x")}
    return jax.shard_map(lambda a: a, **options | given)(x)


def named(*spec: Any) -> Any:
    return NamedSharding(mesh(), P(*spec))


CASES: dict[str, Any] = {
    "devices: a platform that is not there": lambda: jax.devices("abacus"),
    "devices: a platform without its plugin": lambda: jax.devices("tpu"),
    "local_devices: a process that is not there": lambda: jax.local_devices(3),
    "device_put: a name": lambda: jax.device_put(X, "cpu:0"),
    "device_put: a spec": lambda: jax.device_put(X, P("x")),
    "device_put: a text": lambda: jax.device_put({"a": "text"}, jax.devices()[0]),
    "device_put: other keys": lambda: jax.device_put({"a": X}, {"b": jax.devices()[0]}),
    "device_put: rows that do not split": lambda: jax.device_put(X[:3], jax.devices()[:2]),
    "device_put: a scalar over devices": lambda: jax.device_put(1.0, jax.devices()[:2]),
    "device_put: an axis that does not divide": lambda: jax.device_put(X[:3], named("x")),
    "device_put: a spec that is too long": lambda: jax.device_put(1.0, named("x")),
    "device_put_sharded: a shard too few": lambda: jax.device_put_sharded([X], jax.devices()[:2]),
    "device_put_sharded: other shapes": lambda: jax.device_put_sharded(
        [X, X[0]], jax.devices()[:2]
    ),
    "device_put_replicated: a number in place of devices": lambda: jax.device_put_replicated(X, 2),
    "device_put_replicated: no devices": lambda: jax.device_put_replicated(X, []),
    "make_mesh: too few devices": lambda: jax.make_mesh((64,), ("x",)),
    "Mesh: too many names": lambda: Mesh(jax.devices()[:4], ("x", "y")),
    "NamedSharding: a name that is not there": lambda: named("z"),
    "NamedSharding: a name twice": lambda: named("x", "x"),
    "with_sharding_constraint: a spec": lambda: lax.with_sharding_constraint(X, P("x")),
    "with_sharding_constraint: a spec, traced": lambda: jax.jit(
        lambda x: lax.with_sharding_constraint(x, P("x"))
    )(X),
    "with_sharding_constraint: an axis that does not divide": lambda: jax.jit(
        lambda x: lax.with_sharding_constraint(x, named("x"))
    )(X[:3]),
    "with_sharding_constraint: another structure": lambda: lax.with_sharding_constraint(
        {"a": X}, [named("x")]
    ),
    "jit: in_shardings of another length": lambda: jax.jit(
        lambda a, b: a, in_shardings=(named("x"),)
    )(X, X),
    "jit: out_shardings that do not divide": lambda: jax.jit(
        lambda a: a[:3], out_shardings=named("x")
    )(X),
    "jit: in_shardings that are specs": lambda: jax.jit(lambda a: a, in_shardings=P("x"))(X),
    "shard_map: an axis that does not divide": lambda: blocks(X[:3]),
    "shard_map: a spec that is too long": lambda: blocks(in_specs=P("x", None, "y")),
    "shard_map: a name that is not there": lambda: blocks(in_specs=P("z")),
    "shard_map: a name twice": lambda: blocks(in_specs=P("x", "x")),
    "shard_map: no spec": lambda: blocks(in_specs=None),
    "shard_map: a text as spec": lambda: blocks(in_specs="x"),
    "shard_map: specs of another length": lambda: blocks(in_specs=(P("x"), P())),
    "shard_map: out_specs of another length": lambda: blocks(out_specs=(P("x"), P())),
    "shard_map: a result that differs": lambda: blocks(out_specs=P()),
    "shard_map: no mesh": lambda: blocks(mesh=None),
    "shard_map: not a function": lambda: jax.shard_map(3, mesh=mesh(), in_specs=P(), out_specs=P()),
    "shard_map: an axis the mesh does not have": lambda: blocks(axis_names={"q"}),
    "shard_map: a keyword argument": lambda: jax.shard_map(
        lambda a: a, mesh=mesh(), in_specs=P("x"), out_specs=P("x")
    )(a=X),
    # arrays
    "Array: the truth of several": lambda: bool(jnp.ones(2)),
    "Array: the truth of none": lambda: bool(jnp.ones(0)),
    "Array: float of several": lambda: float(jnp.ones(2)),
    "Array: an index that is a float": lambda: [1, 2][jnp.float32(1)],
    "Array: the length of a scalar": lambda: len(jnp.float32(1)),
    "Array: iteration over a scalar": lambda: list(jnp.float32(1)),
    "Array: hash": lambda: hash(jnp.ones(1)),
    "Array: assignment": lambda: jnp.ones(3).__setitem__(0, 1.0),
    "Array: integers that do not fit": lambda: jnp.asarray(np.array([1, 2**40])),
    "Array: a number that does not fit": lambda: jnp.asarray(2**31),
    "Array: a captured number that does not fit": lambda: jax.jit(lambda x: x + np.int64(2**40))(
        np.int32(1)
    ),
    "Array: texts": lambda: jnp.asarray(np.array(["a"])),
    "Array: objects": lambda: jnp.asarray([object()]),
    "Array: a key as numbers": lambda: np.asarray(random.key(0)),
    "Array: arithmetic with a key": lambda: random.key(0) + 1,
    "dtype: not one": lambda: jnp.zeros(2, "float33"),
    # keys
    "random: a key as seed": lambda: random.key(random.key(0)),
    "random: a float as seed": lambda: random.key(0.5),
    "random: several seeds": lambda: random.key(np.arange(2)),
    "random: a seed that is too large": lambda: random.key(2**70),
    "random: no key": lambda: random.uniform(3),
    "random: several keys": lambda: random.uniform(random.split(random.key(0), 3)),
    "random: a dtype without numbers between 0 and 1": lambda: random.uniform(
        random.key(0), dtype=jnp.int32
    ),
    # trees
    "tree.map: other structures": lambda: jax.tree.map(lambda a, b: a, {"a": X}, {"b": X}),
    "tree.leaves: a container that holds itself": lambda: jax.tree.leaves(_endless()),
    "tree.unflatten: too many leaves": lambda: jax.tree.unflatten(jax.tree.structure(1), [1, 2]),
    "tree.unflatten: no structure": lambda: jax.tree.unflatten([1], jax.tree.structure(1)),
    "tree.unflatten: too few leaves": lambda: jax.tree.unflatten(jax.tree.structure([1, 2]), [1]),
    "register: a class twice": lambda: register_twice(),
    "register: a class with keys twice": lambda: register_with_keys_twice(),
    "register_dataclass: no fields": lambda: jax.tree_util.register_dataclass(Plain),
    "register_dataclass: other fields": lambda: jax.tree_util.register_dataclass(
        Point, data_fields=["x"], meta_fields=[]
    ),
    "register_dataclass: a field of both kinds": lambda: jax.tree_util.register_dataclass(
        Point, data_fields=["x", "y"], meta_fields=["y"]
    ),
    "register_dataclass: a field that is no argument": lambda: jax.tree_util.register_dataclass(
        Counted
    ),
    "named_scope: no name": lambda: _named(),
    "ShapeDtypeStruct: the length of a scalar": lambda: len(jax.ShapeDtypeStruct((), "int32")),
    "register: a container of Python's": lambda: jax.tree_util.register_pytree_node(
        list, lambda x: (x, None), lambda d, c: list(c)
    ),
    "register: no class": lambda: jax.tree_util.register_pytree_node(
        3, lambda x: ((), None), lambda d, c: 0
    ),
    "ravel: another dtype": lambda: ravel_pytree({"a": X, "n": 1})[1](np.ones(17, int)),
    "ravel: another size": lambda: ravel_pytree({"a": X})[1](np.ones(3, np.float32)),
}


def _endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


class Plain:
    pass


@dataclasses.dataclass
class Counted:
    x: float
    count: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass
class Point:
    x: float
    y: float


def _named() -> None:
    with jax.named_scope(3):
        pass


def register_with_keys_twice() -> None:
    class Box:
        pass

    for _ in range(2):
        jax.tree_util.register_pytree_with_keys(Box, lambda x: ((), None), lambda d, c: Box())


def register_twice() -> None:
    class Box:
        pass

    for _ in range(2):
        jax.tree_util.register_pytree_node(Box, lambda x: ((), None), lambda d, c: Box())
