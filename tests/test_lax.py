"""plait.lax as a whole: every name that JAX documents, and the arguments all functions share."""

from __future__ import annotations

import inspect
import pathlib
import re

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.core.accuracy import TAKE_ACCURACY, ULPS
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError

DOCS = pathlib.Path(__file__).parent.parent / "docs"
# The names on JAX's page of jax.lax.
DOCUMENTED = """
abs acos acosh add after_all approx_max_k approx_min_k argmax argmin asin asinh atan atan2 atanh
batch_matmul bessel_i0e bessel_i1e betainc bitcast_convert_type bitwise_and bitwise_not bitwise_or
bitwise_xor population_count broadcast broadcast_in_dim broadcast_like broadcast_shapes
broadcast_to_rank broadcasted_iota cbrt ceil clamp clz collapse complex composite concatenate conj
conv convert_element_type conv_dimension_numbers conv_general_dilated conv_general_dilated_local
conv_general_dilated_patches conv_transpose conv_with_general_padding cos cosh cumlogsumexp cummax
cummin cumprod cumsum digamma div dot dot_general dynamic_index_in_dim dynamic_slice
dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim
empty eq erf erfc erf_inv exp exp2 expand_dims expm1 fft floor full full_like gather ge gt igamma
igamma_grad_a igammac imag index_in_dim index_take integer_pow iota is_finite le lgamma log log1p
logistic lt max min mul ne neg nextafter optimization_barrier pad platform_dependent polygamma pow
random_gamma_grad ragged_all_to_all ragged_dot ragged_dot_general real reciprocal reduce reduce_and
reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window reduce_xor rem
reshape rev rng_bit_generator rng_uniform round rsqrt scatter scatter_add scatter_apply scatter_max
scatter_min scatter_mul scatter_sub shift_left shift_right_arithmetic shift_right_logical sign sin
sinh slice slice_in_dim sort sort_key_val split sqrt square squeeze sub tan tanh top_k transpose
zeta associative_scan cond fori_loop map scan select select_n switch while_loop stop_gradient
custom_linear_solve custom_root all_gather all_to_all psum psum_scatter pmax pmin pmean ppermute
pshuffle pswapaxes axis_index axis_size psend precv with_sharding_constraint AccuracyMode
ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotAlgorithm DotAlgorithmPreset
DotDimensionNumbers FftType GatherDimensionNumbers GatherScatterMode Precision PrecisionLike
RaggedDotDimensionNumbers RandomAlgorithm RoundingMethod ScatterDimensionNumbers Tolerance
""".split()
DOCUMENTED_LINALG = """
cholesky cholesky_update eig eigh hessenberg householder_product lu lu_pivots_to_permutation qdwh qr
schur svd SvdAlgorithm symmetric_product triangular_solve tridiagonal tridiagonal_solve
EigImplementation EighImplementation
""".split()


def test_every_documented_name_is_there_or_named_as_missing():
    missing = {n for n in DOCUMENTED if not hasattr(lax, n)}
    missing |= {f"linalg.{n}" for n in DOCUMENTED_LINALG if not hasattr(lax.linalg, n)}
    text = (DOCS / "coming_from_jax.md").read_text()
    table = text.partition("does not have yet")[2].splitlines()
    first = " ".join(line.split("|")[1] for line in table if line.startswith("|"))
    said = set(re.findall(r"`lax\.([\w.]+)`", first))
    assert missing == {"after_all", "psend", "precv"}
    assert missing <= said
    assert not {n for n in said if hasattr(lax, n)}


def test_functions_take_an_accuracy():
    x = np.array([0.25, 0.5], np.float32)
    for name in sorted(TAKE_ACCURACY):
        function = getattr(lax, name)
        assert inspect.signature(function).parameters["accuracy"].default is None
        for accuracy in (
            None,
            *lax.AccuracyMode,
            lax.Tolerance(ulps=2),
            lax.Tolerance(1e-5, 0.0, 1),
            lax.Tolerance(rtol=1e-6),
        ):
            assert np.array_equal(function(x, accuracy=accuracy), function(x))
    traced = jax.jit(jax.grad(lambda x: lax.tanh(x, accuracy=lax.AccuracyMode.HIGHEST)))
    assert traced(0.5) == jax.grad(lax.tanh)(0.5)


