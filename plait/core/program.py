"""Program: what a traced function is made of. Var, Literal, Equation, Program.

They answer to JAX's names as well (jaxpr.eqns, eqn.primitive, var.aval, ...), so that a user's own
interpreter of jaxprs runs on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from plait.core.context import context
from plait.core.primitive import Primitive
from plait.core.source import Source
from plait.core.types import ArrayType, type_of


@final
class Var:
    """A value of a Program, named only when it is printed."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType):
        self.type = type

    aval = property(lambda self: self.type)

    def __repr__(self) -> str:
        return f"Var({self.type})"


@final
class Literal:
    """A scalar written into the Program: `value`, of the type's dtype, and `operand`, which is as
    weak as the type: what an interpreter hands to ops.
    """

    __slots__ = ("operand", "type", "value")

    def __init__(self, value: np.ndarray | np.generic, type: ArrayType):
        self.value, self.type = value, type
        self.operand: Any = value
        if type.weak_type and type_of(python := value.item()) is type:
            self.operand = python

    aval = property(lambda self: self.type)
    val = property(lambda self: self.value)

    def __repr__(self) -> str:
        return f"Literal({self.value})"


Atom = Var | Literal


class Equation:
    """outputs = op[params] inputs, and the user's line it came from."""

    __slots__ = ("inputs", "op", "outputs", "params", "source")

    def __init__(
        self,
        op: Primitive,
        inputs: Sequence[Atom],
        params: dict[str, Any],
        outputs: Sequence[Var],
        source: Source | None,
    ):
        self.op, self.inputs, self.params = op, inputs, params
        self.outputs, self.source = outputs, source

    primitive = property(lambda self: self.op)
    invars = property(lambda self: list(self.inputs))
    outvars = property(lambda self: list(self.outputs))

    def __repr__(self) -> str:
        return f"Equation({self.op.name})"


class _Params(dict):
    """An equation's parameters, where the Program of a call is also found by JAX's names."""

    def __missing__(self, name: str) -> Any:
        if name in ("jaxpr", "call_jaxpr") and "program" in self:
            return self["program"]
        raise KeyError(name)


class Program:
    """A function of arrays as a list of equations; compares by identity and never changes.

    `inputs` are variables, `outputs` variables or literals. A Program has no free variables: what a
    function captured comes in as its first inputs. `memo` holds what was derived from the program
    (its derivative, its executable), so that it lives exactly as long.
    """

    __slots__ = (
        "__weakref__",
        "captured",
        "equations",
        "inputs",
        "memo",
        "name",
        "names",
        "outputs",
    )

    def __init__(
        self,
        inputs: Sequence[Var],
        equations: Sequence[Equation],
        outputs: Sequence[Atom],
        name: str = "",
        names: Sequence[str] | None = None,
        captured: int = 0,
    ):
        self.inputs, self.equations, self.outputs = tuple(inputs), list(equations), tuple(outputs)
        self.name = name
        # The user's names of the inputs (params['w']), where they are known.
        self.names = names
        # How many of the first inputs a reader of JAX's names sees as `constvars`; to everything in
        # plait they are inputs like the others.
        self.captured = captured
        self.memo: dict[Any, Any] = {}

    @property
    def in_types(self) -> tuple[ArrayType, ...]:
        return tuple(v.type for v in self.inputs)

    @property
    def out_types(self) -> tuple[ArrayType, ...]:
        return tuple(v.type for v in self.outputs)

    @property
    def eqns(self) -> list[Equation]:
        """The equations, for interpreters written for JAX."""
        return [
            Equation(e.op, e.inputs, _Params(e.params), e.outputs, e.source) for e in self.equations
        ]

    @property
    def jaxpr(self) -> Program:
        """Itself: JAX distinguishes programs that hold their constants."""
        return self

    constvars = property(lambda self: list(self.inputs[: self.captured]))
    invars = property(lambda self: list(self.inputs[self.captured :]))
    outvars = property(lambda self: list(self.outputs))

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value kept in `memo` under a key, made if it is not there yet."""
        found = self.memo.get(key, self)  # the program itself stands for "not there"
        return self.memo.setdefault(key, make()) if found is self else found

    def __str__(self) -> str:
        from plait.core.show import show_program

        return show_program(self)

    __repr__ = __str__


def sub_programs(params: dict[str, Any]) -> list[Program]:
    """The Programs among an equation's parameters."""
    found = []
    for value in params.values():
        if isinstance(value, Program):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(v for v in value if isinstance(v, Program))
    return found


