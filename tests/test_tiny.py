"""A dozen stories, each through the whole system: if these pass, it stands."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random


def test_an_array_goes_in_and_comes_out():
    x = jnp.arange(6.0).reshape(2, 3)
    assert x.dtype == jnp.float32 and x.shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(x[1] * 2 + 1), [7.0, 9.0, 11.0])
    np.testing.assert_array_equal(x.at[0, 1].set(9.0)[0], [0.0, 9.0, 2.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), x)
    assert float((x @ x.T)[0, 1]) == 14.0


def test_jit_traces_once_for_each_type():
    traces = []

    @jax.jit
    def f(x, y):
        traces.append(x.shape)
        return {"sum": x + y, "tree": (x * y, jnp.sin(x))}

    for _ in range(3):
        out = f(np.float32([1, 2]), 2.0)
    np.testing.assert_allclose(out["tree"][1], np.sin([1.0, 2.0]), rtol=1e-6)
    f(np.float32([1, 2, 3]), 2.0)
    assert traces == [(2,), (3,)]


def test_grad_is_the_slope():
    def f(w, x):
        return jnp.tanh(jnp.dot(w["a"], x) + w["b"])

    w = {"a": np.float32([0.3, -0.2]), "b": np.float32(0.1)}
    x = np.float32([1.0, 2.0])
    value, slope = jax.value_and_grad(f)(w, x)
    np.testing.assert_allclose(value, np.tanh(0.0), atol=1e-6)
    np.testing.assert_allclose(slope["a"], x, rtol=1e-6)
    np.testing.assert_allclose(slope["b"], 1.0, rtol=1e-6)


def test_python_decides_where_values_are_known():
    def f(x):
        return x**2 if x > 0 else -x

    assert float(jax.grad(f)(3.0)) == 6.0
    assert float(jax.grad(f)(-3.0)) == -1.0
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"lax\.cond"):
        jax.jit(f)(3.0)
    assert float(jax.grad(f)(3.0)) == 6.0


def test_vmap_is_a_loop():
    w, xs = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([[1, 0, 1], [0, 2, 0]])
    ys = jax.vmap(lambda x: jnp.maximum(x @ w, 3.0))(xs)
    np.testing.assert_allclose(ys, [np.maximum(x @ w, 3.0) for x in xs])


def test_second_derivatives_agree_in_every_order():
    def f(x):
        return jnp.sum(jnp.sin(x) * x**3)

    x = np.float32([0.5, -1.5])
    want = np.diag(-np.sin(x) * x**3 + 6 * np.cos(x) * x**2 + 6 * np.sin(x) * x)
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(outer(inner(f))(x), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_pmap_of_a_training_step(form):
    n = 4
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 8, 3)).astype(np.float32)
    y = x @ np.float32([1.0, -2.0, 0.5]) + 0.25

    def loss(params, x, y):
        w, b = params
        return jnp.mean((x @ w + b - y) ** 2)

    def step(params, x, y):
        slope = lax.pmean(jax.grad(loss)(params, x, y), "i")
        return jax.tree.map(lambda p, g: p - 0.3 * g, params, slope)

    from plait.config import override

    with override(pmap_form=form):
        run = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0), out_axes=None)
        params = (jnp.zeros(3), jnp.zeros(()))
        for _ in range(60):
            params = run(params, x, y)
    np.testing.assert_allclose(params[0], [1.0, -2.0, 0.5], atol=1e-2)
    assert f"{params[1]:.2f}" == "0.25"


def test_maps_and_derivatives_commute():
    def f(x):
        return jnp.sum(jnp.tanh(x) * lax.axis_index("i"))

    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    want = np.arange(2)[:, None] * (1 - np.tanh(x) ** 2)
    for mapped in (jax.vmap, jax.pmap):
        np.testing.assert_allclose(mapped(jax.grad(f), axis_name="i")(x), want, atol=1e-6)
        total = jax.grad(lambda x, m=mapped: jnp.sum(m(f, axis_name="i")(x)))
        np.testing.assert_allclose(total(x), want, atol=1e-6)
        np.testing.assert_allclose(jax.jit(total)(x), want, atol=1e-6)


def test_loops_differentiate():
    def newton(a):
        return lax.fori_loop(0, 6, lambda _, x: 0.5 * (x + a / x), a)

    np.testing.assert_allclose(jax.jit(newton)(2.0), np.sqrt(2.0), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(newton)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-5)

    def walk(x, t):
        return x * t, x + t

    last, steps = lax.scan(walk, 1.0, np.float32([1, 2, 3]))
    assert float(last) == 6.0
    np.testing.assert_array_equal(steps, [2.0, 3.0, 5.0])


def test_a_rule_of_ones_own():
    @jax.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (x, ()), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
    slope = jax.grad(lambda x: jnp.sum(clip(x) ** 2))(np.float32([0.1, 3]))
    np.testing.assert_allclose(slope, [0.2, 1])
    assert float(jax.jit(jax.grad(lambda x: lax.stop_gradient(x) * x))(3.0)) == 3.0


def test_randomness_is_reproducible():
    key = random.key(0)
    first, second = random.split(key)
    a, b = random.normal(first, (4,)), random.normal(second, (4,))
    np.testing.assert_array_equal(a, jax.jit(lambda k: random.normal(k, (4,)))(first))
    assert not np.any(np.asarray(a) == np.asarray(b))


def test_programs_can_be_read():
    text = str(jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(np.float32(1.0)))
    assert "sin" in text and "mul" in text and "f32[]" in text
    lowered = jax.jit(jnp.floor).lower(np.float32(1.0))
    assert "stablehlo.floor" in lowered.as_text()
    assert float(lowered.compile()(np.float32(1.5))) == 1.0


def test_an_error_names_the_place_and_leaves_nothing_behind():
    with pytest.raises(jax.errors.ShapeError, match="test_tiny.py"):
        jax.jit(lambda x: lax.add(x, np.ones(3, np.float32)))(np.ones(2, np.float32))
    with pytest.raises(ZeroDivisionError):
        jax.vmap(lambda x: 1 / 0)(np.ones(2))
    np.testing.assert_array_equal(jax.vmap(lambda x: x + 1)(np.ones(2, np.float32)), [2.0, 2.0])


def test_threads_do_not_meet():
    results: dict[int, float] = {}

    @jax.jit
    def f(x):
        return jnp.sum(x) * 2

    def work(k: int) -> None:
        results[k] = float(f(np.full(3 + k % 2, k, np.float32)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 2.0 * k * (3 + k % 2) for k in range(8)}


def test_64_bits_when_asked():
    with jax.enable_x64():
        y = jax.jit(lambda x: x / 3)(1.0)
        assert y.dtype == jnp.float64 and float(y) == 1 / 3
    assert jax.jit(lambda x: x / 3)(1.0).dtype == jnp.float32
