"""plait.typing: types for annotations."""

from typing import Any

import numpy as np

from plait.runtime.array import Array

ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = Any

__all__ = ["ArrayLike", "DTypeLike"]
