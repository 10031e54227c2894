"""Mistakes with NumPy's functions: making arrays, shapes, pieces, indices and updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import random

X, V, K = np.ones((4, 2), np.float32), np.ones(4, np.float32), np.arange(4)
KEY = random.key(0)
at = jnp.ones(4).at


def traced(f: Callable[..., Any], *args: Any) -> Any:
    return jax.jit(f)(*args)


CASES: dict[str, Callable[[], Any]] = {
    # __init__, array_api
    "plait.numpy: no such name": lambda: jnp.sinn(V),  # type: ignore[attr-defined]
    "dtypes: a kind": lambda: jnp.__array_namespace_info__().dtypes(kind="float"),
    # creation
    "array: an order": lambda: jnp.array(X, order="F"),
    "array: None": lambda: jnp.array(None),
    "array: text": lambda: jnp.array("1"),
    "array: keys of numbers": lambda: jnp.array(V, dtype=KEY.dtype),
    "array: objects": lambda: jnp.array(np.array([{}], object), dtype=jnp.float32),
    "array: a set": lambda: jnp.array({1, 2}),
    "array: None in a list": lambda: jnp.array([1, None]),
    "array: text in a list": lambda: jnp.array([1, "2"]),
    "array: a set in a list": lambda: jnp.array([1, {2}]),
    "array: rows of two sizes": lambda: jnp.array([[1, 2], [3]]),
    "array: an integer of 70 bits": lambda: jnp.array([1, 2**70]),
    "fromstring: no separator": lambda: jnp.fromstring("1 2", sep=""),
    "eye: a traced size": lambda: traced(lambda n: jnp.eye(n), 3),
    "eye: a vector for a size": lambda: jnp.eye(K),  # type: ignore[arg-type]
    "eye: a negative size": lambda: jnp.eye(-1),
    "arange: None": lambda: jnp.arange(None),
    "arange: traced": lambda: traced(jnp.arange, V[0]),
    "arange: a vector": lambda: jnp.arange(V),
    "arange: booleans": lambda: jnp.arange(3, dtype=bool),
    "linspace: a negative number": lambda: jnp.linspace(0, 1, -1),
    "matvec: a vector for a matrix": lambda: jnp.matvec(V, V),
    "vecmat: a vector for a matrix": lambda: jnp.vecmat(jnp.asarray(V), V),
    # editing
    "delete: a traced position": lambda: traced(lambda k: jnp.delete(V, k), 1),
    "delete: a mask": lambda: jnp.delete(V, np.ones(3, bool)),
    "delete: a float": lambda: jnp.delete(V, 1.5),
    "delete: too far": lambda: jnp.delete(V, [1, 4]),
    "insert: too far": lambda: jnp.insert(V, 5, 0.0),
    "trim_zeros: traced": lambda: traced(jnp.trim_zeros, V),
    "trim_zeros: a word": lambda: jnp.trim_zeros(V, trim="both"),
    # grids
    "meshgrid: indexing": lambda: jnp.meshgrid(V, V, indexing="yx"),
    "meshgrid: no copy": lambda: jnp.meshgrid(V, V, copy=False),
    "meshgrid: a matrix": lambda: jnp.meshgrid(X),
    "ix_: a matrix": lambda: jnp.ix_(X),
    "ix_: a traced mask": lambda: traced(jnp.ix_, V > 0),
    "r_: a directive": lambda: jnp.r_["a", 1, 2],
    # index_parsing, indexing
    "index: two ellipses": lambda: jnp.ones(4)[..., ...],
    "index: a slice of floats": lambda: jnp.ones(4)[0.5:2],
    "sort: a kind": lambda: jnp.sort(V, kind="slow"),
    "pad: pairs of different kinds": lambda: jnp.pad(X, ((1, 1), (2,))),
    "take: no elements": lambda: jnp.take(jnp.ones((2, 0)), K, axis=1),
    "index: no elements": lambda: jnp.ones(0)[K],
    "get: fill_value": lambda: at[K].get(mode="fill", fill_value=V),
    "take: mode": lambda: jnp.take(V, 9, mode="raise"),
    "take_along_axis: floats": lambda: jnp.take_along_axis(X, X, 0),
    "take_along_axis: axes": lambda: jnp.take_along_axis(X, K, 0),
    "take_along_axis: sizes": lambda: jnp.take_along_axis(X, np.ones((3, 3), int), 0),
    # manipulation
    "reshape: no shape": lambda: jnp.reshape(V),
    "reshape: an order": lambda: jnp.reshape(V, (2, 2), order="A"),
    "reshape: a negative size": lambda: jnp.reshape(V, (2, -2)),
    "ravel: an order": lambda: jnp.ravel(V, order="A"),
    "numpy.squeeze: a size": lambda: jnp.squeeze(X, 1),
    "matrix_transpose: a vector": lambda: jnp.matrix_transpose(V),
    "moveaxis: destinations": lambda: jnp.moveaxis(X, (0, 1), 0),
    "rot90: axes": lambda: jnp.rot90(X, axes=(0,)),  # type: ignore[arg-type]
    "stack: a number": lambda: jnp.stack(3),  # type: ignore[arg-type]
    "stack: an array without axes": lambda: jnp.stack(jnp.float32(1)),  # type: ignore[arg-type]
    "stack: no arrays": lambda: jnp.stack([]),
    "concatenate: sizes": lambda: jnp.concatenate([X, X[:, :1]]),
    "unstack: no axes": lambda: jnp.unstack(jnp.float32(1)),
    "block: a tuple": lambda: jnp.block([(V, V)]),
    "block: nothing": lambda: jnp.block([[], [V]]),
    "block: depths": lambda: jnp.block([[V], V]),
    # matrices
    "tri: a negative size": lambda: jnp.tri(2, -1),
    "tril: a vector": lambda: jnp.tril(1.0),
    "tril_indices_from: a vector": lambda: jnp.tril_indices_from(V),
    "mask_indices: traced": lambda: traced(
        lambda x: jnp.mask_indices(4, lambda ones, k: ones * x), V
    ),
    "diag_indices: a negative size": lambda: jnp.diag_indices(-1),
    "diag_indices_from: sizes": lambda: jnp.diag_indices_from(X),
    "diag: three axes": lambda: jnp.diag(X[None]),
    "vander: a matrix": lambda: jnp.vander(X),
    "vander: a negative size": lambda: jnp.vander(V, -1),
    # operators
    "view: no axes": lambda: jnp.float32(1).view(jnp.int16),
    "view: halves": lambda: jnp.ones(3).view(jnp.complex64),
    "view: what does not divide": lambda: jnp.ones(3, jnp.int8).view(jnp.int16),
    # packing
    "packbits: floats": lambda: jnp.packbits(V),
    "packbits: bitorder": lambda: jnp.packbits(K, bitorder="middle"),
    "unpackbits: int32": lambda: jnp.unpackbits(K),
    "unravel_index: floats": lambda: jnp.unravel_index(V, (2, 2)),
    "ravel_multi_index: too few": lambda: jnp.ravel_multi_index((K,), (4, 4)),
    "ravel_multi_index: floats": lambda: jnp.ravel_multi_index((V,), (4,)),
    "ravel_multi_index: traced": lambda: traced(lambda k: jnp.ravel_multi_index((k,), (4,)), K),
    "ravel_multi_index: too far": lambda: jnp.ravel_multi_index((K,), (3,)),
    "ravel_multi_index: a mode": lambda: jnp.ravel_multi_index((K,), (4,), mode="fill"),
    "ravel_multi_index: an order": lambda: jnp.ravel_multi_index((K,), (4,), order="A"),
    # padding
    "pad: widths": lambda: jnp.pad(X, (1, 2, 3)),
    "pad: values": lambda: jnp.pad(X, 1, constant_values=(1, 2, 3)),
    "pad: a mode": lambda: jnp.pad(V, 1, mode="mirror"),
    "pad: a word": lambda: jnp.pad(V, 1, mode="edge", constant_values=0),
    "pad: a negative width": lambda: jnp.pad(V, -1),
    "pad: no elements": lambda: jnp.pad(V[:0], 1, mode="edge"),
    "pad: reflect_type": lambda: jnp.pad(V, 1, mode="reflect", reflect_type="both"),
    "pad: stat_length": lambda: jnp.pad(V, 1, mode="mean", stat_length=0),
    # pieces
    "split: no parts": lambda: jnp.split(V, 0),
    "repeat: traced": lambda: traced(lambda n: jnp.repeat(V, n), K),
    "repeat: a negative number": lambda: jnp.repeat(V, -1),
    "repeat: counts": lambda: jnp.repeat(V, [1, 2]),
    "roll: shifts": lambda: jnp.roll(X, (1, 2, 3), (0, 1)),
    "diagonal: a vector": lambda: jnp.diagonal(V),
    "diff: no axes": lambda: jnp.diff(1.0),
    "diff: a negative number": lambda: jnp.diff(V, -1),
    # updating
    "at: keys of numbers": lambda: random.split(KEY, 4).at[0].set(1.0),
    "place: a mask": lambda: jnp.place(V, V[:3] > 0, V, inplace=False),
    "place: no values": lambda: jnp.place(V, V > 0, V[:0], inplace=False),
    "place: in place": lambda: jnp.place(V, V > 0, V),
    "fill_diagonal: wrap": lambda: jnp.fill_diagonal(X, 1, wrap=True, inplace=False),
    "fill_diagonal: a vector": lambda: jnp.fill_diagonal(V, 1, inplace=False),
}
