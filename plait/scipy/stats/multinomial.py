"""The multinomial distribution: how often each outcome occurs in n trials."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.core.dtypes import INTEGER
from plait.core.types import type_of
from plait.errors import ArgumentError, ShapeError
from plait.numpy.promotion import operand, to_inexact, value
from plait.scipy.special import gammaln, xlogy
from plait.transforms.choices import PerChoice


@PerChoice
def _logpmf(x: Any, n: Any, p: Any, *, in_logs: bool) -> Any:
    outside = jnp.any(x < 0, -1) | (jnp.sum(x, -1) != n)
    x = jnp.maximum(x, 0).astype(p.dtype)
    y = gammaln(n.astype(p.dtype) + 1.0) + jnp.sum(xlogy(x, p) - gammaln(x + 1.0), -1)
    y = jnp.where(outside, -jnp.inf, y)
    return y if in_logs else jnp.exp(y)


def _operands(op: str, x: Any, n: Any, p: Any) -> list[Any]:
    for name, counts in (("x", x), ("n", n)):
        if type_of(operand(op, counts)).dtype not in INTEGER:
            given: dict[str, Any] = {name: type_of(counts)}
            raise ArgumentError(f"{name} holds integers", op=op, **given)
    x, n, p = value(op, x), value(op, n), value(op, to_inexact(op, p))
    if x.ndim and p.ndim and 1 != x.shape[-1] != p.shape[-1] != 1:
        raise ShapeError("x and p need an entry for each outcome", op=op, x=x, p=p)
    return [x, n, p]


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the chance of the counts x; -inf where they do not add up to n. See pmf.

    Shapes: x [..., k], n [...], p [..., k] -> [...], broadcast; x and n hold integers.
    Raises: ArgumentError for floats in x or n, ShapeError.

    >>> from plait.scipy.stats import multinomial
    >>> multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5])).round(4)
    Array(-0.9808, dtype=float32)
    """
    return _logpmf(*_operands("multinomial.logpmf", x, n, p), in_logs=True)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The chance of the counts x, along the last axis, in n trials with probabilities p: n! Π p^x /
    x!; 0 where they do not add up to n.

    Shapes: x [..., k], n [...], p [..., k] -> [...], broadcast; x and n hold integers.
    Raises: ArgumentError for floats in x or n, ShapeError.

    >>> from plait.scipy.stats import multinomial
    >>> multinomial.pmf(jnp.array([[1, 2], [1, 1]]), 3, jnp.array([0.5, 0.5])).round(4)
    Array([0.375, 0.   ], dtype=float32)
    """
    return _logpmf(*_operands("multinomial.pmf", x, n, p), in_logs=False)


__all__ = ["logpmf", "pmf"]
