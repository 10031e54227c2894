"""sharding_constraint: say how an array inside a program should be spread over devices."""

from __future__ import annotations

from typing import Any

from plait.core.primitive import Linear, register
from plait.runtime import xla


class ShardingConstraint(Linear):
    """x, spread as a sharding says. On one device it means nothing; it never changes a value."""

    name = "sharding_constraint"

    def type(self, x, *, sharding):
        return x

    def numpy(self, x, *, sharding):
        return x

    def transpose(self, ct, x, *, sharding):
        return (self.bind(ct, sharding=sharding),)

    def batch(self, frame, xs, mapped, *, sharding):
        tiling = sharding.tiling
        dims = ((), *tiling.dim_axes) if tiling.dim_axes else ()
        moved = xla.tiled(sharding.devices, tiling.mesh_shape, dims)
        return self.bind(*xs, sharding=moved), True

    def lower(self, b, x, *, sharding):
        return x if b.shard is None else b.shard(x, sharding)


sharding_constraint_p = register(ShardingConstraint())


def constrain(x: Any, sharding: xla.Sharding) -> Any:
    """x with a constraint; a sharding of the runtime."""
    return sharding_constraint_p.bind(x, sharding=sharding)
