"""plait.custom_derivatives: functions whose derivatives the user decides."""

from plait.regions.custom import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
)
from plait.regions.linear_call import linear_call
from plait.regions.rules import zero_from_primal

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "linear_call",
    "zero_from_primal",
]
