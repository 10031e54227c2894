"""Mistakes with arguments that are no arrays; and that messages name the function called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import image, lax, nn, random
from plait.dlpack import from_dlpack
from plait.scipy import fft, linalg, ndimage, optimize, signal, stats
from plait.scipy.sparse import linalg as sparse
from tests.errors.cases_numpy import K, V, X

E = np.eye(3, dtype=np.float32)


class Elsewhere:
    """A tensor that says it lies on a device, by DLPack's number for its kind."""

    def __init__(self, kind: int):
        self.kind = kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 1

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("asked for memory that the CPU cannot read")


def minimized(**kwargs: Any) -> Any:
    return optimize.minimize(jnp.sum, V, method="BFGS", **kwargs)


def attention(**kwargs: Any) -> Any:
    q = np.ones((1, 4, 1, 2), np.float32)
    return nn.dot_product_attention(q, q, q, **kwargs)


# Nonsense on purpose: no case here passes a type checker.
jnp_: Any = jnp
lax_: Any = lax
random_: Any = random
image_: Any = image
CASES: dict[str, Callable[[], Any]] = {
    # the function's own name
    "dtype: of zeros": lambda: jnp.zeros(3, "float31"),
    "dtype: of astype": lambda: jnp.ones(3).astype("str"),
    "dtype: of view": lambda: jnp.ones(3).view("float31"),
    "dtype: of sum": lambda: jnp.ones(3).sum(dtype="float31"),
    "dtype: of eye, traced": lambda: jax.jit(lambda: jnp.eye(3, dtype="float31"))(),
    "dtype: of one_hot": lambda: nn.one_hot(K, 4, dtype="float31"),
    "dtype: of normal": lambda: random.normal(random.key(0), dtype="float31"),
    "dtype: of finfo": lambda: jnp.finfo("float31"),
    "dtype: no floats for finfo": lambda: jnp.finfo(1),
    "dtype: of ShapeDtypeStruct": lambda: jax.ShapeDtypeStruct((3,), "float31"),
    "dtype: of lax.full": lambda: lax.full((3,), 1, "float31"),
    "out: of add": lambda: jnp_.add(V, V, out=V),
    "out: where of add": lambda: jnp_.add(V, V, where=V > 0),
    "out: of logaddexp": lambda: jnp_.logaddexp(V, V, out=V),
    "out: of nansum": lambda: jnp_.nansum(V, out=V),
    "out: of median": lambda: jnp_.median(V, out=V),
    "name: of trapezoid": lambda: jnp.trapezoid(V, dx="one"),
    "name: of geomspace": lambda: jnp_.geomspace(1, 8, 2.5),
    "name: of cho_factor": lambda: linalg.cho_factor("matrix"),
    "name: of cg": lambda: sparse.cg(E, "vector"),
    "name: of empty": lambda: jnp.empty("shape"),
    "name: of identity": lambda: jnp_.identity("three"),
    "name: of remainder": lambda: jnp.remainder(1j, 2),
    "name: of matvec": lambda: jnp.matvec("matrix", V),
    "name: of add.reduce": lambda: jnp_.add.reduce([1, 2]),
    "name: a device of arange": lambda: jnp.arange(3, device="cpu:0"),
    "name: a precision of inner": lambda: jnp.inner(V, V, precision="full"),
    # numbers, words and sequences
    "std: ddof": lambda: jnp.std(V, ddof="one"),
    "var: correction": lambda: jnp.var(V, correction="one"),
    "cov: ddof": lambda: jnp_.cov(X, ddof="one"),
    "array: ndmin": lambda: jnp_.array(V, ndmin="2"),
    "arange: a complex number": lambda: jnp.arange(1j),
    "apply_along_axis: no function": lambda: jnp_.apply_along_axis("sum", 0, X),
    "apply_over_axes: no function": lambda: jnp_.apply_over_axes("sum", X, 0),
    "fromfunction: no function": lambda: jnp_.fromfunction("sum", (2, 2)),
    "mask_indices: no function": lambda: jnp_.mask_indices(3, "triu"),
    "frombuffer: text": lambda: jnp.frombuffer("text"),
    "frombuffer: no numbers": lambda: jnp_.frombuffer(b"1234", np.uint8, count="all"),
    "can_cast: a rule": lambda: jnp.can_cast(np.int32, np.int64, "sometimes"),
    "array_repr: a precision": lambda: jnp_.array_repr(V, precision="high"),
    "save: no file": lambda: jnp.save(None, V),
    "einsum: optimize": lambda: jnp.einsum("i,i", V, V, optimize={}),
    "einsum_path: optimize": lambda: jnp.einsum_path("i,i", V, V, optimize=1.5),
    "einsum_path: a step of one operand twice": lambda: jnp.einsum(
        "i,i,i", V, V, V, optimize=[(0, 0)]
    ),
    "einsum_path: too few steps": lambda: jnp.einsum("i,i,i", V, V, V, optimize=[(0, 1)]),
    "nonzero: a negative size": lambda: jnp.nonzero(V, size=-1),
    "take: fill_value": lambda: jnp.take(V, K, mode="fill", fill_value="zero"),
    "take: an unhashable mode": lambda: jnp_.take(V, K, mode=["fill"]),
    "histogram: range": lambda: jnp.histogram(V, range=2.0),
    "histogram: a range of three": lambda: jnp.histogram(V, range=(0, 1, 2)),
    "lexsort: a vector": lambda: jnp.lexsort(V[0]),
    "polyder: a number": lambda: jnp.polyder(1.5),
    "searchsorted: sorter": lambda: jnp.searchsorted(V, V, sorter=0),
    "searchsorted: a list of methods": lambda: jnp_.searchsorted(V, V, method=["scan"]),
    "choose: choices": lambda: jnp_.choose(K, None),
    "select: no lists": lambda: jnp_.select(None, [V]),
    "trim_zeros: trim": lambda: jnp_.trim_zeros(V, trim=1),
    "tril_indices: text": lambda: jnp_.tril_indices("3"),
    "vectorize: excluded, a number": lambda: jnp_.vectorize(jnp.sum, excluded=1),
    "fftn: s": lambda: jnp_.fft.fftn(X, s=2),
    "hfft: a list of norms": lambda: jnp_.fft.hfft(V, norm=["ortho"]),
    "multi_dot: a number": lambda: jnp_.linalg.multi_dot(1),
    "lstsq: rcond": lambda: jnp_.linalg.lstsq(X, V, rcond="eps"),
    "tensorsolve: axes": lambda: jnp_.linalg.tensorsolve(E, V[:3], axes=1),
    "dct: an unhashable type": lambda: fft.dct(V, type=[2]),  # type: ignore[arg-type]
    "polar: eps": lambda: linalg.polar(E, eps="small"),  # type: ignore[arg-type]
    "qr_multiply: a number": lambda: linalg.qr_multiply(E, 1.0),
    "solve_sylvester: tol": lambda: linalg.solve_sylvester(E, E, E, tol="small"),  # type: ignore
    "minimize: options": lambda: minimized(options=[1]),
    "minimize: tol": lambda: minimized(tol="small"),
    "map_coordinates: coordinates": lambda: ndimage.map_coordinates(V, 1.0, 1),  # type: ignore
    "attention: a window": lambda: attention(local_window_size=1.5),
    "attention: a window of three": lambda: attention(local_window_size=(1, 2, 3)),
    "attention: a scale": lambda: attention(scale="half"),
    # lax, image
    "optimization_barrier: text": lambda: lax_.optimization_barrier({"a": "b"}),
    "lax.svd: an algorithm": lambda: lax_.linalg.svd(X, algorithm="fast"),
    "repeat: floats": lambda: jnp_.repeat(V, V),
    "cho_solve: a matrix": lambda: linalg.cho_solve(E, V[:3]),  # type: ignore[arg-type]
    "lu_pivots_to_permutation: a size": lambda: lax_.linalg.lu_pivots_to_permutation(K, "4"),
    "random.orthogonal: a size": lambda: random_.orthogonal(random.key(0), "3"),
    "platform_dependent: a number": lambda: lax_.platform_dependent(V, default=3),
    "broadcast_in_dim: no shape": lambda: lax_.broadcast_in_dim(V, 4, (0,)),
    "broadcast_to_rank: text": lambda: lax_.broadcast_to_rank(V, "2"),
    "collapse: text": lambda: lax_.collapse(X, "0"),
    "lax.concatenate: no arrays": lambda: lax_.concatenate(None, 0),
    "conv_general_permutations: a number": lambda: lax_.conv_general_permutations(2),
    "conv_shape_tuple: strides": lambda: lax_.conv_shape_tuple((1, 1, 4), (1, 1, 2), 1, "SAME"),
    "dynamic_slice: negative indices": lambda: lax_.dynamic_slice(
        V, (0,), (2,), allow_negative_indices=None
    ),
    "index_in_dim: text": lambda: lax_.index_in_dim(V, "0"),
    "slice_in_dim: text": lambda: lax_.slice_in_dim(V, "0", 2),
    "lax.pad: a number": lambda: lax_.pad(V, 0.0, 1),
    "integer_pow: text": lambda: lax_.integer_pow(V, "2"),
    "lax.reduce: no function": lambda: lax_.reduce(V, 0.0, "add", (0,)),
    "scatter_apply: no function": lambda: lax_.scatter_apply(
        V, K[:, None], "exp", lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(4,)
    ),
    "ragged_dot_general: a word": lambda: lax_.ragged_dot_general(X, X, K, "rows"),
    "ragged_dot_general: a pair": lambda: lax_.ragged_dot_general(X, X, K, (0, 1)),
    "lax.sort: num_keys": lambda: lax_.sort((V, V), num_keys="all"),
    "switch: a number of branches": lambda: lax_.switch(0, 2, V),
    "resize: a list of methods": lambda: image_.resize(X, (2, 2), ["linear"]),
    "scale_and_translate: a number for axes": lambda: image_.scale_and_translate(
        X, (2, 2), 0, V, V, "linear"
    ),
    "sum: a mask of integers": lambda: jnp.sum(V, where=K),
    "mean: a mask of integers": lambda: jnp.mean(V, where=K),
    "cg: no A": lambda: sparse.cg(None, V),
    "gmres: restart": lambda: sparse.gmres(E, V[:3], restart=-1),
    "hankel: a number": lambda: linalg.hankel(1.0),
    "welch: a complex rate": lambda: signal.welch(V, 1j, nperseg=4),
    "map_coordinates: cval": lambda: ndimage.map_coordinates(V, [V], 1, cval=1j),
    "lstsq: an array for rcond": lambda: jnp_.linalg.lstsq(X, V, rcond=V),
    # what NumPy and SciPy know, and is not here
    "quantile: weights of another method": lambda: jnp.quantile(V, 0.5, weights=V),
    "take: a mode that needs values": lambda: jnp.take(V, K, mode="raise"),
    "mode: an unknown policy": lambda: stats.mode(V, nan_policy="ignore"),
    "eigh_tridiagonal: no such select": lambda: linalg.eigh_tridiagonal(V, V[:3], select="z"),
    "welch: detrend": lambda: signal.welch(V, nperseg=4, detrend="quadratic"),
    # dlpack
    "from_dlpack: a GPU": lambda: from_dlpack(Elsewhere(2)),
    "from_dlpack: a device of another kind": lambda: from_dlpack(Elsewhere(99)),
    "from_dlpack: a list": lambda: from_dlpack([1, 2]),
}
