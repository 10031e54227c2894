"""Convolution in StableHLO, and in the forms that XLA:CPU computes fast.

XLA:CPU hands plain convolutions to Eigen and does the rest with scalar loops or masks. Measured on
2 cores, float32: 8 images of 56x56, a 1x1 kernel's gradient 36 ms, as a dot 5-10 ms; depthwise 3x3
over 128 features 62 ms, from shifted slices 3 ms; 8 images of 28x28, 128 features, the kernel's
gradient in 4 groups 355 ms, group by group 4 ms, in 32 groups 2,547 ms and 4 ms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.hlo.types import array_i64, dense_i64
from plait.ops.dot import dot_attributes, precision_text

# Kernels of more places than this are not unrolled.
_MANY = 64


class Conv(NamedTuple):
    """A convolution's numbers; the specs are those of ConvDimensionNumbers."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base: tuple[int, ...]
    dilation: tuple[int, ...]
    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]
    features: int
    batches: int
    precision: Any

    @property
    def spatial(self) -> int:
        return len(self.strides)


def lower_convolution(b: Any, lhs: Any, rhs: Any, shape: Sequence[int], dtype: Any, c: Conv) -> Any:
    """A convolution of operands in the dtype they are multiplied in; no size is 0."""
    if b.platform != "cpu":
        return _native(b, lhs, rhs, shape, dtype, c)
    if dtype in dtypes.COMPLEX:
        return _complex(b, lhs, rhs, shape, dtype, c)
    return _on_cpu(b, lhs, rhs, tuple(shape), dtype, c)


def _native(b: Any, lhs: Any, rhs: Any, shape: Sequence[int], dtype: Any, c: Conv) -> Any:
    def axes(spec: Sequence[int], first: str, second: str) -> str:
        names = [""] * len(spec)
        for k, axis in enumerate(spec):
            names[axis] = (first, second)[k] if k < 2 else str(k - 2)
        return f"[{', '.join(names)}]"

    numbers = (
        f"#stablehlo.conv<{axes(c.lhs_spec, 'b', 'f')}x{axes(c.rhs_spec, 'o', 'i')}"
        f"->{axes(c.out_spec, 'b', 'f')}>"
    )
    attributes = (
        f"batch_group_count = {c.batches} : i64, dimension_numbers = {numbers}, "
        f"feature_group_count = {c.features} : i64, "
        f"lhs_dilation = {array_i64(c.base)}, "
        f"padding = {dense_i64(np.asarray(c.padding, np.int64).reshape(-1, 2))}, "
        f"rhs_dilation = {array_i64(c.dilation)}, window_strides = {array_i64(c.strides)}"
    )
    result = ArrayType(shape, dtype)
    return b.op("convolution", (lhs, rhs), result, attributes + precision_text(c.precision))


def _complex(b: Any, lhs: Any, rhs: Any, shape: Sequence[int], dtype: Any, c: Conv) -> Any:
    part = dtypes.real_of(dtype)

    def parts(x: Any) -> tuple[Any, Any]:
        return b.unary("real", x, part), b.unary("imag", x, part)

    def real(x: Any, k: Any) -> Any:
        return _on_cpu(b, x, k, tuple(shape), part, c)

    (xr, xi), (kr, ki) = parts(lhs), parts(rhs)
    re = b.sub(real(xr, kr), real(xi, ki))
    im = b.add(real(xr, ki), real(xi, kr))
    return b.op("complex", (re, im), ArrayType(shape, dtype))


def _on_cpu(b: Any, lhs: Any, rhs: Any, shape: tuple[int, ...], dtype: Any, c: Conv) -> Any:
    if c.features == c.batches == 1:
        return _single(b, lhs, rhs, shape, dtype, c)
    kernel = math.prod(rhs.shape[a] for a in c.rhs_spec[2:])
    places = math.prod(shape[a] for a in c.out_spec[2:])
    if c.features > 1 and rhs.shape[c.rhs_spec[1]] == 1 and kernel <= _MANY:
        return b.isolated(lambda x, k: (_depthwise(b, x, k, c),), (lhs, rhs))[0]
    if c.batches > 1 and lhs.shape[c.lhs_spec[0]] == c.batches and places <= _MANY:
        return _depthwise_kernel(b, lhs, rhs, shape, c)
    return _group_by_group(b, lhs, rhs, shape, dtype, c)


