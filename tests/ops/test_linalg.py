"""The ops of linear algebra: what their samples leave out, and their text for GPUs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import plait as jax
import plait.lax.linalg as ll
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.core.stage import stage
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, MissingRuleError, ShapeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.ops.triangular import triangular_solve_p
from plait.regions.linear_solve import linear_solve_p
from plait.testing import assert_close, check_grads, check_op

rng = np.random.default_rng(1)
A = rng.normal(size=(4, 4))
C = A + 1j * rng.normal(size=(4, 4))
TALL = rng.normal(size=(5, 3))


@pytest.fixture(autouse=True, scope="module")
def double():
    with override(enable_x64=True):
        yield


def test_triangular_solve_in_all_its_forms():
    b = rng.normal(size=(4, 2))
    for left, low, transposed, conjugate, unit in itertools.product((True, False), repeat=5):
        t = np.tril(C) if low else np.triu(C)
        if unit:
            t = t - np.diag(np.diag(t)) + np.eye(4)
        t = t.T if transposed else t
        t = t.conj() if conjugate else t
        names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
        how = dict(zip(names, (left, low, transposed, conjugate, unit), strict=True))
        x = ll.triangular_solve(C, (b if left else b.T).astype(complex), **how)
        assert_close(
            t @ np.asarray(x) if left else np.asarray(x) @ t, b if left else b.T, atol=1e-9
        )
    assert ll.triangular_solve(A, b[:, 0], left_side=True).shape == (4,)
    half = ll.triangular_solve(
        np.eye(2, dtype=np.float16), np.ones((2, 1), np.float16), left_side=True
    )
    assert half.dtype == jnp.float16


def test_products_of_reflections():
    packed, taus = jnp.linalg.qr(TALL, mode="raw")
    q = np.linalg.qr(TALL, "complete")[0]
    c = rng.normal(size=(5, 5))
    for left, transposed in itertools.product((True, False), repeat=2):
        m = q.T if transposed else q
        got = ll.ormqr(packed.T, taus, c, left=left, transpose=transposed)
        assert_close(got, m @ c if left else c @ m, atol=1e-12)


@pytest.mark.parametrize("x", [A, C], ids=["real", "complex"])
def test_reductions_to_few_diagonals(x):
    h, taus = map(np.asarray, ll.hessenberg(x))
    q = np.eye(4, dtype=x.dtype)
    q[1:, 1:] = ll.householder_product(h[1:, :-1], taus)
    assert_close(q @ np.triu(h, -1) @ q.conj().T, x, atol=1e-12)
    hermitian = x + x.conj().T
    for lower in (True, False):
        _, d, e, _ = map(np.asarray, ll.tridiagonal(hermitian, lower=lower))
        t = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
        assert_close(np.linalg.eigvalsh(t), np.linalg.eigvalsh(hermitian), atol=1e-10)


def test_left_and_right_eigenvectors():
    for x in (A, C, np.stack([A, A.T])):
        w, u, v = map(np.asarray, ll.eig(x))
        uh = np.swapaxes(u, -1, -2).conj()
        assert_close(uh @ x, w[..., :, None] * uh, atol=1e-9)
        assert_close(x @ v, w[..., None, :] * v, atol=1e-9)
    assert len(ll.eig(A, compute_left_eigenvectors=False)) == 2


def test_tridiagonal_solve():
    dl, d, du = (rng.normal(size=5) for _ in range(3))
    b = rng.normal(size=(5, 2))
    t = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    assert_close(ll.tridiagonal_solve(dl, d, du, b), np.linalg.solve(t, b), atol=1e-10)
    solve = jax.vmap(lambda b: ll.tridiagonal_solve(dl, d, du, b))
    assert_close(solve(np.stack([b, 2 * b]))[1], 2 * np.linalg.solve(t, b), atol=1e-10)
    zeros = np.zeros(3)
    assert np.isnan(ll.tridiagonal_solve(zeros, zeros, zeros, np.ones((3, 1)))).all()
    singular = ll.tridiagonal_solve(
        zeros + 1, zeros + 1, zeros + 1, np.ones((3, 1)) * [[1], [2], [3]]
    )
    perturbed = ll.tridiagonal_solve(zeros, zeros, zeros, np.ones((3, 1)), perturb_singular=True)
    assert np.isfinite(perturbed).all()
    assert singular.shape == (3, 1)


def test_cholesky_update_and_symmetric_product():
    for x in (A, C):
        r = np.linalg.cholesky(x @ x.conj().T + np.eye(4)).conj().T
        w = x[0]
        new = np.asarray(ll.cholesky_update(r, w))
        old = r.conj().T @ r + np.outer(w, w.conj())
        assert_close(new.conj().T @ new, old, atol=1e-10)
        assert not np.tril(new, -1).any()
    c = A + A.T
    got = ll.symmetric_product(A, np.tril(c), alpha=2.0, beta=3.0, symmetrize_output=True)
    assert_close(got, 2 * A @ A.T + 3 * c, atol=1e-12)


def test_qdwh():
    for x in (A, C, TALL):
        u, h, count, converged = ll.qdwh(x)
        want = scipy.linalg.polar(x)
        assert_close((u, h), tuple(map(np.asarray, want)), atol=1e-10)
        assert bool(converged) and int(count) < 10
    u, h, *_ = ll.qdwh(A, dynamic_shape=(3, 2))
    want = scipy.linalg.polar(A[:3, :2])
    assert_close((u[:3, :2], h[:2, :2]), want, atol=1e-10)
    assert not np.asarray(u)[3:].any()


def test_permutations_from_pivots():
    for n in (1, 5, 40):
        pivots = rng.integers(0, n, size=(2, n)).astype(np.int32)
        want = np.broadcast_to(np.arange(n), (2, n)).copy()
        for row, p in zip(want, pivots, strict=True):
            for k, j in enumerate(p):
                row[[k, j]] = row[[j, k]]
        got = ll.lu_pivots_to_permutation(pivots, n)
        assert np.array_equal(got, want)
        assert np.array_equal(ll.lu_pivots_to_permutation(pivots[0], n), want[0])


# --- custom_linear_solve


def test_custom_linear_solve():
    check_op(linear_solve_p, constant=(0, 1, 2))
    tree = {"u": np.arange(3.0), "v": np.ones(2)}

    def solved(a, b):
        solve = lambda product, b: ({"u": b["u"] / a, "v": b["v"] / 2}, 7)
        x, aux = lax.custom_linear_solve(
            lambda x: {"u": a * x["u"], "v": 2 * x["v"]}, b, solve, symmetric=True, has_aux=True
        )
        assert aux == 7
        return x

    check_grads(solved, (np.array([1.0, 2.0, 4.0]), tree), order=2)


def test_mistakes_with_custom_linear_solve():
    one = np.ones(3)
    same, first = (lambda x: x), (lambda x: x[0])
    for call, error, words in (
        (lambda: lax.custom_linear_solve(first, one, lambda f, b: b), ShapeError, "matvec must"),
        (lambda: lax.custom_linear_solve(same, one, lambda f, b: b[0]), ShapeError, "solve must"),
        (lambda: lax.custom_linear_solve(1, one, lambda f, b: b), ArgumentTypeError, "function"),
        (
            lambda: jax.grad(lambda b: jnp.sum(lax.custom_linear_solve(same, b, lambda f, b: b)))(
                one
            ),
            ArgumentTypeError,
            "transpose_solve",
        ),
    ):
        with pytest.raises(error, match=words):
            call()


# --- mistakes


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ll.cholesky(TALL), ShapeError, "x must be square"),
        (lambda: ll.lu(np.ones(3)), ShapeError, "at least two axes"),
        (lambda: ll.lu(np.eye(2, dtype=np.int32)), DtypeError, "takes complex128"),
        (lambda: ll.triangular_solve(A, C), DtypeError, "different dtypes"),
        (lambda: ll.triangular_solve(A, TALL, left_side=True), ShapeError, "as many rows"),
        (lambda: ll.triangular_solve(A[None], A, left_side=True), ShapeError, "before the last"),
        (lambda: ll.householder_product(TALL.T, np.ones(3)), ShapeError, "more columns than rows"),
        (lambda: ll.ormqr(TALL, np.ones(3), A), ShapeError, "as many rows"),
        (lambda: ll.svd(A, subset_by_index=(0, 1)), ArgumentError, "not a subset"),
        (lambda: ll.eigh(A, implementation=ll.EighImplementation.JACOBI), ArgumentError, "only QR"),
        (lambda: ll.schur(A, sort_eig_vals=True), ArgumentError, "not sorted"),
        (lambda: ll.qr(A, use_magma=True), ArgumentError, "MAGMA"),
        (lambda: ll.svd(A, algorithm=ll.SvdAlgorithm.JACOBI), MissingRuleError, "algorithm=JACOBI"),
        (lambda: ll.lu_pivots_to_permutation(np.arange(3), 2), ShapeError, "at most as many"),
        (lambda: ll.tridiagonal_solve(*[np.ones(2)] * 3, np.ones((3, 1))), ShapeError, "every row"),
        (lambda: ll.qdwh(TALL.T), ShapeError, "at least as many rows"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


# --- other platforms


def text_for(platform, function, *xs):
    program, captured = stage(function, [type_of(x) for x in xs])
    assert not captured
    return module_text(Builder(platform), program)


GPU = {
    "cusolver_potrf_ffi": lambda x: [ll.cholesky(x)],
    "cusolver_getrf_ffi": lambda x: ll.lu(x),
    "cusolver_geqrf_ffi": lambda x: ll.qr(x),
    "cusolver_orgqr_ffi": lambda x: ll.qr(x),
    "cusolver_syevd_ffi": lambda x: ll.eigh(x),
    "cusolver_gesvdj_ffi": lambda x: ll.svd(x),
    "cusolver_gesvd_ffi": lambda x: ll.svd(x[:2], algorithm=ll.SvdAlgorithm.QR),
    "cusolver_gesvdp_ffi": lambda x: ll.svd(x, algorithm=ll.SvdAlgorithm.POLAR),
    "cusolver_sytrd_ffi": lambda x: ll.tridiagonal(x),
    "stablehlo.triangular_solve": lambda x: [ll.triangular_solve(x, x, lower=True)],
}


@pytest.mark.parametrize("target", GPU)
def test_gpus_are_asked_for_their_own_routines(target):
    for x in (A, C):
        text = text_for("gpu", GPU[target], x)
        assert target in text and "lapack_" not in text


def test_cholesky_of_other_platforms_is_that_of_stablehlo():
    assert "stablehlo.cholesky" in text_for("tpu", lambda x: [ll.cholesky(x)], A)


@pytest.mark.parametrize("name", ["eig", "schur", "hessenberg"])
def test_what_runs_on_cpus_only_says_so(name):
    with pytest.raises(MissingRuleError) as raised:
        text_for("gpu", lambda x: getattr(ll, name)(x), A)
    assert f"{name}: cannot run on the platform 'gpu'" in str(raised.value)
    assert "put the operands on a CPU" in str(raised.value)


def test_parameters_of_the_same_values_in_another_order():
    # What ops are called with at once is kept, by the values of their parameters: and their names.
    a, b = np.float32([[2, 1], [3, 4]]), np.float32([[1, 2], [3, 4]])
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    for values in itertools.product([False, True], repeat=3):
        params = dict(zip(names, (*values, False, False), strict=True))
        for turn in range(3):
            order = (*names[turn:], *names[:turn])
            y = triangular_solve_p.bind(a, b, **{name: params[name] for name in order})
            t = np.tril(a) if params["lower"] else np.triu(a)
            t = t.T if params["transpose_a"] else t
            got = t @ np.asarray(y) if params["left_side"] else np.asarray(y) @ t
            np.testing.assert_allclose(got, b, rtol=1e-5)
