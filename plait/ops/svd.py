"""svd: matrices as U diag(s) Vᴴ, U and V unitary, s not negative and descending."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError
from plait.ops import lapack
from plait.ops.arithmetic import add, convert_element_type, div, mul, neg, sub
from plait.ops.axes import broadcast_in_dim
from plait.ops.compare import eq, select
from plait.ops.eigen import subset_is_all
from plait.ops.functions import complex as complex_of
from plait.ops.matrix import (
    adjoint,
    check_matrices,
    columns,
    diagonal,
    imaginary_part,
    matmul,
    of_each_matrix,
    on_diagonal,
    over_columns,
    over_rows,
    real_part,
)
from plait.ops.slices import concatenate


class SvdAlgorithm(enum.Enum):
    """The algorithm of svd. DEFAULT is DIVIDE_AND_CONQUER on CPU; on GPU JACOBI for small
    matrices, else QR. CPUs also have QR, GPUs POLAR.

    >>> a = jnp.array([[0.0, 3.0], [2.0, 0.0]])
    >>> u, s, vh = lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.QR)
    >>> s.round(3)
    Array([3., 2.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ON_CPU = {
    SvdAlgorithm.DEFAULT: "gesdd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.QR: "gesvd",
}
_ON_GPU = {
    SvdAlgorithm.JACOBI: "gesvdj",
    SvdAlgorithm.QR: "gesvd",
    SvdAlgorithm.POLAR: "gesvdp",
}
# Where cuSOLVER's Jacobi method is faster than its QR; and where it takes many matrices at once.
_JACOBI_UP_TO, _BATCHED_UP_TO = 1024, 32


class Svd(Primitive):
    """Singular values s, descending; with compute_uv then U and Vᴴ, square ones with full_matrices,
    else of as many columns and rows as there are singular values. NaN where the algorithm fails.
    """

    name = "svd"
    multiple_results = True

    def type(self, x, *, full_matrices, compute_uv, algorithm):
        check_matrices(x=x)
        *batch, m, n = x.shape
        k = min(m, n)
        s = ArrayType((*batch, k), dtypes.real_of(x.dtype))
        if not compute_uv:
            return (s,)
        u, v = (m, m if full_matrices else k), (n if full_matrices else k, n)
        return s, x.strong().with_shape((*batch, *u)), x.strong().with_shape((*batch, *v))

    def numpy(self, x, *, full_matrices, compute_uv, algorithm):
        def one(a):
            if not compute_uv:
                return (np.linalg.svd(a, compute_uv=False),)
            u, s, v = np.linalg.svd(a, full_matrices)
            return s, u, v

        params = {"full_matrices": full_matrices, "compute_uv": compute_uv}
        outs = self.type(type_of(x), **params, algorithm=algorithm)
        return of_each_matrix(one, [x], outs, x.shape[:-2])

    # x = U S Vᴴ. P = Uᴴ dx V is A S + dS - S B, where A = Uᴴ dU and B = Vᴴ dV are skew-Hermitian.
    # So dS is the real diagonal of P, and off the diagonal
    #     A = F ∘ (P S + S Pᴴ),  B = F ∘ (S P + Pᴴ S),  Fᵢⱼ = 1 / (sⱼ² - sᵢ²).
    # Of the diagonals only A - B is known, which is Im P / s; here A has it all. What dx V S⁻¹ has
    # orthogonal to U belongs to dU, and what dxᴴ U S⁻¹ has orthogonal to V to dV. Further columns
    # of square U and V follow, without being turned among themselves. Equal singular values, and
    # zeros, have vectors without a derivative: nothing is divided by their difference.
    def jvp(self, xs, ts, *, full_matrices, compute_uv, algorithm):
        (x,), (t,) = xs, ts
        bind = {"full_matrices": full_matrices and compute_uv, "compute_uv": True}
        s, u, vh = self.bind(x, **bind, algorithm=algorithm)
        m, n = type_of(x).shape[-2:]
        k = min(m, n)
        u1, v = columns(u, 0, k), adjoint(vh)
        v1 = columns(v, 0, k)
        tv = matmul(t, v1)
        p = matmul(adjoint(u1), tv)
        is_complex = type_of(p).dtype in dtypes.COMPLEX
        ds = real_part(diagonal(p)) if is_complex else diagonal(p)
        if not compute_uv:
            return (s,), (ds,)
        f = _like(_inverse_gaps(s, p), p)
        by_column, by_row = (_like(spread(s, p), p) for spread in (over_columns, over_rows))
        ph = adjoint(p)
        a = mul(f, add(mul(p, by_column), mul(by_row, ph)))
        b = mul(f, add(mul(by_row, p), mul(ph, by_column)))
        if is_complex:
            turn = mul(imaginary_part(on_diagonal(p)), over_columns(_inverse(s), p))
            a = add(a, complex_of(mul(turn, 0.0), turn))
        scale = _inverse(s)
        du = _turned(u, k, a, mul(tv, _like(over_columns(scale, tv), tv)))
        tu = matmul(adjoint(t), u1)
        dv = _turned(v, k, b, mul(tu, _like(over_columns(scale, tu), tu)))
        return (s, u, vh), (ds, du, adjoint(dv))

    def batch(self, frame, xs, mapped, **params):
        ys = self.bind(xs[0], **params)
        return ys, (True,) * len(ys)

    def lower(self, b, x, *, full_matrices, compute_uv, algorithm):
        s, *vectors = b.result_types
        if not x.type.size:
            return b.full(s.shape, 0, s.dtype), *(lapack.eye(b, t) for t in vectors)
        there = {"cpu": _ON_CPU, "gpu": {**_ON_GPU, SvdAlgorithm.DEFAULT: ""}}.get(b.platform, {})
        if algorithm not in there:
            raise lapack.no_lowering(
                self.name,
                b.platform,
                f"algorithm={algorithm.name}" if there else None,
            )
        if b.platform == "cpu":
            found = _lower_cpu(b, x, full_matrices, compute_uv, algorithm)
        else:
            found = _lower_gpu(b, x, full_matrices, compute_uv, algorithm)
        *ys, info = found
        return lapack.nan_unless(b, lapack.succeeded(b, info), *ys)

    def samples(self):
        plain = {"full_matrices": False, "compute_uv": True, "algorithm": SvdAlgorithm.DEFAULT}
        yield (real(2, 4, 2),), plain
        yield (real(2, 3),), {**plain, "full_matrices": True}
        yield (complex_(2, 3),), {**plain, "algorithm": SvdAlgorithm.QR}
        yield (real(3, 2),), {**plain, "compute_uv": False}
        yield (real(0, 2),), {**plain, "full_matrices": True}


svd_p = register(Svd())


def _like(x: Any, y: Any) -> Any:
    return convert_element_type(x, type_of(y).dtype)


def _inverse(x: Any) -> Any:
    """1 / x, 0 where x is 0."""
    t = type_of(x)
    zero = broadcast_in_dim(np.zeros((), t.dtype), t.shape, ())
    one = broadcast_in_dim(np.ones((), t.dtype), t.shape, ())
    none = eq(x, 0.0)
    return select(none, zero, div(1.0, select(none, one, x)))


def _inverse_gaps(s: Any, x: Any) -> Any:
    """1 / (s[j]² - s[i]²), 0 where both are equal, in an array of the shape of x."""
    column, row = over_columns(s, x), over_rows(s, x)
    return _inverse(mul(sub(column, row), add(column, row)))


def _turned(u: Any, k: int, turn: Any, y: Any) -> Any:
    """The tangent of orthonormal columns, of which the first k turn among themselves and go to
    where y is outside of them.
    """
    m, p = type_of(u).shape[-2:]
    u1 = columns(u, 0, k)
    t = matmul(u1, turn)
    if p > k:
        more = columns(u, k, p)
        outside = matmul(adjoint(more), y)
        t = add(t, matmul(more, outside))
        return concatenate([t, neg(matmul(u1, adjoint(outside)))], type_of(u).ndim - 1)
    return add(t, sub(y, matmul(u1, matmul(adjoint(u1), y)))) if m > k else t


def _lower_cpu(b, x, full_matrices, compute_uv, algorithm) -> tuple[Any, ...]:
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    *batch, m, n = x.shape
    k = min(m, n)
    s = ArrayType((*batch, k), dtypes.real_of(x.dtype))
    u = ArrayType((*batch, m, k if mode == "S" else m), x.dtype)
    v = ArrayType((*batch, k if mode == "S" else n, n), x.dtype)
    results = [x.type.strong(), s, u, v, ArrayType(batch, dtypes.int32)]
    config = {"mode": lapack.letter(mode)}
    _, y, u, v, info = lapack.lapack(
        b, _ON_CPU[algorithm], [x], results, aliases={0: 0}, config=config
    )
    return (y, u, v, info) if compute_uv else (y, info)


def _lower_gpu(b, x, full_matrices, compute_uv, algorithm) -> tuple[Any, ...]:
    m, n = x.shape[-2:]
    small = max(m, n) <= _JACOBI_UP_TO
    routine = _ON_GPU.get(algorithm) or ("gesvdj" if small else "gesvd")
    if routine == "gesvd" and m < n:  # cuSOLVER's takes tall matrices only
        y, u, v, info = _call_gpu(b, _adjoint(b, x), routine, full_matrices, compute_uv)
        u, v = _adjoint(b, v), _adjoint(b, u)
    else:
        y, u, v, info = _call_gpu(b, x, routine, full_matrices, compute_uv)
    return (y, u, v, info) if compute_uv else (y, info)


def _call_gpu(b, x, routine, full_matrices, compute_uv) -> tuple[Any, ...]:
    *batch, m, n = x.shape
    k = min(m, n)
    # The one for many small matrices always gives square ones.
    square = full_matrices or (routine == "gesvdj" and min(m, n) <= _BATCHED_UP_TO)
    gives_v = routine != "gesvd"  # and not its adjoint
    p, q = (m, n) if square else (k, k)
    config = {"full_matrices": lapack.flag(square), "compute_uv": lapack.flag(compute_uv)}
    if not gives_v:
        config["transposed"] = lapack.flag(False)
    results = [
        x.type.strong(),
        ArrayType((*batch, k), dtypes.real_of(x.dtype)),
        ArrayType((*batch, m, p), x.dtype),
        ArrayType((*batch, n, q) if gives_v else (*batch, q, n), x.dtype),
        ArrayType(batch, dtypes.int32),
    ]
    target = f"cusolver_{routine}_ffi"
    _, y, u, v, info = lapack.call(b, target, [x], results, aliases={0: 0}, config=config)
    v = _adjoint(b, v) if gives_v else v
    if square and not full_matrices:
        u = b.slice(u, [0] * u.ndim, [*batch, m, k])
        v = b.slice(v, [0] * v.ndim, [*batch, k, n])
    return y, u, v, info


def _adjoint(b: Any, x: Any) -> Any:
    n = x.ndim
    x = b.transpose(x, (*range(n - 2), n - 1, n - 2))
    return lapack.conjugate(b, x) if x.dtype in dtypes.COMPLEX else x


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """(u, s, vh): matrices x [..., m, n] as U diag(s) Vᴴ; or s alone without compute_uv.

    s [..., k], k = min(m, n), is descending; u is [..., m, m] and vh [..., n, n] with
    full_matrices, else [..., m, k] and [..., k, n]. NaN where the algorithm fails.
    Derivative: of s always; of u and vh where the singular values differ and are not 0 (other
    vectors count as fixed, as do those that only fill up a square matrix among themselves).
    Raises: ShapeError, DtypeError, ArgumentError for an algorithm that the platform lacks.

    >>> x = jnp.array([[0.0, 3.0], [2.0, 0.0]])
    >>> u, s, vh = lax.linalg.svd(x)
    >>> s.round(3), jnp.allclose((u * s) @ vh, x, atol=1e-5)
    (Array([3., 2.], dtype=float32), Array(True, dtype=bool))
    """
    k = min(type_of(x).shape[-2:], default=0)
    subset_is_all("svd", subset_by_index, (k,))
    try:
        algorithm = SvdAlgorithm.DEFAULT if algorithm is None else SvdAlgorithm(algorithm)
    except ValueError:
        summary, fix = "there is no such algorithm", "one of lax.linalg.SvdAlgorithm"
        raise ArgumentError(summary, op="svd", algorithm=algorithm, fix=fix) from None
    s, *vectors = svd_p.bind(
        x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), algorithm=algorithm
    )
    return (vectors[0], s, vectors[1]) if compute_uv else s


__all__ = ["SvdAlgorithm", "svd", "svd_p"]
