"""What is dropped is freed: functions, executables, captured arrays, results, traces."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.transforms import transformed
from tests.transforms.common import live_bytes, same

MB = 1 << 20
BIG = MB // 4  # float32s in a megabyte


@pytest.fixture(scope="module", autouse=True)
def _only_what_is_new():
    """What the tests before left is looked at once, not in each of the collections here."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def settled() -> int:
    gc.collect()
    return live_bytes()


def test_results_are_freed():
    f = jax.jit(lambda: jnp.ones(BIG))
    f().block_until_ready()
    before = settled()
    y = f().block_until_ready()
    assert live_bytes() - before == MB
    del y
    assert settled() == before
    for _ in range(20):
        f()
    assert settled() == before


TRANSFORMATIONS: dict[str, Any] = {
    "jit": lambda f: jax.jit(f)(2.0),
    "pmap": lambda f: jax.pmap(f)(np.float32([1, 2])),
    "vmap": lambda f: jax.vmap(f)(np.float32([1, 2])),
    "grad": lambda f: jax.grad(f)(2.0),
    "jit of grad": lambda f: jax.jit(jax.grad(f))(2.0),
    "grad of jit": lambda f: jax.grad(jax.jit(f))(2.0),
    "hessian": lambda f: jax.hessian(f)(2.0),
    "pmap of grad": lambda f: jax.pmap(jax.grad(f))(np.float32([1, 2])),
    "grad of pmap": lambda f: jax.grad(lambda x: jax.pmap(f)(x).sum())(np.float32([1, 2])),
    "vjp": lambda f: jax.vjp(f, 2.0)[1](1.0),
    "linearize": lambda f: jax.linearize(f, 2.0)[1](1.0),
    "eval_shape": lambda f: jax.eval_shape(f, 2.0),
    "make_jaxpr": lambda f: jax.make_jaxpr(f)(2.0),
    "lower": lambda f: jax.jit(f).lower(2.0).compile()(2.0),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f))(2.0),
    "scan": lambda f: lax.scan(lambda c, t: (f(c) + t, c), 2.0, np.float32([1, 2])),
    "cond": lambda f: lax.cond(True, f, lambda x: x, 2.0),
    "while": lambda f: lax.while_loop(lambda c: c < 3, lambda c: f(c) + 9.0, 2.0),
    "custom": lambda f: jax.grad(_custom(f))(2.0),
    "disable_jit": lambda f: _plainly(f),
}


def _custom(f: Any) -> Any:
    g = jax.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * 2,))
    return g


def _plainly(f: Any) -> Any:
    with jax.disable_jit():
        return jax.pmap(jax.jit(f))(np.float32([1, 2]))


@pytest.mark.parametrize("form", ["fused", "gang"])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_a_dropped_function_is_freed_with_what_it_captured(name, form):
    def make() -> list[Any]:
        held = jnp.ones(BIG) * 0.5

        def f(x):
            return x * held.sum() * 0 + x

        TRANSFORMATIONS[name](f)
        return [weakref.ref(f), weakref.ref(held)]

    with override(pmap_form=form):
        make()  # what the transformation itself keeps
        before = settled()
        refs = make()
        gc.collect()
        assert [r() for r in refs] == [None, None]
        assert settled() - before < MB // 2


def test_nothing_piles_up_in_a_loop_of_new_functions():
    def once(k: int) -> None:
        w = jnp.full(1000, float(k))
        jax.jit(lambda x: x + w)(1.0)
        jax.pmap(lambda x: (x * w).sum())(np.float32([1, 2]))
        jax.grad(lambda x: (x * w).sum())(1.0)

    for k in range(3):
        once(k)
    before, tables = settled(), len(transformed._tables)
    for k in range(10):
        once(k)
    assert settled() - before < 20_000
    assert len(transformed._tables) <= tables + 1


def test_arguments_are_not_kept():
    f = jax.jit(lambda x, y: x + y)
    p = jax.pmap(lambda x: x * 2)
    x = jnp.ones(BIG)
    rows = jnp.ones((2, BIG))
    f(x, 1.0), p(rows)
    refs = [weakref.ref(x), weakref.ref(rows)]
    del x, rows
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_executables_go_with_the_function():
    f = jax.jit(lambda x: x * 3)
    f(1.0)
    (entry,) = f.entries.values()
    ref = weakref.ref(entry.compiled.executable)
    del entry
    assert ref() is not None
    f.clear_cache()
    gc.collect()
    assert ref() is None
    f(1.0)
    (entry,) = f.entries.values()
    ref = weakref.ref(entry.compiled.executable)
    del entry, f
    gc.collect()
    assert ref() is None


def test_clear_caches_frees_what_live_functions_captured():
    # In a process of its own: here it would throw away what all other tests compiled.
    code = """
        import gc, weakref
        import plait as jax, plait.numpy as jnp
        held = jnp.ones(1000)
        f = jax.jit(lambda x: x + held)
        f(1.0)
        (entry,) = f.entries.values()
        ref = weakref.ref(entry.compiled.executable)
        del entry
        jax.clear_caches()
        gc.collect()
        print(ref() is None, f(1.0)[1])
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "2.0"]


def test_equal_compositions_share_and_are_freed_together():
    def h(x):
        return x + 1

    for _ in range(3):
        jax.pmap(jax.vmap(h))(np.ones((2, 3), np.float32))
    assert len(transformed._tables[h]) >= 1
    ref = weakref.ref(h)
    del h
    gc.collect()
    assert ref() is None


def test_errors_hold_nothing():
    def make() -> Any:
        held = jnp.ones(BIG)

        def f(x):
            (x * held).sum()
            raise KeyError("no")

        for run in (jax.jit(f), jax.vmap(f), jax.pmap(f), jax.grad(f)):
            with pytest.raises(KeyError):
                run(np.float32([1, 2]) if run.kind in ("vmap", "pmap") else np.float32(1))
        return weakref.ref(held)

    ref = make()
    gc.collect()
    assert ref() is None


def test_replicated_state_is_stored_once_in_the_fused_form():
    with override(pmap_form="fused"):
        step = jax.pmap(lambda w, x: w - lax.pmean(x, "i"), "i", donate_argnums=0)
        w = jax.device_put_replicated(jnp.ones(BIG), jax.devices()[:4])
        x = np.float32([1, 2, 3, 4])
        w = step(w, x)
        base = settled()
        for _ in range(3):
            w = step(w, x)
        w.block_until_ready()
        assert settled() - base < 1000
        assert w.shape == (4, BIG) and w.on_device_size_in_bytes() == MB
        assert step.lower(w, x).compile().memory_analysis().output_size_in_bytes < 1.1 * MB
        same(w[3, :2], np.float32([-9, -9]))
