"""The Dirichlet distribution of shares that add up to 1."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.core.types import type_of
from plait.errors import ShapeError
from plait.numpy.promotion import INEXACT_KIND, promote, promote_dtypes
from plait.scipy.special import gammaln, xlogy
from plait.transforms.choices import PerChoice


@PerChoice
def _log_density(x: Any, alpha: Any, *, in_logs: bool) -> Any:
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1.0 - jnp.sum(x, 0, keepdims=True)])
    shares = jnp.all(x > 0, 0) & (jnp.abs(jnp.sum(x, 0) - 1.0) < 1e-6)
    normal = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    powers = jnp.reshape(alpha - 1.0, (-1,) + (1,) * (x.ndim - 1))
    y = jnp.sum(xlogy(powers, jnp.where(shares, x, 1.0)), 0) - normal
    y = jnp.where(shares, y, -jnp.inf)
    return y if in_logs else jnp.exp(y)


def _operands(op: str, x: Any, alpha: Any) -> list[Any]:
    x, alpha = promote_dtypes(op, (x, alpha))
    x, alpha = promote(op, (x,), INEXACT_KIND)[0], promote(op, (alpha,), INEXACT_KIND)[0]
    x_type, alpha_type = type_of(x), type_of(alpha)
    if alpha_type.ndim != 1:
        raise ShapeError("alpha has one axis", op=op, alpha=alpha_type)
    n = alpha_type.shape[0]
    if not x_type.ndim or x_type.shape[0] not in (n, n - 1):
        summary = "the first axis of x holds as many shares as alpha, or one less"
        raise ShapeError(summary, op=op, x=x_type, alpha=alpha_type)
    return [x, alpha]


def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at x; -inf where x is not positive or does not add up to 1. See
    pdf.

    Shapes: x [n, ...], or [n - 1, ...] without the last share, alpha [n] -> [...]. Integers become
    floats. Raises: ShapeError.

    >>> from plait.scipy.stats import dirichlet
    >>> dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.array([1.0, 2.0])).round(4)
    Array(0.4055, dtype=float32)
    """
    return _log_density(*_operands("dirichlet.logpdf", x, alpha), in_logs=True)


def pdf(x: Any, alpha: Any) -> Any:
    """The density at x: Γ(Σ alpha) Π x^(alpha - 1) / Γ(alpha); 0 where x is not positive or does
    not add up to 1, but for 1e-6.

    Shapes: x [n, ...], or [n - 1, ...] without the last share, alpha [n] -> [...]. Integers become
    floats. Raises: ShapeError.

    >>> from plait.scipy.stats import dirichlet
    >>> dirichlet.pdf(jnp.array([0.25, 0.75]), jnp.array([1.0, 2.0])).round(4)
    Array(1.5, dtype=float32)
    """
    return _log_density(*_operands("dirichlet.pdf", x, alpha), in_logs=False)


__all__ = ["logpdf", "pdf"]
