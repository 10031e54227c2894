"""A multilayer perceptron learns handwritten digits with optax: one run for each optimizer, the
first with its gradients averaged over all devices.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax, random
from sklearn.datasets import load_digits

DEVICES = jax.local_device_count()
digits = load_digits()
images = jnp.asarray(digits.data / 16.0, jnp.float32)
labels = jnp.asarray(digits.target)
train, test = slice(360, None), slice(360)


def init(key):
    first, second = random.split(key)
    return {
        "hidden": {"w": random.normal(first, (64, 64)) * np.sqrt(2 / 64), "b": jnp.zeros(64)},
        "output": {"w": random.normal(second, (64, 10)) * np.sqrt(2 / 64), "b": jnp.zeros(10)},
    }


def network(params, x):
    x = jax.nn.relu(x @ params["hidden"]["w"] + params["hidden"]["b"])
    return x @ params["output"]["w"] + params["output"]["b"]


def loss(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(network(params, x), y).mean()


def accuracy(params):
    return float((network(params, images[test]).argmax(1) == labels[test]).mean())


def batches(count, size=128):
    rng = np.random.default_rng(0)
    for _ in range(count):
        chosen = rng.integers(360, len(labels), size)
        yield images[chosen], labels[chosen]


def train_with(optimizer, steps=150):
    params = init(random.key(0))
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        slope = jax.grad(loss)(params, x, y)
        updates, state = optimizer.update(slope, state, params)
        return optax.apply_updates(params, updates), state

    for x, y in batches(steps):
        params, state = step(params, state, x, y)
    return accuracy(params)


def train_on_all_devices(optimizer, steps=150):
    params = init(random.key(0))
    state = optimizer.init(params)
    params, state = jax.tree.map(lambda x: jnp.stack([x] * DEVICES), (params, state))

    @partial(jax.pmap, axis_name="batch", donate_argnums=(0, 1))
    def step(params, state, x, y):
        slope = lax.pmean(jax.grad(loss)(params, x, y), "batch")
        updates, state = optimizer.update(slope, state, params)
        return optax.apply_updates(params, updates), state

    for x, y in batches(steps):
        x, y = (a.reshape(DEVICES, -1, *a.shape[1:]) for a in (x, y))
        params, state = step(params, state, x, y)
    return accuracy(jax.tree.map(lambda x: x[0], params))


warm = optax.warmup_cosine_decay_schedule(0.0, 2e-2, 10, 60)
OPTIMIZERS = {
    "adamw": optax.adamw(1e-2),
    "sgd": optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.5, 0.9, nesterov=True)),
    "lamb": optax.lamb(2e-2),
    "lion": optax.lion(2e-3),
    "adafactor": optax.adafactor(3e-2),
    "schedule": optax.MultiSteps(optax.inject_hyperparams(optax.rmsprop)(warm), 2),
}
print("pmap", DEVICES, train_on_all_devices(optax.adam(1e-2)))
for name, optimizer in OPTIMIZERS.items():
    print(name, 1, train_with(optimizer))
