"""The Pareto distribution of shape b, from loc + scale on."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.ops.activation import log1mexp
from plait.scipy.stats.formula import Formula, exp_of, inside, probability, scaled


def _log(x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """(whether x is below the support, log((x - loc) / scale), 0 there)."""
    z = scaled(x, loc, scale)
    return z < 1, jnp.log(inside(~(z < 1), z, 1.0))


@Formula
def _logpdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    below, logarithm = _log(x, loc, scale)
    return jnp.where(below, -jnp.inf, jnp.log(b) - jnp.log(scale) - (b + 1.0) * logarithm)


@Formula
def _logsf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    return -b * _log(x, loc, scale)[1]


@Formula
def _cdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    return -jnp.expm1(_logsf.of(x, b, loc, scale))


@Formula
def _logcdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    size = -_logsf.of(x, b, loc, scale)
    return jnp.where(size == 0, -jnp.inf, log1mexp(jnp.where(size == 0, 1.0, size)))


@Formula
def _ppf(q: Any, b: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * jnp.exp(-jnp.log1p(-probability(q)) / b)


_pdf, _sf = exp_of(_logpdf), exp_of(_logsf)


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.logpdf(jnp.array([0.5, 1.5, 2.0]), 2).round(4)
    Array([   -inf, -0.5232, -1.3863], dtype=float32)
    """
    return _logpdf("pareto.logpdf", x, b, loc, scale)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: b / (scale z^(b + 1)) with z = (x - loc) / scale; 0 for z < 1.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.pdf(jnp.array([0.5, 1.5, 2.0]), 2).round(4)
    Array([0.    , 0.5926, 0.25  ], dtype=float32)
    """
    return _pdf("pareto.pdf", x, b, loc, scale)


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: 1 - z^-b, exact near its lower end; 0 for z < 1.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.cdf(jnp.array([0.5, 1.5, 2.0]), 2).round(4)
    Array([0.    , 0.5556, 0.75  ], dtype=float32)
    """
    return _cdf("pareto.cdf", x, b, loc, scale)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, without underflow.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.logcdf(jnp.array([0.5, 1.5, 2.0]), 2).round(4)
    Array([   -inf, -0.5878, -0.2877], dtype=float32)
    """
    return _logcdf("pareto.logcdf", x, b, loc, scale)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value above x: 1 - cdf, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.sf(jnp.array([0.5, 1.5, 2.0]), 2).round(4)
    Array([1.    , 0.4444, 0.25  ], dtype=float32)
    """
    return _sf("pareto.sf", x, b, loc, scale)


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, without underflow.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.logsf(jnp.array([0.5, 1.5, 2.0]), 2).round(4)
    Array([-0.    , -0.8109, -1.3863], dtype=float32)
    """
    return _logsf("pareto.logsf", x, b, loc, scale)


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1.

    Infinite at 1. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import pareto
    >>> pareto.ppf(jnp.array([0.25, 0.5, 0.75]), 2).round(4)
    Array([1.1547, 1.4142, 2.    ], dtype=float32)
    """
    return _ppf("pareto.ppf", q, b, loc, scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
