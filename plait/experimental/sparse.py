"""plait.experimental.sparse: arrays given by their elements that are not zero.

Of what JAX has there this is the format BCOO without batch and dense axes: conversions, products
with dense arrays, and what is needed to pass such arrays through transformations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait import numpy as jnp
from plait.core import dtypes
from plait.core.tree import register_node
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError


class BCOO:
    """A sparse array: `data` [n] and the places of its elements, `indices` [n, number of axes].

    Places named twice are added up; those beyond the shape are padding and count as zero. A sparse
    array is a tree of data and indices, so that it may be an argument and a result of transformed
    functions; derivatives are those with respect to data.
    Raises: ArgumentTypeError, ShapeError if data, indices and shape do not fit.

    >>> from plait.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> m.nse, m @ jnp.array([1.0, 10.0])
    (2, Array([20.,  3.], dtype=float32))
    """

    __array_ufunc__ = None  # NumPy's arrays leave their operators to this class

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: tuple[int, ...],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        if not isinstance(args, tuple | list) or len(args) != 2:
            raise ArgumentTypeError("takes a pair (data, indices)", op="BCOO", args=args)
        data, indices = map(jnp.asarray, args)
        shape = tuple(map(int, shape))
        if type_of(indices).dtype not in dtypes.INTEGER:
            raise ArgumentTypeError("the indices must be integers", op="BCOO", indices=indices)
        if indices.ndim != 2 or indices.shape != (*data.shape[:1], len(shape)) or data.ndim != 1:
            raise ShapeError(
                f"for an array of {len(shape)} axes data has the shape (n,) and indices "
                f"(n, {len(shape)})",
                op="BCOO",
                data=data,
                indices=indices,
                fix="batch and dense axes are not supported: use vmap, or several arrays",
            )
        self.data, self.indices, self.shape = data, indices, shape
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> BCOO:
        """The sparse form of a dense array.

        nse: how many elements it holds; needed under jit. Elements beyond those that are not zero
        are padding. Raises: ArgumentError if nse is too small for a known array.
        """
        mat = jnp.asarray(mat)
        if nse is None:
            nse = int(jnp.count_nonzero(mat))
        places = jnp.nonzero(mat, size=nse, fill_value=mat.shape)
        indices = jnp.stack(places, -1) if places else jnp.zeros((nse, 0), index_dtype)
        data = mat.at[places].get(mode="fill", fill_value=0)
        return cls((data, indices.astype(index_dtype)), shape=mat.shape)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = np.int32) -> BCOO:
        """The sparse form of a SciPy sparse matrix."""
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], -1).astype(index_dtype)
        return cls((coo.data, indices), shape=coo.shape)

    @property
    def nse(self) -> int:
        """The number of elements it holds, padding included."""
        return self.data.shape[0]

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    def todense(self) -> Any:
        """The dense array."""
        places = tuple(self.indices[:, k] for k in range(self.ndim))
        return jnp.zeros(self.shape, self.dtype).at[places].add(self.data, mode="drop")

    def transpose(self, axes: Any = None) -> BCOO:
        """The array with its axes in another order; in reverse by default."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        if sorted(order) != list(range(self.ndim)):
            raise ArgumentError(
                "axes must name each axis once", op="BCOO.transpose", axes=axes, ndim=self.ndim
            )
        shape = tuple(self.shape[k] for k in order)
        return BCOO((self.data, self.indices[:, np.array(order, int)]), shape=shape)

    @property
    def T(self) -> BCOO:
        """The array with its axes in reverse order."""
        return self.transpose()

    def _scaled(self, data: Any) -> BCOO:
        return BCOO((data, self.indices), shape=self.shape)

    def __neg__(self) -> BCOO:
        return self._scaled(-self.data)

    def __mul__(self, factor: Any) -> BCOO:
        """The array times a number, or times a dense array of its shape."""
        factor = jnp.asarray(factor)
        if factor.shape == self.shape and factor.ndim:
            places = tuple(self.indices[:, k] for k in range(self.ndim))
            factor = factor.at[places].get(mode="fill", fill_value=0)
        elif factor.ndim:
            raise ShapeError(
                "a sparse array is multiplied by a number or by an array of its shape",
                op="BCOO",
                shape=self.shape,
                factor=factor,
            )
        return self._scaled(self.data * factor)

    __rmul__ = __mul__

    def __matmul__(self, x: Any) -> Any:
        """The product with a dense vector or matrix, a dense array."""
        return _product(self, jnp.asarray(x))

    def __rmatmul__(self, x: Any) -> Any:
        x = jnp.asarray(x)
        return _product(self.T, x.T).T

    def __repr__(self) -> str:
        # A tree that was mapped may hold anything.
        dtype, shape = getattr(self.data, "dtype", None), getattr(self.indices, "shape", None)
        if dtype is None or not shape:
            return f"BCOO(data={self.data!r}, indices={self.indices!r}, shape={self.shape})"
        return f"BCOO({dtype}{list(self.shape)}, nse={self.nse})"


def _product(a: BCOO, x: Any) -> Any:
    if a.ndim != 2 or x.ndim not in (1, 2) or a.shape[1] != x.shape[0]:
        raise ShapeError(
            "a sparse matrix is multiplied with a dense vector or matrix of as many rows as it "
            "has columns",
            op="BCOO",
            sparse=a.shape,
            dense=x,
        )
    rows, columns = a.indices[:, 0], a.indices[:, 1]
    picked = x.at[columns].get(mode="fill", fill_value=0)
    data = a.data if x.ndim == 1 else a.data[:, None]
    terms = data * picked
    out = jnp.zeros((a.shape[0], *x.shape[1:]), terms.dtype)
    return out.at[rows].add(terms, mode="drop")


def _rebuild(static: tuple[Any, ...], children: Any) -> BCOO:
    made = object.__new__(BCOO)  # children may be anything: axes, marks, other trees
    made.data, made.indices = children
    made.shape, made.indices_sorted, made.unique_indices = static
    return made


register_node(
    BCOO,
    lambda m: ((m.data, m.indices), (m.shape, m.indices_sorted, m.unique_indices)),
    _rebuild,
)


def bcoo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> BCOO:
    """As `BCOO.fromdense`.

    >>> from plait.experimental import sparse
    >>> sparse.bcoo_fromdense(jnp.eye(3))
    BCOO(float32[3, 3], nse=3)
    """
    return BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def bcoo_todense(mat: BCOO) -> Any:
    """As `BCOO.todense`.

    >>> from plait.experimental import sparse
    >>> sparse.bcoo_todense(2 * sparse.bcoo_fromdense(jnp.eye(2)))
    Array([[2., 0.],
           [0., 2.]], dtype=float32)
    """
    return mat.todense()


__all__ = ["BCOO", "bcoo_fromdense", "bcoo_todense"]
