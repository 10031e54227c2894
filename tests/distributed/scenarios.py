"""What two processes with two devices each can do together, asserted in both of them.

python -m tests.distributed.scenarios FILE: FILE.<process>.json says for each what went wrong.
"""

from __future__ import annotations

import json
import pathlib
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.errors import PlaitError, ProcessMismatch
from plait.experimental import multihost_utils as utils
from plait.sharding import Mesh, NamedSharding
from plait.sharding import PartitionSpec as P

SCENARIOS: dict[str, Callable[[int], None]] = {}


def scenario(function: Callable[[int], None]) -> Callable[[int], None]:
    SCENARIOS[function.__name__] = function
    return function


def mesh(*sizes: int) -> Mesh:
    return jax.make_mesh(sizes, ("a", "b")[: len(sizes)])


def spread(x: Any, *spec: Any, sizes: tuple[int, ...] = (4,)) -> Any:
    return jax.device_put(x, NamedSharding(mesh(*sizes), P(*spec)))


def check(got: Any, wanted: Any) -> None:
    """An array of all processes has the right parts here."""
    assert got.shape == np.shape(wanted)
    for shard in got.addressable_shards:
        np.testing.assert_allclose(np.asarray(shard.data), wanted[shard.index], rtol=1e-6)


def message(kind: type[BaseException], call: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


COUNT = np.arange(8.0, dtype=np.float32)


@scenario
def devices(me):
    assert (jax.process_index(), jax.process_count()) == (me, 2)
    assert (jax.device_count(), jax.local_device_count()) == (4, 2)
    assert [d.process_index for d in jax.devices()] == [0, 0, 1, 1]
    assert jax.local_devices() == jax.devices()[2 * me : 2 * me + 2] == jax.local_devices(me)
    assert jax.local_devices(1 - me) != jax.local_devices()
    assert jax.distributed.is_initialized()
    assert "was called before" in message(RuntimeError, jax.distributed.initialize)


@scenario
def arrays_of_all(me):
    x = spread(COUNT, "a")
    check(x, COUNT)
    assert not x.is_fully_addressable and not x.is_fully_replicated
    assert len(x.addressable_shards) == 2 and len(x.global_shards) == 4
    assert [s.data is None for s in x.global_shards] == [me == 1, me == 1, me == 0, me == 0]
    assert x.sharding.addressable_devices == set(jax.local_devices())
    assert list(x.sharding.addressable_devices_indices_map((8,))) == jax.local_devices()
    assert repr(x) == str(x) == "Array(shape=(8,), dtype=float32)"
    for read in (np.asarray, jax.device_get, pickle.dumps, lambda x: x.tolist()):
        assert "other processes have parts" in message(RuntimeError, lambda read=read: read(x))
    everywhere = spread(COUNT)
    assert everywhere.is_fully_replicated and not everywhere.is_fully_addressable
    np.testing.assert_array_equal(everywhere, COUNT)


@scenario
def computing_with_them(me):
    x, y = spread(COUNT, "a"), COUNT.reshape(2, 4)
    check(x + 1, COUNT + 1)
    check(jnp.where(x > 3, x, jnp.arange(8)), COUNT)
    assert float(x.sum()) == 28 and float(x[5]) == 5
    np.testing.assert_array_equal(x[2:4], [2, 3])
    check(spread(x.reshape(2, 4), "b", "a", sizes=(2, 2)), y)
    whole = NamedSharding(mesh(4), P())
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2, out_shardings=whole)(x), COUNT * 2)
    np.testing.assert_allclose(jax.jit(lambda x: x @ np.ones(8, np.float32))(x), 28)
    first = jax.jit(lambda x: x + 1, in_shardings=NamedSharding(mesh(2, 2), P("a", "b")))
    np.testing.assert_allclose(np.sum(first(y)), 36)


@scenario
def shard_maps(me):
    total = jax.shard_map(
        lambda x: x + lax.psum(x, "a"), mesh=mesh(4), in_specs=P("a"), out_specs=P("a")
    )
    check(total(spread(COUNT, "a")), COUNT + np.tile(COUNT.reshape(4, 2).sum(0), 4))
    grid = jax.shard_map(
        lambda x: lax.psum(x, ("a", "b")), mesh=mesh(2, 2), in_specs=P("a", "b"), out_specs=P()
    )
    np.testing.assert_allclose(jax.jit(grid)(COUNT.reshape(2, 4)), [[12, 16]])
    loss = jax.shard_map(
        lambda w, x: lax.psum(jnp.sum(w * x), "a"),
        mesh=mesh(4),
        in_specs=(P(), P("a")),
        out_specs=P(),
    )
    np.testing.assert_allclose(jax.grad(loss)(np.float32(2), spread(COUNT, "a")), 28)


