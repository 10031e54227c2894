"""What the tests of plait.numpy share: ops evaluated by their meaning, and comparison with NumPy.

That XLA computes what an op's `numpy` rule says is the business of the law tests. The functions of
plait.numpy are tested on these rules, which takes microseconds; tests/numpy/test_compiled.py runs
them through XLA.
"""

from __future__ import annotations

import contextlib
import functools
import warnings

import numpy as np
import pytest

import plait.numpy as jnp
from plait.core.context import running
from plait.core.interpreter import Interpreter, infer
from plait.runtime.array import as_array, from_host


class Reference(Interpreter):
    """Runs every op by its `numpy` rule."""

    transformation = "reference"
    base = True

    def process(self, op, xs, params):
        if op.evaluate is not None:
            return op.evaluate(xs, params)
        arrays = [as_array(x) for x in xs]
        types = infer(op, [x.type for x in arrays], params)
        with np.errstate(all="ignore"):
            values = op.numpy(*(x.host() for x in arrays), **params)
        if not op.multiple_results:
            return self.array(op, values, types)
        return tuple(self.array(op, v, t) for v, t in zip(values, types, strict=True))

    def array(self, op, value, type_):
        value = np.array(value, order="C")
        assert (value.shape, value.dtype) == (type_.shape, type_.dtype), op
        return from_host(value, type_)


@pytest.fixture
def by_meaning():
    """Ops run by their `numpy` rules during the test."""
    with running(Reference()):
        yield


def leaves(y):
    return [x for part in y for x in leaves(part)] if isinstance(y, tuple | list) else [y]


def tolerance(dtype):
    return {"float16": 2e-3, "bfloat16": 2e-2}.get(np.dtype(dtype).name, 2e-5)


def assert_same(got, want, dtype=None):
    """Equal structures of arrays: values up to rounding, shapes exactly; the dtype if given."""
    got, want = leaves(got), leaves(want)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert np.shape(g) == w.shape
        if dtype is not None:
            assert g.dtype == dtype
        g = np.asarray(g)
        tol = tolerance(g.dtype)
        if g.dtype.kind == "V" or w.dtype.kind == "V":
            g, w = g.astype(np.float32), w.astype(np.float32)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(g, w.astype(g.dtype), rtol=tol, atol=tol)


def call(module, name):
    return functools.reduce(getattr, name.split("."), module)


@contextlib.contextmanager
def quiet():
    """NumPy keeps its warnings to itself."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def check(name, *args, result=None, **kwargs):
    """One function of plait.numpy against its namesake in NumPy; the result's dtype if given."""
    with quiet():
        want = call(np, name)(*args, **kwargs)
    assert_same(call(jnp, name)(*args, **kwargs), want, result)


def check_expression(text, names):
    """An expression in `xp`, with plait.numpy and with NumPy as xp."""
    with quiet():
        want = eval(text, {**names, "xp": np, "np": np})
    assert_same(eval(text, {**names, "xp": jnp, "np": np}), want)


def lines(text):
    """The expressions of a table: one a line, or several with ; between them."""
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";") if e.strip()]


@contextlib.contextmanager
def raises(kind, *words):
    """An error of a kind whose text has all the words."""
    with pytest.raises(kind) as caught:
        yield
    for word in words:
        assert word in str(caught.value)


def floats(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def ints(*shape, low=-9, high=9, seed=1, dtype=np.int32):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def bools(*shape, seed=2):
    return np.random.default_rng(seed).random(shape) > 0.5


def complexes(*shape, seed=3):
    return (floats(*shape, seed=seed) + 1j * floats(*shape, seed=seed + 1)).astype(np.complex64)


SPECIAL = np.array(
    [0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, 1e30], np.float32
)
