"""Collectives that move values between the positions of a named axis, and axis_index.

all_gather and psum_scatter are each other's transpose, all_to_all is its own, and a permutation's
is the inverse permutation. Reductions are in collective.py.

The ops are the plain forms: one axis name (ppermute: several), and one array axis that has a place
for every position of the named axis. Tiled forms, several names, negative axes and trees are
spelled out by the functions, which also look up the sizes: a rule never asks which axes are bound.

Parameters: axis_name, a tuple of names; axis_size, the product of their sizes; groups, None or a
tuple of tuples of positions that communicate among themselves; axis, the array axis.

The batch rule meets three kinds of frames. Of another name: the op stays, its array axis moves by
one. Of the op's name: the positions of the axis are the lanes of the frame, and the op becomes a
movement of array axes. Of the op's name with an outer axis: position p is lane p % size of device
p // size, so that the op becomes a movement of lanes and the same op over the outer axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.primitive import Linear, Primitive, register, zeros_of
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, AxisNameError, DtypeError, ShapeError
from plait.ops.arithmetic import add, convert_element_type, mul
from plait.ops.axes import (
    broadcast_in_dim,
    expand_dims,
    move_axis,
    normalise_axis,
    permute,
    reduce_sum,
    reshape,
)
from plait.ops.axis_names import (
    Groups,
    groups_of,
    is_even,
    members,
    names_of,
    positions_of,
    quoted,
    sizes_of,
    user_line,
)
from plait.ops.bits import random_wrap_p
from plait.ops.compare import select
from plait.ops.dynamic_slice import dynamic_slice_in_dim
from plait.ops.gather import GatherDimensionNumbers, gather
from plait.ops.iota import iota
from plait.ops.slices import add_rows, concatenate, slice_in_dim

# --- pieces of the rules


def is_narrow(dtype: Any) -> bool:
    """Whether sums of a dtype are carried in float32."""
    return dtype in dtypes.FLOAT and dtype.itemsize <= 2


def widened(x: Any) -> Any:
    """x in the dtype in which it is summed."""
    return convert_element_type(x, dtypes.float32) if is_narrow(type_of(x).dtype) else x


def like(y: Any, x: Any) -> Any:
    """y in the dtype of x, as weak as x."""
    type_ = type_of(x)
    return convert_element_type(y, type_.dtype, type_.weak_type)


def scaled(x: Any, n: int) -> Any:
    """The sum of n times the same x."""
    wide = widened(x)
    return like(mul(wide, np.asarray(n).astype(type_of(wide).dtype)), x)


def take_rows(x: Any, rows: Sequence[int | None]) -> Any:
    """The rows of x, by position along axis 0, in the given order; None stands for zeros."""
    n, rest = type_of(x).shape[0], type_of(x).shape[1:]
    if list(rows) == list(range(n)):
        return x
    zero = None
    if any(r is None for r in rows):
        zero = _zero_row(x)
    runs = _runs(rows)
    if len(runs) <= 16:
        parts = []
        for start, step, count in runs:
            if start is None:
                parts.append(broadcast_in_dim(zero, (count, *rest), range(len(rest) + 1)))
            else:
                parts.append(slice_in_dim(x, start, start + step * (count - 1) + 1, step))
        return concatenate(parts, 0) if len(parts) > 1 else parts[0]
    if zero is not None:
        x = concatenate([x, zero], 0)
    where = np.array([[n if r is None else r] for r in rows], np.int32)
    dims = GatherDimensionNumbers(tuple(range(1, len(rest) + 1)), (0,), (0,))
    return gather(x, where, dims, (1, *rest), mode="promise_in_bounds")


def _zero_row(x: Any) -> Any:
    type_ = type_of(x)
    shape = (1, *type_.shape[1:])
    if isinstance(type_.dtype, dtypes.KeyDType):
        words = zeros_of(ArrayType((*shape, type_.dtype.words), dtypes.uint32))
        return random_wrap_p.bind(words, dtype=type_.dtype)
    return zeros_of(type_.with_shape(shape))


def _runs(rows: Sequence[int | None]) -> list[tuple[int | None, int, int]]:
    """Rows as (start, step, count) with positive steps; start is None for zeros."""
    runs: list[tuple[int | None, int, int]] = []
    for row in rows:
        if runs:
            start, step, count = runs[-1]
            if row is None and start is None:
                runs[-1] = (None, 1, count + 1)
                continue
            if row is not None and start is not None:
                gap = row - start if count == 1 else step
                if gap > 0 and row == start + gap * count:
                    runs[-1] = (start, gap, count + 1)
                    continue
        runs.append((row, 1, 1))
    return runs


def all_rows(frame: Any, x: Any, is_mapped: bool) -> Any:
    """The values of all positions of a frame with an outer axis, on every device, as rows."""
    name, devices = frame.outer
    total, rest = frame.size * devices, type_of(x).shape[is_mapped:]
    rows = all_gather_p.bind(x, axis_name=(name,), axis_size=devices, groups=None, axis=0)
    if not is_mapped:
        dims = (0, *range(2, len(rest) + 2))
        rows = broadcast_in_dim(rows, (devices, frame.size, *rest), dims)
    return reshape(rows, (total, *rest))


def own_rows(frame: Any, rows: Any) -> Any:
    """Of the rows of all positions, those of this device's lanes."""
    name, devices = frame.outer
    device = axis_index_p.bind(axis_name=(name,), axis_size=devices)
    first = mul(device, np.int32(frame.size))
    return dynamic_slice_in_dim(rows, first, frame.size, 0, allow_negative_indices=False)


