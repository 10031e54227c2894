"""What the tests of maps share: comparing trees, messages as text, counting compilations."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import plait as jax
from plait.runtime import client, xla

ROOT = pathlib.Path(__file__).parent.parent.parent


def same(got: Any, want: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Raise unless two trees have one structure and close leaves of equal shapes and dtypes."""
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape
        assert g.dtype == w.dtype or not hasattr(w, "placement")
        if g.dtype.kind in "biu":
            np.testing.assert_array_equal(g, w)
        else:
            np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)


def message(error: Any, call: Any) -> str:
    """The text of the error that a call raises."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def refused(error: Any, call: Any, *words: str) -> None:
    """Raise unless a call raises an error whose text has all the words."""
    text = message(error, call)
    for word in words:
        assert word in text, f"{word!r} is not in\n{text}"


@contextlib.contextmanager
def counted_compilations() -> Iterator[list[str]]:
    """A list that receives the text of every program that is compiled inside the block."""
    texts: list[str] = []
    original = xla.compile

    def compile(text: str, *args: Any, **options: Any) -> Any:
        texts.append(text)
        return original(text, *args, **options)

    xla.compile = compile
    try:
        yield texts
    finally:
        xla.compile = original


def live_bytes() -> int:
    """Bytes of all buffers on the devices."""
    bufs = client.backend().live_arrays()
    return sum(xla.nbytes(b) for b in bufs if not xla.is_deleted(b))


def child(
    args: list[str],
    *,
    devices: int | None = None,
    form: str = "auto",
    limit: float,
    **variables: str,
) -> subprocess.CompletedProcess:
    """Run Python in a process of its own, with a time limit."""
    env = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PLAIT_NUM_CPU_DEVICES")}
    if devices is not None:
        env["PLAIT_NUM_CPU_DEVICES"] = str(devices)
    env |= {"PLAIT_PMAP_FORM": form, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-W", "error", *args],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=limit,
    )


def output(args: list[str], **options: Any) -> str:
    """What a child prints; it has to succeed."""
    done = child(args, **options)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
