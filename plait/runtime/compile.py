"""Program to executable: what every call of plait ends in.

A `Compiled` takes Arrays of known signatures and gives Arrays. Finding it is the caller's: jit and
pmap keep tables keyed by signatures, the base interpreter one keyed by op.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from plait import monitoring
from plait.config import state
from plait.core import dtypes
from plait.core.program import Program, Var, run_program
from plait.core.source import warn
from plait.core.stage import stage
from plait.core.types import ArrayType, type_of
from plait.errors import DonatedError, DonatedTwiceError, PlaitRuntimeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.interpreters.simplify import simplify
from plait.ops.across import Share
from plait.ops.axes import broadcast_in_dim, broadcast_in_dim_p
from plait.regions import gang
from plait.regions.spmd import fuse
from plait.runtime import across, client, xla
from plait.runtime.array import (
    Array,
    Taken,
    as_array,
    canonical_value,
    is_shared,
    own_array,
    taken_error,
)
from plait.runtime.interrupt import has_loops, interruptible
from plait.runtime.partition import Grid, choose_grid, lay_out, lone_device, map_axes, show
from plait.runtime.placement import (
    OnDevice,
    Part,
    Placed,
    Placement,
    Sharded,
    Shown,
    placement_of,
    signature,
)

buf_of = attrgetter("buf")
sig_of = attrgetter("sig")
Signature = ArrayType | Placed


class Compiled:
    """An executable with what turns Arrays into its arguments and its results into Arrays."""

    __slots__ = (
        "captured",
        "checks",
        "donated",
        "executable",
        "execute",
        "feeders",
        "fragile",
        "name",
        "names",
        "origin",
        "out",
        "program",
        "text",
    )

    def __init__(
        self,
        program: Program,
        executable: xla.Executable,
        text: str,
        captured: list[Any],
        feeders: list[Callable[[Array], Any] | None] | None,
        out: list[tuple[ArrayType, Signature]],
        donated: tuple[int, ...],
        origin: Program,
    ):
        self.program, self.executable, self.text = program, executable, text
        self.execute = executable.execute
        if has_loops(program):
            self.execute = interruptible(self.execute)
        self.captured, self.feeders, self.out, self.donated = captured, feeders, out, donated
        self.name, self.names = program.name, program.names
        # A program of several devices does not survive an array that is gone; one of a single
        # device raises.
        self.fragile = bool(captured) and len(executable.devices) > 1
        self.checks = state.debug_nans or state.debug_infs
        # As the function was traced: what debug_nans looks into.
        self.origin = origin if self.checks else program

    def run(self, args: Sequence[Any]) -> list[Array]:
        """The results as Arrays, from Arrays or host values of the types it was compiled for.

        Raises: DonatedError, OutOfMemory and what a callback raised.
        """
        given = args
        if self.donated:
            args = self.own_donated(args)
        if self.feeders is None and not all(type(x) is Array for x in args):
            args = [x if type(x) is Array else as_array(x) for x in args]
        if self.donated:
            self.check_shared(args)
        if self.fragile and (gone := self.gone()) is not None:
            raise gone
        try:
            if self.feeders is None:
                bufs = [*self.captured, *map(buf_of, args)]
            else:
                bufs = self.captured + [
                    as_array(a).buf if f is None else f(a)
                    for f, a in zip(self.feeders, args, strict=True)
                ]
            outs = self.execute(bufs)
        except (xla.XlaError, TypeError, DonatedError, PlaitRuntimeError) as error:
            problem = self.failure(error, args)
            raise problem from problem.__cause__
        results = [Array(b, t, s) for b, (t, s) in zip(outs, self.out, strict=True)]
        if self.donated:
            self.take(given)
        if self.checks:
            from plait.runtime.debug import check_results

            check_results(self, args, results)
        return results

    def own_donated(self, args: Sequence[Any]) -> list[Any]:
        """The arguments, those that are donated in memory that nobody else uses."""
        own = list(args)
        for k in self.donated:
            x = own[k]
            if type(x) is not Array:
                own[k] = own_array(x)
            elif is_shared(x):
                own[k] = Array(xla.duplicate(x._live()), x.type, x.sig)
        return own

    def take(self, args: Sequence[Any]) -> None:
        """Mark the arguments whose buffers the call took.

        Also those of which a copy was taken: the buffer lay elsewhere, or a NumPy view of it lives.
        """
        for k in self.donated:
            arg = args[k]
            if type(arg) is Array and type(arg.buf) is not Taken and not is_shared(arg):
                arg.buf = Taken(f"the call of {self.name}, which donates it")

    def check_shared(self, args: Sequence[Array]) -> None:
        """Raise DonatedTwiceError if a donated buffer is used a second time by the same call."""
        n = len(self.captured)
        first = {id(buf): k - n for k, buf in enumerate(self.captured)}  # closed over: below 0
        for k, arg in enumerate(args):
            if type(arg) is not Array:
                continue
            j = first.setdefault(id(arg.buf), k)
            if j == k or (j not in self.donated and k not in self.donated):
                continue
            name, other = (self.names[n + i] if self.names else f"argument {i}" for i in (k, j))
            if j < 0:
                outside = "the function closes over the same array"
                summary = f"the argument {name} is donated, and {outside}"
                fix = "pass a copy (jnp.copy(x)), or do not donate it"
            else:
                summary = f"the arguments {other} and {name} are one array, and it is donated"
                fix = "pass a copy (jnp.copy(x)) for one of them, or do not donate it"
            raise DonatedTwiceError(summary, op=self.name, array=arg.type, fix=fix)

    def gone(self) -> Exception | None:
        """The error to raise if an array that the function closes over is gone."""
        for k, buf in enumerate(self.captured):
            if xla.is_deleted(buf):
                name = f" {self.names[k]}" if self.names and self.names[k] else ""
                return DonatedError(
                    f"the array{name} that the function closes over was given away or deleted",
                    op=self.name,
                    array=self.program.in_types[k],
                    fix="pass it as an argument, or give a copy (jnp.copy(x)) to the call that "
                    "donates it",
                )
        return None

    def failure(self, error: Exception, args: Sequence[Array]) -> Exception:
        """The error to raise for one that XLA raised."""
        told = xla.translate_error(error) if isinstance(error, xla.XlaError) else error
        # If it is about something else, this call may have taken arrays before it failed.
        about_arrays = isinstance(told, DonatedError | TypeError)
        for k, arg in enumerate(args):
            if type(arg) is not Array:
                continue
            if type(arg.buf) is not Taken and xla.is_deleted(arg.buf):
                taker = "a call that donates it" if about_arrays else f"the call of {self.name}"
                arg.buf = Taken(taker)
            if about_arrays and type(arg.buf) is Taken:
                offset = len(self.captured) + k
                name = self.names[offset] if self.names else ""
                return taken_error(arg, arg.buf, self.name, name)
        if about_arrays and (gone := self.gone()) is not None:
            return gone
        return told


@dataclass
class Prepared:
    """A Program as text for its devices, with what calling the executable will need."""

    program: Program
    text: str
    builder: Builder
    devices: tuple[xla.Device, ...]
    shardings: list[xla.Sharding] | None
    constants: Callable[[], list[Any]]
    feeders: list[Callable[[Array], Any] | None] | None
    out: list[tuple[ArrayType, Signature]]
    donated: tuple[int, ...]
    origin: Program

    def compile(self, options: Mapping[str, Any] | None = None) -> Compiled:
        """Compile it, with options of XLA's beside those that are set for all programs.

        Raises: CompileError.
        """
        quick = state.disable_most_optimizations

        def make() -> xla.Executable:
            began = time.perf_counter()
            # A callback that failed on one device would leave the others waiting in a collective.
            failures: list[BaseException] | None = [] if len(self.devices) > 1 else None
            executable = xla.compile(
                self.text,
                self.devices,
                num_partitions=len(self.devices),
                out_types=[(t.shape, dtypes.storage(t.dtype)) for t in self.program.out_types],
                out_shardings=self.shardings,
                callbacks=[xla.HostCallback(*c, failures) for c in self.builder.callbacks],
                options=options,
                quick=quick,
                effects=self.builder.order is not None,
                name=f"{self.program.name}({', '.join(map(str, self.program.in_types))})",
            )
            if failures is not None and self.builder.callbacks:
                executable.execute = _to_the_end(executable, failures)
            seconds = time.perf_counter() - began
            monitoring.record_event_duration_secs(
                "/jax/core/compile/backend_compile_duration", seconds
            )
            return executable

        # Arguments that lie elsewhere often make no difference: a step that is fed its own results
        # is the same program.
        key = ("executable", self.text, self.devices, quick, *sorted((options or {}).items()))
        return Compiled(
            self.program,
            self.origin.derived(key, make),
            self.text,
            self.constants(),
            self.feeders,
            self.out,
            self.donated,
            self.origin,
        )


def _to_the_end(
    executable: xla.Executable, failures: list[BaseException]
) -> Callable[[list[Any]], list[Any]]:
    """The launch of an executable that waits for its end and raises what a callback raised."""
    execute = executable.execute

    def launch(bufs: list[Any]) -> list[Any]:
        outs = execute(bufs)
        xla.wait(outs)
        xla.effects_barrier()
        if failures:
            first = failures[0]
            failures.clear()
            raise xla.callback_failure(first)
        return outs

    return launch


def compile_program(
    program: Program,
    captured: Sequence[Any],
    signatures: Sequence[Signature],
    *,
    donated: Sequence[int] = (),
    options: Mapping[str, Any] | None = None,
) -> Compiled:
    """Compile a Program; see `prepare`. Raises: CompileError."""
    if across.crosses(program) and not across.is_one_piece(program):
        return InPieces(program, captured, signatures, options)
    return prepare(program, captured, signatures, donated=donated).compile(options)


class InPieces(Compiled):
    """A Program that this process computes in part, and in part together with others."""

    __slots__ = ("_outputs", "_pieces")

    def __init__(
        self,
        program: Program,
        captured: Sequence[Any],
        signatures: Sequence[Signature],
        options: Mapping[str, Any] | None,
    ):
        program = across.inlined(program)
        values = [as_array(x) for x in captured]
        known: dict[Any, Signature] = dict(
            zip(program.inputs, [*map(sig_of, values), *signatures], strict=True)
        )
        self._outputs, self._pieces = program.outputs, []
        for piece in across.pieces(program):
            inputs = [known[v] for v in piece.inputs]
            compiled = compile_program(piece.program, [], inputs, options=options)
            self._pieces.append((piece, compiled))
            known.update((v, sig) for v, (_, sig) in zip(piece.outputs, compiled.out, strict=True))
        self.program = self.origin = program
        self.name, self.names = program.name, program.names
        self.captured, self.feeders, self.out, self.donated = values, [], [], ()
        self.checks, self.execute, self.executable, self.text = False, None, None, ""
        self.fragile = False

    def run(self, args: Sequence[Any]) -> list[Array]:
        values: dict[Any, Any] = dict(
            zip(self.program.inputs, [*self.captured, *args], strict=True)
        )
        for piece, compiled in self._pieces:
            results = compiled.run([values[v] for v in piece.inputs])
            values.update(zip(piece.outputs, results, strict=True))
        outputs = [values[a] if type(a) is Var else a.value for a in self._outputs]
        return [as_array(x) for x in outputs]


def prepare(
    program: Program,
    captured: Sequence[Any],
    signatures: Sequence[Signature],
    *,
    donated: Sequence[int] = (),
) -> Prepared:
    """Lower a Program whose first inputs are `captured` values and whose others are arguments with
    the given signatures.

    `donated` are positions of arguments whose buffers the program may reuse.
    Raises: MissingRuleError for an op that has no lowering.
    """
    placements = [placement_of(s) for s in signatures]
    n, origin = len(captured), program
    if state.debug_nans or state.debug_infs:
        donated = ()  # the search for the op that made a NaN needs the arguments
    if across.crosses(program):
        return _prepare_whole(program, captured, placements, donated)
    grid = choose_grid(program, placements)
    if grid is not None:
        return _prepare_partitioned(program, captured, placements, donated, grid)
    device, home = _device(placements)
    if (lone := lone_device(program)) is not None:
        device, home = lone, _home(lone)
    shown = show(program, [*(as_array(x).placement for x in captured), *placements])
    if any(shown):
        device, home = client.base_device(), None  # where their one buffer is looked for
    axes = map_axes(program)
    program = simplify(fuse(_unstack_inputs(program, n, placements)))
    program, outs = _unstack_outputs(program, shown, axes)
    aliases = _aliases(program, n, donated, given=origin)

    builder = Builder(platform_name(device), devices=[device])
    attributes = [
        f"tf.aliasing_output = {aliases[k]} : i32" if k in aliases else ""
        for k in range(len(program.inputs))
    ]
    text = module_text(builder, program, arg_attributes=attributes)
    feeders = [_feeder(p, device) for p in placements]
    return Prepared(
        program,
        text,
        builder,
        (device,),
        None,
        lambda: [_feed(as_array(x), device) for x in captured],
        feeders if any(f is not None for f in feeders) else None,
        [(t, signature(t, home if p is None else p)) for t, p in outs],
        tuple(k - n for k in aliases),
        origin,
    )


def platform_name(device: xla.Device) -> str:
    """What lowering rules call the device's platform: cpu, gpu or tpu."""
    platform: str = device.platform
    return {"cuda": "gpu", "rocm": "gpu"}.get(platform, platform)


