"""The user's line behind an equation: for errors, printed programs and HLO locations.

Captured on every op of a trace, so it keeps only a code object and an offset; the file name and
line are worked out when somebody asks. The names of `named_scope` blocks around the line go along.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# By file name: hashing a code object hashes its constants, every time.
_is_internal: dict[str, bool] = {}
# Files and folders of libraries that ask not to be shown as their users' lines.
hidden: list[str] = []


class _Scope(threading.local):
    # Names of the blocks around the running line, each with a "/" behind it.
    prefix: str = ""


_scope = _Scope()


@contextlib.contextmanager
def scope(name: str, *, inside: bool = True) -> Iterator[None]:
    """Name the lines that run in a block, inside of the names around it or instead of them."""
    before = _scope.prefix
    _scope.prefix = (before if inside else "") + (f"{name}/" if name else "")
    try:
        yield
    finally:
        _scope.prefix = before


class Source:
    """One place in a user's program; `scope` holds the names of the blocks around it, with "/"."""

    __slots__ = ("code", "offset", "scope")

    def __init__(self, code: CodeType, offset: int, scope: str = ""):
        self.code, self.offset, self.scope = code, offset, scope

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_name

    @property
    def line(self) -> int:
        for start, end, line in self.code.co_lines():
            if start <= self.offset < end and line is not None:
                return line
        return self.code.co_firstlineno

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line} in {self.function}"

    def __repr__(self) -> str:
        return f"Source({self.file}:{self.line} in {self.function})"


def _internal(name: str) -> bool:
    answer = _is_internal[name] = name.startswith((_PACKAGE, "<frozen", *hidden))
    return answer


def is_internal(name: str) -> bool:
    """Whether lines of a file are never shown as a user's."""
    known = _is_internal.get(name)
    return _internal(name) if known is None else known


def hide(path: str, wanted: bool = True) -> None:
    """Never show lines of a file, or of a folder, as a user's; or show them again."""
    if wanted and path not in hidden:
        hidden.append(path)
    elif not wanted and path in hidden:
        hidden.remove(path)
    _is_internal.clear()


def user_source() -> Source | None:
    """The innermost frame on this thread's stack that is not plait's own; None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        known = _is_internal.get(name)
        if not (_internal(name) if known is None else known):
            return Source(frame.f_code, frame.f_lasti, _scope.prefix)
        frame = frame.f_back
    return None


# Where functions for users stand; what transformations are made of does not count.
_FOR_USERS = tuple(
    os.path.join(_PACKAGE, name)
    for name in (
        *("numpy", "ops", "nn", "random", "scipy", "lax", "image.py", "experimental"),
        "example_libraries",
    )
)
_OPS = os.path.join(_PACKAGE, "ops")


def _called(skip: int = 0) -> tuple[str, dict[str, Any]]:
    # (name, arguments) of the outermost function for users inside of the user's line; `skip` leaves
    # out the innermost frames.
    name, arguments, frame = "", {}, sys._getframe(2 + skip)
    while frame is not None and is_internal(frame.f_code.co_filename):
        code, have = frame.f_code, frame.f_locals
        path, file = code.co_qualname, code.co_filename
        if not file.startswith(_FOR_USERS) or (file.startswith(_OPS) and "." in path):
            pass  # an op's answers are no functions for users
        elif code.co_name == "call" and "function" in have:  # what a decorator made of a function
            inner = have["function"].__name__
            name, arguments = inner, arguments if name == inner else have.get("kwargs", {})
        else:
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            name, arguments = path, {k: have[k] for k in given if k in have}
        frame = frame.f_back
    return name, arguments


def called(op: str | None = None) -> str | None:
    """The name of the function of plait's that the user's line calls, for messages of what many
    functions do with their arguments; op where that says the same, or is all there is.
    """
    name, _ = _called(0 if op is None else 1)  # with op this is asked by what checks, not by itself
    last = name.rpartition(".")[2]
    if op is not None and (last.startswith("_") or last != name or op.rpartition(".")[2] == name):
        return op
    return op if last.startswith(("__", "<")) else last.strip("_") or op


def called_with(value: Any) -> tuple[str, str] | None:
    """(function, parameter) of the function of plait's that the user's line calls, if one of its
    parameters is that very object.
    """
    name, arguments = _called()
    if name.startswith("_") or "." in name:
        return None
    found = [k for k, given in arguments.items() if given is value]
    return (name, found[0]) if len(found) == 1 else None


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the user's line, as `user_source` finds it."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def raised_at(traceback: TracebackType | None) -> Source | None:
    """The innermost line that is not plait's own of those an exception came through."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not _internal(code.co_filename):
            found = Source(code, traceback.tb_lasti, _scope.prefix)
        traceback = traceback.tb_next
    return found


def function_source(function: object) -> str:
    """Where a function is defined, as file:line, or its repr."""
    inner: Any = function
    while not hasattr(inner, "__code__") and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    code = getattr(inner, "__code__", None)
    if code is None:
        return repr(function)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def function_name(function: Any) -> str:
    """A short name for a function in messages and programs."""
    while hasattr(function, "func") and not hasattr(function, "__name__"):  # functools.partial
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__
