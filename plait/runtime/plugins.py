"""Finding the PJRT plugins for GPU and TPU: shared libraries in packages of their own.

The plugin packages of the jax project are made to be imported by jax, and their Python sides do
import it. Only their files are needed here, so they are located, never imported.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait.errors import BackendError

# Names that users give, to the names PJRT plugins go by.
ALIASES = {"gpu": "cuda", "cuda12": "cuda", "cuda13": "cuda"}
EXTRAS = {"cuda": "cuda13", "tpu": "tpu"}

# Modules whose folder holds the library, most recent first.
_MODULES = {
    "cuda": ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12"),
    "tpu": ("libtpu",),
}
_LIBRARIES = ("xla_cuda_plugin.so", "libtpu.so", "pjrt_plugin.so")
# The kernels that XLA itself lacks: LAPACK's tasks on the GPU, and calls back into Python.
_KERNEL_PACKAGES = ("jax_cuda13_plugin", "jax_cuda12_plugin")
_KERNEL_MODULES = ("_solver", "_linalg")
_ENTRY_POINTS = "jax_plugins"

# Which of the machine's GPUs are this process's; all if it is empty. Set by distributed.initialize.
visible_devices: list[int] = []

# CUDA's own libraries from their pip packages, loaded first so that the plugin finds these copies.
_NVIDIA_LIBRARIES = (
    ("cu13", ("libcudart.so.13", "libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13")),
    ("cu13", ("libcupti.so.13", "libcusparse.so.12", "libcusolver.so.12", "libcufft.so.12")),
    ("cuda_runtime", ("libcudart.so.12",)),
    ("cuda_nvrtc", ("libnvrtc.so.12",)),
    ("cublas", ("libcublasLt.so.12", "libcublas.so.12")),
    ("cuda_cupti", ("libcupti.so.12",)),
    ("cusparse", ("libcusparse.so.12",)),
    ("cusolver", ("libcusolver.so.11",)),
    ("cufft", ("libcufft.so.11",)),
    ("nccl", ("libnccl.so.2",)),
    ("nvshmem", ("libnvshmem_host.so.3",)),
    ("cudnn", ("libcudnn.so.9",)),
)


@dataclass(frozen=True)
class Plugin:
    """A PJRT plugin on this machine: the platform it serves and its shared library."""

    platform: str
    library: Path


def _module_folder(name: str) -> Path | None:
    try:
        from importlib.util import find_spec  # here: half of the time that importing this takes

        spec = find_spec(name)  # imports the parent package only: a namespace
    except ModuleNotFoundError:
        return None
    if spec is None:
        return None
    folders = spec.submodule_search_locations or ()
    return next((Path(folder) for folder in folders), None)


def _library_in(name: str) -> Path | None:
    folder = _module_folder(name)
    if folder is None:
        return None
    return next((folder / lib for lib in _LIBRARIES if (folder / lib).is_file()), None)


def _entry_points() -> list[tuple[str, str]]:
    """Platform name and module of every plugin that announces itself as an entry point."""
    from importlib.metadata import entry_points

    found = entry_points(group=_ENTRY_POINTS)
    names = [(entry.name.removeprefix("xla_"), entry.module) for entry in found]
    return [(ALIASES.get(name, name), module) for name, module in names]


def installed() -> list[str]:
    """The platforms for which a plugin is installed, by name."""
    names = [*_MODULES, *(name for name, _ in _entry_points())]
    return [name for name in dict.fromkeys(names) if _locate(name) is not None]


def _locate(platform: str) -> Path | None:
    explicit = os.environ.get("TPU_LIBRARY_PATH") if platform == "tpu" else None
    if explicit:
        return Path(explicit)
    announced = (module for name, module in _entry_points() if name == platform)
    for module in (*_MODULES.get(platform, ()), *announced):
        if (library := _library_in(module)) is not None:
            return library
    return None


def find(platform: str) -> Plugin:
    """The plugin for a platform name ('cuda', 'gpu', 'tpu', or one of an entry point).

    Raises: BackendError that says which package to install.
    """
    name = ALIASES.get(platform, platform)
    library = _locate(name)
    if library is None:
        extra = EXTRAS.get(name)
        fix = f'pip install "plait[{extra}]"' if extra else "install the PJRT plugin for it"
        raise BackendError(f"no PJRT plugin for the platform {platform!r} is installed", fix=fix)
    return Plugin(name, library)


def preload_nvidia_libraries() -> None:
    """Load CUDA's libraries from their pip packages, where those are installed."""
    for package, libraries in _NVIDIA_LIBRARIES:
        folder = _module_folder(f"nvidia.{package}")
        if folder is None:
            continue
        for library in libraries:
            path = folder / "lib" / library
            if path.is_file():
                ctypes.CDLL(str(path))


def client_options(platform: str) -> dict[str, Any]:
    """Options for the platform's client, from the environment variables that XLA's users know."""
    if platform != "cuda":
        return {}
    options: dict[str, Any] = {"platform_name": "cuda"}
    if visible_devices:
        options["visible_devices"] = list(visible_devices)
    options["allocator"] = os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default").lower()
    fraction = os.environ.get("XLA_CLIENT_MEM_FRACTION") or os.environ.get(
        "XLA_PYTHON_CLIENT_MEM_FRACTION"
    )
    if fraction:
        try:
            options["memory_fraction"] = float(fraction)
        except ValueError:
            raise BackendError(
                "XLA_CLIENT_MEM_FRACTION must be a number between 0 and 1", value=fraction
            ) from None
    if preallocate := os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE"):
        options["preallocate"] = preallocate.lower() not in ("false", "0")
    return options


def register_kernels(platform: str, c_api: Any) -> None:
    """Give a plugin the library calls (callbacks, linear algebra) that a wheel beside it brings."""
    if platform != "cuda":
        return
    from importlib.util import find_spec

    package = next((p for p in _KERNEL_PACKAGES if find_spec(p)), None)
    if package is None:
        return
    extension = importlib.import_module(f"{package}.cuda_plugin_extension")
    for name, type_ids in extension.ffi_types().items():
        extension.register_custom_type(c_api, name, type_ids)
    targets = dict(extension.ffi_handlers())
    for module in _KERNEL_MODULES:
        targets |= importlib.import_module(f"{package}.{module}").registrations()
    for name, target in targets.items():
        extension.register_custom_call_target(c_api, name, target, "CUDA", 1)  # 1: typed calls
