"""Which equation made the first NaN: a Program run op by op, and followed back from a bad result.

The equations are those of the function as the user wrote it. A map runs under a Batch interpreter
of its own, so that its values are known by row; loops are run round by round, and of branches the
one that was taken is looked into. From the bad result the search goes back: to an operand that is
bad as well, through calls, rounds and rows, until an equation makes what none of its operands has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core.program import Equation, Program, Var
from plait.core.types import ArrayType
from plait.interpreters.batch import BatchTracer, Frame, batch
from plait.ops.compare import select_n_p
from plait.ops.dynamic_slice import dynamic_index_in_dim
from plait.ops.elementwise import Elementwise
from plait.regions.call import call_p
from plait.regions.cond import cond_p
from plait.regions.region import Region
from plait.regions.scan import cut, scan_p
from plait.regions.spmd import pmap_p
from plait.regions.while_loop import while_p
from plait.runtime.array import as_array
from plait.runtime.tiling import spread_nest

# Which row of each map is looked at; of maps that are not in it, all rows are.
Rows = dict[Frame, int]
Position = tuple[int, ...]


class Culprit:
    """The equation that made a bad value, the value, and where that is.

    position: in the value as the function sees it. rows: for each map around the equation, the
    outermost first, its frame and the row, or None for a value that all rows share. rounds: the
    rounds of the loops around it, in words, the outermost first. entered: the name of the argument
    that was bad already; then the equation is the first that used it.
    """

    def __init__(
        self,
        eqn: Equation | None,
        type: ArrayType,
        element: Any,
        position: Position,
        rows: list[tuple[Frame, int | None]],
    ):
        self.eqn, self.type, self.element, self.position = eqn, type, element, position
        self.rows = rows
        self.rounds: list[str] = []
        self.entered = ""

    def device(self) -> Any:
        """The device that the row was shown on; None outside of maps."""
        devices = self.rows[0][0].devices if self.rows else None
        if not devices or any(row is None for _, row in self.rows):
            return None
        sizes = [frame.size for frame, _ in self.rows]
        place = np.ravel_multi_index([row for _, row in self.rows if row is not None], sizes)
        return spread_nest(devices, sizes)[int(place)]


class Entered(NamedTuple):
    """A bad value came in with an input of a Program."""

    input: int
    rows: Rows


class Round(NamedTuple):
    """One round of a loop: its number, the operands of its body, and for each carried value that
    was bad at its beginning the round that made it so; None if no round did.
    """

    number: int
    args: tuple[Any, ...]
    since: list[Round | None]


def find(
    program: Program, args: Sequence[Any], output: int, bad: Callable[[np.ndarray], np.ndarray]
) -> Culprit | None:
    """What made a result of a Program bad; None if it is not, computed op by op.

    `bad` marks bad elements of an array.
    """
    found = _Search(bad).back(program, args, output, {})
    if not isinstance(found, tuple):
        return found
    entered, culprit = found
    k = entered.input
    culprit.entered = (program.names[k] if program.names else "") or f"operand {k}"
    return culprit


class _Search:
    def __init__(self, bad: Callable[[np.ndarray], np.ndarray]):
        self.bad = bad
        self.frames: list[Frame] = []

    # --- values

    def spot(
        self, x: Any, rows: Rows, position: Position | None = None
    ) -> tuple[Rows, Position] | None:
        """The first bad element of a value: (the rows it is in, its position), or None.

        Only at the given rows, and at the given position if there is one.
        """
        value, frames = _whole(x)
        index = tuple(rows.get(f, slice(None)) for f in frames) + (position or ())
        where = np.argwhere(self.bad(value[index]))
        if not len(where):
            return None
        place = [int(p) for p in where[0]]
        found = dict(rows)
        for f in frames:
            if f not in rows:
                found[f] = place.pop(0)
        return found, tuple(place) if position is None else position

    def culprit(self, eqn: Equation | None, x: Any, rows: Rows, position: Position) -> Culprit:
        value, frames = _whole(x)
        element = value[(*(rows[f] for f in frames), *position)]
        type_ = ArrayType(value.shape[len(frames) :], value.dtype)
        where = [(f, rows[f] if f in frames else None) for f in self.frames]
        return Culprit(eqn, type_, element, position, where)

    # --- the way back

    def back(
        self, program: Program, args: Sequence[Any], output: int, rows: Rows
    ) -> Culprit | tuple[Entered, Culprit] | None:
        """What made a result of a Program bad in the given rows: an equation inside, or an input
        (and the first equation that used it); None if it is not bad.
        """
        env: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))
        made: dict[Any, tuple[Equation, int]] = {}
        atom = program.outputs[output]

        def value(atom: Any) -> Any:
            return env[atom] if type(atom) is Var else atom.operand

        for eqn in program.equations:
            if type(atom) is not Var or atom in env:
                break
            ys = eqn.op.bind(*map(value, eqn.inputs), **eqn.params)
            env.update(zip(eqn.outputs, ys if eqn.op.multiple_results else (ys,), strict=True))
            made.update({y: (eqn, k) for k, y in enumerate(eqn.outputs)})
        found = self.spot(value(atom), rows)
        if found is None:
            return None
        used = self.culprit(None, value(atom), *found)
        while atom in made:
            eqn, k = made[atom]
            xs, y = [value(a) for a in eqn.inputs], value(atom)
            rows, position = found
            used = self.culprit(eqn, y, rows, position)
            look = self.inside(eqn)
            if look is None:
                operand, found = self.operand(eqn, xs, k, rows, position)
            else:
                cause = look(eqn, xs, k, y, rows)
                if not isinstance(cause, tuple):
                    return cause or used
                (operand, rows), used = cause[0], cause[1] or used
                found = self.spot(xs[operand], rows)
            atom = eqn.inputs[operand]
            if found is None or type(atom) is not Var:
                return used  # by itself, or of a constant that is bad
        if type(atom) is not Var:
            return used
        return Entered(program.inputs.index(atom), found[0]), used

    def operand(
        self, eqn: Equation, xs: Sequence[Any], k: int, rows: Rows, position: Position
    ) -> tuple[int, tuple[Rows, Position] | None]:
        """(the operand that made result k of an op bad, where that is bad); (-1, None) if the op
        did it by itself.
        """
        op, at = eqn.op, None
        shape = eqn.outputs[k].type.shape
        candidates: Sequence[int] = range(len(xs))
        # What other rows hold becomes part of what a collective gives to this one.
        rows = {f: r for f, r in rows.items() if not op.uses_axis(f.name, eqn.params)}
        if op is select_n_p:
            which = _element(xs[0], rows)
            case = int(which[position] if which.shape else which)
            candidates, at = [1 + min(max(case, 0), len(xs) - 2)], position
        elif isinstance(op, Elementwise):
            at = position
        elif op.multiple_results and eqn.inputs and len(eqn.inputs) == len(eqn.outputs):
            candidates = [k]  # ops that pass each operand on: barriers, sorting
        for j in candidates:
            here = at if eqn.inputs[j].type.shape == shape else None
            found = self.spot(xs[j], rows, here)
            if found is not None:
                return j, found
        return -1, None

    # --- into regions

    def inside(self, eqn: Equation) -> Callable[..., Any] | None:
        """What looks into a region: gives what `back` does for its program, inputs counted as the
        operands of the equation. None for an op that is no region of a kind known here.
        """
        if eqn.op is pmap_p:
            return self.in_map
        if eqn.op is scan_p:
            return self.in_scan
        if eqn.op is while_p:
            return self.in_while
        if eqn.op is cond_p:
            return self.in_cond
        program = eqn.params.get("program")
        if isinstance(eqn.op, Region) and isinstance(program, Program):
            fits = len(program.inputs) == len(eqn.inputs)
            return self.in_call if fits and len(program.outputs) == len(eqn.outputs) else None
        return None

    def in_call(self, eqn, xs, k, y, rows):
        return self.back(eqn.params["program"], xs, k, rows)

    def in_map(self, eqn, xs, k, y, rows):
        params = eqn.params
        frame = Frame(params["axis_name"], params["axis_size"], devices=params["devices"])
        if params["out_mapped"][k]:
            _, position = _some(self.spot(y, rows))
            rows = {**rows, frame: position[0]}
        out: list[Any] = []

        def all_rows(*args: Any) -> Sequence[Any]:
            out.append(self.back(params["program"], args, k, rows))
            return []

        self.frames.append(frame)
        try:
            batch(all_rows, xs, params["in_mapped"], frame)
        finally:
            self.frames.pop()
        if isinstance(out[0], tuple):
            entered, used = out[0]
            outside = {f: r for f, r in entered.rows.items() if f is not frame}
            return Entered(entered.input, outside), used
        return out[0]

    def in_cond(self, eqn, xs, k, y, rows):
        index = int(_element(xs[0], rows))
        found = self.back(eqn.params["branches"][index], xs[1:], k, rows)
        if isinstance(found, tuple):
            entered, used = found
            return Entered(entered.input + 1, entered.rows), used
        return found

    def in_scan(self, eqn, xs, k, y, rows):
        params = eqn.params
        program, consts, carry = params["program"], params["consts"], params["carry"]
        fixed, carried, stacked = cut(xs, consts, carry)
        numbers = list(range(params["length"]))
        if params["reverse"]:
            numbers.reverse()
        if k >= carry:
            # The first round whose row is bad.
            marks = self.bad(_element(y, rows)).reshape(len(numbers), -1)
            numbers = numbers[: [marks[n].any() for n in numbers].index(True) + 1]
        loop = _Loop(self, program, fixed, carried, rows)
        for n in numbers:
            loop.round(n, [dynamic_index_in_dim(x, np.int32(n), keepdims=False) for x in stacked])
        return loop.back(eqn, k, 0)

    def in_while(self, eqn, xs, k, y, rows):
        params = eqn.params
        cc, fixed, carried = cut(xs, params["cond_consts"], params["body_consts"])
        loop = _Loop(self, params["body"], fixed, carried, rows)
        n = 0
        while _element(call_p.bind(*cc, *loop.carried, program=params["cond"])[0], rows):
            loop.round(n, ())
            n += 1
        return loop.back(eqn, k, len(cc))


class _Loop:
    """The rounds of a loop, one after the other; of a value that is bad it knows since when."""

    def __init__(self, search: _Search, program: Program, fixed: Any, carried: Any, rows: Rows):
        self.search, self.program, self.rows = search, program, rows
        self.fixed, self.carried = tuple(fixed), tuple(carried)
        self.last: Round | None = None
        # For each carried value: whether it is bad, and the round that made it so.
        self.bad = self._bad()
        self.since: list[Round | None] = [None] * len(self.carried)

    def _bad(self) -> list[bool]:
        return [self.search.spot(x, self.rows) is not None for x in self.carried]

    def round(self, number: int, given: Sequence[Any]) -> None:
        args = (*self.fixed, *self.carried, *given)
        self.last = now = Round(number, args, self.since)
        self.carried = call_p.bind(*args, program=self.program)[: len(self.carried)]
        was, self.bad = self.bad, self._bad()
        self.since = [
            None if not bad else old if before else now
            for bad, before, old in zip(self.bad, was, self.since, strict=True)
        ]

    def back(self, eqn: Equation, k: int, offset: int) -> Any:
        """What made result k bad, as `_Search.inside` says; the body's inputs are the operands of
        the equation from `offset` on.
        """
        rows, used, first = self.rows, None, len(self.fixed)
        at = self.since[k] if k < len(self.carried) else self.last
        while at is not None:
            found = self.search.back(self.program, at.args, k, rows)
            if found is None:
                return None
            culprit = found[1] if isinstance(found, tuple) else found
            source = f" at {eqn.source}" if eqn.source else ""
            culprit.rounds.insert(0, f"{at.number} of {eqn.op.name}{source}")
            if not isinstance(found, tuple):
                return found
            (entered, rows), used = found
            k = entered - first
            if not 0 <= k < len(self.carried):
                return Entered(offset + entered, rows), used
            at = at.since[k]
        return Entered(offset + first + k, rows), used


def _some(found: Any) -> Any:
    assert found is not None
    return found


def _whole(x: Any) -> tuple[np.ndarray, list[Frame]]:
    """(the value of all rows, the frames of its leading axes), the outermost frame first."""
    frames: list[Frame] = []
    while type(x) is BatchTracer:
        frames.insert(0, x.interpreter.frame)
        x = x.value
    return as_array(x).host(), frames


def _element(x: Any, rows: Rows) -> np.ndarray:
    """A value in the rows that are looked at; of maps whose row is not known, the first."""
    value, frames = _whole(x)
    return value[tuple(rows.get(f, 0) for f in frames)]
