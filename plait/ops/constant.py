"""A known array inside a Program: what a rule that was traced later had at hand as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.primitive import Primitive, register
from plait.core.types import type_of


class Held:
    """An array as a parameter; compares by identity, so that large ones are never compared."""

    __slots__ = ("type", "value")

    def __init__(self, value: Any):
        self.type = type_of(value)
        # Arrays of the runtime give their number by `host`, random keys included.
        value = value.host() if hasattr(value, "host") else np.asarray(value)
        self.value = value.astype(dtypes.storage(self.type.dtype), copy=False)

    def __repr__(self) -> str:
        return str(self.type)


class Constant(Primitive):
    """An array written into the Program. StableHLO: constant."""

    name = "constant"

    def type(self, *, value):
        return value.type

    def numpy(self, *, value):
        return value.value

    def lower(self, b, *, value):
        return b.constant(value.value, value.type.dtype)

    def samples(self):
        yield (), {"value": Held(np.arange(6, dtype=np.float32).reshape(2, 3))}
        yield (), {"value": Held(np.zeros((0, 2), np.int32))}


constant_p = register(Constant())


__all__ = ["Constant", "Held", "constant_p"]
