"""Over which named axes each value of a Program varies.

A value is described by the set of axis names over which it may differ. Most ops give the union of
their operands' sets; `Primitive.variance` says so, and collectives and regions say more: psum and
its like take their names away, axis_index brings them in.

The answer decides which results of a map are equal everywhere, so that they can leave it unmapped
or be kept once. The analysis also finds the program that would hang: a collective that only some
positions of its axis reach, because a condition around it varies over that axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from plait.core.program import Atom, Equation, Program, Var, sub_programs
from plait.core.source import Source
from plait.errors import ArgumentError

NONE: frozenset = frozenset()


def variance(
    program: Program, in_varying: Sequence[frozenset], axes: frozenset, *, silent: bool = False
) -> Variance:
    """Over which of the named axes the values of a Program vary, given its inputs' sets.

    Names outside of `axes` are not followed. Raises: ArgumentError for a collective under a
    condition that varies over the collective's axis, unless silent.
    """
    return _Analysis(axes, {}, silent).run(program, in_varying)


class Reason(NamedTuple):
    """Where a value started to vary: at an input of the Program, or at an equation.

    Of an input, its position and the user's name for it are given; of an equation, its op and the
    user's line.
    """

    input: int | None
    name: str
    op: str
    source: Source | None

    def __str__(self) -> str:
        if self.input is not None:
            return f"the argument {self.name}" if self.name else f"argument {self.input}"
        return f"{self.op} at {self.source}" if self.source else self.op


class Variance:
    """The answer for one Program: `out_varying` for its results, `of` for any of its values."""

    def __init__(self, program: Program, in_varying: Sequence[frozenset], analysis: _Analysis):
        self.program, self.axes = program, analysis.axes
        self._known: dict[Var, frozenset] = {
            v: s & self.axes for v, s in zip(program.inputs, in_varying, strict=True)
        }
        for eqn in program.equations:
            found = analysis.results(eqn, [self.of(a) for a in eqn.inputs], self)
            self._known.update(zip(eqn.outputs, found, strict=True))
        self.out_varying = tuple(self.of(a) for a in program.outputs)

    def of(self, atom: Atom) -> frozenset:
        """The axes over which a value of the Program varies; literals vary over none."""
        return self._known[atom] if type(atom) is Var else NONE

    def inside(self, eqn: Equation) -> dict[Program, Variance]:
        """The answers for the sub-programs of one of the Program's equations."""
        found: dict[Program, Variance] = {}
        trial = _Analysis(self.axes, {}, silent=True)
        trial.results(eqn, [self.of(a) for a in eqn.inputs], self, found)
        return found

    def reason(self, output: int, *name: Any) -> Reason | None:
        """Where a result first started to vary over an axis, or over any; None if it does not."""
        for axis in name or self.out_varying[output]:
            return self.reason_of(self.program.outputs[output], axis)
        return None

    def reason_of(self, atom: Atom, name: Any) -> Reason | None:
        """Where a value first started to vary over an axis; None if it does not."""
        if name not in self.of(atom):
            return None
        inputs = self.program.inputs
        # Positions of equations; inputs come before them.
        first: dict[Atom, int] = {
            v: k - len(inputs) for k, v in enumerate(inputs) if name in self._known[v]
        }
        for position, eqn in enumerate(self.program.equations):
            if atom in first:
                break
            fed = [k for k, a in enumerate(eqn.inputs) if type(a) is Var and a in first]
            for k, var in enumerate(eqn.outputs):
                if name in self._known[var]:
                    through = self._through(eqn, k, fed, name)
                    first[var] = min((first[eqn.inputs[j]] for j in through), default=position)
        cause = first[atom]
        if cause >= 0:
            return self._introduced(self.program.equations[cause], name)
        names = self.program.names
        index = cause + len(inputs)
        return Reason(index, names[index] if names else "", "", None)

    def _through(self, eqn: Equation, output: int, fed: list[int], name: Any) -> list[int]:
        """The operands through which a result varies; none if the op itself makes it vary.

        The sets of an op's results are unions, so it is enough to try one operand at a time.
        """
        if not sub_programs(eqn.params):
            return fed
        trial = _Analysis(self.axes, {}, silent=True)

        def varies(k: int | None) -> bool:
            sets = [frozenset([name]) if j == k else NONE for j in range(len(eqn.inputs))]
            return name in trial.results(eqn, sets, self)[output]

        return [] if varies(None) else [k for k in fed if varies(k)]

    def _introduced(self, eqn: Equation, name: Any) -> Reason:
        """The first equation inside a region that makes a value vary, or the equation itself."""
        trial = _Analysis(self.axes, {}, silent=True)
        for program in sub_programs(eqn.params) if eqn.op.uses_axis(name, eqn.params) else ():
            inner = trial.run(program, [NONE] * len(program.inputs))
            for inside in program.equations:
                if any(name in inner.of(v) for v in inside.outputs):
                    return inner._introduced(inside, name)
        return Reason(None, "", eqn.op.name, eqn.source)


