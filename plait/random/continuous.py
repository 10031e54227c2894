"""Samplers of continuous distributions that are a formula of uniform or normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.errors import ArgumentError
from plait.numpy.manipulation import rows
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import INEXACT_KIND, promote
from plait.ops.arithmetic import convert_element_type, integer_pow, neg
from plait.ops.bitcast import bitcast_convert_type
from plait.ops.compare import clz, select, shift_left, shift_right_logical
from plait.ops.functions import abs, nextafter, sign, sqrt
from plait.random.arguments import (
    check_castable,
    check_key,
    float_dtype,
    known_shape,
    parameter,
    result_shape,
    sampler,
    split_key,
)
from plait.random.exact import erf, erf_inv, exp, log, log1p, pow, tan
from plait.random.generators import random_bits
from plait.random.standard import normal_values, signs, uniform_between, unit_floats
from plait.regions.custom import stop_gradient


def between(key: Any, low: float, high: float, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform numbers between two known ones."""
    return uniform_between(key, np.asarray(low, dtype), np.asarray(high, dtype), shape, dtype)


def _standard(op: str, key: Any, shape: Any, dtype: Any) -> tuple[Any, dict[str, Any]]:
    """The checked arguments of a sampler without parameters."""
    key = check_key(op, key)
    return key, {"shape": known_shape(op, shape), "dtype": float_dtype(op, dtype)}


# --- truncated normal


@sampler
def _truncated_normal(key: Any, lower: Any, upper: Any, *, shape: Any, dtype: Any) -> Any:
    root = np.asarray(np.sqrt(2), dtype)
    lower, upper = (convert_element_type(x, dtype) for x in (lower, upper))
    u = uniform_between(key, erf(lower / root), erf(upper / root), shape, dtype)
    # Rounding must not give a number outside, nor an end itself.
    first = nextafter(stop_gradient(lower), np.asarray(np.inf, dtype))
    last = nextafter(stop_gradient(upper), np.asarray(-np.inf, dtype))
    return jnp.clip(root * erf_inv(u), first, last)


@takes_out_sharding
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Standard normal numbers, given that they lie in (lower, upper).

    Shapes: lower and upper broadcast to shape, which by default is their common shape. Raises:
    ArgumentTypeError for what is no key; ShapeError; ArgumentError for dtypes that are not floats.

    >>> plait.random.truncated_normal(plait.random.key(0), -2.0, 2.0, (3,)).round(3)
    Array([ 1.456,  1.715, -0.413], dtype=float32)
    """
    key = check_key("truncated_normal", key)
    dtype = float_dtype("truncated_normal", dtype)
    shape = result_shape("truncated_normal", shape, lower=lower, upper=upper)
    return _truncated_normal(key, lower, upper, shape=shape, dtype=dtype)


# --- without parameters


@sampler
def _exponential(key: Any, *, shape: Any, dtype: Any) -> Any:
    return exponential_values(key, shape, dtype)


def exponential_values(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Exponential numbers, inside a sampler."""
    # 1 - u lies in (0, 1], where the logarithm is finite.
    return neg(log1p(neg(unit_floats(key, shape, dtype))))


