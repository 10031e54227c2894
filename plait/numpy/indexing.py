"""Reading `x[...]`, take and take_along_axis.

Static ints and slices become one slice op; traced scalars a dynamic_slice; arrays of positions a
gather. Executed at once (not traced), a static block is read with its start as data, so that `x[0]`
and `x[1]` share one executable.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.source import called
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError, UnsupportedError
from plait.numpy.index_parsing import Index, Positions, Range, Static, normalise, parse
from plait.numpy.promotion import (
    axis_in,
    broadcast_shapes,
    constant,
    is_arraylike,
    is_base,
    operand,
    out_is_none,
    value,
)
from plait.ops import axes as ops
from plait.ops import compare
from plait.ops.arithmetic import convert_element_type
from plait.ops.dynamic_slice import dynamic_slice_p
from plait.ops.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather_p,
)
from plait.ops.slices import concatenate_p, slice_p

CLIP = GatherScatterMode.CLIP
PROMISE = GatherScatterMode.PROMISE_IN_BOUNDS
FILL = GatherScatterMode.FILL_OR_DROP


def parse_mode(mode: Any, default: GatherScatterMode, op: str) -> tuple[GatherScatterMode, bool]:
    """(what to do with positions outside, whether they wrap around) for an argument `mode=`."""
    if mode is None:
        return default, False
    if mode == "wrap":
        return PROMISE, True
    try:
        return GatherScatterMode.from_any(mode), False
    except ArgumentError as error:
        error.op = op
        error.fix = "'fill', 'drop', 'clip', 'wrap' or 'promise_in_bounds'"
        raise


def getitem(x: Any, key: Any) -> Any:
    """x[key] of an array or tracer; positions outside are clamped."""
    return _read(x, parse(x.type.shape, key), CLIP)


def get(
    x: Any,
    key: Any,
    mode: Any = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
) -> Any:
    """x[key]; see `At.get`."""
    chosen, wrap = parse_mode(mode, CLIP, "x.at[...].get")
    if fill_value is not None and mode is None:
        chosen = FILL
    return _read(
        x,
        parse(x.shape, key),
        chosen,
        wrap,
        fill_value,
        unique_indices,
        indices_are_sorted,
        wrap_negative_indices,
    )


def _read(
    x: Any,
    index: Index,
    mode: GatherScatterMode,
    wrap: bool = False,
    fill_value: Any = None,
    unique: bool = False,
    increasing: bool = False,
    negative: bool = True,
) -> Any:
    if index.windows:
        rest = index._replace(windows=())
        y = _read(window(x, index), rest, mode, wrap, fill_value, unique, increasing, negative)
        if mode is not FILL:
            return y
        return compare.select(window_inside(x, index), y, _filled(y.shape, fill_value, y.dtype))
    if index.masked_axes:
        x = with_masked_axes(x, index)
    entries, arrays, scalars = index.entries, False, False
    for n, entry in zip(x.type.shape, entries, strict=True):
        kind = type(entry)
        if kind is Positions:
            arrays = arrays or bool(entry.array.ndim)
            scalars = scalars or not entry.array.ndim
        elif kind is Static and not entry.inside:
            _check_not_empty(n)
            scalars = scalars or mode is FILL or wrap
    if not arrays and not scalars:
        return _block(x, index)
    if not arrays and mode is not FILL:
        return _dynamic_block(x, index, wrap, negative)
    return _gather(x, index, mode, wrap, fill_value, unique, increasing, negative)


def window_starts(x: Any, index: Index) -> list[Any]:
    """Where the part of x begins that an index with `windows` is about."""
    starts: list[Any] = [_place(0, n) for n in x.type.shape]
    for axis, start, _ in index.windows:
        starts[axis] = start
    return starts


def window(x: Any, index: Index) -> Any:
    """The part of x that an index with `windows` is about."""
    sizes = list(x.type.shape)
    for axis, _, extent in index.windows:
        sizes[axis] = extent
    return dynamic_slice_p.bind(x, *window_starts(x, index), sizes=tuple(sizes))


def window_inside(x: Any, index: Index) -> Any:
    """Whether all of the part of x that an index with `windows` is about lies inside."""
    inside: Any = True
    for axis, start, extent in index.windows:
        dtype = type_of(start).dtype
        fits = compare.bitwise_and(
            compare.ge(start, np.asarray(0, dtype)),
            compare.le(start, np.asarray(x.type.shape[axis] - extent, dtype)),
        )
        inside = fits if inside is True else compare.bitwise_and(inside, fits)
    return inside


def with_masked_axes(x: Any, index: Index) -> Any:
    """X with the axes of size 1 that boolean scalars stand for."""
    shape = list(x.shape)
    for k in index.masked_axes:
        shape.insert(k, 1)
    return ops.reshape(x, shape)


def _check_not_empty(n: int) -> None:
    if not n:
        raise OutOfRangeError("an axis of size 0 has no elements", op="x[...]")


def clamped(entry: Static, n: int) -> int:
    """The nearest position inside."""
    return min(max(entry.position, 0), n - 1)


def final_shape(index: Index, sizes: dict[int, Any], group: tuple[int, ...] | None) -> list[int]:
    """The shape of the result: sizes of ranges by entry, those of positions as a group."""
    adjacent = is_adjacent(index)
    shape: list[int] = [] if group is None or adjacent else [*group]
    placed = group is None or not adjacent
    for item in index.layout:
        if item is None:
            shape.append(1)
        elif type(index.entries[item]) is Range:
            shape.append(sizes[item])
        elif group is not None and not placed:
            shape.extend(group)
            placed = True
    return shape


def is_adjacent(index: Index) -> bool:
    """Whether all ints and positions of an index stand side by side."""
    kinds = [item is not None and type(index.entries[item]) is not Range for item in index.layout]
    if True not in kinds:
        return True
    first = kinds.index(True)
    return all(kinds[first : first + sum(kinds)])


def _block(x: Any, index: Index) -> Any:
    """A block of static bounds, by one slice."""
    shape = x.type.shape
    starts, sizes, steps, whole = [], [], [], True
    kept: dict[int, int] = {}
    backwards = []
    for k, (n, entry) in enumerate(zip(shape, index.entries, strict=True)):
        if type(entry) is Static:
            starts.append(clamped(entry, n))
            sizes.append(1)
            steps.append(1)
            whole = whole and n == 1
            continue
        start, step, size = entry
        if step < 0:
            if size > 1:
                backwards.append(k)
            start, step = start + (size - 1) * step if size else 0, -step
        starts.append(start if size else 0)
        sizes.append(size)
        steps.append(step if size > 1 else 1)
        kept[k] = size
        whole = whole and size == n
    if not whole:
        if is_base() and all(s == 1 for s in steps):
            places = [_place(s, n) for s, n in zip(starts, shape, strict=True)]
            x = dynamic_slice_p.bind(x, *places, sizes=tuple(sizes))
        else:
            limits = tuple(
                s + (m - 1) * t + 1 if m else s
                for s, m, t in zip(starts, sizes, steps, strict=True)
            )
            x = slice_p.bind(x, starts=tuple(starts), limits=limits, strides=tuple(steps))
    if backwards:
        x = ops.rev_p.bind(x, axes=tuple(backwards))
    return ops.reshape(x, final_shape(index, kept, None))


def _place(start: int, n: int) -> np.ndarray:
    return np.asarray(start, np.int32 if n < 2**31 else np.int64)


def _dynamic_block(x: Any, index: Index, wrap: bool, negative: bool) -> Any:
    """A block whose place is known at run time along some axes, by dynamic_slice."""
    rest = tuple(
        entry if type(entry) is Range and entry.step != 1 and entry.size > 1 else None
        for entry in index.entries
    )
    if any(rest):
        x = _only_ranges(x, rest)
    starts: list[Any] = []
    sizes, kept = [], {}
    for k, (n, entry) in enumerate(zip(x.type.shape, index.entries, strict=True)):
        if type(entry) is Range:
            start = 0 if rest[k] is not None else entry.start
            starts.append(
                np.asarray(start if entry.size else 0, np.int32 if n < 2**31 else np.int64)
            )
            sizes.append(entry.size)
            kept[k] = entry.size
            continue
        _check_not_empty(n)
        if type(entry) is Static:
            position = entry.position % n if wrap else clamped(entry, n)
            starts.append(_place(position, n))
        else:
            starts.append(usual_positions(entry.array, n, "wrap" if wrap else None, negative))
        sizes.append(1)
    x = dynamic_slice_p.bind(x, *starts, sizes=tuple(sizes))
    return ops.reshape(x, final_shape(index, kept, None))


def usual_positions(positions: Any, n: int, mode: str | None, negative: bool) -> Any:
    """Positions on an axis of size n, counted from its start where they may be otherwise."""
    return normalise(positions, n, mode) if negative or mode else positions


def _only_ranges(x: Any, ranges: tuple[Any, ...]) -> Any:
    """X cut to ranges along axes; None stands for the whole axis."""
    entries = tuple(Range(0, 1, n) if r is None else r for n, r in zip(x.type.shape, ranges))
    return _block(x, Index(entries, tuple(range(len(entries))), ()))


def _gather(
    x: Any,
    index: Index,
    mode: GatherScatterMode,
    wrap: bool,
    fill_value: Any,
    unique: bool,
    increasing: bool,
    negative: bool,
) -> Any:
    ranges: list[Any] = []
    positions: dict[int, Any] = {}
    shape = x.type.shape
    for k, (n, entry) in enumerate(zip(shape, index.entries, strict=True)):
        if type(entry) is Positions:
            ranges.append(None)
            positions[k] = entry.array
        elif type(entry) is Static:
            if entry.inside or (mode is not FILL and not wrap):
                ranges.append(Range(clamped(entry, n), 1, 1))
            else:
                ranges.append(None)
                positions[k] = np.asarray(entry.position if entry.position >= n else -n - 1)
        else:
            ranges.append(None if entry.is_whole(n) else entry)
    if any(r is not None for r in ranges):
        x = _only_ranges(x, tuple(ranges))
    shape = x.type.shape
    axes = tuple(positions)
    inside = all(known_inside(p, shape[k]) or wrap for k, p in positions.items())
    group = broadcast_shapes(*(tuple(p.shape) for p in positions.values()))
    if math.prod(group) and any(shape[k] == 0 for k in axes) and mode is not FILL:
        _check_not_empty(0)
    indices = index_vectors(
        [
            usual_positions(p, shape[k], "wrap" if wrap else None, negative)
            for k, p in positions.items()
        ],
        group,
    )
    kept = {k: shape[k] for k, e in enumerate(index.entries) if type(e) is Range}
    # The axes of positions take the place of the first of them, or come first of all.
    at = 0
    if is_adjacent(index):
        for item in index.layout:
            if item is not None and type(index.entries[item]) is not Range:
                break
            at += item is not None
    order = list(range(len(kept)))
    offset = tuple(k if k < at else k + len(group) for k in order)
    sizes = tuple(n if k in kept else 1 for k, n in enumerate(shape))
    final = final_shape(index, kept, group)
    if not math.prod(final) or any(shape[k] == 0 for k in axes):
        # Nothing is read: the result is empty, or all of it lies outside.
        return _filled(tuple(final), fill_value, x.dtype)
    number = fill_number(fill_value, x.dtype) if mode is FILL else None
    y = gather_p.bind(
        x,
        indices,
        dims=GatherDimensionNumbers(
            offset, tuple(k for k in range(len(shape)) if k not in kept), axes
        ),
        sizes=sizes,
        mode=PROMISE if inside and mode is not PROMISE else mode,
        fill_value=None if inside else number,
        unique=bool(unique),
        increasing=bool(increasing),
    )
    return ops.reshape(y, final)


def _filled(shape: tuple[int, ...], fill_value: Any, dtype: Any) -> Any:
    number = fill_number(fill_value, dtype)
    if number is None:
        number = np.nan if dtype in dtypes.INEXACT else True
        if dtype in dtypes.INTEGER:
            info = dtypes.iinfo(dtype)
            number = info.min if dtype in dtypes.INT else info.max
    return ops.broadcast_to(constant(np.asarray(number).astype(dtypes.storage(dtype))), shape)


def known_inside(positions: Any, n: int) -> bool:
    """Whether positions are known now, and all of them lie on an axis of size n."""
    if not isinstance(positions, np.ndarray):
        return False
    return not positions.size or (positions.min() >= -n and positions.max() < n)


def fill_number(fill_value: Any, dtype: Any) -> Any:
    """A fill value as a Python number; None for the default (NaN, or the extreme integer)."""
    if fill_value is None:
        return None
    op = called("x.at[...].get")
    if not is_arraylike(fill_value) or np.ndim(fill_value):
        raise ArgumentError("fill_value is a scalar", op=op, fill_value=fill_value)
    number = np.asarray(fill_value).astype(dtypes.storage(dtype)).item()
    return None if number != number else number


def index_vectors(parts: list[Any], shape: tuple[int, ...]) -> Any:
    """Positions along several axes, broadcast to a shape, side by side along a new last axis."""
    if all(isinstance(p, np.ndarray) for p in parts):
        parts = [np.broadcast_to(p, shape) for p in parts]
        if not parts:
            return np.zeros((*shape, 0), np.int32)
        return np.ascontiguousarray(np.stack(parts, -1))
    wide = any(type_of(p).dtype.itemsize == 8 for p in parts)
    common = dtypes.int64 if wide else dtypes.int32
    same = len({type_of(p).dtype for p in parts}) == 1
    columns = []
    for p in parts:
        if not same:
            p = p.astype(common) if isinstance(p, np.ndarray) else _signed(p, common)
        columns.append(ops.reshape(ops.broadcast_to(p, shape), (*shape, 1)))
    return columns[0] if len(columns) == 1 else concatenate_p.bind(*columns, axis=len(shape))


def _signed(positions: Any, dtype: Any) -> Any:
    t = type_of(positions)
    if t.dtype in dtypes.UINT and t.dtype.itemsize >= dtype.itemsize:
        # What does not fit the signed dtype is outside of any array.
        from plait.ops.compare import min as smaller

        positions = smaller(positions, np.asarray(dtypes.iinfo(dtype).max, t.dtype))
    return convert_element_type(positions, dtype)


# --- take


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The elements of `a` at positions along an axis, or in the flattened array.

    Modes for positions outside: "fill" (the default: NaN, or the extreme integer, or fill_value),
    "clip" (negative ones are 0, as in NumPy), "wrap", "promise_in_bounds".

    >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([[0, 2], [-1, 1]]))
    Array([[10, 30],
           [30, 20]], dtype=int32)
    """
    out_is_none("take", out)
    if mode == "raise":
        raise UnsupportedError(
            "mode 'raise' needs the values of the indices", op="take", fix="mode='fill'"
        )
    a, indices = value("take", a), operand("take", indices, 1)
    if type_of(indices).dtype in dtypes.BOOL:  # the numbers 0 and 1 here, not a mask
        indices = convert_element_type(indices, np.int32)
    if axis is None:
        a, axis = ops.reshape(a, (a.size,)), 0
    axis = axis_in(axis, a.ndim, "take")
    if not a.shape[axis] and type_of(indices).size:
        summary = "an axis of size 0 has no elements"
        raise OutOfRangeError(summary, op="take", a=a, indices=indices)
    chosen, wrap = parse_mode(mode, FILL, "take")
    if chosen is CLIP:
        indices = clipped(indices, a.shape[axis])
    key = (*(slice(None),) * axis, indices)
    index = parse(a.shape, key, "take")
    negative = chosen is not CLIP
    return _read(a, index, chosen, wrap, fill_value, unique_indices, indices_are_sorted, negative)


