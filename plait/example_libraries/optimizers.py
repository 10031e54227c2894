"""`plait.example_libraries.optimizers`: first-order optimisation of trees of arrays.

An optimizer is three functions:

    init_fn(params) -> state
    update_fn(step, gradients, state) -> state
    params_fn(state) -> params

step counts from 0; a step size is a number or a schedule, a function of the step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import plait.numpy as jnp
from plait.core import tree
from plait.core.tree import leaves
from plait.errors import ArgumentError, ArgumentTypeError
from plait.tree_util import register_pytree_node

Schedule = Callable[[Any], Any]


class Optimizer(NamedTuple):
    """The three functions of an optimizer: init_fn(params) -> state, update_fn(step, gradients,
    state) -> state, params_fn(state) -> params.

    >>> from plait.example_libraries import optimizers
    >>> init, update, get_params = optimizers.sgd(0.5)
    >>> get_params(update(0, jnp.array([2.0]), init(jnp.array([1.0]))))
    Array([0.], dtype=float32)
    """

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The leaves of the states of all parameters, the structure of the parameters, and of each
    parameter's state.

    >>> from plait.example_libraries import optimizers
    >>> state = optimizers.momentum(0.1, 0.9).init_fn({"w": jnp.ones(2)})
    >>> state.tree_def, state.packed_state
    (PyTreeDef({'w': *}), ((Array([1., 1.], dtype=float32), Array([0., 0.], dtype=float32)),))
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(*children, *structure),
)


def optimizer(
    opt_maker: Callable[..., tuple[Callable, Callable, Callable]],
) -> Callable[..., Optimizer]:
    """Decorator that makes optimizers of trees from functions of single arrays.

    opt_maker returns init(x), update(step, gradient, state) and get_params(state), whose states are
    trees.

    >>> from plait.example_libraries.optimizers import optimizer
    >>> @optimizer
    ... def descend(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
    >>> init, update, params = descend(0.5)
    >>> params(update(0, {"w": 2.0}, init({"w": jnp.float32(3)})))
    {'w': Array(2., dtype=float32)}
    """

    @functools.wraps(opt_maker)
    def made(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def packed(states: Sequence[Any], structure: Any) -> OptimizerState:
            flat = [tree.flatten(state) for state in states]
            packed_state = tuple(tuple(xs) for xs, _ in flat)
            return OptimizerState(packed_state, structure, tuple(s for _, s in flat))

        def unpacked(state: OptimizerState) -> list[Any]:
            parts = zip(state.packed_state, state.subtree_defs, strict=True)
            return [structure.unflatten(xs) for xs, structure in parts]

        def init_fn(params: Any) -> OptimizerState:
            xs, structure = tree.flatten(params)
            return packed([init(x) for x in xs], structure)

        def update_fn(step: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            gs, structure = tree.flatten(gradients)
            if structure != state.tree_def:
                raise ArgumentTypeError(
                    "the gradients have another structure than the parameters",
                    op=opt_maker.__name__,
                    gradients=structure,
                    parameters=state.tree_def,
                )
            new = [update(step, g, s) for g, s in zip(gs, unpacked(state), strict=True)]
            result = packed(new, structure)
            if result.subtree_defs != state.subtree_defs:
                raise ArgumentTypeError(
                    "update returns a state of another structure than init",
                    op=opt_maker.__name__,
                    init=state.subtree_defs,
                    update=result.subtree_defs,
                )
            return result

        def params_fn(state: OptimizerState) -> Any:
            return state.tree_def.unflatten([get_params(s) for s in unpacked(state)])

        return Optimizer(init_fn, update_fn, params_fn)

    return made


def _first(state: Any) -> Any:
    return state[0]


@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent.

    >>> from plait.example_libraries.optimizers import sgd
    >>> init, update, params = sgd(0.5)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3))))
    Array(2., dtype=float32)
    """
    rate = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Gradient descent with velocity: v = mass · v + g, x = x - rate · v.

    >>> from plait.example_libraries.optimizers import momentum
    >>> init, update, params = momentum(0.5, 0.9)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3))))
    Array(2., dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Nesterov's accelerated gradient: as momentum, with mass · v + g in the place of v.

    >>> from plait.example_libraries.optimizers import nesterov
    >>> init, update, params = nesterov(0.5, 0.5)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3))))
    Array(1.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), 0 for 0."""
    return jnp.where(x > 0, 1 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0)


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Steps divided by the root of the sum of squared gradients, and averaged with momentum.

    Source: Duchi, Hazan, Singer 2011.

    >>> from plait.example_libraries.optimizers import adagrad
    >>> init, update, params = adagrad(0.5, momentum=0.0)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3))))
    Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + jnp.square(g)
        mean = (1 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        return x - rate(i) * mean, squares, mean

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Steps divided by the root of a running mean of squared gradients.

    >>> from plait.example_libraries.optimizers import rmsprop
    >>> init, update, params = rmsprop(0.5, gamma=0.0)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3))))
    Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = squares * gamma + jnp.square(g) * (1 - gamma)
        return x - rate(i) * g / jnp.sqrt(squares + eps), squares

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """rmsprop, its steps gathered in a velocity.

    >>> from plait.example_libraries.optimizers import rmsprop_momentum
    >>> init, update, params = rmsprop_momentum(0.5, gamma=0.0)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3))))
    Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, velocity = state
        squares = squares * gamma + jnp.square(g) * (1 - gamma)
        velocity = momentum * velocity + rate(i) * g / jnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam. Source: Kingma and Ba, algorithm 1, 2014.

    >>> from plait.example_libraries.optimizers import adam
    >>> init, update, params = adam(0.5)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3)))).round(3)
    Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, squares = state
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * jnp.square(g) + b2 * squares
        unbiased = mean / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        spread = squares / (1 - jnp.asarray(b2, mean.dtype) ** (i + 1))
        return x - rate(i) * unbiased / (jnp.sqrt(spread) + eps), mean, squares

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam with the largest gradient, decayed, for the spread. Source: Kingma and Ba, section 7.1.

    >>> from plait.example_libraries.optimizers import adamax
    >>> init, update, params = adamax(0.5)
    >>> params(update(0, jnp.float32(2), init(jnp.float32(3)))).round(3)
    Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        unbiased = mean / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        return x - rate(i) * unbiased / (largest + eps), mean, largest

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """adagrad with sums of squares kept for each axis alone. Source: Anil et al. 2019.

    >>> from plait.example_libraries.optimizers import sm3
    >>> init, update, params = sm3(0.5, momentum=0.0)
    >>> params(update(0, jnp.float32([2, 0]), init(jnp.float32([3, 3]))))
    Array([2.5, 3. ], dtype=float32)
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        x = jnp.asarray(x)
        return x, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in x.shape or (1,)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, sums = state
        ndim = max(x.ndim, 1)
        wide = [
            jnp.reshape(s, [-1 if k == axis else 1 for k in range(ndim)])
            for axis, s in enumerate(sums)
        ]
        squares = jnp.reshape(functools.reduce(jnp.minimum, wide), x.shape) + jnp.square(g)
        mean = (1 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        rows = squares if x.ndim else squares[None]
        sums = [
            jnp.max(rows, tuple(k for k in range(ndim) if k != axis)) for axis in range(len(sums))
        ]
        return x - rate(i) * mean, mean, sums

    return init, update, _first


# --- schedules


def constant(step_size: Any) -> Schedule:
    """step_size at every step.

    >>> from plait.example_libraries.optimizers import constant
    >>> constant(0.5)(10)
    0.5
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """step_size · decay_rate^(i / decay_steps).

    >>> from plait.example_libraries.optimizers import exponential_decay
    >>> exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """step_size / (1 + decay_rate · i / decay_steps), the quotient rounded down if staircase.

    >>> from plait.example_libraries.optimizers import inverse_time_decay
    >>> inverse_time_decay(1.0, 10, 1.0)(10)
    0.5
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """From step_size to final_step_size in decay_steps, by a power of what is left of the way.

    >>> from plait.example_libraries.optimizers import polynomial_decay
    >>> polynomial_decay(1.0, 10, 0.5)(5)
    Array(0.75, dtype=float32, weak_type=True)
    """

    def schedule(i: Any) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[k] between boundaries[k - 1], which does not count, and boundaries[k], which does.

    >>> from plait.example_libraries.optimizers import piecewise_constant
    >>> piecewise_constant([10, 20], [1.0, 0.1, 0.01])(11)
    Array(0.1, dtype=float32)
    """
    edges, levels = jnp.asarray(boundaries), jnp.asarray(values)
    if edges.ndim != 1 or levels.shape != (edges.shape[0] + 1,):
        raise ArgumentError(
            "needs one value more than boundaries",
            op="piecewise_constant",
            boundaries=edges,
            values=levels,
        )
    return lambda i: levels[jnp.sum(i > edges)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule from a number or from a schedule.

    >>> from plait.example_libraries.optimizers import make_schedule
    >>> make_schedule(0.1)(3)
    0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise ArgumentTypeError(
        "a step size is a number or a function of the step",
        op="make_schedule",
        step_size=scalar_or_schedule,
    )


# --- gradients


def l2_norm(tree: Any) -> Any:
    """The square root of the sum of all squares in a tree.

    >>> from plait.example_libraries.optimizers import l2_norm
    >>> l2_norm([jnp.float32([3.0]), jnp.float32(4)])
    Array(5., dtype=float32)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """A tree scaled down so that its l2_norm is at most max_norm.

    >>> from plait.example_libraries.optimizers import clip_grads
    >>> clip_grads(jnp.float32([3, 4]), 1.0)
    Array([0.6, 0.8], dtype=float32)
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# --- states as trees of their parameters


class JoinPoint:
    """Marks, in a tree of the parameters' structure, the state of one parameter: .subtree.

    >>> from plait.example_libraries import optimizers
    >>> state = optimizers.sgd(0.1).init_fn({"w": jnp.ones(2)})
    >>> optimizers.unpack_optimizer_state(state)["w"].subtree
    Array([1., 1.], dtype=float32)
    """

    def __init__(self, subtree: Any):
        self.subtree = subtree

    def __iter__(self):
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a tree of the parameters' structure, each leaf a JoinPoint: for saving.

    >>> from plait.example_libraries import optimizers
    >>> state = optimizers.momentum(0.1, 0.9)[0]({"w": jnp.float32(1)})
    >>> optimizers.unpack_optimizer_state(state)["w"].subtree
    (Array(1., dtype=float32), Array(0., dtype=float32))
    """
    parts = zip(opt_state.packed_state, opt_state.subtree_defs, strict=True)
    return opt_state.tree_def.unflatten([JoinPoint(s.unflatten(xs)) for xs, s in parts])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The inverse of unpack_optimizer_state.

    >>> from plait.example_libraries import optimizers
    >>> state = optimizers.pack_optimizer_state({"w": optimizers.JoinPoint((1.0, 0.0))})
    >>> optimizers.momentum(0.1, 0.9).params_fn(state)
    {'w': 1.0}
    """
    marks, structure = tree.flatten(marked_pytree)
    for mark in marks:
        if not isinstance(mark, JoinPoint):
            raise ArgumentTypeError(
                "every leaf must be a JoinPoint", op="pack_optimizer_state", leaf=mark
            )
    flat = [tree.flatten(mark.subtree) for mark in marks]
    return OptimizerState(tuple(tuple(xs) for xs, _ in flat), structure, tuple(s for _, s in flat))


__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]
