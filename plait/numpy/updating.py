"""`x.at[index]`: arrays like x with some elements replaced, added to, multiplied, ...

Blocks of static bounds are written by dynamic_update_slice, everything else by scatter. Positions
outside are dropped (or clamped, or wrapped, as `mode` says).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.numpy import indexing, ufuncs
from plait.numpy.index_parsing import Index, Positions, Range, Static, parse
from plait.numpy.indexing import FILL, PROMISE, parse_mode
from plait.numpy.promotion import (
    broadcast_shapes,
    constant,
    is_base,
    is_traced_or_device,
    not_in_place,
    operand,
    value,
    weakly,
)
from plait.ops import arithmetic, compare, scatter
from plait.ops import axes as ops
from plait.ops.dynamic_slice import dynamic_slice_p, dynamic_update_slice_p
from plait.ops.gather import GatherScatterMode, ScatterDimensionNumbers
from plait.runtime.array import Array


class At:
    """What `x.at` is: `x.at[index].set(y)` is x with x[index] replaced by y; x itself stays.

    Out of bounds: writes are dropped, `get` clamps. `mode` changes that: "fill" or "drop", "clip",
    "wrap", "promise_in_bounds". Where an index repeats, `add`, `multiply`, `min` and `max` apply
    every update; of `set`s one wins.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> Place:
        return Place(self.array, index)

    def __repr__(self) -> str:
        return f"{self.array!r}.at"


