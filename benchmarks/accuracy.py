"""How exact the elementwise functions are: `python -m benchmarks.accuracy [names...]`.

Prints, per function and dtype, the largest error in units in the last place (ulp) of the exact
result, where it occurs, and how many results that should be infinite, NaN or signed zeros are not.
The correctly rounded result has an error of at most 0.5. Exact results come from float64 for
narrower dtypes, and from mpmath for float64.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import scipy.special

EDGES = [0.0, 1e-45, 1.1754942e-38, 1.1754944e-38, 2.0**-24, 2.0**-12, 0.5, 1.0, 1 + 2.0**-23]
EDGES += [
    1 - 2.0**-24,
    np.pi / 4,
    np.pi / 2,
    np.pi,
    2.0,
    3.0,
    8.0,
    17.0,
    88.72,
    88.73,
    103.9,
    126.0,
]
EDGES += [126.0, 127.99999, 150.0, 16777216.0, 16777215.0, 3.4028235e38, np.inf, np.nan]
EDGES = np.array([*EDGES, *(-x for x in EDGES)])


@dataclass(frozen=True)
class Function:
    """Attributes: wide: the function on float64 arrays; exact: on mpmath numbers; low, high: where
    it is interesting."""

    wide: Callable[..., np.ndarray]
    exact: Callable[..., Any]
    low: float = -8.0
    high: float = 8.0
    operands: int = 1


def _expit(x):
    return 1 / (1 + mpmath.exp(-x))


def _odd(function):
    # SciPy gives 0 for -0.
    return lambda x: np.where(x == 0, x, function(x))


def _gammaln(x):
    # inf at -inf, as C and JAX have it.
    return np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))


def _psi(x):
    return np.where(x == 0, -np.inf, scipy.special.digamma(x))


FUNCTIONS: dict[str, Function] = {
    "sin": Function(np.sin, mpmath.sin),
    "cos": Function(np.cos, mpmath.cos),
    "tan": Function(np.tan, mpmath.tan),
    "asin": Function(np.arcsin, mpmath.asin, -1, 1),
    "acos": Function(np.arccos, mpmath.acos, -1, 1),
    "atan": Function(np.arctan, mpmath.atan),
    "atan2": Function(np.arctan2, mpmath.atan2, operands=2),
    "exp": Function(np.exp, mpmath.exp, -90, 90),
    "exp2": Function(np.exp2, lambda x: mpmath.power(2, x), -130, 130),
    "expm1": Function(np.expm1, mpmath.expm1),
    "log": Function(np.log, mpmath.log, 0, 8),
    "log2": Function(np.log2, lambda x: mpmath.log(x, 2), 0, 8),
    "log1p": Function(np.log1p, mpmath.log1p, -1, 8),
    "pow": Function(np.power, lambda x, y: mpmath.re(mpmath.power(x, y)), 0, 10, operands=2),
    "sqrt": Function(np.sqrt, mpmath.sqrt, 0, 8),
    "rsqrt": Function(lambda x: 1 / np.sqrt(x), lambda x: 1 / mpmath.sqrt(x), 0, 8),
    "cbrt": Function(np.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))),
    "sinh": Function(np.sinh, mpmath.sinh),
    "cosh": Function(np.cosh, mpmath.cosh),
    "tanh": Function(np.tanh, mpmath.tanh),
    "asinh": Function(np.arcsinh, mpmath.asinh),
    "acosh": Function(np.arccosh, mpmath.acosh, 1, 8),
    "atanh": Function(np.arctanh, mpmath.atanh, -1, 1),
    "logistic": Function(scipy.special.expit, _expit),
    "erf": Function(scipy.special.erf, mpmath.erf, -4, 4),
    "erfc": Function(scipy.special.erfc, mpmath.erfc, -4, 9),
    "erf_inv": Function(_odd(scipy.special.erfinv), mpmath.erfinv, -1, 1),
    "lgamma": Function(_gammaln, lambda x: mpmath.re(mpmath.loggamma(x)), 0, 8),
    "digamma": Function(_psi, mpmath.digamma, 0, 8),
    "bessel_i0e": Function(scipy.special.i0e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x)),
    "bessel_i1e": Function(
        _odd(scipy.special.i1e), lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x)
    ),
}
DTYPES = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def points(name: str, dtype: np.dtype, n: int) -> list[np.ndarray]:
    """Operands: every float of 16 bits, else random bits, numbers where the function is
    interesting, and the edges; pairs of edges for two operands."""
    function, generator = FUNCTIONS[name], np.random.default_rng(0)
    width = dtype.itemsize
    columns = []
    for _ in range(function.operands):
        bits = generator.integers(0, 2 ** (8 * width), n // 2, f"u{width}", endpoint=False)
        if width == 2 and function.operands == 1:
            bits = np.arange(2**16, dtype=np.uint16)
        usual = generator.uniform(function.low, function.high, n - n // 2)
        columns.append(np.concatenate([bits.view(dtype), usual.astype(dtype)]))
    edges = np.meshgrid(*[EDGES] * function.operands)
    with np.errstate(all="ignore"):
        return [
            np.concatenate([c, e.ravel().astype(dtype)])
            for c, e in zip(columns, edges, strict=True)
        ]


def exact(name: str, xs: list[np.ndarray]) -> np.ndarray:
    """The results in a dtype wide enough to count as exact."""
    function = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        y = function.wide(*(x.astype(np.float64) for x in xs))
    if xs[0].dtype != np.float64:  # float64 is exact enough
        return y
    ordinary = np.isfinite(y) & (y != 0)
    for x in xs:
        # mpmath knows no signed zeros, which the second operand of atan2 asks for.
        ordinary &= np.isfinite(x) & ((x != 0) | (len(xs) == 1))
    with mpmath.workdps(50):
        # Where float64's own answer is finite, the exact one in two parts, high and low.
        parts = np.zeros((2, y.size))
        for k in np.flatnonzero(ordinary):
            number = function.exact(*(mpmath.mpf(float(x[k])) for x in xs))
            parts[0, k] = float(number)
            parts[1, k] = float(number - mpmath.mpf(parts[0, k]))
    longer = parts[0].astype(np.longdouble) + parts[1].astype(np.longdouble)
    return np.where(ordinary, longer, y)


def ulps(y: np.ndarray, want: np.ndarray) -> np.ndarray:
    """|y - want| in units in the last place of want; 0 where either is not finite, and where want
    is below the smallest normal number and y was flushed to zero."""
    limits = ml_dtypes.finfo(y.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(want)
        rounded = want.astype(y.dtype).astype(want.dtype)
        finite = np.isfinite(rounded) & np.isfinite(y.astype(want.dtype))
        exponent = np.frexp(np.where(finite & (size > 0), size, 1.0))[1] - 1
        exponent = np.maximum(np.where(size > 0, exponent, -(10**6)), int(limits.minexp))
        unit = np.ldexp(want.dtype.type(1), exponent - int(limits.nmant))
        error = np.where(finite, np.abs(y.astype(want.dtype) - want) / unit, 0.0)
        flushed = (size < float(limits.smallest_normal)) & (y == 0)
    return np.where(flushed, 0.0, error).astype(np.float64)


def wrong_edges(y: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where a NaN, an infinity or the sign of a zero differs."""
    with np.errstate(all="ignore"):
        right = want.astype(y.dtype)
        nan = np.isnan(right) != np.isnan(y)
        infinite = (np.isinf(right) | np.isinf(y)) & (right != y) & ~np.isnan(right)
        zero = (want == 0) & (y == 0) & (np.signbit(right) != np.signbit(y))
    # A result that rounds to infinity may be the largest number, and the other way round.
    near = np.abs(want) > float(ml_dtypes.finfo(y.dtype).max) * (1 - 1e-3)
    return nan | zero | (infinite & ~(near & np.isfinite(want)))


def measure(name: str, dtype: np.dtype, n: int):
    """(largest error, operands where, number of wrong edges) of plait's function."""
    import plait

    operation = plait.jit(getattr(plait.lax, name))
    xs = points(name, dtype, n)
    y = np.asarray(operation(*xs))
    want = exact(name, xs)
    errors = ulps(y, want)
    worst = int(np.argmax(errors))
    return errors[worst], [x[worst] for x in xs], int(wrong_edges(y, want).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions; all without a name")
    parser.add_argument("--points", type=int, default=1_000_000, help="per function (default 1e6)")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    options = parser.parse_args()
    import plait

    plait.config.update("enable_x64", True)
    warnings.simplefilter("ignore")
    print(f"{'':12}{'':10}{'max ulp':>10}  {'wrong edges':>12}  at")
    for name in options.names or FUNCTIONS:
        for kind in options.dtypes:
            # mpmath takes some 50 us a number.
            n = min(options.points, 4_000) if kind == "float64" else options.points
            error, where, wrong = measure(name, DTYPES[kind], n)
            at = ", ".join(f"{float(x):.9g}" for x in where)
            print(f"{name:12}{kind:10}{error:10.3g}  {wrong:12}  {at}", flush=True)


if __name__ == "__main__":
    main()
