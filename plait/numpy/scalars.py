"""Dtypes as callables (`float32(1)`), the abstract classes of dtypes, and questions about them."""

from __future__ import annotations

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from plait.core import dtypes
from plait.core.plain import by_numpy
from plait.core.types import type_of
from plait.numpy.creation import array
from plait.numpy.promotion import is_arraylike, is_traced_or_device, operand
from plait.runtime.array import Array


class _ScalarType(type):
    """The class of the scalar types: `float32` stands for its dtype wherever one is asked for.

    Calling one makes an array; it equals and hashes like NumPy's scalar type and dtype.
    """

    dtype: np.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        # Compared with NumPy's type: its dtypes also equal None, int and float.
        return cls is other or bool(cls.dtype.type == other)

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __call__(cls, x: Any = 0) -> Any:
        return array(x, cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"plait.numpy.{cls.__name__}"


def _scalar_type(name: str, dtype: Any) -> _ScalarType:
    doc = f"The dtype {name}; called, it makes an array of it."
    namespace = {"dtype": np.dtype(dtype), "__doc__": doc, "__module__": "plait.numpy"}
    return _ScalarType(name, (), namespace)


bool_ = _scalar_type("bool", np.bool_)
int2, int4 = _scalar_type("int2", ml_dtypes.int2), _scalar_type("int4", ml_dtypes.int4)
int8, int16 = _scalar_type("int8", np.int8), _scalar_type("int16", np.int16)
int32, int64 = _scalar_type("int32", np.int32), _scalar_type("int64", np.int64)
uint2, uint4 = _scalar_type("uint2", ml_dtypes.uint2), _scalar_type("uint4", ml_dtypes.uint4)
uint8, uint16 = _scalar_type("uint8", np.uint8), _scalar_type("uint16", np.uint16)
uint32, uint64 = _scalar_type("uint32", np.uint32), _scalar_type("uint64", np.uint64)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float16 = _scalar_type("float16", np.float16)
float32, float64 = _scalar_type("float32", np.float32), _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128 = _scalar_type("complex128", np.complex128)
# The widest ones: arrays get the 32-bit forms unless enable_x64 is on.
int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double = float32, float64
csingle, cdouble = complex64, complex128

dtype = np.dtype
generic, number, inexact, floating = np.generic, np.number, np.inexact, np.floating
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
complexfloating, flexible, character = np.complexfloating, np.flexible, np.character
object_ = np.object_
ndarray = Array


def _spec(spec: Any) -> Any:
    return spec.dtype if isinstance(spec, _ScalarType) else spec


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype lies under another or under an abstract class like `floating`.

    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating), jnp.issubdtype(jnp.int32, jnp.inexact)
    (True, False)
    """
    first, second = _spec(arg1), _spec(arg2)
    if second is float or second is int or second is complex or second is bool:
        second = {float: np.floating, int: np.integer, complex: np.complexfloating, bool: np.bool_}[
            second
        ]
    return dtypes.issubdtype(first, second)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that values of two dtypes combine to; Python types count as weak.

    It is JAX's lattice, not NumPy's: integers never widen floats.

    >>> jnp.promote_types("int32", "float16"), jnp.promote_types("uint8", int)
    (dtype('float16'), dtype('uint8'))
    """
    return dtypes.promote_types(_spec(a), _spec(b))


_GROUPS = {
    "bool": dtypes.BOOL,
    "signed integer": dtypes.INT,
    "unsigned integer": dtypes.UINT,
    "integral": dtypes.INTEGER,
    "real floating": dtypes.FLOAT,
    "complex floating": dtypes.COMPLEX,
    "numeric": dtypes.NUMBER,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is one of the kinds: dtypes or words of the array API, like "integral".

    >>> jnp.isdtype(jnp.int8, "integral"), jnp.isdtype(jnp.float32, ("bool", jnp.float64))
    (True, False)
    """
    mine = dtypes.as_dtype(dtype)
    for k in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(k, str) and k in _GROUPS:
            if mine in _GROUPS[k]:
                return True
        elif dtypes.as_dtype(k) == mine:
            return True
    return False


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether NumPy's rules let a dtype become another.

    >>> jnp.can_cast(jnp.int32, jnp.float64), jnp.can_cast(jnp.float32, jnp.int32)
    (True, False)
    """
    source = from_
    if is_traced_or_device(from_) or isinstance(from_, np.ndarray | np.generic):
        source = from_.dtype
    return by_numpy(np.can_cast, dtypes.as_dtype(source), dtypes.as_dtype(to), casting)


def finfo(dtype: Any) -> Any:
    """Machine limits of a float dtype: eps, max, min, tiny, bits, nmant, ...

    >>> jnp.finfo(jnp.bfloat16).bits, jnp.finfo(jnp.float32).nmant
    (16, 23)
    """
    return dtypes.finfo(_limits_of(dtype))


def iinfo(int_type: Any) -> Any:
    """Machine limits of an integer dtype: max, min, bits.

    >>> jnp.iinfo(jnp.int8).min, jnp.iinfo(jnp.uint4).max
    (-128, 15)
    """
    return dtypes.iinfo(_limits_of(int_type))


def _limits_of(spec: Any) -> Any:
    if is_traced_or_device(spec) or isinstance(spec, np.ndarray | np.generic):
        return dtypes.as_dtype(spec.dtype)
    if isinstance(spec, builtins.int | builtins.float) and not isinstance(spec, builtins.bool):
        return type_of(spec).dtype
    return dtypes.as_dtype(spec)


def iscomplexobj(x: Any) -> bool:
    """Whether x has a complex dtype.

    >>> jnp.iscomplexobj(jnp.array([1 + 0j])), jnp.iscomplexobj(1.0)
    (True, False)
    """
    if x is None:
        return False
    if not is_arraylike(x):
        x = array(x)
    return type_of(operand("iscomplexobj", x)).dtype in dtypes.COMPLEX


def isrealobj(x: Any) -> bool:
    """Whether x has a dtype that is not complex.

    >>> jnp.isrealobj(jnp.array([1 + 0j])), jnp.isrealobj(1.0)
    (False, True)
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether x is a number or an array without axes.

    >>> jnp.isscalar(1.5), jnp.isscalar(jnp.array(1)), jnp.isscalar(jnp.array([1]))
    (True, True, False)
    """
    if is_traced_or_device(element):
        return element.ndim == 0
    if isinstance(element, np.ndarray):
        return element.ndim == 0
    if hasattr(element, "__jax_array__"):
        return isscalar(element.__jax_array__())
    return np.isscalar(element)
