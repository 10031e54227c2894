"""`plait.scipy.integrate`: integrals of samples."""

from plait.numpy import trapezoid

__all__ = ["trapezoid"]
