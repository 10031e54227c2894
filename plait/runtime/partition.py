"""Which parts of a program's arrays lie on which devices, when it runs partitioned over several.

A partitioned program has one grid of devices. It comes from the program's gang pmaps, from the
shardings its results are wanted in, or from those of its arguments; the meshes of several that
agree on the devices are refined into one. Arguments elsewhere are brought in; results go where they
were asked for, where their pmap leaves them, or where an argument of the same type lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from plait.core.program import Equation, Program, Var, sub_programs
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError
from plait.hlo.builder import Builder, Value
from plait.hlo.types import tensor
from plait.ops.axes import permute_p
from plait.ops.sharding import sharding_constraint_p
from plait.regions import gang
from plait.regions.spmd import pmap_p
from plait.runtime import xla
from plait.runtime.array import Array, canonical_value
from plait.runtime.placement import Placement, Sharded, Shown, fused_on, put_whole


class Grid:
    """Devices in a mesh of axes "d0", "d1", ...: what all shardings of a program refer to."""

    def __init__(self, devices: tuple[xla.Device, ...], shape: tuple[int, ...]):
        self.devices, self.shape = devices, shape

    def whole(self) -> xla.Sharding:
        """Everything on every device."""
        return self.sharding(())

    def sharding(self, dims: Sequence[Sequence[int]]) -> xla.Sharding:
        """The sharding that splits dimension d over the grid's axes dims[d]."""
        return xla.tiled(self.devices, self.shape, tuple(map(tuple, dims)))

    def translate(self, sharding: xla.Sharding, type: ArrayType) -> xla.Sharding | None:
        """An equal sharding on this grid, or None if there is none or the array does not divide."""
        if tuple(sharding.devices) != self.devices:
            return None
        finer = refinement(sharding.tiling.mesh_shape, self.shape)
        if finer is None or len(sharding.tiling.dim_axes) > type.ndim:
            return None
        dims = [tuple(p for k in axes for p in finer[k]) for axes in sharding.tiling.dim_axes]
        return self.fitting(dims, type)

    def fitting(self, dims: Sequence[Sequence[int]], type: ArrayType) -> xla.Sharding | None:
        """The sharding, if the array's dimensions divide into equal parts."""
        for size, axes in zip(type.shape, dims, strict=False):
            if size % math.prod(self.shape[k] for k in axes):
                return None
        full = [*dims, *[()] * (type.ndim - len(dims))] if any(dims) else []
        return self.sharding(full)

    def attribute(self, type: ArrayType, sharding: xla.Sharding) -> str:
        """The attribute of an argument or result."""
        return (
            f"sdy.sharding = #sdy.sharding{gang.sharding_text(type.ndim, sharding.tiling.dim_axes)}"
        )

    def constrain(self, b: Builder) -> Callable[[Value, xla.Sharding], Value]:
        """What writes a sharding constraint into a module on this grid."""

        def write(x: Value, sharding: xla.Sharding) -> Value:
            here = self.translate(sharding, x.type)
            if here is None or any(not gang.is_free(name) for name, _ in b.mesh):
                return x
            out = b.fresh(x.type)
            text = gang.sharding_text(x.ndim, here.tiling.dim_axes)
            b.lines.append(
                f"{out.name} = sdy.sharding_constraint {x.name} {text} : "
                f"{tensor(x.type)}{b.location}"
            )
            return out

        return write


def refinement(coarse: Sequence[int], fine: Sequence[int]) -> list[tuple[int, ...]] | None:
    """For each axis of a coarse mesh the axes of a finer one that make it up; None if none do."""
    found, k = [], 0
    for size in coarse:
        axes, product = [], 1
        while product < size and k < len(fine):
            axes.append(k)
            product *= fine[k]
            k += 1
        if product != size:
            return None
        found.append(tuple(axes))
    return found if math.prod(fine[k:]) == 1 else None


