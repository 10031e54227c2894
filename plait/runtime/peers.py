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
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from plait.errors import PeerLost, PlaitError, ProcessMismatch

T = TypeVar("T")
# What went wrong, as the error of whatever was called.
_Problem = Callable[[str], PlaitError]

# How long an error of XLA's waits for the coordinator to say who is to blame.
_VERDICT_S = 3.0
_SHOWN = 160

# What may differ between the processes' texts of one program: places in files, constants, and the
# numbers of values, which depend on how many constants are equal.
_STRING = r'"(?:[^"\\]|\\.)*"'
_PLACES = re.compile(rf' ?loc\((?:{_STRING}|[^()"]|\((?:{_STRING}|[^()"])*\))*\)')
_CONSTANTS = re.compile(r'^.*"stablehlo\.constant".*\n', re.M)
_NUMBERS = re.compile(r"%\d+")
# The locations of collectives: the op, the file and the line.
_COLLECTIVES = re.compile(
    r"loc\(\"(?:[^\"\\]*/)?(psum|pmax|pmin|all_gather|psum_scatter|all_to_all|ppermute)\""
    r"\(\"(?:[^\"\\]*/)?([^\"\\/]*)\":(\d+):"
)


class Label(NamedTuple):
    """What several processes do together: what to call it, a number in which they have to agree,
    which processes they are, and for messages the collectives in it.
    """

    name: str
    number: int
    members: tuple[int, ...]
    inside: str = ""


