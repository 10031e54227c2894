"""Every name of JAX's API that several libraries use can be had under `import jax`.

census.txt lists what at least three of the libraries that were surveyed use: a name that vanishes
breaks programs of others.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
CENSUS = ROOT / "tests" / "census.txt"
# Names that plait does not have, each with the reason.
EXCLUDED: dict[str, str] = {}

PROGRAM = """
import importlib, sys
import plait.as_jax
plait.as_jax.install()

def found(name):
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False

print(*[name for name in sys.stdin.read().split() if not found(name)], sep="\\n")
"""


def missing(names: list[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=" ".join(names),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_names_of_the_census_exist():
    names = [n for n in CENSUS.read_text(encoding="utf-8").split("\n") if n and n[0] != "#"]
    assert len(names) > 300
    gone = missing([*names, "jax.no_such_name", "jax.numpy.no_such_name"])
    # The last two show that the program would notice.
    assert gone == [*EXCLUDED, "jax.no_such_name", "jax.numpy.no_such_name"]
