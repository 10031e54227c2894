"""explain_cache_misses: why a call has to be traced, in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from plait.core.source import function_name, function_source, user_source
from plait.core.types import ArrayType

# A call's key: structure of the arguments, static arguments, types, switches, named axes.
Key = tuple[Any, ...]
_TYPES = 2
_SWITCHES, _AXES = "switches (x64, precision, ...)", "named axes around the call"
# Where functions were defined of which a first call was told.
_first_calls: set[str] = set()


def explain(
    kind: str, function: Any, key: Key, earlier: Iterable[Key], names: Callable[[], Sequence[str]]
) -> None:
    """Say on stderr why a call with this key is traced, though there were `earlier` ones.

    names() gives the names of the leaves of the arguments.
    """
    known = list(earlier)
    if known:
        # The nearest one, of several the last.
        reason = _difference(min(reversed(known), key=lambda old: _distance(old, key)), key, names)
    else:
        reason = "it is the first call"
        place = function_source(function)
        if place in _first_calls:
            reason += (
                f" of this {kind}, though one of the same function was called before: make it once,"
                " outside of the loop or function that calls it"
            )
        _first_calls.add(place)
    name = function_name(function)
    print(f"plait: {kind} traces {name} ({user_source()}): {reason}", file=sys.stderr)


def _distance(old: Key, new: Key) -> int:
    """How much is different: one for each argument of another type, and more for the rest."""
    types = list(zip(old[_TYPES], new[_TYPES], strict=False))
    other = sum(a != b for k, (a, b) in enumerate(zip(old, new, strict=True)) if k != _TYPES)
    return 1000 * other + sum(a != b for a, b in types)


def _difference(old: Key, new: Key, names: Callable[[], Sequence[str]]) -> str:
    parts = []
    if old[0] != new[0]:
        parts.append(f"the arguments' containers changed from {old[0]} to {new[0]}")
    elif old[_TYPES] != new[_TYPES]:
        changed = [
            f"{name or 'an argument'} changed from {_words(a)} to {_words(b)}"
            for name, a, b in zip(names(), old[_TYPES], new[_TYPES], strict=True)
            if a != b
        ]
        parts.append(", ".join(changed))
    if old[1] != new[1]:
        parts.append(f"static arguments changed from {_static(old[1])} to {_static(new[1])}")
    for label, a, b in zip((_SWITCHES, _AXES), old[3:], new[3:], strict=True):
        if a != b:
            parts.append(f"{label} changed from {a} to {b}")
    return "; ".join(parts)


def _words(type: ArrayType) -> str:
    return f"{type} of a Python number" if type.weak_type else str(type)


def _static(key: Sequence[tuple[Any, Any, Any]]) -> str:
    told = [f"{w} = {v!r}" if isinstance(w, str) else f"number {w} = {v!r}" for w, _, v in key]
    return ", ".join(told) or "none"


__all__ = ["explain"]
