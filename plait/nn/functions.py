"""Activations, softmax and its kin, one_hot, standardize.

Activations work element by element. Integers become floats, other dtypes stay. Each is one op, or
one compiled program: eagerly, no intermediate result goes through memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.context import axis_size
from plait.core.dtypes import COMPLEX, INEXACT
from plait.core.source import called
from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.numpy.promotion import (
    INEXACT_KIND,
    axes_in,
    axis_in,
    constant,
    is_arraylike,
    operand,
    promote,
    static_int,
    to_dtype,
)
from plait.ops import activation
from plait.ops.collective import axis_index
from plait.ops.functions import exp, expm1, logistic, rsqrt, tanh
from plait.ops.logaddexp import logaddexp
from plait.ops.special import erfc
from plait.regions.custom import stop_gradient
from plait.transforms.choices import PerChoice


def array(op: str, name: str, x: Any) -> Any:
    """An argument that must be an array or a number. Raises ArgumentTypeError, naming it."""
    if is_arraylike(x):
        return operand(op, x)
    kind = f"a {type(x).__name__}" if x is not None else "None"
    raise ArgumentTypeError(
        f"{name} must be an array or a number, not {kind}",
        op=called(op),
        fix=f"jnp.asarray({name})" if isinstance(x, list | tuple) else None,
    )


def floats(op: str, name: str, x: Any) -> Any:
    """An array argument in a float (or complex) dtype."""
    x = array(op, name, x)
    if type_of(x).dtype in INEXACT:
        return x
    return promote(op, (x,), INEXACT_KIND)[0]


def _result(x: Any) -> Any:
    # Numbers come back as arrays.
    return constant(x)


# --- relu and its kin


@PerChoice
def _cut(x: Any, *, top: float | None) -> Any:
    """Complex numbers below 0 become 0, those above top become top; ordered by their real parts."""
    low = jnp.where(x > 0, x, 0)
    return low if top is None else jnp.where(x < top, low, top)


def _relu6(x: Any) -> Any:
    return _cut(x, top=6.0) if type_of(x).dtype in COMPLEX else activation.relu6(x)


def identity(x: Any) -> Any:
    """x itself, as an array.

    >>> plait.nn.identity(jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return _result(array("identity", "x", x))


def relu(x: Any) -> Any:
    """max(x, 0). The derivative at 0 is 0. Complex numbers are ordered by their real parts.

    >>> plait.nn.relu(jnp.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    """
    x = array("relu", "x", x)
    if type_of(x).dtype in dtypes.BOOL:
        x = jnp.asarray(x, dtypes.default_int())
    return _cut(x, top=None) if type_of(x).dtype in COMPLEX else activation.relu(x)


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6). The derivative at 0 and 6 is 0.

    >>> plait.nn.relu6(jnp.array([-1.0, 3.0, 8.0]))
    Array([0., 3., 6.], dtype=float32)
    """
    return _relu6(floats("relu6", "x", x))


@PerChoice
def _leaky_relu(x: Any, negative_slope: Any) -> Any:
    return jnp.where(x >= 0, x, negative_slope * x)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x where x >= 0, negative_slope · x below.

    >>> plait.nn.leaky_relu(jnp.array([-10.0, 2.0])).round(3)
    Array([-0.1,  2. ], dtype=float32)
    """
    slope = array("leaky_relu", "negative_slope", negative_slope)
    return _leaky_relu(floats("leaky_relu", "x", x), slope)


def _elu_values(x: Any, alpha: Any) -> Any:
    # The branch that is not taken must not overflow: its derivative would be NaN.
    return jnp.where(x > 0, x, alpha * expm1(jnp.where(x > 0, 0.0, x)))


_elu = PerChoice(_elu_values)


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha · (exp(x) - 1) below. Source: Clevert, Unterthiner, Hochreiter 2015.

    >>> plait.nn.elu(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-0.632,  0.   ,  2.   ], dtype=float32)
    """
    return _elu(floats("elu", "x", x), array("elu", "alpha", alpha))


@PerChoice
def _celu(x: Any, alpha: Any) -> Any:
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x) / alpha))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha · (exp(x / alpha) - 1) below. Source: Barron 2017.

    >>> plait.nn.celu(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-0.632,  0.   ,  2.   ], dtype=float32)
    """
    return _celu(floats("celu", "x", x), array("celu", "alpha", alpha))


