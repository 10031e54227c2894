"""Where an array lies: the part of an Array's cache key that its type does not say.

An array without a placement lies on the default device and may be moved freely. The others are
interned, so that they compare by identity, as types do.

- OnDevice: put on one device by the user.
- Shown: one buffer on one device, shown as spread by a sharding: results of maps whose lanes were
  computed as one program on one device (the fused form). What is equal along an axis may be stored
  once, without that axis.
- Sharded: one buffer with a part on each of several devices (the gang form, shardings). Some of
  them may belong to other processes.
- Part: what this process has of such a buffer, as an array of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.types import ArrayType
from plait.ops.across import Share
from plait.runtime import xla
from plait.runtime.xla import Device

_interned: dict[tuple, Any] = {}


class Placement:
    """Base: where the parts of an array are."""

    __slots__ = ("devices",)
    devices: tuple[Device, ...]

    def stored(self, type: ArrayType) -> ArrayType:
        """The type of the buffer behind an array of a type."""
        return type

    def parts(self, type: ArrayType) -> list[tuple[Device, tuple[slice, ...]]]:
        """(device, index of its part) as the user sees them."""
        raise NotImplementedError


class OnDevice(Placement):
    """The whole array on one device."""

    __slots__ = ()

    def __new__(cls, device: Device):
        key = (cls, device)
        if key not in _interned:
            self = object.__new__(cls)
            self.devices = (device,)
            _interned.setdefault(key, self)
        return _interned[key]

    def parts(self, type):
        return [(self.devices[0], (slice(None),) * type.ndim)]

    def __repr__(self) -> str:
        return f"OnDevice({self.devices[0]})"


class Shown(Placement):
    """The whole array in one buffer on one device, shown as spread by a sharding: what a sharding
    means where one program computes for all devices (CPU).

    Along the axes in `once` all positions are equal: the buffer has one of them, and not the axis.
    """

    __slots__ = ("once", "sharding")
    sharding: xla.Sharding
    once: tuple[int, ...]

    def __new__(cls, sharding: xla.Sharding, once: tuple[int, ...] = ()):
        key = (cls, sharding, once)
        if key not in _interned:
            self = object.__new__(cls)
            self.sharding, self.once, self.devices = sharding, once, tuple(sharding.devices)
            _interned.setdefault(key, self)
        return _interned[key]

    def stored(self, type):
        if not self.once:
            return type
        return type.with_shape(n for k, n in enumerate(type.shape) if k not in self.once)

    def parts(self, type):
        return [(d, self.sharding.index(k, type.shape)) for k, d in enumerate(self.devices)]

    def __repr__(self) -> str:
        once = f", once={self.once}" if self.once else ""
        return f"Shown({list(self.devices)}, {self.sharding.tiling.dim_axes}{once})"


class Sharded(Placement):
    """Parts in buffers on several devices, as a sharding says."""

    __slots__ = ("sharding",)
    sharding: xla.Sharding

    def __new__(cls, sharding: xla.Sharding):
        key = (cls, sharding)
        if key not in _interned:
            self = object.__new__(cls)
            self.sharding, self.devices = sharding, tuple(sharding.devices)
            _interned.setdefault(key, self)
        return _interned[key]

    def parts(self, type):
        return [(d, self.sharding.index(k, type.shape)) for k, d in enumerate(self.devices)]

    def __repr__(self) -> str:
        return f"Sharded({list(self.devices)}, {self.sharding.tiling.dim_axes})"


class Part(Placement):
    """This process's share of an array of several processes, in a buffer with what it has of the
    whole; `shown` as spread over its devices.
    """

    __slots__ = ("sharding", "share", "shown")
    sharding: xla.Sharding
    share: Share
    shown: xla.Sharding

    def __new__(cls, sharding: xla.Sharding, share: Share, shown: xla.Sharding):
        key = (cls, sharding, share, shown)
        if key not in _interned:
            self = object.__new__(cls)
            self.sharding, self.share, self.shown = sharding, share, shown
            self.devices = tuple(shown.devices)
            _interned.setdefault(key, self)
        return _interned[key]

    def stored(self, type):
        return self.share.whole(type)

    def parts(self, type):
        return [(d, self.shown.index(k, type.shape)) for k, d in enumerate(self.devices)]

    def host(self, buf: Any, type: ArrayType) -> np.ndarray:
        """The value, read-only, once it is ready; a view if it is all on one device."""
        shape, dtype = self.stored(type).shape, dtypes.storage(type.dtype)
        axis, start, stop = self.share[:3]
        if axis is None:
            return xla.shard_to_host(buf, self.sharding.local[0], shape, dtype)
        value = np.empty(type.shape, dtype)
        for k in self.sharding.local:
            index = list(self.sharding.index(k, shape))
            begin, end, _ = index[axis].indices(shape[axis])
            first, last = max(begin, start), min(end, stop)
            if first >= last:
                continue
            piece = xla.shard_to_host(buf, k, shape, dtype)
            piece = piece[(*[slice(None)] * axis, slice(first - begin, last - begin))]
            if piece.shape == type.shape:
                return piece
            index[axis] = slice(first - start, last - start)
            value[tuple(index)] = piece
        value.flags.writeable = False
        return value

    def __repr__(self) -> str:
        return f"Part({self.share[:4]} of {self.sharding.tiling.dim_axes}, {list(self.devices)})"


def put_whole(host: np.ndarray, sharding: xla.Sharding) -> Any:
    """A buffer with the parts of a host array that a sharding gives to this process's devices."""
    here = [sharding.devices[k] for k in sharding.local]
    parts = [np.ascontiguousarray(host[sharding.index(k, host.shape)]) for k in sharding.local]
    return xla.put_shards(parts, here, host.shape, sharding)


def rows_over(devices: Sequence[Device], ndim: int) -> xla.Sharding:
    """The leading axis of an array of a rank split over devices in equal consecutive blocks."""
    if len(devices) == 1:
        return xla.single(devices[0])
    return xla.tiled(devices, (len(devices),), ((0,), *((),) * (ndim - 1)))


def fused_on(devices: Sequence[Device]) -> bool:
    """Whether maps over these devices are computed as one program on one device (the fused form).

    Then arrays shown on them lie in one buffer. The switch `pmap_form` decides, or the platform.
    """
    if xla.spans_processes(devices):
        return False
    if state.pmap_form == "auto":
        return devices[0].platform == "cpu"
    return state.pmap_form == "fused"


class Placed:
    """A type with a placement: the cache key of an array that is not on the default device."""

    __slots__ = ("placement", "type")

    def __new__(cls, type: ArrayType, placement: Placement):
        key = (type, placement)
        if key not in _interned:
            self = object.__new__(cls)
            self.type, self.placement = type, placement
            _interned.setdefault(key, self)
        return _interned[key]

    def __repr__(self) -> str:
        return f"Placed({self.type}, {self.placement})"


def signature(type: ArrayType, placement: Placement | None) -> ArrayType | Placed:
    """What stands for an array in a cache key: its type, with the placement if it has one."""
    return type if placement is None else Placed(type, placement)


def placement_of(signature: ArrayType | Placed) -> Placement | None:
    """The placement in a cache key; None for the default device."""
    return signature.placement if isinstance(signature, Placed) else None
