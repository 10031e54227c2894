"""Order and search: sort, searchsorted, nonzero and what is built on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, INEXACT
from plait.core.plain import is_one_of, listed
from plait.core.source import called
from plait.core.types import type_of
from plait.errors import ArgumentError, ConcretizationTypeError, ShapeError, describe, several
from plait.numpy import ufuncs
from plait.numpy.indexing import take, take_along_axis
from plait.numpy.manipulation import flip, moveaxis, ravel, rows, stack
from plait.numpy.parts import isnan
from plait.numpy.promotion import (
    astype,
    axis_in,
    constant,
    inexact,
    is_traced_or_device,
    known,
    out_is_none,
    promote,
    promote_dtypes,
    static_int,
    to_inexact,
    value,
)
from plait.numpy.reduction import sum as total
from plait.numpy.updating import At
from plait.ops import axes as ops
from plait.ops import compare
from plait.ops import sort as sorting
from plait.ops.iota import iota_p
from plait.ops.slices import slice_in_dim

# --- sorting


_KINDS = ("quicksort", "mergesort", "heapsort", "stable")


def _along(op: str, a: Any, axis: int | None, kind: Any, order: Any) -> tuple[Any, int]:
    a = value(op, a)
    if order is not None:
        raise ArgumentError("arrays have no fields, so `order` must be None", op=op, order=order)
    if kind is not None and not is_one_of(kind, _KINDS):
        fix = f"one of {list(_KINDS)}, which sort alike"
        raise ArgumentError(f"there is no kind {describe(kind)!r}", op=op, fix=fix)
    if axis is None:
        return ravel(a), 0
    return a, axis_in(axis, a.ndim, op)


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """`a` sorted along an axis (flattened with None), increasing; NaN comes last.

    >>> jnp.sort(jnp.array([3.0, jnp.nan, 1.0])), jnp.sort(jnp.array([[3, 1], [2, 5]]), axis=0)
    (Array([ 1.,  3., nan], dtype=float32),
     Array([[2, 1],
            [3, 5]], dtype=int32))
    >>> jnp.sort(jnp.array([3, 1, 2]), descending=True)
    Array([3, 2, 1], dtype=int32)
    """
    a, axis = _along("sort", a, axis, kind, order)
    y = sorting.sort(a, axis, stable)
    return ops.rev(y, (axis,)) if descending else y


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """The positions that sort `a` along an axis; equal elements keep their order.

    >>> jnp.argsort(jnp.array([30, 10, 20, 10]))
    Array([1, 3, 2, 0], dtype=int32)
    """
    a, axis = _along("argsort", a, axis, kind, order)
    if not descending:
        return astype(sorting.argsort(a, axis, stable), dtypes.default_int())
    # Sorted backwards and read backwards, equal elements keep their order.
    places = ops.rev(sorting.argsort(ops.rev(a, (axis,)), axis, stable), (axis,))
    return astype(ufuncs.subtract(a.shape[axis] - 1, places), dtypes.default_int())


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions that sort by several keys, the last one first of all.

    >>> jnp.lexsort((jnp.array([9, 4, 1]), jnp.array([1, 2, 1])))
    Array([2, 0, 1], dtype=int32)
    """
    found = list(keys) if isinstance(keys, list | tuple) else list(rows(value("lexsort", keys)))
    if not found:
        raise ArgumentError("needs at least one key", op="lexsort")
    found = [value("lexsort", k) for k in found]
    shape = found[0].shape
    if any(k.shape != shape for k in found):
        raise ShapeError(
            "the keys have different shapes", op="lexsort", keys=[k.shape for k in found]
        )
    if not shape:
        return constant(np.zeros((), dtypes.default_int()))
    axis = axis_in(axis, len(shape), "lexsort")
    places = iota_p.bind(shape=shape, dtype=dtypes.int32, axis=axis)
    order = sorting.sort([*found[::-1], places], axis, True, len(found))[-1]
    return astype(order, dtypes.default_int())


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """`a` with its kth smallest element in place kth, smaller ones before it: here, sorted.

    >>> jnp.partition(jnp.array([5, 1, 4, 2, 3]), 2)[:3]
    Array([1, 2, 3], dtype=int32)
    """
    a = value("partition", a)
    _check_kth("partition", a, kth, axis)
    return sort(a, axis)


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The positions of `partition`.

    >>> jnp.argpartition(jnp.array([5, 1, 4]), 0)[0]
    Array(1, dtype=int32)
    """
    a = value("argpartition", a)
    _check_kth("argpartition", a, kth, axis)
    return argsort(a, axis)


def _check_kth(op: str, a: Any, kth: int, axis: int) -> None:
    n = a.shape[axis_in(axis, a.ndim, op)]
    if not -n <= static_int(kth, op, "kth") < n:
        raise ArgumentError("kth is a position along the axis", op=op, a=a, kth=kth)


def sort_complex(a: Any) -> Any:
    """`a` sorted along its last axis, as complex numbers.

    >>> jnp.sort_complex(jnp.array([2, 1 + 3j, 1 + 1j]))
    Array([1.+1.j, 1.+3.j, 2.+0.j], dtype=complex64)
    """
    y = sort(a)
    return y if y.dtype in COMPLEX else astype(y, dtypes.complex_of(inexact(y.dtype)))


def top_k(x: Any, k: int, /, *, axis: int = -1) -> tuple[Any, Any]:
    """(the k largest elements along an axis, largest first, their positions).

    >>> jnp.top_k(jnp.array([3, 9, 1, 7]), 2)
    (Array([9, 7], dtype=int32), Array([1, 3], dtype=int32))
    """
    values, places = sorting.top_k(value("top_k", x), k, axis=axis)
    return values, places


# --- searching in sorted arrays


_SEARCHES = ("scan", "scan_unrolled", "sort", "compare_all", "default")


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Where elements of v go in the sorted vector `a`: before ("left") or after equal ones.

    >>> jnp.searchsorted(jnp.array([10, 20, 20, 30]), jnp.array([5, 20, 99]))
    Array([0, 1, 4], dtype=int32)
    >>> jnp.searchsorted(jnp.array([10, 20, 20, 30]), 20, side="right")
    Array(3, dtype=int32)
    """
    if side not in ("left", "right"):
        raise ArgumentError("side is 'left' or 'right'", op="searchsorted", side=side)
    if not is_one_of(method, _SEARCHES):
        fix = f"one of {_SEARCHES}"
        raise ArgumentError("there is no such method", op="searchsorted", method=method, fix=fix)
    a, v = promote_dtypes("searchsorted", (a, v))
    if a.ndim != 1:
        raise ShapeError("needs a vector to search in", op="searchsorted", a=a)
    if sorter is not None:
        a = take(a, sorter)
        if a.ndim != 1:
            raise ShapeError("sorter is a vector", op="searchsorted", sorter=sorter)
    n = a.shape[0]
    index = dtypes.int32 if n < 2**31 else dtypes.int64
    if not n:
        return ops.broadcast_to(constant(np.zeros((), index)), v.shape)
    if n <= 64 or n * v.size <= 2**16 or method == "compare_all":
        table = ops.reshape(v, (*v.shape, 1))
        before = ufuncs.logical_not(_less(table, a)) if side == "right" else _less(a, table)
        return total(before, -1, index)
    low = ops.broadcast_to(constant(np.zeros((), index)), v.shape)
    high = ops.broadcast_to(constant(np.asarray(n, index)), v.shape)
    for _ in range(math.ceil(math.log2(n + 1))):
        middle = ufuncs.add(low, ufuncs.right_shift(ufuncs.subtract(high, low), 1))
        found = take(a, middle, mode="clip")
        right = ufuncs.logical_not(_less(v, found)) if side == "right" else _less(found, v)
        right = ufuncs.logical_and(right, ufuncs.less(low, high))
        low = ufuncs.where(right, ufuncs.add(middle, 1), low)
        high = ufuncs.where(right, high, middle)
    return low


