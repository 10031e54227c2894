"""Order statistics and correlations: median, quantile, percentile, cov, corrcoef."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import COMPLEX, INEXACT
from plait.core.plain import is_one_of, known_number
from plait.core.source import called
from plait.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError, describe, several
from plait.numpy import contraction, reduction, ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.indexing import take_along_axis
from plait.numpy.manipulation import concatenate
from plait.numpy.parts import ceil, floor, imag, isinf, isnan, real
from plait.numpy.pieces import diagonal
from plait.numpy.promotion import (
    astype,
    axes_in,
    inexact,
    known,
    out_is_none,
    promote_dtypes,
    to_dtype,
    to_inexact,
    value,
)
from plait.ops import axes as ops
from plait.ops import cumulative, slices
from plait.ops import sort as sorting

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


@at_once(operands=1)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The value below which a share q (0..1) of the elements along axes lies.

    Methods between two elements: "linear", "lower", "higher", "midpoint", "nearest" (the lower in
    the middle). "inverted_cdf": the first element that, with those before it, makes up the share q
    of all, counted by weights if given, of the shape of `a` or of its axes. NaN if one of the
    elements is NaN. Several q come first in the result.

    >>> jnp.quantile(jnp.array([1.0, 2.0, 3.0, 5.0]), jnp.array([0.5, 1.0]))
    Array([2.5, 5. ], dtype=float32)
    >>> jnp.quantile(jnp.array([1.0, 2.0, 3.0, 5.0]), 0.5, method="lower")
    Array(2., dtype=float32)
    >>> jnp.quantile(jnp.arange(3.0), 0.5, method="inverted_cdf", weights=jnp.array([1, 1, 3]))
    Array(2., dtype=float32)
    """
    return _quantile("quantile", a, q, 1.0, axis, out, overwrite_input, method, keepdims, weights)


@at_once(operands=1)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """As quantile, with q in percent (0..100).

    >>> jnp.percentile(jnp.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]]), 25, axis=1)
    Array([1.5, 4. ], dtype=float32)
    """
    return _quantile(
        "percentile", a, q, 100.0, axis, out, overwrite_input, method, keepdims, weights
    )


@at_once(operands=1)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The quantile of the elements that are not NaN.

    >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 2.0, 5.0]), 0.5)
    Array(2., dtype=float32)
    """
    return _quantile(
        "nanquantile", a, q, 1.0, axis, out, overwrite_input, method, keepdims, weights, True
    )


@at_once(operands=1)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The percentile of the elements that are not NaN.

    >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 75)
    Array(2.5, dtype=float32)
    """
    return _quantile(
        "nanpercentile", a, q, 100.0, axis, out, overwrite_input, method, keepdims, weights, True
    )


@at_once(operands=1)
def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle element along axes, or the mean of the two in the middle.

    >>> jnp.median(jnp.array([[7, 1, 3], [4, 8, 6]]), axis=1), jnp.median(jnp.array([1, 2, 5, 9]))
    (Array([3., 6.], dtype=float32), Array(3.5, dtype=float32))
    """
    return _quantile("median", a, 0.5, 1.0, axis, out, overwrite_input, "midpoint", keepdims, None)


@at_once(operands=1)
def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The median of the elements that are not NaN.

    >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 2.0, 9.0]))
    Array(2., dtype=float32)
    """
    return _quantile(
        "nanmedian", a, 0.5, 1.0, axis, out, overwrite_input, "midpoint", keepdims, None, True
    )


def _quantile(
    op: str,
    a: Any,
    q: Any,
    scale: float,
    axis: Any,
    out: Any,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    weights: Any,
    ignore_nan: bool = False,
) -> Any:
    out_is_none(op, out)
    if overwrite_input:
        fix = "overwrite_input=False"
        raise UnsupportedError("arrays do not change in place", op=op, fix=fix)
    if not is_one_of(method, _METHODS):
        fix = f"one of {_METHODS}"
        raise ArgumentError(f"there is no method {describe(method)!r}", op=op, fix=fix)
    if weights is not None and method != "inverted_cdf":
        summary = f"method {method!r} knows no weights"
        raise UnsupportedError(summary, op=op, fix="method='inverted_cdf'")
    a = to_inexact(op, value(op, a))
    if a.dtype in COMPLEX:
        raise DtypeError("complex numbers have no order", op=op, a=a)
    a, q = promote_dtypes(op, (a, value(op, q, 1)), lenient=True)
    if q.ndim > 1:
        raise ShapeError("q is a number or a vector", op=op, q=q)
    axes = axes_in(axis, a.ndim, op)
    shape = a.shape
    kept = [k for k in range(a.ndim) if k not in axes]
    n = math.prod(shape[k] for k in axes)

    def rows(x: Any) -> Any:
        x = ops.permute(x, [*kept, *sorted(axes)])
        return ops.reshape(x, (*(shape[k] for k in kept), n))

    if weights is not None:
        weights = rows(_spread_weights(op, a, weights, axes, axis))
    q = ufuncs.true_divide(q, np.asarray(scale, q.dtype))
    y = _of_rows(op, rows(a), q, method, ignore_nan, weights)
    if keepdims:
        ones = [1 if k in axes else m for k, m in enumerate(shape)]
        y = ops.reshape(y, (*q.shape, *ones))
    return y


