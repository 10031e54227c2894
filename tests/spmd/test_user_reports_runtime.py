"""What people report of pmap: cost, life time, donation, devices, debugging.

Numbered as the collected reports; each stands for its kind, so that its neighbours are here too.
Nothing is timed: what must not happen (tracing, compiling, gathering) is counted instead.
"""

from __future__ import annotations

import contextlib
import gc
import io
import pickle
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.runtime.array import Array
from tests.spmd.common import child, counted_compilations, message, output, refused, same

TWO = np.float32([1.0, 4.0])
ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)


# --- R62: access to results


@contextlib.contextmanager
def nothing_compiled():
    with counted_compilations() as texts:
        yield
    assert not texts


def results() -> dict[str, Any]:
    """Results of maps in several shapes."""
    one_device = jax.devices()[:1]
    two = jax.devices()[:2]
    return {
        "one row a device": jax.pmap(lambda a: a * 1)(ROWS),
        "lanes": jax.pmap(lambda a: a * 1, devices=two)(ROWS),
        "all lanes on one": jax.pmap(lambda a: a * 1, devices=one_device)(ROWS),
        "replicated": jax.pmap(lambda a: lax.psum(a, "i") + ROWS[0] * 0, "i")(ROWS),
        "columns": jax.pmap(lambda a: a * 1, out_axes=1)(ROWS),
        "replicated by hand": jax.device_put_replicated(ROWS[1], jax.devices()[:4]),
        "a map in a map": jax.pmap(jax.pmap(lambda a: a * 1))(ROWS.reshape(2, 2, 2)),
    }


def test_r62_reading_results_compiles_nothing(form):
    for y in results().values():
        host = np.asarray(y.block_until_ready())
        with nothing_compiled():
            same(y[0], host[0])
            same(y[-1], host[-1])
            same(y[:1], host[:1])
            same(y[1:], host[1:])
            same(y[::2], host[::2])
            same(y[0, 1], host[0, 1])
            same(y[..., 0], host[..., 0]) if y.ndim == 2 else None
            for k, row in enumerate(y):
                same(row, host[k])
            same(jax.tree.map(lambda a: a[0], {"a": y}), {"a": host[0]})
            same(jax.device_get(y), host)
            same(y.addressable_shards[0].data, host[y.addressable_shards[0].index])
            same(pickle.loads(pickle.dumps(y)), host)
            repr(y), y.sharding, y.devices(), y.is_fully_replicated
            y.block_until_ready()


def test_r62_an_item_touches_one_part_only(form, monkeypatch):
    if form == "fused":
        return
    y = jax.pmap(lambda a: a * 1)(ROWS).block_until_ready()

    def gather(self):
        raise AssertionError("the whole array was gathered")

    monkeypatch.setattr(Array, "host", gather)
    items = [y[0], y[3, 1], y[2:3], *y]
    monkeypatch.undo()
    same(items[0], ROWS[0])
    same(items[1], ROWS[3, 1])
    same(items[2], ROWS[2:3])
    same(items[4], ROWS[1])


def test_r62_rows_stay_where_they_can_be_used(form):
    y = jax.pmap(lambda a: a * 2)(ROWS)
    total = sum(row.sum() for row in y)
    same(total, ROWS.sum() * 2)
    params = jax.tree.map(lambda a: a[0], [y, {"b": y}])
    same(params[0] @ params[1]["b"], np.dot(ROWS[0], ROWS[0]) * 4)
    first, *_ = y
    same(jax.pmap(lambda w, x: w + x, in_axes=(None, 0))(first, ROWS), ROWS + ROWS[0] * 2)


# --- R64, R66, R67, R69: traced and compiled once


def counted(f: Any) -> tuple[Any, list[int]]:
    calls: list[int] = []

    def counting(*args, **kwargs):
        calls.append(1)
        return f(*args, **kwargs)

    return counting, calls


