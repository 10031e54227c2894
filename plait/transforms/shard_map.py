"""shard_map, and the shardings of jit: a program's view of a mesh of devices.

shard_map is a nest of pmap ops (regions/spmd.py), one for each axis of the mesh: the blocks that
its specs describe are made rows by reshaping, and the rows of the results blocks again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from plait.core import tree
from plait.core.context import named_axes
from plait.core.interpreter import Tracer
from plait.core.program import Program, run_program
from plait.core.source import function_name, function_source
from plait.core.stage import stage
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.interpreters.variance import variance
from plait.ops.axes import permute, reshape
from plait.ops.collective import all_gather
from plait.ops.sharding import constrain
from plait.ops.slices import index_in_dim
from plait.regions.spmd import form_on, pmap_p
from plait.runtime.layout import Format
from plait.runtime.mesh import get_mesh
from plait.runtime.sharding import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    named,
    spec_names,
)
from plait.runtime.transfer import constrain_named, device_put
from plait.transforms.arguments import Selected, check_callable
from plait.transforms.calls import JitFunction


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec | Sharding | Format)


def spread_specs(specs: Any, value: Any, what: str, op: str) -> list[Any]:
    """One spec for each leaf of a tree."""
    flat, shape = tree.flatten(specs, _is_spec)
    if len(flat) == 1 and shape.num_nodes == 1:
        return flat * tree.structure(value).num_leaves
    try:
        parts = shape.flatten_up_to(value)
    except (ValueError, TypeError):
        raise ArgumentError(
            f"{what} does not fit the tree it describes",
            op=op,
            **{what: specs},
            expected=tree.structure(value),
            fix=f"give {what} one spec, or a tree of specs like the tree",
        ) from None
    out: list[Any] = []
    for spec, part in zip(flat, parts, strict=True):
        out += [spec] * tree.structure(part).num_leaves
    return out


class _Layout:
    """How one array is cut into blocks: the mesh axes of each of its dimensions, major first."""

    def __init__(self, spec: Any, mesh: Mesh, manual: Sequence[str], rank: int, name: str):
        if not isinstance(spec, PartitionSpec):
            raise ArgumentTypeError(
                f"the spec of {name} is not a PartitionSpec",
                op="shard_map",
                spec=spec,
                fix="P() for an array that every device gets whole",
            )
        if len(spec) > rank:
            raise ShapeError(
                f"the spec of {name} has {len(spec)} entries, the array {rank} axes",
                op="shard_map",
                spec=spec,
            )
        self.dims = [tuple(spec_names(p)) for p in spec] + [()] * (rank - len(spec))
        used = [n for names in self.dims for n in names]
        for n in used:
            if n not in manual:
                raise ArgumentError(
                    f"the spec of {name} names the axis {n!r}, which the mesh does not have",
                    op="shard_map",
                    mesh=mesh,
                    spec=spec,
                )
        if len(set(used)) != len(used):
            raise ArgumentError(
                f"the spec of {name} names a mesh axis twice", op="shard_map", spec=spec
            )
        self.sizes = mesh.shape
        # The axes that cut it, in the order of the mesh: the order of the rows' axes.
        self.used = tuple(n for n in manual if n in used)

    def block(self, t: ArrayType, name: str) -> ArrayType:
        """The type of a block. Raises ShapeError if an axis does not divide."""
        shape = []
        for d, (size, names) in enumerate(zip(t.shape, self.dims, strict=True)):
            parts = 1
            for n in names:
                parts *= self.sizes[n]
            if size % parts:
                raise ShapeError(
                    f"axis {d} of {name} has size {size}: it does not divide into {parts} blocks",
                    op="shard_map",
                    array=t,
                    fix="pad the axis, or leave it whole (None) in the spec",
                )
            shape.append(size // parts)
        return t.with_shape(shape)

    def to_rows(self, x: Any) -> Any:
        """[*dims] -> [*used axes, *block]."""
        shape, at, rest = [], {}, []
        for size, names in zip(type_of(x).shape, self.dims, strict=True):
            for n in names:
                at[n] = len(shape)
                shape.append(self.sizes[n])
                size //= self.sizes[n]
            rest.append(len(shape))
            shape.append(size)
        return permute(reshape(x, shape), [*(at[n] for n in self.used), *rest])

    def from_rows(self, y: Any) -> Any:
        """[*used axes, *block] -> [*dims]."""
        have = type_of(y).shape
        k = len(self.used)
        order, shape = [], []
        for d, names in enumerate(self.dims):
            size = have[k + d]
            for n in names:
                order.append(self.used.index(n))
                size *= self.sizes[n]
            order.append(k + d)
            shape.append(size)
        return reshape(permute(y, order), shape)


class ShardMapFunction(JitFunction):
    """A function of blocks, run on every device of a mesh."""

    kind = "shard_map"

    def __init__(self, fun, mesh, in_specs, out_specs, axis_names, check):
        self.mesh, self.in_specs, self.out_specs = mesh, in_specs, out_specs
        self.manual = tuple(n for n in mesh.axis_names if n in axis_names)
        self.check = check
        key = (mesh, _hashable(in_specs), _hashable(out_specs), self.manual, check)
        super().__init__(fun, Selected((), ()), Selected((), ()), key)

    def stage(self, call, types, in_tree):
        names = self.leaf_names(call)
        args, kwargs = call.dynamic
        if kwargs:
            raise ArgumentTypeError(
                "takes no keyword arguments", op="shard_map", names=list(kwargs)
            )
        specs = spread_specs(self.in_specs, args, "in_specs", "shard_map")
        layouts = [
            _Layout(spec, self.mesh, self.manual, t.ndim, name)
            for spec, t, name in zip(specs, types, names, strict=True)
        ]
        blocks = [x.block(t, n) for x, t, n in zip(layouts, types, names, strict=True)]
        axes = [(n, self.mesh.shape[n]) for n in self.manual]
        with named_axes(*axes, mapped=True):
            body, captured, out_tree = super().stage(call, blocks, in_tree)
        dummy = out_tree.unflatten([0] * out_tree.num_leaves)
        out_specs = spread_specs(self.out_specs, dummy, "out_specs", "shard_map")
        out_names = tree.leaf_names(dummy, "result")
        outs = [
            _Layout(spec, self.mesh, self.manual, t.ndim, name)
            for spec, t, name in zip(out_specs, body.out_types, out_names, strict=True)
        ]
        in_used = [()] * len(captured) + [x.used for x in layouts]
        out_used = [x.used for x in outs]
        body = self._settle(body, in_used, out_used, out_names)
        nest = self._nest(body, in_used, out_used)

        def spread(*xs: Any) -> list[Any]:
            given = [x.to_rows(a) for x, a in zip(layouts, xs[len(captured) :], strict=True)]
            ys = run_program(nest, *xs[: len(captured)], *given)
            ys = [x.from_rows(y) for x, y in zip(outs, ys, strict=True)]
            return [
                constrain(y, NamedSharding(self.mesh, spec).lowered(type_of(y).ndim))
                for y, spec in zip(ys, out_specs, strict=True)
            ]

        all_types = [*(type_of(x) for x in captured), *types]
        name = function_name(self.fun)
        all_names = [""] * len(captured) + names
        program, none = stage(
            spread, all_types, transformation="shard_map", name=name, names=all_names
        )
        assert not none
        return program, captured, out_tree

    def _settle(self, body: Program, in_used, out_used, out_names) -> Program:
        """The body, with results that leave over fewer axes than they vary over refused, or, with
        check_vma=False, taken from the first device.
        """
        every = frozenset(self.manual)
        found = variance(body, tuple(frozenset(u) for u in in_used), every)
        loose: dict[int, list[str]] = {}
        for k, (varying, used) in enumerate(zip(found.out_varying, out_used, strict=True)):
            extra = [n for n in self.manual if n in varying and n not in used]
            if extra and self.check:
                raise ArgumentError(
                    f"out_specs leaves {out_names[k]} whole over {extra[0]!r}, "
                    "but it differs between the devices of that axis",
                    op="shard_map",
                    function=function_source(self.fun),
                    result=body.out_types[k],
                    starts_to_vary=str(found.reason(k, extra[0])),
                    fix="combine it over the axis (lax.psum, lax.pmean, lax.all_gather), name the "
                    "axis in out_specs, or pass check_vma=False to take the first device's",
                )
            loose[k] = extra
        if not any(loose.values()):
            return body

        def first(*xs: Any) -> list[Any]:
            ys = list(run_program(body, *xs))
            for k, names in loose.items():
                for n in names:
                    ys[k] = index_in_dim(all_gather(ys[k], n), 0, keepdims=False)
            return ys

        with named_axes(*((n, self.mesh.shape[n]) for n in self.manual), mapped=True):
            settled, none = stage(first, body.in_types, name=body.name)
        assert not none
        return settled

    def _nest(self, body: Program, in_used, out_used) -> Program:
        """The body inside one pmap for each axis of the mesh, the first outermost."""
        devices = tuple(self.mesh.devices.flat)
        form = form_on(devices)
        program = body
        for k in reversed(range(len(self.manual))):
            name = self.manual[k]
            params = {
                "program": program,
                "axis_name": name,
                "axis_size": self.mesh.shape[name],
                "in_mapped": tuple(name in used for used in in_used),
                "out_mapped": tuple(name in used for used in out_used),
                "devices": devices,
                "form": form,
            }
            inner = self.manual[k:]
            types = [
                v.type.with_shape(
                    (*(self.mesh.shape[n] for n in inner if n in used), *v.type.shape)
                )
                for v, used in zip(body.inputs, in_used, strict=True)
            ]
            outer = [(n, self.mesh.shape[n]) for n in self.manual[:k]]
            with named_axes(*outer, mapped=True):
                program, none = stage(
                    lambda *xs, params=params: pmap_p.bind(*xs, **params), types, name=body.name
                )
            assert not none
        return program

    def apply(self, traced, leaves):
        return run_program(traced.program, *traced.captured, *leaves)


def _hashable(specs: Any) -> Any:
    leaves, structure = tree.flatten(specs, _is_spec)
    return (tuple(leaves), structure)


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    mesh: Mesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
    check_rep: bool | None = None,
    auto: Any = frozenset(),
) -> Any:
    """Run a function of blocks on every device of a mesh.

    in_specs and out_specs say, with a PartitionSpec for each array (or one for all of a tree),
    which axes of the mesh cut which axes of the array; each device gets its block, of the same
    rank. Without mesh it is the one of set_mesh. Over axes that a result's spec does not name it
    must be equal on all devices (check_vma). Collectives use the mesh's axis names; axis_names
    restricts the map to some of them.

    Raises: ShapeError for axes that do not divide; ArgumentError for specs that do not fit, or a
    result that differs over an axis it is said to be whole over.

    >>> from plait.sharding import PartitionSpec as P
    >>> mesh = plait.make_mesh((1,), ("i",))
    >>> plait.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(
            shard_map,
            mesh=mesh,
            in_specs=in_specs,
            out_specs=out_specs,
            axis_names=axis_names,
            check_vma=check_vma,
            check_rep=check_rep,
            auto=auto,
        )
    check_callable(f, "shard_map")
    if mesh is None and not (given := get_mesh()).empty:
        mesh = given
    if not isinstance(mesh, Mesh):
        raise ArgumentTypeError(
            "a mesh is needed", op="shard_map", mesh=mesh, fix="mesh=plait.make_mesh((n,), ('i',))"
        )
    names = set(axis_names) or set(mesh.axis_names) - set(auto)
    unknown = names - set(mesh.axis_names)
    if unknown:
        raise ArgumentError(
            f"the mesh has no axis {sorted(map(str, unknown))[0]!r}", op="shard_map", mesh=mesh
        )
    if isinstance(in_specs, list):
        in_specs = tuple(in_specs)
    check = check_vma if check_rep is None else check_rep
    return ShardMapFunction(f, mesh, in_specs, out_specs, names, check)


