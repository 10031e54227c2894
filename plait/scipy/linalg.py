"""`plait.scipy.linalg`: factorisations and equations, in SciPy's forms.

Names and signatures are those of JAX's `jax.scipy.linalg`; arguments of SciPy's that concern its
memory and its checks (overwrite_a, check_finite, ...) are taken and change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of, known_number, pair, static_int
from plait.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError, several
from plait.lax import linalg as lax_linalg
from plait.numpy import equations, factors
from plait.numpy.factors import matrices
from plait.numpy.promotion import promote_dtypes, value
from plait.ops.eigen import eigh as eigh_of
from plait.ops.householder import householder_product, ormqr
from plait.ops.lu import lu as lu_of
from plait.ops.lu import lu_pivots_to_permutation, solve_with_lu, unpacked
from plait.ops.matrix import adjoint, matmul
from plait.ops.qr import geqrf, qr_p
from plait.ops.schur import hessenberg as hessenberg_of
from plait.ops.schur import schur as schur_of
from plait.ops.svd import SvdAlgorithm
from plait.ops.svd import svd as svd_of
from plait.ops.triangular import triangular_solve
from plait.regions.custom import custom_jvp, stop_gradient
from plait.regions.linear_solve import custom_linear_solve
from plait.scipy.matrix_functions import (
    expm,
    expm_frechet,
    funm,
    rsf2csf,
    solve_sylvester,
    sqrtm,
)
from plait.scipy.special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
)
from plait.transforms.choices import PerChoice

# --- Cholesky


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The upper triangular R of which a = Rᴴ R, or with `lower` the L of which a = L Lᴴ.

    Shapes: a [..., n, n], Hermitian and positive definite, else the result is NaN. Its upper
    triangle is what is looked at, with `lower` the lower one. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    a = matrices("cholesky", a, square=True)
    half = factors.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return half if lower else adjoint(half)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """(cholesky(a, lower), lower), for cho_solve.

    Shapes: a [..., n, n] -> [..., n, n]. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> factor = linalg.cho_factor(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
    >>> linalg.cho_solve(factor, jnp.array([4.0, 4.0])).round(3)
    Array([1., 2.], dtype=float32)
    """
    return cholesky(a, lower=lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The solution of a x = b, given cho_factor(a).

    Shapes: a [..., n, n], b [n] or [..., n, k]. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> factor = linalg.cho_factor(jnp.array([[4.0, 0.0], [0.0, 2.0]]), lower=True)
    >>> linalg.cho_solve(factor, jnp.array([4.0, 4.0])).round(3)
    Array([1., 2.], dtype=float32)
    """
    c, lower = pair(c_and_lower, "cho_solve", "c_and_lower")
    c, b, vector = _equation("cho_solve", c, b)
    x = _cho_solve(c, b, lower=bool(lower))
    return x[..., 0] if vector else x


@PerChoice
def _cho_solve(c: Any, b: Any, *, lower: bool) -> Any:
    how = {"left_side": True, "lower": lower}
    y = triangular_solve(c, b, transpose_a=not lower, conjugate_a=not lower, **how)
    return triangular_solve(c, y, transpose_a=lower, conjugate_a=lower, **how)


def _equation(op: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """The operands of an equation in one dtype, with b as columns; and whether it was a vector."""
    a, b = promote_dtypes(op, (a, b))
    a = matrices(op, a, square=True)
    b = value(op, b, 1).astype(a.dtype)
    vector = b.ndim == 1
    b = b[:, None] if vector else b
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError("b must have as many rows as a", op=op, a=a, b=b)
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return a, b, vector


# --- determinants, inverses, equations


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinants of square matrices: a [..., n, n] -> [...]; see numpy.linalg.det.

    Derivative: also where a is singular. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    return equations.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of square matrices: a [..., n, n]. Infinities and NaN if a is singular.

    Derivative: -a⁻¹ da a⁻¹. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> linalg.inv(jnp.array([[2.0, 1.0], [1.0, 1.0]])).round(3)
    Array([[ 1., -1.],
           [-1.,  2.]], dtype=float32)
    """
    return equations.inv(a)


_ASSUMED = ("gen", "sym", "her", "pos")


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """The solution x of a x = b for square matrices a.

    assume_a says what a is: "pos", Hermitian and positive definite, is solved by Cholesky, and
    `lower` then says which triangle is looked at; "gen", "sym" and "her" by LU.
    Shapes: a [..., n, n], b [n] or [..., n, k]. Derivative: dx = a⁻¹ (db - da x).
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> linalg.solve(jnp.array([[4.0, 2.0], [2.0, 5.0]]), jnp.array([8.0, 12.0]), assume_a="pos")
    Array([1., 2.], dtype=float32)
    """
    if assume_a not in _ASSUMED:
        fix = ", ".join(map(repr, _ASSUMED))
        raise ArgumentError("a can be assumed to be", op="solve", assume_a=assume_a, fix=fix)
    if assume_a != "pos":
        return equations.solve(a, b)
    a, b, vector = _equation("solve", a, b)
    x = _solve_positive(a, b, lower=bool(lower))
    return x[..., 0] if vector else x


@PerChoice
def _solve_positive(a: Any, b: Any, *, lower: bool) -> Any:
    fixed = stop_gradient(a if lower else adjoint(a))
    c = lax_linalg.cholesky(fixed, symmetrize_input=False)

    def find(_: Any, b: Any) -> Any:
        return _cho_solve(c, b, lower=True)

    def find_transposed(_: Any, b: Any) -> Any:
        # aᵀ is the conjugate of the Hermitian a.
        return jnp.conj(_cho_solve(c, jnp.conj(b), lower=True))

    return custom_linear_solve(lambda x: matmul(a, x), b, find, find_transposed)


_TRANS = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """The solution of a x = b (trans 0 or "N"), aᵀ x = b (1, "T") or aᴴ x = b (2, "C") for
    triangular matrices a, of which the upper (or lower) triangle is looked at.

    Shapes: a [..., n, n], b [n] or [..., n, k]. Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
    >>> linalg.solve_triangular(a, jnp.array([2.0, 9.0]), lower=True)
    Array([1., 2.], dtype=float32)
    >>> linalg.solve_triangular(a, jnp.array([4.0, 8.0]), trans="T", lower=True)
    Array([1., 2.], dtype=float32)
    """
    op = "solve_triangular"
    if not is_one_of(trans, _TRANS):
        fix = '0, 1, 2, "N", "T" or "C"'
        raise ArgumentError("there is no such trans", op=op, trans=trans, fix=fix)
    how = _TRANS[trans]
    a, b, vector = _equation(op, a, b)
    x = triangular_solve(
        a,
        b,
        left_side=True,
        lower=bool(lower),
        transpose_a=how > 0,
        conjugate_a=how == 2,
        unit_diagonal=bool(unit_diagonal),
    )
    return x[..., 0] if vector else x


# --- LU


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """(p, l, u), matrices of which a is p l u: p exchanges rows, l is lower triangular with ones on
    its diagonal, u upper triangular; with permute_l (p l, u).

    Shapes: a [..., m, n] -> [..., m, m], [..., m, k], [..., k, n], k = min(m, n). p is real.
    Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> p, l, u = linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> l, u
    (Array([[1.  , 0.  ],
           [0.25, 1.  ]], dtype=float32), Array([[4., 4.],
           [0., 1.]], dtype=float32))
    >>> p @ l @ u
    Array([[1., 2.],
           [4., 4.]], dtype=float32)
    """
    return _lu(matrices("lu", a), permute_l=bool(permute_l))


@PerChoice
def _lu(a: Any, *, permute_l: bool) -> Any:
    packed, _, order = lu_of(a)
    l, u = unpacked(packed)  # noqa: E741
    real = dtypes.real_of(a.dtype)
    p = (np.arange(a.shape[-2])[:, None] == order[..., None, :]).astype(real)
    return (matmul(p, l), u) if permute_l else (p, l, u)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """(lu, piv), for lu_solve: L and U in one array, and the rows that were exchanged.

    Shapes: a [..., m, n] -> [..., m, n], [..., min(m, n)]; piv is int32, row k was exchanged with
    piv[k]. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> linalg.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    (Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32), Array([1, 1], dtype=int32))
    """
    return _lu_factor(matrices("lu_factor", a))


@PerChoice
def _lu_factor(a: Any) -> Any:
    return lu_of(a)[:2]


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of a x = b (trans 0), aᵀ x = b (1) or aᴴ x = b (2), given lu_factor(a).

    Shapes: a [..., n, n], b [n] or [..., n, k]. Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> factors = linalg.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> linalg.lu_solve(factors, jnp.array([5.0, 12.0]))
    Array([1., 2.], dtype=float32)
    """
    packed, pivots = pair(lu_and_piv, "lu_solve", "lu_and_piv")
    if trans not in (0, 1, 2):
        raise ArgumentError("trans is 0, 1 or 2", op="lu_solve", trans=trans)
    packed, b, vector = _equation("lu_solve", packed, b)
    pivots = jnp.broadcast_to(value("lu_solve", pivots), packed.shape[:-1])
    x = _lu_solve(packed, pivots, b, trans=trans)
    return x[..., 0] if vector else x


@PerChoice
def _lu_solve(packed: Any, pivots: Any, b: Any, *, trans: int) -> Any:
    order = lu_pivots_to_permutation(pivots, packed.shape[-1])
    return solve_with_lu(packed, order, b, trans)


# --- QR


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """(q, r), a unitary and an upper triangular matrix of which a is the product; (r,) with mode
    "r". With pivoting one more result, p: a[:, p] is q r, the diagonal of r not growing.

    mode: "full", q [..., m, m] and r [..., m, n]; "economic", q [..., m, k], r [..., k, n].
    Shapes: a [..., m, n], k = min(m, n). Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> a = jnp.array([[3.0, 0.0], [4.0, 5.0]])
    >>> q, r = linalg.qr(a)
    >>> jnp.abs(r).round(3), jnp.allclose(q @ r, a, atol=1e-5)
    (Array([[5., 4.],
           [0., 3.]], dtype=float32), Array(True, dtype=bool))
    >>> q, r, p = linalg.qr(a.at[:, 1].multiply(10), pivoting=True)
    >>> p
    Array([1, 0], dtype=int32)
    """
    if mode not in ("full", "economic", "r"):
        fix = '"full", "economic" or "r"'
        raise ArgumentError("there is no such mode", op="qr", mode=mode, fix=fix)
    results = _qr(matrices("qr", a), full=mode != "economic", pivoting=bool(pivoting))
    return results[1:] if mode == "r" else results


@PerChoice
def _qr(a: Any, *, full: bool, pivoting: bool) -> Any:
    return qr_p.bind(a, pivoting=pivoting, full_matrices=full)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """(c q, r) for a = q r, or (q c, r) with mode "left"; with pivoting one more result, see qr.

    Shapes: a [..., m, n], q [..., m, k] with k = min(m, n); c [..., p, m], or [..., k, p] on the
    left, or a vector. conjugate: conj(q) in place of q. Raises: ShapeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> a, c = jnp.array([[3.0, 0.0], [4.0, 5.0]]), jnp.array([[1.0, 2.0]])
    >>> y, r = linalg.qr_multiply(a, c)
    >>> (y @ r).round(3), c @ a
    (Array([[11., 10.]], dtype=float32), Array([[11., 10.]], dtype=float32))
    """
    op = "qr_multiply"
    if mode not in ("left", "right"):
        raise ArgumentError('mode is "left" or "right"', op=op, mode=mode)
    a, c = promote_dtypes(op, (a, c))
    a = matrices(op, a)
    c = value(op, c, 1).astype(a.dtype)
    if not c.ndim:
        raise ShapeError("c is a matrix or a vector", op=op, a=a, c=c)
    vector = c.ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None, :]
    m, n = a.shape[-2:]
    k = min(m, n)
    if c.shape[-2 if mode == "left" else -1] != (k if mode == "left" else m):
        summary = (
            f"c needs {several(k, 'row')}, as many as q has columns"
            if mode == "left"
            else f"c needs {several(m, 'column')}, as many as a has rows"
        )
        raise ShapeError(summary, op=op, a=a, c=c, mode=mode)
    batch = jnp.broadcast_shapes(a.shape[:-2], c.shape[:-2])
    a, c = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, c))
    choices = {"pivoting": bool(pivoting), "conjugate": bool(conjugate)}
    y, *rest = _qr_multiply(a, c, left=mode == "left", **choices)
    return (y[..., 0] if vector and mode == "left" else y[..., 0, :] if vector else y), *rest


