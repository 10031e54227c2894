"""Programs of which some parts are computed by one process and others by several together.

`join_rows` and `own_rows` (ops/across.py) are the border. `pieces` cuts a Program there; a piece
that is computed together becomes a Program on whole arrays (`whole`), whose arguments are put
together from what each process has (`enter`) and whose results each process reads its part of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.program import Equation, Program, Var, has_effects, run_program
from plait.core.stage import stage
from plait.core.types import ArrayType, type_of
from plait.errors import ShapeError
from plait.ops.across import Share, join_p, own_p
from plait.ops.sharding import constrain
from plait.regions.call import call_p
from plait.regions.spmd import pmap_p, run_equation
from plait.runtime import xla
from plait.runtime.array import Array, canonical_value
from plait.runtime.partition import same_parts, spread
from plait.runtime.placement import Part, Placed, Sharded, Shown, signature


def crosses(program: Program) -> bool:
    """Whether a Program has a border in it, in itself or in a call."""
    return program.derived("crosses", lambda: any(map(_crosses, program.equations)))


def _crosses(eqn: Equation) -> bool:
    if eqn.op is call_p:
        return crosses(eqn.params["program"])
    return eqn.op is join_p or eqn.op is own_p


def inlined(program: Program) -> Program:
    """The Program with the calls that have a border in them written out."""
    if not any(e.op is call_p and _crosses(e) for e in program.equations):
        return program

    def run(*args: Any) -> Sequence[Any]:
        env: dict[Any, Any] = dict(zip(program.inputs, args, strict=True))
        for eqn in program.equations:
            xs = [env[a] if type(a) is Var else a.value for a in eqn.inputs]
            if eqn.op is call_p and _crosses(eqn):
                ys = run_program(inlined(eqn.params["program"]), *xs)
            else:
                ys = run_equation(eqn, xs)
            env.update(zip(eqn.outputs, ys, strict=True))
        return [env[a] if type(a) is Var else a.value for a in program.outputs]

    names = program.names or ()
    result, captured = stage(run, program.in_types, name=program.name, names=names)
    assert not captured
    return result


class Piece(NamedTuple):
    """A part of a Program: what it takes and gives, as variables of the whole."""

    program: Program
    together: bool
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]


def pieces(program: Program) -> list[Piece]:
    """The parts of a Program, in the order in which they are computed."""
    program = inlined(program)
    # Even stages are computed by each process, odd ones together. Equations without variables are
    # written into every stage that uses their results.
    made_in: dict[Var, int] = {}
    free: dict[Var, Equation] = {}
    stages: dict[int, list[Equation]] = {}
    for eqn in program.equations:
        xs = [a for a in eqn.inputs if type(a) is Var]
        if all(x in free for x in xs) and not (_borders(eqn) or has_effects(eqn)):
            free.update(dict.fromkeys(eqn.outputs, eqn))
            continue
        if eqn.op is join_p and xs and xs[0] in free:  # a constant, but each process's own
            stages.setdefault(0, []).append(free[xs[0]])
        at = max((made_in.get(x, 0) for x in xs), default=0)
        if at % 2 == 0 and _borders(eqn):
            at += 1
        stages.setdefault(at, []).append(eqn)
        made_in.update(dict.fromkeys(eqn.outputs, at + (eqn.op is own_p)))
    for var in program.outputs:
        if type(var) is Var and var in free:
            stages.setdefault(0, []).append(free[var])
            made_in.update(dict.fromkeys(free.pop(var).outputs, 0))
    return [_piece(program, at, stages, free) for at in sorted(stages)]


def _borders(eqn: Equation) -> bool:
    """Whether an equation is computed together, whatever made its operands."""
    if eqn.op is pmap_p:
        return eqn.params["form"] == "gang" and xla.spans_processes(eqn.params["devices"])
    return eqn.op is join_p or eqn.op is own_p


def _piece(
    program: Program, at: int, stages: dict[int, list[Equation]], free: dict[Var, Equation]
) -> Piece:
    equations: list[Equation] = []
    made: set[Var] = set()
    inputs: dict[Var, None] = {}

    def add(eqn: Equation) -> None:
        if eqn.outputs and eqn.outputs[0] in made:
            return
        for a in eqn.inputs:
            if type(a) is Var and a not in made:
                if a in free and eqn.op is not join_p:
                    add(free[a])
                else:
                    inputs[a] = None
        equations.append(eqn)
        made.update(eqn.outputs)

    for eqn in stages[at]:
        add(eqn)
    others = (e for k, eqns in stages.items() if k != at for e in eqns)
    wanted = {a for e in others for a in e.inputs} | set(program.outputs)
    outputs = tuple(y for e in stages[at] for y in e.outputs if y in wanted)
    labels = dict(zip(program.inputs, program.names or (), strict=False))
    names = [labels.get(v, "") for v in inputs]
    whole = Program(tuple(inputs), equations, outputs, program.name, names)
    return Piece(whole, at % 2 == 1, tuple(inputs), outputs)


def is_one_piece(program: Program) -> bool:
    """Whether all of a Program is computed together, each argument entering in one way."""

    def ask() -> bool:
        found = pieces(program)
        if len(found) != 1 or not found[0].together or inlined(program) is not program:
            return False
        (piece,) = found
        uses = [key for key, _ in whole(piece.program).enters]
        return (
            set(piece.inputs) == set(program.inputs)
            and len(uses) == len(program.inputs)
            and len(set(uses)) == len(uses)
            and piece.outputs == program.outputs
        )

    return program.derived("one piece", ask)


class Whole(NamedTuple):
    """A piece that is computed together, as a Program on whole arrays.

    `enters`: for each input the input of the piece that it is made of, and this process's share of
    it; `leaves`: its share of each result. A share is None where the array stays whole.
    """

    program: Program
    enters: list[tuple[int, Share | None]]
    leaves: list[Share | None]


def whole(program: Program) -> Whole:
    """The Program of a piece on whole arrays, the borders being wishes where they should lie."""
    enters: dict[tuple[int, Share | None], Any] = {}
    position = {v: k for k, v in enumerate(program.inputs)}
    for eqn in program.equations:
        for a in eqn.inputs:
            if type(a) is Var and a in position:
                joined = eqn.op is join_p
                share = eqn.params["share"] if joined else None
                enters[position[a], share] = eqn.outputs[0].type if joined else a.type
    keys = sorted(enters, key=lambda key: key[0])
    leaves: dict[Any, Share] = {
        e.outputs[0]: e.params["share"] for e in program.equations if e.op is own_p
    }

    def run(*args: Any) -> Sequence[Any]:
        given = dict(zip(keys, args, strict=True))
        env: dict[Any, Any] = {v: given.get((k, None)) for v, k in position.items()}
        for eqn in program.equations:
            if eqn.op is join_p:
                (a,), share = eqn.inputs, eqn.params["share"]
                x = given[position[a], share] if type(a) is Var else a.value
                env[eqn.outputs[0]] = _placed(x, share)
            elif eqn.op is own_p:
                env[eqn.outputs[0]] = _placed(env[eqn.inputs[0]], eqn.params["share"])
            else:
                xs = [env[a] if type(a) is Var else a.value for a in eqn.inputs]
                env.update(zip(eqn.outputs, run_equation(eqn, xs), strict=True))
        return [env[a] if type(a) is Var else a.value for a in program.outputs]

    labels = program.names or [""] * len(program.inputs)
    names = [labels[k] for k, _ in keys]
    made, captured = stage(run, [enters[key] for key in keys], name=program.name, names=names)
    assert not captured
    return Whole(made, keys, [leaves.get(v) for v in program.outputs])


def _placed(x: Any, share: Share) -> Any:
    return constrain(x, sharding_of(share, share.devices, type_of(x).ndim))


def sharding_of(share: Share, devices: tuple[Any, ...], ndim: int) -> xla.Sharding:
    """The axis of a share, spread over devices; without an axis everything on each of them."""
    if share.axis is None:
        return xla.replicated(devices)
    if len(devices) == 1:
        return xla.single(devices[0])
    dims = tuple((0,) if k == share.axis else () for k in range(ndim))
    return xla.tiled(devices, (len(devices),), dims)


def enter(x: Any, sharding: xla.Sharding, share: Share | None) -> Any:
    """What this process has of an array, as a buffer over the devices of all."""
    if type(x) is Array:
        placement = x.placement
        if isinstance(placement, Part):
            same = placement.sharding is sharding
            if placement.share == share and (
                same or same_parts(placement.sharding, sharding, placement.stored(x.type))
            ):
                return x._live()
        elif (buf := _assembled(x, sharding, share)) is not None:
            return buf
    if share is None or share.axis is None:
        return spread(x, sharding)
    host = x.host() if type(x) is Array else canonical_value(x, type_of(x))
    axis, first = share.axis, share.start
    shape = (*host.shape[:axis], share.total, *host.shape[axis + 1 :])
    parts = []
    for k in sharding.local:
        index = list(sharding.index(k, shape))
        start, stop, _ = index[axis].indices(share.total)
        index[axis] = slice(start - first, stop - first)
        parts.append(np.ascontiguousarray(host[tuple(index)]))
    return xla.put_shards(parts, [sharding.devices[k] for k in sharding.local], shape, sharding)


def _assembled(x: Array, sharding: xla.Sharding, share: Share | None) -> Any:
    """The buffer of an array on one device as this process's part, without a copy."""
    placement, buf = x.placement, x._live()
    if isinstance(placement, Shown) and placement.once:
        return None
    home = xla.sharding_of(buf).devices
    if len(sharding.local) != 1 or home != (sharding.devices[sharding.local[0]],):
        return None
    shape = x.shape
    if share is not None and share.axis is not None:
        shape = (*shape[: share.axis], share.total, *shape[share.axis + 1 :])
    if sharding.shard_shape(shape) != x.shape:
        return None
    return xla.assemble([buf], home, shape, dtypes.storage(x.type.dtype), sharding)


