"""The von Mises distribution of angles, of concentration kappa > 0."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.scipy.special import i0e
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpdf(x: Any, kappa: Any) -> Any:
    # cos(x) - 1 = -2 sin²(x/2) keeps its digits near 0.
    y = -2.0 * kappa * jnp.square(jnp.sin(0.5 * x)) - jnp.log(2 * math.pi * i0e(kappa))
    return jnp.where(kappa > 0, y, jnp.nan)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    NaN unless kappa is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import vonmises
    >>> vonmises.logpdf(jnp.array([-1.0, 0.0, 1.0]), 2).round(4)
    Array([-1.5813, -0.6619, -1.5813], dtype=float32)
    """
    return _logpdf("vonmises.logpdf", x, kappa)


def pdf(x: Any, kappa: Any) -> Any:
    """The density at x: exp(kappa cos(x)) / (2π i0(kappa)), with period 2π, for large kappa too.

    NaN unless kappa is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import vonmises
    >>> vonmises.pdf(jnp.array([-1.0, 0.0, 1.0]), 2).round(4)
    Array([0.2057, 0.5159, 0.2057], dtype=float32)
    """
    return _pdf("vonmises.pdf", x, kappa)


__all__ = ["logpdf", "pdf"]
