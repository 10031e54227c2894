"""The gamma distribution of shape a, from loc on."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import gammainc, gammaincc, gammaln, xlogy
from plait.scipy.stats.formula import Formula, exp_of, inside, log_of, scaled


@Formula
def _logpdf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    below = z < 0
    z = inside(~below, z, 1.0)
    y = xlogy(a - 1.0, z) - z - (gammaln(a) + jnp.log(scale))
    return jnp.where(below, -jnp.inf, y)


@Formula
def _cdf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    return gammainc(a, jnp.maximum(scaled(x, loc, scale), 0.0))


@Formula
def _sf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    return gammaincc(a, jnp.maximum(scaled(x, loc, scale), 0.0))


_pdf, _logcdf, _logsf = exp_of(_logpdf), log_of(_cdf), log_of(_sf)


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    return _logpdf("gamma.logpdf", x, a, loc, scale)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("gamma.pdf", x, a, loc, scale)


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("gamma.cdf", x, a, loc, scale)


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf."""
    return _logcdf("gamma.logcdf", x, a, loc, scale)


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x."""
    return _sf("gamma.sf", x, a, loc, scale)


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf."""
    return _logsf("gamma.logsf", x, a, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
