"""Where arrays lie, as users see it: meshes, partition specs, shardings, shards.

The runtime itself works with placements (placement.py); these classes describe them, and say where
`device_put` should put an array.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.runtime import xla
from plait.runtime.layout import Format, check_layout
from plait.runtime.mesh import AbstractMesh, Mesh
from plait.runtime.placement import OnDevice, Part, Sharded, Shown


class _Unconstrained:
    def __repr__(self) -> str:
        return "UNCONSTRAINED"


class PartitionSpec(tuple):
    """For each axis of an array the mesh axis (or axes) it is split over, or None.

    UNCONSTRAINED in place of None leaves the choice to the compiler.

    >>> plait.PartitionSpec("rows", None)
    PartitionSpec('rows', None)
    """

    UNCONSTRAINED = _Unconstrained()

    def __new__(cls, *parts: Any):
        return super().__new__(cls, parts)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"

    def __reduce__(self):
        return PartitionSpec, tuple(self)


class Sharding:
    """Base: which part of an array each device holds.

    >>> x = jnp.arange(4.0)
    >>> isinstance(x.sharding, plait.sharding.Sharding), x.sharding.num_devices
    (True, 1)
    """

    def __getattr__(self, name: str) -> Any:
        # The package jax asks for names of its own, if it meets an array of plait's.
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if "jax" in sys.modules and "plait.as_jax" not in sys.modules:
            text += (
                "\n  note  a library that uses the package jax was given an array of plait's"
                "\n  fix   python -m plait.as_jax program.py, so that the library uses plait"
            )
        raise AttributeError(text)

    def parts(self, shape: Sequence[int]) -> list[tuple[Any, tuple[slice, ...]]]:
        """(device, index of its part) for an array of a shape."""
        raise NotImplementedError

    @property
    def device_set(self) -> set[Any]:
        """The devices that hold parts."""
        raise NotImplementedError

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set[Any]:
        """Those of them that belong to this process."""
        return {d for d in self.device_set if d.process_index == d.client.process_index()}

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self.addressable_devices == self.device_set

    memory_kind = None

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
        """For each device the index of its part."""
        return dict(self.parts(global_shape))

    def addressable_devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> dict[Any, tuple[slice, ...]]:
        """The same for this process's devices."""
        here = self.addressable_devices
        return {d: index for d, index in self.parts(global_shape) if d in here}

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a part."""
        _, index = self.parts(global_shape)[0]
        return tuple(len(range(*s.indices(n))) for s, n in zip(index, global_shape, strict=True))

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both give the same parts to the same devices."""
        shape = (math.lcm(self.num_devices, other.num_devices),) * ndim
        return _plain(self.parts(shape), shape) == _plain(other.parts(shape), shape)


