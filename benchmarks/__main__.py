"""The command: `python -m benchmarks [--quick] [names...]`."""

import argparse
import importlib.util
import signal
import sys
from time import perf_counter

from rich.console import Console
from rich.live import Live

from benchmarks.compare import LIBRARIES, compare
from benchmarks.registry import GROUPS, load_all
from benchmarks.report import machine, terminal_table, write_markdown


def parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Run the same programs on plait and JAX, in turn."
    )
    parser.add_argument("names", nargs="*", help="groups, or parts of the names of workloads")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, only short workloads")
    parser.add_argument("--rounds", type=int, help="measurements of each (default 5; quick: 2)")
    parser.add_argument("--markdown", metavar="FILE", help="write the table into this file")
    parser.add_argument("--list", action="store_true", help="show the workloads and run none")
    return parser.parse_args()


def chosen(workloads, options):
    def wanted(workload):
        if not options.names:
            return workload.quick or not options.quick
        return any(
            name == workload.group if name in GROUPS else name in workload.name
            for name in options.names
        )

    return [workload for workload in workloads.values() if wanted(workload)]


def main():
    options = parse()
    console = Console(highlight=False)
    workloads = chosen(load_all(), options)
    if options.list or not workloads:
        for workload in workloads:
            console.print(f"{workload.group:10} {workload.name}")
        if not workloads:
            console.print("no workload has such a name; --list shows them")
        return

    libraries = [name for name in LIBRARIES if importlib.util.find_spec(name)]
    if missing := set(LIBRARIES) - set(libraries):
        console.print(
            f"not installed, left out: {', '.join(missing)} (pip install 'plait\\[bench]')"
        )

    console.print(machine())
    rounds = options.rounds or (2 if options.quick else 5)
    start = perf_counter()
    comparisons = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    # The table grows on a terminal; elsewhere it is printed once, and also when stopped half way.
    with Live(console=console) as live:
        for number, workload in enumerate(workloads, 1):
            caption = f"{number}/{len(workloads)}  {workload.name}"
            live.update(terminal_table(comparisons, caption))
            comparisons.append(compare(workload, libraries, rounds=rounds))
            live.update(terminal_table(comparisons))
            if options.markdown:
                write_markdown(options.markdown, comparisons)

    console.print()
    judged = [comparison.met for comparison in comparisons if comparison.met is not None]
    console.print(
        f"{sum(judged)} of {len(judged)} budgets met; {len(comparisons)} workloads,"
        f" {rounds} rounds, {perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
