"""Maps in maps over grids of devices, in control flow, under jit and derivatives, side by side."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from tests.spmd.common import counted_compilations, refused, same

pytestmark = pytest.mark.usefixtures("form")
NAMES = "abc"


def cube(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 2.0, shape).astype(np.float32)


def nest(mapped: Any, f: Any, names: str = NAMES, **options: Any) -> Any:
    for name in reversed(names):
        f = mapped(f, axis_name=name, **options)
    return f


def everything(names: str) -> Any:
    """Collectives over every set of the names, and places on every axis."""

    def f(x):
        out = {}
        for k in range(1, len(names) + 1):
            for some in itertools.permutations(names, k):
                word = "".join(some)
                out[f"sum {word}"] = lax.psum(x, some)
                out[f"place {word}"] = lax.axis_index(some)
                if list(some) == sorted(some):
                    out[f"largest {word}"] = lax.pmax(x, some) - lax.pmean(x, some)
        for name in names:
            n = lax.axis_size(name)
            out[f"moved {name}"] = lax.ppermute(x, name, [(k, (k + 1) % n) for k in range(n)])
            out[f"all {name}"] = lax.all_gather(x, name)
            out[f"part {name}"] = lax.psum_scatter(lax.all_gather(x * x, name), name)
        return out

    return f


@pytest.mark.parametrize(
    "shape, count",
    [
        ((2, 2), 8),
        ((4, 2), 8),
        ((3, 2), 8),
        ((2, 2), 1),
        ((4, 4), 8),  # the second axis has two lanes a device
        ((2, 8), 4),
        ((8, 2), 4),
        ((2, 2, 2), 8),
        ((2, 2, 2), 4),
        ((2, 3, 2), 6),
    ],
)
def test_maps_in_maps(shape, count):
    names = NAMES[: len(shape)]
    x = cube(*shape, 3)
    f = everything(names)
    want = jax.jit(nest(jax.vmap, f, names))(x)
    got = nest(jax.pmap, f, names, devices=jax.devices()[:count])(x)
    same(got, want, rtol=1e-4)


def test_maps_in_maps_spread_over_the_grid(form):
    x = cube(2, 4, 3)
    y = jax.pmap(jax.pmap(lambda x: x * 2))(x)
    if form == "gang":
        assert y.devices() == set(jax.devices())
        assert {s.data.shape for s in y.addressable_shards} == {(1, 1, 3)}
    same(y, x * 2)
    z = jax.pmap(jax.pmap(lambda x: x + lax.psum(x, "b"), "b"))(y)
    same(z, x * 2 + 2 * x.sum(1, keepdims=True))


ORDERS: dict[str, Any] = {
    "pmap of vmap": lambda f: jax.pmap(jax.vmap(f, axis_name="b"), axis_name="a"),
    "vmap of pmap": lambda f: jax.vmap(jax.pmap(f, axis_name="b"), axis_name="a"),
    "pmap of jit of pmap": lambda f: jax.pmap(jax.jit(jax.pmap(f, axis_name="b")), axis_name="a"),
    "jit of pmap of pmap": lambda f: jax.jit(jax.pmap(jax.pmap(f, axis_name="b"), axis_name="a")),
    "checkpoint": lambda f: jax.pmap(jax.checkpoint(jax.pmap(f, axis_name="b")), axis_name="a"),
}


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order):
    x = cube(4, 2, 3)
    f = lambda x: jnp.sin(lax.psum(x, "a")) * lax.axis_index("b") + lax.pmean(x, ("b", "a"))
    want = jax.vmap(jax.vmap(f, axis_name="b"), axis_name="a")(x)
    run = ORDERS[order](f)
    same(run(x), want)
    slope = jax.grad(lambda x, run=run: (run(x) ** 2).sum())(x)
    whole = jax.grad(lambda x: (jax.vmap(jax.vmap(f, axis_name="b"), axis_name="a")(x) ** 2).sum())(
        x
    )
    same(slope, whole, rtol=1e-4, atol=1e-4)


def test_a_vmap_between_two_maps():
    x = cube(2, 3, 2, 2)
    f = lambda x: x / lax.psum(x, ("a", "c")) + lax.pmax(x, "b")
    make = lambda outer, inner: outer(
        jax.vmap(inner(f, axis_name="c"), axis_name="b", in_axes=0), axis_name="a"
    )
    same(make(jax.pmap, jax.pmap)(x), make(jax.vmap, jax.vmap)(x))


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, 0), (0, -1), (2, 1)])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes_of_maps_in_maps(axes, out):
    x = cube(2, 2, 2)
    f = lambda r: jnp.cumsum(r) * lax.psum(r, "a").sum() + lax.axis_index("b")
    make = lambda m: m(m(f, "b", in_axes=axes[1]), "a", in_axes=axes[0], out_axes=out)
    vmapped = jax.vmap(
        jax.vmap(f, axis_name="b", in_axes=axes[1]),
        axis_name="a",
        in_axes=axes[0],
        out_axes=out,
    )
    same(make(jax.pmap)(x), vmapped(x))


def test_unmapped_arguments_and_results_of_maps_in_maps():
    w, x = cube(3), cube(2, 2, 3)
    f = lambda w, x: (lax.pmean((w * x).sum(), ("a", "b")), w * 2, x + w)
    inner = jax.pmap(f, "b", in_axes=(None, 0), out_axes=(None, None, 0))
    got = jax.pmap(inner, "a", in_axes=(None, 0), out_axes=(None, None, 0))(w, x)
    same(got, (np.float32((w * x).sum() / 4), w * 2, x + w), rtol=1e-4)


# --- several maps in one program


def test_maps_of_different_widths_under_one_jit():
    @jax.jit
    def f(x):  # [16]
        two = jax.pmap(lambda r: r / lax.psum(r, "i").sum(), "i")(x.reshape(2, 8))
        four = jax.pmap(lambda r: r + lax.pmean(r, "j"), "j")(two.reshape(4, 4))
        eight = jax.pmap(lambda r: lax.all_gather(r, "k").sum(0) * r, "k")(four.reshape(8, 2))
        lanes = jax.pmap(lambda r: r * lax.axis_index("l"), "l")(eight.reshape(16))
        one = jax.pmap(lambda r: r * 2)(lanes[None])
        three = jax.pmap(lambda r: lax.pmax(r, "m"), "m")(one[0, :3])
        return two, four, eight, lanes, one, three, (lanes.sum(), four.T @ four)

    x = cube(16)
    with counted_compilations() as texts:
        got = f(x)
    assert len(texts) == 1
    two = x.reshape(2, 8) / x.sum()
    four = two.reshape(4, 4) + two.reshape(4, 4).mean(0)
    eight = four.reshape(8, 2) * four.reshape(8, 2).sum(0)
    lanes = eight.reshape(16) * np.arange(16, dtype=np.float32)
    one = lanes[None] * 2
    three = np.full(3, one[0, :3].max())
    same(got, (two, four, eight, lanes, one, three, (lanes.sum(), four.T @ four)), rtol=1e-4)


def test_maps_on_different_devices_under_one_jit():
    @jax.jit
    def f(x):
        a = jax.pmap(lambda r: r * lax.psum(r, "i"), "i", devices=jax.devices()[:2])(x)
        b = jax.pmap(lambda r: r - lax.pmean(r, "i"), "i", devices=jax.devices()[2:6])(x)
        return a + b

    x = cube(4, 3)
    same(f(x), x * x.sum(0) + x - x.mean(0))


def test_results_of_one_map_are_arguments_of_the_next():
    step = jax.pmap(lambda w, x: (w - 0.1 * lax.pmean(w * x, "i"), x[::-1]), "i", in_axes=(0, 0))
    w, x = cube(4, 3), cube(4, 3)
    want_w, want_x = w, x
    for _ in range(4):
        w, x = step(w, x)
        want_w, want_x = want_w - 0.1 * (want_w * want_x).mean(0), want_x[:, ::-1]
    same((w, x), (want_w, want_x))
    other = jax.pmap(lambda c: lax.psum(c, "j"), "j", in_axes=1)
    same(other(w), np.stack([want_w.sum(1)] * 3))


def test_numbers_of_devices_change_from_map_to_map():
    x = cube(8, 4)
    y: Any = x
    for count in (8, 2, 4, 1, 8):
        devices = jax.devices()[:count]
        y = jax.pmap(lambda r: r + 0.5 * lax.pmean(r, "i"), "i", devices=devices)(y)
        assert y.devices() == set(devices)
        x = x + 0.5 * x.mean(0)
    same(y, x)


# --- control flow


def rows(x):
    return jax.pmap(lambda r: jnp.cos(r) + lax.pmean(r, "i"), "i")(x)


def rows_by_hand(x):
    return np.cos(x) + x.mean(0)


@pytest.mark.parametrize("compiled", [False, True])
def test_maps_in_loops(compiled):
    wrap = jax.jit if compiled else lambda f: f
    x = cube(4, 2)
    three = rows_by_hand(rows_by_hand(rows_by_hand(x)))
    same(wrap(lambda x: lax.fori_loop(0, 3, lambda _, c: rows(c), x))(x), three)

    def grow(x):
        return lax.while_loop(lambda c: c[1] < 3, lambda c: (rows(c[0]), c[1] + 1), (x, 0))

    same(wrap(grow)(x)[0], three)

    def walk(x, ts):
        return lax.scan(lambda c, t: (rows(c) * t, c.sum(0)), x, ts)

    last, every = wrap(walk)(x, np.float32([1, 1, 1]))
    same(last, three)
    same(every[1], rows_by_hand(x).sum(0), rtol=1e-4)
    both = wrap(lambda x: lax.cond(x.sum() > 0, rows, lambda x: -x, x))
    same(both(x), rows_by_hand(x))
    same(both(-x), x)
    branches = [lambda x: x, rows, lambda x: rows(rows(x))]
    same(wrap(lambda k, x: lax.switch(k, branches, x))(2, x), rows_by_hand(rows_by_hand(x)))


def test_loops_in_maps_in_loops():
    def inner(r):
        return lax.fori_loop(0, 2, lambda _, c: c * 0.5 + lax.pmean(c, "i"), r)

    def outer(x):
        return lax.scan(lambda c, _: (jax.pmap(inner, "i")(c), None), x, None, length=2)[0]

    x = cube(2, 3)
    want = x
    for _ in range(4):
        want = want * 0.5 + want.mean(0)
    same(outer(x), want)
    same(jax.jit(outer)(x), want)


def test_derivatives_through_loops_of_maps():
    def f(x, mapped=jax.pmap):
        step = mapped(lambda r: jnp.sin(r) + lax.psum(r * r, "i"), axis_name="i")
        return lax.scan(lambda c, t: (step(c) * t, None), x, np.float32([0.5, 0.3]))[0].sum()

    x = cube(2, 2)
    want = jax.grad(lambda x: f(x, jax.vmap))(x)
    same(jax.grad(f)(x), want, rtol=1e-4)
    same(jax.jit(jax.grad(f))(x), want, rtol=1e-4)
    push = jax.jvp(f, (x,), (np.ones_like(x),))[1]
    same(push, np.asarray(want).sum(), rtol=1e-4)


# --- derivatives


def test_all_kinds_of_derivatives_of_maps():
    def f(w, x, mapped=jax.pmap):
        loss = lambda w, x: lax.pmean(jnp.tanh(w @ x) ** 2, "i")
        return mapped(loss, axis_name="i", in_axes=(None, 0), out_axes=None)(w, x)

    w, x = cube(2), cube(4, 2)
    plain = lambda w: (jnp.tanh(x @ w) ** 2).mean()
    g = lambda w: f(w, x)
    same(g(w), plain(w))
    same(jax.grad(g)(w), jax.grad(plain)(w))
    same(jax.hessian(g)(w), jax.hessian(plain)(w), rtol=1e-4)
    same(jax.jacrev(jax.jacrev(g))(w), jax.hessian(plain)(w), rtol=1e-4)
    same(jax.jacfwd(jax.jacfwd(g))(w), jax.hessian(plain)(w), rtol=1e-4)
    y, push = jax.linearize(g, w)
    same(
        (y, push(np.float32([1, 2]))),
        (plain(w), np.float32(jax.grad(plain)(w) @ np.float32([1, 2]))),
    )
    _, pull = jax.vjp(f, w, x)
    gw, gx = pull(jnp.float32(2))
    same(gw, 2 * np.asarray(jax.grad(plain)(w)))
    same(gx, jax.grad(lambda x: 2 * (jnp.tanh(x @ w) ** 2).mean())(x))


def test_derivatives_inside_and_outside_together():
    """The slope of a step that has a slope inside: learning a learning rate."""

    def step(rate, w, x):
        g = lax.pmean(jax.grad(lambda w: ((w * x) ** 2).sum())(w), "i")
        w = w - rate * g
        return lax.pmean(((w * x) ** 2).sum(), "i")

    def after(rate, mapped):
        return mapped(step, axis_name="i", in_axes=(None, None, 0), out_axes=None)(rate, 1.5, x)

    x = cube(4, 3)
    same(
        jax.value_and_grad(lambda r: after(r, jax.pmap))(0.01),
        jax.value_and_grad(lambda r: after(r, jax.vmap))(0.01),
        rtol=1e-4,
    )


def test_errors_inside_nests_name_the_right_map():
    x = cube(2, 2)
    bad = jax.pmap(jax.pmap(lambda x: lax.psum(x, "z"), "b"), "a")
    refused(NameError, lambda: bad(x), "'z' is not bound", "'a', 'b'")
    wide = jax.pmap(jax.pmap(lambda x: x), devices=jax.devices()[:2])
    refused(ValueError, lambda: wide(cube(3, 2)), "3 rows", "2 devices")
    none = jax.pmap(jax.pmap(lambda x: lax.psum(x, "b"), "b"), "a", out_axes=None)
    refused(ValueError, lambda: none(x), "out_axes=None", "result")
