"""custom_linear_solve: solutions of linear equations, differentiated by the equation.

A x = b gives A dx = db - dA x: the tangent solves an equation with the same A, by the same solver.
And the cotangent of b solves one with the transposed A: how the solver works plays no part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core import dtypes
from plait.core.primitive import or_zeros, register
from plait.core.program import Program, reference, run_program
from plait.core.sample import positive, real
from plait.core.tracebacks import trimmed
from plait.core.tree import PyTreeDef, flatten, structure_error
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentTypeError
from plait.hlo.module import lower_program
from plait.interpreters.batch import add_axis, batch_program
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import jvp_program
from plait.interpreters.transpose import transpose_program
from plait.ops.arithmetic import div, mul, neg, sub
from plait.regions.region import Region, check_operands
from plait.regions.trace import (
    Traced,
    check_arguments,
    check_function,
    describe_function,
    trace,
    type_error,
)


class LinearSolve(Region):
    """Solutions x of A x = b, and what else the solver gives.

    Parameters: programs, the four (A, Aᵀ, solver, solver of Aᵀ), the last of which may be missing
    together with Aᵀ; counts, how many operands belong to A and Aᵀ, to the solver, to that of Aᵀ.
    The others are b.
    """

    name = "linear_solve"

    def type(self, *types, programs, counts):
        _, _, solve, _ = programs
        _, known, _, b = _parted(types, counts)
        check_operands(solve, (*known, *b))
        return solve.out_types

    def numpy(self, *xs, programs, counts):
        _, known, _, b = _parted(xs, counts)
        return reference(programs[2], *known, *b)

    def jvp(self, xs, ts, *, programs, counts):
        ys = self.bind(*xs, programs=programs, counts=counts)
        a, *_, b = _parted(xs, counts)
        ta, *_, tb = _parted(ts, counts)
        x = ys[: len(b)]
        moved = _pushed(programs[0], a, ta, x)
        tangents = [_minus(t, m) for t, m in zip(tb, moved, strict=True)]
        if all(t is None for t in tangents):
            return ys, (None,) * len(ys)
        right = [or_zeros(t, type_of(v)) for t, v in zip(tangents, b, strict=True)]
        dx = self.bind(*xs[: len(xs) - len(b)], *right, programs=programs, counts=counts)
        return ys, (*dx[: len(b)], *(None for _ in ys[len(b) :]))

    def transpose(self, cts, *xs, programs, counts):
        a, known, known_t, b = _parted(xs, counts)
        matvec, vecmat, solve, solve_t = programs
        if solve_t is None:
            raise ArgumentTypeError(
                "reverse mode needs a solver of the transposed equation",
                op="custom_linear_solve",
                fix="give transpose_solve, or symmetric=True if the equation is its own transpose",
            )
        right = [or_zeros(ct, type_of(v)) for ct, v in zip(cts[: len(b)], b, strict=True)]
        ys = self.bind(
            *a,
            *known_t,
            *known,
            *right,
            programs=(vecmat, matvec, solve_t, solve),
            counts=(counts[0], counts[2], counts[1]),
        )
        return (*(None for _ in (*a, *known, *known_t)), *ys[: len(b)])

    def batch(self, frame, xs, mapped, *, programs, counts):
        a_mapped, known, known_t, b_mapped = _parted(tuple(mapped), counts)
        b = (True,) * len(b_mapped)
        matvec, vecmat, solve, solve_t = programs
        batched = [
            None
            if p is None
            else batch_program(p, frame, (*marks, *b), (True,) * len(p.outputs))[0]
            for p, marks in (
                (matvec, a_mapped),
                (vecmat, a_mapped),
                (solve, known),
                (solve_t, known_t),
            )
        ]
        first = len(xs) - len(b)
        right = [
            x if m else add_axis(x, frame.size) for x, m in zip(xs[first:], b_mapped, strict=True)
        ]
        ys = self.bind(*xs[:first], *right, programs=tuple(batched), counts=counts)
        return ys, (True,) * len(ys)

    def lower(self, b, *xs, programs, counts):
        _, known, _, right = _parted(xs, counts)
        return lower_program(b, programs[2], (*known, *right))

    def samples(self):
        f = ArrayType((3,), dtypes.float64)
        times = stage_closed(lambda a, x: [mul(a, x)], [f, f], name="times")
        over = stage_closed(lambda a, b: [div(b, a)], [f, f], name="over")
        programs = (times, times, over, over)
        a = positive(3)
        yield (a, a, a, real(3)), {"programs": programs, "counts": (1, 1, 1)}


linear_solve_p = register(LinearSolve())


def _parted(xs: Sequence[Any], counts: tuple[int, int, int]) -> tuple[Any, Any, Any, Any]:
    """What belongs to A, to the solver, to that of Aᵀ, and b."""
    i, j, k = counts[0], counts[0] + counts[1], sum(counts)
    return tuple(xs[:i]), tuple(xs[i:j]), tuple(xs[j:k]), tuple(xs[k:])


def _pushed(matvec: Program, a: Sequence[Any], ta: Sequence[Any], x: Sequence[Any]) -> list[Any]:
    """The tangent of A x for constant x; None for zero."""
    nonzero = (*(t is not None for t in ta), *(False for _ in x))
    if not any(nonzero):
        return [None] * len(x)
    pushed, marks = jvp_program(matvec, nonzero)
    out = iter(run_program(pushed, *a, *x, *(t for t in ta if t is not None))[len(x) :])
    return [next(out) if m else None for m in marks]


def _minus(t: Any, moved: Any) -> Any:
    if moved is None:
        return t
    return neg(moved) if t is None else sub(t, moved)


# --- what users call


@trimmed
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of matvec(x) = b, found by solve(matvec, b), which need not have derivatives.

    x and b are trees of one structure. transpose_solve(vecmat, b) solves the transposed equation;
    with symmetric=True the equation is its own transpose. With has_aux the solvers return
    (x, anything more), and so does custom_linear_solve.
    Derivative: that of x as the solution, with respect to b and to what matvec closes over; reverse
    mode needs transpose_solve or symmetric. Raises: ArgumentTypeError, ShapeError, DtypeError.

    >>> a, b = np.array([2.0, 4.0]), np.array([1.0, 1.0])
    >>> solve = lambda matvec, b: b / a
    >>> lax.custom_linear_solve(lambda x: a * x, b, solve, symmetric=True)
    Array([0.5 , 0.25], dtype=float32)
    """
    op = "custom_linear_solve"
    check_function(matvec, op, "matvec")
    check_function(solve, op, "solve")
    leaves, shape = flatten(b)
    check_arguments(leaves, b, op, "b", "matvec and solve")
    types = [type_of(x) for x in leaves]
    arguments = flatten((b,))[1]

    def traced(function: Any, label: str, call: Any = None, key: Any = None) -> Traced:
        return trace(function, arguments, types, op=op, label=label, call=call, key=key)

    product = traced(matvec, "matvec")
    _check_like_b(product.out, product.out_types, shape, types, "matvec", matvec)
    solver = traced(solve, "solve", lambda y: solve(matvec, y), matvec)
    x_shape = _check_solution(solver, shape, types, has_aux, "solve", solve)
    vecmat = solver_t = None
    if symmetric:
        vecmat, solver_t = product.program, solver if transpose_solve is None else None
    if transpose_solve is not None:
        check_function(transpose_solve, op, "transpose_solve")
        if vecmat is None:
            vecmat = _transposed(product.program, len(product.captured))
        back = _Transposed(vecmat, product.captured, shape)
        solver_t = traced(
            transpose_solve, "transpose_solve", lambda y: transpose_solve(back, y), matvec
        )
        _check_solution(solver_t, shape, types, has_aux, "transpose_solve", transpose_solve)
    captured_t = solver_t.captured if solver_t else []
    ys = linear_solve_p.bind(
        *product.captured,
        *solver.captured,
        *captured_t,
        *leaves,
        programs=(product.program, vecmat, solver.program, solver_t.program if solver_t else None),
        counts=(len(product.captured), len(solver.captured), len(captured_t)),
    )
    return x_shape.unflatten(ys)


