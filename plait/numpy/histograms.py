"""Counts of elements by value: bincount and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.plain import listed
from plait.core.source import called
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError, ShapeError, several
from plait.numpy import reduction, ufuncs
from plait.numpy.creation import array, linspace
from plait.numpy.manipulation import ravel, rows
from plait.numpy.parts import isnan
from plait.numpy.pieces import diff
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import (
    astype,
    constant,
    inexact,
    is_traced_or_device,
    known,
    promote_dtypes,
    static_int,
    to_inexact,
    value,
)
from plait.numpy.searching import searchsorted
from plait.numpy.updating import At
from plait.ops import axes as ops


@takes_out_sharding
def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """How often each number 0, 1, 2, ... occurs in a vector; or the sums of its weights.

    In a trace `length` gives the size of the result, whatever minlength is. Numbers below 0 count
    as 0, numbers beyond the end are left out.

    >>> jnp.bincount(jnp.array([0, 2, 2, 5]))
    Array([1, 0, 2, 0, 0, 1], dtype=int32)
    >>> jnp.bincount(jnp.array([0, 1, 1]), jnp.array([5, 2, 3]))
    Array([5, 5], dtype=int32)
    """
    x = value("bincount", x)
    if x.dtype in dtypes.BOOL:
        x = astype(x, dtypes.int32)
    if x.dtype not in dtypes.INTEGER:
        raise DtypeError("needs integers", op="bincount", x=x)
    if x.ndim != 1:
        raise ShapeError("needs a vector", op="bincount", x=x)
    minlength = static_int(minlength, "bincount", "minlength")
    if length is None:
        host = known(x)
        if host is None:
            raise ConcretizationTypeError(
                "the largest element decides the size of the result and must not be traced",
                op="bincount",
                x=x,
                fix="give length=",
            )
        length = max(minlength, int(host.max()) + 1 if host.size else 0, 1 if host.size else 0)
    else:
        length = static_int(length, "bincount", "length")
    w = (
        constant(np.ones((), dtypes.default_int()))
        if weights is None
        else value("bincount", weights, 1)
    )
    if weights is not None and w.shape != x.shape:
        raise ShapeError("needs one weight for each element", op="bincount", x=x, weights=w)
    zeros = ops.broadcast_to(constant(np.zeros((), w.dtype)), (length,))
    return At(zeros)[ufuncs.maximum(x, 0)].add(w, mode="drop")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram: `bins` of equal width from min to max, or as given.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 1.0, 4.0]), bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    if isinstance(bins, str):
        fix = "give how many bins, or their edges"
        raise ArgumentError("rules for bins are not supported", op="histogram", bins=bins, fix=fix)
    a = value("histogram_bin_edges", a)
    dtype = inexact(a.dtype)
    if is_traced_or_device(bins) or isinstance(bins, list | tuple | np.ndarray):
        edges = array(bins)
        if edges.ndim == 1:
            whole = dtypes.promote((edges.dtype, False), (dtype, False), lenient=True)[0]
            return astype(edges, whole)
        bins = edges
    n = static_int(bins, "histogram_bin_edges", "bins")
    if n < 1:
        raise ArgumentError("needs at least one bin", op="histogram_bin_edges", bins=n)
    if range is None:
        if not a.size:
            low, high = array(0.0, dtype), array(1.0, dtype)
        else:
            low, high = astype(reduction.min(a), dtype), astype(reduction.max(a), dtype)
    else:
        pair = listed(range, "histogram_bin_edges", "range")
        if len(pair) != 2:
            summary = "range is a pair: the smallest and the largest number"
            raise ArgumentError(summary, op=called("histogram_bin_edges"), range=range)
        low, high = (astype(array(r), dtype) for r in pair)
    flat = ufuncs.equal(low, high)
    low = ufuncs.where(flat, ufuncs.subtract(low, 0.5), low)
    high = ufuncs.where(flat, ufuncs.add(high, 0.5), high)
    return linspace(low, high, n + 1, dtype=dtype)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """(counts, edges): how many elements, or what weight of them, lies in each bin.

    Bins take their lower edge, the last one its upper edge too.

    >>> jnp.histogram(jnp.array([1, 2, 2, 4]), bins=3)
    (Array([1., 2., 1.], dtype=float32), Array([1., 2., 3., 4.], dtype=float32))
    >>> jnp.histogram(jnp.array([1, 2, 9]), bins=jnp.array([0, 2, 4]))
    (Array([1., 1.], dtype=float32), Array([0., 2., 4.], dtype=float32))
    """
    a = value("histogram", a)
    edges = histogram_bin_edges(a, bins, range)
    x, edges = promote_dtypes("histogram", (ravel(a), edges), lenient=True)
    n = edges.shape[0] - 1
    if weights is None:
        w = constant(np.ones((), x.dtype))
    else:
        w = value("histogram", weights, 3)
        if w.shape != a.shape:
            raise ShapeError("needs one weight for each element", op="histogram", a=a, weights=w)
        w = ravel(to_inexact("histogram", promote_dtypes("histogram", (a, w), lenient=True)[1]))
    places = _bins(x, edges)
    zeros = ops.broadcast_to(constant(np.zeros((), w.dtype)), (n,))
    counts = At(zeros)[places].add(w, mode="drop")
    if density:
        widths = diff(edges)
        counts = ufuncs.true_divide(
            counts, ufuncs.multiply(astype(widths, counts.dtype), reduction.sum(counts))
        )
    return counts, edges


def _bins(x: Any, edges: Any) -> Any:
    """The number of the bin of each element; the number of bins for those outside."""
    n = edges.shape[0] - 1
    place = ufuncs.subtract(searchsorted(edges, x, "right"), 1)
    place = ufuncs.where(ufuncs.equal(x, edges[n]), n - 1, place)
    outside = ufuncs.logical_or(ufuncs.less(place, 0), isnan(x))
    return ufuncs.where(outside, n, place)


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """(counts, edges for each dimension) of points, one a row of sample.

    >>> counts, edges = jnp.histogramdd(jnp.array([[0, 0], [1, 1], [1, 1]]), bins=2)
    >>> counts, edges[0]
    (Array([[1, 0],
            [0, 2]], dtype=int32),
     Array([0. , 0.5, 1. ], dtype=float32))
    """
    if isinstance(sample, list | tuple):
        columns = [value("histogramdd", c) for c in sample]
    else:
        sample = value("histogramdd", sample)
        if sample.ndim != 2:
            raise ShapeError(
                "needs points in the rows of a matrix", op="histogramdd", sample=sample
            )
        columns = list(rows(sample, 1))
    ndim = len(columns)
    if isinstance(bins, int | np.integer):
        bins = [bins] * ndim
    bins = listed(bins, "histogramdd", "bins")
    if len(bins) != ndim:
        summary = f"needs bins for each of {several(ndim, 'dimension')}"
        raise ShapeError(summary, op="histogramdd", bins=several(len(bins), "entry", "entries"))
    ranges = [None] * ndim if range is None else listed(range, "histogramdd", "range")
    if len(ranges) != ndim:
        summary = f"needs a range for each of {several(ndim, 'dimension')}"
        raise ShapeError(summary, op="histogramdd", range=range)
    edges, places = [], []
    for column, b, r in zip(columns, bins, ranges, strict=True):
        e = histogram_bin_edges(column, b, r)
        x, e = promote_dtypes("histogramdd", (column, e), lenient=True)
        edges.append(e)
        places.append(_bins(x, e))
    w = constant(np.ones((), dtypes.default_int()))
    if weights is not None:
        w = value("histogramdd", weights, 3)
        if w.shape != columns[0].shape:
            summary = f"needs one weight for each of {several(columns[0].size, 'point')}"
            raise ShapeError(summary, op="histogramdd", weights=w)
    shape = tuple(e.shape[0] - 1 for e in edges)
    zeros = ops.broadcast_to(constant(np.zeros((), w.dtype)), shape)
    counts = At(zeros)[tuple(places)].add(w, mode="drop")
    if density:
        counts = promote_dtypes("histogramdd", (counts, *edges), lenient=True)[0]
        total = reduction.sum(counts)
        for k, e in enumerate(edges):
            sizes = [1] * ndim
            sizes[k] = shape[k]
            widths = ops.reshape(astype(diff(e), counts.dtype), sizes)
            counts = ufuncs.true_divide(counts, widths)
        counts = ufuncs.true_divide(counts, total)
    return counts, edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """(counts, edges of x, edges of y) of points in the plane.

    >>> counts, *_ = jnp.histogram2d(jnp.array([0, 1, 1]), jnp.array([0, 3, 3]), bins=2)
    >>> counts
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x, y = value("histogram2d", x), value("histogram2d", y, 1)
    if x.shape != y.shape or x.ndim != 1:
        raise ShapeError("needs two vectors of one size", op="histogram2d", x=x, y=y)
    pair: Sequence[Any]
    if isinstance(bins, list | tuple) and len(bins) == 2:
        pair = bins
    else:
        pair = [bins, bins]
    counts, edges = histogramdd([x, y], pair, range, weights, density)
    return counts, edges[0], edges[1]
