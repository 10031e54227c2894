"""plait.tree_util: trees of arrays, under JAX's long names; see plait.tree for the short ones."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from plait.core import tree as _tree
from plait.core.tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    Partial,
    PyTreeDef,
    SequenceKey,
    keystr,
    register_dataclass,
    register_static,
)
from plait.core.tree import flatten as tree_flatten
from plait.core.tree import flatten_with_path as _flatten_with_path
from plait.core.tree import leaves as tree_leaves
from plait.core.tree import map as tree_map
from plait.core.tree import register_node as register_pytree_node
from plait.core.tree import register_node_class as register_pytree_node_class
from plait.core.tree import register_with_keys as register_pytree_with_keys
from plait.core.tree import register_with_keys_class as register_pytree_with_keys_class
from plait.core.tree import structure as tree_structure
from plait.core.tree import unflatten as tree_unflatten
from plait.errors import ArgumentError
from plait.runtime.xla import pytree_registry as default_registry

_MISSING = object()


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """function(function(leaf0, leaf1), leaf2)..., from the left.

    >>> plait.tree.reduce(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, 0)
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _MISSING:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Combine the leaves pairwise, as a balanced tree, by an associative function.

    >>> plait.tree.reduce_associative(lambda x, y: x + y, {"a": 1, "b": (2, 3)})
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if not leaves:
        if identity is _MISSING:
            raise ArgumentError(
                "the tree has no leaves", op="tree_reduce_associative", fix="give identity="
            )
        return identity
    while len(leaves) > 1:
        pairs = [operation(a, b) for a, b in zip(leaves[::2], leaves[1::2], strict=False)]
        leaves = pairs + (leaves[-1:] if len(leaves) % 2 else [])
    return leaves[0]


def tree_all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves are true.

    >>> plait.tree.all({"a": True, "b": (True, False)})
    False
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A tree of outer structure whose leaves have the inner one, turned inside out.

    >>> outer, inner = plait.tree.structure([0, 0]), plait.tree.structure({"a": 0, "b": 0})
    >>> plait.tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    parts = _tree.flatten_up_to(outer_treedef, pytree_to_transpose, "tree_transpose")
    inner = tree_structure(parts[0]) if inner_treedef is None else inner_treedef
    rows = [_tree.flatten_up_to(inner, part, "tree_transpose") for part in parts]
    columns = [outer_treedef.unflatten(column) for column in zip(*rows, strict=True)]
    return inner.unflatten(columns)


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """([(path, leaf), ...], structure). With is_leaf_takes_path, is_leaf is called as (path, node).

    Paths are tuples of keys; `keystr` gives their text.

    >>> pairs, structure = plait.tree_util.tree_flatten_with_path({"a": 3, "b": (1, 2)})
    >>> [(plait.tree_util.keystr(path), leaf) for path, leaf in pairs]
    [("['a']", 3), ("['b'][0]", 1), ("['b'][1]", 2)]
    """
    return _flatten_with_path(tree, is_leaf, is_leaf_takes_path)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """[(path, leaf), ...].

    >>> for path, leaf in plait.tree.leaves_with_path({"a": 3, "b": (1, 2)}):
    ...     print(plait.tree_util.keystr(path), leaf)
    ['a'] 3
    ['b'][0] 1
    ['b'][1] 2
    """
    return _flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """f(path, leaf, *other leaves), in the tree's structure.

    >>> name = lambda path, x: f"{plait.tree_util.keystr(path)} = {x}"
    >>> plait.tree.map_with_path(name, {"a": 1, "b": [2]})
    {'a': "['a'] = 1", 'b': ["['b'][0] = 2"]}
    """
    pairs, shape = _flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [_tree.flatten_up_to(shape, r, "tree_map_with_path") for r in rest]
    return shape.unflatten(
        f(path, leaf, *xs) for (path, leaf), *xs in zip(pairs, *others, strict=True)
    )


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is a single leaf.

    >>> plait.tree_util.treedef_is_leaf(plait.tree.structure(1.0))
    True
    """
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children.

    >>> plait.tree_util.treedef_children(plait.tree.structure({"a": 0, "b": (0, 0)}))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose entries have the given structures.

    >>> one = plait.tree.structure([0, 0])
    >>> plait.tree_util.treedef_tuple([one, one])
    PyTreeDef(([*, *], [*, *]))
    """
    dummies = tuple(d.unflatten([0] * d.num_leaves) for d in treedefs)
    return tree_structure(dummies)


def tree_broadcast(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The leaves of a prefix of a tree, repeated until the structure is that of the tree.

    Raises: ArgumentError if it is no prefix of it.

    >>> plait.tree.broadcast({"a": 1}, {"a": (2, 3)})
    {'a': (1, 1)}
    """
    leaves, shape = tree_flatten(prefix_tree, is_leaf)
    parts = _tree.flatten_up_to(shape, full_tree, "tree_broadcast")
    full = tree_structure(full_tree, is_leaf)
    counts = [len(tree_leaves(part, is_leaf)) for part in parts]
    return full.unflatten([x for x, n in zip(leaves, counts, strict=True) for _ in range(n)])


def is_tree_node(typ: type) -> bool:
    """Whether objects of a class are containers: built-in ones, or of a registered class.

    >>> plait.tree_util.is_tree_node(dict), plait.tree_util.is_tree_node(set)
    (True, False)
    """
    return default_registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """(children, what the container keeps of itself), without looking into the children.

    Raises: ArgumentError for a leaf.

    >>> plait.tree_util.flatten_one_level({"b": [1, 2], "a": 3})
    ((3, [1, 2]), ('a', 'b'))
    """
    found = default_registry.flatten_one_level(tree)
    if found is None:
        raise ArgumentError("this is a leaf", op="flatten_one_level", tree=tree)
    return found


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """((key, child), ...) and what the container keeps of itself; see flatten_one_level.

    Raises: ArgumentError for a leaf.

    >>> pairs, _ = plait.tree_util.flatten_one_level_with_keys({"b": [1, 2], "a": 3})
    >>> [(str(key), child) for key, child in pairs]
    [("['a']", 3), ("['b']", [1, 2])]
    """
    found = default_registry.flatten_one_level_with_keys(tree)
    if found is None:
        raise ArgumentError("this is a leaf", op="flatten_one_level_with_keys", tree=tree)
    return found


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every element is a leaf.

    >>> plait.tree_util.all_leaves([1, 2.5]), plait.tree_util.all_leaves([1, (2, 3)])
    (True, False)
    """
    items = list(iterable)
    return all(a is b for a, b in zip(items, tree_leaves(items, is_leaf), strict=False)) and len(
        items
    ) == len(tree_leaves(items, is_leaf))


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """The tree of a structure from nested iterables of leaves.

    >>> plait.tree_util.build_tree(plait.tree.structure({"a": 0, "b": (0, 0)}), [1, [2, 3]])
    {'a': 1, 'b': (2, 3)}
    """
    return treedef.unflatten(tree_leaves(xs))


def tree_sum(
    tree: Any, initializer: Any = _MISSING, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The sum of the leaves, from the left; of initializer too, which a tree without leaves needs.

    >>> plait.tree_util.tree_sum({"a": 1, "b": (2, 3)})
    6
    """
    return tree_reduce(operator.add, tree, initializer, is_leaf)


KeyEntry = Any

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "build_tree",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_sum",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
