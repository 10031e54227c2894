"""What people report of pmap: placement, nesting, derivatives, control flow.

Numbered as the collected reports; each stands for its kind, so that its neighbours are here too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.sharding import NamedSharding, PartitionSpec
from tests.spmd.common import refused, same

X = np.arange(4, dtype=np.float32).reshape(2, 2) + 1
TWO = np.float32([1.0, 4.0])
pytestmark = pytest.mark.usefixtures("form")


# --- R21, R24, R25, R37: any array may go anywhere


def devices(*numbers: int) -> list[Any]:
    return [jax.devices()[k] for k in numbers]


def identity(x):
    return x + 0


SOURCES: dict[str, Any] = {
    "NumPy": lambda: X,
    "plain": lambda: jnp.asarray(X),
    "pmap": lambda: jax.pmap(identity)(X),
    "pmap to columns": lambda: jax.pmap(identity, out_axes=1)(X.T),
    "pmap on other devices": lambda: jax.pmap(identity, devices=devices(3, 2))(X),
    "pmap unmapped": lambda: jax.pmap(
        lambda x: lax.all_gather(x, "i"), axis_name="i", out_axes=None
    )(X),
    "pmap replicated": lambda: jax.pmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(X)[0],
    "pmap in lanes": lambda: jax.pmap(identity, devices=devices(1))(X),
    "vmap": lambda: jax.vmap(identity)(X),
    "jit": lambda: jax.jit(identity)(X),
    "on another device": lambda: jax.device_put(X, jax.devices()[1]),
    "split over devices": lambda: jax.device_put(X, devices(0, 1)),
    "columns over devices": lambda: jax.device_put(
        X, NamedSharding(jax.make_mesh((2,), ("m",)), PartitionSpec(None, "m"))
    ),
    "copied to devices": lambda: jax.device_put(
        X, NamedSharding(jax.make_mesh((2,), ("m",)), PartitionSpec())
    ),
    "one a device": lambda: jax.device_put_sharded([X[0], X[1]], devices(4, 5)),
}
USES: dict[str, tuple[Any, Any]] = {
    "rows": (jax.pmap(lambda r: r * 2), lambda x: x * 2),
    "columns": (jax.pmap(lambda c: c.sum(), in_axes=1), lambda x: x.sum(0)),
    "whole": (
        lambda x: jax.pmap(lambda w, x: w.sum() + x, in_axes=(None, 0))(x, TWO),
        lambda x: x.sum() + TWO,
    ),
    "rows elsewhere": (
        lambda x: jax.pmap(lambda r: lax.psum(r, "i"), "i", devices=devices(5, 1))(x),
        lambda x: np.stack([x.sum(0)] * 2),
    ),
    "jit": (jax.jit(lambda x: x @ x), lambda x: x @ x),
    "an operator": (lambda x: x + jnp.asarray(X) * 2, lambda x: x + X * 2),
    "an operator from the left": (lambda x: X - x, lambda x: X - x),
    "an array elsewhere": (
        lambda x: (
            x * jax.device_put(jnp.asarray(TWO), jax.devices()[0])
            + jax.device_put(jnp.asarray(TWO), jax.devices()[2])
        ),
        lambda x: x * TWO + TWO,
    ),
    "a result of a map": (lambda x: x + jax.pmap(lambda v: v * 3)(X), lambda x: x + X * 3),
    "grad": (jax.grad(lambda x: (jnp.asarray(x) ** 2).sum()), lambda x: 2 * x),
    "vmap": (jax.vmap(lambda r: r[::-1]), lambda x: x[:, ::-1]),
    "a function": (
        lambda x: jnp.concatenate([x, jnp.asarray(X)]),
        lambda x: np.concatenate([x, X]),
    ),
    "an update": (lambda x: jnp.asarray(x).at[0].set(9.0), lambda x: np.stack([[9, 9], x[1]])),
    "loop": (
        lambda x: lax.fori_loop(0, 2, lambda _, c: c * 2, jnp.asarray(x)),
        lambda x: x * 4,
    ),
    "an item": (lambda x: x[1, 0] + 0, lambda x: x[1, 0]),
    "move": (lambda x: jax.device_put(x, jax.devices()[6]), lambda x: x),
    "host": (lambda x: jax.device_get(x), lambda x: x),
}


@pytest.mark.parametrize("source", SOURCES)
def test_r21_any_array_goes_anywhere(source):
    x = SOURCES[source]()
    for use, (f, want) in USES.items():
        got = f(x)
        np.testing.assert_allclose(np.asarray(got), want(X), rtol=1e-6, err_msg=use)


def test_r37_a_list_of_devices_splits_the_leading_axis():
    data = np.arange(8, dtype=np.float32).reshape(2, -1)
    x = jax.device_put(data, jax.devices()[:2])
    shards = x.addressable_shards
    assert [s.device for s in shards] == jax.devices()[:2]
    for k, shard in enumerate(shards):
        same(shard.data, data[k : k + 1])
        assert shard.index == (slice(k, k + 1), slice(None))
    same(jax.pmap(lambda x: x * 2)(x), data * 2)
    blocks = jax.device_put({"a": np.arange(8.0), "b": [data.T]}, devices(3, 1))
    assert [s.device for s in blocks["a"].addressable_shards] == devices(3, 1)
    same(blocks["a"].addressable_shards[1].data, np.float32([4, 5, 6, 7]))
    same(blocks["b"][0].addressable_shards[0].data, data.T[:2])
    refused(
        ValueError,
        lambda: jax.device_put(np.ones(3), devices(0, 1)),
        "3 rows",
        "2 devices",
        "1 row",
    )
    # As pmap takes them: fewer rows than devices are on the first ones, where the map leaves them.
    for rows in (1, 2, 3, 8, 16):
        x = jax.device_put(np.ones((rows, 2)), jax.devices())
        y = jax.pmap(lambda r: r + 1)(x)
        assert [s.device for s in x.addressable_shards] == jax.devices()[:rows]
        assert (x.sharding, x.devices()) == (y.sharding, y.devices())
    refused(ValueError, lambda: jax.device_put(1.0, devices(0, 1)), "a scalar has no rows")
    refused(TypeError, lambda: jax.device_put(data, ["cpu:0"]), "device")


# --- R28, R31, R33, R35, R58: nesting


def test_r28_maps_in_maps():
    share = lambda x: (x / lax.psum(x, ("r", "c")), lax.axis_index("c"))
    f = jax.pmap(jax.pmap(share, axis_name="c"), axis_name="r")
    same(f(np.float32([[1.0, 3.0]])), (np.float32([[0.25, 0.75]]), np.int32([[0, 1]])))
    same(f(X), (X / X.sum(), np.int32([[0, 1], [0, 1]])))

    def sums(x):
        return (
            lax.psum(x, "c"),
            lax.psum(x, "r"),
            lax.psum(x, ("c", "r")),
            lax.axis_index(("r", "c")),
        )

    got = jax.pmap(jax.pmap(sums, axis_name="c"), axis_name="r")(X)
    ones = np.ones((2, 2), np.float32)
    want = (X.sum(1, keepdims=True) * ones, X.sum(0) * ones, X.sum() * ones)
    same(got, (*want, np.int32([[0, 1], [2, 3]])))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_r31_vmap_of_pmap(axis, out):
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    f = lambda r: jnp.cumsum(r) * lax.psum(r, "i")
    got = jax.vmap(jax.pmap(f, axis_name="i"), in_axes=axis, out_axes=out)(x)
    want = jax.vmap(jax.vmap(f, axis_name="i"), in_axes=axis, out_axes=out)(x)
    same(got, want)
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    same(jax.vmap(jax.pmap(lambda r: r.sum()), in_axes=1)(rows), rows.T)


def test_r33_maps_inside_control_flow():
    x = np.float32([0.0, 1.0])
    p = jax.pmap(lambda a: jnp.cos(a) + 0 * lax.psum(a, "i"), axis_name="i")
    f = lambda x: lax.cond(x.sum() > 0, lambda a: p(a), lambda a: -a, x)
    for run in (f, jax.jit(f)):
        same(run(x), np.cos(x))
        same(run(-x), x)
    same(lax.switch(1, [lambda a: a, p], x), np.cos(x))
    same(lax.fori_loop(0, 3, lambda _, a: p(a), x), np.cos(np.cos(np.cos(x))))
    same(lax.while_loop(lambda a: a[0] > 0.99, lambda a: p(a), x + 1), np.cos(x + 1))
    last, every = lax.scan(lambda c, t: (p(c) + t, c), x, np.float32([1, 2]))
    same(last, np.cos(np.cos(x) + 1) + 2)
    same(every, np.stack([x, np.cos(x) + 1]))
    slope = jax.grad(lambda x: lax.cond(x.sum() > 0, lambda a: p(a).sum(), lambda a: a.sum(), x))
    same(slope(x), -np.sin(x), atol=1e-5)


def test_r35_jit_around_pmap_keeps_the_devices():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = jax.jit(jax.pmap(lambda x: x * 2))(TWO)
        same(y, TWO * 2)
        assert y.devices() == set(jax.devices()[:2])

        @jax.jit
        def step(w, x):
            y = jax.pmap(lambda w, x: w * x, in_axes=(None, 0))(w, x)
            return y, jax.pmap(lambda y: lax.pmean(y, "i"), "i", out_axes=None)(y), y.sum()

        y, mean, total = step(2.0, TWO)
        same((y, mean, total), (TWO * 2, np.float32(5), np.float32(10)))
        assert y.devices() == set(jax.devices()[:2])
        again = step(mean, y)[0]
        assert again.devices() == set(jax.devices()[:2])


def test_r58_the_inner_axis_of_a_name_wins():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    want = np.repeat(x.sum(1, keepdims=True), 3, 1)
    f = lambda x: lax.psum(x, "i")
    for inner in (jax.vmap, jax.pmap):
        for outer in (jax.vmap, jax.pmap):
            same(outer(inner(f, axis_name="i"), axis_name="i")(x), want)
    index = jax.pmap(jax.vmap(lambda x: lax.axis_index("i"), axis_name="i"), axis_name="i")(x)
    same(index, np.int32([[0, 1, 2]] * 2))


# --- R39, R42, R44, R47, R50: derivatives

SIZE = 4
RING = [(k, (k + 1) % SIZE) for k in range(SIZE)]
COLLECTIVES: dict[str, Any] = {
    "psum": lambda x: lax.psum(x, "i"),
    "pmean": lambda x: lax.pmean(x, "i"),
    "pmax": lambda x: lax.pmax(x, "i"),
    "pmin": lambda x: lax.pmin(x, "i"),
    "all_gather": lambda x: lax.all_gather(x, "i"),
    "all_gather tiled": lambda x: lax.all_gather(x, "i", axis=0, tiled=True),
    "psum_scatter": lambda x: lax.psum_scatter(x, "i"),
    "psum_scatter tiled": lambda x: lax.psum_scatter(x, "i", tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 0),
    "ppermute": lambda x: lax.ppermute(x, "i", RING),
    "ppermute in part": lambda x: lax.ppermute(x, "i", RING[:2]),
    "pshuffle": lambda x: lax.pshuffle(x, "i", [2, 0, 3, 1]),
    "pbroadcast": lambda x: lax.pbroadcast(x, "i", 2),
    "psum in groups": lambda x: lax.psum(x, "i", axis_index_groups=[[0, 3], [1, 2]]),
}


def test_r39_the_slope_inside_a_map_is_that_of_the_sum_of_all():
    cost = lambda w, x: lax.psum(w**2 * x, "i")
    g = jax.grad(cost)
    forward = lambda w, x: jax.jvp(lambda w: cost(w, x), (w,), (1.0,))[1]
    for mapped in (jax.pmap, jax.vmap):
        run = lambda f, m=mapped: m(f, in_axes=(None, 0), axis_name="i")(3.0, TWO)
        same(run(g), np.float32([12, 48]))
        same(run(forward), np.float32([30, 30]))
        same(run(jax.value_and_grad(cost)), (np.float32([45, 45]), np.float32([12, 48])))


@pytest.mark.parametrize("case", COLLECTIVES)
def test_r39_slopes_inside_and_outside_of_maps(case, x64):
    f = COLLECTIVES[case]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SIZE, SIZE))
    weights = rng.normal(size=np.shape(jax.vmap(f, axis_name="i")(x)))

    def cost(x, w):
        return (jnp.sin(f(x * x)) * w).sum()

    step = 1e-6
    want = np.zeros_like(x)
    total = jax.jit(lambda x: jax.vmap(cost, axis_name="i")(x, weights).sum())
    for k in np.ndindex(*x.shape):
        d = np.zeros_like(x)
        d[k] = step
        want[k] = (float(total(x + d)) - float(total(x - d))) / (2 * step)
    for mapped in (jax.pmap, jax.vmap):
        inside = mapped(jax.grad(cost), axis_name="i")(x, weights)
        outside = jax.grad(lambda x, m=mapped: m(cost, axis_name="i")(x, weights).sum())(x)
        np.testing.assert_allclose(inside, want, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(outside, want, rtol=1e-5, atol=1e-7)


def test_r42_no_factor_of_the_device_count():
    def p(w, **options):
        f = lambda w, x: lax.psum((w * x) ** 2, "i")
        return jax.pmap(f, axis_name="i", in_axes=(None, 0), **options)(w, np.float32([1, 2]))

    same(jax.grad(lambda w: p(w).sum())(3.0), np.float32(60))
    same(jax.grad(lambda w: p(w)[0])(3.0), np.float32(30))
    same(jax.grad(lambda w: p(w)[1])(3.0), np.float32(30))
    same(jax.grad(lambda w: p(w, out_axes=None))(3.0), np.float32(30))
    same(jax.jit(jax.grad(lambda w: p(w, out_axes=None)))(3.0), np.float32(30))
    same(jax.jacfwd(lambda w: p(w, out_axes=None))(3.0), np.float32(30))
    same(jax.jacrev(p)(3.0), np.float32([30, 30]))
    same(jax.hessian(lambda w: p(w, out_axes=None))(3.0), np.float32(10))
    mean = lambda w, x: lax.pmean((w * x) ** 2, "i")
    q = jax.pmap(mean, axis_name="i", in_axes=(None, 0), out_axes=None)
    same(jax.grad(q)(3.0, np.float32([1, 2])), np.float32(15))
    same(jax.grad(q, argnums=1)(3.0, np.float32([1, 2])), np.float32([9, 18]))


def test_r44_extremes_under_stop_gradient():
    f = jax.grad(lambda x: x - lax.stop_gradient(lax.pmax(x, "i")))
    same(jax.pmap(f, axis_name="i")(TWO), np.float32([1, 1]))

    def log_softmax(x):
        shifted = x - lax.stop_gradient(lax.pmax(x, "i"))
        return shifted - jnp.log(lax.psum(jnp.exp(shifted), "i"))

    def slope(x):
        return jax.grad(lambda x: log_softmax(x) * (lax.axis_index("i") == 0))(x)

    p = np.exp(TWO) / np.exp(TWO).sum()
    same(jax.pmap(slope, axis_name="i")(TWO), np.float32([1, 0]) - p, atol=1e-5)
    same(jax.vmap(slope, axis_name="i")(TWO), np.float32([1, 0]) - p, atol=1e-5)


def test_r47_the_slope_of_all_gather():
    w = np.float32([1, 10])
    f = jax.grad(lambda v: (lax.all_gather(v, "i") * w).sum())
    same(jax.pmap(f, axis_name="i")(TWO), np.float32([2, 20]))
    total = lambda v: jax.pmap(lambda v: (lax.all_gather(v, "i") * w).sum(), "i")(v)
    same(jax.grad(lambda v: total(v)[0])(TWO), w)
    same(jax.jacrev(total)(TWO), np.stack([w, w]))


def test_r50_rules_with_collectives_in_them():
    f = jax.custom_vjp(lambda x: lax.psum(3 * x, "i"))
    f.defvjp(lambda x: (lax.psum(3 * x, "i"), x), lambda x, g: (lax.pmax(7 * g, "i"),))
    same(jax.pmap(f, axis_name="i")(np.float32([1, 2])), np.float32([9, 9]))
    same(jax.pmap(jax.grad(f), axis_name="i")(np.float32([1, 2])), np.float32([7, 7]))
    same(jax.pmap(jax.jit(jax.grad(f)), "i")(np.float32([1, 2])), np.float32([7, 7]))
    outside = jax.grad(lambda x: (jax.pmap(f, axis_name="i")(x) * np.float32([1, 5])).sum())
    same(outside(np.float32([1, 2])), np.float32([35, 35]))

    @jax.custom_jvp
    def h(x):
        return lax.pmean(x, "i")

    @h.defjvp
    def _(xs, ts):
        return h(*xs), lax.psum(ts[0], "i") * 100

    forward = lambda x: jax.jvp(h, (x,), (1.0,))[1]
    same(jax.pmap(forward, "i")(TWO), np.float32([200, 200]))
    same(jax.pmap(jax.grad(h), "i")(TWO), np.float32([200, 200]))
    same(jax.vmap(jax.grad(h), axis_name="i")(TWO), np.float32([200, 200]))


# --- R52, R53: dtypes and special values


@pytest.mark.parametrize("count", [2, 4, 16])
def test_r52_extremes_of_special_values(count):
    inf, nan = np.inf, np.nan
    cases = [[-3.0, -1.0], [-inf, -inf], [inf, -inf], [nan, 1.0], [1.0, nan], [-0.5, -1e-38]]
    for case in cases:
        x = np.float32(case * (count // 2))
        for f, fold in ((lax.pmax, np.max), (lax.pmin, np.min)):
            got = jax.pmap(lambda x, f=f: f(x, "i"), axis_name="i")(x)
            same(got, np.full(count, fold(x), np.float32))
    for dtype in (np.int8, np.int32, np.uint8, np.uint32, np.float16, np.bool_):
        x = np.array([-3, -1] * (count // 2)).astype(dtype)
        same(jax.pmap(lambda x: lax.pmax(x, "i"), "i")(x), np.full(count, x.max()))


def test_r53_sums_of_booleans_and_means_of_integers():
    f = lambda x: (lax.psum(x, "i"), lax.pmean(x.astype("int32") + 1, "i"), lax.pmean(x, "i"))
    s, m, b = jax.pmap(f, axis_name="i")(np.array([True, False]))
    same((s, m, b), (np.int32([1, 1]), np.float32([1.5, 1.5]), np.float32([0.5, 0.5])))
    assert (s.dtype, m.dtype, b.dtype) == (jnp.int32, jnp.float32, jnp.float32)
    every = jax.pmap(lambda x: lax.psum(x, "i"), "i")(np.ones(16, bool))
    same(every, np.full(16, 16, np.int32))
    small = jax.pmap(lambda x: (lax.psum(x, "i"), lax.pmean(x, "i")), "i")(np.int8([100, 20]))
    assert small[0].dtype == jnp.int8
    same(small[1], np.float32([60, 60]))


# --- R55: collectives that only some devices would reach


def some(f):
    """A condition that holds on the first device only."""
    return lambda x: lax.cond(lax.axis_index("i") == 0, f, lambda y: y, x)


def _with_rule(f):
    g = jax.custom_jvp(f)
    g.defjvp(lambda xs, ts: (g(*xs), ts[0]))
    return g


HANGS: dict[str, Any] = {
    "psum": some(lambda y: lax.psum(y, "i")),
    "pmax": some(lambda y: lax.pmax(y, "i")),
    "pmean": some(lambda y: lax.pmean(y, "i")),
    "all_gather": some(lambda y: lax.all_gather(y, "i").sum()),
    "psum_scatter": some(lambda y: lax.psum_scatter(jnp.stack([y, y]), "i")),
    "ppermute": some(lambda y: lax.ppermute(y, "i", [(0, 1)])),
    "all_to_all": some(lambda y: lax.all_to_all(jnp.stack([y, y]), "i", 0, 0).sum()),
    "a predicate from the data": lambda x: lax.cond(
        x > 2, lambda y: lax.psum(y, "i"), lambda y: y, x
    ),
    "switch": lambda x: lax.switch(
        lax.axis_index("i"), [lambda y: y, lambda y: lax.psum(y, "i")], x
    ),
    "while": lambda x: lax.while_loop(lambda c: c < 9, lambda c: c + lax.pmean(c, "i"), x),
    "the condition of a while": lambda x: lax.while_loop(
        lambda c: c < lax.psum(c, "i"), lambda c: c * 3, x
    ),
    "a count that differs": lambda x: lax.fori_loop(
        0, lax.axis_index("i"), lambda _, c: lax.psum(c, "i"), x
    ),
    "deep inside": some(
        lambda y: lax.fori_loop(0, 2, lambda _, c: jax.jit(lambda c: lax.psum(c, "i"))(c), y)
    ),
    "in a function with a rule": some(_with_rule(lambda y: lax.psum(y, "i"))),
    "under checkpoint": some(jax.checkpoint(lambda y: lax.psum(y, "i"))),
    "its derivative": jax.grad(some(lambda y: lax.psum(y * y, "i"))),
}
NO_HANGS: dict[str, Any] = {
    "a predicate that is equal": (
        lambda x: lax.cond(lax.pmax(x, "i") > 2, lambda y: lax.psum(y, "i"), lambda y: y, x),
        [5.0, 5.0],
    ),
    "a loop until all are there": (
        lambda x: lax.while_loop(
            lambda c: lax.pmin(c, "i") < 9, lambda c: c + lax.pmean(c, "i"), x
        ),
        [18.5, 21.5],
    ),
    "no collective inside": (some(lambda y: y * 10), [10.0, 4.0]),
    "its place": (some(lambda y: y + lax.axis_index("i") + 7), [8.0, 4.0]),
    "a sum before": (
        lambda x: lax.cond(
            lax.axis_index("i") == 0, lambda y, s: s, lambda y, s: y, x, lax.psum(x, "i")
        ),
        [5.0, 4.0],
    ),
    "a fixed count": (
        lambda x: lax.fori_loop(0, 2, lambda _, c: lax.psum(c, "i"), x),
        [10.0, 10.0],
    ),
}


@pytest.mark.parametrize("case", HANGS)
def test_r55_a_collective_that_some_would_wait_at_is_refused(case):
    f = HANGS[case]
    rows = jax.pmap(jax.vmap(f), axis_name="i")
    for run, x in (
        (jax.pmap(f, axis_name="i"), TWO),
        (jax.jit(jax.pmap(f, axis_name="i")), TWO),
        (rows, TWO[:, None]),
    ):
        if run is rows and case == "a predicate from the data":
            # Under vmap both branches are computed, and all devices reach the sum.
            same(run(x), np.float32([[1], [5]]))
            continue
        refused(ValueError, lambda run=run, x=x: run(x), "only some positions of the axis 'i'")


def test_r55_says_where():
    f = HANGS["psum"]
    refused(
        ValueError,
        lambda: jax.pmap(f, axis_name="i")(TWO),
        "psum",
        "cond at test_user_reports_values.py",
        "axis_index at test_user_reports_values.py",
        "outside of the cond",
    )


@pytest.mark.parametrize("case", NO_HANGS)
def test_r55_what_all_reach_is_not(case):
    f, want = NO_HANGS[case]
    same(jax.pmap(f, axis_name="i")(TWO), np.float32(want))
    same(jax.jit(jax.pmap(f, axis_name="i"))(TWO), np.float32(want))


def test_r55_another_axis_may_be_used():
    def f(x):
        return lax.cond(lax.axis_index("i") == 0, lambda y: lax.psum(y, "j"), lambda y: y, x)

    got = jax.pmap(jax.pmap(f, axis_name="j"), axis_name="i")(X)
    same(got, np.float32([[3, 3], [3, 4]]))
    got = jax.pmap(jax.vmap(f, axis_name="j"), axis_name="i")(X)
    same(got, np.float32([[3, 3], [3, 4]]))


def test_r55_vmap_gives_an_answer():
    f = some(lambda y: lax.psum(y, "i"))
    same(jax.vmap(f, axis_name="i")(np.float32([1, 2])), np.float32([3, 2]))


# --- R97: permutations that leave devices out


@pytest.mark.parametrize("perm", [[(0, 1)], [(1, 0)], [], [(0, 0)], [(0, 1), (1, 0)]])
def test_r97_permutations_in_part(perm):
    x = np.float32([[1, 2], [3, 4]])
    want = np.zeros_like(x)
    for source, target in perm:
        want[target] = x[source]
    f = lambda a: lax.ppermute(a, "i", perm)
    same(jax.pmap(f, axis_name="i")(x), want)
    same(jax.vmap(f, axis_name="i")(x), want)
    same(jax.pmap(jax.vmap(f, axis_name="i"))(x[None]), want[None])


def test_r97_permutations_that_make_no_sense():
    f = lambda perm: jax.pmap(lambda a: lax.ppermute(a, "i", perm), axis_name="i")(TWO)
    for perm, word in [([(0, 2)], "2"), ([(0, 1), (1, 1)], "1"), ([(-1, 0)], "-1")]:
        refused(ValueError, lambda perm=perm: f(perm), "ppermute", word)
