"""Elementwise functions: how exact they are, their edges, dtypes, and derivatives at kinks."""

from __future__ import annotations

import warnings

import ml_dtypes
import mpmath
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from benchmarks.accuracy import exact, points, ulps, wrong_edges
from plait import lax
from plait.core import dtypes
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.ops import compare, functions, special
from plait.ops.elementwise import Elementwise

NAN, INF = np.nan, np.inf
f32 = np.float32

# Largest errors of float32 on the CPU, in units in the last place.
EXACT = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "exp2",
    "expm1",
    "log1p",
    "log2",
    "log10",
]
EXACT += ["pow", "sqrt", "cbrt", "sinh", "cosh", "asinh", "acosh", "atanh", "logistic"]
EXACT += ["erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"]
BOUNDS = dict.fromkeys(EXACT, 0.53)
BOUNDS |= {"exp": 1.1, "log": 0.9, "tanh": 1.3, "erf": 1.3, "rsqrt": 1.2}
BOUNDS |= {"logaddexp": 2, "hypot": 2}


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def call(name, *xs):
    return np.asarray(jax.jit(getattr(lax, name, None) or getattr(jnp, name))(*xs))


@pytest.mark.parametrize("name", BOUNDS)
def test_float32_is_exact_everywhere(name, quiet):
    xs = points(name, np.dtype(f32), 100_000)
    y, want = call(name, *xs), exact(name, xs)
    assert y.dtype == f32
    error = ulps(y, want)
    worst = np.argmax(error)
    assert error[worst] <= BOUNDS[name], [x[worst] for x in xs]
    wrong = np.flatnonzero(wrong_edges(y, want))
    assert not wrong.size, [(*(x[k] for x in xs), y[k]) for k in wrong[:5]]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", BOUNDS)
def test_narrow_floats_round_once(name, dtype, quiet):
    xs = points(name, np.dtype(dtype), 20_000)
    y, want = call(name, *xs), exact(name, xs)
    assert y.dtype == dtype
    # Twice rounded: to float32 and then to 16 bits.
    assert ulps(y, want).max() <= 0.51
    assert not wrong_edges(y, want).any()


@pytest.mark.parametrize(
    "name",
    [name for name in BOUNDS if name not in ("lgamma", "digamma", "bessel_i1e")],
)
def test_float64(name, quiet, x64):
    xs = points(name, np.dtype(np.float64), 400)
    xs = [np.where((np.abs(x) < 2.3e-308) & (x != 0), 0.25, x) for x in xs]
    y, want = call(name, *xs), exact(name, xs)
    assert y.dtype == np.float64
    error = ulps(y, want)
    worst = np.argmax(error)
    assert error[worst] <= 4, [x[worst] for x in xs]
    assert not wrong_edges(y, want).any()


def test_huge_angles():
    # The float32 closest to a multiple of π/2 is 16367173 * 2^72; powers of two, and the largest.
    x = np.array([16367173 * 2.0**72, *2.0 ** np.arange(20, 128, 3.0), 3.4028235e38], f32)
    with mpmath.workdps(80):
        for name in ("sin", "cos", "tan"):
            want = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(v)))) for v in x])
            assert ulps(call(name, x), want).max() <= 0.6


def test_sin_and_cos_share_their_reduction():
    def rounds(f):
        text = jax.jit(f).lower(np.ones(512, f32)).compile().as_text()
        return text.count("round-nearest-even(")

    assert rounds(lambda x: lax.mul(lax.sin(x), lax.cos(x))) == rounds(lax.sin)


def test_small_angles_keep_sign_and_value():
    x = np.array([-0.0, 0.0, 1e-45, -1e-40, 1.1754944e-38, -1e-20, 2.0**-13], f32)
    for name in ("sin", "tan", "asin", "atan", "sinh", "asinh", "atanh", "expm1"):
        y = call(name, x)
        np.testing.assert_array_equal(y.view(np.int32)[:-1], x.view(np.int32)[:-1], name)


