"""The right-skewed Gumbel distribution, of the largest of many numbers."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.ops.activation import log1mexp
from plait.scipy.stats.formula import Formula, exp_of, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    # At infinity two terms would be infinite, of different signs.
    y = jnp.where(jnp.isinf(z), -jnp.inf, -(z + jnp.exp(-z)) - jnp.log(scale))
    return jnp.where(scale > 0, y, jnp.nan)


@Formula
def _logcdf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.where(scale > 0, -jnp.exp(-scaled(x, loc, scale)), jnp.nan)


@Formula
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return -jnp.expm1(_logcdf.of(x, loc, scale))


@Formula
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    return log1mexp(-_logcdf.of(x, loc, scale))


@Formula
def _ppf(p: Any, loc: Any, scale: Any) -> Any:
    y = loc - scale * jnp.log(-jnp.log(p))
    return jnp.where((p > 0) & (p < 1), y, jnp.nan)


_pdf, _cdf = exp_of(_logpdf), exp_of(_logcdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.logpdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.7183, -1.    , -1.3679], dtype=float32)
    """
    return _logpdf("gumbel_r.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: exp(-z - exp(-z)) / scale with z = (x - loc) / scale.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.pdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1794, 0.3679, 0.2546], dtype=float32)
    """
    return _pdf("gumbel_r.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: exp(-exp(-z)) with z = (x - loc) / scale.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.cdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.066 , 0.3679, 0.6922], dtype=float32)
    """
    return _cdf("gumbel_r.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, without underflow.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.logcdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-2.7183, -1.    , -0.3679], dtype=float32)
    """
    return _logcdf("gumbel_r.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.sf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.934 , 0.6321, 0.3078], dtype=float32)
    """
    return _sf("gumbel_r.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf; -inf where exp(-z) underflows.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.logsf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-0.0683, -0.4587, -1.1783], dtype=float32)
    """
    return _logsf("gumbel_r.logsf", x, loc, scale)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is p: the inverse of cdf; NaN unless 0 < p < 1.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_r
    >>> gumbel_r.ppf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([-0.3266,  0.3665,  1.2459], dtype=float32)
    """
    return _ppf("gumbel_r.ppf", p, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
