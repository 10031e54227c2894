"""Arguments of transformed functions: names for messages, static and donated ones, mapped axes.

One normaliser for all transformations. Nothing here runs on a warm call of jit or pmap.
"""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes, tree
from plait.core.interpreter import Tracer
from plait.core.source import function_name, function_source
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    DtypeError,
    PlaitError,
    ShapeError,
    an,
    several,
)
from plait.runtime.array import Array


def check_callable(fun: Any, op: str) -> None:
    """Raise ArgumentTypeError if fun cannot be called."""
    if not callable(fun):
        raise ArgumentTypeError(
            f"the first argument must be a function, not {type(fun).__name__}",
            op=op,
            fix=f"{op}(f), then call the result with arguments",
        )
    if inspect.isgeneratorfunction(fun):
        raise ArgumentTypeError(
            "generator functions cannot be transformed",
            op=op,
            function=function_source(fun),
            fix="return arrays instead of yielding them",
        )


# Weak: a signature must not keep a user's function, and what that holds, alive.
_signatures: weakref.WeakKeyDictionary[Any, inspect.Signature | None] = weakref.WeakKeyDictionary()


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function, or None if Python does not know it."""
    try:
        return _signatures[fun]
    except (KeyError, TypeError):  # not asked before; neither hashable nor weakly referable
        pass
    try:
        found = inspect.signature(fun)
    except (ValueError, TypeError):
        found = None
    try:
        _signatures[fun] = found
    except TypeError:
        return found
    return found


def positional_names(fun: Callable[..., Any], count: int) -> list[str]:
    """Names of the first positional arguments, as the function's author wrote them."""
    signature = signature_of(fun)
    names: list[str] = []
    if signature is not None:
        for p in signature.parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                names.extend(f"{p.name}[{k}]" for k in range(count - len(names)))
            elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                names.append(p.name)
    names = names[:count]
    return names + [f"argument {k}" for k in range(len(names), count)]


def argument_names(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> list[str]:
    """A name for each leaf of (args, kwargs): x, params['w'][0]."""
    names: list[str] = []
    for name, value in zip(positional_names(fun, len(args)), args, strict=True):
        names.extend(tree.leaf_names(value, name))
    for key in sorted(kwargs):
        names.extend(tree.leaf_names(kwargs[key], key))
    return names


def check_arrays(leaves: Sequence[Any], names: Callable[[], Sequence[str]], op: str) -> None:
    """Raise ArgumentTypeError naming the first leaf that is not an array or a number, or
    DonatedError for an array that was given away.
    """
    for k, x in enumerate(leaves):
        if type(x) is Array:
            if x.is_taken():
                x.check_live(op, names()[k])
            continue
        if not is_array(x):
            raise ArgumentTypeError(
                f"the argument {names()[k]} is not an array: it is {an(type(x).__name__)}",
                op=op,
                value=x,
                fix="pass arrays and numbers (in tuples, lists, dicts)"
                + ("; mark others as static" if op in _HAVE_STATIC else ""),
            )
        if isinstance(x, np.ndarray | np.generic):
            try:
                type_of(x)
            except DtypeError as error:
                error.summary = f"the argument {names()[k]} is not an array of numbers"
                error.op, error.given = op, {"dtype": str(x.dtype)}
                raise


def indices(value: Any, op: str, what: str) -> tuple[int, ...]:
    """An int, a sequence of ints or None as a tuple."""
    if value is None:
        return ()
    given: dict[str, Any] = {what: value}
    if isinstance(value, str):
        raise ArgumentTypeError(f"{what} takes ints", op=op, **given)
    try:
        return (operator.index(value),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(v) for v in value)
    except TypeError:
        raise ArgumentTypeError(f"{what} is an int or a sequence of ints", op=op, **given) from None


def names_tuple(value: Any, op: str, what: str) -> tuple[str, ...]:
    """A name, a sequence of names or None as a tuple."""
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else value
    try:
        names = tuple(names)
    except TypeError:
        names = (value,)
    if not all(isinstance(n, str) for n in names):
        given: dict[str, Any] = {what: value}
        raise ArgumentTypeError(f"{what} is a name or a sequence of names", op=op, **given)
    return names


# Functions that take static arguments.
_HAVE_STATIC = ("jit", "pmap", "make_jaxpr")


class Selected(NamedTuple):
    """Arguments chosen by position and by name; either way of passing one selects it."""

    numbers: tuple[int, ...]
    names: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)