def _single(b: Any, lhs: Any, rhs: Any, shape: tuple[int, ...], dtype: Any, c: Conv) -> Any:
    kernel = [rhs.shape[a] for a in c.rhs_spec[2:]]
    places = [shape[a] for a in c.out_spec[2:]]
    plain = all(d == 1 for d in c.base)
    if all(k == 1 for k in kernel):
        if plain:
            seen = _strided(b, lhs, c, places, c.strides)
            return _pointwise(b, seen, rhs, dtype, c)
        if all(s == 1 for s in c.strides):
            # Zeros between and around the elements stay zeros.
            y = _pointwise(b, lhs, rhs, dtype, c)
            low, high, interior = [0] * y.ndim, [0] * y.ndim, [0] * y.ndim
            for k, axis in enumerate(c.out_spec[2:]):
                low[axis], high[axis] = c.padding[k]
                interior[axis] = c.base[k] - 1
            return b.pad(y, b.constant(np.zeros((), dtype), dtype), low, high, interior)
    elif plain and all(m == 1 for m in places):
        seen = _strided(b, lhs, c, kernel, c.dilation)
        return _one_place(b, seen, rhs, shape, dtype, c)
    return _native(b, lhs, rhs, shape, dtype, c)


def _padded(b: Any, lhs: Any, c: Conv) -> Any:
    """lhs with its padding and base dilation."""
    low, high, interior = [0] * lhs.ndim, [0] * lhs.ndim, [0] * lhs.ndim
    for k, axis in enumerate(c.lhs_spec[2:]):
        low[axis], high[axis] = c.padding[k]
        interior[axis] = c.base[k] - 1
    if not any(low) and not any(high) and not any(interior):
        return lhs
    return b.pad(lhs, b.constant(np.zeros((), lhs.dtype), lhs.dtype), low, high, interior)


def _strided(b: Any, lhs: Any, c: Conv, counts: Sequence[int], steps: Sequence[int]) -> Any:
    """The given number of padded elements along each spatial axis, some steps apart."""
    x = _padded(b, lhs, c)
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for axis, n, s in zip(c.lhs_spec[2:], counts, steps, strict=True):
        limit[axis], strides[axis] = (n - 1) * s + 1, s
    if limit == list(x.shape) and all(s == 1 for s in strides):
        return x
    return b.slice(x, start, limit, strides)


def _dot(
    b: Any,
    lhs: Any,
    rhs: Any,
    contracted: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
    dtype: Any,
) -> Any:
    (lc, rc), (lb, rb) = contracted, batch
    shape = [lhs.shape[a] for a in lb]
    shape += [n for k, n in enumerate(lhs.shape) if k not in (*lc, *lb)]
    shape += [n for k, n in enumerate(rhs.shape) if k not in (*rc, *rb)]
    attributes = dot_attributes((contracted, batch), None)
    return b.op("dot_general", (lhs, rhs), ArrayType(shape, dtype), attributes)


def _arrange(b: Any, x: Any, have: Sequence[Any], want: Sequence[Any]) -> Any:
    """x, whose axes are named in `have`, with its axes in the order `want`."""
    order = [have.index(name) for name in want]
    return x if order == list(range(x.ndim)) else b.transpose(x, order)


def _names(spec: Sequence[int], first: str, second: str) -> list[Any]:
    """The name of each axis: two letters, and the number of the spatial axis."""
    names: list[Any] = [None] * len(spec)
    for k, axis in enumerate(spec):
        names[axis] = (first, second)[k] if k < 2 else k - 2
    return names


