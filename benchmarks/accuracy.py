"""How exact the elementwise functions are: `python -m benchmarks.accuracy [names...]`.

Prints, per function and dtype, the largest error in units in the last place (ulp) of the exact
result, where it occurs, and how many results that should be infinite, NaN or signed zeros are not.
The correctly rounded result has an error of at most 0.5. Exact results come from float64 for
narrower dtypes, and from mpmath for float64 and complex numbers, whose parts count one by one.
`--markdown docs/accuracy.md` writes the page of the documentation instead.
"""

import argparse
import pathlib
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
    it is interesting, of each operand or of all; everywhere: whether all numbers are tried, or
    those only; call: plait's function, from the package plait, if it has no name of its own."""

    wide: Callable[..., np.ndarray]
    exact: Callable[..., Any]
    low: Any = -8.0
    high: Any = 8.0
    operands: int = 1
    everywhere: bool = True
    call: Callable[..., Any] | None = None


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
    "log10": Function(np.log10, mpmath.log10, 0, 8),
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


def _special(wide, exact, low=-8.0, high=8.0, operands=1, **more):
    return Function(wide, exact, low, high, operands, everywhere=False, **more)


def _j(v):
    return _special(
        lambda x: scipy.special.jv(v, x),
        lambda x: mpmath.besselj(v, x),
        -30,
        30,
        call=lambda plait: lambda x: plait.scipy.special.bessel_jn(x, v=v)[v],
    )


def _trigamma(plait):
    return lambda x: plait.scipy.special.polygamma(1, x)


