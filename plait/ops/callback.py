"""Python functions that programs call: pure_callback, io_callback, and callbacks for debugging.

A callback op holds a HostFunction: called with the operands' values, it gives those of the results.
Outside of all transformations it is called at once; in a compiled program XLA calls it, on whatever
thread computes. Under vmap it is called once for each row, in the order of the rows, unless
vmap_method says otherwise.

Effects (io_callback and debugging) are never dropped, happen once for each lane of a map, and in
the order of the program: within one device each takes a value that the one before has given
(Builder.order). Of devices that do the same, the first calls, and tells the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.config import override, state
from plait.core import dtypes, tree
from plait.core.context import bound_axis_names, outside
from plait.core.interpreter import check_alive
from plait.core.primitive import Primitive, register
from plait.core.source import function_name, warn
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    DtypeError,
    ShapeError,
    several,
)
from plait.hlo.builder import ORDER, Value, is_free
from plait.ops.arithmetic import add, mul
from plait.ops.axes import broadcast_in_dim
from plait.runtime.tiling import spread_nest

# runtime/eager.py puts a function here that makes an array of the runtime from a NumPy array and
# its type.
make_array: list[Callable[[np.ndarray, ArrayType], Any]] = []

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)
_TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "gpu": "xla_ffi_python_gpu_callback"}


class HostFunction:
    """A user's function of containers of arrays as a function of flat values.

    Args:
        function: what the user gave.
        what: the name of plait's function it was given to, for messages.
        args, kwargs: the arguments of the call; what is an array in them becomes an operand, the
            rest is handed to the function as it is.
    """

    def __init__(self, function: Callable[..., Any], what: str, args: Any, kwargs: Any):
        if not callable(function):
            raise ArgumentTypeError(
                f"the first argument must be a function, not {type(function).__name__}", op=what
            )
        leaves, self.structure = tree.flatten((args, kwargs))
        self.function, self.what = function, what
        self._operands = [x for x in leaves if is_array(x)]
        self.types = [type_of(x) for x in self._operands]
        self.rest = [(k, x) for k, x in enumerate(leaves) if not is_array(x)]
        # The thread that calls may have other switches.
        self.x64 = state.enable_x64

    def take(self) -> list[Any]:
        """The operands, once: later this function must not keep them alive."""
        operands, self._operands = self._operands, []
        return operands

    def __call__(self, values: Sequence[Any], results: Sequence[ArrayType]) -> list[np.ndarray]:
        """The values of the results, from those of the operands.

        Operands are NumPy arrays that are valid during the call, or the runtime's arrays.
        Raises: ShapeError, DtypeError and ArgumentError if the function returns something else than
        it declared.
        """
        switches = override(enable_x64=self.x64)
        with outside(), switches if self.x64 != state.enable_x64 else contextlib.nullcontext():
            given = [_array(x, t) for x, t in zip(values, self.types, strict=True)]
            for k, x in self.rest:
                given.insert(k, x)
            args, kwargs = self.structure.unflatten(given)
            returned = self.function(*args, **kwargs)
            if not results:
                return []
            found = tree.leaves(returned)
            if len(found) != len(results):
                raise ArgumentError(
                    f"the callback {function_name(self.function)} returned "
                    f"{several(len(found), 'array')}, "
                    f"{several(len(results), 'was', 'were')} declared",
                    op=self.what,
                    declared=", ".join(map(str, results)),
                )
            return [self._checked(y, t) for y, t in zip(found, results, strict=True)]

    def _checked(self, y: Any, type: ArrayType) -> np.ndarray:
        value = y.host() if hasattr(y, "host") else np.asarray(y)
        problem = None
        if value.shape != type.shape:
            problem = ShapeError
        elif type.dtype not in dtypes.KEY and _kind(value.dtype) > _kind(type.dtype):
            problem = DtypeError
        if problem is not None:
            raise problem(
                f"the callback {function_name(self.function)} returned another type than declared",
                op=self.what,
                declared=type,
                returns=value,
                fix="declare what it returns, or convert the result",
            )
        return value.astype(dtypes.storage(type.dtype), copy=False)

    def __repr__(self) -> str:
        return function_name(self.function)


def _kind(dtype: Any) -> int:
    """0 for booleans, 1 integers, 2 floats, 3 complex numbers, 4 for what is no number."""
    sets = (dtypes.BOOL, dtypes.INTEGER, dtypes.FLOAT, dtypes.COMPLEX)
    return next((k for k, kinds in enumerate(sets) if dtype in kinds), 4)


def _array(value: Any, type: ArrayType) -> Any:
    if not isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        return value
    value = np.asarray(value, dtypes.storage(type.dtype))
    return make_array[0](value, ArrayType(value.shape, type.dtype, type.weak_type))


class Rows:
    """A function of flat values called once for each row of those that are mapped."""

    def __init__(self, function: Any, size: int, mapped: Sequence[bool]):
        self.function, self.size, self.mapped = function, size, tuple(mapped)

    def __call__(self, values: Sequence[Any], results: Sequence[ArrayType]) -> list[np.ndarray]:
        """The results of all rows, stacked."""
        row_types = [t.with_shape(t.shape[1:]) for t in results]
        whole = [
            (x.host() if hasattr(x, "host") else np.asarray(x)) if m else x
            for x, m in zip(values, self.mapped, strict=True)
        ]
        rows = [
            self.function(
                [x[k, ...] if m else x for x, m in zip(whole, self.mapped, strict=True)], row_types
            )
            for k in range(self.size)
        ]
        return [np.stack(column) for column in zip(*rows, strict=True)] if results else []

    def __repr__(self) -> str:
        return repr(self.function)


class Masked:
    """A function of flat values with one more, the first: whether to call it. If not, zeros."""

    def __init__(self, function: Any):
        self.function = function

    def __call__(self, values: Sequence[Any], results: Sequence[ArrayType]) -> list[np.ndarray]:
        """The results, or zeros."""
        active, *rest = values
        if bool(np.asarray(active)):
            return self.function(rest, results)
        return [np.zeros(t.shape, dtypes.storage(t.dtype)) for t in results]

    def __repr__(self) -> str:
        return repr(self.function)


class _Callback(Primitive):
    """Base of the ops that call a Python function.

    Parameters: function, called with the values of the operands; results, types of the results.
    """

    multiple_results = True

    def type(self, *types, results, **_):
        return results

    def numpy(self, *xs, function, results, **_):
        return tuple(function(list(xs), results))

    def evaluate(self, xs, params):
        for x in xs:
            check_alive(x)
        results = params["results"]
        values = params["function"](xs, results)
        return tuple(make_array[0](y, t) for y, t in zip(values, results, strict=True))

    def batch(self, frame, xs, mapped, *, function, results, **rest):
        types = tuple(t.with_shape((frame.size, *t.shape)) for t in results)
        rows = Rows(function, frame.size, mapped)
        return self.bind(*xs, function=rows, results=types, **rest), (True,) * len(types)

    def lower(self, b, *xs, function, results, **_):
        return call_host(b, function, xs, results, self.has_effects)


class PureCallback(_Callback):
    """A function without side effects: called any number of times, or never if nobody needs it."""

    name = "pure_callback"

    def jvp(self, xs, ts, **params):
        raise _no_derivative(self.name)

    def batch(self, frame, xs, mapped, *, function, results, vmap_method):
        if vmap_method in (None, "sequential", "sequential_unrolled"):
            return super().batch(
                frame, xs, mapped, function=function, results=results, vmap_method=vmap_method
            )
        size = {"expand_dims": 1, "broadcast_all": frame.size}.get(vmap_method)
        if size is not None:
            xs = [x if m else _with_axis(x, size) for x, m in zip(xs, mapped, strict=True)]
        types = tuple(t.with_shape((frame.size, *t.shape)) for t in results)
        ys = self.bind(*xs, function=function, results=types, vmap_method=vmap_method)
        return ys, (True,) * len(types)


def _with_axis(x: Any, size: int) -> Any:
    shape = type_of(x).shape
    return broadcast_in_dim(x, (size, *shape), tuple(range(1, len(shape) + 1)))


class IoCallback(_Callback):
    """A function with side effects: called once for each time the program gets there.

    Parameters: as above; axes, the named axes around it: the results may differ along all of them.
    """

    name = "io_callback"
    has_effects = True
    per_lane = True

    def jvp(self, xs, ts, **params):
        raise _no_derivative(self.name)

    def variance(self, varying, params, analyse):
        return frozenset(params["axes"]).union(*varying)


class DebugCallback(_Callback):
    """A function that looks at values and returns nothing. Derivatives pass it by."""

    name = "debug_callback"
    has_effects = True
    per_lane = True

    def jvp(self, xs, ts, **params):
        return self.bind(*xs, **params), ()


class DeviceId(Primitive):
    """The id of the device that a lane is shown on, int32.

    The operand is the lane's number along all maps met so far, outermost first: `sizes` are those
    of their axes, `devices` the ids of the devices of the outermost. Without a map both are empty,
    and it is the program's device.
    """

    name = "device_id"
    per_lane = True

    def type(self, lane, *, devices, sizes, axes):
        return lane

    def numpy(self, lane, *, devices, sizes, axes):
        return np.asarray(spread_nest(devices, sizes), np.int32)[lane] if devices else lane

    def batch(self, frame, xs, mapped, *, devices, sizes, axes):
        (lane,), n = xs, frame.size
        if not frame.devices:
            return self.bind(lane, devices=devices, sizes=sizes, axes=axes), mapped[0]
        lane = lane if mapped[0] else _with_axis(lane, n)
        shape = type_of(lane).shape
        steps = np.arange(n, dtype=np.int32).reshape(n, *(1,) * (len(shape) - 1))
        lane = add(mul(lane, np.int32(n)), np.array(np.broadcast_to(steps, shape)))
        devices = devices or tuple(d.id for d in frame.devices)
        return self.bind(lane, devices=devices, sizes=(*sizes, n), axes=axes), True

    def lower(self, b, lane, *, devices, sizes, axes):
        ids = [d.id for d in b.devices] or [0]
        if b.mesh and not all(is_free(name) for name, _ in b.mesh):
            place = b.convert(b.partition_id(), dtypes.int32)
            return b.broadcast_scalar(_look_up(b, ids, place), lane.shape)
        if not devices:
            return b.full_like(lane, ids[0])
        return _look_up(b, spread_nest(devices, sizes), lane)

    def variance(self, varying, params, analyse):
        return frozenset(params["axes"])


def _look_up(b: Any, table: Sequence[int], index: Value) -> Value:
    """table[index], element by element."""
    if list(table) == list(range(len(table))):
        return index
    out = b.full_like(index, table[0])
    for k, entry in enumerate(table[1:], 1):
        here = b.compare("EQ", index, b.full_like(index, k))
        out = b.select(here, b.full_like(index, entry), out)
    return out


class InspectSharding(Primitive):
    """Tell a function, while the program is lowered, on which device a value lies."""

    name = "inspect_sharding"
    multiple_results = True
    has_effects = True

    def type(self, x, *, function):
        return ()

    def numpy(self, x, *, function):
        return ()

    def jvp(self, xs, ts, *, function):
        return self.bind(*xs, function=function), ()

    def batch(self, frame, xs, mapped, *, function):
        return self.bind(*xs, function=function), ()

    def lower(self, b, x, *, function):
        if b.mesh:
            warn(
                f"debug.inspect_array_sharding: XLA has not decided yet where {x.type} lies in a "
                "program of several devices; return the value and look at its .sharding"
            )
        elif b.devices:
            function(b.devices[0])
        return ()


pure_callback_p = register(PureCallback())
io_callback_p = register(IoCallback())
debug_callback_p = register(DebugCallback())
device_id_p = register(DeviceId())
inspect_sharding_p = register(InspectSharding())


def _no_derivative(op: str) -> ArgumentError:
    return ArgumentError(
        "what a Python function computes has no derivative",
        op=op,
        fix="wrap the call in a function with plait.custom_jvp or plait.custom_vjp, or keep its "
        "arguments out of the derivative with lax.stop_gradient",
    )


# --- StableHLO


def call_host(
    b: Any, function: Any, xs: Sequence[Value], results: Sequence[ArrayType], effect: bool
) -> tuple[Value, ...]:
    """A call of a function on the host."""
    if b.platform not in _TARGETS:
        raise BackendError(
            f"programs on {b.platform} cannot call Python functions",
            fix="run the program on CPU or GPU, or return the values and look at them afterwards",
        )
    types = tuple(t.strong() for t in results)
    if not effect or not b.mesh:
        return _call(b, function, xs, types, effect)
    idle = b.idle_axes()

    def once(*given: Value) -> Sequence[Value]:
        return _call_once(b, function, given, types, idle)

    if not all(is_free(name) for name, _ in b.mesh):
        return tuple(once(*xs)) if idle else _call(b, function, xs, types, effect)
    # Outside of all maps every device has all values.
    texts = [
        ["<@mesh, [" + ", ".join(["{}"] * len(v.shape)) + "]>" for v in values]
        for values in (xs, types)
    ]
    return b.manual_computation(xs, [x.type for x in xs], types, tuple(texts), once)


def _call(
    b: Any, function: Any, xs: Sequence[Value], results: Sequence[ArrayType], effect: bool
) -> tuple[Value, ...]:
    in_types, out_types = [x.type for x in xs], list(results)

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        given = [_unpacked(a, t) for a, t in zip(arrays, in_types, strict=False)]
        ys = [_packed(y, t) for y, t in zip(function(given, results), results, strict=True)]
        return [*ys, arrays[-1]] if effect else ys

    operands = [b.convert(x, _carrier(x.dtype)) for x in xs]
    types = [t.with_dtype(_carrier(t.dtype)) for t in out_types]
    if effect:
        operands.append(b.order)
        types.append(ORDER)
    index = len(b.callbacks)
    b.callbacks.append((run, [(t.shape, dtypes.storage(t.dtype)) for t in types]))
    ys = b.custom_call(
        _TARGETS[b.platform],
        operands,
        types,
        backend_config=f"index = {index} : ui64",
        side_effect=effect,
        operand_layouts=[range(x.ndim)[::-1] for x in operands],
        result_layouts=[range(t.ndim)[::-1] for t in types],
    )
    if effect:
        *ys, b.order = ys
    return tuple(b.convert(y, t.dtype) for y, t in zip(ys, out_types, strict=True))


def _call_once(
    b: Any, function: Any, xs: Sequence[Value], results: Sequence[ArrayType], idle: Sequence[int]
) -> list[Value]:
    """Call on the first of the devices along the idle mesh axes; all of them get the results."""
    if not idle:
        return list(_call(b, function, xs, results, True))
    place = b.place_on(idle)
    others = b.binary("minimum", place, b.full_like(place, 1))

    def call() -> Sequence[Value]:
        return [_as_bits(b, y) for y in _call(b, function, xs, results, True)]

    def nothing() -> Sequence[Value]:
        return [b.full(t.shape, 0, t.dtype) for t in bits]

    bits = [_bits_type(t) for t in results]
    ys = b.case(others, [call, nothing], bits)
    groups = b.position_groups(idle)
    return [
        _from_bits(b, b.all_reduce(y, groups, b.add), t) for y, t in zip(ys, results, strict=True)
    ]


def _bits_type(type: ArrayType) -> ArrayType:
    """Unsigned integers that hold the bits of a type; both halves of complex numbers in front."""
    if type.dtype in dtypes.COMPLEX:
        half = np.dtype(f"u{type.dtype.itemsize // 2}")
        return ArrayType((2, *type.shape), half)
    return type.with_dtype(np.dtype(f"u{_carrier(type.dtype).itemsize}"))


def _as_bits(b: Any, x: Value) -> Value:
    bits = _bits_type(x.type)
    if x.dtype in dtypes.COMPLEX:
        part = x.type.with_dtype(dtypes.real_of(x.dtype))
        halves = [b.op(which, (x,), part) for which in ("real", "imag")]
        shape = (1, *x.shape)
        return b.concatenate(
            [b.reshape(b.bitcast(h, h.type.with_dtype(bits.dtype)), shape) for h in halves], 0
        )
    if x.dtype in dtypes.BOOL or _carrier(x.dtype) != x.dtype:
        return b.convert(x, bits.dtype)
    return x if x.dtype == bits.dtype else b.bitcast(x, bits)


def _from_bits(b: Any, x: Value, type: ArrayType) -> Value:
    if type.dtype in dtypes.COMPLEX:
        part = type.with_dtype(dtypes.real_of(type.dtype))
        n = len(type.shape)
        halves = [
            b.bitcast(b.reshape(b.slice(x, (k, *[0] * n), (k + 1, *type.shape)), type.shape), part)
            for k in range(2)
        ]
        return b.op("complex", halves, type)
    if type.dtype in dtypes.BOOL or _carrier(type.dtype) != type.dtype:
        return b.convert(x, type.dtype)
    return x if x.dtype == type.dtype else b.bitcast(x, type)


def _carrier(dtype: Any) -> Any:
    """The dtype in which values pass between XLA and Python."""
    return _CARRIERS.get(dtype.name, dtype)


_CARRIERS = {
    "int2": np.dtype(np.int8),
    "int4": np.dtype(np.int8),
    "uint2": np.dtype(np.uint8),
    "uint4": np.dtype(np.uint8),
    "float4_e2m1fn": dtypes.bfloat16,
}


def _unpacked(array: np.ndarray, type: ArrayType) -> np.ndarray:
    return array.astype(dtypes.storage(type.dtype), copy=False)


def _packed(array: np.ndarray, type: ArrayType) -> np.ndarray:
    return array.astype(dtypes.storage(_carrier(type.dtype)), copy=False)


# --- what users call


def _result_types(shapes: Any, op: str) -> tuple[list[ArrayType], Any]:
    leaves, structure = tree.flatten(shapes)
    types = []
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise ArgumentTypeError(
                "the results are declared by their shapes and dtypes",
                op=op,
                declared=leaf,
                fix="give a plait.ShapeDtypeStruct((2, 3), jnp.float32) for each array",
            )
        dtype = dtypes.canonical(dtypes.as_dtype(leaf.dtype))
        types.append(ArrayType(leaf.shape, dtype))
    return types, structure


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vectorized: bool | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function from a compiled program, for its results.

    The function gets arrays in place of the arrays in args and kwargs, and returns what
    result_shape_dtypes declares: a tree of ShapeDtypeStructs, or of anything with shape and dtype.
    NumPy arrays and Python numbers are converted where no kind of number is lost. It may be called
    several times, or not at all, so that it must not have side effects.

    vmap_method: under vmap, 'sequential' (and without one) calls it for each row; 'expand_dims' and
    'broadcast_all' call it once with a new first axis on all arguments, of size 1 on those that are
    not mapped, or of full size; 'legacy_vectorized' leaves those as they are.
    `vectorized` is its older spelling; `sharding` is accepted and has no effect.

    Raises: ShapeError, DtypeError and ArgumentError if it returns something else than declared. An
    exception of its own passes through where it is called at once; from a compiled program it comes
    as the __cause__ of PlaitRuntimeError.

    >>> def f(x):
    ...     return plait.pure_callback(np.sort, plait.ShapeDtypeStruct(x.shape, x.dtype), x)
    >>> plait.jit(f)(jnp.array([3.0, 1.0, 2.0]))
    Array([1., 2., 3.], dtype=float32)
    """
    if vectorized is not None:
        if vmap_method is not None:
            raise ArgumentError("give vmap_method or vectorized, not both", op="pure_callback")
        vmap_method = "legacy_vectorized" if vectorized else "sequential"
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ArgumentError(
            f"there is no vmap_method {vmap_method!r}",
            op="pure_callback",
            fix=f"one of {', '.join(map(repr, VMAP_METHODS))}",
        )
    function = HostFunction(callback, "pure_callback", args, kwargs)
    types, structure = _result_types(result_shape_dtypes, "pure_callback")
    ys = pure_callback_p.bind(
        *function.take(), function=function, results=tuple(types), vmap_method=vmap_method
    )
    return structure.unflatten(ys)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with side effects from a compiled program: once each time it is met.

    Arguments and results are as for pure_callback; without results result_shape_dtypes is None.
    Within one device calls happen in the order of the program, whether `ordered` or not; under vmap
    in the order of the rows, and in a map once for each lane. `sharding` has no effect.

    Raises: as pure_callback.

    >>> seen = []
    >>> def step(x):
    ...     plait.experimental.io_callback(lambda x: seen.append(float(x)), None, x)
    ...     return x + 1
    >>> plait.jit(step)(1.0)
    Array(2., dtype=float32, weak_type=True)
    >>> plait.effects_barrier()
    >>> seen
    [1.0]
    """
    function = HostFunction(callback, "io_callback", args, kwargs)
    types, structure = _result_types(result_shape_dtypes, "io_callback")
    ys = io_callback_p.bind(
        *function.take(), function=function, results=tuple(types), axes=bound_axis_names()
    )
    return structure.unflatten(ys)


def debug_callback(function: HostFunction) -> None:
    """Call a function for what it shows: once each time the program gets there."""
    debug_callback_p.bind(*function.take(), function=function, results=())


def device_id() -> Any:
    """The id of the device that this lane of a map is shown on, or that the program runs on."""
    return device_id_p.bind(np.int32(0), devices=(), sizes=(), axes=bound_axis_names())


__all__ = [
    "HostFunction",
    "Masked",
    "debug_callback",
    "device_id",
    "io_callback",
    "make_array",
    "pure_callback",
]
