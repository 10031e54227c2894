"""plait.numpy.fft against numpy.fft: sizes, axes, norms, dtypes, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, OutOfRangeError, ShapeError
from plait.testing import assert_close
from plait.testing.numerics import differences
from tests.numpy.common import (
    assert_same,
    by_meaning,  # noqa: F401
    check,
    complexes,
    floats,
    quiet,
    raises,
)

NORMS = [None, "backward", "ortho", "forward"]
COMPLEX = ["fft", "ifft", "irfft", "hfft"]
REAL = ["rfft", "ihfft"]
C, R = complexes(2, 3, 2, 3, 4), floats(2, 3, 2, 3, 4)


def given(name):
    return R if name[0] == "r" or name == "ihfft" else C


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("name", COMPLEX + REAL)
def test_one_axis(name):
    x = given(name)[0, :, 0]
    for n, axis, norm in itertools.product([None, 1, 2, 5, 8], [-1, 0, 1], NORMS):
        check(f"fft.{name}", x, n, axis, norm, result=None)


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_any_number_of_axes(name):
    x = given(name)
    for axes in (None, (0,), (1, 0), (2, -1, 1), (4, 0, 1, 2), (4, 3, 2, 1, 0)):
        check(f"fft.{name}", x, axes=axes, norm="ortho" if axes else None)
    check(f"fft.{name}", x, (3, 2), (-2, -1))
    check(f"fft.{name}", x, (3, 2, 5, 2), (1, 2, 0, 4), "forward")
    assert_same(getattr(jnp.fft, name)(x, (3, 7)), getattr(np.fft, name)(x, (3, 7), (-2, -1)))


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(name):
    check(f"fft.{name}", given(name))
    check(f"fft.{name}", given(name), (2, 5), (3, 1), "forward")


def test_through_xla():
    """As compiled: all in one program, over axes that are not the last, one point, five axes."""

    def everything(xp, c, r):
        return [
            *(getattr(xp.fft, name)(c[0, :, 0], n, axis) for name in COMPLEX for n, axis in NS),
            *(getattr(xp.fft, name)(r[0, :, 0], n, axis) for name in REAL for n, axis in NS),
            *(getattr(xp.fft, name)(c, axes=(4, 0, 1, 2)) for name in ("fftn", "ifftn", "irfftn")),
            xp.fft.rfftn(r),
            xp.fft.irfftn(xp.fft.rfftn(r), r.shape, range(5)),
            xp.fft.rfft(r, axis=1)[:0],
        ]

    NS = [(None, 0), (1, 1), (5, 2)]
    got = plait.jit(lambda c, r: everything(jnp, c, r))(C, R)
    assert_same(got, everything(np, C, R))
    assert {y.dtype.name for y in got} == {"complex64", "float32"}


@pytest.mark.usefixtures("by_meaning")
def test_frequencies_and_shifts():
    for n in range(1, 8):
        check("fft.fftfreq", n, 0.3, result=np.float32)
        check("fft.rfftfreq", n, 0.3, result=np.float32)
    assert jnp.fft.fftfreq(4, dtype=np.float16).dtype == np.float16
    assert jnp.fft.fftfreq(0).shape == (0,)
    for axes in (None, 0, (1,), (0, -1), (1, 1), ()):
        check("fft.fftshift", R, axes)
        check("fft.ifftshift", R, axes)
    check("fft.fftshift", np.arange(5), result=np.int32)


def test_a_traced_distance():
    got = plait.jit(lambda d: jnp.fft.fftfreq(4, d))(0.5)
    assert_same(got, np.fft.fftfreq(4, 0.5))


@pytest.mark.usefixtures("by_meaning")
def test_dtypes():
    for kind in (np.float16, jnp.bfloat16, np.int8, np.bool_, np.float32, np.float64):
        x = np.array([1, 0, 1]).astype(kind)
        with quiet():
            want = np.fft.fft(x.astype(np.float32))
        assert_same(jnp.fft.fft(x), want, np.complex64)
        assert_same(jnp.fft.rfft(x), want[:2], np.complex64)
    assert jnp.fft.irfft(np.arange(3)).dtype == np.float32
    assert not jnp.fft.fft(jnp.full(2, 1.0)).weak_type
    with plait.enable_x64():
        assert jnp.fft.fft(np.arange(3)).dtype == np.complex128
        assert jnp.fft.fft(np.float32([1])).dtype == np.complex64
        check("fft.irfft", C.astype(np.complex128), 7, result=np.float64)


def test_no_points_and_no_axes():
    assert jnp.fft.fft(np.zeros((0, 3))).shape == (0, 3)
    assert jnp.fft.rfft(np.zeros((0, 3))).shape == (0, 2)
    assert jnp.fft.fftn(2.0).item() == 2
    assert jnp.fft.fftn(R, axes=()).dtype == np.complex64
    for call in (
        lambda: jnp.fft.fft(np.zeros(0)),
        lambda: jnp.fft.fft(np.zeros(3), 0),
        lambda: jnp.fft.fft(np.zeros(3), -1),
        lambda: jnp.fft.fftn(np.zeros((0, 3))),
    ):
        with raises(ArgumentError, "at least one point"):
            call()
    with raises(ArgumentError, "give the size of the result"):
        jnp.fft.irfft(np.zeros(1))


def test_errors():
    x = np.zeros((2, 3))
    with raises(OutOfRangeError, "fft.fft: axis 2 is out of range"):
        jnp.fft.fft(x, axis=2)
    with raises(OutOfRangeError, "no axis"):
        jnp.fft.fft(1.0)
    with raises(ShapeError, "fft.fftn: an axis is named twice"):
        jnp.fft.fftn(x, axes=(0, -2))
    with raises(ShapeError, "one size for each axis"):
        jnp.fft.fftn(x, (3,), (0, 1))
    with raises(ShapeError, "more sizes than"):
        jnp.fft.rfftn(x, (1, 2, 3))
    with raises(ArgumentError, "fft.fft2: transforms two axes", "fft.fftn"):
        jnp.fft.fft2(x, axes=(0,))
    with raises(ArgumentError, "no such norm", "ortho"):
        jnp.fft.hfft(x, norm="half")
    with raises(DtypeError, "takes real numbers"):
        jnp.fft.rfft(1j * x)
    with raises(ArgumentTypeError, "the argument a must be an array"):
        jnp.fft.fft([1, 2])
    with raises(ArgumentTypeError, "an axis is an int"):
        jnp.fft.fft(x, axis=None)
    with raises(ArgumentError, "n is at least 0"):
        jnp.fft.fftfreq(-1)
    with raises(ArgumentError, "one number"):
        jnp.fft.fftfreq(4, [1, 2])


def test_derivatives_and_rows(x64):
    def energy(r):
        half = jnp.fft.rfft(r, 5, axis=0, norm="ortho")
        back = jnp.fft.irfftn(half * half, (2, 6))
        return (jnp.abs(half) ** 3).sum() + (back**3).sum()

    r = R[0, 0, 0].astype(np.float64)
    t = np.cos(np.arange(r.size)).reshape(r.shape)
    value, slopes = plait.jit(energy), plait.jit(plait.grad(energy))
    (slope,) = differences(lambda r: [value(r)], [r], [t])
    assert_close(np.vdot(slopes(r), t), slope, rtol=1e-8)
    (turn,) = differences(lambda r: [slopes(r)], [r], [t])
    assert_close(plait.jvp(slopes, (r,), (t,))[1], turn, rtol=1e-7)
    rows = np.stack([r, -2 * r])
    assert_close(plait.vmap(value)(rows), np.array([value(x) for x in rows]))