@PerChoice
def _selu(x: Any) -> Any:
    return 1.0507009873554805 * _elu_values(x, 1.6732632423543772)


def selu(x: Any) -> Any:
    """elu scaled so that layers keep mean 0 and variance 1. Source: Klambauer et al. 2017.

    >>> plait.nn.selu(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-1.111,  0.   ,  2.101], dtype=float32)
    """
    return _selu(floats("selu", "x", x))


@PerChoice
def _hard_tanh(x: Any) -> Any:
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


def hard_tanh(x: Any) -> Any:
    """x, cut off at -1 and 1.

    >>> plait.nn.hard_tanh(jnp.array([-4.0, 0.5, 4.0]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return _hard_tanh(array("hard_tanh", "x", x))


@PerChoice
def _hard_sigmoid(x: Any) -> Any:
    return _relu6(x + 3.0) / 6.0


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6.

    >>> plait.nn.hard_sigmoid(jnp.array([-4.0, 0.0, 1.5]))
    Array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return _hard_sigmoid(floats("hard_sigmoid", "x", x))


@PerChoice
def _hard_silu(x: Any) -> Any:
    return x * (_relu6(x + 3.0) / 6.0)


def hard_silu(x: Any) -> Any:
    """x · hard_sigmoid(x). Source: Howard et al., "Searching for MobileNetV3", 2019.

    >>> plait.nn.hard_silu(jnp.array([-4.0, 1.0, 5.0])).round(3)
    Array([-0.   ,  0.667,  5.   ], dtype=float32)
    """
    return _hard_silu(floats("hard_silu", "x", x))


hard_swish = hard_silu

# --- smooth ones


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)).

    >>> plait.nn.sigmoid(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([0.269, 0.5  , 0.881], dtype=float32)
    """
    return logistic(floats("sigmoid", "x", x))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow.

    >>> plait.nn.softplus(jnp.array([-50.0, 0.0, 50.0])).round(3)
    Array([ 0.   ,  0.693, 50.   ], dtype=float32)
    """
    return _softplus(floats("softplus", "x", x))


def _softplus(x: Any) -> Any:
    dtype = type_of(x).dtype
    log_of_sum = jnp.logaddexp if dtype in COMPLEX else logaddexp
    return log_of_sum(x, 0.0)


@PerChoice
def _log_sigmoid(x: Any) -> Any:
    return -_softplus(-x)


def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without underflow.

    >>> plait.nn.log_sigmoid(jnp.array([-100.0, 0.0])).round(2)
    Array([-100.  ,   -0.69], dtype=float32)
    """
    return _log_sigmoid(floats("log_sigmoid", "x", x))


@PerChoice
def _soft_sign(x: Any) -> Any:
    return x / (jnp.abs(x) + 1)


def soft_sign(x: Any) -> Any:
    """x / (|x| + 1).

    >>> plait.nn.soft_sign(jnp.array([-1.0, 0.0, 3.0]))
    Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return _soft_sign(floats("soft_sign", "x", x))


@PerChoice
def _squareplus(x: Any, b: Any) -> Any:
    # The square of a float16 overflows from 256 on.
    wide = x.astype(dtypes.float32) if x.dtype.itemsize < 4 else x
    y = (wide + jnp.sqrt(jnp.square(wide) + b)) / 2
    return y if wide is x else y.astype(x.dtype)


def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + √(x² + b)) / 2. Source: Barron 2021.

    >>> plait.nn.squareplus(jnp.array([-1.0, 0.0, 1.0])).round(3)
    Array([0.618, 1.   , 1.618], dtype=float32)
    """
    return _squareplus(floats("squareplus", "x", x), array("squareplus", "b", b))


@PerChoice
def _silu(x: Any) -> Any:
    return x * logistic(x)


def silu(x: Any) -> Any:
    """x · sigmoid(x). Source: Hendrycks and Gimpel 2016.

    >>> plait.nn.silu(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-0.269,  0.   ,  1.762], dtype=float32)
    """
    return _silu(floats("silu", "x", x))


swish = silu


@PerChoice
def _mish(x: Any) -> Any:
    return x * tanh(_softplus(x))


