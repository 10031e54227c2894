"""device_put and device_get: trees of arrays to devices, and to NumPy."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import tree
from plait.core.dtypes import KeyDType
from plait.core.interpreter import Tracer
from plait.core.source import called
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, ProcessMismatch, ShapeError, an, several
from plait.ops.sharding import constrain
from plait.runtime import client, peers, xla
from plait.runtime.array import Array, canonical_value, from_host, own_array
from plait.runtime.layout import Format
from plait.runtime.placement import (
    OnDevice,
    Placement,
    Sharded,
    Shown,
    fused_on,
    put_whole,
    rows_over,
    signature,
)
from plait.runtime.sharding import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    named,
)


def _is_device(x: Any) -> bool:
    return isinstance(x, xla.Device)


def _is_target(x: Any) -> bool:
    return x is None or _is_device(x) or isinstance(x, Sharding | PartitionSpec | Format)


def _is_list_of_devices(x: Any) -> bool:
    return isinstance(x, list | tuple) and bool(x) and all(map(_is_device, x))


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Arrays on a device, or spread over several.

    device: a device; a Sharding; None for the default device; a sequence of devices, over which the
    leading axis of every array is split in equal consecutive blocks (of fewer rows than devices,
    one to each of the first); or a tree of these that is a prefix of x. Of traced values a
    NamedSharding is a constraint, and the rest means nothing. With donate=True the memory of x may
    be taken; with may_alias=False an array that is there already is copied, not shared.

    Raises: ArgumentTypeError for what is no device; ShapeError for a leading axis that does not
    split evenly.

    >>> plait.device_put(np.arange(4.0).reshape(2, 2), plait.devices()[:2]).shape
    (2, 2)
    """
    leaves, structure = tree.flatten(x)
    if _is_list_of_devices(device) and not _same_shape(device, x):
        targets: list[Any] = [tuple(device)] * len(leaves)
    else:
        flat, shape = tree.flatten(device, _is_target)
        for d in flat:
            if not _is_target(d):
                raise ArgumentTypeError(
                    "device is a device, a sharding, or a list of devices",
                    op=called("device_put"),
                    device=d,
                    fix="plait.devices()[k], or NamedSharding(mesh, PartitionSpec(...))",
                )
        flat = [named(d, "device_put") for d in flat]
        if len(flat) == 1 and shape.num_nodes == 1:
            targets = flat * len(leaves)
        else:
            parts = tree.flatten_up_to(shape, x, "device_put")
            targets = []
            for d, part in zip(flat, parts, strict=True):
                targets += [d] * tree.structure(part).num_leaves
    out = []
    for k, (leaf, target) in enumerate(zip(leaves, targets, strict=True)):
        if not is_array(leaf):
            name = tree.leaf_names(x, "x")[k]
            raise ArgumentTypeError(
                f"{name} is not an array: it is {an(type(leaf).__name__)}",
                op="device_put",
                value=leaf,
            )
        y: Any = put_one(leaf, target)
        if may_alias is False and type(leaf) is Array and y.buf is leaf.buf:
            y = Array(xla.duplicate(leaf._live()), y.type, y.sig)
        out.append(y)
    return structure.unflatten(out)


def _same_shape(device: Any, x: Any) -> bool:
    return type(device) is type(x) and len(device) == len(x)


def put_one(x: Any, target: Any) -> Any:
    """One array to one target. Raises: DonatedError for one that has no value any more."""
    if isinstance(x, Tracer):
        return constrain_named(x, target, "device_put") if isinstance(target, NamedSharding) else x
    if type(x) is Array:
        x.check_live("device_put")
    if target is None:
        return own_array(x)
    if isinstance(target, SingleDeviceSharding):
        (target,) = target.device_set
    if _is_device(target):
        return _on_device(x, target)
    if isinstance(target, NamedSharding):
        return _sharded(x, target.lowered_for(type_of(x).shape, "device_put"))
    return spread(x, target)


def constrain_named(x: Any, sharding: NamedSharding, op: str) -> Any:
    """x with a constraint; as it is for a sharding of typeof(x), where no mesh is set."""
    return x if sharding.mesh.empty else constrain(x, sharding.lowered_for(type_of(x).shape, op))


