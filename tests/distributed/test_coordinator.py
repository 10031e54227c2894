"""What the coordinator tells whom: all processes are threads of this one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from plait.errors import BackendError, PeerLost, PlaitError, ProcessMismatch
from plait.runtime import coordinator, peers, processes, xla
from tests.distributed.common import free_port


class Service:
    """Stands for XLA's own."""

    def shutdown(self) -> None:
        pass


@pytest.fixture
def group(monkeypatch) -> Iterator[Any]:
    """A function that starts a coordinator and as many sessions with it as asked for."""
    monkeypatch.setattr(xla, "coordination_service", lambda *_: Service())
    monkeypatch.setattr(xla, "coordination_client", lambda *_: None)
    monkeypatch.setattr(coordinator, "_GRACE_S", 0)
    sessions: list[peers.Session] = []
    servers: list[threading.Thread] = []

    def start(count: int, heartbeat_s: float = 60) -> list[peers.Session]:
        port = serve(count, heartbeat_s, servers)
        found: list[Any] = [None] * count
        threads = [
            threading.Thread(target=join, args=(port, k, count, heartbeat_s, found))
            for k in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sessions.extend(found)
        for session in found:
            session.start()
        return found

    yield start
    for session in sessions:
        session.leave()
    for server in servers:
        server.join(30)
        assert not server.is_alive(), "the coordinator ends with the last process"


def serve(count: int, heartbeat_s: float, servers: list[threading.Thread]) -> int:
    listening = coordinator.listen("127.0.0.1", 0)
    port: int = listening.getsockname()[1]
    made = coordinator.Coordinator(listening, count, 5, heartbeat_s)
    servers.append(threading.Thread(target=made.serve, daemon=True))
    servers[-1].start()
    return port


def join(port: int, index: int, count: int, heartbeat_s: float, found: list[Any]) -> None:
    deadline = time.monotonic() + 30
    found[index] = processes._join("127.0.0.1", port, index, count, deadline, heartbeat_s)


def program(name: str, number: int = 0, members: tuple[int, ...] = (0, 1)) -> peers.Label:
    return peers.Label(name, number, members)


def together(*calls: Any) -> list[Any]:
    """The results of calls made at the same time, or their errors."""
    out: list[Any] = [None] * len(calls)

    def run(k: int) -> None:
        try:
            out[k] = calls[k]()
        except PlaitError as error:
            out[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "it hangs"
    return out


def test_work_starts_when_all_have_announced_it(group):
    a, b = group(2)
    begun = threading.Event()

    def work() -> str:
        begun.set()
        return "done"

    first = threading.Thread(target=a.run, args=(program("step"), work))
    first.start()
    assert not begun.wait(0.2)
    assert b.run(program("step"), lambda: "as well") == "as well"
    first.join(30)
    assert begun.is_set()
    assert together(*(lambda s=s: s.agree(program("epoch")) for s in (a, b))) == [None, None]


def test_a_disagreement_concerns_one_call(group):
    a, b = group(2)
    found = together(
        lambda: a.run(program("train", 1), lambda: 1), lambda: b.run(program("test", 2), lambda: 2)
    )
    for error in found:
        assert isinstance(error, ProcessMismatch)
        assert error.given["process_0"] == "train" and error.given["process_1"] == "test"
    again = together(*(lambda s=s: s.run(program("train", 1), lambda: 3) for s in (a, b)))
    assert again == [3, 3]


def test_equal_names_say_that_the_difference_is_inside(group):
    a, b = group(2)
    found = together(*(lambda k=k, s=s: s.agree(program("f", k)) for k, s in enumerate((a, b))))
    assert all("which differ inside" in str(error) for error in found)


def test_groups_count_for_themselves(group):
    a, b, c = group(3)
    pair, rest = program("pair", 1, (0, 1)), program("all", 2, (0, 1, 2))
    assert together(lambda: a.agree(pair), lambda: b.agree(pair)) == [None, None]
    assert together(*(lambda s=s: s.agree(rest) for s in (a, b, c))) == [None] * 3


def test_processes_that_wait_for_each_other_in_different_groups(group):
    a, b, _ = group(3)
    found = together(
        lambda: a.agree(program("pair", 1, (0, 1))), lambda: b.agree(program("all", 2, (0, 1, 2)))
    )
    assert all(isinstance(error, ProcessMismatch) for error in found)


def test_a_lost_connection(group):
    a, b, c = group(3)
    everyone = program("step", 0, (0, 1, 2))
    waiting = threading.Timer(0.2, lambda: b._sock.shutdown(socket.SHUT_RDWR))
    waiting.start()
    found = together(*(lambda s=s: s.run(everyone, lambda: 0) for s in (a, c)))
    for error in found:
        assert isinstance(error, PeerLost) and "process 1 was lost" in str(error)
        assert "its connection closed" in error.given["why"]
    with pytest.raises(PeerLost, match="process 1 was lost"):  # and at once from now on
        a.run(everyone, lambda: 0)


def test_a_lost_process_while_the_program_runs(group):
    a, b = group(2)
    stuck, given_up = threading.Event(), []
    a.abandoned.append(lambda: given_up.append(True))

    def lose() -> None:
        b.run(program("step"), lambda: None)
        b._sock.shutdown(socket.SHUT_RDWR)

    found = together(lambda: a.run(program("step"), lambda: stuck.wait(60)), lose)
    assert isinstance(found[0], PeerLost) and given_up
    stuck.set()


def test_no_sign_of_life(group, monkeypatch):
    monkeypatch.setattr(peers.Session, "start", lambda self: None)  # nobody sends any
    a, _ = group(2, heartbeat_s=0.5)
    monkeypatch.undo()
    monkeypatch.setattr(coordinator, "_GRACE_S", 0)
    a.start()
    with pytest.raises(PeerLost, match="process 1 was lost") as caught:
        a.agree(program("step"))
    assert "no sign of life" in str(caught.value)


def test_a_process_that_has_ended(group, monkeypatch):
    a, b = group(2)
    assert together(*(lambda s=s: s.agree(program("step")) for s in (a, b))) == [None, None]
    monkeypatch.setattr(peers.sys, "last_value", ValueError("no data"), raising=False)
    later = threading.Timer(0.2, b.leave)
    later.start()
    with pytest.raises(PeerLost, match="process 1 has ended") as caught:
        a.agree(program("step"))
    assert caught.value.given["it_died_of"] == "ValueError: no data"
    with pytest.raises(PeerLost, match="process 1 has ended"):
        a.agree(program("step"))
    with pytest.raises(PeerLost, match="has left the others"):
        b.agree(program("step"))


def test_an_error_of_the_work_passes_through(group):
    a, b = group(2)

    def fail() -> None:
        raise BackendError("no room")

    found = together(
        lambda: a.run(program("step"), fail), lambda: b.run(program("step"), lambda: 1)
    )
    assert isinstance(found[0], BackendError) and found[1] == 1


@pytest.mark.parametrize(
    ("index", "count", "words"),
    [(0, 2, "process_id=0 already"), (1, 3, "num_processes=3, process 0 with 2")],
)
def test_who_is_turned_away(monkeypatch, index, count, words):
    monkeypatch.setattr(coordinator, "_GRACE_S", 0)
    servers: list[threading.Thread] = []
    port = serve(2, 60, servers)
    first: list[Any] = []

    def wait() -> None:
        with socket.create_connection(("127.0.0.1", port)) as sock:
            try:
                processes._admission(sock, "", 0, 2, time.monotonic() + 2.5)
            except BackendError as error:
                first.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.5)
    with pytest.raises(BackendError, match="refuses this process") as caught:
        join(port, index, count, 60, [None] * 3)
    assert words in str(caught.value)
    waiting.join(30)
    assert "of 2 processes 1 has not come" in str(first[0])
    assert words in first[0].given["turned_away"]


def test_what_is_no_process():
    servers: list[threading.Thread] = []
    port = serve(2, 60, servers)
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"[1]\n", b'{"announce": 1}\n', b"x" * 70000):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(noise)
            sock.settimeout(30)
            try:
                assert sock.recv(100) == b""
            except ConnectionResetError:
                pass
    servers[0].join(30)
    assert not servers[0].is_alive()


def test_an_address_where_nobody_answers():
    with pytest.raises(BackendError, match="no coordinator answers"):
        processes._connect("127.0.0.1", free_port(), time.monotonic() + 0.3)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(BackendError, match="cannot listen on port"):
            coordinator.start("127.0.0.1", taken.getsockname()[1], 2, 5, 5)


def test_labels():
    text = '%1 = "stablehlo.add"(%2) loc("f"("/home/a/x.py":3:0))\n'
    same = '%4 = "stablehlo.constant"() <{value = dense<1.0>}>\n%7 = "stablehlo.add"(%9)\n'
    other = text.replace("add", "multiply")
    numbers = [peers.label("f", t, [1, 0, 1]).number for t in (text, same, other)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert peers.label("f", text.encode(), [1, 0, 1]) == ("f", numbers[0], (0, 1), "")
    at = 'loc("f/psum"("/home/a/x.py":7:0))\n'
    assert peers.label("f", text + 2 * at + at.replace("7", "9"), [0]).inside == (
        "psum at x.py:7, psum at x.py:9"
    )
    assert len(peers.label("f" * 500, text, [0]).name) < 200
