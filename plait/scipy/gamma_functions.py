"""Functions of plait.scipy.special: the gamma function and what is made of it.

Binomial coefficients and factorials, incomplete gamma and beta functions, zeta and its kin.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.dtypes import INTEGER
from plait.core.types import type_of
from plait.errors import ArgumentError
from plait.numpy.promotion import INEXACT_KIND, operand, promote, static_int
from plait.ops import factorials, incomplete
from plait.ops import special as ops
from plait.scipy import complex_functions
from plait.scipy.operands import apply, is_complex


def gamma(x: Any) -> Any:
    """Γ(x); infinite at 0, NaN at -1, -2, ... and for complex x at 0 too.

    >>> import plait.scipy.special
    >>> plait.scipy.special.gamma(5.0)
    Array(24., dtype=float32, weak_type=True)
    """
    if is_complex("gamma", x):
        return complex_functions.gamma(x)
    return apply(factorials.gamma, "gamma", x)


def gammaln(x: Any) -> Any:
    """log |Γ(x)|; infinite at 0, -1, -2, ...

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.gammaln(jnp.array([1.0, 5.0, -0.5])).round(3)
    Array([0.   , 3.178, 1.266], dtype=float32)
    """
    return apply(ops.lgamma, "gammaln", x)


def loggamma(x: Any) -> Any:
    """log Γ(x), infinite at 0, NaN for x < 0; of complex x without a jump but at the negative axis.

    >>> import plait.scipy.special
    >>> plait.scipy.special.loggamma(-0.5 + 0j).round(3)
    Array(1.266-3.142j, dtype=complex64, weak_type=True)
    """
    if is_complex("loggamma", x):
        return complex_functions.log_gamma(x)
    (x,) = promote("loggamma", (x,), INEXACT_KIND)
    return jnp.where(x >= 0, ops.lgamma.bind(x), jnp.nan)


def gammasgn(x: Any) -> Any:
    """The sign of Γ(x); that of the zero at 0, NaN at -1, -2, ...

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.gammasgn(jnp.array([2.0, -0.5, -1.5]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    return apply(factorials.gamma_sign, "gammasgn", x)


def digamma(x: Any) -> Any:
    """The derivative of log |Γ(x)|; -inf at 0, NaN at -1, -2, ...

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.digamma(jnp.array([1.0, 2.0, -0.5])).round(3)
    Array([-0.577,  0.423,  0.036], dtype=float32)
    """
    return apply(ops.digamma, "digamma", x)


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of digamma of order n, integers; NaN for n < 0.

    The arguments broadcast; integers x become floats. Derivative: with respect to x; n has none.
    Raises: ArgumentError for an n that is not of integers, DtypeError for complex x, ShapeError.

    >>> from plait.scipy import special
    >>> special.polygamma(jnp.array([0, 1, 2]), 1.0).round(3)
    Array([-0.577,  1.645, -2.404], dtype=float32, weak_type=True)
    """
    if type_of(operand("polygamma", n)).dtype not in INTEGER:
        raise ArgumentError("the order n holds integers", op="polygamma", n=n)
    return apply(ops.polygamma, "polygamma", n, x)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension d, an int.

    log(π^(d (d - 1) / 4) Π Γ(a - k / 2)) over k = 0 .. d - 1, for a > (d - 1) / 2. Element by
    element in a; integers become floats. Raises: ArgumentTypeError if d is no int, DtypeError for
    complex a.

    >>> from plait.scipy import special
    >>> special.multigammaln(jnp.array([2.0, 3.0, 4.0]), 2).round(3)
    Array([0.452, 1.55 , 3.565], dtype=float32)
    """
    d = static_int(d, "multigammaln", "d")
    (a,) = promote("multigammaln", (a,), INEXACT_KIND)
    y = jnp.full_like(a, 0.25 * d * (d - 1) * math.log(math.pi))
    for k in range(d):
        y = y + ops.lgamma.bind(a - 0.5 * k)
    return y


def factorial(n: Any, exact: bool = False) -> Any:
    """n! as a float, Γ(n + 1) between whole numbers; 0 for n < 0.

    Element by element; integers become floats. Raises: ArgumentError if exact; DtypeError for
    complex numbers.

    >>> from plait.scipy import special
    >>> special.factorial(jnp.array([0, 3, 5]))
    Array([  1.,   6., 120.], dtype=float32)
    """
    if exact:
        raise ArgumentError("computes floats: exact must be False", op="factorial", exact=exact)
    return apply(factorials.factorial, "factorial", n)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose k of N things, as a float; 0 unless 0 <= k <= N.

    With repetition a thing may be chosen several times. Between whole numbers the binomial
    coefficient of gamma functions. The arguments broadcast; integers become floats. Raises:
    DtypeError for complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.comb(4, jnp.array([1, 2, 5]))
    Array([4., 6., 0.], dtype=float32)
    >>> special.comb(4, jnp.array([1, 2, 5]), repetition=True)
    Array([ 4., 10., 56.], dtype=float32)
    """
    if not repetition:
        return apply(factorials.binomial, "comb", N, k)
    N, k = promote("comb", (N, k), INEXACT_KIND, together=False)
    ways = factorials.binomial(N + k - 1, k)
    return jnp.where((k == 0) & (N >= 0), 1.0, ways).astype(ways.dtype)


def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol Γ(z + m) / Γ(z), which is z (z + 1) ... (z + m - 1) for whole m.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.poch(2.0, jnp.array([0, 1, 3]))
    Array([ 1.,  2., 24.], dtype=float32, weak_type=True)
    """
    return apply(factorials.poch, "poch", z, m)


def beta(a: Any, b: Any) -> Any:
    """The beta function Γ(a) Γ(b) / Γ(a + b); NaN where a or b is -1, -2, ...

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.beta(2.0, jnp.array([1.0, 2.0, 3.0])).round(4)
    Array([0.5   , 0.1667, 0.0833], dtype=float32)
    """
    return apply(factorials.beta, "beta", a, b)


def betaln(a: Any, b: Any) -> Any:
    """log |beta(a, b)|, without overflow.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.betaln(2.0, jnp.array([1.0, 2.0, 1e6])).round(3)
    Array([ -0.693,  -1.792, -27.631], dtype=float32)
    """
    return apply(factorials.log_beta_p, "betaln", a, b)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function: the chance that a beta variable is below x.

    NaN unless a and b are positive and 0 <= x <= 1. The arguments broadcast; integers become
    floats. Derivative: with respect to all three; second ones with respect to x only. Raises:
    DtypeError for complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.betainc(2.0, 1.0, jnp.array([0.0, 0.5, 1.0])).round(4)
    Array([0.  , 0.25, 1.  ], dtype=float32)
    """
    return apply(incomplete.betainc, "betainc", a, b, x)


def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function: the chance that a gamma variable is below x.

    NaN for negative a or x. The arguments broadcast; integers become floats. Raises: DtypeError for
    complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.gammainc(1.0, jnp.array([0.0, 1.0, 2.0])).round(4)
    Array([0.    , 0.6321, 0.8647], dtype=float32)
    """
    return apply(incomplete.igamma, "gammainc", a, x)


def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function: 1 - gammainc(a, x), exact where it is small.

    NaN for negative a or x. The arguments broadcast; integers become floats. Raises: DtypeError for
    complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.gammaincc(1.0, jnp.array([0.0, 1.0, 2.0])).round(4)
    Array([1.    , 0.3679, 0.1353], dtype=float32)
    """
    return apply(incomplete.igammac, "gammaincc", a, x)


def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function, Σ (q + n)^-x over n = 0, 1, ...; Riemann's without q.

    Infinite at x = 1, NaN below. The arguments broadcast; integers become floats. Raises:
    DtypeError for complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.zeta(jnp.array([1.0, 2.0, 4.0])).round(4)
    Array([   inf, 1.6449, 1.0823], dtype=float32)
    """
    return apply(ops.zeta, "zeta", x, 1.0 if q is None else q)


def bernoulli(n: Any) -> Any:
    """The Bernoulli numbers B_0 to B_n, n an int; B_1 is -1/2.

    Shapes: [n + 1], of the default float, each rounded once.
    Raises: ArgumentError for n < 0; ArgumentTypeError if n is no int.

    >>> from plait.scipy import special
    >>> special.bernoulli(4).round(4)
    Array([ 1.    , -0.5   ,  0.1667,  0.    , -0.0333], dtype=float32)
    """
    n = static_int(n, "bernoulli", "n")
    if n < 0:
        raise ArgumentError("n must not be negative", op="bernoulli", n=n)
    numbers = [Fraction(1)]
    for k in range(1, n + 1):
        known = sum((math.comb(k + 1, j) * b for j, b in enumerate(numbers) if b), Fraction(0))
        numbers.append(Fraction(0) if k > 1 and k % 2 else -known / (k + 1))
    floats = np.array([_rounded(b) for b in numbers])
    with np.errstate(over="ignore"):
        return jnp.asarray(floats.astype(dtypes.default_float()))


def _rounded(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


__all__ = [
    "bernoulli",
    "beta",
    "betainc",
    "betaln",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]
