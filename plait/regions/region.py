"""Region: the base of ops whose parameters are Programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.core.primitive import Primitive
from plait.core.program import Program, sub_programs
from plait.core.types import ArrayType
from plait.errors import ShapeError


def program_uses_axis(program: Program, name: Any) -> bool:
    """Whether an equation of the Program communicates over a named axis."""
    return program.derived(
        ("uses_axis", name),
        lambda: any(eqn.op.uses_axis(name, eqn.params) for eqn in program.equations),
    )


class Region(Primitive):
    """An op with several results whose parameters hold Programs."""

    multiple_results = True

    def uses_axis(self, name: Any, params: dict[str, Any]) -> bool:
        return any(program_uses_axis(p, name) for p in sub_programs(params))

    def variance(self, varying, params, analyse):
        # Not knowing which operand becomes what: every result may come from everything.
        total = frozenset().union(*varying)
        while True:
            results = [analyse(p, [total] * len(p.inputs)) for p in sub_programs(params)]
            grown = total.union(*(s for sets in results for s in sets))
            if grown == total:
                return total
            total = grown


def check_operands(program: Program, types: Sequence[ArrayType]) -> None:
    """Raise ShapeError unless operands of these types fit a Program; weak types do not matter."""
    wanted = program.in_types
    if len(wanted) != len(types) or any(
        w.shape != t.shape or w.dtype != t.dtype for w, t in zip(wanted, types, strict=True)
    ):
        raise ShapeError(
            "the operands do not fit the program",
            operands=", ".join(map(str, types)),
            program=", ".join(map(str, wanted)),
        )


def merge(mask: Sequence[bool], where_true: Sequence[Any], where_false: Sequence[Any]) -> list[Any]:
    """One list from two, by a mask."""
    yes, no = iter(where_true), iter(where_false)
    return [next(yes) if m else next(no) for m in mask]


def partition(mask: Sequence[bool], xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """(the elements where the mask is true, those where it is false)."""
    yes = [x for m, x in zip(mask, xs, strict=True) if m]
    return yes, [x for m, x in zip(mask, xs, strict=True) if not m]
