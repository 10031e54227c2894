"""Matrices of a known pattern, as SciPy makes them: toeplitz, hilbert, pascal, dft, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import is_one_of
from plait.errors import ArgumentError, ShapeError, several
from plait.numpy.promotion import promote_dtypes, static_int, to_dtype, to_inexact, value

# --- from vectors


def _vectors(op: str, name: str, x: Any, least: int = 0) -> Any:
    x = value(op, x)
    if x.ndim < 1 or x.shape[-1] < least:
        count = f" of {several(least, 'element')} or more" if least else ""
        given: dict[str, Any] = {name: x}
        raise ShapeError(f"{name} holds vectors{count}", op=op, **given)
    return x


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrices with first column c, first row r (conj(c) if it is None; its first element is
    not looked at), and equal elements along diagonals.

    Shapes: c [..., m], r [..., n] -> [..., m, n].

    >>> from plait.scipy import linalg
    >>> linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([0, 8, 9]))
    Array([[1, 8, 9],
           [2, 1, 8],
           [3, 2, 1]], dtype=int32)
    """
    op = "toeplitz"
    c = jnp.atleast_1d(value(op, c))
    r = jnp.conj(c) if r is None else jnp.atleast_1d(value(op, r))
    c, r = promote_dtypes(op, (c, r))
    c, r = value(op, c), value(op, r)
    m, n = c.shape[-1], r.shape[-1]
    batch = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*batch, m)), jnp.broadcast_to(r, (*batch, n))
    if not m or not n:
        return jnp.zeros((*batch, m, n), c.dtype)
    # Element (i, j) stands at i - j from the first one, upwards c, downwards r.
    both = jnp.concatenate([jnp.flip(r[..., 1:], -1), c], -1)
    places = np.arange(m)[:, None] - np.arange(n)[None, :] + n - 1
    return both[..., places]


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with first column c, last row r (zeros if it is None; its first element is not
    looked at), and equal elements along antidiagonals.

    Shapes: c [..., m], r [..., n] -> [..., m, n].

    >>> from plait.scipy import linalg
    >>> linalg.hankel(jnp.array([1, 2, 3]), jnp.array([0, 8, 9]))
    Array([[1, 2, 3],
           [2, 3, 8],
           [3, 8, 9]], dtype=int32)
    """
    op = "hankel"
    c = value(op, c)
    c, r = promote_dtypes(op, (c, jnp.zeros_like(c) if r is None else value(op, r, 1)))
    if not c.ndim or not r.ndim:
        raise ShapeError("c and r hold vectors", op=op, c=c, r=r)
    m, n = c.shape[-1], r.shape[-1]
    batch = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*batch, m)), jnp.broadcast_to(r, (*batch, n))
    if not m or not n:
        return jnp.zeros((*batch, m, n), c.dtype)
    both = jnp.concatenate([c, r[..., 1:]], -1)
    return both[..., np.arange(m)[:, None] + np.arange(n)[None, :]]


def circulant(c: Any) -> Any:
    """The square matrices with first column c whose columns are that column, turned further and
    further: c [..., n] -> [..., n, n]. Dtype unchanged. Raises: ShapeError for a number.

    >>> from plait.scipy import linalg
    >>> linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    c = _vectors("circulant", "c", c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)[None, :]) % max(n, 1)]


