"""A named sub-program: what jit leaves in a trace."""

from __future__ import annotations

from plait.core.context import running
from plait.core.primitive import LinearOperand, register
from plait.core.program import reference, run_program
from plait.hlo.module import call_program
from plait.interpreters.batch import batch_program
from plait.interpreters.jvp import jvp_program
from plait.interpreters.split import split_forwarding
from plait.interpreters.transpose import transpose_program
from plait.regions.region import Region, check_operands, merge, partition


class Call(Region):
    """Apply a Program to operands."""

    name = "jit"

    def type(self, *types, program):
        check_operands(program, types)
        return program.out_types

    def numpy(self, *xs, program):
        return reference(program, *xs)

    def jvp(self, xs, ts, *, program):
        nonzero = tuple(t is not None for t in ts)
        derived, out_nonzero = jvp_program(program, nonzero)
        given = [t for t in ts if t is not None]
        out = self.bind(*xs, *given, program=derived)
        n = len(program.outputs)
        return out[:n], merge(out_nonzero, out[n:], [None] * n)

    def split(self, linearizer, xs, linear, params):
        cut = split_forwarding(params["program"], tuple(linear))
        tangents, known = partition(linear, xs)
        with running(linearizer.parent):
            # A part without equations only passes values on: not worth a call.
            if cut.known.equations:
                out = self.bind(*known, program=cut.known)
            else:
                out = run_program(cut.known, *known)
        n = len(out) - cut.computed
        residuals = [*out[n:], *(known[k] for k in cut.forwarded)]
        pushed = linearizer.emit(self, [*residuals, *tangents], {"program": cut.linear})
        return merge(cut.out_linear, pushed, out[:n])

    def transpose(self, cts, *xs, program):
        linear = tuple(isinstance(x, LinearOperand) for x in xs)
        nonzero = tuple(c is not None for c in cts)
        backward, marks = transpose_program(program, linear, nonzero, wanted=False)
        _, known = partition(linear, xs)
        out = self.bind(*known, *(c for c in cts if c is not None), program=backward)
        pulled = merge(marks, out, [None] * len(marks))
        return merge(linear, pulled, [None] * len(known))

    def batch(self, frame, xs, mapped, *, program):
        batched, out_mapped = batch_program(program, frame, tuple(mapped))
        return self.bind(*xs, program=batched), out_mapped

    def lower(self, b, *xs, program):
        return call_program(b, program, xs)

    def variance(self, varying, params, analyse):
        return analyse(params["program"], varying)


call_p = register(Call())
