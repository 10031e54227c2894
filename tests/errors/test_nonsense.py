"""Whatever stands where an argument should: what is raised is plait's own, and names the function.

Every public function of arrays is called with vectors, and with an object that is nothing in place
of one argument after the other. It is traced, not compiled.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import plait as jax
from plait.errors import PlaitError
from tests.test_exports import exported

PACKAGES = ("plait.numpy", "plait.numpy.fft", "plait.numpy.linalg", "plait.lax", "plait.lax.linalg")
PACKAGES += ("plait.nn", "plait.random", "plait.image", "plait.ops", "plait.scipy.fft")
PACKAGES += ("plait.scipy.linalg", "plait.scipy.ndimage", "plait.scipy.signal", "plait.scipy.stats")
PACKAGES += ("plait.scipy.special", "plait.scipy.sparse.linalg", "plait.scipy.cluster.vq")
V, KEY = np.ones(4, np.float32), jax.random.key(0)


class Nothing:
    """No array, no number, no function, no sequence."""

    def __repr__(self) -> str:
        return "nothing"


# NumPy's own functions, and those that ask only for an object's attributes or text.
NOT_OURS = {"set_printoptions", "get_printoptions", "printoptions"}


def functions(package: str) -> Iterator[tuple[str, Any]]:
    """(name, function) of the functions that plait itself puts into a package."""
    module = importlib.import_module(package)
    for path in exported(module):
        name = path.removeprefix(f"{package}.")
        thing = getattr(module, name, None)
        if inspect.isfunction(thing) and name not in NOT_OURS:
            yield name, thing


def calls(function: Any) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """(parameter, arguments, keyword arguments): with nothing in place of that parameter."""
    parameters = list(inspect.signature(function).parameters.values())
    asked = [p for p in parameters if p.default is p.empty and p.kind in (0, 1, 3)]
    needed = [p for p in asked if p.kind != 3]
    good = [KEY if p.name == "key" else V for p in needed]
    named = {p.name: V for p in asked if p.kind == 3}
    for k, p in enumerate(needed):
        yield p.name, [*good[:k], Nothing(), *good[k + 1 :]], named
    for p in parameters:
        if p not in needed and p.kind in (1, 3):
            yield p.name, good, {**named, p.name: Nothing()}


@pytest.mark.filterwarnings("ignore:.*segments of 256 points")
@pytest.mark.parametrize("package", PACKAGES)
def test_nonsense_is_refused_in_words_of_ours(package):
    wrong = []
    for name, function in functions(package):
        for parameter, args, kwargs in calls(function):
            try:
                jax.eval_shape(lambda f=function, a=args, k=kwargs: (f(*a, **k), V)[1])
            except PlaitError as error:
                if error.op is None:
                    wrong.append(f"{name}({parameter}): no name: {error.summary}")
            except Exception as error:
                wrong.append(f"{name}({parameter}): {type(error).__name__} {error}")
    assert not wrong, "\n".join(wrong)
