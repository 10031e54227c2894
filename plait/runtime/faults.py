"""XLA's failures as plait's exceptions, and Python functions that XLA calls.

Both are about what crosses the border: XLA reports everything as one class of exception with a
text, so that the kind is read from the text, and copies the bytes a callback returns unchecked.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.errors import (
    ArgumentError,
    CompileError,
    DonatedError,
    OutOfMemory,
    PlaitError,
    PlaitRuntimeError,
)
from plait.runtime.gate import inside_callback

# What follows these in a message is about jaxlib's insides.
_NOISE = (
    "Failed to parse using StableHLO v",
    "\n\n-----",
    "Source Location Trace",
    "\n<unknown>:0: error:",
)
_ERROR_HEAD = re.compile(r"^E\d{4}: \w+:\s+")
_ERROR_PAGE = re.compile(r"\s+See https://openxla\.org/\S+ for more details\.")
_CODES = (
    "INVALID_ARGUMENT",
    "RESOURCE_EXHAUSTED",
    "INTERNAL",
    "UNKNOWN",
    "UNIMPLEMENTED",
    "NOT_FOUND",
    "FAILED_PRECONDITION",
    "ABORTED",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "OUT_OF_RANGE",
)
_NO_ROOM = ("RESOURCE_EXHAUSTED", "Out of memory")
_DELETED = (
    "deleted or donated",
    "has been deleted",
    "shards, got: [0]",  # how execute_sharded sees a buffer that was deleted
)
_DONATED_TWICE = ("donated in the same call", "donate the same buffer")

_callback_numbers = itertools.count()
_callback_errors: dict[str, BaseException] = {}
_CALLBACK_ERRORS_KEPT = 64
_CALLBACK_MARK = "plait-callback-error-"


def clean(message: str) -> str:
    """XLA's own words: without status code, source locations and second-hand parser errors."""
    for noise in _NOISE:
        message = message.partition(noise)[0]
    message = _ERROR_PAGE.sub("", message).strip()
    code, _, rest = message.partition(": ")
    message = rest.strip() if code in _CODES else message
    return _ERROR_HEAD.sub("", message)


def compile_error(error: Exception) -> PlaitError:
    """The exception for a program that XLA refused to compile or load."""
    kind = OutOfMemory if any(word in str(error) for word in _NO_ROOM) else CompileError
    result = kind(f"XLA refused the program: {clean(str(error))}")
    result.__cause__ = error
    return result


def translate_error(error: BaseException) -> PlaitError:
    """The exception of ours for whatever a launch, a wait or a read raised.

    Its `__cause__` is set already, for an error inside a host callback to the callback's own
    exception: raise it as it is (`raise translate_error(error)`).
    """
    if isinstance(error, PlaitError):
        return error
    message = str(error)
    original = _callback_error(message)
    if original is not None:
        return callback_failure(original)
    result: PlaitError
    if any(word in message for word in _NO_ROOM):
        result = OutOfMemory(f"a device has no room: {clean(message)}")
    elif any(word in message for word in _DELETED):
        result = DonatedError(
            "an array was used after its buffer had been donated or deleted",
            fix="use the result in its place, or do not donate it",
        )
    elif any(word in message for word in _DONATED_TWICE):
        result = DonatedError(
            "an array was donated and passed as another argument of the same call",
            fix="pass a copy, or do not donate it",
        )
    else:
        result = PlaitRuntimeError(clean(message))
    result.__cause__ = error
    return result


def callback_failure(original: BaseException) -> PlaitRuntimeError:
    """The exception for one that a host callback raised, which is its cause."""
    error = PlaitRuntimeError(f"a host callback raised {type(original).__name__}: {original}")
    error.__cause__ = original
    return error


def _callback_error(message: str) -> BaseException | None:
    number, found, _ = message.partition(_CALLBACK_MARK)[2].partition("!")
    return _callback_errors.get(number) if found else None


def _nothing(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    inexact = "float" in dtype.name or "complex" in dtype.name
    return np.full(shape, np.nan if inexact else 0, dtype)


class HostCallback:
    """A Python function as XLA may call it: XLA copies bytes blindly, so the results are checked.

    Args:
        function: called with read-only arrays that are valid only during the call (None for a
            token), from any thread; returns one array per entry of `out_types`, or None if there
            is none.
        out_types: shape and dtype of each result; None for a token.
        failures: where to leave an exception, for programs of several devices: the program goes on
            with NaN or zeros, since the other devices may wait for this one, and whoever launched
            it looks here at its end. None: the program fails.
    """

    __slots__ = ("failures", "function", "out_types")

    def __init__(
        self,
        function: Callable[..., Any],
        out_types: Sequence[tuple[Sequence[int], Any] | None],
        failures: list[BaseException] | None = None,
    ) -> None:
        self.function, self.failures = function, failures
        self.out_types = [t and (tuple(t[0]), np.dtype(t[1])) for t in out_types]

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """Call the function and check what it returns; for XLA."""
        with inside_callback():
            try:
                results = self.function(*args)
                return self._checked(tuple(() if results is None else results))
            except BaseException as error:
                if self.failures is not None:
                    self.failures.append(error)
                    return tuple(t and _nothing(*t) for t in self.out_types)
                # Only text passes through XLA: keep the exception, and name it in the text.
                number = str(next(_callback_numbers))
                _callback_errors[number] = error
                while len(_callback_errors) > _CALLBACK_ERRORS_KEPT:
                    _callback_errors.pop(next(iter(_callback_errors)), None)
                text = f"{_CALLBACK_MARK}{number}! {type(error).__name__}: {error}"
                raise RuntimeError(text) from error

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(results) != len(self.out_types):
            raise ArgumentError(
                "a host callback returned the wrong number of results",
                expected=len(self.out_types),
                returns=len(results),
            )
        checked: list[Any] = []
        for result, type_ in zip(results, self.out_types, strict=True):
            if type_ is None:
                checked.append(None)
                continue
            array = np.asarray(result)
            if (array.shape, array.dtype) != type_:
                raise ArgumentError(
                    "a host callback returned an array of another type than it declared",
                    expected=f"{type_[1].name}{list(type_[0])}",
                    returns=f"{array.dtype.name}{list(array.shape)}",
                )
            checked.append(np.ascontiguousarray(array).reshape(type_[0]))
        return tuple(checked)
