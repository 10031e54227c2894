"""Callbacks: values, vmap, maps in both forms, order, derivatives, exceptions, threads, cache."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, PlaitRuntimeError, ShapeError
from plait.experimental import io_callback

ROOT = pathlib.Path(__file__).parent.parent.parent
FLOAT = jax.ShapeDtypeStruct((), jnp.float32)


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


@pytest.fixture(params=["fused", "gang"])
def form(request):
    with override(pmap_form=request.param):
        yield request.param


class Log:
    """Collects what callbacks saw, from whatever thread."""

    def __init__(self):
        self.seen = []

    def __call__(self, *values):
        self.seen.append(tuple(np.asarray(v).tolist() for v in values))

    def add(self, value, result=0.0):
        self.seen.append(np.asarray(value).tolist())
        return np.float32(result)

    def take(self):
        jax.effects_barrier()
        seen, self.seen = self.seen, []
        return seen


# --- values


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["now", "jit"])
def test_pure_callback_gets_arrays_and_gives_them(wrap):
    def host(x, *, scale):
        assert type(x) is jax.Array.__mro__[0] and x.dtype == np.float32
        return {"y": np.sin(x) * np.asarray(scale), "n": 3}

    def f(x):
        declared = {"y": shape(4), "n": shape(dtype=jnp.int32)}
        return jax.pure_callback(host, declared, x, scale=2.0)

    x = jnp.arange(4.0)
    out = wrap(f)(x)
    np.testing.assert_allclose(out["y"], 2 * np.sin(np.arange(4.0)), rtol=1e-6)
    assert int(out["n"]) == 3 and out["n"].dtype == np.int32


@pytest.mark.parametrize(
    "dtype",
    "bool int8 uint16 int32 float16 bfloat16 float32 complex64 float8_e4m3fn int4 uint4".split(),
)
def test_every_dtype_passes_both_ways(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    value = (np.arange(6).reshape(2, 3) % 2).astype(dtype)

    def host(x):
        assert np.asarray(x).dtype == dtype
        return np.asarray(x)[:, ::-1]

    out = jax.jit(lambda x: jax.pure_callback(host, shape(2, 3, dtype=dtype), x))(value)
    assert out.dtype == dtype
    np.testing.assert_array_equal(np.asarray(out), value[:, ::-1])


def test_random_keys_and_empty_arrays_pass():
    key = jax.random.key(3)

    def host(k, e):
        assert k.dtype == key.dtype
        assert e.shape == (0, 2)
        return k, e

    declared = jax.ShapeDtypeStruct((), key.dtype), shape(0, 2)
    again, empty = jax.jit(lambda k, e: jax.pure_callback(host, declared, k, e))(
        key, jnp.zeros((0, 2))
    )
    assert jax.random.key_data(again).tolist() == jax.random.key_data(key).tolist()
    assert empty.shape == (0, 2)


def test_64_bit_values_pass_with_x64(x64):
    def host(x):
        assert x.dtype == np.float64
        return x + 1

    out = jax.jit(lambda x: jax.pure_callback(host, shape(dtype=np.float64), x))(1.0)
    assert out.dtype == np.float64 and float(out) == 2.0


def test_numbers_are_converted_where_no_kind_of_number_is_lost():
    f = jax.jit(lambda x: jax.pure_callback(lambda x: 1, FLOAT, x))
    assert float(f(0.0)) == 1.0
    f = jax.jit(lambda x: jax.pure_callback(lambda x: np.float64(0.1), FLOAT, x))
    assert float(f(0.0)) == np.float32(0.1)


@pytest.mark.parametrize(
    ("returned", "kind", "words"),
    [
        (np.zeros(3, np.float32), ShapeError, "declared  float32[4]"),
        (np.zeros(4, np.complex64), DtypeError, "returns   complex64[4]"),
        ((np.zeros(4), np.zeros(4)), ArgumentError, "returned 2 arrays, 1 was declared"),
    ],
)
def test_a_result_that_was_not_declared_is_refused(returned, kind, words):
    def f(x):
        return jax.pure_callback(lambda x: returned, shape(4), x)

    with pytest.raises(kind) as now:
        f(1.0)
    assert words in str(now.value) and "pure_callback" in str(now.value)
    with pytest.raises(PlaitRuntimeError) as later:
        jax.block_until_ready(jax.jit(f)(1.0))
    assert isinstance(later.value.__cause__, kind)


def test_bad_arguments():
    with pytest.raises(ArgumentTypeError, match="must be a function"):
        jax.pure_callback(3, FLOAT, 1.0)
    with pytest.raises(ArgumentTypeError, match="shapes and dtypes"):
        jax.pure_callback(lambda x: x, 1.0, 1.0)
    with pytest.raises(ArgumentError, match="vmap_method 'rows'"):
        jax.pure_callback(lambda x: x, FLOAT, 1.0, vmap_method="rows")
    with pytest.raises(ArgumentError, match="not both"):
        jax.pure_callback(lambda x: x, FLOAT, 1.0, vmap_method="sequential", vectorized=True)


def test_what_nobody_needs_is_not_called():
    log = Log()

    @jax.jit
    def f(x):
        jax.pure_callback(log.add, FLOAT, x)
        return x + 1

    f(1.0)
    assert log.take() == []


# --- vmap


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["now", "jit"])
@pytest.mark.parametrize(
    ("options", "shapes"),
    [
        ({}, [((), (2,))] * 3),
        ({"vmap_method": "sequential"}, [((), (2,))] * 3),
        ({"vmap_method": "sequential_unrolled"}, [((), (2,))] * 3),
        ({"vectorized": False}, [((), (2,))] * 3),
        ({"vmap_method": "expand_dims"}, [((3,), (1, 2))]),
        ({"vmap_method": "broadcast_all"}, [((3,), (3, 2))]),
        ({"vmap_method": "legacy_vectorized"}, [((3,), (2,))]),
        ({"vectorized": True}, [((3,), (2,))]),
    ],
    ids=str,
)
def test_vmap_methods(options, shapes, wrap):
    calls = []

    def host(a, b):
        calls.append((a.shape, b.shape))
        return np.asarray(a) + np.asarray(b).sum(-1)

    f = wrap(jax.vmap(lambda a, b: jax.pure_callback(host, FLOAT, a, b, **options), (0, None)))
    np.testing.assert_allclose(f(jnp.arange(3.0), jnp.ones(2)), [2, 3, 4])
    assert calls == shapes


def test_vmap_of_vmap_goes_row_by_row():
    log = Log()
    f = jax.vmap(jax.vmap(lambda x: io_callback(log.add, FLOAT, x)))
    assert f(jnp.arange(4.0).reshape(2, 2)).shape == (2, 2)
    assert log.take() == [0, 1, 2, 3]


# --- effects and their order


def test_effects_happen_in_the_order_of_the_program():
    log = Log()

    @jax.jit
    def inner(x):
        jax.debug.callback(log, "inner", x)
        return x + 1

    @jax.jit
    def f(x):
        jax.debug.callback(log, "first", x)
        y = inner(x)

        def body(carry, k):
            jax.debug.callback(log, "scan", k)
            return carry + lax.fori_loop(0, 2, round_, k), carry

        def round_(k, total):
            jax.debug.callback(log, "round", k)
            return total

        y, _ = lax.scan(body, y, jnp.arange(2.0))
        lax.cond(
            y > 0,
            lambda: jax.debug.callback(log, "yes", y),
            lambda: jax.debug.callback(log, "no", y),
        )
        io_callback(log, None, "last", y)

    assert f(1.0) is None
    assert log.take() == [
        ("first", 1.0),
        ("inner", 1.0),
        ("scan", 0.0),
        ("round", 0),
        ("round", 1),
        ("scan", 1.0),
        ("round", 0),
        ("round", 1),
        ("yes", 3.0),
        ("last", 3.0),
    ]


def test_calls_that_follow_each_other_keep_their_order():
    log = Log()
    f = jax.jit(lambda k: jax.debug.callback(log, k))
    for k in range(300):
        f(k)
    assert log.take() == [(k,) for k in range(300)]


def test_equal_effects_are_not_merged():
    log = Log()

    @jax.jit
    def f(x):
        return io_callback(log.add, FLOAT, x) + io_callback(log.add, FLOAT, x)

    f(1.0)
    assert log.take() == [1.0, 1.0]


def test_a_condition_that_differs_between_rows():
    log = Log()

    def f(x):
        def big(x):
            io_callback(log, None, "big", x)
            return lax.scan(lambda c, k: (c, jax.debug.callback(log, "scan", x)), x, jnp.arange(1))[
                0
            ]

        def small(x):
            jax.jit(lambda x: jax.debug.callback(log, "small", x))(x)
            return -x

        x = lax.cond(x > 1, big, small, x)

        def body(x):
            jax.debug.callback(log, "while", x)
            return x - 1

        return lax.while_loop(lambda x: x > 0, body, x)

    for wrap in (jax.vmap, jax.pmap):
        wrap(f)(jnp.array([0.0, 2.0, 1.0]))
        assert sorted(log.take()) == [
            ("big", 2.0),
            ("scan", 2.0),
            ("small", 0.0),
            ("small", 1.0),
            ("while", 1.0),
            ("while", 2.0),
        ]


# --- maps


def test_each_lane_calls_for_itself(form):
    log = Log()

    def f(x):
        io_callback(log, None, "unmapped")
        y = jax.pure_callback(lambda x: np.asarray(x) * 10, FLOAT, x)
        return io_callback(lambda x: np.asarray(x) + 1, FLOAT, y) + lax.psum(x, "i")

    for n in (2, 8, 16):
        out = jax.pmap(f, axis_name="i")(jnp.arange(float(n)))
        np.testing.assert_allclose(out, 10 * np.arange(n) + 1 + n * (n - 1) / 2)
        assert log.take() == [("unmapped",)] * n


def test_lanes_in_order_in_the_fused_form():
    log = Log()
    with override(pmap_form="fused"):
        jax.pmap(lambda x: jax.debug.callback(log, x))(jnp.arange(16.0))
    assert log.take() == [(float(k),) for k in range(16)]


def test_results_of_effects_differ_between_lanes():
    with pytest.raises(ValueError, match="out_axes=None"):
        jax.pmap(lambda x: io_callback(lambda: 1.0, FLOAT), out_axes=None)(jnp.arange(2.0))
    # A pure function of equal values gives equal results.
    f = jax.pmap(
        lambda x, y: jax.pure_callback(lambda y: y, FLOAT, y), in_axes=(0, None), out_axes=None
    )
    assert float(f(jnp.arange(2.0), 3.0)) == 3.0


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "bfloat16", "complex64", "int4"])
def test_outside_of_the_map_one_device_calls_for_all(form, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    log = Log()

    def load(x):
        log.add(0)
        return np.asarray(x)

    @jax.jit
    def f(x):
        jax.debug.callback(log, 1)
        x = io_callback(load, jax.ShapeDtypeStruct(x.shape, dtype), x)
        return jax.pmap(lambda row: row)(x)

    x = (np.arange(4) % 2).astype(dtype)
    np.testing.assert_array_equal(np.asarray(f(x)), x)
    assert log.take() == [(1,), 0]


def test_maps_in_maps(form):
    log = Log()

    def inner(y):
        io_callback(log, None, y)
        return y

    def outer(x):
        jax.debug.callback(log, -1.0)
        return jax.pmap(inner)(x) + jax.pmap(inner)(x + 10)

    jax.pmap(outer)(jnp.arange(4.0).reshape(2, 2))
    assert sorted(log.take()) == [(-1.0,)] * 2 + [(float(k),) for k in [0, 1, 2, 3, 10, 11, 12, 13]]


# --- derivatives


def test_derivatives_pass_debugging_by():
    log = Log()

    def f(x):
        jax.debug.callback(log, x)
        return x * x

    for wrap in (lambda f: f, jax.jit):
        assert float(wrap(jax.grad(f))(3.0)) == 6.0
        assert log.take() == [(3.0,)]
        y, t = wrap(lambda x, t: jax.jvp(f, (x,), (t,)))(3.0, 1.0)
        assert (float(y), float(t)) == (9.0, 6.0)
        assert log.take() == [(3.0,)]


def test_derivatives_of_loops_and_maps_call_once(form):
    log = Log()

    def f(x):
        def body(c, k):
            jax.debug.callback(log, k)
            return c * x, None

        return lax.scan(body, x, jnp.arange(2))[0]

    assert float(jax.jit(jax.grad(f))(2.0)) == 12.0
    assert log.take() == [(0,), (1,)]
    total = jax.grad(lambda x: jax.pmap(f)(x).sum())(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(total, [3, 12])
    assert sorted(log.take()) == [(0,), (0,), (1,), (1,)]


def test_a_loop_with_effects_and_no_known_result_is_run():
    log = Log()

    def f(x):
        def body(c, _):
            jax.debug.callback(log, "round")
            return c * 2, None

        return lax.scan(body, x, None, length=3)[0]

    assert float(jax.grad(f)(1.0)) == 8.0
    assert log.take() == [("round",)] * 3


@pytest.mark.parametrize("call", [jax.pure_callback, io_callback])
def test_what_python_computes_has_no_derivative(call):
    with pytest.raises(ArgumentError, match="custom_jvp") as caught:
        jax.grad(lambda x: call(lambda x: x, FLOAT, x))(1.0)
    assert call.__name__ in str(caught.value)

    @jax.custom_jvp
    def f(x):
        return call(lambda x: np.asarray(x) ** 2, FLOAT, x)

    f.defjvp(lambda x, t: (f(x[0]), 2 * x[0] * t[0]))
    assert float(jax.grad(f)(3.0)) == 6.0


# --- exceptions, threads, the cache, the end


def test_an_exception_passes_through_or_is_the_cause():
    def fail(x):
        raise KeyError("missing")

    with pytest.raises(KeyError, match="missing"):
        jax.pure_callback(fail, FLOAT, 1.0)
    f = jax.jit(lambda x: jax.pure_callback(fail, FLOAT, x))
    for _ in range(2):
        with pytest.raises(PlaitRuntimeError, match="KeyError: 'missing'") as caught:
            f(1.0).block_until_ready()
        assert isinstance(caught.value.__cause__, KeyError)
    # Without results the barrier tells; and all is well afterwards.
    with pytest.raises(PlaitRuntimeError, match="ZeroDivisionError") as caught:
        jax.jit(lambda x: jax.debug.callback(lambda x: 1 / 0, x))(1.0)
        jax.effects_barrier()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    jax.effects_barrier()


def test_a_failing_callback_is_not_called_again(form):
    calls = []

    def fail(x):
        calls.append(1)
        raise ValueError("once")

    with pytest.raises(PlaitRuntimeError, match="once"):
        jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(fail, FLOAT, x))(1.0))
    assert len(calls) == 1


def test_the_search_for_nans_repeats_no_effect():
    log = Log()

    def body(c, k):
        jax.debug.callback(log, "scan", k)
        return c, None

    @jax.jit
    def f(x):
        jax.debug.callback(log, x)
        lax.scan(body, x, jnp.arange(1))
        return jnp.log(x)

    with jax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="came out of log"):
            f(-1.0)
        assert log.take() == [(-1.0,), ("scan", 0)]
        f = jax.jit(lambda x: jnp.log(x) + io_callback(log.add, FLOAT, x))
        with pytest.raises(FloatingPointError, match="NaN"):
            f(-1.0)
        assert log.take() == [-1.0]


def test_plait_inside_a_callback(form):
    w = jnp.ones((200, 200))

    def host(x):
        y = jax.jit(lambda a: jnp.tanh(a @ w))(jnp.full((200, 200), x))
        return y.sum() * 0 + x

    f = jax.pmap(lambda x: jax.pure_callback(host, FLOAT, x) + lax.psum(x, "i"), axis_name="i")
    np.testing.assert_allclose(f(jnp.arange(8.0)), np.arange(8.0) + 28)


def test_in_gang_form_a_callback_cannot_start_another_gang():
    def host(x):
        return jax.pmap(lambda x: x)(jnp.arange(2.0))[0]

    with override(pmap_form="gang"):
        f = jax.pmap(lambda x: jax.pure_callback(host, FLOAT, x))
        with (
            pytest.raises(PlaitRuntimeError, match="several devices"),
            override(pmap_form="gang"),
        ):
            # The thread of the callback has the process's switches.
            jax.config.update("pmap_form", "gang")
            try:
                jax.block_until_ready(f(jnp.arange(2.0)))
            finally:
                jax.config.update("pmap_form", "auto")


def test_threads(form):
    results = [None] * 4

    def run(k):
        f = jax.pmap(
            lambda x: jax.pure_callback(lambda x: np.asarray(x) + k, FLOAT, x) + lax.psum(x, "i"),
            axis_name="i",
        )
        results[k] = [np.asarray(f(jnp.arange(4.0) + r)) for r in range(5)]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        for r in range(5):
            x = np.arange(4.0) + r
            np.testing.assert_allclose(results[k][r], x + k + x.sum())


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_a_failure_on_some_devices_does_not_leave_the_others_waiting(form):
    code = """
