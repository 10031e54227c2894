"""Several processes as one computation: how they find each other, and how they part."""

from __future__ import annotations

import atexit
import contextlib
import operator
import socket
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from plait.core.source import user_source
from plait.errors import ArgumentError, ArgumentTypeError, BackendError, an
from plait.runtime import client, coordinator, peers, plugins, xla
from plait.runtime.cluster import Place, detect, from_variables
from plait.runtime.faults import translate_error

_FUNCTION = "distributed.initialize"
_RETRY_S = 0.1

_initialized_at: list[str] = []
_child: list[subprocess.Popen[str]] = []
_shutdown_timeout_s = 300.0


def is_initialized() -> bool:
    """Whether `initialize` has been called, and `shutdown` not.

    >>> plait.distributed.is_initialized()
    False
    """
    return bool(_initialized_at)


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
) -> None:
    """Join the other processes of a computation. Call it in each, before anything uses a device.

    coordinator_address: host:port, a free port of the machine that runs process 0. num_processes:
    how many there are. process_id: which one this is, from 0. What is not given comes from the
    environment: PLAIT_COORDINATOR_ADDRESS, PLAIT_NUM_PROCESSES, PLAIT_PROCESS_ID (or with JAX_),
    or what Slurm or Open MPI set for the processes they start; cluster_detection_method='slurm'
    or 'ompi' insists on one of them, 'deactivate' on none. local_device_ids: which GPUs of this
    machine are this process's; other platforms do not need it. coordinator_bind_address: where
    process 0 listens, if not at that port of all addresses of its machine.

    It returns when all processes have called it, at most initialization_timeout seconds later. A
    process that shows no sign of life for heartbeat_timeout_seconds counts as lost, one that dies
    at once: what the others compute with it then raises PeerLost. At its end a process leaves
    (`shutdown`); process 0 waits for the others, at most shutdown_timeout_seconds.

    Raises: PlaitRuntimeError if a device was used before, or if it is called twice; ArgumentError
    for arguments that are missing or impossible; BackendError if not all processes come.
    """
    if _initialized_at:
        raise BackendError(
            "was called before: a process joins one computation, once",
            op=_FUNCTION,
            first_called=_initialized_at[0],
            fix="ask plait.distributed.is_initialized(), or call it in one place only",
        )
    if client.is_started():
        did, where = client.first_use()
        raise BackendError(
            "the devices of this process have started already, without the others",
            op=_FUNCTION,
            started_by=did,
            **({"line": where} if where else {}),
            fix="call plait.distributed.initialize() before that: at the top of the program, right "
            "after the imports, and let no imported module make arrays",
        )
    ids = local_device_ids
    if isinstance(ids, int):
        ids = (ids,)
    given = Place(coordinator_address, num_processes, process_id, None if ids is None else (*ids,))
    place = given.completed(from_variables())
    if None in (place.coordinator_address, place.num_processes, place.process_id):
        place = place.completed(detect(cluster_detection_method))
    host, port, count, index = _checked(place)
    if place.local_device_ids is not None:
        plugins.visible_devices[:] = place.local_device_ids
    if count > 1:
        if index == 0:
            bind = _bind_address(coordinator_bind_address, host)
            child = coordinator.start(
                bind, port, count, initialization_timeout, heartbeat_timeout_seconds
            )
            _child.append(child)
        deadline = time.monotonic() + initialization_timeout
        try:
            session = _join(host, port, index, count, deadline, heartbeat_timeout_seconds)
        except BaseException:
            if _child:
                _child[0].kill()
                _child.pop().wait()
            raise
        session.start()
        peers.session.append(session)
    global _shutdown_timeout_s
    _shutdown_timeout_s = shutdown_timeout_seconds
    _initialized_at.append(str(user_source() or "unknown"))
    atexit.register(shutdown)


def shutdown() -> None:
    """Leave the other processes; called by itself when the process ends.

    Process 0 waits until all have left: the others need what it started.
    """
    if not _initialized_at:
        return
    _initialized_at.clear()
    if (session := peers.current()) is not None:
        with contextlib.suppress(xla.XlaError):  # the service may be gone: nothing to leave
            session.xla.shutdown()
        session.leave()
        peers.session.clear()
    for child in _child:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_shutdown_timeout_s)
    _child.clear()


