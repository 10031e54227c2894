"""Activations, softmax and its kin, one_hot, attention.

All work element by element unless they take an axis, and keep the dtype (integers become floats).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait import numpy as jnp
from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ArgumentError, ShapeError
from plait.ops.functions import logistic
from plait.ops.special import erf
from plait.regions.custom import stop_gradient


def _floating(x: Any) -> Any:
    x = jnp.asarray(x)
    return x if x.dtype in dtypes.INEXACT else x.astype(dtypes.default_float())


def identity(x: Any) -> Any:
    """x itself."""
    return x


def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is 0, and NaN stays NaN."""
    x = jnp.asarray(x)
    return jnp.where(x <= 0, jnp.zeros_like(x), x)


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6)."""
    return jnp.minimum(jnp.maximum(x, 0), 6)


def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x² + b)) / 2."""
    x = _floating(x)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return jnp.logaddexp(_floating(x), 0.0)


def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, (x + 1)² / 4 between."""
    x = _floating(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def soft_sign(x: Any) -> Any:
    """x / (|x| + 1)."""
    x = _floating(x)
    return x / (jnp.abs(x) + 1)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return logistic(_floating(x))


def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, (x + 1) / 2 between."""
    return 0.5 * jnp.clip(_floating(x) + 1.0, 0.0, 2.0)


def silu(x: Any) -> Any:
    """x · sigmoid(x)."""
    x = _floating(x)
    return x * logistic(x)


swish = silu


def mish(x: Any) -> Any:
    """x · tanh(softplus(x))."""
    x = _floating(x)
    return x * jnp.tanh(softplus(x))


def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without underflow."""
    return -softplus(-_floating(x))


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return jnp.tanh(x)


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha · (exp(x) - 1) below."""
    x = _floating(x)
    # The branch not taken must not overflow: its derivative would be NaN.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + min(0, alpha · (exp(x / alpha) - 1))."""
    x = _floating(x)
    low = jnp.where(x > 0, 0.0, x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(low / alpha))


def selu(x: Any) -> Any:
    """Scaled elu that keeps mean 0 and variance 1. Source: Klambauer et al. 2017."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x above 0, negative_slope · x below."""
    x = _floating(x)
    return jnp.where(x >= 0, x, negative_slope * x)


def gelu(x: Any, approximate: bool = True) -> Any:
    """x · Φ(x), Φ the normal distribution function; by a tanh formula if approximate.

    Source: Hendrycks and Gimpel 2016.
    """
    x = _floating(x)
    if approximate:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
        return x * (0.5 * (1.0 + jnp.tanh(inner)))
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along axis, times the sigmoid of the second. Raises ShapeError."""
    x = _floating(x)
    if x.shape[axis] % 2:
        raise ShapeError("the axis must have an even size", op="glu", x=x, axis=axis)
    a, b = jnp.split(x, 2, axis)
    return a * sigmoid(b)


def hard_tanh(x: Any) -> Any:
    """x, cut off at -1 and 1."""
    x = jnp.asarray(x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x)).astype(x.dtype)


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(_floating(x) + 3.0) / 6.0


def hard_silu(x: Any) -> Any:
    """x · hard_sigmoid(x)."""
    x = _floating(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b · exp(a))) over axes, without overflow; -inf for an empty sum.

    With return_sign=True the pair (log of the absolute value, sign).
    """
    a = _floating(a)
    counted = jnp.asarray(True) if where is None else jnp.asarray(where)
    if b is not None:
        b = jnp.asarray(b)
        counted = counted & (b != 0)
    kept = jnp.where(counted, a, -jnp.inf)
    real = jnp.real(kept)
    top = jnp.max(real, axis=axis, keepdims=True, initial=-jnp.inf)
    # An infinite maximum would give inf - inf; the sum does not need a shift then.
    top = stop_gradient(jnp.where(jnp.isfinite(top), top, 0.0))
    terms = jnp.exp(kept - top)
    if b is not None:
        terms = jnp.where(counted, b * terms, 0.0)
    total = jnp.sum(terms, axis=axis, keepdims=True)
    sign = jnp.sign(total)
    if return_sign:
        total = jnp.abs(total)
    out = jnp.log(total) + top
    if not keepdims:
        out, sign = (
            jnp.squeeze(v, axis) if axis is not None else v.reshape(()) for v in (out, sign)
        )
    return (out, sign) if return_sign else out


