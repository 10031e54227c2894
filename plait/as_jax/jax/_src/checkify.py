"""jax._src.checkify: what plait.experimental.checkify has, and names for annotations."""

from typing import Any

from plait.errors import CheckError as JaxException
from plait.experimental.checkify import *  # noqa: F403
from plait.experimental.checkify import Error, checkify, user_checks

Out = Any

__all__ = ["Error", "JaxException", "Out", "checkify", "user_checks"]
