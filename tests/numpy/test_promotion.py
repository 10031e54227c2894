"""Dtypes of results: the promotion table, weak numbers, switches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import DtypeError, IntegerOverflowError, ShapeError
from tests.numpy.common import by_meaning, floats, ints, raises  # noqa: F401

pytestmark = pytest.mark.usefixtures("by_meaning")

# The documented table: what dtype i and dtype j give; f*, i*, c* are Python numbers.
ORDER = "b1 u1 u2 u4 i1 i2 i4 bf f2 f4 c8 i* f* c*".split()
TABLE = """
b1 b1 u1 u2 u4 i1 i2 i4 bf f2 f4 c8 i* f* c*
u1 u1 u1 u2 u4 i2 i2 i4 bf f2 f4 c8 u1 f* c*
u2 u2 u2 u2 u4 i4 i4 i4 bf f2 f4 c8 u2 f* c*
u4 u4 u4 u4 u4 i4 i4 i4 bf f2 f4 c8 u4 f* c*
i1 i1 i2 i4 i4 i1 i2 i4 bf f2 f4 c8 i1 f* c*
i2 i2 i2 i4 i4 i2 i2 i4 bf f2 f4 c8 i2 f* c*
i4 i4 i4 i4 i4 i4 i4 i4 bf f2 f4 c8 i4 f* c*
bf bf bf bf bf bf bf bf bf f4 f4 c8 bf bf c8
f2 f2 f2 f2 f2 f2 f2 f2 f4 f2 f4 c8 f2 f2 c8
f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 c8 f4 f4 c8
c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8
i* i* u1 u2 u4 i1 i2 i4 bf f2 f4 c8 i* f* c*
f* f* f* f* f* f* f* f* bf f2 f4 c8 f* f* c*
c* c* c* c* c* c* c* c* c8 c8 c8 c8 c* c* c*
"""
DTYPES = {
    "b1": "bool", "u1": "uint8", "u2": "uint16", "u4": "uint32", "i1": "int8", "i2": "int16",
    "i4": "int32", "bf": "bfloat16", "f2": "float16", "f4": "float32", "c8": "complex64",
    "i*": "int32", "f*": "float32", "c*": "complex64",
}  # fmt: skip
PYTHON = {"i*": 1, "f*": 1.0, "c*": 1j}


def an_array(name):
    return PYTHON[name] if name in PYTHON else jnp.ones(2, DTYPES[name])


@pytest.mark.parametrize("row", TABLE.strip().splitlines(), ids=lambda row: row[:2])
def test_table(row):
    first, *results = row.split()
    for second, want in zip(ORDER, results, strict=True):
        y = jnp.multiply(an_array(first), an_array(second))
        assert (y.dtype.name, y.weak_type) == (DTYPES[want], want[1] == "*"), (first, second)
        assert jnp.result_type(an_array(first), an_array(second)) == DTYPES[want]


def test_dtypes_are_strong_in_each_spelling(x64):
    for name in ("int64", "float64", "complex128"):  # to which NumPy says int, float, complex equal
        small = np.dtype(name[:-2] + "32" if name != "complex128" else "complex64")
        for wide in (name, np.dtype(name), getattr(np, name), getattr(jnp, name)):
            assert jnp.result_type(small, wide) == jnp.promote_types(wide, small) == np.dtype(name)
    assert jnp.result_type(jnp.int8, int) == np.int8


def test_scalar_types_equal_what_they_stand_for():
    assert jnp.float64 == np.float64 == jnp.float64 == np.dtype("float64") == jnp.float64
    assert hash(jnp.float64) == hash(np.float64)
    for other in (None, float, "float64", np.float32, jnp.float32, 1.0):
        assert jnp.float64 != other
    for other in (int, "int64"):
        assert jnp.int64 != other


def test_weak_arrays_give_way():
    weak = jnp.asarray(1.0)
    assert weak.weak_type
    assert (weak * jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    assert (weak + 1).weak_type
    assert not (weak + np.float32(1)).weak_type
    assert not jnp.sum(weak).weak_type
    assert not jnp.array([1.0]).weak_type
    assert jnp.sin(1).weak_type
    assert not jnp.sin(True).weak_type
    assert not (2.0 ** jnp.arange(3)).weak_type
    assert (2.0 ** jnp.int8(2)).weak_type
    assert not plait.jit(lambda n: 2.0**n)(np.int32(3)).weak_type


def test_numpy_scalars_are_strong():
    assert (jnp.ones(2, jnp.float16) * np.float32(2)).dtype == np.float32
    assert (jnp.ones(2, jnp.int8) + np.int16(1)).dtype == np.int16


def test_64_bit_inputs_become_32_bit_ones():
    assert jnp.asarray(np.ones(2)).dtype == np.float32
    assert (jnp.ones(2) * np.ones(2)).dtype == np.float32
    assert jnp.asarray(np.arange(3)).dtype == np.int32
    assert jnp.zeros(2, np.float64).dtype == np.float32
    assert jnp.zeros(2, "complex128").dtype == np.complex64


def test_64_bits_with_the_switch(x64):
    assert jnp.asarray(np.ones(2)).dtype == np.float64
    assert jnp.arange(3).dtype == np.int64
    assert jnp.asarray(1.0).dtype == np.float64
    assert (jnp.ones(2, np.float32) * 2.0).dtype == np.float32
    assert (jnp.ones(2, np.int32) / 2).dtype == np.float32
    assert (jnp.ones(2, int) / 2).dtype == np.float64
    assert jnp.sin(jnp.ones(2, np.int64)).dtype == np.float64
    assert jnp.argsort(np.ones(2)).dtype == jnp.nonzero(np.ones(2))[0].dtype == np.int64
    assert jnp.sum(jnp.ones(2, bool)).dtype == np.int64
    assert jnp.asarray(np.array([2**40])).dtype == np.int64


def test_integers_become_floats_where_the_function_needs_it():
    k = ints(3, 4)
    for name in ("sin", "mean", "var", "median", "exp"):
        assert getattr(jnp, name)(k).dtype == np.float32
    assert jnp.true_divide(k, k).dtype == np.float32


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum"])
def test_sums_of_small_integers(name):
    def dtype(kind):
        return getattr(jnp, name)(jnp.ones(3, kind)).dtype.name

    assert dtype(bool) == "int32"
    small = name != "cumsum"  # running sums keep small integers, as JAX has it
    assert dtype("int8") == ("int32" if small else "int8")
    assert dtype("uint8") == ("uint32" if small else "uint8")
    assert dtype("int32") == "int32"
    assert dtype("float16") == "float16"


def test_integers_out_of_range_raise():
    for make in (
        lambda: jnp.asarray(2**31),
        lambda: jnp.asarray([2**40]),
        lambda: jnp.asarray(np.array([2**40])),
        lambda: jnp.array(300, "uint8"),
        lambda: jnp.ones(2, "int8") + 200,
        lambda: jnp.zeros(2, "uint8") - (-1),
        lambda: jnp.full(3, 2**40),
        lambda: jnp.ones(2, "int32") * np.array([2**40, 1]),
        lambda: jnp.ones(2, "int32").at[0].set(2**40),
    ):
        with raises(IntegerOverflowError, "does not fit"):
            make()
    assert issubclass(IntegerOverflowError, OverflowError)


def test_strict_promotion():
    with plait.numpy_dtype_promotion("strict"):
        assert (jnp.ones(2) + 1).dtype == np.float32
        with raises(DtypeError, "strict", "astype"):
            jnp.ones(2) + jnp.ones(2, int)


def test_rank_promotion():
    a, b = floats(2, 3), floats(3)
    with plait.numpy_rank_promotion("raise"):
        assert (jnp.asarray(a) + 1).shape == (2, 3)
        with raises(ShapeError, "ranks", "add"):
            jnp.add(a, b)
        # These broadcast by their very purpose, or choose between what has been computed.
        assert jnp.where(b > 0, a, 0).shape == jnp.where(a > 0, a, b).shape == (2, 3)
        rows = np.arange(2)[:, None]
        assert jnp.asarray(a).at[rows, np.arange(3)].add(1).shape == (2, 3)
        assert jnp.broadcast_shapes((3,), (2, 3)) == jnp.broadcast_arrays(b, a)[0].shape == (2, 3)
    with plait.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="ranks"):
        jnp.add(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jnp.add(a, b)


def test_scalar_types_stand_for_their_dtypes():
    assert jnp.float32 == np.float32 == jnp.float32
    assert jnp.float32 == np.dtype("float32")
    assert np.dtype("float32") == jnp.float32
    assert jnp.float32 != jnp.float16
    assert jnp.float32 is not None
    assert np.zeros(2, jnp.bfloat16).dtype == jnp.bfloat16.dtype
    assert {jnp.int8: 1}[np.int8] == 1
    assert jnp.float32(1).dtype == np.float32
    assert not jnp.float32(1).weak_type
    assert jnp.int8([1, 2]).shape == (2,)
    assert isinstance(np.float32(1), jnp.float32)
    assert repr(jnp.int32) == "plait.numpy.int32"


def test_questions_about_dtypes():
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating)
    assert jnp.issubdtype(np.int32, jnp.signedinteger)
    assert not jnp.issubdtype(jnp.int32, jnp.floating)
    assert jnp.issubdtype(jnp.float32, jnp.float32)
    assert jnp.issubdtype(float, jnp.floating)
    assert jnp.isdtype(jnp.int8, "integral")
    assert jnp.isdtype(jnp.int8, ("real floating", jnp.int8))
    assert not jnp.isdtype(jnp.int8, "unsigned integer")
    assert jnp.can_cast("int32", "float64")
    assert not jnp.can_cast(jnp.float32, jnp.int32)
    assert jnp.promote_types(jnp.int8, jnp.uint8) == jnp.int16
    assert jnp.promote_types("float16", float) == jnp.float16
    assert jnp.finfo(jnp.bfloat16).bits == 16
    assert jnp.finfo(jnp.ones(2)).eps == np.finfo(np.float32).eps
    assert jnp.iinfo(jnp.int8).max == 127
    assert jnp.result_type(jnp.int8, 1.0) == np.float32
    assert isinstance(jnp.ones(1), jnp.ndarray)
    assert not isinstance(np.ones(1), jnp.ndarray)


# Functions that mix ranks or dtypes on their way, of one array of ones of two axes.
STEPS = {
    "histogram": lambda x: jnp.histogram(x[0], bins=3),
    "digitize": lambda x: jnp.digitize(x, np.array([0.0, 2.0], np.float32)),
    "searchsorted": lambda x: jnp.searchsorted(x[0], x),
    "interp": lambda x: jnp.interp(x, x[0], x[0]),
    "tril": lambda x: jnp.tril(jnp.stack([x, x])),
    "vander": lambda x: jnp.vander(x[0]),
    "median": lambda x: jnp.median(x),
    "nanmean": lambda x: jnp.nanmean(x, axis=1),
    "var": lambda x: jnp.var(x.astype(np.float16), axis=0),
    "cov": lambda x: jnp.cov(x),
    "trapezoid": lambda x: jnp.trapezoid(x, x[0]),
    "diag": lambda x: jnp.diag(x[0]),
    "packbits": lambda x: jnp.packbits(x > 0),
    "attention": lambda x: plait.nn.dot_product_attention(
        *[x[None, :, None]] * 3, local_window_size=1
    ),
    "softmax": lambda x: plait.nn.softmax(x, where=x > 0),
    "one_hot": lambda x: plait.nn.one_hot(np.arange(3), 3),
    "eigh": lambda x: jnp.linalg.eigh(jnp.stack([x @ x.T] * 2)),
    "histogram of ints": lambda x: jnp.histogram(x.astype(int), bins=3),
    "histogram of edges": lambda x: jnp.histogram(x, np.arange(4), weights=x.astype(np.int8)),
    "histogram2d": lambda x: jnp.histogram2d(x[0].astype(int), x[1]),
    "histogramdd": lambda x: jnp.histogramdd(x, 2, density=True, weights=np.int8([1, 2])),
    "choose": lambda x: jnp.choose(np.arange(3) % 2, [x, x[0]]),
    "where": lambda x: jnp.where(x[0] > 0, x, x[0]),
    "select": lambda x: jnp.select([x > 0], [x], x[0]),
    "broadcast_arrays": lambda x: jnp.broadcast_arrays(x, x[0]),
    "broadcast_shapes": lambda x: jnp.zeros(jnp.broadcast_shapes((2, 1), (3,))),
    "matmul": lambda x: jnp.matmul(x[None, None], x[None].mT),
    "normal": lambda x: plait.random.normal(plait.random.key(0), (2, 3)),
    # Methods: of a user's line they are what is called, as operators are.
    "interpolator": lambda x: plait.scipy.interpolate.RegularGridInterpolator(
        (jnp.arange(2.0), jnp.arange(3.0)), x
    )(x[:, :2]),
    "rotations": lambda x: plait.scipy.spatial.transform.Slerp.init(
        jnp.arange(2.0), plait.scipy.spatial.transform.Rotation.from_rotvec(x)
    )(x[0]).as_quat(),
}


@pytest.mark.parametrize("name", STEPS)
def test_strict_switches_hold_for_what_is_asked_and_not_for_steps_of_functions(name):
    x = jnp.ones((2, 3))
    expected = plait.tree.leaves(STEPS[name](x))
    with plait.numpy_rank_promotion("raise"), plait.numpy_dtype_promotion("strict"):
        found = plait.tree.leaves(STEPS[name](x))
        for a, b in zip(found, expected, strict=True):
            assert np.array_equal(a, b, equal_nan=a.dtype != bool)
        with raises(ShapeError, "ranks"):
            plait.jit(lambda x: x - x[0])(x)
        for mixed in (
            lambda: x - x.astype(int),
            lambda: jnp.concatenate([x, x.astype(int)]),
            lambda: jnp.where(x > 0, x, x.astype(int)),
            lambda: plait.scipy.special.xlogy(x, x.astype(int)),
        ):
            with raises(DtypeError, "strict"):
                mixed()
