"""Elementwise arithmetic, comparisons, logic, bits and selection, with promotion.

Rounding and the parts of numbers are in parts.py, functions of calculus (exp, sin, ...) in
elementary.py. Every function takes arrays, tracers,
NumPy arrays and Python numbers; the shapes of the operands broadcast, their dtypes promote.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import BOOL, COMPLEX, FLOAT, INEXACT, INTEGER, UINT
from plait.core.interpreter import Tracer
from plait.core.source import called
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, CallError, DtypeError, IntegerOverflowError
from plait.numpy.at_once import at_once
from plait.numpy.promotion import (
    INEXACT_KIND,
    NUMERIC,
    astype,
    broadcast_shapes,
    broadcast_together,
    combine,
    constant,
    literal,
    operand,
    promote,
    refuse_output,
    to_inexact,
    value,
)
from plait.ops import arithmetic, compare, functions
from plait.ops.axes import broadcast_to
from plait.ops.bitcast import bitcast_convert_type

# --- arithmetic


def add(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x + y, element by element; booleans give their logical or.

    >>> jnp.add(jnp.array([1, 2]), jnp.array([[10], [20]]))
    Array([[11, 12],
           [21, 22]], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_output("add", where)
    return combine(arithmetic.add, "add", x, y)


def subtract(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x - y, element by element. Raises DtypeError for booleans.

    >>> jnp.subtract(5, jnp.arange(3))
    Array([5, 4, 3], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_output("subtract", where)
    return combine(arithmetic.sub, "subtract", x, y)


def multiply(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x * y, element by element; booleans give their logical and.

    >>> jnp.multiply(jnp.arange(3), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32, weak_type=True)
    """
    if out is not None or where is not None:
        refuse_output("multiply", where)
    return combine(arithmetic.mul, "multiply", x, y)


def true_divide(x: Any, y: Any, /) -> Any:
    """x / y, element by element; integers are divided as floats, and dividing by 0 raises nothing.

    >>> jnp.divide(jnp.array([1, -1, 0]), 0)
    Array([ inf, -inf,  nan], dtype=float32)
    """
    tx = getattr(x, "type", None)
    if tx is getattr(y, "type", None) and type(tx) is ArrayType and tx.dtype in INEXACT:
        return arithmetic.div.bind(x, y)
    return arithmetic.div.bind(*promote("true_divide", (x, y), INEXACT_KIND))


divide = true_divide


@at_once(operands=2)
def floor_divide(x: Any, y: Any, /) -> Any:
    """The largest whole number not above x / y; integers stay integers (x // 0 is then -1).

    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """
    x, y = promote("floor_divide", (x, y), NUMERIC)
    dtype = type_of(x).dtype
    if dtype in UINT:
        return arithmetic.div.bind(x, y)
    if dtype in INTEGER:
        quotient, rest = arithmetic.div.bind(x, y), arithmetic.rem.bind(x, y)
        lower = _floor_is_lower(rest, y)
        return where(lower, arithmetic.sub.bind(quotient, number_like(x, 1)), quotient)
    if dtype in COMPLEX:
        raise DtypeError("complex numbers have no floor", op="floor_divide", x=x, y=y)
    return _float_divmod(x, y)[0]


def number_like(x: Any, number: int | float) -> Any:
    """A number in the dtype of x."""
    return literal(number, type_of(x).dtype)


def _floor_is_lower(rest: Any, y: Any) -> Any:
    # Division towards zero is one too large where a rest exists whose sign is not the divisor's.
    zero = number_like(rest, 0)
    differs = compare.ne.bind(compare.lt.bind(rest, zero), compare.lt.bind(y, zero))
    return compare.bitwise_and.bind(differs, compare.ne.bind(rest, zero))


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    rest = arithmetic.rem.bind(x, y)
    # x - rest is an exact multiple of y; rounding removes the error of the division.
    quotient = functions.round(arithmetic.div.bind(arithmetic.sub.bind(x, rest), y))
    lower = _floor_is_lower(rest, y)
    quotient = where(lower, arithmetic.sub.bind(quotient, number_like(rest, 1)), quotient)
    # Where x or 1 / y is infinite, x / y has no fraction to take off: it is the quotient itself. A
    # quotient of zero has the sign of x / y.
    ratio = arithmetic.div.bind(x, y)
    zero = number_like(rest, 0)
    quotient = where(compare.eq(quotient, zero), arithmetic.mul.bind(ratio, zero), quotient)
    quotient = where(compare.is_finite(ratio), quotient, ratio)
    return quotient, _signed_rest(rest, y, lower)


