"""jax._src.tree_util: what plait.tree_util has, and a table of the registered classes."""

from plait.tree_util import *  # noqa: F403
from plait.tree_util import flatten_one_level, is_tree_node


class _Registry:
    """Which classes are containers."""

    def __contains__(self, cls: type) -> bool:
        return is_tree_node(cls)


_registry = _Registry()

__all__ = ["flatten_one_level"]
