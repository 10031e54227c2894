"""`plait.numpy.linalg`: norms and products that need no factorisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plait.core import dtypes
from plait.errors import ArgumentError, ShapeError
from plait.numpy import contraction, pieces, reduction, ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.contraction import matmul, outer, tensordot, vecdot
from plait.numpy.elementary import sqrt
from plait.numpy.manipulation import matrix_transpose
from plait.numpy.matrices import eye
from plait.numpy.promotion import axes_in, axis_in, to_inexact, value
from plait.ops import axes as ops


@at_once(operands=1)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm of vectors (one axis), matrices (two axes), or of all elements (axis and ord None).

    ord: None (the square root of the sum of squares), inf, -inf, 0, any number for vectors; "fro",
    1, -1, inf, -inf for matrices.
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
        raise ArgumentError("vectors have no such norm", op="norm", ord=ord)
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
    largest = isinstance(ord, int | float) and ord > 0
    if ord in (1, -1, math.inf, -math.inf):
        summed, kept = (row, column) if ord in (1, -1) else (column, row)
        sums = reduction.sum(ufuncs.abs(x), summed, keepdims=True)
        y = (reduction.max if largest else reduction.min)(sums, kept, keepdims=True)
    elif ord in (2, -2, "nuc"):
        raise ArgumentError(
            "this norm needs singular values, which plait does not compute yet",
            op="norm",
            ord=ord,
            fix='ord="fro", 1 or inf; numpy.linalg.norm takes concrete arrays',
        )
    else:
        raise ArgumentError("matrices have no such norm", op="norm", ord=ord)
    if keepdims:
        return y
    return ops.reshape(y, tuple(n for k, n in enumerate(x.shape) if k not in axes))


@at_once(operands=1)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes, taken together; all with None."""
    x = value("vector_norm", to_inexact("vector_norm", x))
    axes = axes_in(axis, x.ndim, "vector_norm")
    return _vector_norm(x, ord, axes, keepdims)


@at_once(operands=1)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes."""
    x = value("matrix_norm", to_inexact("matrix_norm", x))
    if x.ndim < 2:
        raise ShapeError("needs at least two axes", op="matrix_norm", x=x)
    return _matrix_norm(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of several matrices, in the order that needs the fewest multiplications."""
    xs = [value("multi_dot", a, i) for i, a in enumerate(arrays)]
    if len(xs) < 2:
        raise ArgumentError("needs at least two arrays", op="multi_dot")
    for i, x in enumerate(xs):
        allowed = (1, 2) if i in (0, len(xs) - 1) else (2,)
        if x.ndim not in allowed:
            raise ShapeError("needs matrices; the ends may be vectors", op="multi_dot", x=x)
    labels = [chr(ord("a") + i) + chr(ord("b") + i) for i in range(len(xs))]
    if xs[0].ndim == 1:
        labels[0] = labels[0][1]
    if xs[-1].ndim == 1:
        labels[-1] = labels[-1][0]
    result = (labels[0][0] if xs[0].ndim == 2 else "") + (labels[-1][1] if xs[-1].ndim == 2 else "")
    text = ",".join(labels) + "->" + result
    return contraction.einsum(text, *xs, optimize="auto", precision=precision)


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix multiplied with itself n times, n >= 0."""
    a = value("matrix_power", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError("needs square matrices", op="matrix_power", a=a)
    n = int(n)
    if n == 0:
        return ops.broadcast_to(eye(a.shape[-1], dtype=a.dtype), a.shape)
    if n < 0:
        raise ArgumentError("negative powers need an inverse", op="matrix_power", n=n)
    result = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        if n:
            a = matmul(a, a)
    return result


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector product of vectors of size 3 along an axis."""
    x1, x2 = value("cross", x1), value("cross", x2, 1)
    for x in (x1, x2):
        if x.shape[axis_in(axis, x.ndim, "cross")] != 3:
            raise ShapeError("the vectors have 3 components", op="cross", x1=x1, x2=x2)
    return contraction.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes."""
    return pieces.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the last two axes."""
    return contraction.trace(x, offset, -2, -1, dtype)


__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
