"""The switches: names, values, threads, environment, and what depends on them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.config import NAMES, config, override, state
from plait.errors import ArgumentError, ArgumentTypeError, BackendError
from plait.runtime import xla


@pytest.fixture
def restored():
    """The switches after the test are those before it."""
    before = {name: config.read(name) for name in NAMES}
    yield
    for name, value in before.items():
        if config.read(name) != value:
            config.update(name, value)


def test_update_and_both_spellings(restored):
    assert config.enable_x64 is config.jax_enable_x64 is False
    config.update("jax_enable_x64", True)
    assert config.enable_x64 and jnp.arange(2).dtype == jnp.int64
    config.enable_x64 = False
    assert jnp.arange(2).dtype == jnp.int32
    assert "enable_x64" in dir(config)


@pytest.mark.parametrize(
    "name, value, error, words",
    [
        ("no_such", 1, ArgumentError, "there is no switch named 'no_such'"),
        ("enable_x64", 1, ArgumentTypeError, "is True or False"),
        ("pmap_form", "fast", ArgumentError, "'auto', 'fused', 'gang'"),
        ("num_cpu_devices", 0, ArgumentError, "at least 1"),
        ("num_cpu_devices", True, ArgumentError, "at least 1"),
        ("numpy_rank_promotion", "perhaps", ArgumentError, "cannot be 'perhaps'"),
    ],
)
def test_wrong_names_and_values(name, value, error, words):
    before = config.read(name) if name in NAMES else None
    with pytest.raises(error) as caught:
        config.update(name, value)
    assert words in str(caught.value)
    assert name not in NAMES or config.read(name) == before
    with pytest.raises(AttributeError):
        _ = config.no_such


def test_the_number_of_devices_is_settled_by_the_first_use():
    n = jax.device_count()
    config.update("num_cpu_devices", config.num_cpu_devices or n)  # no change: fine
    with pytest.raises(BackendError, match="they have started"):
        config.update("num_cpu_devices", n + 1)


def test_blocks_nest_and_end():
    key = state.key
    with override(enable_x64=True):
        inner = state.key
        with jax.disable_jit(), jax.enable_x64(False):
            assert (state.enable_x64, state.disable_jit) == (False, True)
        assert (state.enable_x64, state.disable_jit) == (True, False)
        assert state.key is inner is not key
    assert not state.enable_x64 and state.key is key


def test_a_block_ends_after_an_error():
    with pytest.raises(ZeroDivisionError), override(enable_x64=True):
        _ = 1 / 0
    assert not state.enable_x64
    with pytest.raises(ArgumentError), override(disable_jit=True, pmap_form="fast"):
        pass
    assert not state.disable_jit


def test_a_block_is_for_its_thread_alone(restored):
    seen = {}

    def look():
        seen["other"] = state.enable_x64, state.key
        seen["dtype"] = jnp.ones(()).dtype

    with jax.enable_x64():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen["other"] == (False, state.key) and seen["dtype"] == jnp.float32
    config.update("enable_x64", True)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen["other"][0] is True and seen["dtype"] == jnp.float64


def test_an_update_inside_a_block_reaches_what_is_compiled(restored):
    @jax.jit
    def f(x):
        return x / 3

    with override(check_programs=True):
        assert f(1.0).dtype == jnp.float32
        config.update("enable_x64", True)
        assert f(1.0).dtype == jnp.float64


@pytest.mark.parametrize(
    "name, value, expression, shown",
    [
        ("PLAIT_ENABLE_X64", "1", "plait.config.enable_x64", "True"),
        ("PLAIT_ENABLE_X64", "off", "plait.config.enable_x64", "False"),
        ("PLAIT_NUM_CPU_DEVICES", "3", "plait.device_count()", "3"),
        ("PLAIT_PMAP_FORM", "gang", "plait.config.pmap_form", "gang"),
    ],
)
def test_the_environment_sets_switches(name, value, expression, shown):
    assert run(f"import plait; print({expression})", name, value).stdout.strip() == shown


def test_an_environment_that_cannot_be_read():
    done = run("import plait", "PLAIT_NUM_CPU_DEVICES", "many")
    assert done.returncode and "PLAIT_NUM_CPU_DEVICES" in done.stderr and "many" in done.stderr


def run(code, name, value):
    env = {**os.environ, name: value, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_a_kept_tracer_is_found():
    kept = []
    with jax.check_tracer_leaks():
        with pytest.raises(jax.errors.UnexpectedTracerError) as caught:
            jax.jit(lambda x: kept.append(x * 2))(1.0)
        assert "was kept when" in str(caught.value) and "test_config.py" in str(caught.value)
        kept.clear()
        f = jax.jit(lambda x: jax.lax.scan(lambda c, y: (c + y, c), x, jnp.arange(3.0))[0])
        assert f(1.0) == 4 and jax.grad(f)(1.0) == 1  # nothing is kept
    jax.jit(lambda x: kept.append(x))(1.0)  # not looked for


def test_blocks_for_switches_that_have_one_value():
    with jax.log_compiles(), jax.transfer_guard("allow"), jax.threefry_partitionable(True):
        assert config.jax_log_compiles is True
    assert config.jax_log_compiles is False
    with jax.enable_checks(), jax.explain_cache_misses():
        assert config.check_programs and config.explain_cache_misses
    with jax.default_prng_impl("threefry2x32"):
        pass
    for block, value in ((jax.transfer_guard, "disallow"), (jax.default_prng_impl, "philox")):
        with pytest.raises(ArgumentError), block(value):
            pass


def test_an_update_reaches_threads_inside_of_blocks():
    inside, changed, seen = threading.Event(), threading.Event(), []

    def work():
        f = jax.jit(lambda x: x + np.ones((2, 1), np.float32))
        with override(debug_infs=False), override(numpy_dtype_promotion="strict"):
            f(np.ones(2, np.float32))
            inside.set()
            changed.wait()
            seen.append(state.numpy_rank_promotion)
            seen.append(state.numpy_dtype_promotion)
            try:
                f(np.ones(2, np.float32))  # the same call under another switch: traced anew
            except ValueError as error:
                seen.append("rank" in str(error))
        seen.append(state.key is type(state).key)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    try:
        config.update("numpy_rank_promotion", "raise")
        config.update("numpy_dtype_promotion", "standard")
    finally:
        changed.set()
        thread.join()
        config.update("numpy_rank_promotion", "allow")
    assert seen == ["raise", "strict", True, True]


def test_programs_compiled_quickly_are_compiled_anew_and_mean_the_same(monkeypatch):
    quick = []
    usual = xla.compile

    def compile(*args, **options):
        quick.append(options["quick"])
        return usual(*args, **options)

    monkeypatch.setattr(xla, "compile", compile)
    f = jax.jit(lambda x: jnp.tanh(x) * 3)
    usually = f(0.5)
    with override(disable_most_optimizations=True):
        np.testing.assert_allclose(f(0.5), usually, rtol=1e-6)
        f(0.25)
    f(0.75)
    assert quick == [False, True]
