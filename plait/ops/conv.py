"""Convolution over any number of spatial axes, with strides, padding, dilation and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.plain import ints, listed, static_int
from plait.core.primitive import LinearOperand, Primitive, register, zeros_of
from plait.core.sample import complex_, integers, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, several
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import move_axis, reshape, rev
from plait.ops.conv_lower import Conv, lower_convolution
from plait.ops.dot import (
    PrecisionLike,
    canonical_precision,
    compute_dtype,
    preferred_dtype,
    product_dtype,
    product_jvp,
    result_dtype,
    to_result,
)
from plait.ops.window_shape import Window, padding_pairs, windows_of, word_pads


class ConvDimensionNumbers(NamedTuple):
    """Where the axes of a convolution's operands and result stand.

    lhs_spec and out_spec: the positions of (batch, feature, spatial axes...).
    rhs_spec: the positions of (output feature, input feature, spatial axes...).

    >>> lax.conv_dimension_numbers((1, 2, 8), (4, 2, 3), None)
    ConvDimensionNumbers(lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), out_spec=(0, 1, 2))
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None


class ConvGeneralDilated(Primitive):
    """Sum of products of a kernel with every window of lhs, over the window and input features.

    Operands: lhs and the kernel rhs. With feature_group_count g the features of lhs, input and
    output, fall into g groups that do not mix; with batch_group_count g the batch falls into g
    groups, each of which meets one of g groups of the kernel's output features. The kernel is not
    flipped. StableHLO: convolution.
    """

    name = "conv_general_dilated"

    def type(self, lhs, rhs, *, preferred_element_type, **params):
        dtype = result_dtype(lhs, rhs, preferred_element_type)
        if lhs.dtype != rhs.dtype and preferred_element_type is None:
            raise DtypeError(
                "the operands' dtypes differ",
                lhs=lhs,
                rhs=rhs,
                fix="convert one with lax.convert_element_type",
            )
        return ArrayType(out_shape(lhs, rhs, **params), dtype)

    def numpy(self, lhs, rhs, *, preferred_element_type, **params):
        out = self.type(
            type_of(lhs), type_of(rhs), preferred_element_type=preferred_element_type, **params
        )
        wide = compute_dtype("cpu", lhs.dtype, rhs.dtype, out.dtype)
        lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
        x = np.transpose(lhs, lhs_spec).astype(wide)
        kernel = np.transpose(rhs, rhs_spec).astype(wide)
        window = Window(
            (1, 1, *kernel.shape[2:]),
            (1, 1, *params["window_strides"]),
            ((0, 0), (0, 0), *params["padding"]),
            (1, 1, *params["lhs_dilation"]),
            (1, 1, *params["rhs_dilation"]),
        )
        n = x.ndim
        views = windows_of(x, window, 0)[(slice(None),) * n + (0, 0)]
        features, batches = params["feature_group_count"], params["batch_group_count"]
        parts = []
        kernel_axes = [1, *range(2, n)]
        for group, k in enumerate(np.split(kernel, features * batches)):
            v = np.split(views, features, 1)[group] if features > 1 else views
            v = np.split(v, batches, 0)[group] if batches > 1 else v
            # [batch, feature, places, kernel] x [out, feature, kernel] -> [batch, places, out]
            y = np.tensordot(v, k, ([1, *range(n, 2 * n - 2)], kernel_axes))
            parts.append(np.moveaxis(y, -1, 1))
        y = np.concatenate(parts, 1)
        return np.transpose(y, np.argsort(out_spec)).astype(dtypes.storage(out.dtype))

    def jvp(self, xs, ts, **params):
        return product_jvp(self, xs, ts, params)

    def transpose(self, ct, lhs, rhs, **params):
        if isinstance(lhs, LinearOperand):
            return (_ct_lhs(ct, lhs, rhs, **params), None)
        return (None, _ct_rhs(ct, lhs, rhs, **params))

    def batch(self, frame, xs, mapped, *, dimension_numbers, **params):
        lhs, rhs = xs
        spec = dimension_numbers
        features, batches = params["feature_group_count"], params["batch_group_count"]
        groups = max(features, batches)
        size = frame.size
        n_batch, n_feature, n_out = spec.lhs_spec[0], spec.lhs_spec[1], spec.rhs_spec[0]
        if all(mapped):
            # Rows become groups: of the batch if it has groups already, else of the features.
            lhs = _merge(lhs, n_batch if batches > 1 else n_feature)
            rhs = _merge(rhs, n_out)
            name = "batch_group_count" if batches > 1 else "feature_group_count"
            params = {**params, name: size * params[name]}
            y = self.bind(lhs, rhs, dimension_numbers=spec, **params)
            return _unmerge(y, spec.out_spec[1], size), True
        if mapped[0]:
            lhs = _merge(lhs, n_batch, batches)
            y = self.bind(lhs, rhs, dimension_numbers=spec, **params)
            return _unmerge(y, spec.out_spec[0], size), True
        rhs = _merge(rhs, n_out, groups)
        y = self.bind(lhs, rhs, dimension_numbers=spec, **params)
        return _unmerge(y, spec.out_spec[1], size, groups), True

    def lower(self, b, lhs, rhs, *, precision, preferred_element_type, **params):
        (out,) = b.result_types
        if 0 in out.shape or 0 in lhs.shape or 0 in rhs.shape:
            return b.full(out.shape, 0, out.dtype)
        spec = params["dimension_numbers"]
        terms = rhs.type.size // rhs.shape[spec.rhs_spec[0]]
        wide = compute_dtype(b.platform, lhs.dtype, rhs.dtype, out.dtype, terms)
        carried = wide if b.platform == "cpu" or out.dtype in dtypes.BOOL else out.dtype
        conv = Conv(
            params["window_strides"],
            params["padding"],
            params["lhs_dilation"],
            params["rhs_dilation"],
            spec.lhs_spec,
            spec.rhs_spec,
            spec.out_spec,
            params["feature_group_count"],
            params["batch_group_count"],
            precision,
        )
        y = lower_convolution(
            b, b.convert(lhs, wide), b.convert(rhs, wide), out.shape, carried, conv
        )
        return to_result(b, y, out.dtype)

    def samples(self):
        def numbers(lhs: str, rhs: str, out: str) -> ConvDimensionNumbers:
            n = len(lhs)
            return conv_dimension_numbers((1,) * n, (1,) * n, (lhs, rhs, out))

        def case(spec: ConvDimensionNumbers, **changes: Any) -> dict[str, Any]:
            n = len(spec.lhs_spec) - 2
            return {
                "window_strides": (1,) * n,
                "padding": ((0, 0),) * n,
                "lhs_dilation": (1,) * n,
                "rhs_dilation": (1,) * n,
                "dimension_numbers": spec,
                "feature_group_count": 1,
                "batch_group_count": 1,
                "precision": None,
                "preferred_element_type": None,
                **changes,
            }

        nchw = numbers("NCHW", "OIHW", "NCHW")
        nhwc = numbers("NHWC", "HWIO", "NHWC")
        ncw = numbers("NCW", "OIW", "NCW")
        strided = {"window_strides": (2, 1), "padding": ((1, 2), (0, 1))}
        yield (real(2, 3, 5, 4), real(2, 3, 3, 2)), case(nchw, **strided)
        yield (real(2, 5, 4, 3), real(3, 2, 3, 2)), case(nhwc, **strided)
        odd = numbers("CWNH", "HOWI", "HNWC")
        dilated = {"lhs_dilation": (2, 1), "rhs_dilation": (1, 2), "padding": ((2, 0), (-1, 3))}
        yield (real(2, 5, 3, 4), real(2, 3, 2, 2)), case(odd, **dilated)
        grouped = {"feature_group_count": 2, "window_strides": (2,), "padding": ((1, 1),)}
        yield (real(2, 4, 6), real(6, 2, 3)), case(ncw, **grouped)
        batched = {"batch_group_count": 2, "window_strides": (2,), "padding": ((0, 1),)}
        yield (real(4, 3, 6), real(4, 3, 2)), case(ncw, **batched)
        depthwise = {"feature_group_count": 4, "padding": ((1, 1), (1, 1))}
        yield (real(2, 3, 3, 4), real(3, 3, 1, 4)), case(nhwc, **depthwise)
        yield (real(2, 3), real(4, 3)), case(numbers("NC", "OI", "NC"))
        yield (real(1, 2, 3, 4, 3), real(2, 2, 2, 1, 3)), case(numbers("NCHWD", "OIHWD", "NCHWD"))
        yield (complex_(1, 2, 4), complex_(2, 2, 2)), case(ncw)
        yield (integers(1, 2, 4), integers(2, 2, 2)), case(ncw)
        yield (real(0, 2, 4), real(2, 2, 2)), case(ncw)
        half = real(1, 2, 4).astype(np.float16), real(2, 2, 2).astype(np.float16)
        yield half, case(ncw, preferred_element_type=dtypes.float32)


