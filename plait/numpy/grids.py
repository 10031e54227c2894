"""Grids of coordinates and of indices: meshgrid, indices, mgrid, r_ and their like."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.errors import ArgumentError, NonConcreteBooleanIndexError, ShapeError
from plait.numpy.creation import arange, array, linspace, zeros
from plait.numpy.promotion import astype, constant, known, promote_dtypes, shape_of, to_dtype, value
from plait.ops.axes import broadcast_to, normalise_axis, reshape
from plait.ops.iota import iota_p
from plait.ops.slices import concatenate_p


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """One array for each vector of coordinates, on the grid that they span.

    indexing "xy" puts the second vector along the first axis, "ij" keeps the order.

    >>> jnp.meshgrid(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    [Array([[1, 2, 3],
            [1, 2, 3]], dtype=int32),
     Array([[10, 10, 10],
            [20, 20, 20]], dtype=int32)]
    >>> [x.shape for x in jnp.meshgrid(jnp.ones(3), jnp.ones(2), indexing="ij", sparse=True)]
    [(3, 1), (1, 2)]
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError("indexing is 'xy' or 'ij'", op="meshgrid", indexing=indexing)
    if not copy:
        raise ArgumentError("arrays do not share memory: copy must be True", op="meshgrid")
    axes = [value("meshgrid", x, i) for i, x in enumerate(xi)]
    axes = [reshape(a, (1,)) if a.ndim == 0 else a for a in axes]
    if any(a.ndim != 1 for a in axes):
        raise ShapeError("needs vectors", op="meshgrid", x=next(a for a in axes if a.ndim != 1))
    n = len(axes)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    shape = [0] * n
    for k, a in enumerate(axes):
        shape[order[k]] = a.shape[0]
    grids = []
    for k, a in enumerate(axes):
        sizes = [1] * n
        sizes[order[k]] = a.shape[0]
        grid = reshape(a, sizes)
        grids.append(grid if sparse else broadcast_to(grid, tuple(shape)))
    return grids


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """For each axis of a shape an array of the positions along it; stacked unless sparse.

    >>> rows, columns = jnp.indices((2, 3))
    >>> rows, columns
    (Array([[0, 0, 0],
            [1, 1, 1]], dtype=int32),
     Array([[0, 1, 2],
            [0, 1, 2]], dtype=int32))
    """
    shape = shape_of(dimensions, "indices")
    dtype = dtypes.default_int() if dtype is None else to_dtype(dtype)
    found = []
    for k, n in enumerate(shape):
        size = tuple(n if j == k else 1 for j in range(len(shape))) if sparse else shape
        found.append(iota_p.bind(shape=size, dtype=dtype, axis=k))
    if sparse:
        return tuple(found)
    if not found:
        return zeros((0,), dtype)
    return concatenate_p.bind(*(reshape(f, (1, *f.shape)) for f in found), axis=0)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors of indices shaped so that together they index the grid they span.

    >>> x = jnp.arange(12).reshape(3, 4)
    >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))]
    Array([[ 1,  3],
           [ 9, 11]], dtype=int32)
    """
    found = []
    for i, a in enumerate(args):
        a = array(a) if isinstance(a, list | tuple) else value("ix_", a, i)
        if a.ndim != 1:
            raise ShapeError("needs vectors", op="ix_", x=a)
        if a.dtype in dtypes.BOOL:
            host = known(a)
            if host is None:
                raise NonConcreteBooleanIndexError("a mask must not be traced", op="ix_", x=a)
            a = constant(np.nonzero(host)[0].astype(dtypes.default_int()))
        elif not a.size:
            a = astype(a, dtypes.default_int())
        found.append(reshape(a, tuple(a.size if k == i else 1 for k in range(len(args)))))
    return tuple(found)


class _Grid:
    """What mgrid and ogrid are: slices in brackets become grids."""

    def __init__(self, sparse: bool):
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _range_of(key)
        axes = [_range_of(k) for k in key]
        axes = promote_dtypes("mgrid", axes) if axes else axes
        grids = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return grids
        if not grids:
            return zeros((0,))
        return concatenate_p.bind(*(reshape(g, (1, *g.shape)) for g in grids), axis=0)


def _range_of(key: slice) -> Any:
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex):  # a complex step counts points, ends included
        return linspace(start, key.stop, int(builtins.abs(step)))
    return arange(start, key.stop, step)


mgrid, ogrid = _Grid(False), _Grid(True)


class _Join:
    """What r_ and c_ are: slices, numbers and arrays in brackets become one array."""

    def __init__(self, axis: int, ndmin: int, trans1d: int):
        self.axis, self.ndmin, self.trans1d = axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        if keys and isinstance(keys[0], str):
            if keys[0] in ("r", "c"):  # a row or a column, where a vector would come out
                joined = self[keys[1:]]
                shape = (1, joined.size) if keys[0] == "r" else (joined.size, 1)
                return reshape(joined, shape) if joined.ndim == 1 else joined
            try:
                given = [int(n) for n in keys[0].split(",")]
            except ValueError:
                raise ArgumentError(
                    'the directive is "r", "c", or up to three ints', op="r_", directive=keys[0]
                ) from None
            axis, ndmin, trans1d = (*given, *(axis, ndmin, trans1d)[len(given) :])[:3]
            keys = keys[1:]
        parts = []
        for k in keys:
            x = _range_of(k) if isinstance(k, slice) else array(k)
            if x.ndim < ndmin:
                # The axis of a vector goes to position trans1d among those of size 1.
                place = (trans1d if trans1d >= 0 else ndmin + trans1d) if x.ndim else 0
                place = min(place, ndmin - x.ndim)
                x = reshape(x, (1,) * place + x.shape + (1,) * (ndmin - x.ndim - place))
            parts.append(x)
        parts = promote_dtypes("r_", parts)
        axis = normalise_axis(axis, max(p.ndim for p in parts), "r_")
        return concatenate_p.bind(*parts, axis=axis)


r_, c_ = _Join(0, 1, -1), _Join(-1, 2, 0)


class _IndexExpression:
    """What s_ and index_exp are: brackets that hand back what stands in them."""

    def __init__(self, always_tuple: bool):
        self.always_tuple = always_tuple

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self.always_tuple and not isinstance(key, tuple) else key


s_, index_exp = _IndexExpression(False), _IndexExpression(True)