def mesh_groups(b: Any, op: str, axis_name: Sequence[Any], groups: Groups | None = None) -> Any:
    """The device groups of a collective, one row a group. Raises AxisNameError."""
    bound = [name for name, _ in b.mesh]
    for name in axis_name:
        if name not in bound:
            raise AxisNameError(
                f"no devices are spread over the axis {name!r} here",
                op=op,
                bound_here=", ".join(map(repr, bound)) or "none",
                fix=f"call it inside a vmap or pmap with axis_name={name!r}",
            )
    rows = b.replica_groups(axis_name)
    if groups is None:
        return rows
    return [[row[p] for p in group] for row in rows for group in groups]


class Collective(Primitive):
    """Base of the ops that communicate over named axes.

    A subclass answers `over`: what the op means for a frame that is (a part of) its axis.
    """

    axis_param = "axis_name"
    communicates = True

    def numpy(self, *xs, axis_name, **params):
        raise AxisNameError(
            "means nothing without the axes it communicates over", op=self.name, axis_name=axis_name
        )

    def batch(self, frame, xs, mapped, **params):
        (x,), (is_mapped,) = xs, mapped
        if frame.name not in params["axis_name"]:
            if "axis" in params:
                params["axis"] += 1
            return self.bind(x, **params), True
        if params["groups"] is None:
            return self.over(frame, x, is_mapped, params)
        if frame.outer is None:
            return self.grouped(x, is_mapped, params)
        # A group may have members on any device: bring all rows here and keep one's own.
        y, _ = self.grouped(all_rows(frame, x, is_mapped), True, params)
        return own_rows(frame, y), True

    def over(self, frame: Any, x: Any, is_mapped: bool, params: dict[str, Any]) -> tuple[Any, bool]:
        """(result, mapped) where the frame's positions are among those that communicate."""
        raise self.missing("over")

    def lanes(self, x: Any, is_mapped: bool, size: int, axis: int) -> tuple[Any, bool]:
        """(result, mapped) where the rows of x, or `size` copies of it, communicate."""
        raise self.missing("lanes")

    def grouped(self, x: Any, is_mapped: bool, params: dict[str, Any]) -> tuple[Any, bool]:
        """The same where groups of lanes communicate."""
        groups, axis = params["groups"], params.get("axis", 0)
        if not is_even(groups):
            return self.uneven(x, is_mapped, groups)
        each, total = len(groups[0]), params["axis_size"]
        place = {p: (k, g) for g, row in enumerate(groups) for k, p in enumerate(row)}
        if not is_mapped:
            y, y_mapped = self.lanes(x, False, each, axis)
            return (
                (take_rows(y, [place[p][0] for p in range(total)]), True)
                if y_mapped
                else (y, False)
            )
        # The k-th members of all groups together are lane k of an op on one axis more.
        rows = take_rows(x, [row[k] for k in range(each) for row in groups])
        rows = reshape(rows, (each, len(groups), *type_of(x).shape[1:]))
        y, y_mapped = self.lanes(rows, True, each, axis + 1)
        y = add_rows(y, y_mapped, each)
        y = reshape(y, (total, *type_of(y).shape[2:]))
        order = [k * len(groups) + g for k, g in (place[p] for p in range(total))]
        return take_rows(y, order), True

    def uneven(self, x: Any, is_mapped: bool, groups: Groups) -> tuple[Any, bool]:
        """The same for a reduction in groups of different sizes."""
        results = []
        for row in groups:
            rows = take_rows(x, row) if is_mapped else x
            y, _ = self.lanes(rows, is_mapped, len(row), 0)
            results.append(expand_dims(y, (0,)))
        home = {p: g for g, row in enumerate(groups) for p in row}
        return take_rows(concatenate(results, 0), [home[p] for p in sorted(home)]), True

    def variance(self, varying, params, analyse):
        return varying[0] | frozenset(params["axis_name"])


