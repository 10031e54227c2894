"""Scatter: put, add, multiply, minimum, maximum of windows into an array at indices.

A window that does not lie inside the array as a whole is left out (except in mode CLIP). Updates of
the same element are combined in the order of the indices; where they overwrite, the last one stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import ANY, BOOL, NUMBER
from plait.core.primitive import LinearOperand, Primitive, register, zeros_like, zeros_of
from plait.core.program import run_program
from plait.core.sample import booleans, complex_, integers, real
from plait.core.stage import stage, stage_cached
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, MissingRuleError, ShapeError
from plait.ops import compare
from plait.ops.arithmetic import add, convert_element_type, div, mul, neg
from plait.ops.axes import broadcast_in_dim, full, reshape
from plait.ops.compare import eq, select
from plait.ops.gather import (
    CLIP,
    DROP,
    PROMISE,
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_dimension_numbers,
    check_dims,
    clamp_indices,
    gather_p,
    lower_indices,
    positions,
    stacked_starts,
    to_gather,
    window_sizes,
)
from plait.ops.iota import iota
from plait.ops.slices import add_rows


class Scatter(Primitive):
    """Base of the scatters: x with updates combined into it. StableHLO: scatter."""

    multiple_results = False
    accepts = NUMBER | BOOL

    def combine(self, b: Any, old: Any, update: Any, params: dict[str, Any]) -> Any:
        """The new element, as StableHLO."""
        raise self.missing("combine")

    def write(self, y: np.ndarray, where: Any, updates: np.ndarray, params: dict) -> None:
        """Combine updates into y, in their order, on NumPy arrays."""
        raise self.missing("write")

    def type(self, x, indices, updates, *, dims, mode, **params):
        given = {"operand": x, "indices": indices, "updates": updates}
        if x.dtype not in self.accepts:
            raise DtypeError(f"takes {dtypes.names_of(self.accepts)} operands", **given)
        if updates.dtype != x.dtype:
            fix = "convert with lax.convert_element_type"
            raise DtypeError("operand and updates differ in dtype", fix=fix, **given)
        check_dims(to_gather(dims), x, indices, updates.ndim)
        window = dims.update_window_dims
        rows = tuple(n for k, n in enumerate(updates.shape) if k not in window)
        if rows != indices.shape[:-1]:
            raise ShapeError(
                "the updates' axes that are not window axes must be those of the indices, but the "
                "last",
                **given,
            )
        sizes = self.sizes(dims, x, updates)
        if any(m > n for m, n in zip(sizes, x.shape, strict=True)):
            raise ShapeError("an update window is larger than the operand", **given)
        return ArrayType(x.shape, x.dtype, x.weak_type and updates.weak_type)

    @staticmethod
    def sizes(dims: ScatterDimensionNumbers, x: Any, updates: Any) -> tuple[int, ...]:
        windows = [updates.shape[a] for a in dims.update_window_dims]
        return window_sizes(to_gather(dims), x, windows)

    def numpy(self, x, indices, updates, *, dims, mode, **params):
        y = np.array(x)
        sizes = self.sizes(dims, x, updates)
        where, inside = positions(to_gather(dims), sizes, x.shape, indices, updates.shape)
        if mode is CLIP:
            inside = np.ones_like(inside)
        # As XLA does: one index vector after the other, all of its window at a time.
        window = dims.update_window_dims
        order = [*(k for k in range(updates.ndim) if k not in window), *window]
        inside, updates, *where = (np.transpose(a, order) for a in (inside, updates, *where))
        with np.errstate(all="ignore"):
            self.write(y, tuple(w[inside] for w in where), updates[inside], params)
        return y

    def batch(self, frame, xs, mapped, *, dims, **params):
        x = add_rows(xs[0], mapped[0], frame.size)
        updates = add_rows(xs[2], mapped[2], frame.size)
        window, inserted, scattered, batching = (tuple(d + 1 for d in axes) for axes in dims[:4])
        index_batching = dims.scatter_indices_batching_dims
        if mapped[1]:
            batching = (0, *batching)
            index_batching = (0, *(d + 1 for d in index_batching))
        else:  # the new axis is one more axis of every window
            window = (0, *window)
        dims = ScatterDimensionNumbers(window, inserted, scattered, batching, index_batching)
        return self.bind(x, xs[1], updates, dims=dims, **params), True

    def lower(self, b, x, indices, updates, *, dims, mode, unique, increasing, **params):
        if 0 in updates.shape:
            return x
        sizes = self.sizes(dims, x, updates)
        bounds = tuple(x.shape[a] - sizes[a] for a in dims.scatter_dims_to_operand_dims)
        indices = lower_indices(b, indices, bounds)
        if mode is CLIP:
            indices = clamp_indices(b, indices, bounds)
        numbers = (
            f"#stablehlo.scatter<update_window_dims = {list(dims.update_window_dims)}, "
            f"inserted_window_dims = {list(dims.inserted_window_dims)}, "
            f"input_batching_dims = {list(dims.operand_batching_dims)}, "
            f"scatter_indices_batching_dims = {list(dims.scatter_indices_batching_dims)}, "
            f"scatter_dims_to_operand_dims = {list(dims.scatter_dims_to_operand_dims)}, "
            f"index_vector_dim = {indices.ndim - 1}>"
        )
        scalar = ArrayType((), x.dtype)
        body = b.region(
            [scalar, scalar], lambda old, update: (self.combine(b, old, update, params),)
        )
        (y,) = b.emit(
            "stablehlo.scatter",
            (x, indices, updates),
            (ArrayType(x.shape, x.dtype),),
            f"scatter_dimension_numbers = {numbers}, "
            f"indices_are_sorted = {str(increasing).lower()}, "
            f"unique_indices = {str(unique).lower()}",
            [body],
        )
        return y


def _read(x: Any, indices: Any, updates: Any, *, dims, mode, unique, increasing) -> Any:
    """The elements of x where a scatter writes, in the shape of its updates; 0 where it drops."""
    return gather_p.bind(
        x,
        indices,
        dims=to_gather(dims),
        sizes=Scatter.sizes(dims, type_of(x), updates),
        mode=mode,
        fill_value=0,
        unique=unique,
        increasing=increasing,
    )


_COMMON = {"mode": PROMISE, "unique": False, "increasing": False}
_ROWS = ScatterDimensionNumbers((1,), (0,), (0,))
_POINTS = ScatterDimensionNumbers((), (0,), (0,))


def _params(dims: ScatterDimensionNumbers, **changes: Any) -> dict[str, Any]:
    return {**_COMMON, "dims": dims, **changes}


def _unique_samples():
    places = np.array([[2], [0]], np.int32)
    yield (real(4, 3), places, real(2, 3, low=0.3)), _params(_ROWS, unique=True)
    yield (real(300), np.array([[255], [3]], np.uint8), real(2)), _params(_POINTS, unique=True)
    outside = np.array([[2], [-1], [4], [99]], np.int32)
    yield (real(4, 3), outside, real(4, 2)), _params(_ROWS, mode=DROP, unique=True)
    together = ScatterDimensionNumbers((2,), (1,), (1,), (0,), (0,))
    indices = np.array([[[0], [2]], [[3], [1]]], np.int64)
    yield (real(2, 4, 3), indices, real(2, 2, 3, low=-1.9)), _params(together, unique=True)
    whole = ScatterDimensionNumbers((1,), (), ())
    yield (real(3), np.zeros((1, 0), np.int32), real(1, 3, low=-1.9)), _params(whole, unique=True)


def _samples():
    """Uses with indices that repeat, fall outside, and are of all widths."""
    yield from _unique_samples()
    repeated = np.array([[2], [0], [2], [2]], np.int32)
    yield (real(4, 3), repeated, real(4, 3, low=0.1)), _params(_ROWS)
    outside = np.array([[2], [-1], [4], [99]], np.int32)
    yield (real(4, 3), outside, real(4, 2)), _params(_ROWS, mode=CLIP)
    yield (
        (real(3, 4), np.array([[1, 2], [3, 0], [2, 9], [1, 2]], np.int64), real(4)),
        _params(ScatterDimensionNumbers((), (0, 1), (1, 0)), mode=DROP),
    )
    huge = np.array([[2**32 - 1], [3]], np.uint32)
    windows = ScatterDimensionNumbers((0,), (), (0,))
    yield (real(300), huge, real(2, 2)), _params(windows, mode=DROP)
    yield (real(3), np.zeros((0, 1), np.int32), real(0)), _params(_POINTS)
    yield (integers(4, 3), repeated, integers(4, 3)), _params(_ROWS)


class ScatterAdd(Scatter):
    """The scatter that adds; the transpose of gather."""

    name = "scatter_add"

    def combine(self, b, old, update, params):
        return b.add(old, update)

    def write(self, y, where, updates, params):
        np.add.at(y, where, updates)

    def jvp(self, xs, ts, **params):
        x, indices, updates = xs
        t_x = zeros_like(x) if ts[0] is None else ts[0]
        t_updates = zeros_like(updates) if ts[2] is None else ts[2]
        return self.bind(*xs, **params), self.bind(t_x, indices, t_updates, **params)

    def transpose(self, ct, x, indices, updates, **params):
        ct_updates = None
        if isinstance(updates, LinearOperand):
            ct_updates = _read(ct, indices, updates, **params)
        return ct if isinstance(x, LinearOperand) else None, None, ct_updates

    def samples(self):
        yield from _samples()
        repeated = np.array([[2], [0], [2], [2]], np.int32)
        yield (complex_(4), repeated, complex_(4)), _params(_POINTS)
        yield (booleans(4), repeated, booleans(4)), _params(_POINTS)


scatter_add_p = register(ScatterAdd())


class ScatterMul(Scatter):
    """The scatter that multiplies."""

    name = "scatter_mul"

    def combine(self, b, old, update, params):
        return b.mul(old, update)

    def write(self, y, where, updates, params):
        np.multiply.at(y, where, updates)

    def jvp(self, xs, ts, **params):
        x, indices, updates = xs
        y = self.bind(*xs, **params)
        t = None if ts[0] is None else self.bind(ts[0], indices, updates, **params)
        if ts[2] is not None:
            self._need_unique(params)
            slope = scatter_add_p.bind(zeros_like(x), indices, ts[2], **params)
            part = mul(x, slope)
            t = part if t is None else add(t, part)
        return y, t

    def transpose(self, ct, x, indices, updates, **params):
        if isinstance(x, LinearOperand):
            return self.bind(ct, indices, updates, **params), None, None
        self._need_unique(params)
        return None, None, _read(mul(ct, x), indices, updates, **params)

    def _need_unique(self, params: dict[str, Any]) -> None:
        if not params["unique"]:
            raise MissingRuleError(
                "has a derivative with respect to the updates only for unique indices",
                op=self.name,
                fix="pass unique_indices=True if no element is written twice",
            )

    def samples(self):
        yield from _unique_samples()
        # Repeated indices: of integers, which nobody differentiates.
        repeated = np.array([[2], [0], [2], [2]], np.int32)
        yield (integers(4, 3), repeated, integers(4, 3)), _params(_ROWS)
        outside = np.array([[2], [-1], [4], [99]], np.int64)
        yield (integers(4), outside, integers(4)), _params(_POINTS, mode=CLIP)
        yield (complex_(4), repeated[:2], complex_(2)), _params(_POINTS, unique=True)


scatter_mul_p = register(ScatterMul())


class ScatterExtreme(Scatter):
    """The scatters that keep the smaller or the larger; equal ones share the derivative."""

    def __init__(self, name: str, op: Any, ufunc: Any):
        self.name, self.op, self.ufunc = name, op, ufunc

    def combine(self, b, old, update, params):
        outer, b.result_types = b.result_types, (old.type,)
        try:
            return self.op.lower(b, old, update)
        finally:
            b.result_types = outer

    def write(self, y, where, updates, params):
        self.ufunc.at(y, where, updates)

    def jvp(self, xs, ts, **params):
        x, indices, updates = xs
        y = self.bind(*xs, **params)
        dtype = type_of(x).dtype
        won_x = convert_element_type(eq(x, y), dtype)
        reached = _read(y, indices, type_of(updates), **params)
        won = convert_element_type(eq(updates, reached), dtype)
        winners = scatter_add_p.bind(won_x, indices, won, **params)
        # Elements with NaN have no winner.
        winners = select(eq(winners, zeros_like(winners)), full((), 1, dtype), winners)
        t = None if ts[0] is None else mul(won_x, ts[0])
        if ts[2] is not None:
            base = zeros_like(x) if t is None else t
            t = scatter_add_p.bind(base, indices, mul(won, ts[2]), **params)
        return y, div(t, winners)

    def samples(self):
        yield from _samples()
        repeated = np.array([[2], [0], [2], [2]], np.int32)
        yield (booleans(4), repeated, booleans(4)), _params(_POINTS)


scatter_min_p = register(ScatterExtreme("scatter_min", compare.min, np.minimum))
scatter_max_p = register(ScatterExtreme("scatter_max", compare.max, np.maximum))


class ScatterPut(Scatter):
    """The scatter that overwrites; of several updates of one element, one stays."""

    name = "scatter"
    accepts = ANY

    def combine(self, b, old, update, params):
        return update

    def write(self, y, where, updates, params):
        y[where] = updates

    def jvp(self, xs, ts, **params):
        x, indices, updates = xs
        if ts[2] is None:
            none = zeros_like(updates)
            return self.bind(*xs, **params), self.bind(ts[0], indices, none, **params)
        if params["unique"] or not type_of(updates).size:
            t_x = zeros_like(x) if ts[0] is None else ts[0]
            return self.bind(*xs, **params), self.bind(t_x, indices, ts[2], **params)
        untouched, stays, number = _winners(type_of(x), indices, type_of(updates), params)
        # Every update of an element writes the value of the one that stays, so that y and its
        # tangent agree on it even where the order of writes is not fixed (on a GPU).
        flat = reshape(updates, (type_of(updates).size,))
        final = gather_p.bind(
            flat,
            reshape(number, (*type_of(number).shape, 1)),
            dims=to_gather(_POINTS),
            sizes=(1,),
            mode=CLIP,
            fill_value=None,
            unique=False,
            increasing=False,
        )
        y = self.bind(x, indices, final, **params)
        t_x = zeros_like(x) if ts[0] is None else _only(untouched, ts[0])
        return y, scatter_add_p.bind(t_x, indices, _only(stays, ts[2]), **params)

    def transpose(self, ct, x, indices, updates, **params):
        ct_x = ct_updates = None
        if isinstance(x, LinearOperand):
            type_ = updates.type if isinstance(updates, LinearOperand) else type_of(updates)
            ct_x = self.bind(ct, indices, zeros_of(type_), **params)
        if isinstance(updates, LinearOperand):
            ct_updates = _read(ct, indices, updates, **params)
            if not params["unique"]:
                _, stays, _ = _winners(type_of(ct), indices, updates.type, params)
                ct_updates = _only(stays, ct_updates)
        return ct_x, None, ct_updates

    def samples(self):
        yield from _samples()
        yield (booleans(4), np.array([[2], [0]], np.int32), booleans(2)), _params(_POINTS)


def _only(where: Any, t: Any) -> Any:
    return select(where, t, full((), 0, type_of(t).dtype))


def _winners(
    x: ArrayType, indices: Any, updates: ArrayType, params: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Which elements of x no update touches; which elements of the updates stay; and for every
    element of the updates the number of the one that stays in its place.
    """
    index = dtypes.int32 if updates.size < 2**31 - 1 else dtypes.int64
    numbers = reshape(add(iota(index, updates.size), np.ones((), index)), updates.shape)
    nobody = broadcast_in_dim(np.zeros((), index), x.shape, ())
    written = scatter_p.bind(nobody, indices, numbers, **params)
    reached = _read(written, indices, updates, **params)
    untouched = eq(written, zeros_like(written))
    return untouched, eq(reached, numbers), add(reached, np.asarray(-1, index))