def _signed_rest(rest: Any, y: Any, lower: Any) -> Any:
    """The rest of a division towards zero as that of a floor, with the sign of the divisor."""
    signed = where(lower, arithmetic.add.bind(rest, y), rest)
    if type_of(rest).dtype in INTEGER:
        return signed
    return compare.zero_signed.bind(signed, y)


@at_once(operands=2)
def remainder(x: Any, y: Any, /) -> Any:
    """The remainder of x / y with the sign of y, as Python's %.

    >>> jnp.remainder(jnp.array([7, -7]), 3), jnp.remainder(7.5, -2)
    (Array([1, 2], dtype=int32), Array(-0.5, dtype=float32, weak_type=True))
    """
    x, y = promote("remainder", (x, y), NUMERIC)
    dtype = type_of(x).dtype
    y = _safe_divisor(y)
    rest = arithmetic.rem.bind(x, y)
    if dtype in UINT:
        return rest
    return _signed_rest(rest, y, _floor_is_lower(rest, y))


mod = remainder


def _safe_divisor(y: Any) -> Any:
    # An integer divided by 0 has no rest: NumPy's answer is 0, the machine's the integer itself.
    dtype = type_of(y).dtype
    if dtype not in INTEGER or (isinstance(y, int | np.ndarray) and np.all(y != 0)):
        return y
    return where(compare.eq(y, 0), 1, y)


@at_once(operands=2)
def fmod(x: Any, y: Any, /) -> Any:
    """The remainder of x / y with the sign of x, as C's fmod.

    >>> jnp.fmod(jnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """
    x, y = promote("fmod", (x, y), NUMERIC)
    return arithmetic.rem.bind(x, _safe_divisor(y))


