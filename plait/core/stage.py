"""Python function to Program: the Stager, and `stage`, which runs a function under it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.context import context, running
from plait.core.interpreter import Interpreter, Tracer, infer, leaked
from plait.core.primitive import Primitive
from plait.core.program import Atom, Equation, Literal, Program, Var
from plait.core.source import Source, function_name, raised_at, scope, user_source
from plait.core.types import ArrayType, type_of
from plait.errors import PlaitError, UnexpectedTracerError


class StageTracer(Tracer):
    """A variable of a Program that is being written."""

    __slots__ = ("name", "source", "variable")
    interpreter: Stager

    def __init__(self, interpreter: Stager, var: Var, source: Source | None, name: str = ""):
        self.interpreter, self.variable, self.type = interpreter, var, var.type
        self.source, self.name = source, name

    def origin(self) -> str:
        if self.name:
            return f"the argument {self.name}"
        names = self.interpreter.arguments_behind(self.variable)
        place = f"computed at {self.source}" if self.source else "computed"
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        return f"{place} from {shown}" if names else place


class Stager(Interpreter):
    """Writes every op it receives as an equation.

    Values from outside (arrays, tracers of interpreters further out) are captured: each becomes an
    input of the Program, in the order of first use; scalars become literals.
    """

    def __init__(self, parent: Interpreter | None, transformation: str = "jit", function: str = ""):
        self.parent = parent
        self.transformation, self.function = transformation, function
        self.equations: list[Equation] = []
        self.arguments: list[Var] = []
        self.names: list[str] = []
        self._captured: dict[int, tuple[Var, Any]] = {}

    def argument(self, type: ArrayType, name: str = "") -> StageTracer:
        """A new input of the Program."""
        var = Var(type)
        self.arguments.append(var)
        self.names.append(name)
        return StageTracer(self, var, None, name)

    @property
    def captured(self) -> list[Any]:
        return [value for _, value in self._captured.values()]

    def atom(self, x: Any) -> Atom:
        """The variable or literal that stands for a value."""
        if type(x) is StageTracer and x.interpreter is self:
            return x.variable
        if isinstance(x, Tracer):
            if not x.interpreter.alive or x.interpreter.runs_in(self):
                raise leaked(x)
        elif isinstance(x, np.ndarray | np.generic | bool | int | float | complex):
            literal = _literal(x)
            if literal is not None:
                return literal
        entry = self._captured.get(id(x))
        if entry is None:
            entry = self._captured[id(x)] = (Var(type_of(x)), x)
        return entry[0]

    def arguments_behind(self, var: Var) -> list[str]:
        """The names of the arguments that a variable depends on."""
        needed = {var}
        for eqn in reversed(self.equations):
            if not needed.isdisjoint(eqn.outputs):
                needed.update(a for a in eqn.inputs if type(a) is Var)
        pairs = zip(self.arguments, self.names, strict=True)
        return [name for v, name in pairs if v in needed and name]

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        write = op.stage
        if write is not None:
            return write(self, xs, params)
        return self.emit(op, xs, params)

    def emit(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Append an equation; tracers for its results."""
        inputs = [
            x.variable if type(x) is StageTracer and x.interpreter is self else self.atom(x)
            for x in xs
        ]
        out = infer(op, [a.type for a in inputs], params)
        source = context.source or user_source()
        if op.multiple_results:
            outputs = [Var(t) for t in out]
            self.equations.append(Equation(op, inputs, params, outputs, source))
            return tuple(StageTracer(self, v, source) for v in outputs)
        var = Var(out)
        self.equations.append(Equation(op, inputs, params, (var,), source))
        return StageTracer(self, var, source)

    def finish(self, outputs: Sequence[Any], name: str = "") -> tuple[Program, list[Any]]:
        """The Program with the given results, and the captured values that are its first inputs."""
        atoms = [self.atom(y) for y in outputs]
        self.alive = False
        captured = [var for var, _ in self._captured.values()]
        names = [""] * len(captured) + self.names
        program = Program([*captured, *self.arguments], self.equations, atoms, name, names)
        if state.check_programs:
            from plait.core.check import check_program

            check_program(program)
        return program, self.captured


