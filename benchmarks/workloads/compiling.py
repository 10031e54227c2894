"""Tracing and compiling the gradient of a 6-layer transformer.

A new function object each time, so that nothing is remembered from the time before. Tracing is
Python work of tens of milliseconds: best of several. Compiling takes seconds: the median.
"""

import numpy as np

from benchmarks.models import transformer
from benchmarks.registry import workload
from benchmarks.timing import best_per_call, median_of_runs


def model(jax):
    params, loss = transformer(jax, layers=6, width=128, heads=4, vocabulary=256, length=64)
    return params, np.zeros((4, 65), np.int32), lambda: lambda params, tokens: loss(params, tokens)


@workload("trace the gradient of a 6-layer transformer", budget="1/2")
def trace(jax):
    params, tokens, new_loss = model(jax)
    return best_per_call(lambda: jax.make_jaxpr(jax.grad(new_loss()))(params, tokens), seconds=1.0)


@workload("trace and lower it to StableHLO")
def lower(jax):
    params, tokens, new_loss = model(jax)
    return best_per_call(lambda: jax.jit(jax.grad(new_loss())).lower(params, tokens), seconds=1.0)


@workload("trace, lower and compile it", quick=False)
def compile_it(jax):
    params, tokens, new_loss = model(jax)

    def call():
        jax.jit(jax.grad(new_loss())).lower(params, tokens).compile()

    return median_of_runs(call, seconds=0.0, least=1)
