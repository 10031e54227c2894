"""Mistakes with random numbers: keys, seeds, shapes, dtypes, parameters."""

from __future__ import annotations

import numpy as np

import plait.numpy as jnp
from plait import random
from tests.errors.calls import lowered

KEY = random.key(0)
V, X = np.ones(4, np.float32), np.ones((4, 2), np.float32)

CASES = {
    "random: parameters that do not broadcast": lambda: random.gamma(KEY, V, shape=(3,)),
    "random: two parameters": lambda: random.beta(KEY, V, V[:3]),
    "random: a parameter of text": lambda: random.gamma(KEY, "1"),  # type: ignore[arg-type]
    "random: no parameter": lambda: random.poisson(KEY, None),
    "random: a dtype of floats": lambda: random.randint(KEY, (2,), 0, 5, dtype=jnp.float32),
    "random: a dtype of integers": lambda: random.normal(KEY, (2,), dtype=jnp.int32),
    "random: text for a key": lambda: random.normal("key", (2,)),
    "random: a parameter that does not fit": lambda: random.pareto(KEY, V, dtype=jnp.float16),
    "random: a negative shape": lambda: random.normal(KEY, (-1,)),
    "gumbel: a mode": lambda: random.gumbel(KEY, (2,), mode="fast"),
    "bernoulli: a mode": lambda: random.bernoulli(KEY, 0.5, mode="highest"),
    "bernoulli: a probability": lambda: random.bernoulli(KEY, 1),
    "multinomial: a probability": lambda: random.multinomial(KEY, 3, 0.5),
    "categorical: logits of integers": lambda: random.categorical(KEY, np.arange(3)),
    "categorical: no categories": lambda: random.categorical(KEY, X[:, :0]),
    "categorical: too many draws": lambda: random.categorical(KEY, V, shape=(5,), replace=False),
    "permutation: a float": lambda: random.permutation(KEY, 2.5),  # type: ignore[arg-type]
    "choice: a shape": lambda: random.choice(KEY, 3, 2),  # type: ignore[arg-type]
    "choice: a float": lambda: random.choice(KEY, 2.5),  # type: ignore[arg-type]
    "choice: nothing": lambda: random.choice(KEY, 0, (2,)),
    "choice: too many draws": lambda: random.choice(KEY, 3, (4,), replace=False),
    "choice: probabilities": lambda: random.choice(KEY, 3, p=V),
    "random.dirichlet: alpha": lambda: random.dirichlet(KEY, 1.0),
    "random.multivariate_normal: a method": lambda: random.multivariate_normal(
        KEY, V, np.eye(4), method="lu"
    ),
    "random.multivariate_normal: sizes": lambda: random.multivariate_normal(KEY, V, np.eye(3)),
    "orthogonal: a negative size": lambda: random.orthogonal(KEY, -1),
    "orthogonal: integers": lambda: random.orthogonal(KEY, 2, dtype=jnp.int32),
    "key: a generator": lambda: random.key(0, impl="philox"),
    "key: words of another generator": lambda: random.wrap_key_data(
        np.zeros(2, np.uint32), impl="rbg"
    ),
    "key: four words on a TPU": lambda: lowered(
        "tpu", lambda w: random.wrap_key_data(w, impl="rbg"), np.zeros(4, np.uint32)
    ),
    "where: keys of two generators": lambda: jnp.where(True, KEY, random.key(0, impl="rbg")),
    "key: impl and dtype": lambda: random.wrap_key_data(  # type: ignore[call-arg]
        np.zeros(2, np.uint32), impl="threefry2x32", dtype="threefry2x32"
    ),
    "key: text": lambda: random.key("0"),  # type: ignore[arg-type]
    "wrap_key_data: keys": lambda: random.wrap_key_data(KEY),
    "fold_in: text": lambda: random.fold_in(KEY, "0"),  # type: ignore[arg-type]
    "fold_in: an array": lambda: random.fold_in(KEY, np.arange(3)),  # type: ignore[arg-type]
    "fold_in: a complex number": lambda: random.fold_in(KEY, 1j),  # type: ignore[arg-type]
    "bits: signed integers": lambda: random.bits(KEY, (2,), jnp.int32),
}
