"""Products that sum, against NumPy; norms."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import ArgumentError, ShapeError
from plait.testing import assert_close
from tests.numpy.common import (
    assert_same,
    bools,
    by_meaning,  # noqa: F401
    check_expression,
    complexes,
    floats,
    ints,
    lines,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

F, G, H, V, W, K = (
    floats(3, 4),
    floats(4, 3),
    floats(2, 3, 4),
    floats(5),
    floats(5, seed=9),
    ints(3, 4),
)
NAMES = {"F": F, "G": G, "H": H, "V": V, "W": W, "K": K, "C": complexes(3, 4), "B": bools(3, 4)}
NAMES |= {"S": floats(4, 4), "E": np.zeros((0, 3), np.float32), "N": ints(6, low=0, high=4)}

PRODUCTS = """
xp.dot(F, G); xp.dot(V, W); xp.dot(H, G); xp.dot(F, 2); xp.dot(K, K.T); xp.matmul(F, G)
xp.matmul(H, G); xp.matmul(F[:, 0], F); xp.matmul(F, F[0]); xp.matmul(V, V); xp.matmul(B, B.T)
xp.matmul(H, H.transpose(0, 2, 1)); xp.matmul(H[:, None], H.transpose(0, 2, 1)); xp.matmul(G, H)
xp.matmul(H[:1], H.transpose(0, 2, 1)); xp.matmul(F[0], H.transpose(0, 2, 1)); xp.matmul(E.T, E)
xp.matmul(H[None], H.transpose(0, 2, 1)[:, None]); xp.vdot(C, C); xp.vecdot(C, C); xp.vecdot(H, F)
xp.vecdot(H, F[None], axis=1); xp.inner(F, F); xp.inner(H, F); xp.inner(F, 2); xp.outer(V, W)
xp.outer(F, V); xp.tensordot(F, G, 1); xp.tensordot(H, F, ((1, 2), (0, 1))); xp.tensordot(V, W, 0)
xp.tensordot(H, H, ((0, -1), (0, 2))); xp.kron(F, G); xp.kron(V, F); xp.kron(H, F)
xp.cross(F[:, :3], F[:, 1:]); xp.cross(F.T[:3], F.T[1:], axis=0); xp.matvec(F, F[0])
xp.matvec(H, F[0]); xp.vecmat(F[:, 0], F); xp.vecmat(C[:, 0], C)
"""
EINSUM = """
'ij,jk->ik', F, G; 'ij,jk', F, G; 'ij->ji', F; 'ii->i', S; 'ii', S; 'ij->', F; 'i,j->ij', V, W
'bij,jk->bik', H, G; '...ij,jk->...ik', H, G; 'bij,bkj->bik', H, H; 'bij,bkj->kbi', H, H
'ij,kj,ki->', F, F, F[:, :3]; 'i,i', V, W; 'ij,ij->ij', F, F; F, [0, 1], G, [1, 2], [0, 2]
'bij->b', H; 'ij,jk,kl->il', F, G, F; 'ij,j->i', F, K[0]; 'ijk,ijk->k', H, H; 'bij,cij->bc', H, H
'iij->ij', H[:, :2]; 'ij,ik->jk', K, K; 'bhqd,bhkd->bhqk', H[:, None], H[:, None]; 'ij,jk->ki', F, G
'i,i->i', B[0], B[1]; 'ij->j', K; H, [..., 0], [0, ...]; 'a,b,c->abc', V, W, V; 'ij,j', F, F[0]
'bij,b->ij', H, H[:, 0, 0]; '...,...', H, F; 'i...->...', H; 'ab,bc,cd,de', F, G, F, G; 'ij->ij', F
'ij,i->j', F, F[:, 0]; 'bij,j->bi', H, F[0]
"""
CONVOLVE = """
xp.convolve(V, W); xp.convolve(V, W[:3]); xp.convolve(V, W[:3], 'same')
xp.convolve(V, W[:2], 'same'); xp.convolve(V, W[:3], 'valid'); xp.convolve(W[:2], V, 'same')
xp.correlate(V, W[:3])
xp.correlate(V, W[:3], 'full'); xp.correlate(V, W[:2], 'same'); xp.correlate(W[:2], V, 'same')
xp.correlate(W[:2], V, 'full'); xp.convolve(N, N[:3]); xp.convolve(N, N[:2], 'same')
xp.correlate(N, N[:3], 'same'); xp.correlate(N[:2], N, 'full'); xp.correlate(C[0], C[1], 'full')
xp.correlate(C[0, :2], C[1], 'full'); xp.convolve(N, N[:3], 'valid'); xp.correlate(W, V[:3], 'same')
"""
NORMS = """
xp.linalg.norm(F); xp.linalg.norm(V); xp.linalg.norm(F, axis=1); xp.linalg.norm(F, 1, axis=0)
xp.linalg.norm(F, np.inf, axis=1); xp.linalg.norm(F, -np.inf, 1); xp.linalg.norm(F, 3, 1)
xp.linalg.norm(F, 0, 1); xp.linalg.norm(F, 1); xp.linalg.norm(F, np.inf); xp.linalg.norm(F, -1)
xp.linalg.norm(F, 'fro', keepdims=True); xp.linalg.norm(K); xp.linalg.norm(C, axis=0)
xp.linalg.norm(H, axis=(0, 2), ord=1); xp.linalg.norm(H); xp.linalg.vector_norm(H)
xp.linalg.vector_norm(H, axis=(0, 1), keepdims=True, ord=1); xp.linalg.matrix_norm(H)
xp.linalg.matrix_norm(H, ord=np.inf, keepdims=True); xp.linalg.multi_dot([F, G, F])
xp.linalg.multi_dot([F[0], G, V[:3]]); xp.linalg.matrix_power(S, 3); xp.linalg.matrix_power(S, 0)
xp.linalg.trace(H); xp.linalg.diagonal(H); xp.linalg.cross(F[:, :3], F[:, 1:])
xp.linalg.outer(V, W)
"""


@pytest.mark.parametrize("text", lines(PRODUCTS + CONVOLVE + NORMS))
def test_against_numpy(text):
    check_expression(text, NAMES)


@pytest.mark.parametrize("text", lines(EINSUM))
def test_einsum(text):
    check_expression(f"xp.einsum({text})", NAMES)


def test_a_size_of_1_broadcasts_in_einsum():
    assert_same(jnp.einsum("ij,jk->ik", F[:, :1], G), np.einsum("ij,jk->ik", F[:, [0] * 4], G))


def test_einsum_with_an_order_of_its_own():
    for optimize in (True, False, "greedy", "optimal", ["einsum_path", (0, 1), (0, 1)]):
        y = jnp.einsum("ij,jk,kl->il", F, G, F, optimize=optimize)
        assert_same(y, F @ G @ F)
    order, _ = jnp.einsum_path("ij,jk,kl->il", F, G, F)
    assert len(order) == 2


def test_einsum_takes_the_steps_that_einsum_path_gives():
    cases = {"i->": (F[0],), "ii->i": (F[:, :3],), "ij,jk": (F, G), "ij,jk,kl->li": (F, G, F)}
    cases["ij,ik,il->jkl"] = (F, F, F[:, :2])
    for text, operands in cases.items():
        want = np.einsum(text, *operands)
        for optimize in (True, False, "optimal", "greedy"):
            path, _ = jnp.einsum_path(text, *operands, optimize=optimize)
            for order in (path, tuple(path), ["einsum_path", *path]):
                assert_close(jnp.einsum(text, *operands, optimize=order), want, rtol=1e-5)
                assert jnp.einsum_path(text, *operands, optimize=order)[0] == path
        whole = [tuple(range(len(operands)))]
        assert_close(jnp.einsum(text, *operands, optimize=whole), want, rtol=1e-5)
    for steps in (
        [],
        [(0, 1)],
        [(0, 3), (0, 1)],
        [(0, 0), (0, 1)],
        [(), (0, 1, 2)],
        [(0, 1, 2)] * 2,
    ):
        with raises(ArgumentError, "optimize"):
            jnp.einsum("ij,jk,kl->li", F, G, F, optimize=steps)


def test_batched_matmul_is_one_product():
    text = str(plait.make_jaxpr(jnp.matmul)(H[:, None], H.transpose(0, 2, 1)))
    assert text.count("dot_general") == 1
    assert "broadcast_in_dim" not in text


def test_einsum_of_attention_needs_no_transposition():
    q = floats(2, 5, 3, 4)
    text = str(plait.make_jaxpr(lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k))(q, q))
    assert text.count("dot_general") == 1
    assert "transpose" not in text


def test_preferred_element_type_and_precision():
    half = F.astype(np.float16)
    assert jnp.matmul(half, half.T, preferred_element_type=np.float32).dtype == np.float32
    assert (
        jnp.einsum("ij,kj->ik", half, half, preferred_element_type=np.float32).dtype == np.float32
    )
    assert jnp.matmul(half, half.T).dtype == np.float16
    text = str(plait.make_jaxpr(lambda x: jnp.dot(x, x.T, precision="highest"))(F))
    assert "HIGHEST" in text.upper()


def test_errors():
    with raises(ShapeError, "matmul", "4 and 3", "float32[3,4]"):
        jnp.matmul(F, F)
    with raises(ShapeError, "at least one axis"):
        jnp.matmul(F, 2)
    with raises(ShapeError, "dot"):
        jnp.dot(F, V)
    with raises(ShapeError, "broadcast"):
        jnp.matmul(H, floats(3, 4, 2))
    with raises(ArgumentError, "einsum", "ij,kl->im"):
        jnp.einsum("ij,kl->im", F, F)
    with raises(ArgumentError, "einsum"):
        jnp.einsum("ij,jk", F, F)
    with raises(ShapeError, "tensordot"):
        jnp.tensordot(F, F, 1)
    with raises(ArgumentError, "no such norm"):
        jnp.linalg.norm(V, "fro")
    with raises(ArgumentError, "mode"):
        jnp.convolve(V, W, "foo")


def test_tensordot_over_a_negative_number_of_axes_sums_nothing():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(4.0)
    np.testing.assert_array_equal(jnp.tensordot(a, b, -1), np.tensordot(a, b, -1))