@PerChoice
def _qr_multiply(a: Any, c: Any, *, left: bool, pivoting: bool, conjugate: bool) -> Any:
    k = min(a.shape[-2:])
    if pivoting:
        q, r, *order = qr_p.bind(a, pivoting=True, full_matrices=False)
        q = jnp.conj(q) if conjugate else q
        return (matmul(q, c) if left else matmul(c, q)), r, *order
    packed, taus = geqrf(a)
    if left:
        c = jnp.pad(c, [(0, 0)] * (c.ndim - 2) + [(0, a.shape[-2] - k), (0, 0)])
    c = jnp.conj(c) if conjugate else c
    y = ormqr(packed[..., :k], taus, c, left=left)
    y = jnp.conj(y) if conjugate else y
    return (y if left else y[..., :k]), jnp.triu(packed[..., :k, :])


# --- eigenvalues, singular values and related forms


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """(w, v): ascending eigenvalues and, in columns, eigenvectors of Hermitian matrices; w alone
    with eigvals_only. Of a, and of b, one triangle is looked at.

    With a positive definite b: a v = w b v (type 1), a b v = w v (2) or b a v = w v (3).
    Shapes: a and b [..., n, n]. Raises: ShapeError, DtypeError; ArgumentError for `eigvals`.

    >>> from plait.scipy import linalg
    >>> a, b = jnp.array([[2.0, 1.0], [1.0, 2.0]]), 2 * jnp.eye(2)
    >>> w, v = linalg.eigh(a, b)
    >>> w.round(3), jnp.allclose(a @ v, b @ v * w, atol=1e-5)
    (Array([0.5, 1.5], dtype=float32), Array(True, dtype=bool))
    """
    op = "eigh"
    if eigvals is not None:
        fix = "leave it out, and slice the results"
        raise UnsupportedError("computes all eigenvalues", op=op, eigvals=eigvals, fix=fix)
    if type not in (1, 2, 3):
        raise ArgumentError("type is 1, 2 or 3", op=op, type=type)
    if b is None:
        w, v = _eigh(matrices(op, a, square=True), lower=bool(lower))
    else:
        a, b = promote_dtypes(op, (a, b))
        a, b = matrices(op, a, square=True), matrices(op, b, 1, square=True)
        batch = jnp.broadcast_shapes(a.shape, b.shape)
        a, b = (jnp.broadcast_to(x, batch) for x in (a, b))
        w, v = _general_eigh(a, b, lower=bool(lower), type=type)
    return w if eigvals_only else (w, v)


