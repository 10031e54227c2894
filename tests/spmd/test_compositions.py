"""Compositions of transformations around and inside of maps, drawn by hypothesis: pmap is vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plait as jax
import plait.numpy as jnp
from plait import lax

# --- bodies: functions of one row x and a shared number w that keep shape and dtype


def ring(n: int) -> list[tuple[int, int]]:
    return [(k, (k + 1) % n) for k in range(n)]


def some(n: int) -> list[tuple[int, int]]:
    return [(k, n - 1 - k) for k in range(0, n, 2)]


def halves(n: int) -> list[list[int]]:
    return [list(range(k, n, 2)) for k in range(2)] if n % 2 == 0 else [list(range(n))]


def copies(x: Any, n: int) -> Any:
    """x times 1, 2, ... n, one for each position."""
    return jnp.stack([x * (k + 1) for k in range(n)])


def gathered(x: Any, w: Any, i: str, n: int) -> Any:
    weights = (1 + jnp.arange(n)).reshape(-1, *[1] * x.ndim)
    return (lax.all_gather(x, i) * weights).sum(0) / n**2


def looped(x: Any, w: Any, i: str, n: int) -> Any:
    return lax.fori_loop(0, 2, lambda _, c: (c + lax.psum(c, i)) / (n + 1), x)


def scanned(x: Any, w: Any, i: str, n: int) -> Any:
    return lax.scan(lambda c, _: (lax.ppermute(c, i, ring(n)) * w, c), x, None, length=2)[0]


def while_all(x: Any, w: Any, i: str, n: int) -> Any:
    """A loop whose number of rounds all positions agree on, and whose body and condition sum."""

    def go_on(state: Any) -> Any:
        return (state[0] < 3) & (lax.pmin(state[0], i) < 2)

    def body(state: Any) -> Any:
        k, c = state
        return k + 1, lax.fori_loop(0, 2, lambda _, c: (c + lax.psum(c, i)) / (n + 1), c)

    # As a scan, so that it has a slope in reverse as well; the while loop has none.
    known = lax.stop_gradient(lax.while_loop(go_on, body, (0, lax.stop_gradient(x)))[1])
    return known + lax.scan(lambda c, _: (c + lax.pmean(c, i) - x, None), x, None, length=2)[0]


def switched(x: Any, w: Any, i: str, n: int) -> Any:
    branches = [lambda x: x - 1, lambda x: lax.psum(x, i) / n, lambda x: lax.pmax(x, i)]
    return lax.switch((w * 2).astype(int), branches, x)


def in_uneven_groups(x: Any, w: Any, i: str, n: int) -> Any:
    order = [(5 * k + 1) % n for k in range(n)] if n % 5 else list(range(n))
    groups = [order[: n // 2 + 1], order[n // 2 + 1 :]] if n > 1 else [order]
    return lax.pmean(x, i, axis_index_groups=groups) + lax.pmin(x, i, axis_index_groups=groups)


def chosen(x: Any, w: Any, i: str, n: int) -> Any:
    return lax.cond(w > 0, lambda x: lax.pmean(x, i), lambda x: x * 3, x)


def chosen_by_each(x: Any, w: Any, i: str, n: int) -> Any:
    return lax.cond(lax.axis_index(i) > 0, lambda x: x * 2, lambda x: x - w, x)


Step = Callable[[Any, Any, str, int], Any]
STEPS: dict[str, Step] = {
    "psum": lambda x, w, i, n: lax.psum(x, i) / n,
    "pmean": lambda x, w, i, n: lax.pmean(x, i),
    "pmax": lambda x, w, i, n: lax.pmax(x, i),
    "pmin and itself": lambda x, w, i, n: lax.pmin(x, i) - x,
    "gather": gathered,
    "gather last": lambda x, w, i, n: lax.all_gather(x, i, axis=-1)[..., n // 2],
    "gather tiled": lambda x, w, i, n: lax.all_gather(x[None], i, tiled=True)[0],
    "scatter": lambda x, w, i, n: lax.psum_scatter(copies(x, n), i) / n**2,
    "exchange": lambda x, w, i, n: lax.all_to_all(copies(x, n), i, 0, 0).sum(0) / n**2,
    "ring": lambda x, w, i, n: lax.ppermute(x, i, ring(n)),
    "some": lambda x, w, i, n: lax.ppermute(x, i, some(n)) + x,
    "groups": lambda x, w, i, n: lax.psum(x, i, axis_index_groups=halves(n)) / n,
    "place": lambda x, w, i, n: x * (1 + lax.axis_index(i)),
    "sine": lambda x, w, i, n: jnp.sin(x) + w,
    "shared": lambda x, w, i, n: x * w,
    "loop": looped,
    "scan": scanned,
    "choice": chosen,
    "own choice": chosen_by_each,
    "while": while_all,
    "switch": switched,
    "uneven groups": in_uneven_groups,
}
EQUAL = ("psum", "pmean", "pmax", "gather", "gather last", "gather tiled")
# What integers and halves go through without rounding in another order.
EXACT = ("pmax", "pmin and itself", "gather last", "gather tiled", "ring", "some", "place")


class Layer(NamedTuple):
    """A transformation: its name, and for those that map an axis, where it is and its size."""

    kind: str
    axis: int = 0
    out: int | None = 0
    size: int = 1


class Plan(NamedTuple):
    steps: tuple[tuple[str, ...], ...]  # one list for each map, the innermost first
    layers: tuple[Layer, ...]  # innermost first; those called "map" are the maps
    shape: tuple[int, ...]
    dtype: str
    devices: int


def build(plan: Plan, mapped: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The composition, with pmap or vmap for its maps."""
    names = [f"i{k}" for k in range(len(plan.steps))]
    sizes = [layer.size for layer in plan.layers if layer.kind == "map"]

    def body(x: Any, w: Any) -> Any:
        dtype = x.dtype
        for steps, name, n in zip(plan.steps, names, sizes, strict=True):
            for step in steps:
                x = STEPS[step](x, w, name, n).astype(dtype)
        return x

    f: Any = body
    maps = iter(names)
    for layer in plan.layers:
        f = wrap(f, layer, mapped, maps)
    return f


