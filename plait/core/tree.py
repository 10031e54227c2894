"""Nested containers of arrays: flatten, rebuild, paths, prefixes; and registration of classes.

The flattening itself is jaxlib's C++ (through runtime/xla.py, which lies below everything), in a
registry of plait's own: tuples, lists, dicts (keys sorted), namedtuples and None are containers,
everything else is a leaf unless its class is registered here.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from plait.core.tracebacks import trimmed
from plait.errors import ArgumentError, ArgumentTypeError, CallError, PlaitError, an, several
from plait.runtime.xla import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    PyTreeDef,
    SequenceKey,
    pytree_registry,
)

_raw_flatten = pytree_registry.flatten
KeyPath = tuple[Any, ...]

# class -> (flatten with keys, or None, flatten), for paths and one-level looks.
_classes: dict[type, Callable[[Any], tuple[Iterable[Any], Any]] | None] = {}


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """(leaves, structure). Raises ArgumentError for containers that hold themselves, or dicts whose
    keys have no order.

    >>> leaves, structure = plait.tree.flatten({"b": (1, 2), "a": 3})
    >>> print(leaves, structure)
    [3, 1, 2] PyTreeDef({'a': *, 'b': (*, *)})
    """
    try:
        return _raw_flatten(tree, is_leaf) if is_leaf is not None else _raw_flatten(tree)
    except (RecursionError, SystemError) as error:
        # jaxlib reports a RecursionError from inside its C++ as a SystemError.
        if isinstance(error, SystemError) and not isinstance(error.__cause__, RecursionError):
            raise
        raise ArgumentError(
            "a container holds itself, or is nested too deeply", fix="pass a finite tree"
        ) from None
    except ValueError as error:
        if "sorting pytree dictionary keys" not in str(error):
            raise
        raise ArgumentError(
            f"the keys of a dict cannot be sorted: {error.__cause__}",
            fix="use keys of one kind, strings say",
        ) from None


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with the given leaves.

    >>> plait.tree.unflatten(plait.tree.structure({"a": 0, "b": (0, 0)}), [1, 2, 3])
    {'a': 1, 'b': (2, 3)}
    """
    if not isinstance(treedef, PyTreeDef):
        raise ArgumentTypeError(
            f"the structure is {an(type(treedef).__name__)}",
            op="tree.unflatten",
            fix="tree.structure(tree) gives one; it comes first, then the leaves",
        )
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise CallError(
            f"the structure takes {several(treedef.num_leaves, 'leaf', 'leaves')}, "
            f"not {len(leaves)}",
            op="tree.unflatten",
            treedef=treedef,
        )
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree, from left to right.

    >>> plait.tree.leaves({"b": (1, 2), "a": 3, "c": None})
    [3, 1, 2]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a tree.

    >>> plait.tree.structure({"a": 1, "b": (2, None)})
    PyTreeDef({'a': *, 'b': (*, None)})
    """
    return flatten(tree, is_leaf)[1]


def map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """f of the leaves of one tree, or of trees of one structure, in that structure.

    >>> plait.tree.map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    first, shape = flatten(tree, is_leaf)
    others = [flatten_up_to(shape, r, "tree.map") for r in rest]
    return shape.unflatten(f(*xs) for xs in zip(first, *others, strict=True))


def flatten_up_to(shape: PyTreeDef, tree: Any, op: str | None = None) -> list[Any]:
    """The sub-trees of a tree at the leaves of a structure. Raises ArgumentError if it differs."""
    try:
        return shape.flatten_up_to(tree)
    except (ValueError, TypeError) as error:
        raise structure_error(
            "the trees have different structures",
            ("expected", shape),
            ("given", structure(tree)),
            op,
            detail=str(error).splitlines()[0],
        ) from None


def paths(shape: PyTreeDef) -> list[str]:
    """The path of each leaf of a structure, as its user would write it after a name."""
    return leaf_names(shape.unflatten([0] * shape.num_leaves), "")


