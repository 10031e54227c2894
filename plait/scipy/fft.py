"""`plait.scipy.fft`: cosine transforms.

    type  what the elements k of the result are, for n points x
    1     x[0] + (-1)^k x[n-1] + 2 sum over 0 < m < n - 1 of x[m] cos(pi k m / (n - 1))
    2     2 sum of x[m] cos(pi k (2 m + 1) / 2n)
    3     x[0] + 2 sum over m > 0 of x[m] cos(pi (2 k + 1) m / 2n)
    4     2 sum of x[m] cos(pi (2 k + 1) (2 m + 1) / 4n)

Types 1 and 4 are their own inverses, 2 and 3 each other's, up to a factor 2n (of type 1 2n - 2).
norm says what is divided by it: "backward" (or None) the inverse, "forward" the transform, "ortho"
both by its square root; "ortho" also weights the ends, so that the transform is an orthogonal
matrix. Each is one real Fourier transform of n points (type 1: of 2n - 2, type 4: a complex one of
2n). JAX has type 2 alone.
Source: Makhoul, "A fast cosine transform in one and two dimensions" (1980).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of, listed
from plait.errors import ArgumentError, ShapeError, several
from plait.numpy.promotion import astype, axes_in, axis_in, static_int, to_inexact, value
from plait.ops import axes as ops
from plait.ops.functions import complex as complex_of_parts
from plait.ops.slices import pad, slice_in_dim

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def dct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The cosine transform of a type, 1 to 4, along an axis, cut or filled with zeros to n points.

    >>> plait.scipy.fft.dct(np.float32([1, 0])).round(3)
    Array([2.   , 1.414], dtype=float32)
    """
    return _along("fft.dct", x, type, n, axis, norm, inverse=False)


