"""vmap: a function of single rows as a function of all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from plait.core import tree
from plait.core.interpreter import Tracer
from plait.core.source import function_name
from plait.core.tracebacks import trimmed
from plait.core.types import type_of
from plait.errors import ArgumentError
from plait.interpreters.batch import Frame, add_axis, batch
from plait.ops.axes import move_axis
from plait.runtime.array import Array, as_array, own_array
from plait.transforms.arguments import (
    argument_names,
    check_arrays,
    check_axes,
    check_axis_name,
    check_axis_size,
    check_callable,
    flatten_result,
    hashable_tree,
    map_size,
    resolve_out_axis,
    spread_in_axes,
    spread_out_axes,
)
from plait.transforms.compiled import CompilesWhole


class _Vmap(CompilesWhole):
    kind = "vmap"

    def __init__(self, fun, in_axes, out_axes, axis_name, axis_size):
        options = (hashable_tree(in_axes), hashable_tree(out_axes), axis_name, axis_size)
        super().__init__(fun, options)
        self.in_axes, self.out_axes = in_axes, out_axes
        self.axis_name, self.axis_size = axis_name, axis_size

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (whole := self.whole()) is not None:
            return whole(*args, **kwargs)
        leaves, structure = tree.flatten((args, kwargs))
        axes = spread_in_axes(self.in_axes, args, kwargs, "vmap")

        def names() -> list[str]:
            return argument_names(self.fun, args, kwargs)

        check_arrays(leaves, names, "vmap")
        types = [type_of(x) for x in leaves]
        keywords = len(tree.leaves(kwargs))
        size, axes = map_size(types, axes, names, self.axis_size, "vmap", keywords)
        rows = [
            x if axis is None else move_axis(x if isinstance(x, Tracer) else as_array(x), axis, 0)
            for x, axis in zip(leaves, axes, strict=True)
        ]
        mapped = [axis is not None for axis in axes]
        out: list[Any] = []

        def flat(*xs: Any) -> Sequence[Any]:
            given, named = structure.unflatten(xs)
            result = flatten_result(self.fun(*given, **named), self.fun, "vmap")
            out.append(result.structure)
            return result.leaves

        frame = Frame(self.axis_name, size)
        ys, y_mapped = batch(flat, rows, mapped, frame, name=function_name(self.fun))
        out_axes = spread_out_axes(self.out_axes, out[0], "vmap")
        results = [
            self._place(y, m, axis, size) for y, m, axis in zip(ys, y_mapped, out_axes, strict=True)
        ]
        return out[0].unflatten(results)

    def _place(self, y: Any, mapped: bool, axis: int | None, size: int) -> Any:
        if axis is None:
            if mapped:
                raise ArgumentError(
                    "out_axes=None was asked of a result that differs from row to row",
                    op="vmap",
                    function=function_name(self.fun),
                    fix="give the result an axis in out_axes, or reduce it over the rows first",
                )
            return y if isinstance(y, Tracer) or type(y) is Array else own_array(y)
        rank = type_of(y).ndim - mapped
        axis = resolve_out_axis(axis, rank, "vmap")
        return move_axis(y if mapped else add_axis(y, size), 0, axis)


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, all rows at once.

    in_axes: for each positional argument an axis, None (the whole to every row), or a tree of these
    like the argument; keyword arguments are mapped along axis 0. out_axes: likewise for the result.
    axis_name lets collectives (`lax.psum`) inside fun reach the other rows.

    Raises: ShapeError naming arguments without the axis or with different sizes; ArgumentError if
    nothing is mapped and axis_size is not given, or out_axes=None meets a result that varies.

    >>> plait.vmap(jnp.dot)(jnp.ones((2, 3)), jnp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """
    check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    check_axes(in_axes, "in_axes", "vmap")
    check_axes(out_axes, "out_axes", "vmap")
    check_axis_name(axis_name, "vmap")
    check_axis_size(axis_size, "vmap")
    return _Vmap(fun, in_axes, out_axes, axis_name, axis_size)
