"""Mistakes with ops that move, repeat, pick or make elements: axes, slices, gather, iota, bits."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax, ops
from plait.core.dtypes import KEY_DTYPE
from plait.core.primitive import registered
from plait.ops.axes import broadcast_to
from tests.errors.calls import bound

X, N = np.ones((2, 3), np.float32), np.ones((2, 3), np.int32)
V = np.array([1, 2, 3], np.float32)
S, K = np.float32(0), np.int32(0)
BOOL = V > 1
KEY = jax.random.key(0)
KEYS = jax.random.split(KEY, (2, 3))
F32 = np.dtype(np.float32)

# Rows of a matrix at indices, as gather and scatter see it.
ROWS = np.array([[1], [0]], np.int32)
GATHER = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))
ONE = lax.ScatterDimensionNumbers((), (0,), (0,))


def gathered(indices: Any = ROWS, sizes: Any = (1, 3), **dims: Any) -> Any:
    return lax.gather(X, indices, GATHER._replace(**dims), sizes)


def scattered(updates: Any, x: Any = X, op: Any = lax.scatter_add) -> Any:
    return op(x, ROWS, updates, SCATTER)


def scattered_product(v: Any) -> Any:
    return lax.scatter_mul(V, ROWS, v, ONE)


def applied(v: Any) -> Any:
    return lax.scatter_apply(v, ROWS, lambda x: x * x, ONE, update_shape=(2,))


def padded(*padding: Any, fill: Any = S) -> Any:
    return lax.pad(X, fill, padding)


def sliced(starts: Any, **kwargs: Any) -> Any:
    return lax.dynamic_slice(X, starts, (1, 1), **kwargs)


CASES: dict[str, Any] = {
    # ops/__init__.py, ops/axes.py
    "ops: no such name": lambda: ops.no_such_name,  # type: ignore[attr-defined]
    "axes: an axis of floats": lambda: lax.cumsum(X, axis=0.5),  # type: ignore[arg-type]
    "axes: one twice": lambda: lax.reduce_sum(X, (0, 0)),
    "axes: one twice, counted from the last": lambda: lax.reduce_sum(X, (0, -2)),
    "shape: text": lambda: lax.full(("a",), 0),  # type: ignore[arg-type]
    "shape: negative": lambda: lax.full((-1,), 0),
    "broadcast_in_dim: too few axes": lambda: lax.broadcast_in_dim(X, (2, 3), (0,)),
    "broadcast_in_dim: order": lambda: lax.broadcast_in_dim(np.ones((2, 2)), (2, 2), (1, 0)),
    "broadcast_to: fewer axes": lambda: broadcast_to(X, (3,)),
    "reduce_sum: booleans": lambda: bound("reduce_sum", BOOL, axes=(0,)),
    "rev: axes": lambda: bound("rev", X, axes=(0, 0)),
    # ops/elementwise.py, ops/arithmetic.py
    "elementwise: operands": lambda: lax.add(V),
    "elementwise: a Python float among integers": lambda: lax.add(N, 1.5),
    "elementwise: a Python complex among floats": lambda: lax.mul(V, 1j),
    "elementwise: no transpose": lambda: registered("sin").transpose(V, V),
    "convert: to a key": lambda: lax.convert_element_type(V, KEY_DTYPE),
    "reduce_precision: integers": lambda: lax.reduce_precision(N, 5, 10),
    "reduce_precision: bits": lambda: lax.reduce_precision(V, 0, 10),
    "integer_pow: booleans": lambda: lax.integer_pow(BOOL, 2),
    "integer_pow: integers": lambda: lax.integer_pow(N, -1),
    # ops/bitcast.py
    "bitcast: booleans": lambda: lax.bitcast_convert_type(BOOL, np.uint8),
    "bitcast: the last axis": lambda: lax.bitcast_convert_type(np.ones(3, np.uint8), np.uint32),
    # ops/compare.py
    "select_n: no cases": lambda: lax.select_n(BOOL),
    "select_n: shapes": lambda: bound("select_n", BOOL, V, X),
    "select_n: dtypes": lambda: bound("select_n", BOOL, V, np.arange(3)),
    "select_n: the shape of which": lambda: bound("select_n", BOOL[:2], V, V),
    "select_n: a float": lambda: lax.select_n(V, V, V),
    "select_n: a bool for three": lambda: lax.select_n(BOOL, V, V, V),
    # ops/slices.py
    "slice: floats": lambda: lax.slice(V, (0.5,), (2,)),  # type: ignore[arg-type]
    "slice: too few": lambda: lax.slice(X, (0,), (1,)),
    "slice: a stride": lambda: lax.slice(V, (0,), (2,), (0,)),
    "pad: a vector": lambda: bound("pad", V, V, padding=((0, 0, 0),)),
    "pad: dtypes": lambda: bound("pad", V, K, padding=((0, 0, 0),)),
    "pad: too few": lambda: padded((0, 0, 0)),
    "pad: no triples": lambda: padded((0, 0), (0, 0)),
    "pad: interior": lambda: padded((0, 0, -1), (0, 0, 0)),
    "pad: more than there is": lambda: padded((-2, -2, 0), (0, 0, 0)),
    "concatenate: an axis": lambda: bound("concatenate", V, V, axis=1),
    "concatenate: dtypes": lambda: lax.concatenate([V, np.arange(3)], 0),
    "split: sizes": lambda: lax.split(V, (1, 1)),
    "index_in_dim: out of range": lambda: lax.index_in_dim(V, 3),
    "squeeze: a size": lambda: lax.squeeze(X, (0,)),
    "tile: too few": lambda: lax.tile(X, (2,)),
    "collapse: nothing": lambda: lax.collapse(X, 1, 0),
    # ops/dynamic_slice.py
    "dynamic_slice: too few": lambda: sliced((0,)),
    "dynamic_slice: a matrix": lambda: sliced(N),
    "dynamic_slice: a float": lambda: sliced((0, 0.5)),
    "dynamic_slice: negative": lambda: sliced((0, -1), allow_negative_indices=False),
    "dynamic_slice: which may be negative": lambda: sliced((0, 0), allow_negative_indices=(True,)),
    "dynamic_slice: starts, by hand": lambda: bound("dynamic_slice", X, K, sizes=(1, 1)),
    "dynamic_slice: dtypes, by hand": lambda: bound("dynamic_slice", X, K, S, sizes=(1, 1)),
    "dynamic_update_slice: dtypes": lambda: lax.dynamic_update_slice(V, N[0], (0,)),
    "dynamic_update_index_in_dim: shapes": lambda: lax.dynamic_update_index_in_dim(X, V[:2], 0, 0),
    # ops/gather.py
    "gather: a mode": lambda: lax.gather(X, ROWS, GATHER, (1, 3), mode="wrapped"),
    "gather: floats": lambda: gathered(ROWS * 1.0),
    "gather: a scalar": lambda: gathered(K),
    "gather: an axis": lambda: gathered(offset_dims=(5,)),
    "gather: entries": lambda: gathered(start_index_map=(0, 1)),
    "gather: batching and indexed": lambda: gathered(
        operand_batching_dims=(0,), start_indices_batching_dims=(0,)
    ),
    "gather: batching sizes": lambda: gathered(
        ROWS[:1],
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
        collapsed_slice_dims=(1,),
        offset_dims=(),
    ),
    "gather: an axis without a part": lambda: gathered(collapsed_slice_dims=()),
    "gather: sizes": lambda: gathered(sizes=(1, 4)),
    "gather: sizes of collapsed axes": lambda: gathered(sizes=(2, 3)),
    "gather: no dimension numbers": lambda: lax.gather(X, ROWS, (1, 0, 0), (1, 3)),  # type: ignore[arg-type]
    "gather: a fill value": lambda: lax.gather(X, ROWS, GATHER, (1, 3), fill_value=V),
    # ops/scatter.py
    "scatter: keys": lambda: scattered(KEYS, KEYS, lax.scatter_mul),
    "scatter: dtypes": lambda: scattered(N),
    "scatter: rows": lambda: scattered(np.ones((3, 3), np.float32)),
    "scatter: too large": lambda: scattered(np.ones((2, 4), np.float32)),
    "scatter_mul: indices not unique": lambda: jax.grad(lambda v: scattered_product(v).sum())(
        V[:2]
    ),
    "scatter_apply: indices not unique": lambda: jax.jvp(applied, (V,), (V,)),
    "scatter_apply: arrays from outside": lambda: lax.scatter_apply(
        V, ROWS, lambda x: x * jnp.asarray(V).sum(), ONE, update_shape=(2,)
    ),
    # ops/structure.py, ops/iota.py
    "broadcast_shapes: sizes": lambda: lax.broadcast_shapes((2, 3), (4,)),
    "broadcast_to_rank: fewer": lambda: lax.broadcast_to_rank(X, 1),
    "batch_matmul: ranks": lambda: lax.batch_matmul(X, V),
    "lax.stack: nothing": lambda: lax.stack([]),
    "full: an array": lambda: lax.full((2,), V),
    "iota: booleans": lambda: lax.iota(bool, 2),
    "iota: an axis, by hand": lambda: bound("iota", shape=(2,), dtype=F32, axis=1),
    # ops/bits.py
    "random_bits: no key": lambda: bound("random_bits", N, shape=(), bit_width=32),
    "random_bits: a width": lambda: bound("random_bits", KEY, shape=(), bit_width=12),
    "random_wrap: words": lambda: bound("random_wrap", N, dtype=KEY_DTYPE),
    "random_seed: floats": lambda: bound("random_seed", V),
    "random_fold_in: floats": lambda: bound("random_fold_in", KEY, S),
    "random_fold_in: shapes": lambda: bound(
        "random_fold_in", jax.random.split(KEY, 2), np.zeros(3, np.uint32)
    ),
}
