"""Runs cases in one of several processes, and keeps what comes out of them.

python -m tests.distributed.worker FILE ROWS CASE... : FILE.<process>.npz has an array or an error
for each result, by case and position.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

import numpy as np

import plait
from tests.distributed.cases import CASES


def own_rows(x: Any, axis: int = 0) -> Any:
    """This process's rows of an array: equally many for each device."""
    x = np.asarray(x)
    owners = [d.process_index for d in plait.devices()]
    per_device = np.arange(x.shape[axis]).reshape(len(owners), -1)
    return np.take(x, per_device[np.equal(owners, plait.process_index())].ravel(), axis)


def main(file: str, rows: str, *names: str) -> None:
    plait.distributed.initialize()
    kept: dict[str, Any] = {}
    for name in names:
        try:
            results = CASES[name](own_rows, int(rows))
        except Exception:
            kept[f"{name} error"] = np.array(traceback.format_exc())
            continue
        for k, (value, axis) in enumerate(results):
            assert value.is_fully_addressable
            kept[f"{name} {k} {axis}"] = as_numpy(value)
    np.savez(f"{file}.{plait.process_index()}.npz", **kept)


def as_numpy(value: Any) -> np.ndarray:
    """A value in a dtype that NumPy's files know."""
    value = np.asarray(value)
    return value.astype(np.float32) if value.dtype.type.__module__ != "numpy" else value


if __name__ == "__main__":
    main(*sys.argv[1:])
