"""`plait.numpy.fft`: discrete Fourier transforms along any axes, and what goes with them.

Complex numbers come in and out; rfft and its kin take real numbers and leave out of the last axis
what is known by symmetry, irfft and its kin are their inverses; hfft and ihfft have the real
numbers on the side of the frequencies. All are linear, compute in 32 bits unless given 64-bit
numbers, and take these arguments:

    n, s        sizes to which axes are cut, or filled up with zeros, before the transform; of irfft
                and hfft: sizes of the result
    axis, axes  the axes to transform, all if None (with s: as many of the last as s has sizes)
    norm        what is divided by the number of points: "backward" (or None) the inverse transform,
                "forward" the other one, "ortho" both by its square root
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import COMPLEX
from plait.core.plain import is_one_of, listed
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.numpy import ufuncs
from plait.numpy.pieces import roll
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    is_arraylike,
    static_int,
    to_dtype,
    value,
)
from plait.ops import axes as ops
from plait.ops.fft import FftType
from plait.ops.fft import fft as transform
from plait.ops.iota import iota_p
from plait.ops.slices import pad
from plait.runtime.transfer import device_put

FFT, IFFT, RFFT, IRFFT = FftType
# XLA transforms so many axes at once.
_AT_ONCE = 3


def _scale(op: str, norm: str | None, sizes: Sequence[int], inverse: bool) -> float:
    """The factor beside XLA's transforms, whose inverse ones divide by the number of points."""
    count = math.prod(sizes)
    match norm:
        case None | "backward":
            return 1.0
        case "ortho":
            return math.sqrt(count) if inverse else 1 / math.sqrt(count)
        case "forward":
            return count if inverse else 1 / count
    fix = '"backward", "ortho" or "forward"'
    raise ArgumentError("there is no such norm", op=op, norm=norm, fix=fix)


