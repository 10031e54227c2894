"""Trends and spectra of plait.scipy.signal: lines taken away, and transforms of segments.

A signal is cut into segments that overlap; each is weighted by a window and transformed. Source:
Welch, "The use of fast Fourier transform for the estimation of power spectra" (1967).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of
from plait.core.source import called, warn
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError
from plait.numpy.promotion import (
    astype,
    axis_in,
    broadcast_shapes,
    is_traced_or_device,
    operand,
    promote_dtypes,
    static_int,
    to_inexact,
    value,
)
from plait.ops import axes as ops
from plait.ops.dynamic_slice import dynamic_slice_in_dim
from plait.ops.functions import complex as complex_of_parts
from plait.ops.slices import pad, slice_in_dim
from plait.scipy.signal_windows import window_weights
from plait.transforms.grad import linear_transpose
from plait.transforms.shapes import ShapeDtypeStruct
from plait.transforms.vmap import vmap


class _Segments(NamedTuple):
    """How a signal is cut: sizes of segments, of their overlap and of the transforms; weights."""

    size: int
    overlap: int
    points: int
    weights: Any

    @property
    def step(self) -> int:
        return self.size - self.overlap


def _segments(
    op: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, length: int | None, dtype: Any
) -> _Segments:
    """The segments that arguments mean; length is that of the signal, None if it is not known."""
    size = None if nperseg is None else static_int(nperseg, op, "nperseg")
    if size is not None and size < 1:
        raise ArgumentError("nperseg is at least 1", op=op, nperseg=size)
    if isinstance(window, str | tuple | float | int):
        size = 256 if size is None else size
        if length is not None and size > length:
            warn(
                f"{op}: segments of {size} points are longer than the signal, and are cut to "
                f"{length}"
            )
            size = length
        weights: Any = window_weights(op, window, size)
    else:
        weights = value(op, window) if is_traced_or_device(window) else np.asarray(window)
        if weights.ndim != 1:
            raise ShapeError("the weights of a window have one axis", op=op, window=weights)
        if size not in (None, weights.shape[0]):
            raise ArgumentError(
                "the window has another number of points than a segment",
                op=op,
                window=weights,
                nperseg=size,
            )
        size = weights.shape[0]
        if length is not None and size > length:
            raise ArgumentError(
                "the window is longer than the signal", op=op, window=weights, length=length
            )
    points = size if nfft is None else static_int(nfft, op, "nfft")
    if points < size:
        raise ArgumentError("nfft is at least nperseg", op=op, nfft=points, nperseg=size)
    overlap = size // 2 if noverlap is None else static_int(noverlap, op, "noverlap")
    if overlap >= size > 0:
        raise ArgumentError("noverlap is less than nperseg", op=op, noverlap=overlap, nperseg=size)
    kind = dtype if weights.dtype not in dtypes.COMPLEX else dtypes.complex_of(dtype)
    if isinstance(weights, np.ndarray):
        return _Segments(size, overlap, points, weights.astype(kind))
    return _Segments(size, overlap, points, astype(weights, kind))


# --- cutting, and putting together again


def _cut(x: Any, size: int, step: int) -> Any:
    """The segments of the last axis: [..., n] -> [..., segments, size]."""
    starts = step * np.arange(max(0, (x.shape[-1] - size) // step + 1))
    segment = vmap(lambda at: dynamic_slice_in_dim(x, at, size, -1), out_axes=-2)
    return segment(starts.astype(np.int32))


def _sum_overlapping(segments: Any, step: int) -> Any:
    """The transpose of _cut: segments put where they came from, and added up."""
    *outer, count, size = segments.shape
    whole = ShapeDtypeStruct((*outer, (count - 1) * step + size), segments.dtype)
    return linear_transpose(lambda x: _cut(x, size, step), whole)(segments)[0]


def _last(ndim: int, high: int) -> list[tuple[int, int, int]]:
    """Padding behind the last axis; negative padding cuts."""
    return [(0, 0, 0)] * (ndim - 1) + [(0, high, 0)]


# --- trends


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: None = None,
) -> Any:
    """Data without its mean ("constant") or without the line that fits it best ("linear"), along an
    axis; between breakpoints bp a line each.

    >>> plait.scipy.signal.detrend(np.float32([1, 2, 4, 5])).round(2)
    Array([ 0.1, -0.3,  0.3, -0.1], dtype=float32)
    """
    op = "signal.detrend"
    if overwrite_data is not None:
        raise UnsupportedError("arrays do not change in place", op=op, fix="overwrite_data=None")
    x = value(op, to_inexact(op, value(op, data)))
    axis = axis_in(axis, x.ndim, op)
    n = x.shape[axis]
    if type not in ("linear", "l", "constant", "c"):
        raise ArgumentError("type is 'linear' or 'constant'", op=called(op), type=type)
    if type[0] == "c":
        return jnp.subtract(x, jnp.mean(x, axis, keepdims=True))
    inner = [static_int(k, op, "bp") for k in np.atleast_1d(np.asarray(bp)).tolist()]
    if any(not 0 <= k <= n for k in inner):
        raise ArgumentError(f"breakpoints are at least 0 and at most {n}", op=op, bp=inner)
    bounds = sorted({0, n, *inner})
    rows = ops.move_axis(x, axis, x.ndim - 1)
    parts = [_without_line(rows[..., a:z]) for a, z in itertools.pairwise(bounds)]
    y = jnp.concatenate(parts, -1) if parts else rows
    return ops.move_axis(y, x.ndim - 1, axis)


def _without_line(x: Any) -> Any:
    # With the places counted from their mean, mean and slope of the best line are independent.
    n = x.shape[-1]
    place = np.arange(n) - (n - 1) / 2
    x = jnp.subtract(x, jnp.mean(x, -1, keepdims=True))
    weights = (place / (np.sum(place**2) or 1.0)).astype(x.dtype)
    slope = jnp.sum(jnp.multiply(x, weights), -1, keepdims=True)
    return jnp.subtract(x, jnp.multiply(slope, place.astype(x.dtype)))


# --- spectra


def _check_rate(op: str, fs: Any) -> None:
    if type_of(operand(op, fs)).dtype in dtypes.COMPLEX:
        raise DtypeError("fs is a real number", op=op, fs=fs)


def _trend(op: str, kind: Any) -> Callable[[Any], Any]:
    if callable(kind):
        return kind
    if not kind:
        return lambda x: x
    return lambda x: detrend(x, -1, kind)


def _weighted(x: Any, cut: _Segments, trend: Callable[[Any], Any], half: bool) -> Any:
    """The transforms of the segments: [..., frequencies, segments]."""
    parts = jnp.multiply(trend(_cut(x, cut.size, cut.step)), cut.weights)
    parts = value("signal", parts)
    y = (jnp.fft.rfft if half else jnp.fft.fft)(parts, cut.points)
    return jnp.swapaxes(y, -1, -2)


_BOUNDARIES: dict[Any, dict[str, Any]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
}


def _axis_last(op: str, x: Any, axis: int) -> Any:
    return ops.move_axis(x, axis_in(axis, x.ndim, op), x.ndim - 1)


def _alike(op: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two signals in one dtype and one shape: the shorter one goes on with zeros."""
    x, y = promote_dtypes(op, (x, y))
    outer = broadcast_shapes(x.shape[:-1], y.shape[:-1])
    n = max(x.shape[-1], y.shape[-1])
    zero = np.zeros((), x.dtype)
    longer = (pad(v, zero, _last(v.ndim, n - v.shape[-1])) for v in (x, y))
    x, y = (ops.broadcast_to(v, (*outer, n)) for v in longer)
    return x, y


