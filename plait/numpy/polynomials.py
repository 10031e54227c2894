"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import INEXACT
from plait.errors import ArgumentError, ConcretizationTypeError, ShapeError
from plait.numpy import reduction, ufuncs
from plait.numpy.contraction import convolve, matmul, outer
from plait.numpy.elementary import sqrt
from plait.numpy.indexing import take
from plait.numpy.manipulation import atleast_1d, concatenate
from plait.numpy.matrices import vander
from plait.numpy.promotion import (
    astype,
    broadcast_shapes,
    constant,
    known,
    promote_dtypes,
    static_int,
    to_inexact,
    value,
)
from plait.numpy.reduction import argmax
from plait.numpy.searching import argsort
from plait.ops import axes as ops
from plait.ops.slices import pad, slice_in_dim


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value of the polynomial with coefficients p at x (Horner's scheme).

    Coefficients with more axes are arrays that broadcast with x, one for each power.

    >>> jnp.polyval(jnp.array([1, 0, -2]), jnp.array([0, 3]))
    Array([-2,  7], dtype=int32)
    """
    p, x = promote_dtypes("polyval", (p, x))
    if not p.ndim:
        raise ShapeError("the coefficients are a vector", op="polyval", p=p)
    shape = broadcast_shapes(p.shape[1:], x.shape)
    y = ops.broadcast_to(constant(np.zeros((), x.dtype)), shape)
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
        a1, a2 = _trimmed("polymul", a1, "a1"), _trimmed("polymul", a2, "a2")
    if not a1.size:
        a1 = constant(np.zeros(1, a1.dtype))
    if not a2.size:
        a2 = constant(np.zeros(1, a2.dtype))
    return convolve(a1, a2, precision="highest")


def _trimmed(op: str, a: Any, name: str) -> Any:
    host = known(a)
    if host is None:
        raise ConcretizationTypeError(
            "leading zeros can only be left out of known coefficients",
            op=op,
            **{name: a},
            fix="trim_leading_zeros=False",
        )
    places = np.nonzero(host)[0]
    return a[places[0] :] if len(places) else a[-1:]


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial.

    >>> jnp.polyder(jnp.array([1, 2, 3]))
    Array([2., 2.], dtype=float32)
    """
    p, m = _vector("polyder", p), static_int(m, "polyder", "m")
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


def _vector(op: str, p: Any) -> Any:
    p = value(op, p)
    if p.ndim != 1:
        raise ShapeError("the coefficients are a vector", op=op, p=p)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, with integration constants k (0).

    >>> jnp.polyint(jnp.array([2, 2]), k=5)
    Array([1., 2., 5.], dtype=float32)
    """
    p, m = _vector("polyint", p), static_int(m, "polyint", "m")
    if m < 0:
        raise ArgumentError("needs m >= 0", op="polyint", m=m)
    p, constants = promote_dtypes("polyint", (p, 0 if k is None else k))
    if p.dtype not in INEXACT:
        p, constants = (to_inexact("polyint", x) for x in (p, constants))
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
    u, v = (to_inexact("polydiv", x) for x in promote_dtypes("polydiv", (u, v)))
    u, v = atleast_1d(u), atleast_1d(v)
    n, m = u.shape[0], v.shape[0]
    quotient = []
    for k in range(max(n - m + 1, 0)):
        factor = ufuncs.true_divide(u[k], v[0])
        quotient.append(factor)
        u = u.at[k : k + m].add(ufuncs.negative(ufuncs.multiply(factor, v)))
    if not quotient:
        return constant(np.zeros(1, u.dtype)), u
    rest = _trimmed("polydiv", u, "u") if trim_leading_zeros else u
    return concatenate([ops.reshape(q, (1,)) for q in quotient]), rest


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with the given zeros, of leading coefficient 1; of a
    square matrix, those of its characteristic polynomial.

    >>> jnp.poly(jnp.array([1, -2]))
    Array([ 1.,  1., -2.], dtype=float32)
    """
    zeros = value("poly", seq_of_zeros)
    zeros = atleast_1d(to_inexact("poly", zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1]:
        from plait.numpy.linalg import eigvals

        zeros = eigvals(zeros)
    if zeros.ndim != 1:
        raise ShapeError(
            "needs a vector of zeros or a square matrix", op="poly", seq_of_zeros=zeros
        )
    p = constant(np.ones(1, zeros.dtype))
    for k in range(zeros.shape[0]):
        shifted = ufuncs.multiply(p, zeros[k])
        none = np.zeros((), p.dtype)
        p = ufuncs.subtract(pad(p, none, [(0, 1, 0)]), pad(shifted, none, [(1, 0, 0)]))
    return p


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The zeros of a polynomial, complex, each as often as its multiplicity: the eigenvalues of the
    companion matrix. On CPU only.

    Leading zeros are left out, which needs known coefficients; with strip_zeros=False each stands
    for a result of NaN at the end. Derivative: where zeros differ.
    Raises: ShapeError; ConcretizationTypeError for traced coefficients with strip_zeros.

    >>> jnp.roots(jnp.array([1.0, -3.0, 2.0]))
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    op = "roots"
    p = atleast_1d(to_inexact(op, value(op, p)))
    if p.ndim != 1:
        raise ShapeError("the coefficients are a vector", op=op, p=p)
    if not strip_zeros:
        return _padded_roots(p)
    host = known(p)
    if host is None:
        raise ConcretizationTypeError(
            "leading zeros can only be left out of known coefficients",
            op=op,
            p=p,
            fix="strip_zeros=False",
        )
    places = np.nonzero(host)[0]
    if not len(places):
        return constant(np.zeros(0, dtypes.complex_of(p.dtype)))
    zeros = _companion_eigenvalues(p[places[0] : places[-1] + 1])
    return concatenate([zeros, np.zeros(len(host) - 1 - places[-1], zeros.dtype)])


def _companion_eigenvalues(p: Any) -> Any:
    """The zeros of a polynomial whose first coefficient is not 0."""
    from plait.numpy.linalg import eigvals

    n = p.shape[0] - 1
    if n < 1:
        return constant(np.zeros(0, dtypes.complex_of(p.dtype)))
    below = constant(np.eye(n - 1, n, dtype=p.dtype))
    first = ops.reshape(ufuncs.negative(ufuncs.true_divide(p[1:], p[0])), (1, n))
    return eigvals(concatenate([first, below]))


def _padded_roots(p: Any) -> Any:
    """The zeros, in the form that does not depend on how many leading coefficients are 0."""
    n = p.shape[0]
    leading = argmax(ufuncs.not_equal(p, 0))
    leading = ufuncs.where(reduction.any(ufuncs.not_equal(p, 0)), leading, n)
    # Zeros at the end instead of the beginning are zeros of the polynomial that are 0: exactly, so
    # that they can be told from others.
    places = ufuncs.remainder(ufuncs.add(np.arange(n, dtype=np.int32), leading), n)
    zeros = _companion_eigenvalues(take(p, places))
    order = argsort(ufuncs.equal(zeros, 0))
    late = ufuncs.greater_equal(np.arange(n - 1, dtype=np.int32), ufuncs.subtract(n - 1, leading))
    return ufuncs.where(late, complex(np.nan, np.nan), take(zeros, order))


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients of the polynomial of degree deg that is nearest to y at x, by the sum of
    squares, weighted with w².

    Shapes: x [n], y [n] or [n, k], w [n] -> [deg + 1] or [deg + 1, k]. With `full` also what lstsq
    gives (residuals, rank, singular values) and rcond; with cov also the covariance matrix of the
    coefficients, scaled by the residuals unless cov is "unscaled".
    Raises: ShapeError, ArgumentError.

    >>> jnp.polyfit(jnp.arange(3.0), jnp.array([1.0, 3.0, 5.0]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    from plait.numpy.linalg import inv, lstsq

    op = "polyfit"
    x, y = (to_inexact(op, v) for v in promote_dtypes(op, (x, y)))
    order = static_int(deg, op, "deg") + 1
    if order < 1:
        raise ArgumentError("needs deg >= 0", op=op, deg=deg)
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        fix = "x is a vector, not empty, and y has as many rows"
        raise ShapeError("x and y do not belong together", op=op, x=x, y=y, fix=fix)
    n = x.shape[0]
    if rcond is None:
        rcond = n * float(dtypes.finfo(x.dtype).eps)
    powers, values = vander(x, order), y
    if w is not None:
        w = astype(value(op, w), x.dtype)
        if w.shape != x.shape:
            raise ShapeError("w needs an element for each of x", op=op, x=x, w=w)
        powers = ufuncs.multiply(powers, ops.reshape(w, (n, 1)))
        values = ufuncs.multiply(values, ops.reshape(w, (n, *(1 for _ in y.shape[1:]))))
    scale = sqrt(reduction.sum(ufuncs.square(powers), 0))
    powers = ufuncs.true_divide(powers, scale)
    c, residuals, rank, s = lstsq(powers, values, rcond)
    c = ufuncs.true_divide(c, ops.reshape(scale, (order, *(1 for _ in y.shape[1:]))))
    if full:
        return c, residuals, rank, s, np.asarray(rcond, x.dtype)
    if not cov:
        return c
    base = inv(matmul(ops.permute(powers, (1, 0)), powers))
    base = ufuncs.true_divide(base, outer(scale, scale))
    if cov == "unscaled":
        return c, base
    if n <= order:
        raise ArgumentError(
            f"a scaled covariance needs more than {order} points", op=op, x=x, fix='cov="unscaled"'
        )
    factor = ufuncs.true_divide(residuals, n - order)
    if y.ndim == 2:
        base = ops.expand_dims(base, (2,))
    return c, ufuncs.multiply(base, factor)
