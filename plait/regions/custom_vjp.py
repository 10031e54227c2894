"""custom_vjp: a function whose cotangents the user's own rules compute.

At the time of jvp the forward rule computes the results, and a linear op of the tangents is bound
that nothing can compute, but whose transpose is the backward rule.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.interpreter import Tracer
from plait.core.primitive import Primitive, or_zeros, register
from plait.core.program import Program, run_program
from plait.core.source import function_name
from plait.core.tracebacks import trimmed
from plait.core.tree import PyTreeDef, flatten, leaf_names, structure_error
from plait.core.tree import leaves as tree_leaves
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentTypeError, DtypeError, ShapeError, UnexpectedTracerError
from plait.interpreters.batch import Frame, add_axis, batch, batch_program
from plait.interpreters.linearize import Linearizer
from plait.ops.arithmetic import convert_element_type, div, mul
from plait.ops.axes import reduce_sum
from plait.regions.region import merge, partition
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
from plait.regions.trace import share_captures

# On leaves: (residuals, cotangents or None) -> a cotangent or None for each operand.
FlatBackward = Callable[[Sequence[Any], Sequence[Any]], list[Any]]
# On leaves: (operands, which have tangents) -> (results, residuals, backward rule).
FlatForward = Callable[[Sequence[Any], Sequence[bool]], tuple[list[Any], list[Any], FlatBackward]]


class CustomVjp(CustomOp):
    """Apply a Python function; its cotangents come from Python rules.

    Parameters: fun, fwd, on leaves; name, for messages.
    """

    name = "custom_vjp"

    def stage(self, stager, xs, params):
        fun, fwd, name = params["fun"], params["fwd"], params["name"]
        if isinstance(stager, Linearizer):
            return tuple(fun(*xs))
        types = [type_of(x) for x in xs]
        traced = stage_flat(fun, types)
        program, captured = traced.program, traced.captured
        closed: FlatForward = Without(fwd, len(captured))
        if captures_tracer(traced):
            # The rules may close over the same traced values; later they could not use them.
            with tracing_rule(self.name, name) as refused:
                if refused:
                    closed = RaisingRule(refused)
                else:
                    program, captured, closed = _trace_rules(traced, fwd, types)
        return stager.emit(
            custom_vjp_call_p,
            [*captured, *xs],
            {"program": program, "fwd": closed, "captured": len(captured), "name": name},
        )

    def jvp(self, xs, ts, *, fun, fwd, name):
        ys, residuals, bwd = fwd(xs, [t is not None for t in ts])
        return ys, _push(ys, residuals, bwd, ts, name)

    def batch(self, frame, xs, mapped, *, fun, fwd, name):
        marks = Marks(f"custom_vjp function {name}")
        rows = marks.rows(fun, mapped, frame)
        ys = self.bind(*xs, fun=rows, fwd=_RowsForward(fwd, mapped, frame, marks), name=name)
        return ys, marks.value


custom_vjp_p = register(CustomVjp())


class CustomVjpCall(CustomCall):
    """A function with cotangent rules in a Program: the function is a Program, the rules Python.

    Parameters: program; fwd, on leaves; captured: how many operands, the first ones, are values
    that the function closed over.
    """

    name = "custom_vjp_call"

    def jvp(self, xs, ts, *, program, fwd, captured, name):
        check_captured("custom_vjp", name, ts[:captured])
        ys, residuals, bwd = fwd(xs, [t is not None for t in ts])
        check_results("custom_vjp", name, ys, program.out_types)
        return ys, _push(ys, residuals, bwd, ts, name)

    def batch(self, frame, xs, mapped, *, program, fwd, captured, name):
        batched, out_mapped = batch_program(program, frame, tuple(mapped))
        marks = Marks(f"custom_vjp function {name}", out_mapped)
        rows = _RowsForward(fwd, mapped, frame, marks)
        ys = self.bind(*xs, program=batched, fwd=rows, captured=captured, name=name)
        return ys, out_mapped


custom_vjp_call_p = register(CustomVjpCall())


class CustomLinear(Primitive):
    """The tangents of a custom_vjp function: known only backwards.

    Operands: residuals, then the tangents of the operands marked in `nonzero`. Parameters: bwd, on
    leaves; residuals, their number; out_types, the types of the function's results, of which the
    inexact ones have a tangent; name, for messages.
    """

    name = "custom_vjp_tangent"
    multiple_results = True

    def uses_axis(self, name, params):
        return True  # the Python function may

    def evaluate(self, xs, params):
        raise _no_forward(params["name"])

    def type(self, *types, bwd, nonzero, residuals, out_types, name):
        return tuple(t for t in out_types if t.dtype in dtypes.INEXACT)

    def numpy(self, *xs, name, **params):
        raise _no_forward(name)

    def jvp(self, xs, ts, *, name, **params):
        raise _no_forward(name)

    def transpose(self, cts, *xs, bwd, nonzero, residuals, out_types, name):
        inexact = [t.dtype in dtypes.INEXACT for t in out_types]
        every = merge(inexact, cts, [None] * inexact.count(False))
        pulled, _ = partition(nonzero, bwd(xs[:residuals], every))
        return [*[None] * residuals, *pulled]

    def batch(self, frame, xs, mapped, *, bwd, nonzero, residuals, out_types, name):
        all_rows = any(mapped)
        x_mapped = merge(nonzero, mapped[residuals:], [False] * nonzero.count(False))
        rows = _RowsBackward(bwd, mapped[:residuals], [all_rows] * len(out_types), x_mapped, frame)
        if all_rows:
            out_types = tuple(t.with_shape((frame.size, *t.shape)) for t in out_types)
        out = self.bind(
            *xs, bwd=rows, nonzero=nonzero, residuals=residuals, out_types=out_types, name=name
        )
        return out, [all_rows] * len(out)

    def lower(self, b, *xs, name, **params):
        raise _no_forward(name)


custom_linear_p = register(CustomLinear())


def _no_forward(name: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{name} has rules for reverse mode only, and a tangent was asked for",
        op="custom_vjp",
        fix="use grad, vjp or jacrev, or give the function a rule with custom_jvp",
    )


def _push(
    ys: Sequence[Any],
    residuals: Sequence[Any],
    bwd: FlatBackward,
    ts: Sequence[Any],
    name: str,
) -> list[Any]:
    """The tangents of the results, by the linear op."""
    out_types = tuple(type_of(y).strong() for y in ys)
    pushed = custom_linear_p.bind(
        *residuals,
        *(t for t in ts if t is not None),
        bwd=bwd,
        nonzero=tuple(t is not None for t in ts),
        residuals=len(residuals),
        out_types=out_types,
        name=name,
    )
    inexact = [t.dtype in dtypes.INEXACT for t in out_types]
    return merge(inexact, pushed, [None] * inexact.count(False))


# --- rules on leaves


class Without:
    """A forward rule that takes no notice of the first operands: values closed over."""

    def __init__(self, fwd: FlatForward, captured: int):
        self.fwd, self.captured = fwd, captured

    def __call__(
        self, xs: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[list[Any], list[Any], FlatBackward]:
        n = self.captured
        ys, residuals, bwd = self.fwd(xs[n:], nonzero[n:])
        return ys, residuals, lambda res, cts: [*[None] * n, *bwd(res, cts)]


def _trace_rules(
    traced: Any, fwd: FlatForward, types: Sequence[ArrayType]
) -> tuple[Program, list[Any], FlatForward]:
    """The function and both rules as Programs that take the same captured values."""
    kept: list[tuple[list[ArrayType], list[ArrayType], FlatBackward]] = []

    def forward(*xs: Any) -> list[Any]:
        ys, residuals, bwd = fwd(xs, [t.dtype in dtypes.INEXACT for t in types])
        kept.append(([type_of(y) for y in ys], [type_of(r) for r in residuals], bwd))
        return [*ys, *residuals]

    forwards = stage_flat(forward, types)
    y_types, r_types, bwd = kept[0]
    inexact = [t.dtype in dtypes.INEXACT for t in y_types]
    nonzero: list[bool] = []

    def backward(*args: Any) -> list[Any]:
        n = len(r_types)
        cts = bwd(args[:n], merge(inexact, args[n:], [None] * inexact.count(False)))
        nonzero.extend(c is not None for c in cts)
        return [c for c in cts if c is not None]

    ct_types = [t for t, i in zip(y_types, inexact, strict=True) if i]
    backwards = stage_flat(backward, [*r_types, *ct_types])
    programs, captured = share_captures([traced, forwards, backwards])
    closed = _ProgramForward(programs[1], programs[2], len(captured), inexact, nonzero)
    return programs[0], captured, closed


class _ProgramForward:
    """Rules that were traced together with their function."""

    def __init__(
        self,
        forward: Program,
        backward: Program,
        captured: int,
        inexact: list[bool],
        nonzero: list[bool],
    ):
        self.forward, self.backward, self.captured = forward, backward, captured
        self.inexact, self.nonzero = inexact, nonzero

    def __call__(
        self, xs: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[list[Any], list[Any], FlatBackward]:
        out = run_program(self.forward, *xs)
        n = len(self.inexact)
        return list(out[:n]), [*xs[: self.captured], *out[n:]], self.pull

    def pull(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """The backward rule."""
        types = self.backward.in_types[len(residuals) :]
        given, _ = partition(self.inexact, cts)
        filled = [or_zeros(c, t) for c, t in zip(given, types, strict=True)]
        out = run_program(self.backward, *residuals, *filled)
        pulled = merge(self.nonzero, out, [None] * self.nonzero.count(False))
        return [*[None] * self.captured, *pulled]


class _RowsForward:
    """A forward rule for all rows of a frame at once."""

    def __init__(self, fwd: FlatForward, mapped: Sequence[bool], frame: Frame, marks: Marks):
        self.fwd, self.mapped, self.frame, self.marks = fwd, tuple(mapped), frame, marks

    def __call__(
        self, xs: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[list[Any], list[Any], FlatBackward]:
        kept: list[tuple[int, FlatBackward]] = []

        def flat(*xs: Any) -> list[Any]:
            ys, residuals, bwd = self.fwd(xs, nonzero)
            kept.append((len(ys), bwd))
            return [*ys, *residuals]

        out, mapped = batch(flat, xs, self.mapped, self.frame)
        n, bwd = kept[0]
        ys = self.marks.fix(out[:n], mapped[:n], self.frame.size)
        assert self.marks.value is not None
        rows = _RowsBackward(bwd, mapped[n:], self.marks.value, self.mapped, self.frame)
        return ys, out[n:], rows


def _scalar(n: int, like: Any) -> np.ndarray:
    return np.asarray(n, dtypes.storage(type_of(like).dtype))


class _RowsBackward:
    """A backward rule for all rows of a frame at once.

    Which residuals, results and operands have the frame's axis is known.
    """

    def __init__(
        self,
        bwd: FlatBackward,
        residuals: Sequence[bool],
        results: Sequence[bool],
        operands: Sequence[bool],
        frame: Frame,
    ):
        self.bwd, self.frame = bwd, frame
        self.residuals, self.results, self.operands = residuals, results, operands

    def __call__(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        n, size = len(residuals), self.frame.size
        nonzero = [c is not None for c in cts]
        by_rows = any(self.operands)
        if by_rows:
            # Of a result that is one for all rows every row gets its share of the cotangent, so
            # that the rows' contributions add up to it, as in pmap.
            cts = [
                c if c is None or m else div(c, _scalar(size, c))
                for c, m in zip(cts, self.results, strict=True)
            ]
        out_nonzero: list[bool] = []

        def flat(*args: Any) -> list[Any]:
            given = iter(args[n:])
            pulled = self.bwd(args[:n], [next(given) if nz else None for nz in nonzero])
            out_nonzero.extend(c is not None for c in pulled)
            return [c for c in pulled if c is not None]

        ct_mapped = [m for m, nz in zip(self.results, nonzero, strict=True) if nz]
        pulled, mapped = batch(
            flat,
            [*residuals, *(c for c in cts if c is not None)],
            [*self.residuals, *ct_mapped],
            self.frame,
        )
        out = []
        pairs = list(zip(pulled, mapped, strict=True))
        every = merge(out_nonzero, pairs, [None] * len(out_nonzero))
        for pair, want in zip(every, self.operands, strict=True):
            if pair is None:
                out.append(None)
                continue
            ct, have = pair
            if have and not want:
                # One value that all rows used: their cotangents add up.
                ct = reduce_sum(ct, (0,))
            elif want and not have:
                ct = add_axis(ct, size)
            elif by_rows and not have:
                ct = mul(ct, _scalar(size, ct))
            out.append(ct)
        return out


# --- what users call


@dataclasses.dataclass(frozen=True)
class CustomVJPPrimal:
    """An argument of a forward rule that asked for symbolic zeros.

    Its value, and whether anything is differentiated with respect to it.

    >>> @plait.custom_vjp
    ... def product(x, y): return x * y
    >>> def forward(x, y):
    ...     print(x.perturbed, y.perturbed)
    ...     return x.value * y.value, (x.value, y.value)
    >>> product.defvjp(forward, lambda xy, g: (g * xy[1], g * xy[0]), symbolic_zeros=True)
    >>> plait.grad(product)(3.0, 2.0)
    True False
    Array(2., dtype=float32, weak_type=True)
    """

    value: Any
    perturbed: bool


class custom_vjp:
    """A function with rules for its reverse-mode derivative.

    `defvjp(fwd, bwd)` gives them: fwd(*args) -> (result, residuals), and bwd(residuals, ct) -> a
    tuple with a cotangent for each argument, None standing for zero. Arguments named in
    nondiff_argnums (or nondiff_argnames) have no derivative and may be anything but traced values;
    bwd gets them first. Forward mode (jvp) through the function is an error.

    >>> @plait.custom_vjp
    ... def clip_gradient(x): return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ):
        if not callable(fun):
            raise ArgumentTypeError("takes a function", op="custom_vjp", fun=fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.signature = Signature(fun, "custom_vjp", nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self.signature.nondiff
        self.fwd: Callable[..., tuple[Any, Any]] | None = None
        self.bwd: Callable[..., tuple[Any, ...]] | None = None
        self.symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the rules.

        With symbolic_zeros fwd gets each array as a CustomVJPPrimal, and bwd gets cotangents that
        are zero as SymbolicZero objects. optimize_remat has no effect.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __repr__(self) -> str:
        return f"<custom_vjp of {function_name(self.fun)}>"

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp: {self.signature.where} has no rules yet; give it some with defvjp"
            )
        args = self.signature.positional(args, kwargs)
        diff, fixed = self.signature.divide(args)
        for x in tree_leaves(fixed):
            if isinstance(x, Tracer):
                raise UnexpectedTracerError(
                    "an argument named in nondiff_argnums is a traced value",
                    op="custom_vjp",
                    function=self.signature.where,
                    value=x,
                    fix="pass arrays as ordinary arguments, and return None for their cotangent",
                )
        leaves, shape = self.signature.leaves(diff)
        call = _Call(self, shape, diff, fixed, len(args))
        name = function_name(self.fun)
        ys = custom_vjp_p.bind(*leaves, fun=call.fun, fwd=call.forward, name=name)
        assert call.out is not None
        return call.out.unflatten(ys)


class _Call:
    """One call of a custom_vjp function: the function and its rules on leaves."""

    def __init__(
        self,
        owner: custom_vjp,
        shape: PyTreeDef,
        diff: tuple[Any, ...],
        fixed: tuple[Any, ...],
        total: int,
    ):
        # Not the owner itself: Programs hold this, and tables kept with the owner hold Programs.
        self.signature, self.symbolic_zeros = owner.signature, owner.symbolic_zeros
        self.user_fwd: Any = owner.fwd
        self.user_bwd: Any = owner.bwd
        self.shape, self.fixed, self.total = shape, fixed, total
        self.out: PyTreeDef | None = None

    def fun(self, *xs: Any) -> list[Any]:
        args = self.signature.join(self.shape.unflatten(xs), self.fixed, self.total)
        y = self.signature.function(*args)
        ys, self.out = flatten(y)
        self._check_arrays("the function's result", ys, y)
        return ys

    def forward(
        self, xs: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[list[Any], list[Any], FlatBackward]:
        given = xs
        if self.symbolic_zeros:
            given = [CustomVJPPrimal(x, nz) for x, nz in zip(xs, nonzero, strict=True)]
        args = self.signature.join(self.shape.unflatten(given), self.fixed, self.total)
        pair = self.user_fwd(*args)
        if not is_pair(pair):
            raise self._error("fwd must return a pair (result, residuals)", returns=pair)
        y, kept = pair
        ys, shape = flatten(y)
        residuals, kept_shape = flatten(kept)
        self._check_arrays("the result of fwd", ys, y)
        self._check_arrays("a residual of fwd", residuals, kept)
        if self.out is not None and self.out != shape:
            raise structure_error(
                "the result of fwd must have the structure of the function's",
                ("function", self.out),
                ("fwd", shape),
                "custom_vjp",
                f"let the rules of {self.signature.where} return the same containers",
            )
        self.out = shape
        x_types = [type_of(x) for x in xs]
        y_types = [type_of(v) for v in ys]
        # Python's numbers among the residuals stay what they are: rules decide by them.
        marks = [type(x) in (bool, int, float, complex) for x in residuals]
        numbers, arrays = partition(marks, residuals)

        def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            filled = [self._cotangent(t, c) for t, c in zip(y_types, cts, strict=True)]
            values = merge(marks, numbers, residuals)
            result = self.user_bwd(
                *self.fixed, kept_shape.unflatten(values), shape.unflatten(filled)
            )
            return self._cotangents(result, x_types)

        return ys, arrays, backward

    def _cotangent(self, type: ArrayType, ct: Any) -> Any:
        if ct is not None:
            return ct
        if self.symbolic_zeros:
            return SymbolicZero(type.tangent())
        return zero_derivative(type)

    def _cotangents(self, result: Any, types: Sequence[ArrayType]) -> list[Any]:
        """What bwd returned, leaf by leaf, None for zero. Raises if it does not fit."""
        parts = self.shape.children()
        if not isinstance(result, tuple | list) or len(result) != len(parts):
            raise self._error(
                "bwd must return a tuple with a cotangent for each argument "
                f"({', '.join(self._names())})",
                returns=result,
            )
        cts: list[Any] = []
        for part, name, ct in zip(parts, self._names(), result, strict=True):
            cts.extend(self._part(part, name, ct))
        return [self._checked(t, ct, k) for k, (t, ct) in enumerate(zip(types, cts, strict=True))]

    def _part(self, part: PyTreeDef, name: str, ct: Any) -> list[Any]:
        """The cotangents of one argument's leaves; None may stand for any sub-tree."""
        flat, shape = flatten(ct, lambda x: x is None)
        try:
            below = shape.flatten_up_to(part.unflatten(range(part.num_leaves)))
        except (ValueError, TypeError):
            below = None
        out: list[Any] = [None] * part.num_leaves
        for c, tree in zip(flat, below or [], strict=False):
            places = tree_leaves(tree)
            if c is None:
                continue
            if len(places) != 1 or flatten(tree)[1].num_nodes != 1:
                below = None
                break
            out[places[0]] = c
        if below is None:
            raise structure_error(
                f"bwd must return a cotangent of the structure of the argument {name}",
                ("argument", part),
                ("cotangent", flatten(ct)[1]),
                "custom_vjp",
                f"let bwd of {self.signature.where} return the argument's containers",
            )
        return out

    def _checked(self, want: ArrayType, ct: Any, k: int) -> Any:
        if ct is None or isinstance(ct, SymbolicZero) or want.dtype not in dtypes.INEXACT:
            return None
        if not is_array(ct):
            raise self._error(f"bwd's cotangent of {self._leaf(k)} is not an array", cotangent=ct)
        have = type_of(ct)
        if have.dtype == dtypes.float0:
            return None
        if have.shape != want.shape:
            raise ShapeError(
                f"bwd's cotangent of {self._leaf(k)} must have its shape",
                op="custom_vjp",
                function=self.signature.where,
                argument=want,
                cotangent=have,
            )
        if have.dtype == want.dtype:
            return ct
        if have.dtype in dtypes.COMPLEX and want.dtype not in dtypes.COMPLEX:
            raise DtypeError(
                f"bwd's cotangent of {self._leaf(k)} is complex, the argument is not",
                op="custom_vjp",
                function=self.signature.where,
                argument=want,
                cotangent=have,
            )
        return convert_element_type(ct, want.dtype)

    def _names(self) -> list[str]:
        return self.signature.names(self.total)

    def _leaf(self, k: int) -> str:
        parts = self.shape.children()
        names = [
            n
            for part, name in zip(parts, self._names(), strict=True)
            for n in leaf_names(part.unflatten([0] * part.num_leaves), name)
        ]
        return names[k]

    def _check_arrays(self, what: str, leaves: Sequence[Any], tree: Any) -> None:
        for k, x in enumerate(leaves):
            if not is_array(x):
                place = leaf_names(tree, "")[k]
                where = f" at {place}" if place else ""
                raise self._error(f"{what}{where} is not an array", value=x)

    def _error(self, summary: str, **given: Any) -> ArgumentTypeError:
        return ArgumentTypeError(summary, op="custom_vjp", function=self.signature.where, **given)


__all__ = [
    "CustomVJPPrimal",
    "custom_linear_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_p",
]
