"""plait.lax: the ops themselves, collectives and control flow, under JAX's names.

Operands have equal dtypes, and equal shapes or none; nothing is promoted or broadcast as in
plait.numpy. Each name is defined, with its documentation and rules, in the module it comes from.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from plait.core.accuracy import AccuracyMode, Tolerance
from plait.core.context import bound_axis_names
from plait.numpy.placing import takes_out_sharding as _takes_out_sharding
from plait.ops.arithmetic import (
    add,
    convert_element_type,
    div,
    integer_pow,
    mul,
    neg,
    reduce_precision,
    rem,
    square,
    sub,
)
from plait.ops.axes import broadcast_in_dim, expand_dims, rev
from plait.ops.bessel import bessel_i0e, bessel_i1e
from plait.ops.bitcast import bitcast_convert_type
from plait.ops.collective import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
    pvary,
)
from plait.ops.collective_ragged import ragged_all_to_all
from plait.ops.compare import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    clamp,
    clz,
    eq,
    eq_to,
    ge,
    gt,
    is_finite,
    le,
    le_to,
    lt,
    lt_to,
    max,
    min,
    mulhi,
    ne,
    population_count,
    select,
    select_n,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
)
from plait.ops.conv import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_general_permutations,
    conv_with_general_padding,
)
from plait.ops.conv_forms import (
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose,
    conv_transpose_shape_tuple,
)
from plait.ops.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from plait.ops.dot import (
    DotAlgorithm,
    DotAlgorithmPreset,
    DotDimensionNumbers,
    Precision,
    PrecisionLike,
    dot,
    dot_general,
)
from plait.ops.dynamic_slice import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
)
from plait.ops.fft import FftType, fft
from plait.ops.functions import (
    RoundingMethod,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    ceil,
    complex,
    conj,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    floor,
    imag,
    log,
    log1p,
    log2,
    logistic,
    nextafter,
    pow,
    real,
    round,
    rsqrt,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from plait.ops.gather import GatherDimensionNumbers, GatherScatterMode, gather
from plait.ops.generator import RandomAlgorithm, rng_bit_generator, rng_uniform
from plait.ops.incomplete import (
    betainc,
    igamma,
    igamma_grad_a,
    igammac,
    random_gamma_grad,
)
from plait.ops.iota import broadcasted_iota, full, full_like, iota
from plait.ops.ragged import RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general
from plait.ops.reduce import (
    argmax,
    argmin,
    reduce,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_xor,
)
from plait.ops.scatter import (
    ScatterDimensionNumbers,
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from plait.ops.slices import (
    broadcast,
    collapse,
    concatenate,
    index_in_dim,
    pad,
    slice,
    slice_in_dim,
    split,
    squeeze,
    tile,
)
from plait.ops.sort import approx_max_k, approx_min_k, sort, sort_key_val, top_k
from plait.ops.special import digamma, erf, erf_inv, erfc, lgamma, polygamma, zeta
from plait.ops.structure import (
    batch_matmul,
    broadcast_like,
    broadcast_shapes,
    broadcast_to_rank,
    dtype,
    empty,
    index_take,
    reciprocal,
    reduce_sum,
    reshape,
    stack,
    transpose,
    unstack,
)
from plait.ops.window import reduce_window, reduce_window_shape_tuple
from plait.ops.window_shape import padtype_to_pads
from plait.regions.checkpoint import optimization_barrier
from plait.regions.cond import cond, switch
from plait.regions.custom import custom_gradient, stop_gradient
from plait.regions.linear_solve import custom_linear_solve
from plait.regions.loops import associative_scan, fori_loop, map, scan, while_loop
from plait.transforms.implicit import custom_root
from plait.transforms.named import composite
from plait.transforms.platform import platform_dependent
from plait.transforms.shard_map import with_sharding_constraint

if _TYPE_CHECKING:
    from plait.lax import linalg

regularized_incomplete_beta = betainc

# Here, for the modules of ops know nothing of devices.
for _keyword, _names in {
    "out_sharding": """broadcast broadcast_in_dim broadcasted_iota conv_general_dilated dot
        dot_general empty ragged_dot ragged_dot_general reduce reduce_sum reshape""",
    "sharding": "full full_like",
}.items():
    for _name in _names.split():
        _function = _takes_out_sharding(globals()[_name], _keyword)
        _function.__module__ = __name__  # where pickle finds it
        globals()[_name] = _function


def __getattr__(name: str) -> _Any:
    if name == "linalg":  # loaded when first used: most programs factorise no matrix
        return _importlib.import_module("plait.lax.linalg")
    raise AttributeError(f"module 'plait.lax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "linalg"})
