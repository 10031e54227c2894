"""The persistent compilation cache: compiled programs in a folder that processes share.

A process that starts with a filled cache loads a program in milliseconds instead of compiling it.
An entry is machine code, so its key covers everything that shaped it; see `entry_key`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plait.config import config
from plait.runtime import startup

# Bytes before the payload: says what the file is, and the digest that truncation would break.
_MAGIC = b"plait-executable-1\n"
_DIGEST_SIZE = 32
_SUFFIX = ".xla"


def entry_key(*parts: str | bytes) -> str:
    """A file name for a program: program text, options, compiler version, machine, device kind."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))  # or ("ab", "c") would equal ("a", "bc")
        digest.update(data)
    return digest.hexdigest()


def program_key(
    text: str | bytes,
    devices: Sequence[Any],
    options: Mapping[str, Any],
    version: str,
    extra: str,
) -> str:
    """The key of a program for devices, compiled by a version of jaxlib.

    Not the devices themselves: a one-device program loads onto any, and the order in a mesh does
    not matter to the machine code.
    """
    return entry_key(
        text,
        repr(sorted(options.items())),
        str(len(devices)),
        version,
        extra,
        devices[0].client.platform_version,
        devices[0].device_kind,
        startup.cpu_features(),
        os.environ.get("XLA_FLAGS", ""),
    )


class DiskCache:
    """A folder of compiled programs, safe under concurrent readers and writers.

    A cache never makes a program fail: what cannot be read or written is reported by a warning,
    once for each kind of trouble, and the program is compiled as if there were no cache.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        self.hits = self.misses = 0

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.folder / (key + _SUFFIX)

    def read(self, key: str) -> bytes | None:
        """The stored program, or None if there is none that can be used."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            self.misses += 1
            return None
        except OSError as error:
            self.misses += 1
            warnings.warn(f"compilation cache: cannot read {path}: {error}", stacklevel=2)
            return None
        start = len(_MAGIC) + _DIGEST_SIZE
        payload = data[start:]
        if not data.startswith(_MAGIC) or (
            data[len(_MAGIC) : start] != hashlib.sha256(payload).digest()
        ):
            self.misses += 1
            self.discard(key, "it is damaged")
            return None
        self.hits += 1
        return payload

    def write(self, key: str, payload: bytes) -> None:
        """Store a program. Readers see all of it or nothing: it is renamed into place."""
        path = self.path(key)
        temporary = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            warnings.warn(f"compilation cache: cannot write {path}: {error}", stacklevel=2)

    def discard(self, key: str, reason: str) -> None:
        """Drop an entry that turned out to be unusable, so that it is written anew."""
        path = self.path(key)
        warnings.warn(
            f"compilation cache: ignoring {path}: {reason}; the program is compiled again",
            stacklevel=3,
        )
        with contextlib.suppress(OSError):
            path.unlink()


_caches: dict[str, DiskCache] = {}


def disk_cache() -> DiskCache | None:
    """The cache in the folder that `config.compilation_cache_dir` names; None without one."""
    folder = config.compilation_cache_dir
    if not folder:
        return None
    return _caches.get(folder) or _caches.setdefault(folder, DiskCache(folder))
