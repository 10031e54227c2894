"""`add.reduce`, `maximum.accumulate`, `multiply.outer`, `add.at`: NumPy's methods of ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core.dtypes import BOOL, INTEGER
from plait.errors import ArgumentError, DtypeError
from plait.numpy import cumulative, elementary, reduction, ufuncs
from plait.numpy.creation import array, full
from plait.numpy.manipulation import concatenate, expand_dims, moveaxis, ravel
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    not_in_place,
    out_is_none,
    to_dtype,
    value,
)
from plait.numpy.updating import At
from plait.ops import cumulative as ops
from plait.ops.axes import reshape
from plait.ops.reduce import reduce_and, reduce_or, reduce_xor
from plait.regions.loops import fori_loop, scan
from plait.transforms.vmap import vmap

Function = Callable[..., Any]

# Functions of reduction.py with dtype=, those without it, and reductions of bits with the number
# that changes nothing.
_SUMS: dict[Function, Function] = {
    ufuncs.add: reduction.sum,
    ufuncs.multiply: reduction.prod,
}
_EXTREMES: dict[Function, Function] = {
    ufuncs.maximum: reduction.max,
    ufuncs.minimum: reduction.min,
}
_BITS: dict[Function, tuple[Function, int]] = {
    ufuncs.bitwise_and: (reduce_and, -1),
    ufuncs.bitwise_or: (reduce_or, 0),
    ufuncs.bitwise_xor: (reduce_xor, 0),
    ufuncs.logical_and: (reduce_and, -1),
    ufuncs.logical_or: (reduce_or, 0),
    ufuncs.logical_xor: (reduce_xor, 0),
}
_LOGIC = (ufuncs.logical_and, ufuncs.logical_or, ufuncs.logical_xor)
_ONE_BY_ONE = (ufuncs.subtract, elementary.logaddexp, elementary.logaddexp2)
_ACCUMULATE: dict[Function, Function] = {
    ufuncs.add: cumulative.cumsum,
    ufuncs.multiply: cumulative.cumprod,
}
_RUNNING: dict[Function, Function] = {
    ufuncs.maximum: ops.cummax,
    ufuncs.minimum: ops.cummin,
}
_IDENTITY: dict[Function, Any] = {
    ufuncs.add: 0,
    ufuncs.multiply: 1,
    ufuncs.bitwise_and: -1,
    ufuncs.bitwise_or: 0,
    ufuncs.bitwise_xor: 0,
    ufuncs.logical_and: True,
    ufuncs.logical_or: False,
    ufuncs.logical_xor: False,
    elementary.logaddexp: -np.inf,
    elementary.logaddexp2: -np.inf,
}
_AT = {
    ufuncs.add: "add",
    ufuncs.subtract: "subtract",
    ufuncs.multiply: "multiply",
    ufuncs.divide: "divide",
    ufuncs.power: "power",
    ufuncs.maximum: "max",
    ufuncs.minimum: "min",
}


def _reduce(function: Function) -> Function:
    name = f"{function.__name__}.reduce"

    def reduce(
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The function applied between all elements along axes (the first one by default).

        >>> jnp.multiply.reduce(jnp.array([[1, 2], [3, 4]])), jnp.multiply.reduce(jnp.array([2, 5]))
        (Array([3, 8], dtype=int32), Array(10, dtype=int32))
        """
        out_is_none(name, out)
        if function in _SUMS:
            array = value(name, array)
            return _SUMS[function](array, axis, dtype, None, keepdims, initial, where)
        x = value(name, array)
        if dtype is not None:
            x = astype(x, to_dtype(dtype))
        if function in _EXTREMES:
            return _EXTREMES[function](x, axis, None, keepdims, initial, where)
        if function in _LOGIC:
            x = value(name, ufuncs.to_bool(name, x))
        axes = axes_in(axis, x.ndim, name)
        if function in _BITS:
            if x.dtype not in BOOL | INTEGER:
                raise DtypeError("takes integers and booleans", op=name, x=x)
            bits, nothing = _BITS[function]
            if where is not None:
                unchanged = np.asarray(nothing).astype(x.dtype)
                x = ufuncs.where(ufuncs.to_bool(name, where), x, unchanged)
            y = bits(x, axes) if axes else x
        else:
            if where is not None or (axis is not None and len(axes) != 1):
                raise ArgumentError("takes one axis or None, and no where", op=name, axis=axis)
            line, k = (ravel(x), 0) if axis is None else (x, axes[0])
            if not line.shape[k]:
                raise ArgumentError("there are no elements", op=name, x=x)
            y = moveaxis(accumulated(function, line, k), k, 0)[-1]
        if initial is not None:
            y = function(initial, y)
        return expand_dims(y, axes) if keepdims else y

    return reduce


