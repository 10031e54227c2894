"""Peak memory of steps with and without what saves it: python -m benchmarks.memory

Each case runs in a process of its own. Printed is how far its resident memory rose above what it
had before the first array, in multiples of the state of 128 MiB that the steps update.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FLOATS = 32 << 20
STEPS = 4
LANES = 8
CASES: dict[str, Callable[[], Any]] = {}


def case(words: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Add a case under its words in the table."""

    def add(run: Callable[[], Any]) -> Callable[[], Any]:
        CASES[words] = run
        return run

    return add


def steps(call: Callable[[Any], Any], state: Any) -> Any:
    """The state after some steps, each waited for, so that none keeps its argument for the next."""
    for _ in range(STEPS):
        state = call(state).block_until_ready()
    return state


def lanes(update: Callable[..., Any], **options: Any) -> tuple[Callable[[Any], Any], Any]:
    """A step of 8 lanes on 2 devices, and a state that is equal in all of them."""
    import plait as jax
    import plait.numpy as jnp

    devices = jax.devices()[:2]
    rates = jnp.arange(LANES, dtype=np.float32) / 100
    step = jax.pmap(update, axis_name="i", devices=devices, **options)
    start = jax.pmap(lambda rate: jnp.ones(FLOATS), axis_name="i", devices=devices)
    return lambda state: step(state, rates), start(rates)


@case("8 lanes on 2 devices, the update averaged: stored once")
def once() -> Any:
    from plait import lax

    return steps(*lanes(lambda state, rate: state - 0.1 * lax.pmean(rate, "i") * state))


@case("the same, and donated")
def once_donated() -> Any:
    from plait import lax

    return steps(
        *lanes(lambda state, rate: state - 0.1 * lax.pmean(rate, "i") * state, donate_argnums=0)
    )


@case("8 lanes on 2 devices, each its own update")
def stacked() -> Any:
    return steps(*lanes(lambda state, rate: state - 0.1 * rate * state))


@case("the same, and donated (the first state is not stacked yet)")
def stacked_donated() -> Any:
    call, state = lanes(lambda state, rate: state - 0.1 * rate * state)
    state = call(state)
    step, _ = lanes(lambda state, rate: state - 0.1 * rate * state, donate_argnums=0)
    return steps(step, state)


@case("one device, jit")
def kept() -> Any:
    import plait as jax
    import plait.numpy as jnp

    return steps(jax.jit(lambda state: state * 0.5 + 1), jnp.ones(FLOATS))


@case("the same, donated")
def donated() -> Any:
    import plait as jax
    import plait.numpy as jnp

    return steps(jax.jit(lambda state: state * 0.5 + 1, donate_argnums=0), jnp.ones(FLOATS))


def resident(which: str) -> int:
    """Bytes of this process in memory: now (VmRSS) or at most (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{which}:\s*(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])


def measure(words: str) -> None:
    """Run one case and print how many bytes the process rose by, and how many are live."""
    import plait as jax
    import plait.numpy as jnp

    jax.pmap(lambda x: x + 1)(jnp.ones(2)).block_until_ready()
    before = resident("VmRSS")
    state = CASES[words]()
    print(resident("VmHWM") - before, state.on_device_size_in_bytes())


def main() -> None:
    """Print the table."""
    env = dict(os.environ, PLAIT_NUM_CPU_DEVICES="2", PLAIT_TUNE_MALLOC="0")
    print("| case | state kept | peak |\n| --- | --- | --- |")
    for words in CASES:
        command = [sys.executable, "-m", "benchmarks.memory", words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        peak, live = (int(n) / (4 * FLOATS) for n in done.stdout.split())
        print(f"| {words} | {live:.1f} | {peak:.1f} |", flush=True)


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else main()
