"""Formula: a function of numbers that broadcast, compiled whole; and what formulas share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plait.numpy as jnp
from plait.numpy.promotion import INEXACT_KIND, promote
from plait.transforms.choices import PerChoice


class Formula:
    """A function of arrays in one float dtype and one shape, or scalars, as a compiled program.

    Called with the name that messages show, and the user's arguments; `of` is the plain function.
    """

    def __init__(self, function: Callable[..., Any]):
        self.of = function
        self.program = PerChoice(function)

    def __call__(self, name: str, *xs: Any) -> Any:
        return self.program(*promote(name, xs, INEXACT_KIND, together=False))


def exp_of(formula: Formula) -> Formula:
    """exp(formula(...))."""

    def exponential(*xs: Any) -> Any:
        return jnp.exp(formula.of(*xs))

    return Formula(exponential)


def log_of(formula: Formula) -> Formula:
    """log(formula(...))."""

    def logarithm(*xs: Any) -> Any:
        return jnp.log(formula.of(*xs))

    return Formula(logarithm)


def scaled(x: Any, loc: Any, scale: Any) -> Any:
    """(x - loc) / scale."""
    return (x - loc) / scale


def inside(within: Any, x: Any, ordinary: float) -> Any:
    """x where `within`, else a number at which formulas are tame; NaN stays."""
    return jnp.where(within | (x != x), x, ordinary)


def probability(q: Any) -> Any:
    """q where it is from 0 to 1, else NaN."""
    return jnp.where((q >= 0) & (q <= 1), q, jnp.nan)
