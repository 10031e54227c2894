"""ds: windows of arrays at places that are not known when the program is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait import ds
from plait.errors import ArgumentTypeError, ShapeError
from plait.testing import assert_close

X = np.arange(24, dtype=np.float32).reshape(4, 6)
ROWS, MASK = np.array([2, 0]), np.array([True, False, True, False])

# (what stands for NumPy's index where the windows begin at i and j, the index)
INDICES = {
    "rows": (lambda i, j: np.s_[i : i + 2], lambda i, j: ds(i, 2)),
    "columns": (lambda i, j: np.s_[..., j : j + 3], lambda i, j: (..., ds(j, 3))),
    "both": (
        lambda i, j: np.s_[i : i + 2, None, j : j + 3],
        lambda i, j: (ds(i, 2), None, ds(j, 3)),
    ),
    "strides": (lambda i, j: np.s_[i : i + 2, j : j + 3 : 2], lambda i, j: (ds(i, 2), ds(j, 2, 2))),
    "an int": (lambda i, j: np.s_[-1, j : j + 3], lambda i, j: (-1, ds(j, 3))),
    "a slice": (
        lambda i, j: np.s_[::-2, j : j + 3],
        lambda i, j: (slice(None, None, -2), ds(j, 3)),
    ),
    "positions": (lambda i, j: np.s_[ROWS, j : j + 3], lambda i, j: (ROWS, ds(j, 3))),
    "a mask": (lambda i, j: np.s_[MASK, j : j + 3], lambda i, j: (MASK, ds(j, 3))),
    "True": (lambda i, j: np.s_[True, i : i + 2], lambda i, j: (True, ds(i, 2))),
    "nothing": (lambda i, j: np.s_[i : i + 0], lambda i, j: ds(i, 0)),
}


@pytest.mark.parametrize("name", INDICES)
def test_windows_are_slices(name):
    of_numpy, of_plait = INDICES[name]
    read = plait.jit(lambda x, i, j: x[of_plait(i, j)])
    write = plait.jit(lambda x, i, j, y: x.at[of_plait(i, j)].set(y))
    add = plait.jit(lambda x, i, j: x.at[of_plait(i, j)].add(100))
    for i, j in itertools.product((0, 2), (1, 3)):
        index = of_numpy(i, j)
        part = X[index]
        put, added = X.copy(), X.copy()
        put[index] = -part
        added[index] += 100
        x = jnp.asarray(X)
        for function, want in ((read, part), (add, added)):
            assert_close(function(x, i, j), want)
        assert_close(write(x, i, j, -part), put)
        # Not traced: as ints, which are known, and as arrays.
        for start in ((i, j), (np.int64(i), np.int64(j)), (jnp.uint8(i), jnp.int32(j))):
            assert_close(x[of_plait(*start)], part)
            assert_close(x.at[of_plait(*start)].set(-part), put)


def test_windows_that_do_not_lie_inside():
    x = jnp.asarray(X)
    # (start, where it is read)
    for start, rows in ((3, (2, 4)), (9, (2, 4)), (-1, (2, 4)), (-2, (2, 4)), (-9, (0, 2))):
        inside = start == -2
        for s in (start, jnp.int32(start)):
            moved = slice(*rows)
            assert_close(x[ds(s, 2)], X[moved])
            filled = x.at[ds(s, 2)].get(mode="fill", fill_value=-1)
            assert_close(filled, X[moved] if inside else np.full((2, 6), -1, np.float32))
            dropped, clipped = X.copy(), X.copy()
            clipped[moved] = 7
            assert_close(x.at[ds(s, 2)].set(7), clipped if inside else dropped)
            assert_close(x.at[ds(s, 2)].set(7, mode="clip"), clipped)
    for start in (0, jnp.int32(0)):
        with pytest.raises(ShapeError, match="5 positions"):
            x[ds(start, 5)]


def test_windows_under_transformations():
    x, starts = jnp.asarray(X), np.arange(3)
    rows = plait.vmap(lambda i, v: v[ds(i, 2)])(starts, x[:3])
    assert_close(rows, np.stack([X[k, k : k + 2] for k in range(3)]))
    put = plait.vmap(lambda i: x.at[ds(i, 2)].set(0))(starts)
    for k in range(3):
        want = X.copy()
        want[k : k + 2] = 0
        assert_close(put[k], want)
    slope = plait.grad(lambda v, i: jnp.sum(v.at[ds(i, 2)].multiply(3)[ds(1, 2)]))(x, 2)
    assert_close(slope, np.outer([0, 1, 3, 0], np.ones(6)).astype(np.float32))
    # A window is an argument as its start is.
    moved = plait.jit(lambda window: x[window])(ds(jnp.int32(1), 2))
    assert_close(moved, X[1:3])
    assert plait.tree.leaves(ds(1, 2)) == [] and plait.tree.leaves(ds(jnp.int32(1), 2)) == [1]


def test_what_ds_makes():
    assert ds(None) == slice(None) and ds(None, stride=2) == slice(None, None, 2)
    assert ds(3) == ds(None, 3) == ds(0, 3) == ds(0, 3, 1) != ds(0, 3, stride=2)
    assert repr(ds(1, 2)) == "ds(1, 2, 1)"
    for wrong in (lambda: ds(1.5, 2), lambda: ds(np.arange(2), 2), lambda: ds(0, 2.5)):
        with pytest.raises(ArgumentTypeError):
            wrong()
    for wrong in (lambda: ds(0, -1), lambda: ds(0, 2, 0)):
        with pytest.raises(ShapeError):
            wrong()
    with pytest.raises(TypeError):
        plait.jit(lambda n: jnp.arange(3)[ds(0, n)])(2)