@at_once(operands=2)
def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """The pair (x // y, x % y).

    >>> jnp.divmod(jnp.array([7, -7]), 3)
    (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    x, y = promote("divmod", (x, y), NUMERIC)
    if type_of(x).dtype in FLOAT:
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


def negative(x: Any, /) -> Any:
    """-x. Raises DtypeError for booleans.

    >>> jnp.negative(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return arithmetic.neg.bind(operand("negative", x))


def positive(x: Any, /) -> Any:
    """+x: x itself.

    >>> jnp.positive(jnp.array([1, -2]))
    Array([ 1, -2], dtype=int32)
    """
    return value("positive", x)


def reciprocal(x: Any, /) -> Any:
    """1 / x; integers become floats.

    >>> jnp.reciprocal(jnp.array([2, 4]))
    Array([0.5 , 0.25], dtype=float32)
    """
    x = to_inexact("reciprocal", x)
    return arithmetic.div.bind(number_like(x, 1), x)


def square(x: Any, /) -> Any:
    """x * x, element by element; of a complex number not its size.

    >>> jnp.square(jnp.array([-3, 4])), jnp.square(1 + 1j)
    (Array([ 9, 16], dtype=int32), Array(0.+2.j, dtype=complex64, weak_type=True))
    """
    (x,) = promote("square", (x,), NUMERIC)
    return arithmetic.integer_pow(x, 2)


def power(x: Any, y: Any, /) -> Any:
    """x ** y, element by element. A Python int as y stays exact, by repeated multiplication.

    Raises: DtypeError for integers with a negative Python int as power.

    >>> jnp.power(jnp.array([2, 3]), 3), jnp.power(2.0, jnp.array([-1, 3]))
    (Array([ 8, 27], dtype=int32), Array([0.5, 8. ], dtype=float32))
    """
    if type(y) is int:
        (x,) = promote("power", (x,), NUMERIC)
        return arithmetic.integer_pow(x, y)
    exponent = operand("power", y, 1)
    x, y = promote("power", (x, exponent), NUMERIC)
    if type_of(x).dtype in INTEGER:
        return _integer_power(x, y)
    z = functions.pow_p.bind(x, y)
    t = type_of(exponent)
    if type_of(z).weak_type and not t.weak_type and t.dtype in INTEGER:
        # As in JAX the base is not converted to meet integers: 2.0**n is as strong as n, unless n
        # is a number at hand.
        if t.ndim or isinstance(exponent, Tracer):
            return arithmetic.convert_element_type(z, type_of(z).dtype)
    return z


pow = power


def _integer_power(x: Any, y: Any) -> Any:
    # By squaring. Six bits of y are enough: beyond 63 all results but those of 0, 1, -1 overflow,
    # and for these the low bits suffice.
    x, y = broadcast_together("power", x, y)
    dtype = x.dtype
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    start = compare.bitwise_and(compare.eq(x, zero), compare.ne(y, zero))
    result = where(start, zero, one)
    for bit in range(6):
        odd = compare.ne(compare.bitwise_and(y, one), zero)
        result = where(odd, arithmetic.mul.bind(result, x), result)
        if bit < 5:
            x = arithmetic.mul.bind(x, x)
            y = compare.shift_right_logical(y, one)
    return result


@at_once(operands=2)
def float_power(x: Any, y: Any, /) -> Any:
    """x ** y as floats, also for integers.

    >>> jnp.float_power(jnp.array([2, 4]), -1)
    Array([0.5 , 0.25], dtype=float32)
    """
    x, y = promote("float_power", (x, y), INEXACT_KIND)
    return functions.pow_p.bind(x, y)


def abs(x: Any, /) -> Any:
    """The absolute value, real for complex x; booleans stay as they are.

    >>> jnp.abs(jnp.array([-2, 1])), jnp.abs(3 - 4j)
    (Array([2, 1], dtype=int32), Array(5., dtype=float32, weak_type=True))
    """
    x = operand("abs", x)
    if type_of(x).dtype in BOOL or type_of(x).dtype in UINT:
        return value("abs", x)
    return functions.abs(x)


absolute = abs


def conjugate(x: Any, /) -> Any:
    """The complex conjugate; x itself if it is not complex.

    >>> jnp.conj(jnp.array([1 + 2j, 3]))
    Array([1.-2.j, 3.-0.j], dtype=complex64)
    """
    x = operand("conjugate", x)
    return functions.conj(x) if type_of(x).dtype in COMPLEX else value("conjugate", x)


conj = conjugate


def fabs(x: Any, /) -> Any:
    """The absolute value as a float. Raises DtypeError for complex x.

    >>> jnp.fabs(jnp.array([-2, 1]))
    Array([2., 1.], dtype=float32)
    """
    x = to_inexact("fabs", x)
    if type_of(x).dtype in COMPLEX:
        raise DtypeError("complex numbers are not taken", op="fabs", x=x, fix="use jnp.abs")
    return functions.abs(x)


@at_once(operands=1)
def sign(x: Any, /) -> Any:
    """-1, 0 or 1 by the sign of x, NaN of NaN; x / abs(x) for complex x.

    >>> jnp.sign(jnp.array([-2.5, 0.0, jnp.nan])), jnp.sign(3 - 4j)
    (Array([-1.,  0., nan], dtype=float32), Array(0.6-0.8j, dtype=complex64, weak_type=True))
    """
    x = operand("sign", x)
    if type_of(x).dtype not in INEXACT:
        return functions.sign(x)
    zero = number_like(x, 0)  # the sign of -0 is 0, as NumPy's and the array API's
    return where(compare.eq(x, zero), zero, functions.sign(x))


def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set: negative numbers, -0.0 and negative NaN.

    >>> jnp.signbit(jnp.array([-1.0, -0.0, 0.0]))
    Array([ True,  True, False], dtype=bool)
    """
    x = operand("signbit", x)
    dtype = type_of(x).dtype
    if dtype in INTEGER or dtype in BOOL:
        return less(x, 0) if dtype in INTEGER else where(True, np.zeros(type_of(x).shape, bool), x)
    if dtype in COMPLEX:
        raise DtypeError("complex numbers have no sign bit", op="signbit", x=x)
    bits = bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
    return compare.lt(bits, np.zeros((), type_of(bits).dtype))


@at_once(operands=2)
def copysign(x: Any, y: Any, /) -> Any:
    """The absolute value of x with the sign of y.

    >>> jnp.copysign(3.0, jnp.array([-0.0, 2.0]))
    Array([-3.,  3.], dtype=float32)
    """
    x, y = promote("copysign", (x, y), INEXACT_KIND, together=False)
    if type_of(x).dtype in COMPLEX:
        raise DtypeError("complex numbers have no sign", op="copysign", x=x, y=y)
    size = functions.abs(x)
    return where(signbit(y), arithmetic.neg.bind(size), size)


def maximum(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The larger of x and y, element by element; NaN if one is NaN.

    >>> jnp.maximum(jnp.array([1.0, 4.0, jnp.nan]), 2)
    Array([ 2.,  4., nan], dtype=float32)
    """
    if out is not None or where is not None:
        refuse_output("maximum", where)
    return combine(compare.max, "maximum", x, y)


def minimum(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The smaller of x and y, element by element; NaN if one is NaN.

    >>> jnp.minimum(jnp.array([1.0, 4.0, jnp.nan]), 2)
    Array([ 1.,  2., nan], dtype=float32)
    """
    if out is not None or where is not None:
        refuse_output("minimum", where)
    return combine(compare.min, "minimum", x, y)


@at_once(operands=2)
def fmax(x: Any, y: Any, /) -> Any:
    """The larger of x and y; a NaN counts as missing.

    >>> jnp.fmax(jnp.array([1.0, 4.0, jnp.nan]), 2)
    Array([2., 4., 2.], dtype=float32)
    """
    return _ignoring_nan("fmax", x, y, greater)


@at_once(operands=2)
def fmin(x: Any, y: Any, /) -> Any:
    """The smaller of x and y; a NaN counts as missing.

    >>> jnp.fmin(jnp.array([1.0, 4.0, jnp.nan]), 2)
    Array([1., 2., 2.], dtype=float32)
    """
    return _ignoring_nan("fmin", x, y, less)


def _ignoring_nan(op: str, x: Any, y: Any, better: Any) -> Any:
    x, y = promote(op, (x, y))
    take_x = better(x, y)
    if type_of(x).dtype in INEXACT:
        take_x = compare.bitwise_or(take_x, compare.ne(y, y))
    return where(take_x, x, y)


@at_once(operands=3)
def clip(
    arr: Any = None,
    /,
    min: Any = None,
    max: Any = None,
    *,
    a: Any = None,
    a_min: Any = None,
    a_max: Any = None,
) -> Any:
    """arr with values below min replaced by min, values above max by max; max wins if they cross.

    Either bound may be an array or None. Raises: DtypeError for complex numbers.

    >>> jnp.clip(jnp.arange(6), 1, 4), jnp.clip(jnp.arange(3), max=1)
    (Array([1, 1, 2, 3, 4, 4], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    arr = a if arr is None else arr
    low = a_min if min is None else min
    high = a_max if max is None else max
    arr = operand("clip", arr)
    for name, x in (("arr", arr), ("min", low), ("max", high)):
        if x is not None and type_of(operand("clip", x)).dtype in COMPLEX:
            raise DtypeError("complex numbers have no order", op=called("clip"), **{name: x})
    if low is None and high is None:
        return value("clip", arr)
    if low is not None:
        arr = maximum(arr, low)
    return arr if high is None else minimum(arr, high)


# --- comparisons


def equal(x: Any, y: Any, /) -> Any:
    """x == y, element by element.

    >>> jnp.equal(jnp.array([1, 2]), jnp.array([[1], [2]]))
    Array([[ True, False],
           [False,  True]], dtype=bool)
    """
    try:
        return combine(compare.eq, "equal", x, y)
    except IntegerOverflowError:
        return _beyond(operator.eq, x, y)


def not_equal(x: Any, y: Any, /) -> Any:
    """x != y, element by element; NaN differs from itself.

    >>> jnp.not_equal(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
    Array([False,  True], dtype=bool)
    """
    try:
        return combine(compare.ne, "not_equal", x, y)
    except IntegerOverflowError:
        return _beyond(operator.ne, x, y)


def less(x: Any, y: Any, /) -> Any:
    """x < y, element by element; complex numbers compare by real, then imaginary part.

    >>> jnp.less(jnp.array([1, 2, 3]), 2), jnp.less(1 + 5j, 1 + 6j)
    (Array([ True, False, False], dtype=bool), Array(True, dtype=bool))
    """
    return _ordered("less", compare.lt, x, y)


def less_equal(x: Any, y: Any, /) -> Any:
    """x <= y, element by element.

    >>> jnp.less_equal(jnp.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    return _ordered("less_equal", compare.le, x, y)


def greater(x: Any, y: Any, /) -> Any:
    """x > y, element by element.

    >>> jnp.greater(jnp.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    return _ordered("greater", compare.gt, x, y)


def greater_equal(x: Any, y: Any, /) -> Any:
    """x >= y, element by element.

    >>> jnp.greater_equal(jnp.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    return _ordered("greater_equal", compare.ge, x, y)


_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def _beyond(compared: Callable[[int, int], bool], x: Any, y: Any) -> Any:
    """A comparison with a Python int that the other operand's dtype cannot hold, which is above or
    below all that it can; to be called while the IntegerOverflowError of that is handled.
    """
    if type(x) is int and type(y) is not int:
        array, answer = y, compared(1 if x > 0 else -1, 0)
    elif type(y) is int and type(x) is not int:
        array, answer = x, compared(0, 1 if y > 0 else -1)
    else:
        raise
    return broadcast_to(constant(np.asarray(answer)), type_of(array).shape)


def _ordered(name: str, op: Any, x: Any, y: Any) -> Any:
    try:
        x, y = promote(name, (x, y))
    except IntegerOverflowError:
        return _beyond(_ORDERS[name], x, y)
    if type_of(x).dtype not in COMPLEX:
        return op.bind(x, y)
    xr, yr, xi, yi = functions.real(x), functions.real(y), functions.imag(x), functions.imag(y)
    return where(compare.eq(xr, yr), op.bind(xi, yi), op.bind(xr, yr))


# --- logic and bits


def to_bool(op: str, x: Any, position: int = 0) -> Any:
    """Whether each element is not 0; booleans as they are."""
    x = operand(op, x, position)
    dtype = type_of(x).dtype
    return x if dtype in BOOL else compare.ne.bind(x, number_like(x, 0))


@at_once(operands=2)
def logical_and(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """Whether both are nonzero, element by element.

    >>> jnp.logical_and(jnp.array([0, 1, 2]), True)
    Array([False,  True,  True], dtype=bool)
    """
    if out is not None or where is not None:
        refuse_output("logical_and", where)
    return _logical("logical_and", compare.bitwise_and, x, y)


@at_once(operands=2)
def logical_or(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """Whether one is nonzero, element by element.

    >>> jnp.logical_or(jnp.array([0, 1, 2]), False)
    Array([False,  True,  True], dtype=bool)
    """
    if out is not None or where is not None:
        refuse_output("logical_or", where)
    return _logical("logical_or", compare.bitwise_or, x, y)


@at_once(operands=2)
def logical_xor(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """Whether exactly one is nonzero, element by element.

    >>> jnp.logical_xor(jnp.array([0, 1, 2]), True)
    Array([ True, False, False], dtype=bool)
    """
    if out is not None or where is not None:
        refuse_output("logical_xor", where)
    return _logical("logical_xor", compare.bitwise_xor, x, y)


def _logical(name: str, op: Any, x: Any, y: Any) -> Any:
    return combine(op, name, to_bool(name, x), to_bool(name, y, 1))


def logical_not(x: Any, /) -> Any:
    """Whether x is zero, element by element.

    >>> jnp.logical_not(jnp.array([0, 1, 2]))
    Array([ True, False, False], dtype=bool)
    """
    return compare.bitwise_not(to_bool("logical_not", x))


def bitwise_and(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x & y, bit by bit; booleans give their logical and.

    >>> jnp.bitwise_and(jnp.array([0b0110, 0b1111]), 0b0011)
    Array([2, 3], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_output("bitwise_and", where)
    return combine(compare.bitwise_and, "bitwise_and", x, y)


def bitwise_or(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x | y, bit by bit.

    >>> jnp.bitwise_or(0b0110, 0b0011)
    Array(7, dtype=int32, weak_type=True)
    """
    if out is not None or where is not None:
        refuse_output("bitwise_or", where)
    return combine(compare.bitwise_or, "bitwise_or", x, y)


def bitwise_xor(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x ^ y, bit by bit.

    >>> jnp.bitwise_xor(0b0110, 0b0011)
    Array(5, dtype=int32, weak_type=True)
    """
    if out is not None or where is not None:
        refuse_output("bitwise_xor", where)
    return combine(compare.bitwise_xor, "bitwise_xor", x, y)


def bitwise_not(x: Any, /) -> Any:
    """~x: every bit flipped; for booleans their logical not.

    >>> jnp.invert(jnp.array([0, 5])), jnp.invert(jnp.uint8(5)), jnp.invert(True)
    (Array([-1, -6], dtype=int32), Array(250, dtype=uint8), Array(False, dtype=bool))
    """
    return compare.bitwise_not(operand("bitwise_not", x))


invert = bitwise_invert = bitwise_not


def bitwise_count(x: Any, /) -> Any:
    """The number of bits set in abs(x), as uint8.

    >>> jnp.bitwise_count(jnp.array([0, 7, -8]))
    Array([0, 3, 1], dtype=uint8)
    """
    x = operand("bitwise_count", x)
    if type_of(x).dtype in BOOL:
        return astype(value("bitwise_count", x), dtypes.uint8)
    if type_of(x).dtype not in UINT and type_of(x).dtype in INTEGER:
        x = functions.abs(x)
    return astype(compare.population_count(x), dtypes.uint8)


def left_shift(x: Any, y: Any, /) -> Any:
    """x * 2**y for integers, by shifting bits.

    >>> jnp.left_shift(jnp.array([1, 3]), 4)
    Array([16, 48], dtype=int32)
    """
    return compare.shift_left.bind(*promote("left_shift", (x, y), NUMERIC))


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any, /) -> Any:
    """x // 2**y for integers, by shifting bits; the sign stays.

    >>> jnp.right_shift(jnp.array([48, -48]), 4)
    Array([ 3, -3], dtype=int32)
    """
    x, y = promote("right_shift", (x, y), NUMERIC)
    unsigned = type_of(x).dtype in UINT
    return (compare.shift_right_logical if unsigned else compare.shift_right_arithmetic).bind(x, y)


bitwise_right_shift = right_shift


# --- selection


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """x where the condition holds, else y, element by element; all three broadcast.

    With the condition alone: the positions at which it holds, as `nonzero` gives them.

    >>> jnp.where(jnp.arange(4) < 2, jnp.arange(4), -1)
    Array([ 0,  1, -1, -1], dtype=int32)
    >>> jnp.where(jnp.array([0, 3, 0, 5]))
    (Array([1, 3], dtype=int32),)
    """
    if x is None and y is None:
        from plait.numpy.searching import nonzero

        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise CallError("takes both x and y, or neither", op="where")
    if size is not None or fill_value is not None:
        raise ArgumentError("size and fill_value go with the condition alone", op="where")
    return _select(condition, x, y)


@at_once(operands=3)
def _select(condition: Any, x: Any, y: Any) -> Any:
    condition = to_bool("where", condition)
    x, y = promote("where", (operand("where", x, 1), operand("where", y, 2)))
    shapes = type_of(condition).shape, type_of(x).shape, type_of(y).shape
    shape = broadcast_shapes(*shapes)
    condition, x, y = (
        v if v_shape == shape or not v_shape else broadcast_to(v, shape)
        for v, v_shape in zip((condition, x, y), shapes, strict=True)
    )
    return compare.select(condition, x, y)
