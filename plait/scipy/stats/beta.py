"""The beta distribution of shapes a and b, from loc to loc + scale."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import betainc, betaln, xlog1py, xlogy
from plait.scipy.stats.formula import Formula, exp_of, inside, log_of, scaled


@Formula
def _logpdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    within = (z >= 0) & (z <= 1)
    z = inside(within, z, 0.5)
    y = xlogy(a - 1.0, z) + xlog1py(b - 1.0, -z) - (betaln(a, b) + jnp.log(scale))
    y = jnp.where(within | (z != z), y, -jnp.inf)
    return jnp.where((a > 0) & (b > 0) & (scale > 0), y, jnp.nan)


@Formula
def _cdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return betainc(a, b, jnp.clip(scaled(x, loc, scale), 0.0, 1.0))


@Formula
def _sf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return betainc(b, a, 1.0 - jnp.clip(scaled(x, loc, scale), 0.0, 1.0))


_pdf, _logcdf, _logsf = exp_of(_logpdf), log_of(_cdf), log_of(_sf)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    NaN unless a, b and scale are positive. The arguments, real numbers, broadcast; integers become
    floats. Raises: ShapeError.

    >>> from plait.scipy.stats import beta
    >>> beta.logpdf(jnp.array([0.25, 0.5, 1.5]), 2, 3).round(4)
    Array([0.5232, 0.4055,   -inf], dtype=float32)
    """
    return _logpdf("beta.logpdf", x, a, b, loc, scale)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: z^(a - 1) (1 - z)^(b - 1) / (scale B(a, b)) for z = (x - loc) / scale from
    0 to 1, else 0.

    NaN unless a, b and scale are positive. The arguments, real numbers, broadcast; integers become
    floats. Raises: ShapeError.

    >>> from plait.scipy.stats import beta
    >>> beta.pdf(jnp.array([0.25, 0.5, 1.5]), 2, 3).round(4)
    Array([1.6875, 1.5   , 0.    ], dtype=float32)
    """
    return _pdf("beta.pdf", x, a, b, loc, scale)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: betainc(a, b, z) with z = (x - loc) / scale.

    NaN unless a and b are positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import beta
    >>> beta.cdf(jnp.array([0.25, 0.5, 1.5]), 2, 3).round(4)
    Array([0.2617, 0.6875, 1.    ], dtype=float32)
    """
    return _cdf("beta.cdf", x, a, b, loc, scale)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf; -inf where that underflows.

    NaN unless a and b are positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import beta
    >>> beta.logcdf(jnp.array([0.25, 0.5, 1.5]), 2, 3).round(4)
    Array([-1.3405, -0.3747,  0.    ], dtype=float32)
    """
    return _logcdf("beta.logcdf", x, a, b, loc, scale)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    NaN unless a and b are positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import beta
    >>> beta.sf(jnp.array([0.25, 0.5, 1.5]), 2, 3).round(4)
    Array([0.7383, 0.3125, 0.    ], dtype=float32)
    """
    return _sf("beta.sf", x, a, b, loc, scale)


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf; -inf where that underflows.

    NaN unless a and b are positive. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import beta
    >>> beta.logsf(jnp.array([0.25, 0.5, 1.5]), 2, 3).round(4)
    Array([-0.3034, -1.1632,    -inf], dtype=float32)
    """
    return _logsf("beta.logsf", x, a, b, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
