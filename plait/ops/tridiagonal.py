"""tridiagonal: Hermitian matrices reduced to three diagonals; and equations of such matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError
from plait.ops import lapack
from plait.ops.arithmetic import mul, neg, sub
from plait.ops.axes import move_axis, reshape
from plait.ops.householder import apply_reflection, reflection
from plait.ops.matrix import (
    check_matrices,
    of_each_matrix,
    over_rows,
)
from plait.ops.schur import no_derivative
from plait.ops.slices import add_rows, pad, slice_in_dim


class Tridiagonal(Primitive):
    """x = Q T Qᴴ, T real with three diagonals, for Hermitian matrices of which one triangle is
    looked at: (T and the vectors of reflections in this triangle; the diagonal of T; the one beside
    it; the factors tau of the reflections).
    """

    name = "tridiagonal"
    multiple_results = True

    def type(self, x, *, lower):
        check_matrices(square=True, x=x)
        *batch, n = x.shape[:-1]
        beside = (*batch, max(n - 1, 0))
        part = dtypes.real_of(x.dtype)
        d, e = ArrayType((*batch, n), part), ArrayType(beside, part)
        return x.strong(), d, e, ArrayType(beside, x.dtype)

    def numpy(self, x, *, lower):
        def one(a):
            n = len(a)
            full = _hermitian(a if lower else a[::-1, ::-1])
            y, taus = a.copy(), np.zeros(max(n - 1, 0), a.dtype)
            # The upper form is the lower one of the matrix read backwards.
            seen = y if lower else y[::-1, ::-1]
            for i in range(n - 1):
                v, tau, beta = reflection(full[i + 1 :, i])
                full[i + 1 :, i:] = apply_reflection(v, tau.conj(), full[i + 1 :, i:])
                right = apply_reflection(v, tau.conj(), full[i:, i + 1 :].conj().T)
                full[i:, i + 1 :] = right.conj().T
                seen[i + 1, i], seen[i + 2 :, i] = beta.real, v[1:]
                taus[i if lower else n - 2 - i] = tau
            d = np.real(np.diagonal(full))
            seen[np.arange(n), np.arange(n)] = d
            e = np.real(np.diagonal(seen, -1))
            return y, *((d, e) if lower else (d[::-1], e[::-1])), taus

        outs = self.type(type_of(x), lower=lower)
        return of_each_matrix(one, [x], outs, x.shape[:-2])

    def jvp(self, xs, ts, *, lower):
        raise no_derivative(self.name, "eigh has derivatives")

    def batch(self, frame, xs, mapped, *, lower):
        return self.bind(xs[0], lower=lower), (True,) * 4

    def lower(self, b, x, *, lower):
        outs = b.result_types
        if not x.type.size:
            return x, *(b.full(t.shape, 0, t.dtype) for t in outs[1:])
        results = [*outs, ArrayType(x.shape[:-2], dtypes.int32)]
        if b.platform == "cpu":
            config = {"uplo": lapack.letter("L" if lower else "U")}
            *ys, info = lapack.lapack(b, "sytrd", [x], results, aliases={0: 0}, config=config)
        elif b.platform == "gpu":
            config = {"lower": lapack.flag(lower)}
            target = "cusolver_sytrd_ffi"
            *ys, info = lapack.call(b, target, [x], results, aliases={0: 0}, config=config)
        else:
            raise lapack.no_lowering(self.name, b.platform)
        return lapack.nan_unless(b, lapack.succeeded(b, info), *ys)

    def samples(self):
        yield (real(2, 3, 3),), {"lower": True}
        yield (complex_(3, 3),), {"lower": False}
        yield (complex_(1, 1),), {"lower": True}
        yield (np.zeros((2, 0, 0)),), {"lower": True}


tridiagonal_p = register(Tridiagonal())


def _hermitian(a: np.ndarray) -> np.ndarray:
    low = np.tril(a, -1)
    return low + low.conj().T + np.diag(np.real(np.diagonal(a)))


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """(a, d, e, taus): Hermitian matrices as Q T Qᴴ, T real, with diagonal d and e on both sides of
    it. Of a one triangle is looked at.

    That triangle of the first result holds T and, beyond it, the vectors of the Householder
    reflections with the factors taus whose product is Q.
    Shapes: a [..., n, n] -> [..., n, n], [..., n], [..., n - 1], [..., n - 1]. Derivative: none.
    Raises: ShapeError, DtypeError.

    >>> x = jnp.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
    >>> a, d, e, taus = lax.linalg.tridiagonal(x)
    >>> d.sum().round(3), e.shape, taus.shape
    (Array(6., dtype=float32), (2,), (2,))
    """
    return tridiagonal_p.bind(a, lower=bool(lower))


class TridiagonalSolve(Primitive):
    """The x for which T x = b, T having the diagonals dl (its first element is not looked at), d
    and du (its last is not). NaN where T is singular; with `perturb` a pivot of 0 becomes the
    smallest normal number instead.
    """

    name = "tridiagonal_solve"

    def type(self, dl, d, du, b, *, perturb):
        given = {"dl": dl, "d": d, "du": du, "b": b}
        check_matrices(b=b)
        if any(x.dtype != b.dtype for x in (dl, d, du)):
            raise DtypeError("the diagonals and b have different dtypes", **given)
        if not dl.shape == d.shape == du.shape == b.shape[:-1]:
            raise ShapeError("each diagonal needs an element for every row of b", **given)
        return b.strong()

    def numpy(self, dl, d, du, b, *, perturb):
        outs = [ArrayType(b.shape, b.dtype)]
        one = lambda *xs: (_solve(xs, perturb),)  # noqa: E731
        return of_each_matrix(one, [dl, d, du, b], outs, b.shape[:-2])[0]

    # T x = b: dx = T⁻¹ (db - dT x).
    def jvp(self, xs, ts, *, perturb):
        x = self.bind(*xs, perturb=perturb)
        *diagonals, t = ts
        parts = [
            mul(over_rows(t, y), y)
            for t, y in zip(diagonals, (_down(x), x, _up(x)), strict=True)
            if t is not None
        ]
        total = t
        for part in parts:
            total = neg(part) if total is None else sub(total, part)
        return x, self.bind(*xs[:3], total, perturb=perturb)

    def transpose(self, ct, dl, d, du, b, *, perturb):
        lower, upper = _shifted(du, 1), _shifted(dl, -1)
        return None, None, None, self.bind(lower, d, upper, ct, perturb=perturb)

    def batch(self, frame, xs, mapped, *, perturb):
        if not any(mapped[:3]) and type_of(xs[0]).ndim == 1:
            # The same equations for all: the rows are so many more columns of b.
            size, m, k = type_of(xs[3]).shape
            columns = reshape(move_axis(xs[3], 0, 1), (m, size * k))
            x = self.bind(*xs[:3], columns, perturb=perturb)
            return move_axis(reshape(x, (m, size, k)), 1, 0), True
        xs = [add_rows(x, m, frame.size) for x, m in zip(xs, mapped, strict=True)]
        return self.bind(*xs, perturb=perturb), True

    def lower(self, b, dl, d, du, rhs, *, perturb):
        if not rhs.type.size:
            return rhs
        if b.platform != "cpu":
            raise lapack.no_lowering(self.name, b.platform)
        operands, out = [dl, d, du, rhs], rhs.type.strong()
        if perturb:
            return lapack.call(
                b, "tridiagonal_solve_perturbed_ffi", operands, [out], batch=rhs.ndim - 2
            )[0]
        info = ArrayType(rhs.shape[:-2], dtypes.int32)
        results = [*(x.type.strong() for x in operands), info]
        *_, y, info = lapack.lapack(
            b, "gtsv", operands, results, aliases={k: k for k in range(4)}, batch=rhs.ndim - 2
        )
        return lapack.nan_unless(b, lapack.succeeded(b, info), y)[0]

    def samples(self):
        d = real(2, 3) + 4
        yield (real(2, 3), d, real(2, 3)[::-1], real(2, 3, 2)), {"perturb": False}
        yield (complex_(2), complex_(2) + 3, complex_(2), complex_(2, 1)), {"perturb": False}
        singular = np.array([[0.0, 0.0], [0.0, 1.0]])
        yield (*([singular] * 3), real(2, 2, 1)), {"perturb": False}
        yield (real(3), real(3), real(3), real(3, 1)), {"perturb": True}
        yield (real(0), real(0), real(0), real(0, 2)), {"perturb": False}


tridiagonal_solve_p = register(TridiagonalSolve())


def _solve(operands: Sequence[Any], perturb: bool) -> np.ndarray:
    dl, d, du, b = operands
    n, x = len(d), b.copy()
    a = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    for k in range(n - 1):
        if np.abs(a[k + 1, k]) > np.abs(a[k, k]):
            a[[k, k + 1]], x[[k, k + 1]] = a[[k + 1, k]], x[[k + 1, k]]
        if a[k, k] != 0:
            factor = a[k + 1, k] / a[k, k]
            a[k + 1] -= factor * a[k]
            x[k + 1] -= factor * x[k]
    pivots = np.diagonal(a).copy()
    if perturb:
        info = np.finfo(a.dtype)
        least = max(info.eps * np.max(np.abs(np.triu(a))), info.tiny)
        pivots = np.where(
            np.abs(pivots) < least, np.where(np.real(pivots) < 0, -least, least), pivots
        )
    elif not pivots.all():
        raise np.linalg.LinAlgError
    for k in reversed(range(n)):
        x[k] = (x[k] - a[k, k + 1 :] @ x[k + 1 :]) / pivots[k]
    return x


def _down(x: Any) -> Any:
    """Rows moved down by one; row 0 is 0."""
    return _moved(x, 1, type_of(x).ndim - 2)


def _up(x: Any) -> Any:
    """Rows moved up by one; the last one is 0."""
    return _moved(x, -1, type_of(x).ndim - 2)


def _shifted(x: Any, by: int) -> Any:
    """Elements moved along the last axis, zeros where none comes."""
    return _moved(x, by, type_of(x).ndim - 1)


def _moved(x: Any, by: int, axis: int) -> Any:
    t = type_of(x)
    n = t.shape[axis]
    if not n:
        return x
    kept = slice_in_dim(x, max(-by, 0), n - max(by, 0), axis=axis)
    config = [(0, 0, 0)] * t.ndim
    config[axis] = (max(by, 0), max(-by, 0), 0)
    return pad(kept, np.zeros((), t.dtype), config)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """The x for which T x = b, T having three diagonals: dl[i] = T[i, i - 1], d[i] = T[i, i] and
    du[i] = T[i, i + 1]; dl[0] and du[-1] are not looked at. On CPU only.

    NaN where T is singular; with perturb_singular pivots near 0 are moved away from it instead, so
    that x is finite: for eigenvectors by inverse iteration.
    Shapes: dl, d, du [..., n], b [..., n, k] -> [..., n, k]. Derivative: dx = T⁻¹ (db - dT x).
    Raises: ShapeError, DtypeError.

    >>> dl, d, du = jnp.array([0.0, 1.0]), jnp.array([2.0, 3.0]), jnp.array([1.0, 0.0])
    >>> lax.linalg.tridiagonal_solve(dl, d, du, jnp.array([[4.0], [7.0]])).round(3)
    Array([[1.],
           [2.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb=bool(perturb_singular))


__all__ = ["tridiagonal", "tridiagonal_p", "tridiagonal_solve", "tridiagonal_solve_p"]