def mish(x: Any) -> Any:
    """x · tanh(softplus(x)). Source: Misra 2019.

    >>> plait.nn.mish(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-0.303,  0.   ,  1.944], dtype=float32)
    """
    return _mish(floats("mish", "x", x))


@PerChoice
def _gelu(x: Any, *, approximate: bool) -> Any:
    if approximate:
        # Beyond 10 the tanh is 1 or -1 to the last bit in every dtype, while the cube overflows.
        near = x if x.dtype in COMPLEX else jnp.clip(x, -10.0, 10.0)
        inner = math.sqrt(2 / math.pi) * (near + 0.044715 * (near * near * near))
        return x * (0.5 * (1.0 + tanh(inner)))
    # erfc keeps the digits of the small values that 1 + erf loses.
    return 0.5 * x * erfc(-x * math.sqrt(0.5))


def gelu(x: Any, approximate: bool = True) -> Any:
    """x · Φ(x), Φ the normal distribution function; by a formula with tanh if approximate.

    Source: Hendrycks and Gimpel 2016.

    >>> plait.nn.gelu(jnp.array([-1.0, 0.0, 2.0])).round(3)
    Array([-0.159,  0.   ,  1.955], dtype=float32)
    """
    return _gelu(floats("gelu", "x", x), approximate=bool(approximate))


@PerChoice
def _sparse_plus(x: Any) -> Any:
    # Elsewhere the square might overflow.
    near = jnp.where(x <= -1.0, -1.0, jnp.where(x >= 1.0, 1.0, x))
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, jnp.square(near + 1.0) / 4))


def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, (x + 1)² / 4 between.

    >>> plait.nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    return _sparse_plus(floats("sparse_plus", "x", x))


@PerChoice
def _sparse_sigmoid(x: Any) -> Any:
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, 1.0, 0.5 * (x + 1.0)))


def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, (x + 1) / 2 between: the derivative of sparse_plus.

    >>> plait.nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _sparse_sigmoid(floats("sparse_sigmoid", "x", x))


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x > 0, exact near 0 and far from it. Source: Mächler 2012.

    >>> plait.nn.log1mexp(jnp.array([1e-3, 1.0, 10.0])).round(3)
    Array([-6.908, -0.459, -0.   ], dtype=float32)
    """
    x = floats("log1mexp", "x", x)
    return _complex_log1mexp(x) if type_of(x).dtype in COMPLEX else activation.log1mexp(x)


@PerChoice
def _complex_log1mexp(x: Any) -> Any:
    return jnp.where(jnp.abs(x) < math.log(2.0), jnp.log(-expm1(-x)), jnp.log1p(-exp(-x)))


@PerChoice
def _glu(x: Any, *, axis: int) -> Any:
    a, b = jnp.split(x, 2, axis)
    return a * logistic(b)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along an axis, times the sigmoid of the second.

    Source: Dauphin et al. 2017. Raises: ShapeError for an axis of odd size.

    >>> plait.nn.glu(jnp.array([1.0, 2.0, 0.0, 100.0]))
    Array([0.5, 2. ], dtype=float32)
    """
    x = floats("glu", "x", x)
    type_ = type_of(x)
    axis = axis_in(axis, type_.ndim, "glu")
    if type_.shape[axis] % 2:
        raise ShapeError("the axis must have an even size", op="glu", x=type_, axis=axis)
    return _glu(x, axis=axis)


# --- along axes


@PerChoice
def _masked(x: Any, where: Any, *, axes: tuple[int, ...], in_logs: bool) -> Any:
    where = jnp.broadcast_to(jnp.asarray(where, bool), x.shape)
    # Positions outside get no weight. Where all are outside, so that there is nothing to divide
    # by, any number will do; the last line takes its result out again.
    some = jnp.any(where, axes, keepdims=True)
    x = jnp.where(where, x, jnp.where(some, -jnp.inf, 0.0).astype(x.dtype))
    return jnp.where(where, _shares(x, axes=axes, in_logs=in_logs), -jnp.inf if in_logs else 0.0)


def _shares(x: Any, *, axes: tuple[int, ...], in_logs: bool) -> Any:
    if type_of(x).dtype in COMPLEX:
        return _complex_shares(x, axes=axes, in_logs=in_logs)
    return (activation.log_softmax_p if in_logs else activation.softmax_p).bind(x, axes=axes)


