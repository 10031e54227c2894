"""The geometric distribution: trials up to the first success, each of probability p."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import xlog1py
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpmf(k: Any, p: Any, loc: Any) -> Any:
    x = k - loc
    outside = x <= 0
    x = jnp.where(outside, 1.0, x)
    return jnp.where(outside, -jnp.inf, xlog1py(x - 1.0, -p) + jnp.log(p))


_pmf = exp_of(_logpmf)


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the chance of k, without underflow; -inf where it is 0. See pmf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import geom
    >>> geom.logpmf(jnp.array([0, 1, 2]), 0.25).round(4)
    Array([   -inf, -1.3863, -1.674 ], dtype=float32, weak_type=True)
    """
    return _logpmf("geom.logpmf", k, p, loc)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The chance of k: (1 - p)^(k - 1) p, 0 for k <= 0; with k - loc for k.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import geom
    >>> geom.pmf(jnp.array([0, 1, 2]), 0.25).round(4)
    Array([0.    , 0.25  , 0.1875], dtype=float32, weak_type=True)
    """
    return _pmf("geom.pmf", k, p, loc)


__all__ = ["logpmf", "pmf"]
