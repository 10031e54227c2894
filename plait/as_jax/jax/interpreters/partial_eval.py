"""jax.interpreters.partial_eval: computing now what is known, and writing down the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.as_jax.linear_util import WrappedFun
from plait.core.context import context, running
from plait.core.interpreter import Interpreter
from plait.core.primitive import Primitive
from plait.core.program import Program
from plait.core.stage import Stager, StageTracer
from plait.core.types import ArrayType, type_of


class PartialVal(tuple):
    """A value: (None, the value itself) if it is known, else (its type, None)."""

    @classmethod
    def known(cls, value: Any) -> PartialVal:
        return cls((None, value))

    @classmethod
    def unknown(cls, aval: ArrayType) -> PartialVal:
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """The value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> ArrayType:
        """The type."""
        return type_of(self[1]) if self.is_known() else self[0]


class _Rest(Stager):
    """Writes the ops that depend on what is unknown; its parent computes all others."""

    parent: Interpreter

    def is_unknown(self, x: Any) -> bool:
        return type(x) is StageTracer and x.interpreter is self

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        if any(map(self.is_unknown, xs)) or op.has_effects:
            return super().process(op, xs, params)
        context.interpreter = self.parent
        try:
            return self.parent.process(op, xs, params)
        finally:
            context.interpreter = self


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Program, list[PartialVal], list[Any]]:
    """(jaxpr of what is unknown, results, what the jaxpr captured).

    The jaxpr's results are those of the function that are unknown, or all marked in `instantiate`.
    """
    rest = _Rest(context.interpreter, "partial evaluation", fun.__name__)
    try:
        with running(rest):
            args = [p[1] if p.is_known() else rest.argument(p[0]) for p in map(PartialVal, pvals)]
            results = list(fun.call_wrapped(*args))
        marks = [instantiate] * len(results) if isinstance(instantiate, bool) else instantiate
        unknown = [m or rest.is_unknown(y) for y, m in zip(results, marks, strict=True)]
        kept = [y for y, u in zip(results, unknown, strict=True) if u]
        program, captured = rest.finish(kept, fun.__name__)
    finally:
        rest.alive = False
    out = [
        PartialVal.unknown(type_of(y)) if u else PartialVal.known(y)
        for y, u in zip(results, unknown, strict=True)
    ]
    shown = Program(
        program.inputs,
        program.equations,
        program.outputs,
        program.name,
        program.names,
        len(captured),
    )
    return shown, out, captured


__all__ = ["PartialVal", "trace_to_jaxpr_nounits"]