@scenario
def maps_of_them(me):
    total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    for x in (spread(COUNT[:4], "a"), spread(COUNT[:4])):
        np.testing.assert_array_equal(total(x), [6, 6])
    crosswise = spread(np.zeros((4, 4)), None, "a")
    assert "spread in another way" in message(ValueError, lambda: total(crosswise))


@scenario
def how_results_of_maps_lie(me):
    r = jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(COUNT[2 * me : 2 * me + 2])
    assert r.is_fully_addressable and r.devices() == set(jax.local_devices())
    assert [s.device for s in r.addressable_shards] == jax.local_devices()
    assert [float(s.data[0]) for s in r.addressable_shards] == [float(r[0]), float(r[1])]
    again = pickle.loads(pickle.dumps(r))
    np.testing.assert_array_equal(again, r)


@scenario
def maps_over_some_devices(me):
    firsts = [jax.devices()[0], jax.devices()[2]]
    f = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=firsts)
    np.testing.assert_array_equal(f(COUNT[me : me + 1]), [1])
    mine = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=jax.local_devices())
    np.testing.assert_array_equal(mine(COUNT[:2] + me), [1 + 2 * me] * 2)
    if me == 0:  # a program of one process concerns nobody else
        np.testing.assert_array_equal(mine(COUNT[:2] * 3), [3, 3])


@scenario
def mistakes_with_maps(me):
    def f(**options: Any) -> Any:
        return jax.pmap(lambda x: x, **options)

    others = [d for d in jax.devices() if d.process_index != me]
    mixed = [jax.devices()[k] for k in (0, 2, 1, 3)]
    uneven = jax.devices()[:3]
    two = COUNT[:2]
    cases = [
        (lambda: f(devices=others)(two), "none of the devices belongs to this process"),
        (lambda: f(devices=mixed)(two), "do not stand together"),
        (lambda: f()(COUNT[:3]), "3 rows do not spread evenly over 2 devices"),
        (lambda: f(axis_size=5)(two), "5 do not spread evenly"),
        (lambda: f(axis_size=6)(two), "axis_size"),
        (lambda: lax.map(f(), COUNT.reshape(4, 2)), "inside a loop or a branch"),
        (lambda: jax.jit(lambda x: f()(x * 2)).lower(two).compile(), "no one program to show"),
        (lambda: jax.device_put(two, others[0]), f"belongs to process {1 - me}"),
    ]
    if me == 0:
        cases.append((lambda: f(devices=uneven)(COUNT[:1]), "1 rows do not spread evenly"))
    for call, words in cases:
        assert words in message(PlaitError, call), words


@scenario
def different_programs(me):
    one = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")

    def other(x):
        return lax.pmax(x, "i")

    text = message(ProcessMismatch, lambda: (one, jax.pmap(other, axis_name="i"))[me](COUNT[:2]))
    assert "process_0     <lambda>(float32[4]): psum at scenarios.py:" in text
    assert "process_1     other(" in text
    text = message(ProcessMismatch, lambda: one(COUNT[: 2 + 2 * me]))  # of different sizes
    assert "float32[4]" in text and "float32[8]" in text
    np.testing.assert_array_equal(one(COUNT[:2]), [2, 2])  # nothing is left behind
    constant = jax.pmap(lambda x: lax.psum(x + np.float32(me), "i"), axis_name="i")
    np.testing.assert_array_equal(constant(COUNT[:2]), [4, 4])  # numbers may differ


@scenario
def different_values(me):
    text = message(ValueError, lambda: spread(COUNT + me, "a"))
    assert "do not give the same array" in text
    text = message(ProcessMismatch, lambda: utils.sync_global_devices(f"epoch {me}"))
    assert "'epoch 0'" in text and "'epoch 1'" in text


