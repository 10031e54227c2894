"""Sort and top_k against NumPy, in both ways in which a CPU sorts, and against plain loops."""

from __future__ import annotations

import functools
import itertools
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.config import override
from plait.core.sample import real
from plait.core.stage import stage
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.ops import sort as lax
from plait.ops.arithmetic import mul, neg
from plait.ops.axes import reduce_sum
from plait.regions.loops import fori_loop
from plait.runtime import xla

NARROW = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
NARROW += [np.float16, ml_dtypes.bfloat16, np.float32, np.complex64]
NARROW += [ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4]
WIDE = [np.int64, np.uint64, np.float64, np.complex128]
SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-40, -1e-40]


@pytest.fixture(params=["xla", "numpy"])
def way(request, monkeypatch):
    """Both ways in which integers are sorted on a CPU, whatever the size."""
    monkeypatch.setattr(lax, "_FOR_NUMPY", 0 if request.param == "numpy" else 1 << 62)
    jax.clear_caches()
    yield request.param
    jax.clear_caches()


def values(dtype, *shape, seed=0):
    """Many ties, the extremes of the dtype, and all special floats."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    coin = rng.integers(0, 2, shape) == 1
    if dtype.kind == "b":
        return coin
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        info = ml_dtypes.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        wide = rng.integers(low, high, shape, np.uint64 if low == 0 else np.int64, endpoint=True)
        return np.where(coin, wide, rng.integers(0, 3, shape).astype(wide.dtype)).astype(dtype)
    if dtype.kind == "c":
        part = np.float32 if dtype == np.complex64 else np.float64
        both = np.stack([values(part, *shape, seed=seed), values(part, *shape, seed=seed + 1)], -1)
        return np.ascontiguousarray(both).view(dtype)[..., 0]
    special = np.array(SPECIAL).astype(dtype)
    plain = rng.standard_normal(shape).astype(dtype)
    return np.where(coin, plain, special[rng.integers(0, len(special), shape)]).astype(dtype)


def before(x, y):
    """Whether x must come before y: NaN last and alike, zeros alike, complex by both parts."""
    if isinstance(x, complex | np.complexfloating):
        if before(x.real, y.real) or before(y.real, x.real):
            return before(x.real, y.real)
        return before(x.imag, y.imag)
    x, y = (float(v) if v.dtype.kind not in "iub" else int(v) for v in (x, y))
    if x != x or y != y:
        return x == x
    return x < y


def order_of(keys):
    """A stable permutation of rank-1 keys, by comparisons of single elements."""

    def compare(i, j):
        for key in keys:
            if before(key[i], key[j]):
                return -1
            if before(key[j], key[i]):
                return 1
        return 0

    return np.array(sorted(range(len(keys[0])), key=functools.cmp_to_key(compare)), np.int32)


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if got.dtype.kind not in "iubfc":
        got, want = got.astype(np.float32), want.astype(np.float32)
    np.testing.assert_array_equal(got, want)


def check(dtype, shape=(60,)):
    x = values(dtype, *shape)
    order = order_of([x])
    same(lax.sort(x), x[order])
    same(lax.argsort(x), order)
    payload = np.arange(x.size, dtype=np.int16)
    ys, where = lax.sort_key_val(x, payload)
    same(ys, x[order])
    same(where, payload[order])
    if x.dtype.kind == "f":  # moved as they are: the signs of zeros go along
        same(np.signbit(ys), np.signbit(x[order]))


@pytest.mark.parametrize("dtype", NARROW)
def test_sort(way, dtype):
    check(dtype)


@pytest.mark.parametrize("dtype", WIDE)
def test_sort_of_64_bits(way, dtype):
    with override(enable_x64=True):
        check(dtype)


@pytest.mark.parametrize("shape, axis", [((4, 9), 1), ((9, 4), 0), ((3, 7, 4), 1), ((3, 7, 4), -1)])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.bool_])
def test_axes(way, shape, axis, dtype):
    x = values(dtype, *shape)
    want = np.apply_along_axis(lambda row: order_of([row]), axis, x)
    same(lax.sort(x, dimension=axis), np.take_along_axis(x, want, axis))
    same(lax.argsort(x, axis), want.astype(np.int32))


@pytest.mark.parametrize("num_keys", [1, 2, 3])
@pytest.mark.parametrize(
    "several",
    [
        (np.bool_, np.float32, np.int8),
        (np.float16, np.bool_, np.complex64),
        (np.int32, np.uint32, np.float32),
    ],
)
def test_several_keys(way, several, num_keys):
    xs = [values(d, 80, seed=k) for k, d in enumerate(several)]
    order = order_of(xs[:num_keys])
    got = lax.sort(xs, num_keys=num_keys)
    assert isinstance(got, tuple)
    for y, x in zip(got, xs, strict=True):
        same(y, x[order])


def test_keys_of_more_than_64_bits(way):
    with override(enable_x64=True):
        xs = [values(d, 80, seed=k) for k, d in enumerate((np.complex128, np.int64, np.float64))]
        # Few different numbers, so that every part of the key decides somewhere.
        xs[0] = np.where(np.arange(80) % 3 == 0, xs[0], 1 + 2j)
        xs[1] = np.where(np.arange(80) % 5 == 0, xs[1], 2**40)
        order = order_of(xs)
        for y, x in zip(lax.sort(xs, num_keys=3), xs, strict=True):
            same(y, x[order])


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_short_axes(way, n):
    x = real(2, n, dtype=np.float32)[:, ::-1].copy()
    same(lax.sort(x), np.sort(x))
    same(lax.argsort(x), np.argsort(x).astype(np.int32))
    same(lax.sort(x, dimension=0), np.sort(x, 0))


def test_unstable_sort_sorts():
    x = values(np.int32, 50)
    same(lax.sort(x, is_stable=False), np.sort(x))


def test_the_comparator_of_other_platforms():
    # GPUs and TPUs get one comparator for all keys; what it says is checked on a CPU.
    xs = [values(np.float32, 40), values(np.complex64, 40), values(np.bool_, 40)]
    for x in xs[:2]:  # subnormal numbers are zeros to it
        parts = x.view(np.float32)
        parts[np.abs(parts) < 1e-30] = 0
    program, _ = stage(lambda *xs: list(lax.sort(xs, num_keys=3)), [type_of(x) for x in xs])
    text = module_text(Builder("gpu"), program)
    assert text.count("stablehlo.sort") == 1
    assert "TOTALORDER" in text
    device = jax.devices()[0]
    types = [(x.shape, x.dtype) for x in xs]
    run = xla.compile(text, [device], out_types=types)
    outs = run.execute([xla.put(x, device) for x in xs])
    order = order_of(xs)
    for out, x in zip(outs, xs, strict=True):
        same(xla.to_host(out, x.shape, x.dtype), x[order])


@pytest.mark.parametrize("axis", [0, 1])
def test_derivative_of_sort(axis):
    x, payload = real(3, 5, dtype=np.float32), real(3, 5, dtype=np.float32)[::-1].copy()
    ct = np.cos(np.arange(15, dtype=np.float32)).reshape(3, 5)
    order = np.argsort(x, axis)
    (ys, moved), pull = jax.vjp(lambda x, p: lax.sort((x, p), dimension=axis), x, payload)
    same(ys, np.sort(x, axis))
    same(moved, np.take_along_axis(payload, order, axis))
    want = np.zeros_like(x)
    np.put_along_axis(want, order, ct, axis)
    got_x, got_payload = pull((ct, 2 * ct))
    same(got_x, want)
    same(got_payload, 2 * want)
    _, t = jax.jvp(lambda x: lax.sort(x, dimension=axis), (x,), (ct,))
    same(t, np.take_along_axis(ct, order, axis))


@pytest.mark.parametrize("mapped", list(itertools.product([False, True], repeat=2))[1:])
def test_batched_sort(way, mapped):
    args = [values(np.float32, 3, 20), values(np.int8, 3, 20, seed=5)]
    args = [a if m else a[0] for a, m in zip(args, mapped)]
    axes = tuple(0 if m else None for m in mapped)
    got = jax.vmap(lambda *xs: lax.sort(xs, num_keys=2), in_axes=axes)(*args)
    rows = [[a[k] if m else a for a, m in zip(args, mapped)] for k in range(3)]
    for j in range(2):
        same(got[j], np.stack([row[j][order_of(row)] for row in rows]))


def test_sort_refuses():
    x = real(3, dtype=np.float32)
    with pytest.raises(ShapeError):
        lax.sort((x, real(4, dtype=np.float32)))
    with pytest.raises(ArgumentError):
        lax.sort((x, x), num_keys=3)
    with pytest.raises(ArgumentError):
        lax.sort((x,), num_keys=0)
    with pytest.raises(ArgumentError):
        lax.sort(())
    with pytest.raises(OutOfRangeError):
        lax.sort(x, dimension=1)
    with pytest.raises(OutOfRangeError):
        lax.sort(np.float32(1))


# --- NumPy as XLA's sorting routine


def test_large_sorts_inside_everything():
    x = real(5, 1 << 15, dtype=np.float32)
    same(jax.jit(lax.sort)(x), np.sort(x))
    same(jax.vmap(lax.sort)(x), np.sort(x))
    same(jax.pmap(lax.sort)(x[:2]), np.sort(x[:2]))
    turned = jax.jit(lambda x: fori_loop(0, 7, lambda i, y: lax.sort(neg(y)), x))
    same(turned(x), np.sort(-x))
    got = jax.grad(lambda x: reduce_sum(mul(lax.sort(x), lax.sort(x)), (0, 1)))(x)
    same(got, 2 * x)


def test_large_sorts_from_several_threads():
    x = real(1 << 17, dtype=np.float32)
    f = jax.jit(lax.sort)
    failures = []

    def work(k):
        for _ in range(10):
            if not np.array_equal(np.asarray(f(x + k)), np.sort(x + np.float32(k))):
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    spins = 0
    while any(thread.is_alive() for thread in threads):
        spins += 1  # this thread is busy with Python meanwhile
    assert not failures


def test_a_process_may_end_during_a_large_sort():
    code = """