class AxisIndex(Primitive):
    """The position along a named axis, int32. StableHLO: partition_id."""

    name = "axis_index"
    axis_param = "axis_name"

    def type(self, *, axis_name, axis_size):
        return ArrayType((), dtypes.int32)

    def numpy(self, *, axis_name, axis_size):
        raise AxisNameError("means nothing without its axis", op=self.name, axis_name=axis_name)

    def batch(self, frame, xs, mapped, *, axis_name, axis_size):
        lane = iota(dtypes.int32, frame.size)
        if frame.outer is None:
            return lane, True
        name, devices = frame.outer
        device = self.bind(axis_name=(name,), axis_size=devices)
        return add(mul(device, np.int32(frame.size)), lane), True

    def lower(self, b, *, axis_name, axis_size):
        row = mesh_groups(b, self.name, axis_name)[0]
        if len(row) == 1:
            return b.constant(np.int32(0))
        stride = row[1] - row[0]
        place = b.partition_id()
        place = b.binary("divide", place, b.full_like(place, stride))
        place = b.binary("remainder", place, b.full_like(place, axis_size))
        return b.convert(place, dtypes.int32)

    def variance(self, varying, params, analyse):
        return frozenset(params["axis_name"])


class AllGather(Collective, Linear):
    """Every position receives the values of all, along a new axis. StableHLO: all_gather."""

    name = "all_gather"

    def type(self, x, *, axis_name, axis_size, groups, axis):
        n = members(axis_size, groups)
        return x.with_shape((*x.shape[:axis], n, *x.shape[axis:]))

    def transpose(self, ct, x, **params):
        return (psum_scatter_p.bind(ct, **params),)

    def over(self, frame, x, is_mapped, params):
        if frame.outer is not None:
            x, is_mapped = all_rows(frame, x, is_mapped), True
        return self.lanes(x, is_mapped, params["axis_size"], params["axis"])

    def lanes(self, x, is_mapped, size, axis):
        if is_mapped:
            return move_axis(x, 0, axis), False
        shape = type_of(x).shape
        dims = [k + (k >= axis) for k in range(len(shape))]
        return broadcast_in_dim(x, (*shape[:axis], size, *shape[axis:]), dims), False

    def lower(self, b, x, *, axis_name, axis_size, groups, axis):
        rows = mesh_groups(b, self.name, axis_name, groups)
        x = b.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))
        return x if len(rows[0]) == 1 else b.all_gather(x, rows, axis)

    def variance(self, varying, params, analyse):
        if params["groups"] is not None:
            return varying[0]
        return varying[0] - frozenset(params["axis_name"])


