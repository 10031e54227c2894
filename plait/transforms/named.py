"""named_scope, named_call, composite: names for parts of a program, seen in HLO and profiles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from plait.core.source import function_name, scope
from plait.core.tracebacks import trimmed
from plait.errors import ArgumentTypeError
from plait.transforms.arguments import check_callable


def named_scope(name: str) -> Any:
    """`with named_scope("attention"):` — ops traced in the block carry the name, nested ones both.

    It stands in the op names of the compiled program, and so in profiles and in XLA's messages.
    Works as a decorator too. Raises: ArgumentTypeError if name is not a string.

    >>> def f(x):
    ...     with plait.named_scope("layer"):
    ...         return jnp.sin(x)
    >>> "layer/sin" in plait.jit(f).lower(1.0).compile().as_text()
    True
    """
    if not isinstance(name, str):
        raise ArgumentTypeError("the name is a string", op="named_scope", name=name)
    return scope(name)


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """The function, run in a named_scope: of its own name, unless another is given.

    >>> f = plait.named_call(lambda x: jnp.sin(x), name="layer")
    >>> "layer/sin" in plait.jit(f).lower(1.0).compile().as_text()
    True
    """
    check_callable(fun, "named_call")
    label = function_name(fun) if name is None else name

    @trimmed
    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(label):
            return fun(*args, **kwargs)

    return named


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """The function, run in a named_scope; keyword arguments are static.

    Compilers see what the function is made of under the name, not one op that some of them may have
    a kernel for; version changes nothing. Derivatives are those of the function.

    >>> lax.composite(lambda x, *, n: x * n, "mine.times")(2.0, n=3)
    6.0
    """
    if not isinstance(version, int):
        raise ArgumentTypeError("the version is an int", op="composite", version=version)
    return named_call(decomposition, name=name)


__all__ = ["composite", "named_call", "named_scope"]