def label(name: str, text: str | bytes, members: Iterable[int]) -> Label:
    """The label of a program, a StableHLO module, for the devices of some processes."""
    text = text if isinstance(text, str) else text.decode("latin-1")
    same = _NUMBERS.sub("%", _CONSTANTS.sub("", _PLACES.sub("", text)))
    name = name if len(name) <= _SHOWN else name[: _SHOWN - 3] + "..."
    found = [f"{op} at {file}:{line}" for op, file, line in _COLLECTIVES.findall(text)]
    inside = ", ".join(dict.fromkeys(found))
    return Label(name, zlib.crc32(same.encode()), tuple(sorted(set(members))), inside[:_SHOWN])


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
    """What this process has announced: which of its members' common ones it is, and the work."""

    def __init__(self, work: Callable[[], Any] | None, members: tuple[int, ...], number: int):
        self.work, self.members, self.number = work, members, number
        self.over = threading.Event()  # it has ended, or there is no use in waiting
        self.started = self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.problem: _Problem | None = None


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
        # How often each group of processes has been announced something, by this process.
        self._counts: dict[tuple[int, ...], int] = {}
        self._ended: dict[int, tuple[dict[str, int], str]] = {}
        self._trouble: _Problem | None = None
        self._troubled = threading.Event()
        self._leaving = False
        self._lock = threading.Lock()  # the tasks, and their order
        self._write = threading.Lock()
        self._open: list[_Task] = []
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        # Called when a launch is given up while its thread may be stuck.
        self.abandoned: list[Callable[[], None]] = []

    @property
    def place(self) -> dict[str, int]:
        """Which process this is of how many, in XLA's words."""
        return {"node_id": self.index, "num_nodes": self.count}

    def start(self) -> None:
        """Watch the others from now on."""
        for work in (self._watch, self._launch):
            threading.Thread(target=work, name=f"plait peers {work.__name__}", daemon=True).start()

    # --- what is run together

    def run(self, label: Label, work: Callable[[], T]) -> T:
        """Do work that takes part in a program of several processes, when all have announced it.

        Raises: PeerLost if one of them is gone; ProcessMismatch if they announce different things;
        what the work raises.
        """
        return self._wait(self._announce(label, work), label.name)

    def agree(self, label: Label) -> None:
        """Wait until all have announced the same. Raises as `run`."""
        self._wait(self._announce(label, None), label.name)

    def _announce(self, label: Label, work: Callable[[], Any] | None) -> _Task:
        members = label.members
        with self._lock:
            task = _Task(work, members, self._counts.get(members, 0) + 1)
            self._check(task, label.name)
            self._counts[members] = task.number
            self._open.append(task)
            name = f"{label.name}: {label.inside}" if label.inside else label.name
            self._send(announce=task.number, members=members, name=name, number=label.number)
        return task

    def call(self, name: str, work: Callable[[], T]) -> T:
        """Do work that waits for all other processes, without an announcement."""
        with self._lock:
            task = _Task(work, tuple(range(self.count)), 0)
            self._check(task, name)
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
            raise self._error(task.problem or self._trouble, name)
        if task.error is None:
            return task.result
        if not isinstance(task.error, PlaitError) and self._troubled.wait(_VERDICT_S):
            raise self._error(self._trouble, name) from task.error
        raise task.error

    def _check(self, task: _Task, name: str) -> None:
        """Raise if nothing can come of a task."""
        if self._leaving:
            raise left(name)
        if self._trouble is not None:
            raise self._error(self._trouble, name)
        for index in self._ended:
            if problem := self._ended_before(task, index):
                raise self._error(problem, name)

    def _ended_before(self, task: _Task, index: int) -> _Problem | None:
        """What to say if a process that has ended takes no part in a task."""
        counts, why = self._ended[index]
        took_part = task.number <= counts.get(_key(task.members), 0)
        return None if took_part or index not in task.members else _ended(index, why)

    def _error(self, problem: _Problem | None, name: str) -> PlaitError:
        assert problem is not None
        error = problem(name)
        error.given.setdefault("this_process", f"{self.index} of {self.count}")
        return error

    def _launch(self) -> None:
        while True:
            task = self._tasks.get()
            if task.over.is_set():  # given up before it began
                continue
            try:
                task.result = task.work() if task.work else None
            except BaseException as error:
                task.error = error
            self._close(task, ended=True)
            del task

    def _close(self, task: _Task, *, ended: bool = False) -> None:
        with self._lock:
            if task in self._open:
                self._open.remove(task)
        task.ended = ended
        task.over.set()

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
            for task in self._announced(message["go"], message["members"]):
                if task.work is None:
                    self._close(task, ended=True)
                else:
                    self._start(task)
        elif "differ" in message:
            for task in self._announced(message["differ"], message["members"]):
                task.problem = _differ(message["names"])
                self._close(task)
        elif "lost" in message:
            self._set_trouble(_lost(message["lost"], message["why"]))
        elif "ended" in message:
            with self._lock:
                self._ended[message["ended"]] = message["counts"], message["why"]
                tasks = [t for t in self._open if not t.started]
            for task in tasks:
                task.problem = self._ended_before(task, message["ended"])
                if task.problem is not None:
                    self._close(task)

    def _announced(self, number: int, members: list[int]) -> list[_Task]:
        with self._lock:
            return [t for t in self._open if (t.number, t.members) == (number, tuple(members))]

    def _coordinator_lost(self) -> None:
        if not self._leaving:
            self._set_trouble(_no_coordinator)

    def _set_trouble(self, problem: _Problem) -> None:
        if self._trouble is None:
            self._trouble = problem
            self._troubled.set()
        for task in list(self._open):
            self._close(task)

    # --- the end

    def leave(self) -> None:
        """Tell the others that this process will not run anything with them any more."""
        if self._leaving:
            return
        error = getattr(sys, "last_value", None)  # what this process dies of, if it does
        why = f"{type(error).__name__}: {error}"[:_SHOWN] if error is not None else ""
        self._leaving = True  # before the coordinator hangs up, which is no loss then
        self._send(bye={_key(m): n for m, n in self._counts.items()}, why=why)
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


def _key(members: Iterable[int]) -> str:
    """Processes as a key in JSON."""
    return ",".join(map(str, members))


def left(op: str) -> PlaitError:
    """The error for what is tried after `shutdown`."""
    return PeerLost(
        "this process has left the others: plait.distributed.shutdown() was called",
        op=op,
        fix="call it after the last computation over devices of several processes",
    )


def _lost(index: int, why: str) -> _Problem:
    return lambda op: PeerLost(f"process {index} was lost", op=op, why=why, fix=_START_AGAIN)


def _ended(index: int, why: str) -> _Problem:
    return lambda op: PeerLost(
        f"process {index} has ended and takes no part in this",
        op=op,
        **({"it_died_of": why} if why else {}),
        fix=_START_AGAIN if why else "let every process make the same calls, equally often",
    )


def _differ(names: dict[str, str]) -> _Problem:
    shown = {f"process_{index}": name for index, name in sorted(names.items())}
    inside = ", which differ inside" if len(set(names.values())) == 1 else ""
    return lambda op: ProcessMismatch(
        f"the processes do different things at the same time{inside}",
        op=op,
        **shown,
        fix="let every process make the same calls in the same order, on arrays of equal shapes",
    )


def _no_coordinator(op: str) -> PlaitError:
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
