"""jit: arguments of all kinds, when it traces, what it shows, what it compiles."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import io
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.errors import CompileError
from plait.testing import assert_close
from tests.transforms.common import counted, counted_compilations, message, refused, same

X = np.float32([1, 2, 3])


# --- arguments and results


def test_containers_go_in_and_come_out():
    Point = collections.namedtuple("Point", "a b")

    @jax.jit
    def f(p, items, *, scale):
        return {
            "z": p.a * scale["s"],
            "a": [items[0], (items[1]["k"], None)],
            "p": Point(p.b, []),
            "e": ({}, ()),
        }

    out = f(Point(X, 2.0), [1, {"k": X}], scale={"s": 3})
    assert list(out) == ["a", "e", "p", "z"] or set(out) == {"a", "e", "p", "z"}
    same(out["z"], X * 3)
    assert out["a"][1][1] is None and out["e"] == ({}, ())
    assert isinstance(out["p"], Point) and out["p"].b == []
    assert out["a"][0].dtype == jnp.int32 and out["a"][0].weak_type


def test_classes_of_ones_own_are_containers():
    @dataclasses.dataclass
    class Model:
        w: Any
        name: str

    jax.tree_util.register_dataclass(Model, data_fields=["w"], meta_fields=["name"])
    f, calls = counted(lambda m: Model(m.w * 2, m.name + "!"))
    run = jax.jit(f)
    out = run(Model(X, "a"))
    same(out.w, X * 2)
    assert out.name == "a!" and isinstance(out, Model)
    run(Model(X + 1, "a"))
    assert len(calls) == 1
    run(Model(X, "b"))
    assert len(calls) == 2


def test_numbers_and_their_dtypes():
    f = jax.jit(lambda x: x)
    for value, dtype, weak in [
        (1, jnp.int32, True),
        (1.0, jnp.float32, True),
        (True, jnp.bool_, False),
        (1j, jnp.complex64, True),
        (np.float64(2), jnp.float32, False),
        (np.int8(2), jnp.int8, False),
        (np.ones(2), jnp.float32, False),
        (jnp.ones(2, jnp.bfloat16), jnp.bfloat16, False),
    ]:
        y = f(value)
        assert y.dtype == dtype and y.weak_type == weak, value
        assert type(y) is jax.Array or isinstance(y, jax.Array)
    assert (jax.jit(lambda x, y: x + y)(np.float16(1), 2.0)).dtype == jnp.float16


def test_results_that_are_arguments_constants_and_repeated():
    held = jnp.arange(3.0)
    f = jax.jit(lambda x: (x, held, x, 1, 2.5, np.float32([7]), x + 0))
    a, b, c, d, e, g, h = f(X)
    same((a, b, c, h), (X, np.float32([0, 1, 2]), X, X))
    assert int(d) == 1 and float(e) == 2.5 and g.shape == (1,)
    given = jnp.asarray(X)
    same(jax.jit(lambda x: x)(given) + 1, X + 1)
    assert not given.is_deleted()
    assert jax.jit(lambda: None)() is None and jax.jit(lambda x: ())(X) == ()
    assert jax.jit(lambda x, y: y)(X, 3) == 3


def test_ways_to_pass_arguments():
    def f(a, b=2, *rest, c, d=4, **more):
        return a + b + sum(rest) + c + d + sum(more.values())

    run = jax.jit(f)
    assert float(run(1, c=3)) == 10
    assert float(run(1, 1, 1, 1, c=3, d=0, e=5)) == 12
    assert float(run(a=1, c=3, b=0)) == 8
    g, calls = counted(lambda a, b: a - b)
    run = jax.jit(g)
    run(a=1.0, b=2.0)
    run(b=1.0, a=2.0)
    assert len(calls) == 1
    assert float(run(b=1.0, a=5.0)) == 4
    with pytest.raises(TypeError, match=r"missing|argument"):
        jax.jit(f)(1)


def test_functions_of_all_kinds():
    class Scale:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return x * self.k

        @jax.jit
        def add(self, x):
            return x + 1

        @functools.partial(jax.jit, static_argnums=0)
        def times(self, x):
            return x * self.k

        @staticmethod
        @jax.jit
        def twice(x):
            return x * 2

        @classmethod
        def make(cls, x):
            return x * 3

    s = Scale(5)
    same(jax.jit(s)(X), X * 5)
    same(s.times(X), X * 5)
    same(Scale(7).times(X), X * 7)
    same(Scale.twice(X), X * 2)
    same(jax.jit(Scale.make)(X), X * 3)
    same(jax.jit(s.__call__)(X), X * 5)
    refused(TypeError, lambda: s.add(X), "self", "not an array", "Scale")
    same(jax.jit(functools.partial(lambda k, x: k * x, 4))(X), X * 4)
    same(jax.jit(functools.partial(jnp.sum, axis=0))(X), np.float32(6))
    same(jax.jit(jnp.sin)(X), np.sin(X))
    same(jax.jit(jax.jit(jax.jit(lambda x: x + 1)))(X), X + 1)


def test_a_jitted_function_looks_like_the_function():
    def f(x: int, *, scale=2):
        """Multiply."""
        return x * scale

    run = jax.jit(f)
    assert run.__name__ == "f" and run.__doc__ == "Multiply." and run.__wrapped__ is f
    assert "jit" in repr(run) and "f" in repr(run)
    assert run == jax.jit(f) and hash(run) == hash(jax.jit(f))
    assert run != jax.jit(f, static_argnames="scale") and run != jax.vmap(f)


def test_values_inside_are_arrays_to_python():
    def f(x):
        assert isinstance(x, jax.Array) and not isinstance(x, np.ndarray)
        assert x.shape == (3,) and x.ndim == 1 and x.dtype == jnp.float32 and len(x) == 3
        return x.T.sum() + x[0] + x.size

    assert float(jax.jit(f)(X)) == 10


def test_side_effects_happen_while_tracing():
    seen = []
    f = jax.jit(lambda x: seen.append("now") or x * 2)
    for _ in range(3):
        f(X)
    assert seen == ["now"]


# --- static arguments


def test_static_arguments_by_number_and_name():
    f, calls = counted(lambda x, n, mode: x * n if mode == "times" else x + n)
    f.__signature__ = __import__("inspect").signature(lambda x, n, mode: None)
    for options in (
        {"static_argnums": (1, 2)},
        {"static_argnums": (-1, -2)},
        {"static_argnames": ("n", "mode")},
        {"static_argnums": 1, "static_argnames": "mode"},
    ):
        run = jax.jit(f, **options)
        calls.clear()
        same(run(X, 2, "times"), X * 2)
        same(run(X, 2, mode="times"), X * 2)
        same(run(X, n=2, mode="times"), X * 2)
        same(run(X, 3, "plus"), X + 3)
        same(run(X + 1, 3, "plus"), X + 4)
        # Passing by position and by name are different calls, but each traces once.
        assert len(calls) <= 4
        calls.clear()
        run(X + 2, 2, "times"), run(X, n=2, mode="times"), run(X, 3, "plus")
        assert not calls


def test_static_arguments_of_equal_value_and_other_type_differ():
    run = jax.jit(lambda x, k: x * k, static_argnums=1)
    x = np.int32([1, 2])
    assert run(x, 1).dtype == jnp.int32
    assert run(x, 1.0).dtype == jnp.float32
    assert run(x, True).dtype == jnp.int32


def test_static_arguments_are_part_of_the_program():
    @functools.partial(jax.jit, static_argnames=["shape", "dtype", "f"])
    def make(shape, *, dtype=np.float32, f=jnp.sin):
        return f(jnp.ones(shape, dtype))

    assert make((2, 3)).shape == (2, 3)
    assert make((1,), dtype=jnp.float16).dtype == jnp.float16
    same(make((2,), f=jnp.cos), np.cos(np.ones(2, np.float32)))


def test_mistakes_with_static_arguments():
    def f(x, n):
        return x

    refused(ValueError, lambda: jax.jit(f, static_argnums=2), "argument 2", "2 positional")
    refused(ValueError, lambda: jax.jit(f, static_argnums=-3), "argument -3")
    refused(ValueError, lambda: jax.jit(f, static_argnames="m"), "'m'", "x, n")
    refused(TypeError, lambda: jax.jit(f, static_argnums="n"), "ints")
    refused(TypeError, lambda: jax.jit(f, static_argnames=3), "static_argnames")
    run = jax.jit(f, static_argnums=1)
    refused(ValueError, lambda: run(X, np.ones(2)), "n is not hashable", "arrays")
    refused(ValueError, lambda: run(X, [1]), "n is not hashable", "list", "tuple")
    refused(ValueError, lambda: run(X, n={}), "n is not hashable", "dict")
    refused(ValueError, lambda: jax.jit(lambda x: run(X, x))(3), "n", "traced")
    refused(
        ValueError, lambda: jax.jit(f, static_argnums=0, donate_argnums=0), "static and donated"
    )
    same(run(X, 1), X)


# --- when it traces


def test_traced_once_for_each_type():
    f, calls = counted(lambda x, y: x + y)
    run = jax.jit(f)

    def traces(*args):
        before = len(calls)
        run(*args)
        return len(calls) - before

    assert traces(X, 1.0) == 1
    assert traces(X + 1, 2.0) == 0
    assert traces(jnp.asarray(X), 3.0) == 0
    assert traces(X, np.float32(1)) == 1  # not weak any more
    assert traces(X, 1) == 1
    assert traces(X.astype(np.float64), 1.0) == 0  # becomes float32
    assert traces(X[:2], 1.0) == 1
    assert traces(np.int32([1]), 1.0) == 1
    with jax.enable_x64():
        assert traces(X.astype(np.float64), 1.0) == 1
        assert traces(X.astype(np.float64), 2.0) == 0
    assert traces(X, 1.0) == 0
    with jax.default_matmul_precision("highest"):
        assert traces(X, 1.0) == 1
    assert traces(jax.device_put(X, jax.devices()[1]), 1.0) == 0  # compiled again, traced not


def test_not_traced_again_by_outer_transformations():
    f, calls = counted(lambda x: jnp.sin(x) * 2)
    run = jax.jit(f)
    outer = jax.jit(lambda x: run(x) + run(x) + run(x * 2))
    outer(X)
    assert len(calls) == 1
    jax.grad(lambda x: run(x).sum())(X)
    jax.grad(lambda x: run(x).sum())(X)
    jax.vmap(run)(X)
    assert len(calls) <= 2  # vmap's rows are scalars


def test_explained_in_words(capsys):
    @jax.jit
    def f(x, y):
        return x

    jax.config.update("explain_cache_misses", True)
    try:
        f(X, 1.0)
        f(X, 2.0)
        f(X[:2], 1.0)
        f({"a": X}, 1.0)
        with jax.enable_x64():
            f(X, 1.0)
        jax.jit(lambda x, k: x, static_argnums=1)(X, 1)
        g = jax.pmap(lambda x: x)
        g(X[:2])
        h = jax.jit(lambda x, k: x)
        h(X, 2.0), h(X, 2), h(X[:2], 2), h(X, np.float32(2))
        k = jax.jit(lambda x, mode: x, static_argnums=1)
        k(X, "a"), k(X, "b")
        for _ in range(2):
            jax.jit(lambda x: x + 1)(X)
    finally:
        jax.config.update("explain_cache_misses", False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 14
    assert all(line.startswith("plait: ") and "test_jit.py" in line for line in lines)
    assert "jit traces f" in lines[0] and "first call" in lines[0]
    assert "x changed from float32[3] to float32[2]" in lines[1]
    assert "containers" in lines[2] and "switches" in lines[3]
    assert "pmap traces" in lines[5]
    assert "k changed from float32[] of a Python number to int32[] of a Python number" in lines[7]
    assert lines[8].endswith("x changed from float32[3] to float32[2]")  # the nearest of the two
    assert "k changed from int32[] of a Python number to float32[]" in lines[9]
    assert "static arguments changed from number 1 = 'a' to number 1 = 'b'" in lines[11]
    assert lines[12].endswith("it is the first call")
    assert "make it once, outside of the loop" in lines[13]


def test_clearing():
    f, calls = counted(lambda x: x)
    run = jax.jit(f)
    run(X), run(X)
    run.clear_cache()
    run(X)
    assert len(calls) == 2


def test_clearing_everything():
    # In a process of its own: here it would throw away what all other tests compiled.
    code = """
        import plait as jax
        calls = []
        run = jax.jit(lambda x: calls.append(0) or x + 1)
        run(1.0), run(1.0), jax.clear_caches(), run(1.0), run(1.0)
        print(len(calls), run(1.0))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "2.0"]


