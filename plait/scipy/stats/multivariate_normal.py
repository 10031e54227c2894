"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.core.types import type_of
from plait.errors import ArgumentError, ShapeError
from plait.numpy.promotion import INEXACT_KIND, promote, promote_dtypes, value
from plait.scipy.linalg import solve_triangular
from plait.transforms.choices import PerChoice
from plait.transforms.vmap import vmap

_LOG_2_PI = math.log(2 * math.pi)


@PerChoice
def _log_density(x: Any, mean: Any, cov: Any, *, in_logs: bool) -> Any:
    off = x - mean
    if not mean.ndim:
        y = -0.5 * (jnp.square(off) / cov + (_LOG_2_PI + jnp.log(cov)))
    elif not cov.ndim:
        n = mean.shape[-1]
        y = -0.5 * (jnp.sum(jnp.square(off), -1) / cov + n * (_LOG_2_PI + jnp.log(cov)))
    else:
        root = jnp.linalg.cholesky(cov)
        whitened = _solved(root, off)
        diagonal = jnp.diagonal(root, axis1=-2, axis2=-1)
        constant = 0.5 * mean.shape[-1] * _LOG_2_PI + jnp.sum(jnp.log(diagonal), -1)
        y = -0.5 * jnp.sum(jnp.square(whitened), -1) - constant
    return y if in_logs else jnp.exp(y)


def _solved(root: Any, off: Any) -> Any:
    """root⁻¹ off, for every matrix and vector of what the leading axes broadcast to."""

    def one(matrix: Any, vector: Any) -> Any:
        return solve_triangular(matrix, vector, lower=True)

    batch = jnp.broadcast_shapes(root.shape[:-2], off.shape[:-1])
    off = jnp.broadcast_to(off, (*batch, off.shape[-1]))
    if root.ndim == 2:  # one matrix: all vectors at once
        n = off.shape[-1]
        return jnp.reshape(one(root, jnp.reshape(off, (-1, n)).T).T, off.shape)
    root = jnp.broadcast_to(root, (*batch, *root.shape[-2:]))
    for _ in batch:
        one = vmap(one)
    return one(root, off)


def _operands(op: str, x: Any, mean: Any, cov: Any) -> list[Any]:
    xs = promote_dtypes(op, (x, mean, cov))
    x, mean, cov = (value(op, promote(op, (v,), INEXACT_KIND)[0]) for v in xs)
    n = mean.shape[-1] if mean.ndim else 0
    if mean.ndim and cov.ndim and (cov.ndim < 2 or cov.shape[-2:] != (n, n)):
        summary = "cov is a number, or a square matrix of the size of mean"
        raise ShapeError(summary, op=op, mean=type_of(mean), cov=type_of(cov))
    if x.ndim and mean.ndim and 1 != x.shape[-1] != n != 1:
        summary = "the last axes of x and mean have one size"
        raise ShapeError(summary, op=op, x=type_of(x), mean=type_of(mean))
    return [x, mean, cov]


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density at x, without underflow; NaN where cov is not positive definite.

    Shapes: mean [..., n] or a number, cov [..., n, n] or a number, x [..., n]; leading axes
    broadcast. Integers become floats. allow_singular must be None. Raises: ShapeError;
    ArgumentError.

    >>> from plait.scipy.stats import multivariate_normal
    >>> x, mean = jnp.array([[0.0, 0.0], [30.0, 0.0]]), jnp.zeros(2)
    >>> multivariate_normal.logpdf(x, mean, jnp.eye(2)).round(3)
    Array([  -1.838, -451.838], dtype=float32)
    """
    op = "multivariate_normal.logpdf"
    if allow_singular is not None:
        raise ArgumentError(
            "a singular cov has no density here",
            op=op,
            allow_singular=allow_singular,
            fix="leave it out; add a small multiple of the identity to cov",
        )
    return _log_density(*_operands(op, x, mean, cov), in_logs=True)


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density at x; NaN where cov is not positive definite.

    Shapes: mean [..., n] or a number, cov [..., n, n] or a number, x [..., n]; leading axes
    broadcast. Integers become floats. Raises: ShapeError.

    >>> from plait.scipy.stats import multivariate_normal
    >>> x, mean = jnp.array([[0.0, 0.0], [1.0, 1.0]]), jnp.zeros(2)
    >>> multivariate_normal.pdf(x, mean, jnp.eye(2)).round(4)
    Array([0.1592, 0.0585], dtype=float32)
    """
    return _log_density(*_operands("multivariate_normal.pdf", x, mean, cov), in_logs=False)


__all__ = ["logpdf", "pdf"]
