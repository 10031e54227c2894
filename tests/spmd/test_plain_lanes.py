"""pmap under disable_jit: what holds a collective gives what it gives in the compiled map."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from tests.spmd.common import same

X = np.linspace(0.5, 2.0, 4, dtype=np.float32)


@jax.custom_jvp
def with_jvp(x):
    return jnp.sin(lax.psum(x, "i")) * x


with_jvp.defjvp(lambda x, t: (with_jvp(*x), 3 * t[0] * lax.pmax(x[0], "i")))


@jax.custom_vjp
def with_vjp(x, y):
    return lax.psum(x, "i") * y


with_vjp.defvjp(
    lambda x, y: (with_vjp(x, y), (x, y)),
    lambda kept, g: (lax.psum(g * kept[1], "i"), 2 * g * kept[0]),
)


@jax.custom_gradient
def with_gradient(x):
    return lax.pmean(x * x, "i"), lambda g: 5 * g * x


def loop_of_rows(x):
    # Rows end at different times, and the condition is known to no one.
    return jax.vmap(lambda r: lax.while_loop(lambda c: c < 10, lambda c: 2 * c + 1, r))(x)


BODIES = {
    "custom_jvp": with_jvp,
    "custom_vjp": lambda x: with_vjp(x, x * x),
    "custom_gradient": with_gradient,
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(lax.psum(x * x, "i"))),
    "checkpoint made inside": lambda x: jax.checkpoint(lambda y: x * lax.psum(y * y, "i"))(x),
    "jit": jax.jit(lambda x: x * lax.psum(x, "i")),
    "scan": lambda x: lax.scan(lambda c, _: (c * lax.pmean(x, "i"), c), x, None, length=3)[0],
    "empty scan": lambda x: lax.scan(lambda c, _: (c, c), lax.psum(x, "i"), None, length=0)[0],
    "cond": lambda x: lax.cond(
        lax.psum(x, "i") > 0, lambda y: lax.pmax(y, "i") * x, lambda y: y, jnp.sin(x)
    ),
    "vmap": lambda x: jax.vmap(lambda r: lax.psum(r * x, ("i", "j")), axis_name="j")(
        jnp.arange(3.0) * x
    ).sum(),
    "vmap of while": lambda x: loop_of_rows(jnp.arange(3.0) + lax.axis_index("i")).sum() * x,
    "rules that close over": lambda x: jax.grad(lambda y: with_jvp(y) * x)(x),
}


@pytest.mark.parametrize("name", BODIES)
def test_plain_lanes_are_the_compiled_map(name):
    f = BODIES[name]
    for body in (f, jax.grad(f), jax.value_and_grad(lambda x: f(x) * lax.axis_index("i"))):
        run = jax.pmap(body, axis_name="i")
        want = run(X)
        with jax.disable_jit():
            same(run(X), want)
