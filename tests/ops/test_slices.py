"""Slices, pads, joins and dynamic slices against NumPy's own indexing and plain loops."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait import lax
from plait.config import override
from plait.core.sample import booleans, complex_, integers, real
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    IntegerOverflowError,
    OutOfRangeError,
    ShapeError,
)
from plait.ops import iota as creation
from plait.ops.arithmetic import mul
from plait.ops.axes import reduce_sum

DTYPES = [np.bool_, np.int8, np.uint16, np.int32, np.float16, ml_dtypes.bfloat16, np.float32]
DTYPES += [np.complex64]
IOTA_DTYPES = [np.int8, np.uint32, np.float32, ml_dtypes.bfloat16, np.complex64]
INDEX_DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def f32(*shape):
    return real(*shape, dtype=np.float32)


def block(x, starts, sizes):
    """The clamped block, as NumPy slices."""
    firsts = [min(max(int(a), 0), n - m) for a, n, m in zip(starts, x.shape, sizes)]
    return tuple(slice(a, a + m) for a, m in zip(firsts, sizes))


def padded(x, fill, config):
    """Element by element."""
    shape = [lo + n + max(n - 1, 0) * mid + hi for n, (lo, hi, mid) in zip(x.shape, config)]
    y = np.full(shape, fill, x.dtype)
    for place in np.ndindex(*x.shape):
        to = tuple(lo + p * (mid + 1) for p, (lo, _, mid) in zip(place, config))
        if all(0 <= t < n for t, n in zip(to, shape)):
            y[to] = x[place]
    return y


# --- static


@pytest.mark.parametrize("dtype", DTYPES)
def test_slice_of_every_dtype(dtype):
    x = np.arange(20).reshape(4, 5).astype(dtype)
    same(lax.slice(x, (1, 0), (4, 5), (2, 3)), x[1:4:2, 0:5:3])


@pytest.mark.parametrize("start, limit, stride", [(0, 7, 1), (2, 2, 1), (1, 7, 4), (6, 7, 9)])
def test_slice_in_dim(start, limit, stride):
    x = f32(3, 7)
    same(lax.slice_in_dim(x, start, limit, stride, axis=1), x[:, start:limit:stride])


def test_slice_in_dim_from_the_end():
    x = f32(5, 2)
    same(lax.slice_in_dim(x, -4, -1), x[-4:-1])
    same(lax.slice_in_dim(x, None, None, 2), x[::2])
    same(lax.slice_in_dim(x, 1, None, axis=-1), x[:, 1:])


def test_index_in_dim():
    x = f32(3, 4)
    same(lax.index_in_dim(x, -1), x[-1:])
    same(lax.index_in_dim(x, 2, axis=1, keepdims=False), x[:, 2])
    with pytest.raises(OutOfRangeError):
        lax.index_in_dim(x, 3)


def test_slice_refuses_what_lies_outside():
    x = f32(4)
    for args in (((0,), (5,)), ((3,), (2,)), ((-1,), (2,)), ((0,), (4,), (0,)), ((0, 0), (1, 1))):
        with pytest.raises(ShapeError):
            lax.slice(x, *args)
    with pytest.raises(ArgumentTypeError):
        lax.slice(x, (0.5,), (2,))


CONFIGS = [
    [(0, 0, 0), (0, 0, 0)],
    [(1, 2, 0), (0, 3, 1)],
    [(-1, 0, 0), (0, -2, 0)],
    [(-1, -1, 2), (3, -4, 1)],
    [(-2, 1, 1), (-1, 0, 3)],
    [(-5, 0, 1), (0, 0, 0)],
]


@pytest.mark.parametrize("config", CONFIGS)
def test_pad(config):
    x = f32(3, 4)
    same(lax.pad(x, np.float32(9), config), padded(x, 9, config))
    same(lax.pad(x, 9, config), padded(x, 9, config))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pad_of_every_dtype(dtype):
    x = np.arange(3).astype(dtype)
    same(lax.pad(x, np.array(1, dtype), [(1, 1, 1)]), padded(x, 1, [(1, 1, 1)]))


def test_pad_of_empty_and_scalar():
    same(lax.pad(f32(0, 2), 1.0, [(2, 1, 3), (0, 0, 0)]), np.ones((3, 2), np.float32))
    same(lax.pad(np.float32(3), 1.0, []), np.float32(3))


@pytest.mark.parametrize("config", CONFIGS[1:])
def test_derivative_of_pad(config):
    x, fill = f32(3, 4), np.float32(0.5)
    y, pull = jax.vjp(lambda x, fill: lax.pad(x, fill, config), x, fill)
    ct = np.cos(np.arange(y.size, dtype=np.float32)).reshape(y.shape)
    got_x, got_fill = pull(ct)
    # Each element of the result came from one element of x, or from the fill.
    source = padded(np.arange(12).reshape(3, 4), -1, config)
    want = [ct[source == k].sum() for k in range(12)]
    np.testing.assert_allclose(np.ravel(got_x), want, rtol=1e-6)
    np.testing.assert_allclose(got_fill, ct[source == -1].sum(), rtol=1e-4, atol=1e-6)


def test_batched_pad_values():
    x, fill = f32(3, 2), f32(4)
    config = [(1, 0, 0), (0, 1, 1)]
    got = jax.vmap(lambda f: lax.pad(x, f, config))(fill)
    same(got, np.stack([padded(x, f, config) for f in fill]))
    xs = f32(4, 3, 2)
    got = jax.vmap(lambda x, f: lax.pad(x, f, config))(xs, fill)
    same(got, np.stack([padded(x, f, config) for x, f in zip(xs, fill)]))


def test_pad_refuses():
    x = f32(3)
    with pytest.raises(ShapeError):
        lax.pad(x, 0.0, [(-2, -2, 0)])
    with pytest.raises(ShapeError):
        lax.pad(x, 0.0, [(0, 0, -1)])
    with pytest.raises(ShapeError):
        lax.pad(x, f32(2), [(0, 0, 0)])
    with pytest.raises(ShapeError):
        lax.pad(x, 0.0, [(0, 0, 0), (0, 0, 0)])
    with pytest.raises(ArgumentError):
        lax.pad(x, 0.0, [(0, 0)])
    with pytest.raises(DtypeError):
        lax.pad(x, np.int32(0), [(0, 0, 0)])
    with pytest.raises(IntegerOverflowError):
        lax.pad(integers(3, dtype=np.int8), 300, [(1, 0, 0)])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_and_split(axis):
    sizes = [2, 0, 3]
    whole = f32(5, 5)
    parts = np.split(whole, np.cumsum(sizes)[:-1], axis)
    same(lax.concatenate(parts, axis), whole)
    for got, want in zip(lax.split(whole, sizes, axis), parts, strict=True):
        same(got, want)


def test_concatenate_of_mapped_and_shared():
    xs, y = f32(3, 2), f32(4)
    got = jax.vmap(lambda x: lax.concatenate([x, y], 0))(xs)
    same(got, np.stack([np.concatenate([x, y]) for x in xs]))


def test_derivatives_of_concatenate_and_split():
    a, b, ct = f32(2), f32(3), f32(5)
    _, pull = jax.vjp(lambda a, b: lax.concatenate([a, b], 0), a, b)
    for got, want in zip(pull(ct), (ct[:2], ct[2:]), strict=True):
        same(got, want)
    _, pull = jax.vjp(lambda x: lax.split(x, [1, 4])[1], ct)
    same(pull(f32(4))[0], np.concatenate([[0], f32(4)]).astype(np.float32))


def test_concatenate_refuses():
    for xs in ([f32(2), f32(2, 2)], [f32(2, 3), f32(3, 2)]):
        with pytest.raises(ShapeError):
            lax.concatenate(xs, 0)
    with pytest.raises(DtypeError):
        lax.concatenate([f32(2), integers(2)], 0)
    with pytest.raises(ArgumentError):
        lax.concatenate([], 0)
    with pytest.raises(ShapeError):
        lax.split(f32(3), [1, 1])


# --- dynamic


@pytest.mark.parametrize("index", INDEX_DTYPES)
def test_dynamic_slice_clamps_for_every_index_dtype(index):
    x = f32(400)
    info = np.iinfo(index)
    for start in {0, 5, int(info.max), int(info.max) // 2}:
        want = x[block(x, (start,), (7,))]
        same(lax.dynamic_slice(x, (index(start),), (7,)), want)
        same(jax.jit(lambda s: lax.dynamic_slice(x, (s,), (7,)))(index(start)), want)


@pytest.mark.parametrize("index", [np.int64, np.uint64])
def test_dynamic_slice_with_wide_indices(index):
    x = f32(4, 400)
    with override(enable_x64=True):
        for start in (0, 300, 2**33, 2**40 + 1):
            got = lax.dynamic_slice(x, (np.int8(1), np.asarray(start, index)), (2, 7))
            same(got, x[block(x, (1, start), (2, 7))])


def test_negative_starts_count_from_the_end():
    x = f32(10)
    for start in (-1, -3, -10, -20):
        want = x[block(x, (start + 10,), (3,))]
        same(lax.dynamic_slice(x, (start,), (3,)), want)
        same(jax.jit(lambda s: lax.dynamic_slice(x, (s,), (3,)))(np.int32(start)), want)
        same(lax.dynamic_slice(x, (np.int8(start),), (3,)), want)
        raw = jax.jit(lambda s: lax.dynamic_slice(x, (s,), (3,), allow_negative_indices=False))
        same(raw(np.int32(start)), x[:3])
        with pytest.raises(ArgumentError):
            lax.dynamic_slice(x, (start,), (3,), allow_negative_indices=False)


def test_huge_python_ints_clamp():
    same(lax.dynamic_slice(f32(10), (2**70,), (3,)), f32(10)[7:])
    same(lax.dynamic_slice(f32(10), (-(2**70),), (3,)), f32(10)[:3])


def test_starts_as_one_array():
    x = f32(4, 5)
    starts = np.array([1, 2], np.int32)
    same(lax.dynamic_slice(x, starts, (2, 2)), x[1:3, 2:4])
    same(jax.jit(lambda s: lax.dynamic_slice(x, s, (2, 2)))(starts), x[1:3, 2:4])


@pytest.mark.parametrize("dtype", DTYPES)
def test_dynamic_ops_of_every_dtype(dtype):
    x, u = np.arange(12).reshape(3, 4).astype(dtype), np.ones((2, 2), dtype)
    same(lax.dynamic_slice(x, (1, 9), (2, 2)), x[1:, 2:])
    want = x.copy()
    want[1:, 2:] = 1
    same(lax.dynamic_update_slice(x, u, (1, 9)), want)


def test_dynamic_ops_of_scalars_and_empties():
    same(lax.dynamic_slice(np.float32(2), (), ()), np.float32(2))
    same(lax.dynamic_update_slice(np.float32(2), np.float32(3), ()), np.float32(3))
    same(lax.dynamic_slice(f32(3), (1,), (0,)), f32(0))
    same(lax.dynamic_update_slice(f32(3), f32(0), (1,)), f32(3))
    same(lax.dynamic_slice(f32(0), (1,), (0,)), f32(0))


def test_in_dim_forms():
    x, i = f32(3, 4), np.int32(2)
    same(lax.dynamic_slice_in_dim(x, i, 2, axis=1), x[:, 2:4])
    same(lax.dynamic_index_in_dim(x, i), x[2:3])
    same(lax.dynamic_index_in_dim(x, -1, axis=1, keepdims=False), x[:, 3])
    want = x.copy()
    want[:, 2:] = 0
    same(lax.dynamic_update_slice_in_dim(x, np.zeros((3, 2), np.float32), i, axis=1), want)
    want = x.copy()
    want[2] = 7
    row = np.full(4, 7, np.float32)
    same(lax.dynamic_update_index_in_dim(x, row, i, 0), want)
    same(lax.dynamic_update_index_in_dim(x, row[None], i, 0), want)


@pytest.mark.parametrize("mapped", list(itertools.product([False, True], repeat=3))[1:])
def test_batched_dynamic_slice(mapped):
    n = 4
    args = [f32(n, 5, 6), np.array([0, 3, 9, -9], np.int32), np.array([1, 0, 2, 9], np.uint8)]
    args = [a if m else a[1] for a, m in zip(args, mapped)]

    def f(x, i, j):
        return lax.dynamic_slice(x, (i, j), (2, 6), allow_negative_indices=False)

    got = jax.vmap(f, in_axes=tuple(0 if m else None for m in mapped))(*args)
    want = []
    for k in range(n):
        x, i, j = (a[k] if m else a for a, m in zip(args, mapped))
        want.append(x[block(x, (i, j), (2, 6))])
    same(got, np.stack(want))


@pytest.mark.parametrize("mapped", list(itertools.product([False, True], repeat=3))[1:])
def test_batched_dynamic_update_slice(mapped):
    n = 4
    args = [f32(n, 5, 6), -f32(n, 2, 3), np.array([0, 3, 9, -9], np.int32)]
    args = [a if m else a[1] for a, m in zip(args, mapped)]

    def f(x, u, i):
        return lax.dynamic_update_slice(x, u, (i, np.uint8(1)), allow_negative_indices=False)

    got = jax.vmap(f, in_axes=tuple(0 if m else None for m in mapped))(*args)
    want = []
    for k in range(n):
        x, u, i = (a[k] if m else a for a, m in zip(args, mapped))
        y = x.copy()
        y[block(x, (i, 1), u.shape)] = u
        want.append(y)
    same(got, np.stack(want))


def test_derivatives_of_dynamic_ops():
    x, u = f32(5, 4), f32(2, 3)
    _, pull = jax.vjp(lambda x: lax.dynamic_slice(x, (4, 0), (2, 3)), x)
    want = np.zeros_like(x)
    want[3:, :3] = u
    same(pull(u)[0], want)
    _, pull = jax.vjp(lambda x, u: lax.dynamic_update_slice(x, u, (4, 0)), x, u)
    ct = f32(5, 4) + 1
    ct_x, ct_u = pull(ct)
    kept = ct.copy()
    kept[3:, :3] = 0
    same(ct_x, kept)
    same(ct_u, ct[3:, :3])


def test_gradient_of_batched_dynamic_slice():
    x, starts = f32(3, 6), np.array([0, 4, 1], np.int32)

    def total(x):
        rows = jax.vmap(lambda r, s: lax.dynamic_slice(r, (s,), (3,)))(x, starts)
        return reduce_sum(mul(rows, rows), (0, 1))

    got = jax.grad(total)(x)
    want = np.zeros_like(x)
    for k, s in enumerate(starts):
        s = min(s, 3)
        want[k, s : s + 3] = 2 * x[k, s : s + 3]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_dynamic_ops_refuse():
    x = f32(3, 4)
    with pytest.raises(ShapeError):
        lax.dynamic_slice(x, (0,), (1, 1))
    with pytest.raises(ShapeError):
        lax.dynamic_slice(x, (0, 0), (1, 5))
    with pytest.raises(DtypeError):
        lax.dynamic_slice(x, (0, 0.5), (1, 1))
    with pytest.raises(DtypeError):
        lax.dynamic_slice(x, (0, np.bool_(True)), (1, 1))
    with pytest.raises(ShapeError):
        lax.dynamic_update_slice(x, f32(4, 4), (0, 0))
    with pytest.raises(DtypeError):
        lax.dynamic_update_slice(x, integers(1, 1), (0, 0))
    with pytest.raises(ShapeError):
        lax.dynamic_update_index_in_dim(x, f32(3), 0, 0)


# --- shapes


def test_broadcast_squeeze_tile_collapse():
    x = f32(2, 1, 3)
    same(lax.broadcast(x, (4, 0)), np.broadcast_to(x, (4, 0, 2, 1, 3)))
    same(lax.squeeze(x, (1,)), x[:, 0])
    same(lax.squeeze(x, -2), x[:, 0])
    same(lax.squeeze(x), x[:, 0])
    same(lax.tile(x, (2, 3, 1)), np.tile(x, (2, 3, 1)))
    same(lax.tile(x, (2, 0, 1)), np.tile(x, (2, 0, 1)))
    same(lax.collapse(f32(2, 3, 4), 1), f32(2, 3, 4).reshape(2, 12))
    same(lax.collapse(f32(2, 3, 4), 0, 2), f32(2, 3, 4).reshape(6, 4))
    with pytest.raises(ShapeError):
        lax.squeeze(x, (0,))
    with pytest.raises(ArgumentError):
        lax.collapse(x, 2, 1)


@pytest.mark.parametrize("dtype", IOTA_DTYPES)
def test_iota(dtype):
    same(creation.iota(dtype, 5), np.arange(5).astype(dtype))
    want = np.broadcast_to(np.arange(3)[:, None], (3, 4)).astype(dtype)
    same(creation.broadcasted_iota(dtype, (3, 4), 0), want)
    same(creation.broadcasted_iota(dtype, (3, 0), -1), np.zeros((3, 0), dtype))
    with pytest.raises(DtypeError):
        creation.iota(np.bool_, 3)


def test_full_eye_tri():
    same(creation.full((2, 3), 7, np.float32), np.full((2, 3), 7, np.float32))
    same(jax.jit(lambda v: creation.full((2,), v))(np.float32(3)), np.full(2, 3, np.float32))
    same(creation.full_like(booleans(3), True), np.ones(3, bool))
    same(creation.full_like(f32(3), 2, np.int32, (4,)), np.full(4, 2, np.int32))
    for offset in (-2, -1, 0, 1, 3):
        same(creation.eye(np.float32, (3, 4), offset), np.eye(3, 4, offset, dtype=np.float32))
        same(creation.tri(np.int32, (3, 4), offset), np.tri(3, 4, offset, dtype=np.int32))


def test_complex_pads():
    x = complex_(3).astype(np.complex64)
    same(lax.pad(x, np.complex64(1j), [(1, 0, 0)]), np.concatenate([[np.complex64(1j)], x]))
