"""Run by test_storms.py in processes of their own, since what they try could hang or abort."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax
from tests.spmd.common import live_bytes


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run work(0), work(1), ... in threads; raises what one of them raised."""
    problems: list[BaseException] = []

    def run(k: int) -> None:
        try:
            work(k)
        except BaseException as error:
            problems.append(error)

    if count == 1:
        return work(0)
    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if problems:
        raise problems[0]
    return None


def launches(threads: int, total: int) -> None:
    """Independent collective launches, all in flight, plain programs of all devices among them."""
    n = jax.device_count()
    sums = jax.pmap(lambda x, k: lax.psum(x, "i") * k, "i", in_axes=(0, None))
    mean_of_some = jax.pmap(lambda x: x - lax.pmean(x, "i"), "i", devices=jax.devices()[:2])
    ring = jax.pmap(lambda x: lax.ppermute(x, "i", [(k, (k + 1) % n) for k in range(n)]), "i")
    plain = jax.jit(lambda x: (x @ x.T).sum(0))
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    pair = x[:2]
    moved = np.roll(x, 1, 0)
    placed = [jax.device_put(x, d) for d in jax.devices()]
    each = total // threads

    def work(thread: int) -> None:
        kept: list[tuple[Any, np.ndarray]] = []
        for k in range(each):
            kept.append((sums(x, float(k)), np.stack([x.sum(0) * k] * n)))
            if k % 4 == 0:
                kept.append((ring(x), moved))
            if k % 5 == thread % 5:
                kept.append((plain(placed[k % n]), (x @ x.T).sum(0)))
            if k % 7 == 0:
                kept.append((mean_of_some(pair), pair - pair.mean(0)))
            if k % 50 == 49:
                kept.append((kept[-1][0] + 1, kept[-1][1] + 1))
        for got, want in kept[:: max(1, len(kept) // 200)]:
            np.testing.assert_allclose(got, want, rtol=1e-5)
        jax.block_until_ready([got for got, _ in kept])

    in_threads(threads, work)
    print(f"{threads * each} launches are right")


def memory(total: int) -> None:
    """Ten thousand launches whose results feed the next, and as many that nobody looks at."""
    n = jax.device_count()
    step = jax.pmap(lambda w, x: w - 0.5 * lax.pmean(w - x, "i"), "i", donate_argnums=0)
    drop = jax.pmap(lambda x: lax.psum(x * x, "i"), "i")
    x = np.ones((n, 1000), np.float32)
    w = jax.pmap(lambda x: x * 0)(x)

    def run(count: int) -> tuple[int, int]:
        nonlocal w
        for _ in range(count):
            w = step(w, x)
            drop(w)
        w.block_until_ready()
        gc.collect()
        return live_bytes(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    live, peak = run(total // 10)
    live_after, peak_after = run(total - total // 10)
    np.testing.assert_allclose(w, np.ones_like(x), rtol=1e-5)
    assert live_after <= live + 100_000, (live, live_after)
    assert peak_after <= peak + 60_000, (peak, peak_after)  # kB
    print(f"{total} launches in {peak_after - peak} kB more")


def interrupt(kind: str) -> None:
    """Ctrl-C in a wait for a long program: it comes before the program's end; plait goes on."""

    def long(x: Any) -> Any:
        def body(_: Any, c: Any) -> Any:
            c = jnp.sin(c @ c.T / 40.0) + x
            return c + 1e-3 * lax.pmean(c, "i") if kind != "jit" else c

        return lax.fori_loop(0, rounds, body, x)

    n = jax.device_count()
    x = np.ones((n, 40, 40), np.float32)
    run: Any = jax.pmap(long, "i") if kind != "jit" else jax.jit(jax.vmap(long))
    rounds = 2000
    run(x).block_until_ready()  # compiled, and to see how long a round takes
    start = time.perf_counter()
    run(x).block_until_ready()
    each = (time.perf_counter() - start) / rounds
    rounds = max(2000, int(3.0 / each))
    jax.clear_caches()
    run = (
        jax.pmap(lambda x: long(x), "i") if kind != "jit" else jax.jit(jax.vmap(lambda x: long(x)))
    )
    compiled = run.lower(x).compile()
    # A shell starts what runs in its background deaf to interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    y = None
    try:
        y = compiled(x)
        if kind == "host":
            np.asarray(y)
        elif kind == "next":
            jax.pmap(lambda x: lax.psum(x, "i"), "i")(y)[0].block_until_ready()
        else:
            y.block_until_ready()
        time.sleep(0.5)  # for a signal that came while nothing waited
        print("not interrupted", rounds)
    except KeyboardInterrupt:
        early = y is None or not y.is_ready()
        print("interrupted", "early" if early else "late", rounds)
    small = jax.pmap(lambda x: lax.psum(x, "i"), "i")
    np.testing.assert_array_equal(small(np.ones(n, np.float32)), np.full(n, n))
    np.testing.assert_allclose(jax.jit(jnp.sin)(np.float32(1)), np.sin(np.float32(1)), rtol=1e-6)
    if y is not None:
        assert np.isfinite(np.asarray(y)).all()
    print("usable")


def nested(threads: int) -> None:
    """Programs started from callbacks of programs, in several threads."""
    inner = jax.jit(lambda x: x * 2 + 1)

    def called(x: Any) -> Any:
        return np.asarray(inner(x), np.float32)

    def f(x: Any) -> Any:
        y = jax.pure_callback(called, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        return lax.psum(y, "i")

    n = jax.device_count()
    run = jax.pmap(f, "i")
    x = np.arange(n * 2, dtype=np.float32).reshape(n, 2)

    def work(k: int) -> None:
        for r in range(20):
            got = run(x + k + r)
            np.testing.assert_allclose(got, np.stack([((x + k + r) * 2 + 1).sum(0)] * n))

    in_threads(threads, work)
    print("nested programs are right")


def errors() -> None:
    """Failures in the middle of many launches leave the others right."""
    n = jax.device_count()
    good = jax.pmap(lambda x: lax.psum(x, "i"), "i")
    bad = jax.pmap(lambda x: x / lax.psum(x, "nowhere"), "i")
    took = jax.pmap(lambda x: x + 1, donate_argnums=0)
    x = np.ones((n, 2), np.float32)

    def work(k: int) -> None:
        for r in range(60):
            y = good(x * r)
            if r % 3 == 0:
                try:
                    bad(x)
                except NameError:
                    pass
                else:
                    raise AssertionError("no error")
            if r % 5 == 0:
                given = good(x)
                took(given)
                try:
                    took(given)
                except RuntimeError:
                    pass
                else:
                    raise AssertionError("a donated array was taken twice")
            np.testing.assert_array_equal(y, np.full_like(x, n * r))

    in_threads(4, work)
    print("errors harm nobody")


if __name__ == "__main__":
    what, *args = sys.argv[1:]
    jobs: dict[str, Any] = {
        "launches": launches,
        "memory": memory,
        "interrupt": interrupt,
        "nested": nested,
        "errors": errors,
    }
    jobs[what](*(int(a) if a.isdigit() else a for a in args))
