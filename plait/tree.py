"""plait.tree: trees of arrays, under their short names."""

import dataclasses
from typing import Any

from plait.core.tree import flatten, flatten_with_path, leaves, map, structure, unflatten
from plait.tree_util import tree_all as all
from plait.tree_util import tree_broadcast as broadcast
from plait.tree_util import tree_leaves_with_path as leaves_with_path
from plait.tree_util import tree_map_with_path as map_with_path
from plait.tree_util import tree_reduce as reduce
from plait.tree_util import tree_reduce_associative as reduce_associative
from plait.tree_util import tree_transpose as transpose


def static(**field_options: Any) -> Any:
    """A field of a dataclass that register_dataclass keeps static; options as dataclasses.field.

    >>> import dataclasses, plait
    >>> @plait.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = plait.tree.static(default="dense")
    >>> plait.tree.leaves(Layer(1.0))
    [1.0]
    """
    metadata = {"static": True, **(field_options.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **field_options)


__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
