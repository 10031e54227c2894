"""explain: one page on how a compiled function runs."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from plait.core import tree
from plait.core.program import Equation, Program, sub_programs
from plait.core.source import function_source
from plait.core.types import ArrayType, type_of
from plait.debug.report import Report, Row, Section, number_words, size_words
from plait.interpreters.simplify import simplify
from plait.regions import gang
from plait.regions.spmd import pmap_p
from plait.runtime import across
from plait.runtime.array import Array, as_array
from plait.runtime.compile import Compiled
from plait.runtime.partition import lay_out_spread
from plait.runtime.placement import OnDevice, Placement, Shown, placement_of
from plait.transforms.arguments import check_callable
from plait.transforms.calls import JitFunction
from plait.transforms.inspect import Lowered
from plait.transforms.pmap import UNNAMED, PmapFunction
from plait.transforms.shapes import abstract


def explain(f: Callable[..., Any]) -> Callable[..., Report]:
    """A function that, instead of calling f, says how f would run on the arguments.

    f is compiled with jit or pmap, or is taken as jit would. The page names the form of the
    program, its devices and lanes; what each device holds of each argument and result, what is kept
    once, and which donated arguments gave their memory to a result; each collective with its bytes
    and the line it comes from; and XLA's estimates of work and memory. Arguments may be
    ShapeDtypeStructs. Print the page; a notebook shows it as HTML.

    Raises: as compiling f would.

    >>> page = plait.debug.explain(plait.jit(lambda x: x * 2.0))(jnp.ones(3))
    >>> print(str(page).splitlines()[3])
      form  one program on cpu:0
    """
    check_callable(f, "debug.explain")
    function = f if isinstance(f, JitFunction) else JitFunction(f)

    @functools.wraps(f)
    def explained(*args: Any, **kwargs: Any) -> Report:
        return _Page(function, *tree.map(abstract, (args, kwargs))).report()

    return explained


class _Use(NamedTuple):
    """A collective: the equation, how often it runs, and under which loops and branches."""

    eqn: Equation
    times: int
    under: tuple[str, ...]


class _Page:
    """Everything that is asked about one call."""

    def __init__(self, function: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.function = function
        self.call = function.split_static(args, kwargs)
        self.lowered: Lowered = function.lower(*args, **kwargs)
        self.leaves = tree.leaves(self.call.dynamic)
        with warnings.catch_warnings():
            # Donated buffers without use are on the page.
            warnings.simplefilter("ignore")
            self.compiled: Compiled = self.lowered.compile()._compiled
        self.program = self.lowered.program
        self.captured = len(self.program.inputs) - len(self.leaves)
        self.devices = self.compiled.executable.devices
        self.maps = list(_find(self.program, lambda eqn: eqn.op is pmap_p))
        self.is_fused = len(self.devices) == 1
        # Several processes compute one program, of which each has its part.
        self.whole = self.program
        if across.crosses(self.program):
            self.whole = across.whole(self.program).program
        captured = [as_array(x).placement for x in self.lowered._traced.captured]
        self.placements = [x.placement if type(x) is Array else None for x in self.leaves]
        # In the fused form this is how arguments and results are shown.
        self.layout = lay_out_spread(simplify(self.whole), [*captured, *self.placements])

    def report(self) -> Report:
        kind = self.function.kind
        name = f"{self.program.name} ({function_source(self.function.fun)})"
        collectives, note = self.collectives()
        head = ("", "type", "on each device", "")
        each = ", for each device" if len(self.devices) > 1 else ""
        sections = [
            Section("How it runs", list(self.how())),
            Section("Arguments", self.arguments(), head),
            Section("Results", self.results(), head),
            Section("Collectives", collectives, _COLLECTIVES if collectives else (), note),
            Section(f"Estimates of XLA{each}", list(self.work())),
        ]
        return Report(f"{kind} of {name}", sections)

    # --- form, devices, lanes

    def how(self) -> Iterator[Row]:
        names = [f"{d.platform}:{d.id}" for d in self.devices]
        forms = {m.params["form"] for m in self.maps}
        if len(names) > 1:
            form = "gang: " if "gang" in forms else ""
            text = f"{form}one partitioned program on {len(names)} devices, {_shortened(names)}"
        elif forms:
            text = f"fused: the lanes of all devices in one program on {names[0]}"
        else:
            text = f"one program on {names[0]}"
        yield "form", text
        mesh = gang.free_mesh(self.layout[0].shape) if self.layout else ()
        for words in _map_words(self.whole, mesh, ""):
            yield "map", words
        count = sum(1 for _ in _find(self.program, lambda eqn: "callback" in eqn.op.name))
        if count:
            yield "callbacks", f"{count}, into Python"
        if self.captured:
            held = sum(t.nbytes for t in self.program.in_types[: self.captured])
            yield "captured", f"{self.captured} arrays from outside, {size_words(held)}"

    # --- arguments and results

    def arguments(self) -> list[Row]:
        names = self.function.leaf_names(self.call)
        wanted = set(self.function.donated_leaves(self.call))
        used = set(self.compiled.donated)
        rows = []
        for k, (name, part) in enumerate(zip(names, self._parts(), strict=True)):
            notes = [part[1]] if part[1] else []
            if k in used:
                notes.append("donated: its memory becomes a result's")
            elif k in wanted:
                notes.append("donated in vain: no result takes its memory")
            rows.append((name, str(type_of(self.leaves[k])), part[0], "; ".join(notes)))
        return rows

    def _parts(self) -> list[tuple[str, str]]:
        """For each argument (its part on each device, words on that)."""
        axes: Iterable[int | None] = repeat(None)
        if isinstance(self.function, PmapFunction):
            axes = self.function._in_axes(self.call, *self.call.dynamic)
        elif self.is_fused:
            types = map(type_of, self.leaves)
            return [_held(t, p) for t, p in zip(types, self.placements, strict=True)]
        # All rows, of which this process may have some.
        every = [v.type for v in self.whole.inputs[self.captured :]]
        inputs = self.layout[1][self.captured :] if self.layout else repeat(None)
        parts = []
        for t, p, axis, sharding in zip(every, self.placements, axes, inputs, strict=False):
            part = t if sharding is None else t.with_shape(sharding.shard_shape(t.shape))
            if axis is not None:
                words = f"mapped along axis {axis}"
            elif part is not t:
                words = "split"
            else:
                words = "one copy for all lanes" if self.is_fused else "a copy on each device"
            if axis is not None and isinstance(p, Shown) and axis in p.once:
                words += "; equal in all lanes, stored once"
            parts.append((str(part), words))
        return parts

    def results(self) -> list[Row]:
        dummy = self.lowered.out_tree.unflatten([0] * self.lowered.out_tree.num_leaves)
        names = tree.leaf_names(dummy, "result")
        rows = []
        for name, (type_, sig) in zip(names, self.compiled.out, strict=True):
            rows.append((name, str(type_), *_held(type_, placement_of(sig))))
        return rows

    # --- collectives and work

    def collectives(self) -> tuple[list[Row], str]:
        rows, total = [], 0
        for use in _collectives(self.program, 1, ()):
            eqn = use.eqn
            moved = sum(a.type.nbytes for a in eqn.inputs)
            total += moved * use.times
            axes = ", ".join(_axis_word(a) for a in eqn.op.axis_names(eqn.params))
            often = " ".join([f"{use.times} times" if use.times > 1 else "once", *use.under])
            what = ", ".join(str(a.type) for a in eqn.inputs)
            where = str(eqn.source) if eqn.source else ""
            rows.append((eqn.op.name, axes, what, size_words(moved), often, where))
        if not rows:
            return [], "none"
        note = f"{size_words(total)} for each lane and call"
        if len(self.devices) == 1:
            note += "; all lanes share one memory, nothing is sent"
        return rows, note

    def work(self) -> Iterator[Row]:
        cost = self.compiled.executable.cost_analysis()
        if "flops" in cost:
            yield "operations", number_words(cost["flops"])
        if "bytes accessed" in cost:
            yield "memory traffic", size_words(cost["bytes accessed"])
        memory = self.compiled.executable.memory_analysis()
        yield "arguments", size_words(memory.arguments)
        yield "results", size_words(memory.outputs)
        if memory.aliased:
            yield "of these in the memory of arguments", size_words(memory.aliased)
        yield "temporaries", size_words(memory.temporaries)
        if memory.peak:
            yield "peak", size_words(memory.peak)


_COLLECTIVES = ("op", "axis", "operand, each lane", "bytes", "how often", "where")


def _held(type: ArrayType, placement: Placement | None) -> tuple[str, str]:
    """(the part on each device, words on how it is stored)."""
    if placement is None or isinstance(placement, OnDevice):
        return str(type), ""
    _, index = placement.parts(type)[0]
    shape = [len(range(*s.indices(n))) for s, n in zip(index, type.shape, strict=True)]
    part = type.with_shape(shape)
    count = len({str(where) for _, where in placement.parts(type)})
    words = f"split into {count} parts" if count > 1 else "a copy on each device"
    if isinstance(placement, Shown) and placement.once:
        words = "equal in all lanes: stored once"
    elif isinstance(placement, Shown):
        words += ", in one buffer"
    return str(part), words


def _map_words(program: Program, mesh: Sequence[tuple[Any, int]], inside: str) -> Iterator[str]:
    """For each map in a Program how its rows are shared among the devices of the mesh."""
    for eqn in program.equations:
        below, words = mesh, inside
        if eqn.op is pmap_p:
            name, size = eqn.params["axis_name"], eqn.params["axis_size"]
            plan = gang.place_rows(mesh, size)
            below = [
                (name, extent) if k in plan.positions else (free, extent)
                for k, (free, extent) in enumerate(mesh)
            ]
            lanes = f"{plan.lanes} {'lane' if plan.lanes == 1 else 'lanes'}"
            devices = f"on each of {plan.size} devices" if plan.size > 1 else "on one device"
            yield f"{_axis_word(name)} of size {size}: {lanes} {devices}{inside}"
            words = f", inside {_axis_word(name)}"
        for inner in sub_programs(eqn.params):
            yield from _map_words(inner, below, words)


def _axis_word(name: Any) -> str:
    return "the unnamed axis" if name is UNNAMED else repr(name)


def _shortened(names: Sequence[str]) -> str:
    return " ".join(names if len(names) <= 8 else [*names[:3], "...", names[-1]])


def _find(program: Program, test: Callable[[Equation], bool]) -> Iterator[Equation]:
    for eqn in program.equations:
        if test(eqn):
            yield eqn
        for inner in sub_programs(eqn.params):
            yield from _find(inner, test)


def _collectives(program: Program, times: int, under: tuple[str, ...]) -> Iterator[_Use]:
    for eqn in program.equations:
        if eqn.op.communicates:
            yield _Use(eqn, times, under)
        inner, words = times * eqn.params.get("length", 1), under
        if eqn.op.name == "while":
            words = (*under, "each round of a while_loop")
        elif eqn.op.name == "cond":
            words = (*under, "if its branch is taken")
        for body in sub_programs(eqn.params):
            yield from _collectives(body, inner, words)


__all__ = ["explain"]
