"""Arrays from nothing, from Python values, from shapes and from functions of positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.interpreter import Tracer
from plait.core.plain import by_numpy, known_number
from plait.core.source import called, called_with
from plait.core.types import ArrayType, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcretizationTypeError,
    DtypeError,
    IntegerOverflowError,
    ShapeError,
    an,
)
from plait.numpy.placing import placed, takes_out_sharding
from plait.numpy.promotion import (
    astype as _astype,
)
from plait.numpy.promotion import (
    broadcast_shapes,
    broadcast_together,
    constant,
    inexact,
    is_base,
    is_traced_or_device,
    known,
    operand,
    result_type,
    shape_of,
    static_int,
    to_dtype,
    value,
    weakly,
)
from plait.numpy.ufuncs import add, divide, equal, multiply, power, subtract
from plait.numpy.ufuncs import where as _where
from plait.ops.arithmetic import convert_element_type, convert_p
from plait.ops.axes import broadcast_in_dim_p, expand_dims, normalise_axis, reshape
from plait.ops.axes import broadcast_to as _broadcast_to
from plait.ops.bits import random_wrap_p
from plait.ops.iota import iota_p
from plait.ops.slices import concatenate_p
from plait.regions.trace import check_function
from plait.runtime.array import Array
from plait.runtime.placement import OnDevice, Sharded, Shown

_LEAVES = (bool, int, float, complex, np.generic, np.ndarray)


# --- from values


def array(
    object: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array of numbers, arrays, or nested lists and tuples of them (tracers included).

    Python numbers in lists get the default dtypes; a lone Python number stays weak. Raises:
    ArgumentTypeError for what is not numeric, ShapeError for ragged lists, IntegerOverflowError
    for integers that do not fit.

    >>> jnp.array([[1, 2], [3, 4.5]]), jnp.array([1, 2], jnp.bfloat16)
    (Array([[1. , 2. ],
            [3. , 4.5]], dtype=float32),
     Array([1., 2.], dtype=bfloat16))
    >>> jnp.array(1).weak_type, jnp.array([1]).weak_type
    (True, False)
    """
    if order not in (None, "K", "A", "C"):
        raise ArgumentError("arrays have row-major order only", op=called(), order=order)
    wanted = None if dtype is None else to_dtype(dtype)
    if copy and isinstance(object, np.ma.MaskedArray):  # a copy is one of the data, as NumPy's
        object = object.data
    x = _from_object(object, wanted, copy)
    if x.ndim < static_int(ndmin, "array", "ndmin"):
        x = reshape(x, (1,) * (ndmin - x.ndim) + x.shape)
    return placed(x, device if out_sharding is None else out_sharding)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array of the values of `a`: itself if it is one already. See `array`.

    >>> x = jnp.arange(3)
    >>> jnp.asarray(x) is x, jnp.asarray([1, 2])
    (True, Array([1, 2], dtype=int32))
    """
    if dtype is None and device is None and out_sharding is None and not copy:
        if is_traced_or_device(a):
            return a
    return array(a, dtype, copy, order, device=device, out_sharding=out_sharding)


def copy(a: Any, order: str | None = None) -> Any:
    """An array with the values of `a` in memory of its own.

    >>> x = jnp.arange(3)
    >>> jnp.copy(x) is x
    False
    """
    return array(a, copy=True)


def _from_object(object: Any, dtype: Any, copy: bool | None) -> Any:
    if is_traced_or_device(object):
        if dtype is None or (object.dtype == dtype and not object.type.weak_type):
            # A copy has a buffer of its own: it survives the donation of the original.
            return _copied(object) if copy and not isinstance(object, Tracer) else object
        return convert_element_type(object, dtype)
    if isinstance(object, _LEAVES):
        return _from_host(object, dtype)
    if hasattr(object, "__jax_array__"):
        return _from_object(object.__jax_array__(), dtype, copy)
    if isinstance(object, list | tuple | range):
        return _from_nested(object, dtype)
    if object is None:
        raise ArgumentError("None is not an array", op=called(), fix="use jnp.nan or 0 instead")
    op, name = called_with(object) or (called(), "object")
    if isinstance(object, str | bytes):
        given: dict[str, Any] = {name: object}
        raise ArgumentTypeError("text is not an array of numbers", op=op, **given)
    if hasattr(object, "__array__") or hasattr(object, "__array_interface__"):
        return _from_host(np.asarray(object), dtype)
    try:
        return _from_host(np.asarray(memoryview(object)), dtype)
    except TypeError:
        raise ArgumentTypeError(
            f"{an(type(object).__name__)} is not an array",
            op=op,
            fix="pass a number, an array, or nested lists of them",
        ) from None


def _copied(x: Any) -> Any:
    # An op whose result is its operand still has a buffer of its own.
    return convert_p.bind(x, dtype=x.dtype, weak_type=x.type.weak_type)


def _from_host(x: Any, dtype: Any) -> Any:
    if dtype is None:
        return constant(x)
    if isinstance(dtype, dtypes.KeyDType):
        raise DtypeError("random keys are not made from numbers", op=called(), dtype=dtype.name)
    return constant(_cast(x, dtype), weak_type=False)


def _cast(x: Any, dtype: Any) -> np.ndarray:
    """Host values in a dtype that was asked for; Python ints must fit, all else converts."""
    if isinstance(x, int) and not isinstance(x, bool):
        dtypes.check_fits(x, dtype)
    if type(x) is complex and dtype not in dtypes.COMPLEX:
        fix = "dtype=complex, or its .real"
        op = called()
        raise DtypeError("a complex number is not real", op=op, object=x, dtype=dtype, fix=fix)
    x = np.asarray(x)
    if x.dtype == object:
        raise ArgumentTypeError("these objects are not numbers", op=called(), object=x)
    dtypes.check_supported(dtypes.as_dtype(x.dtype), object=x)
    if x.dtype in dtypes.INTEGER and dtype in dtypes.INTEGER and x.size:
        if x.dtype.itemsize == 8 and dtype.itemsize == 4:
            dtypes.check_fits(int(x.min()), dtype, object=x)
            dtypes.check_fits(int(x.max()), dtype, object=x)
    with np.errstate(all="ignore"):
        if x.dtype in dtypes.COMPLEX and dtype not in dtypes.COMPLEX | dtypes.BOOL:
            x = x.real
        if x.dtype in dtypes.FLOAT and dtype in dtypes.INTEGER:
            return convert_p.numpy(x, dtype=dtype, weak_type=False)
        return x.astype(dtype)


def _from_nested(object: Any, dtype: Any) -> Any:
    leaves: list[Any] = []
    shape = _measure(object, leaves)
    if all(isinstance(x, _LEAVES) for x in leaves):
        return _from_numbers(object, leaves, shape, dtype)
    if dtype is None:
        # Python numbers in a list are not weak: [1, x] has the dtype of x and int32 together.
        pairs = [
            (t.dtype, False if not t.ndim and _is_number(x) else t.weak_type)
            for x in leaves
            for t in (type_of(x),)
        ]
        strong = [(d, w) for (d, w), x in zip(pairs, leaves, strict=True) if not _is_number(x)]
        weak = [(type_of(x).dtype, True) for x in leaves if _is_number(x)]
        dtype, _ = dtypes.promote(*strong, *weak)
    return _stack_nested(object, dtype)


def _is_number(x: Any) -> bool:
    return type(x) in (bool, int, float, complex)


def _measure(object: Any, leaves: list[Any]) -> tuple[int, ...]:
    """The shape of nested sequences; appends what they hold to leaves."""
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    if is_traced_or_device(object) or isinstance(object, np.ndarray | np.generic):
        leaves.append(object)
        return tuple(object.shape)
    if isinstance(object, bool | int | float | complex):
        leaves.append(object)
        return ()
    if isinstance(object, str | bytes) or object is None:
        kind = ArgumentError if object is None else ArgumentTypeError
        raise kind(f"{object!r} in a list is not a number", op=called())
    if not isinstance(object, Sequence):
        if hasattr(object, "__array__"):
            return _measure(np.asarray(object), leaves)
        raise ArgumentTypeError(
            f"{an(type(object).__name__)} in a list is not a number", op=called()
        )
    shapes = [_measure(item, leaves) for item in object]
    if any(s != shapes[0] for s in shapes[1:]):
        other = next(s for s in shapes if s != shapes[0])
        raise ShapeError(
            "the parts of the list have different shapes", op=called(), first=shapes[0], other=other
        )
    return (len(shapes), *(shapes[0] if shapes else ()))


def _from_numbers(object: Any, leaves: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    host = np.asarray(object) if leaves else np.zeros(shape, np.float64)
    if host.dtype == np.object_ or host.shape != shape:
        for x in leaves:
            if isinstance(x, int) and not -(2**63) <= x < 2**64:
                summary = "an integer in the list does not fit in 64 bits"
                raise IntegerOverflowError(summary, op=called(), integer=x)
        # ml_dtypes and NumPy types in one list have no common NumPy dtype.
        common: Any = dtypes.promote(*((type_of(x).dtype, False) for x in leaves))[0]
        flat = [np.asarray(x).astype(common).reshape(-1) for x in leaves]
        host = np.concatenate(flat).reshape(shape)
    if dtype is not None:
        if dtype in dtypes.INTEGER and host.dtype in dtypes.INTEGER and host.size:
            dtypes.check_fits(int(host.min()), dtype)
            dtypes.check_fits(int(host.max()), dtype)
        return _from_host(host, dtype)
    if leaves and any(isinstance(x, np.generic | np.ndarray) for x in leaves):
        common = dtypes.promote(*((type_of(x).dtype, type_of(x).weak_type) for x in leaves))[0]
        return constant(_cast(host, common), weak_type=False)
    return constant(host, weak_type=False)


def _stack_nested(object: Any, dtype: Any) -> Any:
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    if is_traced_or_device(object):
        return _astype(object, dtype)
    if isinstance(object, _LEAVES):
        return _from_host(object, dtype)
    leaves: list[Any] = []
    shape = _measure(object, leaves)
    if all(isinstance(x, _LEAVES) for x in leaves):
        return _from_numbers(object, leaves, shape, dtype)
    rows = [_stack_nested(item, dtype) for item in object]
    rows = [reshape(row, (1, *row.shape)) for row in rows]
    return concatenate_p.bind(*rows, axis=0) if len(rows) > 1 else rows[0]


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """x in a dtype; complex numbers lose their imaginary part, floats are cut off towards 0.

    >>> jnp.astype(jnp.array([1.7, -1.7]), int), jnp.astype(jnp.array([0, 2]), bool)
    (Array([ 1, -1], dtype=int32), Array([False,  True], dtype=bool))
    """
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    x = value("astype", x)
    if x.dtype in dtypes.COMPLEX and dtype in dtypes.BOOL:
        return placed(_not_equal_zero(x), device)
    y = convert_element_type(x, dtype)
    return placed(_copied(y) if copy and y is x and not isinstance(x, Tracer) else y, device)


def _not_equal_zero(x: Any) -> Any:
    from plait.ops.compare import ne

    return ne(x, np.zeros((), x.dtype))


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    r"""An array of the numbers that lie in memory behind a buffer.

    >>> jnp.frombuffer(b"\x01\x02", dtype=jnp.uint8)
    Array([1, 2], dtype=uint8)
    """
    return array(by_numpy(np.frombuffer, buffer, dtypes.as_dtype(dtype), count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """An array of the numbers written in a text, `sep` between them.

    >>> jnp.fromstring("1, 2, 3", dtype=int, sep=",")
    Array([1, 2, 3], dtype=int32)
    """
    if not isinstance(sep, str) or not sep:
        fix = "frombuffer reads bytes"
        raise ArgumentError("needs a separator", op="fromstring", sep=repr(sep), fix=fix)
    wide = dtypes.as_dtype(dtype)
    return array(by_numpy(np.fromstring, string, wide, count, sep=sep))


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """An array from an iterable, as NumPy's fromiter.

    >>> jnp.fromiter((n * n for n in range(4)), dtype=int)
    Array([0, 1, 4, 9], dtype=int32)
    """
    return array(by_numpy(np.fromiter, *args, **kwargs))


def fromfile(*args: Any, **kwargs: Any) -> Any:
    r"""An array from a file, as NumPy's fromfile.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers")
    ...     _ = path.write_bytes(b"\x05\x06")
    ...     jnp.fromfile(path, dtype=jnp.uint8)
    Array([5, 6], dtype=uint8)
    """
    return array(by_numpy(np.fromfile, *args, **kwargs))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """The values of a function at every position of a shape; it receives whole index arrays.

    >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    check_function(function, "fromfunction", "function")
    shape = shape_of(shape, "fromfunction")
    return function(*(positions(shape, k, to_dtype(dtype)) for k in range(len(shape))), **kwargs)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array from another library's, through the DLPack protocol; of one memory where possible.

    Raises: BackendError for an array on a device that is not plait's own, ArgumentTypeError for
    what does not know the protocol.

    >>> jnp.from_dlpack(np.arange(3, dtype=np.int32))
    Array([0, 1, 2], dtype=int32)
    """
    from plait.runtime.dlpack import from_object

    if not is_traced_or_device(x):
        host = from_object(x)
        x = constant(host) if host.ndim else constant(np.array(host))
    elif copy:
        x = _copied(x)
    return placed(x, device)


# --- filled with one number


def _number(x: Any, dtype: Any) -> np.ndarray:
    """The number that fills an array of a dtype; of keys their words."""
    return _cast(x, dtypes.uint32 if isinstance(dtype, dtypes.KeyDType) else dtype)


def _fill(shape: tuple[int, ...], number: Any, dtype: Any, weak_type: bool = False) -> Any:
    if isinstance(dtype, dtypes.KeyDType):
        # Each word of the keys is the number.
        words = np.full(dtype.words, number, np.uint32)
        return _broadcast_to(random_wrap_p.bind(words, dtype=dtype), shape)
    if dtype == dtypes.float0:
        return constant(np.zeros(shape, dtype))
    scalar = np.asarray(number, dtypes.storage(dtype))
    if shape:
        return broadcast_in_dim_p.bind(scalar, shape=shape, dims=())
    return constant(scalar, weak_type)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros (False for bool).

    >>> jnp.zeros((2, 3)), jnp.zeros(2, int)
    (Array([[0., 0., 0.],
            [0., 0., 0.]], dtype=float32),
     Array([0, 0], dtype=int32))
    """
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    return placed(_fill(shape_of(shape, "zeros"), 0, dtype), device or out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of ones (True for bool).

    >>> jnp.ones(3), jnp.ones(2, bool)
    (Array([1., 1., 1.], dtype=float32), Array([ True,  True], dtype=bool))
    """
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    return placed(_fill(shape_of(shape, "ones"), 1, dtype), device or out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros: memory without a value does not exist here.

    >>> jnp.empty(2)
    Array([0., 0.], dtype=float32)
    """
    return zeros(shape, dtype, device=device, out_sharding=out_sharding)


@takes_out_sharding
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of fill_value, which may be an array that broadcasts to the shape.

    >>> jnp.full((2, 2), 7), jnp.full((2, 2), jnp.array([1.5, 2.5]))
    (Array([[7, 7],
            [7, 7]], dtype=int32, weak_type=True),
     Array([[1.5, 2.5],
            [1.5, 2.5]], dtype=float32))
    """
    shape = shape_of(shape, "full")
    fill = operand("full", fill_value, 1)
    if dtype is not None:
        wanted = to_dtype(dtype)
        if not is_traced_or_device(fill) and not np.ndim(fill):
            return placed(_fill(shape, _number(fill, wanted), wanted), device)
        fill = _astype(value("full", fill), wanted)
    return placed(_broadcast_to(value("full", fill), shape), device)


def _like(op: str, a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], Any, bool]:
    if not hasattr(a, "dtype") or not hasattr(a, "shape"):
        a = operand(op, a)
    t = a if isinstance(getattr(a, "type", None), ArrayType) or not hasattr(a, "shape") else None
    t = type_of(a) if t is not None or isinstance(a, np.ndarray | np.generic) else a
    weak = dtype is None and getattr(t, "weak_type", False)
    chosen = dtypes.canonical(dtypes.as_dtype(t.dtype)) if dtype is None else to_dtype(dtype)
    return tuple(t.shape) if shape is None else shape_of(shape, op), chosen, weak


def _beside(a: Any, shape: tuple[int, ...]) -> Any:
    """Where an array like `a` lies, if no one says: where the user or a map put `a`, in the same
    parts. Inside of jit the compiler decides.
    """
    placement = a.placement if type(a) is Array and is_base() else None
    if isinstance(placement, OnDevice) or (
        isinstance(placement, Sharded | Shown) and shape == a.type.shape
    ):
        return a.sharding
    return None


def _like_filled(
    a: Any, shape: tuple[int, ...], number: Any, dtype: Any, weak: bool, device: Any
) -> Any:
    where = device or _beside(a, shape)
    if where is None or weak or not isinstance(dtype, np.dtype) or not is_base():
        return placed(weakly(_fill(shape, number, dtype, weak), weak), where)
    # Never whole on one device: what is spread may be too large for that.
    return placed(np.broadcast_to(np.asarray(number, dtype), shape), where)


@takes_out_sharding
def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros in the shape and dtype of `a`, anything with `.shape` and `.dtype`; they lie where an
    array `a` was put.

    >>> jnp.zeros_like(jnp.arange(3)), jnp.zeros_like(plait.ShapeDtypeStruct((2,), bool))
    (Array([0, 0, 0], dtype=int32), Array([False, False], dtype=bool))
    """
    shape, dtype, weak = _like("zeros_like", a, dtype, shape)
    return _like_filled(a, shape, 0, dtype, weak, device)


@takes_out_sharding
def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Ones in the shape and dtype of `a`; they lie where an array `a` was put.

    >>> jnp.ones_like(jnp.arange(3)), jnp.ones_like(jnp.arange(3), dtype=float, shape=2)
    (Array([1, 1, 1], dtype=int32), Array([1., 1.], dtype=float32))
    """
    shape, dtype, weak = _like("ones_like", a, dtype, shape)
    return _like_filled(a, shape, 1, dtype, weak, device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros in the shape and dtype of `prototype`.

    >>> jnp.empty_like(jnp.arange(3))
    Array([0, 0, 0], dtype=int32)
    """
    return zeros_like(prototype, dtype, shape, device=device)


@takes_out_sharding
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Any:
    """fill_value in the shape and dtype of `a`; it lies where an array `a` was put.

    >>> jnp.full_like(jnp.arange(3), 9.7)
    Array([9, 9, 9], dtype=int32)
    """
    shape, dtype, weak = _like("full_like", a, dtype, shape)
    fill = operand("full_like", fill_value, 1)
    if not is_traced_or_device(fill) and not np.ndim(fill):
        return _like_filled(a, shape, _number(fill, dtype), dtype, weak, device)
    fill = convert_element_type(value("full_like", fill), dtype, weak)
    return placed(_broadcast_to(fill, shape), device or _beside(a, shape))


# --- ranges


def positions(shape: tuple[int, ...], axis: int, dtype: Any) -> Any:
    """For each element of a shape its position along an axis."""
    return iota_p.bind(shape=shape, dtype=dtype, axis=axis)


def _static_number(x: Any, op: str, name: str) -> Any:
    if isinstance(x, int | float) and not isinstance(x, np.generic):
        return x
    host = known(operand(op, x))
    given: dict[str, Any] = {name: x}
    if host is None:
        raise ConcretizationTypeError(
            f"{name} decides the size of the result and must not be traced",
            op=op,
            **given,
            fix="make it a static argument",
        )
    if host.ndim:
        raise ShapeError(f"{name} must be a scalar", op=op, **given)
    return known_number(host.item(), op, name)


@takes_out_sharding
def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None
) -> Any:
    """start, start + step, ... below stop; arange(stop) counts from 0.

    The arguments must not be traced; they decide the dtype unless it is given.

    >>> jnp.arange(3), jnp.arange(1, 2, 0.25)
    (Array([0, 1, 2], dtype=int32), Array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = [x for x in (start, stop, step) if x is not None]
    first = "stop" if stop is None else "start"
    start, stop, step = (
        None if x is None else _static_number(x, "arange", name)
        for x, name in ((start, first), (stop, "stop"), (step, "step"))
    )
    if start is None:
        raise ArgumentTypeError("needs at least one argument", op="arange")
    chosen = result_type(*given) if dtype is None else to_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if step == 0:
        raise ArgumentError("the step must not be 0", op="arange")
    size = max(0, math.ceil((stop - start) / step))
    if chosen in dtypes.BOOL and size > 2:
        raise DtypeError("booleans count from 0 to 1 only", op="arange", size=size, dtype="bool")
    simple = start == 0 and step == 1 and chosen in dtypes.NUMBER
    if simple and (chosen.itemsize >= 4 or size < 128):
        return placed(positions((size,), 0, chosen), device)
    wide = np.float64 if chosen in dtypes.FLOAT else None
    host = np.arange(size, dtype=wide) * step + start
    if chosen in dtypes.INTEGER and size and isinstance(step, int) and isinstance(start, int):
        dtypes.check_fits(int(host[0]), chosen)
        dtypes.check_fits(int(host[-1]), chosen)
        if size > 1024 and chosen.itemsize >= 4:
            # Large ranges are computed where they are needed, not stored in the program.
            steps = multiply(positions((size,), 0, chosen), np.asarray(step, chosen))
            return placed(add(steps, np.asarray(start, chosen)), device)
    return placed(constant(_cast(host, chosen), weak_type=False), device)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers at equal distances from start to stop; start and stop may be arrays.

    With retstep: (numbers, distance).

    >>> jnp.linspace(0, 1, 5), jnp.linspace(0, 1, 4, endpoint=False, retstep=True)
    (Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32),
     (Array([0.  , 0.25, 0.5 , 0.75], dtype=float32), Array(0.25, dtype=float32)))
    """
    num = static_int(num, "linspace", "num")
    if num < 0:
        raise ArgumentError("needs num >= 0", op="linspace", num=num)
    start, stop = operand("linspace", start), operand("linspace", stop, 1)
    common = inexact(result_type(start, stop))
    chosen = common if dtype is None else to_dtype(dtype)
    shape = broadcast_shapes(np.shape(start), np.shape(stop))
    axis = normalise_axis(axis, len(shape) + 1, "linspace")
    if not any(map(is_traced_or_device, (start, stop))):
        host, step = np.linspace(start, stop, num, endpoint, retstep=True, axis=axis)
        return _spaced(constant(_floored(host, chosen), False), step, common, retstep, device)
    start, stop = (_astype(value("linspace", v), common) for v in (start, stop))
    start, stop = broadcast_together("linspace", start, stop)
    sections = num - 1 if endpoint else num
    shape = (*shape[:axis], num, *shape[axis:])
    step = divide(subtract(stop, start), sections) if sections > 0 else np.nan
    part = dtypes.real_of(common)
    position = positions(shape, axis, part)
    # A weighted mean of the ends meets both of them exactly.
    weight = divide(position, max(sections, 1))
    first, last = expand_dims(start, (axis,)), expand_dims(stop, (axis,))
    mixed = add(multiply(first, subtract(1, weight)), multiply(last, weight))
    if endpoint and num > 1:
        mixed = _where(equal(position, num - 1), last, mixed)
    if chosen in dtypes.INTEGER:
        from plait.numpy.parts import floor

        mixed = floor(mixed)
    return _spaced(_astype(mixed, chosen), step, common, retstep, device)


