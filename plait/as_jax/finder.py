"""The meta-path finder behind `import jax`: which module of plait stands for which of JAX's.

A module `jax.a.b` is made of two: `plait.as_jax.jax.a.b`, if there is one, which holds what exists
for JAX's programs alone, and `plait.a.b`, if that is public. Names are looked up in this order, so
that a module of the first kind lists only what the second has not.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from plait.config import read_environment
from plait.errors import PlaitRuntimeError

_SHIMS = "plait.as_jax.jax"
# What stands in plait's folders and is not promised to anyone. Of `core` and `ops` the names are
# that their packages list.
_INTERNAL = frozenset(
    (
        "as_jax",
        "config",
        "core",
        "hlo",
        "interpreters",
        "ops",
        "regions",
        "runtime",
        "testing",
        "transforms",
    )
)
_LISTED = frozenset(("plait.core", "plait.ops"))


def _missing(name: str) -> ModuleNotFoundError:
    # Without the attribute `name`: Python would replace the text of `from jax import x` by its own.
    return ModuleNotFoundError(f"plait has no {name}")


def _exists(name: str) -> bool:
    """Whether a module can be imported; its parents are."""
    if name in sys.modules:
        return True
    parent = name.rpartition(".")[0]
    if parent and not _exists(parent):
        return False
    path = getattr(sys.modules.get(parent) or importlib.import_module(parent), "__path__", None)
    return path is not None and importlib.machinery.PathFinder.find_spec(name, path) is not None


def _sources(name: str) -> list[str]:
    """The modules of plait that make up a module of JAX's, in the order of look-up."""
    rest = name.partition(".")[2]
    suffix = f".{rest}" if rest else ""
    found = [_SHIMS + suffix] if _exists(_SHIMS + suffix) else []
    public = f"plait{suffix}"
    if (rest.partition(".")[0] not in _INTERNAL or public in _LISTED) and _exists(public):
        found.append(public)
    return found


class Alias(types.ModuleType):
    """A module of JAX's name, whose names are those of modules of plait's."""

    __path__: list[str]

    def __init__(self, name: str, sources: Sequence[types.ModuleType]):
        super().__init__(name, sources[-1].__doc__)
        self._sources = sources
        self.__path__ = []  # a package: every module may have modules below it
        self.__file__ = sources[-1].__file__

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [n for n in dir(self) if n[0] != "_"]
        value = self._look_up(name)
        # Found faster the next time.
        self.__dict__[name] = value
        return value

    def _look_up(self, name: str) -> Any:
        for source in self._sources:
            if source.__name__ in _LISTED and name not in source.__all__:
                continue
            try:
                value = getattr(source, name)
            except AttributeError:
                continue
            if not isinstance(value, types.ModuleType):
                return value
        if name[:2] != "__":
            try:
                return importlib.import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError as error:
                if error.args != _missing(f"{self.__name__}.{name}").args:
                    raise
        raise AttributeError(f"plait has no {self.__name__}.{name}")

    def __dir__(self) -> list[str]:
        names = set(self.__dict__)
        for source in self._sources:
            listed = getattr(source, "__all__", None)
            names |= {
                n
                for n in (dir(source) if listed is None else listed)
                if n[0] != "_" and not isinstance(getattr(source, n), types.ModuleType)
            }
        return sorted(names)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} of plait>"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for `jax` and everything below it, so that no other finder is asked."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "jax":
            return None
        if not _sources(fullname):
            raise _missing(fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Alias(spec.name, [importlib.import_module(n) for n in _sources(spec.name)])

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is left to do: the modules behind it ran when they were imported."""


_finder = _Finder()


def _modules() -> Iterator[str]:
    yield from [n for n in sys.modules if n.partition(".")[0] == "jax"]


def install() -> None:
    """Let `import jax`, in this process and from now on, give plait.

    Switches that JAX reads from the environment (JAX_ENABLE_X64, JAX_PLATFORMS, ...) are read where
    no variable of plait's own (PLAIT_ENABLE_X64) sets them. Calling it again does nothing.

    Raises: PlaitRuntimeError if the real jax was imported already.
    """
    real = [n for n in _modules() if not isinstance(sys.modules[n], Alias)]
    if real:
        raise PlaitRuntimeError(
            "the real jax is imported already",
            op="as_jax.install",
            module=getattr(sys.modules[real[0]], "__file__", None) or real[0],
            fix="install before anything imports jax, or run python -m plait.as_jax program.py",
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        importlib.invalidate_caches()
        read_environment("JAX_")


def uninstall() -> None:
    """Let `import jax` mean what it meant before; modules that imported it keep what they have."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        for name in list(_modules()):
            del sys.modules[name]
