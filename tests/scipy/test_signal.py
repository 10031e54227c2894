"""plait.scipy.signal against SciPy: convolutions, trends, spectra; derivatives and rows."""

from __future__ import annotations

import contextlib
import itertools
import warnings

import numpy as np
import pytest
import scipy.signal

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.scipy import signal
from plait.scipy.signal_windows import window_weights
from plait.testing import assert_close
from plait.testing.numerics import differences
from tests.numpy.common import by_meaning, complexes, floats, raises  # noqa: F401

MODES = ["full", "same", "valid"]
X, Y, Z = floats(2, 70), floats(2, 70, seed=5), complexes(2, 70)


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def agree(name, *args, **kwargs):
    """One function here and in SciPy: shapes, kinds of dtypes, values up to their largest."""
    with quiet():
        got, want = (
            getattr(signal, name)(*args, **kwargs),
            getattr(scipy.signal, name)(*args, **kwargs),
        )
    if not isinstance(want, tuple):
        got, want = (got,), (want,)
    for g, w in zip(got, want, strict=True):
        size = 8 if g.dtype.kind == "c" else 4
        assert (g.shape, g.dtype.kind, g.dtype.itemsize) == (w.shape, w.dtype.kind, size)
        scale = np.abs(w).max(initial=1.0)
        np.testing.assert_allclose(np.asarray(g) / scale, w / scale, atol=1e-5)


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("kind", [floats, complexes])
@pytest.mark.parametrize("mode", MODES)
def test_convolutions(mode, kind):
    shapes = [((5,), (3,)), ((2,), (7,)), ((4,), (4,)), ((5, 6), (2, 3)), ((2, 3), (5, 6))]
    for m, n in [*shapes, ((3, 4, 5), (2, 2, 3))]:
        a, v = kind(*m), kind(*n, seed=7)
        for name, method in itertools.product(["convolve", "correlate"], ["direct", "fft"]):
            agree(name, a, v, mode, method)
        agree("fftconvolve", a, v, mode)
        if len(m) == 2:
            for boundary in ("fill", "wrap", "symm"):
                agree("convolve2d", a, v, mode, boundary)
                agree("correlate2d", a, v, mode, boundary)
            agree("convolve2d", a, v, mode, fillvalue=1.5)


@pytest.mark.usefixtures("by_meaning")
def test_other_axes_of_a_convolution():
    agree("fftconvolve", floats(3, 5), floats(2, 1), axes=0)
    agree("fftconvolve", floats(3, 5), floats(3, 5), "same", axes=[1])
    assert_close(signal.fftconvolve(floats(3), floats(3), axes=[]), floats(3) ** 2)
    assert signal.convolve(np.arange(3), np.arange(2)).dtype == np.float32
    assert signal.fftconvolve(np.float16([1, 2]), np.float16([1])).dtype == np.float16
    assert signal.convolve(2.0, 3.0) == 6


@pytest.mark.usefixtures("by_meaning")
def test_trends():
    for kind, bp in itertools.product(["linear", "constant"], [0, [5, 20], [70]]):
        agree("detrend", X, -1, kind, bp)
    agree("detrend", Z, 0)
    assert_close(signal.detrend(np.arange(9)), np.zeros(9), atol=1e-5)


CUTS = [
    {"nperseg": 16},
    {"nperseg": 15, "noverlap": 14},
    {"nperseg": 16, "nfft": 32, "noverlap": 3},
    {"nperseg": 17, "nfft": 19, "noverlap": 0, "fs": 3.0},
    {"nperseg": 16, "window": ("kaiser", 3.0), "detrend": "linear"},
    {"window": np.linspace(0, 1, 12), "nperseg": 12, "detrend": False},
    {"nperseg": 70, "return_onesided": False},
]


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_spectra(cut):
    for x, y in ((X, Y), (Z, Z[::-1]), (X, Y[:, :40]), (X[0], Y[:1])):
        for scaling, average in (("density", "median"), ("spectrum", "mean")):
            agree("csd", x, y, scaling=scaling, average=average, **cut)
            agree("welch", x, scaling=scaling, average=average, **cut)
    for boundary, padded in (("even", True), ("odd", False), ("constant", True), (None, False)):
        agree("stft", X, boundary=boundary, padded=padded, **cut)