@PerChoice
def _eigh(a: Any, *, lower: bool) -> Any:
    v, w = eigh_of(a, lower=lower, symmetrize_input=False)
    return w, v


# b = L Lᴴ turns the equations into ones of the Hermitian L⁻¹ a L⁻ᴴ (type 1) or Lᴴ a L.
@PerChoice
def _general_eigh(a: Any, b: Any, *, lower: bool, type: int) -> Any:
    half = lax_linalg.cholesky(b if lower else adjoint(b), symmetrize_input=False)
    low = jnp.tril(a) if lower else adjoint(jnp.triu(a))
    a = low + adjoint(jnp.tril(low, -1))
    if type == 1:
        c = triangular_solve(half, a, left_side=True, lower=True)
        c = triangular_solve(half, c, lower=True, transpose_a=True, conjugate_a=True)
    else:
        c = matmul(adjoint(half), matmul(a, half))
    v, w = eigh_of(c)
    if type == 3:
        return w, matmul(half, v)
    how = {"left_side": True, "lower": True, "transpose_a": True, "conjugate_a": True}
    return w, triangular_solve(half, v, **how)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """(w, v): ascending eigenvalues and eigenvectors of the symmetric matrix with diagonal d and e
    beside it; w alone with eigvals_only.

    select: "a", all; "i", those with numbers from select_range[0] to select_range[1]. tol and key
    change nothing. Shapes: d [n], e [n - 1], real. Cost: that of eigh.
    Raises: ShapeError, DtypeError, UnsupportedError for select="v".

    >>> from plait.scipy import linalg
    >>> d, e = jnp.array([2.0, 2.0, 2.0]), jnp.array([1.0, 1.0])
    >>> linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2)).round(3)
    Array([2.   , 3.414], dtype=float32)
    """
    op = "eigh_tridiagonal"
    d, e = promote_dtypes(op, (d, e))
    d, e = value(op, d), value(op, e, 1)
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise ShapeError("e has one element less than d", op=op, d=d, e=e)
    if d.dtype in dtypes.COMPLEX:
        raise DtypeError("the diagonals are real", op=op, d=d, e=e)
    if select not in ("a", "i"):
        fix = '"a", or "i" with select_range'
        if select == "v":
            summary = "how many eigenvalues lie in a range is not known before they are"
            fix = 'all of them with "a", then w[(w > low) & (w <= high)]'
            raise UnsupportedError(summary, op=op, select=select, fix=fix)
        raise ArgumentError("there is no such select", op=op, select=select, fix=fix)
    w, v = _eigh(jnp.diag(d) + jnp.diag(e, -1), lower=True)
    if select == "i":
        if select_range is None or not 0 <= select_range[0] <= select_range[1] < d.shape[0]:
            fix = f"0 <= first <= last <= {d.shape[0] - 1}"
            summary = "select_range is (first, last), numbers of eigenvalues"
            raise ArgumentError(summary, op=op, select_range=select_range, fix=fix)
        first, last = int(select_range[0]), int(select_range[1])
        w, v = w[first : last + 1], v[:, first : last + 1]
    return w if eigvals_only else (w, v)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """(u, s, vh): matrices a [..., m, n] as u diag(s) vh; s alone without compute_uv.

    lapack_driver: "gesdd" or "gesvd". See numpy.linalg.svd for shapes.
    Raises: ShapeError, DtypeError, ArgumentError for other drivers.

    >>> from plait.scipy import linalg
    >>> linalg.svd(jnp.array([[0.0, 3.0], [2.0, 0.0]]), compute_uv=False).round(3)
    Array([3., 2.], dtype=float32)
    """
    drivers = {"gesdd": SvdAlgorithm.DEFAULT, "gesvd": SvdAlgorithm.QR}
    if not is_one_of(lapack_driver, drivers):
        summary = 'lapack_driver is "gesdd" or "gesvd"'
        raise ArgumentError(summary, op="svd", lapack_driver=lapack_driver)
    choices = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}
    return _svd(matrices("svd", a), algorithm=drivers[lapack_driver], **choices)


