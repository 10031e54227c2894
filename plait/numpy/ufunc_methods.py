"""`add.reduce`, `maximum.accumulate`, `multiply.outer`, `add.at`: NumPy's methods of ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.errors import ArgumentError
from plait.numpy import cumulative, reduction, ufuncs
from plait.numpy.promotion import axis_in, value
from plait.numpy.updating import At
from plait.ops import cumulative as ops
from plait.ops.axes import reshape

_REDUCE = {
    ufuncs.add: reduction.sum,
    ufuncs.multiply: reduction.prod,
    ufuncs.maximum: reduction.max,
    ufuncs.minimum: reduction.min,
    ufuncs.logical_and: reduction.all,
    ufuncs.logical_or: reduction.any,
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


def _running_extreme(run: Callable[..., Any], name: str) -> Callable[..., Any]:
    def accumulate(array: Any, axis: int = 0) -> Any:
        array = value(name, array)
        return run(array, axis_in(axis, array.ndim, name))

    return accumulate


_ACCUMULATE = {
    ufuncs.add: cumulative.cumsum,
    ufuncs.multiply: cumulative.cumprod,
    ufuncs.maximum: _running_extreme(ops.cummax, "maximum.accumulate"),
    ufuncs.minimum: _running_extreme(ops.cummin, "minimum.accumulate"),
}


def _reduce(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(array: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        """The function applied between all elements along axes (the first one by default)."""
        return function(array, axis, *args, **kwargs)

    return reduce


def _accumulate(function: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(array: Any, axis: int = 0, *args: Any, **kwargs: Any) -> Any:
        """The function applied between the elements up to each one along an axis."""
        return function(array, axis, *args, **kwargs)

    return accumulate


def _outer(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def outer(A: Any, B: Any, /) -> Any:
        """The function of each pair of an element of A and one of B."""
        a, b = value(name, A), value(name, B, 1)
        return function(reshape(a, a.shape + (1,) * b.ndim), b)

    return outer


def _at(name: str) -> Callable[..., Any]:
    def at(a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` with the function applied at indices; needs inplace=False."""
        if inplace:
            raise ArgumentError(
                "arrays do not change in place", op=f"{name}.at", fix="inplace=False"
            )
        return getattr(At(value(name, a))[indices], name)(b)

    return at


_TWO_OPERANDS = (
    *_AT,
    ufuncs.logical_and,
    ufuncs.logical_or,
    ufuncs.logical_xor,
    ufuncs.bitwise_and,
    ufuncs.bitwise_or,
    ufuncs.bitwise_xor,
    ufuncs.equal,
    ufuncs.not_equal,
    ufuncs.less,
    ufuncs.less_equal,
    ufuncs.greater,
    ufuncs.greater_equal,
    ufuncs.floor_divide,
    ufuncs.remainder,
)


def attach_methods() -> None:
    """Give the functions of ufuncs.py their methods."""
    for function in _TWO_OPERANDS:
        methods: dict[str, Any] = {"outer": _outer(function, function.__name__)}
        if function in _REDUCE:
            methods["reduce"] = _reduce(_REDUCE[function])
        if function in _ACCUMULATE:
            methods["accumulate"] = _accumulate(_ACCUMULATE[function])
        if function in _AT:
            methods["at"] = _at(_AT[function])
        for name, method in methods.items():
            setattr(function, name, method)


attach_methods()
