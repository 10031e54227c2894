"""`plait.scipy.signal`: convolutions of arrays, trends, and spectra over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of
from plait.errors import ArgumentError, ShapeError
from plait.numpy.promotion import (
    astype,
    axes_in,
    promote_dtypes,
    to_inexact,
    value,
)
from plait.ops import axes as ops
from plait.ops.conv import conv_general_dilated
from plait.ops.slices import slice_p
from plait.scipy.spectral import csd, detrend, istft, stft, welch

_MODES = ("full", "same", "valid")


# --- convolutions


def _pair(op: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    """Both operands in one inexact dtype. Raises for what has no convolution."""
    a, v = promote_dtypes(op, (value(op, in1), value(op, in2, 1)))
    if a.ndim != v.ndim:
        raise ShapeError("in1 and in2 need as many axes as each other", op=op, in1=a, in2=v)
    if not a.size or not v.size:
        raise ShapeError("the arrays must not be empty", op=op, in1=a, in2=v)
    if mode not in _MODES:
        raise ArgumentError("mode is 'full', 'same' or 'valid'", op=op, mode=mode)
    return value(op, to_inexact(op, a)), value(op, to_inexact(op, v))


def _part(
    op: str, a: Any, v: Any, mode: str, axes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where in the full convolution, along axes, the result begins, and its sizes."""
    whole, kernel = ([x.shape[k] for k in axes] for x in (a, v))
    pairs = list(zip(whole, kernel, strict=True))
    if mode == "full":
        return (0,) * len(pairs), tuple(n + m - 1 for n, m in pairs)
    if mode == "same":
        return tuple((m - 1) // 2 for m in kernel), tuple(whole)
    if not (all(n >= m for n, m in pairs) or all(n <= m for n, m in pairs)):
        raise ShapeError(
            "mode 'valid' needs one array that is at least as large as the other along each axis",
            op=op,
            in1=a,
            in2=v,
        )
    return tuple(min(p) - 1 for p in pairs), tuple(abs(n - m) + 1 for n, m in pairs)


def _direct(a: Any, v: Any, start: Sequence[int], size: Sequence[int], precision: Any) -> Any:
    """The part of the full convolution that begins at start and has a size."""
    if not a.ndim:
        return jnp.multiply(a, v)
    if a.size < v.size:  # the smaller one is the kernel
        a, v = v, a
    padding = [
        (m - 1 - at, at + count - n)
        for n, m, at, count in zip(a.shape, v.shape, start, size, strict=True)
    ]
    y = conv_general_dilated(
        ops.reshape(a, (1, 1, *a.shape)),
        ops.rev(ops.reshape(v, (1, 1, *v.shape)), range(2, v.ndim + 2)),
        (1,) * a.ndim,
        padding,
        precision=precision,
    )
    return ops.reshape(y, size)


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution of two arrays of any number of axes: the sum over k of in1[k] in2[n - k].

    mode: "full", all n with a product in the sum; "same", the middle part, of the shape of in1;
    "valid", those n for which no product is missing. method: "direct" (also "auto") or "fft". The
    result is inexact. Raises: ShapeError for empty arrays and for numbers of axes that differ.

    >>> plait.scipy.signal.convolve(np.float32([1, 2, 3]), np.float32([1, 1]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    return _convolve("signal.convolve", in1, in2, mode, method, precision)


def _convolve(op: str, in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Any:
    if method not in ("auto", "direct", "fft"):
        raise ArgumentError("method is 'auto', 'direct' or 'fft'", op=op, method=method)
    a, v = _pair(op, in1, in2, mode)
    if method == "fft":
        return _by_fft(op, a, v, mode, tuple(range(a.ndim)))
    start, size = _part(op, a, v, mode, range(a.ndim))
    return _direct(a, v, start, size, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The correlation of two arrays: the convolution of in1 with in2 conjugated and reversed.

    >>> plait.scipy.signal.correlate(np.float32([1, 2, 3]), np.float32([0, 1]), "valid")
    Array([2., 3.], dtype=float32)
    """
    op = "signal.correlate"
    return _convolve(op, in1, _turned(value(op, in2, 1)), mode, method, precision)


def _turned(x: Any) -> Any:
    return ops.rev(jnp.conj(x), range(x.ndim))


def fftconvolve(
    in1: Any, in2: Any, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Any:
    """The convolution along axes (all by default) by Fourier transforms; see convolve.

    Along the other axes the arrays broadcast. Rounding is relative to the largest element. Cost: n
    log n for n elements, where convolve's is n times the size of the smaller array.

    >>> plait.scipy.signal.fftconvolve(np.float32([1, 2, 3]), np.float32([1, 1]), "valid").round(3)
    Array([3., 5.], dtype=float32)
    """
    op = "signal.fftconvolve"
    a, v = _pair(op, in1, in2, mode)
    return _by_fft(op, a, v, mode, axes_in(axes, a.ndim, op))


def _by_fft(op: str, a: Any, v: Any, mode: str, axes: tuple[int, ...]) -> Any:
    for k in range(a.ndim):
        if k not in axes and 1 not in (a.shape[k], v.shape[k]) and a.shape[k] != v.shape[k]:
            raise ShapeError("the other axes do not broadcast", op=op, in1=a, in2=v, axes=axes)
    start, size = _part(op, a, v, mode, axes)
    if not axes:
        return jnp.multiply(a, v)
    points = [_quick_size(a.shape[k] + v.shape[k] - 1) for k in axes]
    if a.dtype in dtypes.COMPLEX:
        forward, back = jnp.fft.fftn, jnp.fft.ifftn
    else:
        forward, back = jnp.fft.rfftn, jnp.fft.irfftn
    product = jnp.multiply(forward(a, points, axes), forward(v, points, axes))
    y = back(product, points, axes)
    starts, limits = [0] * y.ndim, list(y.shape)
    for k, at, count in zip(axes, start, size, strict=True):
        starts[k], limits[k] = at, at + count
    y = slice_p.bind(y, starts=tuple(starts), limits=tuple(limits), strides=(1,) * y.ndim)
    return astype(y, a.dtype)


def _quick_size(n: int) -> int:
    """The least number from n on that has no prime factors but 2, 3 and 5."""
    best = 1 << (n - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three << max(0, (-(-n // three) - 1).bit_length()))
            three *= 3
        five *= 5
    return best


# --- two axes


def _two_axes(
    op: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, precision: Any
) -> Any:
    a, v = _pair(op, in1, in2, mode)
    if a.ndim != 2:
        raise ShapeError("takes arrays with two axes", op=op, in1=a, in2=v)
    start, size = _part(op, a, v, mode, (0, 1))
    if op.endswith("correlate2d") and mode == "same":
        # What lies in the middle is counted from the other end than in a convolution.
        start = tuple(m // 2 for m in v.shape)
    if not is_one_of(boundary, _BOUNDARIES):
        raise ArgumentError("boundary is 'fill', 'wrap' or 'symm'", op=op, boundary=boundary)
    if mode == "valid" or (
        boundary == "fill" and isinstance(fillvalue, int | float) and not fillvalue
    ):
        return _direct(a, v, start, size, precision)
    edges = [
        (m - 1 - at, at + count - n)
        for n, m, at, count in zip(a.shape, v.shape, start, size, strict=True)
    ]
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    a = jnp.pad(a, edges, _BOUNDARIES[boundary], **options)
    start, size = _part(op, a, v, "valid", (0, 1))
    return _direct(a, v, start, size, precision)


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """The convolution of two matrices; see convolve.

    boundary says what lies around in1: "fill", fillvalue; "wrap", in1 itself, repeated; "symm", its
    mirror image.

    >>> plait.scipy.signal.convolve2d(np.eye(2), np.ones((1, 2)))
    Array([[1., 1., 0.],
           [0., 1., 1.]], dtype=float32)
    """
    return _two_axes("signal.convolve2d", in1, in2, mode, boundary, fillvalue, precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """The correlation of two matrices; arguments as for convolve2d.

    >>> plait.scipy.signal.correlate2d(np.eye(2), np.float32([[0, 1]]), "same")
    Array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    op = "signal.correlate2d"
    in1, in2 = value(op, in1), value(op, in2, 1)
    y = _two_axes(op, in1, _turned(in2), mode, boundary, fillvalue, precision)
    # As in SciPy and JAX it is the smaller one that is conjugated.
    return jnp.conj(y) if mode == "valid" and in1.size < in2.size else y


__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
