"""The devices of this process: clients that start at first use, and the questions about them.

Nothing here touches a device until someone asks for one, so that the switches that are read at
start-up (`num_cpu_devices`, `platforms`, ...) can still be set after `import plait`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from plait.config import client_started, config
from plait.core.source import user_source
from plait.errors import ArgumentError, BackendError
from plait.runtime import peers, plugins, startup, xla
from plait.runtime.faults import translate_error
from plait.runtime.xla import Client, Device

_MAX_DEFAULT_CPU_DEVICES = 8
_FORCED_COUNT = "xla_force_host_platform_device_count"

_clients: dict[str, Client] = {}
_failures: dict[str, BackendError] = {}
_default: list[str] = []
_first_use: list[tuple[str, str | None]] = []
_lock = threading.RLock()


def is_started() -> bool:
    """Whether any device has been asked for yet."""
    return bool(_clients)


client_started.append(is_started)


def first_use() -> tuple[str, str | None]:
    """(what started the first client: the function the user called, the user's line)."""
    return _first_use[0]


def _remember_first_use() -> None:
    if not _first_use:
        where = user_source()
        _first_use.append((_called_by_user(), None if where is None else str(where)))


def _called_by_user() -> str:
    """The function of plait's that was called from outside of it."""
    root = __name__.partition(".")[0]
    frame, called = sys._getframe(1), None
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == root:
        frame, called = frame.f_back, frame
    if called is None:
        return "plait"
    module = called.f_globals["__name__"].split(".")
    package = ".".join(module[:2]) if module[1:2] in (["numpy"], ["random"], ["nn"]) else root
    return f"{package}.{called.f_code.co_name}"


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _positive(value: Any, source: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentError(
            f"{source} must be a whole number of at least 1",
            value=value,
            fix=f"unset {source}, or give the number of CPU devices you want, for example 4",
        )
    return number


def num_cpu_devices() -> int:
    """How many CPU devices the process has, or will have once they start.

    The switch `num_cpu_devices` (PLAIT_NUM_CPU_DEVICES), else XLA's own flag
    `--xla_force_host_platform_device_count` in XLA_FLAGS, else one a core but 2 to 8.
    """
    if (asked := config.num_cpu_devices) is not None:
        from_env = "PLAIT_NUM_CPU_DEVICES" in os.environ
        return _positive(asked, "PLAIT_NUM_CPU_DEVICES" if from_env else "num_cpu_devices")
    if (forced := startup.xla_flags().get(_FORCED_COUNT)) is not None:
        return _positive(forced, f"--{_FORCED_COUNT} in XLA_FLAGS")
    return max(2, min(_usable_cores(), _MAX_DEFAULT_CPU_DEVICES))


def _platform_name(platform: str) -> str:
    if not isinstance(platform, str):
        raise ArgumentError("a platform is given by its name", platform=platform, fix="'cpu'")
    name = platform.strip().lower()
    return plugins.ALIASES.get(name, name)


def _available() -> list[str]:
    return ["cpu", *plugins.installed()]


def _start(name: str) -> Client:
    _remember_first_use()
    session = peers.current()
    if name == "cpu":
        count = num_cpu_devices()
        if session is None:
            return xla.make_cpu_client(count)
        return _together(session, lambda: xla.make_cpu_client(count, session))
    if name not in plugins.EXTRAS and name not in plugins.installed():
        raise BackendError(
            f"there is no platform {name!r}",
            fix=f"name one that is available here: {', '.join(_available())}",
        )
    if session is None:
        return xla.make_plugin_client(name)
    return _together(session, lambda: xla.make_plugin_client(name, session))


def _together(session: peers.Session, start: Callable[[], Client]) -> Client:
    """A client whose start waits until all processes start theirs."""
    try:
        return session.call("the start of the devices", start)
    except xla.XlaError as error:
        raise BackendError(
            f"the devices of {session.count} processes did not start: {translate_error(error)}",
            fix="let every process use its devices, for example by plait.devices()",
        ) from error


def backend(platform: str | None = None) -> Client:
    """The client of a platform ('cpu', 'gpu', 'cuda', 'tpu'), started if need be.

    Without a name that of `default_backend()`.
    Raises: BackendError if there is none, naming those available or the package to install.
    """
    name = default_backend() if platform is None else _platform_name(platform)
    client = _clients.get(name)
    if client is not None:
        return client
    with _lock:
        if name not in _clients:
            if name in _failures:  # a plugin that failed once is not tried again
                raise _failures[name]
            try:
                _clients[name] = _start(name)
            except BackendError as error:
                _failures[name] = error
                raise
        return _clients[name]


def default_backend() -> str:
    """The name of the platform used where none is given.

    The first of the switch `platforms` (PLAIT_PLATFORMS='cuda,cpu'), all of which must work; or
    else GPU or TPU where a plugin for it is installed and finds a device, or else 'cpu'.

    >>> plait.default_backend() in ("cpu", "gpu", "tpu")
    True
    """
    if _default:
        return _default[0]
    with _lock:
        if not _default:
            _default.append(_choose_default())
        return _default[0]


def _choose_default() -> str:
    if config.platforms:
        names = [_platform_name(name) for name in config.platforms.split(",") if name.strip()]
        for name in names:
            backend(name)
        if names:
            return names[0]
    for name in plugins.installed():
        try:
            if backend(name).local_device_count() > 0:
                return name
        except BackendError:
            continue  # installed, but not for this machine; asking for it by name says why
    return "cpu"


_client_of = backend  # `backend` is what JAX calls the argument of the functions below


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform, those of other processes included.

    >>> len(plait.devices()) == plait.device_count()
    True
    >>> plait.devices()[0].id
    0
    """
    return _client_of(backend).devices()


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """The devices of this process, or of the process with the given index.

    >>> plait.local_devices() == plait.devices()  # with one process
    True
    """
    client = _client_of(backend)
    if process_index is None or process_index == client.process_index():
        return client.local_devices()
    found = [d for d in client.devices() if d.process_index == process_index]
    if not found:
        raise ArgumentError(
            "there is no process with this index",
            process_index=process_index,
            process_count=process_count(backend),
        )
    return found


def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform, those of other processes included.

    >>> plait.device_count() >= 2
    True
    """
    return _client_of(backend).device_count()


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process.

    >>> plait.local_device_count() == plait.device_count()  # with one process
    True
    """
    return _client_of(backend).local_device_count()


def process_index(backend: str | None = None) -> int:
    """This process's index among those that compute together; 0 if it is alone.

    >>> plait.process_index()
    0
    """
    return _client_of(backend).process_index()


def process_count(backend: str | None = None) -> int:
    """The number of processes that compute together.

    >>> plait.process_count()
    1
    """
    return max((d.process_index for d in _client_of(backend).devices()), default=0) + 1


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together, from 0.

    >>> plait.process_indices()
    [0]
    """
    return list(range(process_count(backend)))


def default_device() -> Device:
    """Where new arrays go: the switch `default_device`, or the first device of this process."""
    chosen = config.default_device
    if chosen is None:
        return base_device()
    return backend(chosen).local_devices()[0] if isinstance(chosen, str) else chosen


_first: list[Device] = []


def base_device() -> Device:
    """The first device of this process: where arrays without a placement lie."""
    if not _first:
        _first.append(backend().local_devices()[0])
    return _first[0]
