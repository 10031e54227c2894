"""`plait.example_libraries`: small optimizers and neural network layers, for examples."""

from plait.example_libraries import optimizers, stax

__all__ = ["optimizers", "stax"]
