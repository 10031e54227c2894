"""triangular_solve: equations with triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import COMPLEX, INEXACT
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import type_of
from plait.errors import DtypeError, ShapeError
from plait.ops import lapack
from plait.ops.arithmetic import neg, sub
from plait.ops.axes import expand_dims, move_axis, reshape
from plait.ops.matrix import (
    adjoint,
    check_matrices,
    conj,
    matmul,
    strict_tril,
    strict_triu,
    swap,
    tril,
    triu,
)
from plait.ops.slices import add_rows

_ACCEPTS = INEXACT & frozenset(
    (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, *COMPLEX)
)


class TriangularSolve(Primitive):
    """The x for which A x = b (left_side) or x A = b, A being a triangle of the matrix a, or what
    becomes of it when it is transposed, conjugated or both. Nothing else of a is looked at; with
    unit_diagonal the diagonal counts as ones.
    """

    name = "triangular_solve"

    def type(self, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        check_matrices(square=True, accepts=_ACCEPTS, a=a)
        check_matrices(accepts=_ACCEPTS, b=b)
        if a.dtype != b.dtype:
            raise DtypeError("a and b have different dtypes", a=a, b=b, fix="convert one of them")
        if a.shape[:-2] != b.shape[:-2]:
            fix = "broadcast one of them, or use vmap"
            raise ShapeError("a and b have different axes before the last two", a=a, b=b, fix=fix)
        if b.shape[-2 if left_side else -1] != a.shape[-1]:
            what = "rows" if left_side else "columns"
            raise ShapeError(f"b must have as many {what} as a", a=a, b=b)
        return b.strong()

    def numpy(self, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        dtype = b.dtype
        if dtype.itemsize == 2:
            a, b = a.astype(np.float32), b.astype(np.float32)
        a = np.conj(a) if conjugate_a else a
        if transpose_a != (not left_side):
            a, lower = np.swapaxes(a, -1, -2), not lower
        x = b.copy() if left_side else np.swapaxes(b, -1, -2).copy()
        n = a.shape[-1]
        with np.errstate(all="ignore"):
            for i in range(n) if lower else reversed(range(n)):
                done = slice(0, i) if lower else slice(i + 1, n)
                row = a[..., i : i + 1, done] @ x[..., done, :]
                x[..., i, :] -= row[..., 0, :]
                if not unit_diagonal:
                    x[..., i, :] /= a[..., i, i, None]
        return (x if left_side else np.swapaxes(x, -1, -2)).astype(dtype)

    # A x = b: dA x + A dx = db, so dx = A⁻¹ (db - dA x), and likewise for x A = b.
    def jvp(self, xs, ts, **params):
        (a, _), (ta, tb) = xs, ts
        y = self.bind(*xs, **params)
        if ta is None:
            return y, self.bind(a, tb, **params)
        ta = _matrix(ta, **params)
        t = matmul(ta, y) if params["left_side"] else matmul(y, ta)
        return y, self.bind(a, neg(t) if tb is None else sub(tb, t), **params)

    def transpose(self, ct, a, b, *, transpose_a, **params):
        return None, self.bind(a, ct, transpose_a=not transpose_a, **params)

    def batch(self, frame, xs, mapped, *, left_side, **params):
        a, b = xs
        if not mapped[0] and type_of(a).ndim == 2:
            # One matrix for all: the rows are so many more columns of b (or rows, on the right).
            size, *shape = type_of(b).shape
            b = move_axis(b, 0, 1) if left_side else b
            flat = (shape[0], size * shape[1]) if left_side else (size * shape[0], shape[1])
            y = self.bind(a, reshape(b, flat), left_side=left_side, **params)
            if left_side:
                return move_axis(reshape(y, (shape[0], size, shape[1])), 1, 0), True
            return reshape(y, (size, *shape)), True
        xs = [add_rows(x, m, frame.size) for x, m in zip(xs, mapped, strict=True)]
        return self.bind(*xs, left_side=left_side, **params), True

    def lower(self, b, a, rhs, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        if not rhs.type.size:
            return rhs
        if conjugate_a and not transpose_a:
            a, conjugate_a = lapack.conjugate(b, a), False
        if b.platform == "cpu" and a.dtype.itemsize > 2:
            how = ("T" if not conjugate_a else "C") if transpose_a else "N"
            (y,) = lapack.lapack(
                b,
                "trsm",
                [a, rhs],
                [rhs.type.strong()],
                aliases={1: 0},
                config={
                    "diag": lapack.letter("U" if unit_diagonal else "N"),
                    "side": lapack.letter("L" if left_side else "R"),
                    "trans_x": lapack.letter(how),
                    "uplo": lapack.letter("L" if lower else "U"),
                },
            )
            return y
        how = ("TRANSPOSE" if not conjugate_a else "ADJOINT") if transpose_a else "NO_TRANSPOSE"
        return b.op(
            "triangular_solve",
            (a, rhs),
            rhs.type.strong(),
            f"left_side = {lapack.flag(left_side)}, lower = {lapack.flag(lower)}, "
            f"unit_diagonal = {lapack.flag(unit_diagonal)}, "
            f"transpose_a = #stablehlo<transpose {how}>",
        )

    def samples(self):
        a, c = real(3, 3) + 3 * np.eye(3), complex_(2, 2) + 3 * np.eye(2)
        plain = {"left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False}
        plain["unit_diagonal"] = False
        many = np.stack([a, a.T[::-1, ::-1]])
        yield (many, real(2, 3, 2)), {**plain, "transpose_a": True}
        yield (a, real(2, 3)), {**plain, "left_side": False, "unit_diagonal": True}
        adjoint = {"left_side": False, "lower": False, "transpose_a": True, "conjugate_a": True}
        yield (c, complex_(1, 2)), {**plain, **adjoint}
        yield (real(0, 0), real(0, 2)), plain


triangular_solve_p = register(TriangularSolve())


def _matrix(a: Any, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal) -> Any:
    """The matrix of the equation: a triangle, maybe transposed; without the diagonal if that is
    not a's.
    """
    if unit_diagonal:
        a = strict_tril(a) if lower else strict_triu(a)
    else:
        a = tril(a) if lower else triu(a)
    if transpose_a:
        return adjoint(a) if conjugate_a else swap(a)
    return conj(a) if conjugate_a else a


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The x for which A x = b (left_side) or x A = b, A being a triangle of a square matrix a.

    Only the lower, or else the upper, triangle of a is looked at; with unit_diagonal its diagonal
    counts as ones. transpose_a and conjugate_a say that A is the transposed or conjugate triangle.
    Shapes: a [..., n, n], b [..., n, k] (or [..., k, n]), or without the axis of size k.
    Derivative: dx = A⁻¹ (db - dA x). Raises: ShapeError, DtypeError.

    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> lax.linalg.triangular_solve(a, np.ones(2), left_side=True, lower=True)
    Array([0.5  , 0.125], dtype=float32)
    """
    ta, tb = type_of(a), type_of(b)
    vector = tb.ndim == ta.ndim - 1
    if vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    x = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and ta.dtype in COMPLEX,
        unit_diagonal=bool(unit_diagonal),
    )
    return reshape(x, tb.shape) if vector else x


__all__ = ["triangular_solve", "triangular_solve_p"]