def companion(a: Any) -> Any:
    """The companion matrix of a polynomial with coefficients a, highest power first: its
    eigenvalues are the zeros.

    Shapes: a [..., n], n >= 2 -> [..., n - 1, n - 1]. Integers become floats. Raises: ShapeError.

    >>> from plait.scipy import linalg
    >>> linalg.companion(jnp.array([1, -3, 2]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    op = "companion"
    a = value(op, to_inexact(op, _vectors(op, "a", a, 2)))
    n = a.shape[-1] - 1
    first = -a[..., None, 1:] / a[..., None, :1]
    below = jnp.broadcast_to(jnp.eye(n - 1, n, dtype=a.dtype), (*a.shape[:-1], n - 1, n))
    return jnp.concatenate([first, below], -2)


def fiedler_companion(a: Any) -> Any:
    """Fiedler's companion matrix of a polynomial with coefficients a, highest power first: it has
    five diagonals, and the zeros as eigenvalues.

    Shapes: a [n], n >= 2 -> [n - 1, n - 1]; shorter ones give an empty array. Integers become
    floats. Raises: ShapeError for more axes.

    >>> from plait.scipy import linalg
    >>> linalg.fiedler_companion(jnp.array([1, -16, 86, -176]))
    Array([[ 16., -86.,   1.],
           [  1.,   0.,   0.],
           [  0., 176.,   0.]], dtype=float32)
    """
    op = "fiedler_companion"
    a = value(op, to_inexact(op, _vectors(op, "a", a)))
    if a.ndim != 1:
        raise ShapeError("takes one vector", op=op, a=a, fix="use vmap for many")
    if a.size <= 2:
        return -(a[1:] / a[:1])[None, :] if a.size == 2 else jnp.zeros(0, a.dtype)
    a = a / a[0]
    n = a.size - 1
    x = jnp.zeros((n, n), a.dtype)
    # The coefficients a₂, a₄, ... and a₃, a₅, ... lie on both sides of the diagonal.
    x = x.at[np.arange(3, n, 2), np.arange(1, n - 2, 2)].set(1)
    x = x.at[np.arange(2, n, 2), np.arange(1, n - 1, 2)].set(-a[3::2])
    x = x.at[np.arange(0, n - 2, 2), np.arange(2, n, 2)].set(1)
    x = x.at[np.arange(0, n - 1, 2), np.arange(1, n, 2)].set(-a[2::2])
    return x.at[0, 0].set(-a[1]).at[1, 0].set(1)


def fiedler(a: Any) -> Any:
    """The symmetric matrices |a[i] - a[j]|: a [..., n] -> [..., n, n]. Dtype unchanged, but real
    for complex a; unsigned differences wrap. Raises: ShapeError for a number, DtypeError for bools.

    >>> from plait.scipy import linalg
    >>> linalg.fiedler(jnp.array([1, 4, 6]))
    Array([[0, 3, 5],
           [3, 0, 2],
           [5, 2, 0]], dtype=int32)
    """
    a = _vectors("fiedler", "a", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


def leslie(f: Any, s: Any) -> Any:
    """The matrices of a population's growth: fecundities f in the first row, survivals s below the
    diagonal.

    Shapes: f [..., n], n >= 2, s [..., n - 1] -> [..., n, n]. Raises: ShapeError.

    >>> from plait.scipy import linalg
    >>> linalg.leslie(jnp.array([0.0, 2.0, 1.0]), jnp.array([0.5, 0.25]))
    Array([[0.  , 2.  , 1.  ],
           [0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]], dtype=float32)
    """
    op = "leslie"
    f, s = promote_dtypes(op, (f, s))
    f, s = _vectors(op, "f", f, 2), _vectors(op, "s", s, 1)
    n = f.shape[-1]
    if s.shape[-1] != n - 1:
        raise ShapeError("s has one element less than f", op=op, f=f, s=s)
    batch = jnp.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    x = jnp.zeros((*batch, n, n), f.dtype)
    return x.at[..., 0, :].set(f).at[..., np.arange(1, n), np.arange(n - 1)].set(s)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix whose product with a vector of n elements is convolve(a, vector, mode).

    Shapes: a [..., m] -> [..., k, n], k = m + n - 1 ("full"), max(m, n) ("same") or
    |m - n| + 1 ("valid"). Raises: ShapeError, ArgumentError.

    >>> from plait.scipy import linalg
    >>> linalg.convolution_matrix(jnp.array([1, 2]), 3)
    Array([[1, 0, 0],
           [2, 1, 0],
           [0, 2, 1],
           [0, 0, 2]], dtype=int32)
    """
    op = "convolution_matrix"
    a = _vectors(op, "a", a, 1)
    n = static_int(n, op, "n")
    if n < 1:
        raise ArgumentError("n is at least 1", op=op, n=n)
    m = a.shape[-1]
    if mode not in ("full", "same", "valid"):
        raise ArgumentError("mode is 'full', 'same' or 'valid'", op=op, mode=mode)
    places = np.arange(m + n - 1)[:, None] - np.arange(n)[None, :]
    there = (places >= 0) & (places < m)
    x = jnp.where(there, a[..., np.where(there, places, 0)], 0)
    if mode == "full":
        return x
    size = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    first = (min(m, n) - 1) // 2 if mode == "same" else min(m, n) - 1
    return x[..., first : first + size, :]


def block_diag(*arrs: Any) -> Any:
    """The matrices arrs along the diagonal of one, zeros elsewhere; vectors count as rows.

    Shapes: [..., m, n], [..., p, q], ... -> [..., m + p + ..., n + q + ...]; axes before the last
    two broadcast; [1, 0] of none. Dtypes are promoted. Raises: ShapeError.

    >>> from plait.scipy import linalg
    >>> linalg.block_diag(jnp.array([[1, 2], [3, 4]]), jnp.array([5]))
    Array([[1, 2, 0],
           [3, 4, 0],
           [0, 0, 5]], dtype=int32)
    """
    op = "block_diag"
    blocks = [value(op, x) for x in (promote_dtypes(op, arrs) if arrs else [np.zeros((1, 0))])]
    blocks = [jnp.atleast_2d(x) for x in blocks]
    batch = jnp.broadcast_shapes(*(x.shape[:-2] for x in blocks))
    width, at, rows = sum(x.shape[-1] for x in blocks), 0, []
    for x in blocks:
        x = jnp.broadcast_to(x, (*batch, *x.shape[-2:]))
        after = width - at - x.shape[-1]
        rows.append(jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(at, after)]))
        at += x.shape[-1]
    return jnp.concatenate(rows, -2)


# --- from a size


def _size(op: str, n: Any) -> int:
    n = static_int(n, op, "n")
    if n < 0:
        raise ArgumentError("n is not negative", op=op, n=n)
    return n


