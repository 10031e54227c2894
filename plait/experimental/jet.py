"""plait.experimental.jet: Taylor series of functions.

The derivatives of f along a curve x(t) at t = 0 are those of the function t -> f(x(t)) of one
number: jvp of jvp of jvp. So every op that has a derivative has all of them, and no op needs a rule
of its own. A jvp does at most a few times the work of its function, so that n of them do some power
of n: this is for low orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.ops.arithmetic import add, convert_element_type, integer_pow, mul
from plait.ops.axes import broadcast_to
from plait.regions.trace import check_arguments, check_function
from plait.transforms.grad import jvp


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """(value, derivatives) of fun along curves: primals holds where the curve of each argument is,
    series its first, second, ... derivatives there.

    With factorial_scaled=False these are Taylor coefficients, the k-th derivative divided by k!, on
    both sides. The derivatives of a result are a list, one for each order; a tree of results has
    such a list in place of each leaf.
    Shapes: arguments may be trees, and their derivatives are then trees of the same structure.
    Cost: grows exponentially with the order, for these are nested jvp.
    Raises: ArgumentError for series of different lengths; ArgumentTypeError, ShapeError, DtypeError
    for arguments and series that do not fit.

    >>> from plait.experimental.jet import jet
    >>> value, derivatives = jet(jnp.sin, (0.0,), ([1.0, 0.0, 0.0],))
    >>> float(value), [float(d) for d in derivatives]
    (0.0, [1.0, 0.0, -1.0])
    """
    op = "jet"
    check_function(fun, op, "fun")
    curves, structure, order = _curves(op, primals, series)
    out: list[tree.PyTreeDef] = []

    def along(t: Any) -> list[Any]:
        xs = [_at(curve, t, factorial_scaled) for curve in curves]
        leaves, shape = tree.flatten(fun(*structure.unflatten(xs)))
        out.append(shape)
        return leaves

    values = _derivatives(along, order)
    scale = [1 if factorial_scaled else math.factorial(k) for k in range(order + 1)]
    columns = []
    for column in zip(*values, strict=True):
        terms = [y if s == 1 else y / s for y, s in zip(column, scale, strict=True)]
        columns.append(terms)
    shape = out[-1]
    return (
        shape.unflatten([terms[0] for terms in columns]),
        shape.unflatten([terms[1:] for terms in columns]),
    )


def _curves(op: str, primals: Any, series: Any) -> tuple[list[list[Any]], tree.PyTreeDef, int]:
    """For each leaf of the arguments its value and derivatives; the arguments' structure; and how
    many derivatives there are.
    """
    for name, given in (("primals", primals), ("series", series)):
        if not isinstance(given, tuple | list):
            summary = f"{name} is a tuple, with an entry for each argument"
            raise ArgumentTypeError(summary, op=op, **{name: given}, fix=f"({name},)")
    lengths = [len(terms) for terms in series]
    if len(series) != len(primals) or len(set(lengths)) > 1:
        raise ArgumentError(
            "series has one sequence of derivatives for each argument, all of one length",
            op=op,
            arguments=len(primals),
            lengths=tuple(lengths),
        )
    leaves, structure = tree.flatten(tuple(primals))
    check_arguments(leaves, tuple(primals), op, "primals", "fun")
    curves = [[x] for x in leaves]
    order = lengths[0] if lengths else 0
    for k in range(order):
        terms, found = tree.flatten(tuple(each[k] for each in series))
        if found != structure:
            raise ArgumentTypeError(
                f"the derivatives of order {k + 1} have not the structure of primals",
                op=op,
                primals=structure,
                series=found,
            )
        for curve, term in zip(curves, terms, strict=True):
            curve.append(_fitting(op, curve[0], term))
    return curves, structure, order


def _fitting(op: str, x: Any, term: Any) -> Any:
    """A derivative of a curve in the type of its value."""
    x_type, type_ = type_of(x), type_of(term)
    if x_type.dtype not in dtypes.INEXACT:
        raise DtypeError("derivatives need floats", op=op, primal=x_type, fix="x.astype(float)")
    if type_.shape not in ((), x_type.shape):
        raise ShapeError("a derivative has the shape of its argument", op=op, primal=x, series=term)
    if type_.dtype in dtypes.COMPLEX and x_type.dtype not in dtypes.COMPLEX:
        raise DtypeError("a real argument has real derivatives", op=op, primal=x, series=term)
    return broadcast_to(convert_element_type(term, x_type.dtype, x_type.weak_type), x_type.shape)


def _at(curve: Sequence[Any], t: Any, factorial_scaled: bool) -> Any:
    """The point of a curve at t, as a polynomial."""
    x = curve[0]
    for k, term in enumerate(curve[1:], 1):
        type_: ArrayType = type_of(term)
        power = convert_element_type(integer_pow(t, k), type_.dtype, type_.weak_type)
        if factorial_scaled and k > 1:
            power = mul(power, np.asarray(1 / math.factorial(k), type_.dtype))
        x = add(x, mul(broadcast_to(power, type_.shape), term))
    return x


def _derivatives(along: Callable[[Any], list[Any]], order: int) -> list[list[Any]]:
    """The results of a function of one number at 0, and their first derivatives by it."""

    def orders(n: int) -> Callable[[Any], list[list[Any]]]:
        if n == 0:
            return lambda t: [along(t)]
        lower = orders(n - 1)

        def higher(t: Any) -> list[list[Any]]:
            known, slopes = jvp(lower, (t,), (np.ones((), type_of(t).dtype),))
            return [*known, slopes[-1]]

        return higher

    return orders(order)(np.zeros((), dtypes.default_float()))


__all__ = ["jet"]
