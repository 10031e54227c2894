"""Matrices of a pattern: eye, triangles, diagonals; and the positions of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ArgumentError, ConcretizationTypeError, ShapeError
from plait.numpy.at_once import at_once
from plait.numpy.creation import ones, positions
from plait.numpy.pieces import diagonal
from plait.numpy.placing import placed
from plait.numpy.promotion import astype, constant, known, operand, static_int, to_dtype, value
from plait.numpy.ufuncs import add, equal, greater_equal, less, power, subtract, where
from plait.ops.axes import expand_dims, reshape
from plait.ops.slices import pad
from plait.regions.trace import check_function


def eye(N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones on the k-th diagonal of an N by M matrix, zeros elsewhere.

    >>> jnp.eye(2), jnp.eye(2, 3, k=1, dtype=int)
    (Array([[1., 0.],
            [0., 1.]], dtype=float32),
     Array([[0, 1, 0],
            [0, 0, 1]], dtype=int32))
    """
    rows = static_int(N, "eye", "N")
    columns = rows if M is None else static_int(M, "eye", "M")
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    return placed(astype(equal(*_row_column("eye", rows, columns, k)), dtype), device)


def _row_column(op: str, rows: int, columns: int, k: Any = 0) -> tuple[Any, Any]:
    if rows < 0 or columns < 0:
        raise ShapeError("sizes are at least 0", op=op, shape=(rows, columns))
    row = positions((rows, columns), 0, dtypes.int32)
    column = positions((rows, columns), 1, dtypes.int32)
    if isinstance(k, int):
        k = max(-(2**31) + rows, min(k, 2**31 - 1 - rows))
    return (row if isinstance(k, int) and k == 0 else add(row, k)), column


def identity(n: int, dtype: Any = None) -> Any:
    """The n by n matrix with ones on its diagonal.

    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on and below the k-th diagonal of an N by M matrix, zeros above.

    >>> jnp.tri(3, dtype=int)
    Array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]], dtype=int32)
    """
    rows = static_int(N, "tri", "N")
    columns = rows if M is None else static_int(M, "tri", "M")
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    return astype(greater_equal(*_row_column("tri", rows, columns, k)), dtype)


@at_once(operands=1)
def tril(m: Any, k: int = 0) -> Any:
    """m with zeros above the k-th diagonal of its last two axes. Raises: ShapeError.

    >>> jnp.tril(jnp.arange(1, 10).reshape(3, 3))
    Array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]], dtype=int32)
    """
    m, keep = _triangle("tril", m, k)
    return where(greater_equal(*keep), m, _zero(m))


@at_once(operands=1)
def triu(m: Any, k: int = 0) -> Any:
    """m with zeros below the k-th diagonal of its last two axes. Raises: ShapeError.

    >>> jnp.triu(jnp.arange(1, 10).reshape(3, 3), k=1)
    Array([[0, 2, 3],
           [0, 0, 6],
           [0, 0, 0]], dtype=int32)
    """
    m, keep = _triangle("triu", m, k)
    return where(less(*_less_by_one(keep)), m, _zero(m))


def _less_by_one(keep: tuple[Any, Any]) -> tuple[Any, Any]:
    return subtract(keep[0], 1), keep[1]


def _zero(m: Any) -> np.ndarray:
    return np.zeros((), m.dtype)


