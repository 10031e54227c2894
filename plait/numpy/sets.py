"""Arrays as sets: unique, isin, unions and differences.

How many elements a result has depends on values, so in a trace the functions need `size`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import INEXACT
from plait.errors import ConcretizationTypeError
from plait.numpy import reduction, ufuncs
from plait.numpy.cumulative import cumsum
from plait.numpy.indexing import take
from plait.numpy.manipulation import concatenate, moveaxis, ravel, rows
from plait.numpy.parts import isnan
from plait.numpy.promotion import (
    astype,
    axis_in,
    constant,
    known,
    promote_dtypes,
    static_int,
    value,
)
from plait.numpy.searching import lexsort, nonzero, packed_positions, searchsorted
from plait.numpy.updating import At
from plait.ops import axes as ops
from plait.ops import sort as sorting
from plait.ops.iota import iota_p
from plait.ops.slices import slice_in_dim


def _untraced(op: str, **arrays: Any) -> list[np.ndarray]:
    found = []
    for name, x in arrays.items():
        host = known(x)
        if host is None:
            raise ConcretizationTypeError(
                "how many elements the result has is not known in a trace",
                op=op,
                **{name: x},
                fix="give size=",
            )
        found.append(host)
    return found


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements, sorted; or the different slices along an axis.

    With return_index their first positions, with return_inverse the number of each element of ar
    among them, with return_counts how often each occurs. `size` fixes their number, for traces:
    what is left over is fill_value, or the smallest element.

    >>> jnp.unique(jnp.array([3, 1, 3, 2])), jnp.unique(jnp.array([3, 1, 3]), size=4, fill_value=0)
    (Array([1, 2, 3], dtype=int32), Array([1, 3, 0, 0], dtype=int32))
    >>> jnp.unique(jnp.array([3, 1, 3]), return_inverse=True, return_counts=True)
    (Array([1, 3], dtype=int32), Array([1, 0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    ar = value("unique", ar)
    asked = (return_index, return_inverse, return_counts)
    if axis is None:
        shape, axis, flat = ar.shape, 0, ravel(ar)
    else:
        axis = axis_in(axis, ar.ndim, "unique")
        flat, shape = moveaxis(ar, axis, 0), (ar.shape[axis],)
    if size is None:
        _untraced("unique", ar=ar)
    found, *extra = _unique(flat, equal_nan, size, fill_value)
    found = moveaxis(found, 0, axis)
    result = [found]
    for wanted, x in zip(asked, extra, strict=True):
        if wanted:
            result.append(ops.reshape(x, shape) if x is extra[1] else x)
    return result[0] if len(result) == 1 else tuple(result)


def _unique(x: Any, equal_nan: bool, size: int | None, fill_value: Any) -> tuple[Any, ...]:
    """(unique rows of x, first positions, inverse, counts)."""
    n = x.shape[0]
    index = dtypes.int32
    if not n or not x.size:
        if size is not None and size and fill_value is None and not n:
            fill_value = 0
        m = min(n, 1) if size is None else static_int(size, "unique", "size")
        fill = 0 if fill_value is None else fill_value
        shape = (m, *x.shape[1:])
        none = np.zeros(m, dtypes.default_int())
        empty = ops.broadcast_to(constant(np.asarray(fill).astype(x.dtype)), shape)
        counts = np.where(np.arange(m) == 0, n, none)
        return empty, constant(none), constant(np.zeros(n, none.dtype)), constant(counts)
    places = iota_p.bind(shape=(n,), dtype=index, axis=0)
    if equal_nan and x.dtype in dtypes.COMPLEX:
        # One number for all that have a NaN: the order of sort keeps the others together.
        x = ufuncs.where(isnan(x), np.asarray(np.nan, x.dtype), x)
    if x.ndim == 1:
        ordered, order = sorting.sort([x, places])
    else:
        flat = ops.reshape(x, (n, x.size // n))
        order = lexsort(list(rows(flat, 1))[::-1])
        ordered = take(x, order, axis=0, mode="clip")
    first = _differs(slice_in_dim(ordered, 1, None), slice_in_dim(ordered, 0, -1), equal_nan)
    first = concatenate([constant(np.ones(1, np.bool_)), first])
    if size is None:
        (starts,) = nonzero(first)
        count: Any = np.asarray(starts.shape[0], np.int32)
        m = starts.shape[0]
    else:
        m = static_int(size, "unique", "size")
        starts, count = packed_positions(first, m)
    group = ufuncs.subtract(cumsum(first, dtype=index), 1)
    inverse = At(constant(np.zeros(n, np.int32)))[order].set(group)
    there = ufuncs.less(iota_p.bind(shape=(m,), dtype=index, axis=0), count)
    starts = ufuncs.where(there, starts, 0)
    found = take(ordered, starts, axis=0, mode="clip")
    indices = take(order, starts, mode="clip")
    # The end of a group is the start of the next one, or the end of all.
    ends = concatenate([slice_in_dim(starts, 1, None), constant(np.full(1, n, np.int32))])
    last = ufuncs.equal(iota_p.bind(shape=(m,), dtype=index, axis=0), ufuncs.subtract(count, 1))
    counts = ufuncs.subtract(ufuncs.where(last, n, ends), starts)
    counts = ufuncs.where(there, counts, 0)
    if size is not None and fill_value is not None:
        shown = ops.reshape(there, (m,) + (1,) * (x.ndim - 1))
        fill = astype(value("unique", fill_value), x.dtype)
        found = ufuncs.where(shown, found, fill)
    wide = dtypes.default_int()
    return found, *(astype(x, wide) for x in (indices, inverse, counts))


def _differs(x: Any, y: Any, equal_nan: bool) -> Any:
    different = ufuncs.not_equal(x, y)
    if equal_nan and x.dtype in INEXACT:
        both = ufuncs.logical_and(isnan(x), isnan(y))
        different = ufuncs.logical_and(different, ufuncs.logical_not(both))
    axes = tuple(range(1, different.ndim))
    return reduction.any(different, axes) if axes else different


class UniqueAll(NamedTuple):
    """What unique_all gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What unique_counts gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What unique_inverse gives."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """The different elements, their first positions, the inverse, and their counts.

    >>> found = jnp.unique_all(jnp.array([3, 1, 3]))
    >>> found.values, found.indices, found.inverse_indices, found.counts
    (Array([1, 3], dtype=int32),
     Array([1, 0], dtype=int32),
     Array([1, 0, 1], dtype=int32),
     Array([1, 2], dtype=int32))
    """
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueAll(*unique(x, True, True, True, **options))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The different elements and their counts.

    >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueCounts(*unique(x, return_counts=True, **options))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The different elements and the number of each element of x among them.

    >>> found = jnp.unique_inverse(jnp.array([3, 1, 3]))
    >>> found.values[found.inverse_indices]
    Array([3, 1, 3], dtype=int32)
    """
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueInverse(*unique(x, return_inverse=True, **options))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Whether each element is among test_elements (or is not, with invert).

    >>> jnp.isin(jnp.array([[1, 2], [3, 4]]), jnp.array([2, 4, 6]))
    Array([[False,  True],
           [False,  True]], dtype=bool)
    """
    x, tests = promote_dtypes("isin", (element, test_elements))
    tests = ravel(tests)
    n = tests.shape[0]
    if not n:
        found = ops.broadcast_to(constant(np.asarray(False)), x.shape)
    elif n <= 32 or n * x.size <= 2**18:
        table = ops.reshape(x, (*x.shape, 1))
        found = reduction.any(ufuncs.equal(table, tests), -1)
    else:
        tests = sorting.sort(tests)
        found = ufuncs.equal(take(tests, searchsorted(tests, x), mode="clip"), x)
    return ufuncs.logical_not(found) if invert else found


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements of both arrays, sorted, each once.

    >>> jnp.union1d(jnp.array([3, 1]), jnp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    if size is None:
        _untraced("union1d", ar1=value("union1d", ar1), ar2=value("union1d", ar2, 1))
    both = concatenate([ravel(ar1), ravel(ar2)])
    return unique(both, size=size, fill_value=fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements that stand in both arrays, sorted; with their first positions if asked.

    >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 9]), return_indices=True)
    (Array([2, 3], dtype=int32), Array([2, 0], dtype=int32), Array([0, 1], dtype=int32))
    """
    x, y = promote_dtypes("intersect1d", (ar1, ar2))
    x, y = ravel(x), ravel(y)
    if size is None:
        a, b = _untraced("intersect1d", ar1=x, ar2=y)
        if not return_indices:
            return constant(np.intersect1d(a, b))
        values, i, j = np.intersect1d(a, b, return_indices=True)
        wide = dtypes.default_int()
        return constant(values), constant(i.astype(wide)), constant(j.astype(wide))
    found, places, *_ = _unique(x, True, x.shape[0], None)
    count = _count_unique(x)
    numbers = iota_p.bind(shape=(x.shape[0],), dtype=dtypes.int32, axis=0)
    mask = ufuncs.logical_and(isin(found, y), ufuncs.less(numbers, count))
    chosen, total = packed_positions(mask, static_int(size, "intersect1d", "size"))
    there = ufuncs.less(iota_p.bind(shape=(chosen.shape[0],), dtype=dtypes.int32, axis=0), total)
    values = take(found, chosen, mode="clip")
    fill = values[0] if fill_value is None else astype(value("intersect1d", fill_value), x.dtype)
    values_shown = ufuncs.where(there, values, fill)
    if not return_indices:
        return values_shown
    ordered, order = sorting.sort([y, iota_p.bind(shape=y.shape, dtype=dtypes.int32, axis=0)])
    in_y = take(order, searchsorted(ordered, values), mode="clip")
    in_x = take(places, chosen, mode="clip")
    return (
        values_shown,
        ufuncs.where(there, in_x, x.shape[0]),
        ufuncs.where(there, in_y, y.shape[0]),
    )


