"""From a user's function on trees to a Program, and Programs with rearranged inputs and results.

Shared by the control flow: how branches and bodies are traced (once per function and types), how
values they capture become operands, and how their results are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from plait.core.interpreter import Tracer
from plait.core.program import Atom, Program, Var, run_program
from plait.core.source import function_name, function_source
from plait.core.stage import stage, stage_cached
from plait.core.tree import PyTreeDef, flatten, leaf_names, paths
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentTypeError, DtypeError, ShapeError, an
from plait.interpreters.closed import stage_closed
from plait.interpreters.simplify import drop_dead
from plait.ops.arithmetic import convert_p


class Traced(NamedTuple):
    """A function as a Program: inputs are the captured values, then the leaves of the arguments."""

    program: Program
    out: Any  # the structure of the result; None for functions of flat sequences
    captured: list[Any]

    @property
    def out_types(self) -> tuple[ArrayType, ...]:
        return self.program.out_types


def check_function(function: Any, op: str, name: str) -> None:
    """Raise ArgumentTypeError for what cannot be called."""
    if not callable(function):
        raise ArgumentTypeError(f"{name} must be a function", op=op, **{name: function})


def trace(
    function: Callable[..., Any],
    arguments: PyTreeDef,
    types: Sequence[ArrayType],
    *,
    op: str,
    label: str,
    call: Callable[..., Any] | None = None,
    key: Any = None,
    names: Callable[[], Sequence[str]] = tuple,
) -> Traced:
    """Trace `function(*arguments)`, or `call(*arguments)`, which must depend on the function and
    `key` alone.

    Kept as long as the function lives. `label` is what the function is called in messages, `names`
    gives the names of the leaves of the arguments.
    """

    def make() -> tuple[Any, list[Any]]:
        out: list[PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            result = (call or function)(*arguments.unflatten(xs))
            ys, shape = flatten(result)
            check_leaves(ys, result, op, label)
            out.append(shape)
            return ys

        program, captured = stage(
            flat, types, transformation=op, name=function_name(function), names=names()
        )
        return (program, out[0]), captured

    (program, shape), captured = stage_cached(function, (op, label, arguments, key), types, make)
    return Traced(program, shape, captured)


def check_arguments(
    leaves: Sequence[Any], arguments: Any, op: str, name: str, closes: str = "the function"
) -> None:
    """Raise ArgumentTypeError naming the first leaf of an argument that is not an array."""
    for k, x in enumerate(leaves):
        if not is_array(x):
            place = leaf_names(arguments, name)[k]
            raise ArgumentTypeError(
                f"{place} is not an array: it is {an(type(x).__name__)}",
                op=op,
                fix=f"let {closes} close over what is not an array",
                **{place: x},
            )


def check_leaves(leaves: Sequence[Any], result: Any, op: str, label: str) -> None:
    """Raise ArgumentTypeError naming the first leaf of a result that is not an array."""
    for k, y in enumerate(leaves):
        if not is_array(y):
            where = leaf_names(result, "")[k]
            raise ArgumentTypeError(
                f"{label} returns {an(type(y).__name__)}{' at ' + where if where else ''}, "
                "which is not an array",
                op=op,
                fix="return arrays and numbers, in any nesting of containers",
            )


def describe_function(function: Any) -> str:
    """A function's name and where it is defined."""
    name, place = function_name(function), function_source(function)
    return f"{name} ({place})"


def concrete(x: Any) -> Any:
    """The value behind x if it is known now, else None."""
    return x.concrete() if isinstance(x, Tracer) else x


# --- Programs with other inputs and results


def rewire(
    program: Program,
    inputs: tuple[int | ArrayType, ...],
    outputs: tuple[int, ...] | None = None,
) -> Program:
    """A Program with its inputs reordered and only some of its results.

    `inputs` says for each new input which old one it is, or the type of one that nobody uses.
    """
    every = tuple(range(len(program.outputs)))
    outputs = every if outputs is None else outputs
    if inputs == tuple(range(len(program.inputs))) and outputs == every:
        return program

    def make() -> Program:
        ins = [program.inputs[k] if isinstance(k, int) else Var(k) for k in inputs]
        names = None
        if program.names:
            names = [program.names[k] if isinstance(k, int) else "" for k in inputs]
        outs: list[Atom] = [program.outputs[k] for k in outputs]
        return drop_dead(Program(ins, program.equations, outs, program.name, names))

    return program.derived(("rewire", inputs, outputs), make)


def share_captures(traced: Sequence[Traced]) -> tuple[list[Program], list[Any]]:
    """Programs that all take the captured values of all of them first, and these values."""
    places: dict[int, int] = {}
    shared: list[Any] = []
    for t in traced:
        for value in t.captured:
            if id(value) not in places:
                places[id(value)] = len(shared)
                shared.append(value)
    types = [type_of(value) for value in shared]
    programs = []
    for t in traced:
        inputs: list[int | ArrayType] = list(types)
        n = len(t.captured)
        for k, value in enumerate(t.captured):
            inputs[places[id(value)]] = k
        programs.append(rewire(t.program, (*inputs, *range(n, len(t.program.inputs)))))
    return programs, shared


def give_types(program: Program, types: tuple[ArrayType, ...]) -> Program:
    """The Program with results of the given types, which differ at most in being weak."""
    if program.out_types == types:
        return program

    def make() -> Program:
        def run(*xs: Any) -> list[Any]:
            ys = run_program(program, *xs)
            return [
                y if type_of(y) == t else convert_p.bind(y, dtype=t.dtype, weak_type=t.weak_type)
                for y, t in zip(ys, types, strict=True)
            ]

        return stage_closed(run, program.in_types, name=program.name)

    return program.derived(("give types", types), make)


# --- comparing results


def same_type(a: ArrayType, b: ArrayType) -> bool:
    """Equal up to being weak."""
    return a.shape == b.shape and a.dtype == b.dtype


def type_error(
    summary: str,
    first: tuple[str, Sequence[ArrayType]],
    second: tuple[str, Sequence[ArrayType]],
    shape: PyTreeDef,
    op: str,
    fix: str,
) -> Exception | None:
    """The error for the first leaf at which two results of one structure differ in type."""
    (a, a_types), (b, b_types) = first, second
    for path, s, t in zip(paths(shape), a_types, b_types, strict=True):
        if same_type(s, t):
            continue
        kind = ShapeError if s.shape != t.shape else DtypeError
        place = f" at {path}" if path else ""
        given: dict[str, Any] = {a: s, b: t}
        return kind(summary + place, op=op, fix=fix, **given)
    return None