def _spread_weights(op: str, a: Any, weights: Any, axes: tuple[int, ...], axis: Any) -> Any:
    """Weights in the shape of `a`: given so, or for the axes alone, in their order."""
    weights = value(op, weights)
    if weights.shape == a.shape:
        return weights
    if axis is None or weights.shape != tuple(a.shape[k] for k in axes):
        raise ShapeError("weights have the shape of a, or of its axes", op=op, a=a, weights=weights)
    weights = ops.permute(weights, sorted(range(len(axes)), key=lambda k: axes[k]))
    return ops.broadcast_in_dim(weights, a.shape, sorted(axes))


def _of_rows(op: str, x: Any, q: Any, method: str, ignore_nan: bool, weights: Any) -> Any:
    """Quantiles along the last axis, which q's axis, if it has one, replaces as the first."""
    dtype = x.dtype
    # Positions are counted in float32 at least: half precision cannot count far.
    work = dtypes.float32 if dtype.itemsize < 4 else dtype
    n = x.shape[-1]
    shape = (*q.shape, *x.shape[:-1])
    nan = np.asarray(np.nan).astype(dtype)
    if not n:
        return ops.broadcast_to(value(op, nan), shape)
    missing = isnan(x)
    if weights is None:
        x = sorting.sort(x, x.ndim - 1)
    else:
        weights = astype(weights, work)
        x, weights = sorting.sort((x, ufuncs.where(missing, 0, weights)), x.ndim - 1)
    q = ops.reshape(astype(q, work), (*q.shape, *(1,) * (x.ndim - 1)))
    if ignore_nan:
        count = reduction.sum(ufuncs.logical_not(missing), -1, work)
        last: Any = ufuncs.subtract(count, 1)
        nothing: Any = ufuncs.equal(count, 0)
    else:
        last, nothing = np.asarray(n - 1, work), reduction.any(missing, -1)
    if weights is not None:
        place = _place_by_weight(weights, q)
    elif method == "inverted_cdf":
        place = ufuncs.subtract(ceil(ufuncs.multiply(q, ufuncs.add(last, 1))), 1)
    else:
        place = ufuncs.multiply(q, last)
    low, high = floor(place), ceil(place)
    share = ufuncs.subtract(place, low)

    def pick(position: Any) -> Any:
        position = ufuncs.clip(position, 0, n - 1)
        position = ops.broadcast_to(astype(position, dtypes.int32), shape)
        if len(shape) == x.ndim:  # q has an axis, the first
            index = ops.reshape(position, (*shape, 1))
            return ops.reshape(
                take_along_axis(ops.reshape(x, (1, *x.shape)), index, -1, mode="clip"), shape
            )
        index = ops.reshape(position, (*shape, 1))
        return ops.reshape(take_along_axis(x, index, -1, mode="clip"), shape)

    below, above = astype(pick(low), work), astype(pick(high), work)
    if method in ("lower", "inverted_cdf"):
        y = below
    elif method == "higher":
        y = above
    elif method == "midpoint":
        # The sum of the two might overflow. Infinities of two signs have no middle.
        y = ufuncs.add(ufuncs.multiply(below, 0.5), ufuncs.multiply(above, 0.5))
    elif method == "nearest":
        y = ufuncs.where(ufuncs.greater(share, 0.5), above, below)
    else:
        y = _between(below, above, share)
    invalid = ufuncs.logical_or(ufuncs.less(q, 0), ufuncs.greater(q, 1))
    invalid = ufuncs.logical_or(invalid, nothing)
    return ufuncs.where(invalid, nan, astype(y, dtype))


def _place_by_weight(weights: Any, q: Any) -> Any:
    """How many of the sorted elements, with those before them, do not make up the share q."""
    sums = cumulative.cumsum(weights, weights.ndim - 1)
    shares = ufuncs.true_divide(sums, slices.slice_in_dim(sums, -1, None, axis=-1))
    # An element without weight is never the answer, not even to q = 0.
    short = ufuncs.less(shares, ops.reshape(q, (*q.shape, 1)))
    short = ufuncs.logical_or(short, ufuncs.equal(shares, 0))
    return astype(reduction.sum(short, -1), weights.dtype)