def _count_unique(x: Any) -> Any:
    ordered = sorting.sort(x)
    different = _differs(slice_in_dim(ordered, 1, None), slice_in_dim(ordered, 0, -1), True)
    return ufuncs.add(reduction.sum(different), 1)


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of ar1 that do not stand in ar2, sorted, each once.

    >>> jnp.setdiff1d(jnp.array([3, 1, 2, 1]), jnp.array([2, 9]))
    Array([1, 3], dtype=int32)
    """
    x, y = promote_dtypes("setdiff1d", (ar1, ar2))
    x = ravel(x)
    if size is None:
        a, b = _untraced("setdiff1d", ar1=x, ar2=y)
        found = constant(np.setdiff1d(a, b))
    else:
        found = _selected_unique("setdiff1d", x, isin(x, y, invert=True), size, fill_value)
    return astype(found, value("setdiff1d", ar1).dtype)


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements that stand in exactly one of two arrays, sorted, each once.

    >>> jnp.setxor1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 9]))
    Array([1, 9], dtype=int32)
    """
    x, y = promote_dtypes("setxor1d", (ar1, ar2))
    x, y = ravel(x), ravel(y)
    if size is None:
        a, b = _untraced("setxor1d", ar1=x, ar2=y)
        return constant(np.setxor1d(a, b))
    mask = concatenate([isin(x, y, invert=True), isin(y, x, invert=True)])
    return _selected_unique("setxor1d", concatenate([x, y]), mask, size, fill_value)


def _selected_unique(op: str, x: Any, mask: Any, size: int, fill_value: Any) -> Any:
    """The different elements at which a mask holds, in `size` places."""
    size = static_int(size, op, "size")
    if not x.shape[0]:
        fill = 0 if fill_value is None else fill_value
        return ops.broadcast_to(constant(np.asarray(fill).astype(x.dtype)), (size,))
    # The chosen ones first, each kind sorted.
    left_out, ordered = sorting.sort([ufuncs.logical_not(mask), x], num_keys=2)
    first = concatenate(
        [
            constant(np.ones(1, np.bool_)),
            _differs(slice_in_dim(ordered, 1, None), slice_in_dim(ordered, 0, -1), True),
        ]
    )
    keep = ufuncs.logical_and(first, ufuncs.logical_not(left_out))
    places, count = packed_positions(keep, size)
    values = take(ordered, places, mode="clip")
    fill = 0 if fill_value is None else fill_value
    if fill_value is None:
        fill = ufuncs.where(ufuncs.greater(count, 0), values[0] if size else 0, 0)
    there = ufuncs.less(iota_p.bind(shape=(size,), dtype=dtypes.int32, axis=0), count)
    return ufuncs.where(there, values, astype(value(op, fill), x.dtype))