@PerChoice
def _complex_shares(x: Any, *, axes: tuple[int, ...], in_logs: bool) -> Any:
    # How large an exponential is, its real part says.
    shifted = x - stop_gradient(jnp.max(x.real, axes, keepdims=True, initial=-jnp.inf))
    scales = exp(shifted)
    total = jnp.sum(scales, axes, keepdims=True)
    return shifted - jnp.log(total) if in_logs else scales / total


def softmax(x: Any, axis: Any = -1, where: Any = None, initial: Any = None) -> Any:
    """exp(x) divided by its sum over an axis or several (None: all), without overflow.

    Positions outside the mask `where` do not count and give 0. `initial`, the smallest maximum to
    shift by in older programs, changes no result.

    >>> plait.nn.softmax(jnp.array([1e4, 1e4, 0.0]))
    Array([0.5, 0.5, 0. ], dtype=float32)
    """
    return _normalised("softmax", x, axis, where, in_logs=False)


def log_softmax(x: Any, axis: Any = -1, where: Any = None, initial: Any = None) -> Any:
    """The logarithm of softmax, without underflow. Positions outside `where` give -inf.

    >>> plait.nn.log_softmax(jnp.array([1000.0, 1000.0, 998.0])).round(2)
    Array([-0.76, -0.76, -2.76], dtype=float32)
    """
    return _normalised("log_softmax", x, axis, where, in_logs=True)


def _normalised(op: str, x: Any, axis: Any, where: Any, *, in_logs: bool) -> Any:
    x = floats(op, "x", x)
    axes = axes_in(axis, type_of(x).ndim, op)
    if where is None:
        return _shares(x, axes=axes, in_logs=in_logs)
    return _masked(x, array(op, "where", where), axes=axes, in_logs=in_logs)


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b · exp(a))) over an axis, several or all (None), without overflow.

    -inf for an empty sum. A negative sum gives NaN; with return_sign the result is a pair, the
    logarithm of the absolute value and the sign. Positions outside the mask `where` do not count.

    >>> plait.nn.logsumexp(jnp.array([1000.0, 1000.0])).round(2)
    Array(1000.69, dtype=float32)
    """
    op = "logsumexp"
    # Beside weights, it is together with them that integers become floats.
    a = floats(op, "a", a) if b is None else array(op, "a", a)
    given = {"b": b, "where": where}
    extra = {name: array(op, name, x) for name, x in given.items() if x is not None}
    axes = axes_in(axis, type_of(a).ndim, op)
    if not extra and not return_sign and type_of(a).dtype not in COMPLEX:
        y = activation.logsumexp_p.bind(a, axes=axes)
        return jnp.expand_dims(y, axes) if keepdims else y
    return _log_of_sum(
        a,
        *extra.values(),
        names=tuple(extra),
        axes=axes,
        keepdims=bool(keepdims),
        return_sign=bool(return_sign),
    )


@PerChoice
def _log_of_sum(
    a: Any,
    *given: Any,
    names: tuple[str, ...],
    axes: tuple[int, ...],
    keepdims: bool,
    return_sign: bool,
) -> Any:
    extra = dict(zip(names, given, strict=True))
    b = extra.get("b")
    counted = jnp.asarray(extra.get("where", True), bool)
    if b is not None:
        a, b = promote("logsumexp", (a, b), INEXACT_KIND)
        # A term without weight must not decide what the others are shifted by.
        counted = jnp.logical_and(counted, jnp.not_equal(b, 0))
    a = jnp.where(counted, a, -jnp.inf)
    top = jnp.max(jnp.real(a), axes, keepdims=True, initial=-jnp.inf)
    top = stop_gradient(jnp.where(jnp.isfinite(top), top, 0.0))
    terms = exp(a - top)
    if b is not None:
        terms = jnp.where(counted, b * terms, 0.0)
    total = jnp.sum(terms, axes, keepdims=True)
    sign = jnp.sign(total)
    real = type_of(total).dtype not in COMPLEX
    y = jnp.log(jnp.abs(total) if return_sign or real else total) + top
    if real and not return_sign:
        y = jnp.where(sign < 0, jnp.nan, y)
    if not keepdims:
        y, sign = jnp.squeeze(y, axes), jnp.squeeze(sign, axes)
    return (y, sign) if return_sign else y


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over an axis, several or all (None), without overflow.

    Positions outside the mask `where` do not count.

    >>> plait.nn.logmeanexp(jnp.array([1000.0, 1000.0]))
    Array(1000., dtype=float32)
    """
    x = floats("logmeanexp", "x", x)
    type_ = type_of(x)
    axes = axes_in(axis, type_.ndim, "logmeanexp")
    total = logsumexp(x, axes, keepdims=keepdims, where=where)
    if where is None:
        n = math.prod(type_.shape[a] for a in axes)
        return total - (math.log(n) if n else -math.inf)
    counted = jnp.broadcast_to(jnp.asarray(where, bool), type_.shape)
    return total - jnp.log(jnp.sum(counted, axes, dtype=total.dtype, keepdims=keepdims))


