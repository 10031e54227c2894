"""Dead equations, repeated equations and pass-through reshapes, removed from a Program.

XLA would find these too; doing it here makes programs shorter before they are printed, cut for
reverse mode, written as text and parsed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.program import Atom, Equation, Literal, Program, Var, has_effects, is_repeatable


def drop_dead(program: Program) -> Program:
    """The Program without equations whose results nobody uses."""
    needed: set[Var] = {a for a in program.outputs if type(a) is Var}
    kept = []
    for eqn in reversed(program.equations):
        if any(v in needed for v in eqn.outputs) or has_effects(eqn):
            kept.append(eqn)
            needed.update(a for a in eqn.inputs if type(a) is Var)
    if len(kept) == len(program.equations):
        return program
    kept.reverse()
    return Program(program.inputs, kept, program.outputs, program.name, program.names)


def _key(value: Any) -> Any:
    """Something hashable that two parameters share only if they are the same."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype, value.tobytes())
    return value


def merge_repeated(program: Program) -> Program:
    """The Program with equal equations on equal operands computed once."""
    same: dict[Var, Var] = {}
    seen: dict[Any, tuple[Var, ...]] = {}
    kept = []

    def current(atom: Atom) -> Atom:
        return same.get(atom, atom) if type(atom) is Var else atom

    def atom_key(atom: Atom) -> Any:
        if isinstance(atom, Literal):
            return ("literal", atom.type, atom.value.tobytes())
        return atom

    for eqn in program.equations:
        inputs = [current(a) for a in eqn.inputs]
        if inputs != list(eqn.inputs):
            eqn = Equation(eqn.op, inputs, eqn.params, eqn.outputs, eqn.source)
        if is_repeatable(eqn):
            key = (
                eqn.op,
                tuple(map(atom_key, inputs)),
                tuple((k, _key(v)) for k, v in eqn.params.items()),
            )
            try:
                earlier = seen.setdefault(key, tuple(eqn.outputs))
            except TypeError:  # a parameter that cannot be compared
                earlier = tuple(eqn.outputs)
            if earlier[0:1] != tuple(eqn.outputs)[0:1]:
                same.update(zip(eqn.outputs, earlier, strict=True))
                continue
        kept.append(eqn)
    if not same:
        return program
    outputs = [current(a) for a in program.outputs]
    return Program(program.inputs, kept, outputs, program.name, program.names)


def simplify(program: Program) -> Program:
    """The Program with nothing computed twice or in vain."""
    return drop_dead(merge_repeated(program))
