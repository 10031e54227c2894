"""Over which axes values vary, the reasons given for it, and the collectives that would hang."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import plait as jax
from plait import lax
from plait.core.context import named_axes
from plait.core.stage import stage
from plait.core.types import type_of
from plait.errors import ArgumentError, PlaitError
from plait.interpreters.variance import Variance, variance
from plait.ops.arithmetic import add, convert_element_type, mul
from plait.ops.axes import reduce_sum
from plait.ops.compare import eq, gt, lt, select
from plait.regions.checkpoint import checkpoint
from plait.regions.custom_jvp import custom_jvp
from plait.regions.custom_vjp import custom_vjp

ONE, X = np.float32(1.0), np.arange(3.0, dtype=np.float32)
N = 4


def analysed(f: Any, *operands: Any, varying: Any, names: str = "ij") -> Variance:
    """The variance of f's Program; `varying` has a string of axis names for each operand."""
    with named_axes(*((name, N) for name in names)):
        program, captured = stage(
            lambda *xs: tuple(f(*xs)),
            [type_of(x) for x in operands],
            names=["abcdef"[k] for k in range(len(operands))],
        )
    assert not captured
    return variance(program, [frozenset(v) for v in varying], frozenset(names))


def over(f: Any, *operands: Any, varying: Any, names: str = "ij") -> list[str]:
    """Over which axes the results vary, each as a string of names."""
    found = analysed(f, *operands, varying=varying, names=names)
    return ["".join(sorted(v)) for v in found.out_varying]


# --- ops


def test_an_op_varies_as_its_operands_do():
    def f(a, b, c):
        return a, b, add(a, b), mul(mul(a, b), c), add(c, c), ONE

    assert over(f, ONE, ONE, ONE, varying=["i", "j", ""]) == ["i", "j", "ij", "ij", "", ""]


def test_names_that_are_not_followed_are_left_out():
    program, _ = stage(lambda a: [add(a, a)], [type_of(ONE)])
    assert variance(program, [frozenset("ij")], frozenset("j")).out_varying == (frozenset("j"),)


GROUPS = [[0, 1], [2, 3]]
RING = [(k, (k + 1) % N) for k in range(N)]


@pytest.mark.parametrize(
    "f, wanted",
    [
        (lambda x: lax.psum(x, "i"), {"": "", "i": "", "ij": "j", "j": "j"}),
        (lambda x: lax.psum(x, ("i", "j")), {"ij": "", "": ""}),
        (lambda x: lax.pmean(x, "i"), {"ij": "j"}),
        (lambda x: lax.pmax(x, "j"), {"ij": "i"}),
        (lambda x: lax.pmin(x, "j"), {"ij": "i"}),
        (lambda x: lax.all_gather(x, "i"), {"": "", "ij": "j"}),
        (lambda x: lax.all_gather(x, ("i", "j"), tiled=True), {"ij": ""}),
        (lambda x: lax.pbroadcast(x, "i", 0), {"ij": "j"}),
        (lambda x: lax.psum(x, "i", axis_index_groups=GROUPS), {"": "", "i": "i", "j": "j"}),
        (lambda x: lax.pmax(x, "i", axis_index_groups=GROUPS), {"": "", "ij": "ij"}),
        (lambda x: lax.all_gather(x, "i", axis_index_groups=GROUPS), {"": "", "i": "i"}),
        (lambda x: lax.psum_scatter(x, "i"), {"": "i", "i": "i", "j": "ij"}),
        (lambda x: lax.all_to_all(x, "i", 0, 0), {"": "i", "i": "i", "j": "ij"}),
        (lambda x: lax.ppermute(x, "i", RING), {"": "", "i": "i", "j": "j"}),
        (lambda x: lax.ppermute(x, "i", RING[1:]), {"": "i", "i": "i", "j": "ij"}),
        (lambda x: lax.axis_index("j"), {"": "j", "i": "j"}),
        (lambda x: lax.axis_index(("i", "j")), {"": "ij"}),
    ],
)
def test_collectives(f, wanted):
    x = np.zeros((N, N), np.float32)
    for varying, result in wanted.items():
        assert over(lambda x: [f(x)], x, varying=[varying]) == [result]


