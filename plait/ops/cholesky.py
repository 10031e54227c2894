"""Cholesky: positive definite Hermitian matrices as L Lᴴ."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.ops import lapack
from plait.ops.arithmetic import add, convert_element_type, mul
from plait.ops.matrix import (
    adjoint,
    check_matrices,
    half_triangle,
    hermitian,
    matmul,
    nan_of,
    of_each_matrix,
)
from plait.ops.triangular import triangular_solve


class Cholesky(Primitive):
    """The lower triangular L with positive diagonal of which L Lᴴ is x; only the lower triangles of
    x are looked at. NaN where x is not positive definite.
    """

    name = "cholesky"

    def type(self, x):
        check_matrices(square=True, x=x)
        return x.strong()

    def numpy(self, x):
        def one(a):
            try:
                return (np.linalg.cholesky(a),)
            except np.linalg.LinAlgError:
                return (np.where(np.tri(len(a), dtype=bool), nan_of(x.dtype), 0),)

        return of_each_matrix(one, [x], [ArrayType(x.shape, x.dtype)], x.shape[:-2])[0]

    # x = L Lᴴ, so L⁻¹ dx L⁻ᴴ = L⁻¹ dL + (L⁻¹ dL)ᴴ, a lower triangular matrix and its adjoint. The
    # former is the lower triangle of the sum with half the diagonal.
    def jvp(self, xs, ts):
        y = self.bind(xs[0])
        t = triangular_solve(y, hermitian(ts[0], lower=True), left_side=True, lower=True)
        t = triangular_solve(y, t, lower=True, transpose_a=True, conjugate_a=True)
        return y, matmul(y, half_triangle(t, lower=True))

    def batch(self, frame, xs, mapped):
        return self.bind(xs[0]), True

    def lower(self, b, x):
        if not x.type.size:
            return x
        if b.platform == "tpu":
            y = b.op("cholesky", (x,), ArrayType(x.shape, x.dtype), "lower = true")
            return lapack.triangle(b, y, lower=True)
        results = [x.type.strong(), ArrayType(x.shape[:-2], dtypes.int32)]
        if b.platform == "cpu":
            y, info = lapack.lapack(
                b, "potrf", [x], results, aliases={0: 0}, config={"uplo": lapack.letter("L")}
            )
        else:
            y, info = lapack.call(
                b,
                "cusolver_potrf_ffi",
                [x],
                results,
                aliases={0: 0},
                config={"lower": lapack.flag(True)},
            )
        (y,) = lapack.nan_unless(b, lapack.succeeded(b, info), y)
        return lapack.triangle(b, y, lower=True)

    def samples(self):
        a, c = real(3, 3), complex_(3, 3)
        yield (a @ a.T + 3 * np.eye(3),), {}
        yield (c @ c.conj().T + 3 * np.eye(3),), {}
        yield (np.array([[[2.0, 9.0], [1.0, 2.0]], [[1.0, 0.0], [2.0, 1.0]]]),), {}
        yield (np.zeros((2, 0, 0)),), {}


cholesky_p = register(Cholesky())


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with positive diagonal of which L Lᴴ is x, a positive definite
    Hermitian matrix: x of shape [..., n, n].

    With symmetrize_input it is that of (x + xᴴ) / 2, otherwise the upper triangle of x is not
    looked at. NaN where x is not positive definite. Raises: ShapeError, DtypeError.

    >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    if symmetrize_input:
        x = symmetrized(x)
    return cholesky_p.bind(x)


def symmetrized(x: Any) -> Any:
    """The Hermitian part (x + xᴴ) / 2, of integers as floats."""
    type_ = type_of(x)
    if type_.ndim < 2 or type_.shape[-1] != type_.shape[-2] or type_.dtype not in dtypes.NUMBER:
        return x  # the op says what is wrong
    if type_.dtype in dtypes.INTEGER:
        wide = type_.dtype.itemsize == 8
        x = convert_element_type(x, dtypes.float64 if wide else dtypes.float32)
    return mul(add(x, adjoint(x)), 0.5)


__all__ = ["cholesky", "cholesky_p", "symmetrized"]
