"""The tutorial's three programs, small as printed there and large as in use.

Small ones: best of many runs, each call waited for. Large ones: median of single calls.
"""

import numpy as np

from benchmarks.registry import workload
from benchmarks.timing import best_per_call, median_of_runs


def elementwise(jax, columns, measurement):
    jnp = jax.numpy

    def wave(x):
        return jnp.sqrt(jnp.abs(jnp.tanh(jnp.sin(x) * jnp.cos(x))))

    x = jax.pmap(lambda x: x)(np.linspace(-3, 3, 2 * columns, dtype=np.float32).reshape(2, -1))
    function = jax.pmap(wave)
    return measurement(lambda: function(x).block_until_ready())


@workload("tutorial 1, elementwise, 2 x 4")
def elementwise_small(jax):
    return elementwise(jax, 4, best_per_call)


@workload("tutorial 1, elementwise, 2 x 2M", budget="1/6")
def elementwise_large(jax):
    return elementwise(jax, 2 << 20, median_of_runs)


def regression(jax, points, measurement):
    """Loss and gradient averaged over the devices; float64 NumPy data enter at every call."""
    jnp, lax = jax.numpy, jax.lax

    def loss(params, x, y):
        w, b = params
        return jnp.mean((w * x + b - y) ** 2)

    def loss_and_gradient(params, x, y):
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        return lax.pmean(value, "i"), lax.pmean(gradient, "i")

    function = jax.pmap(
        loss_and_gradient, axis_name="i", in_axes=(None, 0, 0), out_axes=(None, None)
    )
    x = np.linspace(-2.0, 2.0, 2 * points).reshape(2, -1)
    y = 2.5 * x - 1.0
    params = (jnp.array(0.5), jnp.array(0.5))
    return measurement(lambda: function(params, x, y)[0].block_until_ready())


@workload("tutorial 2, linear regression, 2 x 64")
def regression_small(jax):
    return regression(jax, 64, best_per_call)


@workload("tutorial 2, linear regression, 2 x 500k")
def regression_large(jax):
    return regression(jax, 500_000, median_of_runs)


def nested(jax, shape, measurement):
    weights = np.linspace(-1, 1, shape[-1], dtype=np.float32)

    def kernel(vector):
        return jax.numpy.tanh(vector * weights).sum()

    x = np.linspace(-1, 1, np.prod(shape), dtype=np.float32).reshape(shape)
    x = jax.pmap(lambda x: x)(x)
    function = jax.pmap(jax.vmap(kernel))
    return measurement(lambda: function(x).block_until_ready())


@workload("tutorial 3, pmap(vmap), 2 x 3 x 4")
def nested_small(jax):
    return nested(jax, (2, 3, 4), best_per_call)


@workload("tutorial 3, pmap(vmap), 2 x 1k x 1k")
def nested_large(jax):
    return nested(jax, (2, 1000, 1000), median_of_runs)
