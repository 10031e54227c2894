"""jax.ref: arrays that change. plait has none; libraries that can do without them ask for these."""

from typing import Any, NoReturn

from plait.errors import ArgumentTypeError


class Ref:
    """Nothing is one."""


class AbstractRef:
    """Nothing is one."""


def new_ref(*_: Any, **__: Any) -> NoReturn:
    """Raise ArgumentTypeError."""
    raise ArgumentTypeError(
        "plait has no arrays that change",
        op="jax.new_ref",
        fix="x = x.at[i].set(v) makes a new array; in flax.nnx leave use_ref at False",
    )


__all__ = ["AbstractRef", "Ref", "new_ref"]
