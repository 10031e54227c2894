"""Reductions other than the sum: max, min, product, logic, argmax, argmin, and any computation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.interpreter import Tracer
from plait.core.primitive import Primitive, register
from plait.core.program import Literal, Program, reference, run_program
from plait.core.sample import booleans, complex_, integers, real
from plait.core.stage import stage, stage_cached
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.hlo.module import lower_program
from plait.interpreters.batch import Frame, add_axis, batch
from plait.interpreters.jvp import jvp
from plait.ops import compare
from plait.ops.arithmetic import add, convert_element_type, div, mul
from plait.ops.axes import (
    broadcast_in_dim,
    normalise_axes,
    normalise_axis,
    permute,
    reduce_sum,
    reshape,
)
from plait.ops.elementwise import typed_scalar
from plait.ops.slices import concatenate, slice_in_dim


def lowest(dtype: Any) -> Any:
    """The value that max leaves every value unchanged with: -inf, or the least integer."""
    return _extreme(dtype, False)


def highest(dtype: Any) -> Any:
    """The value that min leaves every value unchanged with: inf, or the greatest integer."""
    return _extreme(dtype, True)


@functools.cache
def _extreme(dtype: Any, top: bool) -> Any:
    if dtype in dtypes.BOOL:
        return np.asarray(top)
    if dtype in dtypes.INTEGER:
        info = dtypes.iinfo(dtype)
        return np.asarray(info.max if top else info.min).astype(dtype)
    if dtype in dtypes.COMPLEX:
        end = np.inf if top else -np.inf
        return np.asarray(complex(end, end), dtype)
    info = dtypes.finfo(dtype)
    infinite = np.asarray(np.inf if top else -np.inf).astype(dtype)
    # Some 8-bit floats have no infinity.
    if np.isinf(infinite.astype(np.float32)):
        return infinite
    return np.asarray(info.max if top else info.min).astype(dtype)


def without(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """A shape without some of its axes."""
    return tuple(n for k, n in enumerate(shape) if k not in axes)


class _Reduction(Primitive):
    """Combine the elements along some axes by an operation that has an identity."""

    accepts: frozenset = dtypes.ANY
    hlo = ""

    def identity(self, dtype: Any) -> Any:
        raise NotImplementedError

    def type(self, x, *, axes):
        if x.dtype not in self.accepts:
            raise DtypeError(f"takes {dtypes.names_of(self.accepts)} operands", x=x)
        return x.with_shape(without(x.shape, axes))

    def batch(self, frame, xs, mapped, *, axes):
        return self.bind(xs[0], axes=tuple(a + 1 for a in axes)), True

    def combine(self, b, x, y):
        return b.binary(self.hlo, x, y)

    def lower(self, b, x, *, axes):
        init = b.constant(self.identity(x.dtype), x.dtype)
        return b.reduce([x], [init], axes, lambda a, c: (self.combine(b, a, c),))[0]


class _Extreme(_Reduction):
    """Largest or smallest; NaN if one is among the elements. Complex numbers: real part first."""

    accepts = dtypes.REAL | dtypes.BOOL | dtypes.COMPLEX
    order = ""

    def jvp(self, xs, ts, *, axes):
        # The elements that attain the extreme share the derivative equally. The counts are taken
        # in float32 at least: half precision cannot count.
        (x,), (t,) = xs, ts
        y = self.bind(x, axes=axes)
        kept = tuple(k for k in range(type_of(x).ndim) if k not in axes)
        whole = type_of(x).shape
        if 0 in whole:
            return y, None
        dtype = type_of(t).dtype
        narrow = dtype in dtypes.FLOAT and dtype.itemsize <= 2
        wide = dtypes.float32 if narrow else dtype
        hits = compare.eq(x, broadcast_in_dim(y, whole, kept))
        hits = convert_element_type(hits, wide)
        counts = reduce_sum(hits, axes)
        total = reduce_sum(mul(convert_element_type(t, wide), hits), axes)
        return y, convert_element_type(div(total, counts), dtype)

    def combine(self, b, x, y):
        if x.dtype not in dtypes.COMPLEX:
            return b.binary(self.hlo, x, y)
        part = dtypes.real_of(x.dtype)
        xr, yr = b.unary("real", x, part), b.unary("real", y, part)
        xi, yi = b.unary("imag", x, part), b.unary("imag", y, part)
        later = b.binary("and", b.compare("EQ", xr, yr), b.compare(self.order, xi, yi))
        first = b.binary("or", b.compare(self.order, xr, yr), later)
        nan = b.compare("NE", x, x)
        return b.select(b.binary("or", first, nan), x, y)

    def samples(self):
        yield (real(2, 3, 4),), {"axes": (1,)}
        yield (real(2, 3),), {"axes": (0, 1)}
        yield (integers(2, 3),), {"axes": (0,)}
        yield (booleans(2, 3),), {"axes": (1,)}
        yield (complex_(5, 3),), {"axes": (0,)}
        yield (np.array([[1.0, np.nan, 2.0]]),), {"axes": (1,)}
        yield (np.zeros((2, 0), np.float32),), {"axes": (1,)}


class ReduceMax(_Extreme):
    """The largest element along some axes; NaN if there is one. StableHLO: reduce with maximum."""

    name = "reduce_max"
    hlo, order = "maximum", "GT"

    def identity(self, dtype):
        return lowest(dtype)

    def numpy(self, x, *, axes):
        with np.errstate(invalid="ignore"):
            return np.asarray(np.max(x, axis=axes, initial=lowest(x.dtype)[()]), x.dtype)


class ReduceMin(_Extreme):
    """The smallest element along some axes; NaN if there is one. StableHLO: reduce with minimum."""

    name = "reduce_min"
    hlo, order = "minimum", "LT"

    def identity(self, dtype):
        return highest(dtype)

    def numpy(self, x, *, axes):
        with np.errstate(invalid="ignore"):
            return np.asarray(np.min(x, axis=axes, initial=highest(x.dtype)[()]), x.dtype)


class ReduceProd(_Reduction):
    """The product of the elements along some axes. StableHLO: reduce with multiply."""

    name = "reduce_prod"
    accepts = dtypes.NUMBER
    hlo = "multiply"

    def identity(self, dtype):
        return np.ones((), dtype)

    def numpy(self, x, *, axes):
        narrow = x.dtype.itemsize <= 2 and x.dtype in dtypes.FLOAT
        with np.errstate(all="ignore"):
            return np.prod(x, axis=axes, dtype=np.float32 if narrow else x.dtype).astype(x.dtype)

    def jvp(self, xs, ts, *, axes):
        # Product rule on a tree of products: right where elements are zero, since nothing is
        # divided, and as cheap as a few passes over x.
        (x,), (t,) = xs, ts
        y = self.bind(x, axes=axes)
        kept = tuple(k for k in range(type_of(x).ndim) if k not in axes)
        rest = type_of(y).shape
        rows = int(np.prod([type_of(x).shape[a] for a in axes], dtype=np.int64))
        if rows == 0:
            return y, None
        x, t = (reshape(permute(a, (*axes, *kept)), (rows, *rest)) for a in (x, t))
        while rows > 1:
            half = rows // 2
            x1, x2 = slice_in_dim(x, 0, half), slice_in_dim(x, half, 2 * half)
            t1, t2 = slice_in_dim(t, 0, half), slice_in_dim(t, half, 2 * half)
            left = slice_in_dim(x, 2 * half, rows), slice_in_dim(t, 2 * half, rows)
            x, t = mul(x1, x2), add(mul(t1, x2), mul(x1, t2))
            if rows % 2:
                x, t = concatenate([x, left[0]], 0), concatenate([t, left[1]], 0)
            rows -= half
        return y, reshape(t, rest)

    def lower(self, b, x, *, axes):
        # As in reduce_sum, half precision is carried in float32.
        narrow = x.dtype in dtypes.FLOAT and x.dtype.itemsize <= 2
        wide = b.convert(x, dtypes.float32) if narrow else x
        return b.convert(super().lower(b, wide, axes=axes), x.dtype)

    def samples(self):
        yield (real(2, 3, 4),), {"axes": (1,)}
        yield (real(5, 3),), {"axes": (0, 1)}
        yield (np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0]]),), {"axes": (1,)}
        yield (integers(2, 3),), {"axes": (0,)}
        yield (complex_(5),), {"axes": (0,)}
        yield (np.zeros((2, 0)),), {"axes": (1,)}


class _Logic(_Reduction):
    accepts = dtypes.BOOL | dtypes.INTEGER
    ufunc: Any = None

    def numpy(self, x, *, axes):
        return np.asarray(
            self.ufunc.reduce(x, axis=axes, initial=self.identity(x.dtype)[()]), x.dtype
        )

    def samples(self):
        yield (booleans(2, 3, 4),), {"axes": (1,)}
        yield (integers(2, 3),), {"axes": (0, 1)}
        yield (integers(3, 2, low=0, high=9, dtype=np.uint8),), {"axes": (0,)}
        yield (np.zeros((2, 0), bool),), {"axes": (1,)}

    differentiable = False


class ReduceAnd(_Logic):
    """Bitwise (logical) and along some axes. StableHLO: reduce with and."""

    name = "reduce_and"
    hlo, ufunc = "and", np.bitwise_and

    def identity(self, dtype):
        return np.asarray(True) if dtype in dtypes.BOOL else np.asarray(-1).astype(dtype)


class ReduceOr(_Logic):
    """Bitwise (logical) or along some axes. StableHLO: reduce with or."""

    name = "reduce_or"
    hlo, ufunc = "or", np.bitwise_or

    def identity(self, dtype):
        return np.zeros((), dtype)


class ReduceXor(_Logic):
    """Bitwise (logical) exclusive or along some axes. StableHLO: reduce with xor."""

    name = "reduce_xor"
    hlo, ufunc = "xor", np.bitwise_xor

    def identity(self, dtype):
        return np.zeros((), dtype)


reduce_max_p = register(ReduceMax())
reduce_min_p = register(ReduceMin())
reduce_prod_p = register(ReduceProd())
reduce_and_p = register(ReduceAnd())
reduce_or_p = register(ReduceOr())
reduce_xor_p = register(ReduceXor())


def _reduction(op: _Reduction, x: Any, axes: Any) -> Any:
    found = tuple(sorted(normalise_axes(axes, type_of(x).ndim, op.name)))
    return op.bind(x, axes=found) if found else x


def reduce_max(operand: Any, axes: Sequence[int] | None) -> Any:
    """Largest element along axes, which leave the shape. Any NaN makes NaN; nothing makes -inf, or
    the least integer. Elements that tie share the derivative equally.

    >>> lax.reduce_max(jnp.array([[1.0, 5.0], [3.0, jnp.nan]]), (1,))
    Array([ 5., nan], dtype=float32)
    """
    return _reduction(reduce_max_p, operand, axes)


def reduce_min(operand: Any, axes: Sequence[int] | None) -> Any:
    """Smallest element along axes, which leave the shape. Any NaN makes NaN; nothing makes inf, or
    the greatest integer. Elements that tie share the derivative equally.

    >>> lax.reduce_min(jnp.array([[1.0, 5.0], [3.0, jnp.nan]]), (1,))
    Array([ 1., nan], dtype=float32)
    """
    return _reduction(reduce_min_p, operand, axes)


def reduce_prod(operand: Any, axes: Sequence[int] | None) -> Any:
    """Product along axes, which leave the shape. Dtype unchanged.

    >>> lax.reduce_prod(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([ 2, 12], dtype=int32)
    """
    return _reduction(reduce_prod_p, operand, axes)


def reduce_and(operand: Any, axes: Sequence[int] | None) -> Any:
    """Bitwise and, along axes, of booleans or integers.

    >>> lax.reduce_and(jnp.array([[True, False], [True, True]]), (1,))
    Array([False,  True], dtype=bool)
    """
    return _reduction(reduce_and_p, operand, axes)


def reduce_or(operand: Any, axes: Sequence[int] | None) -> Any:
    """Bitwise or, along axes, of booleans or integers.

    >>> lax.reduce_or(jnp.array([[True, False], [False, False]]), (1,))
    Array([ True, False], dtype=bool)
    """
    return _reduction(reduce_or_p, operand, axes)


def reduce_xor(operand: Any, axes: Sequence[int] | None) -> Any:
    """Bitwise exclusive or, along axes, of booleans or integers.

    >>> lax.reduce_xor(jnp.array([5, 3, 5]), (0,))
    Array(3, dtype=int32)
    """
    return _reduction(reduce_xor_p, operand, axes)


class _ArgExtreme(Primitive):
    """The first position of the largest or smallest element along an axis; the first NaN wins."""

    differentiable = False
    extreme: _Extreme

    def type(self, x, *, axis, index_dtype):
        if x.dtype not in _Extreme.accepts:
            raise DtypeError("takes numbers or booleans", x=x)
        if index_dtype not in dtypes.INTEGER:
            raise DtypeError("an index dtype is an integer dtype", index_dtype=index_dtype.name)
        if x.shape[axis] == 0:
            raise ShapeError("the axis has no elements", x=x, axis=axis)
        return ArrayType(without(x.shape, (axis,)), index_dtype)

    def numpy(self, x, *, axis, index_dtype):
        find = np.argmax if self.extreme is reduce_max_p else np.argmin
        if x.dtype not in dtypes.COMPLEX and x.dtype.kind == "V":
            x = x.astype(np.float64)
        return np.asarray(find(x, axis=axis)).astype(index_dtype)

    def batch(self, frame, xs, mapped, *, axis, index_dtype):
        return self.bind(xs[0], axis=axis + 1, index_dtype=index_dtype), True

    def lower(self, b, x, *, axis, index_dtype):
        # Two simple passes, extreme then first match: XLA vectorises both, which it does not do
        # for one reduction over pairs of value and index.
        y = self.extreme.lower(b, x, axes=(axis,))
        kept = [k for k in range(x.ndim) if k != axis]
        hit = b.compare("EQ", x, b.broadcast_in_dim(y, x.shape, kept))
        if x.dtype in dtypes.INEXACT:
            # A NaN equals nothing, but makes the extreme NaN: then it alone is a match.
            hit = b.binary("or", hit, b.compare("NE", x, x))
        count = dtypes.int32 if x.shape[axis] < 2**31 else dtypes.int64
        where = b.select(
            hit, b.iota(x.shape, count, axis), b.full(x.shape, x.shape[axis] - 1, count)
        )
        last = b.constant(np.asarray(x.shape[axis] - 1), count)
        (first,) = b.reduce([where], [last], (axis,), lambda a, c: (b.binary("minimum", a, c),))
        return b.convert(first, index_dtype)

    def samples(self):
        yield (real(2, 3, 4),), {"axis": 1, "index_dtype": dtypes.int32}
        yield (integers(5, 9),), {"axis": 1, "index_dtype": np.dtype(np.uint8)}
        yield (booleans(7),), {"axis": 0, "index_dtype": dtypes.int32}
        yield (complex_(5, 3),), {"axis": 0, "index_dtype": dtypes.int32}
        nans = np.array([1.0, np.nan, np.inf, np.nan, -np.inf])
        yield (nans,), {"axis": 0, "index_dtype": dtypes.int64}


class ArgMax(_ArgExtreme):
    """The first position of the largest element along an axis; the first NaN, if there is one."""

    name = "argmax"
    extreme = reduce_max_p


class ArgMin(_ArgExtreme):
    """The first position of the smallest element along an axis; the first NaN, if there is one."""

    name = "argmin"
    extreme = reduce_min_p


argmax_p = register(ArgMax())
argmin_p = register(ArgMin())


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The first position of the largest element along an axis (of the first NaN, if there is one).

    The result has the integer dtype index_dtype. Raises: ShapeError for an axis without elements.

    >>> lax.argmax(jnp.array([1.0, 5.0, 5.0]), 0, jnp.int32)
    Array(1, dtype=int32)
    """
    return _arg(argmax_p, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The first position of the smallest element along an axis (of the first NaN, if there is one).

    The result has the integer dtype index_dtype. Raises: ShapeError for an axis without elements.

    >>> lax.argmin(jnp.array([3.0, 1.0, 1.0]), 0, jnp.int32)
    Array(1, dtype=int32)
    """
    return _arg(argmin_p, operand, axis, index_dtype)


def _arg(op: Primitive, x: Any, axis: int, index_dtype: Any) -> Any:
    axis = normalise_axis(axis, type_of(x).ndim, op.name)
    dtype = dtypes.canonical(dtypes.as_dtype(index_dtype))
    return op.bind(x, axis=axis, index_dtype=dtype)


# --- reductions by any computation


def combine_rows(program: Program, *operands: Any) -> tuple[Any, ...]:
    """A Program of scalars applied to each element of arrays of one shape."""
    shape = type_of(operands[0]).shape
    size = int(np.prod(shape, dtype=np.int64))
    flat = [reshape(x, (size,)) for x in operands]
    ys, mapped = batch(
        lambda *xs: run_program(program, *xs), flat, [True] * len(flat), Frame(None, size)
    )
    return tuple(
        reshape(y if m else add_axis(y, size), shape) for y, m in zip(ys, mapped, strict=True)
    )


class Reduce(Primitive):
    """Combine the elements along some axes by a computation on scalars, from initial values.

    Operands: the arrays, all of one shape, then an initial value for each, which must leave every
    value unchanged. The computation takes an accumulator for each, then an element for each.
    """

    name = "reduce"
    multiple_results = True

    def type(self, *xs, computation, axes):
        operands, inits = halves(xs)
        check_computation(operands, inits, computation)
        return tuple(x.with_shape(without(x.shape, axes)).strong() for x in operands)

    def numpy(self, *xs, computation, axes):
        operands, inits = halves(xs)
        kept = [k for k in range(operands[0].ndim) if k not in axes]
        rest = [operands[0].shape[k] for k in kept]
        rows = [np.transpose(x, (*kept, *axes)).reshape(*rest, -1) for x in operands]
        outs = [np.empty(rest, x.dtype) for x in operands]
        for place in np.ndindex(*rest):
            acc: list[Any] = list(inits)
            for k in range(rows[0].shape[-1]):
                acc[:] = reference(computation, *acc, *(np.asarray(r[(*place, k)]) for r in rows))
            for out, value in zip(outs, acc, strict=True):
                out[place] = value
        return tuple(outs)

    def fold(self, *xs: Any, computation: Program, axes: Sequence[int]) -> tuple[Any, ...]:
        """The reduction as a tree of computations on whole arrays: derivatives go through it."""
        operands, inits = halves(xs)
        whole = type_of(operands[0]).shape
        kept = tuple(k for k in range(len(whole)) if k not in axes)
        rest = tuple(whole[k] for k in kept)
        rows = int(np.prod([whole[a] for a in axes], dtype=np.int64))
        acc = [broadcast_in_dim(i, rest, ()) for i in inits]
        if rows == 0 or 0 in rest:
            return tuple(acc)
        ys = [reshape(permute(x, (*axes, *kept)), (rows, *rest)) for x in operands]
        while rows > 1:
            half = rows // 2
            left = [slice_in_dim(y, 2 * half, rows) for y in ys]
            pairs = [slice_in_dim(y, 0, half) for y in ys]
            pairs += [slice_in_dim(y, half, 2 * half) for y in ys]
            ys = list(combine_rows(computation, *pairs))
            if rows % 2:
                ys = [concatenate([y, rest_], 0) for y, rest_ in zip(ys, left, strict=True)]
            rows -= half
        return combine_rows(computation, *acc, *(reshape(y, rest) for y in ys))

    def jvp(self, xs, ts, **params):
        return jvp(lambda *args: self.fold(*args, **params), xs, ts)

    def batch(self, frame, xs, mapped, *, computation, axes):
        operands, inits = halves(xs)
        if any(mapped[len(operands) :]):
            # XLA reduces from scalars only; a value per row enters by the tree.
            return batch(
                lambda *args: self.fold(*args, computation=computation, axes=axes),
                xs,
                mapped,
                frame,
            )
        operands = [
            x if m else add_axis(x, frame.size)
            for x, m in zip(operands, mapped[: len(operands)], strict=True)
        ]
        ys = self.bind(*operands, *inits, computation=computation, axes=tuple(a + 1 for a in axes))
        return ys, (True,) * len(operands)

    def lower(self, b, *xs, computation, axes):
        operands, inits = halves(xs)
        return b.reduce(operands, inits, axes, lambda *args: lower_program(b, computation, args))

    def samples(self):
        def smooth(x, y):
            return [add(add(x, y), mul(x, y))]

        program = scalar_program(smooth, (dtypes.float64,))
        yield (
            (real(3, 5, low=-0.5, high=0.5), np.zeros(())),
            {
                "computation": program,
                "axes": (1,),
            },
        )
        yield (
            (real(3, 2, 4, low=-0.5, high=0.5), np.zeros(())),
            {
                "computation": program,
                "axes": (0, 2),
            },
        )

        def first_larger(a, i, b, j):
            first = compare.ge(a, b)
            return [compare.select(first, a, b), compare.select(first, i, j)]

        pair = scalar_program(first_larger, (dtypes.float64, dtypes.int32))
        yield (
            (
                real(3, 4),
                np.arange(12, dtype=np.int32).reshape(3, 4),
                np.asarray(-np.inf),
                np.asarray(0, np.int32),
            ),
            {"computation": pair, "axes": (1,)},
        )


reduce_p = register(Reduce())


def halves(xs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The two halves of a sequence: operands and initial values."""
    n = len(xs) // 2
    return xs[:n], xs[n:]


def check_computation(
    operands: Sequence[ArrayType], inits: Sequence[ArrayType], computation: Program
) -> None:
    """Raise unless operands have one shape, initial values are scalars and all dtypes agree."""
    for k, (x, init) in enumerate(zip(operands, inits, strict=True)):
        if x.shape != operands[0].shape:
            raise ShapeError("the operands' shapes differ", x=operands[0], y=x)
        if init.shape:
            raise ShapeError("an initial value is a scalar", operand=x, init=init)
        if init.dtype != x.dtype:
            raise DtypeError("an initial value has its operand's dtype", operand=x, init=init)
        result = computation.out_types[k]
        if result.shape or result.dtype != x.dtype:
            raise DtypeError(
                "the computation returns, for each operand, a scalar of its dtype",
                operand=x,
                returns=result,
            )


def scalar_program(function: Callable[..., Sequence[Any]], operands: Sequence[Any]) -> Program:
    """A function (accumulators..., elements...) -> accumulators of scalars, as a Program.

    Raises: ArgumentError if the function uses a traced value from outside.
    """
    types = [ArrayType((), dtype) for dtype in operands] * 2
    program, captured = stage(function, types, transformation="the computation of a reduction")
    if not captured:
        return program
    if any(isinstance(x, Tracer) or type_of(x).shape for x in captured):
        raise ArgumentError(
            "the computation of a reduction uses an array from outside",
            captured=", ".join(str(type_of(x)) for x in captured),
            fix="pass it as another operand",
        )
    literals = {
        var: Literal(np.asarray(x), var.type)
        for var, x in zip(program.inputs, captured, strict=False)
    }

    def closed(atom: Any) -> Any:
        return literals.get(atom, atom)

    for eqn in program.equations:
        eqn.inputs = [closed(a) for a in eqn.inputs]
    outputs = [closed(a) for a in program.outputs]
    return Program(program.inputs[len(captured) :], program.equations, outputs, program.name)


_MONOIDS = {"add", "mul", "max", "min", "and", "or", "xor"}


def monoid_of(program: Program) -> str | None:
    """The name of the operation if a Program is add, mul, max, min, and, or, xor of its inputs."""
    if len(program.inputs) != 2 or len(program.equations) != 1:
        return None
    (eqn,) = program.equations
    same = set(eqn.inputs) == set(program.inputs) and len(eqn.outputs) == 1
    if same and eqn.op.name in _MONOIDS and program.outputs == tuple(eqn.outputs):
        return eqn.op.name
    return None


def scalar_like(init: Any, dtype: Any, op: str) -> Any:
    """A Python number as a scalar of a dtype; arrays as they are."""
    return typed_scalar(init, dtype, op) if isinstance(init, bool | int | float | complex) else init


def is_identity(init: Any, identity: np.ndarray) -> bool:
    """Whether an initial value is known to be the identity of an operation."""
    if isinstance(init, Tracer):
        return False
    value = np.asarray(init)
    return value.shape == () and bool(value == identity)


def flat_computation(
    computation: Callable[..., Any], operands: Any, inits: Any, op: str
) -> tuple[list[Any], list[Any], Program, Callable[[Sequence[Any]], Any]]:
    """(operands, initial values, Program, rebuild) of a reduction over trees of arrays.

    Raises: ArgumentError if the trees differ.
    """
    if not callable(computation):
        raise ArgumentTypeError("computation must be a function", op=op, computation=computation)
    xs, structure = tree.flatten(operands)
    starts = tree.flatten_up_to(structure, inits, op)
    if not xs:
        raise ArgumentError("there is no operand", op=op)
    types = [type_of(x) for x in xs]
    starts = [scalar_like(i, t.dtype, op) for i, t in zip(starts, types, strict=True)]

    def function(*args: Any) -> Sequence[Any]:
        acc, new = halves(args)
        return tree.flatten_up_to(
            structure, computation(structure.unflatten(acc), structure.unflatten(new)), op
        )

    element_types = [t.with_shape(()).strong() for t in types]
    dtypes_ = [t.dtype for t in types]
    program, _ = stage_cached(
        computation,
        ("reduction", structure),
        element_types,
        lambda: (scalar_program(function, dtypes_), ()),
    )
    return xs, starts, program, structure.unflatten


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
) -> Any:
    """Combine the elements along dimensions by a computation on scalars.

    operands is an array or a tree of arrays of one shape, init_values a tree of scalars alike;
    computation(a, b), on trees of scalars, must be associative and commutative, and
    computation(init, a) must be a. Derivatives go through the computation.
    Raises: ShapeError, DtypeError or ArgumentError if these do not fit together.

    >>> lax.reduce(jnp.array([[1, 2], [3, 4]]), 1, lax.mul, (0, 1))
    Array(24, dtype=int32)
    """
    xs, inits, program, rebuild = flat_computation(computation, operands, init_values, "reduce")
    axes = tuple(sorted(normalise_axes(dimensions, type_of(xs[0]).ndim, "reduce")))
    known = monoid_of(program)
    if known is not None:
        (x,), (init,) = xs, inits
        check_computation([type_of(x)], [type_of(init)], program)
        return rebuild([_by_name(known, x, init, axes)])
    return rebuild(reduce_p.bind(*xs, *inits, computation=program, axes=axes))


def _by_name(known: str, x: Any, init: Any, axes: tuple[int, ...]) -> Any:
    dtype = type_of(x).dtype
    if dtype in dtypes.BOOL:
        known = {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(known, known)
    if known == "add":
        y, identity = reduce_sum(x, axes), np.zeros((), dtypes.storage(dtype))
    else:
        op = _OPS[known]
        y, identity = _reduction(op, x, axes), op.identity(dtype)
    if is_identity(init, identity):
        return y
    rest = type_of(y).shape
    return _JOIN[known](broadcast_in_dim(init, rest, ()), y)


_OPS: dict[str, _Reduction] = {
    "mul": reduce_prod_p,
    "max": reduce_max_p,
    "min": reduce_min_p,
    "and": reduce_and_p,
    "or": reduce_or_p,
    "xor": reduce_xor_p,
}
_JOIN = {
    "add": add,
    "mul": mul,
    "max": compare.max,
    "min": compare.min,
    "and": compare.bitwise_and,
    "or": compare.bitwise_or,
    "xor": compare.bitwise_xor,
}

__all__ = [
    "argmax",
    "argmin",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_xor",
]
