"""The pmap op: a Program run once for every position of a named axis that is spread over devices.

Operands and results are mapped (position 0 of the array is the axis) or not (one value for all).
Every transformation acts on the Program and keeps the op. What "spread over devices" means is the
runtime's choice between two forms:

- fused: all lanes in one program of one device, by batching the body. The default on CPU, where
  the devices of a process share memory and cores. `fuse` rewrites a Program to this form before it
  is lowered. A value that does not vary over the axis is computed and stored once.
- gang: one partitioned program over the devices; see regions/gang.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.core.context import context, named_axes, running
from plait.core.primitive import LinearOperand, register
from plait.core.program import Atom, Equation, Program, Var
from plait.core.stage import stage
from plait.errors import ShapeError
from plait.hlo.module import call_program
from plait.interpreters.batch import Frame, batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import jvp_program
from plait.interpreters.split import split_forwarding
from plait.interpreters.transpose import backward
from plait.interpreters.variance import variance
from plait.ops.arithmetic import mul
from plait.ops.axes import broadcast_in_dim_p, move_axis
from plait.ops.collective import psum_p
from plait.regions import gang
from plait.regions.region import Region, merge, partition, program_uses_axis
from plait.runtime.placement import fused_on


class Pmap(Region):
    """Run a Program at every position of an axis.

    Parameters: program; axis_name; axis_size; in_mapped and out_mapped, one flag per operand and
    result; devices, in the order of the axis; form, "fused" or "gang".
    """

    name = "pmap"

    def uses_axis(self, name, params):
        return name != params["axis_name"] and program_uses_axis(params["program"], name)

    def type(self, *types, program, axis_name, axis_size, in_mapped, out_mapped, devices, form):
        for t, var, is_mapped in zip(types, program.inputs, in_mapped, strict=True):
            wanted = (axis_size, *var.type.shape) if is_mapped else var.type.shape
            if t.shape != wanted or t.dtype != var.type.dtype:
                raise ShapeError("an operand does not fit the program", x=t, program=var.type)
        return tuple(
            t.with_shape((axis_size, *t.shape)) if m else t
            for t, m in zip(program.out_types, out_mapped, strict=True)
        )

    def numpy(self, *xs, **params):
        from plait.core.program import reference

        return reference(lanes_of(params), *xs)

    def jvp(self, xs, ts, *, program, in_mapped, out_mapped, **rest):
        nonzero = tuple(t is not None for t in ts)
        with named_axes((rest["axis_name"], rest["axis_size"]), mapped=True):
            derived, out_nonzero = jvp_program(program, nonzero)
        given = [t for t in ts if t is not None]
        t_in = tuple(m for m, nz in zip(in_mapped, nonzero, strict=True) if nz)
        t_out = tuple(m for m, nz in zip(out_mapped, out_nonzero, strict=True) if nz)
        out = self.bind(
            *xs,
            *given,
            program=derived,
            in_mapped=in_mapped + t_in,
            out_mapped=out_mapped + t_out,
            **rest,
        )
        n = len(program.outputs)
        return out[:n], merge(out_nonzero, out[n:], [None] * n)

    def split(self, linearizer, xs, linear, params):
        rest = dict(params)
        program, in_mapped, out_mapped = (
            rest.pop(k) for k in ("program", "in_mapped", "out_mapped")
        )
        with named_axes((rest["axis_name"], rest["axis_size"]), mapped=True):
            cut = split_forwarding(program, tuple(linear))
        tangents, known = partition(linear, xs)
        t_mapped, k_mapped = partition(linear, in_mapped)
        lin_out, known_out = partition(cut.out_linear, out_mapped)
        # A residual that is equal in all lanes is kept once.
        varies = _varies(cut.known, k_mapped, rest["axis_name"])
        res_mapped = varies[len(varies) - cut.computed :] if cut.computed else []
        with running(linearizer.parent):
            out = self.bind(
                *known,
                program=cut.known,
                in_mapped=tuple(k_mapped),
                out_mapped=(*known_out, *res_mapped),
                **rest,
            )
        n = len(out) - cut.computed
        handed_on = [known[k] for k in cut.forwarded]
        handed_on_mapped = [k_mapped[k] for k in cut.forwarded]
        pushed = linearizer.emit(
            self,
            [*out[n:], *handed_on, *tangents],
            {
                "program": cut.linear,
                "in_mapped": (*res_mapped, *handed_on_mapped, *t_mapped),
                "out_mapped": tuple(lin_out),
                **rest,
            },
        )
        return merge(cut.out_linear, pushed, out[:n])

    def transpose(self, cts, *xs, program, in_mapped, out_mapped, **rest):
        linear = tuple(isinstance(x, LinearOperand) for x in xs)
        nonzero = tuple(c is not None for c in cts)
        backwards, marks = self._backwards(program, linear, nonzero, in_mapped, out_mapped, rest)
        _, known = partition(linear, xs)
        lin_mapped, known_mapped = partition(linear, in_mapped)
        ct_mapped, _ = partition(nonzero, out_mapped)
        out = self.bind(
            *known,
            *(c for c in cts if c is not None),
            program=backwards,
            in_mapped=(*known_mapped, *ct_mapped),
            out_mapped=tuple(m for m, mark in zip(lin_mapped, marks, strict=True) if mark),
            **rest,
        )
        pulled = merge(marks, out, [None] * len(marks))
        return merge(linear, pulled, [None] * len(known))

    def _backwards(self, program, linear, nonzero, in_mapped, out_mapped, rest):
        name, size = rest["axis_name"], rest["axis_size"]

        def make():
            _, known_vars = partition(linear, program.inputs)
            ct_vars, _ = partition(nonzero, program.outputs)
            marks: list[bool] = []

            def run(*xs):
                known, given = iter(xs[: len(known_vars)]), iter(xs[len(known_vars) :])
                args = [
                    LinearOperand(v.type) if lin else next(known)
                    for v, lin in zip(program.inputs, linear, strict=True)
                ]
                # A result that leaves unmapped is one value of n equal ones: each lane gets its
                # share of the cotangent, so that the lanes' contributions add up to it.
                cts = [
                    None if not nz else next(given) if m else mul(next(given), 1.0 / size)
                    for nz, m in zip(nonzero, out_mapped, strict=True)
                ]
                pulled, _ = partition(linear, backward(program, args, cts))
                lin_mapped, _ = partition(linear, in_mapped)
                marks.extend(c is not None for c in pulled)
                # An operand that enters unmapped feeds every lane: their cotangents add up.
                return [
                    c if m else psum_p.bind(c, axis_name=(name,), axis_size=size, groups=None)
                    for c, m in zip(pulled, lin_mapped, strict=True)
                    if c is not None
                ]

            types = [v.type for v in (*known_vars, *ct_vars)]
            with named_axes((name, size), mapped=True):
                made = stage_closed(run, types, name=f"transpose_{program.name}")
            return made, tuple(marks)

        key = ("pmap transpose", linear, nonzero, in_mapped, out_mapped, name, size)
        return program.derived(key, make)

    def batch(self, frame, xs, mapped, *, program, in_mapped, out_mapped, **rest):
        name = rest["axis_name"]
        # The body's own axis hides an outer one of the same name.
        inner = frame.renamed(_Hidden()) if frame.name == name else frame
        with named_axes((name, rest["axis_size"]), mapped=True):
            batched, out_batched = batch_program(program, inner, tuple(mapped))
        # Operands arrive as [batch, axis, ...]; the op wants its axis first.
        xs = [
            move_axis(x, 1, 0) if b and m else x
            for x, b, m in zip(xs, mapped, in_mapped, strict=True)
        ]
        ys = self.bind(*xs, program=batched, in_mapped=in_mapped, out_mapped=out_mapped, **rest)
        ys = [
            move_axis(y, 1, 0) if b and m else y
            for y, b, m in zip(ys, out_batched, out_mapped, strict=True)
        ]
        return ys, out_batched

    def lower(self, b, *xs, **params):
        how = gang.plan(b, params)
        if how is None:
            # In a program of several devices its lanes all run on whichever device it is.
            return call_program(b, lanes_of(params, () if b.mesh else params["devices"]), xs)
        return gang.lower(b, *how, xs)

    def variance(self, varying, params, analyse):
        return analyse(params["program"], varying, binds=(params["axis_name"],))


def form_on(devices: Sequence[Any]) -> str:
    """The form of a map over these devices, as its op's parameter."""
    return "fused" if fused_on(devices) else "gang"


