"""jax._src.state: arrays that change, which plait does not have."""
