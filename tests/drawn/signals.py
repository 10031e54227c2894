"""Recipes of plait.scipy's signal, fft, integrate, interpolate, ndimage and cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.signal as reference

from plait.scipy import interpolate, signal
from tests.drawn.common import Case, Draw, recipe

# --- convolutions


def pair(
    d: Draw, ndim: int, dtype: Any = None, same: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays, of which one, the first or the second, is at least as large along each axis."""
    large = [d.number(1, 6) for _ in range(ndim)]
    small = [d.number(1, n) for n in large]
    first = d.array(large, dtype or d.any())
    second = d.array(large if same else small, dtype or d.any())
    return (second, first) if d.chance(0.3) else (first, second)


@recipe("scipy.signal.convolve", "scipy.signal.correlate")
def _convolve(name: str, d: Draw) -> Case:
    half = d.chance(0.2)
    args = pair(d, d.number(1, 3), d.float() if half else None)
    method = d.one_of("auto", "direct", *([] if half else ["fft"]))
    kwargs = {"mode": d.one_of("full", "same", "valid"), "method": method}
    return Case(args, kwargs, loose=32.0)


@recipe("scipy.signal.convolve2d", "scipy.signal.correlate2d")
def _convolve2d(name: str, d: Draw) -> Case:
    args = pair(d, 2)
    kwargs = {"mode": d.one_of("full", "same", "valid")}
    kwargs["boundary"] = d.one_of("fill", "wrap", "symm")
    if kwargs["boundary"] == "fill" and d.chance():
        kwargs["fillvalue"] = 2
    return Case(args, kwargs, loose=32.0)


@recipe("scipy.signal.fftconvolve")
def _fftconvolve(d: Draw) -> Case:
    a, b = pair(d, d.number(1, 3))
    kwargs = {"mode": d.one_of("full", "same", "valid"), "axes": None}
    if d.chance(0.4) and a.ndim > 1:
        kept = d.number(0, a.ndim - 1)
        shape = [b.shape[k] if k == kept else n for k, n in enumerate(a.shape)]
        b = d.array(shape, b.dtype)
        kwargs["axes"] = d.one_of(kept, [kept - a.ndim])
    return Case((a, b), kwargs, loose=64.0)


# --- spectra


def spectral(d: Draw, x: np.ndarray) -> dict[str, Any]:
    n = max(x.shape)
    axis = x.shape.index(n) - x.ndim * d.chance()
    size = d.number(2, n)
    kwargs = {
        "fs": d.one_of(1.0, 4.0, 10),
        "window": d.one_of("hann", "boxcar", ("tukey", 0.3), ("kaiser", 4.0), "hamming"),
        "nperseg": size,
        "noverlap": d.one_of(None, d.number(0, size - 1)),
        "nfft": d.one_of(None, size + d.number(0, 5)),
        "return_onesided": x.dtype.kind != "c" and d.chance(0.7),
        "axis": axis,
    }
    if d.chance(0.2):
        kwargs["window"] = np.hanning(size + 2)[1:-1].astype(np.float32)
    return kwargs


def waves(d: Draw) -> np.ndarray:
    shape = [d.one_of(1, 3) for _ in range(d.number(0, 2))]
    shape.insert(d.number(0, len(shape)), d.number(4, 24))
    return d.array(shape, d.inexact())


def reals(*xs: np.ndarray) -> Any:
    return np.result_type(*xs).type(0).real.dtype


@recipe("scipy.signal.welch")
def _welch(d: Draw) -> Case:
    x = waves(d)
    kwargs = spectral(d, x) | {
        "detrend": d.one_of("constant", "linear", False),
        "scaling": d.one_of("density", "spectrum"),
        "average": d.one_of("mean", "median"),
    }
    return Case((x,), kwargs, dtype=reals(x), loose=256.0, floor=1.0)


@recipe("scipy.signal.csd")
def _csd(d: Draw) -> Case:
    x = waves(d)
    y = d.array(x.shape, x.dtype)
    kwargs = spectral(d, x) | {
        "detrend": d.one_of("constant", "linear", False),
        "scaling": d.one_of("density", "spectrum"),
        "average": d.one_of("mean", "median"),
    }
    return Case(
        (x, y), kwargs, dtype=[reals(x), np.result_type(x, np.complex64)], loose=256.0, floor=1.0
    )


@recipe("scipy.signal.stft")
def _stft(d: Draw) -> Case:
    x = waves(d)
    kwargs = spectral(d, x) | {
        "detrend": d.one_of(False, "constant", "linear"),
        "boundary": d.one_of("even", "odd", "constant", "zeros", None),
        "padded": d.chance(),
    }
    dtype = [reals(x), reals(x), np.result_type(x, np.complex64)]
    return Case((x,), kwargs, dtype=dtype, loose=256.0, floor=1.0)


@recipe("scipy.signal.istft")
def _istft(d: Draw) -> Case:
    x = d.array((d.number(8, 24),), d.float(half=False))
    size = 2 * d.number(2, 4)
    overlap = size // 2
    _, _, z = reference.stft(x.astype(np.float64), nperseg=size, noverlap=overlap)
    kwargs: dict[str, Any] = {"fs": d.one_of(1.0, 4.0), "noverlap": d.one_of(None, overlap)}
    kwargs["window"] = d.one_of("hann", "hamming")
    if d.chance(0.3):
        z = np.moveaxis(np.stack([z, 2 * z]), -2, -1)
        kwargs |= {"time_axis": -2, "freq_axis": d.one_of(-1, 2)}
    z = z.astype(np.result_type(x.dtype, np.complex64))

    # SciPy's times are those of the first axis, whatever time_axis is.
    def call(module):
        return lambda z: module.istft(z, **kwargs)[1]

    return Case((z,), function=call(signal), of=call(reference), dtype=x.dtype, loose=256.0)