def select_arguments(
    fun: Callable[..., Any], numbers: Any, names: Any, op: str, what: str
) -> Selected:
    """Which arguments `<what>_argnums` and `<what>_argnames` mean.

    An argument that can be passed both ways is selected both ways, whichever was given.
    Raises: ArgumentError for names and numbers that the function does not have.
    """
    found = list(indices(numbers, op, f"{what}_argnums"))
    found_names = list(names_tuple(names, op, f"{what}_argnames"))
    signature = signature_of(fun)
    if signature is None or not (found or found_names):
        return Selected(tuple(found), tuple(found_names))
    parameters = list(signature.parameters.values())
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    takes_any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for k in found:
        if not takes_more and not -len(by_position) <= k < len(by_position):
            raise ArgumentError(
                f"{what}_argnums names argument {k}, but {function_name(fun)} has "
                f"{several(len(by_position), 'positional argument')}",
                op=op,
                function=function_source(fun),
            )
    if not takes_more:
        found = [k + len(by_position) if k < 0 else k for k in found]
    by_name = {p.name: k for k, p in enumerate(by_position)}
    for name in found_names:
        if name not in signature.parameters and not takes_any_name:
            raise ArgumentError(
                f"{what}_argnames names {name!r}, but {function_name(fun)} has no such argument",
                op=op,
                has=", ".join(signature.parameters),
            )
    numbers_out = list(dict.fromkeys([*found, *(by_name[n] for n in found_names if n in by_name)]))
    names_out = list(found_names)
    for k in found:
        if 0 <= k < len(by_position) and by_position[k].kind is inspect._ParameterKind(1):
            names_out.append(by_position[k].name)
    return Selected(tuple(numbers_out), tuple(dict.fromkeys(names_out)))


def check_disjoint(static: Selected, donated: Selected, op: str) -> None:
    """Raise ArgumentError if an argument is static and donated."""
    both = set(static.numbers) & set(donated.numbers) or set(static.names) & set(donated.names)
    if both:
        raise ArgumentError(
            "an argument cannot be both static and donated", op=op, arguments=sorted(both)
        )


def check_hashable(value: Any, name: str, op: str) -> None:
    """Raise ArgumentError for a static argument that cannot be part of a key."""
    if isinstance(value, Tracer):
        raise ArgumentError(
            f"the static argument {name} is a traced value",
            op=op,
            value=value,
            fix="pass a number that is known, or do not mark it static",
        )
    try:
        hash(value)
    except TypeError:
        hint = "arrays" if is_array(value) else f"values of type {type(value).__name__}"
        raise ArgumentError(
            f"the static argument {name} is not hashable: {hint} cannot be static",
            op=op,
            value=value,
            fix="pass a tuple, a string, a number or a frozen dataclass, or do not mark it static",
        ) from None


def flatten_for(op: str, value: Any) -> tuple[list[Any], Any]:
    """`tree.flatten`, whose error says which function was called."""
    try:
        return tree.flatten(value)
    except ArgumentError as error:
        error.op = op
        raise


class Flat(NamedTuple):
    """What a function returned: its leaves and their structure."""

    leaves: list[Any]
    structure: Any


def flatten_result(result: Any, fun: Callable[..., Any], op: str) -> Flat:
    """The leaves of a function's result. Raises ArgumentTypeError naming one that is no array."""
    leaves, structure = flatten_for(op, result)
    for k, y in enumerate(leaves):
        if not is_array(y):
            path = tree.leaf_names(result, "result")[k]
            raise ArgumentTypeError(
                f"{function_name(fun)} returned {an(type(y).__name__)} at {path}; "
                "transformed functions return arrays, in containers or alone",
                op=op,
                value=y,
                function=function_source(fun),
                fix="return arrays and numbers only",
            )
    return Flat(leaves, structure)


