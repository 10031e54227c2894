"""A Program cut into its known and its linear part: what reverse mode does to sub-programs.

The cut is made by running the Program under a Linearizer over a Stager: the Stager's Program is the
known part, the Linearizer's the linear part, and what the second captures of the first are the
residuals.
"""

from __future__ import annotations

from typing import NamedTuple

from plait.core.context import context, running
from plait.core.program import Program, run_program
from plait.core.stage import Stager
from plait.interpreters.closed import close
from plait.interpreters.linearize import Linearizer
from plait.interpreters.simplify import simplify


class Split(NamedTuple):
    """known:  known inputs -> known results, then residuals.
    linear: residuals, then linear inputs -> linear results.
    out_linear: which of the Program's results come from the linear part.
    """

    known: Program
    linear: Program
    out_linear: tuple[bool, ...]
    residuals: int


def split_program(
    program: Program, linear: tuple[bool, ...], force_linear: tuple[bool, ...] | None = None
) -> Split:
    """Cut a Program whose inputs marked in `linear` are tangents.

    Results marked in `force_linear` come from the linear part in any case (a loop's carry that is
    linear only from the second round on).
    """

    def make() -> Split:
        stager = Stager(context.interpreter, "linearize", program.name)
        linearizer = Linearizer(stager, "linearize", program.name)
        args = [
            (linearizer if is_linear else stager).argument(v.type)
            for v, is_linear in zip(program.inputs, linear, strict=True)
        ]
        with running(linearizer):
            ys = run_program(program, *args)
        out_linear = tuple(linearizer.is_linear(y) for y in ys)
        if force_linear is not None:
            out_linear = tuple(a or b for a, b in zip(out_linear, force_linear, strict=True))
        linear_program, residuals = linearizer.finish(
            [y for y, is_linear in zip(ys, out_linear, strict=True) if is_linear],
            f"linear_{program.name}",
        )
        known_ys = [y for y, is_linear in zip(ys, out_linear, strict=True) if not is_linear]
        known = close(*stager.finish([*known_ys, *residuals], program.name))
        return Split(known, linear_program, out_linear, len(residuals))

    return program.derived(("split", linear, force_linear), make)


class Forwarding(NamedTuple):
    """A Split whose residuals are only what has to be computed.

    Residuals that are inputs of the known part are left out of its results: `forwarded` gives their
    positions among the known inputs. The linear part takes the computed residuals, then the
    forwarded ones, then its linear inputs.
    """

    known: Program
    linear: Program
    out_linear: tuple[bool, ...]
    computed: int
    forwarded: tuple[int, ...]


def split_forwarding(program: Program, linear: tuple[bool, ...]) -> Forwarding:
    """`split_program`, for regions that can hand inputs on themselves without a copy."""

    def make() -> Forwarding:
        cut = split_program(program, linear)
        position = {var: k for k, var in enumerate(cut.known.inputs)}
        n = len(cut.known.outputs) - cut.residuals
        residuals = list(zip(cut.known.outputs[n:], cut.linear.inputs, strict=False))
        computed = [(a, v) for a, v in residuals if a not in position]
        forwarded = [(a, v) for a, v in residuals if a in position]
        known = Program(
            cut.known.inputs,
            cut.known.equations,
            [*cut.known.outputs[:n], *(a for a, _ in computed)],
            cut.known.name,
        )
        tangents = cut.linear.inputs[cut.residuals :]
        inputs = [*(v for _, v in computed), *(v for _, v in forwarded), *tangents]
        linear_part = Program(inputs, cut.linear.equations, cut.linear.outputs, cut.linear.name)
        return Forwarding(
            simplify(known),
            simplify(linear_part),
            cut.out_linear,
            len(computed),
            tuple(position[a] for a, _ in forwarded),
        )

    return program.derived(("split forwarding", linear), make)
