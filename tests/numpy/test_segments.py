"""The functions of plait.ops against loops over rows: ids, modes, buckets, derivatives, rows."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
import plait.ops
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcretizationTypeError,
    DtypeError,
    ShapeError,
)
from plait.ops import segment_max, segment_min, segment_prod, segment_sum
from plait.testing import assert_close
from plait.testing.numerics import differences
from tests.numpy.common import bools, by_meaning, floats, ints, raises  # noqa: F401

by_numpy = pytest.mark.usefixtures("by_meaning")

FUNCTIONS = {
    segment_sum: (np.add, 0),
    segment_prod: (np.multiply, 1),
    segment_max: (np.maximum, -np.inf),
    segment_min: (np.minimum, np.inf),
}
IDS = np.array([3, 0, 3, -1, 1, 0, 9, 3, 4, 1])


def looped(function, data, ids, count):
    """The rows combined one by one."""
    ufunc, start = FUNCTIONS[function]
    if data.dtype.kind in "iu" and not np.isfinite(start):
        info = np.iinfo(data.dtype)
        start = info.min if start < 0 else info.max
    y = np.full((count, *data.shape[1:]), start, data.dtype)
    for row, k in zip(data, ids, strict=True):
        if 0 <= k < count:
            y[k] = ufunc(y[k], row)
    return y


@by_numpy
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("bucket_size", [None, 1, 3, 99])
def test_values(function, bucket_size):
    for data in (floats(10), floats(10, 2, 3), ints(10, 2), ints(10, dtype=np.int8)):
        got = function(data, IDS, 6, bucket_size=bucket_size)
        assert got.dtype == data.dtype
        assert_close(got, looped(function, data, IDS, 6), rtol=1e-5)


@by_numpy
def test_modes():
    data = floats(10, 2)
    for function in FUNCTIONS:
        for bucket_size in (None, 4):
            options = {"num_segments": 4, "bucket_size": bucket_size}
            clipped = looped(function, data, np.clip(IDS, 0, 3), 4)
            assert_close(function(data, IDS, mode="clip", **options), clipped)
            assert_close(
                function(data, IDS, mode="wrap", **options), looped(function, data, IDS % 4, 4)
            )
    increasing = np.sort(IDS)
    got = segment_sum(data, increasing, 5, indices_are_sorted=True)
    assert_close(got, looped(segment_sum, data, increasing, 5))


@by_numpy
def test_ids_of_any_integer_dtype():
    for kind in (np.int8, np.uint8, np.uint32, ml_dtypes.int4):
        got = segment_sum(floats(3), np.array([2, 0, 2]).astype(kind), 300, bucket_size=2)
        assert_close(got, looped(segment_sum, floats(3), [2, 0, 2], 300))


@by_numpy
def test_the_number_of_segments():
    assert segment_sum(floats(3), np.array([1, 1, 0])).shape == (2,)
    assert segment_sum(floats(2), np.array([-1, -2])).shape == (0,)
    assert segment_sum(np.zeros((0, 2)), np.zeros(0, int)).shape == (0, 2)
    assert segment_max(np.zeros((0, 2)), np.zeros(0, int), 3, bucket_size=2).shape == (3, 2)
    assert segment_prod(floats(3), np.array([1, 1, 0]), 0).shape == (0,)


@by_numpy
def test_other_data():
    assert segment_max(bools(3), np.array([0, 0, 2])).tolist() == [bools(3)[:2].any(), False, True]
    assert segment_sum(1.0, np.array([0, 2, 0])).tolist() == [2, 0, 1]
    assert segment_sum(np.ones((1, 2)), np.array([0, 0])).tolist() == [[2, 2]]
    assert segment_max(np.float16([1, 2]), np.array([2, 2])).tolist() == [-np.inf, -np.inf, 2]
    assert segment_max(np.float32([np.nan, 2]), np.array([0, 0])).tolist()[0] != 2
    assert segment_prod(np.complex64([1j, 2]), np.array([0, 0])).tolist() == [2j]


def test_errors():
    with raises(ConcretizationTypeError, "pass num_segments"):
        jax.jit(segment_sum)(floats(3), np.array([1, 1, 0]))
    with raises(DtypeError, "segment ids are integers"):
        segment_sum(floats(3), floats(3))
    with raises(DtypeError, "segment_prod: takes numbers"):
        segment_prod(bools(3), np.zeros(3, int))
    with raises(ShapeError, "an id for each row"):
        segment_sum(floats(3), np.zeros(2, int))
    with raises(ArgumentError, "num_segments is at least 0"):
        segment_sum(floats(3), np.zeros(3, int), -1)
    with raises(ArgumentError, "bucket_size is at least 1"):
        segment_sum(floats(3), np.zeros(3, int), bucket_size=0)
    with raises(ArgumentError, "'fill', 'drop', 'clip'"):
        segment_sum(floats(3), np.zeros(3, int), mode="forget")
    with raises(ArgumentTypeError, "the argument segment_ids must be an array"):
        segment_sum(floats(3), [0, 0, 0])


@by_numpy
@pytest.mark.parametrize("bucket_size", [None, 3])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives(function, bucket_size, x64):
    """Of smooth points and, for products, of points with one, two and three factors 0."""
    x = floats(10, 2, dtype=np.float64)
    x[[1, 0, 2], 1] = 0 if function is segment_prod else x[[1, 0, 2], 1]
    x[7, 1] *= 1 if function is segment_prod else 0.9
    weights = np.cos(np.arange(12.0)).reshape(6, 2)

    def f(x):
        y = function(x, IDS, 6, bucket_size=bucket_size)
        return (jnp.where(jnp.isfinite(y), y, 0) ** 2 * weights).sum()

    slopes = jax.grad(f)
    t = np.sin(1 + np.arange(20.0)).reshape(10, 2)
    (slope,) = differences(lambda x: [f(x)], [x], [t])
    assert_close(np.vdot(slopes(x), t), slope, rtol=1e-8)
    (turn,) = differences(lambda x: [slopes(x)], [x], [t])
    assert_close(jax.jvp(slopes, (x,), (t,))[1], turn, rtol=1e-7, atol=1e-7)


@by_numpy
def test_ties_share_the_derivative():
    x, ids = np.float32([2, 2, 2, 1]), np.array([0, 0, 0, 1])
    f = functools.partial(segment_max, segment_ids=ids, num_segments=2)
    assert_close(jax.grad(lambda x: f(x)[0])(x), np.float32([1, 1, 1, 0]) / 3)
    # Within a bucket first, then between buckets: as JAX's.
    g = jax.grad(lambda x: f(x, bucket_size=2)[0])(x)
    assert g.tolist() == [0.25, 0.25, 0.5, 0]
    assert jax.grad(lambda x: segment_min(x, ids)[0])(x).tolist() == pytest.approx(
        [1 / 3] * 3 + [0]
    )


def test_rows_through_xla():
    """Values and derivatives, in rows with ids of their own and with one set of ids."""
    data = floats(3, 10, 2)
    ids = np.stack([IDS, IDS[::-1], np.roll(IDS, 3)])

    def all_of_them(x, ids):
        def f(function, x):
            return (function(x, ids, 5, bucket_size=6)[1, 0] ** 2).sum()

        return [jax.value_and_grad(functools.partial(f, g))(x) for g in FUNCTIONS]

    got = jax.jit(jax.vmap(all_of_them))(data, ids)
    for function, (values, slopes) in zip(FUNCTIONS, got, strict=True):
        for k in range(3):
            at = looped(function, data[k], ids[k], 5)[1, 0]
            assert_close(values[k], at**2, rtol=1e-4)
            # Of products: homogeneous in each of their factors; of the others, in all together.
            shares = (slopes[k] * data[k])[ids[k] == 1, 0]
            if function is not segment_prod:
                shares = shares.sum()
            assert_close(shares, np.full(np.shape(shares), 2 * at**2), rtol=1e-4)
    one = jax.jit(jax.vmap(lambda x: [f(x, IDS, 5) for f in FUNCTIONS]))(data)
    for function, y in zip(FUNCTIONS, one, strict=True):
        assert_close(y[2], looped(function, data[2], IDS, 5), rtol=1e-5)


def test_the_names_stand_in_plait_ops():
    assert plait.ops.segment_sum is segment_sum
    assert {"segment_sum", "segment_prod", "segment_max", "segment_min"} <= set(dir(plait.ops))
    with pytest.raises(AttributeError):
        _ = plait.ops.segment_mean
