"""ragged_all_to_all against slices of NumPy, on devices, in lanes and under vmap."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
from plait import lax
from plait.errors import DtypeError, ShapeError

RNG = np.random.default_rng(0)


def sent(n, rows, width):
    """(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes) of n positions."""
    sizes = RNG.integers(0, 4, (n, n))
    starts = np.cumsum(sizes, 1) - sizes
    lands = np.cumsum(sizes, 0) - sizes  # at position k, the pieces in the order of their senders
    x = RNG.normal(size=(n, rows, width)).astype(np.float32)
    y = RNG.normal(size=(n, 3 * n + 2, width)).astype(np.float32)
    return x, y, starts, sizes, lands, sizes.T


def expected(x, y, starts, sizes, lands, _):
    out = y.copy()
    for s in range(len(x)):
        for r in range(len(x)):
            piece = x[s, starts[s, r] : starts[s, r] + sizes[s, r]]
            out[r, lands[s, r] : lands[s, r] + sizes[s, r]] = piece
    return out


def exchange(*args):
    return lax.ragged_all_to_all(*args, axis_name="i")


@pytest.mark.parametrize("n", [1, 2, 4, 5])
@pytest.mark.parametrize("transformation", [jax.pmap, jax.vmap])
def test_values(n, transformation):
    args = sent(n, 3 * n, 2)
    np.testing.assert_array_equal(transformation(exchange, axis_name="i")(*args), expected(*args))


def test_derivative():
    x, y, *numbers = sent(3, 9, 2)
    weights = RNG.normal(size=y.shape).astype(np.float32)

    def loss(x, y):
        return (weights * jax.pmap(exchange, axis_name="i")(x, y, *numbers)).sum()

    dx, dy = jax.grad(loss, (0, 1))(x, y)
    # What was sent has the weight of where it landed, what was overwritten none.
    marks = expected(np.ones_like(x), np.zeros_like(y), *numbers)
    np.testing.assert_allclose(dy, weights * (1 - marks), rtol=1e-6)
    np.testing.assert_allclose(np.sum(dx * x), np.sum(weights * expected(x, 0 * y, *numbers)), 1e-5)


def test_groups():
    groups = [[0, 2], [1, 3]]
    parts = [sent(2, 6, 1) for _ in groups]
    args = [np.zeros((4, *a.shape[1:]), a.dtype) for a in parts[0]]
    want = np.zeros_like(args[1])
    for group, part in zip(groups, parts, strict=True):
        for whole, a in zip(args, part, strict=True):
            whole[group] = a
        want[group] = expected(*part)

    def grouped(*args):
        return lax.ragged_all_to_all(*args, axis_name="i", axis_index_groups=groups)

    np.testing.assert_array_equal(jax.pmap(grouped, axis_name="i")(*args), want)


def test_nothing_to_send_and_mistakes():
    x, y, *numbers = sent(2, 6, 2)
    got = jax.pmap(exchange, axis_name="i")(x[:, :0], y, *numbers)
    np.testing.assert_array_equal(got, y)
    run = jax.vmap(exchange, axis_name="i")
    with pytest.raises(ShapeError, match="rows of one shape"):
        run(x, y[..., :1], *numbers)
    with pytest.raises(DtypeError, match="one dtype"):
        run(x, y.astype(np.float16), *numbers)
    with pytest.raises(DtypeError, match="send_sizes holds integers"):
        run(x, y, numbers[0], numbers[1].astype(np.float32), *numbers[2:])
    with pytest.raises(ShapeError, match="recv_sizes has one number for each of 2 positions"):
        run(x, y, *numbers[:3], numbers[3][:, :1])
