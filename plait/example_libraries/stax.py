"""`plait.example_libraries.stax`: layers of neural networks, each a pair of functions.

    init_fun(rng, input_shape) -> (output_shape, params)
    apply_fun(params, inputs, **kwargs) -> outputs

serial and parallel make networks of layers, which are layers again. kwargs go to all of them;
Dropout needs rng.

>>> from plait.example_libraries import stax
>>> init, apply = stax.serial(stax.Dense(3), stax.Relu, stax.Dense(2), stax.LogSoftmax)
>>> shape, params = init(plait.random.key(0), (-1, 4))
>>> shape, apply(params, jnp.ones((5, 4))).shape
((-1, 2), (5, 2))
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait import lax, random
from plait.errors import ArgumentError, ShapeError
from plait.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from plait.nn.initializers import glorot_normal, normal, ones, zeros
from plait.transforms.jit import eval_shape
from plait.transforms.shapes import ShapeDtypeStruct

Layer = tuple[Callable[..., Any], Callable[..., Any]]
# The names that these had first.
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax

_GLOROT, _NORMAL, _TINY = glorot_normal(), normal(), normal(1e-6)


# --- dense and convolutional layers


def Dense(out_dim: int, W_init: Any = _GLOROT, b_init: Any = _NORMAL) -> Layer:
    """inputs @ W + b. Shapes: [..., n] -> [..., out_dim].

    >>> from plait.example_libraries import stax
    >>> stax.Dense(2)[0](plait.random.key(0), (-1, 3))[0]
    (-1, 2)
    """

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        key_w, key_b = random.split(rng)
        params = W_init(key_w, (input_shape[-1], out_dim)), b_init(key_b, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """A convolution with a bias; dimension_numbers name the axes: ("NHWC", "HWIO", "NHWC").

    >>> from plait.example_libraries import stax
    >>> conv = stax.GeneralConv(("NCH", "OIH", "NCH"), 4, (3,))
    >>> conv[0](plait.random.key(0), (1, 2, 8))[0]
    (1, 4, 6)
    """
    convolve = lax.conv_general_dilated
    return _convolution(
        convolve, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init
    )


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """A transposed convolution with a bias; arguments as for GeneralConv.

    >>> from plait.example_libraries import stax
    >>> conv = stax.GeneralConvTranspose(("NHC", "HIO", "NHC"), 4, (3,), (2,))
    >>> conv[0](plait.random.key(0), (1, 8, 2))[0]
    (1, 17, 4)
    """
    convolve = lax.conv_transpose
    return _convolution(
        convolve, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init
    )


def _convolution(
    convolve: Callable[..., Any],
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    W_init: Any,
    b_init: Any,
) -> Layer:
    lhs, rhs, out = dimension_numbers
    strides = (1,) * len(filter_shape) if strides is None else tuple(strides)
    make_w = glorot_normal(rhs.index("I"), rhs.index("O")) if W_init is None else W_init

    def applied(inputs: Any, W: Any) -> Any:
        return convolve(inputs, W, strides, padding, dimension_numbers=tuple(dimension_numbers))

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        sizes = iter(filter_shape)
        channels = input_shape[lhs.index("C")]
        kernel = [out_chan if c == "O" else channels if c == "I" else next(sizes) for c in rhs]
        bias = [out_chan if c == "C" else 1 for c in out]
        key_w, key_b = random.split(rng)
        params = make_w(key_w, tuple(kernel)), b_init(key_b, tuple(bias))
        # Any number of examples stands for one that is not known yet.
        count = input_shape[lhs.index("N")]
        known = tuple(1 if c == "N" else n for c, n in zip(lhs, input_shape, strict=True))
        shape = _shape(applied, known, params[0].shape)
        return tuple(count if c == "N" else n for c, n in zip(out, shape, strict=True)), params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return applied(inputs, W) + b

    return init_fun, apply_fun


def _shape(function: Callable[..., Any], *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a function's result for arrays of shapes."""
    return eval_shape(function, *(ShapeDtypeStruct(s, np.float32) for s in shapes)).shape


