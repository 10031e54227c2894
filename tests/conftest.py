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


# What most tests compare is what programs mean, on few numbers, and compiling takes most of the
# time: they are compiled quickly. How exact a function is, the runtime, and whatever runs in a
# process of its own are tested with the programs that users get.
HERE = pathlib.Path(__file__).parent
COMPILED_WELL = (
    *("runtime", "test_random.py", "test_tiny.py", "test_public.py", "core/test_config.py"),
    *(f"ops/test_{name}.py" for name in ("complex_edges", "dot", "functions", "special")),
)


@pytest.fixture(autouse=True)
def _quickly_compiled(request):
    from plait.config import override

    path = request.path.relative_to(HERE).as_posix()
    with override(disable_most_optimizations=not path.startswith(COMPILED_WELL)):
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
