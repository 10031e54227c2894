"""Functions of arrays with choices, compiled once for each set of choices.

jit with static arguments does the same for users; this is the short way for plait's own functions,
which have checked their arguments: a warm call costs as little as one of a function without static
arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from plait.core.context import context
from plait.runtime.array import Array, as_array
from plait.runtime.eager import eager
from plait.transforms.calls import JitFunction

_KEPT = 1024


class PerChoice:
    """function(*arrays, **choices) as compiled programs; choices are hashable and always given in
    the same order.
    """

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self.function = function
        self.programs: dict[tuple, JitFunction] = {}

    def __call__(self, *xs: Any, **choices: Any) -> Any:
        """The function's result."""
        which = tuple(choices.items())
        program = self.programs.get(which)
        if program is None:
            program = self.compiled(which, choices)
        if context.interpreter is eager:
            # A number would not take the fast path into a compiled program; an Array does.
            xs = tuple([x if type(x) is Array else as_array(x) for x in xs])
        return program(*xs)

    def compiled(self, which: tuple, choices: dict[str, Any]) -> JitFunction:
        """The program for some choices."""

        def chosen(*xs: Any) -> Any:
            return self.function(*xs, **choices)

        chosen.__name__ = chosen.__qualname__ = self.function.__name__.strip("_")
        if len(self.programs) >= _KEPT:
            self.programs.clear()
        program = self.programs[which] = JitFunction(chosen)
        return program


__all__ = ["PerChoice"]
