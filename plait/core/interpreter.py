"""Interpreter and Tracer: how an op reaches a rule.

The running interpreter (core/context.py) receives every op. It recognises its own tracers among
the operands; all other values are constants to it. What it computes it binds again with its parent
running. There are no levels: an interpreter knows its parent, and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from plait.core.array_methods import ArrayMethods
from plait.core.context import bound_axis_names, context, outside, running
from plait.core.primitive import Primitive
from plait.core.source import Source, called, user_source
from plait.core.types import ArrayType
from plait.errors import (
    ConcretizationTypeError,
    PlaitError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)


class Interpreter:
    """Receives ops; gives results. `parent` receives what this one computes.

    >>> isinstance(plait.core.Trace, type)
    True
    """

    parent: Interpreter | None = None
    # Whether it runs outside of all transformations.
    base: bool = False
    # False once the transformation is over: its tracers must not be used any more.
    alive: bool = True
    # What the user called and the function it runs, for messages.
    transformation: str = "a transformation"
    function: str = ""

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        raise NotImplementedError

    @property
    def main(self) -> Interpreter:
        """Itself; where JAX had a second object, some libraries ask for it."""
        return self

    def runs_in(self, other: Interpreter) -> bool:
        """Whether what this one computes goes to the other in the end."""
        parent = self.parent
        while parent is not None and parent is not other:
            parent = parent.parent
        return parent is other

    def describe(self) -> str:
        return f"{self.transformation} of {self.function}" if self.function else self.transformation


class Tracer(ArrayMethods):
    """A value during a transformation. numpy/operators.py gives it the operators of arrays.

    Subclasses define `interpreter` and `type`; `concrete` returns the number behind the tracer, or
    None where only its type is known.

    >>> _ = plait.jit(lambda x: print(isinstance(x, plait.core.Tracer), x.shape))(jnp.ones(2))
    True (2,)
    """

    __slots__ = ("__weakref__", "interpreter", "type")
    interpreter: Interpreter

    @property
    def _trace(self) -> Interpreter:
        """The interpreter, under the name that libraries written for JAX use."""
        return self.interpreter

    def concrete(self) -> Any:
        """The actual array behind this tracer, or None."""
        return None

    def origin(self) -> str:
        """Words on where this value came from, for messages."""
        return ""

    def _give_number(self, error: type, wanted: str, fix: str) -> Any:
        value = self.concrete()
        if value is not None:
            return value
        raise self._refusal(error, wanted, fix)

    def _refusal(self, error: type, wanted: str, fix: str) -> Exception:
        if not self.interpreter.alive:
            return leaked(self)
        source = user_source()
        return error(
            f"{wanted} was asked of a value that is traced, not known",
            op=self.interpreter.describe(),
            value=self.type,
            origin=self.origin() or "computed in the traced function",
            where=str(source) if source else None,
            fix=fix,
        )

    # What is traced never changes: it is its own copy.
    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def __bool__(self) -> bool:
        return bool(
            self._give_number(
                TracerBoolConversionError,
                "its truth (if, while, and, or, not, assert)",
                "use lax.cond, lax.while_loop or jnp.where, or make the argument static",
            )
        )

    def __int__(self) -> int:
        return int(self._give_number(*_INTEGER))

    def __index__(self) -> int:
        return self._give_number(*_INTEGER).__index__()

    def __float__(self) -> float:
        return float(self._give_number(*_FLOAT))

    def __complex__(self) -> complex:
        return complex(self._give_number(*_FLOAT))

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        value = self._give_number(
            ConcretizationTypeError,
            f"its value as text in the format {spec!r}",
            "print it with plait.debug.print, whose text is made when the program runs",
        )
        return format(value, spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        # Refused even where the number is known (under grad): NumPy's result would have no
        # derivative, and the gradient would silently be wrong.
        raise self._refusal(
            TracerArrayConversionError,
            "its data as a NumPy array",
            "use plait.numpy instead of numpy (jnp.asarray(table)[i] to index a NumPy array), or "
            "make the argument static",
        )

    def item(self) -> Any:
        return self._give_number(*_FLOAT).item()

    def tolist(self) -> Any:
        return self._give_number(*_FLOAT).tolist()

    def __hash__(self):
        raise TypeError("traced values are not hashable")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.type}>"


_CURE = "make the argument static (static_argnums), or use array operations instead"
_INTEGER = (TracerIntegerConversionError, "its value as a Python int", _CURE)
_FLOAT = (ConcretizationTypeError, "its value as a Python number", _CURE)


def leaked(tracer: Tracer) -> UnexpectedTracerError:
    """The error for a tracer that outlived its transformation."""
    source: Source | None = getattr(tracer, "source", None)
    here = user_source()
    if tracer.interpreter.alive:
        return UnexpectedTracerError(
            "a traced value is used where its transformation does not reach: it was closed over by "
            "a function with a derivative rule",
            op=tracer.interpreter.describe(),
            value=tracer.type,
            where=str(here) if here else None,
            fix="pass the value to that function as an argument",
        )
    return UnexpectedTracerError(
        "a traced value was used after the transformation that made it had ended",
        op=tracer.interpreter.describe(),
        value=tracer.type,
        made_at=str(source) if source else tracer.origin() or "inside the function",
        where=str(here) if here else None,
        fix="return the value from the function instead of storing it in a global, attribute or "
        "list",
    )


def check_alive(x: Any) -> None:
    """Raise UnexpectedTracerError for a tracer whose transformation has ended."""
    if isinstance(x, Tracer) and not x.interpreter.alive:
        raise leaked(x)


def infer(op: Primitive, types: Sequence[ArrayType], params: dict[str, Any]) -> Any:
    """op.type, with the op's name and the user's line put into an error."""
    try:
        return op.type(*types, **params)
    except PlaitError as error:
        if error.op is None:
            error.op = op.name if context.source else called(op.name)
        if error.where is None and (source := context.source or user_source()):
            error.where = str(source)
        raise


class _AtOnce(Interpreter):
    """Computes at once what depends on nothing traced; hands all else to its parent."""

    parent: Interpreter
    transformation = "ensure_compile_time_eval"

    def __init__(self, parent: Interpreter):
        self.parent = parent

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        traced = any(isinstance(x, Tracer) for x in xs)
        if op.evaluate is not None and "fun" in params and not traced:
            return op.evaluate(xs, params)  # a Python function, which may close over anything
        mapped = any(op.uses_axis(name, params) for name in bound_axis_names())
        if not (traced or mapped or op.has_effects or op.per_lane):
            with outside():
                return context.interpreter.process(op, xs, params)
        context.interpreter = self.parent
        try:
            return self.parent.process(op, xs, params)
        finally:
            context.interpreter = self


def ensure_compile_time_eval() -> contextlib.AbstractContextManager[None]:
    """`with ensure_compile_time_eval():` computes inside the block at once, also within jit.

    That is, what depends on nothing traced; computation with traced values goes on as around the
    block.

    >>> @plait.jit
    ... def f(x):
    ...     with plait.ensure_compile_time_eval():
    ...         n = int(jnp.arange(4).sum())  # a number, not a traced value
    ...     return x * n
    >>> f(2)
    Array(12, dtype=int32, weak_type=True)
    """
    return running(context.interpreter if context.interpreter.base else _AtOnce(current()))


def current() -> Interpreter:
    """The interpreter that receives ops now."""
    return context.interpreter
