"""minimize: known minima, mapped and compiled, and what it says when it finds none."""

from __future__ import annotations

import numpy as np
import scipy.optimize

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.scipy.optimize import minimize
from plait.testing import assert_close
from tests.numpy.common import raises


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_minima():
    solve = jax.jit(jax.vmap(lambda x: minimize(rosenbrock, x, method="BFGS")))
    starts = np.float32([[0, 0, 0], [-1.2, 1, 1], [2, 2, 2]])
    found = solve(starts)
    assert_close(found.x, np.ones((3, 3), np.float32), rtol=1e-2)
    assert (found.fun < 1e-5).all() and (found.nfev >= found.nit).all()
    with jax.enable_x64():
        found = jax.jit(lambda x: minimize(rosenbrock, x, method="BFGS"))(starts[1].astype(float))
        want = scipy.optimize.minimize(scipy.optimize.rosen, starts[1].astype(float), method="BFGS")
        assert bool(found.success) and int(found.status) == 0
        assert_close(found.x, want.x, rtol=1e-4)
        inverse = np.linalg.inv(np.asarray(jax.hessian(rosenbrock)(jnp.ones(3))))
        assert np.linalg.norm(found.hess_inv - inverse) < 0.2 * np.linalg.norm(inverse)


def test_scales():
    # In units in which the function, or the way, is large or small the same minimum is found.
    def bent(x, high, wide):
        u = x / wide
        return high * jnp.sum((u - jnp.array([1.0, 2.0])) ** 2 + 0.1 * (u - 1) ** 4)

    high, wide = (s.ravel() for s in np.meshgrid(np.float32([1e-3, 1, 1e8]), [0.1, 10]))
    found = jax.jit(
        jax.vmap(
            lambda h, w: minimize(bent, jnp.full(2, 5 * w), (h, w), method="BFGS", tol=1e-4 * h / w)
        )
    )(high, wide.astype(np.float32))
    assert found.success.all()
    want = scipy.optimize.brentq(lambda u: 2 * (u - 2) + 0.4 * (u - 1) ** 3, 1, 2)
    assert_close(found.x / wide[:, None], np.float32([[1, want]] * 6), atol=2e-3)


def test_ends():
    def bowl(x, at):
        return jnp.sum((x - at) ** 2)

    def solve(fun, **options):
        x = np.zeros(2, np.float32)
        return jax.jit(lambda: minimize(fun, x, method="BFGS", options=options))()

    done = jax.jit(lambda at: minimize(bowl, jnp.zeros(2), (at,), method="BFGS"))(3.0)
    assert_close(done.x, np.float32([3, 3]), rtol=1e-4)
    stopped = solve(lambda x: bowl(x, 3.0), maxiter=1)
    assert not stopped.success and int(stopped.status) == 1 and int(stopped.nit) == 1
    falling = solve(lambda x: -jnp.sum(x))
    assert not falling.success and int(falling.status) == 5
    nothing = solve(lambda x: bowl(x, jnp.nan))
    assert not nothing.success


def test_errors():
    x = np.zeros(2, np.float32)
    with raises(ArgumentError, "no such method", "BFGS"):
        minimize(rosenbrock, x, method="cg")
    with raises(ArgumentError, "no such option", "gtol"):
        minimize(rosenbrock, x, method="BFGS", options={"speed": 1})
    with raises(ArgumentTypeError, "args is a tuple"):
        minimize(rosenbrock, x, 3.0, method="BFGS")
    with raises(ShapeError, "must be a vector"):
        minimize(rosenbrock, x[None], method="BFGS")
    with raises(DtypeError, "made of floats"):
        minimize(rosenbrock, np.zeros(2, int), method="BFGS")
