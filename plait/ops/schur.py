"""schur and hessenberg: matrices as Q T Qᴴ with T triangular, or nearly so."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, MissingRuleError
from plait.ops import lapack
from plait.ops.householder import apply_reflection, reflection
from plait.ops.matrix import check_matrices, of_each_matrix


def no_derivative(op: str, fix: str) -> MissingRuleError:
    """The error of reductions that are steps on the way to what has derivatives."""
    return MissingRuleError("has no derivative", op=op, fix=fix)


class Schur(Primitive):
    """x = Q T Qᴴ, Q unitary, T upper triangular (T; then Q if asked for). A real T has blocks of
    two rows on its diagonal, with equal diagonal elements, for pairs of complex eigenvalues. NaN
    where the algorithm fails.
    """

    name = "schur"
    multiple_results = True

    def type(self, x, *, vectors):
        check_matrices(square=True, x=x)
        return (x.strong(),) * (1 + vectors)

    def numpy(self, x, *, vectors):
        outs = self.type(type_of(x), vectors=vectors)
        return of_each_matrix(lambda a: _schur(a)[: len(outs)], [x], outs, x.shape[:-2])

    def jvp(self, xs, ts, **params):
        raise no_derivative(self.name, "eigh, eig, svd, expm and sqrtm have derivatives")

    def batch(self, frame, xs, mapped, **params):
        ys = self.bind(xs[0], **params)
        return ys, (True,) * len(ys)

    def lower(self, b, x, *, vectors):
        if not x.type.size:
            return (x,) * (1 + vectors)
        if b.platform != "cpu":
            raise lapack.no_lowering(self.name, b.platform)
        t = x.type.strong()
        w, count = t.with_shape(x.shape[:-1]), ArrayType(x.shape[:-2], dtypes.int32)
        eigenvalues = [w] if x.dtype in dtypes.COMPLEX else [w, w]
        config = {"mode": lapack.letter("V" if vectors else "N"), "sort": lapack.letter("N")}
        results = [t, t, *eigenvalues, count, count]
        y, q, *_, info = lapack.lapack(b, "gees", [x], results, aliases={0: 0}, config=config)
        return lapack.nan_unless(b, lapack.succeeded(b, info), *(y, q)[: 1 + vectors])

    def samples(self):
        # T and Q are unique up to the signs (phases) of the columns of Q. Of two real ones LAPACK
        # makes a rotation, with a positive diagonal for matrices like these.
        yield (np.array([[4.0, 1.0], [2.0, 3.0]]),), {"vectors": True}
        yield (complex_(2, 1, 1),), {"vectors": False}
        yield (np.zeros((2, 0, 0)),), {"vectors": True}


schur_p = register(Schur())


def _schur(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T and Q for distinct eigenvalues, in the order in which LAPACK finds them: the columns of Q
    span the spaces of the first eigenvectors. Its diagonal is not negative; of a real one the last
    element may be, so that its determinant is 1.
    """
    w: Any
    v: Any
    w, v = np.linalg.eig(a)
    if a.dtype not in dtypes.COMPLEX:
        # A pair of complex vectors spans what its real and imaginary part do.
        second = np.concatenate([[False], w.imag[1:] < 0])
        v = np.where(second, v.imag, v.real)
    q, _ = np.linalg.qr(v)
    diagonal = np.diagonal(q)
    q = q * np.where(np.abs(diagonal) > 0, diagonal.conj() / np.abs(diagonal), 1)
    if a.dtype not in dtypes.COMPLEX:
        q[:, -1:] *= np.sign(np.linalg.det(q))
        for k in np.nonzero(w.imag > 0)[0]:
            (p, r), (s, t) = q[:, k : k + 2].T @ a @ q[:, k : k + 2]
            angle = np.arctan2(t - p, r + s) / 2
            turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            q[:, k : k + 2] = q[:, k : k + 2] @ np.asarray(turn)
    t = q.conj().T @ a @ q
    below = np.tri(len(a), k=-1, dtype=bool)
    if a.dtype not in dtypes.COMPLEX:
        pairs = np.nonzero(w.imag > 0)[0]
        below[pairs + 1, pairs] = False
    return np.where(below, 0, t), q


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Any, ...]:
    """(t, q): square matrices as Q T Qᴴ, Q unitary, T upper triangular; t alone, in a tuple, if
    compute_schur_vectors is false. On CPU only.

    For real x, T is real and has blocks of two rows on its diagonal for pairs of complex
    eigenvalues. Shapes: x [..., n, n] -> [..., n, n] both. NaN where the algorithm fails.
    Derivative: none. Raises: ShapeError, DtypeError; ArgumentError for sorted eigenvalues.

    >>> x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> t, q = lax.linalg.schur(x)
    >>> jnp.abs(t[1, 0]).round(3), jnp.allclose(q @ t @ q.T, x, atol=1e-5)
    (Array(0., dtype=float32), Array(True, dtype=bool))
    """
    if sort_eig_vals or select_callable is not None:
        raise ArgumentError(
            "eigenvalues are not sorted", op="schur", fix="leave sort_eig_vals=False"
        )
    return schur_p.bind(x, vectors=bool(compute_schur_vectors))


