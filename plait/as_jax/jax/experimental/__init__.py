"""What jax.experimental has beside plait.experimental, for libraries that can do without it."""

from typing import Any, NoReturn

from plait.as_jax.jax.experimental.hijax import refuse


def cur_qdd(x: Any) -> NoReturn:
    """Raise ArgumentTypeError."""
    refuse("jax.experimental.cur_qdd")


__all__ = ["cur_qdd"]