COMPOSED: dict[str, Any] = {
    "pmap": lambda h: jax.pmap(h),
    "pmap of vmap": lambda h: jax.pmap(jax.vmap(h)),
    "pmap of jit": lambda h: jax.pmap(jax.jit(h)),
    "jit of pmap": lambda h: jax.jit(jax.pmap(h)),
    "pmap of grad": lambda h: jax.pmap(jax.grad(lambda x: h(x).sum())),
    "pmap with options": lambda h: jax.pmap(h, "i", in_axes=(0,), out_axes=-1, donate_argnums=()),
    "pmap of pmap": lambda h: jax.pmap(jax.pmap(h)),
    "vmap of pmap": lambda h: jax.vmap(jax.pmap(h), in_axes=1),
    "pmap of checkpoint": lambda h: jax.pmap(jax.checkpoint(h)),
    "grad of pmap": lambda h: jax.grad(lambda x: jax.pmap(h)(x).sum()),
}


@pytest.mark.parametrize("case", COMPOSED)
def test_r64_a_composition_made_anew_is_traced_once(case, form):
    def h(x):
        return x * x

    h, calls = counted(h)
    x = np.ones((2, 2, 3), np.float32)
    make = COMPOSED[case]
    first = make(h)(x)
    n = len(calls)
    inner_lambda = case in ("pmap of grad", "grad of pmap")
    for _ in range(3):
        same(make(h)(x), np.asarray(first))
    if case == "grad of pmap":
        # grad runs its lambda each time, the map inside is found again.
        assert len(calls) == n
    elif not inner_lambda:
        assert len(calls) == n == 1
    run = make(h)
    run(x)
    before = len(calls)
    with nothing_compiled():
        for _ in range(3):
            run(x)
    assert len(calls) == before


def test_r64_other_options_are_another_program(form):
    h, calls = counted(lambda x: x + 1)
    x = np.ones((2, 2), np.float32)
    for options in ({}, {"out_axes": 1}, {"axis_name": "i"}, {"devices": jax.devices()[2:4]}):
        jax.pmap(h, **options)(x)
        jax.pmap(h, **options)(x)
    assert len(calls) == 4
    jax.clear_caches()
    jax.pmap(h)(x)
    assert len(calls) == 5


def test_r66_grad_of_pmap_is_one_program(form):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 8, 4)).astype(np.float32), np.ones((2, 8), np.float32)
    w = np.zeros(4, np.float32)
    loss, calls = counted(lambda w, x, y: jnp.mean((x @ w - y) ** 2))
    options: Any = dict(axis_name="d", in_axes=(None, 0, 0), out_axes=None)
    inner = jax.pmap(lambda w, x, y: lax.pmean(jax.grad(loss)(w, x, y), "d"), **options)
    outer = jax.grad(jax.pmap(lambda w, x, y: lax.pmean(loss(w, x, y), "d"), **options))
    same(outer(w, x, y), np.asarray(inner(w, x, y)))
    before = len(calls)
    with nothing_compiled():
        for _ in range(3):
            outer(w, x, y)
    assert len(calls) == before


def test_r67_a_warm_call_traces_and_compiles_nothing(form):
    f, calls = counted(lambda t: [a + 1 for a in t])
    p = jax.pmap(f)
    host = [np.ones((2, k + 1), np.float32) for k in range(20)]
    arrays = p(host)
    p(arrays)
    p([host[0], *arrays[1:]])
    before = len(calls)
    with nothing_compiled():
        for _ in range(3):
            p(host)
            arrays = p(arrays)
            p([host[0], *arrays[1:]])
    assert len(calls) == before == 1
    same(arrays[0], np.full((2, 1), 5, np.float32))