def test_disable_jit():
    seen = []

    @jax.jit
    def f(x):
        seen.append(float(x.sum()))
        return x + 1 if x[0] > 0 else x

    with jax.disable_jit():
        same(f(X), X + 1)
        same(f(X), X + 1)
        same(jax.grad(lambda x: f(x).sum())(X), np.ones(3, np.float32))
        same(lax.fori_loop(0, 3, lambda k, c: c + k, 0), np.int32(3))
    assert seen[:2] == [6.0, 6.0]
    refused(TypeError, lambda: f(X), "traced")
    with pytest.raises(ZeroDivisionError):
        with jax.disable_jit():
            jax.jit(lambda x: 1 / 0)(X)


# --- looking at programs


def test_lowering_and_compiling():
    def f(x, *, y):
        return {"out": jnp.sin(x) @ y}

    lowered = jax.jit(f).lower(np.ones((2, 3), np.float32), y=np.ones((3, 4), np.float32))
    text = lowered.as_text()
    assert "stablehlo.dot_general" in text and "func.func" in text
    assert "sin" in lowered.as_text("program") and "f32[2,3]" in lowered.as_text("program")
    assert lowered.out_info == {"out": jax.ShapeDtypeStruct((2, 4), jnp.float32)}
    refused(ValueError, lambda: lowered.as_text("mhlo"), "'mhlo'")
    compiled = lowered.compile()
    out = compiled(np.ones((2, 3), np.float32), y=np.ones((3, 4), np.float32))
    same(out["out"], np.sin(np.ones((2, 3), np.float32)) @ np.ones((3, 4), np.float32))
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] > 0
    assert lowered.cost_analysis()["flops"] > 0
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == 4 * (6 + 12) and memory.output_size_in_bytes >= 32
    refused(
        ValueError,
        lambda: compiled(np.ones((2, 2), np.float32), y=np.ones((3, 4), np.float32)),
        "x",
        "float32[2,3]",
        "float32[2,2]",
    )
    refused(ValueError, lambda: compiled(np.ones((2, 3), np.float32)), "another structure")
    refused(
        ValueError,
        lambda: compiled(np.ones((2, 3), np.int32), y=np.ones((3, 4), np.float32)),
        "int32[2,3]",
    )


