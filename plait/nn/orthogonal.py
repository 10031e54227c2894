"""Orthogonal initializers: weights that change no length."""

from __future__ import annotations

import math
from typing import Any

import plait.numpy as jnp
from plait.core import dtypes
from plait.errors import ShapeError
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import to_dtype
from plait.ops.axes import check_shape, normalise_axis
from plait.random.rotations import orthogonal as random_orthogonal


def _made(name: str, init: Any) -> Any:
    init.__name__ = init.__qualname__ = name
    return init


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Any:
    """Weights that are an orthogonal matrix, times scale, when all axes but column_axis are one.

    Source: Saxe, McClelland, Ganguli, 2013. Raises: ShapeError for fewer than 2 axes.

    >>> w = plait.nn.initializers.orthogonal()(plait.random.key(0), (3, 3))
    >>> print(jnp.allclose(w @ w.T, jnp.eye(3), atol=1e-5))
    True
    """
    given = dtype

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = given) -> Any:
        shape, dtype = _checked(shape, dtype)
        if len(shape) < 2:
            raise ShapeError("needs a shape of at least 2 axes", op="orthogonal", shape=shape)
        axis = normalise_axis(column_axis, len(shape), "orthogonal")
        columns = shape[axis]
        rest = (*shape[:axis], *shape[axis + 1 :])
        q = random_orthogonal(key, math.prod(rest), (), dtype, columns)
        weights = jnp.moveaxis(q.reshape(*rest, columns), -1, axis)
        return jnp.asarray(scale, dtype) * weights

    return _made("orthogonal", init)


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Any:
    """Kernels of convolutions, [*window, inputs, outputs], that are an orthogonal matrix in the
    middle of the window, times scale, and zero elsewhere. column_axis is accepted and not used.

    Source: Xiao, Bahri, Sohl-Dickstein, Schoenholz, Pennington, ICML 2018.
    Raises: ShapeError unless there are 1 to 3 window axes and no more inputs than outputs.

    >>> w = plait.nn.initializers.delta_orthogonal()(plait.random.key(0), (3, 2, 2))
    >>> print(jnp.allclose(w[1] @ w[1].T, jnp.eye(2), atol=1e-5), w[0].any())
    True False
    """
    given = dtype

    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = given) -> Any:
        shape, dtype = _checked(shape, dtype)
        if not 3 <= len(shape) <= 5:
            raise ShapeError("needs a shape of 3 to 5 axes", op="delta_orthogonal", shape=shape)
        inputs, outputs = shape[-2:]
        if inputs > outputs:
            raise ShapeError(
                "needs at least as many outputs as inputs", op="delta_orthogonal", shape=shape
            )
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        q = random_orthogonal(key, outputs, (), dtype)[:inputs]
        return jnp.zeros(shape, dtype).at[middle].set(jnp.asarray(scale, dtype) * q)

    return _made("delta_orthogonal", init)


def _checked(shape: Any, dtype: Any) -> tuple[tuple[int, ...], Any]:
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    return check_shape(shape, "initializer"), dtype


__all__ = ["delta_orthogonal", "orthogonal"]