def test_r69_python_numbers_and_own_results(form):
    f, calls = counted(lambda x: x * 2 + np.float32(0))
    run = jax.jit(f)
    y: Any = 1.0
    for _ in range(4):
        y = run(y)
    assert float(y) == 16.0 and len(calls) <= 2
    before = len(calls)
    with nothing_compiled():
        for rate in (0.1, 0.2, 3.0, -0.0):
            run(rate)
    assert len(calls) == before

    step, calls = counted(lambda w, rate, x: w - rate * lax.pmean(x, "i"))
    train = jax.pmap(step, "i", in_axes=(0, None, 0))
    w = jax.device_put_replicated(jnp.float32(0), jax.devices()[:2])
    for k in range(5):
        w = train(w, 0.1 * k, TWO)
    assert len(calls) == 1
    same(w, np.float32([-2.5, -2.5]))
    loss, calls = counted(lambda w, x: (w - lax.pmean(x, "i"), lax.psum(w, "i")))
    own = jax.pmap(loss, "i", in_axes=(None, 0), out_axes=(None, None))
    w = 1.0
    for _ in range(4):
        w, _ = own(w, TWO)
    assert len(calls) <= 2


def test_a_dropped_function_frees_what_it_held(form):
    big = jnp.ones(1000)

    def make():
        held = big * 2
        f = jax.pmap(lambda x: x + held.sum())
        f(TWO)
        return weakref.ref(held), weakref.ref(f.fun)

    held, fun = make()
    gc.collect()
    assert held() is None and fun() is None


# --- R76: the functions that were removed elsewhere


def test_r76_replicated_and_sharded(form):
    devices = jax.devices()[:2]
    p = jax.device_put_replicated({"w": jnp.ones(3), "b": 2.0}, devices)
    assert p["w"].shape == (2, 3) and p["b"].shape == (2,)
    same(jax.pmap(lambda t: t["w"].sum() + t["b"])(p), np.float32([5, 5]))
    assert p["w"].devices() == set(devices)
    s = jax.device_put_sharded([{"a": TWO}, {"a": TWO + 1}], devices)
    same(s, {"a": np.stack([TWO, TWO + 1])})
    assert [shard.device for shard in s["a"].addressable_shards] == devices
    refused(ValueError, lambda: jax.device_put_sharded([TWO], devices), "1 shards", "2 devices")
    refused(ValueError, lambda: jax.device_put_sharded([TWO, ROWS], devices), "different shapes")
    refused(ValueError, lambda: jax.device_put_replicated(TWO, []), "devices")


# --- R78, R80: donation


def fresh(x: Any = TWO) -> Any:
    return jax.pmap(lambda v: v + 0)(x)


@pytest.mark.parametrize(
    "options, call",
    [
        ({"donate_argnums": 0}, lambda f, x: f(x, 1.0)),
        ({"donate_argnums": 0}, lambda f, x: f(state=x, k=TWO)),
        ({"donate_argnums": (0,)}, lambda f, x: f(x, k=TWO)),
        ({"donate_argnums": -2}, lambda f, x: f(x, 1.0)),
        ({"donate_argnames": "state"}, lambda f, x: f(x, 1.0)),
        ({"donate_argnames": ("state",)}, lambda f, x: f(state=x, k=TWO)),
    ],
)
def test_r78_donated_however_it_is_passed(options, call, form):
    def f(state, k):
        return state * state

    x = fresh()
    run = jax.pmap(f, in_axes=(0, None) if options.get("in_axes") else 0, **options)
    with_scalar = jax.pmap(f, in_axes=(0, None), **options)
    try:
        y = call(run, x)
    except ValueError:
        y = call(with_scalar, x)
    same(y, TWO**2)
    assert x.is_deleted()
    text = message(RuntimeError, lambda: x + 1)
    assert "was given away" in text and "the call of f, which donates it" in text


def test_r78_donated_leaves_deep_in_a_tree(form):
    def f(state, x):
        return {"w": state["w"] + x, "n": [state["n"][0] + 1]}, x

    state = {"w": fresh(), "n": [fresh()]}
    x = fresh()
    out, _ = jax.pmap(f, donate_argnums=0)(state, x)
    assert state["w"].is_deleted() and state["n"][0].is_deleted() and not x.is_deleted()
    same(out, {"w": TWO * 2, "n": [TWO + 1]})
    refused(RuntimeError, lambda: jax.pmap(f)(state, x), "state['n'][0]", "given away")


