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
    """The logarithm of the chance of k, without underflow; -inf where it is 0. See pmf.

    NaN unless n >= 0 and a and b are positive. The arguments, real numbers, broadcast; integers
    become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import betabinom
    >>> betabinom.logpmf(jnp.array([0, 1, 4]), 3, 1, 2).round(4)
    Array([-0.9163, -1.204 ,    -inf], dtype=float32)
    """
    return _logpmf("betabinom.logpmf", k, n, a, b, loc)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The chance of k: comb(n, k) B(k + a, n - k + b) / B(a, b), 0 outside of 0 .. n; with k
    rounded down, less loc, for k.

    NaN unless n >= 0 and a and b are positive. The arguments, real numbers, broadcast; integers
    become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import betabinom
    >>> betabinom.pmf(jnp.array([0, 1, 4]), 3, 1, 2).round(4)
    Array([0.4, 0.3, 0. ], dtype=float32)
    """
    return _pmf("betabinom.pmf", k, n, a, b, loc)


__all__ = ["logpmf", "pmf"]
