"""A network of flax.linen learns handwritten digits, with batch normalisation and dropout."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from sklearn.datasets import load_digits

digits = load_digits()
images = jnp.asarray(digits.images[..., None] / 16.0, jnp.float32)
labels = jnp.asarray(digits.target)


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = nn.avg_pool(x, (2, 2), (2, 2)).reshape(len(x), -1)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.relu(nn.Dense(64)(x))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(10)(x)


class State(train_state.TrainState):
    statistics: dict


network = Network()
variables = network.init(jax.random.key(0), images[:1], train=False)
state = State.create(
    apply_fn=network.apply,
    params=variables["params"],
    statistics=variables["batch_stats"],
    tx=optax.adam(1e-2),
)


@jax.jit
def step(state, x, y, key):
    def loss(params):
        logits, updated = state.apply_fn(
            {"params": params, "batch_stats": state.statistics},
            x,
            train=True,
            rngs={"dropout": key},
            mutable=["batch_stats"],
        )
        value = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
        return value, updated["batch_stats"]

    (value, statistics), slope = jax.value_and_grad(loss, has_aux=True)(state.params)
    return state.apply_gradients(grads=slope, statistics=statistics), value


rng = np.random.default_rng(0)
for k in range(100):
    chosen = rng.integers(360, len(labels), 128)
    state, value = step(state, images[chosen], labels[chosen], jax.random.key(k))
logits = network.apply(
    {"params": state.params, "batch_stats": state.statistics}, images[:360], train=False
)
print("accuracy", float((logits.argmax(1) == labels[:360]).mean()))

table = network.tabulate(jax.random.key(0), images[:1], train=False)
print("tabulated", "Dense_1" in table)


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.RNN(nn.LSTMCell(16))(x)


x = jnp.ones((2, 5, 3))
recurrent = Recurrent()
y, _ = recurrent.init_with_output(jax.random.key(1), x)
print("recurrent", y.shape)