def _less(x: Any, y: Any) -> Any:
    """X < y in the order of sort, NaN last."""
    less = ufuncs.less(x, y)
    if type_of(x).dtype not in INEXACT:
        return less
    return ufuncs.logical_or(less, ufuncs.logical_and(isnan(y), compare.eq(x, x)))


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the interval of increasing (or decreasing) bins in which each x lies.

    >>> jnp.digitize(jnp.array([0.5, 1.0, 9.0]), jnp.array([0, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    bins = value("digitize", bins, 1)
    if bins.ndim != 1:
        raise ShapeError("bins must be a vector", op="digitize", bins=bins)
    side = "right" if not right else "left"
    n = bins.shape[0]
    if not n:
        shape = value("digitize", x).shape
        return ops.broadcast_to(constant(np.zeros((), np.int32)), shape)
    up = searchsorted(bins, x, side)
    down = ufuncs.subtract(n, searchsorted(flip(bins), x, side))
    rising = ufuncs.greater_equal(bins[n - 1], bins[0])
    return ufuncs.where(rising, up, down)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The value at x of the broken line through the points (xp, fp), xp increasing.

    left and right are the values outside (the ends by default; "extrapolate" goes on).

    >>> jnp.interp(jnp.array([0.5, 1.5, 9.0]), jnp.array([0, 1, 2]), jnp.array([0, 10, 30]))
    Array([ 5., 20., 30.], dtype=float32)
    """
    xp, fp = value("interp", xp, 1), value("interp", fp, 2)
    if xp.ndim != 1 or fp.shape != xp.shape or not xp.size:
        raise ShapeError(
            "xp and fp must be vectors of one size, not empty", op="interp", xp=xp, fp=fp
        )
    x, xp = (to_inexact("interp", v) for v in promote_dtypes("interp", (x, xp)))
    fp = to_inexact("interp", fp)
    if period is not None:
        period = ufuncs.abs(period)
        x, xp = ufuncs.remainder(x, period), ufuncs.remainder(xp, period)
        xp, fp = sorting.sort([xp, fp])
        from plait.numpy.manipulation import concatenate

        last, first = slice_in_dim(xp, -1, None), slice_in_dim(xp, 0, 1)
        xp = concatenate([ufuncs.subtract(last, period), xp, ufuncs.add(first, period)])
        fp = concatenate([slice_in_dim(fp, -1, None), fp, slice_in_dim(fp, 0, 1)])
    n = xp.shape[0]
    i = ufuncs.clip(searchsorted(xp, x, "right"), 1, max(n - 1, 1))
    before = ufuncs.subtract(i, 1)
    x0, x1 = take(xp, before, mode="clip"), take(xp, i, mode="clip")
    f0, f1 = take(fp, before, mode="clip"), take(fp, i, mode="clip")
    width = ufuncs.subtract(x1, x0)
    tiny = ufuncs.less_equal(ufuncs.abs(width), float(dtypes.finfo(xp.dtype).tiny))
    slope = ufuncs.true_divide(ufuncs.subtract(f1, f0), ufuncs.where(tiny, 1, width))
    y = ufuncs.add(f0, ufuncs.multiply(ufuncs.subtract(x, x0), slope))
    y = ufuncs.where(tiny, f0, y)
    if period is not None:
        return y
    if not isinstance(left, str):
        y = ufuncs.where(ufuncs.less(x, xp[0]), fp[0] if left is None else left, y)
    if not isinstance(right, str):
        y = ufuncs.where(ufuncs.greater(x, xp[n - 1]), fp[n - 1] if right is None else right, y)
    for name, end in (("left", left), ("right", right)):
        if isinstance(end, str) and end != "extrapolate":
            summary = f"{name} is a number or 'extrapolate'"
            raise ArgumentError(summary, op="interp", **{name: end})
    return y


# --- positions of elements


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The positions of the elements that are not 0, one array an axis.

    In a trace their number is not known: `size` fixes it, fill_value (0, or one for each axis)
    stands in what is left over.

    >>> jnp.nonzero(jnp.array([[0, 5], [7, 0]])), jnp.nonzero(jnp.array([0, 5]), size=3)
    ((Array([0, 1], dtype=int32), Array([1, 0], dtype=int32)), (Array([1, 0, 0], dtype=int32),))

    Raises: ShapeError for an array without axes.
    """
    a = value("nonzero", a)
    if not a.ndim:
        fix = "jnp.atleast_1d(a), or jnp.flatnonzero(a)"
        raise ShapeError("an array without axes has no positions", op="nonzero", a=a, fix=fix)
    return _nonzero("nonzero", a, size, fill_value)


def _nonzero(op: str, a: Any, size: int | None, fill_value: Any) -> tuple[Any, ...]:
    if not a.ndim:
        a = ops.reshape(a, (1,))
    if size is None:
        host = known(a)
        if host is None:
            raise ConcretizationTypeError(
                "the number of elements that are not 0 is not known in a trace",
                op=op,
                a=a,
                fix="give size=, or use jnp.where(condition, x, y)",
            )
        return tuple(constant(p.astype(dtypes.default_int())) for p in np.nonzero(host))
    size = static_int(size, op, "size")
    mask = ravel(a if a.dtype in BOOL else ufuncs.not_equal(a, 0))
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * a.ndim
    if len(fills) != a.ndim:
        raise ArgumentError("needs one fill value for each axis", op=op, a=a, fill_value=fills)
    place, count = packed_positions(mask, size)
    there = ufuncs.less(iota_p.bind(shape=(size,), dtype=dtypes.int32, axis=0), count)
    result, stride = [], a.size
    for n, fill in zip(a.shape, fills, strict=True):
        stride //= max(n, 1)
        along = ufuncs.floor_divide(place, max(stride, 1))
        place = ufuncs.subtract(place, ufuncs.multiply(along, stride))
        along = ufuncs.where(there, along, 0 if fill is None else fill)
        result.append(astype(along, dtypes.default_int()))
    return tuple(result)


def packed_positions(mask: Any, size: int) -> tuple[Any, Any]:
    """(the positions at which a boolean vector is True, in `size` places, their number)."""
    from plait.numpy.cumulative import cumsum

    n = mask.shape[0]
    if size < 0:
        raise ArgumentError("size is at least 0", op=called(), size=size)
    if not n or not size:
        return constant(np.zeros(size, np.int32)), total(mask, dtype=dtypes.int32)
    counted = cumsum(mask, dtype=dtypes.int32)
    # Element number j that is True goes to place j; all others fall out.
    target = ufuncs.where(mask, ufuncs.subtract(counted, 1), size)
    numbers = iota_p.bind(shape=(n,), dtype=dtypes.int32, axis=0)
    place = At(constant(np.zeros(size, np.int32)))[target].set(numbers, mode="drop")
    return place, counted[n - 1]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions in the flattened array of the elements that are not 0.

    >>> jnp.flatnonzero(jnp.array([[0, 5], [7, 0]]))
    Array([1, 2], dtype=int32)
    """
    return _nonzero("flatnonzero", ravel(a), size, fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions of the elements that are not 0, one row each.

    >>> jnp.argwhere(jnp.array([[0, 5], [7, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    a = value("argwhere", a)
    found = _nonzero("argwhere", a, size, fill_value)
    if not a.ndim:
        return ops.reshape(stack(found, -1), (found[0].size, 1))[:, :0]
    return stack(found, -1)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """The slices of `a` along an axis at which a boolean vector holds.

    >>> jnp.compress(jnp.array([True, False, True]), jnp.arange(6).reshape(2, 3), axis=1)
    Array([[0, 2],
           [3, 5]], dtype=int32)
    """
    out_is_none("compress", out)
    a, condition = value("compress", a, 1), value("compress", condition)
    if condition.ndim != 1:
        raise ShapeError("the condition must be a vector", op="compress", condition=condition)
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_in(axis, a.ndim, "compress")
    a = moveaxis(a, axis, 0)
    n, m = a.shape[0], condition.shape[0]
    if m > n:
        extra = condition[n:]
        a = slice_in_dim(a, 0, n)
        if known(extra) is not None and np.any(known(extra)):
            summary = f"the condition is longer than the axis of size {n}"
            raise ShapeError(summary, op="compress", condition=condition)
        condition = condition[:n]
    elif m < n:
        a = slice_in_dim(a, 0, m)
    (places,) = nonzero(condition, size=size, fill_value=a.shape[0])
    picked = take(a, places, axis=0, mode="fill", fill_value=fill_value)
    return moveaxis(picked, 0, axis)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of the flattened array at which the condition holds.

    >>> jnp.extract(jnp.arange(6) % 2 == 1, jnp.arange(6) * 10)
    Array([10, 30, 50], dtype=int32)
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# --- choice among arrays


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """From the first choice whose condition holds, element by element, else the default.

    >>> x = jnp.arange(6)
    >>> jnp.select([x < 2, x < 4], [-x, 10 * x], default=99)
    Array([ 0, -1, 20, 30, 99, 99], dtype=int32)
    """
    condlist = listed(condlist, "select", "condlist")
    choicelist = listed(choicelist, "select", "choicelist")
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentError(
            "needs as many choices as conditions, at least one",
            op="select",
            condlist=several(len(condlist), "condition"),
            choicelist=several(len(choicelist), "choice"),
        )
    choices = promote("select", (*choicelist, default))
    result = choices[-1]
    for condition, choice in zip(condlist[::-1], choices[-2::-1], strict=True):
        result = ufuncs.where(condition, choice, result)
    return value("select", result)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """choices[a], element by element; mode "wrap" or "clip" for numbers outside.

    >>> jnp.choose(jnp.array([0, 1, 0]), [jnp.array([1, 2, 3]), 9])
    Array([1, 9, 3], dtype=int32)
    """
    out_is_none("choose", out)
    a = value("choose", a)
    if a.dtype in dtypes.INTEGER and a.dtype.itemsize < 4:
        a = astype(a, dtypes.int32)  # there may be more choices than fewer bits can count
    if is_traced_or_device(choices):
        choices = rows(choices)
    choices = listed(choices, "choose", "choices")
    n = len(choices)
    if mode == "raise":
        host = known(a)
        if host is None:
            raise ConcretizationTypeError(
                "mode 'raise' needs the values of `a`", op="choose", a=a, fix="mode='clip'"
            )
        if host.size and (host.min() < 0 or host.max() >= n):
            summary = f"a number is outside of the {several(n, 'choice')}"
            raise ArgumentError(summary, op="choose", a=host.tolist())
    elif mode == "wrap":
        a = ufuncs.remainder(a, n)
    elif mode == "clip":
        a = ufuncs.clip(a, 0, n - 1)
    else:
        raise ArgumentError("mode is 'raise', 'wrap' or 'clip'", op="choose", mode=mode)
    a, *found = ufuncs.broadcast_together("choose", a, *promote_dtypes("choose", choices))
    return compare.select_n(a, *found)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """A function given piece by piece: a value or function for each condition, and a default.

    >>> x = jnp.array([-2.0, 0.0, 3.0])
    >>> jnp.piecewise(x, [x < 0, x > 0], [jnp.negative, jnp.square, 7.0])
    Array([2., 7., 9.], dtype=float32)
    """
    x = value("piecewise", x)
    if not isinstance(condlist, list | tuple):
        condlist = [condlist]
    elif condlist and isinstance(condlist[0], bool):
        condlist = [condlist] if x.ndim else list(condlist)
    conditions = [
        value("piecewise", c if not isinstance(c, list) else np.asarray(c, bool)) for c in condlist
    ]
    functions = listed(funclist, "piecewise", "funclist")
    if len(functions) == len(conditions):
        functions.append(0)
    elif len(functions) != len(conditions) + 1:
        raise ArgumentError(
            "needs as many functions as conditions, or one more",
            op="piecewise",
            condlist=several(len(conditions), "condition"),
            funclist=several(len(functions), "function"),
        )
    pieces = [f(x, *args, **kw) if callable(f) else f for f in functions]
    result = ops.broadcast_to(astype(value("piecewise", pieces[-1]), x.dtype), x.shape)
    # The last condition that holds counts, as in NumPy.
    for condition, piece in zip(conditions, pieces[:-1], strict=True):
        result = ufuncs.where(condition, astype(value("piecewise", piece), x.dtype), result)
    return result


__all__ = [
    "argpartition",
    "argsort",
    "argwhere",
    "choose",
    "compress",
    "digitize",
    "extract",
    "flatnonzero",
    "interp",
    "lexsort",
    "nonzero",
    "partition",
    "piecewise",
    "searchsorted",
    "select",
    "sort",
    "sort_complex",
    "take_along_axis",
    "top_k",
]