def test_lowering_from_shapes_and_with_static_arguments():
    run = jax.jit(lambda x, n: x * n, static_argnums=1)
    compiled = run.lower(jax.ShapeDtypeStruct((3,), jnp.float32), 4).compile()
    same(compiled(X, 4), X * 4)
    mapped = jax.pmap(lambda x: lax.psum(x, "i"), "i").lower(
        jax.ShapeDtypeStruct((2, 3), np.float32)
    )
    same(mapped.compile()(np.ones((2, 3), np.float32)), np.full((2, 3), 2, np.float32))


def test_ahead_of_time_compiles_once():
    f, calls = counted(lambda x: x * 2)
    run = jax.jit(f)
    run.lower(X).compile()
    assert len(calls) == 1
    run(X)
    assert len(calls) == 1


def test_shapes_without_computing():
    def f(x, y):
        return {"a": x @ y, "b": x.sum(), "c": (x > 0).any()}

    with counted_compilations() as texts:
        out = jax.eval_shape(f, jax.ShapeDtypeStruct((2, 3), jnp.float32), np.ones((3, 4)))
        assert out["a"] == jax.ShapeDtypeStruct((2, 4), jnp.float32)
        assert out["b"].shape == () and out["c"].dtype == jnp.bool_
        assert jax.eval_shape(jax.jit(f), np.ones((2, 3)), np.ones((3, 4))) == out
        grads = jax.eval_shape(
            jax.grad(lambda w: (w**2).sum()), jax.ShapeDtypeStruct((5,), "float16")
        )
        assert grads == jax.ShapeDtypeStruct((5,), jnp.float16)
        rows = jax.eval_shape(jax.pmap(lambda x: x.sum()), jax.ShapeDtypeStruct((4, 3), "float32"))
        assert rows == jax.ShapeDtypeStruct((4,), jnp.float32)
        wide = jax.eval_shape(lambda n: jnp.zeros((1000, n.size)), np.ones(10**6))
        assert wide.shape == (1000, 10**6)
    assert not texts
    assert repr(out["b"]) == "ShapeDtypeStruct(shape=(), dtype=float32)"


