"""What people report of pmap: their arguments, and what they are told about them.

Numbered as the collected reports; each stands for its kind, so that its neighbours are here too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.errors import PlaitError
from tests.spmd.common import message, refused, same

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
TWO = np.float32([1.0, 4.0])
pytestmark = pytest.mark.usefixtures("form")


# --- R01: out_axes=None for a result that differs from device to device

BACK = [(1, 0), (0, 1)]
VARYING: dict[str, Any] = {
    "the argument": lambda x: x,
    "a sum of its own": lambda x: x.sum(),
    "a place": lambda x: lax.axis_index("i"),
    "ppermute": lambda x: lax.ppermute(x, "i", BACK),
    "pshuffle": lambda x: lax.pshuffle(x, "i", [1, 0]),
    "psum_scatter": lambda x: lax.psum_scatter(x[:2], "i"),
    "all_to_all": lambda x: lax.all_to_all(x[:2], "i", 0, 0),
    "psum in groups": lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1]]),
    "a sum and the argument": lambda x: lax.psum(x, "i") + x,
    "a row of a gathered array": lambda x: lax.all_gather(x, "i")[lax.axis_index("i")],
    "a random number of its own": lambda x: random.uniform(
        random.fold_in(random.key(0), lax.axis_index("i"))
    ),
    "a loop that brings it in": lambda x: lax.fori_loop(0, 3, lambda _, c: c + x.sum(), 0.0),
    "a scan that brings it in late": lambda x: lax.scan(
        lambda c, _: ((c[1], c[2], x[0]), c[0]), (0.0, 0.0, 0.0), None, length=4
    )[0][0],
    "a condition that differs": lambda x: lax.cond(x[0] > 2, lambda: 1.0, lambda: 2.0),
    "a count that differs": lambda x: lax.while_loop(lambda c: c < x[0], lambda c: c + 1.0, 0.0),
    "a forgotten mean of gradients": lambda x: jax.grad(lambda w: (w * x).sum())(2.0),
    "a derivative": lambda x: jax.jvp(lambda w: w * x, (1.0,), (1.0,))[1],
    "recomputed": lambda x: jax.checkpoint(jnp.sin)(x),
}
EQUAL: dict[str, Any] = {
    "psum": lambda x: lax.psum(x, "i"),
    "pmean": lambda x: lax.pmean(x, "i"),
    "pmax": lambda x: lax.pmax(x, "i"),
    "pmin": lambda x: lax.pmin(x, "i"),
    "all_gather": lambda x: lax.all_gather(x, "i"),
    "all_gather tiled": lambda x: lax.all_gather(x, "i", axis=0, tiled=True),
    "pbroadcast": lambda x: lax.pbroadcast(x, "i", 1),
    "psum in one group": lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1]]),
    "a constant": lambda x: jnp.float32(3.0),
    "the size": lambda x: lax.psum(1, "i"),
    "a captured array": lambda x: jnp.asarray(TWO) * 2,
    "a function of a sum": lambda x: jnp.tanh(lax.psum(x, "i").sum()) * 3,
    "a shared random number": lambda x: random.uniform(random.key(0)),
    "a loop over sums": lambda x: lax.fori_loop(0, 3, lambda _, c: c + lax.psum(x.sum(), "i"), 0.0),
    "a condition on a sum": lambda x: lax.cond(lax.psum(x[0], "i") > 2, lambda: 1.0, lambda: 2.0),
    "a mean of gradients": lambda x: lax.pmean(jax.grad(lambda w: (w * x).sum())(2.0), "i"),
    "the value and slope of a mean": lambda x: jax.value_and_grad(
        lambda w: lax.pmean((w * x).sum(), "i")
    )(2.0)[0],
}


@pytest.mark.parametrize("case", VARYING)
def test_r01_a_result_that_differs_cannot_leave_unmapped(case):
    f = VARYING[case]
    for run in (jax.pmap, lambda *a, **k: jax.jit(jax.pmap(*a, **k))):
        with pytest.raises(ValueError, match=r"out_axes=None was asked of result.*differs") as e:
            run(f, axis_name="i", out_axes=None)(ROWS)
    text = str(e.value)
    assert "pmap" in text and "lax.pmean" in text
    assert "starts_to_vary" in text


@pytest.mark.parametrize("case", EQUAL)
def test_r01_a_result_that_is_equal_may(case):
    f = EQUAL[case]
    got = jax.pmap(f, axis_name="i", out_axes=None)(ROWS)
    every = jax.pmap(f, axis_name="i")(ROWS)
    same(got, np.asarray(every)[0])
    same(every[1], np.asarray(every)[0])


def test_r01_names_the_leaf_and_where_it_starts_to_vary():
    def f(batch, w):
        return {"loss": lax.pmean((batch["x"] * w).sum(), "i"), "parts": [w, batch["x"].sum()]}

    run = jax.pmap(f, axis_name="i", in_axes=(0, None), out_axes=None)
    text = message(ValueError, lambda: run({"x": ROWS}, 2.0))
    assert "result['parts'][1]" in text and "the argument batch['x']" in text
    run = jax.pmap(f, "i", in_axes=(0, None), out_axes={"loss": None, "parts": [None, 0]})
    same(run({"x": ROWS}, 2.0), {"loss": np.float32(21), "parts": [np.float32(2), ROWS.sum(1)]})
    text = message(
        ValueError,
        lambda: jax.pmap(lambda: lax.axis_index("i") + 1, "i", axis_size=2, out_axes=None)(),
    )
    assert "axis_index at test_user_reports.py" in text


def test_r01_of_two_maps_only_the_reduced_one_may():
    def f(x):
        return lax.psum(x, "inner")

    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    inner = jax.pmap(f, "inner", out_axes=None)
    same(jax.pmap(inner, "outer")(x), x.sum(1))
    refused(ValueError, lambda: jax.pmap(inner, "outer", out_axes=None)(x), "result", "differs")
    both = jax.pmap(lambda x: lax.psum(x, ("inner", "outer")), "inner", out_axes=None)
    same(jax.pmap(both, "outer", out_axes=None)(x), np.float32(6))


def test_r01_vmap_says_the_same():
    refused(ValueError, lambda: jax.vmap(lambda x: x, out_axes=None)(ROWS), "vmap", "out_axes=None")


# --- R03: axes counted from the end


@pytest.mark.parametrize("axis", [-1, -2, -3, 0, 1, 2])
@pytest.mark.parametrize("out", [-1, -2, -3, 0, 1, 2])
def test_r03_negative_axes(axis, out):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:2, :2, :2]
    tree = {"a": x, "b": [x + 1]}
    kinds: Any = dict(in_axes=({"a": axis, "b": 0},), out_axes={"a": out, "b": [-1]})
    f: Any = functools.partial(jax.tree.map, lambda x: x * 2)
    same(jax.pmap(f, **kinds)(tree), jax.vmap(f, **kinds)(tree))
    same(jax.pmap(f, in_axes=axis, out_axes=out)(x), jax.vmap(f, in_axes=axis, out_axes=out)(x))


def test_r03_axes_that_do_not_exist():
    refused(
        ValueError, lambda: jax.pmap(lambda x: x, in_axes=-3)(ROWS), "pmap", "x", "rank 2", "-3"
    )
    refused(ValueError, lambda: jax.pmap(lambda x: x, in_axes=2)(ROWS), "x", "no axis 2")
    refused(ValueError, lambda: jax.pmap(lambda x: x, out_axes=-3)(ROWS), "out_axes", "-3")
    refused(ValueError, lambda: jax.pmap(lambda x: x, out_axes=2)(ROWS), "out_axes", "axis 2")


# --- R05: leaves of different sizes


def test_r05_sizes_that_differ_are_named():
    params = {"kernel": np.ones((1, 3)), "bias": np.ones(2)}
    text = message(ValueError, lambda: jax.pmap(lambda p: p["kernel"].sum())(params))
    assert text.startswith("pmap: ") and "2 and 1" in text and "in_axes=None" in text
    assert "p['kernel'] float32[1,3] on axis 0" in text and "p['bias'] float32[2]" in text

    def f(x, *, scale):
        return x * scale

    refused(
        ValueError, lambda: jax.pmap(f)(TWO, scale=np.ones(3)), "scale float32[3]", "x float32[2]"
    )
    other = jax.pmap(lambda a, b: a, in_axes=(1, 0))
    refused(
        ValueError, lambda: other(ROWS, TWO), "a float32[2,3] on axis 1", "b float32[2] on axis 0"
    )
    sizes = [np.ones(2), np.ones(3), np.ones(4)]
    refused(ValueError, lambda: jax.pmap(lambda t: t)(sizes), "2 and 3 and 4", "t[2] float32[4]")
    refused(
        ValueError,
        lambda: jax.pmap(lambda x: x, axis_size=4)(TWO),
        "axis_size is 4",
        "size 2",
    )


# --- R07, R10, R14: scalars among mapped arguments


def test_r07_a_number_among_mapped_arguments():
    text = message(ValueError, lambda: jax.pmap(lambda x, power: x**power)(ROWS, 3))
    assert "the argument power has rank 0" in text and "axis 0" in text
    assert "in_axes=(0, None)" in text and "static" in text
    f = jax.pmap(lambda cfg, x: x * cfg["scale"])
    refused(ValueError, lambda: f({"scale": 2.0, "x": TWO}, TWO), "cfg['scale']", "rank 0")
    refused(ValueError, lambda: jax.pmap(lambda *xs: xs)(TWO, np.float32(1)), "xs[1]", "rank 0")
    refused(ValueError, lambda: jax.pmap(lambda x: x)(True), "x has rank 0")
    refused(ValueError, lambda: jax.jit(jax.pmap(lambda x, p: x))(ROWS, 3), "p has rank 0")
    refused(ValueError, lambda: jax.vmap(lambda x, p: x)(ROWS, 3), "vmap", "p has rank 0")
    same(jax.pmap(lambda x, power: x**power, in_axes=(0, None))(ROWS, 3), ROWS**3)


def test_r10_keyword_arguments_are_mapped_on_axis_0():
    f = jax.pmap(lambda x, scale: x * scale, in_axes=(1,))
    same(f(ROWS[:, :2], scale=TWO), (ROWS[:, :2] * TWO).T)
    text = message(ValueError, lambda: jax.pmap(lambda x, scale: x * scale)(TWO, scale=3.0))
    assert "the argument scale has rank 0" in text
    assert "keyword arguments are mapped along axis 0" in text and "in_axes=None" in text
    deep = jax.pmap(lambda x, **kw: x)
    refused(ValueError, lambda: deep(TWO, cfg={"rate": 0.1}), "cfg['rate']", "keyword")
    wide = np.ones((3, 2), np.float32)
    refused(ValueError, lambda: jax.pmap(lambda x, y: x)(TWO, y=wide), "y float32[3,2]")


def test_r14_lists_are_containers():
    text = message(ValueError, lambda: jax.pmap(lambda x: x * 2)([1.0, 2.0]))
    assert "x[0] has rank 0" in text and "list is a container of scalars: use np.array" in text
    refused(ValueError, lambda: jax.pmap(lambda x: x)([[1.0], [2.0]]), "x[0][0]", "np.array")
    refused(ValueError, lambda: jax.pmap(lambda x: x)((1, 2)), "x[0]")
    got = jax.pmap(lambda x: x[0] + x[1])([TWO, TWO])
    same(got, TWO * 2)


# --- R11: axis names

COLLECTIVES: dict[str, Any] = {
    "psum": lambda x, i: lax.psum(x, i),
    "pmean": lambda x, i: lax.pmean(x, i),
    "pmax": lambda x, i: lax.pmax(x, i),
    "pmin": lambda x, i: lax.pmin(x, i),
    "all_gather": lambda x, i: lax.all_gather(x, i),
    "psum_scatter": lambda x, i: lax.psum_scatter(x, i),
    "all_to_all": lambda x, i: lax.all_to_all(x, i, 0, 0),
    "ppermute": lambda x, i: lax.ppermute(x, i, [(0, 1)]),
    "pshuffle": lambda x, i: lax.pshuffle(x, i, [1, 0]),
    "axis_index": lambda x, i: lax.axis_index(i),
    "axis_size": lambda x, i: lax.axis_size(i),
    "psum of a number": lambda x, i: lax.psum(1, i),
}


@pytest.mark.parametrize("case", COLLECTIVES)
def test_r11_a_name_that_is_not_bound(case):
    f = COLLECTIVES[case]
    for run, bound in [
        (jax.pmap(lambda x: f(x, "batch"), axis_name="bacth"), "'bacth'"),
        (jax.pmap(jax.vmap(lambda x: f(x, "batch"), axis_name="v"), axis_name="d"), "'d', 'v'"),
        (jax.pmap(lambda x: f(x, "batch")), "unnamed"),
        (jax.pmap(jax.jit(lambda x: f(x, "batch")), axis_name="d"), "'d'"),
        (jax.vmap(lambda x: f(x, "batch"), axis_name="d"), "'d'"),
        (jax.jit(lambda x: f(x, "batch")), "none"),
        (lambda x: f(x, "batch"), "none"),
    ]:
        text = message(NameError, lambda run=run: run(np.ones((2, 2, 2), np.float32)))
        assert "the axis name 'batch' is not bound" in text and bound in text
        assert "test_user_reports.py" in text
        assert "shard_map" not in text


def test_r11_names_end_with_their_map():
    f = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    f(TWO)
    refused(NameError, lambda: lax.psum(TWO, "i"), "'i' is not bound", "none")
    refused(NameError, lambda: jax.pmap(lambda x: lax.psum(x, ("i", "j")), "i")(TWO), "'j'", "'i'")

    def loop(x):
        return lax.fori_loop(0, 2, lambda _, c: lax.psum(c, "k"), x)

    refused(NameError, lambda: jax.pmap(loop, "i")(TWO), "'k' is not bound", "'i'")
    same(f(TWO), np.float32([5, 5]))


# --- R15, R17: trees and lists of axes


def test_r15_out_axes_of_the_wrong_shape():
    def pair(x):
        return x, x

    refused(
        ValueError,
        lambda: jax.pmap(pair, out_axes=(0, 0, 0))(TWO),
        "pmap",
        "out_axes has 3 entries",
        "2 outputs",
    )
    refused(ValueError, lambda: jax.pmap(lambda x: x, out_axes=(0, 0))(TWO), "out_axes")
    refused(
        ValueError,
        lambda: jax.pmap(lambda x: {"a": x, "b": x}, out_axes={"a": 0})(TWO),
        "out_axes",
        "'b'",
    )
    deep = jax.pmap(lambda x: (x, {"a": [x, x]}), out_axes=(0, {"a": [0, 0, 0]}))
    refused(ValueError, lambda: deep(TWO), "out_axes[1]['a']", "3", "2")
    for text in (message(ValueError, lambda: deep(TWO)),):
        assert "prefix" not in text and "pytree" not in text


def test_r15_in_axes_of_the_wrong_shape():
    f = jax.pmap(lambda a, b: a, in_axes=(0, 0, 0))
    refused(ValueError, lambda: f(TWO, TWO), "in_axes has 3 entries", "2 positional arguments")
    refused(
        ValueError, lambda: jax.pmap(lambda p: p, in_axes=({"a": 0},))({"b": TWO}), "in_axes[0]"
    )
    refused(
        ValueError,
        lambda: jax.pmap(lambda p: p, in_axes=({"a": [0, 0]},))({"a": [TWO]}),
        "in_axes[0]['a']",
    )


def test_r17_lists_of_axes():
    same(jax.pmap(lambda a, b: a + b, in_axes=[None, 0])(1.0, TWO), TWO + 1)
    tree = [ROWS, [TWO]]
    same(
        jax.pmap(lambda t, w: t[0].sum() + t[1][0] * w, in_axes=[[0, [0]], None])(tree, 2.0),
        ROWS.sum(1) + TWO * 2,
    )
    got = jax.pmap(lambda x: [x, (x, 1.0)], out_axes=[0, (-1, None)])(ROWS)
    same(got, [ROWS, (ROWS.T, np.float32(1))])
    same(jax.vmap(lambda x: (x, x), out_axes=[0, 1])(ROWS), (ROWS, ROWS.T))


# --- R19: branching on traced values


def relu_by_hand(v):
    return v if v > 0 else -v


def loop_by_hand(v):
    while v < 3:
        v = v + 1
    return v


def both_by_hand(v, w):
    return v if v > 0 and w > 0 else w


def deep_by_hand(params):
    if params["layers"][1]["b"] > 0:
        return params["layers"][0]
    return params["layers"][1]["b"]


@pytest.mark.parametrize(
    "f, args, names",
    [
        (relu_by_hand, (TWO,), ["v"]),
        (loop_by_hand, (TWO,), ["v"]),
        (both_by_hand, (TWO, TWO), ["v"]),
        (deep_by_hand, ({"layers": [TWO, {"b": TWO}]},), ["params['layers'][1]['b']"]),
    ],
)
def test_r19_branches_on_traced_values(f, args, names):
    for run, what in [
        (jax.pmap(f), "pmap"),
        (jax.pmap(jax.jit(f)), "jit"),
        (jax.jit(f), "jit"),
        (jax.jit(jax.vmap(f)), "vmap"),
        (jax.vmap(f), "vmap"),
    ]:
        text = message(TypeError, lambda run=run: run(*args))
        assert (
            f.__name__ in text and f"test_user_reports.py:{f.__code__.co_firstlineno + 1}" in text
        )
        assert "lax.cond" in text and "jnp.where" in text
        assert "_fun" not in text and "flat" not in text
        if what != "vmap":
            assert all(name in text for name in names), text


def test_r19_numbers_of_traced_values():
    refused(TypeError, lambda: jax.pmap(lambda n: jnp.zeros(int(n)))(TWO), "Python int", "n")
    refused(
        TypeError, lambda: jax.pmap(lambda n: list(range(n)))(np.int32([1, 2])), "Python int", "n"
    )
    refused(TypeError, lambda: jax.pmap(lambda n: float(n))(TWO), "Python number", "n")
    refused(TypeError, lambda: jax.pmap(lambda n: np.sin(n))(TWO), "NumPy", "plait.numpy")


# --- R60, R92: sizes that do not fit the devices


@pytest.mark.parametrize("rows, count, short", [(7, 2, 1), (9, 8, 7), (5, 4, 3), (3, 2, 1)])
def test_r60_rows_that_do_not_divide(rows, count, short):
    devices = jax.devices()[:count]
    f = jax.pmap(jax.vmap(lambda r: r * 2), devices=devices)
    text = message(ValueError, lambda: f(np.ones((rows, 1), np.float32)))
    assert f"pmap: {rows} rows do not spread evenly over {count} devices" in text
    assert f"pad the batch with {short} more row" in text and "jnp.pad" in text
    padded = jnp.pad(np.ones((rows, 1), np.float32), ((0, short), (0, 0)))
    assert f(padded)[:rows].shape == (rows, 1)
    refused(
        ValueError,
        lambda: jax.pmap(lambda: 1.0, axis_size=rows, devices=devices)(),
        f"{rows} rows",
    )


def test_r60_the_recipe_is_right_for_every_axis():
    f = jax.pmap(lambda c: c, in_axes=1, devices=jax.devices()[:2])
    text = message(ValueError, lambda: f(np.ones((4, 3), np.float32)))
    assert "3 rows" in text


def test_r92_an_axis_of_size_0():
    f = jax.pmap(lambda x: x)
    refused(ValueError, lambda: f(np.ones((0, 2))), "pmap", "mapped axis has size 0", "vmap")
    refused(ValueError, lambda: jax.pmap(lambda x: x, in_axes=1)(np.ones((2, 0))), "size 0")
    refused(ValueError, lambda: jax.pmap(lambda: 1.0, axis_size=0)(), "size 0")
    assert jax.vmap(lambda x: x)(np.ones((0, 2))).shape == (0, 2)
    # Other axes may be empty.
    same(f(np.ones((2, 0), np.float32)), np.ones((2, 0), np.float32))


# --- R87, R85: random keys


def test_r87_one_key_for_all():
    k = random.key(0)
    text = message(ValueError, lambda: jax.pmap(lambda k: random.uniform(k))(k))
    assert "the argument k is a single random key" in text and "random.split(key, n)" in text
    f = jax.pmap(lambda s, x: x, in_axes=0)
    refused(ValueError, lambda: f({"key": k}, TWO), "s['key']", "single random key")
    keys = random.split(k, 2)
    got = jax.pmap(lambda k: random.uniform(k))(keys)
    same(got, np.stack([np.asarray(random.uniform(key)) for key in keys]))
    shared = jax.pmap(lambda k, x: random.uniform(k) + x, in_axes=(None, 0))(k, TWO)
    same(shared, np.asarray(random.uniform(k)) + TWO)


def test_r85_randomness_of_each_device_from_one_key():
    k = random.key(0)

    def own(k, _):
        return random.normal(random.fold_in(k, lax.axis_index("i")), (3,))

    a = jax.pmap(own, axis_name="i", in_axes=(None, 0))(k, np.arange(4.0))
    b = np.stack([np.asarray(random.normal(random.fold_in(k, i), (3,))) for i in range(4)])
    same(a, b)
    assert len(np.unique(np.asarray(a))) == 12
    same(jax.vmap(own, (None, 0), axis_name="i")(k, np.arange(4.0)), b)
    raw = random.PRNGKey(3)
    c = jax.pmap(lambda k: random.bits(k, (2,)))(random.split(raw, 4))
    assert len(np.unique(np.asarray(c))) == 8


# --- R72, R73, R75: arguments of pmap itself


def test_r72_no_mapped_arguments():
    same(jax.pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=2)(), np.int32([0, 1]))
    f = jax.pmap(lambda w: w * lax.axis_index("i"), "i", in_axes=None, axis_size=4)
    same(f(np.float32(2)), np.float32([0, 2, 4, 6]))
    same(jax.pmap(lambda: 3.0, axis_size=2, out_axes=None)(), np.float32(3))
    same(jax.jit(jax.pmap(lambda: lax.psum(1.0, "i"), "i", axis_size=4))(), np.float32([4] * 4))
    refused(ValueError, lambda: jax.pmap(lambda: 1.0)(), "pmap", "axis_size")
    refused(ValueError, lambda: jax.pmap(lambda x: x, in_axes=None)(TWO), "axis_size")


def test_r73_static_arguments_by_name():
    def step(x, kind, n=1):
        return x + n if kind == "up" else x - n

    f = jax.pmap(step, static_broadcasted_argnames=("kind", "n"))
    same(f(TWO, kind="up"), TWO + 1)
    same(f(TWO, "down", n=3), TWO - 3)
    same(jax.pmap(step, static_broadcasted_argnums=1)(TWO, kind="up"), TWO + 1)
    same(jax.pmap(step, static_broadcasted_argnums=(-1, 1))(TWO, "up", 2), TWO + 2)
    unknown = lambda: jax.pmap(step, static_broadcasted_argnames="kin")
    refused(ValueError, unknown, "static_broadcasted_argnames", "'kin'")
    refused(ValueError, lambda: f(TWO, kind=np.ones(3)), "kind", "not hashable")


def test_r75_static_arguments_count_in_in_axes():
    f = lambda x, w, n, y: x + w * n + y
    run = jax.pmap(f, static_broadcasted_argnums=(2,), in_axes=(0, None, None, 0))
    x = np.float32([0, 1])
    same(run(x, 2.0, 3, x), np.float32([6, 8]))
    short = jax.pmap(f, static_broadcasted_argnums=(2,), in_axes=(0, None, 0))
    refused(ValueError, lambda: short(TWO, 2.0, 3, TWO), "3 entries", "4 positional arguments")
    one = jax.pmap(f, static_broadcasted_argnums=(1, 2), in_axes=0)
    same(one(TWO, 2.0, 3, TWO), TWO * 2 + 6)


# --- R83: integers that do not fit

TOO_LARGE: dict[str, Any] = {
    "an array": lambda: np.array([2**40]),
    "the next number": lambda: np.array([0, 2**31]),
    "a negative number": lambda: np.array([-(2**31) - 1]),
    "unsigned": lambda: np.array([2**32], np.uint64),
    "a NumPy scalar": lambda: np.int64(2**40),
    "a Python number": lambda: 2**40,
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_r83_integers_that_do_not_fit_never_wrap(case):
    x = TOO_LARGE[case]()
    one = jnp.int32(1)
    calls: list[Any] = [
        lambda: jnp.asarray(x),
        lambda: jnp.array([x]),
        lambda: jax.device_put(x),
        lambda: jax.device_put({"a": [x]}, jax.devices()[1]),
        lambda: jax.jit(lambda a: a)(x),
        lambda: jax.jit(lambda a: a["b"])({"b": x}),
        lambda: jax.vmap(lambda a, b: b, in_axes=(0, None))(TWO, x),
        lambda: jax.pmap(lambda a, b: b, in_axes=(0, None))(TWO, x),
        lambda: one + x,
        lambda: jnp.add(one, x),
        lambda: jnp.where(one > 0, x, 0),
        lambda: jax.jit(lambda a: a + x)(one),
    ]
    for k, call in enumerate(calls):
        with pytest.raises(OverflowError, match="does not fit in u?int32"):
            call()
            raise AssertionError(f"call {k} raised nothing")
    with jax.enable_x64():
        same(jnp.asarray(x) + 0, np.asarray(x))


def test_r83_integers_that_fit():
    x = np.array([2**31 - 1, -(2**31)])
    assert jnp.asarray(x).tolist() == x.tolist()
    assert jnp.asarray(np.array([2**32 - 1], np.uint64)).tolist() == [2**32 - 1]
    assert jax.pmap(lambda x: x)(x).tolist() == x.tolist()


# --- errors leave nothing behind


def test_after_every_error_the_next_call_works():
    f = jax.pmap(lambda x: lax.psum(x, "i"), "i")
    bad = [
        lambda: f(np.ones((3, 2, 1))[:0]),
        lambda: f([1.0, 2.0]),
        lambda: f("text"),
        lambda: f({"a": TWO, "b": np.ones(3)}),
        lambda: jax.pmap(lambda x: 1 / 0)(TWO),
        lambda: jax.pmap(lambda x: lax.psum(x, "j"), "i")(TWO),
        lambda: jax.pmap(lambda x: x if x > 0 else -x)(TWO),
        lambda: jax.pmap(lambda x: "text")(TWO),
    ]
    for call in bad:
        with pytest.raises((PlaitError, ZeroDivisionError)):
            call()
        same(f(TWO), np.float32([5, 5]))
        same(jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(TWO), np.float32([5, 5]))
        assert lax.bound_axis_names() == ()
