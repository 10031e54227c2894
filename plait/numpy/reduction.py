"""Reductions along axes: sums, products, extremes, moments, logic, and their NaN-ignoring forms.

Sums and products of booleans and small integers are taken in the default integer, means of integers
as floats; half precision is accumulated in float32 and rounded once.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, FLOAT, INEXACT, INT, UINT
from plait.core.source import called
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.numpy import ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.creation import asarray
from plait.numpy.parts import imag, isclose, isnan, real
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    broadcast_shapes,
    inexact,
    is_arraylike,
    operand,
    out_is_none,
    promote_dtypes,
    to_dtype,
    value,
)
from plait.numpy.ufuncs import where as select
from plait.ops import reduce as ops
from plait.ops.arithmetic import div, mul
from plait.ops.axes import broadcast_to, reduce_sum_p, reshape


def wide_integer(dtype: Any) -> Any:
    """The dtype of sums: the default integer for booleans and smaller integers."""
    if dtype in BOOL:
        return dtypes.default_int()
    if dtype in INT and dtype.itemsize < dtypes.default_int().itemsize:
        return dtypes.default_int()
    if dtype in UINT and dtype.itemsize < dtypes.default_uint().itemsize:
        return dtypes.default_uint()
    return dtype


def _half(dtype: Any) -> bool:
    return dtype in FLOAT and dtype.itemsize < 4


def _keep(y: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    if not keepdims:
        return y
    return reshape(y, tuple(1 if k in axes else n for k, n in enumerate(shape)))


def _strong(y: Any) -> Any:
    return astype(y, y.dtype) if y.type.weak_type else y


def _checked_mask(op: str, mask: Any) -> Any:
    if not is_arraylike(mask) or type_of(operand(op, mask)).dtype not in BOOL:
        summary = "`where` is made of booleans"
        raise DtypeError(summary, op=called(op), mask=mask, fix="where=mask != 0")
    return operand(op, mask)


def _masked(op: str, x: Any, mask: Any, identity: Any) -> Any:
    if mask is None:
        return x
    mask = _checked_mask(op, mask)
    shape = broadcast_shapes(x.shape, type_of(mask).shape)
    return select(mask, x if x.shape == shape else broadcast_to(x, shape), identity)


def _with_initial(op: str, y: Any, initial: Any, combine: Any) -> Any:
    if initial is None:
        return y
    initial = astype(value(op, initial), y.dtype)
    if initial.ndim:
        raise ShapeError("initial must be a scalar", op=op, initial=initial)
    return combine.bind(y, initial)


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The sum along axes (all with None); `where` picks the elements, `initial` is added.

    Dtypes: integers narrower than the default are summed in the default one of their kind unless
    promote_integers is False, half precision in float32 and then rounded.

    >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0), jnp.sum(jnp.array([True, True]))
    (Array([4, 6], dtype=int32), Array(2, dtype=int32))
    >>> jnp.sum(jnp.arange(4.0), where=jnp.arange(4) > 1, keepdims=True)
    Array([5.], dtype=float32)
    """
    out_is_none("sum", out)
    x = value("sum", a)
    chosen = to_dtype(dtype) if dtype is not None else x.dtype
    if dtype is None and (promote_integers or x.dtype in BOOL):
        chosen = wide_integer(x.dtype)
    axes = axes_in(axis, x.ndim, "sum")
    if chosen in BOOL:  # True where any addend is
        y = _with_initial("sum", any(x, axes, where=where), initial, ufuncs.compare.bitwise_or)
        return _keep(y, x.shape, axes, keepdims)
    x = _masked("sum", astype(x, chosen), where, np.zeros((), chosen))
    y = reduce_sum_p.bind(x, axes=tuple(sorted(axes))) if axes else x
    y = _with_initial("sum", y, initial, ufuncs.arithmetic.add)
    return _keep(y, x.shape, axes, keepdims)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The product along axes (all with None), 1 for no elements; `where` picks the elements.

    >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1), jnp.prod(jnp.array([]))
    (Array([ 2, 12], dtype=int32), Array(1., dtype=float32))
    """
    out_is_none("prod", out)
    x = value("prod", a)
    chosen = to_dtype(dtype) if dtype is not None else x.dtype
    if dtype is None and (promote_integers or x.dtype in BOOL):
        chosen = wide_integer(x.dtype)
    axes = axes_in(axis, x.ndim, "prod")
    if chosen in BOOL:  # True where all factors are
        y = _with_initial("prod", all(x, axes, where=where), initial, ufuncs.compare.bitwise_and)
        return _keep(y, x.shape, axes, keepdims)
    work = dtypes.float32 if _half(chosen) else chosen
    x = _masked("prod", astype(x, work), where, np.ones((), work))
    y = _with_initial("prod", ops.reduce_prod(x, axes) if axes else x, initial, mul)
    return _keep(astype(y, chosen), x.shape, axes, keepdims)


def max(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element along axes (all with None); NaN if there is one.

    Raises: ArgumentError for `where` or no elements without `initial`.

    >>> jnp.max(jnp.array([[1, 5], [7, 2]]), axis=1), jnp.max(jnp.array([1.0, jnp.nan]))
    (Array([5, 7], dtype=int32), Array(nan, dtype=float32))
    """
    return _extreme("max", a, axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element along axes (all with None); NaN if there is one. See `max`.

    >>> jnp.min(jnp.array([[1, 5], [7, 2]]), axis=1), jnp.min(jnp.array([]), initial=9)
    (Array([1, 2], dtype=int32), Array(9., dtype=float32))
    """
    return _extreme("min", a, axis, out, keepdims, initial, where)


amax, amin = max, min


def _extreme(op: str, a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    out_is_none(op, out)
    x = _strong(value(op, a))
    axes = axes_in(axis, x.ndim, op)
    if where is not None and initial is None:
        raise ArgumentError(
            "with `where`, no element may be left", op=op, fix="give initial= as well"
        )
    if initial is None and any_empty(x, axes):
        raise ArgumentError(
            "an empty array has no extreme", op=op, a=x, fix="give initial= or another axis"
        )
    largest = op == "max"
    identity = (ops.lowest if largest else ops.highest)(x.dtype)
    x = _masked(op, x, where, identity)
    y = (ops.reduce_max if largest else ops.reduce_min)(x, axes) if axes else x
    combine = ufuncs.compare.max if largest else ufuncs.compare.min
    return _keep(_with_initial(op, y, initial, combine), x.shape, axes, keepdims)


def any_empty(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether one of the axes has size 0."""
    return builtins.any(x.shape[k] == 0 for k in axes)


@at_once(operands=1)
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest minus the smallest element along axes.

    >>> jnp.ptp(jnp.array([[1, 5], [7, 2]]), axis=0)
    Array([6, 3], dtype=int32)
    """
    out_is_none("ptp", out)
    return ufuncs.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def minmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> tuple[Any, Any]:
    """(smallest, largest) element along axes.

    >>> jnp.minmax(jnp.array([[1, 5], [7, 2]]), axis=1)
    (Array([1, 2], dtype=int32), Array([5, 7], dtype=int32))
    """
    return min(a, axis, keepdims=keepdims), max(a, axis, keepdims=keepdims)


def all(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements along axes are nonzero; True for none.

    >>> jnp.all(jnp.array([[1, 2], [0, 4]]), axis=1), jnp.all(jnp.array([]))
    (Array([ True, False], dtype=bool), Array(True, dtype=bool))
    """
    return _logic("all", ops.reduce_and, a, axis, out, keepdims, where, np.asarray(True))


def any(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether an element along axes is nonzero; False for none.

    >>> jnp.any(jnp.array([[0, 0], [0, 4]]), axis=1), jnp.any(jnp.array([]))
    (Array([False,  True], dtype=bool), Array(False, dtype=bool))
    """
    return _logic("any", ops.reduce_or, a, axis, out, keepdims, where, np.asarray(False))


def _logic(
    op: str, reduce: Any, a: Any, axis: Any, out: Any, keepdims: bool, where: Any, identity: Any
) -> Any:
    out_is_none(op, out)
    x = value(op, ufuncs.to_bool(op, a))
    axes = axes_in(axis, x.ndim, op)
    x = _masked(op, x, where, identity)
    return _keep(reduce(x, axes) if axes else x, x.shape, axes, keepdims)


@at_once(operands=1)
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements along axes are nonzero.

    >>> jnp.count_nonzero(jnp.array([[0, 1], [2, 3]]), axis=0)
    Array([1, 2], dtype=int32)
    """
    return sum(ufuncs.to_bool("count_nonzero", a), axis, dtypes.default_int(), None, keepdims)


# --- positions


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The first position of the largest element along an axis, or in the flattened array.

    NaN counts as largest. Raises: ArgumentError for no elements.

    >>> jnp.argmax(jnp.array([[1, 5], [7, 2]])), jnp.argmax(jnp.array([[1, 5], [7, 2]]), axis=1)
    (Array(2, dtype=int32), Array([1, 0], dtype=int32))
    """
    return _arg("argmax", ops.argmax, a, axis, out, keepdims)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The first position of the smallest element along an axis, or in the flattened array.

    NaN counts as smallest. Raises: ArgumentError for no elements.

    >>> jnp.argmin(jnp.array([3, 1, 1])), jnp.argmin(jnp.array([3, jnp.nan, 1]))
    (Array(1, dtype=int32), Array(1, dtype=int32))
    """
    return _arg("argmin", ops.argmin, a, axis, out, keepdims)


def _arg(op: str, find: Any, a: Any, axis: Any, out: Any, keepdims: bool | None) -> Any:
    out_is_none(op, out)
    x = value(op, a)
    shape = x.shape
    if axis is None:
        axes = tuple(range(x.ndim))
        x, axis = reshape(x, (x.size,)), 0
    else:
        axis = axis_in(axis, x.ndim, op)
        axes = (axis,)
    if x.shape[axis] == 0:
        raise ArgumentError("there is no element to find", op=op, a=a, axis=axis)
    return _keep(find(x, axis, dtypes.default_int()), shape, axes, bool(keepdims))


# --- moments


def _work_dtype(x: Any, dtype: Any) -> tuple[Any, Any]:
    """(dtype of the result, dtype to compute in) of a mean."""
    if dtype is not None:
        chosen = to_dtype(dtype)
    else:
        chosen = inexact(x.dtype)
    if chosen in INEXACT:
        return chosen, dtypes.float32 if _half(chosen) else chosen
    return chosen, inexact(x.dtype)


def _size(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[k] for k in axes)


def _count(op: str, x: Any, axes: tuple[int, ...], mask: Any, dtype: Any) -> Any:
    """The number of elements along axes that a mask picks: a Python number without a mask."""
    if mask is None:
        return _size(x.shape, axes)
    mask = broadcast_to(value(op, _checked_mask(op, mask)), x.shape)
    return sum(mask, axes, dtype)


@at_once(operands=1)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The mean along axes (all with None); NaN for no elements.

    >>> jnp.mean(jnp.array([[1, 2], [3, 6]]), axis=1), jnp.mean(jnp.array([]))
    (Array([1.5, 4.5], dtype=float32), Array(nan, dtype=float32))
    """
    out_is_none("mean", out)
    x = value("mean", a)
    chosen, work = _work_dtype(x, dtype)
    axes = axes_in(axis, x.ndim, "mean")
    x = _spread("mean", astype(x, work), where)
    count = _count("mean", x, axes, where, dtypes.real_of(work))
    total = sum(x, axes, where=where)
    part = np.asarray(count, work) if isinstance(count, int) else astype(count, work)
    y = div(total, part)
    return _keep(astype(y, chosen), x.shape, axes, keepdims)


def _spread(op: str, x: Any, mask: Any) -> Any:
    # A mask with more elements than x repeats those of x.
    if mask is None:
        return x
    shape = type_of(_checked_mask(op, mask)).shape
    return broadcast_to(x, broadcast_shapes(x.shape, shape))


@at_once(operands=1)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The weighted mean along axes; weights have the shape of `a` or of its one axis.

    With returned: (mean, sum of the weights).

    >>> jnp.average(jnp.array([1.0, 5.0]), weights=jnp.array([3, 1]), returned=True)
    (Array(2., dtype=float32), Array(4., dtype=float32))
    """
    a = value("average", a)
    axes = axes_in(axis, a.ndim, "average")
    if weights is None:
        y = mean(a, axes, keepdims=keepdims)
        if not returned:
            return y
        count = np.asarray(_size(a.shape, axes)).astype(y.dtype)
        return y, broadcast_to(value("average", count), y.shape)
    a, weights = promote_dtypes("average", (a, value("average", weights, 2)))
    if a.dtype not in INEXACT:
        a, weights = (astype(v, inexact(a.dtype)) for v in (a, weights))
    if weights.shape != a.shape:
        if axis is None or weights.shape != tuple(a.shape[k] for k in axes):
            raise ShapeError(
                "weights must have the shape of a, or of the axes averaged over",
                op="average",
                a=a,
                weights=weights,
            )
        order = sorted(range(len(axes)), key=axes.__getitem__)
        from plait.ops.axes import broadcast_in_dim, permute

        weights = broadcast_in_dim(permute(weights, order), a.shape, sorted(axes))
    total = sum(weights, axes, keepdims=keepdims)
    y = ufuncs.true_divide(sum(ufuncs.multiply(a, weights), axes, keepdims=keepdims), total)
    return (y, broadcast_to(total, y.shape)) if returned else y


@at_once(operands=1)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The mean squared distance from the mean along axes; the divisor is n - ddof.

    >>> jnp.var(jnp.array([1.0, 3.0, 5.0, 7.0])), jnp.var(jnp.array([1.0, 3.0]), ddof=1)
    (Array(5., dtype=float32), Array(2., dtype=float32))
    """
    out_is_none("var", out)
    ddof = _ddof("var", ddof, correction)
    x = value("var", a)
    return _variance("var", x, axis, dtype, ddof, keepdims, where, mean)


@at_once(operands=1)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The square root of `var`.

    >>> jnp.std(jnp.array([[1.0, 3.0], [0.0, 8.0]]), axis=1)
    Array([1., 4.], dtype=float32)
    """
    out_is_none("std", out)
    ddof = _ddof("std", ddof, correction)
    x = value("std", a)
    if dtype is not None and to_dtype(dtype) not in INEXACT:
        raise DtypeError("the result of std is a float", op="std", dtype=dtype)
    y = _variance("std", x, axis, dtype, ddof, keepdims, where, mean)
    return ufuncs.functions.sqrt(y)


def _ddof(op: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof if isinstance(ddof, int | float) else operand(op, ddof, 4)
    if not isinstance(ddof, int) or ddof != 0:
        summary = "ddof and correction are one thing: give one of them"
        raise ArgumentError(summary, op=op, ddof=ddof, correction=correction)
    return correction if isinstance(correction, int | float) else operand(op, correction)


def _variance(
    op: str, x: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean_given: Any
) -> Any:
    chosen, work = _work_dtype(x, dtype)
    if x.dtype in COMPLEX and work not in COMPLEX:
        raise DtypeError("complex numbers need a complex dtype", op=op, a=x, dtype=dtype)
    axes = axes_in(axis, x.ndim, op)
    x = _spread(op, astype(x, work), where)
    real = dtypes.real_of(work)
    middle = mean(x, axes, keepdims=True, where=where) if mean_given is None else mean_given
    distance = ufuncs.subtract(x, middle)
    if where is not None:  # lest what does not count, NaN perhaps, come back in the derivative
        distance = ufuncs.where(where, distance, np.zeros((), work))
    squared = squared_size(distance)
    count = _count(op, x, axes, where, real)
    total = sum(squared, axes, where=where)
    divisor = ufuncs.subtract(count, ddof) if not isinstance(count, int) else count - ddof
    if isinstance(divisor, int | float):
        number = divisor if divisor > 0 else math.nan
        y = div(total, np.asarray(number, real))
    else:
        positive = ufuncs.greater(divisor, 0)
        divisor = select(positive, divisor, np.asarray(math.nan, real))
        y = ufuncs.true_divide(total, divisor)
    final = dtypes.real_of(chosen) if dtype is None else chosen
    return _keep(astype(y, final), x.shape, axes, keepdims)


def squared_size(x: Any) -> Any:
    """|x|², element by element."""
    if x.dtype in COMPLEX:
        parts = real(x), imag(x)
        return ufuncs.add(*(ufuncs.square(p) for p in parts))
    return ufuncs.square(x)


# --- forms that leave NaN out


def _without_nan(op: str, a: Any, identity: Any) -> tuple[Any, Any]:
    """(a with NaN replaced, where NaN stood or None)."""
    x = value(op, a)
    if x.dtype not in INEXACT:
        return x, None
    is_nan = isnan(x)
    return select(is_nan, np.asarray(identity).astype(x.dtype), x), is_nan


@at_once(operands=1)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum along axes; NaN counts as 0.

    >>> jnp.nansum(jnp.array([1.0, jnp.nan, 2.0]))
    Array(3., dtype=float32)
    """
    x, _ = _without_nan("nansum", a, 0)
    return sum(x, axis, dtype, out, keepdims, initial, where)


@at_once(operands=1)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product along axes; NaN counts as 1.

    >>> jnp.nanprod(jnp.array([3.0, jnp.nan, 2.0]))
    Array(6., dtype=float32)
    """
    x, _ = _without_nan("nanprod", a, 1)
    return prod(x, axis, dtype, out, keepdims, initial, where)


@at_once(operands=1)
def nanmax(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element along axes that is not NaN; NaN if there is none.

    >>> jnp.nanmax(jnp.array([[1.0, jnp.nan], [jnp.nan, jnp.nan]]), axis=1)
    Array([ 1., nan], dtype=float32)
    """
    return _nan_extreme("nanmax", max, -np.inf, a, axis, out, keepdims, initial, where)


@at_once(operands=1)
def nanmin(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element along axes that is not NaN; NaN if there is none.

    >>> jnp.nanmin(jnp.array([[1.0, jnp.nan], [3.0, 2.0]]), axis=1)
    Array([1., 2.], dtype=float32)
    """
    return _nan_extreme("nanmin", min, np.inf, a, axis, out, keepdims, initial, where)


def _nan_extreme(
    op: str,
    extreme: Any,
    identity: float,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    x, is_nan = _without_nan(op, a, identity)
    y = extreme(x, axis, out, keepdims, initial, where)
    if is_nan is None or initial is not None:
        return y
    nothing = all(is_nan, axis, keepdims=keepdims)
    return select(nothing, np.asarray(np.nan).astype(y.dtype), y)


@at_once(operands=1)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The mean along axes of the elements that are not NaN.

    >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 4.0]))
    Array(2.5, dtype=float32)
    """
    x = value("nanmean", a)
    return mean(x, axis, dtype, out, keepdims, where=_not_nan(x, where))


def _not_nan(x: Any, where: Any) -> Any:
    if x.dtype not in INEXACT:
        return where
    there = ufuncs.logical_not(isnan(x))
    return there if where is None else ufuncs.logical_and(there, where)


@at_once(operands=1)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The variance along axes of the elements that are not NaN.

    >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 5.0]))
    Array(4., dtype=float32)
    """
    x = value("nanvar", a)
    return var(x, axis, dtype, out, ddof, keepdims, where=_not_nan(x, where), mean=mean)


@at_once(operands=1)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The square root of `nanvar`.

    >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 5.0]))
    Array(2., dtype=float32)
    """
    x = value("nanstd", a)
    return std(x, axis, dtype, out, ddof, keepdims, where=_not_nan(x, where), mean=mean)


@at_once(operands=1)
def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The position of the largest element that is not NaN; -1 if there is none.

    >>> jnp.nanargmax(jnp.array([[1.0, jnp.nan, 3.0], [jnp.nan] * 3]), axis=1)
    Array([ 2, -1], dtype=int32)
    """
    return _nan_arg("nanargmax", argmax, -np.inf, a, axis, out, keepdims)