def _of(x: np.ndarray, dtype: Any = None) -> Any:
    return jnp.asarray(x, dtypes.default_float() if dtype is None else dtype)


def hilbert(n: int) -> Any:
    """Hilbert's matrix 1 / (i + j + 1), of the default float: [n, n]. Raises: ArgumentError for n <
    0; ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> linalg.hilbert(2).round(3)
    Array([[1.   , 0.5  ],
           [0.5  , 0.333]], dtype=float32)
    """
    k = np.arange(_size("hilbert", n))
    return _of(1 / (k[:, None] + k[None, :] + 1.0))


def invhilbert(n: int) -> Any:
    """The inverse of Hilbert's matrix, made of binomial coefficients: [n, n], of the default float.

    Its elements are rounded once; float32 overflows from n = 28 on.
    Raises: ArgumentError for n < 0; ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    n = _size("invhilbert", n)
    x = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(n + i, n - j - 1)
            * math.comb(n + j, n - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return _of(np.asarray(x, np.float64).reshape(n, n))


def _pascal(n: int, kind: str | None, op: str) -> np.ndarray:
    kind = "symmetric" if kind is None else kind
    if kind not in ("symmetric", "lower", "upper"):
        raise ArgumentError(
            "there is no such kind", op=op, kind=kind, fix="'symmetric', 'lower' or 'upper'"
        )
    low = np.asarray([[math.comb(i, j) for j in range(n)] for i in range(n)], np.float64)
    low = low.reshape(n, n)
    return {"lower": low, "upper": low.T, "symmetric": low @ low.T}[kind]


def pascal(n: int, kind: str | None = None) -> Any:
    """Pascal's triangle as a matrix: "symmetric" (None), "lower" or "upper".

    Shapes: [n, n], of the default float. Raises: ArgumentError for n < 0 and for other kinds;
    ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> linalg.pascal(3), linalg.pascal(3, "lower")
    (Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32), Array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]], dtype=float32))
    """
    return _of(_pascal(_size("pascal", n), kind, "pascal"))


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of pascal(n, kind), of whole numbers.

    Shapes: [n, n], of the default float. Raises: ArgumentError for n < 0 and for other kinds;
    ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> linalg.invpascal(3)
    Array([[ 3., -3.,  1.],
           [-3.,  5., -2.],
           [ 1., -2.,  1.]], dtype=float32)
    """
    n = _size("invpascal", n)
    signs = (-1.0) ** (np.arange(n)[:, None] + np.arange(n)[None, :])
    if kind in (None, "symmetric"):
        low = signs * _pascal(n, "lower", "invpascal")
        return _of(low.T @ low)
    return _of(signs * _pascal(n, kind, "invpascal"))


def hadamard(n: int, dtype: Any = int) -> Any:
    """Hadamard's matrix of ones and minus ones with orthogonal rows: [n, n].

    Raises: ArgumentError unless n is a power of 2; ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    n = static_int(n, "hadamard", "n")
    if n < 1 or n & (n - 1):
        raise ArgumentError("n is a power of 2", op="hadamard", n=n)
    x = np.ones((1, 1))
    while len(x) < n:
        x = np.block([[x, x], [x, -x]])
    return _of(x, to_dtype(dtype))


def helmert(n: int, full: bool = False) -> Any:
    """Helmert's matrix, orthogonal, of n rows with `full`, else without its first row.

    Shapes: [n, n] or [n - 1, n], of the default float. Raises: ArgumentError for n < 0;
    ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> linalg.helmert(3).round(3)
    Array([[ 0.707, -0.707,  0.   ],
           [ 0.408,  0.408, -0.816]], dtype=float32)
    """
    n = _size("helmert", n)
    x = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n, dtype=np.float64))
    sizes = np.arange(n) * np.arange(1, n + 1.0)
    if n:
        x[0], sizes[0] = 1, n
    x = x / np.sqrt(sizes)[:, None]
    return _of(x if full else x[1:])


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform of n points; scale "sqrtn" divides it by √n, "n"
    by n.

    Shapes: [n, n], of the default complex dtype or of `dtype`. Raises: ArgumentError for n < 0 and
    for other scales; ArgumentTypeError if n is no int.

    >>> from plait.scipy import linalg
    >>> (linalg.dft(2).real + 0.0).round(3)
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    >>> jnp.allclose(linalg.dft(4) @ jnp.arange(4.0), jnp.fft.fft(jnp.arange(4.0)), atol=1e-5)
    Array(True, dtype=bool)
    """
    n = _size("dft", n)
    factors = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}
    if not is_one_of(scale, factors):
        raise ArgumentError("scale is None, 'sqrtn' or 'n'", op="dft", scale=scale)
    k = np.arange(n)
    x = np.exp(-2j * np.pi * (k[:, None] * k[None, :] % max(n, 1)) / max(n, 1)) / factors[scale]
    return _of(x, dtypes.default_complex() if dtype is None else to_dtype(dtype))


__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
]
