"""Formulas that are written once and mean the same on NumPy arrays and in StableHLO.

A Term is a builder's Value with Python's operators and the few array methods (`astype`, `view`)
that formulas need. HloMath and NumpyMath offer the same functions on Terms and on arrays.
`by_formula` makes an op's meaning and its lowering of one formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.hlo.builder import Builder, Value


class Term:
    """A Value in a formula. Numbers beside it take its dtype; shifts of signed integers are
    arithmetic, of unsigned ones logical.
    """

    __slots__ = ("b", "value")

    def __init__(self, b: Builder, value: Value):
        self.b, self.value = b, value

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def lift(self, other: Any) -> Value:
        """The Value of a Term, or a number as an array like this one."""
        return other.value if isinstance(other, Term) else self.b.full_like(self.value, other)

    def _binary(self, op: str, other: Any) -> Term:
        return Term(self.b, self.b.binary(op, self.value, self.lift(other)))

    def _reflected(self, op: str, other: Any) -> Term:
        return Term(self.b, self.b.binary(op, self.lift(other), self.value))

    def _compare(self, direction: str, other: Any) -> Term:
        return Term(self.b, self.b.compare(direction, self.value, self.lift(other)))

    def __add__(self, other: Any) -> Term:
        return self._binary("add", other)

    def __sub__(self, other: Any) -> Term:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Term:
        return self._reflected("subtract", other)

    def __mul__(self, other: Any) -> Term:
        return self._binary("multiply", other)

    def __truediv__(self, other: Any) -> Term:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Term:
        return self._reflected("divide", other)

    def __and__(self, other: Any) -> Term:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Term:
        return self._binary("or", other)

    def __xor__(self, other: Any) -> Term:
        return self._binary("xor", other)

    def __lshift__(self, other: Any) -> Term:
        return self._binary("shift_left", other)

    def __rshift__(self, other: Any) -> Term:
        kind = "logical" if self.dtype in dtypes.UINT else "arithmetic"
        return self._binary(f"shift_right_{kind}", other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Term:
        return Term(self.b, self.b.unary("negate", self.value))

    def __invert__(self) -> Term:
        return Term(self.b, self.b.unary("not", self.value))

    def __abs__(self) -> Term:
        return Term(self.b, self.b.unary("abs", self.value))

    def __eq__(self, other: Any) -> Term:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compare("EQ", other)

    def __ne__(self, other: Any) -> Term:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compare("NE", other)

    def __lt__(self, other: Any) -> Term:
        return self._compare("LT", other)

    def __le__(self, other: Any) -> Term:
        return self._compare("LE", other)

    def __gt__(self, other: Any) -> Term:
        return self._compare("GT", other)

    def __ge__(self, other: Any) -> Term:
        return self._compare("GE", other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] (not hashable: == makes an operation)

    def astype(self, dtype: Any) -> Term:
        """The numbers in another dtype."""
        return Term(self.b, self.b.convert(self.value, np.dtype(dtype)))

    def view(self, dtype: Any) -> Term:
        """The bits as another dtype of the same width."""
        return Term(self.b, self.b.bitcast(self.value, ArrayType(self.shape, np.dtype(dtype))))


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with the given coefficients, highest power first, by Horner's rule."""
    y = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        y = y * x + c
    return y


def chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """The sum of coefficients[k] T_k(t), t in [-1, 1], by Clenshaw's recurrence."""
    twice = t + t
    b1, b2 = coefficients[-1], 0.0
    for c in coefficients[-2:0:-1]:
        b1, b2 = twice * b1 - b2 + c, b1
    return t * b1 - b2 + coefficients[0]


def with_sign(y: Any, x: Any) -> Any:
    """y, whose sign bit is 0, with the sign of x; both float32 or both float64.

    A y of any sign is masked by the caller: XLA:CPU miscompiles the general form before a
    conversion to bfloat16.
    """
    integer = np.dtype(np.int32 if y.dtype == np.float32 else np.int64)
    sign = int(np.iinfo(integer).min)
    return (y.view(integer) | (x.view(integer) & sign)).view(y.dtype)


# --- numbers of twice the precision, as sums


def upper(x: Any) -> Any:
    """x cut off after the first half of its bits: products of two such numbers are exact."""
    if x.dtype == np.float32:
        return (x.view(np.int32) & -(1 << 12)).view(np.float32)
    return (x.view(np.int64) & -(1 << 27)).view(np.float64)


def square(x: Any) -> tuple[Any, Any]:
    """x² as a sum of two numbers, the first of them exact."""
    high = upper(x)
    return high * high, (x - high) * (x + high)


def product(x: Any, y: Any) -> tuple[Any, Any]:
    """x y as a sum of two numbers, the first of them exact.

    XLA:CPU may round a product on its own or together with a sum; an exact one has one value.
    """
    a, b = upper(x), upper(y)
    return a * b, a * (y - b) + (x - a) * y


def two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """x + y rounded, and what the rounding lost. Source: Knuth, 1969."""
    s = x + y
    other = s - x
    return s, (x - (s - other)) + (y - other)


