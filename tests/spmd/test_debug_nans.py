"""debug_nans looks into loops, branches, maps and functions with rules: op, line, iteration, row.

Every construct here is fed one NaN, made in one row of a map and one iteration; the message has to
name exactly these, however the constructs are nested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import NanError
from tests.spmd.common import message

BAD_ROUND = 3
ROUNDS = 5
Value = Any


def poison(x: Value, k: Value, bad: Value) -> Value:
    """Finite, but a NaN in the bad round if `bad` is large and not 0."""
    return jnp.sqrt(x - bad * (k == BAD_ROUND))


POISON = f"test_debug_nans.py:{poison.__code__.co_firstlineno + 2} in poison"

# Each: (function of x and of a function step(x, k) to be called in every round, what the message
# says of the rounds). Those without rounds call step once, in the bad round.
Step = Callable[[Value, Value], Value]
Kind = tuple[Callable[[Value, Step], Value], str]


def scan_carry(x, step):
    return lax.scan(lambda c, k: (step(c, k), None), x, jnp.arange(ROUNDS))[0]


def scan_rows(x, step):
    return lax.scan(lambda c, k: (c + 1, step(c, k)), x, jnp.arange(ROUNDS))[1].sum()


def scan_backwards(x, step):
    return lax.scan(lambda c, k: (c, step(c, k)), x, jnp.arange(ROUNDS), reverse=True)[1].sum()


def while_traced(x, step):
    body = lambda s: (s[0] + 1, step(s[1], s[0]))
    return lax.while_loop(lambda s: (s[0] < ROUNDS) & (s[1] > 0), body, (0, x))[1]


def fori(x, step):
    return lax.fori_loop(0, ROUNDS, lambda k, c: step(c, k), x)


def mapped(x, step):
    return lax.map(lambda k: step(x, k), jnp.arange(ROUNDS)).sum()


def in_cond(x, step):
    # The other branch makes a NaN in all rows, that nobody sees.
    return lax.cond(x > 0, lambda x: step(x, BAD_ROUND), lambda x: jnp.log(-1 - x * x), x)


def in_switch(x, step):
    branches = [lambda x: jnp.log(-x), lambda x: step(x, BAD_ROUND), lambda x: x * jnp.nan]
    return lax.switch((x > 0).astype(int), branches, x)


def in_jit(x, step):
    return jax.jit(lambda x: step(x, BAD_ROUND) + 1)(x)


def in_checkpoint(x, step):
    return jax.checkpoint(lambda x: step(x, BAD_ROUND))(x)


def in_custom_jvp(x, step):
    f = jax.custom_jvp(lambda x: step(x, BAD_ROUND))
    f.defjvp(lambda xs, ts: (step(xs[0], BAD_ROUND), ts[0]))
    return f(x)


def in_custom_vjp(x, step):
    f = jax.custom_vjp(lambda x: step(x, BAD_ROUND))
    f.defvjp(lambda x: (step(x, BAD_ROUND), None), lambda _, ct: (ct,))
    return f(x)


def in_vmap(x, step):
    return jax.vmap(lambda y: step(y, BAD_ROUND))(jnp.stack([x, x + 1])).sum()


def in_where(x, step):
    unseen = jnp.where(x > 0, 0, jnp.log(-1 - x * x))
    return jnp.where(x > 0, step(x, BAD_ROUND), unseen) + 0 * unseen


def in_derivative(x, step):
    return jax.value_and_grad(lambda x: step(x, BAD_ROUND))(x)[0]


KINDS: dict[str, Kind] = {
    "scan, carried": (scan_carry, "3 of scan"),
    "scan, stacked": (scan_rows, "3 of scan"),
    "scan in reverse": (scan_backwards, "3 of scan"),
    "while": (while_traced, "3 of while"),
    "fori_loop": (fori, "3 of scan"),
    "map": (mapped, "3 of scan"),
    "cond": (in_cond, ""),
    "switch": (in_switch, ""),
    "jit": (in_jit, ""),
    "checkpoint": (in_checkpoint, ""),
    "custom_jvp": (in_custom_jvp, ""),
    "custom_vjp": (in_custom_vjp, ""),
    "vmap": (in_vmap, ""),
    "where": (in_where, ""),
    "a derivative": (in_derivative, ""),
}
LOOPS = [name for name, (_, says) in KINDS.items() if says]


def body_of(*names: str) -> tuple[Callable[[Value, Value], Value], list[str]]:
    """A function of (x, bad) of nested kinds, the first outermost, and the rounds it should name.

    A loop inside of another one makes its NaN in the bad round of both.
    """
    kinds = [KINDS[name] for name in names]

    def build(at: int, bad: Value) -> Step:
        if at == len(kinds):
            return lambda x, k: poison(x, k, bad)
        run, _ = kinds[at]
        inner = lambda k: build(at + 1, bad * (k == BAD_ROUND))
        return lambda x, k: run(x, lambda y, j: inner(k)(y, j))

    return lambda x, bad: build(0, bad)(x, BAD_ROUND), [says for _, says in kinds if says]


def rows(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def only(row: int, rows: int = 4) -> np.ndarray:
    """What makes the NaN in one row only."""
    return 100 * (np.arange(rows, dtype=np.float32) == row)


def rows_of(text: str) -> dict[str, str]:
    """The named lines of a message."""
    pairs = [re.match(r"  (\w+) +(.*)", line) for line in text.splitlines()[1:]]
    return {m[1]: m[2] for m in pairs if m}


def refuse(run: Callable[..., Any], *args: Any) -> dict[str, str]:
    with jax.debug_nans(True):
        text = message(NanError, lambda: run(*args))
    assert "a NaN came out of sqrt" in text, text
    found = rows_of(text)
    assert found["where"] == POISON, text
    return found


def check(found: dict[str, str], says: list[str]) -> None:
    """The iterations that a message names, the outermost first."""
    named = found.get("iteration", "").split(", ") if says else [found.get("iteration", "")]
    assert len(named) == max(len(says), 1), found
    assert all(n.startswith(s) for n, s in zip(named, says or [""], strict=True)), found


@pytest.mark.parametrize("name", KINDS)
def test_inside_of_every_kind(name):
    f, says = body_of(name)
    found = refuse(jax.pmap(f, in_axes=(None, 0)), 2.0, only(2))
    check(found, says)
    assert found["row"] == "2 of the map" and found["device"].endswith(":2")


def test_where_there_is_no_map():
    f, says = body_of("scan, stacked", "cond")
    found = refuse(jax.jit(f), 2.0, 100.0)
    check(found, says)
    assert "row" not in found and "device" not in found
    check(refuse(lambda x: scan_carry(x, lambda y, k: poison(y, k, 100.0)), 2.0), ["3 of scan"])
    with jax.debug_nans(True):
        assert np.isfinite(jax.jit(f)(2.0, 0.0))


NESTS = [
    ("fused", "while", "scan, stacked"),
    ("gang", "scan in reverse", "cond", "fori_loop"),
    ("fused", "map", "custom_vjp", "while", "jit"),
    ("gang", "custom_jvp", "scan, carried", "switch"),
    ("fused", "checkpoint", "a derivative", "scan in reverse", "where"),
]


@pytest.mark.parametrize("nest", NESTS, ids=" of ".join)
def test_inside_of_nests(nest):
    form, *names = nest
    with override(pmap_form=form):
        f, says = body_of(*names)
        found = refuse(jax.pmap(f, "i", in_axes=(None, 0)), 2.0, only(1))
        check(found, says)
        assert found["row"] == "1 of axis 'i'"


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_the_device_of_a_row(count, form):
    devices = jax.devices()[:count][::-1]
    f, says = body_of("scan, carried")
    for row in (0, 3, 7):
        run = jax.pmap(f, "i", in_axes=(None, 0), devices=devices)
        found = refuse(run, 2.0, only(row, 8))
        check(found, says)
        assert found["row"] == f"{row} of axis 'i'"
        assert found["device"] == str(devices[row * count // 8])


def test_maps_in_maps_and_loops_between_them(form):
    f = lambda x, bad: poison(x, BAD_ROUND, bad)

    def outer(x, bad):
        g = jax.pmap(f, "j", in_axes=(None, 0))
        return lax.scan(lambda c, k: (c, g(c, bad * (k == 1))), x, jnp.arange(2))[1]

    found = refuse(jax.pmap(outer, "i", in_axes=(None, 0)), 2.0, only(6, 8).reshape(2, 4))
    check(found, ["1 of scan"])
    assert found["row"] == "1 of axis 'i', 2 of axis 'j'"
    assert found["device"] == str(jax.devices()[6])
    found = refuse(jax.vmap(jax.pmap(f, in_axes=(None, 0)), (None, 0)), 2.0, only(2)[None])
    assert found["row"] == "2 of the map" and found["position"] == "(0,)"


def test_through_collectives_to_the_row_that_made_it(form):
    def f(x, bad):
        y = poison(x, BAD_ROUND, bad)
        step = lambda c, _: (lax.pmean(c, "i"), lax.ppermute(c, "i", [(0, 1)]))
        return lax.scan(step, y, None, 3)[0]

    found = refuse(jax.pmap(f, "i", in_axes=(None, 0)), 2.0, only(3))
    assert found["row"] == "3 of axis 'i'" and "iteration" not in found
    shared = jax.pmap(lambda x: poison(lax.psum(x, "i"), BAD_ROUND, 100.0), "i")
    assert refuse(shared, np.ones(4, np.float32))["row"] == "all of axis 'i'"


def test_a_nan_that_is_put_away_again_is_not_the_one():
    # The carry is a NaN until the second round, and again in the third, where it is not used.
    def f(x):
        def body(c, k):
            a, b = c
            return (jnp.where(k % 2 == 0, k + 0.5, jnp.nan), b + jnp.log(3.5 - k)), a

        (_, b), _ = lax.scan(body, (jnp.nan, x), jnp.arange(5))
        return b

    with jax.debug_nans(True):
        text = message(NanError, lambda: jax.pmap(f)(rows([1, 2])))
    assert "came out of log" in text and "iteration  4 of scan" in text


def test_a_nan_that_came_in_with_an_argument():
    def f(x, table):
        return lax.scan(lambda c, t: (c * t, c), x, table["t"])[0] + 1

    run = jax.pmap(f, "i", in_axes=(0, None))
    with jax.debug_nans(True):
        one = lambda: run(rows([1, 2]), {"t": rows([1, 2, np.nan, 3])})
        assert "a NaN came in with table['t'], and out of mul" in message(NanError, one)
        text = message(NanError, lambda: run(rows([1, np.nan]), {"t": np.ones(4, "f")}))
        assert "a NaN came in with x" in text and "1 of axis 'i'" in text
        text = message(NanError, lambda: jnp.asarray(rows([1, np.nan])) * 2)
        assert "operand 0" in text and "out of mul" in text


def test_infinities_and_derivatives_in_loops():
    def f(x):
        return lax.scan(lambda c, k: (c, 1 / (c - k)), x, jnp.arange(4.0))[1].sum()

    with jax.debug_infs(True):
        text = message(NanError, lambda: jax.pmap(f)(rows([0.5, 2])))
    assert "an infinity came out of div" in text and "iteration  2 of scan" in text
    assert "row        1 of the map" in text
    # The square root of 0 is finite, its slope is not: it is in the backward loop of round 2.
    g = lambda x: lax.scan(lambda c, k: (c, jnp.sqrt(c - k)), x, jnp.arange(3.0))[1].sum()
    with jax.debug_infs(True):
        text = message(NanError, lambda: jax.pmap(jax.grad(g))(rows([2.5, 2])))
    assert "iteration  2 of scan" in text and "row        1 of the map" in text
