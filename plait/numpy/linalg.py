"""`plait.numpy.linalg`: NumPy's linear algebra, for many matrices at once.

Matrices are in the last two axes of arrays. Integers become floats; float16 and bfloat16 are
refused where LAPACK is asked, as it has neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.core.plain import listed
from plait.errors import ArgumentError, ShapeError, several
from plait.numpy import contraction, pieces
from plait.numpy.contraction import matmul, tensordot, vecdot
from plait.numpy.equations import (
    SlogdetResult,
    det,
    inv,
    lstsq,
    matrix_power,
    pinv,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)
from plait.numpy.factors import (
    EighResult,
    EigResult,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from plait.numpy.manipulation import matrix_transpose
from plait.numpy.norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from plait.numpy.promotion import axis_in, value


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of several matrices, in the order that needs the fewest multiplications.

    Shapes: [m, k], [k, l], ..., [p, n] -> [m, n]; the first may be a vector, a row, and the last
    one, a column, and have no axis in the result. Dtypes are promoted; integers stay integers.
    Raises: ShapeError; ArgumentError for fewer than two arrays.

    >>> a, b, c = jnp.ones((10, 100)), jnp.ones((100, 5)), jnp.ones(5)
    >>> jnp.linalg.multi_dot([a, b, c]).shape
    (10,)
    """
    xs = [value("multi_dot", a, i) for i, a in enumerate(listed(arrays, "multi_dot", "arrays"))]
    if len(xs) < 2:
        raise ArgumentError(
            "needs at least two arrays", op="multi_dot", arrays=several(len(xs), "array")
        )
    for i, x in enumerate(xs):
        allowed = (1, 2) if i in (0, len(xs) - 1) else (2,)
        if x.ndim not in allowed:
            raise ShapeError("needs matrices; the ends may be vectors", op="multi_dot", x=x)
    for i in range(len(xs) - 1):
        if xs[i].shape[-1] != xs[i + 1].shape[0]:
            raise ShapeError(
                f"arrays {i} and {i + 1} do not fit: sizes {xs[i].shape[-1]} and "
                f"{xs[i + 1].shape[0]}",
                op="multi_dot",
                **{f"array_{k}": x for k, x in enumerate(xs)},
            )
    labels = [chr(ord("a") + i) + chr(ord("b") + i) for i in range(len(xs))]
    if xs[0].ndim == 1:
        labels[0] = labels[0][1]
    if xs[-1].ndim == 1:
        labels[-1] = labels[-1][0]
    result = (labels[0][0] if xs[0].ndim == 2 else "") + (labels[-1][1] if xs[-1].ndim == 2 else "")
    text = ",".join(labels) + "->" + result
    return contraction.einsum(text, *xs, optimize="auto", precision=precision)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector product of vectors with 3 components along an axis.

    Shapes: [..., 3, ...], the same after broadcasting. Dtypes are promoted; integers stay integers.
    Raises: ShapeError for other sizes than 3; OutOfRangeError for an axis that is not there.

    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = value("cross", x1), value("cross", x2, 1)
    for x in (x1, x2):
        if x.shape[axis_in(axis, x.ndim, "cross")] != 3:
            raise ShapeError("the vectors have 3 components", op="cross", x1=x1, x2=x2)
    return contraction.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """x1[i] * x2[j], as a matrix, of two vectors.

    Shapes: [m], [n] -> [m, n]. Dtypes are promoted. Raises: ShapeError unless both have one axis.

    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([10, 20, 30]))
    Array([[10, 20, 30],
           [20, 40, 60]], dtype=int32)
    """
    x1, x2 = value("outer", x1), value("outer", x2, 1)
    if x1.ndim != 1 or x2.ndim != 1:
        fix = "plait.numpy.outer flattens its operands"
        raise ShapeError("takes vectors", op="outer", x1=x1, x2=x2, fix=fix)
    return contraction.outer(x1, x2)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes; `offset` > 0 counts those above the main one, < 0 those
    below.

    Shapes: x [..., m, n] -> [..., k]; k = min(m, n) for the main one. Dtype unchanged.
    Raises: ShapeError for fewer than two axes.

    >>> jnp.linalg.diagonal(jnp.arange(6).reshape(2, 3), offset=1)
    Array([1, 5], dtype=int32)
    """
    return pieces.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the last two axes; see diagonal for `offset`.

    Shapes: x [..., m, n] -> [...]. The sum is in `dtype`, by default that of plait.numpy.sum.
    Raises: ShapeError for fewer than two axes.

    >>> jnp.linalg.trace(jnp.arange(8).reshape(2, 2, 2))
    Array([ 3, 11], dtype=int32)
    """
    return contraction.trace(x, offset, -2, -1, dtype)


__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