def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The inverse of dct of the same type.

    >>> plait.scipy.fft.idct(plait.scipy.fft.dct(np.float32([1, 2, 4]))).round(3)
    Array([1., 2., 4.], dtype=float32)
    """
    return _along("fft.idct", x, type, n, axis, norm, inverse=True)


def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The cosine transform along several axes: all, or with s as many of the last as it has sizes.

    >>> plait.scipy.fft.dctn(np.float32([[1, 0], [0, 0]]), norm="ortho").round(3)
    Array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
    return _along_all("fft.dctn", x, type, s, axes, norm, inverse=False)


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of dctn of the same type.

    >>> plait.scipy.fft.idctn(np.float32([[2, 0], [0, 0]]), norm="ortho").round(3)
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _along_all("fft.idctn", x, type, s, axes, norm, inverse=True)


def _along_all(
    op: str, x: Any, type: int, s: Any, axes: Any, norm: str | None, inverse: bool
) -> Any:
    x = value(op, x)
    sizes = None if s is None else [static_int(n, op, "s") for n in listed(s, op, "s")]
    if axes is None and sizes is not None:
        if len(sizes) > x.ndim:
            fix = f"at most {several(x.ndim, 'size')}"
            raise ShapeError("s has more sizes than x has axes", op=op, x=x, s=sizes, fix=fix)
        axes = range(x.ndim - len(sizes), x.ndim)
    axes = axes_in(axes, x.ndim, op)
    if sizes is not None and len(sizes) != len(axes):
        raise ShapeError("s needs one size for each of axes", op=op, x=x, s=sizes, axes=axes)
    for i, axis in enumerate(axes):
        x = _along(op, x, type, None if sizes is None else sizes[i], axis, norm, inverse)
    return x if axes else to_inexact(op, x)


def _along(
    op: str, x: Any, type: int, n: int | None, axis: int, norm: str | None, inverse: bool
) -> Any:
    x = value(op, to_inexact(op, value(op, x)))
    axis = axis_in(axis, x.ndim, op)
    if not is_one_of(type, _INVERSE):
        raise ArgumentError("there is no such type", op=op, type=type, fix="1, 2, 3 or 4")
    kind = _INVERSE[type] if inverse else type
    if norm not in (None, "backward", "forward", "ortho"):
        fix = '"backward", "forward" or "ortho"'
        raise ArgumentError("there is no such norm", op=op, norm=norm, fix=fix)
    size = x.shape[axis] if n is None else static_int(n, op, "n")
    if size < (2 if kind == 1 else 1):
        least = "two points" if kind == 1 else "one point"
        raise ArgumentError(f"a transform of type {kind} has at least {least}", op=op, x=x, n=size)
    rows = ops.move_axis(x, axis, x.ndim - 1)
    edges = [(0, 0, 0)] * (x.ndim - 1) + [(0, size - x.shape[axis], 0)]
    rows = pad(rows, np.zeros((), x.dtype), edges)
    if x.dtype in dtypes.COMPLEX:
        parts = [_scaled(part, kind, norm, inverse) for part in (jnp.real(rows), jnp.imag(rows))]
        y = complex_of_parts(*parts)
    else:
        # Fourier transforms take no half precision.
        wide = astype(rows, dtypes.float32) if x.dtype.itemsize < 4 else rows
        y = astype(_scaled(wide, kind, norm, inverse), x.dtype)
    return ops.move_axis(y, x.ndim - 1, axis)


def _scaled(x: Any, kind: int, norm: str | None, inverse: bool) -> Any:
    """The transform of the last axis of real rows, with its norm."""
    n = x.shape[-1]
    full = 2 * n - 2 if kind == 1 else 2 * n
    if norm == "ortho":
        before, after = np.ones(n), np.full(n, 1 / math.sqrt(full))
        if kind in (1, 3):
            before[0] *= math.sqrt(2)
        if kind in (1, 2):
            after[0] /= math.sqrt(2)
        if kind == 1:
            before[-1], after[-1] = before[0], after[0]
        y = _TRANSFORMS[kind](jnp.multiply(x, before.astype(x.dtype)))
        return jnp.multiply(y, after.astype(x.dtype))
    y = _TRANSFORMS[kind](x)
    return jnp.true_divide(y, full) if inverse is (norm != "forward") else y


def _turns(n: int, count: int, dtype: Any) -> np.ndarray:
    """exp(-i pi k / 2n) for k below count."""
    return np.exp(-0.5j * np.pi * np.arange(count) / n).astype(dtypes.complex_of(dtype))


def _type_1(x: Any) -> Any:
    inner = ops.rev(slice_in_dim(x, 1, x.shape[-1] - 1, axis=-1), (x.ndim - 1,))
    return jnp.real(jnp.fft.rfft(jnp.concatenate([x, inner], -1)))


def _type_2(x: Any) -> Any:
    # The even elements, then the odd ones backwards, have a Fourier transform that, turned by
    # exp(-i pi k / 2n), is half the result k, and minus i times half the result n - k.
    n, last = x.shape[-1], x.ndim - 1
    odd = ops.rev(slice_in_dim(x, 1, None, 2, axis=-1), (last,))
    z = jnp.fft.rfft(jnp.concatenate([slice_in_dim(x, 0, None, 2, axis=-1), odd], -1))
    z = jnp.multiply(z, _turns(n, n // 2 + 1, x.dtype))
    back = slice_in_dim(jnp.negative(jnp.imag(z)), 1, (n + 1) // 2, axis=-1)
    return jnp.multiply(jnp.concatenate([jnp.real(z), ops.rev(back, (last,))], -1), 2)


def _type_3(x: Any) -> Any:
    # The steps of type 2, which this one inverts up to 2n, backwards.
    n, last = x.shape[-1], x.ndim - 1
    low = slice_in_dim(x, 0, n // 2 + 1, axis=-1)
    back = ops.rev(slice_in_dim(x, (n + 1) // 2, None, axis=-1), (last,))
    back = pad(back, np.zeros((), x.dtype), [(0, 0, 0)] * last + [(1, 0, 0)])
    z = complex_of_parts(low, jnp.negative(back))
    z = jnp.multiply(z, jnp.conj(_turns(n, n // 2 + 1, x.dtype)))
    y = jnp.multiply(jnp.fft.irfft(z, n), n)
    even = slice_in_dim(y, 0, (n + 1) // 2, axis=-1)
    odd = ops.rev(slice_in_dim(y, (n + 1) // 2, None, axis=-1), (last,))
    zero = np.zeros((), x.dtype)
    spread = [(0, 0, 0)] * last
    even = pad(even, zero, [*spread, (0, 1 - n % 2, 1)])
    odd = pad(odd, zero, [*spread, (1, n % 2, 1)]) if n > 1 else 0
    return jnp.add(even, odd)


def _type_4(x: Any) -> Any:
    n = x.shape[-1]
    z = jnp.fft.fft(jnp.multiply(x, _turns(n, n, x.dtype)), 2 * n)
    z = slice_in_dim(z, 0, n, axis=-1)
    turn = np.exp(-0.25j * np.pi * (2 * np.arange(n) + 1) / n).astype(z.dtype)
    return jnp.multiply(jnp.real(jnp.multiply(z, turn)), 2)


_TRANSFORMS: dict[int, Callable[[Any], Any]] = {1: _type_1, 2: _type_2, 3: _type_3, 4: _type_4}

__all__ = ["dct", "dctn", "idct", "idctn"]
