"""Several threads at once: the same and different functions, traced, compiled and run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.config import override
from tests.transforms.common import counted, same

COUNT = 8


def together(work: Callable[[int], Any], count: int = COUNT) -> list[Any]:
    """work(0), work(1), ... started at one moment in threads; their results."""
    start = threading.Barrier(count)
    results: list[Any] = [None] * count
    problems: list[BaseException] = []

    def run(k: int) -> None:
        try:
            start.wait(60)
            results[k] = work(k)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(300)
        assert not t.is_alive()
    if problems:
        raise problems[0]
    return results


def test_one_function_first_called_by_all():
    f, calls = counted(lambda x: jnp.sin(x) @ jnp.cos(x).T)
    run = jax.jit(f)
    x = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    for got in together(lambda k: np.asarray(run(x + k)) - np.sin(x + k) @ np.cos(x + k).T):
        np.testing.assert_allclose(got, 0, atol=1e-5)
    assert 1 <= len(calls) <= COUNT
    before = len(calls)
    together(lambda k: run(x))
    assert len(calls) == before


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_one_map_called_by_all(form):
    run = jax.pmap(lambda x, k: lax.psum(x * k, "i") + lax.axis_index("i"), "i", in_axes=(0, None))
    x = np.arange(8, dtype=np.float32).reshape(4, 2)

    def work(k: int) -> None:
        with override(pmap_form=form):
            for r in range(20):
                want = (x * (k + r)).sum(0) + np.arange(4, dtype=np.float32)[:, None]
                same(run(x, float(k + r)), want)

    together(work)


def test_functions_of_each_threads_own():
    def work(k: int) -> None:
        x = np.full((2 + k % 3, 4), k, np.float32)
        f = jax.jit(lambda x: (x * k).sum(0))
        same(f(x), (x * k).sum(0))
        g = jax.vmap(lambda r: r @ r + k)
        same(g(x), (x * x).sum(1) + k)
        h = jax.value_and_grad(lambda x: (x**2).sum() * k)
        same(h(x), (np.float32((x**2).sum() * k), 2 * x * k))
        p = jax.pmap(lambda r: r - lax.pmean(r, "i"), "i")
        same(p(x), x - x.mean(0))
        s = lax.scan(lambda c, r: (c + r, c), np.zeros(4, np.float32), x)
        same(s[0], x.sum(0))
        same(jax.jit(jax.hessian(lambda v: (v**3).sum()))(x[0]), np.diag(6 * x[0]))

    together(work)


def test_switches_and_names_belong_to_a_thread():
    def work(k: int) -> Any:
        out = []
        for _ in range(10):
            with jax.enable_x64(k % 2 == 0), override(pmap_form="gang" if k % 4 < 2 else "fused"):
                y = jax.jit(lambda x: x / 3)(1.0)
                out.append(y.dtype.name)
                z = jax.vmap(lambda x: lax.psum(x, f"axis{k}"), axis_name=f"axis{k}")(np.ones(2))
                out.append(z.dtype.name)
                assert lax.bound_axis_names() == ()
        return set(out)

    for k, names in enumerate(together(work)):
        assert names == ({"float64"} if k % 2 == 0 else {"float32"})


def test_errors_in_some_threads_only():
    run = jax.jit(lambda x: x * 2 if x.shape[0] % 2 else 1 / 0)

    def work(k: int) -> None:
        for _ in range(10):
            if k % 2:
                same(run(np.ones(k, np.float32)), np.full(k, 2, np.float32))
            else:
                with pytest.raises(ZeroDivisionError):
                    run(np.ones(k, np.float32))

    together(work)


def test_arrays_are_shared_between_threads():
    x = jnp.arange(1000.0)
    y = jax.pmap(lambda r: r * 2)(np.ones((4, 3), np.float32))

    def work(k: int) -> None:
        for r in range(20):
            assert float(x[k * 10 + r]) == k * 10 + r
            same(y[k % 4] + k, np.full(3, 2 + k, np.float32))
            assert float((x + k).sum()) == float(np.arange(1000.0).sum() + 1000 * k)
            np.asarray(x), repr(y), y.addressable_shards

    together(work)


def test_random_numbers_do_not_depend_on_threads():
    def work(k: int) -> Any:
        return np.asarray(random.normal(random.fold_in(random.key(1), k % 2), (4,)))

    got = together(work)
    for k in range(COUNT):
        np.testing.assert_array_equal(got[k], got[k % 2])
    assert (got[0] != got[1]).any()


def test_caches_are_cleared_while_others_run():
    run = jax.jit(lambda x: x + 1)

    def work(k: int) -> None:
        for r in range(15):
            if k == 0:
                jax.clear_caches()
            same(run(np.full(1 + r % 3, k, np.float32)), np.full(1 + r % 3, k + 1, np.float32))

    together(work)
