"""Donation: memory really is reused, nobody else sees it, and what was given away says so."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import DonatedError, DonatedTwiceError
from plait.runtime import client, xla
from tests.transforms.common import counted_compilations, live_bytes, message, refused, same

N = 4096
BYTES = 4 * N


def fresh(shape: Any = (N,), value: float = 1.0) -> Any:
    """A new array nobody else holds."""
    return jax.jit(lambda: jnp.full(shape, value))().block_until_ready()


def pointer(x: Any) -> int:
    """The address of an array's memory, without keeping a view of it."""
    return x.unsafe_buffer_pointer()


def held() -> int:
    """Bytes of the live arrays of these tests' size: other tests' come and go meanwhile."""
    live = client.backend().live_arrays()
    return sum(xla.nbytes(b) for b in live if b.aval.shape[-1:] == (N,) and not xla.is_deleted(b))


# --- memory


def test_memory_is_reused():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = fresh()
    memory = f.lower(x).compile().memory_analysis()
    assert memory.alias_size_in_bytes == BYTES
    at = pointer(x)
    y = f(x)
    assert pointer(y) == at
    same(y, np.full(N, 2, np.float32))
    kept = jax.jit(lambda x: x + 1)
    assert kept.lower(y).compile().memory_analysis().alias_size_in_bytes == 0
    z = kept(y)
    assert pointer(z) != pointer(y)


def test_a_loop_of_steps_stays_where_it_is():
    f = jax.jit(lambda s: {"w": s["w"] * 0.5, "n": s["n"] + 1}, donate_argnums=0)
    state = {"w": fresh(), "n": fresh(())}
    at = pointer(state["w"])
    gc.collect()
    before, every = held(), live_bytes()
    for _ in range(5):
        state = f(state)
        assert pointer(state["w"]) == at
    gc.collect()
    assert held() == before and live_bytes() <= every
    assert float(state["w"][0]) == 0.5**5 and int(state["n"]) == 6


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_memory_of_maps_is_reused(form):
    with override(pmap_form=form):
        f = jax.pmap(lambda x: x + lax.psum(x, "i"), "i", donate_argnums=0)
        x = jax.pmap(lambda k: jnp.full(N, k))(np.float32([1, 2, 3, 4])).block_until_ready()
        each = 4 if form == "fused" else 1
        memory = f.lower(x).compile().memory_analysis()
        assert memory.alias_size_in_bytes == each * BYTES
        gc.collect()
        before = held()
        for k in range(3):
            x = f(x)
            assert held() == before
            del k
        same(x[0], np.full(N, 1 + 10 + 50 + 250, np.float32))
        pair = jax.pmap(lambda a, b: (b * 2, a * 3), donate_argnums=(0, 1))
        a = jax.pmap(lambda k: jnp.full(N, k))(np.float32([1, 2]))
        b = jax.pmap(lambda k: jnp.full(N, k))(np.float32([3, 4]))
        y, z = pair(a, b)
        same((y[0], z[1]), (np.full(N, 6, np.float32), np.full(N, 6, np.float32)))
        assert a.is_deleted() and b.is_deleted()


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_replicated_state(form):
    with override(pmap_form=form):
        state = jax.device_put_replicated({"w": jnp.ones(N)}, jax.devices()[:4])
        f = jax.pmap(lambda s, x: {"w": s["w"] - lax.pmean(x, "i")}, "i", donate_argnums=0)
        first = state
        for _ in range(3):
            state = f(state, np.float32([1, 2, 3, 6]))
        same(state["w"][2], np.full(N, -8, np.float32))
        assert first["w"].is_deleted()


# --- nobody else sees it


def test_arrays_of_numpy_never_change():
    f = jax.jit(lambda x: x * 0 - 5, donate_argnums=0)
    p = jax.pmap(lambda x: x * 0 - 5, donate_argnums=0)
    for make in (
        lambda a: a,
        jnp.asarray,
        jnp.array,
        jax.device_put,
        lambda a: jax.device_put(a, jax.devices()[1]),
        lambda a: jax.device_put(a, jax.devices()[:2]),
        lambda a: jax.device_put_sharded(list(a), jax.devices()[:2]),
        lambda a: jnp.from_dlpack(a) if hasattr(jnp, "from_dlpack") else jnp.asarray(a),
    ):
        for run in (f, p):
            a = np.ones((2, N), np.float32)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                y = run(make(a))
            assert (a == 1).all()
            assert (np.asarray(y) == -5).all()


