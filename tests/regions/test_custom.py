"""Functions with derivative rules of the user's own. Rules here are wrong on purpose (by a factor),
so that a derivative shows whether the rule or the function was differentiated."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core import dtypes
from plait.core.check import check_program
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    ShapeError,
    UnexpectedTracerError,
)
from plait.regions.checkpoint import checkpoint
from plait.regions.custom import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    stop_gradient,
)
from tests.regions.common import message

pytestmark = pytest.mark.usefixtures("checked")

X = np.array([0.5, -1.5, 2.0], np.float32)


def sine_jvp(c=1.0):
    """c sin(x), with twice the derivative."""
    f = custom_jvp(lambda x: jnp.sin(x) * c)
    f.defjvp(lambda xs, ts: (jnp.sin(xs[0]) * c, 2 * jnp.cos(xs[0]) * c * ts[0]))
    return f


def sine_vjp(c=1.0):
    """c sin(x), with twice the derivative."""
    f = custom_vjp(lambda x: jnp.sin(x) * c)
    f.defvjp(lambda x: (jnp.sin(x) * c, x), lambda x, ct: (2 * jnp.cos(x) * c * ct,))
    return f


KINDS = [sine_jvp, sine_vjp]


@pytest.mark.parametrize("make", KINDS)
def test_rules_are_used_under_all_transformations(make):
    f = make()
    value, slope = np.sin(X), 2 * np.cos(X)
    np.testing.assert_allclose(f(X), value, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(X), value, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(X), value, rtol=1e-6)
    g = jax.grad(lambda x: f(x).sum())
    for run in (
        g,
        jax.jit(g),
        jax.grad(jax.jit(lambda x: f(x).sum())),
        jax.vmap(jax.grad(f)),
        jax.grad(lambda x: jax.vmap(f)(x).sum()),
        jax.grad(jax.jit(lambda x: jax.vmap(f)(x).sum())),
        jax.grad(lambda x: jax.vmap(jax.jit(f))(x).sum()),
        jax.vmap(jax.grad(jax.jit(f))),
        lambda x: jnp.concatenate([jax.pmap(jax.grad(f))(x[:2]), jax.grad(f)(x[2])[None]]),
        lambda x: jnp.diag(jax.jacrev(f)(x)),
        lambda x: jnp.diag(jax.jit(jax.jacrev(jax.jit(f)))(x)),
        lambda x: jax.vjp(f, x)[1](jnp.ones(3))[0],
        jax.grad(lambda x: lax.map(f, x).sum()),
        jax.grad(lambda x: jax.vmap(jax.vmap(f))(x[None]).sum()),
    ):
        np.testing.assert_allclose(run(X), slope, rtol=1e-5)


@pytest.mark.parametrize("make", KINDS)
def test_second_derivatives_differentiate_the_rule(make):
    f = make()
    want = -2 * np.sin(X[0])
    np.testing.assert_allclose(jax.grad(jax.grad(f))(X[0]), want, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(jax.grad(jax.jit(f)))(X[0]), want, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(jax.jit(jax.grad(f)))(X[0]), want, rtol=1e-5)
    np.testing.assert_allclose(jax.jacfwd(jax.grad(f))(X[0]), want, rtol=1e-5)
    np.testing.assert_allclose(jax.hessian(jax.jit(f))(X[0]), want, rtol=1e-5)


@pytest.mark.parametrize("make", KINDS)
def test_rules_in_loops_and_branches(make):
    f = make(0.5)

    def loss(x):
        def body(c, _):
            return lax.cond(c > 0, f, lambda c: c * 2, c), c

        c, ys = lax.scan(body, x, None, length=3)
        return c + ys.sum()

    def python(x):
        total, slope, dtotal = 0.0, 1.0, 0.0
        for _ in range(3):
            total, dtotal = total + x, dtotal + slope
            if x > 0:
                x, slope = np.sin(x) * 0.5, slope * np.cos(x)
            else:
                x, slope = x * 2, slope * 2
        return x + total, slope + dtotal

    for x in (0.7, -0.3):
        for run in (jax.value_and_grad(loss), jax.jit(jax.value_and_grad(loss))):
            np.testing.assert_allclose(run(x), python(x), rtol=1e-5)
    got = jax.vmap(jax.value_and_grad(loss))(np.array([0.7, -0.3], np.float32))
    np.testing.assert_allclose(got, np.transpose([python(0.7), python(-0.3)]), rtol=1e-5)


def test_forward_mode():
    _, t = jax.jvp(sine_jvp(), (X,), (np.ones(3, np.float32),))
    np.testing.assert_allclose(t, 2 * np.cos(X), rtol=1e-6)
    _, t = jax.jvp(jax.jit(sine_jvp()), (X,), (np.ones(3, np.float32),))
    np.testing.assert_allclose(t, 2 * np.cos(X), rtol=1e-6)
    want = (
        "custom_vjp: <lambda> has rules for reverse mode only, and a tangent was asked for\n"
        "  fix  use grad, vjp or jacrev, or give the function a rule with custom_jvp"
    )
    f = sine_vjp()
    for run in (
        lambda: jax.jvp(f, (X,), (X,)),
        lambda: jax.jvp(jax.jit(f), (X,), (X,)),
        lambda: jax.jacfwd(f)(X),
        lambda: jax.jit(lambda x: jax.jvp(f, (x,), (x,)))(X),
        lambda: jax.grad(lambda x: jax.jvp(f, (x,), (x,))[1].sum())(X),
    ):
        assert message(ArgumentTypeError, run).startswith(want)
    assert f(X).shape == (3,)


# --- Python control flow on concrete values


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_rules_run_as_python_outside_of_jit(kind):
    seen = []

    def relu(x):
        seen.append(("fun", float(x)))
        return x if x > 0 else 0.0 * x

    if kind == "jvp":
        f = custom_jvp(relu)

        @f.defjvp
        def rule(xs, ts):
            seen.append(("rule", float(xs[0])))
            return f(xs[0]), ts[0] if xs[0] > 0 else 0.5 * ts[0]
    else:
        f = custom_vjp(relu)

        def fwd(x):
            seen.append(("fwd", float(x)))
            return relu(x), x

        def bwd(x, ct):
            seen.append(("bwd", float(x)))
            return (ct if x > 0 else 0.5 * ct,)

        f.defvjp(fwd, bwd)
    assert f(2.0) == 2.0 and jax.grad(f)(2.0) == 1.0 and jax.grad(f)(-2.0) == 0.5
    assert ("fun", 2.0) in seen and len({name for name, _ in seen}) > 1
    assert jax.jvp(lambda x: f(stop_gradient(x)) * x, (3.0,), (1.0,))[1] == 3.0


# --- trees, keywords, arguments without derivatives


def test_trees_of_arguments_and_results():
    f = custom_jvp(lambda d, y: {"s": d["a"] * y, "t": (d["b"],)})
    f.defjvp(
        lambda xs, ts: (f(*xs), {"s": ts[0]["a"] * 10 + ts[1] * 100, "t": (ts[0]["b"] * 1000,)})
    )
    g = custom_vjp(lambda d, y: {"s": d["a"] * y, "t": (d["b"],)})
    g.defvjp(
        lambda d, y: (g(d, y), None),
        lambda _, ct: ({"a": ct["s"] * 10, "b": ct["t"][0] * 1000}, ct["s"] * 100),
    )
    for h in (f, g, jax.jit(f), jax.jit(g)):

        def loss(d, y, h=h):
            out = h(d, y)
            return out["s"] + out["t"][0]

        d, y = jax.grad(loss, (0, 1))({"a": 2.0, "b": 3.0}, 4.0)
        assert (d["a"], d["b"], y) == (10.0, 1000.0, 100.0)


def test_keywords_and_defaults_go_to_their_places():
    def power(x, n=2, *, scale=1.0):
        return x**n

    f = custom_jvp(lambda x, n=2: x**n, nondiff_argnums=(1,))
    f.defjvp(lambda n, xs, ts: (xs[0] ** n, ts[0] * n))
    assert jax.grad(f)(3.0) == 2.0
    assert jax.grad(lambda x: f(n=5, x=x))(3.0) == 5.0
    assert jax.grad(functools.partial(f, n=4))(3.0) == 4.0
    g = custom_vjp(lambda x, y=2.0: x * y)
    g.defvjp(lambda x, y: (x * y, ()), lambda _, ct: (ct * 7, None))
    assert jax.grad(g)(3.0) == jax.grad(lambda x: g(y=1.0, x=x))(3.0) == 7.0
    h = custom_jvp(power)
    h.defjvp(lambda xs, ts: (power(*xs), ts[0]))
    text = message(ArgumentTypeError, lambda: h(1.0, scale=2.0))
    assert text.startswith(
        "custom_jvp: keyword-only arguments cannot be passed to a function with derivative rules"
    )
    with pytest.raises(TypeError, match="unexpected keyword"):
        f(1.0, m=2)
    # Keyword-only arguments that a call leaves out keep their values, as partial's do.
    assert jax.value_and_grad(h)(3.0) == (9.0, 1.0)
    bound = functools.partial(power, scale=2.0)
    for make in (custom_jvp, custom_vjp, jax.custom_batching.custom_vmap):
        k = make(bound)
        if make is custom_jvp:
            k.defjvp(lambda xs, ts: jax.jvp(bound, xs, ts))
        elif make is custom_vjp:
            k.defvjp(lambda *xs: jax.vjp(bound, *xs), lambda pull, ct: pull(ct))
        else:
            k.def_vmap(lambda n, mapped, x, y: (bound(x, y), True))
        assert k(3.0) == 9.0 and jax.grad(k)(3.0, 2.0) == 6.0


@pytest.mark.parametrize("names", [{"nondiff_argnums": (0, 2)}, {"nondiff_argnames": ("f", "n")}])
def test_arguments_without_derivatives(names):
    @functools.partial(custom_jvp, **names)
    def apply(f, x, n):
        return f(x) * n

    apply.defjvp(lambda f, n, xs, ts: (f(xs[0]) * n, ts[0] * n * 10))
    assert jax.grad(apply, 1)(jnp.sin, 1.0, 3) == 30.0
    assert jax.jit(jax.grad(lambda x: apply(jnp.sin, x, 3)))(1.0) == 30.0

    @functools.partial(custom_vjp, **names)
    def apply(f, x, n):
        return f(x) * n

    apply.defvjp(lambda f, x, n: (f(x) * n, (x,)), lambda f, n, kept, ct: (ct * n * kept[0] * 100,))
    assert jax.grad(apply, 1)(jnp.sin, 2.0, 3) == 600.0
    assert jax.jit(jax.grad(lambda x: apply(jnp.sin, x, 3)))(2.0) == 600.0
    text = message(UnexpectedTracerError, lambda: jax.grad(lambda n: apply(jnp.sin, 2.0, n))(3.0))
    assert text.startswith("custom_vjp: an argument named in nondiff_argnums is a traced value\n")


def test_integers():
    f = custom_jvp(lambda n, x: (n + 1, x * n))
    tangents = []

    @f.defjvp
    def rule(xs, ts):
        tangents.append(ts[0])
        return f(*xs), (ts[0], ts[1] * 10)

    assert jax.grad(lambda x: f(3, x)[1])(2.0) == 10.0
    assert tangents[0].dtype == dtypes.float0
    assert jax.grad(jax.jit(lambda x: f(3, x)[1]))(2.0) == 10.0
    for ct in (None, np.zeros((), dtypes.float0), 0):
        g = custom_vjp(lambda n, x: (n + 1, x * n))
        kept = []

        def fwd(n, x):
            return (n + 1, x * n), None

        def bwd(_, cts, ct=ct, kept=kept):
            kept.append(cts[0])
            return ct, cts[1] * 10

        g.defvjp(fwd, bwd)
        assert jax.grad(lambda x, g=g: g(3, x)[1])(2.0) == 10.0
        assert kept[0].dtype == dtypes.float0
        assert jax.grad(jax.jit(lambda x, g=g: g(3, x)[1]))(2.0) == 10.0


def test_none_stands_for_a_zero_cotangent():
    f = custom_vjp(lambda d, y, z: d["a"] * y + d["b"]["c"] * z)
    f.defvjp(lambda d, y, z: (f(d, y, z), None), lambda _, ct: ({"a": ct, "b": None}, None, ct))
    d, y, z = jax.grad(f, (0, 1, 2))({"a": 2.0, "b": {"c": 3.0}}, 4.0, 5.0)
    assert (d["a"], d["b"]["c"], y, z) == (1.0, 0.0, 0.0, 1.0)
    d, y, z = jax.jit(jax.grad(jax.jit(f), (0, 1, 2)))({"a": 2.0, "b": {"c": 3.0}}, 4.0, 5.0)
    assert (d["a"], d["b"]["c"], y, z) == (1.0, 0.0, 0.0, 1.0)


def test_cotangents_take_the_argument_s_dtype():
    f = custom_vjp(lambda x, y: x * y.astype(np.float32))
    f.defvjp(lambda x, y: (x, None), lambda _, ct: (np.float64(3), jnp.float32(2)))
    x, y = jax.grad(f, (0, 1))(1.0, jnp.float16(2))
    assert (x.dtype, y.dtype) == (np.float32, np.float16) and (x, y) == (3, 2)


def test_defjvps():
    f = custom_jvp(lambda x, y, z: x * y * z)
    f.defjvps(lambda t, out, x, y, z: t * 10, None, lambda t, out, x, y, z: t * out)
    assert jax.grad(f, (0, 1, 2))(2.0, 3.0, 4.0) == (10.0, 0.0, 24.0)
    assert jax.grad(lambda x: f(x, x, x))(2.0) == 18.0
    g = custom_jvp(lambda x, y: x, nondiff_argnums=0)
    text = message(ArgumentTypeError, lambda: g.defjvps(None))
    assert text.startswith("custom_jvp: defjvps does not go with nondiff_argnums\n")
    assert text.endswith("  nondiff_argnums  (0,)\n  fix              use defjvp")


def test_symbolic_zeros():
    seen = []
    f = custom_jvp(lambda x, y: x * y)

    def rule(xs, ts):
        seen.extend(type(t) for t in ts)
        assert ts[1].shape == () and ts[1].dtype == np.float32
        return f(*xs), ts[0] * 10

    f.defjvp(rule, symbolic_zeros=True)
    assert jax.grad(f)(2.0, 3.0) == 10.0
    assert seen[1] is SymbolicZero and seen[0] is not SymbolicZero
    f.defjvp(lambda xs, ts: (f(*xs), ts[1]), symbolic_zeros=True)
    assert jax.grad(f)(2.0, 3.0) == 0.0

    g = custom_vjp(lambda x, y: (x * y, x))
    kept = []

    def fwd(x, y):
        assert type(x) is CustomVJPPrimal
        kept.append((x.perturbed, y.perturbed))
        return (x.value * y.value, x.value), None

    def bwd(_, cts):
        kept.extend(map(type, cts))
        return cts[0] * 10, None

    g.defvjp(fwd, bwd, symbolic_zeros=True)
    assert jax.grad(lambda x: g(x, 3.0)[0])(2.0) == 10.0
    assert kept[0] == (True, False) and kept[2] is SymbolicZero


# --- values closed over


@pytest.mark.parametrize("make", KINDS)
def test_rules_may_close_over_values_of_outer_transformations(make):
    c = np.arange(3, dtype=np.float32)
    want = 2 * np.cos(1.0) * c

    def twice(c, y):
        return lax.scan(lambda s, _: (make(c)(s), None), y, None, length=2)[0]

    s = np.sin(1.0) * c
    want_twice = 2 * np.cos(1.0) * c * 2 * np.cos(s) * c
    for run, expected in (
        (lambda c: make(c)(1.0), np.sin(1.0) * c),
        (lambda c: make(c)(c), np.sin(c) * c),
        (lambda c: jax.grad(make(c))(1.0), want),
        (lambda c: jax.grad(lambda y: jax.jit(make(c))(y))(1.0), want),
        (lambda c: jax.grad(jax.jit(jax.jit(make(c))))(1.0), want),
        (lambda c: jax.grad(lambda y: twice(c, y))(1.0), want_twice),
        (lambda c: jax.grad(checkpoint(make(c)))(1.0), want),
    ):
        np.testing.assert_allclose(jax.vmap(run)(c), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.vmap(run))(c), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(jax.vmap(jax.jit(run))(c), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(run(jnp.float32(2)), expected[2], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(jax.jit(run)(2.0), expected[2], rtol=1e-5, atol=1e-6)

    def total(y):
        return jax.vmap(lambda c: make(c)(y))(c).sum()

    for g in (jax.grad(total), jax.jit(jax.grad(total)), jax.grad(jax.jit(total))):
        np.testing.assert_allclose(g(1.0), want.sum(), rtol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_a_rule_may_close_over_traced_values_and_call_its_function(order):
    def derivative(c, order):
        @custom_jvp
        def f(x):
            return c * jnp.sin(x)

        # sin'(x) = sin(x + pi/2); the factor 2 shows that this rule is what is differentiated.
        f.defjvp(lambda x, t: (f(*x), 2 * f(x[0] + np.float32(np.pi / 2)) * t[0]))
        g = f
        for _ in range(order):
            g = jax.grad(g)
        return g(0.5)

    want = 3 * 2**order * np.sin(0.5 + order * np.pi / 2)
    np.testing.assert_allclose(derivative(3.0, order), want, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(lambda c: derivative(c, order))(3.0), want, rtol=1e-5)


def test_a_forward_rule_may_close_over_traced_values_and_call_its_function():
    def scaled(c):
        f = custom_vjp(lambda x: c * jnp.sin(x))
        f.defvjp(lambda x: (f(x), x), lambda x, g: (2 * g * f(x),))
        return f

    c = np.arange(3, dtype=np.float32)
    for order in range(4):

        def derivative(c, order=order):
            g = scaled(c)
            for _ in range(order):
                g = jax.grad(g)
            return g(0.5)

        want = 2**order * np.sin(0.5)
        for run in (derivative, jax.jit(derivative), jax.jit(jax.jit(derivative))):
            np.testing.assert_allclose(run(3.0), 3 * want, rtol=1e-5)
        np.testing.assert_allclose(jax.vmap(derivative)(c), c * want, rtol=1e-5)


def test_a_rule_that_is_traced_in_advance_has_derivatives_up_to_an_order():
    def derivative(c, order):
        @custom_jvp
        def f(x):
            return c * jnp.sin(x)

        f.defjvp(lambda x, t: (f(*x), f(x[0] + np.float32(np.pi / 2)) * t[0]))
        g = jax.jit(lambda x: f(x))
        for _ in range(order):
            g = jax.grad(g)
        return g(0.5)

    for order in (1, 2, 3):
        want = 3 * np.sin(0.5 + order * np.pi / 2)
        np.testing.assert_allclose(jax.jit(lambda c, n=order: derivative(c, n))(3.0), want, 1e-5)
    text = message(ArgumentTypeError, lambda: jax.jit(lambda c: derivative(c, 5))(3.0))
    assert "a function that closes over traced values" in text
    assert text.endswith("fix       pass the values as arguments of the function")


@pytest.mark.parametrize("make", KINDS)
def test_a_derivative_of_what_a_rule_closes_over_is_refused(make):
    op = "custom_jvp" if make is sine_jvp else "custom_vjp"
    for f in (lambda c: make(c)(1.0), lambda c: make(c)(c)):
        text = message(UnexpectedTracerError, lambda f=f: jax.grad(f)(2.0))
        assert text.startswith(
            "grad of <lambda>: a traced value is used where its transformation does not reach: it "
            "was closed over by a function with a derivative rule\n"
            "  value  float32[]\n"
            "  where  test_custom.py:"
        )
        assert text.endswith("  fix    pass the value to that function as an argument")
    x = np.arange(2, dtype=np.float32)
    for run in (jax.jit, lambda g: lambda c: jax.vmap(g)(x), lambda g: lambda c: jax.pmap(g)(x)):
        for f in (lambda c: make(c)(c), lambda c: jax.grad(lambda c: make(c)(c))(c)):
            text = message(UnexpectedTracerError, lambda f=f, run=run: run(jax.grad(f))(2.0))
            assert "was closed over by a function with a derivative rule" in text
            assert text.endswith("  fix    pass the value to that function as an argument")
    text = message(
        UnexpectedTracerError, lambda: jax.grad(lambda c: jax.jit(lambda x: make(c)(x))(1.0))(2.0)
    )
    assert text.startswith(
        f"{op}: <lambda> closes over a value that is differentiated; "
        "its rule cannot know about it\n"
    )


# --- collectives, mapped axes


def collective():
    f = custom_vjp(lambda x: lax.psum(3 * x, "i"))
    f.defvjp(lambda x: (lax.psum(3 * x, "i"), x), lambda x, g: (lax.pmax(7 * g, "i"),))
    return f


@pytest.mark.parametrize("transform", [jax.vmap, jax.pmap])
def test_collectives_in_rules(transform):
    x = np.array([1.0, 2.0], np.float32)
    for f in (collective(), jax.jit(collective())):
        run = transform(f, axis_name="i")
        np.testing.assert_allclose(run(x), [9.0, 9.0])
        np.testing.assert_allclose(transform(jax.grad(f), axis_name="i")(x), [7.0, 7.0])
        np.testing.assert_allclose(transform(f, axis_name="i", out_axes=None)(x), 9.0)
        g = jax.grad(lambda x, run=run: (run(x) * np.array([1.0, 1.0], np.float32)).sum())(x)
        np.testing.assert_allclose(g, [7.0, 7.0])


def test_vmap_of_an_argument_that_is_shared():
    f = custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, g: (10 * g * kept[1], g * kept[0]))
    y = np.arange(3, dtype=np.float32)
    for h in (f, jax.jit(f)):
        total = lambda x, y, h=h: jax.vmap(h, (None, 0))(x, y).sum()
        gx, gy = jax.grad(total, (0, 1))(2.0, y)
        np.testing.assert_allclose(gx, 10 * y.sum())
        np.testing.assert_allclose(gy, [2.0, 2.0, 2.0])
    rows = jax.vmap(jax.vjp(f, 2.0, 3.0)[1])(y)
    np.testing.assert_allclose(rows, [30 * y, 2 * y])


def test_vmap_of_results_that_do_not_vary():
    f = custom_jvp(lambda x, y: (x * 2, y * 3))
    f.defjvp(lambda xs, ts: (f(*xs), (ts[0] * 20, ts[1] * 30)))
    g = custom_vjp(lambda x, y: (x * 2, y * 3))
    g.defvjp(lambda x, y: (g(x, y), None), lambda _, cts: (cts[0] * 20, cts[1] * 30))
    for h in (f, g, jax.jit(f), jax.jit(g)):
        a, b = jax.vmap(h, (0, None), out_axes=(0, None))(X, 1.0)
        np.testing.assert_allclose(a, X * 2)
        assert b == 3.0

        def loss(x, y, h=h):
            a, b = jax.vmap(h, (0, None), out_axes=(0, 0))(x, y)
            return a.sum() + b.sum()

        gx, gy = jax.grad(loss, (0, 1))(X, 1.0)
        np.testing.assert_allclose(gx, [20.0] * 3)
        np.testing.assert_allclose(gy, 90.0)


# --- stop_gradient, custom_gradient, closure_convert


def test_stop_gradient():
    f = lambda x: (stop_gradient(x) * x).sum()
    for g in (
        jax.grad(f),
        jax.jit(jax.grad(f)),
        jax.grad(jax.jit(f)),
        jax.jacfwd(f),
        jax.grad(lambda x: jax.vmap(f)(x[:, None]).sum()),
        jax.grad(checkpoint(f)),
    ):
        np.testing.assert_allclose(g(X), X)
    assert jax.grad(jax.grad(lambda x: stop_gradient(x) * x))(2.0) == 0.0
    tree = {"a": X, "n": 3, "s": "text", "none": None}
    out = stop_gradient(tree)
    assert out["n"] == 3 and out["s"] == "text" and out["none"] is None
    np.testing.assert_array_equal(out["a"], X)
    assert stop_gradient(np.arange(3)).dtype.kind == "i"


def test_custom_gradient():
    @custom_gradient
    def square(x):
        y = jnp.sin(x)
        return y * y, lambda ct: ct * y * 3

    want = 3 * np.sin(X)
    total = lambda x: square(x).sum()
    for g in (
        jax.grad(total),
        jax.jit(jax.grad(total)),
        jax.grad(jax.jit(total)),
        jax.vmap(jax.grad(square)),
        jax.grad(lambda x: jax.vmap(square)(x).sum()),
        jax.grad(jax.jit(lambda x: jax.vmap(square)(x).sum())),
    ):
        np.testing.assert_allclose(g(X), want, rtol=1e-5)
    np.testing.assert_allclose(square(X), np.sin(X) ** 2, rtol=1e-5)

    @custom_gradient
    def two(x, d):
        return {"y": x * d["z"]}, lambda ct: (ct["y"] * 5, {"z": ct["y"] * x})

    gx, gd = jax.grad(lambda x, d: two(x, d)["y"], (0, 1))(2.0, {"z": 3.0})
    assert (gx, gd["z"]) == (5.0, 2.0)
    assert message(ArgumentTypeError, lambda: custom_gradient(lambda x: x)(1.0)) == (
        "custom_gradient: the function must return a pair (result, function of the cotangent)\n"
        "  function  <lambda>\n"
        "  returns   1.0"
    )


def test_closure_convert():
    def solve(a, x):
        f, values = closure_convert(lambda x: a * x + 1, x)
        assert len(values) == 1

        @functools.partial(custom_vjp, nondiff_argnums=(0,))
        def apply(f, x, *values):
            return f(x, *values)

        apply.defvjp(
            lambda f, x, *values: (f(x, *values), values),
            lambda f, values, ct: (ct * 10, *[ct * 100 for _ in values]),
        )
        return apply(f, x, *values)

    assert jax.grad(solve, (0, 1))(2.0, 3.0) == (100.0, 10.0)
    f, values = closure_convert(lambda x: x * 2, 1.0)
    assert values == [] and f(4.0) == 8.0
    text = message(ArgumentTypeError, lambda: f((1.0, 2.0)))
    assert text.startswith("closure_convert: the arguments must have the structure of the examples")


# --- as decorators


def test_they_look_like_the_function():
    @custom_jvp
    def f(x):
        """Docstring."""
        return x

    assert f.__name__ == "f" and f.__doc__ == "Docstring." and f.__wrapped__ is f.fun

    @f.defjvp
    def rule(xs, ts):
        return xs[0], ts[0]

    assert callable(rule) and repr(f) == "<custom_jvp of f>"
    assert repr(custom_vjp(np.sin)) == "<custom_vjp of sin>"
    program = jax.make_jaxpr(f)(1.0)
    assert "custom_jvp_call" in str(program)
    check_program(program.program)


# --- errors


def test_functions_without_rules():
    for make, op, method in ((custom_jvp, "jvp", "defjvp"), (custom_vjp, "vjp", "defvjp")):
        f = make(np.sin)
        rules = "rule" if op == "jvp" else "rules"
        with pytest.raises(AttributeError, match=f"custom_{op}: sin .* has no {rules} yet") as e:
            f(1.0)
        assert str(e.value).endswith(f"with {method}")
        assert message(ArgumentTypeError, lambda make=make: make(3)) == (
            f"custom_{op}: takes a function\n  fun  3"
        )


def bad_jvp(rule):
    f = custom_jvp(lambda d, y: d["a"] * y)
    f.defjvp(rule)
    return lambda: jax.grad(lambda y: f({"a": X}, y).sum())(2.0)


def test_bad_jvp_rules():
    out = lambda xs: xs[0]["a"] * xs[1]
    text = message(ArgumentTypeError, bad_jvp(lambda xs, ts: out(xs)))
    assert text.startswith(
        "custom_jvp: the rule must return a pair (result, tangent)\n"
        "  function  <lambda> (test_custom.py:"
    )
    text = message(ArgumentTypeError, bad_jvp(lambda xs, ts: (out(xs), None)))
    assert text.startswith("custom_jvp: the rule's result and tangent must have one structure")
    text = message(ArgumentTypeError, bad_jvp(lambda xs, ts: (out(xs), "t")))
    assert text.startswith("custom_jvp: the rule's tangent is not an array\n")
    text = message(ArgumentTypeError, bad_jvp(lambda xs, ts: ("y", ts[1])))
    assert text.startswith("custom_jvp: the rule's result is not an array\n")
    text = message(ShapeError, bad_jvp(lambda xs, ts: (out(xs), ts[1])))
    assert text.startswith(
        "custom_jvp: the rule's tangent must have the type of the result\n"
        "  function  <lambda> (test_custom.py:"
    )
    assert text.endswith("  result    float32[3]\n  tangent   float32[]")
    text = message(DtypeError, bad_jvp(lambda xs, ts: (out(xs), jnp.zeros(3, int))))
    assert text.endswith("  result    float32[3]\n  tangent   int32[3]")


def test_a_jvp_rule_that_does_not_fit_the_function():
    f = custom_jvp(lambda x: (x, x))
    f.defjvp(lambda xs, ts: ([xs[0], xs[0]], [ts[0], ts[0]]))
    text = message(ArgumentTypeError, lambda: jax.grad(jax.jit(lambda x: f(x)[0]))(1.0))
    assert text.startswith(
        "custom_jvp: the rule's result must have the structure of the function's\n"
        "  function  (*, *)\n  rule      [*, *]\n"
    )
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda xs, ts: (xs[0] * X, ts[0] * X))
    text = message(ShapeError, lambda: jax.grad(jax.jit(lambda x: f(x).sum()))(1.0))
    assert text.startswith(
        "custom_jvp: the rule of <lambda> gives other results than the function\n"
        "  function  float32[]\n  rule      float32[3]"
    )


def bad_vjp(fwd=None, bwd=None):
    f = custom_vjp(lambda d, y: d["a"] * y)
    f.defvjp(fwd or (lambda d, y: (d["a"] * y, None)), bwd or (lambda _, ct: (None, None)))
    return lambda: jax.grad(lambda y: f({"a": X}, y).sum())(2.0)


def test_bad_forward_rules():
    text = message(ArgumentTypeError, bad_vjp(fwd=lambda d, y: d["a"] * y))
    assert text.startswith(
        "custom_vjp: fwd must return a pair (result, residuals)\n"
        "  function  <lambda> (test_custom.py:"
    )
    text = message(ArgumentTypeError, bad_vjp(fwd=lambda d, y: (d["a"] * y, {"k": "text"})))
    assert text.startswith("custom_vjp: a residual of fwd at ['k'] is not an array\n")
    text = message(ArgumentTypeError, bad_vjp(fwd=lambda d, y: (object(), None)))
    assert text.startswith("custom_vjp: the result of fwd is not an array\n")
    f = custom_vjp(lambda x: (x, x))
    f.defvjp(lambda x: ([x, x], None), lambda _, ct: (ct[0],))
    text = message(ArgumentTypeError, lambda: jax.grad(jax.jit(lambda x: f(x)[0]))(1.0))
    assert text.startswith(
        "custom_vjp: the result of fwd must have the structure of the function's\n"
        "  function  (*, *)\n  fwd       [*, *]\n"
    )


def test_bad_backward_rules():
    text = message(ArgumentTypeError, bad_vjp(bwd=lambda _, ct: ct.sum()))
    assert text.startswith(
        "custom_vjp: bwd must return a tuple with a cotangent for each argument (d, y)\n"
        "  function  <lambda> (test_custom.py:"
    )
    text = message(ArgumentTypeError, bad_vjp(bwd=lambda _, ct: (ct.sum(),)))
    assert text.startswith("custom_vjp: bwd must return a tuple with a cotangent for each argument")
    text = message(ArgumentTypeError, bad_vjp(bwd=lambda _, ct: (ct, None)))
    assert text.startswith(
        "custom_vjp: bwd must return a cotangent of the structure of the argument d: "
        "only argument has a leaf at ['a']\n"
        "  argument   {'a': *}\n"
        "  cotangent  *\n"
    )
    text = message(ShapeError, bad_vjp(bwd=lambda _, ct: (None, ct)))
    assert text.startswith(
        "custom_vjp: bwd's cotangent of y must have its shape\n"
        "  function   <lambda> (test_custom.py:"
    )
    assert text.endswith("  argument   float32[]\n  cotangent  float32[3]")
    text = message(ArgumentTypeError, bad_vjp(bwd=lambda _, ct: (None, "g")))
    assert text.startswith("custom_vjp: bwd's cotangent of y is not an array\n")
    text = message(DtypeError, bad_vjp(bwd=lambda _, ct: (None, 1j)))
    assert text.startswith("custom_vjp: bwd's cotangent of y is complex, the argument is not\n")


def test_bad_arguments():
    f = sine_jvp()
    text = message(ArgumentTypeError, lambda: f("text"))
    assert text.startswith("custom_jvp: the argument x is not an array: it is a str\n")
    assert text.endswith("  fix       name arguments that are not arrays in nondiff_argnums")
    g = custom_vjp(lambda x, d: x)
    g.defvjp(lambda x, d: (x, None), lambda _, ct: (ct, None))
    text = message(ArgumentTypeError, lambda: g(1.0, {"a": len}))
    assert text.startswith(
        "custom_vjp: the argument d['a'] is not an array: it is a builtin_function_or_method\n"
    )
    h = custom_jvp(lambda *xs: xs[0], nondiff_argnums=(3,))
    h.defjvp(lambda *a: a)
    text = message(ArgumentError, lambda: h(1.0))
    assert text.startswith(
        "custom_jvp: nondiff_argnums names an argument that the call does not have; it has 1\n"
    )
    text = message(ArgumentError, lambda: custom_jvp(lambda x: x, nondiff_argnames="y"))
    assert text.startswith("custom_jvp: the function has no argument 'y'\n")
    text = message(ArgumentTypeError, lambda: jax.jit(bad_result())(1.0))
    assert text.startswith("custom_jvp: the function returns a str at [1], not an array\n")


def bad_result():
    f = custom_jvp(lambda x: (x, "text"))
    f.defjvp(lambda xs, ts: (xs[0], ts[0]))
    return f


def test_exceptions_in_rules_pass_and_leave_no_trace():
    f = custom_vjp(lambda x: x * 2)

    def bwd(_, ct):
        raise KeyError("mine")

    f.defvjp(lambda x: (x * 2, None), bwd)
    for run in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f)), jax.vmap(jax.grad(f))):
        with pytest.raises(KeyError, match="mine"):
            run(X if run.__class__.__name__ == "_Vmap" else 1.0)
    f.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 5,))
    assert jax.grad(f)(1.0) == 5.0


def test_numbers_among_the_residuals_stay_numbers():
    seen = []

    @jax.custom_vjp
    def scaled(x, flag):
        return 2.0 * x

    def forward(x, flag):
        return 2.0 * x, {"flag": True, "n": 3, "x": x, "z": 1.5}

    def backward(kept, ct):
        seen.append((kept["flag"], type(kept["n"]), type(kept["z"])))
        return ct * kept["n"] if kept["flag"] else ct, None

    scaled.defvjp(forward, backward)
    for f in (scaled, jax.jit(scaled), jax.vmap(scaled, (0, None))):
        x = jnp.ones(2)
        np.testing.assert_allclose(jax.grad(lambda x, f=f: f(x, 0).sum())(x), [3, 3])
        assert seen.pop() == (True, int, float)
