"""Two or more branches, one of which runs: cond and switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.context import running
from plait.core.interpreter import Tracer
from plait.core.plain import listed
from plait.core.primitive import LinearOperand, register, zeros_of
from plait.core.program import Atom, Program, program_has_effects, reference, run_program
from plait.core.tracebacks import trimmed
from plait.core.tree import flatten, leaf_names, structure_error
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, an, several
from plait.hlo.module import lower_program
from plait.interpreters.batch import batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import jvp_program
from plait.interpreters.split import Split, split_program
from plait.interpreters.transpose import transpose_program
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import broadcast_in_dim
from plait.ops.compare import clamp, eq, ne, select_n_p
from plait.ops.reduce import reduce_or
from plait.regions.custom import stop_gradient
from plait.regions.masked import masked
from plait.regions.region import (
    Region,
    check_operands,
    merge,
    partition,
)
from plait.regions.trace import (
    Traced,
    check_arguments,
    check_function,
    concrete,
    describe_function,
    give_types,
    rewire,
    same_type,
    share_captures,
    trace,
    type_error,
)


class Cond(Region):
    """Apply branches[index] to the operands; index is an int32 in 0..len(branches)-1."""

    name = "cond"

    def type(self, index, *types, branches):
        if index.shape or index.dtype != dtypes.int32:
            raise ShapeError("the index must be an int32 scalar", index=index)
        for program in branches:
            check_operands(program, types)
        return tuple(map(_common, *(p.out_types for p in branches)))

    def numpy(self, index, *xs, branches):
        return reference(branches[int(index)], *xs)

    def jvp(self, xs, ts, *, branches):
        index, *xs = xs
        ts = ts[1:]
        nonzero = tuple(t is not None for t in ts)
        wanted = _any_of(jvp_program(p, nonzero)[1] for p in branches)
        pushed = tuple(jvp_program(p, nonzero, wanted)[0] for p in branches)
        out = self.bind(index, *xs, *(t for t in ts if t is not None), branches=pushed)
        n = len(wanted)
        return out[:n], merge(wanted, out[n:], [None] * n)

    def split(self, linearizer, xs, linear, params):
        index, *xs = xs
        linear = tuple(linear[1:])
        out_linear = _any_of(split_program(p, linear).out_linear for p in params["branches"])
        cuts = [split_program(p, linear, out_linear) for p in params["branches"]]
        tangents, known = partition(linear, xs)
        plan = _Residuals(cuts, [type_of(x) for x in known], [type_of(t) for t in tangents])
        with running(linearizer.parent):
            out = self.bind(index, *known, branches=plan.known)
        n = len(out) - len(plan.slots)
        passed = [known[k] for k in plan.forwarded]
        pushed = linearizer.emit(
            self, [index, *passed, *out[n:], *tangents], {"branches": plan.linear}
        )
        return merge(out_linear, pushed, out[:n])

    def transpose(self, cts, index, *xs, branches):
        linear = tuple(isinstance(x, LinearOperand) for x in xs)
        nonzero = tuple(c is not None for c in cts)
        marks = _any_of(transpose_program(p, linear, nonzero, wanted=False)[1] for p in branches)
        kept = tuple(k for k, mark in enumerate(marks) if mark)
        backward = []
        for p in branches:
            whole, _ = transpose_program(p, linear, nonzero, wanted=True)
            backward.append(rewire(whole, tuple(range(len(whole.inputs))), kept))
        _, known = partition(linear, xs)
        given = [c for c in cts if c is not None]
        out = self.bind(index, *known, *given, branches=tuple(backward))
        pulled = merge(marks, out, [None] * len(marks))
        return [None, *merge(linear, pulled, [None] * len(known))]

    def batch(self, frame, xs, mapped, *, branches):
        index, *xs = xs
        index_mapped, *mapped = mapped
        mapped = tuple(mapped)
        if index_mapped:
            return self._select(frame, index, xs, mapped, branches)
        out_mapped = _any_of(batch_program(p, frame, mapped)[1] for p in branches)
        batched = tuple(batch_program(p, frame, mapped, out_mapped)[0] for p in branches)
        return self.bind(index, *xs, branches=batched), out_mapped

    def _select(self, frame, index, xs, mapped, branches):
        # The rows take different branches: run all of them, and choose row by row. What all of them
        # hand on is not chosen: it stays as it is, mapped or not.
        passed = _handed_on(branches)
        every = tuple(True if k is None else mapped[k] for k in passed)
        results = []
        for k, p in enumerate(branches):
            taken = eq(index, np.int32(k))
            mine = [_where_taken(x, m, taken) for x, m in zip(xs, mapped, strict=True)]
            if program_has_effects(p):
                run, _ = batch_program(masked(p), frame, (True, *mapped), every)
                results.append(run_program(run, taken, *mine))
            else:
                results.append(run_program(batch_program(p, frame, mapped, every)[0], *mine))
        chosen = []
        for place, cases in zip(passed, zip(*results, strict=True), strict=True):
            if place is not None:
                chosen.append(xs[place])
                continue
            which = broadcast_in_dim(index, type_of(cases[0]).shape, (0,))
            chosen.append(select_n_p.bind(which, *cases))
        return chosen, every

    def lower(self, b, index, *xs, branches):
        return b.case(
            index,
            [lambda p=p: lower_program(b, p, xs) for p in branches],
            [t.strong() for t in b.result_types],
        )

    def variance(self, varying, params, analyse):
        index, *varying = varying
        results = [analyse(p, varying, condition=index, operand=0) for p in params["branches"]]
        return [index.union(*sets) for sets in zip(*results, strict=True)]

    def samples(self):
        x = np.linspace(-1.0, 2.0, 3)
        types = [ArrayType((3,), dtypes.float64)] * 2
        branches = tuple(
            stage_closed(f, types, name="branch")
            for f in (lambda a, c: [a, c], lambda a, c: [c, a], lambda a, c: [a, a])
        )
        for index in range(3):
            yield (np.int32(index), x, 2 + x), {"branches": branches}


cond_p = register(Cond())


def _handed_on(branches: Sequence[Program]) -> list[int | None]:
    """For each result the position of the operand that it is in every branch, or None."""
    places = [{v: k for k, v in enumerate(p.inputs)} for p in branches]
    results = zip(*(p.outputs for p in branches), strict=True)
    found = [{at.get(y) for at, y in zip(places, ys, strict=True)} for ys in results]
    return [next(iter(f)) if len(f) == 1 else None for f in found]


def _where_taken(x: Any, mapped: bool, taken: Any) -> Any:
    """An operand of a branch, constant to derivatives in the rows that take another branch.

    There the branch may have no finite derivative, and 0 times infinity would not be 0.
    """
    if not isinstance(x, Tracer) or type_of(x).dtype not in dtypes.INEXACT:
        return x
    which = broadcast_in_dim(taken, type_of(x).shape, (0,)) if mapped else reduce_or(taken, (0,))
    return select_n_p.bind(which, stop_gradient(x), x)


def _any_of(marks: Any) -> tuple[bool, ...]:
    """Element by element, whether one of several tuples has a mark."""
    return tuple(map(any, zip(*marks, strict=True)))


def _common(*types: ArrayType) -> ArrayType:
    """The type of a result that has one type in all branches, weak if it is so in all of them."""
    if not all(same_type(types[0], t) for t in types):
        raise ShapeError("the branches' results differ", results=", ".join(map(str, types)))
    return types[0] if all(t.weak_type for t in types) else types[0].strong()


class _Residuals:
    """What the linear halves of all branches need of the known halves, as one list of operands.

    A residual that is a known operand of the cond is passed on as it is. Others leave the known
    cond through slots: one list of results that all branches fill, each with residuals of its own
    where the types fit, and with zeros elsewhere.

    known, linear: the branches of the two conds. forwarded: positions of known operands that the
    linear cond takes. slots: the types of the results that carry residuals.
    """

    def __init__(
        self,
        cuts: Sequence[Split],
        known_types: Sequence[ArrayType],
        linear_types: Sequence[ArrayType],
    ):
        self.slots: list[ArrayType] = []
        passed: list[dict[int, int]] = []  # per branch: position of a known operand -> residual
        filled: list[dict[int, int]] = []  # per branch: slot -> residual
        for cut in cuts:
            places: dict[Atom, int] = {v: k for k, v in enumerate(cut.known.inputs)}
            mine: dict[int, int] = {}
            slots: dict[int, int] = {}
            first = len(cut.known.outputs) - cut.residuals
            for r, atom in enumerate(cut.known.outputs[first:]):
                place = places.get(atom)
                if place is not None and place not in mine:
                    mine[place] = r
                else:
                    slots[self._slot(atom.type.strong(), slots)] = r
            passed.append(mine)
            filled.append(slots)
        self.forwarded = sorted(set().union(*passed))
        self.known = tuple(self._known(cut, slots) for cut, slots in zip(cuts, filled, strict=True))
        self.linear = tuple(
            rewire(
                cut.linear,
                (
                    *(mine.get(k, known_types[k]) for k in self.forwarded),
                    *(slots.get(j, t) for j, t in enumerate(self.slots)),
                    *range(cut.residuals, cut.residuals + len(linear_types)),
                ),
            )
            for cut, mine, slots in zip(cuts, passed, filled, strict=True)
        )

    def _slot(self, type: ArrayType, taken: dict[int, int]) -> int:
        for j, have in enumerate(self.slots):
            if have == type and j not in taken:
                return j
        self.slots.append(type)
        return len(self.slots) - 1

    def _known(self, cut: Split, filled: dict[int, int]) -> Program:
        slots = tuple(self.slots)

        def make() -> Program:
            def run(*xs: Any) -> list[Any]:
                out = run_program(cut.known, *xs)
                n = len(out) - cut.residuals
                carried = [
                    out[n + filled[j]] if j in filled else zeros_of(t) for j, t in enumerate(slots)
                ]
                return [*out[:n], *carried]

            return stage_closed(run, cut.known.in_types, name=cut.known.name)

        return cut.known.derived(("cond slots", slots, tuple(sorted(filled.items()))), make)


# --- what users call

_ABSENT: Any = object()


@trimmed
def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _ABSENT,
    linear: Any = None,
) -> Any:
    """true_fun(*operands) if pred, else false_fun(*operands); one of the two runs.

    Shapes: pred is a scalar; numbers count as true unless 0. Operands and results are trees; both
    functions return trees of one structure and of equal types. Under vmap with a mapped pred both
    run, and their results are selected. Derivatives: of the branch taken. `linear` is ignored.
    Raises: ArgumentTypeError, ShapeError, DtypeError naming the first leaf that differs.

    >>> lax.cond(True, lambda x: x + 1, lambda x: x * 0, 4.0)
    Array(5., dtype=float32, weak_type=True)
    """
    op = "cond"
    if len(operands) == 2 and not callable(true_fun) and _is_function(false_fun, operands[1]):
        # cond(pred, true_operand, true_fun, false_operand, false_fun)
        x, on_true, y, on_false = true_fun, false_fun, *operands
        return cond(pred, lambda x, y: on_true(x), lambda x, y: on_false(y), x, y)
    if operand is not _ABSENT:
        if operands:
            raise ArgumentTypeError(
                "give operands by position or as operand=, not both",
                op=op,
                operands=f"{several(len(operands), 'operand')} by position",
                operand=operand,
            )
        operands = (operand,)
    check_function(true_fun, op, "true_fun")
    check_function(false_fun, op, "false_fun")
    index = _predicate(pred)
    if state.disable_jit and (known := concrete(index)) is not None:
        return (true_fun if int(known) else false_fun)(*operands)
    functions = [("false_fun", false_fun), ("true_fun", true_fun)]
    return _branch(op, index, functions, operands)


def _is_function(*candidates: Any) -> bool:
    return all(map(callable, candidates))


def _predicate(pred: Any) -> Any:
    """A predicate as an int32 index: 1 for true."""
    if not is_array(pred):
        what = an(type(pred).__name__)
        raise ArgumentTypeError(
            f"pred must be a bool or a number, not {what}", op="cond", pred=pred
        )
    type_ = type_of(pred)
    if type_.shape:
        raise ShapeError(
            "the predicate must be a scalar",
            op="cond",
            pred=type_,
            fix="reduce it with all() or any(), or select elements with jnp.where",
        )
    if type_.dtype not in dtypes.NUMBER | dtypes.BOOL:
        raise DtypeError("pred must be a bool or a number", op="cond", pred=type_)
    if isinstance(pred, bool | int | float | complex | np.generic | np.ndarray):
        return np.int32(bool(pred))
    if type_.dtype not in dtypes.BOOL:
        pred = ne(pred, np.zeros((), dtypes.storage(type_.dtype)))
    return convert_element_type(pred, dtypes.int32)


@trimmed
def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = _ABSENT,
) -> Any:
    """branches[index](*operands); an index out of range takes the first or the last branch.

    Shapes: index is an integer scalar. Otherwise like cond. Raises: ArgumentError without branches;
    ArgumentTypeError, ShapeError, DtypeError.

    >>> lax.switch(1, [lambda x: x, lambda x: x * 10], 4.0)
    Array(40., dtype=float32, weak_type=True)
    """
    op = "switch"
    if operand is not _ABSENT:
        operands = (*operands, operand)
    branches = tuple(listed(branches, op, "branches"))
    if not branches:
        raise ArgumentError("needs at least one branch", op=op)
    for k, f in enumerate(branches):
        check_function(f, op, f"branches[{k}]")
    if not is_array(index):
        what = an(type(index).__name__)
        raise ArgumentTypeError(f"the index must be an integer, not {what}", op=op, index=index)
    type_ = type_of(index)
    if type_.shape:
        fix = "vmap the call, or select elements with jnp.select"
        raise ShapeError("the index must be a scalar", op=op, index=type_, fix=fix)
    if type_.dtype not in dtypes.INTEGER:
        raise DtypeError("the index must be an integer", op=op, index=type_)
    if len(branches) == 1:
        return branches[0](*operands)
    known = concrete(index)
    if isinstance(index, int | np.generic | np.ndarray):
        index = np.int32(min(max(int(index), 0), len(branches) - 1))
    else:
        dtype = dtypes.storage(type_.dtype)
        last = min(len(branches) - 1, dtypes.iinfo(dtype).max)
        index = clamp(np.zeros((), dtype), index, np.asarray(last, dtype))
        index = convert_element_type(index, dtypes.int32)
    if state.disable_jit and known is not None:
        return branches[min(max(int(known), 0), len(branches) - 1)](*operands)
    functions = [(f"branches[{k}]", f) for k, f in enumerate(branches)]
    return _branch(op, index, functions, operands)


def _branch(
    op: str, index: Any, functions: Sequence[tuple[str, Any]], operands: Sequence[Any]
) -> Any:
    leaves, structure = flatten(tuple(operands))
    check_arguments(leaves, tuple(operands), op, "operands", "the branches")
    types = [type_of(x) for x in leaves]

    def names() -> list[str]:
        return leaf_names(tuple(operands), "operands")

    traced = [trace(f, structure, types, op=op, label=label, names=names) for label, f in functions]
    _check_results(op, functions, traced)
    programs, captured = share_captures(traced)
    out_types = tuple(map(_common, *(t.out_types for t in traced)))
    branches = tuple(give_types(p, out_types) for p in programs)
    return traced[0].out.unflatten(cond_p.bind(index, *captured, *leaves, branches=branches))


def _check_results(op: str, functions: Sequence[tuple[str, Any]], traced: Sequence[Traced]) -> None:
    # For cond the order of the branches (false, true) is not the order in which users see them.
    order = [1, 0] if op == "cond" else range(len(traced))
    (first, f), *rest = (functions[k] for k in order)
    a, *others = (traced[k] for k in order)
    for (label, g), b in zip(rest, others, strict=True):
        where = f"{describe_function(f)} and {describe_function(g)}"
        if a.out != b.out:
            raise structure_error(
                f"{first} and {label} return different structures",
                (first, a.out),
                (label, b.out),
                op,
                f"let {where} return the same containers",
            )
        error = type_error(
            f"{first} and {label} return different types",
            (first, a.out_types),
            (label, b.out_types),
            a.out,
            op,
            f"convert in one of {where}",
        )
        if error is not None:
            raise error


__all__ = ["cond", "cond_p", "switch"]
