"""jax.api_util: how JAX flattens arguments, of which libraries use a little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from plait.as_jax.linear_util import WrappedFun, flatten_fun, flatten_fun_nokwargs, wrap_init
from plait.core import tree
from plait.core.types import ArrayType, type_of


class DebugInfo(NamedTuple):
    """What a function and its arguments are called."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...]


def debug_info(
    traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: Any, **_: Any
) -> DebugInfo:
    """Names for messages."""
    names = [n for k, x in enumerate(args) for n in tree.leaf_names(x, f"args[{k}]")]
    names += [n for key, x in kwargs.items() for n in tree.leaf_names(x, key)]
    return DebugInfo(traced_for, getattr(fun, "__name__", repr(fun)), tuple(names))


def shaped_abstractify(x: Any) -> ArrayType:
    """The type of an array, a number, or anything with a shape and a dtype."""
    if hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "type"):
        return ArrayType(x.shape, x.dtype, getattr(x, "weak_type", False))
    return type_of(x)


def safe_map(f: Callable[..., Any], *xs: Any) -> list[Any]:
    """[f(a, b), ...] for sequences of one length."""
    return [f(*row) for row in zip(*xs, strict=True)]


def argnums_partial(
    f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any], **_: Any
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """(the function of the arguments with the given numbers alone, these arguments)."""
    n = len(args)
    numbers = [dyn_argnums] if isinstance(dyn_argnums, int) else list(dyn_argnums)
    numbers = [k % n for k in numbers]

    def partial(*dynamic: Any, **kwargs: Any) -> Any:
        full = list(args)
        for k, x in zip(numbers, dynamic, strict=True):
            full[k] = x
        return f.call_wrapped(*full, **kwargs)

    return wrap_init(partial), tuple(args[k] for k in numbers)


def flatten_axes(name: str, treedef: Any, axis_tree: Any, **_: Any) -> list[Any]:
    """One axis for each leaf of a structure."""
    dummy = treedef.unflatten([0] * treedef.num_leaves)
    return tree.broadcast_prefix(axis_tree, dummy, name)


__all__ = [
    "DebugInfo",
    "argnums_partial",
    "debug_info",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "safe_map",
    "shaped_abstractify",
]
