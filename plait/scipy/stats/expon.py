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
    """The logarithm of the density at x."""
    return _logpdf("expon.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("expon.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("expon.cdf", x, loc, scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf."""
    return _logcdf("expon.logcdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x."""
    return _sf("expon.sf", x, loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf."""
    return _logsf("expon.logsf", x, loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1."""
    return _ppf("expon.ppf", q, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
