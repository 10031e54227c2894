"""The table of messages: text of every case, with places masked."""

from __future__ import annotations

import importlib
import pathlib
import re
from typing import Any

from plait.errors import PlaitError

TABLE = pathlib.Path(__file__).parent / "messages.txt"
MODULES = [
    importlib.import_module(f"tests.errors.{path.stem}")
    for path in sorted(pathlib.Path(__file__).parent.glob("cases_*.py"))
]
CASES: dict[str, Any] = {}
for _module in MODULES:
    assert not CASES.keys() & _module.CASES.keys()
    CASES |= _module.CASES

# What Python promises of an error: the classes programs catch.
_BUILTIN = (
    IndexError,
    OverflowError,
    NameError,
    FloatingPointError,
    NotImplementedError,
    AttributeError,
    ValueError,
    TypeError,
    RuntimeError,
    KeyError,
    AssertionError,
)


def raised(call: Any) -> BaseException:
    """The error that a call raises."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def masked(text: str) -> str:
    """A message with file names, line numbers, addresses and measured numbers replaced."""
    text = re.sub(r"[\w<>./-]+\.py:\d+", "FILE:LINE", text)
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    text = re.sub(r"-?\d+\.\d{6,}(e-?\d+)?", "NUMBER", text)  # its last digits differ
    return text


def described(error: BaseException) -> str:
    """The classes of an error that programs may catch, and its message."""
    kinds = [c.__name__ for c in _BUILTIN if isinstance(error, c)]
    mark = "" if isinstance(error, PlaitError) else "Python's own "
    return f"{mark}{', '.join(kinds)}\n{masked(str(error))}"


def table() -> dict[str, str]:
    """The table as it is stored."""
    found: dict[str, str] = {}
    for part in TABLE.read_text().split("\n=== ")[1:]:
        name, _, text = part.partition("\n")
        found[name] = text.rstrip("\n")
    return found
