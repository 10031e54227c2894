"""plait.flatten_util: a tree of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import reshape
from plait.ops.slices import concatenate, slice_in_dim
from plait.runtime.array import as_array


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(all elements of a tree of arrays as one vector, a function that rebuilds the tree).

    The vector has the common dtype. Rebuilt from another vector, a tree of one dtype gets that of
    the vector; a tree of several takes the common dtype alone and gets its own back. The functions
    of trees of one kind are equal. They raise ShapeError for vectors of another size, DtypeError.

    >>> v, back = plait.flatten_util.ravel_pytree({"a": jnp.ones(2), "b": 3.0})
    >>> v, back(2 * v)
    (Array([1., 1., 3.], dtype=float32),
     {'a': Array([2., 2.], dtype=float32), 'b': Array(6., dtype=float32)})
    """
    leaves, structure = tree.flatten(pytree)
    types = tuple(type_of(x) for x in leaves)
    if not leaves:
        dtype = dtypes.default_float()
        return as_array(np.zeros(0, dtype)), _Unravel(structure, types, dtype)
    dtype, _ = dtypes.promote(*((t.dtype, t.weak_type) for t in types))
    parts = [
        reshape(convert_element_type(x, dtype), (t.size,))
        for x, t in zip(leaves, types, strict=True)
    ]
    return concatenate(parts, 0), _Unravel(structure, types, dtype)


class _Unravel:
    """A vector as a tree of a structure, with leaves of some types."""

    def __init__(self, structure: Any, types: tuple[ArrayType, ...], dtype: Any):
        self.key = (structure, types, dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __call__(self, vector: Any) -> Any:
        structure, types, dtype = self.key
        have, total = type_of(vector), sum(t.size for t in types)
        if have.shape != (total,):
            raise ShapeError(
                "the vector has another size than the tree",
                op="unravel",
                vector=vector,
                expected=(total,),
            )
        own = {t.dtype for t in types}
        if len(own) > 1 and have.dtype != dtype:
            raise DtypeError(
                "a tree of several dtypes is made of a vector of their common one",
                op="unravel",
                vector=vector,
                expected=dtype.name,
                fix=f"vector.astype({dtype.name!r})",
            )
        out, at = [], 0
        for t in types:
            part = reshape(slice_in_dim(vector, at, at + t.size), t.shape)
            at += t.size
            out.append(part if len(own) == 1 else convert_element_type(part, t.dtype))
        return structure.unflatten(out)


__all__ = ["ravel_pytree"]
