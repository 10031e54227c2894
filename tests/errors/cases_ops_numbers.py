"""Mistakes with ops that reduce, multiply, sort and transform: dot, conv, windows, matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
from plait import lax
from plait.core.primitive import registered
from plait.core.types import type_of
from plait.experimental import checkify
from plait.lax import linalg
from plait.ops.across import Share
from plait.ops.qr import geqrf
from plait.ops.window_shape import Window
from tests.errors.calls import bound, lowered

X, N = np.ones((2, 3), np.float32), np.ones((2, 3), np.int32)
V = np.array([1, 2, 3], np.float32)
S, K = np.float32(0), np.int32(0)
BOOL = V > 1
KEYS = jax.random.split(jax.random.key(0), 3)
KEY_WORDS = np.array([1, 2, 3, 4], np.uint32)
SQUARE = np.eye(3, dtype=np.float32)
IMAGE, KERNEL = np.ones((1, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)


def conv(
    lhs: Any = IMAGE, rhs: Any = KERNEL, strides: Any = (1, 1), padding: Any = "SAME", **more: Any
) -> Any:
    return lax.conv_general_dilated(lhs, rhs, strides, padding, **more)


def transposed(strides: Any = (1, 1), padding: Any = "SAME", lhs: Any = IMAGE, **more: Any) -> Any:
    return lax.conv_transpose(lhs, KERNEL, strides, padding, **more)


def patches(*size: int, **more: Any) -> Any:
    return lax.conv_general_dilated_patches(IMAGE, size, (1, 1), "SAME", **more)


def named(*numbers: Any) -> Any:
    return conv(dimension_numbers=numbers)


def dot(
    lhs: Any, rhs: Any, contracted: Any = ((1,), (0,)), batch: Any = ((), ()), **more: Any
) -> Any:
    return lax.dot_general(lhs, rhs, (contracted, batch), **more)


def windows(*size: Any, strides: Any = None, padding: Any = "VALID") -> Any:
    return lax.reduce_window(X, S, lax.add, size, strides, padding)


def reduced(x: Any = V, init: Any = S, f: Any = lambda x, y: x * y + x) -> Any:
    return lax.reduce(x, init, f, (0,))


def reduced_with(y: Any) -> Any:
    return reduced(f=lambda a, b: a * b + y)


def scan(a: Any, b: Any, axis: int = 0) -> Any:
    return bound("affine_scan", a, b, axis=axis, reverse=False)


def fft(x: Any, *lengths: int, kind: Any = "FFT") -> Any:
    return bound("fft", x, kind=lax.FftType[kind], lengths=lengths)


C = V.astype(np.complex64)
SHARE = Share(0, 0, 1, 2, (), ())
WINDOW = Window((1, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))


CASES: dict[str, Any] = {
    # ops/activation.py, ops/bessel.py, ops/functions.py, ops/special.py
    "softmax: integers, by hand": lambda: bound("softmax", N, axes=(1,)),
    "bessel_j: integers, by hand": lambda: bound("bessel_j", N, order=2, start=20),
    "round: a method": lambda: lax.round(V, "up"),  # type: ignore[arg-type]
    "igamma: a derivative": lambda: jax.grad(lambda a: lax.igamma_grad_a(a, S))(S),
    # ops/reduce.py
    "reduce_max: keys": lambda: lax.reduce_max(KEYS, (0,)),
    "argmax: keys": lambda: lax.argmax(KEYS, 0, np.int32),
    "argmax: a dtype": lambda: lax.argmax(V, 0, np.float32),
    "argmax: no elements": lambda: lax.argmax(V[:0], 0, np.int32),
    "reduce: shapes": lambda: reduced((V, X), (S, S), lambda x, y: x),
    "reduce: an initial vector": lambda: reduced(init=V),
    "reduce: an initial int": lambda: reduced(init=K),
    "reduce: the result's dtype": lambda: reduced(f=lambda x, y: x > y),
    "reduce: an array from outside": lambda: jax.jit(reduced_with)(V),
    "reduce: no operand": lambda: reduced((), ()),
    # ops/cumulative.py
    "cumsum: booleans": lambda: lax.cumsum(BOOL),
    "cumsum: an axis, by hand": lambda: bound("cumsum", V, axis=1, reverse=False),
    "affine_scan: shapes": lambda: scan(V, X),
    "affine_scan: integers": lambda: scan(N, N),
    "affine_scan: an axis": lambda: scan(V, V, axis=1),
    # ops/dot.py
    "dot: a precision": lambda: lax.dot(X, X.T, precision="exact"),
    "dot: a pair of presets": lambda: dot(
        X, X.T, precision=(lax.DotAlgorithmPreset.F32_F32_F32,) * 2
    ),
    "dot: keys": lambda: dot(KEYS, KEYS, ((0,), (0,))),
    "dot: a preferred key": lambda: dot(X, X.T, preferred_element_type=KEYS.dtype),
    "dot: fewer bits": lambda: dot(N, N.T, preferred_element_type=np.int8),
    "dot: numbers of axes": lambda: dot(X, X.T, ((1,), ())),
    "dot: an axis twice": lambda: dot(SQUARE, SQUARE, ((0, 0), (0, 1))),
    "dot: no pairs": lambda: lax.dot_general(X, X.T, (1, 0)),  # type: ignore[arg-type]
    "dot: an algorithm of 8 bits": lambda: dot(
        X, X.T, precision=lax.DotAlgorithmPreset.ANY_F8_ANY_F8_F32
    ),
    "dot: inner sizes": lambda: lax.dot(X, X),
    # ops/ragged.py
    "ragged_dot: shapes": lambda: lax.ragged_dot(X, X, V),
    "ragged_dot: floats": lambda: lax.ragged_dot(X, np.ones((2, 3, 4), np.float32), X[:, 0]),
    "ragged_dot: an offset": lambda: lax.ragged_dot(
        X,
        np.ones((2, 3, 4), np.float32),
        np.ones(2, int),
        group_offset=K,  # type: ignore[arg-type]
    ),
    # ops/conv.py, ops/conv_forms.py
    "conv: dtypes": lambda: conv(rhs=KERNEL.astype(np.float16)),
    "conv: axes": lambda: conv(rhs=KERNEL[0]),
    "conv: no spatial axes": lambda: lax.conv_general_dilated(V, V, (), ()),
    "conv: axes, by hand": lambda: conv(
        dimension_numbers=lax.ConvDimensionNumbers(*[(0, 1, 2, 2)] * 3)
    ),
    "conv: strides": lambda: conv(strides=(1,)),
    "conv: strides and pairs": lambda: conv(strides=(1,), padding=[(0, 0)] * 2),
    "conv: a stride": lambda: conv(strides=(0, 1), padding=[(0, 0)] * 2),
    "conv: group counts": lambda: conv(feature_group_count=0),
    "conv: groups": lambda: conv(rhs=KERNEL[:, :1], feature_group_count=3),
    "conv: no three": lambda: named("NCHW", "OIHW"),
    "conv: letters": lambda: named("NCHW", "OIHW", "NCHX"),
    "conv: padding": lambda: conv(padding="FULL"),
    "conv: padding of one number": lambda: conv(padding=1),
    "conv: padding and dilation": lambda: conv(lhs_dilation=(2, 2)),
    "conv: dilation": lambda: conv(rhs_dilation=(2,)),
    "conv_transpose: axes": lambda: transposed(lhs=np.ones((1,) * 6)),
    "conv_transpose: padding": lambda: transposed(padding="SAME_LOWER"),
    "conv_transpose: strides": lambda: transposed((1,)),
    "conv_transpose: dilation": lambda: transposed(rhs_dilation=(2,)),
    "conv_transpose: pairs": lambda: transposed(padding=[(0, 0)], use_consistent_padding=True),
    "conv_general_dilated_patches: entries": lambda: patches(2),
    # ops/window.py, ops/window_shape.py, ops/window_choice.py
    "padtype_to_pads: lengths": lambda: lax.padtype_to_pads((5, 5), (2,), (2,), "SAME"),
    "reduce_window: booleans, by hand": lambda: bound("reduce_window_sum", X > 0, window=WINDOW),
    "reduce_window: too few, by hand": lambda: bound("reduce_window_sum", V, window=WINDOW),
    "reduce_window: a stride, by hand": lambda: bound(
        "reduce_window_sum", X, window=WINDOW._replace(strides=(0, 1))
    ),
    "window_arg: complex numbers": lambda: bound("window_arg", X * 1j, window=WINDOW, largest=True),
    "reduce_window: padding": lambda: windows(1, 2, padding="FULL"),
    "reduce_window: sizes": lambda: windows(2),
    "reduce_window: strides": lambda: windows(1, 2, strides=(1, 0)),
    "reduce_window: pairs": lambda: windows(1, 2, padding=[(0, 0)]),
    "reduce_window: half a pair": lambda: windows(1, 2, padding=[(0,), (0,)]),
    # ops/fft.py
    "fft: a kind": lambda: lax.fft(V, "DCT", 3),  # type: ignore[arg-type]
    "fft: four axes": lambda: lax.fft(np.ones((1,) * 4), "FFT", (1,) * 4),  # type: ignore[arg-type]
    "fft: complex numbers": lambda: lax.fft(C, lax.FftType.RFFT, (3,)),
    "fft: no axes": lambda: fft(C),
    "fft: more lengths than axes": lambda: fft(C, 1, 3),
    "fft: no length": lambda: fft(C, 0),
    "fft: dtypes": lambda: fft(V, 3),
    "fft: sizes": lambda: lax.fft(C, lax.FftType.FFT, (4,)),
    # ops/sort.py
    "sort: nothing": lambda: lax.sort(()),
    "sort: shapes": lambda: lax.sort((V, X), dimension=0),
    "sort: an axis, by hand": lambda: bound(
        "sort", V, axis=1, num_keys=1, stable=True, with_index=False
    ),
    "sort: num_keys": lambda: lax.sort((V, V), num_keys=3),
    "sort: keys": lambda: lax.sort(KEYS),
    "accuracy: a tight tolerance": lambda: lax.exp(S, accuracy=lax.Tolerance(ulps=1)),
    "accuracy: a word": lambda: lax.exp(S, accuracy="highest"),
    "accuracy: another function": lambda: lax.erf(S, accuracy=lax.AccuracyMode.HIGHEST),
    "Tolerance: negative": lambda: lax.Tolerance(-1.0),
    "Tolerance: nothing": lambda: lax.Tolerance(),
    "conv_transpose_shape_tuple: padding": lambda: lax.conv_transpose_shape_tuple(
        (1, 3, 8, 8), (4, 3, 3, 3), (1, 1), "FULL", None
    ),
    "index_take: lengths": lambda: lax.index_take(X, (np.arange(2), np.arange(3)), (0, 1)),
    "broadcast_like: more axes": lambda: lax.broadcast_like(X, V),
    "rng_bit_generator: a short key": lambda: lax.rng_bit_generator(KEY_WORDS[:2], (3,)),
    "rng_bit_generator: signed": lambda: lax.rng_bit_generator(KEY_WORDS, (3,), np.int32),
    "rng_bit_generator: algorithm": lambda: lax.rng_bit_generator(KEY_WORDS, (3,), algorithm=7),
    "rng_uniform: arrays": lambda: lax.rng_uniform(np.zeros(2), np.ones(2), (2,)),
    "rng_uniform: two dtypes": lambda: lax.rng_uniform(np.float32(0), 1, (2,)),
    "rng_uniform: bytes": lambda: lax.rng_uniform(np.uint8(0), np.uint8(9), (2,)),
    "rng_uniform: derivative": lambda: jax.grad(lambda b: lax.rng_uniform(0.0, b, ()))(1.0),
    "rng_uniform: rows": lambda: jax.vmap(lambda b: lax.rng_uniform(0.0, b, (2,)))(np.ones(2)),
    "top_k: keys": lambda: lax.top_k(KEYS, 1),
    "top_k: a scalar, by hand": lambda: bound("top_k", S, k=1),
    # ops/matrix.py, and the ops of matrices
    "cholesky: a vector": lambda: linalg.cholesky(V),
    "cholesky: no square": lambda: linalg.cholesky(X),
    "cholesky: integers": lambda: bound("cholesky", SQUARE.astype(int)),
    "eigh: an implementation": lambda: linalg.eigh(SQUARE, implementation="jacobi"),  # type: ignore[arg-type]
    "eigh: a subset": lambda: linalg.eigh(SQUARE, subset_by_index=(0, 1)),
    "eig: an implementation": lambda: linalg.eig(
        SQUARE, implementation=linalg.EigImplementation.CUSOLVER
    ),
    "eig: a derivative": lambda: jax.jvp(linalg.eig, (SQUARE,), (SQUARE,)),
    "householder_product: dtypes": lambda: linalg.householder_product(
        SQUARE, np.ones(3, np.float16)
    ),
    "householder_product: shapes": lambda: linalg.householder_product(SQUARE, X),
    "householder_product: too many": lambda: linalg.householder_product(SQUARE[:, :2], V),
    "householder_product: columns": lambda: linalg.householder_product(X, V[:2]),
    "ormqr: dtypes": lambda: linalg.ormqr(SQUARE, V, SQUARE.astype(np.complex64)),
    "ormqr: batches": lambda: linalg.ormqr(SQUARE, V, SQUARE[None]),
    "ormqr: rows": lambda: linalg.ormqr(SQUARE, V, X),
    "lu_pivots_to_permutation: floats": lambda: linalg.lu_pivots_to_permutation(V, 3),
    "lu_pivots_to_permutation: too many": lambda: linalg.lu_pivots_to_permutation(N[0], 2),
    "qr: MAGMA": lambda: linalg.qr(X, use_magma=True),
    "schur: a derivative": lambda: jax.jvp(linalg.schur, (SQUARE,), (SQUARE,)),
    "schur: sorted": lambda: linalg.schur(SQUARE, sort_eig_vals=True),
    "hessenberg: a derivative": lambda: jax.jvp(linalg.hessenberg, (SQUARE,), (SQUARE,)),
    "triangular_solve: dtypes": lambda: linalg.triangular_solve(
        SQUARE, SQUARE.astype(np.complex64)
    ),
    "triangular_solve: batches": lambda: linalg.triangular_solve(SQUARE, SQUARE[None]),
    "triangular_solve: rows": lambda: linalg.triangular_solve(SQUARE, X, left_side=True),
    "tridiagonal: a derivative": lambda: jax.jvp(linalg.tridiagonal, (SQUARE,), (SQUARE,)),
    "tridiagonal_solve: dtypes": lambda: linalg.tridiagonal_solve(
        V, V, V, SQUARE.astype(np.complex64)
    ),
    "tridiagonal_solve: rows": lambda: linalg.tridiagonal_solve(V, V, V, X),
    # what a platform does not have
    "eigh: a platform": lambda: lowered("tpu", linalg.eigh, SQUARE),
    "eig: a platform": lambda: lowered("gpu", linalg.eig, SQUARE),
    "householder_product: a platform": lambda: lowered(
        "tpu", linalg.householder_product, SQUARE, V
    ),
    "ormqr: a platform": lambda: lowered("tpu", linalg.ormqr, SQUARE, V, SQUARE),
    "lu: a platform": lambda: lowered("tpu", linalg.lu, SQUARE),
    "geqrf: a platform": lambda: lowered("tpu", geqrf, SQUARE),
    "qr: pivoting on a platform": lambda: lowered(
        "gpu", lambda x: linalg.qr(x, pivoting=True), SQUARE
    ),
    "schur: a platform": lambda: lowered("gpu", linalg.schur, SQUARE),
    "hessenberg: a platform": lambda: lowered("gpu", linalg.hessenberg, SQUARE),
    "svd: a platform": lambda: lowered("tpu", linalg.svd, SQUARE),
    "svd: an algorithm": lambda: lowered(
        "cpu", lambda x: linalg.svd(x, algorithm=linalg.SvdAlgorithm.JACOBI), SQUARE
    ),
    "tridiagonal: a platform": lambda: lowered("tpu", linalg.tridiagonal, SQUARE),
    "tridiagonal_solve: a platform": lambda: lowered(
        "gpu", linalg.tridiagonal_solve, V, V, V, SQUARE
    ),
    # ops/callback.py, ops/check.py
    "pure_callback: no function": lambda: jax.pure_callback(3, V, V),  # type: ignore[arg-type]
    "pure_callback: results": lambda: jax.pure_callback(lambda x: (x, x), V, V),
    "pure_callback: another dtype": lambda: jax.pure_callback(lambda x: x * 1.5, N[0], N[0]),
    "pure_callback: declared by text": lambda: jax.pure_callback(np.sin, "float32", V),
    "pure_callback: two ways of vmap": lambda: jax.pure_callback(
        np.sin, V, V, vectorized=True, vmap_method="sequential"
    ),
    "pure_callback: a vmap_method": lambda: jax.pure_callback(np.sin, V, V, vmap_method="loop"),
    "pure_callback: a derivative": lambda: jax.grad(lambda x: jax.pure_callback(np.sin, S, x))(S),
    "io_callback: a derivative": lambda: jax.grad(
        lambda x: jax.experimental.io_callback(np.sin, S, x)
    )(S),
    "callback: a platform": lambda: lowered("tpu", lambda x: jax.pure_callback(np.sin, V, x), V),
    "check: no bool": lambda: checkify.check(1, "is one"),  # type: ignore[arg-type]
    "check: compiled": lambda: jax.jit(lambda x: checkify.check(x > 0, "x is positive"))(S),
    "check: false": lambda: checkify.check(False, "x is {}", 3),
    # ops/across.py
    "map over processes: in a loop": lambda: lowered(
        "cpu", lambda x: bound("join_rows", x, share=SHARE), V
    ),
    "map over processes: on NumPy arrays": lambda: registered("join_rows").numpy(V, share=SHARE),
    "check: an int, by hand": lambda: registered("check").type(type_of(K), site=None),
}
