"""pmap: its own arguments, its results' places, and what it shares with jit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.errors import BackendError
from tests.spmd.conftest import form
from tests.transforms.common import counted, counted_compilations, message, refused, same

X = np.arange(12, dtype=np.float32).reshape(4, 3)
__all__ = ["form"]
pytestmark = pytest.mark.usefixtures("form")


# --- axes and trees


@pytest.mark.parametrize("axis", range(-3, 3))
@pytest.mark.parametrize("out", range(-2, 2))
def test_axes(axis, out):
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    f = lambda r: jnp.cumsum(r, 0)[-1] * lax.psum(r, "i")[0]
    got = jax.pmap(f, "i", in_axes=axis, out_axes=out)(x)
    same(got, jax.vmap(f, in_axes=axis, out_axes=out, axis_name="i")(x))


def test_trees_of_axes():
    tree = {"w": X, "b": [X[:, 0], np.float32(2)]}
    axes = ({"w": 0, "b": [0, None]}, None)
    f = lambda p, s: {"y": p["w"] * p["b"][0] * s + p["b"][1], "s": s}
    got = jax.pmap(f, in_axes=axes, out_axes={"y": 1, "s": None})(tree, 3.0)
    same(got, {"y": (X * X[:, :1] * 3 + 2).T, "s": np.float32(3)})
    assert jax.pmap(lambda x: {"a": None, "b": (x, ())})(X)["a"] is None
    same(
        jax.pmap(lambda t: t, in_axes=({"a": None, "b": 0},), out_axes={"a": None, "b": 0})(
            {"a": None, "b": X}
        ),
        {"a": None, "b": X},
    )


def test_ways_to_pass_arguments():
    def f(a, b=2.0, *rest, c, **more):
        return a + b + sum(rest) + c + sum(more.values())

    run = jax.pmap(f, in_axes=0)
    same(run(X, c=X), X * 2 + 2)
    same(run(X, X, X, c=X, d=X), X * 5)
    two = jax.pmap(f, in_axes=(0, None))
    same(two(X, 5.0, c=X), X * 2 + 5)
    only = jax.pmap(lambda *, a: a * 2)
    same(only(a=X), X * 2)


def test_as_a_decorator():
    @jax.pmap
    def f(x):
        return x + 1

    @functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=1)
    def g(x, k):
        """Sum k times."""
        return lax.psum(x, "i") * k

    @jax.pmap(axis_name="i", out_axes=None)
    def h(x):
        return lax.pmean(x, "i")

    same(f(X), X + 1)
    same(g(X, 2), np.stack([X.sum(0) * 2] * 4))
    same(h(X), X.mean(0))
    assert g.__name__ == "g" and g.__doc__ == "Sum k times." and "pmap" in repr(g)


def test_methods():
    class Trainer:
        def __init__(self, rate):
            self.rate = rate

        @functools.partial(jax.pmap, static_broadcasted_argnums=0)
        def step(self, x):
            return x * self.rate

    same(Trainer(2.0).step(X), X * 2)
    t = Trainer(3.0)
    same(jax.pmap(lambda x: t.step.__wrapped__(t, x))(X), X * 3)


# --- devices


def test_devices_in_any_order():
    some = [jax.devices()[k] for k in (5, 0, 3, 2)]
    y = jax.pmap(lambda x: x + lax.axis_index("i"), "i", devices=some)(X)
    same(y, X + np.arange(4, dtype=np.float32)[:, None])
    assert [s.device for s in y.addressable_shards] == some
    for k, shard in enumerate(y.addressable_shards):
        same(shard.data, (X + np.arange(4, dtype=np.float32)[:, None])[k : k + 1])
    assert jax.pmap(lambda x: x, devices=some).devices() == tuple(some)
    one = jax.pmap(lambda x: lax.psum(x, "i"), "i", devices=some[:1])(X)
    same(one, np.stack([X.sum(0)] * 4))
    assert one.devices() == {some[0]}


def test_mistakes_with_devices():
    refused(ValueError, lambda: jax.pmap(lambda x: x, devices=[]), "devices is empty")
    twice = [jax.devices()[0]] * 2
    refused(ValueError, lambda: jax.pmap(lambda x: x, devices=twice), "twice")
    refused(TypeError, lambda: jax.pmap(lambda x: x, devices=["cpu:0"]), "plait.devices()")
    refused(TypeError, lambda: jax.pmap(lambda x: x, devices=3), "devices")
    refused(RuntimeError, lambda: jax.pmap(lambda x: x, backend="none")(X), "none")
    same(jax.pmap(lambda x: x, backend="cpu")(X), X)
    refused(TypeError, lambda: jax.pmap(lambda x: x, axis_size=2.5), "axis_size")
    refused(TypeError, lambda: jax.pmap(3), "pmap", "function")
    refused(TypeError, lambda: jax.pmap(lambda x: x, in_axes="x"), "in_axes")
    refused(TypeError, lambda: jax.pmap(lambda x: x, out_axes=(0, 1.5)), "out_axes")
    refused(TypeError, lambda: jax.pmap(lambda x: x, unknown=3), "unknown")
    refused(ValueError, lambda: jax.pmap(lambda: 1.0, axis_size=-1), "pmap", "negative")


def test_axis_size():
    same(jax.pmap(lambda x: x, axis_size=4)(X), X)
    refused(ValueError, lambda: jax.pmap(lambda x: x, axis_size=2)(X), "axis_size is 2", "size 4")
    f = lambda w: w + lax.axis_index("i")
    same(jax.pmap(f, "i", in_axes=None, axis_size=2)(1), np.int32([1, 2]))
    same(jax.pmap(f, "i", in_axes=None, axis_size=np.int64(2))(1), np.int32([1, 2]))


# --- results


def test_where_results_lie():
    y = jax.pmap(lambda x: x * 2)(X)
    assert y.devices() == set(jax.devices()[:4])
    assert [s.data.shape for s in y.addressable_shards] == [(1, 3)] * 4
    assert y.sharding.shard_shape(y.shape) == (1, 3) and not y.is_fully_replicated
    columns = jax.pmap(lambda x: x * 2, out_axes=1)(X)
    same(columns, (X * 2).T)
    assert [s.data.shape for s in columns.addressable_shards] == [(3, 1)] * 4
    again = jax.pmap(lambda x: x * 2, in_axes=1, out_axes=1)(columns)
    same(again, (X * 4).T)
    assert [s.data.shape for s in again.addressable_shards] == [(3, 1)] * 4
    lanes = jax.pmap(lambda x: x * 2, devices=jax.devices()[:2])(X)
    assert [s.data.shape for s in lanes.addressable_shards] == [(2, 3)] * 2
    whole = jax.pmap(lambda x: lax.psum(x, "i"), "i", out_axes=None)(X)
    assert whole.shape == (3,) and f"{whole[0]:.1f}" == "18.0"
    same(whole + 1, X.sum(0) + 1)


def test_dtypes_and_constants():
    f = lambda x: (
        x.astype(jnp.bfloat16),
        x > 1,
        x.astype(int),
        3,
        True,
        2.5,
        jnp.complex64(1j),
        np.float32([1, 2]),
    )
    y = jax.pmap(f)(X)
    assert [a.dtype.name for a in y] == [
        "bfloat16",
        "bool",
        "int32",
        "int32",
        "bool",
        "float32",
        "complex64",
        "float32",
    ]
    assert [a.shape for a in y] == [(4, 3)] * 3 + [(4,)] * 4 + [(4, 2)]
    same(y[7], np.float32([[1, 2]] * 4))


def test_captured_arrays():
    w = jnp.arange(3.0)
    y = jax.pmap(lambda x: x * w)(X)
    first = np.asarray(y)[0]
    same(jax.pmap(lambda x: x * w + y[0])(X), X * np.float32([0, 1, 2]) + first)
    same(jax.jit(lambda w, x: jax.pmap(lambda x: x * w)(x))(w, X), X * np.float32([0, 1, 2]))
    same(jax.grad(lambda w: jax.pmap(lambda x: (x * w).sum())(X).sum())(w), X.sum(0))


def test_inner_functions_of_all_kinds():
    same(jax.pmap(jnp.sin)(X), np.sin(X))
    same(jax.pmap(jax.jit(jnp.sin))(X), np.sin(X))
    same(jax.pmap(functools.partial(jnp.sum, axis=0))(X), X.sum(1))
    same(jax.pmap(jax.grad(lambda x: (x**2).sum()))(X), 2 * X)
    same(jax.pmap(jax.value_and_grad(lambda x: (x**2).sum()))(X), ((X**2).sum(1), 2 * X))
    same(
        jax.pmap(jax.hessian(lambda x: (x**3).sum()))(X[:2]),
        np.stack([np.diag(6 * x) for x in X[:2]]),
    )
    same(
        jax.pmap(lambda x: lax.scan(lambda c, t: (c + t, c), 0.0, x))(X),
        (X.sum(1), np.cumsum(X, 1) - X),
    )


def test_static_and_unhashable():
    f = jax.pmap(lambda x, mode: x * 2 if mode else x, static_broadcasted_argnums=1)
    same(f(X, True), X * 2)
    same(f(X, False), X)
    refused(ValueError, lambda: f(X, [1]), "mode", "not hashable", "list")
    refused(ValueError, lambda: jax.pmap(lambda x: x, static_broadcasted_argnums=1), "argument 1")


def test_traced_and_compiled_once():
    f, calls = counted(lambda x, k: x * k)
    run = jax.pmap(f, in_axes=(0, None))
    run(X, 1.0)
    with counted_compilations() as texts:
        for k in range(5):
            run(X + k, float(k))
        same(run(jnp.asarray(X), 2.0), X * 2)
    assert len(calls) == 1 and not texts
    run(X[:, :2], 1.0), run(X[:2], 1.0)
    assert len(calls) == 3


def test_lowering():
    run = jax.pmap(lambda x: lax.psum(jnp.sin(x), "i"), "i")
    lowered = run.lower(X)
    assert "stablehlo" in lowered.as_text()
    assert "pmap" in lowered.as_text("program") and "psum" in lowered.as_text("program")
    compiled = lowered.compile()
    same(compiled(X), np.stack([np.sin(X).sum(0)] * 4))
    assert compiled.cost_analysis()["flops"] > 0
    refused(ValueError, lambda: compiled(X[:2]), "float32[4,3]", "float32[2,3]")
    assert jax.eval_shape(run, X) == jax.ShapeDtypeStruct((4, 3), jnp.float32)


def test_what_is_no_array():
    f = jax.pmap(lambda x, opts: x)
    refused(TypeError, lambda: f(X, {"mode": "fast"}), "pmap", "opts['mode']", "str")
    refused(TypeError, lambda: jax.pmap(lambda x: {"k": object()})(X), "result['k']", "object")
    refused(TypeError, lambda: jax.pmap(lambda x: print)(X), "result")
    with pytest.raises(ZeroDivisionError):
        jax.pmap(lambda x: 1 / 0)(X)
    with pytest.raises(TypeError, match=r"missing|argument"):
        jax.pmap(lambda x, y: x)(X)
    same(f(X, X), X)


def test_leaks_are_named():
    kept: list[Any] = []
    jax.pmap(lambda x: kept.append(x * 2) or x)(X)
    text = message(RuntimeError, lambda: kept[0] + 1)
    assert "pmap of <lambda>" in text and "test_pmap.py" in text


def test_platforms_that_are_not_there():
    for backend in ("gpu", "tpu", "abacus"):
        with pytest.raises(BackendError) as caught:
            jax.pmap(lambda x: x, backend=backend)(np.ones(2))
        assert "pmap: " in str(caught.value) and repr(backend) in str(caught.value)
        assert "leave backend= out" in str(caught.value)

    class Other:
        platform = "cuda"

    with pytest.raises(ValueError, match=r"several platforms: cpu, cuda"):
        jax.pmap(lambda x: x, devices=[jax.devices()[0], Other()])