def constrain_leaf(x: Any, sharding: Any, op: str) -> Any:
    """One array with a sharding (None leaves it alone)."""
    sharding = named(sharding, op)
    if sharding is None or isinstance(sharding, SingleDeviceSharding):
        return x
    _check_named(sharding, op)
    return constrain_named(x, sharding, op)


def _check_named(sharding: Any, op: str) -> None:
    if not isinstance(sharding, NamedSharding):
        raise ArgumentTypeError(
            "a NamedSharding is needed",
            op=op,
            sharding=sharding,
            fix="NamedSharding(mesh, PartitionSpec(...))",
        )


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """A tree of arrays, spread as shardings say: inside jit a wish to the compiler, outside a move.

    Raises: ShapeError for axes that do not divide evenly.

    >>> mesh = plait.make_mesh((2,), ("i",))
    >>> spread = plait.NamedSharding(mesh, plait.P("i"))
    >>> plait.jit(lambda x: lax.with_sharding_constraint(x * 2, spread))(jnp.ones(4)).sharding.spec
    PartitionSpec('i')
    """
    leaves, structure = tree.flatten(x)
    wanted = spread_specs(shardings, x, "shardings", "with_sharding_constraint")
    out = []
    for leaf, sharding in zip(leaves, wanted, strict=True):
        sharding = named(sharding, "with_sharding_constraint")
        if isinstance(leaf, Tracer):
            out.append(constrain_leaf(leaf, sharding, "with_sharding_constraint"))
        elif isinstance(sharding, NamedSharding) and sharding.mesh.empty:
            out.append(leaf)
        else:
            if isinstance(sharding, NamedSharding):
                sharding.lowered_for(type_of(leaf).shape, "with_sharding_constraint")
            elif sharding is not None and not isinstance(sharding, SingleDeviceSharding):
                _check_named(sharding, "with_sharding_constraint")
            out.append(device_put(leaf, sharding))
    return structure.unflatten(out)


