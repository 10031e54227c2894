"""Ctrl-C during a long program.

XLA runs programs with loops inside the launch, on the calling thread, where Python cannot look at
signals. So programs with loops that are slow, or have not run yet, are launched by a thread while
the main thread waits in Python. Interrupted, the main thread goes on; the program ends in the
background and its results are dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from plait.core.program import Program, sub_programs
from plait.runtime.gate import in_callback

_LOOPS = frozenset(("while", "scan"))
# Launches shorter than this are made directly: nobody notices that Ctrl-C waits for them.
_SHORT = 0.05


def has_loops(program: Program) -> bool:
    """Whether a Program, or one inside it, has a loop."""
    return program.derived(
        "has_loops",
        lambda: any(
            eqn.op.name in _LOOPS or any(map(has_loops, sub_programs(eqn.params)))
            for eqn in program.equations
        ),
    )


def interruptible(execute: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """An executable's launch that answers Ctrl-C while it runs."""
    last = _SHORT  # the time of the last launch; the first one counts as long

    def launch(bufs: list[Any]) -> list[Any]:
        nonlocal last
        start = time.perf_counter()
        main = threading.current_thread() is threading.main_thread()
        outs = _in_thread(execute, bufs) if main and last >= _SHORT and not in_callback() else None
        if outs is None:
            outs = execute(bufs)
        last = time.perf_counter() - start
        return outs

    return launch


def _in_thread(execute: Callable[[list[Any]], list[Any]], bufs: list[Any]) -> list[Any]:
    done = threading.Event()
    results: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.extend(execute(bufs))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="plait launch", daemon=True).start()
    done.wait()  # unlike the launch itself, interruptible
    if errors:
        raise errors[0]
    return results
