"""Reductions over windows against plain loops, and the derivatives that pooling needs."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.config import override
from plait.core.sample import booleans, real
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.ops import compare
from plait.ops import window as lax
from plait.ops.arithmetic import add, mul
from plait.ops.axes import reduce_sum
from plait.ops.window_choice import window_arg_p
from plait.ops.window_shape import Window, padtype_to_pads

BF16 = ml_dtypes.bfloat16


def f32(*shape):
    return real(*shape, dtype=np.float32)


def members(shape, size, strides, padding, base, dilation):
    """For each window, the indices of the array's elements in it."""
    counts = []
    for n, w, s, (low, high), b, d in zip(shape, size, strides, padding, base, dilation):
        room = (n - 1) * b + 1 + low + high - (w - 1) * d - 1
        counts.append(room // s + 1 if room >= 0 else 0)
    for place in np.ndindex(*counts):
        found = []
        for k in itertools.product(*map(range, size)):
            at = [
                o * s + i * d - low
                for o, s, i, d, (low, _) in zip(place, strides, k, dilation, padding)
            ]
            if all(a % b == 0 and 0 <= a // b < n for a, b, n in zip(at, base, shape)):
                found.append(tuple(a // b for a, b in zip(at, base)))
        yield place, found


def loop(x, function, empty, *numbers):
    found = list(members(x.shape, *numbers))
    shape = [max((p[k] for p, _ in found), default=-1) + 1 for k in range(x.ndim)]
    y = np.empty(shape, x.dtype)
    for place, elements in found:
        y[place] = function([x[e] for e in elements]) if elements else empty
    return y


NUMBERS = [
    # size, strides, padding, base dilation, window dilation
    ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((3, 3), (2, 2), ((0, 1), (0, 1)), (1, 1), (1, 1)),
    ((3, 2), (1, 1), ((1, 1), (2, 0)), (1, 1), (1, 1)),
    ((2, 1), (3, 2), ((-1, 2), (0, -1)), (1, 1), (1, 1)),
    ((2, 3), (1, 2), ((1, 0), (2, 2)), (1, 1), (2, 3)),
    ((3, 2), (2, 1), ((0, 2), (1, 1)), (2, 3), (1, 2)),
    ((1, 9), (1, 1), ((0, 0), (4, 4)), (1, 1), (1, 1)),
    ((9, 9), (1, 2), ((4, 4), (4, 4)), (1, 1), (1, 1)),
    ((8, 9), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize(
    "function, init, plain",
    [(add, 0.0, sum), (compare.max, -np.inf, max), (compare.min, np.inf, min)],
    ids=["sum", "max", "min"],
)
def test_values_and_gradients(function, init, plain, numbers):
    x = f32(8, 9)
    rng = np.random.default_rng(0)
    want = loop(x, plain, init, *numbers)
    size, strides, padding, base, dilation = numbers

    def f(x):
        return lax.reduce_window(x, init, function, size, strides, padding, base, dilation)

    np.testing.assert_allclose(f(x), want, rtol=1e-5, atol=1e-6)
    weights = rng.standard_normal(want.shape).astype(np.float32)
    finite = np.isfinite(want)
    gradient = np.zeros_like(x)
    for place, elements in members(x.shape, *numbers):
        if not finite[place]:
            continue
        chosen = elements if plain is sum else [plain(elements, key=lambda e: x[e])]
        for e in chosen:
            gradient[e] += weights[place]
    pull = jax.vjp(f, x)[1]
    np.testing.assert_allclose(pull(weights)[0], gradient, rtol=1e-4, atol=1e-5)
    t = rng.standard_normal(x.shape).astype(np.float32)
    pushed = np.asarray(jax.jvp(f, (x,), (t,))[1])
    total = float(np.sum(np.where(finite, pushed, 0) * weights))
    np.testing.assert_allclose(total, float(np.sum(gradient * t)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.float16, BF16])
def test_dtypes(dtype):
    x = np.arange(20).reshape(4, 5).astype(dtype)
    numbers = ((2, 3), (1, 2), ((1, 0), (0, 0)), (1, 1), (1, 1))
    for function, init, plain in ((add, 0, sum), (compare.max, None, max)):
        if init is None:
            init = np.iinfo(dtype).min if np.issubdtype(dtype, np.integer) else -np.inf
        got = np.asarray(lax.reduce_window(x, np.asarray(init, dtype), function, *numbers[:3]))
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, loop(x, plain, 0, *numbers))


def test_half_precision_sums_are_carried_in_float32():
    x = np.ones(1000, BF16)
    got = lax.reduce_window(x, BF16(0), add, (1000,))
    assert np.asarray(got).tolist() == [1000.0]


def test_nan_wins():
    x = np.array([1, np.nan, 3, 4, 5], np.float32)
    got = np.asarray(lax.reduce_window(x, -np.inf, compare.max, (2,)))
    np.testing.assert_array_equal(got, [np.nan, np.nan, 4, 5])
    gradient = jax.grad(
        lambda x: reduce_sum(lax.reduce_window(x, -np.inf, compare.max, (2,)), (0,))
    )(x)
    np.testing.assert_array_equal(gradient, [0, 2, 0, 1, 1])


def test_the_first_of_equals_gets_the_derivative():
    x = np.ones((4, 4), np.float32)
    f = lambda x: lax.reduce_window(x, -np.inf, compare.max, (2, 2), (2, 2))
    want = np.zeros((4, 4), np.float32)
    want[::2, ::2] = 1
    np.testing.assert_array_equal(jax.vjp(f, x)[1](np.ones((2, 2), np.float32))[0], want)


def test_padding_gets_no_derivative_even_beside_infinities():
    x = np.full((3,), -np.inf, np.float32)
    f = lambda x: lax.reduce_window(x, -np.inf, compare.max, (3,), (1,), "SAME")
    got = jax.vjp(f, x)[1](np.ones(3, np.float32))[0]
    assert np.asarray(got).sum() == 3


@pytest.mark.parametrize("size, stride", [((70,), 1), ((70,), 70), ((40, 30), 5), ((9, 8), 1)])
def test_large_windows(size, stride):
    shape = tuple(n + 2 * stride + 3 for n in size)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    strides = (stride,) * len(size)
    views = np.lib.stride_tricks.sliding_window_view(x, size)
    views = views[tuple(slice(None, None, stride) for _ in size)]
    axes = tuple(range(len(size), 2 * len(size)))
    got = lax.reduce_window(x, 0.0, add, size, strides)
    np.testing.assert_allclose(got, views.sum(axes), rtol=1e-4, atol=1e-3)
    f = lambda x: lax.reduce_window(x, np.inf, compare.min, size, strides)
    y, pull = jax.vjp(f, x)
    np.testing.assert_array_equal(y, views.min(axes))
    weights = np.random.default_rng(2).standard_normal(y.shape).astype(np.float32)
    want = np.zeros_like(x)
    for place in np.ndindex(*y.shape):
        corner = tuple(stride * p for p in place)
        block = x[tuple(slice(a, a + n) for a, n in zip(corner, size))]
        at = np.unravel_index(np.argmin(block), block.shape)
        want[tuple(a + k for a, k in zip(corner, at))] += weights[place]
    np.testing.assert_allclose(pull(weights)[0], want, rtol=1e-4, atol=1e-5)
    pushed = jax.jvp(f, (x,), (x,))[1]
    np.testing.assert_allclose(pushed, y, rtol=1e-6)


def test_second_derivatives_of_pooling():
    x = f32(6)

    def f(x):
        y = lax.reduce_window(mul(x, x), -np.inf, compare.max, (2,), (1,))
        return reduce_sum(mul(y, y), (0,))

    best = [max((i, i + 1), key=lambda k: x[k] ** 2) for i in range(5)]
    hessian = np.zeros((6, 6))
    for k in best:
        hessian[k, k] += 12 * x[k] ** 2
    np.testing.assert_allclose(jax.hessian(f)(x), hessian, rtol=1e-5)


@pytest.mark.parametrize("function, init", [(add, 0.0), (compare.max, -np.inf)])
def test_vmap(function, init):
    x = f32(3, 6, 5)
    f = lambda x: lax.reduce_window(x, init, function, (2, 3), (1, 2), "SAME")
    want = np.stack([np.asarray(f(row)) for row in x])
    np.testing.assert_allclose(jax.vmap(f)(x), want, rtol=1e-6)
    pulled = jax.vmap(jax.grad(lambda x: reduce_sum(f(x), (0, 1))))(x)
    rows = [np.asarray(jax.grad(lambda x: reduce_sum(f(x), (0, 1)))(row)) for row in x]
    np.testing.assert_allclose(pulled, np.stack(rows), rtol=1e-6)


def test_a_computation_of_ones_own_and_its_derivative():
    x = f32(7) / 3

    def f(x):
        return lax.reduce_window(x, 0.0, lambda a, b: add(add(a, b), mul(a, b)), (3,), (2,), "SAME")

    padded = np.concatenate([[0], x, [0]])
    blocks = [1 + padded[k : k + 3] for k in (0, 2, 4, 6)]
    np.testing.assert_allclose(f(x), [np.prod(b) - 1 for b in blocks], rtol=1e-5)
    want = np.zeros(9)
    for k, block in zip((0, 2, 4, 6), blocks):
        want[k : k + 3] += np.prod(block) / block
    got = jax.grad(lambda x: reduce_sum(f(x), (0,)))(x)
    np.testing.assert_allclose(got, want[1:-1], rtol=1e-5)


def test_an_initial_value_that_is_not_the_identity_counts():
    x = f32(5)
    got = np.asarray(lax.reduce_window(x, np.float32(1), add, (2,), (1,)))
    np.testing.assert_allclose(got, 1 + x[:-1] + x[1:], rtol=1e-6)
    got = np.asarray(lax.reduce_window(x, np.float32(0.5), compare.max, (2,), (1,), "VALID"))
    np.testing.assert_array_equal(got, np.maximum(np.maximum(x[:-1], x[1:]), np.float32(0.5)))
    flags = booleans(6)
    got = np.asarray(lax.reduce_window(flags, False, compare.bitwise_or, (2,)))
    np.testing.assert_array_equal(got, flags[:-1] | flags[1:])


def test_several_operands():
    x = f32(3, 6)
    places = np.broadcast_to(np.arange(6, dtype=np.int32), (3, 6)).copy()

    def larger(a, b):
        first = compare.ge(a[0], b[0])
        return tuple(compare.select(first, u, v) for u, v in zip(a, b))

    value, place = lax.reduce_window(
        (x, places), (-np.inf, np.int32(-1)), larger, (1, 3), (1, 3), "VALID"
    )
    np.testing.assert_array_equal(value, x.reshape(3, 2, 3).max(-1))
    np.testing.assert_array_equal(place, x.reshape(3, 2, 3).argmax(-1) + np.array([0, 3]))


def test_padding_words():
    assert padtype_to_pads((5, 6), (3, 2), (2, 2), "SAME") == [(1, 1), (0, 0)]
    assert padtype_to_pads((6,), (3,), (2,), "same") == [(0, 1)]
    assert padtype_to_pads((6,), (3,), (2,), "SAME_LOWER") == [(1, 0)]
    assert padtype_to_pads((6,), (3,), (2,), "VALID") == [(0, 0)]
    shape = lax.reduce_window_shape_tuple((8, 9), (2, 3), (2, 2), "SAME", None, (1, 2))
    assert shape == (4, 5)
    with pytest.raises(ArgumentError, match="padding is"):
        padtype_to_pads((6,), (3,), (2,), "FULL")


def test_errors():
    x = f32(4, 4)
    with pytest.raises(ShapeError, match="window_dimensions needs"):
        lax.reduce_window(x, 0.0, add, (2,))
    with pytest.raises(ShapeError, match="window_strides needs"):
        lax.reduce_window(x, 0.0, add, (2, 2), (0, 1))
    with pytest.raises(ShapeError, match="padding needs a pair"):
        lax.reduce_window(x, 0.0, add, (2, 2), (1, 1), ((0, 0),))
    with pytest.raises(ArgumentError, match="padding is"):
        lax.reduce_window(x, 0.0, add, (2, 2), (1, 1), (0, 0))
    with pytest.raises(DtypeError, match="its operand's dtype"):
        lax.reduce_window(x, np.int32(0), add, (2, 2))


def test_nothing():
    assert np.asarray(lax.reduce_window(f32(3), 0.0, add, (5,))).shape == (0,)
    empty = np.zeros((0, 4), np.float32)
    y, pull = jax.vjp(lambda x: lax.reduce_window(x, -np.inf, compare.max, (1, 2)), empty)
    assert np.asarray(pull(y)[0]).shape == (0, 4)


def test_positions_fit_their_dtype():
    with override(enable_x64=True):
        window = Window((16, 16), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))
        x = real(17, 16)
        got = np.asarray(window_arg_p.bind(x, window=window, largest=True))
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got[:, 0], [np.argmax(x[:16]), np.argmax(x[1:])])
