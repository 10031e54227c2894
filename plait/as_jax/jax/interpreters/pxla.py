"""jax.interpreters.pxla: nothing of it is needed by the libraries that were tried."""

__all__: list[str] = []
