"""Staging: what a traced function becomes; captured values, literals, lines, leaks."""

from __future__ import annotations

import functools
import gc
import weakref

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core import dtypes
from plait.core.context import context
from plait.core.program import Literal, run_program
from plait.core.source import function_name, function_source, user_source
from plait.core.stage import clear_stage_cache, stage, stage_cached
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, IntegerOverflowError, ShapeError, UnexpectedTracerError

F32 = ArrayType((3,), dtypes.float32)


def test_arguments_come_after_what_was_captured():
    big, k = np.arange(3, dtype=np.float32), jnp.float32(2.0)
    program, captured = stage(lambda x: [lax.add(lax.mul(x, big), lax.mul(big, k))], [F32])
    assert [type_of(c).shape for c in captured] == [(3,), ()]
    assert captured[0] is big
    assert [t.shape for t in program.in_types] == [(3,), (), (3,)]
    (y,) = run_program(program, *captured, np.ones(3, np.float32))
    np.testing.assert_array_equal(y, 3 * big)


def test_numbers_become_literals():
    program, captured = stage(lambda x: [lax.mul(x, 2.0), np.float32(3.0)], [F32])
    assert captured == []
    (literal,) = [a for a in program.equations[0].inputs if isinstance(a, Literal)]
    assert literal.value == 2.0 and literal.value.dtype == np.float32
    assert isinstance(program.outputs[1], Literal)
    with pytest.raises(IntegerOverflowError):
        stage(lambda x: [2**40], [F32])


def test_python_runs_while_tracing():
    def f(x):
        for k in range(3):
            if k != 1:
                x = lax.sin(x)
        return [x]

    assert [e.op.name for e in stage(f, [F32])[0].equations] == ["sin", "sin"]


def test_types_are_checked_where_the_op_is_written():
    with pytest.raises(ShapeError, match="test_stage.py") as caught:
        stage(lambda x: [lax.add(x, np.ones(2, np.float32))], [F32])
    assert str(caught.value).startswith("add: ")
    with pytest.raises(DtypeError):
        stage(lambda x: [lax.add(x, np.ones(3, np.int32))], [F32])


def test_the_state_is_as_before_after_an_error():
    before = context.interpreter, context.source
    with pytest.raises(ZeroDivisionError):
        stage(lambda x: [1 / 0], [F32])
    assert (context.interpreter, context.source) == before
    assert float(jnp.sum(jnp.ones(2))) == 2.0


def test_equations_know_the_line_they_came_from():
    def f(x):
        return [lax.sin(x)]

    (equation,) = stage(f, [F32])[0].equations
    source = equation.source
    assert source.function == "f" and source.file.endswith("test_stage.py")
    assert source.line == f.__code__.co_firstlineno + 1
    assert str(source) == f"test_stage.py:{source.line} in f"


def test_inner_traces_keep_their_lines():
    def layer(x):
        return jnp.tanh(x)

    def f(x):
        return [jax.grad(lambda x: jnp.sum(jax.jit(layer)(x)))(x)]

    program, _ = stage(f, [F32])
    inner = [p for e in program.equations for p in e.params.values() if hasattr(p, "equations")]
    lines = {e.source.function for p in inner for e in p.equations if e.source}
    assert "layer" in lines


def test_values_that_leak_are_named():
    kept = []
    stage(lambda x: [kept.append(lax.sin(x)) or x], [F32])
    with pytest.raises(UnexpectedTracerError) as caught:
        lax.cos(kept[0])
    text = str(caught.value)
    assert "test_stage.py" in text and "float32[3]" in text
    with pytest.raises(UnexpectedTracerError):
        stage(lambda x: [lax.add(x, kept[0])], [F32])


def test_a_trace_is_made_once_for_each_key_types_and_switches():
    made = []

    def f(x):
        made.append(1)
        return [lax.sin(x)]

    def ask(key, type_):
        stage_cached(f, key, [type_], lambda: stage(f, [type_]))
        return len(made)

    assert [ask("a", F32), ask("a", F32), ask("b", F32)] == [1, 1, 2]
    assert ask("a", ArrayType((4,), dtypes.float32)) == 3
    with jax.enable_x64():
        assert [ask("a", F32), ask("a", F32)] == [4, 4]
    assert ask("a", F32) == 4
    clear_stage_cache()
    assert ask("a", F32) == 5


def test_a_trace_is_dropped_with_its_function():
    def once():
        f = lambda x: [lax.sin(x)]
        stage_cached(f, "key", [F32], lambda: stage(lambda x: [lax.sin(x)], [F32]))
        return weakref.ref(f)

    f = once()
    gc.collect()
    assert f() is None


def test_the_user_is_the_innermost_frame_outside():
    here = user_source()
    assert here.function == "test_the_user_is_the_innermost_frame_outside"
    assert repr(here).startswith("Source(/")


def test_functions_have_names_and_places():
    def f(x):
        return x

    assert function_name(f) == "f"
    assert function_name(functools.partial(f, 1)) == "f"
    assert function_name(jax.jit(f)) == "f"
    assert function_source(f).startswith("test_stage.py:")
    assert function_source(len) == repr(len)
    assert function_name(type("Layer", (), {"__call__": lambda self: 0})()) == "Layer"