def clipped(indices: Any, n: int) -> Any:
    """Positions on an axis of size n for mode="clip": known ones, none counted from the end."""
    if isinstance(indices, np.ndarray | np.generic | int):
        return np.clip(indices, 0, max(n - 1, 0))
    return indices


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """For each position of the other axes, the elements of arr along one axis at indices.

    The other axes broadcast. Modes as for `take`.

    >>> x = jnp.array([[3, 1], [2, 5]])
    >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
    Array([[1, 3],
           [2, 5]], dtype=int32)
    """
    arr, indices = value("take_along_axis", arr), operand("take_along_axis", indices, 1)
    if axis is None:
        arr, axis = ops.reshape(arr, (arr.size,)), 0
    chosen, wrap = parse_mode(mode, FILL, "take_along_axis")
    places, dims, sizes = along_axis("take_along_axis", arr, indices, axis, wrap)
    shape = type_of(places).shape[:-1]
    if not math.prod(shape) or not arr.shape[dims[2][0]]:
        return _filled(shape, fill_value, arr.dtype)
    offset, collapsed, axes, batching, index_batching = dims
    return gather_p.bind(
        arr,
        places,
        dims=GatherDimensionNumbers(offset, collapsed, axes, batching, index_batching),
        sizes=sizes,
        mode=chosen,
        fill_value=fill_number(fill_value, arr.dtype) if chosen is FILL else None,
        unique=False,
        increasing=False,
    )


