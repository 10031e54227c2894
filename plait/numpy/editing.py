"""Arrays with elements put in, left out or trimmed, at positions that are known."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from plait.core.dtypes import BOOL, INTEGER
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcretizationTypeError,
    OutOfRangeError,
    ShapeError,
)
from plait.numpy import ufuncs
from plait.numpy.creation import asarray
from plait.numpy.indexing import take
from plait.numpy.manipulation import concatenate, moveaxis, ravel
from plait.numpy.promotion import astype, axis_in, is_traced_or_device, known, value
from plait.numpy.searching import argsort
from plait.ops import axes as ops
from plait.ops.slices import slice_in_dim


def _positions(op: str, obj: Any, n: int, ends: int) -> np.ndarray:
    """Static positions in 0..n-1+ends that an index of an axis of size n means."""
    if isinstance(obj, builtins.slice):
        return np.arange(n)[obj]
    if is_traced_or_device(obj):
        host = known(obj)
        if host is None:
            raise ConcretizationTypeError(
                "the positions decide the shape of the result and must not be traced",
                op=op,
                obj=obj,
            )
        obj = host
    places = np.asarray(obj)
    if places.dtype in BOOL:
        if places.shape != (n,):
            raise ShapeError(f"a mask needs {n} elements", op=op, obj=places)
        return np.nonzero(places)[0]
    if not places.size:
        return np.zeros(0, np.int64)
    if places.dtype not in INTEGER:
        raise ArgumentTypeError("positions are integers", op=op, obj=places)
    places = places.astype(np.int64)  # n may have no place in their own dtype
    if (places < -n).any() or (places >= n + ends).any():
        summary = f"a position is outside of an axis of size {n}"
        raise OutOfRangeError(summary, op=op, obj=places.tolist())
    return np.where(places < 0, places + n, places)


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """arr without the slices at some positions along an axis (flattened with None).

    With assume_unique_indices the positions, all different, may be traced.

    >>> jnp.delete(jnp.array([1, 2, 3, 4]), jnp.array([0, 2]))
    Array([2, 4], dtype=int32)
    >>> jnp.delete(jnp.ones((2, 3)), 1, axis=1).shape
    (2, 2)
    """
    arr = value("delete", arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_in(axis, arr.ndim, "delete")
    n = arr.shape[axis]
    if assume_unique_indices and is_traced_or_device(obj) and known(obj) is None:
        return _delete_traced(arr, obj, axis)
    kept = np.ones(n, bool)
    kept[_positions("delete", obj, n, 0).ravel()] = False
    return take(arr, np.nonzero(kept)[0].astype(np.int32), axis=axis, mode="clip")


def _delete_traced(arr: Any, obj: Any, axis: int) -> Any:
    from plait.numpy.creation import ones
    from plait.numpy.searching import nonzero

    places = ravel(obj)
    n = arr.shape[axis]
    kept = ones(n, bool).at[places].set(False, mode="drop")
    (chosen,) = nonzero(kept, size=n - places.shape[0])
    return take(arr, chosen, axis=axis, mode="clip")


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """arr with values put before some positions along an axis (flattened with None).

    Traced positions outside mean the ends; known ones raise OutOfRangeError.

    >>> jnp.insert(jnp.array([1, 2, 3]), 1, 99)
    Array([ 1, 99,  2,  3], dtype=int32)
    >>> jnp.insert(jnp.array([1, 2]), jnp.array([0, 2]), jnp.array([7, 8]))
    Array([7, 1, 2, 8], dtype=int32)
    """
    arr = value("insert", arr)
    values = astype(value("insert", asarray(values), 2), arr.dtype)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_in(axis, arr.ndim, "insert")
    n = arr.shape[axis]
    if is_traced_or_device(obj) and known(obj) is None and obj.dtype in INTEGER:
        places = _inside(obj, n)
    else:
        places = _positions("insert", obj, n, 1)
    single = not places.ndim
    places = places.reshape(-1)
    if single or places.size == 1:
        # One position takes all the values, a block of them.
        if values.ndim < arr.ndim:
            values = ops.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        if single:
            values = moveaxis(values, 0, axis)
        shape = list(arr.shape)
        shape[axis] = values.shape[axis]
        values = ops.broadcast_to(values, tuple(shape))
        if isinstance(places, np.ndarray):
            cut = int(places[0])
            head, tail = slice_in_dim(arr, 0, cut, axis=axis), slice_in_dim(arr, cut, n, axis=axis)
            return concatenate([head, values, tail], axis)
        places = ops.broadcast_to(places, (shape[axis],))
    else:
        shape = list(arr.shape)
        shape[axis] = places.size
        values = ops.broadcast_to(values, tuple(shape))
    # Sorted by the position that each has before: values come in front of the element there.
    if isinstance(places, np.ndarray):
        order = np.argsort(np.concatenate([places, np.arange(n)]), kind="stable").astype(np.int32)
    else:
        order = argsort(concatenate([places, np.arange(n)]), stable=True)
    return take(concatenate([values, arr], axis), order, axis=axis, mode="clip")


def _inside(obj: Any, n: int) -> Any:
    """Traced positions for insertion, those outside moved to the ends."""
    places = astype(obj, np.int32)  # n may have no place in their own dtype
    places = ufuncs.where(ufuncs.less(places, 0), ufuncs.add(places, n), places)
    return ufuncs.clip(places, 0, n)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """A vector without the zeros at its front ("f") and back ("b").

    >>> jnp.trim_zeros(jnp.array([0, 1, 0, 2, 0])), jnp.trim_zeros(jnp.array([0, 1, 0]), "f")
    (Array([1, 0, 2], dtype=int32), Array([1, 0], dtype=int32))
    """
    filt = value("trim_zeros", asarray(filt))
    host = known(filt)
    if host is None:
        raise ConcretizationTypeError(
            "the zeros decide the shape of the result and must not be traced",
            op="trim_zeros",
            filt=filt,
        )
    if not isinstance(trim, str) or set(trim.lower()) - set("fb"):
        raise ArgumentError("trim is 'f', 'b' or 'fb'", op="trim_zeros", trim=trim)
    axes = range(filt.ndim) if axis is None else [axis_in(axis, filt.ndim, "trim_zeros")]
    for k in axes:
        others = tuple(j for j in range(host.ndim) if j != k)
        there = np.nonzero((host != 0).any(axis=others) if others else host != 0)[0]
        n = filt.shape[k]
        start = int(there[0]) if len(there) else n
        stop = int(there[-1]) + 1 if len(there) else n
        start = start if "f" in trim.lower() else 0
        stop = stop if "b" in trim.lower() else n
        if not len(there):
            start, stop = 0, 0
        filt = slice_in_dim(filt, start, stop, axis=k)
    return filt


__all__ = ["delete", "insert", "trim_zeros"]