def _device(placements: Sequence[Placement | None]) -> tuple[xla.Device, Placement | None]:
    """The device to compute on, and the placement that results inherit.

    Arguments that the user put on one device other than the default bring the computation there;
    where they disagree it happens on the default device.
    """
    committed = {p for p in placements if isinstance(p, OnDevice)}
    others = any(p is not None and not isinstance(p, OnDevice) for p in placements)
    if len(committed) == 1 and not others:
        (home,) = committed
        return home.devices[0], home
    device = client.default_device()
    return device, _home(device)


def _home(device: xla.Device) -> Placement | None:
    """The placement of what is computed on a device: none on the one where arrays lie anyway."""
    return None if device is client.base_device() else OnDevice(device)


def _feeder(placement: Placement | None, device: xla.Device) -> Callable[[Array], Any] | None:
    """What makes a buffer on the device from an argument, or None if its own buffer serves."""
    if placement is None:
        return None if device is client.base_device() else lambda x: _feed(x, device)
    if isinstance(placement, OnDevice):
        return None if placement.devices[0] == device else lambda x: _feed(x, device)
    if isinstance(placement, Shown):
        # As it is stored: once, where all lanes hold one value.
        return None if device is client.base_device() else lambda x: xla.copy_to(x._live(), device)
    return lambda x: _feed(x, device)