def _on_device(x: Any, device: Any) -> Array:
    type_ = type_of(x)
    if xla.spans_processes((device,)):
        raise ArgumentError(
            f"the device belongs to process {device.process_index}",
            op="device_put",
            device=device,
            this_process=device.client.process_index(),
            fix="one of plait.local_devices(), or a NamedSharding over devices of all processes",
        )
    placement = OnDevice(device)
    if type(x) is Array:
        if x.placement is placement:
            return x
        if x.placement is None or isinstance(x.placement, OnDevice):
            buf = x._live()
            if xla.sharding_of(buf).devices[0] != device:
                buf = xla.copy_to(buf, device)
            return Array(buf, type_, signature(type_, placement))
    return from_host(_host(x), type_, device=device)


def _host(x: Any) -> np.ndarray:
    return x.host() if type(x) is Array else canonical_value(x, type_of(x))


def placement_at(target: Any, type: ArrayType) -> Placement | None:
    """Where put_one would put an array of a type: for a sharding, or None."""
    if isinstance(target, SingleDeviceSharding):
        (device,) = target.device_set
        return OnDevice(device)
    if isinstance(target, NamedSharding) and not target.mesh.empty:
        sharding = target.lowered_for(type.shape, "ShapeDtypeStruct")
        return Shown(sharding) if fused_on(sharding.devices) else Sharded(sharding)
    return None


def _sharded(x: Any, sharding: xla.Sharding) -> Array:
    type_ = type_of(x)
    if fused_on(sharding.devices):
        return _shown(x, Shown(sharding))
    placement = Sharded(sharding)
    if type(x) is Array and x.placement is placement:
        return x
    sharding.shard_shape(type_.shape)
    if not sharding.is_addressable:
        return _to_all(x, sharding)
    buf = put_whole(_host(x), sharding)
    return Array(buf, type_, signature(type_, placement))


def _to_all(x: Any, sharding: xla.Sharding) -> Array:
    """An array that all processes have, spread over devices of several; or one of several moved.

    Raises: ArgumentError if the processes have different values.
    """
    type_ = type_of(x)
    if type(x) is Array and not x.is_readable:
        return constrain(x, sharding)
    host = _host(x)
    if (session := peers.current()) is not None:
        name = f"device_put of {type_}"
        members = tuple(sorted({d.process_index for d in sharding.devices}))
        try:
            session.agree(peers.Label(name, zlib.crc32(host.tobytes()), members))
        except ProcessMismatch as error:
            doing = {v for k, v in error.given.items() if k.startswith("process_")}
            if len(doing) > 1:
                raise
            raise ArgumentError(
                "the processes do not give the same array",
                op="device_put",
                array=type_,
                **{k: v for k, v in error.given.items() if k.startswith("process_")},
                fix="give all of them equal values, or each its part with "
                "make_array_from_process_local_data",
            ) from error
    return Array(put_whole(host, sharding), type_, signature(type_, Sharded(sharding)))


def spread(x: Any, devices: Sequence[Any]) -> Array:
    """An array with its leading axis split over devices in equal consecutive blocks, as pmap takes
    it: fewer rows than devices go to the first of them, one each.
    """
    type_ = type_of(x)
    devices = tuple(devices)
    count = len(devices)
    if not type_.shape:
        raise ShapeError(
            f"a scalar has no rows to spread over {count} devices",
            op="device_put",
            x=x,
            fix="give it a leading axis, or name one device",
        )
    rows = type_.shape[0]
    if rows > count and rows % count:
        raise ShapeError(
            f"{rows} rows do not spread evenly over {count} devices",
            op="device_put",
            x=x,
            fix=f"pad it with {several(-rows % count, 'row')}, or use at most {count} rows or a "
            f"multiple of {count}, or name one device",
        )
    devices = devices[:rows] or devices
    if fused_on(devices):
        # The fused form of pmap keeps all lanes in one buffer.
        return _shown(x, Shown(rows_over(devices, type_.ndim)))
    if len(devices) == 1:
        return _on_device(x, devices[0])
    return _sharded(x, rows_over(devices, type_.ndim))