class PsumScatter(Collective, Linear):
    """Sum over all positions; each keeps the part of the sum at its own place along an array axis,
    which leaves the shape. StableHLO: reduce_scatter.
    """

    name = "psum_scatter"

    def type(self, x, *, axis_name, axis_size, groups, axis):
        if x.dtype not in dtypes.NUMBER:
            raise DtypeError("only numbers can be summed", x=x, fix="convert with x.astype(int)")
        _check_places(x, axis, members(axis_size, groups), axis_name, "scatter_dimension")
        return x.with_shape((*x.shape[:axis], *x.shape[axis + 1 :]))

    def transpose(self, ct, x, **params):
        return (all_gather_p.bind(ct, **params),)

    def over(self, frame, x, is_mapped, params):
        axis = params["axis"]
        if frame.outer is None:
            return self.lanes(x, is_mapped, frame.size, axis)
        name, devices = frame.outer
        wide = widened(x)
        total = reduce_sum(wide, (0,)) if is_mapped else scaled(wide, frame.size)
        shape = type_of(total).shape
        total = reshape(total, (*shape[:axis], devices, frame.size, *shape[axis + 1 :]))
        y = self.bind(
            move_axis(total, axis + 1, 0),
            axis_name=(name,),
            axis_size=devices,
            groups=None,
            axis=axis + 1,
        )
        return like(y, x), True

    def lanes(self, x, is_mapped, size, axis):
        total = reduce_sum(x, (0,)) if is_mapped else scaled(x, size)
        return move_axis(total, axis, 0), True

    def lower(self, b, x, *, axis_name, axis_size, groups, axis):
        rows = mesh_groups(b, self.name, axis_name, groups)
        (out,) = b.result_types
        if len(rows[0]) == 1:
            return b.reshape(x, out.shape)
        wide = b.convert(x, dtypes.float32) if is_narrow(x.dtype) else x
        total = b.reduce_scatter(wide, rows, axis, b.add)
        return b.convert(b.reshape(total, out.shape), x.dtype)


class AllToAll(Collective, Linear):
    """Exchange: what position j holds at place k along an array axis goes to place j of position k.

    StableHLO: all_to_all.
    """

    name = "all_to_all"

    def type(self, x, *, axis_name, axis_size, groups, axis):
        _check_places(x, axis, members(axis_size, groups), axis_name, "split_axis")
        return x

    def transpose(self, ct, x, **params):
        return (self.bind(ct, **params),)

    def over(self, frame, x, is_mapped, params):
        axis = params["axis"]
        if frame.outer is None:
            return self.lanes(x, is_mapped, frame.size, axis)
        name, devices = frame.outer
        x = add_rows(x, is_mapped, frame.size)
        shape = type_of(x).shape
        y = reshape(x, (*shape[: axis + 1], devices, frame.size, *shape[axis + 2 :]))
        y = swap_axes(y, 0, axis + 2)
        y = self.bind(y, axis_name=(name,), axis_size=devices, groups=None, axis=axis + 1)
        return reshape(y, shape), True

    def lanes(self, x, is_mapped, size, axis):
        if is_mapped:
            return swap_axes(x, 0, axis + 1), True
        shape = type_of(x).shape
        dims = [k + (k > axis) for k in range(len(shape))]
        return broadcast_in_dim(move_axis(x, axis, 0), (size, *shape), dims), True

    def lower(self, b, x, *, axis_name, axis_size, groups, axis):
        rows = mesh_groups(b, self.name, axis_name, groups)
        return x if len(rows[0]) == 1 else b.all_to_all(x, rows, axis, axis)


def swap_axes(x: Any, i: int, j: int) -> Any:
    """x with two of its axes exchanged."""
    order = list(range(type_of(x).ndim))
    order[i], order[j] = j, i
    return permute(x, order)


def _check_places(x: ArrayType, axis: int, n: int, axis_name: Sequence[Any], what: str) -> None:
    if x.shape[axis] != n:
        given: dict[str, Any] = {what: axis}
        raise ShapeError(
            f"{what} must have a place for each of the {n} positions of {axis_name[0]!r}",
            x=x,
            **given,
            fix=f"give x the size {n} there, or use tiled=True with a multiple of {n}",
        )


