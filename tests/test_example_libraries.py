"""plait.example_libraries: optimizers against loops over numbers, layers against formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.example_libraries import optimizers, stax
from plait.testing import assert_close
from tests.numpy.common import by_meaning, floats, raises  # noqa: F401

by_numpy = pytest.mark.usefixtures("by_meaning")


def step(name, x, g, state, i):
    """One step for one number: (x, state), by the formulas of the papers."""
    m, s = state
    if name == "sgd":
        return x - 0.1 * g, state
    if name in ("momentum", "nesterov"):
        m = 0.9 * m + g
        return x - 0.1 * (m if name == "momentum" else 0.9 * m + g), (m, s)
    if name in ("adagrad", "sm3"):
        s += g * g
        m = 0.1 * g / math.sqrt(s) + 0.9 * m
        return x - 0.1 * m, (m, s)
    if name.startswith("rmsprop"):
        s = 0.9 * s + 0.1 * g * g
        move = 0.1 * g / math.sqrt(s + 1e-8)
        m = 0.9 * m + move
        return x - (m if name.endswith("momentum") else move), (m, s)
    m = 0.1 * g + 0.9 * m
    s = max(0.999 * s, abs(g)) if name == "adamax" else 0.001 * g * g + 0.999 * s
    root = s if name == "adamax" else math.sqrt(s / (1 - 0.999 ** (i + 1)))
    return x - 0.1 * m / (1 - 0.9 ** (i + 1)) / (root + 1e-8), (m, s)


NAMES = "sgd momentum nesterov adagrad rmsprop rmsprop_momentum adam adamax sm3".split()


@by_numpy
@pytest.mark.parametrize("name", NAMES)
def test_optimizers(name):
    args = (0.1, 0.9) if name in ("momentum", "nesterov") else (0.1,)
    init, update, params = getattr(optimizers, name)(*args)
    state = init({"a": np.float32([2.0]), "b": [np.float32([-1.0])]})
    numbers = {"a": (2.0, (0.0, 0.0)), "b": (-1.0, (0.0, 0.0))}
    for i in range(4):
        state = update(i, jax.tree.map(jnp.sin, params(state)), state)
        for k, (x, s) in numbers.items():
            numbers[k] = step(name, x, math.sin(x), s, i)
    got = params(state)
    assert_close(got["a"][0], numbers["a"][0], rtol=1e-4)
    assert_close(got["b"][0][0], numbers["b"][0], rtol=1e-4)
    again = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    assert jax.tree.structure(again) == jax.tree.structure(state)
    assert_close(jax.tree.leaves(again), jax.tree.leaves(state))


@by_numpy
def test_sm3_of_a_matrix_keeps_sums_of_rows_and_columns():
    init, update, params = optimizers.sm3(1.0, momentum=0.0)
    g = np.float32([[3, 0], [1, 2]])
    state = update(0, g, init(np.zeros((2, 2), np.float32)))
    assert_close(params(state), -np.sign(g))
    # The second time: rows hold 9, 4, columns 9, 4, and the smaller one counts.
    state = update(1, g, state)
    sums = np.minimum(np.float32([[9], [4]]), np.float32([[9, 4]])) + g**2
    assert_close(params(state), -np.sign(g) - g / np.sqrt(sums))


@by_numpy
def test_schedules_and_norms():
    assert optimizers.make_schedule(optimizers.constant(2.0))(7) == 2.0
    assert optimizers.exponential_decay(1.0, 10, 0.5)(20) == 0.25
    assert optimizers.inverse_time_decay(1.0, 2, 0.5, staircase=True)(3) == 1 / 1.5
    assert_close(optimizers.inverse_time_decay(1.0, 2, 0.5)(3), 1 / 1.75)
    assert_close(optimizers.polynomial_decay(1.0, 4, 0.2, 2.0)(2), np.float32(0.4))
    assert_close(optimizers.polynomial_decay(1.0, 4, 0.2)(9), np.float32(0.2))
    steps = optimizers.piecewise_constant([1, 3], [5.0, 6.0, 7.0])
    assert [float(steps(i)) for i in range(5)] == [5, 5, 6, 6, 7]
    tree = {"a": np.float32([3]), "b": np.float32(4)}
    assert_close(optimizers.l2_norm(tree), np.float32(5))
    assert_close(optimizers.clip_grads(tree, 2.5)["b"], np.float32(2))
    assert_close(optimizers.clip_grads(tree, 9)["b"], np.float32(4))


def test_a_network():
    net = stax.serial(
        stax.Conv(4, (3, 3), padding="SAME"),
        stax.BatchNorm(),
        stax.MaxPool((2, 2), (2, 2)),
        stax.FanOut(2),
        stax.parallel(stax.Identity, stax.serial(stax.Relu, stax.ConvTranspose(4, (1, 1)))),
        stax.FanInConcat(),
        stax.AvgPool((2, 2), padding="SAME"),
        stax.Flatten,
        stax.Dropout(0.5),
        stax.shape_dependent(lambda shape: stax.Dense(shape[-1] // 8)),
        stax.LogSoftmax,
    )
    init, apply = net
    shape, params = init(jax.random.key(0), (-1, 4, 6, 3))
    x = floats(2, 4, 6, 3)
    y = apply(params, x, rng=jax.random.key(1))
    assert shape[1:] == y.shape[1:] == (6,)
    assert_close(jnp.exp(y).sum(-1), np.ones(2, np.float32))
    with raises(ArgumentError, "needs random numbers"):
        apply(params, x)


def test_layers():
    x = floats(3, 4)
    init, apply = stax.Dense(2)
    _, (w, b) = init(jax.random.key(0), x.shape)
    assert_close(apply((w, b), x), x @ np.asarray(w) + np.asarray(b))
    init, apply = stax.BatchNorm(0)
    y = apply(init(jax.random.key(0), x.shape)[1], x)
    assert_close(y, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), rtol=1e-4)
    y = stax.FanInSum[1]((), [x, 2 * x])
    assert_close(y, 3 * x)
    ones = np.ones((4, 1000), np.float32)
    dropped = stax.Dropout(0.8)[1]((), ones, rng=jax.random.key(0))
    assert set(np.unique(dropped).tolist()) == {0.0, 1.25}
    assert abs(float(dropped.mean()) - 1) < 0.05
    pooled = stax.AvgPool((2,), padding="SAME")[1]((), x[..., None])
    assert_close(pooled[:, -1, 0], x[:, -1])
    assert_close(stax.SumPool((2,), spec="NCW")[1]((), x[:, None])[:, 0], x[:, 1:] + x[:, :-1])


def test_errors():
    init, update, _ = optimizers.sgd(0.1)
    with raises(ArgumentTypeError, "another structure than the parameters"):
        update(0, [1.0], init({"a": 1.0}))
    with raises(ArgumentTypeError, "every leaf must be a JoinPoint"):
        optimizers.pack_optimizer_state([1.0])
    with raises(ArgumentError, "one value more than boundaries"):
        optimizers.piecewise_constant([1, 2], [1.0, 2.0])
    with raises(ArgumentTypeError, "a number or a function of the step"):
        optimizers.make_schedule(np.ones(2))
    with raises(ShapeError, "need as many inputs"):
        stax.parallel(stax.Relu, stax.Relu)[1]([(), ()], [1.0])
