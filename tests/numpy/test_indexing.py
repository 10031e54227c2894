"""x[...] in all of NumPy's forms, take, and x.at[...]: against NumPy, read and written."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import (
    ArgumentTypeError,
    NonConcreteBooleanIndexError,
    OutOfRangeError,
    ShapeError,
    TracerIntegerConversionError,
)
from tests.numpy.common import (
    assert_same,
    bools,
    by_meaning,  # noqa: F401
    check,
    floats,
    ints,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

X = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
KEYS = """
0 | -1 | 0, 1 | 1:3 | ..., 0 | None, 0, ..., None | :, ::-1 | 0:0 | 1, 3:0:-1, 2, ::2
..., 1:2, None | () | ... | None | -2:, 1:-1, None, -1 | 5: | 9:0:-2 | :, :, 1:3, ::3 | 1, 2, 3, 4
a([0, 1, 1]) | :, a([[0, 2], [1, 0]]) | 0, :, a([0, 1]) | :, 0, a([0, 1]) | a([0, 1]), :, a([0, 3])
a([0, 1]), None, a([0, 2]) | :, a([0, 1]), a([0, 2]), 4:0:-2 | ..., a([0, 1, -1]) | True | False
0, True | X > 30 | :, a([True, False, True]) | a([True, False]), a([0]) | [0, 1], [1, 2]
a(1), :, a([0, 0]) | a([], int) | a([[0], [1]]), a([[0, 1, 2]]) | True, a([0, 1])
a([True, False]), 0, :, a([1, 2, 3]) | 1:, a([2, 0]), 1:3
a([0, 1]), 1:, ::2, a([4, 0]) | :, :, a([0, 3]), :2 | a([1]), ..., None, 2
X[..., 0] > 50, | 0, X[0, :, :, 0] > 25 | a([-1, -2]) | a(0) | :, a([0, 1]), 1 | 0, a([0, 1]), :, 1
"""
A = np.array
INDICES = [
    pytest.param(eval(f"S[{key}]", {"S": np.s_, "a": A, "X": X, "int": int}), id=key.strip())
    for line in KEYS.strip().splitlines()
    for key in line.split("|")
]


def on_device(key):
    """The key with its NumPy arrays as Arrays."""
    if isinstance(key, tuple):
        return tuple(map(on_device, key))
    return jnp.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", INDICES)
def test_read(key):
    x = jnp.asarray(X)
    assert_same(x[key], X[key])
    assert_same(x[on_device(key)], X[key])
    assert_same(x.at[key].get(), X[key])


@pytest.mark.parametrize("key", INDICES)
def test_read_in_a_trace(key):
    """Traced, static indices are one slice, positions one gather."""
    text = str(plait.make_jaxpr(lambda x: x[key])(X))
    plain = not any(isinstance(k, np.ndarray | list | bool) for k in np.index_exp[key])
    assert text.count("gather") <= (0 if plain else 1)
    assert "dynamic_slice" not in text or not plain


@pytest.mark.parametrize("key", INDICES)
@pytest.mark.parametrize("how", ["set", "add", "multiply", "min", "max"])
def test_write(key, how):
    value = ints(*X[key].shape, low=-50, high=50).astype(np.float32)
    want = X.copy()
    if how == "set":
        want[key] = value
    else:
        name = {"min": "minimum", "max": "maximum"}.get(how, how)
        getattr(np, name).at(want, key, value)
    for k in (key, on_device(key)):
        assert_same(getattr(jnp.asarray(X).at[k], how)(value), want)


@pytest.mark.parametrize("key", INDICES)
def test_write_one_number_everywhere(key):
    want = X.copy()
    want[key] = 7
    assert_same(jnp.asarray(X).at[key].set(7), want)


@pytest.mark.parametrize("i", [-7, -3, -1, 0, 2, 3, 99])
def test_reading_out_of_bounds(i):
    x = jnp.asarray(np.float32([1, 2, 3]))
    inside = min(max(i + 3 if i < 0 else i, 0), 2)
    outside = not -3 <= i < 3
    for index in (i, jnp.asarray(i), np.array([i])):
        first = np.ravel
        assert first(x[index])[0] == inside + 1  # clamped
        assert first(x.at[index].get(mode="clip"))[0] == inside + 1
        filled = first(x.at[index].get(mode="fill"))[0]
        assert np.isnan(filled) if outside else filled == inside + 1
        assert first(x.at[index].get(mode="fill", fill_value=-1))[0] == (
            -1 if outside else inside + 1
        )
        assert first(x.at[index].get(mode="wrap"))[0] == i % 3 + 1
    assert plait.jit(lambda x, i: x[i])(x, i) == inside + 1


@pytest.mark.parametrize("i", [-7, -3, -1, 0, 2, 3, 99])
def test_writing_out_of_bounds(i):
    x = jnp.asarray(np.float32([1, 2, 3]))
    place = i + 3 if i < 0 else i
    for index in (i, jnp.asarray(i), np.array([i])):
        want = np.float32([1, 2, 3])
        if 0 <= place < 3:
            want[place] = 9
        assert_same(x.at[index].set(9), want)  # dropped
        clipped = np.float32([1, 2, 3])
        clipped[min(max(place, 0), 2)] = 9
        assert_same(x.at[index].set(9, mode="clip"), clipped)
        wrapped = np.float32([1, 2, 3])
        wrapped[i % 3] = 9
        assert_same(x.at[index].set(9, mode="wrap"), wrapped)


def test_arithmetic_at_a_place():
    x = jnp.arange(1.0, 5)
    assert_same(x.at[1].divide(4), np.float32([1, 0.5, 3, 4]))
    assert_same(x.at[1:].power(2), np.float32([1, 4, 9, 16]))
    assert_same(x.at[0].subtract(3), np.float32([-2, 2, 3, 4]))
    assert_same(x.at[0].subtract(True), np.float32([0, 2, 3, 4]))
    assert_same(x.at[::2].mul(2), np.float32([2, 2, 6, 4]))
    assert_same(x.at[1:].apply(jnp.negative), np.float32([1, -2, -3, -4]))
    assert_same(x.at[np.array([1, 1])].apply(lambda v: v + 1), np.float32([1, 4, 3, 4]))
    assert_same(x.at[np.array([0, 0, 1])].add(1), np.float32([3, 3, 3, 4]))
    assert_same(jnp.arange(3).at[0].set(1.9), np.int32([1, 1, 2]))
    assert jnp.arange(3).at[0].add(1.5).dtype == np.int32
    assert_same(jnp.zeros((2, 3)).at[0].set(np.ones((1, 3))), np.float32([[1] * 3, [0] * 3]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32])
def test_indices_of_any_integer_dtype(dtype):
    x = np.arange(300, dtype=np.float32)
    index = np.array([0, 100, 127], dtype)
    assert_same(jnp.asarray(x)[jnp.asarray(index)], x[index])
    assert_same(jnp.asarray(x).at[jnp.asarray(index)].set(0).sum(), x.sum() - 227)
    if np.iinfo(dtype).min:
        assert float(jnp.asarray(x)[jnp.asarray(np.array(-2, dtype))]) == 298


def test_take():
    f = floats(3, 4)
    for axis in (None, 0, 1, -1):
        check("take", f, np.array([0, 2, 1]), axis=axis)
        check("take", f, np.array([[0, 2], [1, 1]]), axis=axis)
        check("take", f, 1, axis=axis)
        check("take", f, np.array([True, False]), axis=axis)
    for mode in ("clip", "wrap"):
        check("take", f, np.array([5, 9, 0]), axis=1, mode=mode)
    assert np.isnan(jnp.take(f, 99))
    assert int(jnp.take(np.arange(3), 5)) == np.iinfo(np.int32).min
    assert int(jnp.take(np.arange(3), 5, fill_value=7)) == 7
    assert float(jnp.take(f, -1)) == f[-1, -1]


def test_take_along_axis():
    f = floats(3, 4)
    check("take_along_axis", f, np.argsort(f, 1), 1)
    check("take_along_axis", f, np.argsort(f, 0), 0)
    check("take_along_axis", f, np.array([[0], [1], [3]]), 1)
    check("take_along_axis", f, np.array([[0, 1, 2, 2]]), 0)
    check("take_along_axis", f, ints(20, low=0, high=12), None)
    check("take_along_axis", floats(1, 4), ints(5, 2, low=0, high=4), 1)
    assert np.isnan(np.asarray(jnp.take_along_axis(f, np.array([[7]]), 1))).all()
    assert jnp.take_along_axis(f, np.zeros((3, 0), int), 1).shape == (3, 0)


def test_functions_that_put():
    f = floats(3, 4)
    want = f.copy()
    np.put_along_axis(want, np.array([[0], [1], [2]]), 9, 1)
    y = jnp.put_along_axis(f, np.array([[0], [1], [2]]), 9, 1, inplace=False)
    assert_same(y, want)
    want = f.copy()
    np.put(want, [0, 5], [7, 8])
    assert_same(jnp.put(f, np.array([0, 5]), np.array([7, 8]), inplace=False), want)
    want = f.copy()
    np.place(want, want > 0, [1, 2])
    assert_same(jnp.place(f, f > 0, np.float32([1, 2]), inplace=False), want)
    want = f.copy()
    np.fill_diagonal(want, [1, 2, 3])
    assert_same(jnp.fill_diagonal(f, np.float32([1, 2, 3]), inplace=False), want)
    with raises(ValueError, "inplace=False"):
        jnp.put(f, 0, 1)


def test_iteration():
    x = jnp.asarray(X)
    assert [r.shape for r in x] == [(3, 4, 5)] * 2
    assert_same(list(reversed(x)), [X[1], X[0]])
    a, b = plait.jit(lambda x: tuple(r.sum() for r in x))(x)
    assert_same([a, b], [X[0].sum(), X[1].sum()])
    with raises(TypeError, "without axes"):
        iter(jnp.asarray(1.0))


def test_errors():
    x = jnp.asarray(X)
    with raises(OutOfRangeError, "5 indices", "4 axes"):
        x[0, 0, 0, 0, 0]
    with raises(ArgumentTypeError, "str is not an index"):
        x["a"]
    with raises(ArgumentTypeError, "float"):
        x[1.5]
    with raises(ArgumentTypeError, "float32", "astype"):
        x[jnp.ones(3)]
    with raises(OutOfRangeError, "mask of shape"):
        x[np.array([True, False, True])]
    with raises(OutOfRangeError, "ellipsis"):
        x[..., 0, ...]
    with raises(OutOfRangeError, "no elements"):
        jnp.zeros((0, 3))[0]
    with raises(ShapeError, "x.at[...].set", "place", "(3, 4, 5)"):
        x.at[0].set(np.ones(7))
    with raises(TypeError, "x.at[index].set(y)"):
        x[0] = 1
    with raises(ValueError, "'nonsense'", "'clip'"):
        x.at[0].set(1, mode="nonsense")
    with raises(ValueError, "zero"):
        x[::0]


def test_errors_in_a_trace():
    with raises(NonConcreteBooleanIndexError, "jnp.where", "bool"):
        plait.make_jaxpr(lambda x, m: x[m])(X, X > 3)
    with raises(TracerIntegerConversionError, "slice", "dynamic_slice"):
        plait.make_jaxpr(lambda x, i: x[:i])(X, 1)
    masked = plait.jit(lambda x: x[bools(2, seed=5)])
    assert_same(masked(X), X[bools(2, seed=5)])


def test_traced_scalars_are_a_dynamic_slice():
    text = str(plait.make_jaxpr(lambda x, i: x[i, 1:3, ::2, i])(X, 1))
    assert "dynamic_slice" in text
    assert "gather" not in text
    assert_same(plait.jit(lambda x, i: x[i, 1:3, ::2, i])(X, -1), X[-1, 1:3, ::2, -1])


def test_random_indices():
    """Mixtures of everything, read and added to."""
    generator = np.random.default_rng(0)
    for _ in range(150):
        key = []
        for n in X.shape[: generator.integers(1, 5)]:
            kind = generator.integers(7)
            if kind == 0:
                key.append(int(generator.integers(-n, n)))
            elif kind == 1:
                a, b = generator.integers(-n - 1, n + 1, 2)
                key.append(slice(int(a), int(b), int(generator.choice([-2, -1, 1, 2]))))
            elif kind == 2:
                key.append(generator.integers(-n, n, (2,)))
            elif kind == 3:
                key.append(generator.integers(0, n, (3, 1)))
            elif kind == 4:
                key.extend([None, slice(None)])
            else:
                key.append(slice(None))
        key = tuple(key)
        assert_same(jnp.asarray(X)[key], X[key])
        assert_same(jnp.asarray(X)[on_device(key)], X[key])
        want = X.copy()
        np.add.at(want, key, 1)
        assert_same(jnp.asarray(X).at[on_device(key)].add(1), want)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_traced_counts_and_shifts_of_few_bits(dtype):
    """Where the size of the array, or the sum of the counts, has no place in their dtype."""
    counts, x = np.full(3, 100, dtype), np.arange(300, dtype=np.int32)
    repeat = plait.jit(lambda n: jnp.repeat(x[:3], n, total_repeat_length=300))
    assert_same(repeat(counts), np.repeat(x[:3], 100))
    shift = -100 if np.iinfo(dtype).min else 100
    assert_same(plait.jit(lambda s: jnp.roll(x, s))(dtype(shift)), np.roll(x, shift))
    choose = plait.jit(lambda i: jnp.choose(i, list(x), mode="wrap"))
    assert_same(choose(dtype([5, 120])), np.int32([5, 120]))


def test_masks_without_elements_fit_any_axis():
    x = np.arange(60).reshape(3, 4, 5)
    for shape in ((0,), (0, 4), (3, 0), (0, 0), (3, 0, 5)):
        mask = np.zeros(shape, bool)
        assert jnp.asarray(x)[mask].shape == x[mask].shape
        assert np.array_equal(jnp.asarray(x).at[mask].set(7), x)
    for shape in ((2,), (0, 2), (3, 0, 4)):
        with raises(OutOfRangeError, "mask of shape"):
            jnp.asarray(x)[np.zeros(shape, bool)]