def test_a_tolerance_that_is_not_kept_is_refused():
    x = jnp.float32(0.5)
    for tight in (lax.Tolerance(ulps=1), lax.Tolerance(rtol=1e-8), lax.Tolerance(atol=1e-10)):
        with pytest.raises(ArgumentError, match="2 units in the last place"):
            lax.exp(x, accuracy=tight)
    with pytest.raises(ArgumentError, match="8 units"):
        lax.exp(jnp.complex64(1), accuracy=lax.Tolerance(ulps=2))
    with jax.enable_x64(True):
        assert lax.exp(np.float64(0), accuracy=lax.Tolerance(rtol=1e-12)) == 1
    with pytest.raises(ArgumentTypeError, match="AccuracyMode"):
        lax.exp(x, accuracy="highest")
    with pytest.raises(ArgumentTypeError, match="no accuracy"):
        lax.erf(x, accuracy=lax.AccuracyMode.HIGHEST)
    for wrong in ((-1.0, 0.0, 0), (0.0, 0.0, -1), (), (0.0, float("nan"))):
        with pytest.raises(ArgumentError):
            lax.Tolerance(*wrong)


def test_what_is_promised_of_accuracy_is_what_was_measured():
    page = (DOCS / "accuracy.md").read_text()
    seen = set()
    for part, kind, columns in (("Real numbers", "real", 4), ("Complex numbers", "complex", 2)):
        rows = page.partition(f"## {part}")[2].partition("\n## ")[0]
        for name, *errors in re.findall(r"^\| (\w+) " + r"\| +([\d.]+) " * columns, rows, re.M):
            if name in TAKE_ACCURACY:
                seen.add((kind, name))
                assert max(map(float, errors)) <= ULPS[kind]
    complex_ones = TAKE_ACCURACY - {"cbrt", "expm1", "logistic", "rsqrt"}
    wanted = {("real", n) for n in TAKE_ACCURACY} | {("complex", n) for n in complex_ones}
    assert seen == wanted


def test_index_take_and_broadcast_like():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    i, j = np.array([0, 1, -1, 9]), np.array([2, 0, -3, 3], np.int8)
    a, b = np.array([0, 1, 1, 1]), np.array([2, 0, 1, 3])
    assert np.array_equal(lax.index_take(x, (i, j), (0, 2)), x[a, :, b])
    assert np.array_equal(lax.index_take(x, (j, i), (2, 0)), x[a, :, b])
    assert np.array_equal(lax.index_take(x, (np.array([1], np.uint8),), (-2,)), x[:, 1][None])
    slope = jax.grad(lambda x: lax.index_take(x, (i,), (0,)).sum())(x)
    assert np.array_equal(slope[:, 0, 0], [1, 3])
    with pytest.raises(ShapeError, match="one length"):
        lax.index_take(x, (i, j[:2]), (0, 1))
    assert np.array_equal(lax.broadcast_like(x[:, :1], x), np.broadcast_to(x[:, :1], x.shape))
    with pytest.raises(ShapeError):
        lax.broadcast_like(x, x[0])


def test_the_shape_of_a_transposed_convolution():
    names = ("NHWC", "HWIO", "NHWC")
    x, k = np.zeros((1, 8, 9, 3), np.float32), np.zeros((3, 4, 3, 5), np.float32)
    for strides, padding in (((2, 2), "SAME"), ((3, 1), "VALID"), ((2, 1), ((1, 1), (0, 2)))):
        y = jax.eval_shape(
            lambda x, k, s=strides, p=padding: lax.conv_transpose(
                x, k, s, p, dimension_numbers=names
            ),
            x,
            k,
        )
        shape = lax.conv_transpose_shape_tuple(x.shape, k.shape, strides, padding, names)
        assert shape == y.shape
    with pytest.raises(ArgumentError, match="padding"):
        lax.conv_transpose_shape_tuple(x.shape, k.shape, (2, 2), "FULL", names)
