"""Gather and scatter in all modes against loops over single elements."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.config import override
from plait.core import dtypes
from plait.core.sample import real
from plait.core.stage import stage
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.ops import dynamic_slice, slices, sort
from plait.ops import gather as lax
from plait.ops import scatter as put
from plait.ops.arithmetic import mul
from plait.ops.axes import reduce_sum
from plait.ops.functions import sin

G, S = lax.GatherDimensionNumbers, put.ScatterDimensionNumbers
COMBINE = {
    "scatter": lambda old, new: new,
    "scatter_add": lambda old, new: old + new,
    "scatter_sub": lambda old, new: old - new,
    "scatter_mul": lambda old, new: old * new,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if got.dtype == ml_dtypes.bfloat16:
        got, want = got.astype(np.float32), want.astype(np.float32)
    np.testing.assert_array_equal(got, want)


def near(got, want, rtol=1e-5):
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=1e-6)


def f32(*shape):
    return real(*shape, dtype=np.float32)


# --- the meaning, one element at a time


def places(dims, shape, indices, sizes, result_shape, mode):
    """(element of the result, element of the operand or None where it is out of bounds), window by
    window."""
    offset, collapsed, start_map, batching, index_batching = dims
    rows = [k for k in range(len(result_shape)) if k not in offset]
    inner = [k for k in range(len(shape)) if k not in collapsed and k not in batching]
    order = [*rows, *offset]
    for ordered in np.ndindex(*(result_shape[k] for k in order)):
        out = tuple(ordered[order.index(k)] for k in range(len(result_shape)))
        row = tuple(out[k] for k in rows)
        start = [0] * len(shape)
        inside = True
        for k, axis in enumerate(start_map):
            at, last = int(indices[(*row, k)]), shape[axis] - sizes[axis]
            inside = inside and 0 <= at <= last
            start[axis] = min(max(at, 0), last)
        for axis, index_axis in zip(batching, index_batching):
            start[axis] = row[index_axis]
        for axis, k in zip(inner, offset):
            start[axis] += out[k]
        yield out, tuple(start) if inside or mode == "clip" else None


def gathered(x, indices, dims, sizes, mode, fill=np.nan):
    rows = list(indices.shape[:-1])
    windows = [m for k, m in enumerate(sizes) if k not in dims[1] and k not in dims[3]]
    shape = [
        windows.pop(0) if k in dims[0] else rows.pop(0) for k in range(len(rows) + len(dims[0]))
    ]
    y = np.zeros(shape, x.dtype)
    for out, place in places(dims, x.shape, indices, sizes, shape, mode):
        y[out] = fill if place is None else x[place]
    return y


def scattered(name, x, indices, updates, dims, mode):
    windows = [updates.shape[a] for a in dims[0]]
    sizes = [1 if k in dims[1] or k in dims[3] else windows.pop(0) for k in range(x.ndim)]
    y = x.copy()
    for out, place in places(dims, x.shape, indices, sizes, updates.shape, mode):
        if place is not None:
            with np.errstate(over="ignore"):  # unsigned integers wrap
                y[place] = COMBINE[name](y[place], updates[out])
    return y


# name: operand, indices, dimension numbers, window sizes
POINT = np.array([[2], [0], [2], [1]], np.int32)
OUTSIDE = np.array([[2], [-1], [4], [99]], np.int32)
CASES = {
    "rows": ((4, 3), POINT, G((1,), (0,), (0,)), (1, 3)),
    "rows outside": ((4, 3), OUTSIDE, G((1,), (0,), (0,)), (1, 2)),
    "windows": ((5, 4), OUTSIDE, G((0, 2), (), (0,)), (2, 3)),
    "pairs": ((3, 4), np.array([[1, 2], [3, 0], [2, 9]], np.int32), G((), (0, 1), (1, 0)), (1, 1)),
    "grid": ((6,), np.arange(-1, 7).reshape(2, 4, 1).astype(np.int32), G((), (0,), (0,)), (1,)),
    "columns": ((3, 5), POINT, G((0,), (1,), (1,)), (3, 1)),
    "batched": (
        (2, 4, 3),
        np.array([[[0], [9], [2]], [[3], [1], [-1]]], np.int32),
        G((2,), (1,), (1,), (0,), (0,)),
        (1, 1, 2),
    ),
    "batched twice": (
        (3, 2, 4),
        np.array([[[0], [1], [2]], [[3], [4], [-5]]], np.int32),
        G((), (2,), (2,), (0, 1), (1, 0)),
        (1, 1, 1),
    ),
    "no index": ((3, 2), np.zeros((2, 0), np.int32), G((0, 2), (), ()), (2, 2)),
    "no rows": ((3, 2), np.zeros((0, 1), np.int32), G((1,), (0,), (0,)), (1, 2)),
    "empty windows": ((3, 2), POINT, G((0, 2), (), (0,)), (1, 0)),
}
USES = [(name, mode) for name in CASES for mode in ("clip", "fill")]
USES += [(name, "promise_in_bounds") for name in ("rows", "columns", "no index")]


@pytest.mark.parametrize("name, mode", USES)
def test_gather(name, mode):
    shape, indices, dims, sizes = CASES[name]
    x = f32(*shape)
    want = gathered(x, indices, dims, sizes, mode)
    same(lax.gather(x, indices, dims, sizes, mode=mode), want)
    jitted = jax.jit(lambda x, i: lax.gather(x, i, dims, sizes, mode=mode))
    same(jitted(x, indices), want)


FILLS = {
    np.float32: np.nan,
    np.float16: np.nan,
    ml_dtypes.bfloat16: np.nan,
    np.complex64: np.nan,
    np.int8: -128,
    np.int32: -(2**31),
    np.uint16: 2**16 - 1,
    np.bool_: True,
}


@pytest.mark.parametrize("dtype", FILLS)
def test_gather_fills_by_dtype(dtype):
    x = np.arange(4).astype(dtype)
    dims = G((), (0,), (0,))
    same(lax.gather(x, OUTSIDE, dims, (1,)), gathered(x, OUTSIDE, dims, (1,), "fill", FILLS[dtype]))
    got = lax.gather(x, OUTSIDE, dims, (1,), mode="fill", fill_value=1)
    same(got, gathered(x, OUTSIDE, dims, (1,), "fill", 1))
    got = lax.gather(x, OUTSIDE, dims, (1,), mode=lax.GatherScatterMode.CLIP)
    same(got, gathered(x, OUTSIDE, dims, (1,), "clip"))


@pytest.mark.parametrize("index", [np.int8, np.uint8, np.int16, np.uint16, np.uint32])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_narrow_and_unsigned_indices(index, mode):
    x, info = f32(300), np.iinfo(index)
    indices = np.array([[0], [info.max], [info.min], [info.max // 2], [100]], index)
    dims = G((0,), (), (0,))
    want = gathered(x, indices, dims, (3,), mode)
    same(lax.gather(x, indices, dims, (3,), mode=mode), want)
    updates = f32(3, 5)
    got = put.scatter_add(x, indices, updates, S(*dims), mode=mode)
    near(got, scattered("scatter_add", x, indices, updates, dims, mode))


@pytest.mark.parametrize("index", [np.int64, np.uint64])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_wide_indices(index, mode):
    x = f32(30)
    indices = np.array([[0], [2**33], [29], [2**32 + 3], [np.iinfo(index).max]], index)
    dims = G((), (0,), (0,))
    with override(enable_x64=True):
        want = gathered(x, indices, dims, (1,), mode)
        same(lax.gather(x, indices, dims, (1,), mode=mode), want)
        updates = f32(5)
        got = put.scatter_add(x, indices, updates, S(*dims), mode=mode)
        near(got, scattered("scatter_add", x, indices, updates, dims, mode))


@pytest.mark.parametrize("name, mode", USES)
@pytest.mark.parametrize("op", COMBINE)
def test_scatter(op, name, mode):
    shape, indices, dims, sizes = CASES[name]
    x = f32(*shape)
    updates = f32(*gathered(x, indices, dims, sizes, "clip").shape)[..., ::-1].copy() + 0.25
    want = scattered(op, x, indices, updates, dims, mode)
    near(getattr(put, op)(x, indices, updates, S(*dims), mode=mode), want)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", COMBINE)
def test_scatter_of_other_dtypes(op, dtype):
    x, updates = np.arange(4).astype(dtype), np.array([3, 1, 2, 3], dtype)
    dims = S((), (0,), (0,))
    got = getattr(put, op)(x, POINT, updates, dims)
    same(got, scattered(op, x, POINT, updates, dims, "fill"))


def test_scatter_of_bool_and_complex():
    dims = S((), (0,), (0,))
    x, updates = np.array([0, 1, 0, 0], bool), np.array([1, 0, 0, 0], bool)
    for op, ufunc in (("scatter_add", np.logical_or), ("scatter_mul", np.logical_and)):
        want = x.copy()
        for k, u in zip(POINT[:, 0], updates):
            want[k] = ufunc(want[k], u)
        same(getattr(put, op)(x, POINT, updates, dims), want)
    z, w = (f32(2, 4)[0] + 1j * f32(2, 4)[1]).astype(np.complex64), np.ones(4, np.complex64)
    for op in ("scatter", "scatter_add", "scatter_mul", "scatter_max", "scatter_min"):
        near(getattr(put, op)(z, POINT, w, dims), scattered(op, z, POINT, w, dims, "fill"))


def test_scatter_extremes_keep_nan():
    x, updates = np.array([1, np.nan, 3, 4], np.float32), np.array([np.nan, 5, 1, 1], np.float32)
    dims = S((), (0,), (0,))
    for op in ("scatter_min", "scatter_max"):
        got = getattr(put, op)(x, POINT, updates, dims)
        same(got, scattered(op, x, POINT, updates, dims, "fill"))


def test_scatter_apply():
    x = f32(6)
    indices = np.array([[4], [0], [9], [4]], np.int32)
    dims = S((), (0,), (0,))
    got = put.scatter_apply(x, indices, sin, dims, update_shape=(4,))
    want = x.copy()
    for k in (4, 0, 4):
        want[k] = np.sin(want[k])
    near(got, want)
    unique = indices[:3]

    def f(x):
        y = put.scatter_apply(x, unique, sin, dims, update_shape=(3,), unique_indices=True)
        return reduce_sum(y, (0,))

    slope = np.ones(6, np.float32)
    slope[[4, 0]] = np.cos(x[[4, 0]])
    near(jax.grad(f)(x), slope)
    with pytest.raises(NotImplementedError, match="unique"):
        jax.grad(
            lambda x: reduce_sum(put.scatter_apply(x, indices, sin, dims, update_shape=(4,)), (0,))
        )(x)
    with pytest.raises(ArgumentError, match="outside"):
        put.scatter_apply(x, indices, lambda v: mul(v, f32(1)[0:1]), dims, update_shape=(4,))


def test_scatter_apply_batched_and_by_its_meaning():
    x, dims = f32(2, 6), S((), (0,), (0,))
    indices = np.array([[[4], [0], [9]], [[1], [-1], [2]]], np.int32)

    def f(x, i):
        return put.scatter_apply(x, i, sin, dims, update_shape=(3,))

    want = x.copy()
    for row, column in ((0, 4), (0, 0), (1, 1), (1, 2)):
        want[row, column] = np.sin(want[row, column])
    near(jax.vmap(f)(x, indices), want)
    program, _ = stage(lambda x, i: [f(x, i)], [type_of(x[0]), type_of(indices[0])])
    eqn = program.equations[-1]
    near(eqn.op.numpy(x[0], indices[0], np.zeros(3, np.float32), **eqn.params), want[0])


# --- derivatives


@pytest.mark.parametrize("name, mode", USES)
def test_gradient_of_gather(name, mode):
    shape, indices, dims, sizes = CASES[name]
    x = f32(*shape)
    y, pull = jax.vjp(lambda x: lax.gather(x, indices, dims, sizes, mode=mode), x)
    ct = f32(*y.shape) + 1
    near(pull(ct)[0], scattered("scatter_add", np.zeros_like(x), indices, ct, dims, mode))


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("op", ["scatter", "scatter_add"])
def test_gradient_of_scatter(op, name, mode):
    # With repeated indices too: the update that stays takes the whole cotangent.
    shape, indices, dims, sizes = CASES[name]
    x = f32(*shape)
    updates = f32(*gathered(x, indices, dims, sizes, "clip").shape)
    _, pull = jax.vjp(lambda x, u: getattr(put, op)(x, indices, u, S(*dims), mode=mode), x, updates)
    ct = f32(*shape) + 1
    got_x, got_updates = pull(ct)
    want_x, want_updates = ct.copy(), np.zeros_like(updates)
    last = {}
    for out, place in places(dims, shape, indices, sizes, updates.shape, mode):
        if place is not None:
            want_updates[out] = ct[place]
            if op == "scatter":
                want_x[place] = 0
                if place in last:
                    want_updates[last[place]] = 0
                last[place] = out
    near(got_x, want_x)
    near(got_updates, want_updates)


def test_gradient_of_scatter_mul():
    x, updates = f32(5), f32(3) + 3
    indices, dims = np.array([[3], [0], [7]], np.int32), S((), (0,), (0,))

    def f(x, u):
        return put.scatter_mul(x, indices, u, dims, unique_indices=True)

    _, pull = jax.vjp(f, x, updates)
    ct = f32(5) + 1
    got_x, got_updates = pull(ct)
    want = ct.copy()
    want[[3, 0]] *= updates[:2]
    near(got_x, want)
    near(got_updates, [ct[3] * x[3], ct[0] * x[0], 0])
    with pytest.raises(NotImplementedError, match="unique"):
        jax.vjp(lambda u: put.scatter_mul(x, indices, u, dims), updates)
    # The derivative in the operand needs no promise.
    repeated = np.array([[1], [1], [2]], np.int32)
    _, pull = jax.vjp(lambda x: put.scatter_mul(x, repeated, updates, dims), x)
    want = ct.copy()
    want[1] *= updates[0] * updates[1]
    want[2] *= updates[2]
    near(pull(ct)[0], want)


@pytest.mark.parametrize("op, pick", [("scatter_max", max), ("scatter_min", min)])
def test_gradient_of_scatter_extremes_is_shared_by_ties(op, pick):
    x = np.array([1, 5, 2, 2], np.float32)
    updates = np.array([3, 3, 5, 2, 2, 9], np.float32)
    indices = np.array([[0], [0], [1], [2], [2], [8]], np.int32)
    _, pull = jax.vjp(lambda x, u: getattr(put, op)(x, indices, u, S((), (0,), (0,))), x, updates)
    ct = f32(4) + 3
    got_x, got_updates = pull(ct)
    want_x, want_updates = np.zeros_like(x), np.zeros_like(updates)
    for k in range(4):
        mine = [j for j in range(6) if indices[j, 0] == k]
        values = [x[k], *updates[mine]]
        best = pick(values)
        share = ct[k] / values.count(best)
        want_x[k] = share * (x[k] == best)
        want_updates[mine] = share * (updates[mine] == best)
    near(got_x, want_x)
    near(got_updates, want_updates)


def test_second_derivative():
    x, indices, dims = f32(5), POINT, G((), (0,), (0,))

    def f(x):
        y = lax.gather(x, indices, dims, (1,), mode="clip")
        return reduce_sum(mul(y, mul(y, y)), (0,))

    counts = np.bincount(POINT[:, 0], minlength=5)
    near(jax.hessian(f)(x), np.diag(6 * x * counts))


# --- batching


@pytest.mark.parametrize("mapped", list(itertools.product([False, True], repeat=2))[1:])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_batched_gather(name, mapped, mode):
    shape, indices, dims, sizes = CASES[name]
    args = [f32(3, *shape), np.stack([indices, indices + 1, indices - 1])]
    args = [a if m else a[0] for a, m in zip(args, mapped)]
    axes = tuple(0 if m else None for m in mapped)
    got = jax.vmap(lambda x, i: lax.gather(x, i, dims, sizes, mode=mode), in_axes=axes)(*args)
    rows = [[a[k] if m else a for a, m in zip(args, mapped)] for k in range(3)]
    same(got, np.stack([gathered(x, i, dims, sizes, mode) for x, i in rows]))


@pytest.mark.parametrize("mapped", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("op, mode", [("scatter", "fill"), ("scatter_add", "clip")])
def test_batched_scatter(op, mode, name, mapped):
    shape, indices, dims, sizes = CASES[name]
    updates = f32(3, *gathered(np.zeros(shape), indices, dims, sizes, "clip").shape)
    args = [f32(3, *shape), np.stack([indices, indices + 1, indices - 1]), updates]
    args = [a if m else a[0] for a, m in zip(args, mapped)]
    axes = tuple(0 if m else None for m in mapped)
    f = getattr(put, op)
    got = jax.vmap(lambda x, i, u: f(x, i, u, S(*dims), mode=mode), in_axes=axes)(*args)
    rows = [[a[k] if m else a for a, m in zip(args, mapped)] for k in range(3)]
    near(got, np.stack([scattered(op, x, i, u, dims, mode) for x, i, u in rows]))


def test_vmap_of_vmap_and_grad():
    x, indices, dims = f32(2, 3, 5), np.zeros((2, 3, 4, 1), np.int32) + POINT, G((), (0,), (0,))

    def f(x, i):
        return reduce_sum(mul(*[lax.gather(x, i, dims, (1,), mode="clip")] * 2), (0,))

    got = jax.vmap(jax.vmap(jax.grad(f)))(x, indices)
    near(got, 2 * x * np.bincount(POINT[:, 0], minlength=5))


# --- what is refused, and what passes through


def test_modes_by_name():
    mode = lax.GatherScatterMode
    assert mode.from_any(None) is mode.from_any("fill") is mode.from_any("drop")
    assert mode.from_any("clip") is mode.CLIP
    assert mode.from_any("promise_in_bounds") is mode.PROMISE_IN_BOUNDS
    assert mode.from_any(mode.CLIP) is mode.CLIP
    with pytest.raises(ArgumentError, match="wrap"):
        mode.from_any("wrap")


@pytest.mark.parametrize(
    "dims, sizes, indices",
    [
        (G((1,), (0,), (0,)), (1, 9), POINT),  # a window too large
        (G((1,), (0,), (0,)), (2, 3), POINT),  # a collapsed axis of size 2
        (G((1,), (0,), (0,)), (1,), POINT),
        (G((1,), (0,), (0, 1)), (1, 3), POINT),  # more axes than entries
        (G((1,), (), (0,)), (1, 3), POINT),  # an axis left over
        (G((5,), (0,), (0,)), (1, 3), POINT),
        (G((1,), (0,), (2,)), (1, 3), POINT),
        (G((1, 0), (), (0,)), (1, 3), POINT),
        (G((1,), (0,), (0,), (0,), (0,)), (1, 3), POINT),
        (G((1,), (), (), (0,), (0,)), (1, 3), np.zeros((3, 0), np.int32)),  # sizes 4 and 3
        (G((), (0,), ()), (1, 3), np.int32(0)),
    ],
)
def test_gather_refuses(dims, sizes, indices):
    with pytest.raises(ShapeError):
        lax.gather(f32(4, 3), indices, dims, sizes)


def test_other_refusals():
    x, dims = f32(4, 3), G((1,), (0,), (0,))
    with pytest.raises(DtypeError):
        lax.gather(x, POINT.astype(np.float32), dims, (1, 3))
    with pytest.raises(ArgumentTypeError):
        lax.gather(x, POINT, (1, 2), (1, 3))
    with pytest.raises(ShapeError):
        put.scatter(x, POINT, f32(3, 3), S(*dims))
    with pytest.raises(ShapeError):
        put.scatter(x, POINT, f32(4, 4), S(*dims))
    with pytest.raises(DtypeError):
        put.scatter(x, POINT, np.zeros((4, 3), np.int32), S(*dims))


def test_keys_move():
    keys = ArrayType((4,), dtypes.KEY_DTYPE)
    key = ArrayType((), dtypes.KEY_DTYPE)
    index = ArrayType((2, 1), dtypes.int32)
    start = ArrayType((), dtypes.int32)
    dims = G((), (0,), (0,))
    uses = [
        (lambda k: slices.slice(k, (1,), (3,)), [keys], (2,)),
        (lambda k, f: slices.pad(k, f, [(1, 1, 0)]), [keys, key], (6,)),
        (lambda k: slices.concatenate([k, k], 0), [keys], (8,)),
        (lambda k, s: dynamic_slice.dynamic_slice(k, (s,), (2,)), [keys, start], (2,)),
        (lambda k, s: dynamic_slice.dynamic_update_slice(k, k, (s,)), [keys, start], (4,)),
        (lambda k, i: lax.gather(k, i, dims, (1,)), [keys, index], (2,)),
        (
            lambda k, i: put.scatter(k, i, slices.slice(k, (0,), (2,)), S(*dims)),
            [keys, index],
            (4,),
        ),
        (lambda k, i: sort.sort((i, k))[1], [keys, ArrayType((4,), dtypes.int32)], (4,)),
    ]
    for f, types, shape in uses:
        program, _ = stage(lambda *xs, f=f: [f(*xs)], types)
        assert program.out_types == (ArrayType(shape, dtypes.KEY_DTYPE),)
        assert "ui64" in module_text(Builder(), program)
    with pytest.raises(DtypeError):
        stage(lambda k, i: [put.scatter_add(k, i, k, S((), (0,), (0,)))], [keys, index])
    with pytest.raises(DtypeError):
        stage(lambda k: [sort.sort(k)], [keys])
