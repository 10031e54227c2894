"""plait.lax.linalg: factorisations of matrices and equations with their factors, under JAX's names.

Matrices are in the last two axes of arrays; dtypes are float32, float64, complex64 and complex128.
"""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import PlaitError, ShapeError
from plait.numpy.promotion import promote_dtypes, value
from plait.ops.cholesky import cholesky
from plait.ops.eigen import EighImplementation, EigImplementation, eig, eigh
from plait.ops.householder import householder_product, ormqr
from plait.ops.lu import lu, lu_pivots_to_permutation
from plait.ops.matrix import LAPACK, adjoint, check_matrices, matmul
from plait.ops.qr import qr
from plait.ops.schur import hessenberg, schur
from plait.ops.svd import SvdAlgorithm, svd
from plait.ops.triangular import triangular_solve
from plait.ops.tridiagonal import tridiagonal, tridiagonal_solve
from plait.regions.cond import cond
from plait.regions.loops import scan, while_loop


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular R with Rᴴ R = rᴴ r + w wᴴ: the Cholesky factor, in time n², of a matrix
    with the factor r to which a matrix of rank one is added.

    Shapes: r_matrix [..., n, n], upper triangular, w_vector [..., n] -> [..., n, n].
    Raises: ShapeError, DtypeError.

    >>> r = jnp.array([[3.0, 0.0], [0.0, 1.0]])
    >>> lax.linalg.cholesky_update(r, jnp.array([4.0, 5.0])).round(3)
    Array([[5.   , 4.   ],
           [0.   , 3.162]], dtype=float32)
    """
    op = "cholesky_update"
    r, w = promote_dtypes(op, (r_matrix, w_vector))
    _checked(op, square=True, r_matrix=r)
    if w.shape != r.shape[:-1]:
        raise ShapeError("w_vector needs an element for each row", op=op, r_matrix=r, w_vector=w)

    # A rotation of row k of R and of wᴴ makes element k of wᴴ zero.
    def rotate(w: Any, row_and_k: Any) -> Any:
        row, k = row_and_k
        at = jnp.arange(w.shape[-1]) == k
        x, y = (jnp.sum(jnp.where(at, v, 0), -1, keepdims=True) for v in (row, w))
        nothing = y == 0
        size = jnp.sqrt(jnp.where(nothing, 1, jnp.abs(x) ** 2 + jnp.abs(y) ** 2))
        c, s = jnp.where(nothing, 1, x / size), jnp.where(nothing, 0, y / size)
        return c * w - s * row, jnp.conj(c) * row + jnp.conj(s) * w

    rows = jnp.moveaxis(r, -2, 0)
    _, rows = scan(rotate, jnp.conj(w), (rows, jnp.arange(r.shape[-1])))
    return jnp.triu(jnp.moveaxis(rows, 0, -2))


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """alpha a aᵀ + beta c for a symmetric c, of which the lower triangle is enough if
    symmetrize_output is true: then the result is made of its own lower triangle.

    Shapes: a [..., m, n], c [..., m, m] -> [..., m, m]. Raises: ShapeError, DtypeError.

    >>> a, c = jnp.array([[1.0], [2.0]]), jnp.ones((2, 2))
    >>> lax.linalg.symmetric_product(a, c, beta=1.0, symmetrize_output=True)
    Array([[2., 3.],
           [3., 5.]], dtype=float32)
    """
    op = "symmetric_product"
    a, c = promote_dtypes(op, (a_matrix, c_matrix))
    _checked(op, a_matrix=a, c_matrix=c)
    if c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ShapeError("c_matrix must have the shape of a aᵀ", op=op, a_matrix=a, c_matrix=c)
    y = alpha * matmul(a, jnp.matrix_transpose(a)) + beta * c
    if symmetrize_output:
        y = jnp.tril(y) + jnp.matrix_transpose(jnp.tril(y, -1))
    return y


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """(u, h, num_iters, is_converged): a matrix as U H, U with orthonormal columns, H Hermitian and
    not negative, by an iteration of products and factorisations that fast processors like.

    x has full rank and as many rows as columns, or more. With dynamic_shape only so many rows and
    columns of it count; the others of u and h are zeros. eps (the precision of the dtype) says when
    the iteration has converged, max_iterations (10) when it ends in any case; is_hermitian changes
    nothing. Raises: ShapeError, DtypeError.
    Source: Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar
    decomposition, SIAM J. Matrix Anal. Appl. 31, 2010.

    >>> x = jnp.array([[1.0, -1.0], [1.0, 1.0]])
    >>> u, h, num_iters, is_converged = lax.linalg.qdwh(x)
    >>> u.round(3), jnp.allclose(u @ h, x, atol=1e-5), is_converged
    (Array([[ 0.707, -0.707],
           [ 0.707,  0.707]], dtype=float32), Array(True, dtype=bool), Array(True, dtype=bool))
    """
    op = "qdwh"
    x = value(op, x)
    _checked(op, x=x)
    if x.ndim != 2 or x.shape[0] < x.shape[1]:
        fix = "take its transpose, or vmap for many matrices"
        raise ShapeError(
            "takes a matrix with at least as many rows as columns", op=op, x=x, fix=fix
        )
    if dynamic_shape is not None:
        m, n = dynamic_shape
        inside = (jnp.arange(x.shape[0]) < m)[:, None] & (jnp.arange(x.shape[1]) < n)
        x = jnp.where(inside, x, 0)
    precision = float(dtypes.finfo(x.dtype).eps) if eps is None else eps
    limit = 10 if max_iterations is None else max_iterations
    close = (4 * precision) ** (1 / 3)
    size = jnp.sqrt(_largest_sum(x, 0) * _largest_sum(x, 1))  # not below the 2-norm
    start = x / jnp.where(size == 0, 1, size).astype(x.dtype)

    # The smallest singular value is at least `low`; the weights a, b, c take it to 1 fastest.
    def step(state: Any) -> Any:
        u, low, count, _ = state
        square = low * low
        root = jnp.cbrt(4 * (1 - square) / square**2)
        s = jnp.sqrt(1 + root)
        a = s + jnp.sqrt(jnp.maximum(8 - 4 * root + 8 * (2 - square) / (square * s), 0)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        low = jnp.minimum(low * (a + b * square) / (1 + c * square), 1)
        weights = [w.astype(x.dtype) for w in (b / c, a - b / c, jnp.sqrt(c))]
        new = cond(c > 100, _by_qr, _by_cholesky, u, *weights)
        moved = jnp.linalg.norm(new - u) / jnp.maximum(jnp.linalg.norm(new), precision)
        return new, low, count + 1, (moved <= close) & (1 - low <= close)

    def more(state: Any) -> Any:
        _, _, count, converged = state
        return ~converged & (count < limit)

    low = jnp.asarray(precision, dtypes.real_of(x.dtype))
    u, _, count, converged = while_loop(more, step, (start, low, 0, jnp.asarray(False)))
    # One step of Newton and Schulz, which only polishes what has converged.
    u = 1.5 * u - 0.5 * matmul(u, matmul(adjoint(u), u))
    h = matmul(adjoint(u), x)
    return u, (h + adjoint(h)) / 2, count, converged


def _largest_sum(x: Any, axis: int) -> Any:
    return jnp.max(jnp.sum(jnp.abs(x), axis), initial=0)


def _by_qr(u: Any, old: Any, new: Any, root: Any) -> Any:
    m, n = u.shape
    q, _ = qr(jnp.concatenate([root * u, jnp.eye(n, dtype=u.dtype)]), full_matrices=False)
    return old * u + new / root * matmul(q[:m], adjoint(q[m:]))


def _by_cholesky(u: Any, old: Any, new: Any, root: Any) -> Any:
    n = u.shape[1]
    low = cholesky(jnp.eye(n, dtype=u.dtype) + root**2 * matmul(adjoint(u), u))
    y = triangular_solve(low, u, lower=True, transpose_a=True, conjugate_a=True)
    return old * u + new * triangular_solve(low, y, lower=True)


def _checked(op: str, *, square: bool = False, **operands: Any) -> None:
    try:
        for name, x in operands.items():
            check_matrices(square=square, accepts=LAPACK, **{name: type_of(x)})
    except PlaitError as error:
        error.op = op
        raise


__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]
