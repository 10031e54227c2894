"""Choosing: categorical, choice, permutation, geometric."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.dtypes import FLOAT, INTEGER
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import axis_in, operand, static_int, to_inexact
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import reshape
from plait.ops.functions import floor
from plait.ops.sort import sort_key_val, top_k
from plait.random.arguments import (
    check_key,
    fitting_shape,
    int_dtype,
    known_shape,
    parameter,
    result_shape,
    sampler,
    split_key,
)
from plait.random.continuous import gumbel_mode, gumbel_values
from plait.random.exact import log, log1p, running_sums
from plait.random.generators import random_bits
from plait.random.standard import integers_between, unit_floats

# --- categories


@sampler
def _categorical(key: Any, logits: Any, *, shape: Any, axis: int, mode: str) -> Any:
    prefix = shape[: len(shape) + 1 - logits.ndim]
    rest = list(shape[len(prefix) :])
    rest.insert(axis, logits.shape[axis])
    noise = gumbel_values(key, (*prefix, *rest), logits.dtype, mode)
    # The category with the largest logit plus Gumbel noise.
    return jnp.argmax(noise + logits, len(prefix) + axis)


@sampler
def _distinct_categories(key: Any, logits: Any, *, k: int, shape: Any, axis: int, mode: str) -> Any:
    noisy = logits + gumbel_values(key, logits.shape, logits.dtype, mode)
    _, found = top_k(jnp.moveaxis(noisy, axis, -1), k)
    return reshape(jnp.moveaxis(found, -1, 0), shape)


@takes_out_sharding
def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
) -> Any:
    """Positions along an axis, each drawn with a probability proportional to exp(logits).

    Shapes: the result has the other axes of logits; `shape` may put axes before them, for several
    draws. With replace=False these draws are all different. `mode` as for gumbel.
    Source: Kool, van Hoof, Welling, "Stochastic beams and where to find them", ICML 2019.
    Raises: ArgumentTypeError for what is no key; ShapeError; ArgumentError for logits that are not
    floats, or more different draws than categories.

    >>> logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
    >>> plait.random.categorical(plait.random.key(0), logits, shape=(8,))
    Array([1, 2, 2, 1, 2, 2, 2, 2], dtype=int32)
    """
    op = "categorical"
    key = check_key(op, key)
    type_ = type_of(operand(op, logits))
    if type_.dtype not in FLOAT:
        raise ArgumentError(
            f"logits are floats, not {type_.dtype.name}", op=op, fix="logits.astype(float)"
        )
    axis, mode = axis_in(axis, type_.ndim, op), gumbel_mode(op, mode)
    others = type_.shape[:axis] + type_.shape[axis + 1 :]
    shape = fitting_shape(op, shape, logits_without_axis=others)
    if not type_.shape[axis]:
        raise ShapeError("there is no category to choose from", op=op, logits=type_)
    if replace:
        return _categorical(key, logits, shape=shape, axis=axis, mode=mode)
    k = math.prod(shape[: len(shape) - len(others)])
    if k > type_.shape[axis]:
        raise ArgumentError(
            f"{k} different draws need as many categories, there are {type_.shape[axis]}",
            op=op,
            logits=type_,
            fix="draw fewer, or replace=True",
        )
    return _distinct_categories(key, logits, k=k, shape=shape, axis=axis, mode=mode)


# --- permutations


def shuffled(key: Any, x: Any, axis: int) -> Any:
    """x in random order along an axis, each vector in its own, inside a sampler."""
    # Sorting by random 32-bit keys, of which some may be equal: as many rounds as make it likely
    # that no two elements have equal keys in all of them.
    size = math.prod(x.shape)
    rounds = int(np.ceil(3 * np.log(max(1, size)) / np.log(2**32 - 1)))
    for _ in range(rounds):
        key, sort_key = split_key(key)
        order = random_bits(sort_key, x.shape, 32)
        _, x = sort_key_val(order, x, axis)
    return x


@sampler
def _permuted_range(key: Any, *, n: int) -> Any:
    return shuffled(key, jnp.arange(n), 0)


@sampler
def _shuffled(key: Any, x: Any, *, axis: int) -> Any:
    return shuffled(key, x, axis)


@sampler
def _permutation(key: Any, x: Any, *, axis: int) -> Any:
    order = shuffled(key, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, mode="promise_in_bounds")


@takes_out_sharding
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """x in random order along an axis: all vectors in the same order, or each in its own with
    `independent`. For an int x, the numbers 0, ..., x - 1 in random order.

    Raises: ArgumentTypeError for what is no key, and for numbers that are not integers.

    >>> plait.random.permutation(plait.random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    key = check_key("permutation", key)
    type_ = type_of(operand("permutation", x, 1))
    if not type_.shape:
        if type_.dtype not in INTEGER:
            raise ArgumentTypeError(
                "x must be an integer or have at least one axis", op="permutation", x=type_
            )
        axis_in(axis, 1, "permutation")
        return _permuted_range(key, n=max(0, static_int(x, "permutation", "x")))
    axis = axis_in(axis, type_.ndim, "permutation")
    if independent or type_.ndim == 1:
        return _shuffled(key, x, axis=axis)
    return _permutation(key, x, axis=axis)


def shuffle(key: Any, x: Any, axis: int = 0) -> Any:
    """x with each vector along an axis in its own random order. See `permutation`.

    >>> plait.random.shuffle(plait.random.key(0), jnp.arange(5))
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    return permutation(key, x, axis, independent=True)


# --- choices


@sampler
def _choice_uniform(key: Any, a: Any, *, shape: Any, axis: int) -> Any:
    n = a.shape[axis]
    found = integers_between(key, 0, n, shape, dtypes.default_int())
    return _picked(a, found, axis)


@sampler
def _number_uniform(key: Any, *, n: int, shape: Any) -> Any:
    return integers_between(key, 0, n, shape, dtypes.default_int())


def _weighted(key: Any, p: Any, shape: tuple[int, ...]) -> Any:
    sums = running_sums(p, 0)
    r = sums[-1] * (1 - unit_floats(key, shape, sums.dtype))
    return convert_element_type(jnp.searchsorted(sums, r), dtypes.default_int())


def _distinct(key: Any, p: Any, shape: tuple[int, ...], mode: str) -> Any:
    noisy = gumbel_values(key, p.shape, p.dtype, mode) + log(p)
    found = top_k(noisy, math.prod(shape))[1]
    return reshape(convert_element_type(found, dtypes.default_int()), shape)


@sampler
def _number_weighted(key: Any, p: Any, *, shape: Any, mode: str | None) -> Any:
    p = to_inexact("choice", p)
    return _weighted(key, p, shape) if mode is None else _distinct(key, p, shape, mode)


@sampler
def _choice_weighted(key: Any, a: Any, p: Any, *, shape: Any, axis: int, mode: str | None) -> Any:
    p = to_inexact("choice", p)
    found = _weighted(key, p, shape) if mode is None else _distinct(key, p, shape, mode)
    return _picked(a, found, axis)


def _picked(a: Any, found: Any, axis: int) -> Any:
    return jnp.take(a, found, axis)


@takes_out_sharding
def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Slices of `a` along an axis, or for an int numbers of 0, ..., a - 1, drawn at random.

    Args:
        shape: of the draws; it takes the place of the axis in the result.
        replace: whether one slice can be drawn several times.
        p: the probabilities of the slices, a vector; by default they are equal.
        mode: as for gumbel, where it is used: for p without replacement.
    Raises: ArgumentTypeError for what is no key, and for numbers that are not integers;
    ArgumentError for an empty `a`, or more draws than slices without replacement; ShapeError.

    >>> plait.random.choice(plait.random.key(0), jnp.array([10, 20, 30]), (4,))
    Array([20, 10, 30, 20], dtype=int32)
    >>> plait.random.choice(plait.random.key(0), 5, (5,), replace=False)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    op = "choice"
    key = check_key(op, key)
    if not isinstance(shape, Iterable):
        fix = f"shape=({shape},)"
        raise ArgumentTypeError("shape is a sequence of ints", op=op, shape=shape, fix=fix)
    shape, type_ = known_shape(op, shape), type_of(operand(op, a, 1))
    whole = not type_.shape
    if whole:
        if type_.dtype not in INTEGER:
            raise ArgumentTypeError("a is an integer or has at least one axis", op=op, a=type_)
        n, axis = static_int(a, op, "a"), 0
    else:
        axis = axis_in(axis, type_.ndim, op)
        n = type_.shape[axis]
    draws = math.prod(shape)
    result = shape if whole else type_.shape[:axis] + shape + type_.shape[axis + 1 :]
    if not draws:
        return jnp.zeros(result, dtypes.default_int() if whole else type_.dtype)
    if n <= 0:
        raise ArgumentError("there is nothing to choose from", op=op, a=n if whole else type_)
    if not replace and draws > n:
        raise ArgumentError(
            f"{draws} different draws need as many slices, there are {n}",
            op=op,
            a=n if whole else type_,
            shape=shape,
            fix="draw fewer, or replace=True",
        )
    if p is None and replace:
        if whole:
            return _number_uniform(key, n=n, shape=shape)
        return _choice_uniform(key, a, shape=shape, axis=axis)
    if p is None:
        order = permutation(key, n if whole else a, axis)
        return jnp.reshape(order[(slice(None),) * axis + (slice(draws),)], result)
    probabilities = parameter(op, "p", p)
    if probabilities.shape != (n,):
        raise ShapeError(
            f"p is a vector with a probability for each of the {n} slices", op=op, p=probabilities
        )
    mode = None if replace else gumbel_mode(op, mode)
    if whole:
        return _number_weighted(key, p, shape=shape, mode=mode)
    return _choice_weighted(key, a, p, shape=shape, axis=axis, mode=mode)


# --- geometric


@sampler
def _geometric(key: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    p = to_inexact("geometric", p)
    u = unit_floats(key, shape, p.dtype)
    u = jnp.where(jnp.equal(u, 0), 1, u)
    failures = floor(log(u) / jnp.broadcast_to(log1p(-p), shape))
    return convert_element_type(failures + 1, dtype)


@takes_out_sharding
def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The number of trials up to the first success, each succeeding with probability p.

    Shapes: p broadcasts to shape, which by default is its own. Dtype: int32 by default (int64 with
    enable_x64). Raises: ArgumentTypeError for what is no key; ShapeError; DtypeError.

    >>> plait.random.geometric(plait.random.key(0), 0.3, (5,))
    Array([1, 1, 4, 3, 2], dtype=int32)
    """
    key = check_key("geometric", key)
    dtype = int_dtype("geometric", dtype)
    return _geometric(key, p, shape=result_shape("geometric", shape, p=p), dtype=dtype)


__all__ = ["categorical", "choice", "geometric", "permutation", "shuffle"]