class Hessenberg(Primitive):
    """x = Q H Qᴴ with zeros in H below the diagonal next to the main one. H is where it is not
    zero; below are the vectors of the reflections whose product is Q (the first of them from row 1
    on); a second result has their factors tau.
    """

    name = "hessenberg"
    multiple_results = True

    def type(self, x):
        check_matrices(square=True, x=x)
        return x.strong(), x.strong().with_shape((*x.shape[:-2], max(x.shape[-1] - 1, 0)))

    def numpy(self, x):
        def one(a):
            a, taus = a.copy(), []
            for i in range(len(a) - 1):
                v, tau, beta = reflection(a[i + 1 :, i])
                rest = a[:, i + 1 :].conj().T
                a[:, i + 1 :] = apply_reflection(v, tau.conj(), rest).conj().T
                a[i + 1 :, i + 1 :] = apply_reflection(v, tau.conj(), a[i + 1 :, i + 1 :])
                a[i + 1, i], a[i + 2 :, i] = beta, v[1:]
                taus.append(tau)
            return a, taus

        return of_each_matrix(one, [x], self.type(type_of(x)), x.shape[:-2])

    def jvp(self, xs, ts):
        raise no_derivative(self.name, "eig and expm have derivatives")

    def batch(self, frame, xs, mapped):
        return self.bind(xs[0]), (True, True)

    def lower(self, b, x):
        packed, taus = b.result_types
        if not x.type.size:
            return x, b.full(taus.shape, 0, taus.dtype)
        if b.platform != "cpu":
            raise lapack.no_lowering(self.name, b.platform)
        results = [packed, taus, ArrayType(x.shape[:-2], dtypes.int32)]
        config = {"low": "1 : i32", "high": f"{x.shape[-1]} : i32"}
        y, z, info = lapack.lapack(b, "gehrd", [x], results, aliases={0: 0}, config=config)
        return lapack.nan_unless(b, lapack.succeeded(b, info), y, z)

    def samples(self):
        yield (real(2, 3, 3),), {}
        yield (complex_(3, 3),), {}
        yield (real(1, 1),), {}
        yield (np.zeros((2, 0, 0)),), {}


hessenberg_p = register(Hessenberg())


def hessenberg(a: Any) -> tuple[Any, Any]:
    """(h, taus): square matrices as Q H Qᴴ with zeros below the first diagonal under the main one.

    H is the part of h that may not be zero. Below it are the vectors of Householder reflections,
    which with taus give Q: householder_product(h[..., 1:, :-1], taus) is Q without its first row
    and column, (1, 0, ..., 0). On CPU only.
    Shapes: a [..., n, n] -> [..., n, n], [..., n - 1]. Derivative: none. Raises: ShapeError,
    DtypeError.

    >>> a = jnp.arange(9.0).reshape(3, 3)
    >>> h, taus = lax.linalg.hessenberg(a)
    >>> q = lax.linalg.householder_product(h[1:, :-1], taus)
    >>> h.shape, taus.shape, jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-5)
    ((3, 3), (2,), Array(True, dtype=bool))
    """
    return hessenberg_p.bind(a)


__all__ = ["hessenberg", "hessenberg_p", "no_derivative", "schur", "schur_p"]
