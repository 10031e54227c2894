"""shard_map, shardings of jit, and arrays that lie as a sharding says."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.errors import ArgumentTypeError, ShapeError
from plait.sharding import Mesh, NamedSharding, SingleDeviceSharding
from plait.sharding import PartitionSpec as P
from tests.spmd.common import counted_compilations, message, refused, same

pytestmark = pytest.mark.usefixtures("form")


def grid(**sizes: int) -> Mesh:
    return jax.make_mesh(tuple(sizes.values()), tuple(sizes))


def cube(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.5, 2.0, shape).astype(np.float32)


SPECS = [
    P(),
    P("x"),
    P("y"),
    P(None, "x"),
    P("x", "y"),
    P("y", "x"),
    P(("x", "y")),
    P(("y", "x")),
    P(None, ("x", "y")),
    P(None, None),
    P("x", None),
]


# --- shard_map


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_blocks_go_in_and_come_out(spec):
    mesh = grid(x=2, y=4)
    x = cube(8, 16)
    shapes = []

    def f(block):
        shapes.append(block.shape)
        return block * 2

    run = jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)
    with counted_compilations() as texts:
        y = run(x)
    assert len(texts) == 1
    same(y, x * 2)
    want = NamedSharding(mesh, spec)
    assert shapes == [want.shard_shape((8, 16))]
    assert y.sharding.is_equivalent_to(want, 2)
    for shard in y.addressable_shards:
        same(shard.data, (x * 2)[shard.index])
    same(run(y), x * 4)
    same(jax.jit(run)(x), x * 2)


@pytest.mark.parametrize("into", [P("x", "y"), P("y"), P(("y", "x")), P()], ids=str)
@pytest.mark.parametrize("out", [P("x", "y"), P(None, "x"), P(("x", "y"))], ids=str)
def test_places_and_sums(into, out):
    """Every block is what the mesh axes of its spec say; written out with loops."""
    mesh = grid(x=2, y=2)
    x = cube(4, 4)

    def f(block):
        total = lax.psum(block.sum(), ("x", "y"))
        return jnp.full((2, 2), total) + lax.axis_index("x") * 10 + lax.axis_index("y")

    varies = {n for part in out for n in ((part,) if isinstance(part, str) else part or ())}
    run = jax.shard_map(f, mesh=mesh, in_specs=into, out_specs=out)
    if varies != {"x", "y"}:
        refused(ValueError, lambda: run(x), "out_specs", "whole over 'y'", "axis_index")
        return
    got = np.asarray(run(x))
    sharding = NamedSharding(mesh, into)
    total = sum(x[i].sum() for i in sharding.devices_indices_map((4, 4)).values())
    where = NamedSharding(mesh, out)
    want = np.zeros(got.shape, np.float32)
    for k, device in enumerate(mesh.devices.flat):
        place = np.unravel_index(k, (2, 2))
        want[where.devices_indices_map(got.shape)[device]] = total + place[0] * 10 + place[1]
    same(got, want)


def test_trees_of_specs():
    mesh = grid(i=4)
    params = {"w": cube(3), "b": cube(8)}
    x = cube(8, 3)

    def f(params, x):
        y = x @ params["w"] + params["b"]
        return {"y": y, "mean": lax.pmean(y.mean(), "i")}, x

    specs = ({"w": P(), "b": P("i")}, P("i"))
    run = jax.shard_map(
        f, mesh=mesh, in_specs=specs, out_specs=({"y": P("i"), "mean": P()}, P("i"))
    )
    y = x @ params["w"] + params["b"]
    same(run(params, x), ({"y": y, "mean": y.mean()}, x))
    whole = jax.shard_map(lambda t: t["w"].sum(), mesh=mesh, in_specs=P(), out_specs=P())
    same(whole(params), params["w"].sum())
    listed = jax.shard_map(lambda a, b: a + b, mesh=mesh, in_specs=[P("i"), P()], out_specs=P("i"))
    same(listed(params["b"], np.float32(1)), params["b"] + 1)


def test_what_differs_cannot_leave_whole():
    mesh = grid(i=4)
    x = cube(8)
    run = jax.shard_map(lambda x: x.sum(), mesh=mesh, in_specs=P("i"), out_specs=P())
    text = message(ValueError, lambda: run(x))
    assert "out_specs leaves result whole over 'i'" in text and "the argument x" in text
    assert "check_vma=False" in text
    first = jax.shard_map(
        lambda x: x.sum(), mesh=mesh, in_specs=P("i"), out_specs=P(), check_vma=False
    )
    same(first(x), x[:2].sum())
    old = jax.shard_map(
        lambda x: x.sum(), mesh=mesh, in_specs=P("i"), out_specs=P(), check_rep=False
    )
    same(old(x), x[:2].sum())
    for reduce in (lax.psum, lax.pmean, lax.pmax):
        f = lambda x, reduce=reduce: reduce(x.sum(), "i")
        parts = x.reshape(4, 2).sum(1)
        want = {lax.psum: parts.sum(), lax.pmean: parts.mean(), lax.pmax: parts.max()}[reduce]
        same(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P())(x), want)


COLLECTIVES: dict[str, tuple[Any, P]] = {
    "all_gather": (lambda x: lax.all_gather(x, "x", axis=0, tiled=True), P(None, "y")),
    "all_gather both": (lambda x: lax.all_gather(x, ("x", "y"), tiled=True), P()),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "y", scatter_dimension=0, tiled=True), P("x")),
    "all_to_all": (
        lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True),
        P(None, ("y", "x")),
    ),
    "ppermute": (lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]), P("x", "y")),
    "pmax": (lambda x: lax.pmax(x, ("x", "y")), P()),
    "sums of each": (lambda x: lax.psum(x, "x") + lax.pmean(x, "y") * 0, P(None, "y")),
}


def test_collectives_move_blocks():
    mesh = grid(x=2, y=2)
    x = cube(8, 8)
    blocks = x.reshape(2, 4, 2, 4).transpose(0, 2, 1, 3)  # [x, y, 4, 4]

    def run(name, out):
        f, _ = COLLECTIVES[name]
        return jax.shard_map(f, mesh=mesh, in_specs=P("x", "y"), out_specs=out)(x)

    same(run("all_gather", P(None, "y")), x)
    both = np.concatenate([blocks[i, j] for i in range(2) for j in range(2)])
    same(run("all_gather both", P()), both)
    same(run("ppermute", P("x", "y")), np.roll(x, 4, 0))
    same(run("pmax", P()), blocks.max((0, 1)))
    scattered = np.concatenate([blocks[i].sum(0) for i in range(2)])
    same(run("psum_scatter", P(("x", "y"))), scattered)
    exchanged = run("all_to_all", P(None, ("y", "x")))
    want = np.concatenate([np.concatenate([blocks[0, j], blocks[1, j]]) for j in range(2)], axis=1)
    same(exchanged, want)


def test_a_matrix_product_in_blocks():
    mesh = grid(x=2, y=4)
    a, b = cube(8, 16), cube(16, 4)

    def product(a, b):
        return lax.psum_scatter(a @ b, "y", scatter_dimension=1, tiled=True)

    run = jax.shard_map(
        product, mesh=mesh, in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", "y")
    )
    same(run(a, b), a @ b, rtol=1e-4)
    slope = jax.grad(lambda a, b: (run(a, b) ** 2).sum(), argnums=(0, 1))(a, b)
    whole = jax.grad(lambda a, b: ((a @ b) ** 2).sum(), argnums=(0, 1))(a, b)
    same(slope, whole, rtol=1e-4)


def test_derivatives_from_outside():
    mesh = grid(x=2, y=2)
    w, x = cube(4), cube(8, 4)

    def loss(w, x):
        return lax.pmean((jnp.tanh(x @ w) ** 2).mean(), ("x", "y"))

    run = jax.shard_map(loss, mesh=mesh, in_specs=(P(), P(("x", "y"))), out_specs=P())
    plain = lambda w, x: (jnp.tanh(x @ w) ** 2).mean()
    for argnums in (0, 1):
        same(jax.grad(run, argnums)(w, x), jax.grad(plain, argnums)(w, x))
        same(jax.jit(jax.grad(run, argnums))(w, x), jax.grad(plain, argnums)(w, x))
    same(jax.hessian(run)(w, x), jax.hessian(plain)(w, x), atol=1e-5)
    same(jax.jvp(lambda w: run(w, x), (w,), (w,))[1], jax.jvp(lambda w: plain(w, x), (w,), (w,))[1])


def test_under_other_transformations():
    mesh = grid(i=4)
    f = lambda x: x / lax.psum(x.sum(0), "i")
    run = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    x = cube(8, 3)
    want = x / x.sum(0)
    same(jax.jit(run)(x), want)
    many = cube(2, 8, 3)
    same(jax.vmap(run)(many), many / many.sum(1, keepdims=True))
    same(
        jax.vmap(run, in_axes=2, out_axes=2)(many.transpose(1, 2, 0)),
        (many / many.sum(1, keepdims=True)).transpose(1, 2, 0),
    )
    twice = lambda x: lax.fori_loop(0, 2, lambda _, c: run(c) * 2, x)
    same(jax.jit(twice)(x), want / want.sum(0) * 2 * 2 / 2)
    inside = jax.shard_map(
        lambda x: lax.scan(lambda c, _: (c + lax.pmean(c, "i"), None), x, None, length=2)[0],
        mesh=mesh,
        in_specs=P("i"),
        out_specs=P("i"),
    )
    blocks = x.reshape(4, 2, 3)
    for _ in range(2):
        blocks = blocks + blocks.mean(0)
    same(inside(x), blocks.reshape(8, 3))
    same(jax.checkpoint(run)(x), want)
    rows = jax.shard_map(
        jax.vmap(f, in_axes=1, out_axes=1), mesh=mesh, in_specs=P("i"), out_specs=P("i")
    )
    same(rows(x), want)


def test_beside_and_inside_of_pmap():
    mesh = grid(i=4)
    x = cube(4, 4)
    total = jax.shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
    rows = jax.pmap(lambda x: x * lax.axis_size("r"), "r")

    @jax.jit
    def f(x):
        y = rows(x)
        return total(y), rows(y), total(rows(y))

    same(f(x), (x.sum(0, keepdims=True) * 4, x * 16, x.sum(0, keepdims=True) * 16))
    same(rows(total(x).reshape(4, 1)), x.sum(0)[:, None] * 4)
    same(total(rows(x)), x.sum(0, keepdims=True) * 4)


def test_some_axes_only():
    mesh = grid(x=2, y=2)
    x = cube(4, 4)
    f = lambda x: lax.psum(x, "x")
    run = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"})
    same(run(x), x.reshape(2, 2, 4).sum(0))
    auto = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P(), auto=frozenset({"y"}))
    same(auto(x), x.reshape(2, 2, 4).sum(0))
    hidden = jax.shard_map(
        lambda x: lax.psum(x, "y"), mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    refused(NameError, lambda: hidden(x), "'y' is not bound", "'x'")


def test_as_a_decorator_and_with_axes_of_size_1():
    mesh = grid(x=1, y=2)

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P("x", "y"), P(None)), out_specs=P("x", "y"))
    def f(x, w):
        return x * w + lax.axis_index("x")

    x = cube(2, 4)
    same(f(x, np.float32([2])), x * 2)


def test_mistakes():
    mesh = grid(x=2, y=2)
    x = cube(4, 4)
    f = lambda a: a

    def run(x, **given):
        options = {"mesh": mesh, "in_specs": P("x"), "out_specs": P("x")}
        return jax.shard_map(f, **options | given)(x)

    refused(ValueError, lambda: run(cube(3, 4)), "shard_map", "axis 0 of a has size 3", "2 blocks")
    refused(
        ValueError, lambda: run(x, in_specs=P("x", "y", None)), "spec of a", "3 entries", "2 axes"
    )
    refused(ValueError, lambda: run(x, in_specs=P("z")), "'z'", "the mesh does not have")
    refused(ValueError, lambda: run(x, in_specs=P("x", "x")), "twice")
    refused(TypeError, lambda: run(x, in_specs="x"), "not a PartitionSpec")
    refused(TypeError, lambda: run(x, in_specs=None), "not a PartitionSpec")
    refused(ValueError, lambda: run(x, in_specs=(P("x"), P())), "in_specs")
    refused(ValueError, lambda: run(x, out_specs=(P("x"), P())), "out_specs")
    refused(ValueError, lambda: run(x, out_specs=P("z")), "'z'")
    refused(TypeError, lambda: run(x, mesh=None), "mesh")
    refused(TypeError, lambda: jax.shard_map(3, mesh=mesh, in_specs=P(), out_specs=P()), "function")
    call = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    refused(TypeError, lambda: call(a=x), "shard_map", "keyword")
    refused(
        ValueError,
        lambda: jax.shard_map(f, mesh=mesh, in_specs=P(), out_specs=P(), axis_names={"q"}),
        "'q'",
    )
    refused(ValueError, lambda: jax.make_mesh((16,), ("i",)), "16 devices", str(jax.device_count()))
    refused(ValueError, lambda: Mesh(jax.devices()[:4], ("x", "y")), "1 axes", "2 names")
    hang = jax.shard_map(
        lambda x: lax.cond(lax.axis_index("x") == 0, lambda x: lax.psum(x, "x"), lambda x: x, x),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    refused(ValueError, lambda: hang(x), "only some positions", "'x'")
    same(run(x), x)


# --- arrays with a sharding


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_device_put_to_a_sharding(spec):
    mesh = grid(x=2, y=4)
    x = cube(8, 16)
    sharding = NamedSharding(mesh, spec)
    y = jax.device_put(x, sharding)
    same(y, x)
    assert y.sharding == sharding and y.devices() == set(jax.devices())
    assert y.is_fully_replicated == (not any(spec))
    shards = y.addressable_shards
    assert [s.device for s in shards] == list(mesh.devices.flat)
    assert {s.data.shape for s in shards} == {sharding.shard_shape((8, 16))}
    for shard in shards:
        same(shard.data, x[shard.index])
        assert shard.data.devices() == {shard.device}
    copies = {s.replica_id for s in shards}
    assert len(copies) * 128 == sum(s.data.size for s in shards)
    same(y + x, x * 2)
    same(y @ y.T, x @ x.T, rtol=1e-4)
    same(jax.jit(lambda a: jnp.sin(a).sum(0))(y), np.sin(x).sum(0), rtol=1e-4)
    same(y[3], x[3])
    same(y[:, 5], x[:, 5])
    same(pickle.loads(pickle.dumps(y)), x)
    for other in (P("y"), P(None, "x"), P()):
        moved = jax.device_put(y, NamedSharding(mesh, other))
        same(moved, x)
        assert moved.sharding == NamedSharding(mesh, other)


def test_device_put_of_trees_and_scalars():
    mesh = grid(i=4)
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("i"))
    out = jax.device_put({"a": 1.0, "b": cube(4)}, {"a": whole, "b": rows})
    assert out["a"].is_fully_replicated and out["b"].sharding == rows
    same(out["a"], np.float32(1))
    one = jax.device_put(cube(4), SingleDeviceSharding(jax.devices()[3]))
    assert one.devices() == {jax.devices()[3]}
    text = message(ValueError, lambda: jax.device_put(cube(3), rows))
    assert "3" in text and "4" in text and "device_put" in text
    refused(ValueError, lambda: jax.device_put(1.0, rows), "1 entries", "0 axes")


def test_shardings_answer_questions():
    mesh = grid(x=2, y=2)
    a = NamedSharding(mesh, P("x", None))
    assert a == NamedSharding(grid(x=2, y=2), P("x", None)) and hash(a) == hash(
        NamedSharding(mesh, P("x", None))
    )
    assert a != NamedSharding(mesh, P("y")) and a.num_devices == 4
    assert a.is_equivalent_to(NamedSharding(mesh, P("x")), 2)
    assert not a.is_equivalent_to(NamedSharding(mesh, P("y")), 2)
    assert a.shard_shape((4, 6)) == (2, 6)
    assert list(a.devices_indices_map((4, 6)).values())[2][0] == slice(2, 4)
    assert P("x", None) == P("x", None) and repr(P("x")) == "PartitionSpec('x')"
    assert pickle.loads(pickle.dumps(P("x", ("y",)))) == P("x", ("y",))
    assert dict(mesh.shape) == {"x": 2, "y": 2} and mesh.size == 4
    assert "x: 2, y: 2" in repr(mesh) and mesh.axis_names == ("x", "y")
    refused(ValueError, lambda: NamedSharding(mesh, P("z")), "'z'")
    refused(ValueError, lambda: NamedSharding(mesh, P("x", "x")), "two axes")
    single = SingleDeviceSharding(jax.devices()[1])
    assert single.is_fully_replicated and single.device_set == {jax.devices()[1]}


# --- jit with shardings


def test_jit_with_shardings():
    mesh = grid(x=2, y=4)
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    whole = NamedSharding(mesh, P())
    x, w = cube(8, 16), cube(16, 8)

    def f(x, w):
        y = jnp.tanh(x @ w)
        return y, {"total": y.sum(), "w": w * 2}

    run = jax.jit(
        f, in_shardings=(rows, columns), out_shardings=(rows, {"total": whole, "w": columns})
    )
    y, rest = run(x, w)
    same(y, np.tanh(x @ w), rtol=1e-4)
    same(rest["w"], w * 2)
    assert y.sharding.is_equivalent_to(rows, 2)
    assert rest["w"].sharding.is_equivalent_to(columns, 2)
    assert rest["total"].is_fully_replicated
    again, _ = run(y @ w.T, rest["w"])
    same(again, np.tanh((np.tanh(x @ w) @ w.T) @ (w * 2)), rtol=1e-3)
    one = jax.jit(lambda t: t["a"] + 1, in_shardings=columns, out_shardings=rows)
    got = one({"a": x})
    same(got, x + 1)
    assert got.sharding.is_equivalent_to(rows, 2)
    only_out = jax.jit(lambda x: (x * 2, x.sum()), out_shardings=(columns, None))
    a, b = only_out(x)
    same((a, b), (x * 2, x.sum()), rtol=1e-4)
    assert a.sharding.is_equivalent_to(columns, 2)
    only_in = jax.jit(lambda x, k: x * k, in_shardings=(rows, None))
    same(only_in(x, 3.0), x * 3)
    slope = jax.grad(lambda x: (run(x, w)[0] ** 2).sum())(x)
    same(slope, jax.grad(lambda x: (f(x, w)[0] ** 2).sum())(x), rtol=1e-3, atol=1e-5)
    refused(ValueError, lambda: run(cube(3, 16), w), "jit", "size 3", "2 parts")
    refused(ValueError, lambda: jax.jit(f, in_shardings=(rows,))(x, w), "in_shardings")
    refused(ValueError, lambda: jax.jit(f, out_shardings=(rows,))(x, w), "out_shardings")
    refused(TypeError, lambda: jax.jit(f, in_shardings=P("x"))(x, w), "NamedSharding")


def test_with_sharding_constraint():
    mesh = grid(x=2, y=4)
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    x = cube(8, 16)

    @jax.jit
    def f(x):
        y = lax.with_sharding_constraint(x * 2, rows)
        z = jnp.sin(y)
        return lax.with_sharding_constraint({"a": z, "b": y}, {"a": columns, "b": rows})

    out = f(x)
    same(out, {"a": np.sin(x * 2), "b": x * 2})
    assert out["a"].sharding.is_equivalent_to(columns, 2)
    assert out["b"].sharding.is_equivalent_to(rows, 2)
    moved = lax.with_sharding_constraint(x, columns)
    same(moved, x)
    assert moved.sharding == columns
    slope = jax.grad(lambda x: (f(x)["a"] ** 2).sum())(x)
    same(slope, jax.grad(lambda x: (jnp.sin(x * 2) ** 2).sum())(x), rtol=1e-4, atol=1e-5)
    mapped = jax.vmap(lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P("y"))))(x)
    same(mapped, x)
    refused(ValueError, lambda: f(cube(3, 16)), "with_sharding_constraint", "size 3", "2 parts")
    refused(TypeError, lambda: lax.with_sharding_constraint(x, P("x")), "NamedSharding")


PLACED = {
    "normal": lambda **at: jax.random.normal(jax.random.key(0), (8, 4), **at),
    "choice": lambda **at: jax.random.choice(jax.random.key(0), 9, (8, 4), **at),
    "initializer": lambda **at: jax.nn.initializers.lecun_normal()(
        jax.random.key(0), (8, 4), jnp.float32, **at
    ),
    "zeros": lambda **at: jnp.zeros((8, 4), **at),
    "arange": lambda **at: jnp.arange(8.0, **at),
    "full_like": lambda **at: jnp.full_like(cube(8, 4), 2, **at),
    "matmul": lambda **at: jnp.matmul(cube(8, 2), cube(2, 4), **at),
    "einsum": lambda **at: jnp.einsum("ij,jk->ik", cube(8, 2), cube(2, 4), **at),
    "reshape": lambda **at: jnp.ones(32).reshape(8, 4, **at),
    "repeat": lambda **at: jnp.repeat(cube(4, 2), 2, 0, **at),
    "segment_sum": lambda **at: jax.ops.segment_sum(cube(8, 4), np.arange(8), 8, **at),
    "dot_general": lambda **at: lax.dot_general(
        cube(8, 2), cube(2, 4), (((1,), (0,)), ((), ())), **at
    ),
    "iota": lambda **at: lax.broadcasted_iota(jnp.int32, (8, 4), 0, **at),
}


@pytest.mark.parametrize("name", PLACED)
def test_results_lie_where_out_sharding_says(name):
    f, mesh = PLACED[name], grid(x=4)
    spread = NamedSharding(mesh, P("x"))
    want = f()
    for run in (f, jax.jit(f, static_argnames="out_sharding")):
        y = run(out_sharding=spread)
        assert y.sharding.is_equivalent_to(spread, y.ndim)
        same(y, want)
    with jax.set_mesh(mesh):
        assert f(out_sharding=P("x")).sharding.is_equivalent_to(spread, want.ndim)
    same(f(out_sharding=None), want)
    uneven = NamedSharding(grid(x=3), P("x"))
    refused(ShapeError, lambda: f(out_sharding=uneven), "does not divide")
    refused(ArgumentTypeError, lambda: f(out_sharding="x"), "a device, a sharding")


def test_device_put_of_a_traced_value_is_a_constraint():
    spread = NamedSharding(grid(x=4), P("x"))
    x = cube(8)
    assert jax.jit(lambda x: jax.device_put(x * 2, spread))(x).sharding.is_equivalent_to(spread, 1)
    same(jax.grad(lambda x: jnp.sum(jax.device_put(x, spread) ** 2))(x), 2 * x)
    same(jax.vmap(lambda x: jax.device_put(x, spread))(np.stack([x, x])), np.stack([x, x]))
    same(jax.pmap(lambda x: jax.device_put(x, spread))(np.stack([x, x])), np.stack([x, x]))
    same(jax.jit(lambda x: jax.device_put(x, jax.devices()[1]))(x), x)


def test_a_training_step_in_all_three_ways():
    """Data-parallel training by pmap, shard_map and shardings of jit comes to the same."""
    mesh = grid(i=4)
    x, y = cube(16, 3), cube(16)
    w0 = np.zeros(3, np.float32)
    loss = lambda w, x, y: ((x @ w - y) ** 2).mean()

    def step(w, x, y):
        return w - 0.1 * lax.pmean(jax.grad(loss)(w, x, y), "i")

    by_rows = lambda a: a.reshape(4, 4, *a.shape[1:])
    mapped = jax.pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)
    blocks = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("i"), P("i")), out_specs=P())
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("i"))
    parted = jax.jit(
        lambda w, x, y: w - 0.1 * jax.grad(loss)(w, x, y),
        in_shardings=(whole, rows, rows),
        out_shardings=whole,
    )
    a: Any = w0
    b: Any = w0
    c: Any = w0
    want = w0
    for _ in range(5):
        a = mapped(a, by_rows(x), by_rows(y))
        b = blocks(b, x, y)
        c = parted(c, x, y)
        want = want - 0.1 * 2 * x.T @ (x @ want - y) / 16
    for got in (a, b, c):
        same(got, want, rtol=1e-4)


def test_beside_the_package_jax(monkeypatch):
    sharding = jnp.ones(2).sharding
    with pytest.raises(AttributeError, match="has no attribute '_is_concrete'$"):
        _ = sharding._is_concrete
    monkeypatch.setitem(sys.modules, "jax", object())
    monkeypatch.delitem(sys.modules, "plait.as_jax", raising=False)
    with pytest.raises(AttributeError, match=r"python -m plait\.as_jax"):
        _ = sharding._is_concrete
