"""The normal distribution, of mean loc and standard deviation scale."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.scipy.special import log_ndtr, ndtr, ndtri
from plait.scipy.stats.formula import Formula, exp_of, scaled

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return -0.5 * jnp.square(scaled(x, loc, scale)) - (jnp.log(scale) + _HALF_LOG_2_PI)


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return ndtr(scaled(x, loc, scale))


@Formula
def _logcdf(x: Any, loc: Any, scale: Any) -> Any:
    return log_ndtr(scaled(x, loc, scale))


@Formula
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return ndtr(-scaled(x, loc, scale))


@Formula
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    return log_ndtr(-scaled(x, loc, scale))


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * ndtri(q)


@Formula
def _isf(q: Any, loc: Any, scale: Any) -> Any:
    return loc - scale * ndtri(q)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.logpdf(jnp.array([-1.0, 0.0, 30.0])).round(4)
    Array([  -1.4189,   -0.9189, -450.919 ], dtype=float32)
    """
    return _logpdf("norm.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: exp(-z²/2) / (√(2π) scale) with z = (x - loc) / scale.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.pdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.242 , 0.3989, 0.242 ], dtype=float32)
    """
    return _pdf("norm.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.cdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1587, 0.5   , 0.8413], dtype=float32)
    """
    return _cdf("norm.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, without underflow.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.logcdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.841 , -0.6931, -0.1728], dtype=float32)
    """
    return _logcdf("norm.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.sf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.8413, 0.5   , 0.1587], dtype=float32)
    """
    return _sf("norm.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, without underflow.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.logsf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-0.1728, -0.6931, -1.841 ], dtype=float32)
    """
    return _logsf("norm.logsf", x, loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1.

    Infinite at 0 and 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.ppf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([-0.6745,  0.    ,  0.6745], dtype=float32)
    """
    return _ppf("norm.ppf", q, loc, scale)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value above which the chance is q: the inverse of sf; NaN unless 0 <= q <= 1.

    Infinite at 0 and 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import norm
    >>> norm.isf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([ 0.6745,  0.    , -0.6745], dtype=float32)
    """
    return _isf("norm.isf", q, loc, scale)


__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