@PerChoice
def _svd(a: Any, *, algorithm: SvdAlgorithm, full_matrices: bool, compute_uv: bool) -> Any:
    return svd_of(a, full_matrices=full_matrices, compute_uv=compute_uv, algorithm=algorithm)


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """(t, z): square matrices as z t zᴴ, z unitary, t upper triangular, or for real a nearly so:
    it has blocks of two rows for pairs of complex eigenvalues. output "complex" avoids them.

    Shapes: a [..., n, n]. On CPU only. Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> a = jnp.array([[1.0, 2.0], [-2.0, 1.0]])
    >>> t, z = linalg.schur(a, output="complex")
    >>> jnp.sort(jnp.diagonal(t).imag).round(3), jnp.allclose(z @ t @ z.conj().T, a, atol=1e-5)
    (Array([-2.,  2.], dtype=float32), Array(True, dtype=bool))
    """
    if output not in ("real", "complex"):
        raise ArgumentError('output is "real" or "complex"', op="schur", output=output)
    a = matrices("schur", a, square=True)
    return _schur(a.astype(dtypes.complex_of(a.dtype)) if output == "complex" else a)


@PerChoice
def _schur(a: Any) -> Any:
    return schur_of(a)


def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """H, with zeros below the diagonal next to the main one, of which a = q H qᴴ, q unitary; with
    calc_q (H, q). Shapes: a [..., n, n]. On CPU only. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> a = jnp.arange(9.0).reshape(3, 3)
    >>> h, q = linalg.hessenberg(a, calc_q=True)
    >>> jnp.abs(h[2, 0]).round(3), jnp.allclose(q @ h @ q.T, a, atol=1e-4)
    (Array(0., dtype=float32), Array(True, dtype=bool))
    """
    return _hessenberg(matrices("hessenberg", a, square=True), calc_q=bool(calc_q))


