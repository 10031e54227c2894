"""eigh and eig: eigenvalues and eigenvectors, of Hermitian matrices and of general ones."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.plain import listed
from plait.core.primitive import Primitive, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, MissingRuleError
from plait.ops import lapack
from plait.ops.arithmetic import add, convert_element_type, div, mul, neg, sub
from plait.ops.axes import broadcast_in_dim, expand_dims, reduce_sum
from plait.ops.cholesky import symmetrized
from plait.ops.compare import eq, select
from plait.ops.functions import abs as size_of
from plait.ops.functions import complex as complex_of
from plait.ops.gather import PROMISE, along_axis, gather_p
from plait.ops.lu import lu_p, solve_with_lu
from plait.ops.matrix import (
    adjoint,
    check_matrices,
    conj,
    diagonal,
    hermitian,
    imaginary_part,
    matmul,
    of_each_matrix,
    over_columns,
    over_rows,
    real_part,
)
from plait.ops.reduce import argmax


class EighImplementation(enum.Enum):
    """The algorithm of eigh: QR on CPU and GPU, JACOBI on GPU, QDWH on TPU.

    >>> a = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> v, w = lax.linalg.eigh(a, implementation=lax.linalg.EighImplementation.QR)
    >>> w.round(3)
    Array([1., 3.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """Who computes eig: LAPACK on the CPU; CUSOLVER and MAGMA on GPUs are not supported.

    >>> a = jnp.array([[2.0, 1.0], [0.0, 3.0]])
    >>> w, _, _ = lax.linalg.eig(a, implementation=lax.linalg.EigImplementation.LAPACK)
    >>> jnp.sort(w.real).round(3)
    Array([2., 3.], dtype=float32)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class Eigh(Primitive):
    """(w, v): eigenvalues in ascending order and orthonormal eigenvectors, in columns, of Hermitian
    matrices, of which one triangle is looked at. NaN where the algorithm fails.
    """

    name = "eigh"
    multiple_results = True

    def type(self, x, *, lower):
        check_matrices(square=True, x=x)
        return ArrayType(x.shape[:-1], dtypes.real_of(x.dtype)), x.strong()

    def numpy(self, x, *, lower):
        uplo = "L" if lower else "U"
        outs = self.type(type_of(x), lower=lower)
        return of_each_matrix(lambda a: np.linalg.eigh(a, uplo), [x], outs, x.shape[:-2])

    # x V = V W. With P = Vᴴ dx V and Ω = Vᴴ dV, skew-Hermitian: P + W Ω = Ω W + dW, so dW is the
    # diagonal of P and Ωᵢⱼ = Pᵢⱼ / (wⱼ - wᵢ). The diagonal of Ω is free (the phases of the vectors)
    # and 0 here; so is Ωᵢⱼ for equal eigenvalues, whose vectors have no derivative: functions that
    # do not depend on the choice of vectors get the right one.
    def jvp(self, xs, ts, *, lower):
        w, v = self.bind(xs[0], lower=lower)
        p = matmul(adjoint(v), matmul(hermitian(ts[0], lower), v))
        dw = real_part(diagonal(p)) if type_of(p).dtype in dtypes.COMPLEX else diagonal(p)
        return (w, v), (dw, matmul(v, mul(p, _like(inverse_gaps(w, p), p))))

    def batch(self, frame, xs, mapped, *, lower):
        return self.bind(xs[0], lower=lower), (True, True)

    def lower(self, b, x, *, lower):
        w, v = b.result_types
        if not x.type.size:
            return b.full(w.shape, 0, w.dtype), x
        results = [v, w, ArrayType(x.shape[:-2], dtypes.int32)]
        if b.platform == "cpu":
            config = {"mode": lapack.letter("V"), "uplo": lapack.letter("L" if lower else "U")}
            y, z, info = lapack.lapack(b, "syevd", [x], results, aliases={0: 0}, config=config)
        elif b.platform == "gpu":
            config = {"algorithm": "0 : ui8", "lower": lapack.flag(lower)}
            target = "cusolver_syevd_ffi"
            y, z, info = lapack.call(b, target, [x], results, aliases={0: 0}, config=config)
        else:
            raise lapack.no_lowering(self.name, b.platform)
        y, z = lapack.nan_unless(b, lapack.succeeded(b, info), y, z)
        return z, y

    def samples(self):
        a = real(3, 3)
        yield (np.stack([a, a @ a]),), {"lower": True}
        yield (complex_(2, 2),), {"lower": False}
        yield (np.zeros((2, 0, 0)),), {"lower": True}


eigh_p = register(Eigh())


def inverse_gaps(w: Any, x: Any) -> Any:
    """1 / (w[j] - w[i]), 0 where both are equal, in an array of the shape of x."""
    gaps = sub(over_columns(w, x), over_rows(w, x))
    equal = eq(gaps, 0.0)
    return select(equal, _zeros(gaps), div(1.0, select(equal, _ones(gaps), gaps)))


def _zeros(x: Any) -> Any:
    return broadcast_in_dim(np.zeros((), type_of(x).dtype), type_of(x).shape, ())


def _ones(x: Any) -> Any:
    return broadcast_in_dim(np.ones((), type_of(x).dtype), type_of(x).shape, ())


def _like(x: Any, y: Any) -> Any:
    return convert_element_type(x, type_of(y).dtype)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """(v, w): orthonormal eigenvectors, in columns, and eigenvalues in ascending order of Hermitian
    matrices: x [..., n, n] -> [..., n, n], [..., n].

    With symmetrize_input they are those of (x + xᴴ) / 2, otherwise one triangle of x is looked at.
    NaN where the algorithm fails. Derivative: of the eigenvalues always; of the eigenvectors where
    eigenvalues differ (vectors of equal ones count as fixed).
    Raises: ShapeError, DtypeError; ArgumentError for what no CPU or GPU does.

    >>> a = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> v, w = lax.linalg.eigh(a)
    >>> w.round(3), jnp.allclose((v * w) @ v.T, a, atol=1e-5)
    (Array([1., 3.], dtype=float32), Array(True, dtype=bool))
    """
    subset_is_all("eigh", subset_by_index, type_of(x).shape[-1:])
    if implementation not in (None, EighImplementation.QR):
        raise ArgumentError(
            "only QR is there as its implementation",
            op="eigh",
            implementation=implementation,
            fix="leave it out",
        )
    if symmetrize_input:
        x = symmetrized(x)
    w, v = eigh_p.bind(x, lower=bool(lower))
    return v, w


def subset_is_all(op: str, subset: tuple[int, int] | None, sizes: tuple[int, ...]) -> None:
    """Raise ArgumentError for a subset of the eigenvalues or singular values."""
    if subset is not None and tuple(listed(subset, op, "subset_by_index")) != (0, *sizes):
        raise ArgumentError(
            "computes all values, not a subset",
            op=op,
            subset_by_index=subset,
            fix="leave it out, and slice the results",
        )


# --- general matrices


class Eig(Primitive):
    """Eigenvalues; then, if asked for, left eigenvectors u (uᴴ x = w uᴴ) and right ones v (x v = w
    v), in columns of length 1 whose largest component is real. NaN where the algorithm fails.
    """

    name = "eig"
    multiple_results = True

    def type(self, x, *, left, right, derivatives):
        check_matrices(square=True, x=x)
        dtype = dtypes.complex_of(x.dtype)
        w, v = ArrayType(x.shape[:-1], dtype), ArrayType(x.shape, dtype)
        return (w, *([v] * (left + right)))

    def numpy(self, x, *, left, right, derivatives):
        def one(a):
            w, v = np.linalg.eig(a)
            u = _normalised(np.linalg.inv(v).conj().T) if left and len(w) else v
            return [w, *([u] if left else []), *([v] if right else [])]

        outs = self.type(type_of(x), left=left, right=right, derivatives=derivatives)
        return of_each_matrix(one, [x], outs, x.shape[:-2])

    # x V = V W gives, with P = V⁻¹ dx V, dW = diag(P) and dV = V C, Cᵢⱼ = Pᵢⱼ / (wⱼ - wᵢ) off the
    # diagonal. Left eigenvectors are right ones of xᴴ, whose eigenvalues are conjugate.
    def jvp(self, xs, ts, *, left, right, derivatives):
        if (left or right) and not derivatives:
            raise MissingRuleError(
                "eigenvectors of general matrices are differentiated on request only",
                op=self.name,
                why="they have no derivative where eigenvalues are equal or two components "
                "equally large",
                fix="lax.linalg.eig(x, enable_eigvec_derivs=True), or eigvals, or eigh for "
                "Hermitian matrices",
            )
        ys = self.bind(xs[0], left=left, right=right, derivatives=derivatives)
        w, *vectors = ys
        if not type_of(w).size:
            return ys, (None,) * len(ys)
        if right:
            v = vectors[-1]
        else:
            # Second derivatives of eigenvalues are sums over eigenvectors, whatever their phases.
            _, v = self.bind(xs[0], left=False, right=True, derivatives=True)
        t = convert_element_type(ts[0], type_of(w).dtype)
        p = _in_basis(v, t)
        tangents = [diagonal(p)]
        if left:
            u = vectors[0]
            tangents.append(_vector_tangents(conj(w), u, _in_basis(u, adjoint(t))))
        if right:
            tangents.append(_vector_tangents(w, v, p))
        return ys, tuple(tangents)

    def batch(self, frame, xs, mapped, **params):
        ys = self.bind(xs[0], **params)
        return ys, (True,) * len(ys)

    def lower(self, b, x, *, left, right, derivatives):
        outs = b.result_types
        if not x.type.size:
            return [b.full(t.shape, 0, t.dtype) for t in outs]
        if b.platform != "cpu":
            raise lapack.no_lowering(self.name, b.platform)
        is_complex, w = x.dtype in dtypes.COMPLEX, outs[0]
        values = [w] if is_complex else [w.with_dtype(x.dtype)] * 2
        vectors = ArrayType(x.shape, w.dtype)
        info = ArrayType(x.shape[:-2], dtypes.int32)
        found = lapack.lapack(
            b,
            "geev",
            [x],
            [*values, vectors, vectors, info],
            config={
                "compute_left": lapack.letter("V" if left else "N"),
                "compute_right": lapack.letter("V" if right else "N"),
            },
        )
        *found, u, v, info = found
        y = found[0] if is_complex else b.op("complex", found, w)
        ys = [y, *([u] if left else []), *([v] if right else [])]
        return lapack.nan_unless(b, lapack.succeeded(b, info), *ys)

    def samples(self):
        plain = {"left": False, "right": False, "derivatives": True}
        # The signs of real eigenvectors are LAPACK's choice: where numpy.linalg has none, the
        # sample is complex.
        yield (np.stack([real(2, 2), real(2, 2).T @ np.diag([1.0, -1.0])]),), plain
        yield (real(2, 2),), {**plain, "right": True}
        yield (complex_(2, 2) ** 2,), {**plain, "left": True, "right": True}
        yield (np.zeros((1, 0, 0)),), {**plain, "right": True}


eig_p = register(Eig())


def _normalised(v: np.ndarray) -> np.ndarray:
    v = v / np.linalg.norm(v, axis=0)
    largest = v[np.argmax(np.abs(v), axis=0), np.arange(v.shape[1])]
    return v * (largest.conj() / np.abs(largest))


def _in_basis(v: Any, t: Any) -> Any:
    """V⁻¹ t V."""
    packed, _, order = lu_p.bind(v)
    return solve_with_lu(packed, order, matmul(t, v))


# What a column Z of V C lacks is a multiple c v of the vector v itself, by which v keeps length 1,
# Re vᴴ(Z + c v) = 0, and its largest component vₖ stays real, Im(Zₖ + c vₖ) = 0.
def _vector_tangents(w: Any, v: Any, p: Any) -> Any:
    z = matmul(v, mul(p, inverse_gaps(w, p)))
    rows_axis = type_of(v).ndim - 2
    along = reduce_sum(real_part(mul(conj(v), z)), (rows_axis,))
    largest = expand_dims(argmax(size_of(v), rows_axis, np.int32), (rows_axis,))
    turn = div(imaginary_part(_component(z, largest)), real_part(_component(v, largest)))
    c = neg(complex_of(along, turn))
    return add(z, mul(v, over_columns(c, v)))


def _component(x: Any, which: Any) -> Any:
    """Of each column one component, at positions [..., 1, n]."""
    shape = type_of(which).shape
    ndim = len(shape)
    picked = gather_p.bind(
        x,
        expand_dims(which, (ndim,)),
        dims=along_axis(ndim, ndim - 2),
        sizes=(1,) * ndim,
        mode=PROMISE,
        fill_value=None,
        unique=True,
        increasing=False,
    )
    return reduce_sum(picked, (ndim - 2,))


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> tuple[Any, ...]:
    """(w, vl, vr): eigenvalues, left and right eigenvectors of general matrices, on CPU only; w is
    in a tuple of its own without the vectors.

    Shapes: x [..., n, n] -> w [..., n], vl and vr [..., n, n], all complex, the vectors in columns:
    vlᴴ x = w vlᴴ, x vr = w vr. They have length 1 and a real largest component. NaN where the
    algorithm fails. Derivative: of the eigenvalues where they differ; with eigenvectors only if
    enable_eigvec_derivs says that no two of their components are equally large.
    Raises: ShapeError, DtypeError, ArgumentError for other implementations than LAPACK's.

    >>> a = jnp.array([[2.0, 1.0], [0.0, 3.0]])
    >>> w, vl, vr = lax.linalg.eig(a)
    >>> jnp.sort(w.real).round(3), jnp.allclose(a @ vr, vr * w, atol=1e-5)
    (Array([2., 3.], dtype=float32), Array(True, dtype=bool))
    """
    if use_magma or implementation not in (None, EigImplementation.LAPACK):
        raise ArgumentError(
            "only LAPACK is there as its implementation, on CPU",
            op="eig",
            implementation=implementation,
            use_magma=use_magma,
            fix="leave both out",
        )
    return eig_p.bind(
        x,
        left=bool(compute_left_eigenvectors),
        right=bool(compute_right_eigenvectors),
        derivatives=bool(enable_eigvec_derivs),
    )


__all__ = [
    "EigImplementation",
    "EighImplementation",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "inverse_gaps",
    "subset_is_all",
]
