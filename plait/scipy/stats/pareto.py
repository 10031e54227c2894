"""The Pareto distribution of shape b, from loc + scale on."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.ops.activation import log1mexp
from plait.scipy.stats.formula import Formula, exp_of, inside, probability, scaled


def _log(x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """(whether x is below the support, log((x - loc) / scale), 0 there)."""
    z = scaled(x, loc, scale)
    return z < 1, jnp.log(inside(~(z < 1), z, 1.0))


@Formula
def _logpdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    below, logarithm = _log(x, loc, scale)
    return jnp.where(below, -jnp.inf, jnp.log(b) - jnp.log(scale) - (b + 1.0) * logarithm)


@Formula
def _logsf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    return -b * _log(x, loc, scale)[1]


@Formula
def _cdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    return -jnp.expm1(_logsf.of(x, b, loc, scale))


@Formula
def _logcdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    size = -_logsf.of(x, b, loc, scale)
    return jnp.where(size == 0, -jnp.inf, log1mexp(jnp.where(size == 0, 1.0, size)))


@Formula
def _ppf(q: Any, b: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * jnp.exp(-jnp.log1p(-probability(q)) / b)


_pdf, _sf = exp_of(_logpdf), exp_of(_logsf)


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    return _logpdf("pareto.logpdf", x, b, loc, scale)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("pareto.pdf", x, b, loc, scale)


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("pareto.cdf", x, b, loc, scale)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf."""
    return _logcdf("pareto.logcdf", x, b, loc, scale)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x."""
    return _sf("pareto.sf", x, b, loc, scale)


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf."""
    return _logsf("pareto.logsf", x, b, loc, scale)


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1."""
    return _ppf("pareto.ppf", q, b, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
