"""custom_root: solutions of equations, differentiated by the equation and not by its solver.

Let x(a) solve f(x, a) = 0. Then f_x dx + f_a da = 0: dx is the solution of a linear equation with
the derivative of f at x. tangent_solve is asked for it, and how x was found plays no part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.core import tree
from plait.core.tracebacks import trimmed
from plait.ops.arithmetic import neg
from plait.regions.custom import closure_convert, custom_jvp
from plait.regions.rules import zero_from_primal
from plait.regions.trace import check_function
from plait.transforms.grad import jvp, linearize


@trimmed
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """A solution x of f(x) = 0, found by solve(f, initial_guess).

    x, the guess and f(x) are trees of one structure. tangent_solve(g, y) gives the solution of
    g(x) = y for a linear g; for a scalar x it is `lambda g, y: y / g(1.0)`. With has_aux, solve
    returns (x, anything more), and so does custom_root.
    Derivative: by the implicit function theorem, with respect to what f closes over.

    >>> def root(a):
    ...     def newton(f, x):
    ...         return lax.fori_loop(0, 20, lambda _, x: x - f(x) / (2 * x), x)
    ...     return lax.custom_root(lambda x: x**2 - a, a, newton, lambda g, y: y / g(1.0))
    >>> plait.grad(root)(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    for name, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        check_function(function, "custom_root", name)
    equation, constants = closure_convert(f, initial_guess)

    @custom_jvp
    def root(constants: Any, guess: Any) -> Any:
        out = solve(lambda x: equation(x, *constants), guess)
        return out if has_aux else (out, None)

    @root.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        constants, guess = primals
        x, aux = root(constants, guess)
        _, moved = jvp(lambda *c: equation(x, *c), tuple(constants), tuple(tangents[0]))
        _, slope = linearize(lambda x: equation(x, *constants), x)
        dx = tangent_solve(slope, tree.map(neg, moved))
        return (x, aux), (dx, tree.map(zero_from_primal, aux))

    x, aux = root(constants, initial_guess)
    return (x, aux) if has_aux else x


__all__ = ["custom_root"]
