"""For tests of functions and ops of one's own: comparison, finite differences, laws of ops."""

from plait.testing.laws import check_op
from plait.testing.numerics import assert_close, check_grads, tolerance
from plait.testing.reference import reference

__all__ = ["assert_close", "check_grads", "check_op", "reference", "tolerance"]
