"""custom_jvp: a function whose tangents the user's own rule computes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from plait.core import dtypes
from plait.core.primitive import or_zeros, register, zeros_like
from plait.core.program import run_program
from plait.core.sample import real
from plait.core.source import function_name
from plait.core.tracebacks import trimmed
from plait.core.tree import PyTreeDef, flatten, leaf_names, structure_error
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentTypeError, DtypeError, ShapeError, an, several
from plait.interpreters.batch import Frame, add_axis, batch, batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import instantiate
from plait.interpreters.linearize import Linearizer
from plait.ops.arithmetic import add, mul
from plait.regions.region import merge
from plait.regions.rules import (
    CustomCall,
    CustomOp,
    Marks,
    RaisingRule,
    Signature,
    SymbolicZero,
    captures_tracer,
    check_captured,
    check_results,
    is_pair,
    stage_flat,
    tracing_rule,
    zero_derivative,
)
from plait.regions.trace import describe_function, share_captures

# A rule on leaves: (primals, tangents or None) -> (results, tangents or None).
FlatRule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJvp(CustomOp):
    """Apply a Python function; its tangents come from a Python rule.

    Parameters: fun, rule, on leaves; name, for messages.
    """

    name = "custom_jvp"

    def stage(self, stager, xs, params):
        fun, rule, name = params["fun"], params["rule"], params["name"]
        if isinstance(stager, Linearizer):
            return tuple(fun(*xs))
        types = [type_of(x) for x in xs]
        traced = stage_flat(fun, types)
        program, captured = traced.program, traced.captured
        closed: FlatRule = Without(rule, len(captured))
        if captures_tracer(traced):
            # The rule may close over the same traced values; traced later, it could not use them.
            with tracing_rule(self.name, name) as refused:
                if refused:
                    closed = RaisingRule(refused)
                else:
                    programs, captured = share_captures([traced, _trace_rule(rule, types)])
                    program = programs[0]
                    closed = _ProgramRule(programs[1], len(program.outputs))
        return stager.emit(
            custom_jvp_call_p,
            [*captured, *xs],
            {"program": program, "rule": closed, "captured": len(captured), "name": name},
        )

    def jvp(self, xs, ts, *, fun, rule, name):
        return rule(xs, ts)

    def batch(self, frame, xs, mapped, *, fun, rule, name):
        marks = Marks(f"custom_jvp function {name}")
        rows = marks.rows(fun, mapped, frame)
        ys = self.bind(*xs, fun=rows, rule=_RowsRule(rule, mapped, frame, marks), name=name)
        return ys, marks.value


custom_jvp_p = register(CustomJvp())


class CustomJvpCall(CustomCall):
    """A function with a tangent rule in a Program: the function is a Program, the rule Python.

    Parameters: program; rule, on leaves; captured: how many operands, the first ones, are values
    that the function closed over.
    """

    name = "custom_jvp_call"

    def jvp(self, xs, ts, *, program, rule, captured, name):
        check_captured("custom_jvp", name, ts[:captured])
        ys, tangents = rule(xs, ts)
        check_results("custom_jvp", name, ys, program.out_types)
        return ys, tangents

    def batch(self, frame, xs, mapped, *, program, rule, captured, name):
        batched, out_mapped = batch_program(program, frame, tuple(mapped))
        marks = Marks(f"custom_jvp function {name}", out_mapped)
        rows = _RowsRule(rule, mapped, frame, marks)
        ys = self.bind(*xs, program=batched, rule=rows, captured=captured, name=name)
        return ys, out_mapped

    def samples(self):
        program = stage_closed(lambda x: [mul(x, x)], [ArrayType((3,), dtypes.float64)], name="f")

        def rule(xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            (x,), (t,) = xs, ts
            return [mul(x, x)], [mul(add(x, x), t)]

        yield (real(3),), {"program": program, "rule": rule, "captured": 0, "name": "f"}


custom_jvp_call_p = register(CustomJvpCall())


# --- rules on leaves


class Without:
    """A rule that takes no notice of the first operands: values that the function closed over."""

    def __init__(self, rule: FlatRule, captured: int):
        self.rule, self.captured = rule, captured

    def __call__(self, xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return self.rule(xs[self.captured :], ts[self.captured :])


def _trace_rule(rule: FlatRule, types: Sequence[ArrayType]) -> Any:
    """The rule as a Program of the operands and a tangent for each inexact one."""
    inexact = [t.dtype in dtypes.INEXACT for t in types]

    def flat(*args: Any) -> list[Any]:
        given = iter(args[len(types) :])
        ys, tangents = rule(args[: len(types)], [next(given) if i else None for i in inexact])
        return [
            *ys,
            *(
                zeros_like(y) if t is None else t
                for y, t in zip(ys, tangents, strict=True)
                if type_of(y).dtype in dtypes.INEXACT
            ),
        ]

    return stage_flat(flat, [*types, *(t for t, i in zip(types, inexact, strict=True) if i)])


class _ProgramRule:
    """A rule that was traced together with its function."""

    def __init__(self, program: Any, results: int):
        self.program, self.results = program, results

    def __call__(self, xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        n = len(self.program.inputs) - len(xs)
        tangents = [
            instantiate(x, t)
            for x, t in zip(xs, ts, strict=True)
            if type_of(x).dtype in dtypes.INEXACT
        ]
        # Tangents of captured values are not among the inputs.
        out = run_program(self.program, *xs, *tangents[len(tangents) - n :])
        ys = list(out[: self.results])
        inexact = [type_of(y).dtype in dtypes.INEXACT for y in ys]
        return ys, merge(inexact, out[self.results :], [None] * len(ys))


class _RowsRule:
    """A rule for all rows of a frame at once."""

    def __init__(self, rule: FlatRule, mapped: Sequence[bool], frame: Frame, marks: Marks):
        self.rule, self.mapped, self.frame, self.marks = rule, tuple(mapped), frame, marks

    def __call__(self, xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        n, size = len(xs), self.frame.size
        nonzero = [t is not None for t in ts]
        out_nonzero: list[bool] = []

        def flat(*args: Any) -> list[Any]:
            given = iter(args[n:])
            ys, tangents = self.rule(args[:n], [next(given) if nz else None for nz in nonzero])
            out_nonzero.extend(t is not None for t in tangents)
            return [*ys, *(t for t in tangents if t is not None)]

        t_mapped = [m for m, nz in zip(self.mapped, nonzero, strict=True) if nz]
        out, mapped = batch(
            flat, [*xs, *(t for t in ts if t is not None)], [*self.mapped, *t_mapped], self.frame
        )
        m = len(out_nonzero)
        tangents = merge(out_nonzero, out[m:], [None] * m)
        tangent_mapped = merge(out_nonzero, mapped[m:], [False] * m)
        # A result is one for each row if its tangent is.
        joined = [a or b for a, b in zip(mapped[:m], tangent_mapped, strict=True)]
        ys = [
            add_axis(y, size) if want and not have else y
            for y, have, want in zip(out[:m], mapped[:m], joined, strict=True)
        ]
        ys = self.marks.fix(ys, joined, size)
        assert self.marks.value is not None
        return ys, [
            add_axis(t, size) if t is not None and want and not have else t
            for t, have, want in zip(tangents, tangent_mapped, self.marks.value, strict=True)
        ]


# --- what users call


class custom_jvp:
    """A function with a rule for its tangents, which all transformations use.

    `defjvp(rule)`, with rule(primals, tangents) -> (result, tangent), or `defjvps(...)` gives the
    rule. Arguments named in nondiff_argnums (or nondiff_argnames) have no derivative and may be
    anything; the rule gets them first: rule(*nondiff, primals, tangents).

    >>> @plait.custom_jvp
    ... def f(x): return jnp.log1p(jnp.exp(x))
    >>> rule = f.defjvp(lambda xs, ts: (f(*xs), ts[0] * plait.nn.sigmoid(xs[0])))
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ):
        if not callable(fun):
            raise ArgumentTypeError("takes a function", op="custom_jvp", fun=fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.signature = Signature(fun, "custom_jvp", nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self.signature.nondiff
        self.jvp: Callable[..., tuple[Any, Any]] | None = None
        self.symbolic_zeros = False

    def defjvp(
        self, jvp: Callable[..., tuple[Any, Any]], symbolic_zeros: bool = False
    ) -> Callable[..., tuple[Any, Any]]:
        """Give the rule: jvp(*nondiff, primals, tangents) -> (result, tangent); returns it.

        primals and tangents are tuples; zero tangents are arrays of zeros, or SymbolicZero objects
        with symbolic_zeros; those of integers have dtype float0.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule for each argument: rule(t, result, *primals) -> its part of the tangent.

        None stands for a derivative that is zero.
        """
        if self.nondiff_argnums:
            raise ArgumentTypeError(
                "defjvps does not go with nondiff_argnums",
                op="custom_jvp",
                function=self.signature.where,
                nondiff_argnums=self.nondiff_argnums,
                fix="use defjvp",
            )

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise ArgumentTypeError(
                    "defjvps needs a rule, or None, for each argument: there are "
                    f"{several(len(jvps), 'rule')} for {several(len(primals), 'argument')}",
                    op="custom_jvp",
                    function=self.signature.where,
                )
            y = self(*primals)
            leaves, shape = flatten(y)
            total: list[Any] = [None] * len(leaves)
            for rule, t in zip(jvps, tangents, strict=True):
                if rule is None:
                    continue
                part, part_shape = flatten(rule(t, y, *primals))
                if part_shape != shape:
                    raise structure_error(
                        "a rule of defjvps must return a tangent of the result's structure",
                        ("result", shape),
                        ("tangent", part_shape),
                        "custom_jvp",
                        f"let {describe_function(rule)} return the result's containers",
                    )
                total = [p if s is None else add(s, p) for s, p in zip(total, part, strict=True)]
            filled = [or_zeros(t, type_of(v).tangent()) for v, t in zip(leaves, total, strict=True)]
            return y, shape.unflatten(filled)

        self.defjvp(jvp)

    def __repr__(self) -> str:
        return f"<custom_jvp of {function_name(self.fun)}>"

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"custom_jvp: {self.signature.where} has no rule yet; give it one with defjvp"
            )
        args = self.signature.positional(args, kwargs)
        diff, fixed = self.signature.divide(args)
        leaves, shape = self.signature.leaves(diff)
        call = _Call(self, shape, fixed, len(args))
        name = function_name(self.fun)
        ys = custom_jvp_p.bind(*leaves, fun=call.fun, rule=call.rule, name=name)
        assert call.out is not None
        return call.out.unflatten(ys)


class _Call:
    """One call of a custom_jvp function: the function and its rule on leaves."""

    def __init__(self, owner: custom_jvp, shape: PyTreeDef, fixed: tuple[Any, ...], total: int):
        # Not the owner itself: Programs hold this, and tables kept with the owner hold Programs.
        self.signature, self.symbolic_zeros = owner.signature, owner.symbolic_zeros
        self.user_rule: Any = owner.jvp
        self.shape, self.fixed, self.total = shape, fixed, total
        self.out: PyTreeDef | None = None

    def fun(self, *xs: Any) -> list[Any]:
        args = self.signature.join(self.shape.unflatten(xs), self.fixed, self.total)
        y = self.signature.function(*args)
        ys, self.out = flatten(y)
        for k, leaf in enumerate(ys):
            if not is_array(leaf):
                raise ArgumentTypeError(
                    f"the function returns {an(type(leaf).__name__)}{_at(y, k)}, not an array",
                    op="custom_jvp",
                    function=self.signature.where,
                )
        return ys

    def rule(self, xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        tangents = [self._tangent(type_of(x), t) for x, t in zip(xs, ts, strict=True)]
        result = self.user_rule(
            *self.fixed, self.shape.unflatten(xs), self.shape.unflatten(tangents)
        )
        if not is_pair(result):
            raise self._error("the rule must return a pair (result, tangent)", returns=result)
        y, ty = result
        ys, shape = flatten(y)
        out, t_shape = flatten(ty)
        if shape != t_shape:
            raise structure_error(
                "the rule's result and tangent must have one structure",
                ("result", shape),
                ("tangent", t_shape),
                "custom_jvp",
                f"let the rule of {self.signature.where} return the same containers twice",
            )
        if self.out is not None and self.out != shape:
            raise structure_error(
                "the rule's result must have the structure of the function's",
                ("function", self.out),
                ("rule", shape),
                "custom_jvp",
                f"let the rule of {self.signature.where} return the same containers",
            )
        self.out = shape
        return ys, [self._checked(a, t, y, k) for k, (a, t) in enumerate(zip(ys, out, strict=True))]

    def _tangent(self, type: ArrayType, t: Any) -> Any:
        if t is not None:
            return t
        if self.symbolic_zeros:
            return SymbolicZero(type.tangent())
        return zero_derivative(type)

    def _checked(self, y: Any, t: Any, tree: Any, k: int) -> Any:
        """The tangent of one leaf, None for zero. Raises if its type is not that of the leaf."""
        if not is_array(y):
            raise self._error(f"the rule's result{_at(tree, k)} is not an array", result=y)
        want = type_of(y)
        if isinstance(t, SymbolicZero) or want.dtype not in dtypes.INEXACT:
            return None
        if not is_array(t):
            raise self._error(f"the rule's tangent{_at(tree, k)} is not an array", tangent=t)
        have = type_of(t)
        if have.shape != want.shape or have.dtype != want.dtype:
            kind = ShapeError if have.shape != want.shape else DtypeError
            raise kind(
                f"the rule's tangent{_at(tree, k)} must have the type of the result",
                op="custom_jvp",
                function=self.signature.where,
                result=want,
                tangent=have,
            )
        return t

    def _error(self, summary: str, **given: Any) -> ArgumentTypeError:
        return ArgumentTypeError(summary, op="custom_jvp", function=self.signature.where, **given)


def _at(tree: Any, k: int) -> str:
    """Where leaf number k of a result is."""
    place = leaf_names(tree, "")[k]
    return f" at {place}" if place else ""


__all__ = ["custom_jvp", "custom_jvp_call_p", "custom_jvp_p"]
