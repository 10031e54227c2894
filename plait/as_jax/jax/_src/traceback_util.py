"""jax._src.traceback_util: files whose lines are not a user's."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from plait.core.source import hidden, hide, is_internal
from plait.core.tracebacks import trimmed


def register_exclusion(path: str) -> None:
    """Lines of this file are never shown as the user's."""
    hide(path)


class _Paths:
    """What is hidden, to add to and take from."""

    def __contains__(self, path: object) -> bool:
        return path in hidden

    def append(self, path: str) -> None:
        hide(path)

    def remove(self, path: str) -> None:
        hide(path, False)


_exclude_paths = _Paths()


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's."""
    return not is_internal(frame.f_code.co_filename)


def api_boundary(fun: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """The function, its errors without the frames of plait and of excluded files."""
    return trimmed(fun)


__all__ = ["api_boundary", "include_frame", "register_exclusion"]
