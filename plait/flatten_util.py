"""plait.flatten_util: a tree of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.types import type_of
from plait.errors import ShapeError
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import reshape
from plait.ops.slices import concatenate, slice_in_dim
from plait.runtime.array import as_array


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(all elements of a tree of arrays as one vector, a function that rebuilds the tree).

    The vector has the common dtype; the tree gets its own back. Raises ShapeError if the function
    is given a vector of another size.

    >>> v, back = plait.flatten_util.ravel_pytree({"a": jnp.ones(2), "b": 3.0})
    >>> v
    Array([1., 1., 3.], dtype=float32)
    """
    leaves, structure = tree.flatten(pytree)
    types = [type_of(x) for x in leaves]
    if not leaves:
        return as_array(np.zeros(0, dtypes.default_float())), lambda v: structure.unflatten([])
    dtype, _ = dtypes.promote(*((t.dtype, t.weak_type) for t in types))
    parts = [
        reshape(convert_element_type(x, dtype), (t.size,))
        for x, t in zip(leaves, types, strict=True)
    ]
    total = sum(t.size for t in types)

    def unravel(vector: Any) -> Any:
        if type_of(vector).shape != (total,):
            raise ShapeError(
                "the vector has another size than the tree",
                op="unravel",
                vector=vector,
                expected=(total,),
            )
        out, at = [], 0
        for t in types:
            part = slice_in_dim(vector, at, at + t.size)
            at += t.size
            out.append(convert_element_type(reshape(part, t.shape), t.dtype))
        return structure.unflatten(out)

    return concatenate(parts, 0), unravel


__all__ = ["ravel_pytree"]
