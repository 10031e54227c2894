"""Train on the handwritten digits in several processes at once, each with its own part of the data.

Run by hand, the program starts itself once for each process, as a cluster's launcher would:

    python examples/train_processes.py --processes 2

Each process has its own devices. pmap's axis goes over the devices of all of them, and each process
passes the rows of its own; pmean takes the mean over all.
"""

import argparse
import os
import socket
import subprocess
import sys
from functools import partial

import numpy as np
from sklearn.datasets import load_digits

import plait
import plait.numpy as jnp
from plait import distributed, lax
from plait.experimental import multihost_utils

STEPS, RATE = 100, 0.5


def loss_of(params, x, y):
    w, b = params
    scores = plait.nn.log_softmax(x @ w + b)
    return -jnp.mean(jnp.take_along_axis(scores, y[:, None], axis=1))


@partial(plait.pmap, axis_name="all", in_axes=(None, 0, 0), out_axes=None)
def step(params, x, y):
    loss, gradient = plait.value_and_grad(loss_of)(params, x, y)
    loss, gradient = lax.pmean((loss, gradient), "all")
    return plait.tree.map(lambda p, g: p - RATE * g, params, gradient), loss


def train():
    """What each process does."""
    distributed.initialize()  # the address, the number of processes and the place among them
    devices, local = plait.device_count(), plait.local_device_count()

    pixels, labels = load_digits(return_X_y=True)
    rows = len(labels) // devices
    x = (pixels / 16).astype(np.float32)[: rows * devices].reshape(devices, rows, -1)
    y = labels.astype(np.int32)[: rows * devices].reshape(devices, rows)
    mine = slice(plait.process_index() * local, (plait.process_index() + 1) * local)

    params = (jnp.zeros((64, 10)), jnp.zeros(10))
    for _ in range(STEPS):
        params, loss = step(params, x[mine], y[mine])

    # Results that leave unmapped are the same in every process.
    multihost_utils.assert_equal(params)
    right = np.mean(np.argmax(x[mine] @ np.asarray(params[0]) + params[1], axis=-1) == y[mine])
    place = f"process {plait.process_index()} of {plait.process_count()}"
    print(f"{place}: {local} of {devices} devices, loss {loss:.4f}, {right:.1%} of its rows right")
    assert right > 0.9


def start(processes):
    """Start the processes here; on a cluster its launcher does this, on several machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    place = {"PLAIT_COORDINATOR_ADDRESS": address, "PLAIT_NUM_PROCESSES": str(processes)}
    running = [
        subprocess.Popen(
            [sys.executable, __file__], env={**os.environ, **place, "PLAIT_PROCESS_ID": str(k)}
        )
        for k in range(processes)
    ]
    sys.exit(max(abs(process.wait()) for process in running))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    count = parser.parse_args().processes
    if "PLAIT_PROCESS_ID" in os.environ:
        train()
    else:
        start(count)
