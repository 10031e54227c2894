"""Re-derive every type of a Program, or name the equation that lies.

A Program that fails here is a bug of plait, not of its user.
"""

from __future__ import annotations

from plait.core.program import Program, Var, sub_programs


class ProgramError(AssertionError):
    """A Program that breaks the rules of the IR."""


def check_program(program: Program) -> None:
    """Raise ProgramError if a variable is used before it is defined, defined twice, or has a type
    other than the one its op gives.
    """
    defined: set[Var] = set()

    def define(var: Var, where: str) -> None:
        if var in defined:
            raise ProgramError(f"{where} defines a variable a second time\n{program}")
        defined.add(var)

    def use(atom: object, where: str) -> None:
        if isinstance(atom, Var) and atom not in defined:
            raise ProgramError(f"{where} uses a variable before it is defined\n{program}")

    for var in program.inputs:
        define(var, "the input list")
    for index, eqn in enumerate(program.equations):
        where = f"equation {index} ({eqn.op.name}, {eqn.source})"
        for atom in eqn.inputs:
            use(atom, where)
        derived = eqn.op.type(*(a.type for a in eqn.inputs), **eqn.params)
        derived = tuple(derived) if eqn.op.multiple_results else (derived,)
        stated = tuple(v.type for v in eqn.outputs)
        if derived != stated:
            says, gives = (", ".join(map(str, types)) for types in (stated, derived))
            raise ProgramError(f"{where} states {says}, its op gives {gives}\n{program}")
        for var in eqn.outputs:
            define(var, where)
        for inner in sub_programs(eqn.params):
            check_program(inner)
    for atom in program.outputs:
        use(atom, "the output list")
