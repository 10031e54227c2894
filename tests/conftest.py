"""Before plait is imported: eight CPU devices, unless the environment says otherwise."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("PLAIT_NUM_CPU_DEVICES", "8")


@pytest.fixture
def x64():
    """64-bit dtypes during the test."""
    import plait

    with plait.enable_x64():
        yield


@pytest.fixture
def checked():
    """Every Program made during the test is type-checked."""
    from plait.config import override

    with override(check_programs=True):
        yield