@scenario
def telling_each_other(me):
    x = COUNT[:2] + 10 * me
    utils.sync_global_devices("here")
    tree = {"a": x, "b": np.int32(me), "c": jnp.ones(3, jnp.bfloat16)}
    told = utils.broadcast_one_to_all(tree)
    np.testing.assert_array_equal(told["a"], COUNT[:2])
    assert told["b"] == 0 and told["c"].dtype == jnp.bfloat16
    np.testing.assert_array_equal(utils.broadcast_one_to_all(x, is_source=me == 1), [10, 11])
    assert "one process" in message(ValueError, lambda: utils.broadcast_one_to_all(x, False))
    np.testing.assert_array_equal(utils.process_allgather(x), [[0, 1], [10, 11]])
    np.testing.assert_array_equal(utils.process_allgather(x, tiled=True), [0, 1, 10, 11])
    np.testing.assert_array_equal(utils.process_allgather(np.float32(me)), [0, 1])
    assert utils.process_allgather({}) == {}
    whole = spread(COUNT, "a")
    np.testing.assert_array_equal(utils.process_allgather(whole, tiled=True), COUNT)
    assert "tiled=True" in message(ValueError, lambda: utils.process_allgather(whole))
    message(ProcessMismatch, lambda: utils.process_allgather(np.zeros(2 + me)))
    utils.assert_equal({"a": np.float32([np.nan, -0.0])}, "equal")
    text = message(AssertionError, lambda: utils.assert_equal({"a": x}, "the batch"))
    assert "the batch" in text and "in_tree['a']" in text


@scenario
def arrays_from_parts(me):
    line, rows = NamedSharding(mesh(4), P("a")), np.concatenate([COUNT[:2], COUNT[:2] + 10])
    own = COUNT[:2] + 10 * me
    check(jax.make_array_from_process_local_data(line, own), rows)
    check(jax.make_array_from_process_local_data(line, own, (4,)), rows)
    check(jax.make_array_from_process_local_data(line, rows, (4,)), rows)
    check(jax.make_array_from_process_local_data(NamedSharding(mesh(4), P()), rows), rows)
    grid = NamedSharding(mesh(2, 2), P("b", "a"))  # this process has some columns
    whole = COUNT.reshape(2, 4)
    check(jax.make_array_from_process_local_data(grid, whole[:, 2 * me : 2 * me + 2]), whole)
    check(jax.make_array_from_callback((8,), line, lambda index: COUNT[index]), COUNT)
    parts = [jax.device_put(own[k : k + 1], d) for k, d in enumerate(jax.local_devices())]
    check(jax.make_array_from_single_device_arrays((4,), line, parts), rows)
    for call, words in [
        (lambda: jax.make_array_from_process_local_data(line, own, (8,)), "neither the whole"),
        (lambda: jax.make_array_from_process_local_data(line, COUNT[:3]), "does not divide"),
        (lambda: jax.make_array_from_single_device_arrays((4,), line, parts[:1]), "2 devices"),
    ]:
        assert words in message(ValueError, call)


@scenario
def from_local_to_global_and_back(me):
    own = COUNT[:2] + 10 * me
    whole = utils.host_local_array_to_global_array({"x": own}, mesh(4), P("a"))["x"]
    check(whole, np.concatenate([COUNT[:2], COUNT[:2] + 10]))
    back = utils.global_array_to_host_local_array(whole, mesh(4), P("a"))
    assert back.is_fully_addressable
    np.testing.assert_array_equal(back, own)
    every = utils.global_array_to_host_local_array(whole, mesh(4), P())
    np.testing.assert_array_equal(every, [0, 1, 10, 11])


@scenario
def not_a_number_found(me):
    f = jax.pmap(lambda x: lax.psum(jnp.log(x), "i"), axis_name="i")
    with jax.debug_nans(True):
        assert "NaN" in message(FloatingPointError, lambda: f(COUNT[:2] - 1))
        np.testing.assert_allclose(f(COUNT[:2] + 1), [2 * np.log(2)] * 2, rtol=1e-6)


@scenario
def printing_inside(me):
    seen: list[float] = []

    def f(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x)
        return lax.psum(x, "i")

    jax.pmap(f, axis_name="i")(COUNT[:2] + 10 * me)
    jax.effects_barrier()
    assert sorted(seen) == [10.0 * me, 10.0 * me + 1]  # each process its own rows


def main(file: str) -> None:
    jax.distributed.initialize()
    me = jax.process_index()
    wrong: dict[str, str] = {}
    for name, run in SCENARIOS.items():
        try:
            run(me)
        except BaseException:
            wrong[name] = traceback.format_exc()
    pathlib.Path(f"{file}.{me}.json").write_text(json.dumps(wrong))


if __name__ == "__main__":
    main(sys.argv[1])
