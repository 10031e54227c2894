"""Programs with side effects that may not have ended yet, and waiting for them.

Nothing that a user holds need depend on an effect, so each launch leaves a token here. Programs of
one thread on one device end in the order they were launched; so few tokens are kept, and the oldest
is waited for when there are many.
"""

from __future__ import annotations

import collections
import sys
import threading
from typing import Any

_KEPT = 256

_tokens: collections.deque[Any] = collections.deque()
_failed: list[Exception] = []
_lock = threading.Lock()


def started(token: Any) -> None:
    """Remember a launch; `token.block_until_ready()` waits for its end, or raises its failure."""
    with _lock:
        _tokens.append(token)
        oldest = _tokens.popleft() if len(_tokens) > _KEPT else None
    if oldest is not None:
        _wait(oldest)


def _wait(token: Any) -> None:
    try:
        token.block_until_ready()
    except Exception as error:  # whatever XLA raises is reported by the next `barrier`
        _failed.append(error)


def barrier() -> None:
    """Wait for all effects of programs launched so far. Raises the first failure since the last."""
    while True:
        with _lock:
            token = _tokens.popleft() if _tokens else None
        if token is None:
            break
        _wait(token)
    if _failed:
        first = _failed[0]
        _failed.clear()
        raise first


def finish() -> None:
    """Wait at the end of the process, and tell of failures that nobody has seen."""
    try:
        barrier()
    except Exception as error:
        print(f"plait: a program with side effects failed: {error}", file=sys.stderr)
