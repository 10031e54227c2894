"""What is made of convolutions: transposed ones, patches, unshared kernels, result shapes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.plain import ints, static_int
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ShapeError, several
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import permute, reshape, rev
from plait.ops.conv import (
    check_spatial,
    conv_dimension_numbers,
    conv_general_dilated,
    is_word,
    out_shape,
)
from plait.ops.dot import PrecisionLike, dot_general, preferred_dtype
from plait.ops.slices import concatenate, pad, slice_p
from plait.ops.window_shape import Window, padding_pairs, word_pads

_TRANSPOSED_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Convolution with fractional strides: the spatial axes grow by the strides.

    padding "SAME" gives size * stride elements, "VALID" all that the kernel touches, as of the
    convolution whose gradient this resembles. Pairs (low, high) are put around the dilated lhs;
    with use_consistent_padding they too are those of that convolution. dimension_numbers is
    ("NHWC", "HWIO", "NHWC") (or alike for other ranks) by default. With transpose_kernel the kernel
    is flipped and its features change places, which gives exactly the gradient.

    >>> x, kernel = jnp.ones((1, 4, 4, 3)), jnp.ones((3, 3, 3, 8))
    >>> lax.conv_transpose(x, kernel, (2, 2), "SAME").shape
    (1, 8, 8, 8)
    """
    op = "conv_transpose"
    left, right = type_of(lhs), type_of(rhs)
    if dimension_numbers is None:
        if left.ndim not in _TRANSPOSED_LAYOUTS:
            raise ArgumentError(
                f"there are no default dimension_numbers for {several(left.ndim, 'axis', 'axes')}",
                op=op,
                lhs=left,
                fix="give three strings, for example ('NHWC', 'HWIO', 'NHWC')",
            )
        dimension_numbers = _TRANSPOSED_LAYOUTS[left.ndim]
    spec = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    ones = (1,) * (left.ndim - 2)
    strides = ints(strides, op, "strides")
    dilation = ones if rhs_dilation is None else ints(rhs_dilation, op, "rhs_dilation")
    check_spatial(op, left, right, strides=strides, rhs_dilation=dilation)
    kernel = [right.shape[a] for a in spec.rhs_spec[2:]]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    pairs = _grown_pads(reach, strides, padding, op)
    if not is_word(padding):
        check_spatial(op, left, right, padding=pairs)
        if use_consistent_padding:
            pairs = tuple((k - 1 - a, k - 1 - z) for k, (a, z) in zip(reach, pairs, strict=True))
    if transpose_kernel:
        rhs = rev(rhs, spec.rhs_spec[2:])
        order = list(range(right.ndim))
        out, inner = spec.rhs_spec[:2]
        order[out], order[inner] = inner, out
        rhs = permute(rhs, order)
    return conv_general_dilated(
        lhs,
        rhs,
        ones,
        pairs,
        strides,
        dilation,
        spec,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _grown_pads(
    reach: Sequence[int], strides: Sequence[int], padding: Any, op: str
) -> tuple[tuple[int, int], ...]:
    """The padding of the dilated input that an argument `padding=` means."""
    if not is_word(padding):
        return tuple(padding_pairs(padding, op))
    kind = getattr(padding, "name", padding).upper()
    if kind not in ("SAME", "VALID"):
        raise ArgumentError(
            "padding is 'SAME', 'VALID' or a pair (low, high) for each spatial axis",
            op=op,
            padding=padding,
        )
    return tuple(_grown(k, s, kind) for k, s in zip(reach, strides, strict=True))


def _grown(reach: int, stride: int, kind: str) -> tuple[int, int]:
    """The padding of the dilated input whose result has the size that SAME or VALID promises."""
    if kind == "SAME":
        total = reach + stride - 2
        low = reach - 1 if stride > reach - 1 else -(-total // 2)
    else:
        total = reach + stride - 2 + max(reach - stride, 0)
        low = reach - 1
    return low, total - low


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The windows a kernel of filter_shape would see, laid out along the feature axis.

    The feature axis of the result counts the features of lhs, and for each the elements of a window
    in the kernel's order. Other arguments as in conv_general_dilated; values are copied, not
    multiplied, so that precision has no effect.

    >>> x = jnp.array([[[1.0, 2.0, 3.0]]])
    >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
    Array([[[1., 2.],
            [2., 3.]]], dtype=float32)
    """
    op = "conv_general_dilated_patches"
    have = type_of(lhs)
    size = ints(filter_shape, op, "filter_shape")
    spec = conv_dimension_numbers(have.shape, (1,) * have.ndim, dimension_numbers)
    strides = ints(window_strides, op, "window_strides")
    ones = (1,) * len(size)
    base = ones if lhs_dilation is None else ints(lhs_dilation, op, "lhs_dilation")
    dilation = ones if rhs_dilation is None else ints(rhs_dilation, op, "rhs_dilation")
    sizes = [have.shape[a] for a in spec.lhs_spec[2:]]
    entries = {"filter_shape": size, "window_strides": strides}
    entries |= {"lhs_dilation": base, "rhs_dilation": dilation}
    for name, numbers in entries.items():
        if len(numbers) != len(sizes):
            given: dict[str, Any] = {"lhs": have, name: numbers}
            raise ShapeError(f"{name} needs an entry for each spatial axis", op=op, **given)
    if is_word(padding):
        reach = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
        pairs = tuple(word_pads(sizes, reach, strides, padding, op))
    else:
        pairs = padding_pairs(padding, op)
    window = Window(size, strides, pairs, base, dilation)
    places = window.out_shape(sizes)
    x = permute(lhs, spec.lhs_spec)
    gaps = [(0, 0, 0), (0, 0, 0)]
    gaps += [(*pair, d - 1) for pair, d in zip(pairs, base, strict=True)]
    x = pad(x, np.zeros((), dtypes.storage(have.dtype)), gaps)
    batch, features = type_of(x).shape[:2]
    parts = []
    for place in itertools.product(*map(range, size)):
        start = [k * d for k, d in zip(place, dilation, strict=True)]
        limit = [
            a + (m - 1) * s + 1 if m else a for a, m, s in zip(start, places, strides, strict=True)
        ]
        part = slice_p.bind(
            x,
            starts=(0, 0, *start),
            limits=(batch, features, *limit),
            strides=(1, 1, *strides),
        )
        parts.append(reshape(part, (batch, features, 1, *places)))
    y = reshape(concatenate(parts, 2), (batch, features * math.prod(size), *places))
    y = permute(y, [spec.out_spec.index(k) for k in range(have.ndim)])
    wanted = preferred_dtype(preferred_element_type)
    return y if wanted is None else convert_element_type(y, wanted)


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
) -> Any:
    """A convolution with another kernel at each place.

    rhs has the result's spatial sizes along its spatial axes; its input feature axis counts the
    features of lhs, and for each the elements of a window of filter_shape. Other arguments as in
    conv_general_dilated.

    >>> x, kernels = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[1.0, 10.0], [1.0, 10.0]]])
    >>> lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,))
    Array([[[ 3., 50.]]], dtype=float32)
    """
    spec = conv_dimension_numbers(type_of(lhs).shape, type_of(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
    )
    _, rhs_spec, out_spec = spec
    y = dot_general(
        patches,
        rhs,
        (((out_spec[1],), (rhs_spec[1],)), (out_spec[2:], rhs_spec[2:])),
        precision,
    )
    # y has axes (spatial..., batch, feature).
    order = (*out_spec[2:], *out_spec[:2])
    return permute(y, [order.index(k) for k in range(len(order))])


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of conv's result for operands of the given shapes.

    >>> lax.conv_shape_tuple((1, 3, 8, 8), (16, 3, 3, 3), (1, 1), [(0, 0), (0, 0)])
    (1, 16, 6, 6)
    """
    return _shape(lhs_shape, rhs_shape, strides, pads, None, batch_group_count)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of conv_general_dilated's result for operands of the given shapes.

    >>> names = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_general_shape_tuple((1, 8, 8, 3), (3, 3, 3, 16), (2, 2), "SAME", names)
    (1, 4, 4, 16)
    """
    return _shape(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers, 1)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of conv_transpose's result for operands of the given shapes.

    >>> names = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_transpose_shape_tuple((1, 4, 4, 3), (3, 3, 3, 16), (2, 2), "SAME", names)
    (1, 8, 8, 16)
    """
    op = "conv_transpose_shape_tuple"
    spec = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    strides = ints(window_strides, op, "window_strides")
    left, right = ArrayType(lhs_shape, dtypes.float32), ArrayType(rhs_shape, dtypes.float32)
    check_spatial(op, left, right, window_strides=strides)
    pairs = _grown_pads([rhs_shape[a] for a in spec.rhs_spec[2:]], strides, padding, op)
    check_spatial(op, left, right, padding=pairs)
    ones = (1,) * len(strides)
    return _shape(lhs_shape, rhs_shape, ones, pairs, spec, 1, strides)


def _shape(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
    batch_group_count: int,
    lhs_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    spec = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    sizes = [lhs_shape[a] for a in spec.lhs_spec[2:]]
    kernel = [rhs_shape[a] for a in spec.rhs_spec[2:]]
    op = "conv_general_shape_tuple"
    strides = ints(strides, op, "strides")
    pairs = (
        tuple(word_pads(sizes, kernel, strides, padding, op))
        if is_word(padding)
        else padding_pairs(padding, op)
    )
    ones = (1,) * len(sizes)
    return out_shape(
        ArrayType(lhs_shape, dtypes.float32),
        ArrayType(rhs_shape, dtypes.float32),
        window_strides=strides,
        padding=pairs,
        lhs_dilation=ones if lhs_dilation is None else tuple(lhs_dilation),
        rhs_dilation=ones,
        dimension_numbers=spec,
        feature_group_count=1,
        batch_group_count=static_int(batch_group_count, op, "batch_group_count"),
    )


__all__ = [
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
]
