"""Products of Householder reflections: the Q of qr, and of other reductions, as LAPACK keeps it.

Column i of the vectors, ones on its diagonal and zeros above, is v[i]; Q is the product of the
reflections I - tau[i] v[i] v[i]ᴴ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, ShapeError
from plait.interpreters.jvp import jvp
from plait.ops import lapack
from plait.ops.arithmetic import add, mul, sub
from plait.ops.matrix import (
    adjoint,
    check_matrices,
    columns,
    conj,
    identity,
    matmul,
    of_each_matrix,
    over_columns,
    over_rows,
    rows,
    strict_tril,
    strict_triu,
)
from plait.ops.slices import add_rows
from plait.ops.triangular import triangular_solve


def reflection(x: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """(v, tau, beta), so that (I - tau v vᴴ)ᴴ x is beta in front and zeros; v begins with 1.

    Source: LAPACK's larfg, whose choice of signs makes the result unique.
    """
    alpha, v = x[0], x.copy()
    v[0] = 1
    rest = np.linalg.norm(x[1:])
    if rest == 0 and alpha.imag == 0:
        return v, x.dtype.type(0), alpha
    beta = -np.copysign(np.hypot(np.abs(alpha), rest), alpha.real)
    v[1:] /= alpha - beta
    return v, (beta - alpha) / beta, beta


def apply_reflection(v: np.ndarray, tau: Any, x: np.ndarray) -> np.ndarray:
    """(I - tau v vᴴ) x."""
    return x - tau * np.outer(v, v.conj() @ x)


def _vectors(a: np.ndarray, k: int) -> np.ndarray:
    return np.tril(a[:, :k], -1) + np.eye(a.shape[0], k, dtype=a.dtype)


def _check(name: str, a: ArrayType, taus: ArrayType) -> None:
    check_matrices(a=a)
    if taus.dtype != a.dtype:
        raise DtypeError("a and taus have different dtypes", a=a, taus=taus)
    if taus.shape[:-1] != a.shape[:-2] or taus.ndim != a.ndim - 1:
        raise ShapeError("taus needs the axes of a but the last two, and one more", a=a, taus=taus)
    if taus.shape[-1] > min(a.shape[-2:]):
        raise ShapeError("there are more taus than reflections in a", a=a, taus=taus)


class HouseholderProduct(Primitive):
    """The first columns of Q, as many as a has."""

    name = "householder_product"

    def type(self, a, taus):
        _check(self.name, a, taus)
        if a.shape[-1] > a.shape[-2]:
            raise ShapeError("a has more columns than rows", a=a)
        return a.strong()

    def numpy(self, a, taus):
        def one(a, taus):
            v, q = _vectors(a, len(taus)), np.eye(*a.shape, dtype=a.dtype)
            for k in reversed(range(len(taus))):
                q = apply_reflection(v[:, k], taus[k], q)
            return (q,)

        return of_each_matrix(one, [a, taus], [self.type(type_of(a), type_of(taus))], a.shape[:-2])[
            0
        ]

    def jvp(self, xs, ts):
        def first_columns(a: Any, taus: Any) -> list[Any]:
            v, t = _block(a, taus)
            eye = identity(type_of(a).shape, type_of(a).dtype)
            top = rows(v, 0, type_of(a).shape[-1])
            return [sub(eye, matmul(v, matmul(t, adjoint(top))))]

        return self.bind(*xs), jvp(first_columns, xs, ts)[1][0]

    def batch(self, frame, xs, mapped):
        xs = [add_rows(x, m, frame.size) for x, m in zip(xs, mapped, strict=True)]
        return self.bind(*xs), True

    def lower(self, b, a, taus):
        return lower_product(b, a, taus, self.name)

    def samples(self):
        yield (real(3, 2), real(2)), {}
        yield (complex_(2, 2), complex_(1)), {}
        yield (real(0, 3, 2), real(0, 2)), {}
        yield (real(3, 0), real(0)), {}


householder_product_p = register(HouseholderProduct())


# Q = I - V T Vᴴ: multiplied from the right by the next reflection I - tau v vᴴ, T gets the column
# tau (e - T Vᴴ v), that is (T⁻¹)ᵢⱼ = vᵢᴴ vⱼ above the diagonal and 1/tauᵢ on it. So
# T = D (I + striu(Vᴴ V) D)⁻¹ with D = diag(tau), where nothing is divided by tau.
def _block(a: Any, taus: Any) -> tuple[Any, Any]:
    """V and T of Q = I - V T Vᴴ, by ops that have derivatives."""
    *batch, m, _ = type_of(a).shape
    k, dtype = type_of(taus).shape[-1], type_of(a).dtype
    v = strict_tril(columns(a, 0, k))
    v = add(v, identity((*batch, m, k), dtype))
    square = identity((*batch, k, k), dtype)
    scaled = mul(strict_triu(matmul(adjoint(v), v)), over_columns(taus, square))
    t = mul(over_rows(taus, square), square)
    return v, triangular_solve(add(square, scaled), t, unit_diagonal=True)


def lower_product(b: Any, a: Any, taus: Any, op: str) -> Any:
    """The first columns of Q in StableHLO."""
    if not taus.type.size or not a.type.size:
        return lapack.eye(b, a.type.strong())
    operands, results = [a, taus], [a.type.strong()]
    if b.platform == "cpu":
        return lapack.lapack(b, "orgqr", operands, results, aliases={0: 0})[0]
    if b.platform == "gpu":
        return lapack.call(b, "cusolver_orgqr_ffi", operands, results, aliases={0: 0})[0]
    raise lapack.no_lowering(op, b.platform)


class Ormqr(Primitive):
    """c multiplied by Q, or by Qᴴ with `transpose`, from the left or from the right."""

    name = "ormqr"

    def type(self, a, taus, c, *, left, transpose):
        _check(self.name, a, taus)
        check_matrices(c=c)
        if c.dtype != a.dtype:
            raise DtypeError("a and c have different dtypes", a=a, c=c)
        if c.shape[:-2] != a.shape[:-2]:
            raise ShapeError("a and c have different axes before the last two", a=a, c=c)
        if c.shape[-2 if left else -1] != a.shape[-2]:
            what = "rows" if left else "columns"
            raise ShapeError(f"c must have as many {what} as a has rows", a=a, c=c)
        return c.strong()

    def numpy(self, a, taus, c, *, left, transpose):
        def one(a, taus, c):
            v, k = _vectors(a, len(taus)), len(taus)
            taus = taus.conj() if transpose else taus
            for i in range(k) if transpose == left else reversed(range(k)):
                if left:
                    c = apply_reflection(v[:, i], taus[i], c)
                else:
                    c = apply_reflection(v[:, i], taus[i].conj(), c.conj().T).conj().T
            return (c,)

        return of_each_matrix(one, [a, taus, c], [c_type(c)], a.shape[:-2])[0]

    # Linear in c; the rest by Q = I - V T Vᴴ.
    def jvp(self, xs, ts, *, left, transpose):
        y = self.bind(*xs, left=left, transpose=transpose)

        def product(a: Any, taus: Any, c: Any) -> list[Any]:
            v, t = _block(a, taus)
            t = adjoint(t) if transpose else t
            if left:
                return [sub(c, matmul(v, matmul(t, matmul(adjoint(v), c))))]
            return [sub(c, matmul(matmul(matmul(c, v), t), adjoint(v)))]

        if ts[0] is None and ts[1] is None:
            return y, self.bind(*xs[:2], ts[2], left=left, transpose=transpose)
        return y, jvp(product, xs, ts)[1][0]

    # <ct, Q c> without conjugation is <Qᵀ ct, c>, and Qᵀ is the conjugate of Qᴴ.
    def transpose(self, ct, a, taus, c, *, left, transpose):
        if type_of(ct).dtype in dtypes.COMPLEX:
            ct = self.bind(a, taus, conj(ct), left=left, transpose=not transpose)
            return None, None, conj(ct)
        return None, None, self.bind(a, taus, ct, left=left, transpose=not transpose)

    def batch(self, frame, xs, mapped, **params):
        xs = [add_rows(x, m, frame.size) for x, m in zip(xs, mapped, strict=True)]
        return self.bind(*xs, **params), True

    def lower(self, b, a, taus, c, *, left, transpose):
        if not taus.type.size or not c.type.size:
            return c
        operands, results = [a, taus, c], [c.type.strong()]
        config = {"left": lapack.flag(left), "transpose": lapack.flag(transpose)}
        if b.platform == "cpu":
            return lapack.lapack(b, "ormqr", operands, results, aliases={2: 0}, config=config)[0]
        if b.platform == "gpu":
            target = "cusolver_ormqr_ffi"
            return lapack.call(b, target, operands, results, aliases={2: 0}, config=config)[0]
        raise lapack.no_lowering(self.name, b.platform)

    def samples(self):
        yield (real(3, 2), real(2), real(3, 2)), {"left": True, "transpose": True}
        yield (complex_(2, 1), complex_(1), complex_(1, 2)), {"left": False, "transpose": False}
        yield (real(3, 0), real(0), real(3, 2)), {"left": True, "transpose": False}


ormqr_p = register(Ormqr())


def c_type(c: np.ndarray) -> ArrayType:
    """The type of an array, without narrowing."""
    return ArrayType(c.shape, c.dtype)


def householder_product(a: Any, taus: Any) -> Any:
    """The product of Householder reflections I - tau v vᴴ: its first columns, as many as a has.

    v[i] is column i of a below the diagonal, 1 on it and 0 above.
    Shapes: a [..., m, n] with m >= n, taus [..., k] with k <= n -> [..., m, n].
    Raises: ShapeError, DtypeError.

    >>> a, taus = jnp.array([[0.0], [1.0]]), jnp.array([1.0])
    >>> lax.linalg.householder_product(a, taus)  # I - tau v vᴴ with v = (1, 1), its first column
    Array([[ 0.],
           [-1.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """C times the product Q of Householder reflections, without making Q: Q c, or Qᴴ c with
    `transpose`, or c Q and c Qᴴ if not `left`.

    Shapes: a [..., m, n] and taus [..., k], as householder_product takes them; c [..., m, p], or
    [..., p, m] if not `left`. Raises: ShapeError, DtypeError.

    >>> a, taus, c = jnp.array([[0.0], [1.0]]), jnp.array([1.0]), jnp.array([[1.0], [2.0]])
    >>> lax.linalg.ormqr(a, taus, c)
    Array([[-2.],
           [-1.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


__all__ = [
    "apply_reflection",
    "householder_product",
    "householder_product_p",
    "lower_product",
    "ormqr",
    "ormqr_p",
    "reflection",
]
