"""Starting: what a user waits for before the first result. Every measurement is a new process."""

import subprocess
import sys

from benchmarks.registry import workload

IMPORT = """
from time import perf_counter
start = perf_counter()
import {library}
print(perf_counter() - start)
"""

# The tutorial's first program, from the first import to the result in NumPy's hands.
FIRST_RESULT = """
from time import perf_counter
start = perf_counter()
import numpy as np
import {library} as jax
import {library}.numpy as jnp

def wave(x):
    return jnp.sqrt(jnp.abs(jnp.tanh(jnp.sin(x) * jnp.cos(x))))

result = np.asarray(jax.pmap(wave)(np.arange(8, dtype=np.float32).reshape(2, 4)))
assert result.shape == (2, 4)
print(perf_counter() - start)
"""


def seconds_in_new_process(program):
    """The least of three: the operating system's caches are warm, the process is new each time."""

    def run():
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
        return float(done.stdout)

    run()
    return lambda: min(run() for _ in range(3))


@workload("import", budget="1/3")
def import_library(jax):
    return seconds_in_new_process(IMPORT.format(library=jax.__name__))


@workload("cold start to the first pmap result", budget="1/2")
def cold_start(jax):
    return seconds_in_new_process(FIRST_RESULT.format(library=jax.__name__))
