"""jax.extend.core.primitives: plait's ops as sin_p, add_p, ..."""

from __future__ import annotations

from typing import Any

from plait.core.primitive import Primitive, registry

# What JAX calls otherwise.
_OTHER = {
    "call_p": "jit",
    "closed_call_p": "jit",
    "pjit_p": "jit",
    "remat_p": "checkpoint",
    "custom_jvp_call_p": "custom_jvp_call",
    "custom_vjp_call_p": "custom_vjp_call",
}


def __getattr__(name: str) -> Primitive:
    op = registry.get(_OTHER.get(name, name[:-2])) if name.endswith("_p") else None
    if op is None:
        raise AttributeError(name)
    return op


def __dir__() -> list[str]:
    return sorted([*_OTHER, *(f"{name}_p" for name in registry)])


__all__: list[Any] = []
