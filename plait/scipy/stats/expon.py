"""The exponential distribution, from loc on."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.ops.activation import log1mexp
from plait.scipy.stats.formula import Formula, exp_of, probability, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.where(x < loc, -jnp.inf, -(scaled(x, loc, scale) + jnp.log(scale)))


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return -jnp.expm1(-jnp.maximum(scaled(x, loc, scale), 0.0))


@Formula
def _logcdf(x: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    return jnp.where(z <= 0, -jnp.inf, log1mexp(jnp.where(z <= 0, 1.0, z)))


@Formula
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    return -jnp.maximum(scaled(x, loc, scale), 0.0)


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc - scale * jnp.log1p(-probability(q))


_pdf, _sf = exp_of(_logpdf), exp_of(_logsf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.logpdf(jnp.array([-1.0, 0.5, 2.0])).round(4)
    Array([-inf, -0.5, -2. ], dtype=float32)
    """
    return _logpdf("expon.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: exp(-z) / scale with z = (x - loc) / scale; 0 below loc.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.pdf(jnp.array([-1.0, 0.5, 2.0])).round(4)
    Array([0.    , 0.6065, 0.1353], dtype=float32)
    """
    return _pdf("expon.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: 1 - exp(-z), exact near loc; 0 below.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.cdf(jnp.array([-1.0, 0.5, 2.0])).round(4)
    Array([0.    , 0.3935, 0.8647], dtype=float32)
    """
    return _cdf("expon.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, without underflow.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.logcdf(jnp.array([-1.0, 0.5, 2.0])).round(4)
    Array([   -inf, -0.9328, -0.1454], dtype=float32)
    """
    return _logcdf("expon.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.sf(jnp.array([-1.0, 0.5, 2.0])).round(4)
    Array([1.    , 0.6065, 0.1353], dtype=float32)
    """
    return _sf("expon.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, without underflow.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.logsf(jnp.array([-1.0, 0.5, 2.0])).round(4)
    Array([-0. , -0.5, -2. ], dtype=float32)
    """
    return _logsf("expon.logsf", x, loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1.

    Infinite at 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import expon
    >>> expon.ppf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([0.2877, 0.6931, 1.3863], dtype=float32)
    """
    return _ppf("expon.ppf", q, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
