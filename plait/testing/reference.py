"""The NumPy interpreter: what a function or Program means, by every op's `numpy` alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.program import Program
from plait.core.program import reference as run_by_numpy
from plait.core.source import function_name
from plait.core.stage import stage
from plait.core.types import type_of
from plait.runtime.array import Array, canonical_value


def to_numpy(x: Any) -> np.ndarray:
    """An array or number as the NumPy array that ops' `numpy` take: in plait's dtype, keys as
    uint64.
    """
    if isinstance(x, Array):
        return x.host()
    return np.asarray(canonical_value(x, type_of(x)))


def reference(function: Callable[..., Any] | Program) -> Callable[..., Any]:
    """A function that computes what `function` does with NumPy alone: nothing is compiled.

    The function is traced for its arguments, as by jit; its results are NumPy arrays in their
    containers. A Program takes flat arguments and gives a tuple.

    >>> import plait.numpy as jnp
    >>> from plait.testing import reference
    >>> float(reference(lambda x: jnp.exp(x) - 1.0)(0.0))
    0.0
    """
    if isinstance(function, Program):
        return lambda *args: run_by_numpy(function, *map(to_numpy, args))

    def by_numpy(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        shape: list[tree.PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            positional, named = structure.unflatten(xs)
            ys, out = tree.flatten(function(*positional, **named))
            shape.append(out)
            return ys

        name = function_name(function)
        program, captured = stage(
            flat, [type_of(x) for x in leaves], transformation="reference", name=name
        )
        values = [*map(to_numpy, captured), *map(to_numpy, leaves)]
        results = [
            np.asarray(y, dtypes.storage(t.dtype))
            for y, t in zip(run_by_numpy(program, *values), program.out_types, strict=True)
        ]
        return shape[0].unflatten(results)

    return by_numpy
