"""custom_vmap: a function whose rows the user's own rule computes, all at once.

The function becomes a Program when it is called, as one that `jit` gives, and the rule stays with
the equation until a Batch interpreter comes to it. Derivatives push both forward: under vmap the
tangents are those of the rule. Reverse mode cuts the Program, of which the rule knows nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from plait.core import dtypes
from plait.core import tree as trees
from plait.core.primitive import register
from plait.core.sample import real
from plait.core.tracebacks import trimmed
from plait.core.tree import PyTreeDef, flatten, structure_error
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.interpreters.batch import add_axis, batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import instantiate, jvp, jvp_program
from plait.ops.arithmetic import mul
from plait.regions.call import call_p
from plait.regions.loops import map as loop
from plait.regions.region import merge, partition
from plait.regions.rules import CustomCall, Signature, is_pair
from plait.regions.trace import (
    check_arguments,
    check_function,
    check_leaves,
    describe_function,
    same_type,
    trace,
)

# A rule on leaves: (number of rows, operands, which of them have rows) -> (results, which have).
FlatRule = Callable[[int, Sequence[Any], Sequence[bool]], tuple[list[Any], list[bool]]]


class CustomVmapCall(CustomCall):
    """A function with a rule for many rows in a Program: the rule is Python.

    Parameters: program; rule, on leaves.
    """

    name = "custom_vmap_call"

    def jvp(self, xs, ts, *, program, rule):
        nonzero = tuple(t is not None for t in ts)
        derived, out_nonzero = jvp_program(program, nonzero)
        pushed = _PushedRule(rule, nonzero, out_nonzero)
        out = self.bind(*xs, *(t for t in ts if t is not None), program=derived, rule=pushed)
        n = len(program.outputs)
        return out[:n], merge(out_nonzero, out[n:], [None] * n)

    def batch(self, frame, xs, mapped, *, program, rule):
        # The rows of a pmap are on devices of their own, or as good as that.
        if frame.devices is not None or not any(mapped):
            batched, out_mapped = batch_program(program, frame, tuple(mapped))
            return call_p.bind(*xs, program=batched), out_mapped
        return rule(frame.size, xs, mapped)

    def samples(self):
        program = stage_closed(lambda x: [mul(x, x)], [ArrayType((3,), dtypes.float64)], name="f")

        def rule(
            size: int, xs: Sequence[Any], mapped: Sequence[bool]
        ) -> tuple[list[Any], list[bool]]:
            return [mul(xs[0], xs[0])], [True]

        yield (real(3),), {"program": program, "rule": rule}


custom_vmap_call_p = register(CustomVmapCall())


class _PushedRule:
    """The rule of a function's value and tangent: the user's rule, differentiated."""

    def __init__(self, rule: FlatRule, nonzero: Sequence[bool], out_nonzero: Sequence[bool]):
        self.rule, self.nonzero, self.out_nonzero = rule, nonzero, out_nonzero

    def __call__(
        self, size: int, xs: Sequence[Any], mapped: Sequence[bool]
    ) -> tuple[list[Any], list[bool]]:
        n = len(self.nonzero)
        tangents = merge(self.nonzero, xs[n:], [None] * n)
        t_mapped = merge(self.nonzero, mapped[n:], [False] * n)
        # The tangent of an operand has rows if and only if the operand has.
        joined = [a or b for a, b in zip(mapped, t_mapped, strict=False)]
        primals = [_with_rows(x, m, j, size) for x, m, j in zip(xs, mapped, joined, strict=False)]
        tangents = [
            None if t is None else _with_rows(t, m, j, size)
            for t, m, j in zip(tangents, t_mapped, joined, strict=True)
        ]
        out_mapped: list[bool] = []

        def rows(*args: Any) -> list[Any]:
            ys, marks = self.rule(size, args, joined)
            out_mapped.extend(marks)
            return ys

        ys, ts = jvp(rows, primals, tangents)
        pushed, _ = partition(
            self.out_nonzero, [instantiate(y, t) for y, t in zip(ys, ts, strict=True)]
        )
        return [*ys, *pushed], [*out_mapped, *partition(self.out_nonzero, out_mapped)[0]]


def _with_rows(x: Any, mapped: bool, wanted: bool, size: int) -> Any:
    return add_axis(x, size) if wanted and not mapped else x


class custom_vmap:
    """A function with a rule for many rows, which vmap uses in place of its own.

    `def_vmap(rule)` gives it: rule(axis_size, in_batched, *args) -> (result, out_batched), where
    in_batched holds for each argument a tree like it that says which arrays have the rows along
    their first axis, and out_batched says it of the result. vmap inside of vmap maps the rule. Of
    vmap(jvp(f)) the tangents are those of the rule; reverse mode takes the function as it is.

    >>> @plait.custom_batching.custom_vmap
    ... def f(x, y): return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, x, y):
    ...     print(axis_size, in_batched)
    ...     return x + y, True
    >>> plait.vmap(f, in_axes=(0, None))(jnp.ones(2), 1.0)
    2 [True, False]
    Array([2., 2.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any]):
        check_function(fun, "custom_vmap", "the argument")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.signature = Signature(fun, "custom_vmap", (), ())
        self.vmap_rule: Callable[..., tuple[Any, Any]] | None = None

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Give the rule; returns it."""
        check_function(vmap_rule, "custom_vmap", "the rule")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __repr__(self) -> str:
        return f"<custom_vmap of {describe_function(self.fun)}>"

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self.signature.positional(args, kwargs)
        leaves, shape = flatten(args)
        check_arguments(leaves, args, "custom_vmap", "args")
        traced = trace(
            self.fun,
            shape,
            [type_of(x) for x in leaves],
            op="custom_vmap",
            label="the function",
        )
        rule = _Rule(self, shape, traced.out, len(traced.captured), traced.out_types)
        ys = custom_vmap_call_p.bind(*traced.captured, *leaves, program=traced.program, rule=rule)
        return traced.out.unflatten(ys)


class _Rule:
    """The rule of one call, on leaves, of which the first are values the function closed over."""

    def __init__(
        self,
        owner: custom_vmap,
        shape: PyTreeDef,
        out: PyTreeDef,
        captured: int,
        types: Sequence[ArrayType],
    ):
        self.owner, self.shape, self.out = owner, shape, out
        self.captured, self.types = captured, types

    def __call__(
        self, size: int, xs: Sequence[Any], mapped: Sequence[bool]
    ) -> tuple[list[Any], list[bool]]:
        where, rule = describe_function(self.owner.fun), self.owner.vmap_rule
        if rule is None:
            raise AttributeError(f"custom_vmap: {where} has no rule yet; give it one with def_vmap")
        if any(mapped[: self.captured]):
            raise ArgumentError(
                "the function closes over a value that differs from row to row",
                op="custom_vmap",
                function=where,
                fix="pass it as an argument, of which the rule is told",
            )
        args = self.shape.unflatten(xs[self.captured :])
        marks = list(self.shape.unflatten(list(mapped[self.captured :])))
        result = rule(size, marks, *args)
        if not is_pair(result):
            raise ArgumentTypeError(
                "the rule must return a pair (result, which of its arrays have rows)",
                op="custom_vmap",
                function=where,
                returns=result,
            )
        ys, shape = flatten(result[0])
        out_mapped, mark_shape = flatten(result[1])
        for label, found in (("result", shape), ("out_batched", mark_shape)):
            if found != self.out:
                raise structure_error(
                    f"the rule's {label} must have the structure of the function's result",
                    ("function", self.out),
                    (label, found),
                    "custom_vmap",
                    f"let the rule of {where} return the same containers",
                )
        check_leaves(ys, result[0], "custom_vmap", "the rule")
        out_mapped = [bool(m) for m in out_mapped]
        for y, m, t in zip(ys, out_mapped, self.types, strict=True):
            want = t.with_shape((size, *t.shape)) if m else t
            if not same_type(type_of(y), want):
                raise ShapeError(
                    "the rule's result must have the type of the function's, for each row",
                    op="custom_vmap",
                    function=where,
                    expected=want,
                    rule=type_of(y),
                )
        return ys, out_mapped


def sequential_vmap(fun: Callable[..., Any]) -> custom_vmap:
    """A function that vmap computes row after row, in a loop: for what cannot be vectorised.

    >>> f = plait.custom_batching.sequential_vmap(lambda x: x * 2)
    >>> plait.vmap(f)(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    made = custom_vmap(fun)

    @made.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        mapped = flatten(in_batched)[0]
        leaves, shape = flatten(args)
        rows, whole = partition(mapped, leaves)
        out = loop(lambda row: made(*shape.unflatten(merge(mapped, row, whole))), rows)
        return out, trees.map(lambda _: True, out)

    return made


__all__ = ["custom_vmap", "custom_vmap_call_p", "sequential_vmap"]
