"""The wrapped Cauchy distribution of angles in [0, 2π], 0 < c < 1."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpdf(x: Any, c: Any) -> Any:
    # 1 + c² - 2 c cos(x), which keeps its digits where it is small.
    spread = jnp.square(1.0 - c) + 4.0 * c * jnp.square(jnp.sin(0.5 * x))
    y = jnp.log1p(-jnp.square(c)) - math.log(2 * math.pi) - jnp.log(spread)
    y = jnp.where((x < 0) | (x > 2 * math.pi), -jnp.inf, y)
    return jnp.where((c > 0) & (c < 1), y, jnp.nan)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    NaN unless 0 < c < 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import wrapcauchy
    >>> wrapcauchy.logpdf(jnp.array([-1.0, 0.0, 1.0]), 0.5).round(4)
    Array([   -inf, -0.7393, -1.7826], dtype=float32)
    """
    return _logpdf("wrapcauchy.logpdf", x, c)


def pdf(x: Any, c: Any) -> Any:
    """The density at x: (1 - c²) / (2π (1 + c² - 2 c cos(x))) from 0 to 2π, else 0.

    NaN unless 0 < c < 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import wrapcauchy
    >>> wrapcauchy.pdf(jnp.array([-1.0, 0.0, 1.0]), 0.5).round(4)
    Array([0.    , 0.4775, 0.1682], dtype=float32)
    """
    return _pdf("wrapcauchy.pdf", x, c)


__all__ = ["logpdf", "pdf"]
