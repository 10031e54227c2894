"""lu: matrices as products of triangular ones, with rows exchanged; and equations solved by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.plain import static_int
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError
from plait.ops import lapack
from plait.ops.arithmetic import add, sub
from plait.ops.gather import along_axis, lower_gather
from plait.ops.matrix import (
    check_matrices,
    columns,
    identity,
    matmul,
    of_each_matrix,
    rows,
    strict_tril,
    take_rows,
    triu,
)
from plait.ops.slices import concatenate, pad
from plait.ops.sort import sort_p
from plait.ops.triangular import triangular_solve


class Lu(Primitive):
    """P x = L U, L lower triangular with unit diagonal, U upper triangular: (L below the diagonal
    and U in one matrix, the row that step k exchanged with row k, the rows of x in the order of P).
    """

    name = "lu"
    multiple_results = True

    def type(self, x):
        check_matrices(x=x)
        *batch, m, n = x.shape
        pivots = ArrayType((*batch, min(m, n)), dtypes.int32)
        return x.strong(), pivots, ArrayType((*batch, m), dtypes.int32)

    def numpy(self, x):
        def one(a):
            a, pivots, order = a.copy(), [], np.arange(a.shape[0])
            for k in range(min(a.shape)):
                p = k + int(np.argmax(_size(a[k:, k])))
                pivots.append(p)
                a[[k, p]], order[[k, p]] = a[[p, k]], order[[p, k]]
                if a[k, k] != 0:
                    a[k + 1 :, k] /= a[k, k]
                a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
            return a, pivots, order

        return of_each_matrix(one, [x], self.type(type_of(x)), x.shape[:-2])

    # Of P x = L U follows P dx = dL U + L dU: see `factor_tangents`.
    def jvp(self, xs, ts):
        packed, pivots, order = self.bind(xs[0])
        lower, upper = unpacked(packed)
        dl, du = factor_tangents(lower, upper, take_rows(ts[0], order))
        *batch, m, n = type_of(packed).shape
        k, none = min(m, n), [(0, 0, 0)] * len(batch)
        zero = np.zeros((), type_of(packed).dtype)
        dl = pad(dl, zero, [*none, (0, 0, 0), (0, n - k, 0)])
        du = pad(du, zero, [*none, (0, m - k, 0), (0, 0, 0)])
        return (packed, pivots, order), (add(dl, du), None, None)

    def batch(self, frame, xs, mapped):
        return self.bind(xs[0]), (True, True, True)

    def lower(self, b, x):
        packed, pivots, order = b.result_types
        if not packed.size:
            return (
                x,
                b.full(pivots.shape, 0, pivots.dtype),
                b.iota(order.shape, order.dtype, order.ndim - 1),
            )
        results = [packed, pivots, ArrayType(x.shape[:-2], dtypes.int32)]
        if b.platform == "cpu":
            y, p, _ = lapack.lapack(b, "getrf", [x], results, aliases={0: 0})
        elif b.platform == "gpu":
            y, p, _ = lapack.call(b, "cusolver_getrf_ffi", [x], results, aliases={0: 0})
        else:
            raise lapack.no_lowering(self.name, b.platform)
        p = b.sub(p, b.full_like(p, 1))  # Fortran counts from 1
        return y, p, _lower_permutation(b, p, order.shape[-1])

    def samples(self):
        yield (real(3, 3),), {}
        yield (np.stack([real(4, 2), real(4, 2)[::-1] ** 2]),), {}
        yield (complex_(2, 3),), {}
        yield (np.zeros((2, 3, 0)),), {}


lu_p = register(Lu())


def _size(x: Any) -> Any:
    """LAPACK's measure of pivots."""
    return np.abs(x.real) + np.abs(x.imag)