def test_r78_a_donated_array_is_gone_wherever_it_lay(form):
    run = jax.pmap(lambda x: x + 1, donate_argnums=0)
    placed, elsewhere, seen = fresh(), jnp.asarray(TWO) + 0, jnp.asarray(TWO) + 0
    view, row = np.asarray(seen), seen[0]
    for x in (placed, elsewhere, seen):
        same(run(x), TWO + 1)
        assert x.is_deleted()
        refused(RuntimeError, lambda x=x: run(x), "given away")
    np.testing.assert_array_equal(view, TWO)  # whoever looks at its memory still may
    np.testing.assert_array_equal(row, TWO[0])


def test_r78_donation_that_cannot_be_used_is_told(form):
    x = fresh(np.ones((2, 3), np.float32))
    with pytest.warns(UserWarning, match=r"donated buffers could not be used.*x float32\[2,3\]"):
        jax.pmap(lambda x: x.sum(), donate_argnums=0)(x)
    for f, args, why in (
        (lambda x, y: x + y, (fresh(), fresh()), "has the memory of another argument"),
        (lambda x: x > 0, (fresh(),), "no result has their shape and dtype"),
    ):
        with pytest.warns(UserWarning, match=why) as told:
            jax.pmap(f, donate_argnums=tuple(range(len(args))))(*args)
        assert [w.filename for w in told] == [__file__]  # the user's line, not one of plait's
    once = jax.device_put_replicated(np.zeros(3, np.float32), jax.devices()[:2])
    g = jax.pmap(lambda p, x: p + x, donate_argnums=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        same(g(once, np.ones((2, 3), np.float32)), np.ones((2, 3)))
    stored_once = "stored once for all lanes, and no result of their kind is: p float32[2,3]"
    assert [stored_once in str(w.message) for w in told] == [True] * (form == "fused")
    f = lambda x, y: x
    refused(ValueError, lambda: jax.pmap(f, donate_argnums=2), "donate_argnums", "argument 2", "2")
    refused(ValueError, lambda: jax.pmap(f, donate_argnames="z"), "donate_argnames", "'z'")
    both = lambda: jax.pmap(f, donate_argnums=1, static_broadcasted_argnums=1)
    refused(ValueError, both, "static and donated")


def test_r80_one_array_donated_and_used_twice(form, capfd):
    f = jax.pmap(lambda x, y: x - 3 * y, donate_argnums=0)
    x = fresh()
    refused(ValueError, lambda: f(x, x), "x and y are one array", "donated")
    same(x, TWO)
    same(f(x, fresh()), -2 * TWO)
    g = jax.pmap(lambda t: (t["a"] + 1, t["b"][0]), donate_argnums=0)
    x = fresh()
    refused(ValueError, lambda: g({"a": x, "b": [x]}), "t['a'] and t['b'][0] are one array")
    used = fresh()
    f(used, fresh())
    refused(RuntimeError, lambda: f(used, fresh()), "x", "given away")
    assert capfd.readouterr() == ("", "")


# --- R82, R93, R94: looking inside


def test_r82_a_nan_is_named_with_its_op_and_device(form):
    def f(x):
        y = x * 2
        return jnp.log(y) * 2

    with jax.debug_nans(True):
        text = message(FloatingPointError, lambda: jax.pmap(f)(np.float32([1, -2])))
        line = f.__code__.co_firstlineno + 2
        assert "log" in text and f"test_user_reports_runtime.py:{line}" in text
        assert "1 of the map" in text
        nested = jax.pmap(jax.jit(lambda x: jnp.sqrt(x)))
        refused(FloatingPointError, lambda: nested(np.float32([-1, 1])), "sqrt", "0 of the map")
        step = jax.pmap(lambda x: lax.psum(jnp.log(x), "i"), axis_name="i")
        refused(FloatingPointError, lambda: step(np.float32([1, -1])), "log")
        refused(FloatingPointError, lambda: jax.pmap(lambda x: x / 0.0)(np.float32([0, 1])), "div")
        same(jax.pmap(f)(np.float32([1, 2])), 2 * np.log(np.float32([2, 4])))
    same(jax.pmap(jnp.log)(np.float32([1, -2])), np.float32([0, np.nan]))


def test_r93_plain_python_when_compilation_is_off(form):
    seen = []

    def f(x):
        seen.append(float(x))
        total = lax.psum(x, "i")
        if total > 1:
            return x * 2 + total
        return x * 2 + total + 100

    with jax.disable_jit():
        same(jax.pmap(f, axis_name="i")(np.float32([0, 1])), np.float32([101, 103]))
        same(jax.pmap(f, axis_name="i")(np.float32([1, 2])), np.float32([5, 7]))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            jax.pmap(lambda x: print(x) or x)(np.float32([7, 8]))
        assert out.getvalue().split() == ["7.0", "8.0"]
        nested = jax.pmap(jax.pmap(lambda x: lax.psum(x, ("i", "j")), "j"), "i")
        same(nested(ROWS), np.full((4, 2), ROWS.sum(), np.float32))
        refused(TypeError, lambda: jax.pmap(lambda x: "text")(TWO), "text")
        refused(
            ValueError,
            lambda: jax.pmap(lambda x: lax.psum(x, "i") if x > 2 else x, "i")(TWO),
            "do not meet",
        )
        with pytest.raises(ZeroDivisionError):
            jax.pmap(lambda x: 1 // int(x))(np.float32([1, 0]))
    assert sorted(seen) == [0.0, 1.0, 1.0, 2.0]
    refused(TypeError, lambda: jax.pmap(f, axis_name="i")(TWO), "traced")


def test_r94_reducing_over_whatever_is_bound(form):
    def mean(x):
        return lax.pmean(x, lax.bound_axis_names())

    same(mean(TWO), TWO)
    names = []

    def f(x):
        names.append(lax.bound_axis_names())
        return mean(x)

    same(jax.pmap(jax.vmap(f, axis_name="b"), axis_name="d")(ROWS), np.full_like(ROWS, ROWS.mean()))
    assert names == [("d", "b")]
    jax.jit(f)(TWO)
    assert names[-1] == () and lax.bound_axis_names() == ()


# --- R88, R98, R95: devices


def test_r88_several_cpu_devices_without_ceremony():
    import os

    cores = len(os.sched_getaffinity(0))
    script = "import plait as jax; print(len(jax.devices()))"
    assert int(output(["-c", script], limit=60)) == max(2, min(cores, 8))
    assert int(output(["-c", script], devices=5, limit=60)) == 5
    for name in ("num_cpu_devices", "jax_num_cpu_devices"):
        lines = f"import plait as jax; jax.config.update('{name}', 3); print(len(jax.devices()))"
        assert int(output(["-c", lines], limit=60)) == 3
    flag = "--xla_force_host_platform_device_count=6"
    assert int(output(["-c", script], limit=60, XLA_FLAGS=flag)) == 6


def test_r88_afterwards_it_is_an_error_that_says_so():
    now = jax.device_count()
    refused(
        RuntimeError,
        lambda: jax.config.update("jax_num_cpu_devices", now + 1),
        "num_cpu_devices",
        "have started",
        "before the first",
    )
    jax.config.update("num_cpu_devices", now)
    assert jax.device_count() == now


def test_r98_a_mistyped_flag_is_an_exception():
    script = (
        "import plait as jax\n"
        "for _ in range(2):\n"
        "    try: jax.devices()\n"
        "    except RuntimeError as e: print(e)\n"
    )
    done = child(["-c", script], limit=60, XLA_FLAGS="--xla_force_host_platform_device_cout=4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--xla_force_host_platform_device_cout") == 2
    assert "XLA_FLAGS" in done.stdout and not done.stderr


def test_no_call_here_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.pmap(lambda x: x, donate_argnums=0)(fresh())
