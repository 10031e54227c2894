"""XLA's own generators of random bits: rng_bit_generator, and the one without keys, rng_uniform.

plait.random does not need them, but for keys of the kinds rbg and unsafe_rbg.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.context import bound_axis_names
from plait.core.dtypes import uint32, uint64
from plait.core.primitive import Primitive, register
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, ScalarError, ShapeError, UnsupportedError
from plait.hlo.builder import Value
from plait.ops.axes import check_shape, expand_dims, move_axis
from plait.ops.bits import hash_arrays, keys_from
from plait.ops.slices import concatenate, index_in_dim, slice_in_dim
from plait.ops.structure import stack


class RandomAlgorithm(enum.IntEnum):
    """The generators of `lax.rng_bit_generator`. The default is Philox on CPU and GPU.

    >>> lax.RandomAlgorithm.RNG_PHILOX.name
    'RNG_PHILOX'
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


_IN_HLO = {
    RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    RandomAlgorithm.RNG_PHILOX: "PHILOX",
}
_BITS = frozenset(np.dtype(f"uint{n}") for n in (8, 16, 32, 64))

# --- the generators as formulas. The state is two 64-bit numbers, a key and where to count on from.

# Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, and
# its companion library Random123: Philox-4x32 with 10 rounds.
_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


def _philox(key: int, start: int, count: int) -> np.ndarray:
    """uint32[count, 4]: the blocks of the counters from start on."""
    steps = np.arange(count, dtype=uint64) + np.uint64(start)
    # The upper half of the counter is the key again, and one more after the lower half's wrap.
    upper = np.uint64(key) + (steps < np.uint64(start)).astype(uint64)
    c0, c1, c2, c3 = steps & _LOW, steps >> _HALF, upper & _LOW, upper >> _HALF
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c0 * _FACTORS[0], c2 * _FACTORS[1]
        c0, c1, c2, c3 = (
            (p1 >> _HALF) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _HALF) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _STEPS[0]) & 0xFFFFFFFF, (k1 + _STEPS[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], -1).astype(uint32)


