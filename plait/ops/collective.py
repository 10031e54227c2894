"""Reductions over named axes: psum, pmean, pmax, pmin; and what can be asked about the axes.

What moves values between the positions of an axis is in collective_exchange.py; its functions are
exported here too. Rules and parameters are as there.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.context import bound_axis_names
from plait.core.primitive import Linear, register
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, OutOfRangeError, PlaitError
from plait.ops.arithmetic import convert_element_type, div, mul
from plait.ops.axes import broadcast_in_dim, reduce_sum
from plait.ops.axis_names import (
    groups_of,
    is_even,
    members,
    names_of,
    positions_of,
    sizes_of,
    user_line,
)
from plait.ops.collective_exchange import (
    Collective,
    all_gather,
    all_to_all,
    axis_index,
    counted,
    is_narrow,
    like,
    mesh_groups,
    ppermute,
    psum_scatter,
    scaled,
    widened,
)
from plait.ops.compare import eq
from plait.ops.dynamic_slice import dynamic_index_in_dim
from plait.ops.reduce import reduce_max_p, reduce_min_p
from plait.ops.slices import index_in_dim


class _Reduction(Collective):
    """Combine the values of all positions; each receives the result. Several names are one axis.

    Groups go with a single name only.
    """

    def over(self, frame, x, is_mapped, params):
        name, total = params["axis_name"], params["axis_size"]
        k = name.index(frame.name)
        inner = () if frame.outer is None else (frame.outer[0],)
        rest = (*name[:k], *inner, *name[k + 1 :])
        y, _ = self.lanes(x, is_mapped, frame.size, 0)
        if rest:
            y = self.bind(y, axis_name=rest, axis_size=total // frame.size, groups=None)
        return y, False

    def variance(self, varying, params, analyse):
        names = frozenset(params["axis_name"])
        if params["groups"] is None:
            return varying[0] - names
        # In groups of different sizes even the sums of equal values differ.
        return varying[0] if is_even(params["groups"]) else varying[0] | names


class PSum(_Reduction, Linear):
    """Sum over all positions of the named axes. Half precision is summed in float32. StableHLO:
    all_reduce with add.
    """

    name = "psum"

    def type(self, x, *, axis_name, axis_size, groups):
        if x.dtype not in dtypes.NUMBER:
            raise DtypeError("only numbers can be summed", x=x, fix="convert with x.astype(int)")
        return x

    def transpose(self, ct, x, **params):
        # Every position's x feeds every position's result: pmap's convention, in which a function's
        # derivative is that of the sum of all positions' results.
        return (self.bind(ct, **params),)

    def over(self, frame, x, is_mapped, params):
        if frame.outer is None and len(params["axis_name"]) == 1:
            return self.lanes(x, is_mapped, frame.size, 0)
        # Round once, after the last of several sums.
        y, y_mapped = super().over(frame, widened(x), is_mapped, params)
        return like(y, x), y_mapped

    def lanes(self, x, is_mapped, size, axis):
        return reduce_sum(x, (0,)) if is_mapped else scaled(x, size), False

    def lower(self, b, x, *, axis_name, axis_size, groups):
        rows = mesh_groups(b, self.name, axis_name, groups)
        if max(map(len, rows)) == 1:
            return x
        wide = b.convert(x, dtypes.float32) if is_narrow(x.dtype) else x
        return b.convert(b.all_reduce(wide, rows, b.add), x.dtype)


class _Extreme(_Reduction):
    """The largest or smallest of the values of all positions; NaN if one is among them."""

    local: Any
    hlo = ""

    def type(self, x, *, axis_name, axis_size, groups):
        if x.dtype not in dtypes.REAL | dtypes.BOOL | dtypes.COMPLEX:
            raise DtypeError("takes numbers or booleans", x=x)
        return x

    def jvp(self, xs, ts, **params):
        # As in reduce_max: the positions that attain the extreme share the derivative equally.
        (x,), (t,) = xs, ts
        y = self.bind(x, **params)
        dtype = type_of(t).dtype
        wide = dtypes.float32 if is_narrow(dtype) else dtype
        hits = convert_element_type(eq(x, y), wide)
        count = psum_p.bind(hits, **params)
        total = psum_p.bind(mul(convert_element_type(t, wide), hits), **params)
        return y, convert_element_type(div(total, count), dtype)

    def lanes(self, x, is_mapped, size, axis):
        return self.local.bind(x, axes=(0,)) if is_mapped else x, False

    def lower(self, b, x, *, axis_name, axis_size, groups):
        rows = mesh_groups(b, self.name, axis_name, groups)
        if max(map(len, rows)) == 1:
            return x
        if x.dtype in dtypes.COMPLEX:
            return self._of_all(b, x, rows)
        if x.dtype in dtypes.FLOAT and b.platform != "tpu":
            return self._on_keys(b, x, rows)
        return b.all_reduce(x, rows, lambda p, q: b.binary(self.hlo, p, q))

    def _of_all(self, b: Any, x: Any, rows: Any) -> Any:
        """The extreme of what all members of a group send. Of groups of different sizes all devices
        send to all, and each looks at its own group.
        """
        x = b.reshape(x, (1, *x.shape))
        width, count = max(map(len, rows)), sum(map(len, rows))
        if width * len(rows) == count:
            return self.local.lower(b, b.all_gather(x, rows, 0), axes=(0,))
        table = np.zeros((count, width), np.int32)
        for row in rows:
            table[row] = np.resize(row, width)  # some twice: that changes no extreme
        every = b.all_gather(x, [list(range(count))], 0)
        zero, here = b.constant(np.int32(0)), b.convert(b.partition_id(), dtypes.int32)
        parts = []
        for k in range(width):
            member = b.dynamic_slice(b.constant(table[:, k].copy()), [here], (1,))
            starts = [b.reshape(member, ()), *[zero] * (every.ndim - 1)]
            parts.append(b.dynamic_slice(every, starts, x.shape))
        return self.local.lower(b, b.concatenate(parts, 0), axes=(0,))

    def _on_keys(self, b: Any, x: Any, rows: Any) -> Any:
        """The extreme of floats as that of integers in the same order, NaN beyond all others: the
        libraries that reduce over devices do not all let a NaN win.
        """
        wide = b.convert(x, dtypes.float32) if is_narrow(x.dtype) else x
        dtype = dtypes.int32 if wide.dtype == dtypes.float32 else dtypes.int64
        top = np.iinfo(dtype).max
        end = top if self.hlo == "maximum" else np.iinfo(dtype).min

        def flipped(key: Any) -> Any:
            # Among negative floats larger bits mean smaller numbers.
            negative = b.compare("LT", key, b.full_like(key, 0))
            return b.select(negative, b.binary("xor", key, b.full_like(key, top)), key)

        key = flipped(b.bitcast(wide, ArrayType(wide.shape, dtype)))
        key = b.select(b.compare("NE", wide, wide), b.full_like(key, end), key)
        key = b.all_reduce(key, rows, lambda p, q: b.binary(self.hlo, p, q))
        return b.convert(b.bitcast(flipped(key), ArrayType(wide.shape, wide.dtype)), x.dtype)


class PMax(_Extreme):
    """The largest value over all positions of the named axes, NaN if there is one. StableHLO:
    all_reduce with maximum.
    """

    name = "pmax"
    local, hlo = reduce_max_p, "maximum"


class PMin(_Extreme):
    """The smallest value over all positions of the named axes, NaN if there is one. StableHLO:
    all_reduce with minimum.
    """

    name = "pmin"
    local, hlo = reduce_min_p, "minimum"


psum_p = register(PSum())
pmax_p = register(PMax())
pmin_p = register(PMin())

_PYTHON_NUMBERS = (bool, int, float, complex)


def _scope(axis_name: Any, axis_index_groups: Any, op: str) -> dict[str, Any]:
    """The parameters of a reduction over the named axes."""
    names = names_of(axis_name, op)
    size = math.prod(sizes_of(names, op))
    groups = groups_of(axis_index_groups, names, size, op, even=False)
    return {"axis_name": names, "axis_size": size, "groups": groups}


def _members(scope: dict[str, Any]) -> Any:
    """How many positions communicate with this one: an int, if it is the same for all."""
    groups = scope["groups"]
    if is_even(groups):
        return members(scope["axis_size"], groups)
    sizes = {p: len(row) for row in groups for p in row}
    table = np.array([sizes[p] for p in sorted(sizes)], np.int32)
    return dynamic_index_in_dim(table, axis_index(scope["axis_name"]), keepdims=False)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sum x over the positions of one or several named axes; every position receives the sum.

    x may be a tree. Booleans are summed as int32, half precision in float32. A Python number gives
    a Python number: psum(1, "i") is the size of the axis, known while tracing.
    axis_index_groups: lists of positions that sum among themselves only; if their sizes differ, the
    sum of a Python number is an array.
    Derivative: linear; the transpose is psum, so that inside a map grad is the derivative of the
    sum of all positions' results with respect to this position's argument.
    Raises: AxisNameError if no vmap or pmap binds a name; ArgumentError for groups that do not fit.

    >>> plait.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    scope = _scope(axis_name, axis_index_groups, "psum")
    n = _members(scope)

    def add_up(x: Any) -> Any:
        if type(x) in _PYTHON_NUMBERS:
            return x * n
        x = counted(_number(x, "psum"))
        return psum_p.bind(x, **scope) if scope["axis_name"] else x

    return tree.map(add_up, x)


def _number(x: Any, op: str) -> Any:
    """x, which must not be a random key: lanes would complain in another op's name."""
    try:
        dtype = type_of(x).dtype
    except PlaitError as error:
        error.op, error.where = op, user_line()
        raise
    if dtype in dtypes.KEY:
        raise DtypeError("random keys are no numbers", op=op, x=x, where=user_line())
    return x


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Mean of x over the positions of one or several named axes; every position receives it.

    x may be a tree. Integers and booleans give floats. Half precision is averaged in float32.
    Raises: AxisNameError if no vmap or pmap binds a name; ArgumentError for groups that do not fit.

    >>> plait.pmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    scope = _scope(axis_name, axis_index_groups, "pmean")
    n = _members(scope)

    def over(total: Any) -> Any:
        dtype = type_of(total).dtype
        if isinstance(n, int):
            return div(total, np.asarray(n).astype(dtype))
        shape = type_of(total).shape
        return div(total, broadcast_in_dim(convert_element_type(n, dtype), shape, ()))

    def average(x: Any) -> Any:
        if type(x) in _PYTHON_NUMBERS:
            return x / 1
        type_ = type_of(_number(x, "pmean"))
        if type_.dtype not in dtypes.INEXACT:
            # Floats before they are added up: a sum of int8 would wrap.
            wide = type_.dtype in dtypes.INTEGER and type_.dtype.itemsize == 8
            x = convert_element_type(x, dtypes.float64 if wide else dtypes.float32)
        if not scope["axis_name"]:
            return x
        return like(over(psum_p.bind(widened(x), **scope)), x)

    return tree.map(average, x)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Largest x over the positions of one or several named axes; NaN if one of them is NaN.

    x may be a tree. Derivative: shared equally by the positions that attain the maximum.
    Raises: AxisNameError if no vmap or pmap binds a name; ArgumentError for groups that do not fit.

    >>> plait.pmap(lambda x: lax.pmax(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([3., 3.], dtype=float32)
    """
    return _extreme(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Smallest x over the positions of one or several named axes; NaN if one of them is NaN.

    x may be a tree. Derivative: shared equally by the positions that attain the minimum.
    Raises: AxisNameError if no vmap or pmap binds a name; ArgumentError for groups that do not fit.

    >>> plait.pmap(lambda x: lax.pmin(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([1., 1.], dtype=float32)
    """
    return _extreme(pmin_p, x, axis_name, axis_index_groups)


def _extreme(op: _Extreme, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    scope = _scope(axis_name, axis_index_groups, op.name)

    def combine(x: Any) -> Any:
        if type(x) in _PYTHON_NUMBERS or not scope["axis_name"]:
            return x
        return op.bind(_number(x, op.name), **scope)

    return tree.map(combine, x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Give position i of a named axis the x of position perm[i]; perm names each position once.

    Raises: AxisNameError; ArgumentError if perm is not a permutation.

    >>> plait.pmap(lambda x: lax.pshuffle(x, "i", [2, 3, 0, 1]), axis_name="i")(np.arange(4))
    Array([2, 3, 0, 1], dtype=int32)
    """
    n = math.prod(sizes_of(names_of(axis_name, "pshuffle"), "pshuffle"))
    (sources,) = positions_of("pshuffle", "a list of positions", "[1, 0]", [perm], perm=perm)
    if sorted(sources) != list(range(n)):
        raise ArgumentError(
            f"perm must name each of the positions 0 to {n - 1} once",
            op="pshuffle",
            perm=list(sources),
            where=user_line(),
            fix="use ppermute for a pattern in which some send to nobody",
        )
    return ppermute(x, axis_name, [(source, k) for k, source in enumerate(sources)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchange a named axis with an array axis of the same size.

    Raises: AxisNameError; ShapeError if the sizes differ.

    >>> x = np.array([[1, 2], [3, 4]])
    >>> plait.pmap(lambda row: lax.pswapaxes(row, "i", 0), axis_name="i")(x)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    try:
        return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
    except PlaitError as error:
        error.op = "pswapaxes"
        error.given = {"axis" if k == "split_axis" else k: v for k, v in error.given.items()}
        raise


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Give every position of a named axis the x of one of them. x may be a tree.

    Raises: AxisNameError; OutOfRangeError for a source that the axis does not have.

    >>> plait.pmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(np.array([5, 7]))
    Array([7, 7], dtype=int32)
    """
    n = math.prod(sizes_of(names_of(axis_name, "pbroadcast"), "pbroadcast"))
    if not 0 <= operator.index(source) < n:
        raise OutOfRangeError(
            f"source {source} is no position of the axis, whose positions are 0 to {n - 1}",
            op="pbroadcast",
            axis_name=repr(axis_name),
            where=user_line(),
        )
    everywhere = all_gather(x, axis_name)
    return tree.map(lambda rows: index_in_dim(rows, source, 0, keepdims=False), everywhere)


def axis_size(axis_name: Any) -> int:
    """The size of a named axis, or the product of the sizes of several. Raises AxisNameError.

    >>> plait.pmap(lambda x: x / lax.axis_size("i"), axis_name="i")(np.ones(4))
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return math.prod(sizes_of(names_of(axis_name, "axis_size"), "axis_size"))


def pvary(x: Any, axis_name: Any) -> Any:
    """x, unchanged: over which axes a value varies is found out, not declared.

    Raises: AxisNameError if a name is not bound.

    >>> plait.pmap(lambda x: x + lax.pvary(1.0, "i"), axis_name="i")(np.zeros(2))
    Array([1., 1.], dtype=float32)
    """
    sizes_of(names_of(axis_name, "pvary"), "pvary")
    return x


def pcast(x: Any, axis_name: Any = None, *, to: str) -> Any:
    """x, unchanged: over which axes a value varies is found out, not declared.

    Raises: AxisNameError if a name is not bound.

    >>> plait.pmap(lambda x: x + lax.pcast(1.0, "i", to="varying"), axis_name="i")(np.zeros(2))
    Array([1., 1.], dtype=float32)
    """
    if axis_name is not None:
        sizes_of(names_of(axis_name, "pcast"), "pcast")
    return x


__all__: Sequence[str] = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "bound_axis_names",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "pvary",
]
