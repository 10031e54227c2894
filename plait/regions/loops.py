"""The loops users call: while_loop, scan, fori_loop, map, associative_scan."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.source import function_name
from plait.core.tracebacks import trimmed
from plait.core.tree import PyTreeDef, flatten, leaf_names, structure_error
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, an
from plait.interpreters.batch import Frame, add_axis, batch
from plait.ops.arithmetic import add, convert_p
from plait.ops.axes import expand_dims, normalise_axis, reshape, rev
from plait.ops.compare import lt
from plait.ops.slices import concatenate, index_in_dim, slice_in_dim
from plait.regions.scan import scan_length, scan_p
from plait.regions.trace import (
    Traced,
    check_arguments,
    check_function,
    concrete,
    describe_function,
    give_types,
    same_type,
    trace,
    type_error,
)
from plait.regions.while_loop import while_p

# --- the carry: one structure and one type in every round


def _carried(
    op: str, x: Sequence[Any], make: Callable[[Sequence[ArrayType]], tuple[Any, Sequence[Any]]]
) -> tuple[Any, list[Any]]:
    """(what `make` traces for the carry's types, the initial carry in these types).

    make(types) returns (anything, the types of the carry that the body gives). A weakly typed
    initial value takes the type that the body gives it.
    """
    x = list(x)
    while True:
        types = [type_of(v) for v in x]
        made, out = make(types)
        changed = False
        for k, (before, after) in enumerate(zip(types, out, strict=True)):
            if before.weak_type and not (same_type(before, after) and after.weak_type):
                dtype, _ = dtypes.promote((before.dtype, True), (after.dtype, after.weak_type))
                x[k] = convert_p.bind(x[k], dtype=dtype, weak_type=False)
                changed = True
        if not changed:
            return made, x


def _check_carry(
    op: str,
    label: str,
    function: Any,
    start: tuple[PyTreeDef, Sequence[ArrayType]],
    end: tuple[PyTreeDef, Sequence[ArrayType]],
    part: int | None = None,
) -> None:
    """Raise the error for a body that returns another structure or other types than it takes.

    part: which part of the carry is the user's; counters come before it.
    """
    where = describe_function(function)
    if part is not None:
        start, end = ((t.children()[part], list(types)[part:]) for t, types in (start, end))
    if start[0] != end[0]:
        raise structure_error(
            f"{label} must return a carry of the structure it takes",
            ("takes", start[0]),
            ("returns", end[0]),
            op,
            f"let {where} return the same containers",
        )
    error = type_error(
        f"{label} must return the carry in the types it takes, and differs",
        ("takes", start[1]),
        ("returns", end[1]),
        start[0],
        op,
        f"convert the result in {where}, or the initial value",
    )
    if error is not None:
        raise error


def _leaves(op: str, tree: Any, name: str) -> tuple[list[Any], PyTreeDef]:
    """Leaves and structure of an argument, all leaves being arrays. Raises ArgumentTypeError."""
    leaves, shape = flatten(tree)
    check_arguments(leaves, tree, op, name)
    return leaves, shape


def _names(*pairs: tuple[Any, str]) -> Callable[[], list[str]]:
    return lambda: [n for tree, name in pairs for n in leaf_names(tree, name)]


def _pair(*trees: PyTreeDef) -> PyTreeDef:
    """The structure of a tuple of trees of the given structures."""
    return flatten(tuple(t.unflatten([0] * t.num_leaves) for t in trees))[1]


# --- while_loop


@trimmed
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """`val = init_val; while cond_fun(val): val = body_fun(val)`, compiled.

    Shapes: val is a tree whose structure and types stay the same; cond_fun gives one bool. Under
    vmap rows whose condition is false keep their values. Derivative: forward mode only.
    Raises: ArgumentTypeError, ShapeError, DtypeError naming the first leaf that changes.

    >>> lax.while_loop(lambda v: v < 100, lambda v: v * 2, 3)
    Array(192, dtype=int32, weak_type=True)
    """
    op = "while_loop"
    check_function(cond_fun, op, "cond_fun")
    check_function(body_fun, op, "body_fun")
    if state.disable_jit:
        init_val = _as_arrays(init_val)
        while (known := concrete(cond_fun(init_val))) is not None:
            if not bool(known):
                return init_val
            init_val = body_fun(init_val)
    return _while(op, cond_fun, body_fun, init_val, "body_fun")


def _as_arrays(val: Any) -> Any:
    # What runs in Python in place of compiled code, `x += 1` say, must not change NumPy arrays of
    # the user's.
    leaves, shape = flatten(val)
    return shape.unflatten(
        convert_p.bind(x, dtype=type_of(x).dtype, weak_type=False)
        if isinstance(x, np.ndarray | np.generic)
        else x
        for x in leaves
    )


def _while(
    op: str,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[..., Any],
    init: Any,
    label: str,
    call: Callable[[Any], Any] | None = None,
    part: int | None = None,
) -> Any:
    leaves, shape = _leaves(op, init, "init_val")
    arguments = _pair(shape)
    names = _names((init, "val"))

    def make(types: Sequence[ArrayType]) -> tuple[Traced, Sequence[ArrayType]]:
        body = trace(body_fun, arguments, types, op=op, label=label, call=call, names=names)
        if body.out != shape:
            end = (body.out, body.out_types)
            _check_carry(op, label, body_fun, (shape, types), end, part)
        return body, body.out_types

    body, x = _carried(op, leaves, make)
    types = tuple(type_of(v) for v in x)
    _check_carry(op, label, body_fun, (shape, types), (body.out, body.out_types), part)
    cond = trace(cond_fun, arguments, types, op=op, label="cond_fun", names=names)
    if len(cond.out_types) != 1 or cond.out_types[0] != ArrayType((), dtypes.bool_):
        raise ArgumentTypeError(
            "cond_fun must return one bool",
            op=op,
            returns=", ".join(builtins.map(str, cond.out_types)) or "nothing",
            fix=f"reduce it with jnp.all or jnp.any in {describe_function(cond_fun)}",
        )
    out = while_p.bind(
        *(*cond.captured, *body.captured, *x),
        cond=cond.program,
        body=give_types(body.program, types),
        cond_consts=len(cond.captured),
        body_consts=len(body.captured),
    )
    return shape.unflatten(out)


# --- scan


@trimmed
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool | None = None,
) -> tuple[Any, Any]:
    """A loop over the rows of xs: `carry, y = f(carry, x)` in each round; (last carry, stacked ys).

    Shapes: xs is a tree of arrays [length, ...] or None; ys has an axis of `length` in front. The
    carry keeps its structure and types; a weakly typed initial value takes the type the body gives.
    reverse: rows are visited from the last to the first, ys keep the places of their rows.
    unroll: how many rounds one round of the compiled loop makes; True for all of them.
    Derivatives: forward and reverse; reverse mode keeps what each round needs.
    Raises: ArgumentTypeError, ShapeError, DtypeError, ArgumentError.

    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, jnp.array([1, 2, 3]))
    >>> print(total, sums)
    6 [1 3 6]
    """
    op = "scan"
    check_function(f, op, "f")
    return _scan(op, f, init, xs, length, reverse, unroll, label="f")


def _unroll(op: str, unroll: Any, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if not isinstance(unroll, int | np.integer) or unroll < 0:
        raise ArgumentError("unroll must be a bool or a positive int", op=op, unroll=unroll)
    return max(int(unroll), 1)


def _scan(
    op: str,
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
    *,
    label: str,
    call: Callable[..., Any] | None = None,
    part: int | None = None,
) -> tuple[Any, Any]:
    init_leaves, init_shape = _leaves(op, init, "init")
    xs_leaves, xs_shape = _leaves(op, xs, "xs")
    row_types = [type_of(x) for x in xs_leaves]
    rows = length is None or any(not t.shape or t.shape[0] != length for t in row_types)
    labelled = leaf_names(xs, "xs") if rows else [""] * len(row_types)
    length = scan_length(op, length, list(zip(labelled, row_types, strict=True)))
    unroll = _unroll(op, unroll, length)
    if state.disable_jit and length:
        return _python_scan(call or f, init, xs, length, bool(reverse))
    row_types = [t.with_shape(t.shape[1:]) for t in row_types]
    arguments = _pair(init_shape, xs_shape)
    names = _names((init, "carry"), (xs, "x"))
    n = len(init_leaves)

    def make(types: Sequence[ArrayType]) -> tuple[tuple, Sequence[ArrayType]]:
        body = trace(f, arguments, [*types, *row_types], op=op, label=label, call=call, names=names)
        children = body.out.children()
        node = body.out.node_data()
        if node is None or node[0] not in (tuple, list) or len(children) != 2:
            raise ArgumentTypeError(
                f"{label} must return a pair (carry, y)",
                op=op,
                returns=", ".join(builtins.map(str, body.out_types)) or "nothing",
                fix=f"return (carry, None) in {describe_function(f)} if there is nothing to stack",
            )
        out_shape, y_shape = children
        if out_shape != init_shape:
            end = (out_shape, body.out_types[: out_shape.num_leaves])
            _check_carry(op, label, f, (init_shape, types), end, part)
        return (body, y_shape), body.out_types[:n]

    (body, y_shape), x = _carried(op, init_leaves, make)
    types = tuple(type_of(v) for v in x)
    _check_carry(op, label, f, (init_shape, types), (init_shape, body.out_types[:n]), part)
    out = scan_p.bind(
        *(*body.captured, *x, *xs_leaves),
        program=give_types(body.program, (*types, *body.out_types[n:])),
        consts=len(body.captured),
        carry=n,
        length=length,
        reverse=bool(reverse),
        unroll=unroll,
    )
    return init_shape.unflatten(out[:n]), y_shape.unflatten(out[n:])


def _python_scan(
    f: Callable[..., Any], carry: Any, xs: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    leaves, shape = flatten(xs)
    carry = _as_arrays(carry)
    ys: list[Any] = [None] * length
    for k in reversed(range(length)) if reverse else range(length):
        row = shape.unflatten([index_in_dim(x, k, 0, keepdims=False) for x in leaves])
        carry, ys[k] = f(carry, row)
    flat = [flatten(y) for y in ys]
    columns = zip(*(leaves for leaves, _ in flat), strict=True)
    stacked = [concatenate([expand_dims(y, (0,)) for y in column], 0) for column in columns]
    return carry, flat[0][1].unflatten(stacked)


# --- fori_loop


@trimmed
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`, compiled.

    Shapes: the bounds are integer scalars; val is a tree whose structure and types stay the same.
    Derivatives: with bounds that are known (Python ints) forward and reverse, else forward only.
    unroll: as for scan, for known bounds only.
    Raises: ArgumentTypeError, ShapeError, DtypeError, ArgumentError.

    >>> lax.fori_loop(0, 5, lambda i, v: v + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    op = "fori_loop"
    check_function(body_fun, op, "body_fun")
    for name, bound in (("lower", lower), ("upper", upper)):
        _check_bound(op, name, bound)
    low, high = concrete(lower), concrete(upper)
    if low is not None and high is not None:
        first, rounds = int(low), max(int(high) - int(low), 0)
        if state.disable_jit:
            init_val = _as_arrays(init_val)
            for i in range(first, first + rounds):
                init_val = body_fun(i, init_val)
            return init_val

        def known(carry: Any, _: Any) -> tuple[Any, None]:
            i, val = carry
            # Bound without the function's conversion of scalars: the counter stays weakly typed.
            return (add.bind(i, 1), body_fun(i, val)), None

        (_, val), _ = _scan(
            op,
            body_fun,
            (first, init_val),
            None,
            rounds,
            False,
            1 if unroll is None else unroll,
            label="body_fun",
            call=known,
            part=1,
        )
        return val
    if unroll is not None:
        raise ArgumentError(
            "a loop whose bounds are traced cannot be unrolled",
            op=op,
            unroll=unroll,
            fix="give lower and upper as Python ints, or leave unroll out",
        )

    def step(carry: Any) -> Any:
        i, upper, val = carry
        one = np.ones((), dtypes.storage(type_of(i).dtype))
        return add(i, one), upper, body_fun(i, val)

    lower, upper = _same_dtype(op, lower, upper)
    init = (lower, upper, init_val)
    return _while(op, _below, body_fun, init, "body_fun", call=step, part=2)[2]


def _below(carry: Any) -> Any:
    return lt(carry[0], carry[1])


def _check_bound(op: str, name: str, bound: Any) -> None:
    if not is_array(bound):
        what = an(type(bound).__name__)
        raise ArgumentTypeError(f"{name} must be an integer, not {what}", op=op, **{name: bound})
    t = type_of(bound)
    given: dict[str, Any] = {name: t}
    if t.shape:
        raise ShapeError(f"{name} must be a scalar", op=op, **given)
    if t.dtype not in dtypes.INTEGER:
        known = concrete(bound)
        # JAX takes 3.0 for 3, since int(3.0) is what it asks for.
        if known is None or t.dtype not in dtypes.FLOAT or int(known) != known:
            raise DtypeError(f"{name} must be an integer", op=op, **given)


def _same_dtype(op: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Both bounds strongly typed in one dtype; Python ints take the other's."""
    a, b = type_of(lower), type_of(upper)
    if a.dtype != b.dtype and not (a.weak_type or b.weak_type):
        raise DtypeError(
            "lower and upper must have one dtype",
            op=op,
            lower=a,
            upper=b,
            fix="convert one of them with astype",
        )
    dtype, _ = dtypes.promote((a.dtype, a.weak_type), (b.dtype, b.weak_type))
    x, y = (
        x
        if t.dtype == dtype and not t.weak_type and not isinstance(x, int | np.generic)
        else convert_p.bind(x, dtype=dtype, weak_type=False)
        for x, t in ((lower, a), (upper, b))
    )
    return x, y


