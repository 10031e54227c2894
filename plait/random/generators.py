"""What the kinds of keys differ in: how a key is made of a seed, split, and turned into bits.

Everything else in plait.random takes any typed key. threefry2x32 has ops of its own (ops/bits.py).
Keys of the kinds rbg and unsafe_rbg are the keys of XLA's generator (ops/generator.py), which is
faster for many bits and gives other bits on other platforms. rbg splits and folds in by threefry,
each half of a key for itself; unsafe_rbg by the generator too, of which it skips ten draws in
between. Under vmap the generator draws all rows from the first row's key, as in JAX.

Source of what is drawn: JAX's documentation of jax.random, and its results.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core.dtypes import KEY_DTYPE
from plait.core.types import type_of
from plait.ops.axes import reshape
from plait.ops.bits import (
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)
from plait.ops.compare import bitwise_xor
from plait.ops.generator import rng_bit_generator
from plait.ops.slices import concatenate, index_in_dim, slice_in_dim
from plait.ops.structure import unstack

_SKIP = 10


def seeded(seed: Any, dtype: Any) -> Any:
    """A typed key from an integer."""
    key = random_seed_p.bind(seed)
    return key if dtype == KEY_DTYPE else _wide(key, key, dtype)


def split_into(key: Any, shape: tuple[int, ...]) -> Any:
    """An array of new keys from one key."""
    dtype: Any = type_of(key).dtype
    if dtype == KEY_DTYPE:
        return random_split_p.bind(key, shape=shape)
    if dtype.impl == "rbg":
        low, high = (random_split_p.bind(half, shape=shape) for half in _halves(key))
        return _wide(low, high, dtype)
    size = math.prod(shape)
    drawn = slice_in_dim(_drawn(key, _SKIP * size), 0, None, _SKIP)
    return random_wrap_p.bind(reshape(drawn, (*shape, 4)), dtype=dtype)


def folded_in(key: Any, data: Any) -> Any:
    """A new key from one key and a uint32."""
    dtype: Any = type_of(key).dtype
    if dtype == KEY_DTYPE:
        return random_fold_in_p.bind(key, data)
    if dtype.impl == "rbg":
        low, high = (random_fold_in_p.bind(half, data) for half in _halves(key))
        return _wide(low, high, dtype)
    mask = index_in_dim(_drawn(seeded(data, dtype), _SKIP), _SKIP - 1, keepdims=False)
    return random_wrap_p.bind(bitwise_xor(random_unwrap_p.bind(key), mask), dtype=dtype)


def as_threefry(key: Any) -> Any:
    """A threefry key made of one key, for draws that are rejected and drawn anew in a loop.

    Under vmap the rows of other keys share a draw, from a key that stands still once the first row
    is done: rows that go on would draw the same numbers again, and be rejected, for ever.
    """
    if type_of(key).dtype == KEY_DTYPE:
        return key
    low, _ = _halves(key)
    for word in unstack(random_unwrap_p.bind(key))[2:]:
        low = random_fold_in_p.bind(low, word)
    return low


def random_bits(key: Any, shape: tuple[int, ...], bit_width: int) -> Any:
    """Unsigned integers of 8, 16, 32 or 64 random bits, from one key."""
    if type_of(key).dtype == KEY_DTYPE:
        return random_bits_p.bind(key, shape=shape, bit_width=bit_width)
    dtype = np.dtype(f"uint{bit_width}")
    return rng_bit_generator(random_unwrap_p.bind(key), shape, dtype)[1]


def _drawn(key: Any, count: int) -> Any:
    """uint32[count, 4] from XLA's generator."""
    return rng_bit_generator(random_unwrap_p.bind(key), (count, 4), np.uint32)[1]


def _halves(key: Any) -> tuple[Any, Any]:
    words = random_unwrap_p.bind(key)
    low, high = (random_wrap_p.bind(slice_in_dim(words, k, k + 2), dtype=KEY_DTYPE) for k in (0, 2))
    return low, high


def _wide(low: Any, high: Any, dtype: Any) -> Any:
    """The keys of four words that are made of two threefry keys each."""
    words = [random_unwrap_p.bind(half) for half in (low, high)]
    return random_wrap_p.bind(concatenate(words, type_of(low).ndim), dtype=dtype)


__all__ = ["as_threefry", "folded_in", "random_bits", "seeded", "split_into"]
