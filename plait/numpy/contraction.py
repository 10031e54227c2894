"""Products that sum: matmul, dot, tensordot, einsum and their kin."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.plain import by_numpy, listed, static_int
from plait.core.types import ArrayType
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.numpy import ufuncs
from plait.numpy.at_once import at_once
from plait.numpy.placing import placed, takes_out_sharding
from plait.numpy.promotion import (
    astype,
    axes_in,
    axis_in,
    broadcast_shapes,
    out_is_none,
    promote_dtypes,
    to_dtype,
    to_inexact,
    value,
)
from plait.ops import axes as ops
from plait.ops.dot import canonical_precision
from plait.ops.dot import product as ops_product

_NO_AXES = ((), ())


def product(
    a: Any,
    b: Any,
    contracted: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[tuple[int, ...], tuple[int, ...]] = _NO_AXES,
    precision: Any = None,
    preferred: Any = None,
) -> Any:
    """dot_general of arrays or tracers of one dtype; see ops/dot.py."""
    preferred = None if preferred is None else to_dtype(preferred)
    return ops_product(a, b, (contracted, batch), canonical_precision(precision), preferred)


def _mismatch(
    op: str, a: Any, b: Any, axis_a: int, axis_b: int, names: tuple[str, str] = ("a", "b")
) -> ShapeError:
    first, second = names
    n, m = a.shape[axis_a], b.shape[axis_b]
    return ShapeError(
        f"the axes that are summed over must have equal sizes, these have {n} and {m}",
        op=op,
        **{first: a, second: b},
        fix=f"axis {axis_a % a.ndim} of {first} meets axis {axis_b % b.ndim} of {second}: "
        "transpose one?",
    )


def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The matrix product over the last two axes; the axes before them broadcast.

    A vector is a row on the left, a column on the right. Raises: ShapeError, also for scalars.

    >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    if out_sharding is not None:
        return placed(
            matmul(a, b, precision=precision, preferred_element_type=preferred_element_type),
            out_sharding,
        )
    ta, tb = getattr(a, "type", None), getattr(b, "type", None)
    if type(ta) is not ArrayType or type(tb) is not ArrayType or ta.dtype != tb.dtype:
        a, b = promote_dtypes("matmul", (a, b))
    for name, x in (("a", a), ("b", b)):
        if not x.ndim:
            raise ShapeError(
                f"{name} needs at least one axis", op="matmul", a=a, b=b, fix="scale with *"
            )
    contract_b = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[contract_b]:
        raise _mismatch("matmul", a, b, a.ndim - 1, contract_b)
    if b.ndim <= 2:
        contracted = ((a.ndim - 1,), (contract_b,))
        return product(a, b, contracted, _NO_AXES, precision, preferred_element_type)
    return _batched_matmul(a, b, precision, preferred_element_type)


def _batched_matmul(a: Any, b: Any, precision: Any, preferred: Any) -> Any:
    rows = a.shape[-2:-1]  # none for a vector
    before_a, before_b = a.shape[:-2], b.shape[:-2]
    whole = broadcast_shapes(before_a, before_b)
    n = len(whole)
    before_a = (1,) * (n - len(before_a)) + before_a
    before_b = (1,) * (n - len(before_b)) + before_b
    # Batch axes that one operand only repeats stay out of it, and become free axes of the other.
    only_a = [k for k in range(n) if before_b[k] == 1 and before_a[k] != 1]
    only_b = [k for k in range(n) if before_a[k] == 1 and before_b[k] != 1]
    both = [k for k in range(n) if k not in only_a and k not in only_b]
    in_a = [k for k in range(n) if k not in only_b]
    in_b = [k for k in range(n) if k not in only_a]
    a = ops.reshape(a, (*(before_a[k] for k in in_a), *rows, a.shape[-1]))
    b = ops.reshape(b, (*(before_b[k] for k in in_b), *b.shape[-2:]))
    batch = tuple(in_a.index(k) for k in both), tuple(in_b.index(k) for k in both)
    y = product(a, b, ((a.ndim - 1,), (b.ndim - 2,)), batch, precision, preferred)
    # The result has: both, only_a, rows of a, only_b, columns of b.
    names = [*both, *only_a, *(["row"] if rows else []), *only_b, "column"]
    order = [*range(n), *(["row"] if rows else []), "column"]
    return ops.permute(y, [names.index(k) for k in order])


@at_once(operands=2)
def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrices times vectors: the last axis of x2 is summed against that of x1.

    Shapes: x1 [..., n, m], x2 [..., m] -> [..., n].

    >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 0], [0, 1]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x1, x2 = value("matvec", x1), value("matvec", x2, 1)
    if x1.ndim < 2 or x2.ndim < 1:
        raise ShapeError("takes a matrix and a vector", op="matvec", x1=x1, x2=x2)
    return ops.reshape(y := matmul(x1, ops.expand_dims(x2, (-1,))), y.shape[:-1])


@at_once(operands=2)
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Conjugate vectors times matrices.

    Shapes: x1 [..., n], x2 [..., n, m] -> [..., m].

    >>> jnp.vecmat(jnp.array([1, 10]), jnp.array([[1, 2], [3, 4]]))
    Array([31, 42], dtype=int32)
    >>> jnp.vecmat(jnp.array([1j]), jnp.eye(1))
    Array([0.-1.j], dtype=complex64)
    """
    x1, x2 = value("vecmat", x1), value("vecmat", x2, 1)
    if x1.ndim < 1 or x2.ndim < 2:
        raise ShapeError("takes a vector and a matrix", op="vecmat", x1=x1, x2=x2)
    x1 = ufuncs.conjugate(x1)
    y = matmul(ops.expand_dims(x1, (x1.ndim - 1,)), x2)
    return ops.reshape(y, (*y.shape[:-2], y.shape[-1]))


