"""jax._src.tree_util: what plait.tree_util has."""

from plait.tree_util import *  # noqa: F403
from plait.tree_util import flatten_one_level

__all__ = ["flatten_one_level"]
