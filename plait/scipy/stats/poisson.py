"""The Poisson distribution of mean mu."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.scipy.special import gammaincc, gammaln, xlogy
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpmf(k: Any, mu: Any, loc: Any) -> Any:
    x = k - loc
    outside = (x < 0) | (jnp.round(k) != k)
    x = jnp.where((x < 0), 0.0, x)
    y = jnp.where(outside, -jnp.inf, xlogy(x, mu) - gammaln(x + 1.0) - mu)
    return jnp.where(k == k, y, jnp.nan)


@Formula
def _cdf(k: Any, mu: Any, loc: Any) -> Any:
    x = k - loc
    return jnp.where(x < 0, 0.0, gammaincc(jnp.floor(jnp.maximum(x, 0.0)) + 1.0, mu))


# Up to this mean the terms are added up, as many as count; above, there is an expansion in 1/mu.
_SMALL, _TERMS = 40.0, 120
_EXPANSION = (-33953 / 5040, -1375 / 1008, -863 / 2520, -9 / 80, -19 / 360, -1 / 24, -1 / 12)


@Formula
def _entropy(mu: Any, loc: Any) -> Any:
    small = mu < _SMALL
    few = jnp.where(small & (mu > 0), mu, 1.0)[..., None]
    k = jnp.arange(_TERMS, dtype=few.dtype)
    log_pmf = xlogy(k, few) - gammaln(k + 1.0) - few
    terms = -jnp.sum(jnp.exp(log_pmf) * log_pmf, -1)
    r = 1.0 / jnp.where(small, _SMALL, mu)
    series = jnp.zeros_like(r)
    for c in _EXPANSION:
        series = (series + c) * r
    far = 0.5 * (jnp.log(2 * math.pi * math.e) - jnp.log(r)) + series
    y = jnp.where(small, jnp.where(mu == 0, 0.0, terms), far)
    return jnp.where(mu >= 0, y, jnp.nan) + jnp.zeros_like(loc)


_pmf = exp_of(_logpmf)


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the chance of k, without underflow; -inf where it is 0. See pmf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import poisson
    >>> poisson.logpmf(jnp.array([0, 1, 1.5]), 2).round(4)
    Array([-2.    , -1.3069,    -inf], dtype=float32)
    """
    return _logpmf("poisson.logpmf", k, mu, loc)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The chance of k: mu^k exp(-mu) / k!, 0 for k < 0 and between whole numbers; with k - loc for
    k.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import poisson
    >>> poisson.pmf(jnp.array([0, 1, 1.5]), 2).round(4)
    Array([0.1353, 0.2707, 0.    ], dtype=float32)
    """
    return _pmf("poisson.pmf", k, mu, loc)


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The chance of a value up to k: gammaincc(k + 1, mu) with k rounded down; with k - loc for k.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import poisson
    >>> poisson.cdf(jnp.array([-1.0, 0.0, 1.5]), 2).round(4)
    Array([0.    , 0.1353, 0.406 ], dtype=float32)
    """
    return _cdf("poisson.cdf", k, mu, loc)


def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy, in nats, of which loc changes nothing but the shape; NaN for mu < 0.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import poisson
    >>> poisson.entropy(jnp.array([0.0, 1.0, 100.0])).round(4)
    Array([0.    , 1.3048, 3.7207], dtype=float32)
    """
    return _entropy("poisson.entropy", mu, loc)


__all__ = ["cdf", "entropy", "logpmf", "pmf"]
