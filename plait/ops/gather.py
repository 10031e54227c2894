"""Gather: pick windows of an array at indices; and what gather and scatter share.

The meaning of the dimension numbers is that of StableHLO's gather and scatter. The last axis of the
indices always holds one position along each of the operand axes they address.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.plain import ints, is_one_of
from plait.core.primitive import Primitive, register, zeros_of
from plait.core.sample import complex_, integers, real
from plait.core.source import called
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, describe
from plait.hlo.types import array_i64
from plait.ops.axes import broadcast_in_dim, expand_dims
from plait.ops.dynamic_slice import common_starts
from plait.ops.slices import concatenate_p


class GatherScatterMode(enum.Enum):
    """What gather and scatter do at indices out of bounds.

    CLIP: the nearest window inside. FILL_OR_DROP: gather gives a fill value, scatter changes
    nothing. PROMISE_IN_BOUNDS: the caller promises that there are none. ONE_HOT: as FILL_OR_DROP.

    >>> dims = lax.GatherDimensionNumbers((), (0,), (0,))
    >>> x, where = jnp.array([5, 6, 7]), jnp.array([[1], [9]])
    >>> lax.gather(x, where, dims, (1,), mode=lax.GatherScatterMode.CLIP)
    Array([6, 7], dtype=int32)
    """

    CLIP = 0
    FILL_OR_DROP = 1
    PROMISE_IN_BOUNDS = 2
    ONE_HOT = 3

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode that a mode or its name means; None is FILL_OR_DROP. Raises ArgumentError."""
        if isinstance(mode, GatherScatterMode):
            return mode
        if not is_one_of(mode, _MODES):
            names = ", ".join(repr(n) for n in _MODES if n)
            raise ArgumentError(
                f"{describe(mode)!r} is not a mode of gather and scatter",
                op=called(),
                fix=f"one of {names}",
            )
        return _MODES[mode]


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}
CLIP, PROMISE = GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS
DROP = GatherScatterMode.FILL_OR_DROP


class GatherDimensionNumbers(NamedTuple):
    """How gather reads its operands.

    offset_dims: axes of the result that run along a window, increasing.
    collapsed_slice_dims: axes of the operand along which windows have size 1 and which the result
        lacks.
    start_index_map: the axis of the operand that each entry of an index vector addresses.
    operand_batching_dims, start_indices_batching_dims: axes of the operand and of the indices that
        run together.

    >>> dims = lax.GatherDimensionNumbers((), (0,), (0,))  # one number for each index
    >>> lax.gather(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), dims, slice_sizes=(1,))
    Array([7, 5], dtype=int32)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """How scatter reads its operands.

    update_window_dims: axes of the updates that run along a window, increasing.
    inserted_window_dims: axes of the operand along which windows have size 1 and which the updates
        lack.
    scatter_dims_to_operand_dims: the axis of the operand that each entry of an index vector
        addresses.
    operand_batching_dims, scatter_indices_batching_dims: axes of the operand and of the indices
        that run together.

    >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))  # one number for each index
    >>> lax.scatter(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), jnp.array([1, 2]), dims)
    Array([2, 6, 1], dtype=int32)
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


