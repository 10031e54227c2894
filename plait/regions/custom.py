"""Functions whose derivatives the user decides: custom_jvp, custom_vjp, stop_gradient and kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.core import dtypes
from plait.core.interpreter import Tracer
from plait.core.primitive import Primitive, register
from plait.core.program import run_program
from plait.core.sample import complex_, integers, real
from plait.core.source import function_name
from plait.core.stage import stage
from plait.core.tree import flatten, register_node, structure_error
from plait.core.tree import map as tree_map
from plait.core.types import type_of
from plait.errors import ArgumentTypeError
from plait.regions.custom_jvp import custom_jvp
from plait.regions.custom_vjp import CustomVJPPrimal, custom_vjp
from plait.regions.rules import SymbolicZero, is_pair
from plait.regions.trace import check_function


class StopGradient(Primitive):
    """x itself, with a derivative of zero."""

    name = "stop_gradient"
    differentiable = False

    def evaluate(self, xs, params):
        return xs[0]

    def type(self, x):
        return x

    def numpy(self, x):
        return x

    def batch(self, frame, xs, mapped):
        return self.bind(*xs), True

    def lower(self, b, x):
        return x

    def samples(self):
        yield (real(2, 3),), {}
        yield (complex_(3),), {}
        yield (integers(4),), {}


stop_gradient_p = register(StopGradient())


def stop_gradient(x: Any) -> Any:
    """x, a tree of arrays, as a constant to all derivatives.

    Leaves that have no derivative anyway, integers and things that are no arrays, pass unchanged.

    >>> plait.grad(lambda x: x * lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return tree_map(
        lambda leaf: (
            stop_gradient_p.bind(leaf) if getattr(leaf, "dtype", None) in dtypes.INEXACT else leaf
        ),
        x,
    )


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (result, pull) as a function that returns the result.

    pull(ct) gives the cotangents of the arguments: a tuple, or the cotangent itself for a function
    of one argument. It may use what fun computed, but not look at the value of ct.
    Raises: ArgumentTypeError.

    >>> @plait.custom_gradient
    ... def clipped(x):
    ...     return x * x, lambda ct: jnp.clip(ct * 2 * x, -1.0, 1.0)
    >>> plait.grad(clipped)(5.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_function(fun, "custom_gradient", "the first argument")

    def pair(*args: Any) -> tuple[Any, Any]:
        result = fun(*args)
        if not is_pair(result) or not callable(result[1]):
            raise ArgumentTypeError(
                "the function must return a pair (result, function of the cotangent)",
                op="custom_gradient",
                function=function_name(fun),
                returns=result,
            )
        return result

    def value(*args: Any) -> Any:
        return pair(*args)[0]

    def forward(*args: Any) -> tuple[Any, Any]:
        y, pull = pair(*args)
        ys, shape = flatten(y)
        kept: list[Any] = []

        def flat(*cts: Any) -> list[Any]:
            out, out_shape = flatten(pull(shape.unflatten(cts)))
            kept.append(out_shape)
            return out

        types = [type_of(v) for v in ys]
        program, captured = stage(flat, types, name=function_name(pull))
        return y, _Pulled(captured, (program, kept[0], len(args)))

    def backward(pulled: _Pulled, ct: Any) -> tuple[Any, ...]:
        program, shape, count = pulled.static
        out = shape.unflatten(run_program(program, *pulled.captured, *flatten(ct)[0]))
        return (out,) if count == 1 and not isinstance(out, tuple) else tuple(out)

    value.__name__ = function_name(fun)
    setattr(value, "__wrapped__", fun)  # noqa: B010 (a type checker knows no such attribute)
    made = custom_vjp(value)
    made.defvjp(forward, backward)
    return made


class _Pulled:
    """The residuals of a custom_gradient function: arrays, and the Program that uses them."""

    def __init__(self, captured: Any, static: tuple[Any, ...]):
        self.captured, self.static = captured, static


register_node(
    _Pulled, lambda p: (p.captured, p.static), lambda static, values: _Pulled(list(values), static)
)


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list]:
    """(converted, values): what fun closes over and is traced with a derivative, as arguments.

    converted(*args, *values) does what fun(*args) does, for arguments of the types of the examples.

    >>> def scaled(factor):
    ...     f, values = plait.closure_convert(lambda x: factor * x, 1.0)
    ...     return f(2.0, *values)
    >>> plait.grad(scaled)(5.0)
    Array(2., dtype=float32, weak_type=True)
    """
    check_function(fun, "closure_convert", "the first argument")
    leaves, in_tree = flatten(example_args)
    out: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        ys, shape = flatten(fun(*in_tree.unflatten(xs)))
        out.append(shape)
        return ys

    program, captured = stage(flat, [type_of(x) for x in leaves], name=function_name(fun))
    lifted = [isinstance(x, Tracer) and x.dtype in dtypes.INEXACT for x in captured]
    values = [x for x, is_lifted in zip(captured, lifted, strict=True) if is_lifted]

    def converted(*args: Any) -> Any:
        n = len(args) - len(values)
        given, in_shape = flatten(args[:n])
        if in_shape != in_tree:
            raise structure_error(
                "the arguments must have the structure of the examples",
                ("examples", in_tree),
                ("arguments", in_shape),
                "closure_convert",
                "call converted(*args, *values), with the values that closure_convert gave",
            )
        hoisted = iter(args[n:])
        first = [next(hoisted) if h else x for h, x in zip(lifted, captured, strict=True)]
        return out[0].unflatten(run_program(program, *first, *given))

    return converted, values


__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "stop_gradient",
    "stop_gradient_p",
]
