"""Special functions against SciPy and mpmath, and the derivatives of the incomplete ones."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special

import plait as jax
from plait import lax
from plait.errors import ArgumentError, DtypeError
from plait.hlo.formula import NumpyMath
from plait.ops import incomplete

NAN, INF = np.nan, np.inf
f32 = np.float32
A, X = (
    v.ravel()
    for v in np.meshgrid(
        [1e-3, 0.1, 0.5, 1.0, 2.5, 9.0, 10.0, 30.0, 200.0, 3000.0],
        [1e-6, 0.01, 0.5, 0.99, 1.0, 1.01, 2.6, 9.5, 29.0, 31.0, 190.0, 215.0, 2990.0, 3100.0],
    )
)
P, Q, R = (
    v.ravel()
    for v in np.meshgrid(
        [0.05, 0.5, 1.0, 3.0, 9.9, 10.0, 75.0, 2000.0],
        [0.05, 0.5, 1.0, 4.0, 11.0, 80.0, 1500.0],
        [1e-5, 0.02, 0.4, 0.5, 0.57, 0.9, 0.9999],
    )
)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions(name, x64):
    reference = {"igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc}[name]
    f = jax.jit(getattr(lax, name))
    # The upper one is 1 less the lower one for x <= 1, where it is not small unless a is.
    rtol = {"igamma": 2e-12, "igammac": 2e-11}[name]
    np.testing.assert_allclose(f(A, X), reference(A, X), rtol=rtol, atol=1e-300)
    narrow = np.asarray(f(A.astype(f32), X.astype(f32)))
    assert narrow.dtype == f32
    want = reference(A.astype(f32).astype(float), X.astype(f32).astype(float))
    np.testing.assert_allclose(narrow, want, rtol=1e-6, atol=1e-37)


EDGES = [
    (0, 1, 1), (0, 0, NAN), (-1, 2, NAN), (1, -1, NAN), (1, 0, 0), (2, INF, 1), (INF, 2, 0),
    (INF, INF, NAN), (0, INF, 1), (NAN, 1, NAN), (1, NAN, NAN), (1e-300, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("a", "x", "value"), EDGES)
def test_edges_of_the_incomplete_gamma_functions(a, x, value, x64):
    a, x = np.float64(a), np.float64(x)
    np.testing.assert_allclose(lax.igamma(a, x), value, rtol=1e-13)
    np.testing.assert_allclose(lax.igammac(a, x), 1 - value, rtol=1e-13, atol=1e-16)


def _slope(a, x):
    with mpmath.workdps(40):
        h = mpmath.mpf("1e-12") * a
        ends = [mpmath.gammainc(a + s * h, 0, x, regularized=True) for s in (1, -1)]
        return float((ends[0] - ends[1]) / (2 * h))


@pytest.mark.parametrize(
    ("a", "x"),
    [(0.1, 0.05), (0.5, 0.2), (1.0, 3.0), (2.0, 3.0), (3.0, 2.0), (20.0, 30.0), (150.0, 140.0)],
)
def test_derivatives_by_the_shape(a, x, x64):
    want = _slope(a, x)
    np.testing.assert_allclose(lax.igamma_grad_a(a, x), want, rtol=1e-10)
    by_shape, by_x = jax.grad(lax.igamma, (0, 1))(np.float64(a), np.float64(x))
    np.testing.assert_allclose(by_shape, want, rtol=1e-10)
    density = float(np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a)))
    np.testing.assert_allclose(by_x, density, rtol=1e-10)
    upper = jax.grad(lax.igammac, (0, 1))(np.float64(a), np.float64(x))
    np.testing.assert_allclose(upper, [-want, -density], rtol=1e-10)
    # A sample at a fixed quantile moves so that P(a, x) stays.
    np.testing.assert_allclose(lax.random_gamma_grad(a, x), -want / density, rtol=1e-10)


def test_derivatives_of_gamma_samples_at_extremes(x64):
    assert np.isnan(lax.random_gamma_grad(0.0, 1.0))
    assert lax.random_gamma_grad(1.0, 0.0) == 0.0
    # A tiny shape: x = u^(1/a) up to a constant, hence dx/da = -x log(u) / a².
    a, u = 1e-3, 0.5
    x = (u * scipy.special.gamma(a + 1)) ** (1 / a)
    step = 1e-9
    ends = [(u * scipy.special.gamma(a + s + 1)) ** (1 / (a + s)) for s in (step, -step)]
    want = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(lax.random_gamma_grad(a, x), want, rtol=1e-5)


def test_incomplete_beta_function(x64):
    f = jax.jit(lax.betainc)
    want = scipy.special.betainc(P, Q, R)
    np.testing.assert_allclose(f(P, Q, R), want, rtol=5e-11, atol=1e-300)
    narrow = np.asarray(f(P.astype(f32), Q.astype(f32), R.astype(f32)))
    assert narrow.dtype == f32
    exact = scipy.special.betainc(*(v.astype(f32).astype(float) for v in (P, Q, R)))
    np.testing.assert_allclose(narrow, exact, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize(
    ("a", "b", "x", "value"),
    [
        (0, 1, 0.5, 1), (1, 0, 0.5, 0), (0, 0, 0.5, NAN), (1, 1, 0, 0), (1, 1, 1, 1),
        (1, 1, -0.5, NAN), (1, 1, 2, NAN), (-1, 1, 0.5, NAN), (INF, 1, 0.5, 0), (1, INF, 0.5, 1),
        (NAN, 1, 0.5, NAN), (2, 3, NAN, NAN), (0, 1, 0, 0), (1, 0, 1, 1),
    ],
)  # fmt: skip
def test_edges_of_the_incomplete_beta_function(a, b, x, value, x64):
    np.testing.assert_array_equal(lax.betainc(*map(np.float64, (a, b, x))), value)


def test_derivative_of_the_incomplete_beta_function(x64):
    def slope(a, b, x):
        return float(jax.grad(lax.betainc, 2)(*map(np.float64, (a, b, x))))

    np.testing.assert_allclose(slope(2.0, 3.0, 0.3), 12 * 0.3 * 0.7**2, rtol=1e-12)
    np.testing.assert_allclose(slope(1.0, 2.0, 0.0), 2.0, rtol=1e-14)


def _beta_slopes(a, b, x):
    with mpmath.workdps(40):
        h = mpmath.mpf("1e-12")
        ends = [
            [mpmath.betainc(a + s * h * p, b + s * h * q, 0, x, regularized=True) for s in (1, -1)]
            for p, q in ((1, 0), (0, 1))
        ]
        return [float((high - low) / (2 * h)) for high, low in ends]


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [(0.5, 0.5, 0.5), (2.0, 3.0, 0.1), (2.0, 3.0, 0.9), (12.0, 9.0, 0.6), (0.05, 4.0, 1e-3)],
)
def test_derivatives_of_the_incomplete_beta_function_by_its_shapes(a, b, x, x64):
    got = jax.grad(lax.betainc, (0, 1))(*map(np.float64, (a, b, x)))
    np.testing.assert_allclose(got, _beta_slopes(a, b, x), rtol=1e-11)
    assert jax.grad(lax.betainc, (0, 1))(a, b, 0.0) == (0.0, 0.0)
    with pytest.raises(ArgumentError, match="betainc_grad_a"):
        jax.grad(jax.grad(lax.betainc))(a, b, x)


def test_zeta_and_polygamma(x64):
    s = np.array([1.5, 2.0, 3.7, 12.0, 2.0, 3.0, 1.0, 0.5, 2.0, 2.5])
    q = np.array([1.0, 0.3, 5.0, 0.9, -0.5, -0.5, 2.0, 2.0, -3.0, -0.5])
    np.testing.assert_allclose(lax.zeta(s, q), scipy.special.zeta(s, q), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(lax.zeta, 1)(2.5, 1.5), -2.5 * scipy.special.zeta(3.5, 1.5))
    by_s, by_q = jax.grad(lax.zeta, (0, 1))(np.float64(2.5), np.float64(0.7))
    slope = float(mpmath.zeta(mpmath.mpf(2.5), mpmath.mpf(0.7), 1))
    np.testing.assert_allclose([by_s, by_q], [slope, -2.5 * scipy.special.zeta(3.5, 0.7)])
    n = np.array([0.0, 1.0, 2.0, 5.0, -1.0, 0.5])
    x = np.array([0.7, 1.5, -0.5, 3.0, 2.0, 2.0])
    want = [scipy.special.polygamma(int(k), v) for k, v in zip(n[:4], x[:4], strict=True)]
    np.testing.assert_allclose(lax.polygamma(n, x), [*want, NAN, NAN], rtol=1e-12)
    third = jax.grad(lambda v: lax.polygamma(2.0, v))(1.5)
    np.testing.assert_allclose(third, scipy.special.polygamma(3, 1.5), rtol=1e-12)
    np.testing.assert_allclose(
        jax.grad(jax.grad(lax.lgamma))(0.3), scipy.special.polygamma(1, 0.3), rtol=1e-12
    )
    with pytest.raises(ArgumentError, match="polygamma"):
        jax.grad(lax.polygamma)(1.0, 2.0)


def test_bessel_functions(x64):
    x = np.concatenate([np.linspace(-30, 30, 301), [1e-300, 8.0, -8.0, 1e5, 1e300, INF, -INF]])
    np.testing.assert_allclose(lax.bessel_i0e(x), scipy.special.i0e(x), rtol=2e-15)
    np.testing.assert_allclose(lax.bessel_i1e(x), scipy.special.i1e(x), rtol=3e-15)
    assert np.signbit(lax.bessel_i1e(-0.0))
    i0, i1 = scipy.special.i0e(1.7), scipy.special.i1e(1.7)
    np.testing.assert_allclose(jax.grad(lax.bessel_i0e)(1.7), i1 - i0)
    np.testing.assert_allclose(jax.grad(lax.bessel_i1e)(1.7), i0 - i1 / 1.7 - i1)


def test_error_functions(x64):
    x = np.linspace(-5, 5, 101)
    np.testing.assert_allclose(lax.erf(x), scipy.special.erf(x), rtol=1e-14)
    np.testing.assert_allclose(lax.erfc(x), scipy.special.erfc(x), rtol=1e-13)
    y = np.array([-1, -0.99999, -0.5, 0, 1e-300, 0.3, 1 - 1e-12, 1, 2, NAN])
    np.testing.assert_allclose(lax.erf_inv(y), scipy.special.erfinv(y), rtol=1e-13)
    np.testing.assert_allclose(jax.grad(lax.erfc)(0.5), -2 / np.sqrt(np.pi) * np.exp(-0.25))
    slope = jax.grad(lax.erf_inv)(0.5)
    np.testing.assert_allclose(slope, np.sqrt(np.pi) / 2 * np.exp(scipy.special.erfinv(0.5) ** 2))


def test_they_refuse_integers_and_complex_numbers():
    for f in (lax.lgamma, lax.erf, lax.bessel_i0e):
        with pytest.raises(DtypeError):
            f(np.int32(1))
        with pytest.raises(DtypeError):
            f(np.complex64(1))


def test_under_vmap():
    a, x = np.array([0.5, 2.0], f32), np.array([[0.3, 1.0], [2.0, 5.0]], f32)
    got = jax.vmap(jax.vmap(lax.igamma, (None, 0)), (0, 0))(a, x)
    np.testing.assert_allclose(got, scipy.special.gammainc(a[:, None], x), rtol=1e-6)


def test_incomplete_functions_where_there_is_no_float64():
    # As on TPUs: gamma functions overflow from 35 on.
    a, b = np.float32([2, 40, 90, 100]), np.float32([3, 50, 70, 3])
    x, m = np.float32([0.3, 0.45, 0.6, 0.97]), NumpyMath()
    with np.errstate(over="ignore"):
        got = incomplete._betainc(m, a, b, x), incomplete._igamma(m, a, b)
    np.testing.assert_allclose(got[0], scipy.special.betainc(a, b, x), rtol=1e-5)
    np.testing.assert_allclose(got[1], scipy.special.gammainc(a, b), rtol=1e-5, atol=1e-30)