def to_scatter(dims: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The scatter that writes where a gather reads."""
    return ScatterDimensionNumbers(*dims)


def to_gather(dims: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads where a scatter writes."""
    return GatherDimensionNumbers(*map(tuple, dims))


def window_sizes(dims: GatherDimensionNumbers, x: Any, windows: Sequence[int]) -> tuple[int, ...]:
    """Window sizes along every axis of x, from those along the axes that are neither collapsed nor
    batching.
    """
    rest = iter(windows)
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    return tuple(1 if k in gone else next(rest) for k in range(x.ndim))


def check_dims(
    dims: GatherDimensionNumbers, x: ArrayType, indices: ArrayType, result_ndim: int
) -> None:
    """Raise ShapeError or DtypeError where dimension numbers do not fit the operands."""
    offset, collapsed, start_map, batching, index_batching = dims
    given = {"operand": x, "indices": indices, "dimension_numbers": tuple(dims)}
    if indices.dtype not in dtypes.INTEGER:
        raise DtypeError("indices are integers", **given)
    if indices.ndim < 1:
        raise ShapeError("the indices need an axis for the index vectors, the last", **given)
    for name, axes, ndim, increasing in (
        ("offset (update window)", offset, result_ndim, True),
        ("collapsed (inserted)", collapsed, x.ndim, True),
        ("indexed", start_map, x.ndim, False),
        ("operand batching", batching, x.ndim, True),
        ("index batching", index_batching, indices.ndim - 1, False),
    ):
        fine = all(0 <= a < ndim for a in axes) and len(set(axes)) == len(axes)
        if not fine or (increasing and list(axes) != sorted(axes)):
            order = " in increasing order" if increasing else ""
            raise ShapeError(f"the {name} axes must be in 0..{ndim - 1}, each once{order}", **given)
    if len(start_map) != indices.shape[-1]:
        raise ShapeError(
            f"index vectors have {indices.shape[-1]} entries, {len(start_map)} axes are indexed",
            **given,
        )
    if set(collapsed) & set(batching) or set(start_map) & set(batching):
        raise ShapeError("a batching axis can be neither collapsed nor indexed", **given)
    if [x.shape[a] for a in batching] != [indices.shape[a] for a in index_batching]:
        raise ShapeError("the batching axes of operand and indices differ in size", **given)
    if len(offset) + len(collapsed) + len(batching) != x.ndim:
        raise ShapeError(
            "each axis of the operand must be windowed, collapsed (inserted) or batching", **given
        )


def positions(
    dims: GatherDimensionNumbers,
    sizes: Sequence[int],
    shape: Sequence[int],
    indices: np.ndarray,
    result_shape: Sequence[int],
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """For NumPy: the position in the operand of every element of the result, one array for each
    axis, clamped; and which elements belong to windows that lie inside without clamping.
    """
    ndim = len(result_shape)
    batch_axes = [k for k in range(ndim) if k not in dims.offset_dims]

    def spread(values: np.ndarray) -> np.ndarray:
        # From the axes of the indices to those of the result.
        full = [1] * ndim
        for k, n in zip(batch_axes, values.shape, strict=True):
            full[k] = n
        return values.reshape(full)

    starts: list[Any] = [np.zeros((1,) * ndim, np.int64)] * len(shape)
    inside = np.ones((1,) * ndim, np.bool_)
    for k, axis in enumerate(dims.start_index_map):
        start, last = spread(indices[..., k]), shape[axis] - sizes[axis]
        if start.dtype == np.uint64:
            start = np.minimum(start, 2**63 - 1)
        start = start.astype(np.int64)
        inside = inside & (start >= 0) & (start <= last)
        starts[axis] = np.clip(start, 0, last)
    batch_shape = indices.shape[:-1]
    pairs = zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)
    for axis, index_axis in pairs:
        along = [n if k == index_axis else 1 for k, n in enumerate(batch_shape)]
        starts[axis] = spread(np.arange(batch_shape[index_axis]).reshape(along))
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    windowed = [k for k in range(len(shape)) if k not in gone]
    for axis, result_axis in zip(windowed, dims.offset_dims, strict=True):
        along = [sizes[axis] if k == result_axis else 1 for k in range(ndim)]
        starts[axis] = starts[axis] + np.arange(sizes[axis]).reshape(along)
    everywhere = tuple(np.broadcast_to(s, result_shape) for s in starts)
    return everywhere, np.broadcast_to(inside, result_shape)


def lower_indices(b: Any, indices: Any, bounds: Sequence[int]) -> Any:
    """Indices in a signed dtype that holds every bound; bounds are the last valid starts.

    What is beyond the bounds stays beyond them. XLA clamps and compares in the indices' own dtype,
    which for small ones cannot hold the bounds, and treats large unsigned ones as negative.
    """
    if indices.dtype in (dtypes.int32, dtypes.int64):
        fits = indices.dtype == dtypes.int64 or all(n < 2**31 for n in bounds)
        return indices if fits else b.convert(indices, dtypes.int64)
    wide = dtypes.int32 if all(n < 2**31 - 1 for n in bounds) else dtypes.int64
    if indices.dtype in (dtypes.uint32, dtypes.uint64) and indices.dtype.itemsize >= wide.itemsize:
        limit = b.full_like(indices, dtypes.iinfo(wide).max)
        indices = b.binary("minimum", indices, limit)
    return b.convert(indices, wide)


def _bounds_of(b: Any, indices: Any, bounds: Sequence[int]) -> Any:
    vector = b.constant(np.asarray(bounds, np.int64), indices.dtype)
    return b.broadcast_in_dim(vector, indices.shape, (indices.ndim - 1,))


def clamp_indices(b: Any, indices: Any, bounds: Sequence[int]) -> Any:
    """Indices held in 0..bounds."""
    if not bounds:
        return indices
    zero = b.constant(np.zeros((), indices.dtype))
    low = b.broadcast_scalar(zero, indices.shape)
    return b.op("clamp", (low, indices, _bounds_of(b, indices, bounds)), indices.type)


def inside_mask(b: Any, indices: Any, bounds: Sequence[int]) -> Any:
    """Which index vectors lie in 0..bounds: bool, without the last axis."""
    if not bounds:
        return b.full(indices.shape[:-1], True, dtypes.bool_)
    low = b.compare("GE", indices, b.full_like(indices, 0))
    high = b.compare("LE", indices, _bounds_of(b, indices, bounds))
    both = b.binary("and", low, high)
    true = b.constant(np.ones((), np.bool_))
    (mask,) = b.reduce([both], [true], [indices.ndim - 1], lambda p, q: (b.binary("and", p, q),))
    return mask


def _starts_bounds(dims: Any, shape: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(shape[a] - sizes[a] for a in dims[2])


def _default_fill(dtype: Any) -> Any:
    """What FILL_OR_DROP gives where no fill value was given: NaN, or the extreme integer."""
    if dtype in dtypes.INEXACT:
        return np.nan
    if dtype in dtypes.INT:
        return dtypes.iinfo(dtype).min
    if dtype in dtypes.UINT:
        return dtypes.iinfo(dtype).max
    return True if dtype in dtypes.BOOL else 2**64 - 1


def lower_gather(
    b: Any,
    x: Any,
    indices: Any,
    dims: GatherDimensionNumbers,
    sizes: Sequence[int],
    shape: Sequence[int],
    increasing: bool = False,
) -> Any:
    """StableHLO's gather, which clamps indices."""
    numbers = (
        f"#stablehlo.gather<offset_dims = {list(dims.offset_dims)}, "
        f"collapsed_slice_dims = {list(dims.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(dims.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(dims.start_indices_batching_dims)}, "
        f"start_index_map = {list(dims.start_index_map)}, "
        f"index_vector_dim = {indices.ndim - 1}>"
    )
    return b.op(
        "gather",
        (x, indices),
        ArrayType(shape, x.dtype),
        f"dimension_numbers = {numbers}, slice_sizes = {array_i64(sizes)}, "
        f"indices_are_sorted = {str(increasing).lower()}",
    )


def along_axis(ndim: int, axis: int) -> GatherDimensionNumbers:
    """The gather that picks, in every row along an axis, elements at positions of that row's own.

    The indices have the shape of the operand, but for the axis, and a last axis of size 1.
    """
    rows = tuple(k for k in range(ndim) if k != axis)
    return GatherDimensionNumbers((), (axis,), (axis,), rows, rows)


class Gather(Primitive):
    """Windows of x of given sizes, one for each index vector. StableHLO: gather."""

    name = "gather"

    def type(self, x, indices, *, dims, sizes, mode, fill_value, unique, increasing):
        ndim = indices.ndim - 1 + len(dims.offset_dims)
        check_dims(dims, x, indices, ndim)
        if len(sizes) != x.ndim or any(
            not 0 <= m <= n for m, n in zip(sizes, x.shape, strict=True)
        ):
            raise ShapeError(
                "needs a slice size for each axis of the operand, none larger than the axis",
                operand=x,
                slice_sizes=sizes,
            )
        gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
        if any(sizes[a] != 1 for a in gone):
            raise ShapeError(
                "slice sizes along collapsed and batching axes are 1", operand=x, slice_sizes=sizes
            )
        windows = iter(n for k, n in enumerate(sizes) if k not in gone)
        rows = iter(indices.shape[:-1])
        return x.with_shape(next(windows if k in dims.offset_dims else rows) for k in range(ndim))

    def numpy(self, x, indices, *, dims, sizes, mode, fill_value, unique, increasing):
        rank = indices.ndim - 1 + len(dims.offset_dims)
        windows = [
            n
            for k, n in enumerate(sizes)
            if k not in dims.collapsed_slice_dims and k not in dims.operand_batching_dims
        ]
        rows, inner = iter(indices.shape[:-1]), iter(windows)
        shape = tuple(next(inner if k in dims.offset_dims else rows) for k in range(rank))
        where, inside = positions(dims, sizes, x.shape, indices, shape)
        y = x[where] if where else np.broadcast_to(x, shape).copy()
        if mode in (CLIP, PROMISE):
            return y
        fill = _default_fill(x.dtype) if fill_value is None else fill_value
        return np.where(inside, y, np.asarray(fill).astype(x.dtype))

    def jvp(self, xs, ts, *, fill_value, **params):
        y = self.bind(*xs, fill_value=fill_value, **params)
        return y, self.bind(ts[0], xs[1], fill_value=0, **params)

    def transpose(self, ct, x, indices, *, dims, sizes, mode, fill_value, unique, increasing):
        from plait.ops.scatter import scatter_add_p

        ct_x = scatter_add_p.bind(
            zeros_of(x.type),
            indices,
            ct,
            dims=to_scatter(dims),
            mode=mode,
            unique=unique,
            increasing=increasing,
        )
        return ct_x, None

    def batch(self, frame, xs, mapped, *, dims, sizes, unique, increasing, **params):
        offset, collapsed, start_map, batching, index_batching = dims
        outer = tuple(d + 1 for d in offset)
        if mapped[0]:
            collapsed, start_map, batching = (
                tuple(d + 1 for d in axes) for axes in (collapsed, start_map, batching)
            )
        if mapped[1]:
            index_batching = tuple(d + 1 for d in index_batching)
        if not mapped[1]:  # the new axis is one more axis of every window
            outer, sizes = (0, *outer), (frame.size, *sizes)
        elif mapped[0]:
            batching, index_batching = (0, *batching), (0, *index_batching)
            sizes = (1, *sizes)
        else:  # different rows may read the same place
            unique = increasing = False
        dims = GatherDimensionNumbers(outer, collapsed, start_map, batching, index_batching)
        y = self.bind(*xs, dims=dims, sizes=sizes, unique=unique, increasing=increasing, **params)
        return y, True

    def lower(self, b, x, indices, *, dims, sizes, mode, fill_value, unique, increasing):
        (out,) = b.result_types
        if 0 in out.shape:
            return b.full(out.shape, 0, out.dtype)
        bounds = _starts_bounds(dims, x.shape, sizes)
        indices = lower_indices(b, indices, bounds)
        y = lower_gather(b, x, indices, dims, sizes, out.shape, increasing)
        if mode in (CLIP, PROMISE) or not bounds:
            return y
        mask = inside_mask(b, indices, bounds)
        rows = [k for k in range(out.ndim) if k not in dims.offset_dims]
        mask = b.broadcast_in_dim(mask, out.shape, rows)
        fill = _default_fill(x.dtype) if fill_value is None else fill_value
        return b.select(mask, y, b.full(out.shape, fill, out.dtype))

    def samples(self):
        rows = GatherDimensionNumbers((1,), (0,), (0,))
        common = {"mode": PROMISE, "fill_value": None, "unique": False, "increasing": False}

        def params(dims, sizes, **changes):
            return {**common, "dims": dims, "sizes": sizes, **changes}

        inside = np.array([[2], [0], [2]], np.int32)
        outside = np.array([[2], [-1], [4], [99]], np.int32)
        yield (real(4, 3), inside), params(rows, (1, 3))
        yield (real(4, 3), inside[1:]), params(rows, (1, 2), unique=True, increasing=True)
        yield (real(4, 3), outside), params(rows, (1, 3), mode=CLIP)
        yield (real(4, 3), outside), params(rows, (1, 3), mode=DROP, fill_value=7.0)
        yield (integers(4, 3), outside), params(rows, (1, 3), mode=DROP)
        yield (
            (real(300), np.array([[255], [3]], np.uint8)),
            params(GatherDimensionNumbers((), (0,), (0,)), (1,), mode=CLIP),
        )
        yield (
            (real(300), np.array([[2**32 - 1], [3]], np.uint32)),
            params(GatherDimensionNumbers((0,), (), (0,)), (2,), mode=DROP, fill_value=0.0),
        )
        pairs = np.array([[1, 2], [3, 0], [2, 9]], np.int64)
        points = GatherDimensionNumbers((), (0, 1), (1, 0))
        yield (real(3, 4), pairs), params(points, (1, 1), mode=CLIP)
        yield (
            (complex_(4, 3), pairs),
            params(GatherDimensionNumbers((0, 2), (), (0, 1)), (2, 2), mode=DROP, fill_value=0.0),
        )
        together = GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,))
        yield (real(2, 4, 3), integers(2, 3, 1, low=0, high=4)), params(together, (1, 1, 3))
        yield (
            (real(3), np.zeros((2, 0), np.int32)),
            params(GatherDimensionNumbers((1,), (), ()), (3,)),
        )
        yield (
            (real(3), np.zeros((0, 1), np.int32)),
            params(GatherDimensionNumbers((), (0,), (0,)), (1,), mode=CLIP),
        )