@pytest.mark.parametrize(
    ("x", "y", "power"),
    [
        (NAN, 0, 1), (1, NAN, 1), (0, 0, 1), (INF, 0, 1), (-1, INF, 1), (-1, -INF, 1),
        (0, -1, INF), (-0.0, -1, -INF), (-0.0, -2, INF), (-0.0, 3, -0.0), (-0.0, 0.5, 0.0),
        (0, INF, 0), (0, -INF, INF), (2, INF, INF), (0.5, INF, 0), (2, -INF, 0), (0.5, -INF, INF),
        (-INF, 3, -INF), (-INF, 2, INF), (-INF, -3, -0.0), (-INF, 0.5, INF), (INF, -0.5, 0),
        (-2, 3, -8), (-2, 0.5, NAN), (-2, 1e10, INF), (-2, -151, 0.0), (2, -149, 1e-45),
        (1e-45, 0.5, 3.7433921e-23), (2, 128, INF), (NAN, 1, NAN), (2, NAN, NAN), (-2, NAN, NAN),
    ],
)  # fmt: skip
def test_edges_of_pow(x, y, power):
    got, want = call("pow", f32(x), f32(y)), f32(power)
    np.testing.assert_array_equal(got, want)
    if not np.isnan(want) and (x, y) != (-2, -151):
        assert np.signbit(got) == np.signbit(want)


@pytest.mark.parametrize(
    ("y", "x", "angle"),
    [
        (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, np.pi), (-0.0, -0.0, -np.pi),
        (0.0, -1, np.pi), (-0.0, -1, -np.pi), (0.0, 1, 0.0), (1, 0.0, np.pi / 2),
        (-1, -0.0, -np.pi / 2), (INF, INF, np.pi / 4), (-INF, INF, -np.pi / 4),
        (INF, -INF, 3 * np.pi / 4), (1, INF, 0.0), (-1, INF, -0.0), (1, -INF, np.pi),
        (INF, 1, np.pi / 2), (NAN, 1, NAN), (1, NAN, NAN), (1e-45, 1e-45, np.pi / 4),
        (1e-45, -1, np.pi), (3e38, 1e-45, np.pi / 2), (1e-40, 1.0, 1e-40),
    ],
)  # fmt: skip
def test_edges_of_atan2(y, x, angle):
    got = call("atan2", f32(y), f32(x))
    np.testing.assert_array_equal(got, f32(angle))
    assert np.isnan(angle) or np.signbit(got) == np.signbit(f32(angle))


def test_powers_by_integers():
    x = np.array([1.5, -2.0, 0.0], f32)
    np.testing.assert_array_equal(lax.pow(x, 3), x**3)
    np.testing.assert_array_equal(lax.pow(x, np.array([3, 2, 0], np.int32)), [3.375, 4.0, 1.0])
    np.testing.assert_array_equal(lax.pow(np.arange(4, dtype=np.int32), 2), [0, 1, 4, 9])
    assert lax.pow(f32(2), np.int32(-3)) == 0.125
    assert lax.exp2(f32(10)) == 1024.0
    with pytest.raises(DtypeError, match="pow"):
        lax.pow(np.int32(2), np.int32(3))


COMPLEX = [0.3 + 0.4j, -1.5 + 0.2j, 2.0 - 1.0j, -0.4 - 0.9j, 1j, 1.0 + 0j]


@pytest.mark.parametrize(
    ("name", "numpy"),
    [
        ("exp", np.exp), ("exp2", np.exp2), ("expm1", np.expm1), ("log", np.log),
        ("log2", np.log2), ("log1p", np.log1p), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan),
        ("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("sinh", np.sinh),
        ("cosh", np.cosh), ("tanh", np.tanh), ("asinh", np.arcsinh), ("acosh", np.arccosh),
        ("atanh", np.arctanh), ("sqrt", np.sqrt), ("abs", np.abs), ("sign", np.sign),
        ("rsqrt", lambda z: 1 / np.sqrt(z)), ("logistic", lambda z: 1 / (1 + np.exp(-z))),
    ],
)  # fmt: skip
def test_complex_numbers(name, numpy):
    z = np.array(COMPLEX[: 4 if name in ("atan", "atanh", "asin", "acos") else 6])
    got = call(name, z.astype(np.complex64))
    assert got.dtype == (f32 if name == "abs" else np.complex64)
    np.testing.assert_allclose(got, numpy(z), rtol=3e-6, atol=1e-6)


def test_parts_of_complex_numbers():
    z = np.array([1 + 2j, -3 - 4j], np.complex64)
    np.testing.assert_array_equal(lax.real(z), [1, -3])
    np.testing.assert_array_equal(lax.imag(z), [2, -4])
    np.testing.assert_array_equal(lax.conj(z), z.conj())
    assert lax.conj(f32(3)).dtype == np.complex64
    joined = np.asarray(lax.complex(f32([1, 0]), f32([INF, 2])))
    np.testing.assert_array_equal(joined.real, [1, 0])
    np.testing.assert_array_equal(joined.imag, [INF, 2])
    np.testing.assert_array_equal(lax.abs(z), np.abs(z))
    for bad in (lambda: lax.real(f32(1)), lambda: lax.complex(np.int32(1), np.int32(2))):
        with pytest.raises(DtypeError):
            bad()


