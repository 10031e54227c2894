"""Complex functions: how exact each part is, and NumPy's values, which are C's, at zeros of both
signs, infinities and NaN.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from benchmarks.accuracy import ulps

NUMBERS = np.array([0.0, 1.5, 0.3, 100.0, 800.0, 1e300, 1e-300, np.inf, np.nan])
NUMBERS = np.concatenate([NUMBERS, -NUMBERS])
GRID = np.empty((len(NUMBERS), len(NUMBERS)), np.complex128)
GRID.real, GRID.imag = NUMBERS[:, None], NUMBERS
NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
NAMES |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
FUNCTIONS = ["exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "abs", "sign"]
FUNCTIONS += ["sin", "cos", "tan", "sinh", "cosh", "tanh", *NAMES]


def points(n=40):
    """Finite numbers with parts of very different size, and close to 1, -1 and the unit circle."""
    generator = np.random.default_rng(0)

    def small(scale=1.0):
        size = np.exp(generator.uniform(np.log(1e-8), np.log(20.0), n))
        return scale * size * generator.choice([-1, 1], n)

    def usual(width=3.0):
        return generator.uniform(-width, width, n)

    turns = np.exp(1j * usual()) * (1 + 1e-4)
    pairs = [(usual(), usual()), (small(), small()), (small(), usual()), (usual(), small())]
    pairs += [(1 + small(1e-3), small(1e-3)), (-1 + small(1e-3), small(1e-3))]
    pairs += [(turns.real, turns.imag), (turns.real - 1, turns.imag), (usual(80.0), usual(80.0))]
    return np.concatenate([x + 1j * y for x, y in pairs])


POINTS = points()


def exact(function, x):
    """The parts of function(x), by mpmath, in long double."""
    with mpmath.workdps(50):
        ys = [mpmath.mpc(function(mpmath.mpc(z.real, z.imag))) for z in x.astype(complex)]
        parts = [[(float(p), p - float(p)) for p in (y.real, y.imag)] for y in ys]
    return np.array([[np.longdouble(p) + np.longdouble(float(r)) for p, r in y] for y in parts]).T


def by_mpmath(name):
    if name in ("log2", "log10"):
        return lambda z: mpmath.log(z) / mpmath.log(int(name[3:]))
    others = {"abs": abs, "sign": lambda z: z / abs(z)}
    return others.get(name) or getattr(mpmath, NAMES.get(name, name))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype, x64):
    with np.errstate(all="ignore"):
        x = np.concatenate([GRID.ravel(), POINTS]).astype(dtype)
    y = np.array(getattr(jnp, name)(jnp.asarray(x)))
    edges = slice(0, GRID.size)
    special_values(name, x[edges], y[edges].astype(dtype))
    x, y = x[GRID.size :], y[GRID.size :]
    got, want = np.array([np.real(y), np.imag(y)]), exact(by_mpmath(name), x)
    bound = 8 * np.finfo(dtype).eps
    if name == "expm1":  # the real part of which cancels where it changes its sign
        np.testing.assert_allclose(got[0], want[0].astype(float), bound, bound)
        got, want = got[1], want[1]
    assert ulps(got, want).max() <= 8


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
