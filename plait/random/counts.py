"""Poisson, binomial and multinomial counts, by counting or rejection, whichever is shorter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ShapeError
from plait.numpy.manipulation import moveaxis
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import operand, promote_dtypes, to_dtype, to_inexact
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import broadcast_to, full
from plait.ops.compare import select
from plait.ops.functions import abs, floor, sqrt
from plait.random.arguments import (
    check_key,
    fitting_shape,
    float_dtype,
    int_dtype,
    parameter,
    result_shape,
    sampler,
    split_key,
)
from plait.random.exact import lgamma, log, log1p, running_sums
from plait.random.generators import as_threefry, split_into
from plait.random.standard import unit_floats
from plait.regions.loops import scan, while_loop


def _rejected(limit: Any) -> Callable[[Any], Any]:
    """The condition of a loop over (round, found, accepted, key): some element is not accepted."""

    def going(state: Any) -> Any:
        i, _, accepted, _ = state
        return jnp.logical_and(jnp.any(jnp.logical_not(accepted)), jnp.less(i, limit))

    return going


# --- Poisson


def _poisson_counting(key: Any, lam: Any, dtype: Any, limit: int) -> Any:
    """Counts of uniform numbers until their product falls below exp(-lam) (Knuth, The Art of
    Computer Programming 2, 3.4.1).
    """

    def going(state: Any) -> Any:
        i, _, _, log_product = state
        return jnp.logical_and(jnp.any(jnp.greater(log_product, -lam)), jnp.less(i, limit))

    def step(state: Any) -> Any:
        i, k, key, log_product = state
        key, u_key = split_key(key)
        k = select(jnp.greater(log_product, -lam), k + 1, k)
        u = unit_floats(u_key, lam.shape, dtypes.float32)
        return i + 1, k, key, log_product + log(u)

    start = (0, full(lam.shape, 0, dtype), key, jnp.zeros_like(lam))
    return while_loop(going, step, start)[1] - 1


def _poisson_rejection(key: Any, lam: Any, dtype: Any, limit: int) -> Any:
    """Transformed rejection, the algorithm PTRS of Hörmann, "The transformed rejection method for
    generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993).
    """
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def step(state: Any) -> Any:
        i, found, accepted, key = state
        key, u_key, v_key = split_key(key, 3)
        u = unit_floats(u_key, lam.shape, lam.dtype) - 0.5
        v = unit_floats(v_key, lam.shape, lam.dtype)
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + lam + 0.43)
        s = log(v * inverse_alpha / (a / (us * us) + b))
        density = -lam + k * log_lam - lgamma(k + 1)
        inside = jnp.logical_and(jnp.greater_equal(us, 0.07), jnp.less_equal(v, v_r))
        narrow = jnp.logical_and(jnp.less(us, 0.013), jnp.greater(v, us))
        outside = jnp.logical_or(jnp.less(k, 0), narrow)
        below = jnp.logical_and(jnp.logical_not(outside), jnp.less_equal(s, density))
        accept = jnp.logical_or(inside, below)
        return i + 1, select(accept, k, found), jnp.logical_or(accepted, accept), key

    start = (0, jnp.full_like(lam, -1), jnp.zeros(lam.shape, bool), key)
    return convert_element_type(while_loop(_rejected(limit), step, start)[1], dtype)


@sampler
def _poisson(key: Any, lam: Any, *, shape: Any, dtype: Any) -> Any:
    key = as_threefry(key)
    lam = convert_element_type(broadcast_to(jnp.asarray(lam), shape), dtypes.float32)
    limit = int(dtypes.iinfo(dtype).max)
    small = jnp.logical_or(jnp.isnan(lam), jnp.less(lam, 10))
    # Each algorithm gets numbers with which it is soon done where the other one's result is taken.
    counted = _poisson_counting(key, select(small, lam, jnp.zeros_like(lam)), dtype, limit)
    other = _poisson_rejection(key, select(small, jnp.full_like(lam, 1e5), lam), dtype, limit)
    found = select(small, counted, other)
    return select(jnp.equal(lam, 0), jnp.zeros_like(found), found)


@takes_out_sharding
def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Poisson counts: k with probability lam^k exp(-lam) / k!.

    Shapes: lam broadcasts to shape, which by default is its own. Dtype: int32 by default (int64
    with enable_x64). Raises: ArgumentTypeError for what is no key; ShapeError; DtypeError.

    >>> plait.random.poisson(plait.random.key(0), jnp.array([1.0, 5.0, 100.0]))
    Array([ 0,  2, 87], dtype=int32)
    """
    key = check_key("poisson", key)
    dtype = int_dtype("poisson", dtype)
    return _poisson(key, lam, shape=result_shape("poisson", shape, lam=lam), dtype=dtype)


