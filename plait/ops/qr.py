"""qr: matrices as products of unitary and upper triangular ones; and LAPACK's form of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError
from plait.ops import lapack
from plait.ops.arithmetic import add, convert_element_type, mul, neg, sub
from plait.ops.compare import eq
from plait.ops.functions import complex as complex_of
from plait.ops.householder import (
    apply_reflection,
    householder_product_p,
    lower_product,
    reflection,
)
from plait.ops.lu import factor_tangents
from plait.ops.matrix import (
    adjoint,
    check_matrices,
    columns,
    diagonal,
    identity,
    imaginary_part,
    matmul,
    of_each_matrix,
    on_diagonal,
    over_rows,
    rows,
    strict_tril,
    take_columns,
    triu,
)
from plait.ops.slices import concatenate, pad
from plait.ops.triangular import triangular_solve


class Geqrf(Primitive):
    """R on and above the diagonal, the vectors of Householder reflections whose product is Q below
    it, and their factors tau.
    """

    name = "geqrf"
    multiple_results = True

    def type(self, x):
        check_matrices(x=x)
        *batch, m, n = x.shape
        return x.strong(), ArrayType((*batch, min(m, n)), x.dtype)

    def numpy(self, x):
        outs = self.type(type_of(x))
        return of_each_matrix(_reflections, [x], outs, x.shape[:-2])

    # R has the tangent of qr. The first k columns of Q are I - V T V₁ᴴ, so V and W = T V₁ᴴ are the
    # lower and upper triangular factors of I - Q, whose tangents follow from that of Q; and T has
    # tau on its diagonal, as has W, since V₁ has ones. A tau of 0 belongs to a last column that had
    # nothing below the diagonal; it stays 0, and 1 in its place keeps W invertible.
    def jvp(self, xs, ts):
        packed, taus = self.bind(xs[0])
        m, n = type_of(packed).shape[-2:]
        k = min(m, n)
        q = householder_product_p.bind(columns(packed, 0, k), taus)
        dq, dr = _tangents(q, triu(rows(packed, 0, k)), ts[0])
        v = strict_tril(columns(packed, 0, k))
        v = add(v, identity(type_of(v).shape, type_of(v).dtype))
        w = rows(sub(identity(type_of(q).shape, type_of(q).dtype), q), 0, k)
        w = triangular_solve(rows(v, 0, k), w, left_side=True, lower=True, unit_diagonal=True)
        w = triu(w)
        nothing = convert_element_type(eq(taus, 0.0), type_of(w).dtype)
        nothing = mul(over_rows(nothing, w), identity(type_of(w).shape, type_of(w).dtype))
        dv, dw = factor_tangents(v, add(w, nothing), neg(dq))
        t = add(_grown(dr, m, n), _grown(strict_tril(dv), m, n))
        return (packed, taus), (t, diagonal(dw))

    def batch(self, frame, xs, mapped):
        return self.bind(xs[0]), (True, True)

    def lower(self, b, x):
        return _lower_reflections(b, x, self.name)

    def samples(self):
        yield (real(3, 2),), {}
        yield (complex_(2, 3),), {}
        yield (real(2, 3, 0),), {}


geqrf_p = register(Geqrf())


def _reflections(a: np.ndarray, first: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that geqrf gives for one matrix; first(a, k) may rearrange a before step k."""
    a = a.copy()
    k = min(a.shape)
    taus = np.zeros(k, a.dtype)
    for i in range(k):
        if first is not None:
            first(a, i)
        v, taus[i], beta = reflection(a[i:, i])
        a[i:, i + 1 :] = apply_reflection(v, taus[i].conj(), a[i:, i + 1 :])
        a[i, i], a[i + 1 :, i] = beta, v[1:]
    return a, taus


def _grown(x: Any, m: int, n: int) -> Any:
    """x with zeros below and to the right, so that it has m rows and n columns."""
    *batch, p, q = type_of(x).shape
    zero = np.zeros((), type_of(x).dtype)
    return pad(x, zero, [*[(0, 0, 0)] * len(batch), (0, m - p, 0), (0, n - q, 0)])