def test_the_values_inside_can_be_asked_for():
    found = analysed(lambda a: [lax.psum(mul(a, a), "i")], ONE, varying=["ij"])
    squared, total = (eqn.outputs[0] for eqn in found.program.equations)
    assert found.of(squared) == frozenset("ij") and found.of(total) == frozenset("j")


# --- regions


def through_jit(f):
    return jax.jit(f)


def through_custom_jvp(f):
    g = custom_jvp(f)
    g.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return g


def through_custom_vjp(f):
    g = custom_vjp(f)
    g.defvjp(lambda *xs: (f(*xs), None), lambda _, ct: ct)
    return g


@pytest.mark.parametrize(
    "through",
    [through_jit, checkpoint, through_custom_jvp, through_custom_vjp],
    ids=["jit", "checkpoint", "custom_jvp", "custom_vjp"],
)
def test_calls_are_looked_into(through):
    f = through(lambda a, b: (a, lax.psum(a, "i"), add(a, b), lax.axis_index("j")))
    assert over(f, ONE, ONE, varying=["i", "j"]) == ["i", "", "ij", "j"]
    assert over(f, ONE, ONE, varying=["", ""]) == ["", "", "", "j"]


def test_cond_joins_its_branches_and_its_predicate():
    def f(p, a, b):
        return lax.cond(gt(p, 0), lambda a, b: (a, b, a), lambda a, b: (b, b, a), a, b)

    assert over(f, ONE, ONE, ONE, varying=["", "i", "j"]) == ["ij", "j", "i"]
    assert over(f, ONE, ONE, ONE, varying=["i", "", "j"]) == ["ij", "ij", "i"]


def test_scan_repeats_until_nothing_grows():
    def f(a, b, c, xs):
        # What varies moves one place along the carry each round.
        def step(carry, x):
            p, q, r = carry
            return (q, r, add(r, b)), (p, x)

        return (*lax.scan(step, (a, a, c), xs)[0], *lax.scan(step, (a, a, c), xs)[1])

    assert over(f, ONE, ONE, ONE, X, varying=["", "", "i", ""]) == ["i", "i", "i", "i", ""]
    assert over(f, ONE, ONE, ONE, X, varying=["", "j", "", "i"]) == ["j", "j", "j", "j", "i"]
    assert over(f, ONE, ONE, ONE, X, varying=["i", "", "", ""]) == ["i", "i", "", "i", ""]


def test_while_varies_as_its_condition_does():
    def f(a, b, limit):
        return lax.while_loop(
            lambda c: lt(c[0], limit), lambda c: (add(c[0], 1.0), c[1], add(c[1], c[2])), (a, b, b)
        )

    assert over(f, ONE, ONE, ONE, varying=["", "i", ""]) == ["", "i", "i"]
    assert over(f, ONE, ONE, ONE, varying=["", "", "j"]) == ["j", "", "j"]
    assert over(f, ONE, ONE, ONE, varying=["i", "", "j"]) == ["ij", "", "ij"]


def test_a_sum_inside_a_loop_ends_the_variation():
    def f(a, xs):
        return lax.scan(lambda c, x: (lax.psum(add(c, x), "i"), c), a, xs)

    assert over(f, ONE, X, varying=["", "i"]) == ["", ""]
    assert over(f, ONE, X, varying=["i", ""]) == ["i", "i"]


def test_a_map_inside_has_an_axis_of_its_own():
    def f(a, rows):
        inner = jax.pmap(
            lambda a, x: (lax.psum(add(a, x), "k"), lax.psum(x, "i"), lax.axis_index("k")),
            "k",
            in_axes=(None, 0),
        )
        return inner(a, rows)

    rows = np.zeros((2, 3), np.float32)
    a = np.zeros(3, np.float32)
    assert over(f, a, rows, varying=["i", "j"]) == ["ij", "j", ""]


