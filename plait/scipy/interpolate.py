"""`plait.scipy.interpolate`: values between the points of a grid."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.errors import ArgumentError, DtypeError, ShapeError, describe, several
from plait.numpy.promotion import astype, known, promote_dtypes, to_inexact, value


class RegularGridInterpolator:
    """Values at any place, from values on a grid whose lines need not be evenly spaced.

    points holds for each axis the coordinates of the grid's lines, which increase; values has those
    axes first. method is "linear" (in each direction) or "nearest". Places outside of the grid give
    fill_value; with None the values of the border cells go on. A NaN in a place gives NaN.
    Derivative: with respect to values, places and points. Raises: ShapeError, ArgumentError,
    DtypeError.

    >>> line = np.float32([0, 1, 4])
    >>> f = plait.scipy.interpolate.RegularGridInterpolator((line, line), np.eye(3))
    >>> f(np.float32([[0, 0], [0.5, 0], [2.5, 2.5], [5, 0]]))
    Array([1. , 0.5, 0.5, nan], dtype=float32)
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ):
        op = "RegularGridInterpolator"
        _check_method(op, method)
        if bounds_error:
            raise ArgumentError(
                "no error can be raised for places that a compiled program computes",
                op=op,
                fix="bounds_error=False, and look for NaN",
            )
        self.method, self.bounds_error = method, bounds_error
        self.values = value(op, to_inexact(op, value(op, values, 1)))
        lines = tuple(value(op, jnp.asarray(p)) for p in points)
        if len(lines) > self.values.ndim:
            raise ShapeError(
                f"there are points for {several(len(lines), 'axis', 'axes')}, and values has fewer",
                op=op,
                points=", ".join(describe(line) for line in lines),
                values=self.values,
            )
        for k, line in enumerate(lines):
            _check_line(op, line, k, self.values)
        self.grid = tuple(value(op, to_inexact(op, line)) for line in lines)
        self.fill_value = fill_value
        if fill_value is not None:
            fill = value(op, fill_value)
            if fill.dtype in dtypes.COMPLEX and self.values.dtype not in dtypes.COMPLEX:
                raise DtypeError(
                    "a complex fill_value needs complex values",
                    op=op,
                    values=self.values,
                    fill_value=fill_value,
                )

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at places: an array whose last axis holds the coordinates of each, or a tuple
        of arrays of coordinates, one for each axis, that broadcast.

        Shapes: xi [..., axes] -> [..., *the other axes of values].
        """
        op = "RegularGridInterpolator"
        method = self.method if method is None else method
        _check_method(op, method)
        axes = len(self.grid)
        places = self._coordinates(op, xi)
        shape = places[0].shape if places else ()
        outside, missing = np.zeros((), np.bool_), np.zeros((), np.bool_)
        neighbours = []
        for place, line in zip(places, self.grid, strict=True):
            place, line = promote_dtypes(op, (place, line))
            outside = outside | (place < line[0]) | (place > line[-1])
            missing = missing | jnp.isnan(place)
            neighbours.append(_neighbours(place, line, method))
        total: Any = 0
        rest = (1,) * (self.values.ndim - axes)
        for corner in itertools.product(*neighbours):
            part = self.values[tuple(index for index, _ in corner)]
            weights = [w for _, w in corner if w is not None]
            if weights:
                weight = functools.reduce(jnp.multiply, weights)
                part = part * weight.reshape(*weight.shape, *rest)
            total = total + part
        total = value(op, total)

        def where(mask: Any, instead: Any) -> Any:
            mask = jnp.reshape(jnp.broadcast_to(mask, shape), (*shape, *rest))
            return jnp.where(mask, astype(value(op, instead), total.dtype), total)

        if self.fill_value is not None:
            total = where(outside, self.fill_value)
        return where(missing, np.nan)

    def _coordinates(self, op: str, xi: Any) -> list[Any]:
        """An array of coordinates for each axis of the grid, all of one shape."""
        axes = len(self.grid)
        if isinstance(xi, tuple):
            parts = [value(op, to_inexact(op, value(op, jnp.asarray(x)))) for x in xi]
            if len(parts) != axes:
                raise ShapeError(
                    f"xi needs coordinates for {several(axes, 'axis', 'axes')} of the grid",
                    op=op,
                    xi=", ".join(describe(part) for part in parts),
                )
            return list(jnp.broadcast_arrays(*parts))
        x = value(op, to_inexact(op, jnp.asarray(xi)))
        if x.ndim == 1:
            x = x[:, None] if axes == 1 else x[None]
        if not x.ndim or x.shape[-1] != axes:
            raise ShapeError(f"places need {axes} coordinates along the last axis", op=op, xi=x)
        return [x[..., k] for k in range(axes)]


def _check_method(op: str, method: str) -> None:
    if method not in ("linear", "nearest"):
        raise ArgumentError("method is 'linear' or 'nearest'", op=op, method=method)


def _check_line(op: str, line: Any, k: int, values: Any) -> None:
    if line.ndim != 1 or line.shape[0] != values.shape[k] or not line.size:
        raise ShapeError(
            f"points for axis {k} must be a vector of as many coordinates as values has there",
            op=op,
            points=line,
            values=values,
        )
    if line.dtype in dtypes.COMPLEX:
        raise DtypeError("coordinates are real numbers", op=op, points=line)
    host = known(line)
    if host is not None and not np.all(host[1:] > host[:-1]):
        raise ArgumentError(f"the points for axis {k} must increase", op=op, points=line)


def _neighbours(place: Any, line: Any, method: str) -> list[tuple[Any, Any]]:
    """(index, weight or None) of the lines between which a coordinate lies."""
    if line.shape[0] == 1:
        return [(jnp.zeros(place.shape, dtypes.int32), None)]
    low = jnp.clip(jnp.searchsorted(line, place) - 1, 0, line.shape[0] - 2)
    share = (place - line[low]) / (line[low + 1] - line[low])
    if method == "nearest":
        return [(jnp.where(share <= 0.5, low, low + 1), None)]
    return [(low, 1 - share), (low + 1, share)]


__all__ = ["RegularGridInterpolator"]
