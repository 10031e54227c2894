"""Both forms of a program over several devices, for every test that asks for `form`."""

from __future__ import annotations

import pytest

from plait.config import override


@pytest.fixture(params=["fused", "gang"])
def form(request):
    """The form of the maps in the test."""
    with override(pmap_form=request.param):
        yield request.param
