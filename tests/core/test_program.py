"""Programs: how they print, run, are checked, and what they keep."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core import dtypes
from plait.core.check import ProgramError, check_program
from plait.core.primitive import registry
from plait.core.program import Equation, Literal, Program, Var, reference, run_program, sub_programs
from plait.core.show import show_program
from plait.core.stage import stage
from plait.core.types import ArrayType

F32 = ArrayType((3,), dtypes.float32)
SCALAR = ArrayType((), dtypes.float32)
ADD, SIN, SUM = registry["add"], registry["sin"], registry["reduce_sum"]


def staged(f, *types):
    return stage(lambda *xs: [f(*xs)], types)[0]


def sum_of_sines() -> Program:
    x, y, z = Var(F32), Var(F32), Var(SCALAR)
    one = Literal(np.float32(1), SCALAR)
    total = Equation(SUM, [y], {"axes": (0,)}, [z], None)
    last = Var(SCALAR)
    equations = [
        Equation(SIN, [x], {}, [y], None),
        total,
        Equation(ADD, [z, one], {}, [last], None),
    ]
    return Program([x], equations, [last], "f")


# --- text


def test_a_program_prints_one_line_for_each_equation():
    assert str(sum_of_sines()) == (
        "{ a:f32[3] =>\n"
        "  b:f32[3] = sin a\n"
        "  c:f32[] = reduce_sum[axes=(0,)] b\n"
        "  d:f32[] = add c 1.0\n"
        "  => d }"
    )


def test_results_may_be_inputs_and_literals():
    x = Var(F32)
    program = Program([x], [], [x, Literal(np.int32(7), ArrayType((), dtypes.int32))])
    assert str(program) == "{ a:f32[3] =>\n  => a 7 }"
    assert str(Program([], [], [])) == "{  =>\n  =>  }"


def test_programs_inside_equations_are_indented():
    text = str(staged(jax.jit(lambda x: jnp.cos(x)), F32))
    assert text == (
        "{ a:f32[3] =>\n"
        "  b:f32[3] = jit[program={ a:f32[3] =>\n"
        "      b:f32[3] = cos a\n"
        "      => b }] a\n"
        "  => b }"
    )
    branches = str(staged(lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), F32))
    assert "branches=({ a:f32[3] =>" in branches and "}" in branches.splitlines()[-1]


def test_names_go_on_after_z():
    def f(x):
        for _ in range(28):
            x = lax.sin(x)
        return x

    lines = str(staged(f, F32)).splitlines()
    assert lines[26].strip().startswith("aa:f32[3] = sin z")
    assert lines[-1].strip() == "=> ac }"


@pytest.mark.parametrize(
    "dtype, short",
    [
        (dtypes.bool_, "bool"),
        (dtypes.int32, "i32"),
        (dtypes.uint8, "u8"),
        (dtypes.bfloat16, "bf16"),
        (dtypes.float16, "f16"),
        (dtypes.complex64, "c64"),
        (dtypes.KEY_DTYPE, "key<fry>"),
        (dtypes.as_dtype("int4"), "i4"),
        (dtypes.as_dtype("float8_e4m3fn"), "float8_e4m3fn"),
    ],
    ids=str,
)
def test_types_are_short(dtype, short):
    x = Var(ArrayType((2, 0), dtype))
    assert str(Program([x], [], [x])).startswith(f"{{ a:{short}[2,0] =>")


def test_lines_of_the_user_are_shown_when_asked():
    program = staged(lambda x: lax.sin(x), F32)
    assert "# test_program.py:" in show_program(program, sources=True)
    assert "#" not in show_program(program)


def test_make_jaxpr_prints_the_same():
    text = str(jax.make_jaxpr(lambda x: jnp.sin(x) + 1.0)(np.zeros(3, np.float32)))
    assert "b:f32[3] = sin a" in text and "add b 1.0" in text


# --- running


def test_a_program_runs_by_ops_and_by_numpy():
    x = np.float32([0.1, 0.2, 0.3])
    program = sum_of_sines()
    (got,) = run_program(program, x)
    (meaning,) = reference(program, x)
    np.testing.assert_allclose(got, np.sin(x).sum() + 1, rtol=1e-6)
    assert type(meaning) is np.ndarray and meaning.dtype == np.float32
    np.testing.assert_allclose(meaning, np.sin(x).sum() + 1, rtol=1e-6)
    with pytest.raises(ValueError):
        run_program(program, x, x)


def test_what_is_derived_is_made_once():
    program, made = sum_of_sines(), []
    for _ in range(2):
        assert program.derived("key", lambda: made.append(1) or "value") == "value"
    assert made == [1]
    assert program.in_types == (F32,) and program.out_types == (SCALAR,)
    assert program.jaxpr is program and [e.op for e in program.eqns] == [
        e.op for e in program.equations
    ]


def test_sub_programs():
    inner = sum_of_sines()
    assert sub_programs({"a": inner, "b": (inner, 3, inner), "c": [inner], "d": 1}) == [inner] * 3


# --- checking


def test_right_programs_pass():
    def looped(x):
        return lax.scan(lambda c, y: (c + y, c * y), 0.0, x)[1]

    check_program(sum_of_sines())
    for f in (lax.cumsum, looped, jax.grad(lambda x: jnp.sum(looped(x))), jax.vmap(jnp.exp)):
        check_program(staged(f, F32))


def corrupted(change):
    program = sum_of_sines()
    change(program)
    with pytest.raises(ProgramError) as caught:
        check_program(program)
    return str(caught.value)


def test_a_wrong_type_is_found():
    def change(program):
        program.equations[1].outputs[0].type = F32

    text = corrupted(change)
    assert "equation 1 (reduce_sum" in text and "its op gives" in text
    assert "c:f32[3] = reduce_sum" in text


def test_a_use_before_the_definition_is_found():
    text = corrupted(lambda program: program.equations.reverse())
    assert "equation 0 (add" in text and "before it is defined" in text


def test_a_second_definition_is_found():
    def change(program):
        program.equations.append(program.equations[0])

    assert "defines a variable a second time" in corrupted(change)


def test_a_result_from_nowhere_is_found():
    def change(program):
        program.outputs = (Var(SCALAR),)

    assert "the output list uses a variable before it is defined" in corrupted(change)


def test_an_error_in_a_program_inside_is_found():
    def change(program):
        inner = sum_of_sines()
        inner.outputs = (Var(SCALAR),)
        x = program.inputs[0]
        y = Var(SCALAR)
        program.equations.append(Equation(registry["jit"], [x], {"program": inner}, [y], None))

    assert "the output list" in corrupted(change)
