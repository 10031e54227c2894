"""lax.fft against NumPy, what it refuses, and both forms of maps around it."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
from plait import lax
from plait.config import override
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.testing import assert_close
from tests.numpy.common import complexes, floats, raises

C, R = complexes(2, 4, 5), floats(2, 4, 5)
# Type, operand, lengths, and the same by NumPy.
CASES = [
    ("FFT", C, (5,), lambda x: np.fft.fft(x)),
    ("ifft", C, (4, 5), lambda x: np.fft.ifft2(x)),
    (lax.FftType.RFFT, R, (2, 4, 5), lambda x: np.fft.rfftn(x)),
    (3, C, (8,), lambda x: np.fft.irfft(x, 8)),
    (lax.FftType.IRFFT, C, (4, 9), lambda x: np.fft.irfft2(x, (4, 9))),
]


@pytest.mark.parametrize("kind, x, lengths, numpy", CASES, ids=[str(c[0]) for c in CASES])
def test_values(kind, x, lengths, numpy):
    y = lax.fft(x, kind, lengths)
    want = numpy(x)
    assert y.dtype == want.dtype
    assert_close(y, want, atol=1e-5)


def test_other_dtypes_are_converted():
    assert_close(lax.fft(np.arange(4), "FFT", (4,)), np.fft.fft(np.arange(4)).astype("c8"))
    assert lax.fft(np.float16([1, 2]), "RFFT", (2,)).dtype == np.complex64
    assert lax.fft(R, "FFT", ()).dtype == np.complex64
    with jax.enable_x64():
        assert lax.fft(np.arange(4), "RFFT", (4,)).dtype == np.complex128


def test_errors():
    with raises(ArgumentError, "there is no such transform", "FftType.FFT"):
        lax.fft(C, "dct", (5,))
    with raises(ShapeError, "at most 3 axes", "fftn"):
        lax.fft(np.zeros((1, 1, 1, 1)), "FFT", (1, 1, 1, 1))
    with raises(ShapeError, "fewer axes"):
        lax.fft(R[0, 0], "FFT", (4, 5))
    with raises(ShapeError, "takes (4,) as x's last sizes"):
        lax.fft(C, "FFT", (4,))
    with raises(ShapeError, "takes (5, 5) as x's last sizes"):
        lax.fft(C, "IRFFT", (5, 9))
    with raises(DtypeError, "takes real numbers"):
        lax.fft(C, "RFFT", (5,))
    with raises(ArgumentError, "at least 1"):
        lax.fft(np.zeros((3, 0)), "FFT", (0,))


@pytest.mark.parametrize("form", ["fused", "gang"])
@pytest.mark.parametrize("n", [2, 4])
def test_in_a_map(form, n):
    """A transform spread over devices: rows here, the other axis after an all_to_all."""

    def spread(x):
        y = lax.fft(x, "FFT", (4,))
        y = lax.all_to_all(y, "i", 1, 0, tiled=True)
        y = lax.fft(y.T, "FFT", (4,)).T
        return lax.all_to_all(y, "i", 0, 1, tiled=True)

    def energy(x):
        half = lax.fft(x, "RFFT", (4,))
        back = lax.fft(half * half, "IRFFT", (4,))
        return lax.psum((back**2).sum(), "i")

    x = floats(n, 4 // n, 4)
    with override(pmap_form=form):
        got = jax.pmap(spread, axis_name="i")(x)
        slopes = jax.pmap(jax.grad(energy), axis_name="i")(x)
    assert_close(got.reshape(4, 4), np.fft.fft2(x.reshape(4, 4)).astype("c8"), atol=1e-5)
    assert_close(slopes, jax.vmap(jax.grad(energy), axis_name="i")(x), rtol=1e-4, atol=1e-4)
