"""plait.monitoring: events that programs record, and functions that are told of them.

An event is a name, by custom a path ("/my_library/saved"), with keyword arguments that say more.
plait records the time of each compilation by XLA, as "/jax/core/compile/backend_compile_duration".
"""

from __future__ import annotations

from collections.abc import Callable

_events: list[Callable[..., None]] = []
_durations: list[Callable[..., None]] = []
_spans: list[Callable[..., None]] = []
_scalars: list[Callable[..., None]] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell that something happened.

    >>> from plait import monitoring
    >>> monitoring.register_event_listener(print)
    >>> monitoring.record_event("/my_library/saved")
    /my_library/saved
    >>> monitoring.unregister_event_listener(print)
    """
    for listener in tuple(_events):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell how many seconds something took.

    >>> from plait import monitoring
    >>> monitoring.register_event_duration_secs_listener(print)
    >>> monitoring.record_event_duration_secs("/my_library/save", 0.5)
    /my_library/save 0.5
    >>> monitoring.unregister_event_duration_listener(print)
    """
    for listener in tuple(_durations):
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell when something began and ended, in seconds since the epoch.

    >>> from plait import monitoring
    >>> monitoring.register_event_time_span_listener(print)
    >>> monitoring.record_event_time_span("/my_library/save", 1000.0, 1000.5)
    /my_library/save 1000.0 1000.5
    >>> monitoring.unregister_event_time_span_listener(print)
    """
    for listener in tuple(_spans):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell a number.

    >>> from plait import monitoring
    >>> monitoring.register_scalar_listener(print)
    >>> monitoring.record_scalar("/my_library/loss", 0.25)
    /my_library/loss 0.25
    >>> monitoring.unregister_scalar_listener(print)
    """
    for listener in tuple(_scalars):
        listener(event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """callback(event, **kwargs) is called for each record_event.

    >>> from plait import monitoring
    >>> listener = lambda event, **kwargs: print(event, kwargs)
    >>> monitoring.register_event_listener(listener)
    >>> monitoring.record_event("/my_library/saved", step=3)
    /my_library/saved {'step': 3}
    >>> monitoring.unregister_event_listener(listener)
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """callback(event, seconds, **kwargs) is called for each record_event_duration_secs.

    >>> from plait import monitoring
    >>> def listener(event, seconds, **kwargs):
    ...     if event == "/jax/core/compile/backend_compile_duration":
    ...         print("XLA compiled a program:", seconds > 0)
    >>> monitoring.register_event_duration_secs_listener(listener)
    >>> _ = plait.jit(lambda x: 3 * x + 7)(1.0)
    XLA compiled a program: True
    >>> monitoring.unregister_event_duration_listener(listener)
    """
    _durations.append(callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """callback(event, start, end, **kwargs) is called for each record_event_time_span.

    >>> from plait import monitoring
    >>> listener = lambda event, start, end, **kwargs: print(event, end - start)
    >>> monitoring.register_event_time_span_listener(listener)
    >>> monitoring.record_event_time_span("/my_library/save", 1000.0, 1000.5)
    /my_library/save 0.5
    >>> monitoring.unregister_event_time_span_listener(listener)
    """
    _spans.append(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """callback(event, value, **kwargs) is called for each record_scalar.

    >>> from plait import monitoring
    >>> listener = lambda event, value, **kwargs: print(event, value, kwargs)
    >>> monitoring.register_scalar_listener(listener)
    >>> monitoring.record_scalar("/my_library/loss", 0.25, step=3)
    /my_library/loss 0.25 {'step': 3}
    >>> monitoring.unregister_scalar_listener(listener)
    """
    _scalars.append(callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Call it no more. Raises: ValueError if it is not registered.

    >>> from plait import monitoring
    >>> monitoring.register_event_listener(print)
    >>> monitoring.unregister_event_listener(print)
    >>> monitoring.record_event("/my_library/saved")
    """
    _events.remove(callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Call it no more. Raises: ValueError if it is not registered.

    >>> from plait import monitoring
    >>> monitoring.register_event_duration_secs_listener(print)
    >>> monitoring.unregister_event_duration_listener(print)
    >>> monitoring.record_event_duration_secs("/my_library/save", 0.5)
    """
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Call it no more. Raises: ValueError if it is not registered.

    >>> from plait import monitoring
    >>> monitoring.register_event_time_span_listener(print)
    >>> monitoring.unregister_event_time_span_listener(print)
    >>> monitoring.record_event_time_span("/my_library/save", 1000.0, 1000.5)
    """
    _spans.remove(callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Call it no more. Raises: ValueError if it is not registered.

    >>> from plait import monitoring
    >>> monitoring.register_scalar_listener(print)
    >>> monitoring.unregister_scalar_listener(print)
    >>> monitoring.record_scalar("/my_library/loss", 0.25)
    """
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Call no listener any more.

    >>> from plait import monitoring
    >>> monitoring.register_event_listener(print)
    >>> monitoring.clear_event_listeners()
    >>> monitoring.record_event("/my_library/saved")
    """
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()


__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