import numpy as np, plait as jax
from plait import lax
def check(v):
    if v > 2:
        raise ValueError("boom")
    return v
one = jax.ShapeDtypeStruct((), np.float32)
run = lambda f: jax.pmap(f, axis_name="i")(np.arange(4, dtype=np.float32))
def raises(f):
    try:
        run(f)
        jax.effects_barrier()
    except RuntimeError as error:
        print(type(error.__cause__).__name__, error)
raises(lambda x: lax.psum(jax.pure_callback(check, one, x), "i"))
raises(lambda x: (jax.debug.callback(check, x), lax.psum(x, "i"))[1])
print(run(lambda x: lax.psum(jax.pure_callback(check, one, x - 1), "i")))
"""
    done = run_python(code, PLAIT_PMAP_FORM=form, PLAIT_NUM_CPU_DEVICES="4")
    told = "ValueError a host callback raised ValueError: boom"
    assert done.stdout.splitlines() == [told, told, "[2. 2. 2. 2.]"], done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_a_failure_is_told_though_arrays_were_donated(form):
    def fails(x):
        raise ValueError("boom")

    def body(x):
        return x + jax.pure_callback(fails, jax.ShapeDtypeStruct((), np.float32), x[0])

    with override(pmap_form=form):
        for run in (jax.jit, jax.pmap):
            x = jnp.ones((2, 3)) + 0 if run is jax.pmap else jnp.ones(3) + 0
            with pytest.raises(RuntimeError, match="a host callback raised ValueError: boom"):
                jax.block_until_ready(run(body, donate_argnums=0)(x))


def test_the_compilation_cache_keeps_no_python(tmp_path):
    code = """
