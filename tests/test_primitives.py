"""What libraries for JAX build on: primitives of their own, jaxprs, partial evaluation, and the
machinery that flattens functions.
"""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.as_jax.jax import api_util
from plait.as_jax.jax._src import traceback_util
from plait.as_jax.jax.extend import core as jex
from plait.as_jax.jax.extend import linear_util as lu
from plait.as_jax.jax.extend.core import primitives
from plait.as_jax.jax.interpreters import ad, batching, mlir, xla
from plait.as_jax.jax.interpreters import partial_eval as pe
from plait.errors import MissingRuleError


def scaled_add():
    """scale * x + y, elementwise, with all rules written in JAX's way."""
    p = jex.Primitive("scaled_add")

    @p.def_impl
    def impl(x, y, *, scale):
        return jnp.asarray(x) * scale + y

    @p.def_abstract_eval
    def abstract(x, y, *, scale):
        return jax.core.ShapedArray(x.shape, x.dtype)

    def jvp(primals, tangents, *, scale):
        (x, y), (tx, ty) = primals, tangents
        z = p.bind(x, y, scale=scale)
        if type(tx) is ad.Zero and type(ty) is ad.Zero:
            return z, ad.Zero.from_primal_value(z)
        tx, ty = ad.instantiate_zeros(tx), ad.instantiate_zeros(ty)
        return z, p.bind(tx, ty, scale=scale)

    def transpose(ct, x, y, *, scale):
        return [
            ct * scale if ad.is_undefined_primal(x) else None,
            ct if ad.is_undefined_primal(y) else None,
        ]

    def batch(args, dims, *, scale):
        (x, y), (dx, dy) = args, dims
        size = x.shape[dx] if dx is not None else y.shape[dy]
        x, y = (batching.bdim_at_front(a, d, size) for a, d in ((x, dx), (y, dy)))
        z = p.bind(x, y, scale=scale)
        return (jnp.moveaxis(z, 0, 1), 1) if z.ndim > 1 else (z, 0)  # any axis will do

    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = batch
    mlir.register_lowering(p, mlir.lower_fun(impl, multiple_results=False))
    return p


X, Y = np.arange(3.0, dtype=np.float32), np.ones(3, np.float32)


def test_a_primitive_under_every_transformation():
    p = scaled_add()

    def f(x, y):
        return p.bind(x, y, scale=2.0)

    wanted = 2 * X + Y
    for g in (f, jax.jit(f), jax.checkpoint(f), jax.vmap(f), jax.jit(jax.vmap(f))):
        np.testing.assert_allclose(g(X, Y), wanted)
    np.testing.assert_allclose(jax.pmap(f)(X[:2], Y[:2]), wanted[:2])
    rows = np.stack([X, X + 1])
    np.testing.assert_allclose(jax.vmap(f, (0, None))(rows, Y), 2 * rows + Y)
    np.testing.assert_allclose(jax.jit(jax.vmap(f, (1, None)))(rows.T, Y), 2 * rows + Y)
    assert jax.eval_shape(f, X, Y).shape == (3,)

    def loss(x, y):
        return (f(x, y) ** 2).sum()

    for wrap in (lambda g: g, jax.jit):
        gx, gy = wrap(jax.grad(loss, argnums=(0, 1)))(X, Y)
        np.testing.assert_allclose(gx, 4 * wanted)
        np.testing.assert_allclose(gy, 2 * wanted)
    np.testing.assert_allclose(jax.grad(lambda x: f(x, Y).sum())(X), [2, 2, 2])
    np.testing.assert_allclose(jax.jvp(lambda x: f(x, Y), (X,), (Y,))[1], 2 * Y)
    np.testing.assert_allclose(jax.jacrev(lambda x: f(x, Y))(X), 2 * np.eye(3))
    summed = lax.scan(lambda c, x: (p.bind(c, x, scale=0.5), None), np.float32(0), X)[0]
    np.testing.assert_allclose(summed, 0.5 * 1 + 2)
    (eqn,) = jax.make_jaxpr(f)(X, Y).eqns
    assert eqn.primitive is p and eqn.params == {"scale": 2.0}
    assert "scaled_add[scale=2.0]" in str(jax.make_jaxpr(f)(X, Y))


