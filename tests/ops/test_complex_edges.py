"""Complex functions at zeros of both signs, infinities and NaN: NumPy's values, which are C's."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp

NUMBERS = np.array([1e37, 0.0, -0.0, 1.5, -1.5, 0.3, -0.3, np.inf, -np.inf, np.nan])
GRID = np.empty((10, 10), np.complex128)
GRID.real, GRID.imag = NUMBERS[:, None], NUMBERS
FUNCTIONS = (
    "abs", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype, x64):
    x = GRID.astype(dtype)
    got = np.array(getattr(jnp, name)(jnp.asarray(x))).astype(dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x).astype(dtype)
        if name == "expm1":  # NumPy's is NaN at infinities and where it overflows
            finite = np.isfinite(x) & np.isfinite(want)
            want[~finite] = np.exp(x)[~finite] - 1
    rtol = 1e-12 if dtype is np.complex128 else 1e-5
    half = np.isnan(want)  # C leaves the sign of the other part open
    for y in (got, want):
        y.real[half], y.imag[half] = abs(y.real[half]), abs(y.imag[half])
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got, part), getattr(want, part), rtol, rtol)


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