@at_once(operands=1)
def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The position of the smallest element that is not NaN; -1 if there is none.

    >>> jnp.nanargmin(jnp.array([jnp.nan, 3.0, 1.0]))
    Array(2, dtype=int32)
    """
    return _nan_arg("nanargmin", argmin, np.inf, a, axis, out, keepdims)


def _nan_arg(
    op: str, find: Any, identity: float, a: Any, axis: Any, out: Any, keepdims: bool
) -> Any:
    x, is_nan = _without_nan(op, a, identity)
    y = find(x, axis, out, keepdims)
    if is_nan is None:
        return y
    nothing = all(is_nan, axis, keepdims=keepdims)
    return select(nothing, np.asarray(-1, y.dtype), y)


# --- comparisons of whole arrays


@at_once(operands=2)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close; see `isclose`.

    >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.00001]))
    Array(True, dtype=bool)
    """
    return all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements.

    >>> jnp.array_equal(jnp.arange(3), jnp.array([0, 1, 2])), jnp.array_equal(jnp.ones(2), 1)
    (Array(True, dtype=bool), Array(False, dtype=bool))
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return value("array_equal", np.asarray(False))
    same = ufuncs.equal(a1, a2)
    if equal_nan:
        same = ufuncs.logical_or(same, ufuncs.logical_and(isnan(a1), isnan(a2)))
    return all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast and then have equal elements.

    >>> jnp.array_equiv(jnp.ones((2, 3)), 1), jnp.array_equiv(jnp.ones(2), jnp.ones(3))
    (Array(True, dtype=bool), Array(False, dtype=bool))
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        same = ufuncs.equal(a1, a2)
    except ShapeError:
        return value("array_equiv", np.asarray(False))
    return all(same)


__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "array_equal",
    "array_equiv",
    "average",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "minmax",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]