class Ppermute(Collective, Linear):
    """Send values along pairs (source, destination); who receives nothing has zeros.

    A source or destination is a tuple with one position for each name. StableHLO:
    collective_permute.
    """

    name = "ppermute"

    def type(self, x, *, axis_name, axis_size, perm):
        return x

    def transpose(self, ct, x, *, perm, **params):
        return (self.bind(ct, perm=tuple((d, s) for s, d in perm), **params),)

    def batch(self, frame, xs, mapped, *, axis_name, axis_size, perm):
        (x,), (is_mapped,) = xs, mapped
        if frame.name not in axis_name:
            return self.bind(x, axis_name=axis_name, axis_size=axis_size, perm=perm), True
        if not is_mapped and len(perm) == axis_size == frame.size:
            return x, False  # everybody receives the same
        rest, moves = _moves(frame, axis_name, perm)
        x = add_rows(x, is_mapped, frame.size)
        n = axis_size // frame.size
        blocks, marks, arrivals = [], [], [[] for _ in range(frame.size)]
        for pairs, lanes in moves.items():
            rows = take_rows(x, [source for source, _ in lanes])
            received = np.ones(len(lanes), np.bool_)
            if len(pairs) < n or any(s != d for s, d in pairs):
                params = {"axis_name": rest, "axis_size": n, "perm": pairs}
                rows = self.bind(rows, **params)
                received = self.bind(received, **params)
            first = sum(type_of(block).shape[0] for block in blocks)
            for k, (_, destination) in enumerate(lanes):
                arrivals[destination].append(first + k)
            blocks.append(rows)
            marks.append(received)
        if not blocks:
            return reshape(_zero_row(x), type_of(x).shape[1:]), False
        everything = concatenate(blocks, 0)
        y = take_rows(everything, [a[0] if a else None for a in arrivals])
        # A lane that receives from different lanes on different devices chooses among arrivals.
        for turn in range(1, max(map(len, arrivals))):
            row = [a[turn] if len(a) > turn else None for a in arrivals]
            which = take_rows(concatenate(marks, 0), row)
            shape = type_of(y).shape
            y = select(broadcast_in_dim(which, shape, (0,)), take_rows(everything, row), y)
        return y, True

    def lower(self, b, x, *, axis_name, axis_size, perm):
        if not perm:
            return b.full_like(x, 0)
        rows = mesh_groups(b, self.name, axis_name)
        sizes = [dict(b.mesh)[name] for name in axis_name]
        flat = [tuple(int(np.ravel_multi_index(p, sizes)) for p in pair) for pair in perm]
        return b.collective_permute(x, [(row[s], row[d]) for row in rows for s, d in flat])

    def variance(self, varying, params, analyse):
        if len(params["perm"]) == params["axis_size"]:
            return varying[0]
        return varying[0] | frozenset(params["axis_name"])


