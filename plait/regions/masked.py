"""Effects under a condition that differs between rows: they happen in the rows where it holds.

A batched cond runs all branches for all rows, a batched while_loop goes on for rows that have
stopped. Their results are chosen row by row; their effects are told, by one more operand of the
program, whether to happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.core import dtypes
from plait.core.context import context
from plait.core.primitive import Primitive
from plait.core.program import Program, Var, program_has_effects, sub_programs
from plait.core.types import ArrayType
from plait.interpreters.closed import stage_closed
from plait.ops.callback import Masked, debug_callback_p, io_callback_p
from plait.ops.check import check_p
from plait.regions import custom_jvp, custom_vjp


def masked(program: Program) -> Program:
    """The Program with one more input, the first, a bool: its effects happen only if it is true."""

    def make() -> Program:
        types = [ArrayType((), dtypes.bool_), *program.in_types]
        return stage_closed(lambda *xs: _run(program, *xs), types, name=program.name)

    return program.derived("masked", make)


def _run(program: Program, active: Any, *args: Any) -> list[Any]:
    env: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))
    before = context.source
    try:
        for eqn in program.equations:
            xs = [env[a] if type(a) is Var else a.operand for a in eqn.inputs]
            params = eqn.params
            if eqn.op in (debug_callback_p, io_callback_p):
                xs, params = [active, *xs], {**params, "function": Masked(params["function"])}
            elif eqn.op is check_p:
                xs, params = check_p.when(active, xs, params)
            elif any(map(program_has_effects, sub_programs(params))):
                xs, params = _inside(eqn.op, xs, params, active)
            context.source = eqn.source
            ys = eqn.op.bind(*xs, **params)
            env.update(zip(eqn.outputs, ys if eqn.op.multiple_results else (ys,), strict=True))
    finally:
        context.source = before
    return [env[a] if type(a) is Var else a.operand for a in program.outputs]


def _inside(
    op: Primitive, xs: Sequence[Any], params: dict[str, Any], active: Any
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Operands and parameters of a region whose programs take the bool as their first input."""
    changed = dict(params)
    for name, value in params.items():
        if isinstance(value, Program):
            changed[name] = masked(value)
        elif isinstance(value, tuple) and any(isinstance(v, Program) for v in value):
            changed[name] = tuple(masked(v) for v in value)
    if op.name == "cond":
        return [xs[0], active, *xs[1:]], changed
    if op.name == "while":
        n = params["cond_consts"]
        changed["cond_consts"], changed["body_consts"] = n + 1, params["body_consts"] + 1
        return [active, *xs[:n], active, *xs[n:]], changed
    for count in ("consts", "captured"):
        if count in params:
            changed[count] = params[count] + 1
    # To a rule of differentiation the bool is a captured value.
    if "rule" in params:
        changed["rule"] = custom_jvp.Without(params["rule"], 1)
    if "fwd" in params:
        changed["fwd"] = custom_vjp.Without(params["fwd"], 1)
    if "in_mapped" in params:
        changed["in_mapped"] = (False, *params["in_mapped"])
    return [active, *xs], changed


__all__ = ["masked"]
