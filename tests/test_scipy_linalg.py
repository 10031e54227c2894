"""plait.scipy.linalg and plait.scipy.sparse.linalg against SciPy, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import plait as jax
import plait.numpy as jnp
import plait.scipy.linalg as sl
from plait import lax
from plait.config import override
from plait.errors import ArgumentError, ArgumentTypeError, MissingRuleError, ShapeError
from plait.scipy.sparse.linalg import bicgstab, cg, gmres
from plait.testing import assert_close, check_grads

rng = np.random.default_rng(0)
A = rng.normal(size=(4, 4))
C = A + 1j * rng.normal(size=(4, 4))
TALL, M, V = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
WIDE = TALL.T
POS, CPOS = A @ A.T + 4 * np.eye(4), C @ C.conj().T + 4 * np.eye(4)
SYM, HERM = A + A.T, C + C.conj().T


@pytest.fixture(autouse=True, scope="module")
def double():
    with override(enable_x64=True):
        yield


def near(got, want, tol=1e-9):
    several = isinstance(got, tuple)
    for g, w in zip(got if several else [got], want if several else [want], strict=True):
        assert_close(np.asarray(g), np.asarray(w, np.asarray(g).dtype), rtol=tol, atol=tol)


# Calls that give the same in both: `s` is the module.
SAME = """
s.cholesky(POS); s.cholesky(CPOS, lower=True); s.det(A); s.inv(C); s.expm(A); s.expm(C)
s.expm(10 * A); s.expm(0 * A); s.expm(np.stack([A, 1e-3 * A])); s.expm_frechet(A, POS)
s.solve(POS, M, assume_a="pos"); s.solve(CPOS, V, assume_a="pos", lower=True); s.solve(A, V)
s.solve(SYM, M, assume_a="sym"); s.solve(HERM, M, assume_a="her")
s.solve_triangular(A, M); s.solve_triangular(A, V, trans="T", lower=True)
s.solve_triangular(C, M, trans=2, unit_diagonal=True); s.solve_triangular(C, V, trans=1)
s.cho_solve(s.cho_factor(POS), V); s.cho_solve(s.cho_factor(CPOS, lower=True), M)
s.cho_solve(s.cho_factor(CPOS), M); s.lu(A); s.lu(TALL); s.lu(WIDE, permute_l=True); s.lu(C)
s.lu_factor(A); s.lu_solve(s.lu_factor(A), V); s.lu_solve(s.lu_factor(C), M, trans=2)
s.lu_solve(s.lu_factor(A), M, trans=1)
s.qr(TALL); s.qr(WIDE, mode="economic"); s.qr(C, mode="r"); 
s.qr(TALL, mode="economic", pivoting=True)
s.qr(WIDE, pivoting=True); s.qr(C, pivoting=True)
s.qr_multiply(TALL, M[:3], mode="left"); s.qr_multiply(TALL + 1j, A[:, [0, 1, 2, 3, 0]])
s.qr_multiply(TALL, V[:3], mode="left", pivoting=True)
s.qr_multiply(TALL + 1j, TALL[:, 0], conjugate=True)
s.eigh(A, eigvals_only=True); s.eigh(C, eigvals_only=True, lower=False)
s.eigh(SYM, POS, eigvals_only=True); s.eigh(HERM, CPOS, eigvals_only=True, type=2)
s.eigh(SYM, POS, eigvals_only=True, type=3, lower=False)
s.eigh_tridiagonal(V, V[1:], eigvals_only=True)
s.eigh_tridiagonal(V, V[1:], eigvals_only=True, select="i", select_range=(1, 2))
s.svd(TALL); s.svd(A, lapack_driver="gesvd"); s.svd(WIDE, compute_uv=False)
s.hessenberg(A, calc_q=True); s.hessenberg(C); s.polar(A); s.polar(C, side="left"); s.polar(TALL)
s.polar(WIDE); s.polar(TALL, side="left"); s.sqrtm(POS); s.sqrtm(A); s.sqrtm(C)
s.rsf2csf(*scipy.linalg.schur(A)); s.solve_sylvester(A, M[:3], M); s.solve_sylvester(C, POS, A)
s.toeplitz(V); s.toeplitz(V, V[:2]); s.toeplitz(C[0]); s.hankel(V); s.hankel(V, V[1:])
s.circulant(V); s.companion(V); s.fiedler(V); s.fiedler_companion(np.arange(1.0, 8))
s.fiedler_companion(V); s.fiedler_companion(V[:2]); s.leslie(V, V[1:]); s.block_diag(A, M, V)
s.convolution_matrix(V, 3); s.convolution_matrix(V, 3, "same"); s.convolution_matrix(V, 6, "same")
s.convolution_matrix(V, 3, "valid"); s.convolution_matrix(V, 6, "valid")
s.hilbert(4); s.invhilbert(4); s.pascal(5); s.pascal(5, "lower"); s.invpascal(4)
s.invpascal(4, "upper"); s.hadamard(8); s.helmert(4); s.helmert(4, True); s.dft(5); s.dft(4, "n")
"""
CALLS = [c.strip() for c in SAME.replace("\n", ";").split(";") if c.strip()]


@pytest.mark.parametrize("call", CALLS)
def test_as_in_scipy(call):
    got, want = (eval(call, {**globals(), "s": module}) for module in (sl, scipy.linalg))
    near(got, want, 1e-8)


@pytest.mark.parametrize("x", [A, C, POS], ids=["real", "complex", "positive"])
def test_schur(x):
    for output in ("real", "complex"):
        t, z = map(np.asarray, sl.schur(x, output=output))
        near(z @ t @ z.conj().T, x)
        near(z.conj().T @ z, np.eye(4))
        assert not np.tril(t, -2 if output == "real" else -1).any()


def test_general_eigenvectors():
    for kind, left in ((1, SYM), (2, SYM @ POS), (3, POS @ SYM)):
        w, v = map(np.asarray, sl.eigh(SYM, POS, type=kind))
        near(left @ v, (POS @ v if kind == 1 else v) * w)
    w, v = map(np.asarray, sl.eigh_tridiagonal(V, V[1:]))
    near((np.diag(V) + np.diag(V[1:], 1) + np.diag(V[1:], -1)) @ v, v * w)


def test_functions_of_matrices():
    near(sl.funm(A, jnp.exp), scipy.linalg.expm(A), 1e-8)
    result, error = sl.funm(C, jnp.sin, disp=False)
    near(result, scipy.linalg.sinm(C), 1e-8)
    assert 0 < float(error) < 1e-6
    near(sl.expm(np.triu(A), upper_triangular=True), scipy.linalg.expm(np.triu(A)))
    assert np.isnan(sl.expm(1e9 * np.eye(2), max_squarings=3)).all()
    near(sl.solve_sylvester(A, M[:3], M, method="eigen"), scipy.linalg.solve_sylvester(A, M[:3], M))
    assert np.isnan(sl.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2)))).all()


def test_single_precision():
    with override(enable_x64=False):
        x = A.astype(np.float32)
        for got, want in ((sl.expm(3 * x), scipy.linalg.expm(3 * A)), (sl.polar(x)[0], None)):
            want = scipy.linalg.polar(A)[0] if want is None else want
            assert got.dtype == jnp.float32
            assert_close(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
        assert sl.sqrtm(x).dtype == jnp.complex64
        assert sl.hilbert(2).dtype == jnp.float32


SMOOTH = {
    "expm": sl.expm,
    "sqrtm": lambda a: jnp.abs(sl.sqrtm(a @ a.T + np.eye(4))) ** 2,
    "polar": lambda a: sl.polar(a),
    "polar of a tall matrix": lambda a: sl.polar(a[:, :2], method="svd"),
    "solve, positive": lambda a: sl.solve(a @ a.T + np.eye(4), M, assume_a="pos"),
    "solve_sylvester": lambda a: sl.solve_sylvester(a, a[:3, :3], M),
    "lu_solve": lambda a: sl.lu_solve(sl.lu_factor(a), M),
    "cho_solve": lambda a: sl.cho_solve(sl.cho_factor(a @ a.T + np.eye(4)), M),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    check_grads(jax.jit(SMOOTH[name]), (A,), order=1, rtol=1e-5, atol=1e-5)


def test_many_matrices_at_once():
    many = np.stack([A, 2 * POS, SYM])
    for f in (sl.expm, sl.sqrtm, lambda a: sl.polar(a)[0], lambda a: sl.lu(a)[2]):
        near(jax.vmap(f)(many), np.stack([f(a) for a in many]), 1e-9)
    near(sl.expm(many), jax.vmap(sl.expm)(many))


def test_what_has_no_derivative_says_so():
    for f in (lambda a: sl.schur(a)[0], sl.hessenberg, lambda a: lax.linalg.tridiagonal(a)[1]):
        with pytest.raises(MissingRuleError, match="has no derivative"):
            jax.grad(lambda a, f=f: jnp.sum(f(a)))(A)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sl.solve(A, V, assume_a="x"), ArgumentError, "assumed"),
        (lambda: sl.solve_triangular(A, V, trans=3), ArgumentError, "trans"),
        (lambda: sl.cho_solve((A, False), V[:2]), ShapeError, "as many rows"),
        (lambda: sl.eigh(A, eigvals=(0, 1)), ArgumentError, "slice the results"),
        (lambda: sl.eigh_tridiagonal(V, V), ShapeError, "one element less"),
        (lambda: sl.polar(A, side="x"), ArgumentError, "side"),
        (lambda: sl.funm(np.stack([A, A]), jnp.exp), ShapeError, "vmap"),
        (lambda: sl.hadamard(3), ArgumentError, "power of 2"),
        (lambda: sl.qr(A, mode="x"), ArgumentError, "no such mode"),
        (lambda: cg(TALL, V), ShapeError, "square"),
        (lambda: cg("x", V), ArgumentTypeError, "a matrix or a function"),
        (lambda: cg(POS, V, x0=(V,)), ArgumentTypeError, "different structures"),
        (lambda: gmres(POS, V, solve_method="x"), ArgumentError, "no such method"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


# --- iterations

GENERAL, CGENERAL = A + 6 * np.eye(4), C + 8 * np.eye(4)
SOLVERS = [
    (cg, POS),
    (cg, CPOS),
    (gmres, GENERAL),
    (gmres, CGENERAL),
    (bicgstab, GENERAL),
    (bicgstab, CGENERAL),
]


@pytest.mark.parametrize(("solver", "a"), SOLVERS)
def test_iterative_solvers(solver, a):
    b = V.astype(a.dtype)
    want = np.linalg.solve(a, b)
    near(solver(a, b, tol=1e-12)[0], want)
    near(solver(lambda x: a @ x, b, x0=b, tol=1e-12, M=np.diag(1 / np.diag(a)))[0], want)
    near(
        jax.jit(jax.vmap(lambda b: solver(a, b, tol=1e-12)[0]))(np.stack([b, 0 * b])), [want, 0 * b]
    )
    f = jax.jit(lambda a, b: solver(lambda x: a @ x, b, tol=1e-13)[0])
    check_grads(f, (a, b), order=1, rtol=1e-6, atol=1e-6)


def test_iterative_solvers_take_trees_and_stop_when_told():
    tree = {"u": V[:1], "v": V[1:].reshape(3, 1)}

    def product(x):
        y = POS @ jnp.concatenate([x["u"], x["v"].ravel()])
        return {"u": y[:1], "v": y[1:].reshape(3, 1)}

    want = np.linalg.solve(POS, V)
    for solver in (cg, gmres, bicgstab):
        x, _ = solver(product, tree, tol=1e-12)
        near(np.concatenate([x["u"], np.ravel(x["v"])]), want)
    assert not np.allclose(cg(POS, V, maxiter=1)[0], want, atol=1e-6)
    near(gmres(GENERAL, V, restart=2, tol=1e-11)[0], np.linalg.solve(GENERAL, V), 1e-8)
    assert int(gmres(np.full((2, 2), np.nan), np.ones(2))[1]) == -1


def test_square_roots_of_singular_matrices():
    for a in (np.zeros((2, 2)), np.diag([0.0, 4.0]), np.zeros((3, 3)) + np.diag([0, 0, 9.0])):
        np.testing.assert_allclose(sl.sqrtm(a), np.sqrt(a))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_cholesky_reads_one_triangle(lower, dtype):
    a = np.random.default_rng(0).normal(size=(4, 4)).astype(dtype)
    a = a + 1j * a[::-1] if dtype is np.complex128 else a
    a = a @ a.conj().T + 4 * np.eye(4)
    one = np.tril(a) if lower else np.triu(a)
    for name in ("cholesky", "cho_factor"):
        wanted = getattr(scipy.linalg, name)(one, lower=lower)
        found = getattr(sl, name)(one, lower=lower)
        first = (lambda r: r) if name == "cholesky" else (lambda r: r[0])
        side = np.tril if lower else np.triu
        np.testing.assert_allclose(side(first(found)), side(first(wanted)), rtol=1e-4, atol=1e-5)
