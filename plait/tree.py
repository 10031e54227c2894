"""plait.tree: trees of arrays, under their short names."""

from plait.core.tree import flatten, flatten_with_path, leaves, map, structure, unflatten
from plait.tree_util import tree_all as all
from plait.tree_util import tree_leaves_with_path as leaves_with_path
from plait.tree_util import tree_map_with_path as map_with_path
from plait.tree_util import tree_reduce as reduce
from plait.tree_util import tree_reduce_associative as reduce_associative
from plait.tree_util import tree_transpose as transpose

__all__ = [
    "all",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "structure",
    "transpose",
    "unflatten",
]
