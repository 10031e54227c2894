"""Norms of vectors and matrices, and what singular values tell: condition numbers and ranks."""

from __future__ import annotations

import math
from typing import Any

from plait.core import dtypes
from plait.errors import ArgumentError, ShapeError
from plait.numpy import reduction, ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.elementary import sqrt
from plait.numpy.equations import cutoff, inv
from plait.numpy.factors import eigvalsh, matrices, svdvals
from plait.numpy.parts import isnan
from plait.numpy.promotion import axes_in, to_inexact, value
from plait.ops import axes as ops


@at_once(operands=1)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm of vectors (one axis), matrices (two axes), or of all elements (axis and ord None).

    ord: None (the square root of the sum of squares), inf, -inf, 0, any number for vectors; "fro",
    "nuc" (the sum of the singular values), 2, -2 (the largest, the smallest), 1, -1, inf, -inf for
    matrices. The result is real, integers become floats. Derivative: NaN where a square root of a
    sum of squares is 0. Raises: ShapeError, DtypeError, ArgumentError for other ord.

    >>> jnp.linalg.norm(jnp.array([[3.0, -4.0], [6.0, 8.0]]), axis=1)
    Array([ 5., 10.], dtype=float32)
    >>> jnp.linalg.norm(jnp.array([[3.0, -4.0], [6.0, 8.0]]), 1)
    Array(12., dtype=float32)
    """
    x = value("norm", to_inexact("norm", x))
    if axis is None:
        if ord is None:
            y = sqrt(_sum_of_squares(x, None, False))
            return ops.reshape(y, (1,) * x.ndim) if keepdims else y
        axes = tuple(range(x.ndim))
    else:
        axes = axes_in(axis, x.ndim, "norm")
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)
    raise ShapeError("a norm has one or two axes", op="norm", x=x, axis=axis)


def _sum_of_squares(x: Any, axes: Any, keepdims: bool) -> Any:
    return reduction.sum(reduction.squared_size(x), axes, keepdims=keepdims)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ArgumentError(
            "vectors have no such norm", op="norm", ord=ord, fix="a number, inf or -inf"
        )
    if isinstance(ord, int | float):
        if ord == 2:
            return sqrt(_sum_of_squares(x, axes, keepdims))
        if ord == math.inf:
            return reduction.max(ufuncs.abs(x), axes, keepdims=keepdims, initial=0)
        if ord == -math.inf:
            return reduction.min(ufuncs.abs(x), axes, keepdims=keepdims, initial=math.inf)
        if ord == 1:
            return reduction.sum(ufuncs.abs(x), axes, keepdims=keepdims)
        if ord == 0:
            there = ufuncs.not_equal(x, 0)
            return reduction.sum(there, axes, dtypes.real_of(x.dtype), keepdims=keepdims)
    total = reduction.sum(ufuncs.power(ufuncs.abs(x), ord), axes, keepdims=keepdims)
    return ufuncs.power(total, ufuncs.true_divide(1, ord))


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    row, column = axes
    if ord == "fro":
        return sqrt(_sum_of_squares(x, axes, keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        summed, kept = (row, column) if ord in (1, -1) else (column, row)
        sums = reduction.sum(ufuncs.abs(x), summed, keepdims=True)
        extreme = reduction.max if ord > 0 else reduction.min
        y = extreme(sums, kept, keepdims=True, **_INITIAL[ord > 0])
    elif ord in (2, -2, "nuc"):
        rest = [k for k in range(x.ndim) if k not in axes]
        s = svdvals(ops.permute(x, (*rest, row, column)))
        if ord == "nuc":
            y = reduction.sum(s, -1)
        else:
            y = (reduction.max if ord > 0 else reduction.min)(s, -1, **_INITIAL[ord > 0])
        kept_axes = [1 if k in axes else n for k, n in enumerate(x.shape)]
        return ops.reshape(y, kept_axes) if keepdims else y
    else:
        fix = '"fro", "nuc", 1, -1, 2, -2, inf or -inf'
        raise ArgumentError("matrices have no such norm", op="norm", ord=ord, fix=fix)
    if keepdims:
        return y
    return ops.reshape(y, tuple(n for k, n in enumerate(x.shape) if k not in axes))


# What the extremes of no numbers are, by whether it is the largest.
_INITIAL = {True: {"initial": 0}, False: {"initial": math.inf}}


@at_once(operands=1)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes, taken together; all with None. See norm for ord, a number.

    The result is real, integers become floats. Raises: OutOfRangeError for an axis that is not
    there; ArgumentError for an ord of matrices.

    >>> jnp.linalg.vector_norm(jnp.array([[3, -4], [6, 8]]), axis=1, ord=1)
    Array([ 7., 14.], dtype=float32)
    """
    x = value("vector_norm", to_inexact("vector_norm", x))
    axes = axes_in(axis, x.ndim, "vector_norm")
    return _vector_norm(x, ord, axes, keepdims)


@at_once(operands=1)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes: x [..., m, n] -> [...]. See norm for ord.

    The result is real, integers become floats. Raises: ShapeError, ArgumentError.

    >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]])).round(3)
    Array(5., dtype=float32)
    """
    x = value("matrix_norm", to_inexact("matrix_norm", x))
    if x.ndim < 2:
        raise ShapeError("needs at least two axes", op="matrix_norm", x=x)
    return _matrix_norm(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


@at_once(operands=1)
def cond(x: Any, p: Any = None) -> Any:
    """Condition numbers: how much solutions of equations with the matrix x amplify errors.

    p: None or 2, the largest singular value divided by the smallest, -2 the inverse of that; other
    norms, "fro", "nuc", 1, -1, inf, -inf: that of x times that of its inverse.
    Shapes: x [..., m, n], square for the others -> [...]. Raises: ShapeError, ArgumentError.

    >>> jnp.linalg.cond(jnp.diag(jnp.array([8.0, 2.0]))).round(3)
    Array(4., dtype=float32)
    """
    x = matrices("cond", x, square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = s[..., 0], s[..., -1]
        return last / first if p == -2 else first / last
    axes = (x.ndim - 2, x.ndim - 1)
    y = _matrix_norm(x, p, axes, False) * _matrix_norm(inv(x), p, axes, False)
    # A singular matrix has no inverse, but has an infinite condition number.
    defined = ufuncs.logical_not(reduction.any(isnan(x), axes))
    return ufuncs.where(ufuncs.logical_and(isnan(y), defined), math.inf, y)


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """How many singular values are larger than rtol times the largest.

    rtol is by default the larger size of the matrix times the precision of its dtype; tol is an
    older name for it. hermitian says that M is, and is computed by eigenvalues. A vector has rank
    1, or 0 if all its elements are 0.
    Shapes: M [..., m, n] -> [...], of the default integer. Raises: ArgumentError.

    >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)
    """
    op = "matrix_rank"
    if rtol is not None and tol is not None:
        raise ArgumentError("give rtol or tol, not both", op=op, rtol=rtol, tol=tol)
    rtol = tol if rtol is None else rtol
    M = value(op, M)
    if M.ndim < 2:
        return reduction.any(ufuncs.not_equal(M, 0)).astype(dtypes.default_int())
    M = matrices(op, M, square=hermitian)
    s = ufuncs.abs(eigvalsh(M)) if hermitian else svdvals(M)
    least = cutoff(op, rtol, s, max(M.shape[-2:]))
    return reduction.sum(ufuncs.greater(s, least), -1, dtypes.default_int())


__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]