def _spectra(
    op: str,
    x: Any,
    y: Any,
    *,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    power: bool,
    boundary: str | None = None,
    padded: bool = False,
) -> tuple[Any, Any, Any]:
    """(frequencies, times, spectra [..., frequencies, ..., segments]); power makes products of the
    spectra of x and y (or of x with itself if y is None) of spectra.
    """
    _check_rate(op, fs)
    if scaling not in ("density", "spectrum"):
        raise ArgumentError("scaling is 'density' or 'spectrum'", op=op, scaling=scaling)
    if boundary is not None and not is_one_of(boundary, _BOUNDARIES):
        fix = "'even', 'odd', 'constant', 'zeros' or None"
        raise ArgumentError("there is no such boundary", op=op, boundary=boundary, fix=fix)
    x = value(op, to_inexact(op, value(op, x)))
    at, x = x.ndim, _axis_last(op, x, axis)
    if y is not None:
        y = value(op, to_inexact(op, value(op, y, 1)))
        at = max(at, y.ndim)
        x, y = _alike(op, x, _axis_last(op, y, axis))
    axis = axis_in(axis, at, op)
    if not x.size:
        none = jnp.zeros(ops.move_axis(x, x.ndim - 1, axis).shape, dtypes.real_of(x.dtype))
        return none, none, none if power and y is None else astype(none, dtypes.complex_of(x.dtype))
    real = dtypes.real_of(x.dtype)
    real = dtypes.float32 if real.itemsize < 4 else real
    cut = _segments(op, window, nperseg, noverlap, nfft, x.shape[-1], real)
    half = return_onesided and x.dtype not in dtypes.COMPLEX
    half = half and cut.weights.dtype not in dtypes.COMPLEX
    if return_onesided and not half:
        warn(f"{op}: of complex numbers both sides of the spectrum are returned")
    trend = _trend(op, detrend)
    if boundary is not None:
        edges = [(0, 0)] * (x.ndim - 1) + [(cut.size // 2, cut.size // 2)]
        x = jnp.pad(x, edges, **_BOUNDARIES[boundary])
    if padded:
        x = pad(x, np.zeros((), x.dtype), _last(x.ndim, -(x.shape[-1] - cut.size) % cut.step))
    spectra = _weighted(x, cut, trend, half)
    if power:
        if y is not None:
            other = _weighted(y, cut, trend, half)
            spectra = jnp.multiply(jnp.conj(spectra), other)
        else:
            spectra = jnp.real(jnp.multiply(jnp.conj(spectra), spectra))
    weights = cut.weights
    if scaling == "density":
        scale = jnp.true_divide(1, jnp.multiply(fs, jnp.sum(jnp.multiply(weights, weights))))
    else:
        scale = jnp.true_divide(1, jnp.square(jnp.sum(weights)))
    if not power:
        scale = jnp.sqrt(scale)
    spectra = jnp.multiply(spectra, astype(value(op, scale), real))
    if half and power:
        # The other half is the same again, but for frequency 0 and the highest of an even number.
        twice = np.full((spectra.shape[-2], 1), 2, real)
        twice[0] = 1
        if cut.points % 2 == 0:
            twice[-1] = 1
        spectra = jnp.multiply(spectra, twice)
    distance = jnp.true_divide(1, fs)
    frequencies = (jnp.fft.rfftfreq if half else jnp.fft.fftfreq)(cut.points, distance, dtype=real)
    first = 0.0 if boundary is not None else cut.size / 2
    places = first + cut.step * np.arange(spectra.shape[-1], dtype=real)
    times = value(op, astype(value(op, jnp.true_divide(places, fs)), real))
    return frequencies, times, ops.move_axis(spectra, spectra.ndim - 2, axis)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """(frequencies, cross power spectral density of x and y), averaged over segments.

    fs is the number of points per unit of time. window names the weights of the points of a segment
    ("hann", ("kaiser", 8.0), ...) or is an array of them; nperseg is the number of points of a
    segment (256, but at most all), noverlap the number it shares with the next (half of them), nfft
    that of the transform. detrend: "constant", "linear", False or a function of segments. scaling:
    "density", power per frequency, or "spectrum", power. average: "mean" or "median". With y None
    the spectrum of x alone, which is real.

    >>> x = np.cos(np.pi * np.arange(8, dtype=np.float32) / 2)
    >>> f, p = plait.scipy.signal.csd(x, x, nperseg=4, window="boxcar", scaling="spectrum")
    >>> f, p.real.round(3)
    (Array([0.  , 0.25, 0.5 ], dtype=float32), Array([0. , 0.5, 0. ], dtype=float32))
    """
    return _averaged(
        "signal.csd",
        x,
        y,
        average,
        fs=fs,
        window=window,
        nperseg=nperseg,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        return_onesided=return_onesided,
        scaling=scaling,
        axis=axis,
    )


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """(frequencies, power spectral density of x), averaged over segments; arguments: csd.

    >>> x = np.cos(np.pi * np.arange(8, dtype=np.float32) / 2)
    >>> plait.scipy.signal.welch(x, nperseg=4, window="boxcar")[1].round(3)
    Array([0., 2., 0.], dtype=float32)
    """
    return _averaged(
        "signal.welch",
        x,
        None,
        average,
        fs=fs,
        window=window,
        nperseg=nperseg,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        return_onesided=return_onesided,
        scaling=scaling,
        axis=axis,
    )


def _averaged(op: str, x: Any, y: Any, average: str, **options: Any) -> tuple[Any, Any]:
    if average not in ("mean", "median"):
        raise ArgumentError("average is 'mean' or 'median'", op=op, average=average)
    frequencies, _, spectra = _spectra(op, x, y, power=True, **options)
    if not spectra.size:
        return frequencies, spectra
    if average == "mean" or spectra.shape[-1] == 1:
        return frequencies, jnp.mean(spectra, -1)
    # The median of the powers of noise, which are exponentially distributed, over their mean:
    # 1 - 1/2 + 1/3 - ... with an odd number of terms (Allen et al. 2012, appendix B).
    terms = np.arange(1, spectra.shape[-1] + spectra.shape[-1] % 2)
    bias = float(np.sum((-1.0) ** (terms - 1) / terms))
    if spectra.dtype in dtypes.COMPLEX:
        middle = jnp.median(jnp.real(spectra), -1), jnp.median(jnp.imag(spectra), -1)
        return frequencies, jnp.true_divide(complex_of_parts(*middle), bias)
    return frequencies, jnp.true_divide(jnp.median(spectra, -1), bias)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """(frequencies, times, transforms of the segments of x), the segments along a new last axis.

    boundary says what half a segment before and after x is filled with: "zeros", "constant" (the
    last point), "even" or "odd" mirror images; None adds nothing. padded adds zeros behind until
    the last segment is whole. Other arguments as for csd.

    >>> f, t, z = plait.scipy.signal.stft(np.ones(8, np.float32), nperseg=4, window="boxcar")
    >>> t, abs(z[0])
    (Array([0., 2., 4., 6., 8.], dtype=float32), Array([0.5, 1. , 1. , 1. , 0.5], dtype=float32))
    """
    return _spectra(
        "signal.stft",
        x,
        None,
        fs=fs,
        window=window,
        nperseg=nperseg,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        return_onesided=return_onesided,
        scaling="spectrum",
        axis=axis,
        power=False,
        boundary=boundary,
        padded=padded,
    )


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """(times, signal): the inverse of stft, where the windows leave no point without weight.

    Arguments as they were for stft; boundary: whether half a segment was added at both ends. Of
    times there are as many as points of each signal; JAX and SciPy count the first axis, whichever.
    Source: Griffin and Lim, "Signal estimation from modified short-time Fourier transform" (1984).

    >>> signal = plait.scipy.signal
    >>> _, _, z = signal.stft(np.arange(8, dtype=np.float32), nperseg=4)
    >>> signal.istft(z)[1].round(3)
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    op = "signal.istft"
    _check_rate(op, fs)
    z = value(op, Zxx)
    if z.ndim < 2:
        raise ShapeError("needs an axis of frequencies and one of times", op=op, Zxx=z)
    z = astype(z, dtypes.complex_of(dtypes.real_of(z.dtype)))
    time, frequency = axis_in(time_axis, z.ndim, op), axis_in(freq_axis, z.ndim, op)
    if time == frequency:
        raise ArgumentError(
            "frequencies and times need axes of their own",
            op=op,
            Zxx=z,
            time_axis=time_axis,
            freq_axis=freq_axis,
        )
    outer = [k for k in range(z.ndim) if k not in (time, frequency)]
    z = ops.permute(z, [*outer, time, frequency])
    whole = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    size = whole if nperseg is None else static_int(nperseg, op, "nperseg")
    if nfft is None:
        # A segment of an odd size has as many frequencies as one with one point less.
        nfft = size if input_onesided and size == whole + 1 else whole
    cut = _segments(op, window, size, noverlap, nfft, None, dtypes.real_of(z.dtype))
    parts = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, cut.points)
    parts = slice_in_dim(parts, 0, cut.size, axis=-1)
    weights = jnp.multiply(cut.weights, jnp.sum(cut.weights))
    x = _sum_overlapping(value(op, jnp.multiply(parts, weights)), cut.step)
    squares = value(op, jnp.square(cut.weights))
    total = _sum_overlapping(ops.broadcast_to(squares, parts.shape[-2:]), cut.step)
    if boundary:
        half = cut.size // 2
        x = slice_in_dim(x, half, x.shape[-1] - half, axis=-1)
        total = slice_in_dim(total, half, total.shape[-1] - half, axis=-1)
    x = jnp.true_divide(x, jnp.where(jnp.greater(total, 1e-10), total, 1))
    times = jnp.true_divide(np.arange(x.shape[-1], dtype=dtypes.real_of(x.dtype)), fs)
    at = time - (frequency < time)
    return value(op, times), ops.move_axis(x, x.ndim - 1, at)


__all__ = ["csd", "detrend", "istft", "stft", "welch"]