class Place:
    """What `x.at[index]` is: a place in x, to read or to write."""

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"{self.array!r}.at[{self.index!r}]"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
        out_sharding: Any = None,
    ) -> Any:
        """x[index]; positions outside are clamped, or give fill_value with mode "fill"."""
        return indexing.get(
            self.array,
            self.index,
            mode,
            fill_value,
            indices_are_sorted,
            unique_indices,
            wrap_negative_indices,
        )

    def set(self, values: Any, **options: Any) -> Any:
        """X with x[index] replaced by values, which broadcast."""
        return _update(self, "set", values, **options)

    def add(self, values: Any, **options: Any) -> Any:
        """X with values added to x[index]."""
        return _update(self, "add", values, **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """X with values subtracted from x[index]."""
        values = value("subtract", values)
        if type_of(values).dtype in dtypes.BOOL and self.array.dtype not in dtypes.BOOL:
            # Booleans have no negative.
            values = arithmetic.convert_element_type(values, self.array.dtype)
        return _update(self, "add", ufuncs.negative(values), **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """X with x[index] multiplied by values."""
        return _update(self, "multiply", values, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """X with x[index] divided by values; integers become floats."""
        return ufuncs.true_divide(self.array, self._factors(values, options))

    def power(self, values: Any, **options: Any) -> Any:
        """X with x[index] raised to the power of values."""
        return ufuncs.power(self.array, self._factors(values, options))

    def _factors(self, values: Any, options: dict[str, Any]) -> Any:
        x = self.array
        ones = ops.broadcast_to(value("x.at[...]", np.ones((), x.dtype)), x.shape)
        ones = weakly(ones, x.type.weak_type)
        return _update(Place(ones, self.index), "multiply", values, **options)

    def min(self, values: Any, **options: Any) -> Any:
        """X with x[index] replaced by the smaller of itself and values."""
        return _update(self, "min", values, **options)

    def max(self, values: Any, **options: Any) -> Any:
        """X with x[index] replaced by the larger of itself and values."""
        return _update(self, "max", values, **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """X with func applied to each element of x[index]; twice where an index repeats."""
        return _update(self, "apply", func, **options)


def _put(old: Any, new: Any) -> Any:
    return new


_COMBINE = {
    "set": _put,
    "add": arithmetic.add,
    "multiply": arithmetic.mul,
    "min": compare.min,
    "max": compare.max,
}
_SCATTER = {
    "set": scatter.scatter_p,
    "add": scatter.scatter_add_p,
    "multiply": scatter.scatter_mul_p,
    "min": scatter.scatter_min_p,
    "max": scatter.scatter_max_p,
}


def _update(
    place: Place,
    how: str,
    values: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    op = f"x.at[...].{how}"
    chosen, wrap = parse_mode(mode, FILL, op)
    x = whole = place.array
    if type(values) is Array:
        values.check_live(op)
    index = parse(x.type.shape, place.index, op)
    if index.windows:
        x = indexing.window(x, index)
    shape = x.shape
    if index.masked_axes:
        x = indexing.with_masked_axes(x, index)
    plan = _plan(index, x.type.shape, wrap)
    if how != "apply":
        values = _fitted(op, values, x, index, plan)
    if plan is None:
        y = _write_block(x, how, values, index, chosen, wrap)
    elif not x.type.size:
        y = x  # every position is outside
    else:
        options = (chosen, bool(unique_indices), bool(indices_are_sorted))
        y = _scatter(x, how, values, index, plan, wrap, wrap_negative_indices, *options)
    y = ops.reshape(y, shape)
    if index.windows:
        if chosen is FILL:
            inside = indexing.window_inside(whole, index)
            y = compare.select(inside, y, indexing.window(whole, index))
        y = dynamic_update_slice_p.bind(whole, y, *indexing.window_starts(whole, index))
    return weakly(y, whole.type.weak_type)


class _Plan:
    """How an index is written by a scatter.

    shape: of the updates; windows: the axes of the updates that run along windows; axes: those of
    the array that indices address; parts: for each of them its positions and the axes of the batch
    they run along; batch: the sizes of the updates' other axes.
    """

    def __init__(self, index: Index, shape: tuple[int, ...], wrap: bool):
        entries = index.entries
        arrays = {k: e.array for k, e in enumerate(entries) if type(e) is Positions}
        group = broadcast_shapes(*(tuple(type_of(p).shape) for p in arrays.values()))
        has_group = bool(arrays)
        items: list[Any] = []  # what the axes of the updates are: entries, or the group
        placed = not has_group
        if has_group and not indexing.is_adjacent(index):
            items.append("group")
            placed = True
        for item in index.layout:
            if item is None:
                continue
            if type(entries[item]) is Range:
                items.append(item)
            elif not placed:
                items.append("group")
                placed = True
        self.windows: list[int] = []
        self.shape: list[int] = []
        self.batch: list[int] = []
        along: dict[Any, list[int]] = {"group": []}
        for item in items:
            if item == "group":
                along["group"] = list(range(len(self.batch), len(self.batch) + len(group)))
                self.batch += group
                self.shape += group
                continue
            entry = entries[item]
            if entry.step == 1:
                self.windows.append(len(self.shape))
            else:
                along[item] = [len(self.batch)]
                self.batch.append(entry.size)
            self.shape.append(entry.size)
        self.axes: list[int] = []
        self.inserted: list[int] = []
        self.parts: list[tuple[Any, list[int]]] = []
        for k, entry in enumerate(entries):
            if isinstance(entry, Range) and entry.step == 1:
                if not entry.is_whole(shape[k]):
                    self._address(k, np.asarray(entry.start), [])
                continue
            self.inserted.append(k)
            if isinstance(entry, Range):
                self._address(k, entry.start + entry.step * np.arange(entry.size), along[k])
            elif isinstance(entry, Static):
                position = entry.position if entry.position >= 0 or wrap else -shape[k] - 1
                self._address(k, np.asarray(position), [])
            else:
                array = entry.array
                last = len(along["group"]) - type_of(array).ndim
                self._address(k, array, along["group"][last:])

    def _address(self, axis: int, positions: Any, along: list[int]) -> None:
        self.axes.append(axis)
        self.parts.append((positions, along))


def _plan(index: Index, shape: tuple[int, ...], wrap: bool) -> _Plan | None:
    """The scatter for an index; None if it is a block of static bounds."""
    for entry in index.entries:
        if type(entry) is Positions or (type(entry) is Range and entry.step != 1):
            return _Plan(index, shape, wrap)
    return None


def _fitted(op: str, values: Any, x: Any, index: Index, plan: _Plan | None) -> Any:
    """Values in the dtype of x and the shape of the updates."""
    values = operand(op, values)
    host = not is_traced_or_device(values)
    if host:
        values = _host_values(op, values, x.dtype)
    elif values.dtype != x.dtype:
        values = arithmetic.convert_element_type(values, x.dtype)
    if plan is None:
        sizes = {k: e.size for k, e in enumerate(index.entries) if type(e) is Range}
        seen = indexing.final_shape(index, sizes, None)
        shape = [e.size if type(e) is Range else 1 for e in index.entries]
    else:
        entries = index.entries
        sizes = {k: e.size for k, e in enumerate(entries) if type(e) is Range}
        arrays = [tuple(type_of(e.array).shape) for e in entries if type(e) is Positions]
        group = broadcast_shapes(*arrays) if arrays else None
        seen, shape = indexing.final_shape(index, sizes, group), plan.shape
    have = list(values.shape)
    extra = len(have) - len(seen)
    # As NumPy does: leading axes of size 1 beyond those of the place go.
    fits = all(n == 1 for n in have[: max(extra, 0)]) and all(
        n in (1, m) for n, m in zip(have[::-1], seen[::-1])
    )
    if not fits:
        raise ShapeError(
            "the values do not broadcast to the place they are written to",
            op=op,
            x=x,
            values=values,
            place=tuple(seen),
        )
    if host and is_base() and math.prod(shape) <= _SMALL:
        if extra > 0:
            values = values.reshape(have[extra:])
        return np.ascontiguousarray(np.broadcast_to(values, seen)).reshape(shape)
    if host and not values.ndim:
        return ops.broadcast_to(values, tuple(shape))
    if extra > 0:
        values = ops.reshape(values, have[extra:])
    return ops.reshape(ops.broadcast_to(values, tuple(seen)), shape)


# Executed at once, so few values are cheaper to spread out here than on the device.
_SMALL = 1024


def _host_values(op: str, values: Any, dtype: Any) -> np.ndarray:
    type_of(values)  # raises for dtypes that no array has
    if isinstance(dtype, dtypes.KeyDType):
        raise DtypeError("random keys are not made from numbers", op=op, values=values)
    if isinstance(values, int) and not isinstance(values, bool) and dtype in dtypes.INTEGER:
        dtypes.check_fits(values, dtype, op=op)
    with np.errstate(all="ignore"):
        host: Any = np.asarray(values)
        if host.dtype in dtypes.COMPLEX and dtype not in dtypes.COMPLEX:
            host = host.real
        if host.dtype in dtypes.FLOAT and dtype in dtypes.INTEGER:
            host = arithmetic.convert_p.numpy(host, dtype=dtype, weak_type=False)
        return np.asarray(host.astype(dtype))


def _write_block(
    x: Any, how: str, values: Any, index: Index, mode: GatherScatterMode, wrap: bool
) -> Any:
    starts, sizes = [], []
    for n, entry in zip(x.type.shape, index.entries, strict=True):
        if type(entry) is Static:
            if not entry.inside and not wrap and (mode is FILL or not n):
                return x
            start = entry.position % n if wrap else indexing.clamped(entry, n)
            size = 1
        else:
            start, size = entry.start, entry.size
        starts.append(np.asarray(start if size else 0, np.int32 if n < 2**31 else np.int64))
        sizes.append(size)
    if not math.prod(sizes):
        return x
    if tuple(sizes) == x.type.shape:
        old = x
    elif how == "set":
        old = None
    else:
        old = dynamic_slice_p.bind(x, *starts, sizes=tuple(sizes))
    if how == "apply":
        new = arithmetic.convert_element_type(value("apply", values(old)), x.dtype)
    else:
        new = _COMBINE[how](old, values)
    if tuple(sizes) == x.type.shape:
        return constant(new)
    return dynamic_update_slice_p.bind(x, new, *starts)


def _scatter(
    x: Any,
    how: str,
    values: Any,
    index: Index,
    plan: _Plan,
    wrap: bool,
    negative: bool,
    mode: GatherScatterMode,
    unique: bool,
    increasing: bool,
) -> Any:
    shape = x.type.shape
    batch = tuple(plan.batch)
    inside, parts = True, []
    for k, (positions, along) in zip(plan.axes, plan.parts, strict=True):
        inside = inside and (wrap or indexing.known_inside(positions, shape[k]))
        positions = indexing.usual_positions(
            positions, shape[k], "wrap" if wrap else None, negative
        )
        sizes = [1] * len(batch)
        for axis, n in zip(along, type_of(positions).shape, strict=True):
            sizes[axis] = n
        if isinstance(positions, np.ndarray):
            parts.append(positions.reshape(sizes))
        else:
            parts.append(ops.reshape(positions, sizes))
    indices = indexing.index_vectors(parts, batch)
    dims = ScatterDimensionNumbers(
        tuple(plan.windows), tuple(plan.inserted), tuple(plan.axes), (), ()
    )
    mode = PROMISE if inside else mode
    options = {"dims": dims, "mode": mode, "unique": unique, "increasing": increasing}
    if how == "apply":
        return scatter.scatter_apply(
            x,
            indices,
            values,
            dims,
            update_shape=tuple(plan.shape),
            indices_are_sorted=increasing,
            unique_indices=unique,
            mode=mode,
        )
    return _SCATTER[how].bind(x, indices, values, **options)


# --- functions that make arrays with other elements


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Any = None,
) -> Any:
    """arr with values put where take_along_axis reads. Needs inplace=False.

    >>> x = jnp.array([[1, 5], [7, 2]])
    >>> jnp.put_along_axis(x, x.argmax(1, keepdims=True), 0, axis=1, inplace=False)
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    not_in_place("put_along_axis", inplace)
    arr = value("put_along_axis", arr)
    shape = arr.shape
    if axis is None:
        arr, axis = ops.reshape(arr, (arr.size,)), 0
    chosen, wrap = parse_mode(mode, FILL, "put_along_axis")
    indices = indices if isinstance(indices, np.ndarray) else value("put_along_axis", indices, 1)
    places, dims, _ = indexing.along_axis("put_along_axis", arr, indices, axis, wrap)
    sizes = type_of(places).shape[:-1]
    values = arithmetic.convert_element_type(value("put_along_axis", values, 2), arr.dtype)
    y = scatter.scatter_p.bind(
        arr,
        places,
        ops.broadcast_to(values, sizes),
        dims=ScatterDimensionNumbers(*dims),
        mode=chosen,
        unique=False,
        increasing=False,
    )
    return ops.reshape(y, shape)


def put(a: Any, ind: Any, v: Any, mode: Any = None, *, inplace: bool = True) -> Any:
    """`a` with elements of the flattened array replaced. Needs inplace=False.

    >>> jnp.put(jnp.zeros((2, 2), int), jnp.array([0, 3]), jnp.array([5, 6]), inplace=False)
    Array([[5, 0],
           [0, 6]], dtype=int32)
    """
    not_in_place("put", inplace)
    a = value("put", a)
    ind, v = value("put", ind, 1), value("put", v, 2)
    if not a.size or not ind.size or not v.size:
        return a
    flat = ops.reshape(a, (a.size,))
    ind, v = ops.reshape(ind, (ind.size,)), ops.reshape(v, (v.size,))
    if v.size != ind.size:
        from plait.numpy.manipulation import resize

        v = resize(v, (ind.size,))
    options = {} if mode is None else {"mode": mode}
    if mode == "clip":
        options["wrap_negative_indices"] = False
    return ops.reshape(_update(Place(flat, ind), "set", v, **options), a.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """arr with the elements at which the mask holds replaced by vals, in turn. Needs inplace=False.

    >>> x = jnp.arange(5)
    >>> jnp.place(x, x % 2 == 0, jnp.array([10, 20]), inplace=False)
    Array([10,  1, 20,  3, 10], dtype=int32)
    """
    from plait.numpy.cumulative import cumsum

    not_in_place("place", inplace)
    arr, vals = value("place", arr), value("place", vals, 2)
    mask = value("place", ufuncs.to_bool("place", mask, 1))
    if mask.size != arr.size:
        raise ShapeError("the mask needs as many elements as arr", op="place", arr=arr, mask=mask)
    if not vals.size:
        raise ArgumentError("there are no values to place", op="place", vals=vals)
    flat = ops.reshape(mask, (mask.size,))
    turn = ufuncs.remainder(ufuncs.subtract(cumsum(flat), 1), vals.size)
    chosen = indexing.take(ops.reshape(vals, (vals.size,)), turn, mode="clip")
    chosen = arithmetic.convert_element_type(chosen, arr.dtype)
    y = ufuncs.where(flat, chosen, ops.reshape(arr, (arr.size,)))
    return ops.reshape(y, arr.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """`a` with its diagonal replaced by val. Needs inplace=False.

    >>> jnp.fill_diagonal(jnp.zeros((2, 3), int), 7, inplace=False)
    Array([[7, 0, 0],
           [0, 7, 0]], dtype=int32)
    """
    not_in_place("fill_diagonal", inplace)
    if wrap:
        raise ArgumentError("wrap=True is not supported", op="fill_diagonal")
    a, val = value("fill_diagonal", a), value("fill_diagonal", val, 1)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError("needs two axes, or more of one size", op="fill_diagonal", a=a)
    n = min(a.shape)
    if not val.ndim:
        values = val
    else:
        from plait.numpy.manipulation import resize

        values = resize(ops.reshape(val, (val.size,)), (n,))
    return _update(Place(a, (np.arange(n),) * a.ndim), "set", values)


__all__ = ["At", "fill_diagonal", "place", "put", "put_along_axis"]
