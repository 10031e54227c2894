"""The user's line behind an equation: for errors, printed programs and HLO locations.

Captured on every op of a trace, so it keeps only a code object and an offset; the file name and
line are worked out when somebody asks.
"""

from __future__ import annotations

import os
import sys
from types import CodeType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_internal: dict[CodeType, bool] = {}


class Source:
    """One place in a user's program."""

    __slots__ = ("code", "offset")

    def __init__(self, code: CodeType, offset: int):
        self.code, self.offset = code, offset

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


def _internal(code: CodeType) -> bool:
    answer = _is_internal.get(code)
    if answer is None:
        name = code.co_filename
        answer = _is_internal[code] = name.startswith(_PACKAGE) or name.startswith("<frozen")
    return answer


def user_source() -> Source | None:
    """The innermost frame on this thread's stack that is not plait's own; None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        known = _is_internal.get(code)
        if not (_internal(code) if known is None else known):
            return Source(code, frame.f_lasti)
        frame = frame.f_back
    return None


def function_source(function: object) -> str:
    """Where a function is defined, as file:line, or its repr."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:
        return repr(function)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def function_name(function: object) -> str:
    """A short name for a function in messages and programs."""
    while hasattr(function, "func") and not hasattr(function, "__name__"):  # functools.partial
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__
