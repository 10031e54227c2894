"""jax._src.literals: kinds of NumPy arrays that JAX makes itself, and plait does not."""

import numpy as np


class TypedNdArray(np.ndarray):
    """Nothing is one."""


LiteralArray = TypedNdArray

__all__ = ["LiteralArray", "TypedNdArray"]