def _accumulate(function: Function) -> Function:
    name = f"{function.__name__}.accumulate"

    def accumulate(array: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The function applied between the elements up to each one along an axis.

        Shape unchanged. Raises: OutOfRangeError; UnsupportedError for `out`.

        >>> jnp.maximum.accumulate(jnp.array([3, 1, 4]))
        Array([3, 3, 4], dtype=int32)
        """
        out_is_none(name, out)
        if function in _ACCUMULATE:
            return _ACCUMULATE[function](array, axis, dtype)
        x = value(name, array)
        if dtype is not None:
            x = astype(x, to_dtype(dtype))
        axis = axis_in(axis, x.ndim, name)
        if function in _RUNNING:
            return _RUNNING[function](x, axis)
        return accumulated(function, x, axis)

    return accumulate


def accumulated(function: Function, x: Any, axis: int) -> Any:
    """The function applied to the result so far and the next element, one after the other."""
    rows = moveaxis(x, axis, 0)
    if not rows.shape[0]:
        return x
    # What the function makes of two elements is what the results have as dtype.
    rows = astype(rows, function(rows[:1], rows[:1]).dtype)

    def step(so_far: Any, row: Any) -> tuple[Any, Any]:
        so_far = function(so_far, row)
        return so_far, so_far

    rest = scan(step, rows[0], rows[1:])[1]
    return moveaxis(concatenate([rows[:1], rest]), 0, axis)


def _reduceat(function: Function) -> Function:
    name = f"{function.__name__}.reduceat"

    def reduceat(a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The function applied between the elements from each index up to the next one, the last:
        to the end.

        An index that is not smaller than the next one gives the element alone. Shapes: a [..., n,
        ...], indices [k] -> [..., k, ...]. Raises: OutOfRangeError; UnsupportedError for `out`.

        >>> jnp.add.reduceat(jnp.arange(6), jnp.array([0, 2, 4]))
        Array([1, 5, 9], dtype=int32)
        """
        out_is_none(name, out)
        x = value(name, a)
        if dtype is not None:
            x = astype(x, to_dtype(dtype))
        return reduced_at(function, x, indices, axis_in(axis, x.ndim, name))

    return reduceat


def reduced_at(function: Function, x: Any, indices: Any, axis: int) -> Any:
    """The function applied from left to right between the elements from each index up to the next
    one (the last: to the end); the element alone where the next index is not larger.
    """
    starts = array(indices)
    rows = moveaxis(x, axis, 0)
    rows = astype(rows, function(rows[:1], rows[:1]).dtype)
    ends = concatenate([starts[1:], full((1,), rows.shape[0], starts.dtype)])

    def one(start: Any, end: Any) -> Any:
        return fori_loop(start + 1, end, lambda k, so_far: function(so_far, rows[k]), rows[start])

    return moveaxis(vmap(one)(starts, ends), 0, axis)


def _outer(function: Function) -> Function:
    name = f"{function.__name__}.outer"

    def outer(A: Any, B: Any, /) -> Any:
        """The function of each pair of an element of A and one of B: [*A.shape, *B.shape].

        >>> jnp.subtract.outer(jnp.array([10, 20]), jnp.array([1, 2, 3]))
        Array([[ 9,  8,  7],
               [19, 18, 17]], dtype=int32)
        """
        a, b = value(name, A), value(name, B, 1)
        return function(reshape(a, a.shape + (1,) * b.ndim), b)

    return outer


def _at(name: str) -> Function:
    def at(a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` with the function applied at indices; needs inplace=False. Raises: ArgumentError
        without.

        An index that comes twice counts twice, as in a.at[indices].add(b).

        >>> jnp.add.at(jnp.array([1, 2, 3]), jnp.array([0, 0]), 10, inplace=False)
        Array([21,  2,  3], dtype=int32)
        """
        not_in_place(f"{name}.at", inplace)
        return getattr(At(value(name, a))[indices], name)(b)

    return at


_FOLDED = (*_SUMS, *_EXTREMES, *_BITS, *_ONE_BY_ONE)
_TWO_OPERANDS = dict.fromkeys(
    (
        *_FOLDED,
        *_AT,
        ufuncs.equal,
        ufuncs.not_equal,
        ufuncs.less,
        ufuncs.less_equal,
        ufuncs.greater,
        ufuncs.greater_equal,
        ufuncs.floor_divide,
        ufuncs.remainder,
    )
)


def attach_methods() -> None:
    """Give the functions of two operands their methods and what is to be known of them."""
    for function in _TWO_OPERANDS:
        methods: dict[str, Any] = {"nin": 2, "nout": 1, "nargs": 3, "outer": _outer(function)}
        methods["identity"] = _IDENTITY.get(function)
        if function in _FOLDED:
            methods["reduce"], methods["accumulate"] = _reduce(function), _accumulate(function)
            methods["reduceat"] = _reduceat(function)
        if function in _AT:
            methods["at"] = _at(_AT[function])
        for name, method in methods.items():
            setattr(function, name, method)


attach_methods()
