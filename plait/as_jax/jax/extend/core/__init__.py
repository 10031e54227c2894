"""jax.extend.core: jaxprs and primitives.

A jaxpr is plait's Program, a closed one what make_jaxpr returns; plait drops no results, so that
nothing is a DropVar.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from plait.as_jax.primitive import Primitive
from plait.core.context import bound_axis_names, context, running
from plait.core.interpreter import Interpreter
from plait.core.program import Equation as JaxprEqn
from plait.core.program import Literal, Var, eval_jaxpr, sub_programs
from plait.core.program import Program as Jaxpr
from plait.core.types import ArrayType, is_array
from plait.transforms.inspect import ClosedProgram as ClosedJaxpr


class Effect:
    """Base of the effects that def_effectful_abstract_eval may name."""


Effects = set[Effect]
no_effects: Effects = set()


class DropVar:
    """A result that is dropped: none is in plait."""


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function of arrays that a closed jaxpr is."""
    return lambda *args: eval_jaxpr(closed.program, closed.consts, *args)


def jaxprs_in_params(params: dict[str, Any]) -> list[Jaxpr]:
    """The jaxprs among the parameters of an equation."""
    closed = [v.program for v in params.values() if isinstance(v, ClosedJaxpr)]
    return sub_programs(params) + closed


def subjaxprs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The jaxprs in the equations of a jaxpr."""
    return [inner for eqn in jaxpr.equations for inner in jaxprs_in_params(eqn.params)]


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Any],
    primitive: Any,
    params: dict[str, Any],
    *_: Any,
    **__: Any,
) -> JaxprEqn:
    """An equation."""
    return JaxprEqn(primitive, list(invars), params, list(outvars), None)


def mapped_aval(size: int, axis: int | None, aval: ArrayType) -> ArrayType:
    """The type of one row of an array of a type."""
    if axis is None:
        return aval
    axis %= aval.ndim
    return aval.with_shape(aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(size: int, axis: int | None, aval: ArrayType, *_: Any) -> ArrayType:
    """The type of an array whose rows have a type."""
    if axis is None:
        return aval
    axis %= aval.ndim + 1
    return aval.with_shape((*aval.shape[:axis], size, *aval.shape[axis:]))


def valid_jaxtype(x: Any) -> bool:
    """Whether x is an array or a number."""
    return is_array(x)


def find_top_trace(_: Any = ()) -> Interpreter:
    """The running interpreter."""
    return context.interpreter


@contextlib.contextmanager
def take_current_trace() -> Iterator[Interpreter]:
    """The running interpreter, for a block in which another may take its place."""
    with running(context.interpreter):
        yield context.interpreter


def set_current_trace(trace: Interpreter) -> contextlib.AbstractContextManager[None]:
    """Let an interpreter receive every op inside the block."""
    return running(trace)


class TraceTag:
    """What a trace is told apart by: compare it, nothing else."""


class OpaqueTraceState:
    """Equal to another if the same transformations run; compare it, nothing else."""

    def __init__(self) -> None:
        self._interpreter = context.interpreter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._interpreter is other._interpreter

    def __hash__(self) -> int:
        return id(self._interpreter)

    def __repr__(self) -> str:
        return f"OpaqueTraceState({self._interpreter.describe()})"


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """What tells whether the same transformations run now and then."""
    return OpaqueTraceState()


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the mapped axes in scope."""
    return list(bound_axis_names())


__all__ = [
    "ClosedJaxpr",
    "DropVar",
    "Effect",
    "Effects",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "find_top_trace",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
