"""Operands of the functions here: checked, brought to one dtype and, where needed, to one shape.

Elementwise ops take scalars (rank 0) beside arrays of any shape, so a Python number becomes a
literal and never an array of copies. What has to be done to operands of given types is worked out
once and kept: `x + y` inside a trace costs two attribute reads and the op.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.context import context
from plait.core.dtypes import BOOL, FLOAT, INEXACT, INTEGER
from plait.core.interpreter import Tracer
from plait.core.plain import static_int
from plait.core.primitive import Primitive
from plait.core.source import called, called_with, warn
from plait.core.stage import Stager
from plait.core.types import ArrayType, scalar_type, type_of
from plait.errors import (
    ArgumentTypeError,
    DtypeError,
    ShapeError,
    UnsupportedError,
)
from plait.ops.arithmetic import convert_element_type, convert_p
from plait.ops.axes import broadcast_in_dim, broadcast_in_dim_p, check_shape, normalise_axis
from plait.runtime.array import as_array, canonical_value, from_host

PYTHON_SCALARS = (bool, int, float, complex)
_SCALAR_SET = frozenset(PYTHON_SCALARS)
_HOST = (np.ndarray, np.generic, bool, int, float, complex)


# --- what counts as an array


def is_traced_or_device(x: Any) -> bool:
    """Whether x is a tracer or an Array, and not a number or array of Python or NumPy."""
    return type(getattr(x, "type", None)) is ArrayType


def is_arraylike(x: Any) -> bool:
    """Whether the functions here take x as an operand: arrays, tracers and numbers."""
    return (
        type(getattr(x, "type", None)) is ArrayType
        or isinstance(x, _HOST)
        or hasattr(x, "__jax_array__")
    )


def operand(op: str, x: Any, position: int = 0) -> Any:
    """x itself if it is an array, a tracer or a number; what its `__jax_array__` gives if it has
    one. Raises ArgumentTypeError, which names the function and the argument, for anything else.
    """
    if type(getattr(x, "type", None)) is ArrayType:
        return x
    if isinstance(x, _HOST):
        return x
    convert = getattr(x, "__jax_array__", None)
    if callable(convert):
        return operand(op, convert(), position)
    raise not_an_array(op, x, position)


def operands(op: str, *xs: Any) -> list[Any]:
    """Each operand checked; see `operand`."""
    return [operand(op, x, i) for i, x in enumerate(xs)]


def not_an_array(op: str, x: Any, position: int = 0) -> ArgumentTypeError:
    """The error for an argument that is not an array, by the name it has where the user gave it."""
    function, name = called_with(x) or (op, _parameter_name(op, position))
    if function != op.rpartition(".")[2]:
        op = function  # another one than that which met the mistake: which was called
    if isinstance(x, list | tuple):
        kind = f"a {type(x).__name__}"
        fix = f"make it an array first: jnp.asarray({name})"
    elif x is None:
        kind, fix = "None", "pass an array or a number"
    else:
        kind, fix = f"of type {type(x).__name__}", "pass an array or a number"
    return ArgumentTypeError(
        f"the argument {name} must be an array or a number, not {kind}", op=op, fix=fix
    )


def _parameter_name(op: str, position: int) -> str:
    # Looked up only when an error is made, so no function has to repeat its parameters' names: in
    # plait.numpy, else in the call of the function that is running.
    import inspect
    import sys

    function: Any = sys.modules.get("plait.numpy")
    for name in op.split("."):
        function = getattr(function, name, None)
    names: Sequence[str] = ()
    with contextlib.suppress(TypeError, ValueError):
        names = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    frame = sys._getframe()
    while not names and frame is not None:
        code = frame.f_code
        if code.co_name == op.rpartition(".")[2]:
            names = code.co_varnames[: code.co_argcount]
        frame = frame.f_back
    return names[position] if position < len(names) else str(position)


def value(op: str, x: Any, position: int = 0) -> Any:
    """x as an Array or tracer: for functions that may hand an operand back as it is."""
    if type(getattr(x, "type", None)) is ArrayType:
        return x
    return constant(operand(op, x, position))


def constant(x: Any, weak_type: bool | None = None) -> Any:
    """A number or NumPy array as an Array in its canonical dtype; in a trace a number is staged, so
    that it becomes a literal. Raises IntegerOverflowError for integers that do not fit.
    """
    if type(getattr(x, "type", None)) is ArrayType:
        return x
    have = type_of(x)
    weak = have.weak_type if weak_type is None else weak_type
    if not have.shape:
        if staging():
            return convert_p.bind(canonical_value(x, have), dtype=have.dtype, weak_type=weak)
        if weak == have.weak_type:
            return as_array(x)
    return from_host(canonical_value(x, have), ArrayType(have.shape, have.dtype, weak))


def to_host(x: Any, dtype: Any) -> np.ndarray:
    """A number or NumPy array as a NumPy array of a dtype. Raises IntegerOverflowError for numbers
    that the dtype cannot hold, and for arrays that their own dtype, narrowed, cannot hold: what
    promotion does to their elements after that is what it does to those of Arrays.
    """
    array = np.asarray(x)
    if array.dtype == dtype:
        return array
    if array.dtype in INTEGER and dtype in INTEGER and array.size:
        least = dtype if isinstance(x, PYTHON_SCALARS) else dtypes.canonical(array.dtype)
        dtypes.check_fits(int(array.min()), least, x=array)
        dtypes.check_fits(int(array.max()), least, x=array)
    with np.errstate(all="ignore"):
        return array.astype(dtypes.storage(dtype))


def is_base() -> bool:
    """Whether no transformation is running, so that ops are executed at once."""
    return context.interpreter.parent is None


def staging() -> bool:
    """Whether ops are being written into a Program, and not executed."""
    interpreter: Any = context.interpreter
    while interpreter is not None:
        if type(interpreter) is Stager:
            return True
        interpreter = interpreter.parent
    return False


def known(x: Any) -> np.ndarray | None:
    """The elements of x as a NumPy array, or None if they are traced."""
    if isinstance(x, Tracer):
        x = x.concrete()
        if x is None:
            return None
    return np.asarray(x)


# --- dtypes


def to_dtype(spec: Any) -> Any:
    """The dtype an argument `dtype=` means, narrowed to 32 bits unless enable_x64 is on."""
    dtype = dtypes.canonical(dtypes.as_dtype(spec))
    dtypes.check_supported(dtype)
    return dtype


def inexact(dtype: Any) -> Any:
    """The dtype itself if inexact, else float64 for 64-bit integers and float32 for all others."""
    if dtype in INEXACT:
        return dtype
    if dtype == dtypes.float0:
        summary = "float0 stands for the derivatives of integers and has no values"
        raise DtypeError(summary, op=called())
    return dtypes.float64 if dtype.itemsize == 8 and dtype in INTEGER else dtypes.float32


def result_type(*args: Any) -> Any:
    """The dtype that arrays, numbers and dtypes combine to; Python numbers and types are weak.

    >>> jnp.result_type(jnp.int32, jnp.float16), jnp.result_type(jnp.int8(1), 2)
    (dtype('float16'), dtype('int8'))
    """
    if not args:
        raise ArgumentTypeError("at least one array or dtype is needed", op="result_type")
    pairs = []
    for arg in args:
        if arg is None:
            pairs.append((dtypes.default_float(), False))
        elif is_arraylike(arg) and not isinstance(arg, type):
            t = type_of(operand("result_type", arg))
            pairs.append((t.dtype, t.weak_type))
        else:
            dtype = dtypes.as_dtype(arg)
            dtypes.check_supported(dtype)
            pairs.append((dtype, dtypes.is_weak_type(arg)))
    return dtypes.promote(*pairs)[0]


def astype(x: Any, dtype: Any) -> Any:
    """x converted to a dtype (not weak) if it has another; x must be an array or tracer."""
    t = x.type
    if t.dtype == dtype and not t.weak_type:
        return x
    return convert_element_type(x, dtype)


def weakly(x: Any, weak: bool) -> Any:
    """x with a weak type, if `weak` says so and it has none."""
    return convert_element_type(x, x.dtype, True) if weak and not x.type.weak_type else x


def to_inexact(op: str, x: Any) -> Any:
    """x with integers and booleans as floats."""
    (x,) = promote(op, (x,), INEXACT_KIND)
    return x


# --- promotion

STANDARD, NUMERIC, INEXACT_KIND = "standard", "numeric", "inexact"


class _Plan(NamedTuple):
    """What operands of given types need: the common dtype, the shape, and steps for each."""

    dtype: Any
    weak_type: bool
    shape: tuple[int, ...]
    # For each operand: whether it changes its dtype, and its axes in the shape (None: stays).
    steps: tuple[tuple[bool, tuple[int, ...] | None], ...]
    warning: str | None


_plans: dict[Any, _Plan] = {}


# Functions whose operands are what the user mixes; "forward" and "reflected" are the operators.
_MIXING = frozenset(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)) | {
    *("where", "clip", "isclose", "forward", "reflected"),
}
# These are asked for just because ranks differ.
_BROADCASTING = frozenset({"where", "choose", "select", "broadcast_shapes", "broadcast_arrays"})


def _strictly(op: str) -> bool:
    # Switches that forbid to mix ranks or dtypes hold for what the user's line asks for, not for
    # the steps of another function, which mix them on purpose.
    name = called()
    return name in _MIXING or name == op.rpartition(".")[2]


def _plan(op: str, types: tuple[ArrayType, ...], kind: str) -> _Plan:
    lenient = state.numpy_dtype_promotion == "strict" and not _strictly(op)
    dtype, weak = dtypes.promote(*((t.dtype, t.weak_type) for t in types), lenient=lenient)
    if kind is INEXACT_KIND:
        dtype = inexact(dtype)
    elif kind is NUMERIC and dtype in BOOL:
        dtype = dtypes.int32
    shape, warning = _common_shape(op, [t.shape for t in types])
    steps = tuple(
        (
            t.dtype != dtype,
            None if t.shape == shape or not t.shape else _aligned(t.ndim, len(shape)),
        )
        for t in types
    )
    return _Plan(dtype, weak and dtype not in BOOL, shape, steps, warning)


def _aligned(ndim: int, whole: int) -> tuple[int, ...]:
    return tuple(range(whole - ndim, whole))


def _common_shape(op: str, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], str | None]:
    first = shapes[0]
    if all(s == first or not s for s in shapes[1:]):
        return first or next((s for s in shapes if s), ()), None
    warning = None
    mixed = state.numpy_rank_promotion != "allow" and len({len(s) for s in shapes if s}) > 1
    if mixed and op not in _BROADCASTING and _strictly(op):
        summary = "the operands have different ranks, and numpy_rank_promotion forbids to mix them"
        given: dict[str, Any] = {f"operand_{i}": s for i, s in enumerate(shapes)}
        error = ShapeError(summary, op=op, fix="give them the same rank with x[None]", **given)
        if state.numpy_rank_promotion == "raise":
            raise error
        warning = str(error)
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(s)) + s for s in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        large = {n for n in sizes if n != 1}
        if len(large) > 1:
            given = {f"operand_{i}": s for i, s in enumerate(shapes)}
            raise ShapeError(
                "the operands' shapes do not broadcast",
                op=op,
                fix="aligned at the last axis, sizes must be equal or 1",
                **given,
            )
        result.append(large.pop() if large else 1)
    return tuple(result), warning


def promote(
    op: str, xs: Sequence[Any], kind: str = STANDARD, *, together: bool = True
) -> list[Any]:
    """Operands of an elementwise op in one dtype; arrays in one shape, scalars left as scalars.

    Python numbers stay that, weak as they are, where they meet the others in one op. A function
    whose operands go into different ops says together=False.
    """
    types = []
    for i, x in enumerate(xs):
        t = getattr(x, "type", None)
        if type(t) is not ArrayType:
            if type(x) in _SCALAR_SET:
                t = scalar_type(x)
            else:
                x = operand(op, x, i)
                t = type_of(x)
                if x is not xs[i]:
                    xs = [*xs[:i], x, *xs[i + 1 :]]
        types.append(t)
    types = tuple(types)
    key = (types, kind, id(state.key))
    plan = _plans.get(key)
    if plan is None:
        plan = _plan(op, types, kind)
        if state.numpy_dtype_promotion == "standard" and state.numpy_rank_promotion == "allow":
            _plans[key] = plan
    if plan.warning is not None:
        warn(plan.warning)
    dtype = plan.dtype
    out = []
    for x, t, (convert, dims) in zip(xs, types, plan.steps, strict=True):
        if type(x) in _SCALAR_SET:
            if plan.weak_type or (together and len(types) > 1):
                x = literal(x, dtype)
            else:
                x = to_host(x, dtype)
        elif convert or (not together and t.weak_type and not plan.weak_type):
            if isinstance(x, _HOST) and not plan.weak_type:
                x = to_host(x, dtype)
            else:
                x = convert_p.bind(x, dtype=dtype, weak_type=plan.weak_type)
        if dims is not None:
            x = broadcast_in_dim_p.bind(x, shape=plan.shape, dims=dims)
        out.append(x)
    return out


def promote_dtypes(op: str, xs: Sequence[Any], *, lenient: bool = False) -> list[Any]:
    """Arrays or tracers (numbers become 0-d ones) in one dtype, each with its own shape; lenient
    whatever the switch numpy_dtype_promotion says.
    """
    # A NumPy array stays one: used twice in a trace, it is captured once.
    xs = [x if _is_plain(x) else value(op, x, i) for i, x in enumerate(xs)]
    types = [type_of(x) for x in xs]
    lenient = lenient or (state.numpy_dtype_promotion == "strict" and not _strictly(op))
    dtype, weak = dtypes.promote(*((t.dtype, t.weak_type) for t in types), lenient=lenient)
    return [
        x if t.dtype == dtype else convert_element_type(x, dtype, weak)
        for x, t in zip(xs, types, strict=True)
    ]


def _is_plain(x: Any) -> bool:
    return type(x) is np.ndarray and x.ndim > 0 and type_of(x).dtype == x.dtype


_KINDS = {dtypes.bool_: bool}
_KINDS |= dict.fromkeys((dtypes.int32, dtypes.int64), int)
_KINDS |= dict.fromkeys((dtypes.float32, dtypes.float64), float)
_KINDS |= dict.fromkeys((dtypes.complex64, dtypes.complex128), complex)


def literal(x: Any, dtype: Any) -> Any:
    """A Python number in a dtype: a Python number again where that has the dtype of itself.

    Beside an operand of a strong dtype a weak number changes nothing, and it is cheapest.
    """
    kind = _KINDS.get(dtype)
    if kind is not None and dtypes.scalar_dtype(kind) == dtype:
        if kind is int:
            dtypes.check_fits(x, dtype)
        return kind(x)
    if dtype in INTEGER and not isinstance(x, bool):
        dtypes.check_fits(x, dtype)
    if dtype in FLOAT and not -6e4 < x < 6e4:
        with np.errstate(over="ignore"):  # overflow to infinity is what the dtype has
            return np.asarray(x, dtype)
    return np.asarray(x, dtype)


def combine(op: Primitive, name: str, x: Any, y: Any) -> Any:
    """A two-operand op after promotion."""
    tx = getattr(x, "type", None)
    if tx is getattr(y, "type", None) and type(tx) is ArrayType:
        return context.interpreter.process(op, (x, y), {})
    return context.interpreter.process(op, promote(name, (x, y)), {})


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that shapes broadcast to. Raises ShapeError if there is none.

    >>> jnp.broadcast_shapes((2, 1), (3,)), jnp.broadcast_shapes((0,), (1,))
    ((2, 3), (0,))
    """
    checked = [check_shape(s, "broadcast_shapes") for s in shapes]
    return _common_shape("broadcast_shapes", checked)[0] if checked else ()