def test_a_primitive_with_several_results_and_the_axis_of_a_map():
    p = jex.Primitive("both")
    p.multiple_results = True
    p.def_impl(lambda x: [jnp.sin(x), jnp.cos(x)])
    p.def_abstract_eval(lambda x: [x, x])
    mlir.register_lowering(p, mlir.lower_fun(p.impl, multiple_results=True))
    seen = []

    def batch(size, name, kind, args, dims):
        seen.append((size, name))
        return p.bind(*args), [dims[0], dims[0]]

    batching.axis_primitive_batchers[p] = batch

    def jvp(primals, tangents):
        s, c = p.bind(*primals)
        return [s, c], [c * tangents[0], -s * tangents[0]]

    ad.primitive_jvps[p] = jvp
    s, c = jax.jit(jax.vmap(lambda x: p.bind(x), axis_name="i"))(X)
    np.testing.assert_allclose(s, np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(c, np.cos(X), rtol=1e-6)
    assert seen == [(3, "i")]
    slope = jax.grad(lambda x: p.bind(x)[0] * 2 + p.bind(x)[1])(0.5)
    np.testing.assert_allclose(slope, 2 * np.cos(0.5) - np.sin(0.5), rtol=1e-6)


def test_short_forms_of_rules():
    square = jex.Primitive("my_square")
    square.def_impl(lambda x: x * x)
    square.def_abstract_eval(lambda x: x)
    ad.defjvp(square, lambda t, x: 2 * x * t)
    batching.defvectorized(square)
    mlir.register_lowering(square, mlir.lower_fun(lambda x: x * x, multiple_results=False))
    np.testing.assert_allclose(jax.vmap(jax.grad(square.bind))(X), 2 * X)

    root = jex.Primitive("my_root")
    root.def_impl(lambda x: jnp.sqrt(x))
    root.def_abstract_eval(lambda x: x)
    ad.defjvp2(root, lambda t, y, x: t / (2 * y))
    np.testing.assert_allclose(jax.grad(root.bind)(4.0), 0.25)

    twice = jex.Primitive("twice")
    twice.def_impl(lambda x: 2 * x)
    twice.def_abstract_eval(lambda x: x)
    ad.deflinear(twice, lambda ct: [twice.bind(ct)])
    np.testing.assert_allclose(jax.grad(twice.bind)(4.0), 2.0)

    product = jex.Primitive("product")
    product.def_impl(lambda x, y: x * y)
    product.def_abstract_eval(lambda x, y: x)
    ad.defbilinear(product, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
    assert [float(g) for g in jax.grad(product.bind, (0, 1))(3.0, 4.0)] == [4.0, 3.0]


def test_an_op_compiled_to_be_run_at_once():
    p = jex.Primitive("compiled")
    p.def_impl(lambda *xs: xla.apply_primitive(p, *xs))
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 1, multiple_results=False))
    np.testing.assert_allclose(p.bind(X), X + 1)


def test_missing_rules_are_named():
    p = jex.Primitive("bare")
    with pytest.raises(MissingRuleError, match="bare: .*no rule for evaluation"):
        p.bind(1.0)
    p.def_impl(lambda x: x)
    with pytest.raises(MissingRuleError, match="abstract evaluation"):
        jax.jit(p.bind)(1.0)
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(MissingRuleError, match="no lowering that plait can use"):
        jax.jit(p.bind)(1.0)
    mlir.register_lowering(p, lambda ctx, x: [x])  # a rule that builds MLIR
    with pytest.raises(MissingRuleError, match="StableHLO as text"):
        jax.jit(p.bind)(1.0)
    with pytest.raises(MissingRuleError, match="differentiation"):
        jax.grad(p.bind)(1.0)
    with pytest.raises(MissingRuleError, match="batching"):
        jax.vmap(p.bind)(X)
    with pytest.raises(TypeError, match="cannot be replaced"):
        ad.primitive_jvps[primitives.sin_p] = lambda *_: None
    with pytest.raises(TypeError, match="cannot be replaced"):
        mlir.register_lowering(primitives.sin_p, mlir.lower_fun(jnp.sin))


