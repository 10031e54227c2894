"""plait.profiler: traces of what a program did, for TensorBoard or Perfetto, and of its memory.

A trace is a folder with an XSpace protocol buffer (`*.xplane.pb`, for TensorBoard's profile plugin
or xprof) and a `*.trace.json.gz` that https://ui.perfetto.dev opens.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from plait.errors import PlaitRuntimeError
from plait.runtime import client, xla

_lock = threading.Lock()
_session: list[tuple[Any, str]] = []
_server: list[Any] = []


def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Record what runs from here to stop_trace, on all devices and in Python.

    The trace goes into log_dir. The perfetto arguments are accepted: a file that Perfetto opens is
    always written. profiler_options: a ProfileOptions.
    Raises: PlaitRuntimeError if a trace is being recorded already.

    >>> import tempfile
    >>> plait.profiler.start_trace(tempfile.mkdtemp())
    >>> y = plait.block_until_ready(jnp.ones(3) + 1)
    >>> plait.profiler.stop_trace()
    """
    with _lock:
        if _session:
            raise PlaitRuntimeError(
                "a trace is being recorded already", op="profiler.start_trace", fix="stop_trace()"
            )
        client.devices()  # devices that start later would be missing in it
        maker = xla.profiler().ProfilerSession
        session = maker() if profiler_options is None else maker(profiler_options)
        _session.append((session, os.fspath(log_dir)))


def stop_trace() -> None:
    """Write the trace that start_trace began. Raises PlaitRuntimeError if there is none.

    >>> plait.profiler.stop_trace()
    Traceback (most recent call last):
        ...
    plait.errors.PlaitRuntimeError: profiler.stop_trace: no trace is being recorded...
    """
    with _lock:
        if not _session:
            raise PlaitRuntimeError(
                "no trace is being recorded", op="profiler.stop_trace", fix="start_trace(log_dir)"
            )
        session, log_dir = _session.pop()
        session.stop_and_export(log_dir)


@contextlib.contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """`with trace(log_dir):` records what runs inside the block. Raises as start_trace.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with plait.profiler.trace(folder):
    ...     y = plait.block_until_ready(jnp.ones(3) + 1)
    >>> os.listdir(folder)
    ['plugins']
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """`with TraceAnnotation("load batch"):` names a span of this thread's time in a trace.

    Keyword arguments are shown with it. Without a trace it costs next to nothing.

    >>> with plait.profiler.TraceAnnotation("load batch", size=3):
    ...     x = np.ones(3)
    """

    def __init__(self, name: str, **metadata: Any):
        self._span = xla.profiler().TraceMe(name, **metadata)

    def __enter__(self) -> TraceAnnotation:
        self._span.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._span.__exit__(*exc)

    def set_metadata(self, **metadata: Any) -> None:
        """Show more with the span."""
        self._span.set_metadata(**metadata)

    @staticmethod
    def is_enabled() -> bool:
        """Whether a trace is being recorded."""
        return xla.profiler().TraceMe.is_enabled()


class StepTraceAnnotation(TraceAnnotation):
    """A TraceAnnotation of one training step: `StepTraceAnnotation("train", step_num=k)`.

    >>> for k in range(3):
    ...     with plait.profiler.StepTraceAnnotation("train", step_num=k):
    ...         y = jnp.ones(3) * k
    """

    def __init__(self, name: str, **metadata: Any):
        super().__init__(name, _r=1, **metadata)  # _r marks the root of a step


def annotate_function(
    func: Callable[..., Any], name: str | None = None, **metadata: Any
) -> Callable[..., Any]:
    """The function, each call of which is a span in a trace; by default under its own name.

    >>> load = plait.profiler.annotate_function(lambda: np.ones(3), name="load batch")
    >>> load()
    array([1., 1., 1.])
    """
    label: str = name or getattr(func, "__qualname__", getattr(func, "__name__", repr(func)))

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **metadata):
            return func(*args, **kwargs)

    return annotated


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Start a server that lets TensorBoard or xprof record traces of this process; keep the result.

    Raises: PlaitRuntimeError if one runs already.

    >>> server = plait.profiler.start_server(9999)  # doctest: +SKIP
    >>> plait.profiler.stop_server()  # doctest: +SKIP
    """
    with _lock:
        if _server:
            raise PlaitRuntimeError("a profiler server runs already", op="profiler.start_server")
        if requires_backend:
            client.devices()
        _server.append(xla.profiler().start_server(port))
        return _server[0]


def stop_server() -> None:
    """Stop the server. Raises PlaitRuntimeError if none runs.

    >>> plait.profiler.stop_server()
    Traceback (most recent call last):
        ...
    plait.errors.PlaitRuntimeError: profiler.stop_server: no profiler server runs
    """
    with _lock:
        if not _server:
            raise PlaitRuntimeError("no profiler server runs", op="profiler.stop_server")
        _server.clear()


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays that are alive, and where they were made, as a gzipped pprof profile.

    >>> import gzip
    >>> x = jnp.ones(100)
    >>> len(gzip.decompress(plait.profiler.device_memory_profile())) > 0
    True
    """
    import gzip

    return gzip.compress(xla.heap_profile(client.backend(backend)))


def save_device_memory_profile(
    filename: str | os.PathLike[str], backend: str | None = None
) -> None:
    """Write device_memory_profile into a file, for `pprof`.

    >>> import os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "memory.prof")
    >>> plait.profiler.save_device_memory_profile(file)  # then: pprof -web memory.prof
    >>> os.path.exists(file)
    True
    """
    with open(filename, "wb") as file:
        file.write(device_memory_profile(backend))


def __getattr__(name: str) -> Any:
    # A class of jaxlib's, which is imported when someone asks for it.
    if name == "ProfileOptions":
        return xla.profiler().ProfileOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
