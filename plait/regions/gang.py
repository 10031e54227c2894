"""The gang form of a pmap: one partitioned program over several devices.

The module has one mesh of devices, (("d0", n0), ("d1", n1), ...), chosen by `choose_grid`: one mesh
axis for the outermost pmap of a program, one for the pmap inside it, and so on while devices last.
A pmap becomes a Shardy manual computation, in which every device runs the body on its own block of
rows; a pmap inside a manual computation takes its block by its position on the next mesh axis and
gathers the results. Rows beyond the size of the mesh axis are lanes, batched on their device.

Builder.mesh says what the mesh axes are called inside the body being lowered: the axis name of the
pmap that is spread over them, so that collectives find their replica groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from plait.core.program import Program, sub_programs
from plait.core.types import ArrayType
from plait.hlo.builder import Builder, DeviceAxis, Value, is_free
from plait.hlo.module import lower_program
from plait.interpreters.batch import Frame, batch_program
from plait.runtime.tiling import nest_grid


class Plan(NamedTuple):
    """How a pmap lies on the mesh: which mesh axes, major first, their product, lanes a device."""

    positions: tuple[int, ...]
    size: int
    lanes: int


def choose_grid(program: Program, count: int) -> tuple[int, ...]:
    """Sizes of the mesh axes for a Program on `count` devices: those of the nest of pmaps that
    takes the most.
    """
    best: tuple[int, ...] = ()
    for sizes in _nests(program):
        best = max(best, nest_grid(sizes, count), key=lambda g: (math.prod(g), len(g)))
    return best


def _nests(program: Program) -> list[tuple[int, ...]]:
    """The axis sizes of all nests of gang pmaps, outermost first."""
    found = []
    for eqn in program.equations:
        inner = [nest for p in sub_programs(eqn.params) for nest in _nests(p)]
        if eqn.op.name == "pmap" and eqn.params["form"] == "gang":
            found.extend([(eqn.params["axis_size"], *nest) for nest in inner or [()]])
        else:
            found.extend(inner)
    return found


def plan(b: Builder, params: dict[str, Any]) -> tuple[Program, list[Level]] | None:
    """Where a pmap goes on the builder's mesh, as `nest` says it, or None if its lanes are all
    computed everywhere.
    """
    return nest(b.mesh, params) if params["form"] == "gang" else None


def place_rows(mesh: Sequence[tuple[Any, int]], n: int) -> Plan:
    """The plan for n rows on a mesh: they take the first free mesh axes, as many as they divide
    over; if that is none, all rows are lanes.
    """
    positions: list[int] = []
    size = 1
    for k, (name, extent) in enumerate(mesh):
        if not is_free(name):
            continue
        if n % (size * extent):
            break
        positions.append(k)
        size *= extent
    return Plan(tuple(positions), size, n // size)


def free_mesh(grid: Sequence[int]) -> tuple[tuple[Any, int], ...]:
    """The mesh of a module before any pmap is lowered."""
    return tuple((DeviceAxis(f"free{k}", free=True), n) for k, n in enumerate(grid))


def mesh_header(grid: Sequence[int]) -> str:
    """The mesh's declaration in the module."""
    return "sdy.mesh @mesh = <[" + ", ".join(f'"d{k}"={n}' for k, n in enumerate(grid)) + "]>"


def sharding_text(rank: int, dims: Sequence[Sequence[int]] = ()) -> str:
    """A Shardy sharding: for each dimension the mesh axes that split it; the rest is whole."""
    full = [*dims, *[()] * (rank - len(dims))]
    text = ", ".join("{" + ", ".join(f'"d{k}"' for k in axes) + "}" for axes in full)
    return f"<@mesh, [{text}]>"


class Level(NamedTuple):
    """One pmap of a nest that becomes one manual computation."""

    plan: Plan
    axis_name: Any
    in_mapped: tuple[bool, ...]
    out_mapped: tuple[bool, ...]


