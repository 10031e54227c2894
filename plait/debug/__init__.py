"""plait.debug: looking into programs while they run, and at what they are made of."""

from plait.debug.explain import explain
from plait.debug.printing import breakpoint, callback, log, print
from plait.debug.shardings import (
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)
from plait.debug.varying import show_variance

__all__ = [
    "breakpoint",
    "callback",
    "explain",
    "inspect_array_sharding",
    "log",
    "print",
    "show_variance",
    "visualize_array_sharding",
    "visualize_sharding",
]
