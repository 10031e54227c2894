"""Computations that several processes and a single one have to agree on.

Each is a function of `own`, which gives a process its rows of an array (all of them, if it is
alone), and of the array's number of rows. It returns (result, axis) pairs: along which axis the
processes' results make up the whole; None for results that all processes have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax, random

Own = Callable[..., Any]
Results = list[tuple[Any, int | None]]
CASES: dict[str, Callable[[Own, int], Results]] = {}


def case(function: Callable[[Own, int], Results]) -> Callable[[Own, int], Results]:
    CASES[function.__name__] = function
    return function


def data(n: int, *rest: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, *rest)).astype(np.float32)


def over(function: Any, *args: Any, **options: Any) -> Any:
    return jax.pmap(function, axis_name="i", **options)(*args)


def rows(result: Any, axis: int | None = 0) -> Results:
    return [(leaf, axis) for leaf in jax.tree.leaves(result)]


DTYPES = ("float32", "bfloat16", "int8", "uint32", "bool")


def numbers(n: int, dtype: str) -> Any:
    return jnp.asarray(np.arange(3 * n).reshape(n, 3) % 5, dtype)


@case
def reductions(own, n):
    def f(x):
        return lax.psum(x, "i"), lax.pmean(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i")

    return [pair for dtype in DTYPES for pair in rows(over(f, own(np.asarray(numbers(n, dtype)))))]


@case
def reductions_in_64_bits(own, n):
    with jax.enable_x64():
        wide = np.arange(2.0 * n).reshape(n, 2) / 7
        out = over(lambda x: (lax.psum(x, "i"), lax.pmax(x, "i")), own(wide))
        out += over(lambda x: (lax.psum(x, "i"), lax.pmin(x, "i")), own(np.arange(n) * 2**40))
        return rows(out)


@case
def complex_numbers(own, n):
    x = (data(n, 3) + 1j * data(n, 3, seed=1)).astype(np.complex64)
    return rows(over(lambda x: (lax.psum(x, "i"), lax.all_gather(x, "i")), own(x)))


@case
def not_a_number(own, n):
    x = data(n, 3)
    x[1, 1], x[2, 2] = np.nan, np.inf
    return rows(over(lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i"), lax.psum(x, "i")), own(x)))


@case
def exchanges(own, n):
    around = [(k, (k + 1) % n) for k in range(n)]

    def f(x):
        return (
            lax.all_gather(x, "i"),
            lax.all_gather(x, "i", axis=1, tiled=True),
            lax.psum_scatter(x, "i"),
            lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
            lax.all_to_all(x, "i", 0, 1),
            lax.all_to_all(x, "i", 1, 0, tiled=True),
            lax.ppermute(x, "i", around),
            lax.ppermute(x, "i", [(0, n - 1)]),
            lax.pshuffle(x, "i", list(reversed(range(n)))),
            lax.pbroadcast(x, "i", n - 1),
            lax.axis_index("i"),
            lax.psum(1, "i"),
        )

    out = rows(over(f, own(data(n, n, 2 * n))))
    for dtype in ("bfloat16", "bool", "int8"):
        x = own(np.asarray(numbers(n, dtype)))
        out += rows(over(lambda x: (lax.all_gather(x, "i"), lax.ppermute(x, "i", around)), x))
    return out


@case
def groups(own, n):
    halves = [list(range(n // 2)), list(range(n // 2, n))]
    odd = [list(range(0, n, 2)), list(range(1, n, 2))]

    def f(x):
        return [
            op(x, "i", axis_index_groups=g)
            for op in (lax.psum, lax.pmax, lax.all_gather)
            for g in (halves, odd)
        ]

    return rows(over(f, own(data(n, 2))))


@case
def axes(own, n):
    x, y = data(3, n, 2), data(2, n)
    out = rows(over(lambda x, y: x.sum() + y, own(x, 1), own(y, -1), in_axes=(1, -1)))
    out += rows(over(lambda x: x * 2, own(x, 1), in_axes=1, out_axes=2), 2)
    out += rows(over(lambda x: x * 2, own(x, 1), in_axes=1, out_axes=-1), 2)
    tree = {"w": own(y, 1), "b": np.float32(3)}
    mapped = over(lambda t: t["w"] * t["b"], tree, in_axes=({"w": 1, "b": None},))
    return out + rows(mapped)


@case
def whole_arguments_and_results(own, n):
    x, w = data(n, 3), data(3)
    f = jax.pmap(
        lambda w, x: (lax.pmean(w * x, "i"), x - w, w + 1),
        axis_name="i",
        in_axes=(None, 0),
        out_axes=(None, 0, None),
    )
    mean, difference, w1 = f(w, own(x))
    again = f(mean, difference)  # results as arguments, placed as they are
    pairs = [(mean, None), (difference, 0), (w1, None)]
    return pairs + list(zip(again, (None, 0, None), strict=True))


@case
def only_the_axis_size(own, n):
    f = jax.pmap(lambda w: w + lax.axis_index("i"), axis_name="i", in_axes=None, axis_size=n)
    return rows(f(np.float32(1)))


@case
def other_arguments(own, n):
    x = data(n, 3)
    f = jax.pmap(
        lambda x, k, scale: lax.psum(x, "i") * k * scale,
        axis_name="i",
        static_broadcasted_argnums=1,
        in_axes=(0, None),
    )
    g = jax.pmap(lambda x: x + 1, donate_argnums=0)
    given = jnp.asarray(own(x))
    kept = g(given)
    return rows([f(own(x), 3, scale=own(x)), g(kept), g(g(own(x)))])


@case
def nothing_to_reduce(own, n):
    return rows(over(lambda x: jnp.sin(x) * 2, own(data(n, 3))))


@case
def empty_and_scalar_rows(own, n):
    return rows(over(lambda x, y: (x, lax.psum(y, "i")), own(np.zeros((n, 0, 2))), own(data(n))))


@case
def captured_arrays(own, n):
    w, key = jnp.asarray(data(3)), random.key(3)

    def f(x):
        noise = random.normal(random.fold_in(key, lax.axis_index("i")), (3,))
        return lax.psum(x * w + noise, "i"), noise

    return rows(over(f, own(data(n, 3))))


@case
def keys(own, n):
    every = random.split(random.key(1), n)
    mine = random.wrap_key_data(own(np.asarray(random.key_data(every))))
    out = over(lambda k: (random.uniform(k, (2,)), lax.all_gather(k, "i")), mine)
    return [(out[0], 0), (random.key_data(out[1]), 0)]


@case
def control_flow(own, n):
    def f(x):
        total, every = lax.scan(lambda c, t: (c + lax.psum(t, "i"), c * t), jnp.zeros(()), x)
        chosen = lax.cond(lax.psum(x.sum(), "i") > 0, lambda x: lax.pmean(x, "i"), lambda x: x, x)
        count = lax.while_loop(
            lambda c: c < 100, lambda c: c + lax.pmax(c, "i") + 1, lax.pmax(x[0], "i") ** 2
        )
        return total, every, chosen, count, lax.fori_loop(0, 3, lambda k, c: c + k, x)

    return rows(over(f, own(data(n, 4))))


@case
def inner_maps(own, n):
    def f(x):
        inner = jax.vmap(lambda r: r + lax.psum(r, "j") + lax.psum(r, ("i", "j")), axis_name="j")
        return inner(x), jax.jit(lambda x: lax.psum(x, "i"))(x)

    def g(x):
        return jax.pmap(lambda r: r + lax.psum(r, "j") + lax.axis_index("i"), axis_name="j")(x)

    return rows([over(f, own(data(n, 3, 2))), over(g, own(data(n, 2, 2)))])


@case
def derivatives_inside(own, n):
    def loss(w, x):
        return jnp.sum(jnp.tanh(x * w)) + lax.psum(jnp.sum(w * x), "i")

    x, w = data(n, 3), data(3)
    out = [
        over(jax.grad(loss), w, own(x), in_axes=(None, 0)),
        over(jax.value_and_grad(loss), w, own(x), in_axes=(None, 0)),
        over(jax.hessian(lambda w, x: jnp.sum(x * w**3)), w, own(x), in_axes=(None, 0)),
        over(lambda w, x: jax.jvp(loss, (w, x), (x, w)), w, own(x), in_axes=(None, 0)),
    ]
    return rows(out)


@case
def derivatives_outside(own, n):
    x, w = own(data(n, 3)), data(3)
    mean = jax.pmap(
        lambda w, x: lax.pmean(jnp.sum(jnp.tanh(w * x)), "i"),
        axis_name="i",
        in_axes=(None, 0),
        out_axes=None,
    )
    each = jax.pmap(
        lambda w, x: jnp.sin(w * x) + lax.psum(w * x, "i"), axis_name="i", in_axes=(None, 0)
    )
    value, (gw, gx) = jax.value_and_grad(mean, argnums=(0, 1))(w, x)
    y, (dw, dx) = jax.vjp(each, w, x)[0], jax.vjp(each, w, x)[1](jnp.ones_like(x))
    pushed = jax.jvp(each, (w, x), (w, x))
    results = [(value, None), (gw, None), (gx, 0), (y, 0), (dw, None), (dx, 0)]
    return [*results, (pushed[0], 0), (pushed[1], 0)]


@case
def derivatives_of_more_than_the_map(own, n):
    """What is computed before, between and after maps, with gradients through all of it."""
    x = own(data(n, 3))
    first = jax.pmap(lambda w, x: w * x - lax.pmean(x, "i"), axis_name="i", in_axes=(None, 0))
    second = jax.pmap(lambda y: lax.psum(jnp.sum(y**2), "i"), axis_name="i", out_axes=None)

    def loss(w):
        return jnp.sqrt(second(jnp.tanh(first(jnp.exp(w), x)) + 1)) * w.sum()

    value, slope = jax.value_and_grad(loss)(data(3))
    compiled = jax.jit(jax.value_and_grad(loss))(data(3))
    return [(value, None), (slope, None), (compiled[0], None), (compiled[1], None)]


@case
def inside_other_transformations(own, n):
    x = own(data(n, 3))
    f = jax.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    mapped = jax.vmap(f)(jnp.stack([x, 2 * x]))
    compiled = jax.jit(lambda x: jnp.sin(f(x * 2)) + 1)(x)
    nested = jax.jit(lambda x: jax.jit(f)(x) + x)(x)
    return [(mapped, 1), (compiled, 0), (nested, 0), (jax.jit(f)(x), 0)]


@case
def results_elsewhere(own, n):
    """The results of a map are arrays of the process like any other."""
    r = over(lambda x: x + lax.psum(x, "i"), own(data(n, 3)))
    local = jax.pmap(lambda x: x - lax.axis_index("i"), axis_name="i", devices=jax.local_devices())
    first = local(r) if len(r) % len(jax.local_devices()) == 0 else r
    sums = jnp.sum(r, 1), jnp.stack(list(r)), r[:, 1], r.T @ r @ np.eye(3)
    assert len(r) == len(sums[1]) and first.shape == r.shape
    return [
        (sums[0], 0),
        (sums[1], 0),
        (sums[2], 0),
        (jax.device_put(r, jax.local_devices()[0]), 0),
    ]


@case
def without_jit(own, n):
    with jax.disable_jit():
        return rows(over(lambda x: x + lax.psum(x, "i"), own(data(n, 3))))


def layers(key: Any, sizes: tuple[int, ...]) -> Any:
    keys = random.split(key, len(sizes) - 1)
    return [
        {"w": random.normal(k, (a, b)) / np.sqrt(a), "b": jnp.zeros(b)}
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def predict(params: Any, x: Any) -> Any:
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


@case
def training(own, n):
    """Data-parallel training of a network, parameters replicated in two ways."""
    x = data(n, 8, 5)
    y = np.sin(x.sum(-1, keepdims=True))
    params = layers(random.key(0), (5, 16, 1))

    def loss(params, x, y):
        return jnp.mean((predict(params, x) - y) ** 2)

    def update(params, x, y):
        value, slopes = lax.pmean(jax.value_and_grad(loss)(params, x, y), "i")
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value

    step = jax.pmap(update, axis_name="i", in_axes=(None, 0, 0), out_axes=None)
    stacked = jax.pmap(update, axis_name="i", donate_argnums=0)
    once, values = params, []
    many = jax.tree.map(lambda p: jnp.broadcast_to(p, (len(own(x)), *p.shape)), params)
    for _ in range(4):
        once, value = step(once, own(x), own(y))
        many, same = stacked(many, own(x), own(y))
        values += [(value, None), (same, 0)]
    assert float(values[-2][0]) < float(values[0][0])
    return values + rows(once, None) + rows(many)


@case
def many_calls(own, n):
    step = jax.pmap(functools.partial(lax.pmean, axis_name="i"), axis_name="i")
    x = own(data(n, 3))
    for _ in range(20):
        x = step(x)
    return rows(x)
