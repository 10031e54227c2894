"""What a workload is, and the list of them all.

A workload is written once, for either library: it receives the imported package (plait or jax),
prepares what it needs and returns a function that takes one measurement. This module imports
neither library, so that the command can list workloads without starting one.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GROUPS = ["start", "dispatch", "tutorial", "training", "compiling", "eager", "compute", "memory"]


@dataclass(frozen=True)
class Workload:
    name: str
    group: str
    prepare: Callable[[Any], Callable[[], float]]  # library -> a function that measures once
    budget: str | None = None  # plait's figure may be at most this part of JAX's: "1/3", "0.85"
    unit: str = "s"  # of a measurement: "s" for seconds, "B" for bytes
    quick: bool = True  # short enough for --quick


WORKLOADS: dict[str, Workload] = {}


def workload(name, *, budget=None, unit="s", quick=True):
    """Enter the decorated function under a name."""

    def enter(prepare):
        group = prepare.__module__.rpartition(".")[2]
        assert name not in WORKLOADS, f"two workloads are called {name}"
        WORKLOADS[name] = Workload(name, group, prepare, budget, unit, quick)
        return prepare

    return enter


def load_all():
    """Import every group, in the order of the table."""
    for group in GROUPS:
        importlib.import_module(f"benchmarks.workloads.{group}")
    return WORKLOADS
