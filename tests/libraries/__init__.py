"""Programs written for JAX and its libraries, as test_as_jax.py runs them on plait."""