def test_derivatives_of_complex_functions():
    z, t = np.complex64(3 + 4j), np.complex64(1 - 2j)
    zero = np.complex64(0)
    # d|z| = Re(conj(z) t) / |z|; sign(z) only turns.
    assert jax.jvp(lax.abs, (z,), (t,)) == (5.0, -1.0)
    assert jax.jvp(lax.abs, (zero,), (t,)) == (0.0, 0.0)
    y, turned = jax.jvp(lax.sign, (z,), (t,))
    np.testing.assert_allclose([y, turned], [0.6 + 0.8j, 0.32 - 0.24j], rtol=1e-6)
    assert jax.jvp(lax.sign, (zero,), (t,)) == (0.0, 0.0)
    # Cotangents pair without conjugation.
    assert jax.vjp(lax.real, z)[1](f32(2))[0] == 2
    assert jax.vjp(lax.imag, z)[1](f32(2))[0] == -2j
    assert jax.vjp(lax.conj, z)[1](t)[0] == t.conj()
    assert jax.vjp(lax.complex, f32(1), f32(2))[1](t) == (1.0, 2.0)
    np.testing.assert_allclose(jax.vjp(lax.abs, z)[1](f32(5))[0], 3 - 4j, rtol=1e-6)


EDGE_SLOPES = [
    ("sqrt", 0.0, INF), ("sqrt", 1.0, 0.5), ("sqrt", -1.0, NAN), ("rsqrt", 0.0, -INF),
    ("rsqrt", 1.0, -0.5), ("cbrt", 0.0, INF), ("cbrt", -8.0, 1 / 12), ("abs", 0.0, 1.0),
    ("abs", -0.0, 1.0), ("abs", -2.0, -1.0), ("sign", 0.0, 0.0), ("sign", 3.0, 0.0),
    ("log", 0.0, INF), ("log1p", -1.0, INF), ("log1p", 0.0, 1.0), ("acosh", 1.0, INF),
    ("asin", 1.0, INF), ("asin", -1.0, INF), ("acos", 1.0, -INF), ("acos", 0.0, -1.0),
    ("atanh", 1.0, INF), ("atanh", 0.0, 1.0), ("atan", INF, 0.0), ("tanh", INF, 0.0),
    ("tanh", 0.0, 1.0), ("logistic", 0.0, 0.25), ("logistic", 200.0, 0.0), ("erf", 0.0, 1.1283792),
    ("erf_inv", 0.0, 0.88622695), ("floor", 0.5, 0.0), ("ceil", 0.5, 0.0), ("round", 0.5, 0.0),
    ("exp2", 0.0, 0.6931472), ("expm1", 0.0, 1.0), ("bessel_i0e", 0.0, 0.0),
    ("bessel_i1e", 0.0, 0.5), ("exp", -INF, 0.0), ("sin", 0.0, 1.0), ("cos", 0.0, 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "slope"), EDGE_SLOPES)
def test_derivatives_at_edges(name, x, slope):
    got = jax.grad(getattr(lax, name))(f32(x))
    np.testing.assert_allclose(got, f32(slope), rtol=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "slopes"),
    [
        (0, 1, (1, 0)), (0, 2, (0, 0)), (0, 0.5, (INF, 0)), (0, 0, (0, 0)), (-2, 2, (-4, NAN)),
        (2, 0, (0, np.log(2))), (1, 3, (3, 0)), (INF, 0, (0, INF)), (-2, 0, (0, NAN)),
        (4, 0.5, (0.25, 2 * np.log(4))),
    ],
)  # fmt: skip
def test_derivatives_of_pow(x, y, slopes):
    got = jax.grad(lax.pow, (0, 1))(f32(x), f32(y))
    np.testing.assert_allclose(got, np.array(slopes, f32), rtol=1e-6)


