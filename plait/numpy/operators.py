"""Gives Tracer and Array the operators of Python and the methods of NumPy's arrays.

Operators hand back NotImplemented for operands that are no arrays, so that the other class's
reflected operator gets its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.context import context
from plait.core.interpreter import Tracer
from plait.errors import ArgumentTypeError, ShapeError, an
from plait.numpy import (
    contraction,
    creation,
    cumulative,
    indexing,
    manipulation,
    parts,
    pieces,
    reduction,
    searching,
    ufuncs,
)
from plait.numpy.promotion import astype, is_arraylike, is_base, to_dtype
from plait.numpy.updating import At
from plait.ops import arithmetic, functions
from plait.ops import axes as ops
from plait.ops.bitcast import bitcast_convert_type, width
from plait.runtime.array import Array

_NUMBERS = frozenset((bool, int, float, complex))


def _is_operand(x: Any) -> bool:
    return type(x) in _NUMBERS or is_arraylike(x)


def _no_operand(symbol: str, x: Any) -> Any:
    """NotImplemented, so that the other class may answer; but lists and tuples never do.

    No symbol: Python answers. An integer array without axes repeats a list, as in `[0] * n`, and
    an array does not equal one.
    """
    if symbol and isinstance(x, list | tuple):
        raise ArgumentTypeError(
            f"{an(type(x).__name__)} is not an operand",
            op=f"x {symbol} y",
            given=x,
            fix="make it an array first: jnp.asarray(y)",
        )
    return NotImplemented


def _binary(function: Callable[..., Any], symbol: str = "", op: Any = None) -> tuple[Any, Any]:
    """(x op y, y op x); `op` takes operands of one type as they are."""

    def forward(self: Any, other: Any) -> Any:
        if op is not None and getattr(other, "type", None) is self.type:
            return context.interpreter.process(op, (self, other), {})
        return function(self, other) if _is_operand(other) else _no_operand(symbol, other)

    def reflected(self: Any, other: Any) -> Any:
        return function(other, self) if _is_operand(other) else _no_operand(symbol, other)

    return forward, reflected


def _pow(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None or not _is_operand(other):
        return _no_operand("**", other)
    return ufuncs.power(self, other)


def _rpow(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None or not _is_operand(other):
        return _no_operand("**", other)
    return ufuncs.power(other, self)


def _round(self: Any, ndigits: int | None = None) -> Any:
    rounded = parts.round(self, 0 if ndigits is None else ndigits)
    # As of Python's own floats: without digits the result is made of integers.
    keeps = ndigits is not None or rounded.dtype in dtypes.COMPLEX
    return rounded if keeps else astype(rounded, dtypes.default_int())


def _iter(self: Any) -> Iterator[Any]:
    if not self.ndim:
        raise TypeError("iteration over an array without axes")
    n = self.shape[0]
    if is_base():
        # Executed at once, all rows share the executable of one.
        return (_item(self, k) for k in range(n))
    return iter(manipulation.rows(self))


def _reversed(self: Any) -> Iterator[Any]:
    return _iter(manipulation.flip(self, 0))


def _contains(self: Any, item: Any) -> bool:
    return bool(reduction.any(ufuncs.equal(self, item)))


def _setitem(self: Any, key: Any, value: Any) -> None:
    raise ArgumentTypeError(
        "arrays do not change in place",
        op="x[...] = y",
        x=self,
        fix="x = x.at[index].set(y)",
    )


def _item(self: Any, index: Any) -> Any:
    if type(self) is Array and context.interpreter.base:
        found = self.static_item(index)
        if found is not None:
            return found
    return indexing.getitem(self, index)


_OPERATORS: dict[str, Any] = {
    "__getitem__": _item,
    "__setitem__": _setitem,
    "__iter__": _iter,
    "__reversed__": _reversed,
    "__contains__": _contains,
    "__neg__": ufuncs.negative,
    "__pos__": ufuncs.positive,
    "__abs__": ufuncs.abs,
    "__invert__": ufuncs.bitwise_not,
    "__round__": _round,
    "__pow__": _pow,
    "__rpow__": _rpow,
}
for _name, _pair in {
    "add": _binary(ufuncs.add, "+", arithmetic.add),
    "sub": _binary(ufuncs.subtract, "-", arithmetic.sub),
    "mul": _binary(ufuncs.multiply, "", arithmetic.mul),
    "truediv": _binary(ufuncs.true_divide, "/"),
    "floordiv": _binary(ufuncs.floor_divide, "//"),
    "mod": _binary(ufuncs.remainder, "%"),
    "divmod": _binary(ufuncs.divmod, "divmod"),
    "matmul": _binary(contraction.matmul, "@"),
    "and": _binary(ufuncs.bitwise_and, "&"),
    "or": _binary(ufuncs.bitwise_or, "|"),
    "xor": _binary(ufuncs.bitwise_xor, "^"),
    "lshift": _binary(ufuncs.left_shift, "<<"),
    "rshift": _binary(ufuncs.right_shift, ">>"),
}.items():
    _OPERATORS[f"__{_name}__"], _OPERATORS[f"__r{_name}__"] = _pair
for _name, _function in {
    "eq": ufuncs.equal,
    "ne": ufuncs.not_equal,
    "lt": ufuncs.less,
    "le": ufuncs.less_equal,
    "gt": ufuncs.greater,
    "ge": ufuncs.greater_equal,
}.items():
    _OPERATORS[f"__{_name}__"] = _binary(_function)[0]


# --- properties


def _transposed(self: Any) -> Any:
    """The array with its axes reversed.

    >>> jnp.array([[1, 2], [3, 4]]).T
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return manipulation.transpose(self)


