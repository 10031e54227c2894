"""platform_dependent: functions that are written differently for different platforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.errors import ArgumentError
from plait.regions.trace import check_function
from plait.runtime import client


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """What the function for this program's platform gives for the arguments, else the default one.

    The platform is that of the default device: plait compiles for the devices that are there.
    Raises: ArgumentError if there is no function for it.

    >>> lax.platform_dependent(2.0, cpu=lambda x: x + 1, tpu=lambda x: x - 1)
    3.0
    """
    platform = client.default_device().platform
    names = {"gpu": ("cuda", "gpu", "rocm")}.get(platform, (platform,))
    for name in names:
        if name in per_platform:
            return per_platform[name](*args)
    if default is None:
        raise ArgumentError(
            f"there is no function for the platform {platform!r}",
            op="platform_dependent",
            given=", ".join(per_platform) or "none",
            fix="give a default",
        )
    check_function(default, "platform_dependent", "default")
    return default(*args)


__all__ = ["platform_dependent"]