def _plan(
    op: str, x: Any, s: Any, axes: Any, kind: FftType
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes to transform and the size that each has in the transform."""
    sizes = None if s is None else tuple(static_int(n, op, "a size") for n in listed(s, op, "s"))
    if axes is None:
        if sizes is not None and len(sizes) > x.ndim:
            raise ShapeError("s has more sizes than the array has axes", op=op, a=x, s=sizes)
        first = 0 if sizes is None else x.ndim - len(sizes)
        axes = range(first, x.ndim)
    axes = axes_in(axes, x.ndim, op)
    if sizes is None:
        have = [x.shape[k] for k in axes]
        if kind is IRFFT and axes:
            have[-1] = max(0, 2 * (have[-1] - 1))
        sizes = tuple(have)
    if len(sizes) != len(axes):
        raise ShapeError("s needs one size for each axis", op=op, a=x, s=sizes, axes=axes)
    if any(n < 1 for n in sizes):
        fix = "give the size of the result" if kind is IRFFT and s is None else None
        raise ArgumentError(
            "a transform has at least one point along each axis", op=op, a=x, sizes=sizes, fix=fix
        )
    return axes, sizes


def _transform(op: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """The transform of `a` along some axes, of the given sizes."""
    x = value(op, a)
    if kind is RFFT and x.dtype in COMPLEX:
        raise DtypeError(
            "takes real numbers", op=op, a=x, fix=f"{op.replace('.r', '.')}, or a.real"
        )
    axes, sizes = _plan(op, x, s, axes, kind)
    scale = _scale(op, norm, sizes, kind in (IFFT, IRFFT))
    rest = [k for k in range(x.ndim) if k not in axes]
    order = (*rest, *axes)
    x = _fitted(ops.permute(x, order), sizes, kind)
    # The halved axis, the last one, is in the first step of RFFT and in the last step of IRFFT.
    steps = _steps(len(rest), sizes)
    if kind is IRFFT:
        steps.reverse()
    x = transform(x, kind, ()) if not steps else x
    for at, lengths in steps:
        with_half = at + len(lengths) == x.ndim
        this = kind if with_half else FFT if kind in (FFT, RFFT) else IFFT
        x = _last_axes(x, this, at, lengths)
    if scale != 1.0:
        x = ufuncs.multiply(x, scale)
    return ops.permute(x, [order.index(k) for k in range(x.ndim)])


def _fitted(x: Any, sizes: tuple[int, ...], kind: FftType) -> Any:
    """X, whose last axes are transformed, cut or filled up with zeros to their sizes."""
    if kind is IRFFT and sizes:
        sizes = (*sizes[:-1], sizes[-1] // 2 + 1)
    kept = x.ndim - len(sizes)
    if x.shape[kept:] == sizes:
        return x
    # Negative padding cuts.
    edges = [(0, 0, 0)] * kept + [(0, n - m, 0) for n, m in zip(sizes, x.shape[kept:], strict=True)]
    return pad(x, np.zeros((), x.dtype), edges)


def _steps(first: int, sizes: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """(first axis, sizes) of the transforms of a few axes each that make the whole."""
    last = first + len(sizes)
    ends = range(last, first, -_AT_ONCE)
    starts = [max(first, end - _AT_ONCE) for end in ends]
    return [(at, sizes[at - first : end - first]) for at, end in zip(starts, ends, strict=True)]


def _last_axes(x: Any, kind: FftType, at: int, lengths: tuple[int, ...]) -> Any:
    """The transform of the axes from `at` on, of the given sizes."""
    end = at + len(lengths)
    if end == x.ndim:
        return transform(x, kind, lengths)
    order = (*range(at), *range(end, x.ndim), *range(at, end))
    y = transform(ops.permute(x, order), kind, lengths)
    return ops.permute(y, [order.index(k) for k in range(x.ndim)])


def _one(op: str, kind: FftType, a: Any, n: Any, axis: Any, norm: str | None) -> Any:
    return _transform(op, kind, a, None if n is None else (n,), (axis,), norm)


def _two(op: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    axes = listed(axes, op, "axes")
    if len(axes) != 2:
        fix = f"{op.replace('2', 'n')} takes any number of axes"
        raise ArgumentError("transforms two axes", op=op, axes=tuple(axes), fix=fix)
    return _transform(op, kind, a, s, axes, norm)


# --- one axis


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform along an axis: y[k] is the sum over m of a[m] exp(-2 pi i k m / n).

    >>> jnp.fft.fft(np.float32([1, 0, 0]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one("fft.fft", FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of fft.

    >>> jnp.fft.ifft(np.float32([1, 0, 0, 0])).real
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _one("fft.ifft", IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first n // 2 + 1 elements of fft of real numbers: the others are their conjugates.

    >>> jnp.fft.rfft(np.float32([1, 2, 3, 4]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _one("fft.rfft", RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of rfft: n real numbers, by default 2 (m - 1) from m complex ones.

    An odd n has to be given: from the complex numbers alone it cannot be told from the even one.

    >>> jnp.fft.irfft(jnp.fft.rfft(np.float32([1, 2, 3])), 3)
    Array([1., 2., 3.], dtype=float32)
    """
    return _one("fft.irfft", IRFFT, a, n, axis, norm)


# The transforms with real frequencies run the other way than those that compute them.
_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


def _swapped(norm: str | None) -> str | None:
    return _SWAPPED[norm] if is_one_of(norm, _SWAPPED) else norm


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The fft, which is real, of n numbers of which those after the first n // 2 + 1, here left
    out, are conjugates of the others in the opposite order; n is 2 (m - 1) by default.

    >>> jnp.fft.hfft(np.float32([1, 0, 0]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    a = ufuncs.conj(value("fft.hfft", a))
    return _one("fft.hfft", IRFFT, a, n, axis, _swapped(norm))


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of hfft: the first n // 2 + 1 elements of ifft of real numbers.

    >>> jnp.fft.ihfft(np.float32([1, 0, 0, 0])).real
    Array([0.25, 0.25, 0.25], dtype=float32)
    """
    return ufuncs.conj(_one("fft.ihfft", RFFT, a, n, axis, _swapped(norm)))


# --- two axes


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The Fourier transform along two axes.

    >>> jnp.fft.fft2(np.float32([[1, 2], [3, 4]])).real
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _two("fft.fft2", FFT, a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of fft2.

    >>> jnp.fft.ifft2(np.float32([[10, -2], [-4, 0]])).real
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _two("fft.ifft2", IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The Fourier transform of real numbers along two axes; the last of them is halved.

    >>> jnp.fft.rfft2(np.ones((3, 4), np.float32)).shape
    (3, 3)
    """
    return _two("fft.rfft2", RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of rfft2; s are the sizes of the result.

    >>> jnp.fft.irfft2(jnp.fft.rfft2(np.ones((1, 3), np.float32)), (1, 3))
    Array([[1., 1., 1.]], dtype=float32)
    """
    return _two("fft.irfft2", IRFFT, a, s, axes, norm)


# --- any number of axes


def fftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The Fourier transform along several axes, or all of them.

    >>> jnp.fft.fftn(np.float32([[1, 2], [3, 4]])).real
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _transform("fft.fftn", FFT, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The inverse of fftn.

    >>> jnp.fft.ifftn(np.float32([[10, -2], [-4, 0]])).real
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _transform("fft.ifftn", IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The Fourier transform of real numbers along several axes; the last of them is halved.

    >>> jnp.fft.rfftn(np.ones((3, 4), np.float32)).shape
    (3, 3)
    """
    return _transform("fft.rfftn", RFFT, a, s, axes, norm)


def irfftn(
    a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """The inverse of rfftn; s are the sizes of the result.

    >>> jnp.fft.irfftn(jnp.fft.rfftn(np.ones((1, 3), np.float32)), (1, 3))
    Array([[1., 1., 1.]], dtype=float32)
    """
    return _transform("fft.irfftn", IRFFT, a, s, axes, norm)


# --- frequencies


def _frequencies(op: str, n: Any, d: Any, dtype: Any, device: Any, half: bool) -> Any:
    n = static_int(n, op, "n")
    if n < 0:
        raise ArgumentError("n is at least 0", op=op, n=n)
    if not is_arraylike(d) or type_of(d).shape:
        raise ArgumentError("the distance d is one number", op=op, d=d)
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    k = iota_p.bind(shape=(n // 2 + 1 if half else n,), dtype=dtypes.default_int(), axis=0)
    if not half:
        k = ufuncs.where(ufuncs.less(k, (n + 1) // 2), k, ufuncs.subtract(k, n))
    y = ufuncs.true_divide(astype(k, dtype), ufuncs.multiply(d, n)) if n else astype(k, dtype)
    y = astype(y, dtype)
    return y if device is None else device_put(y, device)


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of fft's results, for points at distance d: in cycles per unit of d.

    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return _frequencies("fft.fftfreq", n, d, dtype, device, False)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of rfft's results, for n points at distance d.

    >>> jnp.fft.rfftfreq(4, 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _frequencies("fft.rfftfreq", n, d, dtype, device, True)


def _shifted(op: str, x: Any, axes: Any, sign: int) -> Any:
    x = value(op, x)
    which = range(x.ndim) if axes is None else axes if isinstance(axes, Iterable) else (axes,)
    places = [axis_in(k, x.ndim, op) for k in which]
    return roll(x, [sign * (x.shape[k] // 2) for k in places], places) if places else x


def fftshift(x: Any, axes: Any = None) -> Any:
    """X with frequency 0 in the middle of its axes, where fft has it in front.

    >>> jnp.fft.fftshift(jnp.fft.fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shifted("fft.fftshift", x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of fftshift; of odd sizes the two differ.

    >>> jnp.fft.ifftshift(jnp.fft.fftshift(np.arange(3)))
    Array([0, 1, 2], dtype=int32)
    """
    return _shifted("fft.ifftshift", x, axes, -1)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
