"""The names in JAX's private modules that libraries reach for."""
