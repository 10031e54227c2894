"""`plait.scipy.special`: special functions, under SciPy's names.

Names and signatures are those of JAX's `jax.scipy.special`. The functions work element by element
and broadcast; integers become floats, other dtypes stay. On CPUs and GPUs they are computed in
float64 and rounded once. Complex numbers raise DtypeError, but where said otherwise; of these the
values are computed in their own precision (complex_functions.py).
"""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.core.dtypes import COMPLEX
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError
from plait.nn.functions import log_softmax as _log_softmax
from plait.nn.functions import logsumexp
from plait.nn.functions import softmax as _softmax
from plait.numpy.promotion import INEXACT_KIND, promote, static_int
from plait.ops import bessel, entropy, hypergeometric, integrals, normal
from plait.ops import special as ops
from plait.ops.functions import logistic
from plait.scipy.complex_functions import sph_harm_y, wofz
from plait.scipy.gamma_functions import (
    bernoulli,
    beta,
    betainc,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    loggamma,
    multigammaln,
    poch,
    polygamma,
    zeta,
)
from plait.scipy.operands import apply, floats, is_complex

# --- the error function and the normal distribution


def erf(x: Any) -> Any:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.erf(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-0.8427,  0.    ,  0.8427], dtype=float32)
    """
    return apply(ops.erf, "erf", x)


def erfc(x: Any) -> Any:
    """1 - erf(x), exact where it is small.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.erfc(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([1.8427, 1.    , 0.1573], dtype=float32)
    """
    return apply(ops.erfc, "erfc", x)


def erfcx(x: Any) -> Any:
    """exp(x²) erfc(x), without underflow for large x; infinite where it overflows below 0.

    Element by element, also of complex x; integers become floats.

    >>> from plait.scipy import special
    >>> special.erfcx(jnp.array([-1.0, 0.0, 100.0])).round(4)
    Array([5.009 , 1.    , 0.0056], dtype=float32)
    """
    if is_complex("erfcx", x):
        return wofz(jnp.multiply(1j, x))
    return apply(normal.erfcx, "erfcx", x)


def erfinv(x: Any) -> Any:
    """The inverse of erf; infinite at -1 and 1, NaN beyond.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.erfinv(jnp.array([-0.5, 0.5, 1.0])).round(4)
    Array([-0.4769,  0.4769,     inf], dtype=float32)
    """
    return apply(ops.erf_inv, "erfinv", x)


def dawsn(x: Any) -> Any:
    """Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.dawsn(jnp.array([0.0, 1.0, 2.0])).round(4)
    Array([0.    , 0.5381, 0.3013], dtype=float32)
    """
    return apply(normal.dawson, "dawsn", x)


def ndtr(x: Any) -> Any:
    """The chance that a standard normal variable is below x.

    Element by element. Raises: DtypeError unless x holds floats.

    >>> from plait.scipy import special
    >>> special.ndtr(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.1587, 0.5   , 0.8413], dtype=float32)
    """
    return normal.ndtr.bind(floats("ndtr", x))


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), exact for all x; series_order, from 0 to 30, changes nothing.

    Element by element. Raises: DtypeError unless x holds floats; ArgumentTypeError, ArgumentError
    for other series_order.

    >>> from plait.scipy import special
    >>> special.log_ndtr(jnp.array([-10.0, -1.0, 1.0])).round(2)
    Array([-53.23,  -1.84,  -0.17], dtype=float32)
    """
    if not isinstance(series_order, int):
        raise ArgumentTypeError(
            "series_order must be an int", op="log_ndtr", series_order=series_order
        )
    if not 0 <= series_order <= 30:
        raise ArgumentError(
            "series_order is from 0 to 30", op="log_ndtr", series_order=series_order
        )
    return normal.log_ndtr.bind(floats("log_ndtr", x))


def ndtri(p: Any) -> Any:
    """The inverse of ndtr; infinite at 0 and 1, NaN beyond.

    Element by element. Raises: DtypeError unless p holds floats.

    >>> from plait.scipy import special
    >>> special.ndtri(jnp.array([0.025, 0.5, 1.0])).round(2)
    Array([-1.96,  0.  ,   inf], dtype=float32)
    """
    return normal.ndtri.bind(floats("ndtri", p))


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T function: the chance that X > h and 0 < Y < a X, for standard normal X and Y.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.owens_t(jnp.array([0.0, 1.0, 2.0]), 1.0).round(4)
    Array([0.125 , 0.0667, 0.0111], dtype=float32)
    """
    return apply(normal.owens_t, "owens_t", h, a)


# --- logarithms


def xlogy(x: Any, y: Any) -> Any:
    """x log(y); 0 where x is 0 and y no NaN.

    The arguments, also complex ones, broadcast; integers become floats.
    Derivative: at x = 0 log(y) by x, 0 by y. Raises: ShapeError.

    >>> from plait.scipy import special
    >>> special.xlogy(jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 1.0, 4.0])).round(3)
    Array([0.   , 0.   , 2.773], dtype=float32)
    """
    return _times_log("xlogy", entropy.xlogy, x, y, jnp.log)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), exact for small y; 0 where x is 0 and y no NaN.

    The arguments, also complex ones, broadcast; integers become floats. Raises: ShapeError.

    >>> from plait.scipy import special
    >>> special.xlog1py(jnp.array([0.0, 1.0, 2.0]), jnp.array([-1.0, 0.0, 3.0])).round(3)
    Array([0.   , 0.   , 2.773], dtype=float32)
    """
    return _times_log("xlog1py", entropy.xlog1py, x, y, jnp.log1p)