def _pointwise(b: Any, lhs: Any, rhs: Any, dtype: Any, c: Conv) -> Any:
    """A kernel of one place, as a matrix product over the features."""
    have, want = _names(c.lhs_spec, "n", "i"), _names(c.out_spec, "n", "o")
    kernel = _arrange(b, rhs, _names(c.rhs_spec, "o", "i"), ["o", "i", *range(c.spatial)])
    kernel = b.reshape(kernel, kernel.shape[:2])
    n, size = lhs.shape[c.lhs_spec[0]], math.prod(lhs.shape[a] for a in c.lhs_spec[2:])
    if (
        have[:2] == ["n", "i"]
        and want[:2] == ["n", "o"]
        and have[2:] == want[2:]
        and (n == 1 or kernel.shape[1] <= size)
    ):
        # Features before places: one product an image, so that nothing has to be transposed.
        flat = b.reshape(lhs, (*lhs.shape[:2], size))
        many = b.broadcast_in_dim(kernel, (n, *kernel.shape), (1, 2))
        y = _dot(b, many, flat, ((2,), (1,)), ((0,), (0,)), dtype)
        return b.reshape(y, (*y.shape[:2], *lhs.shape[2:]))
    y = _dot(b, lhs, kernel, ((c.lhs_spec[1],), (1,)), ((), ()), dtype)
    return _arrange(b, y, [*(a for a in have if a != "i"), "o"], want)


def _one_place(b: Any, lhs: Any, rhs: Any, shape: tuple[int, ...], dtype: Any, c: Conv) -> Any:
    """A result of one place, as a matrix product over features and places."""
    y = _dot(b, lhs, rhs, (c.lhs_spec[1:], c.rhs_spec[1:]), ((), ()), dtype)
    if c.out_spec[0] > c.out_spec[1]:
        y = b.transpose(y, (1, 0))
    return b.reshape(y, shape)


def _depthwise(b: Any, lhs: Any, rhs: Any, c: Conv) -> Any:
    """One input feature a group: the sum of shifted images times one number a feature."""
    feature, groups = c.lhs_spec[1], c.features
    times = rhs.shape[c.rhs_spec[0]] // groups
    x = _padded(b, lhs, c)
    kernel = _arrange(b, rhs, _names(c.rhs_spec, "o", "i"), [*range(c.spatial), "o", "i"])
    sizes = kernel.shape[: c.spatial]
    total: Any = None
    for place in itertools.product(*map(range, sizes)):
        start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for k, axis in enumerate(c.lhs_spec[2:]):
            reach = (sizes[k] - 1) * c.dilation[k]
            count = (x.shape[axis] - reach - 1) // c.strides[k] + 1
            start[axis] = place[k] * c.dilation[k]
            limit[axis] = start[axis] + (count - 1) * c.strides[k] + 1
            strides[axis] = c.strides[k]
        part = b.slice(x, start, limit, strides)
        one = b.slice(kernel, (*place, 0, 0), (*(p + 1 for p in place), *kernel.shape[-2:]))
        one = b.reshape(one, (groups, times))
        grid = [*part.shape[:feature], groups, times, *part.shape[feature + 1 :]]
        part = b.broadcast_in_dim(part, grid, [k for k in range(len(grid)) if k != feature + 1])
        part = b.mul(part, b.broadcast_in_dim(one, grid, (feature, feature + 1)))
        total = part if total is None else b.add(total, part)
    shape = [*total.shape[:feature], groups * times, *total.shape[feature + 2 :]]
    total = b.reshape(total, shape)
    return _arrange(b, total, _names(c.lhs_spec, "n", "o"), _names(c.out_spec, "n", "o"))