def Conv(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """A convolution of images [n, height, width, channels] with a bias; see GeneralConv.

    >>> from plait.example_libraries import stax
    >>> init, apply = stax.Conv(4, (3, 3), padding="SAME")
    >>> shape, (w, b) = init(plait.random.key(0), (1, 8, 8, 2))
    >>> shape, w.shape, b.shape
    ((1, 8, 8, 4), (3, 3, 2, 4), (1, 1, 1, 4))
    """
    axes = ("NHWC", "HWIO", "NHWC")
    return GeneralConv(axes, out_chan, filter_shape, strides, padding, W_init, b_init)


def Conv1DTranspose(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """A transposed convolution of series [n, length, channels] with a bias; see
    GeneralConvTranspose.

    >>> from plait.example_libraries import stax
    >>> init, apply = stax.Conv1DTranspose(4, (3,), (2,))
    >>> init(plait.random.key(0), (1, 8, 2))[0]
    (1, 17, 4)
    """
    axes = ("NHC", "HIO", "NHC")
    return GeneralConvTranspose(axes, out_chan, filter_shape, strides, padding, W_init, b_init)


def ConvTranspose(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """A transposed convolution of images [n, height, width, channels] with a bias; see
    GeneralConvTranspose.

    >>> from plait.example_libraries import stax
    >>> init, apply = stax.ConvTranspose(4, (2, 2), (2, 2))
    >>> init(plait.random.key(0), (1, 8, 8, 2))[0]
    (1, 16, 16, 4)
    """
    axes = ("NHWC", "HWIO", "NHWC")
    return GeneralConvTranspose(axes, out_chan, filter_shape, strides, padding, W_init, b_init)


# --- normalisation


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Mean 0 and variance 1 along axes, then times gamma (scale) plus beta (center).

    >>> from plait.example_libraries import stax
    >>> init, apply = stax.BatchNorm(axis=0)
    >>> apply(init(plait.random.key(0), (2, 1))[1], jnp.array([[1.0], [3.0]])).round(3).ravel()
    Array([-1.,  1.], dtype=float32)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        shape = tuple(n for k, n in enumerate(input_shape) if k not in axes)
        key_beta, key_gamma = random.split(rng)
        beta = beta_init(key_beta, shape) if center else ()
        gamma = gamma_init(key_gamma, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        place = tuple(None if k in axes else slice(None) for k in range(jnp.ndim(x)))
        beta, gamma = params
        y = standardize(x, axes, epsilon=epsilon)
        if scale:
            y = gamma[place] * y
        return y + beta[place] if center else y

    return init_fun, apply_fun


# --- activations


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer without parameters: a function of arrays that keeps their shape.

    >>> from plait.example_libraries import stax
    >>> stax.elementwise(jnp.square)[1]((), jnp.float32(3))
    Array(9., dtype=float32)
    """
    return (
        lambda rng, input_shape: (input_shape, ()),
        lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs),
    )


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


# --- pooling


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest element of each window; spec names the axes, "NHWC" by default.

    >>> from plait.example_libraries import stax
    >>> stax.MaxPool((2, 2), (2, 2))[0](plait.random.key(0), (-1, 8, 8, 3))[0]
    (-1, 4, 4, 3)
    """
    return _pooling(lax.max, -np.inf, window_shape, strides, padding, spec, mean=False)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window; arguments as for MaxPool.

    >>> from plait.example_libraries import stax
    >>> stax.SumPool((2,))[1]((), jnp.ones((1, 3, 1))).ravel()
    Array([2., 2.], dtype=float32)
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, mean=False)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, over the elements that lie inside; arguments as for MaxPool.

    >>> from plait.example_libraries import stax
    >>> stax.AvgPool((2,), padding="SAME")[1]((), jnp.arange(3.0).reshape(1, 3, 1)).ravel()
    Array([0.5, 1.5, 2. ], dtype=float32)
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, mean=True)


def _pooling(
    reducer: Any,
    init: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    spec: str | None,
    mean: bool,
) -> Layer:
    size = list(window_shape)
    steps = [1] * len(size) if strides is None else list(strides)
    # The axes of examples and of channels are not pooled.
    places = (0, len(size) + 1) if spec is None else (spec.index("N"), spec.index("C"))
    for k in sorted(places):
        size.insert(k, 1)
        steps.insert(k, 1)

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, np.asarray(init, x.dtype), reducer, size, steps, padding)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        at = places[0]
        known = tuple(1 if k == at else n for k, n in enumerate(input_shape))
        shape = list(_shape(pooled, known))
        shape[at] = input_shape[at]
        return tuple(shape), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        inputs = jnp.asarray(inputs)
        y = pooled(inputs)
        if not mean:
            return y
        one = tuple(1 if k in places else n for k, n in enumerate(inputs.shape))
        return y / pooled(jnp.ones(one, inputs.dtype))

    return init_fun, apply_fun


# --- shapes, branches, chance


def _flatten_init(rng: Any, input_shape: Sequence[int]) -> Any:
    return (input_shape[0], math.prod(input_shape[1:])), ()


def _flatten(params: Any, inputs: Any, **kwargs: Any) -> Any:
    return jnp.reshape(inputs, (inputs.shape[0], math.prod(inputs.shape[1:])))


Flatten = (_flatten_init, _flatten)
Identity = elementwise(lambda x: x)


def FanOut(num: int) -> Layer:
    """The inputs, num times: for parallel.

    >>> from plait.example_libraries import stax
    >>> stax.FanOut(2)[1]((), 1.0)
    [1.0, 1.0]
    """
    return (
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs, **kwargs: [inputs] * num,
    )


FanInSum = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **kwargs: functools.reduce(jnp.add, inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """Several inputs, joined along an axis.

    >>> from plait.example_libraries import stax
    >>> stax.FanInConcat()[1]((), [jnp.ones(1), jnp.zeros(1)])
    Array([1., 0.], dtype=float32)
    """

    def init_fun(rng: Any, input_shape: Sequence[Sequence[int]]) -> Any:
        at = axis % len(input_shape[0])
        shape = list(input_shape[0])
        shape[at] = sum(s[at] for s in input_shape)
        return tuple(shape), ()

    return init_fun, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Elements kept with probability `rate` and divided by it, the others 0; with another mode than
    "train" the inputs as they are. apply_fun needs rng.

    >>> from plait.example_libraries import stax
    >>> stax.Dropout(0.5, mode="test")[1]((), jnp.ones(2), rng=plait.random.key(0))
    Array([1., 1.], dtype=float32)
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            fix = "apply_fun(params, inputs, rng=random.key(0))"
            raise ArgumentError("needs random numbers", op="stax.Dropout", fix=fix)
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply_fun


# --- networks


def serial(*layers: Layer) -> Layer:
    """One layer after the other. Its parameters are the list of theirs.

    >>> from plait.example_libraries import stax
    >>> stax.serial(stax.Relu, stax.Exp)[1]([(), ()], jnp.float32(-3))
    Array(1., dtype=float32)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init, _ in layers:
            rng, key = random.split(rng)
            input_shape, param = init(key, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for (_, apply), param, rng in zip(layers, params, keys, strict=True):
            inputs = apply(param, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side: each has an input of its own from a list, and the result is a list.

    >>> from plait.example_libraries import stax
    >>> stax.parallel(stax.Identity, stax.Exp)[1]([(), ()], [jnp.float32(2), jnp.float32(0)])
    [Array(2., dtype=float32), Array(1., dtype=float32)]
    """

    def init_fun(rng: Any, input_shape: Sequence[Any]) -> Any:
        keys = random.split(rng, len(layers))
        _check_count(input_shape, len(layers))
        made = [f(k, s) for (f, _), k, s in zip(layers, keys, input_shape, strict=True)]
        return [shape for shape, _ in made], [param for _, param in made]

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        _check_count(inputs, len(layers))
        parts = zip(layers, params, inputs, keys, strict=True)
        return [f(p, x, rng=key, **kwargs) for (_, f), p, x, key in parts]

    return init_fun, apply_fun


def _keys(rng: Any, count: int) -> Any:
    return [None] * count if rng is None else random.split(rng, count)


def _check_count(inputs: Sequence[Any], count: int) -> None:
    if len(inputs) != count:
        raise ShapeError(
            f"{count} layers side by side need as many inputs, not {len(inputs)}",
            op="stax.parallel",
        )


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """The layer that make_layer gives for the shape of the inputs.

    >>> from plait.example_libraries import stax
    >>> half = stax.shape_dependent(lambda shape: stax.Dense(shape[-1] // 2))
    >>> half[0](plait.random.key(0), (-1, 6))[0]
    (-1, 3)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(jnp.shape(inputs))[1](params, inputs, **kwargs)

    return init_fun, apply_fun


__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "glorot",
    "logsoftmax",
    "randn",
    "parallel",
    "serial",
    "shape_dependent",
]
