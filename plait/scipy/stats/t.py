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
    """The logarithm of the density at x."""
    return _logpdf("t.logpdf", x, df, loc, scale)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return _pdf("t.pdf", x, df, loc, scale)


__all__ = ["logpdf", "pdf"]
