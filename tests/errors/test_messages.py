"""Every message as text: the table holds what plait says to each mistake, places masked."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

import pytest

from plait.config import override
from tests.errors import cases_collectives, cases_maps, cases_tracers
from tests.errors.common import CASES, described, raised, table

ROOT = pathlib.Path(__file__).parent.parent.parent
TABLE = table()
MAPS = [
    *cases_maps.CASES,
    *cases_collectives.CASES,
    *(n for n in cases_tracers.CASES if "pmap" in n),
]


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_that_of_the_table(name):
    error = raised(CASES[name])
    assert described(error) == TABLE[name]
    # A reader sees one error: what was tried before it is not shown as if it had failed too.
    assert error.__context__ is None or error.__suppress_context__ or error.__cause__


@pytest.mark.parametrize("name", MAPS)
def test_both_forms_say_the_same(name):
    with override(pmap_form="gang"):
        assert described(raised(CASES[name])) == TABLE[name]


def test_the_table_has_these_cases_only():
    assert list(TABLE) == list(CASES)


# What no message says: names of ours, of JAX's insides, and advice to use something else instead.
FORBIDDEN = (
    "of _fun",
    "flat_args",
    "pjit",
    "Tracer<",
    "JvpTracer",
    "BatchTracer",
    "jaxlib",
    "call_p",
)


@pytest.mark.parametrize("name", CASES)
def test_no_message_shows_what_is_inside(name):
    text = TABLE[name]
    assert not [word for word in FORBIDDEN if word in text]
    if "shard_map" not in name:
        assert "shard_map" not in text
    head = text.splitlines()[1]
    assert len(head) <= 140 and not head.endswith(".")


# --- is every `raise` met by a case?

COVERED = ["plait/transforms/*.py", "plait/ops/*.py"]
COVERED += ["plait/runtime/sharding.py", "plait/runtime/transfer.py", "plait/config.py"]
COVERED += ["plait/scipy/**/*.py", "plait/nn/*.py", "plait/image.py", "plait/numpy/*.py"]
COVERED += ["plait/random/*.py", "plait/lax/*.py", "plait/debug/*.py", "plait/interpreters/*.py"]
COVERED += ["plait/experimental/*.py", "plait/example_libraries/*.py", "plait/profiler.py"]
COVERED += ["plait/tree_util.py", "plait/dtypes.py", "plait/__init__.py", "plait/regions/*.py"]
COVERED += ["plait/core/*.py", "plait/hlo/*.py", "plait/testing/*.py", "plait/test_util.py"]
COVERED += ["plait/as_jax/**/*.py"]
COVERED += [
    f"plait/runtime/{name}.py"
    for name in (
        *("across", "array", "assemble", "client", "cluster", "coordinator", "host", "mesh"),
        *("partition", "plugins", "processes", "tiling"),
    )
]
# Sites that no case here can meet: text of the message or of the exception -> why.
ELSEWHERE = {
    "problem": "what XLA reported, as an error of ours",
    "error": "raised again with more said",
    "self.error": "an exception of the user's, in its lane",
    "SystemExit": "ends a lane's thread",
    "NotImplementedError": "an abstract method",
    "f'the array {name} of several processes is spread in another way than the rows'": (
        "several processes: tests/distributed"
    ),
    "'other processes have parts of the array that this one has not'": "several processes",
    "'an array without parts needs a dtype'": "a process without any of the devices",
    "f'the devices of {session.count} processes did not start: {translate_error(error)}'": (
        "several processes"
    ),
    "f\"the coordinator cannot listen on port {port}: {said or 'it did not start'}\"": (
        "several processes: tests/distributed/test_coordinator.py"
    ),
    "'an array of several processes cannot be brought to other devices, or another order of "
    "them'": "several processes",
    "f'of {count} processes {absent} not come'": "tests/distributed/test_coordinator.py",
    "'was called before: a process joins one computation, once'": "tests/distributed",
    "'the devices of this process have started already, without the others'": (
        "names the line that started them, which depends on the tests before"
    ),
    "f\"the coordinator refuses this process: {said['refused']}\"": (
        "tests/distributed/test_coordinator.py"
    ),
    '"what answers at the coordinator\'s address is no coordinator"': "several processes",
    'f"XLA\'s coordination service does not answer: {translate_error(error)}"': "several processes",
    "f'no coordinator answers: {error.strerror or error}'": "tests/distributed/test_coordinator.py",
    "np.linalg.LinAlgError": "a singular matrix, met by of_each_matrix: the result is NaN",
    "'combine'": "an abstract method",
    "'write'": "an abstract method",
    "'over'": "a rule that a new collective forgot",
    "'lanes'": "a rule that a new collective forgot",
    "'means nothing without the axes it communicates over'": "an op bound by hand",
    "'means nothing without its axis'": "an op bound by hand",
    "'takes floats'": "an op bound by hand: the functions convert before",
    "'only numbers can be summed'": "an op bound by hand: the functions ask before",
    "'takes numbers or booleans'": "an op bound by hand: the functions ask before",
    "f'no devices are spread over the axis {name!r} here'": "an op bound by hand",
    "f'{what} must have a place for each of the {n} positions of {axis_name[0]!r}'": "likewise",
    "text": "an environment variable, read when plait is imported: tests/runtime",
    "f'the environment variable PLAIT_{name.upper()} has a value that cannot be read'": "likewise",
    "f'the device belongs to process {device.process_index}'": "several processes",
    "'the processes do not give the same array'": "several processes: tests/distributed",
    "'none of the devices belongs to this process'": "several processes",
    "'the devices of a process do not stand together'": "several processes",
    "f'{own} rows do not spread evenly over the {len(self.own)} devices of this "
    "process'": "several processes",
    "f'the axis has the rows of all {len(self.runs)} processes: {every} do not spread evenly over "
    "them'": "several processes",
    "'an array that the processes have together cannot be stacked'": "several processes",
    "f'{fail_message}: {name} differs between process 0 and process {index}\\nprocess 0 has\\n"
    "{every[0][k]}\\nprocess {index} has\\n{values[k]}'": "several processes",
}


def unquoted(words: str) -> str:
    """Source without its quotes, which versions of Python unparse in different ways."""
    return re.sub(r"[\\'\"]", "", words)


def sites() -> dict[tuple[str, int], str]:
    """Where the covered modules raise: (file, line) -> the summary, or the exception."""
    found = {}
    for pattern in COVERED:
        for path in sorted(ROOT.glob(pattern)):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Raise) and node.exc is not None:
                    exc = node.exc
                    words = exc.args[0] if isinstance(exc, ast.Call) and exc.args else exc
                    found[str(path.relative_to(ROOT)), node.lineno] = ast.unparse(words)
    return found


def met(error: BaseException | None) -> Any:
    """The lines of plait that raised an error and its causes."""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file.startswith(str(ROOT)):
                yield file[len(str(ROOT)) + 1 :], trace.tb_lineno
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def test_every_raise_is_in_the_table():
    seen = set()
    with override(traceback_filtering="off"):
        for call in CASES.values():
            seen.update(met(raised(call)))
    elsewhere = set(map(unquoted, ELSEWHERE))
    missing = {
        f"{file}:{line}: {words}"
        for (file, line), words in sites().items()
        if (file, line) not in seen and unquoted(words) not in elsewhere
    }
    assert not missing, "\n".join(sorted(missing))
