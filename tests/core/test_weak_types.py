"""A result is as weak under every transformation as it is without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.core.primitive import registry
from plait.ops.elementwise import Elementwise

FUNCTIONS: dict[str, Any] = {
    "number": lambda x: 2,
    "product": lambda x: (lambda y: y * 2.0)(1.5),
    "jit": lambda x: jax.jit(lambda y: (y + 1, y * x))(3),
    "while": lambda x: lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, c[1] * 2), (0, 1.5)),
    "while of all rows": lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0),
    "fori": lambda x: lax.fori_loop(0, 3, lambda k, c: c * 2, 1),
    "scan": lambda x: lax.scan(lambda c, _: (c * 2.0, c), 1.5, None, 3),
    "cond": lambda x: lax.cond(x > 1, lambda: 1.0, lambda: 2.0),
    "switch": lambda x: lax.switch((x > 1).astype(int), [lambda: 1, lambda: 2]),
    "where": lambda x: (jnp.where(x > 1, 1, 2), jnp.where(x > 1, x, 2)),
    "checkpoint": lambda x: jax.checkpoint(lambda y: (y * 2, y * x))(1.0),
    "strong": lambda x: (x * 2, jnp.float32(1), np.int32(2)),
}


def weak(tree: Any) -> list[bool]:
    return [bool(leaf.weak_type) for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_weak_types_survive(name):
    f, x = FUNCTIONS[name], np.array([1, 2], np.float32)
    want = weak(jax.jit(f)(x[0]))
    found = {
        "vmap": jax.vmap(f)(x),
        "vmap of jit": jax.vmap(jax.jit(f))(x),
        "jit of vmap": jax.jit(jax.vmap(f))(x),
        "jvp of jit": jax.jvp(jax.jit(f), (x[0],), (x[1],))[0],
        "linearize of jit": jax.linearize(jax.jit(f), x[0])[0],
        "scan": lax.map(f, x),
    }
    for form in ("fused", "gang"):
        with override(pmap_form=form):
            found[f"pmap, {form}"] = jax.pmap(f)(x)
            found[f"pmap of vmap, {form}"] = jax.pmap(jax.vmap(f))(x[None])
    assert {k: weak(v) for k, v in found.items()} == dict.fromkeys(found, want)


def test_the_size_of_an_axis_is_a_python_int_in_both_forms():
    for form in ("fused", "gang"):
        with override(pmap_form=form):
            seen: list[Any] = []

            def f(x, seen=seen):
                n = lax.psum(1, "i")
                seen.append((n, lax.axis_size("i"), lax.psum(2.5, "i"), lax.psum(True, "i")))
                return jnp.zeros(n).reshape(lax.axis_size("i") // 2, -1), n, lax.psum(0.5, "i")

            shaped, n, half = jax.pmap(f, "i")(np.ones(4, np.float32))
            assert shaped.shape == (4, 2, 2) and seen == [(4, 4, 10.0, 4)]
            assert [type(v) for v in seen[0]] == [int, int, float, int]
            assert weak((n, half)) == [True, True] and half.tolist() == [2, 2, 2, 2]
            (whole,) = jax.pmap(lambda x: [lax.psum(1, "i")], "i", out_axes=None)(np.ones(4))
            assert whole.weak_type and int(whole) == 4


def test_a_number_among_weak_operands_stays_weak():
    """Of every op that takes several operands of one dtype, in every place of the number."""
    seen = 0
    for op in list(registry.values()):
        if not isinstance(op, Elementwise) or not op.one_dtype or len(op.operands) < 2:
            continue
        for number in (0.5, 1):
            array = jnp.asarray(number)
            if any(array.dtype not in accepted for accepted in op.accepts):
                continue
            for k in range(len(op.operands)):
                args = [array] * len(op.operands)
                args[k] = number
                found, strong = op(*args), op(*(jnp.asarray(x, array.dtype) for x in args))
                assert found.weak_type == (found.dtype != bool) and not strong.weak_type, op.name
                seen += 1
    assert seen > 50


# What takes no numbers, what is never weak (exponents, powers and steps of integers), as in JAX.
OTHERS = "isnat matmul matvec vecdot vecmat frexp ldexp pow power rint spacing".split()
UFUNCS = [n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and n not in OTHERS]


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_numbers_are_weak_and_of_arrays_not(name):
    f, ins = getattr(jnp, name), getattr(np, name).nin
    types = {"i": (2, np.int32(2)), "f": (0.5, np.float32(0.5))}
    seen = 0
    for number, array in types.values():
        try:
            numbers = [jax.eval_shape(f, *[number] * ins)]
        except TypeError:
            continue
        mixed = [[number] * k + [array] + [number] * (ins - k - 1) for k in range(ins)]
        arrays = [jax.eval_shape(f, *args) for args in mixed]
        for leaf in jax.tree.leaves(numbers):
            # Whether a number has a property, is less, how many bits it has: that is what it is.
            assert leaf.weak_type or leaf.dtype == bool or leaf.dtype == np.uint8
        assert not any(leaf.weak_type for leaf in jax.tree.leaves(arrays))
        seen += 1
    assert seen


def test_arrays_with_parts_changed_stay_as_weak_as_they_were():
    for x in (jnp.full(3, 2.0), jnp.ones(3)):
        changed = [
            getattr(x.at[index], how)(y)
            for how in ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")
            for index in (0, np.array([0, 1]), slice(1, None))
            for y in (1.0, np.float32(1))
        ]
        changed += [x.at[0].apply(jnp.sin), x.at[jnp.array([2])].get()]
        changed += [jnp.pad(x, 1, mode) for mode in ("constant", "edge", "mean", "reflect", "wrap")]
        assert [y.weak_type for y in changed] == [x.weak_type] * len(changed)
    assert (jnp.full(3, 2.0).at[0].set(1.0) * jnp.bfloat16(1)).dtype == jnp.bfloat16
