"""A network of equinox's layers learns handwritten digits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

digits = load_digits()
images = jnp.asarray(digits.images[:, None] / 16.0, jnp.float32)
labels = jnp.asarray(digits.target)


class Network(eqx.Module):
    convolution: eqx.nn.Conv2d
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout
    mlp: eqx.nn.MLP

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.convolution = eqx.nn.Conv2d(1, 8, 3, key=first)
        self.norm = eqx.nn.LayerNorm(8 * 3 * 3)
        self.dropout = eqx.nn.Dropout(0.1)
        self.mlp = eqx.nn.MLP(8 * 3 * 3, 10, 64, 1, key=second)

    def __call__(self, x, key=None, inference=False):
        x = eqx.nn.MaxPool2d(2, 2)(jax.nn.relu(self.convolution(x))).ravel()
        x = self.dropout(self.norm(x), key=key, inference=inference)
        return self.mlp(x)


def loss(network, x, y, key):
    keys = jax.random.split(key, len(x))
    logits = jax.vmap(network)(x, keys)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@eqx.filter_jit
def step(network, state, x, y, key):
    value, slope = eqx.filter_value_and_grad(loss)(network, x, y, key)
    updates, state = optimizer.update(slope, state, eqx.filter(network, eqx.is_array))
    return eqx.apply_updates(network, updates), state, value


network = Network(jax.random.key(0))
optimizer = optax.adamw(1e-2)
state = optimizer.init(eqx.filter(network, eqx.is_array))
rng = np.random.default_rng(0)
for k in range(100):
    chosen = rng.integers(360, len(labels), 128)
    key = jax.random.key(k)
    network, state, value = step(network, state, images[chosen], labels[chosen], key)


@eqx.filter_jit
def predict(network, x):
    return jax.vmap(lambda x: network(x, inference=True))(x).argmax(1)


print("accuracy", float((predict(network, images[:360]) == labels[:360]).mean()))


@eqx.filter_jit
def careful(x):
    x = eqx.error_if(x, x < 0, "x must not be negative")
    return jnp.sqrt(x)


careful(jnp.array(4.0))
try:
    careful(jnp.array(-4.0))
except Exception as error:
    print("refused:", "x must not be negative" in str(error))
print(eqx.tree_pformat(network.mlp.layers[0]).splitlines()[0])
