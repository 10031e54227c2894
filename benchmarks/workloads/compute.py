"""Large single programs, where XLA does the work. Median of single calls, each waited for."""

import numpy as np

from benchmarks.registry import workload
from benchmarks.timing import median_of_runs

MILLIONS = 4 << 20


def measure(jax, function, *arrays):
    function = jax.jit(function)
    arrays = [jax.numpy.asarray(array) for array in arrays]
    return median_of_runs(lambda: function(*arrays).block_until_ready())


def spread(size=MILLIONS, low=-3.0, high=3.0):
    return np.linspace(low, high, size, dtype=np.float32)


@workload("random.normal, 4M", budget="1/2")
def random_normal(jax):
    key = jax.random.PRNGKey(0)
    return median_of_runs(lambda: jax.random.normal(key, (MILLIONS,)).block_until_ready())


@workload("sin, 4M", budget="1/6")
def sin(jax):
    return measure(jax, jax.numpy.sin, spread())


@workload("cos, 4M", budget="1/6")
def cos(jax):
    return measure(jax, jax.numpy.cos, spread())


@workload("power, 4M", budget="1/6")
def power(jax):
    return measure(jax, jax.numpy.power, spread(low=0.1), spread())


@workload("tanh, 4M")
def tanh(jax):
    return measure(jax, jax.numpy.tanh, spread())


@workload("exp, 4M")
def exp(jax):
    return measure(jax, jax.numpy.exp, spread())


@workload("x + y, 16M (memory bound)", budget="2/3")
def add(jax):
    return measure(jax, jax.numpy.add, spread(4 * MILLIONS), spread(4 * MILLIONS))


@workload("sum, 16M")
def total(jax):
    return measure(jax, jax.numpy.sum, spread(4 * MILLIONS))


@workload("sort, 1M")
def sort(jax):
    values = np.random.default_rng(0).normal(size=1 << 20).astype(np.float32)
    return measure(jax, jax.numpy.sort, values)


@workload("matmul, 1,024 x 1,024", budget="1")
def matmul(jax):
    square = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    return measure(jax, jax.numpy.matmul, square, square)


@workload("convolution, 16 x 56 x 56 x 64, 3 x 3", budget="1", quick=False)
def convolution(jax):
    generator = np.random.default_rng(0)
    images = generator.normal(size=(16, 56, 56, 64)).astype(np.float32)
    kernel = generator.normal(size=(3, 3, 64, 64)).astype(np.float32)

    def convolve(images, kernel):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            images, kernel, (1, 1), "SAME", dimension_numbers=numbers
        )

    return measure(jax, convolve, images, kernel)