@PerChoice
def _standardize(
    x: Any, epsilon: Any, *given: Any, names: tuple[str, ...], axes: Any, algorithm: str
) -> Any:
    extra = dict(zip(names, given, strict=True))
    where = extra.get("where")
    mean, variance = extra.get("mean"), extra.get("variance")
    if mean is None:
        mean = jnp.mean(x, axes, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        variance = jnp.mean(jnp.square(x - mean), axes, keepdims=True, where=where)
    elif variance is None:
        squares = jnp.mean(jnp.square(x), axes, keepdims=True, where=where)
        variance = jnp.maximum(squares - jnp.square(mean), 0)
    return (x - mean) * rsqrt(variance + epsilon)


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "stable",
) -> Any:
    """(x - mean) / √(variance + epsilon), mean and variance over an axis, several or all (None).

    algorithm "stable" takes the variance from the differences from the mean; "fast" from the mean
    of the squares, which is wrong where that is much larger than the variance. Raises:
    ArgumentError for other algorithms.

    >>> plait.nn.standardize(jnp.array([1.0, 3.0])).round(3)
    Array([-1.,  1.], dtype=float32)
    """
    op = "standardize"
    if algorithm not in ("stable", "fast"):
        raise ArgumentError("algorithm is 'stable' or 'fast'", op=op, algorithm=algorithm)
    x, epsilon = floats(op, "x", x), array(op, "epsilon", epsilon)
    given = {"mean": mean, "variance": variance, "where": where}
    extra = {name: array(op, name, v) for name, v in given.items() if v is not None}
    return _standardize(
        x,
        epsilon,
        *extra.values(),
        names=tuple(extra),
        axes=axes_in(axis, type_of(x).ndim, op),
        algorithm=algorithm,
    )


normalize = standardize


@PerChoice
def _one_hot(x: Any, *, num_classes: int, axis: int, dtype: Any) -> Any:
    shape = [1] * (x.ndim + 1)
    shape[axis] = num_classes
    classes = jnp.reshape(jnp.arange(num_classes, dtype=x.dtype), shape)
    return jnp.equal(jnp.expand_dims(x, axis), classes).astype(dtype)


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """1 at position x of a new axis of size num_classes, 0 elsewhere; all 0 if x is outside.

    Dtype: float32 by default (float64 with enable_x64). `axis` may be the name of an axis that a
    vmap or pmap binds, of size num_classes: then each position of it gets its own 0 or 1.
    Raises: ArgumentTypeError if num_classes is no int, ArgumentError if it is negative;
    OutOfRangeError; ShapeError for a named axis of another size.

    >>> plait.nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    op = "one_hot"
    x = jnp.asarray(x)
    num_classes = static_int(num_classes, op, "num_classes")
    if num_classes < 0:
        raise ArgumentError("num_classes is at least 0", op=op, num_classes=num_classes)
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    if not isinstance(axis, int | np.integer):
        return _named_one_hot(x, num_classes, axis, dtype)
    axis = axis_in(axis, type_of(x).ndim + 1, op)
    return _one_hot(x, num_classes=num_classes, axis=axis, dtype=dtype)


def _named_one_hot(x: Any, num_classes: int, axis: Any, dtype: Any) -> Any:
    size = axis_size(axis)
    if size != num_classes:
        raise ShapeError(
            f"the axis {axis!r} has size {size}, not {num_classes}", op="one_hot", x=type_of(x)
        )
    return jnp.equal(x, axis_index(axis)).astype(dtype)


__all__ = [
    "array",
    "celu",
    "elu",
    "floats",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "normalize",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
]
