"""Sorting, searching, sets, histograms, order statistics against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError, ShapeError
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

F, B, V, W = floats(3, 4), bools(3, 4), floats(5), floats(5, seed=9)
K, I2 = ints(6, low=0, high=4), ints(3, 4)
N = np.float32([[1, np.nan, 3, 2], [np.nan] * 4, [4, -np.inf, np.inf, 0]])
Q = np.abs(floats(3, 4, seed=4))
NAMES = {"F": F, "B": B, "V": V, "W": W, "K": K, "I": I2, "N": N, "Q": Q, "C": complexes(3, 4)}
NAMES |= {"L": np.sort(floats(300)), "H": floats(2, 3, 4), "V6": floats(6, seed=3)}

SORTING = """
xp.sort(F); xp.sort(F, 0); xp.sort(F, None); xp.sort(N); xp.argsort(F); xp.argsort(I, 0)
xp.argsort(I, kind='stable'); xp.lexsort((K, K[::-1])); xp.lexsort(I.T[:2]); xp.sort(C)
xp.sort_complex(F); xp.searchsorted(np.sort(V), W); xp.searchsorted(np.sort(V), W, 'right')
xp.searchsorted(L, F); xp.searchsorted(L, 0.5)
xp.searchsorted(np.arange(5), np.array([2, 2, 9]), side='right')
xp.searchsorted(V, W, sorter=np.argsort(V))
xp.searchsorted(np.float32([1, 2, np.nan]), np.float32([np.nan, 0, 3]))
xp.digitize(F, np.float32([-1, 0, 1])); xp.digitize(F, np.float32([1, 0, -1]))
xp.digitize(I, np.int32([-3, 0, 3]), right=True); xp.digitize(I, np.int32([3, 0, -3]), right=True)
xp.interp(V, np.sort(W), V); xp.interp(V, np.sort(W), V, left=7.0, right=9.0)
xp.interp(1.5, np.arange(6), V6); xp.interp(V, np.sort(W), V, period=2.0)
xp.interp(1, np.arange(3), np.arange(3))
"""
FINDING = """
xp.nonzero(B); xp.nonzero(I); xp.flatnonzero(B); xp.argwhere(B); xp.where(B); xp.argwhere(V > 0)
xp.extract(B, F); xp.compress(np.array([True, False, True]), F, 0)
xp.compress(np.array([False, True]), F, 1)
xp.compress(np.array([True]), V); xp.select([F > 1, F > 0], [F, 2 * F], 5)
xp.select([B], [I], 2.5)
xp.choose(K % 2, [K, K * 10]); xp.choose(K, [K, K * 10], mode='wrap')
xp.choose(K, [K, K * 10], mode='clip'); xp.piecewise(V, [V < 0, V >= 0], [-1, 1])
xp.piecewise(V, [V < 0], [lambda x: -x, lambda x: x * 2]); xp.piecewise(V, [V < 0, V > 1], [1, 2])
"""
SETS = """
xp.unique(K); xp.unique(K, return_index=True, return_inverse=True, return_counts=True)
xp.unique(N)
xp.unique(I % 2, axis=0); xp.unique(I % 2, axis=1, return_index=True, return_counts=True)
xp.unique(np.zeros((3, 0), int), True, True, True, axis=0)
xp.unique(np.zeros((0, 3)), True, True, True, axis=1); xp.unique(np.zeros((0, 3)), True, axis=0)
xp.unique(F); xp.unique(np.zeros((0,), np.float32)); xp.unique(B, return_counts=True)
xp.isin(K, np.array([1, 2])); xp.isin(F, F[0], invert=True); xp.isin(K, np.arange(100) + 2)
xp.isin(K, np.array([]))
xp.union1d(K, np.array([7, 8])); xp.intersect1d(K, np.array([1, 2, 9]))
xp.setdiff1d(K, np.array([1, 2])); xp.setxor1d(K, np.array([1, 9]))
xp.intersect1d(K, np.array([1, 2, 9]), return_indices=True); xp.unique_all(K); xp.unique_counts(K)
xp.unique_inverse(I)
"""
COUNTS = """
xp.bincount(K); xp.bincount(K, minlength=7); xp.bincount(K, weights=np.arange(6.0))
xp.histogram(F)
xp.histogram(F, 5, range=(-1, 1)); xp.histogram(F, np.float32([-1, 0, 1]), density=True)
xp.histogram(F, 4, weights=Q); xp.histogram2d(V, W, 3); xp.histogram(K, 3)
xp.histogramdd(np.stack([V, W], 1), (2, 3)); xp.histogram_bin_edges(F, 4)
xp.histogram(V, 4, density=True); xp.histogram2d(V, W, (2, 3), density=True)
xp.histogram(np.ones(3, np.float32), 2)
"""
STATISTICS = """
xp.quantile(F, 0.3); xp.quantile(F, np.array([0.1, 0.9]), axis=0); xp.percentile(F, 40)
xp.quantile(F, 0.3, axis=1, keepdims=True); xp.percentile(F, 40, method='lower'); xp.median(F)
xp.percentile(F, 40, method='higher'); xp.percentile(F, 40, method='midpoint')
xp.quantile(N, 0.5)
xp.percentile(F, 38, method='nearest'); xp.nanquantile(N[::2], 0.3, axis=1); xp.quantile(I, 0.3)
xp.nanpercentile(N[::2], 30, axis=1); xp.median(H, axis=(0, 1)); xp.nanmedian(N[::2], 1)
xp.quantile(H, np.array([0.2, 0.5]), axis=(0, 2), keepdims=True)
xp.quantile(F, np.array([0.0, 1.0]))
xp.cov(F); xp.cov(F, rowvar=False); xp.cov(V, W); xp.cov(F, bias=True); xp.cov(F, aweights=Q[0])
xp.cov(F, fweights=K[:4]); xp.cov(F, fweights=K[:4] + 1, aweights=Q[0]); xp.cov(F, ddof=0)
xp.corrcoef(F); xp.corrcoef(V, W); xp.cov(C); xp.corrcoef(C)
"""


@pytest.mark.parametrize("text", lines(SORTING + FINDING + SETS + COUNTS + STATISTICS))
def test_against_numpy(text):
    check_expression(text, NAMES)


def test_descending_order():
    assert_same(jnp.sort(F, descending=True), -np.sort(-F))
    x = np.array([1, 0, 1, 0, 2], np.int32)
    assert_same(jnp.argsort(x, descending=True), np.argsort(-x, kind="stable"))


def test_top_k():
    values, places = jnp.top_k(F, 2)
    assert_same(values, -np.sort(-F)[:, :2])
    assert_same(jnp.take_along_axis(F, places, 1), values)


def test_large_searches():
    a = np.sort(floats(70000))
    v = floats(40, seed=3)
    for side in ("left", "right"):
        check("searchsorted", a, v, side)
        check("searchsorted", np.repeat(a[:5], 200), a[:10], side)


def test_fixed_sizes():
    """With `size` the functions can be traced, and shorter results are filled up."""
    f = plait.jit(lambda b: jnp.nonzero(b, size=8, fill_value=-1))
    rows, columns = np.nonzero(B)
    n = min(len(rows), 8)
    for got, want in zip(f(B), (rows, columns), strict=True):
        assert_same(got[:n], want[:n])
        assert np.all(np.asarray(got)[n:] == -1)
    g = plait.jit(lambda k: jnp.unique(k, size=6, fill_value=99, return_counts=True))
    values, counts = np.unique(K, return_counts=True)
    got_values, got_counts = g(K)
    assert_same(got_values, np.concatenate([values, np.full(6 - len(values), 99)]))
    assert_same(got_counts, np.concatenate([counts, np.zeros(6 - len(values), int)]))
    assert_same(jnp.unique(K, size=2), values[:2])
    assert_same(jnp.union1d(K, np.array([7]), size=6, fill_value=0)[: len(values)], values)
    assert_same(
        jnp.setdiff1d(K, np.array([1]), size=5, fill_value=-1)[:2], np.setdiff1d(K, [1])[:2]
    )
    assert_same(jnp.argwhere(B, size=2), np.argwhere(B)[:2])
    assert_same(jnp.where(B, size=2)[0], np.where(B)[0][:2])
    assert_same(plait.jit(lambda k: jnp.bincount(k, length=3))(K), np.bincount(K)[:3])
    both = jnp.intersect1d(K, np.array([1, 2, 9]), size=3, fill_value=-1)
    want = np.intersect1d(K, [1, 2, 9])
    assert_same(both, np.concatenate([want, np.full(3 - len(want), -1)]))


@pytest.mark.parametrize("name", ["nonzero", "unique", "argwhere", "flatnonzero", "bincount"])
def test_unknown_sizes_in_a_trace(name):
    with raises(ConcretizationTypeError, name, "size=" if name != "bincount" else "length="):
        plait.make_jaxpr(getattr(jnp, name))(K)


def test_errors():
    with raises(ArgumentError, "side"):
        jnp.searchsorted(V, W, "middle")
    with raises(ArgumentError, "method"):
        jnp.quantile(F, 0.5, method="foo")
    with raises(DtypeError, "order"):
        jnp.median(complexes(3))
    with raises(DtypeError, "integers"):
        jnp.bincount(V)
    with raises(ShapeError, "vector"):
        jnp.searchsorted(F, V)
    with raises(ArgumentError, "as many choices"):
        jnp.select([B], [F, F])
    with raises(ArgumentError, "outside of the 2 choices"):
        jnp.choose(np.array([5]), [V, V])
    with raises(ValueError, "q"):
        jnp.quantile(F, np.ones((2, 2)))


def test_histograms_count_weights_in_floats():
    x = np.float32([-1.5, -1, -0.5, -0.2, -1.8])
    for weights in (np.full(5, 100, np.int8), np.ones(5, bool), np.full(5, 0.5, np.float16)):
        counts, _ = jnp.histogram(x, 2, (-2, 0), weights)
        want, _ = np.histogram(x, 2, (-2, 0), weights=weights.astype(float))
        assert counts.dtype == np.float32
        np.testing.assert_array_equal(counts, want)


def test_unique_has_one_nan_whatever_its_bits_and_its_other_part():
    parts = [-0.0, 0.0, 1.0, np.nan, -np.nan]
    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32):
        x = np.array(parts, dtype)
        found, first, inverse, counts = jnp.unique(x, True, True, True)
        assert_same(found, np.array([0, 1, np.nan], dtype))
        assert [first.tolist(), inverse.tolist()] == [[0, 2, 3], [0, 0, 1, 2, 2]]
        assert counts.tolist() == [2, 1, 2]
        assert jnp.unique(x, equal_nan=False).size == 4
    z = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    found, first, inverse, counts = jnp.unique(z, True, True, True)
    _, _, want_inverse, want_counts = np.unique(z, True, True, True)
    assert_same(found[:-1], np.complex64([0, 1j, 1, 1 + 1j]))
    assert np.isnan(found[-1]) and np.isnan(z[first[-1]])
    assert inverse.tolist() == want_inverse.tolist() and counts.tolist() == want_counts.tolist()