def _matrix_transposed(self: Any) -> Any:
    """The array with its last two axes exchanged. Raises: ShapeError for fewer.

    >>> jnp.ones((4, 2, 3)).mT.shape
    (4, 3, 2)
    """
    return manipulation.matrix_transpose(self)


def _real(self: Any) -> Any:
    """The real part.

    >>> jnp.array([1 + 2j, 3j]).real
    Array([1., 0.], dtype=float32)
    """
    return parts.real(self)


def _imag(self: Any) -> Any:
    """The imaginary part; zeros if the dtype is not complex.

    >>> jnp.array([1 + 2j, 3j]).imag
    Array([2., 3.], dtype=float32)
    """
    return parts.imag(self)


def _at(self: Any) -> At:
    """`x.at[index].set(y)` and its kin: new arrays with some elements changed.

    >>> x = jnp.zeros(3)
    >>> x.at[1].set(5), x.at[jnp.array([0, 0])].add(1)
    (Array([0., 5., 0.], dtype=float32), Array([2., 0., 0.], dtype=float32))
    """
    return At(self)


def _flat(self: Any) -> Any:
    """The elements as a vector.

    >>> jnp.array([[1, 2], [3, 4]]).flat
    Array([1, 2, 3, 4], dtype=int32)
    """
    return manipulation.ravel(self)


_PROPERTIES = {
    "T": _transposed,
    "mT": _matrix_transposed,
    "real": _real,
    "imag": _imag,
    "at": _at,
    "flat": _flat,
}


# --- methods whose arguments differ from those of the function


def _reshape(self: Any, *args: Any, order: str = "C", copy: Any = None, out_sharding: Any = None):
    """The elements in another shape: reshape(2, 3) or reshape((2, 3)); one size may be -1.

    Raises: ShapeError if that has another number of elements.

    >>> jnp.arange(6).reshape(2, -1)
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    return manipulation.reshape(
        self, args[0] if len(args) == 1 else args, order, out_sharding=out_sharding
    )


def _transpose(self: Any, *args: Any) -> Any:
    """The array with its axes reversed, or in the order given.

    >>> x = jnp.ones((2, 3, 4))
    >>> x.transpose().shape, x.transpose(1, 0, 2).shape
    ((4, 3, 2), (3, 2, 4))
    """
    axes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or None
    return manipulation.transpose(self, axes)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements as a vector.

    >>> jnp.array([[1, 2], [3, 4]]).flatten(order="F")
    Array([1, 3, 2, 4], dtype=int32)
    """
    return manipulation.ravel(self, order, out_sharding=out_sharding)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """The array with values outside of min..max replaced by min and max; None is no bound.

    >>> jnp.array([-2, 0, 7]).clip(0, 5)
    Array([0, 0, 5], dtype=int32)
    """
    return ufuncs.clip(self, min, max)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The array converted to a dtype; floats are cut off on the way to integers.

    >>> jnp.array([1.7, -1.7]).astype(int)
    Array([ 1, -1], dtype=int32)
    """
    return creation.astype(self, dtype, copy=copy, device=device)


def _copy(self: Any, order: str | None = None) -> Any:
    """A copy in memory of its own.

    >>> x = jnp.ones(2)
    >>> y = x.copy()
    >>> x.delete()
    >>> y
    Array([1., 1.], dtype=float32)
    """
    return creation.array(self, copy=True)


def _compress(self: Any, condition: Any, axis: int | None = None, **options: Any) -> Any:
    """The slices along an axis at which a boolean vector holds.

    >>> jnp.array([[1, 2], [3, 4]]).compress(jnp.array([False, True]), axis=0)
    Array([[3, 4]], dtype=int32)
    """
    return searching.compress(condition, self, axis, **options)


def _block_until_ready(self: Any) -> Any:
    """The traced value itself: there is nothing to wait for."""
    return self


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on another device.

    >>> jnp.ones(2).to_device(plait.devices()[1]).devices() == {plait.devices()[1]}
    True
    """
    from plait.runtime.transfer import device_put

    return device_put(self, device)


