"""plait and JAX side by side: the same programs, run in turn on the same machine.

`python -m benchmarks` prints the table; docs/performance.md says how to read it.
"""
