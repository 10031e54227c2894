"""Mistakes with ops, control flow and NumPy's functions: one of each kind."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax

F = np.ones((2, 3), np.float32)
N = np.ones((2, 3), np.int32)
V = np.float32([1, 2, 3])


def in_a_function(x):
    y = x * 2
    return lax.add(y, F)


M = np.ones((2, 2), int)


def digits(x, y):
    return 10 * x + y


def ragged(ragged, groups, sizes=M[0]):
    numbers = (((1,), (1,)), ((), ())), ragged, groups
    return lax.ragged_dot_general(np.ones((3, 4)), np.ones((2, 4, 5)), sizes, numbers)


def exchanged(x, y, numbers):
    def one(x, y, n):
        return lax.ragged_all_to_all(x, y, n, n, n, n, axis_name="i")

    return jax.vmap(one, axis_name="i")(x, y, numbers)


CASES: dict[str, Any] = {
    "add: shapes": lambda: lax.add(F, V),
    "add: dtypes": lambda: lax.add(F, N),
    "add: in a function": lambda: jax.jit(in_a_function)(V),
    "add: under vmap": lambda: jax.vmap(in_a_function)(F),
    "sin: integers": lambda: lax.sin(N),
    "reshape: sizes": lambda: lax.reshape(F, (4,)),
    "transpose: axes": lambda: lax.transpose(F, (0, 2)),
    "broadcast_in_dim: shapes": lambda: lax.broadcast_in_dim(F, (2, 4), (0, 1)),
    "concatenate: shapes": lambda: lax.concatenate([F, np.ones((2, 4, 1), np.float32)], 0),
    "concatenate: nothing": lambda: lax.concatenate([], 0),
    "slice: too far": lambda: lax.slice(V, (0,), (9,)),
    "dynamic_slice: sizes": lambda: lax.dynamic_slice(V, (0,), (4,)),
    "dynamic_update_slice: too large": lambda: lax.dynamic_update_slice(
        V, np.ones(4, np.float32), (0,)
    ),
    "dot_general: sizes": lambda: lax.dot_general(F, F, (((1,), (0,)), ((), ()))),
    "conv: channels": lambda: lax.conv(
        np.ones((1, 3, 8, 8), np.float32), np.ones((4, 2, 3, 3), np.float32), (1, 1), "SAME"
    ),
    "sort: an axis that is not there": lambda: lax.sort(V, dimension=1),
    "top_k: too many": lambda: lax.top_k(V, 4),
    "argmax: an axis that is not there": lambda: lax.argmax(V, 1, np.int32),
    "iota: an axis that is not there": lambda: lax.broadcasted_iota(np.int32, (2,), 1),
    "select: shapes": lambda: lax.select(V > 0, V, F),
    "clamp: dtypes": lambda: lax.clamp(np.int32(0), V, np.int32(1)),
    "convert: a key": lambda: lax.convert_element_type(jax.random.key(0), np.float32),
    "matmul: sizes": lambda: jnp.ones((2, 3)) @ jnp.ones((2, 3)),
    "matmul: scalars": lambda: jnp.matmul(1.0, V),
    "dot: in a function": lambda: jax.jit(lambda x: jnp.dot(x, F))(V),
    "broadcasting": lambda: jnp.ones((2, 3)) + jnp.ones(4),
    "sum: an axis that is not there": lambda: jnp.sum(F, axis=2),
    "max: nothing": lambda: jnp.max(jnp.ones(0)),
    "stack: shapes": lambda: jnp.stack([F, V]),
    "reshape: two unknowns": lambda: jnp.reshape(F, (-1, -1)),
    "reshape: what does not divide": lambda: jnp.reshape(F, (4, -1)),
    "nonzero: no axes": lambda: jnp.nonzero(jnp.int32(1)),
    "zeros: a shape of two arguments": lambda: jnp.zeros(2, 3),
    "concatenate: arrays as arguments": lambda: jnp.concatenate(F, F),
    "a list as an operand": lambda: jnp.ones(3) @ [1, 2, 3],
    "a tuple minus": lambda: (1, 2, 3) - jnp.ones(3),
    "slice: traced bounds": lambda: jax.jit(lambda x, n: x[n : n + 1])(V, 1),
    "reshape: a traced size": lambda: jax.jit(lambda x, n: x.reshape(n))(V, 3),
    "index: too many": lambda: jnp.ones(3)[0, 0],
    "index: a float": lambda: jnp.ones(3)[1.5],
    "index: a text": lambda: jnp.ones(3)["a"],
    "index: a mask of another shape": lambda: jnp.ones((2, 3))[np.ones(3, bool)],
    "at: shapes": lambda: jnp.ones((2, 3)).at[0].set(np.ones(2)),
    "arange: nothing": lambda: jnp.arange(0, 1, 0),
    "einsum: sizes": lambda: jnp.einsum("ab,bc->ac", F, F),
    "einsum: letters": lambda: jnp.einsum("ab->ac", F),
    "split: what does not divide": lambda: jnp.split(V, 2),
    "concatenate: a number": lambda: jnp.concatenate([1.0, 2.0]),
    "bitwise: floats": lambda: jnp.bitwise_and(V, V),
    # control flow
    "cond: a vector": lambda: lax.cond(V > 0, lambda: 1, lambda: 2),
    "cond: results of other types": lambda: lax.cond(True, lambda: 1, lambda: 2.0),
    "cond: results of other structures": lambda: lax.cond(True, lambda: (1, 2), lambda: 1),
    "cond: a text": lambda: lax.cond("yes", lambda: 1, lambda: 2),
    "switch: no branches": lambda: lax.switch(0, []),
    "switch: a float": lambda: lax.switch(0.5, [lambda: 1]),
    "while_loop: no bool": lambda: lax.while_loop(lambda c: c, lambda c: c, 1.0),
    "while_loop: another carry": lambda: lax.while_loop(lambda c: c < 3, lambda c: (c, c), 1),
    "while_loop: another dtype": lambda: lax.while_loop(
        lambda c: c < 3, lambda c: c * 1.5, jnp.int32(1)
    ),
    "fori_loop: another dtype": lambda: lax.fori_loop(0, 3, lambda k, c: c * 0.5, jnp.int32(1)),
    "fori_loop: float bounds": lambda: lax.fori_loop(0, 2.5, lambda k, c: c, 1),
    "scan: another carry": lambda: lax.scan(lambda c, t: ((c, c), t), 1.0, V),
    "scan: no pair": lambda: lax.scan(lambda c, t: c, 1.0, V),
    "scan: rows that differ": lambda: lax.scan(lambda c, t: (c, t), 1.0, (V, V[:2])),
    "scan: nothing to loop over": lambda: lax.scan(lambda c, t: (c, t), 1.0, None),
    "scan: another length": lambda: lax.scan(lambda c, t: (c, t), 1.0, V, length=4),
    "scan: a carry that grows": lambda: lax.scan(
        lambda c, t: (jnp.concatenate([c, c]), t), np.ones(1, np.float32), V
    ),
    "map: not a function": lambda: lax.map(3, V),
    "associative_scan: sizes": lambda: lax.associative_scan(jnp.add, (V, V[:2])),
    "pure_callback: another shape": lambda: jax.pure_callback(
        lambda x: np.ones(2, np.float32), jax.ShapeDtypeStruct((3,), np.float32), V
    ),
    "ragged_dot_general: two ragged axes": lambda: ragged((0, 1), (0,)),
    "ragged_dot_general: no axis of groups": lambda: ragged((0,), ()),
    "ragged_dot_general: sizes": lambda: ragged((0,), (0,), np.ones((3, 2), int)),
    "ragged_all_to_all: rows": lambda: exchanged(np.ones((2, 3)), np.ones((2, 3, 4)), M),
    "ragged_all_to_all: dtypes": lambda: exchanged(np.ones((2, 3)), np.ones((2, 3), int), M),
    "ragged_all_to_all: floats": lambda: exchanged(np.ones((2, 3)), np.ones((2, 3)), M * 1.0),
    "ragged_all_to_all: sizes": lambda: exchanged(np.ones((2, 3)), np.ones((2, 3)), M[:, :1]),
    "frompyfunc: no function": lambda: jnp.frompyfunc(3, 1, 1),  # type: ignore[arg-type]
    "frompyfunc: nin": lambda: jnp.frompyfunc(in_a_function, 0, 1),
    "frompyfunc: operands": lambda: jnp.frompyfunc(in_a_function, 1, 1)(V, V),
    "frompyfunc: results": lambda: jnp.frompyfunc(lambda x: (x, x), 1, 1)(V),
    "frompyfunc: a method": lambda: jnp.frompyfunc(lambda x: x, 1, 1).reduce(V),
    "frompyfunc: where": lambda: jnp.frompyfunc(digits, 2, 1).reduce(V, where=V > 1),
    "frompyfunc: nothing": lambda: jnp.frompyfunc(digits, 2, 1).reduce(V[:0]),
    "frompyfunc: in place": lambda: jnp.frompyfunc(digits, 2, 1).at(V, 0, 1),
    "frompyfunc: one operand": lambda: jnp.frompyfunc(digits, 2, 1).at(V, 0, inplace=False),
    "checkpoint: no such argument": lambda: jax.checkpoint(in_a_function, static_argnames="mode"),
}
