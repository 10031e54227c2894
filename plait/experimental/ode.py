"""plait.experimental.ode: ordinary differential equations, differentiated by the adjoint equation.

Steps of the method of Dormand and Prince, of order 5 with an error estimate of order 4, are as long
as the tolerances allow and end at the times asked for.
Source: Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.4 and II.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.tree import flatten, structure_error
from plait.core.types import type_of
from plait.errors import DtypeError, ShapeError
from plait.flatten_util import ravel_pytree
from plait.numpy.promotion import to_inexact, value
from plait.regions.custom import closure_convert, custom_vjp
from plait.regions.loops import scan, while_loop
from plait.regions.region import merge, partition
from plait.regions.trace import check_function
from plait.transforms.grad import vjp

# The stages' weights, the times of the stages, and the weights of the error estimate.
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ERROR = (
    *(71 / 57600, 0.0, -71 / 16695, 71 / 1920),
    *(-17253 / 339200, 22 / 525, -1 / 40),
)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args) with y(t[0]) = y0, at increasing times t.

    y0 is a tree of floats, func returns one like it; the result has the times on a new first axis
    of each leaf. A step's error is at most atol + rtol |y|, root mean square. Where more than
    mxstep steps are needed between two times, or times do not increase, the result is NaN. hmax is
    the longest step. Derivative: by reverse mode, with respect to y0, t, args and what func closes
    over, from the adjoint equation solved backwards with the same tolerances.
    Raises: ArgumentTypeError, DtypeError, ShapeError.

    >>> from plait.experimental.ode import odeint
    >>> odeint(lambda y, t: -y, jnp.float32(1), jnp.array([0.0, 1.0, 2.0])).round(4)
    Array([1.    , 0.3679, 0.1353], dtype=float32)
    """
    op = "odeint"
    check_function(func, op, "func")
    t = value(op, to_inexact(op, value(op, t, 2)))
    leaves, shape = flatten(y0)
    if any(type_of(y).dtype not in dtypes.FLOAT for y in leaves):
        types = ", ".join(str(type_of(y)) for y in leaves)
        raise DtypeError("y0 is made of floats", op=op, y0=types)
    if t.ndim != 1 or not t.shape[0]:
        raise ShapeError("t is a vector of times, one at least", op=op, t=t)
    converted, captured = closure_convert(func, y0, t[0], *args)
    given, structure = flatten((*args, *captured))
    inexact = [type_of(x).dtype in dtypes.FLOAT for x in given]
    smooth, others = partition(inexact, given)
    start, unravel = ravel_pytree(y0)
    parameters, unravel_parameters = ravel_pytree(smooth)

    def field(y: Any, t: Any, p: Any, others: Any) -> Any:
        filled = structure.unflatten(merge(inexact, unravel_parameters(p), others))
        slope = converted(unravel(y), t, *filled)
        found = flatten(slope)[1]
        if found != shape:
            raise structure_error(
                "func must return what has the structure of y0",
                ("y0", shape),
                ("func", found),
                op,
                "return the derivative of each leaf of y0",
            )
        parts = flatten(slope)[0]
        if [type_of(s).shape for s in parts] != [type_of(y).shape for y in leaves]:
            have = ", ".join(str(type_of(s)) for s in parts)
            want = ", ".join(str(type_of(y)) for y in leaves)
            raise ShapeError("func must return what has the shape of y0", op=op, y0=want, func=have)
        return ravel_pytree(slope)[0].astype(y.dtype)

    limits = (rtol, atol, mxstep, hmax)
    ys = _solution(field, limits)(start, t.astype(start.dtype), parameters, others)
    ends = np.cumsum([math.prod(type_of(y).shape) for y in leaves])
    return shape.unflatten(
        [
            jnp.reshape(rows, (-1, *type_of(y).shape)).astype(type_of(y).dtype)
            for rows, y in zip(jnp.split(ys, ends[:-1], axis=1), leaves, strict=True)
        ]
    )


