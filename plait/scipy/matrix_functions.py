"""Functions of matrices: exp, square roots, any function; and the equation A X + X B = C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import known_number
from plait.errors import ArgumentError, ShapeError, UnsupportedError
from plait.numpy.equations import solve_general
from plait.numpy.factors import matrices
from plait.numpy.promotion import promote_dtypes, static_int, value
from plait.ops.eigen import eig
from plait.ops.matrix import adjoint, matmul, strict_triu, swap
from plait.ops.schur import schur
from plait.ops.triangular import triangular_solve
from plait.regions.cond import cond
from plait.regions.custom import custom_jvp
from plait.regions.linear_solve import custom_linear_solve
from plait.regions.loops import fori_loop, scan
from plait.transforms.choices import PerChoice
from plait.transforms.grad import jvp

# Coefficients of the diagonal Padé approximants of exp, and the norm up to which they are exact.
# Source: Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J.
# Matrix Anal. Appl. 26, 2005, tables 2.3 and 2.4 (here for single precision: order 7).
_PADE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_PADE_13 = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_UP_TO = {7: 3.925724783138660, 13: 5.371920351148152}


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponential of matrices: A [..., n, n], by scaling, a Padé approximant and squaring.

    NaN where more than max_squarings squarings were needed. upper_triangular says that A is.
    Derivative: through the computation. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> linalg.expm(jnp.array([[0.0, 1.0], [1.0, 0.0]])).round(3)
    Array([[1.543, 1.175],
           [1.175, 1.543]], dtype=float32)
    """
    a = matrices("expm", A, square=True)
    squarings = static_int(max_squarings, "expm", "max_squarings")
    return _expm(a, upper_triangular=bool(upper_triangular), squarings=squarings)


@PerChoice
def _expm(a: Any, *, upper_triangular: bool, squarings: int) -> Any:
    if not a.size:
        return a
    order = 7 if a.dtype.itemsize // (2 if a.dtype in dtypes.COMPLEX else 1) == 4 else 13
    norm = jnp.max(jnp.sum(jnp.abs(a), -2), -1)
    safe = jnp.where(norm > 0, norm, 1)
    needed = jnp.maximum(0, jnp.ceil(jnp.log2(safe / _UP_TO[order])))
    wanted = jnp.where(jnp.isfinite(norm), needed, 0)
    times = wanted.astype(np.int32)
    x = a * jnp.exp2(-wanted)[..., None, None].astype(a.dtype)
    even, odd = _pade(x, _PADE_7 if order == 7 else _PADE_13)
    top, bottom = even + odd, even - odd
    if upper_triangular:
        y = triangular_solve(bottom, top, left_side=True)
    else:
        y = solve_general(bottom, top)

    def square(y: Any, k: Any) -> Any:
        def once(y: Any) -> Any:
            return jnp.where((k < times)[..., None, None], matmul(y, y), y)

        return cond(jnp.any(k < times), once, lambda y: y, y), None

    y, _ = scan(square, y, jnp.arange(squarings))
    return jnp.where((times > squarings)[..., None, None], np.nan, y)