import numpy as np, plait as jax
from plait.ops.sort import sort
x = np.cos(np.arange(1 << 20, dtype=np.float32))
f = jax.jit(sort)
ys = [f(x + k) for k in range(5)]
print("launched")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "launched"), done.stderr


# --- top_k


def largest(x, k):
    """By total order, as bits: +NaN first, then the largest; ties by position."""

    def rank(v):
        if v.dtype.kind in "iub" or v.dtype.name in ("int4", "uint4"):
            return int(v)
        wide = np.float64(v)
        bits = int(np.abs(wide).view(np.int64)) if wide == wide else 2**63 - 1
        return bits if not np.signbit(v) else -bits - 1

    order = sorted(range(len(x)), key=lambda i: (-rank(x[i]), i))[:k]
    return x[order], np.array(order, np.int32)


@pytest.mark.parametrize("dtype", [d for d in NARROW if np.dtype(d).kind != "c"])
@pytest.mark.parametrize("n, k", [(40, 2), (40, 40)])
def test_top_k(way, dtype, n, k):
    x = values(dtype, n)
    for got, want in zip(lax.top_k(x, k), largest(x, k), strict=True):
        same(got, want)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_top_k_of_64_bits(way, dtype):
    with override(enable_x64=True):
        x = values(dtype, 50)
        for k in (2, 50):
            for got, want in zip(lax.top_k(x, k), largest(x, k), strict=True):
                same(got, want)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_top_k_along_axes(axis):
    x = values(np.float32, 6, 5)
    v, i = lax.top_k(x, 3, axis=axis)
    same(v, np.apply_along_axis(lambda row: largest(row, 3)[0], axis, x))
    same(i, np.apply_along_axis(lambda row: largest(row, 3)[1], axis, x))


