"""A linear Program run backwards: from cotangents of its results to cotangents of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.core.context import context
from plait.core.primitive import LinearOperand, zeros_of
from plait.core.program import Program, Var
from plait.interpreters.closed import stage_closed
from plait.ops.arithmetic import add


def backward(program: Program, args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of the inputs at which `args` has a LinearOperand, None elsewhere and for zero.

    `args` are values or LinearOperands, one for each input; `cts` the cotangents of the results,
    None for zero. Equations that depend on no linear input are computed forwards first.
    """
    values: dict[Var, Any] = {}
    for var, arg in zip(program.inputs, args, strict=True):
        if not isinstance(arg, LinearOperand):
            values[var] = arg

    def known(atom: Any) -> bool:
        return type(atom) is not Var or atom in values

    def value(atom: Any) -> Any:
        return values[atom] if type(atom) is Var else atom.operand

    before = context.source
    process = context.interpreter.process
    linear = []
    try:
        for eqn in program.equations:
            if not all(known(a) for a in eqn.inputs):
                linear.append(eqn)
                continue
            context.source = eqn.source
            ys = process(eqn.op, [value(a) for a in eqn.inputs], eqn.params)
            values.update(zip(eqn.outputs, ys if eqn.op.multiple_results else (ys,), strict=True))

        table: dict[Var, Any] = {}

        def accumulate(atom: Any, ct: Any) -> None:
            if ct is not None and type(atom) is Var and atom not in values:
                table[atom] = add(table[atom], ct) if atom in table else ct

        for atom, ct in zip(program.outputs, cts, strict=True):
            accumulate(atom, ct)
        for eqn in reversed(linear):
            ct = [table.pop(v, None) for v in eqn.outputs]
            if all(c is None for c in ct):
                continue
            context.source = eqn.source
            operands = [value(a) if known(a) else LinearOperand(a.type) for a in eqn.inputs]
            ct_in = eqn.op.transpose(
                ct if eqn.op.multiple_results else ct[0], *operands, **eqn.params
            )
            for atom, c in zip(eqn.inputs, ct_in, strict=True):
                accumulate(atom, c)
        return [table.get(var) for var in program.inputs]
    finally:
        context.source = before


def transpose_program(
    program: Program,
    linear: tuple[bool, ...],
    ct_nonzero: tuple[bool, ...],
    wanted: bool = True,
) -> tuple[Program, tuple[bool, ...]]:
    """The transpose of a Program as a Program.

    Its inputs are the Program's inputs that are not linear, then a cotangent for each result marked
    in `ct_nonzero`; its results the cotangents of the linear inputs: of all of them (zeros where
    nothing came back) if `wanted`, else of those that are not zero, which the second result marks.
    """

    def make() -> tuple[Program, tuple[bool, ...]]:
        known_types = [v.type for v, lin in zip(program.inputs, linear, strict=True) if not lin]
        ct_types = [v.type for v, nz in zip(program.outputs, ct_nonzero, strict=True) if nz]
        marks: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            known, given = iter(xs[: len(known_types)]), iter(xs[len(known_types) :])
            args = [
                LinearOperand(v.type) if lin else next(known)
                for v, lin in zip(program.inputs, linear, strict=True)
            ]
            cts = [next(given) if nz else None for nz in ct_nonzero]
            ct_in = backward(program, args, cts)
            out = []
            for var, lin, ct in zip(program.inputs, linear, ct_in, strict=True):
                if lin:
                    marks.append(ct is not None or wanted)
                    if marks[-1]:
                        out.append(zeros_of(var.type) if ct is None else ct)
            return out

        name = f"transpose_{program.name}"
        transposed = stage_closed(run, [*known_types, *ct_types], name=name)
        return transposed, tuple(marks)

    return program.derived(("transpose", linear, ct_nonzero, wanted), make)