def _pade(x: Any, c: tuple[float, ...]) -> tuple[Any, Any]:
    """The even and the odd part of the numerator: exp(x) is (even + odd) / (even - odd)."""
    one = jnp.eye(x.shape[-1], dtype=x.dtype)
    square = matmul(x, x)
    powers = [one, square]
    while len(powers) <= min(3, (len(c) - 1) // 2):
        powers.append(matmul(powers[-1], square))

    def polynomial(coefficients: tuple[float, ...]) -> Any:
        low = coefficients[: len(powers)]
        total = sum(f * p for f, p in zip(low, powers, strict=False))
        high = coefficients[len(powers) :]
        if high:
            total = total + matmul(
                powers[-1], sum(f * p for f, p in zip(high, powers[1:], strict=False))
            )
        return total

    return polynomial(c[0::2]), matmul(x, polynomial(c[1::2]))


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """(expm(A), its derivative in the direction E); the derivative alone without compute_expm.

    Shapes: A and E [..., n, n]. method changes nothing. Raises: ShapeError, DtypeError.

    >>> from plait.scipy import linalg
    >>> A, E = jnp.zeros((2, 2)), jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> linalg.expm_frechet(A, E, compute_expm=False).round(3)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    a, e = promote_dtypes("expm_frechet", (A, E))
    a, e = matrices("expm_frechet", a, square=True), matrices("expm_frechet", e, 1, square=True)
    if a.shape != e.shape:
        raise ShapeError("A and E have different shapes", op="expm_frechet", A=a, E=e)
    y, t = jvp(expm, (a,), (e,))
    return (y, t) if compute_expm else t


# --- square roots and other functions, from the Schur form


def _complex_schur(a: Any) -> tuple[Any, Any]:
    # From the real form of a real matrix, so that real eigenvalues are real without a rounding.
    t, q = schur(a)
    return (t, q) if a.dtype in dtypes.COMPLEX else _to_complex_form(*_as_complex(t, q))


def _as_complex(*xs: Any) -> list[Any]:
    return [x.astype(dtypes.complex_of(x.dtype)) for x in xs]


def _columns(t: Any, diagonal: Any, shift: Any, right: Any) -> Any:
    """The upper triangular F with a given diagonal of which column j above it solves
    (M(F) + shift_j) f = right(F, j), M being F or T: column by column, each a triangular equation.
    """
    n = t.shape[-1]
    places = np.arange(n)

    def column(j: Any, f: Any) -> Any:
        above = places < j
        m, r = shift(f, j), right(f, j)
        # Rows from j on belong to no equation: ones on their diagonal keep it solvable.
        inside = above[:, None] & above[None, :]
        m = jnp.where(inside, m, jnp.eye(n, dtype=t.dtype))
        x = triangular_solve(m, jnp.where(above, r, 0)[:, None], left_side=True)[:, 0]
        return jnp.where((places == j)[None, :] & above[:, None], x[:, None], f)

    return fori_loop(0, n, column, diagonal * jnp.eye(n, dtype=t.dtype))


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root S of a square matrix, S S = A; complex. On CPU only.

    Shapes: A [n, n]; use vmap for many. Derivative: the solution of S dS + dS S = dA.
    Raises: ShapeError, DtypeError, ArgumentError for another blocksize than 1.

    >>> from plait.scipy import linalg
    >>> linalg.sqrtm(jnp.array([[5.0, 4.0], [4.0, 5.0]])).real.round(3)
    Array([[2., 1.],
           [1., 2.]], dtype=float32)
    """
    if static_int(blocksize, "sqrtm", "blocksize") > 1:
        raise UnsupportedError(
            "there are no blocks", op="sqrtm", blocksize=blocksize, fix="blocksize=1"
        )
    return _sqrtm(_one_matrix("sqrtm", A))


def _one_matrix(op: str, x: Any) -> Any:
    x = matrices(op, x, square=True)
    if x.ndim != 2:
        raise ShapeError("takes one matrix", op=op, A=x, fix="use vmap for many")
    return x


@PerChoice
def _sqrtm(a: Any) -> Any:
    return _root(a)


@custom_jvp
def _root(a: Any) -> Any:
    if not a.size:
        return a.astype(dtypes.complex_of(a.dtype))
    t, q = _complex_schur(a)
    roots = jnp.sqrt(jnp.diagonal(t))
    eye = jnp.eye(t.shape[-1], dtype=t.dtype)

    # R R = T: column j above the diagonal is (R + r_j) r = t.
    def shift(f: Any, j: Any) -> Any:
        sums = roots + roots[j]
        # 0 r = 0: any r will do.
        return strict_triu(f) + jnp.where((sums == 0) & (t[:, j] == 0), 1, sums) * eye

    r = _columns(t, roots, shift, lambda f, j: t[:, j])
    return matmul(matmul(q, r), adjoint(q))


@_root.defjvp
def _root_tangent(primals: Any, tangents: Any) -> Any:
    s = _root(primals[0])
    return s, _sylvester(s, s, tangents[0].astype(s.dtype), method="schur", tol=0.0)


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a square matrix, by that of its eigenvalues (Schur and Parlett); complex, and
    on CPU only. With disp=False also an estimate of the relative error.

    func takes an array of eigenvalues. Repeated eigenvalues make the result inexact.
    Shapes: A [n, n]; use vmap for many. Derivative: none. Raises: ShapeError, DtypeError.
    Source: Golub and Van Loan, Matrix Computations, algorithm 11.1.1.

    >>> from plait.scipy import linalg
    >>> linalg.funm(jnp.array([[2.0, 1.0], [1.0, 2.0]]), lambda x: x * x).real.round(3)
    Array([[5., 4.],
           [4., 5.]], dtype=float32)
    """
    a = _one_matrix("funm", A)
    t, q = _complex_schur(a)
    d = jnp.diagonal(t)
    values = jnp.asarray(func(d)).astype(t.dtype)
    eye = jnp.eye(t.shape[-1], dtype=t.dtype)

    # F T = T F: column j above the diagonal is (T - t_j) f = F t - f_j t.
    def shift(f: Any, j: Any) -> Any:
        gaps = d - d[j]
        return strict_triu(t) + jnp.where(gaps == 0, -1, gaps) * eye

    def right(f: Any, j: Any) -> Any:
        column = jnp.where(np.arange(t.shape[-1]) < j, t[:, j], 0)
        return matmul(f, column[:, None])[:, 0] - values[j] * column

    f = _columns(t, values, shift, right)
    result = matmul(matmul(q, f), adjoint(q))
    if disp:
        return result
    far = np.tri(t.shape[-1], dtype=bool)
    gaps = jnp.where(far, np.inf, jnp.abs(d[:, None] - d[None, :]))
    least = jnp.min(gaps, initial=np.inf)
    least = jnp.where(least == 0, dtypes.finfo(t.dtype).eps, jnp.minimum(least, 1))
    size = jnp.linalg.norm(strict_triu(t), 1)
    precision = float(dtypes.finfo(t.dtype).eps)
    error = jnp.minimum(1.0, jnp.maximum(precision, precision / least * size))
    return result, jnp.where(jnp.isfinite(error), error, np.inf)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form (T, Z) from a real one: T becomes upper triangular, Z T Zᴴ stays.

    Shapes: T and Z [..., n, n]; the axes before the last two broadcast. Raises: ShapeError,
    DtypeError.

    >>> from plait.scipy import linalg
    >>> t, z = linalg.rsf2csf(jnp.array([[1.0, 2.0], [-2.0, 1.0]]), jnp.eye(2))
    >>> jnp.sort(jnp.diagonal(t).imag).round(3), jnp.abs(t[1, 0])
    (Array([-2.,  2.], dtype=float32), Array(0., dtype=float32))
    """
    op = "rsf2csf"
    t, z = promote_dtypes(op, (T, Z))
    t, z = matrices(op, t, square=True), matrices(op, z, 1, square=True)
    if t.shape[-2:] != z.shape[-2:]:
        raise ShapeError("T and Z have different sizes", op=op, T=t, Z=z)
    dtype = dtypes.complex_of(t.dtype)
    t, z = jnp.broadcast_arrays(t.astype(dtype), z.astype(dtype))
    return _to_complex_form(t, z)


@PerChoice
def _to_complex_form(t: Any, z: Any) -> Any:
    n = t.shape[-1]

    # A rotation of rows and columns m - 1 and m makes element (m, m - 1) zero.
    def rotate(k: Any, state: Any) -> Any:
        t, z = state
        m = n - 1 - k
        a, b, c, d = (t[..., m - 1, m - 1], t[..., m - 1, m], t[..., m, m - 1], t[..., m, m])
        eigenvalue = (a + d) / 2 + jnp.sqrt(((a - d) / 2) ** 2 + b * c)
        mu = eigenvalue - d
        size = jnp.sqrt(jnp.abs(mu) ** 2 + jnp.abs(c) ** 2)
        done = c == 0
        size = jnp.where(done, 1, size)
        x, y = jnp.where(done, 1, mu / size), jnp.where(done, 0, c / size)
        rows = [[jnp.conj(x), y], [-y, x]]
        g = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
        pair = jnp.stack([m - 1, m])
        t = t.at[..., pair, :].set(matmul(g, t[..., pair, :]))
        t = t.at[..., :, pair].set(matmul(t[..., :, pair], adjoint(g)))
        z = z.at[..., :, pair].set(matmul(z[..., :, pair], adjoint(g)))
        return t, z

    t, z = fori_loop(0, max(n - 1, 0), rotate, (t, z))
    return jnp.triu(t), z


# --- Sylvester's equation


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """The X for which A X + X B = C. On CPU only.

    NaN where the sum of an eigenvalue of A and one of B is smaller than tol, for there may be no
    solution. method: "schur", or "eigen", which is faster and less exact.
    Shapes: A [..., m, m], B [..., n, n], C [..., m, n]; the axes before the last two broadcast.
    Derivative: A dX + dX B = dC - dA X - X dB. Raises: ShapeError, DtypeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> A, B = jnp.array([[1.0, 0.0], [0.0, 3.0]]), jnp.eye(2)
    >>> linalg.solve_sylvester(A, B, jnp.array([[2.0, 4.0], [4.0, 8.0]])).round(3)
    Array([[1., 2.],
           [1., 2.]], dtype=float32)
    """
    op = "solve_sylvester"
    if method not in ("schur", "eigen"):
        raise ArgumentError(
            "there is no such method", op=op, method=method, fix='"schur" or "eigen"'
        )
    a, b, c = promote_dtypes(op, (A, B, C))
    a, b = matrices(op, a, square=True), matrices(op, b, 1, square=True)
    c = value(op, c, 2).astype(a.dtype)
    if c.ndim < 2 or c.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError("C needs the rows of A and the columns of B", op=op, A=a, B=b, C=c)
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b, c))
    return _sylvester(a, b, c, method=method, tol=float(known_number(tol, op, "tol")))


