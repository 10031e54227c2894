"""Arrays put together from parts that lie on devices, or that a function makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ShapeError
from plait.runtime.array import Array, canonical_value, from_host
from plait.runtime.sharding import Sharding, named
from plait.runtime.transfer import device_put, put_one

Index = tuple[slice, ...]


def _span(index: Index, shape: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    return tuple(s.indices(n) for s, n in zip(index, shape, strict=True))


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Any,
    data_callback: Callable[[Index], Any],
    dtype: Any = None,
) -> Array:
    """An array whose parts a function makes: data_callback(index) gives the part at an index.

    It is called once for each different part. Raises: ShapeError for a part of another shape.

    >>> data = np.arange(4.0)
    >>> s = plait.sharding.SingleDeviceSharding(plait.devices()[0])
    >>> plait.make_array_from_callback((4,), s, lambda index: data[index])
    Array([0., 1., 2., 3.], dtype=float32)
    """
    shape, sharding = tuple(shape), named(sharding, "make_array_from_callback")
    made: dict[Any, Any] = {}
    for _, index in sharding.parts(shape):
        if (at := _span(index, shape)) not in made:
            made[at] = index, data_callback(index)
    parts = list(made.values())
    return _whole(shape, sharding, parts, dtype, "make_array_from_callback")


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """An array from its parts: one array for each device, which lies there or comes in its place.

    Raises: ArgumentError unless there is one for each device; ShapeError for a part of another
    shape.

    >>> spread = plait.NamedSharding(plait.make_mesh((2,), ("i",)), plait.P("i"))
    >>> parts = [plait.device_put(np.full(2, k), d) for k, d in enumerate(plait.devices()[:2])]
    >>> plait.make_array_from_single_device_arrays((4,), spread, parts)
    Array([0, 0, 1, 1], dtype=int32)
    """
    shape, op = tuple(shape), "make_array_from_single_device_arrays"
    places = sharding.parts(shape)
    if len(arrays) != len(places):
        raise ArgumentError(
            f"{len(arrays)} arrays were given for the parts on {len(places)} devices",
            op=op,
            sharding=sharding,
        )
    home = {next(iter(x.devices())): x for x in arrays if len(x.devices()) == 1}
    if set(home) == {device for device, _ in places}:
        arrays = [home[device] for device, _ in places]
    parts = [(index, x) for (_, index), x in zip(places, arrays, strict=True)]
    return _whole(shape, sharding, parts, dtype, op)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """An array from the data that this process has of it: in a single process, all of it.

    Raises: ShapeError if global_shape says that there is more.

    >>> mesh = plait.make_mesh((2,), ("i",))
    >>> spread = plait.NamedSharding(mesh, plait.P("i"))
    >>> plait.make_array_from_process_local_data(spread, np.arange(4.0))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    shape = np.shape(local_data)
    if global_shape is not None and tuple(global_shape) != shape:
        raise ShapeError(
            "the data of the only process is not the whole array",
            op="make_array_from_process_local_data",
            local_data=local_data,
            global_shape=tuple(global_shape),
        )
    return device_put(local_data, sharding)


def _whole(
    shape: tuple[int, ...],
    sharding: Any,
    parts: Sequence[tuple[Index, Any]],
    dtype: Any,
    op: str,
) -> Array:
    """The array with the given parts, where a sharding says."""
    if dtype is None:
        if not parts:
            raise ArgumentError("an array without parts needs a dtype", op=op, shape=shape)
        wanted = type_of(parts[0][1]).dtype
    else:
        wanted = dtypes.canonical(dtypes.as_dtype(dtype))
    type_ = ArrayType(shape, wanted)
    whole = np.empty(shape, dtypes.storage(wanted))
    for index, part in parts:
        have = type_of(part)
        room = tuple(len(range(*span)) for span in _span(index, shape))
        if have.shape != room:
            raise ShapeError(
                "a part has another shape than its place in the array",
                op=op,
                part=have,
                place=room,
                index=index,
            )
        value = part.host() if type(part) is Array else canonical_value(part, have)
        whole[index] = value.astype(whole.dtype, copy=False)
    return put_one(from_host(whole, type_, copy=False), sharding)


__all__ = [
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]
