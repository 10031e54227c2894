"""A dozen and a half small functions, [3] -> [m], with their values and derivatives by NumPy.

The values come from plait/testing/reference.py: every op by NumPy, nothing transformed. Derivatives
are differences of these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core import dtypes
from plait.core.program import reference as run_by_numpy
from plait.core.stage import stage
from plait.core.types import ArrayType
from plait.testing.numerics import differences
from plait.testing.reference import to_numpy

ROWS = np.array(
    [[0.5, -1.2, 0.9], [1.4, 0.3, -0.7], [-0.6, 1.1, 0.2], [0.8, -0.4, -1.5]], np.float64
)
_MATRIX = np.array([[0.3, -0.8, 0.5], [1.1, 0.2, -0.4]])


def elementwise(x):
    return jnp.sin(x) * jnp.cos(x) + jnp.tanh(x) * x**3


def product(x):
    return jnp.tanh(_MATRIX @ x) * jnp.sum(x)


def softmax(x):
    y = jnp.exp(x - jnp.max(x))
    return y / jnp.sum(y) + jnp.log1p(x * x)


def choice(x):
    return jnp.where(x > 0, x**2, jnp.abs(x) * 0.5) + jnp.maximum(x, -0.3) * jnp.clip(x, -1.0, 1.3)


def sorted_sums(x):
    return jnp.cumsum(jnp.sort(x)) * jnp.cumprod(x) + jnp.prod(x)


def moved(x):
    y = jnp.concatenate([x[::-1], x[:2]])[jnp.array([4, 0, 0, 2])]
    y = y.at[jnp.array([1, 1])].add(x[:2]).at[3].multiply(x[2])
    return lax.dynamic_slice(y * y, (jnp.argmax(x),), (2,))


def fixed_rounds(x):
    return lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) + 0.1 * i * x, x)


def scanned(x):
    def body(carry, row):
        carry = jnp.tanh(carry * x + row)
        return carry, jnp.sum(carry)

    last, sums = lax.scan(body, x, jnp.stack([x, 2 * x, x * x]), reverse=True)
    return last * sums


def branched(x):
    y = lax.cond(jnp.sum(x) > 0, lambda x: jnp.sin(x) * x, lambda x: x**2, x)
    return lax.switch(jnp.argmin(x), [jnp.cos, jnp.sin, lambda x: x], y)


def own_jvp(x):
    @jax.custom_jvp
    def f(x, k):
        return jnp.sin(k * x)

    @f.defjvp
    def _(primals, tangents):
        (x, k), (tx, tk) = primals, tangents
        return f(x, k), jnp.cos(k * x) * (k * tx + tk * x)

    return f(x, 2.0) + f(x * x, x)


def own_vjp(x):
    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    def forward(x, y):
        return f(x, y), (x, y)

    def backward(saved, ct):
        x, y = saved
        return ct * jnp.cos(x) * y, ct * jnp.sin(x)

    f.defvjp(forward, backward)
    return f(x, x * x) + f(jnp.full(3, 1.5), x)


def recomputed(x):
    @jax.checkpoint
    def layer(x):
        return jnp.tanh(_MATRIX @ jnp.sin(x))

    return layer(x) * jnp.sum(x)


def compiled(x):
    @jax.jit
    def layer(x, y):
        return {"a": jnp.sin(x) * y, "b": jnp.sum(y)}

    first = layer(x, x)
    return first["a"] * layer(first["a"], x)["b"]


def mapped(x):
    return jax.vmap(lambda a, y: jnp.tanh(a * y), in_axes=(0, None), out_axes=1)(x, x).sum(0)


def mapped_with_name(x):
    def f(y):
        return jnp.sin(y) * lax.psum(y * y, "inside") + lax.axis_index("inside")

    return jax.vmap(f, axis_name="inside")(x)


def spread(x):
    def f(y):
        return jnp.sin(y) * lax.pmean(y**2, "device")

    return jnp.sum(jax.pmap(f, axis_name="device")(jnp.stack([x, 2 * x])), 0)


def differentiated(x):
    return jax.grad(lambda y: jnp.sum(jnp.sin(y * x) * y))(x * 0.5)


def pushed(x):
    return jax.jvp(lambda y: jnp.exp(jnp.sin(y)), (x,), (x * x,))[1]


def pulled(x):
    y, pull = jax.vjp(lambda y: jnp.outer(jnp.sin(y), y), x)
    return pull(y)[0]


class Function(NamedTuple):
    """A function and what can be done with it."""

    f: Callable[[Any], Any]
    forward: bool = True  # custom_vjp has no forward mode

    def __str__(self) -> str:
        return self.f.__name__

    def loss(self, x: Any) -> Any:
        """A scalar of which every element of the result is part."""
        y = self.f(x)
        return jnp.sum(y * jnp.cos(jnp.arange(y.size, dtype=y.dtype)) + 0.1 * y * y)


FUNCTIONS = [
    Function(elementwise),
    Function(product),
    Function(softmax),
    Function(choice),
    Function(sorted_sums),
    Function(moved),
    Function(fixed_rounds),
    Function(scanned),
    Function(branched),
    Function(own_jvp),
    Function(own_vjp, forward=False),
    Function(recomputed),
    Function(compiled),
    Function(mapped),
    Function(mapped_with_name),
    Function(spread),
    Function(differentiated),
    Function(pushed),
    Function(pulled),
]


class Known(NamedTuple):
    """What a function is at each of ROWS: value, Jacobian; loss, its gradient and Hessian."""

    value: np.ndarray
    jacobian: np.ndarray
    loss: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray


@functools.cache
def known(function: Function) -> Known:
    """Everything in double precision, by NumPy and differences."""
    with jax.enable_x64():
        value = _by_numpy(function.f)
        loss = _by_numpy(function.loss)
        columns = np.eye(3)

        def slope(f: Any, x: Any, k: int, step: float | None = None) -> np.ndarray:
            return differences(lambda x: [f(x)], [x], [columns[k]], step)[0]

        def slopes(f: Any, x: Any) -> np.ndarray:
            return np.stack([slope(f, x, k) for k in range(3)], -1)

        def curvature(x: Any) -> np.ndarray:
            first = [lambda x, k=k: slope(loss, x, k, 1e-3) for k in range(3)]
            return np.array([[slope(f, x, k, 1e-3) for k in range(3)] for f in first])

        return Known(
            np.stack([value(x) for x in ROWS]),
            np.stack([slopes(value, x) for x in ROWS]),
            np.stack([loss(x) for x in ROWS]),
            np.stack([slopes(loss, x) for x in ROWS]),
            np.stack([curvature(x) for x in ROWS]),
        )


def _by_numpy(f: Callable[..., Any]) -> Callable[..., np.ndarray]:
    program, captured = stage(lambda x: [f(x)], [ArrayType((3,), dtypes.float64)])
    fixed = [to_numpy(x) for x in captured]
    return lambda x: run_by_numpy(program, *fixed, x)[0]
