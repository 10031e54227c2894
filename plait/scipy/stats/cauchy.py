"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.scipy.stats.formula import Formula, exp_of, log_of, probability, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return -(jnp.log(scale * math.pi) + jnp.log1p(jnp.square(scaled(x, loc, scale))))


# Angles, not 1/2 + atan(z)/π, keep the digits of both tails.


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.arctan2(1.0, -scaled(x, loc, scale)) / math.pi


@Formula
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.arctan2(1.0, scaled(x, loc, scale)) / math.pi


def _tangent(q: Any) -> Any:
    """tan(π (q - 1/2)), which near 0 is -1 / tan(πq), and near 1 is 1 / tan(π(1 - q))."""
    middle = jnp.abs(q - 0.5) < 0.25
    near = jnp.tan(math.pi * (jnp.where(middle, q, 0.5) - 0.5))
    above = q > 0.5
    end = jnp.where(middle, 0.25, jnp.where(above, 1.0 - q, q))
    return jnp.where(middle, near, jnp.where(above, 1.0, -1.0) / jnp.tan(math.pi * end))


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * _tangent(probability(q))


@Formula
def _isf(q: Any, loc: Any, scale: Any) -> Any:
    return loc - scale * _tangent(probability(q))


_pdf, _logcdf, _logsf = exp_of(_logpdf), log_of(_cdf), log_of(_sf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.logpdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.8379, -1.1447, -1.8379], dtype=float32)
    """
    return _logpdf("cauchy.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: 1 / (π scale (1 + z²)) with z = (x - loc) / scale.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.pdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1592, 0.3183, 0.1592], dtype=float32)
    """
    return _pdf("cauchy.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: 1/2 + arctan(z) / π, exact in both tails.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.cdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.25, 0.5 , 0.75], dtype=float32)
    """
    return _cdf("cauchy.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.logcdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.3863, -0.6931, -0.2877], dtype=float32)
    """
    return _logcdf("cauchy.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.sf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.75, 0.5 , 0.25], dtype=float32)
    """
    return _sf("cauchy.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.logsf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-0.2877, -0.6931, -1.3863], dtype=float32)
    """
    return _logsf("cauchy.logsf", x, loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1.

    Infinite at 0 and 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.ppf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return _ppf("cauchy.ppf", q, loc, scale)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value above which the chance is q: the inverse of sf; NaN unless 0 <= q <= 1.

    Infinite at 0 and 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import cauchy
    >>> cauchy.isf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([ 1.,  0., -1.], dtype=float32)
    """
    return _isf("cauchy.isf", q, loc, scale)


__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
