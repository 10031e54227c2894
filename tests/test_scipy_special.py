"""plait.scipy.special against SciPy and mpmath: values, edges, dtypes, derivatives."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special as reference

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, DtypeError
from plait.scipy import special

INF, NAN = np.inf, np.nan
f32, f64 = np.float32, np.float64


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def drawn(low, high, n=120, seed=0, log=False):
    numbers = np.random.default_rng(seed).uniform(low, high, n)
    return 10.0**numbers if log else numbers


ALL = np.concatenate([drawn(-8, 8), drawn(-30, 2, log=True), -drawn(-30, 1.3, log=True)])
POSITIVE = np.concatenate([drawn(0, 12), drawn(-30, 2, log=True)])
UNIT = np.concatenate([drawn(0, 1), drawn(-30, -1, log=True), 1 - drawn(-9, -1, log=True)])
ONE = {
    "dawsn": ALL, "digamma": POSITIVE, "entr": ALL, "erf": ALL, "erfc": ALL, "erfcx": ALL,
    "erfinv": UNIT, "exp1": POSITIVE, "expi": ALL, "expit": ALL, "factorial": POSITIVE,
    "gamma": POSITIVE, "gammaln": POSITIVE, "gammasgn": ALL, "i0": ALL, "i0e": ALL, "i1": ALL,
    "i1e": ALL, "log_ndtr": ALL, "logit": UNIT, "ndtr": ALL, "ndtri": UNIT, "spence": POSITIVE,
}  # fmt: skip
TWO = {
    "beta": (POSITIVE, POSITIVE[::-1]), "betaln": (POSITIVE, POSITIVE[::-1]),
    "boxcox": (POSITIVE, drawn(-3, 3, 240)), "boxcox1p": (POSITIVE, drawn(-3, 3, 240)),
    "comb": (np.floor(POSITIVE * 4), np.floor(POSITIVE[::-1])),
    "gammainc": (POSITIVE, POSITIVE[::-1]), "gammaincc": (POSITIVE, POSITIVE[::-1]),
    "kl_div": (POSITIVE, POSITIVE[::-1]), "owens_t": (drawn(-2, 2), drawn(-2, 2, seed=1)),
    "poch": (POSITIVE, POSITIVE[::-1] / 2), "rel_entr": (POSITIVE, POSITIVE[::-1]),
    "xlog1py": (ALL, POSITIVE[:120].repeat(3)), "xlogy": (ALL, POSITIVE[:120].repeat(3)),
    "zeta": (1.01 + POSITIVE, np.maximum(POSITIVE[::-1], 0.01)),
}  # fmt: skip


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_values(name, x64):
    xs = TWO[name] if name in TWO else (ONE[name],)
    want = getattr(reference, name)(*xs)
    y = np.asarray(jax.jit(getattr(special, name))(*xs))
    assert y.dtype == f64
    np.testing.assert_allclose(y, want, rtol=5e-13, atol=1e-300)
    with np.errstate(over="ignore", under="ignore"):
        narrow = [x.astype(f32) for x in xs]
        want = getattr(reference, name)(*(x.astype(f64) for x in narrow))
        with jax.enable_x64(False):
            y = np.asarray(jax.jit(getattr(special, name))(*narrow))
        assert y.dtype == f32
        ordinary = (np.abs(want) > 1e-37) & (np.abs(want) < 3e38)
        np.testing.assert_allclose(y[ordinary], want[ordinary], rtol=2e-7)


def test_values_of_several_results(x64):
    for name in ("sici", "fresnel"):
        for got, want in zip(
            getattr(special, name)(ALL), getattr(reference, name)(ALL), strict=True
        ):
            want = (
                reference.sici(np.abs(ALL))[1] if name == "sici" and np.isnan(want).any() else want
            )
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=2e-16)
    z = np.concatenate([drawn(-40, 40, 40), [0.0, 1e-3, 1e4]])
    got = special.bessel_jn(z, v=7)
    want = np.stack([reference.jv(k, z) for k in range(8)])
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    n = np.arange(24) % 8
    x = drawn(-2, 1.5, 24, log=True)
    np.testing.assert_allclose(special.expn(n, x), reference.expn(n, x), rtol=1e-13)


EXACT = {
    "beta": mpmath.beta,
    "betainc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    "gammainc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mpmath.gammainc(a, x, regularized=True),
}


@pytest.mark.parametrize("name", EXACT)
def test_digits(name, x64):
    # Tails, shapes below 1, and shapes at which other formulas take over (8.5, 170).
    shapes = np.array([0.01, 0.16, 0.9, 2.5, 7.2, 8.4, 8.6, 30.0, 84.0, 120.0, 169.0])
    last = np.array([1e-6, 0.05, 0.3, 0.47, 0.52, 0.89, 0.97])
    if name == "betainc":
        xs = [v.ravel() for v in np.meshgrid(shapes, shapes, last)]
    elif name == "beta":
        xs = [v.ravel() for v in np.meshgrid(shapes, shapes)]
    else:
        xs = [v.ravel() for v in np.meshgrid(shapes, last)]
        xs[1] = xs[1] * (2.0 * xs[0] + 3.0)
    y = np.asarray(jax.jit(getattr(special, name))(*xs))
    with mpmath.workdps(60):
        want = np.array([float(EXACT[name](*map(mpmath.mpf, x))) for x in zip(*xs, strict=True)])
    tail = want < 1e-30  # where logarithms are taken
    np.testing.assert_allclose(y[~tail], want[~tail], rtol=2e-14)
    np.testing.assert_allclose(y[tail], want[tail], rtol=2e-13, atol=1e-300)


def test_hypergeometric_functions(x64):
    a, b, c = (drawn(0.1, 6, 80, seed) for seed in range(3))
    x = drawn(-20, 20, 80, 3)
    np.testing.assert_allclose(special.hyp1f1(a, b, x), reference.hyp1f1(a, b, x), rtol=1e-11)
    x = np.concatenate([drawn(-4, 0, 40, 4), drawn(0, 1, 40, 5)])
    np.testing.assert_allclose(special.hyp2f1(a, b, c, x), reference.hyp2f1(a, b, c, x), rtol=1e-10)
    # a + b - c whole: the connection to 1 - x has a logarithm.
    got = special.hyp2f1(0.5, 1.5, 3.0, 0.97)
    np.testing.assert_allclose(got, float(mpmath.hyp2f1(0.5, 1.5, 3, 0.97)), rtol=1e-13)
    assert special.hyp1f1(0.0, 0.0, 3.0) == 1 and special.hyp2f1(1.0, 1.0, 1.0, 2.0) == INF


@pytest.mark.parametrize(
    ("name", "xs", "value"),
    [
        ("xlogy", (0, 0), 0), ("xlogy", (0, NAN), NAN), ("xlog1py", (0, -1), 0), ("entr", (0,), 0),
        ("entr", (-1,), -INF), ("kl_div", (0, 0), 0), ("kl_div", (0, 2), 2),
        ("kl_div", (1, 0), INF), ("rel_entr", (0, 0), 0), ("rel_entr", (-1, 1), INF),
        ("logit", (0,), -INF), ("logit", (1,), INF), ("logit", (2,), NAN),
        ("gamma", (0,), INF), ("gamma", (-2,), NAN),
        ("gammaln", (-2,), INF), ("factorial", (-1,), 0), ("comb", (5, 2), 10), ("comb", (2, 5), 0),
        ("ndtr", (-INF,), 0), ("ndtri", (0,), -INF), ("ndtri", (1,), INF), ("ndtri", (2,), NAN),
        ("exp1", (0,), INF), ("exp1", (-1,), NAN), ("expi", (0,), -INF), ("erfinv", (1,), INF),
        ("spence", (0,), np.pi**2 / 6), ("spence", (1,), 0), ("poch", (3, 0), 1), ("i1", (0,), 0),
        ("i0", (-INF,), INF), ("i1", (-INF,), -INF),
        ("boxcox", (0, -1), -INF), ("gammasgn", (-0.5,), -1), ("owens_t", (0, 1), 0.125),
        ("multigammaln", (3.0, 2), reference.multigammaln(3.0, 2)), ("loggamma", (-0.5,), NAN),
    ],
)  # fmt: skip
def test_edges(name, xs, value, x64):
    xs = [x if name == "multigammaln" and k else f64(x) for k, x in enumerate(xs)]
    np.testing.assert_allclose(getattr(special, name)(*xs), value, rtol=1e-14)


SMOOTH = {
    "xlogy": (0.7, 1.3), "xlog1py": (0.7, 1.3), "entr": (0.4,), "kl_div": (0.7, 1.3),
    "poch": (2.3, 1.2),
    "rel_entr": (0.7, 1.3), "logit": (0.3,), "boxcox": (1.7, 0.4), "boxcox1p": (0.7, 0.0),
    "beta": (1.2, 2.3), "betaln": (9.2, 12.3), "betainc": (1.2, 2.3, 0.4), "gammainc": (1.2, 0.8),
    "gammaincc": (3.2, 5.8), "comb": (5.2, 2.1), "factorial": (2.2,), "gamma": (-1.4,),
    "erfcx": (0.4,), "dawsn": (1.4,), "ndtr": (0.4,), "log_ndtr": (-3.0,), "ndtri": (0.3,),
    "owens_t": (0.6, 1.4), "exp1": (0.6,), "expi": (0.6,), "spence": (0.6,), "i0": (1.4,),
    "i1": (1.4,), "zeta": (2.4, 0.7), "hyp1f1": (0.7, 1.6, 1.1), "hyp2f1": (0.7, 1.6, 2.2, -0.4),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name, x64):
    xs, h = [f64(x) for x in SMOOTH[name]], 1e-4
    f = jax.jit(getattr(special, name))
    slopes = jax.grad(f, tuple(range(len(xs))))(*xs)
    for k, slope in enumerate(slopes):
        at = [float(f(*xs[:k], xs[k] + s * h, *xs[k + 1 :])) for s in (-2, -1, 1, 2)]
        want = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)
        np.testing.assert_allclose(slope, want, rtol=1e-7, atol=1e-10)


def test_derivatives_at_edges():
    zero = f32(0)
    assert jax.grad(special.xlogy, (0, 1))(zero, zero) == (-INF, 0.0)
    assert jax.grad(special.xlogy, (0, 1))(zero, f32(1)) == (0.0, 0.0)
    assert jax.grad(special.kl_div, (0, 1))(zero, zero) == (-1.0, 1.0)
    assert jax.grad(special.rel_entr, (0, 1))(zero, zero) == (0.0, 0.0)
    assert jax.grad(special.entr)(zero) == INF and jax.grad(special.entr)(f32(-1)) == 0
    # Far below, the derivative of log_ndtr is -x.
    np.testing.assert_allclose(jax.grad(special.log_ndtr)(f32(-1e4)), 1e4, rtol=1e-6)
    assert jax.grad(special.log_ndtr)(f32(50)) == 0
    assert jax.grad(special.spence)(f32(1)) == -1


def test_dtypes_and_shapes():
    assert special.gamma(5).dtype == f32 and special.gamma(5) == 24
    assert special.gamma(jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16
    assert special.beta(np.ones((2, 1), f32), np.ones(3, f32)).shape == (2, 3)
    assert special.gammaln(np.zeros((0, 2), f32)).shape == (0, 2)
    got = jax.vmap(special.xlogy, (0, None))(np.arange(3.0, dtype=f32), f32(2))
    np.testing.assert_allclose(got, np.arange(3) * np.log(2), rtol=1e-6)
    for bad in (special.ndtr, special.log_ndtr, special.ndtri, special.spence):
        with pytest.raises(DtypeError):
            bad(1)
    with pytest.raises(DtypeError):
        special.gammaln(np.complex64(1))
    with pytest.raises(ArgumentError):
        special.polygamma(1.0, 2.0)


def test_numbers(x64):
    np.testing.assert_allclose(special.bernoulli(12), reference.bernoulli(12), rtol=1e-11)
    assert special.bernoulli(0).shape == (1,)
    got = special.comb(jnp.arange(4), 2, repetition=True)
    np.testing.assert_allclose(got, [reference.comb(n, 2, repetition=True) for n in range(4)])
    got = special.polygamma(np.arange(4), np.array([0.5, 1.5, 2.5, 40.0]))
    want = reference.polygamma(np.arange(4), [0.5, 1.5, 2.5, 40.0])
    np.testing.assert_allclose(got, want, rtol=1e-13)
    x = np.array([[1.0, 2.0], [3.0, 1e3]])
    np.testing.assert_allclose(special.softmax(x, axis=0), reference.softmax(x, axis=0))
    np.testing.assert_allclose(special.log_softmax(x), reference.log_softmax(x))
    np.testing.assert_allclose(special.logsumexp(x, axis=1), reference.logsumexp(x, axis=1))
    with pytest.raises(ArgumentError):
        special.bernoulli(-1)
    with pytest.raises(ArgumentError):
        special.factorial(3, exact=True)


def test_logarithms_and_erfcx_of_complex_numbers(x64):
    x = np.array([0, 0, 1 + 1j, -2 + 0.5j, 0])
    y = np.array([0, 1j, -1 + 0.1j, 3, np.nan])
    for name, args in {"xlogy": (x, y), "xlog1py": (x, y), "erfcx": (x,)}.items():
        found, expected = (getattr(m, name)(*args) for m in (special, reference))
        assert np.allclose(found, expected, rtol=1e-12, equal_nan=True), name
    # At x = 0 the derivative by y is 0, wherever y is; that by x is the logarithm.
    assert jax.grad(lambda y: special.xlogy(0j, y).real)(0j) == 0
    assert np.allclose(jax.grad(lambda x: special.xlogy(x, 2 + 0j).real)(0j), np.log(2))
