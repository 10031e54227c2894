"""plait.dtypes: dtype names and questions about them."""

from typing import Any

from plait.core import dtypes as _dtypes
from plait.core.dtypes import (
    KeyDType,
    bfloat16,
    extended,
    finfo,
    float0,
    iinfo,
    issubdtype,
    prng_key,
    promote_types,
)
from plait.core.types import is_array as _is_array
from plait.core.types import type_of as _type_of
from plait.errors import ArgumentTypeError as _ArgumentTypeError
from plait.errors import DtypeError as TypePromotionError
from plait.numpy.promotion import result_type


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays get: 32 bits for 64 unless enable_x64 is on.

    Raises: ArgumentTypeError for what is no dtype, and for the dtype of keys unless
    allow_extended_dtype.

    >>> plait.dtypes.canonicalize_dtype("float64")
    dtype('float32')
    """
    found = _dtypes.canonical(_dtypes.as_dtype(dtype))
    if isinstance(found, KeyDType) and not allow_extended_dtype:
        raise _ArgumentTypeError(
            "the dtype of keys is not one of numbers",
            op="canonicalize_dtype",
            dtype=found.name,
            fix="allow_extended_dtype=True",
        )
    return found


def itemsize_bits(dtype: Any) -> int:
    """The number of bits of an element: 4 for int4, although it takes a byte of memory.

    >>> plait.dtypes.itemsize_bits(jnp.int4), plait.dtypes.itemsize_bits("float32")
    (4, 32)
    """
    found = _dtypes.as_dtype(dtype)
    for narrow, bits in (("int4", 4), ("float4", 4), ("int2", 2)):
        if narrow in found.name:
            return bits
    return found.itemsize * 8


def scalar_type_of(x: Any) -> type:
    """The Python type of the elements of an array x, or of a dtype: bool, int, float or complex.

    Raises: ArgumentTypeError for keys.

    >>> plait.dtypes.scalar_type_of(jnp.ones(2, jnp.bfloat16)), plait.dtypes.scalar_type_of("int8")
    (<class 'float'>, <class 'int'>)
    """
    dtype = _type_of(x).dtype if _is_array(x) else _dtypes.as_dtype(x)
    for members, python in (
        (_dtypes.BOOL, bool),
        (_dtypes.INTEGER, int),
        (_dtypes.FLOAT, float),
        (_dtypes.COMPLEX, complex),
    ):
        if dtype in members:
            return python
    raise _ArgumentTypeError("the elements are not numbers", op="scalar_type_of", x=x)


__all__ = [
    "KeyDType",
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "promote_types",
    "result_type",
    "scalar_type_of",
]
