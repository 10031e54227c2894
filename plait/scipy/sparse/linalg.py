"""`plait.scipy.sparse.linalg`: equations of matrices that are known by their products alone.

The solvers iterate; derivatives are those of the solution, found by solving once more with the same
iteration (reverse mode: with the transposed matrix), not those of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plait.numpy as jnp
from plait.core import dtypes, tree
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.flatten_util import ravel_pytree
from plait.numpy.equations import lstsq
from plait.numpy.promotion import is_arraylike, static_int
from plait.regions.linear_solve import custom_linear_solve
from plait.regions.loops import fori_loop, while_loop

Vector = Any
Product = Callable[[Vector], Vector]


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """(x, None), x solving A x = b by conjugate gradients, for Hermitian and positive definite A.

    A is a matrix, or a function x -> A x; b and x are trees of arrays of one structure. It ends
    with |b - A x| <= max(tol |b|, atol), or after maxiter steps (10 for each element). x0: where to
    begin (0). M: an approximation of the inverse of A, in the form of A.
    Raises: ShapeError, DtypeError, ArgumentTypeError.

    >>> a = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    >>> x, _ = plait.scipy.sparse.linalg.cg(a, jnp.array([1.0, 2.0]))
    >>> x.round(4)
    Array([0.0909, 0.6364], dtype=float32)
    """
    return _solved("cg", _conjugate_gradients, A, b, x0, tol, atol, maxiter, M), None


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """(x, None), x solving A x = b by stabilised biconjugate gradients, for any square A.

    The arguments are those of cg. Source: van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13,
    1992. Raises: ShapeError, DtypeError, ArgumentTypeError.

    >>> a = jnp.array([[4.0, 1.0], [0.0, 2.0]])
    >>> x, _ = plait.scipy.sparse.linalg.bicgstab(a, jnp.array([6.0, 4.0]))
    >>> x.round(3)
    Array([1., 2.], dtype=float32)
    """
    return _solved("bicgstab", _biconjugate_gradients, A, b, x0, tol, atol, maxiter, M), None


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """(x, info), x solving A x = b by generalised minimal residuals, for any square A; info is 0,
    or -1 if x has NaN.

    After `restart` products the search begins anew, maxiter times at most. The other arguments are
    those of cg; both solve_methods, "batched" and "incremental", are one here. Source: Saad and
    Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7, 1986.
    Raises: ShapeError, DtypeError, ArgumentTypeError, ArgumentError.

    >>> a = jnp.array([[4.0, 1.0], [0.0, 2.0]])
    >>> x, info = plait.scipy.sparse.linalg.gmres(a, jnp.array([6.0, 4.0]))
    >>> x.round(3)
    Array([1., 2.], dtype=float32)
    """
    op = "gmres"
    if solve_method not in ("batched", "incremental"):
        fix = '"batched" or "incremental"'
        raise ArgumentError("there is no such method", op=op, solve_method=solve_method, fix=fix)
    size = static_int(restart, op, "restart")
    if size < 1:
        raise ArgumentError("restart is at least 1", op=op, restart=size)

    def way(a, b, x, least, limit, m) -> Vector:
        return _minimal_residuals(a, b, x, least, limit, m, size)

    x = _solved(op, way, A, b, x0, tol, atol, maxiter, M)
    flat, _ = ravel_pytree(x)
    return x, jnp.where(jnp.any(jnp.isnan(flat)), -1, 0)


# --- arguments


def _product(op: str, name: str, a: Any) -> Product:
    """A function that multiplies, from itself or a matrix."""
    if a is None:
        return lambda x: x
    if callable(a):
        return a
    if not is_arraylike(a):
        raise ArgumentTypeError(f"{name} is a matrix or a function", op=op, **{name: a})
    shape = type_of(a).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        given: dict[str, Any] = {name: type_of(a)}
        raise ShapeError(f"{name} must be square", op=op, **given)
    return lambda x: jnp.matmul(a, x)


def _solved(op, way, A, b, x0, tol, atol, maxiter, M) -> Any:
    if A is None:
        raise ArgumentTypeError("A is a matrix or a function", op=op, A=A)
    product, improve = _product(op, "A", A), _product(op, "M", M)
    b = tree.map(jnp.asarray, b)
    x0 = tree.map(jnp.zeros_like, b) if x0 is None else tree.map(jnp.asarray, x0)
    if tree.structure(x0) != tree.structure(b):
        summary = "x0 and b are trees of different structures"
        pair = ("x0", tree.structure(x0)), ("b", tree.structure(b))
        raise tree.structure_error(summary, *pair, op)
    for x, y in zip(tree.leaves(x0), tree.leaves(b), strict=True):
        if x.shape != y.shape:
            raise ShapeError("x0 and b have different shapes", op=op, x0=x, b=y)
    # The iteration happens in one vector, of the dtype that all of A x, b and x0 have together.
    start, rebuild = ravel_pytree(tree.map(lambda x, y: x + 0 * y, x0, b))
    dtype = jnp.result_type(start, ravel_pytree(product(x0))[0], ravel_pytree(b)[0])
    dtype = dtype if dtype in dtypes.INEXACT else dtypes.default_float()
    if dtype.itemsize == 2:
        fix = "convert A and b with astype(jnp.float32)"
        raise DtypeError("iterates in float32 or wider", op=op, b=ravel_pytree(b)[0], fix=fix)
    limit = 10 * start.size if maxiter is None else static_int(maxiter, op, "maxiter")

    def on_vectors(f: Product) -> Product:
        return lambda x: ravel_pytree(f(rebuild(x)))[0].astype(dtype)

    def solve(matvec: Product, b: Vector) -> Vector:
        size = jnp.linalg.norm(b)
        least = jnp.maximum(jnp.asarray(tol, size.dtype) * size, jnp.asarray(atol, size.dtype))
        return way(matvec, b, start.astype(dtype), least, limit, on_vectors(improve))

    flat = ravel_pytree(b)[0].astype(dtype)
    shapes = tree.map(lambda x: x.astype(jnp.result_type(x, dtype)), b)
    rebuild = ravel_pytree(shapes)[1]
    return rebuild(custom_linear_solve(on_vectors(product), flat, solve, solve))


# --- iterations: not yet near enough, or NaN, goes on


def _inner(x: Vector, y: Vector) -> Any:
    return jnp.vdot(x, y)


def _length(x: Vector) -> Any:
    return jnp.sqrt(jnp.real(jnp.vdot(x, x)))


def _conjugate_gradients(a, b, x, least, limit, m) -> Vector:
    def more(state: Any) -> Any:
        _, r, _, _, k = state
        return ~(_length(r) <= least) & (k < limit)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        ap = a(p)
        alpha = gamma / _inner(p, ap)
        x, r = x + alpha * p, r - alpha * ap
        z = m(r)
        new = _inner(r, z)
        return x, r, new, z + new / gamma * p, k + 1

    r = b - a(x)
    z = m(r)
    return while_loop(more, step, (x, r, _inner(r, z), z, 0))[0]


def _biconjugate_gradients(a, b, x, least, limit, m) -> Vector:
    def more(state: Any) -> Any:
        r, k = state[1], state[-1]
        return ~(_length(r) <= least) & (k >= 0) & (k < limit)

    def step(state: Any) -> Any:
        x, r, p, q, rho, alpha, omega, k = state
        new = _inner(r0, r)
        beta = new / rho * alpha / omega
        p = r + beta * (p - omega * q)
        better = m(p)
        q = a(better)
        alpha = new / _inner(r0, q)
        s = r - alpha * q
        half = x + alpha * better
        early = _length(s) <= least
        t = m(s)
        at = a(t)
        omega = _inner(at, s) / _inner(at, at)
        x = jnp.where(early, half, half + omega * t)
        r = jnp.where(early, s, s - omega * at)
        # A number that vanishes ends the search.
        broken = ~early & ((omega == 0) | (alpha == 0) | (new == 0))
        return x, r, p, q, new, alpha, omega, jnp.where(broken, -1, k + 1)

    r0 = b - a(x)
    one = jnp.ones((), b.dtype)
    zero = jnp.zeros_like(b)
    return while_loop(more, step, (x, r0, zero, zero, one, one, one, 0))[0]


def _minimal_residuals(a, b, x, least, limit, m, restart) -> Vector:
    n = b.shape[0]
    size = max(min(restart, n), 1)

    def cycle(x: Vector, r: Vector) -> Vector:
        z = m(r)
        beta = _length(z)
        first = z / jnp.where(beta == 0, 1, beta)
        v = jnp.zeros((n, size + 1), b.dtype).at[:, 0].set(first)

        # A basis of the space that z and its products with M A span, made orthogonal twice.
        def grow(k: Any, state: Any) -> Any:
            v, h = state
            w = m(a(v[:, k]))
            old = _length(w)
            c = jnp.conj(v.T) @ w
            w = w - v @ c
            again = jnp.conj(v.T) @ w
            w, c = w - v @ again, c + again
            new = _length(w)
            inside = new <= float(dtypes.finfo(b.dtype).eps) * old
            w = jnp.where(inside, 0, w / jnp.where(inside, 1, new))
            h = h.at[:, k].set(c.at[k + 1].set(jnp.where(inside, 0, new)))
            return v.at[:, k + 1].set(w), h

        v, h = fori_loop(0, size, grow, (v, jnp.zeros((size + 1, size), b.dtype)))
        y, *_ = lstsq(h, jnp.zeros(size + 1, b.dtype).at[0].set(beta))
        return x + v[:, :-1] @ y

    def more(state: Any) -> Any:
        _, r, k = state
        return ~(_length(r) <= least) & (k < limit)

    def step(state: Any) -> Any:
        x, r, k = state
        x = cycle(x, r)
        return x, b - a(x), k + 1

    return while_loop(more, step, (x, b - a(x), 0))[0]


__all__ = ["bicgstab", "cg", "gmres"]
