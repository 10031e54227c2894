"""map_coordinates, RegularGridInterpolator, vq and trapezoid against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

import plait as jax
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.scipy import integrate
from plait.scipy.cluster.vq import vq
from plait.scipy.interpolate import RegularGridInterpolator
from plait.scipy.ndimage import map_coordinates
from plait.testing import assert_close
from plait.testing.numerics import differences
from tests.numpy.common import by_meaning, floats, raises  # noqa: F401

IMAGE = floats(5, 4)
# SciPy's "wrap" has another period, its "constant" no interpolation with what lies outside.
MODES = {m: m for m in ("nearest", "mirror", "reflect")} | {"wrap": "grid-wrap"}
MODES["constant"] = "grid-constant"


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(order, mode):
    places = floats(2, 40, seed=3) * 6
    got = map_coordinates(IMAGE, places, order, mode, 2.5)
    want = scipy.ndimage.map_coordinates(IMAGE, places, order=order, mode=MODES[mode], cval=2.5)
    assert_close(got, want, atol=1e-5)
    whole = np.array([[0, 4, 9], [3, 3, -2]])
    want = scipy.ndimage.map_coordinates(IMAGE, whole, order=1, mode=MODES[mode])
    assert_close(map_coordinates(IMAGE, whole, order, mode), want, atol=1e-6)


@pytest.mark.usefixtures("by_meaning")
def test_dtypes_of_images():
    x, places = np.arange(5) * 10, [np.array([0.5, 1.25, 2.5])]
    assert map_coordinates(x, places, 1).tolist() == [5, 13, 25]
    assert map_coordinates(x, places, 0).tolist() == [10, 10, 30]
    assert map_coordinates(-x, places, 1).tolist() == [-5, -13, -25]
    assert map_coordinates(x > 15, places, 1).dtype == np.bool_
    assert map_coordinates(x + 0j, places, 1).dtype == np.complex64
    assert map_coordinates(x.astype(np.float16), [1.5], 1).dtype == np.float16
    assert map_coordinates(np.float32(3), [], 1) == 3


LINES = (np.float32([0, 1, 3, 3.5]), np.float32([-1, 0, 2]))
VALUES = floats(4, 3, 2)


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("fill", [np.nan, -7.0, None])
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_interpolator(method, fill):
    options = {"method": method, "bounds_error": False, "fill_value": fill}
    places = floats(3, 5, 2, seed=2) * 2 + np.float32([1.5, 0.5])
    places[0, 0, 1] = np.nan
    got = RegularGridInterpolator(LINES, VALUES, **options)
    want = scipy.interpolate.RegularGridInterpolator(LINES, VALUES.astype(float), **options)
    assert_close(got(places), want(places).astype(np.float32), atol=1e-5)
    apart = (places[..., :1, 0], places[0, :, 1])
    assert_close(got(apart), want(apart).astype(np.float32), atol=1e-5)
    assert got(np.float32([1, 1])).shape == (1, 2)


@pytest.mark.usefixtures("by_meaning")
def test_code_books_and_trapezoids():
    obs, book = floats(9, 3), floats(4, 3, seed=6)
    for got, want in zip(vq(obs, book), scipy.cluster.vq.vq(obs, book), strict=True):
        assert_close(got, want)
    assert vq(np.array([1, 2, 5]), np.array([1, 3]))[0].tolist() == [0, 0, 1]
    y, x = floats(3, 5), np.cumsum(np.ones(5, np.float32))
    assert_close(integrate.trapezoid(y, x), scipy.integrate.trapezoid(y, x))


def test_derivatives_through_xla(x64):
    image, line = IMAGE.astype(float), np.array([0.0, 1, 2, 4, 5])

    def f(image, places):
        y = map_coordinates(image, places, 1, "mirror")
        grid = RegularGridInterpolator((line, line[:4]), image)
        return (y**2).sum() + (grid(places.T * 0.5) ** 3).sum()

    places = np.abs(floats(2, 6, seed=8)).astype(float) + 0.3
    ts = [np.cos(np.arange(20.0)).reshape(5, 4), np.sin(np.arange(12.0)).reshape(2, 6)]
    value, slopes = jax.jit(f), jax.jit(jax.grad(f, (0, 1)))(image, places)
    (slope,) = differences(lambda a, b: [value(a, b)], [image, places], ts, 1e-5)
    assert_close(sum(np.vdot(g, t) for g, t in zip(slopes, ts, strict=True)), slope, rtol=1e-6)
    rows = jax.jit(jax.vmap(f, (None, 0)))(image, np.stack([places, places + 0.1]))
    assert_close(rows[1], value(image, places + 0.1))


def test_errors():
    with raises(ArgumentError, "order is 0 or 1"):
        map_coordinates(IMAGE, [1.0, 1.0], 2)
    with raises(ArgumentError, "no such mode", "'mirror'"):
        map_coordinates(IMAGE, [1.0, 1.0], 1, "grid-wrap")
    with raises(ShapeError, "one for each axis, not 1"):
        map_coordinates(IMAGE, [1.0], 1)
    with raises(ShapeError, "must not be empty"):
        map_coordinates(IMAGE[:0], [1.0, 1.0], 1)
    with raises(DtypeError, "real numbers"):
        map_coordinates(IMAGE, [1.0, 1j], 1)
    with raises(ArgumentError, "axis 0 must increase"):
        RegularGridInterpolator((LINES[0][::-1],), VALUES)
    with raises(ShapeError, "points for axis 1"):
        RegularGridInterpolator((LINES[0], LINES[0]), VALUES)
    with raises(ShapeError, "points for 4 axes"):
        RegularGridInterpolator(LINES * 2, VALUES)
    with raises(ArgumentError, "method is 'linear'"):
        RegularGridInterpolator(LINES, VALUES, "cubic")
    with raises(ArgumentError, "look for NaN"):
        RegularGridInterpolator(LINES, VALUES, bounds_error=True)
    with raises(ShapeError, "2 coordinates"):
        RegularGridInterpolator(LINES, VALUES)(np.zeros((2, 3)))
    with raises(ShapeError, "same features"):
        vq(floats(3, 2), floats(3, 3))