@takes_out_sharding
def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Sum over the last axis of `a` and the last but one of `b` (the only one of a vector).

    Unlike matmul, dot pairs each other axis of `a` with each of `b`, and multiplies by scalars.

    >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    >>> jnp.dot(jnp.ones((2, 3)), jnp.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    a, b = promote_dtypes("dot", (a, b))
    if not a.ndim or not b.ndim:
        y = ufuncs.multiply(a, b)
        return y if preferred_element_type is None else astype(y, to_dtype(preferred_element_type))
    axis_b = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[axis_b]:
        raise _mismatch("dot", a, b, a.ndim - 1, axis_b)
    contracted = ((a.ndim - 1,), (axis_b,))
    return product(a, b, contracted, _NO_AXES, precision, preferred_element_type)


@at_once(operands=2)
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of conj(a) * b over all elements, of arrays of one size in any shape.

    >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 3]))
    Array(7.+0.j, dtype=complex64)
    """
    a, b = promote_dtypes("vdot", (a, b))
    a, b = ops.reshape(ufuncs.conjugate(a), (a.size,)), ops.reshape(b, (b.size,))
    return dot(a, b, precision=precision, preferred_element_type=preferred_element_type)


@at_once(operands=2)
def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The sum of conj(x1) * x2 along one axis; the other axes broadcast.

    >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    x1, x2 = promote_dtypes("vecdot", (x1, x2))
    if not x1.ndim or not x2.ndim:
        raise ShapeError("needs at least one axis", op="vecdot", x1=x1, x2=x2)
    x1 = ops.move_axis(x1, axis_in(axis, x1.ndim, "vecdot"), x1.ndim - 1)
    x2 = ops.move_axis(x2, axis_in(axis, x2.ndim, "vecdot"), x2.ndim - 1)
    if x1.shape[-1] != x2.shape[-1]:
        raise _mismatch("vecdot", x1, x2, x1.ndim - 1, x2.ndim - 1, ("x1", "x2"))
    left = ops.reshape(ufuncs.conjugate(x1), (*x1.shape[:-1], 1, x1.shape[-1]))
    right = ops.reshape(x2, (*x2.shape, 1))
    y = matmul(left, right, precision=precision, preferred_element_type=preferred_element_type)
    return ops.reshape(y, y.shape[:-2])


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products over the last axes of both.

    >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 0], [1, 1]]))
    Array([[1, 3],
           [3, 7]], dtype=int32)
    """
    a, b = promote_dtypes("inner", (a, b))
    if not a.ndim or not b.ndim:
        return ufuncs.multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise _mismatch("inner", a, b, a.ndim - 1, b.ndim - 1)
    contracted = ((a.ndim - 1,), (b.ndim - 1,))
    return product(a, b, contracted, _NO_AXES, precision, preferred_element_type)


