"""plait.test_util: derivatives checked against finite differences, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core import tree
from plait.runtime.array import as_array
from plait.testing.numerics import (
    Tolerance,
    agree,
    assert_close,
    check_grads,
    differences,
    direction,
    loosest,
    pairing,
)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Check f_jvp(primals, tangents) -> (result, tangent) of a function of real arguments.

    Raises: AssertionError.

    >>> import functools, plait.test_util, plait.numpy as jnp
    >>> plait.test_util.check_jvp(jnp.sin, functools.partial(plait.jvp, jnp.sin), (1.0,))
    """
    primals, ts, shape = _directions(args)
    y, t = f_jvp(tuple(shape.unflatten(primals)), tuple(shape.unflatten(ts)))
    flat = _flat(f, shape)
    assert_close(tree.leaves(y), flat(*primals), rtol=rtol, atol=atol, message="result")
    wanted = differences(flat, primals, ts, eps)
    rtol, atol = (2e-3 if tol is None else tol for tol in (rtol, atol))
    assert_close(tree.leaves(t), wanted, rtol=rtol, atol=atol, message="tangent")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Check f_vjp(*args) -> (result, function from cotangents to those of the arguments).

    Raises: AssertionError.

    >>> import functools, plait.test_util, plait.numpy as jnp
    >>> plait.test_util.check_vjp(jnp.sin, functools.partial(plait.vjp, jnp.sin), (1.0,))
    """
    primals, ts, shape = _directions(args)
    y, pull = f_vjp(*shape.unflatten(primals))
    flat = _flat(f, shape)
    assert_close(tree.leaves(y), flat(*primals), rtol=rtol, atol=atol, message="result")
    ys, out = tree.flatten(y)
    cts = [direction(v, k + 1) for k, v in enumerate(ys)]
    pushed, scale = pairing(cts, differences(flat, primals, ts, eps))
    pulled, _ = pairing(tree.leaves(pull(out.unflatten(cts))), ts)
    kinds = [x.dtype for x in primals]
    rtol, atol = (2e-3 if tol is None else loosest(tol, kinds) for tol in (rtol, atol))
    if not agree(pushed, pulled, atol + rtol * scale):
        raise AssertionError(f"cotangents times differences are {pushed}, the vjp gives {pulled}")


def _directions(args: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
    leaves, shape = tree.flatten(tuple(args))
    primals = [as_array(x) for x in leaves]
    return primals, [direction(x, k) for k, x in enumerate(primals)], shape


def _flat(f: Callable[..., Any], shape: Any) -> Callable[..., list[Any]]:
    return lambda *xs: tree.leaves(f(*shape.unflatten(xs)))


__all__ = ["check_grads", "check_jvp", "check_vjp"]
