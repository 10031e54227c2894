"""The examples in docstrings print what they show; every public function and class has one.

`python -m tests.test_docstrings [PACKAGE ...]` reports without pytest.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import os
import pathlib
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tests.test_exports import PUBLIC, exported

ROOT = pathlib.Path(__file__).parent.parent
# Public functions and classes without an example, each with the reason.
EXCEPTIONS = {
    "plait.distributed.initialize": "joins other processes, before anything uses a device",
    "plait.distributed.shutdown": "leaves other processes",
    "plait.errors.CompileError": "XLA refuses no program that plait is known to make",
    "plait.errors.JAXIndexError": "a base of errors that have an example",
    "plait.errors.JAXTypeError": "a base of errors that have an example",
    "plait.errors.JaxRuntimeError": "a base of errors that have an example",
    "plait.errors.OutOfMemory": "fills a device",
    "plait.errors.PeerLost": "needs a process that dies",
    "plait.errors.PlaitRuntimeError": "a base of errors that have an example",
    "plait.errors.ProcessMismatch": "needs several processes",
}
# Modules whose examples would disturb the process of the others, each with its reason.
NOT_RUN = {"plait/as_jax/__init__.py": "import jax finds plait from then on"}
ELSEWHERE = "the rest of plait"
# What runs in one process: two take half the time on two cores.
SCIPY = tuple(package for package in PUBLIC if package.startswith("plait.scipy"))
GROUPS = {"scipy": SCIPY, "others": (*(p for p in PUBLIC if p not in SCIPY), ELSEWHERE)}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public(package: str) -> Iterator[tuple[str, Any]]:
    """(full name, object) of what plait itself puts into a public package."""
    module = importlib.import_module(package)
    for name in exported(module):
        thing = getattr(module, name.removeprefix(f"{package}."))
        if getattr(thing, "__module__", "").startswith("plait"):
            yield name, thing


def docstrings(package: str) -> Iterator[tuple[str, str]]:
    """(full name, text) of the docstrings of a package, of its objects and of their methods."""
    yield package, importlib.import_module(package).__doc__ or ""
    for name, thing in public(package):
        yield name, thing.__doc__ or ""
        for method, value in vars(thing).items() if isinstance(thing, type) else ():
            if isinstance(text := getattr(value, "__doc__", None), str):
                yield f"{name}.{method}", text


def elsewhere() -> Iterator[tuple[str, str]]:
    """(place, text) of docstrings of functions, classes and modules that are not public."""
    public_texts = {inspect.cleandoc(text) for package in PUBLIC for _, text in docstrings(package)}
    for path in sorted((ROOT / "plait").rglob("*.py")):
        place = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and place not in NOT_RUN
            ):
                text = ast.get_docstring(node) or ""
                if text not in public_texts:
                    yield f"{place}: {getattr(node, 'name', '')}", text


def reports(packages: Sequence[str] = (*PUBLIC, ELSEWHERE)) -> dict[str, str]:
    """Where examples print something else than they say, by package; equal texts run once."""
    import plait

    names = {"plait": plait, "jnp": plait.numpy, "lax": plait.lax, "np": np}
    parser = doctest.DocTestParser()
    told, done = {}, set()
    for package in packages:
        runner, lines = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS), []
        for name, text in elsewhere() if package == ELSEWHERE else docstrings(package):
            text = inspect.cleandoc(text)
            if ">>>" in text and text not in done:
                done.add(text)
                runner.run(
                    parser.get_doctest(text, dict(names), name, None, None), out=lines.append
                )
        told[package] = "".join(lines)
    return told


def needs_example(thing: Any) -> bool:
    """Whether a thing is a function or class of plait's.

    Not so the classes of others (NumPy's abstract dtypes, jaxlib's keys of trees), what stands for
    a dtype, and aliases of types.
    """
    if isinstance(thing, type):
        ours = thing.__module__.startswith("plait")
        return ours and not isinstance(getattr(thing, "dtype", None), np.dtype)
    return callable(thing) and not isinstance(thing, types.GenericAlias)


def without_example(package: str) -> list[str]:
    """The public functions and classes of a package that have none."""
    module = importlib.import_module(package)
    things = {name: getattr(module, name.removeprefix(f"{package}.")) for name in exported(module)}
    return [
        name
        for name, thing in things.items()
        if needs_example(thing) and ">>>" not in (thing.__doc__ or "")
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_examples_print_what_they_show(group):
    """In a process of their own, with two devices."""
    program = "import json, tests.test_docstrings as t; print(json.dumps(t.reports(t.GROUPS[%r])))"
    quickly = {"PLAIT_DISABLE_MOST_OPTIMIZATIONS": "1"}
    env = {**os.environ, **quickly, "PLAIT_NUM_CPU_DEVICES": "2", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program % group], capture_output=True, text=True, env=env, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert tuple(told) == GROUPS[group]
    assert not any(told.values()), "\n".join(told.values())


def test_every_public_function_and_class_has_an_example():
    missing = [name for package in PUBLIC for name in without_example(package)]
    assert sorted(missing) == sorted(EXCEPTIONS)


def test_the_methods_that_numpy_has_too_have_examples():
    import plait
    import plait.numpy as jnp

    missing = [
        name
        for numpys, ours in ((np.ndarray, plait.Array), (np.ufunc, jnp.add), (np.ufunc, jnp.ufunc))
        for name, method in vars(numpys).items()
        if name[0] != "_" and callable(method) and hasattr(ours, name)
        if ">>>" not in (getattr(ours, name).__doc__ or "")
    ]
    assert missing == []


if __name__ == "__main__":
    for package, text in reports(sys.argv[1:] or (*PUBLIC, ELSEWHERE)).items():
        missing = [] if package == ELSEWHERE else without_example(package)
        print(text, f"{package}: {len(missing)} without example", *missing, sep="\n  ")