def broadcast_together(op: str, *xs: Any) -> list[Any]:
    """Arrays or tracers in one shape (scalars too), dtypes unchanged."""
    values = [value(op, x, i) for i, x in enumerate(xs)]
    shape, warning = _common_shape(op, [x.shape for x in values])
    if warning is not None:
        warn(warning)
    return [
        x if x.shape == shape else broadcast_in_dim(x, shape, _aligned(x.ndim, len(shape)))
        for x in values
    ]


# --- axes and shapes


def axis_in(axis: Any, ndim: int, op: str) -> int:
    """An axis in 0..ndim-1. Raises OutOfRangeError (an IndexError and a ValueError)."""
    return normalise_axis(axis, ndim, op)


def axes_in(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """The axes an argument `axis=` means: None all, an int one, or a sequence of ints."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, Iterable) or isinstance(axis, str | Tracer):
        return (normalise_axis(axis, ndim, op),)
    found = tuple(normalise_axis(a, ndim, op) for a in axis)
    if len(set(found)) != len(found):
        raise ShapeError("an axis is named twice", op=op, axis=tuple(axis))
    return found


def shape_of(shape: Any, op: str) -> tuple[int, ...]:
    """The shape an argument `shape=` means: an int or a sequence of ints, none of them traced."""
    if is_traced_or_device(shape):
        shape = shape if shape.ndim == 0 else [shape[k] for k in range(shape.shape[0])]
    if not np.iterable(shape) or isinstance(shape, str):
        return check_shape((static_int(shape, op, "shape"),), op)
    return check_shape(tuple(static_int(n, op, "shape") for n in shape), op)


def out_is_none(op: str, out: Any) -> None:
    """Raise for an `out=` argument: arrays never change in place."""
    if out is not None:
        refuse_output(op)


def refuse_output(op: str, where: Any = None) -> NoReturn:
    """Raise for `out=`, and for the `where=` that says which of its elements are written."""
    if where is not None:
        summary = "`where` says which elements of `out` are written, and there is no `out`"
        fix = "choose with jnp.where(condition, result, other)"
        raise UnsupportedError(summary, op=called(op), mask=where, fix=fix)
    raise UnsupportedError(
        "arrays do not change in place, so `out` must be None",
        op=called(op),
        fix="use the returned array",
    )


def not_in_place(op: str, inplace: bool) -> None:
    """Raise for `inplace=True`."""
    if inplace:
        raise UnsupportedError(
            "arrays do not change in place",
            op=op,
            fix=f"{op}(..., inplace=False) gives a new array",
        )
