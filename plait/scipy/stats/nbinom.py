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
    """The logarithm of the chance of k, without underflow; -inf where it is 0. See pmf.

    Between whole numbers by gamma functions. The arguments, real numbers, broadcast; integers
    become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import nbinom
    >>> nbinom.logpmf(jnp.array([-1, 0, 1]), 2, 0.5).round(4)
    Array([   -inf, -1.3863, -1.3863], dtype=float32, weak_type=True)
    """
    return _logpmf("nbinom.logpmf", k, n, p, loc)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k: comb(k + n - 1, k) p^n (1 - p)^k, 0 for k < 0; with k - loc for k.

    Between whole numbers by gamma functions. The arguments, real numbers, broadcast; integers
    become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import nbinom
    >>> nbinom.pmf(jnp.array([-1, 0, 1]), 2, 0.5).round(4)
    Array([0.  , 0.25, 0.25], dtype=float32, weak_type=True)
    """
    return _pmf("nbinom.pmf", k, n, p, loc)


__all__ = ["logpmf", "pmf"]
