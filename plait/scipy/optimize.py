"""`plait.scipy.optimize`: the minimum of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.types import is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.numpy.promotion import operand, value
from plait.regions.loops import while_loop
from plait.regions.trace import check_function, describe_function
from plait.transforms.grad import value_and_grad


class OptimizeResults(NamedTuple):
    """What minimize returns: the place x with fun, its value there, jac, the gradient, and
    hess_inv, an estimate of the inverse Hessian; success and status (0 converged, 1 maxiter rounds,
    3 no point along a line is good enough, 5 the line has no end); the counts of evaluations of
    the function, nfev, and the gradient, njev, and of rounds, nit.

    >>> from plait.scipy.optimize import minimize
    >>> result = minimize(lambda x: jnp.sum((x - 2) ** 2), jnp.zeros(2), method="BFGS")
    >>> result.x.round(3), bool(result.success)
    (Array([2., 2.], dtype=float32), True)
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of fun(x, *args), a number, from x0 on, by the method "BFGS".

    tol, or options["gtol"] (1e-5), is the size of the gradient at which the search ends. Other
    options: norm, the order of that size (inf); maxiter, rounds (200 for each variable);
    line_search_maxiter, evaluations in a round (10). It can be compiled and mapped.
    Raises: ArgumentError for other methods and options, ShapeError, DtypeError.
    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 6.1, 3.5 and 3.6.

    >>> f = lambda x: jnp.sum((x - jnp.array([1.0, 2.0])) ** 2)
    >>> plait.scipy.optimize.minimize(f, jnp.zeros(2), method="BFGS").x.round(3)
    Array([1., 2.], dtype=float32)
    """
    op = "optimize.minimize"
    if not isinstance(args, tuple):
        raise ArgumentTypeError("args is a tuple", op=op, args=args, fix="args=(first, ...)")
    if str(method).lower() != "bfgs":
        raise ArgumentError("there is no such method", op=op, method=method, fix='"BFGS"')
    if not isinstance(options, Mapping | None):
        raise ArgumentTypeError("options is a dict", op=op, options=options)
    if tol is not None:
        operand(op, tol)
    given = {"gtol": 1e-5 if tol is None else tol, "norm": np.inf, "maxiter": None}
    given |= {"line_search_maxiter": 10, **(options or {})}
    if len(given) > 4:
        fix = "gtol, norm, maxiter, line_search_maxiter"
        raise ArgumentError("there is no such option", op=op, options=list(given)[4:], fix=fix)
    x = value(op, x0, 1)
    if x.ndim != 1:
        raise ShapeError("x0 must be a vector", op=op, x0=x)
    if x.dtype not in dtypes.FLOAT:
        raise DtypeError("x0 must be made of floats", op=op, x0=x)
    check_function(fun, op, "fun")
    rounds = 200 * x.size if given["maxiter"] is None else given["maxiter"]

    def number(x: Any) -> Any:
        y = fun(x, *args)
        if not is_array(y) or type_of(y).shape or type_of(y).dtype not in dtypes.FLOAT:
            raise ArgumentError(
                "fun must return one number, a float",
                op=op,
                function=describe_function(fun),
                returns=type_of(y) if is_array(y) else y,
            )
        return y

    both = value_and_grad(number)
    y, g = both(x)
    one = jnp.eye(x.size, dtype=x.dtype)

    def large(g: Any) -> Any:
        return jnp.linalg.norm(g, ord=given["norm"]) >= given["gtol"]

    def going(state: Any) -> Any:
        _, _, g, _, status, _, k = state
        return (status == 0) & (k < rounds) & large(g)

    def step(state: Any) -> Any:
        x, y, g, h, _, count, k = state
        p = -h @ g
        first = jnp.where(k == 0, jnp.minimum(1, 1.01 / jnp.linalg.norm(g)), 1).astype(x.dtype)
        a, y1, g1, status, used = _line_search(
            both, x, p, y, g, first, given["line_search_maxiter"]
        )
        s, d = a * p, g1 - g
        curve = jnp.dot(s, d)
        # Without curvature the estimate stays as it is.
        usable = curve > 0
        rho = jnp.where(usable, 1 / jnp.where(usable, curve, 1), 0)
        # The unit matrix, which the search begins with, takes the scale of the function first:
        # beside it a much smaller inverse Hessian would be lost to rounding (ibid., 6.20).
        scale = jnp.where(usable & (k == 0), curve / jnp.where(usable, jnp.dot(d, d), 1), 1)
        h = scale * h
        left = one - rho * jnp.outer(s, d)
        new = left @ h @ left.T + rho * jnp.outer(s, s)
        return x + s, y1, g1, jnp.where(usable, new, h), status, count + used, k + 1

    zero = jnp.zeros((), jnp.int32)
    start = (x, y, g, one, zero, zero + 1, zero)
    x, y, g, h, status, count, k = while_loop(going, step, start)
    status = jnp.where((status == 0) & large(g), 1, status)
    status = jnp.where(jnp.isnan(y) & (status == 0), 5, status)
    return OptimizeResults(x, status == 0, status, y, g, h, count, count, k)


def _line_search(
    both: Callable[..., Any], x: Any, p: Any, y0: Any, g0: Any, first: Any, limit: int
) -> Any:
    """(step, value, gradient, status, evaluations) at a point along p from x where the value is
    lower and the slope flatter: the strong Wolfe conditions.
    """
    slope0 = jnp.dot(g0, p)
    # What rounding may add to a value.
    noise = 4 * float(dtypes.finfo(x.dtype).eps) * jnp.abs(y0)
    inf = jnp.full((), jnp.inf, x.dtype)
    zero = jnp.zeros((), x.dtype)

    # Between `low`, the best step so far, and `high` there is a good one; high is inf until a step
    # went too far.
    def search(state: Any) -> Any:
        a, low, high, old, _, n = state
        y, g = both(x + a * p)
        slope = jnp.dot(g, p)
        # Asked so that NaN is too far.
        fine = (y <= y0 + 1e-4 * a * slope0 + noise) & (y <= low[1] + noise)
        done = fine & (jnp.abs(slope) <= -0.9 * slope0)
        turned = jnp.where(jnp.isinf(high), slope >= 0, slope * (high - low[0]) >= 0)
        new_high = jnp.where(fine, jnp.where(turned, low[0], high), a)
        here = (a, y, slope)
        new_low = tuple(jnp.where(fine, new, old) for new, old in zip(here, low, strict=True))
        best = jnp.where(fine, g, old)
        return _next(new_low, new_high, here), new_low, new_high, best, done, n + 1

    def going(state: Any) -> Any:
        return ~state[4] & (state[5] < limit)

    start = (first, (zero, y0, slope0), inf, g0, jnp.zeros((), bool), jnp.zeros((), jnp.int32))
    _, low, high, g, done, n = while_loop(going, search, start)
    failed = jnp.where(jnp.isinf(high), 5, 3)
    return low[0], low[1], g, jnp.where(done, 0, failed).astype(jnp.int32), n


def _next(low: Any, high: Any, here: Any) -> Any:
    """The next step: twice as far, or the minimum of the parabola through what is known at low and
    here, if it lies well between low and high, else their middle.
    """
    a, y, _ = here
    far = a - low[0]
    bend = (y - low[1] - low[2] * far) / jnp.where(far == 0, 1, far**2)
    guess = low[0] - low[2] / jnp.where(bend == 0, 1, 2 * bend)
    width = high - low[0]
    share = (guess - low[0]) / width
    inside = (far != 0) & (bend > 0) & (share > 0.1) & (share < 0.9)
    return jnp.where(jnp.isinf(high), 2 * a, jnp.where(inside, guess, low[0] + 0.5 * width))


__all__ = ["OptimizeResults", "minimize"]
