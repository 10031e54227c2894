"""jnp.frompyfunc against NumPy's: calls, methods from left to right, mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, OutOfRangeError, ShapeError

A = np.arange(24).reshape(2, 3, 4) % 5


def digits(x, y):
    """Neither commutative nor associative."""
    return 10 * x + y


OURS, THEIRS = jnp.frompyfunc(digits, 2, 1), np.frompyfunc(digits, 2, 1)


def same(got, want):
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want).astype(int))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_methods_along_an_axis(axis):
    same(OURS.reduce(A, axis), THEIRS.reduce(A, axis))
    same(OURS.reduce(A, axis, keepdims=True), THEIRS.reduce(A, axis, keepdims=True))
    same(OURS.reduce(A, axis, initial=7), THEIRS.reduce(A, axis, initial=7))
    marks = {"initial": 7, "where": A > 2}
    same(OURS.reduce(A, axis, **marks), THEIRS.reduce(A, axis, **marks))
    same(OURS.accumulate(A, axis), THEIRS.accumulate(A, axis))
    for indices in ([0, 1, 1, 0], [1], [1, 0]):
        same(OURS.reduceat(A, indices, axis), THEIRS.reduceat(A, indices, axis))


def test_calls_and_pairs():
    same(OURS(A, A[0, :1]), THEIRS(A, A[0, :1]))
    same(OURS.outer(A[0], A[1]), THEIRS.outer(A[0], A[1]))
    low, high = jnp.frompyfunc(lambda x: (x, x + 1), 1, 2)(A)
    same(low, A)
    same(high, A + 1)
    assert OURS.nargs == 3 and jnp.ufunc is type(OURS) and "digits" in repr(OURS)


def test_at():
    want = A[0].astype(object)
    where = [0, 0, 1], [1, 1, 2]
    THEIRS.at(want, where, [1, 2, 3])
    same(OURS.at(A[0], where, np.array([1, 2, 3]), inplace=False), want)
    square = jnp.frompyfunc(lambda x: x * x, 1, 1)
    same(square.at(A[0], (0, 2), inplace=False)[0, 2], A[0, 0, 2] ** 2)


def test_identities_and_dtypes():
    counted = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    same(counted.reduce(np.zeros((0, 3), int), 0), [0, 0, 0])
    same(counted.reduce(A, (0, 2), where=A > 1), np.sum(A, (0, 2), where=A > 1))
    same(counted.reduce(A, None), A.sum())
    assert counted.reduce(A, dtype=np.float32).dtype == np.float32
    halves = jnp.frompyfunc(lambda x, y: x / 2 + y, 2, 1)
    np.testing.assert_array_equal(halves.accumulate(np.array([1, 2, 3])), [1, 2.5, 4.25])


def test_under_transformations():
    product = jnp.frompyfunc(lambda x, y: x * y, 2, 1)
    x = np.float32([1, 2, 3])
    np.testing.assert_array_equal(plait.jit(plait.grad(product.reduce))(x), [6, 3, 2])
    same(plait.vmap(OURS.reduce)(A), THEIRS.reduce(A, 1))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: OURS(1), ArgumentTypeError),
        (lambda: jnp.frompyfunc(3, 1, 1), ArgumentTypeError),
        (lambda: jnp.frompyfunc(digits, 0, 1), ArgumentError),
        (lambda: jnp.frompyfunc(lambda x: (x, x), 1, 1)(A), ArgumentError),
        (lambda: jnp.frompyfunc(lambda x: x, 1, 1).reduce(A), ArgumentError),
        (lambda: OURS.reduce(np.zeros((0, 3))), ShapeError),
        (lambda: OURS.reduce(A, where=A > 1), ArgumentError),
        (lambda: OURS.reduce(A, 5), OutOfRangeError),
        (lambda: OURS.at(A, 0, 1), ArgumentError),
        (lambda: OURS.at(A, 0, inplace=False), ArgumentTypeError),
    ],
)
def test_mistakes(call, kind):
    with pytest.raises(kind):
        call()
