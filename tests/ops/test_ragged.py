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


def by_groups(x, y, sizes, contracted, batch, ragged, group_axes):
    """ragged_dot_general by a loop over groups and einsum; x and y of NumPy, sizes [g]."""
    letters = "abcdefgh"
    of_x = list(letters[: x.ndim])
    of_y = [c.upper() for c in letters[: y.ndim]]
    for left, right in zip(contracted[0] + batch[0], contracted[1] + batch[1], strict=True):
        of_y[right] = of_x[left]
    summed = [of_x[k] for k in contracted[0]]
    shared = [of_x[k] for k in batch[0]]
    groups = [of_y[k] for k in group_axes]
    rest = [c for c in of_x if c not in summed + shared]
    rest += [c for c in of_y if c not in summed + shared + groups]
    parts, start = [], 0
    for k, size in enumerate(sizes):
        part = np.zeros_like(x)
        inside = (slice(None),) * ragged + (slice(start, start + size),)
        part[inside] = x[inside]
        other = np.take(y, k, group_axes[0]) if group_axes else y
        names = [c for c in of_y if c not in groups]
        formula = f"{''.join(of_x)},{''.join(names)}->{''.join(shared + rest)}"
        parts.append(np.einsum(formula, part, other))
        start += size
    return np.sum(parts, 0) if group_axes else np.stack(parts)


@pytest.mark.parametrize(
    ("x_shape", "y_shape", "contracted", "batch", "ragged", "group_axes"),
    [
        ((6, 4), (4, 3, 5), ((1,), (0,)), ((), ()), 0, (1,)),  # a free axis
        ((2, 6, 4), (3, 5, 2, 4), ((2,), (3,)), ((0,), (2,)), 1, (0,)),
        ((4, 3, 6, 2), (2, 3, 4), ((0,), (2,)), ((3,), (0,)), 2, (1,)),
        ((4, 6), (4, 5), ((0,), (0,)), ((), ()), 0, ()),  # a contracted one
        ((2, 4, 3, 6), (6, 5, 2, 4), ((1, 3), (3, 0)), ((0,), (2,)), 3, ()),
    ],
)
def test_general_products(x_shape, y_shape, contracted, batch, ragged, group_axes):
    x, y = (RNG.integers(-3, 3, s).astype(np.float32) for s in (x_shape, y_shape))
    numbers = lax.RaggedDotDimensionNumbers((contracted, batch), (ragged,), group_axes)
    for sizes in ([1, 2, 1], [0, 3, 0]):
        got = lax.ragged_dot_general(x, y, np.array(sizes), numbers)
        want = by_groups(x, y, sizes, contracted, batch, ragged, group_axes)
        np.testing.assert_array_equal(got, want)


def test_sizes_of_groups_for_each_row():
    x, y = (RNG.integers(-3, 3, s).astype(np.float32) for s in ((2, 6, 4), (2, 4, 5)))
    sizes = np.array([[1, 2, 3], [2, 0, 2]])
    rows = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (2,), ())
    got = lax.ragged_dot_general(x, y, np.array([[1, 2, 0], [0, 1, 3]]), rows)
    for k, part in enumerate([[1, 2, 0], [0, 1, 3]]):
        want = by_groups(x[k], y[k], part, ((1,), (0,)), ((), ()), 1, ())
        np.testing.assert_array_equal(got[:, k], want)
    groups = np.stack([y, 2 * y, 3 * y])
    free = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (1,))), (1,), (0,))
    got = lax.ragged_dot_general(x, groups, sizes, free)
    for k, part in enumerate(sizes):
        want = by_groups(x[k], groups[:, k], part, ((1,), (1,)), ((), ()), 0, (0,))
        np.testing.assert_array_equal(got[k], want)
    # A batch axis that is ragged changes nothing.
    whole = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    got = lax.ragged_dot_general(x, y, np.array([1, 0]), whole)
    np.testing.assert_array_equal(got, x @ y)


def test_what_lies_outside_of_groups_does_not_count():
    x, y = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    x[:, 3], y[3] = np.nan, np.inf
    summed = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    got = lax.ragged_dot_general(x, y, np.array([1, 2]), summed)
    np.testing.assert_array_equal(got, [np.full((2, 3), 1), np.full((2, 3), 2)])


def test_composite():
    scaled = lax.composite(lambda x, *, factor: jnp.sin(x) * factor, name="my.scaled", version=2)
    np.testing.assert_allclose(jax.grad(scaled)(1.0, factor=2.0), 2 * np.cos(1), rtol=1e-6)
    text = jax.jit(lambda x: scaled(x, factor=3.0)).lower(1.0).compile().as_text()
    assert "my.scaled" in text
