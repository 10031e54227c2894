"""Where a function's result lies: the arguments `device=` and `out_sharding=`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def placed(x: Any, where: Any) -> Any:
    """x on a device, or spread as a sharding says: moved, or inside jit with a constraint."""
    if where is None:
        return x
    from plait.runtime.transfer import device_put

    return device_put(x, where)


def takes_out_sharding(
    function: Callable[..., Any], name: str = "out_sharding", part: int | None = None
) -> Callable[..., Any]:
    """A function with a keyword argument more, which says how its result is spread, or of several
    results that with the number `part`.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if name not in kwargs:
            return function(*args, **kwargs)
        where = kwargs.pop(name)
        y = function(*args, **kwargs)
        if part is None:
            return placed(y, where)
        return (*y[:part], placed(y[part], where), *y[part + 1 :])

    signature = inspect.signature(function)
    keyword = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
    parameters = [*signature.parameters.values(), keyword]
    parameters.sort(key=lambda p: p.kind)
    call.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    return call


__all__ = ["placed", "takes_out_sharding"]
