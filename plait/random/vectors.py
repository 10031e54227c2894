"""Vectors whose components depend on each other."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.core.types import type_of
from plait.errors import ArgumentError, ShapeError
from plait.numpy.placing import takes_out_sharding
from plait.random.arguments import fitting_shape, float_dtype, parameter
from plait.random.standard import normal


@takes_out_sharding
def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
) -> Any:
    """Normal vectors of the given mean [..., n] and covariance matrix [..., n, n].

    Shapes: `shape` is that of the batch and defaults to the broadcast shape of the batches of mean
    and cov; the result has shape [*shape, n]. The method says how the matrix is factorised:
    "cholesky" (fastest; NaN unless it is positive definite), "eigh" or "svd" (also for singular
    matrices). Raises: ShapeError; ArgumentError for an unknown method or a dtype that is no float.

    >>> cov = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> x = plait.random.multivariate_normal(plait.random.key(0), jnp.zeros(2), cov, (50_000,))
    >>> print(jnp.cov(x.T).round(1))
    [[2. 1.]
     [1. 2.]]
    """
    op = "multivariate_normal"
    if method not in ("cholesky", "eigh", "svd"):
        raise ArgumentError("the method is cholesky, eigh or svd", op=op, method=method)
    dtype = float_dtype(op, dtype)
    for name, x in (("mean", mean), ("cov", cov)):
        parameter(op, name, x)
    mean, cov = jnp.asarray(mean), jnp.asarray(cov)
    if not mean.ndim or cov.ndim < 2 or cov.shape[-2:] != mean.shape[-1:] * 2:
        raise ShapeError("mean is [..., n] and cov [..., n, n]", op=op, mean=mean, cov=cov)
    shape = fitting_shape(op, shape, batch_of_mean=mean.shape[:-1], batch_of_cov=cov.shape[:-2])
    mean, cov = mean.astype(dtype), cov.astype(dtype)
    if method == "cholesky":
        root = jnp.linalg.cholesky(cov)
    elif method == "eigh":
        sizes, axes = jnp.linalg.eigh(cov)
        root = axes * jnp.sqrt(sizes)[..., None, :]
    else:
        axes, sizes, _ = jnp.linalg.svd(cov)
        root = axes * jnp.sqrt(sizes)[..., None, :]
    noise = normal(key, (*shape, *type_of(mean).shape[-1:]), dtype)
    return mean + jnp.einsum("...ij,...j->...i", root, noise)


__all__ = ["multivariate_normal"]