def lu(x: Any) -> tuple[Any, Any, Any]:
    """(lu, pivots, permutation): matrices with rows exchanged as products L U.

    L is below the diagonal of lu, its own diagonal being ones, U on it and above. Step k exchanged
    row k with row pivots[..., k], and x[permutation] is L U.
    Shapes: x [..., m, n] -> [..., m, n], [..., min(m, n)], [..., m].
    Raises: ShapeError, DtypeError.

    >>> x = jnp.array([[1.0, 2.0], [4.0, 4.0]])
    >>> lax.linalg.lu(x)
    (Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32), Array([1, 1], dtype=int32), Array([1, 0], dtype=int32))
    """
    return lu_p.bind(x)


def unpacked(packed: Any) -> tuple[Any, Any]:
    """L [..., m, k] and U [..., k, n] from the first result of lu, k being min(m, n)."""
    *_, m, n = type_of(packed).shape
    k = min(m, n)
    lower = strict_tril(columns(packed, 0, k))
    lower = add(lower, identity(type_of(lower).shape, type_of(lower).dtype))
    return lower, triu(rows(packed, 0, k))


# A = L U with L [m, k] lower triangular of unit diagonal and U [k, n] upper triangular. The first k
# rows and columns of dA = dL U + L dU give, with F = L₁⁻¹ dA₁₁ U₁⁻¹,
#     F = L₁⁻¹ dL₁ + dU₁ U₁⁻¹,
# a strictly lower and an upper triangular matrix: dL₁ = L₁ stril(F), dU₁ = triu(F) U₁. The other
# rows of L and columns of U are dL₂ = (dA₂₁ - L₂ dU₁) U₁⁻¹ and dU₂ = L₁⁻¹ (dA₁₂ - dL₁ U₂).
def factor_tangents(lower: Any, upper: Any, t: Any) -> tuple[Any, Any]:
    """The tangents of L and U, given that of their product."""
    *_, m, k = type_of(lower).shape
    n = type_of(upper).shape[-1]
    axis = type_of(lower).ndim - 2
    l1, u1 = rows(lower, 0, k), columns(upper, 0, k)
    f = _divide_left(l1, columns(rows(t, 0, k), 0, k))
    f = triangular_solve(u1, f)
    dl, du = matmul(l1, strict_tril(f)), matmul(triu(f), u1)
    if n > k:
        rest = sub(columns(rows(t, 0, k), k, n), matmul(dl, columns(upper, k, n)))
        du_rest = _divide_left(l1, rest)
    if m > k:
        rest = sub(columns(rows(t, k, m), 0, k), matmul(rows(lower, k, m), du))
        dl = concatenate([dl, triangular_solve(u1, rest)], axis)
    if n > k:
        du = concatenate([du, du_rest], axis + 1)
    return dl, du


def _divide_left(lower: Any, b: Any) -> Any:
    return triangular_solve(lower, b, left_side=True, lower=True, unit_diagonal=True)


# --- pivots


class LuPivotsToPermutation(Primitive):
    """The order of rows that exchanges of row k with row pivots[k], k = 0, 1, ..., lead to."""

    name = "lu_pivots_to_permutation"
    differentiable = False

    def type(self, pivots, *, permutation_size):
        if pivots.dtype not in dtypes.INTEGER:
            raise DtypeError("pivots are integers", pivots=pivots)
        if pivots.ndim < 1 or pivots.shape[-1] > permutation_size:
            raise ShapeError(
                "there are at most as many pivots as rows",
                pivots=pivots,
                permutation_size=permutation_size,
            )
        return ArrayType((*pivots.shape[:-1], permutation_size), dtypes.int32)

    def numpy(self, pivots, *, permutation_size):
        shape = (*pivots.shape[:-1], permutation_size)
        order = np.broadcast_to(np.arange(permutation_size, dtype=np.int32), shape).copy()
        for index in np.ndindex(*pivots.shape[:-1]):
            for k, p in enumerate(pivots[index]):
                order[(*index, [k, p])] = order[(*index, [p, k])]
        return order

    def batch(self, frame, xs, mapped, **params):
        return self.bind(xs[0], **params), True

    def lower(self, b, pivots, *, permutation_size):
        pivots = b.convert(pivots, dtypes.int32)
        if not pivots.type.size:
            shape = (*pivots.shape[:-1], permutation_size)
            return b.iota(shape, dtypes.int32, len(shape) - 1)
        return _lower_permutation(b, pivots, permutation_size)

    def samples(self):
        yield (np.array([2, 1, 2, 4], np.int32),), {"permutation_size": 6}
        yield (np.array([[1, 1], [0, 1]], np.int32),), {"permutation_size": 2}
        yield (np.zeros((2, 0), np.int32),), {"permutation_size": 1}


