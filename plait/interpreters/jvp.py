"""Value and tangent together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core.context import context, running
from plait.core.interpreter import Interpreter, Tracer, leaked
from plait.core.primitive import Primitive, zeros_like, zeros_of
from plait.core.program import Program, run_program
from plait.core.types import type_of
from plait.interpreters.closed import stage_closed


class JvpTracer(Tracer):
    """A value with its tangent; values without one are not wrapped."""

    __slots__ = ("primal", "tangent")

    def __init__(self, interpreter: Interpreter, primal: Any, tangent: Any):
        self.interpreter, self.primal, self.tangent = interpreter, primal, tangent
        self.type = type_of(primal)

    def concrete(self) -> Any:
        primal = self.primal
        return primal.concrete() if isinstance(primal, Tracer) else primal

    def origin(self) -> str:
        return self.primal.origin() if isinstance(self.primal, Tracer) else ""


class Jvp(Interpreter):
    """Pushes tangents forward: every op binds its value and its tangent with the parent running."""

    parent: Interpreter

    def __init__(self, parent: Interpreter, transformation: str = "jvp", function: str = ""):
        self.parent = parent
        self.transformation, self.function = transformation, function

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        primals, tangents, any_tangent = [], [], False
        for x in xs:
            if type(x) is JvpTracer and x.interpreter is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                any_tangent = True
            else:
                primals.append(x)
                tangents.append(None)
        parent = self.parent
        context.interpreter = parent
        try:
            if not any_tangent:
                return parent.process(op, primals, params)
            y, ty = op.jvp(primals, tangents, **params)
        finally:
            context.interpreter = self
        if op.multiple_results:
            return tuple(self.wrap(a, b) for a, b in zip(y, ty, strict=True))
        return self.wrap(y, ty)

    def wrap(self, primal: Any, tangent: Any) -> Any:
        return primal if tangent is None else JvpTracer(self, primal, tangent)

    def unwrap(self, y: Any) -> tuple[Any, Any]:
        """(value, tangent or None) of a result."""
        if type(y) is JvpTracer:
            if y.interpreter is self:
                return y.primal, y.tangent
            if not y.interpreter.alive:
                raise leaked(y)
        return y, None


def jvp(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    parent: Interpreter | None = None,
    transformation: str = "jvp",
    name: str = "",
) -> tuple[list[Any], list[Any]]:
    """(results, their tangents) of a flat function; a tangent that is None is zero."""
    interpreter = Jvp(parent or context.interpreter, transformation, name)
    try:
        with running(interpreter):
            xs = [interpreter.wrap(x, t) for x, t in zip(primals, tangents, strict=True)]
            pairs = [interpreter.unwrap(y) for y in function(*xs)]
    finally:
        interpreter.alive = False
    return [y for y, _ in pairs], [t for _, t in pairs]


def jvp_program(
    program: Program, nonzero: tuple[bool, ...], wanted: tuple[bool, ...] | None = None
) -> tuple[Program, tuple[bool, ...]]:
    """The Program that computes a Program's values, then the tangents of its results.

    Its inputs are the Program's, then a tangent for each input marked in `nonzero`. Returned with
    it: which results have a tangent that is not known to be zero. Results marked in `wanted` get
    one in any case.
    """

    def make() -> tuple[Program, tuple[bool, ...]]:
        n = len(program.inputs)
        types = program.in_types + tuple(
            v.type.tangent() for v, nz in zip(program.inputs, nonzero, strict=True) if nz
        )
        out_nonzero: list[bool] = []

        def both(*xs: Any) -> list[Any]:
            given = iter(xs[n:])
            tangents = [next(given) if nz else None for nz in nonzero]
            ys, ts = jvp(lambda *p: run_program(program, *p), xs[:n], tangents)
            if wanted is not None:
                ts = [
                    zeros_of(type_of(y).tangent()) if t is None and want else t
                    for y, t, want in zip(ys, ts, wanted, strict=True)
                ]
            out_nonzero.extend(t is not None for t in ts)
            return [*ys, *(t for t in ts if t is not None)]

        derived = stage_closed(both, types, name=f"jvp_{program.name}")
        return derived, tuple(out_nonzero)

    return program.derived(("jvp", nonzero, wanted), make)


def instantiate(x: Any, tangent: Any) -> Any:
    """The tangent, or zeros of the type of x in place of None."""
    return zeros_like(x) if tangent is None else tangent
