"""Where this process stands among several, as its environment says it.

Variables of JAX's and plait's names, and those that Slurm and Open MPI set for what they start.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from plait.errors import ArgumentError

_FUNCTION = "distributed.initialize"
# A job's processes choose the same port without talking to each other: one of 4096 below the top.
_PORTS = 1 << 12


@dataclass(frozen=True)
class Place:
    """What `initialize` has to know; None for what is not known."""

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None

    def completed(self, other: Place) -> Place:
        """What is known here, and what else the other knows."""
        missing = [f.name for f in fields(self) if getattr(self, f.name) is None]
        return replace(self, **{name: getattr(other, name) for name in missing})


def from_variables(environ: Mapping[str, str] = os.environ) -> Place:
    """PLAIT_COORDINATOR_ADDRESS, PLAIT_NUM_PROCESSES, PLAIT_PROCESS_ID, PLAIT_LOCAL_DEVICE_IDS, or
    the same with JAX_. Raises ArgumentError for one that is no number.
    """

    def text(name: str) -> tuple[str, str | None]:
        for prefix in ("PLAIT", "JAX"):
            if found := environ.get(f"{prefix}_{name}"):
                return f"{prefix}_{name}", found
        return "", None

    def number(name: str) -> int | None:
        variable, value = text(name)
        return None if value is None else _number(variable, value)

    variable, ids = text("LOCAL_DEVICE_IDS")
    return Place(
        text("COORDINATOR_ADDRESS")[1],
        number("NUM_PROCESSES"),
        number("PROCESS_ID"),
        None if ids is None else tuple(_number(variable, k) for k in ids.split(",")),
    )


def _number(variable: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ArgumentError(
            f"the environment variable {variable} is not a whole number",
            op=_FUNCTION,
            value=value,
        ) from None


def _slurm(environ: Mapping[str, str]) -> Place | None:
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_NODELIST")
    if "SLURM_PROCID" not in environ or nodes is None:
        return None
    port = 65536 - _PORTS + int(environ.get("SLURM_JOB_ID", "0")) % _PORTS
    return Place(
        f"{first_host(nodes)}:{port}",
        int(environ["SLURM_NTASKS"]),
        int(environ["SLURM_PROCID"]),
        (int(environ["SLURM_LOCALID"]),) if "SLURM_LOCALID" in environ else None,
    )


def first_host(nodes: str) -> str:
    """The first name of a Slurm list of nodes: of 'gpu[07-09,12],login' gpu07."""
    found = re.match(r"([^\[,]+)(?:\[([^\],-]+)[^\]]*\])?([^\[,]*)", nodes)
    assert found is not None
    return found[1] + (found[2] or "") + found[3]


def _open_mpi(environ: Mapping[str, str]) -> Place | None:
    uri = environ.get("OMPI_MCA_orte_hnp_uri") or environ.get("PMIX_SERVER_URI41", "")
    host = re.search(r"tcp4?://([\d.]+)", uri)
    if "OMPI_COMM_WORLD_RANK" not in environ or host is None:
        return None
    job = int((re.match(r"\d+", uri) or "0")[0])
    return Place(
        f"{host[1]}:{65536 - _PORTS + job % _PORTS}",
        int(environ["OMPI_COMM_WORLD_SIZE"]),
        int(environ["OMPI_COMM_WORLD_RANK"]),
        (int(environ["OMPI_COMM_WORLD_LOCAL_RANK"]),),
    )


METHODS: dict[str, Callable[[Mapping[str, str]], Place | None]] = {
    "slurm": _slurm,
    "ompi": _open_mpi,
}


def detect(method: str | None, environ: Mapping[str, str] = os.environ) -> Place:
    """What the job's starter tells its processes; nothing with the method 'deactivate'.

    Raises: ArgumentError for a method that there is not, or whose variables are not set.
    """
    if method == "deactivate":
        return Place()
    if method is not None and method not in METHODS:
        raise ArgumentError(
            f"there is no cluster_detection_method {method!r}",
            op=_FUNCTION,
            fix=f"one of {', '.join(map(repr, METHODS))}, 'deactivate', or None to try them all",
        )
    for name, ask in METHODS.items():
        if method in (None, name) and (found := ask(environ)) is not None:
            return found
    if method is not None:
        raise ArgumentError(
            f"cluster_detection_method={method!r}, but its environment variables are not set",
            op=_FUNCTION,
            fix="start the processes with it, or give the arguments yourself",
        )
    return Place()