def _floored(host: np.ndarray, dtype: Any) -> np.ndarray:
    return _cast(np.floor(host) if dtype in dtypes.INTEGER else host, dtype)


def _spaced(x: Any, step: Any, dtype: Any, retstep: bool, device: Any) -> Any:
    x = placed(x, device)
    return (x, array(step, dtype)) if retstep else x


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """base ** linspace(start, stop): start and stop are exponents.

    >>> jnp.logspace(0, 3, 4), jnp.logspace(0, 3, 4, base=2)
    (Array([   1.,   10.,  100., 1000.], dtype=float32), Array([1., 2., 4., 8.], dtype=float32))
    """
    operand("logspace", base)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    y = power(base, exponents)
    return y if dtype is None else _astype(y, to_dtype(dtype))


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers with equal ratios from start to stop, which have one sign: NaN if not, or 0.

    >>> jnp.geomspace(1, 8, 4).round(3)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    from plait.numpy.elementary import exp, log
    from plait.numpy.ufuncs import abs, sign

    common = inexact(result_type(start, stop))
    chosen = common if dtype is None else to_dtype(dtype)
    start, stop = (_astype(value("geomspace", v), common) for v in (start, stop))
    start, stop = broadcast_together("geomspace", start, stop)
    axis = normalise_axis(axis, start.ndim + 1, "geomspace")
    if common in dtypes.COMPLEX:
        ratios = exp(linspace(0, log(divide(stop, start)), num, endpoint, axis=axis))
        y = multiply(expand_dims(start, (axis,)), ratios)
    else:
        y = exp(linspace(log(abs(start)), log(abs(stop)), num, endpoint, axis=axis))
        # No ratios lead to zero, nor from one sign to the other.
        there = equal(multiply(sign(start), sign(stop)), 1)
        y = multiply(y, expand_dims(_where(there, sign(start), np.nan), (axis,)))
        place = positions(y.shape, axis, dtypes.int32)
        ends = [(0, start)] + ([(num - 1, stop)] if endpoint and num > 1 else [])
        for position, end in ends:
            end = expand_dims(_where(there, end, np.nan), (axis,))
            y = _where(equal(place, position), end, y)
    return _astype(y, chosen)
