"""plait.scipy.fft against SciPy: types, norms, sizes, axes; derivatives and rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.fft

import plait as jax
from plait.errors import ArgumentError, ShapeError
from plait.scipy import fft
from plait.testing import assert_close
from tests.numpy.common import by_meaning, complexes, floats, raises  # noqa: F401

TYPES = [1, 2, 3, 4]


def agree(name, x, *args, **kwargs):
    got, want = getattr(fft, name)(x, *args, **kwargs), getattr(scipy.fft, name)(x, *args, **kwargs)
    assert got.dtype == x.dtype
    assert_close(got, want, atol=1e-5)


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_one_axis(name, type):
    for n, norm in itertools.product(range(2, 8), [None, "ortho", "forward", "backward"]):
        agree(name, floats(2, n), type, norm=norm)
        agree(name, complexes(n, 2), type, axis=0, norm=norm)
    agree(name, floats(2, 5), type, 3)
    agree(name, floats(2, 5), type, 8, 0)
    if type != 1:
        agree(name, floats(2, 1), type, norm="ortho")


@pytest.mark.usefixtures("by_meaning")
@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_several_axes(name):
    x = floats(3, 5, 4)
    for type in TYPES:
        for kwargs in ({}, {"s": (3, 2)}, {"axes": (0, -1)}, {"s": (6, 2), "axes": (2, 0)}):
            agree(name, x, type, **kwargs)
    agree(name, x, axes=1, norm="ortho")
    assert getattr(fft, name)(np.arange(3), axes=()).dtype == np.float32


@pytest.mark.usefixtures("by_meaning")
def test_dtypes():
    want = scipy.fft.dct(np.arange(4.0))
    for kind in (np.int8, np.float16, np.bool_):
        x = np.arange(4).astype(kind)
        got = fft.dct(x)
        assert got.dtype == (kind if kind is np.float16 else np.float32)
        assert_close(got, scipy.fft.dct(x.astype(np.float32)), atol=1e-2)
    with jax.enable_x64():
        assert_close(fft.dct(np.arange(4.0)), want, rtol=1e-12, atol=1e-12)


def test_the_matrix_is_orthogonal_and_its_own_derivative(x64):
    def matrices(n):
        return [jax.vmap(lambda e, k=k: fft.dct(e, k, norm="ortho"))(np.eye(n)) for k in TYPES]

    for n in (2, 5):
        for kind, m in zip(TYPES, jax.jit(lambda n=n: matrices(n))(), strict=True):
            assert_close(m @ m.T, np.eye(n), atol=1e-12)
            assert_close(m.T, scipy.fft.dct(np.eye(n), kind, axis=0, norm="ortho"), atol=1e-12)
            jacobian = jax.jit(jax.jacrev(lambda x, k=kind: fft.dct(x, k, norm="ortho")))
            assert_close(jacobian(np.ones(n)), m.T, atol=1e-12)


def test_errors():
    x = floats(2, 3)
    with raises(ArgumentError, "fft.dct: there is no such type", "1, 2, 3 or 4"):
        fft.dct(x, 5)
    with raises(ArgumentError, "no such norm"):
        fft.idct(x, norm="half")
    with raises(ArgumentError, "at least one point"):
        fft.dct(x, n=0)
    with raises(ArgumentError, "at least two points"):
        fft.dct(x[:, :1], 1)
    with raises(ShapeError, "one size for each of axes"):
        fft.dctn(x, s=(2,), axes=(0, 1))
    with raises(ShapeError, "more sizes than"):
        fft.idctn(x, s=(2, 2, 2))
