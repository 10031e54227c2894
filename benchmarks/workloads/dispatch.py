"""Dispatch: the price of a call whose computation costs next to nothing. Best of many runs."""

import numpy as np

from benchmarks.registry import workload
from benchmarks.timing import best_per_call

ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)


def wait(result):
    result.block_until_ready()


@workload("jit dispatch, one small array", budget="1")
def jit_dispatch(jax):
    function = jax.jit(lambda x: x + 1)
    x = jax.numpy.arange(4.0)
    return best_per_call(lambda: function(x), wait)


@workload("jit dispatch, a tree of 40 arrays")
def jit_dispatch_tree(jax):
    # As many leaves as the state of a small network and its optimiser.
    function = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree))
    tree = {
        f"layer{i}": {"kernel": jax.numpy.ones(4), "bias": jax.numpy.ones(4)} for i in range(20)
    }
    return best_per_call(lambda: function(tree), jax.block_until_ready)


@workload("pmap dispatch, 2 devices", budget="1/2")
def pmap_dispatch(jax):
    function = jax.pmap(lambda x: x + 1)
    x = function(ROWS)
    return best_per_call(lambda: function(x), wait)


@workload("pmap from NumPy inputs", budget="1/3")
def pmap_from_numpy(jax):
    function = jax.pmap(lambda x: x + 1)
    return best_per_call(lambda: function(ROWS), wait)


@workload("index a pmap result, r[0]", budget="1/20")
def index_pmap_result(jax):
    result = jax.pmap(lambda x: x + 1)(ROWS)
    return best_per_call(lambda: wait(result[0]))


@workload("read a pmap result into NumPy")
def read_pmap_result(jax):
    # A new result each time, since both libraries keep the NumPy array of an old one.
    function = jax.pmap(lambda x: x + 1)
    x = function(ROWS)
    return best_per_call(lambda: np.asarray(function(x)))


@workload("psum of a small array, waiting", budget="1/8")
def psum(jax):
    function = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
    x = jax.pmap(lambda x: x)(ROWS)
    return best_per_call(lambda: wait(function(x)))


@workload("tiny pmean step, waiting", budget="1/5")
def pmean_step(jax):
    # Gradient descent on one line, parameters unmapped, the new ones fed to the next step.
    def loss(params, x, y):
        w, b = params
        return jax.numpy.mean((w * x + b - y) ** 2)

    def step(params, x, y):
        gradient = jax.lax.pmean(jax.grad(loss)(params, x, y), "i")
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    step = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0), out_axes=None)
    x, y = jax.pmap(lambda x: (x, 2 * x + 1))(ROWS)
    state = [(jax.numpy.array(0.0), jax.numpy.array(0.0))]

    def call():
        state[0] = step(state[0], x, y)
        wait(state[0][0])

    return best_per_call(call)
