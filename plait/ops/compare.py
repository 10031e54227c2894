"""Comparisons, logic and bits, select, max, min and clamp: ops that decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import ANY, BOOL, COMPLEX, FLOAT, INT, INTEGER, KEY, NUMBER, REAL, UINT
from plait.core.primitive import LinearOperand, Primitive, register, zeros_like
from plait.core.sample import booleans, complex_, integers, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentTypeError, DtypeError, ShapeError
from plait.ops.arithmetic import convert_element_type, mul
from plait.ops.axes import broadcast_in_dim, broadcast_to
from plait.ops.bits import key_halves
from plait.ops.elementwise import Elementwise, binary, unary


def _bool(*_: Any) -> np.dtype:
    return dtypes.bool_


def _comparison(
    name: str,
    doc: str,
    direction: str,
    numpy: Callable[..., Any],
    accepts: frozenset,
    example: tuple[str, str],
) -> Elementwise:
    samples = [
        (real(2, 3), 0.1 + real(2, 3)[:, ::-1]),
        (integers(7), integers(7)[::-1].copy()),
        (booleans(4), np.array([True, True, False, False])),
        (real(3), 0.1 + real()),
    ]
    if COMPLEX <= accepts:
        samples.append((complex_(3), complex_(3)))
    return binary(
        name,
        doc=f"{doc}, element by element; bool. StableHLO: compare.",
        accepts=accepts,
        numpy=numpy,
        hlo=lambda b, x, y: _compared(b, direction, x, y),
        result=_bool,
        samples=samples,
        example=example,
    )


def _compared(b: Any, direction: str, x: Any, y: Any) -> Any:
    if not (x.dtype in KEY and x.dtype.words == 4):
        return b.compare(direction, x, y)
    # Bits, which are held as floats: these would have NaNs, unequal to themselves, and two zeros.
    bits = ArrayType(x.shape, dtypes.uint64)
    halves = zip(*(key_halves(b, keys) for keys in (x, y)), strict=True)
    low, high = (b.compare(direction, *(b.bitcast(v, bits) for v in pair)) for pair in halves)
    return b.binary("and" if direction == "EQ" else "or", low, high)


def _among_three(name: str, *result: bool) -> tuple[str, str]:
    shown = ", ".join(f"{hit!s:>5}" for hit in result)
    return f"lax.{name}(jnp.array([1, 2, 3]), 2)", f"Array([{shown}], dtype=bool)"


_nan = "jnp.array([1.0, jnp.nan])"
eq = _comparison(
    "eq",
    "x == y",
    "EQ",
    np.equal,
    ANY,
    example=(f"lax.eq({_nan}, {_nan})", "Array([ True, False], dtype=bool)"),
)
ne = _comparison(
    "ne",
    "x != y",
    "NE",
    np.not_equal,
    ANY,
    example=(f"lax.ne({_nan}, {_nan})", "Array([False,  True], dtype=bool)"),
)
lt = _comparison("lt", "x < y", "LT", np.less, REAL | BOOL, _among_three("lt", True, False, False))
le = _comparison(
    "le", "x <= y", "LE", np.less_equal, REAL | BOOL, _among_three("le", True, True, False)
)
gt = _comparison(
    "gt", "x > y", "GT", np.greater, REAL | BOOL, _among_three("gt", False, False, True)
)
ge = _comparison(
    "ge", "x >= y", "GE", np.greater_equal, REAL | BOOL, _among_three("ge", False, True, True)
)


def _ordered_bits(x: np.ndarray) -> np.ndarray:
    """Integers in the total order of floats: -NaN, -inf, ..., -0, +0, ..., inf, NaN."""
    if x.dtype not in FLOAT:
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    if dtypes.finfo(x.dtype).bits < 8:  # in the lower bits of a byte each
        bits = bits << (8 - dtypes.finfo(x.dtype).bits)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _total_order(
    name: str, doc: str, direction: str, numpy: Callable[..., Any], example: tuple[str, str]
) -> Elementwise:
    edges = np.array([-np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan])
    return binary(
        name,
        doc=f"""{doc} in the total order -NaN, -inf, ..., -0, +0, ..., inf, NaN of floats (integers
        as usual), element by element; bool. StableHLO: compare with TOTALORDER.""",
        accepts=REAL | BOOL,
        numpy=lambda x, y: numpy(_ordered_bits(x), _ordered_bits(y)),
        hlo=lambda b, x, y: b.compare(direction, x, y, total_order=True),
        result=_bool,
        samples=[(edges, edges[::-1].copy()), (edges, edges), (integers(5), integers(5))],
        example=example,
    )


eq_to = _total_order(
    "eq_to",
    "x == y",
    "EQ",
    np.equal,
    example=("print(lax.eq_to(-0.0, 0.0), lax.eq_to(jnp.nan, jnp.nan))", "False True"),
)
lt_to = _total_order(
    "lt_to",
    "x < y",
    "LT",
    np.less,
    example=("print(lax.lt_to(-0.0, 0.0), lax.lt_to(jnp.inf, jnp.nan))", "True True"),
)
le_to = _total_order(
    "le_to",
    "x <= y",
    "LE",
    np.less_equal,
    example=("print(lax.le_to(0.0, -0.0), lax.le_to(jnp.nan, jnp.inf))", "False False"),
)


# --- logic and bits


def _on_bits(
    name: str, doc: str, numpy: Callable[..., Any], example: tuple[str, str]
) -> Elementwise:
    return binary(
        name,
        doc=f"{doc} of integers, bit by bit, or of booleans. StableHLO: {name}.",
        accepts=INTEGER | BOOL,
        numpy=numpy,
        hlo=name,
        samples=[
            (integers(7), integers(7)[::-1].copy()),
            (integers(4), integers()),
            (booleans(4), np.array([True, True, False, False])),
        ],
        example=example,
    )


bitwise_and = _on_bits(
    "and", "x and y", np.bitwise_and, ("print(lax.bitwise_and(0b1100, 0b1010))", "8")
)
bitwise_or = _on_bits(
    "or", "x or y", np.bitwise_or, ("print(lax.bitwise_or(0b1100, 0b1010))", "14")
)
bitwise_xor = _on_bits(
    "xor", "x exclusive-or y", np.bitwise_xor, ("print(lax.bitwise_xor(0b1100, 0b1010))", "6")
)
bitwise_not = unary(
    "not",
    doc="The bits of integers, or booleans, inverted. StableHLO: not.",
    example=("lax.bitwise_not(jnp.array([0, 5, -1]))", "Array([-1, -6,  0], dtype=int32)"),
    accepts=INTEGER | BOOL,
    numpy=np.invert,
    hlo="not",
    samples=[integers(7), booleans(4)],
)


def _bits_of(dtype: np.dtype) -> int:
    return int(dtypes.iinfo(dtype).bits)


def _shift(numpy: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """numpy(x, n, width) where the amount, read as unsigned, is less than the width, else 0."""

    def shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        width, kind = _bits_of(x.dtype), x.dtype
        # Narrow integers are shifted in 64 bits: int4 has no shifts in NumPy.
        wide = x.astype(np.int64 if kind in INT else np.uint64)
        inside = (y >= 0) & (y.astype(np.int64) < width)
        amount = np.where(inside, y.astype(np.int64), 0).astype(wide.dtype)
        shifted = numpy(wide, amount, width)
        return np.where(inside, shifted, np.zeros_like(shifted)).astype(kind)

    return shift


def _logical_right(x: np.ndarray, n: np.ndarray, width: int) -> np.ndarray:
    mask = np.uint64(2**width - 1)
    return (x.astype(np.uint64) & mask) >> n.astype(np.uint64)


def _arithmetic_right(x: np.ndarray, n: np.ndarray, width: int) -> np.ndarray:
    # An unsigned number is read as a signed one of its width.
    signed = (x.astype(np.uint64) << np.uint64(64 - width)).astype(np.int64) >> (64 - width)
    return signed >> n.astype(np.int64)


_SHIFT_SAMPLES = [
    (integers(7), integers(7, low=0, high=8)),
    (integers(6, low=-99, high=99), np.array([0, 1, 31, 32, 40, -1], np.int32)),
    (integers(5, low=0, high=255, dtype=np.uint8), integers(5, low=0, high=9, dtype=np.uint8)),
    (integers(4), integers(low=1, high=4)),
]

shift_left = binary(
    "shift_left",
    doc="""x shifted left by y bits; all bits are gone, and the result 0, where y is negative or at
    least the width. StableHLO: shift_left.""",
    example=("print(lax.shift_left(jnp.array([1, -1, 1]), jnp.array([3, 3, 32])))", "[ 8 -8  0]"),
    accepts=INTEGER,
    numpy=_shift(lambda x, n, width: x << n),
    hlo="shift_left",
    samples=_SHIFT_SAMPLES,
)

shift_right_logical = binary(
    "shift_right_logical",
    doc="""x shifted right by y bits, zeros coming in; 0 where y is negative or at least the width.
    StableHLO: shift_right_logical.""",
    example=("print(lax.shift_right_logical(jnp.array([16, -1]), jnp.array([2, 28])))", "[ 4 15]"),
    accepts=INTEGER,
    numpy=_shift(_logical_right),
    hlo="shift_right_logical",
    samples=_SHIFT_SAMPLES,
)


def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    width = _bits_of(x.dtype)
    inside = (y >= 0) & (y.astype(np.int64) < width)
    # Past the width only copies of the sign are left, as after width - 1 steps.
    amount = np.where(inside, y.astype(np.int64), width - 1)
    return _arithmetic_right(x.astype(np.int64), amount, width).astype(x.dtype)


shift_right_arithmetic = binary(
    "shift_right_arithmetic",
    doc="""x shifted right by y bits, copies of the top bit coming in; all bits are copies of it
    where y is negative or at least the width. StableHLO: shift_right_arithmetic.""",
    example=("lax.shift_right_arithmetic(jnp.array([16, -16]), 2)", "Array([ 4, -4], dtype=int32)"),
    accepts=INTEGER,
    numpy=_shift_right_arithmetic,
    hlo="shift_right_arithmetic",
    samples=_SHIFT_SAMPLES,
)


def _as_bits(x: np.ndarray) -> np.ndarray:
    return x.astype(np.int64).astype(np.uint64) & np.uint64(2 ** _bits_of(x.dtype) - 1)


def _clz(x: np.ndarray) -> np.ndarray:
    bits, count = _as_bits(x), np.full(x.shape, _bits_of(x.dtype), np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        high = bits >> np.uint64(step)
        count = np.where(high != 0, count - step, count)
        bits = np.where(high != 0, high, bits)
    return np.where(bits != 0, count - 1, count)


_BIT_SAMPLES = [
    integers(7, low=-99, high=99),
    integers(9, low=0, high=255, dtype=np.uint8),
    np.array([0, 1, -1, 2**31 - 1, -(2**31)], np.int32),
]


def _lower_popcount(b: Any, x: Any) -> Any:
    width = _bits_of(x.dtype)
    if width >= 8:
        return b.unary("popcnt", x)
    # XLA counts the bits of the byte that an int4 lies in, copies of its sign included.
    byte = b.convert(x, dtypes.int32)
    bits = b.binary("and", byte, b.full_like(byte, 2**width - 1))
    return b.convert(b.unary("popcnt", bits), x.dtype)


population_count = unary(
    "population_count",
    doc="The number of bits of x that are 1. StableHLO: popcnt.",
    example=("lax.population_count(jnp.array([0, 7, -1]))", "Array([ 0,  3, 32], dtype=int32)"),
    accepts=INTEGER,
    numpy=lambda x: np.bitwise_count(_as_bits(x)),
    hlo=_lower_popcount,
    samples=_BIT_SAMPLES,
)

clz = unary(
    "clz",
    doc="The number of 0 bits above the highest 1, 0 having none. StableHLO: count_leading_zeros.",
    example=("lax.clz(jnp.array([0, 1, 255]))", "Array([32, 31, 24], dtype=int32)"),
    accepts=INTEGER,
    numpy=_clz,
    hlo="count_leading_zeros",
    samples=_BIT_SAMPLES,
)


def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    width = _bits_of(x.dtype)
    upper = np.frompyfunc(lambda a, b: (int(a) * int(b)) >> width, 2, 1)
    return np.asarray(upper(x, y)).astype(x.dtype)


def _lower_mulhi(b: Any, x: Any, y: Any) -> Any:
    width = _bits_of(x.dtype)
    if width < 64:
        wide = np.dtype(np.int64 if x.dtype in INT else np.uint64)
        product = b.mul(b.convert(x, wide), b.convert(y, wide))
        name = "shift_right_arithmetic" if x.dtype in INT else "shift_right_logical"
        return b.convert(b.binary(name, product, b.full_like(product, width)), x.dtype)
    # 64 bits: schoolbook multiplication of 32-bit halves, unsigned; then take back what reading a
    # negative operand as unsigned added: the other operand.
    u64 = dtypes.uint64
    ux, uy = b.convert(x, u64), b.convert(y, u64)
    low = b.full_like(ux, 2**32 - 1)
    by = b.full_like(ux, 32)

    def halves(v: Any) -> tuple[Any, Any]:
        return b.binary("and", v, low), b.binary("shift_right_logical", v, by)

    (x0, x1), (y0, y1) = halves(ux), halves(uy)
    middle = b.add(b.mul(x1, y0), halves(b.mul(x0, y0))[1])
    m0, m1 = halves(middle)
    cross = b.add(b.mul(x0, y1), m0)
    high = b.add(b.add(b.mul(x1, y1), m1), halves(cross)[1])
    if x.dtype in UINT:
        return high
    zero = b.full_like(x, 0)
    result = b.convert(high, x.dtype)
    for v, other in ((x, y), (y, x)):
        result = b.sub(result, b.select(b.compare("LT", v, zero), other, zero))
    return result


mulhi = binary(
    "mulhi",
    doc="The upper half of the product x * y, which has twice the width of its operands.",
    example=("print(lax.mulhi(jnp.array([2**30, -1]), jnp.array([8, 1])))", "[ 2 -1]"),
    accepts=INTEGER,
    numpy=_mulhi,
    hlo=_lower_mulhi,
    samples=[
        (
            np.array([2**30, -5, 2**31 - 1, -(2**31)], np.int32),
            np.array([16, 9, -3, -(2**31)], np.int32),
        ),
        (np.array([2**62, -5, -(2**63)], np.int64), np.array([-16, 9, -(2**63)], np.int64)),
        (np.array([2**64 - 1, 5], np.uint64), np.array([2**64 - 1, 2**62], np.uint64)),
        (integers(5, low=-128, high=127, dtype=np.int8), np.int8(77) + np.zeros(5, np.int8)),
    ],
)


# --- select


class SelectN(Primitive):
    """cases[which], element by element; a number outside takes the nearest case."""

    name = "select_n"

    def type(self, which, *cases):
        first = cases[0]
        given = {f"case {k}": c for k, c in enumerate(cases)}
        if any(c.shape != first.shape for c in cases):
            raise ShapeError("the cases' shapes differ", which=which, **given)
        if any(c.dtype != first.dtype for c in cases):
            fix = "convert with lax.convert_element_type, or use plait.numpy.where"
            raise DtypeError("the cases' dtypes differ", fix=fix, which=which, **given)
        if which.shape and which.shape != first.shape:
            raise ShapeError(
                "which must be a scalar or have the cases' shape", which=which, **given
            )
        if which.dtype not in BOOL | INTEGER:
            fix = "compare it with something, or convert it to integers"
            raise DtypeError("which must be bool or int", which=which, **given, fix=fix)
        if which.dtype in BOOL and len(cases) > 2:
            fix = "give the number of the case, an int, for each element"
            raise DtypeError("a bool selects between two cases", which=which, **given, fix=fix)
        return ArrayType(first.shape, first.dtype, all(c.weak_type for c in cases))

    def numpy(self, which, *cases):
        y = cases[-1]
        for k in range(len(cases) - 2, -1, -1):
            y = np.where(which <= k, cases[k], y)
        return np.array(y, cases[0].dtype)

    def jvp(self, xs, ts):
        which, *cases = xs
        y = self.bind(which, *cases)
        if all(t is None for t in ts[1:]) or type_of(y).dtype not in dtypes.INEXACT:
            return y, None
        filled = [zeros_like(c) if t is None else t for c, t in zip(cases, ts[1:], strict=True)]
        return y, self.bind(which, *filled)

    def transpose(self, ct, which, *cases):
        zeros = zeros_like(ct)
        cts = []
        for k, case in enumerate(cases):
            if not isinstance(case, LinearOperand):
                cts.append(None)
            elif len(cases) == 1:
                cts.append(ct)
            elif type_of(which).dtype in BOOL:
                cts.append(self.bind(which, *((ct, zeros) if k == 0 else (zeros, ct))))
            else:
                last = k == len(cases) - 1
                chosen = ge(which, k) if last else le(which, k) if k == 0 else eq(which, k)
                cts.append(self.bind(chosen, zeros, ct))
        return [None, *cts]

    def batch(self, frame, xs, mapped):
        (which, *cases), (which_mapped, *cases_mapped) = xs, mapped
        rows = (
            type_of(cases[cases_mapped.index(True)]).shape
            if any(cases_mapped)
            else (frame.size, *type_of(cases[0]).shape)
        )
        along = tuple(range(1, len(rows)))
        cases = [
            c if m else broadcast_in_dim(c, rows, along)
            for c, m in zip(cases, cases_mapped, strict=True)
        ]
        scalar = type_of(which).ndim == int(which_mapped)
        if which_mapped and scalar:
            which = broadcast_in_dim(which, rows, (0,))
        elif not which_mapped and not scalar:
            which = broadcast_in_dim(which, rows, along)
        return self.bind(which, *cases), True

    def lower(self, b, which, *cases):
        if len(cases) == 1:
            return cases[0]
        if which.dtype in BOOL:
            return b.select(which, cases[1], cases[0])
        y = cases[-1]
        for k in range(len(cases) - 2, -1, -1):
            y = b.select(b.compare("LE", which, b.full_like(which, k)), cases[k], y)
        return y

    def samples(self):
        yield (booleans(2, 3), real(2, 3), 1 + real(2, 3)), {}
        yield (np.array(True), real(2, 3), 1 + real(2, 3)), {}
        yield (np.array(True), real(), 1 + real()), {}
        yield (integers(7, low=0, high=3), real(7), 1 + real(7), 2 - real(7)), {}
        yield (np.array([-3, 0, 1, 9], np.int32), integers(4), 10 + integers(4)), {}
        yield (np.array(1, np.int32), complex_(3), 1 + complex_(3), complex_(3) - 1), {}
        yield (booleans(4), booleans(4), ~booleans(4)), {}
        yield (np.array(0, np.int32), real(3)), {}


select_n_p = register(SelectN())


def select_n(which: Any, *cases: Any) -> Any:
    """cases[which], element by element.

    Shapes: which is a scalar or has the shape of the cases; scalar cases count for every element.
    Dtypes: which is bool, for at most two cases (False takes the first), or integer; the cases'
    dtypes are equal. Raises: ShapeError, DtypeError; ArgumentTypeError without cases.

    >>> lax.select_n(jnp.array([0, 2, 1]), *(jnp.full(3, k) for k in (10, 20, 30)))
    Array([10, 30, 20], dtype=int32, weak_type=True)
    """
    if not cases:
        raise ArgumentTypeError("needs at least one case", op="select_n")
    types = [type_of(c) for c in cases]
    dtype, _ = dtypes.promote(*((t.dtype, t.weak_type) for t in types))
    shapes = [t.shape for t in (type_of(which), *types)]
    shape = sorted(shapes, key=len)[-1]
    matched = []
    for case, t in zip(cases, types, strict=True):
        if type(case) in (bool, int, float, complex) and t.dtype != dtype:
            case = convert_element_type(case, dtype)
        matched.append(case if t.shape else broadcast_to(case, shape))
    return select_n_p.bind(which, *matched)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where pred, else on_false; see select_n for shapes and dtypes.

    >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    return select_n(pred, on_false, on_true)


# --- max, min, clamp


def _complex_extreme(direction: str) -> Callable[..., Any]:
    # Complex numbers are ordered by their real parts, then by their imaginary parts.
    def lower(b: Any, x: Any, y: Any) -> Any:
        if x.dtype not in COMPLEX:
            return b.binary("maximum" if direction == "GT" else "minimum", x, y)
        part = dtypes.real_of(x.dtype)
        (rx, ix), (ry, iy) = ([b.unary(p, v, part) for p in ("real", "imag")] for v in (x, y))
        tie = b.compare("EQ", rx, ry)
        first = b.select(tie, b.compare(direction, ix, iy), b.compare(direction, rx, ry))
        x_nan = b.binary("or", b.compare("NE", rx, rx), b.compare("NE", ix, ix))
        y_nan = b.binary("or", b.compare("NE", ry, ry), b.compare("NE", iy, iy))
        return b.select(x_nan, x, b.select(y_nan, y, b.select(first, x, y)))

    return lower


def _share(z: Any, x: Any, other: Any, t: Any) -> Any:
    # The operand that is the result takes the tangent; equal operands take half of it each.
    tied = select(eq(other, z), mul(t, 0.5), t)
    return select(eq(x, z), tied, zeros_like(tied))


def _extreme(
    name: str, doc: str, numpy: Callable[..., Any], direction: str, shown: str
) -> Elementwise:
    return binary(
        name,
        doc=f"""{doc}, element by element; NaN if one is NaN. Complex numbers are ordered by their
        real, then by their imaginary parts. Equal operands share the derivative. StableHLO:
        {name}imum.""",
        accepts=NUMBER | BOOL,
        numpy=numpy,
        hlo=_complex_extreme(direction),
        jvp=(
            lambda z, x, y, t: _share(z, x, y, t),
            lambda z, x, y, t: _share(z, y, x, t),
        ),
        samples=[
            (real(2, 3), real(2, 3)[:, ::-1] + 0.1),
            (real(3), 0.1 + real()),
            (integers(7), integers(7)[::-1].copy()),
            (booleans(4), np.array([True, True, False, False])),
            (complex_(3), complex_(3)[::-1] + 0.1),
        ],
        example=(f"lax.{name}(jnp.array([1.0, 5.0, jnp.nan]), 2.0)", shown),
    )


max = _extreme(
    "max", "The larger of x and y", np.maximum, "GT", "Array([ 2.,  5., nan], dtype=float32)"
)
min = _extreme(
    "min", "The smaller of x and y", np.minimum, "LT", "Array([ 1.,  2., nan], dtype=float32)"
)


def _where(condition: Any, t: Any) -> Any:
    return select(condition, t, zeros_like(t))


clamp = register(
    Elementwise(
        "clamp",
        doc="""x held between min and max: min where x is smaller, max where it is larger; max where
        the two are out of order; NaN if one is NaN. min and max may be scalars. The derivative
        belongs to x strictly inside. StableHLO: clamp.""",
        example=("print(lax.clamp(0.0, jnp.array([-1.0, 0.5, 2.0]), 1.0))", "[0.  0.5 1. ]"),
        operands=("min", "x", "max"),
        accepts=REAL | BOOL,
        numpy=lambda low, x, high: np.minimum(np.maximum(low, x), high),
        hlo="clamp",
        derivatives=(
            lambda y, low, x, high, t: _where(bitwise_and(gt(low, x), lt(low, high)), t),
            lambda y, low, x, high, t: _where(bitwise_and(gt(x, low), lt(x, high)), t),
            lambda y, low, x, high, t: _where(gt(x, high), t),
        ),
        samples=[
            ((np.array(-0.5), real(2, 3), np.array(1.1)), {}),
            ((real(7) - 1.05, real(7), real(7)[::-1] + 0.55), {}),
            ((np.array(-2, np.int32), integers(7), np.array(3, np.int32)), {}),
        ],
    )
)


is_finite = unary(
    "is_finite",
    doc="Whether x is neither infinite nor NaN. StableHLO: is_finite.",
    example=("print(lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan])))", "[ True False False]"),
    accepts=FLOAT,
    numpy=lambda x: np.isfinite(x),
    hlo="is_finite",
    result=_bool,
    samples=[np.array([0.0, -1.0, np.inf, -np.inf, np.nan])],
)


def _zero_signed_hlo(b: Any, x: Any, y: Any) -> Any:
    negative = b.compare("LT", y, b.full_like(y, 0.0), total_order=True)
    zero = b.select(negative, b.full_like(x, -0.0), b.full_like(x, 0.0))
    return b.select(b.compare("EQ", x, b.full_like(x, 0.0)), zero, x)


zero_signed = binary(
    "zero_signed",
    doc="x, its zeros with the sign of y: what a remainder needs, and keeps the derivative of x.",
    accepts=FLOAT,
    numpy=lambda x, y: np.where(x == 0, np.copysign(np.zeros_like(x), y), x),
    hlo=_zero_signed_hlo,
    jvp=(lambda z, x, y, t: t, None),
    samples=[
        (real(2, 3), real(2, 3)),
        (np.array([0, -0.0], np.float32), np.array([-1, 0], np.float32)),
    ],
)


__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clamp",
    "clz",
    "eq",
    "eq_to",
    "ge",
    "gt",
    "is_finite",
    "le",
    "le_to",
    "lt",
    "lt_to",
    "max",
    "min",
    "mulhi",
    "ne",
    "population_count",
    "select",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]
