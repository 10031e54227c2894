"""What all random functions do with their arguments: keys, shapes, dtypes, parameters.

A random function is a `sampler`: a function of a key and of arrays, compiled once for each choice
of its keyword arguments (shape, dtype, ...). Eagerly too it is one program. What is computed in it,
and in which order, is what JAX computes, since that decides the last bit: multiplications and
additions in one loop become fused ones, and XLA's vector functions differ from its scalar ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.dtypes import FLOAT, INTEGER, KEY, KEY_DTYPES
from plait.core.types import ArrayType, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    PlaitError,
    ShapeError,
    an,
)
from plait.numpy.manipulation import rows
from plait.numpy.promotion import broadcast_shapes, is_base, operand, shape_of, to_dtype
from plait.ops.bits import random_wrap_p
from plait.random.generators import split_into
from plait.runtime.array import as_array
from plait.transforms.choices import PerChoice

# --- keys


# By the switch default_prng_impl, which says what words mean.
_ONE_KEY = {
    impl: (*(ArrayType((), d) for d in KEY), ArrayType((dtype.words,), dtypes.uint32))
    for impl, dtype in KEY_DTYPES.items()
}


def default_key_dtype() -> Any:
    """The dtype of keys that are made without saying which, and of keys given as words."""
    return KEY_DTYPES[state.default_prng_impl]


def check_key(op: str, key: Any, *, several: bool = False) -> Any:
    """A key, typed or as its words (uint32[2]); with `several`, an array of keys too.

    Raises: ArgumentTypeError for what is no key; ShapeError for several keys where one is wanted.
    """
    if getattr(key, "type", None) in _ONE_KEY[state.default_prng_impl]:
        return key
    try:
        type_ = type_of(key)
    except PlaitError:
        raise _no_key(op, key) from None
    if type_.dtype in KEY:
        rank = type_.ndim
    elif type_.dtype == dtypes.uint32 and type_.shape[-1:] == (default_key_dtype().words,):
        rank = type_.ndim - 1
    else:
        raise _no_key(op, key)
    if rank and not several:
        raise ShapeError(
            "takes one key, not an array of keys",
            op=op,
            key=type_,
            fix="index it (keys[0]), or use vmap to do this for each of the keys",
        )
    return as_array(key) if isinstance(key, np.ndarray) and is_base() else key


def _no_key(op: str, key: Any) -> ArgumentTypeError:
    fix = "make a key with random.key(seed)"
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return ArgumentTypeError("a seed is not yet a key", op=op, key=key, fix=fix)
    return ArgumentTypeError("the first argument must be a random key", op=op, key=key, fix=fix)


def is_typed(key: Any) -> bool:
    """Whether a key has a key dtype, and is not an array of words."""
    return key.dtype in KEY


def typed(key: Any) -> Any:
    """A key with a key dtype."""
    return key if is_typed(key) else random_wrap_p.bind(key, dtype=default_key_dtype())


def split_key(key: Any, num: int = 2) -> tuple[Any, ...]:
    """New keys from a typed key, inside a sampler."""
    return rows(split_into(key, (num,)))


# --- compiled samplers


def sampler(function: Callable[..., Any]) -> PerChoice:
    """A function (typed key, *arrays, **choices) as one that takes both kinds of keys and is
    compiled as one program for each set of choices.
    """

    @functools.wraps(function)
    def draw(key: Any, *xs: Any, **choices: Any) -> Any:
        return function(typed(key), *xs, **choices)

    return PerChoice(draw)


# --- shapes


def known_shape(op: str, shape: Any) -> tuple[int, ...]:
    """The shape an argument `shape=` means. Raises ArgumentTypeError, ShapeError."""
    if type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape):
        return shape
    return shape_of(shape, op)


def result_shape(op: str, shape: Any, **parameters: Any) -> tuple[int, ...]:
    """The shape a sampler's result gets: `shape`, to which the parameters must broadcast, or with
    None the shape that the parameters broadcast to.

    Raises: ShapeError.
    """
    shapes: dict[str, Any] = {name: shape_given(op, name, x) for name, x in parameters.items()}
    return fitting_shape(op, shape, **shapes)


def fitting_shape(op: str, shape: Any, **shapes: Any) -> tuple[int, ...]:
    """The same from the parameters' shapes."""
    if shape is None:
        try:
            return broadcast_shapes(*shapes.values())
        except ShapeError:
            raise ShapeError("the parameters' shapes do not broadcast", op=op, **shapes) from None
    wanted = known_shape(op, shape)
    try:
        found = broadcast_shapes(wanted, *shapes.values())
    except ShapeError:
        found = None
    if found != wanted:
        raise ShapeError(
            "the parameters do not broadcast to the shape",
            op=op,
            shape=wanted,
            **shapes,
            fix="give a shape that ends with the parameters' shapes, or none",
        )
    return wanted


def shape_given(op: str, name: str, x: Any) -> tuple[int, ...]:
    """The shape of a parameter. Raises ArgumentTypeError, naming it, if it is not an array."""
    try:
        return type_of(operand(op, x)).shape
    except ArgumentTypeError:
        kind = "None" if x is None else an(type(x).__name__)
        fix = f"jnp.asarray({name})" if isinstance(x, list | tuple) else None
        summary = f"{name} must be an array or a number, not {kind}"
        raise ArgumentTypeError(summary, op=op, fix=fix) from None


# --- dtypes


def float_dtype(op: str, dtype: Any) -> Any:
    """The float dtype an argument `dtype=` means, by default float32 (float64 with enable_x64)."""
    if dtype is None:
        return dtypes.default_float()
    found = to_dtype(dtype)
    if found not in FLOAT:
        raise ArgumentError(
            f"dtype must be a float dtype, not {found.name}", op=op, fix="dtype=float32"
        )
    return found


def int_dtype(op: str, dtype: Any) -> Any:
    """The integer dtype an argument `dtype=` means, by default int32 (int64 with enable_x64)."""
    if dtype is None:
        return dtypes.default_int()
    found = to_dtype(dtype)
    if found not in INTEGER:
        raise DtypeError(
            f"dtype must be an integer dtype, not {found.name}", op=op, fix="dtype=int32"
        )
    return found


def check_castable(op: str, dtype: Any, **parameters: Any) -> None:
    """Raise DtypeError for a parameter that loses its kind or width in the result's dtype."""
    for name, x in parameters.items():
        have: Any = type_of(x)
        if have.dtype in dtypes.COMPLEX or (
            not have.weak_type and dtypes.promote((have.dtype, False), (dtype, False))[0] != dtype
        ):
            raise DtypeError(
                f"{name} does not fit the result's dtype {dtype.name}",
                op=op,
                **{name: have},
                fix=f"convert it with astype({dtype.name!r}), or give another dtype",
            )


def parameter(op: str, name: str, x: Any) -> ArrayType:
    """The type of a parameter. Raises ArgumentTypeError, naming it, if it is not an array."""
    shape_given(op, name, x)
    return type_of(x)


__all__ = [
    "check_castable",
    "check_key",
    "default_key_dtype",
    "fitting_shape",
    "float_dtype",
    "int_dtype",
    "is_typed",
    "known_shape",
    "parameter",
    "result_shape",
    "sampler",
    "split_key",
    "typed",
]
