"""What the tests of transformations share."""

from __future__ import annotations

from typing import Any

from tests.spmd.common import counted_compilations, live_bytes, message, refused, same


def counted(f: Any) -> tuple[Any, list[Any]]:
    """(f, a list that receives an entry for every time its Python runs)."""
    calls: list[Any] = []

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return f(*args, **kwargs)

    return counting, calls


__all__ = ["counted", "counted_compilations", "live_bytes", "message", "refused", "same"]
