"""Initializers: functions of (key, shape, dtype) that give first values of parameters.

For equal keys the values are JAX's. The axes of a weight are its inputs, by default the last but
one, its outputs, by default the last, and those of a convolution's window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.dtypes import COMPLEX, FLOAT
from plait.errors import ArgumentError, ShapeError
from plait.nn.orthogonal import delta_orthogonal, orthogonal
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import to_dtype
from plait.ops.arithmetic import convert_element_type
from plait.ops.functions import sqrt
from plait.random.arguments import check_key, known_shape, sampler, split_key
from plait.random.continuous import truncated_normal as random_truncated_normal
from plait.random.exact import erf_inv, log
from plait.random.standard import normal as random_normal
from plait.random.standard import normal_uniforms, uniform_between, unit_floats
from plait.random.standard import uniform as random_uniform

# The standard deviations of normal numbers held between -2 and 2, and of complex ones held in the
# circle of radius 2.
_CUT, _CUT_COMPLEX = 0.87962566103423978, 0.95311164380491208


@runtime_checkable
class Initializer(Protocol):
    """What an initializer looks like: a function of a key, a shape and a dtype (None: its own).

    >>> isinstance(plait.nn.initializers.he_normal(), plait.nn.initializers.Initializer)
    True
    """

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        """First values of a parameter."""
        ...


def _dtype(dtype: Any) -> Any:
    return dtypes.default_float() if dtype is None else to_dtype(dtype)


# --- constants


@takes_out_sharding
def zeros(key: Any, shape: Any, dtype: Any = None) -> Any:
    """All zeros; the key is not used.

    >>> plait.nn.initializers.zeros(plait.random.key(0), (2,))
    Array([0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, _dtype(dtype))


@takes_out_sharding
def ones(key: Any, shape: Any, dtype: Any = None) -> Any:
    """All ones; the key is not used.

    >>> plait.nn.initializers.ones(plait.random.key(0), (2,), jnp.bfloat16)
    Array([1., 1.], dtype=bfloat16)
    """
    return jnp.ones(shape, _dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """One value everywhere.

    >>> plait.nn.initializers.constant(0.5)(plait.random.key(0), (2,))
    Array([0.5, 0.5], dtype=float32)
    """

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        return jnp.full(shape, value, _dtype(dtype))

    return init


# --- random numbers of a given size


@sampler
def _scaled_normal(key: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    # The factor √2 of the inverse error function joins the scale before it meets the numbers.
    root = np.asarray(np.sqrt(2), dtype)
    return (root * scale) * erf_inv(normal_uniforms(key, shape, dtype))


def _normal(key: Any, shape: Any, dtype: Any, scale: Any) -> Any:
    if dtype not in FLOAT:
        return random_normal(key, shape, dtype) * scale
    key = check_key("initializer", key)
    return _scaled_normal(key, scale, shape=known_shape("initializer", shape), dtype=dtype)


@sampler
def _scaled_uniform(key: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    ends = (np.asarray(-1.0, dtype), np.ones((), dtype))
    return uniform_between(key, *ends, shape, dtype) * scale


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Uniform in [0, scale).

    >>> w = plait.nn.initializers.uniform(scale=0.1)(plait.random.key(0), (256, 128))
    >>> print(w.min() >= 0, w.max() < 0.1)
    True True
    """

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _dtype(dtype)
        return random_uniform(key, shape, dtype) * _number(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Normal with mean 0 and the given standard deviation.

    >>> w = plait.nn.initializers.normal(stddev=0.1)(plait.random.key(0), (256, 128))
    >>> print(w.dtype, w.shape, w.std().round(2))
    float32 (256, 128) 0.1
    """

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _dtype(dtype)
        return _normal(key, shape, dtype, _number(stddev, dtype))

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Normal with mean 0, held between lower and upper, in units of stddev.

    >>> w = plait.nn.initializers.truncated_normal(stddev=0.1)(plait.random.key(0), (256, 128))
    >>> print(jnp.abs(w).max() <= 0.2)
    True
    """

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _dtype(dtype)
        values = random_truncated_normal(key, lower, upper, shape, dtype)
        return values * _number(stddev, dtype)

    return init


def _number(x: Any, dtype: Any) -> Any:
    # Numbers are rounded here, without a computation on a device.
    if isinstance(x, int | float | complex | np.generic):
        return np.asarray(x, dtype)
    return convert_element_type(x, dtype)


# --- random numbers of a size that keeps the variance from layer to layer


def _fans(
    shape: Sequence[int], in_axis: Any, out_axis: Any, batch_axis: Any
) -> tuple[float, float]:
    """The numbers of inputs and of outputs that a weight connects, its window included."""

    def product(axes: Any) -> int:
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        try:
            return math.prod(shape[a] for a in axes)
        except IndexError:
            raise ShapeError(
                f"the shape has no axis {axes}",
                op="variance_scaling",
                shape=tuple(shape),
                fix="give in_axis and out_axis, or a shape of at least two axes",
            ) from None

    inputs, outputs, batch = product(in_axis), product(out_axis), product(batch_axis)
    parts = inputs * outputs * batch
    window = math.prod(shape) / parts if parts else 0
    return inputs * window, outputs * window


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: (inputs * outputs) ** 0.5,
}
_DISTRIBUTIONS = ("truncated_normal", "normal", "uniform")


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: Any = None,
) -> Initializer:
    """Random numbers of the variance scale / n.

    n is the number of inputs (mode "fan_in") or outputs ("fan_out") of a weight, or their
    arithmetic ("fan_avg") or geometric ("fan_geo_avg") mean. distribution is "truncated_normal",
    "normal" or "uniform". Raises: ArgumentError for other words; the initializer raises
    ShapeError for a shape without these axes.

    >>> init = plait.nn.initializers.variance_scaling(2.0, "fan_in", "normal")
    >>> print(init(plait.random.key(0), (256, 128)).std().round(2))
    0.09
    """
    for name, word, words in (
        ("mode", mode, tuple(_MODES)),
        ("distribution", distribution, _DISTRIBUTIONS),
    ):
        if word not in words:
            raise ArgumentError(
                f"there is no {name} {word!r}", op="variance_scaling", fix=" or ".join(words)
            )

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _dtype(dtype)
        shape = known_shape("variance_scaling", shape)
        n = _MODES[mode](*_fans(shape, in_axis, out_axis, batch_axis))
        variance = _number(scale / n if n else 0.0, dtype)
        root = np.sqrt if isinstance(variance, np.ndarray) else sqrt
        if distribution == "normal":
            return _normal(key, shape, dtype, root(variance))
        if distribution == "truncated_normal":
            cut = _CUT_COMPLEX if dtype in COMPLEX else _CUT
            stddev = root(variance) / np.asarray(cut, dtype)
            if dtype in COMPLEX:
                return _complex_truncated(_key(key), shape=shape, dtype=dtype) * stddev
            return random_truncated_normal(key, -2, 2, shape, dtype) * stddev
        if dtype in COMPLEX:
            return _complex_uniform(_key(key), shape=shape, dtype=dtype) * root(variance)
        return _scaled_uniform(_key(key), root(3 * variance), shape=shape, dtype=dtype)

    return init


def _key(key: Any) -> Any:
    return check_key("variance_scaling", key)


@sampler
def _complex_uniform(key: Any, *, shape: Any, dtype: Any) -> Any:
    """Spread evenly over the circle of radius √2, which has variance 1."""
    radius_key, angle_key = split_key(key)
    radius = sqrt(2 * unit_floats(radius_key, shape, dtypes.real_of(dtype)))
    return _on_circle(angle_key, radius, shape, dtype)


@sampler
def _complex_truncated(key: Any, *, shape: Any, dtype: Any) -> Any:
    """Complex normal numbers in the circle of radius 2."""
    radius_key, angle_key = split_key(key)
    t = (1 - math.exp(-4.0)) * unit_floats(radius_key, shape, dtypes.real_of(dtype))
    return _on_circle(angle_key, sqrt(-log(1 - t)), shape, dtype)


def _on_circle(key: Any, radius: Any, shape: Any, dtype: Any) -> Any:
    angle = 2 * np.pi * unit_floats(key, shape, dtypes.real_of(dtype))
    return radius.astype(dtype) * jnp.exp(1j * angle)


def _scaling(name: str, scale: float, mode: str, distribution: str, source: str) -> Any:
    def make(
        in_axis: int | Sequence[int] = -2,
        out_axis: int | Sequence[int] = -1,
        batch_axis: int | Sequence[int] = (),
        dtype: Any = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    stddev = (scale / (256 if mode == "fan_in" else 192)) ** 0.5
    make.__doc__ = f"""variance_scaling({scale}, {mode!r}, {distribution!r}). Source: {source}.

    >>> init = plait.nn.initializers.{name}()
    >>> print(init(plait.random.key(0), (256, 128)).std().round(2))
    {stddev:.2f}
    """
    return make


_GLOROT = "Glorot and Bengio, AISTATS 2010"
_LECUN = "LeCun, Bottou, Orr, Müller, Efficient BackProp, 1998"
_HE = "He, Zhang, Ren, Sun, ICCV 2015"
glorot_uniform = _scaling("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = _scaling("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
lecun_uniform = _scaling("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
lecun_normal = _scaling("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)
he_uniform = _scaling("he_uniform", 2.0, "fan_in", "uniform", _HE)
he_normal = _scaling("he_normal", 2.0, "fan_in", "truncated_normal", _HE)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
