"""WrappedFun: a function with transformations of its arguments and results around it.

JAX's own machinery, of which libraries use a little to flatten arguments. A transformation is a
generator function: it yields the arguments for the function inside as (args, kwargs), is sent the
result, and yields what the transformed function returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.core import tree
from plait.errors import PlaitRuntimeError


class Store:
    """What a transformation leaves behind for its caller, once it has run."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    @property
    def val(self) -> Any:
        """The value. Raises: PlaitRuntimeError if the function has not run yet."""
        if not self.values:
            raise PlaitRuntimeError("the function has not been called yet", op="linear_util")
        return self.values[-1]


class WrappedFun:
    """A function inside of transformations, innermost first."""

    def __init__(self, f: Callable[..., Any], transforms: tuple[Any, ...], params: Any):
        self.f, self.transforms, self.params = f, transforms, params

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", repr(self.f))

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        pending = []
        for make, given, store in reversed(self.transforms):
            generator = make(*given, *args, **kwargs)
            args, kwargs = next(generator)
            pending.append((generator, store))
        result = self.f(*args, **{**(self.params or {}), **kwargs})
        for generator, store in reversed(pending):
            result = generator.send(result)
            if store is not None:
                result, aux = result
                store.values.append(aux)
            generator.close()
        return result

    __call__ = call_wrapped


def wrap_init(f: Callable[..., Any], params: Any = None, *, debug_info: Any = None) -> WrappedFun:
    """A function without transformations."""
    return WrappedFun(f, (), params)


def transformation(generator: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Make a generator function into a function of (WrappedFun, *its first arguments)."""

    def transform(fun: WrappedFun, *given: Any) -> WrappedFun:
        return WrappedFun(fun.f, (*fun.transforms, (generator, given, None)), fun.params)

    return transform


def transformation_with_aux(generator: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """The same for a generator that yields (result, aux) last; aux comes from a second function."""

    def transform(fun: WrappedFun, *given: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        made = WrappedFun(fun.f, (*fun.transforms, (generator, given, store)), fun.params)
        return made, lambda: store.val

    return transform


def _flatten_fun(in_tree: Any, *leaves: Any) -> Any:
    args, kwargs = in_tree.unflatten(leaves)
    result = yield args, kwargs
    yield tree.flatten(result)


def _flatten_fun_nokwargs(in_tree: Any, *leaves: Any) -> Any:
    result = yield in_tree.unflatten(leaves), {}
    yield tree.flatten(result)


flatten_fun = transformation_with_aux(_flatten_fun)
flatten_fun_nokwargs = transformation_with_aux(_flatten_fun_nokwargs)