def _checked(place: Place) -> tuple[str, int, int, int]:
    """(host, port, number of processes, this one's). Raises ArgumentError."""
    names = ("coordinator_address", "num_processes", "process_id")
    missing = [name for name in names if getattr(place, name) is None]
    if missing:
        raise ArgumentError(
            f"does not know {' and '.join(missing)}",
            op=_FUNCTION,
            fix="give "
            + ", ".join(f"{n}=... or the environment variable PLAIT_{n.upper()}" for n in missing),
        )
    host, port = _split(place.coordinator_address)
    count, index = (_whole(n, getattr(place, n)) for n in names[1:])
    if count < 1:
        raise ArgumentError(
            "num_processes is at least 1", op=_FUNCTION, num_processes=place.num_processes
        )
    if not 0 <= index < count:
        raise ArgumentError(
            f"process_id is none of the {count} processes'",
            op=_FUNCTION,
            process_id=index,
            num_processes=count,
            fix=f"number the processes from 0 to {count - 1}",
        )
    return host, port, count, index


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        summary = f"{name} is a whole number, not {an(type(value).__name__)}"
        raise ArgumentTypeError(summary, op=_FUNCTION, **{name: value}) from None


def _split(address: Any) -> tuple[str, int]:
    """The host and port of an address. Raises ArgumentError."""
    host, colon, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ArgumentError(
            "an address is host:port",
            op=_FUNCTION,
            address=address,
            fix="for example '127.0.0.1:12345', or '[::1]:12345'",
        )
    return host, int(port)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bind_address(given: str | None, host: str) -> str:
    """Where the coordinator listens; empty for all addresses of the machine."""
    if given is not None:
        host = given.rpartition(":")[0].removeprefix("[").removesuffix("]")
        return "" if host in ("::", "0.0.0.0") else host
    return host if host == "localhost" or host.startswith("127.") or host == "::1" else ""


def _join(
    host: str, port: int, index: int, count: int, deadline: float, heartbeat_s: float
) -> peers.Session:
    """A session with the others, once all have come."""
    sock = _connect(host, port, deadline)
    try:
        service = _address(host, _admission(sock, _address(host, port), index, count, deadline))
        session = peers.Session(sock, index, count, heartbeat_s)
        timeout_s = max(1, int(deadline - time.monotonic()))
        session.xla = xla.coordination_client(service, index, timeout_s, heartbeat_s)
    except xla.XlaError as error:
        sock.close()
        raise BackendError(
            f"XLA's coordination service does not answer: {translate_error(error)}",
            op=_FUNCTION,
        ) from error
    except BaseException:
        sock.close()
        raise
    return session


def _admission(sock: socket.socket, address: str, index: int, count: int, deadline: float) -> int:
    """Wait until all processes have come; the port of XLA's service. Raises BackendError."""
    start = time.monotonic()
    said: dict[str, Any] = {}
    lines = peers.Lines()
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peers.send(sock, hello=index, count=count, jaxlib=xla.VERSION)
        while (left := deadline - time.monotonic()) > 0:
            sock.settimeout(left)
            data = sock.recv(1 << 16)
            for message in lines.feed(data):
                said |= message
            if "ready" in said:
                sock.settimeout(10)
                return said["ready"]
            if "refused" in said or not data:
                break
    except (OSError, ValueError):
        pass  # told below, with what is known
    if "refused" in said:
        raise BackendError(
            f"the coordinator refuses this process: {said['refused']}",
            op=_FUNCTION,
            process_id=index,
            num_processes=count,
            fix="start each process with its own process_id and the same num_processes",
        )
    waited = f"{time.monotonic() - start:.0f} seconds"
    if "waiting" not in said:
        raise BackendError(
            "what answers at the coordinator's address is no coordinator",
            op=_FUNCTION,
            address=address,
            waited=waited,
            fix="choose a port that nothing else uses",
        )
    *most, last = map(str, said["waiting"])
    absent = f"{', '.join(most)} and {last} have" if most else f"{last} has"
    raise BackendError(
        f"of {count} processes {absent} not come",
        op=_FUNCTION,
        **({"turned_away": said["turned_away"]} if said.get("turned_away") else {}),
        waited=waited,
        fix="start all of them, with the same address and num_processes, or allow more time with "
        "initialization_timeout",
    )


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """A connection to the coordinator, which may start later than this process."""
    start = time.monotonic()
    while True:
        left = deadline - time.monotonic()
        try:
            return socket.create_connection((host, port), timeout=max(0.1, left))
        except OSError as error:
            if left <= _RETRY_S:
                raise BackendError(
                    f"no coordinator answers: {error.strerror or error}",
                    op=_FUNCTION,
                    address=_address(host, port),
                    waited=f"{time.monotonic() - start:.0f} seconds",
                    fix="start process 0, whose machine the address must name; a firewall may be "
                    "in the way; initialization_timeout allows more time",
                ) from error
        time.sleep(_RETRY_S)
