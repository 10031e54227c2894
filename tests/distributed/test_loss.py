"""A process that loses another gets an exception, and lives on."""

from __future__ import annotations

import signal
import threading

import pytest

from tests.distributed.common import outputs, start

# How one of two processes is lost: which, what the other is told, the exit status of the lost.
LOSSES = {
    "killed": (0, "process 0 was lost", -signal.SIGKILL),
    "raises": (1, "it_died_of    ValueError: no data left", 1),
    "hangs": (1, "no sign of life for 3 seconds", -signal.SIGKILL),
}


@pytest.mark.parametrize("how", LOSSES)
def test_an_exception(how):
    lost, words, status = LOSSES[how]
    running = start(["-m", "tests.distributed.loss", how], 2, 2)
    survivor = running[1 - lost]
    if how == "hangs":  # it cannot end by itself; the other's end is waited for
        waiting = threading.Thread(target=lambda: (survivor.wait(), running[lost].kill()))
        waiting.start()
    done = outputs(running)
    assert done[lost][0] == status, done[lost]
    code, out, err = done[1 - lost]
    assert code == 0, out + err
    assert words in out and "lost for good" in out
    assert f"alone {2.0 - lost} 2.0 2.0" in out