def structure_error(
    summary: str,
    first: tuple[str, PyTreeDef],
    second: tuple[str, PyTreeDef],
    op: str | None,
    fix: str | None = None,
    **given: Any,
) -> CallError:
    """The error for two structures that should be equal; names the first leaf only one has."""
    (a, a_tree), (b, b_tree) = first, second
    a_paths, b_paths = paths(a_tree), paths(b_tree)
    place = ""
    for owner, mine, others in ((a, a_paths, b_paths), (b, b_paths, a_paths)):
        only = [p for p in mine if p not in others]
        if only:
            place = f": only {owner} has a leaf at {only[0] or 'the top'}"
            break
    return CallError(summary + place, op=op, fix=fix, **{a: a_tree, b: b_tree}, **given)


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """([(path, leaf), ...], structure). With is_leaf_takes_path, is_leaf is called as (path, node).

    >>> pairs, structure = plait.tree.flatten_with_path({"a": 3, "b": (1, 2)})
    >>> [(plait.tree_util.keystr(path), leaf) for path, leaf in pairs]
    [("['a']", 3), ("['b'][0]", 1), ("['b'][1]", 2)]
    """
    asked = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        plain = is_leaf
        asked = lambda _, node: plain(node)  # noqa: E731
    pairs, shape = pytree_registry.flatten_with_path(tree, asked)
    return [(tuple(path), leaf) for path, leaf in pairs], shape


def keystr(keys: Sequence[Any], *, simple: bool = False, separator: str = "") -> str:
    """The text of a path: ['w'][0].bias, or w/0/bias with simple=True, separator='/'.

    >>> path, _ = plait.tree.leaves_with_path({"w": [1.0]})[0]
    >>> plait.tree_util.keystr(path), plait.tree_util.keystr(path, simple=True, separator="/")
    ("['w'][0]", 'w/0')
    """
    if not simple:
        return separator.join(str(key) for key in keys)
    return separator.join(_simple(key) for key in keys)


def _simple(key: Any) -> str:
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def leaf_names(tree: Any, name: str) -> list[str]:
    """How a user would write each leaf of an argument: params['w'][0]."""
    return [name + keystr(path) for path, _ in flatten_with_path(tree)[0]]


def broadcast_prefix(prefix: Any, tree: Any, what: str, op: str | None = None) -> list[Any]:
    """One leaf of `prefix` for each leaf of `tree`; None is a leaf of the prefix.

    Raises: ArgumentError naming `what` if prefix is not a prefix of the tree.
    """
    flat, shape = flatten(prefix, lambda x: x is None)
    if len(flat) == 1 and shape.num_nodes == 1:
        return flat * structure(tree).num_leaves
    try:
        parts = shape.flatten_up_to(tree)
    except (ValueError, TypeError):
        raise prefix_error(prefix, tree, what, op) from None
    out: list[Any] = []
    for value, part in zip(flat, parts, strict=True):
        out.extend([value] * structure(part).num_leaves)
    return out


def prefix_error(prefix: Any, tree: Any, what: str, op: str | None = None) -> PlaitError:
    """The first place where `prefix` does not fit `tree`, in words."""
    where, problem = _first_mismatch(prefix, tree, "")
    place = f"at {what}{where}: " if where else ""
    return ArgumentError(
        f"{what} does not fit the tree it describes: {place}{problem}",
        op=op,
        fix=f"give {what} one value, or a tree whose containers match",
    )


def _first_mismatch(prefix: Any, tree: Any, where: str) -> tuple[str, str]:
    if prefix is None or _is_leaf(prefix):
        return where, "a value that fits"
    if isinstance(prefix, tuple | list) and isinstance(tree, tuple | list):
        if len(prefix) != len(tree):
            return where, f"{several(len(prefix), 'entry', 'entries')} given, {len(tree)} needed"
        if type(prefix) is not type(tree):
            return where, f"{an(type(prefix).__name__)} given, {an(type(tree).__name__)} needed"
        for k, (p, t) in enumerate(zip(prefix, tree, strict=True)):
            if not _fits(p, t):
                return _first_mismatch(p, t, f"{where}[{k}]")
    if isinstance(prefix, dict) and isinstance(tree, dict):
        if set(prefix) != set(tree):
            return where, f"keys {_keys(prefix)} given, {_keys(tree)} needed"
        for k in prefix:
            if not _fits(prefix[k], tree[k]):
                return _first_mismatch(prefix[k], tree[k], f"{where}[{k!r}]")
    kind = "a leaf" if _is_leaf(tree) else an(type(tree).__name__)
    return where, f"{an(type(prefix).__name__)} given, {kind} needed"


