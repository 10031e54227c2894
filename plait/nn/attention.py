"""Attention, as the formula says it; XLA does the rest."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.dtypes import BOOL
from plait.core.plain import known_number, listed, static_int
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, ShapeError
from plait.nn.functions import array
from plait.ops.activation import logsumexp_p, softmax_p
from plait.regions.custom import stop_gradient
from plait.transforms.choices import PerChoice


def _kept(
    length: int,
    keys: int,
    given: dict[str, Any],
    is_causal: bool,
    window: tuple[int, int] | None,
) -> Any:
    """Which positions of keys each query sees, broadcastable to [B, K, G, T, S]; None: all."""
    query_at = jnp.arange(length)[:, None]
    key_at = jnp.arange(keys)[None, :]
    masks = []
    if "mask" in given:
        masks.append(given["mask"])
    if is_causal:
        masks.append(query_at >= key_at)
    if window is not None:
        left, right = window
        masks.append(jnp.logical_and(query_at <= key_at + left, query_at >= key_at - right))
    for name, at in (("query_seq_lengths", query_at), ("key_value_seq_lengths", key_at)):
        if name in given:
            masks.append(at < given[name][:, None, None, None, None])
    found = None
    for mask in masks:
        found = mask if found is None else jnp.logical_and(found, mask)
    return found


@PerChoice
def _attention(
    query: Any,
    key: Any,
    value: Any,
    *arrays: Any,
    names: tuple[str, ...],
    scale: float,
    is_causal: bool,
    window: tuple[int, int] | None,
    return_residual: bool,
) -> Any:
    given = dict(zip(names, arrays, strict=True))
    batch, length, heads, size = query.shape
    keys, groups = key.shape[1], key.shape[2]

    def grouped(x: Any) -> Any:
        # Heads that share keys and values lie together: axis N becomes K, N / K.
        if x.shape[1] == 1:
            return jnp.expand_dims(x, 2)
        return jnp.reshape(x, (x.shape[0], groups, heads // groups, *x.shape[2:]))

    for name in ("bias", "mask"):
        if name in given:
            given[name] = grouped(given[name])
    query = jnp.reshape(query, (batch, length, groups, heads // groups, size))
    wide = dtypes.promote_types(query.dtype, dtypes.float32)
    logits = jnp.einsum("btkgh,bskh->bkgts", query, key, preferred_element_type=wide) * scale
    if "bias" in given:
        logits = (logits + given["bias"]).astype(wide)
    kept = _kept(length, keys, given, is_causal, window)
    if kept is not None:
        # Not -inf: a query that sees nothing gets the mean of the values, and not NaN.
        logits = jnp.where(kept, logits, -0.7 * float(dtypes.finfo(dtypes.float32).max))
    weights = softmax_p.bind(logits, axes=(4,)).astype(value.dtype)
    found = jnp.einsum("bkgts,bskh->btkgh", weights, value)
    found = jnp.reshape(found, (batch, length, heads, value.shape[-1]))
    if "query_seq_lengths" in given:
        real = jnp.arange(length)[:, None, None] < given["query_seq_lengths"][:, None, None, None]
        found = jnp.where(real, found, 0)
    if not return_residual:
        return found
    sums = jnp.moveaxis(logsumexp_p.bind(logits, axes=(4,)), 3, 1)
    sums = jnp.reshape(sums, (batch, length, heads)).astype(key.dtype)
    return found, stop_gradient(sums)


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query · keyᵀ · scale + bias) · value, for each head.

    Args:
        query: [B, T, N, H], or without B. Sums over H and over S are taken in float32 at least.
        key, value: [B, S, K, H]; N is a multiple of K, and N / K heads share keys and values.
        bias, mask: broadcastable to [B, N, T, S]; where the mask is False there is no weight.
        scale: by default 1/√H.
        is_causal: a query sees no keys at later positions.
        query_seq_lengths, key_value_seq_lengths: int32 [B], how many positions are real; queries
            that are not give 0.
        local_window_size: how far back and ahead of a query keys are seen (one number: both).
        implementation: None or "xla".
        return_residual: also return the logarithms of the sums of exponentials, [B, T, N].
    Source: Vaswani et al., "Attention is all you need", 2017.
    Raises: ShapeError; DtypeError; ArgumentError for another implementation.

    >>> q, k, v = jnp.ones((2, 5, 8, 16)), jnp.ones((2, 7, 4, 16)), jnp.ones((2, 7, 4, 16))
    >>> plait.nn.dot_product_attention(q, k, v).shape
    (2, 5, 8, 16)
    """
    op = "dot_product_attention"
    if implementation not in (None, "xla"):
        raise ArgumentError(
            "there is no such implementation",
            op=op,
            implementation=implementation,
            fix="None or 'xla'",
        )
    operands = {"query": query, "key": key, "value": value}
    operands = {name: array(op, name, x) for name, x in operands.items()}
    types: dict[str, Any] = {name: type_of(x) for name, x in operands.items()}
    if any(t.ndim not in (3, 4) for t in types.values()):
        raise ShapeError("the operands have three axes, or four with a batch", op=op, **types)
    shape = types["query"].shape
    query, key, value = map(_with_batch, operands.values())
    _check_operands(op, types, *map(type_of, (query, key, value)))
    given = {
        "bias": bias,
        "mask": mask,
        "query_seq_lengths": query_seq_lengths,
        "key_value_seq_lengths": key_value_seq_lengths,
    }
    given = {name: array(op, name, x) for name, x in given.items() if x is not None}
    for name in ("bias", "mask"):
        if name in given:
            given[name] = _with_batch(given[name])
    _check_given(op, given, query, key)
    window, name = local_window_size, "local_window_size"
    if window is not None:
        pair = (window, window) if isinstance(window, int) else window
        window = tuple(static_int(n, op, name) for n in listed(pair, op, name))
        if len(window) != 2:
            summary = f"{name} is an int or a pair of them"
            raise ArgumentError(summary, op=op, local_window_size=window)
    if scale is not None:
        scale = float(known_number(scale, op, "scale"))
    size = shape[-1]
    result = _attention(
        query,
        key,
        value,
        *given.values(),
        names=tuple(given),
        scale=1.0 / math.sqrt(size) if scale is None else scale,
        is_causal=bool(is_causal),
        window=window,
        return_residual=bool(return_residual),
    )
    if not return_residual:
        return jnp.reshape(result, (*shape[:-1], types["value"].shape[-1]))
    found, sums = result
    return jnp.reshape(found, shape), jnp.reshape(sums, shape[:-1])


