"""Gamma numbers, by rejection with implicit derivatives, and the distributions made of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.errors import ShapeError
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import static_int
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import broadcast_to, reshape
from plait.ops.compare import max, select
from plait.ops.functions import sqrt
from plait.ops.incomplete import random_gamma_grad
from plait.random.arguments import (
    check_key,
    fitting_shape,
    float_dtype,
    known_shape,
    parameter,
    result_shape,
    sampler,
    split_key,
)
from plait.random.continuous import exponential_values, power, with_parameters
from plait.random.exact import exp, log, pow
from plait.random.generators import as_threefry, split_into
from plait.random.standard import normal_values, signs, unit_floats
from plait.regions.custom_jvp import custom_jvp
from plait.regions.loops import while_loop
from plait.transforms.vmap import vmap

# --- one gamma number


def _gamma_once(key: Any, alpha: Any, in_logs: bool) -> Any:
    """One gamma number of shape parameter alpha (a scalar), or its logarithm.

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26
    (2000): with normal x, d (1 + c x)³ is accepted by a squeeze or, failing that, by its density.
    For alpha < 1 their note 6: Gamma(alpha) is Gamma(alpha + 1) U^(1/alpha).
    """
    dtype = alpha.dtype
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    large = jnp.greater_equal(alpha, one)
    third = np.asarray(1.0 / 3.0, dtype)
    d = select(large, alpha, alpha + one) - third
    c = third / sqrt(d)

    def rejected(state: Any) -> Any:
        _, x2, v, u = state
        squeeze = jnp.greater_equal(u, one - np.asarray(0.0331, dtype) * (x2 * x2))
        density = x2 * np.asarray(0.5, dtype) + d * ((one - v) + log(v))
        return jnp.logical_and(squeeze, jnp.greater_equal(log(u), density))

    def draw(state: Any) -> Any:
        key, x_key, u_key = split_key(state[0], 3)

        def again(inner: Any) -> Any:
            inner_key, x_key = split_key(inner[0])
            x = normal_values(x_key, (), dtype)
            return inner_key, x, one + x * c

        _, x, v = while_loop(
            lambda inner: jnp.less_equal(inner[2], zero), again, (x_key, zero, -one)
        )
        return key, x * x, (v * v) * v, unit_floats(u_key, (), dtype)

    key, boost_key = split_key(key)
    # A start that is rejected.
    start = (key, zero, one, np.asarray(2.0, dtype))
    _, _, v, _ = while_loop(rejected, draw, start)
    if in_logs:
        log_u = -exponential_values(boost_key, (), dtype)
        plain = jnp.logical_or(large, jnp.equal(log_u, zero))
        return (log(d) + log(v)) + select(plain, zero, log_u * (one / alpha))
    u = 1 - unit_floats(boost_key, (), dtype)
    return (d * v) * select(large, one, pow(u, one / alpha))


def _slope(sample: Any, alpha: Any, in_logs: bool) -> Any:
    """The derivative of a gamma number by its parameter, at a fixed value of the distribution
    function (Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", NeurIPS 2018).
    """
    if not in_logs:
        return random_gamma_grad(alpha, sample)
    sample = exp(sample)
    tiny = jnp.full_like(sample, float(dtypes.finfo(sample.dtype).tiny))
    sample = select(jnp.equal(sample, 0), tiny, sample)
    return random_gamma_grad(alpha, sample) / sample


@functools.cache
def _gamma_function(in_logs: bool) -> Callable[..., Any]:
    @custom_jvp
    def gamma(key: Any, alpha: Any) -> Any:
        keys = split_into(as_threefry(key), (math.prod(alpha.shape),))
        flat = reshape(alpha, (math.prod(alpha.shape),))
        once = functools.partial(_gamma_once, in_logs=in_logs)
        return reshape(vmap(once)(keys, flat), alpha.shape)

    @gamma.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        key, alpha = primals
        sample = gamma(key, alpha)
        return sample, tangents[1] * _slope(sample, alpha, in_logs)

    return gamma


def gamma_values(
    key: Any, a: Any, shape: tuple[int, ...], dtype: Any, *, in_logs: bool = False
) -> Any:
    """Gamma numbers, or their logarithms, inside a sampler."""
    a = broadcast_to(convert_element_type(a, dtype), shape)
    return _gamma_function(in_logs)(key, a)


@sampler
def _gamma(key: Any, a: Any, *, shape: Any, dtype: Any, in_logs: bool) -> Any:
    return gamma_values(key, a, shape, dtype, in_logs=in_logs)


@takes_out_sharding
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Gamma numbers: density x^(a-1) exp(-x) / Γ(a) for x > 0. Differentiable with respect to a.

    Shapes: a broadcasts to shape, which by default is its own. Raises: ArgumentTypeError for what
    is no key; ShapeError; ArgumentError for dtypes that are not floats.

    >>> plait.random.gamma(plait.random.key(0), jnp.array([0.5, 5.0])).round(3)
    Array([0.885, 4.822], dtype=float32)
    """
    return _gamma_or_log("gamma", key, a, shape, dtype, in_logs=False)


@takes_out_sharding
def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The logarithms of gamma numbers, exact also where these are too small for a float.

    The same numbers as those of `gamma` for one key. Differentiable with respect to a.

    >>> plait.random.loggamma(plait.random.key(0), jnp.array([1e-3, 5.0])).round(1)
    Array([-110.6,    1.6], dtype=float32)
    """
    return _gamma_or_log("loggamma", key, a, shape, dtype, in_logs=True)


def _gamma_or_log(op: str, key: Any, a: Any, shape: Any, dtype: Any, *, in_logs: bool) -> Any:
    key = check_key(op, key)
    dtype = float_dtype(op, dtype)
    return _gamma(key, a, shape=result_shape(op, shape, a=a), dtype=dtype, in_logs=in_logs)


# --- made of gamma numbers


@sampler
def _beta(key: Any, a: Any, b: Any, *, shape: Any, dtype: Any) -> Any:
    key_a, key_b = split_key(key)
    log_a = gamma_values(key_a, a, shape, dtype, in_logs=True)
    log_b = gamma_values(key_b, b, shape, dtype, in_logs=True)
    # x / (x + y) of two gamma numbers, the larger one scaled to 1.
    largest = max(log_a, log_b)
    x, y = exp(log_a - largest), exp(log_b - largest)
    return x / (x + y)


@takes_out_sharding
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Beta numbers: density proportional to x^(a-1) (1-x)^(b-1) on [0, 1].

    >>> plait.random.beta(plait.random.key(0), 2.0, jnp.array([1.0, 5.0])).round(3)
    Array([0.399, 0.274], dtype=float32)
    """
    key, choices = with_parameters("beta", key, shape, dtype, a=a, b=b)
    return _beta(key, a, b, **choices)


@sampler
def _dirichlet(key: Any, alpha: Any, *, shape: Any, dtype: Any) -> Any:
    logs = gamma_values(key, alpha, shape, dtype, in_logs=True)
    # The gamma numbers over their sum.
    scaled = exp(logs - jnp.max(logs, -1, keepdims=True))
    return scaled / jnp.sum(scaled, -1, keepdims=True)


@takes_out_sharding
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Vectors of positive numbers with sum 1: density proportional to the product of
    x_i^(alpha_i - 1).

    Shapes: alpha [*s, n]; the result has the shape (*shape, n), by default that of alpha.

    >>> plait.random.dirichlet(plait.random.key(0), jnp.ones(3)).sum().round(3)
    Array(1., dtype=float32)
    """
    key = check_key("dirichlet", key)
    dtype = float_dtype("dirichlet", dtype)
    type_ = parameter("dirichlet", "alpha", alpha)
    if not type_.shape:
        raise ShapeError("alpha is a vector, or an array of them", op="dirichlet", alpha=type_)
    shape = fitting_shape("dirichlet", shape, alpha_without_last_axis=type_.shape[:-1])
    return _dirichlet(key, alpha, shape=(*shape, type_.shape[-1]), dtype=dtype)


def _chisquare_values(key: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    half = convert_element_type(df, dtype) / np.asarray(2.0, dtype)
    return exp(gamma_values(key, half, shape, dtype, in_logs=True)) * np.asarray(2.0, dtype)


@sampler
def _chisquare(key: Any, df: Any, *, shape: Any, dtype: Any) -> Any:
    return _chisquare_values(key, df, shape, dtype)


@takes_out_sharding
def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Chi-square numbers of df degrees of freedom.

    >>> plait.random.chisquare(plait.random.key(0), 3.0, (2,)).round(3)
    Array([2.205, 2.49 ], dtype=float32)
    """
    key, choices = with_parameters("chisquare", key, shape, dtype, df=df)
    return _chisquare(key, df, **choices)


@sampler
def _f(key: Any, dfnum: Any, dfden: Any, *, shape: Any, dtype: Any) -> Any:
    dfnum, dfden = (convert_element_type(x, dtype) for x in (dfnum, dfden))
    den_key, num_key = split_key(key)
    num = _chisquare_values(num_key, dfnum, shape, dtype) / dfnum
    den = _chisquare_values(den_key, dfden, shape, dtype) / dfden
    return num / den


@takes_out_sharding
def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Any:
    """F-distributed numbers of dfnum and dfden degrees of freedom.

    >>> plait.random.f(plait.random.key(0), 3.0, 5.0, (2,)).round(3)
    Array([2.58 , 0.192], dtype=float32)
    """
    key, choices = with_parameters("f", key, shape, dtype, dfnum=dfnum, dfden=dfden)
    return _f(key, dfnum, dfden, **choices)


@sampler
def _t(key: Any, df: Any, *, shape: Any, dtype: Any) -> Any:
    normal_key, gamma_key = split_key(key)
    half = convert_element_type(df, dtype) / np.asarray(2.0, dtype)
    n = normal_values(normal_key, shape, dtype)
    return n * sqrt(half / gamma_values(gamma_key, half, shape, dtype))


@takes_out_sharding
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Student's t numbers of df degrees of freedom.

    >>> plait.random.t(plait.random.key(0), 3.0, (3,)).round(3)
    Array([ 0.69 , -3.239, -1.675], dtype=float32)
    """
    key, choices = with_parameters("t", key, shape, dtype, df=df)
    return _t(key, df, **choices)


def _generalized_normal_values(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    gamma_key, sign_key = split_key(key)
    g = gamma_values(gamma_key, 1 / p, shape, dtype)
    return signs(sign_key, shape, dtypes.default_int()) * power(g, 1 / p)


@sampler
def _generalized_normal(key: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    return _generalized_normal_values(key, jnp.asarray(p), shape, dtype)


@takes_out_sharding
def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Generalized normal numbers: density proportional to exp(-|x|^p).

    >>> plait.random.generalized_normal(plait.random.key(0), 2.0, (2,)).round(3)
    Array([0.954, 0.09 ], dtype=float32)
    """
    op = "generalized_normal"
    key, dtype = check_key(op, key), float_dtype(op, dtype)
    shape = fitting_shape(op, known_shape(op, shape), p=parameter(op, "p", p).shape)
    return _generalized_normal(key, p, shape=shape, dtype=dtype)


@sampler
def _ball(key: Any, p: Any, *, d: int, shape: Any, dtype: Any) -> Any:
    # Source: Barthe, Guédon, Mendelson, Naor, "A probabilistic approach to the geometry of the
    # l_p^n-ball", Annals of Probability 33 (2005).
    p = jnp.asarray(p)
    normal_key, exponential_key = split_key(key)
    g = _generalized_normal_values(normal_key, p, (*shape, d), dtype)
    e = exponential_values(exponential_key, shape, dtype)
    size = power(jnp.sum(power(jnp.abs(g), p), -1) + e, 1 / p)
    return g / size[..., None]


@takes_out_sharding
def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None) -> Any:
    """Points spread evenly over the ball |x_1|^p + ... + |x_d|^p <= 1.

    Shapes: (*shape, d).

    >>> plait.random.ball(plait.random.key(0), 3).round(3)
    Array([0.917, 0.393, 0.012], dtype=float32)
    """
    key, dtype = check_key("ball", key), float_dtype("ball", dtype)
    parameter("ball", "p", p)
    shape = known_shape("ball", shape)
    return _ball(key, p, d=static_int(d, "ball", "d"), shape=shape, dtype=dtype)


__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]
