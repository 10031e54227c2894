"""Forget everything that was traced and compiled."""

from plait.core.stage import clear_stage_cache
from plait.runtime import startup
from plait.runtime.eager import eager
from plait.transforms.transformed import clear_tables


def clear_caches() -> None:
    """Drop all traces and executables of the process; the next calls trace and compile anew.

    Memory that arrays of the past have left behind goes back to the system.

    >>> plait.clear_caches()
    """
    clear_tables()
    clear_stage_cache()
    eager.table.clear()
    startup.trim_malloc()
