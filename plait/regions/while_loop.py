"""while: a loop whose number of rounds is decided as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.context import running
from plait.core.primitive import register
from plait.core.program import Program, program_has_effects, reference, run_program
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ShapeError
from plait.hlo.module import lower_program
from plait.interpreters.batch import add_axis, batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import instantiate, jvp_program
from plait.interpreters.split import split_program
from plait.ops.arithmetic import add
from plait.ops.axes import broadcast_in_dim
from plait.ops.compare import lt, select_n_p
from plait.ops.reduce import reduce_or
from plait.regions.masked import masked
from plait.regions.region import (
    Region,
    check_operands,
    merge,
    partition,
)
from plait.regions.scan import cut, either
from plait.regions.trace import rewire, same_type


class While(Region):
    """Run `body` on the carry as long as `cond` gives true for it.

    Parameters: cond and body, Programs of (constants, carry); cond_consts and body_consts, how many
    operands are constants of each. Operands: the constants of cond, those of body, the carry.
    """

    name = "while"

    def type(self, *types, cond, body, cond_consts, body_consts):
        cc, bc, carry = cut(types, cond_consts, body_consts)
        check_operands(cond, (*cc, *carry))
        check_operands(body, (*bc, *carry))
        (test,) = cond.out_types
        if test.shape or test.dtype not in dtypes.BOOL:
            raise ShapeError("the condition must give one bool", condition=test)
        if not all(map(same_type, carry, body.out_types)):
            takes, returns = (", ".join(map(str, ts)) for ts in (carry, body.out_types))
            raise ShapeError("the carry changes its type", takes=takes, returns=returns)
        return body.out_types

    def numpy(self, *xs, cond, body, cond_consts, body_consts):
        cc, bc, carry = cut(xs, cond_consts, body_consts)
        while reference(cond, *cc, *carry)[0]:
            carry = reference(body, *bc, *carry)
        return carry

    def jvp(self, xs, ts, *, cond, body, cond_consts, body_consts):
        _, bc_t, carry_t = cut(ts, cond_consts, body_consts)
        bc_nz, nz = (tuple(t is not None for t in part) for part in (bc_t, carry_t))
        while True:
            pushed, out_nz = jvp_program(body, (*bc_nz, *nz), nz)
            grown = either(nz, out_nz)
            if grown == nz:
                break
            nz = grown
        n = len(body.inputs)
        bc_at, carry_at = cut(range(n), body_consts)
        bct_at, carryt_at = cut(range(n, len(pushed.inputs)), sum(bc_nz))
        both = rewire(pushed, (*bc_at, *bct_at, *carry_at, *carryt_at))
        cc, bc, carry = cut(xs, cond_consts, body_consts)
        tangents = [instantiate(x, t) for x, t, z in zip(carry, carry_t, nz, strict=True) if z]
        extra = [t for t, z in zip(body.out_types, nz, strict=True) if z]
        test = rewire(cond, (*range(len(cond.inputs)), *extra))
        out = self.bind(
            *(*cc, *bc, *(t for t in bc_t if t is not None), *carry, *tangents),
            cond=test,
            body=both,
            cond_consts=cond_consts,
            body_consts=body_consts + len(bct_at),
        )
        m = len(carry)
        return out[:m], merge(nz, out[m:], [None] * m)

    def split(self, linearizer, xs, linear, params):
        # The tangents are computed by the whole loop, which carries the known values along once
        # more: how many rounds there are, and so the size of what would have to be kept, is not
        # known before the loop has run.
        cond, body = params["cond"], params["body"]
        cond_consts, body_consts = params["cond_consts"], params["body_consts"]
        _, bc_lin, lin = cut(linear, cond_consts, body_consts)
        while True:
            halves = split_program(body, (*bc_lin, *lin), lin)
            grown = either(lin, halves.out_linear)
            if grown == lin:
                break
            lin = grown
        cc, bc, carry = cut(xs, cond_consts, body_consts)
        _, known_bc = partition(bc_lin, bc)
        _, known_carry = partition(lin, carry)
        known_body = rewire(
            halves.known,
            tuple(range(len(halves.known.inputs))),
            tuple(range(len(known_carry))),
        )
        known_at = [cond_consts + k for k, is_lin in enumerate(lin) if not is_lin]
        test = rewire(cond, (*range(cond_consts), *known_at))
        with running(linearizer.parent):
            known = self.bind(
                *(*cc, *known_bc, *known_carry),
                cond=test,
                body=known_body,
                cond_consts=cond_consts,
                body_consts=len(known_bc),
            )
        every = linearizer.emit(self, xs, params)
        tangents, _ = partition(lin, every)
        return merge(lin, tangents, known)

    def transpose(self, cts, *xs, **params):
        raise ArgumentError(
            "a loop whose number of rounds is not known cannot be differentiated in reverse mode",
            op="while_loop",
            fix="use lax.scan, lax.fori_loop with bounds that are Python ints, or forward mode "
            "(jvp, jacfwd)",
        )

    def batch(self, frame, xs, mapped, *, cond, body, cond_consts, body_consts):
        cc_map, bc_map, carry_map = cut(mapped, cond_consts, body_consts)
        cc, bc, carry = cut(xs, cond_consts, body_consts)
        constant = handed_on(body, body_consts)
        while True:
            test, (test_map,) = batch_program(cond, frame, (*cc_map, *carry_map))
            if test_map:
                # Rows that stop keep what they have: all differs, but for what no round changes.
                carry_map = either(carry_map, tuple(not same for same in constant))
                test, _ = batch_program(cond, frame, (*cc_map, *carry_map), (True,))
            step, out_map = batch_program(body, frame, (*bc_map, *carry_map), carry_map)
            grown = either(carry_map, out_map)
            if grown == carry_map:
                break
            carry_map = grown
        was_mapped = mapped[cond_consts + body_consts :]
        carry = [
            add_axis(x, frame.size) if want and not m else x
            for x, m, want in zip(carry, was_mapped, carry_map, strict=True)
        ]
        if not test_map:
            out = self.bind(
                *(*cc, *bc, *carry),
                cond=test,
                body=step,
                cond_consts=cond_consts,
                body_consts=body_consts,
            )
            return out, carry_map
        # Rows stop at different times: the loop goes on while any row does, and rows that have
        # stopped keep their values. Which rows go on is carried along.
        (active,) = run_program(test, *cc, *carry)
        effects = program_has_effects(cond) or program_has_effects(body)
        if effects:
            test, _ = batch_program(masked(cond), frame, (True, *cc_map, *carry_map), (True,))
            step, _ = batch_program(masked(body), frame, (True, *bc_map, *carry_map), carry_map)
        _, *out = self.bind(
            *(*cc, *bc, active, *carry),
            cond=_any_active(test, len(cc) + effects),
            body=_step_active(test, step, len(cc), len(bc), effects, constant),
            cond_consts=0,
            body_consts=len(cc) + len(bc),
        )
        return out, carry_map

    def lower(self, b, *xs, cond, body, cond_consts, body_consts):
        cc, bc, carry = cut(xs, cond_consts, body_consts)
        return b.while_(
            carry,
            lambda *c: lower_program(b, cond, [*cc, *c])[0],
            lambda *c: lower_program(b, body, [*bc, *c]),
        )

    def variance(self, varying, params, analyse):
        cc, bc, carry = cut(varying, params["cond_consts"], params["body_consts"])
        test = frozenset()
        body = params["body"]
        constant = handed_on(body, len(bc))
        while True:
            # How often the condition itself is computed depends on the condition, too.
            (found,) = analyse(params["cond"], [*cc, *carry], condition=test)
            decides = self._decides(analyse, params, cc, carry) if found else None
            results = analyse(body, [*bc, *carry], condition=found, operand=decides)
            grown = [
                a if same else a.union(b, found)
                for a, b, same in zip(carry, results, constant, strict=True)
            ]
            if grown == list(carry) and found == test:
                return grown
            carry, test = grown, found

    def _decides(self, analyse, params, cc, carry):
        """The position of the operand that makes the condition vary, if one does by itself."""
        sets = [*cc, *carry]
        for k in range(len(sets)):
            only = [s if j == k else frozenset() for j, s in enumerate(sets)]
            if analyse(params["cond"], only)[0]:
                return k if k < len(cc) else k + params["body_consts"]
        return None

    def samples(self):
        scalar = ArrayType((), dtypes.int32)
        vector = ArrayType((3,), dtypes.float64)
        cond = stage_closed(lambda n, k, x: [lt(k, n)], [scalar, scalar, vector], name="cond")
        body = stage_closed(
            lambda c, k, x: [add(k, np.int32(1)), add(x, c)], [vector, scalar, vector], name="body"
        )
        x = np.linspace(-1.0, 2.0, 3)
        for rounds in (0, 4):
            operands = (np.int32(rounds), 1 - x, np.int32(0), x)
            yield (
                operands,
                {"cond": cond, "body": body, "cond_consts": 1, "body_consts": 1},
            )


while_p = register(While())


def handed_on(body: Program, consts: int) -> tuple[bool, ...]:
    """Which values of the carry every round hands on unchanged: any number of rounds does."""
    return tuple(y is x for x, y in zip(body.inputs[consts:], body.outputs, strict=True))


def _any_active(test: Program, consts: int) -> Program:
    """The condition (active rows, carry) -> whether any row is active."""

    def make() -> Program:
        (active,) = test.out_types
        types = [active, *test.in_types[consts:]]
        return stage_closed(lambda a, *_: [reduce_or(a, (0,))], types, name="any_active")

    return test.derived(("any active", consts), make)


def _step_active(
    test: Program,
    step: Program,
    cond_consts: int,
    body_consts: int,
    effects: bool,
    constant: tuple[bool, ...],
) -> Program:
    """The body (constants of both, active rows, carry) -> (active rows, carry).

    With effects both programs take the active rows as their first operand (masked.py). constant
    marks the values of the carry that no round changes.
    """

    def make() -> Program:
        (active,) = test.out_types
        cc_types, carry_types = cut(test.in_types[effects:], cond_consts)
        bc_types, _ = cut(step.in_types[effects:], body_consts)

        def run(*args: Any) -> list[Any]:
            cc, bc, (active,), carry = cut(args, cond_consts, body_consts, 1)
            mask = (active,) if effects else ()
            new = run_program(step, *mask, *bc, *carry)
            kept = []
            for old, y, same in zip(carry, new, constant, strict=True):
                if same:
                    kept.append(old)
                    continue
                which = broadcast_in_dim(active, type_of(y).shape, (0,))
                kept.append(select_n_p.bind(which, old, y))
            (still,) = run_program(test, *mask, *cc, *kept)
            return [select_n_p.bind(active, active, still), *kept]

        types = [*cc_types, *bc_types, active, *carry_types]
        return stage_closed(run, types, name=step.name)

    key = ("step active", test, cond_consts, body_consts, effects, constant)
    return step.derived(key, make)


__all__ = ["While", "while_p"]
