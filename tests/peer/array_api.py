"""Runs the array API's public test suite against plait.numpy; docs/array_api.md has its results.

    python -m tests.peer.array_api CHECKOUT [OPTIONS OF PYTEST]

CHECKOUT is a folder with github.com/data-apis/array-api-tests and its submodule; its requirements
must be installed, and pytest-xdist. Exit status 0 if no test fails but those of the document.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "array_api.md"
ENVIRONMENT = {
    "ARRAY_API_TESTS_MODULE": "plait.numpy",
    "ARRAY_API_TESTS_VERSION": "2024.12",
    "PLAIT_ENABLE_X64": "1",
    "PLAIT_NUM_CPU_DEVICES": "1",
}
# Compiling makes the first example of a test slow, so the suite's deadline measures nothing.
OPTIONS = ["-n", "1", "--max-examples", "5", "--disable-deadline", "-q", "-p", "no:cacheprovider"]


def explained(test: str) -> bool:
    """Whether the document names a test, of which it leaves the cases out."""
    return f"`{test.partition('[')[0]}" in DOCUMENT.read_text(encoding="utf-8")


def main(checkout: str, *options: str) -> int:
    command = [sys.executable, "-m", "pytest", "array_api_tests", *OPTIONS, *options]
    done = subprocess.run(
        command, cwd=checkout, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout)
    failed = re.findall(r"^FAILED \S+::(\w+(?:\[.*\])?)", done.stdout, re.M)
    unknown = [test for test in failed if not explained(test)]
    print(f"{len(failed)} failed, of which the document does not name: {unknown or 'none'}")
    # Status 1 says that tests failed; others, that they did not run.
    return done.returncode if done.returncode > 1 else bool(unknown)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
