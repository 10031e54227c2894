"""Writes StableHLO text: one method per StableHLO op that `lower` rules use.

Everything is in MLIR's generic form, which all supported compilers read alike. A Value is a name in
the text with its ArrayType. A region's lines are collected by running a function on its arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.source import Source
from plait.core.types import ArrayType, Typed
from plait.hlo.types import array_i64, dense, dense_i64, quoted, tensor

# What `Builder.order` holds.
ORDER = ArrayType((), dtypes.uint32)


class DeviceAxis:
    """The name of a mesh axis: free, or the devices' part of an axis that has lanes as well."""

    def __init__(self, label: str, free: bool = False):
        self.label, self.free = label, free

    def __repr__(self) -> str:
        return self.label


def is_free(name: Any) -> bool:
    """Whether no pmap is spread over a mesh axis yet."""
    return isinstance(name, DeviceAxis) and name.free


class Value(Typed):
    """A name in the text and its type."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: ArrayType):
        self.name, self.type = name, type

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.type})"


class Builder:
    """One module's text while it is being written.

    Attributes:
        platform: "cpu", "gpu" or "tpu": what the text is for.
        result_types: the types of the results of the equation being lowered.
        mesh: the named axes of devices for collectives, as ((name, size), ...); () on one device.
        callbacks: host functions the module calls, with the (shape, dtype) of each result (None for
            a token); the index in this list is in the text.
        shard: what writes a sharding constraint on the module's mesh; None on one device.
        devices: the devices the module is for, in the order of the mesh; () if that is not known.
        order: None in modules without side effects. In others a value that each effect takes and
            gives anew, through loops, branches and functions, so that effects keep their order.
    """

    def __init__(
        self,
        platform: str = "cpu",
        mesh: tuple[tuple[Any, int], ...] = (),
        devices: Sequence[Any] = (),
    ):
        self.platform, self.mesh, self.devices = platform, mesh, tuple(devices)
        self.order: Value | None = None
        self.shard: Callable[[Value, Any], Value] | None = None
        self.result_types: tuple[ArrayType, ...] = ()
        self.callbacks: list[tuple[Callable[..., Any], Sequence[Any]]] = []
        self.functions: list[str] = []
        self.function_names: dict[Any, Any] = {}
        self.lines: list[str] = []
        self.location = self.scope = ""
        self._counter = 0
        self._channels = 0
        self.constants: dict[Any, Value] = {}

    # --- names, lines, locations

    def fresh(self, type: ArrayType) -> Value:
        self._counter += 1
        return Value(f"%{self._counter}", type)

    def fresh_name(self) -> str:
        self._counter += 1
        return f"%{self._counter}"

    def channel(self) -> str:
        self._channels += 1
        return f"#stablehlo.channel_handle<handle = {self._channels}, type = 1>"

    def set_location(self, name: str, source: Source | None) -> None:
        """Give the following lines a user's line; XLA's errors and metadata repeat it."""
        if source is None:
            self.location = f" loc({quoted(name)})"
        else:
            place = f"{quoted(source.file)}:{source.line}:0"
            self.location = f" loc({quoted(name)}({place}))"

    def emit(
        self,
        op: str,
        operands: Sequence[Value],
        results: Sequence[ArrayType],
        attributes: str = "",
        regions: Sequence[str] = (),
        discardable: str = "",
    ) -> tuple[Value, ...]:
        """One op in generic form; discardable attributes are those that are not the op's own."""
        outs = tuple(self.fresh(t) for t in results)
        left = ""
        if len(outs) == 1:
            left = f"{outs[0].name} = "
        elif outs:
            base = self.fresh_name()
            left = f"{base}:{len(outs)} = "
            for k, out in enumerate(outs):
                out.name = f"{base}#{k}"
        ins = ", ".join([v.name for v in operands])
        in_types = ", ".join([tensor(v.type) for v in operands])
        out_types = ", ".join([tensor(t) for t in results])
        if len(results) != 1:
            out_types = f"({out_types})"
        attributes = f" <{{{attributes}}}>" if attributes else ""
        body = f" ({', '.join(regions)})" if regions else ""
        body += f" {{{discardable}}}" if discardable else ""
        self.lines.append(
            f'{left}"{op}"({ins}){attributes}{body} : ({in_types}) -> {out_types}{self.location}'
        )
        return outs

    def op(
        self, op: str, operands: Sequence[Value], result: ArrayType, attributes: str = ""
    ) -> Value:
        """A StableHLO op with one result and no region."""
        return self.emit(f"stablehlo.{op}", operands, (result,), attributes)[0]

    def chlo(
        self, op: str, operands: Sequence[Value], result: ArrayType, attributes: str = ""
    ) -> Value:
        """A CHLO op with one result; XLA expands it into StableHLO."""
        return self.emit(f"chlo.{op}", operands, (result,), attributes)[0]

    def region(
        self,
        types: Sequence[ArrayType],
        body: Callable[..., Sequence[Value]],
        terminator: str = "stablehlo.return",
    ) -> str:
        """The text of a region: `body` gets its arguments and returns its results."""
        outer, self.lines = self.lines, []
        constants, self.constants = self.constants, dict(self.constants)
        order = self.order
        try:
            args = [self.fresh(t) for t in types]
            results = list(body(*args))
            names = ", ".join(v.name for v in results)
            text = ", ".join(tensor(v.type) for v in results)
            self.lines.append(f'"{terminator}"({names}) : ({text}) -> ()')
            head = ", ".join(f"{a.name}: {tensor(a.type)}" for a in args)
            block = f"^bb0({head}):\n" if args else "^bb0:\n"
            return "{\n" + block + "\n".join(self.lines) + "\n}"
        finally:
            self.lines, self.constants, self.order = outer, constants, order

    # --- constants and shapes

    def constant(self, value: Any, dtype: Any = None) -> Value:
        """An array as a constant; equal scalars of one block share it."""
        value = np.asarray(value)
        dtype = value.dtype if dtype is None else dtype
        value = value.astype(dtypes.storage(dtype))
        type_ = ArrayType(value.shape, dtype)
        key = (type_, value.tobytes()) if value.size <= 16 else None
        if key is not None and key in self.constants:
            return self.constants[key]
        attributes = f"value = {dense(value, dtype)} : {tensor(type_)}"
        (out,) = self.emit("stablehlo.constant", (), (type_,), attributes)
        if key is not None:
            self.constants[key] = out
        return out

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> Value:
        """A constant array with all elements equal."""
        type_ = ArrayType(shape, dtype)
        scalar_value = np.asarray(value).astype(dtypes.storage(dtype))
        attributes = f"value = {dense(scalar_value.reshape(1), dtype)} : {tensor(type_)}"
        key = (type_, "splat", scalar_value.tobytes())
        if key not in self.constants:
            self.constants[key] = self.emit("stablehlo.constant", (), (type_,), attributes)[0]
        return self.constants[key]

    def full_like(self, x: Value, value: Any) -> Value:
        return self.full(x.shape, value, x.dtype)

    def iota(self, shape: Sequence[int], dtype: Any, axis: int) -> Value:
        return self.op("iota", (), ArrayType(shape, dtype), f"iota_dimension = {axis} : i64")

    def broadcast_in_dim(self, x: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
        if tuple(shape) == x.shape:
            return x
        attributes = f"broadcast_dimensions = {array_i64(dims)}"
        return self.op("broadcast_in_dim", (x,), ArrayType(shape, x.dtype), attributes)

    def broadcast_scalar(self, x: Value, shape: Sequence[int]) -> Value:
        return self.broadcast_in_dim(x, shape, ())

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return x if tuple(shape) == x.shape else self.op("reshape", (x,), ArrayType(shape, x.dtype))

    def transpose(self, x: Value, axes: Sequence[int]) -> Value:
        out = ArrayType([x.shape[a] for a in axes], x.dtype)
        return self.op("transpose", (x,), out, f"permutation = {array_i64(axes)}")

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        return self.op("reverse", (x,), x.type, f"dimensions = {array_i64(axes)}")

    def slice(
        self,
        x: Value,
        start: Sequence[int],
        limit: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> Value:
        strides = strides or [1] * x.ndim
        shape = [-(-(b - a) // s) for a, b, s in zip(start, limit, strides, strict=True)]
        return self.op(
            "slice",
            (x,),
            ArrayType(shape, x.dtype),
            f"start_indices = {array_i64(start)}, limit_indices = {array_i64(limit)}, "
            f"strides = {array_i64(strides)}",
        )

    def pad(
        self,
        x: Value,
        fill: Value,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int],
    ) -> Value:
        shape = [
            lo + n + max(n - 1, 0) * i + hi
            for n, lo, hi, i in zip(x.shape, low, high, interior, strict=True)
        ]
        return self.op(
            "pad",
            (x, fill),
            ArrayType(shape, x.dtype),
            f"edge_padding_low = {array_i64(low)}, edge_padding_high = {array_i64(high)}, "
            f"interior_padding = {array_i64(interior)}",
        )

    def concatenate(self, xs: Sequence[Value], axis: int) -> Value:
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        out = ArrayType(shape, xs[0].dtype)
        return self.op("concatenate", xs, out, f"dimension = {axis} : i64")

    def dynamic_slice(self, x: Value, starts: Sequence[Value], sizes: Sequence[int]) -> Value:
        out = ArrayType(sizes, x.dtype)
        return self.op("dynamic_slice", (x, *starts), out, f"slice_sizes = {array_i64(sizes)}")

    def dynamic_update_slice(self, x: Value, update: Value, starts: Sequence[Value]) -> Value:
        return self.op("dynamic_update_slice", (x, update, *starts), x.type)

    # --- element by element

    def unary(self, op: str, x: Value, dtype: Any = None) -> Value:
        return self.op(op, (x,), ArrayType(x.shape, x.dtype if dtype is None else dtype))

    def binary(self, op: str, x: Value, y: Value) -> Value:
        return self.op(op, (x, y), x.type)

    def add(self, x: Value, y: Value) -> Value:
        return self.binary("add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self.binary("subtract", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self.binary("multiply", x, y)

    def compare(self, direction: str, x: Value, y: Value, total_order: bool = False) -> Value:
        """direction is EQ, NE, LT, LE, GT or GE."""
        kind = ""
        if x.dtype in dtypes.FLOAT and total_order:
            kind = ", compare_type = #stablehlo<comparison_type TOTALORDER>"
        attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>{kind}"
        return self.op("compare", (x, y), ArrayType(x.shape, dtypes.bool_), attributes)

    def select(self, which: Value, on_true: Value, on_false: Value) -> Value:
        return self.op("select", (which, on_true, on_false), on_true.type)

    def convert(self, x: Value, dtype: Any) -> Value:
        return x if x.dtype == dtype else self.op("convert", (x,), ArrayType(x.shape, dtype))

    def bitcast(self, x: Value, result: ArrayType) -> Value:
        return self.op("bitcast_convert", (x,), result)

    # --- reductions, windows, sort

    def reduce(
        self,
        xs: Sequence[Value],
        inits: Sequence[Value],
        axes: Sequence[int],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """body(accumulators..., elements...) -> accumulators."""
        shape = [n for k, n in enumerate(xs[0].shape) if k not in axes]
        scalars = [ArrayType((), x.dtype) for x in xs]
        region = self.region([*scalars, *scalars], body)
        results = [ArrayType(shape, x.dtype) for x in xs]
        attributes = f"dimensions = {array_i64(axes)}"
        return self.emit("stablehlo.reduce", (*xs, *inits), results, attributes, [region])

    def reduce_window(
        self,
        xs: Sequence[Value],
        inits: Sequence[Value],
        shape: Sequence[int],
        body: Callable[..., Sequence[Value]],
        *,
        size: Sequence[int],
        strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        base_dilation: Sequence[int],
        window_dilation: Sequence[int],
    ) -> tuple[Value, ...]:
        """body(accumulators..., elements...) -> accumulators, over each window; the result has the
        given shape.
        """
        scalars = [ArrayType((), x.dtype) for x in xs]
        region = self.region([*scalars, *scalars], body)
        attributes = (
            f"window_dimensions = {array_i64(size)}, window_strides = {array_i64(strides)}, "
            f"base_dilations = {array_i64(base_dilation)}, "
            f"window_dilations = {array_i64(window_dilation)}, "
            f"padding = {dense_i64(np.asarray(padding, np.int64).reshape(-1, 2))}"
        )
        results = [ArrayType(shape, x.dtype) for x in xs]
        return self.emit("stablehlo.reduce_window", (*xs, *inits), results, attributes, [region])

    def sort(
        self,
        xs: Sequence[Value],
        axis: int,
        comparator: Callable[..., Value],
        stable: bool = True,
    ) -> tuple[Value, ...]:
        """comparator(x0, y0, x1, y1, ...) -> whether x comes before y."""
        pairs = [ArrayType((), x.dtype) for x in xs for _ in range(2)]
        region = self.region(pairs, lambda *args: (comparator(*args),))
        attributes = f"dimension = {axis} : i64, is_stable = {str(stable).lower()}"
        return self.emit("stablehlo.sort", xs, [x.type for x in xs], attributes, [region])

    # --- control flow

    def while_(
        self,
        inits: Sequence[Value],
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """Regions may use values from outside."""
        if self.order is not None:
            return self._while_in_order(inits, condition, body)
        types = [v.type for v in inits]
        test = self.region(types, lambda *xs: (condition(*xs),))
        step = self.region(types, body)
        return self.emit("stablehlo.while", inits, types, "", [test, step])

    def _while_in_order(
        self,
        inits: Sequence[Value],
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        before = self.order
        assert before is not None
        types = [*(v.type for v in inits), before.type]

        def test(*values: Value) -> Sequence[Value]:
            *xs, self.order = values
            return (condition(*xs),)

        def step(*values: Value) -> Sequence[Value]:
            *xs, self.order = values
            return (*body(*xs), self.order)

        regions = [self.region(types, test), self.region(types, step)]
        *outs, self.order = self.emit("stablehlo.while", (*inits, before), types, "", regions)
        return tuple(outs)

    def case(
        self,
        index: Value,
        branches: Sequence[Callable[[], Sequence[Value]]],
        results: Sequence[ArrayType],
    ) -> tuple[Value, ...]:
        """index int32[]; out of range takes the last branch. Regions use values from outside."""
        before = self.order
        if before is None:
            regions = [self.region((), branch) for branch in branches]
            return self.emit("stablehlo.case", (index,), results, "", regions)

        def in_order(branch: Callable[[], Sequence[Value]]) -> Sequence[Value]:
            self.order = before
            return (*branch(), self.order)

        regions = [self.region((), lambda f=branch: in_order(f)) for branch in branches]
        types = (*results, before.type)
        *outs, self.order = self.emit("stablehlo.case", (index,), types, "", regions)
        return tuple(outs)

    def isolated(
        self, body: Callable[..., Sequence[Value]], xs: Sequence[Value]
    ) -> tuple[Value, ...]:
        """The results of `body`, in a function of its own that XLA does not merge with its callers.

        On CPU, XLA recomputes the inputs of a fusion for each place that reads them: a loop whose
        result is read at shifted positions must stand alone. `body` sees its arguments only.
        """
        outer, self.lines = self.lines, []
        constants, self.constants = self.constants, {}
        args = [self.fresh(x.type) for x in xs]
        results = list(body(*args))
        head = ", ".join(f"{a.name}: {tensor(a.type)}" for a in args)
        types = ", ".join(tensor(v.type) for v in results)
        names = ", ".join(v.name for v in results)
        lines = "\n".join([*self.lines, f'"func.return"({names}) : ({types}) -> ()'])
        name = f"isolated_{len(self.functions)}_{self.fresh_name()[1:]}"
        self.functions.append(f"func.func private @{name}({head}) -> ({types}) {{\n{lines}\n}}")
        self.lines, self.constants = outer, constants
        return self.emit(
            "func.call",
            xs,
            [v.type for v in results],
            f"callee = @{name}",
            discardable='mhlo.frontend_attributes = {inlineable = "false"}',
        )

    def optimization_barrier(self, xs: Sequence[Value]) -> tuple[Value, ...]:
        return self.emit("stablehlo.optimization_barrier", xs, [x.type for x in xs])

    def custom_call(
        self,
        target: str,
        operands: Sequence[Value],
        results: Sequence[ArrayType],
        *,
        backend_config: str = "",
        side_effect: bool = False,
        operand_layouts: Sequence[Sequence[int]] | None = None,
        result_layouts: Sequence[Sequence[int]] | None = None,
        aliases: dict[int, int] | None = None,
    ) -> tuple[Value, ...]:
        """A typed-FFI custom call; layouts are minor-to-major, aliases operand -> result."""
        attributes = [
            f"call_target_name = {quoted(target)}",
            "api_version = 4 : i32",
            f"backend_config = {{{backend_config}}}",
        ]
        if side_effect:
            attributes.append("has_side_effect = true")
        if operand_layouts is not None and result_layouts is not None:
            attributes.append(f"operand_layouts = [{', '.join(map(_layout, operand_layouts))}]")
            attributes.append(f"result_layouts = [{', '.join(map(_layout, result_layouts))}]")
        if aliases:
            several = len(results) > 1
            entries = ", ".join(
                "#stablehlo.output_operand_alias<output_tuple_indices = "
                f"{[out] if several else []}, operand_index = {operand}, "
                "operand_tuple_indices = []>"
                for operand, out in aliases.items()
            )
            attributes.append(f"output_operand_aliases = [{entries}]")
        return self.emit("stablehlo.custom_call", operands, results, ", ".join(attributes))

    # --- collectives, over axes of the mesh

    def replica_groups(self, axis_names: Sequence[Any]) -> list[list[int]]:
        """Device positions that communicate when the given named axes are combined, a row a group.

        Several mesh axes may carry one name: together they are that axis, major first.
        """
        names = [name for name, _ in self.mesh]
        where = [k for wanted in axis_names for k, name in enumerate(names) if name == wanted]
        return self.position_groups(where)

    def position_groups(self, where: Sequence[int]) -> list[list[int]]:
        """Device positions that communicate when the mesh axes are combined, a row a group."""
        sizes = [size for _, size in self.mesh]
        ids = np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes)
        rest = [k for k in range(len(sizes)) if k not in where]
        total = int(np.prod([sizes[k] for k in where], dtype=np.int64))
        return ids.transpose([*rest, *where]).reshape(-1, total).tolist()

    def _groups(self, groups: Sequence[Sequence[int]]) -> str:
        # Groups of different sizes are filled up with -1.
        width = max(map(len, groups))
        rows = [[*row, *[-1] * (width - len(row))] for row in groups]
        return f"replica_groups = {dense_i64(rows)}, channel_handle = {self.channel()}"

    def all_reduce(
        self,
        x: Value,
        groups: Sequence[Sequence[int]],
        body: Callable[[Value, Value], Value],
    ) -> Value:
        scalar_type = ArrayType((), x.dtype)
        region = self.region([scalar_type, scalar_type], lambda a, b: (body(a, b),))
        attributes = self._groups(groups) + ", use_global_device_ids"
        return self.emit("stablehlo.all_reduce", (x,), (x.type,), attributes, [region])[0]

    def all_gather(self, x: Value, groups: Sequence[Sequence[int]], axis: int) -> Value:
        """Blocks of all members, concatenated along an existing axis."""
        shape = list(x.shape)
        shape[axis] *= len(groups[0])
        attributes = (
            f"all_gather_dim = {axis} : i64, " + self._groups(groups) + ", use_global_device_ids"
        )
        return self.op("all_gather", (x,), ArrayType(shape, x.dtype), attributes)

    def reduce_scatter(
        self,
        x: Value,
        groups: Sequence[Sequence[int]],
        axis: int,
        body: Callable[[Value, Value], Value],
    ) -> Value:
        shape = list(x.shape)
        shape[axis] //= len(groups[0])
        scalar_type = ArrayType((), x.dtype)
        region = self.region([scalar_type, scalar_type], lambda a, b: (body(a, b),))
        attributes = (
            f"scatter_dimension = {axis} : i64, " + self._groups(groups) + ", use_global_device_ids"
        )
        result = ArrayType(shape, x.dtype)
        return self.emit("stablehlo.reduce_scatter", (x,), (result,), attributes, [region])[0]

    def all_to_all(
        self, x: Value, groups: Sequence[Sequence[int]], split_axis: int, concat_axis: int
    ) -> Value:
        count = len(groups[0])
        shape = list(x.shape)
        shape[split_axis] //= count
        shape[concat_axis] *= count
        attributes = (
            f"split_dimension = {split_axis} : i64, concat_dimension = {concat_axis} : i64, "
            f"split_count = {count} : i64, " + self._groups(groups)
        )
        return self.op("all_to_all", (x,), ArrayType(shape, x.dtype), attributes)

    def collective_permute(self, x: Value, pairs: Sequence[tuple[int, int]]) -> Value:
        attributes = (
            f"source_target_pairs = {dense_i64(np.asarray(pairs, np.int64).reshape(-1, 2))}, "
            f"channel_handle = {self.channel()}"
        )
        return self.op("collective_permute", (x,), x.type, attributes)

    def idle_axes(self) -> list[int]:
        """Positions of the mesh axes along which all devices do the same here."""
        return [k for k, (name, n) in enumerate(self.mesh) if n > 1 and is_free(name)]

    def place_on(self, positions: Sequence[int]) -> Value:
        """This device's position along the combined mesh axes, major first; int32."""
        sizes = [size for _, size in self.mesh]
        index = self.constant(np.int32(0))
        for k in positions:
            place = self.convert(self.partition_id(), dtypes.int32)
            place = self.binary("divide", place, self.full_like(place, math.prod(sizes[k + 1 :])))
            place = self.binary("remainder", place, self.full_like(place, sizes[k]))
            index = self.add(self.mul(index, self.full_like(index, sizes[k])), place)
        return index

    def manual_computation(
        self,
        xs: Sequence[Value],
        blocks: Sequence[ArrayType],
        results: Sequence[ArrayType],
        shardings: tuple[Sequence[str], Sequence[str]],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """What `body` computes on each device from its blocks of the operands. The shardings, of
        operands and of results, say which block that is.
        """
        if self.order is None:
            return self._manual(xs, blocks, results, shardings, body)
        before, whole = self.order, "<@mesh, []>"

        def in_order(*values: Value) -> Sequence[Value]:
            *parts, self.order = values
            return (*body(*parts), self.order)

        *outs, self.order = self._manual(
            (*xs, before),
            (*blocks, before.type),
            (*results, before.type),
            ((*shardings[0], whole), (*shardings[1], whole)),
            in_order,
        )
        return tuple(outs)

    def _manual(self, xs, blocks, results, shardings, body) -> tuple[Value, ...]:
        # Its region sees nothing from outside, constants neither.
        constants, self.constants = self.constants, {}
        text = self.region(blocks, body, terminator="sdy.return")
        self.constants = constants
        # The pretty form: the attributes' generic spelling differs between versions.
        _, _, rest = text.partition("^bb0")
        args, _, lines = rest.partition(":\n") if not blocks else rest.partition("):\n")
        args = (args + ")" if blocks else "()").strip()
        base = self.fresh_name()
        several = len(results) > 1
        outs = [Value(f"{base}#{k}" if several else base, t) for k, t in enumerate(results)]
        left = f"{base}:{len(outs)} = " if several else f"{base} = " if outs else ""
        names = ", ".join(f'"d{k}"' for k in range(len(self.mesh)))
        in_types = ", ".join(tensor(x.type) for x in xs)
        out_types = ", ".join(tensor(t) for t in results)
        if len(results) != 1:
            out_types = f"({out_types})"
        self.lines.append(
            f"{left}sdy.manual_computation({', '.join(x.name for x in xs)}) "
            f"in_shardings=[{', '.join(shardings[0])}] out_shardings=[{', '.join(shardings[1])}] "
            f"manual_axes={{{names}}} {args} {{\n{lines} : ({in_types}) -> {out_types}"
            f"{self.location}"
        )
        return tuple(outs)

    def partition_id(self) -> Value:
        return self.op("partition_id", (), ArrayType((), dtypes.uint32))


def _layout(minor_to_major: Sequence[int]) -> str:
    n = len(minor_to_major)
    body = str(list(minor_to_major)) if n else ""
    return f"dense<{body}> : tensor<{n}xindex>"
