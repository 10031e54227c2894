"""What the cases share: ops bound by hand, and programs lowered for platforms not there."""

from __future__ import annotations

from typing import Any

from plait.core.primitive import registered
from plait.core.stage import stage
from plait.core.tree import leaves
from plait.core.types import type_of
from plait.hlo.builder import Builder
from plait.hlo.module import module_text


def bound(name: str, *xs: Any, **params: Any) -> Any:
    """An op bound by hand, as authors of ops do: no function has looked at its operands before."""
    return registered(name).bind(*xs, **params)


def lowered(platform: str, function: Any, *xs: Any) -> str:
    """StableHLO of a function of arrays for a platform."""
    program, _ = stage(lambda *ys: leaves(function(*ys)), [type_of(x) for x in xs])
    return module_text(Builder(platform), program)
