"""Arguments that are no arrays: ints, numbers, words, sequences; checked, and named in messages."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from plait.core.source import called
from plait.errors import ArgumentError, ArgumentTypeError, PlaitError

_Result = TypeVar("_Result")


def _shown(x: Any) -> Any:
    return repr(x) if isinstance(x, str) else x  # '2' is not 2


def static_int(n: Any, op: str, name: str) -> int:
    """n as a Python int. Raises an error that names the argument if it is traced or no integer."""
    try:
        return operator.index(n)
    except PlaitError as error:
        error.given.setdefault("needed_as", f"{name} of {called(op)}")
        raise
    except TypeError:
        summary = f"{name} takes ints"
        raise ArgumentTypeError(summary, op=called(op), **{name: _shown(n)}) from None


def ints(values: Any, op: str, name: str) -> tuple[int, ...]:
    """A sequence of static ints as a tuple. Raises ArgumentTypeError, naming the argument."""
    try:
        return tuple(map(operator.index, values))
    except TypeError as error:
        if isinstance(error, PlaitError):
            raise  # a traced number says so itself
        summary = f"{name} is a sequence of ints"
        raise ArgumentTypeError(summary, op=called(op), **{name: values}) from None


def known_number(x: Any, op: str, name: str) -> Any:
    """A real number, or an array without axes, as it is. Raises ArgumentError for a complex number,
    ArgumentTypeError for the rest.
    """
    if isinstance(x, int | float) or (hasattr(x, "dtype") and getattr(x, "ndim", 1) == 0):
        return x
    if isinstance(x, complex):
        summary = f"{name} must be real, not complex"
        raise ArgumentError(summary, op=called(op), **{name: _shown(x)})
    summary = f"{name} must be a number that is known"
    raise ArgumentTypeError(summary, op=called(op), **{name: _shown(x)})


def listed(x: Any, op: str, name: str) -> list[Any]:
    """The parts of a sequence. Raises ArgumentTypeError, naming the argument, for what has none."""
    if isinstance(x, Iterable) and not isinstance(x, str | bytes):
        return list(x)
    given: dict[str, Any] = {name: x}
    raise ArgumentTypeError(f"{name} must be a sequence", op=called(op), **given)


def pair(x: Any, op: str, name: str) -> list[Any]:
    """Both parts of a pair. Raises ArgumentTypeError, naming the argument, for anything else."""
    found = listed(x, op, name)
    if len(found) != 2:
        given: dict[str, Any] = {name: x}
        raise ArgumentTypeError(f"{name} must be a pair", op=called(op), **given)
    return found


def by_numpy(function: Callable[..., _Result], *args: Any, **kwargs: Any) -> _Result:
    """What a function of another library answers, of NumPy for one; its refusal as an error."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, KeyError) as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        summary = str(error.args[0] if error.args else error).strip().partition("\n")[0][:120]
        raise kind(summary.rstrip("."), op=called(function.__name__)) from None


def is_one_of(x: Any, options: Iterable[Any]) -> bool:
    """Whether x is one of the options, which are words or numbers; x may be anything."""
    return isinstance(x, str | int | None) and x in options


__all__ = ["by_numpy", "ints", "is_one_of", "known_number", "listed", "pair", "static_int"]
