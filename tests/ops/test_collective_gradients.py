"""Collectives inside derivatives, by the numbers that people reported."""

from __future__ import annotations

import numpy as np

import plait as jax
from plait.ops import collective as lax
from plait.ops.arithmetic import convert_element_type, div, mul, sub
from plait.ops.axes import reduce_sum


def test_gradients_of_psum_follow_pmap():
    def cost(w, x):
        return lax.psum(mul(mul(w, w), x), "i")

    a, w = np.float32([1.0, 4.0]), np.float32(3.0)
    slope = jax.grad(cost)
    for f in (
        jax.pmap(slope, "i", in_axes=(None, 0)),
        jax.vmap(slope, (None, 0), axis_name="i"),
    ):
        np.testing.assert_allclose(f(w, a), [12.0, 48.0])
    pushed = jax.pmap(
        lambda w, x: jax.jvp(lambda w: cost(w, x), (w,), (np.float32(1.0),))[1],
        "i",
        in_axes=(None, 0),
    )
    np.testing.assert_allclose(pushed(w, a), [30.0, 30.0])


def test_gradients_of_psum_from_outside():
    def p(w, **options):
        def f(w, x):
            y = mul(w, x)
            return lax.psum(mul(y, y), "i")

        return jax.pmap(f, "i", in_axes=(None, 0), **options)(w, np.float32([1.0, 2.0]))

    w = np.float32(3.0)
    assert float(jax.grad(lambda w: reduce_sum(p(w), (0,)))(w)) == 60.0
    assert float(jax.grad(lambda w: p(w, out_axes=None))(w)) == 30.0


def test_gradient_of_all_gather():
    def f(v):
        return reduce_sum(mul(lax.all_gather(v, "i"), np.float32([1.0, 10.0])), (0,))

    np.testing.assert_allclose(jax.pmap(jax.grad(f), "i")(np.float32([1.0, 2.0])), [2.0, 20.0])


def test_derivative_through_pmax_that_is_not_wanted():
    # As softmax has it: the shift by the maximum has no derivative of its own.
    def f(x):
        shift = convert_element_type(lax.pmax(x, "i"), np.int32)
        return sub(x, convert_element_type(shift, np.float32))

    y = jax.pmap(jax.grad(f), "i")(np.float32([0.0, 1.0]))
    np.testing.assert_allclose(y, [1.0, 1.0])


def test_a_mean_of_a_quotient():
    x = np.float32([1.0, 3.0])
    y = jax.pmap(lambda x: div(x, lax.psum(x, "i")), "i")(x)
    np.testing.assert_allclose(y, [0.25, 0.75])