SPECIAL: dict[str, Function] = {
    "gamma": _special(scipy.special.gamma, mpmath.gamma, -8, 30),
    "beta": _special(scipy.special.beta, mpmath.beta, 0, 12, 2),
    "betaln": _special(scipy.special.betaln, lambda a, b: mpmath.log(mpmath.beta(a, b)), 0, 12, 2),
    "polygamma(1, x)": _special(
        lambda x: scipy.special.polygamma(1, x), lambda x: mpmath.psi(1, x), 0, 12, call=_trigamma
    ),
    "zeta": _special(scipy.special.zeta, mpmath.zeta, (1, 0), (12, 12), 2),
    "gammainc": _special(
        scipy.special.gammainc, lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), 0, 12, 2
    ),
    "gammaincc": _special(
        scipy.special.gammaincc, lambda a, x: mpmath.gammainc(a, x, regularized=True), 0, 12, 2
    ),
    "betainc": _special(
        scipy.special.betainc,
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        (0, 0, 0),
        (8, 8, 1),
        3,
    ),
    "erfcx": _special(scipy.special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -5, 20),
    "dawsn": _special(
        scipy.special.dawsn,
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
    ),
    "ndtr": _special(scipy.special.ndtr, mpmath.ncdf, -30, 8),
    "log_ndtr": _special(scipy.special.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), -30, 8),
    "ndtri": _special(
        scipy.special.ndtri, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 0, 1
    ),
    "owens_t": _special(
        scipy.special.owens_t,
        lambda h, a: (
            mpmath.quad(lambda x: mpmath.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a])
            / (2 * mpmath.pi)
        ),
        -3,
        3,
        2,
    ),
    "i0": _special(scipy.special.i0, lambda x: mpmath.besseli(0, x), -30, 30),
    "i1": _special(scipy.special.i1, lambda x: mpmath.besseli(1, x), -30, 30),
    "J0": _j(0),
    "J1": _j(1),
    "exp1": _special(scipy.special.exp1, mpmath.e1, 0, 30),
    "expi": _special(scipy.special.expi, mpmath.ei, -20, 20),
    "spence": _special(scipy.special.spence, lambda x: mpmath.re(mpmath.polylog(2, 1 - x)), 0, 12),
    "logit": _special(scipy.special.logit, lambda p: mpmath.log(p / (1 - p)), 0, 1),
    "entr": _special(scipy.special.entr, lambda x: -x * mpmath.log(x), 0, 8),
    "xlogy": _special(scipy.special.xlogy, lambda x, y: x * mpmath.log(y), 0, 8, 2),
    "logaddexp": _special(
        np.logaddexp, lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), -8, 8, 2
    ),
    "hypot": _special(np.hypot, mpmath.hypot, -8, 8, 2),
}
FUNCTIONS |= SPECIAL
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
    lows, highs = (np.broadcast_to(v, function.operands) for v in (function.low, function.high))
    for low, high in zip(lows, highs, strict=True):
        bits = generator.integers(0, 2 ** (8 * width), n // 2, f"u{width}", endpoint=False)
        if width == 2 and function.operands == 1:
            bits = np.arange(2**16, dtype=np.uint16)
        usual = generator.uniform(low, high, n - n // 2).astype(dtype)
        columns.append(np.concatenate([bits.view(dtype), usual]) if function.everywhere else usual)
    if not function.everywhere:
        return columns
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


# --- complex numbers

COMPLEX: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda z: mpmath.power(2, z),
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "sqrt": mpmath.sqrt,
    "abs": abs,
    "sign": lambda z: z / abs(z),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}


def complex_points(n: int) -> np.ndarray:
    """9 n finite numbers: with parts of very different size, and close to 1, to -1, to the unit
    circle and to the one around -1."""
    generator = np.random.default_rng(0)

    def small(scale=1.0):
        size = np.exp(generator.uniform(np.log(1e-8), np.log(20.0), n))
        return scale * size * generator.choice([-1, 1], n)

    def usual(width=3.0):
        return generator.uniform(-width, width, n)

    turns = np.exp(1j * usual()) * (1 + 1e-4)
    pairs = [(usual(), usual()), (small(), small()), (small(), usual()), (usual(), small())]
    pairs += [(1 + small(1e-3), small(1e-3)), (-1 + small(1e-3), small(1e-3))]
    pairs += [(turns.real, turns.imag), (turns.real - 1, turns.imag), (usual(80.0), usual(80.0))]
    return np.concatenate([x + 1j * y for x, y in pairs])


def parts(function: Callable[..., Any], z: np.ndarray) -> np.ndarray:
    """The parts [2, n] of an mpmath function of complex numbers, in long double."""
    with mpmath.workdps(50):
        ys = [mpmath.mpc(function(mpmath.mpc(x.real, x.imag))) for x in z.astype(complex)]
        rows = [[(float(p), p - float(p)) for p in (y.real, y.imag)] for y in ys]
    return np.array([[np.longdouble(p) + np.longdouble(float(r)) for p, r in y] for y in rows]).T


def complex_ulps(y: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The errors [2, n] of the parts of y."""
    return ulps(np.array([np.real(y), np.imag(y)]), want)


def measure(name: str, dtype: np.dtype, n: int):
    """(largest error, operands where, number of wrong edges) of plait's function."""
    import plait
    import plait.scipy.special

    call = FUNCTIONS[name].call
    homes = (plait.lax, plait.numpy, plait.scipy.special)
    named = next((getattr(home, name) for home in homes if hasattr(home, name)), None)
    operation = plait.jit(named if call is None else call(plait))
    xs = points(name, dtype, n)
    y = np.asarray(operation(*xs))
    want = exact(name, xs)
    errors = errors_of(y, want, xs)
    worst = int(np.argmax(errors))
    return errors[worst], [x[worst] for x in xs], int(wrong_edges(y, want).sum())


def errors_of(y: np.ndarray, want: np.ndarray, xs: list[np.ndarray]) -> np.ndarray:
    """The errors of y, in ulp."""
    errors = ulps(y, want)
    if y.dtype == np.float64:  # in which XLA:CPU takes subnormal operands for zeros
        for x in xs:
            errors[(np.abs(x) < np.finfo(y.dtype).tiny) & (x != 0)] = 0.0
    return errors


def measure_peer(name: str, n: int) -> float:
    """The largest error of NumPy's or SciPy's function of float64, on the same operands."""
    xs = points(name, np.dtype(np.float64), n)
    with np.errstate(all="ignore"):
        y = np.asarray(FUNCTIONS[name].wide(*xs))
    return errors_of(y, exact(name, xs), xs).max()


def count(name: str, kind: str, most: int) -> int:
    """The points for a function: mpmath takes some 50 us a number, and more for special ones."""
    if kind != "float64":
        return min(most, 200_000) if name in SPECIAL else most
    return min(most, 600 if name in SPECIAL else 4_000)


def measure_complex(name: str, dtype: Any, n: int) -> float:
    """The largest error of a part of plait's function."""
    import plait

    z = complex_points(n).astype(dtype)
    y = np.asarray(plait.jit(getattr(plait.numpy, name))(z))
    return complex_ulps(y, parts(COMPLEX[name], z)).max()


PAGE = """# How exact the functions are

The largest errors found, in units in the last place (ulp) of the exact result; the correctly
rounded result has an error of at most 0.5. Measured on a CPU (x86-64) by
`python -m benchmarks.accuracy --markdown docs/accuracy.md`, which writes this page.

- **Operands**: {points:,} per function and dtype, half of them random bit patterns (every number of
  16 bits, subnormal ones included), half where the function is interesting, and a list of special
  values. Special functions: where they are interesting only, 100,000 each. float64: {few:,},
  special functions 300. Complex: {complexes:,}.
- **Exact results** come from float64 functions of NumPy and SciPy for narrower dtypes, from mpmath
  with 50 digits for float64 and complex numbers.
- Results below the smallest normal number may be zero.
- Subnormal operands of float64 and of complex numbers may count as zero. Where a function passes
  through zero away from 0 (digamma, expi, J0, logaddexp), the error counts in units of a result
  that vanishes.
- The last column is the error of NumPy's or SciPy's float64 on the same operands.
- On GPU and TPU most functions are XLA's own, and errors are XLA's.

## Real numbers

| function | float32 | float16 | bfloat16 | float64 | NumPy, SciPy |
| --- | ---: | ---: | ---: | ---: | ---: |
{real}

## Complex numbers

The error of the worse part, each in its own units: a real part of 1e-9 beside an imaginary one of 1
has its digits too. The real part of `expm1`, which cancels along a curve, is exact to 8 ulp of the
whole number.

| function | complex64 | complex128 |
| --- | ---: | ---: |
{complex}
"""


def shown(error: float) -> str:
    """An error as the page has it."""
    return f"{error:.2f}" if error < 1000 else "> 1000"


def write(path: pathlib.Path, most: int, complexes: int = 450):
    """The page of the documentation."""
    rows = []
    kinds = ["float32", "float16", "bfloat16", "float64"]
    for name in FUNCTIONS:
        errors = [measure(name, DTYPES[kind], count(name, kind, most))[0] for kind in kinds]
        errors.append(measure_peer(name, count(name, "float64", most)))
        rows.append(f"| {name} | " + " | ".join(shown(e) for e in errors) + " |")
        print(rows[-1], flush=True)
    lines = []
    for name in COMPLEX:
        errors = [measure_complex(name, d, complexes // 9) for d in (np.complex64, np.complex128)]
        lines.append(f"| {name} | " + " | ".join(f"{e:.2f}" for e in errors) + " |")
        print(lines[-1], flush=True)
    few, table, other = count("sin", "float64", most), "\n".join(rows), "\n".join(lines)
    page = PAGE.format(points=most, few=few, complexes=complexes, real=table, complex=other)
    path.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions; all without a name")
    parser.add_argument("--points", type=int, default=1_000_000, help="per function (default 1e6)")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--markdown", type=pathlib.Path, help="write the page of all functions")
    options = parser.parse_args()
    import plait

    plait.config.update("enable_x64", True)
    warnings.simplefilter("ignore")
    if options.markdown:
        write(options.markdown, options.points)
        return
    print(f"{'':16}{'':10}{'max ulp':>10}  {'wrong edges':>12}  at")
    for name in options.names or FUNCTIONS:
        for kind in options.dtypes:
            error, where, wrong = measure(name, DTYPES[kind], count(name, kind, options.points))
            at = ", ".join(f"{float(x):.9g}" for x in where)
            print(f"{name:16}{kind:10}{error:10.3g}  {wrong:12}  {at}", flush=True)


if __name__ == "__main__":
    main()