# --- mapped axes, for vmap and pmap


def hashable_tree(value: Any) -> Any:
    """A key that stands for a tree of ints and None."""
    leaves, structure = tree.flatten(value, lambda x: x is None)
    return (tuple(leaves), structure)


def check_axes(axes: Any, what: str, op: str) -> None:
    """Raise ArgumentTypeError unless all leaves are ints or None."""
    for leaf in tree.leaves(axes, lambda x: x is None):
        if leaf is not None and (isinstance(leaf, bool) or not isinstance(leaf, int | np.integer)):
            raise ArgumentTypeError(
                f"{what} holds ints and None, in the containers of the arguments",
                op=op,
                leaf=leaf,
                fix=_call_the_result(leaf, op),
            )


def check_axis_name(name: Any, op: str) -> None:
    """Raise ArgumentTypeError unless the name can be looked up."""
    try:
        hash(name)
    except TypeError:
        raise ArgumentTypeError(
            "an axis name is a string, or anything else that is hashable",
            op=op,
            axis_name=name,
            fix=_call_the_result(name, op),
        ) from None


def _call_the_result(given: Any, op: str) -> str | None:
    """The cure for an argument of the function that was handed to the transformation."""
    return f"{op}(f)(x) calls the mapped function" if hasattr(given, "shape") else None


def check_axis_size(size: Any, op: str) -> None:
    """Raise unless axis_size= is None or a whole number that is not negative."""
    if size is None:
        return
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise ArgumentTypeError("axis_size is an int", op=op, axis_size=size)
    if operator.index(size) < 0:
        raise ArgumentError("axis_size cannot be negative", op=op, axis_size=size)