class HloMath:
    """Functions of Terms.

    Attributes: epsilon: the relative error at which a loop of a formula may end.
    """

    def __init__(self, b: Builder, epsilon: float = 2.0**-52):
        self.b, self.epsilon = b, epsilon

    def term(self, value: Value) -> Term:
        return Term(self.b, value)

    def full_like(self, x: Term, number: float) -> Term:
        return Term(self.b, self.b.full_like(x.value, number))

    def where(self, which: Term, x: Any, y: Any) -> Term:
        """x where `which`, else y; one of the two is a Term."""
        some = x if isinstance(x, Term) else y
        return Term(self.b, self.b.select(which.value, some.lift(x), some.lift(y)))

    def _unary(self, op: str, x: Term) -> Term:
        return Term(self.b, self.b.unary(op, x.value))

    def _chlo(self, op: str, x: Term) -> Term:
        return Term(self.b, self.b.chlo(op, (x.value,), x.value.type))

    def exp(self, x: Term) -> Term:
        return self._unary("exponential", x)

    def log(self, x: Term) -> Term:
        return self._unary("log", x)

    def log1p(self, x: Term) -> Term:
        if x.dtype != dtypes.float64:
            return self._unary("log_plus_one", x)
        # XLA's own is inexact beside -0.41. The select keeps XLA from taking (x + 1) - 1 for x.
        u = self.where(x == x, x + 1.0, x)
        lost = self.where(x < 1.0, x - (u - 1.0), 1.0 - (u - x))
        y = self.log(u) + lost * (1.0 / u)
        y = self.where(abs(x) < 2.0**-53, x, y)
        return self.where((u > 0.0) & (x < math.inf), y, self.log(u))

    def expm1(self, x: Term) -> Term:
        return self._unary("exponential_minus_one", x)

    def sqrt(self, x: Term) -> Term:
        return self._unary("sqrt", x)

    def rsqrt(self, x: Term) -> Term:
        return self._unary("rsqrt", x)

    def sin(self, x: Term) -> Term:
        return self._unary("sine", x)

    def cos(self, x: Term) -> Term:
        return self._unary("cosine", x)

    def power(self, x: Term, y: Term) -> Term:
        return Term(self.b, self.b.binary("power", x.value, y.value))

    def floor(self, x: Term) -> Term:
        return self._unary("floor", x)

    def rint(self, x: Term) -> Term:
        return self._unary("round_nearest_even", x)

    def lgamma(self, x: Term) -> Term:
        return self._chlo("lgamma", x)

    def digamma(self, x: Term) -> Term:
        return self._chlo("digamma", x)

    def maximum(self, x: Any, y: Any) -> Term:
        some = x if isinstance(x, Term) else y
        return Term(self.b, self.b.binary("maximum", some.lift(x), some.lift(y)))

    def minimum(self, x: Any, y: Any) -> Term:
        some = x if isinstance(x, Term) else y
        return Term(self.b, self.b.binary("minimum", some.lift(x), some.lift(y)))

    def loop(
        self,
        active: Callable[..., Term],
        step: Callable[..., Sequence[Term]],
        state: Sequence[Term],
        at_once: int = 1,
    ) -> tuple[Term, ...]:
        """Repeat state = step(*state), in each element as long as active(*state) is True there.

        With at_once = n, that is asked after every n steps only: the memory of the state is read
        and written less often.
        """
        b = self.b

        def terms(values: Sequence[Value]) -> list[Term]:
            return [Term(b, v) for v in values]

        def condition(mask: Value, *_: Value) -> Value:
            false = b.constant(np.array(False))
            either = lambda x, y: (b.binary("or", x, y),)  # noqa: E731
            return b.reduce([mask], [false], range(mask.ndim), either)[0]

        def body(mask: Value, *values: Value) -> list[Value]:
            new: Sequence[Term] = terms(values)
            for _ in range(at_once):
                new = step(*new)
            kept = [b.select(mask, n.value, v) for n, v in zip(new, values, strict=True)]
            return [b.binary("and", mask, active(*terms(kept)).value), *kept]

        values = [t.value for t in state]
        return tuple(terms(b.while_([active(*state).value, *values], condition, body)[1:]))

    def rounds(
        self,
        step: Callable[..., Sequence[Term]],
        state: Sequence[Term],
        orders: range,
        kept: int,
    ) -> tuple[list[list[Term]], tuple[Term, ...]]:
        """state = step(k, *state) for each k of `orders`; the states after each of the last `kept`
        rounds, and the last state.
        """
        b = self.b
        count, shape = len(orders), state[0].shape
        zero = b.constant(np.zeros((), np.int32))
        empty = [b.full((kept, *shape), 0, t.dtype) for t in state]

        def condition(i: Value, *_: Value) -> Value:
            return b.compare("LT", i, b.full_like(i, count))

        def body(i: Value, *values: Value) -> list[Value]:
            k = b.convert(i, state[0].dtype)
            k = b.add(b.mul(k, b.full_like(k, orders.step)), b.full_like(k, orders.start))
            terms = [Term(b, v) for v in values[: len(state)]]
            new = [t.value for t in step(Term(b, b.broadcast_scalar(k, shape)), *terms)]
            # Rounds before those kept write to the first row, which is written again.
            row = b.binary("maximum", b.sub(i, b.full_like(i, count - kept)), zero)
            at = [row, *([zero] * len(shape))]
            rows = [
                b.dynamic_update_slice(old, b.reshape(v, (1, *shape)), at)
                for old, v in zip(values[len(state) :], new, strict=True)
            ]
            return [b.add(i, b.full_like(i, 1)), *new, *rows]

        out = b.while_([zero, *(t.value for t in state), *empty], condition, body)[1:]
        last, stacks = out[: len(state)], out[len(state) :]

        def row_of(stack: Value, k: int) -> Term:
            piece = b.slice(stack, (k, *[0] * len(shape)), (k + 1, *shape))
            return Term(b, b.reshape(piece, shape))

        rows = [[row_of(stack, k) for stack in stacks] for k in range(kept)]
        return rows, tuple(Term(b, v) for v in last)


