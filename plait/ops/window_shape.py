"""Window: where sliding windows lie over an array.

Also the meaning of "SAME" and "VALID", which convolutions share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core.plain import ints
from plait.core.types import ArrayType
from plait.errors import ArgumentError, ShapeError


class Window(NamedTuple):
    """Windows over an array, a number for each axis.

    size:     elements in a window.
    strides:  steps between neighbouring windows.
    padding:  (low, high) elements put before and after; negative ones are taken away.
    base:     base dilation: the array's elements lie this far apart.
    dilation: window dilation: a window's elements lie this far apart.

    Element k of window o is the array's element (o * stride + k * dilation - low) / base, where
    that is a whole number in range.
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.size)

    @property
    def count(self) -> int:
        """Elements in a window."""
        return math.prod(self.size)

    def out_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis of an array of the shape."""
        return tuple(window_count(n, *numbers) for n, *numbers in zip(shape, *self, strict=True))

    def with_batch(self) -> Window:
        """The same windows over an array with one more axis, first."""
        return Window(
            (1, *self.size),
            (1, *self.strides),
            ((0, 0), *self.padding),
            (1, *self.base),
            (1, *self.dilation),
        )

    def on_axis(self, axis: int) -> Window:
        """The windows along one axis, of size 1 along all others."""

        def only(numbers: tuple, other: Any) -> tuple:
            return tuple(v if k == axis else other for k, v in enumerate(numbers))

        return Window(
            only(self.size, 1),
            only(self.strides, 1),
            only(self.padding, (0, 0)),
            only(self.base, 1),
            only(self.dilation, 1),
        )

    def reduce(
        self,
        b: Any,
        xs: Sequence[Any],
        inits: Sequence[Any],
        shape: Sequence[int],
        body: Callable[..., Sequence[Any]],
    ) -> tuple[Any, ...]:
        """StableHLO's reduce_window over these windows: body(accumulators..., elements...)."""
        return b.reduce_window(
            xs,
            inits,
            shape,
            body,
            size=self.size,
            strides=self.strides,
            padding=self.padding,
            base_dilation=self.base,
            window_dilation=self.dilation,
        )

    def check(self, x: ArrayType) -> None:
        """Raise ShapeError unless these are windows over arrays like x."""
        if any(len(numbers) != x.ndim for numbers in self):
            raise ShapeError("needs one number for each axis of x", x=x, **self._asdict())
        for name in ("size", "strides", "base", "dilation"):
            if any(n < 1 for n in getattr(self, name)):
                summary = f"{name} must be at least 1 along every axis"
                raise ShapeError(summary, x=x, **self._asdict())


def window_count(
    n: int, size: int, stride: int, padding: tuple[int, int], base: int, dilation: int
) -> int:
    """How many windows fit along an axis of n elements."""
    spread = (n - 1) * base + 1 if n else 0
    room = spread + sum(padding) - ((size - 1) * dilation + 1)
    return room // stride + 1 if room >= 0 else 0