def _keys(tree: dict[Any, Any]) -> str:
    return ", ".join(sorted(repr(key) for key in tree)) or "none"


def _is_leaf(tree: Any) -> bool:
    return flatten(tree)[1].num_nodes == 1 and tree is not None


def _fits(prefix: Any, tree: Any) -> bool:
    try:
        flatten(prefix, lambda x: x is None)[1].flatten_up_to(tree)
    except (ValueError, TypeError):
        return False
    return True


# --- registration


def register_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make a class a container.

    flatten_func(node) -> (children, static data); unflatten_func(data, children) -> node.
    Raises: ArgumentError if the class is one already.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> plait.tree_util.register_pytree_node(
    ...     Point, lambda p: ((p.x, p.y), None), lambda _, children: Point(*children)
    ... )
    >>> plait.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)).x
    Array(3., dtype=float32, weak_type=True)
    """
    if not isinstance(nodetype, type):
        raise ArgumentTypeError("only a class can be registered as a container", nodetype=nodetype)
    if nodetype in _classes:
        raise ArgumentError(f"{nodetype.__name__} is registered as a container already")
    try:
        pytree_registry.register_node(
            nodetype, flatten_func, unflatten_func, flatten_with_keys_func
        )
    except ValueError as error:
        raise ArgumentError(f"{nodetype.__name__} is registered as a container already") from error
    _classes[nodetype] = flatten_with_keys_func


def register_node_class(cls: type) -> type:
    """Class decorator: the class has methods tree_flatten() and tree_unflatten(data, children).

    >>> @plait.tree_util.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, *parts):
    ...         self.parts = parts
    ...     def tree_flatten(self):
    ...         return self.parts, None
    ...     @classmethod
    ...     def tree_unflatten(cls, _, parts):
    ...         return cls(*parts)
    >>> plait.tree.map(lambda x: x + 1, Pair(1, 2)).parts
    (2, 3)
    """
    register_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a container of children with keys: flatten gives ((key, child), ...), data.

    >>> class Layer:
    ...     def __init__(self, w):
    ...         self.w = w
    >>> key = plait.tree_util.GetAttrKey("w")
    >>> plait.tree_util.register_pytree_with_keys(
    ...     Layer, lambda layer: (((key, layer.w),), None), lambda _, children: Layer(*children)
    ... )
    >>> plait.tree_util.keystr(plait.tree.leaves_with_path(Layer(1.0))[0][0])
    '.w'
    """

    def plain(node: Any) -> tuple[list[Any], Any]:
        pairs, data = flatten_with_keys(node)
        return [child for _, child in pairs], data

    register_node(nodetype, flatten_func or plain, unflatten_func, flatten_with_keys)


def register_with_keys_class(cls: type) -> type:
    """Class decorator: methods tree_flatten_with_keys() and tree_unflatten(data, children).

    >>> @plait.tree_util.register_pytree_with_keys_class
    ... class Layer:
    ...     def __init__(self, w):
    ...         self.w = w
    ...     def tree_flatten_with_keys(self):
    ...         return ((plait.tree_util.GetAttrKey("w"), self.w),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, _, children):
    ...         return cls(*children)
    >>> plait.tree_util.keystr(plait.tree.leaves_with_path(Layer(1.0))[0][0])
    '.w'
    """
    plain = cls.tree_flatten if hasattr(cls, "tree_flatten") else None
    register_with_keys(
        cls,
        lambda node: node.tree_flatten_with_keys(),
        cls.tree_unflatten,
        plain and (lambda node: node.tree_flatten()),
    )
    return cls


