"""Comparisons, bit ops, select, max, min and clamp against NumPy, at their edges above all."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait import lax
from plait.errors import ArgumentTypeError, DtypeError, ShapeError

NAN, INF = np.nan, np.inf
FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]
INTS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
EDGES = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.5]


def pairs(dtype):
    a, b = np.meshgrid(EDGES, EDGES)
    return a.ravel().astype(dtype), b.ravel().astype(dtype)


def bits(n, dtype, seed=0):
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, n * np.dtype(dtype).itemsize, np.uint8).view(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_of_floats(name, dtype):
    x, y = pairs(dtype)
    numpy = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"}
    numpy |= {"gt": "greater", "ge": "greater_equal"}
    got = np.asarray(getattr(lax, name)(x, y))
    assert got.dtype == np.bool_
    np.testing.assert_array_equal(got, getattr(np, numpy[name])(x.astype(float), y.astype(float)))


def test_comparisons_of_other_dtypes():
    x = np.array([1 + 2j, 1 + 3j, NAN], np.complex64)
    np.testing.assert_array_equal(lax.eq(x, x), [True, True, False])
    np.testing.assert_array_equal(lax.ne(x, np.complex64(1 + 2j)), [False, True, True])
    a, b = np.array([True, False]), np.array([False, False])
    np.testing.assert_array_equal(lax.gt(a, b), [True, False])
    big = np.array([2**31, 5], np.uint32)
    np.testing.assert_array_equal(lax.lt(big, np.uint32(7)), [False, True])
    with pytest.raises(DtypeError, match="lt"):
        lax.lt(x, x)


def test_total_order():
    order = np.array([-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN], np.float32)
    order[0] = np.copysign(np.float32(NAN), np.float32(-1))
    order[-1] = np.copysign(np.float32(NAN), np.float32(1))
    x, y = np.meshgrid(order, order)
    i, j = np.meshgrid(np.arange(8), np.arange(8))
    np.testing.assert_array_equal(lax.lt_to(x, y), i < j)
    np.testing.assert_array_equal(lax.le_to(x, y), i <= j)
    np.testing.assert_array_equal(lax.eq_to(x, y), i == j)


@pytest.mark.parametrize("dtype", INTS)
def test_bit_operations(dtype):
    x, y = bits(64, dtype), bits(64, dtype, 1)
    np.testing.assert_array_equal(lax.bitwise_and(x, y), x & y)
    np.testing.assert_array_equal(lax.bitwise_or(x, y), x | y)
    np.testing.assert_array_equal(lax.bitwise_xor(x, y), x ^ y)
    np.testing.assert_array_equal(lax.bitwise_not(x), ~x)
    width = x.dtype.itemsize * 8
    unsigned = x.view(f"u{x.dtype.itemsize}")
    ones = [bin(int(v)).count("1") for v in unsigned]
    np.testing.assert_array_equal(lax.population_count(x), ones)
    zeros = [width - int(v).bit_length() for v in unsigned]
    got = lax.clz(x)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, zeros)
    high = [(int(a) * int(b)) >> width for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(lax.mulhi(x, y), high)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_upper_half_of_64_bit_products(dtype):
    with jax.enable_x64(True):
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max, info.min, 0, 1], dtype)
        x = np.concatenate([bits(200, dtype), ends])
        y = np.concatenate([bits(200, dtype, 1), ends[1:], ends[:1]])
        high = [(int(a) * int(b)) >> 64 for a, b in zip(x, y, strict=True)]
        np.testing.assert_array_equal(lax.mulhi(x, y), np.array(high, dtype))


def test_logic_of_booleans():
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    np.testing.assert_array_equal(lax.bitwise_and(x, y), x & y)
    np.testing.assert_array_equal(lax.bitwise_or(x, y), x | y)
    np.testing.assert_array_equal(lax.bitwise_xor(x, y), x ^ y)
    np.testing.assert_array_equal(lax.bitwise_not(x), ~x)
    with pytest.raises(DtypeError):
        lax.bitwise_not(np.float32(1))
    with pytest.raises(DtypeError):
        lax.bitwise_and(x, np.array([1, 2, 3, 4], np.int32))


@pytest.mark.parametrize("dtype", INTS)
def test_shifts(dtype):
    x = bits(48, dtype)
    width = x.dtype.itemsize * 8
    amounts = np.array([0, 1, width - 1, width, width + 3, 2], dtype)
    y = np.resize(amounts, 48)
    signed, unsigned = x.view(f"i{x.dtype.itemsize}"), x.view(f"u{x.dtype.itemsize}")

    def each(shift, values):
        return np.array([shift(int(v), int(n)) for v, n in zip(values, y, strict=True)], object)

    left = each(lambda v, n: (v << n) % 2**width if n < width else 0, unsigned)
    np.testing.assert_array_equal(np.asarray(lax.shift_left(x, y)).view(unsigned.dtype), left)
    logical = each(lambda v, n: v >> n if n < width else 0, unsigned)
    got = np.asarray(lax.shift_right_logical(x, y)).view(unsigned.dtype)
    np.testing.assert_array_equal(got, logical)
    arithmetic = each(lambda v, n: v >> min(n, width - 1), signed)
    got = np.asarray(lax.shift_right_arithmetic(x, y)).view(signed.dtype)
    np.testing.assert_array_equal(got, arithmetic)


def test_a_negative_amount_shifts_everything_out():
    x, n = np.array([-7, 7], np.int8), np.int8(-1)
    np.testing.assert_array_equal(lax.shift_left(x, n), [0, 0])
    np.testing.assert_array_equal(lax.shift_right_logical(x, n), [0, 0])
    np.testing.assert_array_equal(lax.shift_right_arithmetic(x, n), [-1, 0])


def test_select():
    x, y = np.arange(4.0, dtype=np.float32), -np.ones(4, np.float32)
    which = np.array([True, False, False, True])
    np.testing.assert_array_equal(lax.select(which, x, y), [0, -1, -1, 3])
    np.testing.assert_array_equal(lax.select(True, x, y), x)
    np.testing.assert_array_equal(lax.select(which, x, 7.0), [0, 7, 7, 3])
    assert lax.select(True, 1, 2.0).dtype == np.float32


def test_select_n_takes_the_nearest_case():
    cases = [np.full(5, k, np.float32) for k in (10, 20, 30)]
    which = np.array([-4, 0, 1, 2, 99], np.int32)
    np.testing.assert_array_equal(lax.select_n(which, *cases), [10, 10, 20, 30, 30])
    np.testing.assert_array_equal(lax.select_n(np.int32(1), *cases), cases[1])
    np.testing.assert_array_equal(lax.select_n(np.int32(0), cases[2]), cases[2])


def test_select_n_refuses():
    x = np.ones(2, np.float32)
    with pytest.raises(ShapeError, match="shapes differ"):
        lax.select_n(True, x, np.ones(3, np.float32))
    with pytest.raises(DtypeError, match="dtypes differ"):
        lax.select_n(True, x, np.ones(2, np.int32))
    with pytest.raises(ShapeError, match="which"):
        lax.select_n(np.ones((3,), bool), x, x)
    with pytest.raises(DtypeError, match="two cases"):
        lax.select_n(True, x, x, x)
    with pytest.raises(DtypeError, match="bool or int"):
        lax.select_n(np.float32(1), x, x)
    with pytest.raises(ArgumentTypeError):
        lax.select_n(True)


def test_derivatives_of_select():
    which, x = np.array([0, 1, 2, 1], np.int32), np.arange(4.0, dtype=np.float32)

    def f(a, b, c):
        return lax.mul(lax.select_n(which, a, b, c), np.array([1, 10, 100, 1000], np.float32)).sum()

    a, b, c = jax.grad(f, (0, 1, 2))(x, x, x)
    np.testing.assert_array_equal(a, [1, 0, 0, 0])
    np.testing.assert_array_equal(b, [0, 10, 0, 1000])
    np.testing.assert_array_equal(c, [0, 0, 100, 0])
    # The case that is not taken does not poison the derivative of the one that is.
    safe = jax.grad(lambda v: lax.select(v > 0, lax.log(v), v))
    assert safe(np.float32(-2)) == 1.0


def test_select_under_vmap():
    x, y = np.ones((3, 2), np.float32), np.zeros(2, np.float32)
    which = np.array([True, False, True])
    got = jax.vmap(lax.select, (0, 0, None))(which, x, y)
    np.testing.assert_array_equal(got, np.where(which[:, None], x, y))
    rows = jax.vmap(lax.select, (None, 0, None))(np.array([True, False]), x, y)
    np.testing.assert_array_equal(rows, [[1, 0]] * 3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_max_and_min_keep_nan(dtype):
    x, y = pairs(dtype)
    wide = x.astype(float), y.astype(float)
    np.testing.assert_array_equal(np.asarray(lax.max(x, y), float), np.maximum(*wide))
    np.testing.assert_array_equal(np.asarray(lax.min(x, y), float), np.minimum(*wide))


def test_max_and_min_of_other_dtypes():
    x = np.array([1 + 2j, 1 + 3j, 2 - 1j, 1], np.complex64)
    y = np.array([1 + 3j, 1 + 2j, 1 + 9j, complex(NAN, 1)], np.complex64)
    np.testing.assert_array_equal(lax.max(x, y), [1 + 3j, 1 + 3j, 2 - 1j, complex(NAN, 1)])
    np.testing.assert_array_equal(lax.min(x, y), [1 + 2j, 1 + 2j, 1 + 9j, complex(NAN, 1)])
    np.testing.assert_array_equal(lax.max(np.array([True, False]), False), [True, False])
    np.testing.assert_array_equal(lax.max(np.uint8([3, 200]), np.uint8(100)), [100, 200])


def test_equal_operands_share_the_derivative():
    slopes = jax.grad(lax.max, (0, 1))
    assert slopes(np.float32(2), np.float32(2)) == (0.5, 0.5)
    assert slopes(np.float32(0.0), np.float32(-0.0)) == (0.5, 0.5)
    assert slopes(np.float32(3), np.float32(2)) == (1.0, 0.0)
    assert slopes(np.float32(NAN), np.float32(2)) == (0.0, 0.0)
    assert jax.grad(lax.min, (0, 1))(np.float32(3), np.float32(2)) == (0.0, 1.0)
    x = np.array([-1.0, 0.0, 1.0], np.float32)
    relu = jax.grad(lambda v: lax.max(v, np.float32(0)).sum())
    np.testing.assert_array_equal(relu(x), [0.0, 0.5, 1.0])


def test_clamp():
    x = np.array([-3.0, -1.0, 0.5, 2.0, 9.0, NAN], np.float32)
    np.testing.assert_array_equal(lax.clamp(-1.0, x, 2.0), [-1, -1, 0.5, 2, 2, NAN])
    low = np.full(6, -1, np.float32)
    np.testing.assert_array_equal(lax.clamp(low, x, 0.0), [-1, -1, 0, 0, 0, NAN])
    assert lax.clamp(np.float32(2), np.float32(1), np.float32(0)) == 0.0
    with pytest.raises(DtypeError):
        lax.clamp(0.5, np.arange(3, dtype=np.int32), 2)


@pytest.mark.parametrize(
    ("operands", "slopes"),
    [
        ((0, 1, 2), (0, 1, 0)),
        ((1, 1, 2), (0, 0, 0)),
        ((0, 2, 2), (0, 0, 0)),
        ((0, -1, 2), (1, 0, 0)),
        ((0, 3, 2), (0, 0, 1)),
        ((2, 1, 0), (0, 0, 1)),
        ((0, NAN, 2), (0, 0, 0)),
    ],
)
def test_derivatives_of_clamp(operands, slopes):
    got = jax.grad(lax.clamp, (0, 1, 2))(*map(np.float32, operands))
    assert tuple(map(float, got)) == slopes


def test_derivative_of_clamp_sums_over_scalar_ends():
    x = np.array([-3.0, -2.0, 0.5, 9.0], np.float32)
    low, high = np.float32(-1), np.float32(2)
    got = jax.grad(lambda a, v, b: lax.clamp(a, v, b).sum(), (0, 1, 2))(low, x, high)
    assert got[0] == 2.0
    np.testing.assert_array_equal(got[1], [0, 0, 1, 0])
    assert got[2] == 1.0


def test_is_finite():
    x = np.array([0, 1, INF, -INF, NAN], np.float32)
    for dtype in FLOATS:
        got = lax.is_finite(x.astype(dtype))
        np.testing.assert_array_equal(got, [True, True, False, False, False])
    with pytest.raises(DtypeError):
        lax.is_finite(np.int32(1))


def test_empty_arrays():
    empty = np.zeros((0, 3), np.float32)
    assert lax.max(empty, empty).shape == (0, 3)
    assert lax.lt(empty, np.float32(1)).shape == (0, 3)
    assert lax.select(lax.lt(empty, empty), empty, empty).shape == (0, 3)
