"""How a workload measures: two ways, for what is short and for what is long.

Both start with a warm-up, so that compilation and first-touch costs stay out.
"""

import gc
from statistics import median
from time import perf_counter


def best_per_call(call, finish=None, *, seconds=0.3):
    """A measurement of something short: the least mean time of a call over many short runs.

    Calls follow each other without waiting, as in a program's loop; finish(result) waits at the end
    of a run for what is still under way. Noise only ever adds to such times, hence the least.
    """
    finish = finish or (lambda result: None)

    def run(calls):
        start = perf_counter()
        for _ in range(calls):
            result = call()
        finish(result)
        return (perf_counter() - start) / calls

    for _ in range(3):
        estimate = run(1)
    calls = max(1, min(1000, int(0.01 / estimate)))  # a run of about 10 ms

    def measure():
        gc.collect()
        end = perf_counter() + seconds
        best = run(calls)
        while perf_counter() < end:
            best = min(best, run(calls))
        return best

    return measure


def median_of_runs(call, *, seconds=0.5, least=3):
    """A measurement of something long: the median over single finished calls.

    Long programs meet the machine's real conditions (memory, caches, both cores busy); the best
    case says less about them than the middle one.
    """
    call()
    call()

    def measure():
        gc.collect()
        times = []
        end = perf_counter() + seconds
        while len(times) < least or perf_counter() < end:
            start = perf_counter()
            call()
            times.append(perf_counter() - start)
        return median(times)

    return measure
