"""odeint against closed forms, SciPy and differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentTypeError, DtypeError, ShapeError
from plait.experimental.ode import odeint

T = np.array([0.0, 0.3, 1.0, 2.5])


def pendulum(y, t, k):
    return {"x": y["v"], "v": -k[0] * jnp.sin(y["x"]) - k[1] * y["v"] + jnp.cos(t)}


def test_values(x64):
    # The third has to be damped, or it swings; the fourth is slow and small.
    def f(y, t, a):
        return jnp.stack([-y[0], 2 * t, -a * (y[2] - 1), 1e-9 * y[3]])

    solve = jax.vmap(lambda a: odeint(f, np.array([1.0, 0, 0, 1e-3]), T, a))
    factors = np.array([200.0, 1.0])
    want = [[np.exp(-T), T**2, 1 - np.exp(-a * T), np.full(4, 1e-3)] for a in factors]
    np.testing.assert_allclose(solve(factors), np.moveaxis(want, 1, 2), atol=1e-7)
    y0, k = {"x": np.array([0.5, 2.0]), "v": np.zeros(2)}, np.array([9.0, 0.2])
    got = jax.jit(lambda y, k: odeint(pendulum, y, T, k))(y0, k)

    def flat(t, y):
        x, v = y[:2], y[2:]
        return np.concatenate([v, -9 * np.sin(x) - 0.2 * v + np.cos(t)])

    start = np.concatenate([y0["x"], y0["v"]])
    want = scipy.integrate.solve_ivp(flat, (0, 2.5), start, t_eval=T, rtol=1e-10, atol=1e-10).y
    np.testing.assert_allclose(got["x"], want[:2].T, atol=1e-6)
    np.testing.assert_allclose(got["v"], want[2:].T, atol=1e-6)


def test_derivatives(x64):
    factor = np.array([9.0, 0.2])

    @jax.jit
    def loss(x, k, t, scale):
        ys = odeint(lambda y, t, k: pendulum(y, scale * t, k), {"x": x, "v": x * 0}, t, k)
        return (ys["x"] * np.cos(np.arange(4.0))).sum() + (ys["v"] ** 2).sum()

    at = (np.array(0.5), factor, T, 1.5)
    got = jax.grad(loss, (0, 1, 2, 3))(*at)
    leaves = [np.atleast_1d(np.asarray(a, float)) for a in at]
    for j, leaf in enumerate(leaves):
        for i in range(leaf.size):
            moved = []
            for step in (1e-4, -1e-4):
                other = [a.copy() for a in leaves]
                other[j][i] += step
                moved.append(loss(other[0][0], other[1], other[2], other[3][0]))
            want = (moved[0] - moved[1]) / 2e-4
            np.testing.assert_allclose(np.atleast_1d(got[j])[i], want, rtol=1e-4, atol=1e-5)


def test_dtypes_integers_and_captured_values():
    def last(a):
        y = odeint(lambda y, t, n: {"y": -a * y["y"] * n}, {"y": jnp.ones(2)}, T[:3], 2)["y"]
        assert y.dtype == np.float32 and y.shape == (3, 2)
        return y[-1, 1]

    value, slope = jax.value_and_grad(last)(0.5)
    np.testing.assert_allclose((value, slope), (np.exp(-1), -2 * np.exp(-1)), rtol=1e-4)


def test_what_is_not_reached_is_nan():
    assert np.isnan(odeint(lambda y, t: -y, 1.0, T, mxstep=1)[1:]).all()
    assert np.isnan(odeint(lambda y, t: -y, 1.0, T[::-1])[1:]).all()
    assert np.isnan(odeint(lambda y, t: y * jnp.nan, 1.0, T)[1:]).all()
    slow = odeint(lambda y, t: -y, 1.0, T, hmax=0.01, mxstep=400)
    np.testing.assert_allclose(slow, np.exp(-T), rtol=1e-4)


def test_mistakes():
    with pytest.raises(DtypeError, match="made of floats"):
        odeint(lambda y, t: -y, 1, T)
    with pytest.raises(ShapeError, match="vector of times"):
        odeint(lambda y, t: -y, 1.0, 0.5)
    with pytest.raises(ArgumentTypeError, match="structure of y0"):
        odeint(lambda y, t: (y, y), 1.0, T)
    with pytest.raises(ShapeError, match="shape of y0"):
        odeint(lambda y, t: jnp.ones(3), 1.0, T)
    with pytest.raises(ArgumentTypeError, match="must be a function"):
        odeint(3, 1.0, T)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [lambda y: y.reshape(2, 2), lambda y: y[None]])
def test_a_slope_of_another_shape_with_as_many_elements_is_refused(change):
    with pytest.raises(ShapeError, match="func must return what has the shape of y0"):
        odeint(lambda y, t: change(y), np.ones(4, np.float32), np.arange(3.0))