def windows_of(x: np.ndarray, window: Window, fill: Any) -> np.ndarray:
    """A NumPy array of shape [*windows, *window size] with the elements of every window."""
    base, shape = x, x.shape
    spread = [(n - 1) * d + 1 if n else 0 for n, d in zip(shape, window.base, strict=True)]
    low = [max(lo, 0) for lo, _ in window.padding]
    room = [
        max(n + lo + max(hi, 0), 0)
        for n, lo, (_, hi) in zip(spread, low, window.padding, strict=True)
    ]
    padded = np.full(room, fill, x.dtype)
    places = tuple(slice(lo, lo + n, d) for lo, n, d in zip(low, spread, window.base, strict=True))
    padded[places] = base
    cut = tuple(
        slice(max(-lo, 0), max(n + min(hi, 0), max(-lo, 0)))
        for n, (lo, hi) in zip(room, window.padding, strict=True)
    )
    padded = padded[cut]
    out = window.out_shape(shape)
    if 0 in out:
        return np.empty((*out, *window.size), x.dtype)
    reach = [(w - 1) * d + 1 for w, d in zip(window.size, window.dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(padded, reach)
    views = views[tuple(slice(None, None, s) for s in window.strides)]
    return views[(..., *(slice(None, None, d) for d in window.dilation))]


_PADDING = "padding is 'SAME', 'SAME_LOWER', 'VALID' or a pair (low, high) for each axis"


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:
    """The (low, high) pairs that "SAME", "SAME_LOWER" or "VALID" means for each axis.

    SAME gives as many windows as the stride goes into the axis, rounded up, with the odd element
    after the axis (SAME_LOWER: before it). window_shape is the dilated one. Raises ArgumentError.

    >>> lax.padtype_to_pads((5,), (2,), (2,), "SAME")
    [(0, 1)]
    """
    return word_pads(in_shape, window_shape, window_strides, padding, "padtype_to_pads")


def word_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    op: str,
) -> list[tuple[int, int]]:
    """padtype_to_pads as part of an op, which messages name."""
    in_shape, window_shape = ints(in_shape, op, "in_shape"), ints(window_shape, op, "window_shape")
    window_strides = ints(window_strides, op, "window_strides")
    shapes = {"in_shape": in_shape, "window_shape": window_shape, "window_strides": window_strides}
    if len({len(numbers) for numbers in shapes.values()}) != 1:
        given: dict[str, Any] = {name: tuple(numbers) for name, numbers in shapes.items()}
        raise ShapeError("each axis needs a size, a window and a stride", op=op, **given)
    kind = getattr(padding, "name", padding)
    kind = kind.upper() if isinstance(kind, str) else kind
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ArgumentError(_PADDING, op=op, padding=padding)
    pairs = []
    for n, reach, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-n // stride) - 1) * stride + reach - n, 0)
        less, more = total // 2, total - total // 2
        pairs.append((less, more) if kind == "SAME" else (more, less))
    return pairs


def padding_pairs(padding: Any, op: str) -> tuple[tuple[int, int], ...]:
    """Explicit padding as a tuple of (low, high). Raises ArgumentError."""
    try:
        pairs: Any = tuple(ints(pair, op, "padding") for pair in padding)
    except TypeError:
        pairs = ((),)
    if any(len(pair) != 2 for pair in pairs):
        raise ArgumentError(_PADDING, op=op, padding=padding)
    return pairs


def make_window(
    shape: Sequence[int],
    size: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    base: Sequence[int] | None,
    dilation: Sequence[int] | None,
    op: str,
) -> Window:
    """A Window from what a user gives; None means ones, padding may be a word."""
    size, shape = ints(size, op, "window_dimensions"), ints(shape, op, "operand_shape")
    ones = (1,) * len(shape)
    strides = ones if strides is None else ints(strides, op, "window_strides")
    base = ones if base is None else ints(base, op, "base_dilation")
    dilation = ones if dilation is None else ints(dilation, op, "window_dilation")
    entries: dict[str, Any] = {
        "window_dimensions": size,
        "window_strides": strides,
        "base_dilation": base,
        "window_dilation": dilation,
    }
    for name, numbers in entries.items():
        if len(numbers) != len(shape) or any(n < 1 for n in numbers):
            raise ShapeError(
                f"{name} needs a number of at least 1 for each axis of the operand",
                op=op,
                shape=tuple(shape),
                **{name: numbers},
            )
    if isinstance(padding, str):
        spread = [(n - 1) * d + 1 if n else 0 for n, d in zip(shape, base, strict=True)]
        reach = [(w - 1) * d + 1 for w, d in zip(size, dilation, strict=True)]
        pairs = tuple(word_pads(spread, reach, strides, padding, op))
    else:
        pairs = padding_pairs(padding, op)
        if len(pairs) != len(shape):
            raise ShapeError(
                "padding needs a pair for each axis of the operand",
                op=op,
                shape=tuple(shape),
                padding=pairs,
            )
    return Window(size, strides, pairs, base, dilation)


__all__ = ["Window", "make_window", "padtype_to_pads"]
