"""Recipes of plait.lax: reductions, running results, order, convolutions, windows and gathers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from plait import lax
from tests.drawn.common import Case, Draw, recipe

REDUCTIONS = {"reduce_sum": np.sum, "reduce_max": np.max, "reduce_min": np.min}
REDUCTIONS |= {"reduce_prod": np.prod}


def wrapped(y: Any, dtype: Any) -> Any:
    """Sums of 64 bits in a narrower dtype of integers; floats as they are."""
    return np.asarray(y).astype(dtype) if np.dtype(dtype).kind in "iu" else y


@recipe(*(f"lax.{name}" for name in REDUCTIONS))
def _reduce(name: str, d: Draw) -> Case:
    least = 0 if name in ("reduce_sum", "reduce_prod") else 1
    dtype = d.integer() if d.chance(0.3) else d.float()
    x = d.array(d.shape(smallest=least), dtype)
    axes = tuple(a % x.ndim for a in d.axes(x.ndim))

    def of(x, axes):
        return wrapped(REDUCTIONS[name](x, axis=axes), dtype)

    return Case((x, axes), of=of, dtype=dtype, loose=16.0)


BITS = {"reduce_and": np.bitwise_and, "reduce_or": np.bitwise_or, "reduce_xor": np.bitwise_xor}


@recipe(*(f"lax.{name}" for name in BITS))
def _reduce_bits(name: str, d: Draw) -> Case:
    x = d.array(d.shape(), d.one_of(np.bool_, np.int32, np.uint8, np.int8))
    axes = tuple(a % x.ndim for a in d.axes(x.ndim))

    def of(x, axes):
        return (
            wrapped(BITS[name].reduce(x, axis=axes), dtype)
            if dtype.kind != "b"
            else BITS[name].reduce(x, axis=axes)
        )

    dtype = x.dtype
    return Case((x, axes), of=of, dtype=dtype)


@recipe("lax.argmax", "lax.argmin")
def _argmax(name: str, d: Draw) -> Case:
    x = d.whole(d.shape(least=1, smallest=1), -2, 2).astype(d.float())
    if d.chance(0.2):
        x.flat[d.number(0, x.size - 1)] = np.nan
    axis, dtype = d.axis(x.ndim) % x.ndim, d.one_of(np.int32, np.uint8)
    return Case((x, axis, dtype), of=lambda x, axis, _: getattr(np, name)(x, axis), dtype=dtype)


CUMULATIVE = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}
CUMULATIVE |= {"cumlogsumexp": np.logaddexp}


@recipe(*(f"lax.{name}" for name in CUMULATIVE))
def _cumulative(name: str, d: Draw) -> Case:
    whole = d.chance(0.3) and name != "cumlogsumexp"
    x = d.array(d.shape(least=1), d.integer() if whole else d.float())
    kwargs = {"axis": d.axis(x.ndim) % x.ndim, "reverse": d.chance()}
    dtype = x.dtype

    def of(x, axis, reverse):
        x = np.flip(x, axis) if reverse else x
        y = wrapped(CUMULATIVE[name].accumulate(x, axis), dtype)
        return np.flip(y, axis) if reverse else y

    return Case((x,), kwargs, of=of, dtype=dtype, loose=16.0, floor=1.0)


# --- order


@recipe("lax.sort")
def _sort(d: Draw) -> Case:
    x = d.whole(d.shape(least=1), -3, 3).astype(d.integer() if d.chance(0.3) else d.float())
    if x.dtype.kind == "f" and x.size and d.chance(0.3):
        x.flat[0] = np.nan
    kwargs = {"dimension": d.axis(x.ndim), "is_stable": d.chance()}
    return Case(
        (x,), kwargs, of=lambda x, dimension, is_stable: np.sort(x, dimension), dtype=x.dtype
    )


@recipe("lax.sort_key_val")
def _sort_key_val(d: Draw) -> Case:
    keys = d.whole(d.shape(least=1), -3, 3).astype(d.float())
    values = d.array(keys.shape, np.int32)
    axis = d.axis(keys.ndim)

    def of(keys, values, dimension):
        order = np.argsort(keys, dimension, kind="stable")
        return tuple(np.take_along_axis(x, order, dimension) for x in (keys, values))

    return Case(
        (keys, values), {"dimension": axis}, of=of, dtype=[keys.dtype, np.int32], fixed=(0,)
    )


@recipe("lax.top_k")
def _top_k(d: Draw) -> Case:
    x = d.whole(d.shape(least=1, smallest=1), -3, 3).astype(
        d.integer() if d.chance(0.3) else d.float()
    )
    k = d.number(0, x.shape[-1])

    def of(x, k):
        order = np.argsort(-x, -1, kind="stable")[..., :k]
        return [np.take_along_axis(x, order, -1), order]

    return Case((x, k), of=of, dtype=[x.dtype, np.int32], fixed=(0,))


# --- windows and convolutions


def padded(x: np.ndarray, pads: Any, value: float) -> np.ndarray:
    return np.pad(x, pads, constant_values=value)


def spread(x: np.ndarray, first: int, factors: Any, value: float = 0.0) -> np.ndarray:
    """The elements of the axes from `first` on, with factor - 1 values between neighbours."""
    for axis, factor in enumerate(factors, first):
        shape = list(x.shape)
        shape[axis] = max((shape[axis] - 1) * factor + 1, 0)
        y = np.full(shape, value, x.dtype)
        y[(slice(None),) * axis + (slice(None, None, factor),)] = x
        x = y
    return x


@recipe("lax.conv_general_dilated")
def _conv(d: Draw) -> Case:
    n, groups = d.number(1, 2), d.number(1, 2)
    dtype = d.complex() if d.chance(0.1) else d.float()
    x = d.array((d.number(1, 2), 2 * groups, *(d.number(3, 6) for _ in range(n))), dtype)
    w = d.array((groups * d.number(1, 2), 2, *(d.number(1, 3) for _ in range(n))), dtype)
    strides = tuple(d.number(1, 2) for _ in range(n))
    pads = [(d.number(0, 2), d.number(0, 2)) for _ in range(n)]
    kwargs = {
        "lhs_dilation": tuple(d.number(1, 2) for _ in range(n)),
        "rhs_dilation": tuple(d.number(1, 2) for _ in range(n)),
        "feature_group_count": groups,
    }

    def of(x, w, lhs_dilation, rhs_dilation, feature_group_count):
        x, w = spread(x, 2, lhs_dilation), spread(w, 2, rhs_dilation)
        x = padded(x, [(0, 0), (0, 0), *pads], 0)
        sizes = [
            max((a - b) // s + 1, 0) if a >= b else 0
            for a, b, s in zip(x.shape[2:], w.shape[2:], strides, strict=True)
        ]
        y = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
        per = w.shape[0] // feature_group_count
        for o in range(w.shape[0]):
            group = slice(2 * (o // per), 2 * (o // per) + 2)
            for at in itertools.product(*map(range, sizes)):
                place = [
                    slice(i * s, i * s + m)
                    for i, s, m in zip(at, strides, w.shape[2:], strict=True)
                ]
                window = x[(slice(None), group, *place)]
                y[(slice(None), o, *at)] = (window * w[o]).reshape(len(x), -1).sum(1)
        return y

    def ours(x, w, **kwargs):
        return lax.conv_general_dilated(x, w, strides, pads, **kwargs)

    return Case((x, w), kwargs, function=ours, of=of, loose=16.0)


@recipe("lax.reduce_window")
def _reduce_window(d: Draw) -> Case:
    n = d.number(1, 3)
    x = d.array([d.number(1, 5) for _ in range(n)], d.float())
    size = tuple(d.number(1, 3) for _ in range(n))
    strides = tuple(d.number(1, 2) for _ in range(n))
    pads = [(d.number(0, 2), d.number(0, 2)) for _ in range(n)]
    how, of_window, start = d.one_of(
        (lax.add, np.sum, 0.0), (lax.max, np.max, -np.inf), (lax.min, np.min, np.inf)
    )

    def of(x):
        x = padded(x, pads, start)
        sizes = [max((a - b) // s + 1, 0) for a, b, s in zip(x.shape, size, strides, strict=True)]
        y = np.zeros(sizes)
        for at in itertools.product(*map(range, sizes)):
            y[at] = of_window(
                x[tuple(slice(i * s, i * s + m) for i, s, m in zip(at, strides, size, strict=True))]
            )
        return y

    def ours(x):
        return lax.reduce_window(x, np.asarray(start, x.dtype), how, size, strides, pads)

    return Case((x,), function=ours, of=of, dtype=x.dtype, loose=16.0)


@recipe("lax.pad")
def _pad(d: Draw) -> Case:
    x = d.array(d.shape(smallest=1), d.float())
    config = [(d.number(-1, 2), d.number(-1, 2), d.number(0, 1)) for _ in range(x.ndim)]

    def of(x, config):
        y = spread(x, 0, [inner + 1 for _, _, inner in config], 2.0)
        for axis, (low, high, _) in enumerate(config):
            y = padded(
                y,
                [(max(low, 0), max(high, 0)) if k == axis else (0, 0) for k in range(y.ndim)],
                2.0,
            )
            cut = slice(max(-low, 0), max(y.shape[axis] - max(-high, 0), max(-low, 0)))
            y = y[(slice(None),) * axis + (cut,)]
        return y

    if any(
        lo + hi + (n - 1) * (i + 1) + 1 < 0 for n, (lo, hi, i) in zip(x.shape, config, strict=True)
    ):
        config = [(0, 0, 0)] * x.ndim
    return Case(
        (x, config),
        function=lambda x, c: lax.pad(x, np.asarray(2, x.dtype), c),
        of=of,
        dtype=x.dtype,
    )


# --- parts at places


def started(start: Any, n: int, size: int) -> int:
    """Where a block of an axis of n begins: negative starts count from the end, as in JAX."""
    start = int(start) + (n if start < 0 else 0)
    return min(max(start, 0), n - size)


@recipe("lax.dynamic_slice")
def _dynamic_slice(d: Draw) -> Case:
    x = d.array(d.shape(smallest=1), d.float())
    sizes = tuple(d.number(0, n) for n in x.shape)
    starts = [d.whole((), -3, 5) for _ in x.shape]

    def of(x, starts, sizes):
        place = [started(s, n, m) for s, n, m in zip(starts, x.shape, sizes, strict=True)]
        return x[tuple(slice(p, p + m) for p, m in zip(place, sizes, strict=True))]

    return Case((x, starts, sizes), of=of, dtype=x.dtype)


@recipe("lax.dynamic_update_slice")
def _dynamic_update_slice(d: Draw) -> Case:
    x = d.array(d.shape(smallest=1), d.float())
    new = d.array([d.number(1, n) for n in x.shape], x.dtype)
    starts = [d.whole((), -3, 5) for _ in x.shape]

    def of(x, new, starts):
        y = np.array(x)
        place = [started(s, n, m) for s, n, m in zip(starts, x.shape, new.shape, strict=True)]
        y[tuple(slice(p, p + m) for p, m in zip(place, new.shape, strict=True))] = new
        return y

    return Case((x, new, starts), of=of, dtype=x.dtype)


@recipe("lax.gather")
def _gather(d: Draw) -> Case:
    """Windows of some axes at drawn indices: the other axes whole."""
    x = d.array((3, 4, 2)[: d.number(1, 3)], d.float())
    indexed = sorted({a % x.ndim for a in (*d.axes(x.ndim), 0)})
    outer = d.shape(most=2)
    indices = d.whole((*outer, len(indexed)), -2, 5)
    sizes = tuple(
        d.number(1, n) if k in indexed and d.chance() else (1 if k in indexed else n)
        for k, n in enumerate(x.shape)
    )
    collapsed = tuple(k for k in indexed if sizes[k] == 1 and d.chance())
    mode = d.one_of("clip", "fill")
    window = [m for k, m in enumerate(sizes) if k not in collapsed]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(len(outer), len(outer) + len(window))),
        collapsed_slice_dims=collapsed,
        start_index_map=tuple(indexed),
    )

    def of(x, indices):
        y = np.zeros((*outer, *window))
        for at in np.ndindex(*outer):
            place = [0] * x.ndim
            for k, axis in enumerate(indexed):
                place[axis] = int(indices[(*at, k)])
            limits = [n - m for n, m in zip(x.shape, sizes, strict=True)]
            inside = all(0 <= p <= top for p, top in zip(place, limits, strict=True))
            place = [min(max(p, 0), top) for p, top in zip(place, limits, strict=True)]
            part = x[tuple(slice(p, p + m) for p, m in zip(place, sizes, strict=True))]
            y[at] = part.reshape(window) if inside or mode == "clip" else np.nan
        return y

    def ours(x, indices):
        return lax.gather(x, indices, numbers, sizes, mode=mode)

    return Case((x, indices), function=ours, of=of, dtype=x.dtype)


@recipe("lax.dot_general")
def _dot_general(d: Draw) -> Case:
    dtype = d.integer() if d.chance(0.2) else d.inexact(half=True)
    batch, m, n, k = (d.number(0 if d.chance(0.1) else 1, 3) for _ in range(4))
    x, y = d.array((m, batch, k), dtype), d.array((batch, k, n), dtype)

    def of(x, y):
        return wrapped(np.einsum("mbk,bkn->bmn", x, y), dtype)

    numbers = (((2,), (1,)), ((1,), (0,)))
    return Case(
        (x, y), function=lambda x, y: lax.dot_general(x, y, numbers), of=of, dtype=dtype, loose=16.0
    )
