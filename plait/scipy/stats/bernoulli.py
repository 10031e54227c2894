"""The Bernoulli distribution: 1 with probability p, else 0."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import xlog1py, xlogy
from plait.scipy.stats.formula import Formula, exp_of, probability


@Formula
def _logpmf(k: Any, p: Any, loc: Any) -> Any:
    x = k - loc
    outside = (x < 0) | (x > 1)
    x = jnp.where(outside, 0.0, x)
    return jnp.where(outside, -jnp.inf, xlogy(x, p) + xlog1py(1.0 - x, -p))


def _checked(x: Any, p: Any, y: Any) -> Any:
    return jnp.where((x == x) & (p >= 0) & (p <= 1), y, jnp.nan)


@Formula
def _cdf(k: Any, p: Any) -> Any:
    return _checked(k, p, jnp.where(k < 0, 0.0, jnp.where(k < 1, 1.0 - p, 1.0)))


@Formula
def _ppf(q: Any, p: Any) -> Any:
    return _checked(probability(q), p, (q > 1.0 - p).astype(q.dtype))


_pmf = exp_of(_logpmf)


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the chance of k."""
    return _logpmf("bernoulli.logpmf", k, p, loc)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k."""
    return _pmf("bernoulli.pmf", k, p, loc)


def cdf(k: Any, p: Any) -> Any:
    """The chance of a value up to k."""
    return _cdf("bernoulli.cdf", k, p)


def ppf(q: Any, p: Any) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1."""
    return _ppf("bernoulli.ppf", q, p)


__all__ = ["cdf", "logpmf", "pmf", "ppf"]
