"""ArrayType: shape and dtype, the only abstract value; interned, so that types compare by identity.

Dispatch builds its cache keys from these objects: one object per (shape, dtype, weak_type) makes
hashing and comparing a key as cheap as hashing pointers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import DType
from plait.core.source import called
from plait.errors import ArgumentError, ArgumentTypeError, an


class ArrayType:
    """The shape and dtype of an array, and whether its dtype is weak (from a Python scalar).

    Make one with `ArrayType(shape, dtype, weak_type)`: equal arguments give the same object. Users
    know it as jax.core.ShapedArray, and what `typeof` gives. A sharding is left to the compiler.

    >>> plait.core.ShapedArray((2, 3), jnp.float32)
    ArrayType(float32[2,3])
    >>> plait.core.ShapedArray((2, 3), jnp.float32) is plait.typeof(jnp.ones((2, 3)))
    True
    """

    __slots__ = ("dtype", "ndim", "shape", "size", "weak_type")
    shape: tuple[int, ...]
    dtype: DType
    weak_type: bool
    ndim: int
    size: int
    _interned: ClassVar[dict[tuple, ArrayType]] = {}

    def __new__(
        cls, shape: Iterable[int], dtype: DType, weak_type: bool = False, *, sharding: Any = None
    ):
        shape = tuple(shape)
        key = (shape, dtype, weak_type)
        self = cls._interned.get(key)
        if self is None:
            if not isinstance(dtype, np.dtype | dtypes.KeyDType):
                return cls(shape, dtypes.as_dtype(dtype), weak_type)
            self = super().__new__(cls)
            self.shape, self.dtype, self.weak_type = shape, dtype, weak_type
            self.ndim, self.size = len(shape), math.prod(shape)
            # setdefault: two threads that race get one object.
            self = cls._interned.setdefault(key, self)
        return self

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def with_shape(self, shape: Iterable[int]) -> ArrayType:
        return ArrayType(shape, self.dtype, self.weak_type)

    def with_dtype(self, dtype: DType, weak_type: bool = False) -> ArrayType:
        return ArrayType(self.shape, dtype, weak_type)

    def strong(self) -> ArrayType:
        """The same type, not weak."""
        return ArrayType(self.shape, self.dtype, False) if self.weak_type else self

    def tangent(self) -> ArrayType:
        """The type of derivatives: the type itself for floats and complex, else float0."""
        if self.dtype in dtypes.INEXACT:
            return self
        return ArrayType(self.shape, dtypes.float0)

    @property
    def aval(self) -> ArrayType:
        """Itself: what has a type and what is one answer alike."""
        return self

    @property
    def sharding(self) -> Any:
        """How a value of this type is spread: left to the compiler, over the mesh of set_mesh."""
        from plait.runtime.mesh import get_abstract_mesh
        from plait.runtime.sharding import NamedSharding, PartitionSpec

        return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * self.ndim))

    def update(self, **changed: Any) -> ArrayType:
        """The type with another shape, dtype or weak_type."""
        return ArrayType(
            changed.get("shape", self.shape),
            changed.get("dtype", self.dtype),
            changed.get("weak_type", self.weak_type),
        )

    def str_short(self, short_dtypes: bool = False) -> str:
        """float32[2,3], or f32[2,3]."""
        text = str(self)
        if short_dtypes:
            for long, short in (("uint", "u"), ("int", "i"), ("bfloat", "bf"), ("float", "f")):
                if text.startswith(long):
                    return short + text[len(long) :]
            return text.replace("complex", "c", 1)
        return text

    def to_tangent_aval(self) -> ArrayType:
        """`tangent`, as JAX calls it."""
        return self.tangent()

    def strip_weak_type(self) -> ArrayType:
        """`strong`, as JAX calls it."""
        return self.strong()

    def __reduce__(self):
        return ArrayType, (self.shape, self.dtype, self.weak_type)

    def __str__(self) -> str:
        return f"{dtypes.name_of(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"ArrayType({self}{', weak_type=True' if self.weak_type else ''})"


class Typed:
    """Base of what has an ArrayType, as `type`, and answers for it."""

    __slots__ = ()
    type: ArrayType

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The dtype, a numpy.dtype (or a key dtype)."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements together."""
        return self.type.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.type.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype comes from a Python scalar and gives way to others."""
        return self.type.weak_type

    @property
    def aval(self) -> ArrayType:
        """The abstract value: shape and dtype."""
        return self.type


# NumPy's dtypes that are the same in plait, whatever the switches say.
_PLAIN = frozenset(map(np.dtype, ("float32", "int32", "uint32", "bool", "uint8", "complex64")))
_SCALARS = (bool, int, float, complex)
_scalar_types: dict[tuple[type, bool], ArrayType] = {}


def scalar_type(value: Any) -> ArrayType:
    """The weak type of a Python scalar."""
    for kind in _SCALARS:
        if isinstance(value, kind):
            return ArrayType((), dtypes.scalar_dtype(kind), kind is not bool)
    raise TypeError(f"{type(value).__name__} is no Python number")


def type_of(x: Any) -> ArrayType:
    """The ArrayType of an array, tracer, NumPy array or Python scalar, as plait has it.

    Raises: ArgumentTypeError if x is none of these.
    """
    type_ = getattr(x, "type", None)
    if isinstance(type_, ArrayType):
        return type_
    if isinstance(x, np.ndarray | np.generic):
        if type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):
            raise ArgumentError(
                "the mask of a masked array would be lost",
                op=called(),
                value=f"{x.dtype}{list(x.shape)}, masked",
                fix="x.filled(value), or x.data and x.mask as two arrays",
            )
        dtype = x.dtype
        if dtype not in _PLAIN:
            dtype = dtypes.canonical(dtypes.as_dtype(dtype))
            dtypes.check_supported(dtype, x=x)
        return ArrayType(x.shape, dtype)
    if isinstance(x, _SCALARS):
        return scalar_type(x)
    raise ArgumentTypeError(f"{an(type(x).__name__)} is not an array", op=called(), value=x)


def typeof(x: Any) -> ArrayType:
    """The shape and dtype of an array, traced value or number, as a type that compares by identity.

    Raises: ArgumentTypeError for anything else.

    >>> plait.typeof(plait.numpy.ones((2, 3)))
    ArrayType(float32[2,3])
    """
    return type_of(x)


def is_array(x: Any) -> bool:
    """Whether type_of(x) succeeds, up to unsupported dtypes."""
    return isinstance(getattr(x, "type", None), ArrayType) or isinstance(
        x, np.ndarray | np.generic | bool | int | float | complex
    )
