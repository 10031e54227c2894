"""Before plait is imported: eight CPU devices, and nothing that the environment says otherwise."""

from __future__ import annotations

import os
import pathlib

import pytest

# The tests are about switches as they are by default; PLAIT_CHECK_PROGRAMS only adds checks,
# PLAIT_PEER_PYTHON names a Python that has JAX.
_KEPT = ("PLAIT_CHECK_PROGRAMS", "PLAIT_PEER_PYTHON")
for _name in [n for n in os.environ if n.startswith("PLAIT_") and n not in _KEPT]:
    del os.environ[_name]
os.environ["PLAIT_NUM_CPU_DEVICES"] = "8"


# What is compared here is what programs mean, on few numbers, and compiling takes most of the time.
# Accuracy (ops), the runtime, the examples and processes of their own run as a user's programs do.
HERE = pathlib.Path(__file__).parent
QUICKLY_COMPILED = (
    *("errors", "interpreters", "laws", "numpy", "regions", "scipy", "transforms"),
    *("test_nn.py", "test_scipy_linalg.py", "test_scipy_special.py", "test_scipy_stats.py"),
)


@pytest.fixture(autouse=True)
def _quickly_compiled(request):
    from plait.config import override

    quick = request.path.relative_to(HERE).parts[0] in QUICKLY_COMPILED
    with override(**({"disable_most_optimizations": True} if quick else {})):
        yield


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
