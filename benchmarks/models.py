"""The networks that the workloads train: parameters from NumPy, the forward pass in either library.

Each model is a pair: parameters as a tree of NumPy arrays, and loss(params, *batch).
"""

from itertools import pairwise

import numpy as np


def normal(generator, *shape):
    scale = 1.0 / np.sqrt(np.prod(shape[:-1]))
    return (scale * generator.normal(size=shape)).astype(np.float32)


def cross_entropy(jax, scores, labels):
    chosen = jax.numpy.take_along_axis(jax.nn.log_softmax(scores), labels[..., None], axis=-1)
    return -jax.numpy.mean(chosen)


def mlp(jax, widths):
    generator = np.random.default_rng(0)
    params = [
        {"kernel": normal(generator, *pair), "bias": np.zeros(pair[1], np.float32)}
        for pair in pairwise(widths)
    ]

    def loss(params, x, labels):
        *hidden, last = params
        for layer in hidden:
            x = jax.nn.relu(x @ layer["kernel"] + layer["bias"])
        return cross_entropy(jax, x @ last["kernel"] + last["bias"], labels)

    return params, loss


def cnn(jax, size, channels):
    """Two blocks of convolution and pooling on one-channel images of size x size, then a layer."""
    generator = np.random.default_rng(0)
    features = (size // 4) ** 2 * 2 * channels
    params = {
        "conv1": normal(generator, 3, 3, 1, channels),
        "conv2": normal(generator, 3, 3, channels, 2 * channels),
        "output": normal(generator, features, 10),
    }

    def block(kernel, x):
        numbers = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
        window = (1, 2, 2, 1)
        return jax.lax.reduce_window(
            jax.nn.relu(x), -jax.numpy.inf, jax.lax.max, window, window, "VALID"
        )

    def loss(params, images, labels):
        x = block(params["conv2"], block(params["conv1"], images))
        return cross_entropy(jax, x.reshape(len(x), -1) @ params["output"], labels)

    return params, loss


def transformer(jax, *, layers, width, heads, vocabulary, length):
    """A decoder: learned positions, normalisation before each part, causal attention, GELU."""
    jnp = jax.numpy
    generator = np.random.default_rng(0)
    ones = lambda: np.ones(width, np.float32)  # noqa: E731
    params = {
        "tokens": normal(generator, vocabulary, width),
        "positions": normal(generator, length, width),
        "layers": [
            {
                "norm1": ones(),
                "norm2": ones(),
                "qkv": normal(generator, width, 3 * width),
                "out": normal(generator, width, width),
                "up": normal(generator, width, 4 * width),
                "down": normal(generator, 4 * width, width),
            }
            for _ in range(layers)
        ],
        "norm": ones(),
    }

    def normalise(scale, x):
        x = x - jnp.mean(x, axis=-1, keepdims=True)
        return scale * x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)

    def attention(layer, x):
        batch, steps, _ = x.shape
        qkv = (x @ layer["qkv"]).reshape(batch, steps, 3, heads, width // heads)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
        scores = jnp.where(np.tril(np.ones((steps, steps), bool)), scores, -1e30)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
        return mixed.reshape(batch, steps, width) @ layer["out"]

    def loss(params, tokens):
        x, targets = tokens[:, :-1], tokens[:, 1:]
        x = params["tokens"][x] + params["positions"]
        for layer in params["layers"]:
            x = x + attention(layer, normalise(layer["norm1"], x))
            x = x + jax.nn.gelu(normalise(layer["norm2"], x) @ layer["up"]) @ layer["down"]
        scores = normalise(params["norm"], x) @ params["tokens"].T
        return cross_entropy(jax, scores, targets)

    return params, loss


def pmap_training(jax, params, loss, batch):
    """One step of data-parallel training with momentum, ready to be called again and again.

    The state is replicated, donated and fed to the next step; the batch (NumPy arrays whose first
    axis is the number of devices) lies on the devices already. Returns call(), which waits.
    """
    lax = jax.lax

    def step(state, *batch):
        params, velocity = state
        value, gradient = jax.value_and_grad(loss)(params, *batch)
        value, gradient = lax.pmean((value, gradient), "devices")
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
        params = jax.tree.map(lambda p, v: p - 1e-3 * v, params, velocity)
        return (params, velocity), value

    step = jax.pmap(step, axis_name="devices", donate_argnums=0)
    devices = len(batch[0])
    stack = lambda x: np.broadcast_to(x, (devices, *x.shape))  # noqa: E731
    state = jax.tree.map(stack, (params, jax.tree.map(np.zeros_like, params)))
    place = jax.pmap(lambda *arrays: arrays)
    batch = place(*batch)
    held = [place(*jax.tree.leaves(state))]
    held = [jax.tree.unflatten(jax.tree.structure(state), held[0])]

    def call():
        held[0], value = step(held[0], *batch)
        value.block_until_ready()

    return call