class ShardedJit(JitFunction):
    """jit with in_shardings or out_shardings: constraints on the arguments and results."""

    def __init__(self, fun, static, donated, in_shardings, out_shardings, compiler_options):
        self.in_shardings, self.out_shardings = in_shardings, out_shardings
        key = (_hashable(in_shardings), _hashable(out_shardings))
        super().__init__(fun, static, donated, key, compiler_options=compiler_options)

    def stage(self, call, types, in_tree):
        program, captured, out_tree = super().stage(call, types, in_tree)
        args, kwargs = call.dynamic
        wanted_in = spread_specs(self.in_shardings, args, "in_shardings", "jit")
        wanted_in += [None] * len(tree.leaves(kwargs))
        dummy = out_tree.unflatten([0] * out_tree.num_leaves)
        wanted_out = spread_specs(self.out_shardings, dummy, "out_shardings", "jit")
        n = len(captured)

        def constrained(*xs: Any) -> list[Any]:
            given = [constrain_leaf(x, s, "jit") for x, s in zip(xs[n:], wanted_in, strict=True)]
            ys = run_program(program, *xs[:n], *given)
            return [constrain_leaf(y, s, "jit") for y, s in zip(ys, wanted_out, strict=True)]

        whole, none = stage(
            constrained, program.in_types, name=program.name, names=program.names or ()
        )
        assert not none
        return whole, captured, out_tree
