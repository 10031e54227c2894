"""experimental.sparse: BCOO means what the dense array means, under transformations too."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import plait as jax
import plait.numpy as jnp
from plait.errors import PlaitError
from plait.experimental.sparse import BCOO, bcoo_fromdense, bcoo_todense

DENSE = np.float32([[0, 2, 0], [3, 0, 0], [0, 0, -1], [0, 5, 0]])
M = bcoo_fromdense(DENSE)
PADDED = BCOO.fromdense(DENSE, nse=7)
SCIPY = BCOO.from_scipy_sparse(scipy.sparse.csr_matrix(DENSE))
TWICE = BCOO((jnp.concatenate([M.data / 2] * 2), jnp.concatenate([M.indices] * 2)), shape=M.shape)


@pytest.mark.parametrize("m", [M, PADDED, SCIPY, TWICE], ids=["plain", "padded", "scipy", "twice"])
def test_a_sparse_array_is_its_dense_one(m):
    x, y = np.arange(3.0, dtype=np.float32), np.arange(8.0, dtype=np.float32).reshape(2, 4)
    assert (m.shape, m.ndim, m.size, m.dtype) == ((4, 3), 2, 12, np.float32)
    for got, want in (
        (m.todense(), DENSE),
        (bcoo_todense(m.T), DENSE.T),
        (m @ x, DENSE @ x),
        (m @ DENSE.T, DENSE @ DENSE.T),
        (y @ m, y @ DENSE),
        (jnp.asarray(y) @ m, y @ DENSE),
        (jnp.arange(4.0) @ m, np.arange(4) @ DENSE),
        ((-2 * m * 3.0).todense(), -6 * DENSE),
        ((m * np.float32(DENSE + 1)).todense(), DENSE * (DENSE + 1)),
        (jax.jit(lambda m, x: m @ x)(m, x), DENSE @ x),
        (jax.vmap(lambda x: m @ x)(DENSE), DENSE @ DENSE.T),
        (jax.pmap(lambda m, x: m @ x, in_axes=(None, 0))(m, DENSE[:2]), DENSE[:2] @ DENSE.T),
        (jax.jit(lambda a: BCOO.fromdense(a, nse=5).T)(DENSE).todense(), DENSE.T),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_derivatives_are_those_of_the_elements():
    x = jnp.arange(3.0)

    def loss(m, x):
        return jnp.sum((m @ x) ** 2)

    of_m, of_x = jax.grad(loss, argnums=(0, 1), allow_int=True)(PADDED, x)
    dense, want = jax.grad(lambda a, x: jnp.sum((a @ x) ** 2), argnums=(0, 1))(DENSE, x)
    np.testing.assert_allclose(of_x, want)
    np.testing.assert_allclose(of_m.data[:4], dense[tuple(PADDED.indices[:4].T)])
    np.testing.assert_array_equal(of_m.data[4:], 0)


def test_dtypes_and_other_numbers_of_axes():
    assert (bcoo_fromdense(np.eye(2, dtype=np.int8)) @ np.ones(2, np.float16)).dtype == np.float16
    cube = np.arange(8).reshape(2, 2, 2) % 3
    m = bcoo_fromdense(cube)
    np.testing.assert_array_equal(m.transpose((1, 2, 0)).todense(), cube.transpose(1, 2, 0))
    empty = bcoo_fromdense(np.zeros((2, 0), np.float32))
    assert empty.nse == 0 and (empty @ np.zeros((0, 3), np.float32)).shape == (2, 3)


@pytest.mark.parametrize(
    "call, word",
    [
        (lambda: BCOO(3, shape=(2,)), "a pair (data, indices)"),
        (lambda: BCOO((np.ones(2), np.ones((2, 1))), shape=(3,)), "must be integers"),
        (lambda: BCOO((np.ones(2), np.ones((2, 1), int)), shape=(3, 3)), "(n, 2)"),
        (lambda: M @ np.ones(4), "as many rows as it has columns"),
        (lambda: np.ones(3) @ M, "as many rows as it has columns"),
        (lambda: M * np.ones(3), "an array of its shape"),
        (lambda: M.transpose((0, 0)), "name each axis once"),
    ],
)
def test_errors(call, word):
    with pytest.raises(PlaitError) as caught:
        call()
    assert word in str(caught.value)


def test_a_mapped_tree_can_be_shown():
    a = BCOO.fromdense(jnp.eye(2))
    assert repr(a) == "BCOO(float32[2, 2], nse=2)"
    shapes = jax.tree.map(jnp.shape, a)
    assert repr(shapes) == "BCOO(data=(2,), indices=(2, 2), shape=(2, 2))"
