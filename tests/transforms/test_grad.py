"""grad, vjp, jvp, linearize, linear_transpose and the Jacobians: values, arguments, errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import dtypes, lax
from tests.transforms.common import counted, message, refused, same

X = np.float32([0.5, -1.0, 2.0])
W = np.float32([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])  # tanh of more is 1 but for its last digits


def f(w, x):
    return jnp.sum(jnp.tanh(w @ x) ** 2)


def slopes(w, x):
    t = np.tanh(w @ x)
    inner = 2 * t * (1 - t**2)
    return np.outer(inner, x), w.T @ inner


# --- grad and value_and_grad


def test_which_arguments():
    gw, gx = slopes(W, X)
    same(jax.grad(f)(W, X), gw)
    same(jax.grad(f, 1)(W, X), gx)
    same(jax.grad(f, -1)(W, X), gx)
    same(jax.grad(f, (0, 1))(W, X), (gw, gx))
    same(jax.grad(f, argnums=[1, 0])(W, X), (gx, gw))
    same(jax.grad(f, (1,))(W, X), (gx,))
    value, slope = jax.value_and_grad(f, (0,))(W, X)
    same(value, np.float32((np.tanh(W @ X) ** 2).sum()))
    same(slope, (gw,))
    same(jax.grad(lambda x, *, w: f(w, x))(X, w=W), gx)


def test_gradients_have_the_form_of_the_argument():
    params = {"w": W, "b": [X, (np.float32(2), None)], "h": np.float16([1, 2])}

    def loss(p):
        return (p["w"] @ p["b"][0]).sum() * p["b"][1][0] + (p["h"] * 2).sum().astype("float32")

    g = jax.grad(loss)(params)
    assert jax.tree.structure(g) == jax.tree.structure(params)
    same(g["b"][1][0], np.float32((W @ X).sum()))
    assert g["h"].dtype == jnp.float16 and g["w"].shape == (2, 3)
    same(g["h"], np.float16([2, 2]))
    assert jax.grad(lambda x: x * 2)(3.0).weak_type
    # Jacobians are weak where argument and result are.
    for jac in (jax.jacfwd, jax.jacrev, jax.hessian):
        for f in (jnp.sin, lambda x: x * 2):
            assert jac(f)(3.0).weak_type and not jac(f)(np.float32(3)).weak_type
        assert not jac(lambda x: x * np.float32(2))(3.0).weak_type
    assert jax.grad(lambda x: x.sum())(jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16


def test_arguments_that_do_not_matter_have_zero_slopes():
    same(jax.grad(lambda x, y: y * 2.0)(X, 3.0), np.zeros(3, np.float32))
    same(jax.grad(lambda x: 4.0)(X), np.zeros(3, np.float32))
    same(jax.grad(lambda x: lax.stop_gradient(x).sum())(X), np.zeros(3, np.float32))
    same(jax.grad(lambda x: jnp.round(x).sum())(X), np.zeros(3, np.float32))
    same(jax.grad(lambda x: x["a"].sum())({"a": X, "b": X}), {"a": X * 0 + 1, "b": X * 0})


def test_aux():
    def loss(x):
        return (x**2).sum(), {"half": x / 2, "shape": x.shape, "name": "aux", "n": 3}

    g, aux = jax.grad(loss, has_aux=True)(X)
    same(g, 2 * X)
    same(aux["half"], X / 2)
    assert aux["shape"] == (3,) and aux["name"] == "aux" and aux["n"] == 3
    (value, aux), g = jax.value_and_grad(loss, has_aux=True)(X)
    same((value, g), (np.float32((X**2).sum()), 2 * X))
    assert isinstance(aux["half"], jax.Array)
    arrays = lambda x: ((x**2).sum(), {"half": x / 2})
    (value, aux), g = jax.jit(jax.value_and_grad(arrays, has_aux=True))(X)
    same(aux, {"half": X / 2})
    twice = jax.grad(lambda x: jax.grad(arrays, has_aux=True)(x)[0].sum())(X)
    same(twice, np.full(3, 2, np.float32))
    _, pull, aux = jax.vjp(arrays, X, has_aux=True)
    same((pull(np.float32(1))[0], aux), (2 * X, {"half": X / 2}))
    _, t, aux = jax.jvp(arrays, (X,), (X,), has_aux=True)
    same((t, aux), (np.float32(2 * (X**2).sum()), {"half": X / 2}))
    jac, aux = jax.jacrev(lambda x: (x * 2, x.sum()), has_aux=True)(X)
    same((jac, aux), (2 * np.eye(3, dtype=np.float32), X.sum()))
    same(jax.hessian(arrays, has_aux=True)(X)[0], 2 * np.eye(3, dtype=np.float32))


def test_integers():
    n = np.int32([1, 2, 3])
    refused(TypeError, lambda: jax.grad(lambda n: (n * 2.0).sum())(n), "n", "int32", "allow_int")
    g = jax.grad(lambda n: (n * 2.0).sum(), allow_int=True)(n)
    assert g.dtype == dtypes.float0 and g.shape == (3,)
    gx, gn = jax.grad(lambda x, n: (x * n).sum(), (0, 1), allow_int=True)(X, n)
    same(gx, n.astype(np.float32))
    assert gn.dtype == dtypes.float0
    tree = jax.grad(lambda p: (p["x"] * p["n"]).sum(), allow_int=True)({"x": X, "n": n})
    assert tree["n"].dtype == dtypes.float0
    # Integers that are not differentiated may be anything.
    same(jax.grad(lambda x, n, flag: (x**n).sum() if flag else x.sum())(X, 2, True), 2 * X)
    _, pull = jax.vjp(lambda x, n: x * n, X, n)
    assert pull(X)[1].dtype == dtypes.float0
    zero = np.zeros(3, dtypes.float0)
    y, t = jax.jvp(lambda x, n: (x * n, n), (X, n), (X, zero))
    same((y[0], t[0]), (X * n, X * n))
    assert t[1].dtype == dtypes.float0
    text = message(TypeError, lambda: jax.jvp(lambda x, n: x * n, (X, n), (X, n)))
    assert "the tangent of n" in text and "float0" in text


def test_derivatives_of_integers_pass_through_every_transformation():
    n = np.int32([1, 2, 3])

    def f(x, n):
        return (x * n).sum()

    both = jax.grad(f, (0, 1), allow_int=True)
    rows = np.stack([X, X]), np.stack([n, n])

    def scanned(x, n):
        return jax.lax.scan(lambda c, row: (c, both(*row)), 0, (x, n))[1]

    for derived, args in (
        (jax.jit(both), (X, n)),
        (jax.vmap(both), rows),
        (jax.pmap(both), rows),
        (jax.jit(jax.vmap(both)), rows),
        (scanned, rows),
        (jax.jit(scanned), rows),
    ):
        gx, gn = derived(*args)
        same(gx, args[1].astype(np.float32))
        assert gn.dtype == dtypes.float0 and gn.shape == args[1].shape
        assert np.asarray(gn).dtype == dtypes.float0 and "float0" in repr(gn)
    _, pull = jax.vjp(f, X, n)
    gx, gn = jax.jit(pull)(1.0)
    same(gx, n.astype(np.float32))
    # What jit gives back is taken as a tangent again.
    y, t = jax.jvp(f, (X, n), (np.ones_like(X), gn))
    same((y, t), ((X * n).sum(), np.float32(6)))
    assert jax.device_get({"n": gn})["n"].dtype == dtypes.float0
    for filled in (jnp.zeros_like(gn), jnp.ones(3, dtypes.float0), jax.jit(jnp.ones_like)(gn)):
        assert filled.dtype == dtypes.float0
    assert "no values" in message(TypeError, lambda: jnp.sin(gn))


def test_complex_functions():
    z = np.complex64([1 + 2j, -0.5j])
    holomorphic = jax.grad(lambda z: (z**2 * 3).sum(), holomorphic=True)(z)
    same(holomorphic, 6 * z)
    refused(
        TypeError, lambda: jax.grad(lambda z: (z**2).sum())(z), "real float", "holomorphic=True"
    )
    refused(TypeError, lambda: jax.grad(lambda x: x.sum(), holomorphic=True)(X), "x", "complex")
    real = lambda z: (jnp.abs(z) ** 2).sum()
    same(jax.grad(real)(z), 2 * np.conj(z))
    back = jax.grad(lambda x: jnp.real((x + 2j) ** 2).sum())(X)
    same(back, 2 * X)
    jac = jax.jacfwd(lambda z: z**2, holomorphic=True)(z)
    same(jac, np.diag(2 * z))
    same(jax.jacrev(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z))
    for complex_to_real in (jax.jacfwd(jnp.abs), jax.hessian(lambda z: jnp.abs(z).sum())):
        refused(TypeError, lambda f=complex_to_real: f(z), "complex", "complex64[2]", "holomorphic")


def test_results_that_are_no_scalar():
    def vector(x):
        return x * 2

    text = message(TypeError, lambda: jax.grad(vector)(X))
    assert "vector must return a scalar" in text and "(3,)" in text and "jacrev" in text
    refused(TypeError, lambda: jax.grad(lambda x: (x.sum(), 1.0))(X), "container", "has_aux")
    refused(TypeError, lambda: jax.grad(lambda x: None)(X), "one scalar")
    refused(TypeError, lambda: jax.grad(lambda x: 3)(X), "int32")
    refused(TypeError, lambda: jax.grad(lambda x: "loss")(X), "str")
    refused(TypeError, lambda: jax.grad(lambda x: x.sum(), has_aux=True)(X), "pair")
    refused(TypeError, lambda: jax.grad(3), "grad", "function")
    refused(ValueError, lambda: jax.grad(f, 2)(W, X), "argument 2", "2 positional")
    refused(ValueError, lambda: jax.grad(f)(w=W, x=X), "argument 0", "0 positional", "by position")
    refused(TypeError, lambda: jax.grad(f, "w"), "argnums")
    refused(TypeError, lambda: jax.grad(f)("text", X), "w", "str")
    refused(TypeError, lambda: jax.grad(lambda b: 1.0)(True), "b", "bool")
    same(jax.grad(f)(W, X), slopes(W, X)[0])


def test_python_control_flow_on_known_values():
    def g(x):
        while x < 10:
            x = x * x
        return x if x > 50 else -x

    same(jax.grad(g)(3.0), np.float32(4 * 3.0**3))
    same(jax.grad(g)(2.0), np.float32(-4 * 2.0**3))
    same(jax.grad(jax.grad(lambda x: x**3 if x > 0 else x))(2.0), np.float32(12))
    same(jax.vmap(jax.grad(lambda x: x**3))(X), 3 * X**2)
    assert int(jax.grad(lambda x: x * int(x))(3.0)) == 3


def test_orders_of_derivatives():
    g: Any = jnp.sin
    for k in range(6):
        want = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)][k % 4](np.float32(0.7))
        same(g(0.7), want)
        g = jax.grad(g)


def test_user_exceptions_and_traces():
    with pytest.raises(KeyError):
        jax.grad(lambda x: {}["k"])(X)
    loss, calls = counted(lambda x: (x**2).sum())
    jax.value_and_grad(loss)(X)
    assert len(calls) == 1
    run = jax.jit(jax.grad(loss))
    run(X), run(X)
    assert len(calls) == 2
    kept = []
    jax.grad(lambda x: kept.append(x) or (x * 1).sum())(X)
    refused(RuntimeError, lambda: jax.jit(lambda y: y + kept[0])(X), "grad", "ended")


# --- jvp, vjp, linearize


def test_jvp():
    y, t = jax.jvp(f, (W, X), (W * 0, X))
    same((y, t), (np.float32((np.tanh(W @ X) ** 2).sum()), slopes(W, X)[1] @ X), atol=1e-5)
    y, t = jax.jvp(lambda p: {"s": p["a"] * p["b"]}, ({"a": X, "b": X},), ({"a": X, "b": X * 0},))
    same((y, t), ({"s": X * X}, {"s": X * X}))
    same(jax.jvp(lambda x: 3.0, (X,), (X,)), (np.float32(3), np.float32(0)))
    second = jax.jvp(lambda x: jax.jvp(jnp.sin, (x,), (1.0,))[1], (0.5,), (1.0,))
    same(second, (np.cos(np.float32(0.5)), -np.sin(np.float32(0.5))))


def test_mistakes_with_jvp():
    g = lambda x: x * 2
    refused(TypeError, lambda: jax.jvp(g, X, X), "jvp", "tuple")
    refused(TypeError, lambda: jax.jvp(g, (X,), (X, X)), "jvp", "tangents")
    refused(ValueError, lambda: jax.jvp(g, (X,), (X[:2],)), "tangent of x", "float32[2]")
    refused(TypeError, lambda: jax.jvp(g, (X,), (np.int32([1, 2, 3]),)), "tangent of x", "int32")
    refused(TypeError, lambda: jax.jvp(g, ({"a": X},), ({"b": X},)), "jvp")


def test_vjp():
    _, pull = jax.vjp(lambda w, x: {"y": w @ x}, W, X)
    ct = np.float32([1, -1])
    same(pull({"y": ct}), (np.outer(ct, X), W.T @ ct))
    same(pull({"y": ct * 2}), (np.outer(ct, X) * 2, W.T @ ct * 2))
    leaves = jax.jit(lambda x: jax.vjp(jnp.sin, x)[1])(X)
    same(leaves(X), (np.cos(X) * X,))
    same(jax.vmap(pull)({"y": np.eye(2, dtype=np.float32)})[1], W)
    refused(ValueError, lambda: pull(ct), "structure")
    refused(ValueError, lambda: pull({"y": X}), "shape")
    refused(TypeError, lambda: pull({"y": np.int32([1, 2])}), "int32")
    refused(TypeError, lambda: pull({"y": ct}, ct), "one argument")
    refused(TypeError, lambda: jax.vjp(lambda x: x, "text"), "x", "str")


def test_linearize_runs_the_function_once():
    g, calls = counted(lambda x: jnp.sin(x) * x)
    _, push = jax.linearize(g, X)
    for scale in (1.0, 2.0):
        same(push(X * 0 + np.float32(scale)), scale * (np.cos(X) * X + np.sin(X)))
    assert len(calls) == 1
    same(jax.vmap(push)(np.eye(3, dtype=np.float32)), np.diag(np.cos(X) * X + np.sin(X)))
    same(jax.jit(push)(X), (np.cos(X) * X + np.sin(X)) * X)
    refused(TypeError, lambda: push(X, X), "structure")
    refused(ValueError, lambda: push(X[:2]), "shape")
    same(jax.linear_transpose(push, X)(X), ((np.cos(X) * X + np.sin(X)) * X,))


def test_linear_transpose():
    back = jax.linear_transpose(lambda x: W @ x, X)
    same(back(np.float32([1, 2])), (W.T @ np.float32([1, 2]),))
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    two = jax.linear_transpose(lambda a, b: {"s": a[:2] + b, "p": a * 2}, shape, shape_of(2))
    same(
        two({"s": np.float32([1, 2]), "p": X}),
        (np.float32([1, 2, 0]) + 2 * X, np.float32([1, 2])),
    )
    with pytest.raises(TypeError, match="sin"):
        jax.linear_transpose(jnp.sin, X)(X)
    refused(TypeError, lambda: jax.linear_transpose(lambda n: n, np.int32([1])), "floats")


def shape_of(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


# --- Jacobians


@pytest.mark.parametrize("jac", [jax.jacfwd, jax.jacrev, jax.jacobian])
def test_jacobians(jac):
    same(jac(lambda x: W @ jnp.sin(x))(X), W * np.cos(X))
    same(jac(lambda w, x: w @ x, 1)(W, X), W)
    both = jac(lambda w, x: w @ x, (0, 1))(W, X)
    assert both[0].shape == (2, 2, 3)
    same(both[0], np.einsum("ij,k->ijk", np.eye(2, dtype=np.float32), X))
    tree = jac(lambda p: {"y": p["a"] * p["b"], "z": p["a"].sum()})({"a": X, "b": X * 2})
    same(tree["y"], {"a": np.diag(2 * X), "b": np.diag(X)})
    same(tree["z"], {"a": np.ones(3, np.float32), "b": np.zeros(3, np.float32)})
    same(jax.jit(jac(jnp.cumsum))(X), np.tril(np.ones((3, 3), np.float32)))
    same(jax.vmap(jac(lambda x: x**2))(W), np.stack([np.diag(2 * w) for w in W]))
    refused(TypeError, lambda: jac(lambda x: x)(np.int32([1])), "int32")
    refused(TypeError, lambda: jac(lambda x: x > 0)(X), "bool")
    refused(ValueError, lambda: jac(lambda x: x, 1)(X), "argument 1")


def test_hessians():
    g = lambda x: jnp.sum(x**3) + x[0] * x[1]
    want = np.diag(6 * X)
    want[0, 1] = want[1, 0] = 1
    for h in (jax.hessian(g), jax.jit(jax.hessian(g)), jax.jacrev(jax.jacrev(g))):
        same(h(X), want)
    both = jax.hessian(lambda a, b: (a * b**2).sum(), (0, 1))(X, X)
    same(both[0], (np.zeros((3, 3), np.float32), np.diag(2 * X)))
    same(both[1], (np.diag(2 * X), np.diag(2 * X)))
    tree = jax.hessian(lambda p: p["a"] ** 2 * p["b"])({"a": np.float32(3), "b": np.float32(2)})
    same(
        tree,
        {
            "a": {"a": np.float32(4), "b": np.float32(6)},
            "b": {"a": np.float32(6), "b": np.float32(0)},
        },
    )


# --- through everything


PROGRAMS: dict[str, Any] = {
    "scan": lambda x: lax.scan(lambda c, t: (jnp.sin(c) * t, c), x[0], x)[0],
    "fori": lambda x: lax.fori_loop(0, 3, lambda k, c: c * x + 0.1 * k, x).sum(),
    "cond": lambda x: lax.cond(x[0] > 0, lambda x: (x**2).sum(), lambda x: x.sum(), x),
    "switch": lambda x: lax.switch(1, [jnp.sum, lambda x: (x**3).sum()], x),
    "jit": lambda x: jax.jit(lambda x: jnp.exp(x).sum())(x),
    "checkpoint": lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())(x),
    "vmap": lambda x: jax.vmap(lambda a: a * x)(x).sum(),
    "pmap": lambda x: jax.pmap(lambda a: lax.psum(a**2, "i") * a, "i")(x).sum(),
    "gather": lambda x: (x[jnp.array([0, 2, 2])] ** 2).sum(),
    "update": lambda x: (x.at[1].set(5.0) * x).sum(),
    "sort": lambda x: (jnp.sort(x) * jnp.arange(3)).sum(),
    "max": lambda x: jnp.max(x) * jnp.min(x),
    "norm": lambda x: jnp.sqrt((x**2).sum()),
    "logsumexp": lambda x: jnp.log(jnp.exp(x).sum()),
    "where": lambda x: jnp.where(x > 0, x**2, jnp.sin(x)).sum(),
    "while": lambda x: (
        lax.while_loop(lambda c: c[1] < 2, lambda c: (c[0] * 2, c[1] + 1), (1.0, 0))[0] * x.sum()
    ),
    "custom": lambda x: _clip(x * 2).sum(),
}


@jax.custom_jvp
def _clip(x):
    return jnp.minimum(x, 3.0)


@_clip.defjvp
def _(xs, ts):
    return _clip(*xs), jnp.where(xs[0] < 3, ts[0], 0.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_slopes_by_differences(name, x64):
    g = PROGRAMS[name]
    x = np.array([0.7, -1.3, 2.1])
    step, run = 1e-6, jax.jit(g)
    want = np.array(
        [(float(run(x + d)) - float(run(x - d))) / (2 * step) for d in np.eye(3) * step]
    )
    np.testing.assert_allclose(jax.grad(g)(x), want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jax.jit(jax.grad(g))(x), want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jax.jacfwd(g)(x), want, rtol=1e-6, atol=1e-8)
    with jax.disable_jit():
        np.testing.assert_allclose(jax.grad(g)(x), want, rtol=1e-6, atol=1e-8)
    _, t = jax.jvp(g, (x,), (np.ones(3),))
    np.testing.assert_allclose(t, want.sum(), rtol=1e-6, atol=1e-8)


def test_a_while_loop_has_no_reverse_mode():
    g = lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * x, 1.0)
    assert float(jax.jvp(g, (3.0,), (1.0,))[1]) == 27.0
    text = message(Exception, lambda: jax.grad(g)(3.0))
    assert "while" in text and ("scan" in text or "fori" in text)


def test_methods_and_partials():
    class Model:
        def __init__(self, k):
            self.k = k

        def loss(self, x):
            return (self.k * x**2).sum()

    same(jax.grad(Model(3.0).loss)(X), 6 * X)
    same(jax.grad(functools.partial(f, W))(X), slopes(W, X)[1])
    same(jax.grad(jax.jit(Model(2.0).loss))(X), 4 * X)
