"""The chi-squared distribution of df degrees of freedom, from loc on."""

from __future__ import annotations

from typing import Any

from plait.scipy.stats import gamma
from plait.scipy.stats.formula import Formula, exp_of, log_of

# That of the gamma distribution of shape df/2 and twice the scale.


@Formula
def _logpdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    return gamma.logpdf(x, 0.5 * df, loc, 2.0 * scale)


@Formula
def _cdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    return gamma.cdf(x, 0.5 * df, loc, 2.0 * scale)


@Formula
def _sf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    return gamma.sf(x, 0.5 * df, loc, 2.0 * scale)


_pdf, _logcdf, _logsf = exp_of(_logpdf), log_of(_cdf), log_of(_sf)


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import chi2
    >>> chi2.logpdf(jnp.array([-1.0, 1.0, 2.0]), 3).round(4)
    Array([   -inf, -1.4189, -1.5724], dtype=float32)
    """
    return _logpdf("chi2.logpdf", x, df, loc, scale)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x of the sum of squares of df standard normal variables, times scale, plus
    loc; 0 below loc.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import chi2
    >>> chi2.pdf(jnp.array([-1.0, 1.0, 2.0]), 3).round(4)
    Array([0.    , 0.242 , 0.2076], dtype=float32)
    """
    return _pdf("chi2.pdf", x, df, loc, scale)


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: gammainc(df / 2, z / 2) with z = (x - loc) / scale; 0 below
    loc.

    NaN for df < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import chi2
    >>> chi2.cdf(jnp.array([-1.0, 1.0, 2.0]), 3).round(4)
    Array([0.    , 0.1987, 0.4276], dtype=float32)
    """
    return _cdf("chi2.cdf", x, df, loc, scale)


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf; -inf where that underflows.

    NaN for df < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import chi2
    >>> chi2.logcdf(jnp.array([-1.0, 1.0, 2.0]), 3).round(4)
    Array([   -inf, -1.6157, -0.8496], dtype=float32)
    """
    return _logcdf("chi2.logcdf", x, df, loc, scale)


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    NaN for df < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import chi2
    >>> chi2.sf(jnp.array([-1.0, 1.0, 2.0]), 3).round(4)
    Array([1.    , 0.8013, 0.5724], dtype=float32)
    """
    return _sf("chi2.sf", x, df, loc, scale)


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf; -inf where that underflows.

    NaN for df < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import chi2
    >>> chi2.logsf(jnp.array([-1.0, 1.0, 2.0]), 3).round(4)
    Array([ 0.    , -0.2216, -0.5579], dtype=float32)
    """
    return _logsf("chi2.logsf", x, df, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
