"""plait.numpy.linalg against numpy.linalg, by laws of its own, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError, ShapeError
from plait.testing import assert_close, check_grads

la = jnp.linalg
rng = np.random.default_rng(0)
A = rng.normal(size=(4, 4))
C = A + 1j * rng.normal(size=(4, 4))
TALL, MANY = rng.normal(size=(5, 3)), rng.normal(size=(2, 4, 4))
POS, CPOS = A @ A.T + 4 * np.eye(4), C @ C.conj().T + 4 * np.eye(4)
B = rng.normal(size=(4, 2))


@pytest.fixture(autouse=True, scope="module")
def double():
    with override(enable_x64=True):
        yield


# --- values

SAME = """\
det(A) det(C) det(MANY) det(MANY[:,:3,:3]) det(A[:2,:2]) det(A[:1,:1]) det(np.zeros((2,0,0)))
slogdet(A) slogdet(C) slogdet(-MANY) slogdet(np.zeros((4,4))) inv(A) inv(C) inv(MANY) solve(A,B)
solve(C,B) solve(A,B[:,0]) solve(MANY,B) solve(A,MANY) solve(MANY,MANY) solve(MANY,B[:,0])
cholesky(POS) cholesky(CPOS) cholesky(np.stack([POS,2*POS])) svdvals(TALL) svdvals(MANY)
svd(C,compute_uv=False) eigvalsh(POS) eigvalsh(CPOS) eigvals(A) eigvals(C) cond(A) cond(A,1)
cond(A,-1) cond(A,2) cond(A,-2) cond(A,'fro') cond(A,'nuc') cond(A,np.inf) cond(TALL)
cond(MANY,1) cond(MANY) norm(A,2) norm(A,-2) norm(A,'nuc') norm(MANY,'nuc',axis=(0,2))
norm(MANY,2,axis=(2,0),keepdims=True) norm(C,'nuc') matrix_norm(MANY,ord=2)
matrix_norm(MANY,ord='nuc',keepdims=True) matrix_norm(A,ord=-2) matrix_rank(A)
matrix_rank(TALL@TALL.T) matrix_rank(MANY) matrix_rank(POS,hermitian=True)
matrix_rank(np.zeros((3,3))) matrix_rank(B[:,0]) matrix_rank(A,rtol=0.5) pinv(TALL) pinv(C)
pinv(TALL@TALL.T) pinv(POS,hermitian=True) pinv(MANY) pinv(TALL,rcond=0.5) matrix_power(A,3)
matrix_power(A,-2) matrix_power(MANY,0) matrix_power(MANY,-1)
tensorinv(np.eye(6).reshape(2,3,6)+0.1) tensorinv(np.eye(6).reshape(6,2,3)+0.1,ind=1)
tensorsolve(np.eye(6).reshape(2,3,6)+0.1,np.ones((2,3)))
tensorsolve(np.eye(6).reshape(2,6,3)+0.1,np.ones(6),axes=(0,2)) qr(TALL,mode='r')
qr(TALL,mode='reduced') qr(C,mode='complete') qr(TALL.T,mode='reduced') multi_dot([A,B,B.T])
outer(B[:,0],B[:,1]) svd(TALL,full_matrices=False) eigh(POS)
""".split()


@pytest.mark.parametrize("text", SAME)
def test_as_in_numpy(text):
    names = {**globals(), "np": np}
    got = eval(f"jnp.linalg.{text}", names)
    want = eval(f"np.linalg.{text}", names)
    several = isinstance(got, tuple)
    for g, w in zip(got if several else [got], want if several else [want], strict=True):
        assert_close(np.asarray(g), np.asarray(w, np.asarray(g).dtype), rtol=1e-9, atol=1e-9)


def test_results_are_named():
    assert la.eigh(POS)._fields == ("eigenvalues", "eigenvectors") == la.eig(A)._fields
    assert la.svd(A)._fields == ("U", "S", "Vh")
    assert la.qr(A)._fields == ("Q", "R")
    assert la.slogdet(A)._fields == ("sign", "logabsdet")


@pytest.mark.parametrize("x", [A, C, MANY], ids=["real", "complex", "many"])
def test_eigenvectors(x):
    w, v = la.eig(x)
    assert_close(x @ np.asarray(v), np.asarray(v) * np.asarray(w)[..., None, :], atol=1e-10)
    assert_close(np.linalg.norm(v, axis=-2), np.ones(w.shape), atol=1e-12)


@pytest.mark.parametrize("x", [POS, -POS, CPOS - 9 * np.eye(4)], ids=["plus", "minus", "complex"])
def test_svd_of_hermitian_matrices(x):
    u, s, vh = map(np.asarray, la.svd(x, hermitian=True))
    assert_close(s, np.linalg.svd(x, compute_uv=False), atol=1e-10)
    assert_close(u * s @ vh, x, atol=1e-10)
    assert_close(u.conj().T @ u, np.eye(4), atol=1e-12)
    assert_close(la.svd(x, hermitian=True, compute_uv=False), s, atol=1e-12)


def test_which_triangle_is_looked_at():
    low = np.tril(A) + np.tril(A, -1).T
    up = np.triu(A) + np.triu(A, 1).T
    for uplo, x in (("L", low), ("U", up)):
        assert_close(
            la.eigvalsh(A, uplo, symmetrize_input=False), np.linalg.eigvalsh(x), atol=1e-10
        )
    assert_close(la.eigvalsh(A), np.linalg.eigvalsh((A + A.T) / 2), atol=1e-10)
    skewed = POS + np.triu(np.ones((4, 4)), 1)
    assert_close(la.cholesky(skewed, symmetrize_input=False), np.linalg.cholesky(POS), atol=1e-10)
    assert_close(la.cholesky(CPOS, upper=True), np.linalg.cholesky(CPOS).conj().T, atol=1e-10)


def test_qr_raw_is_what_householder_product_takes():
    h, taus = la.qr(TALL, mode="raw")
    q = lax.linalg.householder_product(h.T, taus)
    assert_close(q, np.linalg.qr(TALL)[0], atol=1e-12)
    assert_close(jnp.triu(h.T)[:3], np.linalg.qr(TALL)[1], atol=1e-12)


def test_least_squares():
    b = rng.normal(size=(5, 2))
    for a, y in ((TALL, b), (TALL.T, b[:3]), (TALL[:, [0, 0, 1]], b), (TALL, b[:, 0])):
        x, residuals, rank, s = la.lstsq(a, y)
        want = np.linalg.lstsq(a, y)
        assert_close(x, want[0], atol=1e-9)
        assert int(rank) == want[2]
        assert_close(s, want[3], atol=1e-9)
        size = np.atleast_1d(np.sum((y - a @ want[0]) ** 2, 0))
        assert_close(residuals, size, atol=1e-9)
        assert_close(la.lstsq(a, y, numpy_resid=True)[1], want[1], atol=1e-9)


def test_singular_matrices_give_nan_or_infinity_and_no_error():
    assert not np.isfinite(la.inv(np.zeros((3, 3)))).all()
    assert not np.isfinite(la.solve(np.zeros((3, 3)), np.ones(3))).any()
    assert np.isnan(la.cholesky(-POS)[0, 0])
    assert np.asarray(la.cholesky(-POS))[0, 1] == 0
    assert_close(tuple(la.slogdet(np.zeros((4, 4)))), (np.array(0.0), np.array(-np.inf)))
    assert la.cond(np.zeros((2, 2)), 1) == np.inf
    for function in (la.eigh, la.svd, la.eigvals):
        leaves = jax.tree.leaves(function(np.full((3, 3), np.nan)))
        assert all(np.isnan(x).all() for x in leaves)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_no_matrices_and_matrices_of_nothing(shape):
    x = np.zeros(shape)
    batch, n = shape[:-2], shape[-1]
    assert_close(la.det(x), np.ones(batch))
    assert la.inv(x).shape == la.cholesky(x).shape == la.pinv(x).shape == shape
    assert la.solve(x, x).shape == shape
    assert [y.shape for y in la.eigh(x)] == [y.shape for y in la.eig(x)] == [(*batch, n), shape]
    assert [y.shape for y in la.svd(x)] == [shape, (*batch, n), shape]
    assert [y.shape for y in la.qr(x)] == [shape, shape]


def test_factors_of_matrices_without_columns():
    q, r = la.qr(np.zeros((3, 0)), mode="complete")
    assert_close(q, np.eye(3))
    assert r.shape == (3, 0)
    u, s, vh = la.svd(np.zeros((0, 2)))
    assert (u.shape, s.shape) == ((0, 0), (0,))
    assert_close(vh, np.eye(2))


def test_dtypes():
    with override(enable_x64=False):
        assert la.inv(np.eye(2, dtype=int)).dtype == jnp.float32
        assert (
            la.solve(np.eye(2, dtype=np.float32), np.ones(2, np.complex64)).dtype == jnp.complex64
        )
        assert la.eigvals(np.eye(2)).dtype == jnp.complex64
        assert la.svdvals(np.eye(2, dtype=np.complex64)).dtype == jnp.float32
        assert la.matrix_rank(np.eye(2)).dtype == jnp.int32
        half = np.eye(2, dtype=np.float16)
        assert la.det(half).dtype == la.slogdet(half)[0].dtype == jnp.float16
        for function in (la.inv, la.svd, la.eigh, la.qr, la.cholesky, la.eig):
            with pytest.raises(DtypeError, match="takes complex128, complex64, float32, float64"):
                function(half)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: la.inv(TALL), ShapeError, "must be square"),
        (lambda: la.svd(B[:, 0]), ShapeError, "at least two axes"),
        (lambda: la.solve(A, B[:3]), ShapeError, "as many rows"),
        (lambda: la.solve(MANY, B.T), ShapeError, "columns of a matrix"),
        (lambda: la.eigh(A, "X"), ArgumentError, "UPLO"),
        (lambda: la.qr(A, "x"), ArgumentError, "no such mode"),
        (lambda: la.slogdet(A, method="x"), ArgumentError, "no such method"),
        (lambda: la.pinv(A, 0.1, rcond=0.1), ArgumentError, "not both"),
        (lambda: la.matrix_rank(A, 0.1, tol=0.1), ArgumentError, "not both"),
        (lambda: la.norm(A, 3), ArgumentError, "no such norm"),
        (lambda: la.cond(TALL, 1), ShapeError, "must be square"),
        (lambda: la.lstsq(A, B[:3]), ShapeError, "as many rows"),
        (lambda: la.tensorinv(A, ind=0), ArgumentError, "at least 1"),
        (lambda: la.outer(A, A), ShapeError, "takes vectors"),
        (lambda: jax.jit(jnp.roots)(B[:, 0]), ConcretizationTypeError, "strip_zeros=False"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


# --- derivatives, to second order in both modes

SMOOTH = {
    "solve": lambda a: la.solve(a, B),
    "inv": la.inv,
    "det": la.det,
    "det of three rows": lambda a: la.det(a[:3, :3]),
    "slogdet": lambda a: la.slogdet(a)[1],
    "slogdet by qr": lambda a: la.slogdet(a, method="qr")[1],
    "cholesky": lambda a: la.cholesky(a @ jnp.conj(a.T) + 4 * np.eye(4)),
    "pinv": lambda a: la.pinv(a[:, :3]),
    "lstsq": lambda a: la.lstsq(a[:, :3], B)[0],
    "svdvals": la.svdvals,
    "nuclear norm": lambda a: la.norm(a, "nuc"),
    "eigvalsh": la.eigvalsh,
    "projections of eigh": lambda a: _project(*la.eigh(a)[::-1]),
    "projections of svd": lambda a: (lambda u, s, vh: _project(u, s) @ _project(vh.T, s))(
        *la.svd(a)
    ),
    "eigvals": lambda a: jnp.abs(la.eigvals(a)) ** 2,
    "qr": lambda a: (lambda q, r: jnp.abs(r) ** 2 + jnp.abs(q) ** 2)(*la.qr(a)),
    "matrix_power": lambda a: la.matrix_power(a, -2),
}


def _project(v, w):
    """Weights of eigenvectors: independent of their signs and phases."""
    return (v * jnp.sin(w)) @ jnp.conj(v.T)


# The laws check second derivatives of the ops; here of what is made of them in a way of its own.
TWICE = ("solve", "det", "slogdet", "eigvals")
COMPLEX = ("slogdet", "cholesky", "pinv", "projections of eigh", "projections of svd", "qr")


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    f = jax.jit(SMOOTH[name])
    check_grads(f, (A,), order=1, rtol=1e-5, atol=1e-5)
    if name in TWICE:
        check_grads(f, (A,), order=2, modes=("rev",), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", COMPLEX)
def test_derivatives_of_complex_matrices(name):
    check_grads(jax.jit(SMOOTH[name]), (C,), order=1, rtol=1e-5, atol=1e-5)


def test_the_derivative_of_a_determinant_is_the_adjugate_whatever_the_rank():
    def minors(a):
        n = len(a)
        rest = lambda k: [i for i in range(n) if i != k]
        det = lambda i, j: np.linalg.det(a[np.ix_(rest(i), rest(j))])
        return np.array([[(-1) ** (i + j) * det(i, j) for j in range(n)] for i in range(n)])

    one_less = A.copy()
    one_less[3] = one_less[0] + one_less[1]
    for a in (A, one_less, np.diag([0.0, 1, 2, 3]), np.diag([1.0, 0, 0, 3]), np.zeros((4, 4))):
        assert_close(jax.grad(la.det)(a), minors(a), atol=1e-10)


def test_equal_eigenvalues_have_no_derivative_that_is_nan():
    a = np.eye(3)
    total = lambda a: (
        jnp.sum(la.eigh(a)[0] * jnp.arange(3.0)) + jnp.sum(_project(*la.eigh(a)[::-1]))
    )
    assert np.isfinite(jax.grad(total)(a)).all()
    assert np.isfinite(jax.grad(lambda a: jnp.sum(la.svd(a)[0]))(a)).all()


def test_eig_has_derivatives_on_request():
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs"):
        jax.grad(lambda a: jnp.abs(la.eig(a)[1]).sum())(A)

    def vectors(a):
        return lax.linalg.eig(a, enable_eigvec_derivs=True)[1:]

    check_grads(jax.jit(vectors), (C,), order=1, rtol=1e-5, atol=1e-5)


# --- transformations

MAPPED = {
    "solve": lambda a: la.solve(a, B),
    "det": la.det,
    "cholesky": lambda a: la.cholesky(a @ a.T + np.eye(4)),
    "qr": lambda a: tuple(la.qr(a)),
    "svd": lambda a: la.svd(a)[1],
    "eigh": lambda a: tuple(la.eigh(a)),
    "eigvals": la.eigvals,
    "lstsq": lambda a: la.lstsq(a[:, :2], B)[0],
}


@pytest.mark.parametrize("name", MAPPED)
def test_mapped_is_a_loop(name):
    f = MAPPED[name]
    each = [f(a) for a in MANY]
    want = jax.tree.map(lambda *xs: np.stack(xs), *each)
    for mapped in (jax.vmap(f), jax.pmap(f), jax.jit(jax.vmap(f)), jax.vmap(jax.jit(f))):
        assert_close(mapped(MANY), want, rtol=1e-10, atol=1e-10)


def test_gradients_in_a_pmap_of_either_form():
    loss = lambda a: jnp.sum(la.solve(a, B) ** 2) + la.slogdet(a)[1]
    want = np.stack([jax.grad(loss)(a) for a in MANY])
    step = lambda a: lax.pmean(jax.grad(loss)(a), "i")
    mean = np.broadcast_to(want.mean(0), want.shape)
    for form in ("fused", "gang"):
        with override(pmap_form=form):
            assert_close(jax.pmap(step, axis_name="i")(MANY), mean, rtol=1e-9)


def test_one_matrix_is_factorised_once_for_many_right_sides():
    many = np.stack([B, 2 * B, 3 * B])
    text = jax.jit(jax.vmap(lambda b: la.solve(A, b))).lower(many).as_text()
    assert "tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xi32>, tensor<i32>)" in text
    assert_close(la.solve(A, many), np.linalg.solve(A, many), atol=1e-12)


# --- polynomials


def test_roots():
    for p in ([1.0, -3, 2], [0.0, 0, 2, 1, 5, 0, 0], [3.0], [0.0, 0.0], [1.0, 2j, 3], [2, 4]):
        got = np.sort_complex(np.asarray(jnp.roots(jnp.asarray(p))))
        assert_close(got, np.sort_complex(np.roots(p).astype(complex)), atol=1e-7)
    got = jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(np.array([0.0, 1, -3, 2, 0]))
    assert_close(np.sort_complex(got[:3]), np.array([0, 1, 2 + 0j]), atol=1e-12)
    assert np.isnan(got[3])


def test_poly_of_a_matrix():
    assert_close(jnp.poly(A), np.poly(A).astype(complex), atol=1e-10)


def test_polyfit():
    x = np.linspace(-1, 2, 9)
    y = np.cos(x) + 0.1 * rng.normal(size=9)
    assert_close(jnp.polyfit(x, y, 3), np.polyfit(x, y, 3), atol=1e-9)
    assert_close(jnp.polyfit(x, y, 2, w=1 + x**2), np.polyfit(x, y, 2, w=1 + x**2), atol=1e-9)
    both = np.stack([y, -y], 1)
    assert_close(jnp.polyfit(x, both, 2), np.polyfit(x, both, 2), atol=1e-9)
    for cov in (True, "unscaled"):
        assert_close(jnp.polyfit(x, y, 2, cov=cov), tuple(np.polyfit(x, y, 2, cov=cov)), atol=1e-9)
    got, want = jnp.polyfit(x, y, 2, full=True), np.polyfit(x, y, 2, full=True)
    assert_close([np.asarray(v) for v in got], [np.asarray(v) for v in want], atol=1e-9)
    with pytest.raises(ArgumentError, match="deg >= 0"):
        jnp.polyfit(x, y, -1)
    with pytest.raises(ShapeError):
        jnp.polyfit(x, y[:3], 1)


@pytest.mark.parametrize("shape", [(300, 2), (2, 300)])
def test_derivatives_of_long_matrices_need_no_square_of_the_longer_side(shape):
    def loss(a):
        return jnp.sum(la.pinv(a) ** 2) + jnp.sum(la.lstsq(a, jnp.ones(shape[0]))[0])

    text = str(jax.make_jaxpr(jax.grad(loss))(np.ones(shape, np.float32)))
    assert "[2,300]" in text and "[300,300]" not in text
