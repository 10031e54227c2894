"""`plait.image`: images in other sizes.

An element of the result is the sum of the elements near the place it comes from, weighted by a
kernel of their distance; the weights are divided by their sum.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core.plain import is_one_of, listed
from plait.errors import ArgumentError, ShapeError
from plait.numpy.promotion import astype, axes_in, shape_of, to_inexact, value
from plait.ops.dot import Precision


class ResizeMethod(enum.Enum):
    """The kernels of resize, each with the names by which it may be given.

    >>> plait.image.ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name. Raises: ArgumentError.

        >>> plait.image.ResizeMethod.from_string("bicubic")
        <ResizeMethod.CUBIC: 4>
        """
        if not is_one_of(s, _NAMES):
            fix = ", ".join(map(repr, _NAMES))
            raise ArgumentError("there is no such method", op="resize", method=s, fix=fix)
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


def resize(
    image: Any,
    shape: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """An image (any array) with the elements of its axes resampled to a shape.

    method: "nearest"; "linear" (also "bilinear", "trilinear", "triangle"), weights that fall to 0
    at distance 1; "cubic" ("bicubic", "tricubic"), the kernel of Keys with a = -1/2;
    "cubic-pytorch", without antialias that with a = -3/4 and the border elements repeated;
    "lanczos3", "lanczos5"; "area", the mean over the area of an element. antialias widens kernels
    where the image shrinks. Numbers become inexact, but for "nearest".
    Derivative: linear. Raises: ShapeError, ArgumentError.

    >>> plait.image.resize(np.float32([0, 4, 8, 4]), (2,), "area")
    Array([2., 6.], dtype=float32)
    """
    op = "image.resize"
    x = value(op, image)
    shape = shape_of(shape, op)
    if len(shape) != x.ndim:
        raise ShapeError("the shape needs a size for each axis", op=op, image=x, shape=shape)
    kind = method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)
    axes = [k for k in range(x.ndim) if shape[k] != x.shape[k]]
    if any(not x.shape[k] for k in axes):
        raise ShapeError("an empty axis cannot grow", op=op, image=x, shape=shape)
    if kind is ResizeMethod.NEAREST:
        for k in axes:
            places = (2 * np.arange(shape[k]) + 1) * x.shape[k] // (2 * shape[k])
            x = jnp.take(x, places, axis=k, mode="clip")
        return x
    x = value(op, to_inexact(op, x))
    if 0 in shape:
        return jnp.zeros(shape, x.dtype)
    scales = [shape[k] / x.shape[k] for k in axes]
    return _resampled(x, shape, axes, scales, [0.0] * len(axes), kind, antialias, precision, np)


def scale_and_translate(
    image: Any,
    shape: Any,
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """An image of a shape in which what lay at place p along spatial_dims lies at scale · p +
    translation; places count from the border of the first element, so that its middle is 1/2.

    scale and translation have an entry for each of spatial_dims and may be traced. Elements that
    come from outside of the image are 0. Methods as for resize, without "nearest".
    Derivative: with respect to image, scale and translation. Raises: ShapeError, ArgumentError.

    >>> x = np.float32([1, 2, 3])
    >>> plait.image.scale_and_translate(x, (4,), [0], np.ones(1), np.ones(1), "linear")
    Array([0., 1., 2., 3.], dtype=float32)
    """
    op = "image.scale_and_translate"
    x = value(op, to_inexact(op, value(op, image)))
    shape, axes = shape_of(shape, op), axes_in(listed(spatial_dims, op, "spatial_dims"), x.ndim, op)
    if len(shape) != x.ndim:
        raise ShapeError("the shape needs a size for each axis", op=op, image=x, shape=shape)
    kind = method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)
    if kind is ResizeMethod.NEAREST:
        raise ArgumentError(
            "has no method 'nearest'", op=op, fix="resize, or scipy.ndimage.map_coordinates"
        )
    scale, translation = jnp.asarray(scale), jnp.asarray(translation)
    if scale.shape != (len(axes),) or translation.shape != (len(axes),):
        raise ShapeError(
            "scale and translation need an entry for each of spatial_dims",
            op=op,
            scale=scale,
            translation=translation,
            spatial_dims=axes,
        )
    if any(not x.shape[k] for k in axes):
        raise ShapeError("the image must not be empty", op=op, image=x)
    scales, moves = list(scale), list(translation)
    return _resampled(x, shape, axes, scales, moves, kind, antialias, precision, jnp)


def _resampled(
    x: Any,
    shape: Sequence[int],
    axes: Sequence[int],
    scales: Sequence[Any],
    moves: Sequence[Any],
    kind: ResizeMethod,
    antialias: bool,
    precision: Any,
    xp: Any,
) -> Any:
    # Known weights are worked out by NumPy, in float64.
    for k, scale, move in zip(axes, scales, moves, strict=True):
        weights = _weights(x.shape[k], shape[k], scale, move, kind, antialias, xp)
        weights = astype(value("image", weights), x.dtype)
        x = jnp.moveaxis(jnp.tensordot(x, weights, ((k,), (0,)), precision=precision), -1, k)
    return x


def _weights(
    n: int, m: int, scale: Any, move: Any, kind: ResizeMethod, antialias: bool, xp: Any
) -> Any:
    """What each of m elements takes of each of n: [n, m]."""
    step = 1 / scale
    middle = (np.arange(m) + 0.5) * step - move * step - 0.5
    at = np.arange(n)[:, None] * 1.0
    if kind is ResizeMethod.AREA:
        low, high = xp.maximum(middle - step / 2, at - 0.5), xp.minimum(middle + step / 2, at + 0.5)
        weights = xp.maximum(high - low, 0)
    elif kind is ResizeMethod.CUBIC_PYTORCH and not antialias:
        # The elements that the kernel sees before the first and behind the last are these.
        around = np.arange(-_REACH, n + _REACH)[:, None] * 1.0
        wide = _cubic(xp.abs(middle - around), -0.75, xp)
        inner = wide[_REACH : n + _REACH]
        first = (at == 0) * wide[:_REACH].sum(0)
        weights = inner + first + (at == n - 1) * wide[n + _REACH :].sum(0)
    else:
        width = xp.maximum(step, 1.0) if antialias else 1.0
        weights = _kernel(kind, xp.abs(middle - at) / width, xp)
    total = weights.sum(0)
    usable = xp.abs(total) > 1000 * np.finfo(np.float32).eps
    weights = xp.where(usable, weights / xp.where(usable, total, 1), 0)
    return xp.where((middle >= -0.5) & (middle <= n - 0.5), weights, 0)


# How many elements away the cubic kernel reaches.
_REACH = 2


def _kernel(kind: ResizeMethod, distance: Any, xp: Any) -> Any:
    if kind is ResizeMethod.LINEAR:
        return xp.maximum(1 - distance, 0)
    if kind in (ResizeMethod.CUBIC, ResizeMethod.CUBIC_PYTORCH):
        return _cubic(distance, -0.5, xp)
    radius = 3.0 if kind is ResizeMethod.LANCZOS3 else 5.0
    return xp.where(distance < radius, xp.sinc(distance) * xp.sinc(distance / radius), 0)


def _cubic(x: Any, a: float, xp: Any) -> Any:
    # Keys, "Cubic convolution interpolation for digital image processing", 1981.
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return xp.where(x < 1, near, xp.where(x < 2, far, 0))


__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
