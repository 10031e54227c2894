"""Counter-based random bits: the threefry2x32 hash, keys, and the ops that consume them.

A key is two uint32 words. A typed key (dtype key<fry>) holds both in one uint64 on the device, word
0 in the low half, so that ops that only move data treat key arrays like any array. Every op here
takes an array of keys, of any shape, and does the same for each of them. Keys of the kinds rbg and
unsafe_rbg are four words; random/generators.py makes their bits of lax.rng_bit_generator.

Bits are a function of the key and of the position in the result alone (what JAX calls partitionable
threefry): no order of evaluation, no device and no vmap changes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core.dtypes import INTEGER, KEY, KEY_DTYPE, KEY_DTYPES, float64, uint32, uint64
from plait.core.primitive import Primitive, register
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.hlo.builder import Value
from plait.hlo.formula import Term
from plait.ops.axes import broadcast_in_dim

# --- the hash. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
# SC 2011, section 4.2, and its companion library Random123: Threefry-2x32 with 20 rounds.

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def _rotated(x: Any, by: int) -> Any:
    return (x << by) | (x >> (32 - by))


def _hash(k0: Any, k1: Any, x0: Any, x1: Any, spread: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The hash as a formula of Terms or of NumPy arrays. The words of the key may have fewer axes
    than the counters: they are combined as they are, and `spread` gives them the counters' shape.
    """
    words = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1 = x0 + spread(k0), x1 + spread(k1)
    for group in range(1, 6):
        for by in _ROTATIONS[(group - 1) % 2]:
            x0 = x0 + x1
            x1 = _rotated(x1, by) ^ x0
        x0 = x0 + spread(words[group % 3])
        x1 = x1 + spread(words[(group + 1) % 3] + group)
    return x0, x1


def _hash_values(
    b: Any, words: Sequence[Value], x0: Value, x1: Value, dims: Sequence[int]
) -> tuple[Value, Value]:
    """The hash on the builder; axis k of the words is axis dims[k] of the counters."""

    def spread(k: Term) -> Term:
        return Term(b, b.broadcast_in_dim(k.value, x1.shape, dims))

    y0, y1 = _hash(*(Term(b, v) for v in (*words, x0, x1)), spread=spread)
    return y0.value, y1.value


