"""Complex functions: how exact each part is, and NumPy's values, which are C's, at zeros of both
signs, infinities and NaN.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from benchmarks.accuracy import COMPLEX, complex_points, complex_ulps, parts

NUMBERS = np.array([0.0, 1.5, 0.3, 100.0, 800.0, 1e300, 1e-300, np.inf, np.nan])
NUMBERS = np.concatenate([NUMBERS, -NUMBERS])
GRID = np.empty((len(NUMBERS), len(NUMBERS)), np.complex128)
GRID.real, GRID.imag = NUMBERS[:, None], NUMBERS
FUNCTIONS = [*COMPLEX, "expm1"]
POINTS = complex_points(40)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype, x64):
    with np.errstate(all="ignore"):
        x = np.concatenate([GRID.ravel(), POINTS]).astype(dtype)
    y = np.array(getattr(jnp, name)(jnp.asarray(x)))
    edges = slice(0, GRID.size)
    if name != "exp2":  # NumPy's is a power, which C leaves open at edges
        special_values(name, x[edges], y[edges].astype(dtype))
    x, y = x[GRID.size :], y[GRID.size :]
    want = parts(COMPLEX.get(name, mpmath.expm1), x)
    error = complex_ulps(y, want)
    if name == "expm1":  # the real part of which cancels where it changes its sign
        bound = 8 * np.finfo(dtype).eps
        np.testing.assert_allclose(y.real, want[0].astype(float), bound, bound)
        error = error[1]
    assert error.max() <= 8


@pytest.mark.parametrize(
    "dtype, beside, top", [("complex64", 1e-19, 88.9), ("complex128", 1e-155, 709.9)]
)
def test_beside_poles_and_just_before_overflow(dtype, beside, top, x64):
    cases = [("arctanh", complex(s, s * beside)) for s in (1, -1)]
    cases += [("arctan", complex(beside, 1)), ("sinh", complex(top)), ("cosh", complex(top, 0.5))]
    cases += [("sinh", complex(-top, 2)), ("sin", complex(0, top)), ("cos", complex(0.5, -top))]
    for name, z in cases:
        x = np.asarray(z, dtype)
        want = complex(getattr(mpmath, name.replace("arc", "a"))(mpmath.mpc(complex(x))))
        got = np.asarray(getattr(jnp, name)(x))
        np.testing.assert_allclose(got, want, 8 * np.finfo(dtype).eps, err_msg=f"{name}({z})")


def special_values(name, x, got):
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x).astype(x.dtype)
        if name == "expm1":  # NumPy's is NaN at infinities
            large = ~np.isfinite(x) | (x.real > 80)
            want[large] = np.exp(x)[large] - 1
    half = np.isnan(want)  # C leaves the sign of the other part open
    for y in (got, want):
        y.real[half], y.imag[half] = abs(y.real[half]), abs(y.imag[half])
    rtol = 1e-12 if x.dtype == np.complex128 else 1e-5
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(want, part)
        np.testing.assert_allclose(a, b, rtol, 1e-30)
        zeros = (a == 0) & (b == 0) & ~half
        np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]))


@pytest.mark.parametrize("name", ["sqrt", "arcsin", "arccos", "arccosh", "arcsinh", "arctanh"])
def test_both_sides_of_the_cuts_under_transformations(name, x64):
    f, g = getattr(jnp, name), getattr(np, name)
    places = [(a, b) for a in (-2.5, -0.5, 0.5, 2.5) for b in (0.0, -0.0)]
    x = np.array([complex(a, b) for a, b in places] + [complex(b, a) for a, b in places])
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(x), g(x), rtol=1e-12)
    # The derivative is that of the side on which x lies.
    beside = x + 1e-6 * (np.copysign(1, x.real) + 1j * np.copysign(1, x.imag))
    slope = (g(beside + 1e-7) - g(beside - 1e-7)) / 2e-7
    got = jax.vmap(jax.grad(f, holomorphic=True))(x)
    np.testing.assert_allclose(got, slope, rtol=1e-5, atol=1e-5)
