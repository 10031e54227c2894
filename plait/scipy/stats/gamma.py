"""The gamma distribution of shape a, from loc on."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import gammainc, gammaincc, gammaln, xlogy
from plait.scipy.stats.formula import Formula, exp_of, inside, log_of, scaled


@Formula
def _logpdf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    below = z < 0
    z = inside(~below, z, 1.0)
    y = xlogy(a - 1.0, z) - z - (gammaln(a) + jnp.log(scale))
    return jnp.where(below, -jnp.inf, y)


@Formula
def _cdf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    return gammainc(a, jnp.maximum(scaled(x, loc, scale), 0.0))


@Formula
def _sf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    return gammaincc(a, jnp.maximum(scaled(x, loc, scale), 0.0))


_pdf, _logcdf, _logsf = exp_of(_logpdf), log_of(_cdf), log_of(_sf)


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gamma
    >>> gamma.logpdf(jnp.array([-1.0, 1.0, 2.0]), 2).round(4)
    Array([   -inf, -1.    , -1.3069], dtype=float32)
    """
    return _logpdf("gamma.logpdf", x, a, loc, scale)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: z^(a - 1) exp(-z) / (scale Γ(a)) with z = (x - loc) / scale; 0 below loc.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gamma
    >>> gamma.pdf(jnp.array([-1.0, 1.0, 2.0]), 2).round(4)
    Array([0.    , 0.3679, 0.2707], dtype=float32)
    """
    return _pdf("gamma.pdf", x, a, loc, scale)


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: gammainc(a, z) with z = (x - loc) / scale; 0 below loc.

    NaN for a < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gamma
    >>> gamma.cdf(jnp.array([-1.0, 1.0, 2.0]), 2).round(4)
    Array([0.    , 0.2642, 0.594 ], dtype=float32)
    """
    return _cdf("gamma.cdf", x, a, loc, scale)


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf; -inf where that underflows.

    NaN for a < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gamma
    >>> gamma.logcdf(jnp.array([-1.0, 1.0, 2.0]), 2).round(4)
    Array([   -inf, -1.3309, -0.5209], dtype=float32)
    """
    return _logcdf("gamma.logcdf", x, a, loc, scale)


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    NaN for a < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gamma
    >>> gamma.sf(jnp.array([-1.0, 1.0, 2.0]), 2).round(4)
    Array([1.    , 0.7358, 0.406 ], dtype=float32)
    """
    return _sf("gamma.sf", x, a, loc, scale)


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf; -inf where that underflows.

    NaN for a < 0. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import gamma
    >>> gamma.logsf(jnp.array([-1.0, 1.0, 2.0]), 2).round(4)
    Array([ 0.    , -0.3069, -0.9014], dtype=float32)
    """
    return _logsf("gamma.logsf", x, a, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
