"""Functions of several ops that are one program when they are executed at once, outside of jit.

A program costs one compilation and one launch, where each op by itself would cost one of each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from plait.config import state
from plait.core.context import context
from plait.core.tracebacks import trimmed
from plait.errors import PlaitError
from plait.runtime.array import Array, as_array
from plait.runtime.eager import eager
from plait.transforms.choices import PerChoice

_NUMBERS = (bool, int, float, complex)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def at_once(operands: int) -> Callable[[_Function], _Function]:
    """Decorate a function whose first positional arguments are operands and whose others choose.

    It runs as one program if the operands given are Arrays, numbers and None, one of them an Array,
    and the others are hashable; in all other cases, and in transformations, as it is written.
    """

    def decorate(function: _Function) -> _Function:
        @PerChoice
        def program(*xs: Any, places: Any, rest: Any, named: Any) -> Any:
            left = iter(xs)
            given = [next(left) if there else None for there in places]
            return function(*given, *(value for _, value in rest), **dict(named))

        program.function.__name__ = function.__name__

        @trimmed
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = args[:operands]
            if context.interpreter is not eager or Array not in map(type, given):
                return function(*args, **kwargs)
            xs = []
            for x in given:
                if type(x) is Array:
                    xs.append(x)
                elif type(x) in _NUMBERS:
                    xs.append(as_array(x))
                elif x is not None:
                    return function(*args, **kwargs)
            try:
                # 1, 1.0 and True are equal, but not the same choice.
                return program(
                    *xs,
                    places=tuple([x is not None for x in given]),
                    rest=tuple([(type(x), x) for x in args[operands:]]),
                    named=tuple(kwargs.items()),
                )
            except (TypeError, PlaitError):
                # A choice that is not hashable; or a mistake, whose message is about the ops.
                if state.disable_jit:
                    raise
            return function(*args, **kwargs)

        return cast(_Function, call)

    return decorate


__all__ = ["at_once"]