def wrap(f: Any, layer: Layer, mapped: Any, names: Any) -> Any:
    kind = layer.kind
    if kind == "map":
        return mapped(f, axis_name=next(names), in_axes=(layer.axis, None), out_axes=layer.out)
    if kind == "vmap":
        return jax.vmap(f, in_axes=(layer.axis, None), out_axes=layer.out)
    if kind == "jit":
        return jax.jit(f)
    if kind == "checkpoint":
        return jax.checkpoint(f)
    if kind == "grad":
        return lambda x, w: jax.grad(lambda x: (f(x, w) ** 2).sum())(x)
    if kind == "jvp":
        return lambda x, w: jax.jvp(lambda x: f(x, w), (x,), (jnp.cos(x),))[1]
    if kind == "grad of the shared":
        return lambda x, w: x * jax.grad(lambda w: f(x, w).sum())(w)
    assert kind == "scan"
    return lambda x, w: lax.scan(lambda c, t: (f(c, w) * t, None), x, np.ones(2, x.dtype))[0]


@st.composite
def plans(draw: Any) -> Plan:
    exact = draw(st.booleans()) and draw(st.booleans())
    dtype = draw(st.sampled_from(["int32", "float16", "bfloat16", "bool_"])) if exact else "float32"
    pool = EXACT if exact else tuple(STEPS)
    if dtype == "bool_":
        pool = ("pmax", "gather last", "gather tiled", "ring")
    devices = draw(st.sampled_from([1, 2, 4, 8]))
    fits = [n for n in (1, 2, 3, 4, 8, 16) if n <= devices or n % devices == 0]
    count = draw(st.integers(1, 2))
    steps = [
        tuple(draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))) for _ in range(count)
    ]
    kinds = ["jit", "vmap", "checkpoint", "scan"]
    if not exact:
        kinds += ["grad", "jvp", "grad of the shared"]
    extra = draw(st.lists(st.sampled_from(kinds), max_size=4 - count))
    order = draw(st.permutations(["map"] * count + extra))
    shape = draw(st.lists(st.integers(1, 3), max_size=2))
    layers: list[Layer] = []
    x, y = list(shape), list(shape)  # shapes of argument and result of what is wrapped next
    slope = False
    for kind in order:
        if kind in ("map", "vmap"):
            sizes = [n for n in fits if n <= 8 or count == 1] if kind == "map" else [2]
            size = draw(st.sampled_from(sizes))
            axis = draw(st.integers(-len(x) - 1, len(x)))
            out: int | None = draw(st.integers(-len(y) - 1, len(y)))
            # Sums at the end of the one map there is, and no slope: equal in all its rows.
            equal = kind == "map" and count == 1 and steps[0][-1] in EQUAL and not slope
            if equal and draw(st.booleans()):
                out = None
            layers.append(Layer(kind, axis, out, size))
            x.insert(axis % (len(x) + 1), size)
            if out is not None:
                y.insert(out % (len(y) + 1), size)
        elif kind != "scan":
            layers.append(Layer(kind))
            if kind in ("grad", "grad of the shared"):
                y, slope = list(x), True
        elif x == y:
            layers.append(Layer(kind))
    return Plan(tuple(steps), tuple(layers), tuple(x), dtype, devices)


