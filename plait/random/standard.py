"""What random bits give at once: uniform floats, normal numbers, integers, coins."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.dtypes import COMPLEX, FLOAT, INTEGER
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError
from plait.numpy.manipulation import rows
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import to_dtype
from plait.ops.arithmetic import add, convert_element_type, mul, rem, sub
from plait.ops.axes import broadcast_to
from plait.ops.bitcast import bitcast_convert_type
from plait.ops.compare import bitwise_or, max, select, shift_right_logical
from plait.random.arguments import (
    check_key,
    fitting_shape,
    float_dtype,
    int_dtype,
    known_shape,
    parameter,
    sampler,
    split_key,
)
from plait.random.exact import erf_inv
from plait.random.generators import random_bits

# --- floats


def unit_floats(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats in [0, 1): the mantissa of a number in [1, 2) drawn at random, less 1."""
    info = dtypes.finfo(dtype)
    width, mantissa = int(info.bits), int(info.nmant)
    # Short mantissas (bfloat16, float8) take the top of 8 bits.
    drawn = 8 if mantissa < 8 else width
    unsigned = np.dtype(f"uint{width}")
    bits = convert_element_type(random_bits(key, shape, drawn), unsigned)
    bits = shift_right_logical(bits, np.asarray(drawn - mantissa, unsigned))
    one = np.ones((), dtype)
    return sub(bitcast_convert_type(bitwise_or(bits, one.view(unsigned)), dtype), one)


