"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, FLOAT, INEXACT
from plait.errors import ShapeError
from plait.numpy import ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.manipulation import concatenate, ravel
from plait.numpy.parts import isnan
from plait.numpy.promotion import astype, axis_in, out_is_none, to_dtype, value
from plait.numpy.reduction import wide_integer
from plait.ops import axes as ops
from plait.ops import cumulative


def _running(
    op: str, run: Any, a: Any, axis: int | None, dtype: Any, out: Any, nan_as: float | None = None
) -> Any:
    out_is_none(op, out)
    x = value(op, a)
    if nan_as is not None and x.dtype in INEXACT:
        x = ufuncs.where(isnan(x), np.asarray(nan_as).astype(x.dtype), x)
    if axis is None:
        axis = 0
        x = ravel(x)
    elif not x.ndim:
        x = ravel(x)  # a number is a vector of one element
    axis = axis_in(axis, x.ndim, op)
    chosen = to_dtype(dtype) if dtype is not None else x.dtype
    if chosen in BOOL and dtype is None:
        chosen = dtypes.default_int()
    # Half precision would lose small terms: run in float32, round once.
    work = dtypes.float32 if chosen in FLOAT and chosen.itemsize < 4 else chosen
    if work in BOOL:
        x, work = astype(x, work), dtypes.default_int()
    return astype(run(astype(x, work), axis), chosen)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the elements up to each one, along an axis or of the flattened array.

    >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]])), jnp.cumsum(jnp.array([True, False, True]))
    (Array([ 1,  3,  6, 10], dtype=int32), Array([1, 1, 2], dtype=int32))
    """
    return _running("cumsum", cumulative.cumsum, a, axis, dtype, out)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the elements up to each one, along an axis or of the flattened array.

    >>> jnp.cumprod(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([[1, 2],
           [3, 8]], dtype=int32)
    """
    return _running("cumprod", cumulative.cumprod, a, axis, dtype, out)


@at_once(operands=1)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """cumsum in which NaN counts as 0.

    >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 2.0]))
    Array([1., 1., 3.], dtype=float32)
    """
    return _running("nancumsum", cumulative.cumsum, a, axis, dtype, out, 0.0)


@at_once(operands=1)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """cumprod in which NaN counts as 1.

    >>> jnp.nancumprod(jnp.array([3.0, jnp.nan, 2.0]))
    Array([3., 3., 6.], dtype=float32)
    """
    return _running("nancumprod", cumulative.cumprod, a, axis, dtype, out, 1.0)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of the elements up to each one along an axis, after a 0 with include_initial.

    Raises: ShapeError without an axis, unless x is a vector.

    >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    return _array_api("cumulative_sum", cumulative.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of the elements up to each one along an axis, after a 1 with include_initial.

    Raises: ShapeError without an axis, unless x is a vector.

    >>> jnp.cumulative_prod(jnp.array([2, 3, 4]), include_initial=True)
    Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _array_api("cumulative_prod", cumulative.cumprod, x, axis, dtype, include_initial, 1)


def _array_api(
    op: str, run: Any, x: Any, axis: Any, dtype: Any, include_initial: bool, first: int
) -> Any:
    x = value(op, x)
    if not x.ndim:
        raise ShapeError("needs at least one axis", op=op, x=x)
    if axis is None:
        if x.ndim > 1:
            raise ShapeError("axis must be given for an array of several axes", op=op, x=x)
        axis = 0
    axis = axis_in(axis, x.ndim, op)
    y = _running(op, run, x, axis, wide_integer(x.dtype) if dtype is None else dtype, None)
    if not include_initial:
        return y
    shape = (*y.shape[:axis], 1, *y.shape[axis + 1 :])
    start = ops.broadcast_to(value(op, np.asarray(first).astype(y.dtype)), shape)
    return concatenate([start, y], axis)
