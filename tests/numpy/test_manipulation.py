"""Shapes, order, joining, cutting, padding, editing against NumPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import ArgumentError, ConcretizationTypeError, OutOfRangeError, ShapeError
from tests.numpy.common import (
    assert_same,
    bools,
    by_meaning,  # noqa: F401
    check_expression,
    complexes,
    floats,
    ints,
    lines,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

F, H, V, W, K = floats(3, 4), floats(2, 3, 4), floats(5), floats(5, seed=6), ints(3, 4)
NAMES = {"F": F, "H": H, "V": V, "W": W, "K": K, "B": bools(3, 4), "S": np.float32(1.5)}
NAMES |= {"C": complexes(3, 4), "U": ints(3, 4, low=0, high=255, dtype=np.uint8)}

SHAPES = """
xp.reshape(F, (2, -1)); xp.reshape(F, (2, 6), order='F'); xp.reshape(F, -1); xp.ravel(F, order='F')
xp.transpose(H); xp.transpose(H, (1, 0, 2)); xp.swapaxes(H, 0, -1); xp.moveaxis(H, 0, -1)
xp.moveaxis(H, (0, 1), (-1, 0)); xp.rollaxis(H, 2); xp.rollaxis(H, 0, 3); xp.rollaxis(H, -1, 1)
xp.squeeze(F[None]); xp.squeeze(F[None], 0); xp.expand_dims(F, (0, -1)); xp.expand_dims(F, 1)
xp.atleast_1d(S); xp.atleast_2d(V); xp.atleast_3d(F); xp.atleast_3d(V); xp.atleast_1d(1, V)
xp.flip(H); xp.flip(H, 1); xp.fliplr(F); xp.flipud(F); xp.rot90(F); xp.rot90(F, 2); xp.rot90(F, 3)
xp.rot90(H, 1, (1, 2)); xp.roll(F, 1); xp.roll(F, -1, 0); xp.roll(F, (1, 2), (0, 1))
xp.roll(F, (1, 2), 1); xp.roll(F, 1, (0, 1)); xp.roll(F, 7, 1); xp.matrix_transpose(H)
xp.broadcast_to(V, (2, 5)); xp.broadcast_arrays(F, F[0]); xp.broadcast_shapes((3, 1), (1, 4))
xp.resize(F, (2, 3)); xp.resize(V, (3, 4)); xp.resize(V, 0); xp.permute_dims(H, (2, 0, 1))
xp.ndim([[1]]); xp.shape(F); xp.size(F); xp.size(F, 0); xp.diagonal(F); xp.diagonal(F, 1)
xp.diagonal(F, -1); xp.diagonal(H, 0, 1, 2); xp.diagonal(H, 1, 0, 2); xp.diagonal(F, 9)
xp.trace(F); xp.trace(F, 1); xp.trace(H, 0, 1, 2); xp.trace(K); xp.tile(V, 2); xp.tile(F, (2, 1))
xp.tile(V, (2, 2)); xp.repeat(F, 2); xp.repeat(F, 2, 1); xp.repeat(V, np.array([0, 1, 2, 0, 1]))
xp.repeat(F, [1, 0, 2], 0); xp.repeat(F, 0, 0)
xp.diff(V); xp.diff(F, 2); xp.diff(F, axis=0); xp.diff(V, prepend=0.0, append=V); xp.diff(B_)
xp.ediff1d(F, 1, [2, 3]); xp.gradient(V); xp.gradient(F); xp.gradient(V, 2.0)
xp.gradient(F, axis=1); xp.gradient(V, np.array([0, 1, 3, 4, 7.0])); xp.gradient(F, 2.0, 3.0)
"""
JOINS = """
xp.concatenate([F, F]); xp.concatenate([F, K], 1); xp.concatenate([F, F], None); xp.concatenate(H)
xp.stack([F, F], 1); xp.stack([F, K], -1); xp.stack([1, 2.0]); xp.stack(H); xp.hstack([V, W])
xp.hstack([F, F]); xp.vstack([V, W]); xp.vstack([F, F]); xp.dstack([F, F]); xp.dstack([V, W])
xp.column_stack([V, W]); xp.column_stack([F, F[:, 0]]); xp.block([[F, F], [F, F]]); xp.block([V, W])
xp.block([[F], [F]]); xp.append(V, 1); xp.append(F, F, 0); xp.concat([F, F], axis=1)
xp.split(F, 2, 1); xp.split(F, [1], 1); xp.split(F, [1, 3], 1); xp.array_split(V, 3)
xp.hsplit(F, 2); xp.vsplit(F, 3); xp.dsplit(H, 2); xp.hsplit(V, [2]); xp.split(F, [-1], 1)
xp.array_split(V, [2, 7]); xp.array_split(V, 8); xp.unstack(F); xp.unstack(F, axis=1)
"""
EDITS = """
xp.insert(V, 1, 9); xp.insert(V, [1, 3], [8, 9]); xp.insert(F, 1, 7, axis=1)
xp.insert(F, 1, W[:3], axis=1); xp.insert(F, [0, 2], 9, axis=0); xp.insert(V, slice(0, 2), [1, 2])
xp.insert(V, [1, 1, 4], [7, 8, 9]); xp.insert(V, -1, 3); xp.insert(F, [1], F[:, :2], axis=1)
xp.delete(V, 1); xp.delete(F, [0, 2], axis=1); xp.delete(F, slice(0, 2), axis=0); xp.delete(V, -1)
xp.delete(V, V > 0); xp.trim_zeros(np.array([0, 0, 1, 0, 2, 0])); xp.trim_zeros(np.zeros(3))
xp.trim_zeros(np.array([0, 0, 1, 0, 2, 0]), 'f'); xp.trim_zeros(np.array([0, 1, 0]), 'b')
"""
PADS = """
xp.pad(F, 1); xp.pad(F, ((1, 2), (0, 1)), constant_values=7); xp.pad(F, (1, 2), mode='edge')
xp.pad(F, ((1, 2), (2, 1)), constant_values=((1, 2), (3, 4))); xp.pad(F, 2, mode='edge')
xp.pad(F, 2, mode='reflect'); xp.pad(F, 2, mode='symmetric'); xp.pad(F, 5, mode='reflect')
xp.pad(F, 7, mode='symmetric'); xp.pad(F, 2, mode='wrap'); xp.pad(F, 9, mode='wrap')
xp.pad(F, (3, 0), mode='reflect'); xp.pad(F, (0, 8), mode='symmetric')
xp.pad(F, (1, 7), mode='wrap')
xp.pad(F, 2, mode='reflect', reflect_type='odd')
xp.pad(F, 2, mode='symmetric', reflect_type='odd')
xp.pad(F, 5, mode='reflect', reflect_type='odd'); xp.pad(F, 2, mode='linear_ramp', end_values=5)
xp.pad(V, (7, 3), mode='reflect', reflect_type='odd'); xp.pad(V[:1], 2, mode='reflect')
xp.pad(F, 2, mode='maximum'); xp.pad(F, 2, mode='mean'); xp.pad(F, 2, mode='median')
xp.pad(F, 2, mode='minimum', stat_length=2); xp.pad(V, 3, mode='maximum', stat_length=(2, 3))
xp.pad(K, 3, mode='linear_ramp', end_values=2)
xp.pad(K, 2, mode='mean'); xp.pad(V, 0); xp.pad(C, 1)
"""
PACKED = """
xp.packbits(B); xp.packbits(B, 1); xp.packbits(B, 0, 'little'); xp.unpackbits(U)
xp.unpackbits(U, 1); xp.unpackbits(U, 0, count=5, bitorder='little'); xp.unpackbits(U, 1, count=-3)
xp.unpackbits(U, 1, count=99); xp.unravel_index(7, (3, 4)); xp.unravel_index(P, (3, 4))
xp.ravel_multi_index((P % 3, P % 4), (3, 4)); xp.ravel_multi_index((P, P), (3, 4), mode='clip')
xp.ravel_multi_index((P, P), (3, 4), mode='wrap', order='F')
"""
OTHERS = """
xp.polyval(V, W); xp.polyval(V, 2); xp.polyadd(V, W[:3]); xp.polysub(V, W[:3]); xp.polymul(V, W)
xp.polyder(V); xp.polyder(V, 2); xp.polyint(V); xp.polyint(V, 2, np.array([1, 2.0])); xp.poly(V)
xp.hanning(5); xp.hamming(6); xp.blackman(7); xp.bartlett(6)
xp.kaiser(6, 8.6); xp.hanning(1); xp.bartlett(5); xp.kaiser(5, 14); xp.hamming(0)
xp.apply_along_axis(lambda v: v * v.sum(), 1, F); xp.apply_along_axis(xp.sum, 0, H)
xp.apply_along_axis(xp.sort, 1, H); xp.apply_over_axes(xp.sum, H, [0, 2])
xp.apply_over_axes(xp.max, H, (0, 0)); xp.ediff1d(V[:0]); xp.unwrap(V[:0]); xp.diff(V[:0])
xp.array_repr(np.arange(3)); xp.array_str(np.arange(3)); xp.iterable([1]); xp.isscalar(2)
xp.iscomplexobj(C); xp.isrealobj(F); xp.iscomplexobj([1, 2j]); xp.isrealobj([F, F])
xp.array_equal([1, 2], [1, 2]); xp.array_equal([1, 2], [[1, 2]]); xp.array_equiv([1], [[1, 1]])
xp.trapezoid(H, F, axis=-1); xp.trapezoid(H, F, axis=-2); xp.zeros(np.array(2)); xp.ones(np.int8(2))
xp.frexp(F); xp.frexp(-V * 1e-42); xp.spacing(V * 1e-42); xp.spacing(-V * 1e-37); xp.spacing(F)
xp.polyval(F, V[:4]); xp.polyval(H, 2.0); xp.polyval(F[:, :1], V); xp.cov(V[:0]); xp.cov(F[:2, :0])
xp.sum(V * 0.1, dtype=bool); xp.prod(F * 0.1, 0, dtype=bool); xp.sum(V, dtype=bool, where=V > 9)
xp.sum(V[:0], dtype=bool, initial=1); xp.cumsum(V * 0.1, dtype=bool); xp.nansum(F, 1, dtype=bool)
xp.cumprod(V * 0.1, dtype=bool); xp.trace(F * 0.1, dtype=bool)
"""
NAMES |= {"B_": NAMES["B"], "P": np.arange(9, dtype=np.int32)}


@pytest.mark.parametrize("text", lines(SHAPES + JOINS + EDITS + PADS + PACKED + OTHERS))
def test_against_numpy(text):
    if text.startswith(("xp.array_", "xp.is", "xp.ndim", "xp.shape", "xp.size")):
        names = {**NAMES, "np": np}
        got, want = eval(text, {**names, "xp": jnp}), eval(text, {**names, "xp": np})
        if not isinstance(want, list):
            assert got == want
            return
    check_expression(text, NAMES)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f2", "f4", "c8"])
def test_byteswap(dtype):
    x = (V * 50).astype(dtype)
    assert np.array_equal(np.asarray(jnp.asarray(x).byteswap()).view("u1"), x.byteswap().view("u1"))


@pytest.mark.parametrize(
    ("places", "values", "axis"),
    [
        (2, 9.0, None),
        (-1, V[:3], 1),
        (np.int8(5), V[:2], None),
        (np.array([3]), F[:, :2], 1),
        (np.array([1, 0, 3, 1]), V[:4], 0),
        (np.array([4, 2]), F[:, :2], 1),
        (np.zeros(0, int), V[:0], None),
    ],
)
def test_insert_at_traced_positions(places, values, axis):
    wanted = np.insert(F, places, values, axis)
    assert_same(jnp.insert(F, places, values, axis), wanted)
    assert_same(plait.jit(lambda p, v: jnp.insert(F, p, v, axis))(places, values), wanted)


def test_rows_and_columns_in_place_of_matrices():
    both = np.concatenate([V, W])
    assert_same(jnp.r_["r", V, W], both[None])
    assert_same(jnp.r_["c", V, W], both[:, None])
    assert_same(jnp.r_["r", 1:3, 0], np.array([[1, 2, 0]]))
    for directive in ("r", "c"):  # two axes are a matrix already
        assert_same(jnp.r_[directive, F, F], np.concatenate([F, F]))
        assert_same(jnp.c_[directive, V, W], np.stack([V, W], 1))


def test_traced_positions_outside_mean_the_ends():
    insert = plait.jit(lambda p: jnp.insert(V, p, 9.0))
    assert_same(insert(99), np.insert(V, 5, np.float32(9)))
    assert_same(insert(-99), np.insert(V, 0, np.float32(9)))


def test_copies_of_traced_values_are_these():
    both = plait.jit(lambda x: (copy.copy(x), copy.deepcopy({"x": x})["x"] + 1))(V)
    assert_same(both[0], V)
    assert_same(both[1], V + 1)


def test_masks_of_masked_arrays_are_not_lost_in_silence():
    masked = np.ma.masked_array(V, mask=V > 0)
    for use in (jnp.sin, jnp.sum, jnp.asarray, plait.jit(lambda x: x), lambda m: jnp.ones(5) + m):
        with raises(ValueError, "mask", "float32[5]", "filled"):
            use(masked)
    assert_same(jnp.array(masked), V)  # as np.array: a copy of the data
    assert_same(jnp.sum(masked.filled(0)), V[V <= 0].sum())


def test_pad_by_a_dict_and_by_a_function():
    assert_same(jnp.pad(F, {-1: (0, 2), 0: 1}), np.pad(F, ((1, 1), (0, 2))))

    def fill(vector, width, axis, kwargs):
        return vector.at[: width[0]].set(axis + 1.0)

    assert_same(jnp.pad(V, (2, 0), fill), np.concatenate([np.float32([1, 1]), V]))


def test_pad_with_traced_values():
    padded = plait.make_jaxpr(lambda c: jnp.pad(F, 1, constant_values=c))(np.float32(2))
    assert "pad" in str(padded)


def test_repeat_with_a_fixed_length():
    counts = np.array([0, 1, 2, 0, 1])
    assert_same(jnp.repeat(V, counts, total_repeat_length=6), V[[1, 2, 2, 4, 4, 4]])
    assert_same(jnp.repeat(V, counts, total_repeat_length=2), V[[1, 2]])
    traced = plait.jit(lambda n: jnp.repeat(V, n, total_repeat_length=5))
    with raises(ConcretizationTypeError, "total_repeat_length"):
        plait.make_jaxpr(lambda n: jnp.repeat(V, n))(counts)
    assert_same(traced(counts), V[[1, 2, 2, 4, 4]])


@pytest.mark.parametrize("a", [None, "text", object(), 3, [1, 2], [[1], [2]], (), np.ones((2, 0))])
def test_questions_about_shapes_are_answered_as_numpy_does(a):
    assert (jnp.shape(a), jnp.ndim(a), jnp.size(a)) == (np.shape(a), np.ndim(a), np.size(a))


def test_roll_by_a_traced_shift():
    for shift in (-7, 0, 3):
        assert_same(plait.jit(lambda s: jnp.roll(V, s))(shift), np.roll(V, shift))


def test_vectorize():
    assert_same(jnp.vectorize(lambda x: x * 2)(F), F * 2)
    dot = jnp.vectorize(jnp.dot, signature="(n),(n)->()")
    assert_same(dot(H, F), np.einsum("bij,ij->bi", H, F))
    product = jnp.vectorize(lambda a, b: a @ b, signature="(n,m),(m)->(n)")
    assert_same(product(H, F[0]), H @ F[0])
    assert_same(jnp.vectorize(lambda a, n: a**n, excluded=(1,))(F, 2), F**2)
    # What is excluded may be left out; None is no array, by position or by name.
    power = jnp.vectorize(lambda a, n=2, by=None: a**n if by is None else a**by, excluded=(1, "n"))
    assert_same(power(F), F**2)
    assert_same(power(F, 3), F**3)
    assert_same(power(F, n=3, by=None), F**3)
    assert_same(power(F, by=np.int32(3)), F**3)
    assert_same(jnp.vectorize(lambda a, b: a if b is None else a + b)(F, None), F)
    pair = jnp.vectorize(lambda v: (v.sum(), v * 2), signature="(n)->(),(n)")
    assert_same(pair(F), (F.sum(1), F * 2))
    with raises(ArgumentError, "not a signature"):
        jnp.vectorize(lambda x: x, signature="n->n")
    with raises(ShapeError, "two sizes"):
        dot(F, V)


def test_polydiv():
    quotient, rest = jnp.polydiv(V, np.float32([2, 1]))
    whole = jnp.polyadd(jnp.polymul(quotient, np.float32([2, 1])), rest)
    assert_same(whole, V)


def test_save_and_load(tmp_path):
    for x in (F, K, jnp.ones(3, jnp.bfloat16)):
        jnp.save(tmp_path / "x.npy", x)
        y = jnp.load(tmp_path / "x.npy")
        assert y.dtype == x.dtype
        assert_same(y, x)
    jnp.savez(tmp_path / "x.npz", a=F, b=K)
    assert_same(jnp.load(tmp_path / "x.npz")["b"], K)


@pytest.mark.parametrize(
    ("call", "kind", "word"),
    [
        (lambda: jnp.reshape(F, (5, 5)), ShapeError, "(5, 5)"),
        (lambda: jnp.reshape(F, (5, -1)), ShapeError, "divide"),
        (lambda: jnp.reshape(F, (-1, -1)), ShapeError, "-1"),
        (lambda: jnp.squeeze(F, 0), ShapeError, "size 3"),
        (lambda: jnp.expand_dims(F, 5), OutOfRangeError, "axis 5"),
        (lambda: jnp.moveaxis(F, 0, 5), OutOfRangeError, "axis 5"),
        (lambda: jnp.swapaxes(F, 0, 5), OutOfRangeError, "axis 5"),
        (lambda: jnp.transpose(F, (0, 0)), ShapeError, "twice"),
        (lambda: jnp.transpose(F, (0,)), ShapeError, "each axis"),
        (lambda: jnp.concatenate([]), ArgumentError, "at least one"),
        (lambda: jnp.stack([]), ArgumentError, "at least one"),
        (lambda: jnp.concatenate([F, V]), ShapeError, "array 1"),
        (lambda: jnp.concatenate([F, F[:, :2]]), ShapeError, "another axis"),
        (lambda: jnp.stack([F, V]), ShapeError, "different shapes"),
        (lambda: jnp.concatenate([1, 2]), ShapeError, "jnp.stack"),
        (lambda: jnp.split(F, 5, 1), ShapeError, "array_split"),
        (lambda: jnp.broadcast_to(F, (2, 2)), ShapeError, "broadcast"),
        (lambda: jnp.roll(F, 1, 5), OutOfRangeError, "axis 5"),
        (lambda: jnp.flip(F, 5), OutOfRangeError, "axis 5"),
        (lambda: jnp.pad(F, -1), ArgumentError, "at least 0"),
        (lambda: jnp.pad(F, 1, mode="foo"), ArgumentError, "foo"),
        (lambda: jnp.pad(F, 1, mode="edge", constant_values=1), ArgumentError, "does not take"),
        (lambda: jnp.delete(F, 9, 0), OutOfRangeError, "outside"),
        (lambda: jnp.diff(np.float32(1)), ShapeError, "axis"),
        (lambda: jnp.block([[F], F]), ArgumentError, "depths"),
    ],
)
def test_errors(call, kind, word):
    with raises(kind, word):
        call()
