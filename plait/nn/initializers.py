"""Initializers: functions of (key, shape, dtype) that give first values of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from plait import numpy as jnp
from plait import random
from plait.core import dtypes
from plait.errors import ArgumentError, ShapeError

Initializer = Callable[..., Any]


def _dtype(dtype: Any) -> Any:
    return dtypes.default_float() if dtype is None else dtypes.canonical(dtypes.as_dtype(dtype))


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """All zeros."""
    return jnp.zeros(shape, _dtype(dtype))


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """All ones."""
    return jnp.ones(shape, _dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """One value everywhere."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return jnp.full(shape, value, _dtype(dtype))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Uniform in [0, scale)."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return random.uniform(key, shape, _dtype(dtype)) * jnp.asarray(scale, _dtype(dtype))

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Normal with mean 0."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return random.normal(key, shape, _dtype(dtype)) * jnp.asarray(stddev, _dtype(dtype))

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Normal with mean 0, cut off at lower and upper (in units of stddev)."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        values = random.truncated_normal(key, lower, upper, shape, _dtype(dtype))
        return values * jnp.asarray(stddev, _dtype(dtype))

    return init


def _fans(
    shape: Sequence[int], in_axis: Any, out_axis: Any, batch_axis: Any
) -> tuple[float, float]:
    def product(axes: Any) -> int:
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        return math.prod(shape[a] for a in axes)

    if len(shape) <= 1:
        raise ShapeError(
            "the number of inputs and outputs needs a shape of at least two axes",
            op="variance_scaling",
            shape=tuple(shape),
        )
    inputs, outputs, batch = product(in_axis), product(out_axis), product(batch_axis)
    field = math.prod(shape) / inputs / outputs / batch
    return inputs * field, outputs * field


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Any = -2,
    out_axis: Any = -1,
    batch_axis: Any = (),
    dtype: Any = None,
) -> Initializer:
    """Variance scale / n, n the number of inputs (fan_in), outputs (fan_out) or their mean.

    distribution is "truncated_normal", "normal", "uniform". Raises ArgumentError for other words.
    """
    if mode not in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        raise ArgumentError(
            "is not a mode",
            op="variance_scaling",
            mode=mode,
            fix="fan_in, fan_out, fan_avg or fan_geo_avg",
        )
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise ArgumentError(
            "is not a distribution",
            op="variance_scaling",
            distribution=distribution,
            fix="truncated_normal, normal or uniform",
        )

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        dtype = _dtype(dtype)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        n = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": math.sqrt(fan_in * fan_out),
        }[mode]
        variance = jnp.asarray(scale / n, dtypes.real_of(dtype))
        if distribution == "normal":
            return random.normal(key, shape, dtype) * jnp.sqrt(variance).astype(dtype)
        if distribution == "uniform":
            return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance).astype(dtype)
        # The standard deviation of a normal cut off at two standard deviations.
        stddev = jnp.sqrt(variance) / jnp.asarray(0.87962566103423978, variance.dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * stddev.astype(dtype)

    return init


def _scaling(scale: float, mode: str, distribution: str, source: str) -> Callable[..., Initializer]:
    def make(
        in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__doc__ = f"variance_scaling({scale}, {mode!r}, {distribution!r}). Source: {source}."
    return make


glorot_uniform = xavier_uniform = _scaling(1.0, "fan_avg", "uniform", "Glorot and Bengio 2010")
glorot_normal = xavier_normal = _scaling(
    1.0, "fan_avg", "truncated_normal", "Glorot and Bengio 2010"
)
lecun_uniform = _scaling(1.0, "fan_in", "uniform", "LeCun et al. 1998")
lecun_normal = _scaling(1.0, "fan_in", "truncated_normal", "LeCun et al. 1998")
he_uniform = kaiming_uniform = _scaling(2.0, "fan_in", "uniform", "He et al. 2015")
he_normal = kaiming_normal = _scaling(2.0, "fan_in", "truncated_normal", "He et al. 2015")