@PerChoice
def _hessenberg(a: Any, *, calc_q: bool) -> Any:
    packed, taus = hessenberg_of(a)
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    n = a.shape[-1]
    if n < 2:
        return h, jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    rest = householder_product(packed[..., 1:, :-1], taus)
    none = [(0, 0)] * (a.ndim - 2)
    q = jnp.pad(rest, [*none, (1, 0), (1, 0)])
    return h, q.at[..., 0, 0].set(1)


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """(u, p): matrices as u p (side "right") or p u ("left"), u with orthonormal columns (or rows),
    p Hermitian and not negative.

    method: "qdwh", an iteration (eps and max_iterations are its own), or "svd", which is also what
    becomes of matrices that the iteration does not take.
    Shapes: a [..., m, n] -> [..., m, n], and [..., n, n] or [..., m, m].
    Derivative: where a has full rank. Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> a = jnp.array([[1.0, -1.0], [1.0, 1.0]])
    >>> u, p = linalg.polar(a)
    >>> u.round(3), jnp.allclose(u @ p, a, atol=1e-5)
    (Array([[ 0.707, -0.707],
           [ 0.707,  0.707]], dtype=float32), Array(True, dtype=bool))
    """
    op = "polar"
    if side not in ("left", "right"):
        raise ArgumentError('side is "left" or "right"', op=op, side=side)
    if method not in ("qdwh", "svd"):
        raise ArgumentError('method is "qdwh" or "svd"', op=op, method=method)
    a = matrices(op, a)
    if side == "left":
        a = adjoint(a)
    m, n = a.shape[-2:]
    iterates = method == "qdwh" and a.ndim == 2 and m >= n > 0
    if eps is not None:
        eps = float(known_number(eps, op, "eps"))
    if max_iterations is not None:
        max_iterations = static_int(max_iterations, op, "max_iterations")
    u, p = _polar(a, how=("qdwh", eps, max_iterations) if iterates else ("svd", None, None))
    return (adjoint(u), p) if side == "left" else (u, p)