scatter_p = register(ScatterPut())


class ScatterApply(Scatter):
    """The scatter that applies a function of one scalar to the elements it reaches.

    `updates` gives the shape of the windows only. `program` is the function. An element that is
    reached twice has it applied twice. It has no samples, as a Program is of one dtype.
    """

    name = "scatter_apply"
    accepts = ANY

    def combine(self, b, old, update, params):
        from plait.hlo.module import lower_program

        return lower_program(b, params["program"], [old])[0]

    def write(self, y, where, updates, params):
        program = params["program"]
        for place in zip(*where, strict=True):
            values = dict(zip(program.inputs, [y[place]], strict=True))
            for eqn in program.equations:
                xs = [np.asarray(values[a] if a in values else a.value) for a in eqn.inputs]
                out = eqn.op.numpy(*xs, **eqn.params)
                values.update(
                    zip(eqn.outputs, out if eqn.op.multiple_results else (out,), strict=True)
                )
            (result,) = program.outputs
            y[place] = values[result] if result in values else result.value

    def jvp(self, xs, ts, *, program, **params):
        from plait.interpreters.batch import Frame, batch_program
        from plait.interpreters.jvp import jvp_program

        if not params["unique"]:
            raise MissingRuleError(
                "has a derivative only for unique indices",
                op=self.name,
                fix="pass unique_indices=True if no element is reached twice",
            )
        x, indices, updates = xs
        y = self.bind(*xs, program=program, **params)
        if ts[0] is None:
            return y, None
        both, _ = jvp_program(program, (True,), (True,))
        size = type_of(updates).size
        rows, _ = batch_program(both, Frame(None, size), (True, True), (True, True))
        reached = [_read(a, indices, type_of(updates), **params) for a in (x, ts[0])]
        flat = [reshape(a, (size,)) for a in reached]
        _, t = run_program(rows, *flat)
        t = reshape(t, type_of(updates).shape)
        return y, scatter_p.bind(ts[0], indices, t, **params)


