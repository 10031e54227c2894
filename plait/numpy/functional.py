"""Functions of functions: vectorize and apply_along_axis; numerical gradients and integrals."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from plait.core.dtypes import INEXACT
from plait.core.plain import listed
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError, describe, several
from plait.numpy import ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.manipulation import concatenate, expand_dims
from plait.numpy.pieces import diff
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    broadcast_shapes,
    inexact,
    operand,
    promote_dtypes,
    to_inexact,
    value,
)
from plait.numpy.reduction import sum
from plait.ops import axes as ops
from plait.ops.slices import slice_in_dim
from plait.regions.trace import check_function

_NAMES = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*,?)?\s*\)"
_SIGNATURE = re.compile(
    rf"^\s*{_NAMES}(?:\s*,\s*{_NAMES})*\s*->\s*{_NAMES}(?:\s*,\s*{_NAMES})*\s*$"
)


def _parse_signature(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    if not isinstance(signature, str) or not _SIGNATURE.match(signature):
        summary = f"{describe(signature)!r} is not a signature"
        raise ArgumentError(summary, op="vectorize", fix="for example '(n,m),(m)->(n)'")

    def names(text: str) -> list[tuple[str, ...]]:
        return [tuple(re.findall(r"\w+", group)) for group in re.findall(_NAMES, text)]

    inputs, outputs = signature.split("->")
    return names(inputs), names(outputs)


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = (),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that applies pyfunc to each element, or to the axes of a signature.

    The arguments' other axes broadcast. A signature such as "(n,m),(m)->(n)" names the axes that
    pyfunc sees. `excluded` lists arguments, by position or name, that are passed as they are, as
    None always is.

    >>> area = jnp.vectorize(lambda r: jnp.sum(r) ** 2, signature="(n)->()")
    >>> area(jnp.ones((2, 3)))
    Array([9., 9.], dtype=float32)
    """
    if not all(isinstance(e, int | str) for e in listed(excluded, "vectorize", "excluded")):
        summary = "excluded holds positions and names"
        raise ArgumentTypeError(summary, op="vectorize", excluded=excluded)
    if any(isinstance(e, int) and e < 0 for e in excluded):
        summary = "the positions in excluded count from the first"
        raise ArgumentError(summary, op="vectorize", excluded=excluded)
    cores = None if signature is None else _parse_signature(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        mapped_names = [k for k in kwargs if k not in excluded and kwargs[k] is not None]
        positions = [i for i in range(len(args)) if i not in excluded]
        absent = [i for i in positions if args[i] is None]
        if absent and signature is not None:
            raise ArgumentError(
                "with a signature, an argument that is None must be excluded",
                op="vectorize",
                positions=absent,
                fix=f"excluded={(*excluded, *absent)}",
            )
        positions = [i for i in positions if i not in absent]
        if signature is not None and mapped_names:
            raise ArgumentError(
                "with a signature, arguments by name must be excluded",
                op="vectorize",
                names=mapped_names,
                fix="give them by position, or their names in excluded",
            )

        def of_arrays(*arrays: Any) -> Any:
            every, named = list(args), dict(kwargs)
            for i, x in zip(positions, arrays, strict=False):
                every[i] = x
            for k, x in zip(mapped_names, arrays[len(positions) :], strict=True):
                named[k] = x
            return pyfunc(*every, **named)

        given = [args[i] for i in positions] + [kwargs[k] for k in mapped_names]
        arrays = [value("vectorize", operand("vectorize", x, i)) for i, x in enumerate(given)]
        return _mapped(of_arrays, arrays, cores)

    return vectorized


def _mapped(function: Callable[..., Any], arrays: list[Any], cores: Any) -> Any:
    from plait.transforms.vmap import vmap

    inputs = [()] * len(arrays) if cores is None else cores[0]
    if len(inputs) != len(arrays):
        raise ArgumentTypeError(
            f"the signature has {several(len(inputs), 'argument')}, the call {len(arrays)}",
            op="vectorize",
            signature=_text(inputs),
        )
    sizes: dict[str, int] = {}
    for x, names in zip(arrays, inputs, strict=True):
        if x.ndim < len(names):
            raise ShapeError(f"needs the axes {_text([names])}", op="vectorize", x=x)
        for name, n in zip(names, x.shape[x.ndim - len(names) :], strict=True):
            if sizes.setdefault(name, n) != n:
                raise ShapeError(
                    f"axis {name} has two sizes, {sizes[name]} and {n}", op="vectorize", x=x
                )
    outer = [x.shape[: x.ndim - len(names)] for x, names in zip(arrays, inputs, strict=True)]
    whole = broadcast_shapes(*outer) if outer else ()

    def checked(*xs: Any) -> Any:
        y = function(*xs)
        if cores is not None:
            _check_results(y, cores[1], sizes)
        return y

    # The innermost vmap maps the last of the broadcast axes. Axes of size 1 that others stretch
    # are left out, not repeated.
    squeezed = []
    axes_of = []
    for x, shape in zip(arrays, outer, strict=True):
        full = (1,) * (len(whole) - len(shape)) + shape
        used = [n == m for n, m in zip(full, whole, strict=True)]
        kept = tuple(n for n, u in zip(full, used, strict=True) if u)
        squeezed.append(ops.reshape(x, (*kept, *x.shape[len(shape) :])))
        axes_of.append(used)
    vectorised = checked
    for k in reversed(range(len(whole))):
        in_axes = tuple(0 if used[k] else None for used in axes_of)
        vectorised = vmap(vectorised, in_axes=in_axes)
    return vectorised(*squeezed)


def _text(cores: Sequence[tuple[str, ...]]) -> str:
    return ",".join(f"({','.join(names)})" for names in cores)


def _check_results(y: Any, outputs: Sequence[tuple[str, ...]], sizes: dict[str, int]) -> None:
    results = y if isinstance(y, tuple) else (y,)
    if len(results) != len(outputs):
        raise ArgumentTypeError(
            f"the signature has {several(len(outputs), 'result')}, the function {len(results)}",
            op="vectorize",
            results=_text(outputs),
        )
    sizes = dict(sizes)
    for r, names in zip(results, outputs, strict=True):
        shape = type_of(r).shape
        fits = len(shape) == len(names) and all(
            sizes.setdefault(name, n) == n for name, n in zip(names, shape, strict=True)
        )
        if not fits:
            summary = f"a result does not have the axes {_text([names])}"
            raise ShapeError(summary, op="vectorize", result=r, sizes=sizes)


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """A function of vectors applied to all vectors along an axis; its results take their place.

    >>> jnp.apply_along_axis(jnp.cumsum, 1, jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [3, 7]], dtype=int32)
    """
    from plait.transforms.vmap import vmap

    check_function(func1d, "apply_along_axis", "func1d")
    arr = value("apply_along_axis", arr)
    axis = axis_in(axis, arr.ndim, "apply_along_axis")

    def function(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    before, after = axis, arr.ndim - axis - 1
    for _ in range(after):
        function = vmap(function, in_axes=-1, out_axes=-1)
    for _ in range(before):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(arr)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A function (array, axis) applied for one axis after the other.

    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), (0, 2))
    Array([[[8.],
            [8.],
            [8.]]], dtype=float32)
    """
    check_function(func, "apply_over_axes", "func")
    a = value("apply_over_axes", a)
    for given in axes if isinstance(axes, Iterable) else (axes,):
        axis = axis_in(given, a.ndim, "apply_over_axes")
        y = func(a, axis)
        if y.ndim == a.ndim - 1:
            y = expand_dims(y, axis)
        if y.ndim != a.ndim:
            summary = "the function changes the number of axes"
            raise ShapeError(summary, op="apply_over_axes", a=a, result=y)
        a = y
    return a


@at_once(operands=1)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Differences of neighbours divided by their distance, central inside, one-sided at the ends.

    varargs: the distance for all axes, one for each, or vectors of coordinates. One array for each
    axis; alone if it is only one.

    >>> jnp.gradient(jnp.array([1.0, 2.0, 4.0, 7.0]))
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    >>> jnp.gradient(jnp.array([0.0, 1.0, 9.0]), jnp.array([0.0, 1.0, 3.0]))
    Array([1., 2., 4.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise ArgumentError("only edge_order=1 is supported", op="gradient", edge_order=edge_order)
    f = value("gradient", f)
    if f.dtype not in INEXACT:
        f = astype(f, inexact(f.dtype))
    axes = axes_in(axis, f.ndim, "gradient")
    spacings = list(varargs) if len(varargs) != 1 else list(varargs) * len(axes)
    if not spacings:
        spacings = [1.0] * len(axes)
    if len(spacings) != len(axes):
        summary = f"needs one distance, or one for each of {several(len(axes), 'axis', 'axes')}"
        raise ArgumentTypeError(
            summary, op="gradient", f=f, varargs=several(len(spacings), "distance")
        )
    found = []
    for a, h in zip(axes, spacings, strict=True):
        if f.shape[a] < 2:
            raise ShapeError("needs at least two points along each axis", op="gradient", f=f)
        found.append(_along(f, h, a))
    return found[0] if len(found) == 1 else found


def _along(f: Any, h: Any, axis: int) -> Any:
    def part(start: int, stop: int | None) -> Any:
        return slice_in_dim(f, start, stop, axis=axis)

    h = value("gradient", h)
    if not h.ndim:
        inside = ufuncs.true_divide(
            ufuncs.subtract(part(2, None), part(0, -2)), ufuncs.multiply(h, 2)
        )
        first = ufuncs.true_divide(ufuncs.subtract(part(1, 2), part(0, 1)), h)
        last = ufuncs.true_divide(ufuncs.subtract(part(-1, None), part(-2, -1)), h)
        return concatenate([first, inside, last], axis)
    if h.shape != (f.shape[axis],):
        raise ShapeError(
            f"needs one coordinate for each point of axis {axis}", op="gradient", f=f, varargs=h
        )
    shape = [1] * f.ndim
    shape[axis] = f.shape[axis] - 1
    steps = ops.reshape(diff(h), shape)
    slopes = ufuncs.true_divide(ufuncs.subtract(part(1, None), part(0, -1)), steps)
    left, right = (slice_in_dim(slopes, a, b, axis=axis) for a, b in ((0, -1), (1, None)))
    before, after = (slice_in_dim(steps, a, b, axis=axis) for a, b in ((0, -1), (1, None)))
    # The slope of the parabola through three points: each side weighted by the other's distance.
    weighted = ufuncs.add(ufuncs.multiply(after, left), ufuncs.multiply(before, right))
    inside = ufuncs.true_divide(weighted, ufuncs.add(before, after))
    ends = slice_in_dim(slopes, 0, 1, axis=axis), slice_in_dim(slopes, -1, None, axis=axis)
    return concatenate([ends[0], inside, ends[1]], axis)


@at_once(operands=2)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of the broken line through (x, y) along an axis; x defaults to steps of dx.

    >>> jnp.trapezoid(jnp.array([0.0, 1.0, 4.0]))
    Array(3., dtype=float32)
    >>> jnp.trapezoid(jnp.array([1, 3]), jnp.array([0, 4]))
    Array(8., dtype=float32)
    """
    given = [y] if x is None else [y, x]
    y, *points = (to_inexact("trapezoid", v) for v in promote_dtypes("trapezoid", given))
    given_axis, axis = axis, axis_in(axis, y.ndim, "trapezoid")
    steps = dx
    for x in points:
        steps = diff(x, axis=0 if x.ndim == 1 else given_axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = steps.shape[0]
            steps = ops.reshape(steps, shape)
    upper = slice_in_dim(y, 1, None, axis=axis)
    lower = slice_in_dim(y, 0, -1 if y.shape[axis] else 0, axis=axis)
    return ufuncs.multiply(0.5, sum(ufuncs.multiply(steps, ufuncs.add(upper, lower)), axis))


__all__ = ["apply_along_axis", "apply_over_axes", "gradient", "trapezoid", "vectorize"]
