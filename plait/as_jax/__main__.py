"""python -m plait.as_jax PROGRAM [ARGUMENTS]: run a program for JAX on plait."""

from __future__ import annotations

import os
import runpy
import sys

from plait.as_jax import install

USAGE = """usage: python -m plait.as_jax program.py [arguments]
       python -m plait.as_jax -m module [arguments]
"""


def main() -> None:
    """Install, and run the program as Python would have run it: as __main__, with its arguments."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        sys.exit(0 if arguments else 2)
    by_name = arguments[0] == "-m"
    if by_name and len(arguments) == 1:
        print(USAGE, end="", file=sys.stderr)
        sys.exit(2)
    install()
    sys.argv = arguments[1:] if by_name else arguments
    # As `python program.py` and `python -m module` do it; here it is the folder of `python -m`.
    sys.path[0] = os.getcwd() if by_name else os.path.dirname(os.path.abspath(arguments[0]))
    if by_name:
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