def test_programs_as_text():
    closed = jax.make_jaxpr(lambda x, y: jnp.sin(x) * y + X[0])(1.0, 2.0)
    assert "sin" in str(closed) and "mul" in str(closed) and len(closed.in_avals) == 2
    made, shape = jax.make_jaxpr(lambda x, n: x * n, static_argnums=1, return_shape=True)(X, 3)
    assert shape == jax.ShapeDtypeStruct((3,), jnp.float32) and len(made.eqns) == 1
    named = jax.make_jaxpr(lambda x: lax.psum(x, "i") * lax.axis_size("i"), axis_env=[("i", 4)])
    assert "psum" in str(named(1.0)) and " 4.0" in str(named(1.0))
    inner = str(jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0))
    assert "call" in inner or "add" in inner


# --- errors


def test_user_exceptions_pass_through_and_leave_nothing():
    class Mine(Exception):
        pass

    fail = [True]

    @jax.jit
    def f(x):
        if fail[0]:
            raise Mine("here", 3)
        return x + 1

    for _ in range(2):
        with pytest.raises(Mine) as caught:
            f(X)
        assert caught.value.args == ("here", 3)
        assert caught.traceback[-1].name == "f"
    fail[0] = False
    same(f(X), X + 1)


def test_what_is_no_array():
    f = jax.jit(lambda x, opts: x)
    refused(TypeError, lambda: f(X, {"mode": ["fast", 1]}), "opts['mode'][0]", "str", "static")
    refused(TypeError, lambda: f(object(), 1), "x", "object")
    refused(TypeError, lambda: f(X, {1, 2}), "opts", "set")
    refused(TypeError, lambda: f(np.array(["a"]), 1), "x")
    refused(TypeError, lambda: jax.jit(lambda x: {"a": (x, "text")})(X), "result['a'][1]", "str")
    refused(TypeError, lambda: jax.jit(lambda x: lambda: x)(X), "function")
    refused(TypeError, lambda: jax.jit(3), "jit", "function", "int")
    refused(TypeError, lambda: jax.jit(X), "function")

    def generate(x):
        yield x

    refused(TypeError, lambda: jax.jit(generate), "generator")


