"""jax.extend: what libraries build on."""