def hash_arrays(
    words: Sequence[np.ndarray], x0: np.ndarray, x1: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The hash on NumPy arrays whose shapes broadcast."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in (*words, x0, x1)))
    # One axis at least: NumPy warns when a scalar wraps around, not when an array does.
    given = [np.broadcast_to(v, shape or (1,)) for v in (*words, x0, x1)]
    return tuple(y.reshape(shape) for y in _hash(*given, spread=lambda k: k))


def _same_rows(frame: Any, xs: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Batched operands that had one shape, or were scalars, in one shape again (or scalars)."""
    shapes = [type_of(x).shape[m:] for x, m in zip(xs, mapped, strict=True)]
    whole = (frame.size, *max(shapes, key=len))
    out = []
    for x, m, shape in zip(xs, mapped, shapes, strict=True):
        if m and len(shape) + 1 < len(whole):
            x = broadcast_in_dim(x, whole, (0,))
        elif not m and shape:
            x = broadcast_in_dim(x, whole, tuple(range(1, len(whole))))
        out.append(x)
    return out


# --- keys and their words


def _words(b: Any, keys: Value) -> tuple[Value, Value]:
    """The two words of keys, on the builder."""
    bits = Value(keys.name, ArrayType(keys.shape, uint64))
    high = b.binary("shift_right_logical", bits, b.full_like(bits, 32))
    return b.convert(bits, uint32), b.convert(high, uint32)


def _joined(b: Any, low: Value, high: Value) -> Value:
    """Keys from their two words, on the builder."""
    high = b.convert(high, uint64)
    high = b.binary("shift_left", high, b.full_like(high, 32))
    bits = b.binary("or", b.convert(low, uint64), high)
    return Value(bits.name, ArrayType(bits.shape, KEY_DTYPE))


def words_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two words of keys that NumPy holds as uint64."""
    return keys.astype(uint32), (keys >> np.uint64(32)).astype(uint32)


def keys_from(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Keys, as NumPy holds them, from their two words."""
    return np.asarray(low.astype(uint64) | (high.astype(uint64) << np.uint64(32)))


def seed_words(seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The words of the key that an integer seeds: its upper and its lower 32 bits."""
    low = seeds.astype(uint32)
    if seeds.dtype.itemsize < 8:
        return np.zeros_like(low), low
    return (seeds.astype(uint64) >> np.uint64(32)).astype(uint32), low


def _check_keys(keys: ArrayType, kinds: frozenset = frozenset({KEY_DTYPE})) -> None:
    if keys.dtype not in kinds:
        raise DtypeError("takes typed random keys", keys=keys, fix="random.wrap_key_data(bits)")


class _OnKeys(Primitive):
    """An op that does the same to each element of its operand; new axes come last."""

    differentiable = False

    def batch(self, frame, xs, mapped, **params):
        return self.bind(*xs, **params), True


class RandomWrap(_OnKeys):
    """Typed keys from their words: uint32[..., 2] to key<fry>[...]. The same bits.

    Parameters: dtype, the kind of keys; those of the kind rbg have four words.
    """

    name = "random_wrap"

    def type(self, words, *, dtype):
        if words.dtype != uint32 or words.shape[-1:] != (dtype.words,):
            wanted = f"the words of {dtype.name} are uint32[..., {dtype.words}]"
            raise ShapeError(wanted, words=words)
        return ArrayType(words.shape[:-1], dtype)

    def numpy(self, words, *, dtype):
        return np.ascontiguousarray(words).view(dtype.storage)[..., 0]

    def lower(self, b, words, *, dtype):
        (out,) = b.result_types
        if dtype.words == 2:
            return Value(b.bitcast(words, ArrayType(out.shape, uint64)).name, out)
        words = b.reshape(words, (*out.shape, 2, 2))
        halves = b.bitcast(words, ArrayType((*out.shape, 2), float64))
        zeros = (0,) * out.ndim
        parts = [
            b.reshape(b.slice(halves, (*zeros, k), (*out.shape, k + 1)), out.shape) for k in (0, 1)
        ]
        return b.op("complex", parts, out)

    def samples(self):
        words = np.array([[1, 2], [3, 2**32 - 1], [0, 0]], uint32)
        yield (words,), {"dtype": KEY_DTYPE}
        yield (words[1],), {"dtype": KEY_DTYPE}
        nan = np.array([5, 0x7FF00001, 2**31, 0xFFF80000], uint32)  # as floats: NaN, tiny, -NaN
        yield (np.stack([nan, nan[::-1]]),), {"dtype": KEY_DTYPES["rbg"]}


class RandomUnwrap(_OnKeys):
    """The words of typed keys: key<fry>[...] to uint32[..., 2]. The same bits."""

    name = "random_unwrap"

    def type(self, keys):
        _check_keys(keys, KEY)
        return ArrayType((*keys.shape, keys.dtype.words), uint32)

    def numpy(self, keys):
        return np.ascontiguousarray(keys)[..., None].view(uint32)

    def lower(self, b, keys):
        (out,) = b.result_types
        if keys.dtype.words == 2:
            return b.bitcast(Value(keys.name, ArrayType(keys.shape, uint64)), out)
        half = ArrayType((*keys.shape, 2), uint32)
        halves = [b.bitcast(x, half) for x in key_halves(b, keys)]
        return b.concatenate(halves, keys.ndim)


def key_halves(b: Any, keys: Value) -> list[Value]:
    """The two floats of 64 bits that hold a key of four words, on the builder."""
    return [b.unary(part, keys, float64) for part in ("real", "imag")]


class RandomSeed(_OnKeys):
    """A typed key from each integer: word 0 is its upper, word 1 its lower 32 bits."""

    name = "random_seed"

    def type(self, seeds):
        if seeds.dtype not in INTEGER:
            raise DtypeError("seeds are integers", seeds=seeds)
        return ArrayType(seeds.shape, KEY_DTYPE)

    def numpy(self, seeds):
        return keys_from(*seed_words(seeds))

    def lower(self, b, seeds):
        low = b.convert(seeds, uint32)
        if seeds.dtype.itemsize < 8:
            return _joined(b, b.full_like(low, 0), low)
        wide = b.convert(seeds, uint64)
        high = b.binary("shift_right_logical", wide, b.full_like(wide, 32))
        return _joined(b, b.convert(high, uint32), low)

    def samples(self):
        yield (np.array([0, -1, 2**31 - 1, 42], np.int32),), {}
        yield (np.array(-(2**62) - 5, np.int64),), {}
        yield (np.array([[3, 2**64 - 1]], uint64),), {}
        yield (np.array([-1, 5], np.int8),), {}


class RandomFoldIn(Primitive):
    """A new key from a key and a uint32: the hash of the latter, its words used as a key."""

    name = "random_fold_in"
    differentiable = False

    def type(self, keys, data):
        _check_keys(keys)
        if data.dtype != uint32:
            raise DtypeError("the data to fold in are uint32", keys=keys, data=data)
        if keys.shape != data.shape and keys.shape and data.shape:
            raise ShapeError("the shapes differ", keys=keys, data=data)
        return ArrayType(keys.shape or data.shape, KEY_DTYPE)

    def numpy(self, keys, data):
        return keys_from(*hash_arrays(words_of(keys), np.zeros_like(data), data))

    def batch(self, frame, xs, mapped):
        return self.bind(*_same_rows(frame, xs, mapped)), True

    def lower(self, b, keys, data):
        data = b.broadcast_scalar(data, b.result_types[0].shape)
        hashed = _hash_values(b, _words(b, keys), b.full_like(data, 0), data, range(keys.ndim))
        return _joined(b, *_computed(b, *hashed))


def _computed(b: Any, *xs: Value) -> Sequence[Value]:
    """Values computed at this point, and not anew in everything that uses them.

    That would cost time, and the hash of a hash of a hash in one loop costs XLA's compiler minutes.
    """
    return b.optimization_barrier(xs)


def _counters(b: Any, rows: tuple[int, ...], size: int) -> tuple[Value, Value]:
    """The two words of 0, 1, ..., size - 1 along a last axis, the same for each row."""
    shape = (*rows, size)
    if size <= 2**32:
        return b.full(shape, 0, uint32), b.iota(shape, uint32, len(rows))
    count = b.iota(shape, uint64, len(rows))
    high = b.binary("shift_right_logical", count, b.full_like(count, 32))
    return b.convert(high, uint32), b.convert(count, uint32)


class _Drawing(_OnKeys):
    """From each key an array of new values; the parameter shape is that of one key's array."""

    def draw(self, b: Any, keys: Value, shape: tuple[int, ...]) -> tuple[Value, Value]:
        """Two words of random bits for each key and position. All positions lie in one axis: that
        makes one loop, which XLA vectorises and runs on all cores, whatever the shape.
        """
        if shape:
            x0, x1 = _counters(b, keys.shape, math.prod(shape))
        else:
            x0 = x1 = b.full(keys.shape, 0, uint32)
        return _hash_values(b, _words(b, keys), x0, x1, range(keys.ndim))

    def draw_numpy(self, keys: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        count = np.arange(math.prod(shape), dtype=uint64)
        words = [w[..., None] for w in words_of(keys)]
        pair = hash_arrays(words, (count >> np.uint64(32)).astype(uint32), count.astype(uint32))
        return tuple(y.reshape(*keys.shape, *shape) for y in pair)


class RandomSplit(_Drawing):
    """New keys from a key: the hashes of 0, 1, 2, ..."""

    name = "random_split"

    def type(self, keys, *, shape):
        _check_keys(keys)
        return ArrayType((*keys.shape, *shape), KEY_DTYPE)

    def numpy(self, keys, *, shape):
        return keys_from(*self.draw_numpy(np.asarray(keys), shape))

    def lower(self, b, keys, *, shape):
        (out,) = b.result_types
        return b.reshape(_joined(b, *_computed(b, *self.draw(b, keys, shape))), out.shape)


class RandomBits(_Drawing):
    """Unsigned integers of 8, 16, 32 or 64 random bits, each from the hash of its position."""

    name = "random_bits"

    def type(self, keys, *, shape, bit_width):
        _check_keys(keys)
        if bit_width not in (8, 16, 32, 64):
            raise ArgumentError("bit_width is 8, 16, 32 or 64", bit_width=bit_width)
        return ArrayType((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))

    def numpy(self, keys, *, shape, bit_width):
        y0, y1 = self.draw_numpy(np.asarray(keys), shape)
        return keys_from(y1, y0) if bit_width == 64 else (y0 ^ y1).astype(f"uint{bit_width}")

    def lower(self, b, keys, *, shape, bit_width):
        (out,) = b.result_types
        y0, y1 = _computed(b, *self.draw(b, keys, shape))
        if bit_width == 64:
            bits = Value(_joined(b, y1, y0).name, ArrayType(y0.shape, uint64))
        else:
            bits = b.convert(b.binary("xor", y0, y1), out.dtype)
        return b.reshape(bits, out.shape)


random_wrap_p = register(RandomWrap())
random_unwrap_p = register(RandomUnwrap())
random_seed_p = register(RandomSeed())
random_fold_in_p = register(RandomFoldIn())
random_split_p = register(RandomSplit())
random_bits_p = register(RandomBits())