def _plain(parts: Any, shape: Sequence[int]) -> Any:
    return [(d, tuple(s.indices(n) for s, n in zip(i, shape, strict=True))) for d, i in parts]


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    >>> where = plait.sharding.SingleDeviceSharding(plait.devices()[1])
    >>> plait.device_put(jnp.ones(2), where).devices() == {plait.devices()[1]}
    True
    """

    def __init__(self, device: Any, *, memory_kind: str | None = None):
        self._device = device
        self.memory_kind = memory_kind

    def parts(self, shape):
        return [(self._device, (slice(None),) * len(shape))]

    @property
    def device_set(self):
        return {self._device}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

    def __hash__(self) -> int:
        return hash(self._device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r})"


class NamedSharding(Sharding):
    """Axes of an array split over named axes of a mesh.

    >>> mesh = plait.make_mesh((2,), ("rows",))
    >>> plait.NamedSharding(mesh, plait.P("rows", None)).shard_shape((8, 3))
    (4, 3)
    """

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: Any, *, memory_kind: str | None = None, **_: Any
    ):
        spec = spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec)
        used = [n for part in spec for n in spec_names(part)]
        unknown = [n for n in used if n not in mesh.axis_names]
        if unknown:
            raise ArgumentError(
                f"the mesh has no axis {unknown[0]!r}",
                op="NamedSharding",
                mesh=mesh,
                spec=spec,
            )
        if len(set(used)) != len(used):
            raise ArgumentError(
                "a mesh axis splits two axes of the array", op="NamedSharding", spec=spec
            )
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_kind

    def axes(self) -> tuple[tuple[int, ...], ...]:
        """For each entry of the spec the positions of its mesh axes."""
        position = {n: k for k, n in enumerate(self.mesh.axis_names)}
        return tuple(tuple(position[n] for n in spec_names(part)) for part in self.spec)

    def lowered(self, ndim: int) -> xla.Sharding:
        """The runtime's sharding for arrays of a rank. Raises ShapeError if the spec is longer."""
        axes = self.axes()
        if len(axes) > ndim:
            raise ShapeError(
                f"the spec has {len(axes)} entries, the array {ndim} axes",
                op="NamedSharding",
                spec=self.spec,
            )
        full = axes + ((),) * (ndim - len(axes))
        mesh = self._concrete()
        lowered = xla.tiled(tuple(mesh.devices.flat), mesh.devices.shape, full)
        _names_used[lowered] = self
        return lowered

    def update(self, **changed: Any) -> NamedSharding:
        """The sharding with another mesh, spec or memory_kind."""
        return NamedSharding(
            changed.get("mesh", self.mesh),
            changed.get("spec", self.spec),
            memory_kind=changed.get("memory_kind", self.memory_kind),
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """The sharding in another kind of memory."""
        return self.update(memory_kind=kind)

    def _concrete(self) -> Mesh:
        """The mesh, or the one of set_mesh with the same axes. Raises ArgumentError."""
        if isinstance(self.mesh, Mesh):
            return self.mesh
        mesh = state.mesh
        if not isinstance(mesh, Mesh) or mesh.abstract_mesh != self.mesh:
            raise ArgumentError(
                "the mesh has no devices",
                op="NamedSharding",
                mesh=self.mesh,
                fix="with plait.set_mesh(mesh): around it, for a Mesh with these axes",
            )
        return mesh

    def lowered_for(self, shape: Sequence[int], op: str) -> xla.Sharding:
        """`lowered`, for an array of a shape. Raises ShapeError if an axis does not divide."""
        lowered = self.lowered(len(shape))
        for d, (size, n) in enumerate(zip(shape, lowered.tiling.parts, strict=False)):
            if size % n:
                raise ShapeError(
                    f"axis {d} has size {size}, which does not divide into {n} parts",
                    op=op,
                    shape=tuple(shape),
                    sharding=self.spec,
                    fix="pad the axis, or leave it whole (None) in the spec",
                )
        return lowered

    def parts(self, shape):
        sharding = self.lowered(len(shape))
        return [(d, sharding.index(k, tuple(shape))) for k, d in enumerate(sharding.devices)]

    @property
    def device_set(self):
        return set(self._concrete().devices.flat)

    @property
    def is_fully_replicated(self):
        sizes = self.mesh.axis_sizes
        return all(sizes[k] == 1 for axes in self.axes() for k in axes)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NamedSharding) and self.mesh == other.mesh and self.spec == other.spec
        )

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec})"


def named(sharding: Any, op: str) -> Any:
    """A sharding; a PartitionSpec alone as one on the mesh of set_mesh. Raises TypeError."""
    if isinstance(sharding, Format):
        check_layout(sharding.layout, op)
        sharding = sharding.sharding
    if not isinstance(sharding, PartitionSpec):
        return sharding
    if not isinstance(state.mesh, Mesh):
        raise ArgumentTypeError(
            "a PartitionSpec alone needs a mesh",
            op=op,
            spec=sharding,
            fix="with plait.set_mesh(mesh): around it, or NamedSharding(mesh, spec)",
        )
    return NamedSharding(state.mesh, sharding)