def _feed(x: Any, device: xla.Device) -> Any:
    """An Array or host value as one buffer on a device."""
    if type(x) is not Array:
        return xla.put(canonical_value(x, type_of(x)), device)
    buf, placement = x._live(), x.placement
    if isinstance(placement, Sharded | Part) or (isinstance(placement, Shown) and placement.once):
        return xla.put(np.ascontiguousarray(x.host()), device, copy=False)
    if xla.sharding_of(buf).devices[0] == device:
        return buf
    return xla.copy_to(buf, device)


def _prepare_whole(
    program: Program,
    captured: Sequence[Any],
    placements: Sequence[Placement | None],
    donated: Sequence[int],
) -> Prepared:
    """Lower a Program of which all is computed together with other processes."""
    if not across.is_one_piece(program):
        raise PlaitRuntimeError(
            "a map over devices of several processes is part of the function: there is no one "
            "program to show",
            op=program.name,
            fix="lower the map itself",
        )
    whole = across.whole(program)
    every = [*(as_array(x).placement for x in captured), *placements]
    grid = choose_grid(whole.program, every)
    if grid is None:
        raise PlaitRuntimeError(
            "the rows of these processes do not make up one grid of devices",
            op=program.name,
            fix="let all maps in the function use the devices of all processes",
        )
    shares = [share for _, share in whole.enters]
    made = _prepare_partitioned(
        whole.program, captured, placements, donated, grid, shares, whole.leaves
    )
    made.origin = program
    return made


