"""Ending a process while programs still run: XLA's threads must be idle by then.

When an interpreter exits, the C++ side of XLA is taken down under the threads of a program that
still runs, and the process dies of a segmentation fault after all its work was done. It happens
to a benchmark that does not wait for its last results, or after Ctrl-C in a wait.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from plait.runtime.gate import Gate

# How long to wait for threads whose results nobody holds any more.
_IDLE_LIMIT_S = 10.0
_IDLE_SAMPLES = 2
_PAUSE_S = 0.001


def finish(gates: Iterable[Gate]) -> None:
    """Wait for all programs; a Ctrl-C meanwhile ends the process at once."""
    try:
        used = False
        for gate in gates:
            gate.drain()
            used = True
        if used:
            _wait_for_idle_threads()
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + signal.SIGINT)


def _wait_for_idle_threads() -> None:
    """Wait for programs whose results were dropped: for no C++ thread to be running (Linux)."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return
    pythons = {thread.native_id for thread in threading.enumerate()}
    end, idle = time.monotonic() + _IDLE_LIMIT_S, 0
    while idle < _IDLE_SAMPLES and time.monotonic() < end:
        idle = 0 if _any_running(tasks, pythons) else idle + 1
        time.sleep(_PAUSE_S)


def _any_running(tasks: Path, ours: set[int | None]) -> bool:
    for task in tasks.iterdir():
        if int(task.name) in ours:
            continue
        try:
            # pid (name) state ...: the name may contain anything, the state follows its last ')'.
            state = (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except (OSError, IndexError):  # the thread ended meanwhile
            continue
        if state in "RD":
            return True
    return False
