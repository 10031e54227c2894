"""`plait.scipy.sparse`: linear algebra on matrices that are known by their products alone."""

from plait.scipy.sparse import linalg

__all__ = ["linalg"]
