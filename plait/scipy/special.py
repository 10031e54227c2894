"""`plait.scipy.special`: special functions, under SciPy's names.

Names and signatures are those of JAX's `jax.scipy.special`. The functions work element by element
and broadcast; integers become floats, other dtypes stay. On CPUs and GPUs they are computed in
float64 and rounded once. Complex numbers raise DtypeError, but where said otherwise; of these the
values are computed in their own precision (complex_functions.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.dtypes import COMPLEX, FLOAT, INTEGER
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError
from plait.nn.functions import log_softmax as _log_softmax
from plait.nn.functions import logsumexp
from plait.nn.functions import softmax as _softmax
from plait.numpy.promotion import INEXACT_KIND, operand, promote, static_int
from plait.ops import bessel, entropy, factorials, hypergeometric, incomplete, integrals, normal
from plait.ops import special as ops
from plait.ops.functions import logistic
from plait.scipy import complex_functions
from plait.scipy.complex_functions import sph_harm_y, wofz


def _apply(op: Any, name: str, *xs: Any) -> Any:
    return op.bind(*promote(name, xs, INEXACT_KIND, together=False))


def _is_complex(op: str, x: Any) -> bool:
    return type_of(operand(op, x)).dtype in COMPLEX


def _float(op: str, x: Any) -> Any:
    """An operand that is a float already."""
    x = operand(op, x)
    if type_of(x).dtype not in FLOAT:
        raise DtypeError("takes floats", op=op, x=x, fix="convert it with jnp.asarray(x, float)")
    return promote(op, (x,), INEXACT_KIND)[0]


# --- gamma functions and what is made of them


def gamma(x: Any) -> Any:
    """Γ(x); infinite at 0, NaN at -1, -2, ... and for complex x at 0 too.

    >>> import plait.scipy.special
    >>> plait.scipy.special.gamma(5.0)
    Array(24., dtype=float32, weak_type=True)
    """
    if _is_complex("gamma", x):
        return complex_functions.gamma(x)
    return _apply(factorials.gamma, "gamma", x)


def gammaln(x: Any) -> Any:
    """log |Γ(x)|."""
    return _apply(ops.lgamma, "gammaln", x)


def loggamma(x: Any) -> Any:
    """log Γ(x), infinite at 0, NaN for x < 0; of complex x without a jump but at the negative axis.

    >>> import plait.scipy.special
    >>> plait.scipy.special.loggamma(-0.5 + 0j).round(3)
    Array(1.266-3.142j, dtype=complex64, weak_type=True)
    """
    if _is_complex("loggamma", x):
        return complex_functions.log_gamma(x)
    (x,) = promote("loggamma", (x,), INEXACT_KIND)
    return jnp.where(x >= 0, ops.lgamma.bind(x), jnp.nan)


def gammasgn(x: Any) -> Any:
    """The sign of Γ(x); NaN at -1, -2, ..."""
    return _apply(factorials.gamma_sign, "gammasgn", x)


def digamma(x: Any) -> Any:
    """The derivative of log |Γ(x)|."""
    return _apply(ops.digamma, "digamma", x)


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of digamma of order n, integers from 0 on. Raises ArgumentError."""
    if type_of(operand("polygamma", n)).dtype not in INTEGER:
        raise ArgumentError("the order n holds integers", op="polygamma", n=n)
    return _apply(ops.polygamma, "polygamma", n, x)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension d, an int."""
    d = static_int(d, "multigammaln", "d")
    (a,) = promote("multigammaln", (a,), INEXACT_KIND)
    y = jnp.full_like(a, 0.25 * d * (d - 1) * math.log(math.pi))
    for k in range(d):
        y = y + ops.lgamma.bind(a - 0.5 * k)
    return y


def factorial(n: Any, exact: bool = False) -> Any:
    """n! as a float, Γ(n + 1) between whole numbers; 0 for n < 0. Raises ArgumentError if exact."""
    if exact:
        raise ArgumentError("computes floats: exact must be False", op="factorial", exact=exact)
    return _apply(factorials.factorial, "factorial", n)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose k of N things, as a float; 0 unless 0 <= k <= N.

    With repetition a thing may be chosen several times.
    """
    if not repetition:
        return _apply(factorials.binomial, "comb", N, k)
    N, k = promote("comb", (N, k), INEXACT_KIND, together=False)
    ways = factorials.binomial(N + k - 1, k)
    return jnp.where((k == 0) & (N >= 0), 1.0, ways).astype(ways.dtype)