def _prepare_partitioned(
    program: Program,
    captured: Sequence[Any],
    placements: Sequence[Placement | None],
    donated: Sequence[int],
    grid: Grid,
    shares: Sequence[Share | None] | None = None,
    leaves: Sequence[Share | None] | None = None,
) -> Prepared:
    """Lower a Program as one partitioned program over the devices of a grid.

    `shares` and `leaves` say what this process has of the arguments, and is to have of the results.
    """
    n, origin = len(captured), program
    program = simplify(fuse(program))
    arrays = [as_array(x) for x in captured]
    every = [*(x.placement for x in arrays), *placements]
    inputs, outputs = lay_out(program, every, grid)
    aliases = _aliases(program, n, donated, inputs, outputs)
    platform = platform_name(grid.devices[0])
    builder = Builder(platform, gang.free_mesh(grid.shape), grid.devices)
    builder.shard = grid.constrain(builder)

    def attributes(k: int, var: Var, sharding: xla.Sharding) -> str:
        alias = f", tf.aliasing_output = {aliases[k]} : i32" if k in aliases else ""
        return grid.attribute(var.type, sharding) + alias

    text = module_text(
        builder,
        program,
        arg_attributes=[
            attributes(k, v, s) for k, (v, s) in enumerate(zip(program.inputs, inputs, strict=True))
        ],
        result_attributes=[
            grid.attribute(v.type, s) for v, s in zip(program.outputs, outputs, strict=True)
        ],
        header=gang.mesh_header(grid.shape),
        module_attributes=f"mhlo.num_partitions = {len(grid.devices)} : i32, "
        "mhlo.num_replicas = 1 : i32",
    )
    shares = shares or [None] * len(inputs)
    leaves = leaves or [None] * len(outputs)
    feeders: list[Callable[[Array], Any]] = [
        lambda x, s=s, share=share: across.enter(x, s, share)
        for s, share in zip(inputs, shares, strict=True)
    ]
    return Prepared(
        program,
        text,
        builder,
        grid.devices,
        outputs,
        lambda: [feed(x) for feed, x in zip(feeders[:n], arrays, strict=True)],
        [*feeders[n:]],
        [
            across.leave(t, s, share)
            for t, s, share in zip(program.out_types, outputs, leaves, strict=True)
        ],
        tuple(k - n for k in aliases),
        origin,
    )


