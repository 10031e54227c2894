"""dot_general against einsum; dtypes as JAX's, precisions, derivatives, batching."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.config import override
from plait.core.sample import booleans, complex_, integers, real
from plait.core.stage import stage
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.ops import dot as lax
from plait.ops.axes import reduce_sum

BF16 = ml_dtypes.bfloat16
MATMUL = (((1,), (0,)), ((), ()))
# (lhs shape, rhs shape, dimension numbers, the same for einsum)
CASES = [
    ((2, 3), (3, 4), MATMUL, "ij,jk->ik"),
    ((3,), (3,), (((0,), (0,)), ((), ())), "i,i->"),
    ((3,), (2,), (((), ()), ((), ())), "i,j->ij"),
    ((5, 2, 3), (3, 4, 5), (((2,), (0,)), ((0,), (2,))), "bij,jkb->bik"),
    ((2, 3, 4), (4, 2, 5, 3), (((2, 0), (0, 1)), ((1,), (3,))), "abc,caeb->be"),
    ((2, 3, 2), (3, 2, 2), (((0,), (1,)), ((1, 2), (0, 2))), "cab,acb->ab"),
    ((2, 0), (0, 3), MATMUL, "ij,jk->ik"),
    ((0, 2), (2, 3), MATMUL, "ij,jk->ik"),
]


def f32(*shape):
    return real(*shape, dtype=np.float32)


@pytest.mark.parametrize("left, right, numbers, text", CASES)
def test_dot_general(left, right, numbers, text):
    x, y = f32(*left), f32(*right)[..., ::-1].copy()
    got = lax.dot_general(x, y, numbers)
    np.testing.assert_allclose(got, np.einsum(text, x, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("left, right, numbers, text", CASES)
def test_derivatives(left, right, numbers, text):
    x, y = f32(*left), f32(*right)
    out = np.einsum(text, x, y)
    weights = f32(*out.shape)
    inputs, result = text.split("->")
    a, b = inputs.split(",")

    def f(x, y):
        return reduce_sum(lax.dot_general(x, y, numbers) * weights, tuple(range(out.ndim)))

    dx, dy = jax.grad(f, argnums=(0, 1))(x, y)
    for got, text_, other in ((dx, f"{result},{b}->{a}", y), (dy, f"{result},{a}->{b}", x)):
        np.testing.assert_allclose(got, np.einsum(text_, weights, other), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mapped", [(0, None), (None, 0), (0, 0), (-1, -1)])
@pytest.mark.parametrize("left, right, numbers, text", CASES)
def test_vmap(left, right, numbers, text, mapped):
    add = {None: lambda s: s, 0: lambda s: (3, *s), -1: lambda s: (*s, 3)}
    shapes = [add[m](s) for s, m in zip((left, right), mapped)]
    x, y = f32(*shapes[0]), f32(*shapes[1])
    got = jax.vmap(lambda x, y: lax.dot_general(x, y, numbers), in_axes=mapped)(x, y)
    rows = [
        np.einsum(
            text,
            x if mapped[0] is None else np.take(x, k, mapped[0]),
            y if mapped[1] is None else np.take(y, k, mapped[1]),
        )
        for k in range(3)
    ]
    np.testing.assert_allclose(got, np.stack(rows), rtol=1e-5, atol=1e-6)


def operand(dtype, *shape):
    if dtype is np.bool_:
        return booleans(*shape)
    if dtype is np.complex64:
        return np.round(2 * complex_(*shape)).astype(dtype)
    low = 0 if np.dtype(dtype).kind == "u" else -4
    return integers(*shape, low=low, high=5).astype(dtype)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint16, np.int32, np.float16, BF16, np.complex64]
)
def test_dtypes(dtype):
    x, y = operand(dtype, 3, 5), operand(dtype, 5, 4)
    got = np.asarray(lax.dot(x, y))
    assert got.dtype == np.dtype(dtype)
    wide = np.float32 if dtype in (np.float16, BF16) else dtype
    np.testing.assert_array_equal(got, np.matmul(x.astype(wide), y.astype(wide)).astype(dtype))


def test_half_precision_sums_are_carried_in_float32():
    x = np.ones(4096, BF16)
    assert float(lax.dot(x, x)) == 4096.0
    x = np.full(4096, 16, np.float16)
    assert np.isinf(float(lax.dot(x, x)))
    assert float(lax.dot(x, x, preferred_element_type=np.float32)) == 2.0**20


@pytest.mark.parametrize(
    "left, right, want",
    [
        (np.int8, np.int32, np.int32),
        (np.int8, np.uint8, np.int8),
        (np.int8, np.uint32, np.int32),
        (np.uint8, np.uint32, np.uint32),
        (np.int32, BF16, BF16),
        (np.float16, BF16, BF16),
        (BF16, np.float32, np.float32),
        (np.bool_, np.float16, np.float16),
        (np.float32, np.complex64, np.complex64),
    ],
)
def test_mixed_dtypes(left, right, want):
    x, y = operand(left, 3, 5), operand(right, 5, 4)
    for a, b in ((x, y), (y.T, x.T)):
        got = np.asarray(lax.dot(a, b))
        assert got.dtype == np.dtype(want)
        exact = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
        np.testing.assert_allclose(got.astype(np.complex128), exact, rtol=0.01)


def test_preferred_element_type():
    x = operand(np.int8, 3, 5)
    got = np.asarray(lax.dot(x * 25, x.T * 25, preferred_element_type=np.int32))
    assert got.dtype == np.int32
    wide = (x * 25).astype(np.int32)
    np.testing.assert_array_equal(got, wide @ wide.T)
    got = lax.dot(operand(np.int8, 5), operand(np.int8, 5), preferred_element_type="float32")
    assert got.dtype == np.float32
    # A result of fewer bits than the operands is rounded at the end.
    a, b = f32(3, 4), f32(4, 2)
    for f in (lax.dot, jnp.matmul, lambda a, b, **to: jnp.einsum("ij,jk", a, b, **to)):
        got = f(a, b, preferred_element_type=jnp.bfloat16)
        np.testing.assert_array_equal(got, f(a, b).astype(jnp.bfloat16))
    slope = jax.grad(lambda a: lax.dot(a, b, preferred_element_type="float16").sum())(a)
    assert slope.dtype == np.float32
    with pytest.raises(DtypeError, match="fewer bits"):
        lax.dot(f32(3).astype(np.int32), f32(3).astype(np.int32), preferred_element_type=np.int16)


@pytest.mark.parametrize("n", [3, 700, 3000])
@pytest.mark.parametrize(
    "dtype, preferred",
    [
        (np.int8, None),
        (np.uint8, None),
        (np.int8, np.int32),
        (np.int16, None),
        (np.int16, np.int32),
        (np.uint16, np.uint32),
        (np.int32, None),
        (np.bool_, np.int32),
    ],
)
def test_integers_are_exact_and_wrap(dtype, preferred, n):
    rng = np.random.default_rng(0)
    low, high = (0, 1) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = rng.choice([low, high], (2, n)).astype(dtype)
    y = rng.integers(low, high, (n, 3), endpoint=True).astype(dtype)
    got = np.asarray(lax.dot(x, y, preferred_element_type=preferred))
    exact = np.array(x.astype(object) @ y.astype(object))
    want = np.vectorize(lambda v: int(v) % 2**64, otypes=[np.uint64])(exact)
    np.testing.assert_array_equal(got, want.astype(preferred or dtype))
    assert got.dtype == np.dtype(preferred or dtype)


def test_the_gradient_keeps_the_operands_dtypes():
    x, y = f32(3, 4).astype(BF16), f32(4, 2).astype(BF16)

    def f(x, y):
        return reduce_sum(lax.dot(x, y, preferred_element_type=np.float32), (0, 1))

    dx, dy = jax.grad(f, argnums=(0, 1))(x, y)
    assert dx.dtype == np.dtype(BF16) and dy.dtype == np.dtype(BF16)
    want = np.broadcast_to(y.astype(np.float32).sum(1), (3, 4))
    np.testing.assert_allclose(np.asarray(dx, np.float32), want, rtol=0.02)


def test_complex_derivatives_are_linear_not_conjugated():
    x, y = complex_(3).astype(np.complex64), complex_(3).astype(np.complex64)[::-1].copy()
    got = jax.grad(lambda x: lax.dot(x, y), holomorphic=True)(x)
    np.testing.assert_allclose(got, y, rtol=1e-6)


def test_large_complex_products_are_made_of_real_ones():
    x, y = complex_(40, 40).astype(np.complex64), complex_(40, 40).astype(np.complex64).T.copy()
    for a, b in ((x, y), (x.real.copy(), y), (x, y.imag.copy())):
        np.testing.assert_allclose(lax.dot(a, b), a @ b, rtol=1e-4, atol=1e-4)
        a, b = np.broadcast_to(a, (2, 40, 40)), np.broadcast_to(b, (2, 40, 40))
        got = lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))
        np.testing.assert_allclose(got, a @ b, rtol=1e-4, atol=1e-4)


def test_weak_types_and_python_sequences_of_axes():
    got = lax.dot_general(f32(2, 3), f32(3, 2), [[[-1], [0]], [[], []]])
    np.testing.assert_allclose(got, f32(2, 3) @ f32(3, 2), rtol=1e-6)


# --- precision


def lowered(platform, **options):
    x = f32(4, 4)
    program, _ = stage(lambda x, y: [lax.dot(x, y, **options)], [type_of(x)] * 2)
    return module_text(Builder(platform), program)


@pytest.mark.parametrize(
    "given, word",
    [
        ("highest", "HIGHEST"),
        (lax.Precision.HIGH, "HIGH"),
        ("float32", "HIGHEST"),
        ("bfloat16", "DEFAULT"),
    ],
)
def test_precisions_reach_the_program(given, word):
    assert lowered("gpu", precision=given).count(f"precision {word}>") == 2


def test_the_switch_is_the_default_precision():
    assert "precision_config" not in lowered("gpu")
    with override(default_matmul_precision="highest"):
        assert "HIGHEST" in lowered("gpu")
        assert "HIGHEST" not in lowered("gpu", precision="default")


def test_pairs_of_precisions_change_places_in_the_transpose():
    pair = ("highest", None)
    text = str(jax.make_jaxpr(jax.grad(lambda y: lax.dot(f32(3), y, precision=pair)))(f32(3)))
    assert "(Precision.DEFAULT, Precision.HIGHEST)" in text


def test_algorithms():
    assert "accumulation_type = f32" in lowered("gpu", precision="BF16_BF16_F32")
    tf32 = lowered("gpu", precision=lax.DotAlgorithmPreset.TF32_TF32_F32_X3)
    assert "lhs_precision_type = tf32" in tf32 and "num_primitive_operations = 3" in tf32
    own = lax.DotAlgorithm(np.float16, np.float16, np.float32)
    assert "lhs_precision_type = f16" in lowered("gpu", precision=own)
    # CPUs have none of them: operands are rounded as asked, the product is exact.
    assert "algorithm" not in lowered("cpu", precision=own)
    x = f32(4, 4)
    rounded = x.astype(BF16).astype(np.float32)
    got = lax.dot(x, x, precision="BF16_BF16_F32")
    np.testing.assert_allclose(got, rounded @ rounded, rtol=1e-5)
    np.testing.assert_allclose(lax.dot(x, x, precision="BF16_BF16_F32_X3"), x @ x, rtol=1e-5)


def test_errors():
    x = f32(2, 3)
    with pytest.raises(ShapeError, match="inner sizes agree"):
        lax.dot(x, x)
    with pytest.raises(ShapeError, match=r"contracted axes must have equal sizes.*\(3,\).*\(2,\)"):
        lax.dot_general(x, x, MATMUL)
    with pytest.raises(ShapeError, match="different numbers of batch axes"):
        lax.dot_general(x, x, (((1,), (1,)), ((0,), ())))
    with pytest.raises(ShapeError, match="contracted or batch once"):
        lax.dot_general(x, x, (((1,), (1,)), ((1,), (1,))))
    with pytest.raises(ArgumentError, match="dimension_numbers is"):
        lax.dot_general(x, x, 1)
    with pytest.raises(ArgumentError, match="not a precision"):
        lax.dot(x, x.T, precision="exact")
    with pytest.raises(DtypeError, match="8-bit floats"):
        lax.dot(x, x.T, precision="ANY_F8_ANY_F8_F32")