class _Condition(NamedTuple):
    """A condition that varies: its equation, where that stands, and the operand that decides."""

    eqn: Equation
    inside: Variance
    operand: int | None


class _Analysis:
    """What is followed: the axes, and the conditions around the current place by axis."""

    def __init__(self, axes: frozenset, conditions: dict[Any, _Condition], silent: bool):
        self.axes, self.conditions, self.silent = axes, conditions, silent

    def run(self, program: Program, in_varying: Sequence[frozenset]) -> Variance:
        sets = tuple(s & self.axes for s in in_varying)
        key = ("variance", sets, self.axes, frozenset(self.conditions), self.silent)
        return program.derived(key, lambda: Variance(program, sets, self))

    def results(
        self,
        eqn: Equation,
        varying: Sequence[frozenset],
        inside: Variance,
        answers: dict[Program, Variance] | None = None,
    ) -> tuple[frozenset, ...]:
        """The sets of an equation's results; the answers for its sub-programs go into `answers`."""
        op, params = eqn.op, eqn.params
        if op.communicates and not self.silent:
            for name in op.axis_names(params):
                if name in self.conditions:
                    raise _hang(eqn, name, self.conditions[name])

        def analyse(
            program: Program,
            varying: Sequence[frozenset],
            *,
            condition: frozenset = NONE,
            operand: int | None = None,
            binds: Any = (),
        ) -> tuple[frozenset, ...]:
            around = {name: _Condition(eqn, inside, operand) for name in condition}
            inner = _Analysis(self.axes, {**around, **self.conditions}, self.silent)
            if self.axes.isdisjoint(binds):
                answer = inner.run(program, varying)
                if answers is not None:
                    answers[program] = answer
                return answer.out_varying
            return _renamed(inner, program, varying, binds)

        found = op.variance(varying, params, analyse)
        if isinstance(found, frozenset):
            found = (found,) * len(eqn.outputs)
        return tuple(s & self.axes for s in found)


def _renamed(
    analysis: _Analysis, program: Program, varying: Sequence[frozenset], binds: Sequence[Any]
) -> tuple[frozenset, ...]:
    """The sets of the results of a Program inside which some of the names mean other axes."""
    other: dict[Any, Any] = {}
    for name in analysis.axes.intersection(binds):
        hidden = (name, "outside")
        while hidden in analysis.axes:
            hidden = (hidden, "outside")
        other[name] = hidden
    back = {hidden: name for name, hidden in other.items()}

    def rename(names: frozenset, table: dict[Any, Any]) -> frozenset:
        return frozenset(table.get(n, n) for n in names)

    conditions = {other.get(n, n): c for n, c in analysis.conditions.items()}
    inner = _Analysis(rename(analysis.axes, other), conditions, analysis.silent)
    answer = inner.run(program, [rename(s, other) for s in varying])
    return tuple(rename(s, back) for s in answer.out_varying)


def _hang(eqn: Equation, name: Any, condition: _Condition) -> ArgumentError:
    around, inside = condition.eqn, condition.inside
    because = {}
    if condition.operand is not None:
        since = inside.reason_of(around.inputs[condition.operand], name)
        # An input of a program inside another has no name, and says nothing.
        if since is not None and (since.input is None or since.name):
            because["because"] = f"it varies since {since}"
    kind = around.op.name
    place = f" at {around.source}" if around.source else ""
    cure = (
        f"call {eqn.op.name} outside of the {kind} and use its result inside, or make the "
        f"predicate equal everywhere, for example with lax.pmax(predicate, {name!r})"
    )
    return ArgumentError(
        f"only some positions of the axis {name!r} would reach this collective, and wait for the "
        "others for ever",
        op=eqn.op.name,
        axis=repr(name),
        condition=f"the {kind}{place} depends on the position along {name!r}",
        **because,
        where=str(eqn.source) if eqn.source else None,
        fix=cure,
    )
