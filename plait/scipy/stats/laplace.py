"""Laplace's distribution, exponential on both sides of loc."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.stats.formula import Formula, exp_of, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return -(jnp.abs(scaled(x, loc, scale)) + jnp.log(2.0 * scale))


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    tail = 0.5 * jnp.exp(-jnp.abs(z))
    return jnp.where(z <= 0, tail, 1.0 - tail)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import laplace
    >>> laplace.logpdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.6931, -0.6931, -1.6931], dtype=float32)
    """
    return _logpdf("laplace.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: exp(-|z|) / (2 scale) with z = (x - loc) / scale.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import laplace
    >>> laplace.pdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1839, 0.5   , 0.1839], dtype=float32)
    """
    return _pdf("laplace.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import laplace
    >>> laplace.cdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1839, 0.5   , 0.8161], dtype=float32)
    """
    return _cdf("laplace.cdf", x, loc, scale)


__all__ = ["cdf", "logpdf", "pdf"]
