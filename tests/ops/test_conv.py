"""Convolutions against plain loops, in every layout, with groups, dilation and strides."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.core.sample import complex_, integers, real
from plait.core.stage import stage
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.ops import conv as lax
from plait.ops import conv_forms as forms
from plait.ops.axes import reduce_sum

BF16 = ml_dtypes.bfloat16


def f32(*shape):
    return real(*shape, low=-1, high=1, dtype=np.float32)


def loops(x, k, strides, padding, base, dilation, features=1, batches=1):
    """Canonical layouts [N, C, ...], [O, I, ...]; float64."""
    x, k = np.asarray(x, np.complex128), np.asarray(k, np.complex128)
    counts = []
    for n, w, s, (low, high), b, d in zip(
        x.shape[2:], k.shape[2:], strides, padding, base, dilation
    ):
        room = (n - 1) * b + 1 + low + high - (w - 1) * d - 1
        counts.append(room // s + 1 if room >= 0 else 0)
    n = x.shape[0] // batches
    y = np.zeros((n, k.shape[0], *counts), np.complex128)
    for place in itertools.product(*map(range, counts)):
        for tap in itertools.product(*map(range, k.shape[2:])):
            at = [
                o * s + t * d - low
                for o, s, t, d, (low, _) in zip(place, strides, tap, dilation, padding)
            ]
            if not all(a % b == 0 and 0 <= a // b < m for a, b, m in zip(at, base, x.shape[2:])):
                continue
            seen = x[(slice(None), slice(None), *(a // b for a, b in zip(at, base)))]
            kernel = k[(slice(None), slice(None), *tap)]
            for o in range(k.shape[0]):
                group = o // (k.shape[0] // (features * batches))
                rows = seen[group * n : (group + 1) * n] if batches > 1 else seen
                i = k.shape[1]
                cols = rows[:, group * i : (group + 1) * i] if features > 1 else rows
                y[(slice(None), o, *place)] += cols @ kernel[o]
    return y


# lhs, rhs (canonical), strides, padding, base dilation, dilation, feature groups, batch groups
CASES = {
    "plain": ((2, 3, 5, 4), (4, 3, 3, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), 1, 1),
    "strided": ((2, 3, 5, 4), (4, 3, 3, 2), (2, 1), ((1, 2), (0, 1)), (1, 1), (1, 1), 1, 1),
    "dilated": ((1, 2, 5, 4), (3, 2, 2, 3), (1, 2), ((2, 1), (-1, 4)), (2, 1), (1, 2), 1, 1),
    "pointwise": ((2, 3, 5, 4), (4, 3, 1, 1), (2, 1), ((0, 0), (1, 0)), (1, 1), (1, 1), 1, 1),
    "grown": ((2, 3, 5, 4), (4, 3, 1, 1), (1, 1), ((0, 1), (1, 0)), (2, 3), (1, 1), 1, 1),
    "one place": ((2, 3, 4, 5), (4, 3, 4, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 2), 1, 1),
    "groups": ((2, 6, 5, 4), (4, 3, 3, 2), (2, 1), ((1, 0), (0, 1)), (1, 1), (1, 1), 2, 1),
    "depthwise": ((2, 4, 5, 4), (4, 1, 3, 2), (2, 1), ((1, 0), (0, 1)), (1, 1), (1, 2), 4, 1),
    "multiplier": ((2, 3, 5, 4), (6, 1, 3, 2), (1, 1), ((1, 0), (0, 1)), (2, 1), (1, 1), 3, 1),
    "batch groups": ((4, 3, 5, 4), (6, 3, 3, 2), (2, 1), ((1, 0), (0, 1)), (1, 1), (1, 1), 1, 2),
    "rows": ((3, 2, 5, 4), (6, 2, 4, 3), (1, 1), ((1, 0), (0, 1)), (1, 1), (1, 1), 1, 3),
    "line": ((2, 3, 9), (4, 3, 4), (3,), ((2, 2),), (1,), (2,), 1, 1),
    "volume": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 3), (1,) * 3, ((1, 0),) * 3, (1,) * 3, (1,) * 3, 1, 1),
    "no space": ((2, 3), (4, 3), (), (), (), (), 1, 1),
    "nothing": ((0, 3, 5), (4, 3, 2), (1,), ((0, 0),), (1,), (1,), 1, 1),
    "no place": ((2, 3, 2), (4, 3, 5), (1,), ((0, 0),), (1,), (1,), 1, 1),
}
every_case = pytest.mark.parametrize("case", CASES)


def run(x, k, case, spec=None, **options):
    _, _, strides, padding, base, dilation, features, batches = CASES[case]
    return lax.conv_general_dilated(
        x, k, strides, padding, base, dilation, spec, features, batches, **options
    )


def close(got, want, tolerance=1e-5):
    got = np.asarray(got)
    assert got.shape == want.shape
    if got.dtype.kind != "c":
        want = want.real
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@every_case
def test_values(case):
    left, right, *numbers = CASES[case]
    x, k = f32(*left), f32(*right)[::-1].copy()
    close(run(x, k, case), loops(x, k, *numbers))


@every_case
def test_gradients(case):
    left, right, *numbers = CASES[case]
    x, k = f32(*left), f32(*right)[::-1].copy()
    y, pull = jax.vjp(lambda x, k: run(x, k, case), x, k)
    ct = np.random.default_rng(0).standard_normal(y.shape).astype(np.float32)
    dx, dk = pull(ct)
    assert dx.shape == x.shape and dk.shape == k.shape
    # Linear in each operand: the gradient is the inner product with every unit vector.
    rng = np.random.default_rng(1)
    for _ in range(4):
        tx, tk = rng.standard_normal(x.shape), rng.standard_normal(k.shape)
        want = np.sum(loops(tx, k, *numbers).real * ct), np.sum(loops(x, tk, *numbers).real * ct)
        got = np.sum(np.asarray(dx) * tx), np.sum(np.asarray(dk) * tk)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    t = jax.jvp(lambda x, k: run(x, k, case), (x, k), (tx.astype("f4"), tk.astype("f4")))[1]
    close(t, loops(tx, k, *numbers) + loops(x, tk, *numbers), 1e-4)


@every_case
@pytest.mark.parametrize("mapped", [(0, None), (None, 0), (0, 0)])
def test_vmap(case, mapped):
    left, right, *numbers = CASES[case]
    x = f32(*left) if mapped[0] is None else f32(3, *left)
    k = f32(*right) if mapped[1] is None else f32(3, *right)[:, ::-1].copy()
    got = jax.vmap(lambda x, k: run(x, k, case), in_axes=mapped)(x, k)
    rows = [
        loops(x if mapped[0] is None else x[i], k if mapped[1] is None else k[i], *numbers)
        for i in range(3)
    ]
    close(got, np.stack(rows))


@pytest.mark.parametrize(
    "spec",
    [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NHWC"), ("HWNC", "IOWH", "CWHN"), None],
)
@pytest.mark.parametrize("case", ["plain", "strided", "pointwise", "groups", "depthwise", "rows"])
def test_layouts(case, spec):
    left, right, *numbers = CASES[case]
    x, k = f32(*left), f32(*right)
    if spec is None:
        close(run(x, k, case), loops(x, k, *numbers))
        return
    order = [spec[0].index(c) for c in "NC"], [spec[1].index(c) for c in "OI"]
    spatial = [c for c in spec[1] if c not in "OI"]
    moved = [
        np.transpose(v, np.argsort([*head, *(text.index(c) for c in spatial)]))
        for v, head, text in zip((x, k), order, spec)
    ]
    got = np.asarray(run(*moved, case, spec))
    back = [spec[2].index(c) for c in ("N", "C", *spatial)]
    close(np.transpose(got, back), loops(x, k, *numbers))


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.float16, BF16, np.complex64])
@pytest.mark.parametrize("case", ["strided", "depthwise", "groups", "one place"])
def test_dtypes(case, dtype):
    left, right, *numbers = CASES[case]
    if dtype is np.complex64:
        x, k = np.round(2 * complex_(*left)), np.round(2 * complex_(*right))
    else:
        x, k = integers(*left, low=-2, high=3), integers(*right, low=-2, high=3)
    x, k = x.astype(dtype), k.astype(dtype)
    got = np.asarray(run(x, k, case))
    assert got.dtype == np.dtype(dtype)
    want = loops(x, k, *numbers)
    want = want if dtype is np.complex64 else want.real
    close(got.astype(np.complex128), want.astype(dtype).astype(np.complex128), 0)


def test_preferred_element_type():
    left, right, *numbers = CASES["strided"]
    x, k = integers(*left, dtype=np.int8) * 20, integers(*right, dtype=np.int8)
    x = x.astype(np.int8)
    got = np.asarray(run(x, k, "strided", preferred_element_type=np.int32))
    assert got.dtype == np.int32
    close(got, loops(x, k, *numbers), 0)
    half = f32(*left).astype(BF16), f32(*right).astype(BF16)
    y, pull = jax.vjp(lambda x, k: run(x, k, "strided", preferred_element_type=np.float32), *half)
    assert y.dtype == np.float32
    assert all(g.dtype == np.dtype(BF16) for g in pull(y))


def test_padding_words():
    x, k = f32(1, 2, 7, 6), f32(3, 2, 3, 2)
    same = lax.conv(x, k, (2, 1), "SAME")
    close(same, loops(x, k, (2, 1), ((1, 1), (0, 1)), (1, 1), (1, 1)))
    lower = lax.conv(x, k, (2, 1), "SAME_LOWER")
    close(lower, loops(x, k, (2, 1), ((1, 1), (1, 0)), (1, 1), (1, 1)))
    valid = lax.conv_with_general_padding(x, k, (2, 1), "valid", None, (2, 1))
    close(valid, loops(x, k, (2, 1), ((0, 0), (0, 0)), (1, 1), (2, 1)))
    assert forms.conv_shape_tuple(x.shape, k.shape, (2, 1), ((1, 1), (0, 1))) == same.shape
    shape = forms.conv_general_shape_tuple(
        (1, 7, 6, 2), (3, 2, 2, 3), (2, 1), "SAME", ("NHWC", "HWIO", "NHWC")
    )
    assert shape == (1, 4, 6, 3)


def test_dimension_numbers():
    found = lax.conv_dimension_numbers((1, 3, 4, 2), (3, 4, 2, 5), ("NHWC", "WHIO", "NHWC"))
    assert found == ((0, 3, 2, 1), (3, 2, 0, 1), (0, 3, 2, 1))
    assert lax.conv_general_permutations(("NHC", "HIO", "NCH")) == (
        (0, 2, 1),
        (2, 1, 0),
        (0, 1, 2),
    )
    same = lax.conv_dimension_numbers((1, 2), (3, 2), None)
    assert same == lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1))
    for wrong in [("NHWC", "HWIO"), "NHWC", ("NHWC", "HWIO", "NHXC"), ((0, 1, 2, 3),) * 3]:
        with pytest.raises(ArgumentTypeError):
            lax.conv_dimension_numbers((1, 3, 4, 2), (3, 4, 2, 5), wrong)


@pytest.mark.parametrize("padding, size", [("SAME", 10), ("VALID", 11), (((1, 2),), 10)])
@pytest.mark.parametrize("transposed", [False, True])
def test_conv_transpose(padding, size, transposed):
    # The strided convolution that has this one as its gradient goes from `size` to 5.
    x, k = f32(2, 5, 3), f32(3, 3, 4)
    got = forms.conv_transpose(
        x, np.swapaxes(k, 1, 2) if transposed else k, (2,), padding, transpose_kernel=transposed
    )
    assert got.shape == (2, size, 4)
    if not transposed:
        return

    def forward(z):
        kernel = np.swapaxes(k, 1, 2)
        return lax.conv_general_dilated(
            z, kernel, (2,), padding, dimension_numbers=("NHC", "HIO", "NHC")
        )

    if isinstance(padding, str):
        z = f32(2, size, 4)
        want = jax.vjp(forward, z)[1](x)[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_conv_transpose_with_consistent_padding():
    x, k = f32(1, 4, 5, 3), f32(3, 2, 2, 3)
    padding = ((1, 0), (0, 1))
    got = forms.conv_transpose(
        x, k, (2, 1), padding, transpose_kernel=True, use_consistent_padding=True
    )

    def forward(z):
        return lax.conv_general_dilated(
            z, k, (2, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    want = jax.vjp(forward, np.zeros(got.shape, np.float32))[1](x)[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spec", [None, ("NHWC", "WHIO", "NHWC")])
def test_patches_and_local_kernels(spec):
    shape = (2, 3, 5, 4) if spec is None else (2, 5, 4, 3)
    x = f32(*shape)
    size = (2, 3)
    patches = np.asarray(
        forms.conv_general_dilated_patches(x, size, (1, 2), "SAME", dimension_numbers=spec)
    )
    # An ordinary convolution is a product of its patches with the flattened kernel.
    kernel = f32(4, 3, *size)
    plain = kernel if spec is None else np.transpose(kernel, (2, 3, 1, 0))
    want = np.asarray(lax.conv_general_dilated(x, plain, (1, 2), "SAME", dimension_numbers=spec))
    flat = kernel.reshape(4, -1)
    axis = 1 if spec is None else 3
    got = np.moveaxis(np.tensordot(patches, flat, (axis, 1)), -1, axis)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    # The same kernel at every place.
    places = np.moveaxis(want, axis, 1).shape[2:]
    if spec is None:
        local = np.broadcast_to(flat[:, :, None, None], (*flat.shape, *places))
    else:
        local = np.broadcast_to(flat.T, (*places[::-1], *flat.T.shape))
    got = forms.conv_general_dilated_local(
        x, np.ascontiguousarray(local), (1, 2), "SAME", size, dimension_numbers=spec
    )
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_second_derivatives():
    x, k = f32(1, 2, 5), f32(2, 2, 3)

    def f(x, k):
        y = lax.conv(x, k, (2,), ((1, 1),))
        return reduce_sum(y * y * y, (0, 1, 2))

    mixed = jax.jacfwd(jax.grad(f, argnums=1))(x, k)
    swapped = jax.jacrev(jax.grad(f), argnums=1)(x, k)
    want = np.transpose(np.asarray(swapped), (3, 4, 5, 0, 1, 2))
    np.testing.assert_allclose(mixed, want, rtol=1e-4, atol=1e-5)


def test_what_gpus_get():
    x, k = f32(2, 4, 5, 5), f32(4, 1, 3, 3)
    program, _ = stage(
        lambda x, k: [run(x, k, "depthwise", precision="highest")], [type_of(x), type_of(k)]
    )
    text = module_text(Builder("gpu"), program)
    assert "stablehlo.convolution" in text
    assert "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]" in text
    assert text.count("precision HIGHEST") == 2
    assert "stablehlo.convolution" not in module_text(Builder("cpu"), program)


def test_errors():
    x, k = f32(2, 3, 5), f32(4, 3, 2)
    with pytest.raises(ShapeError, match="lhs has 3 features, but rhs takes 2"):
        lax.conv(x, f32(4, 2, 2), (1,), "SAME")
    with pytest.raises(ShapeError, match="same number of axes"):
        lax.conv(x, f32(4, 3), (1,), "SAME")
    with pytest.raises(ShapeError, match="window_strides needs an entry"):
        lax.conv(x, k, (1, 1), "SAME")
    with pytest.raises(ShapeError, match="padding needs an entry"):
        lax.conv(x, k, (1,), ())
    with pytest.raises(ArgumentError, match="padding is"):
        lax.conv(x, k, (1,), "FULL")
    with pytest.raises(ArgumentError, match="does not go with lhs_dilation"):
        lax.conv_general_dilated(x, k, (1,), "SAME", (2,))
    with pytest.raises(ShapeError, match="groups do not divide"):
        lax.conv_general_dilated(f32(2, 9, 5), k, (1,), "SAME", feature_group_count=3)
    with pytest.raises(ArgumentError, match="one of them is 1"):
        lax.conv_general_dilated(
            f32(2, 6, 5), k, (1,), "SAME", feature_group_count=2, batch_group_count=2
        )
    with pytest.raises(DtypeError, match="dtypes differ"):
        lax.conv(x, k.astype(np.float16), (1,), "SAME")
