"""The vocabulary: each op in one place, with its type, meaning, rules and lowering.

JAX has a public module of this name, `jax.ops`, with four functions; `plait.ops` shows them too.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.numpy.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def __getattr__(name: str) -> Any:
    # They are made of functions of plait.numpy, which is made of the ops here: found when asked
    # for, they do not turn the order of imports round.
    if name in __all__:
        from plait.numpy import segments

        return getattr(segments, name)
    raise AttributeError(f"module 'plait.ops' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
