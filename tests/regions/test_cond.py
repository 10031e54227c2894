"""cond and switch against Python's own branches; their derivatives against differences."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core.check import check_program
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.ops.slices import index_in_dim
from tests.regions.common import check_derivatives, message

pytestmark = pytest.mark.usefixtures("checked")

X = np.array([0.5, -1.5, 2.0], np.float32)


@pytest.mark.parametrize("pred", [True, False, np.bool_(True), 1, 0.0, np.array(2)])
def test_takes_the_branch_python_takes(pred):
    def f(x):
        return lax.cond(pred, lambda x: x + 1, lambda x: x * 2, x)

    want = X + 1 if pred else X * 2
    np.testing.assert_array_equal(f(X), want)
    np.testing.assert_array_equal(jax.jit(f)(X), want)


@pytest.mark.parametrize("pred", [True, False])
def test_traced_predicates(pred):
    def f(p, x):
        return lax.cond(p, lambda x: x + 1, lambda x: x * 2, x)

    want = X + 1 if pred else X * 2
    for p in (pred, jnp.asarray(pred), jnp.asarray(int(pred)), jnp.asarray(float(pred))):
        np.testing.assert_array_equal(f(p, X), want)
        np.testing.assert_array_equal(jax.jit(f)(p, X), want)


def test_operands_and_results_are_trees():
    def swap(d, y):
        return {"a": (d["b"], y), "b": None}

    def keep(d, y):
        return {"a": (d["a"][0], y * 2), "b": None}

    operands = ({"a": [1.0], "b": 2.0}, X)
    for pred, want in ((True, (2.0, X)), (False, (1.0, X * 2))):
        out = jax.jit(lambda p: lax.cond(p, swap, keep, *operands))(pred)
        assert set(out) == {"a", "b"} and out["b"] is None
        assert out["a"][0] == want[0]
        np.testing.assert_array_equal(out["a"][1], want[1])


def test_legacy_forms():
    assert lax.cond(True, lambda x: x + 1, lambda x: x - 1, operand=2.0) == 3.0
    assert lax.cond(False, lambda _: 1, lambda _: 2, operand=None) == 2
    assert lax.cond(True, 1.0, lambda x: x + 1, 5.0, lambda y: y * 2) == 2.0
    assert lax.cond(False, 1.0, lambda x: x + 1, 5.0, lambda y: y * 2) == 10.0
    assert lax.cond(True, lambda x: x, lambda x: -x, 2.0, linear=(False,)) == 2.0


def test_branches_close_over_arrays_and_traced_values():
    table = jnp.arange(3.0)

    @jax.jit
    def f(p, x, y):
        return lax.cond(p, lambda: x + table, lambda: y * table + x)

    np.testing.assert_allclose(f(True, X, 3.0), X + np.arange(3))
    np.testing.assert_allclose(f(False, X, 3.0), 3 * np.arange(3) + X)


def test_weak_types():
    weak = lax.cond(True, lambda: 1.0, lambda: 2.0)
    assert weak.weak_type
    mixed = lax.cond(True, lambda: 1.0, lambda: jnp.float32(2))
    assert mixed.dtype == np.float32 and not mixed.weak_type


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_switch_clamps(index):
    branches = [lambda x: x, lambda x: x + 1, lambda x: x * x]
    want = branches[min(max(index, 0), 2)](X)

    def f(i, x):
        return lax.switch(i, branches, x)

    np.testing.assert_array_equal(f(index, X), want)
    np.testing.assert_array_equal(jax.jit(f)(index, X), want)
    np.testing.assert_array_equal(jax.jit(f)(np.int8(index), X), want)
    np.testing.assert_array_equal(jax.jit(f)(np.uint8(max(index, 0)), X), want)


def test_switch_with_one_branch():
    assert lax.switch(7, [lambda x: x + 1], 2.0) == 3.0
    assert jax.jit(lambda i: lax.switch(i, [lambda: 5]))(3) == 5


def test_a_branch_that_returns_its_operand_and_one_that_returns_nothing():
    assert lax.cond(True, lambda x: x, lambda x: x, 2.0) == 2.0
    assert lax.cond(False, lambda x: (), lambda x: (), 2.0) == ()
    assert jax.jit(lambda p: lax.cond(p, lambda: (), lambda: ()))(True) == ()


def test_all_kinds_of_dtypes():
    for x in (np.arange(3), np.array([True, False]), np.array([1 + 2j], np.complex64)):
        out = jax.jit(lambda p, x: lax.cond(p, lambda x: (x, x), lambda x: (x, x), x))(True, x)
        np.testing.assert_array_equal(out[0], x)
    keys = jax.jit(lambda p: lax.cond(p, lambda: jnp.zeros(0), lambda: jnp.zeros(0)))(False)
    assert keys.shape == (0,)


def test_vmap_with_an_equal_predicate_runs_one_branch():
    def f(x):
        return lax.cond(True, lambda x: x + 1, lambda x: x * 2, x)

    np.testing.assert_array_equal(jax.vmap(f)(X), X + 1)
    program = jax.make_jaxpr(jax.vmap(lambda x: lax.cond(True, jnp.sin, jnp.cos, x)))(X)
    assert "cond" in str(program) and "select" not in str(program)


def test_vmap_with_a_mapped_predicate_selects():
    def f(p, x):
        return lax.cond(p, lambda x: (x, 1.0), lambda x: (-x, 2.0), x)

    p = np.array([True, False, True])
    out = jax.vmap(f)(p, X)
    np.testing.assert_array_equal(out[0], np.where(p, X, -X))
    np.testing.assert_array_equal(out[1], np.where(p, 1.0, 2.0))
    out = jax.vmap(f, (0, None))(p, X)
    np.testing.assert_array_equal(out[0], np.where(p[:, None], X, -X))


def test_branches_not_taken_have_no_derivative_under_vmap():
    # sqrt has the derivative infinity at 0, and 0 times infinity is no number.
    def safe(x):
        return lax.cond(x < 1e-3, lambda: 1e-3, lambda: jnp.sqrt(x))

    def total(x):
        return jax.vmap(safe)(x).sum()

    x = np.array([0.0, 4.0, 0.0], np.float32)
    for slope in (jax.grad(total), jax.jit(jax.grad(total)), jax.grad(jax.jit(total))):
        np.testing.assert_array_equal(slope(x), [0, 0.25, 0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(safe))(x), [0, 0.25, 0])
    np.testing.assert_array_equal(jax.jacrev(jax.grad(total))(x), np.diag([0, -1 / 32, 0]))

    def shared(w, which):  # an operand that all rows share
        rows = jax.vmap(lambda k: lax.switch(k, [lambda: 2 * w, lambda: jnp.sqrt(w)]))
        return rows(which).sum()

    assert jax.grad(shared)(0.0, np.array([0, 0])) == 4.0
    assert jax.grad(shared)(1.0, np.array([0, 1])) == 2.5


def test_what_all_branches_hand_on_does_not_vary():
    def f(x, y):
        return lax.cond(x > 0, lambda x, y: (x * 2, y), lambda x, y: (x * 3, y), x, y)

    x, y = jax.vmap(f, (0, None), (0, None))(X, np.float32(3))
    np.testing.assert_array_equal(x, np.where(X > 0, X * 2, X * 3))
    assert y == 3.0
    _, rows = jax.vmap(f)(X, X + 1)
    np.testing.assert_array_equal(rows, X + 1)


def test_vmap_of_switch():
    branches = [jnp.sin, jnp.cos, jnp.tanh, lambda x: x]
    i = np.array([3, 0, 2, 7, -1])
    x = np.linspace(0, 1, 5).astype(np.float32)
    want = [[np.sin, np.cos, np.tanh, lambda x: x][min(max(k, 0), 3)](v) for k, v in zip(i, x)]
    got = jax.vmap(lambda i, x: lax.switch(i, branches, x))(i, x)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_results_that_no_branch_maps_stay_unmapped():
    def f(x):
        return lax.cond(x.sum() > 0, lambda: jnp.ones(2), lambda: jnp.zeros(2))

    out = jax.vmap(lambda x: lax.cond(True, lambda: 1.0, lambda: 2.0), out_axes=None)(X)
    assert out == 1.0
    assert jax.vmap(f)(np.ones((4, 3), np.float32)).shape == (4, 2)


@pytest.mark.parametrize("pred", [True, False])
def test_derivatives(x64, pred):
    def f(x):
        return lax.cond(pred, lambda x: jnp.sin(x) * x, lambda x: x**3 * jnp.cos(x.sum()), x)

    check_derivatives(f, [0.5, -1.5, 2.0])


def test_derivatives_where_the_predicate_depends_on_the_argument(x64):
    def f(x):
        return lax.cond(x[0] > 0, lambda x: jnp.sin(x) * 2, lambda x: x * x, x)

    check_derivatives(f, [0.5, -1.5])
    check_derivatives(f, [-0.5, -1.5])


def test_derivatives_of_branches_with_different_needs(x64):
    # One branch is linear, one constant, one keeps several values of several shapes.
    c = np.array([1.0, 2.0, 3.0])

    def busy(x, y):
        z = jnp.exp(x) * y
        return jnp.sin(z).sum() * c, jnp.tanh(y * z[0])

    branches = [
        lambda x, y: (x * 2.0, y),
        lambda x, y: (c, 7.0),
        busy,
        lambda x, y: (jnp.sin(x) * y, y * y * y),
    ]
    for k in range(4):

        def f(x, k=k):
            a, b = lax.switch(k, branches, x[:3], x[3])
            return jnp.concatenate([a, b[None] * jnp.ones(1)])

        check_derivatives(f, [0.5, -1.5, 0.3, 0.7])


def test_a_known_operand_is_not_copied_through_the_known_part():
    w = jnp.ones((4, 4))

    def loss(x, p):
        return lax.cond(p, lambda x: x @ w, lambda x: x, x).sum()

    program = jax.make_jaxpr(jax.grad(loss))(np.ones((2, 4), np.float32), True).program
    # The weights are what the derivative needs, and they are an operand already: the cond of the
    # forward pass has no 4x4 result.
    conds = [e for e in program.equations if e.op.name == "cond"]
    assert conds
    assert all(v.type.shape != (4, 4) for e in conds for v in e.outputs)


def test_integers_have_no_derivative():
    def f(x, n):
        m, y = lax.cond(n > 1, lambda: (n + 1, x * 2), lambda: (n, x))
        return y * m

    assert jax.grad(f)(3.0, 2) == 6.0
    assert jax.grad(jax.jit(f))(3.0, 1) == 1.0


@pytest.mark.parametrize("transform", [jax.vmap, jax.pmap])
def test_collectives_in_branches(transform):
    def f(x, p):
        return lax.cond(p, lambda x: lax.psum(x, "i"), lambda x: x, x)

    x = X[:2]
    run = transform(f, axis_name="i", in_axes=(0, None))
    np.testing.assert_allclose(run(x, True), [x.sum()] * 2)
    np.testing.assert_allclose(run(x, False), x)
    g = jax.grad(lambda x: (run(x, True) * np.array([1.0, 2.0], np.float32)).sum())(x)
    np.testing.assert_allclose(g, [3.0, 3.0])


def test_pmap_in_a_branch():
    x = np.ones((2, 3), np.float32)

    def f(x):
        return lax.cond(x.sum() > 0, lambda a: jax.pmap(jnp.cos)(a), lambda a: -a, x)

    np.testing.assert_allclose(f(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(-x), x)


def test_nested():
    def f(x):
        return lax.cond(
            x > 0,
            lambda x: lax.cond(x > 1, lambda x: x * 3, lambda x: x * x, x),
            lambda x: -x,
            x,
        )

    def python(x):
        return (x * 3 if x > 1 else x * x) if x > 0 else -x

    for x in (-2.0, 0.5, 3.0):
        assert f(x) == jax.jit(f)(x) == python(x)
    x = np.array([-2.0, 0.5, 3.0], np.float32)
    np.testing.assert_allclose(jax.vmap(f)(x), list(map(python, x)))
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(x), [-1, 1, 3])


def test_without_jit_it_is_python():
    seen = []

    def branch(name, x):
        seen.append((name, float(x)))
        return x

    with jax.disable_jit():
        lax.cond(True, functools.partial(branch, "a"), functools.partial(branch, "b"), 2.0)
        lax.switch(5, [functools.partial(branch, "c"), functools.partial(branch, "d")], 3.0)
    assert seen == [("a", 2.0), ("d", 3.0)]


def test_branches_are_traced_once():
    traced = []

    def on_true(x):
        traced.append(x)
        return x

    def on_false(x):
        return x

    for _ in range(3):
        lax.cond(True, on_true, on_false, X)
    assert len(traced) == 1


def test_programs_check():
    def f(p, x):
        return lax.cond(p, lambda x: jnp.sin(x), lambda x: x * x, x).sum()

    program = jax.make_jaxpr(jax.grad(f, argnums=1))(True, X).program
    check_program(program)


def test_xla_clamps_nothing_the_index_does():
    out = jax.jit(lambda i: lax.switch(i, [lambda: 0, lambda: 1, lambda: 2]))(np.int64(2**31 - 1))
    assert out == 2


# --- errors


def test_bad_predicates():
    one = lambda: 1
    assert message(ShapeError, lambda: lax.cond(np.array([True]), one, one)) == (
        "cond: the predicate must be a scalar\n"
        "  pred  bool[1]\n"
        "  fix   reduce it with all() or any(), or select elements with jnp.where"
    )
    assert message(ArgumentTypeError, lambda: lax.cond("yes", one, one)) == (
        "cond: pred must be a bool or a number, not a str\n  pred  yes"
    )
    assert message(ArgumentTypeError, lambda: lax.cond(None, one, one)) == (
        "cond: pred must be a bool or a number, not a NoneType\n  pred  None"
    )


def test_bad_functions_and_operands():
    one = lambda: 1
    assert message(ArgumentTypeError, lambda: lax.cond(True, 1, one)) == (
        "cond: true_fun must be a function\n  true_fun  1"
    )
    assert message(ArgumentTypeError, lambda: lax.switch(0, [one, 2])) == (
        "switch: branches[1] must be a function\n  branches[1]  2"
    )
    assert message(ArgumentTypeError, lambda: lax.cond(True, len, len, 1, operand=2)) == (
        "cond: give operands by position or as operand=, not both\n"
        "  operands  1 operand by position\n"
        "  operand   2"
    )
    call = lambda: lax.cond(True, lambda d: 1, lambda d: 2, {"a": "text"})
    assert message(ArgumentTypeError, call) == (
        "cond: operands[0]['a'] is not an array: it is a str\n"
        "  operands[0]['a']  text\n"
        "  fix               let the branches close over what is not an array"
    )


def test_branches_that_differ():
    def one(x):
        return {"a": x, "b": x}

    def two(x):
        return {"a": x, "b": (x, x)}

    def three(x):
        return {"a": x, "b": x.astype(int)}

    def four(x):
        return {"a": x[:1], "b": x}

    text = message(ArgumentTypeError, lambda: lax.cond(True, one, two, X))
    assert text.startswith(
        "cond: true_fun and false_fun return different structures: "
        "only true_fun has a leaf at ['b']\n"
        "  true_fun   {'a': *, 'b': *}\n"
        "  false_fun  {'a': *, 'b': (*, *)}\n"
        "  fix        let one (test_cond.py:"
    )
    text = message(DtypeError, lambda: lax.cond(True, one, three, X))
    assert text.startswith(
        "cond: true_fun and false_fun return different types at ['b']\n"
        "  true_fun   float32[3]\n"
        "  false_fun  int32[3]\n"
        "  fix        convert in one of one (test_cond.py:"
    )
    text = message(ShapeError, lambda: lax.switch(0, [one, one, four], X))
    assert text.startswith(
        "switch: branches[0] and branches[2] return different types at ['a']\n"
        "  branches[0]  float32[3]\n"
        "  branches[2]  float32[1]\n"
    )
    with pytest.raises(TypeError):
        lax.cond(True, lambda: 1, lambda: 2.0)


def test_a_branch_that_returns_no_array():
    call = lambda: lax.cond(True, lambda: {"a": "text"}, lambda: {"a": "text"})
    assert message(ArgumentTypeError, call) == (
        "cond: false_fun returns a str at ['a'], which is not an array\n"
        "  fix  return arrays and numbers, in any nesting of containers"
    )


def test_bad_indices():
    one = [lambda: 1, lambda: 2]
    assert message(DtypeError, lambda: lax.switch(1.0, one)) == (
        "switch: the index must be an integer\n  index  float32[]"
    )
    assert message(DtypeError, lambda: lax.switch(True, one)) == (
        "switch: the index must be an integer\n  index  bool[]"
    )
    assert message(ShapeError, lambda: lax.switch(np.arange(2), one)) == (
        "switch: the index must be a scalar\n  index  int32[2]\n"
        "  fix    vmap the call, or select elements with jnp.select"
    )
    assert message(ArgumentTypeError, lambda: lax.switch("a", one)) == (
        "switch: the index must be an integer, not a str\n  index  a"
    )
    assert message(ArgumentError, lambda: lax.switch(0, [])) == (
        "switch: needs at least one branch"
    )


def test_an_exception_in_a_branch_passes_and_leaves_no_trace():
    def bad(x):
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            jax.jit(lambda x: lax.cond(True, bad, lambda x: x, x))(X)
    assert jax.jit(lambda x: lax.cond(True, lambda x: x, lambda x: x, x))(1.0) == 1.0


def test_a_value_that_leaks_out_of_a_branch():
    kept = []

    def branch(x):
        kept.append(x)
        return x

    lax.cond(True, branch, lambda x: x, 1.0)
    with pytest.raises(RuntimeError, match="after the transformation that made it had ended"):
        index_in_dim(kept[0] + 1, 0)