def test_second_derivatives_of_pow():
    second = jax.jacfwd(jax.jacrev(lax.pow, (0, 1)), (0, 1))
    for x, y in ((4.0, 0.0), (0.5, 0.0), (3.0, 1.0), (2.0, -1.5)):
        got = second(f32(x), f32(y))
        mixed = x ** (y - 1) * (1 + y * np.log(x))
        want = [[y * (y - 1) * x ** (y - 2), mixed], [mixed, x**y * np.log(x) ** 2]]
        np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{x} ** {y}")
    for x in (0.0, 1e-39, NAN):  # x ** 0 is 1 for them as well
        assert jax.grad(lax.pow)(f32(x), f32(0)) == jax.grad(jax.grad(lax.pow))(f32(x), f32(0)) == 0
    x = np.array([0.0, 3.0], f32)  # scalars among the operands
    np.testing.assert_array_equal(jax.grad(lambda x: lax.pow(x, f32(0)).sum())(x), [0, 0])
    assert jax.grad(lambda b: lax.pow(b, x).sum())(f32(2.0)) == 12.0


def test_axes_of_length_1_are_repeated():
    column, row = np.arange(3, dtype=f32)[:, None] + 1, np.arange(4, dtype=f32)[None] + 2
    full = np.ones((3, 4), f32)
    for f, g in ((lax.add, np.add), (lax.pow, np.power), (lax.lt, np.less), (lax.max, np.maximum)):
        for a, b in ((column, row), (row, column), (column, full), (full, row), (row[:, :1], row)):
            np.testing.assert_allclose(f(a, b), g(a, b), rtol=1e-6)
    assert lax.betainc(column, row, full[:1] / 2).shape == (3, 4)
    assert lax.add(np.ones(0, f32), np.ones(1, f32)).shape == (0,)
    a, b = jax.grad(lambda a, b: lax.mul(a, b).sum(), (0, 1))(column, row)
    np.testing.assert_allclose(a, np.full((3, 1), row.sum()))
    np.testing.assert_allclose(b, np.full((1, 4), column.sum()))
    rows = jax.jit(jax.vmap(lambda a: lax.sub(a, row)))(np.stack([column, column + 1]))
    np.testing.assert_array_equal(rows[1], column + 1 - row)
    for wrong in ((np.ones((1, 3), f32), np.ones(3, f32)), (column, np.ones((2, 4), f32))):
        with pytest.raises(ShapeError, match="shapes differ"):
            lax.add(*wrong)


def test_derivatives_of_two_operands():
    slopes = jax.grad(lax.atan2, (0, 1))(f32(2), f32(1))
    np.testing.assert_allclose(slopes, [0.2, -0.4], rtol=1e-6)
    assert jax.grad(lax.nextafter, (0, 1))(f32(2), f32(1)) == (1.0, 0.0)
    # A power by an integer array has a derivative in its base only.
    n = np.array([2, 3], np.int32)
    got = jax.grad(lambda x: lax.pow(x, n).sum())(np.array([3.0, 2.0], f32))
    np.testing.assert_array_equal(got, [6, 12])


def test_second_derivatives():
    for name in ("sin", "tanh", "exp", "logistic", "atan", "sqrt", "log1p", "erf", "lgamma"):
        f = getattr(lax, name)
        slope = jax.grad(f)
        step = f32(2.0**-7)
        want = (slope(f32(0.75) + step) - slope(f32(0.75) - step)) / (2 * step)
        np.testing.assert_allclose(jax.grad(slope)(f32(0.75)), want, rtol=2e-3, atol=1e-4)


STEPS = [-2.5, -1.5, -0.5, -0.2, -0.0, 0.0, 0.49999997, 0.5, 1.5, 2.5, 8388609.0, 1e30, INF, -INF]


@pytest.mark.parametrize("dtype", [f32, np.float16, ml_dtypes.bfloat16])
def test_rounding(dtype):
    with np.errstate(over="ignore"):
        x = np.array(STEPS).astype(dtype)
    wide = x.astype(np.float64)
    away = np.where(np.abs(wide) < 1e8, np.copysign(np.floor(np.abs(wide) + 0.5), wide), wide)

    def same(got, want):
        assert got.dtype == dtype
        got = np.asarray(got, np.float64)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))

    same(lax.floor(x), np.floor(wide))
    same(lax.ceil(x), np.ceil(wide))
    same(lax.round(x), away)
    same(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), np.rint(wide))
    assert np.isnan(lax.floor(dtype(NAN)))
    with pytest.raises(ArgumentError):
        lax.round(x, "up")
    with pytest.raises(DtypeError):
        lax.floor(np.int32(3))


@pytest.mark.parametrize("dtype", [f32, np.float16, ml_dtypes.bfloat16])
def test_nextafter(dtype):
    x = np.array([0, 0, 1, 1, -1, INF, 5, NAN], dtype)
    y = np.array([1, -1, 2, 0, 0, 0, 5, 1], dtype)
    want = np.nextafter(x, y)
    np.testing.assert_array_equal(np.asarray(lax.nextafter(x, y)).astype(float), want.astype(float))


