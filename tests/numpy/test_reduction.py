"""Reductions and running sums against NumPy: axes, masks, NaN, half precision, empty arrays."""

from __future__ import annotations

import numpy as np
import pytest

import plait.numpy as jnp
from plait.errors import ArgumentError, OutOfRangeError, ShapeError
from tests.numpy.common import (
    assert_same,
    bools,
    by_meaning,  # noqa: F401
    check,
    check_expression,
    complexes,
    floats,
    ints,
    lines,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

F, H, K, B, C = floats(3, 4), floats(2, 3, 4), ints(3, 4), bools(3, 4), complexes(3, 4)
N = np.where(bools(3, 4, seed=8), np.float32(np.nan), F)
Q = np.abs(floats(3, 4, seed=4))
SUMS = "sum prod max min mean var std any all median ptp".split()
NANS = "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian".split()


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, -1), ()])
def test_axes(name, axis):
    if name in ("median", "ptp") and axis == ():
        return
    check(name, H, axis=axis)
    check(name, H, axis=axis, keepdims=True)


@pytest.mark.parametrize("name", SUMS)
def test_dtypes(name):
    for x in (F, K, F.astype(np.float16), np.abs(K).astype(np.uint8)):
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        assert_same(getattr(jnp, name)(x, 0), getattr(np, name)(wide, 0))
    if name not in ("median", "ptp", "any", "all"):
        check(name, C, axis=0)
    if name not in ("ptp", "median"):
        check(name, B, axis=0)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all"])
def test_where(name):
    check(name, F, axis=0, where=B)
    check(name, F, axis=1, where=B[:, :1])


def test_where_and_initial():
    for name in ("sum", "prod", "max", "min"):
        check(name, F, axis=0, where=B, initial=0.5)
        check(name, K, initial=3)
    with raises(ArgumentError, "initial"):
        jnp.max(F, where=B)


@pytest.mark.parametrize("name", NANS)
def test_nan_is_left_out(name):
    for axis in (None, 0, 1):
        check(name, N, axis=axis)
        check(name, F, axis=axis)
    check(name, K, axis=0)


def test_nan_is_kept_otherwise():
    for name in ("sum", "max", "min", "mean", "median"):
        assert np.isnan(np.asarray(getattr(jnp, name)(N)))


def test_positions():
    for name in ("argmax", "argmin"):
        for axis in (None, 0, -1):
            check(name, H, axis=axis, result=np.int32)
        check(name, H, axis=1, keepdims=True)
        check(name, B, axis=0)
        check(name, N, axis=None)
    check("nanargmax", np.float32([np.nan, 1, 3]))
    check("nanargmin", np.float32([np.nan, 1, 3]))
    assert int(jnp.nanargmax(np.float32([np.nan]))) == -1


def test_running_sums():
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        for axis in (None, 0, 1):
            check(name, F, axis=axis)
        check(name, K.astype(np.int8) if "sum" in name else K, axis=0)
    check("nancumsum", N, axis=0)
    check("cumsum", B, axis=0)
    check("cumsum", F, axis=0, dtype=np.float16)
    half = floats(1000, dtype=np.float16)
    assert_same(jnp.cumsum(half), np.cumsum(half.astype(np.float64)), np.float16)


TABLE = """
xp.count_nonzero(B); xp.count_nonzero(K, 0); xp.count_nonzero(K, 1, keepdims=True)
xp.average(F); xp.average(F, 0, weights=Q[:, 0]); xp.average(F, weights=Q, returned=True)
xp.average(K, 1); xp.average(H, (0, 2), weights=H[:, 0] ** 2, keepdims=True)
xp.var(F, ddof=1); xp.std(F, 0, ddof=1); xp.var(F, correction=1); xp.var(C); xp.std(C, 0)
xp.trapezoid(V); xp.trapezoid(F, dx=2.0); xp.trapezoid(V, W); xp.trapezoid(F, axis=0)
xp.trapezoid(K); xp.trapezoid(F, F * F, axis=0); xp.trapezoid(F, W[:F.shape[0]], axis=0)
xp.cumulative_sum(V, include_initial=True); xp.cumulative_prod(F, axis=1)
xp.cumulative_sum(K, axis=0)
xp.sum(F, dtype=np.float16); xp.mean(K, dtype=np.float32); xp.sum(K, dtype=np.float32)
xp.amax(F, 0); xp.amin(F, 0); xp.ptp(F, 0, keepdims=True)
"""
NAMES = {"F": F, "H": H, "K": K, "B": B, "C": C, "Q": Q, "V": floats(5), "W": floats(5, seed=7)}


@pytest.mark.parametrize("text", lines(TABLE))
def test_against_numpy(text):
    check_expression(text, NAMES)


def test_the_integral_of_integers_is_a_strong_float():
    y = jnp.trapezoid(np.int32([1, 3]), np.int32([0, 4]))
    assert y == 8 and y.dtype == np.float32 and not y.weak_type


def test_half_precision_is_accumulated_in_float32():
    x = np.full(5000, 0.1, np.float16)
    for name in ("sum", "mean"):
        want = getattr(np, name)(x.astype(np.float64))
        got = getattr(jnp, name)(x)
        assert got.dtype == np.float16
        np.testing.assert_allclose(float(got), want, rtol=1e-3)
    assert np.isfinite(float(jnp.var(np.full(10, 300, np.float16) * np.float16(1))))


def test_empty_arrays():
    e = np.zeros((0, 3), np.float32)
    for name in ("sum", "prod", "any", "all"):
        check(name, e)
        check(name, e, axis=0)
        check(name, e, axis=1)
    assert np.isnan(float(jnp.mean(e)))
    assert np.isnan(float(jnp.var(e)))
    assert jnp.max(e, 1).shape == (0,)
    assert jnp.median(e, 1).shape == (0,)
    for f in (jnp.max, jnp.min, jnp.argmax):
        with raises(ValueError, "a "):
            f(e, 0)
    assert float(jnp.max(e, initial=2)) == 2


def test_errors():
    with raises(OutOfRangeError, "axis 5", "sum"):
        jnp.sum(F, axis=5)
    for kind in (IndexError, ValueError):
        with raises(kind, "axis"):
            jnp.cumsum(F, 2)
    with raises(ShapeError, "twice"):
        jnp.mean(F, axis=(0, -2))
    with raises(TypeError, "out"):
        jnp.sum(F, out=F)
    with raises(TypeError, "the argument a"):
        jnp.sum([1, 2])
    with raises(TypeError, "axis"):
        jnp.sum(F, axis=0.5)