# --- map


@trimmed
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f of each row of xs, one after another, stacked; `batch_size` rows at a time if given.

    Shapes: xs is a tree of arrays [n, ...]; so is the result. With batch_size, f is vmapped over
    that many rows, and over the rest at the end. Raises: as scan.

    >>> lax.map(lambda row: row.sum(), jnp.array([[1, 2], [3, 4]]))
    Array([3, 7], dtype=int32)
    """
    op = "map"
    check_function(f, op, "f")
    if batch_size is None:
        _, ys = _scan(op, f, (), xs, None, False, 1, label="f", call=lambda _, x: ((), f(x)))
        return ys
    if not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise ArgumentError("batch_size must be a positive int", op=op, batch_size=batch_size)
    leaves, shape = _leaves(op, xs, "xs")
    rows = list(zip(leaf_names(xs, "xs"), builtins.map(type_of, leaves), strict=True))
    length = scan_length(op, None, rows)
    whole, left = divmod(length, int(batch_size))
    if whole == 0:
        return _rows_at_once(f, leaves, shape, length)

    def block(_: Any, x: Any) -> tuple[Any, Any]:
        return (), _rows_at_once(f, flatten(x)[0], shape, int(batch_size))

    n = whole * int(batch_size)
    blocks = [
        reshape(slice_in_dim(x, 0, n), (whole, int(batch_size), *type_of(x).shape[1:]))
        for x in leaves
    ]
    _, ys = _scan(
        f"{op} in batches of {batch_size}",
        f,
        (),
        shape.unflatten(blocks),
        None,
        False,
        1,
        label="f",
        call=block,
    )
    y_leaves, y_shape = flatten(ys)
    y_leaves = [reshape(y, (n, *type_of(y).shape[2:])) for y in y_leaves]
    if left:
        rest = [slice_in_dim(x, n, length) for x in leaves]
        tail = flatten(_rows_at_once(f, rest, shape, left))[0]
        y_leaves = [concatenate(pair, 0) for pair in zip(y_leaves, tail, strict=True)]
    return y_shape.unflatten(y_leaves)


def _rows_at_once(f: Callable[[Any], Any], xs: Sequence[Any], shape: PyTreeDef, size: int) -> Any:
    """f of all rows, vectorised."""
    out: list[PyTreeDef] = []

    def flat(*rows: Any) -> list[Any]:
        ys, y_shape = flatten(f(shape.unflatten(rows)))
        out.append(y_shape)
        return ys

    ys, mapped = batch(
        flat, xs, [True] * len(xs), Frame(None, size), transformation="map", name=function_name(f)
    )
    full = [y if m else add_axis(y, size) for y, m in zip(ys, mapped, strict=True)]
    return out[0].unflatten(full)


# --- associative_scan


@trimmed
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All partial combinations of an associative function along an axis, in logarithmic depth.

    fn(a, b) combines two trees of slices element by element, as addition does. Element k of the
    result combines elements 0..k (k.. with reverse, the later ones first).
    Shapes: elems is a tree of arrays whose sizes along axis are equal; so is the result.
    Source: the odd-even recursion of Blelloch, "Prefix sums and their applications" (1990).
    Raises: ArgumentTypeError; ShapeError for sizes that differ.

    >>> lax.associative_scan(jnp.maximum, jnp.array([1, 3, 2, 5]))
    Array([1, 3, 3, 5], dtype=int32)
    """
    op = "associative_scan"
    check_function(fn, op, "fn")
    leaves, shape = _leaves(op, elems, "elems")
    if not leaves:
        return elems
    axes = [normalise_axis(axis, type_of(x).ndim, op) for x in leaves]
    sizes = [type_of(x).shape[a] for x, a in zip(leaves, axes, strict=True)]
    if len(set(sizes)) > 1:
        names = leaf_names(elems, "elems")
        given: dict[str, Any] = dict(zip(names, builtins.map(type_of, leaves), strict=True))
        raise ShapeError(f"the sizes along axis {axis} differ", op=op, **given)
    if reverse:
        leaves = [rev(x, (a,)) for x, a in zip(leaves, axes, strict=True)]

    def combine(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        out, out_shape = flatten(fn(shape.unflatten(xs), shape.unflatten(ys)))
        if out_shape != shape:
            raise structure_error(
                "fn must return a tree of the structure of elems",
                ("takes", shape),
                ("returns", out_shape),
                op,
                f"let {describe_function(fn)} return the same containers",
            )
        return out

    def every_other(xs: Sequence[Any], start: int, end: int | None = None) -> list[Any]:
        return [
            slice_in_dim(x, start, type_of(x).shape[a] if end is None else end, 2, a)
            for x, a in zip(xs, axes, strict=True)
        ]

    def partial(xs: Sequence[Any]) -> list[Any]:
        n = type_of(xs[0]).shape[axes[0]]
        if n < 2:
            return list(xs)
        # Combine neighbours, scan these: that gives the odd positions; one more combination each
        # gives the even ones.
        even = every_other(xs, 0)
        pairs = combine(every_other(xs, 0, n - 1), every_other(xs, 1))
        odd = partial(pairs)
        if n % 2:
            before = odd
        else:
            before = [
                slice_in_dim(x, 0, type_of(x).shape[a] - 1, 1, a)
                for x, a in zip(odd, axes, strict=True)
            ]
        after = [
            slice_in_dim(x, 1, type_of(x).shape[a], 1, a) for x, a in zip(even, axes, strict=True)
        ]
        if type_of(after[0]).shape[axes[0]]:
            after = combine(before, after)
        first = [slice_in_dim(x, 0, 1, 1, a) for x, a in zip(even, axes, strict=True)]
        even = [
            concatenate([head, tail], a) for head, tail, a in zip(first, after, axes, strict=True)
        ]
        return [_interleave(e, o, a) for e, o, a in zip(even, odd, axes, strict=True)]

    out = partial(leaves)
    if reverse:
        out = [rev(x, (a,)) for x, a in zip(out, axes, strict=True)]
    return shape.unflatten(out)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], odd[1], ... along an axis; even has as many or one more."""
    n, m = type_of(even).shape[axis], type_of(odd).shape[axis]
    if n != m:
        last = slice_in_dim(even, m, n, 1, axis)
        even = slice_in_dim(even, 0, m, 1, axis)
    shape = list(type_of(even).shape)
    shape[axis] *= 2
    both = concatenate([expand_dims(x, (axis + 1,)) for x in (even, odd)], axis + 1)
    both = reshape(both, shape)
    return concatenate([both, last], axis) if n != m else both


__all__ = [
    "associative_scan",
    "fori_loop",
    "map",
    "scan",
    "while_loop",
    "while_p",
]