def test_sign_and_abs_of_other_dtypes():
    for dtype in (np.int8, np.int32):
        x = np.array([-5, 0, 7], dtype)
        np.testing.assert_array_equal(lax.sign(x), [-1, 0, 1])
        np.testing.assert_array_equal(lax.abs(x), [5, 0, 7])
    np.testing.assert_array_equal(lax.sign(np.array([0, 200], np.uint8)), [0, 1])
    assert lax.abs(np.int32(-(2**31))) == -(2**31)
    x = np.array([-0.0, NAN, -3.0], f32)
    got = np.asarray(lax.sign(x))
    np.testing.assert_array_equal(got, [0, NAN, -1])
    assert np.signbit(got[0])
    for bad in (lambda: lax.abs(np.uint8(3)), lambda: lax.abs(True), lambda: lax.sign(True)):
        with pytest.raises(DtypeError):
            bad()


def test_bits_of_numbers():
    x = np.array([[1.0, -2.0, NAN]], f32)
    np.testing.assert_array_equal(lax.bitcast_convert_type(x, np.int32), x.view(np.int32))
    parts = lax.bitcast_convert_type(x, np.uint8)
    assert parts.shape == (1, 3, 4)
    np.testing.assert_array_equal(parts, x.view(np.uint8).reshape(1, 3, 4))
    np.testing.assert_array_equal(lax.bitcast_convert_type(parts, f32), x)
    half = np.array([1.0, 2.0], np.float16)
    got = np.asarray(lax.bitcast_convert_type(half, "bfloat16"))
    np.testing.assert_array_equal(got.view(np.uint16), half.view(np.uint16))
    rows = jax.vmap(lambda v: lax.bitcast_convert_type(v, np.uint16))(x[0])
    np.testing.assert_array_equal(rows, x[0].view(np.uint16).reshape(3, 2))
    with pytest.raises(ShapeError, match="last axis"):
        lax.bitcast_convert_type(np.zeros(3, np.uint8), f32)
    with pytest.raises(DtypeError):
        lax.bitcast_convert_type(x, np.complex64)


def test_scalars_and_weak_types():
    y = lax.exp(1.0)
    assert y.dtype == f32 and y.weak_type
    assert not lax.exp(f32(1)).weak_type
    with pytest.raises(DtypeError, match="exp"):
        lax.exp(np.int32(1))
    with pytest.raises(ShapeError):
        lax.atan2(np.ones(2, f32), np.ones(3, f32))


# Of each kind and width of storage one; the others have been seen to work.
SOME = ["bool", "int4", "uint4", "int8", "uint64", "float8_e5m2", "float4_e2m1fn", "float16"]
SOME += ["float64", "complex128"]


def _every_op_and_dtype():
    for module in (functions, special, compare):
        for op in vars(module).values():
            if isinstance(op, Elementwise):
                for dtype in map(dtypes.as_dtype, SOME):
                    if dtype in op.accepts[0]:
                        yield pytest.param(op, dtype, id=f"{op.name}-{dtype.name}")


@pytest.mark.parametrize(("op", "dtype"), list(_every_op_and_dtype()))
def test_every_dtype_means_what_numpy_means(op, dtype, quiet, x64):
    numbers = [[0.25, 0.5, 1, 1.5, -0.5, 0.75], [0.5, 1, 0.25, 1, 0.5, 1], [1] * 6]
    if dtype in dtypes.INTEGER:
        numbers = [[0, 1, 1, 0, 1, -1], [1, 1, 0, 1, 1, 0], [1] * 6]
    xs = [np.array(x).astype(dtype) for x in numbers[: len(op.operands)]]
    want, got = op.numpy(*xs), np.asarray(op(*xs))
    assert got.dtype == want.dtype
    rtol = 1.01 * float(dtypes.finfo(dtype).eps) if dtype in dtypes.INEXACT else 0
    np.testing.assert_allclose(got.astype(complex), want.astype(complex), rtol=rtol, atol=1e-7)


def test_empty_and_zero_dimensional_arrays():
    for name in ("sin", "exp", "lgamma", "atan", "igamma"):
        f = getattr(lax, name)
        operands = (1, 2)[name == "igamma"]
        assert f(*[np.zeros((0, 2), f32)] * operands).shape == (0, 2)
        assert f(*[np.ones((), f32)] * operands).shape == ()
