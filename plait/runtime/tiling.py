"""How an array is cut into equal parts for the devices of a mesh: the arithmetic of a sharding.

The devices form a mesh of `mesh_shape`, in row-major order. `dim_axes[d]` are the mesh axes that
split dimension d of the array, major first; over the axes that split nothing it is replicated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.errors import ArgumentError, ShapeError

Shape = tuple[int, ...]


class Tiling:
    """Which part of an array each position of a mesh holds."""

    __slots__ = ("dim_axes", "is_replicated", "mesh_shape", "parts")

    def __init__(self, mesh_shape: Shape, dim_axes: tuple[Shape, ...]) -> None:
        used = [a for axes in dim_axes for a in axes]
        if len(set(used)) < len(used) or not set(used) <= set(range(len(mesh_shape))):
            raise ArgumentError(
                "each mesh axis can split at most one dimension", mesh=mesh_shape, dim_axes=dim_axes
            )
        self.mesh_shape, self.dim_axes = mesh_shape, dim_axes
        # Into how many parts each dimension is cut.
        self.parts = tuple(math.prod(mesh_shape[a] for a in axes) for axes in dim_axes)
        self.is_replicated = math.prod(self.parts) == 1

    def tiles(self) -> tuple[list[int], list[int], int]:
        """The parts by dimension, the mesh axes in the order they split, the number of copies."""
        used = [a for axes in self.dim_axes for a in axes]
        rest = [a for a in range(len(self.mesh_shape)) if a not in used]
        return list(self.parts), used + rest, math.prod(self.mesh_shape[a] for a in rest)

    def shard_shape(self, shape: Shape) -> Shape:
        """The shape of one device's part. Raises ShapeError if a dimension does not divide."""
        if self.is_replicated:
            return shape
        if len(shape) != len(self.parts) or any(n % k for n, k in zip(shape, self.parts)):
            raise ShapeError(
                "an array's dimensions must divide into equal parts for its devices",
                shape=shape,
                parts=self.parts,
            )
        return tuple(n // k for n, k in zip(shape, self.parts))

    def index(self, k: int, shape: Shape) -> tuple[slice, ...]:
        """Where the part of device k lies in the whole array."""
        if self.is_replicated:
            return (slice(None),) * len(shape)
        coordinates = np.unravel_index(k, self.mesh_shape)
        index = []
        for size, axes, parts in zip(self.shard_shape(shape), self.dim_axes, self.parts):
            if parts == 1:
                index.append(slice(None))
                continue
            part = 0
            for a in axes:
                part = part * self.mesh_shape[a] + int(coordinates[a])
            index.append(slice(part * size, (part + 1) * size))
        return tuple(index)


def nest_grid(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    """How many devices each map of a nest is spread over, the outermost first; the product is at
    most count. Each takes as many as it has rows, or as divide its rows evenly.
    """
    grid = []
    for n in sizes:
        each = n if n <= count else max(k for k in range(1, count + 1) if n % k == 0)
        grid.append(each)
        count //= each
    return tuple(grid)


def spread_nest(devices: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """For each row of a nest of maps, the last axis fastest, the device it lies on."""
    places = np.zeros(1, np.int64)
    for n, each in zip(sizes, nest_grid(sizes, len(devices)), strict=True):
        places = (places[:, None] * each + np.arange(n) * each // n).reshape(-1)
    return [devices[k] for k in places.tolist()]