def _philox_draw(key: int, start: int, shape: tuple[int, ...], wide: bool) -> tuple[Any, int]:
    size = math.prod(shape)
    blocks = -(-size // (2 if wide else 4))
    words = _philox(key, start, blocks).reshape(-1)
    if wide:
        words = keys_from(words[0::2], words[1::2])
    return words[:size].reshape(shape), blocks


def _threefry_draw(key: int, start: int, shape: tuple[int, ...], wide: bool) -> tuple[Any, int]:
    if wide or not shape:
        size = math.prod(shape)
        y0, y1 = _threefry(key, start, size)
        return (keys_from(y0, y1) if wide else y0).reshape(shape), size
    # The two words of a counter are neighbours along the first even axis; if all are odd, along the
    # longest, in an array that has one more there.
    even = [k for k, n in enumerate(shape) if n % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    half = [-(-n // 2) if k == axis else n for k, n in enumerate(shape)]
    size = math.prod(half)
    pair = [y.reshape(half) for y in _threefry(key, start, size)]
    whole = [2 * n if k == axis else n for k, n in enumerate(half)]
    both = np.stack(pair, axis + 1).reshape(whole)
    return np.take(both, np.arange(shape[axis]), axis), size


def _threefry(key: int, start: int, size: int) -> tuple[np.ndarray, ...]:
    count = np.arange(size, dtype=uint64) + np.uint64(start)
    words = [np.asarray(w, uint32) for w in (key & 0xFFFFFFFF, key >> 32)]
    return hash_arrays(words, count.astype(uint32), (count >> _HALF).astype(uint32))


class RngBitGenerator(Primitive):
    """A key in XLA's form as a new key, and an array of random bits. StableHLO: rng_bit_generator.

    Parameters: shape, dtype, algorithm; lanes, the number of first axes along which the operand
    has keys of their own: the axes of maps over devices.
    """

    name = "rng_bit_generator"
    multiple_results = True
    differentiable = False

    def type(self, key, *, shape, dtype, algorithm, lanes):
        if dtype not in _BITS:
            raise DtypeError("dtype is uint8, uint16, uint32 or uint64", dtype=dtype.name)
        if (key.shape[lanes:], key.dtype) not in (((4,), uint32), ((2,), uint64)):
            fix = "jnp.array([0, 1, 2, 3], jnp.uint32)"
            raise ShapeError("a key is uint32[4] or uint64[2]", key=key, fix=fix)
        return key.strong(), ArrayType((*key.shape[:lanes], *shape), dtype)

    def numpy(self, key, *, shape, dtype, algorithm, lanes):
        rows = np.ascontiguousarray(key).view(uint64).reshape(-1, 2)
        draw = _threefry_draw if algorithm == RandomAlgorithm.RNG_THREE_FRY else _philox_draw
        after, bits = np.array(rows), []
        for k, (word, start) in enumerate(rows.tolist()):
            drawn, used = draw(word, start, shape, dtype == uint64)
            after[k, 1] = (start + used) % 2**64
            bits.append(drawn)
        whole = (*key.shape[:lanes], *shape)
        return after.view(key.dtype).reshape(key.shape), np.array(bits, dtype).reshape(whole)

    def batch(self, frame, xs, mapped, *, shape, dtype, algorithm, lanes):
        """Rows of a vmap share one draw, from the first row's key, as in JAX; each lane of a map
        over devices draws from its own.
        """
        (keys,) = xs
        rest = {"dtype": dtype, "algorithm": algorithm}
        if frame.devices is not None:
            return self.bind(keys, shape=shape, lanes=lanes + 1, **rest), (True, True)
        first = index_in_dim(keys, 0, keepdims=False)
        after, bits = self.bind(first, shape=(frame.size, *shape), lanes=lanes, **rest)
        others = slice_in_dim(keys, 1, frame.size)
        after = concatenate([expand_dims(after, (0,)), others], 0)
        return (after, move_axis(bits, lanes, 0)), (True, True)

    def lower(self, b, key, *, shape, dtype, algorithm, lanes):
        after_type, bits_type = b.result_types
        n = math.prod(key.shape[:lanes])
        keys = b.reshape(key, (n, key.shape[-1]))
        rows = []
        for k in range(n):
            row = b.slice(keys, (k, 0), (k + 1, key.shape[-1]))
            rows.append(_draw(b, b.reshape(row, key.shape[-1:]), shape, dtype, algorithm))
        if not lanes:
            return rows[0]
        if not rows:
            return key, b.full(bits_type.shape, 0, dtype)
        out = []
        for column, type_ in zip(zip(*rows, strict=True), (after_type, bits_type), strict=True):
            each = [b.reshape(y, (1, *y.shape)) for y in column]
            out.append(b.reshape(b.concatenate(each, 0), type_.shape))
        return tuple(out)

    def samples(self):
        key = np.array([1, 2, 2**32 - 1, 2**32 - 1], uint32)  # the counter wraps
        _, threefry, philox = RandomAlgorithm
        for operand, shape, dtype, algorithm, lanes in (
            (key, (), "uint8", philox, 0),
            (key, (2, 5), "uint32", RandomAlgorithm.RNG_DEFAULT, 0),
            (key.view(uint64), (5,), "uint64", philox, 0),
            (np.array([[[5, 7], [0, 2**40]]], uint64), (3,), "uint16", philox, 2),
            (key, (3, 4), "uint32", threefry, 0),
            (key, (3, 5), "uint32", threefry, 0),
            (key.view(uint64), (3, 1), "uint64", threefry, 0),
            (np.stack([key, key[::-1]]), (), "uint32", threefry, 1),
            (key, (2, 0), "uint32", philox, 0),
        ):
            params = {"dtype": np.dtype(dtype), "algorithm": algorithm, "lanes": lanes}
            yield (operand,), {"shape": shape, **params}


def _draw(
    b: Any, key: Value, shape: tuple[int, ...], dtype: np.dtype, algorithm: RandomAlgorithm
) -> tuple[Value, Value]:
    """(new key, bits) of one key. Narrow bits are the low ones of 32, as in JAX."""
    state = ArrayType((2,), uint64)
    drawn = ArrayType(shape, dtype if dtype == uint64 else uint32)
    if key.dtype == uint32:
        key = b.bitcast(b.reshape(key, (2, 2)), state)
        return _joined(b, *_draw(b, key, shape, dtype, algorithm))
    after, bits = b.emit(
        "stablehlo.rng_bit_generator",
        (key,),
        (state, drawn),
        f"rng_algorithm = #stablehlo<rng_algorithm {_IN_HLO[algorithm]}>",
    )
    return after, b.convert(bits, dtype)


def _joined(b: Any, after: Value, bits: Value) -> tuple[Value, Value]:
    return b.reshape(b.bitcast(after, ArrayType((2, 2), uint32)), (4,)), bits


rng_bit_generator_p = register(RngBitGenerator())


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
) -> tuple[Any, Any]:
    """(new key, random bits): XLA's generator, whose key is uint32[4] or uint64[2].

    `plait.random` is what most programs need. The bits depend on the algorithm, and the default
    algorithm on the platform. Under vmap they are those of one larger array from the first row's
    key, and only that key moves on, as in JAX; under pmap each row draws from its own.
    Derivative: none, the tangent is zero.
    Raises: ShapeError for other keys; DtypeError unless dtype is uint8, uint16, uint32 or uint64;
    ArgumentError for what is no algorithm.

    >>> key, bits = lax.rng_bit_generator(jnp.array([1, 2, 3, 4], jnp.uint32), (2,))
    >>> key, bits
    (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047], dtype=uint32))
    """
    op = "rng_bit_generator"
    try:
        algorithm = RandomAlgorithm(algorithm)
    except ValueError:
        fix = "lax.RandomAlgorithm.RNG_PHILOX"
        raise ArgumentError(
            "there is no such algorithm", op=op, algorithm=algorithm, fix=fix
        ) from None
    dtype = dtypes.canonical(dtypes.as_dtype(dtype))
    shape = check_shape(shape, op)
    return rng_bit_generator_p.bind(key, shape=shape, dtype=dtype, algorithm=algorithm, lanes=0)


_DRAWN = frozenset(map(np.dtype, (np.int32, np.int64, np.uint32, np.uint64))) | frozenset(
    (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
)


class RngUniform(Primitive):
    """Numbers from XLA's generator without a key, other ones at each use. StableHLO: rng.

    Parameters: axes, the named axes around it, along all of which the results differ.
    """

    name = "rng_uniform"
    per_lane = True
    repeatable = False

    def _refusal(self, summary: str, xs: Sequence[Any], fix: str) -> UnsupportedError:
        a, b = map(type_of, xs)
        return UnsupportedError(summary, op=self.name, a=a, b=b, fix=fix)

    def type(self, a, b, *, shape, axes):
        if a.shape or b.shape:
            raise ScalarError("the bounds are scalars", a=a, b=b)
        if a.dtype != b.dtype:
            raise DtypeError("the bounds have one dtype", a=a, b=b)
        if a.dtype not in _DRAWN:
            have = "numbers are int32, int64, uint32, uint64, or floats of 16 bits and more"
            raise DtypeError(have, a=a, b=b)
        return ArrayType(shape, a.dtype, a.weak_type and b.weak_type)

    def numpy(self, a, b, *, shape, axes):
        draw = np.random.default_rng()
        if a.dtype in dtypes.INTEGER:
            return np.asarray(draw.integers(a, b, shape, a.dtype))
        x = np.asarray(draw.uniform(float(a), float(b), shape)).astype(a.dtype)
        return np.where(x < b, x, a)

    def jvp(self, xs, ts, *, shape, axes):
        fix = "draw between 0 and 1, and scale: a + (b - a) * lax.rng_uniform(0.0, 1.0, shape)"
        raise self._refusal("has no derivative", xs, fix)

    def batch(self, frame, xs, mapped, *, shape, axes):
        n = frame.size
        if not any(mapped):
            return self.bind(*xs, shape=(n, *shape), axes=axes), True
        if frame.devices is None:
            summary = "cannot draw rows between bounds of their own"
            raise self._refusal(summary, xs, "draw between 0 and 1, and scale")
        rows = []
        for k in range(n):
            row = [
                index_in_dim(x, k, keepdims=False) if m else x
                for x, m in zip(xs, mapped, strict=True)
            ]
            rows.append(self.bind(*row, shape=shape, axes=axes))
        return stack(rows, 0), True

    def lower(self, b, low, high, *, shape, axes):
        (out,) = b.result_types
        sizes = b.constant(np.array(shape, np.int64))
        kind = "rng_distribution = #stablehlo<rng_distribution UNIFORM>"
        y = b.op("rng", (low, high, sizes), out, kind)
        if out.dtype in dtypes.INTEGER:
            return y
        low, high = (b.broadcast_scalar(bound, shape) for bound in (low, high))
        return b.select(b.compare("LT", y, high), y, low)  # rounding can have reached it

    def variance(self, varying, params, analyse):
        return frozenset(params["axes"]).union(*varying)


rng_uniform_p = register(RngUniform())


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Numbers x with a <= x < b from a generator of XLA's that has no key: others at each call.

    They cannot be reproduced, and nothing is promised of their quality: `plait.random.uniform` is
    what most programs need. Between a and b <= a the numbers mean nothing.
    Shapes: a and b scalars of one dtype, the result's. Under vmap all rows get the same numbers,
    under pmap each row its own; checkpoint, which computes again, gets others the second time.
    Derivative: none.
    Raises: ScalarError for bounds that are arrays; DtypeError if their dtypes differ, for narrow
    dtypes, booleans and complex numbers; UnsupportedError for a derivative in the bounds, and for
    bounds that vmap maps.

    >>> x = lax.rng_uniform(2.0, 3.0, (1000,))
    >>> bool((x >= 2).all()), bool((x < 3).all())
    (True, True)
    """
    axes = tuple(bound_axis_names())
    return rng_uniform_p.bind(a, b, shape=check_shape(shape, "rng_uniform"), axes=axes)


__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]