conv_general_dilated_p = register(ConvGeneralDilated())


def out_shape(
    lhs: ArrayType,
    rhs: ArrayType,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> tuple[int, ...]:
    given: dict[str, Any] = {"lhs": lhs, "rhs": rhs, "dimension_numbers": dimension_numbers}
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise ShapeError("lhs and rhs have the same number of axes, at least 2", **given)
    for spec in dimension_numbers:
        if sorted(spec) != list(range(lhs.ndim)):
            raise ShapeError("dimension_numbers must name each axis once", **given)
    x = [lhs.shape[a] for a in dimension_numbers.lhs_spec]
    k = [rhs.shape[a] for a in dimension_numbers.rhs_spec]
    entries: dict[str, Any] = {
        "window_strides": window_strides,
        "padding": padding,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
    }
    check_spatial(None, lhs, rhs, **entries)
    for name, numbers in entries.items():
        if name != "padding" and any(n < 1 for n in numbers):
            shown = {**given, name: numbers}
            raise ShapeError(f"{name} must be at least 1", **shown)
    features, batches = feature_group_count, batch_group_count
    groups: dict[str, Any] = {"feature_group_count": features, "batch_group_count": batches}
    if features < 1 or batches < 1 or (features > 1 and batches > 1):
        raise ArgumentError("group counts are at least 1, and one of them is 1", **given, **groups)
    if k[1] * features != x[1]:
        raise ShapeError(
            f"lhs has {x[1]} features, but rhs takes {k[1]} in each of {features} groups",
            **given,
            **groups,
        )
    if k[0] % (features * batches) or x[0] % batches:
        raise ShapeError(
            f"the groups do not divide rhs's {k[0]} output features or lhs's batch of {x[0]}",
            **given,
            **groups,
        )
    window = Window(tuple(k[2:]), window_strides, padding, lhs_dilation, rhs_dilation)
    sizes = (x[0] // batches, k[0], *window.out_shape(x[2:]))
    out = [0] * lhs.ndim
    for axis, n in zip(dimension_numbers.out_spec, sizes, strict=True):
        out[axis] = n
    return tuple(out)


# --- axes that merge and part: groups


def _merge(x: Any, axis: int, groups: int = 1) -> Any:
    """x's first axis put into another (counted without the first), inside of its groups."""
    size, *shape = type_of(x).shape
    inner = shape[axis] // groups
    x = reshape(x, (size, *shape[:axis], groups, inner, *shape[axis + 1 :]))
    x = move_axis(x, 0, axis + 1)
    return reshape(x, (*shape[:axis], groups * size * inner, *shape[axis + 1 :]))


def _unmerge(x: Any, axis: int, size: int, groups: int = 1) -> Any:
    """The inverse of _merge, for an axis of any size."""
    shape = type_of(x).shape
    inner = shape[axis] // (groups * size)
    x = reshape(x, (*shape[:axis], groups, size, inner, *shape[axis + 1 :]))
    x = move_axis(x, axis + 1, 0)
    return reshape(x, (size, *shape[:axis], groups * inner, *shape[axis + 1 :]))


def _move_groups(x: Any, groups: int, source: int, target: int) -> Any:
    """Take the outer factor `groups` of an axis away and make it the outer factor of another."""
    return x if groups == 1 else _merge(_unmerge(x, source, groups), target)


# --- transposes
#
# Along one spatial axis, with n elements, base dilation b, stride s, kernel of K elements, window
# dilation d, padding (low, high) and m places,
#
#     out[o] = sum over k of lhs[i] * rhs[k]    with    i * b = o * s + k * d - low.
#
# Read for i, with the kernel reversed, this is a convolution of the cotangent with base dilation s,
# stride b and low padding (K - 1) * d - low. Read for k, it is a convolution of lhs with the
# cotangent as kernel: stride d, window dilation s. The high padding follows from the number of
# results, which must be n, or K.


def _ct_lhs(
    ct: Any,
    lhs: LinearOperand,
    rhs: Any,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count,
    batch_group_count,
    precision,
    preferred_element_type,
) -> Any:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    n_axes = len(lhs_spec)
    if 0 in lhs.shape or 0 in type_of(ct).shape or 0 in type_of(rhs).shape:
        return zeros_of(lhs.type)
    groups = max(feature_group_count, batch_group_count)
    pads = []
    for axis in range(2, n_axes):
        n, m = lhs.shape[lhs_spec[axis]], type_of(ct).shape[out_spec[axis]]
        reach = (type_of(rhs).shape[rhs_spec[axis]] - 1) * rhs_dilation[axis - 2]
        before = reach - padding[axis - 2][0]
        after = (n - 1) * lhs_dilation[axis - 2] + reach - before
        pads.append((before, after - (m - 1) * window_strides[axis - 2]))
    # Input and output features of the kernel change places, group by group.
    kernel = rev(_move_groups(rhs, groups, rhs_spec[0], rhs_spec[1]), rhs_spec[2:])
    y = _bind_same(
        ct,
        kernel,
        window_strides=lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(
            out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec
        ),
        feature_group_count=groups,
        batch_group_count=1,
        precision=precision,
        preferred_element_type=None,
    )
    y = _move_groups(y, batch_group_count, lhs_spec[1], lhs_spec[0])
    return convert_element_type(y, lhs.dtype)


def _ct_rhs(
    ct: Any,
    lhs: Any,
    rhs: LinearOperand,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count,
    batch_group_count,
    precision,
    preferred_element_type,
) -> Any:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if 0 in rhs.shape or 0 in type_of(ct).shape or 0 in type_of(lhs).shape:
        return zeros_of(rhs.type)
    pads = []
    for axis in range(2, len(lhs_spec)):
        n, m = type_of(lhs).shape[lhs_spec[axis]], type_of(ct).shape[out_spec[axis]]
        low = padding[axis - 2][0]
        reach = (rhs.shape[rhs_spec[axis]] - 1) * rhs_dilation[axis - 2]
        reach += (m - 1) * window_strides[axis - 2]
        pads.append((low, reach - low - (n - 1) * lhs_dilation[axis - 2]))
    # Batch and features change places: features in groups become a batch in groups, and back.
    y = _bind_same(
        lhs,
        ct,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            (lhs_spec[1], lhs_spec[0], *lhs_spec[2:]),
            (out_spec[1], out_spec[0], *out_spec[2:]),
            (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]),
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        precision=precision[::-1] if isinstance(precision, tuple) else precision,
        preferred_element_type=None,
    )
    return convert_element_type(y, rhs.dtype)


def _bind_same(lhs: Any, rhs: Any, **params: Any) -> Any:
    dtype = product_dtype(type_of(lhs).dtype, type_of(rhs).dtype)
    return conv_general_dilated_p.bind(
        convert_element_type(lhs, dtype), convert_element_type(rhs, dtype), **params
    )


# --- what users call


def check_spatial(op: str | None, lhs: ArrayType, rhs: ArrayType, **entries: Sequence[Any]) -> None:
    """Raise ShapeError unless sequences have an entry for each spatial axis of lhs."""
    n = lhs.ndim - 2
    for name, numbers in entries.items():
        if len(numbers) != n:
            given: dict[str, Any] = {"lhs": lhs, "rhs": rhs, name: tuple(numbers)}
            fix = several(n, "entry", "entries") if n else "an empty sequence"
            raise ShapeError(
                f"{name} needs an entry for each spatial axis", op=op, fix=fix, **given
            )


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """ConvDimensionNumbers from three strings like ("NHWC", "HWIO", "NHWC"); None is "NCHW...".

    N is the batch, C the feature, O and I the output and input features of the kernel; the other
    letters are spatial axes, which strides, padding and dilation count in the kernel's order.
    Raises: ArgumentTypeError, ShapeError.

    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    op = "conv_dimension_numbers"
    lhs_shape, rhs_shape = ints(lhs_shape, op, "lhs_shape"), ints(rhs_shape, op, "rhs_shape")
    ndim = len(lhs_shape)
    if len(rhs_shape) != ndim:
        raise ShapeError(
            "lhs and rhs have the same number of axes",
            op=op,
            lhs_shape=tuple(lhs_shape),
            rhs_shape=tuple(rhs_shape),
        )
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*(ints(spec, op, "spec") for spec in dimension_numbers))
    if dimension_numbers is None:
        same = tuple(range(ndim))
        return ConvDimensionNumbers(same, same, same)
    texts = dimension_numbers
    cure = "for example ('NHWC', 'HWIO', 'NHWC')"
    is_three = isinstance(texts, tuple | list) and len(texts) == 3
    if not is_three or not all(isinstance(t, str) for t in texts):
        raise ArgumentTypeError(
            "dimension_numbers is three strings, a ConvDimensionNumbers or None",
            op=op,
            dimension_numbers=texts,
            fix=cure,
        )
    spatial = [c for c in texts[1] if c not in "OI"]
    wanted = {*spatial}
    for text, first, second in zip(texts, "NON", "CIC", strict=True):
        letters = {first, second, *wanted}
        if len(text) != ndim or set(text) != letters or len(set(text)) != ndim:
            raise ArgumentTypeError(
                f"{text!r} must have {first}, {second} and each spatial letter of rhs once, "
                f"{ndim} letters in all",
                op=op,
                dimension_numbers=tuple(texts),
                fix=cure,
            )
    specs = (
        tuple(text.index(c) for c in (first, second, *spatial))
        for text, first, second in zip(texts, "NON", "CIC", strict=True)
    )
    return ConvDimensionNumbers(*specs)


def conv_general_permutations(dimension_numbers: Any) -> tuple[tuple[int, ...], ...]:
    """The permutations of lhs, rhs and out to (N, C, ...), (O, I, ...) and (N, C, ...).

    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    numbers = listed(dimension_numbers, "conv_general_permutations", "dimension_numbers")
    first = numbers[0] if numbers and isinstance(numbers[0], Sequence) else ()
    shape = (1,) * len(first)
    return tuple(conv_dimension_numbers(shape, shape, dimension_numbers))


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution of lhs with the kernel rhs, over any number of spatial axes.

    window_strides, padding, lhs_dilation and rhs_dilation have an entry for each spatial axis, in
    the kernel's order; padding is "SAME", "SAME_LOWER", "VALID" or a pair (low, high) for each.
    dimension_numbers names the axes, see conv_dimension_numbers: by default lhs is
    [batch, feature, ...], rhs [output feature, input feature, ...]. Dtypes as in dot_general, but
    both operands have one. The kernel is not flipped.
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> image, kernel = jnp.ones((1, 8, 8, 3)), jnp.ones((3, 3, 3, 16))
    >>> y = lax.conv_general_dilated(
    ...     image, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ... )
    >>> y.shape
    (1, 4, 4, 16)
    """
    op = "conv_general_dilated"
    left, right = type_of(lhs), type_of(rhs)
    spec = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    ones = (1,) * (left.ndim - 2)
    strides = ints(window_strides, op, "window_strides")
    base = ones if lhs_dilation is None else ints(lhs_dilation, op, "lhs_dilation")
    dilation = ones if rhs_dilation is None else ints(rhs_dilation, op, "rhs_dilation")
    if is_word(padding):
        if any(n > 1 for n in base):
            raise ArgumentError(
                "a word for the padding does not go with lhs_dilation",
                op=op,
                padding=padding,
                fix="give a pair (low, high) for each spatial axis, or use conv_transpose",
            )
        check_spatial(op, left, right, window_strides=strides, rhs_dilation=dilation)
        sizes = [left.shape[a] for a in spec.lhs_spec[2:]]
        kernel = [right.shape[a] for a in spec.rhs_spec[2:]]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        pairs = tuple(word_pads(sizes, reach, strides, padding, op))
    else:
        pairs = padding_pairs(padding, op)
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=pairs,
        lhs_dilation=base,
        rhs_dilation=dilation,
        dimension_numbers=spec,
        feature_group_count=static_int(feature_group_count, op, "feature_group_count"),
        batch_group_count=static_int(batch_group_count, op, "batch_group_count"),
        precision=canonical_precision(precision, op),
        preferred_element_type=preferred_dtype(preferred_element_type),
    )


def is_word(padding: Any) -> bool:
    """Whether padding is "SAME" or "VALID", as text or as an enum's member."""
    return isinstance(padding, str) or hasattr(padding, "name")


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution of lhs [batch, feature, ...] with rhs [output feature, input feature, ...].

    >>> x, kernel = jnp.array([[[1.0, 2.0, 3.0, 4.0]]]), jnp.array([[[1.0, -1.0]]])
    >>> lax.conv(x, kernel, (1,), "VALID")
    Array([[[-1., -1., -1.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """conv with dilation of both operands.

    >>> x, kernel = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[1.0, 1.0]]])
    >>> lax.conv_with_general_padding(x, kernel, (1,), [(1, 1)], None, (2,))
    Array([[[2., 4., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_permutations",
    "conv_with_general_padding",
]