class _Hidden:
    """An axis name that nothing can refer to."""


pmap_p = register(Pmap())


def lanes_of(params: dict[str, Any], devices: tuple[Any, ...] = ()) -> Program:
    """The fused form: all lanes of a pmap as one Program, shown on the given devices."""
    frame = Frame(params["axis_name"], params["axis_size"], devices=devices)
    program, mapped = params["program"], params["in_mapped"]
    return batch_program(program, frame, mapped, params["out_mapped"])[0]


def _varies(program: Program, in_mapped: Sequence[bool], name: Any) -> list[bool]:
    """Which results of a body vary over its axis, given which inputs are mapped."""
    axis = frozenset([name])
    inputs = tuple(axis if m else frozenset() for m in in_mapped)
    return [name in v for v in variance(program, inputs, axis).out_varying]


def fuse(program: Program) -> Program:
    """The Program with its fused pmaps replaced by their lanes, so that what is equal in all lanes
    is recognised from one map to the next and computed once.
    """
    if not any(e.op is pmap_p and e.params["form"] == "fused" for e in program.equations):
        return program

    def fused(*args: Any) -> Sequence[Any]:
        return _Fuser(program, {}).run(args)

    result, captured = stage(fused, program.in_types, name=program.name, names=program.names or ())
    assert not captured
    return result


