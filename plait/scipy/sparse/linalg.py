"""`plait.scipy.sparse.linalg`: iterative solvers of linear equations."""