gather_p = register(Gather())


def as_dimension_numbers(cls: Any, given: Any, op: str) -> Any:
    """Dimension numbers with tuples of ints in every place."""
    if not isinstance(given, tuple) or len(given) != 5:
        raise ArgumentTypeError(
            f"dimension_numbers is a {cls.__name__}", op=op, dimension_numbers=given
        )
    return cls(*(ints(axes, op, "dimension_numbers") for axes in given))


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Any:
    """Windows of operand, one for each index vector along the last axis of start_indices.

    Shapes: the result has the axes of start_indices but the last, in order, and among them, at
    offset_dims, those of a window. Modes: see GatherScatterMode; None is "fill", with fill_value
    or, by default, NaN, the smallest signed, the largest unsigned integer, True.
    unique_indices and indices_are_sorted are promises that let XLA do less.
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> x, rows = jnp.array([[1, 2], [3, 4], [5, 6]]), jnp.array([[2], [0]])
    >>> dims = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(x, rows, dims, slice_sizes=(1, 2))
    Array([[5, 6],
           [1, 2]], dtype=int32)
    """
    dims = as_dimension_numbers(GatherDimensionNumbers, dimension_numbers, "gather")
    parsed = GatherScatterMode.from_any(mode)
    return gather_p.bind(
        operand,
        start_indices,
        dims=dims,
        sizes=ints(slice_sizes, "gather", "slice_sizes"),
        mode=parsed,
        fill_value=_fill(fill_value, type_of(operand).dtype) if parsed is DROP else None,
        unique=bool(unique_indices),
        increasing=bool(indices_are_sorted),
    )


