"""Linear equations of plait.numpy.linalg: solutions, inverses, determinants, least squares."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.core import dtypes
from plait.core.plain import known_number, listed
from plait.errors import ArgumentError, ShapeError
from plait.numpy import reduction, ufuncs
from plait.numpy.contraction import matmul
from plait.numpy.factors import matrices
from plait.numpy.matrices import eye
from plait.numpy.promotion import (
    astype,
    axis_in,
    broadcast_shapes,
    promote_dtypes,
    static_int,
    value,
)
from plait.ops import axes as ops
from plait.ops.eigen import eigh
from plait.ops.functions import log
from plait.ops.lu import lu_p, solve_with_lu
from plait.ops.matrix import (
    adjoint,
    diagonal,
    identity,
    over_columns,
    over_rows,
    real_part,
    take_rows,
)
from plait.ops.matrix import matmul as product
from plait.ops.qr import geqrf
from plait.ops.svd import svd
from plait.ops.triangular import triangular_solve
from plait.regions.custom import custom_jvp, stop_gradient
from plait.regions.linear_solve import custom_linear_solve
from plait.transforms.choices import PerChoice


class SlogdetResult(NamedTuple):
    """The sign of determinants, and the logarithm of their absolute values: two arrays [...].

    >>> sign, logabsdet = jnp.linalg.slogdet(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> (sign * jnp.exp(logabsdet)).round(3)
    Array(-2., dtype=float32)
    """

    sign: Any
    logabsdet: Any


def solve(a: Any, b: Any) -> Any:
    """The solution x of a x = b for square matrices a, by an LU factorisation.

    Shapes: a [..., n, n], b [..., n, k], or a vector [n]; the axes before them broadcast. A
    singular a gives infinities and NaN. Derivative: dx = a⁻¹ (db - da x), with the same factors.
    Raises: ShapeError, DtypeError.

    >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    a, b = _pair("solve", a, b)
    if not b.ndim:
        raise ShapeError("b needs at least one axis", op="solve", a=a, b=b)
    if b.ndim == 1:
        if b.shape[0] != a.shape[-1]:
            raise ShapeError("b must have as many elements as a has rows", op="solve", a=a, b=b)
        return ops.reshape(y := solve(a, ops.expand_dims(b, (1,))), y.shape[:-1])
    n = a.shape[-1]
    if b.shape[-2] != n:
        raise ShapeError(
            "b must have as many rows as a",
            op="solve",
            a=a,
            b=b,
            fix="many vectors are the columns of a matrix: b[..., None]"
            if b.ndim < a.ndim
            else None,
        )
    if a.ndim == 2 and b.ndim > 2:
        # One matrix for all: factorised once, with all columns side by side.
        columns = ops.move_axis(b, b.ndim - 2, 0)
        x = _solve(a, ops.reshape(columns, (n, math.prod(columns.shape[1:]))))
        return ops.move_axis(ops.reshape(x, columns.shape), 0, b.ndim - 2)
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = ops.broadcast_to(a, (*batch, n, n))
    return _solve(a, ops.broadcast_to(b, (*batch, *b.shape[-2:])))


def _pair(op: str, a: Any, b: Any) -> list[Any]:
    """The operands of an equation in one dtype. Raises ShapeError unless a is square."""
    a, b = value(op, a), value(op, b, 1)
    dtype = dtypes.promote((a.dtype, a.weak_type), (b.dtype, b.weak_type))[0]
    a, b = (astype(x, dtype) for x in (a, b))
    return [matrices(op, a, square=True), astype(b, _inexact(dtype))]


def _inexact(dtype: Any) -> Any:
    if dtype in dtypes.INEXACT:
        return dtype
    return dtypes.float64 if dtype.itemsize == 8 and dtype in dtypes.INTEGER else dtypes.float32


@PerChoice
def _solve(a: Any, b: Any) -> Any:
    return solve_general(a, b)


def solve_general(a: Any, b: Any) -> Any:
    """The solution of a x = b; a [..., n, n], b [..., n, k], of one dtype."""
    packed, _, order = lu_p.bind(stop_gradient(a))
    return custom_linear_solve(
        lambda x: product(a, x),
        b,
        lambda _, b: solve_with_lu(packed, order, b),
        lambda _, b: solve_with_lu(packed, order, b, trans=1),
    )


def inv(a: Any) -> Any:
    """The inverses of square matrices: a [..., n, n]. Infinities and NaN if a is singular.

    Derivative: -a⁻¹ da a⁻¹. Raises: ShapeError, DtypeError.

    >>> jnp.linalg.inv(jnp.array([[2.0, 1.0], [1.0, 1.0]])).round(3)
    Array([[ 1., -1.],
           [-1.,  2.]], dtype=float32)
    """
    return _inverse(matrices("inv", a, square=True))


@PerChoice
def _inverse(a: Any) -> Any:
    return solve_general(a, identity(a.shape, a.dtype))


def matrix_power(a: Any, n: int) -> Any:
    """Square matrices multiplied with themselves n times; for negative n their inverses, for 0 the
    identity.

    Shapes: a [..., n, n]. Integers stay integers, but become floats if n is negative.
    Cost: about 2 log2(n) products. Raises: ShapeError; ArgumentTypeError if n is no int.

    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [1, 0]]), 10)
    Array([[89, 55],
           [55, 34]], dtype=int32)
    """
    op = "matrix_power"
    a = value(op, a)
    n = static_int(n, op, "n")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError("needs square matrices", op=op, a=a)
    if n == 0:
        return ops.broadcast_to(eye(a.shape[-1], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        if n:
            a = matmul(a, a)
    return result


# --- determinants


def det(a: Any) -> Any:
    """The determinants of square matrices: a [..., n, n] -> [...].

    Integers become floats; float16 and bfloat16 are taken up to three rows.
    Derivative: also where a is singular. Cost: an LU factorisation; up to three rows a polynomial.
    Raises: ShapeError, DtypeError.

    >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    a = value("det", a)
    n = a.shape[-1] if a.ndim else 0
    if a.ndim >= 2 and a.shape[-2] == n <= 3:
        return _small_det(astype(a, _inexact(a.dtype)))
    return _det(matrices("det", a, square=True))


@PerChoice
def _small_det(a: Any) -> Any:
    """The determinant as a polynomial in the elements, for up to three rows."""
    n = a.shape[-1]
    if n == 0:
        return ops.full(a.shape[:-2], 1, a.dtype)
    if n == 1:
        return a[..., 0, 0]

    def minor(i: int, j: int) -> Any:
        return a[..., -2, i] * a[..., -1, j] - a[..., -2, j] * a[..., -1, i]

    if n == 2:
        return minor(0, 1)
    return a[..., 0, 0] * minor(1, 2) - a[..., 0, 1] * minor(0, 2) + a[..., 0, 2] * minor(0, 1)


def _signed(packed: Any, pivots: Any) -> tuple[Any, Any]:
    """The sign of the exchanges of rows that lu made, and the diagonal of U."""
    steps = np.arange(pivots.shape[-1], dtype=np.int32)
    odd = reduction.sum(ufuncs.not_equal(pivots, steps), -1) % 2
    return ufuncs.where(odd == 1, -1, 1).astype(packed.dtype), diagonal(packed)


@custom_jvp
def _det_by_lu(a: Any) -> Any:
    packed, pivots, _ = lu_p.bind(a)
    sign, d = _signed(packed, pivots)
    return sign * reduction.prod(d, -1)


# d det a = tr(adj(a) da), with the adjugate adj(a) = det(a) a⁻¹, which singular matrices have
# too. From P a = L U follows adj(a) = det(P) adj(U) L⁻¹ P. Let k be where the diagonal u of U is
# smallest (0 if a is singular), V be U with s in place of uₖ, and D the product of all u but uₖ.
# Then U = V + (uₖ - s) e eᵀ for the k-th unit vector e, and by the formula of Sherman and Morrison
#     adj(U) = D (uₖ V⁻¹ - s (uₖ - s) V⁻¹ e eᵀ V⁻¹),
# where nothing is divided by uₖ. If another uᵢ is 0, all is 0.
@_det_by_lu.defjvp
def _det_tangent(primals: Any, tangents: Any) -> Any:
    (a,), (t,) = primals, tangents
    packed, pivots, order = lu_p.bind(a)
    sign, u = _signed(packed, pivots)
    n = a.shape[-1]
    size = ufuncs.abs(u)
    at = ufuncs.equal(reduction.argmin(size, -1, keepdims=True), np.arange(n))
    scale = reduction.max(size, -1, keepdims=True).astype(a.dtype)
    others = ufuncs.where(at, 1, u)
    filled = ufuncs.where(at, scale, u)
    filled = ufuncs.where(filled == 0, 1, filled)
    unit = identity(a.shape, a.dtype)
    v = packed + over_rows(filled - u, packed) * unit
    y = take_rows(t, order)
    y = triangular_solve(packed, y, left_side=True, lower=True, unit_diagonal=True)
    z = triangular_solve(v, y, left_side=True)
    e = ops.expand_dims(at.astype(a.dtype), (a.ndim - 1,))
    column = triangular_solve(v, e, left_side=True)
    last = reduction.sum(ufuncs.where(at, u, 0), -1)
    row = reduction.sum(e * z, -2)
    through = reduction.sum(row * column[..., 0], -1)
    s = scale[..., 0]
    trace = last * reduction.sum(diagonal(z), -1) - s * (last - s) * through
    product_of_others = reduction.prod(others, -1)
    return sign * product_of_others * last, sign * product_of_others * trace


@PerChoice
def _det(a: Any) -> Any:
    return _det_by_lu(a)


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign of determinants and the logarithm of their absolute values, as a named pair.

    The sign has length 1 and is complex for complex a; 0, with -inf, if a is singular.
    method: "lu" (None) or "qr", the factorisation. Shapes: a [..., n, n] -> [...], [...].
    Raises: ShapeError, DtypeError, ArgumentError for other methods.

    >>> sign, logarithm = jnp.linalg.slogdet(-1e-20 * jnp.eye(3))
    >>> sign, logarithm.round(2)
    (Array(-1., dtype=float32), Array(-138.16, dtype=float32))
    """
    if method not in (None, "lu", "qr"):
        raise ArgumentError(
            "there is no such method", op="slogdet", method=method, fix='"lu" or "qr"'
        )
    a = value("slogdet", a)
    dtype = a.dtype
    if dtype in dtypes.FLOAT and dtype.itemsize == 2:
        a = astype(a, dtypes.float32)
    a = matrices("slogdet", a, square=True)
    sign, logarithm = _slogdet(a, by_qr=method == "qr")
    if dtype in dtypes.FLOAT:
        sign, logarithm = astype(sign, dtype), astype(logarithm, dtype)
    return SlogdetResult(sign, logarithm)


@PerChoice
def _slogdet(a: Any, *, by_qr: bool) -> Any:
    return (_slogdet_by_qr if by_qr else _slogdet_by_lu)(a)


def _of_product(sign: Any, factors: Any) -> tuple[Any, Any]:
    size = ufuncs.abs(factors)
    signs = ufuncs.sign(factors) if factors.dtype in dtypes.FLOAT else factors / size
    signs = ufuncs.where(factors == 0, 0, signs)
    return sign * reduction.prod(signs, -1), reduction.sum(log(size), -1)


@custom_jvp
def _slogdet_by_lu(a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = lu_p.bind(a)
    return _of_product(*_signed(packed, pivots))


@custom_jvp
def _slogdet_by_qr(a: Any) -> tuple[Any, Any]:
    packed, taus = geqrf(a)
    # The determinant of a reflection I - tau v vᴴ is 1 - tau vᴴv, a number of length 1; for real
    # ones -1, or 1 if tau is 0.
    n = a.shape[-1]
    v = ufuncs.where(np.tri(n, k=-1, dtype=bool), packed, 0)
    reflections = 1 - taus * (1 + reduction.sum(reduction.squared_size(v), -2)).astype(a.dtype)
    return _of_product(reduction.prod(reflections, -1), diagonal(packed))


# d log det a = tr(a⁻¹ da): its real part is that of the logarithm of the absolute value, and the
# sign turns by the imaginary one.
def _slogdet_tangent(function: Any) -> Any:
    def rule(primals: Any, tangents: Any) -> Any:
        (a,), (t,) = primals, tangents
        sign, logarithm = function(a)
        trace = reduction.sum(diagonal(solve_general(a, t)), -1)
        if a.dtype not in dtypes.COMPLEX:
            return (sign, logarithm), (ops.full(sign.shape, 0, sign.dtype), trace)
        turn = trace - real_part(trace)
        return (sign, logarithm), (sign * turn, real_part(trace))

    return rule


_slogdet_by_lu.defjvp(_slogdet_tangent(_slogdet_by_lu))
_slogdet_by_qr.defjvp(_slogdet_tangent(_slogdet_by_qr))


# --- equations of tensors


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of an array as a matrix from its last axes to its first `ind` ones: tensordot(
    tensorinv(a, ind), tensordot(a, x), ind) is x.

    Raises: ShapeError if the sizes of both groups of axes have different products.

    >>> a = 2 * jnp.eye(6).reshape(2, 3, 6)
    >>> b = jnp.linalg.tensorinv(a)
    >>> b.shape, jnp.tensordot(b, a @ jnp.arange(1.0, 7.0), 2)
    ((6, 2, 3), Array([1., 2., 3., 4., 5., 6.], dtype=float32))
    """
    op = "tensorinv"
    a = value(op, a)
    ind = static_int(ind, op, "ind")
    if ind <= 0:
        raise ArgumentError("ind is at least 1", op=op, ind=ind)
    rows, columns = a.shape[:ind], a.shape[ind:]
    n, m = math.prod(rows), math.prod(columns)
    if n != m:
        summary = f"the axes of a before ind have {n} elements, the others {m}: needs as many"
        raise ShapeError(summary, op=op, a=a, ind=ind)
    return ops.reshape(inv(ops.reshape(a, (n, m))), (*columns, *rows))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """The x for which tensordot(a, x, x.ndim) is b; `axes` of a are moved to its end first.

    Shapes: a has the axes of b, then those of x, both with equally many elements.
    Raises: ShapeError.

    >>> a = 2 * jnp.eye(4).reshape(2, 2, 2, 2)
    >>> jnp.linalg.tensorsolve(a, jnp.array([[2.0, 4.0], [6.0, 8.0]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    op = "tensorsolve"
    a, b = promote_dtypes(op, (a, b))
    a, b = value(op, a), value(op, b)
    if axes is not None:
        moved = [axis_in(k, a.ndim, op) for k in listed(axes, op, "axes")]
        a = ops.permute(a, (*(k for k in range(a.ndim) if k not in moved), *moved))
    shape = a.shape[b.ndim :]
    if a.size != math.prod(shape) ** 2 or b.size != math.prod(shape):
        raise ShapeError("the axes of x need as many elements as b", op=op, a=a, b=b)
    x = solve(ops.reshape(a, (b.size, b.size)), ops.reshape(b, (b.size,)))
    return ops.reshape(x, shape)


# --- least squares


def cutoff(op: str, rtol: Any, s: Any, factor: float) -> Any:
    """What singular values s [..., k] have to exceed to count: rtol [...] times the largest, by
    default factor times the precision of their dtype.
    """
    if rtol is None:
        rtol = np.asarray(factor * dtypes.finfo(s.dtype).eps, s.dtype)
    rtol = astype(value(op, rtol), s.dtype)
    return ops.expand_dims(rtol, (rtol.ndim,)) * reduction.max(s, -1, keepdims=True, initial=0)


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverses of matrices: a [..., m, n] -> [..., n, m].

    Singular values up to rtol (or rcond, its older name) times the largest count as 0; by default
    rtol is 10 max(m, n) times the precision of the dtype. hermitian says that a is, and is computed
    by eigenvalues. Derivative: where the rank does not change. Raises: ShapeError, DtypeError,
    ArgumentError.

    >>> jnp.linalg.pinv(jnp.array([[1.0], [2.0]])).round(3)
    Array([[0.2, 0.4]], dtype=float32)
    """
    op = "pinv"
    if rtol is not None and rcond is not None:
        raise ArgumentError("give rtol or rcond, not both", op=op, rtol=rtol, rcond=rcond)
    a = matrices(op, a, square=hermitian)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10 * max(a.shape[-2:]) * float(dtypes.finfo(a.dtype).eps)
    rtol = astype(value(op, rtol), dtypes.real_of(a.dtype))
    return _pinv(a, rtol, hermitian=bool(hermitian))


@PerChoice
def _pinv(a: Any, rtol: Any, *, hermitian: bool) -> Any:
    return _pseudo_inverse(a, rtol, hermitian)


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _pseudo_inverse(a: Any, rtol: Any, hermitian: bool) -> Any:
    if hermitian:
        v, w = eigh(a)
        s, u, vh = ufuncs.abs(w), v, adjoint(v)
        inverse = _inverse_beyond(w, s, rtol)
    else:
        u, s, vh = svd(a, full_matrices=False)
        inverse = _inverse_beyond(s, s, rtol)
    scaled = over_columns(inverse.astype(a.dtype), adjoint(vh)) * adjoint(vh)
    return product(scaled, adjoint(u))


def _inverse_beyond(w: Any, s: Any, rtol: Any) -> Any:
    counts = s > cutoff("pinv", rtol, s, 1)
    return ufuncs.where(counts, 1 / ufuncs.where(counts, w, 1), 0)


# With p = a⁺: dp = -p da p + p pᴴ daᴴ (1 - a p) + (1 - p a) daᴴ pᴴ p. Source: Golub and Pereyra,
# The differentiation of pseudo-inverses, SIAM J. Numer. Anal. 10, 1973.
@_pseudo_inverse.defjvp
def _pinv_tangent(hermitian: bool, primals: Any, tangents: Any) -> Any:
    a, rtol = primals
    p = _pseudo_inverse(a, rtol, hermitian)
    t = tangents[0]
    th, ph = adjoint(t), adjoint(p)
    y = _product_of_three(p, ph, th)
    dp = y - _product_of_three(p, t, p) - _product_of_three(y, a, p)
    y = _product_of_three(th, ph, p)
    return p, dp + y - _product_of_three(p, a, y)


def _product_of_three(x: Any, y: Any, z: Any) -> Any:
    """x y z by way of the smaller of x y and y z: of a long matrix the other would be huge."""
    if x.shape[-2] * y.shape[-1] <= y.shape[-2] * z.shape[-1]:
        return product(product(x, y), z)
    return product(x, product(y, z))


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """(x, residuals, rank, s): the shortest x for which |b - a x| is smallest.

    Singular values s of a up to rcond times the largest count as 0; by default rcond is max(m, n)
    times the precision of the dtype. residuals are the squared lengths of the columns of b - a x;
    with numpy_resid none are given where NumPy gives none, which needs a known rank.
    Shapes: a [m, n], b [m] or [m, k] -> [n] or [n, k], [1] or [k], [], [min(m, n)].
    Derivative: where the rank does not change. Raises: ShapeError, DtypeError.

    >>> points = jnp.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> x, residuals, rank, s = jnp.linalg.lstsq(points, jnp.array([1.0, 3.0, 5.0]))
    >>> x.round(3), rank
    (Array([2., 1.], dtype=float32), Array(2, dtype=int32))
    """
    op = "lstsq"
    a, b = promote_dtypes(op, (a, b))
    a = matrices(op, value(op, a))
    b = astype(value(op, b, 1), a.dtype)
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ShapeError("a is a matrix, b a vector or matrix with as many rows", op=op, a=a, b=b)
    m, n = a.shape
    eps = float(dtypes.finfo(a.dtype).eps)
    if rcond is None:
        rcond = eps * max(m, n)
    elif known_number(rcond, op, "rcond") < 0:
        rcond = eps
    columns = b if b.ndim == 2 else ops.expand_dims(b, (1,))
    limit = np.asarray(rcond, dtypes.real_of(a.dtype))
    x, residuals, rank, s = _lstsq(a, columns, limit)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = residuals[:0]
    return x if b.ndim == 2 else ops.reshape(x, (n,)), residuals, rank, s


@PerChoice
def _lstsq(a: Any, b: Any, rcond: Any) -> Any:
    s = svd(a, full_matrices=False, compute_uv=False)
    x = product(_pseudo_inverse(a, rcond, False), b)
    rank = reduction.sum(s > cutoff("lstsq", rcond, s, 1), -1, dtypes.default_int())
    residuals = reduction.sum(reduction.squared_size(b - product(a, x)), 0)
    return x, residuals, rank, s


__all__ = [
    "SlogdetResult",
    "cutoff",
    "det",
    "inv",
    "lstsq",
    "matrix_power",
    "pinv",
    "slogdet",
    "solve",
    "solve_general",
    "tensorinv",
    "tensorsolve",
]