def test_a_map_inside_may_hide_the_name():
    def f(a, rows):
        inner = jax.pmap(
            lambda a, x: (lax.psum(add(a, x), "i"), lax.axis_index("i")), "i", in_axes=(None, 0)
        )
        total, place = inner(a, rows)
        return total, place, lax.psum(total, "i")

    rows = np.zeros((2, 3), np.float32)
    a = np.zeros(3, np.float32)
    # The inner psum is over the inner axis: it does not make anything equal along the outer one.
    assert over(f, a, rows, varying=["i", ""], names="i") == ["i", "", ""]
    assert over(f, a, rows, varying=["", ""], names="i") == ["", "", ""]


def test_derivatives():
    def loss(w, x):
        return lax.pmean(reduce_sum(mul(w, x), (0,)), "i")

    def f(w, x):
        g = jax.grad(loss)(w, x)
        return g, lax.pmean(g, "i"), *jax.value_and_grad(jax.jit(loss))(w, x)

    assert over(f, X, X, varying=["", "i"]) == ["i", "", "", "i"]


# --- reasons


def test_a_reason_is_the_first_input_or_equation():
    def f(a, b):
        place = lax.axis_index("i")
        return (
            mul(a, a),
            add(b, convert_element_type(place, np.float32)),
            add(mul(b, b), a),
            b,
        )

    found = analysed(f, ONE, ONE, varying=["i", ""])
    first = found.reason(0, "i")
    assert first.input == 0 and str(first) == "the argument a"
    second = found.reason(1)
    assert second.input is None and second.op == "axis_index"
    assert "test_variance.py" in str(second) and second.source.function == "f"
    assert found.reason(2, "i").input == 0
    assert found.reason(3) is None and found.reason(0, "j") is None


def test_a_reason_looks_into_regions():
    @jax.jit
    def inside(a, b):
        return b, lax.ppermute(a, "i", RING[1:])

    def f(a, b):
        same, moved = inside(a, b)
        return lax.scan(lambda c, _: (add(c, moved), c), same, None, length=2)

    found = analysed(f, ONE, ONE, varying=["", ""])
    reason = found.reason(0, "i")
    assert reason.op == "ppermute" and reason.source.function == "inside"
    found = analysed(f, ONE, ONE, varying=["", "i"])
    assert found.reason(0, "i").input == 1


def test_a_reason_through_a_condition():
    def f(p, a):
        return [lax.cond(gt(p, 0), lambda a: a, lambda a: add(a, a), a)]

    assert analysed(f, ONE, ONE, varying=["j", ""]).reason(0, "j").input == 0
    assert analysed(f, ONE, ONE, varying=["", "j"]).reason(0, "j").input == 1


def test_a_long_program_needs_no_deep_stack():
    def f(a):
        b = a
        for _ in range(3000):
            b = add(b, 1.0)
        return [b]

    assert analysed(f, ONE, varying=["i"]).reason(0).input == 0


# --- collectives that only some positions reach


def branch(predicate: Any) -> Any:
    return lax.cond(predicate, lambda y: lax.psum(y, "i"), lambda y: y, ONE)


def test_a_collective_under_a_condition_that_varies_is_an_error():
    def f(x):
        here = lax.axis_index("i")
        return [lax.cond(eq(here, 0), lambda y: lax.psum(y, "i"), lambda y: y, x)]

    with pytest.raises(ArgumentError) as caught:
        analysed(f, ONE, varying=["i"])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("psum: only some positions of the axis 'i' would reach")
    text = "\n".join(lines)
    assert "the cond at test_variance.py:" in text and "in f depends on the position" in text
    assert "varies since axis_index at test_variance.py:" in text
    assert "where" in text and "in <lambda>" in text
    assert "outside of the cond" in text and "lax.pmax(predicate, 'i')" in text


