"""Ops that programs for JAX make for themselves, with rules kept in JAX's tables.

The rules of JAX and of plait differ in form only: a zero tangent is a Zero there and None here, a
batch axis may be at any place there and is the first here, and the operand in which an op is linear
is an UndefinedPrimal, which is LinearOperand under another name.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import numpy as np

from plait.core.context import context, outside
from plait.core.primitive import LinearOperand, zeros_of
from plait.core.primitive import Primitive as Op
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentTypeError, MissingRuleError
from plait.hlo.module import lower_program
from plait.interpreters.batch import Frame, add_axis
from plait.interpreters.closed import stage_closed
from plait.ops.axes import permute
from plait.tree_util import register_pytree_node


class Zero:
    """The zero tangent or cotangent of a type, in rules."""

    __slots__ = ("aval",)

    def __init__(self, aval: ArrayType):
        self.aval = aval

    @staticmethod
    def from_primal_value(x: Any) -> Zero:
        """The zero tangent of a value."""
        return Zero(type_of(x).tangent())

    def instantiate(self) -> Any:
        """An array of zeros."""
        return zeros_of(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


UndefinedPrimal = LinearOperand
register_pytree_node(Zero, lambda z: ((), z.aval), lambda aval, _: Zero(aval))
register_pytree_node(LinearOperand, lambda u: ((), u.type), lambda type, _: LinearOperand(type))


def _or_zero(t: Any, type: ArrayType) -> Any:
    return Zero(type.tangent()) if t is None else t


def _or_none(t: Any) -> Any:
    return None if isinstance(t, Zero) else t


# --- the tables


class Table(MutableMapping):
    """A question that ops answer, as a dictionary from ops to rules in JAX's form.

    plait's own ops answer it in plait's form, which `adapt` turns into JAX's. Their rules cannot be
    replaced: they are methods of their classes. One that an op lacks may be given.
    """

    def __init__(self, question: str, adapt: Callable[[Op], Callable[..., Any]]):
        self.question, self.adapt = question, adapt
        self.rules: dict[Op, Callable[..., Any]] = {}

    def __getitem__(self, op: Op) -> Callable[..., Any]:
        if op in self.rules:
            return self.rules[op]
        if isinstance(op, Primitive):
            raise KeyError(op)
        return self.adapt(op)

    def __setitem__(self, op: Op, rule: Callable[..., Any]) -> None:
        if not isinstance(op, Primitive):
            given = getattr(Primitive, self.question)
            if isinstance(op, Op) and getattr(type(op), self.question) is getattr(
                Op, self.question
            ):
                setattr(op, self.question, types.MethodType(given, op))
                self.rules[op] = rule
                return
            raise ArgumentTypeError(
                f"the {self.question} rule of an op of plait's cannot be replaced",
                op=getattr(op, "name", None),
                fix="make a Primitive of your own",
            )
        self.rules[op] = rule

    def __delitem__(self, op: Op) -> None:
        del self.rules[op]

    def __contains__(self, op: object) -> bool:
        return op in self.rules or (isinstance(op, Op) and not isinstance(op, Primitive))

    def __iter__(self) -> Iterator[Op]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


def _jvp_of(op: Op) -> Callable[..., Any]:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        ys, ts = op.jvp(primals, [_or_none(t) for t in tangents], **params)
        if not op.multiple_results:
            return ys, _or_zero(ts, type_of(ys))
        return list(ys), [_or_zero(t, type_of(y)) for y, t in zip(ys, ts, strict=True)]

    return rule


def _transpose_of(op: Op) -> Callable[..., Any]:
    def rule(ct: Any, *xs: Any, **params: Any) -> Any:
        ct = [_or_none(c) for c in ct] if op.multiple_results else _or_none(ct)
        return list(op.transpose(ct, *xs, **params))

    return rule


def _batch_of(op: Op) -> Callable[..., Any]:
    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        xs = [x if d is None else to_front(x, d) for x, d in zip(args, dims, strict=True)]
        sizes = [type_of(x).shape[0] for x, d in zip(xs, dims, strict=True) if d is not None]
        mapped = [d is not None for d in dims]
        ys, ms = op.batch(Frame(None, sizes[0]), xs, mapped, **params)
        if not op.multiple_results:
            return ys, 0 if ms else None
        return list(ys), [0 if m else None for m in ms]

    return rule


primitive_jvps = Table("jvp", _jvp_of)
primitive_transposes = Table("transpose", _transpose_of)
primitive_batchers = Table("batch", _batch_of)
# A rule here also takes the size and name of the axis, in front.
axis_primitive_batchers: dict[Op, Callable[..., Any]] = {}
fancy_primitive_batchers: dict[Op, Callable[..., Any]] = {}
lowerings: dict[Op, Callable[..., Any]] = {}


def to_front(x: Any, axis: int) -> Any:
    """x with an axis moved to the first place."""
    ndim = type_of(x).ndim
    axis %= ndim
    return x if axis == 0 else permute(x, (axis, *(a for a in range(ndim) if a != axis)))


class LoweredFunction:
    """A lowering rule that says: do what this function of arrays does."""

    def __init__(self, function: Callable[..., Any], multiple_results: bool):
        self.function, self.multiple_results = function, multiple_results

    def __call__(self, *args: Any, **params: Any) -> Any:
        raise ArgumentTypeError(
            "a lowering rule is called by plait alone", op="jax.interpreters.mlir.lower_fun"
        )


class AxisData:
    """The axis of a batching rule: its name and size."""

    def __init__(self, frame: Frame):
        self.name, self.size, self.spmd_name = frame.name, frame.size, None
        self.explicit_mesh_axis = None


class Primitive(Op):
    """An op of a program's own: a name, to which rules are given one after the other."""

    def __init__(self, name: str):
        self.name = name
        self.impl: Callable[..., Any] | None = None
        self.abstract_eval: Callable[..., Any] | None = None
        self.effectful = False

    # --- JAX's ways to give rules

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """What it computes, for actual arrays."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The types of its results from those of its operands."""
        self.abstract_eval = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """(types of the results, effects): the op is neither dropped, merged nor reordered."""
        self.abstract_eval, self.effectful, self.has_effects = rule, True, True
        return rule

    # --- plait's questions

    def type(self, *types, **params):
        if self.abstract_eval is None:
            raise self.unanswered("abstract evaluation", "def_abstract_eval")
        out = self.abstract_eval(*types, **params)
        if self.effectful:
            out, _ = out
        if self.multiple_results:
            return tuple(ArrayType(t.shape, t.dtype, getattr(t, "weak_type", False)) for t in out)
        return ArrayType(out.shape, out.dtype, getattr(out, "weak_type", False))

    def evaluate(self, xs, params):
        if self.impl is None:
            raise self.unanswered("evaluation", "def_impl")
        ys = self.impl(*xs, **params)
        return tuple(ys) if self.multiple_results else ys

    def numpy(self, *xs, **params):
        with outside():
            ys = self.evaluate(xs, params)
        return tuple(map(np.asarray, ys)) if self.multiple_results else np.asarray(ys)

    def jvp(self, xs, ts, **params):
        rule = primitive_jvps.rules.get(self)
        if rule is None:
            raise self.unanswered("differentiation", "jax.interpreters.ad.primitive_jvps")
        tangents = [_or_zero(t, type_of(x)) for x, t in zip(xs, ts, strict=True)]
        ys, out = rule(xs, tangents, **params)
        if not self.multiple_results:
            return ys, _or_none(out)
        return tuple(ys), tuple(map(_or_none, out))

    def transpose(self, ct, *xs, **params):
        rule = primitive_transposes.rules.get(self)
        if rule is None:
            raise self.unanswered("transposition", "jax.interpreters.ad.primitive_transposes")
        if self.multiple_results:
            types: Any = self.type(*map(type_of, xs), **params)
            ct = [_or_zero(c, t) for c, t in zip(ct, types, strict=True)]
        return [_or_none(c) for c in rule(ct, *xs, **params)]

    def batch(self, frame, xs, mapped, **params):
        dims = [0 if m else None for m in mapped]
        if self in fancy_primitive_batchers:
            ys, out = fancy_primitive_batchers[self](AxisData(frame), xs, dims, **params)
        elif self in axis_primitive_batchers:
            rule = axis_primitive_batchers[self]
            ys, out = rule(frame.size, frame.name, None, xs, dims, **params)
        elif self in primitive_batchers.rules:
            ys, out = primitive_batchers.rules[self](xs, dims, **params)
        else:
            raise self.unanswered("batching", "jax.interpreters.batching.primitive_batchers")
        if not self.multiple_results:
            return (ys if out is None else to_front(ys, out)), out is not None
        if out is None or isinstance(out, int):
            out = [out] * len(ys)
        moved = [y if d is None else to_front(y, d) for y, d in zip(ys, out, strict=True)]
        return tuple(moved), tuple(d is not None for d in out)

    def lower(self, b, *xs, **params):
        rule = lowerings.get(self)
        if not isinstance(rule, LoweredFunction):
            raise MissingRuleError(
                "this op has no lowering that plait can use",
                op=self.name,
                fix="jax.interpreters.mlir.register_lowering(primitive, mlir.lower_fun(function)): "
                "plait writes StableHLO as text and takes no rules that build MLIR objects",
            )

        def run(*values: Any) -> Sequence[Any]:
            ys = rule.function(*values, **params)
            return ys if rule.multiple_results else (ys,)

        with outside():
            program = stage_closed(run, [ArrayType(x.shape, x.dtype) for x in xs], name=self.name)
        ys = lower_program(b, program, xs)
        return ys if self.multiple_results else ys[0]

    def unanswered(self, question: str, table: str) -> MissingRuleError:
        """The error for a rule that was not given."""
        return MissingRuleError(
            f"this op has no rule for {question}", op=self.name, fix=f"give it one by {table}"
        )


