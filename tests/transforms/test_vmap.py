"""vmap: axes of all kinds, names, sizes, nesting, and what cannot be mapped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from tests.transforms.common import counted, message, refused, same

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def loop(f: Any, n: int, *rows: Any, out: int = 0) -> np.ndarray:
    """f of every k < n, stacked: what a map means."""
    return np.stack([np.asarray(f(*(r(k) for r in rows))) for k in range(n)], axis=out)


@pytest.mark.parametrize("axis", range(-3, 3))
@pytest.mark.parametrize("out", range(-2, 2))
def test_axes(axis, out):
    f = lambda x: jnp.cumsum(x, 0)[:, -1]
    got = jax.vmap(f, in_axes=axis, out_axes=out)(X)
    want = loop(f, X.shape[axis], lambda k: np.take(X, k, axis), out=out)
    same(got, want)
    same(jax.jit(jax.vmap(f, in_axes=axis, out_axes=out))(X), want)


def test_trees_of_axes():
    params = {"w": X, "b": [X[0, 0], np.float32(2)]}
    axes = {"w": 1, "b": [0, None]}
    f = lambda p, y: {"s": (p["w"] * y).sum() + p["b"][0] + p["b"][1], "w": p["w"]}
    got = jax.vmap(f, in_axes=(axes, None), out_axes={"s": 0, "w": -1})(
        {"w": X[:, :, :], "b": [X[0, :, 0], np.float32(2)]}, 3.0
    )
    want = np.stack([(X[:, k] * 3).sum() + X[0, k, 0] + 2 for k in range(3)])
    same(got, {"s": want, "w": X.transpose(0, 2, 1)}, rtol=1e-4)
    same(
        jax.vmap(f, in_axes=(0, None))(dict(params, w=X.reshape(4, 6), b=[X[0, 0], X[0, 1]]), 1.0)[
            "w"
        ],
        X.reshape(4, 6),
    )
    same(
        jax.vmap(lambda a, b: a + b["k"][0], in_axes=(0, {"k": [None]}))(X[:, 0, 0], {"k": [1.0]}),
        X[:, 0, 0] + 1,
    )


def test_keyword_arguments_are_mapped_on_axis_0():
    same(jax.vmap(lambda x, y: x + y)(X[0], y=X[1]), X[0] + X[1])
    same(jax.vmap(lambda x, y: x + y, in_axes=1)(X[0], y=X[0].T), 2 * X[0].T)
    text = message(ValueError, lambda: jax.vmap(lambda x, y: x)(X, y=1.0))
    assert "vmap" in text and "y" in text and "keyword" in text


def test_unmapped_arguments_and_results():
    same(jax.vmap(lambda x, w: w * 2, in_axes=(0, None), out_axes=None)(X, X[0]), X[0] * 2)
    same(jax.vmap(lambda x, w: w * 2, in_axes=(0, None))(X, X[0]), np.stack([X[0] * 2] * 2))
    same(jax.vmap(lambda x: 3.0)(X), np.float32([3, 3]))
    refused(ValueError, lambda: jax.vmap(lambda x: x, out_axes=None)(X), "vmap", "out_axes=None")
    f = lambda x: (lax.psum(x, "i"), x)
    same(jax.vmap(f, axis_name="i", out_axes=(None, 0))(X), (X.sum(0), X))


def test_sizes():
    same(jax.vmap(lambda: jnp.ones(2), axis_size=3)(), np.ones((3, 2), np.float32))
    same(jax.vmap(lambda w: w, in_axes=None, axis_size=2)(X[0]), np.stack([X[0]] * 2))
    same(jax.vmap(lambda x: x, axis_size=2)(X), X)
    assert jax.vmap(lambda x: x * 2)(np.ones((0, 3))).shape == (0, 3)
    assert jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(np.ones((0, 3))).shape == (0, 3)
    refused(ValueError, lambda: jax.vmap(lambda x: x, axis_size=3)(X), "axis_size is 3", "2")
    refused(ValueError, lambda: jax.vmap(lambda x: x, in_axes=None)(X), "axis_size")
    refused(ValueError, lambda: jax.vmap(lambda: 1.0)(), "axis_size")
    refused(ValueError, lambda: jax.vmap(lambda: 1.0, axis_size=-1), "vmap", "negative")
    refused(TypeError, lambda: jax.vmap(lambda: 1.0, axis_size=1.5), "vmap", "axis_size is an int")


def test_names():
    f = lambda x: (lax.axis_index("i") * 10 + lax.axis_index("j"), lax.psum(x, ("i", "j")))
    got = jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(X[0])
    same(
        got,
        (
            np.arange(3)[:, None].astype(np.int32) * 10 + np.arange(4, dtype=np.int32),
            np.full((3, 4), X[0].sum()),
        ),
    )
    for name in ("batch", 3, frozenset("ab")):
        got = jax.vmap(lambda x, k=name: lax.axis_index(k), axis_name=name)(X[0, 0])
        same(got, np.arange(4, dtype=np.int32))


@pytest.mark.parametrize("order", ["rows of columns", "columns of rows", "diagonal"])
def test_nests(order):
    a, b = X[0], X[1]
    f = lambda x, y: jnp.sin(x) * y
    if order == "rows of columns":
        got = jax.vmap(jax.vmap(f, in_axes=(0, None)), in_axes=(None, 0))(a[0], b[1])
        want = np.sin(a[0])[None] * b[1][:, None]
    elif order == "columns of rows":
        got = jax.vmap(jax.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(a[0], b[1])
        want = np.sin(a[0])[:, None] * b[1][None]
    else:
        got = jax.vmap(jax.vmap(f, in_axes=(1, 0)), in_axes=(0, 2), out_axes=1)(
            a.reshape(2, 2, 3), b.reshape(3, 2, 2)
        )
        want = np.stack(
            [
                [
                    np.sin(a.reshape(2, 2, 3)[i, :, j]) * b.reshape(3, 2, 2)[j, :, i]
                    for i in range(2)
                ]
                for j in range(3)
            ]
        )
    same(got, want)


OPS: dict[str, Any] = {
    "matmul": lambda x, y: x @ y.T,
    "where": lambda x, y: jnp.where(x > y, x, 0),
    "sort": lambda x, y: jnp.sort(x * -1, axis=-1) + y,
    "gather": lambda x, y: x[y.astype(int)[:, 0] % 3],
    "scatter": lambda x, y: x.at[y.astype(int)[0] % 3].add(1.0),
    "slice": lambda x, y: lax.dynamic_slice(x, (y[0, 0].astype(int), 1), (2, 2)),
    "scan": lambda x, y: lax.scan(lambda c, r: (c + r, c * r), y[0], x),
    "while": lambda x, y: lax.while_loop(lambda c: c.sum() < 500, lambda c: c * 2 + 1, x),
    "cond": lambda x, y: lax.cond(x.sum() > 100, lambda: x, lambda: -y),
    "switch": lambda x, y: lax.switch(x[0, 0].astype(int) // 12, [lambda: x, lambda: y * 2]),
    "reductions": lambda x, y: (x.max(0), x.argmin(1), jnp.prod(y), x.mean(), jnp.any(x > 5)),
    "concatenate": lambda x, y: jnp.concatenate([x, y, x], -1),
    "einsum": lambda x, y: jnp.einsum("ab,cb->ca", x, y),
    "cumsum": lambda x, y: jnp.cumsum(x, 0) + jnp.cumprod(y / 24, 1),
    "grad": lambda x, y: jax.grad(lambda x: (jnp.sin(x) * y).sum())(x),
    "random": lambda x, y: random.normal(random.fold_in(random.key(0), x[0, 0].astype(int)), (2,)),
    "jit": lambda x, y: jax.jit(lambda x, y: x * y)(x, y),
    "custom": lambda x, y: jax.checkpoint(jnp.sin)(x) + y,
    "reshape": lambda x, y: x.reshape(-1)[::2].reshape(2, 3),
    "pad": lambda x, y: jnp.pad(x, 1)[1:] + jnp.pad(y, ((0, 1), (1, 1))),
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 1), (-1, 1)])
def test_equals_a_loop(op, axes):
    f = OPS[op]
    rows = X[0]
    bases = [rows, rows + 7]
    n, args = 3, []
    for base, axis in zip(bases, axes, strict=True):
        args.append(base if axis is None else np.stack([base + k for k in range(n)], axis % 3))
    got = jax.vmap(f, in_axes=axes)(*map(jnp.asarray, args))
    pick = lambda base, axis: lambda k: base if axis is None else base + np.float32(k)
    each = [
        f(*(jnp.asarray(pick(b, a)(k)) for b, a in zip(bases, axes, strict=True))) for k in range(n)
    ]
    want = jax.tree.map(lambda *ys: np.stack([np.asarray(y) for y in ys]), *each)
    same(got, want, rtol=1e-4, atol=1e-4)


def test_disagreements_are_named():
    f = jax.vmap(lambda a, b: a)
    text = message(ValueError, lambda: f({"x": X}, [X[0], X]))
    assert "2 and 3" in text and "a['x']" in text and "b[0]" in text
    refused(
        ValueError,
        lambda: jax.vmap(lambda a: a, in_axes=3)(X),
        "vmap",
        "rank 3",
        "no axis 3",
        "-3 to 2",
    )
    refused(ValueError, lambda: jax.vmap(lambda a: a)(1.0), "a has rank 0")
    refused(ValueError, lambda: jax.vmap(lambda a: a, out_axes=4)(X), "out_axes")
    refused(
        ValueError, lambda: jax.vmap(lambda a: a, in_axes=(0, 1))(X), "2 entries", "1 positional"
    )
    refused(TypeError, lambda: jax.vmap(lambda a: a, in_axes="0"), "in_axes", "ints")
    refused(TypeError, lambda: jax.vmap(lambda a: a, out_axes=1.5), "out_axes", "ints")
    refused(TypeError, lambda: jax.vmap(3), "vmap", "function")
    refused(TypeError, lambda: jax.vmap(lambda a: a)("text"), "vmap", "a", "str")
    refused(TypeError, lambda: jax.vmap(lambda a: "text")(X), "vmap", "str")


def test_python_runs_once_on_rows():
    seen = []
    f, calls = counted(lambda x: seen.append(x.shape) or x * 2)
    jax.vmap(f)(X)
    assert seen == [(3, 4)] and len(calls) == 1


def test_concrete_values_steer_python_where_they_are_not_mapped():
    def f(x, n):
        return x * 2 if n > 1 else x

    same(jax.vmap(f, in_axes=(0, None))(X, 3), X * 2)
    refused(TypeError, lambda: jax.vmap(f)(X, np.float32([1, 3])), "vmap", "lax.cond")


def test_user_exceptions_pass_through():
    with pytest.raises(KeyError, match="missing"):
        jax.vmap(lambda x: {}["missing"])(X)
    assert lax.bound_axis_names() == ()
    same(jax.vmap(lambda x: x)(X), X)
