"""plait.debug: looking into programs while they run, and at what they are made of."""

from plait.debug.printing import breakpoint, callback, log, print
from plait.debug.shardings import (
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)

__all__ = [
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
