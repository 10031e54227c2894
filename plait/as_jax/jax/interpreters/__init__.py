"""jax.interpreters: rules for primitives of a program's own."""