scatter_apply_p = register(ScatterApply())


def _scatter(
    op: Scatter,
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    **params: Any,
) -> Any:
    return op.bind(
        operand,
        scatter_indices,
        updates,
        dims=as_dimension_numbers(ScatterDimensionNumbers, dimension_numbers, op.name),
        mode=GatherScatterMode.from_any(mode),
        unique=bool(unique_indices),
        increasing=bool(indices_are_sorted),
        **params,
    )


def _public(
    op: Scatter, name: str, effect: str, example: tuple[str, str], more: str = ""
) -> Callable[..., Any]:
    def scatter_function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Any:
        return _scatter(
            op,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
        )

    scatter_function.__name__ = scatter_function.__qualname__ = name
    scatter_function.__doc__ = f"""{effect}

    Shapes: scatter_indices [*rows, k] holds one index vector a row; updates have the rows' axes
    and, at update_window_dims, those of a window. Modes: see GatherScatterMode; None drops windows
    that do not lie inside. {more}Raises: ShapeError, DtypeError, ArgumentError.

    >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> {example[0]}
    {example[1]}
    """
    return scatter_function


scatter = _public(
    scatter_p,
    "scatter",
    "Operand with windows at indices replaced by updates.",
    (
        "lax.scatter(jnp.zeros(4), jnp.array([[1], [3]]), jnp.array([5.0, 7.0]), dims)",
        "Array([0., 5., 0., 7.], dtype=float32)",
    ),
    "Which of several updates of one element stays is not defined on GPUs; on CPU it is the last. ",
)
scatter_add = _public(
    scatter_add_p,
    "scatter_add",
    "Operand with updates added at indices.",
    (
        "lax.scatter_add(jnp.zeros(4), jnp.array([[1], [1]]), jnp.array([5.0, 7.0]), dims)",
        "Array([ 0., 12.,  0.,  0.], dtype=float32)",
    ),
)
scatter_mul = _public(
    scatter_mul_p,
    "scatter_mul",
    "Operand multiplied by updates at indices.",
    (
        "lax.scatter_mul(jnp.ones(4), jnp.array([[1], [1]]), jnp.array([5.0, 7.0]), dims)",
        "Array([ 1., 35.,  1.,  1.], dtype=float32)",
    ),
)
scatter_min = _public(
    scatter_min_p,
    "scatter_min",
    "Operand with the smaller of it and the updates at indices.",
    (
        "lax.scatter_min(jnp.zeros(4), jnp.array([[1], [3]]), jnp.array([-5.0, 7.0]), dims)",
        "Array([ 0., -5.,  0.,  0.], dtype=float32)",
    ),
)
scatter_max = _public(
    scatter_max_p,
    "scatter_max",
    "Operand with the larger of it and the updates at indices.",
    (
        "lax.scatter_max(jnp.zeros(4), jnp.array([[1], [3]]), jnp.array([-5.0, 7.0]), dims)",
        "Array([0., 0., 0., 7.], dtype=float32)",
    ),
)


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    **kwargs: Any,
) -> Any:
    """Operand with updates subtracted at indices; arguments as for scatter_add.

    >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_sub(jnp.zeros(4), jnp.array([[1], [1]]), jnp.array([5.0, 7.0]), dims)
    Array([  0., -12.,   0.,   0.], dtype=float32)
    """
    return scatter_add(operand, scatter_indices, neg(updates), dimension_numbers, **kwargs)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Operand with func, a function of one scalar, applied at indices.

    update_shape is the shape that updates would have. An element that is reached twice has func
    applied twice. Raises: ShapeError, DtypeError, ArgumentError.

    >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, where = jnp.arange(4.0), jnp.array([[1], [3]])
    >>> lax.scatter_apply(x, where, lambda v: v * 10, dims, update_shape=(2,))
    Array([ 0., 10.,  2., 30.], dtype=float32)
    """
    if not callable(func):
        raise ArgumentTypeError("func must be a function", op="scatter_apply", func=func)
    type_ = type_of(operand)
    scalar = ArrayType((), type_.dtype)

    def on_scalar(x: Any) -> list[Any]:
        return [convert_element_type(func(x), type_.dtype)]

    program, captured = stage_cached(
        func,
        "scatter_apply",
        [scalar],
        lambda: stage(on_scalar, [scalar], transformation="scatter_apply"),
    )
    if captured:
        raise ArgumentError(
            "the function uses arrays from outside",
            op="scatter_apply",
            captured=", ".join(str(type_of(x)) for x in captured),
            fix="let it use its argument and Python numbers only",
        )
    updates = zeros_of(ArrayType(tuple(update_shape), type_.dtype))
    return _scatter(
        scatter_apply_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
        program=program,
    )


def batched_dynamic_update_slice(
    size: int, x: Any, update: Any, starts: Sequence[Any], mapped: Sequence[bool]
) -> Any:
    """dynamic_update_slice with other start indices in each row, as a scatter.

    x and update have the rows first.
    """
    shape, sizes = type_of(x).shape[1:], type_of(update).shape[1:]
    axes, indices = stacked_starts(size, starts, mapped, shape, sizes)
    dims = ScatterDimensionNumbers(
        tuple(range(1, len(shape) + 1)), (), tuple(a + 1 for a in axes), (0,), (0,)
    )
    return scatter_p.bind(x, indices, update, dims=dims, mode=CLIP, unique=True, increasing=True)


__all__ = [
    "ScatterDimensionNumbers",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]