def operand(plan: Plan) -> np.ndarray:
    size = int(np.prod(plan.shape))
    x = (
        np.linspace(0.4, 1.6, size).reshape(plan.shape)[..., ::-1]
        if size > 1
        else np.ones(plan.shape)
    )
    if plan.dtype == "int32":
        return np.arange(size, dtype=np.int32).reshape(plan.shape) - size // 2
    if plan.dtype == "bool_":
        return np.arange(size).reshape(plan.shape) % 3 == 0
    # Multiples of 1/64: sums of them are exact in float32, so that ties stay ties.
    x = np.linspace(0.4, 1.6, size).reshape(plan.shape)
    return (np.round(x * 64) / 64).astype(np.float32)


@settings(
    max_examples=45,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(plans())
def check_pmap_is_vmap(plan):
    x = jnp.asarray(operand(plan)).astype(plan.dtype)
    w = jnp.asarray(1 if plan.dtype != "float32" else 0.75).astype(plan.dtype)
    devices = jax.devices()[: plan.devices]

    def pmap(f: Any, **options: Any) -> Any:
        return jax.pmap(f, devices=devices, **options)

    want = jax.jit(build(plan, jax.vmap))(x, w)
    got = build(plan, pmap)(x, w)
    assert got.shape == want.shape and got.dtype == want.dtype
    got, want = np.asarray(got), np.asarray(want)
    if plan.dtype == "float32":
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4 * scale)
    else:
        np.testing.assert_array_equal(got, want)


def test_pmap_is_vmap(form):
    check_pmap_is_vmap()


@pytest.mark.parametrize(
    "plan",
    [
        Plan((("psum",),), (Layer("map", 0, None, 4),), (4, 2), "float32", 4),
        Plan((("ring", "pmax"),), (Layer("grad"), Layer("map", -1, -1, 4)), (2, 4), "float32", 2),
        Plan(
            (("scatter",), ("exchange",)),
            (Layer("map", 0, 0, 2), Layer("jvp"), Layer("map", 1, -1, 2), Layer("grad")),
            (2, 2),
            "float32",
            2,
        ),
    ],
)
def test_some_compositions(plan, form):
    check_pmap_is_vmap.hypothesis.inner_test(plan)


# --- arguments: trees, axes of leaves, keywords, what is not mapped


class Arguments(NamedTuple):
    """Shapes of rows, and the axis of each leaf (None: whole): a dict by position, one array by
    position, and keyword arguments, which are mapped along axis 0.
    """

    table: dict[str, tuple[tuple[int, ...], int | None]]
    alone: tuple[tuple[int, ...], int | None]
    named: dict[str, tuple[int, ...]]
    prefix: bool  # one axis for the whole dict
    steps: tuple[str, ...]
    size: int
    devices: int


@st.composite
def arguments(draw: Any) -> Arguments:
    devices = draw(st.sampled_from([1, 2, 4, 8]))
    size = draw(st.sampled_from([n for n in (1, 2, 4, 8, 16) if n <= devices or n % devices == 0]))
    shapes = st.lists(st.integers(1, 3), max_size=2).map(tuple)

    def leaf() -> tuple[tuple[int, ...], int | None]:
        shape = draw(shapes)
        return shape, draw(st.none() | st.integers(-len(shape) - 1, len(shape)))

    keys = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
    prefix = draw(st.booleans())
    table = {k: ((draw(shapes), 0) if prefix else leaf()) for k in keys}
    named = {k: draw(shapes) for k in draw(st.lists(st.sampled_from("pq"), unique=True))}
    steps = tuple(draw(st.lists(st.sampled_from(tuple(STEPS)), min_size=1, max_size=2)))
    return Arguments(table, leaf(), named, prefix, steps, size, devices)


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(arguments())
def check_arguments(drawn):
    rng = np.random.default_rng(0)

    def full(row: tuple[int, ...], axis: int | None) -> np.ndarray:
        shape = list(row)
        if axis is not None:
            shape.insert(axis % (len(shape) + 1), drawn.size)
        return (rng.integers(26, 102, shape) / 64).astype(np.float32)

    table = {k: full(*leaf) for k, leaf in drawn.table.items()}
    alone = full(*drawn.alone)
    named = {k: full(shape, 0) for k, shape in drawn.named.items()}
    axes = 0 if drawn.prefix else {k: axis for k, (_, axis) in drawn.table.items()}

    def f(table, alone, **named):
        total = sum(v.sum() for v in jax.tree.leaves((table, named))) + alone
        for step in drawn.steps:
            total = STEPS[step](total, 0.75, "i", drawn.size)
        return {"total": total, "table": table, "named": named}

    options: Any = {
        "in_axes": (axes, drawn.alone[1]),
        "axis_name": "i",
        "axis_size": drawn.size,
    }
    want = jax.vmap(f, **options)(table, alone, **named)
    got = jax.pmap(f, devices=jax.devices()[: drawn.devices], **options)(table, alone, **named)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-3, atol=1e-4)


def test_arguments_are_those_of_vmap(form):
    check_arguments()