lu_pivots_to_permutation_p = register(LuPivotsToPermutation())


def _lower_permutation(b: Any, p: Any, m: int) -> Any:
    """The exchanges, one after the other: XLA runs so short a loop within a microsecond a step."""
    *batch, k = p.shape
    n, order = len(batch), b.iota((*p.shape[:-1], m), dtypes.int32, p.ndim - 1)
    one = (*batch, 1)
    zero = b.constant(np.int32(0))

    def at(step: Any) -> list[Any]:
        return [*([zero] * n), step]

    def exchange(step: Any, order: Any, p: Any) -> tuple[Any, Any, Any]:
        here, other = (b.dynamic_slice(x, at(step), one) for x in (order, p))
        if batch:
            there = _take(b, order, other)
            order = b.dynamic_update_slice(order, there, at(step))
            places = b.iota(order.shape, dtypes.int32, n)
            order = b.select(
                b.compare("EQ", places, b.broadcast_in_dim(other, order.shape, range(n + 1))),
                b.broadcast_in_dim(here, order.shape, range(n + 1)),
                order,
            )
        else:
            where = b.reshape(other, ())
            there = b.dynamic_slice(order, [where], one)
            order = b.dynamic_update_slice(order, there, [step])
            order = b.dynamic_update_slice(order, here, [where])
        return b.add(step, b.constant(np.int32(1))), order, p

    last = b.constant(np.int32(k))
    return b.while_([zero, order, p], lambda step, *_: b.compare("LT", step, last), exchange)[1]


def _take(b: Any, x: Any, where: Any) -> Any:
    """x at positions along its last axis, other ones in every row."""
    axis = x.ndim - 1
    indices = b.reshape(where, (*where.shape, 1))
    return lower_gather(b, x, indices, along_axis(x.ndim, axis), (1,) * x.ndim, where.shape)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The order of permutation_size rows after row k was exchanged with row pivots[..., k], for
    k = 0, 1, ...

    Shapes: [..., k] -> [..., permutation_size], int32. Raises: ShapeError, DtypeError.

    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2, 2], jnp.int32), 3)
    Array([2, 0, 1], dtype=int32)
    """
    op = "lu_pivots_to_permutation"
    return lu_pivots_to_permutation_p.bind(
        pivots, permutation_size=static_int(permutation_size, op, "permutation_size")
    )


# --- equations


def solve_with_lu(packed: Any, order: Any, b: Any, trans: int = 0) -> Any:
    """The solution of A x = b (trans 0), Aᵀ x = b (1) or Aᴴ x = b (2), given results of lu(A).

    Shapes: A [..., n, n], b [..., n, k]. Derivative: through the operands; with respect to A, that
    of lu.
    """
    if trans == 0:
        b = take_rows(b, order)
        b = triangular_solve(packed, b, left_side=True, lower=True, unit_diagonal=True)
        return triangular_solve(packed, b, left_side=True)
    how = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    b = triangular_solve(packed, b, **how)
    b = triangular_solve(packed, b, lower=True, unit_diagonal=True, **how)
    return take_rows(b, inverse(order))


def inverse(order: Any) -> Any:
    """The order that undoes one: the positions of 0, 1, 2, ... in it."""
    axis = type_of(order).ndim - 1
    return sort_p.bind(order, axis=axis, num_keys=1, stable=True, with_index=True)[1]


__all__ = [
    "factor_tangents",
    "inverse",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "solve_with_lu",
    "unpacked",
]
