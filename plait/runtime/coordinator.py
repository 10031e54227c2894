"""The coordinator: a process of its own that process 0 starts, and that outlives whoever is lost.

XLA ends a process whose coordination service disappears, so the service must not live in one of the
processes that compute. Beside it the coordinator keeps a connection to every process: it admits
them, lets them start programs together, and tells all of them at once who was lost or has ended.
It ends when the last connection does.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

from plait.errors import BackendError
from plait.runtime import xla
from plait.runtime.peers import Lines, send

# Runs the coordinator without importing the whole package, which would take three times as long.
_CHILD = """
import sys, types
plait = sys.modules["plait"] = types.ModuleType("plait")
plait.__path__ = [sys.argv[1]]
from plait.runtime.coordinator import main
main(*sys.argv[2:])
"""
_LISTENING = "listening"
_PAUSE_S = 0.2
# How long the others may take to find out that everything is over, before XLA's service goes.
_GRACE_S = 1.0


def start(
    bind: str, port: int, count: int, init_timeout_s: float, heartbeat_s: float
) -> subprocess.Popen[str]:
    """Start the coordinator and wait until it listens. Raises BackendError if it cannot."""
    folder = str(Path(__file__).parent.parent)
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, folder, bind, *map(str, (port, count)), str(init_timeout_s),
         str(heartbeat_s)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for those who compute
    )  # fmt: skip
    assert child.stdout is not None
    with child.stdout:
        said = child.stdout.readline().strip()
    if said != _LISTENING:
        child.wait()
        raise BackendError(
            f"the coordinator cannot listen on port {port}: {said or 'it did not start'}",
            op="distributed.initialize",
            address=f"{bind or '*'}:{port}",
            fix="choose a free port of the machine that runs process 0",
        )
    return child


def listen(bind: str, port: int) -> socket.socket:
    """A listening socket; an empty address means all of this machine's. Raises OSError."""
    if bind:
        family = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((bind, port), family=family)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def main(bind: str, port: str, count: str, init_timeout_s: str, heartbeat_s: str) -> None:
    """Run the coordinator; the child's entry."""
    try:
        server = listen(bind, int(port))
    except OSError as error:
        print(error.strerror or error, flush=True)
        return
    print(_LISTENING, flush=True)
    sys.stdout.close()
    Coordinator(server, int(count), float(init_timeout_s), float(heartbeat_s)).serve()


class _Member:
    """A connection, of process `index` once it has said so."""

    def __init__(self, sock: socket.socket):
        self.sock, self.lines = sock, Lines()
        self.index: int | None = None
        self.heard = time.monotonic()
        self.ended = False


class _Row(NamedTuple):
    """The how-manieth thing that some processes do together."""

    number: int
    members: tuple[int, ...]


