"""Trees: containers, registration, paths, prefixes, and what goes wrong."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

import plait as jax
from plait import tree_util
from plait.core import tree
from plait.errors import ArgumentError, ArgumentTypeError

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value, leaves",
    [
        (1, [1]),
        (None, []),
        ((1, [2, 3], {"b": 5, "a": 4}), [1, 2, 3, 4, 5]),
        ({}, []),
        ((), []),
        (Point(1, (2,)), [1, 2]),
        (collections.OrderedDict(b=1, a=2), [1, 2]),
        (collections.defaultdict(list, b=1, a=2), [2, 1]),
        ("text", ["text"]),
    ],
    ids=str,
)
def test_containers_go_apart_and_together(value, leaves):
    flat, structure = tree.flatten(value)
    assert flat == leaves and structure.num_leaves == len(leaves)
    again = tree.unflatten(structure, flat)
    assert again == value and type(again) is type(value)
    assert structure == tree.structure(again) and hash(structure) == hash(tree.structure(again))
    doubled = tree.map(lambda x: (x, x), value)
    assert tree.leaves(doubled) == [y for x in leaves for y in (x, x)]


def test_what_counts_as_a_leaf_can_be_said():
    value = {"a": (1, 2), "b": [3]}
    assert tree.leaves(value, lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert tree.leaves([None, 1], lambda x: x is None) == [None, 1]
    assert tree.map(len, value, is_leaf=lambda x: isinstance(x, tuple | list)) == {"a": 2, "b": 1}


def test_map_over_several_trees():
    assert tree.map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)}) == {
        "x": 11,
        "y": (22,),
    }
    # A later tree may go deeper: what lies below a leaf of the first is passed as it is.
    assert tree.map(lambda a, b: b, (1, 2), ([3], 4)) == ([3], 4)
    with pytest.raises(ArgumentError, match="different structures"):
        tree.map(lambda a, b: a, (1, 2), (1, 2, 3))
    with pytest.raises(ArgumentError, match="different structures"):
        tree.map(lambda a, b: a, {"x": 1}, {"z": 1})


def test_paths():
    value = {"w": [1, (2, 3)], "p": Point(4, None)}
    pairs, _ = tree.flatten_with_path(value)
    assert [(tree.keystr(path), leaf) for path, leaf in pairs] == [
        ("['p'].x", 4),
        ("['w'][0]", 1),
        ("['w'][1][0]", 2),
        ("['w'][1][1]", 3),
    ]
    assert tree.keystr(pairs[2][0], simple=True, separator="/") == "w/1/0"
    assert pairs[0][0] == (tree.DictKey("p"), tree.GetAttrKey("x"))
    assert tree.leaf_names(value, "params")[1] == "params['w'][0]"
    named = tree_util.tree_map_with_path(lambda path, x: f"{tree.keystr(path)}={x}", value)
    assert named["w"][1] == ("['w'][1][0]=2", "['w'][1][1]=3")


def test_a_container_that_holds_itself():
    loop = []
    loop.append(loop)
    with pytest.raises(ArgumentError, match="holds itself"):
        tree.flatten(loop)
    with pytest.raises(ArgumentError, match="holds itself"):
        jax.jit(lambda x: x)(loop)
    assert tree.leaves([1]) == [1]


# --- registration


def test_register_a_class():
    class Pair:
        def __init__(self, a, b, name):
            self.a, self.b, self.name = a, b, name

    tree.register_node(Pair, lambda p: ((p.a, p.b), p.name), lambda name, c: Pair(*c, name))
    doubled = jax.jit(lambda p: tree.map(lambda x: 2 * x, p))(Pair(1.0, np.ones(2), "here"))
    assert doubled.name == "here" and float(doubled.a) == 2.0
    assert tree.structure(Pair(1, 2, "a")) != tree.structure(Pair(1, 2, "b"))
    assert tree_util.keystr(tree.flatten_with_path(Pair(1, 2, ""))[0][1][0])
    with pytest.raises(ArgumentError, match="Pair is registered as a container already"):
        tree.register_node(Pair, lambda p: ((), None), lambda *_: None)
    with pytest.raises(ArgumentTypeError, match="only a class"):
        tree.register_node(Pair(1, 2, ""), lambda p: ((), None), lambda *_: None)


def test_register_with_methods():
    @tree_util.register_pytree_node_class
    class Ring:
        def __init__(self, *items):
            self.items = items

        def tree_flatten(self):
            return self.items, None

        @classmethod
        def tree_unflatten(cls, _, items):
            return cls(*items)

    assert tree.map(lambda x: -x, Ring(1, 2)).items == (-1, -2)

    @tree_util.register_pytree_with_keys_class
    class Named:
        def __init__(self, left):
            self.left = left

        def tree_flatten_with_keys(self):
            return ((tree.GetAttrKey("left"), self.left),), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    assert tree.leaf_names(Named([1, 2]), "x") == ["x.left[0]", "x.left[1]"]
    assert tree.map(lambda x: x + 1, Named(1)).left == 2


def test_register_a_dataclass():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: object
        b: object
        name: str = dataclasses.field(default="", metadata={"static": True})

    layer = Layer(np.ones(2, np.float32), 1.0, "first")
    assert tree.leaf_names(layer, "layer") == ["layer.w", "layer.b"]
    slope = jax.grad(lambda p: (p.w * p.w).sum() * p.b)(layer)
    assert type(slope) is Layer and slope.name == "first"
    np.testing.assert_allclose(slope.w, [2.0, 2.0])

    @functools.partial(
        tree_util.register_dataclass, data_fields=["a"], meta_fields=["k"], drop_fields=["cache"]
    )
    @dataclasses.dataclass
    class Cached:
        a: object
        k: int
        cache: object = None

    again = tree.map(lambda x: x, Cached(1, 2, "seen"))
    assert (again.a, again.k, again.cache) == (1, 2, None)

    @dataclasses.dataclass
    class Odd:
        a: object
        b: object

    with pytest.raises(ArgumentError, match="are not the data and meta fields given"):
        tree_util.register_dataclass(Odd, ["a"], [])
    with pytest.raises(ArgumentTypeError, match="data_fields and meta_fields are needed"):
        tree_util.register_dataclass(int)
    with pytest.raises(ArgumentError, match="either data or meta"):
        tree_util.register_dataclass(Odd, ["a", "b"], ["a"])

    @dataclasses.dataclass
    class Counted:
        a: object
        count: int = dataclasses.field(default=0, init=False)

    with pytest.raises(ArgumentError, match="would be lost"):
        tree_util.register_dataclass(Counted)
    tree_util.register_dataclass(Counted, drop_fields=["count"])
    assert tree.leaves(Counted(1)) == [1]


def test_static_fields():
    assert dict(jax.tree.static().metadata) == {"static": True}
    mine = jax.tree.static(metadata={"static": False, "unit": "m"}, default=3)
    assert dict(mine.metadata) == {"static": False, "unit": "m"} and mine.default == 3


def test_structures_can_be_pickled_and_copied():
    value = {"a": [1, Point(2, None)], "b": (3,)}
    leaves, structure = tree.flatten(value)
    for again in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure)):
        assert again == structure and tree.unflatten(again, leaves) == value


def test_static_classes_have_no_leaves():
    @tree_util.register_static
    class Mode(str):
        pass

    assert tree.leaves([Mode("train"), 1]) == [1]
    assert tree.structure(Mode("train")) == tree.structure(Mode("train"))
    assert tree.structure(Mode("train")) != tree.structure(Mode("test"))


def test_partial_is_a_container():
    def scaled(k, x, *, shift):
        return k * x + shift

    f = tree_util.Partial(scaled, 3.0, shift=1.0)
    assert tree.leaves(f) == [3.0, 1.0] and f(2.0) == 7.0
    assert float(jax.jit(lambda f, x: f(x))(f, 2.0)) == 7.0
    assert tree.map(lambda x: 2 * x, f)(1.0) == 8.0
    assert "scaled" in repr(f)


# --- prefixes


def test_a_prefix_gives_one_value_for_each_leaf():
    value = {"a": (1, 2), "b": [3, 4]}
    assert tree.broadcast_prefix(0, value, "in_axes") == [0] * 4
    assert tree.broadcast_prefix({"a": 0, "b": [1, None]}, value, "in_axes") == [0, 0, 1, None]
    assert tree.broadcast_prefix(None, value, "in_axes") == [None] * 4
    assert tree.broadcast_prefix({"a": None, "b": 1}, value, "in_axes") == [None, None, 1, 1]


@pytest.mark.parametrize(
    "prefix, words",
    [
        ({"a": 0}, "keys 'a' given, 'a', 'b' needed"),
        ({"a": (0, 1, 2), "b": 0}, "at in_axes['a']: 3 entries given, 2 needed"),
        ({"a": [0, 1], "b": 0}, "at in_axes['a']: a list given, a tuple needed"),
        ({"a": ((0,), 0), "b": 0}, "at in_axes['a'][0]: a tuple given, a leaf needed"),
        ((0, 1), "a tuple given, a dict needed"),
    ],
    ids=str,
)
def test_a_prefix_that_does_not_fit_is_explained(prefix, words):
    with pytest.raises(ArgumentError) as caught:
        tree.broadcast_prefix(prefix, {"a": (1, 2), "b": [3, 4]}, "in_axes", "vmap")
    text = str(caught.value)
    assert text.startswith("vmap: in_axes does not fit the tree it describes") and words in text


# --- the public functions


def test_reductions_and_turning_inside_out():
    value = {"a": [1, 2], "b": (3,)}
    assert tree_util.tree_reduce(lambda a, b: a + b, value) == 6
    assert tree_util.tree_reduce(lambda a, b: a * b, value, 10) == 60
    assert tree_util.tree_reduce_associative(lambda a, b: a + b, ["x", "y", "z"]) == "xyz"
    assert tree_util.tree_all({"a": True, "b": [1, 1]}) and not tree_util.tree_all([1, 0])
    outer, inner = tree.structure((0, 0)), tree.structure({"x": 0})
    assert tree_util.tree_transpose(outer, inner, ({"x": 1}, {"x": 2})) == {"x": (1, 2)}
    assert jax.tree.transpose(outer, None, ([1, 2], [3, 4])) == [(1, 3), (2, 4)]


def test_short_and_long_names_are_the_same():
    assert jax.tree.map is tree_util.tree_map and jax.tree.flatten is tree_util.tree_flatten
    assert jax.tree_map is jax.tree.map


def test_leaves_by_their_paths():
    tree = {"a": (1, 2), "b": 3}
    pairs = jax.tree.map_with_path(
        lambda path, x: (len(path), x), tree, is_leaf=lambda x: isinstance(x, tuple)
    )
    assert pairs == {"a": (1, (1, 2)), "b": (1, 3)}
    at_top = lambda path, x: len(path) == 1
    found = jax.tree.leaves_with_path(tree, is_leaf=at_top, is_leaf_takes_path=True)
    assert [x for _, x in found] == [(1, 2), 3]
    flat, shape = jax.tree.flatten_with_path(tree, at_top, is_leaf_takes_path=True)
    assert len(flat) == shape.num_leaves == 2


def test_vectors_of_trees():
    ravel = jax.flatten_util.ravel_pytree
    same = {"a": np.float32([1, 2]), "b": np.float32(3)}
    vector, back = ravel(same)
    assert np.array_equal(vector, [1, 2, 3])
    # A tree of one dtype has that of the vector: nothing of it is lost.
    for dtype in (np.int32, np.complex64, np.bool_):
        found = back(np.ones(3).astype(dtype))
        assert found["a"].dtype == found["b"].dtype == dtype and found["a"].shape == (2,)
    mixed = {"a": np.float32([1, 2]), "n": np.int32(3)}
    vector, back_mixed = ravel(mixed)
    found = back_mixed(vector)
    assert found["a"].dtype == np.float32 and found["n"].dtype == np.int32 and int(found["n"]) == 3
    for wrong in (np.ones(3, np.complex64), np.ones(3, np.int32)):
        with pytest.raises(TypeError, match=r"several dtypes.*\n(.*\n)*.*float32"):
            back_mixed(wrong)
    # Equal for trees of one kind, so that a function that takes one compiles once.
    assert back == ravel(jax.tree.map(lambda x: 2 * x, same))[1] != back_mixed
    assert hash(back) == hash(ravel(same)[1])
    assert ravel(())[0].shape == (0,) and ravel(())[1](np.zeros(0)) == ()
