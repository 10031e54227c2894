"""The negative binomial distribution: failures before the n-th success, of probability p."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import betaln, xlog1py, xlogy
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpmf(k: Any, n: Any, p: Any, loc: Any) -> Any:
    y = k - loc
    outside = y < 0
    y = jnp.where(outside, 0.0, y)
    ways = -(jnp.log(y + n) + betaln(n, y + 1.0))
    return jnp.where(outside, -jnp.inf, ways + (xlogy(n, p) + xlog1py(y, -p)))


_pmf = exp_of(_logpmf)


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the chance of k."""
    return _logpmf("nbinom.logpmf", k, n, p, loc)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k."""
    return _pmf("nbinom.pmf", k, n, p, loc)


__all__ = ["logpmf", "pmf"]
