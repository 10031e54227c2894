"""checkpoint: compute again in the backward pass instead of keeping; and what says what to keep."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from plait.config import state
from plait.core import dtypes
from plait.core.context import context, running
from plait.core.primitive import LinearOperand, Primitive, register
from plait.core.program import Atom, Equation, Program, Var, reference, run_program
from plait.core.sample import integers, real
from plait.core.tracebacks import trimmed
from plait.core.tree import flatten, leaf_names
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, an
from plait.hlo.module import call_program
from plait.interpreters.batch import batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import jvp_program
from plait.interpreters.simplify import drop_dead
from plait.interpreters.split import Split, split_program
from plait.interpreters.transpose import backward
from plait.ops.arithmetic import mul
from plait.ops.functions import sin
from plait.regions.call import call_p
from plait.regions.region import Region, check_operands, merge, partition
from plait.regions.trace import check_function, describe_function, trace

# Says of an op in the forward pass whether its results are kept: policy(op, *types, **params).
Policy = Callable[..., Any]


class OptimizationBarrier(Primitive):
    """Its operands, of which the compiler does not see where they come from."""

    name = "optimization_barrier"
    multiple_results = True

    def type(self, *xs):
        return xs

    def numpy(self, *xs):
        return xs

    def jvp(self, xs, ts):
        nonzero = [t is not None for t in ts]
        tangents = self.bind(*(t for t in ts if t is not None))
        return self.bind(*xs), merge(nonzero, tangents, [None] * nonzero.count(False))

    def transpose(self, cts, *xs):
        nonzero = [c is not None for c in cts]
        pulled = self.bind(*(c for c in cts if c is not None))
        return merge(nonzero, pulled, [None] * nonzero.count(False))

    def batch(self, frame, xs, mapped):
        return self.bind(*xs), mapped

    def lower(self, b, *xs):
        return b.optimization_barrier(xs)

    def variance(self, varying, params, analyse):
        return varying

    def samples(self):
        yield (real(2, 3), real(4)), {}
        yield (integers(4),), {}


optimization_barrier_p = register(OptimizationBarrier())


def optimization_barrier(operand: Any) -> Any:
    """A tree of arrays, unchanged; what is computed before and after it is not merged or moved.

    >>> lax.optimization_barrier((jnp.float32(1.0), jnp.float32(2.0)))
    (Array(1., dtype=float32), Array(2., dtype=float32))
    """
    leaves, shape = flatten(operand)
    for k, x in enumerate(leaves):
        if not is_array(x):
            op, kind = "optimization_barrier", an(type(x).__name__)
            name = leaf_names(operand, "operand")[k]
            raise ArgumentTypeError(f"{name} is not an array: it is {kind}", op=op)
    return shape.unflatten(optimization_barrier_p.bind(*leaves)) if leaves else operand


class Name(Primitive):
    """x itself, under a name for policies."""

    name = "name"

    def evaluate(self, xs, params):
        return xs[0]

    def type(self, x, *, name):
        return x

    def numpy(self, x, *, name):
        return x

    def jvp(self, xs, ts, *, name):
        return self.bind(*xs, name=name), ts[0]

    def transpose(self, ct, x, *, name):
        return (ct,)

    def batch(self, frame, xs, mapped, *, name):
        return self.bind(*xs, name=name), True

    def lower(self, b, x, *, name):
        return x

    def samples(self):
        yield (real(2, 3),), {"name": "x"}
        yield (integers(4),), {"name": "x"}


name_p = register(Name())


def checkpoint_name(x: Any, name: str) -> Any:
    """A tree of arrays, unchanged, named for checkpoint_policies.save_only_these_names and kin.

    >>> from plait.ad_checkpoint import checkpoint_name
    >>> policy = plait.checkpoint_policies.save_only_these_names("wide")
    >>> f = plait.checkpoint(lambda x: jnp.sin(checkpoint_name(x * x, "wide")), policy=policy)
    >>> plait.grad(f)(1.0).round(4)
    Array(1.0806, dtype=float32, weak_type=True)
    """
    if not isinstance(name, str):
        raise ArgumentTypeError("the name must be a string", op="checkpoint_name", name=name)
    leaves, shape = flatten(x)
    return shape.unflatten([name_p.bind(leaf, name=name) for leaf in leaves])


class Checkpoint(Region):
    """Apply a Program; reverse mode keeps its operands, and computes the rest again.

    Parameters: program; policy, which results of ops are kept all the same (None: none);
    prevent_cse, whether the compiler must be kept from merging the two computations.
    """

    name = "checkpoint"

    def type(self, *types, program, policy, prevent_cse):
        check_operands(program, types)
        return program.out_types

    def numpy(self, *xs, program, policy, prevent_cse):
        return reference(program, *xs)

    def jvp(self, xs, ts, *, program, **rest):
        nonzero = tuple(t is not None for t in ts)
        pushed, out_nonzero = jvp_program(program, nonzero)
        out = self.bind(*xs, *(t for t in ts if t is not None), program=pushed, **rest)
        n = len(program.outputs)
        return out[:n], merge(out_nonzero, out[n:], [None] * n)

    def split(self, linearizer, xs, linear, params):
        program, policy = params["program"], params["policy"]
        linear = tuple(linear)
        plan = program.derived(
            ("checkpoint plan", linear, policy), lambda: _plan(program, linear, policy)
        )
        tangents, known = partition(linear, xs)
        with running(linearizer.parent):
            out: Sequence[Any] = ()
            if plan.known.outputs:
                out = self.bind(*known, **{**params, "program": plan.known})
        n = len(out) - plan.saved
        operands = [*(known[k] for k in plan.used), *out[n:], *tangents]
        pushed = linearizer.emit(self, operands, {**params, "program": plan.linear})
        return merge(plan.out_linear, pushed, out[:n])

    def transpose(self, cts, *xs, program, policy, prevent_cse):
        linear = tuple(isinstance(x, LinearOperand) for x in xs)
        nonzero = tuple(c is not None for c in cts)
        key = ("checkpoint transpose", linear, nonzero, prevent_cse)
        back, marks = program.derived(
            key, lambda: _backwards(program, linear, nonzero, prevent_cse)
        )
        _, known = partition(linear, xs)
        out = self.bind(
            *(*known, *(c for c in cts if c is not None)),
            program=back,
            policy=policy,
            prevent_cse=prevent_cse,
        )
        pulled = merge(marks, out, [None] * len(marks))
        return merge(linear, pulled, [None] * len(known))

    def batch(self, frame, xs, mapped, *, program, **rest):
        batched, out_mapped = batch_program(program, frame, tuple(mapped))
        return self.bind(*xs, program=batched, **rest), out_mapped

    def lower(self, b, *xs, program, policy, prevent_cse):
        return call_program(b, program, xs)

    def variance(self, varying, params, analyse):
        return analyse(params["program"], varying)

    def samples(self):
        types = [ArrayType((3,), dtypes.float64)] * 2
        program = stage_closed(lambda x, y: [mul(sin(mul(x, y)), y), x], types, name="f")
        for policy in (None, everything_saveable):
            yield (
                (real(3), 1 + real(3)),
                {"program": program, "policy": policy, "prevent_cse": True},
            )


checkpoint_p = register(Checkpoint())


class _Plan(NamedTuple):
    """A checkpoint cut in two.

    known: known operands -> known results, then what is saved. linear: the operands in `used`, what
    is saved, tangents -> tangents; it computes the rest of what it needs again.
    """

    known: Program
    linear: Program
    used: tuple[int, ...]
    saved: int
    out_linear: tuple[bool, ...]


def _plan(program: Program, linear: tuple[bool, ...], policy: Policy | None) -> _Plan:
    if policy is not None:
        # What is computed inside of a jitted function may be kept, too.
        program = inline_calls(program)
    halves = split_program(program, linear)
    known = halves.known
    first = len(known.outputs) - halves.residuals
    kept = _kept(known, policy)
    again, saved, used = _needed(halves, kept)
    inputs = [known.inputs[k] for k in used]
    recompute = Program([*inputs, *saved], again, known.outputs[first:], known.name)
    n = len(recompute.inputs)

    def run(*xs: Any) -> Sequence[Any]:
        return run_program(halves.linear, *run_program(recompute, *xs[:n]), *xs[n:])

    tangents = halves.linear.in_types[halves.residuals :]
    made = stage_closed(run, [*recompute.in_types, *tangents], name=halves.linear.name)
    results = [*known.outputs[:first], *saved]
    forward = drop_dead(Program(known.inputs, known.equations, results, known.name, known.names))
    return _Plan(forward, made, tuple(used), len(saved), halves.out_linear)


def _kept(program: Program, policy: Policy | None) -> set[Var]:
    """The values of a Program that a policy keeps."""
    kept: set[Var] = set()
    if policy is not None:
        for eqn in program.equations:
            if policy(eqn.op, *(a.type for a in eqn.inputs), **eqn.params):
                kept.update(eqn.outputs)
    return kept


def _needed(halves: Split, kept: set[Var]) -> tuple[list[Equation], list[Var], list[int]]:
    """(equations to compute again, values to save, positions of known inputs) for the residuals."""
    known = halves.known
    made_by = {v: eqn for eqn in known.equations for v in eqn.outputs}
    places = {v: k for k, v in enumerate(known.inputs)}
    saved: dict[Var, None] = {}
    used: set[int] = set()
    again: set[int] = set()
    waiting = list(known.outputs[len(known.outputs) - halves.residuals :])
    while waiting:
        atom = waiting.pop()
        if type(atom) is not Var:
            continue
        if atom in places:
            used.add(places[atom])
        elif atom in kept:
            saved[atom] = None
        elif id(eqn := made_by[atom]) not in again:
            again.add(id(eqn))
            waiting.extend(eqn.inputs)
    equations = [eqn for eqn in known.equations if id(eqn) in again]
    # An equation may be computed again for one result, and another of its results be saved.
    computed = {v for eqn in equations for v in eqn.outputs}
    return equations, [v for v in saved if v not in computed], sorted(used)


def _backwards(
    program: Program, linear: tuple[bool, ...], nonzero: tuple[bool, ...], prevent_cse: bool
) -> tuple[Program, tuple[bool, ...]]:
    """The Program that computes forwards, then backwards, and which cotangents it gives.

    It takes the known operands, then the cotangents of the results that have one.
    """
    halves = split_program(program, linear)
    lin_types, known_types = partition(linear, program.in_types)
    ct_types, _ = partition(nonzero, program.out_types)
    marks: list[bool] = []

    def run(*xs: Any) -> list[Any]:
        if prevent_cse and xs:
            # Nothing is computed again before the cotangents are there, nor taken from the forward
            # pass.
            xs = optimization_barrier_p.bind(*xs)
        given = iter(xs[len(known_types) :])
        cts, _ = partition(halves.out_linear, [next(given) if nz else None for nz in nonzero])
        out = run_program(halves.known, *xs[: len(known_types)])
        residuals = out[len(out) - halves.residuals :]
        operands = [*residuals, *map(LinearOperand, lin_types)]
        pulled = backward(halves.linear, operands, cts)[len(residuals) :]
        marks.extend(c is not None for c in pulled)
        return [c for c in pulled if c is not None]

    made = stage_closed(run, [*known_types, *ct_types], name=f"transpose_{program.name}")
    return made, tuple(marks)


def inline_calls(program: Program) -> Program:
    """The Program with the equations of jitted functions in place of their calls."""
    if not any(eqn.op is call_p for eqn in program.equations):
        return program

    def make() -> Program:
        def run(*xs: Any) -> Sequence[Any]:
            return _run_inline(program, xs)

        return stage_closed(run, program.in_types, name=program.name)

    return program.derived("inline calls", make)


def _run_inline(program: Program, xs: Sequence[Any]) -> Sequence[Any]:
    env: dict[Var, Any] = dict(zip(program.inputs, xs, strict=True))
    before = context.source

    def value(atom: Atom) -> Any:
        return env[atom] if isinstance(atom, Var) else atom.operand

    try:
        for eqn in program.equations:
            operands = [value(a) for a in eqn.inputs]
            context.source = eqn.source
            if eqn.op is call_p:
                ys = _run_inline(eqn.params["program"], operands)
            else:
                out = eqn.op.bind(*operands, **eqn.params)
                ys = out if eqn.op.multiple_results else (out,)
            env.update(zip(eqn.outputs, ys, strict=True))
        return [value(a) for a in program.outputs]
    finally:
        context.source = before


# --- what users call


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    concrete: bool = False,
) -> Callable[..., Any]:
    """A function that does what fun does, and of which reverse mode keeps the arguments only.

    What the derivative needs is computed again in the backward pass: less memory, more work.
    policy: which results are kept all the same, one of `plait.checkpoint_policies`, or a function
    (op, *types, **params) -> bool. prevent_cse=False: leave out what keeps the compiler from
    merging the two computations; right inside of scan, where it cannot. static_argnums and
    static_argnames: arguments that are Python values, hashable. `concrete` has no effect.
    Raises: ArgumentTypeError, ArgumentError.

    >>> layer = plait.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> plait.grad(layer)(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    op = "checkpoint"
    check_function(fun, op, "the first argument")
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    named = _positions(fun, names)

    @trimmed
    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        static = _static(fun, (*numbers, *(k for k in named if k < len(args))), args)
        dynamic = tuple(a for k, a in enumerate(args) if k not in static)
        by_name = {n: kwargs.pop(n) for n in names if n in kwargs}
        for name, value in by_name.items():
            _check_hashable(fun, name, value)
        leaves, shape = flatten((dynamic, kwargs))
        for k, x in enumerate(leaves):
            if not is_array(x):
                raise ArgumentTypeError(
                    f"{_names(dynamic, kwargs)[k]} is not an array: it is a {type(x).__name__}",
                    op=op,
                    function=describe_function(fun),
                    fix="name arguments that are not arrays in static_argnums or static_argnames",
                )
        if state.disable_jit:
            return fun(*args, **kwargs, **by_name)

        def call(dynamic: Any, kwargs: Any) -> Any:
            rest = iter(dynamic)
            full = [static[k] if k in static else next(rest) for k in range(len(args))]
            return fun(*full, **kwargs, **by_name)

        traced = trace(
            fun,
            shape,
            [type_of(x) for x in leaves],
            op=op,
            label="the function",
            call=call,
            key=(len(args), tuple(static.items()), tuple(by_name.items())),
            names=lambda: _names(dynamic, kwargs),
        )
        out = checkpoint_p.bind(
            *traced.captured,
            *leaves,
            program=traced.program,
            policy=policy,
            prevent_cse=prevent_cse,
        )
        return traced.out.unflatten(out)

    return checkpointed


def _static(fun: Callable[..., Any], numbers: Sequence[int], args: Sequence[Any]) -> dict[int, Any]:
    """The static arguments by position. Raises for positions and values that cannot be used."""
    n = len(args)
    static = {}
    for k in numbers:
        if not -n <= k < n:
            raise ArgumentError(
                f"static_argnums names argument {k}, the call has {n} positional ones",
                op="checkpoint",
                function=describe_function(fun),
            )
        _check_hashable(fun, k, args[k % n])
        static[k % n] = args[k % n]
    return static


def _check_hashable(fun: Callable[..., Any], which: int | str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise ArgumentTypeError(
            f"the static argument {which} is not hashable: it is a {type(value).__name__}",
            op="checkpoint",
            function=describe_function(fun),
            fix="pass a tuple or a frozen dataclass, or bind it with functools.partial",
        ) from None


def _positions(fun: Callable[..., Any], names: Sequence[str]) -> list[int]:
    """Where arguments of these names stand if they are passed by position."""
    if not names:
        return []
    parameters = list(inspect.signature(fun).parameters.values())
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    found = {p.name: k for k, p in enumerate(parameters) if p.kind is not p.KEYWORD_ONLY}
    for name in names:
        if name not in {p.name for p in parameters} and not takes_any:
            raise ArgumentError(
                f"static_argnames names {name!r}, but the function has no such argument",
                op="checkpoint",
                function=describe_function(fun),
                has=", ".join(p.name for p in parameters),
            )
    return [found[name] for name in names if name in found]


def _names(args: Any, kwargs: dict[str, Any]) -> list[str]:
    names = [n for k, a in enumerate(args) for n in leaf_names(a, f"args[{k}]")]
    return [*names, *(n for k in sorted(kwargs) for n in leaf_names(kwargs[k], k))]


# --- policies

_DOTS = ("dot_general", "conv_general_dilated")


def everything_saveable(op: Primitive, *types: Any, **params: Any) -> bool:
    """Keep the results of all ops."""
    return True


def nothing_saveable(op: Primitive, *types: Any, **params: Any) -> bool:
    """Compute everything again."""
    return False


def dots_saveable(op: Primitive, *types: Any, **params: Any) -> bool:
    """Keep the results of products of matrices and of convolutions."""
    return op.name in _DOTS


def dots_with_no_batch_dims_saveable(op: Primitive, *types: Any, **params: Any) -> bool:
    """Keep the results of products of matrices without batch axes: those with weights."""
    return op.name == "dot_general" and not any(params["dimension_numbers"][1])


def save_only_these_names(*names: str) -> Policy:
    """Keep what checkpoint_name gave one of these names."""
    return _ByName(frozenset(names), named=True, unnamed=False)


def save_any_names_but_these(*names: str) -> Policy:
    """Keep what checkpoint_name named, except under these names."""
    return _ByName(frozenset(names), named=False, unnamed=False)


def save_anything_except_these_names(*names: str) -> Policy:
    """Keep the results of all ops, except what checkpoint_name gave one of these names."""
    return _ByName(frozenset(names), named=False, unnamed=True)


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """Keep what one of two policies keeps."""
    return _Both(first, second)


class _ByName(NamedTuple):
    """Keep by name.

    named: whether the names listed are kept, the others not, or the other way round; unnamed:
    whether the results of other ops are kept.
    """

    names: frozenset
    named: bool
    unnamed: bool

    def __call__(self, op: Primitive, *types: Any, **params: Any) -> bool:
        if op is not name_p:
            return self.unnamed
        return (params["name"] in self.names) == self.named


class _Both(NamedTuple):
    first: Policy
    second: Policy

    def __call__(self, op: Primitive, *types: Any, **params: Any) -> bool:
        return bool(self.first(op, *types, **params) or self.second(op, *types, **params))


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_only_these_names=save_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
)

remat = checkpoint

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_p",
    "checkpoint_policies",
    "optimization_barrier",
    "remat",
]
