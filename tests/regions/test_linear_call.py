"""linear_call: the user's transpose is what reverse mode computes, under all transformations."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.custom_derivatives import linear_call
from plait.errors import ArgumentTypeError, ShapeError, UnsupportedError


def over(r, x):
    return x / r


def divided(x, r):
    return x + linear_call(over, over, r, x)


def marked(x):
    """3 x, with a transpose that says it was used: 5 ct."""
    return linear_call(lambda r, x: 3 * x, lambda r, ct: 5 * ct, (), x)


def test_values_and_both_modes():
    for f in (divided, jax.jit(divided)):
        assert f(8.0, 4.0) == 10.0
        assert jax.jvp(f, (8.0, 4.0), (1.0, 0.0))[0] == 10.0
        assert jax.grad(f)(8.0, 4.0) == 1.25


def test_reverse_mode_calls_the_transpose_and_its_transpose_the_function():
    assert jax.grad(marked)(1.0) == 5.0 and jax.jvp(marked, (1.0,), (1.0,)) == (3.0, 3.0)
    assert jax.jit(jax.grad(lambda x: marked(x**3)))(2.0) == 5 * 12
    once = jax.linear_transpose(marked, 1.0)
    assert once(1.0) == (5.0,)
    assert jax.linear_transpose(lambda y: once(y)[0], 1.0)(1.0) == (3.0,)


def test_rows():
    x, r = np.arange(3.0, dtype=np.float32), np.arange(1.0, 4.0, dtype=np.float32)
    assert np.array_equal(jax.vmap(divided)(x, r), x + x / r)
    assert np.array_equal(jax.vmap(jax.grad(divided))(x, r), 1 + 1 / r)
    assert np.array_equal(jax.vmap(divided, (None, 0))(2.0, r), 2 + 2 / r)
    pulled = jax.grad(lambda x: jax.vmap(divided, (None, 0))(x, r).sum())(2.0)
    np.testing.assert_allclose(pulled, (1 + 1 / r).sum(), rtol=1e-6)
    assert np.array_equal(jax.vmap(jax.grad(marked))(x), [5, 5, 5])
    assert np.array_equal(jax.pmap(jax.grad(marked))(x[:2]), [5, 5])


def test_trees_and_what_the_functions_close_over():
    @jax.jit
    def slopes(x, k):
        def fun(r, x):
            return x["a"] * r["k"] * k, x["b"]

        def transpose(r, ct):
            return {"a": ct[0] * r["k"] * k, "b": ct[1] * k}

        def first(x):
            a, b = linear_call(fun, transpose, {"k": 2.0}, x)
            return a + b

        return first(x), jax.grad(first)(x)

    y, ct = slopes({"a": 1.0, "b": 2.0}, 7.0)
    assert y == 16 and ct == {"a": 14.0, "b": 7.0}


def test_refusals():
    with pytest.raises(UnsupportedError, match="linear_args only"):
        jax.grad(divided, 1)(8.0, 4.0)
    with pytest.raises(UnsupportedError, match="linear_args only"):
        jax.grad(lambda k: linear_call(lambda r, x: k * x, over, 1.0, 2.0))(3.0)
    with pytest.raises(ShapeError, match="linear_args"):
        linear_call(over, lambda r, ct: jnp.ones(3), 4.0, 8.0)
    with pytest.raises(ArgumentTypeError, match="structure"):
        linear_call(over, lambda r, ct: (ct, ct), 4.0, 8.0)
    with pytest.raises(ArgumentTypeError, match="linear_args"):
        linear_call(over, over, 4.0, "x")