def _fill(value: Any, dtype: Any) -> Any:
    """A fill value as a hashable Python number; None where it is the default anyway."""
    if value is None:
        return None
    try:
        number = np.asarray(value).astype(dtypes.storage(dtype)).item()
    except (ValueError, TypeError):
        raise ArgumentError("fill_value is a scalar", op="gather", fill_value=value) from None
    if number != number and dtype in dtypes.INEXACT:  # NaN: unequal to itself, no key for a cache
        return None
    return number


def batched_dynamic_slice(
    size: int, xs: Sequence[Any], mapped: Sequence[bool], slice_sizes: Sequence[int]
) -> Any:
    """dynamic_slice with other start indices in each row, as a gather; x may be the same in all."""
    x, *starts = xs
    shape = type_of(x).shape[1:] if mapped[0] else type_of(x).shape
    axes, indices = stacked_starts(size, starts, mapped[1:], shape, slice_sizes)
    shift = int(mapped[0])
    dims = GatherDimensionNumbers(
        tuple(range(1, len(shape) + 1)),
        (),
        tuple(a + shift for a in axes),
        (0,) if shift else (),
        (0,) if shift else (),
    )
    return gather_p.bind(
        x,
        indices,
        dims=dims,
        sizes=(1, *slice_sizes) if shift else tuple(slice_sizes),
        mode=CLIP,
        fill_value=None,
        unique=bool(shift),
        increasing=bool(shift),
    )


def stacked_starts(
    size: int,
    starts: Sequence[Any],
    mapped: Sequence[bool],
    shape: Sequence[int],
    sizes: Sequence[int],
) -> tuple[tuple[int, ...], Any]:
    """The axes that start indices can move along at all, and the indices as one array
    [size, number of these axes].
    """
    axes = tuple(k for k, (n, m) in enumerate(zip(shape, sizes, strict=True)) if m != n)
    if not axes:
        return (), broadcast_in_dim(np.zeros((), dtypes.int32), (size, 0), ())
    starts = common_starts([starts[k] for k in axes], [shape[k] for k in axes])
    columns = [
        expand_dims(s, (1,)) if mapped[k] else broadcast_in_dim(s, (size, 1), ())
        for k, s in zip(axes, starts, strict=True)
    ]
    return axes, concatenate_p.bind(*columns, axis=1)


__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "gather"]
