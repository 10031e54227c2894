"""What functions with derivative rules of the user's own have in common.

Such a function is bound as an op whose parameters are Python functions on flat lists of arrays, so
that outside of jit it runs as plain Python, on concrete values. Under a Batch interpreter the
functions are wrapped; when the op is staged, the function becomes a Program and the rule stays a
Python function (regions/custom_jvp.py, regions/custom_vjp.py).
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.interpreter import Tracer
from plait.core.primitive import Primitive, zeros_of
from plait.core.program import reference
from plait.core.source import function_name, function_source
from plait.core.stage import stage
from plait.core.tree import PyTreeDef, flatten, leaf_names
from plait.core.tree import map as map_tree
from plait.core.types import ArrayType, is_array, type_of
from plait.errors import (
    ArgumentError,
    ArgumentTypeError,
    ShapeError,
    UnexpectedTracerError,
)
from plait.hlo.module import lower_program
from plait.interpreters.batch import Frame, add_axis, batch
from plait.interpreters.linearize import Linearizer
from plait.regions.call import call_p
from plait.regions.region import Region, check_operands
from plait.regions.trace import Traced, same_type


class SymbolicZero:
    """A zero tangent or cotangent that takes no memory, in rules that ask for them.

    >>> zero = plait.custom_derivatives.zero_from_primal(jnp.ones((2, 3)), symbolic_zeros=True)
    >>> zero.shape, zero.dtype
    ((2, 3), dtype('float32'))
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ArrayType):
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of zeros."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array of zeros."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self.aval.ndim

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def zero_from_primal(x: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of a tree of arrays: zeros, or SymbolicZeros.

    Shapes are kept, and dtypes of floats and complex numbers; those of integers and bools are
    float0.

    >>> plait.custom_derivatives.zero_from_primal({"w": jnp.ones(2), "n": 3})
    {'n': array((b'',), dtype=[('float0', 'V')]), 'w': Array([0., 0.], dtype=float32)}
    """

    def zero(x: Any) -> Any:
        type_ = type_of(x)
        return SymbolicZero(type_.tangent()) if symbolic_zeros else zero_derivative(type_)

    return map_tree(zero, x)


def zero_derivative(type: ArrayType) -> Any:
    """Zeros as tangent or cotangent of a value of a type: integers and booleans have float0."""
    if type.dtype in dtypes.INEXACT:
        return zeros_of(type)
    return np.zeros(type.shape, dtypes.float0)


# --- arguments


class Signature:
    """A user's function with its arguments by position, and which of them have no derivative."""

    def __init__(
        self,
        function: Callable[..., Any],
        op: str,
        argnums: int | Sequence[int],
        argnames: str | Sequence[str],
    ):
        self.function, self.op = function, op
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (ValueError, TypeError):
            self.signature = None
        numbers: list[int] = []
        numbers.extend((argnums,) if isinstance(argnums, int) else argnums)
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        if names:
            parameters = list(self.signature.parameters) if self.signature else []
            for name in names:
                if name not in parameters:
                    raise ArgumentError(
                        f"the function has no argument {name!r}",
                        op=op,
                        function=self.where,
                        fix="correct nondiff_argnames",
                    )
                numbers.append(parameters.index(name))
        self.nondiff = tuple(dict.fromkeys(numbers))

    @property
    def where(self) -> str:
        """The function's name and place, for messages."""
        return f"{function_name(self.function)} ({function_source(self.function)})"

    def positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included. Raises ArgumentTypeError."""
        if self.signature is None:
            if kwargs:
                raise ArgumentTypeError(
                    "keyword arguments need a function whose signature Python knows",
                    op=self.op,
                    function=self.where,
                    arguments=", ".join(kwargs),
                    fix="pass them by position",
                )
            return tuple(args)
        # TypeErrors of the binding say what is wrong with the call, as Python words it.
        bound = self.signature.bind(*args, **kwargs)
        if bound.kwargs:
            raise ArgumentTypeError(
                "keyword-only arguments cannot be passed to a function with derivative rules",
                op=self.op,
                function=self.where,
                arguments=", ".join(bound.kwargs),
                fix="make them positional, or bind them with functools.partial",
            )
        bound.apply_defaults()  # keyword-only arguments that are left out keep theirs
        return bound.args

    def divide(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """(arguments with derivatives, arguments without). Raises ArgumentError."""
        n = len(args)
        if any(not -n <= k < n for k in self.nondiff):
            raise ArgumentError(
                f"nondiff_argnums names an argument that the call does not have; it has {n}",
                op=self.op,
                function=self.where,
                nondiff_argnums=self.nondiff,
            )
        fixed = [k % n for k in self.nondiff]
        return (
            tuple(a for k, a in enumerate(args) if k not in fixed),
            tuple(args[k] for k in fixed),
        )

    def join(self, args: Sequence[Any], fixed: Sequence[Any], total: int) -> tuple[Any, ...]:
        """The opposite of divide."""
        at = {k % total: value for k, value in zip(self.nondiff, fixed, strict=True)}
        rest = iter(args)
        return tuple(at[k] if k in at else next(rest) for k in range(total))

    def leaves(self, args: tuple[Any, ...]) -> tuple[list[Any], PyTreeDef]:
        """Leaves and structure of the arguments with derivatives. Raises ArgumentTypeError."""
        leaves, shape = flatten(args)
        for k, x in enumerate(leaves):
            if not is_array(x):
                raise ArgumentTypeError(
                    f"the argument {self.leaf_name(args, k)} is not an array: "
                    f"it is a {type(x).__name__}",
                    op=self.op,
                    function=self.where,
                    fix="name arguments that are not arrays in nondiff_argnums",
                )
        return leaves, shape

    def names(self, count: int) -> list[str]:
        """The names of the arguments with derivatives, of `count` arguments in all."""
        parameters = list(self.signature.parameters.values()) if self.signature else []
        names = []
        for k in range(count):
            if k < len(parameters) and parameters[k].kind is not inspect.Parameter.VAR_POSITIONAL:
                names.append(parameters[k].name)
            else:
                names.append(f"argument {k}")
        fixed = [k % count for k in self.nondiff] if count else []
        return [n for k, n in enumerate(names) if k not in fixed]

    def leaf_name(self, args: tuple[Any, ...], k: int) -> str:
        """The name of leaf number k of the arguments with derivatives: params['w']."""
        names = self.names(len(args) + len(self.nondiff))
        every = [n for a, name in zip(args, names, strict=True) for n in leaf_names(a, name)]
        return every[k]


def is_pair(x: Any) -> bool:
    """Whether a rule returned two things."""
    return isinstance(x, tuple | list) and len(x) == 2


# --- batching


class Marks:
    """Which results of a function have the frame's axis; its rule's results must agree."""

    def __init__(self, op: str, value: tuple[bool, ...] | None = None):
        self.op, self.value = op, value

    def fix(self, ys: Sequence[Any], mapped: Sequence[bool], size: int) -> list[Any]:
        """Results with the axis where they must have it; the first ones to come here decide."""
        if self.value is None:
            self.value = tuple(mapped)
        if any(m and not want for m, want in zip(mapped, self.value, strict=True)):
            raise ShapeError(
                "under vmap a derivative rule gives a result for each row where the function gives "
                "one for all rows",
                op=self.op,
                fix="let the function's results depend on what the rule's results depend on",
            )
        return [
            add_axis(y, size) if want and not m else y
            for y, m, want in zip(ys, mapped, self.value, strict=True)
        ]

    def rows(
        self, fun: Callable[..., Any], mapped: Sequence[bool], frame: Frame
    ) -> Callable[..., list[Any]]:
        """A flat function of rows as one of all rows at once, some operands of which have them."""

        def rows(*xs: Any) -> list[Any]:
            ys, ys_mapped = batch(fun, xs, mapped, frame)
            return self.fix(ys, ys_mapped, frame.size)

        return rows


# --- staging


class CustomOp(Primitive):
    """Base of the ops that hold Python functions: these may use any named axis."""

    multiple_results = True

    def uses_axis(self, name: Any, params: dict[str, Any]) -> bool:
        return True

    def evaluate(self, xs: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(params["fun"](*xs))

    def split(
        self, linearizer: Linearizer, xs: Sequence[Any], linear: Any, params: dict[str, Any]
    ) -> tuple[Any, ...]:
        # Among tangents the rule has no say any more: what counts are the ops of the function.
        return tuple(params["fun"](*xs))


class CustomCall(Region):
    """Base of the ops that such functions become in a Program: the function is a Program itself,
    `program`; the other parameters are the rules.
    """

    def type(self, *types, program, **rules):
        check_operands(program, types)
        return program.out_types

    def numpy(self, *xs, program, **rules):
        return reference(program, *xs)

    def split(self, linearizer, xs, linear, params):
        return call_p.split(linearizer, xs, linear, {"program": params["program"]})

    def transpose(self, cts, *xs, program, **rules):
        return call_p.transpose(cts, *xs, program=program)

    def lower(self, b, *xs, program, **rules):
        return lower_program(b, program, xs)

    def variance(self, varying, params, analyse):
        return analyse(params["program"], varying)


def stage_flat(function: Callable[..., Sequence[Any]], types: Sequence[ArrayType]) -> Traced:
    """A flat function as a Program."""
    program, captured = stage(function, types)
    return Traced(program, None, captured)


def captures_tracer(traced: Traced) -> bool:
    """Whether a function closes over a value that is being traced."""
    return any(isinstance(x, Tracer) for x in traced.captured)


# A rule that is traced in advance may call the function, whose rule is traced in turn: so many
# derivatives of each other are ready.
_ORDERS = 3


class _Depth(threading.local):
    """How many rules this thread traces in advance, one inside another."""

    value = 0


_depth = _Depth()


@contextlib.contextmanager
def tracing_rule(op: str, name: str) -> Iterator[ArgumentTypeError | None]:
    """Around the tracing of a rule in advance. Gives an error if it is inside too many others: the
    rule is not to be traced then, and raises the error when it is called.
    """
    if _depth.value == _ORDERS:
        yield ArgumentTypeError(
            f"a derivative of order {_ORDERS + 1} of a function that closes over traced values",
            op=op,
            function=name,
            fix="pass the values as arguments of the function",
        )
        return
    _depth.value += 1
    try:
        yield None
    finally:
        _depth.value -= 1


class RaisingRule:
    """Stands for a rule that cannot be had."""

    def __init__(self, error: Exception):
        self.error = error

    def __call__(self, *args: Any) -> Any:
        raise self.error


def check_captured(op: str, name: str, tangents: Sequence[Any]) -> None:
    """Raise UnexpectedTracerError for a derivative with respect to a value closed over."""
    if any(t is not None for t in tangents):
        raise UnexpectedTracerError(
            f"{name} closes over a value that is differentiated; its rule cannot know about it",
            op=op,
            fix="pass the value as an argument, and give its derivative in the rule",
        )


def check_results(op: str, name: str, ys: Sequence[Any], types: Sequence[ArrayType]) -> None:
    """Raise if a rule's results have other types than those of the function."""
    have = [type_of(y) for y in ys]
    if len(have) == len(types) and all(map(same_type, have, types)):
        return
    raise ShapeError(
        f"the rule of {name} gives other results than the function",
        op=op,
        function=", ".join(map(str, types)),
        rule=", ".join(map(str, have)),
    )
