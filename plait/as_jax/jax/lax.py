"""What jax.lax has beside plait.lax: the ops themselves, as sin_p, add_p, ..."""

from typing import Any

from plait.as_jax.jax.extend.core import primitives


def __getattr__(name: str) -> Any:
    return getattr(primitives, name)


def __dir__() -> list[str]:
    return dir(primitives)
