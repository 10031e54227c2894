"""Iota and the arrays that start a computation: full, eye, tri."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError
from plait.ops.arithmetic import add, convert_element_type
from plait.ops.axes import broadcast_in_dim, check_shape, normalise_axis
from plait.ops.compare import eq, ge


class Iota(Primitive):
    """0, 1, 2, ... along one axis, the same along all others. StableHLO: iota."""

    name = "iota"

    def type(self, *, shape, dtype, axis):
        if dtype not in dtypes.NUMBER:
            raise DtypeError("takes a numeric dtype", dtype=dtype.name)
        if not 0 <= axis < len(shape):
            raise ShapeError("the shape has no such axis", shape=shape, dimension=axis)
        return ArrayType(shape, dtype)

    def numpy(self, *, shape, dtype, axis):
        sizes = [n if k == axis else 1 for k, n in enumerate(shape)]
        with np.errstate(all="ignore"):
            steps = np.arange(shape[axis]).astype(dtype)
        return np.broadcast_to(steps.reshape(sizes), shape).copy()

    def lower(self, b, *, shape, dtype, axis):
        return b.iota(shape, dtype, axis)

    def samples(self):
        yield (), {"shape": (2, 3), "dtype": dtypes.int32, "axis": 1}
        yield (), {"shape": (4,), "dtype": dtypes.float32, "axis": 0}
        yield (), {"shape": (3, 0), "dtype": dtypes.uint8, "axis": 0}


iota_p = register(Iota())


def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1.

    >>> lax.iota(jnp.float32, 4)
    Array([0., 1., 2., 3.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """An array of a shape whose elements are their positions along one axis.

    >>> lax.broadcasted_iota(jnp.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    shape = check_shape(shape, "broadcasted_iota")
    axis = normalise_axis(dimension, len(shape), "broadcasted_iota")
    dtype = dtypes.canonical(dtypes.as_dtype(dtype))
    return iota_p.bind(shape=shape, dtype=dtype, axis=axis)


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array of a shape filled with a scalar (which may be traced), in its dtype or another.

    >>> lax.full((2, 3), 7)
    Array([[7, 7, 7],
           [7, 7, 7]], dtype=int32, weak_type=True)
    """
    shape = check_shape(shape, "full")
    type_ = type_of(fill_value)
    if type_.shape:
        raise ShapeError("the value to fill with is a scalar", op="full", fill_value=type_)
    weak = dtype is None and type_.weak_type
    dtype = type_.dtype if dtype is None else dtypes.canonical(dtypes.as_dtype(dtype))
    value = convert_element_type(fill_value, dtype, weak)
    return broadcast_in_dim(value, shape, ())


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array like x, filled with a scalar; dtype and shape replace those of x.

    >>> lax.full_like(jnp.zeros(3), 7)
    Array([7., 7., 7.], dtype=float32)
    """
    type_ = type_of(x)
    shape = type_.shape if shape is None else check_shape(shape, "full_like")
    weak = dtype is None and type_.weak_type
    dtype = type_.dtype if dtype is None else dtypes.canonical(dtypes.as_dtype(dtype))
    if isinstance(dtype, dtypes.KeyDType):
        return broadcast_in_dim(fill_value, shape, ())
    return broadcast_in_dim(convert_element_type(fill_value, dtype, weak), shape, ())


def eye(dtype: Any, shape: Sequence[int], offset: int = 0) -> Any:
    """A matrix with ones where column - row == offset, zeros elsewhere."""
    rows, columns = _positions(shape, offset)
    return convert_element_type(eq(rows, columns), dtype)


def tri(dtype: Any, shape: Sequence[int], offset: int = 0) -> Any:
    """A matrix with ones where column - row <= offset, zeros elsewhere."""
    rows, columns = _positions(shape, offset)
    return convert_element_type(ge(rows, columns), dtype)


def _positions(shape: Sequence[int], offset: int) -> tuple[Any, Any]:
    shape = check_shape(shape)
    rows = broadcasted_iota(dtypes.int32, shape, 0)
    columns = broadcasted_iota(dtypes.int32, shape, 1)
    return add(rows, np.asarray(operator.index(offset), dtypes.int32)), columns


__all__ = ["broadcasted_iota", "eye", "full", "full_like", "iota", "tri"]