# --- binomial

# The tail of Stirling's series, log k! - ((k + 1/2) log(k + 1) - (k + 1) + log(2π)/2), for k < 10.
_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: Any) -> Any:
    table = jnp.asarray(np.asarray(_TAILS, k.dtype))
    near = jnp.clip(k, 0.0, 9.0)
    square = (near + 1) * (near + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (near + 1)
    at = convert_element_type(floor(near), dtypes.int32)
    return select(jnp.less_equal(k, 9), jnp.take(table, at, mode="clip"), series)


def _binomial_counting(key: Any, count: Any, prob: Any, dtype: Any, limit: Any) -> Any:
    """Geometric waiting times until they exceed the count (Devroye, Non-Uniform Random Variate
    Generation, 1986, chapter X.4).
    """
    log_failure = log1p(-prob)

    def going(state: Any) -> Any:
        i, _, waited, _ = state
        return jnp.logical_and(jnp.any(jnp.less_equal(waited, count)), jnp.less(i, limit))

    def step(state: Any) -> Any:
        i, successes, waited, key = state
        u_key, key = split_key(key)
        successes = select(jnp.less_equal(waited, count), successes + 1, successes)
        u = unit_floats(u_key, count.shape, prob.dtype)
        return i + 1, successes, waited + jnp.ceil(log(u) / log_failure), key

    zeros = jnp.zeros_like(prob)
    return convert_element_type(while_loop(going, step, (0, zeros, zeros, key))[1] - 1, dtype)


def _binomial_rejection(key: Any, count: Any, prob: Any, dtype: Any, limit: Any) -> Any:
    """Transformed rejection, the algorithm BTRS of Hörmann, "The generation of binomial random
    variates", Journal of Statistical Computation and Simulation 46 (1993).
    """
    spread = sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    r = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * spread
    m = floor((count + 1) * prob)

    def step(state: Any) -> Any:
        i, found, accepted, key = state
        key, u_key, v_key = split_key(key, 3)
        u = unit_floats(u_key, count.shape, prob.dtype)
        v = unit_floats(v_key, count.shape, prob.dtype)
        u = u - 0.5
        us = 0.5 - abs(u)
        inside = jnp.logical_and(jnp.greater_equal(us, 0.07), jnp.less_equal(v, v_r))
        k = floor((2 * a / us + b) * u + c)
        outside = jnp.logical_or(jnp.less(k, 0), jnp.greater(k, count))
        v = log(v * alpha / (a / (us * us) + b))
        density = (
            (m + 0.5) * log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * log(r * (count - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(count - m)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        below = jnp.logical_and(jnp.logical_not(outside), jnp.less_equal(v, density))
        accept = jnp.logical_or(inside, below)
        return i + 1, select(accept, k, found), jnp.logical_or(accepted, accept), key

    start = (0, jnp.full_like(prob, -1), jnp.zeros(count.shape, bool), key)
    return convert_element_type(while_loop(_rejected(limit), step, start)[1], dtype)


def binomial_values(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Binomial counts, inside a sampler."""
    key = as_threefry(key)
    p = to_inexact("binomial", jnp.asarray(p))
    n = convert_element_type(n, p.dtype)
    n, p = broadcast_to(n, shape), broadcast_to(p, shape)
    # Successes of probability p > 1/2 are counted as failures.
    rare = jnp.less(p, 0.5)
    q = select(rare, p, 1.0 - p)
    no_count = jnp.logical_or(jnp.isnan(n), jnp.less(n, 0.0))
    infinite, no_chance = jnp.isinf(n), jnp.logical_or(jnp.isnan(q), jnp.less(q, 0.0))
    q_nan = jnp.isnan(q)
    q = select(no_chance, jnp.full_like(q, 0.01), q)
    few = jnp.logical_or(no_count, jnp.less_equal(n * q, 10.0))
    n = floor(n)
    # Each algorithm gets numbers with which it is soon done where the other one's result is taken.
    limit = np.asarray(dtypes.finfo(dtype).max, dtype)
    found = select(
        few,
        _binomial_counting(key, select(few, n, jnp.zeros_like(n)), q, dtype, limit),
        _binomial_rejection(
            key,
            select(few, jnp.full_like(n, 1e4), n),
            select(few, jnp.full_like(q, 0.5), q),
            dtype,
            limit,
        ),
    )
    invalid = jnp.logical_or(no_chance, no_count)
    found = select(invalid, jnp.full_like(found, np.nan), found)
    endless = jnp.logical_and(infinite, jnp.logical_not(invalid))
    found = select(endless, jnp.full_like(found, np.inf), found)
    kept = jnp.logical_or(jnp.logical_or(rare, no_count), jnp.logical_or(q_nan, infinite))
    return select(kept, found, convert_element_type(n, dtype) - found)


@sampler
def _binomial(key: Any, n: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    return binomial_values(key, n, p, shape, dtype)


@takes_out_sharding
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Binomial counts, as floats: the successes among n trials of probability p each.

    Shapes: n and p broadcast to shape, which by default is their common shape. NaN where n or p is
    no count or probability. Raises: ArgumentTypeError for what is no key; ShapeError;
    ArgumentError for dtypes that are not floats.

    >>> plait.random.binomial(plait.random.key(0), 10, 0.5, (4,))
    Array([6., 7., 5., 6.], dtype=float32)
    """
    key = check_key("binomial", key)
    dtype = float_dtype("binomial", dtype)
    shape = result_shape("binomial", shape, n=n, p=p)
    return _binomial(key, n, p, shape=shape, dtype=dtype)


# --- multinomial


@sampler
def _multinomial(key: Any, n: Any, p: Any, *, shape: Any, dtype: Any, unroll: Any) -> Any:
    n, p = promote_dtypes("multinomial", (n, p))
    n, p = (to_inexact("multinomial", x) for x in (n, p))
    n, p = broadcast_to(n, shape), broadcast_to(p, (*shape, p.shape[-1]))
    # One outcome after the other: its count is binomial among the trials that are left, with its
    # share in the probability that is left.
    p = moveaxis(p, -1, 0)
    left = running_sums(p, 0, reverse=True)
    shares = p / jnp.where(jnp.equal(left, 0), 1, left)
    keys = split_into(key, (shares.shape[0],))

    def outcome(trials: Any, share_and_key: Any) -> Any:
        share, key = share_and_key
        count = binomial_values(key, trials, jnp.clip(share, 0, 1), shape, trials.dtype)
        return trials - count, count

    _, counts = scan(outcome, n, (shares, keys), unroll=unroll)
    return convert_element_type(moveaxis(counts, 0, -1), dtype)


@takes_out_sharding
def multinomial(
    key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: Any = 1
) -> Any:
    """Multinomial counts: how often each outcome comes in n trials; p holds their probabilities
    along its last axis.

    Shapes: n broadcasts to p.shape[:-1]; the result has the shape (*shape, p.shape[-1]), by
    default that of p. Dtype: float by default. `unroll` as for lax.scan.

    >>> plait.random.multinomial(plait.random.key(0), 10, jnp.array([0.2, 0.3, 0.5]))
    Array([1., 1., 8.], dtype=float32)
    """
    op = "multinomial"
    key = check_key(op, key)
    p_type, n_type = type_of(operand(op, p)), parameter(op, "n", n)
    if not p_type.shape:
        raise ShapeError("p is a vector of probabilities, or an array of them", op=op, p=p_type)
    batch = p_type.shape[:-1]
    shape = fitting_shape(op, batch if shape is None else shape, n=n_type.shape, p=batch)
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    return _multinomial(key, n, p, shape=shape, dtype=dtype, unroll=unroll)


__all__ = ["binomial", "multinomial", "poisson"]
