"""jax.core."""

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core.types import ArrayType, type_of

# The types of values by class. As in interpreters/xla.py, libraries copy an entry for classes of
# their own, and plait finds their types without.
pytype_aval_mappings: dict[type, Callable[[Any], ArrayType]] = {np.ndarray: type_of}

__all__ = ["pytype_aval_mappings"]
