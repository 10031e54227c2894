"""Orthogonal matrices drawn at random, and the initializers made of them."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import random
from plait.nn.initializers import delta_orthogonal, orthogonal

KEY = random.key(3)


@pytest.mark.parametrize("n, m, lead", [(3, None, ()), (4, 2, ()), (2, 4, (3,)), (0, None, ())])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_rows_or_columns_are_orthonormal(n, m, lead, dtype):
    q = random.orthogonal(KEY, n, lead, dtype, m)
    m = n if m is None else m
    assert q.shape == (*lead, n, m) and q.dtype == dtype
    q = np.asarray(q)
    h = np.conj(np.swapaxes(q, -1, -2))
    product = q @ h if n <= m else h @ q
    wanted = np.broadcast_to(np.eye(min(n, m)), product.shape)
    np.testing.assert_allclose(product, wanted, atol=1e-5)


def test_all_directions_are_equally_likely():
    q = np.asarray(random.orthogonal(KEY, 2, (4000,)))
    # The sign of the determinant is a fair coin, and the first column points anywhere.
    assert abs(np.linalg.det(q).mean()) < 0.05
    assert np.abs(q[:, :, 0].mean(0)).max() < 0.05
    np.testing.assert_allclose((q[:, :, 0] ** 2).mean(0), 0.5, atol=0.02)


def test_values_are_those_of_jax():
    wanted = [[-0.8998209, 0.23798478, -0.36563033], [0.28033638, 0.95758665, -0.06662874]]
    np.testing.assert_allclose(random.orthogonal(KEY, 2, m=3), wanted, rtol=1e-5)
    np.testing.assert_allclose(random.orthogonal(KEY, 3, m=2), np.transpose(wanted), rtol=1e-5)
    np.testing.assert_allclose(orthogonal(2.0)(KEY, (3, 2)), 2 * np.transpose(wanted), rtol=1e-5)
    np.testing.assert_allclose(orthogonal(column_axis=0)(KEY, (2, 3)), wanted, rtol=1e-5)
    kernel = orthogonal()(KEY, (2, 2, 3))
    np.testing.assert_allclose(kernel[0, 0], [-0.48706746, 0.72653633, 0.20241562], rtol=1e-5)
    square = orthogonal()(KEY, (3, 3))
    np.testing.assert_allclose(square, random.orthogonal(KEY, 3), rtol=1e-6)
    middle = [[-0.5271795, 0.7591919, -0.38171896], [0.7183465, 0.15819138, -0.67746127]]
    kernel = delta_orthogonal()(KEY, (3, 2, 3))
    np.testing.assert_allclose(kernel[1], middle, rtol=1e-5)
    assert not kernel[0].any() and not kernel[2].any()


def test_initializers():
    w = jax.jit(lambda key: orthogonal(dtype=jnp.complex64)(key, (5, 4)))(KEY)
    assert w.dtype == jnp.complex64
    # A convolution with such a kernel keeps lengths.
    kernel = delta_orthogonal()(KEY, (3, 3, 4, 4))
    x = random.normal(KEY, (1, 6, 6, 4))
    y = jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    np.testing.assert_allclose(jnp.linalg.norm(y), jnp.linalg.norm(x), rtol=1e-5)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: random.orthogonal(KEY, -1), "no negative size"),
        (lambda: random.orthogonal(KEY, 2, dtype="int32"), "float or complex"),
        (lambda: orthogonal()(KEY, (3,)), "at least 2 axes"),
        (lambda: delta_orthogonal()(KEY, (2, 3)), "3 to 5 axes"),
        (lambda: delta_orthogonal()(KEY, (3, 4, 3)), "as many outputs"),
    ],
)
def test_what_cannot_be(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()
