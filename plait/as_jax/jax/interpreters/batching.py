"""jax.interpreters.batching: batches of primitives."""

from plait.as_jax.primitive import (
    axis_primitive_batchers,
    defvectorized,
    fancy_primitive_batchers,
    primitive_batchers,
)
from plait.interpreters.batch import BatchTracer
from plait.numpy.manipulation import moveaxis

not_mapped = None


def bdim_at_front(x, bdim, size):
    """An operand of a batching rule with the batch axis first, repeated if it has none."""
    from plait.interpreters.batch import add_axis

    return add_axis(x, size) if bdim is not_mapped else moveaxis(x, bdim, 0)


__all__ = [
    "BatchTracer",
    "axis_primitive_batchers",
    "bdim_at_front",
    "defvectorized",
    "fancy_primitive_batchers",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
]
