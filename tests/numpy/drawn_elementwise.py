"""How the elementwise functions are called, and their kin: predicates, rounding, comparisons."""

from __future__ import annotations

import numpy as np

from tests.numpy.drawing import ANY, REAL, call, recipe

BOOL = np.bool_


# --- one operand


@recipe(
    """arccos acos arcsin asin arctan atan arccosh acosh arcsinh asinh arctanh atanh cos sin tan
    cosh sinh tanh exp expm1 log log1p log2 log10 sqrt""",
    cast="inexact",
    dtype="inexact",
    near=False,
)
def inexact_functions(d):
    return call(*d.operands(1, ANY, wild=d.chance(0.5)))


@recipe(
    "deg2rad degrees rad2deg radians exp2 reciprocal",
    cast="inexact",
    dtype="inexact",
    near=False,
)
def scalings(d):
    return call(*d.operands(1, REAL))


@recipe("cbrt fabs", cast="inexact", dtype="inexact", near=False)
def inexact_functions_of_reals(d):
    return call(*d.operands(1, "c" if d.spoil() else REAL))


@recipe("sinc", cast="inexact", dtype="inexact", slack=3)
@recipe("i0", cast="inexact", dtype="inexact", near=False)
def formulas(d):
    # At infinities NumPy's are not a number; plait's are their limits.
    return call(*d.operands(1, REAL, wild=False))


@recipe("rint", cast="float", dtype="float", near=False)
def rounded_to_whole(d):
    return call(*d.operands(1, REAL))


@recipe("spacing")
def spacings(d):
    return call(*d.operands(1, "f"))


@recipe("negative square conj conjugate positive sign", cast="common", dtype="common")
def keeping(d):
    return call(*d.operands(1, "iuhfc"))


@recipe("floor ceil trunc fix", cast="common", dtype="common", near=False)
def whole_parts(d):
    return call(*d.operands(1, "c" if d.spoil() else "iuhf"))


@recipe("absolute abs real imag", cast="common", dtype=lambda args, kwargs, promote: of_parts(args))
def parts(d):
    return call(*d.operands(1, ANY))


def of_parts(args):
    return {"F": np.float32, "D": np.float64}.get(args[0].dtype.char, args[0].dtype)


@recipe("angle", cast="float", dtype=lambda args, kwargs, promote: angular(args), near=False)
def angles(d):
    return call(*d.operands(1, ANY, wild=False), **d.options(deg=lambda: d.chance(0.5)))


def angular(args):
    dtype = args[0].dtype
    return {"F": np.float32, "D": np.float64}.get(dtype.char) or (
        dtype if dtype.kind in "fV" else np.float64
    )


@recipe("isnan isinf isfinite iscomplex isreal logical_not", cast="common", dtype=BOOL)
def questions(d):
    return call(*d.operands(1, ANY))


@recipe("isneginf isposinf signbit", cast="common", dtype=BOOL)
def questions_of_reals(d):
    return call(*d.operands(1, "c" if d.spoil() else REAL))


@recipe("iscomplexobj isrealobj")
def questions_of_dtypes(d):
    return call(*d.operands(1, ANY))


@recipe("invert bitwise_invert bitwise_not", cast="common", dtype="common")
def bits_of_one(d):
    return call(*d.operands(1, "f" if d.spoil() else "biu"))


@recipe("bitwise_count", cast="common", dtype=np.uint8)
def counted_bits(d):
    return call(*d.operands(1, "f" if d.spoil() else "iu"))


@recipe("round around", cast="common", dtype="common")
def rounded(d):
    return call(*d.operands(1, "iuhfc", wild=False), d.integer(-2, 3))


@recipe("frexp", cast="inexact", dtype=lambda args, kwargs, promote: [mantissa(args), np.int32])
def mantissas(d):
    return call(*d.operands(1, REAL))


@recipe("modf", cast="inexact", dtype="inexact")
def fractions(d):
    return call(*d.operands(1, REAL))


def mantissa(args):
    dtype = args[0].dtype
    return dtype if dtype.kind in "fV" else np.float64 if dtype.itemsize == 8 else np.float32


@recipe("nan_to_num", dtype="common", cast="common")
def numbers_instead(d):
    # With a value given for infinities: what the largest number is depends on the dtype.
    ends = {"posinf": d.one(0.5, 3.0), "neginf": d.one(-0.5, 3.0)}
    return call(*d.operands(1, ANY), **ends, **d.options(nan=lambda: 2.0))


@recipe("unwrap", cast="float", dtype="float")
def unwrapped(d):
    # A jump of half a period, exactly, may be taken either way.
    x = d.array("if", d.shape(1))
    period = {"period": d.one(2.1, 5.3)} if d.chance(0.3) else {}
    return call(x, **d.options(discont=lambda: 4.1, axis=lambda: d.axis(x.ndim)), **period)


# --- two operands


@recipe("add multiply", cast="common", dtype="common", near=False)
def sums(d):
    return call(*d.operands(2))


@recipe("subtract", cast="common", dtype="common", near=False)
def differences(d):
    if d.spoil():
        return call(*d.operands(2, "b"))
    return call(*d.operands(2, "iuhfc"))


