"""The launch gate: why thousands of collectives in flight cannot deadlock on XLA's CPU client.

A CPU client runs one task per device of a multi-device program on one pool of threads, and the
participants of a collective block their threads until all have arrived. When launches pile up, one
participant holds a thread that another needs, and after a time-out XLA aborts the process. So a
multi-device program starts only when nothing else of this process is still running on the client,
and no single-device program can slip in while it is being launched.

Until the first multi-device program a gate is idle and single-device launches go around it. The
same switch stops all launches in a process that was forked from one with a running client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from plait.errors import BackendError, PlaitRuntimeError


class Waitable(Protocol):
    """What the gate needs of an output: a device buffer, or a token of a program without any."""

    def is_deleted(self) -> bool:
        """Whether there is nothing to wait for any more."""
        ...

    def is_ready(self) -> bool:
        """Whether the program has ended."""
        ...

    def block_until_ready(self) -> Any:
        """Wait for its end."""
        ...


# A launch gives its results and the cheapest thing that is ready when the program has ended.
Launch = Callable[[], tuple[list[Any], Waitable]]

# Python code called by a running program: the thread that holds the gate may be waiting for it.
_callback = threading.local()


class inside_callback:
    """Marks the current thread as running a host callback of a program."""

    def __enter__(self) -> None:
        _callback.depth = getattr(_callback, "depth", 0) + 1

    def __exit__(self, *exc: object) -> None:
        _callback.depth -= 1


def in_callback() -> bool:
    """Whether this thread is running a host callback."""
    return getattr(_callback, "depth", 0) > 0


class Gate:
    """Orders the launches on one CPU client.

    Args:
        live_arrays: every buffer on the client; asked once, at the first multi-device launch.
        failure: the exception a wait raises when the program failed. It is dropped here, since
            whoever reads the result sees it.
    """

    __slots__ = (
        "_abandoned",
        "_failure",
        "_forked",
        "_last",
        "_live_arrays",
        "_lock",
        "_pending",
        "active",
    )

    # Entries of ended threads are dropped when there are more than this.
    _PENDING_LIMIT = 64

    def __init__(
        self, live_arrays: Callable[[], Iterable[Waitable]], failure: type[Exception]
    ) -> None:
        self.active = self._forked = self._abandoned = False
        self._live_arrays, self._failure = live_arrays, failure
        self._lock = threading.Lock()
        self._last: Waitable | None = None
        # The programs of one thread on one device end in order, so the last stands for all.
        self._pending: dict[tuple[int, int], Waitable] = {}

    def single(self, device: int, launch: Launch) -> list[Any]:
        """Launch a program of one device while the gate is active."""
        self.check_process()
        if in_callback():
            return launch()[0]
        with self._lock:
            results, output = launch()
            self._pending[threading.get_ident(), device] = output
            if len(self._pending) > self._PENDING_LIMIT:
                self._pending = {k: w for k, w in self._pending.items() if self._running(w)}
        return results

    def multi(self, launch: Launch) -> list[Any]:
        """Launch a program of several devices once nothing else is running."""
        self.check_process()
        if in_callback():
            raise PlaitRuntimeError(
                "a host callback cannot start a program of several devices",
                fix="use one device inside the callback, or move the computation out of it",
            )
        if not self.active:
            self._activate()
        attempts = 0
        while True:
            with self._lock:
                busy = self._running(*self._pending.values(), self._last)
                if busy and attempts >= 3:  # other threads keep launching: stop them meanwhile
                    self._wait(busy)
                    busy = []
                if not busy:
                    self._pending.clear()
                    results, self._last = launch()
                    return results
            attempts += 1
            self._wait(busy)

    def drain(self) -> None:
        """Wait for everything on the client."""
        if not (self._forked or self._abandoned):
            with self._lock:
                self._wait(self._running(*self._pending.values(), self._last))
                self._wait(self._running(*self._live_arrays()))

    def after_fork(self) -> None:
        """Refuse launches from now on: this is a child process, without the client's threads."""
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self.active = self._forked = True

    def abandon(self) -> None:
        """Go on without the program that is running: it waits for a process that is gone."""
        self._lock = threading.Lock()  # whoever launches it may hold the old one for good
        self._last, self._abandoned = None, True

    def check_process(self) -> None:
        """Raise BackendError in a forked child, where a computation would hang."""
        if self._forked:
            raise BackendError(
                "this process was forked from one whose devices had started, and their threads do"
                " not exist here: any computation would hang",
                fix="use the multiprocessing start method 'spawn' or 'forkserver', or fork before"
                " the first array is made",
            )

    def _activate(self) -> None:
        with self._lock:
            # First the switch, so that launches from now on queue at the lock; then what went
            # around the gate before.
            self.active = True
            self._wait(self._running(*self._live_arrays()))

    def _running(self, *outputs: Waitable | None) -> list[Waitable]:
        running = []
        for output in outputs:
            if output is None or output.is_deleted():
                continue
            try:
                if not output.is_ready():
                    running.append(output)
            except self._failure:  # deleted by another thread since the line above
                continue
        return running

    def _wait(self, busy: Iterable[Waitable]) -> None:
        for output in busy:
            try:
                output.block_until_ready()
            except self._failure:
                continue
