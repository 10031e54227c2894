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
    """The logarithm of the density at x."""
    return _logpdf("gumbel_r.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("gumbel_r.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("gumbel_r.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf."""
    return _logcdf("gumbel_r.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x."""
    return _sf("gumbel_r.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf."""
    return _logsf("gumbel_r.logsf", x, loc, scale)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is p: the inverse of cdf; NaN unless 0 <= p <= 1."""
    return _ppf("gumbel_r.ppf", p, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
