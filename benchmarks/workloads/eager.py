"""One operation at a time, without jit: what exploring in a notebook feels like. Best of runs."""

from benchmarks.registry import workload
from benchmarks.timing import best_per_call


def wait(result):
    result.block_until_ready()


@workload("eager x[3]", budget="1/3")
def index(jax):
    x = jax.numpy.arange(10.0)
    return best_per_call(lambda: x[3], wait)


@workload("eager x + y")
def add(jax):
    x = jax.numpy.arange(10.0)
    return best_per_call(lambda: x + x, wait)


@workload("eager jnp.sin(x)")
def sin(jax):
    x = jax.numpy.arange(10.0)
    return best_per_call(lambda: jax.numpy.sin(x), wait)


@workload("eager jnp.mean(x, axis=0)")
def mean(jax):
    x = jax.numpy.ones((10, 10))
    return best_per_call(lambda: jax.numpy.mean(x, axis=0), wait)


@workload("eager jnp.array of a list")
def array(jax):
    return best_per_call(lambda: jax.numpy.array([1.0, 2.0, 3.0]), wait)


@workload("eager grad of a scalar function", budget="1/2")
def grad(jax):
    def function(x):
        return jax.numpy.sin(x) * x**2 + jax.numpy.exp(-x)

    gradient = jax.grad(function)
    return best_per_call(lambda: gradient(1.5), wait)


@workload("eager vmap of a small function")
def vmap(jax):
    x = jax.numpy.ones((10, 10))
    mapped = jax.vmap(lambda row: jax.numpy.sum(row * row))
    return best_per_call(lambda: mapped(x), wait)


@workload("float(x)")
def to_float(jax):
    # A new array each time, since the value of an old one is kept.
    x = jax.numpy.array(1.0)
    function = jax.jit(lambda x: x + 1)
    return best_per_call(lambda: float(function(x)))