@takes_out_sharding
def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Exponential numbers: density exp(-x) for x >= 0.

    >>> plait.random.exponential(plait.random.key(0), (3,)).round(3)
    Array([2.95 , 3.843, 0.404], dtype=float32)
    """
    key, choices = _standard("exponential", key, shape, dtype)
    return _exponential(key, **choices)


def gumbel_values(key: Any, shape: tuple[int, ...], dtype: Any, mode: str) -> Any:
    """Gumbel numbers, inside a sampler."""
    info = dtypes.finfo(dtype)
    tiny = float(info.tiny)
    if mode == "low":
        return -log(-log(between(key, tiny, 1.0, shape, dtype)))
    if mode == "highest" and dtype == dtypes.float32:
        return _fine_gumbel(key, shape)
    high, low = rows(unit_floats(key, (2, *shape), dtype))
    # A second number refines the first one where that is small: twice the bits near 0.
    step = max(2.0 ** -(2 * int(info.nmant) + 1), tiny)
    x = jnp.where(high >= 0.5, high, high + 2.0 ** -int(info.nmant) * low + step)
    return -log(-log1p(-x))


def _fine_gumbel(key: Any, shape: tuple[int, ...]) -> Any:
    """Gumbel numbers from uniform ones of 64 bits in fixed point, (high + low / 2³²) / 2³²."""
    high, low = rows(random_bits(key, (2, *shape), 32))
    # Numbers u above 1/2 are held as 1 - u, which keeps all bits near 1 too.
    near_0 = jnp.less(high, np.uint32(2**31))
    rest_low = jnp.bitwise_not(low) + np.uint32(1)
    rest_high = jnp.bitwise_not(high) + jnp.equal(low, np.uint32(0)).astype(np.uint32)
    x = _fixed_point(jnp.where(near_0, high, rest_high), jnp.where(near_0, low, rest_low))
    return jnp.where(near_0, -log(-log1p(-x)), -log(-log(x)))


def _fixed_point(high: Any, low: Any) -> Any:
    """The float32 in (0, 1) of two words behind the point."""
    high_zeros, low_zeros = clz(high), clz(low)
    small = jnp.equal(high_zeros, np.uint32(32))
    # The words shifted so that the highest 1 is the top bit; its place is the exponent.
    rest = jnp.where(
        small, shift_left(low, low_zeros), shift_right_logical(low, np.uint32(32) - high_zeros)
    )
    mantissa = jnp.bitwise_or(shift_left(high, high_zeros), rest)
    mantissa = jnp.bitwise_and(shift_right_logical(mantissa, np.uint32(8)), np.uint32(2**23 - 1))
    zeros = jnp.where(small, np.uint32(32) + low_zeros, high_zeros)
    exponent = shift_left(np.uint32(126) - zeros, np.uint32(23))
    exponent = jnp.bitwise_and(exponent, np.uint32(2**30 - 2**22))
    return bitcast_convert_type(jnp.bitwise_or(exponent, mantissa), np.float32)


@sampler
def _gumbel(key: Any, *, shape: Any, dtype: Any, mode: str) -> Any:
    return gumbel_values(key, shape, dtype, mode)


def gumbel_mode(op: str, mode: str | None) -> str:
    """A mode of the Gumbel sampler; None is "low". Raises ArgumentError."""
    mode = "low" if mode is None else mode
    if mode not in ("low", "high", "highest"):
        raise ArgumentError("mode is 'low', 'high' or 'highest'", op=op, mode=mode)
    return mode


@takes_out_sharding
def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None) -> Any:
    """Gumbel numbers: density exp(-(x + exp(-x))).

    `mode` "high" (or "highest") draws more bits than "low", the default, so that large numbers,
    beyond 16 in float32, come with the right frequency. Raises: ArgumentError for other modes.

    >>> plait.random.gumbel(plait.random.key(0), (3,)).round(3)
    Array([ 2.923,  3.833, -0.097], dtype=float32)
    """
    key, choices = _standard("gumbel", key, shape, dtype)
    return _gumbel(key, **choices, mode=gumbel_mode("gumbel", mode))


@sampler
def _laplace(key: Any, *, shape: Any, dtype: Any) -> Any:
    u = between(key, -1.0 + float(dtypes.finfo(dtype).epsneg), 1.0, shape, dtype)
    return sign(u) * log1p(-abs(u))


@takes_out_sharding
def laplace(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Laplace numbers: density exp(-|x|) / 2.

    >>> plait.random.laplace(plait.random.key(0), (3,)).round(3)
    Array([-2.257, -3.15 ,  0.409], dtype=float32)
    """
    key, choices = _standard("laplace", key, shape, dtype)
    return _laplace(key, **choices)


@sampler
def _logistic(key: Any, *, shape: Any, dtype: Any) -> Any:
    u = between(key, float(dtypes.finfo(dtype).tiny), 1.0, shape, dtype)
    return log(u) - log1p(-u)


