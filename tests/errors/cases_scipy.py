"""Mistakes with Fourier transforms, segments, images and the functions of plait.scipy."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import image, lax
from plait import scipy as package
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
RANDOM = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
KDE = stats.gaussian_kde(K * 1.0)


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
    "dctn: more sizes than axes": lambda: fft.dctn(X, s=(2, 2, 2)),
    "dctn: sizes and axes": lambda: fft.dctn(X, s=(2,), axes=(0, 1)),
    "segment_sum: ids of floats": lambda: segment_sum(X, V),
    "segment_sum: too few ids": lambda: segment_sum(X, K[:2]),
    "segment_sum: a negative number": lambda: segment_sum(X, K, num_segments=-1),
    "segment_sum: a bucket of nothing": lambda: segment_sum(X, K, bucket_size=0),
    "segment_sum: a mode": lambda: segment_sum(X, K, mode="clamp"),
    "segment_sum: truth values": lambda: segment_sum(X > 0, K),
    "segment_sum: traced ids": lambda: jax.jit(segment_sum)(X, K),
    "resize: a method": lambda: image.resize(X, (2, 2), "linaer"),
    "resize: too few sizes": lambda: image.resize(X, (2,), "linear"),
    "resize: a negative size": lambda: image.resize(X, (-1, 2), "linear"),
    "resize: nothing": lambda: image.resize(X[:0], (2, 2), "linear"),
    "scale_and_translate: nearest": lambda: scaled(ones(2), method="nearest"),
    "scale_and_translate: one scale": lambda: scaled(ones(1)),
    "scale_and_translate: sizes": lambda: image.scale_and_translate(
        X, (2,), (0,), ones(1), ones(1), "linear"
    ),
    "scale_and_translate: nothing": lambda: image.scale_and_translate(
        X[:0], (2, 2), (0, 1), ones(2), ones(2), "linear"
    ),
    "scale_and_translate: an axis": lambda: scaled(ones(2), (0, 4)),
    "map_coordinates: an order": lambda: ndimage.map_coordinates(X, [V, V], order=3),
    "map_coordinates: no order": lambda: ndimage.map_coordinates(X, [V, V], "linear"),  # type: ignore
    "map_coordinates: a mode": lambda: ndimage.map_coordinates(X, [V, V], 1, "mirrored"),
    "map_coordinates: one axis": lambda: ndimage.map_coordinates(X, [V], 1),
    "map_coordinates: sizes": lambda: ndimage.map_coordinates(X, [V, V[:3]], 1),
    "map_coordinates: complex": lambda: ndimage.map_coordinates(X, [V * 1j, V], 1),
    "map_coordinates: nothing": lambda: ndimage.map_coordinates(X[:0], [V, V], 1),
    "interpolate: an error": lambda: interpolator((V,), V, bounds_error=True),
    "interpolate: too many axes": lambda: interpolator((K * 1.0, K * 1.0), V),
    "interpolate: a complex fill_value": lambda: interpolator((K * 1.0,), V, fill_value=1j),
    "interpolate: complex points": lambda: interpolator((K * 1j,), V),
    "interpolate: points that fall": lambda: interpolator((-K * 1.0,), V),
    "interpolate: a tuple of places": lambda: interpolator((K * 1.0,), V)((V, V)),
    "interpolate: a method": lambda: interpolator((V,), V, method="cubic"),
    "interpolate: points": lambda: interpolator((K[:3] * 1.0,), V),
    "interpolate: places": lambda: interpolator((K * 1.0,), V)(X),
    "trapezoid: an axis": lambda: integrate.trapezoid(X, axis=3),
    "vq: features": lambda: vq.vq(X, ones((2, 3))),
    "vq: no entries": lambda: vq.vq(X, X[:0]),
    "minimize: args": lambda: minimize(lambda x, a: jnp.sum(x), V, [1.0], method="BFGS"),  # type: ignore
    "minimize: a method": lambda: minimize(jnp.sum, V, method="Newton"),
    "minimize: no function": lambda: minimize(3, V, method="BFGS"),  # type: ignore[arg-type]
    "minimize: a vector": lambda: minimize(lambda x: x * 2, V, method="BFGS"),
    "minimize: a matrix": lambda: minimize(jnp.sum, X, method="BFGS"),
    "minimize: integers": lambda: minimize(jnp.sum, K, method="BFGS"),
    "minimize: an option": lambda: minimize(jnp.sum, V, method="BFGS", options={"tol": 1}),
    "convolve: a mode": lambda: signal.convolve(V, V, mode="full size"),
    "convolve: axes": lambda: signal.convolve(V, X),
    "convolve: nothing": lambda: signal.convolve(V, V[:0]),
    "convolve: a method": lambda: signal.convolve(V, V, method="fast"),
    "convolve: valid": lambda: signal.convolve(X, ones((2, 3)), mode="valid"),
    "fftconvolve: other axes": lambda: signal.fftconvolve(X, ones((3, 2)), axes=1),
    "convolve2d: a boundary": lambda: signal.convolve2d(X, X, boundary="mirror"),
    "convolve2d: vectors": lambda: signal.convolve2d(V, V),
    "detrend: a type": lambda: signal.detrend(X, type="quadratic"),
    "detrend: in place": lambda: signal.detrend(X, overwrite_data=True),  # type: ignore
    "detrend: a breakpoint": lambda: signal.detrend(X, axis=0, bp=[0, 9]),
    "welch: a scaling": lambda: signal.welch(V, scaling="power"),
    "welch: an average": lambda: signal.welch(V, average="mode"),
    "stft: no points": lambda: signal.stft(V, nperseg=0),
    "stft: fewer points than a segment": lambda: signal.stft(V, nperseg=4, nfft=2),
    "stft: a boundary": lambda: signal.stft(V, nperseg=2, boundary="mirror"),
    "stft: a window of two axes": lambda: signal.stft(V, window=X),
    "stft: a window of another size": lambda: signal.stft(V, window=V, nperseg=2),
    "stft: a long window": lambda: signal.welch(V, window=ones(8)),
    "stft: parameters of a window": lambda: signal.stft(V, window=("hann", 2.0), nperseg=4),
    "stft: no parameters of a window": lambda: signal.stft(V, window=("kaiser",), nperseg=4),
    "istft: one axis": lambda: signal.istft(V),
    "istft: the same axis twice": lambda: signal.istft(X, time_axis=0, freq_axis=0),
    "stft: an overlap": lambda: signal.stft(V, nperseg=4, noverlap=4),
    "stft: a window": lambda: signal.stft(V, window="han", nperseg=4),
    "logsumexp: an axis": lambda: special.logsumexp(X, axis=3),
    "gamma: text": lambda: special.gamma("x"),
    "erf: complex numbers": lambda: special.erf(1j),
    "ndtr: integers": lambda: special.ndtr(K),
    "factorial: exact": lambda: special.factorial(3, exact=True),
    "bernoulli: a negative number": lambda: special.bernoulli(-1),
    "log_ndtr: an order of floats": lambda: special.log_ndtr(V, 1.5),  # type: ignore[arg-type]
    "log_ndtr: a high order": lambda: special.log_ndtr(V, 31),
    "bessel_jn: a negative order": lambda: special.bessel_jn(V, v=-1),
    "polygamma: an order": lambda: special.polygamma(1.5, 2.0),
    "betainc: sizes": lambda: special.betainc(V, V, ones(3)),
    "sph_harm_y: a degree": lambda: special.sph_harm_y(1.0, 0, 0.1, 0.2),
    "sph_harm_y: a derivative": lambda: special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1),
    "sph_harm_y: complex angles": lambda: special.sph_harm_y(1, 0, 0.1j, 0.2),
    "sph_harm_y: a traced degree": lambda: jax.jit(special.sph_harm_y)(1, 0, 0.1, 0.2),
    "norm: sizes": lambda: stats.norm.pdf(V, ones(3)),
    "multivariate_normal: a mean": lambda: stats.multivariate_normal.pdf(V, ones(3), ones((3, 3))),
    "multivariate_normal: a cov": lambda: stats.multivariate_normal.pdf(V, V, X),
    "multivariate_normal: singular": lambda: stats.multivariate_normal.logpdf(
        V,
        V,
        np.eye(4),
        allow_singular=True,  # type: ignore[arg-type]
    ),
    "dirichlet: alpha": lambda: stats.dirichlet.pdf(V, X),
    "dirichlet: shares": lambda: stats.dirichlet.pdf(V[:2], V),
    "multinomial: counts of floats": lambda: stats.multinomial.pmf(V, 4, V / 4),
    "multinomial: trials of floats": lambda: stats.multinomial.pmf(K, 6.0, V / 4),
    "multinomial: outcomes": lambda: stats.multinomial.pmf(K, 6, V[:2]),
    "gaussian_kde: a bandwidth": lambda: stats.gaussian_kde(X, bw_method="scot"),
    "gaussian_kde: complex numbers": lambda: stats.gaussian_kde(X * 1j),
    "gaussian_kde: one number": lambda: stats.gaussian_kde(V[:1]),
    "gaussian_kde: weights": lambda: stats.gaussian_kde(V, weights=V[:2]),
    "gaussian_kde: points": lambda: KDE(X),
    "gaussian_kde: a mean": lambda: KDE.integrate_gaussian(V, 1.0),
    "gaussian_kde: an interval": lambda: KDE.integrate_box_1d(V, 1.0),
    "gaussian_kde: dimensions": lambda: KDE.integrate_kde(stats.gaussian_kde(RANDOM)),
    "gaussian_kde: a box": lambda: KDE.integrate_box(0.0, 1.0),
    "gaussian_kde: another bandwidth": lambda: KDE.set_bandwidth(0.5),
    "gaussian_kde: an attribute": lambda: setattr(KDE, "weights", V),
    "mode: NaN": lambda: stats.mode(V, nan_policy="omit"),
    "sem: NaN": lambda: stats.sem(V, nan_policy="raise"),
    "rankdata: a method": lambda: stats.rankdata(V, method="mean"),
    "scipy.cholesky: no square": lambda: linalg.cholesky(X),
    "scipy.solve: rows": lambda: linalg.solve(np.eye(3), X),
    "scipy.solve: assumed": lambda: linalg.solve(np.eye(4), V, assume_a="symmetric"),
    "cho_solve: rows": lambda: linalg.cho_solve((np.eye(3), True), X),
    "solve_triangular: trans": lambda: linalg.solve_triangular(np.eye(4), V, trans="H"),
    "lu_solve: trans": lambda: linalg.lu_solve((np.eye(4), K), V, trans=3),
    "qr_multiply: a mode": lambda: linalg.qr_multiply(X, X, mode="both"),
    "qr_multiply: sizes": lambda: linalg.qr_multiply(X, ones((3, 3))),
    "scipy.eigh: some eigenvalues": lambda: linalg.eigh(np.eye(3), eigvals=(0, 1)),  # type: ignore
    "scipy.eigh: a type": lambda: linalg.eigh(np.eye(3), np.eye(3), type=4),
    "eigh_tridiagonal: sizes": lambda: linalg.eigh_tridiagonal(V, V),
    "eigh_tridiagonal: complex numbers": lambda: linalg.eigh_tridiagonal(V * 1j, V[:3]),
    "eigh_tridiagonal: select": lambda: linalg.eigh_tridiagonal(V, V[:3], select="v"),
    "eigh_tridiagonal: a range": lambda: linalg.eigh_tridiagonal(
        V, V[:3], select="i", select_range=(2, 4)
    ),
    "scipy.svd: a driver": lambda: linalg.svd(X, lapack_driver="gesv"),
    "schur: an output": lambda: linalg.schur(np.eye(3), output="comlex"),
    "polar: a side": lambda: linalg.polar(X, side="up"),
    "polar: a method": lambda: linalg.polar(X, method="newton"),
    "expm_frechet: sizes": lambda: linalg.expm_frechet(np.eye(3), np.eye(4)),
    "sqrtm: blocks": lambda: linalg.sqrtm(np.eye(3), blocksize=64),
    "sqrtm: several matrices": lambda: linalg.sqrtm(ones((2, 3, 3))),
    "rsf2csf: sizes": lambda: linalg.rsf2csf(np.eye(3), np.eye(4)),
    "solve_sylvester: a method": lambda: linalg.solve_sylvester(*[np.eye(3)] * 3, method="qz"),
    "solve_sylvester: sizes": lambda: linalg.solve_sylvester(np.eye(3), np.eye(2), np.eye(3)),
    "circulant: a number": lambda: linalg.circulant(1.0),
    "companion: one coefficient": lambda: linalg.companion(V[:1]),
    "fiedler_companion: a matrix": lambda: linalg.fiedler_companion(X),
    "leslie: sizes": lambda: linalg.leslie(V, V),
    "convolution_matrix: no columns": lambda: linalg.convolution_matrix(V, 0),
    "convolution_matrix: a mode": lambda: linalg.convolution_matrix(V, 2, mode="ful"),
    "hilbert: a negative size": lambda: linalg.hilbert(-1),
    "hilbert: a size of floats": lambda: linalg.hilbert(2.5),  # type: ignore[arg-type]
    "pascal: a kind": lambda: linalg.pascal(3, kind="full"),
    "hadamard: no power of 2": lambda: linalg.hadamard(6),
    "dft: a scale": lambda: linalg.dft(4, scale="n²"),
    "scipy.expm: no square": lambda: linalg.expm(X),
    "scipy.qr: a mode": lambda: linalg.qr(X, mode="complete"),
    "cg: x0": lambda: sparse.cg(np.eye(4), V, x0=V[:2]),
    "cg: no matrix": lambda: sparse.cg("identity", V),
    "cg: no square": lambda: sparse.cg(X, V),
    "cg: no square M": lambda: sparse.cg(np.eye(4), V, M=X),
    "cg: structures": lambda: sparse.cg(np.eye(4), V, x0=(V,)),
    "cg: half precision": lambda: sparse.cg(np.eye(4, dtype=np.float16), V.astype(np.float16)),
    "gmres: a method": lambda: sparse.gmres(np.eye(4), V, solve_method="batch"),
    "Rotation: axes": lambda: Rotation.from_euler("abc", ones(3)),
    "Rotation: fixed and moving axes": lambda: Rotation.from_euler("xYz", ones(3)),
    "Rotation: no three axes": lambda: Rotation.identity().as_euler("xxy"),
    "Rotation: angles": lambda: Rotation.from_euler("xyz", ones(2)),
    "Rotation: no quaternion": lambda: Rotation.from_quat(ones(3)),
    "Rotation: no matrix": lambda: Rotation.from_matrix(ones(3)),
    "Rotation: weights": lambda: Rotation.identity(3).mean(ones(2)),
    "Slerp: no rotations": lambda: Slerp.init(ones(3), X),  # type: ignore[arg-type]
    "Rotation: a single one": lambda: Rotation.identity()[0],
    "Slerp: times": lambda: Slerp.init(ones(3), Rotation.identity(2)),
    "scipy: no such module": lambda: package.odr,
    "ragged_dot: sizes": lambda: lax.ragged_dot(X, ones((2, 2, 3), np.float32), K),
    "one_hot: a negative number": lambda: jax.nn.one_hot(K, -1),
    "composite: a version": lambda: lax.composite(jnp.sin, "mine", version="2"),  # type: ignore
    "custom_vmap: no pair": lambda: with_rule(lambda size, batched, x: x),
    "custom_vmap: other containers": lambda: with_rule(lambda n, b, x: ((x, x), (True, True))),
    "custom_vmap: no rows": lambda: with_rule(lambda size, batched, x: (x, False)),
    "custom_vmap: a captured value": closing,
}