def test_top_k_of_nothing():
    for x in (real(2, 5), real(2, 0)):
        v, i = lax.top_k(x.astype(np.float32), 0)
        same(v, np.zeros((2, 0), np.float32))
        same(i, np.zeros((2, 0), np.int32))


def test_top_k_batched_and_derived():
    x = real(3, 8, dtype=np.float32)
    v, i = jax.vmap(lambda r: lax.top_k(r, 3))(x)
    order = np.argsort(-x, 1)[:, :3]
    same(v, np.take_along_axis(x, order, 1))
    same(i, order.astype(np.int32))
    _, pull = jax.vjp(lambda x: lax.top_k(x, 3)[0], x)
    ct = real(3, 3, dtype=np.float32)
    want = np.zeros_like(x)
    np.put_along_axis(want, order, ct, 1)
    same(pull(ct)[0], want)


def test_approximate_top_k_is_exact():
    x = real(2, 50, dtype=np.float32)
    same(lax.approx_max_k(x, 3)[0], -np.sort(-x)[:, :3])
    same(lax.approx_min_k(x, 3)[0], np.sort(x)[:, :3])
    same(lax.approx_min_k(x, 1, reduction_dimension=0)[1], np.argmin(x, 0)[None].astype(np.int32))


def test_top_k_refuses():
    with pytest.raises(ArgumentError):
        lax.top_k(real(3, dtype=np.float32), 4)
    with pytest.raises(ArgumentError):
        lax.top_k(real(3, dtype=np.float32), -1)
    with pytest.raises(OutOfRangeError):
        lax.top_k(np.float32(1), 1)
    with pytest.raises(DtypeError):
        lax.top_k(np.zeros(3, np.complex64), 1)
