"""Reductions against NumPy; their derivatives against formulas and finite differences."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.config import override
from plait.core.sample import booleans, complex_, integers, real
from plait.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError
from plait.ops import compare
from plait.ops import reduce as lax
from plait.ops.arithmetic import add, mul
from plait.ops.axes import reduce_sum

BF16 = ml_dtypes.bfloat16
REAL = [np.bool_, np.int8, np.uint8, np.int32, np.float16, BF16, np.float32]


def f32(*shape):
    return real(*shape, dtype=np.float32)


def values(dtype, *shape):
    if dtype is np.bool_:
        return booleans(*shape)
    low = 0 if dtype is np.uint8 else -9
    return integers(*shape, low=low, high=10).astype(dtype)


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1, 2), (-1,)])
@pytest.mark.parametrize("dtype", REAL)
def test_max_and_min(dtype, axes):
    x = values(dtype, 3, 4, 2)
    same(lax.reduce_max(x, axes), np.max(x, axis=axes))
    same(lax.reduce_min(x, axes), np.min(x, axis=axes))


def test_no_axes_change_nothing():
    x = f32(3)
    assert lax.reduce_max(x, ()) is x


def test_nan_wins_max_and_min():
    x = np.array([[1, np.nan, 3], [1, 2, 3]], np.float32)
    same(lax.reduce_max(x, (1,)), np.array([np.nan, 3], np.float32))
    same(lax.reduce_min(x, (1,)), np.array([np.nan, 1], np.float32))


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.int8, np.uint8, np.bool_])
def test_nothing_gives_the_identity(dtype):
    x = np.zeros((2, 0), dtype)
    integral = np.issubdtype(dtype, np.integer)
    low = np.iinfo(dtype).min if integral else False if dtype is np.bool_ else -np.inf
    high = np.iinfo(dtype).max if integral else True if dtype is np.bool_ else np.inf
    same(lax.reduce_max(x, (1,)), np.full(2, low, dtype))
    same(lax.reduce_min(x, (1,)), np.full(2, high, dtype))


def test_complex_max_compares_real_parts_first():
    x = np.array([1 + 5j, 2 - 1j, 2 + 1j, -3j], np.complex64)
    same(lax.reduce_max(x, (0,)), np.complex64(2 + 1j))
    same(lax.reduce_min(x, (0,)), np.complex64(-3j))


def test_ties_share_the_derivative():
    x = np.array([[1, 3, 3, 2], [5, 5, 5, 5]], np.float32)
    got = jax.grad(lambda x: reduce_sum(lax.reduce_max(x, (1,)), (0,)))(x)
    same(got, np.array([[0, 0.5, 0.5, 0], [0.25] * 4], np.float32))
    got = jax.grad(lambda x: reduce_sum(lax.reduce_min(x, (1,)), (0,)))(x)
    same(got, np.array([[1, 0, 0, 0], [0.25] * 4], np.float32))


def test_more_ties_than_half_precision_counts():
    x = np.zeros(5000, np.float16)
    got = jax.jvp(lambda x: lax.reduce_max(x, (0,)), (x,), (np.ones(5000, np.float16),))[1]
    assert float(got) == 1.0


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32, np.complex64])
def test_prod(dtype):
    x = values(np.int8, 2, 3, 4).astype(dtype)
    same(lax.reduce_prod(x, (1,)), np.prod(x, axis=1, dtype=dtype))
    same(lax.reduce_prod(np.zeros((2, 0), dtype), (1,)), np.ones(2, dtype))


@pytest.mark.parametrize("zeros", [(), (1,), (1, 3), (0, 1, 2)])
def test_the_derivative_of_prod_is_right_at_zeros(zeros):
    x = np.array([2, -1, 3, 0.5, 4], np.float32)
    x[list(zeros)] = 0
    want = np.array([np.prod(np.delete(x, k)) for k in range(5)], np.float32)
    np.testing.assert_allclose(jax.grad(lambda x: lax.reduce_prod(x, (0,)))(x), want, rtol=1e-6)
    second = jax.jacfwd(jax.grad(lambda x: lax.reduce_prod(x, (0,))))(x)
    pairs = [[0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(5)] for i in range(5)]
    np.testing.assert_allclose(second, pairs, rtol=1e-6)


def test_prod_over_several_axes_and_its_derivative():
    x = f32(3, 2, 5)
    weights = f32(2)
    got = jax.grad(lambda x: reduce_sum(mul(weights, lax.reduce_prod(x, (0, 2))), (0,)))(x)
    want = np.empty_like(x)
    for i, j, k in np.ndindex(*x.shape):
        others = np.delete(x[:, j].reshape(-1), 5 * i + k)
        want[i, j, k] = weights[j] * np.prod(others)
    np.testing.assert_allclose(got, want, rtol=2e-5)


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.uint8])
def test_logic(dtype):
    x = values(dtype, 3, 4)
    same(lax.reduce_and(x, (0,)), np.bitwise_and.reduce(x, 0))
    same(lax.reduce_or(x, (1,)), np.bitwise_or.reduce(x, 1))
    same(lax.reduce_xor(x, (0, 1)), np.bitwise_xor.reduce(x, None))
    with pytest.raises(DtypeError, match="takes bool"):
        lax.reduce_and(f32(3), (0,))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", REAL)
def test_argmax_takes_the_first(dtype, axis):
    x = values(dtype, 7, 9)
    wide = x.astype(np.float32)
    same(lax.argmax(x, axis, np.int32), np.argmax(wide, axis).astype(np.int32))
    same(lax.argmin(x, axis, np.uint8), np.argmin(wide, axis).astype(np.uint8))


def test_argmax_takes_the_first_nan():
    x = np.array([[1, np.nan, np.inf, np.nan], [np.inf, 2, np.inf, -np.inf]], np.float32)
    same(lax.argmax(x, 1, np.int32), np.array([1, 0], np.int32))
    same(lax.argmin(x, 1, np.int32), np.array([1, 3], np.int32))
    least = np.full((2, 3), -np.inf, np.float32)
    same(lax.argmax(least, 1, np.int32), np.zeros(2, np.int32))


def test_argmax_under_transformations():
    x = f32(4, 5, 3)
    got = jax.vmap(lambda x: lax.argmax(x, 0, np.int32))(x)
    same(got, np.argmax(x, 1).astype(np.int32))
    t = jax.jvp(lambda x: lax.argmax(x, 0, np.int32), (x,), (x,))[1]
    assert np.asarray(t).dtype.itemsize == 0


def test_errors_of_argmax():
    with pytest.raises(ShapeError, match="no elements"):
        lax.argmax(np.zeros((2, 0), np.float32), 1, np.int32)
    with pytest.raises(DtypeError, match="integer dtype"):
        lax.argmax(f32(3), 0, np.float32)
    with pytest.raises(OutOfRangeError):
        lax.argmax(f32(3), 1, np.int32)


# --- any computation


@pytest.mark.parametrize(
    "function, init, op",
    [
        (add, 0, "reduce_sum"),
        (lambda a, b: mul(b, a), 1.0, "reduce_prod"),
        (compare.max, -np.inf, "reduce_max"),
        (compare.min, np.float32(np.inf), "reduce_min"),
    ],
)
def test_known_computations_become_their_ops(function, init, op):
    program = jax.make_jaxpr(lambda x: lax.reduce(x, init, function, (1,)))(f32(3, 4))
    assert [eqn.op.name for eqn in program.eqns] == [op]


def test_an_initial_value_that_is_not_the_identity_counts():
    x = f32(3, 4)
    got = lax.reduce(x, np.float32(2), add, (0,))
    np.testing.assert_allclose(got, 2 + x.sum(0), rtol=1e-6)
    got = lax.reduce(x, np.float32(1), compare.max, (0,))
    same(got, np.maximum(x.max(0), np.float32(1)))
    flags = booleans(5)
    assert bool(lax.reduce(flags, False, compare.bitwise_or, (0,)))


def softplus_sum(x, y):
    """Associative and commutative, with 0 as identity: (1 + x) (1 + y) - 1."""
    return add(add(x, y), mul(x, y))


def test_a_computation_of_ones_own():
    x = f32(3, 4, 5) / 4
    want = np.prod(1 + x.astype(np.float64), axis=(0, 2)) - 1
    got = lax.reduce(x, 0.0, softplus_sum, (0, 2))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_the_derivative_of_ones_own_computation():
    x = f32(7) / 4

    def f(x):
        return lax.reduce(x, 0.0, softplus_sum, (0,))

    product = np.prod(1 + x)
    np.testing.assert_allclose(jax.grad(f)(x), product / (1 + x), rtol=1e-5)
    hessian = product / np.outer(1 + x, 1 + x) * (1 - np.eye(7))
    np.testing.assert_allclose(jax.hessian(f)(x), hessian, rtol=1e-4, atol=1e-5)


def test_vmap_over_initial_values():
    x, inits = f32(3, 4) / 4, f32(5) / 4
    got = jax.vmap(lambda i: lax.reduce(x, i, softplus_sum, (1,)))(inits)
    want = np.prod(1 + x, axis=1)[None] * (1 + inits[:, None]) - 1
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_several_operands_in_a_tree():
    x = f32(3, 6)
    places = np.broadcast_to(np.arange(6, dtype=np.int32), (3, 6)).copy()

    def larger(a, b):
        first = compare.ge(a["value"], b["value"])
        return {k: compare.select(first, a[k], b[k]) for k in a}

    got = lax.reduce(
        {"value": x, "place": places},
        {"value": -np.inf, "place": np.int32(-1)},
        larger,
        (1,),
    )
    same(got["place"], np.argmax(x, 1).astype(np.int32))
    same(got["value"], x.max(1))


def test_a_computation_may_use_numbers_from_outside_but_no_arrays():
    two = np.float32(2)
    x = f32(4)
    got = lax.reduce(x, 0.0, lambda a, b: add(add(a, b), mul(mul(a, b), two)), (0,))
    np.testing.assert_allclose(got, (np.prod(1 + 2 * x) - 1) / 2, rtol=1e-5)
    with pytest.raises(ArgumentError, match="uses an array from outside"):
        jax.jit(lambda x, c: lax.reduce(x, 0.0, lambda a, b: mul(add(a, b), c), (0,)))(x, two)


def test_errors_of_reduce():
    x = f32(3, 4)
    with pytest.raises(ShapeError, match="initial value is a scalar"):
        lax.reduce(x, np.zeros(4, np.float32), add, (0,))
    with pytest.raises(DtypeError, match="its operand's dtype"):
        lax.reduce(x, np.int32(0), add, (0,))
    with pytest.raises(ShapeError, match="shapes differ"):
        lax.reduce((x, x[0]), (0.0, 0.0), lambda a, b: a, (0,))
    with pytest.raises(OutOfRangeError):
        lax.reduce(x, 0.0, add, (2,))
    with pytest.raises(ShapeError, match="named twice"):
        lax.reduce_max(x, (0, -2))


def test_large_complex_and_x64():
    with override(enable_x64=True):
        x = complex_(300, 5)
        same(lax.argmax(x, 0, np.int64), np.argmax(x, 0))
        np.testing.assert_allclose(lax.reduce_prod(x[:20], (0,)), np.prod(x[:20], 0), rtol=1e-12)