def test_the_rules_of_plaits_own_ops_in_jaxs_form():
    sin_p, dot_p = primitives.sin_p, primitives.dot_general_p
    assert sin_p in ad.primitive_jvps and primitives.jit_p.name == "jit"
    y, t = ad.primitive_jvps[sin_p]([X], [Y])
    np.testing.assert_allclose(y, np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(t, np.cos(X), rtol=1e-6)
    _, t = ad.primitive_jvps[sin_p]([X], [ad.Zero.from_primal_value(X)])
    assert type(t) is ad.Zero and t.aval == jax.typeof(X)
    (eqn,) = jax.make_jaxpr(lambda a, b: a @ b)(X, Y).eqns
    assert eqn.primitive is dot_p
    left, right = ad.primitive_transposes[dot_p](
        np.float32(2), ad.UndefinedPrimal(jax.typeof(X)), Y, **eqn.params
    )
    np.testing.assert_allclose(left, 2 * Y)
    assert right is None
    ys, dim = batching.primitive_batchers[sin_p]([np.stack([X, Y], 1)], [1])
    np.testing.assert_allclose(jnp.moveaxis(ys, dim, 1), np.sin(np.stack([X, Y], 1)), rtol=1e-6)
    with pytest.raises(AttributeError):
        _ = primitives.no_such_p


def test_an_interpreter_of_jaxprs():
    # As JAX's own tutorial writes one: the inverse of a function of one variable.
    inverse = {primitives.exp_p: jnp.log, primitives.tanh_p: jnp.arctanh}

    def inverted(f):
        def g(y):
            closed = jax.make_jaxpr(f)(y)
            env = {}

            def read(v):
                return v.val if isinstance(v, jex.Literal) else env[v]

            env.update(zip(closed.jaxpr.constvars, closed.literals, strict=True))
            env.update(zip(closed.jaxpr.outvars, [y], strict=True))
            for eqn in closed.jaxpr.eqns[::-1]:
                (v,) = eqn.invars
                env[v] = inverse[eqn.primitive](*map(read, eqn.outvars))
            return read(closed.jaxpr.invars[0])

        return g

    f = lambda x: jnp.exp(jnp.tanh(x))
    np.testing.assert_allclose(jax.jit(inverted(f))(f(0.5)), 0.5, rtol=1e-5)
    table = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x: table * x)(1.0)
    assert len(closed.jaxpr.constvars) == len(closed.consts) == 1
    assert [v.aval.shape for v in closed.jaxpr.invars] == [()]
    np.testing.assert_allclose(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0)[0], 2 * X)
    np.testing.assert_allclose(jex.jaxpr_as_fun(closed)(2.0)[0], 2 * X)
    inner = jax.make_jaxpr(jax.jit(jnp.tanh))(1.0)
    assert [e.primitive.name for j in jex.subjaxprs(inner.jaxpr) for e in j.eqns] == ["tanh"]
    (eqn,) = inner.eqns
    called = eqn.params["jaxpr"].jaxpr
    assert called is eqn.params["call_jaxpr"]
    assert [e.primitive.name for e in called.eqns] == ["tanh"]
    np.testing.assert_allclose(eqn.primitive.bind(0.5, **eqn.params)[0], np.tanh(0.5), rtol=1e-6)
    with pytest.raises(KeyError, match="nothing"):
        eqn.params["nothing"]


