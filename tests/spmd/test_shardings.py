"""Where results of maps lie: what the rule of lanes says, in both forms, in nests of any depth."""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from tests.spmd.common import live_bytes, refused, same


def cube(*shape: int) -> np.ndarray:
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


def grid_of(sizes: Sequence[int], count: int) -> list[int]:
    """How many devices each map of a nest gets: as many as it has rows, or as divide them."""
    grid = []
    for n in sizes:
        grid.append(n if n <= count else max(k for k in range(1, count + 1) if n % k == 0))
        count //= grid[-1]
    return grid


def blocks(sizes: Sequence[int], count: int) -> list[tuple[slice, ...]]:
    """The rows of each device, in order."""
    grid = grid_of(sizes, count)
    each = [n // g for n, g in zip(sizes, grid, strict=True)]
    return [
        tuple(slice(p * e, (p + 1) * e) for p, e in zip(place, each, strict=True))
        for place in itertools.product(*map(range, grid))
    ]


def nest(f: Callable[..., Any], sizes: Sequence[int], devices: Sequence[Any]) -> Any:
    for k in reversed(range(len(sizes))):
        f = jax.pmap(f, axis_name=f"a{k}", devices=devices)
    return f


def lies(y: Any) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    """(device, rows of its part) for every shard; the parts are those of the value."""
    whole, out = np.asarray(y), []
    for shard in y.addressable_shards:
        index = tuple(s.indices(n)[:2] for s, n in zip(shard.index, y.shape, strict=True))
        part = whole[shard.index]
        np.testing.assert_array_equal(np.asarray(shard.data), part)
        assert shard.data.devices() == {shard.device}
        assert part.shape == y.sharding.shard_shape(y.shape)
        out.append((shard.device.id, index))
    assert {s.device for s in y.addressable_shards} == y.devices() == y.sharding.device_set
    return out


SIZES = [(1,), (2,), (8,), (16,), (1, 2), (2, 1), (2, 2), (2, 6), (2, 3), (4, 4), (3, 2), (2, 5)]
SIZES += [(1, 3, 2), (2, 2, 2), (2, 3, 4), (1, 1, 1), (2, 2, 6)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rows_lie_where_the_rule_says(sizes, form):
    x = cube(*sizes, 3)
    for count in (1, 2, 4, 8):
        if sizes[0] > count and sizes[0] % count:
            continue  # refused
        devices = jax.devices()[::-1][:count]
        y = nest(lambda r: r * 2 + 1, sizes, devices)(x)
        same(y, x * 2 + 1)
        want = [
            (d.id, (*((s.start, s.stop) for s in rows), (0, 3)))
            for d, rows in zip(devices, blocks(sizes, count), strict=False)
        ]
        assert lies(y) == want


def test_sums_over_every_axis_of_a_nest_with_lanes(form):
    for sizes, count in (((2, 6), 4), ((2, 3, 4), 8), ((2, 1), 2), ((1, 2, 1), 4), ((2, 5, 2), 8)):
        names = [f"a{k}" for k in range(len(sizes))]
        x = cube(*sizes, 2)

        def f(r, names=names):
            sums = [lax.psum(r, n) for n in names]
            return r / lax.pmax(r, names), sums, lax.all_gather(r, names[-1]), lax.axis_index(names)

        got = nest(f, sizes, jax.devices()[:count])(x)
        for k, total in enumerate(got[1]):
            same(total, np.broadcast_to(x.sum(k, keepdims=True), x.shape))
        shape = (*sizes, sizes[-1], 2)
        same(got[2], np.broadcast_to(np.expand_dims(x, -3), shape))
        same(got[3], np.arange(math.prod(sizes), dtype=np.int32).reshape(sizes))


def stacked(x):
    """What is equal along the inner axis, the outer one, and both."""
    a, b = lax.psum(x, "a1"), lax.psum(x, "a0")
    return a, b, lax.psum(x, ("a0", "a1"))


D: Any = None  # the devices, set when a case runs
CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "equal along an axis": (lambda: nest(stacked, (2, 2), D), cube(2, 2, 3)),
    "work around the inner map": (
        lambda: jax.pmap(lambda x: jax.pmap(jnp.sin, devices=D)(x) + 1, devices=D),
        cube(2, 2),
    ),
    "other axes": (
        lambda: jax.pmap(jax.pmap(jnp.sin, out_axes=1, devices=D), out_axes=1, devices=D),
        cube(2, 2, 3),
    ),
    "inner result unmapped": (
        lambda: jax.pmap(
            jax.pmap(lambda x: lax.psum(x, "j"), "j", out_axes=None, devices=D), devices=D
        ),
        cube(2, 2, 3),
    ),
    "result unmapped": (
        lambda: jax.pmap(
            lambda x: (x, lax.psum(x, "i"), 0.0 * lax.psum(x, "i")),
            "i",
            out_axes=(0, None, 0),
            devices=D,
        ),
        cube(4, 2),
    ),
    "beside a map": (
        lambda: jax.jit(lambda x: (jax.pmap(jnp.sin, devices=D)(x), x + 1, x.sum(), x)),
        cube(4, 2),
    ),
    "vmap": (lambda: jax.vmap(jax.pmap(jnp.sin, devices=D), 1, 1), cube(4, 3)),
    "vmap of two": (lambda: jax.vmap(nest(jnp.sin, (2, 2), D), 2, 1), cube(2, 2, 3)),
    "grad": (
        lambda: jax.grad(lambda x: nest(lambda r: r**2 * lax.psum(r, "a0"), (2, 2), D)(x).sum()),
        cube(2, 2, 3),
    ),
    "a loop": (
        lambda: jax.jit(lambda x: lax.fori_loop(0, 3, lambda _, y: nest(jnp.sin, (2, 2), D)(y), x)),
        cube(2, 2),
    ),
    "two maps": (
        lambda: jax.jit(
            lambda x: (nest(jnp.sin, (4,), D)(x), nest(jnp.cos, (2, 2), D)(x.reshape(2, 2, -1)))
        ),
        cube(4, 2),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [2, 8])
def test_both_forms_show_the_same(case, count):
    global D
    D = jax.devices()[:count]
    make, x = CASES[case]
    found = []
    for form in ("fused", "gang"):
        with override(pmap_form=form):
            ys = jax.tree.leaves(make()(x))
            found.append([(np.asarray(y), lies(y), y.sharding) for y in ys])
            # Fed back, as arrays that lie there, they are the same numbers.
            again = jax.tree.leaves(jax.jit(lambda *ys: [y + 1 for y in ys])(*ys))
            for y, z in zip(ys, again, strict=True):
                np.testing.assert_array_equal(np.asarray(z), np.asarray(y) + 1)
    for (a, where_a, sharding_a), (b, where_b, sharding_b) in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert where_a == where_b and sharding_a == sharding_b


def test_what_is_equal_along_several_axes_is_stored_once():
    with override(pmap_form="fused"):
        w = jnp.ones((50, 20))
        make = lambda n: nest(lambda x: w * lax.psum(x, n), (2, 4), jax.devices())
        for names, each in ((("a0", "a1"), 1), (("a0",), 4), ((), 8)):
            y = make(names)(cube(2, 4))
            assert y.on_device_size_in_bytes() == each * 4000 and len(y.devices()) == 8
            want = cube(2, 4).sum(tuple(int(n[1]) for n in names), keepdims=True)
            same(y, np.broadcast_to(want[..., None, None], (2, 4, 50, 20)))
            same(y[1, 2], np.broadcast_to(want[-1, -1 if want.shape[1] == 1 else 2], (50, 20)))
            again = nest(lambda y: y * 2, (2, 4), jax.devices())(y)
            assert again.on_device_size_in_bytes() == each * 4000
            same(again, 2 * np.asarray(y))


def test_rows_of_inner_maps_are_never_too_many(form):
    f = lambda r: r - lax.pmean(r, "j")
    for n in (3, 5, 7, 12):
        x = cube(2, n)
        inner = jax.pmap(f, "j", devices=jax.devices()[:4])
        got = jax.pmap(inner, "i", devices=jax.devices()[:4])(x)
        same(got, x - x.mean(1, keepdims=True))
    refused(ValueError, lambda: jax.pmap(f, "j", devices=jax.devices()[:4])(cube(6)), "6 rows")
    with jax.disable_jit():
        same(jax.pmap(jax.pmap(f, "j"), "i")(cube(2, 9)), cube(2, 9) - cube(2, 9).mean(1)[:, None])


def test_a_step_fed_its_own_results_is_compiled_once(form):
    from tests.spmd.common import counted_compilations

    step = jax.pmap(lambda w, x: w - 0.1 * lax.pmean(x * w, "i"), "i")
    half = jax.pmap(
        lambda w, x: w - 0.1 * lax.pmean(x * w, "i"), "i", in_axes=(None, 0), out_axes=None
    )
    with counted_compilations() as texts:
        for f, w in ((step, cube(4, 2)), (half, cube(2))):
            for _ in range(4):
                w = f(w, cube(4, 2))
    assert len(texts) <= (2 if form == "fused" else 3)


def test_memory_of_steps_of_eight_lanes_on_two_devices():
    size, devices = 250_000, jax.devices()[:2]
    rates = jnp.arange(8, dtype=np.float32) / 100
    start = jax.pmap(lambda rate: jnp.ones(size), "i", devices=devices)
    updates = {
        1: lambda s, rate: s - 0.1 * lax.pmean(rate, "i") * s,  # equal in all lanes
        8: lambda s, rate: s - 0.1 * rate * s,
    }
    with override(pmap_form="fused"):
        for copies, update in updates.items():
            step = jax.pmap(update, "i", devices=devices, donate_argnums=0)
            keep = jax.pmap(update, "i", devices=devices)
            gc.collect()
            before = live_bytes()
            state = keep(start(rates), rates)
            for _ in range(3):
                state = step(state, rates)
                assert live_bytes() - before == copies * 4 * size
            other = keep(state, rates)
            assert live_bytes() - before == 2 * copies * 4 * size
            assert other.shape == (8, size) and other.devices() == set(devices)
            del state, other


def test_compiled_functions_take_arguments_from_anywhere_and_say_where_results_lie(form):
    mesh = jax.make_mesh((4, 2), ("x", "y"))
    spread = jax.NamedSharding(mesh, jax.P("x", "y"))
    x = cube(8, 2)
    one = jax.sharding.SingleDeviceSharding(jax.devices()[3])
    places = {"shapes": x, "default": jnp.asarray(x)}
    places |= {"one device": jax.device_put(x, one), "spread": jax.device_put(x, spread)}

    @jax.jit
    def f(x, *, c):
        return x * c, x.sum()

    for name, given in places.items():
        info = jax.ShapeDtypeStruct.like(given)
        committed = name in ("one device", "spread")
        assert info.sharding == (given.sharding if committed else None)
        for shown in (given, info):
            compiled = f.lower(shown, c=2.0).compile()
            inputs, outputs = compiled.input_shardings, compiled.output_shardings
            assert list(inputs[1]) == ["c"] and len(inputs[0]) == 1
            if committed:
                assert inputs[0][0] == given.sharding
            for y, where in zip(compiled(given, c=2.0), outputs, strict=True):
                assert y.sharding == where
            for other in places.values():
                y, total = compiled(other, c=2.0)
                same(y, 2 * x)
                same(total, x.sum())
    if form == "gang":
        assert f.lower(places["spread"], c=1.0).compile().output_shardings[0] == spread
    pinned = jax.jit(lambda x: x, out_shardings=spread).lower(x).compile()
    assert pinned.output_shardings == pinned(x).sharding == spread


def test_arrays_like_another_lie_where_it_was_put(form):
    mesh = jax.make_mesh((4, 2), ("x", "y"))
    spread = jax.device_put(cube(8, 2), jax.NamedSharding(mesh, jax.P("x", "y")))
    alone = jax.device_put(cube(8, 2), jax.devices()[3])
    rows = jax.pmap(lambda x: x + 1)(cube(8, 2))
    for x in (spread, alone, rows):
        whole = np.zeros((8, 2), np.float32)
        for y, want in (
            (jnp.zeros_like(x), whole),
            (jnp.ones_like(x, dtype=int), whole.astype(np.int32) + 1),
            (jnp.full_like(x, 3), whole + 3),
            (jnp.full_like(x, jnp.float32(2)), whole + 2),
            (jnp.empty_like(x), whole),
            (jnp.full_like(x, np.arange(2)), whole + np.arange(2, dtype=np.float32)),
        ):
            same(y, want)
            assert lies(y) == lies(x) and y.sharding == x.sharding
        elsewhere = jnp.zeros_like(x, device=jax.devices()[1])
        assert elsewhere.devices() == {jax.devices()[1]}
        other = jnp.zeros_like(x, shape=(3,))
        assert other.devices() == ({jax.devices()[3]} if x is alone else {jax.devices()[0]})
        same(jax.jit(jnp.zeros_like)(x), whole)
    assert not jnp.zeros_like(jnp.ones(3)).committed
