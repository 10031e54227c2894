"""`plait.scipy.cluster`: groups of observations."""

from plait.scipy.cluster import vq

__all__ = ["vq"]