def lower(
    b: Builder, program: Program, levels: Sequence[Level], xs: Sequence[Value]
) -> Sequence[Value]:
    """A nest of pmaps on the mesh; a manual computation, unless one is open already."""
    outer_mesh = b.mesh
    mesh = list(outer_mesh)
    frames = []
    for plan, name, *_ in levels:
        # The body's own axis hides an outer one of the same name.
        mesh = [(DeviceAxis(f"outer {n}") if n == name else n, size) for n, size in mesh]
        devices: Any = name
        frame = None
        if plan.lanes > 1 or not plan.positions:
            devices = DeviceAxis(f"devices of {name}")
            outer = (devices, plan.size) if plan.positions else None
            frame = Frame(name, plan.lanes, outer, devices=())
        frames.append(frame)
        for k in plan.positions:
            mesh[k] = (devices, mesh[k][1])
    for level, frame in zip(reversed(levels), reversed(frames), strict=True):
        if frame is not None:
            program, _ = batch_program(program, frame, level.in_mapped, level.out_mapped)
    in_levels = list(zip(*(level.in_mapped for level in levels), strict=True))
    out_levels = list(zip(*(level.out_mapped for level in levels), strict=True))
    inputs = [v.type.shape for v in program.inputs]

    def body(*blocks: Value) -> Sequence[Value]:
        # A block has one axis a level, of size 1 where there are no lanes.
        given = [b.reshape(x, shape) for x, shape in zip(blocks, inputs, strict=True)]
        b.mesh = tuple(mesh)
        try:
            ys = lower_program(b, program, given)
        finally:
            b.mesh = outer_mesh
        out = []
        for y, flags in zip(ys, out_levels, strict=True):
            lanes = [level.plan.lanes for level, m in zip(levels, flags, strict=True) if m]
            own = y.shape[sum(f is not None for f, m in zip(frames, flags, strict=True) if m) :]
            out.append(b.reshape(y, (*lanes, *own)))
        return out

    if not all(is_free(name) for name, _size in outer_mesh):
        (level,) = levels
        return _nested(b, level.plan, xs, body, level.in_mapped, level.out_mapped)
    in_dims = [split_dims(levels, f) for f in in_levels]
    out_dims = [split_dims(levels, f) for f in out_levels]
    return _manual(b, xs, body, in_dims, out_dims)


def nest(
    mesh: Sequence[tuple[Any, int]], params: dict[str, Any]
) -> tuple[Program, list[Level]] | None:
    """(the innermost body, the pmaps around it that are lowered together); None if the mesh has no
    place for any of them.

    A pmap whose body is nothing but another pmap is lowered together with it, so that the operands
    are split over the mesh axes of both; but not inside a manual computation.
    """
    levels: list[Level] = []
    mesh = list(mesh)
    manual = all(is_free(name) for name, _size in mesh)
    while True:
        program = params["program"]
        how = place_rows(mesh, params["axis_size"])
        levels.append(Level(how, params["axis_name"], params["in_mapped"], params["out_mapped"]))
        for k in how.positions:
            mesh[k] = (params["axis_name"], mesh[k][1])
        eqn = program.equations[0] if manual and len(program.equations) == 1 else None
        if eqn is None or eqn.op.name != "pmap" or eqn.params["form"] == "fused":
            break
        if tuple(eqn.inputs) != program.inputs or tuple(eqn.outputs) != program.outputs:
            break
        params = eqn.params
    return (program, levels) if any(level.plan.positions for level in levels) else None


def split_dims(levels: Sequence[Level], flags: Sequence[bool]) -> list[tuple[int, ...]]:
    """The mesh axes that split the leading dimensions of a value mapped over some levels."""
    return [level.plan.positions for level, m in zip(levels, flags, strict=True) if m]


def _manual(b, xs, body, in_dims, out_dims) -> Sequence[Value]:
    results = b.result_types
    sizes = [size for _, size in b.mesh]

    def block(t: ArrayType, dims: Sequence[Sequence[int]]) -> ArrayType:
        shape = list(t.shape)
        for d, axes in enumerate(dims):
            shape[d] //= math.prod(sizes[k] for k in axes)
        return t.with_shape(shape)

    blocks = [block(x.type, dims) for x, dims in zip(xs, in_dims, strict=True)]

    def shardings(values, every):
        return [sharding_text(v.ndim, d) for v, d in zip(values, every, strict=True)]

    texts = shardings(xs, in_dims), shardings(results, out_dims)
    return b.manual_computation(xs, blocks, results, texts, body)


def _nested(b, how, xs, body, in_mapped, out_mapped) -> Sequence[Value]:
    """A pmap inside a manual computation: its operands are whole on every device."""
    index = b.place_on(how.positions)

    def block(x: Value) -> Value:
        each = x.shape[0] // how.size
        start = b.mul(index, b.full_like(index, each))
        zero = b.full_like(index, 0)
        return b.dynamic_slice(x, [start, *[zero] * (x.ndim - 1)], (each, *x.shape[1:]))

    ys = body(*(block(x) if m else x for x, m in zip(xs, in_mapped, strict=True)))
    groups = b.position_groups(how.positions)
    return [b.all_gather(y, groups, 0) if m else y for y, m in zip(ys, out_mapped, strict=True)]