def register_dataclass(
    nodetype: type,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type:
    """Make a dataclass a container: data fields are children, meta fields static (hashable).

    Without lists, fields declared with metadata {'static': True} are static. Returns the class.
    Raises: ArgumentError unless each field that is not dropped is an argument of the constructor,
    and either data or meta.

    >>> import dataclasses
    >>> @plait.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = dataclasses.field(metadata={"static": True})
    >>> plait.tree.map(lambda x: x * 2, Layer(1.5, "first"))
    Layer(w=3.0, name='first')
    """
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise ArgumentTypeError("data_fields and meta_fields are needed", nodetype=nodetype)
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        if lost := [f.name for f in fields if not f.init]:
            raise ArgumentError(
                f"fields of {nodetype.__name__} that its constructor does not take would be lost",
                fields=lost,
                fix="name those that may be lost in drop_fields",
            )
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    if dataclasses.is_dataclass(nodetype):
        names = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(drop_fields)
        if names != set(data_fields) | set(meta_fields):
            raise ArgumentError(
                f"the fields of {nodetype.__name__} are not the data and meta fields given",
                fields=sorted(names),
                data_fields=list(data_fields),
                meta_fields=list(meta_fields),
            )
    data, meta = tuple(data_fields), tuple(meta_fields)
    if both := [name for name in data if name in meta]:
        raise ArgumentError(
            "a field is either data or meta", nodetype=nodetype.__name__, fields=both
        )

    def pairs(node: Any) -> tuple[list[tuple[Any, Any]], tuple]:
        children = [(GetAttrKey(n), getattr(node, n)) for n in data]
        return children, tuple(getattr(node, n) for n in meta)

    def plain(node: Any) -> tuple[list[Any], tuple]:
        return [getattr(node, n) for n in data], tuple(getattr(node, n) for n in meta)

    def rebuild(values: tuple, children: Iterable[Any]) -> Any:
        return nodetype(
            **dict(zip(meta, values, strict=True)), **dict(zip(data, children, strict=True))
        )

    register_with_keys(nodetype, pairs, rebuild, plain)
    return nodetype


def register_static(cls: type) -> type:
    """Make a class a container without children: its instances are static and compare by ==.

    >>> @plait.tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> plait.tree.leaves((Mode("train"), 1.0))
    [1.0]
    """
    register_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


class Partial:
    """functools.partial whose bound arguments are children of a tree, so that it can be passed
    through transformations.

    >>> scale = plait.tree_util.Partial(jnp.multiply, jnp.float32(2.0))
    >>> plait.jit(lambda f, x: f(x))(scale, 3.0)
    Array(6., dtype=float32)
    """

    def __init__(self, func: Callable[..., Any], *args: Any, **keywords: Any):
        self.func, self.args, self.keywords = func, args, keywords

    @trimmed
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.func(*self.args, *args, **{**self.keywords, **keywords})

    def __repr__(self) -> str:
        return f"Partial({self.func!r}, *{self.args!r}, **{self.keywords!r})"


register_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: (lambda a, k: Partial(func, *a, **k))(*children),
)
register_with_keys(
    collections.OrderedDict,
    lambda d: ([(DictKey(k), v) for k, v in d.items()], tuple(d)),
    lambda keys, values: collections.OrderedDict(zip(keys, values, strict=True)),
    lambda d: (list(d.values()), tuple(d)),
)
register_with_keys(
    collections.defaultdict,
    lambda d: ([(DictKey(k), d[k]) for k in sorted(d)], (d.default_factory, tuple(sorted(d)))),
    lambda data, values: collections.defaultdict(data[0], zip(data[1], values, strict=True)),
    lambda d: ([d[k] for k in sorted(d)], (d.default_factory, tuple(sorted(d)))),
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "broadcast_prefix",
    "flatten",
    "flatten_up_to",
    "flatten_with_path",
    "keystr",
    "leaf_names",
    "leaves",
    "map",
    "register_dataclass",
    "register_node",
    "register_node_class",
    "register_static",
    "register_with_keys",
    "register_with_keys_class",
    "structure",
    "unflatten",
]
