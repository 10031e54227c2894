"""dot_general: products of arrays, summed over contracted axes, for each index of batch axes."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.primitive import LinearOperand, Primitive, register
from plait.core.sample import booleans, complex_, integers, real
from plait.core.source import called
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, PlaitError, ShapeError
from plait.hlo.types import element
from plait.ops.arithmetic import add, convert_element_type
from plait.ops.axes import move_axis, normalise_axis, permute


def product_jvp(op: Primitive, xs: Sequence[Any], ts: Sequence[Any], params: dict[str, Any]) -> Any:
    """The jvp of an op that is linear in each of its two operands."""
    y = op.bind(*xs, **params)
    if type_of(y).dtype not in dtypes.INEXACT:
        return y, None
    (lhs, rhs), (tl, tr) = xs, ts
    parts = []
    if tl is not None:
        parts.append(op.bind(tl, rhs, **params))
    if tr is not None:
        parts.append(op.bind(lhs, tr, **params))
    return y, parts[0] if len(parts) == 1 else add(*parts)


class Precision(enum.Enum):
    """How exactly a device with short multipliers multiplies float32. CPUs are always exact.

    DEFAULT is the fastest, HIGHEST full float32, HIGH between them.

    >>> lax.dot(jnp.ones(3), jnp.ones(3), precision=lax.Precision.HIGHEST)
    Array(3., dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    __str__ = __repr__


@dataclasses.dataclass(frozen=True)
class DotAlgorithm:
    """The algorithm of a product: the dtypes that operands and sums are computed in.

    Source: StableHLO specification, dot_general, algorithm.

    >>> how = lax.DotAlgorithm(jnp.bfloat16, jnp.bfloat16, jnp.float32)
    >>> lax.dot(jnp.ones(3), jnp.ones(3), precision=how)
    Array(3., dtype=float32)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False

    def __post_init__(self):
        for name in ("lhs_precision_type", "rhs_precision_type", "accumulation_type"):
            value = getattr(self, name)
            if value != "tf32":
                object.__setattr__(self, name, dtypes.as_dtype(value))


class DotAlgorithmPreset(enum.Enum):
    """Named algorithms: the dtypes of lhs, rhs and accumulation; X3, X6, X9 are sums of so many
    products of bfloat16 (TF32) parts.

    >>> lax.dot(jnp.ones(3), jnp.ones(3), precision=lax.DotAlgorithmPreset.F32_F32_F32)
    Array(3., dtype=float32)
    """

    DEFAULT = None
    ANY_F8_ANY_F8_F32 = ("f8", "f8", "float32", 1, 1, 1, False)
    ANY_F8_ANY_F8_F32_FAST_ACCUM = ("f8", "f8", "float32", 1, 1, 1, True)
    ANY_F8_ANY_F8_ANY = ("f8", "f8", "any", 1, 1, 1, False)
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = ("f8", "f8", "any", 1, 1, 1, True)
    F16_F16_F16 = ("float16", "float16", "float16", 1, 1, 1, False)
    F16_F16_F32 = ("float16", "float16", "float32", 1, 1, 1, False)
    BF16_BF16_BF16 = ("bfloat16", "bfloat16", "bfloat16", 1, 1, 1, False)
    BF16_BF16_F32 = ("bfloat16", "bfloat16", "float32", 1, 1, 1, False)
    BF16_BF16_F32_X3 = ("bfloat16", "bfloat16", "float32", 1, 1, 3, False)
    BF16_BF16_F32_X6 = ("bfloat16", "bfloat16", "float32", 1, 1, 6, False)
    BF16_BF16_F32_X9 = ("bfloat16", "bfloat16", "float32", 1, 1, 9, False)
    TF32_TF32_F32 = ("tf32", "tf32", "float32", 1, 1, 1, False)
    TF32_TF32_F32_X3 = ("tf32", "tf32", "float32", 1, 1, 3, False)
    F32_F32_F32 = ("float32", "float32", "float32", 1, 1, 1, False)
    F64_F64_F64 = ("float64", "float64", "float64", 1, 1, 1, False)

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    __str__ = __repr__


PrecisionLike = Any
# ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs)).
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
_LEVELS = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


def canonical_precision(precision: PrecisionLike, op: str = "dot_general") -> Any:
    """None, a pair of Precision, a DotAlgorithm or a DotAlgorithmPreset, from what a user gives.

    None means the switch default_matmul_precision. Raises: ArgumentError for anything else.
    """
    if precision is None:
        precision = state.default_matmul_precision
        if precision is None:
            return None
    if isinstance(precision, tuple | list) and len(precision) == 2:
        pair = tuple(_level(p, op) for p in precision)
        if all(isinstance(p, Precision) for p in pair):
            return pair
        raise _bad_precision(precision, op)
    level = _level(precision, op)
    if level is DotAlgorithmPreset.DEFAULT:
        return None
    return (level, level) if isinstance(level, Precision) else level


def _level(precision: Any, op: str) -> Any:
    if precision is None:
        return Precision.DEFAULT
    if isinstance(precision, Precision | DotAlgorithm | DotAlgorithmPreset):
        return precision
    if isinstance(precision, str):
        if precision.lower() in _LEVELS:
            return _LEVELS[precision.lower()]
        if precision in DotAlgorithmPreset.__members__:
            return DotAlgorithmPreset[precision]
    raise _bad_precision(precision, op)


def _bad_precision(precision: Any, op: str) -> ArgumentError:
    return ArgumentError(
        "this is not a precision",
        op=called(op),
        precision=precision,
        fix="lax.Precision, one of its names, a pair of these, or a lax.DotAlgorithmPreset",
    )


@functools.cache
def product_dtype(lhs: Any, rhs: Any) -> Any:
    """The dtype in which operands of two dtypes are multiplied.

    Complex goes over float over integer over bool, then the one with the greater range.
    """
    if lhs == rhs:
        return lhs
    kinds = (dtypes.BOOL, dtypes.INTEGER, dtypes.FLOAT, dtypes.COMPLEX)
    rank = {d: next(k for k, s in enumerate(kinds) if d in s) for d in (lhs, rhs)}
    if rank[lhs] != rank[rhs]:
        return max(lhs, rhs, key=rank.__getitem__)
    if rank[lhs] == 1:
        signed = lhs in dtypes.INT or rhs in dtypes.INT
        bits = max(dtypes.iinfo(d).bits for d in (lhs, rhs))
        return dtypes.as_dtype(f"{'int' if signed else 'uint'}{bits}")
    return max(lhs, rhs, key=lambda d: (dtypes.finfo(d).maxexp, dtypes.finfo(d).nmant))


def result_dtype(lhs: ArrayType, rhs: ArrayType, preferred: Any) -> Any:
    """The dtype of a product. Raises DtypeError if an operand cannot be multiplied, or if the
    preferred dtype has fewer bits than the operands.
    """
    for x in (lhs, rhs):
        if x.dtype not in dtypes.NUMBER | dtypes.BOOL:
            raise DtypeError("takes numbers or booleans", lhs=lhs, rhs=rhs)
    if preferred is None:
        return product_dtype(lhs.dtype, rhs.dtype)
    if preferred not in dtypes.NUMBER | dtypes.BOOL:
        raise DtypeError(
            "preferred_element_type is not a dtype of numbers",
            preferred_element_type=preferred.name,
        )
    if preferred.itemsize < min(lhs.dtype.itemsize, rhs.dtype.itemsize):
        raise DtypeError(
            "preferred_element_type has fewer bits than the operands",
            lhs=lhs,
            rhs=rhs,
            preferred_element_type=preferred.name,
            fix="convert the result with lax.convert_element_type",
        )
    return preferred


def compute_dtype(platform: str, lhs: Any, rhs: Any, result: Any, terms: int = 2**63) -> Any:
    """The dtype both operands get before they are multiplied; a device's own mixed forms are kept.

    XLA:CPU multiplies float32, float64 and complex numbers well. Shorter floats are exact in
    float32, where the sums are carried and rounded once. Sums of so many terms of short integers
    are exact in floats, which are multiplied much faster (512x512: int8 112 ms, int32 9 ms, float64
    5 ms, float32 1 ms).
    """
    common = product_dtype(lhs, rhs)
    integral = dtypes.INTEGER | dtypes.BOOL
    if platform == "cpu":
        if result in dtypes.INTEGER and common in integral:
            largest = terms * _magnitude(lhs) * _magnitude(rhs)
            if largest <= 2**24:
                return dtypes.float32
            if largest <= 2**53:
                return dtypes.float64
            return result
        if result in dtypes.BOOL and common in dtypes.BOOL:
            # Whether a product of booleans is not zero: float32 finds it much faster than logic.
            return dtypes.float32
        common = product_dtype(common, result) if result not in dtypes.BOOL else common
        if common in dtypes.FLOAT and common.itemsize <= 2:
            return dtypes.float32
    elif common in dtypes.BOOL:
        return dtypes.float32 if result in dtypes.BOOL else result
    elif common in integral and result in dtypes.INEXACT:
        return result
    return common


def _magnitude(dtype: Any) -> int:
    return (
        1 if dtype in dtypes.BOOL else int(-min(dtypes.iinfo(dtype).min, -dtypes.iinfo(dtype).max))
    )


def to_result(b: Any, y: Any, dtype: Any) -> Any:
    """A product in the dtype of its result: bool is whether it is not zero, integers wrap."""
    if dtype in dtypes.BOOL and y.dtype not in dtypes.BOOL:
        return b.compare("NE", y, b.full_like(y, 0))
    if dtype in dtypes.INTEGER and y.dtype in dtypes.FLOAT:
        y = b.convert(y, dtypes.int32 if y.dtype == dtypes.float32 else dtypes.int64)
    return b.convert(y, dtype)


def _free(ndim: int, *used: Sequence[int]) -> tuple[int, ...]:
    taken = {a for axes in used for a in axes}
    return tuple(k for k in range(ndim) if k not in taken)


class DotGeneral(Primitive):
    """Sum of products over contracted axes, for each index of the batch axes.

    dimension_numbers is ((lhs contracted, rhs contracted), (lhs batch, rhs batch)). The result has
    the batch axes, then the remaining axes of lhs, then those of rhs. StableHLO: dot_general.
    """

    name = "dot_general"

    def type(self, lhs, rhs, *, dimension_numbers, precision, preferred_element_type):
        (lc, rc), (lb, rb) = dimension_numbers
        given = {"lhs": lhs, "rhs": rhs, "dimension_numbers": dimension_numbers}
        for mine, theirs, what in ((lc, rc, "contracted"), (lb, rb, "batch")):
            if len(mine) != len(theirs):
                raise ShapeError(f"lhs and rhs have different numbers of {what} axes", **given)
            if any(lhs.shape[a] != rhs.shape[c] for a, c in zip(mine, theirs, strict=True)):
                sizes = (tuple(lhs.shape[a] for a in mine), tuple(rhs.shape[c] for c in theirs))
                raise ShapeError(
                    f"the {what} axes must have equal sizes, these have {sizes[0]} and {sizes[1]}",
                    **given,
                )
        for x, used in ((lhs, lc + lb), (rhs, rc + rb)):
            if len(set(used)) != len(used) or any(not 0 <= a < x.ndim for a in used):
                raise ShapeError("an axis is contracted or batch once at most", **given)
        shape = [lhs.shape[a] for a in lb]
        shape += [lhs.shape[a] for a in _free(lhs.ndim, lc, lb)]
        shape += [rhs.shape[a] for a in _free(rhs.ndim, rc, rb)]
        dtype = result_dtype(lhs, rhs, preferred_element_type)
        weak = lhs.weak_type and rhs.weak_type and preferred_element_type is None
        return ArrayType(shape, dtype, weak)

    def numpy(self, lhs, rhs, *, dimension_numbers, precision, preferred_element_type):
        (lc, rc), (lb, rb) = dimension_numbers
        out = self.type(
            type_of(lhs),
            type_of(rhs),
            dimension_numbers=dimension_numbers,
            precision=precision,
            preferred_element_type=preferred_element_type,
        )
        wide = compute_dtype("cpu", lhs.dtype, rhs.dtype, out.dtype)
        lf, rf = _free(lhs.ndim, lc, lb), _free(rhs.ndim, rc, rb)

        def size(x: np.ndarray, axes: Sequence[int]) -> int:
            return int(np.prod([x.shape[a] for a in axes], dtype=np.int64))

        left = np.transpose(lhs, (*lb, *lf, *lc)).astype(wide)
        right = np.transpose(rhs, (*rb, *rc, *rf)).astype(wide)
        with np.errstate(all="ignore"):
            y = np.matmul(
                left.reshape(size(lhs, lb), size(lhs, lf), size(lhs, lc)),
                right.reshape(size(rhs, rb), size(rhs, rc), size(rhs, rf)),
            )
            return y.reshape(out.shape).astype(out.dtype)

    def jvp(self, xs, ts, **params):
        return product_jvp(self, xs, ts, params)

    def transpose(self, ct, lhs, rhs, *, dimension_numbers, precision, preferred_element_type):
        (lc, rc), (lb, rb) = dimension_numbers
        if isinstance(lhs, LinearOperand):
            return (self._ct_lhs(ct, lhs, rhs, lc, rc, lb, rb, precision, False), None)
        swapped = precision[::-1] if isinstance(precision, tuple) else precision
        return (None, self._ct_lhs(ct, rhs, lhs, rc, lc, rb, lb, swapped, True))

    def _ct_lhs(
        self,
        ct: Any,
        x: LinearOperand,
        y: Any,
        xc: tuple[int, ...],
        yc: tuple[int, ...],
        xb: tuple[int, ...],
        yb: tuple[int, ...],
        precision: Any,
        x_is_right: bool,
    ) -> Any:
        """The cotangent of x in the product of x and y.

        The cotangent has axes (batch, free of the left one, free of the right one). Contracting y's
        free axes leaves (batch, x's free axes, y's contracted axes in y's order), which are then
        put in x's order.
        """
        y_ndim = type_of(y).ndim
        batch = tuple(range(len(xb)))
        x_free, y_free = _free(x.ndim, xc, xb), _free(y_ndim, yc, yb)
        start = len(xb) + (0 if x_is_right else len(x_free))
        ct_contracted = tuple(range(start, start + len(y_free)))
        out = self.bind(
            ct,
            y,
            dimension_numbers=((ct_contracted, y_free), (batch, yb)),
            precision=precision,
            preferred_element_type=None,
        )
        in_order = [xc[yc.index(a)] for a in sorted(yc)]
        axes = (*xb, *x_free, *in_order)
        out = permute(out, [axes.index(k) for k in range(x.ndim)])
        return convert_element_type(out, x.dtype)

    def batch(self, frame, xs, mapped, *, dimension_numbers, **params):
        (lc, rc), (lb, rb) = dimension_numbers
        lc, lb = (tuple(a + mapped[0] for a in axes) for axes in (lc, lb))
        rc, rb = (tuple(a + mapped[1] for a in axes) for axes in (rc, rb))
        if all(mapped):
            # The new axis is the first batch axis, so nothing has to move.
            numbers = ((lc, rc), ((0, *lb), (0, *rb)))
            return self.bind(*xs, dimension_numbers=numbers, **params), True
        y = self.bind(*xs, dimension_numbers=((lc, rc), (lb, rb)), **params)
        # The new axis is the first free axis of its operand.
        at = len(lb)
        if mapped[1]:
            at += len(_free(type_of(xs[0]).ndim, lc, lb))
        return move_axis(y, at, 0), True

    def lower(self, b, lhs, rhs, *, dimension_numbers, precision, preferred_element_type):
        (lc, _), _ = dimension_numbers
        (out,) = b.result_types
        terms = math.prod(lhs.shape[a] for a in lc)
        wide = compute_dtype(b.platform, lhs.dtype, rhs.dtype, out.dtype, terms)
        carried = wide if b.platform == "cpu" or out.dtype in dtypes.BOOL else out.dtype
        algorithm = algorithm_of(precision, lhs.dtype, rhs.dtype, out.dtype)
        if algorithm is None:
            left, right = b.convert(lhs, wide), b.convert(rhs, wide)
        else:
            left = b.convert(lhs, _stored(algorithm.lhs_precision_type, algorithm))
            right = b.convert(rhs, _stored(algorithm.rhs_precision_type, algorithm))
            carried = algorithm.accumulation_type
            if b.platform == "cpu":
                # CPUs have no such algorithms; the operands are rounded as they ask.
                algorithm, carried = None, product_dtype(carried, dtypes.float32)
                left, right = b.convert(left, carried), b.convert(right, carried)
        attributes = dot_attributes(dimension_numbers, precision)
        if algorithm is not None:
            attributes += _algorithm_text(algorithm)

        def product(x: Any, y: Any, dtype: Any) -> Any:
            return b.op("dot_general", (x, y), ArrayType(out.shape, dtype), attributes)

        if b.platform == "cpu" and carried in dtypes.COMPLEX and out.size * terms > _LARGE:
            y = _complex_product(b, (lhs, left), (rhs, right), product, carried)
        else:
            y = product(left, right, carried)
        return to_result(b, y, out.dtype)

    def samples(self):
        plain = {"precision": None, "preferred_element_type": None}
        matmul = (((1,), (0,)), ((), ()))
        yield (real(2, 3), real(3, 4)), {"dimension_numbers": matmul, **plain}
        batched = (((2,), (3,)), ((0,), (1,)))
        yield (real(2, 3, 4), real(5, 2, 3, 4)), {"dimension_numbers": batched, **plain}
        two = (((2, 0), (0, 1)), ((1,), (3,)))
        yield (real(2, 3, 4), real(4, 2, 5, 3)), {"dimension_numbers": two, **plain}
        yield (real(3), real(3)), {"dimension_numbers": (((0,), (0,)), ((), ())), **plain}
        yield (real(3), real(2)), {"dimension_numbers": (((), ()), ((), ())), **plain}
        yield (complex_(2, 3), complex_(3, 2)), {"dimension_numbers": matmul, **plain}
        yield (integers(2, 3), integers(3, 2)), {"dimension_numbers": matmul, **plain}
        yield (booleans(2, 3), booleans(3, 2)), {"dimension_numbers": matmul, **plain}
        yield (real(2, 0), real(0, 2)), {"dimension_numbers": matmul, **plain}
        half = real(2, 3).astype(np.float16), real(3, 4).astype(np.float16)
        wide = {"precision": None, "preferred_element_type": dtypes.float32}
        yield half, {"dimension_numbers": matmul, **wide}
        small = integers(2, 3, dtype=np.int8), integers(3, 2, dtype=np.int8)
        yield (
            small,
            {"dimension_numbers": matmul, "precision": None}
            | {"preferred_element_type": dtypes.int32},
        )
        highest = {"precision": (Precision.HIGHEST, Precision.HIGHEST)}
        yield (
            (real(2, 3), real(3, 4)),
            {"dimension_numbers": matmul, "preferred_element_type": None, **highest},
        )


dot_general_p = register(DotGeneral())

# Complex products with more multiplications are made of real ones on CPU: XLA:CPU has no fast
# complex one (512x512 complex64: 14 ms against 6 ms).
_LARGE = 2**15


def _complex_product(b: Any, lhs: Any, rhs: Any, product: Any, dtype: Any) -> Any:
    """A complex product from real ones; operands come as (given, converted to complex)."""
    part = dtypes.real_of(dtype)

    def parts(given: Any, converted: Any) -> tuple[Any, Any]:
        if given.dtype not in dtypes.COMPLEX:
            return b.convert(given, part), None
        return b.unary("real", converted, part), b.unary("imag", converted, part)

    (a, p), (c, q) = parts(*lhs), parts(*rhs)

    def times(x: Any, y: Any) -> Any:
        return None if x is None or y is None else product(x, y, part)

    ac, pq, aq, pc = times(a, c), times(p, q), times(a, q), times(p, c)
    re = ac if pq is None else b.sub(ac, pq)
    if aq is None or pc is None:
        im = aq if pc is None else pc
    else:
        im = b.add(aq, pc)
    return b.op("complex", (re, im), ArrayType(re.shape, dtype))


def dot_attributes(dimension_numbers: Any, precision: Any) -> str:
    """The attributes of StableHLO's dot_general."""
    (lc, rc), (lb, rb) = dimension_numbers
    return (
        "dot_dimension_numbers = #stablehlo.dot<"
        f"lhs_batching_dimensions = {list(lb)}, rhs_batching_dimensions = {list(rb)}, "
        f"lhs_contracting_dimensions = {list(lc)}, rhs_contracting_dimensions = {list(rc)}>"
        + precision_text(precision)
    )


def precision_text(precision: Any) -> str:
    """The attribute precision_config, with a comma before it, or nothing."""
    if not isinstance(precision, tuple):
        return ""
    levels = ", ".join(f"#stablehlo<precision {p.name}>" for p in precision)
    return f", precision_config = [{levels}]"


def algorithm_of(precision: Any, lhs: Any, rhs: Any, result: Any) -> DotAlgorithm | None:
    """The algorithm that a precision asks for, for operands and a result of the given dtypes."""
    if isinstance(precision, DotAlgorithm):
        return precision
    if not isinstance(precision, DotAlgorithmPreset) or precision.value is None:
        return None
    value: Any = precision.value
    left, right, total, *counts = value
    if left == "f8":
        for dtype in (lhs, rhs):
            if dtype not in dtypes.FLOAT or dtype.itemsize != 1:
                raise DtypeError(
                    "the precision takes 8-bit floats",
                    op="dot_general",
                    precision=precision.name,
                    lhs=lhs.name,
                    rhs=rhs.name,
                )
        left, right = lhs, rhs
    if total == "any":
        total = result if result in dtypes.FLOAT else dtypes.float32
    return DotAlgorithm(left, right, total, *counts)


def _stored(precision_type: Any, algorithm: DotAlgorithm) -> Any:
    """The dtype an operand is stored in: TF32, and what is split into parts, in float32."""
    if precision_type == "tf32" or algorithm.num_primitive_operations > 1:
        return dtypes.float32
    return precision_type


def _algorithm_text(algorithm: DotAlgorithm) -> str:
    def name(dtype: Any) -> str:
        return "tf32" if dtype == "tf32" else element(dtype)

    return (
        f", algorithm = #stablehlo.dot_algorithm<"
        f"lhs_precision_type = {name(algorithm.lhs_precision_type)}, "
        f"rhs_precision_type = {name(algorithm.rhs_precision_type)}, "
        f"accumulation_type = {name(algorithm.accumulation_type)}, "
        f"lhs_component_count = {algorithm.lhs_component_count}, "
        f"rhs_component_count = {algorithm.rhs_component_count}, "
        f"num_primitive_operations = {algorithm.num_primitive_operations}, "
        f"allow_imprecise_accumulation = {str(algorithm.allow_imprecise_accumulation).lower()}>"
    )


def dimension_pairs(numbers: Any, lhs: ArrayType, rhs: ArrayType, op: str) -> tuple[Any, Any]:
    """((lhs contracted, rhs contracted), (lhs batch, rhs batch)), checked, from sequences."""

    def pair(axes: Any) -> tuple[Any, Any]:
        of_lhs, of_rhs = axes
        return (
            tuple(normalise_axis(a, lhs.ndim, op) for a in of_lhs),
            tuple(normalise_axis(a, rhs.ndim, op) for a in of_rhs),
        )

    try:
        contracted, batch = numbers
        return pair(contracted), pair(batch)
    except (TypeError, ValueError) as error:
        if isinstance(error, PlaitError):
            raise
        raise ArgumentError(
            "dimension_numbers is ((lhs contracted, rhs contracted), (lhs batch, rhs batch))",
            op=op,
            dimension_numbers=numbers,
        ) from None


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """Sum of products over contracted axes, for each index of the batch axes.

    dimension_numbers is ((lhs contracted, rhs contracted), (lhs batch, rhs batch)), each a sequence
    of axes. Shapes: the batch axes, the other axes of lhs, the other axes of rhs. The dtype is
    preferred_element_type, in which sums are carried, or the operands' own.
    Raises: ShapeError, DtypeError, ArgumentError.

    >>> a, b = jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))
    >>> lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)
    """
    numbers = dimension_pairs(dimension_numbers, type_of(lhs), type_of(rhs), "dot_general")
    preferred = preferred_dtype(preferred_element_type)
    return product(lhs, rhs, numbers, canonical_precision(precision), preferred)


def product(lhs: Any, rhs: Any, numbers: Any, precision: Any, preferred: Any) -> Any:
    """dot_general with checked parameters; rounded to a preferred float dtype of fewer bits than
    the operands have.
    """
    params = {"dimension_numbers": numbers, "precision": precision}
    if preferred in dtypes.FLOAT and preferred.itemsize < type_of(lhs).dtype.itemsize:
        y = dot_general_p.bind(lhs, rhs, **params, preferred_element_type=None)
        if type_of(y).dtype in dtypes.FLOAT:
            return convert_element_type(y, preferred)
    return dot_general_p.bind(lhs, rhs, **params, preferred_element_type=preferred)


def preferred_dtype(preferred: Any) -> Any:
    """The canonical dtype of preferred_element_type, or None."""
    return None if preferred is None else dtypes.canonical(dtypes.as_dtype(preferred))


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The product of vectors and matrices; with dimension_numbers, that of dot_general.

    Shapes: [n] [n] -> []; [m, n] [n] -> [m]; [n] [n, k] -> [k]; [m, n] [n, k] -> [m, k].
    Raises: ShapeError, DtypeError.

    >>> lax.dot(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([1.0, 1.0]))
    Array([3., 7.], dtype=float32)
    """
    if dimension_numbers is None:
        left, right = type_of(lhs), type_of(rhs)
        fits = left.ndim in (1, 2) and right.ndim in (1, 2) and left.shape[-1] == right.shape[0]
        if not fits:
            raise ShapeError(
                "takes vectors and matrices whose inner sizes agree",
                op="dot",
                lhs=left,
                rhs=right,
                fix="plait.numpy.matmul and dot_general take more dimensions",
            )
        dimension_numbers = (((left.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "dot",
    "dot_general",
]
