"""A process that loses another, or is lost: python -m tests.distributed.loss HOW."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np

import plait as jax
from plait import lax
from plait.errors import PeerLost


def main(how: str) -> None:
    jax.distributed.initialize(heartbeat_timeout_seconds=3, shutdown_timeout_seconds=30)
    me = jax.process_index()
    step = jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")
    x = step(np.float32([me]))
    assert float(x[0]) == me + 1
    if how == "killed" and me == 0:  # whose coordinator the other needs
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "raises" and me == 1:
        raise ValueError("no data left")
    if how == "hangs" and me == 1:
        print("asleep", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    begun = time.monotonic()
    try:
        step(x)
    except PeerLost as error:
        print(str(error), flush=True)
    waited = time.monotonic() - begun
    try:
        step(x)
    except PeerLost:
        print("lost for good", flush=True)
    total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=jax.local_devices())
    print("alone", float(x[0]), *total(np.ones(2)), f"waited {waited:.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
