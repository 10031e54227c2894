"""Taylor series: against Taylor's theorem, products of series, and numbers stored from JAX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.experimental.jet import jet


def test_numbers_are_those_of_jax():
    cases = (
        (jnp.sin, (0.5,), ((1.0, 2.0, 3.0),), (0.47942555, 0.87758255, 1.2757394, -1.1213907)),
        (
            lambda x, y: x * y / (1 + x),
            (0.5, 2.0),
            ((1.0, 0.0, 0.0), (0.0, 1.0, 2.0)),
            (0.6666667, 0.88888884, -0.85185206, 4.3703732),
        ),
        (
            lambda x: jnp.exp(jnp.sin(x)) ** 2,
            (np.float32(0.3),),
            ((1.0, 0.0, 0.0),),
            (1.8058662, 3.4504197, 5.5252857, 3.027918),
        ),
    )
    for f, primals, series, wanted in cases:
        y, terms = jet(f, primals, series)
        np.testing.assert_allclose(np.array([y, *terms]), wanted, rtol=1e-5)
        compiled = jax.jit(lambda p, s, f=f: jet(f, p, s))(primals, series)
        np.testing.assert_allclose(np.array([compiled[0], *compiled[1]]), wanted, rtol=1e-5)
    y, terms = jet(jnp.sin, (0.5,), ((1.0, 2.0, 3.0),), factorial_scaled=False)
    wanted = [0.47942555, 0.87758255, 1.5154524, 1.5276327]
    np.testing.assert_allclose(np.array([y, *terms]), wanted, rtol=1e-5)


def test_the_series_is_the_function_nearby():
    with jax.enable_x64(True):
        x, a, b = np.array([0.3, 0.7]), np.array([1.0, -2.0]), np.array([0.5, 3.0])

        def f(p):
            return jnp.tanh(p["x"]) * jnp.exp(p["y"].sum()), jnp.cumsum(p["x"] ** 3)

        zero = np.zeros(2)
        start = {"x": x, "y": b}
        terms = [{"x": a, "y": b}, {"x": b, "y": zero}, {"x": zero, "y": a}]
        value, series = jet(f, (start,), (terms,))
        assert [len(s) for s in series] == [3, 3]
        for t in (1e-2, 2e-2):
            point = {
                k: start[k] + sum(d[k] * t**n / math.factorial(n) for n, d in enumerate(terms, 1))
                for k in start
            }
            for k, y in enumerate(f(point)):
                taylor = value[k] + sum(
                    s * t**n / math.factorial(n) for n, s in enumerate(series[k], 1)
                )
                np.testing.assert_allclose(taylor, y, atol=3e3 * t**4)
                cut = taylor - series[k][2] * t**3 / 6
                assert np.abs(cut - y).max() > 30 * np.abs(taylor - y).max()


def test_order_zero_and_constants():
    assert jet(jnp.sin, (0.0,), ((),)) == (0.0, [])
    assert jet(lambda x: 3.0, (1.0,), ((1.0, 2.0),)) == (3.0, [0.0, 0.0])


def test_rows_and_derivatives_of_series():
    x = np.array([0.1, 0.2], np.float32)
    rows = jax.vmap(lambda x: jet(jnp.sin, (x,), ((1.0, 0.0),))[1][1])(x)
    np.testing.assert_allclose(rows, -np.sin(x), rtol=1e-5)
    slope = jax.grad(lambda x: jet(jnp.sin, (x,), ((1.0, 0.0),))[1][1])(0.1)
    np.testing.assert_allclose(slope, -np.cos(0.1), rtol=1e-5)


def test_mistakes():
    mistakes: list[Any] = [
        (0.5, ((1.0,),), ArgumentTypeError),
        ((0.5,), 1.0, ArgumentTypeError),
        ((0.5,), (), ArgumentError),
        ((0.5, 1.0), ((1.0, 2.0), (1.0,)), ArgumentError),
        ((0.5,), ((np.ones(2),),), ShapeError),
        ((1,), ((1,),), DtypeError),
        ((0.5,), ((1j,),), DtypeError),
        (({"a": 0.5},), (({"b": 0.5},),), ArgumentTypeError),
        (("x",), ((1.0,),), ArgumentTypeError),
    ]
    for primals, series, error in mistakes:
        with pytest.raises(error, match="jet"):
            jet(jnp.sin, primals, series)
