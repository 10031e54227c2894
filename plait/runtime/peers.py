"""The other processes of a computation, as this one sees them.

`Session` is this process's connection to the coordinator (coordinator.py), a small process that
knows who is alive and what each runs. A program that several processes run together is announced
there, and starts when all have announced it: XLA would end a process that receives another
program's numbers. A thread launches it, while the caller waits for whatever comes first: its end,
or word that a process is gone. The thread may then be stuck for as long as XLA waits; the caller is
not.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import select
import socket
import sys
import threading
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from plait.errors import PeerLost, PlaitError, ProcessMismatch

T = TypeVar("T")

# How long an error of XLA's waits for the coordinator to say who is to blame.
_VERDICT_S = 3.0
_SHOWN = 160

# What may differ between the processes' texts of one program: places, and values of constants.
_PLACES = re.compile(r"\s*loc\(.*$", re.M)
_CONSTANTS = re.compile(r"stablehlo\.constant dense<[^>]*>")


class Label(NamedTuple):
    """A program that several processes run together: what to call it, and what it has to equal."""

    name: str
    number: int


def label(name: str, text: str) -> Label:
    """The label of a StableHLO module."""
    same = _CONSTANTS.sub("constant", _PLACES.sub("", text))
    return Label(name[:_SHOWN], zlib.crc32(same.encode()))


def send(sock: socket.socket, **message: Any) -> None:
    """One line of JSON. Raises OSError."""
    sock.sendall(json.dumps(message).encode() + b"\n")


class Lines:
    """The lines of JSON that arrive on a socket."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now. Raises ValueError for what is none."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = [json.loads(line) for line in lines if line]
        if not all(isinstance(m, dict) for m in found) or len(self._rest) > 1 << 16:
            raise ValueError("not a message")
        return found


class _Task:
    """A piece of work for the launching thread."""

    def __init__(self, work: Callable[[], Any], number: int):
        self.work, self.number = work, number
        self.over = threading.Event()  # it has ended, or there is no use in waiting
        self.started = self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None