@recipe("maximum minimum fmax fmin", cast="common", dtype="common")
def extremes(d):
    return call(*d.operands(2))


@recipe("divide true_divide", cast="inexact", dtype="inexact", near=False)
def quotients(d):
    return call(*d.operands(2, wild=d.chance(0.5)))


@recipe(
    "hypot copysign heaviside",
    cast="inexact",
    dtype="inexact",
    near=False,
)
def inexact_functions_of_two(d):
    return call(*d.operands(2, "c" if d.spoil(0.4) else REAL))


@recipe("arctan2 atan2", cast="inexact", dtype="inexact", near=False)
@recipe("logaddexp logaddexp2", cast="inexact", dtype="inexact")
def functions_of_two(d):
    return call(*d.operands(2, REAL))


@recipe("nextafter")
def neighbours(d):
    x, y = d.operands(2, "f", numbers=False)
    return call(x, y.astype(x.dtype))


@recipe("floor_divide remainder mod fmod divmod", cast="common", dtype="common")
def whole_quotients(d):
    # Whole numbers over 0 are XLA's -1, and infinite quotients the limits: see test_ufuncs.py.
    if d.spoil(0.4):
        return call(*d.operands(2, "c"))
    wild = d.chance(0.6)
    x, y = d.operands(2, d.one("iu", "hf") if wild else "iuhf", wild=wild)
    if isinstance(x, np.ndarray) and x.dtype.kind in "fV":
        x = np.where(np.isfinite(x), x, np.ones_like(x))
    zero = np.equal(y, 0)
    return call(x, np.where(zero, np.ones_like(y), y) if np.any(zero) else y)


@recipe("power pow", cast="common", dtype="common", near=False)
def powers(d):
    # Of integers to powers beyond 63 the low bits differ from NumPy's: they are those of XLA.
    first, second = d.broadcasting(2)
    x = d.array("iuhf", first, wild=True)
    return call(x, d.array("iuhf", second, low=0 if x.dtype.kind in "iu" else -5))


@recipe("float_power", cast="inexact", dtype="inexact", near=False)
def float_powers(d):
    return call(*d.operands(2, REAL))


@recipe("gcd lcm", cast="common", dtype="common")
def divisors(d):
    return call(*d.operands(2, "f" if d.spoil() else "iu", wild=False))


@recipe("bitwise_and bitwise_or bitwise_xor", cast="common", dtype="common")
def bits(d):
    return call(*d.operands(2, "f" if d.spoil() else "biu"))


@recipe(
    "left_shift bitwise_left_shift right_shift bitwise_right_shift", cast="common", dtype="common"
)
def shifts(d):
    if d.spoil():
        return call(*d.operands(2, "f"))
    first, second = d.broadcasting(2)
    return call(d.array("iu", first, wild=True), d.array("iu", second, low=0, high=7))


@recipe("equal not_equal less less_equal greater greater_equal", cast="common", dtype=BOOL)
def comparisons(d):
    return call(*d.operands(2, ANY))


@recipe("logical_and logical_or logical_xor", dtype=BOOL)
def logic(d):
    return call(*d.operands(2, ANY))


@recipe("ldexp", cast="wide", dtype=lambda args, kwargs, promote: mantissa(args))
def scaled(d):
    first, second = d.broadcasting(2)
    return call(d.array("ihf", first), d.array("f" if d.spoil() else "i", second))


@recipe("isclose", cast="inexact", dtype=BOOL)
def close(d):
    x, y = d.operands(2, ANY)
    if d.chance(0.5) and isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        y = (x * (1 + 1e-3)).astype(x.dtype)
    tolerances = {"rtol": lambda: 0.05, "atol": lambda: 0.1}
    return call(x, y, **d.options(**tolerances, equal_nan=lambda: d.chance(0.5)))


@recipe("allclose", cast="inexact", dtype=BOOL)
def all_close(d):
    args, kwargs = close(d)
    return call(args[0], args[0] if d.chance(0.5) else args[1], **kwargs)


@recipe("array_equal", dtype=BOOL)
def same_arrays(d):
    x, y = d.operands(2, ANY, numbers=False)
    y = x if d.chance(0.5) else y
    return call(x, y, **d.options(equal_nan=lambda: d.chance(0.5)))


@recipe("array_equiv", dtype=BOOL)
def equivalent(d):
    x, y = d.operands(2, ANY, numbers=False)
    return call(x, np.broadcast_to(x, (2, *x.shape)) if d.chance(0.5) else y)


# --- three operands


@recipe("clip", cast="common", dtype="common")
def clipped(d):
    x, low, high = d.operands(3, "iuhf")
    return call(x, *d.one((low, None), (None, high), (low, high)))


@recipe(
    "where",
    oracle=lambda c, *xy: np.where(c, *xy),
    cast=None,
    dtype=lambda args, kwargs, promote: promote(*args[1:]),
)
def chosen(d):
    c, x, y = d.operands(3, ANY)
    return call(c if isinstance(c, np.ndarray) else np.array(True), x, y)
