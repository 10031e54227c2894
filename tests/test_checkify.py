"""checkify: checks as results, through every kind of function."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import CheckError
from plait.experimental import checkify
from plait.experimental.checkify import all_checks, check, div_checks, index_checks, nan_checks

X = np.arange(4, dtype=np.float32)


def positive(x):
    check(x > 0, "x is {x}, not positive", x=x)
    return jnp.log(x)


def test_a_check_outside_of_functions():
    check(True, "fine")
    with pytest.raises(CheckError, match=r"3 is bad, so is 4 \(`check` failed\)"):
        check(jnp.bool_(False), "{} is bad, so is {k}", 3, k=jnp.int32(4))
    with pytest.raises(jax.errors.JaxRuntimeError):
        check(False, "no")
    checkify.debug_check(False, "counts only in checkify")
    with pytest.raises(TypeError, match="one bool"):
        check(np.array([True]), "no")
    with pytest.raises(TypeError, match="a string"):
        check(True, 3)  # type: ignore


@pytest.mark.parametrize(
    "wrap",
    [
        checkify.checkify,
        lambda f: jax.jit(checkify.checkify(f)),
        lambda f: checkify.checkify(jax.jit(f)),
        lambda f: checkify.checkify(jax.checkpoint(f)),
        lambda f: checkify.checkify(lambda x: jax.vmap(f)(x[None])[0]),
        lambda f: checkify.checkify(lambda x: lax.cond(x < 100, f, lambda x: x, x)),
        lambda f: checkify.checkify(lambda x: lax.scan(lambda c, x: (c, f(x)), 0, x[None])[1][0]),
        lambda f: checkify.checkify(lambda x: lax.fori_loop(0, 1, lambda _, x: f(x), x)),
    ],
    ids=["plain", "jit of", "of jit", "checkpoint", "vmap", "cond", "scan", "loop"],
)
def test_the_first_error_is_a_result(wrap):
    g = wrap(positive)
    error, y = g(jnp.float32(2))
    assert error.get() is None
    error.throw()
    np.testing.assert_allclose(y, np.log(2), rtol=1e-6)
    error, y = g(jnp.float32(-1))
    assert error.get() == "x is -1.0, not positive (`check` failed)"
    assert np.isnan(y)
    with pytest.raises(CheckError, match="x is -1.0"):
        error.throw()
    with pytest.raises(CheckError, match="x is -1.0"):
        checkify.check_error(error)


def test_a_compiled_check_has_nobody_to_tell():
    with pytest.raises(ValueError, match="nobody to tell"):
        jax.jit(positive)(1.0)
    silent = jax.jit(lambda x: (checkify.debug_check(x > 0, "no"), x)[1])
    assert silent(-1.0) == -1
    assert checkify.checkify(silent)(-1.0)[0].get() == "no (`check` failed)"


def test_the_first_of_several_counts():
    def f(x):
        check(x[0] > 0, "first {}", x[0])
        check(x[1] > 0, "second {}", x[1])
        return x

    g = jax.jit(checkify.checkify(f))
    texts = [g(jnp.array(x))[0].get() for x in ([1.0, 1.0], [1.0, -2.0], [-3.0, -2.0])]
    assert texts == [None, "second -2.0 (`check` failed)", "first -3.0 (`check` failed)"]


def test_rows():
    error, _ = checkify.checkify(jax.vmap(positive))(X)
    assert error.get() == "x is 0.0, not positive (`check` failed)"
    error, y = jax.vmap(checkify.checkify(positive))(X - 1)
    assert error.get() == (
        "at mapped index 0: x is -1.0, not positive (`check` failed)\n"
        "at mapped index 1: x is 0.0, not positive (`check` failed)"
    )
    np.testing.assert_allclose(y[2:], [0, np.log(2)], rtol=1e-6)
    # Rows that do not take the branch do not fail.
    f = jax.vmap(lambda x: lax.cond(x > 0, positive, lambda x: x, x))
    assert checkify.checkify(f)(X)[0].get() is None
    f = jax.vmap(lambda x: lax.cond(x > 2, positive, lambda x: positive(x - 2), x))
    assert checkify.checkify(f)(X + 1)[0].get() == "x is -1.0, not positive (`check` failed)"


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_lanes(form):
    with override(pmap_form=form):
        error, y = checkify.checkify(jax.pmap(positive))(X)
        assert error.get() == "x is 0.0, not positive (`check` failed)"
        np.testing.assert_allclose(y[1:], np.log(X[1:]), rtol=1e-6)
        assert checkify.checkify(jax.pmap(positive))(X + 1)[0].get() is None
        error, _ = jax.pmap(checkify.checkify(positive))(X)
        assert error.get().startswith("at mapped index 0: x is 0.0")


def test_loops_carry_the_error():
    def halve(x):
        def body(x):
            check(x != 5, "met {}", x)
            return x - 1

        return lax.while_loop(lambda x: x > 0, body, x)

    g = jax.jit(checkify.checkify(halve))
    assert g(4)[0].get() is None and g(4)[1] == 0
    assert g(9)[0].get() == "met 5 (`check` failed)"

    def condition(x):
        check(x != 2, "asked about {}", x)
        return x > 0

    f = checkify.checkify(lambda x: lax.while_loop(condition, lambda x: x - 1, x))
    assert f(3)[0].get() == "asked about 2 (`check` failed)"
    total = lambda xs: lax.scan(lambda c, x: (positive(x) + c, c), 0.0, xs)
    (error, (last, _)) = checkify.checkify(total)(X + 1)
    assert error.get() is None
    np.testing.assert_allclose(last, np.log(X + 1).sum(), rtol=1e-6)
    assert checkify.checkify(total)(X - 2)[0].get().startswith("x is -2.0")
    assert checkify.checkify(total)(X[::-1])[0].get().startswith("x is 0.0")


def test_branches_with_checks_of_their_own():
    def low(x):
        check(x > -5, "low {}", x)
        return x

    def high(x):
        check(x < 5, "high {} {}", x, jnp.arange(2))
        return 2 * x

    g = jax.jit(checkify.checkify(lambda x: lax.cond(x < 0, low, high, x)))
    texts = [g(x)[0].get() for x in (-1.0, 1.0, -6.0, 6.0)]
    assert texts == [None, None, "low -6.0 (`check` failed)", "high 6.0 [0 1] (`check` failed)"]


def test_derivatives():
    error, slope = checkify.checkify(jax.grad(positive))(2.0)
    assert error.get() is None and slope == 0.5
    assert checkify.checkify(jax.grad(positive))(-2.0)[0].get().startswith("x is -2.0")
    (_, error), slope = jax.value_and_grad(
        lambda x: checkify.checkify(positive)(x)[::-1], has_aux=True
    )(-2.0)
    assert error.get().startswith("x is -2.0") and slope == -0.5

    @jax.custom_vjp
    def f(x):
        return x * 1.0

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * 7,))
    _, slope = jax.value_and_grad(lambda x: checkify.checkify(f)(x)[::-1], has_aux=True)(1.0)
    assert slope == 7  # a rule without checks stays


def test_an_error_is_checked_inside_another_function():
    def outer(x):
        error, y = checkify.checkify(positive)(x)
        checkify.check_error(error)
        return y

    assert checkify.checkify(outer)(-1.0)[0].get().startswith("x is -1.0")
    with pytest.raises(TypeError, match="not known"):
        jax.jit(outer)(1.0)
    assert checkify.init_error.get() is None


def test_automatic_checks_of_operands_that_are_numbers():
    def f(x):
        return jnp.sum(x / 2.0) + lax.div(x[0], 0.0)

    for run in (f, jax.jit(f)):
        error, _ = checkify.checkify(run, errors=all_checks)(X + 1)
        assert error.get().startswith("division by zero")
    error, _ = checkify.checkify(lambda x: x / 2.0, errors=all_checks)(X)
    assert error.get() is None
    error, _ = checkify.checkify(lambda x: lax.dynamic_slice(x, (3,), (2,)), errors=index_checks)(X)
    assert error.get().startswith("index out of bounds")


def test_automatic_checks():
    f = checkify.checkify(lambda x: jnp.sin(jnp.log(x)), errors=nan_checks)
    assert f(1.0)[0].get() is None
    assert f(-1.0)[0].get().startswith("nan generated by log at test_checkify.py:")
    f = jax.jit(checkify.checkify(lambda x, y: x / y, errors=div_checks))
    assert f(1.0, 2.0)[0].get() is None
    assert f(1.0, 0.0)[0].get().startswith("division by zero at test_checkify.py:")
    f = checkify.checkify(jax.jit(lambda x, i: x[i]), errors=index_checks)
    assert f(X, 3)[0].get() is None and f(X, -4)[0].get() is None
    assert f(X, 4)[0].get().startswith("index out of bounds of an array of shape (4,)")
    f = checkify.checkify(lambda x, i: jnp.asarray(x).at[i].set(0), errors=index_checks)
    assert f(X, 3)[0].get() is None and f(X, 4)[0].get().startswith("index out of bounds")
    f = checkify.checkify(lambda x, i: lax.dynamic_slice(x, (i,), (2,)), errors=index_checks)
    assert f(X, 2)[0].get() is None and f(X, 3)[0].get().startswith("index out of bounds")
    # Only what is asked for.
    assert checkify.checkify(positive)(jnp.nan)[0].get().startswith("x is nan")
    assert checkify.checkify(positive, errors=index_checks)(-1.0)[0].get() is None
    f = checkify.checkify(lambda x: lax.map(lambda y: 1 / y, x), errors=all_checks)
    assert f(X)[0].get().startswith("division by zero") and f(X + 1)[0].get() is None