def _unstack_inputs(program: Program, n: int, placements: Sequence[Placement | None]) -> Program:
    """Let a Program take arguments that are stored once as they are stored, repeated inside."""
    if not any(isinstance(p, Shown) and p.once for p in placements):
        return program
    every = [*[None] * n, *placements]
    types = [
        v.type if p is None else p.stored(v.type)
        for v, p in zip(program.inputs, every, strict=True)
    ]

    def repeat(x: Any, type: ArrayType, placement: Placement | None) -> Any:
        if not isinstance(placement, Shown) or not placement.once:
            return x
        have = [k for k in range(type.ndim) if k not in placement.once]
        for axis in reversed(placement.once):  # one by one, as nested maps know them
            have = sorted([*have, axis])
            dims = [d for d, k in enumerate(have) if k != axis]
            x = broadcast_in_dim(x, [type.shape[k] for k in have], dims)
        return x

    def stacked(*xs: Any) -> Sequence[Any]:
        full = [repeat(x, v.type, p) for x, v, p in zip(xs, program.inputs, every, strict=True)]
        return run_program(program, *full)

    result, captured = stage(stacked, types, name=program.name, names=program.names or ())
    assert not captured
    return result


def _unstack_outputs(
    program: Program, placements: Sequence[Placement | None], axes: Sequence[frozenset[int]]
) -> tuple[Program, list[tuple[ArrayType, Placement | None]]]:
    """Store results that are equal along axes of maps once; (Program, (type, placement)s)."""
    repeated: dict[Any, Any] = {
        eqn.outputs[0]: eqn for eqn in program.equations if eqn.op is broadcast_in_dim_p
    }
    atoms, outs = list(program.outputs), []
    for k, (atom, placement) in enumerate(zip(program.outputs, placements, strict=True)):
        type_ = atom.type
        kept = list(range(type_.ndim))  # the axes that the buffer has
        while isinstance(placement, Shown) and (eqn := repeated.get(atom)) is not None:
            atom, dims = eqn.inputs[0], eqn.params["dims"]
            same = tuple(eqn.outputs[0].type.shape[d] for d in dims) == atom.type.shape
            left = [kept[d] for d in dims]
            if type(atom) is not Var or not same or not axes[k].issuperset({*kept} - {*left}):
                break
            kept = left
            atoms[k] = atom
        if isinstance(placement, Shown):
            once = tuple(axis for axis in range(type_.ndim) if axis not in kept)
            placement = Shown(placement.sharding, once)
        outs.append((type_, placement))
    if atoms != list(program.outputs):
        names = program.names
        program = simplify(Program(program.inputs, program.equations, atoms, program.name, names))
    return program, outs