def _lower_reflections(b: Any, x: Any, op: str) -> tuple[Any, Any]:
    """geqrf in StableHLO."""
    k = min(x.shape[-2:])
    results = [x.type.strong(), ArrayType((*x.shape[:-2], k), x.dtype)]
    if not x.type.size:
        return x, b.full(results[1].shape, 0, x.dtype)
    if b.platform == "cpu":
        return lapack.lapack(b, "geqrf", [x], results, aliases={0: 0})
    if b.platform == "gpu":
        return lapack.call(b, "cusolver_geqrf_ffi", [x], results, aliases={0: 0})
    raise lapack.no_lowering(op, b.platform)


def geqrf(x: Any) -> tuple[Any, Any]:
    """(packed, taus): the factors of qr as LAPACK keeps them.

    R is on and above the diagonal of packed; the vectors of the Householder reflections whose
    product is Q, which householder_product and ormqr take, are below it.
    Shapes: x [..., m, n] -> [..., m, n], [..., min(m, n)]. Raises: ShapeError, DtypeError.
    """
    return geqrf_p.bind(x)


class Qr(Primitive):
    """x = Q R, Q unitary and R upper triangular; with pivoting columns of x are exchanged first, so
    that the diagonal of R does not grow, and a third result says where each column was.
    full_matrices: Q is square, else R has no more rows than columns.
    """

    name = "qr"
    multiple_results = True

    def type(self, x, *, pivoting, full_matrices):
        check_matrices(x=x)
        *batch, m, n = x.shape
        k = m if full_matrices else min(m, n)
        q, r = x.strong().with_shape((*batch, m, k)), x.strong().with_shape((*batch, k, n))
        return (q, r, ArrayType((*batch, n), dtypes.int32)) if pivoting else (q, r)

    def numpy(self, x, *, pivoting, full_matrices):
        def one(a):
            if not pivoting:
                return np.linalg.qr(a, "complete" if full_matrices else "reduced")
            order = np.arange(a.shape[1])

            def exchange(a, k):
                p = k + int(np.argmax(np.linalg.norm(a[k:, k:], axis=0)))
                a[:, [k, p]], order[[k, p]] = a[:, [p, k]], order[[p, k]]

            packed, taus = _reflections(a, exchange)
            k = a.shape[0] if full_matrices else len(taus)
            q = np.eye(a.shape[0], k, dtype=a.dtype)
            for i in reversed(range(len(taus))):
                v = np.concatenate([np.ones(1), packed[i + 1 :, i]])
                q[i:] = apply_reflection(v, taus[i], q[i:])
            return q, np.triu(packed[:k]), order

        outs = self.type(type_of(x), pivoting=pivoting, full_matrices=full_matrices)
        return of_each_matrix(one, [x], outs, x.shape[:-2])

    def jvp(self, xs, ts, *, pivoting, full_matrices):
        q, r, *order = self.bind(xs[0], pivoting=pivoting, full_matrices=full_matrices)
        t = take_columns(ts[0], order[0]) if pivoting else ts[0]
        return (q, r, *order), (*_tangents(q, r, t), *(None for _ in order))

    def batch(self, frame, xs, mapped, **params):
        ys = self.bind(xs[0], **params)
        return ys, (True,) * len(ys)

    def lower(self, b, x, *, pivoting, full_matrices):
        q, r, *order = b.result_types
        m, n = x.shape[-2:]
        if not x.type.size:
            places = [b.iota(t.shape, t.dtype, t.ndim - 1) for t in order]
            return lapack.eye(b, q), b.full(r.shape, 0, r.dtype), *places
        if pivoting:
            packed, taus, places = _lower_pivoted(b, x, order[0], self.name)
        else:
            (packed, taus), places = _lower_reflections(b, x, self.name), None
        if n < m and full_matrices:
            none, zero = [0] * x.ndim, b.constant(np.zeros((), x.dtype))
            grown = b.pad(packed, zero, none, [*none[1:], m - n], none)
        elif n > m:
            grown = b.slice(packed, [0] * x.ndim, [*x.shape[:-1], m])
        else:
            grown = packed
        y = lower_product(b, grown, taus, self.name)
        top = b.slice(packed, [0] * x.ndim, [*x.shape[:-2], *r.shape[-2:]])
        ys = y, lapack.triangle(b, top, lower=False)
        return ys if places is None else (*ys, places)

    def samples(self):
        yield (real(2, 4, 2),), {"pivoting": False, "full_matrices": False}
        yield (real(3, 2),), {"pivoting": True, "full_matrices": True}
        yield (complex_(2, 3),), {"pivoting": False, "full_matrices": True}
        yield (real(2, 0),), {"pivoting": False, "full_matrices": True}
        yield (real(0, 2),), {"pivoting": True, "full_matrices": False}


