"""pmap: a function of one row, run for all rows on all devices.

The traced call is a Program that moves the mapped axes to the front, applies the pmap op
(regions/spmd.py) and moves the results' axes into place; jit's machinery compiles and keeps it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.config import override
from plait.core import tree
from plait.core.context import context, named_axes
from plait.core.interpreter import Tracer
from plait.core.program import Program, run_program
from plait.core.source import function_name, function_source
from plait.core.stage import stage
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, BackendError, ShapeError
from plait.interpreters.batch import Frame, add_axis, batch
from plait.interpreters.variance import Variance, variance
from plait.ops.across import join_p, own_p
from plait.ops.axes import move_axis
from plait.ops.slices import index_in_dim
from plait.regions.spmd import form_on, pmap_p
from plait.runtime import across, client, xla
from plait.runtime.array import Array, as_array
from plait.runtime.eager import eager
from plait.transforms.arguments import (
    check_arrays,
    check_axes,
    check_axis_name,
    check_axis_size,
    check_callable,
    check_disjoint,
    flatten_result,
    hashable_tree,
    map_size,
    resolve_out_axis,
    select_arguments,
    spread_in_axes,
    spread_out_axes,
    types_of,
)
from plait.transforms.calls import Call, JitFunction
from plait.transforms.lanes import run_lanes
from plait.transforms.team import Team


class _Unnamed:
    """The axis name of a pmap that was given none."""

    def __repr__(self) -> str:
        return "<unnamed axis>"


UNNAMED = _Unnamed()

# The cure for a result that may not leave a map unmapped.
_COMBINE = "combine it over the whole axis first (lax.pmean, lax.psum, lax.all_gather)"


class Body(NamedTuple):
    """The traced function of one row. `captured` are its first inputs; `in_axes` are those of the
    arguments, `in_mapped` says for all inputs which differ between rows.
    """

    program: Program
    captured: list[Any]
    out_tree: Any
    size: int
    in_axes: list[int | None]
    in_mapped: tuple[bool, ...]


class PmapFunction(JitFunction):
    """A function that runs once for every row of its mapped arguments, rows spread over devices."""

    kind = "pmap"

    def __init__(
        self, fun, axis_name, in_axes, out_axes, static, donated, devices, backend, axis_size
    ):
        self.axis_name = UNNAMED if axis_name is None else axis_name
        self.in_axes, self.out_axes = in_axes, out_axes
        self.chosen, self.backend, self.axis_size = devices, backend, axis_size
        options = (
            self.axis_name,
            hashable_tree(in_axes),
            hashable_tree(out_axes),
            devices,
            backend,
            axis_size,
        )
        super().__init__(fun, static, donated, options)

    def devices(self) -> tuple[Any, ...]:
        """The devices the axis is spread over, in its order."""
        if self.chosen is not None:
            return self.chosen
        try:
            return tuple(client.devices(self.backend))
        except BackendError as error:
            raise BackendError(
                error.summary,
                op="pmap",
                backend=repr(self.backend),
                fix=f"leave backend= out to use the devices there are, or {error.fix}",
            ) from None

    def stage_body(self, call: Call, types: Sequence[ArrayType], in_tree: Any) -> Body:
        """The function of one row as a Program, and how the arguments enter it."""
        size, axes = self._mapped_axes(call, types)
        rows = [
            t if axis is None else t.with_shape(t.shape[:axis] + t.shape[axis + 1 :])
            for t, axis in zip(types, axes, strict=True)
        ]
        with named_axes((self.axis_name, size), mapped=True):
            body, captured, out_tree = super().stage(call, rows, in_tree)
        in_mapped = (False,) * len(captured) + tuple(axis is not None for axis in axes)
        return Body(body, captured, out_tree, size, axes, in_mapped)

    def stage(self, call: Call, types: Sequence[ArrayType], in_tree: Any):
        name, devices, team = function_name(self.fun), self.devices(), self.team()
        body, captured, out_tree, size, axes, in_mapped = self.stage_body(call, types, in_tree)
        out_axes = spread_out_axes(self.out_axes, out_tree, "pmap")
        out_axes = [
            None if axis is None else resolve_out_axis(axis, t.ndim, "pmap")
            for axis, t in zip(out_axes, body.out_types, strict=True)
        ]
        self._check_unmapped_results(body, in_mapped, out_axes, out_tree)
        params = {
            "program": body,
            "axis_name": self.axis_name,
            "axis_size": size,
            "in_mapped": in_mapped,
            "out_mapped": tuple(axis is not None for axis in out_axes),
            "devices": devices if team is None else team.devices(size),
            "form": form_on(devices),
        }

        def border(op: Any, x: Any, axis: int | None) -> Any:
            return x if team is None else op.bind(x, share=team.share(size, axis))

        def spread(*xs: Any) -> list[Any]:
            every = [*[None] * len(captured), *axes]
            joined = [border(join_p, x, axis) for x, axis in zip(xs, every, strict=True)]
            rows = [
                x if axis is None else move_axis(x, axis, 0)
                for x, axis in zip(joined, every, strict=True)
            ]
            ys = pmap_p.bind(*rows, **params)
            ys = [
                y if axis is None else move_axis(y, 0, axis)
                for y, axis in zip(ys, out_axes, strict=True)
            ]
            return [border(own_p, y, axis) for y, axis in zip(ys, out_axes, strict=True)]

        all_types = [*(type_of(x) for x in captured), *types]
        names = [""] * len(captured) + self.leaf_names(call)
        program, none = stage(spread, all_types, transformation="pmap", name=name, names=names)
        assert not none
        return program, captured, out_tree

    def team(self) -> Team | None:
        """The processes over whose devices it is spread, if they are several."""
        devices = self.devices()
        if context.in_map or not xla.spans_processes(devices):
            return None
        return Team(devices)

    def apply(self, traced, leaves):
        return run_program(traced.program, *traced.captured, *leaves)

    def run(self, call, leaves, in_tree):
        if not all(type(x) is not Array or x.is_fully_addressable for x in leaves):
            leaves = self._own_parts(call, leaves)
        return super().run(call, leaves, in_tree)

    def _own_parts(self, call: Call, leaves: Sequence[Any]) -> list[Any]:
        """The arguments, arrays of several processes as this one's part of them."""
        team, own = self.team(), list(leaves)
        if team is None:
            return own
        axes, names = self._in_axes(call, *call.dynamic), self.leaf_names(call)
        for k, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
            if type(x) is Array and not x.is_fully_addressable:
                size = 0 if axis is None else x.shape[axis]
                own[k] = across.own_part(x, team.share(size, axis), names[k])
        return own

    def without_jit(self, args, kwargs):
        """In plain Python, lane by lane (transforms/lanes.py); in a trace, as vmap does it."""
        if self.team() is not None:  # the others cannot be asked row by row
            with override(disable_jit=False):
                return self.slow_call(args, kwargs)
        call = self.split_static(args, kwargs)
        leaves, in_tree = tree.flatten(call.dynamic)
        check_arrays(leaves, lambda: self.leaf_names(call), "pmap")
        size, axes = self._mapped_axes(call, types_of(leaves))
        rows = [x if a is None else move_axis(x, a, 0) for x, a in zip(leaves, axes, strict=True)]
        mapped = [a is not None for a in axes]
        out: list[Any] = []

        def flat(*xs: Any) -> Sequence[Any]:
            given, named = call.rebuild(in_tree.unflatten(xs))
            result = flatten_result(self.fun(*given, **named), self.fun, "pmap")
            out.append(result.structure)
            return result.leaves

        plain = context.interpreter is eager and not any(isinstance(x, Tracer) for x in leaves)
        frame = Frame(self.axis_name, size, devices=self.devices())
        ys, y_mapped = (run_lanes if plain else batch)(flat, rows, mapped, frame)
        out_axes = spread_out_axes(self.out_axes, out[0], "pmap")
        labels = tree.leaf_names(out[0].unflatten([0] * len(ys)), "result")
        results = [
            self._place(y, m, axis, size, label)
            for y, m, axis, label in zip(ys, y_mapped, out_axes, labels, strict=True)
        ]
        return out[0].unflatten(results)

    def _place(self, y: Any, mapped: bool, axis: int | None, size: int, label: str) -> Any:
        if axis is None:
            if not mapped:
                return y
            rows = as_array(y).host() if not isinstance(y, Tracer) else None
            if rows is None or not np.array_equal(
                rows, np.broadcast_to(rows[:1], rows.shape), True
            ):
                raise ArgumentError(
                    f"out_axes=None was asked of {label}, which differs between devices",
                    op="pmap",
                    function=function_source(self.fun),
                    fix=_COMBINE,
                )
            return index_in_dim(y, 0, keepdims=False)
        axis = resolve_out_axis(axis, type_of(y).ndim - mapped, "pmap")
        return move_axis(y if mapped else add_axis(y, size), 0, axis)

    # --- checks

    def _mapped_axes(self, call: Call, types: Sequence[ArrayType]) -> tuple[int, list[int | None]]:
        """(the number of rows, the mapped axis of each argument's leaf), both checked."""
        args, kwargs = call.dynamic
        axes = self._in_axes(call, args, kwargs)
        keywords = len(tree.leaves(kwargs))
        team, wanted = self.team(), self.axis_size
        if team is not None and wanted is not None:
            wanted = team.own_rows(wanted)
        size, axes = map_size(types, axes, lambda: self.leaf_names(call), wanted, "pmap", keywords)
        count = len(self.devices()) if team is None else len(team.own)
        self._check_size(size, count, _first_mapped(types, axes))
        return (size if team is None else team.all_rows(size)), axes

    def _in_axes(self, call: Call, args: Any, kwargs: Any) -> list[int | None]:
        in_axes = self.in_axes
        if isinstance(in_axes, tuple):
            if len(in_axes) != len(call.args):
                spread_in_axes(in_axes, call.args, call.kwargs, "pmap")  # raises, with both counts
            static = call.static_positions
            in_axes = tuple(a for k, a in enumerate(in_axes) if k not in static)
        return spread_in_axes(in_axes, args, kwargs, "pmap")

    def _check_size(self, size: int, count: int, mapped: tuple[int, int]) -> None:
        if size == 0:
            raise ShapeError(
                "the mapped axis has size 0: there is nothing to run",
                op="pmap",
                function=function_name(self.fun),
                fix="pass at least one row (vmap gives an empty result for none)",
            )
        # Inside another map the devices are shared, and a row of it may hold any number of lanes.
        if size > count and size % count and not context.in_map:
            short = -size % count
            raise ShapeError(
                f"{size} rows do not spread evenly over {count} devices",
                op="pmap",
                rows=size,
                devices=count,
                fix=f"pad the batch with {short} more row{'s' if short > 1 else ''} "
                f"(jnp.pad(x, {_widths(mapped, short)})), leave them out of means and sums with "
                "a mask and drop their results, "
                f"or use a multiple of {count} rows, or at most {count}",
            )

    def _check_unmapped_results(
        self,
        body: Program,
        in_mapped: Sequence[bool],
        out_axes: Sequence[int | None],
        out_tree: Any,
    ) -> None:
        """Raise ArgumentError if a result asked to leave unmapped may differ between devices."""
        axis = frozenset([self.axis_name])
        inputs = tuple(axis if m else frozenset() for m in in_mapped)
        found: Variance = variance(body, inputs, axis)
        for k, (out_axis, varying) in enumerate(zip(out_axes, found.out_varying, strict=True)):
            if out_axis is None and self.axis_name in varying:
                labels = tree.leaf_names(out_tree.unflatten([0] * out_tree.num_leaves), "result")
                raise ArgumentError(
                    f"out_axes=None was asked of {labels[k]}, which differs between devices",
                    op="pmap",
                    function=function_source(self.fun),
                    result=body.out_types[k],
                    starts_to_vary=str(found.reason(k, self.axis_name)),
                    fix=f"{_COMBINE}, or give it an axis in out_axes",
                )


