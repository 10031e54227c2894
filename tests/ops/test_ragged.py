"""ragged_dot against a loop over its rows."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.errors import ArgumentError, DtypeError, ShapeError

RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=s).astype(np.float32) for s in ((7, 3), (4, 3, 5)))


def by_rows(x, y, sizes):
    group = np.repeat(np.arange(4), sizes)
    rows = [row @ y[g] for row, g in zip(x, group, strict=False)]
    return np.stack([*rows, *[np.zeros(5)] * (len(x) - len(rows))])


def test_values_and_transformations():
    for sizes in ([1, 2, 3, 1], [0, 4, 0, 1], [0, 0, 0, 0], [7, 0, 0, 0]):
        np.testing.assert_allclose(
            lax.ragged_dot(X, Y, jnp.array(sizes)), by_rows(X, Y, sizes), rtol=1e-5, atol=1e-6
        )
    sizes = np.array([[1, 2, 3, 1], [2, 0, 2, 1]])
    got = jax.jit(jax.vmap(lax.ragged_dot, (None, None, 0)))(X, Y, sizes)
    np.testing.assert_allclose(got, [by_rows(X, Y, s) for s in sizes], rtol=1e-5, atol=1e-6)
    dx, dy = jax.grad(lambda x, y: lax.ragged_dot(x, y, sizes[1]).sum(), (0, 1))(X, Y)
    # A row that is in no group, a group without rows.
    assert not np.any(dx[5:]) and not np.any(dy[1])
    np.testing.assert_allclose(dx[2], Y[2].sum(1), rtol=1e-5)
    np.testing.assert_allclose(dy[0], np.outer(X[:2].sum(0), np.ones(5)), rtol=1e-5)
    low = lax.ragged_dot(
        X.astype(jnp.bfloat16), Y.astype(jnp.bfloat16), sizes[0], None, jnp.float32
    )
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, by_rows(X, Y, sizes[0]), atol=0.1)


def test_mistakes():
    with pytest.raises(ShapeError, match="group_sizes"):
        lax.ragged_dot(X, Y, np.array([1, 2]))
    with pytest.raises(DtypeError, match="integers"):
        lax.ragged_dot(X, Y, np.ones(4, np.float32))
    with pytest.raises(ArgumentError, match="group_offset"):
        lax.ragged_dot(X, Y, np.ones(4, int), group_offset=np.ones(1))  # type: ignore[arg-type]


def test_composite():
    scaled = lax.composite(lambda x, *, factor: jnp.sin(x) * factor, name="my.scaled", version=2)
    np.testing.assert_allclose(jax.grad(scaled)(1.0, factor=2.0), 2 * np.cos(1), rtol=1e-6)
    text = jax.jit(lambda x: scaled(x, factor=3.0)).lower(1.0).compile().as_text()
    assert "my.scaled" in text
