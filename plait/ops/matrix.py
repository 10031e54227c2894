"""Matrices in the last two axes of arrays: products, triangles and diagonals, for rules of ops.

The axes before the last two count the matrices; operands have equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError
from plait.ops.arithmetic import add, convert_element_type, mul
from plait.ops.axes import broadcast_in_dim, permute, reduce_sum
from plait.ops.compare import eq, ge, gt, ne, select
from plait.ops.dot import Precision, dot_general_p
from plait.ops.functions import conj
from plait.ops.functions import imag as imaginary_part
from plait.ops.functions import real as real_part
from plait.ops.gather import PROMISE, GatherDimensionNumbers, gather_p
from plait.ops.iota import broadcasted_iota, eye
from plait.ops.slices import slice_in_dim

# What LAPACK computes in.
LAPACK = frozenset((dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128))


def check_matrices(
    *, square: bool = False, accepts: frozenset = LAPACK, **operands: ArrayType
) -> None:
    """Raise ShapeError unless the operands have two axes at least (and equal ones, if `square`),
    DtypeError unless their dtypes are among the accepted ones.
    """
    for name, x in operands.items():
        given: dict[str, Any] = {name: x}
        if x.ndim < 2:
            raise ShapeError(f"{name} must have at least two axes", **given)
        if square and x.shape[-1] != x.shape[-2]:
            raise ShapeError(f"{name} must be square in its last two axes", **given)
        if x.dtype not in accepts:
            fix = f"{name}.astype(float32)" if x.dtype in dtypes.REAL | dtypes.BOOL else None
            raise DtypeError(
                "takes " + ", ".join(sorted(d.name for d in accepts)), fix=fix, **given
            )


# --- NumPy


def of_each_matrix(
    function: Callable[..., Sequence[Any]],
    xs: Sequence[np.ndarray],
    outs: Sequence[ArrayType],
    batch: Sequence[int],
) -> tuple[np.ndarray, ...]:
    """The results of a function of single matrices for all of them, NaN where it fails.

    outs are the types of the results together; the function raises LinAlgError if it fails.
    """
    ys = tuple(np.zeros(t.shape, t.dtype) for t in outs)
    for index in np.ndindex(*batch):
        try:
            with np.errstate(all="ignore"):
                results = function(*(x[index] for x in xs))
        except np.linalg.LinAlgError:
            results = [nan_of(y.dtype) for y in ys]
        for y, result in zip(ys, results, strict=True):
            y[index] = result
    return ys


def nan_of(dtype: Any) -> Any:
    """What a computation that failed gives: NaN; 0 for integers."""
    if dtype in dtypes.COMPLEX:
        return complex(np.nan, np.nan)
    return np.nan if dtype in dtypes.FLOAT else 0


# --- rearranged


def is_complex(x: Any) -> bool:
    """Whether an array has complex numbers."""
    return type_of(x).dtype in dtypes.COMPLEX


def swap(x: Any) -> Any:
    """The transposed matrices."""
    n = type_of(x).ndim
    return permute(x, (*range(n - 2), n - 1, n - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transposed matrices."""
    x = swap(x)
    return conj(x) if type_of(x).dtype in dtypes.COMPLEX else x


def rows(x: Any, start: int, stop: int) -> Any:
    """Rows start, ..., stop - 1."""
    return slice_in_dim(x, start, stop, axis=-2)


def columns(x: Any, start: int, stop: int) -> Any:
    """Columns start, ..., stop - 1."""
    return slice_in_dim(x, start, stop, axis=-1)


def take_columns(x: Any, order: Any) -> Any:
    """Column order[..., j] in place of column j, for each matrix an order of its own."""
    ndim, shape = type_of(x).ndim, type_of(x).shape
    if 0 in shape:
        return x
    batch = tuple(range(ndim - 2))
    count = type_of(order).shape[-1]
    indices = broadcast_in_dim(order, (*shape[:-2], count, 1), tuple(range(ndim - 1)))
    dims = GatherDimensionNumbers((ndim - 2,), (ndim - 1,), (ndim - 1,), batch, batch)
    return gather_p.bind(
        x,
        indices,
        dims=dims,
        sizes=(*(1 for _ in batch), shape[-2], 1),
        mode=PROMISE,
        fill_value=None,
        unique=True,
        increasing=False,
    )


def take_rows(x: Any, order: Any) -> Any:
    """Row order[..., i] in place of row i, for each matrix an order of its own."""
    ndim, shape = type_of(x).ndim, type_of(x).shape
    if 0 in shape:
        return x
    batch = tuple(range(ndim - 2))
    count = type_of(order).shape[-1]
    indices = broadcast_in_dim(order, (*shape[:-2], count, 1), tuple(range(ndim - 1)))
    dims = GatherDimensionNumbers((ndim - 1,), (ndim - 2,), (ndim - 2,), batch, batch)
    return gather_p.bind(
        x,
        indices,
        dims=dims,
        sizes=(*(1 for _ in batch), 1, shape[-1]),
        mode=PROMISE,
        fill_value=None,
        unique=True,
        increasing=False,
    )