def uniform_between(key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats in [low, high), which are of the dtype and broadcast to the shape."""
    unit = unit_floats(key, shape, dtype)
    low, span = (x if not x.ndim else broadcast_to(x, shape) for x in (low, high - low))
    # Rounding may give `high` itself, as in every implementation of this formula; never less
    # than `low`.
    return max(low, add(mul(unit, span), low))


@sampler
def _unit(key: Any, *, shape: Any, dtype: Any) -> Any:
    return unit_floats(key, shape, dtype)


@sampler
def _uniform(key: Any, low: Any, high: Any, *, shape: Any, dtype: Any) -> Any:
    low, high = (convert_element_type(x, dtype) for x in (low, high))
    return uniform_between(key, low, high, shape, dtype)


@takes_out_sharding
def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Floats spread evenly over [minval, maxval).

    Shapes: minval and maxval broadcast to shape. Dtype: float32 by default (float64 with
    enable_x64). Raises: ArgumentTypeError for what is no key; ShapeError; ArgumentError for dtypes
    that are not floats.

    >>> plait.random.uniform(plait.random.key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    key = check_key("uniform", key)
    dtype = float_dtype("uniform", dtype)
    low, high = (parameter("uniform", n, x) for n, x in (("minval", minval), ("maxval", maxval)))
    shape = known_shape("uniform", shape)
    shape = fitting_shape("uniform", shape, minval=low.shape, maxval=high.shape)
    if isinstance(minval, float) and isinstance(maxval, float) and (minval, maxval) == (0.0, 1.0):
        return _unit(key, shape=shape, dtype=dtype)
    return _uniform(key, minval, maxval, shape=shape, dtype=dtype)


# --- the normal distribution


def normal_values(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers: the inverse of the distribution function, of uniform numbers in (-1, 1)."""
    if dtype in COMPLEX:
        part = dtypes.real_of(dtype)
        re, im = (
            convert_element_type(normal_values(k, shape, part), dtype) for k in split_key(key)
        )
        return (re + 1j * im) / np.asarray(np.sqrt(2), dtype)
    return mul(np.asarray(np.sqrt(2), dtype), erf_inv(normal_uniforms(key, shape, dtype)))


def normal_uniforms(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The uniform numbers in (-1, 1) that normal numbers are made of."""
    low = np.nextafter(np.asarray(-1.0, dtype), np.asarray(0.0, dtype), dtype=dtype)
    return uniform_between(key, low, np.ones((), dtype), shape, dtype)


@sampler
def _normal(key: Any, *, shape: Any, dtype: Any) -> Any:
    return normal_values(key, shape, dtype)


@takes_out_sharding
def normal(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Standard normal numbers: mean 0, variance 1; complex ones have half of it in each part.

    Dtype: float or complex, float32 by default (float64 with enable_x64). Raises:
    ArgumentTypeError for what is no key; ArgumentError for other dtypes.

    >>> plait.random.normal(plait.random.key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    key = check_key("normal", key)
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    if dtype not in FLOAT | COMPLEX:
        raise ArgumentError(
            f"dtype must be a float or complex dtype, not {dtype.name}",
            op="normal",
            fix="dtype=float32",
        )
    return _normal(key, shape=known_shape("normal", shape), dtype=dtype)


# --- integers


def clipped_integers(x: Any, dtype: Any) -> Any:
    """Integers in another integer dtype; those it cannot hold become its ends."""
    have, want = dtypes.iinfo(x.dtype), dtypes.iinfo(dtype)
    low, high = builtins.max(have.min, want.min), builtins.min(have.max, want.max)
    return convert_element_type(
        jnp.clip(x, np.asarray(low, x.dtype), np.asarray(high, x.dtype)), dtype
    )


def integers_between(
    key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any, beyond: bool = False
) -> Any:
    """Integers low, ..., high - 1, inside a sampler; with `beyond`, high itself too."""
    low, high = (
        x if type_of(x).dtype in INTEGER else convert_element_type(x, dtypes.default_int())
        for x in map(jnp.asarray, (low, high))
    )
    # The dtype's largest number is drawn only if maxval lies above what the dtype can hold.
    top = clipped_integers(jnp.asarray(dtypes.iinfo(dtype).max, dtype=dtype), high.dtype)
    past_top = jnp.greater(high, top)
    low, high = clipped_integers(low, dtype), clipped_integers(high, dtype)
    if beyond:
        past_top = jnp.ones_like(past_top)
    low, high, past_top = (broadcast_to(x, shape) for x in (low, high, past_top))

    width = int(dtypes.iinfo(dtype).bits)
    unsigned = np.dtype(f"uint{width}")
    upper, lower = (random_bits(k, shape, width) for k in split_key(key))
    span = convert_element_type(sub(high, low), unsigned)
    # An empty range gives minval.
    span = select(jnp.less_equal(high, low), jnp.full_like(span, 1), span)
    # One more; if the range is all of the dtype this wraps to 0, and x rem 0 is x.
    more = jnp.logical_and(past_top, jnp.greater(high, low))
    span = select(more, add(span, np.ones((), unsigned)), span)
    # A number of twice the width, upper 2^width + lower, modulo the span, in the given width:
    # that makes the result nearly unbiased.
    half = jnp.full_like(span, 2 ** (width // 2))
    factor = rem(half, span)
    factor = rem(mul(factor, factor), span)
    offset = rem(add(mul(rem(upper, span), factor), rem(lower, span)), span)
    return add(low, convert_element_type(offset, dtype))


@sampler
def _randint(key: Any, low: Any, high: Any, *, shape: Any, dtype: Any, beyond: bool) -> Any:
    return integers_between(key, low, high, shape, dtype, beyond)


@takes_out_sharding
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Integers spread evenly over minval, ..., maxval - 1.

    Shapes: minval and maxval broadcast to shape. Dtype: int32 by default (int64 with enable_x64).
    An empty range gives minval. Raises: ArgumentTypeError for what is no key; ShapeError;
    DtypeError for dtypes that are not integers; IntegerOverflowError.

    >>> plait.random.randint(plait.random.key(0), (5,), 0, 10)
    Array([9, 0, 2, 3, 1], dtype=int32)
    """
    key = check_key("randint", key)
    dtype = int_dtype("randint", dtype)
    low, high = (parameter("randint", n, x) for n, x in (("minval", minval), ("maxval", maxval)))
    shape = known_shape("randint", shape)
    shape = fitting_shape("randint", shape, minval=low.shape, maxval=high.shape)
    info = dtypes.iinfo(dtype)
    if info.bits < 32:
        # Drawn with 32 bits: fewer would favour some of the numbers.
        ends = (int(info.min), int(info.max), int(info.max) + 1)
        minval = jnp.clip(convert_element_type(minval, dtypes.int32), ends[0], ends[1])
        maxval = jnp.clip(convert_element_type(maxval, dtypes.int32), ends[0], ends[2])
        found = _randint(key, minval, maxval, shape=shape, dtype=dtypes.int32, beyond=False)
        return convert_element_type(found, dtype)
    minval, _ = _known_bound(minval, dtype)
    maxval, beyond = _known_bound(maxval, dtype)
    return _randint(key, minval, maxval, shape=shape, dtype=dtype, beyond=beyond)


def _known_bound(bound: Any, dtype: Any) -> tuple[Any, bool]:
    """(a Python int that the default integers cannot hold, as the dtype's; whether it is one more
    than the dtype's largest).
    """
    if not isinstance(bound, int) or dtypes.fits(bound, dtypes.default_int()):
        return bound, False
    top = int(dtypes.iinfo(dtype).max)
    beyond = bound == top + 1
    if not beyond:
        dtypes.check_fits(bound, dtype, op="randint", bound=bound)
    return np.asarray(top if beyond else bound, dtype), beyond


# --- coins


def coins(key: Any, p: Any, shape: tuple[int, ...], mode: str = "low") -> Any:
    """True with probability p, inside a sampler."""
    p = jnp.asarray(p)
    dtype = p.dtype
    if mode == "low":
        return jnp.less(unit_floats(key, shape, dtype), p)
    first, second = rows(unit_floats(key, (2, *shape), dtype))
    return jnp.less(second * 2.0 ** -int(dtypes.finfo(dtype).nmant), p - first)


@sampler
def _bernoulli(key: Any, p: Any, *, shape: Any, mode: str) -> Any:
    return coins(key, p, shape, mode)


@takes_out_sharding
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Any:
    """True with probability p, else False.

    Shapes: p broadcasts to shape, which by default is its own. `mode` "high" draws twice the bits,
    so that probabilities below 1e-7 are right as well. Raises: ArgumentTypeError for what is no
    key; DtypeError if p is not a float; ShapeError; ArgumentError for other modes.

    >>> plait.random.bernoulli(plait.random.key(0), 0.9, (4,))
    Array([False, False,  True,  True], dtype=bool)
    """
    key = check_key("bernoulli", key)
    if mode not in ("low", "high"):
        raise ArgumentError("mode is 'low' or 'high'", op="bernoulli", mode=mode)
    type_ = parameter("bernoulli", "p", p)
    if type_.dtype not in FLOAT:
        fix = "convert it with jnp.asarray(p, float)"
        raise DtypeError("the probability p is a float", op="bernoulli", p=type_, fix=fix)
    shape = fitting_shape("bernoulli", shape, p=type_.shape)
    return _bernoulli(key, p, shape=shape, mode=mode)


def signs(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """-1 or 1, inside a sampler."""
    heads = coins(key, np.asarray(0.5, dtypes.default_float()), shape)
    return convert_element_type(2 * convert_element_type(heads, dtype) - 1, dtype)


@sampler
def _rademacher(key: Any, *, shape: Any, dtype: Any) -> Any:
    return signs(key, shape, dtype)


@takes_out_sharding
def rademacher(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """-1 or 1, each with probability 1/2; int32 by default (int64 with enable_x64).

    >>> plait.random.rademacher(plait.random.key(0), (6,))
    Array([-1, -1,  1,  1, -1,  1], dtype=int32)
    """
    key = check_key("rademacher", key)
    dtype = dtypes.default_int() if dtype is None else to_dtype(dtype)
    return _rademacher(key, shape=known_shape("rademacher", shape), dtype=dtype)


__all__ = [
    "bernoulli",
    "coins",
    "integers_between",
    "normal",
    "normal_uniforms",
    "normal_values",
    "rademacher",
    "randint",
    "signs",
    "uniform",
    "uniform_between",
    "unit_floats",
]
