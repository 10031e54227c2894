"""Arrays put together from parts that lie on devices, or that a function makes.

Of an array over devices of several processes each process gives the parts on its own devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ShapeError, several
from plait.runtime import xla
from plait.runtime.array import Array, canonical_value, from_host
from plait.runtime.placement import Sharded, signature
from plait.runtime.sharding import NamedSharding, Sharding, named
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

    It is called once for each different part on this process's devices. Raises: ShapeError for a
    part of another shape.

    >>> data = np.arange(4.0)
    >>> s = plait.sharding.SingleDeviceSharding(plait.devices()[0])
    >>> plait.make_array_from_callback((4,), s, lambda index: data[index])
    Array([0., 1., 2., 3.], dtype=float32)
    """
    shape, sharding = tuple(shape), named(sharding, "make_array_from_callback")
    made: dict[Any, Any] = {}
    parts = []
    for _, index in _own(sharding.parts(shape)):
        if (at := _span(index, shape)) not in made:
            made[at] = data_callback(index)
        parts.append((index, made[at]))
    return _whole(shape, sharding, parts, dtype, "make_array_from_callback")


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """An array from its parts: one array for each device, which lies there or comes in its place.

    Raises: ArgumentError unless there is one for each device of this process; ShapeError for a part
    of another shape.

    >>> spread = plait.NamedSharding(plait.make_mesh((2,), ("i",)), plait.P("i"))
    >>> parts = [plait.device_put(np.full(2, k), d) for k, d in enumerate(plait.devices()[:2])]
    >>> plait.make_array_from_single_device_arrays((4,), spread, parts)
    Array([0, 0, 1, 1], dtype=int32)
    """
    shape, op = tuple(shape), "make_array_from_single_device_arrays"
    places = _own(sharding.parts(shape))
    if len(arrays) != len(places):
        raise ArgumentError(
            f"{several(len(arrays), 'array')} for the parts on {several(len(places), 'device')}",
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

    Along each axis the data are what lies on this process's devices, in order; or, if global_shape
    says that there is no more, all there is. Without global_shape all processes have equally much.
    Raises: ShapeError for data that are neither.

    >>> mesh = plait.make_mesh((2,), ("i",))
    >>> spread = plait.NamedSharding(mesh, plait.P("i"))
    >>> plait.make_array_from_process_local_data(spread, np.arange(4.0))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    op, data = "make_array_from_process_local_data", type_of(local_data)
    sharding = named(sharding, op)
    own = _own_blocks(sharding, data.ndim)
    if global_shape is None:
        shape = tuple(
            n * parts // len(blocks) for n, (parts, blocks) in zip(data.shape, own, strict=True)
        )
    else:
        shape = tuple(global_shape)
        here = tuple(
            n * len(blocks) // parts for n, (parts, blocks) in zip(shape, own, strict=False)
        )
        if len(shape) != data.ndim or any(
            have not in (n, m) for have, n, m in zip(data.shape, shape, here, strict=True)
        ):
            raise ShapeError(
                "the data is neither the whole array nor what lies on the devices of this process",
                op=op,
                local_data=data,
                global_shape=shape,
                on_its_devices=here,
            )
    if sharding.is_fully_addressable:
        return device_put(local_data, sharding)
    lowered = sharding.lowered_for(shape, op)
    host = local_data.host() if type(local_data) is Array else canonical_value(local_data, data)
    parts = []
    for k in lowered.local:
        index = []
        spans = _span(lowered.index(k, shape), shape)
        for have, n, (_, blocks), (start, stop, _) in zip(
            data.shape, shape, own, spans, strict=True
        ):
            if have != n:  # count the blocks that this process has
                size = stop - start
                start = blocks.index(start // size) * size if size else 0
                stop = start + size
            index.append(slice(start, stop))
        parts.append((lowered.index(k, shape), host[tuple(index)]))
    return _whole(shape, sharding, parts, data.dtype, op)


def _own(places: Sequence[tuple[Any, Index]]) -> list[tuple[Any, Index]]:
    """Those of (device, index) whose device is this process's."""
    return [(d, i) for d, i in places if d.process_index == d.client.process_index()]


def _own_blocks(sharding: Any, ndim: int) -> list[tuple[int, list[int]]]:
    """For each axis (into how many blocks it is cut, which of them this process has)."""
    if not isinstance(sharding, NamedSharding):
        return [(1, [0])] * ndim
    lowered = sharding.lowered(ndim)
    if lowered.is_replicated:
        return [(1, [0])] * ndim
    counts = lowered.tiling.parts
    own = [_span(lowered.index(k, counts), counts) for k in lowered.local]
    return [
        (n, sorted({start for start, _, _ in starts}))
        for n, starts in zip(counts, zip(*own, strict=True), strict=True)
    ]


def _whole(
    shape: tuple[int, ...],
    sharding: Any,
    parts: Sequence[tuple[Index, Any]],
    dtype: Any,
    op: str,
) -> Array:
    """The array with the given parts, one for each of this process's devices, spread as asked."""
    if dtype is None:
        if not parts:
            raise ArgumentError("an array without parts needs a dtype", op=op, shape=shape)
        wanted = type_of(parts[0][1]).dtype
    else:
        wanted = dtypes.canonical(dtypes.as_dtype(dtype))
    type_ = ArrayType(shape, wanted)
    storage, values = dtypes.storage(wanted), []
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
        values.append(value.astype(storage, copy=False))
    if not sharding.is_fully_addressable:
        lowered = sharding.lowered_for(shape, op)
        here = [lowered.devices[k] for k in lowered.local]
        buf = xla.put_shards(values, here, shape, lowered)
        return Array(buf, type_, signature(type_, Sharded(lowered)))
    whole = np.empty(shape, storage)
    for (index, _), value in zip(parts, values, strict=True):
        whole[index] = value
    return put_one(from_host(whole, type_, copy=False), sharding)


__all__ = [
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]
