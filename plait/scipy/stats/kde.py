"""gaussian_kde: a density estimated from samples, as a sum of normal densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import plait.numpy as jnp
from plait import random
from plait.core.dtypes import COMPLEX
from plait.core.tree import register_node_class
from plait.core.types import type_of
from plait.errors import ArgumentError, ShapeError
from plait.numpy.promotion import INEXACT_KIND, is_arraylike, operand, promote, promote_dtypes
from plait.numpy.promotion import value as as_array
from plait.scipy.linalg import cho_factor, cho_solve, solve_triangular
from plait.scipy.special import logsumexp, ndtr
from plait.transforms.choices import PerChoice

_OP = "gaussian_kde"
_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


def _real(op: str, x: Any) -> Any:
    if type_of(operand(op, x)).dtype in COMPLEX:
        raise ArgumentError("takes real numbers", op=op, x=type_of(x))
    return as_array(op, promote(op, (x,), INEXACT_KIND)[0])


def _whitened(root: Any, x: Any) -> Any:
    return solve_triangular(root, x, lower=True)


@PerChoice
def _evaluate(dataset: Any, weights: Any, covariance: Any, points: Any, *, in_logs: bool) -> Any:
    root = jnp.linalg.cholesky(covariance)
    # Differences before they are squared: products of points would lose the digits of near ones.
    off = _whitened(root, points)[:, :, None] - _whitened(root, dataset)[:, None, :]
    constant = jnp.sum(jnp.log(jnp.diagonal(root))) + 0.5 * len(dataset) * math.log(2 * math.pi)
    logs = -0.5 * jnp.sum(jnp.square(off), 0) - constant
    if in_logs:
        return logsumexp(logs, axis=1, b=weights)
    return jnp.sum(weights * jnp.exp(logs), 1)


def _convolved(covariance: Any, dataset: Any, weights: Any, mean: Any) -> Any:
    """Σ weights · the normal density at dataset, with one mean and covariance."""
    factor = cho_factor(covariance, lower=True)
    off = dataset - mean[:, None]
    size = 0.5 * jnp.sum(off * cho_solve(factor, off), 0)
    constant = jnp.prod(jnp.diagonal(factor[0])) * (2 * math.pi) ** (len(dataset) / 2)
    return jnp.sum(weights * jnp.exp(-size)) / constant


@register_node_class
class gaussian_kde:
    """The sum of normal densities around samples: an estimate of the density they come from.

    Args:
        dataset: samples [n], or [d, n] of vectors.
        bw_method: the width: "scott" (None), "silverman", a number, or a function of the object.
        weights: [n], of any sum.

    Attributes: dataset [d, n], weights, neff (the effective number of samples), covariance,
    inv_cov, d, n. The object is a pytree, and does not change.

    Raises: ShapeError; ArgumentError.

    >>> import plait.numpy as jnp, plait.scipy.stats
    >>> kde = plait.scipy.stats.gaussian_kde(jnp.array([0.0, 1.0, 3.0]))
    >>> print(kde(jnp.array([0.0, 2.0])).round(3))
    [0.192 0.184]
    """

    __slots__ = _FIELDS

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(
        self, dataset: Any, bw_method: str | float | Callable | None = None, weights: Any = None
    ):
        dataset = jnp.atleast_2d(_real(_OP, dataset))
        if dataset.size < 2:
            raise ArgumentError("dataset must hold two numbers or more", op=_OP, dataset=dataset)
        d, n = dataset.shape
        if weights is None:
            weights = jnp.full(n, 1.0 / n, dataset.dtype)
        else:
            dataset, weights = promote_dtypes(_OP, (dataset, jnp.atleast_1d(_real(_OP, weights))))
            if weights.shape != (n,):
                raise ShapeError(
                    "weights has a number for each sample", op=_OP, dataset=dataset, weights=weights
                )
            weights = weights / jnp.sum(weights)
        self._set("dataset", dataset)
        self._set("weights", weights)
        neff = 1.0 / jnp.sum(jnp.square(weights))
        self._set("neff", neff)
        factor = self._factor(bw_method, neff, d)
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        self._set("covariance", covariance * factor**2)
        self._set("inv_cov", jnp.linalg.inv(covariance) / factor**2)

    def _factor(self, bw_method: Any, neff: Any, d: int) -> Any:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return neff ** (-1.0 / (d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (neff * (d + 2) / 4.0) ** (-1.0 / (d + 4))
        if is_arraylike(bw_method) and not type_of(operand(_OP, bw_method)).shape:
            return bw_method
        if callable(bw_method):
            return bw_method(self)
        summary = "bw_method is 'scott', 'silverman', a number or a function"
        raise ArgumentError(summary, op=_OP, bw_method=bw_method)

    def _set(self, name: str, x: Any) -> None:
        object.__setattr__(self, name, x)

    def __setattr__(self, name: str, x: Any) -> None:
        raise AttributeError(f"{_OP} does not change: make a new one")

    def tree_flatten(self) -> tuple[tuple, None]:
        """Its arrays."""
        return tuple(getattr(self, name) for name in _FIELDS), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Any) -> gaussian_kde:
        """The object with other arrays."""
        kde = cls.__new__(cls)
        for name, x in zip(_FIELDS, children, strict=True):
            kde._set(name, x)
        return kde

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def _points(self, op: str, points: Any) -> Any:
        points = jnp.atleast_2d(_real(op, points))
        if points.shape[0] == self.d:
            return points
        if points.shape == (1, self.d):
            return points.T
        summary = f"points have dimension {self.d}, as the dataset: shape [{self.d}, ...]"
        raise ShapeError(summary, op=op, points=points.type)

    def _density(self, op: str, points: Any, in_logs: bool) -> Any:
        parts = (self.dataset, self.weights, self.covariance, self._points(op, points))
        return _evaluate(*promote_dtypes(op, parts), in_logs=in_logs)

    def evaluate(self, points: Any) -> Any:
        """The density at points [m] or [d, m]. Raises ShapeError."""
        return self._density(f"{_OP}.evaluate", points, in_logs=False)

    def pdf(self, x: Any) -> Any:
        """The density at points [m] or [d, m]. Raises ShapeError."""
        return self._density(f"{_OP}.pdf", x, in_logs=False)

    __call__ = evaluate

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density, without underflow. Raises ShapeError."""
        return self._density(f"{_OP}.logpdf", x, in_logs=True)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times that of a normal distribution. Raises ShapeError."""
        op, d = f"{_OP}.integrate_gaussian", self.d
        mean = jnp.atleast_1d(jnp.squeeze(as_array(op, mean)))
        cov = jnp.atleast_2d(as_array(op, cov))
        if mean.shape != (d,) or cov.shape != (d, d):
            summary = f"mean has dimension {d}, cov {d} by {d}"
            raise ShapeError(summary, op=op, mean=mean.type, cov=cov.type)
        return _convolved(self.covariance + cov, self.dataset, self.weights, mean)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The integral of the density from low to high, numbers. Raises ShapeError."""
        op = f"{_OP}.integrate_box_1d"
        low, high = as_array(op, low), as_array(op, high)
        if self.d != 1 or low.ndim or high.ndim:
            summary = "needs a density of one dimension, and numbers for limits"
            raise ShapeError(
                summary, op=op, dataset=self.dataset.type, low=low.type, high=high.type
            )
        sigma = jnp.sqrt(self.covariance[0, 0])
        above, below = ((v - self.dataset[0]) / sigma for v in (high, low))
        return jnp.sum(self.weights * (ndtr(above) - ndtr(below)))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two densities. Raises ShapeError."""
        if other.d != self.d:
            summary = "the densities have different numbers of dimensions"
            raise ShapeError(
                summary, op=f"{_OP}.integrate_kde", dataset=self.dataset, other=other.dataset
            )
        covariance = self.covariance + other.covariance
        few, many = (self, other) if self.n < other.n else (other, self)
        pairs = [
            _convolved(covariance, many.dataset, many.weights, few.dataset[:, k]) * few.weights[k]
            for k in range(few.n)
        ]
        return sum(pairs[1:], pairs[0])

    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Random vectors of this density: [d, *shape]."""
        which, noise = random.split(key)
        chosen = random.choice(which, self.n, shape=shape, p=self.weights)
        mean = jnp.zeros(self.d, self.covariance.dtype)
        moved = random.multivariate_normal(
            noise, mean, self.covariance, chosen.shape, self.dataset.dtype
        )
        return self.dataset[:, chosen] + jnp.moveaxis(moved, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Boxes of several dimensions have no integral here. Raises NotImplementedError."""
        raise NotImplementedError(
            f"{_OP}.integrate_box: has no integrals over boxes of several dimensions\n"
            "  fix  integrate_box_1d, for one dimension"
        )

    def set_bandwidth(self, bw_method: Any = None) -> Any:
        """The object does not change. Raises NotImplementedError."""
        raise NotImplementedError(
            f"{_OP}.set_bandwidth: the object does not change\n"
            f"  fix  make a new one: {_OP}(dataset, bw_method)"
        )


__all__ = ["gaussian_kde"]
