"""Program to module: equations in order, sub-programs as functions, locations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core.program import Literal, Program, Var, program_has_effects
from plait.core.types import ArrayType
from plait.hlo.builder import ORDER, Builder, Value
from plait.hlo.types import quoted, tensor


def lower_program(b: Builder, program: Program, args: Sequence[Value]) -> tuple[Value, ...]:
    """Write a Program's equations into the current block; the values of its results."""
    env: dict[Var, Value] = dict(zip(program.inputs, args, strict=True))

    def value(atom: Var | Literal) -> Value:
        if type(atom) is Var:
            return env[atom]
        return b.constant(atom.value, atom.type.dtype)

    outer = b.location, b.result_types, b.scope
    for eqn in program.equations:
        b.scope = outer[2] + (eqn.source.scope if eqn.source else "")
        b.set_location(f"{program.name}/{b.scope}{eqn.op.name}", eqn.source)
        xs = [value(a) for a in eqn.inputs]
        b.result_types = tuple(v.type for v in eqn.outputs)
        ys = eqn.op.lower(b, *xs, **eqn.params)
        ys = tuple(ys) if eqn.op.multiple_results else (ys,)
        for var, y in zip(eqn.outputs, ys, strict=True):
            if y.type.shape != var.type.shape or y.type.dtype != var.type.dtype:
                raise AssertionError(
                    f"{eqn.op.name}: its lower rule gives {y.type}, its type rule {var.type}"
                )
            env[var] = y
    b.location, b.result_types, b.scope = outer
    return tuple(value(a) for a in program.outputs)


def call_program(b: Builder, program: Program, args: Sequence[Value]) -> tuple[Value, ...]:
    """A call of a Program as a function of its own, written once a module."""
    # Inside a manual computation the text depends on what the mesh axes are called.
    key = (program, b.mesh)
    name = b.function_names.get(key)
    if name is None:
        name = b.function_names[key] = f"{_symbol(program.name)}_{len(b.function_names)}"
        b.functions.append(function_text(b, program, name, "private"))
    types = [ArrayType(t.shape, t.dtype) for t in program.out_types]
    if b.order is None:
        return b.emit("func.call", args, types, f"callee = @{name}")
    args, types = (*args, b.order), [*types, ORDER]
    *outs, b.order = b.emit("func.call", args, types, f"callee = @{name}")
    return tuple(outs)


def _symbol(name: str) -> str:
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "program"
    return text if text[0].isalpha() or text[0] == "_" else f"_{text}"


def function_text(
    b: Builder,
    program: Program,
    name: str,
    visibility: str,
    arg_attributes: Sequence[str] = (),
    result_attributes: Sequence[str] = (),
) -> str:
    """One func.func."""
    outer, b.lines = b.lines, []
    constants, b.constants = b.constants, {}
    location, b.location = b.location, ""
    scope, b.scope = b.scope, ""
    order = b.order
    try:
        args = [b.fresh(v.type) for v in program.inputs]
        extra: list[str] = []
        if order is not None:
            # @main begins the order of effects; other functions take it and hand it on.
            b.order = b.constant(np.uint32(0))
            if visibility == "private":
                b.order = b.fresh(ORDER)
                args.append(b.order)
                extra = [tensor(ORDER)]
        results = lower_program(b, program, args[: len(program.inputs)])
        if extra and b.order is not None:
            results = (*results, b.order)
        head = ", ".join(
            f"{a.name}: {tensor(a.type)}"
            + (f" {{{arg_attributes[k]}}}" if arg_attributes and arg_attributes[k] else "")
            + (_argument_location(program, k) if k < len(program.inputs) else "")
            for k, a in enumerate(args)
        )
        outs = ", ".join(
            [
                tensor(t)
                + (
                    f" {{{result_attributes[k]}}}"
                    if result_attributes and result_attributes[k]
                    else ""
                )
                for k, t in enumerate(program.out_types)
            ]
            + extra
        )
        names = ", ".join(v.name for v in results)
        types = ", ".join(tensor(v.type) for v in results)
        end = f'"func.return"({names}) : ({types}) -> ()'
        body = "\n".join([*b.lines, end])
        return f"func.func {visibility} @{name}({head}) -> ({outs}) {{\n{body}\n}}"
    finally:
        b.lines, b.constants, b.location = outer, constants, location
        b.scope, b.order = scope, order


def _argument_location(program: Program, k: int) -> str:
    name = program.names[k] if program.names else ""
    return f" loc({quoted(name)})" if name else ""


def module_text(
    b: Builder,
    program: Program,
    *,
    arg_attributes: Sequence[str] = (),
    result_attributes: Sequence[str] = (),
    header: str = "",
    module_attributes: str = "",
) -> str:
    """The whole module, with @main as its entry."""
    if program_has_effects(program):
        b.order = Value("", ORDER)  # @main begins with a value of its own
    main = function_text(b, program, "main", "public", arg_attributes, result_attributes)
    name = _symbol(program.name)
    attributes = f" attributes {{{module_attributes}}}" if module_attributes else ""
    parts: list[Any] = [header, *b.functions, main]
    return f"module @{name}{attributes} {{\n" + "\n".join(p for p in parts if p) + "\n}\n"