class _Watching(Stager):
    """A Stager that knows which of its tracers are still there."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.watched: list[weakref.ref[StageTracer]] = []

    def argument(self, type: ArrayType, name: str = "") -> StageTracer:
        tracer = super().argument(type, name)
        self.watched.append(weakref.ref(tracer))
        return tracer

    def emit(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        ys = super().emit(op, xs, params)
        self.watched += map(weakref.ref, ys if op.multiple_results else (ys,))
        return ys

    def check_leaks(self) -> None:
        """Raise UnexpectedTracerError for a tracer that somebody kept."""
        import gc  # here: for those who look for leaks

        gc.collect()
        for tracer in [t for ref in self.watched if (t := ref()) is not None]:
            source = tracer.source
            raise UnexpectedTracerError(
                "a traced value was kept when the transformation that made it ended",
                op=self.describe(),
                value=tracer.type,
                made_at=str(source) if source else tracer.origin() or "inside the function",
                fix="return the value from the function instead of storing it in a global, "
                "attribute or list",
            )


def _literal(x: Any) -> Literal | None:
    if isinstance(x, np.ndarray) and (x.ndim or x.dtype == dtypes.float0):
        return None
    type_ = type_of(x)
    if isinstance(x, int) or (isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "iu"):
        dtypes.check_fits(int(x), type_.dtype)
    return Literal(np.asarray(x, dtype=type_.dtype), type_)


def stage(
    function: Callable[..., Sequence[Any]],
    types: Sequence[ArrayType],
    *,
    transformation: str = "jit",
    name: str = "",
    names: Sequence[str] = (),
) -> tuple[Program, list[Any]]:
    """Run a function of arrays on tracers of the given types and write down what it does.

    The function returns a flat sequence of arrays. Returns the Program and the captured values: the
    Program's inputs are these, then the arguments. The named axes in scope stay in scope; the names
    of the blocks around do not, since they belong to the equation that will hold the Program.
    """
    name = name or function_name(function)
    if state.check_tracer_leaks:
        stager: Stager = _Watching(context.interpreter, transformation, name)
    else:
        stager = Stager(context.interpreter, transformation, name)
    source, context.source = context.source, None
    try:
        with running(stager), scope("", inside=False):
            labels = names or [""] * len(types)
            arguments = [stager.argument(t, n) for t, n in zip(types, labels, strict=True)]
            outputs = function(*arguments)
            finished = stager.finish(outputs, name)
        if isinstance(stager, _Watching):
            del arguments, outputs
            stager.check_leaks()
        return finished
    except PlaitError as error:
        if error.where is None and (line := raised_at(error.__traceback__)):
            error.where = str(line)
        raise
    finally:
        stager.alive = False
        context.source = source


_cache: weakref.WeakKeyDictionary[Any, dict] = weakref.WeakKeyDictionary()


def stage_cached(
    function: Callable[..., Any], key: Any, types: Sequence[ArrayType], make: Callable[[], Any]
) -> Any:
    """The result of `make()`, kept as long as `function` lives, per key, types, switches and axes.

    `make` returns (anything, captured values); results that captured tracers are not kept, since
    the tracers are only good for this one trace.
    """
    try:
        table = _cache.setdefault(function, {})
    except TypeError:  # neither hashable nor weakly referable: trace anew each time
        return make()
    full = (key, tuple(types), state.key, context.axes)
    found = table.get(full)
    if found is None:
        found = make()
        if not any(isinstance(x, Tracer) for x in found[1]):
            table[full] = found
    return found


def clear_stage_cache() -> None:
    """Forget all kept traces."""
    _cache.clear()
