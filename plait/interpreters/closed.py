"""Staging without free values: what derives one Program from another.

A rule may close over arrays (a table that a custom derivative uses, a constant it makes). They
become constants of the derived Program, which is kept and used again; a traced value cannot, since
it is only good for one trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core.context import context
from plait.core.interpreter import Tracer
from plait.core.program import Equation, Program
from plait.core.stage import stage
from plait.core.types import ArrayType
from plait.errors import UnexpectedTracerError
from plait.ops.constant import Held, constant_p


def close(program: Program, captured: Sequence[Any]) -> Program:
    """The Program with the values of its first inputs, the captured ones, written into it.

    Raises: UnexpectedTracerError if one of them is traced.
    """
    if not captured:
        return program
    n = len(captured)
    made = []
    for var, value in zip(program.inputs[:n], captured, strict=True):
        if isinstance(value, Tracer):
            raise UnexpectedTracerError(
                "a rule uses a traced value that is not one of its arguments",
                op=program.name or None,
                value=value.type,
                origin=value.origin() or None,
                where=str(context.source) if context.source else None,
                fix="pass the value to the function with the rule as an argument",
            )
        made.append(Equation(constant_p, (), {"value": Held(value)}, (var,), None))
    names = program.names[n:] if program.names else None
    equations = [*made, *program.equations]
    return Program(program.inputs[n:], equations, program.outputs, program.name, names)


def stage_closed(
    function: Callable[..., Sequence[Any]], types: Sequence[ArrayType], *, name: str
) -> Program:
    """`stage`, with captured arrays as constants. Raises UnexpectedTracerError for tracers."""
    return close(*stage(function, types, name=name))