@takes_out_sharding
def logistic(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Logistic numbers: density exp(-x) / (1 + exp(-x))².

    >>> plait.random.logistic(plait.random.key(0), (3,)).round(3)
    Array([ 2.896,  3.822, -0.698], dtype=float32)
    """
    key, choices = _standard("logistic", key, shape, dtype)
    return _logistic(key, **choices)


@sampler
def _cauchy(key: Any, *, shape: Any, dtype: Any) -> Any:
    u = between(key, float(dtypes.finfo(dtype).eps), 1.0, shape, dtype)
    return tan(np.asarray(np.pi, dtype) * (u - np.asarray(0.5, dtype)))


@takes_out_sharding
def cauchy(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Cauchy numbers: density 1 / (π (x² + 1)).

    >>> plait.random.cauchy(plait.random.key(0), (3,)).round(3)
    Array([ 6.027, 14.838, -0.582], dtype=float32)
    """
    key, choices = _standard("cauchy", key, shape, dtype)
    return _cauchy(key, **choices)


def _maxwell_values(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    x = normal_values(key, (*shape, 3), dtype)
    return sqrt(jnp.sum(x * x, -1))


@sampler
def _maxwell(key: Any, *, shape: Any, dtype: Any) -> Any:
    return _maxwell_values(key, shape, dtype)


@takes_out_sharding
def maxwell(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Maxwell numbers: the lengths of vectors of three standard normal numbers.

    >>> plait.random.maxwell(plait.random.key(0), (3,)).round(3)
    Array([2.631, 0.991, 0.965], dtype=float32)
    """
    key, choices = _standard("maxwell", key, shape, dtype)
    return _maxwell(key, **choices)


# --- with parameters


@sampler
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    size_key, sign_key = split_key(key)
    sizes = _maxwell_values(size_key, shape, dtype)
    return signs(sign_key, shape, dtype) * sizes * scale + loc


@takes_out_sharding
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Maxwell numbers with a random sign, times scale, plus loc.

    Shapes: the result has the axes of `shape`, then those of loc and scale; without `shape` those
    of loc and scale twice.

    >>> plait.random.double_sided_maxwell(plait.random.key(0), 0.0, 1.0, (2,)).round(3)
    Array([1.546, 1.574], dtype=float32)
    """
    op = "double_sided_maxwell"
    key, choices = _standard(op, key, shape, dtype)
    parameters = result_shape(op, None, loc=loc, scale=scale)
    choices["shape"] = (choices["shape"] or parameters) + parameters
    return _double_sided_maxwell(key, loc, scale, **choices)


def power(x: Any, y: Any) -> Any:
    """X ** y, with NumPy's promotion and the bits of XLA's own power."""
    return pow(*promote("power", (x, y), INEXACT_KIND))


@sampler
def _weibull_min(key: Any, scale: Any, concentration: Any, *, shape: Any, dtype: Any) -> Any:
    return power(exponential_values(key, shape, dtype), 1.0 / concentration) * scale


@takes_out_sharding
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Weibull numbers: density c/s (x/s)^(c-1) exp(-(x/s)^c), s the scale, c the concentration.

    >>> plait.random.weibull_min(plait.random.key(0), 2.0, 1.5, (3,)).round(3)
    Array([4.114, 4.907, 1.093], dtype=float32)
    """
    key, choices = _standard("weibull_min", key, shape, dtype)
    for name, x in (("scale", scale), ("concentration", concentration)):
        parameter("weibull_min", name, x)
    return _weibull_min(key, scale, concentration, **choices)


def with_parameters(
    op: str, key: Any, shape: Any, dtype: Any, **parameters: Any
) -> tuple[Any, dict[str, Any]]:
    """The checked key, shape and dtype of a sampler whose parameters have to fit both."""
    key = check_key(op, key)
    dtype = float_dtype(op, dtype)
    shape = result_shape(op, shape, **parameters)
    check_castable(op, dtype, **parameters)
    return key, {"shape": shape, "dtype": dtype}


def _filled(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return jnp.broadcast_to(convert_element_type(x, dtype), shape)


@sampler
def _pareto(key: Any, b: Any, *, shape: Any, dtype: Any) -> Any:
    return exp(exponential_values(key, shape, dtype) / convert_element_type(b, dtype))


@takes_out_sharding
def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Pareto numbers: density b / x^(b+1) for x >= 1.

    >>> plait.random.pareto(plait.random.key(0), 3.0, (3,)).round(3)
    Array([2.673, 3.601, 1.144], dtype=float32)
    """
    key, choices = with_parameters("pareto", key, shape, dtype, b=b)
    return _pareto(key, b, **choices)


@sampler
def _rayleigh(key: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    u = unit_floats(key, shape, dtype)
    return _filled(scale, shape, dtype) * sqrt(log(u) * np.asarray(-2.0, dtype))


@takes_out_sharding
def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Rayleigh numbers: density x/s² exp(-x²/(2 s²)) for x >= 0, s the scale.

    >>> plait.random.rayleigh(plait.random.key(0), 2.0, (3,)).round(3)
    Array([0.656, 0.416, 2.969], dtype=float32)
    """
    key, choices = with_parameters("rayleigh", key, shape, dtype, scale=scale)
    return _rayleigh(key, scale, **choices)


@sampler
def _wald(key: Any, mean: Any, *, shape: Any, dtype: Any) -> Any:
    # Source: Michael, Schucany and Haas, "Generating random variates using transformations with
    # multiple roots", The American Statistician 30 (1976).
    normal_key, uniform_key = split_key(key)
    mean = _filled(mean, shape, dtype)
    y = integer_pow(normal_values(normal_key, shape, dtype), 2)
    u = unit_floats(uniform_key, shape, dtype)
    square = integer_pow(mean, 2)
    root = sqrt(4 * mean * y + square * integer_pow(y, 2))
    x = mean + square * y / 2 - mean / 2 * root
    return select(jnp.less_equal(u, mean / (mean + x)), x, square / x)


@takes_out_sharding
def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Wald (inverse Gaussian) numbers of the given mean, the shape parameter being 1.

    >>> plait.random.wald(plait.random.key(0), 1.0, (3,)).round(3)
    Array([0.381, 0.416, 0.481], dtype=float32)
    """
    key, choices = with_parameters("wald", key, shape, dtype, mean=mean)
    return _wald(key, mean, **choices)


@sampler
def _triangular(key: Any, left: Any, mode: Any, right: Any, *, shape: Any, dtype: Any) -> Any:
    left, mode, right = (_filled(x, shape, dtype) for x in (left, mode, right))
    u = unit_floats(key, shape, dtype)
    rising = left + sqrt(u * (right - left) * (mode - left))
    falling = right - sqrt((1 - u) * (right - left) * (right - mode))
    return select(jnp.less(u, (mode - left) / (right - left)), rising, falling)


@takes_out_sharding
def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None
) -> Any:
    """Numbers whose density rises evenly from left to mode and falls evenly to right.

    >>> plait.random.triangular(plait.random.key(0), 0.0, 1.0, 4.0, (3,)).round(3)
    Array([3.208, 3.493, 1.169], dtype=float32)
    """
    key, choices = with_parameters(
        "triangular", key, shape, dtype, left=left, mode=mode, right=right
    )
    return _triangular(key, left, mode, right, **choices)


@sampler
def _lognormal(key: Any, sigma: Any, *, shape: Any, dtype: Any) -> Any:
    return exp(normal_values(key, shape, dtype) * convert_element_type(sigma, dtype))


@takes_out_sharding
def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers whose logarithm is normal, with mean 0 and standard deviation sigma.

    >>> plait.random.lognormal(plait.random.key(0), 0.5, (3,)).round(3)
    Array([2.251, 2.753, 0.805], dtype=float32)
    """
    key, choices = with_parameters("lognormal", key, shape, dtype, sigma=sigma)
    return _lognormal(key, sigma, **choices)


__all__ = [
    "cauchy",
    "double_sided_maxwell",
    "exponential",
    "exponential_values",
    "gumbel",
    "gumbel_mode",
    "gumbel_values",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "pareto",
    "power",
    "rayleigh",
    "triangular",
    "truncated_normal",
    "wald",
    "weibull_min",
    "with_parameters",
]
