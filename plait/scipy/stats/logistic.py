"""The logistic distribution."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import expit, logit
from plait.scipy.stats.formula import Formula, exp_of, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    size = jnp.abs(scaled(x, loc, scale))
    return -(size + 2.0 * jnp.log1p(jnp.exp(-size)) + jnp.log(scale))


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return expit(scaled(x, loc, scale))


@Formula
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return expit(-scaled(x, loc, scale))


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * logit(q)


@Formula
def _isf(q: Any, loc: Any, scale: Any) -> Any:
    return loc - scale * logit(q)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import logistic
    >>> logistic.logpdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.6265, -1.3863, -1.6265], dtype=float32)
    """
    return _logpdf("logistic.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: exp(-z) / (scale (1 + exp(-z))²) with z = (x - loc) / scale.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import logistic
    >>> logistic.pdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1966, 0.25  , 0.1966], dtype=float32)
    """
    return _pdf("logistic.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: 1 / (1 + exp(-z)).

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import logistic
    >>> logistic.cdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.2689, 0.5   , 0.7311], dtype=float32)
    """
    return _cdf("logistic.cdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import logistic
    >>> logistic.sf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.7311, 0.5   , 0.2689], dtype=float32)
    """
    return _sf("logistic.sf", x, loc, scale)


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is x: the inverse of cdf; NaN unless 0 <= x <= 1.

    Infinite at 0 and 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import logistic
    >>> logistic.ppf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([-1.0986,  0.    ,  1.0986], dtype=float32)
    """
    return _ppf("logistic.ppf", x, loc, scale)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value above which the chance is x: the inverse of sf; NaN unless 0 <= x <= 1.

    Infinite at 0 and 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import logistic
    >>> logistic.isf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([ 1.0986,  0.    , -1.0986], dtype=float32)
    """
    return _isf("logistic.isf", x, loc, scale)


__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]
