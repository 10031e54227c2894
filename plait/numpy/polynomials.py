"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.dtypes import INEXACT
from plait.errors import ArgumentError, ShapeError
from plait.numpy import ufuncs
from plait.numpy.contraction import convolve
from plait.numpy.manipulation import atleast_1d, concatenate
from plait.numpy.promotion import (
    astype,
    constant,
    inexact,
    known,
    promote_dtypes,
    static_int,
    to_inexact,
    value,
)
from plait.ops import axes as ops
from plait.ops.slices import pad, slice_in_dim


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value of the polynomial with coefficients p at x (Horner's scheme).

    >>> jnp.polyval(jnp.array([1, 0, -2]), jnp.array([0, 3]))
    Array([-2,  7], dtype=int32)
    """
    p, x = promote_dtypes("polyval", (p, x))
    if p.ndim != 1:
        raise ShapeError("the coefficients are a vector", op="polyval", p=p)
    y = ops.broadcast_to(constant(np.zeros((), x.dtype)), x.shape)
    for k in range(p.shape[0]):
        y = ufuncs.add(ufuncs.multiply(y, x), p[k])
    return y


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> jnp.polyadd(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    Array([ 1, 12, 23], dtype=int32)
    """
    a1, a2 = _of_one_length("polyadd", a1, a2)
    return ufuncs.add(a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    Array([  1,  -8, -17], dtype=int32)
    """
    a1, a2 = _of_one_length("polysub", a1, a2)
    return ufuncs.subtract(a1, a2)


def _of_one_length(op: str, a1: Any, a2: Any) -> list[Any]:
    pair = [atleast_1d(x) for x in promote_dtypes(op, (a1, a2))]
    n = max(x.shape[0] for x in pair)
    return [pad(x, np.zeros((), x.dtype), [(n - x.shape[0], 0, 0)]) for x in pair]


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials; trim_leading_zeros needs known coefficients.

    >>> jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    a1, a2 = (atleast_1d(x) for x in promote_dtypes("polymul", (a1, a2)))
    if trim_leading_zeros:
        a1, a2 = _trimmed("polymul", a1), _trimmed("polymul", a2)
    if not a1.size:
        a1 = constant(np.zeros(1, a1.dtype))
    if not a2.size:
        a2 = constant(np.zeros(1, a2.dtype))
    return convolve(a1, a2, precision="highest")


def _trimmed(op: str, a: Any) -> Any:
    host = known(a)
    if host is None:
        raise ArgumentError("trimming zeros needs known coefficients", op=op, a=a)
    places = np.nonzero(host)[0]
    return a[places[0] :] if len(places) else a[-1:]


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial.

    >>> jnp.polyder(jnp.array([1, 2, 3]))
    Array([2., 2.], dtype=float32)
    """
    p, m = value("polyder", p), static_int(m, "polyder", "m")
    if m < 0:
        raise ArgumentError("needs m >= 0", op="polyder", m=m)
    if m == 0:
        return p
    (p,) = promote_dtypes("polyder", (p,))
    p = to_inexact("polyder", p)
    n = p.shape[0]
    if n <= m:
        return p[:0]
    powers = np.arange(n - 1, m - 1, -1, dtype=np.float64)
    factors = np.prod([powers - k for k in range(m)], axis=0)
    return ufuncs.multiply(slice_in_dim(p, 0, n - m), factors.astype(p.dtype))


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, with integration constants k (0).

    >>> jnp.polyint(jnp.array([2, 2]), k=5)
    Array([1., 2., 5.], dtype=float32)
    """
    p, m = value("polyint", p), static_int(m, "polyint", "m")
    if m < 0:
        raise ArgumentError("needs m >= 0", op="polyint", m=m)
    p, constants = promote_dtypes("polyint", (p, 0 if k is None else k))
    if p.dtype not in INEXACT:
        p, constants = (astype(x, inexact(p.dtype)) for x in (p, constants))
    constants = atleast_1d(constants)
    if constants.shape == (1,):
        constants = ops.broadcast_to(constants, (m,))
    if constants.shape != (m,):
        raise ShapeError("needs one constant, or one for each integration", op="polyint", k=k)
    for i in range(m):
        n = p.shape[0]
        divisors = np.arange(n, 0, -1).astype(p.dtype)
        p = concatenate([ufuncs.true_divide(p, divisors), constants[i : i + 1]])
    return p


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """(quotient, remainder) of two polynomials.

    >>> jnp.polydiv(jnp.array([1, 0, 1]), jnp.array([1, -1]))
    (Array([1., 1.], dtype=float32), Array([0., 0., 2.], dtype=float32))
    """
    u, v = promote_dtypes("polydiv", (u, v))
    if u.dtype not in INEXACT:
        u, v = (astype(x, inexact(u.dtype)) for x in (u, v))
    u, v = atleast_1d(u), atleast_1d(v)
    n, m = u.shape[0], v.shape[0]
    quotient = []
    for k in range(max(n - m + 1, 0)):
        factor = ufuncs.true_divide(u[k], v[0])
        quotient.append(factor)
        u = u.at[k : k + m].add(ufuncs.negative(ufuncs.multiply(factor, v)))
    if not quotient:
        return constant(np.zeros(1, u.dtype)), u
    rest = _trimmed("polydiv", u) if trim_leading_zeros else u
    return concatenate([ops.reshape(q, (1,)) for q in quotient]), rest


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with the given zeros, of leading coefficient 1.

    >>> jnp.poly(jnp.array([1, -2]))
    Array([ 1.,  1., -2.], dtype=float32)
    """
    zeros = value("poly", seq_of_zeros)
    zeros = atleast_1d(to_inexact("poly", zeros))
    if zeros.ndim != 1:
        raise ShapeError("needs a vector of zeros", op="poly", seq_of_zeros=zeros)
    p = constant(np.ones(1, zeros.dtype))
    for k in range(zeros.shape[0]):
        shifted = ufuncs.multiply(p, zeros[k])
        none = np.zeros((), p.dtype)
        p = ufuncs.subtract(pad(p, none, [(0, 1, 0)]), pad(shifted, none, [(1, 0, 0)]))
    return p