# --- JAX's short forms of rules


def defjvp(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """A rule for each operand: (tangent, *operands, **params) -> its part of the tangent."""
    defjvp2(
        primitive,
        *(
            None if rule is None else lambda t, y, *xs, rule=rule, **params: rule(t, *xs, **params)
            for rule in rules
        ),
    )


def defjvp2(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """A rule for each operand: (tangent, result, *operands, **params) -> its part."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        parts = [
            rule(t, y, *primals, **params)
            for rule, t in zip(rules, tangents, strict=True)
            if rule is not None and not isinstance(t, Zero)
        ]
        if not primitive.multiple_results:
            return y, sum_tangents(parts, type_of(y))
        columns = zip(*parts, strict=True) if parts else [()] * len(y)
        return y, [sum_tangents(c, type_of(v)) for c, v in zip(columns, y, strict=True)]

    primitive_jvps[primitive] = jvp


def sum_tangents(parts: Sequence[Any], type: ArrayType) -> Any:
    """The sum, or a Zero."""
    total: Any = Zero(type.tangent())
    for part in parts:
        total = add_tangents(total, part)
    return total


def add_tangents(a: Any, b: Any) -> Any:
    """The sum of two tangents, either of which may be a Zero."""
    from plait.ops.arithmetic import add

    if isinstance(a, Zero):
        return b
    return a if isinstance(b, Zero) else add(a, b)


def deflinear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """An op linear in all operands: (cotangent, **params) -> cotangents of the operands."""
    deflinear2(primitive, lambda ct, *_, **params: transpose(ct, **params))


def deflinear2(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """An op linear in all operands: (cotangent, *operands, **params) -> their cotangents."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        if all(isinstance(t, Zero) for t in tangents):
            zeros = [Zero.from_primal_value(v) for v in (y if primitive.multiple_results else [y])]
            return y, zeros if primitive.multiple_results else zeros[0]
        return y, primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def defbilinear(primitive: Primitive, left: Callable[..., Any], right: Callable[..., Any]) -> None:
    """An op linear in each of two operands: left(ct, x, y) and right(ct, x, y) transpose it."""
    defjvp(
        primitive,
        lambda t, x, y, **params: primitive.bind(t, y, **params),
        lambda t, x, y, **params: primitive.bind(x, t, **params),
    )

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if isinstance(ct, Zero):
            return [None, None]
        if isinstance(x, UndefinedPrimal):
            return [left(ct, x, y, **params), None]
        return [None, right(ct, x, y, **params)]

    primitive_transposes[primitive] = transpose


def instantiate_zeros(t: Any) -> Any:
    """A tangent, with an array of zeros for a Zero."""
    return t.instantiate() if isinstance(t, Zero) else t


def defvectorized(primitive: Primitive) -> None:
    """An op that works element by element on operands of one shape."""

    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        (size,) = {type_of(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None}
        xs = [
            add_axis(x, size) if d is None else to_front(x, d)
            for x, d in zip(args, dims, strict=True)
        ]
        y = primitive.bind(*xs, **params)
        return y, [0] * len(y) if primitive.multiple_results else 0

    primitive_batchers[primitive] = rule


def apply_primitive(primitive: Op, *args: Any, **params: Any) -> Any:
    """Compile an op and run it: what an op without an implementation of its own does at once."""
    from plait.transforms.jit import jit

    return jit(lambda *xs: primitive.bind(*xs, **params))(*args)


def current() -> Any:
    """The running interpreter."""
    return context.interpreter
