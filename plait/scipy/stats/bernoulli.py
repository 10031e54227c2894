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
    """The logarithm of the chance of k, without underflow; -inf where it is 0. See pmf.

    p is not checked. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import bernoulli
    >>> bernoulli.logpmf(jnp.array([0, 1, 2]), 0.25).round(4)
    Array([-0.2877, -1.3863,    -inf], dtype=float32, weak_type=True)
    """
    return _logpmf("bernoulli.logpmf", k, p, loc)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k: 1 - p for 0, p for 1, else 0; with k - loc for k.

    p is not checked. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import bernoulli
    >>> bernoulli.pmf(jnp.array([0, 1, 2]), 0.25).round(4)
    Array([0.75, 0.25, 0.  ], dtype=float32, weak_type=True)
    """
    return _pmf("bernoulli.pmf", k, p, loc)


def cdf(k: Any, p: Any) -> Any:
    """The chance of a value up to k: 0 for k < 0, 1 - p below 1, 1 from there on.

    NaN unless 0 <= p <= 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import bernoulli
    >>> bernoulli.cdf(jnp.array([-1, 0, 1]), 0.25)
    Array([0.  , 0.75, 1.  ], dtype=float32, weak_type=True)
    """
    return _cdf("bernoulli.cdf", k, p)


def ppf(q: Any, p: Any) -> Any:
    """The least value up to which the chance is q or more, 0 or 1; NaN unless 0 <= q <= 1.

    NaN too unless 0 <= p <= 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import bernoulli
    >>> bernoulli.ppf(jnp.array([0.5, 0.75, 0.8]), 0.25)
    Array([0., 0., 1.], dtype=float32)
    """
    return _ppf("bernoulli.ppf", q, p)


__all__ = ["cdf", "logpmf", "pmf", "ppf"]
