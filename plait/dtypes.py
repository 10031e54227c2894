"""plait.dtypes: dtype names and questions about them."""

from plait.core.dtypes import (
    KeyDType,
    bfloat16,
    finfo,
    float0,
    iinfo,
    issubdtype,
    prng_key,
    promote_types,
)
from plait.core.dtypes import canonical as canonicalize_dtype

__all__ = [
    "KeyDType",
    "bfloat16",
    "canonicalize_dtype",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "prng_key",
    "promote_types",
]
