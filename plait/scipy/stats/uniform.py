"""The uniform distribution, from loc to loc + scale."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.stats.formula import Formula, exp_of, probability, scaled


@Formula
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    y = jnp.where((x < loc) | (x > loc + scale), -jnp.inf, -jnp.log(scale))
    return jnp.where(x == x, y, jnp.nan)


@Formula
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return jnp.clip(scaled(x, loc, scale), 0.0, 1.0)


@Formula
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * probability(q)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow; -inf where it is 0. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import uniform
    >>> uniform.logpdf(jnp.array([0.0, 1.5, 2.0]), 1, 2).round(4)
    Array([   -inf, -0.6931, -0.6931], dtype=float32)
    """
    return _logpdf("uniform.logpdf", x, loc, scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x: 1 / scale from loc to loc + scale, else 0.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import uniform
    >>> uniform.pdf(jnp.array([0.0, 1.5, 2.0]), 1, 2).round(4)
    Array([0. , 0.5, 0.5], dtype=float32)
    """
    return _pdf("uniform.pdf", x, loc, scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The chance of a value up to x: (x - loc) / scale, from 0 to 1.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import uniform
    >>> uniform.cdf(jnp.array([0.0, 1.5, 2.0]), 1, 2).round(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    return _cdf("uniform.cdf", x, loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value up to which the chance is q: the inverse of cdf; NaN unless 0 <= q <= 1.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import uniform
    >>> uniform.ppf(jnp.array([0.25, 0.5, 0.75]), 1, 2).round(4)
    Array([1.5, 2. , 2.5], dtype=float32)
    """
    return _ppf("uniform.ppf", q, loc, scale)


__all__ = ["cdf", "logpdf", "pdf", "ppf"]