def _times_log(name: str, op: Any, x: Any, y: Any, log: Any) -> Any:
    x, y = promote(name, (x, y), INEXACT_KIND, together=False)
    if type_of(x).dtype not in COMPLEX:
        return op.bind(x, y)
    x, y = jnp.asarray(x), jnp.asarray(y)
    nothing = (x == 0) & (y == y) & ~jnp.isfinite(log(y))
    return jnp.where(nothing, 0, x * log(jnp.where(nothing, 1, y)))


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below.

    Derivative: infinite at 0. Element by element; integers become floats. Raises: DtypeError for
    complex numbers.

    >>> from plait.scipy import special
    >>> special.entr(jnp.array([0.0, 0.5, -1.0])).round(3)
    Array([0.   , 0.347,  -inf], dtype=float32)
    """
    return apply(entropy.entr, "entr", x)


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) for positive p and q; 0 where p is 0 and q not negative, else infinite.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.rel_entr(jnp.array([0.0, 0.5, 1.0]), jnp.array([0.5, 0.25, 0.0])).round(3)
    Array([0.   , 0.347,   inf], dtype=float32)
    """
    return apply(entropy.rel_entr, "rel_entr", p, q)


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q; q where p is 0, infinite as rel_entr is.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.kl_div(jnp.array([0.0, 0.5, 1.0]), jnp.array([0.5, 0.25, 0.0])).round(3)
    Array([0.5  , 0.097,   inf], dtype=float32)
    """
    return apply(entropy.kl_div, "kl_div", p, q)


def logit(x: Any) -> Any:
    """log(x / (1 - x)), also of complex numbers; infinite at 0 and 1, for real x NaN beyond.

    Element by element; integers become floats.

    >>> from plait.scipy import special
    >>> special.logit(jnp.array([0.0, 0.25, 0.75])).round(3)
    Array([  -inf, -1.099,  1.099], dtype=float32)
    """
    if is_complex("logit", x):
        return jnp.log(x / (1 - x))
    return apply(entropy.logit, "logit", x)


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x)), also of complex numbers; without overflow.

    Element by element; integers become floats.

    >>> from plait.scipy import special
    >>> special.expit(jnp.array([-1000.0, 0.0, 1.0])).round(3)
    Array([0.   , 0.5  , 0.731], dtype=float32)
    """
    return apply(logistic, "expit", x)


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x ** lmbda - 1) / lmbda, and log(x) where lmbda is 0; NaN for x < 0.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.boxcox(4.0, jnp.array([0.0, 0.5, 1.0])).round(3)
    Array([1.386, 2.   , 3.   ], dtype=float32)
    """
    return apply(entropy.boxcox, "boxcox", x, lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), exact near 0.

    The arguments broadcast; integers become floats. Raises: DtypeError for complex numbers,
    ShapeError.

    >>> from plait.scipy import special
    >>> special.boxcox1p(3.0, jnp.array([0.0, 0.5, 1.0])).round(3)
    Array([1.386, 2.   , 3.   ], dtype=float32)
    """
    return apply(entropy.boxcox1p, "boxcox1p", x, lmbda)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) divided by its sum over an axis, several, or all (None), without overflow.

    Shape unchanged; integers become floats. Raises: OutOfRangeError for an axis that is not there.

    >>> from plait.scipy import special
    >>> special.softmax(jnp.array([[0.0, 0.0], [0.0, 100.0]]), axis=-1).round(3)
    Array([[0.5, 0.5],
           [0. , 1. ]], dtype=float32)
    """
    return _softmax(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """The logarithm of softmax, exact where that is 0.

    Shape unchanged; integers become floats. Raises: OutOfRangeError for an axis that is not there.

    >>> from plait.scipy import special
    >>> special.log_softmax(jnp.array([[0.0, 0.0], [0.0, 100.0]]), axis=-1).round(3)
    Array([[  -0.693,   -0.693],
           [-100.   ,    0.   ]], dtype=float32)
    """
    return _log_softmax(x, axis)


# --- Bessel functions, integrals, hypergeometric functions


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.i0(jnp.array([0.0, 1.0, 2.0])).round(3)
    Array([1.   , 1.266, 2.28 ], dtype=float32)
    """
    return apply(bessel.bessel_i0, "i0", x)


def i0e(x: Any) -> Any:
    """exp(-|x|) i0(x), without overflow.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.i0e(jnp.array([0.0, 1.0, 1000.0])).round(3)
    Array([1.   , 0.466, 0.013], dtype=float32)
    """
    return apply(bessel.bessel_i0e, "i0e", x)


