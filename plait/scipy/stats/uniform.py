"""The uniform distribution, from loc to loc + scale."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.stats.formula import Formula, exp_of, probability, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    y = jnp.where((x < loc) | (x > loc + scale), -jnp.inf, -jnp.log(scale))
    return jnp.where(x == x, y, jnp.nan)


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.clip(scaled(x, loc, scale), 0.0, 1.0)


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * probability(q)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    return _logpdf("uniform.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("uniform.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x."""
    return _cdf("uniform.cdf", x, loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1."""
    return _ppf("uniform.ppf", q, loc, scale)


__all__ = ["cdf", "logpdf", "pdf", "ppf"]