def test_views_and_items_keep_their_values():
    f = jax.jit(lambda x: x * 0 - 5, donate_argnums=0)
    for view in (
        np.asarray,
        lambda x: x[0],
        lambda x: x[1:2],
        lambda x: list(x)[1],
        lambda x: x.T,
        lambda x: x.reshape(-1),
        lambda x: jnp.asarray(x, copy=True),
        lambda x: jax.device_put(x, jax.devices()[:2]),
        lambda x: jax.device_put(x, jax.devices()[2]),
        lambda x: jax.device_get(x),
        lambda x: x.addressable_shards[0].data,
        lambda x: x + 0,
        copy.deepcopy,
        np.from_dlpack,
        lambda x: pickle.loads(pickle.dumps(x)),
    ):
        x = fresh((2, N))
        held = view(x)
        y = f(x)
        assert (np.asarray(held) == 1).all(), view
        assert (np.asarray(y) == -5).all()


def test_arguments_that_are_not_donated_live():
    f = jax.jit(lambda a, b: (a + b, a - b), donate_argnums=1)
    a, b = fresh(), fresh()
    f(a, b)
    assert b.is_deleted() and not a.is_deleted()
    same(a, np.ones(N, np.float32))


def test_inside_of_another_jit_nothing_is_taken():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = fresh()
    outer = jax.jit(lambda x: f(x) + x)
    same(outer(x), np.full(N, 3, np.float32))
    same(outer(x), np.full(N, 3, np.float32))
    assert not x.is_deleted()
    same(jax.grad(lambda x: f(x).sum())(x), np.ones(N, np.float32))
    same(jax.vmap(f)(x), np.full(N, 2, np.float32))