def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol Γ(z + m) / Γ(z)."""
    return _apply(factorials.poch, "poch", z, m)


def beta(a: Any, b: Any) -> Any:
    """The beta function Γ(a) Γ(b) / Γ(a + b)."""
    return _apply(factorials.beta, "beta", a, b)


def betaln(a: Any, b: Any) -> Any:
    """log |beta(a, b)|."""
    return _apply(factorials.log_beta_p, "betaln", a, b)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function: the chance that a beta variable is below x.

    Derivative: with respect to all three; second ones with respect to x only.
    """
    return _apply(incomplete.betainc, "betainc", a, b, x)


def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function."""
    return _apply(incomplete.igamma, "gammainc", a, x)


def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function."""
    return _apply(incomplete.igammac, "gammaincc", a, x)


def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function, Σ (q + n)^-x over n = 0, 1, ...; Riemann's without q. NaN for
    x < 1.
    """
    return _apply(ops.zeta, "zeta", x, 1.0 if q is None else q)


def bernoulli(n: Any) -> Any:
    """The Bernoulli numbers B_0 to B_n, n an int; B_1 is -1/2. Raises ArgumentError for n < 0."""
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


# --- the error function and the normal distribution


def erf(x: Any) -> Any:
    """The error function."""
    return _apply(ops.erf, "erf", x)


def erfc(x: Any) -> Any:
    """1 - erf(x), exact where it is small."""
    return _apply(ops.erfc, "erfc", x)


def erfcx(x: Any) -> Any:
    """exp(x²) erfc(x), without underflow; also of complex x."""
    if _is_complex("erfcx", x):
        return wofz(jnp.multiply(1j, x))
    return _apply(normal.erfcx, "erfcx", x)


def erfinv(x: Any) -> Any:
    """The inverse of erf."""
    return _apply(ops.erf_inv, "erfinv", x)


def dawsn(x: Any) -> Any:
    """Dawson's integral."""
    return _apply(normal.dawson, "dawsn", x)


def ndtr(x: Any) -> Any:
    """The chance that a normal variable is below x. Raises DtypeError unless x holds floats."""
    return normal.ndtr.bind(_float("ndtr", x))


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), exact for all x; series_order, from 0 to 30, changes nothing.

    Raises: DtypeError unless x holds floats; ArgumentTypeError; ArgumentError.
    """
    if not isinstance(series_order, int):
        raise ArgumentTypeError(
            "series_order must be an int", op="log_ndtr", series_order=series_order
        )
    if not 0 <= series_order <= 30:
        raise ArgumentError(
            "series_order is from 0 to 30", op="log_ndtr", series_order=series_order
        )
    return normal.log_ndtr.bind(_float("log_ndtr", x))


def ndtri(p: Any) -> Any:
    """The inverse of ndtr. Raises DtypeError unless p holds floats."""
    return normal.ndtri.bind(_float("ndtri", p))


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T function."""
    return _apply(normal.owens_t, "owens_t", h, a)


# --- logarithms