def spec_names(part: Any) -> tuple[Any, ...]:
    """The mesh axes of one entry of a PartitionSpec, major first."""
    if part is None or part is PartitionSpec.UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


# The last sharding with names for each of the runtime's, to show arrays under the user's names.
_names_used: dict[xla.Sharding, NamedSharding] = {}


class Shard:
    """One device's part of an array: .device, .index, the part's place in the array, and .data.

    replica_id counts the devices that hold the same part.

    >>> mesh = plait.make_mesh((2,), ("i",))
    >>> x = plait.device_put(jnp.arange(4), plait.NamedSharding(mesh, plait.P("i")))
    >>> [(shard.index, shard.data.tolist()) for shard in x.addressable_shards]
    [((slice(0, 2, None),), [0, 1]), ((slice(2, 4, None),), [2, 3])]
    """

    __slots__ = ("_array", "_k", "device", "index", "replica_id")

    def __init__(self, array: Any, k: int, device: Any, index: tuple[slice, ...], replica_id: int):
        self._array, self._k = array, k
        self.device, self.index, self.replica_id = device, index, replica_id

    @property
    def data(self) -> Any:
        """The part as an array on its device; on CPU without a copy of the whole. None if the
        device belongs to another process.
        """
        from plait.runtime.array import from_host

        x = self._array
        placement = x.placement
        if self.device.process_index != self.device.client.process_index():
            return None
        if isinstance(placement, Sharded):
            shape = placement.sharding.shard_shape(x.shape)
            buf = xla.shard(x._live(), self._k, x.shape, xla_dtype(x))
            from plait.runtime.array import Array
            from plait.runtime.placement import signature

            type_ = x.type.with_shape(shape)
            return Array(buf, type_, signature(type_, OnDevice(self.device)))
        part = np.ascontiguousarray(x.host()[self.index])
        return from_host(part, x.type.with_shape(part.shape), copy=True, device=self.device)

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index})"


def xla_dtype(x: Any) -> np.dtype:
    """The dtype of an array's buffers: uint64 for keys."""
    return dtypes.storage(x.type.dtype)


def sharding_of_array(x: Any) -> Sharding:
    """The sharding of an Array, in users' terms."""
    found = sharding_of_placement(x.placement)
    if found is None:
        (device,) = x.devices()
        return SingleDeviceSharding(device)
    return found


def sharding_of_placement(placement: Any) -> Sharding | None:
    """A placement on several devices in users' terms; None for one on a single device."""
    if isinstance(placement, Sharded | Shown | Part) and len(placement.devices) > 1:
        s = placement.shown if isinstance(placement, Part) else placement.sharding
        if s in _names_used:
            return _names_used[s]
        names = tuple(f"d{k}" for k in range(len(s.tiling.mesh_shape)))
        mesh = Mesh(np.array(s.devices, dtype=object).reshape(s.tiling.mesh_shape), names)
        spec = [
            None
            if not axes
            else names[axes[0]]
            if len(axes) == 1
            else tuple(names[a] for a in axes)
            for axes in s.tiling.dim_axes
        ]
        while spec and spec[-1] is None:
            spec.pop()
        return NamedSharding(mesh, PartitionSpec(*spec))
    return None


def shards_of_array(x: Any, everywhere: bool = False) -> list[Shard]:
    """The parts of an Array in this process, or all."""
    placement = x.placement
    if placement is None:
        (device,) = x.devices()
        parts = [(device, (slice(None),) * x.ndim)]
    else:
        parts = placement.parts(x.type)
    seen: dict[Any, int] = {}
    shards = []
    for k, (device, index) in enumerate(parts):
        key = _plain([(None, index)], x.shape)[0][1]
        seen[key] = seen.get(key, -1) + 1
        if everywhere or device.process_index == device.client.process_index():
            shards.append(Shard(x, k, device, index, seen[key]))
    return shards
