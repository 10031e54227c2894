"""Functions with a rule for vmap of their own."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.custom_batching import custom_vmap, sequential_vmap
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError

X = np.arange(3.0, dtype=np.float32)


def sine():
    """sin(x) y, of which the rule computes another function, cos(x) y; and the rule's calls."""
    calls = []

    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        calls.append((axis_size, in_batched))
        return jnp.cos(x) * y, any(in_batched)

    return f, calls


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_vmap_takes_the_rule(wrap):
    f, calls = sine()
    np.testing.assert_allclose(wrap(f)(1.0, 2.0), np.sin(1) * 2, rtol=1e-6)
    assert not calls
    np.testing.assert_allclose(jax.vmap(wrap(f), (0, None))(X, 2.0), np.cos(X) * 2, rtol=1e-6)
    np.testing.assert_allclose(wrap(jax.vmap(f, (None, 1)))(2.0, X[None]), np.cos(2.0) * X[:, None])
    assert calls == [(3, [True, False]), (3, [False, True])]
    np.testing.assert_allclose(wrap(f)(y=2.0, x=1.0), np.sin(1) * 2, rtol=1e-6)


def test_vmap_in_vmap_maps_the_rule():
    f, calls = sine()
    got = jax.vmap(jax.vmap(f, (0, None)))(np.stack([X, X + 1]), np.float32([1, 2]))
    np.testing.assert_allclose(got, np.cos([X, X + 1]) * [[1], [2]], rtol=1e-6)
    assert calls == [(3, [True, False])]
    # Inside of the rule of the inner map, the outer one vectorises cos.
    got = jax.vmap(lambda x: lax.scan(lambda c, x: (c, jax.vmap(f)(x, x)), 0, x[:, None])[1])(
        X[None]
    )
    np.testing.assert_allclose(np.ravel(got), np.cos(X) * X, rtol=1e-6)


def test_derivatives():
    f, calls = sine()
    primal, tangent = jax.jvp(f, (1.0, 2.0), (1.0, 0.0))
    np.testing.assert_allclose((primal, tangent), (np.sin(1) * 2, np.cos(1) * 2), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(f)(1.0, 2.0), np.cos(1) * 2, rtol=1e-6)
    assert not calls
    # The map's tangents are those of the rule.
    for pushed in (
        jax.vmap(lambda x: jax.jvp(lambda x: f(x, 2.0), (x,), (3.0,))),
        lambda x: jax.jvp(jax.vmap(lambda x: f(x, 2.0)), (x,), (3 * np.ones_like(x),)),
    ):
        primals, tangents = pushed(X)
        np.testing.assert_allclose(primals, np.cos(X) * 2, rtol=1e-6)
        np.testing.assert_allclose(tangents, -6 * np.sin(X), rtol=1e-6)
    # A tangent has rows where its primal has none.
    got = jax.vmap(lambda t: jax.jvp(f, (1.0, 2.0), (t, 0.0))[1])(X)
    np.testing.assert_allclose(got, -2 * np.sin(1) * X, rtol=1e-6)
    got = jax.grad(lambda x: jax.vmap(f)(x, x).sum())(X)
    np.testing.assert_allclose(got, np.cos(X) - X * np.sin(X), rtol=1e-6)


def test_trees_and_captured_values():
    @custom_vmap
    def f(p, n):
        return {"y": p["w"] * table[0] + n, "z": n}

    @f.def_vmap
    def rule(size, batched, p, n):
        assert batched == [{"w": True}, False]
        return {"y": p["w"] * 10 + n, "z": n}, {"y": True, "z": False}

    table = jnp.array([2.0])
    got = jax.vmap(f, in_axes=({"w": 0}, None))({"w": X}, 1)
    np.testing.assert_array_equal(got["y"], X * 10 + 1)
    assert got["z"].tolist() == [1, 1, 1] and got["z"].dtype == np.int32
    assert f({"w": 1.0}, 1)["y"] == 3

    def closing(x):
        inner = custom_vmap(lambda y: x * y)
        inner.def_vmap(lambda n, b, y: (y, True))
        return inner(x)

    with pytest.raises(ArgumentError, match="differs from row to row"):
        jax.vmap(closing)(X)
    assert jax.jit(closing)(3.0) == 9


def test_pmap_keeps_the_function():
    f, calls = sine()
    got = jax.pmap(f)(X[:2], X[:2])
    np.testing.assert_allclose(got, np.sin(X[:2]) * X[:2], rtol=1e-6)
    assert not calls
    got = jax.pmap(jax.vmap(f))(X[:2, None], X[:2, None])
    np.testing.assert_allclose(got[:, 0], np.cos(X[:2]) * X[:2], rtol=1e-6)


def test_row_after_row():
    shapes = []

    @sequential_vmap
    def f(x, y):
        shapes.append(jnp.shape(x))
        return x * y, {"sum": jnp.sum(x)}

    product, rest = jax.vmap(f, (0, None))(np.ones((3, 2), np.float32), 2.0)
    np.testing.assert_array_equal(product, 2 * np.ones((3, 2)))
    assert rest["sum"].tolist() == [2, 2, 2] and set(shapes) == {(2,)}
    assert "scan" in str(jax.make_jaxpr(jax.vmap(f, (0, None)))(np.ones((3, 2)), 2.0))
    nested = jax.vmap(jax.vmap(f, (0, None)), (0, 0))(np.ones((2, 3, 2)), np.ones(2))[0]
    assert nested.shape == (2, 3, 2) and set(shapes) == {(2,)}
    slope = jax.vmap(lambda x: jax.jvp(lambda x: f(x, 3.0)[0], (x,), (x,))[1])(X[:, None])
    np.testing.assert_array_equal(slope[:, 0], 3 * X)


def test_mistakes():
    f = custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match="def_vmap"):
        jax.vmap(f)(X)
    rules = (
        (lambda n, b, x: x, "must return a pair"),
        (lambda n, b, x: ((x, x), (True, True)), "result must have the structure"),
        (lambda n, b, x: (x, [True]), "out_batched must have the structure"),
    )
    for rule, words in rules:
        f.def_vmap(rule)
        with pytest.raises(ArgumentTypeError, match=words):
            jax.vmap(f)(X)
    f.def_vmap(lambda n, b, x: (x, False))
    with pytest.raises(ShapeError, match="for each row"):
        jax.vmap(f)(X)
    with pytest.raises(ArgumentTypeError, match="a function"):
        custom_vmap(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="not an array"):
        f("text")
