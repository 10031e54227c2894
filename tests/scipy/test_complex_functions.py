"""Special functions with complex values against SciPy: values, derivatives, dtypes, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError
from plait.scipy import special
from tests.numpy.common import by_meaning, raises  # noqa: F401

pytestmark = pytest.mark.usefixtures("by_meaning", "x64")

RNG = np.random.default_rng(0)
Z = (RNG.normal(size=400) + 1j * RNG.normal(size=400)) * np.exp(RNG.uniform(-6, 4, 400))
EDGES = np.array([0.5, -0.5, -0.5 - 0.0j, 1, 2, -3.5, -30.5 + 1e-3j, 5 + 1e4j, -5 - 1e5j, 1e5, 3j])
DEGREES = RNG.integers(0, 20, 300)
ORDERS = np.array([RNG.integers(-n, n + 1) for n in DEGREES])
POLAR, AZIMUTH = RNG.uniform(0, np.pi, 300), RNG.uniform(0, 2 * np.pi, 300)


def close(got, want, rtol):
    """Close in the plane; where one is not finite the other is not."""
    got, want = np.asarray(got), np.asarray(want)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    error = np.abs(got - want)[finite] / np.maximum(np.abs(want[finite]), 1e-290)
    assert error.max() < rtol


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values():
    z = np.concatenate([Z, EDGES])
    # Near 1 and 2 the logarithm is exact but for what cancels.
    got, want = np.asarray(special.loggamma(z)), scipy.special.loggamma(z)
    np.testing.assert_allclose(got, want, rtol=2e-14, atol=2e-14)
    small = z[np.abs(z) < 20]
    close(special.gamma(small), scipy.special.gamma(small), 1e-12)
    for f in (special.gamma, special.loggamma):
        assert np.isnan(f(np.array([0, -1, -7], complex))).all()
    close(special.wofz(Z), scipy.special.wofz(Z), 2e-13)
    close(special.wofz(Z.real), scipy.special.wofz(Z.real), 1e-14)
    close(special.logit(Z), np.log(Z / (1 - Z)), 1e-13)
    got = special.sph_harm_y(DEGREES, ORDERS, POLAR, AZIMUTH)
    np.testing.assert_allclose(
        got, scipy.special.sph_harm_y(DEGREES, ORDERS, POLAR, AZIMUTH), atol=2e-14
    )
    n, m = np.arange(6)[:, None], np.arange(-3, 4)
    got, want = (f(n, m, 0.3, -1.0) for f in (special.sph_harm_y, scipy.special.sph_harm_y))
    np.testing.assert_allclose(got, want, atol=1e-14)
    traced = jax.jit(lambda n: special.sph_harm_y(n, 1, 0.3, 0.2, n_max=4))(np.array([2, 9]))
    np.testing.assert_allclose(
        traced, scipy.special.sph_harm_y([2, 4], [1, 1], 0.3, 0.2), rtol=1e-12
    )


def test_derivatives():
    z = np.concatenate([Z[(np.abs(Z) > 0.3) & (np.abs(Z) < 6)][:40], [2.0, -0.5, 1j]])
    step = 1e-5
    for name in ("gamma", "loggamma", "wofz"):
        f, g = getattr(special, name), getattr(scipy.special, name)
        z_above = z.astype(complex)
        want = (g(z_above + step) - g(z_above - step)) / (2 * step)
        got = jax.vmap(jax.grad(f, holomorphic=True))(z_above)
        error = np.abs(got - want) / (np.abs(want) + np.abs(g(z_above)) + 1)
        assert error.max() < 1e-7, name
    # At a whole number the reflection, which is not in use there, has none.
    slope = jax.grad(special.loggamma, holomorphic=True)(3 + 0j)
    np.testing.assert_allclose(slope, scipy.special.digamma(3), rtol=1e-12)

    def values(theta):
        return special.sph_harm_y(DEGREES[:30], ORDERS[:30], theta, 0.4).real

    want = (values(POLAR[:30] + step) - values(POLAR[:30] - step)) / (2 * step)
    got = jax.grad(lambda t: values(t).sum())(POLAR[:30])
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_dtypes():
    with jax.enable_x64(False):
        for f in (special.gamma, special.loggamma, special.wofz, special.logit):
            y = f(jnp.array([0.3 + 1j, -2.2 - 0.5j]))
            assert y.dtype == np.complex64
            want = getattr(scipy.special, f.__name__)
            if f is not special.logit:
                np.testing.assert_allclose(y, want(np.array([0.3 + 1j, -2.2 - 0.5j])), rtol=1e-5)
        assert special.wofz(1.0).dtype == special.wofz(1).dtype == np.complex64
        assert special.sph_harm_y(1, 0, 0.1, 0.2).dtype == np.complex64
    assert special.wofz(1.0).dtype == special.sph_harm_y(1, 0, 0.1, 0.2).dtype == np.complex128


def test_mistakes():
    with raises(DtypeError, "integers"):
        special.sph_harm_y(1.0, 0, 0.1, 0.2)
    with raises(ArgumentError, "derivatives"):
        special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1)
    with raises(DtypeError, "angles are real"):
        special.sph_harm_y(1, 0, 0.1j, 0.2)
    with raises(ConcretizationTypeError, "pass n_max"):
        jax.jit(special.sph_harm_y)(1, 0, 0.1, 0.2)