@pytest.mark.usefixtures("by_meaning")
def test_other_axes_of_spectra():
    x = floats(3, 60, 2)
    agree("welch", x, axis=1, nperseg=20)
    agree("stft", x, axis=-2, nperseg=20)
    agree("csd", x, x[..., :1], axis=1, nperseg=20)
    assert_close(signal.csd(x, None, axis=1, nperseg=20), signal.welch(x, axis=1, nperseg=20))
    assert signal.welch(np.zeros((3, 0)))[1].shape == (3, 0)


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("cut", CUTS[:5], ids=str)
def test_transforms_back(cut):
    cut = {k: v for k, v in cut.items() if k != "detrend"}
    for x, half in ((X, True), (Z, False)):
        for boundary in ("zeros", None):
            z = signal.stft(x, boundary=boundary, return_onesided=half, **cut)[2]
            t, back = signal.istft(z, input_onesided=half, boundary=boundary is not None, **cut)
            options = {"input_onesided": half, "boundary": boundary is not None, **cut}
            with quiet():
                _, want = scipy.signal.istft(np.asarray(z), **options)
            assert_close(back, want, atol=1e-5)
            assert_close(t, (np.arange(want.shape[-1]) / cut.get("fs", 1)).astype(np.float32))
    z = scipy.signal.stft(floats(3, 60, 2), axis=1, nperseg=20)[2].astype(np.complex64)
    turned = np.moveaxis(z, (1, 3), (2, 0))
    for given, axes in ((z, (1, -1)), (turned, (2, 0))):
        got = signal.istft(given, freq_axis=axes[0], time_axis=axes[1])[1]
        want = scipy.signal.istft(given, freq_axis=axes[0], time_axis=axes[1])[1]
        assert_close(got, want, atol=1e-5)


WINDOWS = """boxcar hann hamming blackman nuttall blackmanharris flattop bartlett barthann bohman
cosine exponential lanczos parzen triang tukey""".split()
WITH_PARAMETERS = [("kaiser", 3.0), 4.5, ("gaussian", 2.0), ("tukey", 0.3), ("tukey", 0.0)]
WITH_PARAMETERS += [("exponential", None, 2.0), ("general_gaussian", 1.5, 3.0), ("tukey", 1.0)]
WITH_PARAMETERS += [("general_cosine", [0.5, 0.3, 0.2]), ("general_hamming", 0.6)]


def test_windows():
    for window, n in itertools.product([*WINDOWS, *WITH_PARAMETERS], [1, 2, 3, 8, 33]):
        want = scipy.signal.get_window(window, n)
        np.testing.assert_allclose(window_weights("f", window, n), want, atol=1e-12)
    with raises(ArgumentError, "no such window", "blackman"):
        signal.welch(X, window="none", nperseg=8)
    with raises(ArgumentError, "other parameters"):
        signal.welch(X, window="kaiser", nperseg=8)


@pytest.mark.usefixtures("by_meaning")
def test_warnings():
    with pytest.warns(UserWarning, match="longer than the signal"):
        assert signal.welch(X)[0].shape == (36,)
    with pytest.warns(UserWarning, match="both sides"):
        signal.stft(Z, nperseg=16)


def test_through_xla_in_rows():
    """Values compiled, in rows; derivatives against differences, of derivatives too."""

    def everything(xp_signal, x, v):
        f, t, z = xp_signal.stft(x, nperseg=16, noverlap=13)
        return [
            f,
            t,
            z,
            xp_signal.istft(z, nperseg=16, noverlap=13)[1],
            xp_signal.csd(x, v, nperseg=16, average="median")[1],
            xp_signal.detrend(x, bp=[30]),
            xp_signal.fftconvolve(x, v, "same"),
            xp_signal.correlate(x, v, "valid"),
        ]

    got = jax.jit(jax.vmap(lambda x, v: everything(signal, x, v)))(X, Y[:, :30])
    for k in range(2):
        for g, w in zip(got, everything(scipy.signal, X[k], Y[k, :30]), strict=True):
            assert_close(g[k], w, atol=1e-4)


