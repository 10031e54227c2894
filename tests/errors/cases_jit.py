"""Mistakes with jit, its arguments, compiled functions, donation, and switches."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp

X = np.float32([1, 2, 3])


def f(x, n):
    return x


def endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def compiled() -> Any:
    return jax.jit(lambda x, k: {"y": x * k["s"]}).lower(X, {"s": X}).compile()


def given_away(transform: Any = jax.jit) -> Any:
    def step(x):
        return x + 1

    x = jax.jit(lambda: jnp.ones((2, 3)))()
    transform(step, donate_argnums=0)(x)
    return x


def adding(y: Any) -> Any:
    return lambda x: x + y


def deleted() -> Any:
    x = jnp.ones(3) * 2
    x.delete()
    return x


def twice() -> Any:
    x = jnp.ones((2, 3)) * 2
    return jax.pmap(lambda a, b: a + b["k"][0], donate_argnums=0)(x, {"k": [x]})


def nan(run: Any, *args: Any) -> Any:
    with jax.debug_nans(True):
        return run(*args)


def infinity(run: Any, *args: Any) -> Any:
    with jax.debug_infs(True):
        return run(*args)


CASES: dict[str, Any] = {
    "jit: not a function": lambda: jax.jit(3),
    "jit: an array": lambda: jax.jit(X),
    "jit: a generator": lambda: jax.jit(lambda x: (yield x)),
    "jit: a text among arguments": lambda: jax.jit(f)({"mode": ["fast"]}, 1),
    "jit: an object among arguments": lambda: jax.jit(lambda self: 1)(object),
    "jit: texts in NumPy": lambda: jax.jit(f)(np.array(["a"]), 1),
    "jit: a text is returned": lambda: jax.jit(lambda x: {"a": (x, "text")})(X),
    "jit: a function is returned": lambda: jax.jit(lambda x: f)(X),
    "jit: a container that holds itself": lambda: jax.jit(lambda x: x)(endless()),
    "jit: a dict whose keys cannot be sorted": lambda: jax.jit(lambda x: x)({1: X, "a": X}),
    "jit: a container that holds itself is returned": lambda: jax.jit(lambda x: endless())(X),
    "jit: a static argument that is not there": lambda: jax.jit(f, static_argnums=2),
    "jit: a negative static argument that is not there": lambda: jax.jit(f, static_argnums=-3),
    "jit: a static name that is not there": lambda: jax.jit(f, static_argnames=("n", "m")),
    "jit: static_argnums is a name": lambda: jax.jit(f, static_argnums="n"),
    "jit: static_argnums is a float": lambda: jax.jit(f, static_argnums=1.0),
    "jit: static_argnames is a number": lambda: jax.jit(f, static_argnames=1),
    "jit: a static argument that is an array": lambda: jax.jit(f, static_argnums=1)(X, X),
    "jit: a static argument that is a dict": lambda: jax.jit(f, static_argnums=1)(X, n={}),
    "jit: a static argument that is traced": lambda: jax.jit(
        lambda n: jax.jit(f, static_argnums=1)(X, n)
    )(3),
    "jit: static and donated": lambda: jax.jit(f, static_argnums=0, donate_argnums=(0, 1)),
    "jit: a donated argument that is not there": lambda: jax.jit(f, donate_argnums=2),
    "eval_shape: not a function": lambda: jax.eval_shape(3),
    "eval_shape: a text": lambda: jax.eval_shape(f, "text", 1),
    "ShapeDtypeStruct: no dtype": lambda: jax.ShapeDtypeStruct((2,), None),
    "ShapeDtypeStruct: a negative size": lambda: jax.ShapeDtypeStruct((-2,), "float32"),
    "ShapeDtypeStruct: a shape that is none": lambda: jax.ShapeDtypeStruct("ab", "float32"),
    "make_jaxpr: not a function": lambda: jax.make_jaxpr(3),
    "lower: a dialect that is not there": lambda: jax.jit(lambda x: x).lower(X).as_text("mhlo"),
    "compiled: another structure": lambda: compiled()(X),
    "compiled: another shape": lambda: compiled()(X, {"s": X[:2]}),
    "compiled: another dtype": lambda: compiled()(X, {"s": np.int32([1, 2, 3])}),
    # arrays that were given away
    "donated: an operator": lambda: given_away() + 1,
    "donated: an argument": lambda: jax.jit(lambda a, state: a)(1.0, {"w": [given_away()]}),
    "donated: by pmap": lambda: given_away(jax.pmap) + 1,
    "donated: to pmap again": lambda: jax.pmap(lambda a: a)(given_away(jax.pmap)),
    "donated: NumPy": lambda: np.asarray(given_away()),
    "donated: captured": lambda: jax.jit(adding(given_away()))(np.float32(1)),
    "donated: deleted": lambda: deleted() + 1,
    "donated: twice in a call": twice,
    # NaN
    "debug_nans: jit": lambda: nan(jax.jit(lambda x: jnp.log(x - 2) * 2), X),
    "debug_nans: an operator": lambda: nan(lambda x: jnp.zeros(2) / x, jnp.zeros(2)),
    "debug_nans: pmap": lambda: nan(jax.pmap(lambda x: jnp.sqrt(x - 1.5) + 1), X),
    "debug_infs: jit": lambda: infinity(jax.jit(lambda x: 1 / (x - 1)), X),
    # switches
    "config: a switch that is not there": lambda: jax.config.update("jax_enable_x46", True),
    "config: a number for a switch": lambda: jax.config.update("enable_x64", 1),
    "config: a choice that is not there": lambda: jax.config.update("pmap_form", "fast"),
    "config: devices that have started": lambda: jax.config.update("num_cpu_devices", 3),
    "config: no number of devices": lambda: jax.config.update("num_cpu_devices", 0),
    "config: reading what is not there": lambda: jax.config.nothing,
    "promotion: strict": lambda: _strict(),
    "promotion: ranks": lambda: _ranks(),
}


def _strict() -> Any:
    with jax.numpy_dtype_promotion("strict"):
        return jnp.ones(2) + jnp.ones(2, jnp.int32)


def _ranks() -> Any:
    with jax.numpy_rank_promotion("raise"):
        return jnp.ones(2) + jnp.ones((3, 2))
