"""Factorisations of plait.numpy.linalg: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any, NamedTuple

from plait.errors import ArgumentError, PlaitError
from plait.numpy import ufuncs
from plait.numpy.indexing import take_along_axis
from plait.numpy.manipulation import flip, matrix_transpose
from plait.numpy.promotion import to_inexact, value
from plait.numpy.searching import argsort
from plait.ops.cholesky import cholesky as _cholesky
from plait.ops.eigen import eig as _eig
from plait.ops.eigen import eigh as _eigh
from plait.ops.eigen import subset_is_all
from plait.ops.matrix import adjoint, check_matrices, rows, triu
from plait.ops.qr import geqrf
from plait.ops.qr import qr as _qr
from plait.ops.svd import svd as _svd
from plait.transforms.choices import PerChoice


class EigResult(NamedTuple):
    """Eigenvalues [..., n] and eigenvectors [..., n, n], in columns, of general matrices.

    >>> result = jnp.linalg.eig(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> jnp.sort(result.eigenvalues.real).round(3), result.eigenvectors.dtype
    (Array([2., 3.], dtype=float32), dtype('complex64'))
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues [..., n], ascending, and eigenvectors [..., n, n], in columns, of Hermitian
    matrices.

    >>> w, v = jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w.round(3), jnp.abs(v).round(3)
    (Array([1., 3.], dtype=float32), Array([[0.707, 0.707],
           [0.707, 0.707]], dtype=float32))
    """

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Unitary Q and upper triangular R; with mode "raw" what LAPACK keeps of them.

    >>> q, r = jnp.linalg.qr(jnp.ones((3, 2)))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Unitary U, singular values S [..., k], descending, and unitary Vh.

    >>> u, s, vh = jnp.linalg.svd(jnp.ones((3, 2)))
    >>> u.shape, s.shape, vh.shape
    ((3, 3), (2,), (2, 2))
    """

    U: Any
    S: Any
    Vh: Any


def matrices(op: str, x: Any, position: int = 0, *, square: bool = False) -> Any:
    """An operand as an array of matrices in a dtype that LAPACK computes in. Raises ShapeError,
    DtypeError.
    """
    x = value(op, to_inexact(op, x), position)
    name = "a" if not position else "b"
    try:
        check_matrices(square=square, **{name: x.type})
    except PlaitError as error:
        error.op = op
        raise
    return x


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The triangular L of which a = L Lᴴ, with `upper` Lᴴ: a [..., n, n], Hermitian and positive
    definite.

    With symmetrize_input it is that of (a + aᴴ) / 2, otherwise the lower triangle of a is looked
    at. NaN where a is not positive definite. Raises: ShapeError, DtypeError.

    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    a = matrices("cholesky", a, square=True)
    return _factor(a, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@PerChoice
def _factor(a: Any, *, upper: bool, symmetrize_input: bool) -> Any:
    y = _cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(y) if upper else y


def qr(a: Any, mode: str = "reduced") -> Any:
    """Unitary Q and upper triangular R of which a = Q R, as a named pair: a [..., m, n].

    mode: "reduced" (or "full"), Q [..., m, k] and R [..., k, n] with k = min(m, n); "complete", Q
    [..., m, m] and R [..., m, n]; "r", R alone; "raw", the transposed array of R and of the vectors
    of Householder reflections, and their factors: see lax.linalg.householder_product.
    Raises: ShapeError, DtypeError, ArgumentError for other modes.

    >>> a = jnp.array([[3.0, 0.0], [4.0, 5.0]])
    >>> q, r = jnp.linalg.qr(a)
    >>> jnp.abs(r).round(3), jnp.allclose(q @ r, a, atol=1e-5)
    (Array([[5., 4.],
           [0., 3.]], dtype=float32), Array(True, dtype=bool))
    """
    a = matrices("qr", a)
    if mode not in ("reduced", "full", "complete", "r", "raw"):
        fix = '"reduced", "complete", "r" or "raw"'
        raise ArgumentError("there is no such mode", op="qr", mode=mode, fix=fix)
    result = _qr_in_mode(a, mode="reduced" if mode == "full" else mode)
    return result if mode == "r" else QRResult(*result)


@PerChoice
def _qr_in_mode(a: Any, *, mode: str) -> Any:
    if mode == "r":
        packed, _ = geqrf(a)
        return triu(rows(packed, 0, min(a.shape[-2:])))
    if mode == "raw":
        packed, taus = geqrf(a)
        return matrix_transpose(packed), taus
    return _qr(a, full_matrices=mode == "complete")


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Unitary U, singular values S and unitary Vh, a = U diag(S) Vh, as a named triple; S alone
    without compute_uv: a [..., m, n], S [..., k] descending, k = min(m, n).

    U is [..., m, m] and Vh [..., n, n]; without full_matrices [..., m, k] and [..., k, n].
    hermitian says that a is, and is computed by eigenvalues. Raises: ShapeError, DtypeError.

    >>> a = jnp.array([[0.0, 3.0], [2.0, 0.0]])
    >>> u, s, vh = jnp.linalg.svd(a)
    >>> s.round(3), jnp.allclose((u * s) @ vh, a, atol=1e-5)
    (Array([3., 2.], dtype=float32), Array(True, dtype=bool))
    """
    a = matrices("svd", a, square=hermitian)
    subset_is_all("svd", subset_by_index, (min(a.shape[-2:]),))
    if hermitian:
        result = _hermitian_svd(a, compute_uv=bool(compute_uv))
    else:
        result = _general_svd(a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv))
    return SVDResult(*result) if compute_uv else result


@PerChoice
def _general_svd(a: Any, *, full_matrices: bool, compute_uv: bool) -> Any:
    return _svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@PerChoice
def _hermitian_svd(a: Any, *, compute_uv: bool) -> Any:
    v, w = _eigh(a)
    s = ufuncs.abs(w)
    order = flip(argsort(s), -1)
    s = take_along_axis(s, order, -1)
    if not compute_uv:
        return s
    columns = order[..., None, :]
    u = take_along_axis(v, columns, -1)
    signs = take_along_axis(ufuncs.where(w < 0, -1, 1), order, -1)[..., None, :]
    return u, s, adjoint(u * signs.astype(a.dtype))


def svdvals(x: Any, /) -> Any:
    """The singular values, descending: x [..., m, n] -> [..., min(m, n)].

    Raises: ShapeError, DtypeError.

    >>> jnp.linalg.svdvals(jnp.array([[0.0, 3.0], [2.0, 0.0]])).round(3)
    Array([3., 2.], dtype=float32)
    """
    return _general_svd(matrices("svdvals", x), full_matrices=False, compute_uv=False)


def eig(a: Any) -> EigResult:
    """Eigenvalues w and eigenvectors v, a v = w v, as a named pair; complex, and on CPU only.

    Shapes: a [..., n, n] -> [..., n], [..., n, n], the vectors in columns of length 1. Derivative:
    none, since the vectors have none for some matrices: see eigvals, and lax.linalg.eig.
    Raises: ShapeError, DtypeError.

    >>> a = jnp.array([[0.0, 2.0], [-2.0, 0.0]])
    >>> w, v = jnp.linalg.eig(a)
    >>> jnp.sort(w.imag).round(3), jnp.allclose(a @ v, v * w, atol=1e-5)
    (Array([-2.,  2.], dtype=float32), Array(True, dtype=bool))
    """
    w, v = _eig_of(matrices("eig", a, square=True), vectors=True)
    return EigResult(w, v)


def eigvals(a: Any) -> Any:
    """The eigenvalues, complex, and on CPU only: a [..., n, n] -> [..., n].

    Derivative: where the eigenvalues differ. Raises: ShapeError, DtypeError.

    >>> jnp.sort(jnp.linalg.eigvals(jnp.array([[0.0, 2.0], [-2.0, 0.0]])).imag).round(3)
    Array([-2.,  2.], dtype=float32)
    """
    return _eig_of(matrices("eigvals", a, square=True), vectors=False)[0]


@PerChoice
def _eig_of(a: Any, *, vectors: bool) -> Any:
    return _eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=vectors)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices, as a named pair.

    With symmetrize_input they are those of (a + aᴴ) / 2, otherwise the triangle UPLO, "L" or "U",
    of a is looked at. Shapes: a [..., n, n] -> [..., n], [..., n, n], the vectors in columns.
    Derivative: of the eigenvalues always, of the vectors where eigenvalues differ.
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> a = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> w, v = jnp.linalg.eigh(a)
    >>> w.round(3), ((v * w) @ v.T).round(3)
    (Array([1., 3.], dtype=float32), Array([[2., 1.],
           [1., 2.]], dtype=float32))
    """
    return EighResult(*_eigh_of("eigh", a, UPLO, symmetrize_input))


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of Hermitian matrices, ascending: a [..., n, n] -> [..., n], real. See eigh.

    Raises: ShapeError, DtypeError, ArgumentError for another UPLO than "L" or "U".

    >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 1j], [-1j, 2.0]])).round(3)
    Array([1., 3.], dtype=float32)
    """
    return _eigh_of("eigvalsh", a, UPLO, symmetrize_input)[0]


def _eigh_of(op: str, a: Any, uplo: str | None, symmetrize_input: bool) -> tuple[Any, Any]:
    a = matrices(op, a, square=True)
    if uplo not in (None, "L", "U"):
        raise ArgumentError('UPLO is "L" or "U"', op=op, UPLO=uplo)
    return _eigh_pair(a, lower=uplo != "U", symmetrize_input=bool(symmetrize_input))


@PerChoice
def _eigh_pair(a: Any, *, lower: bool, symmetrize_input: bool) -> Any:
    v, w = _eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return w, v


__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "matrices",
    "qr",
    "svd",
    "svdvals",
]
