"""plait.experimental.mesh_utils: grids of devices for meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.errors import ArgumentError
from plait.runtime import client


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices in a grid of a shape, in their order; for Mesh.

    The other arguments arrange TPUs by their wires, and change nothing here.
    Raises: ArgumentError unless the grid has a place for each device and no more.

    >>> from plait.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1, plait.device_count())).shape[0]
    1
    """
    found = list(client.devices() if devices is None else devices)
    if math.prod(mesh_shape) != len(found):
        raise ArgumentError(
            f"a mesh of {math.prod(mesh_shape)} devices was asked, there are {len(found)}",
            op="create_device_mesh",
            mesh_shape=tuple(mesh_shape),
            fix="devices=plait.devices()[:n]",
        )
    return np.array(found, dtype=object).reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices in a grid whose axis k has mesh_shape[k] neighbours for each of dcn_mesh_shape[k]
    groups: those of one slice, or of one process, share a group.

    Raises: ArgumentError if the groups do not fit dcn_mesh_shape.

    >>> from plait.experimental import mesh_utils
    >>> mesh_utils.create_hybrid_device_mesh((2, 1), (1, 1), process_is_granule=True).shape
    (2, 1)
    """
    found = list(client.devices() if devices is None else devices)
    by_slice = not process_is_granule and hasattr(found[0], "slice_index")
    groups: dict[int, list[Any]] = {}
    for device in found:
        key = device.slice_index if by_slice else device.process_index
        groups.setdefault(key, []).append(device)
    if len(groups) != math.prod(dcn_mesh_shape):
        raise ArgumentError(
            f"{math.prod(dcn_mesh_shape)} groups of devices were asked, there are {len(groups)}",
            op="create_hybrid_device_mesh",
            dcn_mesh_shape=tuple(dcn_mesh_shape),
            groups="slices" if by_slice else "processes",
        )
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    blocks = np.empty(len(keys), dtype=object)
    for k, key in enumerate(keys):
        blocks[k] = create_device_mesh(mesh_shape, groups[key])
    return np.block(blocks.reshape(tuple(dcn_mesh_shape)).tolist())


__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
