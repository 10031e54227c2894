"""Drawn calls of every function against SciPy, or a formula in NumPy."""

from __future__ import annotations

import importlib
import inspect
import types
import warnings

import pytest

from tests.drawn import lax, linalg, nn, signals, spatial, special, stats
from tests.drawn.common import RECIPES, check, found
from tests.test_exports import PUBLIC

MODULES = (lax, linalg, nn, signals, spatial, special, stats)
DRAWS = 24

# Public functions with a namesake in SciPy that no recipe draws.
EXCEPTIONS = {
    "scipy.spatial.transform.Rotation": "a class: its methods are drawn",
    "scipy.spatial.transform.Rotation.random": "random numbers: tests/scipy/test_spatial.py",
    "scipy.stats.gaussian_kde": "a class: its methods are drawn",
    "scipy.stats.gaussian_kde.resample": "random numbers: tests/test_scipy_stats.py",
    "scipy.stats.gaussian_kde.integrate_box": "raises: tests/errors",
    "scipy.stats.gaussian_kde.set_bandwidth": "raises: tests/errors",
    "scipy.optimize.OptimizeResults": "what minimize returns",
    "scipy.special.bessel_jn": "a name of JAX's: tests/test_scipy_special.py",
}


@pytest.mark.parametrize("name", RECIPES)
def test_drawn_calls(name):
    for seed in range(DRAWS):
        check(name, seed)


def public() -> set[str]:
    """The functions of plait.scipy and the methods of its classes, by their paths below plait."""
    names = set()
    for module in [m for m in PUBLIC if m.startswith("plait.scipy.")]:
        names |= members(importlib.import_module(module), module.removeprefix("plait."))
    return names


def members(owner: types.ModuleType, path: str) -> set[str]:
    names = set()
    for name in getattr(owner, "__all__", None) or vars(owner):
        value = getattr(owner, name)
        if name.startswith("_"):
            continue
        if isinstance(value, types.ModuleType):
            # A distribution; or a module that holds what the package shows itself.
            if hasattr(value, "__all__") and not hasattr(owner, value.__all__[0]):
                names |= members(value, f"{path}.{name}")
        elif inspect.isclass(value):
            names.add(f"{path}.{name}")
            methods = [n for n, f in inspect.getmembers(value, inspect.isroutine) if n[0] != "_"]
            names |= {f"{path}.{name}.{n}" for n in methods}
        elif callable(value):
            names.add(f"{path}.{name}")
    return names


def has_namesake(path: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found("scipy", path.removeprefix("scipy."))
        except (AttributeError, ImportError):
            return False
    return True


def test_every_function_is_drawn():
    names = public()
    assert len(names) > 200
    missing = {n for n in names - RECIPES.keys() - EXCEPTIONS.keys() if has_namesake(n)}
    assert not missing, sorted(missing)


def test_the_exceptions_are_public_functions():
    assert public() >= EXCEPTIONS.keys()
    assert not EXCEPTIONS.keys() & RECIPES.keys()
