"""The binomial distribution: successes in n trials, each of probability p."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import betaln, xlog1py, xlogy
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpmf(k: Any, n: Any, p: Any, loc: Any) -> Any:
    y = k - loc
    outside = (y < 0) | (y > n)
    y, trials = jnp.where(outside, 0.0, y), jnp.where(outside, 0.0, n)
    ways = -(jnp.log1p(trials) + betaln(trials - y + 1.0, y + 1.0))
    return jnp.where(outside, -jnp.inf, ways + (xlogy(y, p) + xlog1py(trials - y, -p)))


_pmf = exp_of(_logpmf)


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the chance of k."""
    return _logpmf("binom.logpmf", k, n, p, loc)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k."""
    return _pmf("binom.pmf", k, n, p, loc)


__all__ = ["logpmf", "pmf"]