def _depthwise_kernel(b: Any, lhs: Any, rhs: Any, shape: tuple[int, ...], c: Conv) -> Any:
    """One batch entry a group, few places: what the gradient of a depthwise kernel is.

    For each place, the sum over features and kernel places of lhs times rhs, in a loop: XLA would
    merge the sums of several places into one scalar loop.
    """
    group_axis = c.lhs_spec[0]
    groups, times = c.batches, rhs.shape[c.rhs_spec[0]] // c.batches
    (x,) = b.isolated(lambda v: (_padded(b, v, c),), (lhs,))
    letters = _names(c.lhs_spec, "o", "i")
    kernel = _arrange(b, rhs, _names(c.rhs_spec, "o", "i"), letters)
    split = [*kernel.shape[:group_axis], groups, times, *kernel.shape[group_axis + 1 :]]
    kernel = b.reshape(kernel, split)
    spatial = [a + (a > group_axis) for a in c.lhs_spec[2:]]
    summed = [k for k in range(len(split)) if k not in (group_axis, group_axis + 1)]
    places = [shape[a] for a in c.out_spec[2:]]
    count = math.prod(places)
    reach, strides = list(x.shape), [1] * x.ndim
    for k, axis in enumerate(c.lhs_spec[2:]):
        size = rhs.shape[c.rhs_spec[2 + k]]
        reach[axis], strides[axis] = (size - 1) * c.dilation[k] + 1, c.dilation[k]
    assert len(spatial) == c.spatial
    zero, one = b.constant(np.int32(0)), b.constant(np.int32(1))
    limit = b.constant(np.int32(count))

    def body(k: Any, out: Any) -> Sequence[Any]:
        starts, rest = [zero] * x.ndim, k
        for axis, n, step in reversed(list(zip(c.lhs_spec[2:], places, c.strides, strict=True))):
            size = b.constant(np.int32(n))
            place = b.binary("remainder", rest, size)
            rest = b.binary("divide", rest, size)
            starts[axis] = b.mul(place, b.constant(np.int32(step)))
        part = b.dynamic_slice(x, starts, reach)
        part = b.slice(part, [0] * x.ndim, reach, strides)
        part = b.broadcast_in_dim(part, split, [a + (a > group_axis) for a in range(x.ndim)])
        product = b.mul(part, kernel)
        start = b.constant(np.zeros((), product.dtype), product.dtype)
        (y,) = b.reduce([product], [start], summed, lambda u, v: (b.add(u, v),))
        out = b.dynamic_update_slice(out, b.reshape(y, (1, groups * times)), (k, zero))
        return b.add(k, one), out

    init = b.full((count, groups * times), 0, lhs.dtype)
    _, out = b.while_((zero, init), lambda k, _: b.compare("LT", k, limit), body)
    out = b.reshape(out, (*places, groups * times, 1))
    return _arrange(b, out, [*range(c.spatial), "o", "n"], _names(c.out_spec, "n", "o"))


def _group_by_group(b: Any, lhs: Any, rhs: Any, shape: tuple[int, ...], dtype: Any, c: Conv) -> Any:
    """A loop over the groups, each a convolution in the layout that Eigen takes as it is."""
    groups = max(c.features, c.batches)
    places = tuple(range(c.spatial))

    def grouped(x: Any, axis: int, names: list[Any], want: Sequence[Any]) -> Any:
        split = [*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :]]
        named = [*names[:axis], "g", *names[axis:]]
        return _arrange(b, b.reshape(x, split), named, want)

    source = c.lhs_spec[1] if c.features > 1 else c.lhs_spec[0]
    x = grouped(lhs, source, _names(c.lhs_spec, "n", "i"), ["g", "n", *places, "i"])
    kernel = grouped(rhs, c.rhs_spec[0], _names(c.rhs_spec, "o", "i"), ["g", *places, "i", "o"])
    last = c.spatial + 1
    alone = c._replace(
        lhs_spec=(0, last, *range(1, last)),
        rhs_spec=(last, last - 1, *range(last - 1)),
        out_spec=(0, last, *range(1, last)),
        features=1,
        batches=1,
    )
    each = [shape[a] for a in (c.out_spec[0], *c.out_spec[2:], c.out_spec[1])]
    each[-1] //= groups
    zero, one = b.constant(np.int32(0)), b.constant(np.int32(1))
    limit = b.constant(np.int32(groups))

    def body(g: Any, out: Any) -> Sequence[Any]:
        def pick(v: Any) -> Any:
            sizes = (1, *v.shape[1:])
            part = b.dynamic_slice(v, (g, *[zero] * (v.ndim - 1)), sizes)
            return b.reshape(part, v.shape[1:])

        y = _single(b, pick(x), pick(kernel), tuple(each), dtype, alone)
        y = b.reshape(y, (1, *each))
        return b.add(g, one), b.dynamic_update_slice(out, y, (g, *[zero] * len(each)))

    init = b.full((groups, *each), 0, dtype)
    _, out = b.while_((zero, init), lambda g, _: b.compare("LT", g, limit), body)
    want: list[Any] = []
    for name in _names(c.out_spec, "n", "o"):
        want += ["g", "o"] if name == "o" else [name]
    return b.reshape(_arrange(b, out, ["g", "n", *places, "o"], want), shape)