def test_types_of_rows_and_batches():
    t = jax.core.ShapedArray((2, 3), "float32")
    assert jex.mapped_aval(3, 1, t).shape == (2,) and jex.mapped_aval(3, None, t) is t
    assert jex.unmapped_aval(5, 1, t).shape == (2, 5, 3) and jex.unmapped_aval(5, None, t) is t
    assert t.update(shape=(4,)).shape == (4,) and t.str_short(short_dtypes=True) == "f32[2,3]"
    assert jex.valid_jaxtype(1.0) and not jex.valid_jaxtype("no")


def test_partial_evaluation():
    def f(x, y):
        z = jnp.sin(x)  # known
        return z, z * y

    fun = lu.wrap_init(f)
    values = [pe.PartialVal.known(jnp.float32(2)), pe.PartialVal.unknown(jax.typeof(1.0))]
    jaxpr, (known, unknown), consts = pe.trace_to_jaxpr_nounits(fun, values)
    assert known.is_known() and not unknown.is_known()
    np.testing.assert_allclose(known.get_known(), np.sin(2), rtol=1e-6)
    assert [e.primitive.name for e in jaxpr.eqns] == ["mul"] and unknown.get_aval().shape == ()
    (y,) = jax.core.eval_jaxpr(jaxpr, consts, 3.0)
    np.testing.assert_allclose(y, 3 * np.sin(2), rtol=1e-6)
    jaxpr, out, _ = pe.trace_to_jaxpr_nounits(fun, values, instantiate=True)
    assert len(jaxpr.outvars) == 2 and not any(v.is_known() for v in out)


def test_functions_of_leaves():
    leaves, shape = jax.tree.flatten((({"a": 1.0}, 2.0), {"k": 3.0}))
    fun, out = api_util.flatten_fun(lu.wrap_init(lambda x, y, *, k: {"s": x["a"] + y + k}), shape)
    with pytest.raises(RuntimeError, match="not been called"):
        out()
    assert fun.call_wrapped(*leaves) == [6.0]
    assert out() == jax.tree.structure({"s": 0})
    leaves, shape = jax.tree.flatten((1.0, [2.0]))
    fun, out = api_util.flatten_fun_nokwargs(lu.wrap_init(lambda x, y: (x, y[0])), shape)
    assert fun.call_wrapped(*leaves) == [1.0, 2.0] and out().num_leaves == 2

    @lu.transformation
    def doubled(*args):
        result = yield args, {}
        yield 2 * result

    assert doubled(doubled(lu.wrap_init(lambda x, k: x + k, {"k": 1}))).call_wrapped(2) == 12
    part, given = api_util.argnums_partial(lu.wrap_init(lambda a, b, c: (a, b, c)), 1, (1, 2, 3))
    assert given == (2,) and part.call_wrapped(5) == (1, 5, 3)
    assert api_util.flatten_axes("axes", jax.tree.structure((0, (0, 0))), (1, None)) == [
        1,
        None,
        None,
    ]
    assert api_util.shaped_abstractify(np.ones(2)).shape == (2,)
    assert api_util.safe_map(max, [1, 5], [2, 3]) == [2, 5]


def test_hidden_files_are_not_shown_as_the_users():
    code = compile("def call(f):\n    return f(1.0)\n", "/some/library/code.py", "exec")

    def where():
        scope: dict = {}
        exec(code, scope)  # a new function, traced anew
        return str(jax.make_jaxpr(scope["call"], static_argnums=0)(jnp.sin).eqns[0].source)

    # jnp.sin is called from the library.
    assert where().startswith("code.py:2")
    traceback_util.register_exclusion("/some/library")
    try:
        assert where().startswith("test_primitives.py")
        assert "/some/library" in traceback_util._exclude_paths
    finally:
        traceback_util._exclude_paths.remove("/some/library")
    assert where().startswith("code.py:2")


def test_what_runs_is_known():
    seen = []

    @jax.jit
    def f(x):
        seen.append((jex.get_opaque_trace_state(), jex.find_top_trace()))
        return x

    outside = jex.get_opaque_trace_state()
    f(1.0)
    state, top = seen[0]
    assert outside == jex.get_opaque_trace_state() != state
    assert isinstance(top, jax.core.Trace)