def _with_batch(x: Any) -> Any:
    x = jnp.asarray(x)
    return x if x.ndim >= 4 else jnp.reshape(x, (1,) * (4 - x.ndim) + x.shape)


def _check_operands(
    op: str, given: dict[str, Any], query: ArrayType, key: ArrayType, value: ArrayType
) -> None:
    if key.shape != value.shape:
        raise ShapeError("key and value have one shape", op=op, **given)
    if (query.shape[0], query.shape[3]) != (key.shape[0], key.shape[3]):
        raise ShapeError(
            "query and key have the same batch and the same size of a head", op=op, **given
        )
    if query.shape[2] % key.shape[2]:
        raise ShapeError(
            f"the {query.shape[2]} heads of query are no multiple of the {key.shape[2]} of key",
            op=op,
            **given,
        )
    if not query.dtype == key.dtype == value.dtype:
        raise DtypeError("query, key and value have one dtype", op=op, **given)


def _check_given(op: str, given: dict[str, Any], query: Any, key: Any) -> None:
    whole = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
    for name, x in given.items():
        type_ = type_of(x)
        named: dict[str, Any] = {name: type_}
        if name in ("bias", "mask"):
            fits = type_.ndim == 4 and all(
                n in (1, w) for n, w in zip(type_.shape, whole, strict=True)
            )
            if not fits:
                summary = f"{name} must broadcast to [B, N, T, S], here {list(whole)}"
                raise ShapeError(summary, op=op, **named)
            if name == "mask" and type_.dtype not in BOOL:
                raise DtypeError("the mask is bool", op=op, mask=type_)
        elif type_.shape != whole[:1] or type_.dtype not in dtypes.INTEGER:
            summary = f"{name} has an integer for each of the {whole[0]} sequences"
            raise ShapeError(summary, op=op, **named)


__all__ = ["dot_product_attention"]
