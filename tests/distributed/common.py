"""Processes for tests: scripts that run in several of them at once."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
# Whoever waits longer hangs; the machine may be crowded.
LIMIT_S = 600


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def start(
    arguments: list[str], processes: int, devices: int | tuple[int, ...], **env: str
) -> list[subprocess.Popen[str]]:
    """Processes that are told their places, each with so many CPU devices."""
    each = devices if isinstance(devices, tuple) else (devices,) * processes
    place = {
        "PYTHONPATH": str(ROOT),
        "PLAIT_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "PLAIT_NUM_PROCESSES": str(processes),
        "PLAIT_DISABLE_MOST_OPTIMIZATIONS": "1",  # what is computed is not at issue here
    }
    places = [
        {**place, "PLAIT_PROCESS_ID": str(k), "PLAIT_NUM_CPU_DEVICES": str(n)}
        for k, n in enumerate(each)
    ]
    return [
        subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, **place, **env},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for place in places
    ]


def outputs(running: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """(exit status, standard output without gloo's greetings, standard error) of each process."""
    found = []
    try:
        for process in running:
            out, err = process.communicate(timeout=LIMIT_S)
            lines = [line for line in out.splitlines() if not line.startswith("[Gloo]")]
            found.append((process.returncode, "\n".join(lines), err))
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
    return found


def run(
    arguments: list[str], processes: int, devices: int | tuple[int, ...], **env: str
) -> list[str]:
    """What each process prints; all have to succeed."""
    done = outputs(start(arguments, processes, devices, **env))
    assert all(status == 0 for status, _, _ in done), "\n".join(
        f"--- process {k}: {status}\n{out}\n{err}" for k, (status, out, err) in enumerate(done)
    )
    return [out for _, out, _ in done]