def test_containers_that_hold_themselves():
    loop: list[Any] = []
    loop.append(loop)
    refused(ValueError, lambda: jax.jit(lambda x: x)(loop), "holds itself")
    refused(ValueError, lambda: jax.jit(lambda x: loop)(X), "holds itself")
    same(jax.jit(lambda x: x)(X), X)


def test_leaked_tracers_name_where_they_were_made():
    kept = []

    @jax.jit
    def leak(x):
        y = x * 2
        kept.append(y)
        return y

    leak(X)
    line = leak.__wrapped__.__code__.co_firstlineno + 2
    for use in (
        lambda: kept[0] + 1,
        lambda: jax.jit(lambda z: z + kept[0])(X),
        lambda: jax.jit(lambda z: kept[0])(X),
        lambda: jax.vmap(lambda z: z * kept[0])(X),
        lambda: jax.grad(lambda z: (z * kept[0]).sum())(X),
        lambda: jax.pmap(lambda z: z + kept[0])(np.ones((2, 3), np.float32)),
        lambda: jnp.sin(kept[0]),
        lambda: jax.jit(lambda z: z)(kept[0]),
        lambda: np.asarray(kept[0]),
        lambda: bool(kept[0][0] > 0),
    ):
        text = message((RuntimeError, TypeError), use)
        assert "jit of leak" in text, text
    text = message(RuntimeError, lambda: kept[0] + 1)
    assert f"made_at  test_jit.py:{line} in leak" in text and "ended" in text
    same(leak(X), X * 2)


def test_shape_errors_name_the_users_line():
    def f(x):
        y = x * 2
        return y @ jnp.ones((5, 2))

    text = message(ValueError, lambda: jax.jit(f)(X))
    assert f"test_jit.py:{f.__code__.co_firstlineno + 2} in f" in text and "float32[5,2]" in text


def test_warnings_and_output_are_quiet():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            jax.jit(lambda x: x.astype("float64") * 2)(X)
    assert out.getvalue() == err.getvalue() == ""


def test_compiler_options_reach_xla():
    # An option that shows in what is compiled: unoptimised code has no fusion.
    def f(x):
        return jnp.sin(x) * 2 + x

    slow = {"xla_disable_all_hlo_passes": True}
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    for plain in (jax.jit(f), jax.jit(f, in_shardings=sharding)):
        lowered = plain.lower(X)
        assert "fusion" in lowered.compile().as_text()
        given = lowered.compile(compiler_options=slow)
        assert "fusion" not in given.as_text()
        assert_close(given(X), f(X))
        with pytest.raises(CompileError, match="xla_no_such"):
            lowered.compile(compiler_options={"xla_no_such": 1})
    for options in ({}, {"in_shardings": sharding}):
        function = jax.jit(f, compiler_options=slow, **options)
        assert "fusion" not in function.lower(X).compile().as_text()
        assert_close(function(X), f(X))
        with pytest.raises(CompileError, match="xla_no_such"):
            jax.jit(f, compiler_options={"xla_no_such": 1}, **options)(X)
