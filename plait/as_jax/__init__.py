"""plait.as_jax: lets programs and libraries written for JAX run on plait, unchanged.

    python -m plait.as_jax train.py --epochs 3
    python -m plait.as_jax -m package.train

runs a program whose `import jax` gets plait. Inside a program `install()` does the same, before
the first `import jax` of the process:

>>> import plait.as_jax
>>> plait.as_jax.install()
>>> import jax.numpy as jnp
>>> jnp.arange(3.0).sum()
Array(3., dtype=float32)
>>> plait.as_jax.uninstall()
"""

from plait.as_jax.finder import install, uninstall

__all__ = ["install", "uninstall"]