class NumpyMath:
    """The same functions of NumPy arrays of float64."""

    epsilon = 2.0**-52
    full_like = staticmethod(np.full_like)
    where = staticmethod(np.where)
    exp, expm1 = staticmethod(np.exp), staticmethod(np.expm1)
    log, log1p = staticmethod(np.log), staticmethod(np.log1p)
    sqrt, power = staticmethod(np.sqrt), staticmethod(np.power)
    sin, cos = staticmethod(np.sin), staticmethod(np.cos)
    floor, rint = staticmethod(np.floor), staticmethod(np.rint)
    maximum, minimum = staticmethod(np.maximum), staticmethod(np.minimum)

    def lgamma(self, x: np.ndarray) -> np.ndarray:
        """log |Γ(x)|."""
        return np.asarray(np.frompyfunc(_lgamma, 1, 1)(x)).astype(np.float64)

    def digamma(self, x: np.ndarray) -> np.ndarray:
        """The derivative of log Γ: by the asymptotic series, after recurrence and reflection.

        Source: Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18.
        """
        whole = (x <= 0) & (np.floor(x) == x)
        mirrored = np.where(x < 0, 1 - x, x)
        shift = np.zeros_like(mirrored)
        z = np.where(mirrored == 0, 1.0, mirrored)
        for _ in range(10):
            small = z < 10
            shift = np.where(small, shift - 1 / z, shift)
            z = np.where(small, z + 1, z)
        w = 1 / (z * z)
        series = polynomial(
            w, [-1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12, 0.0]
        )
        y = shift + np.log(z) - 0.5 / z + series
        y = np.where(x < 0, y - np.pi / np.tan(np.pi * (x - np.floor(x))), y)
        y = np.where(whole, np.nan, y)
        return np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, y))

    def rounds(
        self,
        step: Callable[..., Sequence[Any]],
        state: Sequence[Any],
        orders: range,
        kept: int,
    ) -> tuple[list[list[Any]], tuple[Any, ...]]:
        """state = step(k, *state) for each k of `orders`; the states after each of the last `kept`
        rounds, and the last state.
        """
        states = []
        for k in orders:
            state = step(float(k), *state)
            states.append(list(state))
        return states[len(states) - kept :], tuple(state)

    def loop(
        self,
        active: Callable[..., np.ndarray],
        step: Callable[..., Sequence[np.ndarray]],
        state: Sequence[np.ndarray],
        at_once: int = 1,
    ) -> tuple[np.ndarray, ...]:
        """Repeat state = step(*state), in each element as long as active(*state) is True there."""
        mask = active(*state)
        while np.any(mask):
            new = state
            for _ in range(at_once):
                new = step(*new)
            state = [np.where(mask, n, v) for n, v in zip(new, state, strict=True)]
            mask = mask & active(*state)
        return tuple(state)


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def by_formula(function: Callable[..., Any]) -> dict[str, Any]:
    """`numpy` and `hlo` of an elementwise op of floats, from one formula: function(m, *xs).

    It is computed in float64 and rounded once: what it subtracts would cost most digits of a
    float32. TPUs, which have no float64 unit, stay in float32.
    """

    def meaning(*xs: np.ndarray) -> Any:
        return function(NumpyMath(), *(x.astype(np.float64) for x in xs))

    def lower(b: Builder, *xs: Value) -> Value:
        width = dtypes.float32 if b.platform == "tpu" else dtypes.float64
        # A narrow result needs no more than that it is rounded right nearly always.
        needed = float(dtypes.finfo(xs[0].dtype).eps) * 2.0**-12
        m = HloMath(b, max(needed, float(dtypes.finfo(width).eps)))
        y = function(m, *(m.term(x).astype(width) for x in xs))
        return b.convert(y.value, xs[0].dtype)

    return {"numpy": meaning, "hlo": lower}
