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
_IDLE_SAMPLES = 4
_IDLE_CPU_S = 2e-5
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
    """Wait for programs whose results were dropped: for no C++ thread to be at work (Linux)."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return
    pythons = {thread.native_id for thread in threading.enumerate()}
    end, idle, spent = time.monotonic() + _IDLE_LIMIT_S, 0, _spent_elsewhere()
    while idle < _IDLE_SAMPLES and time.monotonic() < end:
        time.sleep(_PAUSE_S)
        before, spent = spent, _spent_elsewhere()
        # Two signs, since threads that hand work to each other can look asleep one by one, and on
        # a crowded machine a thread with work may get no time. Python's own threads may go on.
        worked = spent - before > _IDLE_CPU_S and len(pythons) == 1
        idle = 0 if worked or _any_running(tasks, pythons) else idle + 1


def _spent_elsewhere() -> float:
    """CPU time of all threads but this one."""
    return time.process_time() - time.thread_time()


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