class Session:
    """This process among `count`, connected to the coordinator by `sock`.

    `xla` is XLA's own client of its coordination service; `address` this machine's, as the
    coordinator sees it.
    """

    def __init__(self, sock: socket.socket, index: int, count: int, heartbeat_s: float):
        self.index, self.count = index, count
        self.address: str = sock.getsockname()[0]
        self.xla: Any = None
        self._sock, self._beat_s = sock, max(0.2, min(heartbeat_s / 4, 10.0))
        self._lines = Lines()
        self._launches = 0
        self._ended: dict[int, tuple[int, str]] = {}
        self._trouble: Callable[[str | None], PlaitError] | None = None
        self._troubled = threading.Event()
        self._leaving = False
        self._lock = threading.Lock()  # the tasks, and their order
        self._write = threading.Lock()
        self._open: list[_Task] = []
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        # Called when a launch is given up while its thread may be stuck.
        self.abandoned: list[Callable[[], None]] = []

    def start(self) -> None:
        """Watch the others from now on."""
        for work in (self._watch, self._launch):
            threading.Thread(target=work, name=f"plait peers {work.__name__}", daemon=True).start()

    # --- what is run together

    def run(self, program: Label, work: Callable[[], T]) -> T:
        """Do the work that launches a program and waits for its end, in step with the others.

        Raises: PeerLost if another process is gone; ProcessMismatch if one runs another program;
        what the work raises.
        """
        with self._lock:
            task = _Task(work, self._launches + 1)
            self._check(program.name, task.number)
            self._launches += 1
            self._open.append(task)
            self._send(launch=task.number, name=program.name, program=program.number)
        return self._wait(task, program.name)

    def call(self, name: str, work: Callable[[], T]) -> T:
        """Do work that waits for all other processes, without an announcement."""
        with self._lock:
            task = _Task(work, self._launches + 1)
            self._check(name, task.number)
            self._open.append(task)
            self._start(task)
        return self._wait(task, name)

    def _start(self, task: _Task) -> None:
        task.started = True
        self._tasks.put(task)

    def _wait(self, task: _Task, name: str) -> Any:
        # If Ctrl-C ends the wait, the task goes on: the others count on it.
        task.over.wait()
        if not task.ended:
            if task.started:
                for stop in self.abandoned:
                    stop()
            raise self._problem(name)
        if task.error is None:
            return task.result
        if not isinstance(task.error, PlaitError) and self._troubled.wait(_VERDICT_S):
            raise self._problem(name) from task.error
        raise task.error

    def _check(self, name: str, number: int) -> None:
        if self._leaving:
            raise PeerLost(
                "this process has left the others: plait.distributed.shutdown() was called",
                op=name,
                fix="call it after the last computation over devices of several processes",
            )
        if self._trouble is None:
            for index, (launches, why) in self._ended.items():
                if number > launches:
                    self._set_trouble(_ended(index, launches, why))
                    break
        if self._trouble is not None:
            raise self._problem(name)

    def _problem(self, name: str) -> PlaitError:
        assert self._trouble is not None
        problem = self._trouble(name)
        problem.given.setdefault("this_process", f"{self.index} of {self.count}")
        return problem

    def _launch(self) -> None:
        while True:
            task = self._tasks.get()
            if task.over.is_set():  # given up before it began
                continue
            try:
                task.result = task.work()
            except BaseException as error:
                task.error = error
            with self._lock:
                if task in self._open:
                    self._open.remove(task)
            task.ended = True
            task.over.set()
            del task

    # --- word from the others

    def _send(self, **message: Any) -> None:
        try:
            with self._write:
                send(self._sock, **message)
        except OSError:
            self._coordinator_lost()

    def _watch(self) -> None:
        while not self._leaving:
            try:
                if select.select([self._sock], [], [], self._beat_s)[0]:
                    data = self._sock.recv(1 << 16)
                    if not data:
                        raise OSError
                    for message in self._lines.feed(data):
                        self._hear(message)
            except (OSError, ValueError):
                self._coordinator_lost()
                return
            self._send(beat=1)

    def _hear(self, message: dict[str, Any]) -> None:
        if "go" in message:
            with self._lock:
                tasks = [task for task in self._open if task.number == message["go"]]
            for task in tasks:
                self._start(task)
        elif "lost" in message:
            self._set_trouble(_lost(message["lost"], message["why"]))
        elif "ended" in message:
            with self._lock:
                index, launches = message["ended"], message["launches"]
                self._ended[index] = launches, message["why"]
                if any(task.number > launches for task in self._open):
                    self._set_trouble(_ended(index, launches, message["why"]))
        elif "differ" in message:
            self._set_trouble(_differ(message["differ"], message["programs"]))

    def _coordinator_lost(self) -> None:
        if not self._leaving:
            self._set_trouble(_no_coordinator)

    def _set_trouble(self, trouble: Callable[[str | None], PlaitError]) -> None:
        if self._trouble is None:
            self._trouble = trouble
            self._troubled.set()
        while self._open:
            self._open.pop().over.set()

    # --- the end

    @property
    def has_trouble(self) -> bool:
        """Whether programs can no longer be run together."""
        return self._trouble is not None

    def leave(self) -> None:
        """Tell the others that this process will not run anything with them any more."""
        if self._leaving:
            return
        error = getattr(sys, "last_value", None)  # what this process dies of, if it does
        why = f"{type(error).__name__}: {error}"[:_SHOWN] if error is not None else ""
        self._send(bye=self._launches, why=why)
        self._leaving = True
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


def _lost(index: int, why: str) -> Callable[[str | None], PlaitError]:
    return lambda op: PeerLost(f"process {index} was lost", op=op, why=why, fix=_START_AGAIN)


def _ended(index: int, launches: int, why: str) -> Callable[[str | None], PlaitError]:
    return lambda op: PeerLost(
        f"process {index} has ended and takes no part in this",
        op=op,
        **({"it_died_of": why} if why else {}),
        programs_it_ran=launches,
        fix=_START_AGAIN if why else "let every process make the same calls, equally often",
    )


def _differ(launch: int, programs: dict[str, str]) -> Callable[[str | None], PlaitError]:
    shown = {f"process_{index}": name for index, name in sorted(programs.items())}
    inside = " (they differ inside)" if len(set(programs.values())) == 1 else ""
    return lambda op: ProcessMismatch(
        f"the processes run different programs over their devices{inside}",
        op=op,
        launch=launch,
        **shown,
        fix="let every process make the same calls in the same order, on arrays of equal shapes",
    )


def _no_coordinator(op: str | None) -> PlaitError:
    return PeerLost(
        "the coordinator was lost, which process 0 started",
        op=op,
        fix=_START_AGAIN,
    )


_START_AGAIN = "save what this process holds, end it, and start all processes again"

# The one session of this process, while it has one.
session: list[Session] = []


def current() -> Session | None:
    """The session, or None if this process computes alone."""
    return session[0] if session else None