def _aliases(
    program: Program,
    n: int,
    donated: Sequence[int],
    in_shardings: Sequence[Any] | None = None,
    out_shardings: Sequence[Any] | None = None,
    given: Program | None = None,
) -> dict[int, int]:
    """Input position -> output position whose buffer it becomes; warns of buffers without use.

    given: the Program whose inputs have the types that users see, where others are stored.
    """
    seen = program.in_types if given is None else given.in_types
    free: dict[tuple, list[int]] = {}
    for k, atom in enumerate(program.outputs):
        if type(atom) is Var:
            where = out_shardings[k] if out_shardings else None
            free.setdefault((atom.type.shape, atom.type.dtype, where), []).append(k)
    aliases: dict[int, int] = {}
    unused: dict[str, list[str]] = {}
    for k in donated:
        type_ = program.inputs[n + k].type
        where = in_shardings[n + k] if in_shardings else None
        places = free.get((type_.shape, type_.dtype, where))
        if places:
            aliases[n + k] = places.pop(0)
            continue
        why = "no result has their shape and dtype"
        if seen[n + k] is not type_:
            why = "they are stored once for all lanes, and no result of their kind is"
        elif places is not None:
            why = "each result of their shape and dtype has the memory of another argument"
        elif any(kind[:2] == (type_.shape, type_.dtype) for kind in free):
            why = "the results of their shape and dtype lie on the devices in another way"
        label = program.names[n + k] if program.names else ""
        unused.setdefault(why, []).append(f"{label or f'argument {k}'} {seen[n + k]}")
    for why, which in unused.items():
        warn(f"{program.name}: donated buffers could not be used, since {why}: {', '.join(which)}")
    return aliases
