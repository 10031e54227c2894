"""Tracebacks without plait's own frames: an error shows the user's lines and no others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from plait.config import state
from plait.core.source import is_internal
from plait.errors import PlaitError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def trim(error: BaseException) -> None:
    """Take plait's frames out of an error that is about to leave plait.

    The frames stay if `traceback_filtering` is "off", and if the error arose in plait without being
    one of plait's: they are needed to find out why.
    """
    if state.traceback_filtering == "off":
        return
    kept: list[TracebackType] = []
    traceback, own = error.__traceback__, False
    while traceback is not None:
        own = is_internal(traceback.tb_frame.f_code.co_filename)
        if not own:
            kept.append(traceback)
        traceback = traceback.tb_next
    if own and not isinstance(error, PlaitError):  # `own` of the innermost frame
        return
    shorter = None
    for one in reversed(kept):
        shorter = TracebackType(shorter, one.tb_frame, one.tb_lasti, one.tb_lineno)
    error.__traceback__ = shorter


def trimmed(function: _Function) -> _Function:
    """Decorate a function that users call, and that calls theirs: what it raises is trimmed."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            trim(error)
            raise

    return cast(_Function, call)


__all__ = ["trim", "trimmed"]
