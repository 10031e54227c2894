"""jvp, with the tangent staged into a linear Program.

A Jvp interpreter runs over a Linearizer. Ops that touch no tangent pass through to the parent and
are computed now; ops on tangents are written down, with what they need of the values captured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core.context import context, running
from plait.core.interpreter import Interpreter
from plait.core.primitive import Primitive
from plait.core.program import Program
from plait.core.stage import Stager, StageTracer
from plait.core.types import type_of
from plait.interpreters.jvp import jvp


class Linearizer(Stager):
    """Writes the ops that depend on its arguments; hands all others to its parent."""

    parent: Interpreter

    def is_linear(self, x: Any) -> bool:
        return type(x) is StageTracer and x.interpreter is self

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        linear = [type(x) is StageTracer and x.interpreter is self for x in xs]
        if not any(linear):
            context.interpreter = self.parent
            try:
                return self.parent.process(op, xs, params)
            finally:
                context.interpreter = self
        if op.split is not None and not all(linear):
            return op.split(self, xs, linear, params)
        return super().process(op, xs, params)


class LinearMap:
    """A linear function of tangents, as a Program whose first inputs are the captured values.

    `outputs_zero[i]` says that the i-th tangent is zero whatever goes in; such outputs are left out
    of the Program.
    """

    __slots__ = ("captured", "in_nonzero", "out_nonzero", "program")

    def __init__(
        self,
        program: Program,
        captured: list[Any],
        in_nonzero: tuple[bool, ...],
        out_nonzero: tuple[bool, ...],
    ):
        self.program, self.captured = program, captured
        self.in_nonzero, self.out_nonzero = in_nonzero, out_nonzero


def linearize(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    nonzero: Sequence[bool],
    *,
    transformation: str = "linearize",
    name: str = "",
) -> tuple[list[Any], LinearMap]:
    """The results of a flat function, and the linear map from the tangents marked in `nonzero`."""
    parent = context.interpreter
    linearizer = Linearizer(parent, transformation, name)
    try:
        tangents = [
            linearizer.argument(type_of(x).tangent()) if nz else None
            for x, nz in zip(primals, nonzero, strict=True)
        ]
        with running(linearizer):
            ys, ts = jvp(function, primals, tangents, transformation=transformation, name=name)
        kept = [t for t in ts if t is not None]
        program, captured = linearizer.finish(kept, f"linear_{name}")
    finally:
        linearizer.alive = False
    return ys, LinearMap(program, captured, tuple(nonzero), tuple(t is not None for t in ts))