def _between(below: Any, above: Any, share: Any) -> Any:
    weighted = ufuncs.add(
        ufuncs.multiply(below, ufuncs.subtract(1, share)), ufuncs.multiply(above, share)
    )
    # 0 * inf is NaN: where nothing of the other end is taken, this end is the answer.
    equal = ufuncs.equal(below, above)
    whole = ufuncs.logical_or(ufuncs.equal(share, 0), ufuncs.logical_and(equal, isinf(below)))
    # Between equal numbers lies that number, exactly; both have their share of the derivative.
    inside = ufuncs.add(below, ufuncs.multiply(ufuncs.subtract(above, below), share))
    return ufuncs.where(whole, below, ufuncs.where(equal, inside, weighted))


# --- correlation


@at_once(operands=1)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables, one a row (a column with rowvar=False).

    fweights are counts, aweights weights of the observations; the divisor is n - ddof, ddof 1, or 0
    with bias.

    >>> jnp.cov(jnp.array([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    Array([[ 1., -2.],
           [-2.,  4.]], dtype=float32)
    """
    if dtype is not None and to_dtype(dtype) not in INEXACT:
        raise DtypeError(
            "the result is of floats or complex numbers", op=called("cov"), dtype=dtype
        )
    x = _variables("cov", m, rowvar)
    if y is not None:
        x = concatenate(promote_dtypes("cov", (x, _variables("cov", y, rowvar))), 0)
    if dtype is not None:
        x = astype(x, to_dtype(dtype))
    elif x.dtype not in INEXACT:
        x = astype(x, inexact(x.dtype))
    ddof = (0 if bias else 1) if ddof is None else known_number(ddof, "cov", "ddof")
    real = dtypes.real_of(x.dtype)
    n = x.shape[1]
    if n == 0:
        shape = (x.shape[0],) * (0 if x.shape[0] == 1 else 2)
        return ops.broadcast_to(value("cov", np.asarray(np.nan).astype(x.dtype)), shape)
    weights = None
    if fweights is not None:
        weights = astype(_weights("cov", fweights, n, "fweights", integers=True), real)
    if aweights is not None:
        extra = astype(_weights("cov", aweights, n, "aweights", integers=False), real)
        weights = extra if weights is None else ufuncs.multiply(weights, extra)
    else:
        extra = None
    if weights is None:
        centre = reduction.mean(x, 1, keepdims=True)
        divisor: Any = np.asarray(n - ddof, real)
        x = ufuncs.subtract(x, centre)
        weighted = x
    else:
        total = reduction.sum(weights)
        share = ufuncs.true_divide(weights, total)
        centre = reduction.sum(ufuncs.multiply(x, share), 1, keepdims=True)
        if ddof == 0:
            divisor = total
        elif extra is None:
            divisor = ufuncs.subtract(total, ddof)
        else:
            squares = reduction.sum(ufuncs.multiply(weights, extra))
            divisor = ufuncs.subtract(
                total, ufuncs.true_divide(ufuncs.multiply(ddof, squares), total)
            )
        x = ufuncs.subtract(x, centre)
        weighted = ufuncs.multiply(x, weights)
    result = ufuncs.true_divide(
        contraction.matmul(x, ufuncs.conjugate(weighted.T), precision="highest"), divisor
    )
    return ops.reshape(result, ()) if result.shape == (1, 1) else result


def _variables(op: str, m: Any, rowvar: bool) -> Any:
    x = value(op, m)
    if x.ndim > 2:
        raise ShapeError("needs a vector or a matrix", op=op, m=x)
    if x.ndim < 2:
        return ops.reshape(x, (1, x.size))
    return x if rowvar else ops.permute(x, (1, 0))


def _weights(op: str, weights: Any, n: int, name: str, integers: bool) -> Any:
    w = value(op, weights)
    if w.shape != (n,):
        summary = f"needs one weight for each of {several(n, 'observation')}"
        raise ShapeError(summary, op=op, **{name: w})
    if integers and w.dtype not in dtypes.INTEGER:
        raise DtypeError(f"{name} are counts, so integers", op=op, **{name: w})
    host = known(w)
    if host is not None and (host < 0).any():
        raise ArgumentError(f"{name} must not be negative", op=op, **{name: host.tolist()})
    return w


@at_once(operands=1)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The matrix of correlation coefficients of variables, one a row (a column with rowvar=False).

    >>> jnp.corrcoef(jnp.array([0.0, 1.0, 2.0]), jnp.array([4.0, 2.0, 0.0]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return ufuncs.true_divide(c, c)
    deviation = ufuncs.functions.sqrt(real(diagonal(c)))
    n = c.shape[0]
    c = ufuncs.true_divide(c, astype(ops.reshape(deviation, (n, 1)), c.dtype))
    c = ufuncs.true_divide(c, astype(ops.reshape(deviation, (1, n)), c.dtype))
    if c.dtype in COMPLEX:
        parts = (ufuncs.clip(p, -1, 1) for p in (real(c), imag(c)))
        return ufuncs.functions.complex(*parts)
    return ufuncs.clip(c, -1, 1)


__all__ = [
    "corrcoef",
    "cov",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]
