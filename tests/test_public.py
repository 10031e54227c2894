"""Public names beside arrays and transformations: meshes by default, arrays from parts, stages,
types, events, trees, dtypes, and what JAX keeps under jax.experimental.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import pathlib
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import custom_derivatives, dlpack, dtypes, lax, monitoring, stages, test_util, tree_util
from plait.core.primitive import registered, registry
from plait.errors import MissingRuleError
from plait.experimental import layout, mesh_utils, multihost_utils
from plait.experimental.pjit import pjit
from plait.ops.factorials import gamma as special_gamma
from plait.sharding import AbstractMesh, AxisType, NamedSharding, SingleDeviceSharding
from plait.sharding import PartitionSpec as P

X = np.arange(8.0, dtype=np.float32).reshape(4, 2)


def public_functions():
    for path in (pathlib.Path(__file__).parent / "exports.txt").read_text().split():
        name, part = path.rsplit(".", 1)
        try:
            found = functools.reduce(getattr, name.split(".")[1:], jax)
        except AttributeError:
            found = importlib.import_module(name)
        if callable(found := getattr(found, part, None)):
            yield path, found


def test_functions_survive_pickling_and_copying():
    # As a part of a model, which is copied, saved, sent to another process.
    lost, count = [], 0
    for path, f in public_functions():
        count += 1
        for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
            # A partial function and a type in brackets are new ones that do the same.
            if again != f and not isinstance(f, functools.partial):
                lost.append(path)
    assert not lost and count > 1000


def test_every_op_is_found_under_its_name():
    importlib.import_module("plait.random.exact")  # where ops have variants
    for name, op in registry.items():
        assert op.name == name
    assert lax.exp.name == "exp" and registered("xla_exp") is not lax.exp


def test_ops_that_are_loaded_when_first_used_are_found():
    code = "import pickle, sys; f = pickle.load(sys.stdin.buffer); print(f.name)"
    for op in (lax.tanh, special_gamma):
        run = subprocess.run(
            [sys.executable, "-c", code], input=pickle.dumps(op), capture_output=True, check=True
        )
        assert run.stdout.decode().strip() == op.name
    with pytest.raises(MissingRuleError, match="no op is named 'nothing'"):
        registered("nothing")


# --- types and compile-time values


def test_shapes_without_arrays():
    given = jax.ShapeDtypeStruct.like(jnp.asarray(X) * 1)
    assert given == jax.ShapeDtypeStruct((4, 2), jnp.float32)
    assert given.update(shape=(3,)) == jax.ShapeDtypeStruct((3,), jnp.float32)
    changed = given.update(dtype=jnp.int32, weak_type=True)
    assert changed.dtype == jnp.int32 and changed.weak_type and changed.shape == (4, 2)
    assert jax.ShapeDtypeStruct.like(jnp.asarray(1.0)).weak_type
    assert jax.process_indices() == [0]


def test_types():
    assert jax.typeof(X) is jax.typeof(jnp.array(X)) is jax.core.ShapedArray((4, 2), jnp.float32)
    assert jax.typeof(1).weak_type and jax.typeof(True).dtype == bool
    assert isinstance(jax.typeof(1.0), jax.core.ShapedArray)
    assert jax.core.ShapedArray((2,), "bfloat16").dtype == dtypes.bfloat16
    with pytest.raises(TypeError, match="is not an array"):
        jax.typeof("no")
    where = jax.typeof(X).sharding
    assert where.mesh.empty and where.spec == P(None, None) and where.is_fully_replicated


def test_values_at_compile_time():
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            n = int(jnp.arange(5).sum())
            table = np.asarray(jnp.arange(3) * n)
        return x * n + table.sum()

    assert f(2.0) == 20 + 30
    assert jax.vmap(f)(jnp.ones(2)).tolist() == [40, 40]

    @jax.jit
    def g(x):
        with jax.ensure_compile_time_eval():
            known = jax.grad(jax.jit(lambda y: jnp.sin(y) * 2))(0.0)
            scanned = lax.scan(lambda c, y: (c + y, None), 0, jnp.arange(4))[0]
            y = x + known  # goes on as outside
        assert isinstance(y, jax.core.Tracer) and float(known) == 2 and int(scanned) == 6
        return y * scanned

    assert g(1.0) == 18
    np.testing.assert_allclose(jax.vmap(jax.grad(g))(jnp.ones(2)), [6, 6])

    def h(x):
        with jax.ensure_compile_time_eval():
            return lax.axis_index("i") + lax.psum(1, "i") + x

    assert jax.vmap(h, axis_name="i")(jnp.zeros(2)).tolist() == [2, 3]

    def strict(x):
        with jax.core.eval_context():
            return x + 1

    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.jit(strict)(1.0)


# --- meshes


def test_the_mesh_that_programs_work_on():
    mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
    assert jax.sharding.get_mesh().empty and jax.sharding.get_abstract_mesh().size == 0
    assert mesh.axis_types == (AxisType.Auto,) * 2 and mesh.are_all_axes_auto
    assert not mesh.are_all_axes_explicit and mesh.shape_tuple == (("a", 2), ("b", 2))
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3]] and not mesh.is_multi_process

    @jax.jit
    def f(x):
        return lax.with_sharding_constraint(x * 2, P("a"))

    for block in (lambda: jax.set_mesh(mesh), lambda: mesh):
        with block():
            assert jax.sharding.get_mesh() == mesh
            assert jax.sharding.get_abstract_mesh() == mesh.abstract_mesh
            y = jax.device_put(X, P("a", "b"))
            assert y.sharding == NamedSharding(mesh, P("a", "b"))
            assert f(X).sharding.is_equivalent_to(NamedSharding(mesh, P("a")), 2)
            g = jax.jit(lambda x: x + 1, in_shardings=P("a"), out_shardings=P("b"))
            assert g(X).sharding.is_equivalent_to(NamedSharding(mesh, P("b")), 2)
            total = jax.shard_map(lambda x: lax.psum(x, "a"), in_specs=P("a"), out_specs=P())
            np.testing.assert_allclose(total(X), X[:2] + X[2:])
            assert jax.reshard(X, P("b")).sharding.spec == P("b")
            with pytest.raises(ValueError, match="no axis 'c'"):
                f_c = jax.device_put(X, P("c"))
                del f_c
    assert jax.sharding.get_mesh().empty
    for call in (f, lambda x: jax.device_put(x, P("a"))):
        with pytest.raises(TypeError, match="PartitionSpec alone needs a mesh"):
            call(X)
    with pytest.raises(TypeError, match="a Mesh is needed"):
        jax.set_mesh("a")  # type: ignore
    before = jax.set_mesh(mesh)  # for good
    assert jax.sharding.get_mesh() == mesh
    before.__exit__()
    assert jax.sharding.get_mesh().empty


def test_meshes_without_devices():
    abstract = AbstractMesh((2, 2), ("a", "b"))
    assert abstract == AbstractMesh((("a", 2), ("b", 2))) and abstract.size == 4
    assert abstract.update(axis_sizes=(4, 1)).shape == {"a": 4, "b": 1}
    with pytest.raises(ValueError, match="2 sizes for 1 name"):
        AbstractMesh((2, 2), ("a",))
    spread = NamedSharding(abstract, P("a"))
    with pytest.raises(ValueError, match="the mesh has no devices"):
        jax.device_put(X, spread)
    with jax.set_mesh(jax.make_mesh((2, 2), ("a", "b"))):
        assert jax.device_put(X, spread).sharding.shard_shape((4, 2)) == (2, 2)
    with jax.sharding.use_abstract_mesh(abstract):
        assert jax.sharding.get_abstract_mesh() == abstract
        assert jax.typeof(X).sharding.mesh == abstract
    y = lax.with_sharding_constraint(jnp.array(X), jax.typeof(X).sharding)
    np.testing.assert_array_equal(y, X)
    assert jax.jit(lambda x: lax.with_sharding_constraint(x, jax.typeof(x).sharding))(X).sum() == 28
    open_ = P(P.UNCONSTRAINED, "a")
    with jax.set_mesh(jax.make_mesh((2,), ("a",))):
        f = jax.jit(lambda x: lax.with_sharding_constraint(x, open_))
        np.testing.assert_array_equal(f(X), X)


def test_grids_of_devices():
    assert mesh_utils.create_device_mesh((2, 4)).shape == (2, 4)
    assert mesh_utils.create_device_mesh((2, 1), jax.devices()[:2])[1, 0] == jax.devices()[1]
    with pytest.raises(ValueError, match="a mesh of 6 devices was asked, there are 8"):
        mesh_utils.create_device_mesh((2, 3))
    assert mesh_utils.create_hybrid_device_mesh((2, 4), (1, 1)).shape == (2, 4)
    with pytest.raises(ValueError, match="2 groups"):
        mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1))


# --- arrays from parts


def test_arrays_from_parts():
    mesh = jax.make_mesh((2, 2), ("a", "b"))
    for spec in (P(), P("a"), P(None, "b"), P("a", "b"), P(("a", "b"))):
        s = NamedSharding(mesh, spec)
        calls = []

        def part(index, calls=calls):
            calls.append(index)
            return X[index]

        y = jax.make_array_from_callback(X.shape, s, part)
        np.testing.assert_array_equal(y, X)
        assert y.sharding.is_equivalent_to(s, 2)
        assert len(calls) == len({str(i) for i in s.devices_indices_map(X.shape).values()})
        parts = [jax.device_put(X[i], d) for d, i in s.devices_indices_map(X.shape).items()]
        for given in (parts, parts[::-1]):
            z = jax.make_array_from_single_device_arrays(X.shape, s, given)
            np.testing.assert_array_equal(z, X)
            assert z.sharding.is_equivalent_to(s, 2)
        w = jax.make_array_from_process_local_data(s, X, X.shape)
        np.testing.assert_array_equal(w, X)
    whole = SingleDeviceSharding(jax.devices()[1])
    y = jax.make_array_from_callback((3,), whole, lambda i: np.ones(3), dtype=jnp.int8)
    assert y.dtype == jnp.int8 and y.devices() == {jax.devices()[1]}
    s = NamedSharding(mesh, P("a"))
    with pytest.raises(ValueError, match="another shape than its place"):
        jax.make_array_from_callback(X.shape, s, lambda i: X)
    with pytest.raises(ValueError, match="1 array for the parts on 4 devices"):
        jax.make_array_from_single_device_arrays(X.shape, s, [jnp.array(X)])
    with pytest.raises(ValueError, match="neither the whole array"):
        jax.make_array_from_process_local_data(s, X, (8, 2))


def test_what_processes_tell_each_other_when_there_is_one():
    multihost_utils.sync_global_devices("here")
    multihost_utils.assert_equal(X)
    assert not multihost_utils.reached_preemption_sync_point(3)
    got = multihost_utils.process_allgather({"x": jnp.array(X)})
    assert type(got["x"]) is np.ndarray and got["x"].shape == (1, 4, 2)
    assert multihost_utils.process_allgather(jnp.array(X), tiled=True).shape == (4, 2)
    np.testing.assert_array_equal(multihost_utils.broadcast_one_to_all(jnp.array(X)), X)
    mesh = jax.make_mesh((2,), ("a",))
    y = multihost_utils.host_local_array_to_global_array((X, X), mesh, P("a"))
    assert y[1].sharding == NamedSharding(mesh, P("a"))
    z = multihost_utils.global_array_to_host_local_array(y, mesh, P("a"))
    np.testing.assert_array_equal(z[0], X)


def test_layouts():
    mesh = jax.make_mesh((2,), ("a",))
    s = NamedSharding(mesh, P("a"))
    assert jax.device_put(X, layout.Format(None, s)).sharding == s
    assert jax.device_put(X, layout.Format(layout.Layout((0, 1)), s)).sharding == s
    assert pjit(lambda x: x, out_shardings=layout.Format(None, s))(X).sharding == s
    assert layout.with_layout_constraint(X, layout.Layout((0, 1))) is X
    with pytest.raises(ValueError, match="last axis running fastest"):
        layout.with_layout_constraint(X, layout.Layout((1, 0)))


# --- stages, events


def test_stages():
    f = jax.jit(lambda x, y: {"s": x @ y @ x}, donate_argnums=0)
    assert isinstance(f, stages.Wrapped)
    traced = f.trace(jax.ShapeDtypeStruct((2, 4), jnp.float32), X)
    assert isinstance(traced, stages.Traced) and traced.fun_name == "<lambda>"
    assert [e.primitive.name for e in traced.jaxpr.eqns] == ["dot_general"] * 2
    assert traced.out_info["s"].shape == (2, 4) and traced.donate_argnums == (0,)
    lowered = traced.lower()
    assert isinstance(lowered, stages.Lowered) and "stablehlo.dot_general" in lowered.as_text()
    first, second = jax.tree.leaves(lowered.args_info)  # leaves themselves
    assert (first.shape, first.donated, second.donated) == ((2, 4), True, False)
    compiled = lowered.compile()
    assert isinstance(compiled, stages.Compiled) and compiled.out_info["s"].dtype == jnp.float32
    np.testing.assert_allclose(
        compiled(jnp.ones((2, 4)), X)["s"], np.ones((2, 4)) @ X @ np.ones((2, 4))
    )
    assert compiled.in_avals[0][1].shape == (4, 2) and compiled.args_info[0][0].donated


def test_events():
    seen = []

    def hear(*args, **kwargs):
        seen.append((*args, kwargs))

    monitoring.register_event_listener(hear)
    monitoring.register_event_duration_secs_listener(hear)
    monitoring.register_event_time_span_listener(hear)
    monitoring.register_scalar_listener(hear)
    try:
        monitoring.record_event("/a", k=1)
        monitoring.record_event_duration_secs("/b", 2.0)
        monitoring.record_event_time_span("/c", 1.0, 3.0)
        monitoring.record_scalar("/d", 4)
        assert seen == [("/a", {"k": 1}), ("/b", 2.0, {}), ("/c", 1.0, 3.0, {}), ("/d", 4, {})]
        seen.clear()
        jax.jit(lambda x: x * 1.25 - 7.5)(X)  # anew for this test
        assert [s[0] for s in seen] == ["/jax/core/compile/backend_compile_duration"]
        assert 0 < seen[0][1] < 100
        monitoring.unregister_event_listener(hear)
        monitoring.unregister_event_duration_listener(hear)
        monitoring.unregister_event_time_span_listener(hear)
        monitoring.unregister_scalar_listener(hear)
        seen.clear()
        monitoring.record_event("/a")
        monitoring.record_scalar("/d", 4)
        assert not seen
        with pytest.raises(ValueError):
            monitoring.unregister_event_listener(hear)
    finally:
        monitoring.clear_event_listeners()


# --- trees, dtypes, DLPack


def test_trees():
    assert jax.tree.broadcast({"a": 1, "b": 2}, {"a": (3, 4), "b": [5]}) == {"a": (1, 1), "b": [2]}
    none = jax.tree.broadcast(None, (1, 2), is_leaf=lambda x: x is None)
    assert none == (None, None)
    with pytest.raises(ValueError, match="different structures"):
        jax.tree.broadcast((1, 2), (1, 2, 3))
    children, _ = tree_util.flatten_one_level({"b": (1, 2), "a": 3})
    assert list(children) == [3, (1, 2)]
    pairs, _ = tree_util.flatten_one_level_with_keys({"a": (1, 2)})
    assert [(str(k), v) for k, v in pairs] == [("['a']", (1, 2))]
    for f in (tree_util.flatten_one_level, tree_util.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="this is a leaf"):
            f(3)
    assert tree_util.is_tree_node(dict) and not tree_util.is_tree_node(int)

    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: float
        name: str = jax.tree.static(default="dense", metadata={"more": 1})

    assert jax.tree.leaves(Layer(2.0)) == [2.0]
    assert jax.tree.map(lambda x: x + 1, Layer(2.0, "a")) == Layer(3.0, "a")


def test_dtypes():
    assert dtypes.canonicalize_dtype("float64") == np.float32
    assert dtypes.canonicalize_dtype(float) == np.float32
    with jax.enable_x64():
        assert dtypes.canonicalize_dtype(int) == np.int64
    key = jax.random.key(0).dtype
    assert dtypes.canonicalize_dtype(key, allow_extended_dtype=True) == key
    with pytest.raises(TypeError, match="dtype of keys"):
        dtypes.canonicalize_dtype(key)
    assert dtypes.issubdtype(key, dtypes.extended) and dtypes.issubdtype(key, dtypes.prng_key)
    assert not dtypes.issubdtype(np.float32, dtypes.extended)
    sizes = {"int4": 4, "uint2": 2, "float4_e2m1fn": 4, "float64": 64, "bool": 8, "bfloat16": 16}
    assert {n: dtypes.itemsize_bits(n) for n in sizes} == sizes
    kinds = [dtypes.scalar_type_of(x) for x in (True, "int8", jnp.ones(2, "bfloat16"), 1j)]
    assert kinds == [bool, int, float, complex]
    with pytest.raises(TypeError, match="not numbers"):
        dtypes.scalar_type_of(jax.random.key(0))
    assert dtypes.result_type(1, jnp.bfloat16) == ml_dtypes.bfloat16
    with jax.numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError):
        jnp.ones(2, jnp.int32) + jnp.ones(2)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64"]
)
def test_dlpack(dtype):
    assert dlpack.is_supported_dtype(dtype)
    x = jnp.array([0, 1, 1], dtype)
    y = dlpack.from_dlpack(x)
    assert y.dtype == x.dtype and bool((x == y).all())


def test_dlpack_knows_what_it_cannot():
    assert not any(map(dlpack.is_supported_dtype, ("int4", "float8_e5m2", "float4_e2m1fn")))
    assert not dlpack.is_supported_dtype(jax.random.key(0).dtype)


# --- functions


def test_checks_of_derivatives():
    f = lambda x: jnp.sin(x) * jnp.arange(2.0)
    test_util.check_jvp(f, functools.partial(jax.jvp, f), (1.0,))
    test_util.check_vjp(f, functools.partial(jax.vjp, f), (1.0,))
    wrong = lambda x: 1.5 * f(x)
    with pytest.raises(AssertionError, match="tangent"):
        test_util.check_jvp(f, lambda p, t: (f(*p), jax.jvp(wrong, p, t)[1]), (1.0,))
    with pytest.raises(AssertionError, match="result"):
        test_util.check_vjp(f, functools.partial(jax.vjp, wrong), (1.0,))
    with pytest.raises(AssertionError, match="cotangents times differences"):
        test_util.check_vjp(f, lambda x: (f(x), jax.vjp(wrong, x)[1]), (1.0,))


def test_zero_tangents():
    zero = custom_derivatives.zero_from_primal(X)
    assert zero.shape == (4, 2) and not zero.any()
    assert custom_derivatives.zero_from_primal(3).dtype == dtypes.float0
    tree = custom_derivatives.zero_from_primal({"a": X, "b": (3, X[0])})
    assert jax.tree.structure(tree) == jax.tree.structure({"a": 0, "b": (0, 0)})
    assert custom_derivatives.zero_from_primal(X, symbolic_zeros=True).aval == jax.typeof(X)


def newton(f, x):
    slope = jax.grad(f)
    return lax.fori_loop(0, 20, lambda _, x: x - f(x) / slope(x), x)


def test_custom_root():
    def root(a):
        return lax.custom_root(lambda x: x**3 - a, 1.0, newton, lambda g, y: y / g(1.0))

    np.testing.assert_allclose(root(8.0), 2, rtol=1e-6)
    for slope in (jax.grad(root), jax.jacfwd(root), jax.jit(jax.grad(root))):
        np.testing.assert_allclose(slope(8.0), 1 / 12, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(jax.grad(root))(8.0), -2 / 9 * 8 ** (-5 / 3), rtol=1e-4)
    np.testing.assert_allclose(jax.vmap(jax.grad(root))(jnp.array([1.0, 8.0])), [1 / 3, 1 / 12])

    def with_aux(a):
        solve = lambda f, x: (newton(f, x), {"guess": x})
        return lax.custom_root(
            lambda x: x**2 - a, 3.0, solve, lambda g, y: y / g(1.0), has_aux=True
        )

    (x, aux), slope = (
        jax.value_and_grad(with_aux, has_aux=True)(4.0)[0],
        jax.grad(lambda a: with_aux(a)[0])(4.0),
    )
    np.testing.assert_allclose([x, slope], [2, 0.25], rtol=1e-6)
    assert aux == {"guess": 3.0}
    with pytest.raises(TypeError, match="custom_root"):
        lax.custom_root(1.0, 1.0, newton, newton)  # type: ignore


def test_small_functions_of_lax():
    assert lax.dtype(1) == jnp.int32 and lax.dtype(X) == np.float32
    kinds = [lax.dtype(d) for d in (np.float64, jnp.bfloat16, np.dtype("int8"), "f2", int)]
    assert kinds == [np.float32, jnp.bfloat16, np.int8, np.float16, np.int32]
    np.testing.assert_allclose(lax.reciprocal(X + 1), 1 / (X + 1))
    assert lax.empty((2, 3), "int8").dtype == np.int8
    a, b = np.ones((5, 2, 3), np.float32), np.arange(60.0, dtype=np.float32).reshape(5, 3, 4)
    np.testing.assert_allclose(lax.batch_matmul(a, b), a @ b)
    with pytest.raises(ValueError, match="batch_matmul"):
        lax.batch_matmul(X, b)
    for axis in (0, 1, -1):
        y = lax.stack([X, X + 1], axis)
        np.testing.assert_array_equal(y, np.stack([X, X + 1], axis))
        for p, q in zip(lax.unstack(y, axis), (X, X + 1), strict=True):
            np.testing.assert_array_equal(p, q)
    with pytest.raises(ValueError, match="at least one"):
        lax.stack([])
    assert lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x) == 3
    assert (
        jax.jit(lambda x: lax.platform_dependent(x, tpu=jnp.sin, default=jnp.negative))(2.0) == -2
    )
    with pytest.raises(ValueError, match="no function for the platform 'cpu'"):
        lax.platform_dependent(1.0, cuda=jnp.sin)


# --- switches of JAX's


def test_switches_that_only_jax_has():
    config = jax.config
    config.update("jax_log_compiles", True)
    assert config.jax_log_compiles is True and config.read("log_compiles") is True
    config.update("jax_log_compiles", False)
    config.update("jax_enable_checks", True)
    assert config.check_programs
    config.update("jax_enable_checks", False)
    assert config.jax_platform_name == config.platforms
    with pytest.raises(ValueError, match="no switch"):
        config.update("jax_no_such_thing", 1)
    with pytest.raises(ValueError, match="cannot be"):
        config.update("jax_threefry_partitionable", False)