def _shown(x: Any, placement: Placement) -> Array:
    """An array in one buffer on the default device, shown as spread."""
    type_ = type_of(x)
    placement.parts(type_)  # raises if it does not divide
    array = own_array(x)
    if array.placement is placement:
        return array
    if array.placement is not None and not _on_default(array):
        array = from_host(array.host(), type_)
    return Array(_own(array, x), type_, signature(type_, placement))


def _own(array: Array, given: Any) -> Any:
    """The buffer of an array made from what the user gave, safe to donate: not the user's own."""
    buf = array._live()
    return xla.duplicate(buf) if array is given else buf


def _on_default(x: Array) -> bool:
    placement = x.placement
    if isinstance(placement, Shown):
        return not placement.once
    return isinstance(placement, OnDevice) and placement.devices[0] is client.base_device()


def _listed(devices: Any, op: str) -> tuple[Any, ...]:
    """A list of devices. Raises: ArgumentTypeError, ArgumentError."""
    try:
        found = tuple(devices)
    except TypeError:
        raise ArgumentTypeError(
            "devices is a list of devices", op=op, devices=devices, fix="give plait.devices()"
        ) from None
    if not found:
        raise ArgumentError("devices is empty", op=op, fix="give plait.devices()")
    return found


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Stack trees, one a device: every array gets a new leading axis, spread over the devices.

    Raises: ArgumentError unless there is one shard for each device.

    >>> x = plait.device_put_sharded([np.zeros(3), np.ones(3)], plait.devices()[:2])
    >>> x.shape, [shard.data.shape for shard in x.addressable_shards]
    ((2, 3), [(1, 3), (1, 3)])
    """
    devices = _listed(devices, "device_put_sharded")
    if len(shards) != len(devices):
        raise ArgumentError(
            f"{len(shards)} shards were given for {len(devices)} devices", op="device_put_sharded"
        )

    def stack(*parts: Any) -> Array:
        hosts = [_host(p) for p in parts]
        shapes = {h.shape for h in hosts}
        if len(shapes) > 1:
            raise ShapeError(
                "the shards have different shapes", op="device_put_sharded", shapes=sorted(shapes)
            )
        type_ = type_of(parts[0])
        whole = from_host(np.stack(hosts), type_.with_shape((len(hosts), *type_.shape)))
        return spread(whole, devices)

    return tree.map(stack, *shards)


def device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """Every array once for each device, along a new leading axis; stored once on CPU.

    >>> params = plait.device_put_replicated({"w": jnp.ones(3)}, plait.devices()[:2])
    >>> params["w"].shape
    (2, 3)
    """
    devices = _listed(devices, "device_put_replicated")

    def repeat(leaf: Any) -> Array:
        array = own_array(leaf)
        type_ = array.type.with_shape((len(devices), *array.shape))
        if fused_on(devices):
            if array.placement is not None and not _on_default(array):
                array = from_host(array.host(), array.type)
            buf = _own(array, leaf)
            placement = Shown(rows_over(devices, type_.ndim), once=(0,))
            return Array(buf, type_, signature(type_, placement))
        return spread(from_host(np.broadcast_to(array.host(), type_.shape), type_), devices)

    return tree.map(repeat, x)


def device_get(x: Any) -> Any:
    """Arrays as NumPy arrays, in their containers; waits for them. Other leaves stay, and typed
    keys, which NumPy does not have.

    >>> plait.device_get({"w": jnp.arange(3), "name": "first"})
    {'name': 'first', 'w': array([0, 1, 2], dtype=int32)}
    """

    def numbers(leaf: Any) -> Any:
        has_none = type(leaf) is not Array or isinstance(leaf.dtype, KeyDType)
        return leaf if has_none else leaf.numbers()

    return tree.map(numbers, x)


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree are computed; returns the tree.

    >>> y = plait.jit(lambda x: x @ x)(jnp.ones((100, 100)))
    >>> plait.block_until_ready(y).shape
    (100, 100)
    """
    for leaf in tree.leaves(x):
        if type(leaf) is Array:
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start copying the arrays of a tree to the host; returns the tree.

    >>> y = plait.copy_to_host_async(jnp.arange(3))  # returns at once
    >>> np.asarray(y)
    array([0, 1, 2], dtype=int32)
    """
    for leaf in tree.leaves(x):
        if type(leaf) is Array:
            leaf.copy_to_host_async()
    return x