def _first_mapped(types: Sequence[ArrayType], axes: Sequence[int | None]) -> tuple[int, int]:
    """(rank, mapped axis) of the first mapped argument."""
    return next(((t.ndim, a) for t, a in zip(types, axes, strict=True) if a is not None), (1, 0))


def _widths(mapped: tuple[int, int], short: int) -> str:
    """The argument of jnp.pad that adds rows to the first mapped argument."""
    rank, axis = mapped
    pairs = [f"(0, {short if k == axis else 0})" for k in range(rank)]
    return f"({pairs[0]},)" if rank == 1 else f"({', '.join(pairs)})"


def pmap(
    fun: Callable[..., Any] | None = None,
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    static_broadcasted_argnames: str | Sequence[str] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    global_arg_shapes: Any = None,
) -> Any:
    """Run a function once for every row of its mapped arguments, spread over the devices.

    The mapped axis may have any size up to the number of devices, or a multiple of it: then every
    device takes several rows. Inside fun, collectives (`lax.psum`, `lax.pmean`, ...) combine the
    rows by axis_name. Results are the same on any number of devices, up to the order of sums.

    in_axes: one entry for each positional argument: an axis, None (the whole to every row), or a
    tree of these like the argument; keyword arguments are mapped along axis 0. out_axes likewise;
    None is accepted for results that are provably equal on all devices. Static arguments are part
    of the program; donated ones give their memory to the results.

    Raises: ShapeError naming arguments whose axes are missing, differ in size or do not spread over
    the devices; ArgumentError if out_axes=None meets a result that varies; AxisNameError for an
    unbound axis name in a collective.

    >>> plait.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    if fun is None:
        return functools.partial(
            pmap,
            axis_name=axis_name,
            in_axes=in_axes,
            out_axes=out_axes,
            static_broadcasted_argnums=static_broadcasted_argnums,
            static_broadcasted_argnames=static_broadcasted_argnames,
            devices=devices,
            backend=backend,
            axis_size=axis_size,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            global_arg_shapes=global_arg_shapes,
        )
    check_callable(fun, "pmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    check_axes(in_axes, "in_axes", "pmap")
    check_axes(out_axes, "out_axes", "pmap")
    check_axis_name(axis_name, "pmap")
    static = select_arguments(
        fun, static_broadcasted_argnums, static_broadcasted_argnames, "pmap", "static_broadcasted"
    )
    donated = select_arguments(fun, donate_argnums, donate_argnames, "pmap", "donate")
    check_disjoint(static, donated, "pmap")
    if devices is not None:
        devices = tuple(devices) if isinstance(devices, Iterable) else (devices,)
        if not devices:
            raise ArgumentError(
                "devices is empty", op="pmap", fix="leave it out to use all devices"
            )
        if not all(hasattr(d, "platform") for d in devices):
            raise ArgumentTypeError(
                "devices is a list of devices, as plait.devices() gives them",
                op="pmap",
                devices=devices,
            )
        if len(set(devices)) != len(devices):
            raise ArgumentError("a device is named twice", op="pmap", devices=devices)
        if len({d.platform for d in devices}) > 1:
            raise ArgumentError(
                "the devices are of several platforms: "
                + ", ".join(sorted({d.platform for d in devices})),
                op="pmap",
                devices=devices,
                fix="name devices of one platform, for example plait.devices('cpu')",
            )
    check_axis_size(axis_size, "pmap")
    return PmapFunction(
        fun, axis_name, in_axes, out_axes, static, donated, devices, backend, axis_size
    )


__all__ = ["UNNAMED", "Body", "PmapFunction", "pmap"]