@PerChoice
def _sylvester(a: Any, b: Any, c: Any, *, method: str, tol: float) -> Any:
    find = _by_schur if method == "schur" else _by_eigenvalues
    return custom_linear_solve(
        lambda x: matmul(a, x) + matmul(x, b),
        c,
        lambda _, c: find(a, b, c, tol),
        lambda _, c: find(swap(a), swap(b), c, tol),
    )


def _like(x: Any, c: Any) -> Any:
    return x if c.dtype in dtypes.COMPLEX else jnp.real(x)


def _by_schur(a: Any, b: Any, c: Any, tol: float) -> Any:
    if not c.size:
        return c
    r, u = _complex_schur(a)
    s, v = _complex_schur(b)
    f = matmul(adjoint(u), matmul(c.astype(r.dtype), v))
    eye = jnp.eye(a.shape[-1], dtype=r.dtype)

    # R Y + Y S = F: column k is (R + s_k) y = f_k - Y s, S being upper triangular.
    def column(k: Any, y: Any) -> Any:
        right = f[..., :, k] - matmul(y, s[..., :, k][..., None])[..., 0]
        m = r + s[..., k, k][..., None, None] * eye
        x = triangular_solve(m, right[..., None], left_side=True)
        return y.at[..., :, k].set(x[..., 0])

    y = fori_loop(0, b.shape[-1], column, jnp.zeros_like(f))
    x = matmul(matmul(u, y), adjoint(v))
    sums = jnp.diagonal(r, 0, -2, -1)[..., :, None] + jnp.diagonal(s, 0, -2, -1)[..., None, :]
    return _like(_nan_if_close(x, sums, tol), c)


def _by_eigenvalues(a: Any, b: Any, c: Any, tol: float) -> Any:
    if not c.size:
        return c
    w, p = eig(a, compute_left_eigenvectors=False)
    m, q = eig(b, compute_left_eigenvectors=False)
    sums = w[..., :, None] + m[..., None, :]
    y = solve_general(p, matmul(c.astype(p.dtype), q)) / sums
    # (P Y) Q⁻¹, from the transposed equation.
    x = swap(solve_general(swap(q), swap(matmul(p, y))))
    return _like(_nan_if_close(x, sums, tol), c)


def _nan_if_close(x: Any, sums: Any, tol: float) -> Any:
    close = jnp.any(jnp.abs(sums) < tol, (-2, -1), keepdims=True)
    return jnp.where(close, np.nan, x)


__all__ = ["expm", "expm_frechet", "funm", "rsf2csf", "solve_sylvester", "sqrtm"]
