"""Whole training steps under pmap: forward, backward, pmean, momentum; state donated.

Every step is waited for, as when one reads the loss. The small ones are best of many runs, the
large ones median of single steps. Rows, images and sequences are counted for each of 2 devices.
"""

import numpy as np

from benchmarks.models import cnn, mlp, pmap_training, transformer
from benchmarks.registry import workload
from benchmarks.timing import best_per_call, median_of_runs


def draw(*shape):
    return np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32)


def labels(rows, classes=10):
    return np.random.default_rng(2).integers(0, classes, size=(2, rows)).astype(np.int32)


def mlp_step(jax, rows, widths, measurement):
    params, loss = mlp(jax, widths)
    return measurement(pmap_training(jax, params, loss, (draw(rows, widths[0]), labels(rows))))


@workload("MLP step, 16 rows, 64-64-10", budget="1/2")
def mlp_small(jax):
    return mlp_step(jax, 16, (64, 64, 10), best_per_call)


@workload("MLP step, 128 rows, 784-512-512-10", budget="0.85")
def mlp_medium(jax):
    return mlp_step(jax, 128, (784, 512, 512, 10), median_of_runs)


@workload("MLP step, 1,024 rows, 784-512-512-10", budget="0.85")
def mlp_large(jax):
    return mlp_step(jax, 1024, (784, 512, 512, 10), median_of_runs)


def cnn_step(jax, images, size, channels, measurement):
    params, loss = cnn(jax, size, channels)
    batch = draw(images, size, size, 1), labels(images)
    return measurement(pmap_training(jax, params, loss, batch))


@workload("CNN step, 16 images of 8 x 8")
def cnn_small(jax):
    return cnn_step(jax, 16, 8, 8, best_per_call)


@workload("CNN step, 64 images of 28 x 28", budget="1", quick=False)
def cnn_large(jax):
    return cnn_step(jax, 64, 28, 16, median_of_runs)


def transformer_step(jax, sequences, length, measurement, **sizes):
    params, loss = transformer(jax, vocabulary=256, length=length, **sizes)
    tokens = np.random.default_rng(3).integers(0, 256, size=(2, sequences, length + 1))
    return measurement(pmap_training(jax, params, loss, (tokens.astype(np.int32),)))


@workload("transformer step, 2 layers, width 64", budget="1")
def transformer_small(jax):
    return transformer_step(jax, 2, 32, median_of_runs, layers=2, width=64, heads=4)


@workload("transformer step, 4 layers, width 256", budget="1", quick=False)
def transformer_large(jax):
    return transformer_step(jax, 4, 128, median_of_runs, layers=4, width=256, heads=4)
