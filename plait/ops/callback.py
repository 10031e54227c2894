"""Python functions that programs call: pure_callback, io_callback, and callbacks for debugging.

A callback op holds a HostFunction: called with the operands' values, it gives those of the results.
Outside of all transformations it is called at once; in a compiled program XLA calls it, on whatever
thread computes. Under vmap it is called once for each row, in the order of the rows, unless
vmap_method says otherwise.

Effects (io_callback and debugging) are never dropped, happen once for each lane of a map, and in the
order of the program: within one device each takes a value that the one before has given
(Builder.order). Devices that do the same take turns: the first of them calls, and tells the others.
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
from plait.core.source import function_name
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, BackendError, DtypeError, ShapeError
from plait.hlo.builder import ORDER, Value, is_free
from plait.ops.axes import broadcast_in_dim

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
        self.operands = [x for x in leaves if is_array(x)]
        self.types = [type_of(x) for x in self.operands]
        self.rest = [(k, x) for k, x in enumerate(leaves) if not is_array(x)]
        # The thread that calls may have other switches.
        self.x64 = state.enable_x64

    def __call__(self, values: Sequence[Any], results: Sequence[ArrayType]) -> list[np.ndarray]:
        """The values of the results, from those of the operands: NumPy arrays that are valid during
        the call, or the runtime's arrays. Raises: ShapeError, DtypeError and ArgumentError if the
        function returns something else than it declared."""
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
                    f"the callback {function_name(self.function)} returned {len(found)} arrays, "
                    f"{len(results)} were declared",
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
                returned=value,
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

    The operand and `left` say what the maps around have settled already: the first of the `left`
    consecutive devices of `devices` that remain for this lane. left is 0 at first.
    """

    name = "device_id"
    per_lane = True

    def type(self, start, *, devices, left, axes):
        return start

    def batch(self, frame, xs, mapped, *, devices, left, axes):
        (start,), n = xs, frame.size
        if not frame.devices:
            return self.bind(start, devices=devices, left=left, axes=axes), mapped[0]
        if not left:
            devices, left = tuple(d.id for d in frame.devices), len(frame.devices)
        places = np.arange(n) * (left // n) if n <= left else np.arange(n) * left // n
        places = places.astype(np.int32)
        start = places if not mapped[0] and isinstance(start, np.generic) else start
        raise NotImplementedError

    def variance(self, varying, params, analyse):
        return frozenset(params["axes"])


pure_callback_p = register(PureCallback())
io_callback_p = register(IoCallback())
debug_callback_p = register(DebugCallback())
