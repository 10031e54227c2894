"""scan, while_loop, fori_loop, map and associative_scan against Python loops."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.core.check import check_program
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.regions.scan import scan_p
from tests.regions.common import check_derivatives, message

pytestmark = pytest.mark.usefixtures("checked")

XS = np.array([[0.5, -1.0], [1.5, 0.3], [-0.2, 0.8], [0.9, 0.1], [0.4, -0.6]])
F32 = XS.astype(np.float32)


def python_scan(f, carry, xs, reverse=False):
    ys = [None] * len(xs)
    for k in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry, ys[k] = f(carry, xs[k])
    return carry, np.stack(ys)


# --- scan: values


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 5, 8, True, False])
def test_scan_is_a_loop(reverse, unroll):
    def f(c, x):
        return c * 0.5 + x, c - x

    want = python_scan(f, np.zeros(2, np.float32), F32, reverse)
    scan = lambda c, xs: lax.scan(f, c, xs, reverse=reverse, unroll=unroll)
    for run in (scan, jax.jit(scan)):
        carry, ys = run(np.zeros(2, np.float32), F32)
        np.testing.assert_allclose(carry, want[0], rtol=1e-6)
        np.testing.assert_allclose(ys, want[1], rtol=1e-6)


def test_scan_over_trees():
    def f(carry, x):
        total, n = carry["total"], carry["n"]
        new = {"total": total + x["a"] * x["b"], "n": n + 1}
        return new, (total, {"n": n})

    xs = {"a": F32, "b": np.arange(5, dtype=np.float32)}
    carry, (totals, ns) = lax.scan(f, {"total": jnp.zeros(2), "n": 0}, xs)
    steps = F32 * np.arange(5, dtype=np.float32)[:, None]
    np.testing.assert_allclose(carry["total"], steps.sum(0), rtol=1e-6)
    assert carry["n"] == 5
    np.testing.assert_array_equal(ns["n"], np.arange(5))
    np.testing.assert_allclose(totals[1:], np.cumsum(steps, 0)[:-1], rtol=1e-6)


def test_scan_without_xs_or_results():
    carry, ys = lax.scan(lambda c, _: (c * 2, None), 1.0, None, length=6)
    assert carry == 64.0 and ys is None
    carry, ys = lax.scan(lambda c, x: (c, x * 2), None, F32)
    assert carry is None
    np.testing.assert_array_equal(ys, F32 * 2)
    assert lax.scan(lambda c, x: (c, None), (), F32) == ((), None)


@pytest.mark.parametrize("unroll", [1, 4])
def test_scan_of_length_0_and_1(unroll):
    f = lambda c, x: (c + x, c * x)
    carry, ys = lax.scan(f, jnp.ones(2), np.zeros((0, 2), np.float32), unroll=unroll)
    np.testing.assert_array_equal(carry, [1, 1])
    assert ys.shape == (0, 2) and ys.dtype == np.float32
    carry, ys = lax.scan(f, jnp.ones(2), F32[:1], unroll=unroll)
    np.testing.assert_allclose(carry, 1 + F32[0])
    np.testing.assert_allclose(ys, F32[:1])


def test_scan_over_dtypes():
    for x in (
        np.arange(4),
        np.array([True, False, True]),
        np.array([1 + 2j, 3], np.complex64),
        np.arange(3, dtype=np.float16),
    ):
        carry, ys = lax.scan(lambda c, x: (x, c), x[0], x)
        assert ys.dtype == jnp.asarray(x).dtype
        np.testing.assert_array_equal(carry, x[-1])
        np.testing.assert_array_equal(ys, [x[0], *x[:-1]])


def test_scan_over_random_keys():
    keys = random.split(random.key(0), 3)
    last, ys = lax.scan(lambda c, k: (k, random.normal(c)), keys[0], keys)
    want = [random.normal(k) for k in (keys[0], keys[0], keys[1])]
    np.testing.assert_allclose(ys, want, rtol=1e-6)
    np.testing.assert_array_equal(random.key_data(last), random.key_data(keys[2]))
    out = jax.vmap(lambda k, p: lax.cond(p, lambda: k, lambda: keys[0]))(keys, np.arange(3) > 0)
    np.testing.assert_array_equal(random.key_data(out), random.key_data(keys))


def test_scan_carries_take_the_type_of_the_body():
    carry, ys = lax.scan(lambda c, x: (c + x, c), 0, F32[:, 0])
    assert carry.dtype == ys.dtype == np.float32 and not carry.weak_type
    carry, _ = lax.scan(lambda c, x: (c * 2, None), 1.0, None, length=3)
    assert carry.weak_type
    carry, _ = lax.scan(lambda c, x: (1.0, None), jnp.float32(2), None, length=3)
    assert carry == 1.0 and carry.dtype == np.float32 and not carry.weak_type
    # One carry's type reaches another's only in a second trace.
    (a, b), _ = lax.scan(lambda c, x: ((c[1], c[0] + x), None), (0, 0), F32[:, 0])
    assert a.dtype == b.dtype == np.float32


def test_scan_closes_over_arrays_and_traced_values():
    w = jnp.asarray(F32[:2])

    @jax.jit
    def f(c, s):
        return lax.scan(lambda c, x: (jnp.tanh(w @ c) * s + x, c), c, F32)

    carry = np.ones(2, np.float32)
    for x in F32:
        carry = np.tanh(F32[:2] @ carry) * 2 + x
    np.testing.assert_allclose(f(np.ones(2, np.float32), 2.0)[0], carry, rtol=1e-5)


def test_the_body_is_traced_once():
    traced = []

    def body(c, x):
        traced.append(c)
        return c + x, c

    for _ in range(3):
        lax.scan(body, jnp.zeros(2), F32)
    assert len(traced) == 1


def test_the_last_use_of_unroll_and_reverse_with_a_remainder():
    f = lambda c, x: (c * 3 + x, c)
    xs = np.arange(7)
    want = python_scan(f, 1, xs, reverse=True)
    got = lax.scan(f, 1, xs, reverse=True, unroll=3)
    assert got[0] == want[0]
    np.testing.assert_array_equal(got[1], want[1])


# --- scan: transformations


def rnn(w, c, xs):
    def step(c, x):
        c = jnp.tanh(w @ c + x)
        return c, c * c

    return lax.scan(step, c, xs)


@pytest.mark.parametrize(
    "axes", [(0, 0, 0), (None, 0, 0), (None, None, 0), (0, None, None), (None, 0, None)]
)
def test_vmap_of_scan(axes):
    w, c = np.ones((3, 2, 2)) * 0.3, np.arange(6.0).reshape(3, 2) / 6
    xs = np.stack([XS, XS + 1, XS * 2])
    args = [a if axis == 0 else a[0] for a, axis in zip((w, c, xs), axes)]
    carry, ys = jax.vmap(rnn, axes)(*args)
    for k in range(3):
        row = [a[k] if axis == 0 else a for a, axis in zip(args, axes)]
        want = rnn(*row)
        np.testing.assert_allclose(carry[k], want[0], rtol=1e-5)
        np.testing.assert_allclose(ys[k], want[1], rtol=1e-5)


def test_vmap_leaves_what_does_not_vary_alone():
    def f(x):
        (n, total), ns = lax.scan(
            lambda c, _: ((c[0] + 1, c[1] + x), c[0]), (0, 0.0), None, length=4
        )
        return n, total, ns

    n, total, ns = jax.vmap(f, out_axes=(None, 0, None))(F32[:, 0])
    assert n == 4
    np.testing.assert_array_equal(ns, np.arange(4))
    np.testing.assert_allclose(total, F32[:, 0] * 4, rtol=1e-6)


def test_vmap_grows_the_carry_until_it_fits():
    # The second carry varies only from the second round on, the third from the third.
    def f(x):
        return lax.scan(lambda c, _: ((x, c[0], c[1]), c[2]), (0.0, 0.0, 0.0), None, length=5)

    carry, ys = jax.vmap(f)(F32[:, 0])
    np.testing.assert_array_equal(carry[2], F32[:, 0])
    np.testing.assert_array_equal(ys[:, :3], np.zeros((5, 3)))
    np.testing.assert_array_equal(ys[:, 3], F32[:, 0])


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_scan(x64, reverse):
    w = np.array([[0.5, -0.2], [0.1, 0.9]])

    def of_all(p):
        w, c, xs = p[:4].reshape(2, 2), p[4:6], p[6:].reshape(-1, 2)
        step = lambda c, x: (jnp.tanh(w @ c + x) * x, jnp.sin(c) * x)
        carry, ys = lax.scan(step, c, xs, reverse=reverse)
        return jnp.concatenate([carry, ys.sum(0)])

    check_derivatives(of_all, np.concatenate([w.ravel(), [0.3, -0.4], XS[:2].ravel()]))

    def of_carry(c):
        return lax.scan(lambda c, x: (jnp.sin(w @ c) + x, c[0] * x), c, XS)[1].sum(0)

    check_derivatives(of_carry, np.array([0.3, -0.4]))


@pytest.mark.parametrize("unroll", [3, True])
def test_derivatives_of_unrolled_scan(x64, unroll):
    def f(c):
        return lax.scan(lambda c, x: (jnp.sin(c) * x, c * x), c, XS, unroll=unroll)[1].sum(0)

    check_derivatives(f, np.array([0.3, -0.4]), second=False)


def test_tangents_that_appear_later(x64):
    # Only the first carry has a tangent at first, and only the third is returned.
    def f(x):
        (_, _, c), ys = lax.scan(
            lambda c, _: ((c[0] * x[0], jnp.sin(c[0]) + c[1], c[1] * c[2]), c[2]),
            (x[1], 1.0, 1.0),
            None,
            length=4,
        )
        return jnp.stack([c, ys.sum()])

    check_derivatives(f, np.array([0.7, 1.3]))


def test_derivatives_with_counters_and_constants(x64):
    table = jnp.asarray(XS)

    def f(x):
        def body(carry, _):
            i, c, fixed = carry
            row = lax.dynamic_index_in_dim(table, i, keepdims=False)
            return (i + 1, jnp.sin(c * row) * jnp.exp(fixed) + x, fixed), c * i

        (_, c, _), ys = lax.scan(body, (0, x, x[0]), None, length=5)
        return c + ys.sum(0)

    check_derivatives(f, np.array([0.4, -0.7]))


def equations(f, *args):
    """All equations of a trace, those inside regions included."""
    from plait.core.program import sub_programs

    waiting, found = [jax.make_jaxpr(f)(*args).program], []
    while waiting:
        program = waiting.pop()
        found.extend(program.equations)
        for eqn in program.equations:
            waiting.extend(sub_programs(eqn.params))
    return found


def test_reverse_mode_keeps_little():
    w = jnp.ones((7, 7))

    def loss(w, c, xs):
        return lax.scan(lambda c, x: (jnp.tanh(jnp.exp(w) @ c + x), None), c, xs)[0].sum()

    xs = np.ones((5, 7), np.float32)
    program = jax.make_jaxpr(jax.grad(loss))(w, np.ones(7, np.float32), xs).program
    scans = [e for e in program.equations if e.op is scan_p]
    assert len(scans) == 2
    # Nothing that all rounds share is stacked: exp(w) is computed once, in front of the loop.
    assert all(v.type.shape != (5, 7, 7) for e in scans for v in (*e.inputs, *e.outputs))
    check_program(program)


def test_reverse_mode_passes_rows_on_instead_of_copying_them():
    def loss(s, xs):
        return lax.scan(lambda c, x: (c + jnp.sum(s * x), None), 0.0, xs)[0]

    program = jax.make_jaxpr(jax.grad(loss))(F32[0], F32).program
    forward = next(e for e in program.equations if e.op is scan_p)
    assert all(v.type.shape != (5, 2) for v in forward.outputs)


def test_scan_in_scan_in_grad(x64):
    def f(x):
        def outer(c, row):
            def inner(d, v):
                return jnp.sin(d * v) + c, d

            d, ys = lax.scan(inner, c, row)
            return d * x[0], ys.sum()

        c, ys = lax.scan(outer, x[1], XS[:3])
        return c + ys.sum()

    check_derivatives(f, np.array([0.7, 0.2]))


def test_cond_in_scan(x64):
    def f(x):
        def body(c, v):
            c = lax.cond(v[0] > 0.4, lambda: jnp.sin(c) * v.sum(), lambda: c * c + x[1])
            return c, lax.switch(jnp.int32(v[1] > 0), [lambda: c, lambda: c * x[1]])

        c, ys = lax.scan(body, x[0], XS)
        return c + ys.sum()

    check_derivatives(f, np.array([0.7, 0.2]))
    rows = np.array([[0.7, 0.2], [0.1, -0.3]])
    mapped = jax.vmap(jax.grad(f))(rows)
    np.testing.assert_allclose(mapped, [jax.grad(f)(r) for r in rows], rtol=1e-9)


def test_scan_in_cond_in_jit_in_grad(x64):
    @jax.jit
    def f(x):
        return lax.cond(
            x[0] > 0,
            lambda: lax.scan(lambda c, v: (c * v + x, None), x, XS)[0],
            lambda: x * 2,
        )

    check_derivatives(f, np.array([0.7, 0.2]))


def test_linear_transpose_of_scan(x64):
    def f(xs):
        (_, total), ys = lax.scan(
            lambda c, x: ((c[0] + 1, c[1] * 0.5 + x), c[1] * c[0]), (0, jnp.zeros(2)), xs
        )
        return total, ys

    xs = jnp.asarray(XS)
    cts = (jnp.array([1.0, 2.0]), jnp.asarray(np.cos(XS)))
    (back,) = jax.linear_transpose(f, xs)(cts)
    want = jax.vjp(f, xs)[1](cts)[0]
    np.testing.assert_allclose(back, want, rtol=1e-12)


def test_grad_of_a_long_scan_does_not_recurse():
    f = lambda x: lax.scan(lambda c, _: (c * x, None), 1.0, None, length=2000)[0]
    np.testing.assert_allclose(jax.grad(f)(1.0), 2000.0, rtol=1e-5)


@pytest.mark.parametrize("transform", [jax.vmap, jax.pmap])
def test_collectives_in_loops(transform):
    def f(x):
        c, ys = lax.scan(lambda c, _: (lax.pmean(c * x, "i"), c), 1.0, None, length=3)
        d = lax.fori_loop(0, 2, lambda _, d: lax.psum(d, "i"), x)
        e = lax.while_loop(lambda e: e < 5, lambda e: lax.psum(e, "i") + 1, 0.0)
        return c + ys.sum() + d + e

    x = np.array([1.0, 3.0], np.float32)
    got = transform(f, axis_name="i")(x)
    c = [1.0, 2.0, 4.0, 8.0]
    want = c[3] + sum(c[:3]) + 8.0 + 7.0
    np.testing.assert_allclose(got, [want, want])


def test_pmap_of_grad_of_scan():
    def loss(w, xs):
        return lax.scan(lambda c, x: (jnp.tanh(w * c + x), None), 0.1, xs)[0]

    xs = F32[:4, 0].reshape(2, 2)
    step = lambda w, xs: lax.pmean(jax.grad(loss)(w, xs), "i")
    got = jax.pmap(step, axis_name="i", in_axes=(None, 0), out_axes=None)(0.5, xs)
    want = np.mean([jax.grad(loss)(0.5, row) for row in xs])
    np.testing.assert_allclose(got, want, rtol=1e-5)


# --- while_loop


def test_while_is_a_loop():
    def f(n):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1))

    for n in (0, 1, 5):
        assert f(n) == jax.jit(f)(n) == (n, 2**n)


def test_while_takes_the_types_of_the_body():
    out = lax.while_loop(lambda x: x < 10, lambda x: x * jnp.float32(2), 1)
    assert out == 16.0 and out.dtype == np.float32
    assert lax.while_loop(lambda _: False, lambda x: x, ()) == ()


def test_vmap_of_while():
    def collatz(n):
        def step(c):
            n, k = c
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), k + 1

        return lax.while_loop(lambda c: c[0] != 1, step, (n, 0))[1]

    def python(n):
        k = 0
        while n != 1:
            n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
        return k

    ns = np.arange(1, 20)
    np.testing.assert_array_equal(jax.vmap(collatz)(ns), list(map(python, ns)))
    grid = ns[:18].reshape(2, 9)
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(jax.vmap(collatz)))(grid), [list(map(python, r)) for r in grid]
    )


def test_vmap_of_while_leaves_what_no_round_changes_alone():
    def power(w, x, n):
        def round(state):
            k, x, w = state
            return k + 1, x @ w, w

        _, x, w = lax.while_loop(lambda state: state[0] < n, round, (0, x, w))
        return w, x

    w, x, n = np.float32([[1, 2], [0, 1]]), np.ones((3, 2), np.float32), np.arange(3)
    want = [np.float32([1, 1 + 2 * k]) for k in n]
    same, out = jax.vmap(power, (None, 0, 0), (None, 0))(w, x, n)
    np.testing.assert_array_equal(same, w)
    np.testing.assert_array_equal(out, want)
    rows, out = jax.vmap(power)(np.stack([w] * 3), x, n)
    np.testing.assert_array_equal(rows, [w] * 3)
    np.testing.assert_array_equal(out, want)


def test_vmap_of_while_with_an_equal_condition():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))

    n, y = jax.vmap(f, out_axes=(None, 0))(F32[:, 0])
    assert n == 3
    np.testing.assert_allclose(y, F32[:, 0] ** 3, rtol=1e-5)
    assert not any(e.op.name == "select_n" for e in equations(jax.vmap(f), F32[:, 0]))


def test_vmap_over_the_constants_of_a_condition():
    def f(n):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + n), (0, 0))

    k, total = jax.vmap(f)(np.array([0, 3, 1]))
    np.testing.assert_array_equal(k, [0, 3, 1])
    np.testing.assert_array_equal(total, [0, 9, 1])


def test_forward_derivatives_of_while(x64):
    def f(x):
        def body(c):
            k, y, z = c
            return k + 1, jnp.sin(y) * x[0] + z, y * x[1]

        return jnp.stack(lax.while_loop(lambda c: c[0] < 5, body, (0, x[0], 1.0))[1:])

    x = np.array([0.7, 1.2])
    want = np.stack([(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(2)], -1)
    np.testing.assert_allclose(jax.jacfwd(f)(x), want, rtol=1e-7)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(f))(x), want, rtol=1e-7)
    np.testing.assert_allclose(jax.vmap(jax.jacfwd(f))(x[None])[0], want, rtol=1e-7)
    second = jax.jacfwd(jax.jacfwd(f))(x)
    want2 = np.stack(
        [
            (np.asarray(jax.jacfwd(f)(x + d)) - np.asarray(jax.jacfwd(f)(x - d))) / 2e-6
            for d in 1e-6 * np.eye(2)
        ],
        -1,
    )
    np.testing.assert_allclose(second, want2, rtol=1e-6, atol=1e-8)
    y, push = jax.linearize(f, x)
    np.testing.assert_allclose(push(np.array([1.0, 0.0])), want[:, 0], rtol=1e-7)
    np.testing.assert_allclose(y, f(x))


def test_derivatives_of_what_a_while_does_not_touch():
    def f(x):
        n = lax.while_loop(lambda n: n < 3, lambda n: n + 1, 0)
        m, y = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, 2.0))
        return x * n * y + m

    assert jax.grad(f)(1.0) == 6.0


def test_reverse_mode_of_while_is_refused():
    def f(x):
        return lax.while_loop(lambda c: c < 10, lambda c: c * x, x)

    want = (
        "while_loop: a loop whose number of rounds is not known cannot be differentiated in "
        "reverse mode\n"
        "  fix  use lax.scan, lax.fori_loop with bounds that are Python ints, or forward mode "
        "(jvp, jacfwd)"
    )
    for g in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
        assert message(ArgumentError, lambda g=g: g(2.0)).startswith(want)
    assert jax.jvp(f, (2.0,), (1.0,))[1] == 4 * 2.0**3


def test_a_collective_under_a_condition_that_varies():
    def f(x):
        return lax.while_loop(lambda c: c < 5, lambda c: c + lax.psum(c, "i"), x)

    text = message(ArgumentError, lambda: jax.pmap(f, axis_name="i")(np.array([1.0, 2.0])))
    assert text.startswith("psum: only some positions of the axis 'i' would reach this collective")


# --- fori_loop


@pytest.mark.parametrize("bounds", [(0, 5), (2, 7), (3, 3), (5, 2), (-2, 1)])
def test_fori_is_a_loop(bounds):
    body = lambda i, x: x * 2 + i
    want = 1
    for i in range(*bounds):
        want = body(i, want)
    f = lambda lo, hi: lax.fori_loop(lo, hi, body, 1)
    for run in (f, jax.jit(f), jax.jit(f, static_argnums=(0, 1))):
        assert run(*bounds) == want
    assert f(np.int8(bounds[0]), jnp.int32(bounds[1])) == want
    assert jax.jit(f)(np.int16(bounds[0]), np.int16(bounds[1])) == want
    assert jax.jit(lambda hi: lax.fori_loop(bounds[0], hi, body, 1))(bounds[1]) == want


def test_the_counter():
    seen = []
    lax.fori_loop(0, 3, lambda i, x: (seen.append(i), x)[1], 0.0)
    jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: (seen.append(i), x)[1], 0.0))(np.int16(2))
    assert (seen[0].dtype, seen[0].weak_type) == (np.int32, True)
    assert (seen[-1].dtype, seen[-1].weak_type) == (np.int16, False)
    assert lax.fori_loop(0, 3, lambda i, x: x + i, np.int8(1)).dtype == np.int8


def test_derivatives_of_fori(x64):
    def f(x):
        return lax.fori_loop(1, 5, lambda i, c: jnp.sin(c) * i + x[0], x[1])

    check_derivatives(f, np.array([0.3, 0.9]))
    g = jax.jit(lambda x, n: jax.jacfwd(lambda x: lax.fori_loop(0, n, lambda _, c: c * x, 1.0))(x))
    assert g(3.0, 4) == 4 * 27.0


def test_fori_reverse_mode_wants_known_bounds():
    def f(x, n):
        return lax.fori_loop(0, n, lambda _, c: c * x, 1.0)

    assert jax.grad(f)(3.0, 4) == 108.0
    assert jax.jit(jax.grad(f), static_argnums=1)(3.0, 4) == 108.0
    with pytest.raises(ArgumentError, match="cannot be differentiated in reverse mode"):
        jax.jit(jax.grad(f))(3.0, 4)


def test_fori_unroll_and_vmap_of_bounds():
    f = lambda x: lax.fori_loop(0, 7, lambda i, c: c * x + i, 0.0, unroll=3)
    want = 0.0
    for i in range(7):
        want = want * 0.5 + i
    np.testing.assert_allclose(f(0.5), want, rtol=1e-6)
    g = jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))
    np.testing.assert_array_equal(g(np.arange(5)), [0, 0, 1, 3, 6])


def test_matrix_power_by_fori():
    m = np.array([[1, 1], [1, 0]])
    assert lax.fori_loop(0, 10, lambda _, a: a @ m, np.eye(2, dtype=np.int32))[0, 0] == 89


# --- map


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 5, 7])
def test_map(batch_size):
    f = lambda d: {"y": jnp.sin(d["x"]) * d["n"], "n": 1}
    xs = {"x": F32, "n": np.arange(5)}
    out = lax.map(f, xs, batch_size=batch_size)
    np.testing.assert_allclose(out["y"], np.sin(F32) * np.arange(5)[:, None], rtol=1e-6)
    np.testing.assert_array_equal(out["n"], np.ones(5))


def test_derivatives_of_map(x64):
    check_derivatives(lambda x: lax.map(lambda v: jnp.sin(v * x[0]), x).sum(), np.arange(3.0))
    f = lambda x: lax.map(lambda v: v**3 * x[0], x, batch_size=2).sum()
    check_derivatives(f, np.arange(1.0, 4.0), second=False)


# --- associative_scan


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n, reverse):
    x = np.linspace(0.5, 1.5, n * 2).reshape(n, 2).astype(np.float32)
    flip = (lambda a: a[::-1]) if reverse else (lambda a: a)
    got = lax.associative_scan(jnp.add, x, reverse=reverse)
    np.testing.assert_allclose(got, flip(np.cumsum(flip(x), 0)), rtol=1e-5)
    got = jax.jit(lambda x: lax.associative_scan(jnp.multiply, x, reverse, axis=-1))(x.T)
    np.testing.assert_allclose(got, flip(np.cumprod(flip(x), 0)).T, rtol=1e-5)


def test_associative_scan_of_matrices_and_trees():
    m = np.stack([np.eye(2) + 0.1 * k for k in range(6)]).astype(np.float32)
    want, prefix = np.eye(2), []
    for a in m:
        want = want @ a
        prefix.append(want)
    np.testing.assert_allclose(lax.associative_scan(jnp.matmul, m), prefix, rtol=1e-5)

    # A linear recurrence y = a y + b as pairs (a, b).
    def combine(p, q):
        return {"a": p["a"] * q["a"], "b": q["a"] * p["b"] + q["b"]}

    a, b = F32[:, 0], F32[:, 1]
    y, ys = 0.0, []
    for k in range(5):
        y = a[k] * y + b[k]
        ys.append(y)
    out = lax.associative_scan(combine, {"a": a, "b": b})
    np.testing.assert_allclose(out["b"], ys, rtol=1e-5)
    assert lax.associative_scan(jnp.add, ()) == ()
    assert lax.associative_scan(jnp.add, np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_derivatives_of_associative_scan(x64):
    check_derivatives(lambda x: lax.associative_scan(jnp.multiply, x), np.array([0.5, 2, 3.0, 1]))


# --- errors


def test_bad_stacked_arrays():
    f = lambda c, x: (c, x)
    assert message(ShapeError, lambda: lax.scan(f, 0, {"a": F32, "b": 3.0})) == (
        "scan: a scalar has no axis to loop over\n"
        "  xs['b']  float32[]\n"
        "  fix      stack the values of all rounds along axis 0, or let the body close over it"
    )
    assert message(ShapeError, lambda: lax.scan(f, 0, (F32, F32[:3]))) == (
        "scan: the stacked arrays differ in their number of rows: 5 and 3\n"
        "  first   xs[0] float32[5,2]\n"
        "  second  xs[1] float32[3,2]"
    )
    assert message(ArgumentError, lambda: lax.scan(f, 0, None)) == (
        "scan: there is nothing to loop over\n  fix  give xs with arrays, or length="
    )
    assert message(ArgumentError, lambda: lax.scan(f, 0, F32, length=3)) == (
        "scan: length is 3, but the stacked arrays have 5 rows\n  xs  xs float32[5,2]"
    )
    assert message(ArgumentError, lambda: lax.scan(f, 0, None, length=-1)) == (
        "scan: length must be at least 0\n  length  -1"
    )
    assert message(ArgumentTypeError, lambda: lax.scan(f, 0, None, length=2.5)) == (
        "scan: length must be a Python int\n  length  2.5"
    )
    assert message(ArgumentTypeError, lambda: lax.scan(f, "a", F32)) == (
        "scan: init is not an array: it is a str\n"
        "  init  a\n"
        "  fix   let the function close over what is not an array"
    )
    assert message(ArgumentError, lambda: lax.scan(f, 0, F32, unroll=-1)) == (
        "scan: unroll must be a bool or a positive int\n  unroll  -1"
    )
    assert message(ArgumentTypeError, lambda: lax.scan(3, 0, F32)) == (
        "scan: f must be a function\n  f  3"
    )
    assert message(ShapeError, lambda: lax.map(jnp.sin, 1.0)).startswith(
        "map: a scalar has no axis to loop over\n  xs   float32[]"
    )
    assert message(ArgumentError, lambda: lax.map(jnp.sin, F32, batch_size=0)) == (
        "map: batch_size must be a positive int\n  batch_size  0"
    )


def body_that_changes(what):
    def body(c, x):
        if what == "shape":
            return {"a": c["a"][None], "n": c["n"]}, x
        if what == "dtype":
            return {"a": c["a"], "n": c["n"] * 0.5}, x
        if what == "structure":
            return {"a": c["a"]}, x
        return c

    return body


def test_bad_bodies_of_scan():
    init = {"a": jnp.zeros(2), "n": jnp.int32(0)}
    run = lambda what: lax.scan(body_that_changes(what), init, F32)
    text = message(ShapeError, lambda: run("shape"))
    assert text.startswith(
        "scan: f must return the carry in the types it takes, and differs at ['a']\n"
        "  takes    float32[2]\n"
        "  returns  float32[1,2]\n"
        "  fix      convert the result in body (test_loops.py:"
    )
    text = message(DtypeError, lambda: run("dtype"))
    assert text.startswith(
        "scan: f must return the carry in the types it takes, and differs at ['n']\n"
        "  takes    int32[]\n"
        "  returns  float32[]\n"
    )
    text = message(ArgumentTypeError, lambda: run("structure"))
    assert text.startswith(
        "scan: f must return a carry of the structure it takes: only takes has a leaf at ['n']\n"
        "  takes    {'a': *, 'n': *}\n"
        "  returns  {'a': *}\n"
        "  fix      let body (test_loops.py:"
    )
    text = message(ArgumentTypeError, lambda: lax.scan(lambda c, x: c, jnp.zeros(3), F32))
    assert text.startswith(
        "scan: f must return a pair (carry, y)\n"
        "  returns  float32[3]\n"
        "  fix      return (carry, None) in <lambda> (test_loops.py:"
    )
    text = message(ArgumentTypeError, lambda: lax.scan(lambda c, x: (c, "y"), 0.0, F32))
    assert text == (
        "scan: f returns a str at [1], which is not an array\n"
        "  fix  return arrays and numbers, in any nesting of containers"
    )


def test_bad_bodies_of_while():
    x = jnp.float32(2)
    assert message(
        ArgumentTypeError, lambda: lax.while_loop(lambda c: c, lambda c: c, x)
    ).startswith("while_loop: cond_fun must return one bool\n  returns  float32[]\n")
    assert message(
        ArgumentTypeError, lambda: lax.while_loop(lambda c: F32 > c, lambda c: c, x)
    ).startswith("while_loop: cond_fun must return one bool\n  returns  bool[5,2]\n")
    assert message(
        ArgumentTypeError, lambda: lax.while_loop(lambda c: True, lambda c: (c, c), x)
    ).startswith(
        "while_loop: body_fun must return a carry of the structure it takes: "
        "only takes has a leaf at the top\n  takes    *\n  returns  (*, *)\n"
    )
    assert message(
        DtypeError, lambda: lax.while_loop(lambda c: True, lambda c: c.astype(int), x)
    ).startswith(
        "while_loop: body_fun must return the carry in the types it takes, and differs\n"
        "  takes    float32[]\n  returns  int32[]\n"
    )
    assert message(ArgumentTypeError, lambda: lax.while_loop(3, 3, x)) == (
        "while_loop: cond_fun must be a function\n  cond_fun  3"
    )


def test_bad_bounds():
    body = lambda i, x: x
    assert message(ArgumentTypeError, lambda: lax.fori_loop("a", 3, body, 0)) == (
        "fori_loop: lower must be an integer, not a str\n  lower  a"
    )
    assert message(ShapeError, lambda: lax.fori_loop(0, np.arange(2), body, 0)) == (
        "fori_loop: upper must be a scalar\n  upper  int32[2]"
    )
    assert message(DtypeError, lambda: lax.fori_loop(0, 2.5, body, 0)) == (
        "fori_loop: upper must be an integer\n  upper  float32[]"
    )
    assert message(
        DtypeError,
        lambda: jax.jit(lambda a, b: lax.fori_loop(a, b, body, 0))(np.int8(0), np.int32(3)),
    ).startswith(
        "fori_loop: lower and upper must have one dtype\n  lower  int8[]\n  upper  int32[]"
    )
    assert message(
        ArgumentError, lambda: jax.jit(lambda n: lax.fori_loop(0, n, body, 0, unroll=2))(3)
    ).startswith("fori_loop: a loop whose bounds are traced cannot be unrolled\n  unroll  2\n")
    assert message(
        DtypeError, lambda: lax.fori_loop(0, 3, lambda i, x: x * 0.5, jnp.int32(1))
    ).startswith(
        "fori_loop: body_fun must return the carry in the types it takes, and differs\n"
        "  takes    int32[]\n  returns  float32[]\n"
    )


def test_bad_associative_scans():
    assert message(ShapeError, lambda: lax.associative_scan(jnp.add, (F32, F32[:3]))) == (
        "associative_scan: the sizes along axis 0 differ\n"
        "  elems[0]  float32[5,2]\n"
        "  elems[1]  float32[3,2]"
    )
    assert message(
        ArgumentTypeError, lambda: lax.associative_scan(lambda a, b: (a, b), F32)
    ).startswith("associative_scan: fn must return a tree of the structure of elems")
