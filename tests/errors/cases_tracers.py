"""Traced values where Python wants numbers, and after their transformation has ended."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp

X = np.float32([1, 4])


def relu_by_hand(v):
    return v if v > 0 else -v


def count_by_hand(v):
    while v < 3:
        v = v + 1
    return v


def deep_by_hand(params):
    if params["layers"][1]["b"].sum() > 0:
        return params["layers"][0]
    return params["layers"][1]["b"]


def many_by_hand(a, b, c, d, e, f):
    assert a + b + c + d + e + f > 0
    return a


def leaked_from(transform: Any, x: Any = X) -> Any:
    kept: list[Any] = []

    def leaky(x):
        y = x * 2
        kept.append(y)
        return y.sum()

    transform(leaky)(x)
    return kept[0]


def leaked_argument() -> Any:
    kept: list[Any] = []
    jax.jit(lambda x: kept.append(x) or x)(X)
    return kept[0]


CASES: dict[str, Any] = {
    "jit: a branch": lambda: jax.jit(relu_by_hand)(1.0),
    "pmap: a branch": lambda: jax.pmap(relu_by_hand)(X),
    "vmap: a branch": lambda: jax.vmap(relu_by_hand)(X),
    "grad of jit: a branch": lambda: jax.grad(jax.jit(relu_by_hand))(1.0),
    "jit: a while loop": lambda: jax.jit(count_by_hand)(1.0),
    "jit: a branch on a leaf": lambda: jax.jit(deep_by_hand)({"layers": [X, {"b": X}]}),
    "jit: an assertion on many": lambda: jax.jit(many_by_hand)(*range(6)),
    "scan: a branch": lambda: jax.lax.scan(lambda c, t: (relu_by_hand(c), t), 1.0, X),
    "jit: range": lambda: jax.jit(lambda n: list(range(n)))(3),
    "jit: int": lambda: jax.jit(lambda n: jnp.zeros(int(n)))(3),
    "jit: a shape": lambda: jax.jit(lambda n: jnp.zeros((n, 2)))(3),
    "jit: float": lambda: jax.jit(lambda x: float(x))(3.0),
    "jit: complex": lambda: jax.jit(lambda x: complex(x))(3.0),
    "jit: item": lambda: jax.jit(lambda x: x.item())(3.0),
    "jit: tolist": lambda: jax.jit(lambda x: x.tolist())(X),
    "jit: NumPy": lambda: jax.jit(lambda x: np.sin(x))(X),
    "jit: numpy.asarray": lambda: jax.jit(lambda x: np.asarray(x))(X),
    "jit: a format": lambda: jax.jit(lambda x: f"{x:.2f}")(1.0),
    "jit: a key of a dict": lambda: jax.jit(lambda x: {x: 1})(1.0),
    "jit: the length of a scalar": lambda: jax.jit(lambda x: len(x))(1.0),
    "jit: a mask": lambda: jax.jit(lambda x: x[x > 2])(X),
    "jit: nonzero": lambda: jax.jit(jnp.nonzero)(X),
    "jit: a list index": lambda: jax.jit(lambda n: [1, 2][n])(1),
    "pmap: NumPy": lambda: jax.pmap(lambda x: np.sin(x))(X),
    "leak: from jit": lambda: leaked_from(jax.jit) + 1,
    "leak: from pmap": lambda: leaked_from(jax.pmap) + 1,
    "leak: from vmap": lambda: leaked_from(jax.vmap) + 1,
    "leak: from grad": lambda: jax.jit(lambda y: y + leaked_from(jax.grad))(X),
    "leak: of an argument": lambda: leaked_argument() + 1,
    "leak: into jit": lambda: jax.jit(lambda y: y + leaked_from(jax.jit))(X),
    "leak: out of jit": lambda: jax.jit(lambda y: leaked_from(jax.jit))(X),
    "leak: as an argument": lambda: jax.jit(lambda y: y)(leaked_from(jax.jit)),
    "leak: into pmap": lambda: jax.pmap(lambda y: y + leaked_from(jax.jit))(X),
    "leak: to NumPy": lambda: np.asarray(leaked_from(jax.jit)),
    "leak: a branch": lambda: bool(leaked_from(jax.jit)[0] > 0),
}
