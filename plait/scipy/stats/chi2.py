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
    """The logarithm of the density at x."""
    return _logpdf("chi2.logpdf", x, df, loc, scale)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("chi2.pdf", x, df, loc, scale)


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("chi2.cdf", x, df, loc, scale)


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf."""
    return _logcdf("chi2.logcdf", x, df, loc, scale)


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x."""
    return _sf("chi2.sf", x, df, loc, scale)


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf."""
    return _logsf("chi2.logsf", x, df, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
