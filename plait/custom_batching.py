"""plait.custom_batching: functions that say how vmap computes them."""

from plait.regions.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
