"""One library, one workload, one process: `python -m benchmarks.worker plait NAME`.

Prepares the workload, then takes one measurement for every line on standard input. Answers are JSON
lines: {"ready": true}, {"figure": ...} or {"error": "..."}.
"""

import importlib
import json
import os
import signal
import sys

from benchmarks.registry import load_all

PATIENCE = 300  # seconds for one step; SIGALRM then ends the process, wherever it hangs


def main():
    library_name, name = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")  # standard output may be written to by a library
    os.dup2(2, 1)

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    try:
        signal.alarm(PATIENCE)
        prepare = load_all()[name].prepare
        measure = prepare(importlib.import_module(library_name))
        signal.alarm(0)
        answer(ready=True)
        for _ in sys.stdin:
            signal.alarm(PATIENCE)
            figure = measure()
            signal.alarm(0)
            answer(figure=figure)
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        answer(error=f"{type(error).__name__}: {first_line}")
        if os.environ.get("BENCHMARKS_TRACEBACK"):
            raise


if __name__ == "__main__":
    main()