# --- products


def matmul(x: Any, y: Any) -> Any:
    """The products of matrices; a real factor joins a complex one."""
    tx, ty = type_of(x), type_of(y)
    if tx.dtype != ty.dtype:
        dtype = tx.dtype if tx.dtype in dtypes.COMPLEX else ty.dtype
        x, y = convert_element_type(x, dtype), convert_element_type(y, dtype)
    n = tx.ndim
    batch = tuple(range(n - 2))
    return dot_general_p.bind(
        x,
        y,
        dimension_numbers=(((n - 1,), (n - 2,)), (batch, batch)),
        precision=(Precision.HIGHEST, Precision.HIGHEST),
        preferred_element_type=None,
    )


def over_columns(w: Any, x: Any) -> Any:
    """w[..., j] in column j of every row: an array of the shape of x."""
    shape = type_of(x).shape
    return broadcast_in_dim(w, shape, (*range(len(shape) - 2), len(shape) - 1))


def over_rows(w: Any, x: Any) -> Any:
    """w[..., i] in row i of every column: an array of the shape of x."""
    shape = type_of(x).shape
    return broadcast_in_dim(w, shape, tuple(range(len(shape) - 1)))


# --- parts


def _where(x: Any, mask: Any) -> Any:
    """x where the mask of one matrix holds, 0 elsewhere."""
    t = type_of(x)
    mask = broadcast_in_dim(mask, t.shape, (t.ndim - 2, t.ndim - 1))
    zero = broadcast_in_dim(np.zeros((), t.dtype), t.shape, ())
    return select(mask, x, zero)


def _positions(x: Any) -> tuple[Any, Any]:
    shape = type_of(x).shape[-2:]
    return broadcasted_iota(np.int32, shape, 0), broadcasted_iota(np.int32, shape, 1)


def tril(x: Any) -> Any:
    """The lower triangles, diagonals included."""
    i, j = _positions(x)
    return _where(x, ge(i, j))


def triu(x: Any) -> Any:
    """The upper triangles, diagonals included."""
    i, j = _positions(x)
    return _where(x, ge(j, i))


def strict_tril(x: Any) -> Any:
    """The lower triangles without the diagonals."""
    i, j = _positions(x)
    return _where(x, gt(i, j))


def strict_triu(x: Any) -> Any:
    """The upper triangles without the diagonals."""
    i, j = _positions(x)
    return _where(x, gt(j, i))


def on_diagonal(x: Any) -> Any:
    """The matrices with zeros everywhere but on the diagonals."""
    i, j = _positions(x)
    return _where(x, eq(i, j))


def off_diagonal(x: Any) -> Any:
    """The matrices with zeros on the diagonals."""
    i, j = _positions(x)
    return _where(x, ne(i, j))


def diagonal(x: Any) -> Any:
    """The diagonals of square matrices."""
    return reduce_sum(on_diagonal(x), (type_of(x).ndim - 1,))


def identity(shape: Sequence[int], dtype: Any) -> Any:
    """Ones on the diagonals, zeros elsewhere: an array of a shape."""
    n = len(shape)
    return broadcast_in_dim(eye(dtype, shape[-2:]), shape, (n - 2, n - 1))


def half_triangle(x: Any, lower: bool) -> Any:
    """A triangle with half the diagonal.

    Together with its adjoint it makes the Hermitian matrix that has this triangle, real diagonal.
    """
    i, j = _positions(x)
    strict = gt(i, j) if lower else gt(j, i)
    return add(_where(x, strict), mul(_where(x, eq(i, j)), 0.5))


def hermitian(x: Any, lower: bool) -> Any:
    """The Hermitian matrices with these triangles of x, diagonals without imaginary part."""
    half = half_triangle(x, lower)
    return add(half, adjoint(half))


__all__ = [
    "LAPACK",
    "adjoint",
    "check_matrices",
    "columns",
    "conj",
    "diagonal",
    "half_triangle",
    "hermitian",
    "identity",
    "is_complex",
    "imaginary_part",
    "matmul",
    "nan_of",
    "of_each_matrix",
    "off_diagonal",
    "on_diagonal",
    "over_columns",
    "over_rows",
    "real_part",
    "rows",
    "strict_tril",
    "strict_triu",
    "swap",
    "take_columns",
    "take_rows",
    "tril",
    "triu",
]
