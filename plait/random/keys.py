"""Keys: made from seeds, split, and told apart by folding in numbers; and their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.config import override, state
from plait.core import dtypes
from plait.core.dtypes import INTEGER, KEY, KEY_DTYPE, KEY_DTYPES, REAL, UINT, KeyDType
from plait.core.types import ArrayType, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    IntegerOverflowError,
    PlaitError,
    ShapeError,
    an,
)
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import staging, to_dtype
from plait.ops.arithmetic import convert_element_type
from plait.ops.bits import (
    random_unwrap_p,
    random_wrap_p,
)
from plait.random.arguments import check_key, default_key_dtype, is_typed, known_shape, sampler
from plait.random.generators import folded_in, random_bits, seeded, split_into
from plait.runtime.array import from_host

# --- from seeds


def _generator(op: str, impl: Any = None, dtype: Any = None) -> Any:
    """The dtype of the keys that `impl` or `dtype` means."""
    if impl is not None and dtype is not None:
        raise ArgumentError("impl and dtype say the same: give one of them", op=op)
    spec = impl if dtype is None else dtype
    if spec is None:
        return default_key_dtype()
    for found in KEY_DTYPES.values():
        if spec == found or spec in (found.impl, found.name, found.name[4:-1]):
            return found
    names = ", ".join(map(repr, KEY_DTYPES))
    raise ArgumentError(f"there is no random number generator {spec!r}", op=op, fix=names)


def _check_seed(op: str, seed: Any) -> ArrayType:
    try:
        type_ = type_of(seed)
    except PlaitError:
        summary = f"a seed is an integer, not {an(type(seed).__name__)}"
        raise ArgumentTypeError(summary, op=op, seed=seed) from None
    if type_.dtype in KEY:
        raise ArgumentTypeError("this is a key already, not a seed", op=op, seed=type_)
    if type_.shape:
        raise ShapeError(
            "takes one seed, not an array of seeds",
            op=op,
            seed=type_,
            fix=f"vmap(random.{op})(seeds)",
        )
    if type_.dtype not in INTEGER and not isinstance(seed, bool):
        raise ArgumentTypeError(
            f"a seed is an integer, not {type_.dtype.name}",
            op=op,
            seed=seed if isinstance(seed, float | complex) else type_,
            fix="int(seed)",
        )
    return type_


def _known_words(op: str, seed: Any, dtype: Any) -> np.ndarray:
    """The words of a key from a seed that is a number."""
    number = int(seed)
    if not -(2**63) <= number < 2**64:
        raise IntegerOverflowError("a seed has at most 64 bits", op=op, seed=number)
    narrow = isinstance(seed, np.ndarray | np.generic) and seed.dtype.itemsize < 8
    # Without 64-bit integers a seed is its low 32 bits.
    number &= 2**32 - 1 if narrow or not state.enable_x64 else 2**64 - 1
    return np.array([number >> 32, number & 0xFFFFFFFF] * (dtype.words // 2), np.uint32)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A random key from an integer seed: a scalar array of dtype key<fry>.

    Only the low 32 bits of the seed count, unless enable_x64 is on. `impl` or `dtype` names the
    generator, by default what the switch default_prng_impl says:

    - "threefry2x32": the same bits everywhere, whatever is mapped, split over devices or compiled.
    - "rbg": bits from XLA's generator, which depend on the platform (those of CPU and GPU are
      equal), and under vmap are drawn for all rows from the first row's key; keys are split by
      threefry. Keys are four words, and need a platform with float64: no TPU.
    - "unsafe_rbg": keys are split by XLA's generator too; nobody has shown how good they are.

    The numbers of both are JAX's, but for those drawn by rejection (gamma, Poisson and binomial
    ones and their kin), which come from a threefry key made of the key.

    Raises: ArgumentTypeError for a seed that is not an integer; ShapeError for several seeds;
    IntegerOverflowError for a seed of more than 64 bits; ArgumentError for other generators.

    >>> plait.random.key_data(plait.random.key(7))
    Array([0, 7], dtype=uint32)
    >>> plait.random.key(7, impl="rbg").dtype
    key<rbg>
    """
    dtype = _generator("key", impl, dtype)
    _check_seed("key", seed)
    if not isinstance(seed, int | np.integer | np.ndarray):
        return seeded(seed, dtype)
    words = _known_words("key", seed, dtype)
    if staging():
        return _staged_key(words, dtype)
    return from_host(words.view(dtype.storage).reshape(()), ArrayType((), dtype))


def _staged_key(words: np.ndarray, dtype: Any) -> Any:
    # A literal of the program rather than one of its inputs.
    high, low = map(int, words[:2])
    return seeded(np.uint64(high << 32 | low) if high else np.uint32(low), dtype)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A random key from an integer seed, as its words: uint32[2]. See `key`.

    Words say nothing of their generator: the functions take them for keys of the one that the
    switch default_prng_impl names.

    >>> plait.random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    dtype = _generator("PRNGKey", impl)
    _check_seed("PRNGKey", seed)
    if not isinstance(seed, int | np.integer | np.ndarray):
        return random_unwrap_p.bind(seeded(seed, dtype))
    words = _known_words("PRNGKey", seed, dtype)
    if staging():
        return random_unwrap_p.bind(_staged_key(words, dtype))
    return from_host(words)


# --- to and from bits


