"""Recipes of plait.nn, plait.image and plait.ops.segment_*: formulas in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as reference

from tests.drawn.common import RECIPES, Case, Draw, recipe
from tests.drawn.special import real


def sigmoid(x):
    return reference.expit(x)


def gelu(x, approximate=True):
    if approximate:
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * reference.ndtr(x)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


ACTIVATIONS: dict[str, Any] = {
    "celu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    "elu": elu,
    "gelu": gelu,
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "leaky_relu": lambda x, negative_slope=0.01: np.where(x >= 0, x, negative_slope * x),
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "relu6": lambda x: np.clip(x, 0, 6),
    "selu": lambda x: 1.0507009873554804934 * elu(x, 1.6732632423543772848),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "squareplus": lambda x, b=4: (x + np.sqrt(x * x + b)) / 2,
    "swish": lambda x: x * sigmoid(x),
    "tanh": np.tanh,
}
MORE = {
    "celu": ("alpha", 0.5), "elu": ("alpha", 0.5), "gelu": ("approximate", False),
    "leaky_relu": ("negative_slope", 0.25), "squareplus": ("b", 1.5),
}  # fmt: skip


def activation(name: str) -> Any:
    def draw_case(d: Draw) -> Case:
        x = real(d.rng, d.shape())
        x = np.round(x).astype(np.int32) if d.chance(0.15) else x.astype(d.float())
        key, number = MORE.get(name, ("", None))
        kwargs = {key: number} if key and d.chance() else {}
        dtype = x.dtype if name == "hard_tanh" else None  # whole numbers stay whole
        return Case((x,), kwargs, of=ACTIVATIONS[name], dtype=dtype, floor=1.0)

    return draw_case


for _name in ACTIVATIONS:
    RECIPES[f"nn.{_name}"] = activation(_name)


@recipe("nn.relu", "nn.identity")
def _relu(name: str, d: Draw) -> Case:
    x = d.array(d.shape(), d.integer() if d.chance(0.3) else d.float())
    return Case((x,), of=lambda x: np.maximum(x, 0) if name == "relu" else x, dtype=x.dtype)


@recipe("nn.log1mexp")
def _log1mexp(d: Draw) -> Case:
    x = np.exp(2 * d.rng.normal(size=d.shape())).astype(d.float())

    def of(x):
        return np.where(x < 0.7, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))

    return Case((x,), of=of, floor=0.0)


@recipe("nn.glu")
def _glu(d: Draw) -> Case:
    shape = list(d.shape(least=1))
    axis = d.axis(len(shape))
    shape[axis] *= 2

    def of(x, axis):
        a, b = np.split(x, 2, axis)
        return a * sigmoid(b)

    return Case((d.array(shape, d.float()),), {"axis": axis}, of=of)


def masked(d: Draw, x: np.ndarray, axis: Any) -> dict[str, Any]:
    """A mask that leaves something everywhere along the axes."""
    if d.chance(0.6) or not x.size:
        return {}
    where = np.asarray(d.rng.random(x.shape) < 0.7)
    where[tuple(slice(0, 1) for _ in x.shape)] = True
    whole = where.any(axis, keepdims=True)
    return {"where": where | ~whole}


def some_axes(d: Draw, ndim: int, *more: Any) -> Any:
    return d.one_of(None, d.axes(ndim), *([d.axis(ndim)] * 2 if ndim else []), *more)


def logsumexp(x, axis, keepdims):
    # SciPy's of a number has an axis.
    top = np.max(x, initial=-1e300)
    return np.log(np.sum(np.exp(x - top), axis, keepdims=keepdims)) + top


@recipe("nn.softmax", "nn.log_softmax")
def _softmax(name: str, d: Draw) -> Case:
    x = real(d.rng, d.shape(smallest=1)).astype(d.float())
    axis = some_axes(d, x.ndim)
    kwargs = {"axis": axis, **masked(d, x, axis)}

    def of(x, axis, where=True):
        x = np.where(where, x, -np.inf)
        y = x - logsumexp(x, axis, True)
        return np.exp(y) if name == "softmax" else y

    return Case((x,), kwargs, of=of, floor=4.0)


@recipe("nn.logsumexp", "nn.logmeanexp")
def _logsumexp(name: str, d: Draw) -> Case:
    x = real(d.rng, d.shape(smallest=1)).astype(d.float())
    axis = some_axes(d, x.ndim)
    kwargs = {"axis": axis, "keepdims": d.chance(), **masked(d, x, axis)}

    def of(x, axis, keepdims, where=True):
        y = logsumexp(np.where(where, x, -np.inf), axis, keepdims)
        count = np.sum(np.broadcast_to(where, x.shape), axis, keepdims=keepdims)
        return y - np.log(count) if name == "logmeanexp" else y

    return Case((x,), kwargs, of=of, floor=4.0)


@recipe("nn.standardize", "nn.normalize")
def _standardize(name: str, d: Draw) -> Case:
    x = d.array(d.shape(smallest=1), d.float())
    axis = some_axes(d, x.ndim)
    kwargs = {"axis": axis, "epsilon": 0.1, **masked(d, x, axis)}

    def of(x, axis, epsilon, where=True):
        mean = np.mean(x, axis, keepdims=True, where=where)
        variance = np.mean((x - mean) ** 2, axis, keepdims=True, where=where)
        return (x - mean) / np.sqrt(variance + epsilon)

    return Case((x,), kwargs, of=of, floor=4.0, loose=16.0)


@recipe("nn.one_hot")
def _one_hot(d: Draw) -> Case:
    x, n = d.whole(d.shape(most=2), -1, 5, d.one_of(np.int32, np.int8)), d.number(0, 5)
    kwargs: dict[str, Any] = {"axis": d.axis(x.ndim + 1)}
    if d.chance():
        kwargs["dtype"] = d.one_of(np.int32, np.float16)

    def of(x, n, axis, dtype=None):
        return np.moveaxis(x[..., None] == np.arange(n), -1, axis).astype(float)

    return Case(
        (x, n), kwargs, of=of, dtype=kwargs.get("dtype", np.float64 if d.x64 else np.float32)
    )


@recipe("nn.dot_product_attention")
def _attention(d: Draw) -> Case:
    outer, dtype = d.one_of((), (2,)), d.float(half=False)
    t, s, h = d.number(1, 4), d.number(1, 4), d.number(1, 3)
    heads = d.number(1, 2)
    q = d.array((*outer, t, heads * d.number(1, 2), h), dtype)
    k, v = (d.array((*outer, s, heads, h), dtype) for _ in range(2))
    n = q.shape[-2]
    kwargs: dict[str, Any] = {"is_causal": d.chance(0.3), "scale": d.one_of(None, 0.5)}
    if d.chance(0.3):
        kwargs["bias"] = d.array((*(1 for _ in outer), n, t, s), dtype)
    if d.chance(0.3):
        mask = d.rng.random((*(1 for _ in outer), 1, t, s)) < 0.7
        mask[..., 0] = True
        kwargs["mask"] = mask
    if d.chance(0.3):
        kwargs["local_window_size"] = d.one_of(2, (3, 1))

    def of(q, k, v, is_causal, scale, bias=0.0, mask=True, local_window_size=None):
        k, v = (np.repeat(x, n // heads, -2) for x in (k, v))
        logits = np.einsum("...tnh,...snh->...nts", q, k)
        logits = logits * (1 / math.sqrt(h) if scale is None else scale) + bias
        at, to = np.arange(t)[:, None], np.arange(s)[None, :]
        kept = np.broadcast_to(mask, logits.shape)
        if is_causal:
            kept = kept & (to <= at)
        if local_window_size is not None:
            window = local_window_size
            back, ahead = (window, window) if isinstance(window, int) else window
            kept = kept & (to >= at - back) & (to <= at + ahead)
        logits = np.where(kept, logits, -np.inf)
        y = np.exp(logits - logits.max(-1, keepdims=True))
        y = np.einsum("...nts,...snh->...tnh", y / y.sum(-1, keepdims=True), v)
        return y

    if "mask" in kwargs or t > s:
        # A query might see no key at all: what then comes out is nobody's promise.
        kwargs.pop("local_window_size", None)
    return Case((q, k, v), kwargs, of=of, loose=64.0, floor=1.0)


# --- images


@recipe("image.resize")
def _resize(d: Draw) -> Case:
    x = d.array((4, 3, 5)[: d.number(1, 3)], d.float(half=False))
    shape = tuple(d.number(1, 7) if d.chance(0.7) else n for n in x.shape)
    method = d.one_of("nearest", "linear", "cubic", "lanczos3", "lanczos5")
    antialias = d.chance()

    def of(x, shape, method, antialias):
        for axis, (n, m) in enumerate(zip(x.shape, shape, strict=True)):
            if n != m:
                weights = resampling(n, m, method, antialias)
                x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
        return x

    return Case((x, shape, method, antialias), of=of, dtype=x.dtype, loose=64.0)


def resampling(n: int, m: int, method: str, antialias: bool) -> np.ndarray:
    """The weights [m, n] of n elements in each of m."""
    weights = np.zeros((m, n))
    for i in range(m):
        centre = (i + 0.5) * n / m - 0.5
        if method == "nearest":
            weights[i, math.floor((i + 0.5) * n / m)] = 1
            continue
        width = max(n / m, 1.0) if antialias else 1.0
        weights[i] = [kernel(method, abs(j - centre) / width) for j in range(n)]
        weights[i] /= weights[i].sum()
    return weights


def kernel(method: str, x: float) -> float:
    if method == "linear":
        return max(0.0, 1 - x)
    if method == "cubic":
        if x >= 2:
            return 0.0
        return 1.5 * x**3 - 2.5 * x**2 + 1 if x < 1 else -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    radius = int(method[-1])
    return float(np.sinc(x) * np.sinc(x / radius)) if x < radius else 0.0


# --- segments


SEGMENTS = {"segment_sum": np.add, "segment_prod": np.multiply}
SEGMENTS |= {"segment_max": np.maximum, "segment_min": np.minimum}


@recipe(*(f"ops.{name}" for name in SEGMENTS))
def _segments(name: str, d: Draw) -> Case:
    x = d.array(d.shape(least=1), d.integer() if d.chance(0.3) else d.float())
    count = d.number(0, 4)
    ids = d.whole(x.shape[:1], -1, 4)
    sort = d.chance(0.3)
    ids = np.sort(ids) if sort else ids
    kwargs: dict[str, Any] = {"num_segments": count, "indices_are_sorted": sort}
    if d.chance(0.3):
        kwargs["bucket_size"] = 2
    info = (
        None
        if name in ("segment_sum", "segment_prod") or x.dtype.kind not in "iu"
        else np.iinfo(x.dtype)
    )

    def of(x, ids, num_segments, indices_are_sorted, bucket_size=None):
        start = {"segment_sum": 0, "segment_prod": 1}.get(
            name, -np.inf if name == "segment_max" else np.inf
        )
        if info is not None:
            start = info.min if name == "segment_max" else info.max
        y = np.full((num_segments, *x.shape[1:]), start, x.dtype if x.dtype.kind in "iu" else float)
        inside = (ids >= 0) & (ids < num_segments)
        SEGMENTS[name].at(y, ids[inside], x[inside])
        if whole is not None:
            y = y.astype(whole)
        return y

    whole = x.dtype if x.dtype.kind in "iu" else None
    return Case((x, ids), kwargs, of=of, dtype=x.dtype, loose=16.0)
