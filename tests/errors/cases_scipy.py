"""Mistakes with Fourier transforms, segments, images and the functions of plait.scipy."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import image, lax
from plait.custom_batching import custom_vmap
from plait.scipy import (
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    special,
    stats,
)
from plait.scipy.cluster import vq
from plait.scipy.sparse import linalg as sparse
from plait.scipy.spatial.transform import Rotation, Slerp

X, V, K = np.ones((4, 2), np.float32), np.ones(4, np.float32), np.arange(4)
ones = np.ones
minimize, segment_sum = optimize.minimize, jax.ops.segment_sum
interpolator = interpolate.RegularGridInterpolator


def with_rule(rule: Any) -> Any:
    f = custom_vmap(lambda x: x)
    f.def_vmap(rule)
    return jax.vmap(f)(V)


def closing() -> Any:
    def rows(x: Any) -> Any:
        f = custom_vmap(lambda y: x * y)
        f.def_vmap(lambda size, batched, y: (y, True))
        return f(x)

    return jax.vmap(rows)(V)


def scaled(scale: Any, dims: Any = (0, 1), method: str = "linear") -> Any:
    return image.scale_and_translate(X, (2, 2), dims, scale, ones(2), method)


CASES = {
    "fft: an axis": lambda: jnp.fft.fft(X, axis=2),
    "fft: no points": lambda: jnp.fft.fft(X, n=0),
    "fft: half a point": lambda: jnp.fft.fft(X, n=2.5),  # type: ignore[arg-type]
    "fft: a norm": lambda: jnp.fft.fft(X, norm="orto"),
    "fft: a list": lambda: jnp.fft.fft([1, 2]),
    "fft: a traced size": lambda: jax.jit(lambda n: jnp.fft.fft(X, n))(3),
    "rfft: complex numbers": lambda: jnp.fft.rfft(X * 1j),
    "fftn: more sizes than axes": lambda: jnp.fft.fftn(X, s=(1, 2, 3)),
    "fftn: an axis twice": lambda: jnp.fft.fftn(X, axes=(0, 0)),
    "lax.fft: a type": lambda: lax.fft(X, "fftt", (2,)),
    "dct: a type": lambda: fft.dct(X, type=5),
    "dct: a norm": lambda: fft.dct(X, norm="orto"),
    "dct: too few points": lambda: fft.dct(X[:1], type=1, axis=0),
    "segment_sum: ids of floats": lambda: segment_sum(X, V),
    "segment_sum: too few ids": lambda: segment_sum(X, K[:2]),
    "segment_sum: a negative number": lambda: segment_sum(X, K, num_segments=-1),
    "segment_sum: a mode": lambda: segment_sum(X, K, mode="clamp"),
    "segment_sum: truth values": lambda: segment_sum(X > 0, K),
    "segment_sum: traced ids": lambda: jax.jit(segment_sum)(X, K),
    "resize: a method": lambda: image.resize(X, (2, 2), "linaer"),
    "resize: too few sizes": lambda: image.resize(X, (2,), "linear"),
    "resize: a negative size": lambda: image.resize(X, (-1, 2), "linear"),
    "resize: nothing": lambda: image.resize(X[:0], (2, 2), "linear"),
    "scale_and_translate: nearest": lambda: scaled(ones(2), method="nearest"),
    "scale_and_translate: one scale": lambda: scaled(ones(1)),
    "scale_and_translate: an axis": lambda: scaled(ones(2), (0, 4)),
    "map_coordinates: an order": lambda: ndimage.map_coordinates(X, [V, V], order=3),
    "map_coordinates: no order": lambda: ndimage.map_coordinates(X, [V, V], "linear"),  # type: ignore
    "map_coordinates: a mode": lambda: ndimage.map_coordinates(X, [V, V], 1, "mirrored"),
    "map_coordinates: one axis": lambda: ndimage.map_coordinates(X, [V], 1),
    "map_coordinates: sizes": lambda: ndimage.map_coordinates(X, [V, V[:3]], 1),
    "map_coordinates: complex": lambda: ndimage.map_coordinates(X, [V * 1j, V], 1),
    "interpolate: a method": lambda: interpolator((V,), V, method="cubic"),
    "interpolate: points": lambda: interpolator((K[:3] * 1.0,), V),
    "interpolate: places": lambda: interpolator((K * 1.0,), V)(X),
    "trapezoid: an axis": lambda: integrate.trapezoid(X, axis=3),
    "vq: features": lambda: vq.vq(X, ones((2, 3))),
    "minimize: a method": lambda: minimize(jnp.sum, V, method="Newton"),
    "minimize: no function": lambda: minimize(3, V, method="BFGS"),  # type: ignore[arg-type]
    "minimize: a vector": lambda: minimize(lambda x: x * 2, V, method="BFGS"),
    "minimize: a matrix": lambda: minimize(jnp.sum, X, method="BFGS"),
    "minimize: integers": lambda: minimize(jnp.sum, K, method="BFGS"),
    "minimize: an option": lambda: minimize(jnp.sum, V, method="BFGS", options={"tol": 1}),
    "convolve: a mode": lambda: signal.convolve(V, V, mode="full size"),
    "convolve: axes": lambda: signal.convolve(V, X),
    "convolve2d: vectors": lambda: signal.convolve2d(V, V),
    "detrend: a type": lambda: signal.detrend(X, type="quadratic"),
    "stft: an overlap": lambda: signal.stft(V, nperseg=4, noverlap=4),
    "stft: a window": lambda: signal.stft(V, window="han", nperseg=4),
    "logsumexp: an axis": lambda: special.logsumexp(X, axis=3),
    "gamma: text": lambda: special.gamma("x"),
    "erf: complex numbers": lambda: special.erf(1j),
    "polygamma: an order": lambda: special.polygamma(1.5, 2.0),
    "betainc: sizes": lambda: special.betainc(V, V, ones(3)),
    "sph_harm_y: a degree": lambda: special.sph_harm_y(1.0, 0, 0.1, 0.2),
    "sph_harm_y: a traced degree": lambda: jax.jit(special.sph_harm_y)(1, 0, 0.1, 0.2),
    "norm: sizes": lambda: stats.norm.pdf(V, ones(3)),
    "multivariate_normal: a mean": lambda: stats.multivariate_normal.pdf(V, ones(3), ones((3, 3))),
    "multivariate_normal: a cov": lambda: stats.multivariate_normal.pdf(V, V, X),
    "multinomial: outcomes": lambda: stats.multinomial.pmf(K, 6, V[:2]),
    "gaussian_kde: a bandwidth": lambda: stats.gaussian_kde(X, bw_method="scot"),
    "rankdata: a method": lambda: stats.rankdata(V, method="mean"),
    "scipy.cholesky: no square": lambda: linalg.cholesky(X),
    "scipy.solve: rows": lambda: linalg.solve(np.eye(3), X),
    "scipy.solve: assumed": lambda: linalg.solve(np.eye(4), V, assume_a="symmetric"),
    "scipy.expm: no square": lambda: linalg.expm(X),
    "scipy.qr: a mode": lambda: linalg.qr(X, mode="complete"),
    "cg: x0": lambda: sparse.cg(np.eye(4), V, x0=V[:2]),
    "gmres: a method": lambda: sparse.gmres(np.eye(4), V, solve_method="batch"),
    "Rotation: axes": lambda: Rotation.from_euler("abc", ones(3)),
    "Rotation: fixed and moving axes": lambda: Rotation.from_euler("xYz", ones(3)),
    "Rotation: no three axes": lambda: Rotation.identity().as_euler("xxy"),
    "Rotation: angles": lambda: Rotation.from_euler("xyz", ones(2)),
    "Rotation: no quaternion": lambda: Rotation.from_quat(ones(3)),
    "Rotation: a single one": lambda: Rotation.identity()[0],
    "Slerp: times": lambda: Slerp.init(ones(3), Rotation.identity(2)),
    "ragged_dot: sizes": lambda: lax.ragged_dot(X, ones((2, 2, 3), np.float32), K),
    "one_hot: a negative number": lambda: jax.nn.one_hot(K, -1),
    "composite: a version": lambda: lax.composite(jnp.sin, "mine", version="2"),  # type: ignore
    "custom_vmap: no pair": lambda: with_rule(lambda size, batched, x: x),
    "custom_vmap: other containers": lambda: with_rule(lambda n, b, x: ((x, x), (True, True))),
    "custom_vmap: no rows": lambda: with_rule(lambda size, batched, x: (x, False)),
    "custom_vmap: a captured value": closing,
}
