"""The running interpreter, the named axes in scope, and the source line being interpreted.

One `threading.local`, so that every thread starts outside of all transformations.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plait.errors import AxisNameError

if TYPE_CHECKING:
    from plait.core.interpreter import Interpreter
    from plait.core.source import Source


class _Context(threading.local):
    # Class attributes are what a new thread starts with; runtime/eager.py sets the base.
    interpreter: Interpreter = None  # pyright: ignore[reportAssignmentType] (set at import)
    axes: tuple[tuple[Any, int], ...] = ()
    # Whether one of them is spread over devices.
    in_map: bool = False
    source: Source | None = None


context = _Context()


def install_base(interpreter: Interpreter) -> None:
    """Make an interpreter the one that runs outside of all transformations, in every thread."""
    _Context.interpreter = interpreter


@contextlib.contextmanager
def running(interpreter: Interpreter) -> Iterator[None]:
    """Let an interpreter receive every op inside the block."""
    before = context.interpreter
    context.interpreter = interpreter
    try:
        yield
    finally:
        context.interpreter = before


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Leave all transformations in the block: the base interpreter runs, no axis is in scope.

    >>> def f(x):
    ...     with plait.core.eval_context():
    ...         print(jnp.add(1, 2))  # computed now, not when the program runs
    ...     return x
    >>> _ = plait.jit(f)(1.0)
    3
    """
    before = context.interpreter, context.axes, context.source, context.in_map
    context.interpreter, context.axes, context.source = _Context.interpreter, (), None
    context.in_map = False
    try:
        yield
    finally:
        context.interpreter, context.axes, context.source, context.in_map = before


@contextlib.contextmanager
def named_axes(*axes: tuple[Any, int], mapped: bool = False) -> Iterator[None]:
    """Put (name, size) axes in scope inside the block, innermost last; mapped: they are spread over
    devices.
    """
    before = context.axes, context.in_map
    context.axes = (*before[0], *axes)
    context.in_map = mapped or before[1]
    try:
        yield
    finally:
        context.axes, context.in_map = before


def axis_size(name: Any) -> int:
    """The size of the innermost axis of that name. Raises AxisNameError if none is in scope."""
    for bound, size in reversed(context.axes):
        if bound == name:
            return size
    bound = ", ".join(dict.fromkeys(repr(n) for n, _ in context.axes)) or "none"
    raise AxisNameError(
        f"the axis name {name!r} is not bound",
        bound_here=bound,
        fix=f"give axis_name={name!r} to the vmap or pmap around this call, or use a bound name",
    )


def bound_axis_names() -> tuple[Any, ...]:
    """The names of the mapped axes that collectives may use here, outermost first.

    >>> plait.pmap(lambda x: x * len(lax.bound_axis_names()), axis_name="i")(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    return tuple(dict.fromkeys(name for name, _ in context.axes))


def running_map() -> str | None:
    """The name of the innermost transformation here that gives a function one row at a time."""
    interpreter = context.interpreter
    while interpreter is not None:
        if interpreter.transformation in ("vmap", "pmap"):
            return interpreter.transformation
        interpreter = getattr(interpreter, "parent", None)
    return None
