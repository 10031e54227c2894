"""Array: to and from NumPy and others, Python's protocols, places, copies, printing."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.config import override
from plait.core import dtypes
from plait.sharding import NamedSharding, SingleDeviceSharding
from plait.sharding import PartitionSpec as P
from tests.transforms.common import counted_compilations, message, refused, same

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def mesh(**sizes: int) -> Any:
    return jax.make_mesh(tuple(sizes.values()), tuple(sizes))


PLACES: dict[str, Any] = {
    "plain": lambda: jnp.asarray(X),
    "jit": lambda: jax.jit(lambda x: x + 0)(X),
    "another device": lambda: jax.device_put(X, jax.devices()[3]),
    "first device": lambda: jax.device_put(X, jax.devices()[0]),
    "rows": lambda: jax.device_put(X, jax.devices()[:3]),
    "columns": lambda: jax.device_put(X, NamedSharding(mesh(x=4), P(None, "x"))),
    "grid": lambda: jax.device_put(X, NamedSharding(mesh(y=2, x=4), P(None, "x"))),
    "everywhere": lambda: jax.device_put(X, NamedSharding(mesh(x=8), P())),
    "pmap": lambda: jax.pmap(lambda r: r + 0)(X),
    "pmap columns": lambda: jax.pmap(lambda c: c + 0, in_axes=1, out_axes=1)(X),
    "lanes": lambda: jax.pmap(lambda r: r + 0, devices=jax.devices()[1:2])(X),
    "replicated": lambda: jax.pmap(lambda r: lax.all_gather(r, "i"), "i", out_axes=None)(X),
    "stored once": lambda: jax.device_put_replicated(X[0], jax.devices()[:3]).at[:].set(X),
}
FORMS = pytest.mark.parametrize("form", ["fused", "gang"])


@FORMS
@pytest.mark.parametrize("place", PLACES)
def test_an_array_is_the_same_wherever_it_lies(place, form):
    with override(pmap_form=form):
        x = PLACES[place]()
        assert x.shape == (3, 4) and x.dtype == np.float32 and x.ndim == 2 and x.size == 12
        assert x.nbytes == 48 and x.itemsize == 4 and len(x) == 3 and not x.weak_type
        same(x, X)
        np.testing.assert_array_equal(np.asarray(x), X)
        np.testing.assert_array_equal(np.array(x, dtype=np.int32), X.astype(np.int32))
        assert x.tolist() == X.tolist() and x.tobytes() == X.tobytes()
        assert x[1, 2].item() == 6.0 and x.item(7) == 7.0
        assert repr(x) == repr(jnp.asarray(X)) and str(x) == str(X)
        for index in (0, -1, (1, 2), slice(1, None), (slice(None), 1), (..., -1), (None, 0)):
            same(x[index], X[index])
        same(x[jnp.array([2, 0])], X[[2, 0]])
        same(x[X > 4], X[X > 4])
        same(x.at[1].add(1.0), X + np.float32([[0], [1], [0]]))
        same(list(x), list(X))
        same(x.T, X.T)
        same(x.reshape(4, 3), X.reshape(4, 3))
        same(x.sum(), X.sum())
        same(x + x, X + X)
        for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            same(other, X)
            same(other + x, X + X)
        assert x.is_ready() or x.block_until_ready().is_ready()
        assert x.block_until_ready() is x and x.is_fully_addressable and not x.is_deleted()
        assert x.devices() and x.sharding.device_set == x.devices()
        shards = x.addressable_shards
        assert {s.device for s in shards} == x.devices()
        whole = np.full_like(X, np.nan)
        for shard in shards:
            whole[shard.index] = shard.data
            same(shard.data, X[shard.index])
            assert shard.data.devices() == {shard.device}
            assert shard.data.shape == x.sharding.shard_shape(x.shape)
        np.testing.assert_array_equal(whole, X)
        same(x.addressable_data(0), X[shards[0].index])
        assert x.is_fully_replicated == all(s.data.shape == (3, 4) for s in shards)
        same(jax.device_get({"a": [x]}), {"a": [X]})
        assert isinstance(jax.device_get(x), np.ndarray)
        moved = jax.device_put(x, jax.devices()[5])
        assert moved.devices() == {jax.devices()[5]} and moved.device == jax.devices()[5]
        same(moved, X)
        np.testing.assert_array_equal(np.from_dlpack(x), X)


DTYPES = [
    *(np.dtype(t) for t in (bool, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)),
    *(np.dtype(t) for t in (np.float16, np.float32, np.complex64)),
    *(np.dtype(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn)),
    *(np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_survive_every_trip(dtype):
    value = (np.arange(6) % 2).reshape(2, 3).astype(dtype)
    x = jnp.asarray(value)
    assert x.dtype == dtype
    for back in (
        np.asarray(x),
        np.asarray(pickle.loads(pickle.dumps(x))),
        np.asarray(copy.deepcopy(x)),
        np.asarray(jax.device_put(x, jax.devices()[1])),
        np.asarray(jax.device_put(x, jax.devices()[:2])),
        np.asarray(jax.jit(lambda a: a)(x)),
        np.asarray(jax.pmap(lambda a: a)(x)),
        np.stack([np.asarray(row) for row in x]),
    ):
        assert back.dtype == dtype
        np.testing.assert_array_equal(back.astype(np.complex64), value.astype(np.complex64))
    joined = jax.jit(lambda a: jnp.concatenate([a, a, a[:1]]))(x)  # as in a vmapped stack
    np.testing.assert_array_equal(np.asarray(joined), np.concatenate([value, value, value[:1]]))
    whole = jnp.issubdtype(dtype, jnp.integer)
    assert repr(x).startswith("Array([[0, 1, 0]," if whole else "Array([[")
    assert type(x[0, 1].item()) is type(x.tolist()[0][1])
    assert not whole or (type(x[0, 1].item()) is int and str(x) == "[[0 1 0]\n [1 0 1]]")


def test_numpy_functions_take_arrays():
    x = jnp.asarray(X)
    assert isinstance(np.sin(x), np.ndarray)
    np.testing.assert_array_equal(np.concatenate([x, X]), np.concatenate([X, X]))
    assert isinstance(X + x, jax.Array) and isinstance(x + X, jax.Array)
    assert isinstance(np.float32(2) * x, jax.Array)
    assert np.shape(x) == (3, 4) and np.ndim(x) == 2
    view = np.asarray(x)
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 1
    own = np.array(x)
    own[0, 0] = 9
    assert float(x[0, 0]) == 0
    np.testing.assert_array_equal(np.asarray(x, copy=True), X)


def test_sharing_memory_by_dlpack():
    x = jnp.asarray(X)
    same(jnp.from_dlpack(x), X)
    same(jnp.from_dlpack(np.ones(3, np.float32)), np.ones(3, np.float32))
    assert x.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(x)
    x.delete()
    np.testing.assert_array_equal(view, X)


# --- Python's protocols


def test_numbers():
    assert bool(jnp.float32(2)) and not jnp.int32(0) and bool(jnp.ones((1, 1)))
    assert int(jnp.float32(2.7)) == 2 and float(jnp.int32(3)) == 3.0
    assert complex(jnp.float32(2)) == 2 + 0j and operator.index(jnp.int32(4)) == 4
    assert [10, 20, 30][jnp.int32(1)] == 20 and list(range(jnp.int32(3))) == [0, 1, 2]
    assert math.floor(jnp.float32(2.5)) == 2
    assert f"{jnp.float32(3.14159):.2f}" == "3.14" and f"{jnp.int32(7):04d}" == "0007"
    assert round(float(jnp.float32(2.6))) == 3 and divmod(7, int(jnp.int32(2))) == (3, 1)
    refused(ValueError, lambda: bool(jnp.ones(2)), "ambiguous", ".any()")
    refused(ValueError, lambda: bool(jnp.ones(0)), "empty")
    refused(TypeError, lambda: float(jnp.ones(2)), "without axes")
    refused(TypeError, lambda: int(jnp.ones(1)), "without axes")
    refused(TypeError, lambda: operator.index(jnp.float32(1)), "integer")
    refused(TypeError, lambda: len(jnp.float32(1)), "without axes")
    refused(TypeError, lambda: list(jnp.float32(1)), "without axes")
    refused(TypeError, lambda: hash(jnp.ones(1)), "not hashable")
    refused(TypeError, lambda: {jnp.float32(1): 2}, "not hashable")


def test_changing_in_place_is_refused_with_the_cure():
    x = jnp.asarray(X)
    text = message(TypeError, lambda: operator.setitem(x, 0, 1.0))
    assert ".at[" in text and ".set(" in text
    y = x
    y += 1
    same(x, X)
    same(y, X + 1)
    with pytest.raises(AttributeError):
        x.shape = (12,)


def test_membership_and_reversal():
    x = jnp.asarray(X)
    assert 3.0 in x and 99.0 not in x
    same(list(reversed(x)), list(X[::-1]))
    first, *rest = x
    same(first, X[0])
    assert len(rest) == 2
    assert isinstance(x, jax.Array) and type(x).__name__ == "Array"
    assert not isinstance(X, jax.Array)


def test_printing():
    assert repr(jnp.float32([1, 2.5])) == "Array([1. , 2.5], dtype=float32)"
    assert repr(jnp.asarray(2.0)) == "Array(2., dtype=float32, weak_type=True)"
    assert repr(jnp.zeros((0, 3))) == "Array([], shape=(0, 3), dtype=float32)"
    assert repr(jnp.ones(2, jnp.bfloat16)) == "Array([1, 1], dtype=bfloat16)" or "bfloat16" in repr(
        jnp.ones(2, jnp.bfloat16)
    )
    assert "..." in repr(jnp.arange(10_000)) and len(repr(jnp.arange(10**6))) < 200
    assert "key<fry>" in repr(random.key(0))
    assert str(jnp.int32([[1, 2], [3, 4]])) == "[[1 2]\n [3 4]]"
    assert f"{jnp.asarray(X)}" == str(X)


def test_keys_are_no_numbers():
    k = random.key(1)
    refused(TypeError, lambda: np.asarray(k), "key_data")
    refused(TypeError, lambda: float(k), "key")
    same(random.key_data(pickle.loads(pickle.dumps(k))), random.key_data(k))
    moved = jax.device_put(k, jax.devices()[2])
    same(random.uniform(moved, (2,)), random.uniform(k, (2,)))


# --- places


def test_device_put_targets():
    one = jax.devices()[1]
    for target in (one, SingleDeviceSharding(one)):
        x = jax.device_put({"a": X, "b": [1.0]}, target)
        assert x["a"].devices() == {one} and x["b"][0].devices() == {one}
    each = jax.device_put({"a": X, "b": X}, {"a": one, "b": jax.devices()[2]})
    assert each["a"].devices() == {one} and each["b"].devices() == {jax.devices()[2]}
    pair = jax.device_put((X, X), (one, None))
    assert pair[0].devices() == {one} and pair[1].devices() == {jax.devices()[0]}
    two = jax.device_put([X, X], [one, jax.devices()[2]])
    assert [t.devices() for t in two] == [{one}, {jax.devices()[2]}]
    refused(TypeError, lambda: jax.device_put(X, "cpu:0"), "device_put", "device", "cpu:0")
    refused(TypeError, lambda: jax.device_put("text", one), "device_put", "text")
    refused(ValueError, lambda: jax.device_put({"a": X}, {"b": one}), "device_put", "structures")
    same(jax.jit(lambda x: jax.device_put(x, one))(X), X)


def test_where_computations_go():
    one = jax.device_put(X, jax.devices()[1])
    assert (one + 1).devices() == {jax.devices()[1]}
    assert jax.jit(lambda x: x * 2)(one).devices() == {jax.devices()[1]}
    assert jax.grad(lambda x: (x**2).sum())(one).devices() == {jax.devices()[1]}
    assert (one + X).devices() == {jax.devices()[1]}
    assert jnp.sin(one).devices() == {jax.devices()[1]}
    two = jax.device_put(X, jax.devices()[2])
    same(one + two, X + X)
    assert jnp.ones(2).devices() == {jax.devices()[0]}
    with jax.default_device(jax.devices()[4]):
        assert jnp.ones(2).devices() == {jax.devices()[4]}
        assert jax.jit(lambda: jnp.ones(2))().devices() == {jax.devices()[4]}
        assert (one + 1).devices() == {jax.devices()[1]}


def test_moving_to_where_it_is_costs_nothing():
    x = jax.device_put(X, jax.devices()[2])
    with counted_compilations() as texts:
        assert jax.device_put(x, jax.devices()[2]) is x
        y = jax.device_put(x, jax.devices()[3])
        jax.device_put(y, jax.devices()[:3])
        jax.device_get(y)
    assert not texts


def test_copies_are_independent():
    x = jnp.asarray(X)
    y = jnp.copy(x)
    assert y is not x and y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    for other in (copy.copy(x), copy.deepcopy({"a": [x]})["a"][0]):
        assert other.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert jnp.asarray(x) is x and jnp.array(x) is not x


@pytest.mark.parametrize(
    "dtype", sorted(dtypes.BOOL | dtypes.INTEGER | dtypes.INEXACT, key=str), ids=str
)
def test_arrays_of_every_dtype_and_rank_are_numpys(dtype):
    for shape in ((), (0,), (3,), (2, 2)):
        host = np.ones(shape, dtype)
        for x in (jnp.asarray(host), jax.jit(lambda x: x)(host), copy.copy(jnp.asarray(host))):
            back = np.asarray(x)
            assert type(back) is np.ndarray and back.dtype == x.dtype and back.shape == shape
            assert np.array_equal(back, host.astype(x.dtype))
            assert repr(x).startswith("Array(")


def test_waiting():
    x = jax.jit(lambda: jnp.ones((200, 200)) @ jnp.ones((200, 200)))()
    assert jax.block_until_ready({"a": x, "b": 3})["b"] == 3
    assert x.is_ready()
    x.copy_to_host_async()
    assert x.on_device_size_in_bytes() == x.nbytes == 160_000


def test_a_pickle_is_read_without_the_devices_of_the_writer():
    import subprocess

    data = pickle.dumps([jax.pmap(lambda r: r * 2)(X), random.key(3), jnp.asarray(1.0)])
    script = (
        "import pickle, sys, plait as jax\n"
        "a, k, s = pickle.loads(sys.stdin.buffer.read())\n"
        "print(float(a.sum()), k.dtype, s.weak_type, jax.device_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=data,
        capture_output=True,
        env={"PLAIT_NUM_CPU_DEVICES": "1", "PYTHONPATH": ".", "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert done.stdout.decode().split() == ["132.0", "key<fry>", "True", "1"], done.stderr.decode()


def test_a_deep_copy_lies_where_the_array_lies():
    for x in (
        jax.pmap(lambda v: v + 1)(np.arange(2.0)),
        jax.device_put_replicated(np.ones(3), jax.devices()[:2]),
        jax.device_put(np.arange(4.0), NamedSharding(mesh(a=2), P("a"))),
        jax.device_put(np.float32(1), jax.devices()[3]),
        jnp.arange(3),
    ):
        value, y = np.asarray(x), copy.deepcopy({"x": x})["x"]
        assert y.sharding == x.sharding and y.type is x.type
        x.delete()
        np.testing.assert_array_equal(y, value)


def test_a_format_for_numbers_is_refused_for_several():
    assert f"{jnp.float32(2):.1f} {jnp.ones(2)}" == "2.0 [1. 1.]"
    with pytest.raises(TypeError, match=r"'.1f' is for scalars"):
        f"{jnp.ones(2):.1f}"


def test_arrays_that_live():
    x = jnp.arange(3) + 1
    y = jax.jit(lambda x: x * 2)(x)
    found = {id(a) for a in jax.live_arrays()}
    assert {id(x), id(y)} <= found
    y.delete()
    assert id(y) not in {id(a) for a in jax.live_arrays("cpu")}


def test_report_of_the_environment(capsys, monkeypatch):
    monkeypatch.setenv("PLAIT_EXAMPLE", "yes")
    text = jax.print_environment_info(return_string=True)
    assert capsys.readouterr().out == ""
    jax.print_environment_info()
    assert capsys.readouterr().out == text + "\n"
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines["plait"] == jax.__version__ and lines["numpy"] == np.__version__
    assert lines["PLAIT_EXAMPLE"] == "yes" and str(jax.device_count()) in lines["devices"]
