"""Where an array lies: the part of an Array's cache key that its type does not say.

An array without a placement lies on the default device and may be moved freely. The others are
interned, so that they compare by identity, as types do.

- OnDevice: put on one device by the user.
- Lanes: the result of a map whose lanes were computed as one program on one device (the fused
  form). The user sees one block a device. If `stacked` is false, all lanes hold one value, which is
  stored once, without the mapped axis.
- Shown: one buffer on one device, shown as spread by a sharding.
- Sharded: one buffer with a part on each of several devices (the gang form, shardings).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.config import state
from plait.core.types import ArrayType
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


class Lanes(Placement):
    """The rows of an axis spread over devices, as a map makes and takes them, in one buffer; not
    stacked: all rows are equal and the buffer holds one of them.
    """

    __slots__ = ("axis", "stacked")
    axis: int
    stacked: bool

    def __new__(cls, devices: tuple[Device, ...], axis: int = 0, stacked: bool = True):
        key = (cls, devices, axis, stacked)
        if key not in _interned:
            self = object.__new__(cls)
            self.devices, self.axis, self.stacked = devices, axis, stacked
            _interned.setdefault(key, self)
        return _interned[key]

    def stored(self, type):
        if self.stacked:
            return type
        return type.with_shape(type.shape[: self.axis] + type.shape[self.axis + 1 :])

    def parts(self, type):
        each = type.shape[self.axis] // len(self.devices)
        whole = (slice(None),) * type.ndim
        return [
            (d, (*whole[: self.axis], slice(k * each, (k + 1) * each), *whole[self.axis + 1 :]))
            for k, d in enumerate(self.devices)
        ]

    def __repr__(self) -> str:
        return f"Lanes({list(self.devices)}, axis={self.axis}, stacked={self.stacked})"


class _BySharding(Placement):
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
        return f"{type(self).__name__}({list(self.devices)}, {self.sharding.tiling.dim_axes})"


class Shown(_BySharding):
    """The whole array in one buffer, shown as spread by a sharding: what a sharding means where one
    program computes for all devices (CPU).
    """

    __slots__ = ()


class Sharded(_BySharding):
    """Parts in buffers on several devices, as a sharding says."""

    __slots__ = ()


def fused_on(devices: Sequence[Device]) -> bool:
    """Whether maps over these devices are computed as one program on one device (the fused form).

    Then arrays shown on them lie in one buffer. The switch `pmap_form` decides, or the platform.
    """
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
