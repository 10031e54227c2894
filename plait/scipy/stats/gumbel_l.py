"""The left-skewed Gumbel distribution, of the smallest of many numbers."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.ops.activation import log1mexp
from plait.scipy.stats.formula import Formula, exp_of, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    # At infinity two terms would be infinite, of different signs.
    y = jnp.where(jnp.isinf(z), -jnp.inf, (z - jnp.exp(z)) - jnp.log(scale))
    return jnp.where(scale > 0, y, jnp.nan)


@Formula
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.where(scale > 0, -jnp.exp(scaled(x, loc, scale)), jnp.nan)


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return -jnp.expm1(_logsf.of(x, loc, scale))


@Formula
def _logcdf(x: Any, loc: Any, scale: Any) -> Any:
    return log1mexp(-_logsf.of(x, loc, scale))


@Formula
def _ppf(p: Any, loc: Any, scale: Any) -> Any:
    y = loc + scale * jnp.log(-jnp.log1p(-p))
    return jnp.where((p > 0) & (p < 1), y, jnp.nan)


_pdf, _sf = exp_of(_logpdf), exp_of(_logsf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.logpdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.3679, -1.    , -1.7183], dtype=float32)
    """
    return _logpdf("gumbel_l.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: exp(z - exp(z)) / scale with z = (x - loc) / scale.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.pdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.2546, 0.3679, 0.1794], dtype=float32)
    """
    return _pdf("gumbel_l.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: 1 - exp(-exp(z)), exact where it is small.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.cdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.3078, 0.6321, 0.934 ], dtype=float32)
    """
    return _cdf("gumbel_l.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf; -inf where exp(z) underflows.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.logcdf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-1.1783, -0.4587, -0.0683], dtype=float32)
    """
    return _logcdf("gumbel_l.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.sf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.6922, 0.3679, 0.066 ], dtype=float32)
    """
    return _sf("gumbel_l.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, without underflow.

    NaN unless scale is positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.logsf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-0.3679, -1.    , -2.7183], dtype=float32)
    """
    return _logsf("gumbel_l.logsf", x, loc, scale)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is p: the inverse of cdf; NaN unless 0 < p < 1.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gumbel_l
    >>> gumbel_l.ppf(jnp.array([0.25, 0.5, 0.75])).round(4)
    Array([-1.2459, -0.3665,  0.3266], dtype=float32)
    """
    return _ppf("gumbel_l.ppf", p, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
