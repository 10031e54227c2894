"""plait.scipy: SciPy's functions on plait's arrays, in the modules in which SciPy has them.

Names and signatures are those of JAX's `jax.scipy`. A module is loaded when it is first used.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from plait.scipy import (
        cluster,
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )

_MODULES = frozenset(
    (
        "cluster",
        "fft",
        "integrate",
        "interpolate",
        "linalg",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
        "spatial",
        "special",
        "stats",
    )
)


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _importlib.import_module(f"plait.scipy.{name}")
    raise AttributeError(f"module 'plait.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
