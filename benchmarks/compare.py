"""Run one workload on both libraries in turn, and put the figures side by side."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

LIBRARIES = ("plait", "jax")
DEVICES = 2
NOISE = 0.03  # JAX against itself comes out between 0.97 and 1.03; a budget is judged within that

# Each library sees this many CPU devices, and neither finds compiled programs of an earlier run.
# Both may keep Python's byte code: an installed package has it, a checkout gets it when imported.
SETTINGS = {
    "plait": {"PLAIT_NUM_CPU_DEVICES": str(DEVICES), "PLAIT_PLATFORMS": "cpu"},
    "jax": {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}",
        "JAX_PLATFORMS": "cpu",
    },
}
UNSET = [
    "XLA_FLAGS",
    "PLAIT_COMPILATION_CACHE_DIR",
    "JAX_COMPILATION_CACHE_DIR",
    "PYTHONDONTWRITEBYTECODE",
]


def environment(library):
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "2", **SETTINGS[library]}


class WorkerError(Exception):
    """A worker could not prepare or measure; the text goes into the table."""


class Worker:
    """A process that holds one prepared workload and measures when asked."""

    def __init__(self, library, name):
        command = [sys.executable, "-m", "benchmarks.worker", library, name]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(library),
            text=True,
        )

    def prepared(self):
        self._answer()
        return self

    def measure(self):
        try:
            print("measure", file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # it has ended; what it said last, or its exit code, comes below
        return self._answer()["figure"]

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            if code == -signal.SIGALRM:
                raise WorkerError("took too long")
            raise WorkerError(f"process ended with code {code}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def close(self):
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        self.process.wait()


@dataclass
class Comparison:
    """What came out: figures by library, taken in pairs, or an error."""

    workload: object
    figures: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def figure(self, library):
        figures = self.figures.get(library)
        return median(figures) if figures and library not in self.errors else None

    @property
    def ratio(self):
        """The median of plait's figure over JAX's, each pair taken one right after the other."""
        if self.errors or not all(self.figures.get(library) for library in LIBRARIES):
            return None
        return median(a / b for a, b in zip(self.figures["plait"], self.figures["jax"]))

    @property
    def met(self):
        budget = self.workload.budget
        if budget is None or self.ratio is None:
            return None
        return self.ratio <= float(Fraction(budget)) * (1 + NOISE)


def compare(workload, libraries=LIBRARIES, *, rounds=5):
    """Measure plait, JAX, plait, JAX, ...; one that fails is left out from there on."""
    result = Comparison(workload, {library: [] for library in libraries})
    workers = {}
    try:
        for library in libraries:
            workers[library] = Worker(library, workload.name)
            try:
                workers[library].prepared()
            except WorkerError as error:
                result.errors[library] = str(error)
        for _ in range(rounds):
            for library in libraries:
                if library in result.errors:
                    continue
                try:
                    result.figures[library].append(workers[library].measure())
                except WorkerError as error:
                    result.errors[library] = str(error)
    finally:
        for worker in workers.values():
            worker.close()
    return result