def test_numbers_and_host_arrays_may_be_donated():
    f = jax.jit(lambda x, k: x * k, donate_argnums=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(f(2.0, 3.0), np.float32(6))
        same(f(2.0, 3.0), np.float32(6))
        same(f(np.ones(3, np.float32), 3.0), np.full(3, 3, np.float32))


# --- by name and number


@pytest.mark.parametrize(
    "options, call",
    [
        ({"donate_argnums": 0}, lambda f, x, y: f(x, y)),
        ({"donate_argnums": -2}, lambda f, x, y: f(x, y)),
        ({"donate_argnums": [0]}, lambda f, x, y: f(x=x, y=y)),
        ({"donate_argnames": "x"}, lambda f, x, y: f(x, y)),
        ({"donate_argnames": ["x"]}, lambda f, x, y: f(y=y, x=x)),
        ({"donate_argnums": 0, "donate_argnames": "x"}, lambda f, x, y: f(x, y=y)),
    ],
)
def test_however_it_is_passed(options, call):
    f = jax.jit(lambda x, y: x + y, **options)
    x, y = fresh(), fresh()
    same(call(f, x, y), np.full(N, 2, np.float32))
    assert x.is_deleted() and not y.is_deleted()


def test_mistakes():
    def f(x, y):
        return x

    refused(ValueError, lambda: jax.jit(f, donate_argnums=2), "jit", "donate_argnums", "argument 2")
    refused(ValueError, lambda: jax.jit(f, donate_argnums=(0, -3)), "argument -3")
    refused(ValueError, lambda: jax.jit(f, donate_argnames="z"), "donate_argnames", "'z'")
    refused(TypeError, lambda: jax.jit(f, donate_argnums="x"), "ints")
    refused(TypeError, lambda: jax.jit(f, donate_argnums=1.5), "int")
    refused(TypeError, lambda: jax.jit(f, donate_argnames=1), "name")


# --- afterwards


def test_every_use_says_who_took_it():
    def step(x):
        return x + 1

    x = fresh()
    jax.jit(step, donate_argnums=0)(x)
    assert x.is_deleted() and x.shape == (N,) and x.dtype == jnp.float32 and x.nbytes == BYTES
    assert "deleted" in repr(x) and "deleted" in str(x)
    uses: list[Any] = [
        lambda: x + 1,
        lambda: 1 + x,
        lambda: np.asarray(x),
        lambda: x[0],
        lambda: x[jnp.arange(2)],
        lambda: float(x[0]),
        lambda: x.block_until_ready(),
        lambda: jax.jit(lambda a: a)(x),
        lambda: jax.jit(lambda a: a * x)(1.0),
        lambda: jax.vmap(lambda a: a * 2)(x),
        lambda: jax.grad(lambda a: a.sum())(x),
        lambda: jax.pmap(lambda a: a)(x),
        lambda: jax.device_put(x, jax.devices()[1]),
        lambda: jax.device_get(x),
        lambda: pickle.dumps(x),
        lambda: copy.deepcopy(x),
        lambda: x.addressable_shards[0].data,
        lambda: x.is_ready(),
        lambda: x.tolist(),
        lambda: jnp.stack([x, x]),
        lambda: x.__dlpack__(),
        lambda: list(x),
        lambda: x.astype("int32"),
        lambda: x.at[0].set(1),
    ]
    for k, use in enumerate(uses):
        text = message(RuntimeError, use)
        assert "was given away" in text and "the call of step, which donates it" in text, (k, text)
    text = message(RuntimeError, lambda: jax.jit(lambda a, b: a)(1.0, {"state": [x]}))
    assert "the array b['state'][0] was given away" in text and "float32[4096]" in text


def test_deleting_by_hand():
    x = fresh()
    x.delete()
    x.delete()
    assert x.is_deleted()
    refused(RuntimeError, lambda: x + 1, "given away", "delete()")


def test_taken_twice():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = fresh()
    f(x)
    refused(RuntimeError, lambda: f(x), "x", "given away")
    g = jax.jit(lambda a, b: (a + b["k"][0], b), donate_argnums=1)
    x = fresh()
    refused(ValueError, lambda: g(x, {"k": [x]}), "a and b['k'][0] are one array", "jnp.copy")
    both = jax.jit(lambda a, b: (a, b), donate_argnums=(0, 1))
    refused(ValueError, lambda: both(x, x), "a and b are one array")
    same(x, np.ones(N, np.float32))
    same(f(x), np.full(N, 2, np.float32))


def test_buffers_without_use_are_told_once():
    f = jax.jit(lambda p: p["w"].sum(), donate_argnums=0)
    with pytest.warns(UserWarning) as caught:
        f({"w": fresh((3, 2)), "n": fresh(())})
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "p['w'] float32[3,2]" in text and "could not be used" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f({"w": fresh((3, 2)), "n": fresh(())})  # compiled already
        jax.jit(lambda x, y: x + 1, donate_argnums=0)(fresh(), fresh())
    with pytest.warns(UserWarning, match=r"x float32\[4096\]"):
        jax.jit(lambda x: x.astype(jnp.int32), donate_argnums=0)(fresh())


def test_donation_by_device_put():
    x = fresh()
    y = jax.device_put(x, jax.devices()[1], donate=True)
    same(y, np.ones(N, np.float32))


def test_failures_give_nothing_away():
    def f(x, y):
        if y.shape == (2,):
            raise KeyError("no")
        return x + 1

    run = jax.jit(f, donate_argnums=0)
    x = fresh()
    with pytest.raises(KeyError):
        run(x, np.ones(2))
    with pytest.raises(TypeError):
        run(x, "text")
    assert not x.is_deleted()
    same(run(x, np.ones(3)), np.full(N, 2, np.float32))


def test_donation_does_not_compile_again():
    f = jax.jit(lambda x: x * 2, donate_argnums=0)
    x = f(fresh())
    with counted_compilations() as texts:
        for _ in range(3):
            x = f(x)
    assert not texts
    same(x, np.full(N, 16, np.float32))


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_arrays_that_a_function_closes_over(form):
    devices = jax.devices()[:4]
    rows = np.arange(4, dtype=np.float32)

    def spread() -> Any:
        return jax.device_put(rows, devices)

    def sharded() -> Any:
        mesh = jax.make_mesh((4,), ("i",), devices=devices)
        return jax.device_put(rows, jax.NamedSharding(mesh, jax.P("i")))

    def plain() -> Any:
        return jnp.array(rows)

    with override(pmap_form=form):
        for make, transform in ((spread, jax.pmap), (sharded, jax.jit), (plain, jax.jit)):
            held = make()
            add = lambda x, held=held: x + held.sum()
            with pytest.raises(DonatedTwiceError, match="x is donated, and the function closes"):
                transform(add, donate_argnums=0)(held)
            f = transform(add)
            np.testing.assert_array_equal(f(rows), rows + 6)
            transform(lambda x: x * 2, donate_argnums=0)(held)
            held.delete()
            try:  # a program over several devices may have a copy of its own
                np.testing.assert_array_equal(f(rows), rows + 6)
                assert form == "gang"
            except DonatedError as error:
                assert "closes over was given away or deleted" in str(error)
