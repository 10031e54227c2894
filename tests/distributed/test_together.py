"""Arrays, maps and messages of two processes; what is asserted stands in scenarios.py."""

from __future__ import annotations

import json

import pytest

from tests.distributed.common import run
from tests.distributed.scenarios import SCENARIOS


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """What went wrong in each process, by scenario."""
    file = tmp_path_factory.mktemp("together") / "wrong"
    run(["-m", "tests.distributed.scenarios", str(file)], 2, 2)
    return [json.loads(file.with_name(f"wrong.{k}.json").read_text()) for k in range(2)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_in_both_processes(wrong, name):
    for k, found in enumerate(wrong):
        assert name not in found, f"process {k}: {found[name]}"