class Coordinator:
    """Serves `count` processes on a listening socket, until all have gone."""

    def __init__(
        self, server: socket.socket, count: int, init_timeout_s: float, heartbeat_s: float
    ):
        self.server, self.count = server, count
        self.heartbeat_s = heartbeat_s
        self.admission_ends = time.monotonic() + init_timeout_s
        self.selector = selectors.DefaultSelector()
        self.members: dict[int, _Member] = {}
        self.guests: set[_Member] = set()
        self.turned_away = ""
        self.service: Any = None
        # What not all members have announced yet: {process: (number, name)}.
        self.rows: dict[_Row, dict[int, tuple[int, str]]] = {}

    def serve(self) -> None:
        """The whole life of the coordinator."""
        self.selector.register(self.server, selectors.EVENT_READ)
        told = 0.0
        while self.members or (self.service is None and time.monotonic() < self.admission_ends):
            for key, _ in self.selector.select(_PAUSE_S):
                if key.fileobj is self.server:
                    self._admit()
                else:
                    self._read(key.data)
            now = time.monotonic()
            if self.service is None and now - told > 1:
                told = now
                self._tell(waiting=self._missing(), turned_away=self.turned_away)
            if self.service is not None:
                for member in list(self.members.values()):
                    if now - member.heard > self.heartbeat_s:
                        self._lose(member, f"no sign of life for {self.heartbeat_s:g} seconds")
        for guest in list(self.guests):
            self._close(guest)
        self.selector.close()
        self.server.close()
        if self.service is not None:
            time.sleep(_GRACE_S)
            self.service.shutdown()

    def _missing(self) -> list[int]:
        return [k for k in range(self.count) if k not in self.members]

    def _admit(self) -> None:
        with contextlib.suppress(OSError):
            sock, _ = self.server.accept()
            sock.settimeout(10)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            member = _Member(sock)
            self.guests.add(member)
            self.selector.register(sock, selectors.EVENT_READ, member)

    def _read(self, member: _Member) -> None:
        try:
            data = member.sock.recv(1 << 16)
            messages = member.lines.feed(data)
        except (OSError, ValueError):
            data, messages = b"", []
        member.heard = time.monotonic()
        for message in messages:
            self._hear(member, message)
        if not data and member.sock.fileno() >= 0:
            self._lose(member, "its connection closed: it was killed, or ended without a word")

    def _hear(self, member: _Member, message: dict[str, Any]) -> None:
        if "hello" in message:
            self._welcome(member, message)
        elif member.index is None:
            self._close(member)
        elif "announce" in message:
            self._compare(member.index, message)
        elif "bye" in message:
            member.ended = True
            self._close(member)
            self._tell(ended=member.index, counts=message["bye"], why=message["why"])

    def _welcome(self, member: _Member, message: dict[str, Any]) -> None:
        index, count = message["hello"], message["count"]
        problem = ""
        if count != self.count:
            problem = f"it was started with num_processes={count}, process 0 with {self.count}"
        elif index in self.members:
            problem = f"there is a process with process_id={index} already"
        elif self.service is not None:
            problem = "all processes have come already"
        elif message["jaxlib"] != xla.VERSION:
            problem = f"it has jaxlib {message['jaxlib']}, process 0 has {xla.VERSION}"
        if problem:
            self.turned_away = f"process_id={index}: {problem}"
            self._tell_one(member, refused=problem)
            self._close(member)
            return
        self.guests.discard(member)
        self.members[index], member.index = member, index
        if not self._missing():
            self._open()

    def _open(self) -> None:
        """All have come: start XLA's service and let them go on."""
        host = self.server.getsockname()[0]
        with listen(host, 0) as probe:
            port = probe.getsockname()[1]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.service = xla.coordination_service(address, self.count, self.heartbeat_s)
        self._tell(ready=port)

    def _compare(self, index: int, message: dict[str, Any]) -> None:
        """Note an announcement. When all members have made it, tell them to go, or that they
        disagree; the latter also if two of them wait for each other with different members.
        """
        key = _Row(message["announce"], tuple(message["members"]))
        row = self.rows.setdefault(key, {})
        row[index] = (message["number"], message["name"])
        self._find_crossed(index, key)
        names = {k: name for k, (_, name) in row.items()}
        if len({number for number, _ in row.values()}) > 1:
            self._tell(names, differ=key.number, members=key.members, names=names)
        elif len(row) == len(key.members):
            self._tell(names, go=key.number, members=key.members)
        if len(row) == len(key.members):
            del self.rows[key]

    def _find_crossed(self, index: int, key: _Row) -> None:
        for other, row in list(self.rows.items()):
            for peer, (_, name) in row.items():
                crossed = peer in key.members and peer not in self.rows[key]
                if crossed and index in other.members and index not in row:
                    names = {index: self.rows[key][index][1], peer: name}
                    for each, who in ((key, index), (other, peer)):
                        self._tell([who], differ=each.number, members=each.members, names=names)

    def _lose(self, member: _Member, why: str) -> None:
        index = member.index
        if index is not None:
            with contextlib.suppress(OSError):
                send(member.sock, lost=index, why=why)  # it may only have been asleep
        self._close(member)
        if index is not None and not member.ended and self.service is not None:
            self._tell(lost=index, why=why)

    def _close(self, member: _Member) -> None:
        self.guests.discard(member)
        if member.index is not None and self.members.get(member.index) is member:
            del self.members[member.index]
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(member.sock)
        member.sock.close()

    def _tell(self, to: Container[int] | None = None, **message: Any) -> None:
        for member in [m for k, m in self.members.items() if to is None or k in to]:
            self._tell_one(member, **message)

    def _tell_one(self, member: _Member, **message: Any) -> None:
        try:
            send(member.sock, **message)
        except OSError:
            self._lose(member, "it could not be reached")