def _view(self: Any, dtype: Any = None) -> Any:
    """The same bytes read as another dtype; the last axis grows or shrinks with the item size.

    Raises: ShapeError if its bytes do not divide into such elements.

    >>> jnp.array([1.0, 2.0], jnp.float32).view(jnp.int32)
    Array([1065353216, 1073741824], dtype=int32)
    >>> jnp.array([1, 2], jnp.int32).view(jnp.uint8).shape
    (8,)
    """
    if dtype is None:
        return self
    new, old = to_dtype(dtype), self.dtype
    if new == old:
        return self
    if old in dtypes.BOOL or new in dtypes.BOOL:
        # A boolean is a byte of 0 or 1.
        byte = self.astype(np.uint8) if old in dtypes.BOOL else _view(self, np.uint8)
        return byte != 0 if new in dtypes.BOOL else _view(byte, new)
    if old in dtypes.COMPLEX:
        part = manipulation.stack([self.real, self.imag], -1)
        if self.ndim:
            part = ops.reshape(part, (*self.shape[:-1], 2 * self.shape[-1]))
        return _view(part, new)
    if new in dtypes.COMPLEX:
        parts = _view(self, dtypes.real_of(new))
        if not parts.ndim or parts.shape[-1] % 2:
            raise _view_error(self, new)
        return functions.complex(parts[..., 0::2], parts[..., 1::2])
    if width(new) == width(old):
        return bitcast_convert_type(self, new)
    if not self.ndim:
        raise _view_error(self, new)
    if width(new) < width(old):
        y = bitcast_convert_type(self, new)
        return ops.reshape(y, (*self.shape[:-1], self.shape[-1] * y.shape[-1]))
    ratio = width(new) // width(old)
    if self.shape[-1] % ratio:
        raise _view_error(self, new)
    y = ops.reshape(self, (*self.shape[:-1], self.shape[-1] // ratio, ratio))
    return bitcast_convert_type(y, new)


def _byteswap(self: Any) -> Any:
    """The elements with the order of their bytes reversed.

    >>> jnp.array([1, 256], jnp.int32).byteswap()
    Array([16777216,    65536], dtype=int32)
    """
    if self.dtype in dtypes.COMPLEX:
        return functions.complex(_byteswap(self.real), _byteswap(self.imag))
    if self.dtype.itemsize == 1:
        return self
    return bitcast_convert_type(bitcast_convert_type(self, np.uint8)[..., ::-1], self.dtype)


def _view_error(x: Any, dtype: Any) -> ShapeError:
    return ShapeError(
        "the bytes of the last axis do not divide into elements of this dtype",
        op="view",
        x=x,
        dtype=dtype.name,
    )


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    import plait.numpy

    return plait.numpy


_METHODS: dict[str, Any] = {
    "__array_namespace__": _array_namespace,
    "all": reduction.all,
    "any": reduction.any,
    "argmax": reduction.argmax,
    "argmin": reduction.argmin,
    "argpartition": searching.argpartition,
    "argsort": searching.argsort,
    "astype": _astype,
    "choose": searching.choose,
    "clip": _clip,
    "compress": _compress,
    "byteswap": _byteswap,
    "conj": ufuncs.conjugate,
    "conjugate": ufuncs.conjugate,
    "copy": _copy,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": pieces.diagonal,
    "dot": contraction.dot,
    "flatten": _flatten,
    "max": reduction.max,
    "mean": reduction.mean,
    "min": reduction.min,
    "nonzero": searching.nonzero,
    "prod": reduction.prod,
    "ptp": reduction.ptp,
    "ravel": manipulation.ravel,
    "repeat": pieces.repeat,
    "reshape": _reshape,
    "round": parts.round,
    "searchsorted": searching.searchsorted,
    "sort": searching.sort,
    "squeeze": manipulation.squeeze,
    "std": reduction.std,
    "sum": reduction.sum,
    "swapaxes": manipulation.swapaxes,
    "take": indexing.take,
    "to_device": _to_device,
    "trace": contraction.trace,
    "transpose": _transpose,
    "var": reduction.var,
    "view": _view,
}
_TRACER_ONLY = {"block_until_ready": _block_until_ready}


def attach(cls: type) -> None:
    """Give a class of arrays all operators, properties and methods that it does not define."""
    own = vars(cls)
    members = {**_OPERATORS, **_METHODS}
    if issubclass(cls, Tracer):
        members.update(_TRACER_ONLY)
    for name, function in members.items():
        if name not in own:
            setattr(cls, name, function)
    for name, getter in _PROPERTIES.items():
        if name not in own:
            setattr(cls, name, property(getter))


attach(Tracer)
attach(Array)
