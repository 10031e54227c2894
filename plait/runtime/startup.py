"""What must be settled before XLA is loaded or its first client exists: logs, flags, malloc.

XLA reads its log level when the shared library is loaded, its flags when the first client is made,
and starts the threads whose malloc arenas matter with that client. All of it is process-wide and
shared with whoever else uses XLA here, so this module only adds, and never replaces.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from pathlib import Path

from plait.errors import BackendError

# 0 info, 1 warnings, 2 errors, 3 fatal only. XLA logs an E line for every program that fails, and
# plait raises an exception with the same text; the F line of an abort is always printed.
_LOG_LEVEL = "3"

# With the launch gate nothing can wait for ever, so the time-out only ever hits programs whose
# devices are unequally loaded, and it aborts the process: make it long.
_ADDED_FLAGS = {"xla_cpu_collective_call_terminate_timeout_seconds": "86400"}

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_malloc_tuned = False


def set_log_level() -> None:
    """Quieten XLA's log unless the user chose a level. Call before jaxlib is imported."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", _LOG_LEVEL)


def _user_flags() -> str:
    text = os.environ.get("XLA_FLAGS", "").strip()
    if text and not text.startswith("-"):  # XLA then takes it for the name of a file of flags
        path = Path(text)
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    return text


def xla_flags() -> dict[str, str]:
    """XLA_FLAGS as the user set it: flag name without dashes to value ('true' if it has none)."""
    flags = {}
    for token in _user_flags().split():
        name, has_value, value = token.strip("'\"").lstrip("-").partition("=")
        if name:
            flags[name] = value if has_value else "true"
    return flags


def prepare_xla_flags(library: Path) -> None:
    """Refuse flags this XLA does not know, and add plait's own. Call before the first client.

    XLA aborts the process on an unknown flag. A flag's name stands in the library as a string, so
    a name that is nowhere in it cannot be a flag: 20 ms a flag, only for those who set XLA_FLAGS.

    Raises: BackendError naming the unknown flags.
    """
    given = xla_flags()
    if given and library.is_file():
        import mmap  # here: few users set flags

        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as m:
            unknown = [f for f in given if f not in _ADDED_FLAGS and m.find(f.encode() + b"\0") < 0]
        if unknown:
            raise BackendError(
                f"XLA_FLAGS names {'a flag' if len(unknown) == 1 else 'flags'} that this version"
                f" of XLA does not have: {', '.join('--' + f for f in unknown)}",
                fix="correct or unset the environment variable XLA_FLAGS",
            )
    text = os.environ.get("XLA_FLAGS", "").strip()
    if text and not text.startswith("-"):
        return  # a file of the user's: not ours to change
    added = [f"--{name}={value}" for name, value in _ADDED_FLAGS.items() if name not in given]
    if added:
        os.environ["XLA_FLAGS"] = " ".join([text, *added]).strip()


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux") or platform.libc_ver()[0] != "glibc":
        return None
    return ctypes.CDLL(None)


def tune_malloc() -> bool:
    """Let glibc keep large freed blocks instead of returning them to the system at once.

    By default every result of 32 MB and more is mapped and faulted in anew on each call, which
    costs memory-bound programs a factor of 4 to 7. One arena only: blocks in other arenas, which
    XLA's threads would use, end at 64 MB. The price is that freed memory stays with the process
    until `trim_malloc`. Call before the first client. Returns whether anything was changed.
    """
    global _malloc_tuned
    libc = _glibc()
    if libc is None:
        return False
    largest = 2**31 - 1
    settings = (
        (_M_MMAP_THRESHOLD, largest),
        (_M_TRIM_THRESHOLD, largest),
        (_M_TOP_PAD, 64 << 20),
        (_M_ARENA_MAX, 1),
    )
    accepted = [libc.mallopt(option, value) for option, value in settings]
    _malloc_tuned = all(accepted)
    return _malloc_tuned


def trim_malloc() -> None:
    """Return freed memory to the system; for moments when much was freed and nothing runs."""
    if _malloc_tuned and (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@functools.cache
def cpu_features() -> str:
    """The instruction sets of this machine: compiled programs of one set may not run on another."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    lines = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "flags", "Features", "CPU part"):
            lines.setdefault(name.strip(), value.strip())
    return f"{platform.machine()} {sorted(lines.items())}"


# What makes a program compile sooner, to slower code. XLA:CPU's way through MLIR takes twice as
# long as its older one, which newer versions no longer have.
_QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


_unknown: set[str] = set()


def quick_options() -> dict[str, bool | int]:
    """Compiler options for compiling soon rather than well, without those that XLA refused."""
    return {name: value for name, value in _QUICK.items() if name not in _unknown}


def drop_quick_option(refusal: str) -> bool:
    """Whether XLA refused one of these options, as unknown to it; it is left out from now on."""
    # Of all of them: another thread, which tried it as well, may have dropped it meanwhile.
    refused = [name for name in _QUICK if f"No such compile option: '{name}'" in refusal]
    _unknown.update(refused)
    return bool(refused)