def has_effects(eqn: Equation) -> bool:
    """Whether an equation, or one in its sub-programs, does more than compute its results."""
    return eqn.op.has_effects or any(map(program_has_effects, sub_programs(eqn.params)))


def program_has_effects(program: Program) -> bool:
    """Whether a Program does more than compute its results."""
    return program.derived("has_effects", lambda: any(map(has_effects, program.equations)))


def is_repeatable(eqn: Equation) -> bool:
    """Whether an equation has the same results each time, and no effects."""
    return (
        eqn.op.repeatable
        and not eqn.op.has_effects
        and all(
            p.derived("repeatable", lambda p=p: all(map(is_repeatable, p.equations)))
            for p in sub_programs(eqn.params)
        )
    )


def is_per_lane(op: Primitive, params: dict[str, Any]) -> bool:
    """Whether each lane of a map has to run an op, even where no operand differs between lanes."""
    return op.per_lane or any(
        p.derived("per_lane", lambda p=p: any(is_per_lane(e.op, e.params) for e in p.equations))
        for p in sub_programs(params)
    )


def run_program(program: Program, *args: Any) -> tuple[Any, ...]:
    """Bind every equation of a Program under the running interpreter; the results."""
    env: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))
    before = context.source
    process = context.interpreter.process
    last_use = program.derived("last_use", lambda: _last_uses(program))
    try:
        for index, eqn in enumerate(program.equations):
            xs = [env[a] if type(a) is Var else a.operand for a in eqn.inputs]
            context.source = eqn.source
            ys = process(eqn.op, xs, eqn.params)
            if eqn.op.multiple_results:
                env.update(zip(eqn.outputs, ys, strict=True))
            else:
                env[eqn.outputs[0]] = ys
            for var in last_use.get(index, ()):
                # Free what is not needed any more: run eagerly, a program would keep all values.
                env.pop(var, None)
        return tuple(env[a] if type(a) is Var else a.operand for a in program.outputs)
    finally:
        context.source = before


def eval_jaxpr(jaxpr: Program, consts: Sequence[Any], *args: Any) -> list[Any]:
    """The results of a Program for the values it captured and its arguments.

    >>> closed = plait.make_jaxpr(lambda x: x * 2.0)(1.0)
    >>> plait.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
    [Array(6., dtype=float32, weak_type=True)]
    """
    return list(run_program(jaxpr, *consts, *args))


def reference(program: Program, *args: Any) -> tuple[Any, ...]:
    """The results of a Program by NumPy alone, through every op's `numpy`: the meaning of it."""
    env: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))
    for eqn in program.equations:
        xs = [env[a] if type(a) is Var else a.value for a in eqn.inputs]
        ys = eqn.op.numpy(*xs, **eqn.params)
        env.update(zip(eqn.outputs, ys if eqn.op.multiple_results else (ys,), strict=True))
    return tuple(env[a] if type(a) is Var else a.value for a in program.outputs)


def _last_uses(program: Program) -> dict[int, list[Var]]:
    last: dict[Var, int] = {}
    for index, eqn in enumerate(program.equations):
        for var in (*eqn.inputs, *eqn.outputs):
            if type(var) is Var:
                last[var] = index
    for var in program.outputs:
        if type(var) is Var:
            last.pop(var, None)
    dying: dict[int, list[Var]] = {}
    for var, index in last.items():
        dying.setdefault(index, []).append(var)
    return dying
