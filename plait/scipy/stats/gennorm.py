"""The generalised normal distribution: the density is proportional to exp(-|x|^beta)."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.scipy.special import gammainc, gammaincc, gammaln
from plait.scipy.stats.formula import Formula, exp_of


@Formula
def _logpdf(x: Any, beta: Any) -> Any:
    return jnp.log(0.5 * beta) - gammaln(1.0 / beta) - jnp.abs(x) ** beta


@Formula
def _cdf(x: Any, beta: Any) -> Any:
    power = jnp.abs(x) ** beta
    above = 0.5 + 0.5 * gammainc(1.0 / beta, power)
    return jnp.where(x < 0, 0.5 * gammaincc(1.0 / beta, power), above)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gennorm
    >>> gennorm.logpdf(jnp.array([-1.0, 0.0, 1.0]), 1.5).round(4)
    Array([-1.5908, -0.5908, -1.5908], dtype=float32)
    """
    return _logpdf("gennorm.logpdf", x, beta)


def pdf(x: Any, beta: Any) -> Any:
    """The density at x: beta exp(-|x|^beta) / (2 Γ(1 / beta)).

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gennorm
    >>> gennorm.pdf(jnp.array([-1.0, 0.0, 1.0]), 1.5).round(4)
    Array([0.2038, 0.5539, 0.2038], dtype=float32)
    """
    return _pdf("gennorm.pdf", x, beta)


def cdf(x: Any, beta: Any) -> Any:
    """The chance of a value up to x, exact where it is small.

    The arguments, real numbers, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import gennorm
    >>> gennorm.cdf(jnp.array([-1.0, 0.0, 1.0]), 1.5).round(4)
    Array([0.1124, 0.5   , 0.8876], dtype=float32)
    """
    return _cdf("gennorm.cdf", x, beta)


__all__ = ["cdf", "logpdf", "pdf"]