def own_part(x: Array, share: Share, name: str) -> Array:
    """This process's share of an array of several, which has it on its devices.

    Raises: ShapeError if it has not.
    """
    sharding = x.placement.sharding if isinstance(x.placement, Sharded) else None
    assert sharding is not None
    type_ = share.part(x.type)
    regions = set()
    for k in sharding.local:
        index = [s.indices(n)[:2] for s, n in zip(sharding.index(k, x.shape), x.shape, strict=True)]
        if share.axis is not None:
            begin, end = index[share.axis]
            index[share.axis] = max(begin, share.start), min(end, share.stop)
        regions.add(tuple(index))
    if sum(math.prod(max(0, b - a) for a, b in region) for region in regions) != type_.size:
        raise ShapeError(
            f"the array {name} of several processes is spread in another way than the rows",
            op="pmap",
            array=x,
            mapped_axis=share.axis,
            its_devices=list(sharding.devices),
            fix="spread the mapped axis, and no other, over the devices in the order of the map, "
            "or pass what this process has of it",
        )
    shown = sharding_of(share, share.shown, type_.ndim)
    return Array(x._live(), type_, signature(type_, Part(sharding, share, shown)))


def leave(
    whole: ArrayType, sharding: xla.Sharding, share: Share | None
) -> tuple[ArrayType, ArrayType | Placed]:
    """(the type, the signature) of a result as this process has it."""
    if share is None:
        return whole, signature(whole, Sharded(sharding))
    type_ = share.part(whole)
    shown = sharding_of(share, share.shown, type_.ndim)
    return type_, signature(type_, Part(sharding, share, shown))