def _moves(frame: Any, axis_name: Sequence[Any], perm: Any) -> tuple[tuple[Any, ...], dict]:
    """(remaining names, {pairs over them: [(source lane, destination lane), ...]})."""
    k = axis_name.index(frame.name)
    inner = () if frame.outer is None else (frame.outer[0],)
    rest = (*axis_name[:k], *inner, *axis_name[k + 1 :])

    def cut(place: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        device, lane = divmod(place[k], frame.size)
        return lane, (*place[:k], *((device,) if inner else ()), *place[k + 1 :])

    pairs: dict[tuple[int, int], list] = {}
    for source, destination in perm:
        (lane_s, rest_s), (lane_d, rest_d) = cut(source), cut(destination)
        pairs.setdefault((lane_s, lane_d), []).append((rest_s, rest_d))
    moves: dict[tuple, list[tuple[int, int]]] = {}
    for lanes in sorted(pairs):
        moves.setdefault(tuple(sorted(pairs[lanes])), []).append(lanes)
    return rest, moves


axis_index_p = register(AxisIndex())
all_gather_p = register(AllGather())
psum_scatter_p = register(PsumScatter())
all_to_all_p = register(AllToAll())
ppermute_p = register(Ppermute())


# --- the functions


def _axis(x: Any, axis: Any, op: str, extra: int = 0) -> int:
    return normalise_axis(axis, type_of(x).ndim + extra, op)


def _merge(x: Any, axis: int, count: int = 2) -> Any:
    """x with `count` axes from `axis` on made one."""
    shape = type_of(x).shape
    whole = math.prod(shape[axis : axis + count])
    return reshape(x, (*shape[:axis], whole, *shape[axis + count :]))


def _cut(x: Any, axis: int, sizes: Sequence[int]) -> Any:
    """x with one axis made into several."""
    shape = type_of(x).shape
    return reshape(x, (*shape[:axis], *sizes, *shape[axis + 1 :]))


def _check_multiple(x: Any, axis: int, n: int, names: Sequence[Any], op: str, what: str) -> None:
    size = type_of(x).shape[axis]
    if size % n:
        raise ShapeError(
            f"size {size} cannot be shared by the {n} positions of {quoted(names)}",
            op=op,
            x=x,
            **{what: axis},
            where=user_line(),
            fix=f"give x a multiple of {n} there, for example by padding it to {-(-size // n) * n}",
        )


def axis_index(axis_name: Any) -> Any:
    """The position along a named axis (along several: counted with the last name fastest), int32.

    Raises: AxisNameError if no vmap or pmap binds the name.

    >>> plait.pmap(lambda x: x + lax.axis_index("i"), axis_name="i")(np.zeros(4, int))
    Array([0, 1, 2, 3], dtype=int32)
    """
    names = names_of(axis_name, "axis_index")
    place: Any = np.int32(0)
    for k, (name, size) in enumerate(zip(names, sizes_of(names, "axis_index"), strict=True)):
        here = axis_index_p.bind(axis_name=(name,), axis_size=size)
        place = add(mul(place, np.int32(size)), here) if k else here
    return place


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Give every position of a named axis the values of all positions.

    Shapes: [*s] -> [*s with n inserted at `axis`], n the size of the axis, or of a group; tiled:
    size m at `axis` becomes n * m. x may be a tree. With several names the last one varies fastest.
    `to` is accepted and not needed: over which axes a value varies is found out.
    Derivative: linear; the transpose is psum_scatter.
    Raises: AxisNameError if a name is not bound; OutOfRangeError for an axis x does not have.

    >>> plait.pmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(np.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    op = "all_gather"
    names = names_of(axis_name, op)
    sizes = sizes_of(names, op)
    groups = groups_of(axis_index_groups, names, math.prod(sizes), op)

    def gather_all(x: Any) -> Any:
        at = _axis(x, axis, op, 0 if tiled else 1)
        y = x
        for name, size in zip(reversed(names), reversed(sizes), strict=True):
            y = all_gather_p.bind(y, axis_name=(name,), axis_size=size, groups=groups, axis=at)
        if tiled:
            return _merge(y, at, len(names) + 1)
        return expand_dims(y, (at,)) if not names else _merge(y, at, len(names))

    return tree.map(gather_all, x)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sum over the positions of a named axis, and keep at each position its share of the sum.

    Shapes: x has size n, that of the axis or of a group, at scatter_dimension, which leaves the
    shape; tiled: a multiple m * n, of which m stay. x may be a tree; booleans are summed as int32.
    Derivative: linear; the transpose is all_gather.
    Raises: AxisNameError; ShapeError if the size does not fit.

    >>> x = np.array([[1, 2], [3, 4]])
    >>> plait.pmap(lambda row: lax.psum_scatter(row, "i"), axis_name="i")(x)
    Array([4, 6], dtype=int32)
    """
    op = "psum_scatter"
    names = names_of(axis_name, op)
    sizes = sizes_of(names, op)
    groups = groups_of(axis_index_groups, names, math.prod(sizes), op)
    n = members(math.prod(sizes), groups)

    def scatter(x: Any) -> Any:
        at = _axis(x, scatter_dimension, op)
        y = counted(x)
        if tiled:
            _check_multiple(x, at, n, names, op, "scatter_dimension")
        else:
            _check_equal(x, at, n, names, op, "scatter_dimension")
        share = type_of(x).shape[at] // n
        places = (n,) if groups is not None else sizes
        y = _cut(y, at, (*places, share) if tiled else places)
        for name, size in zip(names, sizes, strict=True):
            y = psum_scatter_p.bind(y, axis_name=(name,), axis_size=size, groups=groups, axis=at)
        return y

    return tree.map(scatter, x)


def counted(x: Any) -> Any:
    """x, with booleans as the integers that are summed."""
    return convert_element_type(x, dtypes.int32) if type_of(x).dtype in dtypes.BOOL else x


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Cut x along split_axis, send part k to position k, and join what arrives along concat_axis.

    Shapes: x has size n, that of the named axis or of a group, at split_axis; that axis leaves, and
    one of size n is inserted at concat_axis. Tiled: split_axis has a multiple of n and is divided
    by n, concat_axis is multiplied by n. x may be a tree.
    Derivative: linear; the transpose is the all_to_all with the two axes exchanged.
    Raises: AxisNameError; ShapeError if the size does not fit.

    >>> x = np.array([[1, 2], [3, 4]])
    >>> plait.pmap(lambda row: lax.all_to_all(row, "i", 0, 0), axis_name="i")(x)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    op = "all_to_all"
    names = names_of(axis_name, op)
    sizes = sizes_of(names, op)
    groups = groups_of(axis_index_groups, names, math.prod(sizes), op)
    n = members(math.prod(sizes), groups)
    places = (n,) if groups is not None else sizes

    def exchange(x: Any) -> Any:
        split, concat = _axis(x, split_axis, op), _axis(x, concat_axis, op)
        if tiled:
            _check_multiple(x, split, n, names, op, "split_axis")
            x = _cut(x, split, (n, type_of(x).shape[split] // n))
        else:
            _check_equal(x, split, n, names, op, "split_axis")
        y = _cut(x, split, places)
        for k, (name, size) in enumerate(zip(names, sizes, strict=True)):
            params = {"axis_name": (name,), "axis_size": size, "groups": groups}
            y = all_to_all_p.bind(y, axis=split + k, **params)
        y = move_axis(reshape(y, type_of(x).shape), split, concat)
        return _merge(y, concat) if tiled else y

    return tree.map(exchange, x)


def _check_equal(x: Any, axis: int, n: int, names: Sequence[Any], op: str, what: str) -> None:
    size = type_of(x).shape[axis]
    if size != n:
        cure = f"give x the size {n} there"
        if size % n == 0:
            cure += f", or use tiled=True, which gives each position {size // n} rows"
        raise ShapeError(
            f"size {size} is not that of {quoted(names)}, which is {n}",
            op=op,
            x=x,
            **{what: axis},
            where=user_line(),
            fix=cure,
        )


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send x along (source, destination) pairs of positions; who receives nothing gets zeros.

    With several names positions count with the last name fastest. x may be a tree.
    Derivative: linear; the transpose sends the other way.
    Raises: AxisNameError; ArgumentError for a position outside the axis, or one that is twice a
    source or twice a destination.

    >>> send = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3)])
    >>> plait.pmap(send, axis_name="i")(np.array([1, 2, 3, 4]))
    Array([0, 1, 2, 3], dtype=int32)
    """
    op = "ppermute"
    names = names_of(axis_name, op)
    sizes = sizes_of(names, op)
    n = math.prod(sizes)
    pairs = _pairs(perm, n, names, op)

    def places(position: int) -> tuple[int, ...]:
        return tuple(int(p) for p in np.unravel_index(position, sizes)) if sizes else ()

    if not names:
        return tree.map(lambda x: x if pairs else zeros_of(type_of(x)), x)
    params = {
        "axis_name": names,
        "axis_size": n,
        "perm": tuple((places(s), places(d)) for s, d in pairs),
    }
    return tree.map(lambda x: ppermute_p.bind(x, **params), x)


def _pairs(perm: Any, n: int, names: Sequence[Any], op: str) -> Groups:
    form, example = "a list of pairs (source, destination)", "[(0, 1), (1, 0)]"
    pairs = positions_of(op, form, example, perm, 2, perm=perm)
    for k, role in enumerate(("source", "destination")):
        seen: set[int] = set()
        for pair in pairs:
            if not 0 <= pair[k] < n:
                raise ArgumentError(
                    f"{role} {pair[k]} is no position of {quoted(names)}, whose "
                    f"positions are 0 to {n - 1}",
                    op=op,
                    perm=list(pairs),
                    where=user_line(),
                    fix=f"count positions modulo {n} if they are to go around",
                )
            if pair[k] in seen:
                raise ArgumentError(
                    f"{pair[k]} is the {role} of two pairs",
                    op=op,
                    perm=list(pairs),
                    where=user_line(),
                    fix="name each source and each destination once; all_gather sends to everybody",
                )
            seen.add(pair[k])
    return tuple(sorted(pairs))


__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "ppermute",
    "psum_scatter",
]
