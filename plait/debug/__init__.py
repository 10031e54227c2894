"""plait.debug: looking into programs while they run, and at what they are made of."""

from plait.debug.printing import breakpoint, callback, log, print

__all__ = [
    "breakpoint",
    "callback",
    "log",
    "print",
]
