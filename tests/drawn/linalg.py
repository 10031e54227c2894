"""Recipes of plait.scipy.linalg. Where factors are free in signs, their products are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as reference

from plait.scipy import linalg
from tests.drawn.common import Case, Draw, recipe


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def real_of(dtype: Any) -> np.dtype:
    return np.dtype({"c8": "f4", "c16": "f8"}.get(dtype.str[1:], dtype))


def batch(d: Draw) -> tuple[int, ...]:
    return d.one_of((), (), (), (2,), (3, 1))  # SciPy has few functions of no matrices


def matrix(d: Draw, m: int, n: int, dtype: Any = None, outer: Any = None) -> np.ndarray:
    return d.array((*(batch(d) if outer is None else outer), m, n), dtype or d.any())


def well(d: Draw, dtype: Any = None, outer: Any = None, least: int = 1) -> np.ndarray:
    """Square matrices far from singular ones."""
    n, dtype = d.number(least, 4), np.dtype(dtype or d.inexact())
    x = matrix(d, n, n, dtype, outer)
    return (x + np.sign(d.rng.normal()) * 4 * np.eye(n)).astype(dtype)


def positive(d: Draw, dtype: Any = None, outer: Any = None) -> np.ndarray:
    """Hermitian and positive definite matrices."""
    x = well(d, dtype, outer)
    return (x @ adjoint(x) + np.eye(x.shape[-1])).astype(x.dtype)


def right(d: Draw, a: np.ndarray) -> np.ndarray:
    """Right sides of equations, or a vector."""
    rows = a.shape[-1]
    if d.chance(0.3):
        return d.array((rows,), a.dtype)
    return d.array((*a.shape[:-2], rows, d.number(1, 3)), a.dtype)


def numbers(d: Draw, *shape: int) -> np.ndarray:
    return d.array((*batch(d), *shape), d.any())


def solved(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)


# --- equations


@recipe("scipy.linalg.det", "scipy.linalg.inv")
def _det(name: str, d: Draw) -> Case:
    return Case((well(d),), of=getattr(np.linalg, name), loose=64.0)


@recipe("scipy.linalg.solve")
def _solve(d: Draw) -> Case:
    assume, lower = d.one_of("gen", "sym", "her", "pos"), d.chance()
    if assume in ("gen", "sym"):
        a = well(d)
        a = a + np.swapaxes(a, -1, -2) if assume == "sym" else a
    else:
        a = positive(d)

    def ours(a, b):
        if assume == "pos":  # one triangle is looked at
            a = np.tril(a) if lower else np.triu(a)
        return linalg.solve(a, b, assume_a=assume, lower=lower)

    return Case((a, right(d, a)), function=ours, of=solved, loose=256.0)


@recipe("scipy.linalg.solve_triangular")
def _solve_triangular(d: Draw) -> Case:
    a = well(d)
    trans, lower, unit = d.one_of(0, 1, 2, "N", "T", "C"), d.chance(), d.chance(0.3)

    def of(a, b):
        t = np.tril(a, -1 if unit else 0) if lower else np.triu(a, 1 if unit else 0)
        t = t + np.eye(a.shape[-1]) * unit
        if trans in (1, "T"):
            t = np.swapaxes(t, -1, -2)
        return solved(adjoint(t) if trans in (2, "C") else t, b)

    def ours(a, b):
        return linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)

    return Case((a, right(d, a)), function=ours, of=of, loose=256.0)


@recipe("scipy.linalg.cholesky", "scipy.linalg.cho_factor")
def _cholesky(name: str, d: Draw) -> Case:
    lower = d.chance()

    def ours(a):
        c = getattr(linalg, name)(a, lower=lower)
        return c[0] if name == "cho_factor" else c

    def of(a):
        low = np.linalg.cholesky(a)
        return low if lower else adjoint(low)

    return Case((positive(d),), function=ours, of=of, loose=64.0)


@recipe("scipy.linalg.cho_solve")
def _cho_solve(d: Draw) -> Case:
    a, lower = positive(d), d.chance()

    def ours(a, b):
        return linalg.cho_solve(linalg.cho_factor(a, lower=lower), b)

    return Case((a, right(d, a)), function=ours, of=solved, loose=256.0)


@recipe("scipy.linalg.lu")
def _lu(d: Draw) -> Case:
    kwargs = {"permute_l": d.chance()}
    a = matrix(d, d.number(1, 4), d.number(1, 4), d.inexact())
    dtype = a.dtype
    real = real_of(dtype)
    return Case(
        (a,), kwargs, dtype=[dtype] * 2 if kwargs["permute_l"] else [real, dtype, dtype], loose=64.0
    )


@recipe("scipy.linalg.lu_factor")
def _lu_factor(d: Draw) -> Case:
    a = matrix(d, d.number(1, 4), d.number(1, 4), d.inexact())
    return Case((a,), dtype=[a.dtype, np.int32], loose=64.0)


@recipe("scipy.linalg.lu_solve")
def _lu_solve(d: Draw) -> Case:
    a, trans = well(d), d.number(0, 2)

    def ours(a, b):
        return linalg.lu_solve(linalg.lu_factor(a), b, trans=trans)

    def of(a, b):
        return solved([a, np.swapaxes(a, -1, -2), adjoint(a)][trans], b)

    return Case((a, right(d, a)), function=ours, of=of, loose=256.0)


@recipe("scipy.linalg.solve_sylvester")
def _solve_sylvester(d: Draw) -> Case:
    outer, dtype = d.one_of((), (), (2,)), d.inexact()
    m, n = d.number(1, 4), d.number(1, 4)
    # Spectra on both sides of the axis have no sum that is 0.
    a = (matrix(d, m, m, dtype, outer) * 0.5 + 3 * np.eye(m)).astype(dtype)
    b = (matrix(d, n, n, dtype, outer) * 0.5 + 3 * np.eye(n)).astype(dtype)
    return Case((a, b, matrix(d, m, n, dtype, outer)), loose=512.0)


# --- factors


def product(y: Any) -> Any:
    total = y[0]
    for factor in y[1:]:
        total = total @ factor
    return total


def gram(q: Any) -> Any:
    return adjoint(q) @ q


@recipe("scipy.linalg.qr")
def _qr(d: Draw) -> Case:
    a = matrix(d, d.number(1, 4), d.number(1, 4), d.inexact())
    kwargs = {"mode": d.one_of("full", "economic", "r"), "pivoting": d.chance(0.3)}

    def triangle(y):
        # Of many matrices SciPy gives r alone, not in a tuple.
        return np.abs(y[0] if isinstance(y, tuple | list) else y)

    if kwargs["mode"] == "r":
        return Case((a,), kwargs, dtype=..., see=triangle, loose=64.0)
    dtype = [a.dtype, a.dtype, np.int32][: 2 + kwargs["pivoting"]]
    return Case(
        (a,), kwargs, dtype=dtype, see=lambda y: (y[0] @ y[1], gram(y[0]), *y[2:]), loose=64.0
    )


@recipe("scipy.linalg.qr_multiply")
def _qr_multiply(d: Draw) -> Case:
    dtype, m, n = d.inexact(), d.number(1, 4), d.number(1, 4)
    n = min(m, n)  # SciPy's q is not cut where there are more columns
    mode, conjugate = d.one_of("left", "right"), d.chance(0.3)
    a = d.array((m, n), dtype)
    c = d.array((n, 2) if mode == "left" else (2, m), dtype)

    def see(y):
        # c q, or q c, times its adjoint, and r to signs.
        return (adjoint(y[0]) @ y[0] if mode == "left" else y[0] @ adjoint(y[0]), np.abs(y[1]))

    kwargs = {"mode": mode, "conjugate": conjugate, "pivoting": d.chance(0.3)}
    dtypes = [dtype, dtype, ...][: 2 + kwargs["pivoting"]]
    return Case((a, c), kwargs, see=see, dtype=dtypes, loose=128.0)


@recipe("scipy.linalg.svd")
def _svd(d: Draw) -> Case:
    a = matrix(d, d.number(1, 4), d.number(1, 4), d.inexact())
    full, driver = d.chance(), d.one_of("gesdd", "gesvd")
    kwargs = {"full_matrices": full, "lapack_driver": driver, "compute_uv": d.chance(0.8)}
    real = real_of(a.dtype)
    if not kwargs["compute_uv"]:
        return Case((a,), kwargs, dtype=real, loose=64.0)

    def see(y):
        u, s, vh = y
        k = s.shape[-1]
        whole = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
        return whole, s, gram(u), vh @ adjoint(vh)

    return Case((a,), kwargs, dtype=[a.dtype, real, a.dtype], see=see, loose=128.0)


@recipe("scipy.linalg.eigh")
def _eigh(d: Draw) -> Case:
    lower, only, type_ = d.chance(), d.chance(0.3), d.number(1, 3)
    dtype = d.inexact()
    real = real_of(dtype)
    outer = d.one_of((), (2,))
    a = well(d, dtype, outer)
    a = (a + adjoint(a)) / 2
    args = [a.astype(dtype)]
    if d.chance(0.4):
        x = d.array(a.shape, dtype)
        args.append((x @ adjoint(x) + 2 * np.eye(a.shape[-1])).astype(dtype))

    def of(a, b=None):
        results = [
            reference.eigh(x, None if b is None else y, type=type_)
            for x, y in zip(_rows(a), _rows(a if b is None else b), strict=True)
        ]
        w, v = (
            np.stack(part).reshape(*outer, *part[0].shape) for part in zip(*results, strict=True)
        )
        return w if only else (w, v)

    def ours(a, b=None):
        return linalg.eigh(a, b, lower=lower, eigvals_only=only, type=type_)

    def see(y):
        return (y[0], (y[1] * np.exp(-np.abs(y[0]))[..., None, :]) @ adjoint(y[1]))

    return Case(
        args,
        function=ours,
        of=of,
        dtype=real if only else [real, dtype],
        see=None if only else see,
        loose=256.0,
    )


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, *x.shape[-2:])


@recipe("scipy.linalg.eigh_tridiagonal")
def _eigh_tridiagonal(d: Draw) -> Case:
    n, dtype = d.number(1, 5), d.float(half=False)
    kwargs: dict[str, Any] = {"eigvals_only": d.chance()}
    if d.chance(0.3):
        first = d.number(0, n - 1)
        kwargs |= {"select": "i", "select_range": (first, d.number(first, n - 1))}
    args = (d.array((n,), dtype, 3.0), d.array((n - 1,), dtype))
    see = None if kwargs["eigvals_only"] else lambda y: (y[0], np.abs(y[1]))
    return Case(args, kwargs, see=see, loose=256.0)


@recipe("scipy.linalg.schur")
def _schur(d: Draw) -> Case:
    a, output = well(d, outer=d.one_of((), (2,))), d.one_of("real", "complex")

    def see(y):
        t, z = y
        return z @ t @ adjoint(z), gram(z), np.sort_complex(np.round(np.linalg.eigvals(t), 2))

    dtype = np.result_type(a.dtype, np.complex64) if output == "complex" else a.dtype
    return Case((a,), {"output": output}, dtype=dtype, see=lambda y: see(y)[:2], loose=256.0)


@recipe("scipy.linalg.rsf2csf")
def _rsf2csf(d: Draw) -> Case:
    n, dtype = d.number(1, 4), d.float(half=False)
    t, z = reference.schur(d.array((n, n), np.float64))[:2]
    args = (t.astype(dtype), z.astype(dtype))
    # SciPy keeps the zeros below the diagonal in rotations of its own; the matrix is the same.
    return Case(
        args,
        dtype=np.result_type(dtype, np.complex64),
        see=lambda y: (y[1] @ y[0] @ adjoint(y[1]), np.tril(y[0], -1)),
        fixed=(0, 1),
        loose=256.0,
        floor=4.0,
    )


@recipe("scipy.linalg.hessenberg")
def _hessenberg(d: Draw) -> Case:
    a, q = well(d, outer=d.one_of((), (2,))), d.chance()
    if q:
        return Case(
            (a,),
            {"calc_q": True},
            see=lambda y: (y[1] @ y[0] @ adjoint(y[1]), gram(y[1]), np.tril(np.abs(y[0]), -1)),
            loose=256.0,
        )
    return Case((a,), see=np.abs, loose=256.0)


@recipe("scipy.linalg.polar")
def _polar(d: Draw) -> Case:
    m, n = d.number(1, 4), d.number(1, 4)
    side = d.one_of("left", "right")
    # Where a has fewer rows (on the left columns) than it needs, u is not unique.
    m, n = (min(m, n), max(m, n)) if side == "left" else (max(m, n), min(m, n))
    a = d.array((m, n), d.inexact()) + 2 * np.eye(m, n)
    dtype = d.inexact()
    a = a.astype(dtype) if dtype.kind == "c" else a.real.astype(dtype)
    method = d.one_of("qdwh", "svd")

    def ours(a):
        return linalg.polar(a, side, method=method)

    return Case((a,), function=ours, of=lambda a: reference.polar(a, side), loose=256.0)


# --- functions of matrices


@recipe("scipy.linalg.expm")
def _expm(d: Draw) -> Case:
    n = d.number(0, 4)
    a = matrix(d, n, n, d.inexact())
    return Case((a,), loose=512.0)


@recipe("scipy.linalg.expm_frechet")
def _expm_frechet(d: Draw) -> Case:
    n, dtype = d.number(1, 4), d.inexact()
    kwargs = {"compute_expm": d.chance()}
    return Case((d.array((n, n), dtype), d.array((n, n), dtype)), kwargs, loose=1024.0)


@recipe("scipy.linalg.sqrtm")
def _sqrtm(d: Draw) -> Case:
    n, dtype = d.number(1, 4), d.inexact()
    a = (0.4 * d.array((n, n), dtype) + 3 * np.eye(n)).astype(dtype)
    return Case((a,), dtype=np.result_type(dtype, np.complex64), loose=512.0)


@recipe("scipy.linalg.funm")
def _funm(d: Draw) -> Case:
    n, dtype = d.number(1, 4), d.inexact()
    a = (0.3 * d.array((n, n), dtype) + np.diag(np.arange(1, n + 1))).astype(dtype)

    def ours(a):
        import plait.numpy as jnp

        return linalg.funm(a, jnp.exp)

    return Case(
        (a,),
        function=ours,
        of=lambda a: reference.expm(a),
        dtype=np.result_type(dtype, np.complex64),
        loose=4096.0,
    )


# --- matrices of a pattern


@recipe("scipy.linalg.toeplitz", "scipy.linalg.hankel")
def _toeplitz(name: str, d: Draw) -> Case:
    outer = d.one_of((), (), (2,))
    c, r = (d.array((*outer, d.number(1, 4)), d.any(half=True)) for _ in range(2))
    args = (c,) if d.chance() else (c, r)

    def of(*xs):
        f = getattr(reference, name)
        if not outer:
            return f(*xs)
        return np.stack([f(*row) for row in zip(*xs, strict=True)])

    return Case(args, of=of, dtype=_promoted(*args), fixed=(0, 1))


def _promoted(*xs: Any) -> Any:
    import plait.numpy as jnp

    return jnp.result_type(*xs)


@recipe("scipy.linalg.circulant", "scipy.linalg.fiedler")
def _circulant(name: str, d: Draw) -> Case:
    dtype = d.float(half=name == "circulant") if d.chance() else np.dtype(np.int32)
    x = d.array((*d.one_of((), (2,)), d.number(1, 4)), dtype)
    return Case((x,), dtype=x.dtype)


@recipe("scipy.linalg.companion", "scipy.linalg.fiedler_companion")
def _companion(name: str, d: Draw) -> Case:
    a = d.array((d.number(2, 6),), d.any())
    a[0] = 2
    return Case((a,))


@recipe("scipy.linalg.leslie")
def _leslie(d: Draw) -> Case:
    n, dtype = d.number(2, 5), d.float()
    return Case((d.array((n,), dtype), d.array((n - 1,), dtype)))


@recipe("scipy.linalg.convolution_matrix")
def _convolution_matrix(d: Draw) -> Case:
    a, n = d.array((d.number(1, 4),), d.any()), d.number(1, 4)
    mode = d.one_of("full", "same", "valid")
    return Case((a, n), {"mode": mode}, dtype=a.dtype)


@recipe("scipy.linalg.block_diag")
def _block_diag(d: Draw) -> Case:
    blocks = [d.array(d.shape(0, 2), d.any(half=True)) for _ in range(d.number(1, 3))]
    return Case(blocks, dtype=_promoted(*blocks), fixed=(0, 1, 2))


@recipe(*(f"scipy.linalg.{n}" for n in ("hilbert", "invhilbert", "helmert")))
def _of_a_size(name: str, d: Draw) -> Case:
    kwargs = {"full": d.chance()} if name == "helmert" else {}
    dtype = np.float64 if d.x64 else np.float32
    return Case((d.number(1, 6),), kwargs, dtype=dtype, loose=64.0)


@recipe("scipy.linalg.pascal", "scipy.linalg.invpascal")
def _pascal(name: str, d: Draw) -> Case:
    kind = d.one_of("symmetric", "lower", "upper")
    return Case((d.number(1, 7),), {"kind": kind}, dtype=...)


@recipe("scipy.linalg.hadamard")
def _hadamard(d: Draw) -> Case:
    return Case((2 ** d.number(0, 4),), dtype=...)


@recipe("scipy.linalg.dft")
def _dft(d: Draw) -> Case:
    scale = d.one_of(None, "sqrtn", "n")
    dtype = np.complex128 if d.x64 else np.complex64
    return Case((d.number(1, 7),), {"scale": scale}, dtype=dtype, loose=64.0)
