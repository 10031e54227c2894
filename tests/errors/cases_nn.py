"""Mistakes with plait.nn, its initializers, and attention."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
from plait import nn
from plait.nn import initializers

Q, KV = np.ones((2, 3, 4, 5), np.float32), np.ones((2, 6, 2, 5), np.float32)
X = np.ones((4, 3), np.float32)
KEY = jax.random.key(0)


def attend(q: Any = Q, k: Any = KV, v: Any = None, **given: Any) -> Any:
    return nn.dot_product_attention(q, k, k if v is None else v, **given)


CASES = {
    "relu: a list": lambda: nn.relu([1.0, 2.0]),
    "gelu: None": lambda: nn.gelu(None),
    "glu: an odd axis": lambda: nn.glu(X),
    "softmax: an axis": lambda: nn.softmax(X, axis=2),
    "standardize: an algorithm": lambda: nn.standardize(X, algorithm="quick"),
    "one_hot: a named axis": lambda: jax.vmap(lambda x: nn.one_hot(x, 3, axis="i"), axis_name="i")(
        np.arange(4)
    ),
    "attention: two axes": lambda: attend(X),
    "attention: an implementation": lambda: attend(implementation="flash"),
    "attention: keys and values": lambda: attend(v=KV[:, :4]),
    "attention: sizes of heads": lambda: attend(Q[..., :4]),
    "attention: numbers of heads": lambda: attend(Q[:, :, :3]),
    "attention: dtypes": lambda: attend(Q.astype(np.float16)),
    "attention: a bias": lambda: attend(bias=np.ones((2, 4, 3, 5), np.float32)),
    "attention: a mask of floats": lambda: attend(mask=np.ones((2, 4, 3, 6), np.float32)),
    "attention: lengths": lambda: attend(query_seq_lengths=np.ones(3, np.int32)),
    "attention: lengths of floats": lambda: attend(key_value_seq_lengths=np.ones(2)),
    "initializer: a sharding": lambda: initializers.normal()(KEY, (2,), out_sharding=1),
    "orthogonal: a sharding": lambda: initializers.orthogonal()(KEY, (2, 2), out_sharding=1),
    "variance_scaling: a mode": lambda: initializers.variance_scaling(1.0, "fan", "normal"),
    "variance_scaling: a distribution": lambda: initializers.variance_scaling(
        1.0, "fan_in", "gauss"
    ),
    "glorot_normal: one axis": lambda: initializers.glorot_normal()(KEY, (3,)),
    "orthogonal: one axis": lambda: initializers.orthogonal()(KEY, (3,)),
    "delta_orthogonal: two axes": lambda: initializers.delta_orthogonal()(KEY, (3, 3)),
    "delta_orthogonal: too many inputs": lambda: initializers.delta_orthogonal()(KEY, (3, 4, 2)),
}
