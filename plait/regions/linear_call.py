"""linear_call: a linear function whose transpose the user says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core import dtypes
from plait.core.primitive import or_zeros, register
from plait.core.program import reference
from plait.core.sample import positive, real
from plait.core.tree import flatten, structure_error
from plait.core.types import ArrayType, type_of
from plait.errors import UnsupportedError
from plait.hlo.module import lower_program
from plait.interpreters.batch import add_axis, batch_program
from plait.interpreters.closed import stage_closed
from plait.ops.arithmetic import div
from plait.regions.region import Region, check_operands
from plait.regions.trace import (
    check_arguments,
    check_function,
    describe_function,
    trace,
    type_error,
)


class LinearCall(Region):
    """A program that is linear in its last operands, beside the program that is its transpose.

    Parameters: programs, both; counts, how many operands only the first takes, only the second, and
    both of them. The others are the linear ones.
    """

    name = "linear_call"

    def type(self, *types, programs, counts):
        check_operands(programs[0], _taken(types, counts))
        return programs[0].out_types

    def numpy(self, *xs, programs, counts):
        return reference(programs[0], *_taken(xs, counts))

    def jvp(self, xs, ts, *, programs, counts):
        known = sum(counts)
        if any(t is not None for t in ts[:known]):
            raise UnsupportedError(
                "has derivatives by linear_args only",
                op=self.name,
                fix="stop_gradient(residual_args), or a custom_jvp around it",
            )
        ys = self.bind(*xs, programs=programs, counts=counts)
        filled = [or_zeros(t, type_of(x)) for t, x in zip(ts[known:], xs[known:], strict=True)]
        return ys, self.bind(*xs[:known], *filled, programs=programs, counts=counts)

    def transpose(self, cts, *xs, programs, counts):
        first, second, both = counts
        known = sum(counts)
        filled = [or_zeros(ct, t) for ct, t in zip(cts, programs[0].out_types, strict=True)]
        own, other, shared = xs[:first], xs[first : first + second], xs[first + second : known]
        back = self.bind(
            *other, *own, *shared, *filled, programs=programs[::-1], counts=(second, first, both)
        )
        return (*(None,) * known, *back)

    def batch(self, frame, xs, mapped, *, programs, counts):
        first, second, _ = counts
        known = sum(counts)
        forward, backward = programs
        shared = tuple(mapped[first + second : known])
        own, other = tuple(mapped[:first]), tuple(mapped[first : first + second])
        ins, outs = (True,) * (len(xs) - known), (True,) * len(forward.outputs)
        batched = (
            batch_program(forward, frame, (*own, *shared, *ins), outs)[0],
            batch_program(backward, frame, (*other, *shared, *outs), ins)[0],
        )
        linear = [
            x if m else add_axis(x, frame.size)
            for x, m in zip(xs[known:], mapped[known:], strict=True)
        ]
        ys = self.bind(*xs[:known], *linear, programs=batched, counts=counts)
        return ys, outs

    def lower(self, b, *xs, programs, counts):
        return lower_program(b, programs[0], _taken(xs, counts))

    def samples(self):
        f = ArrayType((3,), dtypes.float64)
        over = stage_closed(lambda r, x: [div(x, r)], [f, f], name="over")
        twice = stage_closed(lambda r, s, x: [div(div(x, r), s)], [f, f, f], name="twice")
        both = (positive(3), positive(3), real(3))
        yield both, {"programs": (twice, twice), "counts": (0, 0, 2)}
        yield both, {"programs": (over, over), "counts": (1, 1, 0)}


linear_call_p = register(LinearCall())


def _taken(xs: Sequence[Any], counts: tuple[int, int, int]) -> tuple[Any, ...]:
    """The operands of the first program."""
    return (*xs[: counts[0]], *xs[counts[0] + counts[1] :])


# --- what users call


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """fun(residual_args, linear_args), which is linear in linear_args, with a transpose of its own.

    fun_transpose(residual_args, ct) takes what looks like fun's result, and returns what looks like
    linear_args; reverse mode calls it in place of fun's transpose. Nothing checks that it is one.
    All arguments are trees.
    Derivative: with respect to linear_args only.
    Raises: ArgumentTypeError, ShapeError or DtypeError if fun_transpose returns anything else;
    UnsupportedError for a derivative by residual_args, or by what the functions close over.

    >>> from plait.custom_derivatives import linear_call
    >>> divide = lambda r, x: x / r
    >>> plait.grad(lambda x: x + linear_call(divide, divide, 4.0, x))(8.0)
    Array(1.25, dtype=float32, weak_type=True)
    """
    op = "linear_call"
    check_function(fun, op, "fun")
    check_function(fun_transpose, op, "fun_transpose")
    residuals, _ = flatten(residual_args)
    leaves, shape = flatten(linear_args)
    check_arguments(residuals, residual_args, op, "residual_args", "fun")
    check_arguments(leaves, linear_args, op, "linear_args", "fun")
    known, types = [type_of(x) for x in residuals], [type_of(x) for x in leaves]
    arguments = flatten((residual_args, linear_args))[1]
    forward = trace(fun, arguments, [*known, *types], op=op, label="fun")
    result = forward.out.unflatten(list(range(forward.out.num_leaves)))
    arguments = flatten((residual_args, result))[1]
    backward = trace(
        fun_transpose, arguments, [*known, *forward.out_types], op=op, label="fun_transpose"
    )
    summary = "fun_transpose must return what has the structure and types of linear_args"
    fix = f"let {describe_function(fun_transpose)} return what looks like linear_args"
    if backward.out != shape:
        pair = ("fun_transpose", backward.out), ("linear_args", shape)
        raise structure_error(summary, *pair, op, fix)
    pair = ("fun_transpose", backward.out_types), ("linear_args", types)
    if (error := type_error(summary, *pair, shape, op, fix)) is not None:
        raise error
    ys = linear_call_p.bind(
        *forward.captured,
        *backward.captured,
        *residuals,
        *leaves,
        programs=(forward.program, backward.program),
        counts=(len(forward.captured), len(backward.captured), len(residuals)),
    )
    return forward.out.unflatten(ys)


__all__ = ["linear_call", "linear_call_p"]
