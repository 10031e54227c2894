"""Transformed: what jit, vmap, grad and pmap return.

Two of them are equal if they transform the same function in the same way. What was traced and
compiled for one is kept with the user's function (as long as that lives) and found by all equal
ones, so that `pmap(vmap(f))` rebuilt in a loop is traced once.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

_tables: weakref.WeakKeyDictionary[Any, dict[Any, dict]] = weakref.WeakKeyDictionary()
_own_tables: weakref.WeakSet[Any] = weakref.WeakSet()


class Transformed:
    """A callable made from a function; behaves like it (name, signature, methods).

    Subclasses set `kind` and call `__init__` with the options that distinguish them, hashable.
    """

    kind = "transformed"

    def __init__(self, fun: Callable[..., Any], options: tuple):
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.options = options
        if isinstance(fun, Transformed):
            self.root, inner = fun.root, fun.recipe
        else:
            self.root, inner = fun, ()
        self.recipe: tuple = (self.kind, options, inner)

    def table(self) -> dict:
        """The dictionary that all equal transformed functions share."""
        root = self.root
        if isinstance(root, types.MethodType):
            # Every access of obj.method makes a new object: nothing to hang a table on.
            return self._own_table()
        try:
            return _tables.setdefault(root, {}).setdefault(self.recipe, {})
        except TypeError:
            return self._own_table()

    def _own_table(self) -> dict:
        _own_tables.add(self)
        return {}

    def clear(self) -> None:
        """Forget what was traced and compiled."""
        self.table().clear()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transformed):
            return NotImplemented
        return self.root is other.root and self.recipe == other.recipe

    def __hash__(self) -> int:
        return hash((id(self.root), self.recipe))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.fun!r}>"


def clear_tables() -> None:
    """Empty the tables of all transformed functions."""
    for by_recipe in list(_tables.values()):
        for table in list(by_recipe.values()):
            # What is in it is held by the functions that share it as well.
            for held in table.values():
                held.clear()
    for transformed in list(_own_tables):
        transformed.clear()