def test_derivatives(x64):
    def loss(x, v):
        z = signal.stft(x, nperseg=8, noverlap=5)[2]
        back = signal.istft(z * z, nperseg=8, noverlap=5)[1]
        y = signal.fftconvolve(x, v, "same") + signal.convolve(x, v, "same") ** 2
        return (back**2).sum() + (y**2).sum() + signal.welch(x, nperseg=8)[1].sum()

    x, v = X[0, :20].astype(float), Y[0, :5].astype(float)
    tx, tv = np.cos(np.arange(20.0)), np.sin(np.arange(5.0))
    slopes = jax.jit(jax.grad(loss, (0, 1)))
    (slope,) = differences(lambda x, v: [jax.jit(loss)(x, v)], [x, v], [tx, tv])
    gx, gv = slopes(x, v)
    assert_close(np.vdot(gx, tx) + np.vdot(gv, tv), slope, rtol=1e-7)
    turns = differences(slopes, [x, v], [tx, tv])
    got = jax.jit(lambda: jax.jvp(slopes, (x, v), (tx, tv))[1])()
    assert_close(list(got), turns, rtol=1e-6, atol=1e-6)


def test_errors():
    x, m = floats(5), floats(3, 3)
    with raises(ArgumentError, "mode is 'full'"):
        signal.convolve(x, x, "half")
    with raises(ArgumentError, "method is 'auto'"):
        signal.correlate(x, x, method="slow")
    with raises(ShapeError, "as many axes"):
        signal.fftconvolve(x, m)
    with raises(ShapeError, "must not be empty"):
        signal.convolve(x, x[:0])
    with raises(ShapeError, "mode 'valid' needs"):
        signal.convolve2d(m, floats(2, 4), "valid")
    with raises(ShapeError, "do not broadcast"):
        signal.fftconvolve(m, floats(3, 2), axes=0)
    with raises(ShapeError, "two axes"):
        signal.correlate2d(x, x)
    with raises(ArgumentError, "boundary is 'fill'"):
        signal.convolve2d(m, m, boundary="hole")
    with raises(ArgumentTypeError, "the argument in1 must be an array"):
        signal.convolve([1, 2], x)
    with raises(ArgumentTypeError, "do not change in place"):
        signal.detrend(x, overwrite_data=True)
    with raises(ArgumentError, "type is 'linear'"):
        signal.detrend(x, type="square")
    with raises(ArgumentError, "breakpoints are at least 0 and at most 5"):
        signal.detrend(x, bp=6)
    with raises(ArgumentError, "noverlap is less than nperseg"):
        signal.stft(x, nperseg=4, noverlap=4)
    with raises(ArgumentError, "nfft is at least nperseg"):
        signal.stft(x, nperseg=4, nfft=3)
    with raises(ArgumentError, "nperseg is at least 1"):
        signal.welch(x, nperseg=0)
    with raises(ArgumentError, "another number of points"):
        signal.welch(x, nperseg=3, window=jnp.ones(4))
    with raises(ArgumentError, "longer than the signal"):
        signal.welch(x, window=np.ones(6))
    with raises(ShapeError, "have one axis"):
        signal.welch(x, window=np.ones((2, 2)))
    with raises(ArgumentError, "no such boundary"):
        signal.stft(x, nperseg=4, boundary="wall")
    with raises(ArgumentError, "scaling is 'density'"):
        signal.csd(x, x, nperseg=4, scaling="size")
    with raises(ArgumentError, "average is 'mean'"):
        signal.csd(x, x, nperseg=4, average="mode")
    with raises(ShapeError, "an axis of frequencies and one of times"):
        signal.istft(x)
    with raises(ArgumentError, "axes of their own"):
        signal.istft(m, time_axis=0, freq_axis=-2)
