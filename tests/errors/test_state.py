"""Exceptions of the user pass through every transformation unchanged, and leave nothing behind."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override, state
from plait.core.context import context
from plait.runtime.eager import eager

TWO = np.float32([1.0, 4.0])


class MineError(Exception):
    """An exception that plait knows nothing of."""


def scanned(f: Any) -> Any:
    return lambda x: lax.scan(lambda c, t: (c + f(t), t), 0.0, x)[0]


def chosen(f: Any) -> Any:
    return lambda x: lax.cond(x[0] > 0, lambda x: f(x[0]), lambda x: 0.0, x)


def looped(f: Any) -> Any:
    return lambda x: lax.while_loop(lambda c: c < 2, lambda c: c + 1 + 0 * f(x[0]), 0.0)


def ruled(f: Any) -> Any:
    g = jax.custom_vjp(lambda x: x * 2)
    g.defvjp(lambda x: (x * 2, x), lambda r, ct: (ct * f(r),))
    return lambda x: jax.grad(lambda x: g(x[0]))(x).sum()


def pushed(f: Any) -> Any:
    return lambda x: jax.jvp(lambda x: f(x[0]), (x,), (x,))[0]


def over_rows(mapped: Any) -> Any:
    return lambda f: lambda x: mapped(lambda r: f(r) + lax.psum(r, "i"), axis_name="i")(x).sum()


WRAPPERS: dict[str, Any] = {
    "jit": lambda f: jax.jit(lambda x: f(x[0])),
    "vmap": over_rows(jax.vmap),
    "pmap": over_rows(jax.pmap),
    "grad": lambda f: lambda x: jax.grad(lambda x: f(x[0]))(x).sum(),
    "jvp": pushed,
    "vjp": lambda f: lambda x: jax.vjp(lambda x: f(x[0]), x)[0],
    "linearize": lambda f: lambda x: jax.linearize(lambda x: f(x[0]), x)[0],
    "jacfwd": lambda f: lambda x: jax.jacfwd(lambda x: f(x[0]))(x).sum(),
    "hessian": lambda f: lambda x: jax.hessian(lambda x: f(x[0]))(x).sum(),
    "checkpoint": lambda f: lambda x: jax.grad(jax.checkpoint(lambda x: f(x[0])))(x).sum(),
    "scan": scanned,
    "cond": chosen,
    "while": looped,
    "custom_vjp": ruled,
    "eval_shape": lambda f: lambda x: jax.eval_shape(lambda x: f(x[0]), x),
    "make_jaxpr": lambda f: lambda x: jax.make_jaxpr(lambda x: f(x[0]))(x),
    "lower": lambda f: lambda x: jax.jit(lambda x: f(x[0])).lower(x),
    "jit of grad of vmap": lambda f: jax.jit(jax.grad(over_rows(jax.vmap)(f))),
    "pmap of pmap": lambda f: (
        lambda x: over_rows(jax.pmap)(lambda r: over_rows(jax.pmap)(f)(r[None]))(x)
    ),
    "vmap of scan": lambda f: lambda x: jax.vmap(scanned(f))(x[:, None]),
    "disable_jit": lambda f: functools.partial(_plainly, over_rows(jax.pmap)(f)),
}


def _plainly(f: Any, x: Any) -> Any:
    with jax.disable_jit():
        return f(x)


def everything_is_as_before() -> None:
    assert context.interpreter is eager and context.axes == () and context.source is None
    assert lax.bound_axis_names() == ()
    assert not state.disable_jit and not state.enable_x64
    total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(TWO)
    np.testing.assert_array_equal(total, [5.0, 5.0])
    np.testing.assert_allclose(jax.grad(lambda x: (x**2).sum())(TWO), 2 * TWO)
    np.testing.assert_array_equal(jax.vmap(lambda x: x + 1)(TWO), TWO + 1)


@pytest.mark.parametrize("form", ["fused", "gang"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_an_exception_passes_through(wrapper, form):
    thrown = MineError("unchanged", {"k": 3})
    fail = [True]

    def f(x):
        y = jnp.sin(x)
        if fail[0]:
            raise thrown
        return y

    run = WRAPPERS[wrapper](f)
    with override(pmap_form=form):
        for _ in range(2):
            with pytest.raises(MineError) as caught:
                run(TWO)
            assert caught.value is thrown and caught.value.args == ("unchanged", {"k": 3})
            assert any(entry.name == "f" for entry in caught.traceback)
        everything_is_as_before()
        fail[0] = False
        first = run(TWO)
        again = run(TWO)
        if wrapper not in ("eval_shape", "make_jaxpr", "lower"):
            np.testing.assert_array_equal(np.asarray(first), np.asarray(again))
        everything_is_as_before()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_exceptions_that_end_programs_pass_as_well(kind):
    def f(x):
        raise kind("stop")

    for run in (jax.jit(f), jax.vmap(f), jax.pmap(f), jax.grad(f)):
        with pytest.raises(kind, match="stop"):
            run(np.float32([1, 2]) if run.kind in ("vmap", "pmap") else np.float32(1))
    everything_is_as_before()


def test_exceptions_of_callbacks_are_named():
    def called(x):
        raise MineError("in the callback")

    shape = jax.ShapeDtypeStruct((2,), np.float32)
    run = jax.jit(lambda x: jax.pure_callback(called, shape, x) * 2)
    with pytest.raises(RuntimeError, match="MineError: in the callback") as caught:
        run(TWO).block_until_ready()
    chain = caught.value.__cause__
    assert isinstance(chain, MineError)
    everything_is_as_before()


def test_errors_may_be_pickled_and_printed():
    import pickle

    with pytest.raises(ValueError, match="rows") as caught:
        jax.pmap(lambda x: x, devices=jax.devices()[:2])(np.ones(7))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and type(again) is type(caught.value)
