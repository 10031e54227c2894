"""Statistics of samples along an axis: mode, rankdata, sem."""

from __future__ import annotations

from typing import Any, NamedTuple

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of
from plait.errors import ArgumentError, UnsupportedError
from plait.numpy.promotion import axis_in, to_inexact, value
from plait.ops.cumulative import cummax, cummin
from plait.ops.sort import sort
from plait.transforms.choices import PerChoice


class ModeResult(NamedTuple):
    """The most frequent values, and how often each occurs: two arrays of one shape.

    >>> from plait.scipy import stats
    >>> stats.mode(jnp.array([[3, 1], [3, 2]])).count
    Array([2, 1], dtype=int32)
    """

    mode: Any
    count: Any


def _propagates(op: str, nan_policy: str, others: tuple[str, ...] = ()) -> None:
    if nan_policy not in ("propagate", *others):
        allowed = " or ".join(repr(p) for p in ("propagate", *others))
        kind = UnsupportedError if nan_policy in ("omit", "raise") else ArgumentError
        raise kind(f"nan_policy is {allowed}", op=op, nan_policy=nan_policy)


def _runs(x: Any) -> tuple[Any, Any]:
    """Where the run of equal numbers of each begins and ends; x is sorted along axis 0."""
    n = x.shape[0]
    at = jnp.reshape(jnp.arange(n, dtype=dtypes.int32), (n,) + (1,) * (x.ndim - 1))
    at = jnp.broadcast_to(at, x.shape)
    changes = jnp.not_equal(x[1:], x[:-1])
    edge = jnp.ones((1, *x.shape[1:]), bool)
    first = cummax(jnp.where(jnp.concatenate([edge, changes]), at, 0), 0)
    last = cummin(jnp.where(jnp.concatenate([changes, edge]), at, n - 1), 0, reverse=True)
    return first, last


@PerChoice
def _mode(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    shape = x.shape
    x = jnp.reshape(x, -1) if axis is None else jnp.moveaxis(x, axis, 0)
    x = jnp.sort(x, axis=0)
    first, last = _runs(x)
    count = last - first + 1
    if x.dtype in dtypes.INEXACT:
        # NaNs differ from one another, but count as one value.
        nan = jnp.isnan(x)
        count = jnp.where(nan, jnp.sum(nan, 0, dtype=count.dtype, keepdims=True), count)
    where = jnp.argmax(count, 0, keepdims=True)
    found = [jnp.take_along_axis(v, where, 0)[0] for v in (x, count)]
    if keepdims:
        kept = (1,) * len(shape) if axis is None else (*shape[:axis], 1, *shape[axis + 1 :])
        found = [jnp.reshape(v, kept) for v in found]
    return ModeResult(*found)


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along an axis (None: of all), the smallest of several, and its count.

    NaN and 0 where there is nothing. Shapes: without the axis, or of size 1 there with keepdims.
    Dtype unchanged, the count is int32. Raises: OutOfRangeError; ArgumentError for other values of
    nan_policy than "propagate".

    >>> from plait.scipy import stats
    >>> stats.mode(jnp.array([3, 1, 3]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    op = "mode"
    _propagates(op, nan_policy)
    x = jnp.atleast_1d(value(op, a))
    axis = None if axis is None else axis_in(axis, x.ndim, op)
    if x.size:
        return _mode(x, axis=axis, keepdims=bool(keepdims))
    shape = [n for k, n in enumerate(x.shape) if axis is not None and k != axis]
    if keepdims:
        shape = [1 if axis is None or k == axis else n for k, n in enumerate(x.shape)]
    return ModeResult(jnp.full(shape, jnp.nan), jnp.zeros(shape))


_METHODS = ("average", "min", "max", "dense", "ordinal")


@PerChoice
def _ranks(x: Any, *, method: str, axis: int | None) -> Any:
    x = jnp.reshape(x, -1) if axis is None else jnp.moveaxis(x, axis, 0)
    at = jnp.reshape(jnp.arange(x.shape[0]), (-1,) + (1,) * (x.ndim - 1))
    ordered, order = sort((x, jnp.broadcast_to(at, x.shape)), dimension=0, num_keys=1)
    first, last = _runs(ordered)
    if method == "ordinal":
        rank = at + jnp.zeros_like(first)
    elif method == "dense":
        rank = jnp.cumsum((first == at).astype(first.dtype), axis=0) - 1
    elif method == "average":
        rank = 0.5 * (first + last)
    else:
        rank = first if method == "min" else last
    rank = (rank + 1).astype(dtypes.default_float())
    _, y = sort((order, rank), dimension=0, num_keys=1)
    if x.dtype in dtypes.FLOAT:
        y = jnp.where(jnp.any(jnp.isnan(x), 0, keepdims=True), jnp.nan, y)
    return y if axis is None else jnp.moveaxis(y, 0, axis)


def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """The ranks of numbers among those along an axis (None: among all, flattened), from 1 on.

    Equal numbers get the "average" of their ranks, the "min" or the "max"; by "dense" the next
    number has the next rank; by "ordinal" they count in their order. NaN makes all ranks NaN.
    Shapes: that of a, [a.size] for None; of the default float. Derivative: 0.
    Raises: OutOfRangeError; ArgumentError for other methods and policies.

    >>> from plait.scipy import stats
    >>> stats.rankdata(jnp.array([30, 10, 30]))
    Array([2.5, 1. , 2.5], dtype=float32)
    >>> stats.rankdata(jnp.array([30, 10, 30]), "dense")
    Array([2., 1., 2.], dtype=float32)
    """
    op = "rankdata"
    _propagates(op, nan_policy)
    if not is_one_of(method, _METHODS):
        raise ArgumentError(f"method is one of {', '.join(_METHODS)}", op=op, method=method)
    x = value(op, a)
    axis = None if axis is None else axis_in(axis, x.ndim, op)
    return _ranks(x, method=method, axis=axis)


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The standard error of the mean along an axis (None: of all): the standard deviation, with
    ddof taken off the count, over the root of the count.

    Shapes: without the axis, or of size 1 there with keepdims. Integers become floats. nan_policy
    "omit" leaves NaNs out, "propagate" does not. Raises: OutOfRangeError; ArgumentError.

    >>> from plait.scipy import stats
    >>> stats.sem(jnp.array([1.0, 3.0, 5.0])).round(4)
    Array(1.1547, dtype=float32)
    """
    _propagates("sem", nan_policy, ("omit",))
    x = value("sem", to_inexact("sem", a))
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(x), axis, keepdims=keepdims).astype(x.dtype)
        return jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count)
    size = x.size if axis is None else x.shape[axis_in(axis, x.ndim, "sem")]
    return jnp.std(x, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(jnp.asarray(size, x.dtype))


__all__ = ["ModeResult", "mode", "rankdata", "sem"]
