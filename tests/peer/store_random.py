"""Write what JAX gives for tests/peer/random_cases.py to a file: python store_random.py [FILE].

Run it in an environment that has jax; plait is not imported. Without an argument the file is
tests/peer/random_values.npz, which the tests read; it was made with jax 0.12.0.1 on an x86-64
processor with AVX-512.
"""

import sys
from pathlib import Path

import jax  # noqa: TID251 (this script is JAX's side of the comparison)
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import random_cases


def main() -> None:
    here = Path(__file__).with_name("random_values.npz")
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    import jaxlib

    stored = {"jaxlib": np.array(jaxlib.__version__)}
    for group, x64 in (("cases", False), ("gamma_cases", False), ("x64_cases", True)):
        jax.config.update("jax_enable_x64", x64)
        made = getattr(random_cases, group)(jax.random, jax.numpy, jax.vmap, jax.jit)
        for name, value in made:
            value = np.asarray(value)
            if value.dtype.kind == "V":  # bfloat16, which .npz files do not know
                value = value.view(np.uint16)
            stored[f"{group}/{name}"] = value
    np.savez_compressed(file, **stored)


if __name__ == "__main__":
    main()
