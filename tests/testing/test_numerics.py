"""assert_close, check_grads and reference."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.testing import assert_close, check_grads, reference, tolerance


def test_assert_close_takes_the_less_precise_dtype():
    assert_close(np.float32(1 / 3), 1 / 3)
    assert_close({"a": (jnp.ones(2), 3)}, {"a": (np.ones(2), 3)})
    assert_close(jnp.bfloat16(1.01), 1.0)
    assert_close(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]))
    with pytest.raises(AssertionError):
        assert_close(1 / 3, 1 / 3 + 1e-9)
    with pytest.raises(AssertionError):
        assert_close(np.array([1, 2]), np.array([1, 3]))
    with pytest.raises(AssertionError, match="shapes"):
        assert_close(np.ones(2), np.ones((2, 1)))
    with pytest.raises(AssertionError, match="structures"):
        assert_close({"a": 1.0}, {"b": 1.0})
    with pytest.raises(AssertionError, match=r"here \['a'\]"):
        assert_close({"a": 1.0}, {"a": 2.0}, message="here")


def test_tolerances_follow_the_dtype():
    order = [np.int32, np.float64, np.float32, np.float16, jnp.bfloat16]
    found = [tolerance(dtype) for dtype in order]
    assert found == sorted(found) and found[0] == 0.0
    assert tolerance(np.complex64) == tolerance(np.float32)


@pytest.mark.parametrize("wide", [False, True])
def test_check_grads_accepts_right_rules(wide):
    def f(params, n):
        return jnp.sum(jnp.tanh(params["w"] @ params["x"]) * n), {"n": n}

    params = {"w": np.cos(np.arange(6.0)).reshape(2, 3), "x": np.sin(np.arange(3.0))}
    with jax.enable_x64(wide):
        check_grads(f, (params, 3), order=2)


def test_check_grads_takes_complex_numbers():
    with jax.enable_x64():
        check_grads(lambda z: z * jnp.exp(z), (np.array([0.3 + 0.5j, -1.0 + 0.1j]),), order=2)
        check_grads(lambda z: jnp.abs(z) + jnp.real(z), (np.array([0.3 + 0.5j]),))


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_check_grads_finds_wrong_rules(mode):
    @jax.custom_jvp
    def f(x):
        return x * x

    f.defjvp(lambda xs, ts: (f(xs[0]), 2.1 * xs[0] * ts[0]))
    with jax.enable_x64(), pytest.raises(AssertionError):
        check_grads(f, (1.5,), modes=[mode])


def test_check_grads_finds_wrong_second_derivatives():
    @jax.custom_jvp
    def f(x):
        return x**3

    f.defjvp(lambda xs, ts: (f(xs[0]), 3 * lax.stop_gradient(xs[0]) ** 2 * ts[0]))
    with jax.enable_x64():
        check_grads(f, (1.5,), order=1)
        with pytest.raises(AssertionError, match="fwd of fwd"):
            check_grads(f, (1.5,), order=2)


def test_check_grads_knows_its_modes():
    with pytest.raises(ValueError, match="'fwd' or 'rev'"):
        check_grads(lambda x: x, (1.0,), modes=["forward"])


def test_reference_is_the_function_by_numpy():
    def f(tree):
        y = jnp.sort(tree["x"])[1:] @ jnp.ones(4)
        return {"y": lax.fori_loop(0, 3, lambda i, c: c * 2 + i, y), "k": random.key(3)}

    x = np.float32([[3], [1], [2]]) + np.arange(4, dtype=np.float32)
    got, want = reference(f)({"x": x}), f({"x": x})
    assert type(got["y"]) is np.ndarray and got["y"].dtype == np.float32
    assert_close(got["y"], want["y"])
    assert got["k"] == want["k"].host()


def test_reference_of_programs():
    program = jax.make_jaxpr(lambda x: (jnp.sin(x), x + 1))(np.float32(1.0))
    program = getattr(program, "jaxpr", program)
    sine, one_more = reference(program)(np.float32(0.5))
    assert_close(sine, np.sin(0.5), rtol=1e-6)
    assert one_more == 1.5


def test_reference_goes_through_maps():
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    f = jax.pmap(lambda x: lax.psum(x, "i") * lax.axis_index("i"), axis_name="i")
    assert_close(reference(f)(x), np.sum(x, 0) * np.arange(4)[:, None])
    slope = 2 * np.sum(x, 0) * np.sum(np.arange(4) ** 2)
    got = reference(jax.grad(lambda x: jnp.sum(f(x) ** 2)))(x)
    assert_close(got, np.broadcast_to(slope, x.shape))


def test_tolerances_by_dtype():
    x = np.float32(1.5)
    loose, tight = {np.float32: 1e-1, "float64": 0.0}, {np.float32: 1e-9}
    assert_close(x, x + np.float32(1e-3), rtol=loose, atol=loose)
    with pytest.raises(AssertionError):
        assert_close(x, x + np.float32(1e-3), rtol=tight, atol=tight)
    check_grads(jnp.sin, (x,), order=2, rtol=loose, atol=loose)
    with pytest.raises(AssertionError):
        check_grads(jnp.sin, (x,), rtol=tight, atol=tight)


def test_check_grads_takes_nan_for_equal():
    check_grads(jnp.sqrt, (np.float32(-1),), order=2)
