"""dynamic_slice and its update: blocks of an array whose place is known as the program runs.

Start indices may have any integer dtype, and differ in it; they are clamped so that the block lies
inside the operand.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.plain import ints, listed, static_int
from plait.core.primitive import Linear, LinearOperand, or_zeros, register, zeros_of
from plait.core.sample import integers, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, ShapeError, describe, several
from plait.ops.arithmetic import add, convert_element_type
from plait.ops.axes import expand_dims, normalise_axis
from plait.ops.compare import clamp, lt, select
from plait.ops.slices import add_rows, index_in_dim, squeeze, typed


def check_starts(starts: Sequence[ArrayType], x: ArrayType) -> None:
    """Raise unless there is one integer scalar for each axis of x."""
    if len(starts) != x.ndim:
        raise ShapeError(
            "needs one start index for each axis of x", x=x, start_indices=f"{len(starts)} of them"
        )
    for k, start in enumerate(starts):
        if start.shape or start.dtype not in dtypes.INTEGER:
            given: dict[str, Any] = {f"start index {k}": start}
            raise DtypeError("start indices are integer scalars", x=x, **given)


def _clamped(starts: Sequence[Any], x: Any, sizes: Sequence[int]) -> tuple[builtins.slice, ...]:
    firsts = (min(max(int(a), 0), n - m) for a, n, m in zip(starts, x.shape, sizes, strict=True))
    return tuple(builtins.slice(a, a + m) for a, m in zip(firsts, sizes, strict=True))


def _lower_starts(b: Any, starts: Sequence[Any], shape: Sequence[int], sizes: Sequence[int]) -> Any:
    """Start indices of one dtype, wide enough for every position.

    StableHLO wants them alike, and XLA clamps in their dtype: to 255 at most for uint8.
    """
    found = {s.dtype for s in starts}
    if len(found) == 1 and next(iter(found)).itemsize >= 4:
        return starts
    index = dtypes.int32 if all(n < 2**31 for n in shape) else dtypes.int64
    out = []
    for start, n, m in zip(starts, shape, sizes, strict=True):
        if start.dtype.itemsize >= 4 and start.dtype != index:
            start = b.binary("minimum", start, b.constant(np.asarray(n - m), start.dtype))
            # What is below the range of the narrower dtype must stay negative.
            if start.dtype in dtypes.INT:
                start = b.binary("maximum", start, b.constant(np.asarray(0), start.dtype))
        out.append(b.convert(start, index))
    return out


def common_starts(starts: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """Start indices along axes of given sizes in one dtype, of at least 32 bits, by ops."""
    found = {type_of(s).dtype for s in starts}
    if len(found) == 1 and next(iter(found)).itemsize >= 4:
        return list(starts)
    index = dtypes.int32 if all(n < 2**31 for n in sizes) else dtypes.int64
    out = []
    for start, n in zip(starts, sizes, strict=True):
        dtype = type_of(start).dtype
        if dtype.itemsize >= 4 and dtype != index:  # hold what the narrower dtype cannot
            start = clamp(np.zeros((), dtype), start, np.asarray(n, dtype))
        out.append(convert_element_type(start, index))
    return out


class DynamicSlice(Linear):
    """The block of x of given sizes that begins at start indices, clamped so that it fits."""

    name = "dynamic_slice"

    def type(self, x, *starts, sizes):
        check_starts(starts, x)
        if len(sizes) != x.ndim or any(
            not 0 <= m <= n for m, n in zip(sizes, x.shape, strict=False)
        ):
            raise ShapeError(
                "needs a slice size for each axis of x, none larger than the axis",
                x=x,
                slice_sizes=sizes,
            )
        return x.with_shape(sizes)

    def numpy(self, x, *starts, sizes):
        return x[_clamped(starts, x, sizes)]

    def jvp(self, xs, ts, *, sizes):
        return self.bind(*xs, sizes=sizes), self.bind(ts[0], *xs[1:], sizes=sizes)

    def transpose(self, ct, x, *starts, sizes):
        ct_x = dynamic_update_slice_p.bind(zeros_of(x.type), ct, *starts)
        return ct_x, *(None for _ in starts)

    def batch(self, frame, xs, mapped, *, sizes):
        if not any(mapped[1:]):
            first = np.zeros((), dtypes.int32)
            return self.bind(xs[0], first, *xs[1:], sizes=(frame.size, *sizes)), True
        from plait.ops.gather import batched_dynamic_slice

        return batched_dynamic_slice(frame.size, xs, mapped, sizes), True

    def lower(self, b, x, *starts, sizes):
        if not sizes:
            return x
        return b.dynamic_slice(x, _lower_starts(b, starts, x.shape, sizes), sizes)

    def samples(self):
        yield (real(4, 5), np.int32(1), np.int32(2)), {"sizes": (2, 3)}
        yield (real(4, 5), np.int32(-3), np.int32(9)), {"sizes": (2, 3)}
        yield (real(300), np.uint8(255)), {"sizes": (2,)}
        yield (real(6, 3), np.uint8(200), np.int32(1)), {"sizes": (2, 1)}
        yield (integers(3), np.int32(1)), {"sizes": (0,)}
        yield (real(),), {"sizes": ()}


dynamic_slice_p = register(DynamicSlice())


class DynamicUpdateSlice(Linear):
    """x with a block replaced that begins at start indices, clamped so that the block fits."""

    name = "dynamic_update_slice"

    def type(self, x, update, *starts):
        check_starts(starts, x)
        if update.dtype != x.dtype:
            raise DtypeError("x and the update differ in dtype", x=x, update=update)
        if update.ndim != x.ndim or any(m > n for m, n in zip(update.shape, x.shape, strict=True)):
            raise ShapeError("the update must have x's rank and fit into x", x=x, update=update)
        return ArrayType(x.shape, x.dtype, x.weak_type and update.weak_type)

    def numpy(self, x, update, *starts):
        y = np.array(x)
        y[_clamped(starts, x, update.shape)] = update
        return y

    def jvp(self, xs, ts):
        x, update, *starts = xs
        t, t_update = or_zeros(ts[0], type_of(x)), or_zeros(ts[1], type_of(update))
        return self.bind(*xs), self.bind(t, t_update, *starts)

    def transpose(self, ct, x, update, *starts):
        ct_x = ct_update = None
        if isinstance(x, LinearOperand):
            ct_x = self.bind(ct, zeros_of(typed(update)), *starts)
        if isinstance(update, LinearOperand):
            ct_update = dynamic_slice_p.bind(ct, *starts, sizes=update.shape)
        return ct_x, ct_update, *(None for _ in starts)

    def batch(self, frame, xs, mapped):
        x = add_rows(xs[0], mapped[0], frame.size)
        update = add_rows(xs[1], mapped[1], frame.size)
        if not any(mapped[2:]):
            return self.bind(x, update, np.zeros((), dtypes.int32), *xs[2:]), True
        from plait.ops.scatter import batched_dynamic_update_slice

        return batched_dynamic_update_slice(frame.size, x, update, xs[2:], mapped[2:]), True

    def lower(self, b, x, update, *starts):
        if not starts:
            return update
        return b.dynamic_update_slice(x, update, _lower_starts(b, starts, x.shape, update.shape))

    def samples(self):
        yield (real(4, 5), real(2, 3), np.int32(1), np.int32(2)), {}
        yield (real(4, 5), real(2, 3), np.int32(-3), np.int32(9)), {}
        yield (real(300), real(2), np.uint8(255)), {}
        yield (real(4), real(0), np.int32(1)), {}
        yield (integers(3), integers(2), np.uint32(7)), {}


dynamic_update_slice_p = register(DynamicUpdateSlice())


def start_scalars(
    starts: Any, shape: Sequence[int], op: str, allow_negative: bool | Sequence[bool] = True
) -> list[Any]:
    """Start indices as scalars, one for each axis; negative ones count from the end.

    `starts` is a sequence of scalars or an integer array of rank 1.
    """
    if not isinstance(starts, tuple | list):
        type_ = type_of(starts)
        if type_.ndim != 1:
            raise ShapeError("start indices are a sequence of scalars", op=op, start_indices=type_)
        if isinstance(starts, np.ndarray):
            starts = list(starts)
        else:
            starts = [index_in_dim(starts, k, 0, keepdims=False) for k in range(type_.shape[0])]
    if len(starts) != len(shape):
        raise ShapeError(
            "needs one start index for each axis of the operand, which has "
            f"{several(len(shape), 'axis', 'axes')}",
            op=op,
            start_indices=", ".join(map(describe, starts)),
        )
    if isinstance(allow_negative, bool):
        allow_negative = (allow_negative,) * len(shape)
    allow_negative = tuple(listed(allow_negative, op, "allow_negative_indices"))
    if len(allow_negative) != len(shape):
        raise ShapeError(
            "allow_negative_indices is one bool, or one for each axis of the operand, which has "
            f"{several(len(shape), 'axis', 'axes')}",
            op=op,
            allow_negative_indices=tuple(allow_negative),
        )
    return [
        _start_scalar(start, n, op, allowed)
        for start, n, allowed in zip(starts, shape, allow_negative, strict=True)
    ]


def _start_scalar(start: Any, n: int, op: str, allow_negative: bool) -> Any:
    if isinstance(start, np.ndarray) and start.ndim == 0:
        start = start[()]
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        index = int(start)
        if index < 0 and not allow_negative:
            raise ArgumentError(
                f"start index {index} is negative, and allow_negative_indices is False",
                op=op,
                fix=f"count from the start: the axis has {several(n, 'element')}",
            )
        index += n if index < 0 else 0
        wide = dtypes.int32 if n < 2**31 else dtypes.int64
        # Positions beyond the end are clamped anyway: keep them in the dtype's range.
        return np.asarray(min(max(index, -1), n), wide)
    type_ = type_of(start)
    if type_.dtype not in dtypes.INTEGER or type_.shape:
        raise DtypeError("start indices are integer scalars", op=op, start_index=type_)
    if not allow_negative or type_.dtype in dtypes.UINT:
        return start
    if type_.dtype.itemsize < 4:
        start = convert_element_type(start, dtypes.int32)
    dtype = type_of(start).dtype
    return select(lt(start, np.zeros((), dtype)), add(start, np.asarray(n, dtype)), start)


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The block of operand of static sizes that begins at start_indices.

    start_indices: a sequence of integer scalars, or an integer array [operand.ndim]; negative ones
    count from the end unless allow_negative_indices is False. Then they are clamped, so that the
    block lies inside the operand. Raises ShapeError, DtypeError.

    >>> plait.jit(lambda x, i: lax.dynamic_slice(x, (i,), (3,)))(jnp.arange(10), 8)
    Array([7, 8, 9], dtype=int32)
    """
    shape = type_of(operand).shape
    starts = start_scalars(start_indices, shape, "dynamic_slice", allow_negative_indices)
    sizes = ints(slice_sizes, "dynamic_slice", "slice_sizes")
    return dynamic_slice_p.bind(operand, *starts, sizes=sizes)


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """Replace the block of operand that begins at start_indices by update.

    start_indices as for dynamic_slice. Raises ShapeError, DtypeError.

    >>> lax.dynamic_update_slice(jnp.zeros(5), jnp.ones(2), (9,))
    Array([0., 0., 0., 1., 1.], dtype=float32)
    """
    shape = type_of(operand).shape
    starts = start_scalars(start_indices, shape, "dynamic_update_slice", allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """dynamic_slice along one axis, whole along the others.

    >>> lax.dynamic_slice_in_dim(jnp.arange(10), jnp.int32(4), 3)
    Array([4, 5, 6], dtype=int32)
    """
    shape = type_of(operand).shape
    axis = normalise_axis(axis, len(shape), "dynamic_slice_in_dim")
    starts: list[Any] = [0] * len(shape)
    sizes = list(shape)
    starts[axis] = start_index
    sizes[axis] = static_int(slice_size, "dynamic_slice_in_dim", "slice_size")
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Take operand at a clamped index along an axis, which stays with size 1 if keepdims.

    >>> lax.dynamic_index_in_dim(jnp.array([[1, 2], [3, 4]]), 9, keepdims=False)
    Array([3, 4], dtype=int32)
    """
    axis = normalise_axis(axis, type_of(operand).ndim, "dynamic_index_in_dim")
    y = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return y if keepdims else squeeze(y, (axis,))


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """dynamic_update_slice along one axis, from 0 along the others.

    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(5), jnp.ones(2), 1, axis=0)
    Array([0., 1., 1., 0., 0.], dtype=float32)
    """
    ndim = type_of(operand).ndim
    axis = normalise_axis(axis, ndim, "dynamic_update_slice_in_dim")
    starts: list[Any] = [0] * ndim
    starts[axis] = start_index
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: Any,
    update: Any,
    index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Replace one row of operand, at a clamped index along an axis; update may lack the axis.

    >>> lax.dynamic_update_index_in_dim(jnp.zeros((2, 2)), jnp.ones(2), 1, axis=0)
    Array([[0., 0.],
           [1., 1.]], dtype=float32)
    """
    type_ = type_of(operand)
    axis = normalise_axis(axis, type_.ndim, "dynamic_update_index_in_dim")
    have = type_of(update).shape
    if len(have) != type_.ndim:
        wanted = type_.shape[:axis] + type_.shape[axis + 1 :]
        if have != wanted:
            raise ShapeError(
                f"the update is one row of the operand, of shape {wanted}",
                op="dynamic_update_index_in_dim",
                operand=operand,
                update=type_of(update),
            )
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
]
