"""What plait.numpy tells programs written for the Python array API standard about itself."""

from __future__ import annotations

from typing import Any

from plait.config import state
from plait.core import dtypes
from plait.errors import ArgumentError
from plait.runtime import client

VERSION = "2024.12"

_SIZES = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
    None: tuple(_SIZES),
}
_WIDE = ("int64", "uint64", "float64", "complex128")


class NamespaceInfo:
    """Answers of `plait.numpy.__array_namespace_info__()`. Source: the standard, 2024.12."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks index outside of jit; shapes that depend on values exist only there."""
        return {"boolean indexing": True, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where new arrays go."""
        return client.default_device()

    def devices(self) -> list[Any]:
        """The devices of the default platform."""
        return client.devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of Python's numbers, which depend on the switch enable_x64."""
        return {
            "real floating": dtypes.canonical(dtypes.float64),
            "complex floating": dtypes.canonical(dtypes.complex128),
            "integral": dtypes.default_int(),
            "indexing": dtypes.default_int(),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes by name, of one kind or a tuple of kinds; 64-bit ones with x64.

        Raises: ArgumentError for a kind the standard does not know.
        """
        if isinstance(kind, tuple):
            return {k: v for part in kind for k, v in self.dtypes(kind=part).items()}
        if kind not in _SIZES and kind not in _UNIONS:
            raise ArgumentError(
                "no such kind of dtypes",
                op="dtypes",
                kind=kind,
                fix="one of " + ", ".join([*_SIZES, "integral", "numeric"]),
            )
        names = [n for part in _UNIONS.get(kind, (kind,)) for n in _SIZES[part]]
        return {n: dtypes.as_dtype(n) for n in names if state.enable_x64 or n not in _WIDE}


def array_namespace_info() -> NamespaceInfo:
    """Capabilities, devices and dtypes, for programs written for the array API standard.

    >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return NamespaceInfo()


__all__ = ["VERSION", "NamespaceInfo", "array_namespace_info"]