def spread_in_axes(
    in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any], op: str, count: int | None = None
) -> list[int | None]:
    """One axis or None for each leaf of (args, kwargs); keyword arguments are mapped on axis 0.

    Raises: ArgumentError if in_axes does not fit the arguments.
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ArgumentError(
            f"in_axes has {several(len(in_axes), 'entry', 'entries')}, the call "
            f"{several(len(args), 'positional argument')}",
            op=op,
            in_axes=in_axes,
            fix="in_axes has one entry for each positional argument (static ones too), or is one "
            "value for all; keyword arguments are mapped along axis 0",
        )
    if isinstance(in_axes, tuple):
        flat: list[int | None] = []
        for k, (axes, arg) in enumerate(zip(in_axes, args, strict=True)):
            flat.extend(tree.broadcast_prefix(axes, arg, f"in_axes[{k}]", op))
    else:
        flat = tree.broadcast_prefix(in_axes, args, "in_axes", op)
    return flat + [0] * len(tree.leaves(kwargs))


def map_size(
    types: Sequence[ArrayType],
    axes: Sequence[int | None],
    names: Callable[[], Sequence[str]],
    size: int | None,
    op: str,
    keywords: int = 0,
) -> tuple[int, list[int | None]]:
    """(the size of the mapped axis, the axes with negative ones resolved).

    `names` is asked for the leaves' names only when a message needs them; `keywords` says how many
    of the last leaves were passed by name.
    Raises: ShapeError naming leaves that have no such axis or disagree on the size; ArgumentError
    if nothing is mapped and no size was given.
    """
    resolved: list[int | None] = []
    sizes: dict[int, list[int]] = {}
    for k, (t, axis) in enumerate(zip(types, axes, strict=True)):
        if axis is None:
            resolved.append(None)
            continue
        axis = operator.index(axis)
        if not -t.ndim <= axis < t.ndim:
            raise _no_axis(t, axis, names()[k], op, by_name=k >= len(types) - keywords)
        axis = axis + t.ndim if axis < 0 else axis
        resolved.append(axis)
        sizes.setdefault(t.shape[axis], []).append(k)
    if len(sizes) > 1:
        labels = names()
        rows = {}
        for n, who in sizes.items():
            shown = [f"{labels[k]} {types[k]} on axis {resolved[k]}" for k in who[:4]]
            more = f" and {len(who) - 4} more" if len(who) > 4 else ""
            rows[f"size_{n}"] = ", ".join(shown) + more
        raise ShapeError(
            "the mapped arguments disagree on the size of the axis: "
            + " and ".join(str(n) for n in sizes),
            op=op,
            fix="give the mapped axes one size, or map parameters that all share with in_axes=None",
            **rows,
        )
    if not sizes:
        if size is None:
            raise ArgumentError(
                "nothing is mapped, so the size of the axis is unknown",
                op=op,
                fix="give axis_size=, or map at least one argument (a list of numbers is a "
                "container of scalars: use np.array)",
            )
        return operator.index(size), resolved
    (found,) = sizes
    if size is not None and size != found:
        k = sizes[found][0]
        raise ShapeError(
            f"axis_size is {size}, but the mapped arguments have size {found}",
            op=op,
            **{f"size_{found}": f"{names()[k]} {types[k]} on axis {resolved[k]}"},  # type: ignore
            fix="leave axis_size out, or map arguments of that size",
        )
    return found, resolved


def _no_axis(t: ArrayType, axis: int, name: str, op: str, by_name: bool) -> PlaitError:
    if isinstance(t.dtype, dtypes.KeyDType) and t.ndim == 0:
        return ShapeError(
            f"the argument {name} is a single random key; the map wants one for each row",
            op=op,
            key=t,
            fix="random.split(key, n), or in_axes=None and random.fold_in(key, axis_index)",
        )
    if by_name:
        fix = (
            "keyword arguments are mapped along axis 0; pass it by position with in_axes=None "
            "for it, or bind it with functools.partial"
        )
    elif t.ndim == 0:
        static = ", or mark it static" if op in _HAVE_STATIC else ""
        fix = (
            f"give None for it in in_axes, for example in_axes=(0, None){static}; a Python list "
            "is a container of scalars: use np.array"
        )
    else:
        fix = f"an axis from {-t.ndim} to {t.ndim - 1}, or None to pass it whole"
    return AxisError(
        f"the argument {name} has rank {t.ndim}: it has no axis {axis} to map",
        op=op,
        value=t,
        fix=fix,
    )


def spread_out_axes(out_axes: Any, structure: Any, op: str) -> list[int | None]:
    """One axis or None for each leaf of a result. Raises ArgumentError if out_axes does not fit."""
    dummy = structure.unflatten([0] * structure.num_leaves)
    if isinstance(out_axes, list) and isinstance(dummy, tuple):
        out_axes = tuple(out_axes)
    try:
        return tree.broadcast_prefix(out_axes, dummy, "out_axes", op)
    except ArgumentError as error:
        if isinstance(out_axes, tuple) and isinstance(dummy, tuple) and len(out_axes) != len(dummy):
            raise ArgumentError(
                f"out_axes has {several(len(out_axes), 'entry', 'entries')}, the function returned "
                f"{several(len(dummy), 'output')}",
                op=op,
                out_axes=out_axes,
                fix="out_axes is one value for all, or a tree like the result",
            ) from None
        raise error


def resolve_out_axis(axis: int, ndim: int, op: str) -> int:
    """An output axis in 0..ndim, where the result of one row has ndim axes."""
    axis = operator.index(axis)
    if not -ndim - 1 <= axis <= ndim:
        raise AxisError(
            f"out_axes asks for axis {axis}, the result of one row has "
            f"{several(ndim, 'axis', 'axes')}",
            op=op,
            fix=f"an axis from {-ndim - 1} to {ndim}",
        )
    return axis + ndim + 1 if axis < 0 else axis


def types_of(leaves: Iterable[Any]) -> tuple[ArrayType, ...]:
    """The types of leaves that have been checked."""
    return tuple(type_of(x) for x in leaves)