@at_once(operands=2)
def outer(a: Any, b: Any, out: None = None) -> Any:
    """a[i] * b[j] of the flattened arrays, as a matrix.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4, 5]))
    Array([[ 3,  4,  5],
           [ 6,  8, 10]], dtype=int32)
    """
    out_is_none("outer", out)
    a, b = promote_dtypes("outer", (a, b))
    return ufuncs.multiply(ops.reshape(a, (a.size, 1)), ops.reshape(b, (1, b.size)))


@takes_out_sharding
def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Sum over axes of `a` paired with axes of `b`: the last n with the first n, or two lists.

    >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))).shape
    (2, 5)
    >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((5, 2)), axes=([0], [1])).shape
    (3, 5)
    """
    a, b = promote_dtypes("tensordot", (a, b))
    if isinstance(axes, list | tuple):
        if len(axes) != 2:
            raise ArgumentError("axes is an int or a pair", op="tensordot", axes=axes)
        left, right = (
            axes_in(x, n, "tensordot") for x, n in zip(axes, (a.ndim, b.ndim), strict=True)
        )
    else:
        n = max(static_int(axes, "tensordot", "axes"), 0)  # as NumPy has it
        if n > min(a.ndim, b.ndim):
            summary = "axes is a number of axes that a and b both have"
            raise ShapeError(summary, op="tensordot", a=a, b=b, axes=n)
        left, right = tuple(range(a.ndim - n, a.ndim)), tuple(range(n))
    if len(left) != len(right):
        raise ArgumentError("needs as many axes of a as of b", op="tensordot", a=a, b=b, axes=axes)
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j]:
            raise _mismatch("tensordot", a, b, i, j)
    return product(a, b, (left, right), _NO_AXES, precision, preferred_element_type)


@at_once(operands=2)
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: a block a[i, j] * b for every element of `a`.

    >>> jnp.kron(jnp.array([[1, 10]]), jnp.array([[1, 2], [3, 4]]))
    Array([[ 1,  2, 10, 20],
           [ 3,  4, 30, 40]], dtype=int32)
    """
    a, b = promote_dtypes("kron", (a, b))
    ndim = max(a.ndim, b.ndim)
    left = (1,) * (ndim - a.ndim) + a.shape
    right = (1,) * (ndim - b.ndim) + b.shape
    x = ops.reshape(a, [n for size in left for n in (size, 1)])
    y = ops.reshape(b, [n for size in right for n in (1, size)])
    shape = [n * m for n, m in zip(left, right, strict=True)]
    return ops.reshape(ufuncs.multiply(x, y), shape)


