"""Peak memory of a process that trains. The high-water mark of its resident memory, in bytes."""

import re
from pathlib import Path

from benchmarks.models import mlp, pmap_training
from benchmarks.registry import workload
from benchmarks.workloads.training import draw, labels


def peak_bytes():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])


@workload("peak memory, MLP of 50M parameters", unit="B", quick=False)
def peak_of_training(jax):
    # The library itself and the NumPy originals count too, in both alike.
    params, loss = mlp(jax, (1024, 4096, 4096, 4096, 3072, 10))
    call = pmap_training(jax, params, loss, (draw(32, 1024), labels(32)))
    del params

    def measure():
        for _ in range(3):
            call()
        return peak_bytes()

    return measure
