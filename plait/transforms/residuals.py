"""What reverse mode keeps of a function from its forward to its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core import tree
from plait.core.dtypes import INEXACT
from plait.core.program import Program, Var
from plait.core.types import ArrayType, type_of
from plait.interpreters.linearize import linearize
from plait.regions.checkpoint import inline_calls
from plait.transforms.arguments import Selected, check_callable
from plait.transforms.calls import JitFunction
from plait.transforms.shapes import abstract


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the arrays that a derivative of f keeps from the forward to the backward pass: a line
    for each, with its type, and the argument it is or the op and the user's line it is from.

    Nothing is computed. What `plait.checkpoint` computes again is not listed.

    >>> def loss(w, x):
    ...     return jnp.sum(jnp.tanh(x @ w))
    >>> plait.ad_checkpoint.print_saved_residuals(loss, jnp.ones(3), jnp.ones((5, 3)))
    float32[3]    the argument w
    float32[5,3]  the argument x
    float32[5]    of mul (...)
    """
    check_callable(f, "print_saved_residuals")

    def residuals(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))

        def flat(*xs: Any) -> Any:
            inner, named = structure.unflatten(xs)
            return tree.leaves(f(*inner, **named))

        floats = [type_of(x).dtype in INEXACT for x in leaves]
        return linearize(flat, leaves, floats)[1].captured

    residuals.__wrapped__ = f  # the arguments' names  # pyright: ignore[reportFunctionMemberAccess]
    args, kwargs = tree.map(abstract, (args, kwargs))
    program = JitFunction(residuals, Selected((), ())).trace_for(*args, **kwargs).program
    found = _described(inline_calls(program), program.names or ())
    width = max((len(str(t)) for t, _ in found), default=0)
    for type_, origin in found:
        print(f"{str(type_).ljust(width)}  {origin}")


def _described(program: Program, names: Sequence[str]) -> list[tuple[ArrayType, str]]:
    """The type and the origin of each result of a Program, once."""
    origins = dict.fromkeys(program.inputs, "a constant")
    origins |= {v: f"the argument {n}" for v, n in zip(program.inputs, names, strict=True) if n}
    for eqn in program.equations:
        for v in eqn.outputs:
            origins[v] = f"of {eqn.op.name}" + (f" ({eqn.source})" if eqn.source else "")
    outputs = dict.fromkeys(v for v in program.outputs if isinstance(v, Var))
    return [(v.type, origins[v]) for v in outputs]


__all__ = ["print_saved_residuals"]
