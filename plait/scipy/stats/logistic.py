"""The logistic distribution."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import expit, logit
from plait.scipy.stats.formula import Formula, exp_of, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    size = jnp.abs(scaled(x, loc, scale))
    return -(size + 2.0 * jnp.log1p(jnp.exp(-size)) + jnp.log(scale))


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return expit(scaled(x, loc, scale))


@Formula
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return expit(-scaled(x, loc, scale))


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * logit(q)


@Formula
def _isf(q: Any, loc: Any, scale: Any) -> Any:
    return loc - scale * logit(q)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    return _logpdf("logistic.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("logistic.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("logistic.cdf", x, loc, scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x."""
    return _sf("logistic.sf", x, loc, scale)


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is x: the inverse of cdf; NaN unless 0 <= x <= 1."""
    return _ppf("logistic.ppf", x, loc, scale)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value above which the chance is x: the inverse of sf; NaN unless 0 <= x <= 1."""
    return _isf("logistic.isf", x, loc, scale)


__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]
