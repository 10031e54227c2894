"""Mistakes with control flow and functions with rules, and what they make of Programs."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
from plait import lax
from plait.ad_checkpoint import checkpoint_name
from plait.core import dtypes
from plait.core.primitive import registered
from plait.core.types import ArrayType
from plait.custom_batching import custom_vmap
from plait.interpreters.closed import stage_closed

V = np.array([1, 2, 3], np.float32)
X = np.ones((3, 2), np.float32)
S = np.float32(1)
KEY = jax.random.key(0)


def same(c: Any) -> Any:
    return c


def with_jvp(rule: Any, f: Any = same, x: Any = S, **options: Any) -> Any:
    f = jax.custom_jvp(f, **options)
    f.defjvp(rule)
    return jax.jvp(f, (x,), (x,))


def with_vjp(back: Any, forward: Any = lambda x: (x, None), x: Any = S, f: Any = same) -> Any:
    f = jax.custom_vjp(f)
    f.defvjp(forward, back)
    return jax.vjp(jax.jit(f), x)[1](f(x))


def twice(xs: Any, ts: Any) -> Any:
    return 2 * xs[0], 2 * ts[0]


def ruled(f: Any = same, rule: Any = twice, **options: Any) -> Any:
    f = jax.custom_jvp(f, **options)
    f.defjvp(rule)
    return f


def doubled(**options: Any) -> Any:
    f = jax.custom_vjp(lambda x, y: x * y, **options)
    f.defvjp(lambda x, y: (x * y, None), lambda x, r, ct: (ct,))
    return f


def by_argument(*rules: Any) -> Any:
    f = jax.custom_jvp(lambda x: (x, x))
    f.defjvps(*rules)
    return jax.jvp(f, (S,), (S,))


def numbered() -> Any:
    jax.custom_jvp(same, nondiff_argnums=0).defjvps(None)


def pushed() -> Any:
    """The tangents of a function with rules for reverse mode only, for a transformation."""
    f = jax.custom_vjp(same)
    f.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
    return lambda x: jax.jvp(f, (x,), (x,))[1]


def closing(order: int) -> Any:
    """A derivative of an order of a function that closes over what is traced."""

    def outer(c: Any) -> Any:
        f = ruled(lambda x: c * x, lambda xs, ts: (f(*xs), f(*ts)))
        g = jax.jit(f)
        for _ in range(order):
            g = jax.grad(g)
        return g(S)

    return jax.jit(outer)(S)


def differentiated(c: Any) -> Any:
    return jax.jit(lambda x: ruled(lambda y: c * y)(x))(S)


def solved(matvec: Any = same, solve: Any = lambda mv, b: b, **options: Any) -> Any:
    return lax.custom_linear_solve(matvec, options.pop("b", V), solve, **options)


def loop(lower: Any, upper: Any, **options: Any) -> Any:
    return lax.fori_loop(lower, upper, lambda k, c: c, 1, **options)


def scan(xs: Any = V, init: Any = 1, **options: Any) -> Any:
    return lax.scan(lambda c, x: (c, x), init, xs, **options)


TANGENT = registered("custom_vjp_tangent")
F32, I32, B = (ArrayType((), d) for d in (dtypes.float32, dtypes.int32, dtypes.bool_))


def program(f: Any, *types: Any) -> Any:
    return stage_closed(lambda *xs: [f(*xs)], types, name="f")


def typed(name: str, *types: Any, **params: Any) -> Any:
    """The type rule of an op that holds Programs, for operands that do not fit them."""
    return registered(name).type(*types, **params)


def typed_scan(x: Any, result: Any = same) -> Any:
    body = stage_closed(lambda c, x: [result(c), x], [F32, F32], name="f")
    params = {"consts": 0, "carry": 1, "length": 3, "reverse": False, "unroll": 1}
    return typed("scan", F32, x, program=body, **params)


def typed_loop(cond: Any, body: Any) -> Any:
    programs = {"cond": program(cond, F32), "body": program(body, F32)}
    return typed("while", F32, **programs, cond_consts=0, body_consts=0)


CASES: dict[str, Any] = {
    # regions/checkpoint.py, regions/trace.py
    "checkpoint_name: no text": lambda: checkpoint_name(V, 3),  # type: ignore[arg-type]
    "cond: a branch that returns text": lambda: lax.cond(True, lambda: ["a"], lambda: ["b"]),
    # regions/cond.py
    "cond: operands twice": lambda: lax.cond(True, same, same, S, operand=S),
    "cond: a key": lambda: lax.cond(KEY, same, same, S),
    "cond: an operand of text": lambda: lax.cond(True, same, same, {"mode": "a"}),
    "switch: text": lambda: lax.switch("a", [same, same], S),
    "switch: a vector": lambda: lax.switch(np.arange(2), [same, same], S),
    "cond op: an index": lambda: typed("cond", F32, F32, branches=(program(same, F32),)),
    "cond op: operands": lambda: typed("cond", I32, B, branches=(program(same, F32),)),
    "cond op: results": lambda: typed(
        "cond", I32, F32, branches=(program(same, F32), program(lambda x: x > 1, F32))
    ),
    # regions/loops.py, regions/scan.py, regions/while_loop.py
    "scan: a carry of text": lambda: scan(init={"c": "a"}),
    "scan: unroll": lambda: scan(unroll=-1),
    "scan: a scalar": lambda: scan({"x": S}),
    "scan: a length of floats": lambda: scan(length=2.5),
    "scan: a negative length": lambda: scan(None, length=-1),
    "fori_loop: unroll": lambda: jax.jit(lambda n: loop(0, n, unroll=2))(3),
    "fori_loop: text": lambda: loop(0, "3"),
    "fori_loop: a vector": lambda: loop(np.arange(2), 3),
    "fori_loop: dtypes of bounds": lambda: jax.jit(lambda n: loop(np.int32(0), n))(np.uint32(3)),
    "map: batch_size": lambda: lax.map(same, V, batch_size=0),
    "associative_scan: structure": lambda: lax.associative_scan(lambda a, b: (a, b), V),
    "scan op: rows": lambda: typed_scan(F32),
    "scan op: a carry": lambda: typed_scan(F32.with_shape((3,)), lambda c: c > 1),
    "while op: a condition": lambda: typed_loop(same, same),
    "while op: a carry": lambda: typed_loop(lambda c: c < 1, lambda c: c < 1),
    # regions/spmd.py
    "pmap op: an operand": lambda: typed(
        "pmap",
        F32,
        program=program(same, F32),
        axis_name="i",
        axis_size=2,
        in_mapped=(True,),
        out_mapped=(True,),
        devices=None,
        form="gang",
    ),
    # regions/linear_solve.py
    "custom_linear_solve: structure": lambda: solved(lambda x: (x, x)),
    "custom_linear_solve: no transpose": lambda: jax.grad(lambda b: solved(b=b).sum())(V),
    "custom_linear_solve: nothing more": lambda: solved(has_aux=True, symmetric=True),
    "custom_linear_solve: text": lambda: solved(b={"x": "a"}),
    # regions/rules.py
    "custom_jvp: no such argument": lambda: jax.custom_jvp(same, nondiff_argnames="mode"),
    "custom_jvp: by name": lambda: ruled(max)(S, key=S),
    "custom_jvp: by name only": lambda: ruled(lambda x, *, y: x)(S, y=S),
    "custom_jvp: text": lambda: ruled()({"mode": "a"}),
    "custom_jvp: rows": lambda: jax.jvp(jax.vmap(jax.jit(ruled(lambda x: S))), (V,), (V,)),
    "custom_jvp: closes over what is differentiated": lambda: jax.grad(differentiated)(S),
    "custom_jvp: a high order": lambda: closing(4),
    "custom_jvp: a rule of other types": lambda: jax.jvp(
        jax.jit(ruled(rule=lambda xs, ts: (xs[0] * V, ts[0] * V))), (S,), (S,)
    ),
    # regions/custom_jvp.py
    "custom_jvp: returns text": lambda: ruled(lambda x: {"y": "a"})(S),
    "custom_jvp: a rule that returns text": lambda: with_jvp(lambda xs, ts: ("a", ts[0])),
    "defjvps: nondiff_argnums": numbered,
    "defjvps: too few rules": lambda: by_argument(),
    "defjvps: structure": lambda: by_argument(lambda t, y, x: t),
    # regions/custom_vjp.py
    "custom_vjp: no function": lambda: jax.custom_vjp(3),  # type: ignore[arg-type]
    "custom_vjp: in forward mode, compiled": lambda: jax.jit(pushed())(S),
    "custom_vjp: in forward mode, twice": lambda: TANGENT.jvp((), (), name="f"),
    "custom_vjp: in forward mode, on NumPy arrays": lambda: TANGENT.numpy(name="f"),
    "custom_vjp: a traced argument without derivative": lambda: jax.jit(
        doubled(nondiff_argnums=(0,))
    )(S, S),
    "custom_vjp: the structure of fwd": lambda: with_vjp(
        lambda r, ct: (ct,), lambda x: ((x, x), None)
    ),
    "custom_vjp: fwd returns text": lambda: with_vjp(same, lambda x: ({"y": "a"}, None)),
    "custom_vjp: the structure of a cotangent": lambda: with_vjp(
        lambda r, ct: ((1, 2),), lambda x: (x["a"], None), {"a": S}, lambda x: x["a"]
    ),
    "custom_vjp: a cotangent of text": lambda: with_vjp(lambda r, ct: ("a",)),
    "custom_vjp: a complex cotangent": lambda: with_vjp(lambda r, ct: (ct * 1j,)),
    # regions/custom.py, regions/custom_vmap.py
    "custom_gradient: no pair": lambda: jax.custom_gradient(same)(S),
    "closure_convert: structure": lambda: jax.closure_convert(same, S)[0]((S, S)),
    "custom_vmap: no rule": lambda: jax.vmap(custom_vmap(same))(V),
    "custom_vmap: text": lambda: custom_vmap(same)("a"),
}
