"""`plait.scipy.linalg`: factorisations and equations, in SciPy's forms."""
