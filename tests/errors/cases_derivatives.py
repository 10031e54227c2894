"""Mistakes with grad, jvp, vjp, linearize, Jacobians, checkpoint and functions with rules."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.custom_derivatives import linear_call
from plait.experimental.jet import jet

X = np.float32([1, 2, 3])
N = np.int32([1, 2, 3])


def over(r, x):
    return x / r


def loss(w, x):
    return (w * x).sum()


def vector(x):
    return x * 2


def pair(x):
    return x.sum(), x


def with_jvp(rule: Any) -> Any:
    @jax.custom_jvp
    def f(x):
        return {"y": x * 2}

    f.defjvp(rule)
    return jax.jvp(jax.jit(f), (X,), (X,))


def with_vjp(forward: Any, back: Any) -> Any:
    @jax.custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(forward, back)
    return jax.jit(lambda x: jax.vjp(f, x, X)[1](X))(X)


def bare(kind: Any) -> Any:
    @kind
    def f(x):
        return x

    return f(X)


def pulled(ct: Any) -> Any:
    return jax.vjp(lambda x: {"y": x * 2}, X)[1](ct)


CASES: dict[str, Any] = {
    "grad: a vector": lambda: jax.grad(vector)(X),
    "grad: a pair without has_aux": lambda: jax.grad(pair)(X),
    "grad: nothing": lambda: jax.grad(lambda x: None)(X),
    "grad: an integer": lambda: jax.grad(lambda x: (x > 0).sum())(X),
    "grad: a complex number": lambda: jax.grad(lambda x: x.sum() * 1j)(X),
    "grad: a text": lambda: jax.grad(lambda x: "text")(X),
    "grad: no pair with has_aux": lambda: jax.grad(vector, has_aux=True)(X),
    "grad: integers": lambda: jax.grad(loss)(N, X),
    "grad: booleans in a tree": lambda: jax.grad(lambda p: 1.0)({"w": X, "on": True}),
    "grad: an argument that is not there": lambda: jax.grad(loss, 2)(X, X),
    "grad: passed by name": lambda: jax.grad(loss)(w=X, x=X),
    "grad: argnums is a name": lambda: jax.grad(loss, "w"),
    "grad: argnums is a float": lambda: jax.grad(loss, 0.5),
    "grad: not a function": lambda: jax.grad(X),
    "grad: a text among arguments": lambda: jax.grad(loss)("text", X),
    "grad: a real argument, holomorphic": lambda: jax.grad(loss, holomorphic=True)(X, X),
    "grad: a real result, holomorphic": lambda: jax.grad(
        lambda z: jnp.abs(z).sum(), holomorphic=True
    )(X * 1j),
    "grad: reduce_axes": lambda: jax.grad(loss, reduce_axes=("i",)),
    "value_and_grad: a vector": lambda: jax.value_and_grad(vector)(X),
    "grad: through a while loop": lambda: jax.grad(
        lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * x, 1.0)
    )(3.0),
    "jvp: no tuple": lambda: jax.jvp(vector, X, X),
    "jvp: tangents that are no tuple": lambda: jax.jvp(vector, (X,), X),
    "jvp: another structure": lambda: jax.jvp(vector, (X,), (X, X)),
    "jvp: another shape": lambda: jax.jvp(vector, (X,), (X[:2],)),
    "jvp: text as a tangent": lambda: jax.jvp(vector, (X,), ("x",)),
    "jvp: another dtype": lambda: jax.jvp(vector, (X,), (N,)),
    "jvp: a tangent of an integer": lambda: jax.jvp(loss, (X, N), (X, N)),
    "jvp: float0 for a float": lambda: jax.jvp(vector, (X,), (np.zeros(3, jax.dtypes.float0),)),
    "jvp: a text": lambda: jax.jvp(vector, ("text",), (X,)),
    "vjp: another structure": lambda: pulled(X),
    "vjp: another shape": lambda: pulled({"y": X[:2]}),
    "vjp: another dtype": lambda: pulled({"y": N}),
    "vjp: two cotangents": lambda: jax.vjp(vector, X)[1](X, X),
    "vjp: a text": lambda: jax.vjp(vector, "text"),
    "vjp: not a function": lambda: jax.vjp(3, X),
    "linearize: two tangents": lambda: jax.linearize(vector, X)[1](X, X),
    "linearize: another shape": lambda: jax.linearize(vector, X)[1](X[:2]),
    "linear_transpose: not linear": lambda: jax.linear_transpose(jnp.sin, X)(X),
    "linear_transpose: of integers": lambda: jax.linear_transpose(vector, N),
    "jacfwd: integers": lambda: jax.jacfwd(vector)(N),
    "jacfwd: a boolean result": lambda: jax.jacfwd(lambda x: x > 0)(X),
    "jacfwd: a complex argument": lambda: jax.jacfwd(jnp.abs)(1 + 1j),
    "jacrev: a complex result": lambda: jax.jacrev(lambda x: x * 1j)(X),
    "jacrev: an argument that is not there": lambda: jax.jacrev(vector, 1)(X),
    "hessian: a text": lambda: jax.hessian(vector)("text"),
    "checkpoint: a text among arguments": lambda: jax.checkpoint(vector)("text"),
    "checkpoint: a static argument that is not there": lambda: jax.checkpoint(
        vector, static_argnums=3
    )(X),
    "checkpoint: a static argument that is a list": lambda: jax.checkpoint(loss, static_argnums=1)(
        X, [1]
    ),
    "custom_jvp: no rule": lambda: bare(jax.custom_jvp),
    "custom_jvp: not a function": lambda: jax.custom_jvp(3),
    "custom_jvp: a rule that returns no pair": lambda: with_jvp(lambda xs, ts: xs[0]),
    "custom_jvp: a rule of another structure": lambda: with_jvp(
        lambda xs, ts: ((xs[0], xs[0]), (ts[0], ts[0]))
    ),
    "custom_jvp: a tangent of another structure": lambda: with_jvp(
        lambda xs, ts: ({"y": xs[0]}, {"z": ts[0]})
    ),
    "custom_jvp: a tangent of another shape": lambda: with_jvp(
        lambda xs, ts: ({"y": xs[0]}, {"y": ts[0][:2]})
    ),
    "custom_jvp: a tangent that is a text": lambda: with_jvp(
        lambda xs, ts: ({"y": xs[0]}, {"y": "text"})
    ),
    "linear_call: by residuals": lambda: jax.grad(lambda r: linear_call(over, over, r, 2.0))(3.0),
    "linear_call: another shape": lambda: linear_call(over, lambda r, ct: X, 4.0, 8.0),
    "linear_call: another structure": lambda: linear_call(over, lambda r, ct: (ct, ct), 4.0, 8.0),
    "linear_call: text": lambda: linear_call(over, over, 4.0, "x"),
    "jet: one number": lambda: jet(jnp.sin, 0.5, ((1.0,),)),  # type: ignore[arg-type]
    "jet: lengths": lambda: jet(lambda x, y: x, (0.5, 1.0), ((1.0, 2.0), (1.0,))),
    "jet: a shape": lambda: jet(jnp.sin, (0.5,), ((X,),)),
    "jet: an integer": lambda: jet(jnp.sin, (1,), ((1,),)),
    "jet: a complex derivative": lambda: jet(jnp.sin, (0.5,), ((1j,),)),
    "jet: a structure": lambda: jet(jnp.sin, ({"a": 0.5},), (({"b": 0.5},),)),
    "jet: text": lambda: jet(jnp.sin, ("x",), ((1.0,),)),  # type: ignore[arg-type]
    "custom_vjp: no rules": lambda: bare(jax.custom_vjp),
    "custom_vjp: forward returns no pair": lambda: with_vjp(lambda x, y: x, lambda r, ct: (ct, ct)),
    "custom_vjp: forward of another structure": lambda: with_vjp(
        lambda x, y: ({"z": x}, ()), lambda r, ct: (ct, ct)
    ),
    "custom_vjp: back returns no tuple": lambda: with_vjp(
        lambda x, y: (x * y, ()), lambda r, ct: ct
    ),
    "custom_vjp: back returns too few": lambda: with_vjp(
        lambda x, y: (x * y, ()), lambda r, ct: (ct,)
    ),
    "custom_vjp: back of another shape": lambda: with_vjp(
        lambda x, y: (x * y, ()), lambda r, ct: (ct[:2], ct)
    ),
    "custom_vjp: forward mode": lambda: jax.jvp(_doubled(), (X,), (X,)),
    "custom_vjp: an argument that is not there": lambda: _doubled(nondiff_argnums=(3,))(X),
}


def _doubled(**options: Any) -> Any:
    f = jax.custom_vjp(vector, **options)
    f.defvjp(lambda x: (x * 2, ()), lambda r, ct: (ct * 2,))
    return f
