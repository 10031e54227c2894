"""What is there: arrays that live, and the versions, switches and devices of this process."""

from __future__ import annotations

import gc
import os
import sys

import numpy as np

from plait.runtime import client, xla
from plait.runtime.array import Array


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays of this process that something holds and that are not deleted or donated.

    platform: "cpu", "gpu" or "tpu"; None is the one of the default device. Cost: a look at every
    object that Python's garbage collector knows.

    >>> x = jnp.arange(3) + 1
    >>> any(array is x for array in plait.live_arrays())
    True
    """
    wanted = client.devices(platform)[0].platform
    return [
        x
        for x in gc.get_objects()
        if type(x) is Array and not x.is_deleted() and next(iter(x.devices())).platform == wanted
    ]


def print_environment_info(return_string: bool = False) -> str | None:
    """Print (or return) the versions, the machine, the devices and the variables that matter: what
    a report of a defect should contain.

    >>> print(plait.print_environment_info(return_string=True).splitlines()[0].split()[0])
    plait
    """
    import platform  # takes a millisecond, which `import plait` need not spend

    lines = {
        "plait": sys.modules["plait"].__version__,
        "jaxlib": xla.VERSION,
        "numpy": np.__version__,
        "python": sys.version.split("\n")[0],
        "machine": f"{platform.platform()}, {os.cpu_count()} cores",
        "devices": f"{client.device_count()} {client.default_backend()}: {client.devices()}",
        "process": f"{client.process_index()} of {client.process_count()}",
    }
    names = ("PLAIT_", "JAX_", "XLA_", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
    for name in sorted(os.environ):
        if name.startswith(names):
            lines[name] = os.environ[name]
    width = max(map(len, lines))
    text = "\n".join(f"{name.ljust(width)}  {value}" for name, value in lines.items())
    if return_string:
        return text
    print(text)
    return None


__all__ = ["live_arrays", "print_environment_info"]