def common_refinement(meshes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The coarsest mesh that refines the first of several, and the others where possible."""
    cuts = {1, math.prod(meshes[0])}
    for mesh in meshes:
        trial = cuts | {math.prod(mesh[:k]) for k in range(1, len(mesh) + 1)}
        ordered = sorted(trial)
        if all(b % a == 0 for a, b in pairwise(ordered)):
            cuts = trial
    ordered = sorted(cuts)
    return tuple(b // a for a, b in pairwise(ordered)) or (1,)


def lone_device(program: Program, form: str = "gang") -> xla.Device | None:
    """The first device of the pmaps of a form in a Program, if no grid is needed for them."""
    maps = _pmaps(program, form)
    return max((m["devices"] for m in maps), key=len)[0] if maps else None


def _pmaps(program: Program, form: str = "gang") -> list[dict[str, Any]]:
    """The parameters of the pmaps of a form in a Program, at any depth."""
    found = []
    for eqn in program.equations:
        if eqn.op is pmap_p and eqn.params["form"] == form:
            found.append(eqn.params)
        for inner in sub_programs(eqn.params):
            found.extend(_pmaps(inner, form))
    return found


def show(program: Program, placements: Sequence[Placement | None]) -> list[Shown | None]:
    """Where the results of a Program that one device computes are shown to lie: where the gang form
    would leave them, or a sharding constraint asks for them. None: on the device.
    """
    asked = {e.outputs[0]: e for e in program.equations if e.op is sharding_constraint_p}
    shown: list[Shown | None] = [None] * len(program.outputs)
    lone = lone_device(program, "fused")
    if lone is not None:
        where = lay_out_spread(program, placements)
        shown = [Shown(s) for s in where[2]] if where else [Shown(xla.single(lone))] * len(shown)
    return [
        Shown(asked[a].params["sharding"]) if a in asked else s
        for a, s in zip(program.outputs, shown, strict=True)
    ]


def lay_out_spread(
    program: Program, placements: Sequence[Placement | None]
) -> tuple[Grid, list[xla.Sharding], list[xla.Sharding]] | None:
    """The grid of a Program whose pmaps are in the gang form, or would be, and the shardings of its
    inputs and results there; None if one device is enough.
    """
    spread = _as_gang(program)
    given = [Sharded(p.sharding) if isinstance(p, Shown) else p for p in placements]
    grid = choose_grid(spread, given)
    return None if grid is None else (grid, *lay_out(spread, given, grid))


def map_axes(program: Program) -> list[frozenset[int]]:
    """For each result of a Program the axes that are those of maps."""
    found: dict[Any, frozenset[int]] = {}
    for eqn in program.equations:
        if eqn.op is pmap_p:
            inside = map_axes(eqn.params["program"])
            for var, mapped, axes in zip(
                eqn.outputs, eqn.params["out_mapped"], inside, strict=True
            ):
                found[var] = frozenset({0, *(a + 1 for a in axes)}) if mapped else axes
        elif eqn.op is permute_p:
            axes, order = found.get(eqn.inputs[0], frozenset()), eqn.params["axes"]
            found[eqn.outputs[0]] = frozenset(map(order.index, axes))
    return [found.get(a, frozenset()) for a in program.outputs]


def _as_gang(program: Program) -> Program:
    """The Program with its pmaps in the gang form; its variables are the same."""

    def changed(value: Any) -> Any:
        if isinstance(value, Program):
            return _as_gang(value)
        return tuple(map(changed, value)) if isinstance(value, tuple) else value

    def make() -> Program:
        equations = []
        for e in program.equations:
            params = e.params
            if sub_programs(params):
                params = {k: changed(v) for k, v in params.items()}
            if e.op is pmap_p:
                params = {**params, "form": "gang"}
            equations.append(Equation(e.op, e.inputs, params, e.outputs, e.source))
        return Program(program.inputs, equations, program.outputs, program.name, program.names)

    return program.derived("as gang", make)


def _constraints(program: Program) -> list[xla.Sharding]:
    """The shardings that a Program asks for, at any depth."""
    found = []
    for eqn in program.equations:
        if eqn.op is sharding_constraint_p:
            found.append(eqn.params["sharding"])
        for inner in sub_programs(eqn.params):
            found.extend(_constraints(inner))
    return found


def choose_grid(program: Program, placements: Sequence[Placement | None]) -> Grid | None:
    """The grid a Program needs, or None if it runs on one device."""
    given = [p.sharding for p in placements if isinstance(p, Sharded)]
    wanted = _constraints(program)
    if wanted and fused_on(wanted[0].devices):
        wanted = []  # one program computes for all devices: a constraint only says how to show it
    maps = _pmaps(program)
    if maps and not wanted and all(len(m["devices"]) == 1 for m in maps):
        return None
    if maps:
        every = max((m["devices"] for m in maps), key=len)
        if wanted and xla.spans_processes(wanted[0].devices):
            every = wanted[0].devices  # where each process has its part
        shape = gang.choose_grid(program, len(every))
        devices = tuple(every[: math.prod(shape)])
        meshes = [shape]
    elif given or wanted:
        first = max([*wanted, *given], key=lambda s: s.num_devices)
        devices = tuple(first.devices)
        meshes = [first.tiling.mesh_shape]
    else:
        return None
    if len(devices) == 1:
        return None
    meshes += [s.tiling.mesh_shape for s in [*wanted, *given] if tuple(s.devices) == devices]
    return Grid(devices, common_refinement(meshes))


def lay_out(
    program: Program,
    placements: Sequence[Placement | None],
    grid: Grid,
) -> tuple[list[xla.Sharding], list[xla.Sharding]]:
    """The shardings of a Program's inputs and results on a grid."""
    entering, leaving = _mapped_values(program, grid)
    asked: dict[Any, xla.Sharding] = {}
    for eqn in program.equations:
        if eqn.op is sharding_constraint_p:
            asked[eqn.outputs[0]] = eqn.params["sharding"]
            asked.setdefault(eqn.inputs[0], eqn.params["sharding"])
    inputs = []
    for var, placement in zip(program.inputs, placements, strict=True):
        found = None
        if isinstance(placement, Sharded) and not placement.sharding.is_readable:
            found = _where_it_is(placement.sharding, var.type, grid)
        elif var in entering:
            found = grid.fitting(entering[var], var.type)
        elif var in asked:
            found = grid.translate(asked[var], var.type)
        elif isinstance(placement, Sharded):
            found = grid.translate(placement.sharding, var.type)
        inputs.append(found or grid.whole())
    like = {
        (v.type.shape, v.type.dtype): s
        for v, s, p in zip(program.inputs, inputs, placements, strict=True)
        if isinstance(p, Sharded)
    }
    outputs = []
    for atom in program.outputs:
        found = grid.translate(asked[atom], atom.type) if atom in asked else None
        if found is None and atom in leaving:
            found = grid.fitting(leaving[atom], atom.type)
        if found is None and type(atom) is Var:
            found = like.get((atom.type.shape, atom.type.dtype))
        outputs.append(found or grid.whole())
    return inputs, outputs


def _where_it_is(sharding: xla.Sharding, type: ArrayType, grid: Grid) -> xla.Sharding:
    """The sharding of an array that only a program of all its devices can move."""
    found = grid.translate(sharding, type)
    if found is None:
        raise ArgumentError(
            "an array of several processes cannot be brought to other devices, or another order of "
            "them",
            array=type,
            its_devices=list(sharding.devices),
            program=list(grid.devices),
            fix="use one mesh, or meshes of the same devices in the same order",
        )
    return found


def _mapped_values(
    program: Program, grid: Grid
) -> tuple[dict[Any, list[tuple[int, ...]]], dict[Any, list[tuple[int, ...]]]]:
    """(inputs that only enter gang pmaps as mapped operands, results that come out of one), each
    with the grid's axes that split its leading dimensions.
    """
    entering: dict[Any, list[tuple[int, ...]]] = {}
    elsewhere: set[Any] = set(program.outputs)
    leaving: dict[Any, list[tuple[int, ...]]] = {}
    mesh = gang.free_mesh(grid.shape)
    permutes = []
    for eqn in program.equations:
        if eqn.op is permute_p:  # how a map's axis gets to the front, and from there
            permutes.append(eqn)
            x, axes = eqn.inputs[0], eqn.params["axes"]
            if x in leaving:
                dims = [*leaving[x], *[()] * (len(axes) - len(leaving[x]))]
                leaving[eqn.outputs[0]] = [dims[a] for a in axes]
            continue
        found = None
        if eqn.op is pmap_p and eqn.params["form"] == "gang":
            found = gang.nest(mesh, eqn.params)
        if found is None:
            elsewhere.update(eqn.inputs)
            continue
        _, levels = found
        in_levels = zip(*(level.in_mapped for level in levels), strict=True)
        for atom, flags in zip(eqn.inputs, in_levels, strict=False):
            if any(flags):
                entering[atom] = gang.split_dims(levels, flags)
            else:
                elsewhere.add(atom)
        out_levels = zip(*(level.out_mapped for level in levels), strict=True)
        for var, flags in zip(eqn.outputs, out_levels, strict=False):
            if any(flags):
                leaving[var] = gang.split_dims(levels, flags)
    for eqn in reversed(permutes):
        x, y, axes = eqn.inputs[0], eqn.outputs[0], eqn.params["axes"]
        if y in entering and y not in elsewhere:
            dims = [*entering[y], *[()] * (len(axes) - len(entering[y]))]
            entering[x] = [dims[axes.index(d)] for d in range(len(axes))]
        else:
            elsewhere.add(x)
    return {v: p for v, p in entering.items() if v not in elsewhere}, leaving


def spread(x: Any, sharding: xla.Sharding) -> Any:
    """An Array or host value as a buffer with a sharding; its own if that has equal parts."""
    if type(x) is Array:
        placement = x.placement
        if isinstance(placement, Sharded) and same_parts(placement.sharding, sharding, x.type):
            return x._live()
        host = np.asarray(x.host())
    else:
        host = canonical_value(x, type_of(x))
    return put_whole(host, sharding)


def same_parts(a: xla.Sharding, b: xla.Sharding, type: ArrayType) -> bool:
    """Whether two shardings give the same part of an array to each device."""
    if a is b:
        return True
    if a.devices != b.devices:
        return False
    return all(a.index(k, type.shape) == b.index(k, type.shape) for k in range(a.num_devices))