import plait as jax, numpy as np
def f(x, k):
    return jax.pure_callback(lambda x: np.asarray(x) + k, jax.ShapeDtypeStruct((), np.float32), x)
print([float(jax.jit(lambda x, k=k: f(x, k))(1.0)) for k in ({numbers})])
"""
    where = {"PLAIT_COMPILATION_CACHE_DIR": str(tmp_path)}
    assert run_python(code.format(numbers="1, 2"), **where).stdout == "[2.0, 3.0]\n"
    assert run_python(code.format(numbers="5, 6"), **where).stdout == "[6.0, 7.0]\n"


@pytest.mark.parametrize("form", ["fused", "gang"])
@pytest.mark.parametrize("devices", ["1", "2", "4"])
def test_other_numbers_of_devices(form, devices):
    code = """
import plait as jax, plait.numpy as jnp, numpy as np
from plait import lax
from plait.experimental import io_callback
one = jax.ShapeDtypeStruct((), np.float32)
def f(x):
    jax.debug.print("{} {lane} of {n}", x, n=lax.psum(1, "i"))
    return io_callback(lambda x: np.asarray(x) + 1, one, x) + lax.psum(x, "i")
print(jax.pmap(f, axis_name="i")(jnp.arange(4.0)).tolist())
jax.effects_barrier()
"""
    done = run_python(code, PLAIT_PMAP_FORM=form, PLAIT_NUM_CPU_DEVICES=devices)
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert lines == [*(f"{k}.0 {k} of 4" for k in range(4)), "[7.0, 8.0, 9.0, 10.0]"]


def test_at_the_end_of_the_process_effects_have_happened():
    code = """
import plait as jax, time
def slow(x):
    time.sleep(0.3)
    print("done", flush=True)
jax.jit(lambda x: jax.debug.callback(slow, x))(1.0)
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_failure_that_nobody_has_seen_is_told_at_the_end():
    code = """
import plait as jax, time
import plait.numpy as jnp
def fail(x):
    raise ValueError("nobody saw this")
try:
    jax.jit(lambda x: jax.debug.callback(fail, jnp.tanh(x @ x).sum()))(jnp.ones((900, 900)))
except RuntimeError as error:
    print(error)
"""
    done = run_python(code)
    assert done.returncode == 0
    assert "nobody saw this" in done.stdout + done.stderr