class _Transposed:
    """x -> Aᵀ x, for a solver of the transposed equation."""

    def __init__(self, program: Program, captured: Sequence[Any], shape: PyTreeDef):
        self.program, self.captured, self.shape = program, captured, shape

    def __call__(self, x: Any) -> Any:
        return self.shape.unflatten(run_program(self.program, *self.captured, *flatten(x)[0]))


def _transposed(program: Program, known: int) -> Program:
    linear = tuple(k >= known for k in range(len(program.inputs)))
    return transpose_program(program, linear, (True,) * len(program.outputs))[0]


def _check_solution(
    solver: Traced, shape: PyTreeDef, types: Sequence[ArrayType], has_aux: bool, name: str, f: Any
) -> PyTreeDef:
    """The structure of what custom_linear_solve returns. Raises if x has not the type of b."""
    out = solver.out
    x_shape = out
    if has_aux:
        pair = out.children()
        if len(pair) != 2 or out.node_data() is None or out.node_data()[0] is not tuple:
            raise ArgumentTypeError(
                f"with has_aux {name} must return a pair (x, anything more)",
                op="custom_linear_solve",
                **{name: describe_function(f)},
            )
        x_shape = pair[0]
    _check_like_b(x_shape, solver.out_types[: x_shape.num_leaves], shape, types, name, f)
    return out


def _check_like_b(
    out: PyTreeDef,
    out_types: Sequence[ArrayType],
    shape: PyTreeDef,
    types: Sequence[ArrayType],
    name: str,
    f: Any,
) -> None:
    fix = f"let {describe_function(f)} return what looks like b"
    summary = f"{name} must return what has the structure and types of b"
    if out != shape:
        raise structure_error(summary, (name, out), ("b", shape), "custom_linear_solve", fix)
    error = type_error(summary, (name, out_types), ("b", types), shape, "custom_linear_solve", fix)
    if error is not None:
        raise error


__all__ = ["custom_linear_solve", "linear_solve_p"]