qr_p = register(Qr())


# x = Q R with the leading square part R₁ of R, of the columns x₁. Then Y = dx₁ R₁⁻¹ is
# dQ + Q dR₁ R₁⁻¹, and C = Qᴴ Y is the sum of Ω = Qᴴ dQ, skew-Hermitian, and of an upper triangular
# matrix with a real diagonal: below the diagonal C is Ω, on it its imaginary part is. What Y has
# orthogonal to Q is dQ's. dR = Qᴴ dx - Ω R. A square Q of a tall x has more columns P, to which dQ
# adds P Pᴴ Y, and which follow as -Q (Pᴴ Y)ᴴ. (Turned among themselves they would do as well.)
def _tangents(q: Any, r: Any, t: Any) -> tuple[Any, Any]:
    """The tangents of Q and R, given that of their product."""
    m, n = type_of(t).shape[-2:]
    k, p = min(m, n), type_of(q).shape[-1]
    q1 = columns(q, 0, k)
    y = triangular_solve(columns(rows(r, 0, k), 0, k), columns(t, 0, k))
    c = matmul(adjoint(q1), y)
    low = strict_tril(c)
    skew = sub(low, adjoint(low))
    if type_of(c).dtype in dtypes.COMPLEX:
        skew = add(skew, _imaginary(on_diagonal(c)))
    dr = triu(sub(matmul(adjoint(q1), t), matmul(skew, rows(r, 0, k))))
    dq = matmul(q1, skew)
    if p > k:
        more = columns(q, k, p)
        outside = matmul(adjoint(more), y)
        dq = add(dq, matmul(more, outside))
        dq = concatenate([dq, neg(matmul(q1, adjoint(outside)))], type_of(q).ndim - 1)
        dr = _grown(dr, p, n)
    elif m > k:
        dq = add(dq, sub(y, matmul(q1, c)))
    return dq, dr


def _imaginary(x: Any) -> Any:
    """x without its real part."""
    imag = imaginary_part(x)
    return complex_of(mul(imag, 0.0), imag)


def _lower_pivoted(b: Any, x: Any, order: ArrayType, op: str) -> tuple[Any, Any, Any]:
    """geqp3 in StableHLO: geqrf of columns in an order that it finds, and this order."""
    if b.platform != "cpu":
        raise lapack.no_lowering(op, b.platform, "pivoting")
    k = min(x.shape[-2:])
    taus = ArrayType((*x.shape[:-2], k), x.dtype)
    free = b.full(order.shape, 0, order.dtype)  # no column has to come first
    results = [x.type.strong(), order, taus]
    packed, places, taus = lapack.lapack(b, "geqp3", [x, free], results, aliases={0: 0, 1: 1})
    return packed, taus, b.sub(places, b.full_like(places, 1))  # Fortran counts from 1


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Any, ...]:
    """(q, r): matrices x [..., m, n] as products of a unitary and an upper triangular one.

    q is [..., m, m] and r [..., m, n] with full_matrices; else q is [..., m, k] and r [..., k, n],
    k = min(m, n). With pivoting there is a third result, p [..., n]: q r is x[:, p], and the
    absolute values on the diagonal of r do not increase (on CPU only).
    Derivative: where the first k columns (of x[:, p]) are independent. Columns of a square q beyond
    those of x are not unique; theirs is the derivative that does not turn them among themselves.
    Raises: ShapeError, DtypeError, ArgumentError for use_magma.

    >>> x = jnp.array([[3.0, 0.0], [4.0, 5.0]])
    >>> q, r = lax.linalg.qr(x)
    >>> jnp.abs(r).round(3), jnp.allclose(q @ r, x, atol=1e-5)
    (Array([[5., 4.],
           [0., 3.]], dtype=float32), Array(True, dtype=bool))
    """
    if use_magma:
        raise ArgumentError(
            "MAGMA is not supported", op="qr", use_magma=use_magma, fix="leave it out"
        )
    return qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices))


__all__ = ["geqrf", "geqrf_p", "qr", "qr_p"]