def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.i1(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-0.565,  0.   ,  1.591], dtype=float32)
    """
    return apply(bessel.bessel_i1, "i1", x)


def i1e(x: Any) -> Any:
    """exp(-|x|) i1(x), without overflow.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.i1e(jnp.array([-1.0, 0.0, 1000.0])).round(3)
    Array([-0.208,  0.   ,  0.013], dtype=float32)
    """
    return apply(bessel.bessel_i1e, "i1e", x)


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind of orders 0 to v, on a new first axis.

    n_iter, the least number of rounds of a recurrence, need not be raised for large z.
    Shapes: z [...] -> [v + 1, ...]. Integers become floats.
    Raises: ArgumentError for v < 0; ArgumentTypeError unless v and n_iter are ints; DtypeError for
    complex z.

    >>> from plait.scipy import special
    >>> special.bessel_jn(jnp.array([0.0, 1.0, 2.0]), v=1).round(3)
    Array([[1.   , 0.765, 0.224],
           [0.   , 0.44 , 0.577]], dtype=float32)
    """
    v = static_int(v, "bessel_jn", "v")
    n_iter = static_int(n_iter, "bessel_jn", "n_iter")
    if v < 0:
        raise ArgumentError("the order v must not be negative", op="bessel_jn", v=v)
    return bessel.bessel_j(promote("bessel_jn", (z,), INEXACT_KIND)[0], v, n_iter)


def exp1(x: Any) -> Any:
    """The exponential integral E1(x), that of exp(-t)/t from x on; infinite at 0, NaN below.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.exp1(jnp.array([0.0, 1.0, 2.0])).round(4)
    Array([   inf, 0.2194, 0.0489], dtype=float32)
    """
    return apply(integrals.exp1, "exp1", x)


def expi(x: Any) -> Any:
    """The exponential integral Ei(x), that of exp(t)/t up to x; -inf at 0.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.expi(jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([-0.2194,    -inf,  1.8951], dtype=float32)
    """
    return apply(integrals.expi, "expi", x)


def expn(n: Any, x: Any) -> Any:
    """The exponential integral E_n(x), n a whole number, x >= 0; NaN elsewhere.

    The integral of exp(-x t) / t^n from t = 1 on. The arguments broadcast; integers become floats.
    Raises: DtypeError for complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.expn(jnp.array([0, 1, 2]), 1.0).round(4)
    Array([0.3679, 0.2194, 0.1485], dtype=float32, weak_type=True)
    """
    return apply(integrals.expn, "expn", n, x)


def sici(x: Any) -> tuple[Any, Any]:
    """(Si(x), Ci(|x|)), the sine and cosine integrals; Ci is -inf at 0.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> special.sici(1.0)[0].round(4), special.sici(1.0)[1].round(4)
    (Array(0.9461, dtype=float32, weak_type=True), Array(0.3374, dtype=float32, weak_type=True))
    """
    return apply(integrals.sine_integral, "sici", x), apply(integrals.cosine_integral, "sici", x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """(S(x), C(x)), the integrals of sin(πt²/2) and cos(πt²/2) from 0 to x.

    Element by element; integers become floats. Raises: DtypeError for complex numbers.

    >>> from plait.scipy import special
    >>> [y.round(4) for y in special.fresnel(jnp.array([0.0, 1.0, 2.0]))]
    [Array([0.    , 0.4383, 0.3434], dtype=float32), Array([0.    , 0.7799, 0.4883], dtype=float32)]
    """
    return apply(integrals.fresnel_s, "fresnel", x), apply(integrals.fresnel_c, "fresnel", x)


def spence(x: Any) -> Any:
    """The integral of log(t)/(1 - t) from 1 to x; NaN below 0.

    Element by element. Raises: DtypeError unless x holds floats.

    >>> from plait.scipy import special
    >>> special.spence(jnp.array([0.0, 0.5, 2.0])).round(4)
    Array([ 1.6449,  0.5822, -0.8225], dtype=float32)
    """
    return integrals.spence.bind(floats("spence", x))


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's hypergeometric function 1F1(a; b; x); 1 where a is 0.

    The arguments broadcast; integers become floats.
    Derivative: with respect to all three; second ones with respect to x only.
    Raises: DtypeError for complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.hyp1f1(1.0, 2.0, jnp.array([-1.0, 0.0, 1.0])).round(4)
    Array([0.6321, 1.    , 1.7183], dtype=float32)
    """
    return apply(hypergeometric.hyp1f1, "hyp1f1", a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x); infinite for x > 1 unless a polynomial.

    The arguments broadcast; integers become floats.
    Derivative: with respect to all four; second ones with respect to x only.
    Raises: DtypeError for complex numbers, ShapeError.

    >>> from plait.scipy import special
    >>> special.hyp2f1(1.0, 1.0, 2.0, jnp.array([-1.0, 0.0, 0.5])).round(4)
    Array([0.6931, 1.    , 1.3863], dtype=float32)
    """
    return apply(hypergeometric.hyp2f1, "hyp2f1", a, b, c, x)


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
