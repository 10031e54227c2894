"""jax.interpreters.xla."""

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.as_jax.primitive import apply_primitive
from plait.core.types import type_of
from plait.runtime.array import canonical_value

# How values of a type become arrays. Libraries copy an entry for classes of their own; of those
# plait asks `__jax_array__`, so that nothing here is looked up.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {
    np.ndarray: lambda x: canonical_value(x, type_of(x))
}

__all__ = ["apply_primitive", "canonicalize_dtype_handlers"]
