"""`plait.scipy.ndimage`: arrays read between their elements."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of, listed, static_int
from plait.errors import DtypeError, ShapeError, UnsupportedError
from plait.numpy.promotion import astype, broadcast_together, value

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Any:
    """The values of an array at coordinates, one array of them for each of its axes.

    Between elements the values are those of the nearest one (order 0) or interpolated linearly in
    each direction (order 1). Outside of the array lie, as mode says: "constant", elements cval;
    "nearest", the last element; "wrap", the array again; "mirror", its mirror image without the
    last element, "reflect", with it. Of integers the result is rounded.
    Shapes: the result has the shape to which the coordinates broadcast. Raises: UnsupportedError
    for other orders and modes, ShapeError, DtypeError.

    >>> x = np.float32([0, 10, 40])
    >>> plait.scipy.ndimage.map_coordinates(x, [np.float32([0.5, 1.5, 2.5])], order=1)
    Array([ 5., 25., 20.], dtype=float32)
    """
    op = "ndimage.map_coordinates"
    x = value(op, input)
    places = [value(op, c, 1) for c in listed(coordinates, op, "coordinates")]
    if static_int(order, op, "order") not in (0, 1):
        raise UnsupportedError("order is 0 or 1", op=op, order=order)
    if not is_one_of(mode, _MODES):
        fix = ", ".join(map(repr, _MODES))
        raise UnsupportedError("there is no such mode", op=op, mode=mode, fix=f"one of {fix}")
    if len(places) != x.ndim:
        raise ShapeError(
            f"{x.ndim} arrays of coordinates are needed, one for each axis, not {len(places)}",
            op=op,
            input=x,
        )
    if not x.size:
        raise ShapeError("the array must not be empty", op=op, input=x)
    if any(c.dtype in dtypes.COMPLEX for c in places):
        given = ", ".join(str(c.type) for c in places)
        raise DtypeError("coordinates are real numbers", op=op, coordinates=given)
    places = broadcast_together(op, *places) if places else []
    outside = value(op, cval)
    if outside.dtype in dtypes.COMPLEX and x.dtype not in dtypes.COMPLEX:
        raise DtypeError("cval is a real number where input is", op=op, input=x, cval=outside)
    outside = astype(outside, x.dtype)
    total: Any = 0
    for corner in itertools.product(*(_neighbours(c, order) for c in places)):
        indices, weights = zip(*corner, strict=True) if corner else ((), ())
        inside = [_inside(i, n, mode) for i, n in zip(indices, x.shape, strict=True)]
        part = x[tuple(index for index, _ in inside)]
        valid = [known for _, known in inside if known is not None]
        if valid:
            part = jnp.where(functools.reduce(jnp.logical_and, valid), part, outside)
        total = total + functools.reduce(jnp.multiply, [w for w in weights if w is not None], part)
    if x.dtype not in dtypes.INEXACT and total.dtype in dtypes.INEXACT:
        total = _rounded(total)
    return astype(total, x.dtype)


def _neighbours(place: Any, order: int) -> list[tuple[Any, Any]]:
    """(index, weight or None) of the elements from which a coordinate is interpolated."""
    if place.dtype not in dtypes.FLOAT:
        return [(astype(place, dtypes.int32), None)]
    if order == 0:
        return [(astype(_rounded(place), dtypes.int32), None)]
    below = jnp.floor(place)
    share = place - below
    index = astype(below, dtypes.int32)
    return [(index, 1 - share), (index + 1, share)]


def _rounded(x: Any) -> Any:
    """To whole numbers, halves away from zero."""
    return jnp.where(x < 0, jnp.ceil(x - 0.5), jnp.floor(x + 0.5))


def _inside(index: Any, n: int, mode: str) -> tuple[Any, Any]:
    """An index of an element, and in mode "constant" whether it is the one meant."""
    if mode == "constant":
        return jnp.clip(index, 0, n - 1), (index >= 0) & (index < n)
    if mode == "nearest":
        return jnp.clip(index, 0, n - 1), None
    if mode == "wrap":
        return index % n, None
    # Forth and back again: a period of 2n - 2 elements, with the last ones twice 2n.
    twice = mode == "reflect"
    period = max(1, 2 * n if twice else 2 * n - 2)
    place = index % period
    return jnp.minimum(place, period - twice - place), None


__all__ = ["map_coordinates"]
