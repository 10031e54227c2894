"""ShapeDtypeStruct: the shape and dtype of an array that need not exist."""

from __future__ import annotations

from typing import Any

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.errors import ArgumentTypeError
from plait.ops.axes import check_shape
from plait.runtime.array import Array


class ShapeDtypeStruct:
    """The shape and dtype of an array that need not exist; what eval_shape returns.

    >>> plait.eval_shape(lambda x: x @ x.T, plait.ShapeDtypeStruct((3, 2), jnp.float32))
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """

    __slots__ = ("sharding", "type")

    def __init__(
        self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False, **_: Any
    ):
        if dtype is None:
            raise ArgumentTypeError("a dtype is needed", op="ShapeDtypeStruct")
        dtype = dtypes.canonical(dtypes.as_dtype(dtype, "ShapeDtypeStruct"))
        self.type = ArrayType(check_shape(shape, "ShapeDtypeStruct"), dtype, weak_type)
        self.sharding = sharding

    shape = property(lambda self: self.type.shape)
    dtype = property(lambda self: self.type.dtype)
    ndim = property(lambda self: self.type.ndim)
    size = property(lambda self: self.type.size)
    weak_type = property(lambda self: self.type.weak_type)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same but for some of shape, dtype, sharding and weak_type."""
        kept = {"shape": self.shape, "dtype": self.dtype, "sharding": self.sharding}
        return ShapeDtypeStruct(**{**kept, "weak_type": self.weak_type, **changes})

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The shape and dtype of an array, or of what has both; and where the array was put."""
        where = x.sharding if getattr(x, "committed", False) else None
        weak = getattr(x, "weak_type", False)
        return ShapeDtypeStruct(x.shape, x.dtype, sharding=where, weak_type=weak)

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError("len() of an array without axes")
        return self.type.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self.type is other.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.type.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak})"


def abstract(x: Any) -> Any:
    """A ShapeDtypeStruct for what has a shape and a dtype and is no array; else x."""
    if isinstance(x, Array | ShapeDtypeStruct) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    return ShapeDtypeStruct(x.shape, x.dtype)