@at_once(operands=2)
def cross(
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """The vector product along one axis, of size 3, or 2 (whose third component is 0).

    Shapes: of two vectors of size 2 only the third component is left, and the axis goes.

    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote_dtypes("cross", (a, b))
    a = ops.move_axis(a, axis_in(axisa, a.ndim, "cross"), a.ndim - 1)
    b = ops.move_axis(b, axis_in(axisb, b.ndim, "cross"), b.ndim - 1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ShapeError("the vectors have 2 or 3 components", op="cross", a=a, b=b)
    flat = a.shape[-1] == b.shape[-1] == 2
    x, y = _components(a), _components(b)

    def minor(i: int, j: int) -> Any:
        return ufuncs.subtract(_times(x[i], y[j]), _times(x[j], y[i]))

    if flat:
        return minor(0, 1)
    from plait.numpy.manipulation import moveaxis, stack

    parts = [minor(1, 2), minor(2, 0), minor(0, 1)]
    return moveaxis(stack(ufuncs.broadcast_together("cross", *parts), axis=-1), -1, axisc)


def _times(x: Any, y: Any) -> Any:
    return 0 if x is None or y is None else ufuncs.multiply(x, y)


def _components(x: Any) -> list[Any]:
    from plait.numpy.manipulation import rows

    parts = list(rows(x, x.ndim - 1))
    return parts if len(parts) == 3 else [*parts, None]


@at_once(operands=1)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of a diagonal of the planes of two axes.

    >>> jnp.trace(jnp.array([[1, 2], [3, 4]])), jnp.trace(jnp.ones((2, 2, 5))).shape
    (Array(5, dtype=int32), (5,))
    """
    from plait.numpy.pieces import diagonal
    from plait.numpy.reduction import sum

    out_is_none("trace", out)
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


# --- einsum


class _Step(NamedTuple):
    """One contraction: the operands taken out, by position, and the labels of all axes."""

    taken: tuple[int, ...]
    labels: tuple[str, ...]
    result: str


@functools.lru_cache(maxsize=2048)
def _plan(subscripts: Any, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> tuple[_Step, ...]:
    import opt_einsum

    try:
        text = subscripts if isinstance(subscripts, str) else _as_text(subscripts, len(shapes))
        steps: Any  # with einsum_call a list of steps, which the types of opt_einsum do not say
        _, steps = opt_einsum.contract_path(
            text, *shapes, shapes=True, einsum_call=True, optimize=optimize, use_blas=False
        )
    except (ValueError, TypeError, KeyError, IndexError) as error:
        given: dict[str, Any] = {f"operand {i}": str(list(s)) for i, s in enumerate(shapes)}
        words = str(error).rstrip(".")
        raise ArgumentError(words, op="einsum", subscripts=str(subscripts), **given) from None
    planned = []
    for taken, _, text, *_ in steps:
        inputs, result = text.split("->")
        planned.append(_Step(tuple(taken), tuple(inputs.split(",")), result))
    return tuple(planned)


def _as_text(labels: tuple[tuple[Any, ...], ...], operands: int) -> str:
    """Subscripts from lists of numbers, with Ellipsis for "..."."""
    import opt_einsum

    texts = [
        "".join("..." if k is Ellipsis else opt_einsum.get_symbol(int(k)) for k in group)
        for group in labels
    ]
    inputs = ",".join(texts[:operands])
    return f"{inputs}->{texts[operands]}" if len(texts) > operands else inputs


@takes_out_sharding
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Any = None,
) -> Any:
    """Sum of products by labels of axes: einsum("ij,jk->ik", a, b) is the matrix product.

    Labels that the result lacks are summed over, "..." stands for axes that broadcast. The order of
    contraction is chosen by `optimize` (opt_einsum), once for each call's shapes, or given as steps
    like those of einsum_path. The form einsum(a, [0, 1], b, [1, 2], [0, 2]) is taken as well.

    >>> a, b = jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 1], [1, 0]])
    >>> jnp.einsum("ij,jk->ik", a, b), jnp.einsum("ii", a)
    (Array([[2, 1],
            [4, 3]], dtype=int32),
     Array(5, dtype=int32))
    """
    out_is_none("einsum", out)
    if isinstance(subscripts, str):
        key: Any = subscripts
        arrays = operands
    else:
        every = (subscripts, *operands)
        pairs = len(every) // 2
        arrays = every[: 2 * pairs : 2]
        labels = [*every[1 : 2 * pairs : 2], *every[2 * pairs :]]
        key = tuple(tuple(listed(s, "einsum", "subscripts")) for s in labels)
    if not arrays:
        fix = 'for example einsum("ij,jk->ik", a, b)'
        raise ArgumentTypeError("needs at least one operand", op="einsum", fix=fix)
    xs = list(promote_dtypes("einsum", arrays))
    optimize = _order("einsum", optimize, len(xs))
    preferred = None if preferred_element_type is None else to_dtype(preferred_element_type)
    for step in _plan(key, tuple(x.shape for x in xs), optimize):
        taken = [xs.pop(i) for i in step.taken]
        xs.append(_contract(taken, step.labels, step.result, precision, preferred))
    (y,) = xs
    return y if preferred is None else astype(y, preferred)


def _order(op: str, optimize: Any, operands: int) -> Any:
    """What opt_einsum takes for `optimize`: a word, or all steps."""
    if isinstance(optimize, bool):
        return "optimal" if optimize else tuple((0, 1) for _ in range(1, operands)) or "auto"
    if isinstance(optimize, list | tuple):
        steps = optimize[1:] if optimize and isinstance(optimize[0], str) else optimize
        steps = tuple(tuple(listed(step, op, "optimize")) for step in steps)
        left = operands
        for step in steps:
            if not step or len(set(step)) < len(step) or not all(0 <= k < left for k in step):
                summary = f"a step of optimize names different ones of the {left} operands"
                raise ArgumentError(summary, op=op, step=step, optimize=optimize)
            left += 1 - len(step)
        if left > 1 or not steps:
            summary = f"the steps of optimize end with one operand, not {left}"
            raise ArgumentError(summary, op=op, optimize=optimize)
        return steps
    if not isinstance(optimize, str):
        summary = "optimize is a bool, a word, or a list of steps"
        raise ArgumentTypeError(summary, op=op, optimize=optimize)
    return optimize


def _contract(
    xs: Sequence[Any], labels: Sequence[str], result: str, precision: Any, preferred: Any
) -> Any:
    if len(xs) == 1:
        return _in_order(*_without(*_diagonals(xs[0], labels[0]), result), result)
    if len(xs) > 2:
        first = "".join(dict.fromkeys(c for s in labels[:2] for c in s))
        rest = [_contract(xs[:2], labels[:2], first, precision, preferred), *xs[2:]]
        return _contract(rest, [first, *labels[2:]], result, precision, preferred)
    (a, la), (b, lb) = (_diagonals(x, s) for x, s in zip(xs, labels, strict=True))
    # A size of 1 where the other operand has more only repeats: it needs no axis.
    a, la = _drop_ones(a, la, dict(zip(lb, b.shape, strict=True)))
    b, lb = _drop_ones(b, lb, dict(zip(la, a.shape, strict=True)))
    # Labels of one operand alone are summed before the product, which then is smaller.
    a, la = _without(a, la, result + lb)
    b, lb = _without(b, lb, result + la)
    summed = [c for c in la if c in lb and c not in result]
    if not summed:
        whole = result
        return ufuncs.multiply(_spread(a, la, whole), _spread(b, lb, whole))
    batch = [c for c in la if c in lb and c in result]
    free_a, free_b = ([c for c in s if c not in batch and c not in summed] for s in (la, lb))
    if "".join(batch + free_b + free_a) == result and free_a and free_b:
        a, la, free_a, b, lb, free_b = b, lb, free_b, a, la, free_a
    y = product(
        a,
        b,
        (tuple(map(la.index, summed)), tuple(map(lb.index, summed))),
        (tuple(map(la.index, batch)), tuple(map(lb.index, batch))),
        precision,
        preferred,
    )
    return _in_order(y, "".join(batch + free_a + free_b), result)


def _diagonals(x: Any, labels: str) -> tuple[Any, str]:
    """A label that stands twice means the diagonal of its two axes."""
    from plait.numpy.pieces import diagonal

    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            x = diagonal(x, 0, i, j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    return x, labels


def _drop_ones(x: Any, labels: str, sizes: dict[str, int]) -> tuple[Any, str]:
    gone = [k for k, c in enumerate(labels) if x.shape[k] == 1 and sizes.get(c, 1) != 1]
    if not gone:
        return x, labels
    x = ops.reshape(x, [n for k, n in enumerate(x.shape) if k not in gone])
    return x, "".join(c for k, c in enumerate(labels) if k not in gone)


def _without(x: Any, labels: str, kept: str) -> tuple[Any, str]:
    gone = [k for k, c in enumerate(labels) if c not in kept]
    if not gone:
        return x, labels
    if x.dtype in dtypes.BOOL:
        from plait.ops.reduce import reduce_or

        y = reduce_or(x, gone)
    else:
        y = ops.reduce_sum(x, gone)
    return y, "".join(c for c in labels if c in kept)


def _in_order(x: Any, labels: str, result: str) -> Any:
    return ops.permute(x, [labels.index(c) for c in result])


def _spread(x: Any, labels: str, whole: str) -> Any:
    """X with its axes in the order of `whole` and size 1 where it has none."""
    x = _in_order(x, labels, "".join(c for c in whole if c in labels))
    sizes = iter(x.shape)
    return ops.reshape(x, [next(sizes) if c in labels else 1 for c in whole])


def einsum_path(subscripts: str, /, *operands: Any, optimize: Any = "auto") -> tuple[Any, Any]:
    """(order of contraction, a table that explains it), as opt_einsum chooses.

    >>> path, table = jnp.einsum_path("ij,jk,k->i", jnp.ones((9, 9)), jnp.ones((9, 9)), jnp.ones(9))
    >>> path
    [(1, 2), (0, 1)]
    """
    import opt_einsum

    arrays = [np.broadcast_to(np.zeros(()), value("einsum_path", x).shape) for x in operands]
    order = _order("einsum_path", optimize, len(arrays))
    path, table = by_numpy(opt_einsum.contract_path, subscripts, *arrays, optimize=order)
    return list(path), table


# --- convolution of vectors


def convolve(
    a: Any,
    v: Any,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The sum over k of a[k] * v[n - k]; mode "full", "same" or "valid" says for which n.

    >>> a, v = jnp.array([1, 2, 3]), jnp.array([1, 10])
    >>> jnp.convolve(a, v), jnp.convolve(a, v, "valid")
    (Array([ 1., 12., 23., 30.], dtype=float32), Array([12., 23.], dtype=float32))
    """
    return _convolve("convolve", a, v, mode, precision, preferred_element_type)


def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The sum over k of a[n + k] * conj(v[k]); mode "full", "same" or "valid" says for which n.

    >>> jnp.correlate(jnp.array([1, 2, 3]), jnp.array([1, 10]))
    Array([21., 32.], dtype=float32)
    """
    return _convolve("correlate", a, v, mode, precision, preferred_element_type)


def _convolve(op: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any) -> Any:
    from plait.ops.conv import conv_general_dilated

    a, v = promote_dtypes(op, (a, v))
    if a.ndim != 1 or v.ndim != 1:
        raise ShapeError("needs vectors", op=op, a=a, v=v)
    if not a.size or not v.size:
        raise ShapeError("the vectors must not be empty", op=op, a=a, v=v)
    if mode not in ("full", "same", "valid"):
        raise ArgumentError("mode is 'full', 'same' or 'valid'", op=op, mode=mode)
    a, v = to_inexact(op, a), to_inexact(op, v)
    reverse_result = False
    if op == "convolve":
        if a.size < v.size:
            a, v = v, a
        v = ops.rev(v, (0,))
    else:
        v = ufuncs.conjugate(v)
        if a.size < v.size:
            a, v = v, a
            reverse_result = True
    padding = _padding(mode, a.size, v.size, op, reverse_result)
    y = conv_general_dilated(
        ops.reshape(a, (1, 1, a.size)),
        ops.reshape(v, (1, 1, v.size)),
        (1,),
        [padding],
        precision=precision,
        preferred_element_type=preferred,
    )
    y = ops.reshape(y, (y.size,))
    return ops.rev(y, (0,)) if reverse_result else y


def _padding(mode: str, n: int, m: int, op: str, reversed_result: bool) -> tuple[int, int]:
    if mode == "valid":
        return 0, 0
    if mode == "full":
        return m - 1, m - 1
    # NumPy centres "same" so that the longer part of an even kernel lies in front.
    before, after = m // 2, m - m // 2 - 1
    return (before, after) if op == "correlate" and not reversed_result else (m - 1 - after, after)


__all__ = [
    "convolve",
    "correlate",
    "cross",
    "dot",
    "einsum",
    "einsum_path",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
]