@PerChoice
def _polar(a: Any, *, how: tuple[str, Any, Any]) -> Any:
    return _unitary_and_rest(a, how)


def _unitary_and_rest(a: Any, how: tuple[str, Any, Any]) -> Any:
    @custom_jvp
    def parts(a: Any) -> Any:
        if how[0] == "qdwh":
            u, p, _, _ = lax_linalg.qdwh(a, eps=how[1], max_iterations=how[2])
            return u, p
        u, s, vh = svd_of(a, full_matrices=False)
        v = adjoint(vh)
        return matmul(u, vh), matmul(v * s[..., None, :].astype(v.dtype), vh)

    # a = u p and W = uᴴ du, skew-Hermitian: uᴴ da = W p + dp, so W p + p W = uᴴ da - daᴴ u, which
    # is divided by sums of eigenvalues of p in the basis of its eigenvectors.
    @parts.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (a,), (t,) = primals, tangents
        u, p = parts(a)
        y = matmul(adjoint(u), t)
        v, w = eigh_of(p)
        sums = w[..., :, None] + w[..., None, :]
        sums = jnp.where(sums == 0, 1, sums)
        skew = matmul(adjoint(v), matmul(y - adjoint(y), v)) / sums.astype(a.dtype)
        skew = matmul(v, matmul(skew, adjoint(v)))
        du = matmul(u, skew)
        if a.shape[-2] > a.shape[-1]:
            outside = t - matmul(u, y)
            du = du + adjoint(equations.solve_general(p, adjoint(outside)))
        return (u, p), (du, matmul(adjoint(u), t - matmul(du, p)))

    return parts(a)


__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
