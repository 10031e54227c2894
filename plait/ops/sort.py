"""Sort with several operands, and top_k.

XLA's sort with a comparator of several steps takes a second for four million numbers on a CPU; with
a comparator that is one `<` of integers, which XLA:CPU recognises, a fifth of that; NumPy's sort of
integers 20 ms. So on CPU keys are turned into unsigned integers whose order is the wanted one, and
packed together with the positions: the sorted positions then fetch all operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, FLOAT, INEXACT, INT, KEY, REAL, UINT
from plait.core.plain import static_int
from plait.core.primitive import Primitive, register, zeros_of
from plait.core.sample import booleans, complex_, integers, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.ops.arithmetic import neg
from plait.ops.axes import expand_dims, move_axis, normalise_axis
from plait.ops.gather import PROMISE, along_axis, gather_p, lower_gather
from plait.ops.slices import add_rows

# From how many elements on NumPy sorts. It is faster from 256 on, but a call must wait for Python's
# lock, for up to 5 ms while another thread computes.
_FOR_NUMPY = 1 << 16
_BITS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


# --- order-preserving bits, on the builder


def _ordered_bits(b: Any, x: Any, total: bool = False, descending: bool = False) -> list[Any]:
    """Unsigned integers, most significant first, whose order is that of a key operand.

    Floats: NaN last and all alike, zeros alike whatever their sign. With `total` the order is by
    sign, then size, of zeros and NaN too. Everything is done on bits: XLA's CPU code counts
    subnormal floats as zeros in comparisons.
    """
    if x.dtype in COMPLEX:
        part = dtypes.real_of(x.dtype)
        return [
            bits
            for name in ("real", "imag")
            for bits in _ordered_bits(b, b.unary(name, x, part), total, descending)
        ]
    if x.dtype in BOOL or (x.dtype in UINT and x.dtype.itemsize == 1):
        bits = b.convert(x, dtypes.uint8)
    elif x.dtype in INT and x.dtype.itemsize == 1:
        bits = _flip_sign(b, b.convert(x, np.dtype(np.int8)))
    elif x.dtype in INT:
        bits = _flip_sign(b, x)
    elif x.dtype in UINT:
        bits = x
    else:
        bits = _float_bits(b, x, total)
    return [b.unary("not", bits) if descending else bits]


def _flip_sign(b: Any, x: Any) -> Any:
    unsigned = _BITS[x.dtype.itemsize]
    bits = b.bitcast(x, ArrayType(x.shape, unsigned))
    return b.binary("xor", bits, b.full_like(bits, 1 << (8 * unsigned.itemsize - 1)))


def _float_bits(b: Any, x: Any, total: bool) -> Any:
    if x.dtype.itemsize == 1:
        x = b.convert(x, dtypes.float32)
    unsigned = _BITS[x.dtype.itemsize]
    sign = 1 << (8 * unsigned.itemsize - 1)
    bits = b.bitcast(x, ArrayType(x.shape, unsigned))
    sign_bit = b.full_like(bits, sign)
    if not total:
        size = b.binary("and", bits, b.full_like(bits, sign - 1))
        infinity = int(np.asarray(np.inf, x.dtype).view(unsigned))
        zero, nan = b.full_like(bits, 0), b.full_like(bits, sign - 1)
        bits = b.select(b.compare("EQ", size, zero), zero, bits)
        bits = b.select(b.compare("GT", size, b.full_like(bits, infinity)), nan, bits)
    negative = b.compare("GE", bits, sign_bit)
    return b.select(negative, b.unary("not", bits), b.binary("xor", bits, sign_bit))


def _from_bits(b: Any, bits: Any, dtype: Any) -> Any:
    """The inverse of _ordered_bits for everything but complex numbers and narrow floats."""
    if dtype in FLOAT:
        sign_bit = b.full_like(bits, 1 << (8 * bits.dtype.itemsize - 1))
        positive = b.compare("GE", bits, sign_bit)
        bits = b.select(positive, b.binary("xor", bits, sign_bit), b.unary("not", bits))
        return b.bitcast(bits, ArrayType(bits.shape, dtype))
    if dtype in INT:
        wide = np.dtype(f"int{8 * bits.dtype.itemsize}")
        sign_bit = b.full_like(bits, 1 << (8 * bits.dtype.itemsize - 1))
        bits = b.bitcast(b.binary("xor", bits, sign_bit), ArrayType(bits.shape, wide))
    return b.convert(bits, dtype)


def _plain_sort(b: Any, x: Any) -> Any:
    """Integers sorted along the last axis; many of them by NumPy, ten times as fast as by XLA."""
    if x.type.size < _FOR_NUMPY or b.mesh:
        (y,) = b.sort([x], x.ndim - 1, lambda p, q: b.compare("LT", p, q))
        return y
    b.callbacks.append((_numpy_sort, [(x.shape, x.dtype)]))
    layout = [tuple(reversed(range(x.ndim)))]
    (y,) = b.custom_call(
        "xla_ffi_python_cpu_callback",
        (x,),
        (x.type,),
        backend_config=f"index = {len(b.callbacks) - 1} : ui64",
        operand_layouts=layout,
        result_layouts=layout,
    )
    return y


def _numpy_sort(x: np.ndarray) -> tuple[np.ndarray]:
    # NumPy's default is a vectorised quicksort, except for bytes; its stable one is by radix there.
    return (np.sort(x, axis=-1, kind="stable" if x.dtype.itemsize <= 2 else None),)


def _take_last(b: Any, x: Any, where: Any) -> Any:
    """x at positions along its last axis, other ones in every row."""
    axis = x.ndim - 1
    indices = b.reshape(where, (*where.shape, 1))
    sizes = (1,) * x.ndim
    return lower_gather(b, x, indices, along_axis(x.ndim, axis), sizes, where.shape)


def _chunks(b: Any, fields: Sequence[tuple[Any, int]], size: int) -> list[Any]:
    """The bits of all fields, first field most significant, cut into unsigned integers of `size`
    bits (as uint64), least significant first.
    """
    total = sum(width for _, width in fields)
    chunks = []
    for low in range(0, total, size):
        high, offset, chunk = min(low + size, total), total, None
        for field, width in fields:
            offset -= width
            if offset >= high or offset + width <= low:
                continue
            part = b.convert(field, dtypes.uint64)
            if offset < low:
                part = b.binary("shift_right_logical", part, b.full_like(part, low - offset))
            elif offset > low:
                part = b.binary("shift_left", part, b.full_like(part, offset - low))
            if offset + width > high:
                part = b.binary("and", part, b.full_like(part, (1 << (high - low)) - 1))
            chunk = part if chunk is None else b.binary("or", chunk, part)
        chunks.append(chunk)
    return chunks


def _sorted_positions(b: Any, fields: Sequence[tuple[Any, int]]) -> tuple[Any, Any]:
    """Positions along the last axis (int32 or int64) in the order of the fields, stable; and, if
    one sort was enough, the sorted fields' bits as one unsigned integer.

    One sort orders by as many bits as fit beside a position in 64. Longer keys are sorted from
    their least significant bits on, each sort keeping the order of the one before among equals.
    """
    shape = fields[0][0].shape
    n, axis = shape[-1], len(shape) - 1
    index = dtypes.int32 if n < 2**31 else dtypes.int64
    index_bits = max(1, (n - 1).bit_length())
    total = sum(width for _, width in fields)
    word = dtypes.uint32 if total + index_bits <= 32 else dtypes.uint64
    places = b.iota(shape, word, axis)
    shift = b.full(shape, index_bits, word)
    mask = b.full(shape, (1 << index_bits) - 1, word)
    order, bits = None, None
    chunks = _chunks(b, fields, 64 - index_bits)
    for chunk in chunks:
        if order is not None:
            chunk = _take_last(b, chunk, order)
        packed = b.binary("shift_left", b.convert(chunk, word), shift)
        packed = _plain_sort(b, b.binary("or", packed, places))
        where = b.convert(b.binary("and", packed, mask), index)
        order = where if order is None else _take_last(b, order, where)
        if len(chunks) == 1:
            bits = b.binary("shift_right_logical", packed, shift)
    return order, bits


# --- sort


class Sort(Primitive):
    """Operands sorted along an axis by the first num_keys of them; with_index adds, as one more
    result, where each element came from (int32).
    """

    name = "sort"
    multiple_results = True

    def type(self, *xs, axis, num_keys, stable, with_index):
        first = xs[0]
        given = {f"operand {k}": x for k, x in enumerate(xs[:8])}
        if any(x.shape != first.shape for x in xs):
            raise ShapeError("the operands' shapes differ", **given)
        if not 0 <= axis < first.ndim:
            raise ShapeError("the operands have no such axis", dimension=axis, **given)
        if not 1 <= num_keys <= len(xs):
            raise ArgumentError(
                "num_keys is at least 1 and at most the number of operands",
                num_keys=num_keys,
                **given,
            )
        if any(x.dtype in KEY for x in xs[:num_keys]):
            raise DtypeError("random keys have no order", **given)
        index = ArrayType(first.shape, _index_dtype(first.shape[axis]))
        return (*xs, index) if with_index else xs

    def numpy(self, *xs, axis, num_keys, stable, with_index):
        columns = [c for x in xs[:num_keys] for c in _numpy_columns(x)]
        order = np.lexsort(columns[::-1], axis=axis)
        ys = tuple(np.take_along_axis(x, order, axis) for x in xs)
        return (*ys, order.astype(_index_dtype(order.shape[axis]))) if with_index else ys

    def jvp(self, xs, ts, *, axis, with_index, **params):
        *ys, order = self.bind(*xs, axis=axis, with_index=True, **params)
        shape = type_of(order).shape
        indices = expand_dims(order, (len(shape),))
        tangents = [None if t is None else _take_along(t, indices, axis) for t in ts]
        if with_index:
            return (*ys, order), (*tangents, None)
        return tuple(ys), tuple(tangents)

    def batch(self, frame, xs, mapped, *, axis, with_index, **params):
        xs = [add_rows(x, m, frame.size) for x, m in zip(xs, mapped, strict=True)]
        ys = self.bind(*xs, axis=axis + 1, with_index=with_index, **params)
        return ys, (True,) * len(ys)

    def lower(self, b, *xs, axis, num_keys, stable, with_index):
        shape = xs[0].shape
        index = _index_dtype(shape[axis])
        if 0 in shape or shape[axis] == 1:
            return (*xs, b.full(shape, 0, index)) if with_index else xs
        if b.platform != "cpu":
            operands = [*xs, b.iota(shape, index, axis)] if with_index else xs
            return b.sort(operands, axis, lambda *pairs: _before(b, pairs, num_keys), stable)
        # XLA:CPU sorts along the last axis two to three times as fast as along another.
        end = len(shape) - 1
        to_end = [*range(axis), *range(axis + 1, end + 1), axis]
        and_back = [*range(axis), end, *range(axis, end)]
        rows = list(xs) if axis == end else [b.transpose(x, to_end) for x in xs]
        ys = _sort_rows(b, rows, num_keys, with_index)
        return tuple(ys) if axis == end else tuple(b.transpose(y, and_back) for y in ys)

    def samples(self):
        plain = {"axis": 0, "num_keys": 1, "stable": True, "with_index": False}
        yield (real(7),), plain
        yield (real(3, 4), real(3, 4)[::-1].copy()), {**plain, "axis": 1}
        yield (real(4, 3),), {**plain, "stable": False, "with_index": True}
        ties = integers(9, low=0, high=3)
        yield (ties, integers(9, low=-2, high=2, dtype=np.int8), real(9)), {**plain, "num_keys": 2}
        yield (booleans(9), real(9)), {**plain, "num_keys": 2, "with_index": True}
        yield (complex_(6),), plain
        yield (integers(9, low=0, high=3, dtype=np.uint64), ties), {**plain, "num_keys": 2}
        yield (real(2, 0),), {**plain, "axis": 1}


def _index_dtype(n: int) -> np.dtype:
    return dtypes.int32 if n < 2**31 else dtypes.int64


def _numpy_columns(x: Any) -> list[np.ndarray]:
    """A key operand as arrays that NumPy orders as we do, most significant first."""
    if x.dtype in COMPLEX:
        return [x.real, x.imag]
    if x.dtype in FLOAT and x.dtype != dtypes.float64:
        return [x.astype(dtypes.float32)]
    return [x.astype(dtypes.int32)] if x.dtype.itemsize == 1 else [x]


def _take_along(x: Any, indices: Any, axis: int) -> Any:
    """x at positions along an axis; indices have one more axis, of size 1."""
    ndim, shape = type_of(x).ndim, type_of(indices).shape[:-1]
    if 0 in shape:
        return zeros_of(type_of(x).with_shape(shape))
    return gather_p.bind(
        x,
        indices,
        dims=along_axis(ndim, axis),
        sizes=(1,) * ndim,
        mode=PROMISE,
        fill_value=None,
        unique=True,
        increasing=False,
    )


def _sort_rows(b: Any, xs: Sequence[Any], num_keys: int, with_index: bool) -> list[Any]:
    """Sort along the last axis, on CPU."""
    (x, *others), keys = xs, xs[:num_keys]
    if not others and not with_index and x.dtype not in COMPLEX:
        if x.dtype in dtypes.INTEGER and x.dtype.itemsize > 1:
            return [_plain_sort(b, x)]
        wide = b.convert(x, dtypes.float32) if x.dtype in FLOAT and x.dtype.itemsize == 1 else x
        # Zeros of both signs are equal, but must keep their signs: only here -0.0 comes first.
        (bits,) = _ordered_bits(b, _one_nan(b, wide), total=True)
        return [b.convert(_from_bits(b, _plain_sort(b, bits), wide.dtype), x.dtype)]
    fields = [
        (bits, 1 if key.dtype in BOOL else 8 * bits.dtype.itemsize)
        for key in keys
        for bits in _ordered_bits(b, key)
    ]
    order, sorted_bits = _sorted_positions(b, fields)
    ys = []
    for k, y in enumerate(xs):
        if k == 0 and num_keys == 1 and sorted_bits is not None and y.dtype not in INEXACT:
            ys.append(_from_bits(b, b.convert(sorted_bits, fields[0][0].dtype), y.dtype))
        else:
            ys.append(_take_last(b, y, order))
    return [*ys, order] if with_index else ys


def _one_nan(b: Any, x: Any) -> Any:
    """x with one positive NaN in place of all."""
    if x.dtype not in FLOAT:
        return x
    return b.select(b.compare("NE", x, x), b.full_like(x, np.nan), x)


def _before(b: Any, pairs: Sequence[Any], num_keys: int) -> Any:
    """The comparator: lexicographic over the keys, floats with NaN last and zeros alike."""
    halves = []
    for k in range(num_keys):
        x, y = pairs[2 * k], pairs[2 * k + 1]
        if x.dtype in COMPLEX:
            part = dtypes.real_of(x.dtype)
            for name in ("real", "imag"):
                halves.append((b.unary(name, x, part), b.unary(name, y, part)))
        else:
            halves.append((x, y))
    result = None
    for x, y in reversed(halves):
        if x.dtype in FLOAT:
            x, y = (_comparable(b, v) for v in (x, y))
        less = b.compare("LT", x, y, total_order=True)
        if result is None:
            result = less
        else:
            tie = b.compare("EQ", x, y, total_order=True)
            result = b.binary("or", less, b.binary("and", tie, result))
    return result


def _comparable(b: Any, x: Any) -> Any:
    zero = b.full_like(x, 0)
    return _one_nan(b, b.select(b.compare("EQ", x, zero), zero, x))


sort_p = register(Sort())


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """An array, or several of one shape together, sorted along an axis in increasing order.

    Of a sequence of operands the first num_keys are compared, one after the other; all are moved
    alike, and a tuple comes back. NaN comes last, zeros are equal whatever their sign, complex
    numbers are ordered by their real, then by their imaginary parts, False comes before True.
    is_stable keeps the order of equal elements (on CPU it is kept in any case).
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> lax.sort(jnp.array([3.0, jnp.nan, 1.0]))
    Array([ 1.,  3., nan], dtype=float32)
    >>> lax.sort((jnp.array([1, 0, 1]), jnp.array([5, 7, 3])), num_keys=2)
    (Array([0, 1, 1], dtype=int32), Array([7, 3, 5], dtype=int32))
    """
    several = isinstance(operand, Sequence) and not isinstance(operand, str)
    xs = tuple(operand) if several else (operand,)
    if not xs:
        raise ArgumentError("needs at least one array", op="sort")
    axis = normalise_axis(dimension, type_of(xs[0]).ndim, "sort")
    num_keys = static_int(num_keys, "sort", "num_keys")
    ys = sort_p.bind(*xs, axis=axis, num_keys=num_keys, stable=bool(is_stable), with_index=False)
    return ys if several else ys[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """(keys, values) sorted by the keys along an axis.

    >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([0, 1, 2]))
    (Array([1, 2, 3], dtype=int32), Array([1, 2, 0], dtype=int32))
    """
    return sort((keys, values), dimension=dimension, is_stable=is_stable)


def argsort(operand: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """Positions (int32) that sort operand along an axis."""
    axis = normalise_axis(dimension, type_of(operand).ndim, "argsort")
    return sort_p.bind(operand, axis=axis, num_keys=1, stable=bool(is_stable), with_index=True)[1]


# --- top_k


class TopK(Primitive):
    """The k largest along the last axis, largest first, and their positions (int32).

    Equal elements come in the order of their positions. Floats are in total order: positive NaN
    above all, 0.0 above -0.0.
    """

    name = "top_k"
    multiple_results = True

    def type(self, x, *, k):
        if x.dtype not in REAL | BOOL:
            raise DtypeError("takes operands with an order: real numbers and bool", operand=x)
        if not x.ndim:
            raise ShapeError("needs at least one axis", operand=x)
        if not 0 <= k <= x.shape[-1]:
            raise ArgumentError(
                f"k is at least 0 and at most the size of the axis, {x.shape[-1]}", operand=x, k=k
            )
        shape = (*x.shape[:-1], k)
        return x.with_shape(shape), ArrayType(shape, dtypes.int32)

    def numpy(self, x, *, k):
        column = x
        if x.dtype in FLOAT:
            wide = x if x.dtype == dtypes.float64 else x.astype(dtypes.float32)
            bits = wide.view(np.dtype(f"int{8 * wide.dtype.itemsize}"))
            column = np.where(bits < 0, np.bitwise_xor(bits, np.iinfo(bits.dtype).max), bits)
        elif x.dtype.itemsize == 1:
            column = x.astype(dtypes.int32)
        order = np.argsort(~column, axis=-1, kind="stable")[..., :k]
        return np.take_along_axis(x, order, -1), order.astype(dtypes.int32)

    def jvp(self, xs, ts, *, k):
        y, order = self.bind(*xs, k=k)
        indices = expand_dims(order, (type_of(order).ndim,))
        return (y, order), (_take_along(ts[0], indices, type_of(order).ndim - 1), None)

    def batch(self, frame, xs, mapped, *, k):
        return self.bind(*xs, k=k), (True, True)

    def lower(self, b, x, *, k):
        value_type, index_type = b.result_types
        if 0 in value_type.shape:
            return b.full(value_type.shape, 0, x.dtype), b.full(index_type.shape, 0, dtypes.int32)
        value_type = ArrayType(value_type.shape, value_type.dtype)

        def top(x: Any) -> tuple[Any, Any]:
            types = (ArrayType(value_type.shape, x.dtype), index_type)
            return b.emit("chlo.top_k", (x,), types, f"k = {k} : i64")

        if b.platform != "cpu":
            return top(x)
        # XLA:CPU has a partial sort for float32, quick if k is small; float32 holds all values of
        # the dtypes of up to 16 bits.
        fits = x.dtype in BOOL or x.dtype.itemsize <= 2 or x.dtype == dtypes.float32
        if fits and 16 * k <= x.shape[-1]:
            values, order = top(b.convert(x, dtypes.float32))
            if x.dtype in BOOL:
                return b.compare("NE", values, b.full_like(values, 0)), order
            return b.convert(values, x.dtype), order
        bits = _ordered_bits(b, x, total=True, descending=True)
        fields = [(f, 8 * f.dtype.itemsize) for f in bits]
        order, _ = _sorted_positions(b, fields)
        first = b.slice(order, [0] * x.ndim, value_type.shape)
        return _take_last(b, x, first), b.convert(first, dtypes.int32)

    def samples(self):
        yield (real(7),), {"k": 3}
        yield (real(2, 50),), {"k": 2}
        yield (real(2, 3, 4),), {"k": 4}
        yield (integers(9, low=-3, high=3),), {"k": 5}
        yield (integers(40, dtype=np.int8),), {"k": 2}
        yield (booleans(7),), {"k": 5}
        yield (real(2, 5),), {"k": 0}
        yield (real(2, 0),), {"k": 0}


top_k_p = register(TopK())


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """[values, positions] of the k largest elements along an axis, largest first.

    Shapes: the axis has size k in both. Positions are int32; among equal elements the first ones
    come first; positive NaN is the largest. Derivative: that of picking these elements.
    Raises: ShapeError, DtypeError, ArgumentError if k is larger than the axis.

    >>> lax.top_k(jnp.array([1.0, 5.0, 3.0, 5.0]), 2)
    [Array([5., 5.], dtype=float32), Array([1, 3], dtype=int32)]
    """
    ndim = type_of(operand).ndim
    axis = normalise_axis(axis, ndim, "top_k")
    values, order = top_k_p.bind(move_axis(operand, axis, ndim - 1), k=static_int(k, "top_k", "k"))
    return [move_axis(values, ndim - 1, axis), move_axis(order, ndim - 1, axis)]


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """[values, positions] of the k largest elements, as top_k finds them: exactly.

    The other arguments allow an implementation to miss some; this one never does.

    >>> lax.approx_max_k(jnp.array([1.0, 5.0, 3.0]), 2)
    [Array([5., 3.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """[values, positions] of the k smallest elements, smallest first; see approx_max_k.

    >>> lax.approx_min_k(jnp.array([1.0, 5.0, 3.0]), 2)
    [Array([1., 3.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    values, order = top_k(neg(operand), k, axis=reduction_dimension)
    return [neg(values), order]


__all__ = [
    "approx_max_k",
    "approx_min_k",
    "argsort",
    "sort",
    "sort_key_val",
    "top_k",
]
