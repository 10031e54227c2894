"""pmap over several processes gives what it gives in one."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.distributed.cases import CASES
from tests.distributed.common import run
from tests.distributed.worker import as_numpy

# Processes, devices of each, form.
TEAMS = [(2, 2, "auto"), (2, 2, "gang"), (4, 1, "auto")]
SIZES = (4, 8)


@pytest.fixture(scope="module", params=TEAMS, ids="{0[0]}x{0[1]}-{0[2]}".format)
def found(request, tmp_path_factory):
    """What each process of a team computed."""
    processes, devices, form = request.param
    file = tmp_path_factory.mktemp("distributed") / "found"
    arguments = ["-m", "tests.distributed.worker", str(file), *map(str, SIZES)]
    run(arguments, processes, devices, PLAIT_PMAP_FORM=form)
    return [dict(np.load(f"{file}.{k}.npz")) for k in range(processes)]


@functools.cache
def expected(name: str, size: int) -> list:
    """What one process computes."""
    return [(as_numpy(y), axis) for y, axis in CASES[name](lambda x, axis=0: x, size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_as_in_one_process(found, name, size):
    for part in found:
        assert f"{name} {size} error" not in part, str(part[f"{name} {size} error"])
    for k, (value, axis) in enumerate(expected(name, size)):
        parts = [part[f"{name} {size} {k} {axis}"] for part in found]
        for part in [np.concatenate(parts, axis)] if axis is not None else parts:
            assert part.dtype == value.dtype
            np.testing.assert_allclose(part, value, rtol=2e-5, atol=1e-5, err_msg=f"result {k}")