def _triangle(op: str, m: Any, k: int) -> tuple[Any, tuple[Any, Any]]:
    m = value(op, m)
    if m.ndim < 2:
        raise ShapeError("needs at least two axes", op=op, m=m)
    return m, _row_column(op, m.shape[-2], m.shape[-1], k)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """(rows, columns) of the elements on and below the k-th diagonal of an n by m matrix.

    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _index_pair(np.tril_indices(*_sizes(n, k, m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """(rows, columns) of the elements on and above the k-th diagonal of an n by m matrix.

    >>> jnp.arange(9).reshape(3, 3)[jnp.triu_indices(3, k=1)]
    Array([1, 2, 5], dtype=int32)
    """
    return _index_pair(np.triu_indices(*_sizes(n, k, m)))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """tril_indices for the shape of a matrix.

    >>> jnp.tril_indices_from(jnp.ones((2, 3)))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return tril_indices(*_matrix_shape("tril_indices_from", arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """triu_indices for the shape of a matrix.

    >>> jnp.triu_indices_from(jnp.ones((2, 3)), k=1)
    (Array([0, 0, 1], dtype=int32), Array([1, 2, 2], dtype=int32))
    """
    return triu_indices(*_matrix_shape("triu_indices_from", arr, k))


def _matrix_shape(op: str, arr: Any, k: int) -> tuple[int, int, int]:
    shape = type_of(operand(op, arr)).shape
    if len(shape) != 2:
        raise ShapeError("needs a matrix", op=op, arr=arr)
    return shape[0], k, shape[1]


def _sizes(n: Any, k: Any, m: Any) -> tuple[int, int, int | None]:
    op = "tril_indices"
    columns = None if m is None else static_int(m, op, "m")
    return static_int(n, op, "n"), static_int(k, op, "k"), columns


def _index_pair(pair: Sequence[np.ndarray]) -> tuple[Any, Any]:
    rows, columns = (constant(p.astype(dtypes.default_int())) for p in pair)
    return rows, columns


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None
) -> tuple[Any, ...]:
    """The positions at which mask_func(ones((n, n)), k) is not 0: the first `size` of them if that
    is given, and zeros where there are fewer.

    >>> jnp.mask_indices(3, jnp.triu, 1)
    (Array([0, 0, 1], dtype=int32), Array([1, 2, 2], dtype=int32))
    """
    check_function(mask_func, "mask_indices", "mask_func")
    mask = known(mask_func(ones((n, n)), k))
    if mask is None:
        raise ConcretizationTypeError(
            "the mask decides the size of the result and must not be traced",
            op="mask_indices",
            mask_func=mask_func,
        )
    positions = [p.astype(dtypes.default_int()) for p in np.nonzero(mask)]
    if size is not None:
        size = static_int(size, "mask_indices", "size")
        positions = [np.pad(p[:size], (0, max(0, size - p.size))) for p in positions]
    return tuple(map(constant, positions))


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The positions of the diagonal of an array with ndim axes of size n.

    >>> x = jnp.arange(9).reshape(3, 3)
    >>> x[jnp.diag_indices(3)]
    Array([0, 4, 8], dtype=int32)
    """
    n, ndim = static_int(n, "diag_indices", "n"), static_int(ndim, "diag_indices", "ndim")
    if n < 0 or ndim < 0:
        raise ArgumentError("needs n >= 0 and ndim >= 0", op="diag_indices", n=n, ndim=ndim)
    return (positions((n,), 0, dtypes.default_int()),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """diag_indices for an array whose axes are equally long.

    >>> jnp.diag_indices_from(jnp.ones((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = type_of(operand("diag_indices_from", arr)).shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError("needs at least two axes of one size", op="diag_indices_from", arr=arr)
    return diag_indices(shape[0], len(shape))


@at_once(operands=1)
def diagflat(v: Any, k: int = 0) -> Any:
    """A square matrix with the elements of v, flattened, on its k-th diagonal.

    >>> jnp.diagflat(jnp.array([[1], [2]]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    v = value("diagflat", v)
    return _on_diagonal(reshape(v, (v.size,)), k)


def _on_diagonal(v: Any, k: int) -> Any:
    k = static_int(k, "diag", "k")
    n = v.shape[0] + abs(k)
    zero = np.zeros((), v.dtype)
    v = pad(v, zero, [(max(0, k), max(0, -k), 0)])
    row, column = _row_column("diag", n, n, k)
    # Row r of the k-th diagonal stands in column r + k.
    return where(equal(row, column), v, zero)


def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or a matrix with the vector v on its k-th diagonal.

    >>> jnp.diag(jnp.array([[1, 2], [3, 4]])), jnp.diag(jnp.array([5, 6]), k=1)
    (Array([1, 4], dtype=int32),
     Array([[0, 5, 0],
            [0, 0, 6],
            [0, 0, 0]], dtype=int32))
    """
    v = value("diag", v)
    if v.ndim == 1:
        return _on_diagonal(v, k)
    if v.ndim != 2:
        raise ShapeError("needs a vector or a matrix", op="diag", v=v)
    return diagonal(v, k)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of the elements of a vector, from N - 1 down to 0, one column each.

    >>> jnp.vander(jnp.array([2, 3]), 3), jnp.vander(jnp.array([2, 3]), 3, increasing=True)
    (Array([[4, 2, 1],
            [9, 3, 1]], dtype=int32),
     Array([[1, 2, 4],
            [1, 3, 9]], dtype=int32))
    """
    x = value("vander", x)
    if x.ndim != 1:
        raise ShapeError("needs a vector", op="vander", x=x)
    n = x.shape[0] if N is None else static_int(N, "vander", "N")
    if n < 0:
        raise ArgumentError("needs N >= 0", op="vander", N=n)
    powers = positions((n,), 0, x.dtype if x.dtype in dtypes.INTEGER else dtypes.int32)
    if not increasing:
        powers = subtract(n - 1, powers)
    return power(expand_dims(x, (1,)), expand_dims(powers, (0,)))
