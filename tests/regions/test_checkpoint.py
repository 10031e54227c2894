"""checkpoint: derivatives stay the same, and what is kept follows the policy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core.check import check_program
from plait.core.program import sub_programs
from plait.errors import ArgumentError, ArgumentTypeError
from plait.regions.checkpoint import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    optimization_barrier,
    remat,
)
from tests.regions.common import check_derivatives, message

pytestmark = pytest.mark.usefixtures("checked")

X = np.array([0.5, -1.5, 2.0], np.float32)
POLICIES = {
    "none": None,
    "everything": checkpoint_policies.everything_saveable,
    "nothing": checkpoint_policies.nothing_saveable,
    "dots": checkpoint_policies.dots_saveable,
    "dots without batch": checkpoint_policies.dots_with_no_batch_dims_saveable,
    "a name": checkpoint_policies.save_only_these_names("hidden"),
    "other names": checkpoint_policies.save_any_names_but_these("hidden"),
    "own": lambda op, *types, **params: op.name == "sin",
}


def layer(x):
    hidden = checkpoint_name(jnp.sin(x) * 2, "hidden")
    return jnp.sin(jnp.sin(hidden) * x)


def equations(program):
    """All equations of a Program, those inside regions included."""
    found = []
    for eqn in program.equations:
        found.append(eqn)
        for inner in sub_programs(eqn.params):
            found.extend(equations(inner))
    return found


def count(f, *args, op):
    """How often an op occurs in a trace, inside regions too."""
    return sum(e.op.name == op for e in equations(jax.make_jaxpr(f)(*args).program))


@pytest.mark.parametrize("policy", POLICIES)
def test_derivatives(x64, policy):
    f = checkpoint(layer, policy=POLICIES[policy])
    check_derivatives(f, X, second=policy in ("none", "a name"))


def test_values():
    f = checkpoint(layer)
    np.testing.assert_allclose(f(X), layer(X), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(X), layer(X), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(X), layer(X), rtol=1e-6)
    assert f.__name__ == "layer" and remat is checkpoint


def test_the_backward_pass_computes_again():
    plain = lambda x: layer(x).sum()
    again = lambda x: checkpoint(layer)(x).sum()
    # Forwards three sines, and three again; without checkpoint they are kept.
    assert count(jax.grad(plain), X, op="sin") == 3
    # The last sine is not needed by the derivative.
    assert count(jax.grad(again), X, op="sin") == 5
    assert count(jax.grad(again), X, op="optimization_barrier") == 1
    loose = lambda x: checkpoint(layer, prevent_cse=False)(x).sum()
    assert count(jax.grad(loose), X, op="optimization_barrier") == 0
    check_program(jax.make_jaxpr(jax.grad(again))(X).program)


@pytest.mark.parametrize(
    "policy, sines",
    [
        ("none", 5),
        ("nothing", 5),
        ("everything", 3),
        ("dots", 5),
        ("a name", 4),
        ("other names", 5),
        ("own", 3),
    ],
)
def test_policies_say_what_is_kept(policy, sines):
    f = lambda x: checkpoint(layer, policy=POLICIES[policy])(x).sum()
    assert count(jax.grad(f), X, op="sin") == sines


def mlp(w, x):
    x = jnp.tanh(x @ w)
    return jnp.tanh(x @ w)


@pytest.mark.parametrize("wrapped", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_policies_about_products(wrapped):
    w, x = np.eye(3, dtype=np.float32), np.ones((2, 3), np.float32)

    def dots(policy):
        f = checkpoint(wrapped(mlp), policy=policy)
        return count(jax.grad(lambda w: f(w, x).sum()), w, op="dot_general")

    plain = count(jax.grad(lambda w: mlp(w, x).sum()), w, op="dot_general")
    assert dots(None) == plain + 2
    assert dots(checkpoint_policies.checkpoint_dots) == plain
    assert dots(checkpoint_policies.dots_with_no_batch_dims_saveable) == plain


def test_products_with_batch_axes():
    x = np.ones((4, 2, 2), np.float32)

    def f(x):
        return jnp.sin(jnp.sin(x @ x))

    def dots(policy):
        g = checkpoint(f, policy=policy)
        return count(jax.grad(lambda x: g(x).sum()), x, op="dot_general")

    assert dots(checkpoint_policies.dots_saveable) == 3
    assert dots(checkpoint_policies.dots_with_no_batch_dims_saveable) == 4


def test_policies_combine():
    def f(x):
        a = checkpoint_name(jnp.sin(x), "a")
        b = checkpoint_name(jnp.cos(a), "b")
        return jnp.tanh(jnp.exp(b))

    def ops(policy):
        g = jax.grad(lambda x: checkpoint(f, policy=policy)(x).sum())
        return count(g, X, op="exp"), count(g, X, op="cos"), count(g, X, op="sin")

    a, b = map(checkpoint_policies.save_only_these_names, "ab")
    both = checkpoint_policies.save_from_both_policies(a, b)
    exp, cos, sin = ops(None)
    assert ops(a) == (exp, cos, sin - 1)
    assert ops(b) == (exp, cos - 1, sin)
    assert ops(both) == (exp, cos - 1, sin - 1)
    assert ops(checkpoint_policies.save_only_these_names("a", "b")) == ops(both)
    assert ops(checkpoint_policies.save_any_names_but_these("b")) == ops(a)
    kept = checkpoint_policies.save_anything_except_these_names("b")
    assert ops(kept)[2] == sin - 1


def test_checkpoint_of_scan_and_scan_of_checkpoint():
    w = np.array([[0.5, -0.2], [0.1, 0.9]], np.float32)
    xs = np.arange(10, dtype=np.float32).reshape(5, 2) / 10

    def step(c, x):
        return jnp.tanh(w @ jnp.sin(c) + x), c.sum()

    def total(step, wrap):
        return lambda c: (lambda out: out[0].sum() + out[1].sum())(
            wrap(lambda c: lax.scan(step, c, xs))(c)
        )

    c = np.array([0.3, -0.4], np.float32)
    want = jax.grad(total(step, lambda f: f))(c)
    for f in (
        total(checkpoint(step), lambda f: f),
        total(checkpoint(step, prevent_cse=False), lambda f: f),
        total(step, checkpoint),
        total(checkpoint(step), checkpoint),
        total(checkpoint(step, policy=checkpoint_policies.dots_saveable), lambda f: f),
        total(step, functools.partial(checkpoint, policy=POLICIES["everything"])),
    ):
        for g in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
            np.testing.assert_allclose(g(c), want, rtol=1e-5)
    # The scan keeps one carry a round, not what is inside of a round.
    program = jax.make_jaxpr(jax.grad(total(checkpoint(step), lambda f: f)))(c).program
    forward = next(e for e in program.equations if e.op.name == "scan")
    assert sum(v.type.shape == (5, 2) for v in forward.outputs) == 1


def test_checkpoint_in_cond_and_of_cond():
    def f(p, x):
        return lax.cond(p, checkpoint(layer), lambda x: x * 3, x)

    def g(p, x):
        return checkpoint(lambda x: lax.cond(p, layer, lambda x: x * 3, x))(x)

    for h in (f, g, jax.jit(f), jax.jit(g)):
        for p in (True, False):
            got = jax.grad(lambda x, h=h, p=p: h(p, x).sum())(X)
            want = jax.grad(lambda x: layer(x).sum())(X) if p else [3.0] * 3
            np.testing.assert_allclose(got, want, rtol=1e-5)


def test_nested():
    f = checkpoint(lambda x: checkpoint(layer)(checkpoint(layer)(x)) * x)
    plain = lambda x: layer(layer(x)) * x
    g = jax.grad(lambda x: f(x).sum())
    want = jax.grad(lambda x: plain(x).sum())(X)
    np.testing.assert_allclose(g(X), want, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(g)(X), want, rtol=1e-5)


def test_trees_keywords_and_static_arguments():
    @functools.partial(checkpoint, static_argnums=(1,))
    def f(d, n, *, scale):
        assert isinstance(n, int)
        return {"y": d["a"] ** n * scale}

    loss = lambda d: f(d, 3, scale=d["b"])["y"]
    g = jax.grad(loss)({"a": 2.0, "b": 5.0})
    assert (g["a"], g["b"]) == (60.0, 8.0)
    assert f({"a": 2.0}, 2, scale=1.0)["y"] == 4.0
    h = checkpoint(lambda n, x: x**n, static_argnums=-2)
    assert jax.grad(h, 1)(3, 2.0) == 12.0


def test_static_arguments_by_name():
    f = checkpoint(
        lambda x, mode, *, n=1: jnp.sin(x) * n if mode == "sin" else x,
        static_argnames=("mode", "n"),
    )
    slope = jax.grad(f)
    np.testing.assert_allclose(slope(1.0, "sin", n=3), 3 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(slope(1.0, n=2, mode="sin"), 2 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: slope(x, "sin"))(1.0), np.cos(1), rtol=1e-6)
    assert slope(1.0, "other") == slope(1.0, mode="other") == 1
    with jax.disable_jit():
        assert f(1.0, "other", n=2) == 1
    text = message(ArgumentTypeError, lambda: f(1.0, mode=["sin"]))
    assert text.startswith("checkpoint: the static argument mode is not hashable: it is a list\n")
    text = message(ArgumentError, lambda: checkpoint(layer, static_argnames="mode"))
    assert "static_argnames names 'mode', but the function has no such argument" in text


def test_what_is_kept_is_printed(capsys):
    @jax.jit
    def inner(h):
        return jnp.exp(h)

    def loss(params, x, n):
        h = jnp.tanh(x @ params["w"])
        return jnp.sum(inner(h) * n)

    args = {"w": jnp.ones((3, 4))}, jnp.ones((5, 3)), 2
    jax.ad_checkpoint.print_saved_residuals(loss, *args)
    lines = capsys.readouterr().out.splitlines()
    kept = {line.split("  ", 1)[0].strip() + " " + line.split("  ")[-1].strip() for line in lines}
    assert {"float32[3,4] the argument params['w']", "float32[5,3] the argument x"} <= kept
    (exp,) = (line for line in lines if "of exp" in line)
    # The user's line, inside of the jitted function too.
    assert "float32[5,4]" in exp and "in inner" in exp
    jax.ad_checkpoint.print_saved_residuals(checkpoint(loss), *args)
    text = capsys.readouterr().out
    assert "argument" in text and " of " not in text
    jax.ad_checkpoint.print_saved_residuals(lambda x: x * np.arange(3.0), 1.0)
    assert capsys.readouterr().out == "float32[3]  a constant\n"


def test_values_closed_over():
    @jax.jit
    def f(c, x):
        return checkpoint(lambda x: jnp.sin(x) * c)(x)

    np.testing.assert_allclose(jax.grad(f, (0, 1))(2.0, 1.0), [np.sin(1), 2 * np.cos(1)], rtol=1e-6)
    got = jax.vmap(lambda c: jax.grad(checkpoint(lambda x: jnp.sin(x) * c))(1.0))(X)
    np.testing.assert_allclose(got, X * np.cos(1.0), rtol=1e-6)


def test_the_function_is_traced_once():
    traced = []

    def f(x):
        traced.append(x)
        return x * 2

    for _ in range(3):
        checkpoint(f)(X)
    assert len(traced) == 1


@pytest.mark.parametrize("transform", [jax.vmap, jax.pmap])
def test_collectives(transform):
    f = checkpoint(lambda x: jnp.sin(lax.psum(x * x, "i")))
    x = np.array([0.5, 0.7], np.float32)
    total = np.sum(x * x)
    g = transform(jax.grad(f), axis_name="i")
    np.testing.assert_allclose(g(x), 4 * x * np.cos(total), rtol=1e-5)
    out = transform(f, axis_name="i", out_axes=None)(x)
    np.testing.assert_allclose(out, np.sin(total), rtol=1e-6)


def test_memory_is_saved():
    w = np.eye(64, dtype=np.float32)
    x = np.ones((512, 64), np.float32)

    def block(x, w):
        for _ in range(8):
            x = jnp.tanh(x @ w)
        return x

    def loss(block):
        def f(x, w):
            for _ in range(8):
                x = block(x, w)
            return x.sum()

        return jax.jit(jax.grad(f)).lower(x, w).compile()

    plain, saved = loss(block), loss(checkpoint(block))
    memory = [c.memory_analysis().temporaries for c in (plain, saved)]
    if saved.cost_analysis()["flops"] < 1.2 * plain.cost_analysis()["flops"]:
        pytest.skip("this XLA merges computations across optimization barriers on CPU")
    assert memory[1] < memory[0] / 3


# --- names and barriers


def test_names_are_transparent():
    tree = {"a": X, "b": 2.0}
    out = checkpoint_name(tree, "n")
    np.testing.assert_array_equal(out["a"], X)
    f = lambda x: checkpoint_name(x, "n") * 2
    np.testing.assert_array_equal(jax.jit(f)(X), X * 2)
    np.testing.assert_array_equal(jax.vmap(f)(X), X * 2)
    assert jax.grad(jax.jit(f))(3.0) == 2.0
    assert jax.linear_transpose(f, 1.0)(1.0) == (2.0,)
    assert message(ArgumentTypeError, lambda: checkpoint_name(X, 3)) == (
        "checkpoint_name: the name must be a string\n  name  3"
    )


def test_optimization_barrier():
    tree = {"a": X, "b": (2.0, np.arange(3))}
    f = lambda t: optimization_barrier(t)
    for run in (f, jax.jit(f)):
        out = run(tree)
        np.testing.assert_array_equal(out["a"], X)
        np.testing.assert_array_equal(out["b"][1], np.arange(3))
    g = lambda x: (optimization_barrier((x, 2.0))[0] * x).sum()
    np.testing.assert_allclose(jax.grad(g)(X), 2 * X)
    np.testing.assert_allclose(jax.jacfwd(g)(X), 2 * X)
    a, b = jax.vmap(lambda x: optimization_barrier((x, 1.0)), out_axes=(0, None))(X)
    np.testing.assert_array_equal(a, X)
    assert b == 1.0 and optimization_barrier(()) == ()


# --- errors


def test_errors():
    assert message(ArgumentTypeError, lambda: checkpoint(3)) == (
        "checkpoint: the first argument must be a function\n  the first argument  3"
    )
    f = checkpoint(layer)
    text = message(ArgumentTypeError, lambda: f({"a": "text"}))
    assert text.startswith("checkpoint: args[0]['a'] is not an array: it is a str\n")
    assert text.endswith("name arguments that are not arrays in static_argnums or static_argnames")
    text = message(ArgumentTypeError, lambda: checkpoint(layer, static_argnums=0)([1]))
    assert text.startswith("checkpoint: the static argument 0 is not hashable: it is a list\n")
    text = message(ArgumentError, lambda: checkpoint(layer, static_argnums=2)(X))
    assert text.startswith(
        "checkpoint: static_argnums names argument 2, the call has 1 positional ones\n"
    )
    text = message(ArgumentTypeError, lambda: checkpoint(lambda x: (x, "text"))(X))
    assert text.startswith("checkpoint: the function returns a str at [1], which is not an array\n")
    with pytest.raises(TypeError, match="its truth"):
        checkpoint(lambda x: x if x > 0 else -x)(1.0)