@recipe("scipy.signal.detrend")
def _detrend(d: Draw) -> Case:
    x = waves(d)
    kwargs: dict[str, Any] = {"type": d.one_of("linear", "constant")}
    kwargs["axis"] = x.shape.index(max(x.shape)) - x.ndim * d.chance()
    if kwargs["type"] == "linear" and d.chance(0.4):
        n = x.shape[kwargs["axis"]]
        kwargs["bp"] = d.one_of(n // 2, [0, n // 2, n])
    return Case((x,), kwargs, loose=64.0, floor=1.0)


# --- cosine transforms


@recipe("scipy.fft.dct", "scipy.fft.idct")
def _dct(name: str, d: Draw) -> Case:
    x = d.array(d.shape(least=1, smallest=1), d.any(half=True))
    type_ = d.number(1, 4)
    axis = d.axis(x.ndim)
    n = d.one_of(None, d.number(2, 6))
    if type_ == 1 and x.shape[axis] < 2:
        n = 4
    kwargs = {"type": type_, "n": n, "axis": axis}
    kwargs["norm"] = d.one_of(None, "ortho", "forward", "backward")
    return Case((x,), kwargs, loose=32.0)


@recipe("scipy.fft.dctn", "scipy.fft.idctn")
def _dctn(name: str, d: Draw) -> Case:
    x = d.array((3, 2, 4)[: d.number(1, 3)], d.any(half=True))
    axes = d.axes(x.ndim) or (0,)
    kwargs: dict[str, Any] = {"type": d.number(1, 4), "axes": d.one_of(None, axes)}
    if d.chance(0.4):
        chosen = kwargs["axes"] or tuple(range(x.ndim))
        kwargs["s"] = tuple(d.number(2, 5) for _ in chosen)
    kwargs["norm"] = d.one_of(None, "ortho", "forward", "backward")
    return Case((x,), kwargs, loose=64.0)


# --- samples, grids, images


@recipe("scipy.integrate.trapezoid")
def _trapezoid(d: Draw) -> Case:
    y = d.array(d.shape(least=1, smallest=1), d.any(half=True))
    axis = d.axis(y.ndim)
    if d.chance():
        n = y.shape[axis]
        x = np.cumsum(np.abs(d.array((n,) if d.chance() else y.shape, np.float64)), -1)
        return Case((y, x.astype(d.float())), {"axis": axis}, loose=32.0)
    return Case((y,), {"axis": axis, "dx": d.one_of(1.0, 0.5, 2)}, loose=32.0)


@recipe("scipy.interpolate.RegularGridInterpolator")
def _interpolator(d: Draw) -> Case:
    axes, dtype = d.number(1, 3), d.float(half=False)
    lines = [np.cumsum(0.3 + d.rng.random(d.number(2, 4))).astype(dtype) for _ in range(axes)]
    rest = d.one_of((), (2,))
    values = d.array(
        (*map(len, lines), *rest), d.one_of(dtype, np.result_type(dtype, np.complex64))
    )
    xi = (2.5 * d.rng.random((*d.shape(least=1, most=2, smallest=1), axes))).astype(dtype)
    method, fill = d.one_of("linear", "nearest"), d.one_of(np.nan, None, -1.0)

    def call(module):
        def run(values, xi, *lines):
            f = module.RegularGridInterpolator(lines, values, method, False, fill)
            return f(xi)

        return run

    # A moved place may be nearest to another point: the numbers are taken as they are.
    fixed = range(5) if method == "nearest" else ()
    return Case(
        (values, xi, *lines), function=call(interpolate), of=call(scipy.interpolate),
        dtype=values.dtype, fixed=fixed, loose=32.0,
    )  # fmt: skip


GRID_MODES = {"constant": "grid-constant", "wrap": "grid-wrap"}


@recipe("scipy.ndimage.map_coordinates")
def _map_coordinates(d: Draw) -> Case:
    x = d.array((4, 3, 2)[: d.number(1, 3)], d.integer() if d.chance(0.2) else d.float(False))
    shape = d.shape(most=2, smallest=1)
    places = [5 * d.rng.normal(size=shape) + 1 for _ in range(x.ndim)]
    # No rounding error may decide which element is read.
    places = [(np.round(8 * p) / 8 + 1 / 32).astype(np.float32) for p in places]
    mode = d.one_of("constant", "nearest", "wrap", "mirror", "reflect")
    order, cval = d.number(0, 1), d.one_of(0.0, 2.0)

    def of(x, places):
        # These modes go on smoothly from the elements around the array, as JAX's do.
        name: Any = GRID_MODES.get(mode, mode)
        rows = [p.ravel() for p in places]
        y = scipy.ndimage.map_coordinates(x * 1.0, rows, order=order, mode=name, cval=cval)
        return np.reshape(np.sign(y) * np.floor(abs(y) + 0.5) if whole else y, shape)

    whole = x.dtype.kind in "iu"
    if x.dtype.kind in "iu":
        x = x.astype(np.int32) * 8
    kwargs = {"order": order, "mode": mode, "cval": cval}
    return Case(
        (x, places), kwargs, of=lambda x, places, **_: of(x, places), dtype=x.dtype, fixed=(1,)
    )


@recipe("scipy.cluster.vq.vq")
def _vq(d: Draw) -> Case:
    dtype, n = d.float(half=False), d.number(1, 3)
    shape = (n,) if d.chance(0.8) else ()
    obs, book = d.array((d.number(1, 5), *shape), dtype), d.array((d.number(1, 4), *shape), dtype)
    return Case((obs, book), dtype=[..., dtype], loose=32.0)
