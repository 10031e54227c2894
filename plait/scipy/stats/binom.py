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
    """The logarithm of the chance of k, without underflow; -inf where it is 0. See pmf.

    Between whole numbers by gamma functions. The arguments, real numbers, broadcast; integers
    become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import binom
    >>> binom.logpmf(jnp.array([0, 1, 4]), 3, 0.5).round(4)
    Array([-2.0794, -0.9808,    -inf], dtype=float32, weak_type=True)
    """
    return _logpmf("binom.logpmf", k, n, p, loc)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k: comb(n, k) p^k (1 - p)^(n - k), 0 outside of 0 .. n; with k - loc for k.

    Between whole numbers by gamma functions. The arguments, real numbers, broadcast; integers
    become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import binom
    >>> binom.pmf(jnp.array([0, 1, 4]), 3, 0.5).round(4)
    Array([0.125, 0.375, 0.   ], dtype=float32, weak_type=True)
    """
    return _pmf("binom.pmf", k, n, p, loc)


__all__ = ["logpmf", "pmf"]