def logmeanexp(a: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(a))) over axes."""
    a = _floating(a)
    ones = jnp.ones(a.shape, a.dtype)
    count = jnp.sum(ones, axis=axis, keepdims=keepdims, where=where)
    return logsumexp(a, axis=axis, keepdims=keepdims, where=where) - jnp.log(count)


def _shifted(x: Any, axis: Any, where: Any, initial: Any) -> Any:
    initial = -jnp.inf if initial is None else initial
    top = jnp.max(x, axis, where=where, initial=initial, keepdims=True)
    return x - stop_gradient(top)


def softmax(x: Any, axis: Any = -1, where: Any = None, initial: Any = None) -> Any:
    """exp(x) divided by its sum over axes. Positions outside `where` give 0."""
    x = _floating(x)
    if not x.size:
        return x
    shifted = _shifted(x, axis, where, initial)
    if where is not None:
        shifted = jnp.where(where, shifted, -jnp.inf)
    unnormalised = jnp.exp(shifted)
    return unnormalised / jnp.sum(unnormalised, axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1, where: Any = None, initial: Any = None) -> Any:
    """log(softmax(x)), without underflow. Positions outside `where` give -inf."""
    x = _floating(x)
    if not x.size:
        return x
    shifted = _shifted(x, axis, where, initial)
    if where is not None:
        shifted = jnp.where(where, shifted, 0.0)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    out = shifted - jnp.log(total)
    return out if where is None else jnp.where(where, out, -jnp.inf)


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) over axes."""
    x = _floating(x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        # From the differences: the difference of two moments would cancel.
        variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
    return (x - mean) * (1 / jnp.sqrt(variance + epsilon))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """A new axis of size num_classes with 1 at position x, else 0; all 0 if x is outside."""
    x = jnp.asarray(x)
    if not isinstance(num_classes, int | np.integer):
        raise ArgumentError("num_classes is an int", op="one_hot", num_classes=num_classes)
    dtype = dtypes.default_float() if dtype is None else dtype
    rank = x.ndim + 1
    if not -rank <= axis < rank:
        raise ArgumentError(f"axis {axis} is out of range for the result", op="one_hot", x=x)
    axis %= rank
    shape = [1] * rank
    shape[axis] = int(num_classes)
    classes = jnp.arange(num_classes, dtype=x.dtype).reshape(shape)
    return (jnp.expand_dims(x, axis) == classes).astype(dtype)


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    **unused: Any,
) -> Any:
    """softmax(query · keyᵀ · scale + bias) · value.

    Shapes: query [*B, T, N, H], key and value [*B, S, K, H], N a multiple of K (grouped heads),
    bias and mask broadcastable to [*B, N, T, S]; the result is [*B, T, N, H]. Where mask is False,
    and above the diagonal if is_causal, a position gets no weight.
    """
    query, key, value = (jnp.asarray(v) for v in (query, key, value))
    heads, kv_heads = query.shape[-2], key.shape[-2]
    if heads % kv_heads:
        raise ShapeError(
            "the heads of query are not a multiple of those of key",
            op="dot_product_attention",
            query=query,
            key=key,
        )
    if heads != kv_heads:
        key, value = (jnp.repeat(v, heads // kv_heads, axis=-2) for v in (key, value))
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    logits = jnp.einsum("...tnh,...snh->...nts", query, key).astype(jnp.float32) * scale
    if bias is not None:
        logits = logits + bias
    lowest = float(dtypes.finfo(type_of(logits).dtype).min) * 0.7
    if mask is not None:
        logits = jnp.where(mask, logits, lowest)
    if is_causal:
        t, s = logits.shape[-2:]
        logits = jnp.where(jnp.tril(jnp.ones((t, s), bool)), logits, lowest)
    weights = softmax(logits).astype(value.dtype)
    return jnp.einsum("...nts,...snh->...tnh", weights, value)
