"""plait.experimental.checkify: checks inside compiled functions.

>>> from plait.experimental import checkify
>>> def f(x):
...     checkify.check(x > 0, "x is {}, not positive", x)
...     return jnp.log(x)
>>> error, y = plait.jit(checkify.checkify(f))(-1.0)
>>> print(error.get())
x is -1.0, not positive (`check` failed)

How it works: a Checker is the running interpreter of such a function. It keeps the first error as
two kinds of values, the number of its place (0 for none) and the values of its message, and brings
them up to date at each check; all else it hands to its parent. Loops carry them, branches return
them, lanes of a map have one each, of which the first counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes, tree
from plait.core.context import context, named_axes, running
from plait.core.interpreter import Interpreter, Tracer
from plait.core.primitive import Primitive, zeros_of
from plait.core.program import Program, run_program, sub_programs
from plait.core.source import function_name
from plait.core.stage import stage
from plait.core.tracebacks import trimmed
from plait.core.types import is_array, type_of
from plait.errors import ArgumentTypeError, CheckError
from plait.interpreters.closed import stage_closed
from plait.ops.check import Site, bind_check, check_p
from plait.ops.gather import to_gather
from plait.ops.scatter import Scatter
from plait.regions.cond import switch
from plait.regions.loops import scan, while_loop
from plait.runtime.array import as_array
from plait.transforms.arguments import check_callable
from plait.transforms.jit import eval_shape

# --- what is looked for


class UserChecks:
    """Conditions given by check()."""


class NanChecks:
    """Operations that make a NaN."""


class DivisionChecks:
    """Divisions by zero."""


class IndexChecks:
    """Indices out of bounds, in reading and in writing."""


ErrorCategory = type[UserChecks] | type[NanChecks] | type[DivisionChecks] | type[IndexChecks]
user_checks: frozenset[Any] = frozenset({UserChecks})
nan_checks: frozenset[Any] = frozenset({NanChecks})
div_checks: frozenset[Any] = frozenset({DivisionChecks})
index_checks: frozenset[Any] = frozenset({IndexChecks})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


# --- the error

JaxRuntimeError = CheckError  # as JAX calls it here


class Error:
    """The first error of a function, or none: a tree of arrays.

    number is that of its place, 0 for none; values are those of the messages of all places that
    the function has, of which only those of `number` mean anything.

    >>> from plait.experimental import checkify
    >>> error, y = checkify.checkify(jnp.log, checkify.nan_checks)(1.0)
    >>> error.get(), y
    (None, Array(0., dtype=float32, weak_type=True))
    """

    def __init__(self, number: Any, values: dict[int, tuple[Any, ...]]):
        self.number, self.values = number, values

    def get(self) -> str | None:
        """The message, or None. Of several errors (under vmap) all, with their places."""
        numbers = np.asarray(self.number)
        texts = []
        for at in np.argwhere(numbers):
            at = tuple(at.tolist())
            number = int(numbers[at])
            text = Site.of(number).text([np.asarray(v)[at] for v in self.values[number]])
            where = ", ".join(map(str, at))
            texts.append(f"at mapped index {where}: {text}" if at else text)
        return "\n".join(texts) or None

    def throw(self) -> None:
        """Raise CheckError if there is an error."""
        check_error(self)

    def __str__(self) -> str:
        known = not isinstance(self.number, Tracer)
        return f"Error({self.get() if known else self.number})"

    __repr__ = __str__

    def with_places(self, numbers: Sequence[int]) -> Error:
        """The error with room for the values of other places."""
        values = dict(self.values)
        for number in numbers:
            if number not in values:
                values[number] = tuple(map(zeros_of, _types[number]))
        return Error(self.number, values)


# The types of the values of each place.
_types: dict[int, tuple[Any, ...]] = {}
tree.register_node(
    Error,
    lambda e: (
        (e.number, *(v for n in sorted(e.values) for v in e.values[n])),
        tuple((n, len(e.values[n])) for n in sorted(e.values)),
    ),
    lambda sizes, leaves: _rebuild(sizes, list(leaves)),
)
init_error = Error(np.int32(0), {})


def _rebuild(sizes: Sequence[tuple[int, int]], leaves: list[Any]) -> Error:
    number, *rest = leaves
    values, at = {}, 0
    for n, size in sizes:
        values[n] = tuple(rest[at : at + size])
        at += size
    return Error(number, values)


# --- what users call


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Say that pred, one bool, must be true; msg.format(*fmt_args, **fmt_kwargs) if it is not.

    With actual values it is looked at now; in a function made by checkify the outcome is part of
    the result. With debug=True it counts in the latter only.
    Raises: CheckError; ArgumentTypeError unless pred is one bool and msg a string.

    >>> from plait.experimental import checkify
    >>> def root(x):
    ...     checkify.check(x >= 0, "no root of {x}", x=x)
    ...     return jnp.sqrt(x)
    >>> error, y = plait.jit(checkify.checkify(root))(-1.0)
    >>> error.get()
    'no root of -1.0 (`check` failed)'
    """
    if not isinstance(msg, str):
        raise ArgumentTypeError("the message must be a string", op="check", msg=msg)
    if type_of(pred).shape or type_of(pred).dtype != dtypes.bool_:
        raise ArgumentTypeError("the predicate must be one bool", op="check", pred=pred)
    bind_check(pred, msg, fmt_args, fmt_kwargs, "check", debug)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A check that counts in functions made by checkify alone; elsewhere nothing is looked at.

    >>> from plait.experimental import checkify
    >>> def root(x):
    ...     checkify.debug_check(x >= 0, "negative")
    ...     return jnp.sqrt(x)
    >>> root(-1.0)
    Array(nan, dtype=float32, weak_type=True)
    >>> checkify.checkify(root)(-1.0)[0].get()
    'negative (`check` failed)'
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise CheckError for an error; in a function made by checkify, let it be that one's error.

    Raises: ArgumentTypeError while a function is traced, as the error is not known then.

    >>> from plait.experimental import checkify
    >>> error, y = checkify.checkify(jnp.log, checkify.nan_checks)(-1.0)
    >>> checkify.check_error(error)
    Traceback (most recent call last):
        ...
    plait.errors.CheckError: nan generated by log at ...
    """
    running_now = context.interpreter
    while running_now is not None:
        if isinstance(running_now, Checker):
            running_now.take(error)
            return
        running_now = running_now.parent
    if isinstance(error.number, Tracer):
        raise ArgumentTypeError(
            "the error is not known while a function is traced",
            op="check_error",
            fix="return it and call check_error outside, or call checkify outside",
        )
    if (text := error.get()) is not None:
        raise CheckError(text)


def checkify(f: Callable[..., Any], errors: frozenset[Any] = user_checks) -> Callable[..., Any]:
    """A function that returns (Error, the result of f).

    errors: what is looked for, one of user_checks, nan_checks, div_checks, index_checks or a union
    of them. It works within jit and around it, with maps, loops, branches and derivatives.
    Raises: ArgumentTypeError if f cannot be called.

    >>> from plait.experimental import checkify
    >>> f = checkify.checkify(lambda x, i: x[i] / x[0], checkify.index_checks | checkify.div_checks)
    >>> error, y = plait.jit(f)(jnp.array([0.0, 1.0]), 1)
    >>> error.get().split(" at ")[0]
    'division by zero'
    """
    check_callable(f, "checkify")

    @trimmed
    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        # Numbers too are values that are checked, not constants of the program.
        args, kwargs = tree.map(_value, (args, kwargs))
        checker = Checker(context.interpreter, frozenset(errors), function_name(f))
        with running(checker):
            out = f(*args, **kwargs)
        return checker.error, out

    return checked


def _value(x: Any) -> Any:
    return as_array(x) if is_array(x) and not isinstance(x, Tracer) else x


# --- the interpreter


class Checker(Interpreter):
    """Keeps the first error; computes nothing itself."""

    parent: Interpreter
    transformation = "checkify"

    def __init__(self, parent: Interpreter, errors: frozenset[Any], function: str):
        self.parent, self.errors, self.function = parent, errors, function
        self.error = init_error

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        if op is check_p:
            if UserChecks in self.errors:
                with running(self.parent):
                    self.record(params["site"], xs[0], xs[1:])
            return ()
        run = _REGIONS.get(op.name)
        if run is not None and any(map(self.concerns, sub_programs(params))):
            return run(self, op, xs, params)
        if op.name in ("custom_jvp", "custom_vjp"):
            program, _ = stage(params["fun"], [type_of(x) for x in xs])
            if self.concerns(program):  # else its derivative rules stay
                return tuple(params["fun"](*xs))
        context.interpreter = self.parent
        try:
            ys = self.parent.process(op, xs, params)
            if self.errors - user_checks:
                self.look(op, xs, params, ys)
            return ys
        finally:
            context.interpreter = self

    def concerns(self, program: Program) -> bool:
        """Whether a Program may have an error."""
        return bool(self.errors - user_checks) or _has_check(program)

    def record(self, site: Site, pred: Any, values: Sequence[Any]) -> None:
        """The outcome of a check; `pred` may have axes, and the first failure counts."""
        number = site.number
        lead = type_of(pred).ndim
        _types[number] = tuple(t.with_shape(t.shape[lead:]) for t in map(type_of, values))
        failed = jnp.logical_not(pred)
        if lead:
            at = jnp.argmax(failed.ravel())
            values = [jnp.reshape(v, (-1, *jnp.shape(v)[lead:]))[at] for v in values]
            failed = failed.any()
        self._update(failed, np.int32(number), {number: tuple(values)})

    def take(self, error: Error) -> None:
        """Another error, which counts if there was none."""
        with running(self.parent):
            number, values = error.number, error.values
            if lead := type_of(number).ndim:
                at = jnp.argmax((number != 0).ravel())
                number = number.ravel()[at]
                values = {
                    n: tuple(jnp.reshape(v, (-1, *jnp.shape(v)[lead:]))[at] for v in vs)
                    for n, vs in values.items()
                }
            self._update(number != 0, number, values)

    def _update(self, failed: Any, number: Any, values: dict[int, tuple[Any, ...]]) -> None:
        old = self.error.with_places(list(values))
        first = failed & (old.number == 0)
        kept = dict(old.values)
        for n, new in values.items():
            kept[n] = tuple(jnp.where(first, a, b) for a, b in zip(new, old.values[n], strict=True))
        self.error = Error(jnp.where(first, number, old.number), kept)

    def look(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any], ys: Any) -> None:
        """The automatic checks of an op; the parent runs."""
        if NanChecks in self.errors and op.name not in _MAY_BE_NAN:
            for y in ys if op.multiple_results else (ys,):
                if type_of(y).dtype in dtypes.INEXACT:
                    pred = jnp.logical_not(jnp.isnan(y).any())
                    self._automatic(pred, f"nan generated by {op.name}")
        if DivisionChecks in self.errors and op.name in ("div", "rem"):
            self._automatic(jnp.all(jnp.not_equal(xs[1], 0)), "division by zero")
        if IndexChecks in self.errors and (found := _indices(op, xs, params)) is not None:
            index, last = found
            if np.size(last) and type_of(index).size:
                shape = type_of(xs[0]).shape
                self._automatic(
                    jnp.all((index >= 0) & (index <= last)),
                    f"index out of bounds of an array of shape {shape}",
                )

    def _automatic(self, pred: Any, message: str) -> None:
        with running(_Catch(self)):
            bind_check(pred, message.replace("{", "{{").replace("}", "}}"), (), {}, "auto", True)

    # --- programs inside ops

    def inner(self, program: Program) -> Callable[..., tuple[Error, tuple[Any, ...]]]:
        """A function (error, *operands) -> (error, results) that runs a Program."""

        def run(error: Error, *xs: Any) -> tuple[Error, tuple[Any, ...]]:
            checker = Checker(context.interpreter, self.errors, program.name)
            checker.error = error
            with running(checker):
                ys = run_program(program, *xs)
            return checker.error, tuple(ys)

        return run

    def places(self, function: Callable[..., Any], *args: Any) -> list[int]:
        """The places that a function (error, ...) -> (error, ...) may add to an error."""
        return sorted(eval_shape(function, *args)[0].values)


def _has_check(program: Program) -> bool:
    def find() -> bool:
        return any(
            e.op is check_p or any(map(_has_check, sub_programs(e.params)))
            for e in program.equations
        )

    return program.derived("has_check", find)


class _Catch(Interpreter):
    """Receives the one check that a Checker makes itself."""

    def __init__(self, checker: Checker):
        self.checker, self.parent = checker, checker.parent

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        with running(self.checker.parent):
            if op is not check_p:
                return self.checker.parent.process(op, xs, params)
            self.checker.record(params["site"], xs[0], xs[1:])
            return ()


# Ops that pass a NaN on: another one made it.
_MAY_BE_NAN = frozenset(
    ("constant", "iota", "reshape", "transpose", "broadcast_in_dim", "slice", "rev", "copy")
)


def _indices(op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    """(positions that an op starts at, the last one that is inside), or None."""
    shape = type_of(xs[0]).shape if xs else ()
    if op.name == "gather":
        axes, sizes, index = params["dims"].start_index_map, params["sizes"], xs[1]
    elif isinstance(op, Scatter):
        dims = params["dims"]
        axes = to_gather(dims).start_index_map
        sizes, index = op.sizes(dims, type_of(xs[0]), type_of(xs[2])), xs[1]
    elif op.name in ("dynamic_slice", "dynamic_update_slice"):
        update = op.name == "dynamic_update_slice"
        sizes = type_of(xs[1]).shape if update else params["sizes"]
        starts = xs[2:] if update else xs[1:]
        axes = range(len(shape))
        index = jnp.stack(list(starts)) if starts else None
    else:
        return None
    if index is None:
        return None
    last = np.array([shape[a] - sizes[a] for a in axes])
    return index, last.astype(dtypes.storage(type_of(index).dtype))


def _inline(checker: Checker, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    # A function that jit or checkpoint traced, or one with rules of its own for derivatives.
    return run_program(params["program"], *xs)


def _cond(checker: Checker, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    index, *operands = xs
    branches = [checker.inner(p) for p in params["branches"]]
    with running(checker.parent):
        numbers = {n for b in branches for n in checker.places(b, checker.error, *operands)}
        error = checker.error.with_places(sorted(numbers))
        padded = [
            lambda e, *ys, b=b: (lambda out: (out[0].with_places(sorted(numbers)), out[1]))(
                b(e, *ys)
            )
            for b in branches
        ]
        checker.error, out = switch(index, padded, error, *operands)
    return out


def _while(checker: Checker, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    n, m = params["cond_consts"], params["body_consts"]
    tested, consts, carry = xs[:n], xs[n : n + m], tuple(xs[n + m :])
    cond, body = checker.inner(params["cond"]), checker.inner(params["body"])

    def test(error: Error, carry: tuple[Any, ...]) -> tuple[Error, Any]:
        error, (more,) = cond(error, *tested, *carry)
        return error, more

    def round(state: Any) -> Any:
        error, _, carry = state
        error, carry = body(error, *consts, *carry)
        error, more = test(error, carry)
        return error, more, carry

    with running(checker.parent):
        error, more = test(checker.error, carry)
        numbers = checker.places(lambda *s: round(s), error, more, carry)
        state = (error.with_places(numbers), more, carry)
        checker.error, _, out = while_loop(lambda s: s[1], round, state)
    return out


def _scan(checker: Checker, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    n, m = params["consts"], params["carry"]
    consts, carry, rows = xs[:n], tuple(xs[n : n + m]), tuple(xs[n + m :])
    run = checker.inner(params["program"])

    def round(state: Any, row: tuple[Any, ...]) -> Any:
        error, out = run(state[0], *consts, *state[1], *row)
        return (error, out[:m]), out[m:]

    with running(checker.parent):
        first = [zeros_of(t.with_shape(t.shape[1:])) for t in map(type_of, rows)]
        numbers = checker.places(run, checker.error, *consts, *carry, *first)
        (checker.error, last), ys = scan(
            round,
            (checker.error.with_places(numbers), carry),
            rows,
            length=params["length"],
            reverse=params["reverse"],
            unroll=params["unroll"],
        )
    return (*last, *ys)


def _pmap(checker: Checker, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    program = params["program"]
    run = checker.inner(program)
    kept: list[Any] = []

    def lane(*ys: Any) -> list[Any]:
        error, out = run(init_error, *ys)
        leaves, shape = tree.flatten(error)
        kept.append(shape)
        return [*out, *leaves]

    with running(checker.parent), named_axes((params["axis_name"], params["axis_size"])):
        checked = stage_closed(lane, program.in_types, name=program.name)
    more = len(checked.outputs) - len(program.outputs)
    marks = (*params["out_mapped"], *[True] * more)
    with running(checker.parent):
        out = op.bind(*xs, **{**params, "program": checked, "out_mapped": marks})
    checker.take(kept[0].unflatten(out[len(program.outputs) :]))
    return out[: len(program.outputs)]


_REGIONS: dict[str, Callable[..., Any]] = {
    "jit": _inline,
    "checkpoint": _inline,
    "custom_jvp_call": _inline,
    "custom_vjp_call": _inline,
    "cond": _cond,
    "while": _while,
    "scan": _scan,
    "pmap": _pmap,
}

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
