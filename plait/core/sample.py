"""Small arrays for the `samples` of ops: the same on every run, and far from kinks and poles."""

from __future__ import annotations

import numpy as np


def real(*shape: int, low: float = -2.0, high: float = 2.0, dtype: type = np.float64) -> np.ndarray:
    """Floats in [low, high), no two alike and none near 0 or a whole number by accident."""
    n = int(np.prod(shape))
    # Multiples of the golden ratio spread evenly and do not repeat.
    fractions = (0.5 + 0.6180339887498949 * np.arange(1, n + 1)) % 1.0
    return (low + (high - low) * fractions).reshape(shape).astype(dtype)


def positive(*shape: int, low: float = 0.5, high: float = 3.0) -> np.ndarray:
    """Floats in [low, high)."""
    return real(*shape, low=low, high=high)


def complex_(*shape: int, scale: float = 1.5) -> np.ndarray:
    """Complex numbers with both parts in [-scale, scale)."""
    pair = real(2, *shape, low=-scale, high=scale)
    return pair[0] + 1j * pair[1][..., ::-1] if shape else pair[0] + 1j * pair[1]


def integers(*shape: int, low: int = -5, high: int = 6, dtype: type = np.int32) -> np.ndarray:
    """Integers in low..high-1."""
    n = int(np.prod(shape))
    return (low + (np.arange(n) * 7 + 3) % (high - low)).reshape(shape).astype(dtype)


def booleans(*shape: int) -> np.ndarray:
    """True and False in an irregular order."""
    n = int(np.prod(shape))
    return ((np.arange(n) * 5 + 1) % 7 < 3).reshape(shape)
