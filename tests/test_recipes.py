"""Every program of docs/recipes.md, run as it stands, prints what is shown below it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.test_documents import ROOT, blocks

FOUND = blocks("docs/recipes.md")
PROGRAMS = [text for language, text in FOUND if language == "python"]
# All in one process: what takes longest is to start one.
RUN = """
import contextlib, io, json, sys

printed = []
for program in json.load(sys.stdin):
    into = io.StringIO()
    with contextlib.redirect_stdout(into):
        exec(compile(program, "train.py", "exec"), {"__name__": "__main__"})
    printed.append(into.getvalue())
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    env = dict(os.environ, PLAIT_NUM_CPU_DEVICES="2", PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(PROGRAMS),
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("k", range(len(PROGRAMS)))
def test_a_program_prints_what_is_shown(k, printed):
    shown = FOUND[FOUND.index(("python", PROGRAMS[k])) + 1]
    assert (shown[0], shown[1].splitlines()) == ("", printed[k].rstrip().splitlines())


def test_programs_are_short():
    assert len(PROGRAMS) >= 16
    assert all(program.count("\n") <= 25 for program in PROGRAMS)