def along_axis(op: str, arr: Any, indices: Any, axis: int, wrap: bool) -> tuple[Any, Any, Any]:
    """(index vectors, gather dimension numbers, window sizes) for positions along one axis."""
    t = type_of(indices)
    if t.dtype not in dtypes.INTEGER:
        raise DtypeError("needs integers as indices", op=op, indices=t)
    if t.ndim != arr.ndim:
        raise ShapeError("needs as many axes of indices as of the array", op=op, arr=arr, indices=t)
    axis = axis_in(axis, arr.ndim, op)
    shape = list(t.shape)
    batching, ones = [], []
    for k, (n, m) in enumerate(zip(arr.shape, t.shape, strict=True)):
        if k == axis:
            continue
        if n != m and n != 1 and m != 1:
            raise ShapeError(
                f"axis {k} of the array and of indices do not broadcast", op=op, arr=arr, indices=t
            )
        shape[k] = m if n == 1 else n
        (ones if n == 1 and m != 1 else batching).append(k)
    if isinstance(indices, np.ndarray | np.generic | int):
        indices = np.asarray(indices)
    places = normalise(indices, arr.shape[axis], "wrap" if wrap else None)
    places = ops.broadcast_to(places, tuple(shape))
    places = ops.reshape(places, (*shape, 1))
    collapsed = tuple(sorted([axis, *ones]))
    dims = ((), collapsed, (axis,), tuple(batching), tuple(batching))
    return places, dims, (1,) * arr.ndim


__all__ = ["get", "getitem", "take", "take_along_axis"]
