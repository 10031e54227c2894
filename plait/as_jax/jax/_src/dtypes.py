"""jax._src.dtypes."""

import abc
from typing import Any

from plait import dtypes as _public
from plait.core.dtypes import DType, KeyDType, finfo
from plait.dtypes import *  # noqa: F403


class ExtendedDType(abc.ABC):  # noqa: B024 (a class to compare with, no more)
    """Base of dtypes that are not of numbers. plait has one, of keys, and takes no others."""


ExtendedDType.register(KeyDType)


def supports_inf(dtype: Any) -> bool:
    """Whether a float dtype has infinities."""
    return bool(dtype.type(float("inf")) > finfo(dtype).max)


__all__ = ["DType", "ExtendedDType", "supports_inf"]
__all__ += _public.__all__
