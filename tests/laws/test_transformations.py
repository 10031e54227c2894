"""Transformations of transformations: whatever the order, one answer, that of loops in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.testing import assert_close, reference
from tests.laws.functions import FUNCTIONS, ROWS, Function, known

EYE = np.eye(3)


class Composition(NamedTuple):
    """One way to compute a `kind` (a field of Known) of a function, at ROWS[0] or at all ROWS."""

    kind: str
    name: str
    make: Callable[[Function], Callable[[Any], Any]]
    rows: bool
    forward: bool

    def __str__(self) -> str:
        return f"{self.name} of {'rows' if self.rows else 'a point'}"

    def __call__(self, function: Function, x: Any) -> Any:
        return self.make(function)(x if self.rows else x[0])

    def check(self, function: Function, got: Any, rtol: float) -> None:
        wanted = getattr(known(function), self.kind)
        wanted = wanted if self.rows else wanted[0]
        scale = max(1.0, float(np.max(np.abs(wanted))))
        assert_close(got, wanted, rtol=rtol, atol=rtol * scale, message=f"{function}: {self}")


def _basis(x: Any) -> Any:
    return jnp.asarray(EYE, x.dtype)


# --- at one point


def _columns_by_jvp(f):
    def jacobian(x):
        return jnp.stack([jax.jvp(f, (x,), (t,))[1] for t in _basis(x)], -1)

    return jacobian


def _columns_by_linearize(f):
    def jacobian(x):
        _, push = jax.linearize(f, x)
        return jax.vmap(push, out_axes=-1)(_basis(x))

    return jacobian


def _rows_by_vjp(f):
    def jacobian(x):
        y, pull = jax.vjp(f, x)
        return jnp.stack([pull(ct)[0] for ct in jnp.eye(y.size, dtype=y.dtype)])

    return jacobian


def _transposed_linearization(f):
    def jacobian(x):
        y, push = jax.linearize(f, x)
        return jax.vmap(jax.linear_transpose(push, x))(jnp.eye(y.size, dtype=y.dtype))[0]

    return jacobian


def _hessian_by_products(f, product):
    def hessian(x):
        return jnp.stack([product(f, x, v) for v in _basis(x)])

    return hessian


def _forward_over_reverse(f, x, v):
    return jax.jvp(jax.grad(f), (x,), (v,))[1]


def _reverse_over_forward(f, x, v):
    return jax.grad(lambda x: jax.jvp(f, (x,), (v,))[1])(x)


def _reverse_over_reverse(f, x, v):
    return jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)


def _forward_over_linearize(f, x, v):
    _, push = jax.linearize(jax.grad(f), x)
    return push(v)


def _without_jit(f):
    def run(x):
        with jax.disable_jit():
            return f(x)

    return run


POINT = {
    "value": {
        "jit": lambda f: jax.jit(f.f),
        "checkpoint": lambda f: jax.checkpoint(f.f),
        "jit checkpoint jit": lambda f: jax.jit(jax.checkpoint(jax.jit(f.f))),
        "disable_jit": lambda f: _without_jit(jax.jit(f.f)),
        "cond": lambda f: lambda x: lax.cond(x[0] < 9, f.f, lambda x: 2 * f.f(x), x),
        "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f.f(c)), x, None, 2)[1][1],
        "while_loop": lambda f: lambda x: _twice_in_a_loop(f.f, x),
    },
    "jacobian": {
        "jacfwd": lambda f: jax.jacfwd(f.f),
        "jacfwd jit": lambda f: jax.jacfwd(jax.jit(f.f)),
        "jacfwd checkpoint": lambda f: jax.jacfwd(jax.checkpoint(f.f)),
        "jacfwd while_loop": lambda f: jax.jacfwd(lambda x: _twice_in_a_loop(f.f, x)),
        "jvp": lambda f: _columns_by_jvp(f.f),
        "linearize": lambda f: _columns_by_linearize(jax.jit(f.f)),
        "linear_transpose linearize": lambda f: _transposed_linearization(f.f),
        "jacrev": lambda f: jax.jacrev(f.f),
        "jit jacrev jit": lambda f: jax.jit(jax.jacrev(jax.jit(f.f))),
        "jacrev checkpoint": lambda f: jax.jacrev(jax.checkpoint(f.f)),
        "vjp": lambda f: _rows_by_vjp(jax.jit(f.f)),
        "jacrev scan": lambda f: jax.jacrev(
            lambda x: lax.scan(lambda c, _: (c, f.f(c)), x, None, 2)[1][1]
        ),
        "jacrev cond": lambda f: jax.jacrev(
            lambda x: lax.cond(x[0] < 9, f.f, lambda x: 2 * f.f(x), x)
        ),
    },
    "gradient": {
        "grad": lambda f: jax.grad(f.loss),
        "jit grad": lambda f: jax.jit(jax.grad(f.loss)),
        "grad jit": lambda f: jax.grad(jax.jit(f.loss)),
        "value_and_grad": lambda f: lambda x: jax.value_and_grad(f.loss)(x)[1],
        "grad checkpoint jit": lambda f: jax.grad(jax.checkpoint(jax.jit(f.loss))),
        "checkpoint grad": lambda f: jax.checkpoint(jax.grad(f.loss)),
        "jacfwd": lambda f: jax.jacfwd(f.loss),
        "disable_jit grad jit": lambda f: _without_jit(jax.grad(jax.jit(f.loss))),
    },
    "hessian": {
        "hessian": lambda f: jax.hessian(f.loss),
        "jacfwd grad": lambda f: jax.jacfwd(jax.grad(f.loss)),
        "jacrev grad": lambda f: jax.jacrev(jax.grad(f.loss)),
        "jacfwd jacfwd": lambda f: jax.jacfwd(jax.jacfwd(f.loss)),
        "jacrev jacfwd": lambda f: jax.jacrev(jax.jacfwd(f.loss)),
        "jacrev jit grad jit": lambda f: jax.jacrev(jax.jit(jax.grad(jax.jit(f.loss)))),
        "jacrev grad checkpoint": lambda f: jax.jacrev(jax.grad(jax.checkpoint(f.loss))),
        "jvp grad": lambda f: _hessian_by_products(f.loss, _forward_over_reverse),
        "linearize grad": lambda f: _hessian_by_products(f.loss, _forward_over_linearize),
        "grad jvp": lambda f: _hessian_by_products(f.loss, _reverse_over_forward),
        "grad grad": lambda f: _hessian_by_products(jax.jit(f.loss), _reverse_over_reverse),
    },
}


def _twice_in_a_loop(f, x):
    """f(x), computed again and again in a while_loop."""

    def body(state):
        k, y = state
        return k + 1, f(x) + 0 * y

    return lax.while_loop(lambda state: state[0] < 2, body, (0, f(x)))[1]


# --- at all rows


def _square(g):
    """g on rows laid out as a square."""

    def run(x):
        y = g(x.reshape(2, 2, *x.shape[1:]))
        return y.reshape(4, *y.shape[2:])

    return run


def _total(g):
    return lambda x: jnp.sum(g(x))


def _pmap(f, **options):
    return jax.pmap(f, axis_name="rows", **options)


def _diagonal(jacobian):
    """Of the Jacobian of rows with respect to rows, that of each row with respect to itself."""

    def run(x):
        whole = jacobian(x)
        return jnp.stack([whole[k][..., k, :] for k in range(4)])

    return run


def _scanned_loss(f):
    return lambda x: lax.scan(lambda total, row: (total + f(row), row), 0.0 * x[0, 0], x)[0]


ROWWISE = {
    "value": {
        "vmap": lambda f: jax.vmap(f.f),
        "vmap jit": lambda f: jax.vmap(jax.jit(f.f)),
        "vmap over columns": lambda f: lambda x: jax.vmap(f.f, in_axes=1, out_axes=1)(x.T).T,
        "vmap vmap": lambda f: _square(jax.vmap(jax.vmap(f.f))),
        "vmap checkpoint": lambda f: jax.vmap(jax.checkpoint(f.f)),
        "pmap": lambda f: _pmap(f.f),
        "pmap jit": lambda f: _pmap(jax.jit(f.f)),
        "jit pmap": lambda f: jax.jit(_pmap(f.f)),
        "pmap over columns": lambda f: lambda x: _pmap(f.f, in_axes=1, out_axes=1)(x.T).T,
        "pmap vmap": lambda f: _square(_pmap(jax.vmap(f.f))),
        "vmap pmap": lambda f: _square(jax.vmap(_pmap(f.f))),
        "pmap pmap": lambda f: _square(_pmap(jax.pmap(f.f, axis_name="inner"))),
        "map": lambda f: lambda x: lax.map(f.f, x),
        "scan vmap": lambda f: _square(lambda x: lax.map(jax.vmap(f.f), x)),
        "scan pmap": lambda f: _square(lambda x: lax.map(_pmap(f.f), x)),
        "vmap cond": lambda f: jax.vmap(
            lambda x: lax.cond(x[0] < 0.9, f.f, lambda x: f.f(x) * 1.0, x)
        ),
    },
    "jacobian": {
        "vmap jacfwd": lambda f: jax.vmap(jax.jacfwd(f.f)),
        "pmap jacfwd": lambda f: _pmap(jax.jacfwd(f.f)),
        "vmap jacrev": lambda f: jax.vmap(jax.jacrev(f.f)),
        "pmap jacrev": lambda f: _pmap(jax.jacrev(f.f)),
        "jacfwd vmap": lambda f: _diagonal(jax.jacfwd(jax.vmap(f.f))),
        "jacfwd pmap": lambda f: _diagonal(jax.jacfwd(_pmap(f.f))),
        "jacrev vmap": lambda f: _diagonal(jax.jacrev(jax.vmap(f.f))),
        "jacrev pmap": lambda f: _diagonal(jax.jacrev(_pmap(f.f))),
    },
    "gradient": {
        "vmap grad": lambda f: jax.vmap(jax.grad(f.loss)),
        "vmap jit grad": lambda f: jax.vmap(jax.jit(jax.grad(f.loss))),
        "pmap grad": lambda f: _pmap(jax.grad(f.loss)),
        "pmap jit grad": lambda f: _pmap(jax.jit(jax.grad(f.loss))),
        "pmap grad jit": lambda f: _pmap(jax.grad(jax.jit(f.loss))),
        "jit pmap jit grad": lambda f: jax.jit(_pmap(jax.jit(jax.grad(f.loss)))),
        "pmap vmap grad": lambda f: _square(_pmap(jax.vmap(jax.grad(f.loss)))),
        "vmap pmap grad": lambda f: _square(jax.vmap(_pmap(jax.grad(f.loss)))),
        "grad vmap": lambda f: jax.grad(_total(jax.vmap(f.loss))),
        "grad pmap": lambda f: jax.grad(_total(_pmap(f.loss))),
        "grad pmap checkpoint": lambda f: jax.grad(_total(_pmap(jax.checkpoint(f.loss)))),
        "grad checkpoint pmap": lambda f: jax.grad(_total(jax.checkpoint(_pmap(f.loss)))),
        "grad pmap vmap": lambda f: jax.grad(_total(_square(_pmap(jax.vmap(f.loss))))),
        "grad vmap pmap": lambda f: jax.grad(_total(_square(jax.vmap(_pmap(f.loss))))),
        "grad map": lambda f: jax.grad(_total(lambda x: lax.map(f.loss, x))),
        "grad scan": lambda f: jax.grad(_scanned_loss(f.loss)),
        "map grad": lambda f: lambda x: lax.map(jax.grad(f.loss), x),
        "vmap value_and_grad": lambda f: lambda x: jax.vmap(jax.value_and_grad(f.loss))(x)[1],
    },
    "hessian": {
        "vmap hessian": lambda f: jax.vmap(jax.hessian(f.loss)),
        "pmap hessian": lambda f: _pmap(jax.hessian(f.loss)),
        "vmap jacrev grad": lambda f: jax.vmap(jax.jacrev(jax.grad(f.loss))),
        "pmap jacrev grad": lambda f: _pmap(jax.jacrev(jax.grad(f.loss))),
        "jacrev vmap grad": lambda f: _diagonal(jax.jacrev(jax.vmap(jax.grad(f.loss)))),
        "jacrev grad pmap": lambda f: _diagonal(jax.jacrev(jax.grad(_total(_pmap(f.loss))))),
        "jacfwd grad pmap": lambda f: _diagonal(jax.jacfwd(jax.grad(_total(_pmap(f.loss))))),
    },
}
FORWARD = ("jacfwd", "jvp", "linearize", "hessian", "while_loop")


def _all() -> list[Composition]:
    found = []
    for rows, table in ((False, POINT), (True, ROWWISE)):
        for kind, makers in table.items():
            for name, make in makers.items():
                forward = kind != "value" and any(word in name for word in FORWARD)
                found.append(Composition(kind, name, make, rows, forward))
    return found


COMPOSITIONS = _all()


def allowed(function: Function) -> list[Composition]:
    return [c for c in COMPOSITIONS if function.forward or not c.forward]


def _everything(function: Function, run: Callable[..., Any]) -> None:
    def every(x):
        return [composition(function, x) for composition in allowed(function)]

    with jax.enable_x64():
        results = run(every)(ROWS)
    for composition, y in zip(allowed(function), results, strict=True):
        assert y.dtype == np.float64
        composition.check(function, np.asarray(y), 1e-6 if composition.kind == "hessian" else 1e-8)


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_everything_by_numpy(function):
    """What the transformations write, run by NumPy: nothing is compiled."""
    _everything(function, reference)


COMPILED = ("scanned", "spread")


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if str(f) in COMPILED], ids=str)
def test_everything_in_one_compiled_program(function):
    _everything(function, jax.jit)


@pytest.mark.parametrize("place", range(len(COMPOSITIONS)), ids=lambda k: str(COMPOSITIONS[k]))
def test_each_on_its_own(place):
    """Dispatched op by op, or compiled by the transformation itself: each with an eighth
    of the functions, since all of them take minutes."""
    composition = COMPOSITIONS[place]
    for function in FUNCTIONS[place % 8 :: 8]:
        if function.forward or not composition.forward:
            y = composition(function, ROWS.astype(np.float32))
            assert y.dtype == np.float32
            composition.check(function, np.asarray(y), 2e-4)


MAPPED = [c for c in COMPOSITIONS if "pmap" in c.name]
GANGS = ("spread", "scanned", "own_vjp", "branched")


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if str(f) in GANGS], ids=str)
def test_maps_as_one_partitioned_program(function):
    with override(pmap_form="gang"):
        for composition in MAPPED:
            if function.forward or not composition.forward:
                y = composition(function, ROWS.astype(np.float32))
                composition.check(function, np.asarray(y), 2e-4)


def test_a_broadcast_inside_a_lane_is_not_one_value_for_all_lanes():
    # Shapes alone cannot tell: as many lanes as each lane's vector has elements.
    x = np.float32([[1, 2], [3, 4]])
    for axis in (0, 1):
        y = jax.pmap(lambda x, axis=axis: lax.broadcast_in_dim(x, (2, 2), (axis,)))(x)
        wanted = np.broadcast_to(x[:, :, None] if axis == 0 else x[:, None, :], (2, 2, 2))
        np.testing.assert_array_equal(y, wanted)


# --- every three of them: around, between and inside two derivatives


def _in_cond(g):
    return lambda x: lax.cond(x[0] < 9, g, lambda x: g(2 * x), x)


def _in_scan(g):
    return lambda x: lax.scan(lambda c, k: (c, g(c * k)), x, jnp.array([2.0, 1.0], x.dtype))[1][1]


def _in_fori_loop(g):
    return lambda x: lax.fori_loop(0, 2, lambda k, y: g(x) + 0 * y, g(2 * x))


def _in_vmap(g):
    return lambda x: jax.vmap(g)(jnp.stack([2 * x, x]))[1]


def _in_pmap(g):
    return lambda x: jax.pmap(g)(jnp.stack([2 * x, x]))[1]


def _in_psum(g):
    def f(x):
        parts = jnp.array([0.25, 0.75], x.dtype)
        return jax.pmap(lambda x, k: lax.psum(k * g(x), "i"), "i", in_axes=(None, 0))(x, parts)[1]

    return f


def _with_jvp(g):
    f = jax.custom_jvp(g)
    f.defjvp(lambda primals, tangents: jax.jvp(g, primals, tangents))
    return f


def _with_vjp(g):
    f = jax.custom_vjp(g)
    f.defvjp(lambda x: jax.vjp(g, x), lambda pull, ct: pull(ct))
    return f


AROUND = {
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "cond": _in_cond,
    "scan": _in_scan,
    "fori_loop": _in_fori_loop,
    "vmap": _in_vmap,
    "pmap": _in_pmap,
    "psum": _in_psum,
    "custom_jvp": _with_jvp,
}


@pytest.mark.parametrize("outer", AROUND)
@pytest.mark.parametrize("middle", AROUND)
def test_three_around_two_derivatives(outer, middle):
    function = FUNCTIONS[0]
    wanted = known(function).hessian[0]
    with jax.enable_x64():
        for inner in (*AROUND, "custom_vjp"):
            wrap = AROUND.get(inner, _with_vjp)
            slope = AROUND[middle](jax.grad(wrap(function.loss)))
            derivatives = [jax.jacrev] if inner == "custom_vjp" else [jax.jacrev, jax.jacfwd]
            for derivative in derivatives:
                got = reference(AROUND[outer](derivative(slope)))(ROWS[0])
                name = f"{outer} {derivative.__name__} {middle} grad {inner}"
                assert_close(got, wanted, rtol=1e-6, atol=1e-6, message=name)
