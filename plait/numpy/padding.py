"""pad, in all of NumPy's modes."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core.dtypes import INTEGER
from plait.core.plain import is_one_of
from plait.errors import ArgumentError, ShapeError, UnsupportedError, describe, several
from plait.numpy import reduction, ufuncs
from plait.numpy.parts import floor, rint
from plait.numpy.promotion import astype, is_traced_or_device, known, static_int, value, weakly
from plait.numpy.statistics import median
from plait.ops import axes as ops
from plait.ops import slices
from plait.ops.iota import iota_p

Pairs = list[tuple[int, int]]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """`array` made longer along its axes.

    pad_width: n, (before, after), one such pair for each axis, or a dict from axes to them. Modes:
    "constant" (constant_values), "edge", "reflect", "symmetric" (reflect_type "even" or "odd"),
    "wrap", "linear_ramp" (end_values), "maximum", "minimum", "mean", "median" (stat_length),
    "empty", or a function (vector, (before, after), axis, kwargs) -> vector.

    >>> jnp.pad(jnp.array([1, 2, 3]), (1, 2)), jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
    (Array([0, 1, 2, 3, 0, 0], dtype=int32), Array([3, 2, 1, 2, 3, 2, 1], dtype=int32))
    """
    array = value("pad", array)
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    allowed = {
        "constant": ("constant_values",),
        "linear_ramp": ("end_values",),
        "reflect": ("reflect_type",),
        "symmetric": ("reflect_type",),
        "maximum": ("stat_length",),
        "minimum": ("stat_length",),
        "mean": ("stat_length",),
        "median": ("stat_length",),
        "edge": (),
        "wrap": (),
        "empty": (),
    }
    if not is_one_of(mode, allowed):
        fix = f"one of {list(allowed)}"
        raise UnsupportedError(f"there is no mode {describe(mode)!r}", op="pad", fix=fix)
    unknown = set(kwargs) - set(allowed[mode])
    if unknown:
        fix = f"it takes {', '.join(allowed[mode]) or 'nothing else'}"
        raise ArgumentError(f"mode {mode!r} does not take {sorted(unknown)}", op="pad", fix=fix)
    return weakly(_padded(array, widths, mode, kwargs), array.type.weak_type)


def _padded(array: Any, widths: Pairs, mode: str, kwargs: dict[str, Any]) -> Any:
    if mode == "constant":
        return _constant(array, widths, kwargs.get("constant_values", 0))
    if mode == "empty":
        return _constant(array, widths, 0)
    if mode == "linear_ramp":
        return _ramp(array, widths, kwargs.get("end_values", 0))
    if mode in ("reflect", "symmetric"):
        return _mirrored(array, widths, mode, kwargs.get("reflect_type", "even"))
    if mode == "wrap":
        return _wrapped(array, widths)
    if mode == "edge":
        return _edge(array, widths)
    return _statistic(array, widths, mode, kwargs.get("stat_length"))


def _widths(pad_width: Any, ndim: int) -> Pairs:
    if isinstance(pad_width, dict):
        pairs: Pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            k = ops.normalise_axis(axis, ndim, "pad")
            low, high = (width, width) if isinstance(width, int) else width
            pairs[k] = (low, high)
        return pairs
    if is_traced_or_device(pad_width):
        host = known(pad_width)
        if host is None:
            static_int(pad_width, "pad", "pad_width")
        pad_width = host
    pairs = _pairs("pad_width", pad_width, ndim)
    found = [
        (static_int(a, "pad", "pad_width"), static_int(b, "pad", "pad_width")) for a, b in pairs
    ]
    if any(n < 0 for pair in found for n in pair):
        raise ArgumentError("widths are at least 0", op="pad", pad_width=pad_width)
    return found


def _pairs(name: str, given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """(before, after) for each axis, from the short forms that NumPy takes."""
    if is_traced_or_device(given) and given.ndim:
        from plait.numpy.manipulation import rows

        given = list(rows(given))
    elif isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        return [(given, given)] * ndim
    items = [
        list(i)
        if isinstance(i, list | tuple)
        else i
        if not is_traced_or_device(i) or not i.ndim
        else [i[k] for k in range(i.shape[0])]
        for i in given
    ]
    if not any(isinstance(i, list) for i in items):
        if len(items) == 1:
            return [(items[0], items[0])] * ndim
        if len(items) == 2:
            return [(items[0], items[1])] * ndim
        if len(items) == ndim:
            return [(i, i) for i in items]
    elif all(isinstance(i, list) for i in items):
        pairs = [(i[0], i[-1]) for i in items if len(i) in (1, 2)]
        if len({len(i) for i in items}) == 1 and len(pairs) in (1, ndim):
            return pairs * ndim if len(pairs) == 1 else pairs
    raise ShapeError(
        f"{name} is a number, a pair, or a pair for each of {several(ndim, 'axis', 'axes')}",
        op="pad",
        **dict[str, Any]({name: given}),
    )


def _constant(x: Any, widths: Pairs, values: Any) -> Any:
    fills = _pairs("constant_values", values, x.ndim)
    first = fills[0][0] if fills else 0
    if builtins.all(a is first and b is first for a, b in fills):
        config = [(a, b, 0) for a, b in widths]
        return slices.pad(x, _scalar(first, x), config) if config else x
    for axis, ((before, after), (a, b)) in enumerate(zip(widths, fills, strict=True)):
        for fill, low, high in ((a, before, 0), (b, 0, after)):
            config = [(0, 0, 0)] * x.ndim
            config[axis] = (low, high, 0)
            x = slices.pad(x, _scalar(fill, x), config) if low or high else x
    return x


def _scalar(fill: Any, x: Any) -> Any:
    fill = astype(value("pad", fill), x.dtype) if is_traced_or_device(fill) else fill
    return fill if is_traced_or_device(fill) else np.asarray(fill).astype(x.dtype)


def _joined(parts: list[Any], axis: int) -> Any:
    parts = [p for p in parts if p.shape[axis]]
    return parts[0] if len(parts) == 1 else slices.concatenate_p.bind(*parts, axis=axis)


def _stretched(part: Any, axis: int, n: int) -> Any:
    """A slice of size 1 along an axis, repeated n times."""
    return ops.broadcast_to(part, (*part.shape[:axis], n, *part.shape[axis + 1 :]))


def _not_empty(x: Any, axis: int) -> None:
    if not x.shape[axis]:
        raise ShapeError("an axis without elements can only be padded by a constant", op="pad", x=x)


def _each_axis(x: Any, widths: Pairs, parts: Callable[[Any, int, int, int], list[Any]]) -> Any:
    for axis, (before, after) in enumerate(widths):
        if before or after:
            _not_empty(x, axis)
            x = _joined(parts(x, axis, before, after), axis)
    return x


def _edge(x: Any, widths: Pairs) -> Any:
    def parts(x: Any, axis: int, before: int, after: int) -> list[Any]:
        first = slices.slice_in_dim(x, 0, 1, axis=axis)
        last = slices.slice_in_dim(x, -1, None, axis=axis)
        return [_stretched(first, axis, before), x, _stretched(last, axis, after)]

    return _each_axis(x, widths, parts)


def _wrapped(x: Any, widths: Pairs) -> Any:
    def parts(x: Any, axis: int, before: int, after: int) -> list[Any]:
        n = x.shape[axis]
        times = -(-before // n) + 1 + -(-after // n)
        reps = [times if k == axis else 1 for k in range(x.ndim)]
        start = -before % n
        whole = slices.tile(x, reps)
        return [slices.slice_in_dim(whole, start, start + before + n + after, axis=axis)]

    return _each_axis(x, widths, parts)


def _mirrored(x: Any, widths: Pairs, mode: str, kind: str) -> Any:
    if kind not in ("even", "odd"):
        raise ArgumentError("reflect_type is 'even' or 'odd'", op="pad", reflect_type=kind)
    skip = 1 if mode == "reflect" else 0

    def parts(x: Any, axis: int, before: int, after: int) -> list[Any]:
        if x.shape[axis] == 1 and skip:
            first = slices.slice_in_dim(x, 0, 1, axis=axis)
            return [_stretched(first, axis, before), x, _stretched(first, axis, after)]
        # Each round mirrors at most what is there; long pads need several.
        period = x.shape[axis] - skip
        while before or after:
            n = x.shape[axis]
            left, right = builtins.min(before, n - skip), builtins.min(after, n - skip)
            if kind == "odd" or n > period + skip:
                left, right = builtins.min(left, period), builtins.min(right, period)
            low = ops.rev(slices.slice_in_dim(x, skip, skip + left, axis=axis), (axis,))
            high = slices.slice_in_dim(x, n - skip - right, n - skip, axis=axis)
            high = ops.rev(high, (axis,))
            if kind == "odd":
                first = slices.slice_in_dim(x, 0, 1, axis=axis)
                last = slices.slice_in_dim(x, -1, None, axis=axis)
                low = ufuncs.subtract(ufuncs.multiply(2, first), low)
                high = ufuncs.subtract(ufuncs.multiply(2, last), high)
            x = _joined([low, x, high], axis)
            before, after = before - left, after - right
        return [x]

    return _each_axis(x, widths, parts)


def _ramp(x: Any, widths: Pairs, ends: Any) -> Any:
    values = _pairs("end_values", ends, x.ndim)
    for axis, ((before, after), (a, b)) in enumerate(zip(widths, values, strict=True)):
        if not before and not after:
            continue
        _not_empty(x, axis)
        first = slices.slice_in_dim(x, 0, 1, axis=axis)
        last = slices.slice_in_dim(x, -1, None, axis=axis)
        parts = [_slope(a, first, axis, before, False), x, _slope(b, last, axis, after, True)]
        x = _joined(parts, axis)
    return x


def _slope(end: Any, edge: Any, axis: int, n: int, falling: bool) -> Any:
    """`n` values from end to the edge, which is left out; or from the edge to end."""
    shape = tuple(n if k == axis else 1 for k in range(edge.ndim))
    work = np.dtype(np.float32) if edge.dtype in INTEGER else edge.dtype
    steps = astype(iota_p.bind(shape=shape, dtype=np.dtype(np.int32), axis=axis), work)
    if falling:
        steps = ufuncs.subtract(n - 1, steps)
    start = astype(value("pad", end), work)
    gap = ufuncs.subtract(astype(edge, work), start)
    slope = ufuncs.add(start, ufuncs.multiply(steps, ufuncs.true_divide(gap, builtins.max(n, 1))))
    return astype(floor(slope) if edge.dtype in INTEGER else slope, edge.dtype)


def _statistic(x: Any, widths: Pairs, mode: str, lengths: Any) -> Any:
    function = {
        "maximum": reduction.max,
        "minimum": reduction.min,
        "mean": reduction.mean,
        "median": median,
    }[mode]
    spans = _pairs("stat_length", lengths, x.ndim)

    def measure(part: Any, axis: int) -> Any:
        y = function(part, axis, keepdims=True)
        if x.dtype in INTEGER and y.dtype not in INTEGER:
            y = rint(y)
        return astype(y, x.dtype)

    for axis, ((before, after), (a, b)) in enumerate(zip(widths, spans, strict=True)):
        if not before and not after:
            continue
        _not_empty(x, axis)
        n = x.shape[axis]
        a, b = (
            n if s is None else builtins.min(static_int(s, "pad", "stat_length"), n) for s in (a, b)
        )
        if a < 1 or b < 1:
            raise ArgumentError("stat_length is at least 1", op="pad", stat_length=lengths)
        low = measure(slices.slice_in_dim(x, 0, a, axis=axis), axis)
        high = measure(slices.slice_in_dim(x, n - b, n, axis=axis), axis)
        x = _joined([_stretched(low, axis, before), x, _stretched(high, axis, after)], axis)
    return x


def _by_function(x: Any, widths: Pairs, function: Callable[..., Any], kwargs: dict) -> Any:
    from plait.numpy.functional import apply_along_axis

    x = _constant(x, widths, 0)
    for axis, width in enumerate(widths):

        def on_vector(v: Any, axis: int = axis, width: tuple[int, int] = width) -> Any:
            return function(v, width, axis, kwargs)

        x = apply_along_axis(on_vector, axis, x)
    return x


__all__ = ["pad"]
