"""Reductions over sliding windows: sum, max, min, and any computation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Linear, Primitive, register, zeros_of
from plait.core.program import reference
from plait.core.sample import booleans, integers, real
from plait.core.types import type_of
from plait.errors import DtypeError
from plait.hlo.module import lower_program
from plait.interpreters.batch import batch
from plait.interpreters.jvp import jvp
from plait.ops import compare
from plait.ops.arithmetic import mul
from plait.ops.axes import broadcast_in_dim, reshape
from plait.ops.reduce import (
    check_computation,
    flat_computation,
    halves,
    highest,
    is_identity,
    lowest,
    monoid_of,
    reduce_p,
    scalar_program,
)
from plait.ops.slices import add_rows, concatenate, pad, slice_p
from plait.ops.window_choice import chosen_tangent
from plait.ops.window_shape import Window, make_window, window_count, windows_of

# Windows up to this many elements are combined from shifted slices, which fuse with what uses them.
_FEW = 4
# Along one axis, windows that overlap more than this are made from windows of windows.
_DEEP = 24


class _WindowReduction(Primitive):
    accepts: frozenset = dtypes.REAL
    hlo = ""
    # Whether combining an element twice changes nothing.
    idempotent = True

    def identity(self, dtype: Any) -> Any:
        raise NotImplementedError

    def type(self, x, *, window):
        window.check(x)
        if x.dtype not in self.accepts:
            raise DtypeError(f"takes {dtypes.names_of(self.accepts)} operands", x=x)
        return x.with_shape(window.out_shape(x.shape))

    def batch(self, frame, xs, mapped, *, window):
        return self.bind(xs[0], window=window.with_batch()), True

    def lower(self, b, x, *, window):
        (out,) = b.result_types
        narrow = x.dtype in dtypes.FLOAT and x.dtype.itemsize <= 2 and not self.idempotent
        wide = b.convert(x, dtypes.float32) if narrow else x
        if 0 in out.shape or 0 in x.shape:
            y = b.full(out.shape, self.identity(wide.dtype), wide.dtype)
        elif b.platform != "cpu":
            y = self._native(b, wide, window)
        else:
            y = self._by_axis(b, wide, window)
        return b.convert(y, x.dtype)

    def _combine(self, b: Any, x: Any, y: Any) -> Any:
        return b.binary(self.hlo, x, y)

    def _native(self, b: Any, x: Any, window: Window) -> Any:
        init = b.constant(self.identity(x.dtype), x.dtype)
        shape = window.out_shape(x.shape)
        return window.reduce(b, (x,), (init,), shape, lambda a, c: (self._combine(b, a, c),))[0]

    def _by_axis(self, b: Any, x: Any, window: Window) -> Any:
        """One axis after the other: w1 + w2 steps an element instead of w1 * w2.

        Measured on 2 cores, 6.4 million floats, windows 3x3, stride 1: 26 ms at once, 3-6 ms by
        axis; windows 2x2, stride 2: 5.4 ms (NCHW) at once, 0.5 ms by slices.
        """
        if window.count <= _FEW and all(d == 1 for d in window.base):
            return self._slices(b, x, window)
        for axis in range(x.ndim):
            if (
                window.size[axis] > 1
                or x.shape[axis] != window.out_shape(x.shape)[axis]
                or (window.padding[axis] != (0, 0))
            ):
                x = self._along(b, x, window.on_axis(axis), axis)
        return x

    def _along(self, b: Any, x: Any, window: Window, axis: int) -> Any:
        size, dilation = window.size[axis], window.dilation[axis]
        stride, base = window.strides[axis], window.base[axis]
        if base > 1 and stride == 1 and dilation == 1 and not self.idempotent:
            terms = -(-size // base)
            if terms <= _FEW:
                return self._spread(b, x, window, axis)
        if size <= _FEW // 2 and base == 1:
            return self._slices(b, x, window)
        if size // stride <= _DEEP or base > 1:
            return self._native(b, x, window)
        # Windows of `part` elements, then windows of these: part + size / part steps an element.
        part = int(np.sqrt(size))
        whole, left = divmod(size, part)

        def one_axis(n: int, s: int, pads: tuple[int, int], d: int) -> Window:
            ones = (1,) * x.ndim
            window_ = Window(
                tuple(n if k == axis else 1 for k in range(x.ndim)),
                tuple(s if k == axis else 1 for k in range(x.ndim)),
                tuple(pads if k == axis else (0, 0) for k in range(x.ndim)),
                ones,
                tuple(d if k == axis else 1 for k in range(x.ndim)),
            )
            return window_

        low, high = window.padding[axis]
        x = self._padded(b, x, axis, low, high)
        count = window_count(x.shape[axis], size, stride, (0, 0), 1, dilation)
        parts = self._native(b, x, one_axis(part, 1, (0, 0), dilation))
        reach = (count - 1) * stride + (whole - 1) * part * dilation + 1
        used = b.slice(parts, *self._range(parts, axis, 0, reach))
        y = self._along(b, used, one_axis(whole, stride, (0, 0), part * dilation), axis)
        if left:
            start = whole * part * dilation
            reach = (count - 1) * stride + (left - 1) * dilation + 1
            rest = b.slice(x, *self._range(x, axis, start, start + reach))
            y = self._combine(
                b, y, self._along(b, rest, one_axis(left, stride, (0, 0), dilation), axis)
            )
        return y

    @staticmethod
    def _range(x: Any, axis: int, start: int, limit: int) -> tuple[list[int], list[int]]:
        starts, limits = [0] * x.ndim, list(x.shape)
        starts[axis], limits[axis] = start, limit
        return starts, limits

    def _padded(self, b: Any, x: Any, axis: int, low: int, high: int) -> Any:
        if not low and not high:
            return x
        lows, highs = [0] * x.ndim, [0] * x.ndim
        lows[axis], highs[axis] = low, high
        fill = b.constant(self.identity(x.dtype), x.dtype)
        return b.pad(x, fill, lows, highs, [0] * x.ndim)

    def _slices(self, b: Any, x: Any, window: Window) -> Any:
        out = window.out_shape(x.shape)
        low, high = zip(*window.padding, strict=True) if window.padding else ((), ())
        if any(low) or any(high):
            fill = b.constant(self.identity(x.dtype), x.dtype)
            x = b.pad(x, fill, low, high, (0,) * x.ndim)
        total = None
        for place in itertools.product(*map(range, window.size)):
            start = [k * d for k, d in zip(place, window.dilation, strict=True)]
            limit = [
                a + (n - 1) * s + 1 for a, n, s in zip(start, out, window.strides, strict=True)
            ]
            part = b.slice(x, start, limit, window.strides)
            total = part if total is None else self._combine(b, total, part)
        return total

    def _spread(self, b: Any, x: Any, window: Window, axis: int) -> Any:
        """Sums along an axis with base dilation, as in the derivative of strided windows.

        Result i adds the elements q of x with q * base in i - low ... i - low + size - 1. With
        i - low + base - 1 = q * base + t these are q + j for j = 0, 1, ... while
        j * base <= size - base + t. So the result, seen as an array of axes (q, t), is the sum over
        j of the elements q + j, repeated along t.
        """
        size, base, (low, high) = window.size[axis], window.base[axis], window.padding[axis]
        n = x.shape[axis]
        count = window_count(n, size, 1, (low, high), base, 1)
        start = base - 1 - low
        first, last = start // base, (start + count - 1) // base
        rows = last - first + 1
        grid = [*x.shape[:axis], rows, base, *x.shape[axis + 1 :]]
        kept = [k for k in range(len(grid)) if k != axis + 1]
        total = None
        for j in range(-(-size // base)):
            moved = self._padded(b, x, axis, -(first + j), last + j + 1 - n)
            part = b.broadcast_in_dim(moved, grid, kept)
            inside = base - 1 - np.arange(base) + j * base < size
            if not inside.all():
                mask = b.broadcast_in_dim(b.constant(inside), grid, (axis + 1,))
                part = b.select(mask, part, b.full(grid, 0, x.dtype))
            total = part if total is None else b.add(total, part)
        shape = [*x.shape[:axis], rows * base, *x.shape[axis + 1 :]]
        skip = start - first * base
        return b.slice(b.reshape(total, shape), *self._range_of(shape, axis, skip, skip + count))

    @staticmethod
    def _range_of(
        shape: Sequence[int], axis: int, start: int, limit: int
    ) -> tuple[list[int], list[int]]:
        starts, limits = [0] * len(shape), list(shape)
        starts[axis], limits[axis] = start, limit
        return starts, limits

    def samples(self):
        for x, window in _window_samples():
            yield (x,), {"window": window}
        yield (integers(3, 4),), {"window": make(2, 2)}


def make(
    *size: int,
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    base: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
) -> Window:
    """A Window; what is not given is ones, and no padding."""
    ones = (1,) * len(size)
    return Window(
        size,
        tuple(strides or ones),
        tuple(padding or ((0, 0),) * len(size)),
        tuple(base or ones),
        tuple(dilation or ones),
    )


def _window_samples() -> list[tuple[np.ndarray, Window]]:
    return [
        (real(2, 6, 5), make(1, 2, 2, strides=(1, 2, 2))),
        (real(7, 6), make(3, 3, strides=(2, 1), padding=((1, 0), (0, 2)))),
        (real(9), make(3, strides=(2,), padding=((2, 1),), dilation=(2,))),
        (real(6), make(2, strides=(2,), padding=((-1, 2),), base=(3,))),
        (real(5, 2), make(3, 1, padding=((2, 2), (0, 0)), base=(2, 1), dilation=(1, 1))),
        (real(61), make(29, padding=((5, 0),))),
        (real(2, 3), make(1, 4)),
    ]


class ReduceWindowSum(_WindowReduction, Linear):
    """The sum of each window. StableHLO: reduce_window with add."""

    name = "reduce_window_sum"
    accepts = dtypes.NUMBER
    hlo = "add"
    idempotent = False

    def identity(self, dtype):
        return np.zeros((), dtype)

    def numpy(self, x, *, window):
        views = windows_of(x, window, 0)
        narrow = x.dtype in dtypes.FLOAT and x.dtype.itemsize <= 2
        axes = tuple(range(x.ndim, 2 * x.ndim))
        total = np.sum(views, axis=axes, dtype=np.float32 if narrow else x.dtype)
        return np.asarray(total).astype(x.dtype)

    def transpose(self, ct, x, *, window):
        counts = type_of(ct).shape
        if 0 in counts or 0 in x.shape:
            return (zeros_of(x.type),)
        # Strides and base dilation change places, and windows reach backwards.
        padding = []
        for n, m, w, s, (low, _), base, d in zip(x.shape, counts, *window, strict=True):
            before = (w - 1) * d - low
            after = (n - 1) * base + (w - 1) * d - before - (m - 1) * s
            padding.append((before, after))
        back = Window(window.size, window.base, tuple(padding), window.strides, window.dilation)
        return (self.bind(ct, window=back),)


class _WindowExtreme(_WindowReduction):
    accepts = dtypes.REAL | dtypes.BOOL
    largest = True

    def identity(self, dtype):
        return lowest(dtype) if self.largest else highest(dtype)

    def numpy(self, x, *, window):
        views = windows_of(x, window, self.identity(x.dtype))
        find = np.max if self.largest else np.min
        with np.errstate(invalid="ignore"):
            return np.asarray(find(views, axis=tuple(range(x.ndim, 2 * x.ndim))), x.dtype)

    def jvp(self, xs, ts, *, window):
        # The derivative goes to the first of the elements that attain the extreme.
        (x,), (t,) = xs, ts
        y = self.bind(x, window=window)
        if 0 in type_of(y).shape or 0 in type_of(x).shape:
            return y, None
        if any(d > 1 for d in window.base):
            gaps = [(0, 0, d - 1) for d in window.base]
            x = pad(x, self.identity(type_of(x).dtype)[()], gaps)
            t = pad(t, np.zeros((), type_of(t).dtype), gaps)
            window = window._replace(base=(1,) * window.ndim)
        return y, chosen_tangent(x, t, window, self.largest)

    def samples(self):
        for sample in super().samples():
            # Windows without any element are infinite: finite differences know nothing of these.
            if np.isfinite(self.numpy(sample[0][0], **sample[1])).all():
                yield sample
        yield (booleans(7),), {"window": make(3)}
        yield (np.array([1.0, np.nan, 3.0, 4.0]),), {"window": make(2)}
        yield (real(12, 11),), {"window": make(9, 9, strides=(1, 2), padding=((1, 1), (0, 0)))}
        yield (real(9, 10),), {"window": make(9, 10)}


class ReduceWindowMax(_WindowExtreme):
    """The largest element of each window, or NaN. StableHLO: reduce_window with maximum."""

    name = "reduce_window_max"
    hlo = "maximum"


class ReduceWindowMin(_WindowExtreme):
    """The smallest element of each window, or NaN. StableHLO: reduce_window with minimum."""

    name = "reduce_window_min"
    hlo = "minimum"
    largest = False


reduce_window_sum_p = register(ReduceWindowSum())
reduce_window_max_p = register(ReduceWindowMax())
reduce_window_min_p = register(ReduceWindowMin())


class ReduceWindow(Primitive):
    """Combine each window by a computation on scalars; operands and results as in reduce.

    Padding counts as the initial value, which changes nothing. StableHLO: reduce_window.
    """

    name = "reduce_window"
    multiple_results = True

    def type(self, *xs, computation, window):
        operands, inits = halves(xs)
        window.check(operands[0])
        check_computation(operands, inits, computation)
        return tuple(x.with_shape(window.out_shape(x.shape)).strong() for x in operands)

    def numpy(self, *xs, computation, window):
        operands, inits = halves(xs)
        n = operands[0].ndim
        views = [windows_of(x, window, i) for x, i in zip(operands, inits, strict=True)]
        shape = views[0].shape[:n]
        outs = [np.empty(shape, x.dtype) for x in operands]
        for place in np.ndindex(*shape):
            acc: list[Any] = list(inits)
            for k in np.ndindex(*window.size):
                acc[:] = reference(computation, *acc, *(np.asarray(v[place + k]) for v in views))
            for out, value in zip(outs, acc, strict=True):
                out[place] = value
        return tuple(outs)

    def fold(self, *xs: Any, computation: Any, window: Window) -> Sequence[Any]:
        """The reduction by whole arrays, one for each position in a window."""
        operands, inits = halves(xs)
        rows = []
        for x, init in zip(operands, inits, strict=True):
            gaps = [
                (low, high, d - 1)
                for (low, high), d in zip(window.padding, window.base, strict=True)
            ]
            x = pad(x, init, gaps)
            out = window_places(type_of(x).shape, window)
            parts = []
            for place in itertools.product(*map(range, window.size)):
                start = tuple(k * d for k, d in zip(place, window.dilation, strict=True))
                limit = tuple(
                    a + (n - 1) * s + 1 if n else a
                    for a, n, s in zip(start, out, window.strides, strict=True)
                )
                part = slice_p.bind(x, starts=start, limits=limit, strides=window.strides)
                parts.append(reshape(part, (1, *out)))
            rows.append(concatenate(parts, 0))
        return reduce_p.fold(*rows, *inits, computation=computation, axes=(0,))

    def jvp(self, xs, ts, **params):
        return jvp(lambda *args: self.fold(*args, **params), xs, ts)

    def batch(self, frame, xs, mapped, *, computation, window):
        operands, inits = halves(xs)
        marks = mapped[: len(operands)]
        if any(mapped[len(operands) :]):
            return batch(
                lambda *args: self.fold(*args, computation=computation, window=window),
                xs,
                mapped,
                frame,
            )
        operands = [add_rows(x, m, frame.size) for x, m in zip(operands, marks, strict=True)]
        ys = self.bind(*operands, *inits, computation=computation, window=window.with_batch())
        return ys, (True,) * len(operands)

    def lower(self, b, *xs, computation, window):
        operands, inits = halves(xs)
        shape = window.out_shape(operands[0].shape)
        return window.reduce(
            b, operands, inits, shape, lambda *args: lower_program(b, computation, args)
        )

    def samples(self):
        program = scalar_program(lambda x, y: [mul(x, y)], (dtypes.float64,))
        one = np.ones(())
        for x, window in _window_samples()[:4]:
            yield (x, one), {"computation": program, "window": window}


def window_places(padded: Sequence[int], window: Window) -> tuple[int, ...]:
    """How many windows there are over an array that is padded and dilated already."""
    return tuple(
        window_count(n, w, s, (0, 0), 1, d)
        for n, w, s, d in zip(padded, window.size, window.strides, window.dilation, strict=True)
    )


reduce_window_p = register(ReduceWindow())


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements of every window over operand by a computation on scalars.

    operand is an array or a tree of arrays of one shape, init_value a tree of scalars alike, for
    which computation(init, a) must be a. All sequences have a number for each axis, batch and
    channels included; padding is "SAME", "VALID" or a pair (low, high) for each axis. Sums, maxima
    and minima (from add, max, min) are recognised. Derivatives go through any computation; of a
    maximum, to the first element that attains it.
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> lax.reduce_window(jnp.array([1, 5, 2, 7]), 0, lax.add, (2,), (2,))
    Array([6, 9], dtype=int32)
    >>> lax.reduce_window(jnp.array([1.0, 5.0, 2.0]), -jnp.inf, lax.max, (2,), padding="SAME")
    Array([5., 5., 2.], dtype=float32)
    """
    op = "reduce_window"
    xs, inits, program, rebuild = flat_computation(computation, operand, init_value, op)
    first = type_of(xs[0])
    window = make_window(
        first.shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
        op,
    )
    known = _KNOWN.get(monoid_of(program) or "")
    if known is not None and first.dtype in known.accepts and known.hlo in _meaning(first.dtype):
        (x,), (init,) = xs, inits
        check_computation([first], [type_of(init)], program)
        if is_identity(init, known.identity(first.dtype)):
            return rebuild([known.bind(x, window=window)])
        if known.idempotent:
            # The initial value, in the padding or not, counts once for all.
            y = known.bind(x, window=window)
            return rebuild([_JOIN[known.name](broadcast_in_dim(init, type_of(y).shape, ()), y)])
    return rebuild(reduce_window_p.bind(*xs, *inits, computation=program, window=window))


def _meaning(dtype: Any) -> tuple[str, ...]:
    # add of booleans is logical or, which the sum is not made for.
    return ("maximum", "minimum") if dtype in dtypes.BOOL else ("add", "maximum", "minimum")


_KNOWN: dict[str, _WindowReduction] = {
    "add": reduce_window_sum_p,
    "max": reduce_window_max_p,
    "min": reduce_window_min_p,
}
_JOIN = {"reduce_window_max": compare.max, "reduce_window_min": compare.min}


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape that reduce_window gives for an operand of a shape.

    >>> lax.reduce_window_shape_tuple((1, 8), (1, 2), (1, 2), "VALID")
    (1, 4)
    """
    window = make_window(
        operand_shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
        "reduce_window_shape_tuple",
    )
    return window.out_shape(operand_shape)


__all__ = ["reduce_window", "reduce_window_shape_tuple"]