def xlogy(x: Any, y: Any) -> Any:
    """x log(y); 0 where x is 0, with derivatives log(y) and 0. Also of complex numbers."""
    return _times_log("xlogy", entropy.xlogy, x, y, jnp.log)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y); 0 where x is 0. Also of complex numbers."""
    return _times_log("xlog1py", entropy.xlog1py, x, y, jnp.log1p)


def _times_log(name: str, op: Any, x: Any, y: Any, log: Any) -> Any:
    x, y = promote(name, (x, y), INEXACT_KIND, together=False)
    if type_of(x).dtype not in COMPLEX:
        return op.bind(x, y)
    x, y = jnp.asarray(x), jnp.asarray(y)
    nothing = (x == 0) & (y == y) & ~jnp.isfinite(log(y))
    return jnp.where(nothing, 0, x * log(jnp.where(nothing, 1, y)))


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below."""
    return _apply(entropy.entr, "entr", x)


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) for positive p and q; 0 where p is 0 and q not negative, else infinite."""
    return _apply(entropy.rel_entr, "rel_entr", p, q)


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q; q where p is 0, infinite as rel_entr is."""
    return _apply(entropy.kl_div, "kl_div", p, q)


def logit(x: Any) -> Any:
    """log(x / (1 - x)), also of complex numbers."""
    if _is_complex("logit", x):
        return jnp.log(x / (1 - x))
    return _apply(entropy.logit, "logit", x)


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x)), also of complex numbers."""
    return _apply(logistic, "expit", x)


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x ** lmbda - 1) / lmbda, and log(x) where lmbda is 0."""
    return _apply(entropy.boxcox, "boxcox", x, lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), exact near 0."""
    return _apply(entropy.boxcox1p, "boxcox1p", x, lmbda)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) divided by its sum over an axis, several, or all (None)."""
    return _softmax(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """The logarithm of softmax."""
    return _log_softmax(x, axis)


# --- Bessel functions, integrals, hypergeometric functions


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    return _apply(bessel.bessel_i0, "i0", x)


def i0e(x: Any) -> Any:
    """exp(-|x|) i0(x)."""
    return _apply(bessel.bessel_i0e, "i0e", x)


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    return _apply(bessel.bessel_i1, "i1", x)


def i1e(x: Any) -> Any:
    """exp(-|x|) i1(x)."""
    return _apply(bessel.bessel_i1e, "i1e", x)


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind of orders 0 to v, on a new first axis.

    n_iter, the least number of rounds of a recurrence, need not be raised for large z.
    Raises: ArgumentError for v < 0.
    """
    v = static_int(v, "bessel_jn", "v")
    n_iter = static_int(n_iter, "bessel_jn", "n_iter")
    if v < 0:
        raise ArgumentError("the order v must not be negative", op="bessel_jn", v=v)
    return bessel.bessel_j(promote("bessel_jn", (z,), INEXACT_KIND)[0], v, n_iter)


def exp1(x: Any) -> Any:
    """The exponential integral E1(x); NaN for x < 0."""
    return _apply(integrals.exp1, "exp1", x)


def expi(x: Any) -> Any:
    """The exponential integral Ei(x)."""
    return _apply(integrals.expi, "expi", x)


def expn(n: Any, x: Any) -> Any:
    """The exponential integral E_n(x), n a whole number, x >= 0; NaN elsewhere."""
    return _apply(integrals.expn, "expn", n, x)


def sici(x: Any) -> tuple[Any, Any]:
    """(Si(x), Ci(|x|)), the sine and cosine integrals."""
    return _apply(integrals.sine_integral, "sici", x), _apply(integrals.cosine_integral, "sici", x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """(S(x), C(x)), the integrals of sin(πt²/2) and cos(πt²/2) from 0 to x."""
    return _apply(integrals.fresnel_s, "fresnel", x), _apply(integrals.fresnel_c, "fresnel", x)


def spence(x: Any) -> Any:
    """The integral of log(t)/(1 - t) from 1 to x; NaN below 0. Raises DtypeError for integers."""
    return integrals.spence.bind(_float("spence", x))


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's hypergeometric function 1F1(a; b; x); 1 where a is 0.

    Derivative: with respect to all three; second ones with respect to x only.
    """
    return _apply(hypergeometric.hyp1f1, "hyp1f1", a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x); infinite for x > 1 unless a polynomial.

    Derivative: with respect to all four; second ones with respect to x only.
    """
    return _apply(hypergeometric.hyp2f1, "hyp2f1", a, b, c, x)


__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]
