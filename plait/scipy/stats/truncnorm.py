"""The normal distribution, cut off at a and b standard deviations from loc."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.ops.activation import log1mexp
from plait.scipy.special import log_ndtr, ndtr
from plait.scipy.stats import norm
from plait.scipy.stats.formula import Formula, exp_of, scaled


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the chance that a normal variable is between a and b; -inf where a >= b."""
    # Above 0 the mirrored interval, so that the chances subtracted are small ones.
    mirrored = a > 0
    low, high = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    empty = ~(low < high)
    one_side = high <= 0
    top = log_ndtr(jnp.where(one_side, high, 0.0))
    gap = top - log_ndtr(jnp.where(one_side & ~empty, low, -1.0))
    tail = top + log1mexp(jnp.where(gap > 0, gap, 1.0))
    across = jnp.log1p(-(ndtr(low) + ndtr(-high)))
    y = jnp.where(one_side, jnp.where(gap > 0, tail, -jnp.inf), across)
    return jnp.where(empty & (low == low) & (high == high), -jnp.inf, y)


@Formula
def _logpdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    y = norm.logpdf(x, loc, scale) - _log_mass(a, b)
    y = jnp.where((z < a) | (z > b), -jnp.inf, y)
    return jnp.where(a >= b, jnp.nan, y)


@Formula
def _logcdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    within = (z > a) & (z < b)
    middle = jnp.where(within, z, 0.5 * (jnp.maximum(a, -1e3) + jnp.minimum(b, 1e3)))
    whole = _log_mass(a, b)
    below = _log_mass(a, middle) - whole
    # Near 1, by what is above.
    above = jnp.log1p(-jnp.exp(jnp.minimum(_log_mass(middle, b) - whole, -1e-30)))
    y = jnp.where(below > -0.1, above, below)
    y = jnp.where(z <= a, -jnp.inf, jnp.where(z >= b, 0.0, y))
    return jnp.where((a >= b) | (z != z), jnp.nan, y)


@Formula
def _logsf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return _logcdf.of(-x, -b, -a, -loc, scale)


_pdf, _cdf, _sf = exp_of(_logpdf), exp_of(_logcdf), exp_of(_logsf)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    NaN unless a < b. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import truncnorm
    >>> truncnorm.logpdf(jnp.array([-1.5, 0.0, 1.0]), -1, 2).round(4)
    Array([   -inf, -0.7188, -1.2188], dtype=float32)
    """
    return _logpdf("truncnorm.logpdf", x, a, b, loc, scale)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: that of norm over the chance that a norm variable has z = (x - loc) / scale
    from a to b; 0 for other z.

    NaN unless a < b. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import truncnorm
    >>> truncnorm.pdf(jnp.array([-1.5, 0.0, 1.0]), -1, 2).round(4)
    Array([0.    , 0.4874, 0.2956], dtype=float32)
    """
    return _pdf("truncnorm.pdf", x, a, b, loc, scale)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x, exact where it is small.

    NaN unless a < b. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import truncnorm
    >>> truncnorm.cdf(jnp.array([-1.5, 0.0, 1.0]), -1, 2).round(4)
    Array([0.   , 0.417, 0.834], dtype=float32)
    """
    return _cdf("truncnorm.cdf", x, a, b, loc, scale)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, without underflow.

    NaN unless a < b. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import truncnorm
    >>> truncnorm.logcdf(jnp.array([-1.5, 0.0, 1.0]), -1, 2).round(4)
    Array([   -inf, -0.8747, -0.1815], dtype=float32)
    """
    return _logcdf("truncnorm.logcdf", x, a, b, loc, scale)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    NaN unless a < b. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import truncnorm
    >>> truncnorm.sf(jnp.array([-1.5, 0.0, 1.0]), -1, 2).round(4)
    Array([1.   , 0.583, 0.166], dtype=float32)
    """
    return _sf("truncnorm.sf", x, a, b, loc, scale)


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, without underflow.

    NaN unless a < b. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import truncnorm
    >>> truncnorm.logsf(jnp.array([-1.5, 0.0, 1.0]), -1, 2).round(4)
    Array([ 0.    , -0.5395, -1.7956], dtype=float32)
    """
    return _logsf("truncnorm.logsf", x, a, b, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
