"""The windows of plait.scipy.signal: weights of the points of a segment, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.errors import ArgumentError

# Sums of weights[k] * cos(2 pi k n / points), with alternating signs.
_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_OTHER_NAMES = {
    "box": "boxcar",
    "gauss": "gaussian",
    "hanning": "hann",
    "ones": "boxcar",
    "rect": "boxcar",
    "rectangular": "boxcar",
    "triangle": "triang",
}


def window_weights(op: str, window: Any, n: int) -> np.ndarray:
    """The weights of n points that a window names: one period of it, in float64.

    window: a name, or a tuple of a name and its parameters: ("kaiser", beta), ("gaussian", std),
    ("tukey", share of the slopes), ("exponential", None, tau); a number is the beta of a Kaiser
    window. Raises: ArgumentError.
    """
    name, *parameters = window if isinstance(window, tuple) else (window,)
    if not isinstance(name, str):
        name, parameters = "kaiser", [name]
    name = _OTHER_NAMES.get(name, name)
    if name in _COSINES and not parameters:
        name, parameters = "general_cosine", [_COSINES[name]]
    make = _FORMULAS.get(name)
    if make is None and name in _COSINES:
        raise ArgumentError("this window has no parameters", op=op, window=window, fix=repr(name))
    if make is None:
        known = ", ".join(sorted({*_COSINES, *_FORMULAS}))
        raise ArgumentError("there is no such window", op=op, window=window, fix=f"one of {known}")
    if n == 1:
        return np.ones(1)
    # Of one period the point where the next one begins is left out.
    try:
        return make(n + 1, *parameters)[:-1]
    except TypeError:
        raise ArgumentError(
            "this window has other parameters", op=op, window=window, fix="a tuple (name, ...)"
        ) from None


def _general_cosine(m: int, weights: Sequence[float]) -> np.ndarray:
    angle = np.pi * (_places(m) + 1)
    return np.sum([(-1) ** k * w * np.cos(k * angle) for k, w in enumerate(weights)], axis=0)


def _places(m: int) -> np.ndarray:
    """The places of m points, from -1 to 1."""
    return np.linspace(-1.0, 1.0, m)


def _triang(m: int) -> np.ndarray:
    return 1 - np.abs(_places(m)) * (m - 1) / (m + 1 if m % 2 else m)


def _bohman(m: int) -> np.ndarray:
    x = np.abs(_places(m))
    y = (1 - x) * np.cos(np.pi * x) + np.sin(np.pi * x) / np.pi
    y[[0, -1]] = 0
    return y


def _barthann(m: int) -> np.ndarray:
    x = np.abs(_places(m)) / 2
    return 0.62 - 0.48 * x + 0.38 * np.cos(2 * np.pi * x)


def _parzen(m: int) -> np.ndarray:
    x = np.abs(np.arange(m) - (m - 1) / 2) / (m / 2)
    near = 1 - 6 * x**2 * (1 - x)
    return np.where(x <= (m - 1) / (2 * m), near, 2 * (1 - x) ** 3)


def _gaussian(m: int, std: float) -> np.ndarray:
    return np.exp(-(((np.arange(m) - (m - 1) / 2) / std) ** 2) / 2)


def _general_gaussian(m: int, p: float, sig: float) -> np.ndarray:
    return np.exp(-(np.abs((np.arange(m) - (m - 1) / 2) / sig) ** (2 * p)) / 2)


def _exponential(m: int, center: float | None = None, tau: float = 1.0) -> np.ndarray:
    middle = (m - 1) / 2 if center is None else center
    return np.exp(-np.abs(np.arange(m) - middle) / tau)


def _tukey(m: int, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(m)
    slope = np.clip((1 - np.abs(_places(m))) / min(alpha, 1.0), 0, 1)
    return (1 - np.cos(np.pi * slope)) / 2


_FORMULAS = {
    "bartlett": lambda m: 1 - np.abs(_places(m)),
    "barthann": _barthann,
    "bohman": _bohman,
    "cosine": lambda m: np.sin(np.pi * (np.arange(m) + 0.5) / m),
    "exponential": _exponential,
    "gaussian": _gaussian,
    "general_cosine": _general_cosine,
    "general_gaussian": _general_gaussian,
    "general_hamming": lambda m, alpha: _general_cosine(m, (alpha, 1 - alpha)),
    "kaiser": lambda m, beta: np.kaiser(m, beta),
    "lanczos": lambda m: np.sinc(_places(m)),
    "parzen": _parzen,
    "triang": _triang,
    "tukey": _tukey,
}
