"""What leaves plait shows no line of plait, whichever function it came through."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import ShapeError
from plait.experimental import checkify
from plait.sharding import PartitionSpec

V = np.ones(3, np.float32)
mesh = jax.make_mesh((1,), ("i",))


def wrong(x: Any, *_: Any) -> Any:
    return jnp.sum(jnp.ones((2, 2)) @ x)


@jax.custom_vjp
def with_rule(x):
    return x


with_rule.defvjp(lambda x: (x, None), lambda _, ct: (wrong(V),))


def raising(x: Any, *_: Any) -> Any:
    raise KeyError("of the user")


CALLS: dict[str, Any] = {
    "jit": lambda f: jax.jit(f)(V),
    "jit of jit": lambda f: jax.jit(lambda x: jax.jit(f)(x))(V),
    "grad": lambda f: jax.grad(f)(V),
    "value_and_grad": lambda f: jax.value_and_grad(f)(V),
    "vmap": lambda f: jax.vmap(f)(V[None]),
    "pmap": lambda f: jax.pmap(f)(V[None]),
    "pmap of grad": lambda f: jax.pmap(jax.grad(f))(V[None]),
    "shard_map": lambda f: jax.shard_map(
        f, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec()
    )(V),
    "jvp": lambda f: jax.jvp(f, (V,), (V,)),
    "vjp": lambda f: jax.vjp(f, V),
    "pullback": lambda f: jax.vjp(with_rule, V)[1](V) if f is wrong else f(V),
    "linearize": lambda f: jax.linearize(f, V),
    "linear_transpose": lambda f: jax.linear_transpose(f, V),
    "jacfwd": lambda f: jax.jacfwd(f)(V),
    "jacrev": lambda f: jax.jacrev(f)(V),
    "hessian": lambda f: jax.hessian(f)(V),
    "make_jaxpr": lambda f: jax.make_jaxpr(f)(V),
    "eval_shape": lambda f: jax.eval_shape(f, V),
    "lower": lambda f: jax.jit(f).lower(V),
    "checkpoint": lambda f: jax.checkpoint(f)(V),
    "custom_jvp": lambda f: ruled(jax.custom_jvp, f)(V),
    "custom_vjp": lambda f: ruled(jax.custom_vjp, f)(V),
    "scan": lambda f: lax.scan(f, V, None, 2),
    "while_loop": lambda f: lax.while_loop(lambda x: True, f, V),
    "fori_loop": lambda f: lax.fori_loop(0, 2, lambda k, x: f(x), V),
    "map": lambda f: lax.map(f, V[None]),
    "cond": lambda f: lax.cond(True, f, f, V),
    "switch": lambda f: lax.switch(0, [f, f], V),
    "associative_scan": lambda f: lax.associative_scan(lambda a, b: f(V), V),
    "custom_root": lambda f: lax.custom_root(f, V, f, f),
    "custom_linear_solve": lambda f: lax.custom_linear_solve(f, V, lambda f, b: b),
    "checkify": lambda f: checkify.checkify(f)(V),
    "named_call": lambda f: jax.named_call(f)(V),
    "a program of NumPy's": lambda f: jnp.cross(jnp.ones(5), V) if f is wrong else f(V),
}


def ruled(custom: Any, f: Any) -> Any:
    f = custom(f)
    if custom is jax.custom_vjp:
        f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    else:
        f.defjvp(lambda xs, ts: (xs[0], ts[0]))
    return f


def files(call: Any, f: Any) -> tuple[BaseException, list[str]]:
    try:
        call(f)
    except Exception as error:
        return error, [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("name", CALLS)
def test_an_error_shows_the_users_lines(name):
    package = os.path.dirname(jax.__file__) + os.sep
    for f in (raising, wrong):
        error, shown = files(CALLS[name], f)
        assert isinstance(error, KeyError if f is raising else ShapeError), error
        # What the user's own line calls outside of any transformation raises with its own frames.
        inside = shown[: len(shown) - shown[::-1].index(__file__)] if f is wrong else shown
        assert not [file for file in inside if file.startswith(package)]
        assert shown.count(__file__) >= 2


def test_all_frames_can_be_had():
    with override(traceback_filtering="off"):
        _, every = files(CALLS["jit of jit"], raising)
    _, shown = files(CALLS["jit of jit"], raising)
    assert len(every) > len(shown) + 5 and set(shown) == {__file__}


def test_an_error_that_arose_in_plait_keeps_its_frames(monkeypatch):
    from plait.transforms import calls

    monkeypatch.setattr(calls, "stage", lambda *_, **__: 1 / 0)
    error, shown = files(CALLS["jit"], raising)
    # (The innermost line is the test's own here: what is kept is what a defect of plait needs.)
    assert isinstance(error, ZeroDivisionError)
    monkeypatch.setattr(calls, "stage", None)
    error, shown = files(CALLS["jit"], raising)
    assert isinstance(error, TypeError) and "plait" in shown[-1] and len(shown) > 3


def test_the_environment_is_read():
    code = "import plait; print(plait.config.traceback_filtering)"
    env = {**os.environ, "PLAIT_TRACEBACK_FILTERING": "off"}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.strip() == "off", out.stderr