def _solution(field: Callable[..., Any], limits: tuple[float, ...]) -> Callable[..., Any]:
    """The solver for vectors y, with its derivative."""

    @custom_vjp
    def solve(y0: Any, t: Any, p: Any, others: Any) -> Any:
        return _integrate(lambda y, t: field(y, t, p, others), y0, t, limits)

    def forward(y0: Any, t: Any, p: Any, others: Any) -> tuple[Any, Any]:
        ys = solve(y0, t, p, others)
        return ys, (ys, t, p, others)

    def backward(kept: Any, ct: Any) -> tuple[Any, ...]:
        ys, t, p, others = kept
        n = ys.shape[1]

        # Backwards in time s = -t: of y, its cotangent and those of the parameters.
        def adjoint(state: Any, s: Any) -> Any:
            y, a = state[:n], state[n : 2 * n]
            slope, pull = vjp(lambda y, p: field(y, -s, p, others), y, p)
            dy, dp = pull(a)
            return jnp.concatenate([-slope, dy, dp.astype(y.dtype)])

        def gap(carry: Any, k: Any) -> tuple[Any, Any]:
            a, dp = carry
            a = a + ct[k]
            dt = jnp.dot(field(ys[k], t[k], p, others), ct[k])
            state = jnp.concatenate([ys[k], a, dp])
            times = jnp.stack([-t[k], -t[k - 1]])
            state = _integrate(adjoint, state, times, limits)[1]
            return (state[n : 2 * n], state[2 * n :]), dt

        start = (jnp.zeros_like(ys[0]), jnp.zeros(p.shape, ys.dtype))
        (a, dp), dt = scan(gap, start, jnp.arange(1, t.shape[0]), reverse=True)
        # A later start with the same y0 is a shorter way.
        first = -jnp.dot(field(ys[0], t[0], p, others), a)
        return a + ct[0], jnp.concatenate([first[None], dt]), dp.astype(p.dtype), None

    solve.defvjp(forward, backward)
    return solve


def _integrate(f: Callable[..., Any], y0: Any, t: Any, limits: tuple[float, ...]) -> Any:
    """[times, size of y]: y at times that increase."""
    rtol, atol, most, longest = limits

    def size(error: Any, *ys: Any) -> Any:
        biggest = jnp.maximum(*map(jnp.abs, ys)) if len(ys) == 2 else jnp.abs(ys[0])
        return jnp.sqrt(jnp.mean((error / (atol + rtol * biggest)) ** 2))

    def until(carry: Any, end: Any) -> tuple[Any, Any]:
        def going(state: Any) -> Any:
            _, _, now, step, count = state
            return (now < end) & (count < most) & (step > 0)

        def attempt(state: Any) -> Any:
            y, slope, now, step, count = state
            last = now + step >= end
            h = jnp.where(last, end - now, step)
            slopes, y1 = [slope], y
            for weights, c in zip(_STAGES, _TIMES, strict=True):
                y1 = y + h * sum(w * k for w, k in zip(weights, slopes, strict=True) if w)
                slopes.append(f(y1, now + c * h))
            error = h * sum(w * k for w, k in zip(_ERROR, slopes, strict=True) if w)
            ratio = size(error, y, y1)
            good = ratio <= 1
            # A NaN ends the loop: the next step is one.
            factor = jnp.clip(0.9 * ratio**-0.2, 0.2, 10)
            # What a step that was cut short says of longer ones is that they may be longer.
            grown = jnp.where(good & last, jnp.maximum(step, h * factor), h * factor)
            after = jnp.where(last, end, now + h)
            return (
                jnp.where(good, y1, y),
                jnp.where(good, slopes[-1], slope),
                jnp.where(good, after, now),
                jnp.minimum(jnp.where(ratio == ratio, grown, ratio), longest),
                count + 1,
            )

        y, slope, now, step = carry
        y, slope, now, step, _ = while_loop(going, attempt, (y, slope, now, step, 0))
        return (y, slope, now, step), jnp.where(now == end, y, jnp.nan)

    slope = f(y0, t[0])
    # The first step: such that steps of Euler's method are small, and alike.
    d0, d1 = size(y0, y0), size(slope, y0)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(tiny, 1e-6, 0.01 * d0 / jnp.where(tiny, 1, d1))
    d2 = size(f(y0 + h0 * slope, t[0] + h0) - slope, y0) / h0
    steep = jnp.maximum(d1, d2)
    h1 = jnp.where(steep <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / steep) ** 0.2)
    step = jnp.minimum(jnp.minimum(100 * h0, h1), longest).astype(y0.dtype)
    _, ys = scan(until, (y0, slope, t[0], step), t[1:])
    return jnp.concatenate([y0[None], ys])


__all__ = ["odeint"]