class _Fuser:
    """Runs a Program, keeping track of which values are one value repeated along axis 0."""

    def __init__(self, program: Program, once: dict[int, tuple[Any, Any]]):
        self.program = program
        # By the identity of a repeated value: the value, and what it repeats.
        self.once = once

    def run(self, args: Sequence[Any]) -> Sequence[Any]:
        program = self.program
        env: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))

        def value(atom: Atom) -> Any:
            return env[atom] if type(atom) is Var else atom.operand

        for eqn in program.equations:
            xs = [value(a) for a in eqn.inputs]
            if eqn.op is pmap_p and eqn.params["form"] == "fused":
                ys = self.lanes(eqn, xs)
            else:
                ys = run_equation(eqn, xs)
                if eqn.op is broadcast_in_dim_p and _repeats(eqn):
                    self.once[id(ys[0])] = ys[0], xs[0]
            env.update(zip(eqn.outputs, ys, strict=True))
        return [value(a) for a in program.outputs]

    def lanes(self, eqn: Equation, xs: list[Any]) -> list[Any]:
        params = eqn.params
        program, size = params["program"], params["axis_size"]
        in_mapped = list(params["in_mapped"])
        for k, x in enumerate(xs):
            if in_mapped[k] and id(x) in self.once:
                (_, xs[k]), in_mapped[k] = self.once[id(x)], False
        frame = Frame(params["axis_name"], size, devices=params["devices"])
        batched, mapped = batch_program(program, frame, tuple(in_mapped))
        ys = _Fuser(batched, self.once).run(xs)  # there may be maps inside
        out = []
        for y, var, is_mapped, want in zip(
            ys, eqn.outputs, mapped, params["out_mapped"], strict=True
        ):
            if want and not is_mapped:
                one, dims = y, tuple(range(1, var.type.ndim))
                y = broadcast_in_dim_p.bind(one, shape=var.type.shape, dims=dims)
                self.once[id(y)] = y, one
            out.append(y)
        return out


def _repeats(eqn: Equation) -> bool:
    """Whether a broadcast adds one axis in front and nothing else."""
    x, y = eqn.inputs[0].type, eqn.outputs[0].type
    return y.shape[1:] == x.shape and eqn.params["dims"] == tuple(range(1, y.ndim))


def run_equation(eqn: Equation, xs: Sequence[Any]) -> tuple[Any, ...]:
    """Bind one equation under the running interpreter; its results as a tuple."""
    before, context.source = context.source, eqn.source
    try:
        ys = eqn.op.bind(*xs, **eqn.params)
    finally:
        context.source = before
    return tuple(ys) if eqn.op.multiple_results else (ys,)
