"""Window functions of signal processing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.numpy import ufuncs
from plait.numpy.creation import ones, zeros
from plait.numpy.elementary import cos, i0, sqrt
from plait.numpy.promotion import static_int
from plait.ops.iota import iota_p


def _positions(M: int, op: str) -> tuple[int, Any]:
    n = static_int(M, op, "M")
    if n < 1:
        return n, None
    return n, iota_p.bind(shape=(n,), dtype=dtypes.default_float(), axis=0)


def _raised_cosine(M: int, op: str, *weights: float) -> Any:
    """The sum of weights[k] * cos(2 pi k n / (M - 1))."""
    n, place = _positions(M, op)
    if place is None or n == 1:
        return ones(max(n, 0))
    angle = ufuncs.multiply(place, 2 * math.pi / (n - 1))
    total: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        total = ufuncs.add(total, ufuncs.multiply(weight, cos(ufuncs.multiply(k, angle))))
    return total


def hanning(M: int) -> Any:
    """The Hann window of M points: 0.5 - 0.5 cos(2 pi n / (M - 1)).

    >>> jnp.hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _raised_cosine(M, "hanning", 0.5, -0.5)


def hamming(M: int) -> Any:
    """The Hamming window of M points: 0.54 - 0.46 cos(2 pi n / (M - 1)).

    >>> jnp.hamming(5).round(3)
    Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _raised_cosine(M, "hamming", 0.54, -0.46)


def blackman(M: int) -> Any:
    """The Blackman window of M points: 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), t = n / (M - 1).

    >>> jnp.blackman(5)[1:4].round(3)
    Array([0.34, 1.  , 0.34], dtype=float32)
    """
    return _raised_cosine(M, "blackman", 0.42, -0.5, 0.08)


def bartlett(M: int) -> Any:
    """The triangular window of M points, 0 at its ends.

    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    n, place = _positions(M, "bartlett")
    if place is None or n == 1:
        return ones(max(n, 0))
    middle = (n - 1) / 2
    distance = ufuncs.abs(ufuncs.subtract(place, middle))
    return ufuncs.subtract(1, ufuncs.true_divide(distance, middle))


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window of M points: I0(beta sqrt(1 - t**2)) / I0(beta) for t in -1..1.

    >>> jnp.kaiser(3, 0.0), jnp.kaiser(3, 14.0).round(3)
    (Array([1., 1., 1.], dtype=float32), Array([0., 1., 0.], dtype=float32))
    """
    n, place = _positions(M, "kaiser")
    if place is None or n == 1:
        return ones(max(n, 0)) if n else zeros(0)
    half = (n - 1) / 2
    t = ufuncs.true_divide(ufuncs.subtract(place, half), half)
    inside = ufuncs.maximum(ufuncs.subtract(1, ufuncs.multiply(t, t)), np.float32(0))
    return ufuncs.true_divide(i0(ufuncs.multiply(beta, sqrt(inside))), i0(beta))
