"""The beta-binomial distribution: binomial, with a beta variable for its probability."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import betaln
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any) -> Any:
    y = jnp.floor(k) - loc
    valid = (n >= 0) & (a > 0) & (b > 0)
    outside = (y < 0) | (y > n)
    y, trials = jnp.where(outside, 0.0, y), jnp.where(outside, 0.0, n)
    ways = -(jnp.log1p(trials) + betaln(trials - y + 1.0, y + 1.0))
    log_pmf = ways + (betaln(y + a, trials - y + b) - betaln(a, b))
    return jnp.where(valid, jnp.where(outside, -jnp.inf, log_pmf), jnp.nan)


_pmf = exp_of(_logpmf)


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the chance of k."""
    return _logpmf("betabinom.logpmf", k, n, a, b, loc)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The chance of k."""
    return _pmf("betabinom.pmf", k, n, a, b, loc)


__all__ = ["logpmf", "pmf"]