def test_conditions_that_do_not_vary_over_the_axis_are_fine():
    def f(x):
        total = gt(lax.psum(x, "i"), 0)
        return branch(total), lax.cond(gt(x, 0), lambda y: lax.psum(y, "j"), lambda y: y, ONE)

    assert over(f, ONE, varying=["i"]) == ["", "i"]
    # Neither is a position asked for, nor a sum over an axis that the condition does not know.
    assert over(
        lambda x: [lax.cond(gt(x, 0), lambda: lax.axis_index("i"), lambda: 0)], ONE, varying=["i"]
    ) == ["i"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: branch(gt(x, 0)),
        lambda x: jax.jit(branch)(gt(x, 0)),
        lambda x: lax.switch(
            convert_element_type(x, np.int32),
            [lambda y: y, lambda y: jax.jit(lambda y: lax.pmax(y, "i"))(y)],
            x,
        ),
        lambda x: lax.cond(
            gt(x, 0),
            lambda y: lax.cond(gt(ONE, 0), lambda z: lax.psum(z, "i"), lambda z: z, y),
            lambda y: y,
            ONE,
        ),
        lambda x: lax.while_loop(lambda c: lt(c, 9.0), lambda c: add(lax.psum(c, "i"), 1.0), x),
        lambda x: lax.while_loop(lambda c: lt(lax.psum(c, "i"), x), lambda c: add(c, 1.0), ONE),
        lambda x: lax.while_loop(
            lambda c: lt(c[0], 9.0),
            lambda c: (add(c[0], c[1]), reduce_sum(lax.all_gather(c[1], "i"), (0,))),
            (ONE, x),
        )[0],
        lambda x: lax.scan(lambda c, _: (branch(gt(c, 0)), c), x, None, length=2)[0],
        # The carry varies from the second round on.
        lambda x: lax.fori_loop(0, 3, lambda k, c: (c[1], add(branch(gt(c[0], 0)), x)), (ONE, ONE))[
            1
        ],
        lambda x: lax.cond(
            gt(x, 0), lambda y: lax.ppermute(y, ("k", "i"), [(0, 1)]), lambda y: y, ONE
        ),
        lambda x: lax.cond(
            gt(x, 0), lambda y: jax.grad(lambda z: lax.psum(z, "i"))(y), lambda y: y, ONE
        ),
    ],
)
def test_collectives_that_would_hang_are_found(f):
    with pytest.raises(ArgumentError, match="'i' would reach this collective"):
        analysed(lambda x: [f(x)], ONE, varying=["i"], names="ijk")
    analysed(lambda x: [f(x)], ONE, varying=["j"], names="ijk")


def test_pmap_raises_instead_of_hanging():
    def f(x):
        return lax.cond(eq(lax.axis_index("i"), 0), lambda y: lax.psum(y, "i"), lambda y: y, x)

    x = np.float32([1.0, 2.0])
    for g in (f, jax.grad(f), jax.jit(f)):
        with pytest.raises(PlaitError, match="would reach this collective"):
            jax.pmap(g, "i")(x)
    # vmap computes both branches for all rows, where nothing can hang.
    np.testing.assert_array_equal(jax.vmap(f, axis_name="i")(x), [3.0, 2.0])


def test_the_cure_cures():
    def f(x):
        anywhere = lax.pmax(gt(x, 1.5), "i")
        total = lax.psum(x, "i")
        return (
            lax.cond(anywhere, lambda y: lax.psum(y, "i"), lambda y: y, x),
            select(eq(lax.axis_index("i"), 0), total, x),
        )

    always, first = jax.pmap(f, "i")(np.float32([1.0, 2.0]))
    np.testing.assert_array_equal(always, [3.0, 3.0])
    np.testing.assert_array_equal(first, [3.0, 2.0])


def test_results_that_leave_unmapped():
    x = np.float32([1.0, 2.0])
    y = jax.pmap(lambda x: (lax.pmean(x, "i"), ONE), "i", out_axes=None)(x)
    assert [float(a) for a in y] == [1.5, 1.0]
    with pytest.raises(ArgumentError, match="result") as caught:
        jax.pmap(lambda x: mul(x, x), "i", out_axes=None)(x)
    assert "the argument x" in str(caught.value)
