"""The same program gives the same results on any number of devices, in both forms."""

from __future__ import annotations

import pytest

from tests.spmd.common import output


@pytest.mark.parametrize("form", ["fused", "gang"])
@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_every_collective_on_axes_of_every_size(devices, form):
    args = ["-m", "tests.spmd.lanes_worker", str(devices), form]
    quickly = {"PLAIT_DISABLE_MOST_OPTIMIZATIONS": "1"}
    text = output(args, devices=devices, form=form, limit=400, **quickly)
    assert "results are right" in text
