"""jax._src.compiler: nothing of it is there; what patches it is told so."""

from typing import Any

from plait.errors import PlaitRuntimeError


def __getattr__(name: str) -> Any:
    if name.startswith("backend_compile"):
        raise PlaitRuntimeError("plait's compilation cannot be patched", op=f"compiler.{name}")
    raise AttributeError(name)


__all__: list[str] = []
