"""Student's t distribution of df degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.scipy.special import betaln
from plait.scipy.stats.formula import Formula, exp_of, scaled


@Formula
def _logpdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    z = scaled(x, loc, scale)
    normal = jnp.isinf(df)
    n = jnp.where(normal, 1.0, df)
    y = -0.5 * jnp.log(n) - betaln(0.5 * n, 0.5) - 0.5 * (n + 1.0) * jnp.log1p(jnp.square(z) / n)
    limit = -0.5 * (jnp.square(z) + math.log(2 * math.pi))
    return jnp.where(normal, limit, y) - jnp.log(scale)


_pdf = exp_of(_logpdf)


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, without underflow. See pdf.

    The normal one for infinite df. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import t
    >>> t.logpdf(jnp.array([-1.0, 0.0, 1.0]), 2).round(4)
    Array([-1.6479, -1.0397, -1.6479], dtype=float32)
    """
    return _logpdf("t.logpdf", x, df, loc, scale)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x, which falls like (1 + z²/df)^(-(df + 1)/2) with z = (x - loc) / scale.

    The normal one for infinite df. The arguments, real numbers, broadcast; integers become floats.
    Raises: ShapeError.

    >>> from plait.scipy.stats import t
    >>> t.pdf(jnp.array([-1.0, 0.0, 1.0]), 2).round(4)
    Array([0.1925, 0.3536, 0.1925], dtype=float32)
    """
    return _pdf("t.pdf", x, df, loc, scale)


__all__ = ["logpdf", "pdf"]