def key_data(keys: Any) -> Any:
    """The words of keys: key<fry>[...] gives uint32[..., 2]. Raises ArgumentTypeError.

    >>> plait.random.key_data(plait.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    keys = check_key("key_data", keys, several=True)
    return random_unwrap_p.bind(keys) if is_typed(keys) else keys


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from their words: uint32[..., 2] gives key<fry>[...], and four words keys of the
    kinds rbg and unsafe_rbg; `impl` and `dtype` as for `key`.

    Raises: ArgumentTypeError for other operands.

    >>> plait.random.wrap_key_data(jnp.array([0, 7], jnp.uint32)) == plait.random.key(7)
    Array(True, dtype=bool)
    """
    dtype = _generator("wrap_key_data", impl, dtype)
    op = "wrap_key_data"
    with override(default_prng_impl=dtype.impl):
        try:
            words = check_key(op, key_bits_array, several=True)
        except ArgumentTypeError:
            summary = f"the words of {dtype.name} are uint32[..., {dtype.words}]"
            raise ArgumentTypeError(summary, op=op, words=key_bits_array) from None
    if is_typed(words):
        raise ArgumentTypeError("these are typed keys already", op=op, keys=words)
    return random_wrap_p.bind(words, dtype=dtype)


def key_impl(keys: Any) -> str:
    """The name of the generator of keys: "threefry2x32", "rbg" or "unsafe_rbg".

    >>> plait.random.key_impl(plait.random.key(7))
    'threefry2x32'
    """
    keys = check_key("key_impl", keys, several=True)
    return (keys.dtype if is_typed(keys) else default_key_dtype()).impl


def key_dtype(impl: Any = None) -> KeyDType:
    """The dtype of the typed keys of a generator.

    >>> plait.random.key_dtype(), plait.random.key_dtype("unsafe_rbg")
    (key<fry>, key<urbg>)
    """
    return _generator("key_dtype", impl)


def clone(key: Any) -> Any:
    """The key itself: for programs that mark keys they use twice on purpose.

    >>> key = plait.random.key(0)
    >>> plait.random.key_data(plait.random.clone(key)) == plait.random.key_data(key)
    Array([ True,  True], dtype=bool)
    """
    return check_key("clone", key, several=True)


# --- from keys


@sampler
def _split_words(key: Any, *, shape: Any) -> Any:
    return random_unwrap_p.bind(split_into(key, shape))


@sampler
def _split(key: Any, *, shape: Any) -> Any:
    return split_into(key, shape)


def split(key: Any, num: Any = 2) -> Any:
    """New keys from a key, which should not be used any more: `num` of them, or an array of keys of
    that shape.

    Raises: ArgumentTypeError for what is no key; ShapeError for several keys.

    >>> first, second = plait.random.split(plait.random.key(0))
    >>> plait.random.split(first, (2, 3)).shape
    (2, 3)
    """
    key = check_key("split", key)
    shape = known_shape("split", num)
    if not is_typed(key):
        return _split_words(key, shape=shape)
    # One op needs no program around it.
    return split_into(key, shape) if key.dtype == KEY_DTYPE else _split(key, shape=shape)


@sampler
def _fold_in_words(key: Any, data: Any) -> Any:
    return random_unwrap_p.bind(folded_in(key, data))


@sampler
def _fold_in(key: Any, data: Any) -> Any:
    return folded_in(key, data)


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer (a step, a device, an item), different for each integer.

    The integer counts modulo 2³². Raises: ArgumentTypeError for what is no key or no integer;
    ShapeError for several keys or integers; IntegerOverflowError for a Python int that uint32
    cannot hold.

    >>> key = plait.random.key(0)
    >>> step_key = plait.random.fold_in(key, 17)
    >>> plait.random.key_data(step_key)
    Array([2763999920,  494843597], dtype=uint32)
    """
    key = check_key("fold_in", key)
    data = _as_uint32(data)
    if not is_typed(key):
        return _fold_in_words(key, data)
    return folded_in(key, data) if key.dtype == KEY_DTYPE else _fold_in(key, data)


def _as_uint32(data: Any) -> Any:
    try:
        type_ = type_of(data)
    except PlaitError:
        summary = f"the data are an integer, not {an(type(data).__name__)}"
        raise ArgumentTypeError(summary, op="fold_in", data=data) from None
    if type_.shape:
        raise ShapeError(
            "folds in one integer, not an array of them",
            op="fold_in",
            data=type_,
            fix="vmap(random.fold_in, in_axes=(None, 0))(key, data)",
        )
    if type_.dtype not in REAL | dtypes.BOOL:
        raise ArgumentTypeError(
            f"the data are an integer, not {type_.dtype.name}", op="fold_in", fix="int(data)"
        )
    if isinstance(data, int):
        dtypes.check_fits(int(data), dtypes.uint32, op="fold_in", data=data)
        return np.uint32(data)
    if isinstance(data, np.ndarray | np.generic):
        if type_.dtype in INTEGER:
            return np.uint32(int(data) & 0xFFFFFFFF)
    return convert_element_type(data, dtypes.uint32)


@sampler
def _bits(key: Any, *, shape: Any, bit_width: int) -> Any:
    return random_bits(key, shape, bit_width)


@takes_out_sharding
def bits(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Random bits as unsigned integers, uint32 by default (uint64 with enable_x64).

    Raises: ArgumentTypeError for what is no key; ArgumentError for other dtypes.

    >>> plait.random.bits(plait.random.key(0), (2,), jnp.uint8)
    Array([167, 146], dtype=uint8)
    """
    key = check_key("bits", key)
    dtype = dtypes.default_uint() if dtype is None else to_dtype(dtype)
    if dtype not in UINT or dtypes.iinfo(dtype).bits < 8:
        summary = f"dtype must be an unsigned integer dtype, not {dtype.name}"
        raise ArgumentError(summary, op="bits", fix="dtype=uint32")
    return _bits(key, shape=known_shape("bits", shape), bit_width=8 * dtype.itemsize)


__all__ = [
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "split",
    "wrap_key_data",
]
