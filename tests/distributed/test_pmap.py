"""pmap over several processes gives what it gives in one."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest

from tests.distributed.cases import CASES
from tests.distributed.common import run
from tests.distributed.worker import as_numpy


class Team(NamedTuple):
    """Processes, devices of each, the form of maps, the number of rows, and what they compute."""

    processes: int
    devices: int | tuple[int, ...]
    form: str
    rows: int
    cases: tuple[str, ...]


# One device of each process computes for all of its rows; or each device for its own, in lanes.
ONE = Team(2, 2, "auto", 4, tuple(CASES))
LANES = Team(
    2, 2, "gang", 8, ("exchanges", "axes", "whole_arguments_and_results", "derivatives_outside")
)
MANY = Team(4, 1, "auto", 4, ("exchanges", "groups", "whole_arguments_and_results"))
UNEVEN = Team(2, (1, 3), "auto", 8, (*LANES.cases, "groups", "reductions"))
TEAMS = {"one": ONE, "lanes": LANES, "many": MANY, "uneven": UNEVEN}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each process of a team computed, by the team's name."""

    @functools.cache
    def compute(name: str) -> list[dict[str, np.ndarray]]:
        team = TEAMS[name]
        file = tmp_path_factory.mktemp("pmap") / name
        arguments = ["-m", "tests.distributed.worker", str(file), str(team.rows), *team.cases]
        run(arguments, team.processes, team.devices, PLAIT_PMAP_FORM=team.form)
        return [dict(np.load(f"{file}.{k}.npz")) for k in range(team.processes)]

    return compute


@pytest.mark.parametrize(
    ("team", "name"), [(team, name) for team in TEAMS for name in TEAMS[team].cases]
)
def test_as_in_one_process(found, team, name):
    parts = found(team)
    for part in parts:
        assert f"{name} error" not in part, str(part[f"{name} error"])
    alone = CASES[name](lambda x, axis=0: x, TEAMS[team].rows)
    for k, (wanted, axis) in enumerate(alone):
        value = as_numpy(wanted)
        pieces = [part[f"{name} {k} {axis}"] for part in parts]
        for piece in [np.concatenate(pieces, axis)] if axis is not None else pieces:
            assert piece.dtype == value.dtype
            np.testing.assert_allclose(piece, value, rtol=2e-5, atol=1e-5, err_msg=f"result {k}")
