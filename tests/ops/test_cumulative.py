"""Cumulative ops against NumPy's accumulate, and their derivatives."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.config import override
from plait.core.sample import integers, real
from plait.errors import DtypeError, OutOfRangeError
from plait.ops import cumulative as lax
from plait.ops.axes import reduce_sum

BF16 = ml_dtypes.bfloat16
OPS = {
    "cumsum": (lax.cumsum, np.add),
    "cumprod": (lax.cumprod, np.multiply),
    "cummax": (lax.cummax, np.maximum),
    "cummin": (lax.cummin, np.minimum),
    "cumlogsumexp": (lax.cumlogsumexp, np.logaddexp),
}
every_op = pytest.mark.parametrize("name", OPS)


def accumulate(ufunc, x, axis, reverse):
    if reverse:
        return np.flip(ufunc.accumulate(np.flip(x, axis), axis), axis)
    return ufunc.accumulate(x, axis)


@every_op
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "shape, axis", [((5,), 0), ((3, 40), 0), ((3, 40), 1), ((2, 7, 3), -2), ((4, 1), 1)]
)
def test_values(name, shape, axis, reverse):
    op, ufunc = OPS[name]
    x = real(*shape, low=-1.5, high=1.5, dtype=np.float32)
    got = np.asarray(op(x, axis, reverse))
    assert got.dtype == x.dtype
    want = accumulate(ufunc, x.astype(np.float64), axis, reverse)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


@every_op
@pytest.mark.parametrize("shape, axis", [((10_001,), 0), ((3, 4100), 1), ((4100, 20), 0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_long_axes(name, shape, axis, reverse):
    op, ufunc = OPS[name]
    x = real(*shape, low=-1.0, high=1.0, dtype=np.float32)
    if name == "cumprod":
        x = 1 + x / 1000
    want = accumulate(ufunc, x.astype(np.float64), axis, reverse)
    np.testing.assert_allclose(op(x, axis, reverse), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_integers_wrap(dtype):
    x = integers(50, low=1, high=9).astype(dtype)
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        op, ufunc = OPS[name]
        with np.errstate(all="ignore"):
            want = ufunc.accumulate(x, dtype=dtype)
        got = np.asarray(op(x))
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, want)


def test_half_precision_is_carried_in_float32():
    x = np.ones(1000, BF16)
    got = np.asarray(lax.cumsum(x)).astype(np.float32)
    np.testing.assert_array_equal(got, np.arange(1, 1001, dtype=np.float32).astype(BF16))


def test_nan_and_infinity():
    x = np.array([1, np.inf, 2, np.nan, 3], np.float32)
    np.testing.assert_array_equal(lax.cummax(x), [1, np.inf, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(lax.cumsum(x), [1, np.inf, np.inf, np.nan, np.nan])
    y = np.array([-np.inf, -np.inf, 0, np.inf, -1], np.float32)
    np.testing.assert_array_equal(lax.cumlogsumexp(y), [-np.inf, -np.inf, 0, np.inf, np.inf])
    far = np.array([-1000, 1000, 1000], np.float32)
    np.testing.assert_allclose(lax.cumlogsumexp(far), [-1000, 1000, 1000 + np.log(2)])


@every_op
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives(name, reverse):
    op, _ = OPS[name]
    with override(enable_x64=True):
        x = real(2, 9, low=-1.5, high=1.5)
        if name == "cumprod":
            x[0, 3] = x[1, 2] = x[1, 5] = 0
        weights = real(2, 9)[:, ::-1].copy()

        def f(x):
            return reduce_sum(op(x, 1, reverse) * weights, (0, 1))

        want, step = np.empty_like(x), 1e-6
        for place in np.ndindex(*x.shape):
            e = np.zeros_like(x)
            e[place] = step
            want[place] = (float(f(x + e)) - float(f(x - e))) / (2 * step)
        np.testing.assert_allclose(jax.grad(f)(x), want, rtol=1e-5, atol=1e-7)
        t = real(2, 9)
        np.testing.assert_allclose(jax.jvp(f, (x,), (t,))[1], np.sum(want * t), rtol=1e-5)


@every_op
def test_second_derivatives_agree_in_all_modes(name):
    op, _ = OPS[name]
    with override(enable_x64=True):
        x = real(6, low=0.2, high=1.5)
        f = lambda x: reduce_sum(op(x * x) * real(6), (0,))
        forward = jax.jacfwd(jax.jacfwd(f))(x)
        np.testing.assert_allclose(jax.hessian(f)(x), forward, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(jax.jacrev(jax.jacrev(f))(x), forward, rtol=1e-10, atol=1e-12)


def test_ties_and_minus_infinity():
    got = jax.jacrev(lax.cummax)(np.array([1, 1, 0], np.float32))
    np.testing.assert_array_equal(got, [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    x = np.array([-np.inf, 0, 1], np.float32)
    gradient = jax.grad(lambda x: lax.cumlogsumexp(x)[2])(x)
    np.testing.assert_allclose(gradient, np.exp(x) / np.exp(x).sum(), rtol=1e-6)
    np.testing.assert_array_equal(jax.grad(lambda x: lax.cummax(x)[0])(x), [1, 0, 0])


@every_op
def test_vmap(name):
    op, ufunc = OPS[name]
    x = real(4, 3, 5, dtype=np.float32)
    got = jax.vmap(lambda x: op(x, 0, reverse=True), in_axes=1)(x)
    rows = [accumulate(ufunc, x[:, k].astype(np.float64), 0, True) for k in range(3)]
    np.testing.assert_allclose(got, np.stack(rows), rtol=2e-5, atol=1e-6)


@every_op
def test_nothing(name):
    op, _ = OPS[name]
    x = np.zeros((2, 0), np.float32)
    y, pull = jax.vjp(lambda x: op(x, 1), x)
    assert np.asarray(pull(y)[0]).shape == (2, 0)


def test_errors():
    with pytest.raises(OutOfRangeError, match="cumsum: axis 1"):
        lax.cumsum(np.zeros(3, np.float32), 1)
    with pytest.raises(DtypeError, match="takes float operands"):
        lax.cumlogsumexp(np.zeros(3, np.int32))
