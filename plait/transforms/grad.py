"""jvp, linearize, vjp, grad, value_and_grad, linear_transpose and the Jacobians.

Reverse mode is jvp with its tangent half staged (interpreters/linearize.py), then transposed
(interpreters/transpose.py). Derivatives of complex functions follow JAX: no conjugation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.interpreter import Tracer
from plait.core.primitive import LinearOperand, zeros_of
from plait.core.program import run_program
from plait.core.source import function_name, function_source
from plait.core.stage import stage
from plait.core.tracebacks import trimmed
from plait.core.tree import structure_error
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    CallError,
    DtypeError,
    MissingRuleError,
    ScalarError,
    ShapeError,
    several,
)
from plait.interpreters.jvp import JvpTracer
from plait.interpreters.jvp import jvp as jvp_flat
from plait.interpreters.linearize import LinearMap
from plait.interpreters.linearize import linearize as linearize_flat
from plait.interpreters.simplify import drop_dead
from plait.interpreters.transpose import backward
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import reshape
from plait.regions.rules import zero_derivative
from plait.runtime.array import Array, as_array, own_array
from plait.runtime.placement import signature
from plait.transforms.arguments import (
    check_arrays,
    check_callable,
    flatten_result,
    indices,
    positional_names,
)
from plait.transforms.compiled import CompilesWhole
from plait.transforms.vmap import vmap

_MAY_ALLOW_INT = ("grad", "value_and_grad", "jacrev")


def _value(x: Any) -> Any:
    """A result as users get it: never a bare NumPy scalar."""
    return x if isinstance(x, Tracer) or type(x) is Array else own_array(x)


def _like(derivative: Any, type_: ArrayType) -> Any:
    """A derivative as users get it: with a weak type where the value has one, as in JAX."""
    derivative = _value(derivative)
    have = type_of(derivative)
    if have.weak_type == type_.weak_type:
        return derivative
    typed = ArrayType(have.shape, have.dtype, type_.weak_type)
    if type(derivative) is Array:
        return Array(derivative.buf, typed, signature(typed, derivative.placement))
    return convert_element_type(derivative, have.dtype, type_.weak_type)


class _Flat:
    """A function on trees as a function on the leaves of some arguments, the others fixed."""

    def __init__(self, fun: Callable[..., Any], op: str, has_aux: bool):
        self.fun, self.op, self.has_aux = fun, op, has_aux
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        result = self.fun(*args, **kwargs)
        if self.has_aux:
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise ArgumentTypeError(
                    f"with has_aux=True, {function_name(self.fun)} returns a pair (result, aux)",
                    op=self.op,
                    result=result if is_array(result) else type(result).__name__,
                    function=function_source(self.fun),
                    fix="return (result, aux), or leave has_aux out",
                )
            result, self.aux = result
        flat = flatten_result(result, self.fun, self.op)
        self.out_tree = flat.structure
        return flat.leaves


def _aux_values(aux: Any) -> Any:
    """What a function returned beside its result, without the tracers of its derivative."""

    def strip(x: Any) -> Any:
        while isinstance(x, JvpTracer) and not x.interpreter.alive:
            x = x.primal
        return x

    return tree.map(strip, aux)


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns fun's value and its gradient with respect to some arguments.

    fun returns a real scalar (with has_aux=True a pair of it and anything); the gradient has the
    structure, shapes and dtypes of the argument (a tuple of such for a tuple of argnums).
    holomorphic=True allows complex functions of complex arguments; allow_int=True gives float0
    gradients for integer arguments.

    Raises: ArgumentTypeError if fun does not return a scalar; DtypeError for arguments or results
    that have no derivative.

    >>> plait.value_and_grad(lambda x: x * x)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    return _Grad(fun, argnums, has_aux, holomorphic, allow_int, tuple(reduce_axes), True)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of fun; see `value_and_grad`. With has_aux=True it
    returns (gradient, aux).

    >>> plait.grad(lambda x: x * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return _Grad(fun, argnums, has_aux, holomorphic, allow_int, tuple(reduce_axes), False)


class _OfArguments(CompilesWhole):
    """What grad and the Jacobians share: fun as a function of the leaves of chosen arguments."""

    def __init__(self, op, fun, argnums, has_aux, holomorphic, allow_int, *more):
        check_callable(fun, op)
        self.op = op
        self.argnums = indices(argnums, op, "argnums")
        self.one = not isinstance(argnums, tuple | list)
        self.has_aux, self.holomorphic, self.allow_int = has_aux, holomorphic, allow_int
        super().__init__(fun, (self.argnums, self.one, has_aux, holomorphic, allow_int, *more))

    def _linearize(self, args: Sequence[Any], kwargs: dict[str, Any], numbers: list[int]):
        """(types and structure of the arguments' leaves, function, its results, linear map)."""
        leaves, structure = tree.flatten(tuple(args[k] for k in numbers))
        self._check_inputs(leaves, args, numbers)
        leaves = [_value(x) for x in leaves]
        flat = _Flat(self.fun, self.op, self.has_aux)

        def of_leaves(*xs: Any) -> Sequence[Any]:
            full = list(args)
            for k, value in zip(numbers, structure.unflatten(xs), strict=True):
                full[k] = value
            return flat(*full, **kwargs)

        types = [type_of(x) for x in leaves]
        nonzero = [t.dtype in dtypes.INEXACT for t in types]
        name = function_name(self.fun)
        ys, linear = linearize_flat(of_leaves, leaves, nonzero, transformation=self.op, name=name)
        return types, structure, flat, ys, linear

    def _resolve(self, count: int) -> list[int]:
        for k in self.argnums:
            if not -count <= k < count:
                raise CallError(
                    f"argnums names argument {k}, but the call has "
                    f"{several(count, 'positional argument')}",
                    op=self.op,
                    function=function_source(self.fun),
                    fix="pass the arguments that are differentiated by position",
                )
        return [k + count if k < 0 else k for k in self.argnums]

    def _check_inputs(self, leaves: Sequence[Any], args: Sequence[Any], numbers: list[int]) -> None:
        def names() -> list[str]:
            labels = positional_names(self.fun, len(args))
            return [n for k in numbers for n in tree.leaf_names(args[k], labels[k])]

        check_arrays(leaves, names, self.op)
        for k, x in enumerate(leaves):
            dtype = type_of(x).dtype
            if self.holomorphic:
                if dtype not in dtypes.COMPLEX:
                    raise DtypeError(
                        f"with holomorphic=True the argument {names()[k]} must be complex",
                        op=self.op,
                        argument=x,
                    )
            elif dtype in dtypes.COMPLEX or dtype in dtypes.FLOAT or self.allow_int:
                continue
            else:
                raise DtypeError(
                    f"the argument {names()[k]} has dtype {dtype.name}, which has no derivative",
                    op=self.op,
                    argument=x,
                    fix="pass floats (x.astype(float)), or choose others with argnums"
                    + (", or allow_int=True" if self.op in _MAY_ALLOW_INT else ""),
                )


class _Grad(_OfArguments):
    kind = "grad"

    def __init__(self, fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, with_value):
        op = "value_and_grad" if with_value else "grad"
        self.with_value = with_value
        super().__init__(op, fun, argnums, has_aux, holomorphic, allow_int, with_value)
        if reduce_axes:
            raise ArgumentError("reduce_axes is not available", op=op, reduce_axes=reduce_axes)

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        numbers = self._resolve(len(args))
        if not self.allow_int and (whole := self.whole()) is not None:
            return whole(*args, **kwargs)
        types, structure, flat, ys, linear = self._linearize(args, kwargs, numbers)
        self._check_output(ys, flat.out_tree)
        (y,) = ys
        one = np.ones((), type_of(y).dtype)
        cts = pull(linear, [one], types)
        gradient = structure.unflatten(cts)
        gradient = gradient[0] if self.one else gradient
        value = _value(y)
        if self.has_aux:
            aux = _aux_values(flat.aux)
            return ((value, aux), gradient) if self.with_value else (gradient, aux)
        return (value, gradient) if self.with_value else gradient

    def _check_output(self, ys: Sequence[Any], structure: Any) -> None:
        name = function_name(self.fun)
        if len(ys) != 1 or structure.num_nodes != 1:
            returned = "a container of arrays" if ys else "no array"
            raise ArgumentTypeError(
                f"{name} must return one scalar, it returned {returned}",
                op=self.op,
                function=function_source(self.fun),
                fix="return the loss alone, or has_aux=True with a pair (loss, anything)",
            )
        t = type_of(ys[0])
        if t.shape:
            raise ScalarError(
                f"{name} must return a scalar, it returned an array of shape {t.shape}",
                op=self.op,
                result=t,
                function=function_source(self.fun),
                fix="reduce it (.sum(), .mean()), or use jacrev, jacfwd or vjp",
            )
        wanted = dtypes.COMPLEX if self.holomorphic else dtypes.FLOAT
        if t.dtype not in wanted:
            word = "complex" if self.holomorphic else "a real float"
            raise DtypeError(
                f"{name} must return {word}, it returned {t.dtype.name}",
                op=self.op,
                result=t,
                fix=None if self.holomorphic else "holomorphic=True for complex functions",
            )


def pull(linear: LinearMap, cts: Sequence[Any], in_types: Sequence[ArrayType]) -> list[Any]:
    """Cotangents of all inputs of a linearised function, from those of its results (None is 0)."""
    program = linear.program
    n = len(linear.captured)
    args = [*linear.captured, *(LinearOperand(v.type) for v in program.inputs[n:])]
    kept = [c for c, nz in zip(cts, linear.out_nonzero, strict=True) if nz]
    pulled = iter(backward(drop_dead(program), args, kept)[n:])
    out = []
    for nz, t in zip(linear.in_nonzero, in_types, strict=True):
        ct = next(pulled) if nz else None
        if ct is None:
            ct = zero_derivative(t)
        out.append(ct if not nz else _like(ct, t))
    return out


def _check_tangents(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    op: str,
    names: Callable[[int], str],
    word: str = "tangent",
) -> list[Any]:
    """Tangents as jvp wants them: None for those of integers. Raises DtypeError, ShapeError."""
    out = []
    for k, (x, t) in enumerate(zip(primals, tangents, strict=True)):
        type_ = x if isinstance(x, ArrayType) else type_of(x)
        if type_.dtype not in dtypes.INEXACT:
            if getattr(t, "dtype", None) != dtypes.float0:
                raise DtypeError(
                    f"the {word} of {names(k)} must have dtype float0, since {type_.dtype.name} "
                    "has no derivative",
                    op=op,
                    value=x,
                    **{word: t},
                    fix="np.zeros(shape, plait.dtypes.float0)",
                )
            out.append(None)
            continue
        if getattr(t, "dtype", None) == dtypes.float0:
            raise DtypeError(
                f"the {word} of {names(k)} has dtype float0, which is for integers",
                op=op,
                value=x,
                fix=f"give it the dtype {type_.dtype.name}",
            )
        given: dict[str, Any] = {word: t}
        if not is_array(t):
            raise ArgumentTypeError(f"the {word} of {names(k)} is not an array", op=op, **given)
        given[word] = have = type_of(t)
        if have.shape != type_.shape:
            raise ShapeError(
                f"the {word} of {names(k)} has another shape than its value",
                op=op,
                value=type_,
                **given,
            )
        if have.dtype != type_.dtype:
            if not have.weak_type:
                raise DtypeError(
                    f"the {word} of {names(k)} has another dtype than its value",
                    op=op,
                    value=type_,
                    **given,
                    fix="convert it with .astype",
                )
            t = convert_element_type(t, type_.dtype)
        out.append(t)
    return out


@trimmed
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """(fun(*primals), its derivative in the direction of tangents).

    primals and tangents are tuples of arguments with equal structures, shapes and dtypes; the
    tangent of an integer is a float0 array. With has_aux=True also fun's second result.

    >>> plait.jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun, "jvp")
    for value, what in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(value, tuple | list):
            raise ArgumentTypeError(
                f"{what} is a tuple of arguments, also for one argument: (x,)",
                op="jvp",
                **dict[str, Any]({what: value}),
            )
    leaves, structure = tree.flatten(tuple(primals))
    t_leaves, t_structure = tree.flatten(tuple(tangents))
    if structure != t_structure:
        raise structure_error(
            "primals and tangents have different structures",
            ("primals", structure),
            ("tangents", t_structure),
            "jvp",
        )
    check_arrays(leaves, lambda: _names(fun, primals), "jvp")
    checked = _check_tangents(leaves, t_leaves, "jvp", lambda k: _names(fun, primals)[k])
    flat = _Flat(fun, "jvp", has_aux)
    ys, ts = jvp_flat(
        lambda *xs: flat(*structure.unflatten(xs)),
        [_value(x) for x in leaves],
        [t if t is None else _value(t) for t in checked],
        name=function_name(fun),
    )
    ts = [_tangent(y, t) for y, t in zip(ys, ts, strict=True)]
    out = flat.out_tree.unflatten([_value(y) for y in ys]), flat.out_tree.unflatten(ts)
    return (*out, _aux_values(flat.aux)) if has_aux else out


def _tangent(y: Any, t: Any) -> Any:
    """A tangent as users get it, for a result or its type."""
    type_ = y if isinstance(y, ArrayType) else type_of(y)
    if type_.dtype not in dtypes.INEXACT:
        return zero_derivative(type_)
    return _like(zeros_of(type_) if t is None else t, type_)


def _names(fun: Callable[..., Any], primals: Sequence[Any]) -> list[str]:
    """The user's names of the leaves of a function's arguments."""
    labels = positional_names(fun, len(primals))
    pairs = zip(primals, labels, strict=True)
    return [name for p, label in pairs for name in tree.leaf_names(p, label)]


class _LinearFunction:
    """A linear map as a function of trees. What the map captured comes as the first arguments, so
    that the containers it is put into (tree.Partial) can hold them as leaves.
    """

    def __init__(self, linear: LinearMap, in_types, in_tree, out_types, out_tree, name: str):
        self.program, self.captured_count = linear.program, len(linear.captured)
        self.in_nonzero, self.out_nonzero = linear.in_nonzero, linear.out_nonzero
        self.in_types, self.in_tree = tuple(in_types), in_tree
        self.out_types, self.out_tree, self.name = tuple(out_types), out_tree, name


class _Pullback(_LinearFunction):
    """The function that vjp returns: cotangents of the result to cotangents of the arguments."""

    @trimmed
    def __call__(self, *args: Any) -> Any:
        captured, ct = list(args[: self.captured_count]), args[self.captured_count :]
        if len(ct) != 1:
            raise ArgumentTypeError(
                f"takes one argument, the cotangent of the result; {len(ct)} were given",
                op=f"vjp of {self.name}",
            )
        leaves, structure = tree.flatten(ct[0])
        if structure != self.out_tree:
            raise structure_error(
                "the cotangent has another structure than the result",
                ("result", self.out_tree),
                ("cotangent", structure),
                f"vjp of {self.name}",
                "give one cotangent for each leaf of the result, in the same containers",
            )
        cts = _check_tangents(
            self.out_types,
            leaves,
            f"vjp of {self.name}",
            lambda k: tree.leaf_names(self.out_tree.unflatten(leaves), "result")[k],
            "cotangent",
        )
        linear = LinearMap(self.program, captured, self.in_nonzero, self.out_nonzero)
        cts = [c if c is None else _value(c) for c in cts]
        return self.in_tree.unflatten(pull(linear, cts, self.in_types))


@trimmed
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()
) -> Any:
    """(fun(*primals), a function from cotangents of the result to cotangents of the arguments).

    The second result returns a tuple, one entry for each argument; integers get float0 arrays. It
    is a container of what it captured, so it may leave a jitted function. With has_aux=True fun's
    second result comes third.

    >>> y, pull = plait.vjp(lambda x: x * x, 3.0)
    >>> pull(1.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    return _linearized("vjp", fun, primals, has_aux, _Pullback)


def _linearized(
    op: str,
    fun: Callable[..., Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    kind: Callable[..., Callable[..., Any]],
) -> Any:
    """What vjp and linearize return: fun(*primals) and a linear function (and aux)."""
    check_callable(fun, op)
    leaves, structure = tree.flatten(primals)
    check_arrays(leaves, lambda: _names(fun, primals), op)
    leaves = [_value(x) for x in leaves]
    flat = _Flat(fun, op, has_aux)
    nonzero = [type_of(x).dtype in dtypes.INEXACT for x in leaves]
    name = function_name(fun)
    ys, linear = linearize_flat(
        lambda *xs: flat(*structure.unflatten(xs)), leaves, nonzero, transformation=op, name=name
    )
    made = kind(linear, map(type_of, leaves), structure, map(type_of, ys), flat.out_tree, name)
    out = flat.out_tree.unflatten([_value(y) for y in ys])
    function = tree.Partial(made, *linear.captured)
    return (out, function, _aux_values(flat.aux)) if has_aux else (out, function)


class _Pushforward(_LinearFunction):
    """The function that linearize returns: tangents of the arguments to tangents of the result."""

    @trimmed
    def __call__(self, *args: Any) -> Any:
        captured, tangents = args[: self.captured_count], args[self.captured_count :]
        leaves, structure = tree.flatten(tangents)
        op = f"linearize of {self.name}"
        if structure != self.in_tree:
            raise structure_error(
                "the tangents have another structure than the arguments",
                ("arguments", self.in_tree),
                ("tangents", structure),
                op,
            )
        checked = _check_tangents(
            self.in_types, leaves, op, lambda k: tree.leaf_names(tangents, "arguments")[k]
        )
        given = [t for t, nz in zip(checked, self.in_nonzero, strict=True) if nz]
        pushed = iter(run_program(self.program, *captured, *given))
        out = [
            _tangent(t, next(pushed) if nz else None)
            for t, nz in zip(self.out_types, self.out_nonzero, strict=True)
        ]
        return self.out_tree.unflatten(out)


@trimmed
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(fun(*primals), the linear function from tangents of arguments to tangents of the result).

    fun runs once; calling the second result costs only the linear part.

    >>> y, push = plait.linearize(lambda x: x * x, 3.0)
    >>> push(1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return _linearized("linearize", fun, primals, has_aux, _Pushforward)


class _Transposed(_Pullback):
    """The function that linear_transpose returns."""

    @trimmed
    def __call__(self, *args: Any) -> Any:
        try:
            return super().__call__(*args)
        except MissingRuleError as error:
            raise ArgumentTypeError(
                f"{self.name} is not linear: it applies {error.op} to what its arguments give",
                op="linear_transpose",
                fix="differentiate it (vjp) if its derivative was meant",
            ) from error


@trimmed
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Any:
    """The transpose of a linear function; primals (arrays or ShapeDtypeStructs) give its types.

    The result takes one cotangent, like fun's result, and returns a tuple like the arguments.
    Raises: MissingRuleError naming the op if fun is not linear.

    >>> plait.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable(fun, "linear_transpose")
    leaves, structure = tree.flatten(primals)
    types = [type_of(x) for x in leaves]
    for t in types:
        if t.dtype not in dtypes.INEXACT:
            raise DtypeError("linear functions take floats", op="linear_transpose", argument=t)
    flat = _Flat(fun, "linear_transpose", False)
    program, captured = stage(
        lambda *xs: flat(*structure.unflatten(xs)), types, transformation="linear_transpose"
    )
    n = len(types)
    linear = LinearMap(drop_dead(program), captured, (True,) * n, (True,) * len(program.outputs))
    pullback = _Transposed(
        linear, types, structure, program.out_types, flat.out_tree, function_name(fun)
    )
    return tree.Partial(pullback, *captured)


def _basis(types: Sequence[ArrayType], k: int) -> Any:
    """The unit vectors of the k-th array of several: [n, *shape]."""
    t = types[k]
    eye = np.eye(t.size, dtype=np.float32).astype(t.dtype)
    return as_array(eye.reshape((t.size, *t.shape)))


class _Jacobian(_OfArguments):
    """jacfwd and jacrev."""

    def __init__(self, fun, argnums, has_aux, holomorphic, allow_int, forward):
        self.kind = "jacfwd" if forward else "jacrev"
        self.forward = forward
        super().__init__(self.kind, fun, argnums, has_aux, holomorphic, allow_int)

    def _check_inputs(self, leaves: Sequence[Any], args: Sequence[Any], numbers: list[int]) -> None:
        super()._check_inputs(leaves, args, numbers)
        if self.forward and not self.holomorphic:
            for x in leaves:
                if type_of(x).dtype in dtypes.COMPLEX:
                    raise DtypeError(
                        "complex arguments have a derivative in two directions each",
                        op=self.op,
                        argument=x,
                        fix="holomorphic=True for functions that have one, "
                        "or pass real and imaginary parts as two arguments",
                    )

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        numbers = self._resolve(len(args))
        if not self.allow_int and (whole := self.whole()) is not None:
            return whole(*args, **kwargs)
        types, structure, flat, ys, linear = self._linearize(args, kwargs, numbers)
        out_types = [type_of(y) for y in ys]
        self._check_outputs(out_types)
        blocks = self._rows(linear, types, out_types)
        # blocks[i][j] = d result_i / d leaf_j, shaped [*result_i, *leaf_j]
        rows = [structure.unflatten(row) for row in blocks]
        rows = [r[0] if self.one else r for r in rows]
        jacobian = flat.out_tree.unflatten(rows)
        return (jacobian, _aux_values(flat.aux)) if self.has_aux else jacobian

    def _check_outputs(self, out_types: Sequence[ArrayType]) -> None:
        wanted = dtypes.COMPLEX if self.holomorphic else dtypes.FLOAT
        if self.forward and not self.holomorphic:
            wanted = dtypes.INEXACT
        for t in out_types:
            if t.dtype not in wanted:
                raise DtypeError(
                    f"{function_name(self.fun)} returned {t.dtype.name}, which has no Jacobian",
                    op=self.op,
                    result=t,
                )

    def _rows(self, linear, types, out_types) -> list[list[Any]]:
        n = len(linear.captured)
        captured = linear.captured
        blocks: list[list[Any]] = [[None] * len(types) for _ in out_types]
        if self.forward:
            for j, t in enumerate(types):
                if not linear.in_nonzero[j]:
                    continue

                def push(v: Any, j: int = j) -> list[Any]:
                    tangents = [
                        v if k == j else zeros_of(s)
                        for k, s in enumerate(types)
                        if linear.in_nonzero[k]
                    ]
                    return list(run_program(linear.program, *captured, *tangents))

                columns = iter(vmap(push, out_axes=-1)(_basis(types, j)))
                for i, (o, nz) in enumerate(zip(out_types, linear.out_nonzero, strict=True)):
                    if nz:
                        blocks[i][j] = reshape(next(columns), (*o.shape, *t.shape))
        else:
            for i, o in enumerate(out_types):
                if not linear.out_nonzero[i]:
                    continue

                def back(v: Any, i: int = i) -> list[Any]:
                    args = [*captured, *(LinearOperand(w.type) for w in linear.program.inputs[n:])]
                    cts = [v if k == i else None for k in range(len(out_types))]
                    kept = [c for c, nz in zip(cts, linear.out_nonzero, strict=True) if nz]
                    return backward(linear.program, args, kept)[n:]

                given = iter(vmap(back)(_basis(out_types, i)))
                for j, (t, nz) in enumerate(zip(types, linear.in_nonzero, strict=True)):
                    got = next(given) if nz else None
                    if got is not None:
                        blocks[i][j] = reshape(got, (*o.shape, *t.shape))
        for i, o in enumerate(out_types):
            for j, t in enumerate(types):
                block, shape = blocks[i][j], (*o.shape, *t.shape)
                if block is None and t.dtype not in dtypes.INEXACT:
                    blocks[i][j] = np.zeros(shape, dtypes.float0)
                    continue
                block = zeros_of(ArrayType(shape, t.dtype)) if block is None else block
                weak = o.weak_type and t.weak_type
                blocks[i][j] = _like(block, ArrayType(shape, t.dtype, weak))
        return blocks


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of fun by forward mode: one column at a time, all in one vmap.

    For a result of shape [*a] and an argument of shape [*b] it has shape [*a, *b], in the result's
    container and inside that the argument's. Cost: as many jvps as the argument has elements.

    >>> plait.jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    return _Jacobian(fun, argnums, has_aux, holomorphic, False, True)


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of fun by reverse mode: one row at a time, all in one vmap; see `jacfwd`.

    >>> plait.jacrev(lambda x: x * x[0])(jnp.array([1.0, 2.0]))
    Array([[2., 0.],
           [2., 1.]], dtype=float32)
    """
    return _Jacobian(fun, argnums, has_aux, holomorphic, allow_int, False)


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Hessian of a scalar function, by forward over reverse mode.

    >>> plait.hessian(lambda x: (x**3).sum())(jnp.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    inner = jacrev(fun, argnums, has_aux, holomorphic)
    outer = jacfwd(inner, argnums, has_aux, holomorphic)
    outer.op = "hessian"  # type: ignore[attr-defined] # what messages call it
    return outer


__all__ = [
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "value_and_grad",
    "vjp",
]
