"""Elementwise functions against NumPy: values, dtypes, special numbers, errors."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.core import dtypes
from plait.errors import ArgumentTypeError, DtypeError, IntegerOverflowError, ShapeError
from tests.numpy.common import (
    SPECIAL,
    assert_same,
    bools,
    by_meaning,  # noqa: F401
    call,
    check,
    complexes,
    floats,
    ints,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

F, K, U, B, C = (
    floats(3, 4),
    ints(3, 4),
    ints(3, 4, low=0, high=200, dtype=np.uint8),
    bools(3, 4),
    complexes(3, 4),
)
H = floats(3, 4, dtype=np.float16)

OF_FLOATS = """sqrt cbrt exp exp2 expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh
cosh tanh arcsinh arccosh arctanh deg2rad rad2deg rint fabs reciprocal""".split()
OF_COMPLEX = "exp log sqrt sin cos tanh square reciprocal negative conj sign".split()
KEEPING = "negative positive square sign floor ceil trunc".split()
QUESTIONS = "isnan isinf isfinite isposinf isneginf signbit logical_not isreal iscomplex".split()


@pytest.mark.parametrize("name", OF_FLOATS)
def test_functions_of_floats(name):
    for x, dtype in ((F, np.float32), (SPECIAL, np.float32), (H, np.float16)):
        with np.errstate(all="ignore"):
            want = call(np, name)(x.astype(np.float64))
        assert_same(call(jnp, name)(x), want, dtype)
    with np.errstate(all="ignore"):
        for x in (K, B, U):  # integers become floats
            assert_same(call(jnp, name)(x), call(np, name)(x.astype(np.float64)), np.float32)


@pytest.mark.parametrize(
    "name", "exp log sqrt sin cos tanh square reciprocal negative conj sign".split()
)
def test_functions_of_complex_numbers(name):
    check(name, C, result=np.complex64)


@pytest.mark.parametrize("name", KEEPING)
def test_functions_that_keep_the_dtype(name):
    for x in (F, K, SPECIAL, H):
        check(name, x, result=x.dtype)


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions(name):
    for x in (F, K, SPECIAL, H):
        check(name, x, result=np.bool_)


def test_absolute_value():
    for x, dtype in ((F, np.float32), (K, np.int32), (U, np.uint8), (B, np.bool_)):
        check("abs", x, result=dtype)
    check("abs", C, result=np.float32)


DIVISIONS = "floor_divide remainder fmod divmod".split()
TWO_NUMBERS = """add subtract multiply divide maximum minimum fmax fmin arctan2 hypot logaddexp
copysign nextafter power float_power heaviside logaddexp2""".split()
INTEGERS = """gcd lcm power left_shift right_shift bitwise_and bitwise_or bitwise_xor""".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
LOGIC = "logical_and logical_or logical_xor".split()


@pytest.mark.parametrize("name", TWO_NUMBERS + DIVISIONS)
def test_two_operands(name):
    positive = np.abs(F) + np.float32(0.5)
    check(name, positive, np.abs(F[::-1]) + np.float32(0.25), result=np.float32)
    check(name, positive[:, :1], positive[:1])
    check(name, positive, np.float32(2))
    values = SPECIAL[:, None], SPECIAL[None]
    with np.errstate(all="ignore"):
        wide = call(np, name)(*(v.astype(np.float64) for v in values))
    if name in DIVISIONS:
        return  # see test_division_of_special_numbers
    if name in ("power", "float_power", "nextafter", "logaddexp2"):
        with np.errstate(all="ignore"):
            wide = call(np, name if name != "float_power" else "power")(*values)
    assert_same(call(jnp, name)(*values), wide)


@pytest.mark.parametrize("name", DIVISIONS)
def test_division_of_special_numbers(name):
    x = np.array([7, -7, 7, -7, 0.0, 1, np.nan, 5], np.float32)
    y = np.array([3, 3, -3, -3, 2.0, np.inf, 1, np.nan], np.float32)
    check(name, x, y)
    if name not in ("floor_divide", "divmod"):  # see test_quotients_at_infinities...
        check(name, np.float32([np.inf, -np.inf]), np.float32([2, 3]))


@pytest.mark.parametrize("name", INTEGERS + DIVISIONS)
def test_integers(name):
    other = ints(3, 4, low=1, high=5, seed=5)
    check(name, K, other, result=np.int32)
    check(name, U, other.astype(np.uint8), result=np.uint8)
    check(name, K, np.int32(3))


@pytest.mark.parametrize("name", COMPARISONS + LOGIC)
def test_comparisons_and_logic(name):
    for x, y in ((F, F[::-1]), (K, K[::-1]), (B, B[::-1]), (SPECIAL[:, None], SPECIAL[None])):
        check(name, x, y, result=np.bool_)
    check(name, C, C[::-1])


def test_complex_numbers_are_ordered_by_their_real_part_first():
    x, y = (
        np.array([1 + 1j, 1 + 2j, 0 + 9j], np.complex64),
        np.array([1 + 2j, 1 + 1j, 1], np.complex64),
    )
    for name in COMPARISONS:
        check(name, x, y)


def test_parts_of_complex_numbers():
    for name in ("real", "imag", "conj", "angle"):
        check(name, C)
        check(name, F)
    assert_same(jnp.angle(C, deg=True), np.angle(C, deg=True))
    assert jnp.real(C).dtype == np.float32


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round(decimals):
    for x in (F * 100, K * 17, np.array([0.5, 1.5, 2.5, -0.5], np.float32)):
        check("round", x, decimals, result=x.dtype)


def test_rounded_numbers_print_as_in_numpy():
    x = np.random.default_rng(0).normal(scale=100, size=1000).astype(np.float32)
    np.testing.assert_array_equal(jnp.round(x, 3), np.round(x, 3))


def test_round_keeps_numbers_too_large_for_their_decimals():
    assert float(jnp.round(np.float32(1e38), 5)) == np.float32(1e38)


def test_modf_frexp_ldexp():
    for name in ("modf", "frexp"):
        check(name, SPECIAL)
        check(name, F)
    subnormal = np.array([1e-42, -3e-45], np.float32)
    check("frexp", subnormal)
    check("ldexp", F, K)
    check("ldexp", np.float32([1, 1e-38, 1e38]), np.int32([200, 160, -200]))


def test_sinc_is_exact_at_whole_numbers_and_flat_at_0():
    whole = np.arange(-3, 4).astype(np.float32)
    assert_same(jnp.sinc(whole), (whole == 0).astype(np.float32))
    check("sinc", F)
    check("sinc", np.float32([1e-4, 3e-4, 1e-3, 0.3]))


def test_divisors_of_the_smallest_integer():
    # It has no positive counterpart in its own dtype.
    x = np.array([-128, 127, -128, -128, -128, 0, -128], np.int8)
    y = np.array([127, -128, -128, 0, 64, -128, 3], np.int8)
    check("gcd", x, y, result=np.int8)


def test_special_functions():
    check("i0", np.linspace(-30, 30, 41, dtype=np.float32))
    ends = np.array([6e4, -6e4, 11.5, np.inf, np.nan], np.float16)  # exp(6e4) is infinite, not NaN
    assert_same(jnp.i0(ends), np.array([np.inf, np.inf, 11744, np.inf, np.nan], np.float16))
    check("unwrap", F * 5)
    check("unwrap", F * 5, axis=0)
    check("spacing", F)
    check("bitwise_count", K)
    check("bitwise_not", K)
    check("bitwise_not", B)


def test_clip():
    check("clip", F, -0.5, 0.5)
    check("clip", F, None, 0.5)
    check("clip", K, -2, 3, result=np.int32)
    assert_same(jnp.clip(F, min=0), np.maximum(F, 0))
    assert_same(jnp.clip(F, a_max=0), np.minimum(F, 0))
    with raises(DtypeError, "clip"):
        jnp.clip(C, 0, 1)


def test_nan_to_num():
    check("nan_to_num", SPECIAL)
    check("nan_to_num", SPECIAL, nan=5.0, posinf=1.0, neginf=2.0)
    check("nan_to_num", np.array([complex(np.nan, 1), complex(2, np.inf)], np.complex64))
    check("nan_to_num", K, result=np.int32)


def test_where():
    check("where", B, F, F[::-1])
    check("where", B[:, :1], F[0], np.float32(1))
    check("where", K, 1.0, F)
    assert jnp.where(B, 1, 2).dtype == np.int32
    assert jnp.where(B, 1, 2).weak_type
    assert jnp.where(B, F, 1).dtype == np.float32
    with raises(ValueError, "both x and y"):
        jnp.where(B, F)


def test_isclose_and_whole_comparisons():
    close = F * np.float32(1 + 1e-6)
    for name in ("isclose", "allclose", "array_equal", "array_equiv"):
        check(name, F, close)
        check(name, F, F)
    check("isclose", SPECIAL, SPECIAL, equal_nan=True)
    check("isclose", SPECIAL, SPECIAL)
    assert bool(jnp.array_equal(SPECIAL, SPECIAL, equal_nan=True))
    assert not bool(jnp.array_equal(F, F[0]))
    assert bool(jnp.array_equiv(np.ones((2, 3)), np.ones(3)))


def test_integer_powers():
    assert_same(jnp.power(K, 3), K**3, np.int32)
    assert_same(jnp.power(F, -2), F.astype(np.float64) ** -2, np.float32)
    assert_same(
        jnp.power(np.int32([0, 1, -1, 2]), np.int32([0, 99, 99, 5])), np.int32([1, 1, -1, 32])
    )
    with raises(TypeError, "negative powers"):
        jnp.power(K, -1)


def test_names_of_functions_and_arguments_in_errors():
    with raises(
        ArgumentTypeError, "sin", "the argument x must be an array", "list", "jnp.asarray(x)"
    ):
        jnp.sin([1.0, 2.0])
    with raises(ArgumentTypeError, "add", "the argument y"):
        jnp.add(F, [1.0])
    with raises(ArgumentTypeError, "multiply", "None"):
        jnp.multiply(None, F)
    with raises(ShapeError, "add", "(3, 4)", "(5,)"):
        jnp.add(F, np.ones(5, np.float32))
    with raises(DtypeError, "bool"):
        jnp.subtract(B, B)


def test_operands_with_jax_array_are_taken():
    class Holder:
        def __jax_array__(self):
            return jnp.asarray(F)

    assert_same(jnp.sin(Holder()), np.sin(F))
    assert_same(jnp.asarray(F) + Holder(), F + F)
    assert_same(jnp.stack([Holder(), F]), np.stack([F, F]))


def test_integers_that_do_not_fit_raise():
    with raises(IntegerOverflowError, "300"):
        jnp.add(np.uint8([1]), 300)
    with raises(IntegerOverflowError):
        jnp.add(np.int32([1]), 2**31)
    with raises(OverflowError):
        jnp.asarray(np.array([2**40]))


def test_half_precision_has_its_own_infinity():
    assert np.isinf(np.asarray(jnp.multiply(np.float16([2]), 1e6)))[0]
    assert jnp.multiply(np.float16([2]), 1e6).dtype == np.float16


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, np.float16])
def test_half_precision_keeps_its_dtype(dtype):
    x = F.astype(dtype)
    for op in (operator.add, operator.mul, operator.truediv):
        assert op(jnp.asarray(x), 2).dtype == dtype
        assert op(jnp.asarray(x), 2.5).dtype == dtype
        assert op(jnp.asarray(x), K).dtype == dtype
    assert jnp.sin(x).dtype == dtype
    assert jnp.add(x, F).dtype == np.float32


def test_methods_of_ufuncs():
    assert_same(jnp.add.reduce(F), np.add.reduce(F))
    assert_same(jnp.maximum.reduce(F, 1), np.maximum.reduce(F, 1))
    assert_same(jnp.logical_and.reduce(B, axis=1), np.logical_and.reduce(B, axis=1))
    assert_same(jnp.multiply.accumulate(F, 1), np.multiply.accumulate(F, 1))
    assert_same(jnp.maximum.accumulate(F), np.maximum.accumulate(F))
    assert_same(jnp.subtract.outer(F[0], K), np.subtract.outer(F[0], K))
    want = F.copy()
    np.add.at(want, [0, 0], 1)
    assert_same(jnp.add.at(F, np.array([0, 0]), 1, inplace=False), want)


def test_quotients_at_infinities_and_the_signs_of_zeros(x64):
    numbers = np.array([0.0, -0.0, 1.5, -1.5, 0.3, 7.0, np.inf, -np.inf, np.nan])
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        want = np.floor_divide(x, y)
        # NumPy's is NaN, for it subtracts the remainder; the array API's is the limit.
        want = np.where(np.isinf(x) & np.isfinite(y), x / y, want)
    for got in (jnp.floor_divide(x, y), jnp.divmod(x, y)[0]):
        np.testing.assert_array_equal(got, want)
        real = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[real], np.signbit(want)[real])
    rests = np.r_[x, 6.0, -6.0, 6.0, -6.0], np.r_[y, 3.0, 3.0, -3.0, -3.0]
    with np.errstate(all="ignore"):
        want = np.remainder(*rests)
    for got in (jnp.remainder(*rests), jnp.divmod(*rests)[1]):
        np.testing.assert_array_equal(got, want)
        real = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[real], np.signbit(want)[real])
    slopes = jax.vmap(jax.grad(jnp.remainder, (0, 1)))(*(r[-4:] for r in rests))
    assert np.array(slopes).tolist() == [[1, 1, 1, 1], [-2, 2, 2, -2]]


def test_the_sign_of_zero_is_zero():
    for zero in (0.0, -0.0, complex(0.0, -0.0), complex(-0.0, 0.0)):
        got = np.asarray(jnp.sign(zero))
        assert got == 0 and not np.signbit(got.real) and not np.signbit(got.imag)


@pytest.mark.parametrize(
    "name",
    """add multiply maximum minimum bitwise_and bitwise_or bitwise_xor logical_and logical_or
    subtract""".split(),
)
def test_reduceat_and_what_is_known_of_ufuncs(name):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    x = ints(4, 6, low=0, high=5)
    for axis in (0, -1):
        for indices in ([0, 2, 1, 3], [3], [1, 1]):
            got = ours.reduceat(x, np.array(indices), axis)
            np.testing.assert_array_equal(got, theirs.reduceat(x, indices, axis))
    for attribute in ("nin", "nout", "nargs", "identity"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_complex_powers_have_the_principal_logarithm(name):
    rng = np.random.default_rng(5)
    a, b = (rng.normal(0, 9, 40) + 1j * rng.normal(0, 9, 40) for _ in range(2))
    base = np.e if name == "logaddexp" else 2.0
    wanted = np.log(base**a + base**b) / np.log(base)
    with jax.enable_x64():
        np.testing.assert_allclose(getattr(jnp, name)(a, b), wanted, rtol=1e-10)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_of_numbers_of_every_size(name):
    dtype = dtypes.as_dtype(name)
    with jax.enable_x64():
        info = dtypes.finfo(dtype)
        exponents = np.arange(info.minexp - info.nmant, info.maxexp)
        x = (np.ldexp(1.0, exponents) * np.where(exponents % 2, 1, -1)).astype(dtype)
        x = np.concatenate([x, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)])
        wanted = np.frexp(x.astype(np.float64))
        for found in (jnp.frexp(x), jax.jit(jnp.frexp)(x), jax.vmap(jnp.frexp)(x)):
            assert found[0].dtype == dtype and found[1].dtype == np.int32
            mantissa = np.asarray(found[0]).astype(np.float64)
            assert np.array_equal(mantissa, wanted[0], equal_nan=True)
            assert np.array_equal(np.signbit(mantissa)[:-1], np.signbit(wanted[0])[:-1])
            assert np.array_equal(found[1][:-3], wanted[1][:-3])  # C leaves others open
        assert jnp.frexp(x[0]) == (np.frexp(float(x[0]))[0], np.frexp(float(x[0]))[1])
