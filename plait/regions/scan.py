"""scan: a loop of known length that carries values along and stacks results.

Operands are constants, the initial carry, and stacked arrays of which each round gets one row. The
body is a Program of (constants, carry, rows) that gives (carry, rows of the results).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.context import running
from plait.core.primitive import LinearOperand, or_zeros, register, zeros_of
from plait.core.program import Program, Var, has_effects, is_repeatable, reference, run_program
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.hlo.module import call_program, lower_program
from plait.interpreters.batch import add_axis, batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import instantiate, jvp_program
from plait.interpreters.simplify import drop_dead
from plait.interpreters.split import Split, split_program
from plait.interpreters.transpose import transpose_program
from plait.ops.arithmetic import add
from plait.ops.axes import move_axis
from plait.regions.region import Region, check_operands, merge, partition
from plait.regions.trace import rewire, same_type

Masks = tuple[tuple[bool, ...], tuple[bool, ...], tuple[bool, ...]]


def cut(xs: Sequence[Any], *sizes: int) -> list[tuple[Any, ...]]:
    """A sequence in pieces of the given sizes, and the rest."""
    pieces, at = [], 0
    for n in sizes:
        pieces.append(tuple(xs[at : at + n]))
        at += n
    return [*pieces, tuple(xs[at:])]


def either(a: Sequence[bool], b: Sequence[bool]) -> tuple[bool, ...]:
    """Element by element, whether one of two has a mark."""
    return tuple(x or y for x, y in zip(a, b, strict=True))


class Scan(Region):
    """Run a Program `length` times, from the last row to the first if `reverse`.

    Parameters: program; consts and carry, how many operands are constants and carried; length;
    reverse; unroll, how many rounds one round of the compiled loop makes.
    """

    name = "scan"

    def type(self, *types, program, consts, carry, length, reverse, unroll):
        c, i, x = cut(types, consts, carry)
        for t in x:
            if not t.shape or t.shape[0] != length:
                raise ShapeError("a stacked operand needs one row for each round", x=t)
        check_operands(program, (*c, *i, *map(_row, x)))
        outs = program.out_types
        for before, after in zip(program.in_types[consts:], outs[:carry], strict=False):
            if not same_type(before, after):
                raise ShapeError("the carry changes its type", takes=before, returns=after)
        return (*outs[:carry], *(t.with_shape((length, *t.shape)) for t in outs[carry:]))

    def numpy(self, *operands, program, consts, carry, length, reverse, unroll):
        c, i, x = cut(operands, consts, carry)
        rows: list[Any] = [None] * length
        for k in reversed(range(length)) if reverse else range(length):
            out = reference(program, *c, *i, *(a[k] for a in x))
            i, rows[k] = out[:carry], out[carry:]
        stacked = [
            np.stack(column) if length else np.zeros((0, *t.shape), dtypes.storage(t.dtype))
            for column, t in zip(
                zip(*rows, strict=True) if length else [()] * len(program.outputs[carry:]),
                program.out_types[carry:],
                strict=True,
            )
        ]
        return (*i, *stacked)

    def jvp(self, xs, ts, *, program, consts, carry, **rest):
        c_nz, i_nz, x_nz = cut([t is not None for t in ts], consts, carry)
        ys = len(program.outputs) - carry
        while True:
            pushed, out_nz = jvp_program(program, (*c_nz, *i_nz, *x_nz), (*i_nz, *[False] * ys))
            grown = either(i_nz, out_nz[:carry])
            if grown == i_nz:
                break
            i_nz = grown
        # (constants, carry, rows, their tangents) becomes (constants with tangents, ...).
        n = len(program.inputs)
        c_at, i_at, x_at = cut(range(n), consts, carry)
        ct_at, it_at, xt_at = cut(range(n, len(pushed.inputs)), sum(c_nz), sum(i_nz))
        m = len(program.outputs)
        y_at, yt_at = range(carry, m), range(m + sum(i_nz), len(pushed.outputs))
        body = rewire(
            pushed,
            (*c_at, *ct_at, *i_at, *it_at, *x_at, *xt_at),
            (*range(carry), *range(m, m + sum(i_nz)), *y_at, *yt_at),
        )
        c, i, x = cut(xs, consts, carry)
        ct, it, xt = cut(ts, consts, carry)
        it = [instantiate(a, t) for a, t, nz in zip(i, it, i_nz, strict=True) if nz]
        out = self.bind(
            *(*c, *(t for t in ct if t is not None), *i, *it),
            *(*x, *(t for t in xt if t is not None)),
            program=body,
            consts=consts + len(ct_at),
            carry=carry + len(it),
            **rest,
        )
        i_out, it_out, y_out, yt_out = cut(out, carry, len(it), ys)
        tangents = merge(i_nz, it_out, [None] * carry)
        tangents += merge(out_nz[carry:], yt_out, [None] * ys)
        return [*i_out, *y_out], tangents

    def split(self, linearizer, xs, linear, params):
        plan = _plan(params, cut(linear, params["consts"], params["carry"]))
        with running(linearizer.parent):
            known, residuals = plan.run_known(self, xs)
        operands = plan.linear_operands(xs, residuals)
        pushed = linearizer.emit(self, operands, plan.linear_params)
        return merge(plan.out_linear, pushed, known)

    def transpose(self, cts, *xs, program, consts, carry, **rest):
        linear = [isinstance(x, LinearOperand) for x in xs]
        c_lin, i_lin, x_lin = cut(linear, consts, carry)
        params = {"program": program, "consts": consts, "carry": carry, **rest}
        if not all(i_lin):
            return self._transpose_mixed(cts, xs, (c_lin, i_lin, x_lin), params)
        c, i, x = cut(xs, consts, carry)
        i_ct, y_ct = cut(cts, carry)
        i_nz, y_nz = (tuple(t is not None for t in part) for part in (i_ct, y_ct))
        body, i_nz, c_marks, x_marks = _backwards(program, (c_lin, i_lin, x_lin), i_nz, y_nz)
        lin_c, known_c = partition(c_lin, c)
        lin_x, known_x = partition(x_lin, x)
        sums = [zeros_of(a.type) for a, mark in zip(lin_c, c_marks, strict=True) if mark]
        start = [or_zeros(t, a.type) for a, t, nz in zip(i, i_ct, i_nz, strict=True) if nz]
        rest["reverse"] = not rest["reverse"]
        out = self.bind(
            *(*known_c, *sums, *start, *known_x),
            *(t for t in y_ct if t is not None),
            program=body,
            consts=len(known_c),
            carry=len(sums) + len(start),
            **rest,
        )
        c_out, i_out, x_out = cut(out, len(sums), len(start))
        c_back = merge(c_marks, c_out, [None] * len(lin_c))
        x_back = merge(x_marks, x_out, [None] * len(lin_x))
        return [
            *merge(c_lin, c_back, [None] * len(known_c)),
            *merge(i_nz, i_out, [None] * carry),
            *merge(x_lin, x_back, [None] * len(known_x)),
        ]

    def _transpose_mixed(self, cts, xs, masks, params):
        """The part of the carry that is known is computed first, going forwards."""
        plan = _plan(params, masks)
        _, residuals = plan.run_known(self, xs)
        operands = plan.linear_operands(xs, residuals)
        # A carry that starts as a known value and becomes linear starts as zero.
        first = plan.linear_params["consts"]
        last = first + plan.linear_params["carry"]
        for k in range(first, last):
            if not isinstance(operands[k], LinearOperand):
                operands[k] = LinearOperand(type_of(operands[k]).strong())
        wanted, _ = partition(plan.out_linear, cts)
        back = dict(
            zip(
                plan.linear_origin,
                self.transpose(wanted, *operands, **plan.linear_params),
                strict=True,
            )
        )
        return [back.get(k) if isinstance(x, LinearOperand) else None for k, x in enumerate(xs)]

    def batch(self, frame, xs, mapped, *, program, consts, carry, **rest):
        c_map, i_map, x_map = cut(mapped, consts, carry)
        ys = len(program.outputs) - carry
        while True:
            force = (*i_map, *[False] * ys)
            body, out_map = batch_program(program, frame, (*c_map, *i_map, *x_map), force)
            grown = either(i_map, out_map[:carry])
            if grown == i_map:
                break
            i_map = grown
        c, i, x = cut(xs, consts, carry)
        i = [
            add_axis(a, frame.size) if want and not m else a
            for a, m, want in zip(i, mapped[consts:], i_map, strict=False)
        ]
        # Rows of the loop are on axis 0 of the stacked operands: the frame's axis moves behind.
        x = [move_axis(a, 0, 1) if m else a for a, m in zip(x, x_map, strict=True)]
        out = self.bind(*c, *i, *x, program=body, consts=consts, carry=carry, **rest)
        i_out, y_out = cut(out, carry)
        y_map = out_map[carry:]
        y_out = [move_axis(y, 1, 0) if m else y for y, m in zip(y_out, y_map, strict=True)]
        return [*i_out, *y_out], out_map

    def lower(self, b, *values, program, consts, carry, length, reverse, unroll):
        return _lower(b, values, program, consts, carry, length, reverse, unroll)

    def variance(self, varying, params, analyse):
        fixed, carried, rows = cut(varying, params["consts"], params["carry"])
        while True:
            results = analyse(params["program"], [*fixed, *carried, *rows])
            grown = [a | b for a, b in zip(carried, results, strict=False)]
            if grown == list(carried):
                return [*grown, *results[len(grown) :]]
            carried = grown

    def samples(self):
        row = np.linspace(-1.0, 2.0, 3)
        vector, stacked = ArrayType((3,), dtypes.float64), ArrayType((4, 3), dtypes.float64)
        body = stage_closed(
            lambda c, i, x: [add(i, add(c, x)), add(x, i)], [vector] * 3, name="body"
        )
        for reverse, unroll in ((False, 1), (True, 1), (False, 3)):
            operands = (row, 1 - row, np.linspace(0, 1, 12).reshape(stacked.shape))
            params = {"program": body, "consts": 1, "carry": 1, "length": 4}
            yield operands, {**params, "reverse": reverse, "unroll": unroll}


scan_p = register(Scan())


def _row(type: ArrayType) -> ArrayType:
    return type.with_shape(type.shape[1:])


# --- the cut into a known and a linear loop


class _Plan(NamedTuple):
    """A scan cut in two.

    out_linear: which results come from the linear scan. hoisted: what the linear scan needs and no
    round changes, computed from the known constants before the loop (None: nothing).
    residuals: where each operand in front of the linear scan's own constants and rows comes from,
    as (kind, position). linear_origin: for each operand of the linear scan the position of the
    scan's operand it is, or -1 for a residual.
    """

    masks: Masks
    out_linear: tuple[bool, ...]
    known_params: dict[str, Any]
    hoisted: Program
    const_residuals: tuple[tuple[str, int], ...]
    row_residuals: tuple[tuple[str, int], ...]
    linear_params: dict[str, Any]
    linear_origin: tuple[int, ...]
    known_ys: int

    def run_known(self, op: Scan, xs: Sequence[Any]) -> tuple[list[Any], tuple[list, list]]:
        """(known results, (residuals that are constants, stacked residuals))."""
        c_lin, i_lin, _ = self.masks
        c, i, x = cut(xs, len(c_lin), len(i_lin))
        known_c, known_i, known_x = (
            partition(mask, part)[1] for mask, part in zip(self.masks, (c, i, x), strict=True)
        )
        program = self.known_params["program"]
        out: Sequence[Any] = ()
        if program.outputs or any(map(has_effects, program.equations)):
            out = op.bind(*known_c, *known_i, *known_x, **self.known_params)
        fixed = run_program(self.hoisted, *known_c, *known_i)
        known, stacked = cut(out, len(known_i) + self.known_ys)
        sources = {
            "const": known_c,
            "carry": known_i,
            "row": known_x,
            "hoisted": fixed,
            "y": known[len(known_i) :],
            "stacked": stacked,
        }
        return list(known), (
            [sources[kind][k] for kind, k in self.const_residuals],
            [sources[kind][k] for kind, k in self.row_residuals],
        )

    def linear_operands(self, xs: Sequence[Any], residuals: tuple[list, list]) -> list[Any]:
        given = iter([*residuals[0], *residuals[1]])
        return [next(given) if k < 0 else xs[k] for k in self.linear_origin]


def _plan(params: dict[str, Any], masks: Sequence[tuple[bool, ...]]) -> _Plan:
    """How to cut a scan whose operands (constants, carry, rows) are linear where marked."""
    c_lin, i_lin, x_lin = masks
    key = ("scan plan", c_lin, i_lin, x_lin, *(params[k] for k in ("length", "reverse", "unroll")))
    return params["program"].derived(key, lambda: _make_plan(params, c_lin, i_lin, x_lin))


def _make_plan(
    params: dict[str, Any],
    c_lin: tuple[bool, ...],
    i_lin: tuple[bool, ...],
    x_lin: tuple[bool, ...],
) -> _Plan:
    program, consts, carry = params["program"], params["consts"], params["carry"]
    rest = {k: params[k] for k in ("length", "reverse", "unroll")}
    ys = len(program.outputs) - carry
    while True:
        halves = split_program(program, (*c_lin, *i_lin, *x_lin), (*i_lin, *[False] * ys))
        grown = either(i_lin, halves.out_linear[:carry])
        if grown == i_lin:
            break
        i_lin = grown
    known, linear = halves.known, halves.linear
    n_c, n_i = c_lin.count(False), i_lin.count(False)
    n_out = len(known.outputs) - halves.residuals
    const_from, row_from, hoisted, stacked = _sort_residuals(halves, n_c, n_i, n_out)
    known_program = rewire(
        known, tuple(range(len(known.inputs))), (*range(n_out), *(n_out + r for r in stacked))
    )
    # The linear body takes (residual constants, constants, carry, residual rows, rows).
    m = halves.residuals
    lin_c, lin_i, lin_x = cut(range(m, len(linear.inputs)), c_lin.count(True), i_lin.count(True))
    body = rewire(linear, (*const_from, *lin_c, *lin_i, *row_from, *lin_x))
    c_at, i_at, x_at = (
        [k for k, lin in zip(at, mask, strict=True) if lin]
        for at, mask in zip(
            cut(range(consts + carry + len(x_lin)), consts, carry),
            (c_lin, i_lin, x_lin),
            strict=True,
        )
    )
    return _Plan(
        masks=(c_lin, i_lin, x_lin),
        out_linear=halves.out_linear,
        known_params={"program": known_program, "consts": n_c, "carry": n_i, **rest},
        hoisted=hoisted,
        const_residuals=tuple(const_from.values()),
        row_residuals=tuple(row_from.values()),
        linear_params={
            "program": body,
            "consts": len(const_from) + len(lin_c),
            "carry": len(lin_i),
            **rest,
        },
        linear_origin=(*[-1] * len(const_from), *c_at, *i_at, *[-1] * len(row_from), *x_at),
        known_ys=n_out - n_i,
    )


def _sort_residuals(
    halves: Split, n_c: int, n_i: int, n_out: int
) -> tuple[dict[int, tuple[str, int]], dict[int, tuple[str, int]], Program, list[int]]:
    """Where the residuals come from, as cheaply as possible.

    Returns (those that are constants, those that have rows, the Program that is hoisted, those that
    the known loop has to stack); the first two map a residual to (kind, position).
    """
    known = halves.known
    places: dict[Any, tuple[str, int]] = {}
    for k, var in enumerate(known.inputs):
        if k < n_c:
            places[var] = ("const", k)
        elif k >= n_c + n_i:
            places[var] = ("row", k - n_c - n_i)
        elif known.outputs[k - n_c] is var:
            places[var] = ("carry", k - n_c)
    for k, atom in enumerate(known.outputs[n_i:n_out]):
        if type(atom) is Var:
            places.setdefault(atom, ("y", k))
    fixed = _fixed(known, {v for v, (kind, _) in places.items() if kind in ("const", "carry")})
    const_from: dict[int, tuple[str, int]] = {}
    row_from: dict[int, tuple[str, int]] = {}
    lifted: list[int] = []
    stacked: list[int] = []
    for r, atom in enumerate(known.outputs[n_out:]):
        kind, k = places.get(atom, ("", 0))
        if kind in ("const", "carry"):
            const_from[r] = (kind, k)
        elif atom in fixed:
            const_from[r] = ("hoisted", len(lifted))
            lifted.append(r)
        elif kind:
            row_from[r] = (kind, k)
        else:
            row_from[r] = ("stacked", len(stacked))
            stacked.append(r)
    hoisted = drop_dead(
        Program(
            known.inputs[: n_c + n_i],
            [e for e in known.equations if e.outputs and all(v in fixed for v in e.outputs)],
            [known.outputs[n_out + r] for r in lifted],
            known.name,
        )
    )
    return const_from, row_from, hoisted, stacked


def _fixed(program: Program, variables: set[Any]) -> set[Any]:
    """The variables that depend on the given ones alone."""
    fixed = set(variables)
    for eqn in program.equations:
        if is_repeatable(eqn) and all(type(a) is not Var or a in fixed for a in eqn.inputs):
            fixed.update(eqn.outputs)
    return fixed


def _backwards(
    program: Program, masks: Masks, i_nz: tuple[bool, ...], y_nz: tuple[bool, ...]
) -> tuple[Program, tuple[bool, ...], tuple[bool, ...], tuple[bool, ...]]:
    """The body of the transposed loop, and which cotangents it has: of the carry, the linear
    constants, the linear rows.

    It takes (known constants, sums of the constants' cotangents, the carry's cotangents, known
    rows, the results' cotangents); it gives (sums, the carry's cotangents, the rows' cotangents).
    """
    c_lin, i_lin, x_lin = masks

    def make():
        carry_nz = i_nz
        linear = (*c_lin, *i_lin, *x_lin)
        n_c, n_i = c_lin.count(True), len(i_lin)
        while True:
            back, marks = transpose_program(program, linear, (*carry_nz, *y_nz), wanted=False)
            c_marks, i_marks, x_marks = cut(marks, n_c, n_i)
            grown = either(carry_nz, i_marks)
            if grown == carry_nz:
                break
            carry_nz = grown
        types = program.in_types
        c_types, i_types, x_types = cut(types, len(c_lin), n_i)
        lin_c, known_c = partition(c_lin, c_types)
        _, known_x = partition(x_lin, x_types)
        sums = [t for t, mark in zip(lin_c, c_marks, strict=True) if mark]
        i_ct = [t for t, nz in zip(program.out_types, carry_nz, strict=False) if nz]
        y_ct = [t for t, nz in zip(program.out_types[n_i:], y_nz, strict=True) if nz]

        def body(*args):
            kc, acc, ict, kx, yct = cut(args, len(known_c), len(sums), len(i_ct), len(known_x))
            out = run_program(back, *kc, *kx, *ict, *yct)
            c_out, i_out, x_out = cut(out, len(acc), sum(i_marks))
            i_all = merge(i_marks, i_out, [None] * n_i)
            i_back = [
                or_zeros(ct, t) for t, ct, nz in zip(i_types, i_all, carry_nz, strict=True) if nz
            ]
            return [*map(add, acc, c_out), *i_back, *x_out]

        made = stage_closed(
            body, [*known_c, *sums, *i_ct, *known_x, *y_ct], name=f"transpose_{program.name}"
        )
        return made, carry_nz, c_marks, x_marks

    return program.derived(("scan transpose", masks, i_nz, y_nz), make)


# --- StableHLO


def _lower(
    b: Any,
    values: Sequence[Any],
    program: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[Any, ...]:
    """A while loop that slices a row of each stacked operand, and writes a row of each result."""
    c, i, xs = cut(values, consts, carry)
    y_types = [t.strong() for t in b.result_types[carry:]]
    buffers = tuple(b.full(t.shape, 0, t.dtype) for t in y_types)
    if length == 0:
        return (*i, *buffers)
    zero = b.constant(np.int32(0))
    run = call_program if min(unroll, length) > 1 else lower_program

    def one_round(at: Any, state: Sequence[Any]) -> tuple[Any, ...]:
        carried, ys = cut(state, carry)
        rows = []
        for x in xs:
            starts = [at, *[zero] * (x.ndim - 1)]
            row = b.dynamic_slice(x, starts, (1, *x.shape[1:]))
            rows.append(b.reshape(row, x.shape[1:]))
        carried, new = cut(run(b, program, [*c, *carried, *rows]), carry)
        written = []
        for y, row in zip(ys, new, strict=True):
            starts = [at, *[zero] * (y.ndim - 1)]
            written.append(b.dynamic_update_slice(y, b.reshape(row, (1, *row.shape)), starts))
        return (*carried, *written)

    def position(step: Any) -> Any:
        return b.sub(b.constant(np.int32(length - 1)), step) if reverse else step

    state: tuple[Any, ...] = (*i, *buffers)
    blocks, left = divmod(length, unroll)
    if blocks == 1 and unroll > 1:
        blocks, left = 0, length
    if blocks:

        def body(step: Any, *state: Any) -> Sequence[Any]:
            first = step if unroll == 1 else b.mul(step, b.constant(np.int32(unroll)))
            for k in range(unroll):
                at = first if k == 0 else b.add(first, b.constant(np.int32(k)))
                state = one_round(position(at), state)
            return (b.add(step, b.constant(np.int32(1))), *state)

        limit = b.constant(np.int32(blocks))
        _, *rest = b.while_((zero, *state), lambda k, *_: b.compare("LT", k, limit), body)
        state = tuple(rest)
    for k in range(length - left, length):
        state = one_round(b.constant(np.int32(length - 1 - k if reverse else k)), state)
    return state


def scan_length(op: str, length: Any, rows: Sequence[tuple[str, ArrayType]]) -> int:
    """How many rounds a loop over stacked arrays, given by name and type, makes."""
    sizes: dict[int, str] = {}
    for name, t in rows:
        if not t.shape:
            given: dict[str, Any] = {name: t}
            raise ShapeError(
                "a scalar has no axis to loop over",
                op=op,
                fix="stack the values of all rounds along axis 0, or let the body close over it",
                **given,
            )
        sizes.setdefault(t.shape[0], f"{name} {t}")
    if len(sizes) > 1:
        (a, first), (b, second) = list(sizes.items())[:2]
        raise ShapeError(
            f"the stacked arrays differ in their number of rows: {a} and {b}",
            op=op,
            first=first,
            second=second,
        )
    if length is None:
        if not sizes:
            raise ArgumentError(
                "there is nothing to loop over", op=op, fix="give xs with arrays, or length="
            )
        return next(iter(sizes))
    try:
        length = length.__index__()
    except (AttributeError, TypeError):
        raise ArgumentTypeError("length must be a Python int", op=op, length=length) from None
    if length < 0:
        raise ArgumentError("length must be at least 0", op=op, length=length)
    if sizes and length not in sizes:
        raise ArgumentError(
            f"length is {length}, but the stacked arrays have {next(iter(sizes))} rows",
            op=op,
            xs=next(iter(sizes.values())),
        )
    return length


__all__ = ["Scan", "cut", "either", "scan_length", "scan_p"]
