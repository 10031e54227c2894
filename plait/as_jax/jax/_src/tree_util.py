"""jax._src.tree_util."""

from plait.tree_util import *  # noqa: F403
from plait.tree_util import __all__ as _all
from plait.tree_util import flatten_one_level

__all__ = [*_all, "flatten_one_level"]
