"""plait.image against the formula, element by element; dtypes, derivatives, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import plait as jax
from plait import image
from plait.errors import ArgumentError, ShapeError
from plait.testing import assert_close
from plait.testing.numerics import differences
from tests.numpy.common import by_meaning, floats, raises  # noqa: F401

X = np.arange(6.0, dtype=np.float32) ** 2


def cubic(a, x):
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def lanczos(radius, x):
    if x == 0:
        return 1.0
    p = math.pi * x
    return radius * math.sin(p) * math.sin(p / radius) / p**2 if x < radius else 0.0


KERNELS = {
    "linear": lambda x: max(0.0, 1 - x),
    "cubic": lambda x: cubic(-0.5, x),
    "lanczos3": lambda x: lanczos(3, x),
    "lanczos5": lambda x: lanczos(5, x),
}


def looped(x, m, scale, move, method, antialias):
    """The definition, for one axis."""
    result = []
    for i in range(m):
        place = (i + 0.5 - move) / scale - 0.5
        width = max(1 / scale, 1.0) if antialias else 1.0
        weights = [KERNELS[method](abs(place - j) / width) for j in range(len(x))]
        inside = -0.5 <= place <= len(x) - 0.5
        result.append(np.dot(weights, x) / sum(weights) if inside else 0.0)
    return np.float32(result)


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", KERNELS)
def test_kernels(method, antialias):
    for m in (1, 3, 4, 6, 9, 13):
        want = looped(X, m, m / 6, 0, method, antialias)
        assert_close(image.resize(X, (m,), method, antialias), want, rtol=1e-4, atol=1e-4)
    for scale, move in ((0.5, 0.7), (2.0, -1.5), (1.0, 3.0)):
        args = (np.float32([scale]), np.float32([move]), method, antialias)
        got = image.scale_and_translate(X, (8,), (0,), *args)
        want = looped(X, 8, scale, move, method, antialias)
        assert_close(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("by_meaning")
def test_area_nearest_and_pytorch():
    assert_close(image.resize(X, (3,), "area"), np.float32([0.5, 6.5, 20.5]))
    assert_close(image.resize(X, (4,), "area"), np.float32([1 / 3, 3, 34 / 3, 22]))
    assert_close(image.resize(X, (9,), "area")[:4], np.float32([0, 0.5, 1, 4]), atol=1e-5)
    for m in (1, 3, 4, 9, 13):
        want = [X[int((i + 0.5) * 6 / m)] for i in range(m)]
        assert image.resize(X, (m,), "nearest").tolist() == want
    # Borders repeated: the kernel of a = -3/4 over -1, 0, 1, 2 at 1/2, of which -1 is 0 again.
    near, far = cubic(-0.75, 0.5), cubic(-0.75, 1.5)
    got = image.resize(X, (3,), "cubic-pytorch", antialias=False)
    assert_close(got[0], np.float32((near + far) * X[0] + near * X[1] + far * X[2]))
    with_antialias = image.resize(X, (3,), "bicubic-pytorch")
    assert_close(with_antialias, image.resize(X, (3,), "cubic"))


@pytest.mark.usefixtures("by_meaning")
def test_images():
    x = floats(2, 5, 7, 3)
    got = image.resize(x, (2, 4, 9, 3), "bilinear")
    want = image.resize(image.resize(x, (2, 4, 7, 3), "linear"), (2, 4, 9, 3), "linear")
    assert_close(got, want)
    assert_close(got[1, :, :, 2], image.resize(x[1, :, :, 2], (4, 9), image.ResizeMethod.LINEAR))
    scale = np.float32([9 / 7, 4 / 5])
    moved = image.scale_and_translate(x, got.shape, (2, 1), scale, np.zeros(2), "linear")
    assert_close(moved, got, atol=1e-5)


@pytest.mark.usefixtures("by_meaning")
def test_dtypes_and_empty_images():
    assert image.resize(np.arange(6), (4,), "linear").dtype == np.float32
    assert image.resize(np.arange(6), (4,), "nearest").dtype == np.int32
    assert image.resize(X > 3, (4,), "nearest").dtype == np.bool_
    assert image.resize(X.astype(np.float16), (4,), "cubic").dtype == np.float16
    assert image.resize(X + 1j, (4,), "lanczos3").dtype == np.complex64
    assert image.resize(X, (0,), "linear").shape == (0,)
    assert image.resize(X[:0], (0,), "linear").shape == (0,)


def test_derivatives_through_xla(x64):
    x = floats(5, 4).astype(float)

    def f(x, scale, move):
        small = image.resize(x, (3, 7), "lanczos3")
        turned = image.scale_and_translate(x, (6, 4), (0,), scale, move, "cubic")
        return (small**2).sum() + (turned**3).sum()

    args = (x, np.array([1.3]), np.array([0.4]))
    ts = (np.cos(np.arange(20.0)).reshape(5, 4), np.array([0.7]), np.array([-0.4]))
    value, slopes = jax.jit(f), jax.jit(jax.grad(f, (0, 1, 2)))(*args)
    (slope,) = differences(lambda *a: [value(*a)], args, ts, 1e-5)
    assert_close(sum(np.vdot(g, t) for g, t in zip(slopes, ts, strict=True)), slope, rtol=1e-6)
    rows = jax.jit(jax.vmap(f, (0, None, None)))(np.stack([x, 2 * x]), *args[1:])
    assert_close(rows[1], value(2 * x, *args[1:]))


def test_errors():
    with raises(ArgumentError, "no such method", "'linear'"):
        image.resize(X, (3,), "best")
    with raises(ShapeError, "a size for each axis"):
        image.resize(X, (3, 3), "linear")
    with raises(ShapeError, "an empty axis cannot grow"):
        image.resize(X[:0], (3,), "nearest")
    with raises(ArgumentError, "has no method 'nearest'"):
        image.scale_and_translate(X, (3,), (0,), np.ones(1), np.ones(1), "nearest")
    with raises(ShapeError, "an entry for each of spatial_dims"):
        image.scale_and_translate(X, (3,), (0,), np.ones(2), np.ones(1), "linear")
