"""`plait.scipy.spatial`: geometry."""

from plait.scipy.spatial import transform

__all__ = ["transform"]
